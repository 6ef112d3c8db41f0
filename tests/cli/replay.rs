//! What a real Claude Code sent, payload by payload through the binary, with what its tools did to files done again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::common::World;

type Tree = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// The workspace of the recordings.
const RECORDED: &str = "/workspace";

/// One recorded payload: the event's name and the JSON.
struct Payload {
    event: String,
    json: Value,
}

fn payloads(set: &str, world: &World) -> Vec<Payload> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/agents").join(set);
    let entries = std::fs::read_dir(folder).expect("the recording is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let here = world.workspace();
    let here = here.to_str().expect("a plain path");
    let payload = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).expect("readable").replace(RECORDED, here);
        let name = file.file_stem().and_then(|name| name.to_str()).expect("a plain name");
        let event = name.split_once('-').expect("a number and a name").1.to_owned();
        Payload { event, json: serde_json::from_str(&text).expect("JSON") }
    };
    files.iter().map(payload).collect()
}

/// Does what a tool did. One that was interrupted came only as far as its first command.
fn act(world: &World, tool: &Value, is_interrupted: bool) {
    let text = |name: &str| tool["tool_input"][name].as_str().expect("the tool's input");
    match tool["tool_name"].as_str().expect("a tool") {
        "Write" => std::fs::write(text("file_path"), text("content")).expect("writable"),
        "Edit" => {
            let old = std::fs::read_to_string(text("file_path")).expect("it is there");
            std::fs::write(text("file_path"), old.replace(text("old_string"), text("new_string"))).expect("writable");
        }
        "Bash" => {
            let command =
                if is_interrupted { text("command").split(';').next().expect("one") } else { text("command") };
            let command = command.replace("sleep 6", "true");
            let output = Command::new("/bin/sh").args(["-c", &command]).current_dir(world.workspace()).output();
            drop(output.expect("a shell"));
        }
        "Agent" | "Task" => {}
        other => panic!("the recording uses a tool that is not known here: {other}"),
    }
}

/// The trees from just before each message of the user, in the order of the messages; each payload is sent so many times.
fn replay(set: &str, times: usize) -> (World, Vec<Tree>) {
    let world = World::new();
    world.write("README.md", "hi\n");
    let payloads = payloads(set, &world);
    let mut before = Vec::new();
    let mut waits = false;
    let mut running = 0;
    for (number, payload) in payloads.iter().enumerate() {
        let is_user = payload.event == "UserPromptSubmit"
            && payload.json["prompt"].as_str().is_some_and(|prompt| !prompt.starts_with("<task-notification>"));
        let same_turn = |other: &Payload| other.json["prompt_id"] == payload.json["prompt_id"];
        if is_user && running > 0 && same_turn(&payloads[number - 1]) {
            waits = true;
        } else if is_user {
            running = 0;
            before.push(world.tree());
        }
        for _ in 0..times {
            let call = ["event", "--agent", "claude-code", "--event", &payload.event];
            world.run(&call, payload.json.to_string().as_bytes()).ends_silently();
        }
        match payload.event.as_str() {
            "PreToolUse" => {
                running += 1;
                let ends = payloads[number..].iter().any(|later| {
                    later.event.starts_with("PostToolUse") && later.json["tool_use_id"] == payload.json["tool_use_id"]
                });
                act(&world, &payload.json, !ends);
            }
            "PostToolUse" | "PostToolUseFailure" => running -= 1,
            "PostToolBatch" if waits => {
                waits = false;
                before.push(world.tree());
            }
            _ => {}
        }
    }
    (world, before)
}

/// Goes back message by message and forward again, and compares the whole tree each time.
fn assert_every_message_goes_back_and_forth(set: &str) {
    [1, 2].into_iter().for_each(|times| goes_back_and_forth(set, times));
}

/// Twice is what a hook in two places does, or a hook beside a package: nothing is recorded twice.
fn goes_back_and_forth(set: &str, times: usize) {
    let (world, before) = replay(set, times);
    let after = world.tree();
    let log = world.json(&["log"]);
    let messages = log["messages"].as_array().expect("a list");
    assert_eq!(messages.len(), before.len(), "{set}, {times}×: the user's messages, and no machine's: {log}");
    assert_eq!(world.json(&["status"])["diagnostics"], 0, "{set}, {times}×: nothing went wrong");
    for (message, expected) in messages.iter().zip(before.iter().rev()) {
        let id = message["id"].as_str().expect("an id");
        world.run(&["revert", "--force", "--message", id], b"").exits(0);
        assert_eq!(&world.tree(), expected, "{set}, {times}×: just before {message}");
    }
    for expected in before.iter().skip(1).chain([&after]) {
        world.run(&["redo"], b"").exits(0);
        assert_eq!(&world.tree(), expected, "{set}, {times}×: one message forward");
    }
}

#[test]
fn three_messages_with_edits_shells_removals_and_a_sub_agent() {
    assert_every_message_goes_back_and_forth("claude-code-2.1.329");
}

#[test]
fn a_turn_that_was_interrupted_in_a_terminal() {
    assert_every_message_goes_back_and_forth("claude-code-2.1.329-interactive");
}

#[test]
fn a_message_that_was_typed_while_a_tool_ran() {
    assert_every_message_goes_back_and_forth("claude-code-2.1.329-queued-message");
}

#[test]
fn events_without_any_id_that_come_twice_make_no_second_message_and_no_second_change() {
    let world = World::new();
    world.write("menu", "soup\n");
    let twice = |event: &str, extra: Value| {
        let mut payload = serde_json::json!({"session_id": "s", "cwd": world.workspace()});
        payload.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        for _ in 0..2 {
            let call = ["event", "--agent", "gemini-cli", "--event", event];
            world.run(&call, payload.to_string().as_bytes()).ends_silently();
        }
    };
    let tool = serde_json::json!({"tool_name": "run_shell_command", "tool_input": {"command": "x"}});
    twice("BeforeAgent", serde_json::json!({"prompt": "salad, please"}));
    twice("BeforeModel", serde_json::json!({}));
    twice("BeforeTool", tool.clone());
    world.write("menu", "salad\n");
    twice("AfterTool", tool);
    twice("BeforeModel", serde_json::json!({}));
    twice("AfterAgent", serde_json::json!({"prompt": "salad, please"}));
    let log = world.json(&["log"]);
    assert_eq!(log["messages"].as_array().map(Vec::len), Some(1), "one message: {log}");
    assert_eq!((&log["messages"][0]["files"], &log["messages"][0]["additions"]), (&1.into(), &1.into()), "{log}");
    world.run(&["revert", "--message", "last"], b"").exits(0);
    assert_eq!(world.read("menu"), b"soup\n", "and it goes back");
    world.run(&["unrevert"], b"").exits(0);
    assert_eq!(world.read("menu"), b"salad\n", "and forth");
}
