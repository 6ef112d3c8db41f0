//! A settings file, and what we want in it. Text in, text out.

use std::path::PathBuf;

use ckpt_store::DryRun;
use ckpt_store::error::Result;

/// A settings file, and what we want in it.
pub struct SettingsFile {
    /// Its path.
    pub path: PathBuf,
    /// The mode of a new file.
    pub mode: u32,
    /// The content that we want in it.
    pub content: Box<dyn SettingsContent>,
}

/// Our handlers in a table.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct OwnHandlers {
    /// The binaries that our handlers call.
    pub binaries: Vec<String>,
    /// Whether an event has more than one of our handlers.
    pub doubled: bool,
    /// Whether there is exactly what we want.
    pub exact: bool,
    /// Whether a handler has a shorter timeout than we want.
    pub hurried: bool,
}

/// What we want in a settings file.
pub trait SettingsContent {
    /// Returns a text with what we want in it, all other bytes as they were.
    ///
    /// # Errors
    ///
    /// A text that is not what it should be.
    fn insert(&self, text: &str) -> Result<String>;

    /// Returns a text without our content, or `None` if nothing else is in it.
    ///
    /// # Errors
    ///
    /// As for [`SettingsContent::insert`].
    fn remove(&self, text: &str) -> Result<Option<String>>;

    /// Returns our handlers in a text.
    ///
    /// # Errors
    ///
    /// As for [`SettingsContent::insert`].
    fn find(&self, text: &str) -> Result<OwnHandlers>;

    /// Returns whether a text is not ours and stays, because the hook works without this file.
    fn gives_way_to(&self, _text: &str) -> bool {
        false
    }

    /// Returns the text of a file that must stay although nothing is in it.
    fn empty(&self) -> &'static str {
        ""
    }

    /// Advice for the user about a change of the file that was made, or would be.
    fn note(&self, _before: Option<&str>, _after: &str, _dry_run: DryRun) -> Option<String> {
        None
    }
}
