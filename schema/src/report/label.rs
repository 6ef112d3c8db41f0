//! Reports about labels.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

crate::words! {
    /// The things that a label can name.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum LabelledKind {
        /// A message.
        Message = "message",
        /// A snapshot.
        Snapshot = "snapshot",
    }
}

/// A label: a bookmark on a message or a snapshot, which works wherever an id does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabelEntry {
    /// Its text, unique in its workspace.
    pub label: String,
    /// The kind of thing that it names.
    pub kind: LabelledKind,
    /// The message's id, or the snapshot's tree.
    pub id: String,
    /// When the label was given.
    pub time: i64,
    /// The user's prompt in the message, as far as the settings allow it to be stored.
    pub prompt: Option<String>,
    /// When the message was sent, or the snapshot taken.
    pub of: i64,
}

/// The actions of `label`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LabelAction {
    /// The label is new.
    Added,
    /// It was there already.
    Unchanged,
    /// It is gone.
    Deleted,
    /// Labels were only listed.
    Listed,
}

impl LabelAction {
    /// Says what was changed, for a failure that comes afterwards; `None` if nothing was.
    pub fn done(self) -> Option<&'static str> {
        match self {
            Self::Added => Some("the label was added"),
            Self::Deleted => Some("the label was deleted"),
            Self::Unchanged | Self::Listed => None,
        }
    }
}

/// `label`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabelsReport {
    /// The version of the document's format.
    pub version: u32,
    /// The action.
    pub action: LabelAction,
    /// The label that was added or deleted; those that are listed, newest first.
    pub labels: Vec<LabelEntry>,
}
