//! The JSON Schemas of every document that goes in or out. `schema/json` holds them as text, with one definition per
//! type.
//!
//! `schema/json/ckpt-hook.schema.json` is an object that has each document under its name, with the types in `$defs`:
//! types for other languages are generated from it. The schema of a single document is cut out of it.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// The schema of all documents, as JSON Schema 2020-12.
pub const ALL: &str = include_str!("../json/ckpt-hook.schema.json");

/// The largest integer that every JSON reader keeps exactly: 2^53 - 1, JavaScript's `Number.MAX_SAFE_INTEGER`.
pub const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// Returns the identifier of a schema. It is a name, not an address: nothing is fetched from it.
pub fn id(name: &str) -> String {
    format!("urn:ckpt-hook:schema:{}:{name}", crate::report::VERSION)
}

/// Returns the names of the documents in the schema of all documents, in its order.
pub fn names(all: &Value) -> Vec<&str> {
    properties(all).map_or_else(Vec::new, |properties| {
        properties.keys().map(String::as_str).collect()
    })
}

/// Returns the schema of one document with the definitions that it needs, or `None` for an unknown name.
pub fn document(all: &Value, name: &str) -> Option<Value> {
    let reference = properties(all)?.get(name)?["$ref"].as_str()?;
    let definitions = all["$defs"].as_object()?;
    let own = definition_name(reference)?;
    let definition = definitions.get(own)?;
    let mut needed = BTreeSet::new();
    collect(definition, definitions, &mut needed);
    let mut schema = definition.as_object()?.clone();
    schema.insert("$schema".to_owned(), all["$schema"].clone());
    schema.insert("$id".to_owned(), json!(id(name)));
    schema.insert("title".to_owned(), json!(own));
    if !needed.is_empty() {
        let needed: Map<String, Value> = needed
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), definitions.get(name)?.clone())))
            .collect();
        schema.insert("$defs".to_owned(), Value::Object(needed));
    }
    Some(Value::Object(schema))
}

fn properties(all: &Value) -> Option<&Map<String, Value>> {
    all["properties"].as_object()
}

fn definition_name(reference: &str) -> Option<&str> {
    reference.strip_prefix("#/$defs/")
}

/// Adds the definitions that a schema refers to, and those that they refer to.
fn collect<'a>(
    schema: &'a Value,
    definitions: &'a Map<String, Value>,
    needed: &mut BTreeSet<&'a str>,
) {
    match schema {
        Value::Object(map) => {
            let referred = map.get("$ref").and_then(Value::as_str);
            if let Some(name) = referred.and_then(definition_name)
                && needed.insert(name)
                && let Some(definition) = definitions.get(name)
            {
                collect(definition, definitions, needed);
            }
            map.values()
                .for_each(|value| collect(value, definitions, needed));
        }
        Value::Array(values) => values
            .iter()
            .for_each(|value| collect(value, definitions, needed)),
        _ => {}
    }
}
