//! A conversation that another program than Codex forks: scripts stand for Pi, Copilot CLI, opencode and Kilo, which answer, talk
//! nonsense, refuse, are of an older version, or are not there.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use serde_json::{Value, json};
use testing::binary::{Run, Sandbox, finish};
use testing::executable;

/// An older version, which does not know what it is asked for.
const OLDER: &str = "echo 'unknown option' >&2; exit 1";

/// What is said where it is clear that nothing was made, and where it is not.
const NOT_MADE: &str = "the conversation could not be forked";
const NOT_KNOWN: &str = "it is not known whether the agent has forked the conversation";

/// A chat of two messages, each of which made a file.
struct AskedChat {
    world: Sandbox,
    agent: &'static str,
}

impl AskedChat {
    fn new(agent: &'static str) -> Self {
        let world = Sandbox::new();
        let chat = Self { world, agent };
        for number in 1..=2 {
            chat.say(number);
        }
        chat
    }

    fn say(&self, number: u32) {
        let prompt = format!("message {number}");
        let tool = format!("t{number}");
        let made = format!("made-{number}");
        match self.agent {
            "pi" => {
                let context = json!({"cwd": self.world.workspace(), "sessionId": "old"});
                let event = |hook: &str, told: Value| {
                    self.event(hook, json!({"hook": hook, "event": told, "ctx": context}))
                };
                let tool =
                    json!({"toolName": "bash", "toolCallId": tool, "input": {"command": "make"}});
                event("before_agent_start", json!({"prompt": prompt}));
                event("context", json!({}));
                event("tool_call", tool.clone());
                self.world.write(&made, "made\n");
                event("tool_result", tool);
                event("agent_settled", json!({}));
                let entry = json!({"type": "message", "id": made, "message": {"role": "user", "content": prompt}});
                self.record(self.record_name(), &entry);
            }
            "copilot-cli" => {
                let event = |name: &str, mut payload: Value| {
                    payload["sessionId"] = "old".into();
                    self.event(name, payload);
                };
                event("userPromptSubmitted", json!({"prompt": prompt}));
                self.world.write(&made, "made\n");
                event(
                    "postToolUse",
                    json!({"toolName": "bash", "toolArgs": {"command": "make"}}),
                );
                event("agentStop", json!({"stopReason": "end_turn"}));
                let entry =
                    json!({"type": "user.message", "id": made, "data": {"content": prompt}});
                self.record(self.record_name(), &entry);
            }
            "qwen-code" | "codebuddy" => {
                let name = self.record_name();
                let event = |name: &str, more: Value| {
                    let mut payload = json!({"session_id": "old", "hook_event_name": name});
                    payload["transcript_path"] = json!(self.world.home().join(self.record_name()));
                    let members = more.as_object().expect("an object").clone();
                    payload.as_object_mut().expect("an object").extend(members);
                    self.event(name, payload);
                };
                let tool = json!({"tool_name": "Bash", "tool_use_id": tool, "tool_input": {"command": "make"}});
                event("UserPromptSubmit", json!({"prompt": prompt}));
                event("PreToolUse", tool.clone());
                self.world.write(&made, "made\n");
                event("PostToolUse", tool);
                event("Stop", json!({}));
                let before = (number > 1).then(|| format!("made-{}", number - 1));
                let said = json!([{"text": prompt}]);
                let entry = match self.agent {
                    "codebuddy" => {
                        json!({"type": "message", "role": "user", "id": made, "parentId": before, "content": said})
                    }
                    _ => {
                        json!({"type": "user", "uuid": made, "parentUuid": before, "message": {"parts": said}})
                    }
                };
                self.record(name, &entry);
            }
            _ => {
                let input = json!({"sessionID": "old", "tool": "bash", "callID": tool, "args": {"command": "make"}});
                let sent =
                    json!({"message": {"id": made}, "parts": [{"type": "text", "text": prompt}]});
                self.event("chat.message", json!({"input": input, "output": sent}));
                self.event("chat.params", json!({"input": input}));
                self.event(
                    "tool.execute.before",
                    json!({"input": input, "output": {"args": {"command": "make"}}}),
                );
                self.world.write(&made, "made\n");
                self.event("tool.execute.after", json!({"input": input}));
                let idle = json!({"properties": {"sessionID": "old"}});
                self.event("event.session.idle", json!({"event": idle}));
            }
        }
    }

    fn event(&self, name: &str, mut payload: Value) {
        payload["cwd"] = json!(self.world.workspace());
        let words = ["event", "--agent", self.agent, "--event", name, "--strict"];
        self.world
            .run(&words, payload.to_string().as_bytes())
            .exits(0);
    }

    /// Where the agent keeps its record, below the home.
    fn record_name(&self) -> &'static str {
        match self.agent {
            "pi" => ".pi/agent/sessions/-w-/now_old.jsonl",
            "copilot-cli" => ".copilot/session-state/old/events.jsonl",
            "qwen-code" => ".qwen/projects/-w/chats/old.jsonl",
            "codebuddy" => ".codebuddy/projects/-w/old.jsonl",
            "kilo" => ".local/share/kilo/kilo.db",
            _ => ".local/share/opencode/opencode.db",
        }
    }

    /// Adds an entry to the agent's own record.
    fn record(&self, name: &str, entry: &Value) {
        let path = self.world.home().join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("writable");
        let lines = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, format!("{lines}{entry}\n")).expect("writable");
    }

    /// Takes the last message back with its conversation; a script stands for the program, if there is one.
    fn revert(&self, script: Option<&str>) -> Run {
        let folder = self.world.path("programs");
        fs::create_dir_all(&folder).expect("writable");
        if let Some(script) = script {
            let program = self.agent.trim_end_matches("-cli");
            executable::write(&folder.join(program), &format!("#!/bin/sh\n{script}\n"));
        }
        let words = ["--json", "revert", "last", "--conversation", "fork"];
        let path = format!("{}:/usr/bin:/bin", folder.display());
        finish(self.world.command(&words).env("PATH", path), b"")
    }

    fn is_made(&self, number: u32) -> bool {
        self.world
            .workspace()
            .join(format!("made-{number}"))
            .exists()
    }

    /// The revert fails with these words, and nothing has happened.
    #[track_caller]
    fn expect_nothing(&self, script: &str, said: [&str; 2]) {
        let run = self.revert(Some(script));
        let what = format!("{}: {script}: {run}", self.agent);
        assert_ne!(run.code, Some(0), "{what}");
        for said in said.into_iter().chain(["no file was changed"]) {
            assert!(run.stdout.contains(said), "{said}: {what}");
        }
        assert!(self.is_made(1) && self.is_made(2), "{what}");
        let log = self.world.json(&["log", "--operations"]);
        assert_eq!(log["operations"], json!([]), "{what}");
    }

    /// The revert names the command that goes on in the new conversation.
    #[track_caller]
    fn expect_fork(&self, script: &str, argv: &[&str]) {
        let run = self.revert(Some(script)).exits(0);
        let report: Value = serde_json::from_str(&run.stdout).expect("a report");
        assert_eq!(report["conversation"]["argv"], json!(argv), "{report:#}");
        assert!(self.is_made(1) && !self.is_made(2), "{report:#}");
    }
}

/// Has a server answer one request, and returns the script that says where it listens.
fn listening(answer: &'static str) -> String {
    let server = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = server.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        let (mut stream, _) = server.accept().expect("it is asked");
        let mut request = Vec::new();
        while !request.ends_with(b"}") {
            let mut piece = [0; 1024];
            let length = stream.read(&mut piece).expect("it is sent");
            request.extend_from_slice(&piece[..length]);
        }
        // One that is not waited for has nothing to lose.
        let _ = stream.write_all(answer.as_bytes());
    });
    format!("echo 'server listening on http://{address}'; exec sleep 1000")
}

/// Pi forks by its mode for other programs, and whatever it says instead changes nothing.
#[test]
fn pi_forks_or_changes_nothing() {
    let greeted =
        r#"read one; echo '{"id":"before","success":true,"data":{"sessionId":"old"}}'; read two"#;
    let forked =
        format!(r#"{greeted}; echo '{{"id":"fork","success":true,"data":{{}}}}'; read three"#);
    let state = |data: &str| {
        format!(r#"{forked}; echo '{{"id":"after","success":true,"data":{data}}}'; read more"#)
    };
    let refused =
        r#"echo '{"id":"fork","success":false,"error":"Invalid entry ID for forking"}'; read more"#;
    let chat = AskedChat::new("pi");
    for (script, said) in [
        (OLDER.to_owned(), [NOT_MADE, "`pi` ended without an answer"]),
        (
            "echo nonsense".to_owned(),
            [NOT_MADE, "`pi` ended without an answer"],
        ),
        (
            format!("{greeted}; {refused}"),
            [NOT_MADE, "Invalid entry ID for forking"],
        ),
        (
            format!("{greeted}; echo nonsense"),
            [NOT_KNOWN, "`pi` ended without an answer"],
        ),
        (
            state("{}"),
            [NOT_KNOWN, "the agent's answer names no conversation"],
        ),
        (
            state(r#"{"sessionId":"old"}"#),
            [NOT_MADE, "the agent refused"],
        ),
    ] {
        chat.expect_nothing(&script, said);
    }
    let made = state(r#"{"sessionId":"new","sessionFile":"/dev/null"}"#);
    chat.expect_fork(&made, &["pi", "--session", "/dev/null"]);
}

/// Copilot CLI forks by its server on a pipe, and whatever it says instead changes nothing.
#[test]
fn copilot_forks_or_changes_nothing() {
    let greeted = r#"echo '{"jsonrpc":"2.0","id":1,"result":{}}'"#;
    let answer = |text: &str| {
        format!(r#"{greeted}; echo '{{"jsonrpc":"2.0","id":2,{text}}}'; exec cat >/dev/null"#)
    };
    let older = r#""error":{"code":-32601,"message":"Unhandled method sessions.fork"}"#;
    let chat = AskedChat::new("copilot-cli");
    for (script, said) in [
        (
            OLDER.to_owned(),
            [NOT_MADE, "`copilot` ended without an answer"],
        ),
        (answer(older), [NOT_MADE, "Unhandled method sessions.fork"]),
        (
            format!("{greeted}; echo nonsense"),
            [NOT_KNOWN, "`copilot` ended without an answer"],
        ),
        (
            answer(r#""result":{}"#),
            [NOT_KNOWN, "the agent's answer names no conversation"],
        ),
    ] {
        chat.expect_nothing(&script, said);
    }
    chat.expect_fork(
        &answer(r#""result":{"sessionId":"new"}"#),
        &["copilot", "--resume=new"],
    );
}

/// opencode and Kilo fork by a server of theirs, and whatever that says instead changes nothing.
#[test]
fn servers_fork_or_change_nothing() {
    for agent in ["opencode", "kilo"] {
        let chat = AskedChat::new(agent);
        for (script, said) in [
            (
                OLDER.to_owned(),
                [NOT_MADE, "serve` ended before it listened"],
            ),
            (
                "echo 'listening on http://0.0.0.0:1'".to_owned(),
                [NOT_MADE, "not on this machine alone"],
            ),
            (
                listening("HTTP/1.1 404 Not Found\r\n\r\n"),
                [NOT_MADE, "404 Not Found"],
            ),
            (
                listening("HTTP/1.1 500 Internal Server Error\r\n\r\n"),
                [NOT_KNOWN, "500 Internal Server Error"],
            ),
            (
                listening("HTTP/1.1 200 OK\r\n\r\n<html>"),
                [NOT_KNOWN, "the server's answer is not one"],
            ),
            (
                listening("nonsense"),
                [NOT_KNOWN, "the server's answer is not one"],
            ),
            (listening(""), [NOT_KNOWN, "the server's answer is not one"]),
            (
                listening("HTTP/1.1 200 OK\r\n\r\n{\"name\":7}"),
                [NOT_KNOWN, "names no conversation"],
            ),
        ] {
            chat.expect_nothing(&script, said);
        }
        let made = listening("HTTP/1.1 200 OK\r\n\r\n{\"id\":\"new\"}");
        chat.expect_fork(&made, &[agent, "--session", "new"]);
    }
}

/// Without the program of an agent the files go back alone.
#[test]
fn files_go_back_without_any_program() {
    for agent in ["pi", "copilot-cli", "opencode", "kilo"] {
        let chat = AskedChat::new(agent);
        let run = chat.revert(None).exits(0);
        let report: Value = serde_json::from_str(&run.stdout).expect("a report");
        assert_eq!(report["conversation"]["reason"], "no_program", "{report:#}");
        assert!(!chat.is_made(2), "{report:#}");
    }
}

/// Where an agent's record differs from what is known the files go back, and it is said why.
///
/// The agent's program is there, and is asked for nothing.
#[test]
fn files_go_back_where_the_record_differs() {
    let (other, unnamed) = ("no record at all\n", "{\"type\":\"user\"}\n");
    let novelty = "{\"type\":\"novelty\"}\n";
    for (agent, record, reason) in [
        ("pi", Some(other), "unknown_format"),
        ("pi", Some(unnamed), "not_found"),
        ("pi", None, "no_transcript"),
        ("copilot-cli", Some(other), "unknown_format"),
        ("copilot-cli", Some(unnamed), "not_found"),
        ("copilot-cli", None, "no_transcript"),
        ("qwen-code", Some(novelty), "unknown_format"),
        ("qwen-code", Some(unnamed), "not_found"),
        ("qwen-code", None, "no_transcript"),
        ("codebuddy", Some(novelty), "unknown_format"),
        ("codebuddy", None, "no_transcript"),
        ("opencode", Some(other), "unknown_format"),
        ("kilo", Some(other), "unknown_format"),
    ] {
        let chat = AskedChat::new(agent);
        let path = chat.world.home().join(chat.record_name());
        match record {
            Some(text) => {
                fs::create_dir_all(path.parent().expect("it has one")).expect("writable");
                fs::write(path, text).expect("writable");
            }
            None => fs::remove_file(path).expect("it is there"),
        }
        let run = chat.revert(Some("touch \"$HOME/asked\"")).exits(0);
        let report: Value = serde_json::from_str(&run.stdout).expect("a report");
        let conversation = &report["conversation"];
        assert_eq!(conversation["kind"], "none", "{agent}: {report:#}");
        assert_eq!(conversation["reason"], reason, "{agent}: {report:#}");
        assert!(chat.is_made(1) && !chat.is_made(2), "{agent}: {report:#}");
        let asked = chat.world.home().join("asked").exists();
        assert!(!asked, "{agent}: {report:#}");
    }
}

/// Where only the user can take the conversation back, the report says what to press, and the files go back.
#[test]
fn conversation_of_cline_goes_back_by_hand() {
    let world = Sandbox::new();
    let event = |name: &str| {
        let event = json!({
            "event": name, "agent": "cline", "session_id": "s", "cwd": world.workspace(), "prompt": "make it",
        });
        world.event(event).ends_silently();
    };
    event("user_message");
    event("step_start");
    world.write("made", "made\n");
    event("step_finish");
    event("turn_end");
    let words = ["revert", "last", "--conversation", "fork"];
    let report = world.json(&words);
    let conversation = &report["conversation"];
    assert_eq!(conversation["kind"], "manual", "{report:#}");
    let note = conversation["note"].to_string();
    assert!(note.contains("type `/undo`"), "{report:#}");
    assert!(!world.workspace().join("made").exists(), "{report:#}");
    world.json(&["undo"]);
    let shown = world.run(&words, b"").exits(0).stdout;
    assert!(shown.contains("type `/undo`"), "{shown}");
}
