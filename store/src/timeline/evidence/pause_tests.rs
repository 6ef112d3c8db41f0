//! When an agent is known not to have been at work.

use super::tests::{BEGIN, HOUR, at, path, shell, step, unclear};
use super::*;
use crate::model::Milliseconds;

/// An agent paused where none of its tools is known to have run.
#[test]
fn agent_without_running_tool_paused() {
    let f = path("f");
    let paused = |steps: &[Step], since: Milliseconds, at: Milliseconds| {
        let evidence = Evidence::new(steps, &[], BEGIN + 4 * HOUR);
        evidence.paused(0, &f, BEGIN + since, BEGIN + at)
    };
    let two = |end, begin| {
        let tools = vec![shell(0, Some(end)), shell(begin, Some(HOUR))];
        [step(StepStanding::Finished, tools)]
    };
    let apart = two(1_000, 60_000);
    assert!(paused(&apart, 0, 70_000), "between the two");
    assert!(!paused(&apart, 0, 2_000), "it was the first one's");
    assert!(!paused(&apart, 59_000, 70_000), "the second one's");
    assert!(paused(&apart, 30_000, 70_000), "or nobody's");
    assert!(!paused(&two(1_000, 2_000), 0, 70_000), "one after another");
    assert!(!paused(&two(60_000, 1_000), 0, 70_000), "side by side");
    let other = Step {
        root: "other".to_owned(),
        ..step(StepStanding::Finished, vec![shell(0, Some(HOUR))])
    };
    let both = [apart[0].clone(), other.clone()];
    assert!(
        paused(&both, 0, 70_000),
        "another agent's tool is another's"
    );
    let sub_agent = Step {
        root: apart[0].root.clone(),
        ..other
    };
    assert!(!paused(&[apart[0].clone(), sub_agent], 0, 70_000));
}

/// A pause is known only where every tool ended and none named the file.
#[test]
fn pause_needs_every_tool_ended() {
    let f = path("f");
    let of_a_pause = |tools: Vec<Tool>, looked_at: Option<Milliseconds>| {
        let steps = [step(StepStanding::Finished, tools)];
        let evidence = Evidence::new(&steps, &[], BEGIN + HOUR);
        evidence.may_be_of_a_pause(0, &f, looked_at)
    };
    let ended = || vec![shell(0, Some(1_000)), shell(60_000, Some(HOUR))];
    assert!(of_a_pause(ended(), Some(BEGIN)), "between the two");
    assert!(!of_a_pause(ended(), None), "nobody knows since when");
    let unended = vec![shell(0, None), shell(60_000, Some(HOUR))];
    assert!(!of_a_pause(unended, Some(BEGIN)), "one may have run on");
    let naming = Tool {
        reach: Reach::Files(vec![path("f")]),
        ..shell(60_000, Some(HOUR))
    };
    let naming = vec![shell(0, Some(1_000)), naming];
    assert!(!of_a_pause(naming, Some(BEGIN)), "an edit tool named it");
}

/// An agent that was interrupted does not go on after its tool.
#[test]
fn interrupted_agent_does_not_go_on() {
    let cut_at = |interrupted_at: Milliseconds| {
        let mut cut = step(StepStanding::TurnEnded, vec![shell(0, Some(5_000))]);
        cut.signs.interrupted_at = Some(BEGIN + interrupted_at);
        [cut]
    };
    let with_the_tool = cut_at(5_000);
    assert_eq!(at(&with_the_tool, 5_200), Verdict::Agent(0));
    let late = unclear(Doubt::Ended { after: 1_000 });
    assert_eq!(at(&with_the_tool, 6_000), late, "by then it had stopped");
    assert_eq!(at(&cut_at(5_900), 6_000), Verdict::Agent(0), "it went on");
    assert_eq!(at(&cut_at(60_000), 6_900), Verdict::Agent(0), "so did it");
    assert_eq!(
        at(&cut_at(-10), 6_900),
        Verdict::Agent(0),
        "an earlier turn"
    );
}
