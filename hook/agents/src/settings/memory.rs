//! What was there before the hook was installed, if the settings do not show it: whether an empty file, an empty table
//! or a folder was the user's. Kept in the store, so that `uninstall` leaves every byte as it was.
//!
//! A text is kept only if removing the hook from the settings would not restore it; most settings are never copied.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ckpt_store::error::Result;
use ckpt_store::model::hex::Hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::edit::Edit;
use super::file;

/// What is remembered of the settings files, and the file of the store that keeps it.
pub struct Memory {
    file: PathBuf,
    kept: BTreeMap<PathBuf, RememberedFile>,
}

/// What is kept of one settings file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RememberedFile {
    /// The hash of the text with the hook in it, as it was written.
    after: String,
    /// The file before.
    before: Original,
    /// The folders that were made for it.
    folders: BTreeSet<PathBuf>,
}

/// What was there before the hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Original {
    /// What is left when the hook is taken out.
    Rest,
    /// No file.
    Absent,
    /// This text.
    Text(String),
}

impl Memory {
    /// Reads the memory from a file. It is empty if that is missing or not readable; then only the settings count.
    pub fn read(file: &Path) -> Self {
        let text = file::read(file).ok().flatten().unwrap_or_default();
        Self {
            file: file.to_owned(),
            kept: serde_json::from_str(&text).unwrap_or_default(),
        }
    }

    /// Returns the settings files that the hook was added to and not removed from since.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.kept.keys().map(PathBuf::as_path)
    }

    /// Returns the text of a settings file before the hook, given its present text.
    ///
    /// # Errors
    ///
    /// A text that is not what it should be.
    pub fn original(&self, edit: &Edit) -> Result<Option<String>> {
        let Some(text) = edit.before.as_deref() else {
            return Ok(None);
        };
        let rest = edit.file.content.remove(text)?;
        Ok(match self.kept.get(&edit.file.path) {
            Some(kept) if kept.after == hash(text) => match &kept.before {
                Original::Rest => rest,
                Original::Absent => None,
                Original::Text(before) => Some(before.clone()),
            },
            // It was edited since, and nothing of that is left, so the first text is restored.
            Some(kept) if rest.is_none() => match &kept.before {
                Original::Text(before) => Some(before.clone()),
                Original::Rest | Original::Absent => None,
            },
            _ => rest,
        })
    }

    /// Notes what a settings file was before the hook is added.
    ///
    /// # Errors
    ///
    /// As for [`Memory::original`].
    pub fn keep(&mut self, edit: &Edit) -> Result<()> {
        let Some(after) = edit.after.as_deref().filter(|_| edit.before != edit.after) else {
            return Ok(());
        };
        // Not the text before the edit: it may hold the hook of an earlier installation.
        let original = self.original(edit)?;
        let before = match original {
            original if original == edit.file.content.remove(after)? => Original::Rest,
            None => Original::Absent,
            Some(text) => Original::Text(text),
        };
        let path = &edit.file.path;
        let mut folders = missing_folders(path);
        folders.extend(
            self.kept
                .get(path)
                .into_iter()
                .flat_map(|kept| kept.folders.clone()),
        );
        let kept = RememberedFile {
            after: hash(after),
            before,
            folders,
        };
        self.kept.insert(path.clone(), kept);
        Ok(())
    }

    /// Returns the folders to remove with a settings file, and forgets the file. If it is not known, folders that held
    /// nothing else count as ours.
    pub fn forget(&mut self, edit: &Edit) -> BTreeSet<PathBuf> {
        let path = &edit.file.path;
        let known = self.kept.remove(path).map(|kept| kept.folders);
        if edit.before.is_none() || edit.after.is_some() {
            return BTreeSet::new();
        }
        let nearest = || path.ancestors().skip(1).take(2).map(Path::to_owned);
        known.unwrap_or_else(|| nearest().collect())
    }

    /// Writes the memory to its file.
    ///
    /// # Errors
    ///
    /// A file that cannot be written.
    pub fn write(&self) -> Result<()> {
        let before = file::read(&self.file)?;
        if self.kept.is_empty() && before.is_none() {
            return Ok(());
        }
        let text = serde_json::to_string(&self.kept).expect("paths that are text, and strings");
        file::make_private_folder(&self.file)?;
        file::replace(&self.file, before.as_deref(), &text, 0o600)
    }
}

/// Returns the folders above a file that are not there.
pub fn missing_folders(path: &Path) -> BTreeSet<PathBuf> {
    let above = path.ancestors().skip(1);
    above
        .take_while(|folder| folder.symlink_metadata().is_err())
        .map(Path::to_owned)
        .collect()
}

fn hash(text: &str) -> String {
    Hex(&Sha256::digest(text.as_bytes())).to_string()
}
