//! Recorded states laid out elsewhere: `branch` and `bisect`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ChangeKind, ConversationReport, GapReport, PathText};

/// A recorded state in a new directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BranchReport {
    /// The version of the document's format.
    pub version: u32,
    /// The workspace whose state it is.
    pub workspace: String,
    /// The tree of the snapshot that holds it.
    pub snapshot: String,
    /// The new directory.
    pub directory: String,
    /// How many files and links are in it.
    pub files: u64,
    /// What that state had and no snapshot holds: it is missing.
    pub gaps: Vec<GapReport>,
    /// The new branch, where the directory is a git work tree.
    pub branch: Option<String>,
    /// The commit at which the branch begins: the one that was checked out in that state.
    pub commit: Option<String>,
    /// The conversation that ends just before the message, made to go on there; null where there is none.
    pub conversation: Option<ConversationReport>,
}

/// Where a command began to fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BisectReport {
    /// The version of the document's format.
    pub version: u32,
    /// The workspace.
    pub workspace: String,
    /// The tree of the last state with which the command succeeds.
    pub succeeds: String,
    /// The tree of the first state with which it fails.
    pub fails: String,
    /// The steps that made what it fails with, in their order; none if only changes from outside did.
    pub steps: Vec<BisectStep>,
    /// The files with which it fails: each is needed for that. All that differ, if that was not found out.
    pub files: Vec<BisectFile>,
    /// How many files differ between the two states.
    pub changed: u64,
    /// How many states in between could not be tested: the command exited with 125.
    pub untested: u64,
    /// How often the command ran.
    pub runs: u64,
}

/// A step that may be why a command fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BisectStep {
    /// The message that it belongs to.
    pub message: String,
    /// The user's prompt in that message, as far as the settings allow it to be stored.
    pub prompt: Option<String>,
    /// The step.
    pub step: String,
}

/// A file that may be why a command fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BisectFile {
    /// The path.
    #[serde(flatten)]
    pub path: PathText,
    /// How it changed.
    pub kind: ChangeKind,
    /// The step that changed it; null if no step did.
    pub step: Option<String>,
}
