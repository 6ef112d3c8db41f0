//! The notes of an operation, besides its files: all that it can say. Each case stands with its arguments, its code, the names
//! that it is about, and its sentence, which has no full stop. The steps of an operation return those that they find.

mod phrases;

#[cfg(test)]
mod tests;

use std::fmt;

use ckpt_schema::report::{Difference, NoteCode, NoteReport};

use super::gap::Gap;
use super::git_item::Heads;
use super::id::short;
use super::instruction::note_shown;
use super::number::{count, first_quoted};
pub(crate) use phrases::{
    CrowdedFolder, FailedFiles, ForkRemains, MADE_ANEW, NamedOperation, OtherMessage, at_work,
};
use phrases::{
    another_or_others, by_reason, commit, commits_in_words, first_gaps, folders, gap_names, head,
    lost_files, one_or_many, or, permissions, result_in_words, staged,
};

/// Defines the notes: `case {arguments}: code, about names, sentence`.
macro_rules! notes {
    ($(
        $(#[$meta:meta])*
        $case:ident $({ $($argument:ident: $kind:ty),* $(,)? })?: $code:ident, [$($about:expr),*], $text:expr;
    )+) => {
        /// A note of an operation.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub(crate) enum Note {
            $($(#[$meta])* $case $({ $($argument: $kind),* })?,)+
        }

        impl Note {
            /// Returns it for an operation's row or report.
            pub fn report(&self) -> NoteReport {
                match self {
                    $(Self::$case $({ $($argument),* })? => {
                        NoteReport::about(NoteCode::$code, $text, joined([$($about),*]))
                    })+
                }
            }

            /// Returns the name of its case.
            #[cfg(test)]
            fn case(&self) -> &'static str {
                match self {
                    $(Self::$case $({ $($argument: _),* })? => stringify!($case),)+
                }
            }
        }

        /// The names of all cases.
        #[cfg(test)]
        const CASES: &[&str] = &[$(stringify!($case)),+];
    };
}

notes! {
    // What a command finds and does before anything else.

    /// What of the content that was borrowed from the repository is lost, quoted.
    BorrowedLost { files: Vec<String> }: Borrowed, [],
        format!("the repository's own packs were changed before they were copied: what the store held of {} is lost", lost_files(files));
    BorrowedNotCopied { why: String }: Borrowed, [],
        format!("what the store borrowed from the repository could not be copied: {why}");
    /// An operation that an earlier command left open. A dry run only says so.
    LeftOpen { operation: NamedOperation }: Open, [vec![operation.id.clone()]],
        format!("{operation} is not done yet, and is finished first");
    /// Such an operation is done now, and its result may differ.
    Finished {
        operation: NamedOperation, files: usize, moves_git: bool, failed: Option<FailedFiles>, result: Option<Box<Note>>,
    }: Finished, [vec![operation.id.clone()]],
        format!(
            "finished {operation}, which was not done yet ({}{}){}{}",
            count(*files as u64, "file"),
            if *moves_git { ", and git's state" } else { "" },
            failed.as_ref().map(|failed| format!("; {failed}")).unwrap_or_default(),
            result.as_ref().map(|note| format!("; {}", result_in_words(note))).unwrap_or_default(),
        );
    /// A revert that had changed nothing but a conversation.
    TakenBack { remains: ForkRemains }: Finished, [],
        format!("a revert was interrupted before any file had changed, and is taken back; {remains}");
    NothingReverted: NothingReverted, [], "nothing is reverted";
    /// Something is reverted in other directories.
    NothingRevertedHere: NothingReverted, [], "nothing is reverted here";
    /// Something is reverted in other sessions.
    NothingRevertedOfSession: NothingReverted, [], "nothing of this session is reverted";

    // What is known of the messages and steps in question.

    MessageNotCaptured { message: String, why: String }: MessageNotCaptured, [vec![message.clone()]],
        format!("the message `{}` could not be captured, so the revert relies on the snapshots around it: {why}", short(message));
    StepNotRecorded { step: String, why: String }: StepNotRecorded, [vec![step.clone()]],
        format!("step `{}` was not recorded, and what no later look saw of it stays: {why}", short(step));
    /// Files changed during a message without a step.
    NoStep { message: String, files: Vec<String> }: NoStep, [files.clone()],
        format!(
            "no step was recorded for message `{id}`: these files have changed since and count as yours: {}; `ckpt-hook restore {id}` with one of their names puts that one back",
            first_quoted(files, 5),
            id = short(message),
        );
    /// A newer message of another session stays.
    OtherMessage { message: OtherMessage }: OtherSessions, [vec![message.id.clone()]],
        format!("{} stays: it is newer, but of another session ({})", message.title(), message.name);
    OtherMessages { messages: Vec<OtherMessage> }: OtherSessions, [messages.iter().map(|message| message.id.clone()).collect()],
        format!("{} of {}", count(messages.len() as u64, "newer message"), another_or_others(messages));
    /// The revert point is a later message than the one that was asked for.
    Discarded { message: String, point: String }: Discarded, [vec![message.clone()]],
        format!(
            "the message `{}` was discarded: what was left of it goes back, too, and the revert point is the next message, `{}`",
            short(message),
            short(point),
        );
    UnknownSinceMessage { paths: Vec<String> }: UnknownPath, [paths.clone()],
        format!("the agent changed nothing at or below {} since that message", or(paths));
    UnknownInMessage { paths: Vec<String> }: UnknownPath, [paths.clone()],
        format!("the agent changed nothing at or below {} in that message", or(paths));
    UnknownInStep { paths: Vec<String> }: UnknownPath, [paths.clone()],
        format!("the agent changed nothing at or below {} in that step", or(paths));
    /// A restore knows nothing of a path.
    UnknownInState { paths: Vec<String> }: UnknownPath, [paths.clone()],
        format!("nothing was captured at {}, neither then nor now", or(paths));
    /// Directories could not be read at a side of a step.
    Unread { directories: Vec<Gap> }: Unread, [gap_names(directories)],
        format!(
            "these could not be read then, so what the agent created or removed below them is unknown and stays: {}",
            first_gaps(directories, 5),
        );

    // Other agents, and other directories of the session.

    AtWork { agents: Vec<String> }: AtWork, [],
        format!("{}, and may write while files go back", at_work(agents));
    /// The session worked here only from a message on.
    JoinedLater { message: String }: OtherDirectories, [vec![message.clone()]],
        format!("the session worked here from `{}` on, and it goes back to just before that: what was done here earlier is not recorded", short(message));
    StillReverted { roots: Vec<String> }: OtherDirectories, [roots.clone()],
        format!("the session is still reverted in other directories, where `ckpt-hook unrevert` goes on: {}", roots.join(", "));
    RootsAway { roots: Vec<String> }: OtherDirectories, [roots.clone()],
        format!(
            "the session worked in directories that are not there now, and what it did there stays until this is asked for again: {}; where a new one takes its place, `ckpt-hook workspace adopt` in it comes first",
            roots.join(", "),
        );
    RootForgotten: OtherDirectories, [],
        "the session worked in another directory, whose history was forgotten: what it did there stays";
    /// Workspaces that a revert here does not reach.
    WorkedElsewhere { roots: Vec<String> }: OtherDirectories, [roots.clone()],
        format!("the agent worked in other directories since, which are reverted by a command there: {}", first_quoted(roots, 3));
    Outside { files: Vec<String> }: Outside, [files.clone()],
        format!("tools named files, or ran, outside the workspace, where nothing is captured or reverted: {}", first_quoted(files, 3));
    OutsideInRepository { files: Vec<String> }: Outside, [files.clone()],
        format!("tools named files of the repository, where nothing is captured or reverted: {}", first_quoted(files, 3));

    // HEAD, the index and the repository.

    /// The agent's commits with their subjects. The commit before them may be gone, which another note says.
    Commits { commits: Vec<(String, String)>, is_old_there: bool }: Commits, [commits.iter().map(|(id, _)| id.clone()).collect()],
        format!(
            "the agent made {}; {} the branch back",
            commits_in_words(commits),
            if *is_old_there { "`--git` moves" } else { "no revert moves" },
        );
    HeadStays { then: Heads, now: Heads }: Head, [],
        format!("git's HEAD was at {} and is at {}: commits, branches and the index stay as they are without `--git`", head(then), head(now));
    /// Staged changes, each with the path that it was renamed from. `--git` may move the index.
    Staged { changes: Vec<(Option<String>, String)>, paths: Vec<String>, moves_with_git: bool }: Staged, [paths.clone()],
        format!(
            "in the index, {}; `git restore --staged FILE` unstages a file{}",
            staged(changes),
            if *moves_with_git { ", and `--git` moves the whole index back" } else { "" },
        );
    /// A merge, a rebase or the like began since.
    GitUnderWay { doing: String }: GitUnderWay, [vec![doing.clone()]],
        format!("git is in the middle of a {doing} that had not begun then: files go back, the {doing} stays under way");
    CommitGone { id: String }: RepositoryRemoved, [vec![".git".to_owned()]],
        format!("commit {} was git's HEAD then, and is no longer in the repository: nothing in `.git` is captured, so it does not come back", short(id));
    RepositoryRemoved: RepositoryRemoved, [vec![".git".to_owned()]],
        "the repository `.git` has been removed since: nothing in it is captured, so it does not come back";
    RepositoryMade: RepositoryMade, [vec![".git".to_owned()]],
        "a repository has been created here since: its `.git` stays";
    RepositoryMadeAnew: VersionControl, [vec![".git".to_owned()]],
        format!("{MADE_ANEW}: what only the old one had is in no snapshot");
    NoRepository: NoRepository, [], "this workspace is not a git repository: git has nothing to move";

    // Branches, tags, the stash and remotes.

    BranchRenamed { old: String, new: String }: BranchMoved, [vec![old.clone(), new.clone()]],
        format!("branch `{old}` was renamed to `{new}` since, and keeps that name");
    BranchMoved { name: String, from: Option<String>, to: Option<String> }: BranchMoved, [vec![name.clone()]],
        format!("`{name}` was moved from {} to {} since, and it stays", commit(from), commit(to));
    BranchUntraced { name: String }: BranchMoved, [vec![name.clone()]],
        format!("`{name}` was moved or made since, and it stays: no reflog says from where");
    BranchGone { name: String, was: Option<String>, comes_with_git: bool }: BranchGone, [vec![name.clone()]],
        format!(
            "branch `{name}` (was {}) gone since: {} it again",
            commit(was),
            if *comes_with_git { "`--git` makes" } else { "no revert makes" },
        );
    BranchesMade { names: Vec<String> }: BranchMade, [names.clone()],
        format!("made since: {} {}, and it stays", if names.len() == 1 { "branch" } else { "branches" }, first_quoted(names, 5));
    Tags { names: Vec<String> }: Tags, [names.clone()],
        format!("{} {} made or moved since: no revert takes that back", if names.len() == 1 { "tag" } else { "tags" }, first_quoted(names, 5));
    Stashed { names: Vec<String> }: Stashed, [names.clone()],
        format!("stashed since: {} in `git stash list`", first_quoted(names, 5));
    Pushed { names: Vec<String> }: Pushed, [names.clone()],
        format!("pushed since: {} which no revert takes back", first_quoted(names, 5));
    StashDropped: StashDropped, [],
        "an entry of the stash was dropped since, and no revert puts it back: `git fsck --unreachable --no-reflogs` names its commit";
    TagsLost: TagsGone, [],
        "tags were removed since; git keeps no record of them, and no revert makes them again";
    BranchesLost: BranchGone, [],
        "branches were removed since; git keeps no record of them, and no revert makes them again";

    // Other repositories, and submodules.

    Submodules { names: Vec<String> }: Submodules, [names.clone()],
        format!("submodules came or moved since, and their metadata, commits and branches stay: {}", first_quoted(names, 3));
    RepositoriesGone { folders: Vec<String> }: RepositoryRemoved, [folders.clone()],
        format!("the metadata of repositories is gone and does not come back, because it is never captured: {}", first_quoted(folders, 4));
    RepositoriesBelow { folders: Vec<String> }: RepositoriesBelow, [folders.clone()],
        format!("repositories that were cloned or made since stay with their metadata: {}", first_quoted(folders, 4));
    RepositoriesMoved { folders: Vec<String> }: VersionControl, [folders.clone()],
        format!("repositories moved since: only files are reverted, their commits and branches stay: {}", first_quoted(folders, 4));
    MetadataChanged { paths: Vec<String> }: VersionControl, [paths.clone()],
        format!("in repositories, what no snapshot holds changed since, and stays as it is: {}", first_quoted(paths, 4));
    /// Only the time of a folder tells that something changed in it.
    MetadataTouched { folders: Vec<String> }: VersionControl, [folders.clone()],
        format!("in repositories, a name came or went since, perhaps only that of a lock of git's, and no snapshot holds what it was: {}", first_quoted(folders, 4));
    /// Snapshots hold files that are a repository's own by now.
    MetadataRecorded { folders: Vec<String> }: VersionControl, [folders.clone()],
        format!("what is recorded of files that are a repository's own by now stays as it is: {}", first_quoted(folders, 4));

    // Paths that no snapshot holds.

    LeftAlone { gaps: Vec<Gap> }: NotCaptured, [gap_names(gaps)],
        format!(
            "no snapshot holds these, so they were left alone: {}{}",
            first_gaps(gaps, 5),
            if gaps.len() > 5 { " (`ckpt-hook status --json`)" } else { "" },
        );
    Lost { gaps: Vec<Gap> }: NotCaptured, [gap_names(gaps)],
        format!("no snapshot holds these, so they do not come back: {}", first_gaps(gaps, 4));
    IgnoredGone { paths: Vec<String> }: IgnoredRemoved, [paths.clone()],
        one_or_many(
            paths,
            "an ignored path is gone and does not come back, because no snapshot holds it",
            "ignored paths are gone and do not come back, because no snapshot holds them",
        );
    /// Something is there again.
    IgnoredReplaced { paths: Vec<String> }: IgnoredRemoved, [paths.clone()],
        one_or_many(
            paths,
            "an ignored path was removed and made again since; what it held before does not come back",
            "ignored paths were removed and made again since; what they held before does not come back",
        );
    IgnoredPutBack { paths: Vec<String> }: IgnoredChanged, [paths.clone()],
        one_or_many(
            paths,
            "a path that rules hid is put back as it came into view; what it held before that is not known",
            "paths that rules hid are put back as they came into view; what they held before that is not known",
        );
    /// `files` are the paths and the files in them.
    IgnoredCame { paths: Vec<String>, files: Vec<String> }: IgnoredMade, [files.clone()],
        one_or_many(paths, "an ignored path that came since stays", "ignored paths that came since stay");
    /// Ignore files that ignore themselves.
    IgnoreFilesDiffer { paths: Vec<String> }: IgnoredMade, [paths.clone()],
        one_or_many(
            paths,
            "an ignore file that ignores itself differs from then, and stays as it is",
            "ignore files that ignore themselves differ from then, and stay as they are",
        );
    /// `files` are those below the paths.
    IgnoredChanged { paths: Vec<String>, files: Vec<String> }: IgnoredChanged, [paths.clone(), files.clone()],
        one_or_many(
            paths,
            "an ignored path changed while the agent worked, and stays as it is",
            "ignored paths changed while the agent worked, and stay as they are",
        );
    /// Folders have too many files to look through.
    IgnoredUnsearched { folders: Vec<String> }: IgnoredChanged, [folders.clone()],
        format!("ignored folders have too many files to look through, and what changed in them stays: {}", first_quoted(folders, 4));
    /// Folders have more ignored names than a snapshot remembers.
    IgnoredUnremembered { remembered: usize, folders: Vec<String> }: IgnoredChanged, [folders.clone()],
        format!(
            "of more than {remembered} ignored names in a folder, only the first are remembered, so which others came or went since is not known: {}",
            first_quoted(folders, 4),
        );
    FoldersStay { crowded: Vec<CrowdedFolder> }: FoldersStay, [CrowdedFolder::names(crowded)],
        format!("folders stay because they hold files that are ignored or not captured: {}", folders(crowded));
    MovedIn { paths: Vec<String> }: MovedIn, [paths.clone()],
        format!("moved here from elsewhere since; not put back there, but kept in the store: {}", first_quoted(paths, 3));
    /// Directories, each with its permissions then and now.
    PermissionsStay { directories: Vec<(String, [u32; 2])> }: DirectoryPermissions, [directories.iter().map(|(path, _)| path.clone()).collect()],
        format!("the permissions of existing directories stay: {}", permissions(directories));
    AclsLost { directories: Vec<String> }: DirectoryPermissions, [directories.clone()],
        format!("made again without their ACLs, so that their groups may do no more than those let them: {}", first_quoted(directories, 3));

    // After the files.

    /// Some work after the files failed.
    StaysOpen { why: String }: Open, [],
        format!("the operation is still open, because some work after the files could not be done ({why}): the next command or message finishes it");
    NotCompared { why: String }: NotCompared, [],
        format!("the workspace could not be compared with what it was then: {why}");
    /// The result of an operation that another command finished.
    Differs { differences: Vec<Difference> }: Differs, [differences.iter().map(|difference| difference.path.path.clone()).collect()],
        format!("finished later; {}", by_reason(differences));
}

fn joined<const LISTS: usize>(names: [Vec<String>; LISTS]) -> Vec<String> {
    names.concat()
}

impl fmt::Display for Note {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.report().text)
    }
}

/// Returns the note on some things, unless there are none.
pub(crate) fn on<T>(things: Vec<T>, note: impl FnOnce(Vec<T>) -> Note) -> Option<Note> {
    (!things.is_empty()).then(|| note(things))
}

/// Returns notes for an operation's row or report.
pub(crate) fn reports(notes: &[Note]) -> Vec<NoteReport> {
    notes.iter().map(Note::report).collect()
}

/// Returns notes in the words of this process's surface: rows have those of the command line.
pub(crate) fn shown(notes: &[NoteReport]) -> Vec<NoteReport> {
    notes.iter().map(note_shown).collect()
}

/// Returns the sentences of notes.
pub(crate) fn texts(notes: &[NoteReport]) -> Vec<String> {
    notes.iter().map(|note| note.text.clone()).collect()
}

/// Returns notes for an operation's row.
pub(crate) fn to_json(notes: &[NoteReport]) -> String {
    serde_json::to_string(notes).expect("texts are JSON")
}

/// Returns the notes that [`to_json`] wrote into a row. A damaged row counts as one without notes: nothing is decided by
/// them, and an operation that is still open must be finished all the same.
pub(crate) fn from_json(notes: &str) -> Vec<NoteReport> {
    serde_json::from_str(notes).unwrap_or_default()
}
