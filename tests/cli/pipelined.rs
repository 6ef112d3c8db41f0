//! What a front end sends without waiting for answers.

use std::io::Write;
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use testing::binary::Sandbox;

fn serve(world: &Sandbox) -> Child {
    world
        .command(&["serve", "--stdio"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts")
}

/// Sends events of one session at once, and nothing after them.
fn send(server: &mut Child, events: &[Value]) {
    let mut lines = String::new();
    for (id, event) in events.iter().enumerate() {
        let mut event = event.clone();
        event["session_id"] = json!("s");
        let request =
            json!({"jsonrpc": "2.0", "id": id, "method": "record", "params": {"event": event}});
        lines.push_str(&format!("{request}\n"));
    }
    let mut stdin = server.stdin.take().expect("it is piped");
    stdin.write_all(lines.as_bytes()).expect("the server reads");
}

#[test]
fn events_of_a_client_that_leaves_without_an_answer_are_recorded() {
    let world = Sandbox::new();
    let message =
        |number| json!({"event": "user_message", "message_id": number, "prompt": "leave"});
    let events: Vec<Value> = (0..12)
        .map(|number| message(format!("m{number}")))
        .collect();
    let mut server = serve(&world);
    drop(server.stdout.take());
    send(&mut server, &events);
    server.wait().expect("it ends");
    let log = world.json(&["log"]);
    assert_eq!(
        log["messages"].as_array().map(Vec::len),
        Some(events.len()),
        "they have happened, whoever listens: {log:#}"
    );
}

#[test]
fn events_that_nobody_waits_for_are_recorded_in_their_order() {
    let world = Sandbox::new();
    for number in 0..100 {
        world.write(&format!("file-{number}"), "1\n");
    }
    let message = |name: &str| json!({"event": "user_message", "message_id": name, "prompt": name});
    let tool =
        |kind: &str, name: &str| json!({"event": kind, "tool_use_id": name, "tool_name": "shell"});
    let mut events = Vec::new();
    for (first, second) in [("m1", "t1"), ("m2", "t2"), ("m3", "t3")] {
        events.push(message(first));
        events.push(tool("tool_start", second));
        events.push(tool("tool_finish", second));
        events.push(json!({"event": "turn_end"}));
    }
    let mut server = serve(&world);
    send(&mut server, &events);
    let output = server.wait_with_output().expect("it ends");
    let answers = String::from_utf8(output.stdout).expect("text");
    let ids: Vec<Value> = answers
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("an answer"))
        .inspect(|answer| assert!(answer["error"].is_null(), "{answer:#}"))
        .map(|answer| answer["id"].clone())
        .collect();
    let sent: Vec<Value> = (0..events.len()).map(|id| json!(id)).collect();
    assert_eq!(ids, sent, "each was recorded before the next one began");
    let log = world.json(&["log"]);
    let told: Vec<(&Value, &Value)> = log["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .map(|message| (&message["agent_id"], &message["steps"]))
        .collect();
    let one = json!(1);
    let names = ["m3", "m2", "m1"].map(|name| json!(name));
    assert_eq!(
        told,
        names.iter().map(|name| (name, &one)).collect::<Vec<_>>(),
        "newest first, each with its own step"
    );
}
