//! Notifications, as they happen, of what any process records or reverts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DiagnosticReport, GapReport, MessageReport, OperationEntry};

/// Something that happened. Continue from the `seq` of the last one that you have handled. `busy` is a state, not an
/// event, and has the `seq` of the last event before it. Types may be added, each with a `seq`: ignore one that you do
/// not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Notification {
    /// A message was sent, or its state changed.
    Message {
        /// Its position in the order of everything that happened in this store.
        seq: i64,
        /// The workspace's directory.
        workspace: Option<String>,
        /// The message as it is now.
        message: MessageReport,
    },
    /// A step began or ended.
    Step {
        /// Its position in the order of everything that happened in this store.
        seq: i64,
        /// The workspace's directory.
        workspace: Option<String>,
        /// The step as it is now.
        step: StepSummary,
    },
    /// A revert, redo, unrevert or restore began or ended.
    Operation {
        /// Its position in the order of everything that happened in this store.
        seq: i64,
        /// The workspace's directory.
        workspace: Option<String>,
        /// The operation as it is now.
        operation: OperationEntry,
    },
    /// A snapshot could not hold paths that the one before it could.
    Gap {
        /// Its position in the order of everything that happened in this store.
        seq: i64,
        /// The workspace's directory.
        workspace: Option<String>,
        /// The step that ended with it.
        step: String,
        /// The paths, and why.
        gaps: Vec<GapReport>,
    },
    /// Something went wrong in a hook.
    Failed {
        /// Its position in the order of everything that happened in this store.
        seq: i64,
        /// The workspace's directory.
        workspace: Option<String>,
        /// The diagnostic.
        diagnostic: DiagnosticReport,
    },
    /// The sessions at work in a workspace have changed.
    Busy {
        /// The event before it.
        seq: i64,
        /// The workspace's directory.
        workspace: Option<String>,
        /// Sessions with a running tool, by agent and session; empty if there are none.
        agents_at_work: Vec<String>,
    },
    /// An agent's own rewind left messages of a session, or a fork of its conversation alone did: their files are still
    /// here. Like `busy`, it is a state.
    Rewound {
        /// The event before it.
        seq: i64,
        /// The workspace's directory.
        workspace: Option<String>,
        /// The session.
        session: String,
        /// All messages that are no longer in its conversation, oldest first; a revert to the first takes their files back.
        messages: Vec<String>,
    },
    /// The store is a different one, or was created again: discard what you know about it.
    Reset {
        /// The current position in the order of this store.
        seq: i64,
    },
}

impl Notification {
    /// Returns where it stands in the order of everything that happened in the store.
    pub fn seq(&self) -> i64 {
        match self {
            Self::Message { seq, .. }
            | Self::Step { seq, .. }
            | Self::Operation { seq, .. }
            | Self::Gap { seq, .. }
            | Self::Failed { seq, .. }
            | Self::Busy { seq, .. }
            | Self::Rewound { seq, .. }
            | Self::Reset { seq } => *seq,
        }
    }

    /// Returns the name that its type has in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Message { .. } => "message",
            Self::Step { .. } => "step",
            Self::Operation { .. } => "operation",
            Self::Gap { .. } => "gap",
            Self::Failed { .. } => "failed",
            Self::Busy { .. } => "busy",
            Self::Rewound { .. } => "rewound",
            Self::Reset { .. } => "reset",
        }
    }
}

/// A step without its changes, which `show` lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepSummary {
    /// Our id.
    pub id: String,
    /// Its session.
    pub session: String,
    /// Its message.
    pub message: String,
    /// Whether it is still open.
    pub open: bool,
    /// Whether it was closed without its own finish.
    pub recovered: bool,
    /// Why its changes cannot be put back, if they cannot.
    pub unprotected: Option<String>,
    /// The time of its start.
    pub started: i64,
    /// The time of its end.
    pub finished: Option<i64>,
    /// How many files it changed.
    pub files: u64,
}
