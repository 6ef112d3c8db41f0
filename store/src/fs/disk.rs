//! Opening what is in the workspace without following a link, waiting for a pipe or crossing a mount. This module does IO.
//!
//! Every open starts at the root's descriptor (`openat2` with `BENEATH`, `NO_SYMLINKS`, `NO_XDEV`), so that no more than one
//! directory and one file are open per thread, however deep the tree. Where `openat2` is missing, as in old kernels and some
//! containers, the path is opened component by component.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

/// Longer paths are opened in pieces: the kernel takes 4096 bytes with the final NUL.
const LONGEST_PATH: usize = 4000;

static NO_OPENAT2: AtomicBool = AtomicBool::new(false);

/// What is compared to tell whether a file changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Nanoseconds since the epoch.
    pub mtime: i64,
    /// Nanoseconds since the epoch.
    pub ctime: i64,
    /// The inode's number.
    pub inode: u64,
    /// Bytes.
    pub size: u64,
    /// `st_mode`: type and permissions.
    pub mode: u32,
}

impl Stamp {
    /// Returns the stamp of what `stat` told.
    pub fn of(stat: &Stat) -> Self {
        Self {
            mtime: nanoseconds(i128::from(stat.st_mtime), i128::from(stat.st_mtime_nsec)),
            ctime: nanoseconds(i128::from(stat.st_ctime), i128::from(stat.st_ctime_nsec)),
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            mode: stat.st_mode,
        }
    }

    /// Returns whether any later change must show in the stamp, seen at `now` with this `margin` (nanoseconds).
    ///
    /// Times are compared with the moment before the scan began; where a file system keeps whole seconds only, two of them
    /// have to have passed.
    pub fn is_settled(&self, now: i64, margin: i64) -> bool {
        let is_old = |time: i64| {
            let coarse = if time % 1_000_000_000 == 0 {
                2_000_000_000
            } else {
                0
            };
            time > i64::MIN && time.saturating_add(margin.max(coarse)) < now
        };
        is_old(self.mtime) && is_old(self.ctime)
    }

    /// Returns the file type's bits of the mode.
    pub fn file_type(&self) -> u32 {
        self.mode & 0o170_000
    }
}

fn nanoseconds(seconds: i128, nanoseconds: i128) -> i64 {
    let time = seconds * 1_000_000_000 + nanoseconds;
    i64::try_from(time).unwrap_or(if time < 0 { i64::MIN } else { i64::MAX })
}

/// Returns the moment, by the clock that file times are taken from.
pub(crate) fn now() -> i64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    nanoseconds(i128::from(time.tv_sec), i128::from(time.tv_nsec))
}

const COMMON: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK);

/// Opens the workspace's root.
pub(crate) fn open_root(path: &Path) -> Result<OwnedFd, Errno> {
    twice(|| rustix::fs::open(path, COMMON | OFlags::DIRECTORY, Mode::empty()))
}

/// Opens a directory by its path below the root; the root's own is empty.
pub(crate) fn open_directory(root: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
    if path.is_empty() {
        return open_beneath(root, b".", OFlags::DIRECTORY);
    }
    let mut opened: Option<OwnedFd> = None;
    let mut rest = path;
    while rest.len() > LONGEST_PATH {
        let cut = rest[..LONGEST_PATH]
            .iter()
            .rposition(|byte| *byte == b'/')
            .ok_or(Errno::NAMETOOLONG)?;
        opened = Some(open_beneath(
            opened.as_ref().map_or(root, AsFd::as_fd),
            &rest[..cut],
            OFlags::DIRECTORY,
        )?);
        rest = &rest[cut + 1..];
    }
    open_beneath(
        opened.as_ref().map_or(root, AsFd::as_fd),
        rest,
        OFlags::DIRECTORY,
    )
}

/// So many levels below its anchor a directory is opened in one go.
const REACH: usize = 256;

/// Opens directories one after the other. Of those that are very deep, the kernel walks the upper part of the way only where
/// it is another one than that of the last: else a chain of directories would cost the square of its depth.
#[derive(Default)]
pub(crate) struct Anchor(Option<(Vec<u8>, OwnedFd)>);

impl Anchor {
    /// Opens a directory by its path below the root, which is always the same one.
    pub fn open_directory(&mut self, root: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
        let Some(cut) = cut(path) else {
            return open_directory(root, path);
        };
        let (upper, lower) = (&path[..cut], &path[cut + 1..]);
        let anchor = match self.0.take() {
            Some((anchored, directory)) if anchored == upper => directory,
            _ => open_directory(root, upper)?,
        };
        let opened = open_directory(anchor.as_fd(), lower);
        self.0 = Some((upper.to_vec(), anchor));
        opened
    }
}

/// Returns where a deep path is cut: behind its first `REACH` names, or twice as many, and so on.
fn cut(path: &[u8]) -> Option<usize> {
    if path.len() <= 2 * REACH {
        return None;
    }
    let slashes = path
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'/')
        .map(|(at, _)| at);
    slashes.skip(REACH - 1).step_by(REACH).last()
}

/// Opens a file of an open directory.
pub(crate) fn open_file(directory: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
    open_beneath(directory, name, OFlags::NOCTTY)
}

/// Reads the stamp of an entry of an open directory.
pub(crate) fn stat(directory: BorrowedFd<'_>, name: &[u8]) -> Result<Stamp, Errno> {
    twice(|| rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW))
        .map(|stat| Stamp::of(&stat))
        .map_err(without_link)
}

/// Reads the target of a link of an open directory.
pub(crate) fn read_link(
    directory: BorrowedFd<'_>,
    name: &[u8],
) -> Result<std::ffi::CString, Errno> {
    twice(|| rustix::fs::readlinkat(directory, name, Vec::new())).map_err(without_link)
}

/// Where nothing is followed, a link is no reason to fail.
fn without_link(error: Errno) -> Errno {
    if error == Errno::LOOP {
        Errno::IO
    } else {
        error
    }
}

/// `ELOOP` is not among them: it says that a link came in between, and that can be seen. Neither is `EXDEV`: where something is
/// mounted, the second answer is the same.
const SAYS_WHAT_IS_THERE: [Errno; 4] = [
    Errno::NOENT,
    Errno::NOTDIR,
    Errno::NAMETOOLONG,
    Errno::INVAL,
];

/// Tries again what failed, unless the answer says what is there: a call that fails by chance need not make a gap.
pub(crate) fn twice<T>(act: impl Fn() -> Result<T, Errno>) -> Result<T, Errno> {
    match act() {
        Err(error) if !SAYS_WHAT_IS_THERE.contains(&error) => act(),
        found => found,
    }
}

fn open_beneath(directory: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    match twice(|| open_beneath_once(directory, path, flags)) {
        Err(Errno::LOOP) if !has_link(directory, path) => Err(Errno::IO),
        opened => opened,
    }
}

/// Returns whether a symbolic link is at a path, or on the way to it; what cannot be looked at may be one.
fn has_link(directory: BorrowedFd<'_>, path: &[u8]) -> bool {
    let ends = (0..=path.len()).filter(|end| path.get(*end).is_none_or(|byte| *byte == b'/'));
    ends.into_iter().any(|end| {
        stat(directory, &path[..end]).map_or(true, |stamp| stamp.file_type() == 0o120_000)
    })
}

fn open_beneath_once(
    directory: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    while !NO_OPENAT2.load(Ordering::Relaxed) {
        match rustix::fs::openat2(directory, path, COMMON | flags, Mode::empty(), resolve) {
            Err(Errno::INTR | Errno::AGAIN) => {}
            // A filter for system calls answers with `EPERM`; so may an object that is really forbidden, and then the other
            // way says the same.
            Err(Errno::NOSYS) => NO_OPENAT2.store(true, Ordering::Relaxed),
            Err(Errno::PERM) => break,
            result => return result,
        }
    }
    open_by_component(directory, path, flags)
}

fn open_by_component(
    directory: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let device = rustix::fs::fstat(directory)?.st_dev;
    let mut opened: Option<OwnedFd> = None;
    let mut components = path.split(|byte| *byte == b'/').peekable();
    while let Some(component) = components.next() {
        let is_last = components.peek().is_none();
        let flags = COMMON | if is_last { flags } else { OFlags::DIRECTORY };
        let parent = opened.as_ref().map_or(directory, AsFd::as_fd);
        let next = rustix::fs::openat(parent, component, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&next)?;
        if Stamp::of(&stat).file_type() == 0o040_000 && stat.st_dev != device {
            return Err(Errno::XDEV);
        }
        opened = Some(next);
    }
    opened.ok_or(Errno::INVAL)
}

/// A name, and whether it is a directory, where the file system tells.
pub(crate) type Name = (Vec<u8>, Option<bool>);

/// Returns the names of an open directory and whether each is a directory, where the file system tells. What fails is tried
/// again from the beginning: a directory of which only some names were read would seem to have lost the others.
pub(crate) fn names(directory: BorrowedFd<'_>) -> Result<Vec<Name>, Errno> {
    names_from_here(directory).or_else(|error| {
        if SAYS_WHAT_IS_THERE.contains(&error) {
            return Err(error);
        }
        rustix::fs::seek(directory, rustix::fs::SeekFrom::Start(0))?;
        names_from_here(directory)
    })
}

fn names_from_here(directory: BorrowedFd<'_>) -> Result<Vec<Name>, Errno> {
    let mut names = Vec::new();
    let mut buffer = Vec::with_capacity(64 << 10);
    let mut entries = rustix::fs::RawDir::new(directory, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = match entry {
            Err(Errno::INTR) => continue,
            entry => entry?,
        };
        let name = entry.file_name().to_bytes();
        let is_directory = match entry.file_type() {
            rustix::fs::FileType::Unknown => None,
            kind => Some(kind == rustix::fs::FileType::Directory),
        };
        if name != b"." && name != b".." {
            names.push((name.to_vec(), is_directory));
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Returns whether the directory times of a file system cannot be trusted: those that other machines or other processes
/// serve. The numbers are those of the kernel's `magic.h`.
pub(crate) fn is_remote(root: BorrowedFd<'_>) -> bool {
    const REMOTE: [i64; 10] = [
        0x6969,
        0xff53_4d42,
        0xfe53_4d42,
        0x517b,
        0x0102_1997,
        0x6573_5546,
        0x6573_5543,
        0x0bd0_0bd0,
        0x5346_414f,
        0x00c3_6400,
    ];
    // NFS, CIFS, SMB2, SMB, 9p, FUSE (and virtiofs), fusectl, Lustre, AFS, Ceph.
    rustix::fs::fstatfs(root).map_or(true, |stat| REMOTE.contains(&(stat.f_type & 0xffff_ffff)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn a_deep_path_is_cut_behind_a_multiple_of_the_reach() {
        let path = |depth: usize| vec!["ab"; depth].join("/").into_bytes();
        assert_eq!(cut(&path(REACH)), None, "it is opened from the root");
        assert_eq!(
            cut(&path(REACH + 1)),
            Some(3 * REACH - 1),
            "one name is left"
        );
        assert_eq!(
            cut(&path(2 * REACH)),
            Some(3 * REACH - 1),
            "all that is in reach"
        );
        assert_eq!(
            cut(&path(5 * REACH + 7)),
            Some(15 * REACH - 1),
            "seven names are left"
        );
        assert_eq!(cut(&[b'a'; 4 * REACH]), None, "a long name is not deep");
    }

    #[test]
    fn a_deep_directory_is_the_same_however_it_is_opened() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let root = open_root(folder.path()).expect("it is there");
        let mut paths = vec![Vec::new()];
        let mut directory = open_root(folder.path()).expect("it is there");
        for _ in 0..2 * REACH + 10 {
            rustix::fs::mkdirat(&directory, "d", Mode::RWXU).expect("writable");
            directory =
                open_beneath(directory.as_fd(), b"d", OFlags::DIRECTORY).expect("it was made");
            paths.push(if paths.len() == 1 {
                b"d".to_vec()
            } else {
                [&paths[paths.len() - 1][..], b"/d"].concat()
            });
        }
        let inode = |opened: Result<OwnedFd, Errno>| {
            rustix::fs::fstat(opened.expect("it is there"))
                .expect("open")
                .st_ino
        };
        let mut anchor = Anchor::default();
        for path in paths.iter().chain(paths.iter().rev()) {
            let expected = inode(open_directory(root.as_fd(), path));
            assert_eq!(
                inode(anchor.open_directory(root.as_fd(), path)),
                expected,
                "down and up again"
            );
        }
        let missing = [&paths[paths.len() - 1][..], b"/x"].concat();
        assert_eq!(
            anchor.open_directory(root.as_fd(), &missing).err(),
            Some(Errno::NOENT),
            "as from the root"
        );
    }

    #[test]
    fn a_link_is_told_wherever_it_stands() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir_all(folder.path().join("a/b")).expect("writable");
        std::os::unix::fs::symlink("b", folder.path().join("a/link")).expect("writable");
        let root = open_root(folder.path()).expect("it is there");
        for (path, expected) in [
            ("a/b", false),
            ("a/link", true),
            ("a/link/c", true),
            ("a", false),
            ("a/c", true),
        ] {
            assert_eq!(
                has_link(root.as_fd(), path.as_bytes()),
                expected,
                "{path}: what is gone may have been one"
            );
        }
        for (path, error) in [("a/link", Errno::NOTDIR), ("a/link/c", Errno::LOOP)] {
            let opened = open_directory(root.as_fd(), path.as_bytes());
            assert_eq!(
                opened.err(),
                Some(error),
                "{path}: the kernel is believed where there is one"
            );
        }
    }

    #[test]
    fn a_stamp_is_settled_only_when_a_later_change_must_show() {
        let stamp = |mtime, ctime| Stamp {
            mtime,
            ctime,
            ..Stamp::default()
        };
        let now = 100 * SECOND + 5;
        assert!(
            stamp(now - 1, now - 1).is_settled(now, 0),
            "older than the moment"
        );
        assert!(!stamp(now, now - 1).is_settled(now, 0), "the same tick");
        assert!(
            !stamp(now - 1, now + SECOND).is_settled(now, 0),
            "from the future"
        );
        assert!(
            !stamp(99 * SECOND, now - 1).is_settled(now, 0),
            "whole seconds need two of them"
        );
        assert!(
            !stamp(now - 9, now - 9).is_settled(now, 10),
            "within the margin"
        );
        assert!(
            !stamp(i64::MIN, now - 1).is_settled(now, 0),
            "a time that does not fit says nothing"
        );
    }
}
