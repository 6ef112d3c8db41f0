//! Reports about single files: their contents in a state, and deleted ones.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{OperationReport, PathText};

/// `cat`: a file in a captured state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CatReport {
    /// The version of the document's format.
    pub version: u32,
    /// The path.
    #[serde(flatten)]
    pub path: PathText,
    /// The tree of the snapshot that holds it.
    pub snapshot: String,
    /// The octal mode.
    pub mode: String,
    /// Whether it is a symbolic link; the content is then its target.
    pub link: bool,
    /// The blob.
    pub blob: String,
    /// Its size in bytes.
    pub size: u64,
    /// The content; null if its bytes are not UTF-8.
    pub content: Option<String>,
    /// The bytes in hex if they are not UTF-8.
    pub content_hex: Option<String>,
}

/// Who removed a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TakenBy {
    /// A step.
    Agent,
    /// One of several steps: nothing shows which.
    Shared,
    /// A step, or another author.
    Unclear,
    /// Not an agent that sends events: you, or another program.
    Outside,
    /// An operation, such as a revert.
    Operation,
    /// It is unknown: it disappeared after the newest snapshot.
    Uncaptured,
}

/// A file that is gone, in its last version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GoneReport {
    /// The path.
    #[serde(flatten)]
    pub path: PathText,
    /// Who removed it.
    pub by: TakenBy,
    /// The agent.
    pub agent: Option<String>,
    /// The message that led to it.
    pub message: Option<String>,
    /// The user's prompt in that message, as far as the settings allow it to be stored.
    pub prompt: Option<String>,
    /// The operation that removed it, or removed it again.
    pub operation: Option<String>,
    /// The file that it became, if it was renamed.
    pub renamed_to: Option<PathText>,
    /// When it was first seen to be gone; null if that is only noticed now.
    pub time: Option<i64>,
    /// The octal mode that it had.
    pub mode: String,
    /// Its blob; null if its bytes are not stored.
    pub blob: Option<String>,
}

/// Files that are gone from another root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RootGone {
    /// The directory of the root.
    pub workspace: String,
    /// The files, most recently removed first.
    pub files: Vec<GoneReport>,
}

/// `recover`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecoverReport {
    /// The version of the document's format.
    pub version: u32,
    /// The files that are gone and were asked for, most recently removed first.
    pub files: Vec<GoneReport>,
    /// Those in the other roots of the workspace's sessions.
    pub roots: Vec<RootGone>,
    /// Those of the other roots that are not there now, of which nothing is listed.
    pub away: Vec<String>,
    /// What putting them back did, or would do; null if they were only listed.
    pub operation: Option<OperationReport>,
}
