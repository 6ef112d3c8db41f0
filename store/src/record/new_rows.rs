//! The rows that an event adds: its session, a message, a step, and how much of a prompt and a command line they keep.

use ckpt_schema::EventKind;
use ckpt_schema::event::Event;
use rusqlite::Connection;

use crate::error::Result;
use crate::model::Milliseconds;
use crate::sessions::{self, MessageRow, NewMessage, SessionRow, StepRow, new_id};
use crate::settings::{RecordPrompts, Settings};
use crate::timeline::{Place, parent_of};

/// How many characters of a command line are kept.
const LONGEST_COMMAND: usize = 1_000;

/// Adds the event's session and its parent's, if they are new. A parent that works elsewhere has a root here from now on.
pub(super) fn ensure_session(
    connection: &Connection,
    place: &Place,
    event: &Event,
    parent_elsewhere: Option<&str>,
    now: Milliseconds,
) -> Result<SessionRow> {
    let cwd = event
        .cwd
        .as_deref()
        .unwrap_or(&place.root)
        .to_string_lossy();
    let parent = match (
        &event.parent_session_id,
        parent_of(connection, event, place.row.id)?,
    ) {
        (Some(parent_id), None) => {
            // The parent's own first event may still be on its way. Without a row for it, the sub-agent would count
            // as a conversation of its own.
            let parent_event = Event::new(EventKind::SessionStart, &event.agent, parent_id);
            let place = place.row.id;
            let row = sessions::upsert_session(connection, place, &parent_event, None, &cwd, now)?;
            if let Some(parent) = parent_elsewhere {
                sessions::note_part(connection, &row, parent)?;
            }
            Some(row)
        }
        (_, parent) => parent,
    };
    let parent_id = parent.as_ref().map(|parent| parent.id.as_str());
    sessions::upsert_session(connection, place.row.id, event, parent_id, &cwd, now)
}

/// Returns the message that a new step belongs to. If the session has none yet, adds one without a prompt.
pub(super) fn message_for_step(
    connection: &Connection,
    session: &SessionRow,
    root: &SessionRow,
    start: Option<i64>,
    now: Milliseconds,
) -> Result<String> {
    if let Some(message_id) = message_of_sub_agent(connection, session, root)? {
        return Ok(message_id);
    }
    if let Some(message) = sessions::newest_begun_message(connection, &root.id)? {
        return Ok(message.id);
    }
    let whole = match &root.part_of {
        Some(whole) => sessions::newest_begun_message(connection, whole)?,
        None => None,
    };
    let id = match &whole {
        Some(whole) => sessions::part_id(connection, "messages", &whole.id, root.workspace_id)?,
        None => new_id(),
    };
    let of_whole = |text: fn(MessageRow) -> Option<String>| whole.clone().and_then(text);
    let message = NewMessage {
        id,
        session_id: root.id.clone(),
        agent_id: of_whole(|whole| whole.agent_id),
        turn_id: of_whole(|whole| whole.turn_id),
        prompt: of_whole(|whole| whole.prompt),
        snapshot_id: start,
        pending: false,
        unprotected: None,
    };
    sessions::insert_message(connection, &message, now)?;
    if let Some(whole) = whole {
        sessions::note_part_of(connection, "messages", &message.id, &whole.id)?;
    }
    Ok(message.id)
}

/// Returns the message of a sub-agent's steps: the one in which it was started, even if they end after the next one.
fn message_of_sub_agent(
    connection: &Connection,
    session: &SessionRow,
    root: &SessionRow,
) -> Result<Option<String>> {
    if session.id == root.id {
        return Ok(None);
    }
    // After one of these, the sub-agent is at rest, and what it does next was asked for by the newest message.
    let rests = [
        EventKind::SessionStart,
        EventKind::TurnEnd,
        EventKind::SessionEnd,
    ]
    .map(EventKind::name);
    if session
        .last_event
        .as_deref()
        .is_none_or(|event| rests.contains(&event))
    {
        return Ok(None);
    }
    Ok(sessions::newest_step(connection, &session.id)?.map(|step| step.message_id))
}

/// Returns the row of a step that begins at a snapshot, if there is one.
pub(super) fn new_step(
    id: String,
    session: &SessionRow,
    message_id: String,
    start: Option<i64>,
) -> StepRow {
    StepRow {
        id,
        session_id: session.id.clone(),
        message_id,
        start_snapshot_id: start,
        ..StepRow::default()
    }
}

/// Returns the row of an event's message, without an id. It has no snapshot yet.
pub(super) fn new_message(
    connection: &Connection,
    event: &Event,
    root: &SessionRow,
    settings: &Settings,
) -> Result<NewMessage> {
    Ok(NewMessage {
        id: String::new(),
        session_id: root.id.clone(),
        agent_id: match (&event.message_id, &event.turn_id) {
            (Some(message_id), _) => Some(message_id.clone()),
            (None, Some(turn_id)) => Some(name_in_turn(
                turn_id,
                sessions::messages_of_turn(connection, &root.id, turn_id)?,
            )),
            (None, None) => None,
        },
        turn_id: event.turn_id.clone(),
        prompt: event
            .prompt
            .as_deref()
            .and_then(|prompt| kept_prompt(prompt, settings.record_prompts)),
        snapshot_id: None,
        pending: false,
        unprotected: None,
    })
}

/// Names a message by its turn. The first has the turn's id; those that were sent while the agent worked get a number
/// after it.
fn name_in_turn(turn_id: &str, before: u64) -> String {
    if before == 0 {
        turn_id.to_owned()
    } else {
        format!("{turn_id}/{}", before + 1)
    }
}

/// Returns the part of a command line that is kept. Of a long script, only the beginning: a row should fit on its page
/// of the database.
pub(super) fn kept_command(line: &str, keep: RecordPrompts) -> Option<String> {
    kept_prompt(line, keep).map(|line| line.chars().take(LONGEST_COMMAND).collect())
}

fn kept_prompt(prompt: &str, keep: RecordPrompts) -> Option<String> {
    match keep {
        RecordPrompts::Full => Some(prompt.to_owned()),
        RecordPrompts::Title => Some(
            prompt
                .lines()
                .next()
                .unwrap_or_default()
                .chars()
                .take(80)
                .collect(),
        ),
        RecordPrompts::None => None,
    }
}
