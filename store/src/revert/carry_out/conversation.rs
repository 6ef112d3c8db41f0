//! The agent's half of an operation: the conversation that goes on.
//!
//! ```text
//!   plan ─► journal ─► fork ─► noted ─► files ─► closed: the session goes on in the new conversation
//!                      └ failed: taken back, nothing has happened
//!                      └ killed: done if its record is there, else taken back by the next command
//! ```

use ckpt_schema::report::ConversationReport;
use rusqlite::Connection;

use crate::error::{Error, Result};
use crate::model::conversation::{AgentConversation, ForkFailure};
use crate::revert::plan::operation::Operation;
use crate::revert::request::chain::has_ended;
use crate::revert::request::conversation::JournalledConversation;
use crate::sessions::{self, OperationRow};
use crate::store::Store;

/// Makes the new conversation of an operation that is in the journal. If the agent does not make it, the operation is
/// taken back: no file has moved.
pub(crate) fn fork(store: &mut Store, id: &str, operation: &mut Operation<'_>) -> Result<()> {
    let Some(conversation) = &mut operation.conversation else {
        return Ok(());
    };
    let Some(plan) = conversation.fork.clone() else {
        return Ok(());
    };
    let agents = store.surroundings.conversations;
    match agents.fork(&plan) {
        Ok(made) => {
            conversation.report.argv = agents.command(&plan.agent, &made);
            note_made(store, id, conversation, made)
        }
        Err(failure) => {
            let now = store.now();
            let taken_back = store
                .database
                .write_synced(|connection| sessions::roll_back(connection, id, now));
            let error = not_made(&failure);
            Err(match taken_back {
                Ok(()) => error,
                // The next command takes it back.
                Err(other) => error.after([other.with_causes()]),
            })
        }
    }
}

fn not_made(failure: &ForkFailure) -> Error {
    let text = match failure {
        ForkFailure::Failed(why) => {
            format!("the conversation could not be forked, so nothing was changed: {why}")
        }
        ForkFailure::Unknown(why) => format!(
            "it is not known whether the agent forked the conversation: {why}; no file was changed"
        ),
    };
    Error::failed(text).hint("`--conversation no` puts the files back alone")
}

/// Notes that the new conversation is there. From here on the operation is finished, whatever happens.
fn note_made(
    store: &mut Store,
    id: &str,
    conversation: &mut JournalledConversation,
    made: AgentConversation,
) -> Result<()> {
    // The agent gives what begins with a copy an id of its own.
    conversation.report.session = (!made.is_copy()).then(|| made.session.clone());
    conversation.to = Some(made);
    conversation.fork = None;
    let text = conversation.to_json().unwrap_or_default();
    store
        .database
        .write_synced(|connection| sessions::note_conversation(connection, id, &text))
}

/// What is to be done with an operation that a crash left open.
pub(crate) enum Interrupted {
    /// Its files go on.
    GoesOn(Option<ConversationReport>),
    /// It was taken back: no file had moved, as the fork was not made.
    TakenBack {
        /// Whether the agent may have made it, and its answer was lost.
        is_unknown: bool,
    },
}

/// Finishes the conversation of an operation that a crash left, or takes the operation back.
pub(crate) fn finish(store: &mut Store, row: &OperationRow) -> Result<Interrupted> {
    let noted = sessions::conversation_of_operation(store.database.connection(), &row.id)?;
    let Some(mut conversation) = JournalledConversation::of_row(noted.as_deref()) else {
        return Ok(Interrupted::GoesOn(None));
    };
    if let Some(plan) = conversation.fork.clone() {
        let known = plan.to.clone().filter(|to| {
            let transcript = to.transcript.as_deref();
            transcript.is_none_or(|path| path.try_exists().unwrap_or_default())
        });
        let Some(made) = known else {
            store.surroundings.conversations.clean(&plan);
            let now = store.now();
            store
                .database
                .write_synced(|connection| sessions::roll_back(connection, &row.id, now))?;
            return Ok(Interrupted::TakenBack {
                is_unknown: conversation.to.is_none(),
            });
        };
        note_made(store, &row.id, &mut conversation, made)?;
    }
    Ok(Interrupted::GoesOn(Some(conversation.report)))
}

/// Has the session go on in the conversation of an operation that is closed.
pub(crate) fn move_session(
    connection: &Connection,
    row: &OperationRow,
    has_failed: bool,
) -> Result<()> {
    let conversation = sessions::conversation_of_operation(connection, &row.id)?;
    let conversation = JournalledConversation::of_row(conversation.as_deref());
    let (Some(session), Some(to)) = (&row.session_id, conversation.and_then(|it| it.to)) else {
        return Ok(());
    };
    let Some(session) = sessions::session(connection, session)?.filter(|_| !to.is_copy()) else {
        return Ok(());
    };
    let is_reverted = !has_ended(row.kind, row.message_id.as_deref(), has_failed);
    sessions::go_on_in(connection, &session, &to, is_reverted)?;
    Ok(())
}
