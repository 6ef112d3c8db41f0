//! Checks that the store's directory and its contents are the user's own. This module does IO.
//!
//! A store holds prompts and the contents of files, and reverts write its contents into the workspace. So nothing
//! counts as ours that another user could have prepared or can still change. A directory that is not a store is left as
//! it is: its permissions are not ours to change.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::error::{Context, Error, Result};
use crate::fs::layout::make_private;
use crate::fs::names::{self, ASIDE, CACHE, COPIES, DATABASE, TEMPORARY};

/// The other files of a store's directory. If the database is missing, these alone do not make the directory another
/// program's.
const OURS: [&str; 13] = [
    COPIES,
    names::FORGETTING,
    names::FORGETTING_NEW,
    names::UPKEEP,
    names::INSTALLED,
    names::LOCK,
    "log",
    "log.old",
    names::RESERVE,
    names::SNAPSHOTS,
    names::WATCH_LOCK,
    names::WATCH_MARKS,
    names::WATCH_SOCKET,
];

/// The files of a workspace's folder, beside those of the stat cache.
const OF_A_WORKSPACE: [&str; 6] = [
    names::FORGETTING,
    names::FORKING,
    names::REMOVAL_MARK,
    names::LOCK,
    names::SETTLING,
    names::WATCHED,
];

/// The entries of a store's directory that are directories.
const DIRECTORIES: [&str; 3] = [COPIES, names::SNAPSHOTS, names::WATCH_MARKS];

/// Write permission for anybody but the owner.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Any permission for anybody but the owner.
const OPEN_TO_OTHERS: u32 = 0o077;

/// Returns the user that this process acts for.
pub(crate) fn user() -> u32 {
    static USER: OnceLock<u32> = OnceLock::new();
    *USER.get_or_init(|| rustix::process::geteuid().as_raw())
}

/// Returns the canonical path of the store's directory, and creates it if it does not exist. For writers.
///
/// Fails if what exists is neither the user's own store, nor a directory in which one can be created.
pub(crate) fn prepare(directory: &Path) -> Result<PathBuf> {
    check_absolute(directory)?;
    let found = match directory.canonicalize() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            check_place(directory)?;
            make_private(directory)?;
            directory.canonicalize()
        }
        found => found,
    };
    let found = found.context(|| format!("cannot find the store `{}`", directory.display()))?;
    let metadata = check_directory(&found)?;
    if !holds_a_store(&found)? {
        check_beginning(&found, &metadata)?;
    // Only of a store: the permissions of any other directory are its owner's business.
    } else if metadata.mode() & OPEN_TO_OTHERS != 0 {
        fs::set_permissions(&found, fs::Permissions::from_mode(0o700))
            .context(|| format!("cannot make the store `{}` private", found.display()))?;
    }
    Ok(found)
}

/// Returns the canonical path of the store's directory, or `None` if there is no store. It changes nothing.
///
/// Fails if [`prepare`] would.
pub(crate) fn find(directory: &Path) -> Result<Option<PathBuf>> {
    check_absolute(directory)?;
    let found = match directory.canonicalize() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        found => found.context(|| format!("cannot find the store `{}`", directory.display()))?,
    };
    let metadata = check_directory(&found)?;
    if holds_a_store(&found)? {
        return Ok(Some(found));
    }
    check_beginning(&found, &metadata)?;
    Ok(holds_snapshots(&found)?.then_some(found))
}

/// Returns whether there are snapshots: a store without its database is still a store.
fn holds_snapshots(directory: &Path) -> Result<bool> {
    if !has_folder_of_snapshots(directory)? {
        return Ok(false);
    }
    let snapshots = names::snapshots(directory);
    let mut entries = snapshots
        .read_dir()
        .context(|| format!("cannot list `{}`", snapshots.display()))?;
    Ok(entries.next().is_some())
}

/// Returns whether there is a folder for snapshots. Fails if what is there is not the user's own, or a link.
fn has_folder_of_snapshots(directory: &Path) -> Result<bool> {
    let snapshots = names::snapshots(directory);
    match snapshots.symlink_metadata() {
        Ok(metadata) => check_inner_directory(&snapshots, &metadata).map(|()| true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).context(|| format!("cannot read `{}`", snapshots.display())),
    }
}

/// Fails unless a directory inside the store is the user's own, and no link.
pub(crate) fn check_inner_directory(path: &Path, metadata: &Metadata) -> Result<()> {
    if !metadata.is_dir() {
        return Err(not_ours(path, "is not a directory"));
    }
    check_owner(path, metadata)
}

/// Fails if a file or directory inside the store belongs to another user.
pub(crate) fn check_owner(path: &Path, metadata: &Metadata) -> Result<()> {
    if metadata.uid() == user() {
        Ok(())
    } else {
        Err(not_ours(path, "belongs to another user"))
    }
}

fn not_ours(path: &Path, why: &str) -> Error {
    Error::failed(format!("`{}` in the store {why}", path.display()))
        .hint("another user may have put it there: look at it, and move it out of the store")
}

fn check_absolute(directory: &Path) -> Result<()> {
    if directory.is_absolute() {
        return Ok(());
    }
    Err(Error::failed(format!(
        "the store's path `{}` is not absolute",
        directory.display()
    )))
}

/// Fails if root would create a store in another user's directory, who could then not write to it. `sudo` with the
/// user's `$HOME` would do that.
fn check_place(directory: &Path) -> Result<()> {
    if user() != 0 {
        return Ok(());
    }
    let above = directory.ancestors().skip(1);
    let Some((above, metadata)) = above
        .filter_map(|above| Some((above, above.metadata().ok()?)))
        .next()
    else {
        return Ok(());
    };
    if metadata.uid() == 0 {
        return Ok(());
    }
    Err(Error::failed(format!(
        "the store `{}` would belong to root, in a directory of another user (`{}`)",
        directory.display(),
        above.display()
    ))
    .hint("run it as that user, or set --store or $CKPT_HOOK_HOME to a directory of root's own"))
}

fn check_directory(directory: &Path) -> Result<Metadata> {
    let metadata = fs::symlink_metadata(directory)
        .context(|| format!("cannot read the store `{}`", directory.display()))?;
    let refused = |why: &str| Error::failed(format!("the store `{}` {why}", directory.display()));
    if !metadata.is_dir() {
        return Err(refused("is not a directory"));
    }
    if metadata.uid() != user() {
        let hint = match user() {
            0 => {
                "run it as that user, or set --store or $CKPT_HOOK_HOME to a directory of root's own"
            }
            _ => "set --store or $CKPT_HOOK_HOME to a directory of your own",
        };
        return Err(refused("belongs to another user").hint(hint));
    }
    if metadata.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(refused("can be written to by other users").hint(format!(
            "set --store or $CKPT_HOOK_HOME to a directory of your own; if this one is yours alone: `chmod 700 {}`",
            directory.display()
        )));
    }
    Ok(metadata)
}

/// Returns whether there is a database, and checks that it is ours. Its log and its journal are a part of it: SQLite
/// would apply one that somebody put there.
fn holds_a_store(directory: &Path) -> Result<bool> {
    let is_there = check_file(&directory.join(DATABASE))?;
    if is_there {
        for ending in ["-wal", "-shm", "-journal"] {
            check_file(&directory.join(format!("{DATABASE}{ending}")))?;
        }
        has_folder_of_snapshots(directory)?;
    }
    Ok(is_there)
}

/// Returns whether a file exists. Fails if it is not a regular file of the user's.
fn check_file(path: &Path) -> Result<bool> {
    let metadata = match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        metadata => metadata.context(|| format!("cannot read `{}`", path.display()))?,
    };
    check_owner(path, &metadata)?;
    if !metadata.is_file() {
        return Err(not_ours(path, "is not a regular file"));
    }
    Ok(true)
}

/// Fails unless a store may be created in an existing directory.
fn check_beginning(directory: &Path, metadata: &Metadata) -> Result<()> {
    let what = || format!("cannot list the directory `{}`", directory.display());
    let refused = |why: String| {
        Error::failed(format!("`{}` is not a store: {why}", directory.display())).hint(
            "set --store or $CKPT_HOOK_HOME to a directory that does not exist yet: the first event creates it",
        )
    };
    for entry in directory.read_dir().context(what)? {
        let entry = entry.context(what)?;
        let name = entry.file_name();
        if !may_be_ours(&name) {
            return Err(refused(format!(
                "it holds `{}`",
                name.to_string_lossy().escape_debug()
            )));
        }
        let metadata = match entry.metadata() {
            // Another process has just moved it.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            metadata => metadata.context(what)?,
        };
        check_owner(&entry.path(), &metadata)?;
        // Whatever is written to a link ends up in a file somewhere else.
        if metadata.is_symlink() || metadata.is_file() && metadata.nlink() > 1 {
            return Err(not_ours(&entry.path(), "is a link"));
        }
    }
    match metadata.mode() & OPEN_TO_OTHERS {
        0 => Ok(()),
        _ => Err(refused("other users can read it".to_owned())),
    }
}

/// Fails if a store's directory holds something that no store has: that is not ours to remove.
pub(crate) fn check_all_ours(directory: &Path) -> Result<()> {
    let what = || format!("cannot list the directory `{}`", directory.display());
    for entry in directory.read_dir().context(what)? {
        let entry = entry.context(what)?;
        let name = entry.file_name();
        if !may_be_ours(&name) {
            return Err(Error::failed(format!(
                "`{}` is not the store's own: nothing was removed",
                entry.path().display()
            ))
            .hint("move it out of the store first"));
        }
        check_owner(&entry.path(), &entry.metadata().context(what)?)?;
    }
    Ok(())
}

/// Why something in a store is not the user's alone, or not to be written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// Its owner can change it, and may have prepared it.
    OfAnother,
    /// It leads elsewhere, or it is a device, a pipe or a socket.
    NoFile,
    /// It is a directory, and stands where the store has a file.
    Directory,
    /// The user may not list it, or not write to it.
    Closed,
    /// Others may look into the store.
    Open,
}

/// Returns the entries of a store, at any depth, that are not as the store makes them, by kind and path. What a command
/// needs, it checks itself; this is for `doctor`, which looks at everything.
pub(crate) fn faults(directory: &Path) -> Vec<(Fault, PathBuf)> {
    let mut found = Vec::new();
    let is_open = |metadata: Metadata| metadata.mode() & OPEN_TO_OTHERS != 0;
    if directory.metadata().is_ok_and(is_open) {
        found.push((Fault::Open, directory.to_owned()));
    }
    let store = directory;
    let mut waiting = vec![store.to_owned()];
    while let Some(directory) = waiting.pop() {
        // What `gc` removes meanwhile is no fault.
        let Ok(entries) = directory.read_dir() else {
            continue;
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            let Ok(metadata) = path.symlink_metadata() else {
                continue;
            };
            let is_directory = metadata.is_dir();
            found.extend(fault(&path, &metadata).map(|fault| (fault, path.clone())));
            if is_directory && is_a_file(path.strip_prefix(store).unwrap_or(&path)) {
                found.push((Fault::Directory, path));
            } else if is_directory {
                waiting.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Moves what is at a path in a store to a new name in the store's directory, and returns its path there.
pub(crate) fn move_aside(store: &Path, path: &Path) -> Result<PathBuf> {
    let free = (1..u32::MAX).map(|number| store.join(format!("{ASIDE}{number}")));
    let is_free = |place: &PathBuf| place.symlink_metadata().is_err();
    let what = || format!("cannot move `{}` aside", path.display());
    let place = free.into_iter().find(is_free);
    let place = place.ok_or_else(|| Error::failed(what()))?;
    fs::rename(path, &place).context(what)?;
    Ok(place)
}

/// Returns whether a path in a store is that of a file in every store.
fn is_a_file(path: &Path) -> bool {
    let names: Option<Vec<&str>> = path.iter().map(OsStr::to_str).collect();
    let Some(names) = names else {
        return false;
    };
    match names[..] {
        [name] => {
            let is_directory = DIRECTORIES.contains(&name) || name.starts_with(ASIDE);
            !is_directory && may_be_ours(OsStr::new(name))
        }
        [names::SNAPSHOTS, _, name] => name.starts_with(CACHE) || OF_A_WORKSPACE.contains(&name),
        [names::SNAPSHOTS, _, names::REPOSITORY, name] => {
            ["HEAD", "config", "packed-refs", "snapshots"].contains(&name)
        }
        [
            names::SNAPSHOTS,
            _,
            names::REPOSITORY,
            "objects",
            "info" | "pack",
            _,
        ] => true,
        _ => false,
    }
}

fn fault(path: &Path, metadata: &Metadata) -> Option<Fault> {
    /// What the store's directories permit their owner.
    const ALL: u32 = 0o700;
    let is_socket = metadata.file_type().is_socket() && path.ends_with(names::WATCH_SOCKET);
    if metadata.uid() != user() {
        Some(Fault::OfAnother)
    } else if metadata.is_dir() {
        (metadata.mode() & ALL != ALL).then_some(Fault::Closed)
    } else {
        (!metadata.is_file() && !is_socket).then_some(Fault::NoFile)
    }
}

fn may_be_ours(name: &OsStr) -> bool {
    let begins = |start: &str| name.as_bytes().starts_with(start.as_bytes());
    // A killed `install` leaves such a temporary file.
    let begin = [DATABASE, ASIDE, TEMPORARY];
    OURS.iter().any(|ours| name == *ours) || begin.into_iter().any(begins)
}
