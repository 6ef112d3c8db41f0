//! Where events were lost, or are never sent.

use super::tests::{HOUR, edit, last_of, shell, step, untelling};
use super::*;

const MINUTE: Milliseconds = 60_000;

/// What changed where both events of a tool were lost is unclear in its reach.
#[test]
fn lost_tool_makes_its_reach_unclear() {
    let unheard = |tool: Tool| Tool {
        is_unheard: true,
        ..tool
    };
    let ended = |tools| [step(StepStanding::Finished, tools)];
    let shells = ended(vec![unheard(shell(100, None))]);
    let unclear = Verdict::Unclear(vec![0], Doubt::Unheard);
    assert_eq!(last_of(&shells, &[HOUR], HOUR), unclear, "at any time");
    assert_eq!(
        last_of(&shells, &[10], HOUR),
        Verdict::Outside,
        "not before the boundary"
    );
    let edits = |file| ended(vec![unheard(edit(file, 100, None))]);
    assert_eq!(last_of(&edits("f"), &[HOUR], HOUR), unclear, "it was named");
    assert_eq!(last_of(&edits("other"), &[HOUR], HOUR), Verdict::Outside);
    let beside = ended(vec![
        edit("f", MINUTE, Some(MINUTE + 100)),
        unheard(shell(100, None)),
    ]);
    assert_eq!(
        last_of(&beside, &[MINUTE + 50], HOUR),
        Verdict::Agent(0),
        "where a tool that was heard of did it, there is no doubt"
    );
}

/// What changed after the last tool of an agent that tells only of ends is unclear.
#[test]
fn change_after_the_last_reported_end_is_unclear() {
    let answered = [untelling(StepStanding::Answered)];
    let unclear = Verdict::Unclear(vec![0], Doubt::Unreported);
    assert_eq!(last_of(&answered, &[MINUTE], MINUTE), unclear);
    assert_eq!(
        last_of(&answered, &[-MINUTE], MINUTE),
        Verdict::Outside,
        "before the last tool ended, it would have been seen"
    );
    assert_eq!(
        last_of(&[untelling(StepStanding::TurnEnded)], &[MINUTE], MINUTE),
        Verdict::Agent(0),
        "one that tells of nothing counts with its whole step"
    );
}
