//! One try of an operation: the phases of `order`, one after the other, with the syncs between them. This module does
//! IO.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;

use ckpt_schema::report::ReasonCode;
use rustix::io::Errno;

use crate::fs::threads;
use crate::model::entry::{Entry, is_unstored};
use crate::model::item::{Item, ItemOutcome, ItemReason};
use crate::model::path::WorkspacePath;

mod files_aside;
mod folders;

use super::failure::{ItemFailure, ItemResult, outcome};
use super::leftover::own_name;
use super::order::{Chunk, Order, chunks, moves, order};
use super::present_file::{Found, look};
use super::root::{Descent, DeviceInode, Root};
use super::slot::{Former, ItemWriter, Slot};
use super::sys::{self, SysResult};
use super::work::Work;
use super::workers::{alongside, share};
use super::writer::{ItemChange, OPEN_FILE_CHECKS, Prepared};

/// Up to this many files are synced one by one; more of them with one sync of the file system.
const SYNC_EACH: usize = 16;

/// One try of an operation.
pub(super) struct Attempt<'a> {
    root: &'a Root,
    work: &'a Work<'a>,
    writer: ItemWriter<'a>,
    order: Order,
    /// How many items are done. It is locked while that is reported, so that two threads never report out of order.
    done: Mutex<usize>,
    /// Directories that were made for a file to be put into.
    made: Mutex<BTreeSet<WorkspacePath>>,
    /// Directories whose entries were changed.
    changed: Mutex<BTreeSet<Option<WorkspacePath>>>,
    /// Items whose former files are still beside them, to be checked again.
    aside: Mutex<Vec<usize>>,
    /// What items lack of the files that they replace, or what goes with the files that they remove.
    lost: Mutex<BTreeMap<usize, String>>,
    /// Where the files that are removed are made again.
    moves: HashMap<&'a WorkspacePath, &'a WorkspacePath>,
    /// What those files had besides their content, by the new path.
    moved: Mutex<HashMap<&'a WorkspacePath, Former>>,
}

/// The results of some items: whether each was changed, or why not.
type Results = Vec<(usize, ItemResult<bool>)>;

/// Items whose targets are ready as temporary files next to what they replace.
struct ReadyItems {
    chunk: Chunk,
    directory: OwnedFd,
    identity: DeviceInode,
}

impl<'a> Attempt<'a> {
    pub(super) fn new(root: &'a Root, work: &'a Work<'a>) -> Self {
        let order = order(work.items, work.directories);
        let writer = ItemWriter {
            rename_flags: root.abilities().rename_flags,
            leases: root.abilities().leases,
            sync_each: order.files.len() <= SYNC_EACH,
            contents: work.contents,
            waits: AtomicU32::new(OPEN_FILE_CHECKS),
        };
        Self {
            root,
            work,
            writer,
            order,
            done: Mutex::default(),
            made: Mutex::default(),
            changed: Mutex::default(),
            aside: Mutex::default(),
            lost: Mutex::default(),
            moves: moves(work.items),
            moved: Mutex::default(),
        }
    }

    pub(super) fn run<R>(self, meanwhile: impl FnOnce() -> R) -> (Vec<ItemOutcome>, R) {
        // Each phase needs what those before it leave:
        //
        //    closed directories    take no name before they are opened
        //    removals              free names, and room on a disk that the agent filled
        //    empty directories     a file can take their place
        //    new directories       what comes next has a place
        //    files                 are never written through a link of this operation: those come last
        //    links
        //    permissions           may forbid to make a name in a directory, so every name is made by now
        //    sync                  before the journal calls any of it done
        let mut results = self.pass_through();
        self.open_closed_directories();
        let gone = self.take_away();
        let put = self.put_in_place();
        for (index, result) in gone.into_iter().chain(put) {
            results[index] = Some(result);
        }
        // A failed item is to be as it was, and so is the tree above it.
        if results.iter().any(|result| matches!(result, Some(Err(_)))) {
            self.take_made_directories_away();
        }
        self.set_permissions();
        self.close_directories();
        self.name_folders_made(&results);
        let (synced, other) = self.sync_changed(meanwhile);
        (self.report(results, synced), other)
    }

    /// Removes what goes: files and links, then the directories that are empty without them. Of an item that was looked
    /// at twice, the last result counts.
    fn take_away(&self) -> Results {
        let mut results = share(self.helped(), self.chunks(&self.order.removals), |chunk| {
            self.remove(&chunk)
        })
        .concat();
        // A directory that still holds a file aside would not be empty.
        results.extend(self.look_again());
        results.extend(self.remove_directories());
        let filled = self.order.filled.iter();
        results.extend(filled.map(|index| (*index, self.check_filled(*index))));
        results
    }

    /// Writes what comes: directories from the top down, then files, then links.
    fn put_in_place(&self) -> Results {
        // Bytes have to be on the disk before a name points at them. Directories and links have none.
        let sync_before = !self.writer.sync_each;
        // A directory has to take the place of a file before anything is put below it.
        let depth = |index: &usize| self.item(*index).path.components().count();
        let directories = self
            .order
            .directories
            .chunk_by(|one, other| depth(one) == depth(other))
            .map(|level| (level, false));
        let rest = [
            (&self.order.files[..], sync_before),
            (&self.order.links[..], false),
        ];
        let mut results = Results::new();
        for (phase, sync_before) in directories.chain(rest) {
            let mut pieces = self.chunks(phase).into_iter().peekable();
            // In batches: each directory stays open from the first temporary file in it to the last rename, and a
            // process may not have as many open as a plan has.
            while pieces.peek().is_some() {
                let batch = pieces.by_ref().take(sys::directories_at_once()).collect();
                results.extend(self.write(batch, sync_before));
            }
        }
        results.extend(self.look_again());
        results
    }

    fn item(&self, index: usize) -> &'a Item {
        &self.work.items[index]
    }

    /// Returns whether a second thread helps. For a few files it costs more than it saves.
    fn helped(&self) -> bool {
        self.work.items.len() > SYNC_EACH
    }

    fn chunks(&self, indices: &[usize]) -> Vec<Chunk> {
        chunks(self.work.items, indices)
    }

    fn pass_through(&self) -> Vec<Option<ItemResult<bool>>> {
        self.work.items.iter().map(|_| None).collect()
    }

    /// Refuses to touch bytes that are not stored, whatever the plan says.
    fn refuse(item: &Item) -> ItemResult<()> {
        if is_unstored(item.expected) {
            return Err(ItemFailure::conflict("what is there is not stored"));
        }
        if is_unstored(item.target) {
            return Err(ItemFailure::Failed(
                "the new content is not stored".to_owned(),
            ));
        }
        Ok(())
    }

    fn place<'p>(&self, directory: &'p OwnedFd, path: &'p WorkspacePath) -> Slot<'p> {
        let own = own_name(self.work.operation, path.name());
        Slot {
            directory: directory.as_fd(),
            name: path.name(),
            own,
            moved: threads::lock(&self.moved).get(path).cloned(),
        }
    }

    fn tell_progress(&self, count: usize) {
        // Counted and told under one lock: otherwise a thread could tell its lower count after another one's
        // higher, and the last line would be wrong.
        let mut done = threads::lock(&self.done);
        *done += count;
        if let Some(progress) = self.work.progress {
            progress(*done);
        }
    }

    fn mark_changed(&self, directory: Option<WorkspacePath>) {
        threads::lock(&self.changed).insert(directory);
    }

    fn mark_made(&self, path: &WorkspacePath, lengths: &[usize]) {
        for length in lengths {
            let Ok(made) = WorkspacePath::new(&path.as_bytes()[..*length]) else {
                continue;
            };
            self.mark_changed(made.parent());
            threads::lock(&self.made).insert(made);
        }
    }

    // Removals

    fn remove(&self, chunk: &Chunk) -> Results {
        let directory = match self.root.descend(chunk.directory.as_ref()) {
            Ok(Descent::Directory(directory, _)) => directory,
            // Nothing is there, and nothing should be.
            Ok(Descent::Missing | Descent::Replaced) => return self.all(chunk, &Ok(false)),
            Ok(Descent::Blocked(reason)) => {
                return self.all(chunk, &Err(ItemFailure::conflict(reason)));
            }
            Err(error) => {
                return self.all(chunk, &Err(ItemFailure::not_entered(error)));
            }
        };
        let act = |index: &usize| {
            let item = self.item(*index);
            let filled = self.order.gaining.contains(&item.path);
            let place = self.place(&directory, &item.path);
            let former = Former::at(&place, None);
            let removed =
                Self::refuse(item).and_then(|()| self.writer.remove(&place, item.expected, filled));
            let removed = removed.map(|change| self.note(*index, change));
            if let (Ok(true), Some(former)) = (&removed, former) {
                self.keep(*index, former, &place);
            }
            (*index, removed)
        };
        let results: Results = chunk.items.iter().map(act).collect();
        self.close_chunk(chunk, results)
    }

    /// Keeps what a removed file had for the path where it is made again, or notes what goes with it.
    fn keep(&self, index: usize, mut former: Former, place: &Slot<'_>) {
        let work = (self.work.items, self.work.contents);
        match former.heir(self.item(index), work, &self.moves) {
            Some(path) => _ = threads::lock(&self.moved).insert(path, former),
            None => {
                let lost = former.lost_with_it(place.directory);
                threads::lock(&self.lost).extend(lost.map(|lost| (index, lost)));
            }
        }
    }

    fn close_chunk(&self, chunk: &Chunk, results: Results) -> Results {
        if results
            .iter()
            .any(|(_, result)| !matches!(result, Ok(false)))
        {
            self.mark_changed(chunk.directory.clone());
        }
        self.tell_progress(results.len());
        results
    }

    fn all(&self, chunk: &Chunk, result: &ItemResult<bool>) -> Results {
        self.tell_progress(chunk.items.len());
        chunk
            .items
            .iter()
            .map(|index| (*index, result.clone()))
            .collect()
    }

    fn remove_directories(&self) -> Results {
        let mut results = Vec::new();
        for (path, index) in &self.order.emptied {
            let lost = self.lost_with(path);
            let remove = || self.remove_directory(path, index.map(|index| self.item(index)));
            // What was in it is gone by now, so try once more: a chance failure should not leave the empty directory
            // behind.
            let removed = match remove() {
                Err(ItemFailure::Failed(_)) => remove(),
                removed => removed,
            };
            if matches!(removed, Ok(true)) {
                self.mark_changed(path.parent());
                self.name_folder(path, lost);
            }
            match (index, removed) {
                (Some(index), removed) => {
                    self.tell_progress(1);
                    results.push((*index, removed));
                }
                // The directory has no item of its own, so the item that emptied it gets the reason.
                (None, Err(ItemFailure::Failed(reason))) => {
                    results.extend(self.blame(path, &reason))
                }
                (None, _) => {}
            }
        }
        results
    }

    fn remove_directory(&self, path: &WorkspacePath, item: Option<&Item>) -> ItemResult<bool> {
        let Descent::Directory(directory, _) = self
            .root
            .descend(path.parent().as_ref())
            .map_err(ItemFailure::not_entered)?
        else {
            return Ok(false);
        };
        if let Some(item) = item {
            Self::refuse(item)?;
            return self
                .writer
                .remove_directory(&self.place(&directory, path), item.expected);
        }
        match sys::remove_directory(directory.as_fd(), path.name()) {
            Ok(()) => Ok(true),
            // Another program put something in, or took it away. The directory itself was not asked for, so there is nothing
            // to report.
            Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::LOOP) => {
                Ok(false)
            }
            Err(error) => {
                Err(ItemFailure::of("the directory cannot be removed", error).into_failure())
            }
        }
    }

    fn blame(&self, directory: &WorkspacePath, reason: &str) -> Option<(usize, ItemResult<bool>)> {
        let mut removed = self.order.removals.iter().chain(
            self.order
                .emptied
                .iter()
                .filter_map(|(_, index)| index.as_ref()),
        );
        let index = removed.find(|index| self.item(**index).path.is_below(directory))?;
        Some((
            *index,
            Err(ItemFailure::Failed(format!(
                "`{}`: {reason}",
                directory.to_text()
            ))),
        ))
    }

    /// Checks an empty directory that gets entries. Nothing else has to be done to it.
    fn check_filled(&self, index: usize) -> ItemResult<bool> {
        self.tell_progress(1);
        let path = &self.item(index).path;
        let failed = |error| ItemFailure::of("cannot be read", error).into_failure();
        let Descent::Directory(directory, _) =
            self.root.descend(path.parent().as_ref()).map_err(failed)?
        else {
            return Ok(false);
        };
        match look(directory.as_fd(), path.name()).map_err(failed)?.0 {
            Found::Directory { .. } | Found::Nothing => Ok(false),
            found => Err(ItemFailure::unexpected(&found)),
        }
    }

    // Writes

    /// Makes all targets as temporary files, syncs once, and puts them into their places.
    fn write(&self, batch: Vec<Chunk>, sync_before: bool) -> Results {
        let mut results = Vec::new();
        let mut ready = Vec::new();
        for (these, made) in share(self.helped(), batch, |chunk| self.prepare(chunk)) {
            results.extend(these);
            ready.extend(made);
        }
        let synced = if sync_before && !ready.is_empty() {
            sys::sync_all(self.root.as_fd())
        } else {
            Ok(())
        };
        let finished = share(self.helped(), ready, |ready| match synced {
            Ok(()) => self.finish(&ready),
            // Without the sync, a power cut after the rename could leave an empty file in the place of a whole one.
            Err(error) => self.give_up(&ready, &ItemFailure::not_synced(error)),
        });
        results.extend(finished.into_iter().flatten());
        results
    }

    fn prepare(&self, chunk: Chunk) -> (Results, Option<ReadyItems>) {
        let (directory, identity) = match self.enter_to_write(&chunk) {
            Ok(entered) => entered,
            Err(failure) => return (self.all(&chunk, &Err(failure)), None),
        };
        let mut results = Vec::new();
        let mut made = Vec::new();
        for index in &chunk.items {
            match self.prepare_item(&directory, self.item(*index)) {
                Ok(Prepared::Already) => results.push((*index, Ok(false))),
                Ok(Prepared::Done) => results.push((*index, Ok(true))),
                Ok(Prepared::Temporary(lost)) => {
                    made.push(*index);
                    let mut all = threads::lock(&self.lost);
                    all.extend(lost.map(|lost| (*index, lost)));
                }
                Err(failure) => results.push((*index, Err(failure))),
            }
        }
        let results = self.close_chunk(&chunk, results);
        let chunk = Chunk {
            items: made,
            ..chunk
        };
        let ready = (!chunk.items.is_empty()).then_some(ReadyItems {
            chunk,
            directory,
            identity,
        });
        (results, ready)
    }

    /// Makes directories only for what is new. If something is expected, its directory has to be there, or it is not as
    /// expected.
    fn enter_to_write(&self, chunk: &Chunk) -> ItemResult<(OwnedFd, DeviceInode)> {
        let failed = |error| {
            ItemFailure::of("its directory cannot be entered or created", error).into_failure()
        };
        let is_new = |index: &usize| self.item(*index).expected.is_none();
        let mut made = Vec::new();
        let descent = if chunk.items.iter().any(is_new) {
            self.root
                .descend_making(chunk.directory.as_ref(), self.work.permissions, &mut made)
        } else {
            self.root.descend(chunk.directory.as_ref())
        };
        if let Some(directory) = &chunk.directory {
            self.mark_made(directory, &made);
        }
        match descent.map_err(failed)? {
            Descent::Directory(directory, identity) => Ok((directory, identity)),
            Descent::Missing => Err(ItemFailure::conflict(
                "it is not what was expected: its directory is gone",
            )),
            Descent::Replaced => Err(ItemFailure::conflict(
                "a directory above it is no longer a directory",
            )),
            Descent::Blocked(reason) => Err(ItemFailure::conflict(reason)),
        }
    }

    fn prepare_item(&self, directory: &OwnedFd, item: &Item) -> ItemResult<Prepared> {
        Self::refuse(item)?;
        let emptied = self.order.losing.contains(&item.path);
        let target = self.target(item);
        self.writer.prepare(
            &self.place(directory, &item.path),
            item.expected,
            target,
            emptied,
        )
    }

    fn target(&self, item: &Item) -> Entry {
        item.target
            .expect("only items with a target are in the phases that write")
    }

    /// Puts the targets into their places. It descends again: if another directory is there by now, nothing is put into
    /// the old one.
    fn finish(&self, ready: &ReadyItems) -> Results {
        let same = match self.root.descend(ready.chunk.directory.as_ref()) {
            Ok(Descent::Directory(_, identity)) => identity == ready.identity,
            Ok(Descent::Missing | Descent::Replaced | Descent::Blocked(_)) => false,
            Err(error) => {
                return self.give_up(ready, &ItemFailure::not_entered(error));
            }
        };
        if !same {
            return self.give_up(ready, &ItemFailure::elsewhere());
        }
        let act = |index: &usize| {
            let item = self.item(*index);
            let place = self.place(&ready.directory, &item.path);
            let finished = self.writer.finish(&place, item.expected, self.target(item));
            (*index, finished.map(|change| self.note(*index, change)))
        };
        let results = ready.chunk.items.iter().map(act).collect();
        self.close_chunk(&ready.chunk, results)
    }

    fn give_up(&self, ready: &ReadyItems, failure: &ItemFailure) -> Results {
        self.tell_progress(ready.chunk.items.len());
        let drop = |index: &usize| {
            let item = self.item(*index);
            let place = self.place(&ready.directory, &item.path);
            let failed = ItemWriter::drop_prepared(&place, self.target(item), failure.clone());
            (*index, Err(failed))
        };
        ready.chunk.items.iter().map(drop).collect()
    }

    // The end

    /// Removes directories that were made for files which then could not be put there. Those that hold anything stay.
    fn take_made_directories_away(&self) {
        let made = threads::lock(&self.made);
        for path in made.iter().rev() {
            if let Ok(Descent::Directory(directory, _)) = self.root.descend(path.parent().as_ref())
            {
                // If it is not empty, it is in use, as it should be.
                let _ = sys::remove_directory(directory.as_fd(), path.name());
            }
        }
    }

    /// Sets the permissions of directories that were made, now that everything is in them: they may forbid writing.
    fn set_permissions(&self) {
        let made = threads::lock(&self.made);
        for path in made.iter().rev() {
            let Some(permissions) = (self.work.permissions)(path) else {
                continue;
            };
            if let Ok(Descent::Directory(directory, _)) = self.root.descend(path.parent().as_ref())
            {
                // If that fails, it stays as `mkdir` made it.
                let _ = sys::set_permissions(directory.as_fd(), path.name(), permissions);
            }
        }
    }

    fn sync_changed<R>(&self, meanwhile: impl FnOnce() -> R) -> (SysResult<()>, R) {
        let changed = threads::lock(&self.changed);
        let sync_all = || sys::sync_all(self.root.as_fd());
        // The bytes were synced with the whole file system, so the names are, too: one call instead of one for each
        // directory.
        if changed.len() > SYNC_EACH || !self.writer.sync_each && !changed.is_empty() {
            return alongside(sync_all, meanwhile);
        }
        let synced = match self.sync_each(&changed) {
            // Do not sync again after the disk refused: the second call would report success without the bytes being
            // written.
            Err(error @ (Errno::IO | Errno::NOSPC | Errno::DQUOT)) => Err(error),
            // A directory that cannot be read, or opened for lack of descriptors, cannot be synced by itself.
            Err(_) => sync_all(),
            Ok(()) => Ok(()),
        };
        (synced, meanwhile())
    }

    /// Syncs directories one by one, until one cannot be synced.
    fn sync_each(&self, directories: &BTreeSet<Option<WorkspacePath>>) -> SysResult<()> {
        for path in directories {
            if let Descent::Directory(directory, _) = self.root.descend(path.as_ref())? {
                sys::sync_directory(directory.as_fd())?;
            }
        }
        Ok(())
    }

    /// Returns an item's outcome. What was put into its place is there, synced or not.
    fn report(
        &self,
        results: Vec<Option<ItemResult<bool>>>,
        synced: SysResult<()>,
    ) -> Vec<ItemOutcome> {
        let reason = synced.err().map(|error| {
            let text =
                format!("done, but a power cut may undo it, because it cannot be synced: {error}");
            ItemReason::new(ReasonCode::NotSynced, text)
        });
        let lost = threads::lock(&self.lost);
        let results = self.work.items.iter().zip(results).enumerate();
        results
            .map(|(index, (item, result))| {
                let lost = lost.get(&index);
                let lost = lost.map(|text| ItemReason::new(ReasonCode::NotKept, text));
                outcome(item, result, reason.as_ref().or(lost.as_ref()))
            })
            .collect()
    }
}
