//! A conversation that the agent's own program forks: a script stands for Codex, which answers, refuses, is silent, kills the
//! revert or is not there.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use testing::binary::{Run, Sandbox};
use testing::executable;

/// A chat with Codex, whose program is a script.
struct Scripted {
    world: Sandbox,
}

impl Scripted {
    fn new(script: &str) -> Self {
        let world = Sandbox::new();
        let chat = Self { world };
        for number in 1..=2 {
            chat.say("old", number);
        }
        executable::write(&chat.folder().join("codex"), script);
        chat
    }

    fn folder(&self) -> PathBuf {
        let folder = self.world.path("programs");
        fs::create_dir_all(&folder).expect("writable");
        folder
    }

    fn say(&self, session: &str, number: u32) {
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

    fn revert(&self) -> Run {
        let path = format!("{}:/usr/bin:/bin", self.folder().display());
        let words = ["--json", "revert", "last", "--conversation", "fork"];
        testing::binary::finish(self.world.command(&words).env("PATH", path), b"")
    }

    fn is_made(&self, number: u32) -> bool {
        self.world
            .workspace()
            .join(format!("made-{number}"))
            .exists()
    }
}

/// Reads the requests up to the fork, and answers it with a line.
fn answering(line: &str) -> String {
    format!(
        "#!/bin/sh\nread one\necho '{{\"id\":0,\"result\":{{}}}}'\nread two\nread three\n{line}\nread more\n"
    )
}

/// An agent's own program makes the fork.
#[test]
fn agents_program_makes_the_fork() {
    let script = answering(r#"echo '{"id":1,"result":{"thread":{"id":"new"}}}'"#);
    let chat = Scripted::new(&script);
    let run = chat.revert().exits(0);
    let report: Value = serde_json::from_str(&run.stdout).expect("a report");
    assert_eq!(
        report["conversation"]["argv"],
        json!(["codex", "resume", "new"]),
        "{report:#}"
    );
    assert!(chat.is_made(1) && !chat.is_made(2));
    chat.say("new", 3);
    let sessions = chat.world.json(&["sessions"]);
    assert_eq!(
        sessions["sessions"].as_array().map(Vec::len),
        Some(1),
        "{sessions:#}"
    );
}

/// An agent that refuses or says nothing leaves all as it was.
///
/// A lost answer never reads as a clean failure.
///
/// Invariant `truth/lost-answer`: Where an agent's answer is lost, it is said that nobody knows whether it forked.
#[test]
fn agent_without_an_answer_changes_nothing() {
    let cases = [
        (
            r#"echo '{"id":1,"error":{"message":"no such turn"}}'"#,
            "no such turn",
        ),
        ("echo nonsense; exit 0", "it is not known whether"),
        ("exit 1", "it is not known whether"),
    ];
    for (line, said) in cases {
        let chat = Scripted::new(&answering(line));
        let run = chat.revert();
        assert_ne!(run.code, Some(0), "{line}: {run}");
        assert!(run.stdout.contains(said), "{line}: {run}");
        assert!(chat.is_made(1) && chat.is_made(2), "{line}: {run}");
        let operations = chat.world.json(&["log", "--operations"]);
        assert_eq!(
            operations["operations"][0]["state"], "rolled_back",
            "{operations:#}"
        );
        let log = chat.world.json(&["log"]);
        assert_eq!(log["messages"][0]["state"], "live", "{log:#}");
    }
}

/// A revert that is killed while the agent forks is taken back.
///
/// Invariant `work/killed-fork`: An operation that is killed before its conversation is forked is taken back by the next
/// command.
#[test]
fn killed_fork_is_taken_back() {
    let chat = Scripted::new(&answering("kill -9 $PPID"));
    let run = chat.revert();
    assert_eq!(run.code, None, "it was killed: {run}");
    assert!(chat.is_made(2));
    let run = chat.world.run(&["snapshot"], b"").exits(0);
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(said.contains("is taken back"), "{said}");
    assert!(chat.is_made(2));
    let log = chat.world.json(&["log"]);
    assert_eq!(log["messages"][0]["state"], "live", "{log:#}");
    chat.say("old", 3);
}

/// Without the agent's program the files go back alone.
#[test]
fn files_go_back_without_the_program() {
    let chat = Scripted::new("");
    fs::remove_file(chat.folder().join("codex")).expect("it is there");
    let run = chat.revert().exits(0);
    let report: Value = serde_json::from_str(&run.stdout).expect("a report");
    assert_eq!(report["conversation"]["reason"], "no_program", "{report:#}");
    assert!(!chat.is_made(2));
}
