//! `diff`: what differs between two states.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ckpt_command::changes::ChangesView;
use ckpt_command::invocation::Invocation;
use ckpt_command::pager::Pages;
use ckpt_output::html::Top;
use ckpt_output::patch::FileSides;
use ckpt_output::{diff, text};
use ckpt_process::PrivateFolder;
use ckpt_process::failure::{DONE, Failure};
use ckpt_process::surroundings;
use ckpt_process::{git_value, programs};
use ckpt_schema::report::{ChangeReport, DiffReport};
use ckpt_store::error::Context;
use ckpt_store::query::DiffRequest;
use ckpt_store::{Error, Store};

use crate::cli::arguments::DiffArguments;

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
    let mut store = invocation.open_to_compare()?;
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
        let plain = ckpt_output::View {
            paint: ckpt_output::paint::Paint::PLAIN,
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

/// Opens the user's diff tool on both sides, in a private folder that is removed afterwards.
fn tool(changes: &ChangesView<'_>, files: &[ChangeReport]) -> Result<(), Failure> {
    let folder = PrivateFolder::new().context(|| "cannot create a temporary directory")?;
    let sides = [OLD, NEW].map(Path::new);
    for side in sides {
        folder
            .make(side)
            .context(|| format!("cannot create `{}`", side.display()))?;
    }
    let mut number = 0_u64;
    for whole in diff::whole(files) {
        let (before, after) = match changes.sides(&whole)? {
            FileSides::Text { old, new } | FileSides::Bytes { old, new, .. } => (old, new),
            FileSides::Equal | FileSides::Missing => continue,
        };
        number += 1;
        let name = text::bytes(&whole.path);
        let name = Path::new(OsStr::from_bytes(&name));
        put(
            &folder,
            &sides[0].join(name),
            whole.old_mode.is_some().then_some(before),
        )?;
        put(
            &folder,
            &sides[1].join(name),
            whole.new_mode.is_some().then_some(after),
        )?;
    }
    if number == 0 {
        return changes.invocation.output.text(diff::NOTHING);
    }
    let mut command = tool_command(sides.map(|side| folder.path().join(side)));
    let status = folder
        .run(Path::new(""), &mut command)
        .context(|| "cannot start the program")?;
    // `git diff` exits with 1 if something differs.
    match status.code() {
        Some(0 | 1) => Ok(()),
        _ => Err(Error::failed(format!("the program ended with {status}"))
            .hint("name one: `git config --global diff.tool NAME`, or $CKPT_HOOK_DIFFTOOL")
            .into()),
    }
}

/// The folders of the two sides.
const OLD: &str = "before";
const NEW: &str = "after";

/// Writes one side of a file, if it existed.
fn put(folder: &PrivateFolder, name: &Path, content: Option<Vec<u8>>) -> Result<(), Failure> {
    let Some(content) = content else {
        return Ok(());
    };
    let parent = name.parent().unwrap_or(name);
    folder
        .make(parent)
        .and_then(|()| folder.write(name, &content))
        .context(|| format!("cannot write `{}`", name.display()))?;
    Ok(())
}

/// `$CKPT_HOOK_DIFFTOOL` is a command that gets both directories; without it, git runs its configured tool.
fn tool_command(sides: [PathBuf; 2]) -> Command {
    if let Some(own) = surroundings::variable("CKPT_HOOK_DIFFTOOL") {
        return programs::line(&own, sides);
    }
    let mut command = programs::git();
    command.args(["difftool", "--no-prompt", "--no-index"]);
    let configured = git_value("diff.tool").or_else(|| git_value("merge.tool"));
    if configured.is_none() {
        command.arg("--tool-help");
    }
    command.args(sides);
    command
}
