//! The bare repository of one workspace, and the reader that all callers share. This module does IO.
//!
//! The repository is laid out by hand, because a template would bring hooks. What git reads of it besides objects has
//! no content of ours, and is repaired if it is wrong.

pub(crate) mod borrowed_packs;
pub(crate) mod hash;
pub(crate) mod multi_pack_index;
pub(crate) mod pack;
pub(crate) mod reader;
pub(crate) mod refs;
pub(crate) mod repack;
pub(crate) mod tree;

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::error::{Context, Error, Result};
use crate::fs::layout::{make_private, sync};
use crate::fs::ownership::check_inner_directory;
use crate::fs::{names, threads};
use crate::model::entry::ObjectId;
use hash::ObjectKind;
use pack::compress::{Effort, pack_object};
use pack::write::{PackWriter, create_temporary};
use reader::{ObjectReader, StoredBytes};

const HEAD: &str = "ref: refs/heads/main\n";

/// The configuration. What was stored since the refs were last written is not reachable from any of them, so git is
/// told to remove no object (`preciousObjects`, which needs format version 1). `git fsck` would also judge files of
/// the workspace that mean something to git, which is not our concern.
const CONFIG: &str = "\
[core]
\trepositoryformatversion = 1
\tfilemode = true
\tbare = true
[extensions]
\tpreciousObjects = true
[gc]
\tauto = 0
[fsck]
\tgitattributesBlob = ignore
\tgitattributesLarge = ignore
\tgitattributesLineLength = ignore
\tgitattributesSymlink = ignore
\tgitignoreSymlink = ignore
\tgitmodulesBlob = ignore
\tgitmodulesLarge = ignore
\tgitmodulesName = ignore
\tgitmodulesParse = ignore
\tgitmodulesPath = ignore
\tgitmodulesSymlink = ignore
\tgitmodulesUpdate = ignore
\tgitmodulesUrl = ignore
\tlargePathname = ignore
\tmailmapSymlink = ignore
";

/// How many directories are above the packs: `objects`, the repository, the workspace's, `snapshots` and the store.
const DEPTH: usize = 5;

/// Files by which git would look outside the repository. No snapshot creates them.
const STRAYS: [&str; 4] = [
    "objects/info/alternates",
    "objects/info/http-alternates",
    "commondir",
    "gitdir",
];

/// Creates the bare repository if it is missing, and whatever is missing in it.
pub(crate) fn prepare(repository: &Path) -> Result<()> {
    let mut is_any_new = false;
    for directory in [
        "",
        "objects",
        "objects/info",
        "objects/pack",
        "refs",
        "refs/heads",
    ] {
        is_any_new |= make_directory(&repository.join(directory))?;
    }
    let packs = names::packs(repository);
    prepare_file(&packs, &repository.join("config"), CONFIG)?;
    prepare_file(&packs, &repository.join("HEAD"), HEAD)?;
    // After the files, which are renamed into these directories.
    if is_any_new {
        sync_way_to(&packs)?;
    }
    // A ref that another program put there would make git keep, or complain about, objects that are not ours.
    let refs = repository.join(refs::NAME);
    if !refs::are_ours(&refs) {
        remove(&refs)?;
    }
    STRAYS
        .iter()
        .try_for_each(|stray| remove(&repository.join(stray)))
}

/// Returns which files of a repository, by name, are missing or not as [`prepare`] makes them: git would not take it for
/// a repository, or look outside it.
pub(crate) fn amiss(repository: &Path) -> Vec<&'static str> {
    let made = [("HEAD", HEAD), ("config", CONFIG)];
    let damaged = made.into_iter().filter_map(|(name, contents)| {
        (!has_contents(&repository.join(name), contents)).then_some(name)
    });
    let is_there = |stray: &&str| fs::symlink_metadata(repository.join(stray)).is_ok();
    damaged.chain(STRAYS.into_iter().filter(is_there)).collect()
}

fn has_contents(path: &Path, contents: &str) -> bool {
    is_regular_of(path, contents.len() as u64)
        && fs::read(path).is_ok_and(|bytes| bytes == contents.as_bytes())
}

/// Creates a directory, and returns whether it was missing.
fn make_directory(directory: &Path) -> Result<bool> {
    match fs::symlink_metadata(directory) {
        Ok(metadata) => check_inner_directory(directory, &metadata).map(|()| false),
        Err(error) if error.kind() == ErrorKind::NotFound => make_private(directory).map(|()| true),
        Err(error) => {
            Err(error).context(|| format!("cannot read the directory `{}`", directory.display()))
        }
    }
}

/// Syncs the directories above the packs. Otherwise a power cut could take the directories together with the packs that
/// are synced into them. A file system with a journal has all of them on the disk after the first sync.
fn sync_way_to(packs: &Path) -> Result<()> {
    packs.ancestors().skip(1).take(DEPTH).try_for_each(sync)
}

/// Writes a file without which git would not take the directory for a repository, unless it has these contents already:
/// beside it, synced, and renamed.
fn prepare_file(packs: &Path, path: &Path, contents: &str) -> Result<()> {
    if has_contents(path, contents) {
        return Ok(());
    }
    let what = || format!("cannot write `{}`", path.display());
    // The temporary file is among the packs, where leftovers of killed processes are removed.
    let (temporary, mut file) = create_temporary(packs)?;
    file.write_all(contents.as_bytes())
        .and_then(|()| file.sync_all())
        .context(what)?;
    fs::rename(temporary.path(), path).context(what)
}

fn is_regular_of(path: &Path, length: u64) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == length)
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::IsADirectory) => {
            Err(error).context(|| format!("cannot remove `{}`", path.display()))
        }
        _ => Ok(()),
    }
}

/// Returns whether all directories above the packs exist, belong to the user, and are not links.
fn is_whole(repository: &Path) -> Result<bool> {
    for directory in [repository, &names::packs(repository)] {
        match directory.symlink_metadata() {
            Ok(metadata) => check_inner_directory(directory, &metadata)?,
            Err(_) => return Ok(false),
        }
    }
    Ok(true)
}

/// The objects of one workspace.
pub(crate) struct Objects {
    repository: PathBuf,
    reader: OnceLock<Arc<ObjectReader>>,
    borrows: AtomicBool,
}

impl Objects {
    /// Opens the objects of a bare repository, and creates it if it does not exist. Writers repair whatever else is
    /// wrong with it.
    pub(crate) fn open(repository: PathBuf) -> Result<Self> {
        if !is_whole(&repository)? {
            prepare(&repository)?;
        }
        Ok(Self {
            repository,
            reader: OnceLock::new(),
            borrows: AtomicBool::new(false),
        })
    }

    /// Returns the path of the bare repository.
    pub(crate) fn repository(&self) -> &Path {
        &self.repository
    }

    /// Returns whether packs are still files of the user's repository, as the last snapshot saw it.
    pub(crate) fn borrows(&self) -> bool {
        self.borrows.load(Ordering::Relaxed)
    }

    /// Returns whether there are many packs, as far as this process has seen.
    pub(crate) fn is_crowded(&self) -> bool {
        self.reader.get().is_some_and(|reader| reader.is_crowded())
    }

    /// Notes whether packs are still files of the user's repository.
    pub(crate) fn note_borrowing(&self, borrows: bool) {
        self.borrows.store(borrows, Ordering::Relaxed);
    }

    /// Returns the directory of the packs.
    pub(crate) fn packs(&self) -> PathBuf {
        names::packs(&self.repository)
    }

    /// Returns the reader. It knows at least the packs that existed when it was first asked for.
    pub(crate) fn reader(&self) -> Result<Arc<ObjectReader>> {
        if let Some(reader) = self.reader.get() {
            return Ok(Arc::clone(reader));
        }
        let reader = Arc::new(ObjectReader::open(&self.repository)?);
        Ok(Arc::clone(self.reader.get_or_init(|| reader)))
    }

    /// Returns the blobs that are missing or damaged, each with what is wrong.
    pub(crate) fn check_blobs(&self, blobs: &[ObjectId]) -> Result<Vec<(ObjectId, String)>> {
        let reader = self.reader()?;
        reader.refresh()?;
        let problem = |blob: &ObjectId| {
            reader
                .check_blob(*blob)
                .err()
                .map(|error| (*blob, error.with_causes()))
        };
        Ok(threads::map(blobs, problem).into_iter().flatten().collect())
    }

    /// Stores blobs as one synced pack, and returns their ids in order. What is stored already is left out.
    pub(crate) fn write_blobs(&self, contents: &[&[u8]]) -> Result<Vec<ObjectId>> {
        prepare(&self.repository)?;
        let reader = self.reader()?;
        let mut pack = PackWriter::begin(&self.repository)?;
        let mut ids = Vec::with_capacity(contents.len());
        for bytes in contents {
            let id = hash::blob_id(bytes);
            let stored = match reader.holds(ObjectKind::Blob, id, bytes) {
                StoredBytes::Yes => true,
                StoredBytes::No => {
                    pack.add(pack_object(ObjectKind::Blob, id, bytes, Effort::More))?
                }
                // Different bytes with the same SHA-1: refused, because the id would then give back the wrong file.
                StoredBytes::Collision => false,
            };
            if !stored {
                return Err(Error::failed(format!(
                    "other bytes are already stored under the id `{id}`"
                )));
            }
            ids.push(id);
        }
        if pack.finish()?.is_some() {
            reader.note_new_pack()?;
        }
        Ok(ids)
    }
}
