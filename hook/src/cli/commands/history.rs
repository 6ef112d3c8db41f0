//! `log`, `show`, `sessions`: what was recorded.

use ckpt_store::query::LogFilter;

use crate::cli::arguments::{LogArguments, SessionsArguments, ShowArguments};
use crate::cli::invocation::Invocation;
use crate::failure::{DONE, Failure};
use crate::output::history;

/// Lists messages, or operations.
pub fn log(invocation: &Invocation, arguments: &LogArguments) -> Result<u8, Failure> {
    let mut store = invocation.open()?;
    let directory = invocation.directory()?;
    if arguments.operations {
        let report = store.operations(&directory)?;
        invocation
            .output
            .report(&report, |view| history::operations(&report, view))?;
        return Ok(DONE);
    }
    let filter = LogFilter {
        session: arguments.session.clone(),
        limit: arguments.limit,
        everywhere: arguments.everywhere,
    };
    let report = store.log(&directory, &filter)?;
    invocation
        .output
        .report(&report, |view| history::log(&report, view))?;
    Ok(DONE)
}

/// Shows whatever an id is of.
pub fn show(invocation: &Invocation, arguments: &ShowArguments) -> Result<u8, Failure> {
    let report = invocation
        .open()?
        .show(&invocation.directory()?, &arguments.id)?;
    invocation
        .output
        .report(&report, |view| history::show(&report, view))?;
    Ok(DONE)
}

/// Lists sessions.
pub fn sessions(invocation: &Invocation, arguments: &SessionsArguments) -> Result<u8, Failure> {
    let directory = if arguments.everywhere {
        None
    } else {
        Some(invocation.directory()?)
    };
    let report = invocation.open()?.sessions(directory.as_deref())?;
    invocation
        .output
        .report(&report, |view| history::sessions(&report, view))?;
    Ok(DONE)
}
