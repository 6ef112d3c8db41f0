//! A chat with an agent whose own program forks its conversation: a script stands for it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::binary::{Run, Sandbox};
use crate::executable;

/// A chat with Codex, whose program is a script.
pub struct Scripted {
    /// The workspace.
    pub world: Sandbox,
}

impl Scripted {
    /// Holds two messages, and has a script stand for the program.
    pub fn new(script: &str) -> Self {
        let world = Sandbox::new();
        let chat = Self { world };
        for number in 1..=2 {
            chat.say("old", number);
        }
        chat.answer_by(script);
        chat
    }

    /// Has another script stand for the program.
    pub fn answer_by(&self, script: &str) {
        executable::write(&self.folder().join("codex"), script);
    }

    /// Returns a line of a script by which an event comes while the agent forks.
    pub fn sending(&self, agent: &str, mut event: Value) -> String {
        event["cwd"] = json!(self.world.workspace());
        format!(
            "echo '{event}' | env -u CKPT_HOOK_DISABLE '{}' event --agent {agent} --strict >/dev/null && ",
            crate::binary::binary()
        )
    }

    /// The folder of the script.
    pub fn folder(&self) -> PathBuf {
        let folder = self.world.path("programs");
        fs::create_dir_all(&folder).expect("writable");
        folder
    }

    /// Sends a message, whose answer makes a file.
    pub fn say(&self, session: &str, number: u32) {
        let event = |name: &str, more: Value| {
            let mut payload = json!({
                "session_id": session, "turn_id": format!("turn-{number}"), "hook_event_name": name,
                "cwd": self.world.workspace(), "prompt": format!("message {number}"),
            });
            for (key, value) in more.as_object().expect("an object") {
                payload[key] = value.clone();
            }
            let words = ["event", "--agent", "codex", "--strict"];
            self.world
                .run(&words, payload.to_string().as_bytes())
                .exits(0);
        };
        event("UserPromptSubmit", json!({}));
        let tool = json!({"tool_name": "Bash", "tool_use_id": format!("t{number}"), "tool_input": {"command": "make"}});
        event("PreToolUse", tool.clone());
        self.world.write(&format!("made-{number}"), "made\n");
        event("PostToolUse", tool);
        event("Stop", json!({}));
    }

    /// Takes the last message back with its conversation.
    pub fn revert(&self) -> Run {
        self.revert_with("fork")
    }

    /// The same, with this choice of what becomes of the conversation.
    pub fn revert_with(&self, conversation: &str) -> Run {
        let words = ["--json", "revert", "last", "--conversation", conversation];
        self.finish(self.world.command(&words))
    }

    /// Runs a command that finds the script.
    pub fn finish(&self, mut command: Command) -> Run {
        let path = format!("{}:/usr/bin:/bin", self.folder().display());
        crate::binary::finish(command.env("PATH", path), b"")
    }

    /// Whether the file of a message is there.
    pub fn is_made(&self, number: u32) -> bool {
        self.world
            .workspace()
            .join(format!("made-{number}"))
            .exists()
    }
}

/// Reads the requests up to the fork, and answers it with a line.
pub fn answering(line: &str) -> String {
    format!(
        "#!/bin/sh\nread one\necho '{{\"id\":0,\"result\":{{}}}}'\nread two\nread three\n{line}\nread more\n"
    )
}

/// Names the conversation that was made.
pub const ANSWER: &str = r#"echo '{"id":1,"result":{"thread":{"id":"new"}}}'"#;
