//! How paths differ between two states.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PathText;

crate::words! {
    /// How a path differs between two states.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum ChangeKind {
        /// It was not there.
        Added = "added",
        /// Its content, or content and mode, changed.
        Modified = "modified",
        /// It is gone.
        Deleted = "deleted",
        /// Only its permissions changed.
        Mode = "mode",
        /// A file became a link or a directory, or the reverse.
        Type = "type",
    }
}

/// One path that differs between two states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeReport {
    /// The path.
    #[serde(flatten)]
    pub path: PathText,
    /// The kind of change.
    pub kind: ChangeKind,
    /// The octal mode before.
    pub old_mode: Option<String>,
    /// The octal mode after.
    pub new_mode: Option<String>,
    /// The blob before.
    pub old_blob: Option<String>,
    /// The blob after.
    pub new_blob: Option<String>,
    /// Lines added; null if there are no lines to count.
    pub additions: Option<u64>,
    /// Lines removed.
    pub deletions: Option<u64>,
    /// Whether a side has bytes that are not text.
    pub binary: bool,
    /// Whether only white space differs.
    pub whitespace_only: bool,
    /// `agent`, `shared`, `outside` or `unclear`; null if the two states do not show who made the change.
    pub attribution: Option<String>,
    /// Why it is unclear whose it is.
    pub reason: Option<String>,
    /// For an added path: the deleted path of the same difference that it was before.
    pub renamed_from: Option<Rename>,
    /// For a deleted path: the added path of the same difference that it became.
    pub renamed_to: Option<PathText>,
}

/// What an added file was before, as `git diff -M` detects it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rename {
    /// The path before.
    #[serde(flatten)]
    pub path: PathText,
    /// How much of the content is the same, as a percentage.
    pub similarity: u8,
    /// Lines added to the content under the other name; null if there are no lines to count.
    pub additions: Option<u64>,
    /// Lines removed from it.
    pub deletions: Option<u64>,
}

/// `diff`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffReport {
    /// The version of the document's format.
    pub version: u32,
    /// The tree on the left.
    pub from: String,
    /// The tree on the right.
    pub to: String,
    /// What the left side is, if an id was given or assumed.
    pub from_name: Option<String>,
    /// What the right side is: `current` is the workspace as it is now.
    pub to_name: Option<String>,
    /// By path.
    pub files: Vec<ChangeReport>,
}
