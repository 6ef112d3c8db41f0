//! What an operation shows: its progress, and then its outcome.

use std::path::{Path, PathBuf};

use ckpt_output::data;
use ckpt_output::operation::{self, Around};
use ckpt_output::progress::{ProgressLine, document};
use ckpt_output::write_line;
use ckpt_process::failure::{BUSY, DONE, Failure, PARTIAL, UNAVAILABLE};
use ckpt_schema::report::{OperationEntry, OperationKind, OperationReport, Outcome};
use ckpt_store::Store;
use ckpt_store::revert::PriorState;

use crate::invocation::Invocation;
use crate::operation::{AskedExtent, OperationResult};
use crate::pager::paged;

/// Runs something that may take long, with a progress line on a terminal.
pub fn watched<T>(
    invocation: &Invocation,
    store: &mut Store,
    work: impl FnOnce(&mut Store) -> T,
) -> T {
    if invocation.output.tells_progress() {
        // Do not stop in the middle because the output was closed.
        store.watch(Some(Box::new(|progress| {
            let _ = write_line(&document(progress));
        })));
        let done = work(store);
        store.watch(None);
        return done;
    }
    if !invocation.output.shows_progress() {
        return work(store);
    }
    let line = ProgressLine::start();
    let told = line.clone();
    store.watch(Some(Box::new(move |progress| told.operation(progress))));
    let done = work(store);
    store.watch(None);
    line.end();
    done
}

/// Shows what was done, and returns the exit code that says how much of it.
pub fn finish(
    invocation: &Invocation,
    store: &mut Store,
    done: &OperationResult,
) -> Result<u8, Failure> {
    let report = &done.report;
    #[cfg(debug_assertions)]
    ckpt_process::fault::strike();
    let guarded = data::is_read_by_model().then(|| data::guarded(report));
    let report = guarded.as_ref().and_then(Option::as_ref).unwrap_or(report);
    let is_well = matches!(report.outcome, Outcome::Restored | Outcome::Nothing) && !report.dry_run;
    if !(is_well && invocation.output.is_quiet()) {
        let directory = match invocation.output.is_json() {
            true => None,
            false => Some(invocation.directory()?),
        };
        let around = around(store, directory.as_deref(), done);
        paged(invocation, report, |view| {
            operation::render(report, &around, view)
        })
        .map_err(|failure| failure.after(carried_out(report)))?;
    }
    Ok(code(report))
}

/// Returns whether a plan without files would move the revert point: then there is something to do.
pub fn moves_point(store: &mut Store, directory: &Path, report: &OperationReport) -> bool {
    let is_asked = report.dry_run && report.outcome == Outcome::Nothing;
    let Some(session) = report.session.as_deref().filter(|_| is_asked) else {
        return false;
    };
    let is_forward = matches!(report.kind, OperationKind::Redo | OperationKind::Unrevert);
    let now = store.status(directory, Some(session));
    now.is_ok_and(|now| now.revert_point != report.message || is_forward && now.redo)
}

/// Returns the exit code that says how much was done.
pub fn code(report: &OperationReport) -> u8 {
    if report.busy {
        return BUSY;
    }
    match report.outcome {
        Outcome::Restored | Outcome::Nothing => DONE,
        Outcome::Partial => PARTIAL,
        Outcome::Unavailable => UNAVAILABLE,
    }
}

/// An outcome that cannot be shown was carried out all the same.
pub fn carried_out(report: &OperationReport) -> Option<String> {
    let id = report.operation.as_deref()?;
    Some(format!(
        "the {} was carried out: `ckpt-hook show {}` shows what happened to each file",
        report.kind.name(),
        id.get(..8).unwrap_or(id)
    ))
}

/// Returns the message that an outcome names: the one that the operation, or the one that it takes back, is about.
fn titled<'a>(report: &'a OperationReport, undoes: Option<&'a OperationEntry>) -> Option<&'a str> {
    match undoes {
        Some(undone) => undone.subject(),
        None => report.subject(),
    }
}

/// What an outcome says besides its report. Without a directory, it has no title. The operation is done, so nothing fails
/// because its way back or its title is unknown.
pub fn around(store: &mut Store, directory: Option<&Path>, done: &OperationResult) -> Around {
    let report = &done.report;
    let gone = directory.map(gone).unwrap_or_default();
    let directory = directory.and_then(|directory| directory.ancestors().nth(gone));
    let id = titled(report, done.undoes.as_ref().map(|it| &it.operation)).zip(directory);
    let operation = report.operation.as_deref();
    let before = operation.and_then(|operation| store.before(operation).ok());
    let plan = around_plan(None, done.extent, false);
    let is_of_point = done.undoes.is_some() || !done.extent.is_part();
    Around {
        moves_point: is_of_point
            && directory.is_some_and(|directory| moves_point(store, directory, report)),
        prompt: id.and_then(|(id, directory)| store.prompt(directory, id).ok().flatten()),
        before: before.unwrap_or(plan.before),
        undoes: done.undoes.clone(),
        below: directory
            .and_then(|directory| below(store, directory))
            .unwrap_or_default(),
        keys: None,
        gone,
    }
}

/// Returns how many directories up from one the nearest is that is still there.
fn gone(directory: &Path) -> usize {
    let mut all = directory.ancestors();
    all.position(Path::is_dir).unwrap_or_default()
}

/// Returns a directory from its workspace's on.
fn below(store: &Store, directory: &Path) -> Option<PathBuf> {
    let directory = directory.canonicalize().ok()?;
    let root = store.root(&directory).ok()?;
    directory.strip_prefix(&root).ok().map(Path::to_owned)
}

/// What a plan says besides its report.
pub fn around_plan(prompt: Option<String>, extent: AskedExtent, moves_point: bool) -> Around {
    Around {
        prompt,
        before: PriorState {
            is_part: extent.is_part(),
            ..PriorState::default()
        },
        undoes: None,
        moves_point,
        below: PathBuf::new(),
        keys: None,
        gone: 0,
    }
}
