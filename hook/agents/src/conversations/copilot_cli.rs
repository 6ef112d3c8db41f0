//! Copilot CLI: `~/.copilot/session-state/SESSION/events.jsonl`. Its server, which answers on a pipe, forks a session at one
//! of these events. Its own rewind cuts them off.

use ckpt_schema::report::ConversationReason;
use ckpt_store::model::conversation::{
    AgentConversation, ForkFailure, ForkPlan, FoundMessage, NoFork, SoughtMessage,
};
use serde_json::{Value, json};

use super::program::{self, AskedProgram, Framing};
use super::record::{self, AgentRecord, text};

/// Finds a message by its order among the user's.
pub fn find(message: &SoughtMessage) -> Result<FoundMessage, ConversationReason> {
    let record = record::read(message.conversation.transcript.as_deref())?;
    let prompts = prompts(&record);
    let found = record::in_order(&prompts, message.prompt.as_deref(), message.before);
    let entry = found.ok_or(ConversationReason::NotFound)?;
    Ok(FoundMessage {
        entry: text(entry, "id").map(str::to_owned),
        parent: text(entry, "parentId").map(str::to_owned),
        prompt: prompt(entry),
        is_left: false,
    })
}

/// Returns for each message of one conversation whether its agent has left it. The newest may not be written yet: it is
/// left if the one before it is.
pub fn places(messages: &[SoughtMessage]) -> Option<Vec<Option<bool>>> {
    let record = record::glance(messages.first()?.conversation.transcript.as_deref())?;
    let prompts = prompts(&record);
    let is_there = |message: &SoughtMessage| {
        let sought = message.prompt.as_deref()?.trim();
        Some(prompts.iter().any(|(_, text)| text.contains(sought)))
    };
    let mut places: Vec<Option<bool>> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let is_last = at + 1 == messages.len();
        let before = places.last().copied().flatten();
        let is_left = is_there(message).map(|is_there| !is_there);
        places.push(is_left.filter(|is_left| !is_left || !is_last || before == Some(true)));
    }
    Some(places)
}

fn prompts(record: &AgentRecord) -> Vec<(&Value, String)> {
    let entries = record.entries.iter();
    entries
        .filter_map(|entry| Some((entry, prompt(entry)?)))
        .collect()
}

/// Returns the user's text in an event. The task of a sub-agent is in the user's name, too, and has a source.
fn prompt(entry: &Value) -> Option<String> {
    let is_prompt = text(entry, "type") == Some("user.message")
        && entry.get("agentId").is_none()
        && entry["data"].get("source").is_none();
    is_prompt
        .then(|| text(&entry["data"], "content").map(str::to_owned))
        .flatten()
}

/// Returns whether a compaction stands for what came before an event.
fn is_compacted(record: &AgentRecord, event: &str) -> bool {
    let entries = record.entries.iter();
    let mut before = entries.take_while(|entry| text(entry, "id") != Some(event));
    before.any(|entry| text(entry, "type") == Some("session.compaction_complete"))
}

/// Plans a fork before the event of a message.
pub fn plan(message: &SoughtMessage) -> Result<ForkPlan, NoFork> {
    program::require("copilot")?;
    let event = find(message)
        .map_err(NoFork::because)?
        .entry
        .unwrap_or_default();
    let interface = "`sessions.fork` of `copilot --headless`";
    let record = record::read(message.conversation.transcript.as_deref());
    let is_compacted = record.is_ok_and(|record| is_compacted(&record, &event));
    let mut plan = program::planned(message, event, interface);
    plan.note = is_compacted.then(|| record::opens_at_compaction("Copilot CLI"));
    Ok(plan)
}

/// Has Copilot CLI make it.
pub fn fork(plan: &ForkPlan) -> Result<AgentConversation, ForkFailure> {
    let mut copilot = program::start("copilot")
        .ok_or_else(|| ForkFailure::Failed("`copilot` is not on the PATH".to_owned()))?;
    copilot
        .args(["--headless", "--stdio"])
        .args(["--no-auto-update", "--no-auto-login"])
        .current_dir(&plan.directory);
    let request = |id: u8, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let asked = json!({"sessionId": plan.from.session, "toEventId": plan.anchor});
    let answer = program::ask(AskedProgram {
        program: copilot,
        framing: Framing::Lengths,
        greeting: &[request(1, "connect", json!({}))],
        requests: &[request(2, "sessions.fork", asked)],
    })?;
    let session = answer["result"]["sessionId"].as_str();
    Ok(AgentConversation {
        session: session.ok_or_else(program::unnamed)?.to_owned(),
        transcript: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversations::sought;

    fn recorded(events: &[Value]) -> tempfile::NamedTempFile {
        let record = tempfile::NamedTempFile::new().expect("a scratch file");
        let lines: String = events.iter().map(|event| format!("{event}\n")).collect();
        std::fs::write(record.path(), lines).expect("writable");
        record
    }

    fn user(id: &str, content: &str) -> Value {
        json!({"type": "user.message", "id": id, "parentId": "p", "data": {"content": content}})
    }

    /// A message is found by its order and the task of a sub-agent is none.
    #[test]
    fn message_is_found_by_its_order() {
        let mut task = user("t", "go on");
        task["data"]["source"] = "agent-s".into();
        let record = recorded(&[user("a", "go on"), task, user("b", "go on")]);
        for (before, id) in [(0, "a"), (1, "b")] {
            let found =
                find(&sought("copilot-cli", record.path(), "go on", before)).expect("it is there");
            assert_eq!(found.entry.as_deref(), Some(id));
        }
        assert!(
            find(&sought("copilot-cli", record.path(), "go on", 2)).is_err(),
            "it is not clear which one"
        );
    }

    /// What its own rewind cut off is left, and the newest may not be written yet.
    #[test]
    fn messages_that_were_cut_off_are_left() {
        let record = recorded(&[user("a", "one"), user("d", "four")]);
        let places = |prompts: &[&str]| {
            let all: Vec<_> = (0..)
                .zip(prompts)
                .map(|(at, it)| sought("copilot-cli", record.path(), it, at))
                .collect();
            places(&all).expect("it is there")
        };
        assert_eq!(
            places(&["one", "two", "three", "four"]),
            [Some(false), Some(true), Some(true), Some(false)]
        );
        assert_eq!(
            places(&["one", "two", "three"]),
            [Some(false), Some(true), Some(true)]
        );
        assert_eq!(places(&["one", "two"]), [Some(false), None]);
    }

    /// A compaction counts if it comes before the message.
    #[test]
    fn compaction_before_the_message_counts() {
        let compaction = json!({"type": "session.compaction_complete", "id": "c"});
        let file = recorded(&[user("a", "one"), compaction, user("b", "two")]);
        let record = record::read(Some(file.path()));
        let record = record.unwrap_or_else(|reason| panic!("{reason:?}"));
        assert!(!is_compacted(&record, "a") && is_compacted(&record, "b"));
    }
}
