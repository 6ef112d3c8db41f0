//! `undo`: takes back the last operation of this workspace, whatever it was. It is an operation itself, so that it can
//! be taken back as well.

use std::path::Path;

use ckpt_schema::report::{OperationEntry, OperationReport};
use ckpt_store::query::LogFilter;
use ckpt_store::{DryRun, Error, Force, Store, UndoRequest};

use super::operation;
use super::outcome::{AskedExtent, finish_undo, watched};
use super::parts::{self, ChoiceOptions};
use crate::cli::arguments::UndoArguments;
use crate::cli::invocation::Invocation;
use crate::failure::Failure;

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
    let force = Force::asked(arguments.force);
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
    let of = last(store, directory)?;
    let request = UndoRequest {
        operation: of.id.clone(),
        dry_run: asked.dry_run,
        contents: asked.contents,
        force: asked.force,
    };
    let report = store.undo(directory, &request)?;
    let is_part = store.before(&of.id)?.is_part;
    Ok(UndoOutcome {
        report,
        extent: AskedExtent::of(is_part),
        of,
    })
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
