//! `label`: bookmarks on messages and snapshots.

use ckpt_command::invocation::Invocation;
use ckpt_command::pager::paged;
use ckpt_output::label;
use ckpt_output::text::safe;
use ckpt_process::failure::{DONE, Failure};
use ckpt_store::model::label::Label;

use crate::cli::arguments::LabelArguments;

/// Puts a label on, takes one off, or lists them.
pub fn run(invocation: &Invocation, arguments: &LabelArguments) -> Result<u8, Failure> {
    let directory = invocation.directory()?;
    let report = match (&arguments.delete, &arguments.id, &arguments.text) {
        (Some(text), _, _) => invocation.open()?.delete_label(&directory, text)?,
        (None, Some(id), Some(text)) => {
            check(text)?;
            invocation.open()?.label(&directory, id, text)?
        }
        (None, pattern, _) => {
            let report = invocation.open()?.labels(&directory, pattern.as_deref())?;
            if report.labels.is_empty() && !invocation.output.is_json() {
                invocation.output.text(none(pattern.is_some()))?;
                return Ok(DONE);
            }
            return paged(invocation, &report, |view| label::render(&report, view));
        }
    };
    invocation
        .output
        .report_done(&report, report.action.done(), |view| {
            label::render(&report, view)
        })?;
    Ok(DONE)
}

/// Says why no label is listed.
fn none(is_filtered: bool) -> &'static str {
    match is_filtered {
        true => "No label matches. `ckpt-hook label --list` lists all of them.\n",
        false => "There are no labels here. `ckpt-hook label ID TEXT` makes one.\n",
    }
}

/// Refuses text that cannot be a label.
pub fn check(text: &str) -> Result<(), Failure> {
    Label::new(text).map(drop).map_err(|problem| {
        Failure::usage(
            format!("`{}` cannot be a label: {problem}", safe(text)),
            "a label must be a short text that does not look like an id, such as `before lunch`",
        )
    })
}
