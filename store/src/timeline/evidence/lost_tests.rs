//! Where events were lost, or are never sent.

use super::tests::{HOUR, edit, last_of, shell, step, untelling};
use super::*;

const MINUTE: Milliseconds = 60_000;

#[test]
fn what_changed_where_both_events_of_a_tool_were_lost_is_unclear_in_its_reach() {
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

#[test]
fn what_changed_after_the_last_tool_of_an_agent_that_tells_only_of_ends_is_unclear() {
    let answered = [untelling(StepStanding::Answered)];
    let unclear = Verdict::Unclear(vec![0], Doubt::Untold);
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
