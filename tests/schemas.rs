//! The JSON Schemas of `schema/json` are those of the types in `schema/src`: compared here, and written anew with
//! `UPDATE_SCHEMAS=1` (`just schemas`). Also: what the documentation gives as an example is valid.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ckpt_schema::report::{
    AgentsReport, DiffReport, DoctorReport, ErrorReport, EventReport, InstallReport, LogReport,
    OperationReport, OperationsReport, SessionsReport, ShowReport, SnapshotReport, StatusReport,
};
use ckpt_schema::{Event, EventKind};
use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};

/// Every document: the name of its file, and its schema. A new type of document is added here.
fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("event", schema::<Event>()),
        ("report-agents", schema::<AgentsReport>()),
        ("report-diff", schema::<DiffReport>()),
        ("report-doctor", schema::<DoctorReport>()),
        ("report-error", schema::<ErrorReport>()),
        ("report-event", schema::<EventReport>()),
        ("report-install", schema::<InstallReport>()),
        ("report-log", schema::<LogReport>()),
        ("report-operation", schema::<OperationReport>()),
        ("report-operations", schema::<OperationsReport>()),
        ("report-sessions", schema::<SessionsReport>()),
        ("report-show", schema::<ShowReport>()),
        ("report-snapshot", schema::<SnapshotReport>()),
        ("report-status", schema::<StatusReport>()),
    ]
}

fn schema<T: JsonSchema>() -> Value {
    schema_for!(T).to_value()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("json")
}

fn file_name(name: &str) -> String {
    format!("{name}.schema.json")
}

fn named(name: &str) -> Value {
    let found = schemas().into_iter().find(|(known, _)| *known == name);
    found
        .unwrap_or_else(|| panic!("no schema is called `{name}`"))
        .1
}

fn errors(name: &str, document: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(&named(name)).expect("our schema is one");
    validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path))
        .collect()
}

#[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
fn update() -> bool {
    std::env::var_os("UPDATE_SCHEMAS").is_some_and(|value| value == "1")
}

#[test]
fn the_files_are_the_schemas_of_the_types() {
    for (name, schema) in schemas() {
        let file = folder().join(file_name(name));
        let text = serde_json::to_string_pretty(&schema).expect("a value is JSON") + "\n";
        if update() {
            fs::create_dir_all(folder()).expect("the schema folder can be made");
            fs::write(&file, &text).expect("the schema can be written");
        }
        let written = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            written == text,
            "{} is not what the types say: run `just schemas`",
            file.display()
        );
    }
}

#[test]
fn the_folder_holds_no_schema_without_a_type() {
    let expected: BTreeSet<String> = schemas()
        .into_iter()
        .map(|(name, _)| file_name(name))
        .collect();
    let found: BTreeSet<String> = fs::read_dir(folder())
        .expect("the schema folder is there")
        .map(|entry| {
            entry
                .expect("it can be read")
                .file_name()
                .into_string()
                .expect("its names are UTF-8")
        })
        .collect();
    assert_eq!(
        found, expected,
        "a file that no type makes would be believed, and never change"
    );
}

#[test]
fn every_report_has_a_version() {
    for (name, schema) in schemas()
        .into_iter()
        .filter(|(name, _)| name.starts_with("report-"))
    {
        let shapes = schema["oneOf"]
            .as_array()
            .cloned()
            .unwrap_or_else(|| vec![schema.clone()]);
        for shape in shapes {
            let required = shape["required"]
                .as_array()
                .expect("a report has fields that are always there");
            let versioned = required.contains(&json!("version")) || name == "report-error";
            assert!(versioned, "{name}: a reader must know which shape it reads");
        }
    }
}

#[test]
fn the_event_of_the_documentation_is_valid() {
    let event = json!({
        "event": "user_message", "session_id": "s1", "message_id": "m1", "cwd": "/abs/path", "prompt": "please …"
    });
    assert_eq!(
        errors("event", &event),
        Vec::<String>::new(),
        "it is the first thing that a script's author copies"
    );
}

#[test]
fn an_event_is_a_known_kind_and_a_session_and_may_say_more() {
    for kind in EventKind::ALL {
        let event = json!({"event": kind.name(), "session_id": "s", "of tomorrow": 1});
        assert_eq!(
            errors("event", &event),
            Vec::<String>::new(),
            "unknown fields are ignored"
        );
    }
    assert!(
        !errors("event", &json!({"event": "user_message"})).is_empty(),
        "without a session there is nothing to record"
    );
    assert!(
        !errors("event", &json!({"event": "coffee", "session_id": "s"})).is_empty(),
        "the schema names every event"
    );
}

#[test]
fn a_path_that_is_not_utf_8_has_its_bytes_beside_it() {
    let gap = json!({"path": "caf\u{fffd}", "path_hex": "636166e9", "reason": "unreadable"});
    let report =
        json!({"version": 1, "snapshot": "0", "repository": "/r", "label": null, "gaps": [gap]});
    assert_eq!(
        errors("report-snapshot", &report),
        Vec::<String>::new(),
        "lossy text alone would name another file"
    );
}
