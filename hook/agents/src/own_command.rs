//! Our own commands inside agents: they are not messages to the agent.
//!
//! Otherwise `/ckpt-revert` would itself be the next message, and make permanent the revert that it asks for.

use std::ffi::OsStr;
use std::path::Path;

/// One of our commands.
#[derive(Clone, Copy, Debug)]
pub struct OwnCommand {
    /// Its name inside an agent.
    pub name: &'static str,
    /// The command line that it runs.
    pub line: &'static str,
    /// The arguments that it takes, if any.
    pub arguments: &'static str,
    /// Its description.
    pub about: &'static str,
}

/// Every command.
pub const COMMANDS: [OwnCommand; 3] = [
    OwnCommand {
        name: "ckpt-revert",
        line: "inside revert",
        arguments: "[MESSAGE] [--dry-run]",
        about: "Put the workspace back to how it was just before your last message, or MESSAGE",
    },
    OwnCommand {
        name: "ckpt-redo",
        line: "inside redo",
        arguments: "[--all] [--dry-run]",
        about: "Go one message forward again after a revert",
    },
    OwnCommand {
        name: "ckpt-status",
        line: "inside status",
        arguments: "",
        about: "Show what is reverted, and whether all is well",
    },
];

/// The beginning of the text that the model is sent.
pub const SENTENCE: &str = "This is a command of ckpt-hook, not a task.";

/// What agents put before a command's name, or around a prompt.
const BEFORE: [&str; 8] = ["\"", "'", " ", "\n", "\r", "\t", "[", "<command-name>"];

/// Returns whether a prompt is one of our commands: as typed, or as the agent sends it to the model, including text
/// that the agent put above it.
pub fn is_own_command(prompt: &str) -> bool {
    if prompt
        .lines()
        .any(|line| line.trim_start().starts_with(SENTENCE))
    {
        return true;
    }
    let mut typed = prompt;
    while let Some(rest) = BEFORE.iter().find_map(|before| typed.strip_prefix(before)) {
        typed = rest;
    }
    let Some(typed) = typed.strip_prefix(['/', '$']) else {
        return false;
    };
    let ends = |character: char| character.is_whitespace() || "\"'](<".contains(character);
    let word = typed.split(ends).next().unwrap_or_default();
    // A plugin's commands are prefixed with its name.
    let name = word.rsplit(':').next().unwrap_or_default();
    COMMANDS.iter().any(|command| command.name == name)
}

/// Returns whether a shell command line runs one of our commands, as the skill says to, and nothing else.
pub fn is_own_line(line: &str) -> bool {
    let runs_more = line.contains([';', '|', '&', '<', '>', '\n', '`']) || line.contains("$(");
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default().trim_matches(['"', '\'']);
    let is_ours = Path::new(program).file_name() == Some(OsStr::new("ckpt-hook"));
    is_ours && words.next() == Some("inside") && !runs_more
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of shell is ours where it runs nothing else.
    #[test]
    fn shell_line_is_ours_if_nothing_else_runs() {
        for line in [
            "ckpt-hook inside status",
            "'/home/u/bin/ckpt-hook' inside revert --force ${CODEX_THREAD_ID:+--session \"$CODEX_THREAD_ID\"}",
        ] {
            assert!(is_own_line(line), "`{line}` is ours");
        }
        for line in [
            "",
            "ckpt-hook log",
            "echo ckpt-hook inside status",
            "ckpt-hook inside status; make",
            "ckpt-hook inside status > report.txt",
            "ckpt-hook inside revert $(make)",
        ] {
            assert!(!is_own_line(line), "`{line}` may do anything");
        }
    }

    /// Our commands are known as typed and as sent.
    #[test]
    fn our_commands_are_known_typed_and_sent() {
        for prompt in [
            "/ckpt-revert",
            "/ckpt-revert --dry-run",
            "$ckpt-redo",
            "/ckpt:ckpt-status",
            // Copilot CLI 1.0.102 runs no command of a plugin without a terminal, and sends the line as it was typed.
            "/ckpt-hook-commands:ckpt-revert last~1",
            "\"/ckpt-status\"",
            "\nThis is a command of ckpt-hook, not a task. It printed:",
            "---\ndescription: x\n---\n\nThis is a command of ckpt-hook, not a task. It printed:",
            "[$ckpt-redo](/home/u/.codex/skills/ckpt-redo/SKILL.md) --all",
            "<command-name>/ckpt-hook-commands:ckpt-redo</command-name>",
        ] {
            assert!(is_own_command(prompt), "`{prompt}` is ours");
        }
        for prompt in [
            "",
            "ckpt-revert",
            "/ckpt-reverted",
            "what does /ckpt-revert do?",
            "/revert",
            "this is a command",
            "why did it print `This is a command of ckpt-hook, not a task.`?",
            "[/ckpt-reverted]",
        ] {
            assert!(!is_own_command(prompt), "`{prompt}` is the user's");
        }
    }
}
