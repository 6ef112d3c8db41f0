//! What a git tree cannot express: permission bits beyond 644 and 755, and directories without captured entries.
//!
//! Permissions are a number of up to five octal digits. The last three are the usual ones. Before them are the setgid
//! and sticky bits of a directory: without them, it would let others in, or give files to another group. No file has
//! them: what it runs as is for the user to decide. The first digit is what an ACL takes from the group digit, which is
//! its mask: without its ACL, the file must not let the group do more.
//!
//! An empty directory is an entry. A directory that holds only what is not captured is not: nothing in it could be
//! restored, and it appears and disappears with every build. Its existence is noted all the same, so that emptying it
//! later does not look like creating it.
//!
//! The most frequent permissions of a snapshot are its defaults, so that with a umask of 002 not every file is listed.

use std::collections::BTreeMap;

use crate::error::{Context, Error, Result};
use crate::model::entry::{Mode, file_type};
use crate::model::path::WorkspacePath;

/// What has permission bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Bearer {
    /// A regular file that its owner may not run.
    File,
    /// A regular file that its owner may run.
    Executable,
    /// A directory that has captured entries, or directories that have none.
    Directory,
    /// A directory that holds nothing. It is an entry itself.
    EmptyDirectory,
    /// A directory that holds only what is not captured. It is not an entry.
    OccupiedDirectory,
}

impl Bearer {
    /// Returns the kind of a regular file with these permissions.
    pub(crate) const fn file(permissions: u32) -> Self {
        if permissions & 0o100 == 0 {
            Self::File
        } else {
            Self::Executable
        }
    }

    /// Returns the kind of a file with this `st_mode`, or `None` if it is not a regular one.
    pub(crate) fn of_stat(st_mode: u32) -> Option<Self> {
        (st_mode & file_type::MASK == file_type::REGULAR).then(|| Self::file(st_mode))
    }

    /// Returns the permissions in a stamp's mode.
    pub(crate) const fn bits(self, mode: u32) -> u32 {
        let withheld = (mode >> 16 & 7) << 12;
        match self {
            Self::File | Self::Executable => withheld | mode & 0o777,
            Self::Directory | Self::EmptyDirectory | Self::OccupiedDirectory => {
                withheld | mode & 0o3777
            }
        }
    }

    const fn letter(self) -> u8 {
        match self {
            Self::File => b'f',
            Self::Executable => b'x',
            Self::Directory => b'd',
            Self::EmptyDirectory => b'e',
            Self::OccupiedDirectory => b'o',
        }
    }

    fn from_letter(letter: u8) -> Option<Self> {
        [
            Self::File,
            Self::Executable,
            Self::Directory,
            Self::EmptyDirectory,
            Self::OccupiedDirectory,
        ]
        .into_iter()
        .find(|bearer| bearer.letter() == letter)
    }

    const fn slot(self) -> usize {
        match self {
            Self::File => 0,
            Self::Executable => 1,
            Self::Directory | Self::EmptyDirectory | Self::OccupiedDirectory => 2,
        }
    }

    /// Returns whether it is always noted, whatever its permissions: no tree shows that it exists.
    const fn is_always_noted(self) -> bool {
        matches!(self, Self::EmptyDirectory | Self::OccupiedDirectory)
    }
}

/// The default modes of files, executables and directories.
const DEFAULT_MODES: [u32; 3] = [0o644, 0o755, 0o755];

/// How many of a kind must have other permissions before these become the default. Two snapshots with different
/// defaults are compared file by file, and the first program in a large tree must not cost that.
const MIN_FOR_DEFAULT: u64 = 64;

/// The permissions of the files of one directory, if all of a kind have the same: the permissions, and how many have
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FilePermissions {
    /// Of files that their owner may not run.
    pub files: (u32, u32),
    /// Of those that he may run.
    pub executables: (u32, u32),
}

impl FilePermissions {
    /// Returns the permissions of files with these `st_mode`s, or `None` if they are not all the same.
    pub(crate) fn of(st_modes: impl Iterator<Item = u32>) -> Option<Self> {
        let mut all = Self::default();
        for st_mode in st_modes {
            let Some(bearer) = Bearer::of_stat(st_mode) else {
                continue;
            };
            let kind = match bearer {
                Bearer::File => &mut all.files,
                _ => &mut all.executables,
            };
            let permissions = bearer.bits(st_mode);
            (kind.1 == 0 || kind.0 == permissions).then_some(())?;
            *kind = (permissions, kind.1.checked_add(1)?);
        }
        Some(all)
    }

    /// Returns each kind with its permissions, and how many files have them.
    pub(crate) fn kinds(self) -> impl Iterator<Item = (Bearer, u32, u32)> {
        let kinds = [
            (Bearer::File, self.files),
            (Bearer::Executable, self.executables),
        ];
        let all = kinds
            .into_iter()
            .map(|(kind, (mode, count))| (kind, mode, count));
        all.filter(|(_, _, count)| *count > 0)
    }
}

/// Counts permission bits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Census {
    counts: [BTreeMap<u32, u64>; 3],
}

impl Census {
    /// Counts some bearers of a kind.
    pub(crate) fn count(&mut self, bearer: Bearer, permissions: u32, bearers: u32) {
        *self.counts[bearer.slot()].entry(permissions).or_default() += u64::from(bearers);
    }

    /// Returns attributes with the most frequent permissions as defaults, and nothing noted. The usual ones win a tie,
    /// and against permissions that few have.
    pub(crate) fn attributes(&self) -> Attributes {
        let mut defaults = DEFAULT_MODES;
        for (counts, default) in self.counts.iter().zip(&mut defaults) {
            let usual = *default;
            // A tie always ends the same way: the same files must not get another id by chance.
            let most = counts
                .iter()
                .max_by_key(|(permissions, count)| (**count, **permissions == usual));
            let most = most.filter(|(_, count)| **count >= MIN_FOR_DEFAULT);
            *default = most.map_or(usual, |(permissions, _)| *permissions);
        }
        Attributes {
            defaults,
            noted: BTreeMap::new(),
        }
    }
}

/// The attributes of one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    defaults: [u32; 3],
    noted: BTreeMap<WorkspacePath, (Bearer, u32)>,
}

impl Default for Attributes {
    fn default() -> Self {
        Self {
            defaults: DEFAULT_MODES,
            noted: BTreeMap::new(),
        }
    }
}

const MAGIC: &[u8] = b"ckpt-hook attributes 1\n";

impl Attributes {
    /// Notes the permissions of a path, unless they are the default. A directory without captured entries is always
    /// noted.
    pub(crate) fn note(&mut self, path: &WorkspacePath, bearer: Bearer, permissions: u32) {
        if bearer.is_always_noted() || permissions != self.defaults[bearer.slot()] {
            self.noted.insert(path.clone(), (bearer, permissions));
        }
    }

    /// Returns whether these permissions of a bearer need no note.
    pub(crate) fn is_default(&self, bearer: Bearer, permissions: u32) -> bool {
        !bearer.is_always_noted() && permissions == self.defaults[bearer.slot()]
    }

    /// Returns the permissions of a directory that exists, without what its ACL takes from the group.
    pub(crate) fn permissions_without_acl(&self, path: &WorkspacePath) -> u32 {
        let bits = match self.noted.get(path) {
            Some((bearer, bits)) if bearer.slot() == Bearer::Directory.slot() => *bits,
            _ => self.defaults[Bearer::Directory.slot()],
        };
        bits & 0o7777 & !(bits >> 12 << 3)
    }

    /// Returns the permissions of a path that exists.
    pub(crate) fn permissions(&self, path: &WorkspacePath, bearer: Bearer) -> u32 {
        self.bits(path, bearer) & 0o7777
    }

    fn bits(&self, path: &WorkspacePath, bearer: Bearer) -> u32 {
        match self.noted.get(path) {
            Some((noted, permissions)) if *noted == bearer => *permissions,
            _ => self.defaults[bearer.slot()],
        }
    }

    /// Returns the group bits at a path that exists that an ACL takes away.
    pub(crate) fn withheld(&self, path: &WorkspacePath, bearer: Bearer) -> u32 {
        self.bits(path, bearer) >> 12
    }

    /// Returns whether there is no path of which [`withheld`](Self::withheld) says anything.
    pub(crate) fn withhold_nothing(&self) -> bool {
        let noted = self.noted.values().map(|(_, permissions)| permissions);
        noted
            .chain(&self.defaults)
            .all(|permissions| permissions >> 12 == 0)
    }

    /// Returns the mode of an empty directory, or `None` if the path is not one.
    pub(crate) fn empty_directory(&self, path: &WorkspacePath) -> Option<Mode> {
        match self.noted.get(path) {
            Some((Bearer::EmptyDirectory, permissions)) => Some(Mode::directory(*permissions)),
            _ => None,
        }
    }

    /// Returns the empty directories, by path.
    pub(crate) fn empty_directories(&self) -> impl Iterator<Item = (&WorkspacePath, Mode)> {
        let empty = self
            .noted
            .iter()
            .filter(|(_, (bearer, _))| *bearer == Bearer::EmptyDirectory);
        empty.map(|(path, (_, permissions))| (path, Mode::directory(*permissions)))
    }

    /// Returns the directories without captured entries, by path.
    pub(crate) fn bare_directories(&self) -> impl Iterator<Item = &WorkspacePath> {
        let noted = self.noted.iter();
        noted.filter_map(|(path, (bearer, _))| bearer.is_always_noted().then_some(path))
    }

    /// Returns whether a directory without captured entries is at a path.
    pub(crate) fn has_bare_directory(&self, path: &WorkspacePath) -> bool {
        self.noted
            .get(path)
            .is_some_and(|(bearer, _)| bearer.is_always_noted())
    }

    /// Returns whether such a directory is below a path.
    pub(crate) fn has_bare_directory_below(&self, path: &WorkspacePath) -> bool {
        let mut below = self
            .noted
            .range(path.first_below()..)
            .take_while(|(other, _)| other.is_below(path));
        below.any(|(_, (bearer, _))| bearer.is_always_noted())
    }

    /// Returns whether files have the same defaults.
    pub(crate) fn shares_defaults(&self, other: &Self) -> bool {
        self.defaults[..2] == other.defaults[..2]
    }

    /// Returns whether directories have the same default.
    pub(crate) fn shares_default_of_directories(&self, other: &Self) -> bool {
        self.defaults[2] == other.defaults[2]
    }

    /// Returns the paths that are noted here, but not or differently in the other.
    pub(crate) fn noted_otherwise<'a>(
        &'a self,
        other: &'a Self,
    ) -> impl Iterator<Item = &'a WorkspacePath> {
        self.noted
            .iter()
            .filter(|(path, noted)| other.noted.get(*path) != Some(*noted))
            .map(|(path, _)| path)
    }

    /// Returns them without what is noted of some paths.
    pub(crate) fn without(&self, is_gone: impl Fn(&WorkspacePath) -> bool) -> Self {
        let mut attributes = self.clone();
        attributes.noted.retain(|path, _| !is_gone(path));
        attributes
    }

    /// Returns the bytes of the attributes' blob, or `None` if every mode is the default and every directory has
    /// captured entries.
    ///
    /// ```text
    /// ckpt-hook attributes 1\n
    /// 644 755 755\n              the defaults of files, executables and directories, octal
    /// f 600 path\0               a line for each path that differs, by path: f file, x executable,
    /// e 755 path\0               d directory; and for each directory without captured entries e, where it holds
    /// o 755 path\0               nothing at all, or o
    /// ```
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        if *self == Self::default() {
            return None;
        }
        let [file, executable, directory] = self.defaults;
        let mut bytes = MAGIC.to_vec();
        bytes
            .extend_from_slice(format!("{file:03o} {executable:03o} {directory:03o}\n").as_bytes());
        for (path, (bearer, permissions)) in &self.noted {
            bytes.push(bearer.letter());
            bytes.extend_from_slice(format!(" {permissions:03o} ").as_bytes());
            bytes.extend_from_slice(path.as_bytes());
            bytes.push(0);
        }
        Some(bytes)
    }

    /// Reads what [`Attributes::encode`] writes, and nothing else.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        let wrong = || Error::failed("the snapshot's attributes cannot be read");
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(wrong)?;
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (defaults, rest) = rest.split_at(end.ok_or_else(wrong)?);
        let rest = &rest[1..];
        let mut attributes = Self {
            defaults: decode_defaults(defaults).ok_or_else(wrong)?,
            noted: BTreeMap::new(),
        };
        let lines = match rest.split_last() {
            None => return Ok(attributes),
            Some((0, lines)) => lines,
            Some(_) => return Err(wrong()),
        };
        for line in lines.split(|byte| *byte == 0) {
            let (bearer, permissions, path) = decode_line(line).ok_or_else(wrong)?;
            let path = WorkspacePath::new(path)
                .context(|| format!("the attributes name `{}`", path.escape_ascii()))?;
            attributes
                .append(path, bearer, permissions)
                .ok_or_else(wrong)?;
        }
        Ok(attributes)
    }

    /// Adds a decoded line. Returns `None` if it is out of order, or is not a line that [`encode`](Self::encode) would
    /// write.
    fn append(&mut self, path: WorkspacePath, bearer: Bearer, permissions: u32) -> Option<()> {
        let in_order = self
            .noted
            .last_key_value()
            .is_none_or(|(last, _)| *last < path);
        // A second spelling of the same state would have a second id.
        let needed = bearer.is_always_noted() || permissions != self.defaults[bearer.slot()];
        (in_order && needed)
            .then(|| self.noted.insert(path, (bearer, permissions)))
            .map(drop)
    }
}

fn decode_defaults(line: &[u8]) -> Option<[u32; 3]> {
    let mut numbers = line.split(|byte| *byte == b' ');
    let defaults = [
        decode_octal(numbers.next()?)?,
        decode_octal(numbers.next()?)?,
        decode_octal(numbers.next()?)?,
    ];
    let bearers = [Bearer::File, Bearer::Executable, Bearer::Directory];
    let are_sound = bearers
        .into_iter()
        .zip(defaults)
        .all(|(bearer, permissions)| is_sound(bearer, permissions));
    (are_sound && numbers.next().is_none()).then_some(defaults)
}

fn decode_line(line: &[u8]) -> Option<(Bearer, u32, &[u8])> {
    let [letter, b' ', rest @ ..] = line else {
        return None;
    };
    let bearer = Bearer::from_letter(*letter)?;
    let end = rest.iter().position(|byte| *byte == b' ')?;
    let permissions = decode_octal(&rest[..end])?;
    is_sound(bearer, permissions).then_some((bearer, permissions, &rest[end + 1..]))
}

/// Returns whether a bearer of this kind may have these permissions.
fn is_sound(bearer: Bearer, permissions: u32) -> bool {
    let is_withheld_of_group = permissions >> 12 & !(permissions >> 3) == 0;
    let is_kind = match bearer {
        Bearer::File | Bearer::Executable => {
            permissions & 0o7000 == 0 && Bearer::file(permissions) == bearer
        }
        Bearer::Directory | Bearer::EmptyDirectory | Bearer::OccupiedDirectory => {
            permissions & 0o4000 == 0
        }
    };
    is_withheld_of_group && is_kind
}

/// Reads three to five octal digits, as [`Attributes::encode`] writes them.
fn decode_octal(digits: &[u8]) -> Option<u32> {
    let is_shortest = match digits {
        [_, _, _] => true,
        [first, _, _, _] | [first, _, _, _, _] => *first != b'0',
        _ => false,
    };
    let mut number = 0;
    for digit in digits {
        number = number << 3 | matches!(digit, b'0'..=b'7').then(|| u32::from(digit - b'0'))?;
    }
    is_shortest.then_some(number)
}

#[cfg(test)]
mod tests;
