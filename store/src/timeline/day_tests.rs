//! A reference model of a day: a person and one to three agents at work on the same files, with everything that goes wrong in
//! between. What really happened is known here, and what the evidence makes of it is held against that.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use super::evidence::{
    Changed, Evidence, LONGEST_RUN, Reach, SILENCE, Signs, Standing, Step, Tool, Verdict,
};
use crate::model::Milliseconds;
use crate::model::path::WorkspacePath;

const MORNING: Milliseconds = 1_700_000_000_000;
const SECOND: Milliseconds = 1_000;
const MINUTE: Milliseconds = 60 * SECOND;
const FILES: usize = 6;

/// What an agent tells of itself.
#[derive(Clone, Copy, Debug)]
struct Habits {
    tells_of_tools: bool,
    tells_durations: bool,
    tells_waits: bool,
    /// Whether Esc leaves a mark in its transcript.
    marks: bool,
}

/// How a tool ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Well,
    /// It ends, and the event of it is lost.
    Lost,
    /// The user presses Esc in the middle of it.
    Esc,
    /// The user denies it; it never runs.
    Denied,
    /// The agent's process dies.
    Dies,
    /// It leaves a command in the background that writes for so long.
    Background(Milliseconds),
}

#[derive(Clone, Debug)]
struct ToolPlan {
    /// The files that it names; a shell where there are none.
    names: Vec<usize>,
    /// The files that it writes, and when, in thousandths of its run.
    writes: Vec<(usize, i64)>,
    waits: Option<Milliseconds>,
    runs: Milliseconds,
    end: End,
    /// How late the hook that tells of the end is.
    late: Milliseconds,
}

/// What happens in a day, one after the other, of one agent.
#[derive(Clone, Debug)]
enum Act {
    /// The agent is idle or thinks.
    Pause(Milliseconds),
    Message,
    Step(Vec<ToolPlan>),
    TurnEnd,
}

#[derive(Clone, Debug)]
struct Day {
    agents: Vec<(Habits, Vec<Act>)>,
    /// When the person saves which file.
    edits: Vec<(Milliseconds, usize)>,
}

fn habits() -> impl Strategy<Value = Habits> {
    (
        prop::bool::weighted(0.75),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(
            |(tells_of_tools, tells_durations, tells_waits, marks)| Habits {
                tells_of_tools,
                tells_durations,
                tells_waits,
                marks,
            },
        )
}

/// How the tools of a day end.
#[derive(Clone, Copy, Debug)]
enum Luck {
    /// Every third in some other way than well.
    Bad,
    /// As they do: now and then somebody presses Esc or says no, an event is lost once a day.
    Ordinary,
}

fn tool_plan(luck: Luck) -> impl Strategy<Value = ToolPlan> {
    let [well, lost, esc, denied, dies, background] = match luck {
        Luck::Bad => [10, 1, 2, 1, 1, 1],
        Luck::Ordinary => [940, 5, 30, 20, 5, 0],
    };
    let mut ends = vec![
        (well, Just(End::Well).boxed()),
        (lost, Just(End::Lost).boxed()),
        (esc, Just(End::Esc).boxed()),
        (denied, Just(End::Denied).boxed()),
        (dies, Just(End::Dies).boxed()),
    ];
    if background > 0 {
        let lasts = (MINUTE..30 * MINUTE).prop_map(End::Background);
        ends.push((background, lasts.boxed()));
    }
    let end = prop::strategy::Union::new_weighted(ends);
    let names = prop_oneof![Just(Vec::new()), prop::collection::vec(0..FILES, 1..3),];
    let waits = match luck {
        Luck::Bad => prop::option::weighted(0.3, SECOND..60 * MINUTE),
        Luck::Ordinary => prop::option::weighted(0.1, SECOND..5 * MINUTE),
    };
    let runs = prop_oneof![3 => 10..5 * SECOND, 1 => SECOND..20 * MINUTE];
    let writes = prop::collection::vec((0..FILES, 0..1000i64), 0..4);
    (names, writes, waits, runs, end, 0..400i64).prop_map(
        |(names, mut writes, waits, runs, end, late)| {
            if !names.is_empty() {
                writes.retain(|(file, _)| names.contains(file));
            }
            ToolPlan {
                names,
                writes,
                waits,
                runs,
                end,
                late,
            }
        },
    )
}

fn day(luck: Luck) -> impl Strategy<Value = Day> {
    let act = prop_oneof![
        3 => (10..90 * MINUTE).prop_map(Act::Pause),
        3 => (10..10 * SECOND).prop_map(Act::Pause),
        2 => Just(Act::Message),
        4 => prop::collection::vec(tool_plan(luck), 1..3).prop_map(Act::Step),
        2 => Just(Act::TurnEnd),
    ];
    let agent = (habits(), prop::collection::vec(act, 1..14));
    let edits = prop::collection::vec((0..8 * 60 * MINUTE, 0..FILES), 0..40);
    (prop::collection::vec(agent, 1..4), edits).prop_map(|(agents, edits)| Day { agents, edits })
}

/// What happens at one moment.
#[derive(Clone, Debug)]
enum Happening {
    /// Somebody writes a file: an agent, or the person. With until when what comes is taken for it, where it is an agent's.
    Write(Option<usize>, usize),
    Message,
    StepStart,
    /// A tool is announced, by its number.
    ToolStart(usize, ToolPlan),
    Wait(usize),
    ToolFinish(usize, Option<Milliseconds>, bool),
    StepFinish,
    TurnEnd,
    Esc,
    Dies,
}

/// When a tool could really have written, as far as anybody can tell.
#[derive(Clone, Debug)]
struct Cover {
    names: Vec<usize>,
    from: Milliseconds,
    to: Milliseconds,
}

/// Lays the acts of one agent on the line of time.
fn lay_out(
    agent: usize,
    habits: Habits,
    acts: &[Act],
    is_alone: bool,
    covers: &mut Vec<Cover>,
) -> Vec<(Milliseconds, usize, Happening)> {
    let mut line = Vec::new();
    let mut now = MORNING;
    let mut number = 0;
    // After Esc, and after a refusal, the agent waits for the user: nothing comes before the next message.
    let mut is_cut = false;
    for act in acts {
        now += 50;
        match act {
            Act::TurnEnd if is_cut => {}
            Act::Step(_) if is_cut => {
                is_cut = false;
                line.push((now, agent, Happening::Message));
            }
            Act::Pause(pause) => now += pause,
            Act::Message => {
                is_cut = false;
                line.push((now, agent, Happening::Message));
            }
            Act::TurnEnd => line.push((now, agent, Happening::TurnEnd)),
            Act::Step(tools) => {
                let begin = now;
                line.push((now, agent, Happening::StepStart));
                let mut goes_on = true;
                for plan in tools {
                    number += 1;
                    now += 100;
                    let announced = now;
                    if habits.tells_of_tools {
                        line.push((now, agent, Happening::ToolStart(number, plan.clone())));
                    }
                    let is_told = habits.tells_waits && plan.waits.is_some();
                    if !is_alone && !is_told {
                        // Another agent's event may look while nobody has told that the tool has not begun.
                        let to = announced + LONGEST_RUN + SILENCE;
                        cover(covers, habits, plan, announced, announced, to);
                    }
                    if let Some(waits) = plan.waits {
                        if habits.tells_waits && habits.tells_of_tools {
                            line.push((now + 1, agent, Happening::Wait(number)));
                        }
                        now += waits;
                    }
                    if plan.end == End::Denied {
                        goes_on = false;
                        // Nothing tells of it: as far as anybody knows the tool may be at its work.
                        let to = now.max(announced + LONGEST_RUN + SILENCE);
                        cover(covers, habits, plan, announced, announced, to);
                        break;
                    }
                    let begin = now + 30;
                    let stops = match plan.end {
                        End::Esc | End::Dies => begin + plan.runs / 2,
                        _ => begin + plan.runs,
                    };
                    for (file, at) in &plan.writes {
                        let at = begin + plan.runs * at / 1000;
                        if at <= stops {
                            line.push((at, agent, Happening::Write(Some(agent), *file)));
                        }
                    }
                    now = stops;
                    match plan.end {
                        End::Well | End::Background(_) => {
                            now += plan.late;
                            let ran_for = habits.tells_durations.then_some(plan.runs);
                            let is_left = matches!(plan.end, End::Background(_));
                            if habits.tells_of_tools {
                                let finish = Happening::ToolFinish(number, ran_for, is_left);
                                line.push((now, agent, finish));
                            }
                            if let End::Background(lasts) = plan.end
                                && habits.tells_of_tools
                            {
                                for (file, at) in &plan.writes {
                                    let at = now + lasts * at / 1000;
                                    line.push((at, agent, Happening::Write(Some(agent), *file)));
                                }
                            }
                            let from = if habits.tells_durations {
                                begin
                            } else {
                                announced
                            };
                            cover(covers, habits, plan, announced, from, now + 2 * SECOND);
                        }
                        End::Lost => cover(covers, habits, plan, announced, announced, i64::MAX),
                        End::Esc => {
                            line.push((now, agent, Happening::Esc));
                            let to = if habits.marks {
                                now + 250
                            } else {
                                now + 10 * MINUTE
                            };
                            cover(covers, habits, plan, announced, announced, to);
                            goes_on = false;
                        }
                        End::Dies => {
                            line.push((now, agent, Happening::Dies));
                            cover(
                                covers,
                                habits,
                                plan,
                                announced,
                                announced,
                                now + 10 * MINUTE,
                            );
                            return line;
                        }
                        End::Denied => {}
                    }
                    if !goes_on {
                        break;
                    }
                }
                now += 60;
                is_cut = !goes_on;
                if goes_on {
                    line.push((now, agent, Happening::StepFinish));
                }
                if !habits.tells_of_tools {
                    let all = ToolPlan {
                        names: Vec::new(),
                        ..tools[0].clone()
                    };
                    let to = if goes_on { now } else { now + 10 * MINUTE };
                    cover(covers, habits, &all, begin, begin, to);
                }
            }
        }
    }
    line
}

fn cover(
    covers: &mut Vec<Cover>,
    habits: Habits,
    plan: &ToolPlan,
    announced: Milliseconds,
    from: Milliseconds,
    to: Milliseconds,
) {
    // Where the wait is told of and the duration is not, the end of the wait is not known.
    let is_vague = habits.tells_waits && plan.waits.is_some() && !habits.tells_durations;
    covers.push(Cover {
        // A step without tools is one whole.
        names: plan
            .names
            .iter()
            .copied()
            .filter(|_| habits.tells_of_tools)
            .collect(),
        from: if is_vague { announced } else { from } - 1_050,
        to,
    });
}

/// What is known of one agent while the day goes on.
#[derive(Default)]
struct Known {
    open: Option<Step>,
    numbers: Vec<usize>,
    in_background: Option<Step>,
    last: Milliseconds,
    esc_at: Option<Milliseconds>,
    is_dead: bool,
}

/// How often what was said.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    all: u64,
    unclear: u64,
}

struct Model<'a> {
    day: &'a Day,
    files: Vec<WorkspacePath>,
    known: Vec<Known>,
    /// Since the last look: when each file was written last, and by whom.
    dirty: BTreeMap<usize, (Milliseconds, BTreeSet<Option<usize>>)>,
    covers: Vec<Cover>,
    count: Count,
}

impl Model<'_> {
    fn play(day: &Day) -> Result<Count, TestCaseError> {
        let mut covers = Vec::new();
        let mut line: Vec<_> = day
            .edits
            .iter()
            .map(|(at, file)| (MORNING + at, 0, Happening::Write(None, *file)))
            .collect();
        for (agent, (habits, acts)) in day.agents.iter().enumerate() {
            line.extend(lay_out(
                agent,
                *habits,
                acts,
                day.agents.len() == 1,
                &mut covers,
            ));
        }
        line.sort_by_key(|(at, ..)| *at);
        let files = (0..FILES).map(|file| WorkspacePath::new(format!("f{file}")).expect("legal"));
        let mut model = Model {
            day,
            files: files.collect(),
            known: day.agents.iter().map(|_| Known::default()).collect(),
            dirty: BTreeMap::new(),
            covers,
            count: Count::default(),
        };
        let end = line.last().map_or(MORNING, |(at, ..)| *at) + MINUTE;
        for (at, agent, happening) in line {
            model.happen(at, agent, happening)?;
        }
        // A revert of each agent's.
        for agent in 0..model.known.len() {
            model.look(end, agent, Some(Standing::Cut))?;
        }
        Ok(model.count)
    }

    fn happen(
        &mut self,
        at: Milliseconds,
        agent: usize,
        happening: Happening,
    ) -> Result<(), TestCaseError> {
        let tells = self.day.agents[agent].0.tells_of_tools;
        match happening {
            Happening::Write(who, file) => {
                let (last, writers) = self.dirty.entry(file).or_default();
                *last = at;
                writers.insert(who);
                return Ok(());
            }
            Happening::Esc => {
                self.known[agent].esc_at = Some(at);
                return Ok(());
            }
            Happening::Dies => {
                self.known[agent].is_dead = true;
                return Ok(());
            }
            Happening::Message => {
                self.look(at, agent, Some(Standing::Cut))?;
                self.known[agent].esc_at = None;
            }
            Happening::StepStart => {
                self.look(at, agent, Some(Standing::Finished))?;
                self.known[agent].open = Some(self.new_step(agent, at, tells));
                self.known[agent].numbers.clear();
            }
            Happening::ToolStart(number, plan) => {
                let has_tools = |step: &Step| !step.tools.is_empty();
                if !self.known[agent].open.as_ref().is_some_and(has_tools) {
                    self.look(at, agent, None)?;
                }
                let fresh = self.new_step(agent, at, tells);
                let files = plan.names.iter().map(|file| self.files[*file].clone());
                let reach = if plan.names.is_empty() {
                    Reach::Anything
                } else {
                    Reach::Files(files.collect())
                };
                let known = &mut self.known[agent];
                let step = known.open.get_or_insert(fresh);
                step.tools.push(Tool {
                    reach,
                    announced_at: at,
                    ended_at: None,
                    ran_for: None,
                    waited_at: None,
                });
                known.numbers.push(number);
            }
            Happening::Wait(number) => {
                if let Some(tool) = self.tool(agent, number) {
                    tool.waited_at = Some(at);
                }
            }
            Happening::ToolFinish(number, ran_for, is_left) => {
                if let Some(tool) = self.tool(agent, number) {
                    (tool.ended_at, tool.ran_for) = (Some(at), ran_for);
                    let since = tool.announced_at;
                    let step = self.known[agent].open.as_mut().expect("it has a tool");
                    if is_left {
                        step.background_since.get_or_insert(since);
                    }
                }
            }
            Happening::StepFinish => self.look(at, agent, Some(Standing::Finished))?,
            Happening::TurnEnd => self.look(at, agent, Some(Standing::TurnEnded))?,
        }
        self.known[agent].last = at;
        Ok(())
    }

    fn new_step(&self, agent: usize, at: Milliseconds, tells_of_tools: bool) -> Step {
        Step {
            root: agent.to_string(),
            started_at: at,
            tells_of_tools,
            tools: Vec::new(),
            standing: Standing::Open,
            signs: Signs::default(),
            background_since: None,
            died_at: None,
            is_over: false,
        }
    }

    fn tool(&mut self, agent: usize, number: usize) -> Option<&mut Tool> {
        let known = &mut self.known[agent];
        let at = known.numbers.iter().position(|other| *other == number)?;
        known.open.as_mut()?.tools.get_mut(at)
    }

    /// Looks at the workspace, as one of the agents' events or a revert does; that agent's step ends so, if it ends.
    fn look(
        &mut self,
        now: Milliseconds,
        agent: usize,
        ends: Option<Standing>,
    ) -> Result<(), TestCaseError> {
        let mut steps = Vec::new();
        for (other, known) in self.known.iter().enumerate() {
            let (habits, _) = self.day.agents[other];
            let signs = Signs {
                last: known.last,
                interrupted_at: known.esc_at.filter(|_| habits.marks),
                is_dead: known.is_dead,
            };
            let ends = if known.is_dead {
                Some(Standing::Cut)
            } else {
                ends.filter(|_| other == agent)
            };
            let standing = ends.unwrap_or(Standing::Open);
            let open = known.open.iter().map(|step| Step {
                standing,
                signs,
                ..step.clone()
            });
            let over = known.in_background.iter().map(|step| Step {
                signs,
                is_over: true,
                ..step.clone()
            });
            steps.extend(open.chain(over));
        }
        let dirty = std::mem::take(&mut self.dirty);
        let seen: Vec<_> = dirty
            .iter()
            .map(|(file, (at, _))| Changed {
                path: &self.files[*file],
                at: Some(*at),
            })
            .collect();
        let evidence = Evidence::new(&steps, &seen, now);
        for ((file, (at, writers)), seen) in dirty.iter().zip(&seen) {
            let verdict = evidence.judge(*seen, None);
            self.count.all += 1;
            self.count.unclear += u64::from(matches!(verdict, Verdict::Unclear(..)));
            self.hold(*file, *at, writers, &verdict, &steps)?;
        }
        for (other, known) in self.known.iter_mut().enumerate() {
            let is_over = known.is_dead || ends.is_some() && other == agent;
            let step = if is_over { known.open.take() } else { None };
            if let Some(step) = step.filter(|step| step.background_since.is_some()) {
                known.in_background = Some(step);
            }
        }
        Ok(())
    }

    fn hold(
        &self,
        file: usize,
        at: Milliseconds,
        writers: &BTreeSet<Option<usize>>,
        verdict: &Verdict,
        steps: &[Step],
    ) -> Result<(), TestCaseError> {
        let named: Vec<&str> = match verdict {
            Verdict::Outside => Vec::new(),
            Verdict::Agent(step) => vec![&steps[*step].root],
            Verdict::Shared(all) | Verdict::Unclear(all, _) => {
                all.iter().map(|step| steps[*step].root.as_str()).collect()
            }
        };
        // Every byte of an agent's goes, or is named. Two agents at one file: the later one has it, as with a person.
        let is_agents = writers.iter().any(Option::is_some);
        prop_assert!(
            !is_agents || !named.is_empty(),
            "f{file}, written at {} by {writers:?}, is nobody's of {steps:#?}",
            at - MORNING
        );
        // What the person alone wrote is taken only where a tool could have written it.
        let is_taken = matches!(verdict, Verdict::Agent(_) | Verdict::Shared(_));
        let could = |cover: &Cover| {
            let reaches = cover.names.is_empty() || cover.names.contains(&file);
            reaches && (cover.from..=cover.to).contains(&at)
        };
        prop_assert!(
            is_agents || !is_taken || self.covers.iter().any(could),
            "f{file}, saved by the person at {}, is taken: {verdict:?} of {steps:#?}",
            at - MORNING
        );
        Ok(())
    }
}

#[test]
fn in_a_day_no_edit_of_the_persons_is_taken_without_a_tool_that_could_have_made_it_and_nothing_of_an_agents_is_untold()
 {
    let mut runner = TestRunner::new(Config {
        cases: 2_000,
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Config::default()
    });
    let days = runner.run(&day(Luck::Bad), |day| Model::play(&day).map(|_| ()));
    if let Err(error) = days {
        panic!("{error}");
    }
}

#[test]
fn unclear_is_rare_where_agents_tell_of_their_tools() {
    let mut runner = TestRunner::deterministic();
    let mut counts = [Count::default(); 2];
    for _ in 0..2_000 {
        let mut day = day(Luck::Ordinary)
            .new_tree(&mut runner)
            .expect("a day")
            .current();
        for (at, tells) in [true, false].into_iter().enumerate() {
            for (habits, _) in &mut day.agents {
                *habits = Habits {
                    tells_of_tools: tells,
                    tells_durations: tells,
                    tells_waits: tells,
                    marks: tells,
                };
            }
            let count = Model::play(&day).expect("the laws hold");
            counts[at].all += count.all;
            counts[at].unclear += count.unclear;
        }
    }
    let share = |count: Count| count.unclear * 1000 / count.all;
    let [telling, silent] = counts.map(share);
    assert!(
        telling < 60 && telling < silent,
        "of a thousand changes {telling} and {silent}: {counts:?}"
    );
}
