//! The agent's half of an operation: the conversation that goes on.
//!
//! ```text
//!   plan ─► noted ─► fork ─► plan again ─► journal ─► files ─► closed: the session goes on in the new conversation
//!   locked  └──── unlocked ────┘ locked
//!             └ failed, or killed: no file has changed, and the next command says so
//! ```
//!
//! An agent may take long, so nothing is locked meanwhile that a hook waits for.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use ckpt_schema::report::{ConversationKind, ConversationReport};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use crate::error::{Context, Error, Result};
use crate::fs::layout::{self, Lock};
use crate::fs::{names, presence};
use crate::model::conversation::ForkFailure;
use crate::model::instruction::Instruction;
use crate::model::note::{ForkRemains, Note};
use crate::revert::request::chain::has_ended;
use crate::revert::request::conversation::JournalledConversation;
use crate::sessions::{self, OperationRow};
use crate::store::Store;
use crate::timeline::{LOCK_TIMEOUT, Place};

/// A fork that is under way in a workspace, as its file says. The lock of the file ends with its process.
pub(crate) struct PendingFork {
    path: PathBuf,
    _lock: Lock,
}

/// What a line of the file says; the last one is true.
#[derive(Serialize, Deserialize)]
struct ForkNote {
    /// The operation that it is made for.
    operation: String,
    conversation: JournalledConversation,
    /// Whether the agent has done all that it was asked for.
    is_done: bool,
}

impl PendingFork {
    fn begin(place: &Place, conversation: &JournalledConversation) -> Result<Self> {
        let lock = layout::lock_forking(&place.folder, LOCK_TIMEOUT)?;
        let pending = Self {
            path: place.folder.join(names::FORKING),
            _lock: lock,
        };
        pending.note(conversation, false)?;
        Ok(pending)
    }

    fn note(&self, conversation: &JournalledConversation, is_done: bool) -> Result<()> {
        let note = ForkNote {
            operation: conversation.made_for.clone().unwrap_or_default(),
            conversation: conversation.without_prompt(),
            is_done,
        };
        let what = || "cannot note that a conversation is being forked";
        let line = serde_json::to_string(&note).context(what)? + "\n";
        // What was noted before stays until it is superseded as a whole.
        let file = OpenOptions::new().append(true).open(&self.path);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .context(what)?;
        layout::sync(&self.path)
    }
}

impl Drop for PendingFork {
    fn drop(&mut self) {
        // What stays is found by the next command.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Has the agent make the conversation that an operation waits for. Until the operation is in the journal, the note of it
/// stays. If the agent does not make it, nothing has happened.
pub(crate) fn fork(
    store: &Store,
    place: &Place,
    mut conversation: JournalledConversation,
    operation: String,
) -> Result<(PendingFork, JournalledConversation)> {
    let Some(plan) = conversation.fork.clone() else {
        return Err(Error::failed("there is nothing to fork"));
    };
    conversation.made_for = Some(operation);
    let pending = PendingFork::begin(place, &conversation)?;
    let agents = store.surroundings.conversations;
    let made = agents.fork(&plan).map_err(|failure| {
        agents.clean(&plan);
        not_made(&failure, "forked")
    })?;
    if plan.is_cut {
        // What was made keeps what is cut, and is the way back. It is named before anything is cut.
        let command = agents.command(&plan.agent, &made).join(" ");
        let kept = ForkRemains::Unused { command }.to_string();
        conversation.from = Some(made);
        let noted = pending.note(&conversation, false);
        noted.map_err(|error| error.after([kept.clone()]))?;
        let shortened = agents.shorten(&plan);
        shortened.map_err(|failure| not_made(&failure, "shortened").after([kept]))?;
    } else {
        conversation.report.argv = agents.command(&plan.agent, &made);
        // The agent gives what begins with a copy an id of its own.
        conversation.report.session = (!made.is_copy()).then(|| made.session.clone());
        conversation.to = Some(made);
    }
    pending
        .note(&conversation, true)
        .map_err(|error| error.after([unused(&conversation).to_string()]))?;
    Ok((pending, conversation))
}

/// An unknown outcome is no clean failure: something may have happened.
fn not_made(failure: &ForkFailure, done: &str) -> Error {
    let error = Error::failed(format!("{}; no file was changed", failure.in_words(done)));
    let error = match failure {
        ForkFailure::Failed(_) => error,
        ForkFailure::Unknown(_) => {
            error.after(["look for it in the agent before you try again".to_owned()])
        }
    };
    error.hint(format!(
        "{:#} puts the files back alone",
        Instruction::KeepConversation
    ))
}

/// Returns what is left of a conversation that was made for nothing.
pub(crate) fn unused(conversation: &JournalledConversation) -> ForkRemains {
    let command = conversation.report.argv.join(" ");
    match conversation.report.kind {
        ConversationKind::Cut => {
            let whole = whole_of(conversation);
            ForkRemains::Shortened { command, whole }
        }
        _ => ForkRemains::Unused { command },
    }
}

/// Returns the conversation that keeps all of one that is cut.
fn whole_of(conversation: &JournalledConversation) -> String {
    let kept = conversation.from.as_ref().map(|it| it.session.clone());
    kept.unwrap_or_default()
}

/// Tells of a fork that a crash left, of which no operation came: no file had changed. The caller holds the workspace's
/// lock.
pub(crate) fn taken_back(store: &Store, place: &Place) -> Option<Note> {
    let path = place.folder.join(names::FORKING);
    presence::metadata(&path).ok()??;
    // Another process is at it.
    let _lock = layout::lock_forking(&place.folder, std::time::Duration::ZERO).ok()?;
    let note = std::fs::read(&path).unwrap_or_default();
    let note = String::from_utf8_lossy(&note);
    let mut notes = note.lines().rev();
    let note: Option<ForkNote> = notes.find_map(|line| serde_json::from_str(line).ok());
    let _ = std::fs::remove_file(&path);
    let ForkNote {
        operation,
        conversation,
        is_done,
    } = note?;
    if sessions::operation(store.database.connection(), &operation).is_ok() {
        return None;
    }
    let plan = conversation.fork.as_ref()?;
    store.surroundings.conversations.clean(plan);
    let is_there = |path: &PathBuf| path.try_exists().unwrap_or_default();
    let remains = match &conversation.to {
        _ if is_done => unused(&conversation),
        // Nothing is cut before the one that keeps it is named.
        _ if plan.is_cut && conversation.from == Some(plan.from.clone()) => ForkRemains::Unnamed,
        _ if plan.is_cut => {
            let whole = whole_of(&conversation);
            ForkRemains::PerhapsShortened { whole }
        }
        Some(made) if made.transcript.as_ref().is_none_or(is_there) => unused(&conversation),
        Some(_) => ForkRemains::Nothing,
        None => ForkRemains::Unnamed,
    };
    Some(Note::TakenBack { remains })
}

/// Returns the report on the conversation of an operation that a crash left.
pub(crate) fn report_of(store: &Store, row: &OperationRow) -> Result<Option<ConversationReport>> {
    let noted = sessions::conversation_of_operation(store.database.connection(), &row.id)?;
    Ok(JournalledConversation::of_row(noted.as_deref()).map(|it| it.report))
}

/// Returns whether an operation is about a conversation and moves no revert point.
pub(crate) fn moves_alone(store: &Store, row: &OperationRow) -> Result<bool> {
    let is_alone = row.session_id.is_none();
    Ok(is_alone && report_of(store, row)?.is_some())
}

/// Has the session go on in the conversation of an operation that is closed.
pub(crate) fn move_session(
    connection: &Connection,
    row: &OperationRow,
    has_failed: bool,
) -> Result<()> {
    let conversation = sessions::conversation_of_operation(connection, &row.id)?;
    let Some(JournalledConversation {
        report,
        from,
        to: Some(to),
        of: Some(of),
        ..
    }) = JournalledConversation::of_row(conversation.as_deref())
    else {
        return Ok(());
    };
    let Some(session) = sessions::session(connection, &of)?.filter(|_| !to.is_copy()) else {
        return Ok(());
    };
    // A conversation that went back alone moves no revert point, and may go on as it was, too.
    let is_pending = match row.session_id {
        Some(_) => !has_ended(row.kind, row.message_id.as_deref(), has_failed),
        None => report.kind == ConversationKind::Forked,
    };
    let left = from.filter(|_| is_pending);
    sessions::go_on_in(connection, &session, &to, left.as_ref())?;
    Ok(())
}
