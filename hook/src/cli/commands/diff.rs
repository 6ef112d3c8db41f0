//! `diff`: what differs between two states.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use ckpt_schema::report::{ChangeReport, DiffReport};
use ckpt_store::error::Context;
use ckpt_store::query::DiffRequest;
use ckpt_store::{Error, Store};

use super::changes::ChangesView;
use crate::cli::arguments::DiffArguments;
use crate::cli::invocation::Invocation;
use crate::cli::pager::{Pages, git_value};
use crate::failure::{DONE, Failure};
use crate::output::html::Top;
use crate::output::patch::{self, FileSides};
use crate::output::{diff, text};
use crate::surroundings;

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
    let wants_page = arguments.changes.html.is_some();
    if !output.is_json() || wants_page {
        show(invocation, &mut store, &directory, arguments, &report)?;
    }
    if output.is_json() {
        output.report(&report, |_| String::new())?;
    }
    Ok(DONE)
}

fn show(
    invocation: &Invocation,
    store: &mut Store,
    directory: &Path,
    arguments: &DiffArguments,
    report: &DiffReport,
) -> Result<(), Failure> {
    let (files, view) = (&report.files, invocation.output.view());
    let blobs = store.blobs(directory)?;
    let changes = ChangesView {
        invocation,
        blobs: &blobs,
        arguments: &arguments.changes,
    };
    if arguments.tool {
        return tool(&changes, files);
    }
    let heading = diff::heading(report, view);
    if let Some(to) = &arguments.changes.html {
        let plain = crate::output::View {
            paint: crate::output::paint::Paint::PLAIN,
            ..*view
        };
        let top = Top {
            title: diff::heading(report, &plain).trim_end().to_owned(),
            facts: Vec::new(),
        };
        return changes.page(&top, files, to);
    }
    let mut pages = match arguments.changes.stat || changes.are_names() {
        true => Pages::new(invocation),
        false => Pages::of_patch(invocation),
    };
    if changes.are_names() {
        changes.names(files, &mut pages)?;
    } else if arguments.changes.stat {
        pages.text(&(heading + &diff::stat(files, view)))?;
    } else {
        // A program would read it as a part of the patch.
        if view.width.is_some() {
            pages.text(&heading)?;
        }
        if files.is_empty() && view.width.is_some() {
            pages.text(diff::NOTHING)?;
        }
        changes.patch(files, &mut pages)?;
    }
    pages.end()
}

/// Opens the user's diff tool on both sides, in temporary directories that are removed afterwards.
fn tool(changes: &ChangesView<'_>, files: &[ChangeReport]) -> Result<(), Failure> {
    let folder = tempfile::tempdir().context(|| "cannot create a temporary directory")?;
    let (old, new) = (folder.path().join("before"), folder.path().join("after"));
    for side in [&old, &new] {
        std::fs::create_dir(side).context(|| format!("cannot create `{}`", side.display()))?;
    }
    let mut number = 0_u64;
    for change in diff::shown(files) {
        let whole = patch::rename(change, files).unwrap_or_else(|| change.clone());
        let (before, after) = match changes.sides(&whole)? {
            FileSides::Text { old, new } | FileSides::Bytes { old, new, .. } => (old, new),
            FileSides::Equal | FileSides::Missing => continue,
        };
        number += 1;
        let name = text::bytes(&whole.path);
        put(&old, &name, whole.old_mode.is_some().then_some(before))?;
        put(&new, &name, whole.new_mode.is_some().then_some(after))?;
    }
    if number == 0 {
        return changes.invocation.output.text(diff::NOTHING);
    }
    let mut command = tool_command(&old, &new);
    command.current_dir(folder.path());
    let status = command.status().context(|| "cannot start the program")?;
    // `git diff` exits with 1 if something differs.
    match status.code() {
        Some(0 | 1) => Ok(()),
        _ => Err(Error::failed(format!("the program ended with {status}"))
            .hint("name one: `git config --global diff.tool NAME`, or $CKPT_HOOK_DIFFTOOL")
            .into()),
    }
}

/// Writes one side of a file, if it existed.
fn put(side: &Path, name: &[u8], content: Option<Vec<u8>>) -> Result<(), Failure> {
    use std::os::unix::ffi::OsStrExt;
    let Some(content) = content else {
        return Ok(());
    };
    let path = side.join(std::ffi::OsStr::from_bytes(name));
    let why = || format!("cannot write `{}`", path.display());
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).context(why)?;
    }
    std::fs::write(&path, content).context(why)?;
    Ok(())
}

/// `$CKPT_HOOK_DIFFTOOL` is a command that gets both directories; without it, git runs its configured tool.
fn tool_command(old: &Path, new: &Path) -> Command {
    if let Some(own) = surroundings::variable("CKPT_HOOK_DIFFTOOL") {
        let mut line = own;
        line.push(" \"$@\"");
        let mut command = Command::new("sh");
        command.arg("-c").arg(line).arg("difftool").args([old, new]);
        return command;
    }
    let mut command = Command::new("git");
    command.args(["difftool", "--no-prompt", "--no-index"]);
    let configured = git_value("diff.tool").or_else(|| git_value("merge.tool"));
    if configured.is_none() {
        command.arg("--tool-help");
    }
    command.args([old, new].map(OsString::from));
    command
}
