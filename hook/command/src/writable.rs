//! Whether anything can be recorded: a hook that cannot write to the store stays silent.

use std::path::{Path, PathBuf};

use rustix::fs::Access;
use rustix::io::Errno;

/// What keeps hooks from a store, and what a person can do.
pub struct Obstacle {
    /// The obstacle in one sentence.
    pub message: String,
    /// The remedy.
    pub hint: &'static str,
}

/// The obstacle between hooks and the store in a directory.
pub fn look(directory: &Path) -> Option<Obstacle> {
    let (place, error) = obstacle(directory)?;
    Some(Obstacle {
        message: format!(
            "`{}` cannot be written to, so nothing is recorded: {}",
            place.display(),
            std::io::Error::from(error)
        ),
        hint: match place.starts_with(directory) {
            true => {
                "make it writable, or set $CKPT_HOOK_HOME to another directory, for the agents, too"
            }
            false => {
                "set $CKPT_HOOK_HOME to a directory that you can write to, for the agents, too"
            }
        },
    })
}

/// If the store does not exist yet, the nearest existing directory above it must be writable.
fn obstacle(directory: &Path) -> Option<(PathBuf, Errno)> {
    let there = directory.ancestors().find(|place| place.exists())?;
    let database = directory.join(ckpt_store::DATABASE);
    let refused = |place: &Path, access| {
        // The kernel knows of read-only file systems and ACLs; mode bits do not show them.
        let answer = rustix::fs::access(place, access);
        answer.err().map(|error| (place.to_owned(), error))
    };
    refused(there, Access::WRITE_OK | Access::EXEC_OK).or_else(|| {
        let is_there = database.exists();
        is_there.then(|| refused(&database, Access::WRITE_OK))?
    })
}
