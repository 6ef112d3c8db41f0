//! `completions` and `man`: made from the command line's own description.

use std::path::Path;

use ckpt_store::error::Context;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::arguments::Arguments;
use crate::cli::invocation::Invocation;
use crate::failure::{DONE, Failure};

/// Prints a shell's completion script.
pub fn completions(invocation: &Invocation, shell: Shell) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "ckpt-hook", &mut script);
    invocation.output.bytes(&script)?;
    Ok(DONE)
}

/// Prints the manual page, or writes a page for every command into a directory.
pub fn manual(invocation: &Invocation, directory: Option<&Path>) -> Result<u8, Failure> {
    // A page has no place for the versions of libraries.
    let command = Arguments::command().version(env!("CARGO_PKG_VERSION"));
    if let Some(directory) = directory {
        std::fs::create_dir_all(directory)
            .context(|| format!("cannot make `{}`", directory.display()))?;
        clap_mangen::generate_to(command, directory)
            .context(|| format!("cannot write manual pages to `{}`", directory.display()))?;
        return Ok(DONE);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .context(|| "cannot make the manual page")?;
    invocation.output.bytes(&page)?;
    Ok(DONE)
}
