//! Applies a plan: replaces what the plan expects by its targets, and leaves everything else alone. This folder does
//! IO, and nothing else writes to a workspace.
//!
//! It does not decide anything (the plan does), keep a journal (the operation does), or take a snapshot. It promises:
//!
//! - Nothing outside the root, through a symbolic link, or at or below a `.git` is ever written, even if another program
//!   renames directories meanwhile: `root` walks by descriptors.
//! - Nothing is replaced or removed before it was hashed at a name that no other program uses: `writer`.
//! - A crash at any point leaves every file whole, old or new; [`apply`] called again with the same items finishes the
//!   work: `leftover`.
//! - Nothing is removed recursively.

mod alike;
mod failure;
mod inherit;
mod lease;
mod leftover;
mod order;
mod preflight;
mod present_file;
mod root;
mod run;
mod slot;
pub(crate) mod sys;
mod temporary;
mod work;
mod workers;
mod writer;

pub(crate) use inherit::foresee;
pub(crate) use order::moves;
pub(crate) use preflight::closed_permissions;
pub use preflight::{Problem, preflight};
pub use present_file::Found;
pub use root::{Abilities, Permissions, Root};
pub use slot::BlobWriter;
pub use work::Work;

use crate::error::{Error, Result};
use crate::model::path::WorkspacePath;

use crate::model::item::{Item, ItemOutcome};

/// Carries out a plan, or finishes what a crashed or failed try of the same operation left. Returns one result per
/// item, in order.
///
/// A failed item is as it was, and a later try can do it. What is done is synced to the disk. If the system refused to
/// sync it, it is in its place, and that is its reason.
pub fn apply(root: &Root, work: &Work<'_>) -> Vec<ItemOutcome> {
    apply_and(root, work, || ()).0
}

/// Like [`apply`], but does something else once every item is in its place, while the disk syncs. Returns the result of
/// that, too.
pub fn apply_and<R>(
    root: &Root,
    work: &Work<'_>,
    meanwhile: impl FnOnce() -> R,
) -> (Vec<ItemOutcome>, R) {
    run::Attempt::new(root, work).run(meanwhile)
}

/// How far an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// What is there is what is expected, and no program is known to write to it.
    Ready,
    /// An earlier try did it.
    Done,
    /// It would be left alone.
    Other,
}

/// Returns how far an item is right now, with its hash.
pub fn standing(root: &Root, item: &Item) -> Standing {
    let Ok(found) = state_at(root, &item.path) else {
        return Standing::Other;
    };
    if found.is(item.target) {
        return Standing::Done;
    }
    let is_busy = || match root.descend(item.path.parent().as_ref()) {
        Ok(root::Descent::Directory(directory, _)) if root.abilities().leases => {
            use std::os::fd::AsFd;
            let lease = lease::take(directory.as_fd(), item.path.name());
            matches!(lease, lease::Lease::Busy)
        }
        _ => false,
    };
    match found.is(item.expected) && !is_busy() {
        true => Standing::Ready,
        false => Standing::Other,
    }
}

/// Returns the state of a path right now, with its hash. If a directory above it is missing, or is a link or a file,
/// the path is absent.
pub fn state_at(root: &Root, path: &WorkspacePath) -> Result<Found> {
    let failed = |error| Error::failed(format!("cannot read `{}`", path.to_text())).because(error);
    match root.descend(path.parent().as_ref()).map_err(failed)? {
        root::Descent::Directory(directory, _) => {
            use std::os::fd::AsFd;
            Ok(present_file::look(directory.as_fd(), path.name())
                .map_err(failed)?
                .0)
        }
        root::Descent::Missing | root::Descent::Replaced => Ok(Found::Nothing),
        root::Descent::Blocked(reason) => Err(Error::failed(format!(
            "cannot read `{}`: {reason}",
            path.to_text()
        ))),
    }
}
