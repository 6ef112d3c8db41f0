//! Sentences in the words of the browser: where one names a command or an option, the key that does the same. Pure.

use ckpt_output::paint::COMMAND;

/// A command as it stands alone in a sentence, and the key in its place. With an option it is another command.
const COMMANDS: [(&str, &str); 7] = [
    ("ckpt-hook undo", "u"),
    ("ckpt-hook redo", "f"),
    ("ckpt-hook unrevert", "F"),
    ("ckpt-hook revert", "r"),
    ("ckpt-hook restore", "R"),
    ("ckpt-hook log", "the timeline"),
    ("ckpt-hook log --operations", "o"),
];

/// A command for a session, which the key takes from the row under the cursor.
const OF_SESSION: &str = "ckpt-hook unrevert --session ";

/// What else stands in a sentence for the command line, and the key in its place. The first that fits counts.
const KEYS: [(&str, &str); 11] = [
    ("`restore`", "R"),
    ("`--unclear take`", "t in the plan"),
    ("--unclear take", "t in the plan"),
    ("`--on-conflict overwrite`", "o in the plan"),
    ("--on-conflict overwrite", "o in the plan"),
    ("`--force`", "! in the plan"),
    ("--force", "! in the plan"),
    ("`--git`", "g in the plan"),
    (" (-v lists all)", ""),
    (
        "`revert --only` and `restore ID PATH` take other files",
        "Space in the plan leaves them out",
    ),
    ("`revert --dry-run` looks now", "r looks now"),
];

/// Returns a sentence with keys in the place of commands and options. A command with other options stays whole, to copy.
pub fn words(sentence: &str) -> String {
    let mut words = String::new();
    let mut rest = sentence;
    while let Some((before, command, after)) = next_command(rest) {
        words.push_str(&with_keys(before));
        let name = console::strip_ansi_codes(command);
        let name = name.trim_matches(['`', COMMAND[0], COMMAND[1]]);
        match COMMANDS.iter().find(|(known, _)| *known == name) {
            Some((_, key)) => words.push_str(key),
            None => match name.strip_prefix(OF_SESSION) {
                Some(session) => words.push_str(&format!("F on a hidden message of {session}")),
                None => words.push_str(command),
            },
        }
        rest = after;
    }
    words + &with_keys(rest)
}

/// Splits a text at its first command, which is marked as one or in backticks.
fn next_command(text: &str) -> Option<(&str, &str, &str)> {
    let marked = text.find(COMMAND[0]).map(|begin| (begin, COMMAND[1]));
    let quoted = text.find("`ckpt-hook ").map(|begin| (begin, '`'));
    let (begin, end) = marked.into_iter().chain(quoted).min()?;
    let length = text[begin + 1..].find(end)? + 2;
    Some((
        &text[..begin],
        &text[begin..begin + length],
        &text[begin + length..],
    ))
}

fn with_keys(text: &str) -> String {
    let replaced = |text: String, (option, key): &(&str, &str)| text.replace(option, key);
    KEYS.iter().fold(text.to_owned(), replaced)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Advice names keys.
    #[test]
    fn advice_names_keys() {
        assert_eq!(
            words(
                "1 file kept; --unclear take takes them as well.\nTo undo this: \u{2}\u{1b}[1mckpt-hook undo\u{1b}[0m\u{3}, or one message at a time: `ckpt-hook redo`"
            ),
            "1 file kept; t in the plan takes them as well.\nTo undo this: u, or one message at a time: f"
        );
    }

    /// Of a command with options, no part is replaced.
    #[test]
    fn command_with_options_stays_whole() {
        for command in [
            "\u{2}ckpt-hook revert 7ffe --only a.txt --on-conflict overwrite\u{3} puts it there",
            "`ckpt-hook undo --force` goes ahead",
        ] {
            assert_eq!(words(command), command);
        }
        assert_eq!(
            words("\u{2}ckpt-hook unrevert --session 7c1e\u{3}"),
            "F on a hidden message of 7c1e"
        );
    }
}
