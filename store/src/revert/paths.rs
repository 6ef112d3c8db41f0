//! The paths that an operation was limited to, and the directories that it takes away and makes, as the JSON arrays that its
//! row keeps.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::model::path::WorkspacePath;
pub(crate) use crate::model::path_list::{from_json, to_json};
use crate::model::path_list::{path, value};

/// Returns a JSON array of the directories that may go, each as a path, and of those that are made again, each as an object
/// with its permissions. [`from_json`] reads the first, [`made_from_json`] the others.
pub(crate) fn directories_to_json(
    leaving: &[WorkspacePath],
    made: &BTreeMap<WorkspacePath, u32>,
) -> String {
    let made = made
        .iter()
        .map(|(path, permissions)| json!({"made": value(path), "permissions": permissions}));
    Value::from_iter(leaving.iter().map(value).chain(made)).to_string()
}

/// Reads the directories that are made again, with their permissions.
pub(crate) fn made_from_json(text: &str) -> BTreeMap<WorkspacePath, u32> {
    let values: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
    let made = |value: Value| {
        let permissions = u32::try_from(value.get("permissions")?.as_u64()?).ok()?;
        Some((path(value.get("made")?.clone())?, permissions))
    };
    values.into_iter().filter_map(made).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_any_bytes_are_read_as_they_were_written() {
        let paths = [&b"a/b"[..], b"\"quoted\"\n", b"\xff\xfe"]
            .map(|bytes| WorkspacePath::new(bytes).expect("legal"));
        assert_eq!(
            from_json(&to_json(&paths)),
            paths,
            "an operation may be looked at years later"
        );
    }

    #[test]
    fn directories_that_go_and_that_are_made_are_told_apart() {
        let [gone, made] =
            [&b"a"[..], b"\xff"].map(|bytes| WorkspacePath::new(bytes).expect("legal"));
        let text =
            directories_to_json(std::slice::from_ref(&gone), &[(made.clone(), 0o750)].into());
        assert_eq!(from_json(&text), [gone], "one goes");
        assert_eq!(
            made_from_json(&text),
            [(made, 0o750)].into(),
            "the other is made as it was"
        );
    }
}
