//! `branch`: a recorded state in a new directory, or in a git work tree on a new branch.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ckpt_store::checkout::RecordedState;
use ckpt_store::error::Context;
use ckpt_store::{Error, Store};

use crate::cli::arguments::BranchArguments;
use ckpt_command::invocation::Invocation;
use ckpt_output::checkout;
use ckpt_output::text::safe;
use ckpt_process::failure::{DONE, Failure};
use ckpt_process::programs;

/// Lays the state out, and says where.
pub fn run(invocation: &Invocation, arguments: &BranchArguments) -> Result<u8, Failure> {
    let directory = invocation.directory()?;
    let store = invocation.open()?;
    let asked = directory.join(&arguments.directory);
    let (state, path) = store.recorded(&directory, &arguments.id, &asked)?;
    let tree = match arguments.worktree {
        true => Some(work_tree(&store, &state, &path)?),
        false => None,
    };
    let mut report = store.lay_out(&state, &path)?;
    (report.branch, report.commit) = tree.unzip();
    report.conversation = store.fork_beside(&directory, &arguments.id, &path)?;
    invocation
        .output
        .report(&report, |view| checkout::branch(&report, view))?;
    Ok(DONE)
}

/// Makes a git work tree without files, on a new branch, and returns the names of the branch and its commit.
fn work_tree(
    store: &Store,
    state: &RecordedState,
    path: &Path,
) -> Result<(String, String), Failure> {
    let Some(commit) = &state.commit else {
        let what = "no commit was checked out in that state, so no branch can begin there";
        let hint = "leave out `--worktree` to get the files alone";
        return Err(Error::unavailable(what).hint(hint).into());
    };
    let branch = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let add = ["worktree", "add", "--no-checkout", "-b", branch, "--"].map(OsStr::new);
    let add = add
        .into_iter()
        .chain([path.as_os_str(), OsStr::new(commit)]);
    let hooks = store.git_hooks(state)?;
    // Git would make it for everybody whom the umask lets in.
    let is_new = !path.exists();
    state.make(path)?;
    let added = git(&hooks, &state.root, add);
    if added.is_err() && is_new {
        // If something came into it meanwhile, it stays.
        let _ = std::fs::remove_dir(path);
    }
    added?;
    // The index is that commit's. No file is read for that, so no filter runs.
    git(&hooks, path, ["read-tree", commit].map(OsStr::new))?;
    Ok((branch.to_owned(), commit.clone()))
}

/// Runs git in a repository that may be a clone's: without its hooks, its monitor, what else its configuration would have
/// git open, and what a partial clone would fetch.
fn git<'a>(
    hooks: &[Vec<u8>],
    repository: &Path,
    arguments: impl IntoIterator<Item = &'a OsStr>,
) -> Result<(), Failure> {
    let mut git = programs::git();
    git.env_remove("GIT_DIR").env("GIT_NO_LAZY_FETCH", "1");
    git.env("GIT_ALLOW_PROTOCOL", "none")
        .arg("-C")
        .arg(repository);
    // The repository is the one that was looked at: neither one above, nor the directory itself.
    if let Some(above) = repository.parent() {
        git.env("GIT_CEILING_DIRECTORIES", above);
    }
    for value in [
        "core.hooksPath=/dev/null",
        "core.fsmonitor=false",
        "core.attributesFile=",
        "core.excludesFile=",
        "safe.bareRepository=explicit",
    ] {
        git.args(["-c", value]);
    }
    git.env("GIT_CONFIG_COUNT", hooks.len().to_string());
    for (number, hook) in hooks.iter().enumerate() {
        let key = [&b"hook."[..], hook, b".enabled"].concat();
        git.env(format!("GIT_CONFIG_KEY_{number}"), OsStr::from_bytes(&key));
        git.env(format!("GIT_CONFIG_VALUE_{number}"), "false");
    }
    let done = git
        .args(arguments)
        .output()
        .context(|| "cannot start git")?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let said = said.trim().trim_start_matches("fatal: ");
    Err(Error::failed(format!("git makes no work tree: {}", safe(said))).into())
}
