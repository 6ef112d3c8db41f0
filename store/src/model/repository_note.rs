//! What the repository of a workspace notes about its snapshots, in case the session store is lost: which directory
//! they belong to, when they were taken, which records belong to them, and how much they could not hold. It contains no
//! prompt, and no attribution.
//!
//! ```text
//! key 0198…                       the workspace's own; no other program knows it
//! path /home/me/project
//! directory 2049 131074 -         device, inode, time of birth
//! snapshot TREE 1700000000000 ATTRIBUTES RULES SEEN GAPS FORGOTTEN
//! ```
//!
//! A missing value is `-`. Other bytes than letters, digits and a few signs are `%` and two hex digits.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::Milliseconds;
use super::entry::{ObjectId, Snapshot};
use super::hex;

/// The directory that snapshots belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkspaceOrigin<'a> {
    /// The name of the workspace's folder in the store.
    pub key: &'a str,
    /// Its last path.
    pub path: &'a Path,
    /// The device that it is on.
    pub device: u64,
    /// Its inode there.
    pub inode: u64,
    /// When it was created, in nanoseconds since the epoch, if that is credible.
    pub born: Option<i64>,
}

/// The same, as parsed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NotedWorkspace {
    pub key: String,
    pub path: Vec<u8>,
    pub device: u64,
    pub inode: u64,
    pub born: Option<i64>,
}

/// The note on a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotedSnapshot {
    pub snapshot: Snapshot,
    /// How many of the seen entries reports list.
    pub gaps: u64,
    /// Whether some of them were forgotten.
    pub has_forgotten: bool,
    pub taken_at: Milliseconds,
}

impl NotedSnapshot {
    /// Returns whether another note is the same, apart from the time.
    pub fn is_like(&self, other: &Self) -> bool {
        self.snapshot == other.snapshot
    }
}

/// Writes a note.
pub(crate) fn encode(origin: WorkspaceOrigin<'_>, snapshots: &[NotedSnapshot]) -> String {
    let WorkspaceOrigin {
        key,
        path,
        device,
        inode,
        born,
    } = origin;
    let mut text = format!(
        "key {}\npath {}\ndirectory {device} {inode} {}\n",
        escaped(key.as_bytes()),
        escaped(path.as_os_str().as_bytes()),
        optional(born)
    );
    for note in snapshots {
        let snapshot = note.snapshot;
        text.push_str(&format!(
            "snapshot {} {} {} {} {} {} {}\n",
            snapshot.tree,
            note.taken_at,
            optional(snapshot.attributes),
            optional(snapshot.rules),
            optional(snapshot.seen),
            note.gaps,
            u8::from(note.has_forgotten)
        ));
    }
    text
}

/// Parses a note. `None` if it contains an unknown word.
pub(crate) fn decode(text: &str) -> Option<(NotedWorkspace, Vec<NotedSnapshot>)> {
    let mut workspace = NotedWorkspace::default();
    let mut snapshots = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["key", key] => workspace.key = String::from_utf8(plain(key)?).ok()?,
            ["path", path] => workspace.path = plain(path)?,
            ["directory", device, inode, born] => {
                workspace.device = device.parse().ok()?;
                workspace.inode = inode.parse().ok()?;
                workspace.born = value(born, |born| born.parse().ok())?;
            }
            [
                "snapshot",
                tree,
                taken_at,
                attributes,
                rules,
                seen,
                gaps,
                forgotten,
            ] => {
                snapshots.push(NotedSnapshot {
                    snapshot: Snapshot {
                        tree: ObjectId::from_hex(tree)?,
                        attributes: value(attributes, ObjectId::from_hex)?,
                        rules: value(rules, ObjectId::from_hex)?,
                        seen: value(seen, ObjectId::from_hex)?,
                    },
                    gaps: gaps.parse().ok()?,
                    has_forgotten: forgotten != "0",
                    taken_at: taken_at.parse().ok()?,
                });
            }
            _ => return None,
        }
    }
    let is_whole = !workspace.key.is_empty() && !workspace.path.is_empty();
    is_whole.then_some((workspace, snapshots))
}

pub(crate) fn optional(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// Parses a value that may be missing. `None` if it is neither missing nor valid.
pub(crate) fn value<T>(word: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
    match word {
        "-" => Some(None),
        word => read(word).map(Some),
    }
}

/// Writes bytes as one word of a note.
pub(crate) fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b':' => {
                text.push(char::from(*byte));
            }
            // Writing to a string cannot fail.
            _ => drop(write!(text, "%{byte:02x}")),
        }
    }
    text
}

/// Parses a word that [`escaped`] wrote.
pub(crate) fn plain(text: &str) -> Option<Vec<u8>> {
    let mut rest = text.as_bytes();
    let mut bytes = Vec::with_capacity(rest.len());
    while let [first, others @ ..] = rest {
        rest = others;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, others) = rest.split_first_chunk()?;
        bytes.push(hex::byte(*digits)?);
        rest = others;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    fn snapshot(number: u8) -> NotedSnapshot {
        NotedSnapshot {
            snapshot: Snapshot {
                tree: ObjectId::new([number; 20]),
                attributes: (number > 1).then_some(ObjectId::new([9; 20])),
                seen: (number > 2).then_some(ObjectId::new([8; 20])),
                rules: None,
            },
            taken_at: i64::from(number),
            gaps: u64::from(number) - 1,
            has_forgotten: number > 2,
        }
    }

    /// A word with anything but two hex digits is not read.
    #[test]
    fn word_without_two_hex_digits_is_unread() {
        assert_eq!(plain("a%2fb"), Some(b"a/b".to_vec()));
        for text in ["%", "%2", "%+f", "%zz", "%\u{e9}"] {
            assert_eq!(plain(text), None, "{text}");
        }
    }

    /// What is noted is read again whatever the names are.
    #[test]
    fn noted_names_are_read_again() {
        let origin = WorkspaceOrigin {
            key: "k1",
            path: Path::new(OsStr::from_bytes(b"/home/me/my \xfe")),
            device: 1,
            inode: 2,
            born: Some(-3),
        };
        let snapshots = [1, 2, 3].map(snapshot);
        let text = encode(origin, &snapshots);
        let (workspace, read) = decode(&text).expect("it was just written");
        assert_eq!(read, snapshots);
        assert_eq!(workspace.path, origin.path.as_os_str().as_bytes());
        assert_eq!((workspace.key.as_str(), workspace.inode), ("k1", 2));
        assert_eq!(workspace.born, Some(-3));
    }

    /// A note of which a word is not understood is none.
    #[test]
    fn note_with_an_unknown_word_is_none() {
        for text in [
            "",
            "key k\n",
            "key k\npath /w\nsnapshot\n",
            "key k\npath /w\nsnapshot 00 1 - - - 0 0\n",
            "key k\npath /%f\n",
        ] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
