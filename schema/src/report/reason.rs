//! Why a file of an operation stays as it is, for programs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

crate::words! {
    /// Why a file stays, completely or in part, or what went wrong with it: `reason` for programs.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum ReasonCode {
        /// It was changed since in the same lines.
        SameLines = "same_lines",
        /// It is binary, and was changed since.
        Binary = "binary",
        /// It is too large to merge, and was changed since.
        TooLarge = "too_large",
        /// Its permissions were changed since.
        Permissions = "permissions",
        /// It is of another type now.
        Type = "type",
        /// A symbolic link that was pointed elsewhere since.
        Symlink = "symlink",
        /// It was to be removed, and was edited since.
        Edited = "edited",
        /// It was deleted since.
        Deleted = "deleted",
        /// It was to come back, and something else was put there since.
        Recreated = "recreated",
        /// It was changed since, and no merge was asked for or possible.
        Changed = "changed",
        /// Several sessions changed it at once.
        Shared = "shared",
        /// It is unclear whose change it is.
        Unclear = "unclear",
        /// No snapshot holds a side of it: what it was, what the agent left, or what is there now.
        NotCaptured = "not_captured",
        /// Its content was removed from the store with `forget`.
        Forgotten = "forgotten",
        /// There is no place for it, because another path stays.
        Blocked = "blocked",
        /// It belongs to a database that is open, or another file of which stays, or to a repository of Fossil.
        Database = "database",
        /// It changed between the plan and the moment of writing, or a program has it open for writing.
        Moved = "moved",
        /// The user changed it since the state that a restore goes to, or may have. It stays, unless the user named the
        /// file or said that theirs go as well.
        Yours = "yours",
        /// The system or the store refused.
        Failed = "failed",
        /// The operation was interrupted before it came to this file. The next command finishes it.
        NotDone = "not_done",
        /// It is done, but a power cut may undo it.
        NotSynced = "not_synced",
        /// It is done, but the file lacks something of the one that it replaced, such as its owner or further names.
        NotKept = "not_kept",
    }
}

/// Who made a change that keeps a file from going back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuthorReport {
    /// Who it is.
    pub kind: AuthorKind,
    /// The session; null if it was no agent.
    pub session: Option<String>,
    /// The user message.
    pub message: Option<String>,
    /// The step.
    pub step: Option<String>,
    /// The agent's name.
    pub agent: Option<String>,
}

/// The kinds of authors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuthorKind {
    /// A step of an agent.
    Agent,
    /// The user, another program, or something that an agent left running.
    User,
    /// The user, or an agent in an unrecorded step.
    Unrecorded,
}
