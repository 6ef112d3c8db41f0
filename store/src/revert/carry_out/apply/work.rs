//! What is to be applied.

use std::collections::BTreeMap;

use super::root::Permissions;
use super::slot::BlobWriter;
use crate::model::item::Item;
use crate::model::path::WorkspacePath;

/// What [`apply`](super::apply) is asked for.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// The operation's id. Temporary names are derived from it, so it must be unique, and the same in every try.
    pub operation: &'a str,
    /// The plan. Items that are not `Planned` are passed through untouched.
    pub items: &'a [Item],
    /// The directories to remove once this operation has emptied them: those that the agent made.
    pub directories: &'a [WorkspacePath],
    /// The directories that take no name, with their permissions: they are opened meanwhile, and closed again.
    pub closed: &'a BTreeMap<WorkspacePath, u32>,
    /// The permissions of directories that have to be made for what is put into them. Without an answer, one is made
    /// like any new directory.
    pub permissions: &'a Permissions<'a>,
    /// Reads blobs.
    pub contents: &'a BlobWriter<'a>,
    /// Called now and then, from any thread, with the number of items that are done.
    pub progress: Option<&'a (dyn Fn(usize) + Sync)>,
}
