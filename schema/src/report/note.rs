//! The notes of an operation, besides its files, for programs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A note of an operation: the sentence of `notes`, and the same for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoteReport {
    /// The kind of note.
    pub code: NoteCode,
    /// The sentence.
    pub text: String,
    /// The paths, branches, directories or ids that it is about: all of them, even if the sentence names only the first
    /// ones.
    pub about: Vec<String>,
}

impl NoteReport {
    /// Returns a note that names nothing.
    pub fn new(code: NoteCode, text: impl Into<String>) -> Self {
        Self::about(code, text, Vec::new())
    }

    /// Returns a note with the names of all things that it is about.
    pub fn about(code: NoteCode, text: impl Into<String>, about: Vec<String>) -> Self {
        let text = text.into();
        Self { code, text, about }
    }
}

/// The kinds of note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoteCode {
    /// Content that the store borrowed from the repository could not be copied, or is lost.
    Borrowed,
    /// An earlier operation was interrupted, and was finished first.
    Finished,
    /// An operation is not done yet: the next command finishes it.
    Open,
    /// A step was not recorded. Those of its changes that no later look saw stay.
    StepNotRecorded,
    /// The message was not captured, so the revert relies on the snapshots around it.
    MessageNotCaptured,
    /// No step of a message was recorded, and files changed since count as the user's.
    NoStep,
    /// The workspace could not be compared with the state that it went to.
    NotCompared,
    /// Directories could not be read then: what happened below them is unknown.
    Unread,
    /// No snapshot holds these paths, so they were left alone.
    NotCaptured,
    /// The permissions of directories stay.
    DirectoryPermissions,
    /// A path that was asked for is unknown.
    UnknownPath,
    /// Version control that no revert moves has moved, and stays: other than git, or in a subdirectory.
    VersionControl,
    /// Commits that the agent made stay.
    Commits,
    /// HEAD moved, and stays.
    Head,
    /// Files were put back, and something else stays staged of them.
    Staged,
    /// A branch was moved, and stays.
    BranchMoved,
    /// Branches that the agent made stay.
    BranchMade,
    /// Branches are gone, and no revert brings them back.
    BranchGone,
    /// Tags were made or moved, and stay.
    Tags,
    /// Tags were removed, and no revert brings them back.
    TagsGone,
    /// Something was stashed, and stays in the stash.
    Stashed,
    /// Entries of the stash are gone.
    StashDropped,
    /// Something was pushed, which no revert undoes.
    Pushed,
    /// The repository was removed, and does not come back.
    RepositoryRemoved,
    /// A repository was made here, and stays.
    RepositoryMade,
    /// Repositories that were cloned or made in subdirectories stay.
    RepositoriesBelow,
    /// A merge, rebase or the like is half done, and stays that way.
    GitUnderWay,
    /// Submodules came or moved, and stay.
    Submodules,
    /// There is no repository for `--git` to move.
    NoRepository,
    /// The same conversation worked in other directories, which have their own reverts.
    OtherDirectories,
    /// Tools named files, or ran, outside the workspace.
    Outside,
    /// What the revert removes was moved into the workspace, and is not put back where it came from.
    MovedIn,
    /// Ignored files are gone. Most ignored files are not captured.
    IgnoredRemoved,
    /// Ignored files came since, and stay; or ignore files that ignore themselves changed.
    IgnoredMade,
    /// Ignored files changed while the agent worked, or something in ignored folders did, and stays.
    IgnoredChanged,
    /// Folders stay because of files that are ignored or not captured.
    FoldersStay,
    /// The message that was asked for is discarded.
    Discarded,
    /// Nothing is reverted.
    NothingReverted,
    /// Newer messages of other sessions stay.
    OtherSessions,
    /// Another session's agent is at work here, and may write while files go back.
    AtWork,
    /// An operation that was finished later differs from the state that it went to.
    Differs,
}
