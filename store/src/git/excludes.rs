//! The rules outside the work tree: `info/exclude`, and the user's global excludes and attributes. This module does IO.
//!
//! The user's own files may be symbolic links (people keep them in a dotfiles folder).

use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::config::{self, GitConfig};
use super::{Location, SMALL, read_small, try_read_small};

/// An excludes file: its path and bytes. No bytes if it does not exist; an error if it may exist but cannot be read.
pub(crate) struct Excludes {
    /// Its path, or `None` if nothing names one.
    pub path: Option<PathBuf>,
    /// Its bytes.
    pub bytes: Result<Vec<u8>, Errno>,
}

impl Excludes {
    fn read(path: Option<PathBuf>, more_flags: OFlags) -> Self {
        let read = path
            .as_deref()
            .map(|path| try_read_small(path, SMALL, more_flags));
        let bytes = read
            .transpose()
            .map(|read| read.flatten().unwrap_or_default());
        Self { path, bytes }
    }
}

/// Reads the repository's `info/exclude`.
pub(crate) fn of_repository(location: Option<&Location>) -> Excludes {
    let path = location.map(|location| location.common.join("info/exclude"));
    // A repository may be another author's, and a link in it would make us read any file of the user's.
    Excludes::read(path, OFlags::NOFOLLOW)
}

/// Reads the excludes file that the configuration names, or the one beside `git/config`.
pub(crate) fn of_user(
    config: &GitConfig,
    home: Option<&Path>,
    config_home: Option<&Path>,
) -> Excludes {
    let named = config.excludes_file.clone();
    let path = or_default(named, home, config_home, "git/ignore");
    Excludes::read(path, OFlags::empty())
}

/// Returns the bytes of the user's and the system's attributes.
pub(crate) fn attributes_of_user(
    config: &GitConfig,
    home: Option<&Path>,
    config_home: Option<&Path>,
) -> Vec<u8> {
    let named = config.attributes_file.clone();
    let user = or_default(named, home, config_home, "git/attributes");
    let files = [user, Some(PathBuf::from("/etc/gitattributes"))]
        .into_iter()
        .flatten();
    let files = files.filter_map(|path| read_small(&path, SMALL, OFlags::empty()));
    files.collect::<Vec<_>>().join(&b'\n')
}

/// Returns whether a repository's own configuration names further attributes, or may do so.
pub(crate) fn has_own_attributes(location: &Location) -> bool {
    [
        location.common.join("config"),
        location.directory.join("config.worktree"),
    ]
    .iter()
    .any(|path| {
        let bytes = read_small(path, SMALL, OFlags::NOFOLLOW)
            .unwrap_or_default()
            .to_ascii_lowercase();
        let names = |name: &[u8]| bytes.windows(name.len()).any(|part| part == name);
        names(b"attributesfile") || names(b"[include")
    })
}

/// Returns the path from the configuration or, without one, of a file beside `git/config`. The empty path means no
/// file.
fn or_default(
    named: Option<PathBuf>,
    home: Option<&Path>,
    config_home: Option<&Path>,
    default: &str,
) -> Option<PathBuf> {
    match named {
        Some(path) => Some(path).filter(|path| !path.as_os_str().is_empty()),
        None => Some(config::home(home, config_home)?.join(default)),
    }
}
