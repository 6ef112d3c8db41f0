//! How the command line describes itself on a terminal: examples first, the commands in groups, and what every command
//! takes in one line.

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error};

/// The commands as `help` lists them.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Take back",
        &["revert", "undo", "redo", "unrevert", "restore", "recover"],
    ),
    (
        "Look",
        &[
            "log", "show", "diff", "blame", "cat", "status", "sessions", "export", "ui", "page",
        ],
    ),
    ("Elsewhere", &["branch", "bisect", "push", "fetch"]),
    (
        "Set up",
        &[
            "demo",
            "install",
            "uninstall",
            "config",
            "doctor",
            "completions",
            "man",
        ],
    ),
    (
        "Upkeep",
        &["snapshot", "label", "workspace", "gc", "du", "forget"],
    ),
    (
        "For programs",
        &[
            "run",
            "acp",
            "event",
            "message",
            "step-start",
            "step-finish",
            "serve",
            "mcp",
            "watch",
            "schema",
        ],
    ),
];

/// What every command takes.
const EVERYWHERE: &str = "Every command also takes --json, --json-lines, --store DIR, --workspace DIR, --exact, \
                          --color WHEN,\n-q and -v. `ckpt-hook man` explains them.";

/// Returns the command line with the help that people see.
pub fn for_people(command: Command) -> Command {
    let examples = super::EXAMPLES;
    let (examples, notes) = examples.split_once("\n\n").unwrap_or((examples, ""));
    let top = format!(
        "{{about-with-newline}}\n{examples}\n\n{{usage-heading}} {{usage}}\n{}\n{EVERYWHERE}{{after-help}}",
        groups(&command)
    );
    let command = command.mut_args(|arg| match arg.is_global_set() {
        true => arg.hide(true),
        false => arg,
    });
    of_subcommands(command).after_help(notes).help_template(top)
}

/// Sets the help of all commands below one.
fn of_subcommands(mut command: Command) -> Command {
    const TEMPLATE: &str = "{about}{after-help}\n\n{usage-heading} {usage}\n\n{all-args}\n\nEvery command also takes --json, --workspace DIR and others: see `ckpt-hook help`.";
    let names: Vec<String> = command
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    for name in names {
        command = command.mut_subcommand(name, |command| {
            of_subcommands(command).help_template(TEMPLATE)
        });
    }
    command
}

/// Returns the list of the commands.
fn groups(command: &Command) -> String {
    let mut text = String::new();
    for (group, names) in GROUPS {
        text.push_str(&format!("\n{group}:\n"));
        for name in names {
            let about = command
                .find_subcommand(name)
                .and_then(Command::get_about)
                .map(ToString::to_string)
                .unwrap_or_default();
            text.push_str(&format!("  {name:<12} {about}\n"));
        }
    }
    text
}

/// Puts the command that is most like the unknown one first: clap ends with it.
pub fn best_first(mut error: Error) -> Error {
    let kind = ContextKind::SuggestedSubcommand;
    if let Some(ContextValue::Strings(names)) = error.get(kind) {
        let names = names.iter().rev().cloned().collect();
        error.insert(kind, ContextValue::Strings(names));
    }
    error
}

/// Words that stand for a command with an option, and what they stand for.
const MEANT: [(&str, &[&str]); 2] = [
    ("snapshots", &["log", "--snapshots"]),
    ("search", &["log", "--grep"]),
];

/// Returns the words of a command line with those that stand for several.
pub fn spelled_out(words: &[std::ffi::OsString]) -> Vec<std::ffi::OsString> {
    let mut spelled = Vec::with_capacity(words.len() + 1);
    let mut is_value = false;
    let mut is_named = false;
    for (place, word) in words.iter().enumerate() {
        let is_option = word.to_str().is_some_and(|word| word.starts_with('-'));
        let is_command = place > 0 && !is_named && !is_value && !is_option;
        is_value = !is_named
            && ["--store", "--workspace", "--color"]
                .iter()
                .any(|option| word == option);
        is_named |= is_command;
        let meant = MEANT.iter().find(|(name, _)| is_command && word == name);
        match meant {
            Some((_, meant)) => spelled.extend(meant.iter().map(Into::into)),
            None => spelled.push(word.clone()),
        }
    }
    spelled
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::ffi::OsString;

    use clap::CommandFactory;

    use super::super::Arguments;
    use super::*;

    /// Every command that is listed at all is in one group.
    #[test]
    fn every_command_is_in_one_group() {
        let command = Arguments::command();
        let visible = command.get_subcommands().filter(|it| !it.is_hide_set());
        let visible: BTreeSet<&str> = visible.map(Command::get_name).collect();
        let grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        assert_eq!(visible, grouped.iter().copied().collect(), "each is listed");
        assert_eq!(visible.len(), grouped.len(), "and each once");
    }

    /// A word may stand for a command with an option.
    #[test]
    fn word_stands_for_a_command_and_option() {
        let spelled = |line: &str| -> Vec<String> {
            let words: Vec<OsString> = line.split(' ').map(Into::into).collect();
            let all = spelled_out(&words).into_iter();
            all.map(|word| word.to_string_lossy().into_owned())
                .collect()
        };
        assert_eq!(
            spelled("ckpt-hook snapshots").join(" "),
            "ckpt-hook log --snapshots"
        );
        assert_eq!(
            spelled("ckpt-hook --workspace a search x").join(" "),
            "ckpt-hook --workspace a log --grep x"
        );
        let other = "ckpt-hook --store search log search";
        assert_eq!(spelled(other).join(" "), other, "a value, and a path");
    }
}
