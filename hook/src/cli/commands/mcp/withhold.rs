//! What a model gets no contents of has a name and numbers.

use ckpt_schema::report::PathText;
use serde_json::{Map, Value};

use super::super::serve::methods::ShownFiles;

/// Takes the contents of files that are not shown out of a document, and the ids of their blobs, which give a short
/// content away.
pub fn withhold(document: &mut Value, shown: &ShownFiles) {
    match document {
        Value::Array(items) => items.iter_mut().for_each(|item| withhold(item, shown)),
        Value::Object(fields) => {
            // A renamed file counts under both names.
            let names = [path(fields, "path", "path_hex")]
                .into_iter()
                .chain(["renamed_from", "renamed_to"].map(|name| fields.get(name).and_then(named)));
            let is_withheld = names.flatten().any(|path| !shown.holds(&path));
            for (name, field) in fields {
                match name.as_str() {
                    "old_blob" | "new_blob" if is_withheld => *field = Value::Null,
                    "contents" if is_withheld => empty(field),
                    _ => withhold(field, shown),
                }
            }
        }
        _ => {}
    }
}

/// Returns a path of an object by the names of its fields.
fn path(fields: &Map<String, Value>, text: &str, hex: &str) -> Option<PathText> {
    Some(PathText {
        path: fields.get(text)?.as_str()?.to_owned(),
        path_hex: fields.get(hex).and_then(Value::as_str).map(str::to_owned),
    })
}

/// Returns the other name of a renamed file: a path, or an object that has one.
fn named(value: &Value) -> Option<PathText> {
    match value {
        Value::String(path) => Some(PathText {
            path: path.clone(),
            path_hex: None,
        }),
        Value::Object(fields) => path(fields, "path", "path_hex"),
        _ => None,
    }
}

/// Leaves nothing of contents but their sizes.
fn empty(contents: &mut Value) {
    match contents {
        Value::Object(fields) => {
            for (name, field) in fields {
                match name.as_str() {
                    "text" | "hunks" | "blob" => *field = Value::Null,
                    _ => empty(field),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(empty),
        _ => {}
    }
}
