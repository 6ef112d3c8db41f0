//! `recover`: files that are gone.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ckpt_command::invocation::Invocation;
use ckpt_command::operation::{AskedExtent, OperationResult};
use ckpt_command::outcome::{carried_out, finish, watched};
use ckpt_command::pager::paged;
use ckpt_output::recover;
use ckpt_output::text::{bytes, path};
use ckpt_process::failure::{DONE, Failure};
use ckpt_schema::report::{GoneReport, OperationReport, RecoverReport};
use ckpt_store::{DryRun, Error, Force};

use super::ask;
use crate::cli::arguments::RecoverArguments;

/// Lists what is gone, or puts it back.
pub fn run(invocation: &Invocation, arguments: &RecoverArguments) -> Result<u8, Failure> {
    let directory = invocation.directory()?;
    let mut store = invocation.open_to_operate(arguments.dry_run)?;
    let Some(named) = &arguments.path else {
        let report = store.gone(&directory, &[])?;
        return paged(invocation, &report, |view| recover::list(&report, view));
    };
    let mut named = directory.join(named);
    let found = store.gone(&directory, std::slice::from_ref(&named))?;
    let found = in_one_list(found);
    if found.is_empty() {
        return Err(nothing(&named).into());
    }
    if is_by_name(&found, &named) {
        let Some(chosen) = choose(invocation, &found)? else {
            return Ok(DONE);
        };
        named = root(invocation, &mut store)?.join(chosen);
    }
    let named = [named];
    let dry_run = DryRun::asked(arguments.dry_run);
    let force = Force::asked(arguments.force);
    let report = watched(invocation, &mut store, |store| {
        store.recover(&directory, &named, dry_run, force)
    })?;
    let done = report.operation.as_ref().and_then(carried_out);
    let done = done.as_deref();
    let output = &invocation.output;
    if output.is_json() {
        output.report_done(&report, done, |_| String::new())?;
        return Ok(report.operation.as_ref().map_or(DONE, code));
    }
    if !output.is_quiet() {
        let list = format!("{}\n", recover::rows(&report, output.view()));
        let done = done.map(str::to_owned);
        output.text(&list).map_err(|failure| failure.after(done))?;
    }
    match report.operation {
        Some(operation) => {
            let done = OperationResult::of(operation, AskedExtent::Part);
            finish(invocation, &mut store, &done)
        }
        None => Ok(DONE),
    }
}

fn code(operation: &OperationReport) -> u8 {
    ckpt_command::outcome::code(operation)
}

fn nothing(named: &Path) -> Error {
    let name = named.display().to_string();
    let name = name.escape_debug();
    if named.symlink_metadata().is_ok() {
        return Error::unavailable(format!("`{name}` is there, and nothing below it is gone"))
            .hint("`ckpt-hook cat ID:PATH` shows an older version, `ckpt-hook restore ID PATH` puts it back");
    }
    Error::unavailable(format!(
        "nothing that is gone was captured at `{name}`, or under that name"
    ))
    .hint("`ckpt-hook recover --deleted` lists all files that are gone")
}

/// Several files match only by name, and the user has to choose one.
fn is_by_name(found: &[GoneReport], named: &Path) -> bool {
    let named = named.file_name().map(OsStr::as_encoded_bytes);
    let has_name =
        |gone: &GoneReport| bytes(&gone.path).rsplit(|byte| *byte == b'/').next() == named;
    found.len() > 1 && found.iter().all(has_name)
}

/// Returns the files of all roots: those of others by their full paths.
fn in_one_list(found: RecoverReport) -> Vec<GoneReport> {
    let others = found.roots.into_iter().flat_map(|root| {
        root.files.into_iter().map(move |gone| GoneReport {
            path: gone.path.below(&root.workspace),
            ..gone
        })
    });
    found.files.into_iter().chain(others).collect()
}

fn choose(invocation: &Invocation, found: &[GoneReport]) -> Result<Option<PathBuf>, Failure> {
    let view = invocation.output.view();
    if !invocation.output.can_ask() {
        let names: Vec<String> = found
            .iter()
            .map(|gone| format!("`{}`", path(&gone.path)))
            .collect();
        return Err(Error::unavailable(format!(
            "several files of that name are gone: {}",
            names.join(", ")
        ))
        .hint("give the full path of one of them")
        .into());
    }
    let lines: Vec<String> = found.iter().map(|gone| recover::line(gone, view)).collect();
    let chosen = ask::choose("Put back (Esc to leave):", &lines).map_err(ask::unanswered)?;
    Ok(chosen.map(|index| path_of(&found[index])))
}

fn path_of(gone: &GoneReport) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(bytes(&gone.path)).into()
}

/// Paths of reports are below the workspace, wherever the user is.
fn root(invocation: &Invocation, store: &mut ckpt_store::Store) -> Result<PathBuf, Failure> {
    let directory = invocation.directory()?;
    Ok(store.status(&directory, None)?.workspace.into())
}
