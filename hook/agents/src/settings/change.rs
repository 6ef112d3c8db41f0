//! A change of an agent's settings: planned for all files, and carried out if none was refused.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ckpt_schema::report::SettingsChange;
use ckpt_store::DryRun;
use ckpt_store::error::{Error, Result};
use ckpt_store::model::instruction::Instruction;

use super::edit::{Edit, EditKind};
use super::file;
use super::lasting;
use super::memory::{Memory, missing_folders};
use super::place::{SettingsPlace, SettingsScope};
use super::target::AgentTarget;

/// Plans the change of all files of an agent, and carries it out if none was refused.
///
/// # Errors
///
/// A settings file that cannot be read, understood or written; it is left as it was.
pub fn change(
    target: &AgentTarget,
    scope: SettingsScope,
    place: &SettingsPlace<'_>,
    dry_run: DryRun,
    work: EditKind,
) -> Result<Vec<SettingsChange>> {
    let mut memory = Memory::read(place.memory);
    let files = (target.files)(scope, place)?;
    if files.is_empty() && work == EditKind::Remove {
        return Ok(Vec::new());
    }
    if files.is_empty() {
        let agent = target.versions.agent;
        return Err(
            Error::failed(format!("{agent} reads no hooks from a project's settings"))
                .hint(Instruction::Project.to_string()),
        );
    }
    if scope == SettingsScope::Project {
        files
            .iter()
            .try_for_each(|file| file::check_inside(&file.path, place.project))?;
    }
    let mut edits = files
        .into_iter()
        .map(|file| Edit::plan(file, work, &memory))
        .collect::<Result<Vec<_>>>()?;
    if let (Some(follow), Some(first)) = (target.follow, edits.first()) {
        let file = follow(place, first)?;
        let follows = file.map(|file| Edit::plan(file, work, &memory));
        edits.extend(follows.transpose()?);
    }
    if dry_run == DryRun::No {
        carry_out(&edits, work, &mut memory, place)?;
    }
    let mut changes: Vec<SettingsChange> = edits
        .iter()
        .map(|edit| edit.report(target.agent, dry_run))
        .collect();
    let changed = edits.iter().position(|edit| edit.before != edit.after);
    if let Some(hook) = edits.first().filter(|edit| edit.holds_hook()) {
        let text = hook.after.as_deref().unwrap_or_default();
        // What may keep it from working is said however often it is installed.
        let advice = || advice(target, scope, place, &hook.file.path, text);
        match changed {
            Some(changed) => {
                let notes = target.notes_for(scope).into_iter().chain(advice());
                changes[changed].notes.extend(notes);
            }
            None if work == EditKind::Insert => changes[0].notes.extend(advice()),
            None => {}
        }
    }
    Ok(changes)
}

/// Changes all files, or none: if one fails, the changes before it are undone. The former content is noted before it is
/// replaced.
fn carry_out(
    edits: &[Edit],
    work: EditKind,
    memory: &mut Memory,
    place: &SettingsPlace<'_>,
) -> Result<()> {
    // Found out before the files are written, because that makes the folders.
    let made: BTreeSet<PathBuf> = edits
        .iter()
        .flat_map(|edit| missing_folders(&edit.file.path))
        .collect();
    if work == EditKind::Insert {
        edits.iter().try_for_each(|edit| memory.keep(edit))?;
        memory.write()?;
    }
    // The first file calls the hook, so it is changed last: what belongs to it is there by then.
    for (index, edit) in edits.iter().enumerate().rev() {
        if let Err(error) = edit.put(&edit.before, &edit.after) {
            for done in &edits[index + 1..] {
                // This fails only if another program has changed the file since; then that version stays.
                let _ = done.put(&done.after, &done.before);
            }
            file::remove_empty(&made);
            return Err(error);
        }
    }
    if work == EditKind::Remove {
        let folders = edits.iter().flat_map(|edit| memory.forget(edit));
        let is_kept = |folder: &PathBuf| folder == place.home || folder == place.project;
        file::remove_empty(&folders.filter(|folder| !is_kept(folder)).collect());
        memory.write()?;
    }
    Ok(())
}

/// The reason that the whole installation may not work.
fn advice(
    target: &AgentTarget,
    scope: SettingsScope,
    place: &SettingsPlace<'_>,
    file: &Path,
    text: &str,
) -> Vec<String> {
    let package = (target.package)(place).map(|file| {
        format!(
            "it is installed as a package, too, according to `{}`: use one of the two",
            file.display()
        )
    });
    let passing = lasting::is_passing(place.binary).then(|| {
        format!(
            "`{}` is in a folder of one version: after an upgrade, install the hook again",
            place.binary.display()
        )
    });
    let mut notes: Vec<String> = package.into_iter().chain(passing).collect();
    let advice = target.advice(scope, place, file, text);
    notes.extend(
        target
            .advice_on_version(place)
            .into_iter()
            .chain(advice)
            .map(|advice| format!("{}: {}", advice.message, advice.hint)),
    );
    notes
}
