//! Makes the target as a temporary file next to its place: complete, with its permissions and its owner, under a name
//! that no other program uses. This module does IO.

use std::fs::File;
use std::io::{self, Write};

use rustix::fs::{Mode as OpenMode, RawMode, Stat};
use rustix::fs::{fchmod, mkdirat, symlinkat};
use rustix::io::{Errno, retry_on_intr};

use crate::fs::beneath;
use crate::fs::system::full_sync;
use crate::model::entry::{Entry, EntryKind};

use super::failure::{ItemFailure, ItemResult};
use super::inherit::{owner, take_over};
use super::slot::{ItemWriter, Slot};
use super::sys::{self, SysResult};

impl ItemWriter<'_> {
    /// Makes the target at our own temporary name, which must be free. `old` is what it will replace. If that fails
    /// half-way, the temporary file is removed again. Returns the attributes that the file does not inherit.
    pub(super) fn make_temporary(
        &self,
        place: &Slot<'_>,
        old: Option<&Stat>,
        target: Entry,
    ) -> ItemResult<Option<String>> {
        match target.mode.kind() {
            EntryKind::File => self.make_file(place, old, target),
            EntryKind::Symlink => self.make_link(place, old, target).map(|()| None),
            EntryKind::Directory => self.make_directory(place, old, target).map(|()| None),
        }
    }

    fn make_file(
        &self,
        place: &Slot<'_>,
        old: Option<&Stat>,
        target: Entry,
    ) -> ItemResult<Option<String>> {
        // No other user may read it before it has the owner and the permissions of what it replaces.
        let permissions = OpenMode::from_raw_mode(0o600);
        let file = beneath::create(place.directory, &place.own, permissions).map_err(blocked)?;
        self.write(place, old, target, File::from(file))
            .map_err(|failure| Self::drop_prepared(place, target, failure))
    }

    fn write(
        &self,
        place: &Slot<'_>,
        old: Option<&Stat>,
        target: Entry,
        mut file: File,
    ) -> ItemResult<Option<String>> {
        self.fill(&mut file, target)?;
        let lost = take_over(place, old, &file)
            // The owner comes first: with the permissions set, a group that the file does not belong to could read it
            // for a moment.
            .and_then(|lost| {
                retry_on_intr(|| fchmod(&file, permissions(target)))?;
                Ok(lost)
            })
            .map_err(|error| {
                ItemFailure::of("cannot be given its owner and permissions", error).into_failure()
            })?;
        // One sync of the file system follows for all of them.
        if self.sync_each {
            // All of it was written, but it is unclear whether it reached the disk.
            retry_on_intr(|| full_sync(&file)).map_err(ItemFailure::not_synced)?;
        }
        Ok(lost)
    }

    fn fill(&self, to: &mut dyn Write, target: Entry) -> ItemResult<()> {
        let blob = target
            .blob
            .ok_or_else(|| ItemFailure::Failed("its bytes are not stored".to_owned()))?;
        (self.contents)(blob, to).map_err(|error| ItemFailure::from_error(&error))?;
        Ok(())
    }

    fn make_link(&self, place: &Slot<'_>, old: Option<&Stat>, target: Entry) -> ItemResult<()> {
        let mut text = LinkText(Vec::new());
        self.fill(&mut text, target)?;
        retry_on_intr(|| symlinkat(&text.0[..], place.directory, &place.own[..]))
            .map_err(blocked)?;
        let kept = keep_owner(place, old)
            .map_err(|error| ItemFailure::of("cannot be given to its owner", error).into_failure());
        kept.map_err(|failure| Self::drop_prepared(place, target, failure))
    }

    fn make_directory(
        &self,
        place: &Slot<'_>,
        old: Option<&Stat>,
        target: Entry,
    ) -> ItemResult<()> {
        let own = &place.own[..];
        retry_on_intr(|| mkdirat(place.directory, own, OpenMode::from_raw_mode(0o700)))
            .map_err(blocked)?;
        keep_owner(place, old)
            .and_then(|()| sys::open_readable(place.directory, own))
            .and_then(|directory| sys::set_permissions_of(&directory, target.mode.permissions()))
            .map_err(|error| ItemFailure::of("cannot be created", error).into_failure())
            .map_err(|failure| Self::drop_prepared(place, target, failure))
    }
}

/// Returns the permission bits of a file to set: never a set-id or sticky bit.
pub(super) fn permissions(entry: Entry) -> OpenMode {
    OpenMode::from_raw_mode(RawMode::try_from(entry.mode.permissions()).unwrap_or(0))
}

fn blocked(error: Errno) -> ItemFailure {
    ItemFailure::of("cannot create a temporary file beside it", error).into_failure()
}

fn keep_owner(place: &Slot<'_>, old: Option<&Stat>) -> SysResult<()> {
    let old = old.map(|old| (old.st_uid, old.st_gid));
    let Some((user, group)) = owner(place.directory, old)? else {
        return Ok(());
    };
    let now = beneath::lstat(place.directory, &place.own)?.ok_or(Errno::NOENT)?;
    if (now.st_uid, now.st_gid) == (user.as_raw(), group.as_raw()) {
        return Ok(());
    }
    sys::give_to(place.directory, &place.own, user, group)
}

/// The text of a link's target. No system allows a longer one than a path.
struct LinkText(Vec<u8>);

impl Write for LinkText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A link's target ends at its first zero byte: `symlink` would quietly make another link.
        if self.0.len() + bytes.len() > 4096 || bytes.contains(&0) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it is not the target of a symbolic link",
            ));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
