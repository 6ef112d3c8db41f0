//! The only part of `install` that touches the disk: reads a settings file, and replaces its text.
//!
//! A file is replaced as a whole or not at all, and keeps its mode and owner. A settings file that is a symlink stays
//! one: people keep their settings in a repository of dotfiles.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ckpt_store::TEMPORARY;
use ckpt_store::error::{Context, Error, Result};

/// The longest settings file that is read, in bytes.
const MAX_LENGTH: u64 = 16 << 20;

/// After this time no installer writes to a temporary file any more.
const ABANDONED_AFTER: Duration = Duration::from_secs(600);

/// Returns the text of a file, or `None` if it does not exist.
///
/// # Errors
///
/// A file that cannot be read, is not a regular file, is too long or is not UTF-8.
pub fn read(path: &Path) -> Result<Option<String>> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return absent(path),
        Err(error) => return Err(cannot("read", path).because(error)),
    };
    if !metadata.is_file() {
        let what = if metadata.is_dir() {
            "a directory"
        } else {
            "not a regular file"
        };
        return Err(cannot("read", path).because(format!("it is {what}")));
    }
    if metadata.len() > MAX_LENGTH {
        return Err(cannot("read", path).because("it is too long for a settings file"));
    }
    let bytes = fs::read(path).context(|| format!("cannot read `{}`", path.display()))?;
    let text =
        String::from_utf8(bytes).map_err(|_| cannot("read", path).because("it is not UTF-8"))?;
    Ok(Some(text))
}

/// Replaces the text that was read, through a temporary file beside it.
///
/// # Errors
///
/// A file that cannot be written, or that was changed since it was read; it is left as it is.
pub fn replace(path: &Path, expected: Option<&str>, text: &str, mode: u32) -> Result<()> {
    let path = target(path)?;
    let failed = || format!("cannot write `{}`", path.display());
    let directory = path.parent().ok_or_else(|| cannot("write", &path))?;
    // Who may write to the folder of settings may name programs in them, so the umask alone does not decide.
    make_folder(directory, 0o755).context(failed)?;
    let mut file = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempfile_in(directory)
        .context(failed)?;
    if let Ok(now) = file.as_file().metadata().and_then(|new| new.modified()) {
        sweep(directory, now);
    }
    file.write_all(text.as_bytes()).context(failed)?;
    inherit(file.as_file(), &path, mode).context(failed)?;
    file.as_file().sync_all().context(failed)?;
    // As late as possible: agents write their settings themselves, at any time.
    check(&path, expected)?;
    file.persist(&path).context(failed)?;
    sync(directory).map_err(|error| {
        Error::failed(format!("cannot sync `{}`", directory.display()))
            .because(error)
            .after([format!(
                "`{}` is written, but a power cut may undo it",
                path.display()
            )])
    })
}

/// Removes temporary files that killed processes left here. What cannot be removed stays for a later process. `now` is
/// by the clock of the file system.
fn sweep(directory: &Path, now: SystemTime) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let rest = name.as_bytes().strip_prefix(TEMPORARY.as_bytes());
        let is_ours =
            rest.is_some_and(|rest| rest.len() == 6 && rest.iter().all(u8::is_ascii_alphanumeric));
        let is_abandoned = || {
            let metadata = entry.metadata().ok()?;
            let age = now.duration_since(metadata.modified().ok()?).ok()?;
            Some(metadata.is_file() && age > ABANDONED_AFTER)
        };
        if is_ours && is_abandoned() == Some(true) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Removes a file.
///
/// # Errors
///
/// A file that cannot be removed, or that was changed since it was read.
pub fn remove(path: &Path, expected: Option<&str>) -> Result<()> {
    check(path, expected)?;
    fs::remove_file(path).context(|| format!("cannot remove `{}`", path.display()))
}

/// Removes those of these folders that are empty, the deepest first.
pub fn remove_empty(folders: &BTreeSet<PathBuf>) {
    for folder in folders.iter().rev() {
        // This fails if the folder is not empty, as intended.
        let _ = fs::remove_dir(folder);
    }
}

/// Creates the folder of a file of our own, accessible to its user alone.
///
/// # Errors
///
/// A folder that cannot be created.
pub fn make_private_folder(path: &Path) -> Result<()> {
    let Some(folder) = path.parent() else {
        return Ok(());
    };
    make_folder(folder, 0o700).context(|| format!("cannot create `{}`", folder.display()))
}

fn make_folder(folder: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(mode).create(folder)
}

/// Checks that a file of a project is inside it: another person's project may contain symlinks to anywhere.
///
/// # Errors
///
/// A path that leads out of the project.
pub fn check_inside(path: &Path, project: &Path) -> Result<()> {
    let there = path
        .ancestors()
        .find(|ancestor| ancestor.symlink_metadata().is_ok())
        .unwrap_or(path);
    let resolved =
        fs::canonicalize(there).context(|| format!("cannot read `{}`", path.display()))?;
    let project =
        fs::canonicalize(project).context(|| format!("cannot read `{}`", project.display()))?;
    if resolved.starts_with(&project) {
        return Ok(());
    }
    Err(cannot("write", path).because(format!(
        "a symlink leads out of the project, to `{}`",
        resolved.display()
    )))
}

/// Returns a path with the symlinks in its existing part resolved.
pub fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Returns whether two paths lead to one file, whatever links are on the way.
pub fn is_same(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |path: &Path| {
        let metadata = fs::metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    one == other || identity(one).is_some_and(|file| identity(other) == Some(file))
}

/// Returns whether a path is a symlink.
pub fn is_symlink(path: &Path) -> bool {
    path.is_symlink()
}

/// Returns whether there is an executable file.
pub fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn absent(path: &Path) -> Result<Option<String>> {
    if path.is_symlink() {
        return Err(cannot("read", path).because("it is a symlink to a file that is not there"));
    }
    Ok(None)
}

/// Returns the file behind symlinks.
fn target(path: &Path) -> Result<PathBuf> {
    let what = || format!("cannot write `{}`", path.display());
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_symlink() => fs::canonicalize(path).context(what),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).context(what),
        _ => Ok(path.to_owned()),
    }
}

/// Gives a new file the mode and the owner of the one that it replaces.
fn inherit(file: &fs::File, path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let old = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return file.set_permissions(fs::Permissions::from_mode(mode));
        }
        old => old?,
    };
    let new = file.metadata()?;
    if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
        fchown(file, Some(old.uid()), Some(old.gid()))?;
    }
    // After `fchown`, which clears the set-user-id and set-group-id bits.
    file.set_permissions(fs::Permissions::from_mode(old.mode() & 0o7777))
}

fn check(path: &Path, expected: Option<&str>) -> Result<()> {
    if read(path)?.as_deref() == expected {
        return Ok(());
    }
    Err(cannot("write", path)
        .because("another program changed it just now")
        .hint("try again"))
}

fn sync(directory: &Path) -> io::Result<()> {
    fs::File::open(directory)?.sync_all()
}

fn cannot(what: &str, path: &Path) -> Error {
    Error::failed(format!("cannot {what} `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a killed process left beside a settings file goes with the next change.
    #[test]
    fn killed_writers_leftovers_go_with_the_next_change() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let hour = Duration::from_secs(3600);
        let names = [
            (".ckpt-hook-aB3xYz", hour, false),
            (".ckpt-hook-zzzzzz", Duration::ZERO, true),
            (".ckpt-hook-0123456789abcdef-0123456789abcdef", hour, true),
            (".ckpt-hook-notes.md", hour, true),
            ("other", hour, true),
        ];
        for (name, age, _) in names {
            let file = fs::File::create(folder.path().join(name)).expect("a scratch file");
            let now = file.metadata().expect("ours").modified().expect("a time");
            file.set_modified(now - age).expect("ours");
        }
        replace(&folder.path().join("settings.json"), None, "{}", 0o600).expect("writable");
        for (name, _, stays) in names {
            assert_eq!(folder.path().join(name).exists(), stays, "{name}");
        }
    }
}
