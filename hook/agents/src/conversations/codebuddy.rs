//! CodeBuddy Code: `~/.codebuddy/projects/DIRECTORY/SESSION.jsonl`, a tree.

use serde_json::Value;

use super::record::{text, words};
use super::tree::TreeFormat;

/// How it writes its tree, as of 2.163.0.
pub const FORMAT: TreeFormat = TreeFormat {
    agent: "codebuddy",
    called: "CodeBuddy Code",
    id: "id",
    parent: "parentId",
    knows: |version| version.starts_with("2."),
    kept: &[
        "message",
        "function_call",
        "function_call_result",
        "reasoning",
    ],
    dropped: &["file-history-snapshot", "ai-title", "custom-title"],
    prompt,
    is_named: |entry, name| entry["providerData"]["conversationRequestId"] == name,
    empties: |_| false,
    renames: false,
};

fn prompt(entry: &Value) -> Option<String> {
    let is_prompt = text(entry, "type") == Some("message")
        && text(entry, "role") == Some("user")
        // What asks for a summary is in the user's name, too.
        && entry["providerData"]["agent"] != "compact";
    is_prompt.then(|| words(&entry["content"])).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::conversations::{record, sought};

    /// What a compaction asks for is no message, and its answer stands for all before it.
    #[test]
    fn compaction_before_the_message_counts() {
        let said = |id: &str, parent: Option<&str>, role: &str, provider: Value| {
            json!({"type": "message", "id": id, "parentId": parent, "role": role,
                "content": [{"text": "go on"}], "providerData": provider})
        };
        let entries = [
            said("one", None, "user", json!({"agent": "cli"})),
            said("asks", Some("one"), "user", json!({"agent": "compact"})),
            said(
                "sum",
                Some("asks"),
                "assistant",
                json!({"isCompacted": true}),
            ),
            said("two", Some("sum"), "user", json!({"agent": "cli"})),
        ];
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let path = scratch.path().join("old.jsonl");
        let like = tempfile::NamedTempFile::new().expect("a scratch file");
        record::write(&path, &entries, like.path()).expect("writable");
        for (before, anchor, is_told) in [(0, "one", false), (1, "two", true)] {
            let plan = FORMAT.plan(&sought("codebuddy", &path, "go on", before));
            let plan = plan.expect("it can be forked");
            assert_eq!(plan.anchor, anchor);
            assert_eq!(plan.note.is_some(), is_told, "{anchor}: {:?}", plan.note);
        }
    }
}
