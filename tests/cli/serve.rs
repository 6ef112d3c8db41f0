//! `serve --stdio` and `watch --json-lines`: front ends that ask, plan, apply and are told.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};
use testing::binary::Sandbox;

use crate::schema::check;

/// A program that speaks with the server.
pub struct Client {
    server: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    asked: u64,
    /// Notifications that came before an answer.
    told: Vec<Value>,
    /// Answers that came before the one that was waited for.
    early: Vec<Value>,
}

impl Client {
    pub fn start(world: &Sandbox) -> Self {
        let mut server = world
            .command(&["serve", "--stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let stdin = server.stdin.take();
        let stdout = BufReader::new(server.stdout.take().expect("it is piped"));
        Self {
            server,
            stdin,
            stdout,
            asked: 0,
            told: Vec::new(),
            early: Vec::new(),
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("it is open");
        stdin.write_all(bytes).expect("the server reads");
        stdin.flush().expect("the server reads");
    }

    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.asked += 1;
        let id = self.asked;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(format!("{request}\n").as_bytes());
        id
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("it writes text");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("a message: {error}: {line:?}"))
    }

    /// Returns the answer to a request, whatever is told before it.
    fn answer(&mut self, id: &Value) -> Value {
        if let Some(at) = self.early.iter().position(|early| early["id"] == *id) {
            return self.early.remove(at);
        }
        loop {
            let line = self.line();
            if line.get("method").is_some() {
                self.told.push(line);
            } else if line["id"] == *id {
                return line;
            } else {
                self.early.push(line);
            }
        }
    }

    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, &params);
        let answer = self.answer(&json!(id));
        assert!(answer.get("error").is_none(), "{method}: {answer:#}");
        answer["result"].clone()
    }

    pub fn refused(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, &params);
        let answer = self.answer(&json!(id));
        assert!(answer.get("result").is_none(), "{method}: {answer:#}");
        answer["error"].clone()
    }

    /// Waits for a notification.
    pub fn told(&mut self, method: &str) -> Value {
        loop {
            if let Some(at) = self.told.iter().position(|told| told["method"] == method) {
                return self.told.remove(at)["params"].clone();
            }
            let line = self.line();
            self.told.push(line);
        }
    }

    /// Ends it as a client does that goes away.
    pub fn end(mut self) {
        drop(self.stdin.take());
        let status = self.server.wait().expect("it ends");
        assert!(status.success(), "the end of stdin is the end: {status}");
    }
}

/// Checks that an error has the same data as one of the command line.
fn check_error(world: &Sandbox, error: &Value, kind: &str) {
    let document = json!({"version": 1, "error": error["data"]});
    check(world, "report-error", &document);
    assert_eq!(error["data"]["kind"], kind, "{error}");
    assert_eq!(error["data"]["message"], error["message"], "{error}");
}

/// A message that changed a file and made another.
pub fn played() -> Sandbox {
    let world = Sandbox::new();
    world.write("changed", "1\n");
    world.play("m1", "change it", |world| {
        world.write("changed", "2\n");
        world.write("made", "2\n");
    });
    world
}

#[test]
fn every_result_is_the_commands_document() {
    let world = played();
    let mut client = Client::start(&world);
    let hello = client.call("initialize", json!({"protocol": 1}));
    assert_eq!(hello["protocol"], 1);
    let methods = hello["methods"].as_array().expect("names");
    assert!(methods.contains(&json!("plan")), "{methods:?}");
    let page = include_str!("../../docs/embedding.md");
    for method in methods.iter().filter_map(Value::as_str) {
        assert!(
            page.contains(&format!("`{method}`")),
            "{method} is documented"
        );
    }
    for (method, params, schema) in [
        ("sessions", json!({}), "report-sessions"),
        ("messages", json!({"limit": 5}), "report-log"),
        ("operations", json!({}), "report-operations"),
        ("timeline", json!({"limit": 5}), "report-timeline"),
        ("show", json!({"id": "last"}), "report-show"),
        ("status", json!({}), "report-status"),
        ("blame", json!({"path": "changed"}), "report-blame"),
    ] {
        check(&world, schema, &client.call(method, params));
    }
    check(&world, "result-initialize", &hello);
    let patch = client.call("patch", json!({"id": "last"}));
    check(&world, "result-patch", &patch);
    let text = patch["patch"]["text"].as_str().expect("text");
    assert!(text.contains("-1\n+2\n"), "{text}");
    let show = client.call("show", json!({"id": "last"}));
    let file = &show["steps"][0]["files"][0];
    assert_eq!(file["path"], "changed");
    let content = client.call("contents", json!({"blob": file["old_blob"]}));
    check(&world, "result-contents", &content);
    assert_eq!(content["content"]["text"], "1\n");
    check(
        &world,
        "result-subscribe",
        &client.call("subscribe", json!({})),
    );
    client.end();
}

#[test]
fn one_message_is_planned_and_undone_alone() {
    let world = Sandbox::new();
    world.play("m1", "one", |world| world.write("one", "1\n"));
    world.play("m2", "two", |world| world.write("two", "2\n"));
    let mut client = Client::start(&world);
    let planned = client.call("plan", json!({"message": "m1", "alone": true}));
    check(&world, "report-operation", &planned["report"]);
    let done = client.call("revert", json!({"message": "m1", "alone": true}));
    assert_eq!(done["alone"], planned["report"]["alone"], "{done:#}");
    assert!(!world.workspace().join("one").exists(), "it is undone");
    assert_eq!(world.read("two"), b"2\n", "the later one stays");
    let status = client.call("status", json!({}));
    assert_eq!(status["undone_alone"], json!([done["alone"]]), "{status:#}");
    let wrong = json!({"operation": "redo", "alone": true});
    assert_eq!(client.refused("plan", wrong)["code"], -32602, "no use");
}

#[test]
fn plan_is_applied_once_while_it_holds() {
    let world = played();
    let mut client = Client::start(&world);
    let planned = client.call("plan", json!({"message": "m1"}));
    check(&world, "report-operation", &planned["report"]);
    assert_eq!(planned["report"]["dry_run"], true);
    world.write("changed", "mine\n");
    let error = client.refused("apply", json!({"plan": planned["plan"]}));
    assert_eq!(error["data"]["kind"], "stale", "{error:#}");
    assert_eq!(world.read("changed"), b"mine\n", "nothing moved");
    world.write("changed", "2\n");
    let planned = client.call("plan", json!({"message": "m1"}));
    let done = client.call("apply", json!({"plan": planned["plan"]}));
    assert_eq!(done["outcome"], "restored");
    assert_eq!(world.read("changed"), b"1\n");
    let error = client.refused("apply", json!({"plan": planned["plan"]}));
    assert_eq!(error["data"]["kind"], "stale", "it was carried out");
    let redo = client.call("plan", json!({"operation": "unrevert"}));
    client.call("apply", json!({"plan": redo["plan"]}));
    assert_eq!(world.read("changed"), b"2\n");
    client.end();
}

#[test]
fn one_of_two_applying_clients_wins() {
    let world = played();
    let (mut one, mut other) = (Client::start(&world), Client::start(&world));
    let plan = one.call("plan", json!({"message": "m1"}))["plan"].clone();
    let first = one.send("apply", &json!({"plan": plan}));
    let second = other.send("apply", &json!({"plan": plan}));
    let answers = [one.answer(&json!(first)), other.answer(&json!(second))];
    let won = answers
        .iter()
        .filter(|answer| answer["result"]["outcome"] == "restored");
    assert_eq!(won.count(), 1, "{answers:#?}");
    let told = answers
        .iter()
        .filter(|answer| answer["error"]["data"]["kind"] == "stale");
    assert_eq!(told.count(), 1, "{answers:#?}");
    assert_eq!(world.read("changed"), b"1\n");
    one.end();
    other.end();
}

#[test]
fn undo_has_a_plan() {
    let world = played();
    let mut client = Client::start(&world);
    client.call("revert", json!({"message": "m1"}));
    let planned = client.call("plan", json!({"operation": "undo", "contents": true}));
    check(&world, "result-plan", &planned);
    let after = &planned["report"]["files"][0]["contents"]["after"];
    assert_eq!(after["text"], "2\n", "{planned:#}");
    assert_eq!(world.read("changed"), b"1\n", "nothing moved yet");
    client.call("apply", json!({"plan": planned["plan"]}));
    assert_eq!(world.read("changed"), b"2\n");
    let done = client.call("undo", json!({}));
    check(&world, "report-operation", &done);
    assert_eq!(world.read("changed"), b"1\n", "an undo can be undone");
    for wrong in [
        json!({"operation": "undo", "session": "s"}),
        json!({"operation": "undo", "git": true}),
    ] {
        assert_eq!(client.refused("plan", wrong)["code"], -32602);
    }
    let wrong = json!({"message": "m1", "contents": true});
    assert_eq!(client.refused("revert", wrong)["code"], -32602, "of a plan");
    client.end();
}

#[test]
fn server_takes_exact_ids() {
    let world = played();
    let mut client = Client::start(&world);
    client.call("show", json!({"id": "m1", "exact": true}));
    let error = client.refused("show", json!({"id": "last", "exact": true}));
    assert_eq!(error["data"]["kind"], "unknown", "{error:#}");
    let error = client.refused("plan", json!({"message": "last", "exact": true}));
    assert_eq!(error["data"]["kind"], "unknown", "{error:#}");
    client.end();
}

/// The most memory that a process ever had, in bytes.
fn peak(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("Linux says it");
    let kilobytes = line.trim().trim_end_matches(" kB");
    kilobytes.parse::<u64>().expect("a number") * 1024
}

#[test]
fn fifty_clients_are_served_in_200_mb() {
    let world = played();
    let mut clients: Vec<Client> = (0..50).map(|_| Client::start(&world)).collect();
    for client in &mut clients {
        client.send("subscribe", &json!({}));
        client.send("messages", &json!({}));
        client.send("plan", &json!({"message": "m1", "contents": true}));
    }
    for client in &mut clients {
        assert!(client.answer(&json!(1))["result"]["seq"].is_number());
        assert_eq!(
            client.answer(&json!(2))["result"]["messages"][0]["agent_id"],
            "m1"
        );
        assert!(client.answer(&json!(3))["result"]["plan"].is_string());
    }
    world.play("m2", "and again", |world| world.write("made", "3\n"));
    for client in &mut clients {
        assert_eq!(client.told("message")["message"]["prompt"], "and again");
    }
    for client in clients {
        let most = peak(client.server.id());
        assert!(most < 200 << 20, "it took {most} bytes");
        client.end();
    }
}

#[test]
fn large_requests_take_200_mb_at_most() {
    let world = Sandbox::new();
    let large: Vec<u8> = (0..60_u32 << 20)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    world.play("m1", "write it", |world| world.write("large", &large));
    let mut client = Client::start(&world);
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..100 {
        client.write(&piece);
    }
    client.write(b"\n");
    assert_eq!(client.answer(&Value::Null)["error"]["code"], -32600);
    let show = client.call("show", json!({"id": "m1"}));
    let blob = show["steps"][0]["files"][0]["new_blob"].clone();
    let content = client.call("contents", json!({"blob": blob, "offset": 8 << 20}));
    check(&world, "result-contents", &content);
    assert_eq!(content["next_offset"], 16 << 20);
    let planned = client.call("plan", json!({"message": "m1", "contents": true}));
    check(&world, "result-plan", &planned);
    let most = peak(client.server.id());
    assert!(most < 200 << 20, "it took {most} bytes");
    client.end();
}

#[test]
fn malformed_request_ends_nothing() {
    let world = played();
    let mut client = Client::start(&world);
    let mut long = vec![b'x'; 5 << 20];
    long.push(b'\n');
    for (garbage, code) in [
        (&b"{\n"[..], -32700),
        (b"\xff\xfe\n", -32700),
        (b"[]\n", -32600),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"status\"}\n",
            -32600,
        ),
        (&long, -32600),
    ] {
        client.write(garbage);
        let error = client.answer(&Value::Null)["error"].take();
        assert_eq!(error["code"], code);
        check_error(&world, &error, "usage");
    }
    client.write(b"\n  \n{\"jsonrpc\":\"2.0\",\"method\":\"of tomorrow\"}\n");
    let error = client.refused("coffee", json!({}));
    assert_eq!(error["code"], -32601);
    check_error(&world, &error, "usage");
    for (method, params) in [
        ("show", json!({})),
        ("show", json!({"id": 7})),
        ("messages", json!({"limt": 1})),
        ("plan", json!({})),
        ("plan", json!({"message": "m1", "step": "s"})),
        ("plan", json!({"operation": "redo", "message": "m1"})),
        ("plan", json!({"message": "m1", "on_conflict": "perhaps"})),
        ("restore", json!({"only": ["changed"]})),
        ("patch", json!({"id": "m1", "from": "m1"})),
        ("patch", json!({"id": "m1", "paths": ["changed"]})),
        ("plan", json!({"message": "m1", "only": ["../outside"]})),
        ("blame", json!({"path": "/etc/passwd"})),
    ] {
        let error = client.refused(method, params.clone());
        assert_eq!(error["code"], -32602, "{method} {params}: {error}");
        check_error(&world, &error, "usage");
    }
    let all_null = json!({"session": null, "limit": null, "since": null, "everywhere": null});
    let messages = client.call("messages", all_null);
    assert_eq!(messages, client.call("messages", json!({})), "null is none");
    for (method, params) in [
        ("show", json!({"id": "last"})),
        ("patch", json!({"id": "last"})),
        ("patch", json!({"from": "last", "to": "current"})),
        ("messages", json!({"session": "last"})),
        ("status", json!({"session": "last"})),
        ("plan", json!({"message": "last"})),
    ] {
        let mut exact = params.clone();
        exact["exact"] = json!(true);
        let error = client.refused(method, exact);
        assert_eq!(error["data"]["kind"], "unknown", "{method} {params}");
    }
    let exact = json!({"from": "m1", "to": "current", "exact": true});
    client.call("patch", exact);
    let error = client.refused("show", json!({"id": "nothing-has-this-id"}));
    assert_eq!(error["data"]["kind"], "unknown", "{error:#}");
    let error = client.refused("apply", json!({"plan": "nonsense"}));
    assert_eq!(error["data"]["kind"], "failed", "{error:#}");
    client.call("status", json!({}));
    client.write(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"meth");
    client.end();
    assert_eq!(world.read("changed"), b"2\n", "nothing moved");
}

/// What another process does is told and who was away goes on.
#[test]
fn other_processes_are_told_and_absence_resumes() {
    let world = played();
    let mut client = Client::start(&world);
    let since = client.call("subscribe", json!({}))["seq"].clone();
    world.play("m2", "and again", |world| world.write("made", "3\n"));
    let message = client.told("message");
    check(&world, "notification", &message);
    assert_eq!(message["message"]["prompt"], "and again");
    let step = client.told("step");
    check(&world, "notification", &step);
    world.run(&["revert", "--message", "m2"], b"").exits(0);
    let operation = client.told("operation");
    check(&world, "notification", &operation);
    client.end();
    let mut client = Client::start(&world);
    client.call(
        "subscribe",
        json!({"since": since, "events": ["message", "restored"]}),
    );
    assert_eq!(
        client.told("message")["seq"],
        message["seq"],
        "the same again"
    );
    assert_eq!(client.told("restored")["operation"]["kind"], "revert");
    client.call("unsubscribe", json!({}));
    client.end();
}

#[test]
fn who_is_at_work_is_told() {
    let world = played();
    let mut client = Client::start(&world);
    client.call("subscribe", json!({"events": ["busy"]}));
    let event = |kind: &str, tool: &str| {
        world
            .event(json!({"event": kind, "session_id": "s", "message_id": "m3", "tool_use_id": tool, "tool_name": "shell"}))
            .exits(0);
    };
    event("user_message", "");
    event("tool_start", "t");
    let busy = client.told("busy");
    check(&world, "notification", &busy);
    assert_eq!(
        busy["agents_at_work"].as_array().map(Vec::len),
        Some(1),
        "{busy:#}"
    );
    event("tool_finish", "t");
    event("turn_end", "");
    let busy = client.told("busy");
    assert_eq!(busy["agents_at_work"], json!([]), "{busy:#}");
    client.end();
}

#[test]
fn broken_store_costs_a_request_not_the_server() {
    let world = Sandbox::new();
    let mut client = Client::start(&world);
    let log = client.call("messages", json!({}));
    assert_eq!(log["messages"], json!([]), "there is none yet");
    world.play("m1", "write it", |world| world.write("made", "1\n"));
    let log = client.call("messages", json!({}));
    assert_eq!(log["messages"].as_array().map(Vec::len), Some(1));
    let away = world.path("away");
    std::fs::rename(world.store(), &away).expect("it can be moved");
    std::fs::write(world.store(), "no directory").expect("writable");
    client.refused("messages", json!({}));
    std::fs::remove_file(world.store()).expect("writable");
    std::fs::rename(&away, world.store()).expect("it can be moved");
    let log = client.call("messages", json!({}));
    assert_eq!(
        log["messages"].as_array().map(Vec::len),
        Some(1),
        "it is back"
    );
    client.end();
}

#[test]
fn unusable_store_is_reported_and_ends_nothing() {
    let world = played();
    let mut client = Client::start(&world);
    let prompts = |client: &mut Client| {
        let log = client.call("messages", json!({}));
        let messages = log["messages"].as_array().expect("a list").clone();
        let prompts = messages.iter().map(|message| message["prompt"].to_string());
        prompts.collect::<Vec<_>>().join(" ")
    };
    let database = world.store().join("sessions.db");
    testing::rows::with_write_lock(&database, || {
        assert_eq!(prompts(&mut client), "\"change it\"", "reading goes on");
        let error = client.refused("revert", json!({"message": "m1"}));
        assert!(error["data"]["kind"].is_string(), "{error:#}");
    });
    assert_eq!(world.read("changed"), b"2\n", "nothing moved");

    std::fs::write(&database, vec![b'x'; 1 << 14]).expect("writable");
    let log = client.call("messages", json!({}));
    check(&world, "report-log", &log);
    let aside = log["set_aside"].as_str().unwrap_or_default();
    assert!(aside.ends_with("sessions.db.damaged-1"), "{log:#}");
    let status = client.call("status", json!({}));
    assert!(
        status.to_string().contains("damaged and is set aside"),
        "{status:#}"
    );

    std::fs::rename(world.store(), world.path("away")).expect("it can be moved");
    world.play("n1", "in another store", |world| world.write("made", "3\n"));
    assert_eq!(prompts(&mut client), "\"in another store\"");
    client.call("revert", json!({"message": "n1"}));
    assert_eq!(world.read("made"), b"2\n");
    client.end();
}

#[test]
fn a_client_that_reads_nothing_holds_up_nobody() {
    let world = played();
    let mut silent = Client::start(&world);
    // More answers than the pipe and the server hold.
    let line = json!({"jsonrpc": "2.0", "id": 0, "method": "show", "params": {"id": "last"}});
    for number in 0..200 {
        let mut request = line.clone();
        request["id"] = json!(number);
        silent.write(format!("{request}\n").as_bytes());
    }
    world.run(&["revert", "--message", "m1"], b"").exits(0);
    assert_eq!(world.read("changed"), b"1\n", "the workspace is free");
    silent.server.kill().expect("it runs");
    silent.server.wait().expect("it ends");
}

#[test]
fn a_request_that_waits_can_be_cancelled() {
    let world = played();
    let mut client = Client::start(&world);
    let mut text = String::new();
    for number in 100..180 {
        let request =
            json!({"jsonrpc": "2.0", "id": number, "method": "show", "params": {"id": "last"}});
        text.push_str(&format!("{request}\n"));
    }
    text.push_str("{\"jsonrpc\":\"2.0\",\"method\":\"cancel\",\"params\":{\"id\":179}}\n");
    client.write(text.as_bytes());
    let mut codes = std::collections::BTreeMap::new();
    while codes.len() < 80 {
        let line = client.line();
        if !line["error"].is_null() {
            check_error(&world, &line["error"], "cancelled");
        }
        codes.insert(line["id"].as_u64(), line["error"]["code"].as_i64());
    }
    let cancelled: Vec<_> = codes.iter().filter(|(_, code)| code.is_some()).collect();
    assert!(
        cancelled
            .iter()
            .all(|(id, code)| **id == Some(179) && **code == Some(-32800)),
        "no other: {cancelled:?}"
    );
    client.end();
}

#[test]
fn watch_prints_and_resumes() {
    let world = played();
    let mut child = world
        .command(&["watch", "--json-lines", "--since", "0"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let first: Value =
        serde_json::from_str(&lines.next().expect("a line").expect("text")).expect("JSON");
    check(&world, "notification", &first);
    assert_eq!(
        (&first["type"], &first["message"]["prompt"]),
        (&json!("message"), &json!("change it"))
    );
    drop(lines);
    // It meets the closed pipe with the next thing that it tells.
    world.play("m2", "again", |world| world.write("made", "3\n"));
    let status = child.wait().expect("it ends");
    assert!(status.success(), "nobody reads: {status}");
}
