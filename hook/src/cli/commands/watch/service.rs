//! The watcher as a service of the user, which systemd starts. This module does IO.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use ckpt_store::error::Context;
use ckpt_store::{Error, Result};

use super::unit;
use crate::agents::settings::file;
use crate::cli::invocation::Invocation;
use crate::failure::Failure;

/// What to do without a systemd user instance.
const WITHOUT: &str =
    "`ckpt-hook watch &` starts a watcher that ends after half an hour without hooks";

/// Writes the unit and starts it.
///
/// # Errors
///
/// If systemd does not run for this user, nothing is written. A unit of this name that we did not write stays as it is.
pub fn install(invocation: &Invocation) -> std::result::Result<(), Failure> {
    let path = path(invocation)?;
    let old = ours(&path)?;
    let program = std::env::current_exe().context(|| "cannot find the path of this program")?;
    let store = invocation.store_directory()?;
    let [program, store] = [&program, &store].map(|path| {
        path.to_str().ok_or_else(|| {
            Error::failed(format!(
                "systemd cannot run it: `{}` is not UTF-8",
                path.display()
            ))
        })
    });
    let text = unit::text(&[program?, "--store", store?, "watch"]);
    // A harmless question: where no systemd of the user answers, no unit is left behind.
    systemctl(&["show-environment"])?;
    file::replace(&path, old.as_deref(), &text, 0o644)?;
    let started = systemctl(&["daemon-reload"])
        .and_then(|()| systemctl(&["enable", unit::NAME]))
        // A program of another version, or at another path, takes the place of the one that runs.
        .and_then(|()| systemctl(&["restart", unit::NAME]));
    if let Err(error) = started {
        put_back(&path, old.as_deref(), &text)?;
        return Err(error.into());
    }
    invocation.output.text(&format!(
        "The watcher runs, and starts whenever you log in.\n\
         Its unit is {}; `ckpt-hook watch --uninstall` removes it.\n",
        path.display()
    ))
}

/// Stops the service and removes its unit.
///
/// # Errors
///
/// A unit of this name that we did not write stays as it is.
pub fn uninstall(invocation: &Invocation) -> std::result::Result<(), Failure> {
    let path = path(invocation)?;
    let Some(text) = ours(&path)? else {
        return invocation
            .output
            .text("The watcher is not installed: nothing to remove.\n");
    };
    // If systemd does not run, neither does the service; its link is in a folder beside the unit.
    let stopped = systemctl(&["disable", "--now", unit::NAME]);
    // Only now: systemd does not disable a unit whose file is missing.
    file::remove(&path, Some(&text))?;
    let link = path.with_file_name("default.target.wants").join(unit::NAME);
    let is_left = stopped.is_err() && link.symlink_metadata().is_ok();
    if is_left {
        std::fs::remove_file(&link).context(|| format!("cannot remove `{}`", link.display()))?;
    }
    if stopped.is_ok() {
        systemctl(&["daemon-reload"])?;
    }
    invocation
        .output
        .text("The watcher is stopped and no longer starts by itself.\n")
}

/// Returns where the unit is (systemd.unit(5), the user's own folder).
fn path(invocation: &Invocation) -> Result<PathBuf> {
    let surroundings = &invocation.surroundings;
    let config = surroundings.config_home.clone().or_else(|| {
        let home = surroundings.home.as_ref()?;
        Some(home.join(".config"))
    });
    let config = config.ok_or_else(|| {
        Error::failed("the home directory is unknown")
            .hint("set $HOME to where systemd's units are")
    })?;
    Ok(config.join("systemd/user").join(unit::NAME))
}

/// Returns the text of our unit, or `None` if there is no unit.
fn ours(path: &std::path::Path) -> Result<Option<String>> {
    let text = file::read(path)?;
    match &text {
        Some(text) if !unit::is_ours(text) => Err(Error::failed(format!(
            "`{}` was not written by ckpt-hook",
            path.display()
        ))
        .hint("move it away, or use it: it stays as it is")),
        _ => Ok(text),
    }
}

fn put_back(path: &std::path::Path, old: Option<&str>, new: &str) -> Result<()> {
    match old {
        Some(old) => file::replace(path, Some(new), old, 0o644),
        None => file::remove(path, Some(new)),
    }
}

/// Calls the user's systemd.
fn systemctl(arguments: &[&str]) -> Result<()> {
    let output = Command::new("systemctl")
        .arg("--user")
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    let said = match output {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    let asked = arguments.join(" ");
    Err(Error::failed(format!("`systemctl --user {asked}` failed: {said}")).hint(WITHOUT))
}
