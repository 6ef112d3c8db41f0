//! Reads the end of an agent's own transcript of a conversation. This module does IO.
//!
//! It keeps only two times: when the agent last did something, and when the user interrupted it. A message of the
//! user's is not a sign of the agent's life: the one that just ended a step is in the transcript, too.
//!
//! A transcript has one JSON object per line. No agent documents its entries; `tests/fixtures/transcripts` holds what
//! they wrote. An unknown entry says nothing.

use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde_json::Value;

use crate::model::Milliseconds;

/// How many bytes are read from the end of a transcript, and how many if those say nothing: Claude Code 2.1.332 writes lines of
/// 80 KB.
const TAILS: [u64; 2] = [64 << 10, 1 << 20];

/// What the end of a transcript says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Transcript {
    /// When the agent last did something.
    pub worked_at: Option<Milliseconds>,
    /// When the user last interrupted it.
    pub interrupted_at: Option<Milliseconds>,
}

/// What an entry is about.
enum TranscriptEntry {
    Work,
    Interruption,
}

impl Transcript {
    /// Reads the end of a transcript. One that is missing, or not a regular file, says nothing.
    pub fn read(path: &Path, now: Milliseconds) -> Self {
        let mut read = TAILS
            .iter()
            .map_while(|length| tail(path, *length))
            .map(|text| Self::parse(&text, now));
        read.find(|it| *it != Self::default()).unwrap_or_default()
    }

    /// Parses entries, one per line, each with its time. Times in the future and incomplete lines do not count.
    fn parse(text: &str, now: Milliseconds) -> Self {
        let mut transcript = Self::default();
        for line in text.lines() {
            let Ok(entry) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            // An entry from the future would keep the agent alive until then, and what a person changes meanwhile
            // would be its own.
            let Some(at) = time_of(&entry).filter(|at| *at <= now) else {
                continue;
            };
            let time = match kind_of(&entry) {
                Some(TranscriptEntry::Work) => &mut transcript.worked_at,
                Some(TranscriptEntry::Interruption) => &mut transcript.interrupted_at,
                None => continue,
            };
            *time = (*time).max(Some(at));
        }
        transcript
    }
}

/// Returns the subject of an entry. Only its structure counts: a model, a file or a command may write any text about
/// interruptions.
fn kind_of(entry: &Value) -> Option<TranscriptEntry> {
    let kind = entry["type"].as_str()?;
    match kind {
        // Codex wraps its entries. An aborted turn was interrupted, or replaced by the next message.
        "event_msg" | "response_item" => of_payload(&entry["payload"]),
        // Copilot CLI
        "abort" => Some(TranscriptEntry::Interruption),
        // Gemini CLI
        "info" => {
            (entry["content"] == "Request cancelled.").then_some(TranscriptEntry::Interruption)
        }
        // Claude Code writes its mark and the results of tools in the user's name; Gemini CLI writes the results so.
        "user" if is_mark(&entry["message"]["content"]) => Some(TranscriptEntry::Interruption),
        "user" => is_result(entry).then_some(TranscriptEntry::Work),
        "assistant" | "progress" | "tool_result" | "gemini" => Some(TranscriptEntry::Work),
        _ => (kind.starts_with("assistant.") || kind.starts_with("tool."))
            .then_some(TranscriptEntry::Work),
    }
}

/// Returns the subject of an entry of Codex.
fn of_payload(payload: &Value) -> Option<TranscriptEntry> {
    match payload["type"].as_str()? {
        "turn_aborted" => Some(TranscriptEntry::Interruption),
        "function_call"
        | "custom_tool_call"
        | "function_call_output"
        | "custom_tool_call_output" => Some(TranscriptEntry::Work),
        "message" => (payload["role"] == "assistant").then_some(TranscriptEntry::Work),
        "item_completed" => {
            (payload["item"]["type"] != "UserMessage").then_some(TranscriptEntry::Work)
        }
        _ => None,
    }
}

/// Returns whether the content of a message is Claude Code's mark, and nothing else.
fn is_mark(content: &Value) -> bool {
    let text = match content.as_array().map(Vec::as_slice) {
        Some([one]) if one["type"] == "text" => one["text"].as_str(),
        _ => content.as_str(),
    };
    // It is "[Request interrupted by user]", or "… for tool use]".
    text.is_some_and(|text| text.starts_with("[Request interrupted by user") && text.ends_with(']'))
}

/// Returns whether a message in the user's name holds the result of a tool.
fn is_result(entry: &Value) -> bool {
    let holds = |content: &Value| {
        let mut parts = content.as_array().into_iter().flatten();
        parts.any(|part| part["type"] == "tool_result" || part.get("functionResponse").is_some())
    };
    holds(&entry["message"]["content"]) || holds(&entry["content"])
}

fn time_of(entry: &Value) -> Option<Milliseconds> {
    let time = humantime::parse_rfc3339(entry["timestamp"].as_str()?).ok()?;
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

fn tail(path: &Path, length: u64) -> Option<String> {
    // The payload names this path, so anything may be there, and opening a device is an act.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut file = std::fs::OpenOptions::new()
        .read(true)
        // Opening a pipe that takes its place now would wait for a writer.
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
        .ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() {
        return None;
    }
    if metadata.len() > length {
        // The line that is cut here is no JSON, and is skipped like any other that is incomplete.
        file.seek(SeekFrom::Start(metadata.len() - length)).ok()?;
    }
    let mut bytes = Vec::new();
    // The agent goes on writing while this reads.
    file.take(length).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Milliseconds = 1_800_000_000_000;

    fn recorded(agent: &str) -> String {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/transcripts");
        std::fs::read_to_string(format!("{folder}/{agent}.jsonl")).expect("a recorded transcript")
    }

    fn at(time: &str) -> Option<Milliseconds> {
        time_of(&serde_json::json!({ "timestamp": time }))
    }

    fn entry(kind: &str, content: &Value, time: &str) -> String {
        let message = serde_json::json!({ "content": content });
        serde_json::json!({ "type": kind, "message": message, "timestamp": time }).to_string()
    }

    /// The mark of an interruption is found in what agents wrote.
    ///
    /// Each was recorded while its user pressed Esc in a command that hung, and sent another message twelve seconds
    /// later.
    #[test]
    fn transcripts_mark_of_interruption_is_found() {
        for (agent, started, pressed) in [
            (
                "claude-code",
                "2026-11-23T03:57:39.694Z",
                "2026-11-23T03:57:40.087Z",
            ),
            (
                "codex",
                "2026-11-23T03:57:58.325Z",
                "2026-11-23T03:57:58.418Z",
            ),
            (
                "copilot-cli",
                "2026-11-23T03:58:04.371Z",
                "2026-11-23T03:58:04.583Z",
            ),
            (
                "gemini-cli",
                "2026-11-23T03:58:17.046Z",
                "2026-11-23T03:58:17.283Z",
            ),
        ] {
            let text = recorded(agent);
            let read = Transcript::parse(&text, NOW);
            assert_eq!(
                read.interrupted_at,
                at(pressed),
                "{agent}: when Esc was pressed"
            );
            let before: Vec<&str> = text
                .lines()
                .take_while(|line| !line.contains(pressed))
                .collect();
            let before = Transcript::parse(&before.join("\n"), NOW);
            assert_eq!(before.interrupted_at, None, "{agent}: not before");
            assert!(before.worked_at >= at(started), "{agent}: {before:?}");
            assert!(before.worked_at <= at(pressed), "{agent}: {before:?}");
        }
    }

    /// The work of an agent is a sign of life and a message of the user's is none.
    #[test]
    fn agents_work_is_a_sign_of_life() {
        for (agent, next_message) in [
            ("claude-code", "2026-11-23T03:57:52"),
            ("codex", "2026-11-23T03:58:10"),
            ("copilot-cli", "2026-11-23T03:58:17"),
            ("gemini-cli", "2026-11-23T03:58:29"),
        ] {
            let text = recorded(agent);
            let answers = Transcript::parse(&text, NOW).worked_at;
            assert!(
                answers >= at(&format!("{next_message}.000Z")),
                "{agent}: it goes on"
            );
            let is_answer = |line: &&str| {
                Transcript::parse(line, NOW).worked_at >= at(&format!("{next_message}.000Z"))
            };
            let before: Vec<&str> = text.lines().take_while(|line| !is_answer(line)).collect();
            assert!(
                before.iter().any(|line| line.contains("TURN-AGAIN")),
                "{agent}: with the next message"
            );
            let worked_at = Transcript::parse(&before.join("\n"), NOW).worked_at;
            assert!(
                worked_at < at(&format!("{next_message}.000Z")),
                "{agent}: {worked_at:?}"
            );
        }
        let last = Transcript::parse(&recorded("qwen-code"), NOW).worked_at;
        assert_eq!(
            last,
            at("2026-11-22T21:17:06.008Z"),
            "the last result of a tool"
        );
    }

    /// A mark is found behind a line that is longer than what is read at first.
    #[test]
    fn mark_is_found_behind_a_long_line() {
        const TIME: &str = "2026-01-31T12:00:00Z";
        let mark = entry("user", &"[Request interrupted by user]".into(), TIME);
        let long = entry("attachment", &"x".repeat(80 << 10).into(), TIME);
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let path = scratch.path().join("transcript.jsonl");
        std::fs::write(&path, format!("{mark}\n{long}\n")).expect("writable");
        assert_eq!(Transcript::read(&path, NOW).interrupted_at, at(TIME));
    }

    #[test]
    fn whatever_says_something_of_interruptions_is_no_mark() {
        const MARK: &str = "[Request interrupted by user]";
        const TIME: &str = "2026-01-31T12:00:00Z";
        let block = serde_json::json!([{ "type": "text", "text": MARK }]);
        let marks = [Value::from(MARK), block.clone()];
        for content in marks {
            let read = Transcript::parse(&entry("user", &content, TIME), NOW);
            assert_eq!(read.interrupted_at, at(TIME), "the mark itself: {content}");
        }
        let result = serde_json::json!([{ "type": "tool_result", "content": MARK }]);
        let quoted = Value::from(format!("what does {MARK} mean?"));
        for (kind, content) in [
            ("assistant", &block),
            ("user", &result),
            ("user", &quoted),
            ("attachment", &block),
        ] {
            let read = Transcript::parse(&entry(kind, content, TIME), NOW);
            assert_eq!(read.interrupted_at, None, "only said: {kind} {content}");
        }
        let later = entry("user", &block, "2099-01-31T12:00:00Z");
        for text in [later.as_str(), "{\"cut", "[]", "7", ""] {
            assert_eq!(
                Transcript::parse(text, NOW),
                Transcript::default(),
                "{text}"
            );
        }
    }
}
