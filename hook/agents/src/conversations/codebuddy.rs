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
    let is_prompt = text(entry, "type") == Some("message") && text(entry, "role") == Some("user");
    is_prompt.then(|| words(&entry["content"])).flatten()
}
