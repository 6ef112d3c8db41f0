//! `revert`, `redo`, `unrevert`, `restore`: the operations, their plans and their outcomes.

use std::path::PathBuf;

use ckpt_schema::report::{OperationReport, Outcome};
use ckpt_store::model::request::OnConflict;
use ckpt_store::revert::Before;
use ckpt_store::{RedoRequest, RestoreRequest, RevertRequest, Store};

use super::{Invocation, pick};
use crate::arguments::{self, RestoreArguments, RevertArguments, UnrevertArguments};
use crate::failure::{DONE, Failure, PARTIAL, UNAVAILABLE};
use crate::output::operation::{self, Around};
use crate::output::progress::Line;

/// Goes back to just before a message; on a terminal without one, lets the user choose.
pub fn revert(invocation: &Invocation, arguments: &RevertArguments) -> Result<u8, Failure> {
    let request = RevertRequest {
        message: arguments.message.clone().unwrap_or_default(),
        step: arguments.step.clone(),
        session: arguments.session.clone(),
        only: absolute(invocation, &arguments.only)?,
        on_conflict: on_conflict(arguments.on_conflict),
        dry_run: arguments.dry_run,
        force: arguments.force,
        git: arguments.git,
    };
    if arguments.message.is_none() && arguments.step.is_none() {
        return pick::revert(invocation, request);
    }
    let mut store = invocation.open()?;
    let directory = invocation.directory()?;
    let report = watched(invocation, &mut store, |store| {
        store.revert(&directory, &request)
    })?;
    finish(
        invocation,
        &mut store,
        &report,
        !request.only.is_empty() || request.step.is_some(),
    )
}

/// Goes one message forward, or all the way.
pub fn redo(
    invocation: &Invocation,
    arguments: &UnrevertArguments,
    all: bool,
) -> Result<u8, Failure> {
    let request = RedoRequest {
        session: arguments.session.clone(),
        all,
        on_conflict: on_conflict(arguments.on_conflict),
        dry_run: arguments.dry_run,
        force: arguments.force,
        git: arguments.git,
    };
    let mut store = invocation.open()?;
    let directory = invocation.directory()?;
    let report = watched(invocation, &mut store, |store| {
        store.redo(&directory, &request)
    })?;
    finish(invocation, &mut store, &report, false)
}

/// Puts paths back to a captured state.
pub fn restore(invocation: &Invocation, arguments: &RestoreArguments) -> Result<u8, Failure> {
    let request = RestoreRequest {
        id: arguments.id.clone(),
        paths: absolute(invocation, &arguments.paths)?,
        dry_run: arguments.dry_run,
        force: arguments.force,
        git: arguments.git,
    };
    let mut store = invocation.open()?;
    let directory = invocation.directory()?;
    let report = watched(invocation, &mut store, |store| {
        store.restore(&directory, &request)
    })?;
    finish(invocation, &mut store, &report, false)
}

/// Does something that may take long, with a line that tells how far it is where somebody looks.
pub fn watched<T>(
    invocation: &Invocation,
    store: &mut Store,
    work: impl FnOnce(&mut Store) -> T,
) -> T {
    if !invocation.output.shows_progress() {
        return work(store);
    }
    let line = Line::new();
    let told = line.clone();
    store.watch(Some(Box::new(move |progress| told.operation(progress))));
    let done = work(store);
    store.watch(None);
    line.end();
    done
}

/// Shows what was done, and returns the exit code that says how much of it. `is_part` says that only a part was asked for.
pub fn finish(
    invocation: &Invocation,
    store: &mut Store,
    report: &OperationReport,
    is_part: bool,
) -> Result<u8, Failure> {
    let is_well = matches!(report.outcome, Outcome::Restored | Outcome::Nothing) && !report.dry_run;
    if !(is_well && invocation.output.is_quiet()) {
        let before = report
            .operation
            .as_deref()
            .map(|operation| store.before(operation))
            .transpose()?;
        let before = before.unwrap_or_else(|| Before {
            is_part,
            ..Before::default()
        });
        let around = Around {
            prompt: prompt(invocation, store, report),
            before,
        };
        invocation
            .output
            .report(report, |view| operation::render(report, &around, view))?;
    }
    Ok(match report.outcome {
        Outcome::Restored | Outcome::Nothing => DONE,
        Outcome::Partial => PARTIAL,
        Outcome::Unavailable => UNAVAILABLE,
    })
}

/// Returns what the user wrote in the message that is the revert point; a title is nothing to fail for.
pub fn prompt(
    invocation: &Invocation,
    store: &mut Store,
    report: &OperationReport,
) -> Option<String> {
    let id = report
        .message
        .as_deref()
        .filter(|_| !invocation.output.is_json())?;
    store.prompt(&invocation.directory().ok()?, id).ok()?
}

/// Paths are meant from where the user is, also when `--workspace` points elsewhere.
fn absolute(invocation: &Invocation, paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let base = invocation.directory()?;
    Ok(paths.iter().map(|path| base.join(path)).collect())
}

fn on_conflict(word: arguments::OnConflict) -> OnConflict {
    match word {
        arguments::OnConflict::Merge => OnConflict::Merge,
        arguments::OnConflict::Keep => OnConflict::Keep,
        arguments::OnConflict::Overwrite => OnConflict::Overwrite,
    }
}
