//! Agents that fork a conversation themselves: their program is started, asked over a pipe or a connection of this
//! machine, and ended. It records nothing meanwhile, and no model is called.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use ckpt_process::{OutputEnd, exchanged, programs, surroundings};
use ckpt_schema::report::ConversationReason;
use ckpt_store::model::conversation::{
    AgentConversation, ForkFailure, ForkPlan, FoundMessage, NoFork, SoughtMessage,
};
use serde_json::{Value, json};

use super::record::{self, AgentRecord, text};

/// How long a program may take, from its start to its last answer.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Returns a program of that name, which records nothing. `None` if it is not on the `PATH`.
pub fn start(name: &str) -> Option<Command> {
    let folders = surroundings::search_path()?;
    let mut paths = std::env::split_paths(&folders).map(|folder| folder.join(name));
    let program: PathBuf = paths.find(|path| path.is_file())?;
    let mut command = programs::named(program);
    command.env("CKPT_HOOK_DISABLE", "1");
    Some(command)
}

/// Refuses to plan without the program.
pub fn require(name: &str) -> Result<(), NoFork> {
    let missing = || NoFork {
        note: Some(format!("`{name}` is not on the PATH")),
        ..NoFork::because(ConversationReason::NoProgram)
    };
    start(name).map(drop).ok_or_else(missing)
}

/// How a program tells requests from each other.
#[derive(Clone, Copy)]
pub enum Framing {
    /// Each is a line.
    Lines,
    /// Each has its length before it.
    Lengths,
}

/// A program that is asked: what it is told first, which changes nothing, and what it is asked for then.
pub struct AskedProgram<'a> {
    /// The program.
    pub program: Command,
    /// How it tells requests from each other.
    pub framing: Framing,
    /// Requests that change nothing: if they have no answer, nothing has happened.
    pub greeting: &'a [Value],
    /// The others.
    pub requests: &'a [Value],
}

/// Sends requests, each after the answer to the one before, and returns the last answer. An answer has the
/// id of its request; one without an id has no answer.
pub fn ask(asked: AskedProgram<'_>) -> Result<Value, ForkFailure> {
    ask_within(asked, PATIENCE)
}

fn ask_within(mut asked: AskedProgram<'_>, patience: Duration) -> Result<Value, ForkFailure> {
    let name = PathBuf::from(asked.program.get_program());
    let name = name.file_name().unwrap_or_default().to_string_lossy();
    let mut waiting = asked.greeting.iter().chain(asked.requests).enumerate();
    let (mut awaited, mut sent, mut last): (Option<&Value>, usize, _) = (None, 0, None);
    let talked = exchanged(&mut asked.program, patience, |text, stdin| {
        loop {
            if let Some(id) = awaited {
                let mut said = objects(text);
                let Some(answer) = said.find(|it| it["id"] == *id && it.get("method").is_none())
                else {
                    return false;
                };
                let is_refused = is_refusal(&answer);
                last = Some(answer);
                if is_refused {
                    return true;
                }
            }
            let Some((place, request)) = waiting.next() else {
                return true;
            };
            (awaited, sent) = (request.get("id"), place + 1);
            // Whether it was read is seen in the answer.
            let _ = match asked.framing {
                Framing::Lines => writeln!(stdin, "{request}"),
                Framing::Lengths => {
                    let text = request.to_string();
                    write!(stdin, "Content-Length: {}\r\n\r\n{text}", text.len())
                }
            };
        }
    });
    let not_started = |error| ForkFailure::Failed(format!("`{name}` cannot be started: {error}"));
    let why = match (talked.map_err(not_started)?, last) {
        // What came before it was done.
        (OutputEnd::Whole, Some(answer))
            if is_refusal(&answer) && sent > asked.greeting.len() + 1 =>
        {
            refusal(&answer)
        }
        (OutputEnd::Whole, Some(answer)) if is_refusal(&answer) => return Err(refused(&answer)),
        (OutputEnd::Whole, Some(answer)) => return Ok(answer),
        (OutputEnd::TimedOut, _) => {
            format!(
                "`{name}` gave no answer within {} seconds",
                patience.as_secs()
            )
        }
        (OutputEnd::TooMuch, _) => format!("`{name}` printed much, and no answer"),
        (OutputEnd::Ended | OutputEnd::Whole, _) => format!("`{name}` ended without an answer"),
    };
    Err(match sent <= asked.greeting.len() {
        true => ForkFailure::Failed(why),
        false => ForkFailure::Unknown(why),
    })
}

fn is_refusal(answer: &Value) -> bool {
    answer.get("error").is_some() || answer["success"] == false
}

/// Returns the whole objects in a text, whatever is between them.
fn objects(mut text: &str) -> impl Iterator<Item = Value> {
    std::iter::from_fn(move || {
        loop {
            text = &text[text.find('{')?..];
            let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
            let next = values.next()?;
            match next {
                Ok(object) => {
                    text = &text[values.byte_offset()..];
                    return Some(object);
                }
                Err(error) if error.is_eof() => return None,
                Err(_) => text = &text[1..],
            }
        }
    })
}

/// An answer that names no conversation, though one may have been made.
pub fn unnamed() -> ForkFailure {
    ForkFailure::Unknown("the agent's answer names no conversation".to_owned())
}

fn refused(answer: &Value) -> ForkFailure {
    ForkFailure::Failed(refusal(answer))
}

fn refusal(answer: &Value) -> String {
    let said = ["/error/message", "/error"].map(|place| answer.pointer(place));
    let said = said.into_iter().flatten().find_map(Value::as_str);
    format!("the agent refused: {}", said.unwrap_or("it gave no reason"))
}

/// Returns a plan that an agent's program carries out.
pub fn planned(message: &SoughtMessage, anchor: String, interface: &str) -> ForkPlan {
    let record = message.conversation.transcript.as_deref();
    let length = record.and_then(|path| std::fs::metadata(path).ok());
    ForkPlan {
        agent: message.agent.clone(),
        from: message.conversation.clone(),
        to: None,
        anchor,
        directory: message.directory.clone(),
        interface: interface.to_owned(),
        note: None,
        seen: length.map_or(0, |length| length.len()).to_string(),
        is_cut: false,
    }
}

/// Codex: `thread/fork` of `codex app-server`. A turn is what a message is in.
pub mod codex {
    use super::{
        AgentConversation, AskedProgram, ConversationReason, ForkFailure, ForkPlan, FoundMessage,
        Framing, NoFork, SoughtMessage, Value, ask, json, planned, record, require, start, text,
        unnamed,
    };

    /// Finds a message by its turn.
    pub fn find(message: &SoughtMessage) -> Result<FoundMessage, ConversationReason> {
        let entry = message
            .turn_id
            .clone()
            .ok_or(ConversationReason::NotFound)?;
        Ok(FoundMessage {
            entry: Some(entry),
            parent: message.turn_before.clone(),
            ..FoundMessage::default()
        })
    }

    /// Plans a fork before the turn of a message. A message that was sent while the agent worked shares it.
    pub fn plan(message: &SoughtMessage) -> Result<ForkPlan, NoFork> {
        require("codex")?;
        let turn = find(message)
            .map_err(NoFork::because)?
            .entry
            .unwrap_or_default();
        let record = record::read(message.conversation.transcript.as_deref());
        let entries = record.map(|it| it.entries).unwrap_or_default();
        let is_compacted = is_compacted(&entries, &turn);
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

    /// Returns whether a compaction stands for what came before a turn.
    pub(super) fn is_compacted(entries: &[Value], turn: &str) -> bool {
        let before = entries
            .iter()
            .take_while(|entry| entry["payload"]["turn_id"] != turn);
        let mut later = before.skip_while(|entry| text(entry, "type") != Some("compacted"));
        later.next().is_some()
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
        let client = json!({"name": "ckpt-hook", "title": "ckpt-hook", "version": env!("CARGO_PKG_VERSION")});
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
}

/// Pi: `fork` of its RPC mode. Its record, a tree, is found by the id of the session.
pub mod pi {
    use super::{
        AgentConversation, AgentRecord, AskedProgram, ConversationReason, ForkFailure, ForkPlan,
        FoundMessage, Framing, NoFork, PathBuf, SoughtMessage, Value, ask, json, planned, record,
        refused, require, start, surroundings, text, unnamed,
    };

    /// Returns the record of a session.
    fn record_of(session: &str) -> Option<PathBuf> {
        let own = surroundings::variable("PI_CODING_AGENT_DIR").map(PathBuf::from);
        let home = surroundings::Environment::read().home;
        let folder = own
            .or_else(|| Some(home?.join(".pi/agent")))?
            .join("sessions");
        let ending = format!("_{session}.jsonl");
        let folders = std::fs::read_dir(folder).ok()?.flatten();
        let files =
            folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten());
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
    pub(super) fn is_compacted(entries: &[Value], entry: &str) -> bool {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Greets a script, asks it for something, and waits for this long.
    fn asked(script: &str, framing: Framing, patience: Duration) -> Result<Value, ForkFailure> {
        let mut program = Command::new("/bin/sh");
        program.args(["-c", script]);
        let [greeting, request] = [0, 1].map(|id| json!({"id": id, "method": "m"}));
        let asked = AskedProgram {
            program,
            framing,
            greeting: &[greeting],
            requests: &[request],
        };
        ask_within(asked, patience)
    }

    /// Answers are read whatever tells them from each other.
    ///
    /// A message of the server's own with the same id is none.
    #[test]
    fn answer_is_read_in_either_framing() {
        for (framing, answer) in [
            (
                Framing::Lines,
                r#"{"id":0}\n{"id":1,"method":"of its own"}\nsome {noise}\n{"id":1,"result":7}\n"#,
            ),
            (
                Framing::Lengths,
                r#"Content-Length: 8\r\n\r\n{"id":0}Content-Length: 18\r\n\r\n{"id":1,"result":7}"#,
            ),
        ] {
            let script = format!("printf '{answer}'; cat >/dev/null");
            let answer = asked(&script, framing, PATIENCE);
            assert_eq!(answer.map(|it| it["result"].clone()), Ok(json!(7)));
        }
    }

    /// One time is for the whole exchange, and it is said how it ended without an answer.
    ///
    /// What was only greeted has made nothing; what was asked may have.
    #[test]
    fn missing_answer_is_told_by_its_cause() {
        let greeted = r#"read one; echo '{"id":0}'; read two; "#;
        let noise = "exec yes 'some noise'";
        let (no_time, time) = (Duration::ZERO, PATIENCE);
        for (script, patience, is_known, said) in [
            ("exit 2".to_owned(), time, true, "ended without an answer"),
            (
                "echo usage: sh".to_owned(),
                time,
                true,
                "ended without an answer",
            ),
            (
                "exec cat".to_owned(),
                no_time,
                true,
                "no answer within 0 seconds",
            ),
            (noise.to_owned(), time, true, "printed much"),
            (
                format!("{greeted} exit 0"),
                time,
                false,
                "ended without an answer",
            ),
            (format!("{greeted} {noise}"), time, false, "printed much"),
        ] {
            let failure = asked(&script, Framing::Lines, patience).expect_err("no answer");
            let is_as_known = matches!(failure, ForkFailure::Failed(_)) == is_known;
            let (ForkFailure::Failed(why) | ForkFailure::Unknown(why)) = failure;
            assert!(is_as_known && why.contains(said), "{script}: {why}");
        }
    }

    /// A compaction counts if it comes before the message, and leads to it.
    #[test]
    fn compaction_before_the_message_counts() {
        let turn = |id: &str| json!({"type": "turn_context", "payload": {"turn_id": id}});
        let compacted = json!({"type": "compacted", "payload": {"message": ""}});
        let rollout = [turn("one"), compacted.clone(), turn("two"), compacted];
        assert!(!codex::is_compacted(&rollout, "one"));
        assert!(codex::is_compacted(&rollout, "two"));
        let entry = |id: &str, parent: &str, kind: &str| json!({"id": id, "parentId": parent, "type": kind});
        let tree = [
            entry("one", "", "message"),
            entry("c", "one", "compaction"),
            entry("two", "c", "message"),
            entry("beside", "one", "message"),
        ];
        assert!(pi::is_compacted(&tree, "two"));
        assert!(!pi::is_compacted(&tree, "one") && !pi::is_compacted(&tree, "beside"));
    }
}
