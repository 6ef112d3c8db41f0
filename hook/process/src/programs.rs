//! Programs that are started by name, and command lines that a person configured.
//!
//! No repository decides what runs: programs are found in absolute folders, start outside every workspace, and git is
//! asked without a repository. `SECURITY.md` lists them all.

use std::ffi::OsStr;
use std::process::Command;

use crate::surroundings;

/// Returns a command that starts in `/`, because many programs take settings from the folder in which they start. Its
/// name, and the names of what it starts, are looked up in the absolute folders of `$PATH` alone: any other is a folder
/// of wherever a person stands.
pub fn named(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/");
    if let Some(path) = surroundings::search_path() {
        command.env("PATH", path);
    }
    command
}

/// Returns a shell that runs a command line with arguments, as git runs an editor: the line may have its own.
pub fn line<S: AsRef<OsStr>>(line: &OsStr, arguments: impl IntoIterator<Item = S>) -> Command {
    let mut whole = line.to_owned();
    whole.push(" \"$@\"");
    let mut command = named("sh");
    command.arg("-c").arg(whole).arg(line).args(arguments);
    command
}

/// Returns git, which finds no repository and reads the configuration of the user and of the system alone.
pub fn git() -> Command {
    let mut git = named("git");
    for variable in surroundings::git_variables() {
        git.env_remove(variable);
    }
    // While it is set, git looks for no repository, wherever it starts.
    git.env("GIT_DIR", "/dev/null");
    git
}
