//! A day through the real store, with real files: a person and one to three agents at the same files, sub-agents, Esc, prompts that
//! stand, denied tools, lost events, killed hooks, commands in the background, and processes that really die; two tools side by side, files
//! that are named through links, sub-agents in another directory, and commands of ours. The store's own tests hold the evidence alone against a
//! day; here are the rows, the snapshots and the reverts as well.
//!
//! Files are written now, and the harness translates their times. 2,000 days: `PROPTEST_CASES=2000`.

use std::collections::BTreeMap;
use std::process::{Child, Command};

use ckpt_schema::report::FileResult;
use ckpt_schema::{Event, EventKind};
use ckpt_store::RevertRequest;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::day_acts::{Act, Day, End, FILES, day};
use testing::scenario::{World, set_moment};

const MORNING: i64 = 1_700_000_000_000;
pub const SECOND: i64 = 1_000;
pub const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
/// How many days a quick run has.
const QUICK: u32 = 24;

/// A tool that runs, as it really is.
#[derive(Clone, Debug)]
struct Running {
    id: String,
    names: Option<usize>,
    waits: bool,
}

#[derive(Debug, Default)]
struct Agent {
    running: Vec<Running>,
    process: Option<Process>,
    /// Whether its session sent a message, and its process lives.
    is_begun: bool,
    died_at: Option<i64>,
    /// Whether a command that it left in the background runs.
    has_behind: bool,
    is_in_step: bool,
    is_sub: bool,
}

/// A program that stands for an agent, so that its death can be seen.
#[derive(Debug)]
struct Process(Child);

impl Process {
    fn start() -> Option<Self> {
        Command::new("sleep").arg("1000").spawn().ok().map(Self)
    }

    /// Returns the name by which a hook tells the store of it; `None` where there is no `/proc`.
    fn name(&self) -> Option<String> {
        let id = self.0.id();
        let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let started = text.rsplit(')').next()?.split_whitespace().nth(19)?;
        let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
        Some(format!("{id} {started} {}", namespace.to_str()?))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// When somebody's tool could have written a file, as far as the evidence may take it: a step without tool events is one tool.
#[derive(Clone, Debug)]
struct Cover {
    names: Option<usize>,
    /// The tool, or none where it is a step as a whole.
    tool: Option<String>,
    from: i64,
    to: i64,
    /// Whether the end of its tool was lost: as far as anybody knows, the tool runs until its step ends.
    is_lost: bool,
    /// The agent whose tool or step was cut off: it runs on, as far as anybody knows, if the step ends by itself after all.
    cut_of: Option<usize>,
}

/// Who wrote what stands in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Author {
    Nobody,
    Person(i64),
    Agent(usize),
}

struct Player {
    world: World,
    agents: Vec<Agent>,
    tells: Vec<bool>,
    now: i64,
    number: usize,
    /// Who wrote which text.
    texts: BTreeMap<String, Author>,
    /// What is covered by a tool or step that has not ended, by agent.
    open: Vec<Vec<Cover>>,
    covers: Vec<Cover>,
}

impl Player {
    fn new(day: &Day) -> Self {
        set_moment(MORNING);
        let world = World::new();
        let mut texts = BTreeMap::new();
        for file in 0..FILES {
            let text = format!("begin {file}\n");
            world.write(name(file), &text);
            world.link(format!("chain{file}"), name(file));
            world.link(format!("links/l{file}"), format!("../chain{file}"));
            texts.insert(text, Author::Nobody);
        }
        let count = day.tells.len();
        Self {
            world,
            agents: (0..count).map(|_| Agent::default()).collect(),
            tells: day.tells.clone(),
            now: MORNING,
            number: 0,
            texts,
            open: vec![Vec::new(); count],
            covers: Vec::new(),
        }
    }

    fn play(&mut self, act: &Act) {
        self.now += 40;
        set_moment(self.now);
        match *act {
            Act::Wait(time) => self.now += time,
            Act::Edit(file) => self.write(file, Author::Person(self.now)),
            Act::Message(agent) => self.of(agent, Self::message),
            Act::StepStart {
                agent,
                is_sub,
                is_lost,
            } => self.of(agent, |player, agent| {
                player.begin(agent);
                if player.agents[agent].running.is_empty() {
                    player.step_start(agent, is_sub, is_lost);
                }
            }),
            Act::ToolStart {
                agent,
                names,
                waits,
            } => self.of(agent, |player, agent| {
                player.tool_start(agent, names, waits)
            }),
            Act::Write(agent, file) => self.of(agent, |player, agent| {
                let running = player.agents[agent].running.iter();
                let works: Vec<_> = running.filter(|one| !one.waits).cloned().collect();
                if let Some(running) = works.get(file % works.len().max(1)) {
                    player.write(running.names.unwrap_or(file), Author::Agent(agent));
                }
            }),
            Act::ToolEnd(agent, end) => self.of(agent, |player, agent| player.tool_end(agent, end)),
            Act::WriteBehind(agent, file) => self.write_behind(agent, file),
            Act::BehindEnds(agent) => {
                self.agents[agent % self.tells.len()].has_behind = false;
            }
            Act::StepFinish { agent, is_lost } => self.of(agent, |player, agent| {
                let is_idle = player.agents[agent].running.is_empty();
                if is_idle && player.agents[agent].is_in_step {
                    player.agents[agent].is_in_step = false;
                    if !is_lost {
                        player.send(agent, EventKind::StepFinish, |_| ());
                        player.close(agent, 2 * SECOND);
                        let to = player.now + 2 * SECOND;
                        let cut = |cover: &&mut Cover| cover.cut_of == Some(agent);
                        player.covers.iter_mut().filter(cut).for_each(|cover| {
                            cover.to = cover.to.max(to);
                        });
                    }
                }
            }),
            Act::Elsewhere(agent) => self.of(agent, Self::elsewhere),
            Act::Command(agent) => self.of(agent, Self::command),
            Act::TurnEnd(agent) => self.of(agent, |player, agent| {
                if player.agents[agent].running.is_empty() && player.agents[agent].is_begun {
                    player.agents[agent].is_in_step = false;
                    let has_behind = player.agents[agent].has_behind;
                    player.send(agent, EventKind::TurnEnd, |event| {
                        event.background = Some(has_behind);
                    });
                    player.close(agent, 2 * SECOND);
                }
            }),
        }
    }

    /// A sub-agent begins, works and ends in another directory.
    fn elsewhere(&mut self, agent: usize) {
        use EventKind::{SessionStart, TurnEnd};
        let far = self.world.base().join("far");
        std::fs::create_dir_all(&far).expect("it is writable");
        for kind in [SessionStart, EventKind::ToolStart, TurnEnd] {
            let event = Event {
                parent_session_id: Some(format!("s{agent}")),
                cwd: Some(far.clone()),
                tool_use_id: Some("far".to_owned()),
                ..self.world.event(kind, &format!("s{agent} far"))
            };
            self.world.send(&event);
        }
    }

    /// A command of ours, at any moment. After Esc, the agent has nothing else to do than that.
    fn command(&mut self, agent: usize) {
        let is_sub = std::mem::replace(&mut self.agents[agent].is_sub, false);
        self.send(agent, EventKind::UserMessage, |event| {
            event.is_command = true;
        });
        if !self.agents[agent].is_begun {
            self.send(agent, EventKind::TurnEnd, |_| ());
            self.agents[agent].is_in_step = false;
        }
        self.agents[agent].is_sub = is_sub;
    }

    /// Does something as an agent that there is and that lives.
    fn of(&mut self, agent: usize, act: impl FnOnce(&mut Self, usize)) {
        let agent = agent % self.agents.len();
        if self.agents[agent].died_at.is_none() {
            act(self, agent);
        }
    }

    /// A command in the background writes on after its agent died, but nobody reckons with it for longer than an hour.
    fn write_behind(&mut self, agent: usize, file: usize) {
        let agent = agent % self.agents.len();
        let state = &self.agents[agent];
        let is_late = state.died_at.is_some_and(|at| self.now - at > HOUR);
        if state.has_behind && !is_late {
            self.write(file, Author::Agent(agent));
        }
    }

    fn message(&mut self, agent: usize) {
        if !self.agents[agent].running.is_empty() {
            return;
        }
        if self.agents[agent].process.is_none() {
            self.agents[agent].process = Process::start();
        }
        self.number += 1;
        let id = format!("m{}", self.number);
        self.send(agent, EventKind::UserMessage, |event| {
            event.message_id = Some(id);
            event.prompt = Some("go on".to_owned());
        });
        self.close(agent, 2 * SECOND);
        self.end_cut(agent);
        let state = &mut self.agents[agent];
        (state.is_begun, state.is_in_step, state.is_sub) = (true, false, false);
    }

    /// Another step, or a message, shows that what was cut off is over.
    fn end_cut(&mut self, agent: usize) {
        let cut = |cover: &&mut Cover| cover.cut_of == Some(agent);
        self.covers
            .iter_mut()
            .filter(cut)
            .for_each(|cover| cover.cut_of = None);
    }

    fn begin(&mut self, agent: usize) {
        if !self.agents[agent].is_begun {
            self.message(agent);
        }
    }

    fn step_start(&mut self, agent: usize, is_sub: bool, is_lost: bool) {
        let state = &mut self.agents[agent];
        (state.is_in_step, state.is_sub) = (true, is_sub);
        self.end_cut(agent);
        if !is_lost {
            self.send(agent, EventKind::StepStart, |_| ());
        }
        if !self.tells[agent] {
            self.cover(agent, None, None);
        }
    }

    fn tool_start(&mut self, agent: usize, names: Option<usize>, waits: bool) {
        // Two at most, and the second only where it is told of.
        let most = usize::from(self.tells[agent]) + 1;
        if self.agents[agent].running.len() >= most {
            return;
        }
        self.begin(agent);
        if !self.agents[agent].is_in_step {
            self.step_start(agent, false, false);
        }
        self.number += 1;
        let id = format!("t{}", self.number);
        if self.tells[agent] {
            let through = ["f", "chain", "links/l"][self.number % 3];
            let named = |file: usize| format!("{through}{file}");
            let paths = names.map(|file| self.world.path(named(file)));
            let named = id.clone();
            self.send(agent, EventKind::ToolStart, |event| {
                event.paths = paths.into_iter().collect();
                event.tool_use_id = Some(named);
            });
            if waits {
                let named = id.clone();
                self.send(agent, EventKind::ToolWait, |event| {
                    event.tool_use_id = Some(named)
                });
            }
        }
        let tells = self.tells[agent];
        self.cover(agent, names.filter(|_| tells), tells.then(|| id.clone()));
        self.agents[agent]
            .running
            .push(Running { id, names, waits });
    }

    fn tool_end(&mut self, agent: usize, end: End) {
        if self.agents[agent].running.is_empty() {
            return;
        }
        let running = self.agents[agent].running.remove(0);
        match end {
            End::Well | End::Behind if self.tells[agent] => {
                self.agents[agent].has_behind |= end == End::Behind;
                let tool = Some(running.id.clone());
                self.send(agent, EventKind::ToolFinish, |event| {
                    event.tool_use_id = Some(running.id);
                    event.background = (end == End::Behind).then_some(true);
                });
                // What was open until here stays the tool's; the step may be open still.
                let (left, ended) = std::mem::take(&mut self.open[agent])
                    .into_iter()
                    .partition(|cover| cover.is_lost || cover.tool != tool);
                self.open[agent] = ended;
                self.close(agent, 2 * SECOND);
                self.open[agent].extend::<Vec<Cover>>(left);
            }
            End::Lost => self.open[agent]
                .iter_mut()
                .filter(|cover| cover.tool.is_none() || cover.tool.as_ref() == Some(&running.id))
                .for_each(|cover| cover.is_lost = true),
            End::Well | End::Behind => {}
            // Nobody tells; the next message, or a revert, finds the step open.
            End::Esc | End::Denied => {
                self.agents[agent].is_begun = false;
                self.agents[agent].running.clear();
                self.cut(agent);
            }
            End::Dies => {
                self.agents[agent].died_at = Some(self.now);
                self.agents[agent].process = None;
                self.agents[agent].running.clear();
                self.cut(agent);
            }
        }
    }

    fn send(&mut self, agent: usize, kind: EventKind, more: impl FnOnce(&mut Event)) {
        let is_sub = self.agents[agent].is_sub;
        let session = format!("s{agent}");
        let own = if is_sub {
            format!("{session} sub")
        } else {
            session.clone()
        };
        let process = self.agents[agent].process.as_ref();
        let mut event = Event {
            process: process.and_then(Process::name),
            parent_session_id: is_sub.then_some(session),
            tells_of_tools: self.tells[agent],
            ..self.world.event(kind, &own)
        };
        more(&mut event);
        self.world.send(&event);
    }

    fn write(&mut self, file: usize, author: Author) {
        self.number += 1;
        let text = format!("{} {author:?}\n", self.number);
        self.world.write(name(file), &text);
        self.texts.insert(text, author);
    }

    fn cover(&mut self, agent: usize, names: Option<usize>, tool: Option<String>) {
        // The look at the clock of a hook may be a second late, and so is what a duration says.
        let from = self.now - 1_100;
        self.open[agent].push(Cover {
            names,
            tool,
            from,
            to: i64::MAX,
            is_lost: false,
            cut_of: None,
        });
    }

    fn close(&mut self, agent: usize, after: i64) {
        let to = self.now + after;
        let closed = std::mem::take(&mut self.open[agent]);
        self.covers
            .extend(closed.into_iter().map(|cover| Cover { to, ..cover }));
        // A step of an agent that tells of no tools goes on.
        if !self.tells[agent] && self.agents[agent].is_in_step {
            self.cover(agent, None, None);
        }
    }

    /// Without a sign of life a run of writes is believed for two minutes and a silence.
    fn cut(&mut self, agent: usize) {
        let to = self.now + 2 * MINUTE + 10 * SECOND;
        let open = std::mem::take(&mut self.open[agent]);
        let cut_of = Some(agent);
        let cut = |cover| Cover {
            to,
            cut_of,
            ..cover
        };
        self.covers.extend(open.into_iter().map(cut));
    }

    fn is_covered(&self, file: usize, at: i64) -> bool {
        let is_in = |cover: &Cover| {
            cover.names.is_none_or(|names| names == file) && (cover.from..=cover.to).contains(&at)
        };
        self.covers
            .iter()
            .chain(self.open.iter().flatten())
            .any(is_in)
    }

    /// Reverts all that an agent did, and holds what became of the files against what really happened.
    fn revert(&mut self, agent: usize) -> Result<(u64, u64), TestCaseError> {
        let before: Vec<String> = (0..FILES).map(|file| self.world.read(name(file))).collect();
        let session = format!("s{agent}");
        let messages = self.world.log().messages;
        let sessions = self.world.store.sessions(None).expect("readable").sessions;
        let is_own = |id: &str| {
            let mut own = sessions.iter().filter(|one| one.agent_id == session);
            own.any(|one| one.id == id)
        };
        let mut oldest = messages.iter().rev();
        let Some(first) = oldest.find(|message| is_own(&message.session)) else {
            return Ok((0, 0));
        };
        let request = RevertRequest {
            message: first.id.clone(),
            force: ckpt_store::Force::Yes,
            ..RevertRequest::default()
        };
        let report = self
            .world
            .try_revert(&request)
            .map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
        let named = |file: usize| {
            let mut files = report.files.iter();
            files.find(|one| one.path.path == name(file))
        };
        for (file, was) in before.iter().enumerate() {
            let is = self.world.read(name(file));
            if let Some(Author::Person(at)) = self.texts.get(was) {
                prop_assert!(
                    is == *was || self.is_covered(file, *at),
                    "the person's `{was}` of {} is gone, and no tool could have written it: {report:?}",
                    name(file)
                );
                prop_assert!(is == *was || named(file).is_some(), "untold: {report:?}");
            }
            if self.texts.get(&is) == Some(&Author::Agent(agent)) {
                let is_told = named(file)
                    .is_some_and(|file| file.result != FileResult::Done || file.reason.is_some());
                let is_received = report.receipt.iter().any(|receipt| {
                    let mut differences = receipt.differences.iter();
                    differences.any(|one| one.path.path == name(file))
                });
                prop_assert!(
                    is_told || is_received,
                    "`{is}` of agent {agent} stays in {}, and nobody says so: {report:?}",
                    name(file)
                );
            }
        }
        let changes = report.files.len() as u64;
        let unclear = report.files.iter().filter(|file| file.unclear).count() as u64;
        Ok((changes, unclear))
    }
}

fn name(file: usize) -> String {
    format!("f{file}")
}

#[expect(clippy::print_stderr, reason = "the figure is what it is run for")]
#[test]
fn days_lose_no_edit_and_hide_nothing() {
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    let is_set = std::env::var_os("PROPTEST_CASES").is_some();
    let cases = if is_set { config.cases } else { QUICK };
    let total = std::cell::Cell::new((0, 0));
    let mut runner = TestRunner::new(Config { cases, ..config });
    let result = runner.run(&day(), |day| {
        let mut player = Player::new(&day);
        for act in &day.acts {
            player.play(act);
        }
        for agent in 0..day.tells.len() {
            player.now += MINUTE;
            set_moment(player.now);
            let (changes, unclear) = player.revert(agent)?;
            let (all, unclear_in_all) = total.get();
            total.set((all + changes, unclear_in_all + unclear));
        }
        Ok(())
    });
    let (all, unclear) = total.get();
    eprintln!("{unclear} of {all} files of the reverts were unclear");
    if let Err(error) = result {
        panic!("{error}");
    }
}
