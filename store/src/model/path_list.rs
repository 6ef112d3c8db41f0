//! Paths as a JSON array, for columns of the session store.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::path::WorkspacePath;

/// The directories of an operation that are no items of its plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OperationDirectories {
    /// Those that go if they become empty.
    pub leaving: Vec<WorkspacePath>,
    /// Those that are made again, with their permissions if a snapshot has them.
    pub made: BTreeMap<WorkspacePath, Option<u32>>,
    /// Those that are opened meanwhile because they take no name, with their permissions.
    pub closed: BTreeMap<WorkspacePath, u32>,
}

impl OperationDirectories {
    /// Returns a JSON array: a directory that may go is a path, one that is made again is an object with its
    /// permissions, or with null if these are not known, and so is one that is closed.
    pub fn to_json(&self) -> String {
        let made = self
            .made
            .iter()
            .map(|(path, permissions)| json!({"made": value(path), "permissions": permissions}));
        let closed = self.closed.iter();
        let closed = closed
            .map(|(path, permissions)| json!({"closed": value(path), "permissions": permissions}));
        Value::from_iter(self.leaving.iter().map(value).chain(made).chain(closed)).to_string()
    }

    /// Parses what [`Self::to_json`] wrote. Returns `None` if there is anything else in it.
    pub fn from_json(text: &str) -> Option<Self> {
        let mut directories = Self::default();
        for value in values(text)? {
            let permissions = |value: &Value| u32::try_from(value.as_u64()?).ok();
            if let Some(made) = value.get("made") {
                let permissions = match value.get("permissions")? {
                    Value::Null => None,
                    known => Some(permissions(known)?),
                };
                directories.made.insert(path(made.clone())?, permissions);
            } else if let Some(closed) = value.get("closed") {
                let permissions = permissions(value.get("permissions")?)?;
                directories
                    .closed
                    .insert(path(closed.clone())?, permissions);
            } else {
                directories.leaving.push(path(value)?);
            }
        }
        Some(directories)
    }
}

/// Returns a JSON array of paths. A path that is not UTF-8 is an array of its bytes.
pub(crate) fn to_json(paths: &[WorkspacePath]) -> String {
    Value::from_iter(paths.iter().map(value)).to_string()
}

/// Parses what [`to_json`] wrote. Returns `None` if there is anything else in it: an operation that is limited to some
/// paths must not become one without a limit.
pub(crate) fn from_json(text: &str) -> Option<Vec<WorkspacePath>> {
    values(text)?.into_iter().map(path).collect()
}

/// Like [`from_json`], but leaves out whatever is not a path. This is for lists in which a missing path is the careful
/// side: nothing is the work of a tool that does not name it.
pub(crate) fn from_damaged_json(text: &str) -> Vec<WorkspacePath> {
    let values = values(text).unwrap_or_default();
    values.into_iter().filter_map(path).collect()
}

fn values(text: &str) -> Option<Vec<Value>> {
    serde_json::from_str(text).ok()
}

/// Returns one path as JSON.
fn value(path: &WorkspacePath) -> Value {
    match std::str::from_utf8(path.as_bytes()) {
        Ok(text) => text.into(),
        Err(_) => path.as_bytes().into(),
    }
}

/// Parses one path.
fn path(value: Value) -> Option<WorkspacePath> {
    let bytes = match value {
        Value::String(text) => text.into_bytes(),
        value => serde_json::from_value(value).ok()?,
    };
    WorkspacePath::new(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths of any bytes are read as they were written.
    #[test]
    fn paths_of_any_bytes_are_read() {
        let paths = [&b"a/b"[..], b"\"quoted\"\n", b"\xff\xfe"]
            .map(|bytes| WorkspacePath::new(bytes).expect("legal"));
        assert_eq!(
            from_json(&to_json(&paths)).as_deref(),
            Some(&paths[..]),
            "an operation may be looked at years later"
        );
    }

    /// Directories that go and that are made are told apart.
    #[test]
    fn directories_that_go_and_come_are_distinct() {
        let [gone, made, hidden, closed] =
            [&b"a"[..], b"\xff", b"b", b"c"].map(|bytes| WorkspacePath::new(bytes).expect("legal"));
        let directories = OperationDirectories {
            leaving: vec![gone],
            made: [(made, Some(0o750)), (hidden, None)].into(),
            closed: [(closed, 0o555)].into(),
        };
        assert_eq!(
            OperationDirectories::from_json(&directories.to_json()),
            Some(directories)
        );
    }

    #[test]
    fn a_damaged_list_is_not_an_empty_one() {
        for text in ["", "[", "{}", "[\"a\"", "[\"a\", 7]", "[\"/a\"]", "[[256]]"] {
            assert_eq!(from_json(text), None, "{text}");
            assert_eq!(OperationDirectories::from_json(text), None, "{text}");
        }
        for text in [
            r#"[{"made": "/a", "permissions": null}]"#,
            r#"[{"made": "a", "permissions": -1}]"#,
            r#"[{"made": "a"}]"#,
            r#"[{"permissions": 7}]"#,
            r#"[{"closed": "a", "permissions": null}]"#,
        ] {
            assert_eq!(OperationDirectories::from_json(text), None, "{text}");
        }
        let left: Vec<String> = from_damaged_json("[\"a\", 7]")
            .iter()
            .map(WorkspacePath::to_text)
            .collect();
        assert_eq!(left, ["a"]);
    }
}
