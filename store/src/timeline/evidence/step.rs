//! What is known about a step and its tools.

use super::{AFTERWORK, LONGEST_AFTER_DEATH, SILENCE, WRITE_DELAY};
use crate::model::Milliseconds;
use crate::model::path::WorkspacePath;

/// The files that a tool may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Any file: a shell, or an unknown tool.
    Anything,
    /// The files that it names: an edit tool.
    Files(Vec<WorkspacePath>),
    /// None: it only reads.
    Nothing,
}

/// A tool of a step. Times are milliseconds since the epoch, by the clock of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tool {
    /// The files that it may change.
    pub reach: Reach,
    /// When it was announced. It did not run earlier.
    pub announced_at: Milliseconds,
    /// When its end was reported.
    pub ended_at: Option<Milliseconds>,
    /// How long it ran, not counting the wait for permission, if its agent reports that.
    pub ran_for: Option<Milliseconds>,
    /// When it was reported to wait for the user's permission.
    pub waited_at: Option<Milliseconds>,
    /// Whether only the end of its step told that it ran. Then it was announced at the earliest possible moment.
    pub is_unheard: bool,
}

/// Whether a step is open, or how it ended, when its changes are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepStanding {
    /// The step goes on.
    Open,
    /// It ends by its own finish, or because its agent calls the model again.
    Finished,
    /// It ends with its turn.
    TurnEnded,
    /// It ends with its turn, and its agent, which reports the end of every tool but no start, reported none in it.
    Answered,
    /// Its end was never reported: the next message, a revert or the death of its agent ends it.
    Cut,
}

/// The last signs of an agent's life, besides the events of its tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signs {
    /// Its last event, or the last entry of its transcript, whichever is later.
    pub last: Milliseconds,
    /// When its transcript says that the user interrupted it.
    pub interrupted_at: Option<Milliseconds>,
    /// Whether its process is gone.
    pub is_dead: bool,
    /// Whether its user typed one of our own commands since: what it did before that has ended, if its step is cut off.
    pub is_idle: bool,
    /// Whether its conversation went on without it: it tells of no tools, and may have ended untold.
    pub is_left: bool,
}

/// What is known about a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The session at the top of its line of parents: sub-agents work for it.
    pub root: String,
    /// The time of its start.
    pub started_at: Milliseconds,
    /// Whether its agent reports tools. If it does, time without a tool is thinking.
    pub tells_of_tools: bool,
    /// Its tools, in the order in which they were announced.
    pub tools: Vec<Tool>,
    /// Whether it is open, or how it ended.
    pub standing: StepStanding,
    /// The signs of its agent's life.
    pub signs: Signs,
    /// Those of them that may outlive the step.
    pub background: Vec<Tool>,
    /// The last sign of life of an agent that is dead. What it left running may go on without it.
    pub died_at: Option<Milliseconds>,
    /// Whether only that command is left: the step itself ended earlier.
    pub is_over: bool,
}

impl Step {
    /// Returns whether a tool whose end was never reported can no longer be running.
    pub(super) fn is_stopped(&self, tool: &Tool) -> bool {
        let is_interrupted = self
            .signs
            .interrupted_at
            .is_some_and(|at| at >= tool.announced_at);
        self.signs.is_dead || is_interrupted
    }

    /// Returns how long a tool whose end was never reported may have paused between two writes. If it is known to have
    /// been stopped, but not when, a person may have edited anything that it did not name soon after.
    pub(super) fn longest_pause(&self, tool: &Tool) -> Milliseconds {
        let is_idle = self.signs.is_idle && self.standing == StepStanding::Cut;
        match tool.reach {
            Reach::Anything if self.signs.is_dead || is_idle || self.signs.is_left => WRITE_DELAY,
            Reach::Anything | Reach::Files(_) | Reach::Nothing => SILENCE,
        }
    }

    /// Returns until when the agent may still have worked on its files after a tool had ended. One that was interrupted
    /// does not go on, nor does one that is dead.
    pub(super) fn worked_after(&self, tool: &Tool, end: Milliseconds) -> Milliseconds {
        if self.signs.is_dead {
            return end + WRITE_DELAY;
        }
        let interrupted = self.signs.interrupted_at;
        match interrupted.filter(|at| *at >= tool.announced_at) {
            Some(at) => (end.max(at) + WRITE_DELAY).min(end + AFTERWORK),
            None => end + AFTERWORK,
        }
    }

    /// Returns whether what the step left in the background may still run at a moment.
    pub(super) fn goes_on_at(&self, at: Milliseconds) -> bool {
        self.died_at
            .is_none_or(|died| at - died <= LONGEST_AFTER_DEATH)
    }

    /// Returns whether one of its tools named a file.
    pub fn names(&self, path: &WorkspacePath) -> bool {
        self.named().any(|named| named == path)
    }

    /// Returns the files that its tools named.
    pub fn named(&self) -> impl Iterator<Item = &WorkspacePath> {
        self.tools.iter().flat_map(|tool| match &tool.reach {
            Reach::Files(files) => files.as_slice(),
            Reach::Nothing | Reach::Anything => &[],
        })
    }
}

impl Tool {
    /// Returns whether it was announced long before it ran: then it waited for permission.
    pub(super) fn has_waited(&self, ran_from: Milliseconds) -> bool {
        ran_from - self.announced_at > SILENCE
    }

    pub(super) fn reaches(&self, path: &WorkspacePath) -> bool {
        match &self.reach {
            Reach::Anything => true,
            Reach::Files(files) => files.contains(path),
            Reach::Nothing => false,
        }
    }
}

/// The whole step as one tool, for an agent that does not report tools.
pub(super) fn whole(step: &Step) -> Tool {
    Tool {
        reach: Reach::Anything,
        announced_at: step.started_at,
        ended_at: None,
        ran_for: None,
        waited_at: None,
        is_unheard: false,
    }
}
