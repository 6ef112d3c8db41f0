//! Records that are a tree: each entry names the one before it. A fork is a copy of the entries that lead to a message,
//! under a new id, beside the record.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use ckpt_schema::report::ConversationReason;
use ckpt_store::model::conversation::{
    AgentConversation, ForkFailure, ForkPlan, FoundMessage, NoFork, SoughtMessage,
};
use serde_json::{Value, json};

use super::record::{self, AgentRecord, text};

/// How an agent writes its tree.
pub struct TreeFormat {
    /// The agent.
    pub agent: &'static str,
    /// What people call it.
    pub called: &'static str,
    /// The member with the id of an entry.
    pub id: &'static str,
    /// The member with the id of the entry before it.
    pub parent: &'static str,
    /// Whether a version's entries are known.
    pub knows: fn(&str) -> bool,
    /// The types of entries that make up the conversation.
    pub kept: &'static [&'static str],
    /// The types of entries that do not, and that a copy does without.
    pub dropped: &'static [&'static str],
    /// Returns the user's text in an entry, if that is a prompt.
    pub prompt: fn(&Value) -> Option<String>,
    /// Whether an entry names a prompt of the user's.
    pub is_named: fn(&Value, &str) -> bool,
    /// Whether an entry notes that its own rewind took out the whole conversation.
    pub empties: fn(&Value) -> bool,
    /// Whether each entry of a copy gets an id of its own.
    pub renames: bool,
}

/// The members that name other entries.
const REFERENCES: [&str; 2] = ["logicalParentUuid", "sourceToolAssistantUUID"];

/// What an entry is called that stands for all before it: by Claude Code, and by Qwen Code.
const COMPACTIONS: [&str; 2] = ["compact_boundary", "chat_compression"];

/// Returns whether an entry stands for all before it. That of CodeBuddy Code is an answer.
fn is_compaction(entry: &Value) -> bool {
    let kind = text(entry, "subtype");
    kind.is_some_and(|kind| COMPACTIONS.contains(&kind))
        || entry["providerData"]["isCompacted"] == true
}

impl TreeFormat {
    /// Finds a message in its record.
    pub fn find(&self, message: &SoughtMessage) -> Result<FoundMessage, ConversationReason> {
        let record = self.read(message)?;
        let at = self.position(&record, message)?;
        let entry = &record.entries[at];
        let owned = |name: &str| text(entry, name).map(str::to_owned);
        Ok(FoundMessage {
            entry: owned(self.id),
            parent: owned(self.parent),
            prompt: (self.prompt)(entry),
            is_left: self
                .in_conversation(&record)
                .is_some_and(|line| !line.contains(&at)),
        })
    }

    /// Returns for each message of one conversation whether its agent has left it.
    pub fn places(&self, messages: &[SoughtMessage]) -> Option<Vec<Option<bool>>> {
        let record = record::glance(messages.first()?.conversation.transcript.as_deref())?;
        let line = self.in_conversation(&record)?;
        let place = |message: &SoughtMessage| {
            let at = self.position(&record, message).ok()?;
            Some(!line.contains(&at))
        };
        Some(messages.iter().map(place).collect())
    }

    fn read(&self, message: &SoughtMessage) -> Result<AgentRecord, ConversationReason> {
        record::read(message.conversation.transcript.as_deref())
    }

    /// Returns where a message is in its record.
    fn position(
        &self,
        record: &AgentRecord,
        message: &SoughtMessage,
    ) -> Result<usize, ConversationReason> {
        let entries = &record.entries;
        let of_name = message.agent_id.as_deref().and_then(|name| {
            let is_it = |entry: &Value| (self.is_named)(entry, name);
            entries.iter().position(is_it)
        });
        let in_order = || {
            let prompts: Vec<(usize, String)> = entries
                .iter()
                .enumerate()
                .filter_map(|(at, entry)| Some((at, (self.prompt)(entry)?)))
                .collect();
            record::in_order(&prompts, message.prompt.as_deref(), message.before)
        };
        of_name
            .or_else(in_order)
            .ok_or(ConversationReason::NotFound)
    }

    /// Returns the entries that are in the conversation: those that lead to the newest one.
    fn in_conversation(&self, record: &AgentRecord) -> Option<HashSet<usize>> {
        Some(self.line(record, self.newest(record)?))
    }

    fn newest<'r>(&self, record: &'r AgentRecord) -> Option<&'r Value> {
        let mut entries = record.entries.iter().rev();
        entries.find(|entry| self.is_of_tree(entry))
    }

    /// Returns how far a conversation has got. What an agent notes beside it as it ends does not go on with it.
    fn seen(&self, record: &AgentRecord) -> String {
        let id = self.newest(record).and_then(|entry| text(entry, self.id));
        id.unwrap_or_default().to_owned()
    }

    fn is_of_tree(&self, entry: &Value) -> bool {
        let is_kept = text(entry, "type").is_some_and(|kind| self.kept.contains(&kind));
        is_kept && entry.get(self.id).is_some() && entry.get("isSidechain") != Some(&json!(true))
    }

    /// Returns the prompts at which the conversation began anew. Its agent's own rewind took out all before, and yet they name
    /// the entry before.
    fn beginnings(&self, record: &AgentRecord) -> HashSet<usize> {
        let entries = &record.entries;
        let is_prompt = |at: &usize| (self.prompt)(&entries[*at]).is_some();
        let is_answer = |at: &usize| text(&entries[*at], "type") == Some("assistant");
        // One that goes back to an earlier entry names that.
        let goes_on = |at: &usize| {
            let mut before = entries[..*at].iter().rev();
            let before = before.find(|entry| self.is_of_tree(entry));
            before.and_then(|it| text(it, self.id)) == text(&entries[*at], self.parent)
        };
        let all = 0..entries.len();
        let noted = all.filter(|at| (self.empties)(&entries[*at]));
        let prompts = noted.filter_map(|at| {
            // It may be noted just after the prompt.
            let mut since = (0..at).rev().take_while(|at| !is_answer(at));
            since
                .find(is_prompt)
                .or_else(|| (at..entries.len()).find(is_prompt))
        });
        prompts.filter(goes_on).collect()
    }

    /// Returns the entries that lead to an entry, and itself, by their places in the record.
    fn line(&self, record: &AgentRecord, last: &Value) -> HashSet<usize> {
        let places: HashMap<&str, usize> = record
            .entries
            .iter()
            .enumerate()
            .filter_map(|(at, entry)| Some((text(entry, self.id)?, at)))
            .collect();
        let beginnings = self.beginnings(record);
        let mut line = HashSet::new();
        let mut next = text(last, self.id);
        while let Some(at) = next.and_then(|id| places.get(id)).copied() {
            // A circle is no tree.
            if !line.insert(at) || beginnings.contains(&at) {
                break;
            }
            let entry = &record.entries[at];
            // A compaction begins anew, and names what it stands for.
            next = text(entry, self.parent).or_else(|| text(entry, "logicalParentUuid"));
        }
        line
    }

    /// Plans a copy that ends just before a message.
    pub fn plan(&self, message: &SoughtMessage) -> Result<ForkPlan, NoFork> {
        let record = self.read(message).map_err(NoFork::because)?;
        self.check(&record)?;
        let at = self.position(&record, message).map_err(NoFork::because)?;
        let entry = &record.entries[at];
        let session = uuid::Uuid::new_v4().to_string();
        let line = self.line(&record, entry);
        let old = message
            .conversation
            .transcript
            .as_deref()
            .unwrap_or(Path::new(""));
        // Nothing leads to a first message: a conversation without entries needs no record.
        let has_parent = text(entry, self.parent).is_some_and(|parent| !parent.is_empty());
        let is_first = !has_parent || self.beginnings(&record).contains(&at);
        let transcript = (!is_first).then(|| old.with_file_name(format!("{session}.jsonl")));
        let is_compacted = line.iter().any(|at| is_compaction(&record.entries[*at]));
        let note = is_compacted.then(|| record::opens_at_compaction(self.called));
        let directory = text(entry, "cwd").map(Into::into);
        Ok(ForkPlan {
            agent: self.agent.to_owned(),
            from: message.conversation.clone(),
            to: Some(AgentConversation {
                session,
                transcript,
            }),
            anchor: text(entry, self.id).unwrap_or_default().to_owned(),
            directory: directory.unwrap_or_else(|| message.directory.clone()),
            interface: match is_first {
                true => "a new conversation, as nothing comes before the message".to_owned(),
                false => format!("a copy of {}'s transcript under a new id", self.called),
            },
            note,
            seen: self.seen(&record),
            is_cut: false,
        })
    }

    /// Refuses a record with entries or of a version that are not known.
    fn check(&self, record: &AgentRecord) -> Result<(), NoFork> {
        let unknown = |what: String| NoFork {
            reason: ConversationReason::UnknownFormat,
            note: Some(what),
            is_manual: false,
        };
        for entry in &record.entries {
            let kind = text(entry, "type").unwrap_or_default();
            if !self.kept.contains(&kind) && !self.dropped.contains(&kind) {
                return Err(unknown(format!(
                    "the transcript has an entry of the unknown type `{kind}`"
                )));
            }
            if let Some(version) = text(entry, "version")
                && !(self.knows)(version)
            {
                return Err(unknown(format!(
                    "the transcript is of the unknown version `{version}`"
                )));
            }
        }
        Ok(())
    }

    /// Makes the copy that was planned.
    pub fn fork(&self, plan: &ForkPlan) -> Result<AgentConversation, ForkFailure> {
        let failed = |why: &str| ForkFailure::Failed(why.to_owned());
        let (Some(to), Some(old)) = (&plan.to, &plan.from.transcript) else {
            return Err(failed("the plan names no transcript"));
        };
        let Some(new) = &to.transcript else {
            return Ok(to.clone());
        };
        let record = record::read(Some(old)).map_err(|_| failed("the transcript is gone"))?;
        // What comes after the message, as of an agent that is just ending, is not copied.
        let place = |entry: &Value| text(entry, self.id) == Some(&plan.anchor);
        let at = record.entries.iter().position(place);
        let at = at.ok_or_else(|| failed("the message is no longer in the transcript"))?;
        record::write(new, &self.copied(&record, at, &to.session), old)?;
        Ok(to.clone())
    }

    /// Returns the entries of a conversation that ends just before an entry. Those that hang on the line to it stay, as
    /// the results of tools that ran side by side do, but not those of another branch behind its end.
    fn copied(&self, record: &AgentRecord, at: usize, session: &str) -> Vec<Value> {
        let line = self.line(record, &record.entries[at]);
        let end = line
            .iter()
            .copied()
            .filter(|on| *on != at)
            .max()
            .unwrap_or(0);
        // What was before a conversation that began anew is not its.
        let begun = self.beginnings(record).intersection(&line).copied().max();
        let kept = record.entries[begun.unwrap_or(0)..=end]
            .iter()
            .filter(|entry| self.is_of_tree(entry));
        let kept: Vec<&Value> = kept.collect();
        let names: HashMap<&str, String> = kept
            .iter()
            .filter_map(|entry| Some((text(entry, self.id)?, uuid::Uuid::new_v4().to_string())))
            .collect();
        let copy = |entry: &&Value| {
            let mut copy = (*entry).clone();
            copy["sessionId"] = json!(session);
            if begun.is_some_and(|at| record.entries[at][self.id] == entry[self.id]) {
                copy[self.parent] = Value::Null;
            }
            if self.renames {
                for member in [self.id, self.parent].iter().chain(&REFERENCES) {
                    if let Some(new) = text(entry, member).and_then(|old| names.get(old)) {
                        copy[*member] = json!(new);
                    }
                }
                copy["forkedFrom"] =
                    json!({"sessionId": entry["sessionId"], "messageUuid": entry[self.id]});
            }
            copy
        };
        kept.iter().map(copy).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversations::{qwen_code, sought};

    fn user(id: &str, parent: &str) -> Value {
        json!({"type": "user", "uuid": id, "parentUuid": parent, "message": {"parts": [{"text": id}]}})
    }

    fn write(path: &Path, entries: &[Value]) {
        let lines: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
        std::fs::write(path, lines).expect("writable");
    }

    /// A compaction counts if it leads to the message.
    #[test]
    fn compaction_before_the_message_counts() {
        let compaction = json!({"type": "system", "subtype": "chat_compression", "uuid": "c", "parentUuid": "one"});
        let record = tempfile::NamedTempFile::new().expect("a scratch file");
        let entries = [
            user("one", ""),
            compaction,
            user("two", "c"),
            user("beside", "one"),
        ];
        write(record.path(), &entries);
        for (before, prompt, is_told) in [(0, "one", false), (1, "two", true), (2, "beside", false)]
        {
            let plan = qwen_code::FORMAT.plan(&sought("qwen-code", record.path(), prompt, before));
            let plan = plan.expect("it can be forked");
            assert_eq!(plan.note.is_some(), is_told, "{prompt}: {:?}", plan.note);
        }
    }

    /// A conversation that its agent's own rewind emptied begins anew, though its next prompt names the entry before.
    ///
    /// A fork has nothing of what was before. One that went back to an earlier entry has what leads there.
    #[test]
    fn emptied_conversation_begins_anew() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let path = scratch.path().join("old.jsonl");
        let format = &crate::conversations::claude_code::FORMAT;
        let said = |id: &str, parent: &str| {
            let answer = format!("{id}'s answer");
            let mut prompt = user(id, parent);
            prompt["message"] = json!({"content": id});
            prompt["origin"] = json!({"kind": "human"});
            [
                prompt,
                json!({"type": "assistant", "uuid": answer, "parentUuid": id}),
            ]
        };
        let nothing = "00000000-0000-0000-0000-000000000000";
        let emptied = json!({"type": "last-prompt", "leafUuid": nothing, "explicit": true});
        for (parent, left, kept) in [
            ("two's answer", [true, true], 2),
            ("one's answer", [false, true], 6),
        ] {
            // It is noted before the next prompt, or just after.
            for is_after in [0, 1] {
                let mut entries = [
                    said("one", ""),
                    said("two", "one's answer"),
                    said("three", parent),
                ]
                .concat();
                entries.insert(4 + is_after, emptied.clone());
                entries.extend(said("four", "three's answer"));
                write(&path, &entries);
                let all = (0..).zip(["one", "two", "three", "four"]);
                let all: Vec<_> = all
                    .map(|(at, it)| sought("claude-code", &path, it, at))
                    .collect();
                let places = format.places(&all).expect("they are there");
                let expected = [left[0], left[1], false, false].map(Some);
                assert_eq!(places, expected, "{parent}");
                let plan = format.plan(&all[2]).expect("it can be forked");
                let is_new = plan.to.as_ref().is_some_and(|to| to.transcript.is_none());
                assert_eq!(is_new, left[0], "{parent}: nothing was before the third");
                let plan = format.plan(&all[3]).expect("it can be forked");
                let made = format.fork(&plan).expect("it is made");
                let copy = record::read(made.transcript.as_deref());
                let copy = copy.unwrap_or_else(|reason| panic!("{reason:?}"));
                assert_eq!(copy.entries.len(), kept, "{parent}: {:?}", copy.entries);
                let begin = copy.entries[0]["parentUuid"].as_str().unwrap_or_default();
                assert_eq!(begin, "", "{parent}");
            }
        }
    }

    /// What an agent that is just ending writes after the plan holds up no fork, and is not copied.
    #[test]
    fn end_of_the_agent_holds_up_no_fork() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let record = scratch.path().join("old.jsonl");
        let mut entries = vec![user("one", ""), user("two", "one")];
        write(&record, &entries);
        let plan = qwen_code::FORMAT.plan(&sought("qwen-code", &record, "two", 1));
        let plan = plan.expect("it can be forked");
        entries.push(json!({"type": "assistant", "uuid": "last", "parentUuid": "two"}));
        write(&record, &entries);
        let made = qwen_code::FORMAT.fork(&plan).expect("it is made");
        let copy = record::read(made.transcript.as_deref());
        let copy = copy.unwrap_or_else(|reason| panic!("{reason:?}"));
        assert_eq!(copy.entries.len(), 1, "{:?}", copy.entries);
        assert_eq!(copy.entries[0]["uuid"], "one");
    }
}
