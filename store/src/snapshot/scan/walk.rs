//! Looks at directories and reads what changed in them, in parallel. This module does IO.
//!
//! A task is one directory, or some files of one. A directory's listing is made from its names (read again only if they
//! may have changed); each entry's stamp is compared with the remembered one, and files that differ are read and
//! stored.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use rustix::io::Errno;

use super::directory::Open;
use super::listing::{ItemKind, ListedItem, Listing, ListingState};
use super::queue::TaskQueue;
use super::read::{self, ReadOutcome};
use super::sink::Sink;
use crate::error::{Context, Error, Result, contained};
use crate::fs::beneath::{self, Anchor};
use crate::fs::disk::{self, Stamp};
use crate::fs::lease::{self, Writers};
use crate::fs::system;
use crate::fs::threads;
use crate::model::FileTime;
use crate::model::entry::{ObjectId, file_type};
use crate::model::path::{PathKind, join, parent};
use crate::model::progress::SnapshotProgress;
use crate::objects::hash::{self, ObjectKind};
use crate::snapshot::rules::{DirectoryView, Matcher, Neighbours};
use crate::snapshot::{GapReason, ReadFailure};

/// See [`Walk::listed`].
type Listed<'a> = &'a (dyn Fn(&[u8], &dyn Fn(&[u8]) -> bool) + Sync);

/// The state that all tasks share.
pub(crate) struct Walk<'a> {
    /// The workspace's root, open.
    pub root: OwnedFd,
    /// The store's directory: device and inode.
    pub store: Option<(u64, u64)>,
    /// Decides what is in view.
    pub matcher: &'a Matcher<'a>,
    /// Returns whether a path, or something below a directory, is captured even if ignored.
    pub is_forced: &'a (dyn Fn(&[u8], PathKind) -> bool + Sync),
    /// Returns whether the repository tracks something below a directory. It reads the index.
    pub is_tracked: &'a (dyn Fn(&[u8]) -> bool + Sync),
    /// Returns whether a file is captured whatever its size.
    pub is_any_size: &'a (dyn Fn(&[u8]) -> bool + Sync),
    /// The size in bytes over which other files are gaps.
    pub max_file_size: u64,
    /// Returns the remembered listing of a directory.
    pub remembered: &'a (dyn Fn(&[u8]) -> Option<Listing> + Sync),
    /// Returns the remembered view of a directory.
    pub remembered_view: &'a (dyn Fn(&[u8]) -> Option<DirectoryView> + Sync),
    /// Returns the id of a file's blob, if the user's index knows it and it is stored.
    pub seeded: &'a (dyn Fn(&[u8], &Stamp) -> Option<ObjectId> + Sync),
    /// Called for each directory whose names were read, with a function that returns whether a name exists in it.
    pub listed: Listed<'a>,
    /// The destination of objects.
    pub sink: &'a Sink<'a>,
    /// The moment before the scan began, by the clock of file times.
    pub now: FileTime,
    /// Whether the file system is remote, so that directory times cannot be trusted.
    pub is_remote: bool,
    /// Whether the file system tells of every writer.
    pub writers: &'a Writers,
    /// The times at which it stops.
    pub limits: Option<TimeLimits>,
    /// The same as a number of files, for a test.
    #[cfg(debug_assertions)]
    pub most_files: Option<u64>,
    /// Whether the last look was stopped, so that what it read is not read again before the rest.
    pub goes_on: bool,
    /// Whether something was not looked at because the time was up.
    pub is_late: AtomicBool,
    /// Called with the progress.
    pub progress: Option<&'a (dyn Fn(SnapshotProgress) + Sync)>,
    /// Files looked at.
    pub files: AtomicU64,
    /// Bytes read.
    pub bytes: AtomicU64,
    /// The significant lines of the ignore files that ignore themselves, by directory.
    pub watched: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
    /// The times of changes that the stamps do not show, by path: see [`Walk::note_time`].
    pub times: Mutex<BTreeMap<Vec<u8>, FileTime>>,
}

/// Until when a look goes on. What it found has to be stored before its deadline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeLimits {
    /// From then on, no more files are read.
    pub reading: Instant,
    /// From then on, no more directories are listed.
    pub listing: Instant,
}

impl TimeLimits {
    /// Returns the limits of a look that begins now.
    pub fn before(deadline: Instant) -> Self {
        let now = Instant::now();
        let left = deadline.saturating_duration_since(now);
        Self {
            reading: now + left / 2,
            listing: now + left / 4 * 3,
        }
    }
}

/// One piece of work.
pub(crate) enum Task {
    /// A directory.
    Directory {
        /// Its path.
        path: Vec<u8>,
        /// Which part of it is captured.
        view: DirectoryView,
        /// Whether its remembered names can be used.
        names: RememberedNames,
    },
    /// Files of a directory.
    Files {
        /// The directory's path.
        path: Vec<u8>,
        /// The files.
        files: Vec<UnreadFile>,
    },
}

/// A file to be read.
#[derive(Clone)]
pub(crate) struct UnreadFile {
    /// Its name.
    pub name: Vec<u8>,
    /// The remembered stamp and content, if it still has that stamp, which is too young to be trusted.
    pub remembered: Option<(Stamp, ObjectId)>,
    /// The stamp that it had at the last look.
    pub before: Option<Stamp>,
}

impl UnreadFile {
    /// Returns the item of the file if it is not read in time: what is remembered of one that seems the same.
    fn late(&self, stamp: Stamp) -> ListedItem {
        match self.remembered {
            Some((remembered, id)) if remembered == stamp => ListedItem {
                name: self.name.clone(),
                stamp,
                is_settled: false,
                kind: ItemKind::Content(id),
            },
            _ => ListedItem::gap(&self.name, stamp, GapReason::Late),
        }
    }
}

/// Which of the remembered names are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RememberedNames {
    /// Those of the directory, if its stamp is the same.
    Known,
    /// None, because what is forced into view changed.
    Again,
    /// None, here and in all directories below, because rules changed.
    AgainBelow,
}

/// The findings of one thread.
#[derive(Default)]
pub(crate) struct ThreadFindings {
    /// Directories, with `None` for one that vanished.
    pub listings: Vec<(Vec<u8>, Option<Listing>)>,
    /// The directories among them that were not remembered, or whose rules changed.
    pub fresh: Vec<Vec<u8>>,
    /// Files of listings that other tasks made, possibly on other threads: directory, name, and the item, or `None` if
    /// the file vanished.
    pub files: Vec<(Vec<u8>, Vec<u8>, Option<ListedItem>)>,
    /// Files to be streamed: directory and name.
    pub large: Vec<(Vec<u8>, Vec<u8>)>,
    anchor: Anchor,
}

impl Walk<'_> {
    /// Looks at the directories, and at those below that were not remembered.
    pub fn run(&self, tasks: Vec<Task>, threads: usize) -> Result<Vec<ThreadFindings>> {
        TaskQueue::run(tasks, threads, |task, found: &mut ThreadFindings, queue| {
            match task {
                Task::Directory { path, view, names } => {
                    if self.is_listing_over(&path)? {
                        let late = Listing::unseen(view, GapReason::Late);
                        found.listings.push((path, Some(late)));
                        return Ok(());
                    }
                    let old = (self.remembered)(&path);
                    if old.is_none() || names == RememberedNames::AgainBelow {
                        found.fresh.push(path.clone());
                    }
                    let task = DirectoryTask {
                        path: &path,
                        view,
                        names,
                        old: old.as_ref(),
                    };
                    let listing = self.directory(&task, queue, &mut found.anchor)?;
                    if listing.is_none() {
                        self.note_gone_from(parent(&path));
                    }
                    found.listings.push((path, listing));
                }
                Task::Files { path, files } => self.files(path, files, found)?,
            }
            Ok(())
        })
    }

    /// Returns whether the rest of the time is needed for what was found, and notes that. Fails at the root: then nothing
    /// was looked at.
    fn is_listing_over(&self, path: &[u8]) -> Result<bool> {
        let is_over = self
            .limits
            .is_some_and(|limits| Instant::now() >= limits.listing);
        #[cfg(debug_assertions)]
        let is_over = is_over || !path.is_empty() && self.has_read_most();
        if is_over && path.is_empty() {
            return Err(Error::late("the snapshot was not done in time"));
        }
        self.is_late.fetch_or(is_over, Ordering::Relaxed);
        Ok(is_over)
    }

    /// Returns whether the rest of the time is needed for what was read, and notes that.
    fn is_time_up(&self) -> bool {
        let is_up = self
            .limits
            .is_some_and(|limits| Instant::now() >= limits.reading);
        #[cfg(debug_assertions)]
        let is_up = is_up || self.has_read_most();
        self.is_late.fetch_or(is_up, Ordering::Relaxed);
        is_up
    }

    #[cfg(debug_assertions)]
    fn has_read_most(&self) -> bool {
        self.most_files
            .is_some_and(|most| self.files.load(Ordering::Relaxed) >= most)
    }

    fn directory(
        &self,
        look: &DirectoryTask<'_>,
        queue: &TaskQueue<Task>,
        anchor: &mut Anchor,
    ) -> Result<Option<Listing>> {
        let &DirectoryTask {
            path,
            view,
            names,
            old,
        } = look;
        let directory = match anchor.open_directory(self.root.as_fd(), path) {
            Ok(directory) => directory,
            Err(error) if read::is_ours(error) => return Err(ours(error)),
            Err(error) => {
                let gap = read::gap_of(error);
                return Ok(gap.map(|reason| Listing::unseen(view, reason)));
            }
        };
        let stat = rustix::fs::fstat(&directory).map_err(ours)?;
        // The stamp before the names: a name that comes or goes in between shows as another stamp at the next look.
        // The other way round, the new stamp would stand for the old names for ever.
        let stamp = Stamp::of(&stat).with_acl(directory.as_fd());
        if self.store == Some((system::device(&stat), stat.st_ino)) {
            return Ok(Some(Listing::unread(
                Stamp::default(),
                view,
                ListingState::LeftOut,
            )));
        }
        let neighbours = Neighbours::default();
        let open = Open {
            walk: self,
            path,
            directory: directory.as_fd(),
            view,
            old,
            neighbours,
        };
        // A bug in one directory costs that directory, named as a gap, and not the snapshot of all others.
        match contained(|| open.listing(stamp, names, queue)) {
            Some(listing) => listing.map(Some),
            None => Ok(Some(Listing::unseen(view, bug()))),
        }
    }

    fn files(
        &self,
        path: Vec<u8>,
        files: Vec<UnreadFile>,
        found: &mut ThreadFindings,
    ) -> Result<()> {
        let directory = match found.anchor.open_directory(self.root.as_fd(), &path) {
            Ok(directory) => directory,
            Err(error) if read::is_ours(error) => return Err(ours(error)),
            Err(error) => {
                let gap = read::gap_of(error);
                let item = |name: &[u8]| Some(ListedItem::unseen(name, gap.clone()?));
                let items = files
                    .into_iter()
                    .map(|file| (path.clone(), file.name.clone(), item(&file.name)));
                found.files.extend(items);
                return Ok(());
            }
        };
        for file in files {
            let stamp = || beneath::stat(directory.as_fd(), &file.name).unwrap_or_default();
            let is_known = || file.remembered.is_some_and(|(known, _)| known == stamp());
            if self.is_time_up() || self.goes_on && is_known() {
                let item = file.late(stamp());
                found.files.push((path.clone(), file.name, Some(item)));
                continue;
            }
            let looked = contained(|| self.file(directory.as_fd(), &file));
            let panicked = || Ok(FileRead::Item(Some(ListedItem::unseen(&file.name, bug()))));
            match looked.unwrap_or_else(panicked)? {
                FileRead::Large => found.large.push((path.clone(), file.name)),
                FileRead::Item(item) => {
                    match &item {
                        Some(item) => self.note_moment(directory.as_fd(), &path, &file, item),
                        None => self.note_gone_from(Some(&path)),
                    }
                    found.files.push((path.clone(), file.name, item));
                }
            }
        }
        Ok(())
    }

    fn file(&self, directory: BorrowedFd<'_>, file: &UnreadFile) -> Result<FileRead> {
        let name = &file.name[..];
        let is_young = |stamp: &Stamp| self.is_young(stamp);
        let item = match read::file(directory, name, &is_young).map_err(ours)? {
            ReadOutcome::Bytes(bytes, stamp, has_no_writer) => {
                self.count(stamp.size);
                let id = hash::blob_id(&bytes);
                // With the same stamp and hash, the object is stored already, as the last snapshot named it.
                match file.remembered == Some((stamp, id))
                    || self.sink.add_hashed(ObjectKind::Blob, id, &bytes)?
                {
                    true => Some(ListedItem {
                        is_settled: has_no_writer || self.is_settled(&stamp),
                        ..self.content(name, stamp, id)
                    }),
                    false => Some(ListedItem::gap(name, stamp, collision())),
                }
            }
            ReadOutcome::Large(_) => return Ok(FileRead::Large),
            ReadOutcome::Gone => None,
            ReadOutcome::Gap(reason) => Some(ListedItem::unseen(name, reason)),
            // It became something else during the look. The next snapshot sees what it is.
            ReadOutcome::Other => Some(ListedItem::unseen(name, GapReason::Changing)),
        };
        Ok(FileRead::Item(item))
    }

    /// Notes when a path changed, if its stamp is older than the change. Of two times, the later one counts.
    pub(super) fn note_time(&self, path: &[u8], time: FileTime) {
        let mut times = threads::lock(&self.times);
        let noted = times.entry(path.to_vec()).or_insert(time);
        *noted = time.max(*noted);
    }

    /// Notes that something is gone from a directory that may have been read before: the time is the directory's now.
    /// The cache knows of directories that were removed long ago, so the time is not the moment of this look.
    fn note_gone_from(&self, directory: Option<&[u8]>) {
        let stamp = |path| {
            let directory = beneath::open_directory(self.root.as_fd(), path)?;
            rustix::fs::fstat(&directory).map(|stat| Stamp::of(&stat))
        };
        // The nearest directory that is still there: its time is that of the removal, or of a later change beside
        // it.
        for path in std::iter::successors(directory, |path| parent(path)) {
            match stamp(path) {
                Ok(stamp) => return self.note_time(path, stamp.ctime),
                // It is gone as well.
                Err(error) if beneath::is_absence(error) => {}
                Err(_) => return self.note_time(path, disk::now()),
            }
        }
    }

    /// Notes the time of a file that is being truncated right now: its size is already new, its time still old.
    fn note_moment(
        &self,
        directory: BorrowedFd<'_>,
        path: &[u8],
        file: &UnreadFile,
        item: &ListedItem,
    ) {
        let is_between = |stamp: &Stamp| {
            file.before
                .is_some_and(|before| stamp.is_between_change_and_time(&before))
        };
        if is_between(&item.stamp) {
            let now = beneath::stat(directory, &file.name).ok();
            let told = now.filter(|now| !is_between(now));
            let time = told.map_or(self.now, |now| now.ctime);
            self.note_time(&join(path, &file.name), time);
        }
    }

    /// Streams a large file. No other thread may add objects meanwhile.
    pub fn large(&self, path: &[u8], name: &[u8]) -> Result<Option<ListedItem>> {
        let old = (self.remembered)(path);
        let old = old.as_ref().and_then(|old| old.item(name));
        if self.is_time_up() {
            let stamp = beneath::open_directory(self.root.as_fd(), path)
                .and_then(|directory| beneath::stat(directory.as_fd(), name));
            let stamp = stamp.unwrap_or_default();
            return Ok(Some(ListedItem::gap(name, stamp, GapReason::Late)));
        }
        for _ in 0..read::TRIES {
            let opened = beneath::open_directory(self.root.as_fd(), path)
                .and_then(|directory| beneath::open_file(directory.as_fd(), name));
            let file = match opened {
                Ok(file) => file,
                Err(error) if read::is_ours(error) => return Err(ours(error)),
                Err(error) => {
                    return Ok(read::gap_of(error).map(|reason| ListedItem::unseen(name, reason)));
                }
            };
            let before = Stamp::of(&rustix::fs::fstat(&file).map_err(ours)?);
            if before.file_type() != file_type::REGULAR {
                break;
            }
            let mut file = Timed {
                file: std::fs::File::from(file),
                walk: self,
            };
            let has_no_writer = self.is_young(&before) && lease::has_no_writer(file.file.as_fd());
            self.count(before.size);
            let id = match self.stream(&mut file, before.size, old) {
                Err(_) if self.is_time_up() => {
                    return Ok(Some(ListedItem::gap(name, before, GapReason::Late)));
                }
                id => id?,
            };
            let after = Stamp::of(&rustix::fs::fstat(&file.file).map_err(ours)?);
            let after = after.with_acl(file.file.as_fd());
            // What was stored of a file that changed meanwhile stays in the pack, and nothing names it.
            if let Some(id) = id.filter(|_| before == after) {
                return Ok(Some(ListedItem {
                    is_settled: has_no_writer || self.is_settled(&after),
                    ..self.content(name, after, id)
                }));
            }
        }
        Ok(Some(ListedItem::unseen(name, GapReason::Changing)))
    }

    /// Stores a large file's bytes, unless they are the ones that were stored for it before.
    fn stream(
        &self,
        file: &mut Timed<'_>,
        size: u64,
        old: Option<&ListedItem>,
    ) -> Result<Option<ObjectId>> {
        if let Some(ListedItem {
            kind: ItemKind::Content(id),
            stamp,
            ..
        }) = old
            && stamp.size == size
        {
            // Often only its time changed, and the pack should not get another copy of it.
            if self.sink.holds_stream(*id, &mut (&mut *file).take(size))? {
                return Ok(Some(*id));
            }
            file.file
                .seek(SeekFrom::Start(0))
                .context(|| "cannot read a large file again")?;
        }
        self.sink.add_stream(size, file)
    }

    /// Returns the item of a file or link whose bytes are stored.
    pub(super) fn content(&self, name: &[u8], stamp: Stamp, id: ObjectId) -> ListedItem {
        // A stamp shows a change only if the clock ticked since the file was read. This is git's racy moment, and
        // longer:
        //
        //    ── last written ────── the look begins ──►
        //         │◄─── margin ───►│   younger than that: read again by the next look
        //
        // Longer, because a write through a memory map changes the bytes now and the time only when the page is
        // written back. A file that no program had open for writing when it was read needs only the first.
        ListedItem {
            name: name.to_vec(),
            stamp,
            is_settled: self.is_settled(&stamp),
            kind: ItemKind::Content(id),
        }
    }

    fn is_settled(&self, stamp: &Stamp) -> bool {
        stamp.is_settled(self.now, read::margin(self.is_remote))
    }

    /// Returns whether only a write through a memory map could still change a file without a new stamp, and the file
    /// system tells of maps.
    fn is_young(&self, stamp: &Stamp) -> bool {
        !self.is_settled(stamp)
            && stamp.is_settled(self.now, 0)
            && self.writers.are_told(self.root.as_fd())
    }

    /// Counts a file, and reports the progress now and then: the callback may be slow.
    pub(super) fn count(&self, bytes: u64) {
        let bytes = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let files = self.files.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(progress) = self.progress
            && files.is_multiple_of(64)
        {
            progress(SnapshotProgress { files, bytes });
        }
    }
}

/// A directory to look at.
struct DirectoryTask<'a> {
    path: &'a [u8],
    view: DirectoryView,
    names: RememberedNames,
    old: Option<&'a Listing>,
}

/// The result of reading a file of a listing.
enum FileRead {
    Item(Option<ListedItem>),
    Large,
}

/// A reader of a large file that fails when the time is up.
struct Timed<'a> {
    file: std::fs::File,
    walk: &'a Walk<'a>,
}

impl std::io::Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.walk.is_time_up() {
            return Err(std::io::Error::other("the time is up"));
        }
        std::io::Read::read(&mut self.file, buffer)
    }
}

impl ListedItem {
    /// Returns the item of what could not be looked at. Without a stamp, the next look looks again.
    pub(in crate::snapshot) fn unseen(name: &[u8], reason: GapReason) -> Self {
        Self::gap(name, Stamp::default(), reason)
    }

    /// Returns the item of what is never captured. Only its type is kept: its times may change at will.
    pub(in crate::snapshot) fn never(name: &[u8], stamp: &Stamp, reason: GapReason) -> Self {
        let mode = stamp.file_type();
        Self::gap(
            name,
            Stamp {
                mode,
                ..Stamp::default()
            },
            reason,
        )
    }

    /// Returns the item of what cannot be captured, for a reason.
    pub(in crate::snapshot) fn gap(name: &[u8], stamp: Stamp, reason: GapReason) -> Self {
        Self {
            name: name.to_vec(),
            stamp,
            is_settled: false,
            kind: ItemKind::Gap(reason),
        }
    }
}

/// Returns the error for a lack of files, memory or the like, which is this process's and not that of a path.
pub(super) fn ours(error: Errno) -> Error {
    Error::failed("cannot read the workspace").because(std::io::Error::from(error))
}

/// Returns the gap for a path at which looking panicked.
fn bug() -> GapReason {
    GapReason::Unreadable(ReadFailure::Panic)
}

/// Returns the gap for a file that hashes to the id of other bytes. Storing it would hand out the wrong bytes later.
pub(super) fn collision() -> GapReason {
    GapReason::Unreadable(ReadFailure::Collision)
}
