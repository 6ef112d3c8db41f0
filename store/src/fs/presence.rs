//! Finds out what exists. An error is not an absence: a caller that takes it for one would remove, or skip, what could
//! not be seen for a moment. This module reads the disk.

use std::fs::{DirEntry, Metadata};
use std::io::ErrorKind;
use std::path::Path;

use crate::error::{Context, Result};

/// Returns the metadata of a path, without following a link, or `None` if it does not exist. Fails if that cannot be
/// found out.
pub(crate) fn metadata(path: &Path) -> Result<Option<Metadata>> {
    match path.symlink_metadata() {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if is_absence(error.kind()) => Ok(None),
        Err(error) => Err(error).context(|| format!("cannot find `{}`", path.display())),
    }
}

/// Returns whether a directory is at a path. Fails if that cannot be found out.
pub(crate) fn is_directory(path: &Path) -> Result<bool> {
    Ok(metadata(path)?.is_some_and(|metadata| metadata.is_dir()))
}

/// Returns whether a directory is at a path, not a link to one, and nothing is in it. One that cannot be read is not known
/// to be empty.
pub(crate) fn is_empty_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
        && path
            .read_dir()
            .is_ok_and(|mut names| names.next().is_none())
}

/// Returns all entries of a directory, or none if it does not exist. Fails if any of them cannot be read.
pub(crate) fn entries(directory: &Path) -> Result<Vec<DirEntry>> {
    let what = || format!("cannot list `{}`", directory.display());
    match directory.read_dir() {
        Ok(entries) => entries.collect::<std::io::Result<_>>().context(what),
        Err(error) if is_absence(error.kind()) => Ok(Vec::new()),
        Err(error) => Err(error).context(what),
    }
}

/// Removes a file if it exists. Fails if it may still exist.
pub(crate) fn remove_file(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if !is_absence(error.kind()) => {
            Err(error).context(|| format!("cannot remove `{}`", path.display()))
        }
        _ => Ok(()),
    }
}

fn is_absence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is not there is no error and what cannot be told is one.
    ///
    /// Invariant `truth/error-not-absence`.
    #[test]
    fn absence_is_no_error_and_doubt_is_one() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("file");
        std::fs::write(&file, "1").expect("a file");
        let missing = directory.path().join("missing");
        for absent in [missing.clone(), file.join("below")] {
            assert!(metadata(&absent).expect("it can be told").is_none());
            assert!(!is_directory(&absent).expect("it can be told"));
            assert!(entries(&absent).expect("it can be told").is_empty());
        }
        assert!(is_directory(directory.path()).expect("it can be told"));
        assert_eq!(entries(directory.path()).expect("it can be read").len(), 1);
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&link, &link).expect("a link");
        let empty = directory.path().join("empty");
        std::fs::create_dir(&empty).expect("a directory");
        assert!(is_empty_directory(&empty));
        let to_empty = directory.path().join("to empty");
        std::os::unix::fs::symlink(&empty, &to_empty).expect("a link");
        for other in [directory.path(), &file, &missing, &link, &to_empty] {
            assert!(!is_empty_directory(other), "{other:?}");
        }
        assert!(!is_directory(&link).expect("a link is a link"));
        for untold in [&link.join("below"), &directory.path().join("x".repeat(300))] {
            assert!(metadata(untold).is_err(), "{untold:?}");
            assert!(is_directory(untold).is_err());
            assert!(entries(untold).is_err());
        }
    }
}
