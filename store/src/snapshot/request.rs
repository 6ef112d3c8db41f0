//! What a snapshot is asked for, and what comes of it.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use super::{Snapshot, Times};
use crate::model::FileTime;
use crate::model::gap::Gap;
use crate::model::git_item::GitStateRow;
use crate::model::path::WorkspacePath;
use crate::model::progress::SnapshotProgress;
use crate::model::repository_note::WorkspaceOrigin;

/// What [`Snapshots::take`](super::Snapshots::take) is asked for.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The workspace's root, canonical.
    pub root: &'a Path,
    /// Paths that are captured even if ignored: edit tools named them.
    pub named: &'a [WorkspacePath],
    /// Paths that are captured whatever their size, because a revert is about to replace them.
    pub whatever_size: &'a [WorkspacePath],
    /// Ignore-file patterns of the settings.
    pub include: &'a [String],
    /// Ignore-file patterns of the settings.
    pub exclude: &'a [String],
    /// Ignore-file patterns of the settings: small files that are captured even if ignored.
    pub keep_ignored: &'a [String],
    /// The size in bytes over which an untracked file is a gap.
    pub max_file_size: u64,
    /// Whether to take object ids and packs from the user's repository.
    pub seed: bool,
    /// The user's home directory, for the global git configuration.
    pub home: Option<&'a Path>,
    /// `$XDG_CONFIG_HOME`, if it is set and absolute.
    pub config_home: Option<&'a Path>,
    /// The store's directory, left out wherever it is.
    pub store: &'a Path,
    /// The identity of the directory, which is stored beside the snapshot.
    pub origin: Option<WorkspaceOrigin<'a>>,
    /// Look for changes only at, beside and below these paths; for the rest, the last look counts. `None` means
    /// everywhere.
    pub only_around: Option<&'a BTreeSet<WorkspacePath>>,
    /// Whether to read every file, whatever the cache or the user's repository knows about it, and to store what is not
    /// stored intact.
    pub anew: bool,
    /// Whether to look only where a watcher, if there is one, says that something may have changed. The next full look
    /// finds what it misses.
    pub takes_hints: bool,
    /// When this snapshot begins, read before anything in the workspace. The next snapshot checks files again that were
    /// touched shortly before this moment, whatever their times say. See [`crate::file_clock`].
    pub now: FileTime,
    /// The time at which to give up.
    pub deadline: Option<Instant>,
    /// Called now and then with the progress.
    pub progress: Option<&'a (dyn Fn(SnapshotProgress) + Sync)>,
}

/// The result of [`Snapshots::take`](super::Snapshots::take).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSnapshot {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// What it saw and does not store, by path.
    pub seen: Vec<Gap>,
    /// The state of the user's repository, if there is one.
    pub git: Option<GitStateRow>,
    /// Some of the ignore patterns that are too complicated to decide. What they may match is captured.
    pub undecided: Vec<String>,
    /// Ignore files outside the workspace's tree that exist but could not be read. Their last known rules apply.
    pub unread: Vec<String>,
    /// The times of the last change of what changed since the previous scan.
    pub times: Times,
    /// Whether a watcher missed a change that this full look found. It is no longer believed.
    pub missed: bool,
    /// Whether files were not read, because the time was up: they are among what was seen.
    pub is_late: bool,
    /// Whether a watcher that is believed answered.
    pub is_hinted: bool,
}

impl StoredSnapshot {
    /// Returns the entries without bytes that reports list.
    pub fn gaps(&self) -> Vec<Gap> {
        let reported = self.seen.iter().filter(|entry| entry.reason.is_reported());
        reported.cloned().collect()
    }
}
