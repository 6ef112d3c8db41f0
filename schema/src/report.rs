//! What `--json` prints: one document a command, with a version.
//!
//! Fields may be added within a version, none is taken away. Ids are ours unless a field says otherwise, times are
//! milliseconds since the Unix epoch, object ids lower-case hex.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the documents below, in their `version` field.
pub const VERSION: u32 = 1;

/// A path for people, with its bytes in hex where they are not UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct PathText {
    /// The path below the workspace, `/` between its parts; lossy where its bytes are not UTF-8.
    pub path: String,
    /// Its bytes, where they are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_hex: Option<String>,
}

/// A path that a snapshot could not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GapReport {
    /// Which path.
    #[serde(flatten)]
    pub path: PathText,
    /// Why.
    pub reason: String,
}

/// `event`, `step-start`, `step-finish`, `message`: what was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventReport {
    /// The version of the document's shape.
    pub version: u32,
    /// The normalised event's name; null where the payload was skipped.
    pub event: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The message that the event belongs to.
    pub message: Option<String>,
    /// The step that the event opened, closed or belongs to.
    pub step: Option<String>,
    /// The tree of the snapshot that was taken.
    pub snapshot: Option<String>,
    /// How many paths the step that was closed changed.
    pub changes: Option<u64>,
    /// How many paths the snapshot could not hold.
    pub gaps: Option<u64>,
    /// What reverts and restores did to files since the session's last message; said once, with the message that makes them
    /// permanent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub went_back: Vec<FileReport>,
}

/// `snapshot`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotReport {
    /// The version of the document's shape.
    pub version: u32,
    /// The tree.
    pub snapshot: String,
    /// The bare repository that holds it.
    pub repository: String,
    /// The label that was given.
    pub label: Option<String>,
    /// What it does not hold.
    pub gaps: Vec<GapReport>,
}

/// What an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OperationKind {
    /// Back to just before a message.
    Revert,
    /// One message forward.
    Redo,
    /// All the way forward.
    Unrevert,
    /// Paths put back to any captured state.
    Restore,
}

impl OperationKind {
    /// Returns the name that the kind has in JSON and in the session store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Revert => "revert",
            Self::Redo => "redo",
            Self::Unrevert => "unrevert",
            Self::Restore => "restore",
        }
    }
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Everything that was asked for is back.
    Restored,
    /// Something stayed as it was, and is named.
    Partial,
    /// There was nothing to do.
    Nothing,
    /// What was asked for is not there to be restored.
    Unavailable,
}

impl Outcome {
    /// Returns the name that the outcome has in JSON and in the session store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Restored => "restored",
            Self::Partial => "partial",
            Self::Nothing => "nothing",
            Self::Unavailable => "unavailable",
        }
    }
}

/// What an operation does to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    /// Puts an earlier version there.
    Write,
    /// Takes away what the agent made.
    Delete,
    /// Takes the agent's lines out of the user's version.
    Merge,
    /// Leaves the user's version.
    Keep,
    /// Nothing: it already is what it should be.
    None,
}

impl FileAction {
    /// Returns the name that the action has in JSON and in the session store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Merge => "merge",
            Self::Keep => "keep",
            Self::None => "none",
        }
    }
}

/// How it went with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileResult {
    /// Done.
    Done,
    /// Not begun: a dry run, or an operation that is still open.
    Planned,
    /// Left alone because it is not what the agent left.
    Conflict,
    /// Left alone because no snapshot holds what it was.
    Gap,
    /// Tried in vain.
    Failed,
}

impl FileResult {
    /// Returns the name that the result has in JSON and in the session store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Planned => "planned",
            Self::Conflict => "conflict",
            Self::Gap => "gap",
            Self::Failed => "failed",
        }
    }
}

/// One path of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileReport {
    /// Which path.
    #[serde(flatten)]
    pub path: PathText,
    /// What is done to it.
    pub action: FileAction,
    /// How that went.
    pub result: FileResult,
    /// Why, where it is not plain.
    pub reason: Option<String>,
    /// Lines that the operation adds to what is on disk; null for what has no lines.
    pub additions: Option<u64>,
    /// Lines that it takes away.
    pub deletions: Option<u64>,
}

/// A part of git's own state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GitPart {
    /// A branch: the commit that it names.
    Branch,
    /// HEAD: the branch, or the commit, that it stands for.
    Head,
    /// The index: what is staged.
    Index,
}

impl GitPart {
    /// Returns the name that the part has in JSON and in the session store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::Head => "head",
            Self::Index => "index",
        }
    }
}

/// What an operation with `--git` does to a part of git's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GitReport {
    /// Which part.
    pub part: GitPart,
    /// The full name of the branch; `HEAD`; `index`.
    pub name: String,
    /// What it is before: a commit, HEAD's text, or the blob of the index in the workspace's repository of the store; null
    /// where it is not there.
    pub from: Option<String>,
    /// What it is afterwards.
    pub to: Option<String>,
    /// How that went.
    pub result: FileResult,
    /// Why, where it is not plain.
    pub reason: Option<String>,
}

/// `revert`, `redo`, `unrevert`, `restore`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationReport {
    /// The version of the document's shape.
    pub version: u32,
    /// The operation; null where nothing was done.
    pub operation: Option<String>,
    /// What it is.
    pub kind: OperationKind,
    /// Whose messages it moves over.
    pub session: Option<String>,
    /// The revert point after it; null where nothing is reverted any more.
    pub message: Option<String>,
    /// How it ended; for a dry run, how it would.
    pub outcome: Outcome,
    /// Whether it was only planned.
    pub dry_run: bool,
    /// The messages that are hidden after it, oldest first.
    pub messages_hidden: Vec<String>,
    /// Every path that it looked at, by name.
    pub files: Vec<FileReport>,
    /// What it does to HEAD, branches and the index, with `--git`.
    #[serde(default)]
    pub git: Vec<GitReport>,
    /// What else the user should know.
    pub notes: Vec<String>,
}

/// `status`: the revert banner and the state of the recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusReport {
    /// The version of the document's shape.
    pub version: u32,
    /// The workspace's directory.
    pub workspace: String,
    /// The session that the rest speaks of: the newest, or the one asked for.
    pub session: Option<String>,
    /// Its agent.
    pub agent: Option<String>,
    /// The message that it is reverted to.
    pub revert_point: Option<String>,
    /// The messages after the revert point, oldest first.
    pub messages_hidden: Vec<String>,
    /// What the reverts so far did to each file.
    pub files: Vec<FileReport>,
    /// Whether there is something to redo.
    pub redo: bool,
    /// Steps that have started and not finished, of all sessions of the workspace.
    pub open_steps: u64,
    /// Sessions of the workspace with a tool at work, by agent and session.
    pub agents_at_work: Vec<String>,
    /// Whether the first snapshot of the workspace is being taken, by a hook or in the background: no step is protected before
    /// it is done.
    pub first_snapshot_goes_on: bool,
    /// Operations that a crash left, and what to do.
    #[serde(default)]
    pub interrupted: Vec<String>,
    /// Steps that cannot be put back, and why.
    pub unprotected: Vec<String>,
    /// What the newest snapshot does not hold.
    pub gaps: Vec<GapReport>,
    /// How many diagnostics the store holds.
    pub diagnostics: u64,
    /// The newest of them.
    pub latest_diagnostics: Vec<DiagnosticReport>,
}

/// Something that went wrong in a hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiagnosticReport {
    /// When.
    pub time: i64,
    /// `error`, `warning` or `info`.
    pub level: String,
    /// The agent, where it is known.
    pub agent: Option<String>,
    /// The event, where it is known.
    pub event: Option<String>,
    /// What.
    pub message: String,
    /// The causes.
    pub detail: Option<String>,
}

/// The state of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageState {
    /// What it led to is in the workspace.
    Live,
    /// Reverted, and can be redone.
    Hidden,
    /// Reverted for good: a newer message made it so.
    Discarded,
}

/// A user message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageReport {
    /// Our id.
    pub id: String,
    /// The agent's.
    pub agent_id: Option<String>,
    /// Its session.
    pub session: String,
    /// Its agent.
    pub agent: String,
    /// What the user wrote, as far as the settings let it be kept.
    pub prompt: Option<String>,
    /// When.
    pub time: i64,
    /// Whether it is live, hidden or discarded.
    pub state: MessageState,
    /// How many steps it took.
    pub steps: u64,
    /// How many files they changed.
    pub files: u64,
    /// Lines added.
    pub additions: u64,
    /// Lines taken away.
    pub deletions: u64,
    /// Why it cannot be reverted to, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unprotected: Option<String>,
}

/// `log`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogReport {
    /// The version of the document's shape.
    pub version: u32,
    /// Newest first.
    pub messages: Vec<MessageReport>,
}

/// An operation, as `log --operations` lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationEntry {
    /// Its id.
    pub id: String,
    /// What it is.
    pub kind: OperationKind,
    /// Its session.
    pub session: Option<String>,
    /// The message that it went to.
    pub message: Option<String>,
    /// When.
    pub time: i64,
    /// `open`, `done` or `rolled_back`.
    pub state: String,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// The tree before it.
    pub before: Option<String>,
    /// The tree after it.
    pub after: Option<String>,
    /// How many files it wrote, deleted or merged.
    pub files: u64,
    /// How many conflicts it left.
    pub conflicts: u64,
    /// Whether git's own state was to move along.
    #[serde(default)]
    pub git: bool,
}

/// `log --operations`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationsReport {
    /// The version of the document's shape.
    pub version: u32,
    /// Newest first.
    pub operations: Vec<OperationEntry>,
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
    /// Its workspace's directory.
    pub workspace: String,
    /// When it began.
    pub started: i64,
    /// When it was last heard of.
    pub last_event: i64,
    /// Whether it was closed.
    pub ended: bool,
    /// The message that it is reverted to.
    pub revert_point: Option<String>,
    /// How many messages it has.
    pub messages: u64,
    /// How many steps.
    pub steps: u64,
    /// How many files they changed.
    pub files: u64,
}

/// `sessions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionsReport {
    /// The version of the document's shape.
    pub version: u32,
    /// Newest first.
    pub sessions: Vec<SessionReport>,
}

/// How a path differs between two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It was not there.
    Added,
    /// Its content, or content and mode, changed.
    Modified,
    /// It is gone.
    Deleted,
    /// Only its permissions changed.
    Mode,
    /// A file became a link or a directory, or the other way round.
    Type,
}

impl ChangeKind {
    /// Returns the name that the kind has in JSON and in the session store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Mode => "mode",
            Self::Type => "type",
        }
    }
}

/// One path that differs between two states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeReport {
    /// Which path.
    #[serde(flatten)]
    pub path: PathText,
    /// How it differs.
    pub kind: ChangeKind,
    /// The octal mode before.
    pub old_mode: Option<String>,
    /// The octal mode after.
    pub new_mode: Option<String>,
    /// The blob before.
    pub old_blob: Option<String>,
    /// The blob after.
    pub new_blob: Option<String>,
    /// Lines added; null for what has no lines.
    pub additions: Option<u64>,
    /// Lines taken away.
    pub deletions: Option<u64>,
    /// Whether a side has bytes that are not text.
    pub binary: bool,
    /// Whether only white space differs.
    pub whitespace_only: bool,
    /// `agent`, `shared` or `outside`; null where the two states say nothing of who did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<String>,
}

/// `diff`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffReport {
    /// The version of the document's shape.
    pub version: u32,
    /// The tree on the left.
    pub from: String,
    /// The tree on the right.
    pub to: String,
    /// By path.
    pub files: Vec<ChangeReport>,
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
    /// Why its changes cannot be put back, where that is so.
    pub unprotected: Option<String>,
    /// When it began.
    pub started: i64,
    /// When it ended.
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

/// `show`: whatever the id is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ShowReport {
    /// A message with its steps.
    Message {
        /// The version of the document's shape.
        version: u32,
        /// The message.
        message: MessageReport,
        /// The tree just before it.
        snapshot: Option<String>,
        /// Its steps, oldest first.
        steps: Vec<StepReport>,
    },
    /// A step.
    Step {
        /// The version of the document's shape.
        version: u32,
        /// The step.
        step: StepReport,
    },
    /// A session with its messages.
    Session {
        /// The version of the document's shape.
        version: u32,
        /// The session.
        session: SessionReport,
        /// Its messages, newest first.
        messages: Vec<MessageReport>,
    },
    /// An operation with its files.
    Operation {
        /// The version of the document's shape.
        version: u32,
        /// The operation.
        operation: OperationEntry,
        /// Its files.
        files: Vec<FileReport>,
        /// What it did to HEAD, branches and the index.
        #[serde(default)]
        git: Vec<GitReport>,
        /// What it noted.
        notes: Vec<String>,
    },
    /// A snapshot.
    Snapshot {
        /// The version of the document's shape.
        version: u32,
        /// The tree.
        snapshot: String,
        /// The bare repository that holds it.
        repository: String,
        /// When it was first taken.
        time: i64,
        /// Its label.
        label: Option<String>,
        /// What it does not hold.
        gaps: Vec<GapReport>,
    },
}

/// A finding of `doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// `ok`, `note`, `warning` or `error`.
    pub level: String,
    /// What was looked at.
    pub subject: String,
    /// What was found.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
    /// Whether `--repair` mended it.
    pub repaired: bool,
}

/// `doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorReport {
    /// The version of the document's shape.
    pub version: u32,
    /// In the order in which they were looked for.
    pub findings: Vec<Finding>,
}

/// `install` and `uninstall`: what was, or would be, done to one agent's settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstallReport {
    /// The version of the document's shape.
    pub version: u32,
    /// A row an agent and file.
    pub changes: Vec<SettingsChange>,
    /// The agents that were left out, and why.
    #[serde(default)]
    pub skipped: Vec<SkippedAgent>,
}

/// An agent whose settings were left as they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedAgent {
    /// The agent.
    pub agent: String,
    /// Whether it was tried in vain; else there was nothing to do.
    pub failed: bool,
    /// Why.
    pub reason: String,
    /// What to do.
    pub hint: Option<String>,
}

/// A settings file of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingsChange {
    /// The agent.
    pub agent: String,
    /// The file.
    pub file: String,
    /// `created`, `updated`, `unchanged` or `removed`.
    pub action: String,
    /// Whether it was only planned.
    pub dry_run: bool,
    /// The change as a unified diff.
    pub diff: Option<String>,
    /// What else the user should know.
    pub notes: Vec<String>,
}

/// `install --list`: the agents, and where the hook is installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentsReport {
    /// The version of the document's shape.
    pub version: u32,
    /// Every agent whose hooks are understood.
    pub agents: Vec<AgentReport>,
}

/// An agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentReport {
    /// Its name.
    pub agent: String,
    /// The versions on which it was seen at work with the hook; none: written from its documentation.
    pub proven_on: Vec<String>,
    /// Whether it is on this machine; null where that is not known.
    pub found: Option<bool>,
    /// What there is of it, or what there is not.
    pub reason: Option<String>,
    /// The file that says that our package is installed in the agent; null where it is not.
    #[serde(default)]
    pub package: Option<String>,
    /// The settings that the hook can be put into; none: it has to be put there by hand.
    pub settings: Vec<AgentSettings>,
}

/// Settings of an agent that the hook can be put into.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSettings {
    /// `user` or `project`.
    pub scope: String,
    /// The file.
    pub file: String,
    /// `absent`, `installed`, `outdated`, `hurried` (waited for less long than it may take), `elsewhere` (another binary is
    /// called), `doubled`, `moved` (the binary is not there) or `broken`.
    pub state: String,
    /// Why it may not work although it is there.
    pub notes: Vec<String>,
}

/// What `--json` prints instead of a document when a command fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorReport {
    /// The failure.
    pub error: Failure,
}

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The exit code.
    pub code: u8,
    /// What.
    pub message: String,
    /// Why, outermost first.
    pub causes: Vec<String>,
    /// What to do.
    pub hint: Option<String>,
}
