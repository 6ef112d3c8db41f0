//! Reports about sessions, user messages and steps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ChangeReport, Content, ConversationPlace, ConversationReport, FileReport, GapReport, GitReport,
    NoteReport, OperationEntry, RootFiles,
};

crate::words! {
    /// The state of a message.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum MessageState {
        /// Its changes are in the workspace.
        Live = "live",
        /// Reverted, and can be redone.
        Hidden = "hidden",
        /// Reverted permanently, by a newer message.
        Discarded = "discarded",
    }
}

/// A user message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageReport {
    /// Its place in the order of all messages in the store: `log --since SEQ` lists those after it.
    pub seq: i64,
    /// Our id.
    pub id: String,
    /// The agent's.
    pub agent_id: Option<String>,
    /// Its session.
    pub session: String,
    /// The agent's id of its session.
    pub agent_session: String,
    /// Its agent.
    pub agent: String,
    /// The user's prompt, as far as the settings allow it to be stored.
    pub prompt: Option<String>,
    /// Its labels, the oldest first.
    pub labels: Vec<String>,
    /// The time at which it was sent.
    pub time: i64,
    /// Whether it is live, hidden or discarded.
    pub state: MessageState,
    /// Whether it is undone alone, while later ones stay.
    pub undone_alone: bool,
    /// Whether the agent left it by a rewind of its own: it is no longer in the conversation, and its files are here.
    pub left: bool,
    /// How many steps it took.
    pub steps: u64,
    /// How many files they changed.
    pub files: u64,
    /// How many files they or another author may have changed.
    pub unclear: u64,
    /// Lines added. In a list, the sum of what each step added: a line that a second step rewrote counts twice. In
    /// `show`, what the patch from before the message to after it adds.
    pub additions: u64,
    /// Lines removed, counted in the same way.
    pub deletions: u64,
    /// Why the state just before it was not captured, if it was not.
    pub unprotected: Option<String>,
    /// Whether `revert --message` can go back to it.
    pub revertable: bool,
    /// The reason, if it cannot.
    pub not_revertable: Option<String>,
    /// Its workspace's directory.
    pub workspace: String,
    /// When its last step ended; null if it has none, and while one is open.
    pub finished: Option<i64>,
    /// What it did in the other roots of its session.
    pub roots: Vec<MessageRoot>,
}

/// What a message did in another root of its session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageRoot {
    /// The root.
    pub workspace: String,
    /// The message's id there.
    pub message: String,
    /// How many files its steps changed there.
    pub files: u64,
    /// How many files they or another author may have changed.
    pub unclear: u64,
    /// Lines added.
    pub additions: u64,
    /// Lines removed.
    pub deletions: u64,
}

/// The files that a message changed in another root of its session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RootChanges {
    /// The root.
    pub workspace: String,
    /// The total of what its steps did there, by path.
    pub changes: Vec<ChangeReport>,
}

/// `log`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogReport {
    /// The version of the document's format.
    pub version: u32,
    /// Newest first.
    pub messages: Vec<MessageReport>,
    /// Where a damaged session store was set aside, while nothing was recorded since. What it holds does not show here;
    /// `ckpt-hook doctor --repair` makes a new one of what can be read. Null in all other cases.
    pub set_aside: Option<String>,
    /// If the list is empty: how many workspaces have snapshots here whose session store is gone.
    /// `ckpt-hook doctor --repair` builds a new one from them.
    pub unknown_workspaces: u64,
}

/// `export`: a session with everything that its messages did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportReport {
    /// The version of the document's format.
    pub version: u32,
    /// The session.
    pub session: SessionReport,
    /// Its messages, oldest first.
    pub messages: Vec<ExportedMessage>,
}

/// A message of a session that is exported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportedMessage {
    /// The message.
    pub message: MessageReport,
    /// What it changed, by path.
    pub changes: Vec<ChangeReport>,
    /// The patch as `git apply` takes it; without text if it is longer than 8 MiB.
    pub patch: Content,
}

/// What happened in a workspace, of whatever kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TimelineEntry {
    /// A message was sent.
    Message(MessageReport),
    /// Something was reverted, redone or restored.
    Operation(OperationEntry),
    /// Files changed while no step was open, or by another author.
    Outside {
        /// The time at which the change was seen.
        time: i64,
        /// The tree before.
        from: Option<String>,
        /// The tree after.
        to: Option<String>,
        /// The number of files.
        files: u64,
        /// Lines added.
        additions: u64,
        /// Lines removed.
        deletions: u64,
    },
}

/// `log --graph`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineReport {
    /// The version of the document's format.
    pub version: u32,
    /// Newest first.
    pub entries: Vec<TimelineEntry>,
    /// Where a damaged session store was set aside, while nothing was recorded since. What it holds does not show here;
    /// `ckpt-hook doctor --repair` makes a new one of what can be read. Null in all other cases.
    pub set_aside: Option<String>,
    /// If the list is empty: how many workspaces have snapshots here whose session store is gone.
    /// `ckpt-hook doctor --repair` builds a new one from them.
    pub unknown_workspaces: u64,
}

/// A snapshot in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotEntry {
    /// The tree.
    pub snapshot: String,
    /// The time at which it was taken.
    pub time: i64,
    /// Its label.
    pub label: Option<String>,
    /// How many paths it does not hold.
    pub gaps: u64,
    /// The newest message that it was taken just before, if any.
    pub message: Option<String>,
    /// All messages before which nothing had changed since it was taken, newest first.
    pub messages: Vec<String>,
}

/// `log --snapshots`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotsReport {
    /// The version of the document's format.
    pub version: u32,
    /// Newest first.
    pub snapshots: Vec<SnapshotEntry>,
    /// Where a damaged session store was set aside, while nothing was recorded since. What it holds does not show here;
    /// `ckpt-hook doctor --repair` makes a new one of what can be read. Null in all other cases.
    pub set_aside: Option<String>,
    /// If the list is empty: how many workspaces have snapshots here whose session store is gone.
    /// `ckpt-hook doctor --repair` builds a new one from them.
    pub unknown_workspaces: u64,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionReport {
    /// Our id.
    pub id: String,
    /// The agent's.
    pub agent_id: String,
    /// The agent.
    pub agent: String,
    /// The session that started it.
    pub parent: Option<String>,
    /// The session from whose conversation it was forked in the agent itself, if something was recorded of that one.
    pub forked_from: Option<String>,
    /// Its workspace's directory.
    pub workspace: String,
    /// The time of its start.
    pub started: i64,
    /// The time of its last event.
    pub last_event: i64,
    /// Whether it was closed.
    pub ended: bool,
    /// The message that it is reverted to.
    pub revert_point: Option<String>,
    /// How many messages it has.
    pub messages: u64,
    /// The number of steps.
    pub steps: u64,
    /// How many files they changed.
    pub files: u64,
    /// How many files they or another author may have changed.
    pub unclear: u64,
}

/// `sessions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionsReport {
    /// The version of the document's format.
    pub version: u32,
    /// Newest first.
    pub sessions: Vec<SessionReport>,
    /// Where a damaged session store was set aside, while nothing was recorded since. What it holds does not show here;
    /// `ckpt-hook doctor --repair` makes a new one of what can be read. Null in all other cases.
    pub set_aside: Option<String>,
    /// If the list is empty: how many workspaces have snapshots here whose session store is gone.
    /// `ckpt-hook doctor --repair` builds a new one from them.
    pub unknown_workspaces: u64,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepReport {
    /// Our id.
    pub id: String,
    /// The agent's.
    pub agent_id: Option<String>,
    /// Its session.
    pub session: String,
    /// Its message.
    pub message: String,
    /// Whether it is still open.
    pub open: bool,
    /// Whether it was closed without its own finish.
    pub recovered: bool,
    /// Why its changes cannot be put back, if they cannot.
    pub unprotected: Option<String>,
    /// The time of its start.
    pub started: i64,
    /// The time of its end.
    pub finished: Option<i64>,
    /// The tree at its start.
    pub start: Option<String>,
    /// The tree at its finish.
    pub finish: Option<String>,
    /// The tools that it ran, by name.
    pub tools: Vec<String>,
    /// What it changed, by path.
    pub files: Vec<ChangeReport>,
}

/// `show`: whatever has the id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ShowReport {
    /// A message with its steps.
    Message {
        /// The version of the document's format.
        version: u32,
        /// The message.
        message: MessageReport,
        /// The tree just before it.
        snapshot: Option<String>,
        /// Its steps, oldest first.
        steps: Vec<StepReport>,
        /// The total of what its steps did, by path. A path occurs again for each time that another author changed it in
        /// between.
        changes: Vec<ChangeReport>,
        /// Where it is in the agent's conversation.
        conversation: Option<ConversationPlace>,
        /// What its steps did in the other roots of its session.
        roots: Vec<RootChanges>,
    },
    /// A step.
    Step {
        /// The version of the document's format.
        version: u32,
        /// The step.
        step: StepReport,
        /// What it did, by path, with renames.
        changes: Vec<ChangeReport>,
    },
    /// A session with its messages.
    Session {
        /// The version of the document's format.
        version: u32,
        /// The session.
        session: SessionReport,
        /// Its messages, newest first.
        messages: Vec<MessageReport>,
    },
    /// An operation with its files.
    Operation {
        /// The version of the document's format.
        version: u32,
        /// The operation.
        operation: OperationEntry,
        /// Its files.
        files: Vec<FileReport>,
        /// What it did to HEAD, branches and the index.
        git: Vec<GitReport>,
        /// Its notes.
        notes: Vec<String>,
        /// The same for programs; empty for operations of older versions.
        remarks: Vec<NoteReport>,
        /// What it did to files, by path.
        changes: Vec<ChangeReport>,
        /// What it did in the other roots of its session.
        roots: Vec<RootFiles>,
        /// The conversation that it made, until a message says which one goes on.
        conversation: Option<ConversationReport>,
    },
    /// A snapshot.
    Snapshot {
        /// The version of the document's format.
        version: u32,
        /// The tree.
        snapshot: String,
        /// The bare repository that holds it.
        repository: String,
        /// When it was first taken.
        time: i64,
        /// Its label.
        label: Option<String>,
        /// The paths that it does not hold.
        gaps: Vec<GapReport>,
        /// The tree of the snapshot before it; null for the first of its workspace, and if one of the two cannot be
        /// read.
        previous: Option<String>,
        /// What anybody changed since the snapshot before it, by path.
        changes: Vec<ChangeReport>,
    },
}
