//! Cleans up what an interrupted attempt left next to an item, which it recognises by its name and its bytes. This
//! module does IO.
//!
//! The name is derived from the operation and the item's own name, so a later try of the same operation finds it
//! without a record. What it holds is one of these:
//!
//! | at the name | at our own name | meaning | action |
//! | --- | --- | --- | --- |
//! | the target | the expected state | what came out, already checked | let go |
//! | the target | part of the target | a second try's beginning | let go |
//! | the target | anything else | what came out: another program's edit | swapped back |
//! | nothing | the expected state | what was moved aside | let go |
//! | nothing | the target, whole | the end of a replacement in two calls | moved in |
//! | nothing | anything else | what was moved aside: another program's edit | moved back |
//! | anything else | the expected state, or part of the target | no author's | let go |
//! | anything else | anything else | bytes that are not stored | kept and named |
//!
//! If a file is replaced in three calls, what was there has a second name beside our own one:
//!
//! | the second name is | action |
//! | --- | --- |
//! | another name of what stands at the name | let go |
//! | the expected state | let go |
//! | anything else | kept and named |

use std::fs::File;
use std::io::{self, Read, Write};

use rustix::io::Errno;
use sha1::{Digest, Sha1};

use crate::fs::beneath;
use crate::fs::names::TEMPORARY;
use crate::model::entry::{Entry, EntryKind, State};
use crate::model::hex::Hex;

use super::failure::{ItemFailure, ItemResult};
use super::present_file::{Found, look, open_file};
use super::slot::{ItemWriter, Slot};
use super::sys;
use super::writer::discard;

/// Returns the name that an operation uses for the temporary file of an entry of this name.
pub(super) fn own_name(operation: &str, name: &[u8]) -> Vec<u8> {
    let operation: String = operation
        .chars()
        .filter(char::is_ascii_alphanumeric)
        // A row may be damaged or forged: what is read as an id must not become a path.
        .take(16)
        .collect();
    // Not the name itself: it may have 255 bytes already, and the same name in two directories is no clash.
    let hash = Sha1::digest(name);
    format!("{TEMPORARY}{operation}-{}", Hex(&hash[..8])).into_bytes()
}

impl ItemWriter<'_> {
    /// Cleans up what an interrupted attempt left at the place's own name. Afterwards nothing is there, or the item
    /// fails and is not touched.
    pub(super) fn clean_leftover(
        &self,
        place: &Slot<'_>,
        expected: State,
        target: State,
    ) -> ItemResult<()> {
        // Almost always nothing is there, so ask with one call before anything is hashed.
        let left = beneath::lstat(place.directory, &place.own).map_err(not_cleaned_up)?;
        if left.is_none() {
            return Ok(());
        }
        self.clean_second_name(place, expected)?;
        let (left, _) = look(place.directory, &place.own).map_err(not_cleaned_up)?;
        let (standing, _) = look(place.directory, place.name).map_err(not_cleaned_up)?;
        // The snapshot before the operation holds what was there, so nothing is lost. But a directory compares equal
        // whatever is in it, and it was swapped out by its name alone.
        let stored = left.is(expected) && !matches!(left, Found::Directory { empty: false, .. });
        // This comes before the leftover is discarded as our own beginning. Where the old entry had to go first,
        // the crash left the target as the only entry of the two, and its place is empty.
        if standing == Found::Nothing
            && target.is_some_and(|target| left.is(Some(target)) && in_two_calls(expected, target))
        {
            return sys::put_in(self.rename_flags, place.directory, &place.own, place.name)
                .map_err(not_cleaned_up);
        }
        if stored || self.is_part_of(place, &left, target)? {
            return discard(place, &left).map_err(not_cleaned_up);
        }
        match (standing, target) {
            (Found::Nothing, _) => {
                sys::put_in(self.rename_flags, place.directory, &place.own, place.name)
                    .map_err(not_cleaned_up)
            }
            // The exchange was done and the check after it was not: what came out is an edit that was made just
            // before.
            (standing, Some(target)) if standing.is(Some(target)) => {
                Err(self.swap_back(place, target, ItemFailure::unexpected(&left)))
            }
            _ => Err(ItemFailure::conflict(
                "an interrupted attempt left bytes that no snapshot holds",
            )
            .kept_in(&place.own)),
        }
    }

    /// Cleans up the second name that what was there may have got ([`sys::replace`]).
    pub(super) fn clean_second_name(&self, place: &Slot<'_>, expected: State) -> ItemResult<()> {
        let second = place.second_name();
        let (left, stat) = look(place.directory, &second).map_err(not_cleaned_up)?;
        let Some(stat) = stat else {
            return Ok(());
        };
        let (_, standing) = look(place.directory, place.name).map_err(not_cleaned_up)?;
        // The second name is a hard link to what is still in place: nothing was replaced yet. Whatever was written to
        // it since has a name all the same.
        let is_same = standing.is_some_and(|standing| {
            (standing.st_dev, standing.st_ino) == (stat.st_dev, stat.st_ino)
        });
        if is_same || left.is(expected) {
            return sys::unlink(place.directory, &second).map_err(not_cleaned_up);
        }
        Err(
            ItemFailure::conflict("an interrupted attempt left bytes that no snapshot holds")
                .kept_in(&second),
        )
    }

    /// Returns whether a leftover is the beginning of the target, perhaps with holes where a power cut lost bytes.
    fn is_part_of(&self, place: &Slot<'_>, left: &Found, target: State) -> ItemResult<bool> {
        // Nothing of ours could be there: this item only removes.
        let Some(target) = target else {
            return Ok(false);
        };
        match (left, target.mode.kind()) {
            (Found::Entry(entry), EntryKind::Symlink) => Ok(*entry == target),
            (Found::Directory { empty, .. }, EntryKind::Directory) => Ok(*empty),
            (Found::Entry(entry), EntryKind::File) if entry.mode.kind() == EntryKind::File => {
                self.is_beginning_of(place, target)
            }
            _ => Ok(false),
        }
    }

    fn is_beginning_of(&self, place: &Slot<'_>, target: Entry) -> ItemResult<bool> {
        let Some((left, _)) = open_file(place.directory, &place.own).map_err(not_read)? else {
            return Ok(false);
        };
        let Some(blob) = target.blob else {
            return Ok(false);
        };
        let mut comparison = LeftoverComparison {
            left: File::from(left),
            equal: true,
        };
        (self.contents)(blob, &mut comparison).map_err(|error| ItemFailure::from_error(&error))?;
        // A file with more bytes than the target is another program's, though it begins like ours.
        let ended = comparison
            .left
            .read(&mut [0])
            .map_err(|error| ItemFailure::Failed(error.to_string()))?
            == 0;
        Ok(comparison.equal && ended)
    }
}

fn not_cleaned_up(error: Errno) -> ItemFailure {
    ItemFailure::of(
        "what an interrupted attempt left beside it cannot be cleaned up",
        error,
    )
}

fn not_read(error: Errno) -> ItemFailure {
    ItemFailure::of(
        "what an interrupted attempt left beside it cannot be read",
        error,
    )
}

/// Returns whether an item is replaced in two calls: a directory, on a file system that cannot exchange it.
fn in_two_calls(expected: State, target: Entry) -> bool {
    expected.is_some_and(|expected| {
        expected.mode.kind() != target.mode.kind()
            && (expected.mode.kind() == EntryKind::Directory
                || target.mode.kind() == EntryKind::Directory)
    })
}

/// A writer that compares the target, which is written to it, with what is left of it.
struct LeftoverComparison {
    left: File,
    equal: bool,
}

impl Write for LeftoverComparison {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut left = vec![0; bytes.len().min(1 << 16)];
        let count = self.left.read(&mut left)?;
        if count == 0 {
            return Ok(bytes.len());
        }
        self.equal &= left[..count]
            .iter()
            .zip(bytes)
            // After a power cut, a file that was not synced may have its full length, with zeros where its blocks did
            // not reach the disk.
            .all(|(left, byte)| left == byte || *left == 0);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
