//! Agents that fork a conversation themselves: their program is started, asked over a pipe or a connection of this
//! machine, and ended. It records nothing meanwhile, and no model is called.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use ckpt_process::{OutputEnd, exchanged, programs, surroundings};
use ckpt_schema::report::ConversationReason;
use ckpt_store::model::conversation::{ForkFailure, ForkPlan, NoFork, SoughtMessage};
use serde_json::Value;

/// How long a program may take, from its start to its last answer.
pub const PROGRAM_TIMEOUT: Duration = Duration::from_secs(120);

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
    ask_within(asked, PROGRAM_TIMEOUT)
}

fn ask_within(mut asked: AskedProgram<'_>, timeout: Duration) -> Result<Value, ForkFailure> {
    let name = PathBuf::from(asked.program.get_program());
    let name = name.file_name().unwrap_or_default().to_string_lossy();
    let mut waiting = asked.greeting.iter().chain(asked.requests).enumerate();
    let (mut awaited, mut sent, mut last): (Option<&Value>, usize, _) = (None, 0, None);
    let talked = exchanged(&mut asked.program, timeout, |text, stdin| {
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
                timeout.as_secs()
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

pub fn refused(answer: &Value) -> ForkFailure {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Greets a script, asks it for something, and waits for this long.
    fn asked(script: &str, framing: Framing, timeout: Duration) -> Result<Value, ForkFailure> {
        let mut program = Command::new("/bin/sh");
        program.args(["-c", script]);
        let [greeting, request] = [0, 1].map(|id| json!({"id": id, "method": "m"}));
        let asked = AskedProgram {
            program,
            framing,
            greeting: &[greeting],
            requests: &[request],
        };
        ask_within(asked, timeout)
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
            let answer = asked(&script, framing, PROGRAM_TIMEOUT);
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
        let (no_time, time) = (Duration::ZERO, PROGRAM_TIMEOUT);
        for (script, timeout, is_known, said) in [
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
            let failure = asked(&script, Framing::Lines, timeout).expect_err("no answer");
            let is_as_known = matches!(failure, ForkFailure::Failed(_)) == is_known;
            let (ForkFailure::Failed(why) | ForkFailure::Unknown(why)) = failure;
            assert!(is_as_known && why.contains(said), "{script}: {why}");
        }
    }
}
