//! Repositories in folders of the workspace. This module does IO, but only reads.

use std::path::{Path, PathBuf};

use crate::git::Location;
use crate::model::path::WorkspacePath;

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
