//! Decides whose a change is, by evidence. Pure: everything that is known comes as values, and the answer is a
//! [`Verdict`].
//!
//! First it finds out for each step by itself what it has to do with a change ([`StepPart`]), then it weighs the
//! findings against each other. The table in `docs/attribution.md` ("Evidence") is this module's contract; each of its
//! rows is a test below.
//!
//! A time is that of the *last* change of a path (`ctime`; for a removed path its directory's, which is no earlier than
//! the removal). So a tool did not touch a path that last changed before the tool began, but may have changed one that
//! last changed after it ended.

mod doubt;
#[cfg(test)]
mod lost_tests;
#[cfg(test)]
mod pause_tests;
mod span;
mod step;
#[cfg(test)]
mod stopped_tests;
#[cfg(test)]
mod tests;
mod tool_runs;

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};

pub(crate) use doubt::Doubt;
use span::{Early, Late, Span};
pub(crate) use step::{Reach, Signs, Step, StepStanding, Tool};
use tool_runs::{Ran, outside};

use crate::model::Milliseconds;
use crate::model::path::WorkspacePath;

pub(crate) use crate::model::TICK;

/// The hook that reports the end of a tool may look at the clock this much later.
const HOOK_DELAY: Milliseconds = 1_000;

/// No hook is later than this. In between, the tool may or may not have been running already.
const MAX_HOOK_DELAY: Milliseconds = 10_000;

/// How long after a tool's end its writes may still appear: a killed command finishes its files, and a file system
/// updates its times.
const WRITE_DELAY: Milliseconds = 250;

/// How long after a tool's end an agent that goes on may still work on its files: its own hooks format what was
/// written.
pub(crate) const AFTERWORK: Milliseconds = 2_000;

/// How long a command may write nothing within one run of writes. A person who just pressed Esc takes longer than this
/// to save a file.
pub(crate) const SILENCE: Milliseconds = 10_000;

/// How long a run of writes is believed without a sign of life.
pub(super) const LONGEST_RUN: Milliseconds = 120_000;

/// How long a dead agent's background processes count. How many there are, or when they end, is unknown, and without a
/// limit everything that a person does would be unclear for ever.
const LONGEST_AFTER_DEATH: Milliseconds = 3_600_000;

/// A change to be judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Changed<'a> {
    /// The path.
    pub path: &'a WorkspacePath,
    /// The time of its last change, or `None` if it cannot be trusted, as when the file system's clock disagrees with
    /// ours.
    pub at: Option<Milliseconds>,
}

/// When a path last changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dated {
    /// The moment.
    pub at: Milliseconds,
    /// If only the latest possible moment is known, the earliest one.
    pub since: Option<Milliseconds>,
    /// Whether it is older than the last look, which did not see the change: it is by another clock.
    pub is_stale: bool,
}

/// Whose a change is. Steps are given by index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It belongs to one conversation: that of this step.
    Agent(usize),
    /// It belongs to one of several conversations that were all at work.
    Shared(Vec<usize>),
    /// It belongs to no agent that sends events.
    Outside,
    /// It may belong to these steps, or to another author. The reason is that of the first one.
    Unclear(Vec<usize>, Doubt),
}

/// What one step has to do with a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepPart {
    No,
    Maybe(Doubt),
    /// According to the events, one of its tools still runs, but it has been silent for long. That is not enough
    /// evidence to own a change, but enough to share it.
    Running(Doubt),
    Yes {
        /// Whether one of its tools named the file.
        is_named: bool,
    },
}

/// Judges changes that were seen at one moment.
pub(crate) struct Evidence<'a> {
    steps: &'a [Step],
    /// The times of all changes, in order.
    times: Vec<(Milliseconds, &'a WorkspacePath)>,
    now: Milliseconds,
    /// Whether an event is in the future: the clock jumped.
    has_jumped: bool,
    /// When the tools of each step ran.
    ran: Vec<Ran<'a>>,
    /// The ends of runs of writes of tools that reach any path, by their begins and the longest pause in them.
    runs: RefCell<HashMap<(Milliseconds, Milliseconds), Milliseconds>>,
    /// The moments just outside of tools at which no tool of a conversation ran that reaches any path, by its root.
    idle: OnceCell<HashMap<&'a str, Vec<Milliseconds>>>,
}

impl<'a> Evidence<'a> {
    /// Takes what is known at a moment. `changes` are all that were seen then; they show which of them came in one run.
    pub fn new(steps: &'a [Step], changes: &[Changed<'a>], now: Milliseconds) -> Self {
        let mut evidence = Self {
            steps,
            times: Vec::new(),
            now,
            has_jumped: has_jumped(steps, now),
            ran: Vec::new(),
            runs: RefCell::default(),
            idle: OnceCell::new(),
        };
        evidence.times = changes
            .iter()
            .filter_map(|change| Some((evidence.believed(change.at)?, change.path)))
            .collect();
        // `run_of` follows the writes of a run from one to the next.
        evidence.times.sort_unstable();
        let ran = |step: &'a Step| Ran::of(step, |tool| evidence.span(step, tool));
        let ran = steps.iter().map(ran).collect();
        Self { ran, ..evidence }
    }

    /// Returns whether the time of a change can be trusted.
    pub fn is_dated(&self, change: Changed<'_>) -> bool {
        self.believed(change.at).is_some()
    }

    /// Returns a time if it can be trusted. A time in the future comes from another clock. If an event is in the
    /// future, the clock jumped, and no time means anything.
    fn believed(&self, at: Option<Milliseconds>) -> Option<Milliseconds> {
        at.filter(|at| !self.has_jumped && *at <= self.now.saturating_add(TICK))
    }

    /// Returns whose a change is. Among the steps of one conversation, it goes to the `preferred` one, or else to the
    /// newest.
    pub fn judge(&self, change: Changed<'_>, preferred: Option<usize>) -> Verdict {
        self.judge_among(|_| true, change, preferred)
    }

    /// Like [`judge`](Self::judge), as if only some of the steps had been at work.
    pub fn judge_among(
        &self,
        is_meant: impl Fn(usize) -> bool,
        change: Changed<'_>,
        preferred: Option<usize>,
    ) -> Verdict {
        let change = Changed {
            at: self.believed(change.at),
            ..change
        };
        let finding = |step| match is_meant(step) {
            true => self.finding(step, change),
            false => StepPart::No,
        };
        let findings: Vec<StepPart> = (0..self.steps.len()).map(finding).collect();
        let having = |is: &dyn Fn(&StepPart) -> bool| -> Vec<usize> {
            let steps = (0..findings.len()).filter(|at| is(&findings[*at]));
            self.one_a_root(steps.collect(), preferred)
        };
        //   a tool named the file        the change is that step's, or shared by those that did
        //   a tool ran that reaches it   the same among these
        //   one may have run             unclear
        //   none of these                outside
        //
        // Each line counts only if none above does. A shell that ran while an edit tool wrote its file is no second
        // author: its time covers everything, so it says little about one file. And a doubt never takes a change
        // from a step with evidence.
        let named = having(&|finding| matches!(finding, StepPart::Yes { is_named: true }));
        let is_sure = |finding: &StepPart| matches!(finding, StepPart::Yes { .. });
        let sure = if !named.is_empty() {
            named
        } else if findings.iter().any(is_sure) {
            let sure = (0..findings.len()).filter(|at| is_sure(&findings[*at]));
            let have_sure: HashSet<&str> = sure.map(|at| &self.steps[at].root[..]).collect();
            let counts = |at: usize| match findings[at] {
                StepPart::Yes { .. } => true,
                // A silent tool beside a sure one of the same conversation would make it share with itself.
                StepPart::Running(_) => !have_sure.contains(&self.steps[at].root[..]),
                StepPart::No | StepPart::Maybe(_) => false,
            };
            let counted = (0..findings.len()).filter(|at| counts(*at)).collect();
            self.one_a_root(counted, preferred)
        } else {
            Vec::new()
        };
        match sure[..] {
            [step] => return Verdict::Agent(step),
            [] => {}
            _ => return Verdict::Shared(sure),
        }
        let maybe = having(&|finding| matches!(finding, StepPart::Maybe(_) | StepPart::Running(_)));
        match maybe.first().map(|step| findings[*step]) {
            Some(StepPart::Maybe(doubt) | StepPart::Running(doubt)) => {
                Verdict::Unclear(maybe, doubt)
            }
            _ => Verdict::Outside,
        }
    }

    /// Returns whether a step could have made a change: one of its tools was running then, or may still be.
    pub fn could_make(&self, step: usize, change: Changed<'_>) -> bool {
        let finding = self.finding(step, change);
        matches!(finding, StepPart::Yes { .. } | StepPart::Running(_))
    }

    /// Returns whether no tool of a step's conversation is known to have run at some moment from one up to another, at
    /// which it has evidence for a change. A moment shortly after the first does not count: the tool that began then
    /// waited for the look.
    pub fn paused(
        &self,
        step: usize,
        path: &WorkspacePath,
        since: Milliseconds,
        at: Milliseconds,
    ) -> bool {
        let root = &self.steps[step].root[..];
        let idle = self.idle.get_or_init(|| self.idle());
        let idle = idle.get(root).map_or(&[][..], Vec::as_slice);
        let between = &idle[idle.partition_point(|moment| *moment <= since)..];
        let mut between = between.iter().take_while(|moment| **moment < at);
        let own = || self.of_root(root);
        between.any(|moment| !own().any(|step| self.ran[step].named_at(path, *moment)))
    }

    /// Returns the moments, in order, just outside of the tools of each conversation at which none of them ran that
    /// reaches any path. Whether one was at work changes only there, so these stand for all other moments.
    fn idle(&self) -> HashMap<&'a str, Vec<Milliseconds>> {
        let mut of_roots: HashMap<&'a str, (Vec<_>, Vec<_>)> = HashMap::new();
        for (step, ran) in self.steps.iter().zip(&self.ran) {
            let (moments, spans) = of_roots.entry(&step.root).or_default();
            moments.extend(ran.spans().flat_map(|span| {
                [
                    span.from.map(|from| from.saturating_sub(AFTERWORK)),
                    span.to.map(|to| to.saturating_add(1)),
                ]
            }));
            if !step.is_over {
                spans.extend(ran.free_spans());
            }
        }
        let idle = of_roots.into_iter().map(|(root, (moments, spans))| {
            let moments = moments.into_iter().flatten().collect();
            (root, outside(moments, spans))
        });
        idle.collect()
    }

    /// Returns the steps of a conversation that did not end before.
    fn of_root(&self, root: &str) -> impl Iterator<Item = usize> {
        (0..self.steps.len())
            .filter(move |at| self.steps[*at].root == root && !self.steps[*at].is_over)
    }

    /// Returns whether another author may have made a change in a pause of the step's tools since a look, if no time
    /// shows when it was made. A tool that named the file settles it; so does one that ran since the look and whose end
    /// was never reported, because no pause is known then.
    pub fn may_be_of_a_pause(
        &self,
        step: usize,
        path: &WorkspacePath,
        looked_at: Option<Milliseconds>,
    ) -> bool {
        let Some(since) = looked_at.filter(|_| !self.steps[step].names(path)) else {
            return false;
        };
        let root = &self.steps[step].root;
        let of_root = self.steps.iter().filter(|other| other.root == *root);
        let mut tools = of_root.flat_map(|step| &step.tools);
        let is_unended = |tool: &Tool| {
            tool.ended_at.is_none() && tool.reaches(path) && tool.announced_at <= since + AFTERWORK
        };
        !tools.any(is_unended) && self.paused(step, path, since, self.now)
    }

    /// Returns one step per conversation, in the order of the steps: the preferred step if it is one of them, else the
    /// newest.
    pub fn one_a_root(&self, mut steps: Vec<usize>, preferred: Option<usize>) -> Vec<usize> {
        let preferred = preferred.filter(|at| steps.contains(at));
        let newest = steps.iter().copied().chain(preferred);
        let chosen: HashMap<&str, usize> =
            newest.map(|at| (&self.steps[at].root[..], at)).collect();
        steps.retain(|at| chosen.get(&self.steps[*at].root[..]) == Some(at));
        steps
    }

    fn finding(&self, at: usize, change: Changed<'_>) -> StepPart {
        let step = &self.steps[at];
        let own = if step.is_over {
            StepPart::No
        } else {
            self.of_tools(step, &self.ran[at], change)
        };
        let at = change.at.unwrap_or(self.now);
        let is_in_background = step.background.iter().any(|tool| {
            let is_since = change.at.is_none_or(|at| at + TICK >= tool.announced_at);
            is_since && tool.reaches(change.path) && step.goes_on_at(at)
        });
        match own {
            // Only where the step's own tools do not account for it: a command that runs for hours would otherwise
            // make every edit unclear.
            StepPart::No if is_in_background => StepPart::Maybe(Doubt::Background),
            own => own,
        }
    }

    fn of_tools(&self, step: &Step, ran: &Ran<'_>, change: Changed<'_>) -> StepPart {
        if ran.is_empty() {
            return unreported(step, change);
        }
        let findings = ran
            .reaching(change.path)
            .map(|(at, (tool, span))| (at, self.of_tool(step, tool, *span, change)));
        let none = (usize::MAX, StepPart::No);
        // Of equals, the one that was announced first counts.
        let (_, strongest) = findings.fold(none, |one, other| match one.0 < other.0 {
            true => stronger(one, other),
            false => stronger(other, one),
        });
        strongest
    }

    /// Returns the evidence for one tool as the author of a change in its reach.
    fn of_tool(&self, step: &Step, tool: &Tool, span: Span, change: Changed<'_>) -> StepPart {
        let yes = StepPart::Yes {
            is_named: matches!(tool.reach, Reach::Files(_)),
        };
        let Some(at) = change.at else {
            return match span.timeless {
                Some(doubt) => StepPart::Maybe(doubt),
                None => yes,
            };
        };
        //         possible_from      from                         to
        //   ── no ───┤ may have run ───┤ ran: every change is its ───┤ may have been before: unclear ──►
        //
        // A time is that of the last change. So one before the span clears the tool, while one after it only hides
        // what the tool may have done earlier.
        if at + TICK < span.possible_from {
            StepPart::No
        } else if span.from.is_none_or(|from| at + TICK < from) {
            StepPart::Maybe(match (span.early, span.from) {
                (Early::Late, Some(from)) => Doubt::Early { before: from - at },
                (Early::Unheard, _) => Doubt::Unheard,
                (Early::Waiting, _) | (_, None) => Doubt::Waiting,
            })
        } else if span.to.is_none_or(|to| at <= to) {
            yes
        } else if step.standing == StepStanding::Open
            && tool.ended_at.is_none()
            && !step.is_stopped(tool)
        {
            StepPart::Running(span.late.at(at))
        } else {
            StepPart::Maybe(span.late.at(at))
        }
    }

    /// Returns when a tool ran, as far as is known.
    fn span(&self, step: &Step, tool: &Tool) -> Span {
        let begin = self.begin(step, tool);
        match (tool.ended_at, step.standing) {
            // No afterwork: a moment after Esc, it is the person who saves a file.
            (Some(end), StepStanding::Cut) => Span {
                to: Some(end + WRITE_DELAY),
                late: Late::new(step, Some(end)),
                timeless: None,
                ..begin
            },
            (Some(end), _) => Span {
                to: Some(step.worked_after(tool, end)),
                late: Late::Ended(end),
                timeless: begin.timeless,
                ..begin
            },
            // If the agent has been silent for long, the tool may still work, or may have been interrupted without
            // a report.
            (None, StepStanding::Cut | StepStanding::Open) => self.cut(step, tool, begin),
            (None, StepStanding::Finished | StepStanding::TurnEnded | StepStanding::Answered) => {
                begin
            }
        }
    }

    /// Returns from when on a tool may have run, and from when on it is known to have run.
    fn begin(&self, step: &Step, tool: &Tool) -> Span {
        let begin = Span {
            possible_from: tool.announced_at,
            from: Some(tool.announced_at),
            early: Early::Late,
            to: None,
            late: Late::new(step, None),
            timeless: None,
        };
        if tool.is_unheard {
            return Span {
                from: None,
                early: Early::Unheard,
                timeless: Some(Doubt::Unheard),
                ..begin
            };
        }
        match (tool.ended_at, tool.ran_for, tool.waited_at) {
            (Some(end), Some(ran_for), _) => Span {
                // `end` is when the hook looked at the clock, which is after the tool's end by an unknown time. So
                // the start that follows from it may be too late by as much.
                possible_from: tool.announced_at.max(end - ran_for - MAX_HOOK_DELAY),
                from: Some(tool.announced_at.max(end - ran_for - HOOK_DELAY)),
                timeless: tool.has_waited(end - ran_for).then_some(Doubt::Waiting),
                ..begin
            },
            // Permission was given at some time before the end.
            (Some(end), None, Some(waited)) => Span {
                possible_from: waited,
                // No event says when permission was given. What came just before the end is believed to be the
                // tool's, because a person who just answered a prompt does not also save a file.
                from: Some(waited.max(end - SILENCE)),
                early: Early::Waiting,
                timeless: (end - waited > SILENCE).then_some(Doubt::Waiting),
                ..begin
            },
            // It still waits, or was denied, or ran without a report.
            (None, _, Some(waited)) => Span {
                possible_from: waited,
                from: None,
                early: Early::Waiting,
                timeless: Some(Doubt::Waiting),
                ..begin
            },
            _ => begin,
        }
    }

    /// Returns the span of a tool whose end was never reported: it ended at the last sign of life, or with its run of
    /// writes.
    fn cut(&self, step: &Step, tool: &Tool, begin: Span) -> Span {
        let signs = &step.signs;
        let late = Late::new(step, None);
        let pause = step.longest_pause(tool);
        let interrupted = signs.interrupted_at.filter(|at| *at >= tool.announced_at);
        let to = match interrupted {
            Some(at) => at + WRITE_DELAY,
            None => self.run_of(tool, signs.last.max(tool.announced_at), pause),
        };
        let unheard = self.now - signs.last.max(tool.announced_at);
        // A file without a usable time goes by the events alone, and only if these are close: an hour later, a
        // person is the likelier author, and so is one at once after a kill.
        let longest = if pause == WRITE_DELAY {
            WRITE_DELAY
        } else {
            LONGEST_RUN
        };
        let is_at_once = (0..=longest).contains(&unheard);
        let timeless = begin.timeless.or((!is_at_once).then_some(Doubt::Timeless));
        Span {
            to: Some(to),
            late,
            timeless,
            ..begin
        }
    }

    /// Returns the end of the run of writes from a moment on: those that the tool could have made, each soon after the
    /// one before, after a pause of no more than so long.
    fn run_of(&self, tool: &Tool, from: Milliseconds, pause: Milliseconds) -> Milliseconds {
        let run = || {
            let first = self.times.partition_point(|(at, _)| *at <= from);
            let later = self.times[first..]
                .iter()
                .filter(|(_, path)| tool.reaches(path));
            let mut end = from;
            for (at, _) in later {
                // Two bounds: a gap ends the run, because programs write without pauses and people do not; and its
                // whole length is bounded, because a person who saves every few seconds looks like a program.
                if *at - end > pause || *at - from > LONGEST_RUN {
                    break;
                }
                end = *at;
            }
            end
        };
        match tool.reach {
            Reach::Anything => *self
                .runs
                .borrow_mut()
                .entry((from, pause))
                .or_insert_with(run),
            Reach::Files(_) | Reach::Nothing => run(),
        }
    }
}

/// Returns whether an event is in the future. One spoils all times and not only its own: the clock was set back since,
/// and which of the others came before that is unknown.
fn has_jumped(steps: &[Step], now: Milliseconds) -> bool {
    let latest = now.saturating_add(TICK);
    steps.iter().any(|step| {
        let tools = step.tools.iter().map(|tool| tool.announced_at);
        tools.chain([step.started_at]).any(|time| time > latest)
    })
}

/// Judges a step without a tool. It was only thinking, unless its agent went on to another step: then it did something
/// that it did not report. An agent that reports only the ends of its tools may have lost one.
fn unreported(step: &Step, change: Changed<'_>) -> StepPart {
    // Without a time, it may be younger than the step's begin, and a doubt claims nothing.
    let is_since = change.at.is_none_or(|at| at + TICK >= step.started_at);
    match step.standing {
        StepStanding::Finished | StepStanding::Answered if is_since => {
            StepPart::Maybe(Doubt::Unreported)
        }
        StepStanding::Finished
        | StepStanding::Answered
        | StepStanding::Open
        | StepStanding::TurnEnded
        | StepStanding::Cut => StepPart::No,
    }
}

/// Returns the stronger of two findings, or the first of equals, so that the same events always give the same reason.
fn stronger(one: (usize, StepPart), other: (usize, StepPart)) -> (usize, StepPart) {
    match (one.1, other.1) {
        // The stronger first: a tool that named the file, one that ran, one that may still run, one that may have
        // run.
        (StepPart::Yes { is_named: true }, _) | (_, StepPart::No) => one,
        (StepPart::Yes { .. }, StepPart::Maybe(_) | StepPart::Running(_)) => one,
        (StepPart::Running(_), StepPart::Maybe(_) | StepPart::Running(_)) => one,
        (StepPart::Maybe(_), StepPart::Maybe(_)) => one,
        _ => other,
    }
}
