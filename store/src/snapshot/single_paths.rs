//! Looks at single paths, and reads or stores them as they are now, without a snapshot. This module does IO.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::io::Errno;

use super::scan::read::{self, ReadOutcome};
use super::scan::sink::Sink;
use crate::error::{Context, Error, Result};
use crate::fs::beneath;
use crate::fs::disk::{self, Stamp};
use crate::model::entry::{Entry, Mode, ObjectId, State, file_type};
use crate::model::path::WorkspacePath;
use crate::objects::Objects;
use crate::objects::hash::ObjectKind;

/// Stores paths in one pack, and returns their states in order. A directory that holds something, and a file that
/// cannot be read, become entries whose bytes are not stored. A pipe, socket or device is an error.
pub(crate) fn store_paths(
    objects: &Objects,
    root: &Path,
    paths: &[WorkspacePath],
) -> Result<Vec<Result<State>>> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let root = beneath::open_workspace(root)?;
    let sink = Sink::new(objects)?;
    let states = paths
        .iter()
        .map(|path| store_into(&sink, &root, path))
        .collect();
    sink.finish()?;
    Ok(states)
}

/// Stores one path.
pub(crate) fn store_path(objects: &Objects, root: &Path, path: &WorkspacePath) -> Result<State> {
    let mut states = store_paths(objects, root, std::slice::from_ref(path))?;
    states.pop().unwrap_or(Ok(None))
}

/// Returns the stamps of paths, in order; `None` for a path that is absent or cannot be looked at.
pub(crate) fn stamps(root: &Path, paths: &[WorkspacePath]) -> Result<Vec<Option<Stamp>>> {
    let root = beneath::open_workspace(root)?;
    let mut anchor = beneath::Anchor::default();
    let mut stamp = |path: &WorkspacePath| {
        let directory = anchor.open_directory(root.as_fd(), path.directory()).ok()?;
        beneath::stat(directory.as_fd(), path.name()).ok()
    };
    Ok(paths.iter().map(&mut stamp).collect())
}

fn store_into(sink: &Sink<'_>, root: &OwnedFd, path: &WorkspacePath) -> Result<State> {
    let what = || format!("cannot capture `{}`", path.to_text());
    let found = beneath::open_directory(root.as_fd(), path.directory()).and_then(|directory| {
        let stamp = beneath::stat(directory.as_fd(), path.name())?;
        Ok((directory, stamp))
    });
    let (directory, stamp) = match found {
        Ok(found) => found,
        Err(error) if beneath::is_absence(error) => return Ok(None),
        Err(error) => return Err(std::io::Error::from(error)).context(what),
    };
    let mode = Mode::from_stat(stamp.mode)
        .ok_or_else(|| Error::failed(format!("{}: it is special", what())))?;
    let captured = match stamp.file_type() {
        file_type::DIRECTORY => Ok(Some(emptiness(
            &beneath::open_directory(root.as_fd(), path.as_bytes()),
            mode,
        ))),
        file_type::LINK => link(&directory, path.name(), sink),
        _ => file(&directory, path.name(), sink, mode),
    };
    captured.context(what)
}

/// Returns for each path, in order, whether it may exist. A path that cannot be looked at may. The directory of
/// neighbouring paths is opened once.
pub(crate) fn may_be_there(root: &Path, paths: &[WorkspacePath]) -> Result<Vec<bool>> {
    let root = beneath::open_workspace(root)?;
    let mut last = LastDirectory { root, opened: None };
    Ok(paths.iter().map(|path| last.may_hold(path)).collect())
}

/// The directory that was opened last, by its path, or why it could not be opened. Paths come sorted, so that
/// neighbours share it.
struct LastDirectory {
    root: OwnedFd,
    opened: Option<(Vec<u8>, std::result::Result<OwnedFd, Errno>)>,
}

impl LastDirectory {
    /// Returns whether a path may exist.
    fn may_hold(&mut self, path: &WorkspacePath) -> bool {
        let above = path.directory();
        let (_, directory) = match self.opened.take().filter(|(last, _)| last == above) {
            Some(last) => self.opened.insert(last),
            None => {
                let directory = beneath::open_directory(self.root.as_fd(), above);
                self.opened.insert((above.to_vec(), directory))
            }
        };
        let found = directory.as_ref().map_err(|error| *error);
        let found = found.and_then(|directory| beneath::stat(directory.as_fd(), path.name()));
        !found.is_err_and(beneath::is_absence)
    }
}

fn emptiness(directory: &std::result::Result<OwnedFd, Errno>, mode: Mode) -> Entry {
    let names = directory
        .as_ref()
        .ok()
        .and_then(|directory| disk::names(directory.as_fd()).ok());
    let is_empty = names.is_some_and(|names| names.is_empty());
    Entry {
        mode,
        blob: is_empty.then_some(ObjectId::EMPTY_TREE),
    }
}

fn link(directory: &impl AsFd, name: &[u8], sink: &Sink<'_>) -> Result<State> {
    match rustix::fs::readlinkat(directory, name, Vec::new()) {
        Ok(target) => Ok(Some(Entry {
            mode: Mode::SYMLINK,
            blob: sink.add(ObjectKind::Blob, target.as_bytes())?,
        })),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(std::io::Error::from(error)).context(|| "cannot read the link"),
    }
}

fn file(directory: &impl AsFd, name: &[u8], sink: &Sink<'_>, mode: Mode) -> Result<State> {
    let entry = |stamp: Stamp, blob| {
        let mode = Mode::file(stamp.mode);
        Some(Entry { mode, blob })
    };
    Ok(
        match read::file(directory.as_fd(), name, &|_| false)
            .map_err(std::io::Error::from)
            .context(|| "cannot read it")?
        {
            ReadOutcome::Bytes(bytes, stamp, _) => {
                entry(stamp, sink.add(ObjectKind::Blob, &bytes)?)
            }
            ReadOutcome::Large(before) => {
                let file = beneath::open_file(directory.as_fd(), name)
                    .map_err(std::io::Error::from)
                    .context(|| "cannot open it")?;
                let mut file = std::fs::File::from(file);
                let blob = sink.add_stream(before.size, &mut file)?;
                let after = Stamp::of(
                    &rustix::fs::fstat(&file)
                        .map_err(std::io::Error::from)
                        .context(|| "cannot read it")?,
                );
                // If it was written to meanwhile, the bytes may be of two versions.
                entry(after, blob.filter(|_| before == after))
            }
            ReadOutcome::Gone => None,
            ReadOutcome::Gap(_) | ReadOutcome::Other => Some(Entry { mode, blob: None }),
        },
    )
}

/// The present content of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Now {
    /// The path does not exist.
    Nothing,
    /// A regular file with these bytes.
    File(Vec<u8>),
    /// A regular file that is larger than the limit.
    TooLarge,
    /// A symbolic link, a directory or a special file.
    NoFile(&'static str),
}

/// Reads a path, at most `limit` bytes of it.
pub(crate) fn read_now(root: &Path, path: &WorkspacePath, limit: u64) -> Result<Now> {
    let what = || format!("cannot read `{}`", path.to_text());
    let found = beneath::open_root(root).and_then(|root| {
        let directory = beneath::open_directory(root.as_fd(), path.directory())?;
        let stamp = beneath::stat(directory.as_fd(), path.name())?;
        Ok((directory, stamp))
    });
    let (directory, stamp) = match found {
        Ok(found) => found,
        Err(error) if beneath::is_absence(error) => return Ok(Now::Nothing),
        Err(error) => return Err(std::io::Error::from(error)).context(what),
    };
    match stamp.file_type() {
        file_type::REGULAR => {}
        file_type::LINK => return Ok(Now::NoFile("a symbolic link")),
        file_type::DIRECTORY => return Ok(Now::NoFile("a directory")),
        _ => return Ok(Now::NoFile("a special file")),
    }
    let file = beneath::open_file(directory.as_fd(), path.name())
        .map(File::from)
        .map_err(std::io::Error::from)
        .context(what)?;
    let mut bytes = Vec::new();
    // Not by the size of the look: the file may have grown since.
    file.take(limit + 1).read_to_end(&mut bytes).context(what)?;
    Ok(if bytes.len() as u64 > limit {
        Now::TooLarge
    } else {
        Now::File(bytes)
    })
}
