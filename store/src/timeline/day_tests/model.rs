//! Plays a day, and checks each verdict against who really wrote.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::model::path::WorkspacePath;
use crate::timeline::evidence::{
    Changed, Evidence, LONGEST_RUN, Reach, SILENCE, Signs, Step, StepStanding, Tool, Verdict,
};

/// What happens at one moment.
#[derive(Clone, Debug)]
enum Happening {
    /// Somebody writes a file: an agent, or the person. With until when what comes is taken for it, where it is an
    /// agent's.
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

/// When a tool could really have written, as far as the events show.
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
                        // Nothing reports its end, so the tool may still be at work.
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
    // If the wait is reported but the duration is not, the end of the wait is unknown.
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
#[derive(Clone, Debug, Default)]
pub struct Count {
    pub all: u64,
    pub unclear: u64,
    /// Those of them that nobody but the person had written.
    pub persons: u64,
    /// And why they are.
    pub by_doubt: BTreeMap<String, u64>,
}

impl Count {
    pub fn add(&mut self, other: Self) {
        self.all += other.all;
        self.unclear += other.unclear;
        self.persons += other.persons;
        for (why, number) in other.by_doubt {
            *self.by_doubt.entry(why).or_default() += number;
        }
    }
}

pub struct Model<'a> {
    day: &'a Day,
    files: Vec<WorkspacePath>,
    known: Vec<Known>,
    /// The last writer of each file since the last look, with the time.
    dirty: BTreeMap<usize, (Milliseconds, BTreeSet<Option<usize>>)>,
    covers: Vec<Cover>,
    count: Count,
}

impl Model<'_> {
    pub fn play(day: &Day) -> Result<Count, TestCaseError> {
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
            model.look(end, agent, Some(StepStanding::Cut))?;
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
                self.look(at, agent, Some(StepStanding::Cut))?;
                self.known[agent].esc_at = None;
            }
            Happening::StepStart => {
                self.look(at, agent, Some(StepStanding::Finished))?;
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
                    is_unheard: false,
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
                    let left = is_left.then(|| Tool {
                        reach: Reach::Anything,
                        ..tool.clone()
                    });
                    let step = self.known[agent].open.as_mut().expect("it has a tool");
                    step.background.extend(left);
                }
            }
            Happening::StepFinish => self.look(at, agent, Some(StepStanding::Finished))?,
            Happening::TurnEnd => self.look(at, agent, Some(StepStanding::TurnEnded))?,
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
            standing: StepStanding::Open,
            signs: Signs::default(),
            background: Vec::new(),
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
        ends: Option<StepStanding>,
    ) -> Result<(), TestCaseError> {
        let mut steps = Vec::new();
        for (other, known) in self.known.iter().enumerate() {
            let (habits, _) = self.day.agents[other];
            let signs = Signs {
                last: known.last,
                interrupted_at: known.esc_at.filter(|_| habits.marks),
                is_dead: known.is_dead,
                ..Signs::default()
            };
            let ends = if known.is_dead {
                Some(StepStanding::Cut)
            } else {
                ends.filter(|_| other == agent)
            };
            let standing = ends.unwrap_or(StepStanding::Open);
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
            if let Verdict::Unclear(_, doubt) = verdict {
                self.count.unclear += 1;
                let is_persons = writers.iter().all(Option::is_none);
                self.count.persons += u64::from(is_persons);
                let why = format!("{doubt:?}");
                let why = why.split(' ').next().unwrap_or_default().to_owned();
                *self.count.by_doubt.entry(why).or_default() += 1;
            }
            self.hold(*file, *at, writers, &verdict, &steps)?;
        }
        for (other, known) in self.known.iter_mut().enumerate() {
            let is_over = known.is_dead || ends.is_some() && other == agent;
            let step = if is_over { known.open.take() } else { None };
            if let Some(step) = step.filter(|step| !step.background.is_empty()) {
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
