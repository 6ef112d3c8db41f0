//! Recorded states laid out in directories of their own, beside the workspace: to try another way there, or a command.
//! The workspace is not looked at.

mod search;
mod states;

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use ckpt_schema::report::{BisectReport, BranchReport, ConversationReport, VERSION};

use crate::error::{Context, Error, Result};
use crate::fs::threads;
use crate::git::Location;
use crate::git::config::hooks_of;
use crate::ids::{self, Any};
use crate::model::entry::{Entry, EntryKind};
use crate::model::path::WorkspacePath;
use crate::revert;
use crate::sessions;
use crate::snapshot::{Snapshot, Snapshots};
use crate::store::Store;
use crate::timeline::Place;

pub use search::{Probe, Tested};

/// The permissions of a directory for as long as something is written into it.
const WRITABLE: u32 = 0o700;

/// A state that is to be laid out elsewhere.
pub struct RecordedState {
    /// The workspace's root.
    pub root: PathBuf,
    /// The commit that was checked out, if the workspace is in a repository and its branch had one.
    pub commit: Option<String>,
    place: Place,
    snapshot_id: i64,
}

impl RecordedState {
    /// Makes a directory for it, in which others read no more than in the workspace.
    pub fn make(&self, directory: &Path) -> Result<()> {
        let permissions = fs::metadata(&self.root).map_or(0, |found| found.mode() & 0o777);
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(permissions | 0o700);
        let made = builder.create(directory);
        made.context(|| format!("cannot create `{}`", directory.display()))
    }
}

impl Store {
    /// Returns the state that [`Store::restore`] takes an id for, and the path of a directory in which it can be laid out:
    /// one that is not there or empty, outside the workspace.
    pub fn recorded(
        &self,
        cwd: &Path,
        id: &str,
        directory: &Path,
    ) -> Result<(RecordedState, PathBuf)> {
        let state = recorded(self, cwd, id)?;
        let path = check_free(&state, directory)?;
        Ok((state, path))
    }

    /// Returns the names of the hooks that the configuration of a state's repository defines, for a caller that starts git
    /// there.
    ///
    /// # Errors
    ///
    /// There is no repository any more, or git would open a pipe or a device.
    pub fn git_hooks(&self, state: &RecordedState) -> Result<Vec<Vec<u8>>> {
        let location = Location::of(&state.root);
        let location = location.ok_or_else(|| Error::unavailable("there is no repository now"))?;
        hooks_of(&location, self.surroundings.home.as_deref()).map_err(|file| {
            let named = file.display();
            Error::failed(format!(
                "git would read `{named}`, and that is no ordinary file"
            ))
            .hint("see the configuration of the repository, or leave out `--worktree`")
        })
    }

    /// Lays a recorded state out in a directory that has nothing but a `.git`, or is not there yet.
    pub fn lay_out(&self, state: &RecordedState, directory: &Path) -> Result<BranchReport> {
        lay_out(self, state, directory)
    }

    /// Has the agent make a conversation that ends just before a message, for the directory in which its state is laid out.
    /// `None` if the id is no message's, or where the agent cannot.
    pub fn fork_beside(
        &self,
        cwd: &Path,
        id: &str,
        directory: &Path,
    ) -> Result<Option<ConversationReport>> {
        let place = Place::known(self, cwd)?;
        match ids::any(self.database.connection(), place.row.id, id)? {
            Any::Message(message) => revert::fork_beside(self, &message, directory),
            _ => Ok(None),
        }
    }

    /// Finds where a command began to fail among the states from just before a message on, from the oldest on without
    /// one. `run` runs it on a state.
    pub fn bisect(
        &self,
        cwd: &Path,
        from: Option<&str>,
        run: &mut dyn FnMut(&Probe<'_>) -> Result<Tested>,
    ) -> Result<BisectReport> {
        search::bisect(self, cwd, from, run)
    }
}

/// Returns the state that `restore` takes an id for: a snapshot, or the state just before a message, step or operation.
fn recorded(store: &Store, cwd: &Path, id: &str) -> Result<RecordedState> {
    let place = Place::known(store, cwd)?;
    let snapshot_id = revert::snapshot_named(store, &place, id)?;
    let connection = store.database.connection();
    let row = sessions::snapshot(connection, snapshot_id)?;
    let git = row
        .git_state_id
        .map(|id| sessions::git_state(connection, id));
    Ok(RecordedState {
        root: place.root.clone(),
        // Git is given it, and it may be another machine's word.
        commit: git
            .transpose()?
            .and_then(|git| git.head)
            .filter(|head| is_id(head)),
        place,
        snapshot_id,
    })
}

fn is_id(head: &str) -> bool {
    matches!(head.len(), 40 | 64) && head.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Lays a recorded state out in a directory that is empty, or has nothing but a `.git`.
fn lay_out(store: &Store, state: &RecordedState, directory: &Path) -> Result<BranchReport> {
    let connection = store.database.connection();
    let row = sessions::snapshot(connection, state.snapshot_id)?;
    let snapshots = state.place.snapshots()?;
    let snapshot = row.snapshot;
    let entries = snapshots.entries(&snapshot)?.into_iter().collect();
    state.make(directory)?;
    let files = Layout {
        snapshots: &snapshots,
        snapshot: &snapshot,
        is_scratch: false,
    }
    .write(&entries, directory)?;
    let gaps = snapshots.gaps(&snapshot)?;
    Ok(BranchReport {
        version: VERSION,
        workspace: state.root.to_string_lossy().into_owned(),
        snapshot: row.snapshot.tree.to_string(),
        directory: directory.to_string_lossy().into_owned(),
        files,
        gaps: gaps.iter().map(sessions::read::gap_report).collect(),
        branch: None,
        commit: None,
        conversation: None,
    })
}

/// Returns the path at which a state can be laid out: nothing is there, or an empty directory, and it is not in the
/// workspace, of which it would become a part.
fn check_free(state: &RecordedState, directory: &Path) -> Result<PathBuf> {
    let name = || format!("`{}`", directory.display());
    let what = || format!("cannot use {}", name());
    let existing = directory
        .ancestors()
        .find(|above| above.symlink_metadata().is_ok());
    let existing = existing.unwrap_or(Path::new("/"));
    let rest = directory.strip_prefix(existing).unwrap_or(directory);
    // Otherwise, what is made on the way would decide where it is.
    if rest.components().any(|part| part == Component::ParentDir) {
        return Err(Error::failed(format!(
            "cannot use {}: a directory on the way is not there",
            name()
        )));
    }
    let path = existing.canonicalize().context(what)?;
    let path = match rest.as_os_str().is_empty() {
        true => path,
        false => path.join(rest),
    };
    if path.starts_with(&state.root) {
        return Err(Error::failed(format!("{} is in the workspace", name()))
            .hint("give a directory beside it"));
    }
    match fs::read_dir(&path).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(path),
        Ok(false) => Err(Error::failed(format!("{} is not empty", name()))
            .hint("give a directory that is not there yet")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(path),
        Err(error) => Err(error).context(what),
    }
}

/// Entries of a state by path.
type Entries = BTreeMap<WorkspacePath, Entry>;

/// How a state is laid out.
struct Layout<'a> {
    snapshots: &'a Snapshots,
    /// The snapshot that says which permissions directories have.
    snapshot: &'a Snapshot,
    /// Whether it is removed afterwards: all directories are then writable.
    is_scratch: bool,
}

impl Layout<'_> {
    /// Writes entries into a directory, which is made if it is missing. Returns how many files and links there are.
    /// First the directories, then the files, then the links: so nothing is written through a link.
    fn write(&self, entries: &Entries, root: &Path) -> Result<u64> {
        let what = |path: &Path| format!("cannot write `{}`", path.display());
        fs::create_dir_all(root).context(|| what(root))?;
        let of_kind = |kind: EntryKind| {
            let is_it = move |entry: &Entry| entry.mode.kind() == kind && entry.is_stored();
            entries.iter().filter(move |(_, entry)| is_it(entry))
        };
        let mut directories = WorkspacePath::all_above(entries.keys());
        directories.extend(of_kind(EntryKind::Directory).map(|(path, _)| path.clone()));
        for path in &directories {
            let path = path.on_disk(root);
            let made = DirBuilder::new().mode(WRITABLE).create(&path);
            made.context(|| what(&path))?;
        }
        let files: Vec<_> = of_kind(EntryKind::File).collect();
        let written = threads::map(&files, |(path, entry)| {
            let on_disk = path.on_disk(root);
            self.write_file(entry, &on_disk)
                .and_then(|done| done.context(|| what(&on_disk)))
        });
        written.into_iter().collect::<Result<Vec<()>>>()?;
        let mut number = files.len() as u64;
        for (path, entry) in of_kind(EntryKind::Symlink) {
            let path = path.on_disk(root);
            let target = self.bytes(entry)?;
            let target = std::ffi::OsStr::from_bytes(&target);
            std::os::unix::fs::symlink(target, &path).context(|| what(&path))?;
            number += 1;
        }
        if !self.is_scratch {
            self.set_permissions(entries, &directories.into_iter().collect::<Vec<_>>(), root)?;
        }
        Ok(number)
    }

    fn bytes(&self, entry: &Entry) -> Result<Vec<u8>> {
        let blob = entry.file_blob();
        blob.map_or_else(|| Ok(Vec::new()), |blob| self.snapshots.read_blob(blob))
    }

    fn write_file(&self, entry: &Entry, path: &Path) -> Result<std::io::Result<()>> {
        let bytes = self.bytes(entry)?;
        let write = || {
            let mut options = OpenOptions::new();
            let mut file = options
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(path)?;
            file.write_all(&bytes)?;
            file.set_permissions(Permissions::from_mode(entry.mode.permissions()))
        };
        Ok(write())
    }

    /// Gives the directories their permissions, the deepest first: one may not be writable.
    fn set_permissions(
        &self,
        entries: &Entries,
        directories: &[WorkspacePath],
        root: &Path,
    ) -> Result<()> {
        let recorded = self
            .snapshots
            .permissions_to_make(self.snapshot, directories)?;
        for (path, recorded) in directories.iter().zip(recorded).rev() {
            let own = entries.get(path).map(|entry| entry.mode.permissions());
            if let Some(permissions) = own.or(recorded) {
                let path = path.on_disk(root);
                fs::set_permissions(&path, Permissions::from_mode(permissions))
                    .context(|| format!("cannot set the permissions of `{}`", path.display()))?;
            }
        }
        Ok(())
    }
}
