//! Paths as a JSON array, for columns of the session store.

use serde_json::Value;

use super::path::WorkspacePath;

/// Returns a JSON array of paths. A path that is not UTF-8 is an array of its bytes.
pub(crate) fn to_json(paths: &[WorkspacePath]) -> String {
    Value::from_iter(paths.iter().map(value)).to_string()
}

/// Parses what [`to_json`] wrote. Anything that is not a path is left out.
pub(crate) fn from_json(text: &str) -> Vec<WorkspacePath> {
    let values: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
    values.into_iter().filter_map(path).collect()
}

/// Returns one path as JSON.
pub(crate) fn value(path: &WorkspacePath) -> Value {
    match std::str::from_utf8(path.as_bytes()) {
        Ok(text) => text.into(),
        Err(_) => path.as_bytes().into(),
    }
}

/// Parses one path.
pub(crate) fn path(value: Value) -> Option<WorkspacePath> {
    let bytes = match value {
        Value::String(text) => text.into_bytes(),
        value => serde_json::from_value(value).ok()?,
    };
    WorkspacePath::new(bytes).ok()
}
