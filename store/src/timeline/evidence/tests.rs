//! Each row of the table in `docs/attribution.md` ("Evidence"), and the laws that hold for all of them.

use super::*;

const MINUTE: Milliseconds = 60_000;
pub(super) const HOUR: Milliseconds = 60 * MINUTE;
/// When the steps of the tests begin.
pub(super) const BEGIN: Milliseconds = 1_700_000_000_000;

pub(super) fn path(text: &str) -> WorkspacePath {
    WorkspacePath::new(text).expect("legal")
}

pub(super) fn shell(announced: Milliseconds, ended: Option<Milliseconds>) -> Tool {
    Tool {
        reach: Reach::Anything,
        announced_at: BEGIN + announced,
        ended_at: ended.map(|ended| BEGIN + ended),
        ran_for: None,
        waited_at: None,
        is_unheard: false,
    }
}

pub(super) fn edit(file: &str, announced: Milliseconds, ended: Option<Milliseconds>) -> Tool {
    Tool {
        reach: Reach::Files(vec![path(file)]),
        ..shell(announced, ended)
    }
}

/// A step of an agent that reports tools, last heard of when it reported the last one.
pub(super) fn step(standing: StepStanding, tools: Vec<Tool>) -> Step {
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
        background: Vec::new(),
        died_at: None,
        is_over: false,
    }
}

/// A step of an agent that does not report tools.
pub(super) fn untelling(standing: StepStanding) -> Step {
    Step {
        tells_of_tools: false,
        ..step(standing, Vec::new())
    }
}

/// Judges changes of `f` at some times after the beginning, all seen at once an instant after the last; returns the
/// verdict on the last.
pub(super) fn last_of(steps: &[Step], times: &[Milliseconds], now: Milliseconds) -> Verdict {
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

pub(super) fn at(steps: &[Step], time: Milliseconds) -> Verdict {
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

pub(super) fn unclear(doubt: Doubt) -> Verdict {
    Verdict::Unclear(vec![0], doubt)
}

#[test]
fn what_changed_while_a_tool_ran_is_its() {
    let steps = [step(
        StepStanding::Finished,
        vec![shell(1_000, Some(5_000))],
    )];
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

/// How long a tool ran says from when on it did.
#[test]
fn duration_tells_when_a_tool_began() {
    let tool = Tool {
        ran_for: Some(2_000),
        ..shell(0, Some(HOUR))
    };
    let steps = [step(StepStanding::Finished, vec![tool])];
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
fn edit_tool_reaches_its_files_and_shells_all() {
    let steps = [step(
        StepStanding::Finished,
        vec![edit("other", 0, Some(HOUR))],
    )];
    assert_eq!(
        at(&steps, HOUR / 2),
        Verdict::Outside,
        "its other files, while a prompt stood for an hour, are the user's"
    );
    let steps = [step(StepStanding::Finished, vec![edit("f", 0, Some(100))])];
    assert_eq!(at(&steps, 50), Verdict::Agent(0), "it named this one");
    let reads = Tool {
        reach: Reach::Nothing,
        ..shell(0, Some(100))
    };
    let steps = [step(StepStanding::Finished, vec![reads])];
    assert_eq!(
        at(&steps, 50),
        Verdict::Outside,
        "what only reads changes nothing"
    );
}

#[test]
fn change_before_a_tool_is_not_its() {
    for standing in [
        StepStanding::Open,
        StepStanding::Finished,
        StepStanding::Cut,
    ] {
        let steps = [step(standing, vec![shell(10_000, None)])];
        assert_eq!(at(&steps, 9_000), Verdict::Outside, "{standing:?}");
    }
}

/// What changed between two tools may have been changed by the first.
#[test]
fn change_between_tools_may_be_the_firsts() {
    let tools = vec![shell(0, Some(1_000)), edit("other", 2_000, Some(HOUR))];
    let steps = [step(StepStanding::Finished, tools)];
    assert_eq!(
        at(&steps, MINUTE),
        unclear(Doubt::Ended { after: 59_000 }),
        "the times of a file tell of its last change alone"
    );
}

/// While a tool waits for permission nothing is certain to be its.
#[test]
fn nothing_is_certain_during_a_permission_prompt() {
    let waiting = |ended| Tool {
        waited_at: Some(BEGIN + 100),
        ..shell(0, ended)
    };
    let steps = [step(StepStanding::Cut, vec![waiting(None)])];
    assert_eq!(
        last_of(&steps, &[5_000], HOUR),
        unclear(Doubt::Waiting),
        "it was denied, or it ran and was interrupted"
    );
    let steps = [step(StepStanding::Finished, vec![waiting(Some(HOUR))])];
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
fn esc_and_revert_takes_the_commands_work() {
    let steps = [step(StepStanding::Cut, vec![shell(0, None)])];
    assert_eq!(
        last_of(&steps, &[100, 4_000, 9_000], 12_000),
        Verdict::Agent(0),
        "one run of writes"
    );
    let mut steps = [step(StepStanding::Cut, vec![shell(0, None)])];
    steps[0].signs.interrupted_at = Some(BEGIN + 20 * MINUTE);
    assert_eq!(
        last_of(&steps, &[20 * MINUTE - 100], 20 * MINUTE + 5_000),
        Verdict::Agent(0),
        "a build that wrote at its end, by the mark of the transcript"
    );
    let mut steps = [step(StepStanding::Cut, vec![shell(0, None)])];
    steps[0].signs.last = BEGIN + 20 * MINUTE;
    assert_eq!(
        last_of(&steps, &[19 * MINUTE], 20 * MINUTE + 5_000),
        Verdict::Agent(0),
        "and by its last entry"
    );
}

#[test]
fn esc_and_revert_keeps_an_hour_by_hand() {
    let steps = [step(StepStanding::Cut, vec![shell(0, None)])];
    let by_hand = 40 * MINUTE;
    assert_eq!(
        last_of(&steps, &[100, 2_000, by_hand], HOUR),
        unclear(Doubt::Silent { after: by_hand }),
        "after a silence"
    );
    let mut steps = [step(StepStanding::Cut, vec![shell(0, None)])];
    steps[0].signs.interrupted_at = Some(BEGIN + 3_000);
    assert_eq!(
        last_of(&steps, &[100, 2_000, 5_000], 6_000),
        unclear(Doubt::Interrupted { after: 2_000 }),
        "the mark needs no silence"
    );
    let saves: Vec<_> = (0..600).map(|at| at * 6_000).collect();
    let steps = [step(StepStanding::Cut, vec![shell(0, None)])];
    assert!(
        matches!(last_of(&steps, &saves, HOUR), Verdict::Unclear(..)),
        "an editor that saves all the time is no run of a command"
    );
}

/// A tool that ended before Esc has nothing to do with what came later.
#[test]
fn tool_ended_before_esc_has_no_part() {
    let steps = [step(StepStanding::Cut, vec![shell(0, Some(4_000))])];
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
fn lost_event_widens_the_step() {
    let steps = [step(StepStanding::Finished, vec![shell(0, None)])];
    assert_eq!(
        at(&steps, HOUR),
        Verdict::Agent(0),
        "a start without a finish, in a step that ended well"
    );
    let steps = [untelling(StepStanding::Finished)];
    assert_eq!(
        at(&steps, HOUR),
        Verdict::Agent(0),
        "a finish without a start"
    );
}

#[test]
fn changed_workspace_without_tool_is_something() {
    let steps = [step(StepStanding::Finished, Vec::new())];
    assert_eq!(
        at(&steps, 5_000),
        unclear(Doubt::Unreported),
        "the agent went on: something was done"
    );
    for standing in [
        StepStanding::Open,
        StepStanding::TurnEnded,
        StepStanding::Cut,
    ] {
        let steps = [step(standing, Vec::new())];
        assert_eq!(
            at(&steps, 5_000),
            Verdict::Outside,
            "{standing:?}: it only thought"
        );
    }
}

/// A command in the background may have changed what comes after its step.
#[test]
fn background_command_reaches_beyond_its_step() {
    let mut over = step(StepStanding::TurnEnded, vec![shell(0, Some(100))]);
    over.background = vec![shell(100, None)];
    over.is_over = true;
    let steps = [over.clone()];
    assert_eq!(
        at(&steps, HOUR),
        unclear(Doubt::Background),
        "offered, and silently nobody's"
    );
    let other = Step {
        root: "another".into(),
        ..step(StepStanding::Finished, vec![shell(0, Some(HOUR))])
    };
    assert_eq!(
        at(&[over, other], HOUR / 2),
        Verdict::Agent(1),
        "what a tool of another session did is that one's"
    );
}

#[test]
fn dead_agents_background_counts_an_hour() {
    let mut over = step(StepStanding::TurnEnded, vec![shell(0, Some(100))]);
    over.background = vec![shell(100, None)];
    over.died_at = Some(BEGIN + MINUTE);
    over.is_over = true;
    let steps = [over];
    assert_eq!(at(&steps, HOUR), unclear(Doubt::Background));
    assert_eq!(at(&steps, HOUR + 2 * MINUTE), Verdict::Outside);
}

#[test]
fn dead_agent_shares_nothing() {
    let mut dead = step(StepStanding::Open, vec![shell(0, None)]);
    dead.signs.is_dead = true;
    let working = Step {
        root: "another".into(),
        ..step(StepStanding::Finished, vec![shell(HOUR, Some(2 * HOUR))])
    };
    let steps = [dead.clone(), working.clone()];
    assert_eq!(
        at(&steps, HOUR + MINUTE),
        Verdict::Agent(1),
        "nor swallows it"
    );
    let alive = step(StepStanding::Open, vec![shell(0, None)]);
    assert_eq!(
        at(&[alive, working], HOUR + MINUTE),
        Verdict::Shared(vec![0, 1]),
        "two that live do"
    );
}

/// What no time tells of goes by events alone.
#[test]
fn without_a_time_events_decide() {
    let tool = || vec![shell(0, None)];
    assert_eq!(
        timeless(&[step(StepStanding::Finished, tool())], HOUR),
        Verdict::Agent(0),
        "the step ended well"
    );
    assert_eq!(
        timeless(&[step(StepStanding::Cut, tool())], MINUTE),
        Verdict::Agent(0),
        "nobody did much in a minute"
    );
    assert_eq!(
        timeless(&[step(StepStanding::Cut, tool())], HOUR),
        unclear(Doubt::Timeless),
        "an hour of somebody's"
    );
    assert_eq!(
        timeless(&[step(StepStanding::Cut, tool())], -HOUR),
        unclear(Doubt::Timeless),
        "a clock that jumped back says nothing"
    );
}

#[test]
fn tool_that_named_the_file_decides() {
    let names = Step {
        root: "another".into(),
        ..step(StepStanding::Finished, vec![edit("f", 0, Some(1_000))])
    };
    let runs = step(StepStanding::Open, vec![shell(0, None)]);
    assert_eq!(
        at(&[runs, names], 500),
        Verdict::Agent(1),
        "and a shell has the rest"
    );
}

#[test]
fn unclear_change_of_two_is_named_by_both() {
    let other = Step {
        root: "another".into(),
        ..step(StepStanding::Cut, vec![shell(0, None)])
    };
    let steps = [step(StepStanding::Cut, vec![shell(0, None)]), other];
    assert_eq!(
        at(&steps, HOUR),
        Verdict::Unclear(vec![0, 1], Doubt::Silent { after: HOUR }),
        "either may offer it"
    );
}

#[test]
fn preferred_or_newest_step_has_it() {
    let steps = || step(StepStanding::Open, vec![shell(0, None)]);
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
fn doubt_is_one_line() {
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
        let is_unheard = prop::bool::weighted(0.1);
        (
            reach,
            0..HOUR,
            some(HOUR),
            some(MINUTE),
            some(HOUR),
            is_unheard,
        )
            .prop_map(
                |(reach, announced, lasted, ran_for, waited, is_unheard)| Tool {
                    reach,
                    announced_at: BEGIN + announced,
                    ended_at: lasted.map(|lasted| BEGIN + announced + lasted),
                    ran_for,
                    waited_at: waited.map(|waited| BEGIN + announced + waited),
                    is_unheard,
                },
            )
    }

    fn any_step() -> impl Strategy<Value = Step> {
        let standing = prop_oneof![
            Just(StepStanding::Open),
            Just(StepStanding::Finished),
            Just(StepStanding::TurnEnded),
            Just(StepStanding::Answered),
            Just(StepStanding::Cut),
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
                    ..Signs::default()
                },
                background: Vec::new(),
                died_at: None,
                is_over: false,
            },
        )
    }

    proptest! {
        #[test]
        fn change_before_every_step_is_outside(
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

        /// What a tool by its own events could have made is never nobodys.
        #[test]
        fn known_tools_possible_change_is_never_outside(
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
        fn change_after_a_transcripts_esc_is_never_certain(
            mut step in any_step(),
            interrupted in HOUR..2 * HOUR,
            after in (WRITE_DELAY + 1)..HOUR,
        ) {
            step.standing = StepStanding::Cut;
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
