//! What the group of a file may do by its ACL. The group bits of `st_mode` are the ACL's mask then: the most that any of
//! its entries grants. Only Linux's ACLs are known. This module does IO.

use std::os::fd::BorrowedFd;
use std::path::Path;

use super::xattr;

/// What the ACL of a file is called among its extended attributes, and the one that a directory gives to what is made
/// in it.
pub(crate) const ACL: &[u8] = b"system.posix_acl_access";
pub(crate) const DEFAULT_ACL: &[u8] = b"system.posix_acl_default";

/// Returns the bits (`rwx`) that an `st_mode` shows for the group and that the ACL of an open file does not grant it.
///
/// Only a file that lets its group do more than all others is asked, so that most files cost no system call.
pub(crate) fn withheld(file: BorrowedFd<'_>, st_mode: u32) -> u32 {
    if !may_withhold(st_mode) {
        return 0;
    }
    let granted = xattr::value(file, ACL).and_then(|acl| group_entry(&acl));
    granted.map_or(0, |granted| st_mode >> 3 & 7 & !granted)
}

/// Returns whether the group of a file with this `st_mode` may do more than all others.
pub(crate) fn may_withhold(st_mode: u32) -> bool {
    st_mode >> 3 & !st_mode & 7 != 0
}

/// Returns whether what is at a path has an ACL.
pub(crate) fn is_at(path: &Path) -> bool {
    xattr::value_at(path, ACL).is_some()
}

/// Returns the permissions of the owning group's entry (`ACL_GROUP_OBJ`): a version (u32), then entries of a tag (u16),
/// permissions (u16) and an id (u32), all little-endian.
fn group_entry(acl: &[u8]) -> Option<u32> {
    const GROUP_OBJ: [u8; 2] = [4, 0];
    let entries = acl.get(4..)?.as_chunks::<8>().0;
    let entry = entries.iter().find(|entry| entry[..2] == GROUP_OBJ)?;
    Some(u32::from(entry[2]) & 7)
}
