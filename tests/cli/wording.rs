//! What a front end, a model and the page are told names what they can give: parameters, methods and tools, and no option of the
//! command line.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};
use testing::binary::Sandbox;

/// A message whose agent committed, and one whose file was changed by another program meanwhile; an agent is at work.
fn world() -> Sandbox {
    let world = Sandbox::new();
    world.run_git(&["init", "-q", "-b", "main"]);
    world.write("kept", "1\n");
    world.run_git(&["add", "."]);
    world.run_git(&["commit", "-qm", "begin"]);
    world.play("m1", "commit it", |world| {
        world.write("made", "1\n");
        world.run_git(&["add", "."]);
        world.run_git(&["commit", "-qm", "Sell cakes"]);
    });
    let other = world.path("other");
    std::fs::create_dir(&other).expect("writable");
    let elsewhere = json!({"event": "user_message", "session_id": "o", "message_id": "o1", "cwd": other, "prompt": "there"});
    world.event(elsewhere).ends_silently();
    for event in [
        json!({"event": "user_message", "session_id": "s", "message_id": "m2", "prompt": "go on"}),
        json!({"event": "tool_start", "session_id": "s", "tool_use_id": "t", "tool_name": "shell"}),
    ] {
        world.event(event).ends_silently();
    }
    world
}

/// What is asked, each with what its answer says.
fn questions() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("revert", json!({"message": "m1"}), "use `force`"),
        (
            "plan",
            json!({"message": "m1", "git": true, "only": ["made"]}),
            "`git` works only with",
        ),
        ("plan", json!({"message": "m1"}), "without `git`"),
        (
            "show",
            json!({"id": "last", "exact": true}),
            "`exact` accepts",
        ),
        ("apply", json!({"plan": "nonsense"}), "`plan` returns one"),
    ]
}

/// Returns every text of a document.
fn texts<'a>(document: &'a Value, found: &mut Vec<&'a str>) {
    match document {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => fields.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

/// Checks that an answer says something, and names no option.
fn check(answer: &Value, says: &str) {
    let mut found = Vec::new();
    texts(answer, &mut found);
    assert!(
        found.iter().any(|text| text.contains(says)),
        "`{says}`: {answer:#}"
    );
    let has_option = |text: &&&str| {
        text.match_indices("--").any(|(at, _)| {
            let is_name = |next: char| next.is_ascii_lowercase();
            text[at + 2..].starts_with(is_name) && !text[..at].contains("`ckpt-hook ")
        })
    };
    assert_eq!(found.iter().find(has_option), None, "{answer:#}");
}

/// Asks a program on its standard streams, one line after the other, and returns the answers in the order of the lines.
fn asked(world: &Sandbox, arguments: &[&str], lines: &[Value]) -> Vec<Value> {
    let mut server = world
        .command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = server.stdin.take().expect("it is piped");
    let mut stdout = BufReader::new(server.stdout.take().expect("it is piped")).lines();
    let mut answers = Vec::new();
    for line in lines {
        writeln!(stdin, "{line}").expect("it reads");
        while let Some(id) = line.get("id") {
            let answer = stdout.next().expect("it answers").expect("text");
            let answer: Value = serde_json::from_str(&answer).expect("JSON");
            if answer["id"] == *id {
                answers.push(answer);
                break;
            }
        }
    }
    drop(stdin);
    server.wait().expect("it ends");
    answers
}

/// A front end is told of parameters and methods.
#[test]
fn front_end_hears_of_parameters_and_methods() {
    let world = world();
    let mut questions = questions();
    questions.push(("show", json!({"id": "nobody"}), "`messages` lists"));
    questions.push(("show", json!({"id": "o1"}), "give it as `workspace`"));
    let requests: Vec<Value> = questions
        .iter()
        .enumerate()
        .map(|(id, (method, params, _))| {
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        })
        .collect();
    let answers = asked(&world, &["serve", "--stdio"], &requests);
    for (answer, (_, _, says)) in answers.iter().zip(&questions) {
        check(answer, says);
    }
}

#[test]
fn a_model_is_told_of_arguments_and_tools() {
    let world = world();
    let planned = world.json(&["revert", "m1", "--dry-run"]);
    let mut questions = questions();
    questions.retain(|(tool, ..)| *tool != "revert");
    questions.push(("show", json!({"id": "nobody"}), "`list` lists"));
    questions.push((
        "show",
        json!({"id": "o1"}),
        "this server is for another one",
    ));
    questions.push(("apply", json!({"plan": planned["plan"]}), "use `force`"));
    let calls = questions
        .iter()
        .map(|(tool, arguments, _)| (*tool, arguments.clone()));
    let answers = told_to_a_model(&world, calls);
    for (answer, (_, _, says)) in answers.iter().zip(&questions) {
        check(answer, says);
    }
    assert_eq!(world.read("made"), b"1\n", "nothing moved");
}

/// Calls tools, and returns what a model is given.
pub fn told_to_a_model<'t>(
    world: &Sandbox,
    calls: impl IntoIterator<Item = (&'t str, Value)>,
) -> Vec<Value> {
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    let mut lines = vec![
        json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    for (id, (tool, arguments)) in calls.into_iter().enumerate() {
        let params = json!({"name": tool, "arguments": arguments});
        lines.push(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }
    let answers = asked(world, &["mcp", "--allow-revert"], &lines);
    let answers = answers.into_iter().skip(1);
    answers
        .map(|mut answer| answer["result"]["structuredContent"].take())
        .collect()
}
