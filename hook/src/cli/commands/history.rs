//! `show` and `sessions`: what was recorded.

use ckpt_agents::usage::{self, UsageOfRecords};
use ckpt_command::changes::ChangesView;
use ckpt_command::invocation::Invocation;
use ckpt_command::pager::{Pages, paged};
use ckpt_output::history;
use ckpt_output::html::Top;
use ckpt_output::show::{self, ShownParts};
use ckpt_output::{View, diff};
use ckpt_process::failure::{DONE, Failure, NOT_A_SESSION};
use ckpt_schema::report::ShowReport;
use ckpt_store::Store;

use super::empty;
use crate::cli::arguments::{SessionsArguments, ShowArguments};

/// Reads what agents' records say of models and tokens, for the views of the session store. No command depends on it.
pub fn keep_usage(store: &mut Store) {
    let mut records = UsageOfRecords::default();
    let _ = store.read_usage(&usage::WITH_DATABASE, &mut |record, during| {
        records.read(record, during)
    });
}

/// Shows whatever an id is of, and what it did.
pub fn show(invocation: &Invocation, arguments: &ShowArguments) -> Result<u8, Failure> {
    let directory = invocation.directory()?;
    let mut store = invocation.open()?;
    keep_usage(&mut store);
    let report = store.show(&directory, &arguments.id)?;
    let wants_page = arguments.changes.html.is_some();
    if invocation.output.is_json() && !wants_page {
        invocation.output.report(&report, |_| String::new())?;
        return Ok(DONE);
    }
    let blobs = store.blobs(&directory)?;
    let changes = ChangesView {
        invocation,
        blobs: &blobs,
        arguments: &arguments.changes,
    };
    show_text(&changes, arguments, &report)?;
    if invocation.output.is_json() {
        // It is printed as well as the page that was asked for.
        invocation.output.report(&report, |_| String::new())?;
    }
    Ok(DONE)
}

fn show_text(
    changes: &ChangesView<'_>,
    arguments: &ShowArguments,
    report: &ShowReport,
) -> Result<(), Failure> {
    let (invocation, shape) = (changes.invocation, &arguments.changes);
    let view = invocation.output.view();
    let is_about_files =
        shape.wants_lines() || changes.are_names() || shape.stat || shape.html.is_some();
    let files = match show::changes_of(report) {
        Some(files) => files,
        None if is_about_files => {
            return Err(Failure::usage(
                NOT_A_SESSION,
                "give one of them: `ckpt-hook log --session ID` lists them",
            ));
        }
        None => &[],
    };
    if let Some(to) = &shape.html {
        let (title, facts) = show::caption(report, view);
        return changes.page(&Top { title, facts }, files, to);
    }
    if changes.are_names() {
        let mut pages = Pages::new(invocation);
        changes.names(files, &mut pages)?;
        return pages.end();
    }
    let parts = ShownParts {
        steps: arguments.steps,
        no_files: shape.wants_lines(),
    };
    if !shape.wants_lines() {
        let mut pages = Pages::new(invocation);
        match shape.stat {
            true => pages.text(&diff::stat(files, view))?,
            false => pages.text(&show::show(report, parts, view))?,
        }
        return pages.end();
    }
    let mut pages = Pages::of_patch(invocation);
    match report {
        ShowReport::Message { steps, .. } if arguments.steps => {
            for step in steps {
                heading(&format!("step {}", step.id), view, &mut pages)?;
                changes.patch(&step.files, &mut pages)?;
            }
        }
        _ => {
            // A program ignores whatever precedes a patch.
            if view.width.is_some() {
                pages.text(&(show::show(report, parts, view) + "\n"))?;
            }
            changes.patch(files, &mut pages)?;
        }
    }
    pages.end()
}

/// Programs that read patches ignore a line with this beginning.
fn heading(text: &str, view: &View, pages: &mut Pages<'_>) -> Result<(), Failure> {
    pages.text(&format!("{}\n", view.paint.faint(&format!("# {text}"))))
}

/// Lists sessions.
pub fn sessions(invocation: &Invocation, arguments: &SessionsArguments) -> Result<u8, Failure> {
    let directory = match arguments.everywhere {
        true => invocation.directory().ok(),
        false => Some(invocation.directory()?),
    };
    let mut store = invocation.open()?;
    keep_usage(&mut store);
    let report = match arguments.everywhere {
        true => store.sessions_everywhere(directory.as_deref())?,
        false => store.sessions(directory.as_deref())?,
    };
    if report.sessions.is_empty() && !invocation.output.is_json() {
        return empty::say(invocation, "No sessions were recorded here.");
    }
    paged(invocation, &report, |view| history::sessions(&report, view))
}
