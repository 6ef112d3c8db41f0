//! What a model gets no contents of has a name and numbers. There is one way to ask: by the fields of a document.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ckpt_output::{data, text};
use ckpt_schema::report::{ChangeReport, PathText};
use ckpt_store::query::Withheld;
use serde_json::{Map, Value};

/// The files whose contents may be in an answer.
pub enum ShownFiles {
    All,
    /// What a model does not get is unknown.
    Nothing,
    Except(Box<Withheld>),
}

impl ShownFiles {
    /// Returns whether the contents of the file that an object of a document is about may be. It counts under all its
    /// names, and by what it holds.
    fn hold(&self, fields: &Map<String, Value>) -> bool {
        let withheld = match self {
            Self::All => return true,
            Self::Nothing => return false,
            Self::Except(withheld) => withheld,
        };
        let blobs = ["old_blob", "new_blob"].map(|name| fields.get(name).and_then(Value::as_str));
        let texts = fields.get("contents").map(texts).unwrap_or_default();
        !names(fields).any(|path| withheld.covers(&text::bytes(&path)))
            && !blobs.iter().flatten().any(|blob| withheld.has_blob(blob))
            && !texts.iter().any(|bytes| withheld.has_content(bytes))
    }

    /// Returns whether a patch may have a change. One that is for a model spells out no name that is more than a path.
    pub fn hold_change(&self, change: &ChangeReport) -> bool {
        if matches!(self, Self::All) {
            return true;
        }
        match serde_json::to_value(change) {
            Ok(Value::Object(fields)) => {
                self.hold(&fields) && names(&fields).all(|path| data::is_only_a_path(&path.path))
            }
            _ => false,
        }
    }

    /// Takes the contents of files that are not shown out of a document, and the ids of their blobs, which give a short
    /// content away.
    pub fn withhold(&self, document: &mut Value) {
        match document {
            Value::Array(items) => items.iter_mut().for_each(|item| self.withhold(item)),
            Value::Object(fields) => {
                let is_held = self.hold(fields);
                for (name, field) in fields {
                    match name.as_str() {
                        "old_blob" | "new_blob" if !is_held => *field = Value::Null,
                        "contents" if !is_held => empty(field),
                        _ => self.withhold(field),
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns the names that a file has in an object: where it is, what it was or became, and what it was when lines of it
/// were written.
fn names(fields: &Map<String, Value>) -> impl Iterator<Item = PathText> {
    let hunks = fields.get("hunks").and_then(Value::as_array);
    let hunks = hunks.into_iter().flatten().filter_map(Value::as_object);
    let other = |fields: &Map<String, Value>, name| {
        fields.get(name).and_then(Value::as_object).and_then(path)
    };
    path(fields)
        .into_iter()
        .chain(other(fields, "renamed_from"))
        .chain(other(fields, "renamed_to"))
        .chain(hunks.filter_map(move |hunk| other(hunk, "renamed_from")))
}

fn path(fields: &Map<String, Value>) -> Option<PathText> {
    Some(PathText {
        path: fields.get("path")?.as_str()?.to_owned(),
        path_hex: fields
            .get("path_hex")
            .and_then(Value::as_str)
            .map(str::to_owned),
    })
}

/// Returns the bytes of every content in a field.
fn texts(field: &Value) -> Vec<Vec<u8>> {
    let Value::Object(fields) = field else {
        return Vec::new();
    };
    match (
        fields.get("text").and_then(Value::as_str),
        fields.get("encoding"),
    ) {
        (Some(text), Some(encoding)) if encoding == "base64" => {
            vec![STANDARD.decode(text).unwrap_or_default()]
        }
        (Some(text), _) => vec![text.as_bytes().to_vec()],
        (None, _) => fields.values().flat_map(texts).collect(),
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
