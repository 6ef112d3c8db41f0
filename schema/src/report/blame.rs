//! Which prompt wrote which lines of a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Content, MessageState, PathText};

/// Who wrote lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineAuthor {
    /// The step's.
    Agent,
    /// One of the steps': nothing shows which.
    Shared,
    /// The step's, or another author's.
    Unclear,
    /// Not by an agent that sends events: yours, or another program's.
    Outside,
    /// Merged by an operation from edits that are no longer stored.
    Operation,
    /// Written before anything was recorded, or while the file was not being captured.
    Unrecorded,
    /// It is unclear: older versions of the file were pruned, or cannot be read.
    Unknown,
    /// Not captured yet: written since the newest snapshot.
    Uncaptured,
}

/// A step that wrote lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlameStep {
    /// The agent.
    pub agent: String,
    /// Its session.
    pub session: String,
    /// The message that led to it.
    pub message: String,
    /// The step.
    pub step: String,
    /// The user's prompt, as far as the settings allow it to be stored.
    pub prompt: Option<String>,
    /// The state of the message.
    pub state: MessageState,
}

/// Consecutive lines with the same author.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlameHunk {
    /// The number of the first line, from 1.
    pub start: u64,
    /// The number of lines.
    pub lines: u64,
    /// Whose they are.
    pub by: LineAuthor,
    /// The step that wrote them; several if they are shared, empty if no agent wrote them.
    pub steps: Vec<BlameStep>,
    /// The operation that merged them.
    pub operation: Option<String>,
    /// When they were first seen.
    pub time: Option<i64>,
    /// Why it is unclear whose they are.
    pub reason: Option<String>,
    /// The path that the file had when they were written, if it was a different one.
    pub renamed_from: Option<PathText>,
}

/// `blame`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlameReport {
    /// The version of the document's format.
    pub version: u32,
    /// The file.
    #[serde(flatten)]
    pub path: PathText,
    /// The number of its lines.
    pub lines: u64,
    /// The hunks of all lines, or of those that were asked for, in order.
    pub hunks: Vec<BlameHunk>,
    /// The bytes of the file, if the server was asked for them.
    pub contents: Option<Content>,
}
