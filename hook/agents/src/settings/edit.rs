//! The change of one settings file: planned, carried out, and reported.

use std::path::Path;

use ckpt_schema::report::SettingsChange;
use ckpt_store::DryRun;
use ckpt_store::error::{Error, Result};
use similar::TextDiff;

use super::content::SettingsFile;
use super::file;
use super::memory::Memory;

/// What is done to settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditKind {
    /// The hook goes in.
    Insert,
    /// The hook goes out.
    Remove,
}

/// The planned change of a settings file.
pub struct Edit {
    /// The file.
    pub file: SettingsFile,
    /// Its text.
    pub before: Option<String>,
    /// The text that takes its place.
    pub after: Option<String>,
}

impl Edit {
    /// Plans to put the hook into a file, or to take it out.
    ///
    /// # Errors
    ///
    /// A file that cannot be read or understood.
    pub fn plan(file: SettingsFile, work: EditKind, memory: &Memory) -> Result<Self> {
        let before = file::read(&file.path)?;
        let mut edit = Self {
            file,
            before,
            after: None,
        };
        let after = match work {
            EditKind::Insert => {
                let inserted = edit
                    .file
                    .content
                    .insert(edit.before.as_deref().unwrap_or_default());
                inserted.map(Some)
            }
            EditKind::Remove => memory.original(&edit),
        };
        edit.after = after.map_err(|error| {
            let hint = "the file was left as it was; correct it and try again";
            Error::failed(format!("cannot edit `{}`", edit.file.path.display()))
                .because(error)
                .hint(hint)
        })?;
        Ok(edit)
    }

    /// Replaces one text by another.
    pub fn put(&self, before: &Option<String>, after: &Option<String>) -> Result<()> {
        let path = &self.file.path;
        match (before, after) {
            (before, after) if before == after => Ok(()),
            (before, Some(after)) => file::replace(path, before.as_deref(), after, self.file.mode),
            // A symlink is not ours to remove.
            (before, None) if file::is_symlink(path) => file::replace(
                path,
                before.as_deref(),
                self.file.content.empty(),
                self.file.mode,
            ),
            (before, None) => file::remove(path, before.as_deref()),
        }
    }

    /// The outcome for the file, with a diff if it differs now.
    pub fn report(&self, agent: &str, dry_run: DryRun) -> SettingsChange {
        let action = match (&self.before, &self.after) {
            (before, after) if before == after => "unchanged",
            (None, _) => "created",
            (Some(_), Some(_)) => "updated",
            (Some(_), None) => "removed",
        };
        let changed = action != "unchanged";
        SettingsChange {
            agent: agent.to_owned(),
            file: self.file.path.display().to_string(),
            action: action.to_owned(),
            dry_run: dry_run.is_dry(),
            diff: changed.then(|| {
                unified(
                    &self.file.path,
                    self.before.as_deref(),
                    self.after.as_deref(),
                )
            }),
            notes: self.note(dry_run).into_iter().collect(),
        }
    }

    /// Returns whether the hook is in the file once it is changed.
    pub fn holds_hook(&self) -> bool {
        let found = self
            .after
            .as_deref()
            .map(|after| self.file.content.find(after));
        found.is_some_and(|found| found.is_ok_and(|found| !found.binaries.is_empty()))
    }

    /// Notes about this file.
    fn note(&self, dry_run: DryRun) -> Option<String> {
        let (content, after) = (&self.file.content, self.after.as_deref()?);
        let gives_way = || {
            content
                .gives_way_to(after)
                .then(|| "another file has the name of this command, and stays".to_owned())
        };
        content
            .note(self.before.as_deref(), after, dry_run)
            .or_else(gives_way)
    }
}

/// Returns the change of a file as a unified diff; an absent text is `/dev/null`.
fn unified(path: &Path, before: Option<&str>, after: Option<&str>) -> String {
    let difference = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    difference
        .unified_diff()
        .header(&side("a", path, before), &side("b", path, after))
        .to_string()
}

fn side(prefix: &str, path: &Path, text: Option<&str>) -> String {
    text.map_or_else(
        || "/dev/null".to_owned(),
        |_| format!("{prefix}{}", path.display()),
    )
}
