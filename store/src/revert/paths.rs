//! The paths that an operation was limited to, as the JSON array that its row keeps.

use crate::path::WorkspacePath;

/// Returns a JSON array of paths; one whose bytes are not UTF-8 is an array of its bytes.
pub(crate) fn to_json(paths: &[WorkspacePath]) -> String {
    let values: Vec<serde_json::Value> = paths
        .iter()
        .map(|path| match std::str::from_utf8(path.as_bytes()) {
            Ok(text) => text.into(),
            Err(_) => path.as_bytes().into(),
        })
        .collect();
    serde_json::Value::from(values).to_string()
}

/// Reads what [`to_json`] wrote; what is not a path is left out.
pub(crate) fn from_json(text: &str) -> Vec<WorkspacePath> {
    let values: Vec<serde_json::Value> = serde_json::from_str(text).unwrap_or_default();
    let bytes = |value: serde_json::Value| match value {
        serde_json::Value::String(text) => Some(text.into_bytes()),
        value => serde_json::from_value(value).ok(),
    };
    values.into_iter().filter_map(bytes).filter_map(|bytes: Vec<u8>| WorkspacePath::new(bytes).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_any_bytes_are_read_as_they_were_written() {
        let paths = [&b"a/b"[..], b"\"quoted\"\n", b"\xff\xfe"].map(|bytes| WorkspacePath::new(bytes).expect("legal"));
        assert_eq!(from_json(&to_json(&paths)), paths, "an operation may be looked at years later");
    }
}
