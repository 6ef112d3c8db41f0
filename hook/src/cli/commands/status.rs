//! `status`: what is reverted, and whether anything is wrong.

use ckpt_command::invocation::Invocation;
use ckpt_command::pager::paged;
use ckpt_output::{data, status};
use ckpt_process::failure::{DONE, Failure};
use ckpt_schema::report::{MessageReport, StatusReport};
use ckpt_store::Store;
use ckpt_store::query::LogFilter;

use super::{empty, unrecorded};
use crate::cli::arguments::StatusArguments;

/// Shows the revert banner and the state of the recording.
pub fn run(invocation: &Invocation, arguments: &StatusArguments) -> Result<u8, Failure> {
    let mut store = invocation.open()?;
    let directory = invocation.directory()?;
    let mut report = store.status(&directory, arguments.session.as_deref())?;
    if arguments.short && !invocation.output.is_json() {
        let text = status::in_short(&report);
        if !text.is_empty() {
            invocation.output.text(&(text + "\n"))?;
        }
        return Ok(DONE);
    }
    let workspace = std::path::PathBuf::from(&report.workspace);
    report.unrecorded = unrecorded::look(invocation, &mut store, &workspace);
    if data::is_read_by_model() {
        report = data::guarded(&report).unwrap_or(report);
    }
    let messages = if invocation.output.is_json() {
        Vec::new()
    } else {
        hidden_messages(&mut store, &directory, &report)?
    };
    let nothing = match report.session {
        None if !invocation.output.is_json() => match empty::out_of_sight(&store)? {
            Some(lost) => lost,
            None => format!(
                "Nothing has been recorded here yet. {}",
                empty::next(invocation, &store)?
            ),
        },
        _ => String::new(),
    };
    // Where nothing was recorded, that is said with it.
    let off = empty::turned_off(invocation).filter(|_| report.session.is_some());
    paged(invocation, &report, |view| {
        let off = off.map(|why| {
            let sign = view.paint.warning("!");
            format!("{sign} Recording is turned off here: {why}.\n")
        });
        status::render(&report, &messages, &nothing, view) + &off.unwrap_or_default()
    })
}

/// The report names hidden messages and those undone alone by id; people know them by their text.
fn hidden_messages(
    store: &mut Store,
    directory: &std::path::Path,
    report: &StatusReport,
) -> Result<Vec<MessageReport>, Failure> {
    if report.messages_hidden.is_empty() && report.undone_alone.is_empty() {
        return Ok(Vec::new());
    }
    let filter = LogFilter {
        session: report.session.clone(),
        ..LogFilter::default()
    };
    let mut messages = store.log(directory, &filter)?.messages;
    messages.retain(|message| {
        report.messages_hidden.contains(&message.id) || report.undone_alone.contains(&message.id)
    });
    messages.reverse();
    Ok(messages)
}
