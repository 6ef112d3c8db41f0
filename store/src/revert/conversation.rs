//! What becomes of the agent's conversation in an operation: the plan of it, and the way back. `carry_out::conversation`
//! does it.
//!
//! A fork leaves the old conversation as it is, so the way back asks nothing of the agent: the session goes on in the
//! old one.

use std::path::Path;

use ckpt_schema::report::{
    ConversationKind, ConversationPlace, ConversationReason, ConversationReport, OperationKind,
};

use rusqlite::Connection;

use super::report::hidden;
use super::request::conversation::JournalledConversation;
use super::request::movement::Movement;
use super::request::options::PlanRequest;
use crate::error::{Error, Result};
use crate::fs::names::COPIES;
use crate::model::conversation::{AgentConversation, NoFork, SoughtMessage};
use crate::model::request::ConversationChoice;
use crate::sessions::{self, MessageRow, OperationRow, SessionRow};
use crate::store::Store;
use crate::timeline::{Place, life};

/// Plans the agent's half of a request before the workspace is locked, because its record may be long. `None` if nothing
/// is to be made, or if it cannot be told yet.
pub(super) fn prepared(
    store: &Store,
    place: &Place,
    request: &PlanRequest,
    asked: ConversationChoice,
) -> Option<JournalledConversation> {
    let movement = match request {
        PlanRequest::Revert(request) if asked != ConversationChoice::No => {
            Movement::of_revert(store, place, request).ok()
        }
        PlanRequest::Redo(request) => Movement::of_redo(store, place, request).ok()?,
        _ => None,
    };
    let conversation = planned(store, &movement?, asked).ok()??;
    conversation.waits().then_some(conversation)
}

/// Returns the conversation that was prepared for a movement. What was made cannot be made again, so it must be for this one.
pub(super) fn agreed(
    store: &Store,
    movement: &Movement,
    prepared: Option<&JournalledConversation>,
) -> Result<Option<JournalledConversation>> {
    let Some(prepared) = prepared else {
        return Ok(None);
    };
    let is_for_it = movement.undoes.is_none() && prepared.messages == hidden(store, movement);
    match is_for_it || prepared.waits() {
        true => Ok(is_for_it.then(|| prepared.clone())),
        false => Err(Error::stale(
            "the session went on while its conversation was forked",
        )),
    }
}

/// Plans what becomes of the conversation in a movement.
pub(super) fn planned(
    store: &Store,
    movement: &Movement,
    asked: ConversationChoice,
) -> Result<Option<JournalledConversation>> {
    let none = |reason| JournalledConversation::none(NoFork::because(reason));
    if movement.part.is_some() {
        return Ok(Some(none(ConversationReason::Part)));
    }
    let connection = store.database.connection();
    if let Some(operation) = &movement.undoes {
        let row = sessions::operation(connection, operation)?;
        return Ok(of_undone(store, &row)?.or(Some(none(ConversationReason::NotAsked))));
    }
    let known = sessions::conversations(connection, &movement.session.id)?;
    let is_revert = movement.kind == OperationKind::Revert;
    // Files that go forward lead back only what went back with files.
    let left = match sessions::went_back_alone(connection, &known.present)? {
        true => None,
        false => known.left,
    };
    Ok(Some(match (&movement.to, left) {
        (None, Some(left)) => back(store, &movement.session, known.present, left)?,
        (Some(to), left) if asked != ConversationChoice::No || left.is_some() && !is_revert => {
            forked(store, movement, to, asked)?
        }
        _ => none(ConversationReason::NotAsked),
    }))
}

/// The way back to the conversation before an operation that is taken back. `None` if it stayed in it.
pub(super) fn of_undone(
    store: &Store,
    row: &OperationRow,
) -> Result<Option<JournalledConversation>> {
    let connection = store.database.connection();
    let undone = sessions::conversation_of_operation(connection, &row.id)?;
    let Some(JournalledConversation {
        from: Some(from),
        to: Some(to),
        of,
        ..
    }) = JournalledConversation::of_row(undone.as_deref())
    else {
        return Ok(None);
    };
    let Some(session) = of.as_deref().or(row.session_id.as_deref()) else {
        return Ok(None);
    };
    let session = sessions::session(connection, session)?;
    session
        .map(|session| back(store, &session, to, from))
        .transpose()
}

fn back(
    store: &Store,
    session: &SessionRow,
    from: AgentConversation,
    to: AgentConversation,
) -> Result<JournalledConversation> {
    let connection = store.database.connection();
    let directory = sessions::conversations(connection, &session.id)?.directory;
    let report = ConversationReport {
        kind: ConversationKind::Back,
        reason: None,
        session: Some(to.session.clone()),
        argv: store
            .surroundings
            .conversations
            .command(&session.agent, &to),
        directory: Some(directory),
        interface: None,
        note: None,
        prompt: None,
        prefill: Vec::new(),
    };
    Ok(JournalledConversation {
        report,
        from: Some(from),
        to: Some(to),
        fork: None,
        of: Some(session.whole().unwrap_or(&session.id).to_owned()),
        messages: Vec::new(),
        made_for: None,
    })
}

fn forked(
    store: &Store,
    movement: &Movement,
    to: &MessageRow,
    asked: ConversationChoice,
) -> Result<JournalledConversation> {
    let agents = store.surroundings.conversations;
    let agent = &movement.session.agent;
    let sought = sought(store, &movement.session, to)?;
    let plan = agents.plan(&sought).and_then(|plan| match asked {
        ConversationChoice::Cut => agents.cut(plan).ok_or_else(|| NoFork {
            note: Some(
                "its agent cannot shorten one; `--conversation fork` makes a new one".to_owned(),
            ),
            ..NoFork::because(ConversationReason::Unsupported)
        }),
        _ => Ok(plan),
    });
    let plan = match plan {
        Ok(plan) => plan,
        Err(no) => return Ok(JournalledConversation::none(no)),
    };
    let goes_on = match plan.is_cut {
        true => Some(plan.from.clone()),
        false => plan.to.clone(),
    };
    let prompt = agents.find(&sought).ok().and_then(|found| found.prompt);
    let prompt = prompt.or_else(|| to.prompt.clone());
    let report = ConversationReport {
        kind: match plan.is_cut {
            true => ConversationKind::Cut,
            false => ConversationKind::Forked,
        },
        reason: None,
        session: goes_on
            .as_ref()
            .filter(|to| !to.is_copy())
            .map(|to| to.session.clone()),
        argv: goes_on
            .as_ref()
            .map(|to| agents.command(agent, to))
            .unwrap_or_default(),
        directory: Some(plan.directory.to_string_lossy().into_owned()),
        interface: Some(plan.interface.clone()),
        note: noted(plan.note.clone(), open_elsewhere(store, &movement.session)?),
        prefill: prompt
            .as_deref()
            .map(|prompt| agents.prefill(agent, prompt))
            .unwrap_or_default(),
        prompt,
    };
    let connection = store.database.connection();
    let session = &movement.session;
    let whole = session.whole().unwrap_or(&session.id);
    Ok(JournalledConversation {
        report,
        from: Some(sessions::conversations(connection, &movement.session.id)?.present),
        to: goes_on,
        fork: Some(plan),
        of: Some(whole.to_owned()),
        messages: hidden(store, movement),
        made_for: None,
    })
}

/// Says that a conversation may be open in another window: its process lives. Called from that process, a command is typed
/// in the conversation itself.
fn open_elsewhere(store: &Store, session: &SessionRow) -> Result<Option<String>> {
    let process = sessions::process_of(store.database.connection(), &session.id)?;
    let caller = (store.surroundings.agent_process)().map(|process| process.name);
    let elsewhere = process.filter(|process| caller.as_ref() != Some(process));
    let living = elsewhere.and_then(|process| life::living(&process));
    Ok(living.map(|id| {
        format!(
            "the conversation may be open in another window: process {id}, in which it was held, still runs, and keeps all of its messages"
        )
    }))
}

/// Joins what is to be known of a fork.
fn noted(plan: Option<String>, open: Option<String>) -> Option<String> {
    let notes: Vec<String> = [plan, open].into_iter().flatten().collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// Has the agent make a conversation that ends just before a message, to go on in another directory. `None` where it has no
/// interface for one.
pub(crate) fn fork_beside(
    store: &Store,
    message: &MessageRow,
    directory: &Path,
) -> Result<Option<ConversationReport>> {
    let agents = store.surroundings.conversations;
    let session = sessions::session(store.database.connection(), &message.session_id)?;
    let Some(session) = session.filter(|_| store.machine.is_none()) else {
        return Ok(None);
    };
    let Ok(plan) = agents.plan(&sought(store, &session, message)?) else {
        return Ok(None);
    };
    let none = |reason, note: String| ConversationReport {
        note: Some(note),
        ..ConversationReport::none(reason)
    };
    let Some(plan) = agents.elsewhere(plan, directory) else {
        let note = "its agent finds a conversation only in the directory in which it began";
        let reason = ConversationReason::Unsupported;
        return Ok(Some(none(reason, note.to_owned())));
    };
    let made = match agents.fork(&plan) {
        Ok(made) => made,
        Err(failure) => {
            agents.clean(&plan);
            return Ok(Some(none(failure.reason(), failure.in_words("forked"))));
        }
    };
    Ok(Some(ConversationReport {
        kind: ConversationKind::Forked,
        reason: None,
        session: (!made.is_copy()).then(|| made.session.clone()),
        argv: agents.command(&session.agent, &made),
        directory: Some(directory.to_string_lossy().into_owned()),
        interface: Some(plan.interface),
        note: plan.note,
        prompt: message.prompt.clone(),
        prefill: Vec::new(),
    }))
}

/// Returns the conversation that a revert made for a session, with its operation, until a message says which one goes on.
pub(crate) fn pending(
    connection: &Connection,
    session: &SessionRow,
) -> Result<Option<(String, ConversationReport)>> {
    let whole = session.whole().unwrap_or(&session.id);
    let newest = sessions::newest_conversation(connection, whole)?;
    Ok(newest.and_then(|(operation, text)| {
        let report = JournalledConversation::of_row(Some(&text))?.report;
        (report.kind == ConversationKind::Forked).then_some((operation, report))
    }))
}

/// Returns the conversation that an operation made, until a message says which one goes on.
pub(crate) fn pending_of(
    connection: &Connection,
    operation: &str,
) -> Result<Option<ConversationReport>> {
    let noted = sessions::conversation_of_operation(connection, operation)?;
    let session = JournalledConversation::of_row(noted.as_deref()).and_then(|it| it.of);
    let session = session.map(|id| sessions::session(connection, &id));
    let Some(session) = session.transpose()?.flatten() else {
        return Ok(None);
    };
    let pending = pending(connection, &session)?.filter(|(id, _)| id == operation);
    Ok(pending.map(|(_, report)| report))
}

/// Returns a message as the agents' adapters look for it.
pub(super) fn sought(
    store: &Store,
    session: &SessionRow,
    message: &MessageRow,
) -> Result<SoughtMessage> {
    let connection = store.database.connection();
    let (conversation, before, turn_before) = sessions::conversation_of(connection, &message.id)?;
    Ok(SoughtMessage {
        agent: session.agent.clone(),
        conversation,
        directory: sessions::conversations(connection, &session.id)?
            .directory
            .into(),
        copies: store.surroundings.directory.join(COPIES),
        agent_id: message.agent_id.clone(),
        turn_id: message.turn_id.clone(),
        prompt: message.prompt.clone(),
        before,
        turn_before,
    })
}

/// Returns where a message is in its agent's conversation. It reads the agent's own record.
pub(crate) fn conversation_place(
    store: &Store,
    message: &str,
) -> Result<Option<ConversationPlace>> {
    let connection = store.database.connection();
    let Some(message) = sessions::message(connection, message)? else {
        return Ok(None);
    };
    let Some(session) = sessions::session(connection, &message.session_id)? else {
        return Ok(None);
    };
    let sought = sought(store, &session, &message)?;
    let found = store.surroundings.conversations.find(&sought);
    let reason = found.as_ref().err().copied();
    let found = found.unwrap_or_default();
    let transcript = sought.conversation.transcript;
    Ok(Some(ConversationPlace {
        session: sought.conversation.session,
        transcript: transcript.map(|path| path.to_string_lossy().into_owned()),
        prompt_id: message.agent_id,
        turn: message.turn_id,
        entry: found.entry,
        parent: found.parent,
        left: found.is_left,
        reason,
    }))
}

/// How many messages of a session are looked for in its conversation, the newest.
const MOST_SOUGHT: i64 = 200;

/// Returns the live messages that are no longer in the conversation that a session is in, oldest first: those that a fork
/// of the conversation alone left behind, and those that its agent left by a rewind of its own. Nothing is said where the agent's record does not tell.
pub(crate) fn left(store: &Store, session: &str) -> Result<Vec<String>> {
    let agents = store.surroundings.conversations;
    let connection = store.database.connection();
    let Some(session) = sessions::session(connection, session)? else {
        return Ok(Vec::new());
    };
    let mut known = sessions::messages_left_behind(connection, &session.id)?;
    if !agents.abilities(&session.agent).fork {
        return Ok(known);
    }
    let ids = sessions::messages_of_conversation(connection, &session.id, MOST_SOUGHT)?;
    let mut sought = Vec::new();
    for id in &ids {
        if let Some(message) = sessions::message(connection, id)? {
            sought.push(self::sought(store, &session, &message)?);
        }
    }
    let messages = ids.into_iter().zip(agents.places(&sought));
    known.extend(messages.filter_map(|(id, is_left)| (is_left == Some(true)).then_some(id)));
    Ok(known)
}
