//! The watcher as a service of the user, which the system starts at login. This module does IO.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use ckpt_store::{Error, Result};

use super::{launchd, systemd};
use crate::agents::settings::file;
use crate::cli::invocation::Invocation;
use crate::failure::Failure;
use crate::process::programs;
use crate::surroundings::{self, Environment};

/// What to do if no service can be started.
const WITHOUT: &str =
    "`ckpt-hook watch &` starts a watcher that ends after half an hour without hooks";

/// What starts services when their user logs in.
pub trait ServiceManager {
    /// Its name.
    fn name(&self) -> &'static str;

    /// What it calls the file that describes a service.
    fn description(&self) -> &'static str;

    /// Returns where that file is. `None` if the home directory is unknown.
    fn path(&self, surroundings: &Environment) -> Option<PathBuf>;

    /// Returns the description of a service that runs a command, and starts it again whenever it has ended: a watcher
    /// ends when no hook asked for half an hour, and frees all its memory; the next one uses almost none until a hook
    /// asks.
    fn text(&self, command: &[&str]) -> String;

    /// Returns whether a description is of our making.
    fn is_ours(&self, text: &str) -> bool;

    /// Fails if it does not run for this user. A harmless question.
    fn check(&self) -> Result<()>;

    /// Starts the service that a file describes, now and at every login. One that runs is stopped first: it may be of
    /// another version, or at another path.
    fn start(&self, path: &Path) -> Result<()>;

    /// Stops the service, now and at every login.
    fn stop(&self) -> Result<()>;

    /// Forgets the service of a file that is removed by now. `is_stopped` says whether stopping it succeeded.
    fn forget(&self, path: &Path, is_stopped: bool) -> Result<()>;
}

/// The manager of this system.
const HERE: &dyn ServiceManager = if cfg!(any(target_os = "macos", ckpt_portable)) {
    &launchd::Launchd
} else {
    &systemd::Systemd
};

/// Describes the service to the system's manager and starts it.
///
/// # Errors
///
/// If the manager does not run for this user, nothing is written. A file of this name that we did not write stays as it
/// is.
pub fn install(invocation: &Invocation) -> std::result::Result<(), Failure> {
    let path = path(invocation)?;
    let old = ours(&path)?;
    let program = surroundings::program()?;
    let store = invocation.store_directory()?;
    let [program, store] = [&program, &store].map(|path| word(path));
    let text = HERE.text(&[program?, "--store", store?, "watch"]);
    HERE.check()?;
    file::replace(&path, old.as_deref(), &text, 0o644)?;
    if let Err(error) = HERE.start(&path) {
        put_back(&path, old.as_deref(), &text)?;
        return Err(error.into());
    }
    invocation.output.text(&format!(
        "The watcher runs, and starts whenever you log in.\n\
         Its {} is {}; `ckpt-hook watch --uninstall` removes it.\n",
        HERE.description(),
        path.display()
    ))
}

/// Stops the service and removes its description.
///
/// # Errors
///
/// A file of this name that we did not write stays as it is.
pub fn uninstall(invocation: &Invocation) -> std::result::Result<(), Failure> {
    let path = path(invocation)?;
    let Some(text) = ours(&path)? else {
        return invocation
            .output
            .text("The watcher is not installed: nothing to remove.\n");
    };
    // If the manager does not run, neither does the service.
    let is_stopped = HERE.stop().is_ok();
    // Only now: the manager stops no service whose file is missing.
    file::remove(&path, Some(&text))?;
    HERE.forget(&path, is_stopped)?;
    invocation
        .output
        .text("The watcher is stopped and no longer starts by itself.\n")
}

fn path(invocation: &Invocation) -> Result<PathBuf> {
    HERE.path(&invocation.surroundings).ok_or_else(|| {
        Error::failed("the home directory is unknown").hint(format!(
            "set $HOME to where the files of {} are",
            HERE.name()
        ))
    })
}

/// Returns the path as a word of a command line.
fn word(path: &Path) -> Result<&str> {
    let word = path
        .to_str()
        .filter(|word| !word.contains(char::is_control));
    word.ok_or_else(|| {
        Error::failed(format!(
            "{} cannot run it: `{}` is not UTF-8, or has control characters",
            HERE.name(),
            path.display()
        ))
    })
}

/// Returns our description of the service, or `None` if there is none.
fn ours(path: &Path) -> Result<Option<String>> {
    let text = file::read(path)?;
    match &text {
        Some(text) if !HERE.is_ours(text) => Err(Error::failed(format!(
            "`{}` was not written by ckpt-hook",
            path.display()
        ))
        .hint("move it away, or use it: it stays as it is")),
        _ => Ok(text),
    }
}

fn put_back(path: &Path, old: Option<&str>, new: &str) -> Result<()> {
    match old {
        Some(old) => file::replace(path, Some(new), old, 0o644),
        None => file::remove(path, Some(new)),
    }
}

/// Calls the manager's program, and returns what went wrong as it says it.
pub(super) fn ask(program: &str, arguments: &[&str]) -> Result<()> {
    let output = programs::named(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    let said = match output {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    let asked = arguments.join(" ");
    Err(Error::failed(format!("`{program} {asked}` failed: {said}")).hint(WITHOUT))
}
