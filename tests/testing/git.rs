//! The real git: a user who has a name and no settings, no matter who runs the tests.

use std::path::Path;
use std::process::{Command, Output};

/// Returns git in a directory, not yet started: it inherits nothing, and its user is the same everywhere.
pub fn command(directory: &Path, home: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(directory)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", home)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .args(["-c", "user.name=T", "-c", "user.email=t@example.org"])
        .args(["-c", "commit.gpgSign=false"]);
    command
}

/// Runs git to its end, whether it ends well or not.
pub fn output(command: &mut Command) -> Output {
    command.output().expect("git is there for the tests")
}

/// Runs git to its good end; returns the bytes that it printed.
#[track_caller]
pub fn bytes(command: &mut Command) -> Vec<u8> {
    let output = output(command);
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// Runs git to its good end; returns what it printed as text, without the last line's end.
#[track_caller]
pub fn text(command: &mut Command) -> String {
    String::from_utf8_lossy(&bytes(command))
        .trim_end()
        .to_owned()
}
