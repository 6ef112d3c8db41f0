//! The report of `status`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ConversationAbilities, FileReport, GapReport, PathText, RevertedSession, RootFiles,
    WorkspaceReport,
};

/// `status`: the revert banner and the state of the recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusReport {
    /// The version of the document's format.
    pub version: u32,
    /// The workspace's directory.
    pub workspace: String,
    /// The session that the rest is about: the newest, or the one asked for.
    pub session: Option<String>,
    /// Its agent.
    pub agent: Option<String>,
    /// The message that it is reverted to.
    pub revert_point: Option<String>,
    /// The messages after the revert point, oldest first.
    pub messages_hidden: Vec<String>,
    /// The messages that are undone while later ones stay, in the order in which that was asked for.
    pub undone_alone: Vec<String>,
    /// The messages that the agent left by a rewind of its own, oldest first: they are no longer in the conversation, and
    /// their files are here.
    pub left: Vec<String>,
    /// What the reverts so far did to each file.
    pub files: Vec<FileReport>,
    /// What they did in the other roots of the session.
    pub roots: Vec<RootFiles>,
    /// Whether there is something to redo.
    pub redo: bool,
    /// What can be done to the conversation of the session.
    pub conversation: Option<ConversationAbilities>,
    /// The other sessions of the workspace in which something is reverted, the one reverted last first.
    pub also_reverted: Vec<RevertedSession>,
    /// The histories of other directories that were at this path, or of some that are gone and may have been this one:
    /// `workspace adopt` takes one over by its `id`.
    pub adoptable: Vec<WorkspaceReport>,
    /// The newest conversation of each agent in this workspace, by the agent's own records, if no event of it came.
    pub unrecorded: Vec<UnrecordedReport>,
    /// Steps that have started and not finished, of all sessions of the workspace.
    pub open_steps: u64,
    /// Sessions of the workspace with a tool at work, by agent and session.
    pub agents_at_work: Vec<String>,
    /// Whether the first snapshot of the workspace is being taken, by a hook or in the background. No step is protected
    /// until it is done.
    pub first_snapshot_goes_on: bool,
    /// Operations that a crash left, and what to do.
    pub interrupted: Vec<String>,
    /// Steps that cannot be put back, and why.
    pub unprotected: Vec<String>,
    /// Files that the session's live messages, or another author, may have changed, by path, with what is known.
    pub unclear: Vec<UnclearReport>,
    /// What the newest snapshot does not hold.
    pub gaps: Vec<GapReport>,
    /// How many diagnostics the store holds.
    pub diagnostics: u64,
    /// The newest of them.
    pub latest_diagnostics: Vec<DiagnosticReport>,
    /// If no session is known: how many workspaces have snapshots here whose session store is gone.
    /// `ckpt-hook doctor --repair` builds a new one from them.
    pub unknown_workspaces: u64,
}

/// A file with an unclear change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnclearReport {
    /// The path.
    #[serde(flatten)]
    pub path: PathText,
    /// The message that may have led to it.
    pub message: String,
    /// Why it is unclear.
    pub reason: String,
}

/// Something that went wrong in a hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiagnosticReport {
    /// The time at which it happened.
    pub time: i64,
    /// `error`, `warning` or `info`.
    pub level: String,
    /// The agent, if known.
    pub agent: Option<String>,
    /// The event, if known.
    pub event: Option<String>,
    /// The message.
    pub message: String,
    /// The causes.
    pub detail: Option<String>,
}

/// A conversation that an agent has on record, and of which no event came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnrecordedReport {
    /// The agent.
    pub agent: String,
    /// What people call it.
    pub called: String,
    /// The agent's id of the session.
    pub session: String,
    /// The time of its last entry.
    pub time: i64,
}
