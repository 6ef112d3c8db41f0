//! `export`: a session with its messages and all that they changed, to read elsewhere.

use std::path::Path;

use ckpt_command::changes::{ChangesArguments, ChangesView};
use ckpt_command::invocation::Invocation;
use ckpt_output::export;
use ckpt_output::html::{Section, Top};
use ckpt_output::text::short;
use ckpt_process::failure::{DONE, Failure};
use ckpt_schema::report::{
    Content, Encoding, ExportReport, ExportedMessage, SessionReport, ShowReport, VERSION,
};
use ckpt_serve::methods::content;
use ckpt_store::query::{ChangeDetail, ListedKind};
use ckpt_store::{ErrorKind, Store};

use super::empty;
use crate::cli::arguments::ExportArguments;

/// A patch with more bytes is left out.
const LONGEST_PATCH: usize = 8 << 20;

/// Writes a session.
pub fn run(invocation: &Invocation, arguments: &ExportArguments) -> Result<u8, Failure> {
    let directory = invocation.directory()?;
    let mut store = invocation.open()?;
    let id = match &arguments.session {
        Some(id) => id.clone(),
        None => newest(invocation, &mut store, &directory)?,
    };
    let ShowReport::Session {
        session,
        mut messages,
        ..
    } = store
        .show(&directory, &id)
        .map_err(|error| match error.kind {
            ErrorKind::Unknown => error.hint("`ckpt-hook sessions` lists the sessions"),
            _ => error,
        })?
    else {
        return Err(Failure::usage(
            "that is not a session",
            "`ckpt-hook sessions` lists the sessions",
        ));
    };
    messages.sort_by_key(|message| message.seq);
    let ids: Vec<&str> = messages.iter().map(|message| message.id.as_str()).collect();
    let listed = (ListedKind::Messages, &ids[..]);
    let all = store.changes_of(&directory, listed, ChangeDetail::Whole)?;
    let blobs = store.blobs(&directory)?;
    let changes = ChangesView {
        invocation,
        blobs: &blobs,
        arguments: &ChangesArguments {
            force: arguments.force,
            ..ChangesArguments::default()
        },
    };
    let mut report = ExportReport {
        version: VERSION,
        session,
        messages: Vec::new(),
    };
    for (message, changed) in messages.into_iter().zip(all) {
        let patch = changes.plain_patch(&changed, LONGEST_PATCH)?;
        report.messages.push(ExportedMessage {
            message,
            patch: patch.map_or_else(left_out, |bytes| content(&bytes)),
            changes: changed,
        });
    }
    if let Some(to) = &arguments.html {
        changes.write_page(&top(&report.session), sections(&changes, &report)?, to)?;
    }
    if invocation.output.is_json() {
        invocation.output.report(&report, |_| String::new())?;
    } else if arguments.html.is_none() {
        let text = export::markdown(&report, invocation.output.view());
        invocation.output.bytes(text.as_bytes())?;
    }
    Ok(DONE)
}

/// Returns the id of the newest session that has a message.
fn newest(invocation: &Invocation, store: &mut Store, directory: &Path) -> Result<String, Failure> {
    let sessions = store.sessions(Some(directory))?.sessions;
    let newest = sessions.into_iter().find(|session| session.messages > 0);
    match newest {
        Some(session) => Ok(session.id),
        None => Err(empty::missing(
            invocation,
            store,
            "no session was recorded here",
        )?),
    }
}

/// The patch of a message that has too long a one.
fn left_out() -> Content {
    Content {
        encoding: Encoding::Utf8,
        text: None,
        bytes: 0,
    }
}

fn top(session: &SessionReport) -> Top {
    Top {
        title: format!("Session of {}", session.agent),
        facts: vec![session.workspace.clone()],
    }
}

/// Returns a section of the page for each message.
fn sections(changes: &ChangesView<'_>, report: &ExportReport) -> Result<Vec<Section>, Failure> {
    let times = &changes.invocation.output.view().times;
    let section = |of: &ExportedMessage| {
        let message = &of.message;
        let facts = vec![
            format!("message {}", short(&message.id)),
            times.exact(message.time),
        ];
        let title = message.prompt.as_deref();
        let title = title.unwrap_or("A message without a prompt").to_owned();
        changes.section(Top { title, facts }, of.changes.clone())
    };
    report.messages.iter().map(section).collect()
}
