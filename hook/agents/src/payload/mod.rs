//! One payload as an agent's file sees it: the fields, and what the command line and the process add to them.
//!
//! A payload becomes values and nothing else: no file is opened, nothing is recorded, and what a payload says is data
//! that never becomes a path or a command here.

pub mod shape;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ckpt_process::json::{self, Object};
use ckpt_schema::event::{Event, EventKind};

use super::own_command::is_own_command;

/// The longest prompt that is kept, in bytes.
pub(crate) const MAX_PROMPT: usize = 1 << 20;

/// The longest text that is accepted as an id, in bytes.
const MAX_ID: usize = 64 << 10;

/// How many characters of an event's name are quoted.
const MAX_NAME: usize = 64;

/// The names that a payload's field with the event's name has.
const EVENT: [&str; 7] = [
    "hook_event_name",
    "hookEventName",
    "event",
    "hookName",
    "agent_action_name",
    "hook",
    "event_type",
];

/// The names that a payload's field with the session's id has.
const SESSION: [&str; 5] = [
    "session_id",
    "sessionId",
    "conversation_id",
    "conversationId",
    "trajectory_id",
];

/// The agents whose payloads name no session.
const UNNAMED: [&str; 1] = ["kiro"];

/// What the hook process knows besides the payload.
pub struct PayloadContext<'a> {
    /// The hook's own working directory, for payloads that name none.
    pub cwd: &'a Path,
    /// The environment, by name.
    pub environment: &'a dyn Fn(&str) -> Option<OsString>,
    /// The first line of a file that the payload names. It says whose session it is if the payload does not.
    pub first_line: &'a dyn Fn(&Path) -> Option<String>,
    /// The whole lines at the end of a file of the agent's; none if it is not there.
    pub last_lines: &'a dyn Fn(&Path) -> Vec<String>,
    /// The names in a folder of the agent's; none if it is not there.
    pub names_in: &'a dyn Fn(&Path) -> Vec<String>,
    /// The id of the agent's process, if the system tells.
    pub agent_process: &'a dyn Fn() -> Option<u32>,
}

/// The meaning of a payload.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// The events, in order; empty if the payload means nothing to us.
    pub events: Vec<Event>,
    /// What was wrong with the payload, for `diagnostics`; it never quotes the payload.
    pub problems: Vec<String>,
    /// The name of an event that means nothing here, for debugging: agents send many of them.
    pub unknown: Option<String>,
}

/// An agent whose payloads we understand. Each states in what it differs from [`PLAIN`].
pub struct Agent {
    /// The name that settings and the command line use.
    pub name: &'static str,
    /// The versions of the agent with which the translation was seen to work; empty if it follows documentation alone.
    pub proven_on: &'static [&'static str],
    /// The output at a user message from which the model reads a line with it; `None` if the agent documents no way to
    /// do so.
    pub tell: fn(&str) -> Option<String>,
    /// Whether it shows its user the `systemMessage` of a hook at the end of a turn.
    pub shows: bool,
    /// Whether the agent was seen to report every tool that may change a file before it runs, so that it changes nothing
    /// while none runs. If no event of that came before, its first event of a tool says so.
    pub tells_of_tools: bool,
    /// The meaning of a payload of the agent.
    pub translate: fn(&Self, &Payload<'_>) -> Result<Vec<Event>, PayloadError>,
    /// Its own names for events, beside the usual ones.
    pub kind: fn(&str) -> Option<EventKind>,
    /// The field with the text of a message, besides `prompt`.
    pub prompt: &'static str,
    /// Its tools that write to the one file that they name.
    pub edit_tools: &'static [&'static str],
    /// What else differs. `None` for a payload that says nothing.
    pub adapt: fn(&Payload<'_>, Event) -> Option<Event>,
}

/// An agent with Claude Code's payloads.
pub const PLAIN: Agent = Agent {
    name: "",
    proven_on: &[],
    tell: |_| None,
    shows: false,
    tells_of_tools: false,
    translate: shape::alike,
    kind: shape::kind,
    prompt: "prompt",
    edit_tools: &["Write", "Edit", "MultiEdit", "NotebookEdit"],
    adapt: |_, event| Some(event),
};

impl Agent {
    /// Returns the meaning of a payload of the agent.
    pub fn translate(&self, payload: &Payload<'_>) -> Result<Vec<Event>, PayloadError> {
        (self.translate)(self, payload)
    }
}

/// A payload of one agent.
#[derive(Clone, Copy)]
pub struct Payload<'a> {
    agent: &'static str,
    event: Option<&'a str>,
    object: &'a Object<'a>,
    context: &'a PayloadContext<'a>,
}

/// What is wrong with a payload of a kind that we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadError {
    /// A field that is needed is missing or of another type.
    Field(&'static str),
    /// The event has no name, neither in the payload nor on the command line.
    NoEvent,
    /// The event means nothing to us, and is skipped.
    UnknownEvent,
}

/// Reads a payload and translates it. What cannot be read costs as little as possible.
pub fn parse(
    agent: &'static str,
    event: Option<&str>,
    payload: &[u8],
    context: &PayloadContext<'_>,
    translate: &dyn Fn(&Payload<'_>) -> Result<Vec<Event>, PayloadError>,
) -> Parsed {
    let text = String::from_utf8_lossy(payload);
    let read = |object: &Object<'_>| {
        let payload = Payload {
            agent,
            event,
            object,
            context,
        };
        translated(&payload, translate)
    };
    let (object, is_whole) = Object::read(&text);
    if is_whole {
        return read(&object);
    }
    // Only now: this copies the payload, and hardly any agent needs it.
    let text = json::repaired(&text);
    let (object, is_whole) = Object::read(&text);
    let mut parsed = read(&object);
    if !is_whole {
        parsed.problems.insert(0, breakage(agent, payload));
    }
    parsed
}

fn breakage(agent: &str, payload: &[u8]) -> String {
    let what = if payload.is_empty() {
        "is empty"
    } else {
        "is not a whole JSON object"
    };
    format!("the payload of `{agent}` {what}")
}

fn translated(
    payload: &Payload<'_>,
    translate: &dyn Fn(&Payload<'_>) -> Result<Vec<Event>, PayloadError>,
) -> Parsed {
    match translate(payload) {
        Ok(mut events) => {
            if events.iter().any(is_typed_command) {
                events.retain(is_typed_command);
                events.iter_mut().for_each(|event| event.is_command = true);
            }
            Parsed {
                events,
                ..Parsed::default()
            }
        }
        Err(problem @ PayloadError::UnknownEvent) => Parsed {
            unknown: Some(payload.describe(problem)),
            ..Parsed::default()
        },
        Err(problem) => Parsed {
            problems: vec![payload.describe(problem)],
            ..Parsed::default()
        },
    }
}

/// A command to us is not a message to the agent. That there was one is passed on, because the agent's model may run
/// it.
fn is_typed_command(event: &Event) -> bool {
    event.event == EventKind::UserMessage && event.prompt.as_deref().is_some_and(is_own_command)
}

impl<'a> Payload<'a> {
    /// Returns the agent's name of the event: the command line's, else the payload's.
    pub fn event_name(&self) -> Result<String, PayloadError> {
        let given = self
            .event
            .filter(|event| !event.is_empty())
            .map(str::to_owned);
        given
            // The command line comes first: Copilot CLI's payloads name no event, and Cline's call it otherwise than
            // its settings.
            .or_else(|| self.text(&EVENT))
            .ok_or(PayloadError::NoEvent)
    }

    /// Returns the agent's id of the session.
    pub fn session_id(&self) -> Result<String, PayloadError> {
        let id = self.id(&SESSION).or_else(|| self.process_session());
        id.ok_or(PayloadError::Field("session_id"))
    }

    /// The session of an agent that names none is its process.
    fn process_session(&self) -> Option<String> {
        let process = UNNAMED
            .contains(&self.agent)
            .then_some(self.context.agent_process)?()?;
        Some(format!("process-{process}"))
    }

    /// Returns the payload as one of another agent than the command line says. What that line calls the event was written
    /// for that one, so the payload's own name comes first.
    pub fn of_agent(&self, agent: &'static str) -> Self {
        let event = self.event.filter(|_| self.text(&EVENT).is_none());
        Self {
            agent,
            event,
            ..*self
        }
    }

    /// The agent: as the command line says, or as it was found out.
    pub fn agent(&self) -> &'static str {
        self.agent
    }

    /// Returns the first of these fields that is a string and not empty.
    pub fn text(&self, names: &[&str]) -> Option<String> {
        names
            .iter()
            .find_map(|name| self.object.text(name).filter(|text| !text.is_empty()))
    }

    /// Returns the first of these fields that can be an id.
    pub fn id(&self, names: &[&str]) -> Option<String> {
        self.text(names).filter(|id| id.len() <= MAX_ID)
    }

    /// Returns the first of these fields as a prompt, cut to a length that can be kept; an empty one is a prompt, too.
    pub fn prompt(&self, names: &[&str]) -> Option<String> {
        names
            .iter()
            .find_map(|name| self.object.text(name))
            .map(|prompt| self.cut(prompt))
    }

    /// Returns a prompt, cut at a character's end to a length that can be kept.
    pub fn cut(&self, mut prompt: String) -> String {
        prompt.truncate(prompt.floor_char_boundary(MAX_PROMPT));
        prompt
    }

    /// Returns the fields as they are.
    pub fn object(&self) -> &Object<'a> {
        self.object
    }

    /// The knowledge of the process.
    pub fn context(&self) -> &PayloadContext<'a> {
        self.context
    }

    /// Returns an event of this agent at the payload's directory.
    pub fn new_event(&self, kind: EventKind, session_id: &str) -> Event {
        Event {
            cwd: Some(self.cwd()),
            roots: self.further_roots(),
            ..Event::new(kind, self.agent, session_id)
        }
    }

    /// Returns an event of a session, or of the sub-agent that works in it.
    pub fn session_event(
        &self,
        kind: EventKind,
        session_id: String,
        agent_id: Option<String>,
    ) -> Event {
        let Some(agent_id) = agent_id else {
            return self.new_event(kind, &session_id);
        };
        let mut event = self.new_event(kind, &format!("{session_id}/{agent_id}"));
        event.parent_session_id = Some(session_id);
        event
    }

    /// Returns the agent's directory: the payload's, else its first workspace root, else the hook's own.
    fn cwd(&self) -> PathBuf {
        let named = || self.text(&["cwd", "working_dir"]);
        named()
            // Cursor runs the user's hooks in its own folder, so the hook's directory is the last resort.
            .or_else(|| self.workspace_root())
            .map_or_else(|| self.context.cwd.to_owned(), PathBuf::from)
    }

    fn workspace_root(&self) -> Option<String> {
        self.workspace_roots().next()
    }

    fn workspace_roots(&self) -> impl Iterator<Item = String> {
        let names = ["workspace_roots", "workspaceRoots", "workspacePaths"].into_iter();
        let roots = names.flat_map(|name| self.object.texts(name));
        roots.filter(|root| !root.is_empty())
    }

    /// Returns the workspace roots besides the agent's directory.
    fn further_roots(&self) -> Vec<PathBuf> {
        let cwd = self.cwd();
        let mut roots: Vec<PathBuf> = self.workspace_roots().map(PathBuf::from).collect();
        roots.retain(|root| *root != cwd);
        roots
    }

    fn describe(&self, problem: PayloadError) -> String {
        let agent = self.agent;
        match problem {
            PayloadError::NoEvent => format!("the payload of `{agent}` does not name its event"),
            PayloadError::UnknownEvent => {
                let event = self.event_name().unwrap_or_default();
                let event: String = event.chars().take(MAX_NAME).collect();
                format!(
                    "`{}` is no event of `{agent}` that is recorded",
                    event.escape_debug()
                )
            }
            PayloadError::Field(field) => {
                // The command line's name is ours; a payload's is not quoted.
                let event = self.event.map_or_else(
                    || "an event".to_owned(),
                    |event| format!("`{}`", event.escape_debug()),
                );
                format!("{event} of `{agent}` came without a usable `{field}`")
            }
        }
    }
}
