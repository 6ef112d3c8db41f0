//! How Claude Code is set up, pointed at the scripted model, and spoken to.

use std::fs;
use std::path::PathBuf;

use crate::model::Model;
use crate::world::{Run, World};

/// See the module.
pub struct ClaudeCode;

/// Settings as a user has them before our hook comes.
const SETTINGS: &str = r#"{
  "permissions": {
    "allow": ["Bash", "Write", "Edit", "Read", "Task", "Agent"],
    "defaultMode": "acceptEdits"
  },
  "autoUpdates": false,
  "includeCoAuthoredBy": false
}
"#;

/// Keeps it from everything but its model, whose key is not one.
const VARIABLES: [(&str, &str); 6] = [
    ("ANTHROPIC_API_KEY", "dummy"),
    ("DISABLE_TELEMETRY", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
    ("DISABLE_BUG_COMMAND", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
];

impl ClaudeCode {
    /// Writes the user's settings.
    pub fn settle(&self, world: &World) {
        let folder = world.home().join(".claude");
        fs::create_dir_all(&folder).expect("a writable home");
        fs::write(folder.join("settings.json"), SETTINGS).expect("a writable home");
    }

    /// Sends one message, to a new session or to the newest, and waits for the answer.
    pub fn say(&self, world: &World, model: &Model, first: bool, prompt: &str) -> Run {
        let mut command = world.command("timeout".as_ref());
        command.args(["--kill-after=5", "150"]).arg(program()).arg("-p");
        if !first {
            command.arg("--continue");
        }
        command.args(["--model", "claude-sonnet-4-6", "--", prompt]);
        Run::of(command.envs(VARIABLES).env("ANTHROPIC_BASE_URL", model.url()))
    }
}

#[expect(clippy::disallowed_methods, reason = "the one thing that tests/agents/run tells the tests")]
fn program() -> PathBuf {
    std::env::var_os("CKPT_CLAUDE_CODE").expect("`tests/agents/run` (`just agents`) says where it is").into()
}
