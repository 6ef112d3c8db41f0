//! `log`: messages, operations, snapshots, or all of these in one timeline.

use std::collections::BTreeSet;

use ckpt_schema::report::MessageState;
use ckpt_store::query::LogFilter;
use ckpt_store::{Milliseconds, Store};
use serde::Serialize;

use super::changes::ChangesView;
use super::empty;
use crate::cli::arguments::{ChangesArguments, Format, LogArguments, StateArgument};
use crate::cli::invocation::Invocation;
use crate::cli::pager::{Pages, paged};
use crate::failure::{DONE, Failure};
use crate::output::show::changes_of;
use crate::output::{diff, graph, history, when};

/// Lists what is asked for.
pub fn run(invocation: &Invocation, arguments: &LogArguments) -> Result<u8, Failure> {
    let filter = filter(invocation, arguments)?;
    let mut store = invocation.open()?;
    let directory = invocation.directory()?;
    if arguments.graph {
        let report = store.timeline(&directory, &filter)?;
        if lines(invocation, arguments, &report.entries)? {
            return Ok(DONE);
        }
        if report.entries.is_empty() && !invocation.output.is_json() {
            return nothing(invocation, arguments);
        }
        return paged(invocation, &report, |view| graph::timeline(&report, view));
    }
    if arguments.snapshots {
        let report = store.snapshots(&directory, &filter)?;
        if lines(invocation, arguments, &report.snapshots)? {
            return Ok(DONE);
        }
        if report.snapshots.is_empty() && !invocation.output.is_json() {
            if is_filtered(arguments) {
                let text = "No snapshot matches. `ckpt-hook log --snapshots` lists all of them.\n";
                invocation.output.text(text)?;
                return Ok(DONE);
            }
            return empty::say(invocation, "No snapshots were taken here.");
        }
        return paged(invocation, &report, |view| {
            history::snapshots(&report, view)
        });
    }
    if arguments.operations {
        let report = store.operations(&directory, &filter)?;
        if lines(invocation, arguments, &report.operations)? {
            return Ok(DONE);
        }
        if report.operations.is_empty() && !invocation.output.is_json() {
            invocation.output.text(no_operation(arguments))?;
            return Ok(DONE);
        }
        if shows_files(arguments) && !invocation.output.is_json() {
            let ids = report.operations.iter().map(|entry| entry.id.as_str());
            let row = |place: usize| {
                history::operation_line(&report.operations[place], invocation.output.view())
            };
            return with_files(invocation, &mut store, arguments, ids, row);
        }
        return paged(invocation, &report, |view| {
            history::operations(&report, arguments.everywhere, view)
        });
    }
    let report = store.log(&directory, &filter)?;
    if lines(invocation, arguments, &report.messages)? {
        return Ok(DONE);
    }
    if report.messages.is_empty() && !invocation.output.is_json() {
        return nothing(invocation, arguments);
    }
    if shows_files(arguments) && !invocation.output.is_json() {
        let ids = report.messages.iter().map(|message| message.id.as_str());
        let row =
            |place: usize| history::message_line(&report.messages[place], invocation.output.view());
        return with_files(invocation, &mut store, arguments, ids, row);
    }
    paged(invocation, &report, |view| {
        history::log(&report, arguments.everywhere, view)
    })
}

fn filter(invocation: &Invocation, arguments: &LogArguments) -> Result<LogFilter, Failure> {
    let directory = invocation.directory()?;
    // A number alone is a place in the order of messages, as programs have it from an earlier document.
    let after = arguments
        .since
        .as_deref()
        .and_then(|text| text.parse().ok());
    let since = match after {
        Some(_) => None,
        None => moment(invocation, "--since", arguments.since.as_deref())?,
    };
    let until = moment(invocation, "--until", arguments.until.as_deref())?;
    if since.zip(until).is_some_and(|(since, until)| since > until) {
        return Err(Failure::usage(
            "`--since` is later than `--until`",
            "nothing can be between them: exchange them",
        ));
    }
    Ok(LogFilter {
        session: arguments.session.clone(),
        limit: arguments.limit,
        everywhere: arguments.everywhere,
        after,
        since,
        until,
        agent: arguments.agent.clone(),
        state: arguments.state.map(|state| match state {
            StateArgument::Live => MessageState::Live,
            StateArgument::Hidden => MessageState::Hidden,
            StateArgument::Discarded => MessageState::Discarded,
        }),
        grep: arguments.grep.clone(),
        search: None,
        found: BTreeSet::new(),
        text: arguments.text.clone(),
        paths: arguments
            .paths
            .iter()
            .map(|path| directory.join(path))
            .collect(),
    })
}

fn moment(
    invocation: &Invocation,
    option: &str,
    text: Option<&str>,
) -> Result<Option<Milliseconds>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let moment = when::moment(text, &invocation.output.view().times);
    moment.map(Some).ok_or_else(|| {
        Failure::usage(
            format!(
                "`{option} {}` is not a time in the past",
                text.escape_debug()
            ),
            "write `2 days ago`, `yesterday`, `09:30`, `2026-03-01` or `2026-03-01 12:00`",
        )
    })
}

/// Writes one object a line if `--json-lines` or the like was given.
fn lines<T: Serialize>(
    invocation: &Invocation,
    arguments: &LogArguments,
    entries: &[T],
) -> Result<bool, Failure> {
    if arguments.format == Format::Text {
        return Ok(false);
    }
    for entry in entries {
        invocation.output.line(entry)?;
    }
    Ok(true)
}

/// A filter may be why there is nothing.
fn nothing(invocation: &Invocation, arguments: &LogArguments) -> Result<u8, Failure> {
    if !is_filtered(arguments) {
        return empty::say(invocation, "No messages were recorded here.");
    }
    invocation
        .output
        .text("No message matches. `ckpt-hook log` lists all of them.\n")?;
    Ok(DONE)
}

/// Returns what to say where no operation is listed.
fn no_operation(arguments: &LogArguments) -> &'static str {
    if is_filtered(arguments) {
        "No operation matches. `ckpt-hook log --operations` lists all of them.\n"
    } else if arguments.everywhere {
        "Nothing was reverted or restored yet.\n"
    } else {
        "Nothing was reverted or restored here.\n"
    }
}

/// Returns whether only some entries are asked for.
fn is_filtered(arguments: &LogArguments) -> bool {
    arguments.session.is_some()
        || arguments.limit == Some(0)
        || arguments.since.is_some()
        || arguments.until.is_some()
        || arguments.agent.is_some()
        || arguments.state.is_some()
        || arguments.grep.is_some()
        || arguments.text.is_some()
        || !arguments.paths.is_empty()
}

fn shows_files(arguments: &LogArguments) -> bool {
    arguments.patch || arguments.stat || arguments.name_only
}

/// Shows each with its changes below it.
fn with_files<'a>(
    invocation: &Invocation,
    store: &mut Store,
    arguments: &LogArguments,
    ids: impl Iterator<Item = &'a str>,
    row: impl Fn(usize) -> String,
) -> Result<u8, Failure> {
    let directory = invocation.directory()?;
    let shape = ChangesArguments {
        patch: arguments.patch,
        stat: arguments.stat,
        name_only: arguments.name_only,
        context: 3,
        ..ChangesArguments::default()
    };
    let mut pages = match arguments.patch {
        true => Pages::of_patch(invocation),
        false => Pages::new(invocation),
    };
    for (place, id) in ids.enumerate() {
        if pages.is_over() {
            break;
        }
        let report = store.show(&directory, id)?;
        let files = changes_of(&report).unwrap_or_default();
        pages.text(&row(place))?;
        if arguments.stat && !files.is_empty() {
            pages.text(&diff::stat(files, invocation.output.view()))?;
        }
        let mut changes = ChangesView {
            invocation,
            store,
            directory: &directory,
            arguments: &shape,
        };
        if arguments.name_only {
            changes.names(files, &mut pages)?;
        }
        if arguments.patch {
            changes.patch(files, &mut pages)?;
        }
        pages.text("\n")?;
    }
    pages.end()?;
    Ok(DONE)
}
