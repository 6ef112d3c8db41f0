//! Codex: `thread/fork` of `codex app-server`. A turn is what a message is in. Its rollouts, `~/.codex/sessions/DAY/rollout-….jsonl`,
//! tell which turns its own rewind left, and which thread one was forked from.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ckpt_schema::report::ConversationReason;
use ckpt_store::model::conversation::{
    AgentConversation, ForkFailure, ForkPlan, FoundMessage, NoFork, SoughtMessage,
};
use serde_json::{Value, json};

use super::program::{AskedProgram, Framing, ask, planned, require, start, unnamed};
use super::record::{self, AgentRecord, text};

/// What a thread's rollouts hold, and those of the threads that it was forked from. Its own rewind begins another one, as
/// a fork does, which names the place in those before it from which it goes on.
#[derive(Default)]
struct ThreadRollouts {
    /// What leads to where the thread is.
    line: Vec<Value>,
    /// The turns that no longer do.
    left: HashSet<String>,
}

impl ThreadRollouts {
    /// Reads those of a message's thread. `None` if one cannot be read.
    fn read(message: &SoughtMessage, read: impl Fn(&Path) -> Option<AgentRecord>) -> Option<Self> {
        let newest = message.conversation.transcript.as_deref()?;
        let newest_rollout = read(newest)?.entries;
        if base(&newest_rollout).is_none() {
            return Some(Self::joined([newest_rollout]));
        }
        // They lie in a folder of each day.
        let folder = newest.ancestors().nth(4)?;
        let mut all: Vec<Vec<Value>> = Vec::new();
        let (mut thread, mut end) = (Some(message.conversation.session.clone()), None);
        while let Some(sought) = thread.filter(|_| all.len() < MOST_ROLLOUTS) {
            let mut paths = of_thread(folder, &sought, 3);
            paths.sort_by(|a, b| a.file_name().cmp(&b.file_name()));
            // What a thread went on in after it was forked is not the fork's.
            paths.retain(|path| end.is_none() || path.file_name() < end.as_deref());
            let read = |path: &PathBuf| Some(read(path)?.entries);
            let own: Option<Vec<_>> = paths.iter().map(read).collect();
            let own = own?;
            let first = own.first().and_then(|rollout| rollout.first());
            let base = first.and_then(|head| text(&head["payload"]["history_base"], "thread_id"));
            thread = base.filter(|base| *base != sought).map(str::to_owned);
            end = paths
                .first()
                .and_then(|path| path.file_name().map(ToOwned::to_owned));
            all.splice(..0, own);
        }
        Some(Self::joined(all))
    }

    fn joined(rollouts: impl IntoIterator<Item = Vec<Value>>) -> Self {
        let mut all = Self::default();
        for rollout in rollouts {
            let end = base(&rollout).unwrap_or(u64::MAX);
            let is_after = |entry: &Value| entry["ordinal"].as_u64() >= Some(end);
            let kept = all.line.iter().position(is_after);
            let cut = all.line.split_off(kept.unwrap_or(all.line.len()));
            all.left
                .extend(cut.iter().filter_map(turn).map(str::to_owned));
            all.line.extend(rollout);
        }
        let Self { line, left } = &mut all;
        for turn in line.iter().filter_map(turn) {
            left.remove(turn);
        }
        all
    }

    fn has_left(&self, turn: &str) -> bool {
        self.left.contains(turn)
    }

    /// Returns whether a compaction stands for what came before a turn.
    fn is_compacted(&self, before: &str) -> bool {
        let mut before = self
            .line
            .iter()
            .take_while(|entry| turn(entry) != Some(before));
        before.any(|entry| text(entry, "type") == Some("compacted"))
    }
}

/// How many rollouts are read at most: a circle is no history.
const MOST_ROLLOUTS: usize = 200;

/// Returns the thread from which the one of a rollout was forked.
pub fn origin(rollout: &Path) -> Option<String> {
    let head = record::beginning(rollout).next()?;
    text(&head["payload"], "forked_from_id").map(str::to_owned)
}

fn turn(entry: &Value) -> Option<&str> {
    text(&entry["payload"], "turn_id")
}

/// Returns the place from which a rollout goes on.
fn base(rollout: &[Value]) -> Option<u64> {
    rollout.first()?["payload"]["history_base"]["end_ordinal_exclusive"].as_u64()
}

fn of_thread(folder: &Path, session: &str, depth: u8) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    if depth > 0 {
        return paths
            .flat_map(|path| of_thread(&path, session, depth - 1))
            .collect();
    }
    let is_its = |path: &PathBuf| path.to_string_lossy().contains(session);
    paths.filter(is_its).collect()
}

/// Finds a message by its turn.
pub fn find(message: &SoughtMessage) -> Result<FoundMessage, ConversationReason> {
    let entry = message
        .turn_id
        .clone()
        .ok_or(ConversationReason::NotFound)?;
    let rollouts = ThreadRollouts::read(message, |path| record::read(Some(path)).ok());
    Ok(FoundMessage {
        is_left: rollouts.is_some_and(|it| it.has_left(&entry)),
        entry: Some(entry),
        parent: message.turn_before.clone(),
        ..FoundMessage::default()
    })
}

/// Returns for each message of one conversation whether its agent has left it.
pub fn places(messages: &[SoughtMessage]) -> Option<Vec<Option<bool>>> {
    let rollouts = ThreadRollouts::read(messages.first()?, |path| record::glance(Some(path)))?;
    let place = |message: &SoughtMessage| Some(rollouts.has_left(message.turn_id.as_deref()?));
    Some(messages.iter().map(place).collect())
}

/// Plans a fork before the turn of a message. A message that was sent while the agent worked shares it.
pub fn plan(message: &SoughtMessage) -> Result<ForkPlan, NoFork> {
    require("codex")?;
    let turn = message.turn_id.clone();
    let turn = turn.ok_or_else(|| NoFork::because(ConversationReason::NotFound))?;
    let rollouts = ThreadRollouts::read(message, |path| record::read(Some(path)).ok());
    let is_compacted = rollouts.is_some_and(|it| it.is_compacted(&turn));
    let mut plan = planned(message, turn, "`thread/fork` of `codex app-server`");
    plan.note = is_compacted.then(|| record::opens_at_compaction("Codex"));
    if message.turn_id.is_some() && message.turn_id == message.turn_before {
        plan.note = Some(
            "the message was sent while Codex worked: the conversation ends before that turn"
                .to_owned(),
        );
    }
    Ok(plan)
}

/// Turns a fork into a cut.
pub fn cut(plan: ForkPlan) -> ForkPlan {
    ForkPlan {
        interface: "`thread/revert` of `codex app-server`".to_owned(),
        is_cut: true,
        ..plan
    }
}

/// Has Codex make it: what is cut is kept whole.
pub fn fork(plan: &ForkPlan) -> Result<AgentConversation, ForkFailure> {
    let mut params = json!({"threadId": plan.from.session, "excludeTurns": true});
    if !plan.is_cut {
        params["beforeTurnId"] = json!(plan.anchor);
    }
    let made = talk(
        &[],
        &[json!({"id": 1, "method": "thread/fork", "params": params})],
    )?;
    let named = |place: &str| made.pointer(place).and_then(Value::as_str);
    Ok(AgentConversation {
        session: named("/result/thread/id").ok_or_else(unnamed)?.to_owned(),
        transcript: named("/result/thread/path").map(Into::into),
    })
}

/// Has Codex shorten the thread itself, which it has to load for that.
pub fn shorten(plan: &ForkPlan) -> Result<(), ForkFailure> {
    let (thread, turn) = (&plan.from.session, &plan.anchor);
    let load = json!({"threadId": thread, "excludeTurns": true});
    let cut = json!({"threadId": thread, "beforeTurnId": turn});
    talk(
        &[json!({"id": 1, "method": "thread/resume", "params": load})],
        &[json!({"id": 2, "method": "thread/revert", "params": cut})],
    )
    .map(drop)
}

/// Sends requests to the app server, first those that change nothing, and returns the last answer.
fn talk(first: &[Value], requests: &[Value]) -> Result<Value, ForkFailure> {
    let mut codex = start("codex")
        .ok_or_else(|| ForkFailure::Failed("`codex` is not on the PATH".to_owned()))?;
    codex.arg("app-server");
    let client =
        json!({"name": "ckpt-hook", "title": "ckpt-hook", "version": env!("CARGO_PKG_VERSION")});
    let begin = [
        json!({"id": 0, "method": "initialize", "params":
            {"clientInfo": client, "capabilities": {"experimentalApi": true}}}),
        json!({"method": "initialized"}),
    ];
    ask(AskedProgram {
        program: codex,
        framing: Framing::Lines,
        greeting: &[&begin, first].concat(),
        requests,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A turn before which Codex goes on in another rollout is left, however often it does.
    #[test]
    fn turns_before_which_it_goes_on_are_left() {
        let rollout = |end: Option<u64>, turns: &[(u64, &str)]| {
            let base = end.map(|end| json!({"thread_id": "s", "end_ordinal_exclusive": end}));
            let head = json!({"type": "session_meta", "payload": {"history_base": base}});
            let entry =
                |(at, turn): &(u64, &str)| json!({"ordinal": at, "payload": {"turn_id": turn}});
            [head]
                .into_iter()
                .chain(turns.iter().map(entry))
                .collect::<Vec<_>>()
        };
        let rollouts = [
            rollout(None, &[(1, "one"), (5, "two"), (9, "three")]),
            rollout(Some(5), &[(6, "four"), (8, "five")]),
            rollout(Some(8), &[(9, "six")]),
        ];
        let rollouts = ThreadRollouts::joined(rollouts);
        let turns = ["one", "two", "three", "four", "five", "six", "being sent"];
        let left = turns.map(|turn| rollouts.has_left(turn));
        assert_eq!(left, [false, true, true, false, true, false, false]);
    }

    /// A fork goes on from a place in the rollouts of the thread that it names.
    ///
    /// What that thread went on with afterwards is not in the fork.
    #[test]
    fn fork_goes_on_from_another_thread() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let folder = scratch.path().join("2026/11/27");
        std::fs::create_dir_all(&folder).expect("writable");
        let write = |name: &str, thread: &str, base: Option<(&str, u64)>, turns: &[(u64, &str)]| {
            let from = base
                .map(|(thread, end)| json!({"thread_id": thread, "end_ordinal_exclusive": end}));
            let of = base.map(|(of, _)| of).filter(|of| *of != thread);
            let head = json!({"type": "session_meta", "payload": {"history_base": from, "forked_from_id": of}});
            let mut lines = format!("{head}\n");
            for (at, turn) in turns {
                let compacted = (*turn == "compacted").then_some("compacted");
                lines += &json!({"ordinal": at, "type": compacted, "payload": {"turn_id": turn}})
                    .to_string();
                lines.push('\n');
            }
            let path = folder.join(format!("rollout-{name}-{thread}.jsonl"));
            std::fs::write(&path, lines).expect("writable");
            path
        };
        write(
            "1",
            "old",
            None,
            &[(1, "one"), (2, "compacted"), (3, "two"), (5, "three")],
        );
        write("3", "old", Some(("old", 1)), &[(7, "later")]);
        let fork = write("2", "fork", Some(("old", 5)), &[(6, "four")]);
        assert_eq!(origin(&fork).as_deref(), Some("old"));
        let mut message = super::super::sought("codex", &fork, "four", 2);
        message.conversation.session = "fork".to_owned();
        let rollouts = ThreadRollouts::read(&message, |path| record::read(Some(path)).ok());
        let rollouts = rollouts.expect("they are there");
        let left = ["one", "two", "three", "later", "four"].map(|turn| rollouts.has_left(turn));
        assert_eq!(left, [false, false, true, false, false]);
        assert!(rollouts.is_compacted("four") && !rollouts.is_compacted("one"));
    }

    /// A compaction counts if it comes before the message, and leads to it.
    #[test]
    fn compaction_before_the_message_counts() {
        let turn = |id: &str| json!({"type": "turn_context", "payload": {"turn_id": id}});
        let compacted = json!({"type": "compacted", "payload": {"message": ""}});
        let rollout = vec![turn("one"), compacted.clone(), turn("two"), compacted];
        let rollouts = ThreadRollouts::joined([rollout]);
        assert!(!rollouts.is_compacted("one") && rollouts.is_compacted("two"));
    }
}
