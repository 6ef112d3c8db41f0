//! Who may have changed something: what is read of the rows, and of the signs of life.

use rusqlite::Connection;

use super::attribute::StepActivity;
use super::evidence::StepStanding;
use super::life;
use super::look::LookOptions;
use super::workspace::Place;
use crate::error::Result;
use crate::model::Milliseconds;
use crate::model::path::WorkspacePath;
use crate::sessions::{self, OpenStep, OuterTool};

/// Who may have changed something besides the open steps.
pub(super) struct Workers {
    /// The ended steps that left a command running.
    pub background: Vec<OpenStep>,
    /// The nested workspaces in which an agent works, with the session here of the conversation that it works for.
    pub inner: Vec<(WorkspacePath, Option<String>)>,
    /// The tools of agents in workspaces around this one.
    pub outer: Vec<OuterTool>,
}

impl Workers {
    pub fn read(connection: &Connection, place: &Place, from: Option<i64>) -> Result<Self> {
        Ok(Self {
            background: sessions::steps_in_background(connection, place.row.id)?,
            inner: sessions::workspaces_at_work_below(connection, &place.row, from)?,
            outer: sessions::outer_tools(connection, &place.row, from)?,
        })
    }
}

/// Returns the activity of the open steps, and of those that left a command running in the background.
pub(super) fn acting_steps<'s>(
    background: &'s [OpenStep],
    looking: LookOptions<'s>,
    now: Milliseconds,
) -> Vec<StepActivity<'s>> {
    let open = looking.open.iter().map(|step| (step, false));
    let over = background.iter().chain(looking.overtaken);
    let steps = open.chain(over.map(|step| (step, true)));
    steps
        .map(|(step, is_over)| acting(step, is_over, looking, now))
        .collect()
}

/// Returns the activity of a step that may have changed something.
fn acting<'s>(
    step: &'s OpenStep,
    is_over: bool,
    looking: LookOptions<'_>,
    now: Milliseconds,
) -> StepActivity<'s> {
    let mut closing = looking.closing.iter();
    let closing = closing.find(|(closing, _)| closing.row.id == step.row.id);
    let standing = closing.map_or(StepStanding::Open, |(_, standing)| *standing);
    // The sender of this event is alive, and unless it was cut off, its events report what it did.
    let is_heard = Some(step.row.session_id.as_str()) == looking.session;
    let signs = if is_heard && standing != StepStanding::Cut {
        life::signs_from_events(step)
    } else {
        life::signs(step, now)
    };
    StepActivity {
        step,
        standing,
        signs,
        is_over,
    }
}
