//! `diff`: what differs between two states, as a summary, as names, or line by line.

use std::path::Path;

use ckpt_schema::report::{ChangeReport, DiffReport};
use ckpt_store::Store;
use ckpt_store::query::DiffRequest;

use crate::cli::arguments::DiffArguments;
use crate::cli::invocation::Invocation;
use crate::failure::{DONE, Failure};
use crate::output::diff::{self, Sides};

/// No side larger than this, in bytes, is shown line by line.
const LARGEST_SIDE: usize = 16 << 20;

/// Shows what differs.
pub fn run(invocation: &Invocation, arguments: &DiffArguments) -> Result<u8, Failure> {
    let directory = invocation.directory()?;
    let request = DiffRequest {
        from: arguments.from.clone(),
        to: arguments.to.clone(),
        paths: arguments
            .paths
            .iter()
            .map(|path| directory.join(path))
            .collect(),
    };
    let mut store = invocation.open()?;
    let report = store.diff(&directory, &request)?;
    let output = &invocation.output;
    if output.is_json() || arguments.stat {
        output.report(&report, |view| diff::stat(&report, view))?;
    } else if arguments.name_only {
        output.bytes(diff::names(&report).as_bytes())?;
    } else {
        hunks(invocation, &mut store, &directory, &report)?;
    }
    Ok(DONE)
}

/// File by file, so that a large diff needs no large memory.
fn hunks(
    invocation: &Invocation,
    store: &mut Store,
    directory: &Path,
    report: &DiffReport,
) -> Result<(), Failure> {
    for change in &report.files {
        let sides = sides(store, directory, change)?;
        invocation
            .output
            .bytes(&diff::file(change, &sides, invocation.output.view()))?;
    }
    Ok(())
}

fn sides(store: &mut Store, directory: &Path, change: &ChangeReport) -> Result<Sides, Failure> {
    let is_missing = |blob: &Option<String>, mode: &Option<String>| {
        blob.is_none() && mode.is_some() && !diff::is_directory(mode.as_deref())
    };
    if is_missing(&change.old_blob, &change.old_mode)
        || is_missing(&change.new_blob, &change.new_mode)
    {
        return Ok(Sides::Missing);
    }
    if change.old_blob == change.new_blob && diff::is_of_one_kind(change) {
        return Ok(Sides::Equal);
    }
    let mut side = |blob: &Option<String>, mode: &Option<String>| match blob {
        Some(blob) if !diff::is_directory(mode.as_deref()) => store.blob(directory, blob),
        _ => Ok(Vec::new()),
    };
    let old = side(&change.old_blob, &change.old_mode)?;
    let new = side(&change.new_blob, &change.new_mode)?;
    let why = if change.binary {
        Some("Binary files differ")
    } else if old.len().max(new.len()) > LARGEST_SIDE {
        Some("The file is too large to be shown line by line")
    } else {
        None
    };
    if let Some(why) = why {
        return Ok(Sides::Bytes { old, new, why });
    }
    Ok(Sides::Text { old, new })
}
