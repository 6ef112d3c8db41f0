//! Claude Code.

use super::{parse_alone, recording};
use ckpt_schema::event::ToolKind;

/// An edit of a text that is not there beside a shell, an input that does not fit, and a tool that does not exist.
const REFUSED: &str = "claude-code-2.1.329-refused";

/// A call that Claude Code refused is known to have changed nothing.
#[test]
fn call_refused_by_claude_code_changed_nothing() {
    let batches = recording(REFUSED).into_iter();
    let batches = batches.filter(|(_, event, _)| event == "PostToolBatch");
    let parsed =
        batches.map(|(_, event, payload)| parse_alone("claude-code", Some(&event), &payload));
    let tools = parsed
        .flat_map(|parsed| parsed.events)
        .flat_map(|event| event.tools);
    let kinds: Vec<_> = tools
        .map(|tool| (tool.tool_name.unwrap_or_default(), tool.tool_kind))
        .collect();
    let expected = [
        ("Edit", Some(ToolKind::Read)),
        // It ran, and no one but its events knows what it did.
        ("Bash", None),
        ("Write", Some(ToolKind::Read)),
        ("NoSuchTool", Some(ToolKind::Read)),
    ];
    assert_eq!(
        kinds,
        expected.map(|(name, kind)| (name.to_owned(), kind)),
        "no event of a tool came of three of them"
    );
}
