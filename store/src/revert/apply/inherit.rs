//! What a file takes over from the one that it replaces, besides its permissions: the owner and the group, extended
//! attributes, and with them ACLs and capabilities. Says what it could not take over. This module does IO.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, Gid, Stat, Uid, fchown, fstat};
use rustix::io::retry_on_intr;

use super::found::open_file;
use super::sys::{self, SysResult};
use super::writer::Slot;
use crate::fs::system;

/// The bits that no revert gives to a file: what it runs is for the user to decide.
const SPECIAL: [(u32, &str); 3] = [
    (0o4000, "its setuid bit"),
    (0o2000, "its setgid bit"),
    (0o1000, "its sticky bit"),
];

/// Gives a new file what it can have of the one that it will replace, whose `lstat` is `old`. Returns what that had and
/// the new one lacks, for people.
pub(super) fn take_over(
    place: &Slot<'_>,
    old: Option<&Stat>,
    file: &File,
) -> SysResult<Option<String>> {
    let now = keep_owner(place.directory, old, file)?;
    let Some(old) = old else {
        return made_again(place.directory, &now);
    };
    if FileType::from_raw_mode(old.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let mut lost = Vec::new();
    if now.0 != old.st_uid {
        lost.push("its owner".to_owned());
    }
    if now.1 != old.st_gid {
        lost.push("its group".to_owned());
    }
    let special = SPECIAL
        .iter()
        .filter(|(bit, _)| system::mode(old) & bit != 0);
    lost.extend(special.map(|(_, name)| (*name).to_owned()));
    if let Ok(Some((before, stat))) = open_file(place.directory, place.name)
        && stat.st_ino == old.st_ino
    {
        lost.extend(attributes::copy(&before, file.as_fd()));
    }
    match old.st_nlink {
        0 | 1 => {}
        2 => lost.push("its other name (a hard link), which stays as it is".to_owned()),
        names => lost.push(format!(
            "its {} other names (hard links), which stay as they are",
            names - 1
        )),
    }
    Ok((!lost.is_empty()).then(|| format!("not kept: {}", lost.join(", "))))
}

/// The owner and the group of a file.
type Owner = (u32, u32);

/// A file that replaces another keeps its owner, if we are root, and its group, if we may. Returns what it has then.
fn keep_owner(directory: BorrowedFd<'_>, old: Option<&Stat>, file: &File) -> SysResult<Owner> {
    let now = retry_on_intr(|| fstat(file))?;
    let now = (now.st_uid, now.st_gid);
    match (owner(directory, old)?, old) {
        (Some((user, group)), _) if now != (user.as_raw(), group.as_raw()) => {
            retry_on_intr(|| fchown(file, Some(user), Some(group)))?;
            Ok((user.as_raw(), group.as_raw()))
        }
        (None, Some(old)) if old.st_gid != now.1 => {
            // Only root and the group's members may do that. Otherwise the file has our group, like any new file.
            let is_given = fchown(file, None, Some(Gid::from_raw(old.st_gid))).is_ok();
            Ok((now.0, if is_given { old.st_gid } else { now.1 }))
        }
        _ => Ok(now),
    }
}

/// Returns the owner that root gives to what it makes: that of the old entry, or else that of the directory.
pub(super) fn owner(
    directory: BorrowedFd<'_>,
    old: Option<&Stat>,
) -> SysResult<Option<(Uid, Gid)>> {
    match old {
        Some(stat) if sys::is_root() => Ok(Some((
            Uid::from_raw(stat.st_uid),
            Gid::from_raw(stat.st_gid),
        ))),
        Some(_) => Ok(None),
        None => sys::owner_to_keep(directory),
    }
}

/// Nothing is recorded of the owner of a file that is made again. Where its directory has another one, it may have had
/// that.
fn made_again(directory: BorrowedFd<'_>, now: &Owner) -> SysResult<Option<String>> {
    let beside = retry_on_intr(|| fstat(directory))?;
    let is_other = (beside.st_uid, beside.st_gid) != *now;
    Ok(is_other.then(|| {
        format!(
            "made again, with owner {} and group {}: no snapshot holds whose it was",
            now.0, now.1
        )
    }))
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
mod attributes {
    use super::*;
    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
    use rustix::io::Errno;

    /// How many bytes of names or of a value there mostly are, and the most that Linux takes.
    const FEW: usize = 512;
    const MOST: usize = 64 << 10;
    /// What an ACL is called.
    const ACL: &[u8] = b"system.posix_acl_access";

    /// Copies the extended attributes of a file, and returns the names of those that could not be copied. An ACL that
    /// only the new file has, from its directory, would let others in: it goes.
    pub(super) fn copy(from: &OwnedFd, to: BorrowedFd<'_>) -> Vec<String> {
        let names = names(from.as_fd());
        if !names.iter().any(|name| name == ACL) {
            let _ = fremovexattr(to, ACL);
        }
        let lost = names.iter().filter(|name| {
            value(from.as_fd(), name).is_none_or(|before| {
                let now = value(to, name);
                now.as_ref() != Some(&before)
                    && fsetxattr(to, &name[..], &before, XattrFlags::empty()).is_err()
            })
        });
        lost.map(|name| match &name[..] {
            ACL => "its ACL".to_owned(),
            b"security.capability" => "its capabilities".to_owned(),
            name => format!("its attribute {}", String::from_utf8_lossy(name)),
        })
        .collect()
    }

    fn names(file: BorrowedFd<'_>) -> Vec<Vec<u8>> {
        let list = whole(|buffer| flistxattr(file, buffer)).unwrap_or_default();
        let names = list.split(|byte| *byte == 0);
        names
            .filter(|name| !name.is_empty())
            .map(<[u8]>::to_vec)
            .collect()
    }

    fn value(file: BorrowedFd<'_>, name: &[u8]) -> Option<Vec<u8>> {
        whole(|buffer| fgetxattr(file, name, buffer))
    }

    /// Returns what a call writes into a buffer that has room for it. `None` if it fails.
    fn whole(read: impl Fn(&mut [u8]) -> SysResult<usize>) -> Option<Vec<u8>> {
        let mut bytes = vec![0; FEW];
        let length = match retry_on_intr(|| read(&mut bytes)) {
            Err(Errno::RANGE) => {
                bytes.resize(MOST, 0);
                retry_on_intr(|| read(&mut bytes))
            }
            read => read,
        };
        bytes.truncate(length.ok()?);
        Some(bytes)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
mod attributes {
    use super::*;

    /// Here, extended attributes stay behind.
    pub(super) fn copy(_from: &OwnedFd, _to: BorrowedFd<'_>) -> Vec<String> {
        Vec::new()
    }
}
