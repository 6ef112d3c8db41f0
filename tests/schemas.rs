//! The JSON Schemas of `schema/json` are those of the types in `schema/src`: compared here, and written anew with
//! `UPDATE_SCHEMAS=1` (`just schemas`). Also: what the documentation gives as an example is valid.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ckpt_schema::documents::{self, MAX_SAFE_INTEGER};
use ckpt_schema::protocol::{
    ApplyParameters, BlameParameters, ContentsParameters, ContentsResult, DoctorParameters,
    InitializeParameters, InitializeResult, InstallParameters, MessagesParameters,
    OperationParameters, PatchParameters, PatchResult, PlanResult, Progress, RecordParameters,
    SessionsParameters, ShowParameters, StatusParameters, SubscribeParameters, SubscribeResult,
    TimelineParameters, WorkspaceParameters,
};
use ckpt_schema::report::{
    AdoptReport, AgentsReport, BisectReport, BlameReport, BranchReport, CatReport, ConfigChange,
    ConfigReport, DiffReport, DoctorReport, DuReport, ErrorReport, EventReport, ExportReport,
    FetchReport, ForgetReport, GcReport, InstallReport, LabelsReport, LogReport, Notification,
    OperationReport, OperationsReport, PageReport, PushReport, RecoverReport, SessionsReport,
    ShowReport, SnapshotReport, SnapshotsReport, StatusReport, TimelineReport, VERSION,
    WorkspacesReport,
};
use ckpt_schema::{Event, EventKind, Word};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// Every document: its name, and its type. A new type of document is added here.
fn generate() -> Value {
    // What is read may leave fields out, what is written has all of them.
    let mut events = generator(SchemaSettings::draft2020_12().for_deserialize());
    let mut reports = generator(SchemaSettings::draft2020_12().for_serialize());
    let documents = [
        ("event", events.subschema_for::<Event>()),
        ("notification", reports.subschema_for::<Notification>()),
        ("report-adopt", reports.subschema_for::<AdoptReport>()),
        ("report-agents", reports.subschema_for::<AgentsReport>()),
        ("report-bisect", reports.subschema_for::<BisectReport>()),
        ("report-branch", reports.subschema_for::<BranchReport>()),
        ("report-blame", reports.subschema_for::<BlameReport>()),
        ("report-cat", reports.subschema_for::<CatReport>()),
        ("report-recover", reports.subschema_for::<RecoverReport>()),
        ("report-diff", reports.subschema_for::<DiffReport>()),
        ("report-config", reports.subschema_for::<ConfigReport>()),
        (
            "report-config-change",
            reports.subschema_for::<ConfigChange>(),
        ),
        ("report-doctor", reports.subschema_for::<DoctorReport>()),
        ("report-du", reports.subschema_for::<DuReport>()),
        ("report-error", reports.subschema_for::<ErrorReport>()),
        ("report-event", reports.subschema_for::<EventReport>()),
        ("report-export", reports.subschema_for::<ExportReport>()),
        ("report-fetch", reports.subschema_for::<FetchReport>()),
        ("report-push", reports.subschema_for::<PushReport>()),
        ("report-forget", reports.subschema_for::<ForgetReport>()),
        ("report-gc", reports.subschema_for::<GcReport>()),
        ("report-install", reports.subschema_for::<InstallReport>()),
        ("report-label", reports.subschema_for::<LabelsReport>()),
        ("report-log", reports.subschema_for::<LogReport>()),
        ("report-page", reports.subschema_for::<PageReport>()),
        (
            "report-operation",
            reports.subschema_for::<OperationReport>(),
        ),
        (
            "report-operations",
            reports.subschema_for::<OperationsReport>(),
        ),
        ("report-sessions", reports.subschema_for::<SessionsReport>()),
        ("report-show", reports.subschema_for::<ShowReport>()),
        ("report-snapshot", reports.subschema_for::<SnapshotReport>()),
        (
            "report-snapshots",
            reports.subschema_for::<SnapshotsReport>(),
        ),
        ("report-status", reports.subschema_for::<StatusReport>()),
        (
            "report-workspaces",
            reports.subschema_for::<WorkspacesReport>(),
        ),
        ("report-timeline", reports.subschema_for::<TimelineReport>()),
    ];
    let documents = documents
        .into_iter()
        .chain(protocol(&mut events, &mut reports));
    let properties: Map<String, Value> = documents
        .into_iter()
        .map(|(name, schema)| (name.to_owned(), schema.to_value()))
        .collect();
    let mut definitions = events.take_definitions(true);
    definitions.extend(reports.take_definitions(true));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": documents::id("documents"),
        "title": "Documents",
        "description": "What ckpt-hook reads and prints as JSON: each document under its name.",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "$defs": definitions,
    })
}

/// What goes over `serve --stdio` besides the documents of commands.
fn protocol(
    events: &mut SchemaGenerator,
    reports: &mut SchemaGenerator,
) -> Vec<(&'static str, Schema)> {
    vec![
        (
            "parameters-apply",
            events.subschema_for::<ApplyParameters>(),
        ),
        (
            "parameters-blame",
            events.subschema_for::<BlameParameters>(),
        ),
        (
            "parameters-contents",
            events.subschema_for::<ContentsParameters>(),
        ),
        (
            "parameters-doctor",
            events.subschema_for::<DoctorParameters>(),
        ),
        (
            "parameters-install",
            events.subschema_for::<InstallParameters>(),
        ),
        (
            "parameters-initialize",
            events.subschema_for::<InitializeParameters>(),
        ),
        (
            "parameters-messages",
            events.subschema_for::<MessagesParameters>(),
        ),
        (
            "parameters-operation",
            events.subschema_for::<OperationParameters>(),
        ),
        (
            "parameters-patch",
            events.subschema_for::<PatchParameters>(),
        ),
        (
            "parameters-record",
            events.subschema_for::<RecordParameters>(),
        ),
        (
            "parameters-sessions",
            events.subschema_for::<SessionsParameters>(),
        ),
        ("parameters-show", events.subschema_for::<ShowParameters>()),
        (
            "parameters-status",
            events.subschema_for::<StatusParameters>(),
        ),
        (
            "parameters-subscribe",
            events.subschema_for::<SubscribeParameters>(),
        ),
        (
            "parameters-timeline",
            events.subschema_for::<TimelineParameters>(),
        ),
        (
            "parameters-workspace",
            events.subschema_for::<WorkspaceParameters>(),
        ),
        ("progress", reports.subschema_for::<Progress>()),
        ("result-contents", reports.subschema_for::<ContentsResult>()),
        (
            "result-initialize",
            reports.subschema_for::<InitializeResult>(),
        ),
        ("result-patch", reports.subschema_for::<PatchResult>()),
        ("result-plan", reports.subschema_for::<PlanResult>()),
        (
            "result-subscribe",
            reports.subschema_for::<SubscribeResult>(),
        ),
    ]
}

fn generator(settings: SchemaSettings) -> SchemaGenerator {
    settings
        .with_transform(RecursiveTransform(exact_in_every_language))
        .into_generator()
}

/// An integer that JavaScript cannot hold would be read as another one; a document of another version has another shape.
fn exact_in_every_language(schema: &mut Schema) {
    let format = schema.get("format").and_then(Value::as_str);
    let lowest = match format {
        Some("uint64" | "uint") => Some(0),
        Some("int64" | "int") => Some(-MAX_SAFE_INTEGER),
        _ => None,
    };
    if let Some(lowest) = lowest {
        schema.insert("minimum".to_owned(), json!(lowest));
        schema.insert("maximum".to_owned(), json!(MAX_SAFE_INTEGER));
    }
    if schema.get("type").is_some_and(|kind| kind != "string") {
        // The sizes of Rust's integers say nothing that the bounds do not.
        schema.remove("format");
    }
    let version = schema
        .get_mut("properties")
        .and_then(|properties| properties.get_mut("version"));
    let version = version.and_then(Value::as_object_mut);
    if let Some(version) = version.filter(|version| version["type"] == "integer") {
        version.insert("const".to_owned(), json!(VERSION));
        version.remove("format");
        version.remove("minimum");
    }
}

fn schemas() -> Vec<(String, Value)> {
    let all = generate();
    let documents = documents::names(&all).into_iter().map(|name| {
        let schema = documents::document(&all, name).expect("it is one of the names");
        (name.to_owned(), schema)
    });
    let mut schemas: Vec<_> = documents.collect();
    schemas.push(("ckpt-hook".to_owned(), all));
    schemas
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("json")
}

fn file_name(name: &str) -> String {
    format!("{name}.schema.json")
}

fn named(name: &str) -> Value {
    documents::document(&generate(), name).unwrap_or_else(|| panic!("no schema is called `{name}`"))
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

/// Invariant `truth/contract`: Documents and views keep what they promise, to clients of older
/// versions as well.
#[test]
fn the_files_are_the_schemas_of_the_types() {
    for (name, schema) in schemas() {
        let file = folder().join(file_name(&name));
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

/// The head of docs/codes.md; the rest is of the types.
const CODES: &str = "\
# Codes

Documents say everything twice: in a sentence for people, and in a code for programs. These are all codes. New ones may
be added, so take one that you do not know for the general case: for a failure that is `failed`, elsewhere show the
sentence.

An error of the server has a code of JSON-RPC, too. Four go with the kind `usage`: -32700 for what is not JSON, -32600
for what is not a request, -32601 for a method that does not exist, and -32602 for wrong parameters. The kind `cancelled`
has -32800, and everything else has -32000.
";

/// Which types are codes, and where they stand.
const CODE_TYPES: [(&str, &str); 4] = [
    (
        "FailureKind",
        "`error.kind`: what went wrong with the whole",
    ),
    (
        "ReasonCode",
        "`reason_code` of a file: why it stays, or what went wrong with it",
    ),
    (
        "DifferenceReason",
        "`reason` of a receipt's `differences`: why a path is not as it was",
    ),
    ("NoteCode", "`code` of `remarks`: what else is to be known"),
];

/// Returns the page with every code and what it means.
fn codes() -> String {
    let all = generate();
    let mut page = CODES.to_owned();
    for (name, heading) in CODE_TYPES {
        page += &format!("\n## {heading}\n\n| code | meaning |\n| --- | --- |\n");
        let variants = all["$defs"][name]["oneOf"].as_array();
        for variant in variants.expect("an enumeration has variants") {
            let code = variant["const"].as_str().expect("a code is a string");
            let meaning = variant["description"].as_str();
            let meaning = meaning.expect("a code says what it means");
            page += &format!("| `{code}` | {} |\n", meaning.replace('\n', " "));
        }
    }
    page
}

/// The page of codes is what the types say.
#[test]
fn page_of_codes_is_that_of_types() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/codes.md");
    if update() {
        fs::write(&file, codes()).expect("the page can be written");
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == codes(),
        "docs/codes.md is behind: run `just schemas`"
    );
}

#[test]
fn the_folder_holds_no_schema_without_a_type() {
    let expected: BTreeSet<String> = schemas()
        .into_iter()
        .map(|(name, _)| file_name(&name))
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

/// The shapes that a document may have.
fn shapes(schema: &Value) -> Vec<Value> {
    schema["oneOf"]
        .as_array()
        .cloned()
        .unwrap_or_else(|| vec![schema.clone()])
}

#[test]
fn every_report_has_the_version_and_no_other() {
    for (name, schema) in schemas()
        .into_iter()
        .filter(|(name, _)| name.starts_with("report-"))
    {
        for shape in shapes(&schema) {
            let required = shape["required"]
                .as_array()
                .expect("a report has fields that are always there");
            assert!(
                required.contains(&json!("version")),
                "{name}: a reader must know which shape it reads"
            );
            assert_eq!(
                shape["properties"]["version"]["const"],
                json!(VERSION),
                "{name}: a document of another version is refused"
            );
        }
    }
}

/// A field of a report is null and never missing.
#[test]
fn reports_field_is_null_never_missing() {
    let all = generate();
    for (name, definition) in all["$defs"].as_object().expect("types") {
        let is_read = ["Event", "EventKind", "ToolKind", "ToolUse"].contains(&name.as_str())
            || name.ends_with("Parameters")
            || name.ends_with("Parameter");
        if is_read {
            continue;
        }
        for shape in shapes(definition) {
            let Some(properties) = shape["properties"].as_object() else {
                continue;
            };
            for field in properties.keys() {
                let is_required = shape["required"]
                    .as_array()
                    .is_some_and(|required| required.contains(&json!(field)));
                assert!(
                    is_required,
                    "{name}.{field}: there is one style for what is absent"
                );
            }
        }
    }
}

#[test]
fn no_integer_is_larger_than_javascript_holds() {
    fn look(schema: &Value, place: &str) {
        match schema {
            Value::Object(map) => {
                let is_integer = match &map.get("type") {
                    Some(Value::String(kind)) => kind == "integer",
                    Some(Value::Array(kinds)) => kinds.contains(&json!("integer")),
                    _ => false,
                };
                let is_bounded = map.contains_key("const")
                    || map.get("maximum").and_then(Value::as_i64) <= Some(MAX_SAFE_INTEGER)
                        && map.contains_key("maximum");
                assert!(!is_integer || is_bounded, "{place} has no bound");
                for (key, value) in map {
                    look(value, &format!("{place}/{key}"));
                }
            }
            Value::Array(values) => values.iter().for_each(|value| look(value, place)),
            _ => {}
        }
    }
    look(&generate(), "");
}

/// Every schema has an id of its own and stands alone.
#[test]
fn every_schema_stands_alone() {
    let mut ids = BTreeSet::new();
    for (name, schema) in schemas() {
        let id = schema["$id"]
            .as_str()
            .expect("a schema has an id")
            .to_owned();
        assert!(ids.insert(id), "{name} has the id of another");
        jsonschema::validator_for(&schema).expect("every reference leads to a definition");
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

/// An event is a known kind and a session and may say more.
#[test]
fn event_is_a_known_kind_and_session() {
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

/// A path that is not UTF-8 has its bytes beside it.
#[test]
fn path_beyond_utf_8_has_its_bytes() {
    let gap = json!({"path": "caf\u{fffd}", "path_hex": "636166e9", "reason": "unreadable"});
    let report = json!({"version": 1, "snapshot": "0", "repository": "/r", "label": null, "gaps": [gap], "notes": [], "finished": []});
    assert_eq!(
        errors("report-snapshot", &report),
        Vec::<String>::new(),
        "lossy text alone would name another file"
    );
}
