//! The report of a command that failed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `--json` prints instead of a document when a command fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorReport {
    /// The version of the document's format.
    pub version: u32,
    /// The failure.
    pub error: FailureReport,
}

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Failure")]
pub struct FailureReport {
    /// The exit code.
    pub code: u8,
    /// The kind of failure, for programs.
    pub kind: FailureKind,
    /// What failed, in a sentence.
    pub message: String,
    /// The causes, outermost first.
    pub causes: Vec<String>,
    /// What the user can do.
    pub hint: Option<String>,
    /// What was done before it failed.
    pub notes: Vec<String>,
    /// What an ambiguous id may mean; empty for every other kind.
    pub candidates: Vec<CandidateReport>,
}

crate::words! {
    /// The kind of a failure. Kinds may be added: treat an unknown one as `failed`, and go by the exit code.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum FailureKind {
        /// It failed, and nothing was changed.
        Failed = "failed",
        /// The arguments are invalid.
        Usage = "usage",
        /// Nothing here has this id.
        Unknown = "unknown",
        /// The id is ambiguous: `candidates` lists them.
        Ambiguous = "ambiguous",
        /// What was asked for is known, but its bytes are missing or cannot be put back.
        Unavailable = "unavailable",
        /// An agent is working: wait, or use `--force`.
        Busy = "busy",
        /// The workspace or the history has changed since the plan was made: make it again.
        Stale = "stale",
        /// It failed after something was changed: `notes` says what.
        Unfinished = "unfinished",
        /// A snapshot takes longer than a hook may: it continues in the background.
        Late = "late",
        /// The request was cancelled, and nothing was changed.
        Cancelled = "cancelled",
    }
}

/// A possible meaning of an ambiguous id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CandidateReport {
    /// `message`, `step`, `session`, `operation` or `snapshot`.
    pub kind: String,
    /// Our id, in full.
    pub id: String,
    /// The id that matches what was given: ours, the agent's, or a label.
    pub name: String,
    /// For a message, the first line of its prompt.
    pub title: Option<String>,
}
