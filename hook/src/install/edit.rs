//! The change of an agent's settings: planned for all of its files, carried out where none of them was refused.

use std::path::Path;

use ckpt_schema::report::SettingsChange;
use ckpt_store::error::{Error, Result};

use super::target::{Content, SettingsFile, Target};
use super::{Place, Scope, diff, file};

/// Returns what a file becomes; `None` where nothing is left of it.
pub type Work = fn(&Content, Option<&str>) -> Result<Option<String>>;

/// What a settings file becomes.
pub struct Edit {
    /// Which file.
    pub file: SettingsFile,
    /// Its text.
    pub before: Option<String>,
    /// The text that takes its place.
    pub after: Option<String>,
}

/// Plans the change of all files of an agent, and carries it out where none of them was refused.
///
/// # Errors
///
/// A settings file that cannot be read, understood or written; it is left as it was.
pub fn change(
    target: &Target,
    scope: Scope,
    place: &Place<'_>,
    dry_run: bool,
    work: Work,
) -> Result<Vec<SettingsChange>> {
    let files = (target.files)(scope, place)?;
    if scope == Scope::Project {
        files
            .iter()
            .try_for_each(|file| file::check_inside(&file.path, place.project))?;
    }
    let mut edits = files
        .into_iter()
        .map(|file| Edit::plan(file, work))
        .collect::<Result<Vec<_>>>()?;
    if let (Some(follow), Some(first)) = (target.follow, edits.first()) {
        let file = follow(place, first)?;
        edits.extend(file.map(|file| Edit::plan(file, work)).transpose()?);
    }
    if !dry_run {
        carry_out(&edits, place)?;
    }
    let mut changes: Vec<SettingsChange> = edits
        .iter()
        .map(|edit| edit.report(target.agent, dry_run))
        .collect();
    let changed = edits.iter().position(|edit| edit.before != edit.after);
    if let (Some(changed), Some(hook)) = (changed, edits.first().filter(|edit| edit.holds_hook())) {
        let text = hook.after.as_deref().unwrap_or_default();
        changes[changed]
            .notes
            .extend(notes(target, scope, place, &hook.file.path, text));
    }
    Ok(changes)
}

/// Changes all files, or none: what was done already is taken back where the rest cannot be done.
///
/// The hook itself comes last: what is beside it makes no sense without it, and keeps its folder from going.
fn carry_out(edits: &[Edit], place: &Place<'_>) -> Result<()> {
    for (index, edit) in edits.iter().enumerate().rev() {
        if let Err(error) = edit.put(&edit.before, &edit.after, place) {
            for done in &edits[index + 1..] {
                // It fails only where somebody else has the file in hand by now, whose it is then.
                let _ = done.put(&done.after, &done.before, place);
            }
            return Err(error);
        }
    }
    Ok(())
}

impl Edit {
    fn plan(file: SettingsFile, work: Work) -> Result<Self> {
        let before = file::read(&file.path)?;
        let after = work(&file.content, before.as_deref()).map_err(|error| {
            let hint = "the file was left as it was; correct it and try again";
            Error::failed(format!("cannot edit `{}`", file.path.display()))
                .because(error)
                .hint(hint)
        })?;
        Ok(Self {
            file,
            before,
            after,
        })
    }

    /// Puts one text in the place of another.
    fn put(
        &self,
        before: &Option<String>,
        after: &Option<String>,
        place: &Place<'_>,
    ) -> Result<()> {
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
            (before, None) => file::remove(path, before.as_deref(), &[place.home, place.project]),
        }
    }

    fn report(&self, agent: &str, dry_run: bool) -> SettingsChange {
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
            dry_run,
            diff: changed.then(|| {
                diff::unified(
                    &self.file.path,
                    self.before.as_deref(),
                    self.after.as_deref(),
                )
            }),
            notes: self.note(dry_run).into_iter().collect(),
        }
    }

    /// Returns whether the hook is in the file once it is changed.
    fn holds_hook(&self) -> bool {
        let found = self
            .after
            .as_deref()
            .map(|after| self.file.content.find(after));
        found.is_some_and(|found| found.is_ok_and(|found| !found.binaries.is_empty()))
    }

    /// What there is to say of this file alone.
    fn note(&self, dry_run: bool) -> Option<String> {
        let after = self.after.as_deref()?;
        match &self.file.content {
            Content::Trust(trust)
                if self.before.as_deref() != Some(after) && trust.is_in(after) =>
            {
                let trusts = if dry_run {
                    "would trust the hook"
                } else {
                    "trusts the hook now"
                };
                Some(format!("Codex {trusts} without a review"))
            }
            content if content.gives_way_to(after) => {
                Some("somebody else's file has the name of this command, and stays".to_owned())
            }
            _ => None,
        }
    }
}

/// What there is to say of the whole installation.
fn notes(target: &Target, scope: Scope, place: &Place<'_>, file: &Path, text: &str) -> Vec<String> {
    let mut notes = target.notes_for(scope);
    let package = (target.package)(place);
    notes.extend(package.map(|file| {
        format!(
            "it is there as a package, too, says `{}`: use one of the two",
            file.display()
        )
    }));
    let advice = target.advice(scope, place, file, text);
    notes.extend(
        advice
            .into_iter()
            .map(|advice| format!("{}: {}", advice.message, advice.hint)),
    );
    notes
}
