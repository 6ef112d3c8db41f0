//! Reports about recording.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FileReport, FinishedReport, GapReport};

/// `event`, `step-start`, `step-finish`, `message`: what was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventReport {
    /// The version of the document's format.
    pub version: u32,
    /// The normalised event's name; null if the payload was skipped.
    pub event: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The message that the event belongs to.
    pub message: Option<String>,
    /// The step that the event opened, closed or belongs to.
    pub step: Option<String>,
    /// The tree of the snapshot that was taken.
    pub snapshot: Option<String>,
    /// Which part of the workspace was scanned for it.
    pub looked: Option<Looked>,
    /// How many paths the step that was closed changed.
    pub changes: Option<u64>,
    /// How many paths the snapshot could not hold.
    pub gaps: Option<u64>,
    /// What reverts and restores did to files since the session's last message. It is reported once, with the message
    /// that makes them permanent.
    pub went_back: Vec<FileReport>,
    /// What a command of ours did that has ended: the operation's id, for the user's eyes. No part of the document.
    #[serde(skip)]
    pub operation: Option<String>,
}

impl EventReport {
    /// Returns the report of an event, given its normalised name, that recorded nothing.
    pub fn of_nothing(event: Option<String>) -> Self {
        Self {
            version: super::VERSION,
            event,
            session: None,
            message: None,
            step: None,
            snapshot: None,
            looked: None,
            changes: None,
            gaps: None,
            went_back: Vec::new(),
            operation: None,
        }
    }
}

/// Which part of a workspace was scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Looked {
    /// Everywhere.
    Everywhere,
    /// At the files that the tools name, and beside them. These tools change no other file.
    Around,
}

/// `snapshot`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotReport {
    /// The version of the document's format.
    pub version: u32,
    /// The tree.
    pub snapshot: String,
    /// The bare repository that holds it.
    pub repository: String,
    /// The label that was given.
    pub label: Option<String>,
    /// The paths that it does not hold.
    pub gaps: Vec<GapReport>,
    /// What else the user should know, such as which operation was finished first.
    pub notes: Vec<String>,
    /// The interrupted operations that were finished first.
    pub finished: Vec<FinishedReport>,
}
