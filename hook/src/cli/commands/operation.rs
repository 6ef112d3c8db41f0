//! `revert`, `redo`, `unrevert`, `restore`: the operations, their plans and their outcomes.

use std::path::{Path, PathBuf};

use ckpt_schema::report::OperationReport;
use ckpt_store::model::request::{Force, OnConflict, Unclear};
use ckpt_store::query::LogFilter;
use ckpt_store::{DryRun, RedoRequest, RestoreRequest, RevertRequest, Store};

use super::outcome::{AskedExtent, finish, watched};
use super::parts::{self, ChoiceOptions};
use super::{pick, ui};
use crate::cli::arguments::{
    self, Forward, Planning, RestoreArguments, RevertArguments, UiArguments, UnrevertArguments,
};
use crate::cli::invocation::Invocation;
use crate::failure::Failure;
use crate::surroundings::is_read_by_no_person;

/// Carries out a plan by the token of its dry run.
pub fn apply(invocation: &Invocation, token: &str, force: Force) -> Result<u8, Failure> {
    let mut store = invocation.open()?;
    let report = watched(invocation, &mut store, |store| store.apply(token, force))?;
    finish(invocation, &mut store, &report, AskedExtent::Whole)
}

/// Returns whether a plan includes contents. Only its document has a place for them.
pub fn contents(invocation: &Invocation, planning: &Planning) -> Result<bool, Failure> {
    if planning.contents && !invocation.output.is_json() {
        return Err(Failure::usage(
            "`--contents` is for the document that --json prints",
            "add --json; `-p` shows the hunks on a terminal",
        ));
    }
    Ok(planning.contents)
}

/// Goes back to just before a message. Without one, a terminal shows the browser; with options, a list to choose from.
pub fn revert(invocation: &Invocation, arguments: &RevertArguments) -> Result<u8, Failure> {
    let force = Force::asked(arguments.force);
    if let Some(token) = &arguments.planning.plan {
        return apply(invocation, token, force);
    }
    let message = arguments.id.as_ref().or(arguments.message.as_ref());
    let request = RevertRequest {
        message: message.cloned().unwrap_or_default(),
        alone: arguments.alone,
        step: arguments.step.clone(),
        session: arguments.session.clone(),
        only: absolute(invocation, &arguments.only)?,
        on_conflict: on_conflict(arguments.on_conflict),
        unclear: arguments.unclear.map(unclear),
        dry_run: arguments.planning.dry_run,
        contents: contents(invocation, &arguments.planning)?,
        force,
        git: arguments.git,
    };
    let mut store = invocation.open_to_operate(request.dry_run && !arguments.patch)?;
    let hunks = hunks(arguments.patch, &arguments.planning, force);
    if message.is_none() && request.step.is_none() {
        if invocation.output.can_ask() && !is_read_by_no_person() && is_plain(arguments) {
            let newest = LogFilter {
                limit: Some(1),
                ..LogFilter::default()
            };
            if !store
                .log(&invocation.directory()?, &newest)?
                .messages
                .is_empty()
            {
                return ui::run(invocation, &UiArguments::default());
            }
        }
        return pick::revert(invocation, &mut store, request, hunks);
    }
    let request = RevertRequest {
        dry_run: request.dry_run || arguments.patch,
        ..request
    };
    let extent = AskedExtent::of(request.is_part());
    operate(invocation, &mut store, hunks, extent, |store, directory| {
        store.revert(directory, &request)
    })
}

/// Returns whether the browser has a key for everything that is asked for.
fn is_plain(arguments: &RevertArguments) -> bool {
    arguments.session.is_none()
        && arguments.only.is_empty()
        && arguments.on_conflict == arguments::OnConflictArgument::default()
        && arguments.unclear.is_none()
        && !arguments.alone
        && !arguments.patch
        && !arguments.planning.dry_run
        && !arguments.force
        && !arguments.git
}

/// Goes forward.
pub fn redo(
    invocation: &Invocation,
    arguments: &UnrevertArguments,
    how_far: Forward,
) -> Result<u8, Failure> {
    let force = Force::asked(arguments.force);
    if let Some(token) = &arguments.planning.plan {
        return apply(invocation, token, force);
    }
    let request = RedoRequest {
        session: arguments.session.clone(),
        all: how_far == Forward::AllTheWay,
        on_conflict: arguments.on_conflict.map(on_conflict),
        dry_run: arguments.planning.dry_run || arguments.patch,
        contents: contents(invocation, &arguments.planning)?,
        force,
        git: arguments.git,
    };
    let hunks = hunks(arguments.patch, &arguments.planning, force);
    let mut store = invocation.open_to_operate(arguments.planning.dry_run)?;
    let extent = AskedExtent::Whole;
    operate(invocation, &mut store, hunks, extent, |store, directory| {
        store.redo(directory, &request)
    })
}

/// Puts paths back to a captured state.
pub fn restore(invocation: &Invocation, arguments: &RestoreArguments) -> Result<u8, Failure> {
    let force = Force::asked(arguments.force);
    if let Some(token) = &arguments.planning.plan {
        return apply(invocation, token, force);
    }
    let request = RestoreRequest {
        id: arguments.id.clone().unwrap_or_default(),
        paths: absolute(invocation, &arguments.paths)?,
        dry_run: arguments.planning.dry_run || arguments.patch,
        contents: contents(invocation, &arguments.planning)?,
        force,
        git: arguments.git,
    };
    let hunks = hunks(arguments.patch, &arguments.planning, force);
    let mut store = invocation.open_to_operate(arguments.planning.dry_run)?;
    let extent = AskedExtent::Whole;
    operate(invocation, &mut store, hunks, extent, |store, directory| {
        store.restore(directory, &request)
    })
}

/// Returns how hunks are chosen, if `--patch` asks for that.
fn hunks(patch: bool, planning: &Planning, force: Force) -> Option<ChoiceOptions> {
    patch.then_some(ChoiceOptions {
        dry_run: DryRun::asked(planning.dry_run),
        force,
    })
}

/// Operates on the workspace. With `hunks`, the report is a plan whose hunks the user chooses now. Otherwise it is the
/// outcome.
fn operate(
    invocation: &Invocation,
    store: &mut Store,
    hunks: Option<ChoiceOptions>,
    extent: AskedExtent,
    operation: impl FnOnce(&mut Store, &Path) -> ckpt_store::Result<OperationReport>,
) -> Result<u8, Failure> {
    let directory = invocation.directory()?;
    let report = watched(invocation, store, |store| operation(store, &directory))?;
    match hunks {
        Some(options) => parts::choose(invocation, store, &report, options),
        None => finish(invocation, store, &report, extent),
    }
}

/// Paths are relative to the current directory, even if `--workspace` points elsewhere.
fn absolute(invocation: &Invocation, paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let base = invocation.directory()?;
    Ok(paths.iter().map(|path| base.join(path)).collect())
}

fn unclear(word: arguments::UnclearArgument) -> Unclear {
    match word {
        arguments::UnclearArgument::Keep => Unclear::Keep,
        arguments::UnclearArgument::Take => Unclear::Take,
    }
}

fn on_conflict(word: arguments::OnConflictArgument) -> OnConflict {
    match word {
        arguments::OnConflictArgument::Merge => OnConflict::Merge,
        arguments::OnConflictArgument::Keep => OnConflict::Keep,
        arguments::OnConflictArgument::Overwrite => OnConflict::Overwrite,
    }
}
