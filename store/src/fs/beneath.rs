//! Opens what is beneath a root, without following a link, waiting for a pipe or crossing a mount. This module does IO.
//!
//! Every open starts at a descriptor (`openat2` with `BENEATH`, `NO_SYMLINKS`, `NO_XDEV`), so that at most one
//! directory and one file are open per thread, however deep the tree. Without `openat2`, as in old kernels and some
//! containers, the path is opened component by component.
//!
//! Looks at a workspace share one rule about retries: after a signal, or a rename elsewhere that makes the kernel
//! unsure, they try again up to a limit; after any other error once, unless the error says what is there ([`twice`]).
//! Callers that change a directory ([`lstat`], [`open_name`], [`create`]) try again only after a signal: they have to
//! know what their one call did.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};

use super::disk::Stamp;
use super::system;
use crate::error::{Context, Result as Outcome};
use crate::model::entry::file_type;

/// Longer paths are opened in pieces: the kernel accepts 4096 bytes with the final NUL.
const LONGEST_PATH: usize = 4000;

static NO_OPENAT2: AtomicBool = AtomicBool::new(false);

// `NONBLOCK`: opening a pipe would wait for a process to write to it. `NOFOLLOW` says nothing about the components
// before the last one; `openat2` has flags for these, and without it they are opened one by one.
const COMMON: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK);

/// Opens a root: of a workspace, or of a repository. Its last component is not followed.
pub(crate) fn open_root(path: &Path) -> Result<OwnedFd, Errno> {
    twice(|| rustix::fs::open(path, COMMON | OFlags::DIRECTORY, Mode::empty()))
}

/// Opens the root of a workspace, and names it if that fails.
pub(crate) fn open_workspace(root: &Path) -> Outcome<OwnedFd> {
    open_root(root)
        .map_err(std::io::Error::from)
        .context(|| format!("cannot open the directory `{}`", root.display()))
}

/// Opens a directory by its path below the root. The root's own path is empty.
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

/// How many levels below its anchor a directory is opened in one call.
const MAX_LEVELS: usize = 256;

/// Opens directories one after the other. For very deep ones, the kernel walks the upper part of the path only if it
/// differs from the last one's: otherwise a chain of directories would cost the square of its depth.
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
        // Kept even if the lower part cannot be opened: the next path most likely has the same upper part.
        self.0 = Some((upper.to_vec(), anchor));
        opened
    }
}

/// Returns where a deep path is cut: after its first `MAX_LEVELS` names, or twice as many, and so on.
fn cut(path: &[u8]) -> Option<usize> {
    if path.len() <= 2 * MAX_LEVELS {
        return None;
    }
    let slashes = path
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'/')
        .map(|(at, _)| at);
    slashes.skip(MAX_LEVELS - 1).step_by(MAX_LEVELS).last()
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

/// Returns the `lstat` of a name in an open directory, or `None` if nothing has that name.
pub(crate) fn lstat(directory: BorrowedFd<'_>, name: &[u8]) -> Result<Option<Stat>, Errno> {
    match retry_on_intr(|| rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens one name in an open directory, and no link. One component cannot lead elsewhere, so `openat` is enough.
pub(crate) fn open_name(
    directory: BorrowedFd<'_>,
    name: &[u8],
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    retry_on_intr(|| rustix::fs::openat(directory, name, flags, Mode::empty()))
}

/// Creates a file in an open directory, for writing. It fails if anything has that name, a link as well.
pub(crate) fn create(
    directory: BorrowedFd<'_>,
    name: &[u8],
    permissions: Mode,
) -> Result<OwnedFd, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    retry_on_intr(|| rustix::fs::openat(directory, name, flags, permissions))
}

/// Replaces `ELOOP`: if no link is followed, a link cannot be why a call fails.
fn without_link(error: Errno) -> Errno {
    if error == Errno::LOOP {
        Errno::IO
    } else {
        error
    }
}

/// The errors that say what is there. `ELOOP` is not among them: it says that a link came in between, which can be
/// checked. Neither is `EXDEV`: if something is mounted, the second answer is the same.
pub(crate) const SAYS_WHAT_IS_THERE: [Errno; 4] = [
    Errno::NOENT,
    Errno::NOTDIR,
    Errno::NAMETOOLONG,
    Errno::INVAL,
];

/// Returns whether an error says that nothing is at a path. A link on the way counts as that: what is behind it is not
/// the workspace's.
pub(crate) fn is_absence(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
}

/// Returns whether an error of opening a file says that there is no file to read: nothing, a link, or a socket.
pub(crate) fn is_no_file(error: Errno) -> bool {
    is_absence(error) || error == Errno::NXIO
}

/// Tries a failed call again, unless the error says what is there: a chance failure should not make a gap.
pub(crate) fn twice<T>(act: impl Fn() -> Result<T, Errno>) -> Result<T, Errno> {
    match act() {
        Err(error) if !SAYS_WHAT_IS_THERE.contains(&error) => act(),
        found => found,
    }
}

fn open_beneath(directory: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let way = if NO_OPENAT2.load(Ordering::Relaxed) {
        Lookup::Components
    } else {
        Lookup::Kernel
    };
    open_in_way(directory, path, COMMON | flags, way)
}

/// How to look up what is below a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// `openat2` takes the whole path.
    Kernel,
    /// `openat` takes one component after the other, and the device of each is compared.
    Components,
}

/// Opens a directory to pass through it or to work in it, which needs no permission to list it. It is an entry of an
/// open directory, or that directory itself (`.`).
pub(crate) fn enter(directory: BorrowedFd<'_>, name: &[u8], way: Lookup) -> Result<OwnedFd, Errno> {
    open_in_way(directory, name, system::pass_through(), way)
}

/// Returns the way that works here: old kernels have no `openat2`, and containers with an old filter answer `EPERM`.
pub(crate) fn way(directory: BorrowedFd<'_>) -> Lookup {
    let opened = twice(|| openat2(directory, b".", COMMON | OFlags::DIRECTORY));
    opened.map_or(Lookup::Components, |_| Lookup::Kernel)
}

fn open_in_way(
    directory: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
    way: Lookup,
) -> Result<OwnedFd, Errno> {
    let opened = twice(|| match way {
        Lookup::Components => open_by_component(directory, path, flags),
        Lookup::Kernel => match openat2(directory, path, flags) {
            Err(Errno::NOSYS) => {
                // For the rest of the process: the kernel does not get the call meanwhile.
                NO_OPENAT2.store(true, Ordering::Relaxed);
                open_by_component(directory, path, flags)
            }
            // A filter for system calls answers `EPERM`. So may an object that really is forbidden, and then the other
            // way fails as well.
            Err(Errno::PERM) => open_by_component(directory, path, flags),
            opened => opened,
        },
    });
    match opened {
        // Taken for a link, it would mean that everything below is gone.
        Err(Errno::LOOP) if !has_link(directory, path) => Err(Errno::IO),
        opened => opened,
    }
}

/// Returns whether a symbolic link is at a path, or on the way to it. What cannot be looked at may be one.
fn has_link(directory: BorrowedFd<'_>, path: &[u8]) -> bool {
    let ends = (0..=path.len()).filter(|end| path.get(*end).is_none_or(|byte| *byte == b'/'));
    ends.into_iter().any(|end| {
        stat(directory, &path[..end]).map_or(true, |stamp| stamp.file_type() == file_type::LINK)
    })
}

/// How often to ask the kernel again while it is unsure, because a rename or a mount elsewhere came in between
/// (openat2(2)).
const MAX_RETRIES: usize = 128;

fn openat2(directory: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut tries = 0;
    loop {
        match system::open_beneath(directory, path, flags) {
            Err(Errno::INTR | Errno::AGAIN) if tries < MAX_RETRIES => tries += 1,
            opened => return opened,
        }
    }
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
        let flags = if is_last {
            flags
        } else {
            COMMON | OFlags::DIRECTORY
        };
        let parent = opened.as_ref().map_or(directory, AsFd::as_fd);
        let next = retry_on_intr(|| rustix::fs::openat(parent, component, flags, Mode::empty()))?;
        let stat = rustix::fs::fstat(&next)?;
        if Stamp::of(&stat).file_type() == file_type::DIRECTORY && stat.st_dev != device {
            // `NO_XDEV` does the same for `openat2`: what is mounted below is not the workspace's.
            return Err(Errno::XDEV);
        }
        opened = Some(next);
    }
    opened.ok_or(Errno::INVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A deep path is cut behind a multiple of the reach.
    #[test]
    fn deep_path_is_cut_by_reach() {
        let path = |depth: usize| vec!["ab"; depth].join("/").into_bytes();
        assert_eq!(cut(&path(MAX_LEVELS)), None, "it is opened from the root");
        assert_eq!(
            cut(&path(MAX_LEVELS + 1)),
            Some(3 * MAX_LEVELS - 1),
            "one name is left"
        );
        assert_eq!(
            cut(&path(2 * MAX_LEVELS)),
            Some(3 * MAX_LEVELS - 1),
            "all that is in reach"
        );
        assert_eq!(
            cut(&path(5 * MAX_LEVELS + 7)),
            Some(15 * MAX_LEVELS - 1),
            "seven names are left"
        );
        assert_eq!(
            cut(&[b'a'; 4 * MAX_LEVELS]),
            None,
            "a long name is not deep"
        );
    }

    /// A deep directory is the same however it is opened.
    #[test]
    fn deep_directory_is_the_same_either_way() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let root = open_root(folder.path()).expect("it is there");
        let mut paths = vec![Vec::new()];
        let mut directory = open_root(folder.path()).expect("it is there");
        for _ in 0..2 * MAX_LEVELS + 10 {
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

    /// What opening says where a link is on the way: the kernel's one call tells it from another file.
    const LINK_ON_THE_WAY: Errno = if cfg!(all(target_os = "linux", not(ckpt_portable))) {
        Errno::LOOP
    } else {
        Errno::NOTDIR
    };

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
        for (path, error) in [("a/link", Errno::NOTDIR), ("a/link/c", LINK_ON_THE_WAY)] {
            let opened = open_directory(root.as_fd(), path.as_bytes());
            assert_eq!(
                opened.err(),
                Some(error),
                "{path}: the kernel is believed where there is one"
            );
        }
    }

    /// Both ways open the same and follow no link.
    #[test]
    fn both_ways_follow_no_link() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir_all(folder.path().join("a/b")).expect("writable");
        std::fs::write(folder.path().join("a/file"), "").expect("writable");
        std::os::unix::fs::symlink("b", folder.path().join("a/link")).expect("writable");
        let root = open_root(folder.path()).expect("it is there");
        let flags = COMMON | OFlags::DIRECTORY;
        for (path, expected) in [
            ("a", None),
            ("a/b", None),
            (".", None),
            ("a/link", Some(Errno::NOTDIR)),
            ("a/link/c", None),
            ("a/file", Some(Errno::NOTDIR)),
            ("a/missing", Some(Errno::NOENT)),
        ] {
            let [kernel, components] = [Lookup::Kernel, Lookup::Components]
                .map(|way| open_in_way(root.as_fd(), path.as_bytes(), flags, way));
            if path == "a/link/c" {
                assert_eq!(kernel.err(), Some(LINK_ON_THE_WAY), "{path}");
                assert_eq!(components.err(), Some(Errno::NOTDIR), "{path}: not entered");
                continue;
            }
            let inode = |opened: OwnedFd| rustix::fs::fstat(opened).expect("open").st_ino;
            let [kernel, components] = [kernel, components].map(|opened| opened.map(inode));
            assert_eq!(kernel, components, "{path}");
            assert_eq!(kernel.err(), expected, "{path}");
        }
        for way in [Lookup::Kernel, Lookup::Components] {
            let entered = enter(root.as_fd(), b"a", way).expect("a directory");
            assert_eq!(
                enter(entered.as_fd(), b"link", way).err(),
                Some(Errno::NOTDIR),
                "{way:?}: a link is no directory"
            );
        }
    }

    /// What fails by chance is tried once more and what is there is believed.
    #[test]
    fn chance_failure_is_tried_once_more() {
        let tries = |error| {
            let count = std::cell::Cell::new(0);
            let answer: Result<(), Errno> = twice(|| {
                count.set(count.get() + 1);
                Err(error)
            });
            assert_eq!(answer, Err(error), "the last answer counts");
            count.get()
        };
        for error in [
            Errno::IO,
            Errno::ACCESS,
            Errno::XDEV,
            Errno::LOOP,
            Errno::MFILE,
        ] {
            assert_eq!(tries(error), 2, "{error}: it may be otherwise at once");
        }
        for error in SAYS_WHAT_IS_THERE {
            assert_eq!(tries(error), 1, "{error}: it says what is there");
        }
    }
}
