//! HEAD and branch of the user's repository, read without git. This module does IO.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::OFlags;

use super::{Location, SMALL, read_small};

/// The largest `packed-refs` that is read, in bytes.
const LARGEST_PACKED_REFS: u64 = 64 << 20;
/// The file of the refs that have none of their own.
pub(crate) const PACKED_REFS: &str = "packed-refs";
/// How many symbolic refs are followed. Git has the same limit.
const LINKS: usize = 5;

/// Returns the commit and the branch that HEAD stands for.
pub(crate) fn head(location: &Location) -> (Option<String>, Option<String>) {
    let Some(text) = read_small(&location.directory.join("HEAD"), SMALL, OFlags::NOFOLLOW) else {
        return (None, None);
    };
    match text.strip_prefix(b"ref:") {
        Some(name) => {
            let name = String::from_utf8_lossy(name.trim_ascii()).into_owned();
            (resolve(location, &name, LINKS), Some(name))
        }
        None => (commit(&text), None),
    }
}

/// The files in the work tree's own folder while git is in the middle of something (`wt-status.c`). The rebase comes
/// first, because it picks, too.
const UNDER_WAY: [(&str, &str); 7] = [
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("sequencer", "sequence of picks"),
    ("BISECT_LOG", "bisect"),
];

/// Returns the name of the command that git is in the middle of.
pub(crate) fn doing(location: &Location) -> Option<String> {
    let is_there = |name: &str| rustix::fs::lstat(location.directory.join(name)).is_ok();
    UNDER_WAY
        .iter()
        .find(|(name, _)| is_there(name))
        .map(|(_, what)| (*what).to_owned())
}

/// Returns the commit that a ref names directly, not through another ref.
pub(crate) fn value(location: &Location, name: &str) -> Option<String> {
    resolve(location, name, 1)
}

fn resolve(location: &Location, name: &str, links: usize) -> Option<String> {
    let is_plain =
        // The name comes out of a file and becomes a path: `ref: ../../x` must not be read.
        name.starts_with("refs/") && !name.split('/').any(|part| matches!(part, "" | "." | ".."));
    if !is_plain || links == 0 {
        return None;
    }
    // A linked worktree keeps refs of its own, such as those of a bisection, and shares all others.
    let shared = Some(&location.common).filter(|common| **common != location.directory);
    let file = OsStr::from_bytes(name.as_bytes());
    match std::iter::once(&location.directory)
        .chain(shared)
        .find_map(|folder| read_small(&folder.join(file), SMALL, OFlags::NOFOLLOW))
    {
        Some(text) => match text.strip_prefix(b"ref:") {
            Some(next) => resolve(
                location,
                std::str::from_utf8(next.trim_ascii()).ok()?,
                links - 1,
            ),
            None => commit(&text),
        },
        // As in git, a file of its own counts more than a line here.
        None => packed(location, name),
    }
}

/// Returns the commit that `packed-refs` has for a ref.
pub(crate) fn packed(location: &Location, name: &str) -> Option<String> {
    let refs = packed_refs(location)?;
    let line = refs
        .split(|byte| *byte == b'\n')
        .find(|line| is_of(line, name))?;
    commit(line.split(|byte| *byte == b' ').next()?)
}

/// Returns all of `packed-refs`.
pub(crate) fn packed_refs(location: &Location) -> Option<Vec<u8>> {
    read_small(
        &location.common.join(PACKED_REFS),
        LARGEST_PACKED_REFS,
        OFlags::NOFOLLOW,
    )
}

/// Returns a `packed-refs` without a ref, and without the line on its peeled tag, if it is one.
pub(crate) fn packed_without(refs: &[u8], name: &str) -> Vec<u8> {
    let mut kept = Vec::with_capacity(refs.len());
    let mut is_left_out = false;
    for line in refs.split_inclusive(|byte| *byte == b'\n') {
        // The line on a peeled tag comes after that of the tag, and goes with it.
        if !line.starts_with(b"^") {
            is_left_out = is_of(line.trim_ascii_end(), name);
        }
        if !is_left_out {
            kept.extend_from_slice(line);
        }
    }
    kept
}

/// Returns whether a line of `packed-refs` is that of a ref.
fn is_of(line: &[u8], name: &str) -> bool {
    line.strip_suffix(name.as_bytes())
        .is_some_and(|start| start.ends_with(b" ") && start[0] != b'#')
}

/// Parses a commit's id in hex, of SHA-1 or SHA-256.
fn commit(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text.trim_ascii()).ok()?;
    let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| text.to_owned())
}
