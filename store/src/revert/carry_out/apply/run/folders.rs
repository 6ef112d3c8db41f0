//! Opens directories that take no name, and names what directories lack that are removed, or made again: no snapshot
//! holds whose they were. This module does IO.

use std::os::fd::AsFd;

use super::{Attempt, Descent, ItemResult, sys};
use crate::fs::{beneath, system, threads};
use crate::model::entry::{Entry, EntryKind, file_type};
use crate::model::path::WorkspacePath;
use crate::revert::carry_out::apply::inherit;

/// What opens a directory to its owner.
const WRITABLE: u32 = 0o200;

impl Attempt<'_> {
    /// Makes the directories that take no name writable. Those above come first.
    pub(super) fn open_closed_directories(&self) {
        for (path, permissions) in self.work.closed {
            self.change_permissions(path, *permissions, permissions | WRITABLE);
        }
    }

    /// Closes them again, as far as they are still there and as they were left.
    pub(super) fn close_directories(&self) {
        for (path, permissions) in self.work.closed.iter().rev() {
            self.change_permissions(path, permissions | WRITABLE, *permissions);
        }
    }

    /// Changes the permissions of a directory that has these. If that fails, what is in it fails, or it stays open.
    fn change_permissions(&self, path: &WorkspacePath, from: u32, to: u32) {
        let Ok(Descent::Directory(holder, _)) = self.root.descend(path.parent().as_ref()) else {
            return;
        };
        let found = beneath::lstat(holder.as_fd(), path.name()).ok().flatten();
        let is_as_left = found.is_some_and(|found| {
            let mode = system::mode(&found);
            mode & file_type::MASK == file_type::DIRECTORY && mode & 0o3777 == from
        });
        if is_as_left {
            let _ = sys::set_permissions(holder.as_fd(), path.name(), to);
        }
    }

    /// Returns the metadata that is lost with a directory, as a list for people.
    pub(super) fn lost_with(&self, path: &WorkspacePath) -> Option<String> {
        match self.root.descend(path.parent().as_ref()) {
            Ok(Descent::Directory(holder, _)) => {
                inherit::lost_with_folder(holder.as_fd(), path.name())
            }
            _ => None,
        }
    }

    /// Names the directories that were made and may have had another owner or group.
    pub(super) fn name_folders_made(&self, results: &[Option<ItemResult<bool>>]) {
        let is_folder = |entry: Option<Entry>| {
            entry.is_some_and(|entry| entry.mode.kind() == EntryKind::Directory)
        };
        let own = self
            .work
            .items
            .iter()
            .zip(results)
            .filter(|(item, result)| {
                let is_made = is_folder(item.target) && !is_folder(item.expected);
                is_made && matches!(result, Some(Ok(true)))
            });
        let own = own.map(|(item, _)| item.path.clone());
        let mut made = threads::lock(&self.made).clone();
        made.extend(own);
        for path in made {
            if let Ok(Descent::Directory(holder, _)) = self.root.descend(path.parent().as_ref()) {
                self.name_folder(&path, inherit::made_folder(holder.as_fd(), path.name()));
            }
        }
    }

    /// Says this of a directory with its item, or with the first one below it.
    pub(super) fn name_folder(&self, path: &WorkspacePath, lost: Option<String>) {
        let items = || self.work.items.iter();
        let own = items().position(|item| item.path == *path);
        let index = own.or_else(|| items().position(|item| item.path.is_below(path)));
        let (Some(lost), Some(index)) = (lost, index) else {
            return;
        };
        let text = match own {
            Some(_) => lost,
            // Without its name: names are data, and this is a sentence of ours.
            None => format!("a folder above it: {lost}"),
        };
        threads::lock(&self.lost)
            .entry(index)
            .and_modify(|before| *before = format!("{before}; {text}"))
            .or_insert(text);
    }
}
