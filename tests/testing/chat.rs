//! A chat of Claude Code: its events, and its transcript, which is written here as that program does.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::binary::Sandbox;

/// The conversation that every chat begins as.
pub const OLD: &str = "0a0a0a0a-0000-4000-8000-000000000001";

/// A chat: its workspace and its transcript.
pub struct Chat {
    pub world: Sandbox,
    pub folder: PathBuf,
}

impl Chat {
    /// A chat without messages.
    pub fn new() -> Self {
        let world = Sandbox::new();
        let folder = world.home().join(".claude/projects/-w");
        fs::create_dir_all(&folder).expect("writable");
        Self { world, folder }
    }

    /// A chat with three messages, each of which adds a file and writes its number into another.
    pub fn of_three() -> Self {
        let chat = Self::new();
        for number in 1..=3 {
            chat.say(OLD, number);
        }
        chat
    }

    pub fn transcript(&self, session: &str) -> PathBuf {
        self.folder.join(format!("{session}.jsonl"))
    }

    /// Adds entries to a transcript, each after the newest of it.
    pub fn add(&self, session: &str, entries: impl IntoIterator<Item = Value>) {
        let path = self.transcript(session);
        let mut text = fs::read_to_string(&path).unwrap_or_default();
        for mut entry in entries {
            let number = text.lines().count();
            let newest = text.lines().rev().find_map(|line| {
                let entry: Value = serde_json::from_str(line).expect("a line of JSON");
                entry.get("uuid").cloned()
            });
            if entry.get("parentUuid").is_none() && entry["type"] != "mode" {
                entry["parentUuid"] = newest.into();
            }
            if entry["type"] != "mode" && entry.get("uuid").is_none() {
                entry["uuid"] = format!("{session}/{number}").into();
            }
            entry["sessionId"] = session.into();
            text.push_str(&format!("{entry}\n"));
        }
        fs::write(&path, text).expect("writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("our own");
    }

    pub fn event(&self, session: &str, name: &str, more: Value) {
        let mut payload = json!({
            "session_id": session, "transcript_path": self.transcript(session),
            "cwd": self.world.workspace(), "hook_event_name": name,
        });
        for (key, value) in more.as_object().expect("an object") {
            payload[key] = value.clone();
        }
        let words = ["event", "--agent", "claude-code", "--strict"];
        self.world
            .run(&words, payload.to_string().as_bytes())
            .exits(0);
    }

    /// Sends a message and has the agent answer it.
    pub fn say(&self, session: &str, number: u32) {
        let prompt = format!("message {number}");
        let name = format!("prompt-{number}");
        self.event(
            session,
            "UserPromptSubmit",
            json!({"prompt": prompt, "prompt_id": name}),
        );
        let entry = |kind: &str, more: Value| {
            let cwd = self.world.workspace();
            let mut entry =
                json!({"type": kind, "isSidechain": false, "version": "2.1.332", "cwd": cwd});
            for (key, value) in more.as_object().expect("an object") {
                entry[key] = value.clone();
            }
            entry
        };
        self.add(session, [
            json!({"type": "mode", "mode": "normal"}),
            entry("user", json!({"promptId": name, "message": {"role": "user", "content": prompt}})),
            entry("assistant", json!({"message": {"content": [{"type": "text", "text": format!("answer {number}")}]}})),
        ]);
        let tool = json!({"tool_name": "Bash", "tool_use_id": format!("t{number}"), "tool_input": {"command": "make"}, "prompt_id": name});
        self.event(session, "PreToolUse", tool.clone());
        self.world.write(&format!("made-{number}"), "made\n");
        self.world.write("newest", format!("{number}\n"));
        self.event(session, "PostToolUse", tool);
        self.event(
            session,
            "PostToolBatch",
            json!({"prompt_id": name, "tool_calls": []}),
        );
        self.event(session, "Stop", json!({"prompt_id": name}));
    }

    /// Rewinds in the agent itself to just after some of the first messages, and sends another one.
    pub fn rewind(&self, messages: usize, number: u32) {
        let last = self.entries(OLD)[3 * messages - 1]["uuid"].clone();
        let (prompt, name) = (format!("message {number}"), format!("prompt-{number}"));
        self.add(
            OLD,
            [
                json!({"type": "user", "parentUuid": last, "promptId": name, "version": "2.1.332",
                "message": {"content": prompt}}),
            ],
        );
        let sent = json!({"prompt": prompt, "prompt_id": name});
        self.event(OLD, "UserPromptSubmit", sent);
        self.event(OLD, "Stop", json!({"prompt_id": name}));
    }

    /// Begins another conversation as the agent's own fork does: with a copy of the entries up to a message's answer.
    pub fn branch(&self, new: &str, messages: usize) {
        let copied = self.entries(OLD).into_iter().take(3 * messages);
        let copied: Vec<Value> = copied
            .filter(|entry| entry["type"] != "mode")
            .map(|mut entry| {
                entry["forkedFrom"] = json!({"sessionId": OLD, "messageUuid": entry["uuid"]});
                entry["uuid"] = format!("{new}/{}", entry["uuid"]).into();
                entry
                    .as_object_mut()
                    .expect("an object")
                    .remove("parentUuid");
                entry
            })
            .collect();
        self.add(new, copied);
    }

    /// Returns the entries of a transcript.
    pub fn entries(&self, session: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.transcript(session)).expect("it is there");
        text.lines()
            .map(|line| serde_json::from_str(line).expect("a line of JSON"))
            .collect()
    }

    /// Returns what a transcript says in the user's and the agent's words.
    pub fn words(&self, session: &str) -> Vec<String> {
        let of = |entry: &Value| {
            let content = &entry["message"]["content"];
            let text = content.as_str().or(content[0]["text"].as_str());
            text.map(str::to_owned)
        };
        self.entries(session).iter().filter_map(of).collect()
    }

    /// Returns the id of the n-th message, oldest first, with its state.
    pub fn messages(&self) -> Vec<(String, String)> {
        let log = self.world.json(&["log"]);
        let messages = log["messages"].as_array().expect("a list").iter().rev();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        messages
            .map(|message| (text(&message["prompt"]), text(&message["state"])))
            .collect()
    }

    pub fn states(&self) -> Vec<String> {
        self.messages()
            .into_iter()
            .map(|(_, state)| state)
            .collect()
    }

    pub fn fork(&self, message: &str) -> Value {
        self.world
            .json(&["revert", message, "--conversation", "fork"])
    }

    pub fn is_made(&self, number: u32) -> bool {
        self.world
            .workspace()
            .join(format!("made-{number}"))
            .exists()
    }

    pub fn transcripts(&self) -> usize {
        fs::read_dir(&self.folder).expect("it is there").count()
    }
}

/// Returns the conversation that a report names.
pub fn session(report: &Value) -> String {
    let session = report["conversation"]["session"].as_str();
    session
        .unwrap_or_else(|| panic!("it names a conversation: {report:#}"))
        .to_owned()
}

/// Files and conversation of a chat of three are at the same place: neither half went back alone. A world without a chat has
/// no halves.
pub fn assert_agreed(world: &Sandbox, what: &str) {
    let folder = world.home().join(".claude/projects/-w");
    if !folder.is_dir() {
        return;
    }
    let transcript = |session: &str| fs::read_to_string(folder.join(format!("{session}.jsonl")));
    let sessions = world.json(&["sessions"]);
    let present = sessions["sessions"][0]["agent_id"].as_str().expect("an id");
    let words = transcript(present).expect("it is there");
    let is_made = world.workspace().join("made-3").exists();
    assert_eq!(words.contains("message 3"), is_made, "{what}: {sessions:#}");
    let old = transcript(OLD).expect("it is there");
    assert!(
        old.contains("answer 3") && old.ends_with('\n'),
        "{what}: the old one stays"
    );
    for file in fs::read_dir(&folder).expect("it is there").flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        let text = fs::read_to_string(file.path()).expect("text");
        assert!(
            name.ends_with(".jsonl") && text.ends_with('\n'),
            "{what}: `{name}` is whole"
        );
    }
}
