//! Whose a change is, by evidence. Pure: everything that is known comes as values, and the answer is a [`Verdict`].
//!
//! Each step is asked alone what it has to do with a change ([`Finding`]), then the findings are weighed against each other.
//! The table of `docs/architecture.md` ("Evidence") is this module's contract; each of its rows is a test below.
//!
//! A time is that of the *last* change of a path (`ctime`; of what was removed its directory's, which is no earlier than the
//! removal). So what changed last before a tool began was not touched by it at all; what changed last after a tool ended may
//! have been changed by it before.

use std::fmt;

use crate::model::Milliseconds;
use crate::model::path::WorkspacePath;

/// File times come from the kernel's tick and are as much older than the clock that events are stamped with.
pub(crate) const TICK: Milliseconds = 20;

/// So late, after the tool ended, the hook that tells of it may look at the clock.
const LATE: Milliseconds = 1_000;

/// Later than that it is on no machine. In between it is not known whether the tool ran already.
const LATEST: Milliseconds = 10_000;

/// So long after a tool's end its writes still appear: a command that is killed ends its files, and a file system its times.
const SETTLE: Milliseconds = 250;

/// So long after a tool's end an agent that goes on still works at its files: its own hooks format what was written.
const AFTERWORK: Milliseconds = 2_000;

/// So long a command may write nothing and still be at the same run. Nobody who just pressed Esc has saved a file as soon.
pub(super) const SILENCE: Milliseconds = 10_000;

/// No run without a sign of life is believed for longer.
pub(super) const LONGEST_RUN: Milliseconds = 120_000;

/// What a tool may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Any file: a shell, or a tool of which we know nothing.
    Anything,
    /// The files that it names: an edit tool.
    Files(Vec<WorkspacePath>),
    /// None: it only reads.
    Nothing,
}

/// A tool of a step. Times are milliseconds since the epoch, by the clock of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tool {
    /// What it may change.
    pub reach: Reach,
    /// When it was announced: it runs no earlier.
    pub announced_at: Milliseconds,
    /// When it was told to have ended.
    pub ended_at: Option<Milliseconds>,
    /// How long it ran, where its agent says, without the wait for permission.
    pub ran_for: Option<Milliseconds>,
    /// When it was told to wait for the user's permission.
    pub waited_at: Option<Milliseconds>,
}

/// How a step stands at the moment at which changes are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It goes on.
    Open,
    /// It ends by its own finish, or because its agent calls the model again.
    Finished,
    /// It ends with its turn.
    TurnEnded,
    /// Its end was never told: the next message, a revert or the death of its agent ends it.
    Cut,
}

/// The last that was heard of an agent, beside the events of its tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signs {
    /// Its last event, or the last entry of its transcript, whichever is later.
    pub last: Milliseconds,
    /// When its transcript says that the user interrupted it.
    pub interrupted_at: Option<Milliseconds>,
    /// Whether its process is gone.
    pub is_dead: bool,
}

/// What is known of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The session at the top of its line of parents: sub-agents work for it.
    pub root: String,
    /// When it began.
    pub started_at: Milliseconds,
    /// Whether its agent tells of its tools, so that the time without one is thinking.
    pub tells_of_tools: bool,
    /// Its tools, in the order in which they were announced.
    pub tools: Vec<Tool>,
    /// How it stands now.
    pub standing: Standing,
    /// What was last heard of its agent.
    pub signs: Signs,
    /// Since when a command of it runs in the background, where one does: it may outlive the step.
    pub background_since: Option<Milliseconds>,
    /// Whether only that command is left of it: the step itself has ended before.
    pub is_over: bool,
}

/// A change to be judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Changed<'a> {
    /// Which path.
    pub path: &'a WorkspacePath,
    /// When it last changed; none where no time tells, as where the file's clock and ours disagree.
    pub at: Option<Milliseconds>,
}

/// Whose a change is. Steps are named by their index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// One conversation's: that of this step.
    Agent(usize),
    /// One of several conversations', which all were at work.
    Shared(Vec<usize>),
    /// Nobody's who sends events.
    Outside,
    /// It may be these steps', and as well somebody else's; the reason is the first one's.
    Unclear(Vec<usize>, Doubt),
}

/// Why it is not clear whose a change is, with what is known. Times are distances in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// It came so long after the agent was interrupted.
    Interrupted { after: Milliseconds },
    /// It came so long after the last sign of life of an agent whose end was never told.
    Silent { after: Milliseconds },
    /// It came so long after the agent's tool had ended, which may have changed it before.
    Ended { after: Milliseconds },
    /// It came so long before the tool is known to have run.
    Early { before: Milliseconds },
    /// A tool waited for the user's permission then.
    Waiting,
    /// No tool was told of in the step.
    Untold,
    /// A command runs in the background.
    Background,
    /// It is in a workspace of its own, in which another agent works.
    Elsewhere,
    /// Its time is not known.
    Timeless,
}

/// What one step has to do with a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finding {
    No,
    Maybe(Doubt),
    /// A tool of it runs, as far as anybody told, and was not heard of for long: too little to take what changed, and enough
    /// to share it.
    Running(Doubt),
    Yes {
        /// Whether one of its tools named the file.
        is_named: bool,
    },
}

/// Judges changes that were seen at one moment.
pub(crate) struct Evidence<'a> {
    steps: &'a [Step],
    /// The times of all that changed, in order.
    times: Vec<(Milliseconds, &'a WorkspacePath)>,
    now: Milliseconds,
}

impl<'a> Evidence<'a> {
    /// Takes what is known at a moment. `changes` are all that were seen then: they tell which of them came in one run.
    pub fn new(steps: &'a [Step], changes: &[Changed<'a>], now: Milliseconds) -> Self {
        let mut evidence = Self {
            steps,
            times: Vec::new(),
            now,
        };
        evidence.times = changes
            .iter()
            .filter_map(|change| Some((evidence.believed(change.at)?, change.path)))
            .collect();
        evidence.times.sort_unstable();
        evidence
    }

    /// A time that is still to come is another clock's; and where an event is, the clock jumped, and no time says anything.
    fn believed(&self, at: Option<Milliseconds>) -> Option<Milliseconds> {
        let latest = self.now.saturating_add(TICK);
        let is_to_come = |step: &Step| {
            let tools = step.tools.iter().map(|tool| tool.announced_at);
            tools.chain([step.started_at]).any(|time| time > latest)
        };
        at.filter(|at| *at <= latest && !self.steps.iter().any(is_to_come))
    }

    /// Returns whose a change is. Among the steps of one conversation the `preferred` one has it, else the newest.
    pub fn judge(&self, change: Changed<'_>, preferred: Option<usize>) -> Verdict {
        let change = Changed {
            at: self.believed(change.at),
            ..change
        };
        let findings: Vec<Finding> = self
            .steps
            .iter()
            .map(|step| self.finding(step, change))
            .collect();
        let having = |is: &dyn Fn(&Finding) -> bool| -> Vec<usize> {
            let steps = (0..findings.len()).filter(|at| is(&findings[*at]));
            self.one_a_root(steps.collect(), preferred)
        };
        let named = having(&|finding| matches!(finding, Finding::Yes { is_named: true }));
        let is_sure = |finding: &Finding| matches!(finding, Finding::Yes { .. });
        let sure = if !named.is_empty() {
            named
        } else if findings.iter().any(is_sure) {
            let has_sure = |root: &str| {
                let mut of_root = (0..findings.len()).filter(|at| self.steps[*at].root == root);
                of_root.any(|at| is_sure(&findings[at]))
            };
            let counts = |at: usize| match findings[at] {
                Finding::Yes { .. } => true,
                Finding::Running(_) => !has_sure(&self.steps[at].root),
                Finding::No | Finding::Maybe(_) => false,
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
        let maybe = having(&|finding| matches!(finding, Finding::Maybe(_) | Finding::Running(_)));
        match maybe.first().map(|step| findings[*step]) {
            Some(Finding::Maybe(doubt) | Finding::Running(doubt)) => Verdict::Unclear(maybe, doubt),
            _ => Verdict::Outside,
        }
    }

    /// Returns one step a conversation, in the order of the steps.
    fn one_a_root(&self, steps: Vec<usize>, preferred: Option<usize>) -> Vec<usize> {
        let is_of_root =
            |step: usize, other: usize| self.steps[step].root == self.steps[other].root;
        let is_chosen = |step: usize| match preferred.filter(|at| steps.contains(at)) {
            Some(preferred) if is_of_root(preferred, step) => step == preferred,
            _ => steps
                .iter()
                .rev()
                .find(|other| is_of_root(**other, step))
                .is_some_and(|newest| *newest == step),
        };
        steps
            .iter()
            .copied()
            .filter(|step| is_chosen(*step))
            .collect()
    }

    fn finding(&self, step: &Step, change: Changed<'_>) -> Finding {
        let own = if step.is_over {
            Finding::No
        } else {
            self.of_tools(step, change)
        };
        let is_in_background = step
            .background_since
            .is_some_and(|since| change.at.is_none_or(|at| at + TICK >= since));
        match own {
            Finding::No if is_in_background => Finding::Maybe(Doubt::Background),
            own => own,
        }
    }

    fn of_tools(&self, step: &Step, change: Changed<'_>) -> Finding {
        if !step.tells_of_tools {
            return self.of_tool(step, &whole(step), change);
        }
        if step.tools.is_empty() {
            return untold(step, change);
        }
        let findings = step
            .tools
            .iter()
            .filter(|tool| tool.reaches(change.path))
            .map(|tool| self.of_tool(step, tool, change));
        findings.fold(Finding::No, stronger)
    }

    /// What one tool has to do with a change that it could have made.
    fn of_tool(&self, step: &Step, tool: &Tool, change: Changed<'_>) -> Finding {
        let span = self.span(step, tool);
        let yes = Finding::Yes {
            is_named: matches!(tool.reach, Reach::Files(_)),
        };
        let Some(at) = change.at else {
            return match span.timeless {
                Some(doubt) => Finding::Maybe(doubt),
                None => yes,
            };
        };
        if at + TICK < span.possible_from {
            Finding::No
        } else if at + TICK < span.from {
            Finding::Maybe(match span.early {
                Early::Late => Doubt::Early {
                    before: span.from - at,
                },
                Early::Waiting => Doubt::Waiting,
            })
        } else if at <= span.to {
            yes
        } else if step.standing == Standing::Open
            && tool.ended_at.is_none()
            && !step.is_stopped(tool)
        {
            Finding::Running(span.late.at(at))
        } else {
            Finding::Maybe(span.late.at(at))
        }
    }

    /// When a tool ran, as far as that is known.
    fn span(&self, step: &Step, tool: &Tool) -> Span {
        let begin = self.begin(step, tool);
        match (tool.ended_at, step.standing) {
            (Some(end), Standing::Cut) => Span {
                to: end + SETTLE,
                late: Late::new(step, Some(end)),
                timeless: None,
                ..begin
            },
            (Some(end), _) => Span {
                to: end + AFTERWORK,
                late: Late::Ended(end),
                timeless: begin.timeless,
                ..begin
            },
            // Whether one that was not heard of for long still works, or was interrupted and nobody told, is not known.
            (None, Standing::Cut | Standing::Open) => self.cut(step, tool, begin),
            (None, Standing::Finished | Standing::TurnEnded) => Span {
                to: Milliseconds::MAX,
                ..begin
            },
        }
    }

    /// From when on a tool may have run, and from when on it is known to have.
    fn begin(&self, step: &Step, tool: &Tool) -> Span {
        let begin = Span {
            possible_from: tool.announced_at,
            from: tool.announced_at,
            early: Early::Late,
            to: Milliseconds::MIN,
            late: Late::new(step, None),
            timeless: None,
        };
        match (tool.ended_at, tool.ran_for, tool.waited_at) {
            (Some(end), Some(ran_for), _) => Span {
                possible_from: tool.announced_at.max(end - ran_for - LATEST),
                from: tool.announced_at.max(end - ran_for - LATE),
                ..begin
            },
            // Permission was given at some time before the end.
            (Some(end), None, Some(waited)) => Span {
                possible_from: waited,
                from: waited.max(end - SILENCE),
                early: Early::Waiting,
                timeless: (end - waited > SILENCE).then_some(Doubt::Waiting),
                ..begin
            },
            // It waits still, or was denied; or it ran, and nobody told.
            (None, _, Some(waited)) => Span {
                possible_from: waited,
                from: Milliseconds::MAX,
                early: Early::Waiting,
                timeless: Some(Doubt::Waiting),
                ..begin
            },
            _ => begin,
        }
    }

    /// The span of a tool whose end nobody told: it ended at the last sign of life, or with the run of its writes.
    fn cut(&self, step: &Step, tool: &Tool, begin: Span) -> Span {
        let signs = &step.signs;
        let late = Late::new(step, None);
        let interrupted = signs.interrupted_at.filter(|at| *at >= tool.announced_at);
        let to = match interrupted {
            Some(at) => at + SETTLE,
            None => self.run_of(tool, signs.last.max(tool.announced_at)),
        };
        let unheard = self.now - signs.last.max(tool.announced_at);
        let is_at_once = (0..=LONGEST_RUN).contains(&unheard);
        let timeless = begin.timeless.or((!is_at_once).then_some(Doubt::Timeless));
        Span {
            to,
            late,
            timeless,
            ..begin
        }
    }

    /// Returns until when the writes that a tool could have made follow on each other from a moment on.
    fn run_of(&self, tool: &Tool, from: Milliseconds) -> Milliseconds {
        let later = self
            .times
            .iter()
            .filter(|(at, path)| *at > from && tool.reaches(path));
        let mut end = from;
        for (at, _) in later {
            if *at - end > SILENCE || *at - from > LONGEST_RUN {
                break;
            }
            end = *at;
        }
        end
    }
}

impl Step {
    /// Returns whether a tool that was never told to have ended cannot run any more.
    fn is_stopped(&self, tool: &Tool) -> bool {
        let is_interrupted = self
            .signs
            .interrupted_at
            .is_some_and(|at| at >= tool.announced_at);
        self.signs.is_dead || is_interrupted
    }

    /// Returns whether one of its tools named a file.
    pub fn names(&self, path: &WorkspacePath) -> bool {
        let is_in =
            |tool: &Tool| matches!(&tool.reach, Reach::Files(files) if files.contains(path));
        self.tools.iter().any(is_in)
    }
}

impl Tool {
    fn reaches(&self, path: &WorkspacePath) -> bool {
        match &self.reach {
            Reach::Anything => true,
            Reach::Files(files) => files.contains(path),
            Reach::Nothing => false,
        }
    }
}

/// The step of an agent that does not tell of its tools, as one tool.
fn whole(step: &Step) -> Tool {
    Tool {
        reach: Reach::Anything,
        announced_at: step.started_at,
        ended_at: None,
        ran_for: None,
        waited_at: None,
    }
}

/// A step without a tool is thinking, unless its agent went on to another step: then something was done that was not told.
fn untold(step: &Step, change: Changed<'_>) -> Finding {
    let is_since = change.at.is_none_or(|at| at + TICK >= step.started_at);
    if step.standing == Standing::Finished && is_since {
        Finding::Maybe(Doubt::Untold)
    } else {
        Finding::No
    }
}

fn stronger(one: Finding, other: Finding) -> Finding {
    match (one, other) {
        (Finding::Yes { is_named: true }, _) | (_, Finding::No) => one,
        (Finding::Yes { .. }, Finding::Maybe(_) | Finding::Running(_)) => one,
        (Finding::Running(_), Finding::Maybe(_) | Finding::Running(_)) => one,
        (Finding::Maybe(_), Finding::Maybe(_)) => one,
        _ => other,
    }
}

/// When a tool ran.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// Nothing before is its.
    possible_from: Milliseconds,
    /// What came between may be its.
    from: Milliseconds,
    early: Early,
    /// Up to here, from there on, what it can change is its.
    to: Milliseconds,
    /// What is to be said of what came later: it may have changed it before.
    late: Late,
    /// What is to be said of what has no time.
    timeless: Option<Doubt>,
}

#[derive(Clone, Copy, Debug)]
enum Early {
    Late,
    Waiting,
}

/// From what something that came late is counted.
#[derive(Clone, Copy, Debug)]
enum Late {
    Interrupted(Milliseconds),
    Silent(Milliseconds),
    Ended(Milliseconds),
}

impl Late {
    fn new(step: &Step, ended_at: Option<Milliseconds>) -> Self {
        let signs = &step.signs;
        match (signs.interrupted_at, ended_at) {
            (Some(at), None) if at >= step.started_at => Self::Interrupted(at),
            (_, Some(at)) => Self::Ended(at),
            (_, None) => Self::Silent(signs.last.max(step.started_at)),
        }
    }

    fn at(self, at: Milliseconds) -> Doubt {
        match self {
            Self::Interrupted(from) => Doubt::Interrupted { after: at - from },
            Self::Silent(from) => Doubt::Silent { after: at - from },
            Self::Ended(from) => Doubt::Ended { after: at - from },
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Interrupted { after } => {
                write!(
                    formatter,
                    "changed {} after the agent was interrupted",
                    Distance(after)
                )
            }
            Self::Silent { after } => write!(
                formatter,
                "changed {} after the agent's last sign of life",
                Distance(after)
            ),
            Self::Ended { after } => {
                write!(
                    formatter,
                    "changed {} after the agent's tool ended",
                    Distance(after)
                )
            }
            Self::Early { before } => write!(
                formatter,
                "changed {} before the agent's tool is known to have run",
                Distance(before)
            ),
            Self::Waiting => {
                formatter.write_str("changed while the agent's tool waited for permission")
            }
            Self::Untold => {
                formatter.write_str("changed in a step of which the agent told no tool")
            }
            Self::Elsewhere => {
                formatter.write_str("in a workspace of its own, in which another agent worked")
            }
            Self::Background => {
                formatter.write_str("changed while a command of the agent's ran in the background")
            }
            Self::Timeless => formatter.write_str(
                "changed after the agent's last sign of life or before, for no time tells",
            ),
        }
    }
}

/// A distance in time, in words.
struct Distance(Milliseconds);

impl fmt::Display for Distance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(Milliseconds, &str); 4] = [
            (86_400_000, "day"),
            (3_600_000, "hour"),
            (60_000, "minute"),
            (1_000, "second"),
        ];
        let unit = UNITS.iter().find(|(size, _)| self.0 >= *size);
        match unit {
            Some((size, name)) => {
                let number = self.0 / size;
                let plural = if number == 1 { "" } else { "s" };
                write!(formatter, "{number} {name}{plural}")
            }
            None => formatter.write_str("less than a second"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Milliseconds = 60_000;
    const HOUR: Milliseconds = 60 * MINUTE;
    /// When the steps of the tests begin.
    const BEGIN: Milliseconds = 1_700_000_000_000;

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::new(text).expect("legal")
    }

    fn shell(announced: Milliseconds, ended: Option<Milliseconds>) -> Tool {
        Tool {
            reach: Reach::Anything,
            announced_at: BEGIN + announced,
            ended_at: ended.map(|ended| BEGIN + ended),
            ran_for: None,
            waited_at: None,
        }
    }

    fn edit(file: &str, announced: Milliseconds, ended: Option<Milliseconds>) -> Tool {
        Tool {
            reach: Reach::Files(vec![path(file)]),
            ..shell(announced, ended)
        }
    }

    /// A step of an agent that tells of its tools; it was last heard of when its last tool was told of.
    fn step(standing: Standing, tools: Vec<Tool>) -> Step {
        let last = tools
            .iter()
            .map(|tool| tool.ended_at.unwrap_or(tool.announced_at))
            .max();
        Step {
            root: "r".into(),
            started_at: BEGIN,
            tells_of_tools: true,
            tools,
            standing,
            signs: Signs {
                last: last.unwrap_or(BEGIN),
                ..Signs::default()
            },
            background_since: None,
            is_over: false,
        }
    }

    /// A step of an agent that does not tell of its tools.
    fn untelling(standing: Standing) -> Step {
        Step {
            tells_of_tools: false,
            ..step(standing, Vec::new())
        }
    }

    /// Judges changes of `f` at some times after the beginning, all seen at once an instant after the last; returns the verdict
    /// on the last.
    fn last_of(steps: &[Step], times: &[Milliseconds], now: Milliseconds) -> Verdict {
        let names: Vec<_> = (0..times.len())
            .map(|at| {
                if at + 1 == times.len() {
                    path("f")
                } else {
                    path(&format!("g{at}"))
                }
            })
            .collect();
        let changes: Vec<_> = names
            .iter()
            .zip(times)
            .map(|(path, at)| Changed {
                path,
                at: Some(BEGIN + at),
            })
            .collect();
        let evidence = Evidence::new(steps, &changes, BEGIN + now);
        evidence.judge(*changes.last().expect("one"), None)
    }

    fn at(steps: &[Step], time: Milliseconds) -> Verdict {
        last_of(steps, &[time], time + 4 * HOUR)
    }

    fn timeless(steps: &[Step], now: Milliseconds) -> Verdict {
        let path = path("f");
        let change = Changed {
            path: &path,
            at: None,
        };
        Evidence::new(steps, &[change], BEGIN + now).judge(change, None)
    }

    fn unclear(doubt: Doubt) -> Verdict {
        Verdict::Unclear(vec![0], doubt)
    }

    #[test]
    fn what_changed_while_a_tool_ran_is_its() {
        let steps = [step(Standing::Finished, vec![shell(1_000, Some(5_000))])];
        assert_eq!(at(&steps, 3_000), Verdict::Agent(0), "by its own events");
        assert_eq!(
            at(&steps, 995),
            Verdict::Agent(0),
            "a file's time is a tick old"
        );
        assert_eq!(
            at(&steps, 6_500),
            Verdict::Agent(0),
            "its own hooks format what it wrote"
        );
    }

    #[test]
    fn how_long_a_tool_ran_says_from_when_on_it_did() {
        let tool = Tool {
            ran_for: Some(2_000),
            ..shell(0, Some(HOUR))
        };
        let steps = [step(Standing::Finished, vec![tool])];
        assert_eq!(at(&steps, HOUR - 1_500), Verdict::Agent(0), "it ran");
        assert_eq!(
            at(&steps, HOUR - 8_000),
            unclear(Doubt::Early { before: 5_000 }),
            "the hook that told of its end may have been late"
        );
        assert_eq!(
            at(&steps, HOUR / 2),
            Verdict::Outside,
            "a prompt stood there for an hour"
        );
    }

    #[test]
    fn an_edit_tool_changes_the_files_that_it_names_and_a_shell_any() {
        let steps = [step(Standing::Finished, vec![edit("other", 0, Some(HOUR))])];
        assert_eq!(
            at(&steps, HOUR / 2),
            Verdict::Outside,
            "its other files, while a prompt stood for an hour, are the user's"
        );
        let steps = [step(Standing::Finished, vec![edit("f", 0, Some(100))])];
        assert_eq!(at(&steps, 50), Verdict::Agent(0), "it named this one");
        let reads = Tool {
            reach: Reach::Nothing,
            ..shell(0, Some(100))
        };
        let steps = [step(Standing::Finished, vec![reads])];
        assert_eq!(
            at(&steps, 50),
            Verdict::Outside,
            "what only reads changes nothing"
        );
    }

    #[test]
    fn what_changed_before_a_tool_began_is_not_its() {
        for standing in [Standing::Open, Standing::Finished, Standing::Cut] {
            let steps = [step(standing, vec![shell(10_000, None)])];
            assert_eq!(at(&steps, 9_000), Verdict::Outside, "{standing:?}");
        }
    }

    #[test]
    fn what_changed_between_two_tools_may_have_been_changed_by_the_first() {
        let tools = vec![shell(0, Some(1_000)), edit("other", 2_000, Some(HOUR))];
        let steps = [step(Standing::Finished, tools)];
        assert_eq!(
            at(&steps, MINUTE),
            unclear(Doubt::Ended { after: 59_000 }),
            "the times of a file tell of its last change alone"
        );
    }

    #[test]
    fn while_a_tool_waits_for_permission_nothing_is_certain_to_be_its() {
        let waiting = |ended| Tool {
            waited_at: Some(BEGIN + 100),
            ..shell(0, ended)
        };
        let steps = [step(Standing::Cut, vec![waiting(None)])];
        assert_eq!(
            last_of(&steps, &[5_000], HOUR),
            unclear(Doubt::Waiting),
            "it was denied, or it ran and was interrupted"
        );
        let steps = [step(Standing::Finished, vec![waiting(Some(HOUR))])];
        assert_eq!(
            at(&steps, HOUR - 1_000),
            Verdict::Agent(0),
            "permission was given before"
        );
        assert_eq!(
            at(&steps, HOUR / 2),
            unclear(Doubt::Waiting),
            "or only later"
        );
        assert_eq!(
            at(&steps, 50),
            Verdict::Outside,
            "before it asked, it did not run"
        );
    }

    #[test]
    fn esc_and_revert_at_once_takes_all_that_the_command_did() {
        let steps = [step(Standing::Cut, vec![shell(0, None)])];
        assert_eq!(
            last_of(&steps, &[100, 4_000, 9_000], 12_000),
            Verdict::Agent(0),
            "one run of writes"
        );
        let mut steps = [step(Standing::Cut, vec![shell(0, None)])];
        steps[0].signs.interrupted_at = Some(BEGIN + 20 * MINUTE);
        assert_eq!(
            last_of(&steps, &[20 * MINUTE - 100], 20 * MINUTE + 5_000),
            Verdict::Agent(0),
            "a build that wrote at its end, by the mark of the transcript"
        );
        let mut steps = [step(Standing::Cut, vec![shell(0, None)])];
        steps[0].signs.last = BEGIN + 20 * MINUTE;
        assert_eq!(
            last_of(&steps, &[19 * MINUTE], 20 * MINUTE + 5_000),
            Verdict::Agent(0),
            "and by its last entry"
        );
    }

    #[test]
    fn esc_an_hour_of_work_by_hand_and_revert_keeps_the_hour() {
        let steps = [step(Standing::Cut, vec![shell(0, None)])];
        let by_hand = 40 * MINUTE;
        assert_eq!(
            last_of(&steps, &[100, 2_000, by_hand], HOUR),
            unclear(Doubt::Silent { after: by_hand }),
            "after a silence"
        );
        let mut steps = [step(Standing::Cut, vec![shell(0, None)])];
        steps[0].signs.interrupted_at = Some(BEGIN + 3_000);
        assert_eq!(
            last_of(&steps, &[100, 2_000, 5_000], 6_000),
            unclear(Doubt::Interrupted { after: 2_000 }),
            "the mark needs no silence"
        );
        let saves: Vec<_> = (0..600).map(|at| at * 6_000).collect();
        let steps = [step(Standing::Cut, vec![shell(0, None)])];
        assert!(
            matches!(last_of(&steps, &saves, HOUR), Verdict::Unclear(..)),
            "an editor that saves all the time is no run of a command"
        );
    }

    #[test]
    fn a_tool_that_ended_before_esc_has_nothing_to_do_with_what_came_later() {
        let steps = [step(Standing::Cut, vec![shell(0, Some(4_000))])];
        assert_eq!(
            at(&steps, 4_200),
            Verdict::Agent(0),
            "a killed command ends its files"
        );
        assert_eq!(
            at(&steps, 5_000),
            unclear(Doubt::Ended { after: 1_000 }),
            "an edit by hand right after"
        );
    }

    #[test]
    fn a_lost_event_makes_the_step_as_wide_as_it_must_be() {
        let steps = [step(Standing::Finished, vec![shell(0, None)])];
        assert_eq!(
            at(&steps, HOUR),
            Verdict::Agent(0),
            "a start without a finish, in a step that ended well"
        );
        let steps = [untelling(Standing::Finished)];
        assert_eq!(
            at(&steps, HOUR),
            Verdict::Agent(0),
            "a finish without a start"
        );
    }

    #[test]
    fn a_step_with_a_changed_workspace_and_no_tool_is_not_nothing() {
        let steps = [step(Standing::Finished, Vec::new())];
        assert_eq!(
            at(&steps, 5_000),
            unclear(Doubt::Untold),
            "the agent went on: something was done"
        );
        for standing in [Standing::Open, Standing::TurnEnded, Standing::Cut] {
            let steps = [step(standing, Vec::new())];
            assert_eq!(
                at(&steps, 5_000),
                Verdict::Outside,
                "{standing:?}: it only thought"
            );
        }
    }

    #[test]
    fn a_command_in_the_background_may_have_changed_what_comes_after_its_step() {
        let mut over = step(Standing::TurnEnded, vec![shell(0, Some(100))]);
        over.background_since = Some(BEGIN + 100);
        over.is_over = true;
        let steps = [over.clone()];
        assert_eq!(
            at(&steps, HOUR),
            unclear(Doubt::Background),
            "offered, and silently nobody's"
        );
        let other = Step {
            root: "another".into(),
            ..step(Standing::Finished, vec![shell(0, Some(HOUR))])
        };
        assert_eq!(
            at(&[over, other], HOUR / 2),
            Verdict::Agent(1),
            "what a tool of another session did is that one's"
        );
    }

    #[test]
    fn a_dead_agent_shares_nothing_with_one_that_works() {
        let mut dead = step(Standing::Open, vec![shell(0, None)]);
        dead.signs.is_dead = true;
        let working = Step {
            root: "another".into(),
            ..step(Standing::Finished, vec![shell(HOUR, Some(2 * HOUR))])
        };
        let steps = [dead.clone(), working.clone()];
        assert_eq!(
            at(&steps, HOUR + MINUTE),
            Verdict::Agent(1),
            "nor swallows it"
        );
        let alive = step(Standing::Open, vec![shell(0, None)]);
        assert_eq!(
            at(&[alive, working], HOUR + MINUTE),
            Verdict::Shared(vec![0, 1]),
            "two that live do"
        );
    }

    #[test]
    fn what_no_time_tells_of_goes_by_events_alone() {
        let tool = || vec![shell(0, None)];
        assert_eq!(
            timeless(&[step(Standing::Finished, tool())], HOUR),
            Verdict::Agent(0),
            "the step ended well"
        );
        assert_eq!(
            timeless(&[step(Standing::Cut, tool())], MINUTE),
            Verdict::Agent(0),
            "nobody did much in a minute"
        );
        assert_eq!(
            timeless(&[step(Standing::Cut, tool())], HOUR),
            unclear(Doubt::Timeless),
            "an hour of somebody's"
        );
        assert_eq!(
            timeless(&[step(Standing::Cut, tool())], -HOUR),
            unclear(Doubt::Timeless),
            "a clock that jumped back says nothing"
        );
    }

    #[test]
    fn a_tool_that_named_the_file_settles_whose_it_is_among_several() {
        let names = Step {
            root: "another".into(),
            ..step(Standing::Finished, vec![edit("f", 0, Some(1_000))])
        };
        let runs = step(Standing::Open, vec![shell(0, None)]);
        assert_eq!(
            at(&[runs, names], 500),
            Verdict::Agent(1),
            "and a shell has the rest"
        );
    }

    #[test]
    fn what_is_unclear_of_two_conversations_is_named_by_both() {
        let other = Step {
            root: "another".into(),
            ..step(Standing::Cut, vec![shell(0, None)])
        };
        let steps = [step(Standing::Cut, vec![shell(0, None)]), other];
        assert_eq!(
            at(&steps, HOUR),
            Verdict::Unclear(vec![0, 1], Doubt::Silent { after: HOUR }),
            "either may offer it"
        );
    }

    #[test]
    fn among_the_steps_of_one_conversation_the_preferred_one_has_it_else_the_newest() {
        let steps = || step(Standing::Open, vec![shell(0, None)]);
        let path = path("f");
        let change = Changed {
            path: &path,
            at: Some(BEGIN + 10),
        };
        let steps = [steps(), steps()];
        let evidence = Evidence::new(&steps, &[change], BEGIN + 20);
        assert_eq!(
            evidence.judge(change, None),
            Verdict::Agent(1),
            "one row, one undoing"
        );
        assert_eq!(
            evidence.judge(change, Some(0)),
            Verdict::Agent(0),
            "whose event it is"
        );
    }

    #[test]
    fn a_doubt_says_what_is_known_in_one_line() {
        let texts = [
            (
                Doubt::Interrupted { after: 40 * MINUTE },
                "changed 40 minutes after the agent was interrupted",
            ),
            (
                Doubt::Silent { after: HOUR },
                "changed 1 hour after the agent's last sign of life",
            ),
            (
                Doubt::Ended { after: 400 },
                "changed less than a second after the agent's tool ended",
            ),
        ];
        for (doubt, text) in texts {
            assert_eq!(doubt.to_string(), text, "for people");
        }
    }

    mod laws {
        use super::*;
        use proptest::prelude::*;

        fn tool() -> impl Strategy<Value = Tool> {
            let reach = prop_oneof![
                Just(Reach::Anything),
                Just(Reach::Files(vec![path("f")])),
                Just(Reach::Files(vec![path("other")])),
                Just(Reach::Nothing),
            ];
            let some = |to: Milliseconds| prop::option::of(0..to);
            (reach, 0..HOUR, some(HOUR), some(MINUTE), some(HOUR)).prop_map(
                |(reach, announced, lasted, ran_for, waited)| Tool {
                    reach,
                    announced_at: BEGIN + announced,
                    ended_at: lasted.map(|lasted| BEGIN + announced + lasted),
                    ran_for,
                    waited_at: waited.map(|waited| BEGIN + announced + waited),
                },
            )
        }

        fn any_step() -> impl Strategy<Value = Step> {
            let standing = prop_oneof![
                Just(Standing::Open),
                Just(Standing::Finished),
                Just(Standing::TurnEnded),
                Just(Standing::Cut),
            ];
            let signs = (0..2 * HOUR, prop::option::of(0..2 * HOUR), any::<bool>());
            let tools = prop::collection::vec(tool(), 0..4);
            (standing, tools, any::<bool>(), 0..2u8, signs).prop_map(
                |(standing, tools, tells_of_tools, root, (last, interrupted, is_dead))| Step {
                    root: root.to_string(),
                    started_at: BEGIN,
                    tells_of_tools,
                    tools,
                    standing,
                    signs: Signs {
                        last: BEGIN + last,
                        interrupted_at: interrupted.map(|at| BEGIN + at),
                        is_dead,
                    },
                    background_since: None,
                    is_over: false,
                },
            )
        }

        proptest! {
            #[test]
            fn what_changed_last_before_every_step_began_is_nobodys(
                steps in prop::collection::vec(any_step(), 0..4),
                before in (TICK + 1)..HOUR,
            ) {
                prop_assert_eq!(at(&steps, -before), Verdict::Outside);
            }

            #[test]
            fn what_no_tool_can_reach_is_nobodys(
                mut steps in prop::collection::vec(any_step(), 1..4),
                time in 0..3 * HOUR,
            ) {
                for step in &mut steps {
                    step.tells_of_tools = true;
                    step.tools.push(edit("other", 0, None));
                    step.tools.retain(|tool| !tool.reaches(&path("f")));
                }
                prop_assert_eq!(at(&steps, time), Verdict::Outside);
            }

            #[test]
            fn what_a_tool_by_its_own_events_could_have_made_is_never_nobodys(
                mut steps in prop::collection::vec(any_step(), 1..4),
                time in 0..HOUR,
                earlier in 0..HOUR,
                later in 0..HOUR,
            ) {
                let tool = shell(time - earlier, Some(time + later));
                steps[0].tells_of_tools = true;
                steps[0].tools.push(tool);
                prop_assert_ne!(at(&steps, time), Verdict::Outside);
            }

            #[test]
            fn what_came_after_esc_by_the_transcripts_mark_is_never_certain_to_be_the_agents(
                mut step in any_step(),
                interrupted in HOUR..2 * HOUR,
                after in (SETTLE + 1)..HOUR,
            ) {
                step.standing = Standing::Cut;
                step.signs.interrupted_at = Some(BEGIN + interrupted);
                step.tools.iter_mut().for_each(|tool| {
                    tool.ended_at = tool.ended_at.filter(|at| *at <= BEGIN + interrupted);
                });
                prop_assert!(!matches!(at(&[step], interrupted + after), Verdict::Agent(_)));
            }

            #[test]
            fn one_conversation_never_shares_with_itself(
                mut steps in prop::collection::vec(any_step(), 0..4),
                time in -HOUR..3 * HOUR,
            ) {
                steps.iter_mut().for_each(|step| step.root = "r".into());
                prop_assert!(!matches!(at(&steps, time), Verdict::Shared(_)));
            }
        }
    }
}
