//! A settings file, and what we want in it. Text in, text out.

use std::path::PathBuf;

use ckpt_store::error::Result;

use super::hook_table::{Found, HookTable};
use super::own_file::OwnFile;
use super::place::Scope;
use crate::agents::codex::trust::Trust;

/// A settings file, and what we want in it.
pub struct SettingsFile {
    /// Where it is.
    pub path: PathBuf,
    /// The mode where the file is new.
    pub mode: u32,
    /// What we want in it.
    pub content: Content,
}

/// What we want in a settings file.
pub enum Content {
    /// Our handlers in a table of hooks that others use, too.
    Table(HookTable),
    /// A file of our own.
    Own(OwnFile),
    /// Codex's trust in our handlers.
    Trust(Trust),
}

impl SettingsFile {
    /// Returns a file with a table of hooks.
    pub fn with_table(path: PathBuf, scope: Scope, table: HookTable) -> Self {
        Self {
            path,
            mode: scope.mode(),
            content: Content::Table(table),
        }
    }
}

impl Content {
    /// Returns the text with what we want in it.
    ///
    /// # Errors
    ///
    /// A text that is not what it should be.
    pub fn insert(&self, text: Option<&str>) -> Result<String> {
        match self {
            Self::Table(table) => table.insert(text.unwrap_or_default()),
            Self::Own(file) => file.insert(text.unwrap_or_default()),
            Self::Trust(trust) => trust.insert(text.unwrap_or_default()),
        }
    }

    /// Returns the text without what is ours; `None` where nothing else is in it.
    ///
    /// # Errors
    ///
    /// As for [`Content::insert`].
    pub fn remove(&self, text: &str) -> Result<Option<String>> {
        match self {
            Self::Table(table) => table.remove(text),
            Self::Own(file) => Ok(file.remove(text)),
            Self::Trust(trust) => trust.remove(text),
        }
    }

    /// Returns what a text holds of ours.
    ///
    /// # Errors
    ///
    /// As for [`Content::insert`].
    pub fn find(&self, text: &str) -> Result<Found> {
        match self {
            Self::Table(table) => table.find(text),
            Self::Own(file) => Ok(file.find(text)),
            Self::Trust(trust) => Ok(Found {
                exact: trust.is_in(text),
                ..Found::default()
            }),
        }
    }

    /// Returns whether a text is somebody else's, and stays: what we want in the file is not needed.
    pub fn gives_way_to(&self, text: &str) -> bool {
        match self {
            Self::Own(file) => file.is_optional && !text.trim().is_empty() && !file.is_ours(text),
            Self::Table(_) | Self::Trust(_) => false,
        }
    }

    /// Returns the text of a file that must stay although nothing is in it.
    pub fn empty(&self) -> &'static str {
        match self {
            Self::Table(_) => "{}\n",
            Self::Own(_) | Self::Trust(_) => "",
        }
    }
}
