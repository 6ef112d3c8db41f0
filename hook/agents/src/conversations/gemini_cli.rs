//! Gemini CLI: `~/.gemini/tmp/PROJECT/chats/session-….jsonl`, a log in which `$set` and `$rewindTo` change what came
//! before. It has no fork; `--session-file` begins with a record from anywhere, so a cut copy lies in our store.

use std::path::Path;

use ckpt_schema::report::ConversationReason;
use ckpt_store::model::conversation::{
    AgentConversation, ForkFailure, ForkPlan, FoundMessage, NoFork, SoughtMessage,
};
use serde_json::Value;

use super::record::{self, AgentRecord, text, words};
use crate::payload::shape::typed;

/// The types of entries that are known, as of 0.61.0.
const KNOWN: [&str; 5] = ["user", "gemini", "info", "error", "warning"];

/// Finds a message by its order among the user's.
pub fn find(message: &SoughtMessage) -> Result<FoundMessage, ConversationReason> {
    let record = record::read(message.conversation.transcript.as_deref())?;
    let at = position(&record, message)?;
    let entry = &record.entries[at];
    Ok(FoundMessage {
        entry: text(entry, "id").map(str::to_owned),
        parent: None,
        prompt: prompt(entry),
        is_left: is_left(&record, at),
    })
}

/// Returns for each message of one conversation whether its agent has left it.
pub fn places(messages: &[SoughtMessage]) -> Option<Vec<Option<bool>>> {
    let record = record::glance(messages.first()?.conversation.transcript.as_deref())?;
    let place = |message: &SoughtMessage| {
        let at = position(&record, message).ok()?;
        Some(is_left(&record, at))
    };
    Some(messages.iter().map(place).collect())
}

fn position(record: &AgentRecord, message: &SoughtMessage) -> Result<usize, ConversationReason> {
    let prompts: Vec<(usize, String)> = record
        .entries
        .iter()
        .enumerate()
        .filter_map(|(at, entry)| Some((at, prompt(entry)?)))
        .collect();
    let found = record::in_order(&prompts, message.prompt.as_deref(), message.before);
    found.ok_or(ConversationReason::NotFound)
}

/// What its record says of the file that it began with.
const IMPORTED: &str = "Imported session from ";

/// Returns the session that a record was begun with, if that is a copy of ours.
pub fn origin(transcript: &Path) -> Option<String> {
    let source = record::beginning(transcript)
        .find_map(|entry| Some(text(&entry, "content")?.strip_prefix(IMPORTED)?.into()))?;
    let copy = AgentConversation {
        session: String::new(),
        transcript: Some(source),
    };
    let path = copy.is_copy().then_some(copy.transcript?)?;
    let head = record::beginning(&path).next()?;
    text(&head, "sessionId").map(str::to_owned)
}

/// Returns the user's text in an entry. Results of tools are in the user's name, too.
fn prompt(entry: &Value) -> Option<String> {
    let mut parts = entry["content"].as_array().into_iter().flatten();
    let is_result = parts.any(|part| part.get("functionResponse").is_some());
    let written = (text(entry, "type") == Some("user") && !is_result)
        .then(|| words(&entry["content"]))
        .flatten()?;
    (!written.starts_with("<session_context>")).then(|| typed(&written).to_owned())
}

/// Returns whether its own rewind took an entry out: it went back to that entry, or to one before it.
fn is_left(record: &AgentRecord, at: usize) -> bool {
    let place = |id: &str| {
        record
            .entries
            .iter()
            .position(|entry| text(entry, "id") == Some(id))
    };
    let mut later = record.entries.iter().skip(at);
    later.any(|entry| {
        let first = text(entry, "$rewindTo").and_then(place);
        first.is_some_and(|first| first <= at)
    })
}

/// Returns whether a compaction stands for something before an entry: a new list of messages lacks a prompt that no rewind
/// took out.
fn is_compacted(record: &AgentRecord, at: usize) -> bool {
    let ids: Vec<(usize, &str)> = (0..at)
        .filter(|before| prompt(&record.entries[*before]).is_some() && !is_left(record, *before))
        .filter_map(|before| Some((before, text(&record.entries[before], "id")?)))
        .collect();
    (0..at).any(|list| {
        let Some(messages) = record.entries[list]["$set"]["messages"].as_array() else {
            return false;
        };
        let is_in = |id| messages.iter().any(|it| text(it, "id") == Some(id));
        ids.iter().any(|(before, id)| *before < list && !is_in(*id))
    })
}

/// Plans a copy that ends just before a message.
pub fn plan(message: &SoughtMessage) -> Result<ForkPlan, NoFork> {
    let record =
        record::read(message.conversation.transcript.as_deref()).map_err(NoFork::because)?;
    let is_known = |entry: &Value| {
        let is_change = entry.as_object().is_some_and(|entry| {
            entry
                .keys()
                .all(|name| name == "$set" || name == "$rewindTo")
        });
        let is_head = entry.get("projectHash").is_some();
        is_change || is_head || text(entry, "type").is_some_and(|kind| KNOWN.contains(&kind))
    };
    if !record.entries.iter().all(is_known) {
        return Err(NoFork::because(ConversationReason::UnknownFormat));
    }
    let at = position(&record, message).map_err(NoFork::because)?;
    let session = uuid::Uuid::new_v4().to_string();
    let copy = message.copies.join(format!("{session}.jsonl"));
    Ok(ForkPlan {
        agent: message.agent.clone(),
        from: message.conversation.clone(),
        to: Some(AgentConversation {
            session,
            transcript: Some(copy),
        }),
        anchor: at.to_string(),
        directory: message.directory.clone(),
        interface: "`gemini --session-file` of a copy in our store".to_owned(),
        note: is_compacted(&record, at).then(|| record::opens_at_compaction("Gemini CLI")),
        seen: record.length.to_string(),
        is_cut: false,
    })
}

/// Makes the copy.
pub fn fork(plan: &ForkPlan) -> Result<AgentConversation, ForkFailure> {
    let failed = |why: &str| ForkFailure::Failed(why.to_owned());
    let (Some(to), Some(old), Ok(at)) = (&plan.to, &plan.from.transcript, plan.anchor.parse())
    else {
        return Err(failed("the plan names no record"));
    };
    let record = record::read(Some(old)).map_err(|_| failed("the record is gone"))?;
    let kept = record
        .entries
        .get(..at)
        .ok_or_else(|| failed("the record was cut"))?;
    let path = to.transcript.as_deref().unwrap_or(old);
    record::write(path, kept, old)?;
    Ok(to.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A session that began with a copy of ours is linked to where that came from.
    #[test]
    fn session_is_linked_by_its_copy() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let path = |name: &str| scratch.path().join(name);
        std::fs::create_dir(path("conversations")).expect("writable");
        for (copy, linked) in [
            ("conversations/new.jsonl", Some("old")),
            ("mine.jsonl", None),
        ] {
            std::fs::write(path(copy), "{\"sessionId\":\"old\"}\n").expect("writable");
            let content = format!("{IMPORTED}{}", path(copy).display());
            let entry = serde_json::json!({"type": "info", "content": content});
            let record = format!("{{\"sessionId\":\"new\"}}\n{entry}\n");
            std::fs::write(path("record.jsonl"), record).expect("writable");
            assert_eq!(origin(&path("record.jsonl")).as_deref(), linked, "{copy}");
        }
        std::fs::remove_file(path("conversations/new.jsonl")).expect("it is there");
        assert_eq!(origin(&path("record.jsonl")), None, "without the copy");
    }

    /// A message that names a file is found, though its hook and its record have other ends of lines.
    #[test]
    fn message_that_names_a_file_is_found() {
        let record = tempfile::NamedTempFile::new().expect("a scratch file");
        let files = [
            "\n--- Content from referenced files ---",
            "\nContent from @a.txt:\n",
            "hello",
        ];
        let texts = ["@a.txt go on"].into_iter().chain(files);
        let parts: Vec<Value> = texts
            .clone()
            .map(|text| serde_json::json!({"text": text}))
            .collect();
        let entry = serde_json::json!({"type": "user", "id": "a", "content": parts});
        std::fs::write(record.path(), format!("{entry}\n")).expect("writable");
        let told: String = texts.collect();
        let found = find(&super::super::sought("gemini-cli", record.path(), &told, 0));
        let found = found.unwrap_or_else(|reason| panic!("{reason:?}"));
        assert_eq!(found.prompt.as_deref(), Some("@a.txt go on"));
    }

    /// A compaction leaves prompts out of a new list of messages; a rewind does so, too, and names what it takes out.
    #[test]
    fn compaction_before_the_message_counts() {
        let user = |id: &str| serde_json::json!({"type": "user", "id": id, "content": id});
        let list = |ids: &[&str]| {
            let messages: Vec<Value> = ids.iter().map(|id| user(id)).collect();
            serde_json::json!({"$set": {"messages": messages}})
        };
        let rewind = serde_json::json!({"$rewindTo": "b"});
        let compacted = |entries: &[Value]| {
            let entries = entries.to_vec();
            is_compacted(&AgentRecord { entries, length: 0 }, 4)
        };
        let (a, b, c, end) = (user("a"), user("b"), user("c"), user("end"));
        assert!(compacted(&[
            a.clone(),
            b.clone(),
            list(&["s", "b"]),
            c.clone(),
            end.clone()
        ]));
        assert!(!compacted(&[
            a.clone(),
            b.clone(),
            list(&["a", "b"]),
            c.clone(),
            end.clone()
        ]));
        assert!(!compacted(&[
            a.clone(),
            b,
            rewind,
            list(&["a"]),
            end.clone()
        ]));
        assert!(!compacted(&[
            a.clone(),
            c,
            list(&["a", "c"]),
            user("d"),
            list(&["a"])
        ]));
    }
}
