//! opencode, and Kilo, which is based on it. Seen in real runs; the input of their plugins is in
//! `tests/fixtures/agents/opencode-*` and `kilo-*`.
//!
//! Neither runs commands. Our plugin (`hook/agents/plugins/opencode.js`) passes its input on, as `{"hook", "input", "output"}`
//! or `{"hook", "event"}`, with the directory (`cwd`) and, in the session of a sub-agent, its parent's id (`parentID`),
//! which only the session's creation names.

use ckpt_process::json::Object;
use ckpt_schema::event::{Event, EventKind};

use crate::payload::{Agent, PLAIN, Payload, PayloadError, shape};

/// The agents that opencode runs for itself; their model calls are no steps.
const HOUSEKEEPERS: [&str; 3] = ["title", "summary", "compaction"];

/// The tools whose input names the file that they change.
const EDIT_TOOLS: [&str; 5] = ["write", "edit", "multiedit", "patch", "apply_patch"];

/// opencode.
pub const OPENCODE: Agent = Agent {
    name: "opencode",
    proven_on: &["1.18.33"],
    // The plugin prints the answer.
    tell: |line| Some(line.to_owned()),
    tells_of_tools: true,
    translate,
    ..PLAIN
};

/// Kilo.
pub const KILO: Agent = Agent {
    name: "kilo",
    proven_on: &["7.7.7"],
    ..OPENCODE
};

fn translate(_: &Agent, payload: &Payload<'_>) -> Result<Vec<Event>, PayloadError> {
    let event = match payload.event_name()?.as_str() {
        "chat.message" => message(payload)?,
        "chat.params" => step_start(payload)?,
        "tool.execute.before" => Some(tool(payload, EventKind::ToolStart, "output")?),
        "tool.execute.after" => Some(tool(payload, EventKind::ToolFinish, "input")?),
        "event.session.created" => Some(session_start(payload)?),
        "event.session.idle" => Some(session_event(
            payload,
            EventKind::TurnEnd,
            properties(payload),
        )?),
        "event.message.part.updated" => step_finish(payload)?,
        _ => return Err(PayloadError::UnknownEvent),
    };
    Ok(event.into_iter().collect())
}

fn message(payload: &Payload<'_>) -> Result<Option<Event>, PayloadError> {
    let mut event = session_event(
        payload,
        EventKind::UserMessage,
        payload.object().object("input"),
    )?;
    // There are no turns: an event that comes while a tool of the session runs waits for that tool's end.
    event.turn_id = Some(event.session_id.clone());
    let output = payload.object().object("output").unwrap_or_default();
    event.message_id = output
        .object("message")
        .and_then(|message| message.text("id"))
        .filter(|id| !id.is_empty());
    let texts = output
        .objects("parts")
        .into_iter()
        .filter(|part| part.text("type").as_deref() == Some("text"));
    let words: Vec<_> = texts.filter_map(|part| part.text("text")).collect();
    event.prompt = Some(payload.cut(words.join("\n")));
    // `chat.message` also comes with the prompt of a sub-agent, which is its parent's text.
    Ok((event.parent_session_id.is_none()).then_some(event))
}

fn step_start(payload: &Payload<'_>) -> Result<Option<Event>, PayloadError> {
    let input = payload.object().object("input");
    let agent = input.as_ref().and_then(|input| input.text("agent"));
    if agent.is_some_and(|agent| HOUSEKEEPERS.contains(&agent.as_str())) {
        return Ok(None);
    }
    session_event(payload, EventKind::StepStart, input).map(Some)
}

fn tool(payload: &Payload<'_>, kind: EventKind, arguments: &str) -> Result<Event, PayloadError> {
    let input = payload.object().object("input").unwrap_or_default();
    let (name, id) = (input.text("tool"), input.text("callID"));
    let mut event = session_event(payload, kind, Some(input))?;
    let edits = name
        .as_deref()
        .is_some_and(|name| EDIT_TOOLS.contains(&name));
    let arguments = payload
        .object()
        .object(arguments)
        .and_then(|holder| holder.object("args"));
    (event.tool_name, event.tool_use_id) = (name, id);
    shape::describe_input(&mut event, arguments.as_ref(), edits);
    Ok(event)
}

fn session_start(payload: &Payload<'_>) -> Result<Event, PayloadError> {
    let info = properties(payload)
        .and_then(|properties| properties.object("info"))
        .unwrap_or_default();
    let id = info
        .text("id")
        .filter(|id| !id.is_empty())
        .ok_or(PayloadError::Field("info.id"))?;
    let mut event = payload.new_event(EventKind::SessionStart, &id);
    event.parent_session_id = info.text("parentID").filter(|id| !id.is_empty());
    Ok(event)
}

fn step_finish(payload: &Payload<'_>) -> Result<Option<Event>, PayloadError> {
    let Some(part) = properties(payload).and_then(|properties| properties.object("part")) else {
        return Ok(None);
    };
    if part.text("type").as_deref() != Some("step-finish") {
        return Ok(None);
    }
    let step_id = part.text("id");
    let mut event = session_event(payload, EventKind::StepFinish, Some(part))?;
    event.step_id = step_id;
    Ok(Some(event))
}

/// Returns an event of the session that an object names.
fn session_event(
    payload: &Payload<'_>,
    kind: EventKind,
    named_in: Option<Object<'_>>,
) -> Result<Event, PayloadError> {
    let id = named_in
        .and_then(|object| object.text("sessionID"))
        .filter(|id| !id.is_empty());
    let mut event = payload.new_event(kind, &id.ok_or(PayloadError::Field("sessionID"))?);
    event.parent_session_id = payload.id(&["parentID"]);
    Ok(event)
}

fn properties<'a>(payload: &Payload<'a>) -> Option<Object<'a>> {
    payload.object().object("event")?.object("properties")
}
