//! The bare repository of one workspace, and the one reader that all questions share. This module does IO.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::reader::Reader;
use crate::error::Result;

/// Makes the bare repository where it is missing, and heals what is missing of it.
pub(crate) fn prepare(_repository: &Path) -> Result<()> {
    todo!()
}

/// The objects of one workspace.
pub(crate) struct Objects {
    repository: PathBuf,
    reader: Mutex<Option<Arc<Reader>>>,
}

impl Objects {
    /// Returns the objects of a bare repository, which is opened when it is first asked for.
    pub(crate) fn at(repository: PathBuf) -> Self {
        Self { repository, reader: Mutex::new(None) }
    }

    /// Returns the path of the bare repository.
    pub(crate) fn repository(&self) -> &Path {
        &self.repository
    }

    /// Returns a reader that knows every pack that is there now.
    pub(crate) fn reader(&self) -> Result<Arc<Reader>> {
        let _ = &self.reader;
        todo!()
    }
}
