//! The names of what is in the store's directory. Every other room asks here where a file is.
//!
//! ```text
//! <store>/                 0700, ours
//!   log                    the log file, 0600, capped
//!   sessions.db            the session store
//!   sessions.db.version-N  what it was before its tables changed last
//!   sessions.db.damaged-N  what stood in its place and was no database any more
//!   sessions.db.older-N    what a build before the first release left in its place
//!   sessions.db.backup-N   a copy of it, one a day; the last two are kept
//!   sessions.db.repaired   a new one that is being filled with what can be read of a damaged one
//!   installed.json         what was written into agents' settings
//!   forgetting             a `forget` has begun to remove something, and has not looked whether all of it is gone
//!   lock                   held while a damaged session store is set aside
//!   gc                     held by `gc` and `forget`; when `gc` ran last
//!   reserve                room for a note when the disk is full
//!   watch.sock             where a watcher is asked what may have changed
//!   watch.lock             held while there is one
//!   watch.marks/           on macOS, what a watcher writes to hear that it heard all
//!   aside-N/               what stood in the place of a file, until a repair moved it
//!   conversations/         the copies of conversations that an agent does not keep itself
//!   snapshots/<key>/       a workspace
//!     going                it is being removed
//!     forgetting           what is being forgotten of it
//!     lock                 one snapshot or operation at a time; holds which rows were written last
//!     forking                a conversation that is being forked; locked meanwhile
//!     settling             held while what is borrowed of the user's repository is made the store's own
//!     repository.git/      its objects
//!     cache                its stat cache
//!     cache.changes        what changed in it since it was last written as a whole
//!     watched              what a watcher had told when the stat cache was written
//! ```

use std::path::{Path, PathBuf};

/// The session store. A directory that has one is a store, and so is one that has snapshots.
pub const DATABASE: &str = "sessions.db";
/// Comes between the database's name and the version in the name of a copy that a migration kept.
pub(crate) const COPY: &str = ".version-";
/// Comes between the database's name and a number in the name of a damaged database that was set aside.
pub(crate) const DAMAGED: &str = ".damaged-";
/// The same for one of a build before the first release.
pub const OLDER: &str = ".older-";
/// The same for a copy that is taken each day.
pub(crate) const BACKUP: &str = ".backup-";
/// What was written into agents' settings.
pub const INSTALLED: &str = "installed.json";
/// Room for a note when the disk is full.
pub(crate) const RESERVE: &str = "reserve";
/// The lock of upkeep.
pub(crate) const UPKEEP: &str = "gc";
/// The lock of the watcher.
pub(crate) const WATCH_LOCK: &str = "watch.lock";
/// The watcher's socket.
pub(crate) const WATCH_SOCKET: &str = "watch.sock";
/// The directory of the files that a watcher writes to hear of them.
pub(crate) const WATCH_MARKS: &str = "watch.marks";
/// The beginning of the name of a directory that stood in the place of a file, and was moved aside.
pub(crate) const ASIDE: &str = "aside-";
/// The directory of the workspaces' folders.
pub(crate) const SNAPSHOTS: &str = "snapshots";

/// The copies of agents' conversations that an agent does not keep itself.
pub(crate) const COPIES: &str = crate::model::conversation::COPIES;

/// The beginning of the names of the temporary files that this program makes elsewhere than in its store: in a
/// workspace, and beside agents' settings.
pub const TEMPORARY: &str = ".ckpt-hook-";

/// The lock of the store, and that of a workspace's folder.
pub(crate) const LOCK: &str = "lock";
/// Says that a workspace's folder is being removed, so that no process uses it again.
pub(crate) const REMOVAL_MARK: &str = "going";
/// What is being forgotten of a workspace; in the store, that something is.
pub(crate) const FORGETTING: &str = "forgetting";
/// The latter, while it is written.
pub(crate) const FORGETTING_NEW: &str = "forgetting.new";
/// The lock for settling, which makes borrowed packs the store's own.
pub(crate) const SETTLING: &str = "settling";
/// The conversation that is being forked; its lock is held meanwhile.
pub(crate) const FORKING: &str = "forking";
/// The token that a watcher gave when the stat cache was written.
pub(crate) const WATCHED: &str = "watched";
/// The stat cache. The names of all its files begin so.
pub(crate) const CACHE: &str = "cache";
/// What changed in the stat cache since it was last written as a whole.
pub(crate) const CACHE_CHANGES: &str = "cache.changes";
/// The bare repository of a workspace.
pub(crate) const REPOSITORY: &str = "repository.git";

/// Returns the directory of the workspaces' folders in a store.
pub(crate) fn snapshots(store: &Path) -> PathBuf {
    store.join(SNAPSHOTS)
}

/// Returns the folder of the workspace with this key in a store.
pub(crate) fn workspace(store: &Path, key: &str) -> PathBuf {
    snapshots(store).join(key)
}

/// Returns the directory of a workspace's objects, by its folder.
pub(crate) fn objects(folder: &Path) -> PathBuf {
    folder.join(REPOSITORY).join("objects")
}

/// Returns the directory of the packs of a bare repository, the store's or the user's.
pub(crate) fn packs(repository: &Path) -> PathBuf {
    repository.join("objects/pack")
}
