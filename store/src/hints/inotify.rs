//! Watches one directory with everything below it, by the kernel's notifications (`inotify(7)`). This module does IO,
//! but only reads.
//!
//! A directory is watched before it is read, so that nothing is missed in between. If something cannot be watched, or
//! is reported only in part, the watch ends: then anything may have changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::protocol::{Answer, WatchToken};
use super::watched_directory::{SeenDirectories, WatchEnd, WatchedRoot};
use crate::model::path::{is_below, join};

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

/// The watch of a directory with everything below it.
pub(super) struct WatchTree {
    root: WatchedRoot,
    queue: OwnedFd,
    paths: HashMap<i32, Vec<u8>>,
    numbers: BTreeMap<Vec<u8>, i32>,
    most: usize,
    seen: SeenDirectories,
    /// The directories that came, with the moment, until a look has told whether they are in view.
    young: Vec<(Vec<u8>, u64)>,
    /// The moment up to which a look has seen all.
    looked: Option<u64>,
    /// Whether something may be left out that came before the watch began, and is in view.
    is_new: bool,
}

impl WatchTree {
    /// Watches a directory and what was seen below it, up to `most` directories. The kernel's queue is all that this
    /// needs, and not the store.
    pub fn watch(
        root: WatchedRoot,
        most: usize,
        _store: &Path,
        seen: SeenDirectories,
    ) -> Result<Self, WatchEnd> {
        let flags = CreateFlags::NONBLOCK | CreateFlags::CLOEXEC;
        let known = (seen.read)(&seen.folder);
        let mut tree = Self {
            root,
            queue: inotify::init(flags).map_err(|_| WatchEnd)?,
            paths: HashMap::new(),
            numbers: BTreeMap::new(),
            most,
            seen,
            young: Vec::new(),
            looked: None,
            is_new: true,
        };
        tree.add(b"", known.as_ref())?;
        match tree.numbers.contains_key(&b""[..]) {
            true => Ok(tree),
            false => Err(WatchEnd),
        }
    }

    /// Takes in the events that were told by now, and ends the watch of what a look since has not seen.
    pub fn keep_up(&mut self) -> Result<(), WatchEnd> {
        self.take_in()?;
        let Some(looked) = self.looked.take() else {
            return Ok(());
        };
        let is_due = |young: &mut (Vec<u8>, u64)| young.1 <= looked;
        let due: Vec<_> = self.young.extract_if(.., is_due).collect();
        if due.is_empty() && !self.is_new {
            return Ok(());
        }
        let Some(known) = (self.seen.read)(&self.seen.folder) else {
            return Ok(());
        };
        self.is_new = false;
        for (path, _) in due {
            for unseen in self.topmost_unseen(&path, &known) {
                self.drop_tree(&unseen);
                self.root.left_out.insert(unseen);
            }
        }
        let came_in_view: Vec<_> = self.root.left_out.intersection(&known).cloned().collect();
        for path in came_in_view {
            self.root.left_out.remove(&path);
            self.add(&path, Some(&known))?;
            self.root.changes.in_tree(&path);
        }
        Ok(())
    }

    /// Returns the watched directories at and below a path that a look has not seen, without those below them.
    fn topmost_unseen(&self, path: &[u8], known: &BTreeSet<Vec<u8>>) -> Vec<Vec<u8>> {
        let mut unseen: Vec<Vec<u8>> = Vec::new();
        for below in self.at_and_below(path) {
            let is_covered = unseen.last().is_some_and(|last| is_below(below, last));
            if !is_covered && !known.contains(below) {
                unseen.push(below.clone());
            }
        }
        unseen
    }

    /// Returns the watched directories at and below a path: that itself, and then those below, by path.
    fn at_and_below(&self, path: &[u8]) -> impl Iterator<Item = &Vec<u8>> {
        let start = [path, b"/"].concat();
        let own = self.numbers.get_key_value(path).map(|(own, _)| own);
        let below = self.numbers.range(start.clone()..).map(|(below, _)| below);
        own.into_iter()
            .chain(below.take_while(move |below| below.starts_with(&start)))
    }

    /// Returns the next events, or `None` if there are no more for now.
    fn next_events(&self) -> Result<Vec<KernelEvent>, WatchEnd> {
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
        // Events are missing after an overflow, and it is not known which.
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
        self.root.changes.in_directory(&path);
        match &event.name {
            Some(name) if what.contains(ReadFlags::ISDIR) => {
                self.consider_directory(what, &join(&path, name))
            }
            Some(name) if what.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) => {
                self.root.note_file(&path, &join(&path, name))
            }
            _ => Ok(()),
        }
    }

    fn consider_directory(&mut self, what: ReadFlags, path: &[u8]) -> Result<(), WatchEnd> {
        let comes = what.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
        let goes = what.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM);
        // A directory that could not be entered may be open now.
        let is_known = self.numbers.contains_key(path) || self.root.left_out.contains(path);
        let opens = what.contains(ReadFlags::ATTRIB) && !is_known;
        if comes || goes {
            // A watch follows its inode: after a move, its events would be reported for the old path.
            self.drop_tree(path);
        }
        if comes || opens {
            self.add(path, None)?;
        }
        if comes || goes || opens {
            self.root.changes.in_tree(path);
            self.young.retain(|(young, _)| young != path);
            self.young.push((path.to_vec(), self.root.changes.now()));
        } else {
            self.root.changes.in_directory(path);
        }
        Ok(())
    }

    /// Watches a directory, reads it, and goes on with its subdirectories, or with those that are known. One that is
    /// gone again, or cannot be entered, is passed over: the one above gets an event when that changes.
    fn add(&mut self, path: &[u8], known: Option<&BTreeSet<Vec<u8>>>) -> Result<(), WatchEnd> {
        let mut open = vec![path.to_vec()];
        while let Some(path) = open.pop() {
            let number = match inotify::add_watch(&self.queue, self.root.at(&path), OF_INTEREST) {
                Ok(number) => number,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => continue,
                // Most often this is the limit.
                Err(_) => return Err(WatchEnd),
            };
            if let Some(other) = self.paths.insert(number, path.clone()) {
                // The directory has two names: it was moved, and the event for that is still to come, or it is mounted
                // twice.
                self.numbers.remove(&other);
                self.root.changes.in_tree(&other);
            }
            self.numbers.insert(path.clone(), number);
            if self.numbers.len() > self.most {
                return Err(WatchEnd);
            }
            let below = self.root.read(&path)?.into_iter();
            let is_known = |path: &Vec<u8>| known.is_none_or(|known| known.contains(path));
            let (wanted, rest): (Vec<_>, Vec<_>) = below.partition(is_known);
            open.extend(wanted);
            self.root.left_out.extend(rest);
        }
        Ok(())
    }

    /// Ends the watch of a directory and of everything that was below it.
    fn drop_tree(&mut self, path: &[u8]) {
        let gone: Vec<(Vec<u8>, i32)> = self
            .at_and_below(path)
            .filter_map(|path| Some((path.clone(), *self.numbers.get(path)?)))
            .collect();
        let is_kept = |left_out: &Vec<u8>| left_out != path && !is_below(left_out, path);
        self.root.left_out.retain(is_kept);
        for (path, number) in gone {
            // The kernel may have ended it already.
            let _ = inotify::remove_watch(&self.queue, number);
            self.forget_number(number, &path);
            self.root.forget(&path);
        }
    }

    fn forget_number(&mut self, number: i32, path: &[u8]) {
        self.paths.remove(&number);
        if self.numbers.get(path) == Some(&number) {
            self.numbers.remove(path);
        }
    }
}

impl WatchTree {
    /// The descriptor that becomes readable when there are events.
    pub fn queue(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }

    /// The watched directory.
    pub fn root(&self) -> &WatchedRoot {
        &self.root
    }

    /// Takes in all pending events, and answers what may have changed since a token.
    pub fn answer(&mut self, token: Option<&WatchToken>) -> Result<Answer, WatchEnd> {
        self.take_in()?;
        self.root.check()?;
        let own = token.filter(|token| self.root.knows(token));
        // What came until then is in the snapshot that the token belongs to, or not in view.
        self.looked = own.map(|token| token.sequence).or(self.looked);
        Ok(self.root.answer(token))
    }

    /// Takes in the pending events.
    pub fn take_in(&mut self) -> Result<(), WatchEnd> {
        loop {
            let told = self.next_events()?;
            if told.is_empty() {
                return Ok(());
            }
            for event in told {
                self.consider(&event)?;
            }
        }
    }
}

/// An event from the kernel.
struct KernelEvent {
    number: i32,
    what: ReadFlags,
    name: Option<Vec<u8>>,
}
