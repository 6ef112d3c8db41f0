//! The reports of `workspace`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `workspace list`: all workspaces that have a history, the most recently used first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspacesReport {
    /// The version of the document's format.
    pub version: u32,
    /// The workspaces.
    pub workspaces: Vec<WorkspaceReport>,
}

/// The history of one directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceReport {
    /// Its id.
    pub id: String,
    /// Where the directory is, or was seen last.
    pub path: String,
    /// Whether the directory still exists.
    pub state: WorkspaceState,
    /// How many sessions it has.
    pub sessions: u64,
    /// How many messages they have.
    pub messages: u64,
    /// The time of its last use.
    pub used_at: i64,
    /// The machine from which it was fetched; null if it was recorded here, or is adopted.
    pub machine: Option<String>,
}

/// Whether the directory of a history still exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceState {
    /// It is there.
    Here,
    /// Another directory is at its path.
    Replaced,
    /// There is none.
    Gone,
}

/// `workspace adopt`: which history the workspace has now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AdoptReport {
    /// The version of the document's format.
    pub version: u32,
    /// The workspace's directory.
    pub workspace: String,
    /// The history that was taken over, as it was before.
    pub adopted: WorkspaceReport,
    /// The history that the directory had before; it can be taken over again.
    pub set_aside: Option<WorkspaceReport>,
    /// Whether it was only planned.
    pub dry_run: bool,
}
