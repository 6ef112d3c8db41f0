//! What the real agents sent, as it is handed to the hook: a folder of payloads each, in the order in which they came.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use testing::binary::Sandbox;

/// The workspace of the recordings.
const RECORDED: &str = "/workspace";

/// The names that the agents have for a message of the user.
const MESSAGES: [&str; 5] = [
    "UserPromptSubmit",
    "userPromptSubmitted",
    "BeforeAgent",
    "chat.message",
    "before_agent_start",
];

/// One recorded payload.
pub struct Payload {
    /// The agent's own name of the event.
    pub event: String,
    /// What was sent.
    pub json: Value,
}

impl Payload {
    /// Returns whether the user wrote it, not an agent to its sub-agent, nor a machine.
    pub fn is_message(&self) -> bool {
        if self.event == "TaskStart" {
            return self.json["parent_agent_id"].is_null();
        }
        // `droid exec` reports no prompt: each run is a message without words.
        if self.event == "SessionStart" && !self.json["CLAUDE_ENV_FILE"].is_null() {
            return true;
        }
        // The user's begin with the mark of the script; one is sent within quotes.
        let is_users = self
            .words()
            .is_some_and(|words| words.trim_start_matches('"').starts_with("TURN-"));
        MESSAGES.contains(&self.event.as_str()) && is_users
    }

    /// Returns what was written, where the agent tells.
    pub fn words(&self) -> Option<&str> {
        let at = [
            "/prompt",
            "/prompt/0/text",
            "/event/prompt",
            "/output/parts/0/text",
            "/userPromptSubmit/prompt",
        ];
        let words = at.iter().find_map(|at| self.text(at))?;
        // Cline puts a tag around them.
        let tagged = words.strip_prefix("<user_input mode=\"act\">");
        Some(tagged.map_or(words, |rest| rest.trim_end_matches("</user_input>")))
    }

    /// Returns what a tool is given that begins now.
    pub fn tool_input(&self) -> Option<&Value> {
        let at: &[&str] = match self.event.as_str() {
            "PreToolUse" => &["/tool_input", "/tool_call/input"],
            "BeforeTool" => &["/tool_input"],
            "preToolUse" => &["/toolArgs"],
            "tool.execute.before" => &["/output/args"],
            "tool_call" => &["/event/input"],
            _ => return None,
        };
        let found = at.iter().find_map(|at| self.json.pointer(at));
        Some(found.unwrap_or_else(|| panic!("a tool without an input: {}", self.json)))
    }

    /// Returns the id of the tool's use, where the agent gives one.
    pub fn tool_use(&self) -> Option<&str> {
        let at = [
            "/tool_use_id",
            "/tool_call_id",
            "/tool_call/id",
            "/tool_result/id",
            "/input/callID",
            "/event/toolCallId",
        ];
        at.iter().find_map(|at| self.text(at))
    }

    /// Returns the turn that it belongs to, where a message of the same turn may come while a tool runs.
    pub fn turn(&self) -> Option<&str> {
        self.text("/prompt_id")
    }

    fn text(&self, at: &str) -> Option<&str> {
        self.json.pointer(at)?.as_str()
    }
}

/// Returns a recording, as if it had been made in a workspace of this world.
pub fn read(set: &str, world: &Sandbox) -> Vec<Payload> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/fixtures/agents")
        .join(set);
    let entries = std::fs::read_dir(folder).expect("the recording is there");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("readable").path())
        .collect();
    files.retain(|file| {
        file.extension()
            .is_some_and(|extension| extension == "json")
    });
    files.sort();
    let here = world.workspace();
    let here = here.to_str().expect("a plain path");
    let mut parents = HashMap::new();
    let payload = |file: &PathBuf| {
        let text = std::fs::read_to_string(file)
            .expect("readable")
            .replace(RECORDED, here);
        let name = file
            .file_stem()
            .and_then(|name| name.to_str())
            .expect("a plain name");
        let event = name
            .split_once('-')
            .expect("a number and a name")
            .1
            .to_owned();
        let mut json: Value = serde_json::from_str(&text).expect("JSON");
        add_parent(&mut json, &mut parents);
        Payload { event, json }
    };
    files.iter().map(payload).collect()
}

/// Our plugin for opencode remembers the parents of sub-agents' sessions, and hands them on.
fn add_parent(json: &mut Value, parents: &mut HashMap<String, String>) {
    let text = |at: &str| json.pointer(at).and_then(Value::as_str).map(str::to_owned);
    if let (Some(id), Some(parent)) = (
        text("/event/properties/info/id"),
        text("/event/properties/info/parentID"),
    ) {
        parents.insert(id, parent);
    }
    let places = [
        "/input/sessionID",
        "/event/properties/sessionID",
        "/event/properties/part/sessionID",
    ];
    if let Some(parent) = places.iter().find_map(|at| parents.get(&text(at)?)) {
        json["parentID"] = parent.clone().into();
    }
}
