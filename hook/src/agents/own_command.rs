//! Our own commands inside agents: what the user types there is no message to the agent.
//!
//! Else `/ckpt-revert` would be the next message, which makes the revert permanent that it has just asked for.

/// One of our commands.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// Its name inside an agent.
    pub name: &'static str,
    /// What it calls.
    pub line: &'static str,
    /// What may be written behind it; nothing where it takes nothing.
    pub arguments: &'static str,
    /// What it does.
    pub about: &'static str,
}

/// Every command.
pub const COMMANDS: [Command; 3] = [
    Command {
        name: "ckpt-revert",
        line: "revert --message last",
        arguments: "[--dry-run]",
        about: "Put the workspace back to how it was just before your last message",
    },
    Command {
        name: "ckpt-redo",
        line: "redo",
        arguments: "[--all] [--dry-run]",
        about: "Go one message forward again after a revert",
    },
    Command {
        name: "ckpt-status",
        line: "status",
        arguments: "",
        about: "Show what is reverted, and whether all is well",
    },
];

/// What the model is sent begins with it.
pub const SENTENCE: &str = "This is a command of ckpt-hook, not a task.";

/// Returns whether a prompt is one of our commands: as it was typed, or as the agent sends it to the model.
pub fn is_own_command(prompt: &str) -> bool {
    let prompt = prompt.trim_start_matches(['"', '\'', ' ', '\n', '\r', '\t']);
    if prompt.starts_with(SENTENCE) {
        return true;
    }
    let Some(typed) = prompt.strip_prefix(['/', '$']) else {
        return false;
    };
    let word = typed
        .split(|character: char| character.is_whitespace() || character == '"')
        .next()
        .unwrap_or_default();
    // A plugin's commands have its name before theirs.
    let name = word.rsplit(':').next().unwrap_or_default();
    COMMANDS.iter().any(|command| command.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_commands_are_known_as_typed_and_as_sent() {
        for prompt in [
            "/ckpt-revert",
            "/ckpt-revert --dry-run",
            "$ckpt-redo",
            "/ckpt:ckpt-status",
            "\"/ckpt-status\"",
            "\nThis is a command of ckpt-hook, not a task. It printed:",
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
        ] {
            assert!(!is_own_command(prompt), "`{prompt}` is the user's");
        }
    }
}
