//! Why a file of an operation stays as it is, for programs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a file stays, completely or in part, or what went wrong with it: `reason` for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasonCode {
    /// It was changed since in the same lines.
    SameLines,
    /// It is binary, and was changed since.
    Binary,
    /// It is too large to merge, and was changed since.
    TooLarge,
    /// Its permissions were changed since.
    Permissions,
    /// It is of another type now.
    Type,
    /// A symbolic link that was pointed elsewhere since.
    Symlink,
    /// It was to be removed, and was edited since.
    Edited,
    /// It was deleted since.
    Deleted,
    /// It was to come back, and something else was put there since.
    Recreated,
    /// It was changed since, and no merge was asked for or possible.
    Changed,
    /// Several sessions changed it at once.
    Shared,
    /// Nobody knows whose change it is.
    Unclear,
    /// No snapshot holds a side of it: what it was, what the agent left, or what is there now.
    NotCaptured,
    /// Its content was removed from the store with `forget`.
    Forgotten,
    /// There is no place for it, because another path stays.
    Blocked,
    /// It belongs to a database that is open, or another file of which stays, or to a repository of Fossil.
    Database,
    /// It changed between the plan and the moment of writing.
    Moved,
    /// The user changed it since the state that a restore goes to, or may have. It stays, unless the user named the
    /// file or said that theirs go as well.
    Yours,
    /// The system or the store refused.
    Failed,
    /// The operation was interrupted before it came to this file. The next command finishes it.
    NotDone,
    /// It is done, but a power cut may undo it.
    NotSynced,
    /// It is done, but the file lacks something of the one that it replaced, such as its owner or further names.
    NotKept,
}

impl ReasonCode {
    /// Returns the name that the code has in JSON and in the session store.
    pub fn name(self) -> &'static str {
        match self {
            Self::SameLines => "same_lines",
            Self::Binary => "binary",
            Self::TooLarge => "too_large",
            Self::Permissions => "permissions",
            Self::Type => "type",
            Self::Symlink => "symlink",
            Self::Edited => "edited",
            Self::Deleted => "deleted",
            Self::Recreated => "recreated",
            Self::Changed => "changed",
            Self::Shared => "shared",
            Self::Unclear => "unclear",
            Self::NotCaptured => "not_captured",
            Self::Forgotten => "forgotten",
            Self::Blocked => "blocked",
            Self::Database => "database",
            Self::Moved => "moved",
            Self::Yours => "yours",
            Self::Failed => "failed",
            Self::NotDone => "not_done",
            Self::NotSynced => "not_synced",
            Self::NotKept => "not_kept",
        }
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
