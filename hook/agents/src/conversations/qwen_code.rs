//! Qwen Code: `~/.qwen/projects/DIRECTORY/chats/SESSION.jsonl`, a tree. Its own `/branch` and `/rewind` know only the
//! sessions that it takes checkpoints of.

use serde_json::Value;

use super::record::{text, words};
use super::tree::TreeFormat;
use crate::payload::shape::typed;

/// How it writes its tree, as of 0.24.4.
pub const FORMAT: TreeFormat = TreeFormat {
    agent: "qwen-code",
    called: "Qwen Code",
    id: "uuid",
    parent: "parentUuid",
    knows: |version| version.starts_with("0."),
    kept: &["user", "assistant", "tool_result", "system"],
    dropped: &[],
    prompt,
    // Its name for a prompt is not in the record.
    is_named: |_, _| false,
    empties: |_| false,
    renames: false,
};

fn prompt(entry: &Value) -> Option<String> {
    let is_prompt = text(entry, "type") == Some("user") && entry.get("subtype").is_none();
    is_prompt
        .then(|| words(&entry["message"]["parts"]))
        .flatten()
        .map(|text| typed(&text).to_owned())
}
