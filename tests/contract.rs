//! A client of an older version still works: what it was promised is in `fixtures/contract`, as the schemas were then, and
//! is compared with those of now. `tests/cli/schema.rs` checks what the binary prints against the same file.
//!
//! ```text
//! what we print    now ⊆ then   nothing is removed, nothing becomes null or of another type; fields may be added
//! what we read     then ⊆ now   nothing is refused that was taken, no field becomes necessary; fields may be added
//! ```

use std::collections::BTreeSet;

use ckpt_schema::documents::{self, ALL};
use serde_json::{Value, json};

/// The schemas of the first version of the documents, without the texts.
const THEN: &str = include_str!("fixtures/contract/version-1.json");

/// The codes of docs/codes.md, which says that new ones may be added.
const OPEN: [&str; 4] = ["FailureKind", "ReasonCode", "DifferenceReason", "NoteCode"];

/// The type of which clients pass over a variant whose `type` they do not know: docs/embedding.md says so.
const NOTIFICATION: &str = "Notification";

fn then() -> Value {
    serde_json::from_str(THEN).expect("a schema is JSON")
}

fn now() -> Value {
    serde_json::from_str(ALL).expect("a schema is JSON")
}

fn is_read(document: &str) -> bool {
    document == "event" || document.starts_with("parameters-")
}

/// Returns the types of the documents that are read, or of those that are printed.
fn types(all: &Value, read: bool) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let documents = documents::names(all).into_iter();
    for name in documents.filter(|name| is_read(name) == read) {
        let reference = &all["properties"][name]["$ref"];
        let own = reference
            .as_str()
            .and_then(|text| text.strip_prefix("#/$defs/"));
        names.insert(own.expect("a document is a type").to_owned());
        let schema = documents::document(all, name).expect("it is one of the names");
        names.extend(
            schema["$defs"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, _)| name.clone()),
        );
    }
    names
}

fn list(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(values) => values.clone(),
        Value::Null => Vec::new(),
        one => vec![one.clone()],
    }
}

/// Returns the shapes that a value may have.
fn shapes(schema: &Value) -> Vec<Value> {
    ["oneOf", "anyOf"]
        .into_iter()
        .find_map(|word| schema[word].as_array().cloned())
        .unwrap_or_else(|| vec![schema.clone()])
}

/// Returns why a value of one schema may not be one of another, which is wider.
fn wider(narrow: &Value, wide: &Value, keeps_fields: bool) -> Result<(), String> {
    if wide == &json!(true) || wide.as_object().is_some_and(serde_json::Map::is_empty) {
        return Ok(());
    }
    let wides = shapes(wide);
    for shape in shapes(narrow) {
        let found: Vec<_> = wides
            .iter()
            .map(|wide| shape_in(&shape, wide, keeps_fields))
            .collect();
        if !found.iter().any(Result::is_ok) {
            let why: Vec<String> = found.into_iter().filter_map(Result::err).collect();
            return Err(why.join("; "));
        }
    }
    Ok(())
}

fn shape_in(narrow: &Value, wide: &Value, keeps_fields: bool) -> Result<(), String> {
    if narrow["$ref"] != wide["$ref"] {
        return Err(format!("{} is not {}", narrow["$ref"], wide["$ref"]));
    }
    let kinds = list(&wide["type"]);
    let kind_is_known = list(&narrow["type"])
        .iter()
        .all(|kind| kinds.contains(kind));
    if !kinds.is_empty() && !kind_is_known {
        return Err(format!("{} is not {}", narrow["type"], wide["type"]));
    }
    for word in ["const", "enum"] {
        let values = list(&wide[word]);
        let own = [list(&narrow["const"]), list(&narrow["enum"])].concat();
        if !values.is_empty() && (own.is_empty() || !own.iter().all(|value| values.contains(value)))
        {
            return Err(format!("{own:?} is not among {values:?}"));
        }
    }
    if let (Some(most), Some(least)) = (wide["maximum"].as_i64(), wide["minimum"].as_i64()) {
        let within = narrow["maximum"]
            .as_i64()
            .is_some_and(|number| number <= most)
            && narrow["minimum"]
                .as_i64()
                .is_some_and(|number| number >= least);
        if !within {
            return Err(format!("it may be beyond {least} to {most}"));
        }
    }
    fields(narrow, wide, keeps_fields)?;
    for word in ["items", "additionalProperties"] {
        if wide[word].is_object() {
            wider(&narrow[word], &wide[word], keeps_fields)
                .map_err(|why| format!("{word}: {why}"))?;
        }
    }
    Ok(())
}

/// Compares the fields of objects. `keeps_fields`: each of the wider type is one of the narrower, which we print.
fn fields(narrow: &Value, wide: &Value, keeps_fields: bool) -> Result<(), String> {
    let required = list(&narrow["required"]);
    for (name, field) in wide["properties"].as_object().into_iter().flatten() {
        let own = &narrow["properties"][name];
        if own.is_null() && keeps_fields {
            return Err(format!("`{name}` is gone"));
        }
        if list(&wide["required"]).contains(&json!(name)) && !required.contains(&json!(name)) {
            return Err(format!("`{name}` may be missing"));
        }
        if !own.is_null() {
            wider(own, field, keeps_fields).map_err(|why| format!("`{name}`: {why}"))?;
        }
    }
    if !keeps_fields {
        for name in narrow["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name)
        {
            if wide["properties"][name].is_null() {
                return Err(format!("`{name}` is not read any more"));
            }
        }
    }
    Ok(())
}

/// Returns the variants of a type that an older client knows, by their `type`.
fn known_to(then: &Value, now: &Value) -> Value {
    let kind = |shape: &Value| shape["properties"]["type"]["const"].clone();
    let known: Vec<Value> = shapes(then).iter().map(kind).collect();
    let mut shapes = shapes(now);
    shapes.retain(|shape| known.contains(&kind(shape)));
    json!({"oneOf": shapes})
}

/// Returns what an older client would trip over.
fn broken(then: &Value, now: &Value) -> Vec<String> {
    let mut broken = Vec::new();
    for name in documents::names(then) {
        if now["properties"][name] != then["properties"][name] {
            broken.push(format!("the document `{name}` is gone, or of another type"));
        }
    }
    for read in [false, true] {
        for name in types(then, read) {
            if OPEN.contains(&name.as_str()) {
                continue;
            }
            let (was, is) = (&then["$defs"][&name], &now["$defs"][&name]);
            let known = known_to(was, is);
            let is = if name == NOTIFICATION { &known } else { is };
            let compared = match (is, read) {
                (Value::Null, _) => Err("it is gone".to_owned()),
                (_, false) => wider(is, was, true),
                (_, true) => wider(was, is, false),
            };
            broken.extend(compared.err().map(|why| format!("{name}: {why}")));
        }
    }
    broken
}

/// Invariant `truth/contract`.
#[test]
fn what_an_older_client_was_promised_stays() {
    assert_eq!(
        broken(&then(), &now()),
        Vec::<String>::new(),
        "clients of the first version are in use: add a field beside the one that they know"
    );
}

/// Invariant `truth/contract`.
#[test]
fn codes_that_clients_know_stay() {
    let (then, now) = (then(), now());
    for name in OPEN {
        let (was, is) = (&then["$defs"][name], &now["$defs"][name]);
        assert_eq!(
            wider(was, is, false),
            Ok(()),
            "{name}: a client may wait for each of them"
        );
    }
}

/// Notifications that clients know stay and others may be added.
///
/// Invariant `truth/contract`.
#[test]
fn known_notifications_stay() {
    let (then, mut now) = (then(), now());
    let (was, is) = (&then["$defs"][NOTIFICATION], &now["$defs"][NOTIFICATION]);
    assert_eq!(
        shapes(&known_to(was, is)).len(),
        shapes(was).len(),
        "a client may wait for each of them"
    );
    let of_tomorrow = json!({"type": "object", "required": ["type", "seq"], "properties": {
        "type": {"type": "string", "const": "of_tomorrow"}, "seq": {"type": "integer"},
    }});
    let variants = now["$defs"][NOTIFICATION]["oneOf"].as_array_mut();
    variants.expect("a list").push(of_tomorrow);
    assert_eq!(
        broken(&then, &now),
        Vec::<String>::new(),
        "clients ignore it"
    );
    now["$defs"][NOTIFICATION]["oneOf"][0]["required"] = json!(["type"]);
    assert_ne!(
        broken(&then, &now),
        Vec::<String>::new(),
        "one that they know has all that it had"
    );
}

#[test]
fn whatever_would_break_an_older_client_is_found() {
    let changed = |at: &str, value: Value| {
        let mut changed = now();
        *changed.pointer_mut(at).expect("it is there") = value;
        broken(&then(), &changed)
    };
    let log = "/$defs/LogReport";
    for (at, value) in [
        (format!("{log}/required"), json!(["version"])),
        (
            format!("{log}/properties"),
            json!({"version": {"type": "integer", "const": 1}}),
        ),
        (
            format!("{log}/properties/messages"),
            json!({"type": ["array", "null"]}),
        ),
        (format!("{log}/properties/version/const"), json!(2)),
        (
            "/$defs/MessageState/oneOf/0/const".to_owned(),
            json!("alive"),
        ),
        (
            "/$defs/MessageReport/properties/seq/type".to_owned(),
            json!("string"),
        ),
        (
            "/$defs/MessagesParameters/properties/limit".to_owned(),
            json!({"type": "string"}),
        ),
        ("/properties/report-log".to_owned(), json!(null)),
    ] {
        assert_ne!(changed(&at, value), Vec::<String>::new(), "{at}");
    }
    let mut added = now();
    added["$defs"]["LogReport"]["properties"]["of_tomorrow"] = json!({"type": "string"});
    added["$defs"]["MessagesParameters"]["properties"]["of_tomorrow"] = json!({"type": "string"});
    assert_eq!(
        broken(&then(), &added),
        Vec::<String>::new(),
        "fields may be added"
    );
    added["$defs"]["MessagesParameters"]["required"] = json!(["of_tomorrow"]);
    assert_ne!(
        broken(&then(), &added),
        Vec::<String>::new(),
        "no older client sends it"
    );
}
