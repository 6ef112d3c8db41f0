//! The time in which a tool ran, as far as it is known. Pure.

use super::{Doubt, Step};
use crate::model::Milliseconds;

/// The time in which a tool ran.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// The tool made no change before this moment.
    pub possible_from: Milliseconds,
    /// From this moment on it is known to have run; before, it may have. `None` if it is never known to have run.
    pub from: Option<Milliseconds>,
    /// Why it may have run before it is known to have.
    pub early: Early,
    /// Every change in its reach up to this moment is the tool's. `None` if its time has no end.
    pub to: Option<Milliseconds>,
    /// What to conclude for a later change, which may have followed one by the tool.
    pub late: Late,
    /// What to conclude for a change without a time.
    pub timeless: Option<Doubt>,
}

/// Why a tool may have run before it is known to have.
#[derive(Clone, Copy, Debug)]
pub(super) enum Early {
    /// Its start may have been reported late.
    Late,
    /// It may have waited for permission.
    Waiting,
    /// Its start was not reported at all.
    Unheard,
}

/// What a late change is late after.
#[derive(Clone, Copy, Debug)]
pub(super) enum Late {
    /// The user interrupted the agent then.
    Interrupted(Milliseconds),
    /// The agent last showed a sign of life then.
    Silent(Milliseconds),
    /// The tool ended then.
    Ended(Milliseconds),
}

impl Late {
    /// Returns the end of a step's tool, as far as it is known.
    pub fn new(step: &Step, ended_at: Option<Milliseconds>) -> Self {
        let signs = &step.signs;
        match (signs.interrupted_at, ended_at) {
            (Some(at), None) if at >= step.started_at => Self::Interrupted(at),
            (_, Some(at)) => Self::Ended(at),
            (_, None) => Self::Silent(signs.last.max(step.started_at)),
        }
    }

    /// Returns the doubt about a change at a moment.
    pub fn at(self, at: Milliseconds) -> Doubt {
        match self {
            Self::Interrupted(from) => Doubt::Interrupted { after: at - from },
            Self::Silent(from) => Doubt::Silent { after: at - from },
            Self::Ended(from) => Doubt::Ended { after: at - from },
        }
    }
}
