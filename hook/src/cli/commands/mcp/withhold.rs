//! What a model gets no contents of has a name and numbers.

use serde_json::Value;

use super::super::serve::methods::ShownFiles;

/// Takes the contents of files that are not shown out of a document, and the ids of their blobs, which give a short
/// content away.
pub fn withhold(document: &mut Value, shown: &ShownFiles) {
    match document {
        Value::Array(items) => items.iter_mut().for_each(|item| withhold(item, shown)),
        Value::Object(fields) => {
            let path = fields.get("path").and_then(Value::as_str).map(|path| {
                ckpt_schema::report::PathText {
                    path: path.to_owned(),
                    path_hex: fields
                        .get("path_hex")
                        .and_then(Value::as_str)
                        .map(str::to_owned),
                }
            });
            let is_withheld = path.is_some_and(|path| !shown.holds(&path));
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
