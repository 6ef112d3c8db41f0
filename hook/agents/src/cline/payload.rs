//! Cline. Its CLI was seen in real runs; what it sends is in `tests/fixtures/agents/cline-cli-*`.
//!
//! Its peculiarities: the start of a task is a message, but does not hold the prompt. Cline does not wait for that
//! hook, so the first tool call of a task reports the message once more. In a terminal, all messages of a session are
//! one task by id, so the id is a turn's, and ends with the task. A queued message that the user sends at once belongs
//! to the running task; it alone is reported as a prompt, between two tools, with its words in a tag. A sub-agent's
//! task names its agent and that agent's parent, below one root session.

use ckpt_process::json::Object;
use ckpt_schema::event::{Event, EventKind};

use crate::payload::{Agent, PLAIN, Payload, PayloadError, shape};

/// Cline.
pub const CLINE: Agent = Agent {
    name: "cline",
    proven_on: &["3.0.65"],
    tells_of_tools: true,
    translate,
    ..PLAIN
};

fn translate(_: &Agent, payload: &Payload<'_>) -> Result<Vec<Event>, PayloadError> {
    let name = payload.event_name()?;
    let kind = kind(&name).ok_or(PayloadError::UnknownEvent)?;
    let is_sub_agent = payload.id(&["parent_agent_id"]).is_some();
    let mut event = event(payload, kind, is_sub_agent)?;
    event.begins_anew = matches!(name.as_str(), "TaskStart" | "TaskResume");
    Ok(match (kind, is_sub_agent) {
        // The task of a sub-agent is its parent's text, so it is no message.
        (EventKind::UserMessage, true) => vec![Event {
            event: EventKind::SessionStart,
            ..event
        }],
        (EventKind::ToolStart, false) if is_first_iteration(payload) => {
            // The store already has the message if the task's start arrived in time.
            vec![shape::without_tool(EventKind::UserMessage, &event), event]
        }
        _ => shape::bounded_by_tools(event),
    })
}

fn kind(name: &str) -> Option<EventKind> {
    match name {
        "TaskStart" | "TaskResume" | "UserPromptSubmit" => Some(EventKind::UserMessage),
        "PreToolUse" => Some(EventKind::ToolStart),
        "PostToolUse" => Some(EventKind::ToolFinish),
        "TaskComplete" | "TaskCancel" | "TaskError" => Some(EventKind::TurnEnd),
        "SessionShutdown" => Some(EventKind::SessionEnd),
        _ => None,
    }
}

fn event(
    payload: &Payload<'_>,
    kind: EventKind,
    is_sub_agent: bool,
) -> Result<Event, PayloadError> {
    let context = payload.object().object("sessionContext");
    let root = context
        .and_then(|context| context.text("rootSessionId"))
        .filter(|id| !id.is_empty());
    let task = payload.id(&["taskId"]);
    let session_id = root
        .or_else(|| task.clone())
        .ok_or(PayloadError::Field("rootSessionId"))?;
    let agent_id = payload.id(&["agent_id"]).filter(|_| is_sub_agent);
    let mut event = payload.session_event(kind, session_id, agent_id);
    event.turn_id = task;
    event.prompt = payload
        .object()
        .object("userPromptSubmit")
        .and_then(|submit| submit.text("prompt"))
        .map(|prompt| words_of(&prompt).to_owned());
    if let Some(call) = ["tool_call", "tool_result"]
        .iter()
        .find_map(|name| payload.object().object(name))
    {
        describe_tool(&mut event, &call);
    }
    Ok(event)
}

fn describe_tool(event: &mut Event, call: &Object<'_>) {
    event.tool_name = call.text("name");
    event.tool_use_id = call.text("id");
    let edits = matches!(
        event.tool_name.as_deref(),
        Some("editor" | "apply_patch" | "write_to_file" | "replace_in_file")
    );
    shape::describe_input(event, call.object("input").as_ref(), edits);
    event.duration_ms = call
        .number("durationMs")
        .and_then(|duration| u64::try_from(duration).ok())
        .filter(|_| event.event == EventKind::ToolFinish);
}

/// The text that the user typed, without the tag that Cline puts around it for the model.
fn words_of(prompt: &str) -> &str {
    let tagged = prompt
        .strip_prefix("<user_input")
        .and_then(|rest| rest.split_once('>'))
        .and_then(|(_, rest)| rest.strip_suffix("</user_input>"));
    tagged.unwrap_or(prompt)
}

fn is_first_iteration(payload: &Payload<'_>) -> bool {
    payload.object().number("iteration") == Some(1)
}
