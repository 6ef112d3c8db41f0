//! Watches one directory with everything below it, by what the `notify` crate has for the system: FSEvents on macOS.
//! This module does IO: it only reads the workspace, and writes a file of its own into the store.
//!
//! Such systems tell of changes a moment later, and nothing says when all was told. So a file is written into the
//! store and waited for: events come in order, and what came before it is told by then ("cookies" in Watchman's [query
//! synchronization](https://facebook.github.io/watchman/docs/cookies)). A file in the workspace would do as well, but
//! nothing of ours belongs there.

use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Component, Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use notify::event::{CreateKind, ModifyKind, RemoveKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::protocol::{Answer, WatchToken};
use super::watched_directory::{SeenDirectories, WatchEnd, WatchedRoot};
use crate::fs::layout::make_private;
use crate::fs::names::WATCH_MARKS;
use crate::model::path::parent;

/// How long to wait for an event of our own. A hook waits for [`ANSWER_TIMEOUT`](super::ask) for the answer to its question.
const EVENT_TIMEOUT: Duration = Duration::from_millis(40);

/// The watch of a directory with everything below it.
pub(super) struct EventTree {
    root: WatchedRoot,
    /// The directory's path without links, as events have it.
    real: PathBuf,
    /// What is written and waited for.
    mark: PathBuf,
    events: Receiver<notify::Result<Event>>,
    /// Has something to read when there may be events.
    bell: UnixStream,
    /// Ends the watch when it is dropped.
    _watcher: RecommendedWatcher,
}

impl EventTree {
    /// Watches a directory and everything below it, up to `most` directories. `store` is where the files are written
    /// that are waited for. The system watches what is not in view, too.
    pub fn watch(
        root: WatchedRoot,
        most: usize,
        store: &Path,
        _seen: SeenDirectories,
    ) -> Result<Self, WatchEnd> {
        let folder = store.join(WATCH_MARKS);
        make_private(&folder).map_err(|_| WatchEnd)?;
        let [real, folder] = [&root.at(b""), &folder].map(|path| path.canonicalize());
        let (real, folder) = (real.map_err(|_| WatchEnd)?, folder.map_err(|_| WatchEnd)?);
        // The events of two file systems are in no order.
        if !is_on_one_file_system(&real, &folder) {
            return Err(WatchEnd);
        }
        let (sender, events) = mpsc::channel();
        let (bell, ringer) = UnixStream::pair().map_err(|_| WatchEnd)?;
        for end in [&bell, &ringer] {
            end.set_nonblocking(true).map_err(|_| WatchEnd)?;
        }
        let tell = move |event| {
            // If no thread listens, or the bell is full, it has rung.
            let _ = sender.send(event);
            let _ = (&ringer).write(b"!");
        };
        let mut watcher = notify::recommended_watcher(tell).map_err(|_| WatchEnd)?;
        let mut paths = watcher.paths_mut();
        for (path, mode) in [
            (&real, RecursiveMode::Recursive),
            (&folder, RecursiveMode::NonRecursive),
        ] {
            paths.add(path, mode).map_err(|_| WatchEnd)?;
        }
        paths.commit().map_err(|_| WatchEnd)?;
        let mut tree = Self {
            mark: folder.join(&root.token().watch),
            root,
            real,
            events,
            bell,
            _watcher: watcher,
        };
        let read = tree.root.read_all(b"")?;
        // Not the system's limit: a workspace with so many is looked at without hints everywhere.
        (read <= most).then_some(tree).ok_or(WatchEnd)
    }

    /// Takes in the events that were told by now.
    pub fn keep_up(&mut self) -> Result<(), WatchEnd> {
        self.take_in()
    }

    /// Makes an event and waits for it. Returns whether it came in time.
    fn wait_for_own(&mut self) -> Result<bool, WatchEnd> {
        self.take_in()?;
        let end = Instant::now() + EVENT_TIMEOUT;
        // It comes and goes: an event of either may be the first.
        std::fs::write(&self.mark, b"").map_err(|_| WatchEnd)?;
        let _ = std::fs::remove_file(&self.mark);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(event) = self.events.recv_timeout(left) else {
                return Ok(false);
            };
            if self.consider(event)? {
                return Ok(true);
            }
        }
    }

    /// Notes where an event says that something changed. Returns whether it is one of our own.
    fn consider(&mut self, event: notify::Result<Event>) -> Result<bool, WatchEnd> {
        let event = event.map_err(|_| WatchEnd)?;
        // Events were dropped, and it is not known which; or something was mounted or unmounted.
        if event.need_rescan() || event.info() == Some("mount") || event.kind.is_other() {
            return Err(WatchEnd);
        }
        // Nothing changes because a file is opened or closed.
        if event.kind.is_access() {
            return Ok(false);
        }
        let mut is_own = false;
        for path in &event.paths {
            match path.strip_prefix(&self.real) {
                Ok(path) => self.consider_path(event.kind, path)?,
                Err(_) => is_own |= *path == self.mark,
            }
        }
        Ok(is_own)
    }

    fn consider_path(&mut self, kind: EventKind, path: &Path) -> Result<(), WatchEnd> {
        // Git writes there all the time, and no snapshot holds any of it.
        if is_below_git(path) {
            return Ok(());
        }
        let path = path.as_os_str().as_bytes();
        let Some(directory) = parent(path) else {
            self.root.changes.in_directory(path);
            // It was renamed or removed, or one above it was.
            return self.root.check();
        };
        self.root.changes.in_directory(directory);
        self.root.note_file(directory, path)?;
        let is_directory = self
            .root
            .at(path)
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.is_dir());
        match kind {
            EventKind::Modify(ModifyKind::Name(_))
            | EventKind::Create(CreateKind::Folder | CreateKind::Any | CreateKind::Other)
            | EventKind::Remove(RemoveKind::Folder | RemoveKind::Any | RemoveKind::Other)
            | EventKind::Any => self.root.changes.in_tree(path),
            EventKind::Create(_) if is_directory => self.root.changes.in_tree(path),
            _ if is_directory => self.root.changes.in_directory(path),
            _ => return Ok(()),
        }
        if is_directory {
            self.root.read_all(path)?;
        }
        Ok(())
    }
}

impl EventTree {
    /// The descriptor that becomes readable when there are events.
    pub fn queue(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// The watched directory.
    pub fn root(&self) -> &WatchedRoot {
        &self.root
    }

    /// Takes in all pending events, and answers what may have changed since a token.
    pub fn answer(&mut self, token: Option<&WatchToken>) -> Result<Answer, WatchEnd> {
        // What happened together may be told in any order, so the first event of ours says only that the others of its
        // time are being told.
        let is_told = self.wait_for_own()? && self.wait_for_own()?;
        self.root.check()?;
        if is_told {
            return Ok(self.root.answer(token));
        }
        // What is reported too late will be in the next answer.
        Ok(Answer {
            token: Some(self.root.token()),
            places: None,
        })
    }

    /// Takes in the pending events.
    pub fn take_in(&mut self) -> Result<(), WatchEnd> {
        // First, or a ring in between would be lost.
        while matches!((&self.bell).read(&mut [0; 1 << 10]), Ok(length) if length > 0) {}
        while let Ok(event) = self.events.try_recv() {
            self.consider(event)?;
        }
        Ok(())
    }
}

fn is_on_one_file_system(one: &Path, other: &Path) -> bool {
    let [one, other] = [one, other].map(|path| path.symlink_metadata().map(|of| of.dev()).ok());
    one.is_some() && one == other
}

/// Returns whether a path is in a repository's own folder, and not that folder itself.
fn is_below_git(path: &Path) -> bool {
    let above = path.parent().into_iter().flat_map(Path::components);
    above
        .into_iter()
        .any(|component| component == Component::Normal(".git".as_ref()))
}
