//! A workspace in a temporary folder, the bytes that a plan puts there, and things to put there by hand.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ckpt_schema::report::{FileAction, FileResult};
use ckpt_store::TEMPORARY;
use ckpt_store::error::{Context, Error, Result};
use ckpt_store::model::entry::{Entry, Mode, ObjectId, State};
use ckpt_store::model::item::{Item, ItemOutcome};
use ckpt_store::model::path::WorkspacePath;
use ckpt_store::revert::carry_out::apply::{Abilities, Root, Work, apply};
use tempfile::TempDir;

/// Something that stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thing {
    Nothing,
    File(Vec<u8>, u32),
    Link(Vec<u8>),
    Directory(u32),
    /// A directory with one file in it, `in`.
    Full,
    Pipe,
}

pub fn file(text: &str) -> Thing {
    Thing::File(text.as_bytes().to_vec(), 0o644)
}

pub fn executable(text: &str) -> Thing {
    Thing::File(text.as_bytes().to_vec(), 0o755)
}

pub fn link(target: &str) -> Thing {
    Thing::Link(target.as_bytes().to_vec())
}

impl Thing {
    /// Returns what a snapshot holds at the path itself.
    pub fn state(&self) -> State {
        match self {
            Self::Nothing | Self::Full | Self::Pipe => None,
            Self::File(bytes, mode) => Some(Entry::stored(Mode::file(*mode), id(bytes))),
            Self::Link(target) => Some(Entry::stored(Mode::SYMLINK, id(target))),
            Self::Directory(mode) => Some(Entry::directory(*mode)),
        }
    }

    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::File(bytes, _) | Self::Link(bytes) => Some(bytes),
            Self::Nothing | Self::Directory(_) | Self::Full | Self::Pipe => None,
        }
    }
}

pub fn id(bytes: &[u8]) -> ObjectId {
    let id =
        git2::Oid::hash_object(git2::ObjectType::Blob, bytes).expect("any bytes can be hashed");
    ObjectId::from_hex(&id.to_string()).expect("an id is 40 digits")
}

pub fn path(name: impl AsRef<[u8]>) -> WorkspacePath {
    WorkspacePath::new(name.as_ref()).expect("the test's path is legal")
}

/// What every test builds: a folder with the workspace in `work` and everything else beside it.
pub struct PlannedWorkspace {
    _folder: Option<TempDir>,
    pub outside: PathBuf,
    pub root: PathBuf,
    blobs: BTreeMap<ObjectId, Vec<u8>>,
    pub items: Vec<Item>,
    pub directories: Vec<WorkspacePath>,
    pub closed: BTreeMap<WorkspacePath, u32>,
}

impl PlannedWorkspace {
    /// In memory, where the system has such a folder: the syncs of some thousand plans take minutes on a busy disk.
    pub fn new() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() {
            Self::within(memory)
        } else {
            Self::on_the_disk()
        }
    }

    /// On the disk that temporary files are on.
    pub fn on_the_disk() -> Self {
        Self::within(&std::env::temp_dir())
    }

    fn within(folder: &Path) -> Self {
        let folder = TempDir::new_in(folder).expect("a temporary folder");
        let path = folder.path().canonicalize().expect("it exists");
        Self {
            _folder: Some(folder),
            ..Self::at(&path)
        }
    }

    /// The same in a folder that somebody else made and takes away.
    pub fn at(folder: &Path) -> Self {
        let root = folder.join("work");
        fs::create_dir_all(&root).expect("the workspace's root");
        let outside = folder.join("outside");
        fs::create_dir_all(&outside).expect("a folder outside");
        Self {
            _folder: None,
            outside,
            root,
            blobs: BTreeMap::new(),
            items: Vec::new(),
            directories: Vec::new(),
            closed: BTreeMap::new(),
        }
    }

    pub fn on_disk(&self, name: impl AsRef<[u8]>) -> PathBuf {
        self.root.join(OsStr::from_bytes(name.as_ref()))
    }

    /// Puts a thing there by hand, with its directories.
    pub fn put(&self, name: impl AsRef<[u8]>, thing: &Thing) {
        if *thing == Thing::Nothing {
            return;
        }
        let path = self.on_disk(name);
        fs::create_dir_all(path.parent().expect("below the root")).expect("its directories");
        put(&path, thing);
    }

    /// Plans one path.
    pub fn plan(&mut self, name: impl AsRef<[u8]>, expected: &Thing, target: &Thing) {
        for bytes in [expected.bytes(), target.bytes()].into_iter().flatten() {
            self.blobs.insert(id(bytes), bytes.to_vec());
        }
        self.items.push(Item {
            path: path(name),
            expected: expected.state(),
            target: target.state(),
            goal: target.state(),
            action: FileAction::Write,
            result: FileResult::Planned,
            reason: None,
            lines: None,
        });
    }

    /// Puts one thing there and plans another.
    pub fn put_and_plan(&mut self, name: impl AsRef<[u8]> + Copy, now: &Thing, target: &Thing) {
        self.put(name, now);
        self.plan(name, now, target);
    }

    pub fn copy_blob(&self, blob: ObjectId, to: &mut dyn Write) -> Result<u64> {
        let bytes = self
            .blobs
            .get(&blob)
            .ok_or_else(|| Error::failed("no such blob"))?;
        // In pieces, as a store does.
        for piece in bytes.chunks(1 << 14) {
            to.write_all(piece).context(|| "cannot write a blob")?;
        }
        Ok(bytes.len() as u64)
    }

    pub fn open(&self) -> Root {
        let metadata = fs::symlink_metadata(&self.root).expect("the root exists");
        Root::open(&self.root, metadata.dev(), metadata.ino()).expect("the root can be opened")
    }

    pub fn apply(&self) -> Vec<ItemOutcome> {
        self.apply_with(&self.open())
    }

    pub fn apply_with(&self, root: &Root) -> Vec<ItemOutcome> {
        let contents = |blob: ObjectId, to: &mut dyn Write| self.copy_blob(blob, to);
        apply(root, &self.work(&contents))
    }

    pub fn work<'a>(
        &'a self,
        contents: &'a ckpt_store::revert::carry_out::apply::BlobWriter<'a>,
    ) -> Work<'a> {
        let (items, directories) = (&self.items[..], &self.directories[..]);
        Work {
            operation: OPERATION,
            items,
            directories,
            closed: &self.closed,
            permissions: &|_| None,
            contents,
            progress: None,
        }
    }

    /// Every path below the root with what stands there, as text.
    pub fn listing(&self) -> BTreeMap<String, String> {
        listing(&self.root)
    }

    /// The names of what no try may leave behind.
    pub fn temporaries(&self) -> Vec<String> {
        self.listing()
            .into_keys()
            .filter(|name| name.contains(TEMPORARY))
            .collect()
    }
}

pub const OPERATION: &str = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9";

/// Every way that a kernel or a file system may leave open.
pub fn ways() -> Vec<Abilities> {
    let ways = [(true, true), (false, true), (true, false), (false, false)];
    ways.map(|(openat2, rename_flags)| Abilities {
        openat2,
        rename_flags,
        leases: true,
    })
    .to_vec()
}

fn put(path: &Path, thing: &Thing) {
    match thing {
        Thing::Nothing => {}
        Thing::File(bytes, mode) => {
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(path)
                .expect("a new file");
            file.write_all(bytes).expect("its bytes");
            file.set_permissions(Permissions::from_mode(*mode))
                .expect("its mode");
        }
        Thing::Link(target) => {
            std::os::unix::fs::symlink(OsStr::from_bytes(target), path).expect("a link")
        }
        Thing::Directory(mode) => {
            DirBuilder::new().create(path).expect("a directory");
            fs::set_permissions(path, Permissions::from_mode(*mode)).expect("its mode");
        }
        Thing::Full => {
            DirBuilder::new()
                .mode(0o755)
                .create(path)
                .expect("a directory");
            put(&path.join("in"), &file("inside\n"));
        }
        Thing::Pipe => {
            let mode = rustix::fs::Mode::from_raw_mode(0o644);
            rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0)
                .expect("a pipe");
        }
    }
}

pub fn listing(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).expect("a directory of the test") {
            let path = entry.expect("an entry").path();
            let name = path
                .strip_prefix(root)
                .expect("below")
                .to_string_lossy()
                .into_owned();
            found.insert(name, describe(&path));
            if path.symlink_metadata().expect("it exists").is_dir() {
                open.push(path);
            }
        }
    }
    found
}

pub fn describe(path: &Path) -> String {
    let metadata = path.symlink_metadata().expect("it exists");
    let mode = metadata.mode();
    match mode & 0o170_000 {
        0o100_000 => format!(
            "{mode:o} {}",
            id(&fs::read(path).expect("a file of the test"))
        ),
        0o120_000 => format!(
            "{:o} {}",
            mode & 0o170_000,
            fs::read_link(path).expect("a link").display()
        ),
        _ => format!("{mode:o}"),
    }
}

/// Asserts that all was done.
#[track_caller]
pub fn assert_done(results: &[ItemOutcome]) {
    for done in results {
        assert_eq!(
            done.result,
            FileResult::Done,
            "nothing stood in the way: {:?}",
            done.reason
        );
    }
}
