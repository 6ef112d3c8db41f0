//! Watches one directory with everything below it, by the kernel's notifications (`inotify(7)`). This module does IO,
//! but only reads.
//!
//! A directory is watched before it is read, so that nothing is missed in between. If something cannot be watched, or
//! is reported only in part, the watch ends: then anything may have changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use uuid::Uuid;

use super::changes::ChangeTimes;
use super::protocol::{Answer, ChangedPlaces, WatchToken};
use crate::model::path::join;

/// The events of a directory and its entries that are of interest.
const OF_INTEREST: WatchFlags = WatchFlags::MODIFY
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW);

/// The most directories with files that have several names. They are in every answer, because another name may be
/// outside.
const MOST_LINKED: usize = 1_000;

/// `OVERLAYFS_SUPER_MAGIC`: changes in its lower layers are not reported.
const OVERLAY: i64 = 0x794c_7630;

/// A watch ends, because something would not be reported.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WatchEnd;

/// The watch of a directory with everything below it.
pub(super) struct WatchTree {
    root: PathBuf,
    identity: (u64, u64),
    /// Its name. Another watch of the same directory has another name.
    name: String,
    queue: OwnedFd,
    paths: HashMap<i32, Vec<u8>>,
    numbers: BTreeMap<Vec<u8>, i32>,
    /// The directories with files that have several names.
    linked: BTreeSet<Vec<u8>>,
    changes: ChangeTimes,
    most: usize,
}

impl WatchTree {
    /// Watches a directory with this identity and everything below it, up to `most` directories.
    pub fn watch(root: &Path, identity: (u64, u64), most: usize) -> Result<Self, WatchEnd> {
        if identity_of(root) != Some(identity) || is_told_in_part(root) {
            return Err(WatchEnd);
        }
        let flags = CreateFlags::NONBLOCK | CreateFlags::CLOEXEC;
        let mut tree = Self {
            root: root.to_owned(),
            identity,
            name: Uuid::new_v4().simple().to_string(),
            queue: inotify::init(flags).map_err(|_| WatchEnd)?,
            paths: HashMap::new(),
            numbers: BTreeMap::new(),
            linked: BTreeSet::new(),
            changes: ChangeTimes::default(),
            most,
        };
        tree.add(b"")?;
        match tree.numbers.contains_key(&b""[..]) {
            true => Ok(tree),
            false => Err(WatchEnd),
        }
    }

    /// Returns the descriptor that becomes readable when there are events.
    pub fn queue(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }

    /// Returns whether a directory at this path, with this identity, is what it watches.
    pub fn is_of(&self, root: &Path, identity: (u64, u64)) -> bool {
        self.root == root && self.identity == identity
    }

    /// Returns whether it watches what is, or was, at this path.
    pub fn is_at(&self, root: &Path) -> bool {
        self.root == root
    }

    /// Returns what may have changed since a token. It takes in all pending events first.
    pub fn answer(&mut self, token: Option<&WatchToken>) -> Result<Answer, WatchEnd> {
        self.take_in()?;
        // A directory above may have been renamed, which is no event of this one.
        if identity_of(&self.root) != Some(self.identity) {
            return Err(WatchEnd);
        }
        let moment = token.filter(|token| token.watch == self.name);
        let places = moment.and_then(|token| self.changes.since(token.sequence));
        let with_linked = |places: ChangedPlaces| ChangedPlaces {
            directories: places.directories.union(&self.linked).cloned().collect(),
            ..places
        };
        Ok(Answer {
            token: Some(WatchToken {
                watch: self.name.clone(),
                sequence: self.changes.now(),
            }),
            places: places.map(with_linked),
        })
    }

    /// Takes in all events in the kernel's queue.
    pub fn take_in(&mut self) -> Result<(), WatchEnd> {
        loop {
            let told = self.told()?;
            if told.is_empty() {
                return Ok(());
            }
            for event in told {
                self.consider(&event)?;
            }
        }
    }

    /// Returns the next events, or `None` if there are no more for now.
    fn told(&self) -> Result<Vec<KernelEvent>, WatchEnd> {
        let mut room = [MaybeUninit::uninit(); 16 << 10];
        let mut reader = Reader::new(&self.queue, &mut room);
        let mut told = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => told.push(KernelEvent {
                    number: event.wd(),
                    what: event.events(),
                    name: event.file_name().map(|name| name.to_bytes().to_vec()),
                }),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(told),
                Err(_) => return Err(WatchEnd),
            }
            if reader.is_buffer_empty() {
                return Ok(told);
            }
        }
    }

    fn consider(&mut self, event: &KernelEvent) -> Result<(), WatchEnd> {
        let what = event.what;
        // Events are missing after an overflow, and nobody can say which.
        if what.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT) {
            return Err(WatchEnd);
        }
        // An event of a directory that is no longer watched. It came, went or moved, which is an event of the one
        // above, too.
        let Some(path) = self.paths.get(&event.number).cloned() else {
            return Ok(());
        };
        let is_root = path.is_empty();
        if is_root && what.intersects(ReadFlags::MOVE_SELF | ReadFlags::DELETE_SELF) {
            return Err(WatchEnd);
        }
        if what.contains(ReadFlags::IGNORED) {
            self.forget_number(event.number, &path);
            return if is_root { Err(WatchEnd) } else { Ok(()) };
        }
        self.changes.in_directory(&path);
        match &event.name {
            Some(name) if what.contains(ReadFlags::ISDIR) => {
                self.consider_directory(what, &join(&path, name))
            }
            Some(name) if what.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) => {
                // A write through another name is reported only to the directory of that one.
                let is_linked = self.at(&join(&path, name)).symlink_metadata();
                if is_linked.is_ok_and(|metadata| metadata.nlink() > 1) {
                    self.note_linked(&path)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn consider_directory(&mut self, what: ReadFlags, path: &[u8]) -> Result<(), WatchEnd> {
        let comes = what.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
        let goes = what.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM);
        // A directory that could not be entered may be open now.
        let opens = what.contains(ReadFlags::ATTRIB) && !self.numbers.contains_key(path);
        if comes || goes {
            // A watch follows its inode: after a move, its events would be told of the old path.
            self.drop_tree(path);
        }
        if comes || opens {
            self.add(path)?;
        }
        if comes || goes || opens {
            self.changes.in_tree(path);
        } else {
            self.changes.in_directory(path);
        }
        Ok(())
    }

    /// Watches a directory, reads it, and goes on with its subdirectories. One that is gone again, or cannot be
    /// entered, is left out: the one above gets an event when that changes.
    fn add(&mut self, path: &[u8]) -> Result<(), WatchEnd> {
        let mut open = vec![path.to_vec()];
        while let Some(path) = open.pop() {
            let at = self.at(&path);
            let number = match inotify::add_watch(&self.queue, &at, OF_INTEREST) {
                Ok(number) => number,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => continue,
                // Most often this is the limit.
                Err(_) => return Err(WatchEnd),
            };
            if let Some(other) = self.paths.insert(number, path.clone()) {
                // The directory has two names: it was moved, and the event for that is still to come, or it is mounted
                // twice.
                self.numbers.remove(&other);
                self.changes.in_tree(&other);
            }
            self.numbers.insert(path.clone(), number);
            if self.numbers.len() > self.most {
                return Err(WatchEnd);
            }
            self.read(&at, &path, &mut open)?;
        }
        Ok(())
    }

    fn read(&mut self, at: &Path, path: &[u8], open: &mut Vec<Vec<u8>>) -> Result<(), WatchEnd> {
        let Ok(entries) = at.read_dir() else {
            return Ok(());
        };
        let mut is_linked = false;
        for entry in entries {
            // An entry that cannot be read may be a directory.
            let entry = entry.map_err(|_| WatchEnd)?;
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.is_dir() {
                // A mounted file system, or what is under it.
                if metadata.dev() != self.identity.0 || metadata.ino() != entry.ino() {
                    return Err(WatchEnd);
                }
                // Git writes there all the time, and no snapshot holds any of it.
                if entry.file_name() != ".git" {
                    open.push(join(path, entry.file_name().as_bytes()));
                }
            } else {
                is_linked |= metadata.is_file() && metadata.nlink() > 1;
            }
        }
        if is_linked {
            self.note_linked(path)?;
        }
        Ok(())
    }

    fn note_linked(&mut self, path: &[u8]) -> Result<(), WatchEnd> {
        self.linked.insert(path.to_vec());
        (self.linked.len() <= MOST_LINKED)
            .then_some(())
            .ok_or(WatchEnd)
    }

    /// Ends the watch of a directory and of everything that was below it.
    fn drop_tree(&mut self, path: &[u8]) {
        let start = [path, b"/"].concat();
        let below = self
            .numbers
            .range(start.clone()..)
            .take_while(|(below, _)| below.starts_with(&start));
        let own = self.numbers.get_key_value(path);
        let gone: Vec<(Vec<u8>, i32)> = below
            .chain(own)
            .map(|(path, number)| (path.clone(), *number))
            .collect();
        for (path, number) in gone {
            // The kernel may have ended it already.
            let _ = inotify::remove_watch(&self.queue, number);
            self.forget_number(number, &path);
            self.linked.remove(&path);
        }
    }

    fn forget_number(&mut self, number: i32, path: &[u8]) {
        self.paths.remove(&number);
        if self.numbers.get(path) == Some(&number) {
            self.numbers.remove(path);
        }
    }

    fn at(&self, path: &[u8]) -> PathBuf {
        match path {
            b"" => self.root.clone(),
            path => self.root.join(OsStr::from_bytes(path)),
        }
    }
}

/// An event from the kernel.
struct KernelEvent {
    number: i32,
    what: ReadFlags,
    name: Option<Vec<u8>>,
}

fn identity_of(path: &Path) -> Option<(u64, u64)> {
    let metadata = path.symlink_metadata().ok()?;
    Some((metadata.dev(), metadata.ino())).filter(|_| metadata.is_dir())
}

/// Returns whether the kernel does not report all changes on a file system: others write there, too, or to a lower
/// layer.
fn is_told_in_part(root: &Path) -> bool {
    let Ok(opened) = std::fs::File::open(root) else {
        return true;
    };
    crate::fs::system::is_remote(opened.as_fd())
        || rustix::fs::fstatfs(&opened).map_or(true, |stat| stat.f_type & 0xffff_ffff == OVERLAY)
}
