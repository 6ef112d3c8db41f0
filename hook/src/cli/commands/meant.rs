//! What was meant where a command got something of another kind: a file for an id, the beginning of an agent's name.

use std::path::Path;

use ckpt_command::invocation::Invocation;
use ckpt_output::text::safe;
use ckpt_process::failure::Failure;
use ckpt_store::ErrorKind;

use crate::cli::arguments::Command;

/// Returns a failure that names the command that was meant, if a file stands where an id is expected.
pub fn explained(invocation: &Invocation, command: &Command, failure: Failure) -> Failure {
    let Failure::Store(error) = failure else {
        return failure;
    };
    let meant = (error.kind == ErrorKind::Unknown)
        .then(|| file_for_an_id(command))
        .flatten()
        .filter(|(word, _)| is_file(invocation, word));
    match meant {
        Some((word, meant)) => {
            let word = safe(word);
            error.hint(format!("`{word}` is a file: {meant}")).into()
        }
        None => Failure::Store(error),
    }
}

/// Returns the id of a command, and what the command for a file of that name is.
fn file_for_an_id(command: &Command) -> Option<(&str, String)> {
    let (word, meant) = match command {
        Command::Restore(arguments) => {
            let word = arguments.id.as_deref()?;
            (
                word,
                format!(
                    "`ckpt-hook restore last {word}` puts it back to just before the newest message, and `ckpt-hook log {word}` lists the messages to choose from"
                ),
            )
        }
        Command::Revert(arguments) => {
            let word = arguments.id.as_deref().or(arguments.message.as_deref())?;
            (
                word,
                format!(
                    "`ckpt-hook revert last --only {word}` takes back what the newest message did to it"
                ),
            )
        }
        Command::Show(arguments) => {
            let word = arguments.id.as_str();
            (
                word,
                format!(
                    "`ckpt-hook log {word}` lists the messages that changed it, and `ckpt-hook blame {word}` says who wrote each line"
                ),
            )
        }
        Command::Diff(arguments) => {
            let word = arguments.from.as_deref()?;
            (
                word,
                format!(
                    "`ckpt-hook diff -- {word}` shows what changed in it since just before the newest message"
                ),
            )
        }
        _ => return None,
    };
    Some((word, meant.replace('\n', " ")))
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
