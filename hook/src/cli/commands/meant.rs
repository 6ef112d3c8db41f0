//! What was meant where a command got something of another kind: a file or an agent for an id, the beginning of an agent's name.

use std::collections::BTreeSet;
use std::path::Path;

use ckpt_command::invocation::Invocation;
use ckpt_output::text::{safe, short};
use ckpt_process::failure::Failure;
use ckpt_store::ErrorKind;
use ckpt_store::model::shell::quoted;
use ckpt_store::query::LogFilter;

use crate::cli::arguments::Command;

/// Returns a failure that names the command that was meant, if a file or an agent stands where an id is expected.
pub fn explained(invocation: &Invocation, command: &Command, failure: Failure) -> Failure {
    let Failure::Store(error) = failure else {
        return failure;
    };
    let word = id_of(command).filter(|_| error.kind == ErrorKind::Unknown);
    let meant = word.and_then(|word| match is_file(invocation, word) {
        true => file_for_an_id(command, &quoted(word)),
        false => agent_for_an_id(invocation, command, word).or_else(|| gone(invocation, word)),
    });
    match (word, meant) {
        (Some(word), Some(meant)) => {
            let hint = format!("`{}` is {}", safe(word), safe(&meant));
            error.hint(hint).into()
        }
        _ => Failure::Store(error),
    }
}

/// Returns the word that stands where a command expects an id.
fn id_of(command: &Command) -> Option<&str> {
    match command {
        Command::Restore(arguments) => arguments.id.as_deref(),
        Command::Revert(arguments) => arguments.id.as_deref().or(arguments.message.as_deref()),
        Command::Show(arguments) => Some(&arguments.id),
        Command::Diff(arguments) => arguments.from.as_deref(),
        _ => None,
    }
}

/// Returns the command for a file of that name.
fn file_for_an_id(command: &Command, word: &str) -> Option<String> {
    Some(match command {
        Command::Restore(_) => format!(
            "a file: `ckpt-hook restore last {word}` puts it back to just before the newest message, and `ckpt-hook log {word}` lists the messages to choose from"
        ),
        Command::Revert(_) => format!(
            "a file: `ckpt-hook revert last --only {word}` takes back what the newest message did to it"
        ),
        Command::Show(_) => format!(
            "a file: `ckpt-hook log {word}` lists the messages that changed it, and `ckpt-hook blame {word}` says who wrote each line"
        ),
        Command::Diff(_) => format!(
            "a file: `ckpt-hook diff -- {word}` shows what changed in it since just before the newest message"
        ),
        _ => return None,
    })
}

/// Returns the command for a file of that name that is gone.
fn gone(invocation: &Invocation, word: &str) -> Option<String> {
    let directory = invocation.directory().ok()?;
    let mut store = invocation.open().ok()?;
    let found = store.gone(&directory, &[word.into()]).ok()?;
    let roots = found.roots.iter().map(|root| root.files.len());
    let word = quoted(word);
    (found.files.len() + roots.sum::<usize>() > 0).then(|| {
        format!("gone: `ckpt-hook recover {word}` puts it back, and `ckpt-hook log {word}` lists the messages that changed it")
    })
}

/// Returns the command for the newest message of an agent with that name, or its beginning.
fn agent_for_an_id(invocation: &Invocation, command: &Command, word: &str) -> Option<String> {
    let (name, does) = match command {
        Command::Restore(_) => ("restore", "puts the files back to just before"),
        Command::Revert(_) => ("revert", "takes back"),
        Command::Show(_) => ("show", "shows"),
        Command::Diff(_) => ("diff", "shows what changed since just before"),
        _ => return None,
    };
    let directory = invocation.directory().ok()?;
    let mut store = invocation.open().ok()?;
    let sessions = store.sessions(Some(&directory)).ok()?.sessions;
    let names: BTreeSet<&str> = sessions.iter().map(|it| it.agent.as_str()).collect();
    let agent = names.get(word).copied().or_else(|| only_one(word, names))?;
    let filter = LogFilter {
        agent: Some(agent.to_owned()),
        limit: Some(1),
        ..LogFilter::default()
    };
    let newest = store.log(&directory, &filter).ok()?.messages.pop()?;
    let (agent, id) = (quoted(agent), short(&newest.id));
    Some(format!(
        "an agent: `ckpt-hook {name} {id}` {does} its newest message, and `ckpt-hook log --agent {agent}` lists its messages"
    ))
}

/// Returns whether a word names something in the current directory.
pub fn is_file(invocation: &Invocation, word: &str) -> bool {
    let directory = invocation.directory();
    directory.is_ok_and(|directory| directory.join(Path::new(word)).symlink_metadata().is_ok())
}

/// Returns the only one of some names that begins like this, if the word is none of them.
pub fn only_one<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let names: Vec<&str> = names.into_iter().collect();
    let mut alike = names.iter().filter(|name| name.starts_with(word));
    match (names.contains(&word), alike.next(), alike.next()) {
        (false, Some(name), None) if !word.is_empty() => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of one name stands for it.
    #[test]
    fn beginning_of_one_name_stands_for_it() {
        let names = ["claude-code", "cline", "codex", "co"];
        assert_eq!(only_one("cla", names), Some("claude-code"));
        assert_eq!(only_one("cl", names), None, "of two");
        assert_eq!(only_one("co", names), None, "it is one itself");
        assert_eq!(only_one("", names), None, "nothing was given");
    }
}
