//! `schema`, and that every document that a command prints is what its schema says.

use ckpt_schema::documents;
use serde_json::{Value, json};

use testing::binary::Sandbox;

/// What the documents were in the first version.
const THEN: &str = include_str!("../fixtures/contract/version-1.json");

/// The codes of docs/codes.md: a client takes one that it does not know for the general case.
const OPEN: [&str; 4] = ["FailureKind", "ReasonCode", "DifferenceReason", "NoteCode"];

/// Returns the schema of a document as the binary prints it.
fn schema(world: &Sandbox, name: &str) -> Value {
    let run = world.run(&["schema", name], b"").exits(0);
    serde_json::from_str(&run.stdout).expect("a schema is JSON")
}

/// Checks what a command prints, whatever its exit code is, and returns it.
fn valid(world: &Sandbox, name: &str, arguments: &[&str]) -> Value {
    let mut all = vec!["--json"];
    all.extend(arguments);
    let run = world.run(&all, b"");
    let document: Value = serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{arguments:?} prints a document: {error}\n{run}"));
    check(world, name, &document);
    document
}

/// The document is what its schema says, and what the schema said in the first version, whose clients are in use.
pub fn check(world: &Sandbox, name: &str, document: &Value) {
    is_valid(&schema(world, name), name, document);
    let mut then: Value = serde_json::from_str(THEN).expect("a schema is JSON");
    for codes in OPEN {
        then["$defs"][codes] = json!({"type": "string"});
    }
    if let Some(schema) = documents::document(&then, name) {
        is_valid(&schema, &format!("{name} of version 1"), document);
    }
}

fn is_valid(schema: &Value, name: &str, document: &Value) {
    let validator = jsonschema::validator_for(schema).expect("our schema is one");
    let errors: Vec<String> = validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path))
        .collect();
    assert_eq!(errors, Vec::<String>::new(), "{name}: {document:#}");
}

/// Every document that a command prints is what its schema says.
///
/// Invariant `truth/contract`.
#[test]
fn every_document_is_what_its_schema_says() {
    let world = Sandbox::new();
    valid(&world, "report-log", &["log"]);
    world.write("kept", "one\n");
    world.play("m1", "write it", |world| world.write("made", "one\ntwo\n"));
    world.play("m2", "change it", |world| {
        world.write("made", "two\n");
        world.remove("kept");
    });
    let snapshot = valid(&world, "report-snapshot", &["snapshot", "--label", "mine"]);
    let tree = snapshot["snapshot"].as_str().expect("an id").to_owned();
    let log = valid(&world, "report-log", &["log"]);
    let newest = log["messages"][0]["id"].as_str().expect("an id").to_owned();
    valid(&world, "report-sessions", &["sessions"]);
    valid(&world, "report-status", &["status"]);
    valid(&world, "report-doctor", &["doctor"]);
    valid(&world, "report-agents", &["install", "--list"]);
    valid(
        &world,
        "report-install",
        &["install", "--dry-run", "claude-code"],
    );
    valid(&world, "report-diff", &["diff", &newest]);
    let message = valid(&world, "report-show", &["show", &newest]);
    let step = message["steps"][0]["id"].as_str().expect("an id");
    valid(&world, "report-show", &["show", step]);
    valid(&world, "report-show", &["show", "s"]);
    valid(&world, "report-show", &["show", &tree]);
    world.write("made", "two\nmine\n");
    let revert = ["revert", "--message", "m1"];
    valid(
        &world,
        "report-operation",
        &[&revert[..], &["--dry-run"]].concat(),
    );
    let done = valid(&world, "report-operation", &revert);
    let operation = done["operation"].as_str().expect("an id");
    valid(&world, "report-show", &["show", operation]);
    valid(&world, "report-status", &["status"]);
    valid(&world, "report-operations", &["log", "--operations"]);
    valid(&world, "report-operation", &["redo"]);
    valid(&world, "report-operation", &["unrevert"]);
    valid(&world, "report-operation", &["unrevert"]);
    valid(&world, "report-operation", &["restore", &tree, "made"]);
    for refused in [
        &["blame"][..],
        &["show", "nothing-has-this-id"],
        &["revert", "--message", "last~9"],
        &["schema", "no-such-document"],
        &["log", "-n", "many"],
    ] {
        valid(&world, "report-error", refused);
    }
    let event = json!({"event": "user_message", "session_id": "s", "message_id": "m3", "cwd": world.workspace()});
    check(&world, "event", &event);
    let run = world
        .run(&["--json", "event"], event.to_string().as_bytes())
        .exits(0);
    if !run.stdout.is_empty() {
        check(
            &world,
            "report-event",
            &serde_json::from_str(&run.stdout).expect("a document"),
        );
    }
}

#[test]
fn a_failure_says_its_kind() {
    let world = Sandbox::new();
    world.play("m1", "write it", |world| world.write("made", "one\n"));
    let kind =
        |arguments: &[&str]| valid(&world, "report-error", arguments)["error"]["kind"].clone();
    assert_eq!(kind(&["log", "-n", "many"]), "usage");
    assert_eq!(kind(&["show", "nothing-has-this-id"]), "unknown");
    assert_eq!(kind(&["revert", "--message", "last~9"]), "unknown");
}

/// The schema of all documents defines a type once.
#[test]
fn schema_defines_each_type_once() {
    let world = Sandbox::new();
    let run = world.run(&["schema"], b"").exits(0);
    let all: Value = serde_json::from_str(&run.stdout).expect("a schema is JSON");
    let names = all["properties"].as_object().expect("documents").keys();
    for name in names {
        let one = schema(&world, name);
        for (kind, definition) in one["$defs"].as_object().into_iter().flatten() {
            assert_eq!(
                definition, &all["$defs"][kind],
                "{name}: {kind} is the same type"
            );
        }
    }
    let run = world.run(&["schema", "coffee"], b"").exits(2);
    assert!(
        run.stderr.contains("report-operation"),
        "it names what there is: {run}"
    );
}
