//! Apply: puts each target of a plan where exactly what the plan expects stands, and leaves everything else
//! alone. This folder does IO, and nothing else writes to a workspace.
//!
//! It does not decide anything (that is the plan), keep a journal (that is the operation), or take a snapshot. It promises:
//!
//! - Nothing outside the root, through a symbolic link, or at or below a `.git` is ever written, even if somebody
//!   renames directories meanwhile: `root` walks by descriptors.
//! - Nothing is replaced or removed before it was hashed at a name that nobody else uses: `writer`.
//! - A crash at any point leaves every file whole, old or new; [`apply`] called again with the same items finishes the work:
//!   `leftover`.
//! - Nothing is removed recursively.

mod failure;
mod found;
mod lease;
mod leftover;
mod order;
mod preflight;
mod root;
mod run;
pub(in crate::revert) mod sys;
mod temporary;
mod workers;
mod writer;

pub use found::Found;
pub use leftover::PREFIX;
pub use preflight::{Problem, preflight};
pub use root::{Abilities, Permissions, Root};
pub use writer::BlobWriter;

use crate::error::{Error, Result};
use crate::model::path::WorkspacePath;

use crate::model::item::{Item, ItemOutcome};

/// What [`apply`] is asked for.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// The operation's id: temporary names are made of it, so it must be the same in every try, and no other operation's.
    pub operation: &'a str,
    /// The plan. What is not `Planned` is passed through untouched.
    pub items: &'a [Item],
    /// The directories that go when this operation has emptied them: those that the agent made.
    pub directories: &'a [WorkspacePath],
    /// The permissions of the directories that have to be made for what is put into them; where it does not know one, it is
    /// made as any other.
    pub permissions: &'a Permissions<'a>,
    /// Reads blobs.
    pub contents: &'a BlobWriter<'a>,
    /// Is told how many items are done, now and then and from any thread.
    pub progress: Option<&'a (dyn Fn(usize) + Sync)>,
}

/// Carries a plan out, or finishes what a crashed or failed try of the same operation left. Returns one result an item, in
/// order.
///
/// An item that failed is as it was, and a later try can do it. What is done is on the disk, synced; where the system refused to
/// sync, it is in its place and has that as its reason.
pub fn apply(root: &Root, work: &Work<'_>) -> Vec<ItemOutcome> {
    apply_and(root, work, || ()).0
}

/// The same, and does something else once every item is in its place, while the disk is waited for. Returns what that gave, too.
pub fn apply_and<R>(
    root: &Root,
    work: &Work<'_>,
    meanwhile: impl FnOnce() -> R,
) -> (Vec<ItemOutcome>, R) {
    run::Attempt::new(root, work).run(meanwhile)
}

/// Returns the state of a path right now, with its hash. If a directory above it is missing, or is a link or a file,
/// the path is absent.
pub fn state_at(root: &Root, path: &WorkspacePath) -> Result<Found> {
    let failed = |error| Error::failed(format!("cannot read `{}`", path.to_text())).because(error);
    match root.descend(path.parent().as_ref()).map_err(failed)? {
        root::Descent::Directory(directory, _) => {
            use std::os::fd::AsFd;
            Ok(found::look(directory.as_fd(), path.name())
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
