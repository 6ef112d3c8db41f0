//! Writes one item at one place: checks the present entry, moves it aside, checks it again, and only then removes it.
//! This module does IO.
//!
//! ```text
//! write    own := target          remove   name -> own     (only if nothing is at `own`)
//!          own <-> name                    own == expected? unlink it, else move it back
//!          own == expected?
//!          unlink it, else swap back
//! ```
//!
//! So at every moment `name` is the whole old or new file, and bytes that were written since the plan was made are
//! found in what was moved aside, before it is removed. A program that had the old file open could still write to it:
//! asked for a lease, the kernel reports such a program, and the file is moved back. On file systems without leases
//! (network file systems, some overlays), or if the file belongs to another user, the old file stays aside for a little
//! while ([`ItemChange::Aside`]) and is checked again before it is removed.

use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{Stat, fchmod};
use rustix::io::{Errno, retry_on_intr};

use crate::fs::system::{self, full_sync};
use crate::model::entry::{Entry, EntryKind, State};

use super::failure::{ItemFailure, ItemResult};
use super::lease::{self, Lease};
use super::present_file::{Found, look, look_at_open, open_file};
use super::slot::{ItemWriter, Slot};
use super::sys::{self, SysResult};
use super::temporary::permissions;

/// How often a try waits for files that a program has open, and for how long. Whatever a program starts has all of its
/// files open for a moment, until it has become another program.
pub(super) const OPEN_FILE_CHECKS: u32 = 20;
const OPEN_FILE_PAUSE: Duration = Duration::from_millis(10);

/// How an item was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemChange {
    /// It already was as planned.
    Nothing,
    /// As planned.
    Done,
    /// As planned, but what was there is still at the place's own name: it is unclear whether a program has it open
    /// for writing.
    Aside,
}

/// How far [`ItemWriter::prepare`] got with an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Prepared {
    /// The target is already there.
    Already,
    /// It was done without a new file.
    Done,
    /// The complete target is at the place's own name. It lacks this of what it replaces.
    Temporary(Option<String>),
}

impl ItemWriter<'_> {
    /// Removes a file or link if it is what was expected. `filled` says that a directory takes its place, and may have
    /// done so already.
    pub(super) fn remove(
        &self,
        place: &Slot<'_>,
        expected: State,
        filled: bool,
    ) -> ItemResult<ItemChange> {
        self.clean_leftover(place, expected, None)?;
        let (found, _) = look(place.directory, place.name)
            .map_err(|error| ItemFailure::of("cannot be read", error))?;
        match found {
            Found::Nothing => return Ok(ItemChange::Nothing),
            Found::Directory { .. } if filled => return Ok(ItemChange::Nothing),
            found if found.is(expected) => {}
            found => return Err(ItemFailure::unexpected(&found)),
        }
        // Not `unlink`: between the look and the call, a program may have saved a new file at this name. Moved
        // aside, it is seen.
        match sys::take_out(self.rename_flags, place.directory, place.name, &place.own) {
            Ok(()) => self.discard_replaced(place, expected, None, AsideLook::First),
            Err(Errno::NOENT) => Ok(ItemChange::Nothing),
            Err(error) => Err(ItemFailure::of("cannot be moved aside", error)),
        }
    }

    /// Removes what was moved aside if it is still what was expected and no program writes to it. Otherwise puts it back,
    /// or keeps it where it is.
    pub(super) fn discard_replaced(
        &self,
        place: &Slot<'_>,
        expected: State,
        target: State,
        which: AsideLook,
    ) -> ItemResult<ItemChange> {
        // The order decides what can be lost. First the lease: until the file is gone, no program can open it for
        // writing, and one that had it open before is known. Then the hash, of a file that can no longer change. Only
        // then does it go. The other way round, a program could write between the hash and the removal.
        let lease = self.lease_on(place, &place.own, expected);
        let found = match &lease {
            Lease::Held(file, stat) => look_at_open(file, stat),
            Lease::Busy | Lease::Unknown => {
                look(place.directory, &place.own).map(|(found, _)| found)
            }
        };
        let failure = match found {
            // Whatever its bytes are now: the next ones would go into a file without a name.
            _ if matches!(lease, Lease::Busy) => in_use(),
            Ok(found) if found.is(expected) => {
                // A program may still hold it open, and there is no way to ask.
                if which == AsideLook::First && is_file(expected) && matches!(lease, Lease::Unknown)
                {
                    return Ok(ItemChange::Aside);
                }
                match discard(place, &found) {
                    Ok(()) => return Ok(ItemChange::Done),
                    Err(error) => ItemFailure::of("what was there cannot be removed", error),
                }
            }
            Ok(Found::Entry(_) | Found::Changing) if which == AsideLook::Later => written_to(),
            Ok(found) => ItemFailure::unexpected(&found),
            Err(error) => ItemFailure::of("what was there cannot be read", error),
        };
        let Some(target) = target else {
            return Err(self.move_back(place, failure));
        };
        Err(match look(place.directory, place.name) {
            // Ours stands at the name, and no program touched it. So the edit that came out gets its name back.
            Ok((found, _)) if found.is(Some(target)) => self.swap_back(place, target, failure),
            // A program saved again, over ours. The newest file keeps the name.
            _ => failure.kept_in(&place.own),
        })
    }

    /// Moves what was moved aside back to its name, if that is still free.
    pub(super) fn move_back(&self, place: &Slot<'_>, failure: ItemFailure) -> ItemFailure {
        // It must not replace anything: a file that was saved at this name in between is newer.
        match sys::put_in(self.rename_flags, place.directory, &place.own, place.name) {
            Ok(()) => failure,
            Err(_) => failure.kept_in(&place.own),
        }
    }

    /// Removes a directory that is what was expected, if it is empty. Returns whether it was removed.
    pub(super) fn remove_directory(&self, place: &Slot<'_>, expected: State) -> ItemResult<bool> {
        self.clean_leftover(place, expected, None)?;
        let (found, _) = look(place.directory, place.name)
            .map_err(|error| ItemFailure::of("cannot be read", error))?;
        match found {
            Found::Nothing => return Ok(false),
            found if found.is(expected) => {}
            found => return Err(ItemFailure::unexpected(&found)),
        }
        match sys::remove_directory(place.directory, place.name) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                Err(ItemFailure::conflict("the directory is not empty"))
            }
            Err(error) => Err(ItemFailure::of("cannot be removed", error)),
        }
    }

    /// Checks what is there, and makes the target as a temporary file next to it. `emptied` says that this operation
    /// emptied the directory that is there, so that it may set its permissions.
    pub(super) fn prepare(
        &self,
        place: &Slot<'_>,
        expected: State,
        target: Entry,
        emptied: bool,
    ) -> ItemResult<Prepared> {
        self.clean_leftover(place, expected, Some(target))?;
        let (found, stat) = look(place.directory, place.name)
            .map_err(|error| ItemFailure::of("cannot be read", error))?;
        // Killed in the middle of three calls, an earlier try may have left what was expected at the second name,
        // with the target or nothing at the name itself.
        if !found.is(expected) {
            self.clean_second_name(place, expected)?;
        }
        // Asked before anything is compared with what was expected: a second try of the same operation meets what
        // the first one did, and must not call its own work another program's edit.
        if found.is(Some(target)) {
            return Ok(Prepared::Already);
        }
        // A directory that stays is never replaced: it may hold files that no snapshot has.
        if let (Found::Directory { empty, .. }, EntryKind::Directory) = (found, target.mode.kind())
        {
            let is_ours = found.is(expected) || empty && emptied;
            if !is_ours {
                return Err(ItemFailure::conflict(match empty {
                    true => "it is not what was expected: its permissions were changed",
                    false => {
                        "it is not what was expected: it is not empty, so its permissions stay"
                    }
                }));
            }
            return Self::adjust_directory(place, target);
        }
        if !found.is(expected) {
            return Err(ItemFailure::unexpected(&found));
        }
        if matches!(found, Found::Directory { empty: false, .. }) {
            return Err(ItemFailure::conflict("the directory is not empty"));
        }
        // A new file in its place would have a new time, too, and every build would take it for changed.
        if let (Some(stat), Some(expected)) = (&stat, expected)
            && self.change_mode(place, stat, expected, target)?
        {
            return Ok(Prepared::Done);
        }
        let lost = self.make_temporary(place, stat.as_ref(), target)?;
        Ok(Prepared::Temporary(lost))
    }

    /// Sets the permissions of a directory that stays.
    fn adjust_directory(place: &Slot<'_>, target: Entry) -> ItemResult<Prepared> {
        let changed = sys::open_readable(place.directory, place.name)
            .and_then(|directory| sys::set_permissions_of(&directory, target.mode.permissions()));
        changed.map_err(|error| ItemFailure::of("its permissions cannot be changed", error))?;
        Ok(Prepared::Done)
    }

    /// Changes only the permissions if nothing else differs, so that the file keeps its inode and time. Returns false
    /// if that is not enough, if the file has another name, which would change, too, or a set-id or sticky bit, which
    /// would go without a word.
    fn change_mode(
        &self,
        place: &Slot<'_>,
        stat: &Stat,
        expected: Entry,
        target: Entry,
    ) -> ItemResult<bool> {
        let files =
            expected.mode.kind() == EntryKind::File && target.mode.kind() == EntryKind::File;
        let is_special = system::mode(stat) & 0o7000 != 0;
        if !files || expected.blob != target.blob || stat.st_nlink != 1 || is_special {
            return Ok(false);
        }
        let what = "its permissions cannot be changed";
        let file =
            open_file(place.directory, place.name).map_err(|error| ItemFailure::of(what, error))?;
        let Some((file, now)) = file else {
            return Err(ItemFailure::unexpected(&Found::Changing));
        };
        // The permissions are those of the inode, so another name of it, perhaps outside the workspace, would get
        // them, too.
        if now.st_ino != stat.st_ino || now.st_nlink != 1 {
            return Err(ItemFailure::unexpected(&Found::Changing));
        }
        retry_on_intr(|| fchmod(&file, permissions(target)))
            .map_err(|error| ItemFailure::of(what, error))?;
        if self.sync_each
            && let Err(error) = retry_on_intr(|| full_sync(&file))
        {
            // A failed item has to be as it was.
            let _ = retry_on_intr(|| fchmod(&file, permissions(expected)));
            return Err(ItemFailure::not_synced(error));
        }
        Ok(true)
    }

    /// Puts what [`ItemWriter::prepare`] made into its place.
    pub(super) fn finish(
        &self,
        place: &Slot<'_>,
        expected: State,
        target: Entry,
    ) -> ItemResult<ItemChange> {
        // Nothing expected: a name that is taken by now is another program's, and the call fails. Something expected:
        // the call cannot fail for that, so what comes out is checked afterwards, and goes back if it is not what
        // was expected.
        let moved = match expected {
            None => sys::put_in(self.rename_flags, place.directory, &place.own, place.name)
                .map(|()| None),
            // An exchange and not a rename: a rename would let go of what is there before anybody could see whether
            // it is what was expected.
            Some(_) => {
                sys::exchange(self.rename_flags, place.directory, &place.own, place.name).map(Some)
            }
        };
        match moved {
            Ok(None) => Ok(ItemChange::Done),
            Ok(Some(true)) => {
                self.discard_replaced(place, expected, Some(target), AsideLook::First)
            }
            Ok(Some(false)) => self.replace_checked(place, expected, target),
            // An overlay, such as the root of a container, cannot rename a directory of a lower layer.
            Err(Errno::XDEV) if is_directory(expected) => {
                self.replace_checked(place, expected, target)
            }
            Err(error) => {
                let failure = match error {
                    Errno::EXIST => ItemFailure::conflict("something was put there meanwhile"),
                    Errno::NOENT => {
                        ItemFailure::conflict("it is not what was expected: it is gone")
                    }
                    error => ItemFailure::of("cannot be put into its place", error).into_failure(),
                };
                Err(Self::drop_prepared(place, target, failure))
            }
        }
    }

    /// Swaps two names back, and removes our own file if it is still what we wrote.
    pub(super) fn swap_back(
        &self,
        place: &Slot<'_>,
        target: Entry,
        failure: ItemFailure,
    ) -> ItemFailure {
        match sys::exchange(self.rename_flags, place.directory, &place.own, place.name) {
            Ok(true) => {}
            Ok(false) | Err(_) => return failure.kept_in(&place.own),
        }
        // What came out of the swap must be our own file, or else it is an edit that was made between the two.
        match look(place.directory, &place.own) {
            Ok((found, _)) if found.is(Some(target)) => Self::drop_prepared(place, target, failure),
            Ok((Found::Entry(_) | Found::Changing, _)) => {
                // A program saved just now, over ours, so swap once more.
                let _ = sys::exchange(self.rename_flags, place.directory, &place.own, place.name);
                failure.kept_in(&place.own)
            }
            _ => failure.kept_in(&place.own),
        }
    }

    /// The weaker way, for file systems that cannot exchange names. The check and the rename are two calls, so a file
    /// that is put there in between is replaced. A directory cannot be replaced by a rename at all, so it goes first;
    /// from then on the place's own name is kept whatever happens, so that the next try can finish. If it is unclear
    /// whether a program writes to a file, the file gets a second name first, so that it is not lost.
    fn replace_checked(
        &self,
        place: &Slot<'_>,
        expected: State,
        target: Entry,
    ) -> ItemResult<ItemChange> {
        // Here the lease is on the name that everybody uses. It is held over the check and the rename, so of what
        // may happen between these two calls, only another file that is saved at the same name goes unseen.
        let lease = self.lease_on(place, place.name, expected);
        let is_kept = matches!(lease, Lease::Unknown) && is_file(expected);
        let goes_first = is_directory(expected) || is_directory(Some(target));
        let checked = match look(place.directory, place.name) {
            _ if matches!(lease, Lease::Busy) => Err(in_use()),
            Ok((found, _)) if !found.is(expected) => Err(ItemFailure::unexpected(&found)),
            Ok((found, _)) if goes_first && !is_kept => {
                remove_found(place.directory, place.name, &found)
            }
            Ok(_) if goes_first => sys::take_out_to_second_name(place)
                .map_err(|error| ItemFailure::of("cannot be moved aside", error)),
            Ok(_) => Ok(()),
            Err(error) => Err(ItemFailure::of("cannot be read", error)),
        };
        if let Err(failure) = checked {
            return Err(Self::drop_prepared(place, target, failure));
        }
        let is_aside = if goes_first {
            // Until this is done, the name is empty. The target waits whole under our own name, where the next try
            // finds it.
            self.move_in(place)?;
            let moved = is_kept.then(|| sys::move_second_name(place));
            moved.transpose().map(|moved| moved.is_some())
        } else {
            sys::replace(place, is_kept)
        };
        match is_aside {
            Ok(true) => self.discard_replaced(place, expected, Some(target), AsideLook::First),
            Ok(false) => Ok(ItemChange::Done),
            Err(error) => {
                let failure = ItemFailure::of("cannot be put into its place", error).into_failure();
                Err(match goes_first {
                    true => failure,
                    false => Self::drop_prepared(place, target, failure),
                })
            }
        }
    }

    /// Moves the target in. The old entry is already gone, so if this fails, the new one is kept for a second try.
    fn move_in(&self, place: &Slot<'_>) -> ItemResult<()> {
        let put = || sys::put_in(self.rename_flags, place.directory, &place.own, place.name);
        put().or_else(|_| put()).map_err(|error| {
            ItemFailure::of("cannot be put into its place", error)
                .into_failure()
                .waits_in(&place.own)
        })
    }

    /// Asks for a lease on a file; nothing else can be written to through a descriptor.
    fn lease_on(&self, place: &Slot<'_>, name: &[u8], expected: State) -> Lease {
        if !self.leases || !is_file(expected) {
            return Lease::Unknown;
        }
        let mut lease = lease::take(place.directory, name);
        // A process between `fork` and `exec` has every file of its parent open. It is gone in a moment, and the
        // limit is for a file that really is in use.
        while matches!(lease, Lease::Busy) && self.may_wait() {
            sleep(OPEN_FILE_PAUSE);
            lease = lease::take(place.directory, name);
        }
        lease
    }

    fn may_wait(&self) -> bool {
        let less = |left: u32| left.checked_sub(1);
        let left = self
            .waits
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        left.is_ok()
    }

    /// Removes what [`ItemWriter::prepare`] made, and returns why. If it stays, the next try recognises and removes it,
    /// so there has to be one.
    pub(super) fn drop_prepared(
        place: &Slot<'_>,
        target: Entry,
        failure: ItemFailure,
    ) -> ItemFailure {
        let dropped = match target.mode.kind() {
            EntryKind::Directory => sys::remove_directory(place.directory, &place.own),
            EntryKind::File | EntryKind::Symlink => sys::unlink(place.directory, &place.own),
        };
        match dropped {
            Ok(()) | Err(Errno::NOENT) => failure,
            Err(_) => failure.into_failure().waits_in(&place.own),
        }
    }
}

/// Which check of what was moved aside this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AsideLook {
    /// Just after it was moved.
    First,
    /// A little later. This is the last check.
    Later,
}

fn in_use() -> ItemFailure {
    ItemFailure::Open(
        "a program has it open for writing, and what it writes next would be lost".to_owned(),
    )
}

fn written_to() -> ItemFailure {
    ItemFailure::Open("a program has it open, and wrote to it while it was replaced".to_owned())
}

fn is_file(state: State) -> bool {
    state.is_some_and(|entry| entry.mode.kind() == EntryKind::File)
}

fn is_directory(state: State) -> bool {
    state.is_some_and(|entry| entry.mode.kind() == EntryKind::Directory)
}

/// Removes the entry at our own name, which was just checked.
pub(super) fn discard(place: &Slot<'_>, found: &Found) -> SysResult<()> {
    match found {
        Found::Directory { .. } => sys::remove_directory(place.directory, &place.own),
        _ => sys::unlink(place.directory, &place.own),
    }
}

fn remove_found(directory: BorrowedFd<'_>, name: &[u8], found: &Found) -> ItemResult<()> {
    let removed = match found {
        Found::Directory { .. } => sys::remove_directory(directory, name),
        _ => sys::unlink(directory, name),
    };
    removed.map_err(|error| ItemFailure::of("cannot be removed", error))
}
