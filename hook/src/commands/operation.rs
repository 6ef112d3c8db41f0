//! `revert`, `redo`, `unrevert`, `restore`: the operations, their plans and their outcomes.

use std::path::PathBuf;

use ckpt_schema::report::{OperationReport, Outcome};
use ckpt_store::revert::OnConflict;
use ckpt_store::{RedoRequest, RestoreRequest, RevertRequest};

use super::{Invocation, pick};
use crate::arguments::{self, RestoreArguments, RevertArguments, UnrevertArguments};
use crate::failure::{DONE, Failure, PARTIAL, UNAVAILABLE};
use crate::output::operation;

/// Goes back to just before a message; on a terminal without one, lets the user choose.
pub fn revert(invocation: &Invocation, arguments: &RevertArguments) -> Result<u8, Failure> {
    let request = RevertRequest {
        message: arguments.message.clone().unwrap_or_default(),
        step: arguments.step.clone(),
        session: arguments.session.clone(),
        only: absolute(invocation, &arguments.only)?,
        on_conflict: on_conflict(arguments.on_conflict),
        git: arguments.git,
        dry_run: arguments.dry_run,
        force: arguments.force,
    };
    if arguments.message.is_none() && arguments.step.is_none() {
        return pick::revert(invocation, request);
    }
    let report = invocation.open()?.revert(&invocation.directory()?, &request)?;
    finish(invocation, &report)
}

/// Goes one message forward, or all the way.
pub fn redo(invocation: &Invocation, arguments: &UnrevertArguments, all: bool) -> Result<u8, Failure> {
    let request = RedoRequest {
        session: arguments.session.clone(),
        all,
        on_conflict: on_conflict(arguments.on_conflict),
        dry_run: arguments.dry_run,
        force: arguments.force,
    };
    let report = invocation.open()?.redo(&invocation.directory()?, &request)?;
    finish(invocation, &report)
}

/// Puts paths back to a captured state.
pub fn restore(invocation: &Invocation, arguments: &RestoreArguments) -> Result<u8, Failure> {
    let request = RestoreRequest {
        id: arguments.id.clone(),
        paths: absolute(invocation, &arguments.paths)?,
        dry_run: arguments.dry_run,
        force: arguments.force,
    };
    let report = invocation.open()?.restore(&invocation.directory()?, &request)?;
    finish(invocation, &report)
}

/// Shows what was done, and returns the exit code that says how much of it.
pub fn finish(invocation: &Invocation, report: &OperationReport) -> Result<u8, Failure> {
    let is_well = matches!(report.outcome, Outcome::Restored | Outcome::Nothing) && !report.dry_run;
    if !(is_well && invocation.output.is_quiet()) {
        invocation.output.report(report, |view| operation::render(report, view))?;
    }
    Ok(match report.outcome {
        Outcome::Restored | Outcome::Nothing => DONE,
        Outcome::Partial => PARTIAL,
        Outcome::Unavailable => UNAVAILABLE,
    })
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
