//! What a front end sends without waiting for answers.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

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

/// Events of a client that leaves without an answer are recorded.
///
/// Invariant `truth/events-pipelined`.
#[test]
fn leaving_clients_events_are_recorded() {
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

/// What a client asked for is done to its end though it was killed meanwhile.
#[test]
fn killed_clients_request_is_finished() {
    let world = Sandbox::new();
    world.write("changed", "1\n");
    world.play("m1", "change many", |world| {
        world.write("changed", "2\n");
        for number in 0..200 {
            world.write(&format!("folder/{number}"), "1\n");
        }
    });
    let plan = world.json(&["revert", "m1", "--dry-run"]);
    let mut server = serve(&world);
    drop(server.stdout.take());
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": "apply", "params": {"plan": plan["plan"]}});
    let mut stdin = server.stdin.take().expect("it is piped");
    stdin
        .write_all(format!("{request}\n").as_bytes())
        .expect("the server reads");
    drop(stdin);
    server.wait().expect("it ends");
    assert_eq!(world.read("changed"), b"1\n", "not half of it");
    assert!(!world.workspace().join("folder").exists(), "nor any other");
    let operations = world.json(&["log", "--operations"]);
    let [operation] = &operations["operations"].as_array().expect("a list")[..] else {
        panic!("one: {operations:#}");
    };
    assert_eq!(operation["state"], "done", "{operation:#}");
    assert_eq!(operation["outcome"], "restored", "{operation:#}");
}

/// Events that nobody waits for are recorded in their order.
///
/// Invariant `truth/events-pipelined`: Events that a front end sends without waiting for
/// answers are recorded in their order, also if it goes away.
#[test]
fn unawaited_events_keep_their_order() {
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

/// The last of several subscriptions counts whichever thread answers it.
#[test]
fn last_subscription_counts() {
    let world = Sandbox::new();
    let mut server = serve(&world);
    let mut lines = String::new();
    for round in 0..50 {
        for (at, method) in ["subscribe", "unsubscribe"].into_iter().enumerate() {
            let id = 2 * round + at;
            let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {}});
            lines.push_str(&format!("{request}\n"));
        }
    }
    let mut stdin = server.stdin.take().expect("it is piped");
    stdin.write_all(lines.as_bytes()).expect("the server reads");
    drop(stdin);
    let output = server.wait_with_output().expect("it ends");
    let answers = String::from_utf8(output.stdout).expect("text");
    let ids: Vec<Value> = answers
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("an answer")["id"].clone())
        .collect();
    let sent: Vec<Value> = (0..100).map(|id| json!(id)).collect();
    assert_eq!(ids, sent, "none overtook another");
}

/// A name that is not UTF-8 is taken as documents have it.
///
/// A test of its own, because `serve.rs` is full.
#[cfg(unix)]
#[test]
fn name_beyond_utf_8_is_taken_from_documents() {
    use std::os::unix::ffi::OsStringExt;

    let world = Sandbox::new();
    let name = std::ffi::OsString::from_vec(b"n\xffm".to_vec());
    let file = world.workspace().join(&name);
    world.play("m1", "make them", |world| {
        std::fs::write(&file, "1\n").expect("the name is one");
        world.write("other", "1\n");
    });
    let show = world.json(&["show", "last"]);
    let files = show["steps"][0]["files"].as_array().expect("a list");
    let listed = files
        .iter()
        .find(|file| !file["path_hex"].is_null())
        .expect("its bytes are beside it");
    let other = files.iter().find(|file| file["path"] == "other");
    let ask = |method: &str, params: Value| {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let output = world.run(&["serve", "--stdio"], format!("{request}\n").as_bytes());
        let line = output.stdout.lines().last().expect("it answers");
        serde_json::from_str::<Value>(line).expect("an answer")
    };
    let path = json!({"path": listed["path"], "path_hex": listed["path_hex"]});
    let blamed = ask("blame", json!({"path": path}));
    assert_eq!(blamed["result"]["path_hex"], path["path_hex"], "{blamed:#}");
    let patch = ask("patch", json!({"from": "m1", "paths": [path]}));
    let named = patch["result"]["files"].as_array().map(Vec::len);
    assert_eq!(named, Some(1), "{patch:#}");
    let wrong = json!({"path": "n", "path_hex": "6eF"});
    let refused = ask("blame", json!({"path": wrong}));
    assert_eq!(refused["error"]["code"], -32602, "{refused:#}");
    let text = refused["error"]["message"].as_str().expect("a sentence");
    assert!(text.starts_with("`path`: "), "{text}");
    let refused = ask("revert", json!({"message": "m1", "only": [7]}));
    assert_eq!(refused["error"]["code"], -32602, "{refused:#}");
    let done = ask("revert", json!({"message": "m1", "only": [listed, other]}));
    assert_eq!(
        done["result"]["outcome"], "restored",
        "a file of a report is a path as it is: {done:#}"
    );
    assert!(!file.exists(), "it was made by the message");
}

/// Empties a file in another process: closing it in this one would give up the locks that this one has on it.
fn empty(database: &Path) {
    let mut truncate = Command::new("truncate");
    let done = truncate.args(["--size", "0"]).arg(database).status();
    assert!(done.is_ok_and(|status| status.success()), "it is ours");
}

/// A subscriber lets go of a session store that was emptied.
#[test]
fn subscriber_lets_go_of_an_emptied_store() {
    let world = Sandbox::new();
    world.play("m1", "make it", |world| world.write("made", "1\n"));
    let mut server = serve(&world);
    let mut stdin = server.stdin.take().expect("it is piped");
    let mut lines = BufReader::new(server.stdout.take().expect("it is piped")).lines();
    let mut answer = |id: i64, method: &str| {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {}});
        writeln!(stdin, "{request}").expect("the server reads");
        loop {
            let line = lines.next().expect("it answers").expect("text");
            let line: Value = serde_json::from_str(&line).expect("JSON");
            if line["id"] == id {
                return line;
            }
        }
    };
    answer(1, "subscribe");
    empty(&world.store().join("sessions.db"));
    let log = answer(2, "messages");
    assert_eq!(
        log["result"]["unknown_workspaces"], 1,
        "the server itself does not keep it from being made anew: {log:#}"
    );
    drop(stdin);
    server.wait().expect("it ends");
}

/// A session store that was emptied while it is open is not called locked.
#[test]
fn emptied_open_store_is_not_called_locked() {
    let world = Sandbox::new();
    world.play("m1", "make it", |world| world.write("made", "1\n"));
    let database = world.store().join("sessions.db");
    testing::rows::while_open(&database, || {
        empty(&database);
        let run = world.run(&["log"], b"").exits(1);
        assert!(
            run.stderr
                .contains("was emptied while a process has it open"),
            "it says what is so: {run}"
        );
    });
    world.run(&["log"], b"").exits(0);
}
