//! What is said of repositories in folders of the workspace. This module does IO, but only reads.

use std::path::{Path, PathBuf};

use ckpt_schema::report::NoteCode;

use crate::git::Location;
use crate::model::note::{Note, naming};
use crate::model::path::WorkspacePath;

/// How many paths a line names.
const NAMED: usize = 4;

/// Returns whether a folder is a submodule: the metadata is that of the repository around it, below its
/// own.
pub(crate) fn is_submodule(root: &Path, folder: &WorkspacePath) -> bool {
    let at = folder.on_disk(root);
    let real = |path: Option<PathBuf>| path.and_then(|path| path.canonicalize().ok());
    let own = real(Location::of(root).map(|own| own.common.join("modules")));
    let module = real(Location::of(&at).map(|module| module.directory));
    module
        .zip(own)
        .is_some_and(|(module, own)| module.starts_with(own))
}

/// Returns the note on repositories that came since. No revert removes their metadata.
pub(crate) fn repositories_stay(folders: Vec<String>) -> Option<Note> {
    let what = "repositories that were cloned or made since stay with their metadata";
    naming(NoteCode::RepositoriesBelow, what, folders, NAMED)
}
