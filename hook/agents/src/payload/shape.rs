//! Claude Code's payload format, which most agents follow: what they have in common, and no agent's own rules.

use std::path::PathBuf;

use ckpt_process::json::Object;
use ckpt_schema::event::{Event, EventKind, ToolKind, ToolUse};
use serde_json::json;

use super::{Agent, Payload, PayloadError};
use crate::own_command::is_own_line;

/// The names of a field that holds a path, in the inputs of edit tools.
const PATH_NAMES: [&str; 4] = ["file_path", "notebook_path", "filePath", "path"];

/// Returns an event of a certain kind with everything that this format holds.
///
/// The files are those that one of the `edit_tools` names.
pub fn event(
    payload: &Payload<'_>,
    kind: EventKind,
    edit_tools: &[&str],
) -> Result<Event, PayloadError> {
    let mut event = payload.session_event(
        kind,
        payload.session_id()?,
        payload.id(&["agent_id", "agentId"]),
    );
    event.turn_id = payload.id(&[
        "prompt_id",
        "promptId",
        "turn_id",
        "turnId",
        "generation_id",
    ]);
    event.transcript_path = payload
        .text(&["transcript_path", "transcriptPath"])
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    match kind {
        EventKind::UserMessage => event.prompt = payload.prompt(&["prompt"]),
        EventKind::ToolStart | EventKind::ToolWait | EventKind::ToolFinish => {
            describe_tool(&mut event, payload, edit_tools)
        }
        EventKind::StepFinish => {
            let calls = payload.object().objects("tool_calls");
            event.step_id = batch_id(&calls);
            event.tools = calls
                .iter()
                .filter_map(|call| tool_use(call, edit_tools))
                .collect();
        }
        EventKind::TurnEnd => event.background = has_tasks(payload),
        EventKind::SessionStart | EventKind::StepStart | EventKind::SessionEnd => {}
    }
    Ok(event)
}

/// The meaning of an event with one of Claude Code's names; `None` for the many that mean nothing to us, and for those that
/// we do not know.
pub fn kind(name: &str) -> Option<EventKind> {
    match name {
        "SessionStart" => Some(EventKind::SessionStart),
        "UserPromptSubmit" => Some(EventKind::UserMessage),
        "PreToolUse" => Some(EventKind::ToolStart),
        "PermissionRequest" => Some(EventKind::ToolWait),
        // A command that fails is reported by the second one alone.
        "PostToolUse" | "PostToolUseFailure" => Some(EventKind::ToolFinish),
        "PostToolBatch" => Some(EventKind::StepFinish),
        // The other three instead, where a turn fails or is broken off.
        "Stop" | "StopFailure" | "StopCancelled" | "Interrupt" => Some(EventKind::TurnEnd),
        "SessionEnd" => Some(EventKind::SessionEnd),
        _ => None,
    }
}

/// Returns the same for an agent that names the sub-agent whose beginning or end it reports.
pub fn kind_with_sub_agents(name: &str) -> Option<EventKind> {
    match name {
        "SubagentStart" => Some(EventKind::SessionStart),
        "SubagentStop" => Some(EventKind::TurnEnd),
        _ => kind(name),
    }
}

/// The output of a hook from which the model reads a line with the user's message, at the agent's own event for it.
///
/// It must hold nothing else: Codex rejects fields that it does not know.
pub fn additional_context(event: &str, line: &str) -> String {
    json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": line}}).to_string()
}

/// Adds the tool's name, the id of its use, and the files that one of the `edit_tools` names.
fn describe_tool(event: &mut Event, payload: &Payload<'_>, edit_tools: &[&str]) {
    event.tool_name = payload.id(&["tool_name", "toolName"]);
    event.tool_use_id = payload.id(&["tool_use_id", "toolUseId", "tool_call_id", "toolCallId"]);
    let edits = event
        .tool_name
        .as_deref()
        .is_some_and(|name| edit_tools.contains(&name));
    let input = ["tool_input", "toolInput", "toolArgs"]
        .iter()
        .find_map(|name| payload.object().object(name));
    describe_input(event, input.as_ref(), edits);
    if event.event == EventKind::ToolFinish {
        let is_set = |object: &Object<'_>, name: &str| object.flag(name) == Some(true);
        event.duration_ms = ["duration_ms", "durationMs"]
            .iter()
            .find_map(|name| payload.object().number(name))
            .and_then(|duration| u64::try_from(duration).ok());
        event.interrupted = is_set(payload.object(), "is_interrupt");
        let goes_on = input.is_some_and(|input| {
            ["run_in_background", "is_background"]
                .iter()
                .any(|name| is_set(&input, name))
        });
        event.background = goes_on.then_some(true);
    }
}

/// Adds what the input of a named tool says: the files of one that edits, else the command line that it runs.
pub fn describe_input(event: &mut Event, input: Option<&Object<'_>>, edits: bool) {
    event.paths = input.filter(|_| edits).map(named_files).unwrap_or_default();
    event.tool_kind = tool_kind(event);
    let line = input.and_then(command_line);
    event.is_command = line.as_deref().is_some_and(is_own_line);
    event.tool_command = line.filter(|_| !edits);
}

/// Returns the command line of a tool's input, which is one text, a list of words, or a list of lines.
fn command_line(input: &Object<'_>) -> Option<String> {
    let joined = |name, between| Some(input.texts(name).join(between));
    let line = input.text("command");
    line.or_else(|| joined("command", " ").filter(|line| !line.is_empty()))
        .or_else(|| joined("commands", "\n").filter(|line| !line.is_empty()))
}

/// The tools of any agent that change no file: they read, search, plan or ask.
const READING_TOOLS: [&str; 32] = [
    "Read",
    "Grep",
    "Glob",
    "LS",
    "WebFetch",
    "WebSearch",
    "TodoWrite",
    "TodoRead",
    "AskUserQuestion",
    "EnterPlanMode",
    "ExitPlanMode",
    "read",
    "grep",
    "glob",
    "list",
    "ls",
    "find",
    "view",
    "webfetch",
    "websearch",
    "todowrite",
    "todoread",
    "question",
    "read_file",
    "read_many_files",
    "list_directory",
    "search_file_content",
    "grep_search",
    "google_web_search",
    "web_fetch",
    "update_plan",
    "todo_write",
];

/// The reach of a tool: the files that it names, nothing if it only reads, else anything.
fn tool_kind(event: &Event) -> Option<ToolKind> {
    if !event.paths.is_empty() {
        return Some(ToolKind::Edit);
    }
    let name = event.tool_name.as_deref()?;
    only_reads(name).then_some(ToolKind::Read)
}

fn only_reads(name: &str) -> bool {
    READING_TOOLS.contains(&name)
}

/// Returns whether something of the agent's runs in the background at the end of a turn, if it says.
fn has_tasks(payload: &Payload<'_>) -> Option<bool> {
    const TASKS: &str = "background_tasks";
    let is_told = payload.object().has(TASKS);
    is_told.then(|| !payload.object().objects(TASKS).is_empty())
}

/// Returns the files that an edit tool's input names.
fn named_files(input: &Object<'_>) -> Vec<PathBuf> {
    let patches = ["command", "patch", "patchText", "input"]
        .iter()
        .filter_map(|name| input.text(name));
    named_paths(input)
        .into_iter()
        .chain(patches.flat_map(|patch| files_of_patch(&patch)))
        .collect()
}

/// Returns the paths in the fields of a tool's input that hold one.
pub fn named_paths(input: &Object<'_>) -> Vec<PathBuf> {
    let named = PATH_NAMES
        .iter()
        .filter_map(|name| input.text(name))
        .filter(|path| !path.is_empty());
    named.map(PathBuf::from).collect()
}

/// Returns the files that a patch in Codex's format names; empty if the text is no such patch.
fn files_of_patch(patch: &str) -> Vec<PathBuf> {
    patch.lines().filter_map(file_of_line).collect()
}

/// Returns the file that a line of such a patch names.
fn file_of_line(line: &str) -> Option<PathBuf> {
    let heads = [
        "*** Add File: ",
        "*** Update File: ",
        "*** Delete File: ",
        "*** Move to: ",
    ];
    let path = heads.iter().find_map(|head| line.strip_prefix(head))?;
    Some(PathBuf::from(path.trim_end()))
}

/// Returns an id for a batch of tool calls, by which a second report of the same batch is recognized.
///
/// A batch has no id, but each of its tool calls belongs to only this batch.
fn batch_id(calls: &[Object<'_>]) -> Option<String> {
    let first = calls
        .first()?
        .text("tool_use_id")
        .filter(|id| !id.is_empty())?;
    Some(format!("batch:{first}"))
}

/// How the answer to a call begins that was refused before the tool ran: its input did not fit, the text to replace is
/// not there, or there is no such tool. No event reports such a call
/// (`tests/fixtures/agents/claude-code-2.1.329-refused`).
const REFUSED: &str = "<tool_use_error>";

/// How an answer of the same kind begins where the agent itself failed, perhaps after the tool had begun.
const FAILED: &str = "<tool_use_error>Error calling tool";

/// Returns whether a call was refused before the tool ran.
fn was_refused(call: &Object<'_>) -> bool {
    let begins = |text: &str| call.text_begins("tool_response", text);
    begins(REFUSED) && !begins(FAILED)
}

/// Returns one of the tools that a batch ran. One of our own commands counts as reading: what it changes is in its
/// operation.
fn tool_use(call: &Object<'_>, edit_tools: &[&str]) -> Option<ToolUse> {
    let tool_use_id = call.text("tool_use_id").filter(|id| !id.is_empty())?;
    let tool_name = call.text("tool_name");
    let edits = tool_name
        .as_deref()
        .is_some_and(|name| edit_tools.contains(&name));
    let input = call.object("tool_input");
    let paths = input
        .as_ref()
        .filter(|_| edits)
        .map(named_files)
        .unwrap_or_default();
    let line = input.as_ref().and_then(command_line).filter(|_| !edits);
    let changes_nothing = tool_name.as_deref().is_some_and(only_reads)
        || line.as_deref().is_some_and(is_own_line)
        || was_refused(call);
    let edit = (!paths.is_empty()).then_some(ToolKind::Edit);
    Some(ToolUse {
        tool_use_id,
        tool_name,
        tool_command: line,
        tool_kind: changes_nothing.then_some(ToolKind::Read).or(edit),
        paths,
    })
}

/// What Gemini CLI and Qwen Code put between a prompt and the files that it names.
const FILES: &str = "--- Content from referenced files ---";

/// The tags of what Qwen Code says to its model before a prompt, as in 0.24.4 of a background agent that it restored.
const REMINDER: [&str; 2] = ["<system-reminder>", "</system-reminder>"];

/// Returns the part of a prompt that the user typed. Gemini CLI and Qwen Code tell their hooks of what they add with other ends of
/// lines than their records have.
pub fn typed(prompt: &str) -> &str {
    let [begin, end] = REMINDER;
    let mut typed = prompt.trim();
    while let Some((_, rest)) = typed.strip_prefix(begin).and_then(|it| it.split_once(end)) {
        typed = rest.trim_start();
    }
    let files = typed.find(FILES);
    typed[..files.unwrap_or(typed.len())].trim_end()
}

/// Leaves of a message what was typed, where its agent added to it.
pub fn as_typed(mut event: Event) -> Event {
    if let Some(prompt) = &mut event.prompt {
        let part = typed(prompt);
        if part.len() < prompt.trim().len() {
            *prompt = part.to_owned();
        }
    }
    event
}

/// Returns whether no user wrote the prompt: the end of a background task is reported as a prompt.
pub fn is_machine_made(payload: &Payload<'_>) -> bool {
    let prompt = payload.prompt(&["prompt"]).unwrap_or_default();
    is_of_machine(&prompt)
        || payload
            .text(&["source"])
            .is_some_and(|source| source == "system")
}

/// Returns whether a prompt is a note that an agent writes to itself.
pub fn is_of_machine(prompt: &str) -> bool {
    let notes = ["<task-notification>", "<system_notification>"];
    let prompt = prompt.trim_start();
    notes.iter().any(|note| prompt.starts_with(note))
}

/// Returns whether an event is no point to go back to: a sub-agent's prompt is its parent's text, no user wrote the note
/// of a background task, and a compaction comes in the middle of the work, where a session's start would end the open
/// step.
pub fn is_of_machines(payload: &Payload<'_>, event: &Event) -> bool {
    match event.event {
        EventKind::UserMessage => event.parent_session_id.is_some() || is_machine_made(payload),
        EventKind::SessionStart => is_compaction(payload),
        _ => false,
    }
}

/// Returns whether a session start only reports that the context was compacted in the middle of the work.
pub fn is_compaction(payload: &Payload<'_>) -> bool {
    payload
        .text(&["source"])
        .is_some_and(|source| source == "compact")
}

/// Returns an event of the same session that is about no tool.
pub fn without_tool(kind: EventKind, event: &Event) -> Event {
    Event {
        event: kind,
        prompt: None,
        tool_name: None,
        tool_command: None,
        tool_use_id: None,
        tool_kind: None,
        tools: Vec::new(),
        duration_ms: None,
        background: None,
        has_told_of_ends: false,
        // The tool may run one of our commands; a message in the same payload is the user's all the same.
        is_command: event.is_command && kind != EventKind::UserMessage,
        paths: Vec::new(),
        ..event.clone()
    }
}

/// Translates a payload in Claude Code's format. A step ends with its tools.
pub fn alike(agent: &Agent, payload: &Payload<'_>) -> Result<Vec<Event>, PayloadError> {
    // Another agent's settings call it by that one's names for its events.
    let name = payload.event_name()?;
    let kind = (agent.kind)(&name).or_else(|| kind(&name));
    let kind = kind.ok_or(PayloadError::UnknownEvent)?;
    let mut event = event(payload, kind, agent.edit_tools)?;
    if kind == EventKind::UserMessage {
        event.prompt = payload.prompt(&[agent.prompt, "prompt"]);
    }
    let event = (agent.adapt)(payload, event);
    Ok(event.map_or_else(Vec::new, bounded_by_tools))
}

/// Returns the events of an agent that reports tools but no steps: a step ends with its tool, or with the last of those
/// that run at the same time, which is why the finish names the tool.
pub fn bounded_by_tools(event: Event) -> Vec<Event> {
    if event.event != EventKind::ToolFinish {
        return vec![event];
    }
    let step_id = event.tool_use_id.as_ref().map(|id| format!("tool:{id}"));
    let tool = event.tool_use_id.clone().map(|tool_use_id| ToolUse {
        tool_use_id,
        tool_name: event.tool_name.clone(),
        tool_command: None,
        paths: event.paths.clone(),
        tool_kind: event.tool_kind,
    });
    let finish = Event {
        event: EventKind::StepFinish,
        step_id,
        tools: tool.into_iter().collect(),
        tool_name: None,
        tool_command: None,
        tool_kind: None,
        duration_ms: None,
        background: None,
        paths: Vec::new(),
        ..event.clone()
    };
    vec![event, finish]
}
