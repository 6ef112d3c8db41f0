//! The Agent Client Protocol: what the lines mean that an editor and an agent send each other. Any other line means nothing.
//!
//! The agent does not wait for its client before a tool, so the steps are the turns: what changes between a prompt and its answer is
//! the agent's. The tools only give the step a name.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ckpt_schema::event::{Event, EventKind, ToolUse};
use serde_json::Value;

use crate::payload::MAX_PROMPT;

/// A connection, with what was asked in it and is not answered yet.
#[derive(Debug)]
pub struct AcpConnection {
    agent: String,
    directories: BTreeMap<String, PathBuf>,
    /// By the request's id.
    new_sessions: BTreeMap<String, PathBuf>,
    /// Sessions with a turn, by the request's id.
    turns: BTreeMap<String, String>,
    /// The tools of each session's turn.
    tools: BTreeMap<String, Vec<ToolUse>>,
}

impl AcpConnection {
    /// A connection with the agent of that name.
    pub fn new(agent: &str) -> Self {
        Self {
            agent: agent.to_owned(),
            directories: BTreeMap::new(),
            new_sessions: BTreeMap::new(),
            turns: BTreeMap::new(),
            tools: BTreeMap::new(),
        }
    }

    /// Returns the meaning of a line of the editor.
    pub fn hear_editor(&mut self, line: &[u8]) -> Vec<Event> {
        let Ok(told) = serde_json::from_slice::<Value>(line) else {
            return Vec::new();
        };
        let asked = &told["params"];
        let session = asked["sessionId"].as_str();
        let directory = asked["cwd"].as_str().map(PathBuf::from);
        match (told["method"].as_str(), session, directory) {
            (Some("session/new" | "session/fork"), _, Some(directory)) => {
                self.new_sessions.insert(told["id"].to_string(), directory);
                Vec::new()
            }
            (Some("session/load" | "session/resume"), Some(session), Some(directory)) => {
                self.begin(session, directory)
            }
            (Some("session/prompt"), Some(session), _) => {
                self.turns
                    .insert(told["id"].to_string(), session.to_owned());
                let parts = asked["prompt"].as_array().into_iter().flatten();
                let texts: Vec<_> = parts.filter_map(|part| part["text"].as_str()).collect();
                let mut prompt = texts.join("\n");
                prompt.truncate(prompt.floor_char_boundary(MAX_PROMPT));
                let message = Event {
                    prompt: Some(prompt),
                    ..self.event(EventKind::UserMessage, session)
                };
                vec![message, self.event(EventKind::StepStart, session)]
            }
            _ => Vec::new(),
        }
    }

    /// Returns the meaning of a line of the agent. Old turns, which it repeats while it loads a session, mean nothing.
    pub fn hear_agent(&mut self, line: &[u8]) -> Vec<Event> {
        let Ok(told) = serde_json::from_slice::<Value>(line) else {
            return Vec::new();
        };
        match told["method"].as_str() {
            Some("session/update") => {
                let session = told["params"]["sessionId"].as_str();
                let is_turn = |it: &&str| self.turns.values().any(|turn| turn == it);
                if let Some(session) = session.filter(is_turn) {
                    self.update(session, &told["params"]["update"]);
                }
                Vec::new()
            }
            Some(_) => Vec::new(),
            None => {
                let id = told["id"].to_string();
                if let Some(session) = self.turns.remove(&id) {
                    return self.finish(&session);
                }
                let session = told["result"]["sessionId"].as_str();
                match (self.new_sessions.remove(&id), session) {
                    (Some(directory), Some(session)) => self.begin(session, directory),
                    _ => Vec::new(),
                }
            }
        }
    }

    /// Returns the events for the turns that were unanswered when the agent ended.
    pub fn end(&mut self) -> Vec<Event> {
        let turns = std::mem::take(&mut self.turns);
        turns.values().flat_map(|it| self.finish(it)).collect()
    }

    fn begin(&mut self, session: &str, directory: PathBuf) -> Vec<Event> {
        self.directories.insert(session.to_owned(), directory);
        vec![self.event(EventKind::SessionStart, session)]
    }

    fn finish(&mut self, session: &str) -> Vec<Event> {
        let step = Event {
            tools: self.tools.remove(session).unwrap_or_default(),
            ..self.event(EventKind::StepFinish, session)
        };
        vec![step, self.event(EventKind::TurnEnd, session)]
    }

    /// Notes a tool, which is told of as often as something about it changes.
    fn update(&mut self, session: &str, update: &Value) {
        let text = |name: &str| update[name].as_str().map(str::to_owned);
        let Some(tool_use_id) = text("toolCallId") else {
            return;
        };
        let tools = self.tools.entry(session.to_owned()).or_default();
        if tools.iter().all(|tool| tool.tool_use_id != tool_use_id) {
            tools.push(ToolUse {
                tool_use_id,
                tool_name: text("kind").or_else(|| text("title")),
                tool_command: None,
                paths: Vec::new(),
                tool_kind: None,
            });
        }
    }

    fn event(&self, kind: EventKind, session: &str) -> Event {
        Event {
            cwd: self.directories.get(session).cloned(),
            ..Event::new(kind, &self.agent, session)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Plays lines of the editor (`true`) and the agent, and returns the kinds of events.
    fn played(connection: &mut AcpConnection, lines: &[(bool, Value)]) -> Vec<&'static str> {
        let events = lines.iter().flat_map(|(is_editor, line)| {
            let line = line.to_string();
            match is_editor {
                true => connection.hear_editor(line.as_bytes()),
                false => connection.hear_agent(line.as_bytes()),
            }
        });
        events.map(|event| event.event.name()).collect()
    }

    fn update(id: &str, status: &str) -> Value {
        json!({"method": "session/update", "params": {"sessionId": "s", "update":
            {"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status}}})
    }

    #[test]
    fn turns_are_steps_that_name_their_tools() {
        let mut connection = AcpConnection::new("auggie");
        let prompt = json!({"id": "1", "method": "session/prompt", "params": {"sessionId": "s",
            "prompt": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]}});
        let lines = [
            (
                true,
                json!({"id": 1, "method": "session/new", "params": {"cwd": "/w"}}),
            ),
            (false, json!({"id": 1, "result": {"sessionId": "s"}})),
            (true, prompt.clone()),
            (false, update("t", "pending")),
            (false, update("t", "completed")),
        ];
        let expected = ["session_start", "user_message", "step_start"];
        assert_eq!(played(&mut connection, &lines), expected);
        let answer = json!({"id": "1", "result": {"stopReason": "end_turn"}});
        let [step, turn] = &connection.hear_agent(answer.to_string().as_bytes())[..] else {
            panic!("the step ends, and the turn");
        };
        assert_eq!(
            (step.event, turn.event),
            (EventKind::StepFinish, EventKind::TurnEnd)
        );
        let tools: Vec<_> = step.tools.iter().map(|tool| &*tool.tool_use_id).collect();
        assert_eq!(tools, ["t"], "once");
        assert!(connection.end().is_empty(), "nothing is open");
        let told = connection.hear_editor(prompt.to_string().as_bytes());
        assert_eq!(told[0].prompt.as_deref(), Some("a\nb"));
        assert_eq!(told[0].cwd, Some(PathBuf::from("/w")));
        assert_eq!(connection.end().len(), 2, "the turn that was not answered");
    }

    #[test]
    fn other_lines_mean_nothing() {
        let mut connection = AcpConnection::new("x");
        let lines = [
            (true, json!([])),
            (
                true,
                json!({"id": 1, "method": "session/prompt", "params": null}),
            ),
            (
                true,
                json!({"id": 2, "method": "session/new", "params": {"cwd": 3}}),
            ),
            (false, json!({"id": 2, "error": {"code": 1}})),
            (false, json!({"id": null, "result": {"sessionId": "s"}})),
            // A session that is loaded tells of its old turns.
            (
                true,
                json!({"id": 3, "method": "session/load", "params": {"sessionId": "s", "cwd": "/w"}}),
            ),
            (false, update("t", "completed")),
        ];
        assert_eq!(played(&mut connection, &lines), ["session_start"]);
        for line in [&b""[..], b"\xff\n", b"{", b"null\n"] {
            assert!(connection.hear_editor(line).is_empty());
            assert!(connection.hear_agent(line).is_empty());
        }
    }
}
