//! What is known about a step when a question comes later. The times of files are gone; rows and the agent's own
//! transcript remain.
//!
//! Closing a step ends its tools. So if a tool of a recovered step ended in that very moment, its end was never
//! reported.

use rusqlite::Connection;

use super::attribute::{StepActivity, step_of};
use super::evidence::{Dated, Reach, Signs, Step, StepStanding, TICK};
use super::life;
use super::workspace::Place;
use crate::error::Result;
use crate::model::Milliseconds;
use crate::sessions::{self, OpenStep};

/// Returns the steps that ended before and may have made changes of these times, each with when it ended: a watcher may
/// have hidden them from the looks at their ends.
pub(super) fn hidden_steps(
    connection: &Connection,
    place: &Place,
    times: impl Iterator<Item = Dated>,
) -> Result<Vec<(OpenStep, Milliseconds)>> {
    let times: Vec<Milliseconds> = times.map(|time| time.at).collect();
    let Some((first, last)) = times.iter().min().zip(times.iter().max()) else {
        return Ok(Vec::new());
    };
    sessions::steps_ended_around(connection, place.row.id, first - TICK..=last + TICK)
}

/// Returns the activity of a step that may have changed something other than files, such as git's state. An open
/// step (`finished_at` is `None`) counts as cut off `now`.
pub(crate) fn step_afterwards(
    step: &OpenStep,
    finished_at: Option<Milliseconds>,
    now: Milliseconds,
) -> Step {
    let mut known = match finished_at {
        None => step_of(&StepActivity {
            step,
            standing: StepStanding::Cut,
            signs: life::signs(step, now),
            is_over: false,
        }),
        Some(end) => ended_step(step, end),
    };
    for tool in &mut known.tools {
        // The question is not about a file that an edit tool names.
        if matches!(tool.reach, Reach::Files(_)) {
            tool.reach = Reach::Nothing;
        }
    }
    known
}

/// Returns the activity of a step that ended at a moment.
pub(super) fn ended_step(step: &OpenStep, end: Milliseconds) -> Step {
    let mut step = step.clone();
    let (standing, signs) = if step.row.recovered {
        for tool in &mut step.tools {
            tool.finished_at = tool.finished_at.filter(|finished| *finished != end);
        }
        (StepStanding::Cut, signs_until(&step, end))
    } else {
        (StepStanding::Finished, life::signs_from_events(&step))
    };
    step_of(&StepActivity {
        step: &step,
        standing,
        signs,
        is_over: false,
    })
}

/// Returns the signs of life until the end of a step. The session went on after it, so the session's last event is not
/// one of them.
fn signs_until(step: &OpenStep, end: Milliseconds) -> Signs {
    let mut then = step.clone();
    then.last_event_at = step.last_moment();
    // Whether the process lives now says nothing about then.
    (then.life.process, then.life.caller) = (None, None);
    then.life.is_commanded = false;
    then.life.left_at = step.life.left_at.filter(|at| *at <= end);
    then.life.interrupted_at = step.life.interrupted_at.filter(|at| *at <= end);
    life::signs(&then, end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::{StepRow, ToolRow};

    fn step(recovered: bool) -> OpenStep {
        let tool = |started_at, finished_at| ToolRow {
            started_at,
            finished_at: Some(finished_at),
            ..ToolRow::default()
        };
        OpenStep {
            row: StepRow {
                recovered,
                ..StepRow::default()
            },
            started_at: 10,
            last_event_at: 9_000,
            tools: vec![tool(20, 30), tool(40, 5_000)],
            ..OpenStep::default()
        }
    }

    /// A tool that the end of its step ended was never told to have ended.
    #[test]
    fn tool_ended_by_its_step_was_never_reported() {
        let known = step_afterwards(&step(true), Some(5_000), 10_000);
        assert_eq!(known.standing, StepStanding::Cut);
        let ends: Vec<_> = known.tools.iter().map(|tool| tool.ended_at).collect();
        assert_eq!(ends, [Some(30), None]);
        assert_eq!(known.signs.last, 40, "the later events are of later steps");
    }

    /// A step that ended by itself is as wide as its tools.
    #[test]
    fn ended_step_is_as_wide_as_its_tools() {
        let known = step_afterwards(&step(false), Some(5_000), 10_000);
        assert_eq!(known.standing, StepStanding::Finished);
        assert_eq!(known.tools[1].ended_at, Some(5_000));
    }
}
