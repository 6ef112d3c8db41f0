//! `undo`: takes back the last operation of this workspace, whatever it was. It is an operation itself, so that it can
//! be taken back as well.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ckpt_schema::report::{
    ChangeReport, FileAction, FileReport, FileResult, NoteCode, NoteReport, OperationEntry,
    OperationKind, OperationReport, Outcome, PathText, ReasonCode, ShowReport,
};
use ckpt_store::model::request::{OnConflict, Unclear};
use ckpt_store::query::{DiffRequest, LogFilter};
use ckpt_store::revert::PriorState;
use ckpt_store::{
    AskedBy, DryRun, Error, Force, RedoRequest, RestoreRequest, RevertRequest, Store,
};

use super::operation;
use super::outcome::{AskedExtent, finish_undo, watched};
use super::parts::{self, ChoiceOptions};
use crate::cli::arguments::UndoArguments;
use crate::cli::invocation::Invocation;
use crate::failure::Failure;
use crate::output::history::operation_word;
use crate::output::text;

/// How an operation is taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reversal {
    /// Nothing was reverted before it.
    Forward,
    /// The revert point was at a message before it; empty if only parts were reverted.
    To(String),
    /// The point did not move: the files that it changed are restored.
    Files,
}

/// How to take back the last operation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Undo {
    /// Whether to plan only.
    pub dry_run: bool,
    /// What to ignore.
    pub force: Force,
    /// Whether a plan reports what the files hold before and after.
    pub contents: bool,
}

/// Takes back the last operation, or carries out the plan of a dry run.
pub fn run(invocation: &Invocation, arguments: &UndoArguments) -> Result<u8, Failure> {
    let force = Force::asked(arguments.force, AskedBy::Person);
    if let Some(token) = &arguments.planning.plan {
        return operation::apply(invocation, token, force);
    }
    let asked = Undo {
        dry_run: arguments.planning.dry_run,
        force,
        contents: operation::contents(invocation, &arguments.planning)?,
    };
    let mut store = invocation.open_to_operate(asked.dry_run)?;
    let directory = invocation.directory()?;
    let planned = Undo {
        dry_run: asked.dry_run || arguments.patch,
        ..asked
    };
    let undone = watched(invocation, &mut store, |store| {
        undo(store, &directory, planned)
    })?;
    if arguments.patch {
        let options = ChoiceOptions {
            dry_run: DryRun::asked(asked.dry_run),
            force: asked.force,
        };
        return parts::choose(invocation, &mut store, &undone.report, options);
    }
    finish_undo(invocation, &mut store, &undone)
}

/// What an undo did.
pub struct UndoOutcome {
    /// The outcome.
    pub report: OperationReport,
    /// How much the operation that it took back was about.
    pub extent: AskedExtent,
    /// The operation that it took back.
    pub of: OperationEntry,
}

/// Takes back the last operation of a workspace.
pub fn undo(store: &mut Store, directory: &Path, asked: Undo) -> Result<UndoOutcome, Failure> {
    let last = last(store, directory)?;
    let before = store.before(&last.id)?;
    let report = match way(&last, &before) {
        Reversal::Forward => {
            let request = RedoRequest {
                session: last.session.clone(),
                all: true,
                undoes: Some(last.id.clone()),
                dry_run: asked.dry_run,
                contents: asked.contents,
                force: asked.force,
                ..RedoRequest::default()
            };
            let report = store.redo(directory, &request)?;
            // The message that came after it made it permanent.
            let is_permanent = |note: &NoteReport| note.code == NoteCode::NothingReverted;
            if report.remarks.iter().any(is_permanent) {
                files(store, directory, asked, &last)?
            } else {
                report
            }
        }
        Reversal::To(point) => {
            let (on_conflict, unclear) = policy(store, directory, &last, &before)?;
            let request = RevertRequest {
                message: point,
                session: last.session.clone(),
                undoes: Some(last.id.clone()),
                on_conflict,
                unclear,
                git: last.git,
                dry_run: asked.dry_run,
                contents: asked.contents,
                force: asked.force,
                ..RevertRequest::default()
            };
            store.revert(directory, &request)?
        }
        Reversal::Files => files(store, directory, asked, &last)?,
    };
    Ok(UndoOutcome {
        report,
        extent: AskedExtent::of(before.is_part),
        of: last,
    })
}

/// Returns what the revert to which an undo leads back did with files that differ from what the agent left. It does
/// that again only if nothing was changed since the operation that is taken back: otherwise it might take what was.
fn policy(
    store: &mut Store,
    directory: &Path,
    last: &OperationEntry,
    before: &PriorState,
) -> Result<(OnConflict, Option<Unclear>), Failure> {
    let usual = (OnConflict::default(), None);
    let then = (before.on_conflict, Some(before.unclear));
    if then == (OnConflict::default(), Some(Unclear::default())) || last.after.is_none() {
        return Ok(usual);
    }
    let request = DiffRequest {
        from: last.after.clone(),
        to: Some("current".to_owned()),
        paths: Vec::new(),
    };
    let is_unchanged = store.diff(directory, &request)?.files.is_empty();
    Ok(if is_unchanged { then } else { usual })
}

/// Returns the newest operation of a workspace that was carried out.
pub fn last(store: &mut Store, directory: &Path) -> Result<OperationEntry, Failure> {
    let all = store.operations(directory, &LogFilter::default())?;
    let mut operations = all.operations.into_iter();
    let is_done = |entry: &OperationEntry| entry.state == "done" || entry.state == "open";
    operations.find(is_done).ok_or_else(|| {
        Error::unavailable("there is nothing to undo: nothing was reverted or restored here")
            .hint("`ckpt-hook revert` takes back what an agent did")
            .into()
    })
}

/// Decides how an operation is taken back.
fn way(last: &OperationEntry, before: &PriorState) -> Reversal {
    match (last.kind, &before.point) {
        (OperationKind::Revert, _) if before.is_unreverted => Reversal::Forward,
        (OperationKind::Restore, _) => Reversal::Files,
        (_, point) if !before.is_part && *point != last.message => {
            Reversal::To(point.clone().unwrap_or_default())
        }
        _ => Reversal::Files,
    }
}

/// Restores the files that an operation changed. What was changed since stays, and is named.
fn files(
    store: &mut Store,
    directory: &Path,
    asked: Undo,
    last: &OperationEntry,
) -> Result<OperationReport, Failure> {
    let root = PathBuf::from(store.status(directory, None)?.workspace);
    let ShowReport::Operation { changes, .. } = store.show(directory, &last.id)? else {
        return Err(Error::failed("an operation is shown as something else").into());
    };
    let since = since(store, &root, last, &changes)?;
    let (kept, undone): (Vec<ChangeReport>, Vec<ChangeReport>) = changes
        .into_iter()
        .partition(|change| since.contains(&change.path));
    refuse_changed(last, &kept, &undone)?;
    let request = RestoreRequest {
        id: last.id.clone(),
        // git's own state belongs to no path.
        paths: match last.git {
            true => Vec::new(),
            false => undone
                .iter()
                .map(|change| place(&root, &change.path))
                .collect(),
        },
        undoes: Some(last.id.clone()),
        git: last.git,
        dry_run: asked.dry_run,
        contents: asked.contents,
        force: asked.force,
    };
    let mut report = store.restore(directory, &request)?;
    if !kept.is_empty() {
        report.files.extend(kept.into_iter().map(keep));
        report.files.sort_by(|one, other| one.path.cmp(&other.path));
        report.outcome = match report.outcome {
            Outcome::Restored => Outcome::Partial,
            other => other,
        };
    }
    Ok(report)
}

/// Refuses to undo an operation if every file of it has changed since. One that moved git's own state is undone as a
/// whole, so one changed file is enough.
fn refuse_changed(
    last: &OperationEntry,
    kept: &[ChangeReport],
    undone: &[ChangeReport],
) -> Result<(), Error> {
    let (kind, id) = (operation_word(last), text::short(&last.id));
    if undone.is_empty() && !last.git {
        let error = Error::unavailable(format!("every file of the {kind} was changed since"));
        return Err(error.hint(format!(
            "`ckpt-hook restore {id}` puts them back to before it anyway"
        )));
    }
    if last.git
        && let Some(changed) = kept.first()
    {
        let path = text::path(&changed.path);
        let error = Error::failed(format!(
            "files of the {kind} were changed since, such as `{path}`"
        ));
        return Err(error.hint(format!(
            "`ckpt-hook restore {id} --git` puts everything back to before it anyway"
        )));
    }
    Ok(())
}

/// Returns the files of an operation that are not as it left them.
fn since(
    store: &mut Store,
    root: &Path,
    last: &OperationEntry,
    changes: &[ChangeReport],
) -> Result<BTreeSet<PathText>, Failure> {
    // A difference of no paths is one of the whole workspace.
    let Some(after) = last.after.clone().filter(|_| !changes.is_empty()) else {
        return Ok(BTreeSet::new());
    };
    let request = DiffRequest {
        from: Some(after),
        to: Some("current".to_owned()),
        paths: changes
            .iter()
            .map(|change| place(root, &change.path))
            .collect(),
    };
    let files = store.diff(root, &request)?.files;
    Ok(files.into_iter().map(|change| change.path).collect())
}

fn place(root: &Path, path: &PathText) -> PathBuf {
    root.join(OsStr::from_bytes(&text::bytes(path)))
}

fn keep(change: ChangeReport) -> FileReport {
    FileReport {
        reason: Some("changed since".to_owned()),
        reason_code: Some(ReasonCode::Changed),
        ..FileReport::new(change.path, FileAction::Keep, FileResult::Conflict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: OperationKind, message: Option<&str>) -> OperationEntry {
        OperationEntry {
            id: "op".to_owned(),
            kind,
            session: Some("s".to_owned()),
            message: message.map(str::to_owned),
            alone: None,
            undoes: None,
            time: 0,
            state: "done".to_owned(),
            outcome: None,
            before: None,
            after: None,
            files: 1,
            conflicts: 0,
            git: false,
            workspace: "/w".to_owned(),
        }
    }

    #[test]
    fn an_operation_is_taken_back_to_where_it_began() {
        let first = PriorState {
            is_unreverted: true,
            ..PriorState::default()
        };
        let from_m2 = PriorState {
            point: Some("m2".to_owned()),
            ..PriorState::default()
        };
        let part = PriorState {
            is_part: true,
            ..from_m2.clone()
        };
        let to_m2 = Reversal::To("m2".to_owned());
        let cases = [
            (
                entry(OperationKind::Revert, Some("m1")),
                &first,
                Reversal::Forward,
            ),
            (
                entry(OperationKind::Revert, Some("m1")),
                &from_m2,
                to_m2.clone(),
            ),
            (
                entry(OperationKind::Unrevert, None),
                &from_m2,
                to_m2.clone(),
            ),
            (entry(OperationKind::Redo, Some("m3")), &from_m2, to_m2),
            (entry(OperationKind::Revert, None), &part, Reversal::Files),
            (entry(OperationKind::Restore, None), &first, Reversal::Files),
        ];
        for (entry, before, expected) in cases {
            assert_eq!(
                way(&entry, before),
                expected,
                "of {entry:?} after {before:?}"
            );
        }
    }
}
