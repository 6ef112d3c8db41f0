//! Running programs with nothing inherited. This module does IO.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a measurement gives, or why there is none.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Returns a command that inherits nothing but where programs are, with a home directory that holds nothing.
pub fn command(program: impl AsRef<OsStr>, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(directory)
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| name == "PATH"));
    command
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    for role in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{role}_NAME"), "a")
            .env(format!("GIT_{role}_EMAIL"), "a@example.org");
        command.env(format!("GIT_{role}_DATE"), "2026-01-01T00:00:00Z");
    }
    command
}

/// Runs a command to its end with this on its stdin and returns what it printed; fails where it does.
pub fn run(command: &mut Command, stdin: &[u8]) -> Result<String> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut pipe) = child.stdin.take() {
        std::io::Write::write_all(&mut pipe, stdin)?;
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err(format!(
            "{command:?}: {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )
        .into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Runs git in a directory and returns what it printed.
pub fn git(directory: &Path, arguments: &[&str]) -> Result<String> {
    run(
        command("git", directory)
            .args(["-c", "gc.auto=0"])
            .args(arguments),
        b"",
    )
}
