//! Lists one directory: its names, what is in view, and what is still as remembered. This module does IO.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;

use super::listing::{ItemKind, ListedItem, Listing, ListingState};
use super::queue::TaskQueue;
use super::read;
use super::walk::{RememberedNames, Task, UnreadFile, Walk, collision, ours};
use crate::error::Result;
use crate::fs::disk::{self, Stamp};
use crate::fs::threads;
use crate::fs::{acl, beneath};
use crate::git;
use crate::model::entry::{ObjectId, file_type};
use crate::model::metadata;
use crate::model::path::{IGNORE_FILE, PathKind, depth, join};
use crate::model::path::{check_component, is_plain_dot_git};
use crate::objects::hash::{self, ObjectKind};
use crate::snapshot::rules::{self, DirectoryView, Neighbours};
use crate::snapshot::{GapReason, SpecialFile};

/// Directories deeper than this are gaps. Each level takes two bytes of a path at least, and the kernel accepts 4,096:
/// no program opens anything deeper by its path.
const MAX_DEPTH: usize = 2048;
/// How many files one task reads. A directory with more is shared between threads.
const FILES_A_TASK: usize = 64;
/// The size in bytes over which a file of `keep_ignored` is a gap. What people write by hand is smaller.
const KEPT_SIZE: u64 = 64 << 10;
/// How many such files in one directory are captured, in the order of names. It is not a limit for the whole workspace:
/// which files are captured must not depend on what other threads found, or two snapshots of the same files would
/// differ.
const KEPT_FILES: usize = 64;
/// How many ignored names in one directory are kept, in the order of names. A snapshot must not grow with every file
/// that a build leaves.
pub(crate) const IGNORED_NAMES: usize = 64;

/// One directory, open.
pub(super) struct Open<'a> {
    /// The scan's shared state.
    pub walk: &'a Walk<'a>,
    /// Its path.
    pub path: &'a [u8],
    /// The directory.
    pub directory: BorrowedFd<'a>,
    /// Which part of it is captured.
    pub view: DirectoryView,
    /// The remembered listing.
    pub old: Option<&'a Listing>,
    /// The ignore files that apply in it.
    pub neighbours: Neighbours,
}

/// The findings in a directory besides its items.
#[derive(Default)]
struct DirectoryFindings {
    /// Files to read. Their items are placeholders.
    unread: Vec<UnreadFile>,
    /// How many ignored files are kept.
    kept: usize,
    /// How many ignored names are kept.
    ignored: usize,
    /// Whether there are more.
    has_more_ignored: bool,
}

impl Open<'_> {
    /// Lists it. Files to read and subdirectories become tasks.
    pub fn listing(
        &self,
        stamp: Stamp,
        trust: RememberedNames,
        queue: &TaskQueue<Task>,
    ) -> Result<Listing> {
        let known = self.old.filter(|old| {
            trust == RememberedNames::Known && !self.walk.is_remote && old.has_names_of(&stamp)
        });
        let mut names = match self.names(known) {
            Ok(names) => names,
            Err(error) if read::is_ours(error) => return Err(ours(error)),
            Err(error) => {
                let reason = read::gap_of(error).unwrap_or(GapReason::Changing);
                return Ok(Listing::unseen(self.view, reason));
            }
        };
        let is_empty = known.map_or(names.is_empty(), |old| old.is_empty);
        let metadata = self.metadata(known, &names);
        // At the root, it is the user's own repository. Further down, it is remembered, so that a revert can say that a
        // repository came or went.
        names.retain(|(name, _)| !self.path.is_empty() || !is_plain_dot_git(name));
        let mut items = Vec::with_capacity(names.len());
        let mut looked = DirectoryFindings::default();
        for (name, kind) in &names {
            if let Some(mark) = &metadata
                && metadata::owns(self.path, name)
            {
                items.extend((mark.name == *name).then(|| mark.clone()));
                continue;
            }
            // With the same names, what was left out then is left out, and costs no look at its kind.
            let known = known.and_then(|old| old.item(name));
            items.extend(match known.filter(|item| item.is_left_out()) {
                Some(left_out) => Some(left_out.clone()),
                None => self.item(name, *kind, &mut looked)?,
            });
        }
        self.share(looked.unread, queue);
        self.descend(&items, trust, queue);
        Ok(Listing {
            stamp,
            is_settled: stamp.is_settled(self.walk.now, 0),
            state: ListingState::Listed,
            view: self.view,
            is_empty,
            has_more_ignored: known.map_or(looked.has_more_ignored, |old| old.has_more_ignored),
            // The matcher knows which ignore file decided here. What is new gets it once all threads are done.
            rules: self.old.and_then(|old| old.rules),
            tree: None,
            items,
        })
    }

    /// Returns the names in it: those that are known to be the same, or else those on disk.
    fn names(&self, known: Option<&Listing>) -> std::result::Result<Vec<disk::Name>, Errno> {
        if let Some(old) = known {
            let names = old.items.iter().map(|item| (item.name.clone(), None));
            return Ok(names.collect());
        }
        let names = disk::names(self.directory)?;
        (self.walk.listed)(self.path, &|wanted| {
            names.iter().any(|(name, _)| name == wanted)
        });
        self.note_missing(&names);
        Ok(names)
    }

    /// Returns the entry that stands for the metadata of version control in it, if it has any. With the same names, it
    /// has what it had.
    fn metadata(&self, known: Option<&Listing>, names: &[disk::Name]) -> Option<ListedItem> {
        if let Some(old) = known {
            return old.metadata().cloned();
        }
        let has = |wanted: &[u8]| {
            names
                .binary_search_by(|(name, _)| name[..].cmp(wanted))
                .is_ok()
        };
        let mark = metadata::mark(self.path, has)?;
        let is_files = match metadata::needs_head(mark) {
            true => self.is_tracked(mark) || !self.has_head(),
            false => (self.walk.is_tracked)(self.path),
        };
        if is_files {
            return None;
        }
        let kind = PathKind::Directory;
        Some(ListedItem::left_out(mark, kind, GapReason::Repository))
    }

    /// Returns whether the repository around tracks what looks like git's own here. To git, these are files like any
    /// other, such as a fixture of a test, and a clone must not choose what is left out of a snapshot.
    fn is_tracked(&self, mark: &[u8]) -> bool {
        [mark, b"refs"]
            .iter()
            .all(|name| (self.walk.is_tracked)(&join(self.path, name)))
    }

    /// Returns whether its `HEAD` is one of git's.
    fn has_head(&self) -> bool {
        let name = b"HEAD";
        match git::read_small_in(self.directory, name, git::SMALL) {
            Ok(Some(text)) => metadata::is_head(&text),
            // Old versions of git made a link.
            Ok(None) | Err(_) => beneath::read_link(self.directory, name)
                .is_ok_and(|target| target.as_bytes().starts_with(b"refs/")),
        }
    }

    /// Notes the time of names that are missing, which is the directory's. The stamp was read before the names, so a
    /// name may have been removed in between.
    fn note_missing(&self, names: &[disk::Name]) {
        let is_missing = |item: &&ListedItem| {
            names
                .binary_search_by(|(name, _)| name.cmp(&item.name))
                .is_err()
        };
        let old = self.old.iter().flat_map(|old| &old.items);
        let mut captured = old.filter(|item| !item.is_left_out() && is_missing(item));
        if captured.next().is_some()
            && let Ok(stat) = rustix::fs::fstat(self.directory)
        {
            self.walk.note_time(self.path, Stamp::of(&stat).ctime);
        }
    }

    fn share(&self, unread: Vec<UnreadFile>, queue: &TaskQueue<Task>) {
        let tasks = unread.chunks(FILES_A_TASK).map(|files| Task::Files {
            path: self.path.to_vec(),
            files: files.to_vec(),
        });
        if !unread.is_empty() {
            queue.push(tasks);
        }
    }

    fn descend(&self, items: &[ListedItem], trust: RememberedNames, queue: &TaskQueue<Task>) {
        let directories = items
            .iter()
            .filter(|item| matches!(item.kind, ItemKind::Directory));
        let tasks: Vec<_> = directories
            .filter_map(|item| {
                let path = join(self.path, &item.name);
                let view = self.decide(&path, PathKind::Directory)?;
                let is_stale = trust == RememberedNames::AgainBelow;
                let is_known = !is_stale && (self.walk.remembered_view)(&path) == Some(view);
                let names = if is_stale {
                    RememberedNames::AgainBelow
                } else {
                    RememberedNames::Known
                };
                (!is_known).then_some(Task::Directory { path, view, names })
            })
            .collect();
        queue.push(tasks);
    }

    fn decide(&self, path: &[u8], kind: PathKind) -> Option<DirectoryView> {
        self.walk.matcher.decide_among(
            &self.neighbours,
            self.view,
            path,
            kind,
            &self.walk.is_forced,
        )
    }

    /// Looks at one entry.
    fn item(
        &self,
        name: &[u8],
        listed: Option<PathKind>,
        looked: &mut DirectoryFindings,
    ) -> Result<Option<ListedItem>> {
        // If the file system names the kind, whatever is left out costs no `stat`.
        if let Some(kind) = listed.filter(|kind| self.is_of_repository(name, *kind)) {
            return Ok(Some(Self::repository(name, kind)));
        }
        let path = join(self.path, name);
        let mut view = listed.and_then(|kind| self.decide(&path, kind));
        if let (Some(kind), None) = (listed, view) {
            return Ok(self.out_of_view(name, kind, looked));
        }
        let stamp = match beneath::stat(self.directory, name) {
            Ok(stamp) => stamp,
            Err(error) if read::is_ours(error) => return Err(ours(error)),
            Err(error) => {
                return Ok(read::gap_of(error).map(|reason| ListedItem::unseen(name, reason)));
            }
        };
        let kind = PathKind::of(stamp.file_type() == file_type::DIRECTORY);
        if self.is_of_repository(name, kind) {
            return Ok(Some(Self::repository(name, kind)));
        }
        // Some file systems name no kind, and the entry may have become another one since. A rule may be for
        // directories only.
        if listed != Some(kind) {
            view = self.decide(&path, kind);
        }
        if view.is_none() {
            return Ok(self.out_of_view(name, kind, looked));
        }
        let is_kept = kind == PathKind::File
            && view == Some(DirectoryView::Ignored)
            && !(self.walk.is_forced)(&path, kind);
        if is_kept {
            match stamp.file_type() {
                file_type::REGULAR | file_type::LINK => looked.kept += 1,
                _ => return Ok(self.out_of_view(name, kind, looked)),
            }
            let is_small = stamp.size <= KEPT_SIZE && looked.kept <= KEPT_FILES;
            if !is_small && !(self.walk.is_any_size)(&path) {
                return Ok(Some(ListedItem::gap(name, stamp, GapReason::KeptTooLarge)));
            }
        }
        if check_component(name).is_err() {
            return Ok(Some(ListedItem::never(
                name,
                &stamp,
                GapReason::ReservedName,
            )));
        }
        self.entry(name, &path, stamp, &mut looked.unread)
    }

    fn entry(
        &self,
        name: &[u8],
        path: &[u8],
        stamp: Stamp,
        unread: &mut Vec<UnreadFile>,
    ) -> Result<Option<ListedItem>> {
        let special = |what| {
            let reason = GapReason::Special(what);
            Ok(Some(ListedItem::never(name, &stamp, reason)))
        };
        match stamp.file_type() {
            file_type::DIRECTORY => Ok(Some(self.subdirectory(name, path))),
            file_type::REGULAR => Ok(Some(self.file(name, path, stamp, unread))),
            file_type::LINK => self.link(name, stamp),
            file_type::PIPE => special(SpecialFile::Pipe),
            file_type::SOCKET => special(SpecialFile::Socket),
            file_type::BLOCK_DEVICE => special(SpecialFile::BlockDevice),
            _ => special(SpecialFile::CharacterDevice),
        }
    }

    fn subdirectory(&self, name: &[u8], path: &[u8]) -> ListedItem {
        let stamp = Stamp {
            mode: file_type::DIRECTORY,
            ..Stamp::default()
        };
        if depth(path) > MAX_DEPTH {
            return ListedItem::gap(name, stamp, GapReason::TooDeep);
        }
        ListedItem {
            name: name.to_vec(),
            stamp,
            is_settled: true,
            kind: ItemKind::Directory,
        }
    }

    fn file(
        &self,
        name: &[u8],
        path: &[u8],
        stamp: Stamp,
        unread: &mut Vec<UnreadFile>,
    ) -> ListedItem {
        if stamp.size > self.walk.max_file_size && !(self.walk.is_any_size)(path) {
            return ListedItem::gap(name, stamp, GapReason::TooLarge);
        }
        let before = self.old.and_then(|old| old.item(name));
        let old = before.filter(|old| old.stamp == stamp);
        let remembered = old.and_then(|old| old.content());
        if let Some(old) = old.filter(|old| old.is_settled && remembered.is_some()) {
            return old.clone();
        }
        // Git's index knows the stamp and the blob, so the first snapshot of a large repository reads hardly any
        // file. What a map wrote since shows only in the bytes, so the next one reads it.
        let seeded = || (self.walk.seeded)(path, &stamp);
        if let Some(id) = remembered.is_none().then(seeded).flatten() {
            return self.walk.content(name, self.with_acl(name, stamp), id);
        }
        unread.push(UnreadFile {
            name: name.to_vec(),
            remembered: remembered.map(|id| (stamp, id)),
            before: before.map(|before| before.stamp),
        });
        // This stands here until a thread has read the file, and stays if none gets to it.
        ListedItem::gap(name, stamp, GapReason::Changing)
    }

    /// Adds to the stamp of a file that is not read what its ACL says.
    fn with_acl(&self, name: &[u8], stamp: Stamp) -> Stamp {
        if !acl::may_withhold(stamp.mode) {
            return stamp;
        }
        let file = beneath::open_file(self.directory, name);
        file.map_or(stamp, |file| stamp.with_acl(file.as_fd()))
    }

    fn unchanged(&self, name: &[u8], stamp: &Stamp) -> Option<ListedItem> {
        let item = self.old?.item(name)?;
        let is_content = matches!(item.kind, ItemKind::Content(_));
        (is_content && item.is_settled && item.stamp == *stamp).then(|| item.clone())
    }

    fn link(&self, name: &[u8], stamp: Stamp) -> Result<Option<ListedItem>> {
        if let Some(item) = self.unchanged(name, &stamp) {
            return Ok(Some(item));
        }
        let target = match beneath::read_link(self.directory, name) {
            Ok(target) => target,
            Err(error) if read::is_ours(error) => return Err(ours(error)),
            // It is no link any more.
            Err(Errno::INVAL) => {
                return Ok(Some(ListedItem::unseen(name, GapReason::Changing)));
            }
            Err(error) => {
                return Ok(read::gap_of(error).map(|reason| ListedItem::unseen(name, reason)));
            }
        };
        self.walk.count(0);
        let id = self.walk.sink.add(ObjectKind::Blob, target.as_bytes())?;
        Ok(Some(id.map_or_else(
            || ListedItem::gap(name, stamp, collision()),
            |id| self.walk.content(name, stamp, id),
        )))
    }

    /// Returns the item of something that is not captured, if it is remembered: an ignore file, or one of the first
    /// ignored names. No snapshot would show that they went.
    fn out_of_view(
        &self,
        name: &[u8],
        kind: PathKind,
        looked: &mut DirectoryFindings,
    ) -> Option<ListedItem> {
        if let Some(watched) = self.watched(name) {
            return Some(watched);
        }
        looked.has_more_ignored |= looked.ignored == IGNORED_NAMES;
        if looked.has_more_ignored {
            return None;
        }
        looked.ignored += 1;
        Some(ListedItem::left_out(name, kind, GapReason::Ignored))
    }

    /// Returns the item of the metadata of version control. A revert says that the repository came, or went.
    fn repository(name: &[u8], kind: PathKind) -> ListedItem {
        ListedItem::left_out(name, kind, GapReason::Metadata)
    }

    /// Returns whether a name is that of a repository's metadata. Only of Fossil's names, a file is opened.
    fn is_of_repository(&self, name: &[u8], kind: PathKind) -> bool {
        is_plain_dot_git(name)
            || kind == PathKind::File
                && metadata::fossil_checkout(name).is_some_and(|name| self.is_sqlite(name))
    }

    fn is_sqlite(&self, name: &[u8]) -> bool {
        let mut first = [0; metadata::SQLITE_START.len()];
        beneath::open_file(self.directory, name)
            .is_ok_and(|file| File::from(file).read_exact(&mut first).is_ok())
            && first == *metadata::SQLITE_START
    }

    /// Returns the item of an ignore file that ignores itself. It decides about its neighbours all the same.
    fn watched(&self, name: &[u8]) -> Option<ListedItem> {
        if name != IGNORE_FILE {
            return None;
        }
        let stamp = beneath::stat(self.directory, name).ok()?;
        let (bytes, id) = match rules_of(self.directory) {
            Ok(rules) => rules?,
            Err(error) => {
                return Some(ListedItem::unseen(name, read::gap_of(error)?));
            }
        };
        let mut watched = threads::lock(&self.walk.watched);
        watched.insert(self.path.to_vec(), rules::significant_lines(&bytes));
        Some(ListedItem {
            kind: ItemKind::Watched(id),
            ..self.walk.content(name, stamp, id)
        })
    }
}

/// Reads the ignore file of an open directory, and returns it with its hash, or `None` if there is none that git would
/// read. Fails if one may exist but cannot be read: unknown rules are not the same as none.
pub(crate) fn rules_of(
    directory: BorrowedFd<'_>,
) -> std::result::Result<Option<(Vec<u8>, ObjectId)>, Errno> {
    match beneath::twice(|| git::read_small_in(directory, IGNORE_FILE, git::SMALL)) {
        Ok(bytes) => Ok(bytes.map(|bytes| {
            let id = hash::blob_id(&bytes);
            (bytes, id)
        })),
        Err(error) if beneath::is_no_file(error) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Listing {
    /// Returns whether its names are still valid for a directory with this stamp.
    pub fn has_names_of(&self, stamp: &Stamp) -> bool {
        self.is_settled && self.state == ListingState::Listed && self.stamp == *stamp
    }
}
