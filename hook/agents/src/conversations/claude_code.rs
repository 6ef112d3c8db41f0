//! Claude Code: `~/.claude/projects/DIRECTORY/SESSION.jsonl`, a tree. Its SDK's `forkSession` copies it as is done here;
//! at a terminal there is no command for it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::record::{text, words};
use super::tree::TreeFormat;

/// How it writes its tree, as of 2.1.332.
pub const FORMAT: TreeFormat = TreeFormat {
    agent: "claude-code",
    called: "Claude Code",
    id: "uuid",
    parent: "parentUuid",
    knows: |version| version.starts_with("2."),
    kept: &["user", "assistant", "attachment", "system", "progress"],
    dropped: &[
        "agent-color",
        "agent-name",
        "agent-setting",
        "ai-title",
        "api-request",
        "api-request-blob",
        "api-request-resumed",
        "api-request-shape",
        "artifact-autoreact-ledger",
        "artifact-comment-monitor",
        "atis-latch",
        "attribution-snapshot",
        "bridge-session",
        "content-replacement",
        "cost-state",
        "custom-title",
        "data-flow-incomplete",
        "data-flow-records",
        "derived-from",
        "dev-mods",
        "ended-by-model",
        "file-history-delta",
        "file-history-snapshot",
        "fork-context-ref",
        "history-suppression",
        "isolation-latch",
        "last-prompt",
        "memory-mode",
        "mode",
        "observer-ref",
        "permission-mode",
        "pr-link",
        "queue-operation",
        "relocated",
        "repl-mode",
        "resume-head-vouch",
        "session-owner",
        "summary",
        "tag",
        "tools-used",
        "worktree-state",
    ],
    prompt,
    is_named: |entry, name| text(entry, "promptId") == Some(name),
    empties: |entry| {
        text(entry, "type") == Some("last-prompt")
            && entry["explicit"] == true
            && text(entry, "leafUuid") == Some(NOTHING)
    },
    renames: true,
};

/// What it names where a conversation has no entry left.
const NOTHING: &str = "00000000-0000-0000-0000-000000000000";

/// Returns where a record is looked for in another directory than the one that it is kept for.
pub fn of_directory(record: &Path, directory: &Path) -> Option<PathBuf> {
    let plain = |letter: char| match letter.is_ascii_alphanumeric() {
        true => letter,
        false => '-',
    };
    let name: String = directory.to_str()?.chars().map(plain).collect();
    let projects = record.parent()?.parent()?;
    Some(projects.join(name).join(record.file_name()?))
}

/// Returns the user's text in an entry. Results of tools, notes of the program and a sub-agent's task are in the
/// user's name, too.
fn prompt(entry: &Value) -> Option<String> {
    let is_own = |name: &str| entry[name] != true;
    let is_prompt = text(entry, "type") == Some("user")
        && ["isMeta", "isSidechain", "isCompactSummary"]
            .into_iter()
            .all(is_own)
        // At a terminal, each names the person.
        && entry.get("origin").is_none_or(|origin| origin["kind"] == "human");
    let content = &entry["message"]["content"];
    let mut parts = content.as_array().into_iter().flatten();
    let is_result = parts.any(|part| part["type"] == "tool_result");
    (is_prompt && !is_result).then(|| words(content)).flatten()
}
