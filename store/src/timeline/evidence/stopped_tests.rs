//! Where a tool is known to have been stopped, but not when: its agent died, or its user typed a command of ours since.

use super::tests::{BEGIN, HOUR, at, edit, last_of, path, shell, step, unclear};
use super::*;

const SECOND: Milliseconds = 1_000;

fn dead(tool: Tool, standing: StepStanding) -> [Step; 1] {
    let mut step = step(standing, vec![tool]);
    step.signs.is_dead = true;
    [step]
}

/// Invariant `truth/after-a-kill`: What changes after a kill is the agent's only for a quarter
/// of a second, unless a tool named it.
#[test]
fn change_after_a_kill_is_unclear() {
    for standing in [StepStanding::Cut, StepStanding::Open] {
        let steps = dead(shell(0, None), standing);
        assert_eq!(at(&steps, 200), Verdict::Agent(0), "as it was killed");
        let doubt = Doubt::Silent { after: 3 * SECOND };
        assert_eq!(at(&steps, 3 * SECOND), unclear(doubt), "{standing:?}");
        let run: Vec<Milliseconds> = (1..20).map(|number| number * 200).collect();
        assert_eq!(
            last_of(&steps, &run, HOUR),
            Verdict::Agent(0),
            "without a pause"
        );
    }
}

/// File that a tool of a dead agent named is its.
///
/// Invariant `truth/after-a-kill`.
#[test]
fn dead_agents_tool_keeps_its_named_file() {
    let steps = dead(edit("f", 0, None), StepStanding::Cut);
    assert_eq!(at(&steps, 3 * SECOND), Verdict::Agent(0));
    let other = dead(edit("other", 0, None), StepStanding::Cut);
    assert_eq!(at(&other, 3 * SECOND), Verdict::Outside);
}

#[test]
fn dead_agent_formats_nothing_after_its_tool() {
    let steps = dead(shell(0, Some(SECOND)), StepStanding::Open);
    assert_eq!(at(&steps, SECOND + 200), Verdict::Agent(0));
    let doubt = Doubt::Ended { after: SECOND };
    assert_eq!(at(&steps, 2 * SECOND), unclear(doubt));
}

/// Change of a dead agent without a time is unclear.
#[test]
fn dead_agents_change_without_time_is_unclear() {
    let steps = dead(shell(0, None), StepStanding::Cut);
    let path = path("f");
    let change = Changed {
        path: &path,
        at: None,
    };
    let judge = |now| Evidence::new(&steps, &[change], BEGIN + now).judge(change, None);
    assert_eq!(judge(200), Verdict::Agent(0), "nobody else was so fast");
    assert_eq!(judge(3 * SECOND), unclear(Doubt::Timeless));
}

/// Command of ours shows that a tool was stopped.
#[test]
fn our_command_shows_a_stopped_tool() {
    let mut idle = step(StepStanding::Cut, vec![shell(0, None)]);
    idle.signs.is_idle = true;
    let doubt = Doubt::Silent { after: 3 * SECOND };
    assert_eq!(at(&[idle.clone()], 3 * SECOND), unclear(doubt));
    // It may have been typed while the tool works.
    idle.standing = StepStanding::Open;
    assert_eq!(at(&[idle], 3 * SECOND), Verdict::Agent(0));
}

/// A sub-agent that tells of no tools may have ended where its conversation went on, whether its step is open or cut off.
#[test]
fn left_sub_agent_owns_nothing_later() {
    for standing in [StepStanding::Open, StepStanding::Cut] {
        let mut left = step(standing, Vec::new());
        left.tells_of_tools = false;
        assert_eq!(at(&[left.clone()], 3 * SECOND), Verdict::Agent(0));
        left.signs.is_left = true;
        let doubt = Doubt::Silent { after: 3 * SECOND };
        assert_eq!(at(&[left], 3 * SECOND), unclear(doubt), "{standing:?}");
    }
}
