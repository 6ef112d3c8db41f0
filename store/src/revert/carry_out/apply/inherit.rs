//! What a file takes over from the one that it replaces or that is moved to its place, besides its permissions: the
//! owner and the group, extended attributes, and with them ACLs and capabilities. Says what it could not take over.
//! This module does IO.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use ckpt_schema::report::{FileResult, ReasonCode};
use rustix::fs::{AtFlags, Gid, Stat, Uid, fchown, fstat, statat};
use rustix::io::retry_on_intr;
use rustix::process::{getegid, geteuid};

use super::alike;
use super::order::moves;
use super::present_file::open_file;
use super::root::{Descent, Root};
use super::slot::{BlobWriter, Former, Owner, Slot};
use super::sys::{self, SysResult};
use crate::fs::acl::{ACL, DEFAULT_ACL};
use crate::fs::{system, xattr};
use crate::model::entry::{EntryKind, State, file_type};
use crate::model::item::{Item, ItemReason};
use crate::model::path::WorkspacePath;

/// The bits that no revert gives to a file: what it runs is for the user to decide.
const SPECIAL: [(u32, &str); 3] = [
    (0o4000, "its setuid bit"),
    (0o2000, "its setgid bit"),
    (0o1000, "its sticky bit"),
];

/// Attributes that the system gives to every file.
const OF_THE_SYSTEM: [&[u8]; 5] = [
    b"security.selinux",
    b"security.SMACK64",
    b"security.ima",
    b"security.evm",
    b"com.apple.provenance",
];

impl Former {
    /// Reads what a file has that is at a place, with this `lstat` if that is known. `None` if no file is there.
    pub(super) fn at(place: &Slot<'_>, known: Option<&Stat>) -> Option<Self> {
        let (file, stat) = open_file(place.directory, place.name).ok()??;
        if known.is_some_and(|known| known.st_ino != stat.st_ino) {
            return None;
        }
        Some(Self {
            attributes: attributes(file.as_fd()),
            ..Self::of(&stat)
        })
    }

    /// Returns the attributes in a `stat`.
    #[expect(clippy::unnecessary_cast, reason = "the types differ between systems")]
    fn of(stat: &Stat) -> Self {
        Self {
            owner: (stat.st_uid, stat.st_gid),
            mode: system::mode(stat),
            names: stat.st_nlink as u64,
            is_edited: false,
            attributes: Vec::new(),
        }
    }

    /// Returns the attributes that go with a file, as a list for people: another one that is put there later has none of
    /// them.
    pub(super) fn lost_with_it(&self, directory: BorrowedFd<'_>) -> Option<String> {
        let new = owner_of_a_new_file(directory).unwrap_or(self.owner);
        // What every new file in its directory gets comes back with it.
        let is_given = |name: &[u8]| {
            OF_THE_SYSTEM.contains(&name)
                || [ACL, DEFAULT_ACL].contains(&name) && has_default_acl(directory)
        };
        let own = self.attributes.iter().map(|(name, _)| &name[..]);
        let mut lost = self.lost_of_owner(new);
        lost.extend(own.filter(|name| !is_given(name)).map(attribute));
        lost.extend(self.lost_names());
        (!lost.is_empty()).then(|| format!("not kept, should it come back: {}", lost.join(", ")))
    }

    /// Returns the owner, group and special bits that a file with this owner lacks.
    fn lost_of_owner(&self, new: Owner) -> Vec<String> {
        let mut lost = Vec::new();
        if new.0 != self.owner.0 {
            lost.push("its owner".to_owned());
        }
        if new.1 != self.owner.1 {
            lost.push("its group".to_owned());
        }
        let special = SPECIAL.iter().filter(|(bit, _)| self.mode & bit != 0);
        lost.extend(special.map(|(_, name)| (*name).to_owned()));
        lost
    }

    /// Returns the properties that the file lacks that an item writes in its place or moves it to, for people, as far as they can be known
    /// before.
    fn lost_by_writing(&self, item: &Item, directory: BorrowedFd<'_>) -> Option<String> {
        is_file(item.target).then_some(())?;
        let is_root = geteuid().is_root();
        let now = match is_root {
            _ if self.is_edited => owner_of_a_new_file(directory).unwrap_or(self.owner),
            true => self.owner,
            false => (geteuid().as_raw(), self.owner.1),
        };
        let mut lost = self.lost_of_owner(now);
        let is_roots = |name: &[u8]| {
            let starts = [&b"security."[..], b"trusted."];
            starts.iter().any(|start| name.starts_with(start))
        };
        let is_kept = |name: &[u8]| match self.is_edited {
            _ if OF_THE_SYSTEM.contains(&name) => true,
            true => is_note(name),
            false => is_root || !is_roots(name),
        };
        let attributes = self.attributes.iter().map(|(name, _)| &name[..]);
        lost.extend(attributes.filter(|name| !is_kept(name)).map(attribute));
        lost.extend(self.lost_names());
        (!lost.is_empty()).then(|| format!("not kept: {}", lost.join(", ")))
    }

    /// Returns the path where the file is made again that an item removes: by its content, or else by its lines, if it has
    /// something to give.
    pub(super) fn heir<'a>(
        &mut self,
        item: &Item,
        (items, contents): (&'a [Item], &BlobWriter<'_>),
        moves: &HashMap<&'a WorkspacePath, &'a WorkspacePath>,
    ) -> Option<&'a WorkspacePath> {
        let moved = moves.get(&item.path).copied();
        self.is_edited = moved.is_none();
        moved.or_else(|| match self.has_notes() {
            true => alike::origin(items, contents, item, moves),
            false => None,
        })
    }

    fn lost_names(&self) -> Option<String> {
        match self.names {
            0 | 1 => None,
            2 => Some("its hard link to another name".to_owned()),
            names => Some(format!("its hard links to {} other names", names - 1)),
        }
    }

    /// Returns whether another file may have some of its attributes.
    fn has_notes(&self) -> bool {
        self.attributes.iter().any(|(name, _)| is_note(name))
    }

    /// Copies the extended attributes to a file, and returns those that could not be copied. An ACL that only the new
    /// file has, from its directory, would let others in: it goes. What may be another file gives only what grants
    /// nothing.
    fn copy_attributes(&self, to: BorrowedFd<'_>) -> Vec<String> {
        if !self.is_edited && !self.attributes.iter().any(|(name, _)| name == ACL) {
            xattr::remove(to, ACL);
        }
        let is_given = |name: &[u8]| !self.is_edited || is_note(name);
        let lost = self.attributes.iter().filter(|(name, before)| {
            before.as_ref().is_none_or(|before| {
                xattr::value(to, name).as_ref() != Some(before)
                    && !(is_given(name) && xattr::set(to, name, before))
            })
        });
        lost.map(|(name, _)| attribute(name)).collect()
    }
}

/// Returns whether an attribute is one that people and programs choose, and that grants nothing.
fn is_note(name: &[u8]) -> bool {
    name.starts_with(b"user.")
}

/// Returns the metadata that is lost with a directory. Its permissions are not: snapshots hold them.
pub(super) fn lost_with_folder(holder: BorrowedFd<'_>, name: &[u8]) -> Option<String> {
    let folder = sys::open_readable(holder, name).ok()?;
    let stat = retry_on_intr(|| fstat(&folder)).ok()?;
    let folder = Former {
        mode: 0,
        names: 1,
        attributes: attributes(folder.as_fd()),
        ..Former::of(&stat)
    };
    folder.lost_with_it(holder)
}

/// Returns whether what is made in a directory gets an ACL.
fn has_default_acl(directory: BorrowedFd<'_>) -> bool {
    // The walk may hold it as `O_PATH`, which has no attributes.
    let readable = sys::open_readable(directory, b".");
    readable.is_ok_and(|directory| xattr::value(directory.as_fd(), DEFAULT_ACL).is_some())
}

fn attributes(file: BorrowedFd<'_>) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let names = xattr::names(file).into_iter();
    let attributes = names.map(|name| {
        let value = xattr::value(file, &name);
        (name, value)
    });
    attributes.collect()
}

/// Returns the usual name of an attribute.
fn attribute(name: &[u8]) -> String {
    match name {
        ACL => "its ACL".to_owned(),
        DEFAULT_ACL => "its default ACL".to_owned(),
        b"security.capability" => "its capabilities".to_owned(),
        name => match std::str::from_utf8(name) {
            Ok(name) if name.bytes().all(is_of_a_name) => format!("its attribute {name}"),
            // Programs choose it, and it might speak in our voice.
            _ => "an attribute with an odd name".to_owned(),
        },
    }
}

fn is_of_a_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'#' | b'+')
}

/// Gives a new file what it can have of the one that it replaces, whose `lstat` is `old`, or of the one that is moved to
/// its place. Returns the attributes that are lost, for people.
pub(super) fn take_over(
    place: &Slot<'_>,
    old: Option<&Stat>,
    file: &File,
) -> SysResult<Option<String>> {
    let of_old = || old.map(|old| Former::at(place, Some(old)).unwrap_or_else(|| Former::of(old)));
    let former = place.moved.clone().or_else(of_old);
    let same = former.as_ref().filter(|former| !former.is_edited);
    let owner = same.map(|former| former.owner);
    let now = keep_owner(place.directory, owner, file)?;
    let Some(former) = former else {
        return made_again(place.directory, &now);
    };
    if former.mode & file_type::MASK != file_type::REGULAR {
        return Ok(None);
    }
    let mut lost = former.lost_of_owner(now);
    lost.extend(former.copy_attributes(file.as_fd()));
    lost.extend(former.lost_names());
    Ok((!lost.is_empty()).then(|| format!("not kept: {}", lost.join(", "))))
}

/// A file that replaces another keeps its owner, if we are root, and its group, if we may. Returns the owner that it gets.
fn keep_owner(directory: BorrowedFd<'_>, old: Option<Owner>, file: &File) -> SysResult<Owner> {
    let now = retry_on_intr(|| fstat(file))?;
    let now = (now.st_uid, now.st_gid);
    match (owner(directory, old)?, old) {
        (Some((user, group)), _) if now != (user.as_raw(), group.as_raw()) => {
            retry_on_intr(|| fchown(file, Some(user), Some(group)))?;
            Ok((user.as_raw(), group.as_raw()))
        }
        (None, Some(old)) if old.1 != now.1 => {
            // Only root and the group's members may do that. Otherwise the file has our group, like any new file.
            let is_given = fchown(file, None, Some(Gid::from_raw(old.1))).is_ok();
            Ok((now.0, if is_given { old.1 } else { now.1 }))
        }
        _ => Ok(now),
    }
}

/// Returns the owner that root gives to what it makes: that of the old entry, or else that of the directory.
pub(super) fn owner(
    directory: BorrowedFd<'_>,
    old: Option<Owner>,
) -> SysResult<Option<(Uid, Gid)>> {
    match old {
        Some((user, group)) if sys::is_root() => {
            Ok(Some((Uid::from_raw(user), Gid::from_raw(group))))
        }
        Some(_) => Ok(None),
        None => sys::owner_to_keep(directory),
    }
}

/// Returns whose a file will be that we make in a directory.
fn owner_of_a_new_file(directory: BorrowedFd<'_>) -> SysResult<Owner> {
    if let Some((user, group)) = sys::owner_to_keep(directory)? {
        return Ok((user.as_raw(), group.as_raw()));
    }
    let beside = retry_on_intr(|| fstat(directory))?;
    let group = match system::mode(&beside) & 0o2000 {
        0 => getegid().as_raw(),
        _ => beside.st_gid,
    };
    Ok((geteuid().as_raw(), group))
}

/// Names a directory that is made again, if it may have been another's.
pub(super) fn made_folder(holder: BorrowedFd<'_>, name: &[u8]) -> Option<String> {
    let folder = retry_on_intr(|| statat(holder, name, AtFlags::SYMLINK_NOFOLLOW)).ok()?;
    let beside = retry_on_intr(|| fstat(holder)).ok()?;
    let [own, holders] = [&folder, &beside].map(|stat| system::mode(stat) & 0o2000);
    // The bit is there for the sake of the group. From a directory with it, a new one takes the group along.
    let is_of_a_group = own != 0 && holders == 0;
    let owner = (folder.st_uid, folder.st_gid);
    may_be_another(&beside, &owner, is_of_a_group)
}

/// Nothing is recorded of the owner of a file that is made again. Where its directory has another one, it may have had
/// that.
fn made_again(directory: BorrowedFd<'_>, now: &Owner) -> SysResult<Option<String>> {
    let beside = retry_on_intr(|| fstat(directory))?;
    Ok(may_be_another(&beside, now, false))
}

fn may_be_another(beside: &Stat, now: &Owner, is_of_a_group: bool) -> Option<String> {
    let is_other = (beside.st_uid, beside.st_gid) != *now;
    (is_other || is_of_a_group).then(|| {
        format!(
            "made again, with owner {} and group {}: no snapshot holds whose it was",
            now.0, now.1
        )
    })
}

/// Says in a plan what its files would lose, and which cannot be replaced. Of directories that would be made again, it
/// says nothing.
pub(crate) fn foresee(root: &Root, items: &mut [Item], contents: &BlobWriter<'_>) {
    let moves = moves(items);
    let mut heirs = HashMap::new();
    let mut foreseen = BTreeMap::new();
    let (made, there): (Vec<&Item>, Vec<&Item>) = items
        .iter()
        .filter(|item| item.is_planned())
        .partition(|item| item.expected.is_none());
    for item in there {
        let Some(directory) = holder(root, item) else {
            continue;
        };
        let Ok(Some((file, stat))) = open_file(directory.as_fd(), item.path.name()) else {
            continue;
        };
        if system::is_immutable(file.as_fd()) {
            let text = "the file system lets nothing replace or remove it (`lsattr`)";
            foreseen.insert(item.path.clone(), (ReasonCode::Failed, text.to_owned()));
            continue;
        }
        let mut former = Former {
            attributes: attributes(file.as_fd()),
            ..Former::of(&stat)
        };
        let lost = if item.target.is_some() {
            former.lost_by_writing(item, directory.as_fd())
        } else if let Some(heir) = former.heir(item, (items, contents), &moves) {
            heirs.insert(heir, former);
            None
        } else {
            former.lost_with_it(directory.as_fd())
        };
        foreseen.extend(lost.map(|lost| (item.path.clone(), (ReasonCode::NotKept, lost))));
    }
    for item in made {
        let Some(directory) = holder(root, item) else {
            continue;
        };
        let lost = match heirs.get(&item.path) {
            Some(former) => former.lost_by_writing(item, directory.as_fd()),
            None => foresee_made(item, directory.as_fd()),
        };
        foreseen.extend(lost.map(|lost| (item.path.clone(), (ReasonCode::NotKept, lost))));
    }
    for item in items.iter_mut().filter(|item| item.reason.is_none()) {
        if let Some((code, text)) = foreseen.remove(&item.path) {
            item.reason = Some(ItemReason::new(code, text));
            if code == ReasonCode::Failed {
                item.result = FileResult::Failed;
            }
        }
    }
}

/// Returns the directory of an item, if it is there.
fn holder(root: &Root, item: &Item) -> Option<OwnedFd> {
    match root.descend(item.path.parent().as_ref()) {
        Ok(Descent::Directory(directory, _)) => Some(directory),
        _ => None,
    }
}

/// Names a file that would be made again, if it may have been another's.
fn foresee_made(item: &Item, directory: BorrowedFd<'_>) -> Option<String> {
    is_file(item.target).then_some(())?;
    let owner = owner_of_a_new_file(directory).ok()?;
    made_again(directory, &owner).ok()?
}

fn is_file(state: State) -> bool {
    state.is_some_and(|entry| entry.mode.kind() == EntryKind::File)
}
