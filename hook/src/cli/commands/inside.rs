//! `inside`: what our commands inside agents run. It always exits with 0 and prints what happened: an agent treats any
//! other code as a failed shell command, and does not show its output.

use ckpt_command::invocation::Invocation;
use ckpt_output::data;
use ckpt_output::text::{fit, safe, short, title};
use ckpt_process::failure::{DONE, Failure};
use ckpt_schema::report::{MessageReport, MessageState};
use ckpt_store::model::number::count;
use ckpt_store::query::LogFilter;

use super::{operation, status};
use crate::cli::arguments::{
    InsideArguments, InsideCommand, InsideRevertArguments, RedoArguments, RevertArguments,
    UnrevertArguments,
};

/// How many messages are listed.
const LISTED_LIMIT: usize = 10;

/// How many columns of a message are shown.
const WIDTH: usize = 60;

/// Runs one, and shows why if it cannot.
pub fn run(invocation: &Invocation, arguments: &InsideArguments) -> Result<u8, Failure> {
    data::begin();
    let done = match &arguments.command {
        InsideCommand::Revert(arguments) => revert(invocation, arguments),
        InsideCommand::Redo(arguments) => redo(invocation, arguments),
        InsideCommand::Status(arguments) => status::run(invocation, arguments),
    };
    if let Err(failure) = done {
        invocation.output.failure(&failure);
    }
    Ok(DONE)
}

/// A command inside an agent is forced because that agent is at work.
fn redo(invocation: &Invocation, arguments: &RedoArguments) -> Result<u8, Failure> {
    let forward = UnrevertArguments {
        session: conversation(invocation, arguments.forward.session.as_deref()),
        ..arguments.forward.clone()
    };
    operation::redo(invocation, &forward, arguments.how_far())
}

fn revert(invocation: &Invocation, arguments: &InsideRevertArguments) -> Result<u8, Failure> {
    let session = conversation(invocation, arguments.revert.session.as_deref());
    let asked = RevertArguments {
        session: session.clone(),
        ..arguments.revert.clone()
    };
    let named = |message: String| RevertArguments {
        message: Some(message),
        ..asked.clone()
    };
    if asked.message.is_some() || asked.step.is_some() {
        return operation::revert(invocation, &asked);
    }
    let session = session.as_deref();
    let messages = messages(invocation, session);
    if let (Some(session), true) = (session, messages.is_empty()) {
        return other_sessions(invocation, session);
    }
    match target(arguments.target.as_deref(), &messages) {
        InsideTarget::Message(message) => operation::revert(invocation, &named(message)),
        InsideTarget::Choose(why) => {
            invocation.output.text(&list(&why, &messages))?;
            Ok(DONE)
        }
    }
}

/// Returns the conversation that a command is typed in. An agent that does not name it to its commands, as Gemini CLI
/// does not, is known by its process: that of the hooks. If neither is known, returns `None`, which means the newest
/// conversation of the workspace.
fn conversation(invocation: &Invocation, named: Option<&str>) -> Option<String> {
    if let Some(session) = named {
        return Some(session.to_owned());
    }
    let process = ckpt_store::agent_process()?.name;
    let directory = invocation.directory().ok()?;
    let session = |mut store: ckpt_store::Store| store.session_of_process(&directory, &process);
    invocation
        .open()
        .ok()
        .and_then(|store| session(store).ok())?
}

/// The interpretation of an argument.
#[derive(Debug, PartialEq, Eq)]
enum InsideTarget {
    /// This message.
    Message(String),
    /// Nothing yet: the user has to choose, and this is why.
    Choose(String),
}

/// Interprets what was typed, given the messages of the conversation, newest first. No argument means the newest
/// message, unless something is reverted already.
fn target(typed: Option<&str>, messages: &[MessageReport]) -> InsideTarget {
    let live: Vec<&MessageReport> = live(messages).collect();
    match typed {
        None if messages
            .iter()
            .any(|message| message.state == MessageState::Hidden) =>
        {
            InsideTarget::Choose(
                "That message has already been taken back; nothing was done.".to_owned(),
            )
        }
        None => InsideTarget::Message("last".to_owned()),
        Some(typed) => match typed.parse::<usize>() {
            Ok(number) if number <= LISTED_LIMIT => {
                match number.checked_sub(1).and_then(|n| live.get(n)) {
                    Some(message) => InsideTarget::Message(message.id.clone()),
                    None => InsideTarget::Choose(format!(
                        "There is no message {number}; nothing was done."
                    )),
                }
            }
            _ => InsideTarget::Message(typed.to_owned()),
        },
    }
}

fn live(messages: &[MessageReport]) -> impl Iterator<Item = &MessageReport> {
    messages
        .iter()
        .filter(|message| message.state == MessageState::Live)
}

/// The changes that can be taken back, by numbers that can be typed.
fn list(why: &str, messages: &[MessageReport]) -> String {
    let mut lines = vec![why.to_owned()];
    let rows: Vec<String> = (1..)
        .zip(live(messages).take(LISTED_LIMIT))
        .map(|(number, message)| {
            let title = title(message.prompt.as_deref());
            format!(
                "  {number}  {}  “{}”  {}",
                short(&message.id),
                fit(&title, WIDTH),
                count(message.files, "file")
            )
        })
        .collect();
    if rows.is_empty() {
        lines.push("There is nothing more to take back.".to_owned());
    } else {
        lines.push(
            "`/ckpt-revert NUMBER` takes back this message and all above it, too:".to_owned(),
        );
        lines.extend(rows);
    }
    lines.join("\n") + "\n"
}

/// A conversation without messages, as after `/clear`: says which one could be meant.
fn other_sessions(invocation: &Invocation, session: &str) -> Result<u8, Failure> {
    let directory = invocation.directory()?;
    let mut store = invocation.open()?;
    let sessions = store.sessions(Some(&directory))?.sessions;
    let others = sessions.iter().filter(|other| {
        other.messages > 0
            && other.parent.is_none()
            && ![&*other.agent_id, &*other.id].contains(&session)
    });
    let mut text = "This conversation has no message to take back.\n".to_owned();
    for other in others.take(3) {
        let filter = LogFilter {
            session: Some(other.id.clone()),
            limit: Some(1),
            ..LogFilter::default()
        };
        let newest = store.log(&directory, &filter)?.messages;
        let prompt = newest.first().and_then(|message| message.prompt.as_deref());
        text.push_str(&format!(
            "The session {} ({}, {}) ends with “{}”: `/ckpt-revert --message last --session {}`\n",
            short(&other.id),
            safe(&other.agent),
            count(other.messages, "message"),
            fit(&title(prompt), WIDTH),
            short(&other.id),
        ));
    }
    invocation.output.text(&text)?;
    Ok(DONE)
}

/// Returns the messages of a conversation, newest first; empty for an unknown one.
fn messages(invocation: &Invocation, session: Option<&str>) -> Vec<MessageReport> {
    let filter = LogFilter {
        session: session.map(str::to_owned),
        limit: Some(10 * LISTED_LIMIT),
        ..LogFilter::default()
    };
    let log = || {
        let directory = invocation.directory()?;
        Ok::<_, Failure>(invocation.open()?.log(&directory, &filter)?)
    };
    log().map(|report| report.messages).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str, state: MessageState) -> MessageReport {
        MessageReport {
            seq: 1,
            id: id.to_owned(),
            agent_id: None,
            session: "s".to_owned(),
            agent_session: "s".to_owned(),
            agent: "generic".to_owned(),
            labels: Vec::new(),
            prompt: Some(format!("say {id}")),
            time: 0,
            state,
            undone_alone: false,
            left: false,
            steps: 1,
            files: 2,
            additions: 0,
            deletions: 0,
            unclear: 0,
            unprotected: None,
            revertable: true,
            not_revertable: None,
            workspace: String::new(),
            finished: None,
            roots: Vec::new(),
        }
    }

    fn named(id: &str) -> InsideTarget {
        InsideTarget::Message(id.to_owned())
    }

    /// A number is one of the list and anything else is an id.
    #[test]
    fn number_is_in_the_list_or_an_id() {
        let messages = ["c", "b", "a"].map(|id| message(id, MessageState::Live));
        for (typed, expected) in [
            (None, named("last")),
            (Some("1"), named("c")),
            (Some("3"), named("a")),
            (Some("last~2"), named("last~2")),
            (Some("7c1e"), named("7c1e")),
            (Some("71234567"), named("71234567")),
        ] {
            assert_eq!(target(typed, &messages), expected, "of {typed:?}");
        }
        assert!(matches!(
            target(Some("4"), &messages),
            InsideTarget::Choose(_)
        ));
        assert!(matches!(
            target(Some("0"), &messages),
            InsideTarget::Choose(_)
        ));
    }

    /// A second time takes nothing more unless it is said what.
    #[test]
    fn second_time_takes_nothing_more_unasked() {
        let messages = [
            message("c", MessageState::Hidden),
            message("b", MessageState::Live),
            message("a", MessageState::Live),
        ];
        let InsideTarget::Choose(why) = target(None, &messages) else {
            panic!("nobody said what");
        };
        assert_eq!(
            list(&why, &messages),
            "That message has already been taken back; nothing was done.\n\
             `/ckpt-revert NUMBER` takes back this message and all above it, too:\n\
             \x20 1  b  “say b”  2 files\n\
             \x20 2  a  “say a”  2 files\n"
        );
        assert_eq!(target(Some("1"), &messages), named("b"));
    }
}
