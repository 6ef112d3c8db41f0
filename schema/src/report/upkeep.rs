//! The reports of `gc`, `du` and `forget`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PathText;

/// `gc`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GcReport {
    /// The version of the document's format.
    pub version: u32,
    /// Whether it was only planned.
    pub dry_run: bool,
    /// The sessions that still have snapshots, the longest unused first.
    pub sessions: Vec<GcSession>,
    /// A row per workspace.
    pub workspaces: Vec<GcWorkspace>,
    /// The bytes of the store before it.
    pub bytes_before: u64,
    /// The bytes after it; for a dry run, an estimate.
    pub bytes_after: u64,
}

/// What happens to a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GcSession {
    /// Our id.
    pub session: String,
    /// The agent.
    pub agent: String,
    /// The workspace's directory.
    pub workspace: String,
    /// The time of its last use.
    pub used_at: i64,
    /// Whether its snapshots go.
    pub goes: bool,
    /// Why it goes (`unused`, `size`), or stays (`recent`, `open`, `reverted`, `operation`, `label`, `young`, `clock`).
    pub reason: String,
    /// The bytes that are freed by pruning it and every session used before it; null if they were not measured.
    pub bytes: Option<u64>,
}

/// What happened to the objects of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GcWorkspace {
    /// Its directory.
    pub workspace: String,
    /// The bytes of its packs before.
    pub bytes_before: u64,
    /// The bytes of its packs after.
    pub bytes_after: u64,
    /// How many packs there were.
    pub packs_before: usize,
    /// How many packs there are.
    pub packs_after: usize,
    /// How many snapshots were pruned, or would be.
    pub pruned: usize,
    /// Whether all of it was removed, or would be, because its directory is gone.
    pub removed: bool,
    /// Why its packs were left as they are.
    pub skipped: Option<String>,
}

/// `du`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DuReport {
    /// The version of the document's format.
    pub version: u32,
    /// The bytes of all files of the store, without those that are shared.
    pub bytes: u64,
    /// The number of these files.
    pub files: u64,
    /// The bytes of the session store and its log.
    pub database: u64,
    /// The bytes of packs and their indexes.
    pub objects: u64,
    /// The bytes of the caches.
    pub caches: u64,
    /// The bytes of everything else.
    pub other: u64,
    /// The bytes that are shared with the user's repositories by links, and take no room.
    pub shared: u64,
    /// The bytes of unneeded objects, and of those that `gc` would prune now.
    pub reclaimable: u64,
    /// How the rows are grouped: by `workspace`, `session`, `message`, `age` or `machine`.
    pub by: String,
    /// The largest first; by age, the newest first.
    pub rows: Vec<DuRow>,
    /// The workspaces whose objects could not be measured. The totals count their files; the rows lack them.
    pub unmeasured: Vec<DuUnmeasured>,
}

/// A workspace whose objects could not be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DuUnmeasured {
    /// The workspace's directory.
    pub workspace: String,
    /// Why.
    pub reason: String,
}

/// The bytes of one workspace, session or message, or of snapshots of one age.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DuRow {
    /// The workspace's directory, our id, the age, or the machine; null for what belongs to no session.
    pub name: Option<String>,
    /// The bytes of objects that it was the first to need.
    pub bytes: u64,
    /// How many snapshots it has that were not pruned.
    pub snapshots: u64,
}

/// `forget`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgetReport {
    /// The version of the document's shape.
    pub version: u32,
    /// Whether it was only planned.
    pub dry_run: bool,
    /// The workspaces in which something is forgotten.
    pub workspaces: Vec<ForgetWorkspace>,
    /// Former session stores that are removed: copies that migrations kept, damaged ones that were set aside, and what
    /// a killed repair left.
    pub copies: Vec<String>,
    /// The bytes of the store before it.
    pub bytes_before: u64,
    /// The bytes after it.
    pub bytes_after: u64,
}

/// What is forgotten of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgetWorkspace {
    /// Its directory.
    pub workspace: String,
    /// The machine from which its history was fetched; null if it was recorded here, or is adopted.
    #[serde(default)]
    pub machine: Option<String>,
    /// Whether all of it is forgotten.
    pub removed: bool,
    /// Whether a step or an operation is open there. Only a dry run answers then; nothing is forgotten before it has
    /// ended.
    pub busy: bool,
    /// How many snapshots hold, or held, something of it.
    pub snapshots: u64,
    /// How many messages lose, or lost, their prompt.
    pub prompts: u64,
    /// The files, and the directories that go as a whole, by path.
    pub files: Vec<PathText>,
    /// The repositories to which its history was pushed. They have it until the next push to each, or until its refs are
    /// removed there, if all of it is forgotten.
    pub remotes: Vec<ForgetRemote>,
}

/// A repository that still has what is forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgetRemote {
    /// Its address, without a password.
    pub address: String,
    /// What the workspace is called there.
    pub name: String,
}
