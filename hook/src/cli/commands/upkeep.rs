//! `gc` and `du`: what the store takes of the disk, and making it less.

use ckpt_store::By;

use crate::cli::arguments::{self, DuArguments, GcArguments};
use crate::cli::invocation::Invocation;
use crate::failure::{DONE, Failure};
use crate::output::upkeep;

/// Removes what was not used for long, and packs the rest anew.
pub fn gc(invocation: &Invocation, arguments: &GcArguments) -> Result<u8, Failure> {
    let report = invocation.open()?.gc(arguments.dry_run)?;
    invocation
        .output
        .report(&report, |view| upkeep::gc(&report, view))?;
    Ok(DONE)
}

/// Says what the store takes.
pub fn du(invocation: &Invocation, arguments: &DuArguments) -> Result<u8, Failure> {
    let by = match arguments.by {
        arguments::By::Workspace => By::Workspace,
        arguments::By::Session => By::Session,
        arguments::By::Message => By::Message,
        arguments::By::Age => By::Age,
    };
    let report = invocation.open()?.du(by)?;
    invocation
        .output
        .report(&report, |view| upkeep::du(&report, view))?;
    Ok(DONE)
}
