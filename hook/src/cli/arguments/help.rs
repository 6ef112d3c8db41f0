//! How the command line describes itself on a terminal: examples first, the commands in groups, and what every command
//! takes in one line.

use ckpt_output::columns_of_stdout;
use ckpt_output::text::{width, wrap};
use ckpt_store::model::shell::quoted;
use clap::Command;
use clap::builder::StyledStr;
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
                          --color WHEN, -q and -v. `ckpt-hook man` explains them.";

/// How many columns the help takes at most.
const COLUMNS: usize = 80;

/// Returns how many columns the help takes on this terminal.
pub fn columns() -> usize {
    columns_of_stdout()
        .unwrap_or(COLUMNS)
        .clamp(NAMES * 2, COLUMNS)
}

/// How many columns the names of the commands take.
const NAMES: usize = 15;

/// Returns the command line with the help that people see in so many columns.
pub fn for_people(command: Command, columns: usize) -> Command {
    let examples = super::EXAMPLES;
    let (examples, notes) = examples.split_once("\n\n").unwrap_or((examples, ""));
    let examples = in_columns(examples, columns);
    let top = format!(
        "{{about-with-newline}}\n{examples}\n\n{{usage-heading}} {{usage}}\n{}\n{}{{after-help}}",
        groups(&command, columns),
        wrap(EVERYWHERE, columns, 0)
    );
    let command = command.mut_args(|arg| match arg.is_global_set() {
        true => arg.hide(true),
        false => arg,
    });
    of_subcommands(command, columns)
        .after_help(notes)
        .help_template(top)
}

/// Sets the help of all commands below one.
fn of_subcommands(mut command: Command, columns: usize) -> Command {
    const TEMPLATE: &str = "{about}{after-help}\n\n{usage-heading} {usage}\n\n{all-args}\n\nEvery command takes --json, --workspace DIR and others: see `ckpt-hook help`.";
    let names: Vec<String> = command
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    for name in names {
        command = command.mut_subcommand(name, |command| {
            let notes = command
                .get_after_help()
                .map(|notes| in_columns(&notes.to_string(), columns));
            let command = of_subcommands(command, columns).help_template(TEMPLATE);
            match notes {
                Some(notes) => command.after_help(notes),
                None => command,
            }
        });
    }
    command
}

/// Returns the list of the commands.
fn groups(command: &Command, columns: usize) -> String {
    let mut text = String::new();
    for (group, names) in GROUPS {
        text.push_str(&format!("\n{group}:\n"));
        for name in names {
            let about = command
                .find_subcommand(name)
                .and_then(Command::get_about)
                .map(ToString::to_string)
                .unwrap_or_default();
            let about = wrap(&about, columns - NAMES, 0).replace('\n', &format!("\n{:NAMES$}", ""));
            text.push_str(&format!("  {name:<12} {about}\n"));
        }
    }
    text
}

/// Returns examples with what each does beside it, or below it, if not all of them have room for that.
fn in_columns(notes: &str, columns: usize) -> String {
    let parts = |line: &str| {
        let (example, does) = line.strip_prefix("  ckpt-hook ")?.split_once("  ")?;
        Some((
            format!("  ckpt-hook {example}"),
            does.trim_start().to_owned(),
        ))
    };
    let all = || notes.lines().filter_map(parts);
    let column = all().map(|(example, _)| width(&example)).max().unwrap_or(0) + 2;
    let fit = all().all(|(_, does)| column + width(&does) <= columns);
    let line = |line: &str| match parts(line) {
        Some((example, does)) if fit => format!("{example:<column$}{does}"),
        Some((example, does)) => format!("{example}\n      {does}"),
        None => line.to_owned(),
    };
    notes.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Says which command was meant by an unknown one: what a word of git or of everyday speech is here, or else the most alike.
pub fn with_command_meant(mut error: Error) -> Error {
    let suggested = ContextKind::SuggestedSubcommand;
    let word = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) => word.clone(),
        _ => return error,
    };
    let known = KNOWN_ELSEWHERE
        .iter()
        .find(|(words, _)| words.contains(&word.as_str()));
    if let Some((_, here)) = known {
        error.remove(suggested);
        let here = StyledStr::from(*here);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![here]));
    } else if let Some(ContextValue::Strings(names)) = error.get(suggested) {
        // Clap ends with the most alike.
        let names = names.iter().rev().cloned().collect();
        error.insert(suggested, ContextValue::Strings(names));
    }
    error
}

/// Says how a word is given that has no place where it stands.
pub fn with_word_meant(mut error: Error) -> Error {
    let usage = error.get(ContextKind::Usage).map(ToString::to_string);
    let usage = usage.unwrap_or_default();
    let command = usage.split_whitespace().nth(2).unwrap_or_default();
    let word = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) => quoted(word),
        _ => return error,
    };
    let meant = match (command, word.as_str()) {
        ("log", "--search") => {
            "`ckpt-hook log --grep TEXT` finds messages, and `ckpt-hook log -S TEXT` what they added or removed".to_owned()
        }
        (_, word) if word.starts_with('-') => return error,
        ("revert", path) => format!("`ckpt-hook revert ID --only {path}` takes back only what was done to that"),
        ("forget", path) => format!("`ckpt-hook forget --path {path}` removes a file from the store"),
        ("cat", path) => format!("`ckpt-hook cat ID:{path}` has a colon in between"),
        _ => return error,
    };
    error.remove(ContextKind::SuggestedArg);
    let meant = ContextValue::StyledStrs(vec![StyledStr::from(meant)]);
    error.insert(ContextKind::Suggested, meant);
    error
}

/// Commands of git, and what else people try first, with the commands that do it here.
const KNOWN_ELSEWHERE: [(&[&str], &str); 15] = [
    (
        &["reset", "back"],
        "`ckpt-hook revert last` goes back to just before the newest message",
    ),
    (
        &["checkout", "switch"],
        "`ckpt-hook restore ID [PATH]` puts files back to any recorded state, and `ckpt-hook branch ID DIRECTORY` lays it out beside",
    ),
    (
        &["stash", "commit", "save", "checkpoint", "add", "backup"],
        "`ckpt-hook snapshot` captures the workspace now; `ckpt-hook restore ID` goes back to it",
    ),
    (
        &["clean", "prune", "cleanup"],
        "`ckpt-hook revert last` removes what the agent made for the newest message, and `ckpt-hook gc` what the store no longer needs",
    ),
    (
        &["rm", "delete", "remove", "purge"],
        "`ckpt-hook forget` removes a path, a session or a message from the store, and `ckpt-hook uninstall --purge` all of it",
    ),
    (
        &["reflog", "operations"],
        "`ckpt-hook log --operations` lists reverts, redos and restores",
    ),
    (
        &["list", "messages", "prompts"],
        "`ckpt-hook log` lists the recorded messages",
    ),
    (
        &["grep", "find"],
        "`ckpt-hook log --grep TEXT` finds messages, and `ckpt-hook recover NAME` files that are gone",
    ),
    (
        &["tag", "bookmark", "name"],
        "`ckpt-hook label ID NAME` puts a bookmark on a message or a snapshot",
    ),
    (
        &["annotate", "praise"],
        "`ckpt-hook blame PATH` shows which prompt wrote each line",
    ),
    (
        &["forward", "unundo"],
        "`ckpt-hook redo` goes one message forward again",
    ),
    (
        &["worktree", "clone"],
        "`ckpt-hook branch ID DIRECTORY --worktree` lays a recorded state out in a work tree of its own",
    ),
    (
        &["pull", "sync"],
        "`ckpt-hook fetch REMOTE` gets the histories of other machines, and `ckpt-hook push REMOTE` sends this one",
    ),
    (
        &["init", "setup", "enable", "start"],
        "`ckpt-hook install --all` puts the hook into the settings of your agents",
    ),
    (
        &["disable", "stop"],
        "`ckpt-hook uninstall --all` takes the hook out of the settings of your agents",
    ),
];

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

    /// What stands in columns needs no more than a terminal has.
    #[test]
    fn columns_of_help_fit_a_terminal() {
        let command = for_people(Arguments::command(), COLUMNS);
        let mut texts = vec![
            groups(&command, COLUMNS),
            in_columns(super::super::EXAMPLES, COLUMNS),
            EVERYWHERE.to_owned(),
        ];
        let mut below: Vec<Command> = command.get_subcommands().cloned().collect();
        while let Some(command) = below.pop() {
            below.extend(command.get_subcommands().cloned());
            texts.extend(command.get_after_help().map(ToString::to_string));
        }
        let lines = texts.iter().flat_map(|text| text.lines());
        let columns: Vec<&str> = lines.filter(|line| line.starts_with("  ")).collect();
        assert!(columns.len() > 100, "commands and examples");
        // A command stands in one line, however long it is.
        let is_command = |line: &str| line.contains("ckpt-hook ") && !line.trim().contains("  ");
        let mut columns = columns.into_iter().filter(|line| !is_command(line));
        let wide = columns.find(|line| width(line) > COLUMNS);
        assert_eq!(wide, None);
    }

    /// On a narrow terminal each line is broken once.
    #[test]
    fn narrow_help_is_broken_once() {
        let command = for_people(Arguments::command(), 60);
        for line in groups(&command, 60).lines() {
            assert!(width(line) <= 60, "{line}");
            let is_name = line.starts_with("  ") && !line.starts_with("   ");
            assert!(
                is_name || line.starts_with(&" ".repeat(NAMES)) || !line.starts_with(' '),
                "{line}"
            );
        }
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
