//! Reports about a revert, redo, unrevert or restore.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AuthorReport, ConversationReport, FileContents, KeptReport, NoteReport, PathText, ReasonCode,
    Rename,
};

crate::words! {
    /// The kinds of operation.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum OperationKind {
        /// Goes back to just before a message.
        Revert = "revert",
        /// Goes one message forward.
        Redo = "redo",
        /// Goes all the way forward.
        Unrevert = "unrevert",
        /// Puts paths back to any captured state.
        Restore = "restore",
    }
}

crate::words! {
    /// How an operation ended.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Outcome {
        /// Everything that was asked for is back.
        Restored = "restored",
        /// Something stayed as it was, and is reported.
        Partial = "partial",
        /// There was nothing to do.
        Nothing = "nothing",
        /// What was asked for cannot be restored.
        Unavailable = "unavailable",
    }
}

impl Outcome {
    /// Returns the outcome of an operation that has this one in one root and another one in a second.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Partial, _) | (_, Self::Partial) => Self::Partial,
            (Self::Nothing, Self::Nothing) => Self::Nothing,
            _ => Self::Restored,
        }
    }
}

crate::words! {
    /// What an operation does to a path.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum FileAction {
        /// Puts an earlier version there.
        Write = "write",
        /// Removes what the agent created.
        Delete = "delete",
        /// Takes the agent's lines out of the user's version.
        Merge = "merge",
        /// Keeps the user's version.
        Keep = "keep",
        /// Nothing: it is already as it should be.
        None = "none",
    }
}

crate::words! {
    /// The result for a path.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum FileResult {
        /// Done.
        Done = "done",
        /// Not begun: a dry run, or an operation that is still open.
        Planned = "planned",
        /// Left alone because it has changed since the agent left it.
        Conflict = "conflict",
        /// Left alone because no snapshot holds its content.
        Gap = "gap",
        /// Tried, and failed.
        Failed = "failed",
    }
}

crate::words! {
    /// How else one file of a plan can be planned.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum PlanChoice {
        /// It goes back as well, though it may be another author's.
        Take = "take",
        /// It goes back whatever it holds now.
        Overwrite = "overwrite",
        /// It stays as it is, and is not merged.
        Keep = "keep",
        /// It goes back once the user has done something first.
        Again = "again",
    }
}

/// One path of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileReport {
    /// The path.
    #[serde(flatten)]
    pub path: PathText,
    /// The action.
    pub action: FileAction,
    /// The result.
    pub result: FileResult,
    /// The reason, if it is not obvious.
    pub reason: Option<String>,
    /// The same for programs; null without a reason, and in operations of older versions.
    pub reason_code: Option<ReasonCode>,
    /// Whose changes keep it from going back, if the reason names an author.
    pub by: Vec<AuthorReport>,
    /// The octal mode before; null if nothing is there.
    pub old_mode: Option<String>,
    /// The octal mode afterwards.
    pub new_mode: Option<String>,
    /// The blob before; null if no snapshot holds it.
    pub old_blob: Option<String>,
    /// The blob afterwards.
    pub new_blob: Option<String>,
    /// With `--contents`, the bytes.
    pub contents: Option<FileContents>,
    /// Whether it stays, completely or in part, because it is unclear whose change it is. `--unclear take` undoes it.
    pub unclear: bool,
    /// How else it can be planned: `keep` with `on_conflict` `keep`, the others with the parameters that the way out in
    /// `kept` has, and `only` this file, or all files of a database.
    pub choices: Vec<PlanChoice>,
    /// For a file that comes: the one of the same operation that goes and becomes it.
    pub moved_from: Option<Rename>,
    /// Lines that the operation adds to what is on disk; null if there are no lines to count.
    pub additions: Option<u64>,
    /// Lines that it removes.
    pub deletions: Option<u64>,
}

impl FileReport {
    /// Returns the report of a path with nothing but what is done to it.
    pub fn new(path: PathText, action: FileAction, result: FileResult) -> Self {
        Self {
            path,
            action,
            result,
            reason: None,
            reason_code: None,
            by: Vec::new(),
            old_mode: None,
            new_mode: None,
            old_blob: None,
            new_blob: None,
            contents: None,
            unclear: false,
            choices: Vec::new(),
            moved_from: None,
            additions: None,
            deletions: None,
        }
    }
}

crate::words! {
    /// A part of git's own state.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum GitPart {
        /// A branch: the commit that it names.
        Branch = "branch",
        /// HEAD: the branch, or the commit, that it points to.
        Head = "head",
        /// The index: what is staged.
        Index = "index",
    }
}

/// What an operation with `--git` does to a part of git's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GitReport {
    /// The part.
    pub part: GitPart,
    /// The full name of the branch; `HEAD`; `index`.
    pub name: String,
    /// Its value before: a commit, HEAD's text, or the blob of the index in the workspace's repository of the store;
    /// null if there is none.
    pub from: Option<String>,
    /// Its value afterwards.
    pub to: Option<String>,
    /// The result.
    pub result: FileResult,
    /// The reason, if it is not obvious.
    pub reason: Option<String>,
    /// Whether it stays because it is unclear whose move it is. `--unclear take` undoes it.
    pub unclear: bool,
    /// If it stays: the command that moves it, or that there is none; null if `--unclear take` does.
    pub way: Option<String>,
}

/// `revert`, `redo`, `unrevert`, `restore`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationReport {
    /// The version of the document's format.
    pub version: u32,
    /// The operation; null if nothing was done.
    pub operation: Option<String>,
    /// The kind of operation.
    pub kind: OperationKind,
    /// The session whose revert point it moves.
    pub session: Option<String>,
    /// The revert point after it; null if nothing is reverted any more.
    pub message: Option<String>,
    /// The only message that it undoes, while later ones stay.
    pub alone: Option<String>,
    /// The message of which it undoes a step, from which on it undoes the changes of some paths or chosen lines, or just
    /// before which a restore goes.
    pub part: Option<String>,
    /// The operation that it takes back, if it is an undo.
    pub undoes: Option<String>,
    /// How it ended; for a dry run, how it would.
    pub outcome: Outcome,
    /// Whether it was only planned.
    pub dry_run: bool,
    /// For a dry run: the plan, as a token. `apply` carries out exactly this plan, or fails with `stale`.
    pub plan: Option<String>,
    /// Whether an agent is working, so that the real call would be refused without `--force`.
    pub busy: bool,
    /// The messages that are hidden after it, oldest first.
    pub messages_hidden: Vec<String>,
    /// Every path that it looked at, by name.
    pub files: Vec<FileReport>,
    /// What it leaves as it is, by kind of reason, and the way out of each.
    pub kept: Vec<KeptReport>,
    /// What it does to HEAD, branches and the index, with `--git`.
    pub git: Vec<GitReport>,
    /// If nothing of its session stays reverted: the other sessions of the workspace that are reverted.
    pub also_reverted: Vec<RevertedSession>,
    /// What differs from the state that it went to, with a reason for every path; null for a single message or step,
    /// and if that state could not be captured.
    pub receipt: Option<Receipt>,
    /// What becomes of the agent's conversation; null for a restore, and where nothing was reverted.
    pub conversation: Option<ConversationReport>,
    /// The interrupted operations that were finished first.
    pub finished: Vec<FinishedReport>,
    /// What else the user should know.
    pub notes: Vec<String>,
    /// The same for programs, in the same order.
    pub remarks: Vec<NoteReport>,
    /// The same operation in the other roots of its session. Its outcome above is that of them all.
    pub roots: Vec<RootOperation>,
}

/// An operation in another root of its session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RootOperation {
    /// The root.
    pub workspace: String,
    /// What the operation does there.
    pub report: OperationReport,
}

/// An interrupted operation that was finished later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FinishedReport {
    /// The operation.
    pub operation: String,
    /// The kind of operation.
    pub kind: OperationKind,
    /// Its session.
    pub session: Option<String>,
    /// The revert point after it.
    pub message: Option<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// Its files, by name.
    pub files: Vec<FileReport>,
    /// What it did to HEAD, branches and the index.
    pub git: Vec<GitReport>,
    /// What differs from the state that it went to, if its row says where that is.
    pub receipt: Option<Receipt>,
    /// What became of the agent's conversation.
    pub conversation: Option<ConversationReport>,
}

/// The workspace after an operation, compared with the state that it went to: the snapshot of the message, the one before the
/// first revert for an unrevert, the one that a restore names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// The tree that it was compared with, in the workspace's repository of the store.
    pub tree: String,
    /// Every path that differs, by name.
    pub differences: Vec<Difference>,
}

/// A path that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The path in the workspace.
    #[serde(flatten)]
    pub path: PathText,
    /// For a file that came: the one of the same list that went and has its bytes. Both are one rename.
    #[serde(default)]
    pub moved_from: Option<PathText>,
    /// Why it differs.
    pub reason: DifferenceReason,
    /// What is known beyond the reason, if anything is.
    #[serde(default)]
    pub detail: Option<DifferenceDetail>,
    /// The same in words.
    pub words: String,
    /// Whose change it is, if the reason is another author's change.
    pub by: Vec<AuthorReport>,
}

impl Difference {
    /// Returns words that continue "it differs", the same for all paths that are named together.
    pub fn phrase(&self) -> String {
        let phrase = self.reason.phrase();
        match self.detail {
            None => phrase.to_owned(),
            Some(DifferenceDetail::Forgotten) => "forgotten".to_owned(),
            Some(DifferenceDetail::Different) => format!("{phrase}, and not as it was"),
        }
    }
}

/// What is known of a path that differs, beyond the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceDetail {
    /// Its content was removed from the store.
    Forgotten,
    /// It is out of view, and known to be another one than it was then.
    Different,
}

/// Why a path differs: exactly one reason for each.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceReason {
    /// It was changed since, not by an agent as far as is known: it is yours.
    Yours,
    /// It is unclear whose change it is.
    Unclear,
    /// Several sessions changed it at once.
    Shared,
    /// Another session changed it.
    OtherSession,
    /// This session changed it outside what was to be undone: in an earlier message, or in a part that was not named.
    NotAsked,
    /// It was changed while an unrecorded step was at work.
    Unrecorded,
    /// An earlier revert or restore left it that way.
    Operation,
    /// Ignore rules hide it now or hid it then, or ignored files keep its folder.
    Ignored,
    /// No snapshot holds its content, now or then.
    NotCaptured,
    /// It could not be written.
    Failed,
    /// No reason is known: a bug in the program, and the operation ends as partial.
    Unexplained,
}

impl DifferenceReason {
    /// Returns the reason as words that continue "it differs".
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Yours => "changed since, outside any step",
            Self::Unclear => "changed since, and it is unclear who did it",
            Self::Shared => "changed by several sessions at once",
            Self::OtherSession => "changed by another session",
            Self::NotAsked => "changed by this session outside what was undone",
            Self::Unrecorded => "changed while a step was not recorded",
            Self::Operation => "left that way by an earlier revert or restore",
            Self::Ignored => "ignored now or then",
            Self::NotCaptured => "not captured now or then",
            Self::Failed => "could not be written",
            Self::Unexplained => "for no known reason, which is a bug",
        }
    }
}

/// A session with something reverted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RevertedSession {
    /// Its id.
    pub session: String,
    /// Its agent.
    pub agent: String,
    /// The message that it is reverted to; null if only a part is undone.
    pub revert_point: Option<String>,
    /// How many messages are hidden.
    pub messages_hidden: u64,
}

/// What was done to files in another root of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RootFiles {
    /// The root.
    pub workspace: String,
    /// The files.
    pub files: Vec<FileReport>,
}

/// What an operation did in another root of its session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationRoot {
    /// The root.
    pub workspace: String,
    /// The operation's id there.
    pub operation: String,
    /// How it ended there.
    pub outcome: Option<Outcome>,
    /// How many files it wrote, deleted or merged there.
    pub files: u64,
    /// How many conflicts it left there.
    pub conflicts: u64,
}

/// An operation, as `log --operations` lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationEntry {
    /// Its id.
    pub id: String,
    /// The kind of operation.
    pub kind: OperationKind,
    /// Its session.
    pub session: Option<String>,
    /// The message that it went to.
    pub message: Option<String>,
    /// The only message that it undid, while later ones stayed.
    pub alone: Option<String>,
    /// The message of which it undid a step, or from which on it undid the changes of some paths or chosen lines.
    pub part: Option<String>,
    /// The operation that it took back, if it was an undo. Null for an undo that an older version recorded.
    pub undoes: Option<String>,
    /// The time at which it began.
    pub time: i64,
    /// `open`, `done` or `rolled_back`.
    pub state: String,
    /// How it ended, in all roots of its session.
    pub outcome: Option<Outcome>,
    /// The tree before it.
    pub before: Option<String>,
    /// The tree after it.
    pub after: Option<String>,
    /// How many files it wrote, deleted or merged.
    pub files: u64,
    /// How many conflicts it left.
    pub conflicts: u64,
    /// Whether git's own state moved, too.
    pub git: bool,
    /// Whether the agent's conversation moved, alone or with the files.
    pub conversation: bool,
    /// The path of its workspace.
    pub workspace: String,
    /// What it did in the other roots of its session.
    pub roots: Vec<OperationRoot>,
}

impl OperationReport {
    /// Returns the message that it is about: the one that it undoes alone or in part, else the one that it goes to.
    pub fn subject(&self) -> Option<&str> {
        let of = self.alone.as_deref().or(self.part.as_deref());
        of.or(self.message.as_deref())
    }
}

impl OperationEntry {
    /// Returns the message that it is about: the one that it undid alone or in part, else the one that it went to.
    pub fn subject(&self) -> Option<&str> {
        let of = self.alone.as_deref().or(self.part.as_deref());
        of.or(self.message.as_deref())
    }
}

/// `log --operations`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationsReport {
    /// The version of the document's format.
    pub version: u32,
    /// Newest first.
    pub operations: Vec<OperationEntry>,
    /// Where a damaged session store was set aside, while nothing was recorded since. What it holds does not show here;
    /// `ckpt-hook doctor --repair` makes a new one of what can be read. Null in all other cases.
    pub set_aside: Option<String>,
    /// If the list is empty: how many workspaces have snapshots here whose session store is gone.
    /// `ckpt-hook doctor --repair` builds a new one from them.
    pub unknown_workspaces: u64,
}
