//! Sentences in the words of the browser: where one names a command or an option, the key that does the same. Pure.

/// What stands in a sentence for the command line, and the key in its place. The first that fits counts.
const KEYS: [(&str, &str); 22] = [
    ("`ckpt-hook undo`", "u"),
    ("ckpt-hook undo", "u"),
    ("`ckpt-hook redo`", "f"),
    ("ckpt-hook redo", "f"),
    ("`ckpt-hook unrevert`", "F"),
    ("ckpt-hook unrevert --session ", "F on a hidden message of "),
    ("ckpt-hook unrevert", "F"),
    ("`ckpt-hook revert`", "r"),
    ("`ckpt-hook restore`", "R"),
    ("`restore`", "R"),
    ("`ckpt-hook log`", "the timeline"),
    ("`ckpt-hook log --operations`", "o"),
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

/// Returns a sentence with keys in the place of commands and options.
pub fn words(sentence: &str) -> String {
    let mut words = sentence.to_owned();
    for (command, key) in KEYS {
        if words.contains(command) {
            words = words.replace(command, key);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Advice names keys.
    #[test]
    fn advice_names_keys() {
        assert_eq!(
            words(
                "1 file kept; --unclear take takes them as well.\nTo undo this: ckpt-hook undo, or one message at a time: ckpt-hook redo"
            ),
            "1 file kept; t in the plan takes them as well.\nTo undo this: u, or one message at a time: f"
        );
    }
}
