//! What a git tree cannot say: permission bits beyond 644 and 755, and directories without captured entries.

use crate::entry::Mode;
use crate::error::{Error, Result};
use crate::path::WorkspacePath;

/// What carries permission bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Bearer {
    /// A regular file that its owner may not run.
    File,
    /// A regular file that its owner may run.
    Executable,
    /// A directory; only an empty one is an entry.
    Directory,
}

/// Counts permission bits, so that the most frequent become the defaults.
#[derive(Clone, Debug, Default)]
pub(crate) struct Census {
    counts: [std::collections::BTreeMap<u32, u64>; 3],
}

impl Census {
    /// Counts one bearer.
    pub(crate) fn count(&mut self, bearer: Bearer, permissions: u32) {
        *self.counts[bearer as usize].entry(permissions & 0o777).or_default() += 1;
    }

    /// Returns attributes with the most frequent permissions as defaults, and nothing noted.
    pub(crate) fn attributes(&self) -> Attributes {
        let most = |bearer: Bearer| {
            let counts = &self.counts[bearer as usize];
            let usual = USUAL[bearer as usize];
            counts.iter().max_by_key(|(bits, count)| (**count, **bits == usual)).map_or(usual, |(bits, _)| *bits)
        };
        Attributes {
            defaults: [most(Bearer::File), most(Bearer::Executable), most(Bearer::Directory)],
            noted: Vec::new(),
            empty: Vec::new(),
        }
    }
}

const USUAL: [u32; 3] = [0o644, 0o755, 0o755];

/// The attributes of one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    defaults: [u32; 3],
    noted: Vec<(WorkspacePath, Bearer, u32)>,
    empty: Vec<(WorkspacePath, u32)>,
}

impl Default for Attributes {
    fn default() -> Self {
        Census::default().attributes()
    }
}

impl Attributes {
    /// Notes the permissions of a file or of a directory that has captured entries; defaults are passed over.
    pub(crate) fn note(&mut self, path: &WorkspacePath, bearer: Bearer, permissions: u32) {
        if permissions & 0o777 != self.defaults[bearer as usize] {
            self.noted.push((path.clone(), bearer, permissions & 0o777));
        }
    }

    /// Notes a directory without captured entries.
    pub(crate) fn note_empty(&mut self, path: &WorkspacePath, permissions: u32) {
        self.empty.push((path.clone(), permissions & 0o777));
    }

    /// Returns the directories without captured entries, by path.
    pub(crate) fn empty_directories(&self) -> impl Iterator<Item = (&WorkspacePath, Mode)> {
        self.empty.iter().map(|(path, permissions)| (path, Mode::directory(*permissions)))
    }

    /// Returns the bytes of the attributes' blob; none where all is 644 and 755 and no directory is empty.
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        todo!()
    }

    /// Reads what [`Attributes::encode`] writes, and nothing else.
    pub(crate) fn decode(_bytes: &[u8]) -> Result<Self> {
        Err(Error::failed("not yet"))
    }
}
