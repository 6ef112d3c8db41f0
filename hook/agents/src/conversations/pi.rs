//! Pi: `fork` of its RPC mode. Its record, a tree, is found by the id of the session.

use std::path::PathBuf;

use ckpt_process::surroundings;
use ckpt_schema::report::ConversationReason;
use ckpt_store::model::conversation::{
    AgentConversation, ForkFailure, ForkPlan, FoundMessage, NoFork, SoughtMessage,
};
use serde_json::{Value, json};

use super::program::{AskedProgram, Framing, ask, planned, refused, require, start, unnamed};
use super::record::{self, AgentRecord, text};

/// Returns the record of a session.
fn record_of(session: &str) -> Option<PathBuf> {
    let own = surroundings::variable("PI_CODING_AGENT_DIR").map(PathBuf::from);
    let home = surroundings::Environment::read().home;
    let folder = own
        .or_else(|| Some(home?.join(".pi/agent")))?
        .join("sessions");
    let ending = format!("_{session}.jsonl");
    let folders = std::fs::read_dir(folder).ok()?.flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten());
    let mut paths = files.flatten().map(|file| file.path());
    paths.find(|path| path.to_string_lossy().ends_with(&ending))
}

/// Finds a message by its order among the user's.
pub fn find(message: &SoughtMessage) -> Result<FoundMessage, ConversationReason> {
    let path = record_of(&message.conversation.session);
    found(&record::read(path.as_deref())?, message)
}

/// Returns the session from whose record another one was forked: the record's first entry names that one's file.
pub fn origin(session: &str) -> Option<String> {
    let head = record::beginning(&record_of(session)?).next()?;
    let parent = PathBuf::from(text(&head, "parentSession")?);
    let (_, id) = parent.file_stem()?.to_str()?.rsplit_once('_')?;
    Some(id.to_owned())
}

/// Returns for each message of one conversation whether its agent has left it.
pub fn places(messages: &[SoughtMessage]) -> Option<Vec<Option<bool>>> {
    let path = record_of(&messages.first()?.conversation.session);
    let record = record::glance(path.as_deref())?;
    let place = |message| Some(found(&record, message).ok()?.is_left);
    Some(messages.iter().map(place).collect())
}

fn found(
    record: &AgentRecord,
    message: &SoughtMessage,
) -> Result<FoundMessage, ConversationReason> {
    let prompts: Vec<(usize, String)> = record
        .entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry["message"]["role"] == "user")
        .filter_map(|(at, entry)| Some((at, record::words(&entry["message"]["content"])?)))
        .collect();
    let at = record::in_order(&prompts, message.prompt.as_deref(), message.before);
    let entry = &record.entries[at.ok_or(ConversationReason::NotFound)?];
    let newest = record.entries.last().and_then(|entry| text(entry, "id"));
    let line = line(&record.entries, newest);
    Ok(FoundMessage {
        entry: text(entry, "id").map(str::to_owned),
        parent: text(entry, "parentId").map(str::to_owned),
        prompt: record::words(&entry["message"]["content"]),
        is_left: text(entry, "id").is_some_and(|id| !line.contains(&id)),
    })
}

/// Returns the ids of the entries that lead to an entry, and its own.
fn line<'e>(entries: &'e [Value], last: Option<&'e str>) -> Vec<&'e str> {
    let (mut line, mut next): (Vec<&str>, _) = (Vec::new(), last);
    while let Some(id) = next.filter(|id| !line.contains(id)) {
        line.push(id);
        let entry = entries.iter().find(|entry| text(entry, "id") == Some(id));
        next = entry.and_then(|entry| text(entry, "parentId"));
    }
    line
}

/// Returns whether a compaction stands for what leads to an entry.
fn is_compacted(entries: &[Value], entry: &str) -> bool {
    let line = line(entries, Some(entry));
    let is_on_line = |it: &Value| text(it, "id").is_some_and(|id| line.contains(&id));
    let mut on_line = entries.iter().filter(|it| is_on_line(it));
    on_line.any(|it| text(it, "type") == Some("compaction"))
}

/// Plans a fork before the entry of a message.
pub fn plan(message: &SoughtMessage) -> Result<ForkPlan, NoFork> {
    require("pi")?;
    let path = record_of(&message.conversation.session);
    let record = record::read(path.as_deref()).map_err(NoFork::because)?;
    let entry = found(&record, message).map_err(NoFork::because)?.entry;
    let entry = entry.unwrap_or_default();
    let is_compacted = is_compacted(&record.entries, &entry);
    let mut plan = planned(message, entry, "`fork` of `pi --mode rpc`");
    plan.note = is_compacted.then(|| record::opens_at_compaction("Pi"));
    plan.from.transcript = path;
    Ok(plan)
}

/// Has Pi make it.
pub fn fork(plan: &ForkPlan) -> Result<AgentConversation, ForkFailure> {
    let failed = |why: &str| ForkFailure::Failed(why.to_owned());
    let mut pi = start("pi").ok_or_else(|| failed("`pi` is not on the PATH"))?;
    let record = plan
        .from
        .transcript
        .as_ref()
        .ok_or_else(|| failed("its record is gone"))?;
    pi.args(["--offline", "--mode", "rpc", "--session"])
        .arg(record);
    pi.current_dir(&plan.directory);
    let state = |id: &str| json!({"id": id, "type": "get_state"});
    let fork = json!({"id": "fork", "type": "fork", "entryId": plan.anchor});
    let answer = ask(AskedProgram {
        program: pi,
        framing: Framing::Lines,
        greeting: &[state("before")],
        requests: &[fork, state("after")],
    })?;
    let named = |name: &str| answer["data"][name].as_str();
    match named("sessionId").ok_or_else(unnamed)? {
        same if same == plan.from.session => Err(refused(&answer)),
        session => Ok(AgentConversation {
            session: session.to_owned(),
            transcript: named("sessionFile").map(Into::into),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A compaction counts if it comes before the message, and leads to it.
    #[test]
    fn compaction_before_the_message_counts() {
        let entry = |id: &str, parent: &str, kind: &str| json!({"id": id, "parentId": parent, "type": kind});
        let tree = [
            entry("one", "", "message"),
            entry("c", "one", "compaction"),
            entry("two", "c", "message"),
            entry("beside", "one", "message"),
        ];
        assert!(is_compacted(&tree, "two"));
        assert!(!is_compacted(&tree, "one") && !is_compacted(&tree, "beside"));
    }
}
