//! GitHub Copilot CLI. Seen in real runs; what it sends is in `tests/fixtures/agents/copilot-cli-*`.
//!
//! Its peculiarities: two styles of names, and in one of them the payload does not name its event; no ids of messages
//! and tools; a failing hook before a tool makes it refuse the tool, so we are called only after tools. A step is
//! therefore open whenever a tool may run: from the message to the first tool's end, and from there to the next one's.
//! Inside a sub-agent `sessionId` is the sub-agent's own. Up to 1.0.92 a session starts after its first message was
//! sent, and nothing but its end says that a sub-agent is one: it has no folder in Copilot CLI's `session-state`,
//! where a session of the user's has one before its first message, and the process that runs both notes there which it
//! uses.
//!
//! A message that is sent while it works is reported to no hook. It is in Copilot CLI's own record of the session by
//! the time the next tool has ended, with the moment at which the model was given it.

use std::path::PathBuf;

use ckpt_process::json::Object;
use ckpt_schema::event::{Event, EventKind};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::own_command::is_own_command;
use crate::payload::{Agent, PLAIN, Payload, PayloadError, shape};
use crate::settings::version::AgentVersion;

/// The first version that says of a sub-agent's events that they are one's.
pub const NAMES_SUB_AGENTS: AgentVersion = AgentVersion(1, 0, 102);

/// The first version that is known to say in its record which messages were sent while it worked.
pub const NAMES_STEERED: AgentVersion = AgentVersion(1, 0, 70);

/// Copilot CLI.
pub const COPILOT_CLI: Agent = Agent {
    name: "copilot-cli",
    proven_on: &["1.0.102"],
    translate,
    ..PLAIN
};

fn translate(_: &Agent, payload: &Payload<'_>) -> Result<Vec<Event>, PayloadError> {
    let kind = kind(&payload.event_name()?).ok_or(PayloadError::UnknownEvent)?;
    let mut event = shape::event(payload, kind, &["create", "edit", "str_replace_editor"])?;
    let is_about_one = is_about_sub_agent(&payload.event_name()?);
    match sub_agent(payload, &event.session_id) {
        // `subagentStart` comes with the parent's `sessionId`, and what follows with the sub-agent's own: both
        // are one session.
        Some((parent, agent_id)) => {
            event.session_id = format!("{parent}/{agent_id}");
            event.parent_session_id = Some(parent);
        }
        // It does not say which one. The session above goes on with its tool.
        None if is_about_one && event.parent_session_id.is_none() => return Ok(Vec::new()),
        None => {}
    }
    if event.transcript_path.is_none() {
        event.transcript_path = record(payload, &event);
    }
    let no_users = event.parent_session_id.is_some() || shape::is_machine_made(payload);
    if kind == EventKind::UserMessage && no_users {
        return Ok(Vec::new());
    }
    // The message says all that this start says. If the message came first, the start would end the step that it
    // opened.
    let has_message = payload
        .text(&["initialPrompt", "initial_prompt"])
        .is_some_and(|prompt| !prompt.is_empty());
    if kind == EventKind::SessionStart && has_message {
        return Ok(Vec::new());
    }
    // A turn that was broken off may have broken a tool off.
    let stop = payload.text(&["stopReason", "stop_reason"]);
    event.has_told_of_ends =
        kind == EventKind::TurnEnd && stop.is_some_and(|reason| reason == "end_turn");
    let mut events = match kind {
        EventKind::ToolFinish | EventKind::TurnEnd => steered(payload, &event),
        _ => Vec::new(),
    };
    let next = matches!(kind, EventKind::UserMessage | EventKind::ToolFinish);
    let next = next.then(|| next_step(payload, &event));
    events.push(event);
    events.extend(next);
    Ok(events)
}

/// Returns the messages that were sent while the agent worked on its newest message, oldest first. Most of them were
/// recorded before; each has an id. Versions before [`NAMES_STEERED`] do not tell them from others.
fn steered(payload: &Payload<'_>, event: &Event) -> Vec<Event> {
    let record = record(payload, event).filter(|_| event.parent_session_id.is_none());
    let Some(record) = record else {
        return Vec::new();
    };
    let mut messages = Vec::new();
    for line in (payload.context().last_lines)(&record) {
        if !line.contains("\"user.message\"") {
            continue;
        }
        let (entry, is_whole) = Object::read(&line);
        let data = entry.object("data").filter(|_| is_whole);
        let Some(data) = data.filter(|_| entry.text("type").as_deref() == Some("user.message"))
        else {
            continue;
        };
        if data.text("delivery").as_deref() == Some("steering") {
            messages.extend(steered_message(payload, event, &entry, &data));
        } else {
            // Those before it belong to an earlier turn.
            messages.clear();
        }
    }
    messages
}

fn steered_message(
    payload: &Payload<'_>,
    event: &Event,
    entry: &Object<'_>,
    data: &Object<'_>,
) -> Option<Event> {
    let prompt = payload.cut(data.text("content")?);
    // One of our commands is no message, and the tool of this payload ended all the same.
    if shape::is_of_machine(&prompt) || is_own_command(&prompt) {
        return None;
    }
    Some(Event {
        message_id: Some(entry.text("id")?),
        prompt: Some(prompt),
        given_at: Some(moment(entry)?),
        ..shape::without_tool(EventKind::UserMessage, event)
    })
}

/// Returns the session that a sub-agent belongs to and the sub-agent, if the event is one's.
fn sub_agent(payload: &Payload<'_>, session: &str) -> Option<(String, String)> {
    let parent = payload.id(&["parentAgentId", "parent_agent_id"]);
    let named = payload.id(&["agentId", "agent_id"]);
    match (parent, named) {
        (Some(parent), Some(agent_id)) => Some((parent, agent_id)),
        (None, None) => Some((parent_of_unnamed(payload, session)?, session.to_owned())),
        _ => None,
    }
}

/// Returns the session that a sub-agent belongs to whose payloads do not say that it is one.
fn parent_of_unnamed(payload: &Payload<'_>, session: &str) -> Option<String> {
    let context = payload.context();
    let variable = |name: &str| (context.environment)(name);
    let version = variable("COPILOT_CLI_BINARY_VERSION")?.into_string().ok()?;
    if AgentVersion::parse(&version)? >= NAMES_SUB_AGENTS {
        return None;
    }
    let folder = session_state(payload)?;
    let sessions = (context.names_in)(&folder);
    if sessions.iter().any(|known| known == session) {
        return None;
    }
    let note = format!("inuse.{}.lock", (context.agent_process)()?);
    let is_used = |known: &String| (context.names_in)(&folder.join(known)).contains(&note);
    let mut used = sessions.into_iter().filter(is_used);
    let parent = used.next()?;
    used.next().is_none().then_some(parent)
}

/// Returns the file in which Copilot CLI records an event's session, or the one above a sub-agent's. It names that file
/// to no hook before the end of a turn.
fn record(payload: &Payload<'_>, event: &Event) -> Option<PathBuf> {
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '-';
    let session = event
        .parent_session_id
        .as_ref()
        .unwrap_or(&event.session_id);
    let is_one = !session.is_empty() && session.chars().all(is_name);
    let folder = session_state(payload).filter(|_| is_one)?;
    Some(folder.join(session).join("events.jsonl"))
}

/// Returns the folder in which Copilot CLI keeps a folder for each session.
fn session_state(payload: &Payload<'_>) -> Option<PathBuf> {
    let variable = |name: &str| (payload.context().environment)(name).map(PathBuf::from);
    let home = variable("COPILOT_HOME").or_else(|| Some(variable("HOME")?.join(".copilot")));
    Some(home?.join("session-state"))
}

/// Returns when something happened, in milliseconds since 1970. Each of its styles has a way to write it.
fn moment(told: &Object<'_>) -> Option<i64> {
    let parse = |text: String| OffsetDateTime::parse(&text, &Rfc3339).ok();
    let written = || {
        let at = told.text("timestamp").and_then(parse)?;
        i64::try_from(at.unix_timestamp_nanos() / 1_000_000).ok()
    };
    told.number("timestamp").or_else(written)
}

fn is_about_sub_agent(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["subagentstart", "subagentstop"].contains(&name.as_str())
}

/// Returns the start of the step that follows an event; it ends the step before. Each hook that is called for the event is
/// told the same moment, which names the step: so it begins once.
fn next_step(payload: &Payload<'_>, event: &Event) -> Event {
    Event {
        at_once: true,
        step_id: moment(payload.object()).map(|at| format!("at-{at}")),
        ..shape::without_tool(EventKind::StepStart, event)
    }
}

fn kind(name: &str) -> Option<EventKind> {
    match name {
        "sessionStart" | "subagentStart" => Some(EventKind::SessionStart),
        "userPromptSubmitted" => Some(EventKind::UserMessage),
        "preToolUse" => Some(EventKind::ToolStart),
        "postToolUse" | "postToolUseFailure" => Some(EventKind::ToolFinish),
        "agentStop" | "subagentStop" => Some(EventKind::TurnEnd),
        "sessionEnd" => Some(EventKind::SessionEnd),
        _ => shape::kind_with_sub_agents(name),
    }
}
