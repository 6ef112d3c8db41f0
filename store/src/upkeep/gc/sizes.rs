//! Measures how much of the disk the store takes, and what for. This module does IO.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::pack::Politeness;
use super::{GcOptions, Priority};
use crate::error::{Context, Error, ErrorKind, Result};
use crate::fs::names::{self, BACKUP, CACHE, DAMAGED, DATABASE, REMOVAL_MARK};
use crate::fs::{layout, leftover, presence};
use crate::model::entry::Roots;
use crate::objects::borrowed_packs;
use crate::sessions::{self, Measured, SessionUse};
use crate::store::Store;
use crate::timeline::{LOCK_TIMEOUT, Place};

/// The sizes of the store's parts on the disk, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub bytes: u64,
    pub files: u64,
    pub database: u64,
    pub objects: u64,
    pub caches: u64,
    /// Copies of the session store. They are a part of `database`.
    pub backups: u64,
    /// Files that have other names outside the store: in the user's repositories.
    pub shared: u64,
}

/// Measures a store.
pub(crate) fn of_store(store: &Store) -> Result<Sizes> {
    let mut sizes = Sizes::default();
    if store.is_missing {
        return Ok(sizes);
    }
    let directory = &store.surroundings.directory;
    let mut rest = vec![directory.clone()];
    while let Some(folder) = rest.pop() {
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            entries => {
                entries.context(|| format!("cannot read the directory `{}`", folder.display()))?
            }
        };
        for entry in entries.flatten() {
            let path = entry.path();
            // A file that was removed meanwhile takes nothing.
            let Ok(metadata) = path.symlink_metadata() else {
                continue;
            };
            if metadata.is_dir() {
                rest.push(path);
            } else {
                sizes.add(&path, metadata.len(), metadata.nlink());
            }
        }
    }
    Ok(sizes)
}

impl Sizes {
    /// Returns the bytes that a limit on the store's size is about: no history goes to make room for copies of rows.
    pub fn limited(&self) -> u64 {
        self.bytes.saturating_sub(self.backups)
    }

    fn add(&mut self, path: &Path, bytes: u64, links: u64) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Its blocks are the user's repository's, and removing it here frees nothing.
        if links > 1 && borrowed_packs::is_borrowed(name.as_bytes()) {
            self.shared += bytes;
            return;
        }
        self.bytes += bytes;
        self.files += 1;
        if name.starts_with(DATABASE) {
            self.database += bytes;
            if name.starts_with(&format!("{DATABASE}{BACKUP}")) {
                self.backups += bytes;
            }
        } else if path.components().any(|part| part.as_os_str() == "objects") {
            self.objects += bytes;
        } else if name.starts_with(CACHE) {
            self.caches += bytes;
        }
    }
}

/// The bytes of sessions.
#[derive(Default)]
pub(crate) struct SessionSizes {
    /// For each session, how many bytes become free once it goes.
    pub bytes: Vec<u64>,
    /// The workspaces that cannot be measured, by id, and why.
    pub unmeasured: HashMap<i64, Error>,
}

/// Returns for each session how many bytes become free once it goes, together with those of its workspace that may go
/// and were used before it; 0 for one that may not go. The sessions come with the longest unused first.
pub(crate) fn of_sessions(
    store: &Store,
    uses: &[SessionUse],
    may_go: &[bool],
    how: GcOptions,
) -> Result<SessionSizes> {
    let mut sizes = SessionSizes {
        bytes: vec![0; uses.len()],
        ..SessionSizes::default()
    };
    let workspaces: HashSet<i64> = uses.iter().map(|session| session.workspace_id).collect();
    for id in workspaces {
        let row = sessions::workspace(store.database.connection(), id)?;
        let place = Place::of_row(store, row);
        // One damaged workspace must not keep all others from being judged.
        match of_sessions_in(store, &place, uses, may_go, how) {
            Ok(measured) => measured
                .into_iter()
                .for_each(|(number, taken)| sizes.bytes[number] = taken),
            Err(error) => drop(sizes.unmeasured.insert(id, error)),
        }
    }
    Ok(sizes)
}

/// Returns the bytes of the sessions of one workspace that may go, with their numbers.
fn of_sessions_in(
    store: &Store,
    place: &Place,
    uses: &[SessionUse],
    may_go: &[bool],
    how: GcOptions,
) -> Result<Vec<(usize, u64)>> {
    let connection = store.database.connection();
    let id = place.row.id;
    let of_it = || (0..uses.len()).filter(|number| uses[*number].workspace_id == id);
    // The newest first: what it needs is freed only when it goes itself.
    let going: Vec<usize> = of_it().rev().filter(|number| may_go[*number]).collect();
    if going.is_empty() || !place.has_objects()? {
        return Ok(Vec::new());
    }
    let mut groups = vec![Roots::default()];
    for number in &going {
        groups.push(Roots {
            trees: sessions::trees_of(connection, &uses[*number].ids)?,
            blobs: Vec::new(),
        });
    }
    let theirs: HashSet<_> = groups
        .iter()
        .flat_map(|group| group.trees.clone())
        .collect();
    // What belongs to no session that may go stays, and so does what a staying session names.
    let mut staying: Vec<_> = sessions::roots(connection, id)?
        .trees
        .into_iter()
        .filter(|tree| !theirs.contains(tree))
        .collect();
    for number in of_it().filter(|number| !may_go[*number]) {
        staying.extend(sessions::trees_of(connection, &uses[number].ids)?);
    }
    if let Some(last) = place.row.last_snapshot_id {
        staying.push(sessions::snapshot(connection, last)?.snapshot.tree);
    }
    groups[0].trees = staying;
    let way = Politeness::new(&place.folder, how.priority);
    let snapshots = place.snapshots()?;
    let (taken, _) = snapshots.measure(&groups, &|| way.is_free())?;
    Ok(going.into_iter().zip(taken.into_iter().skip(1)).collect())
}

/// Returns the snapshots of a workspace, oldest first, each with the bytes that it was the first to need; and the bytes
/// that nothing needs. Fails once `goes_on` returns false.
pub(crate) fn of_snapshots(
    store: &Store,
    place: &Place,
    goes_on: &dyn Fn() -> bool,
) -> Result<(Vec<(Measured, u64)>, u64)> {
    let connection = store.database.connection();
    let measured = sessions::snapshots_to_measure(connection, place.row.id)?;
    let mut groups: Vec<Roots> = measured
        .iter()
        .map(|snapshot| Roots {
            trees: vec![snapshot.tree],
            blobs: snapshot.records.clone(),
        })
        .collect();
    // What only other rows name is needed, but is no snapshot's.
    groups.push(sessions::roots(connection, place.row.id)?);
    let snapshots = place.snapshots()?;
    let (taken, rest) = snapshots.measure(&groups, goes_on)?;
    Ok((measured.into_iter().zip(taken).collect(), rest))
}

/// Does the same, and notes the sizes for the view `disk_usage`. If that gives way to another process, the older sizes stay.
pub(crate) fn note(store: &mut Store, place: &Place, how: GcOptions) -> Result<()> {
    let way = Politeness::new(&place.folder, how.priority);
    match of_snapshots(store, place, &|| way.is_free()) {
        Err(error) if how.priority == Priority::Background && error.kind == ErrorKind::Busy => {
            Ok(())
        }
        sizes => put(store, &sizes?.0),
    }
}

/// Notes the bytes of snapshots for that view.
pub(crate) fn put(store: &mut Store, snapshots: &[(Measured, u64)]) -> Result<()> {
    let sizes: Vec<(i64, u64)> = snapshots
        .iter()
        .map(|(snapshot, bytes)| (snapshot.id, *bytes))
        .collect();
    store
        .database
        .write(|connection| sessions::note_sizes(connection, &sizes))
}

/// Notes that a workspace stays: who was to remove it was killed before its rows went.
pub(crate) fn note_staying(folder: &Path) {
    let _ = fs::remove_file(folder.join(REMOVAL_MARK));
}

/// Removes a workspace: its rows, then its folder. Who is killed in between leaves a folder that [`sweep`] removes.
pub(crate) fn remove_workspace(store: &mut Store, place: &Place) -> Result<()> {
    // Before the rows: killed after them, the folder would look like one whose session store is lost, and be
    // taken up again.
    note_going(&place.folder)?;
    store
        .database
        .write_unchecked(|connection| sessions::delete_workspace(connection, place.row.id))?;
    remove_folder(&place.folder)
}

fn note_going(folder: &Path) -> Result<()> {
    match presence::is_directory(folder)? {
        true => {
            // The time of an older one says nothing.
            presence::remove_file(&folder.join(REMOVAL_MARK))?;
            layout::open_private(&folder.join(REMOVAL_MARK)).map(drop)
        }
        false => Ok(()),
    }
}

/// Removes the folder of a workspace that has no rows.
pub(crate) fn remove_workspace_folder(folder: &Path) -> Result<()> {
    note_going(folder)?;
    remove_folder(folder)
}

/// Returns whether a row names the workspace that a folder is of.
pub(crate) fn is_known(store: &Store, folder: &Path) -> Result<bool> {
    let keys = sessions::workspace_keys(store.database.connection())?;
    let name = folder.file_name().and_then(|name| name.to_str());
    Ok(name.is_some_and(|name| keys.contains(name)))
}

/// Removes folders of workspaces. A row is written before its folder is made, so `goes` has to ask for it only now.
pub(crate) fn remove_folders(directory: &Path, goes: impl Fn(&Path) -> Result<bool>) -> Result<()> {
    let snapshots = names::snapshots(directory);
    let what = || format!("cannot find what is in `{}`", snapshots.display());
    for entry in presence::entries(&snapshots)? {
        let folder = entry.path();
        if entry.file_type().context(what)?.is_dir() && goes(&folder)? {
            let _lock = layout::lock_workspace(&folder, LOCK_TIMEOUT)?;
            remove_workspace_folder(&folder)?;
        }
    }
    Ok(())
}

/// Removes a folder of the store with all that is in it, without following a link.
pub(crate) fn remove_folder(folder: &Path) -> Result<()> {
    if !presence::is_directory(folder)? {
        return Ok(());
    }
    let what = || format!("cannot remove `{}`", folder.display());
    let mut entries = presence::entries(folder)?;
    // The mark goes last: as long as anything is left, it says that the rest goes, too.
    entries.sort_by_key(|entry| entry.file_name() == REMOVAL_MARK);
    for entry in entries {
        let path = entry.path();
        if entry.file_type().context(what)?.is_dir() {
            remove_folder(&path)?;
        } else {
            presence::remove_file(&path)?;
        }
    }
    fs::remove_dir(folder).context(what)
}

/// Removes the folders of workspaces that have no rows, and files that killed processes left.
pub(crate) fn sweep(store: &Store, how: GcOptions) -> Result<()> {
    let connection = store.database.connection();
    let mut keys = HashMap::new();
    for id in sessions::workspaces(connection)? {
        let row = sessions::workspace(connection, id)?;
        keys.insert(row.key.clone(), row);
    }
    let directory = names::snapshots(&store.surroundings.directory);
    let now = store.surroundings.now_in_seconds();
    let day = super::policy::MIN_PRUNE_AGE / 1000;
    let keep = i64::try_from(store.surroundings.settings.keep.as_secs()).unwrap_or(i64::MAX);
    for entry in presence::entries(&directory)? {
        let folder = entry.path();
        let is_known = keys.contains_key(entry.file_name().to_string_lossy().as_ref());
        if is_known {
            // The cache may be being replaced by a new file beside it.
            let names: Vec<Vec<u8>> = fs::read_dir(&folder)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.file_name().into_encoded_bytes())
                .filter(|name| name.starts_with(leftover::TEMPORARY_PACK.as_bytes()))
                .collect();
            leftover::sweep(&folder, names.iter().map(Vec::as_slice));
            continue;
        }
        // A row is written before its folder is made; a database that was set aside had rows for it. Where the
        // database is gone, `doctor --repair` makes rows again.
        let grace = match layout::holds_objects(&folder)? {
            true => keep.max(day),
            false => day,
        };
        let is_going = layout::is_going(&folder)?;
        let is_old = is_going
            || folder.symlink_metadata().is_ok_and(|metadata| {
                let age = how
                    .ages
                    .at_most_so_old(now.saturating_sub(metadata.mtime()));
                metadata.is_dir() && age > grace
            });
        if is_old && !has_damaged_database(&store.surroundings.directory)? {
            // `doctor --repair` takes such a folder up under this lock.
            let _lock = layout::lock_workspace(&folder, super::BACKGROUND_LOCK_TIMEOUT)?;
            remove_workspace_folder(&folder)?;
        }
    }
    Ok(())
}

/// While a database that was set aside is there, its snapshots may be wanted.
fn has_damaged_database(directory: &Path) -> Result<bool> {
    let names = presence::entries(directory)?;
    Ok(names.iter().any(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Its log, the index of that, and its journal are nothing by themselves.
        let is_beside = sessions::BESIDE.iter().any(|ending| name.ends_with(ending));
        name.starts_with(&format!("{DATABASE}{DAMAGED}")) && !is_beside
    }))
}
