//! Reads commits and trees of the user's repository. This module does IO, but only reads.
//!
//! It reads loose objects and packs, including those of alternates, with ids of either length. Whatever is damaged or
//! too large counts as absent. Packs are read by the same code as the store's own ([`crate::objects::pack`]).

use std::cell::OnceCell;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use ckpt_schema::Word;
use flate2::bufread::ZlibDecoder;
use rustix::fs::{Mode, OFlags};

use super::{Location, SMALL, read_small};
use crate::model::entry::file_type;
use crate::model::hex;
use crate::model::path::join;
use crate::objects::hash::{ObjectKind, SHA1, SHA256, is_id_of};
use crate::objects::pack::data::Data;
use crate::objects::pack::index::PackIndex;

/// The largest object that is decoded, in bytes. A commit has some hundred.
const MAX_OBJECT_SIZE: u64 = 16 << 20;
/// How many directories of a tree wait at once to be read.
const DIRECTORIES: usize = 4096;
/// How many folders of objects are searched.
const FOLDERS: usize = 16;

/// The objects of the user's repository.
pub(crate) struct UserObjects {
    folders: Vec<PathBuf>,
    /// How many bytes an id has.
    pub id_length: usize,
    packs: OnceCell<GitPacks>,
}

/// A parsed commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Commit {
    /// The id of its tree.
    pub tree: String,
    /// The ids of its parents.
    pub parents: Vec<String>,
    /// When it was committed, in seconds since the epoch.
    pub time: i64,
    /// The first line of its message.
    pub subject: String,
}

/// The packs of all folders. All ids of a repository have the same length.
enum GitPacks {
    Sha1(Vec<Pack<SHA1>>),
    Sha256(Vec<Pack<SHA256>>),
}

struct Pack<const N: usize> {
    index: PackIndex<N>,
    data: PathBuf,
}

impl UserObjects {
    /// Returns the objects of a repository. Its packs are opened when they are needed.
    pub fn open(location: &Location, id_length: usize) -> Self {
        let mut folders = vec![location.common.join("objects")];
        let mut next = 0;
        while let Some(folder) = folders.get(next).filter(|_| next < FOLDERS).cloned() {
            folders.extend(alternates(&folder));
            next += 1;
        }
        // Alternates may name each other, in a circle as well.
        folders.truncate(FOLDERS);
        Self {
            folders,
            id_length,
            packs: OnceCell::new(),
        }
    }

    /// Returns whether an object exists.
    pub fn contains(&self, id: &str) -> bool {
        let Some(bytes) = self.bytes_of(id) else {
            return false;
        };
        self.folders
            .iter()
            .any(|folder| loose_path(folder, id).is_file())
            || match self.packs() {
                GitPacks::Sha1(packs) => find(packs, &bytes).is_some(),
                GitPacks::Sha256(packs) => find(packs, &bytes).is_some(),
            }
    }

    /// Returns a commit.
    pub fn commit(&self, id: &str) -> Option<Commit> {
        parse(&self.object(id, ObjectKind::Commit)?)
    }

    /// Returns the bytes of a tree.
    pub fn tree(&self, id: &str) -> Option<Vec<u8>> {
        self.object(id, ObjectKind::Tree)
    }

    fn object(&self, id: &str, kind: ObjectKind) -> Option<Vec<u8>> {
        let bytes = self.bytes_of(id)?;
        let mut folders = self.folders.iter();
        let (found, content) = match folders.find_map(|folder| loose(folder, id, MAX_OBJECT_SIZE)) {
            Some(loose) => loose,
            None => match self.packs() {
                GitPacks::Sha1(packs) => find(packs, &bytes)?.object()?,
                GitPacks::Sha256(packs) => find(packs, &bytes)?.object()?,
            },
        };
        // Hashed like everything else that is read: a revert moves a branch to what stands here.
        (found == kind && is_id_of(&bytes, kind, &content)).then_some(content)
    }

    /// Returns the paths of the files in a tree and in those below it that no pack holds: those are as old as the last
    /// `git gc`.
    pub fn loose_files(&self, tree: &str) -> Vec<Vec<u8>> {
        let mut files = Vec::new();
        let mut trees = vec![(Vec::new(), tree.to_owned())];
        while let Some((above, id)) = trees.pop() {
            let read = |folder: &PathBuf| loose(folder, &id, MAX_OBJECT_SIZE);
            let found = self
                .bytes_of(&id)
                .and_then(|_| self.folders.iter().find_map(read));
            let Some((ObjectKind::Tree, tree)) = found else {
                continue;
            };
            for (mode, name, id) in entries(&tree, self.id_length) {
                let path = join(&above, name);
                if mode != file_type::DIRECTORY {
                    files.push(path);
                } else if trees.len() < DIRECTORIES {
                    trees.push((path, hex::Hex(id).to_string()));
                }
            }
        }
        files
    }

    fn bytes_of(&self, id: &str) -> Option<Vec<u8>> {
        hex::decode(id).filter(|bytes| bytes.len() == self.id_length)
    }

    fn packs(&self) -> &GitPacks {
        self.packs.get_or_init(|| {
            if self.id_length == SHA256 {
                GitPacks::Sha256(packs(&self.folders))
            } else {
                GitPacks::Sha1(packs(&self.folders))
            }
        })
    }
}

/// Returns the entries of a tree: the mode of each, its name, and its id.
pub(crate) fn entries(tree: &[u8], id_length: usize) -> impl Iterator<Item = (u32, &[u8], &[u8])> {
    let mut rest = tree;
    std::iter::from_fn(move || {
        let end = rest.iter().position(|byte| *byte == 0)?;
        let (mode, name) = rest[..end].split_at(rest.iter().position(|byte| *byte == b' ')?);
        let mode = u32::from_str_radix(std::str::from_utf8(mode).ok()?, 8).ok()?;
        let id = rest.get(end + 1..end + 1 + id_length)?;
        rest = &rest[end + 1 + id_length..];
        Some((mode, &name[1..], id))
    })
}

/// Returns the alternates of a folder. Relative paths are relative to the folder that names them.
fn alternates(folder: &Path) -> Vec<PathBuf> {
    let text =
        read_small(&folder.join("info/alternates"), SMALL, OFlags::NOFOLLOW).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| folder.join(line))
        .collect()
}

fn loose_path(folder: &Path, id: &str) -> PathBuf {
    folder.join(&id[..2]).join(&id[2..])
}

/// Returns a loose object of a folder, at most `limit` bytes of it. It has not been hashed yet.
pub(crate) fn loose(folder: &Path, id: &str, limit: u64) -> Option<(ObjectKind, Vec<u8>)> {
    let file = read_small(&loose_path(folder, id), limit, OFlags::NOFOLLOW)?;
    let mut text = Vec::new();
    ZlibDecoder::new(&file[..])
        // A small file may unpack to any size.
        .take(limit)
        .read_to_end(&mut text)
        .ok()?;
    let end = text.iter().position(|byte| *byte == 0)?;
    let (kind, size) = std::str::from_utf8(&text[..end]).ok()?.split_once(' ')?;
    let (kind, size) = (ObjectKind::from_name(kind)?, size.parse::<usize>().ok()?);
    let body = text.split_off(end + 1);
    (body.len() == size).then_some((kind, body))
}

fn packs<const N: usize>(folders: &[PathBuf]) -> Vec<Pack<N>> {
    let entries = folders
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder.join("pack")).ok());
    let paths = entries
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()));
    paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "idx"))
        .filter_map(|path| Pack::open(&path))
        .collect()
}

/// Returns the location of an object in the first pack that has it.
fn find<'p, const N: usize>(packs: &'p [Pack<N>], id: &[u8]) -> Option<PackLocation<'p, N>> {
    let id = id.try_into().ok()?;
    packs.iter().find_map(|pack| {
        let offset = pack.index.find(id).ok()??;
        Some(PackLocation { pack, offset })
    })
}

/// The location of an object.
struct PackLocation<'p, const N: usize> {
    pack: &'p Pack<N>,
    offset: u64,
}

fn open(path: &Path) -> Option<File> {
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    // A FIFO that takes its place now would block the open without `NONBLOCK`.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    file.metadata().ok()?.is_file().then_some(file)
}

impl<const N: usize> Pack<N> {
    fn open(path: &Path) -> Option<Self> {
        Some(Self {
            index: PackIndex::open(open(path)?).ok()?,
            data: path.with_extension("pack"),
        })
    }
}

impl<const N: usize> PackLocation<'_, N> {
    /// Returns the object at this location.
    fn object(&self) -> Option<(ObjectKind, Vec<u8>)> {
        let file = open(&self.pack.data)?;
        let length = file.metadata().ok()?.len();
        let entry = Data::<N>::new(&file, length).entry(self.offset).ok()?;
        let base = |id: &[u8; N]| self.pack.index.find(id).ok()?;
        entry.resolve(MAX_OBJECT_SIZE, base).ok()
    }
}

/// Parses a commit: lines with a name and a value, an empty line, the message.
fn parse(text: &[u8]) -> Option<Commit> {
    let mut commit = Commit::default();
    let mut lines = text.split(|byte| *byte == b'\n');
    for line in lines.by_ref().take_while(|line| !line.is_empty()) {
        let line = String::from_utf8_lossy(line);
        match line.split_once(' ') {
            Some(("tree", id)) => commit.tree = id.to_owned(),
            Some(("parent", id)) => commit.parents.push(id.to_owned()),
            Some(("committer", who)) => commit.time = who.rsplit(' ').nth(1)?.parse().ok()?,
            _ => {}
        }
    }
    commit.subject = String::from_utf8_lossy(
        lines
            .find(|line| !line.trim_ascii().is_empty())
            .unwrap_or_default(),
    )
    .trim()
    .to_owned();
    (!commit.tree.is_empty()).then_some(commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A commit is read with a signature and without a message.
    #[test]
    fn commit_with_signature_or_without_message_is_read() {
        let text = b"tree 1\nparent 2\nparent 3\nauthor A <a> 1 +0000\ncommitter C <c@d> 77 +0100\ngpgsig -----\n more\n\n\nfirst\nsecond\n";
        let expected = Commit {
            tree: "1".to_owned(),
            parents: vec!["2".to_owned(), "3".to_owned()],
            time: 77,
            subject: "first".to_owned(),
        };
        assert_eq!(
            parse(text),
            Some(expected),
            "headers that go on are no parents"
        );
        let bare = parse(b"tree 1\ncommitter C <> 5 +0000\n\n").expect("a commit");
        assert_eq!(
            (bare.subject.as_str(), bare.parents.len()),
            ("", 0),
            "a first commit without a word"
        );
        assert_eq!(parse(b"object 1\ntype commit\n\nx"), None, "a tag is none");
    }

    /// Makes a repository of a format with commits that a pack holds as deltas of each other; returns their ids.
    fn packed(root: &Path, format: &str) -> Vec<String> {
        let git = |arguments: &[&str]| {
            testing::git::text(testing::git::command(root, root).args(arguments))
        };
        git(&["init", "-q", "-b", "main", "--object-format", format]);
        let word = "a message that a delta makes short ".repeat(30);
        for number in 0..12 {
            git(&[
                "commit",
                "-q",
                "--allow-empty",
                "-m",
                &format!("{number} {word}"),
            ]);
        }
        git(&["repack", "-adfq"]);
        git(&["prune-packed", "-q"]);
        git(&["rev-list", "--all"])
            .lines()
            .map(str::to_owned)
            .collect()
    }

    fn open_objects(root: &Path, format: &str) -> UserObjects {
        let location = Location::of(root).expect("a repository");
        UserObjects::open(&location, if format == "sha256" { SHA256 } else { SHA1 })
    }

    #[test]
    fn packed_commits_are_read_whichever_length_ids_have() {
        for format in ["sha1", "sha256"] {
            let folder = tempfile::tempdir().expect("a folder");
            let ids = packed(folder.path(), format);
            let objects = open_objects(folder.path(), format);
            assert_eq!(ids.len(), 12, "{format}");
            for (id, number) in ids.iter().rev().zip(0..) {
                assert!(objects.contains(id), "{format}: {id}");
                let commit = objects.commit(id).expect("it is in the pack");
                let first = format!("{number} a message");
                assert!(commit.subject.starts_with(&first), "{format}: {commit:?}");
                assert_eq!(commit.parents.len(), usize::from(number > 0), "{format}");
            }
            let absent = "0".repeat(ids[0].len());
            assert!(!objects.contains(&absent) && objects.commit(&absent).is_none());
            assert!(!objects.contains(&ids[0][1..]), "no id of this repository");
        }
    }

    /// A damaged pack of the user's gives the right commit or none.
    #[test]
    fn damaged_pack_of_the_users_lies_never() {
        for format in ["sha1", "sha256"] {
            let folder = tempfile::tempdir().expect("a folder");
            let ids = packed(folder.path(), format);
            let sound: Vec<_> = {
                let objects = open_objects(folder.path(), format);
                ids.iter().map(|id| objects.commit(id)).collect()
            };
            for file in std::fs::read_dir(folder.path().join(".git/objects/pack")).expect("packs") {
                let path = file.expect("a file").path();
                let whole = std::fs::read(&path).expect("readable");
                std::fs::remove_file(&path).expect("ours");
                for at in (0..whole.len()).step_by(whole.len() / 150 + 1) {
                    let mut bytes = whole.clone();
                    bytes[at] ^= 0x41;
                    std::fs::write(&path, bytes).expect("ours");
                    let objects = open_objects(folder.path(), format);
                    for (id, sound) in ids.iter().zip(&sound) {
                        let commit = objects.commit(id);
                        assert!(commit.is_none() || commit == *sound, "{path:?} at {at}");
                    }
                }
                std::fs::write(&path, whole).expect("ours");
            }
        }
    }
}
