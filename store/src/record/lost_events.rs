//! Events that could not be written to the database: the disk was full, or the session store failed. They are noted in
//! the store's reserve, and become rows as soon as that is possible.
//!
//! No look saw the agent's work of that time. An unrecorded step stands for it, so that its changes are not taken for the
//! user's.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ckpt_schema::EventKind;
use ckpt_schema::event::Event;
use serde_json::{Value, json};

use crate::error::{Error, FULL_DISK, Result};
use crate::fs::{ownership, presence, reserve};
use crate::model::Milliseconds;
use crate::sessions::{self, Diagnostic, DiagnosticLevel, NewMessage, StepRow, new_id};
use crate::store::Store;
use crate::timeline::Place;

/// A longer reason is cut to so many characters.
const REASON_LIMIT: usize = 300;

/// Consecutive events of one session that were lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    agent: String,
    session: String,
    cwd: Option<String>,
    /// The agent's id of the message that was lost with them; empty if the agent gave none.
    message: Option<String>,
    first: Milliseconds,
    last: Milliseconds,
    number: u64,
    /// Why. `None` if the disk was full.
    reason: Option<String>,
}

impl Lost {
    fn of(event: &Event, error: &Error, now: Milliseconds) -> Self {
        // The deepest cause says what is wrong with the disk. There is no room for the others.
        let cause = || error.causes().pop().unwrap_or_else(|| error.to_string());
        let reason = (!error.is_of_full_disk()).then(cause);
        // An empty id still says that a message was lost. It begins a line of its own, because a message has its
        // own revert point.
        let is_message = event.event == EventKind::UserMessage;
        Self {
            agent: event.agent.clone(),
            session: event.session_id.clone(),
            cwd: event
                .cwd
                .as_ref()
                .map(|cwd| cwd.to_string_lossy().into_owned()),
            message: is_message.then(|| event.message_id.clone().unwrap_or_default()),
            first: now,
            last: now,
            number: 1,
            reason: reason.map(|reason| reason.chars().take(REASON_LIMIT).collect()),
        }
    }

    /// Returns whether another event belongs to the same turn.
    fn goes_on_with(&self, other: &Self) -> bool {
        other.message.is_none()
            && (&self.agent, &self.session, &self.cwd) == (&other.agent, &other.session, &other.cwd)
    }

    fn to_line(&self) -> String {
        json!([
            self.agent,
            self.session,
            self.cwd,
            self.message,
            self.first,
            self.last,
            self.number,
            self.reason
        ])
        .to_string()
    }

    fn from_line(line: &str) -> Option<Self> {
        let values: Vec<Value> = serde_json::from_str(line).ok()?;
        let text = |at: usize| values.get(at)?.as_str().map(str::to_owned);
        Some(Self {
            agent: text(0)?,
            session: text(1)?,
            cwd: text(2),
            message: text(3),
            first: values.get(4)?.as_i64()?,
            last: values.get(5)?.as_i64()?,
            number: values.get(6)?.as_u64()?,
            reason: match values.get(7)? {
                Value::Null => None,
                reason => Some(reason.as_str()?.to_owned()),
            },
        })
    }

    /// Returns whether there was no room for them.
    pub fn is_of_full_disk(&self) -> bool {
        self.reason.is_none()
    }

    fn reason(&self) -> &str {
        self.reason.as_deref().unwrap_or(FULL_DISK)
    }

    /// Says that they are in no row.
    pub fn describe(&self) -> String {
        let events = match self.number {
            1 => "an event".to_owned(),
            number => format!("{number} events"),
        };
        format!(
            "{events} of {} (session `{}`) could not be recorded: {}",
            self.agent,
            self.session,
            self.reason()
        )
    }
}

fn read(text: &str) -> Vec<Lost> {
    text.lines().filter_map(Lost::from_line).collect()
}

/// Notes an event that could not be recorded, in the store's directory, and returns whether there is room for that.
pub(crate) fn note(directory: &Path, event: &Event, error: &Error, now: Milliseconds) -> bool {
    // A directory that is no store is not made one.
    let is_store = match ownership::find(directory) {
        Ok(found) => found.is_some(),
        Err(_) => is_shut(directory),
    };
    if !is_store {
        return false;
    }
    let one = Lost::of(event, error, now);
    let add = |text: &str| with(text, one.clone());
    reserve::change_at(&reserve::inside(directory), add).is_ok()
        || reserve::beside(directory).is_some_and(|path| reserve::change_at(&path, add).is_ok())
}

/// Returns whether a directory is the user's own, and yet lets no program look into it.
fn is_shut(directory: &Path) -> bool {
    let is_ours = |found: std::fs::Metadata| found.uid() == ownership::user();
    directory.metadata().is_ok_and(is_ours)
        && std::fs::read_dir(directory)
            .is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
}

/// Returns the note with one more event: counted with those of its turn, or as a new line. The oldest events are kept:
/// text beyond the reserve is cut off, and a cut line is not read.
fn with(text: &str, one: Lost) -> String {
    let mut all = read(text);
    match all.iter_mut().rev().find(|known| known.goes_on_with(&one)) {
        Some(known) => (known.last, known.number) = (one.last, known.number + 1),
        None => all.push(one),
    }
    all.iter().map(|lost| lost.to_line() + "\n").collect()
}

/// Returns whether an error says that the event is in no row: the session store could not be read or written. Only
/// SQLite's errors count. A full disk under the objects fails a snapshot, and that is recorded as a row; and where
/// another process had the database for too long, the next event sees what this one missed.
pub(crate) fn is_loss(error: &Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    let code = error
        .of_session_store()
        .map(rusqlite::Error::sqlite_error_code);
    code.is_some_and(|code| !matches!(code, Some(DatabaseBusy | DatabaseLocked)))
}

/// Turns the note into rows if there is room again, and makes the reserve if it is missing, while there is room.
pub(crate) fn take_up_or_prepare(store: &mut Store) {
    match reserve::read(&store.surroundings.directory) {
        // If that fails, only the log file can report a loss.
        Ok(None) => drop(reserve::make(&store.surroundings.directory)),
        // What cannot be written now is written later.
        Ok(Some(text)) => drop(take_up_noted(store, &text)),
        Err(_) => {}
    }
}

/// Turns noted losses into rows if there is room again. Returns those that are still only noted.
pub(crate) fn take_up(store: &mut Store) -> Result<Vec<Lost>> {
    let text = reserve::read(&store.surroundings.directory)?;
    let mut left = take_up_noted(store, &text.unwrap_or_default())?;
    // While that lasts, every command says that nothing can be written.
    if !store.is_read_only()
        && let Some(path) = reserve::found_beside(&store.surroundings.directory)
    {
        left.extend(take_up_beside(store, &path)?);
    }
    Ok(left)
}

/// Takes up what was noted beside the store while it could not be written to. Hooks do not look there, so there may
/// be newer messages by now: what was lost becomes a step of the newest.
fn take_up_beside(store: &mut Store, path: &Path) -> Result<Vec<Lost>> {
    let lost = read(&reserve::read_at(path)?.unwrap_or_default());
    let of_newest = |lost: &Lost| Lost {
        message: None,
        ..lost.clone()
    };
    let written = lost
        .iter()
        .map_while(|lost| write(store, &of_newest(lost)).ok());
    let written = written.count();
    if written == lost.len() {
        presence::remove_file(path)?;
        return Ok(Vec::new());
    }
    take_out(path, &lost[..written])
}

fn take_up_noted(store: &mut Store, text: &str) -> Result<Vec<Lost>> {
    let lost = read(text);
    if lost.is_empty() {
        return Ok(Vec::new());
    }
    let written = lost
        .iter()
        .map_while(|lost| write(store, lost).ok())
        .count();
    take_out(
        &reserve::inside(&store.surroundings.directory),
        &lost[..written],
    )
}

/// Takes what was written out of a note. What another process noted meanwhile stays, and what could not be written, which
/// every command tells. Returns that.
fn take_out(path: &Path, written: &[Lost]) -> Result<Vec<Lost>> {
    let mut left = Vec::new();
    let mut without = |text: &str| {
        left = read(text);
        left.retain(|lost| !written.contains(lost));
        left.iter().map(|lost| lost.to_line() + "\n").collect()
    };
    match written.is_empty() {
        true => drop(without(&reserve::read_at(path)?.unwrap_or_default())),
        false => reserve::change_at(path, without)?,
    }
    Ok(left)
}

fn write(store: &mut Store, lost: &Lost) -> Result<()> {
    // The note is older than the row may be: `find` is not `claim`, so a directory that is gone does not get a
    // new history.
    let place = match &lost.cwd {
        Some(cwd) => match Place::find(store, Path::new(cwd)) {
            // It is gone, or out of reach, and the loss is told all the same.
            Err(error) if error.of_session_store().is_none() => None,
            found => found?,
        },
        None => None,
    };
    let what = lost.describe();
    let diagnostic = Diagnostic {
        level: DiagnosticLevel::Error,
        agent: Some(&lost.agent),
        session: Some(&lost.session),
        workspace: lost.cwd.as_deref(),
        message: &what,
        is_untold: true,
        ..Diagnostic::default()
    };
    store.database.write(|connection| {
        if let Some(place) = &place {
            write_step(connection, place.row.id, lost)?;
        }
        sessions::insert_diagnostic(connection, &diagnostic, lost.first)
    })
}

/// Adds an unrecorded step to the message that was lost, or else to the newest.
fn write_step(connection: &rusqlite::Connection, workspace_id: i64, lost: &Lost) -> Result<()> {
    let event = Event::new(EventKind::UserMessage, &lost.agent, &lost.session);
    let cwd = lost.cwd.clone().unwrap_or_default();
    let session =
        sessions::upsert_session(connection, workspace_id, &event, None, &cwd, lost.first)?;
    let root = sessions::root_of(connection, &session)?;
    let newest = sessions::newest_message(connection, &root.id)?;
    // Its row may have been written before the disk failed: a second one would make the agent's id ambiguous.
    let known = match lost.message.as_deref().filter(|id| !id.is_empty()) {
        Some(id) => sessions::find_message_by_agent_id(connection, &root.id, id)?,
        None => None,
    };
    // While something is reverted, the next recorded message makes the revert permanent. This one must not come in
    // between.
    let is_new = newest.is_none() || (lost.message.is_some() && root.revert_base_id.is_none());
    let unprotected = Some(lost.reason().to_owned());
    let message_id = match known.or(newest.filter(|_| !is_new)) {
        Some(message) => message.id,
        None => {
            let message = NewMessage {
                id: new_id(),
                session_id: root.id.clone(),
                agent_id: lost.message.clone().filter(|id| !id.is_empty()),
                turn_id: None,
                prompt: None,
                snapshot_id: None,
                pending: false,
                unprotected: unprotected.clone(),
            };
            sessions::insert_message(connection, &message, lost.first)?;
            message.id
        }
    };
    let step = StepRow {
        id: new_id(),
        session_id: session.id,
        message_id,
        agent_id: None,
        recovered: true,
        unprotected,
        start_snapshot_id: None,
        finish_snapshot_id: None,
    };
    sessions::insert_step(connection, &step, lost.first, Some(lost.last))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is noted is read again and what is cut off is passed over.
    #[test]
    fn notes_are_read_again_and_truncated_ones_skipped() {
        let mut event = Event::new(EventKind::UserMessage, "pi", "s\n1");
        event.message_id = Some("m\"".to_owned());
        let full =
            Error::failed("it").because(std::io::Error::from(std::io::ErrorKind::StorageFull));
        for error in [Error::failed("why"), full] {
            let lost = Lost::of(&event, &error, 5);
            let text = lost.to_line() + "\n" + &lost.to_line()[..20];
            assert_eq!(read(&text), [lost]);
        }
    }
}
