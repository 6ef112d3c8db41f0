//! What a front end gets: the whole answers of docs/answers.md are those of the server, one of each method.

use serde_json::{Map, Value, json};
use testing::binary::Sandbox;

use crate::serve::{Client, played};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/answers.md");

/// A document is this wide at most, where that can be.
const COLUMNS: usize = 110;

/// The requests, in an order in which each has an answer that says something.
fn requests() -> Vec<(&'static str, Value)> {
    let event = json!({
        "event": "user_message", "session_id": "chat-7", "message_id": "msg-42", "prompt": "rename it",
    });
    vec![
        ("initialize", json!({"protocol": 1})),
        ("record", json!({"event": event})),
        ("sessions", json!({})),
        ("messages", json!({"limit": 1})),
        ("timeline", json!({"search": "change"})),
        ("show", json!({"id": "m1"})),
        ("patch", json!({"id": "m1"})),
        ("contents", json!({"path": "changed", "id": "m1"})),
        ("blame", json!({"path": "changed"})),
        (
            "plan",
            json!({"operation": "revert", "message": "m1", "contents": true}),
        ),
        ("apply", Value::Null),
        ("status", json!({})),
        ("redo", json!({})),
        ("undo", json!({})),
        ("unrevert", json!({})),
        ("revert", json!({"message": "m1", "only": ["made"]})),
        ("restore", json!({"id": "m1", "only": ["changed"]})),
        ("operations", json!({})),
        ("doctor", json!({})),
        (
            "install",
            json!({"agents": ["claude-code"], "dry_run": true}),
        ),
        ("subscribe", json!({"since": 0, "events": ["message"]})),
        ("unsubscribe", json!({})),
    ]
}

/// Returns a document without what is another one each time: ids, times, sizes, places.
fn steady(world: &Sandbox, value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(steady_text(world, &text)),
        Value::Number(number) if number.as_i64().is_some_and(|it| it > 1_000_000_000_000) => {
            json!(1_767_225_600_000_i64)
        }
        Value::Array(all) => all.into_iter().map(|it| steady(world, it)).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            Value::Object(fields.map(|(name, it)| (name, steady(world, it))).collect())
        }
        other => other,
    }
}

fn steady_text(world: &Sandbox, text: &str) -> String {
    // A plan's token, which holds ids and a place.
    if text.starts_with("eyJ") {
        return "eyJ…".to_owned();
    }
    let place = |path: std::path::PathBuf| path.to_str().expect("text").to_owned();
    let text = text
        .replace(&place(world.workspace()), "/home/ada/shop")
        .replace(&place(world.store()), "/home/ada/.local/share/ckpt-hook")
        .replace(&place(world.home()), "/home/ada")
        .replace(testing::binary::binary(), "ckpt-hook")
        .replace(env!("CARGO_PKG_VERSION"), "1.0.0");
    let text = world.redact(&text);
    let words: Vec<&str> = text.split(' ').collect();
    let is_unit = |word: Option<&&str>| word.is_some_and(|word| word.contains("iB"));
    let words = words
        .iter()
        .enumerate()
        .map(|(place, word)| match is_unit(words.get(place + 1)) {
            true => "1.0",
            false => word,
        });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns JSON with as many fields on a line as fit.
fn pretty(value: &Value, indent: usize) -> String {
    let short = value.to_string();
    if indent + short.chars().count() <= COLUMNS {
        return short;
    }
    let inner = " ".repeat(indent + 2);
    let outer = " ".repeat(indent);
    let joined = |rows: Vec<String>| rows.join(&format!(",\n{inner}"));
    match value {
        Value::Object(fields) => {
            let row =
                |(name, it): (&String, &Value)| format!("{name:?}: {}", pretty(it, indent + 2));
            let rows = fields.iter().map(row).collect();
            format!("{{\n{inner}{}\n{outer}}}", joined(rows))
        }
        Value::Array(all) => {
            let rows = all.iter().map(|it| pretty(it, indent + 2)).collect();
            format!("[\n{inner}{}\n{outer}]", joined(rows))
        }
        _ => short,
    }
}

/// Plays the requests, and returns them with their answers as the page shows them.
fn played_answers() -> String {
    let world = played();
    let mut client = Client::start(&world);
    let mut methods = Map::new();
    let mut text = String::new();
    let mut plan = Value::Null;
    for (method, mut parameters) in requests() {
        if method == "apply" {
            parameters = json!({"plan": plan});
        }
        let answer = client.call(method, parameters.clone());
        if method == "initialize" {
            let names = answer["methods"].as_array().expect("names").iter();
            methods = names
                .map(|it| (it.as_str().expect("a name").to_owned(), json!(null)))
                .collect();
        }
        if method == "plan" {
            plan = answer["plan"].clone();
        }
        methods.remove(method);
        let shown = |value| pretty(&steady(&world, value), 0);
        text.push_str(&format!(
            "\n`{method}` with\n\n```json\n{}\n```\n\n```json\n{}\n```\n",
            shown(parameters),
            shown(answer)
        ));
    }
    assert_eq!(
        methods.keys().collect::<Vec<_>>(),
        ["cancel"],
        "a notification has no answer, all others have one here"
    );
    text
}

#[test]
fn answers_of_the_page_are_real() {
    let page = std::fs::read_to_string(PAGE).expect("the page is there");
    let (intro, _) = page.split_once("\n`initialize`").expect("it begins so");
    let played = format!("{intro}{}", played_answers());
    #[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
    let is_update = std::env::var_os("UPDATE_EXPECT").is_some();
    if is_update {
        std::fs::write(PAGE, &played).expect("the page is writable");
        return;
    }
    assert!(
        played == page,
        "docs/answers.md shows other answers: `UPDATE_EXPECT=1` writes them anew"
    );
}

/// A file is read by its path in a state, and a patch is left out where names are enough.
#[test]
fn file_is_read_by_path_and_state() {
    let world = played();
    let mut client = Client::start(&world);
    let read = client.call("contents", json!({"path": "changed", "id": "m1"}));
    assert_eq!(read["content"]["text"], "1\n", "just before the message");
    let by_blob = client.call("contents", json!({"blob": read["blob"]}));
    assert_eq!(by_blob["content"], read["content"]);
    for wrong in [
        json!({}),
        json!({"path": "changed"}),
        json!({"blob": read["blob"], "id": "m1"}),
    ] {
        assert_eq!(client.refused("contents", wrong)["code"], -32602);
    }
    let names = client.call("patch", json!({"id": "m1", "names": true}));
    assert_eq!(names["files"].as_array().map(Vec::len), Some(2));
    assert_eq!(names["patch"]["text"], Value::Null, "no patch");
}

/// A front end checks the machine and puts the hook in.
#[test]
fn front_end_checks_and_installs() {
    let world = played();
    let mut client = Client::start(&world);
    let found = client.call("doctor", json!({}));
    let of_command = world.run(&["doctor", "--json"], b"").exits(0).stdout;
    let of_command: Value = serde_json::from_str(&of_command).expect("a document");
    let count = |document: &Value| document["findings"].as_array().map(Vec::len);
    assert_eq!(count(&found), count(&of_command), "the same findings");
    let asked = json!({"agents": ["claude-code"], "dry_run": true});
    let planned = client.call("install", asked);
    assert_eq!(planned["changes"][0]["agent"], "claude-code");
    let settings = world.home().join(".claude/settings.json");
    assert!(!settings.exists(), "that was a plan");
    client.call("install", json!({"agents": ["claude-code"]}));
    assert!(settings.exists());
    client.refused("install", json!({}));
}
