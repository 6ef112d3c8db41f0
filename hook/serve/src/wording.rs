//! Sentences in the words of who asks: on the command line an error names an option, and here the parameter that means
//! the same.

use std::borrow::Cow;

use serde_json::Value;

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// A front end, by the methods of `serve`.
    FrontEnd,
    /// A person who looks at `page`.
    Page,
    /// A model, by the tools of `mcp`.
    Model,
}

/// What stands in a sentence for the command line, and in its place: for a front end, for the page, for a model. The
/// first that fits counts.
const PHRASES: [[&str; 4]; 7] = [
    [
        "go there, or use --workspace",
        "give it as `workspace`",
        "ask there",
        "this server is for another one",
    ],
    [
        "change to another directory, or use --workspace",
        "give a `workspace`",
        "start `ckpt-hook page` in another directory",
        "start the server in another directory",
    ],
    [
        "give `--workspace ",
        "give `workspace: ",
        "start `ckpt-hook page` in `",
        "start the server in `",
    ],
    [
        "`--workspace DIR` asks about another workspace",
        "`workspace` asks about another one",
        "this page shows one workspace",
        "this server is for one workspace",
    ],
    [
        "a dry run with --json prints one, as `plan`",
        "`plan` returns one",
        "make the plan again",
        "`plan` returns one",
    ],
    [
        "`revert --only` and `restore ID PATH` take other files",
        "`only` takes other files",
        "`ckpt-hook revert --only` and `ckpt-hook restore ID PATH` take other files",
        "`only` takes other files",
    ],
    [
        "a blob's id has 40 hex digits; `ckpt-hook diff --json` gives them",
        "a blob's id has 40 hex digits; `show` gives them",
        "a blob's id has 40 hex digits",
        "a blob's id has 40 hex digits; `show` gives them",
    ],
];

/// Commands that only list or show something, and the method and the tool that answer the same.
const COMMANDS: [(&str, &str, Option<&str>); 12] = [
    ("ckpt-hook revert", "revert", Some("plan")),
    ("ckpt-hook log", "messages", Some("list")),
    ("ckpt-hook log --state live", "messages", Some("list")),
    ("ckpt-hook log --session", "messages", Some("list")),
    ("ckpt-hook log --session ID", "messages", Some("list")),
    ("ckpt-hook log --operations", "operations", None),
    ("ckpt-hook sessions", "sessions", None),
    ("ckpt-hook show", "show", Some("show")),
    ("ckpt-hook show ID", "show", Some("show")),
    ("ckpt-hook show MESSAGE", "show", Some("show")),
    ("ckpt-hook status", "status", Some("status")),
    ("ckpt-hook status --json", "status", Some("status")),
];

/// The fields of documents that hold sentences of ours.
const SENTENCES: [&str; 10] = [
    "why",
    "does",
    "first",
    "reason",
    "notes",
    "hint",
    "causes",
    "detail",
    "interrupted",
    "unprotected",
];

/// The fields that hold a sentence in an object that has the other one as well.
const SENTENCES_BESIDE: [(&str, &str); 4] = [
    ("text", "about"),
    ("message", "causes"),
    ("message", "data"),
    ("message", "level"),
];

impl Asker {
    /// Whether it may only ask about the server's own workspace.
    pub fn is_confined(self) -> bool {
        self != Self::FrontEnd
    }

    /// Puts the sentences of a document in its words.
    pub fn reword(self, document: &mut Value) {
        match document {
            Value::Array(items) => items.iter_mut().for_each(|item| self.reword(item)),
            Value::Object(fields) => {
                let beside = SENTENCES_BESIDE
                    .iter()
                    .filter(|(_, other)| fields.contains_key(*other))
                    .map(|(name, _)| *name);
                let names: Vec<&str> = SENTENCES.iter().copied().chain(beside).collect();
                for (name, value) in fields {
                    match names.contains(&name.as_str()) {
                        true => self.reword_field(value),
                        false => self.reword(value),
                    }
                }
            }
            _ => {}
        }
    }

    fn reword_field(self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.words(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.reword_field(item)),
            other => self.reword(other),
        }
    }

    /// Returns a sentence in its words.
    pub fn words(self, sentence: &str) -> String {
        let mut text = Cow::Borrowed(sentence);
        for [from, front_end, page, model] in PHRASES {
            let to = match self {
                Self::FrontEnd => front_end,
                Self::Page => page,
                Self::Model => model,
            };
            if text.contains(from) {
                text = Cow::Owned(text.replace(from, to));
            }
        }
        let mut words = String::with_capacity(text.len());
        for (number, piece) in text.split('`').enumerate() {
            match number % 2 {
                0 => words.push_str(&self.outside(piece)),
                _ => words.push_str(&self.quoted(piece)),
            }
        }
        words
    }

    /// The text between two quoted pieces: an option may stand there by itself.
    fn outside(self, text: &str) -> String {
        let word = |word: &str| {
            let name = word.trim_end_matches(|last: char| !last.is_ascii_alphanumeric());
            let option = self.option(name);
            option.map_or_else(|| word.to_owned(), |option| option + &word[name.len()..])
        };
        let words: Vec<String> = text.split(' ').map(word).collect();
        words.join(" ")
    }

    /// Returns a piece in backticks, with the backticks: an option, maybe with its value, or a command of ours.
    fn quoted(self, text: &str) -> String {
        if let Some(words) = self.option(text) {
            return words;
        }
        if let Some(id) = text.strip_prefix("ckpt-hook restore ")
            && !id.contains(' ')
        {
            match self {
                Self::FrontEnd => return format!("`restore` with `id: {id}`"),
                Self::Page => {}
                Self::Model => return format!("`plan` with `operation: restore` and `id: {id}`"),
            }
        }
        let found = COMMANDS.iter().find(|(command, ..)| *command == text);
        let named = found.and_then(|(_, method, tool)| match self {
            Self::FrontEnd => Some(*method),
            Self::Page => None,
            Self::Model => *tool,
        });
        format!("`{}`", named.unwrap_or(text))
    }

    /// Returns the parameter for an option, in backticks; nothing if it is none, or belongs to the server's own
    /// command line.
    fn option(self, text: &str) -> Option<String> {
        let rest = text.strip_prefix("--")?;
        let is_name = |next: char| next.is_ascii_lowercase() || next == '-';
        let (name, value) = rest.split_once(' ').unwrap_or((rest, ""));
        if name.is_empty() || !name.chars().all(is_name) || name == "store" {
            return None;
        }
        if self == Self::Page {
            return Some(format!("`{text}` on the command line"));
        }
        let name = name.replace('-', "_");
        Some(match value {
            "" => format!("`{name}`"),
            value => format!("`{name}: {value}`"),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ALL: [Asker; 3] = [Asker::FrontEnd, Asker::Page, Asker::Model];

    /// An option is the parameter that means the same.
    #[test]
    fn option_is_the_parameter_of_the_same_meaning() {
        for (sentence, front_end, page) in [
            (
                "wait until it is done, or use --force",
                "wait until it is done, or use `force`",
                "wait until it is done, or use `--force` on the command line",
            ),
            (
                "`--unclear take` would take it",
                "`unclear: take` would take it",
                "`--unclear take` on the command line would take it",
            ),
            (
                "`ckpt-hook doctor` checks the store; --only reverts other files",
                "`ckpt-hook doctor` checks the store; `only` reverts other files",
                "`ckpt-hook doctor` checks the store; `--only` on the command line reverts other files",
            ),
            (
                "give `--on-conflict overwrite`, or `--force`.",
                "give `on_conflict: overwrite`, or `force`.",
                "give `--on-conflict overwrite` on the command line, or `--force` on the command line.",
            ),
        ] {
            assert_eq!(Asker::FrontEnd.words(sentence), front_end);
            assert_eq!(Asker::Model.words(sentence), front_end);
            assert_eq!(Asker::Page.words(sentence), page);
        }
    }

    /// A command that lists is the method or the tool that does.
    #[test]
    fn listing_command_is_the_listing_method() {
        let sentence = "`ckpt-hook log` lists the messages, `ckpt-hook sessions` the sessions";
        assert_eq!(
            Asker::FrontEnd.words(sentence),
            "`messages` lists the messages, `sessions` the sessions"
        );
        assert_eq!(
            Asker::Model.words(sentence),
            "`list` lists the messages, `ckpt-hook sessions` the sessions"
        );
        assert_eq!(Asker::Page.words(sentence), sentence);
        let sentence = "`ckpt-hook restore 12ab34cd` puts files back to just before it";
        assert_eq!(
            Asker::Model.words(sentence),
            "`plan` with `operation: restore` and `id: 12ab34cd` puts files back to just before it"
        );
    }

    /// Where the workspace is fixed nobody is told to name another.
    #[test]
    fn fixed_workspace_suggests_no_other() {
        for sentence in [
            "it was recorded in `/a`: go there, or use --workspace",
            "change to another directory, or use --workspace",
            "`/a` was recorded: give `--workspace /a`",
            "`--workspace DIR` asks about another workspace",
        ] {
            for asker in [Asker::Page, Asker::Model] {
                let words = asker.words(sentence);
                assert!(!words.contains("`workspace"), "{asker:?}: {words}");
                assert!(!words.contains("--workspace"), "{asker:?}: {words}");
            }
            let words = Asker::FrontEnd.words(sentence);
            assert!(words.contains("`workspace"), "{words}");
        }
    }

    #[test]
    fn only_sentences_are_put_in_other_words() {
        let mut document = json!({
            "prompt": "use `--force`", "message": "--force", "kind": "revert",
            "contents": {"encoding": "utf-8", "text": "--force"},
            "files": [{"path": "--force", "reason": "`--force` takes it"}],
            "remarks": [{"code": "head", "text": "without `--git`", "about": ["--git"]}],
            "notes": ["without `--git`"],
        });
        Asker::FrontEnd.reword(&mut document);
        let expected = json!({
            "prompt": "use `--force`", "message": "--force", "kind": "revert",
            "contents": {"encoding": "utf-8", "text": "--force"},
            "files": [{"path": "--force", "reason": "`force` takes it"}],
            "remarks": [{"code": "head", "text": "without `git`", "about": ["--git"]}],
            "notes": ["without `git`"],
        });
        assert_eq!(document, expected);
    }

    /// Returns the lines of the library that may be a part of a sentence with an option in it, without those of its
    /// tests.
    fn lines_with_options() -> Vec<String> {
        let mut folders =
            vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../store/src")];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir().expect("a readable folder") {
                let path = entry.expect("a readable folder").path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(&path).expect("code is text");
                let product = text.split("#[cfg(test)]").next().unwrap_or_default();
                let lines = product.lines().map(str::trim);
                let lines = lines.filter(|line| !line.starts_with("//"));
                found.extend(lines.filter(|line| has_option(line)).map(str::to_owned));
            }
        }
        found
    }

    /// Returns whether a line has an option that is not a whole text by itself, as those are that programs get or are
    /// compared with.
    fn has_option(line: &str) -> bool {
        let is_lower = |next: char| next.is_ascii_lowercase();
        line.match_indices("--").any(|(at, _)| {
            let rest = &line[at + 2..];
            let end = rest.trim_start_matches(|next| is_lower(next) || next == '-');
            let is_whole = line[..at].ends_with('"') && end.starts_with('"');
            // In the middle of a word, as in a name of git's.
            let is_name = line[..at].ends_with(is_lower);
            rest.starts_with(is_lower) && !is_whole && !is_name
        })
    }

    /// No sentence of the library names an option that its askers do not have.
    #[test]
    fn library_sentences_name_no_foreign_option() {
        let lines = lines_with_options();
        assert!(lines.len() > 20, "there are such sentences: {lines:#?}");
        for line in lines {
            for asker in ALL {
                // As if each text stood by itself.
                let words = asker.words(&line.replace('"', " \" "));
                let left = words
                    .split('`')
                    .enumerate()
                    // A whole command is one for a terminal, and the page says so of an option.
                    .filter(|(number, piece)| {
                        number % 2 == 0
                            || !(piece.starts_with("ckpt-hook ") || piece.starts_with("git "))
                    })
                    .map(|(_, piece)| piece.replace("--store", ""))
                    .any(|piece| has_option(&piece));
                let is_said = asker == Asker::Page && words.contains("on the command line");
                assert!(!left || is_said, "{asker:?}: {words}\nof: {line}");
            }
        }
    }
}
