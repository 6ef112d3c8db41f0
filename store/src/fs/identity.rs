//! The identity of a directory, which stays when it is moved: its inode, and the time of its creation if the file
//! system knows it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// A directory's identity. The inode of a removed directory is used again for another one; its time of birth is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The device that it is on. The number may change with a restart.
    pub device: u64,
    /// Its inode there.
    pub inode: u64,
    /// When it was created, in nanoseconds since the epoch.
    pub born: Option<i64>,
    /// Whether that time is credible. A file system without it may report the time of the last change instead.
    is_believed: bool,
}

impl Identity {
    /// Takes what identifies a file from its metadata.
    pub fn of(metadata: &Metadata) -> Self {
        let born = metadata.created().ok().and_then(|born| {
            let since = born.duration_since(UNIX_EPOCH).ok()?;
            i64::try_from(since.as_nanos()).ok()
        });
        let changed = metadata
            .ctime()
            .saturating_mul(1_000_000_000)
            .saturating_add(metadata.ctime_nsec());
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            born,
            // A directory that was just made has both at once, and is believed as soon as something happens in it. Its
            // birth may be the later one if the clock was set back.
            is_believed: born.is_some_and(|born| born != changed),
        }
    }

    /// Returns the identity of a path itself, not of a link's target.
    pub fn at(path: &Path) -> Option<Self> {
        path.symlink_metadata().ok().as_ref().map(Self::of)
    }

    /// Returns an identity that no file has.
    #[cfg(test)]
    pub(crate) fn invented(inode: u64, born: Option<i64>) -> Self {
        Self {
            device: 1,
            inode,
            born,
            is_believed: true,
        }
    }

    /// Returns the time of birth if it is credible.
    pub fn believed_birth(&self) -> Option<i64> {
        self.born.filter(|_| self.is_believed)
    }

    /// Returns whether it is the directory with this inode and this credible time of birth, if there was one.
    pub fn is(&self, inode: u64, born: Option<i64>) -> bool {
        // Without a time on either side, the inode has to do: rows of older versions have none.
        let is_born_then = born.zip(self.born).is_none_or(|(then, now)| then == now);
        self.inode == inode && is_born_then
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn born(born: Option<i64>) -> Identity {
        Identity::invented(2, born)
    }

    /// A directory with the inode of a deleted one is not it where births are known.
    #[test]
    fn reused_inode_is_known_by_its_birth() {
        assert!(born(Some(5)).is(2, Some(5)));
        assert!(!born(Some(6)).is(2, Some(5)), "it was made later");
        assert!(!born(Some(5)).is(3, Some(5)));
        assert!(born(Some(5)).is(2, None), "nothing was remembered");
        assert!(born(None).is(2, Some(5)), "nothing is known now");
    }

    /// A birth that is the time of the last change is not remembered.
    #[test]
    fn birth_equal_to_change_is_not_remembered() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let identity = Identity::at(directory.path()).expect("it is there");
        let remembered = Identity {
            is_believed: false,
            ..identity
        };
        assert_eq!(remembered.believed_birth(), None);
    }
}
