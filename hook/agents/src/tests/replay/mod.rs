//! Recorded conversations, payload by payload, as the events that we make of them.
//!
//! A line is a payload that means something: its number in the recording, and what it means. Ids are shortened in the
//! order in which they come: `s1` is a session, `s1/a` a sub-agent's, `t1` a turn, `m1` a message. The lines of a recording
//! are in its folder, in `events.txt`; `UPDATE_EXPECT=1` writes them anew.

mod claude_code;
mod copilot_cli;
mod qwen_code;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;

use ckpt_schema::event::Event;
use expect_test::expect_file;
use serde_json::Value;

use super::*;

/// The recordings, each with the agent that sent it.
pub const RECORDINGS: &[(&str, &str)] = &[
    ("claude-code", "claude-code-2.1.329"),
    ("claude-code", "claude-code-2.1.329-interactive"),
    ("claude-code", "claude-code-2.1.329-queued-message"),
    ("claude-code", "claude-code-2.1.329-refused"),
    ("claude-code", "claude-code-2.1.332"),
    ("codex", "codex-0.169.0"),
    ("codex", "codex-0.169.0-interactive-interrupt"),
    ("codex", "codex-0.169.0-interrupt"),
    ("codex", "codex-0.169.0-subagent"),
    ("codex", "codex-0.171.0"),
    ("gemini-cli", "gemini-cli-0.61.0"),
    ("gemini-cli", "gemini-cli-0.61.0-interactive-interrupt"),
    ("qwen-code", "qwen-code-0.24.4"),
    ("qwen-code", "qwen-code-0.24.4-interactive-interrupt"),
    ("copilot-cli", "copilot-cli-1.0.102"),
    ("copilot-cli", "copilot-cli-1.0.102-interactive-steer"),
    ("opencode", "opencode-1.18.33"),
    ("kilo", "kilo-7.7.7"),
    ("cline", "cline-cli-3.0.65"),
    ("cline", "cline-cli-3.0.65-interactive-steer"),
    ("pi", "pi-0.73.1"),
    ("pi", "pi-1.6.0"),
    ("grok", "grok-1.0.41"),
    ("kimi-code", "kimi-code-2.1.0"),
    ("codebuddy", "codebuddy-2.163.0"),
    ("droid", "droid-0.225.2"),
];

/// What the payloads of a recording mean.
fn meaning(agent: &str, folder: &str) -> String {
    let mut names = Names::default();
    let mut plugin = Plugin::default();
    let mut lines = String::new();
    for (number, event, payload) in recording(folder) {
        let payload = plugin.hand_on(payload);
        let context = PayloadContext {
            cwd: Path::new("/workspace"),
            ..context_of(&|_| None)
        };
        let parsed = parse(agent, Some(&event), &payload, &context);
        assert_eq!(
            parsed.problems,
            Vec::<String>::new(),
            "{folder}/{number}-{event} is a payload of the real agent"
        );
        for event in parsed.events {
            writeln!(lines, "{number} {}", names.line(&event, agent)).expect("a string takes all");
        }
    }
    lines
}

/// Invariant `truth/prompts`: A prompt made by a program is not a user message.
#[test]
fn every_recording_means_what_its_folder_says() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/agents");
    for (agent, folder) in RECORDINGS {
        let expected = fixtures.join(folder).join("events.txt");
        expect_file![expected].assert_eq(&meaning(agent, folder));
    }
    let folders = fs::read_dir(fixtures).expect("the recordings are in the repository");
    assert_eq!(folders.count(), RECORDINGS.len(), "each is replayed");
}

/// Returns the payloads of a recording in order: number, name of the event, bytes.
pub fn recording(folder: &str) -> Vec<(String, String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures/agents")
        .join(folder);
    let files = fs::read_dir(&folder).expect("the recordings are in the repository");
    let mut names: Vec<_> = files
        .map(|file| {
            file.expect("readable")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .collect();
    names.retain(|name| name.ends_with(".json"));
    names.sort();
    let payload = |name: String| {
        let (number, event) = name
            .trim_end_matches(".json")
            .split_once('-')
            .expect("NUMBER-EVENT.json");
        (
            number.to_owned(),
            event.to_owned(),
            fs::read(folder.join(&name)).expect("readable"),
        )
    };
    names.into_iter().map(payload).collect()
}

/// What our plugin for opencode remembers and adds: the parents of sub-agents' sessions.
#[derive(Default)]
struct Plugin(HashMap<String, String>);

impl Plugin {
    fn hand_on(&mut self, payload: Vec<u8>) -> Vec<u8> {
        let Ok(Value::Object(mut told)) = serde_json::from_slice(&payload) else {
            return payload;
        };
        let at = |path: &str| {
            Value::Object(told.clone())
                .pointer(path)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        if let (Some(id), Some(parent)) = (
            at("/event/properties/info/id"),
            at("/event/properties/info/parentID"),
        ) {
            self.0.insert(id, parent);
        }
        let places = [
            "/input/sessionID",
            "/event/properties/sessionID",
            "/event/properties/part/sessionID",
        ];
        let Some(parent) = places.iter().find_map(|place| self.0.get(&at(place)?)) else {
            return payload;
        };
        told.insert("parentID".to_owned(), parent.clone().into());
        serde_json::to_vec(&told).expect("it was read from JSON")
    }
}

/// Short names for long ids.
#[derive(Default)]
struct Names(HashMap<String, String>);

impl Names {
    fn short(&mut self, prefix: char, id: &str) -> String {
        let count = self
            .0
            .values()
            .filter(|name| name.starts_with(prefix) && !name.contains('/'))
            .count()
            + 1;
        self.0
            .entry(format!("{prefix}{id}"))
            .or_insert_with(|| format!("{prefix}{count}"))
            .clone()
    }

    fn session(&mut self, id: &str) -> String {
        match id.split_once('/') {
            None => self.short('s', id),
            Some((root, sub)) => {
                let root = self.short('s', root);
                let sub = self.short('a', sub);
                format!("{root}/{sub}")
            }
        }
    }

    fn line(&mut self, event: &Event, agent: &str) -> String {
        assert_eq!(event.agent, agent, "every event names its agent");
        let mut line = format!(
            "{:13} {}",
            event.event.name(),
            self.session(&event.session_id)
        );
        let parent = event
            .parent_session_id
            .as_ref()
            .map(|parent| format!("below {}", self.session(parent)));
        let message = event.message_id.as_ref().map(|id| self.short('m', id));
        let turn = event.turn_id.as_ref().map(|id| self.short('t', id));
        let prompt = event.prompt.as_ref().map(|prompt| format!("{prompt:?}"));
        let cwd = event
            .cwd
            .as_ref()
            .filter(|cwd| cwd.as_os_str() != "/workspace")
            .map(|cwd| format!("in {}", cwd.display()));
        let paths = (!event.paths.is_empty()).then(|| format!("{:?}", event.paths));
        let command = event
            .tool_command
            .as_ref()
            .map(|command| format!("$ {command:?}"));
        let step = event.step_id.clone();
        let tool = event.tool_name.clone();
        for part in [
            parent,
            message,
            turn,
            step,
            tool,
            event.tool_use_id.clone(),
            command,
            paths,
            prompt,
            cwd,
        ]
        .into_iter()
        .flatten()
        {
            line.push(' ');
            line.push_str(&part);
        }
        line
    }
}
