//! A label: a name that a person gives to a message or a snapshot.
//!
//! A label can be used wherever an id can, so it must not look like one: its meaning must not depend on which ids
//! exist.

use std::fmt;

/// The most characters of a label.
pub const LONGEST: usize = 100;

/// Text that is valid as a label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(String);

/// Why text is not valid as a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelProblem {
    /// It is empty.
    Empty,
    /// It begins or ends with white space.
    Space,
    /// It has more than [`LONGEST`] characters.
    Long,
    /// It has a control character.
    Control,
    /// It begins with `-`, as an option does.
    Option,
    /// It is a word with a meaning: `last`, `last~2`, `current`.
    Word,
    /// It looks like an id, or a part of one: hexadecimal digits, with or without dashes, or a number.
    Id,
}

impl fmt::Display for LabelProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Empty => "a label must have at least one character",
            Self::Space => "a label must not begin or end with white space",
            Self::Long => "a label must have at most 100 characters",
            Self::Control => "a label must not have control characters",
            Self::Option => "a label must not begin with `-`",
            Self::Word => "`last` and `current` already have a meaning",
            Self::Id => "it looks like an id",
        })
    }
}

impl std::error::Error for LabelProblem {}

impl Label {
    /// Checks text.
    pub fn new(text: &str) -> Result<Self, LabelProblem> {
        let problem = if text.is_empty() {
            Some(LabelProblem::Empty)
        } else if text.trim() != text {
            Some(LabelProblem::Space)
        } else if text.chars().count() > LONGEST {
            Some(LabelProblem::Long)
        } else if text.chars().any(char::is_control) {
            Some(LabelProblem::Control)
        } else if text.starts_with('-') {
            Some(LabelProblem::Option)
        } else if is_word(text) {
            Some(LabelProblem::Word)
        } else if looks_like_id(text) {
            Some(LabelProblem::Id)
        } else {
            None
        };
        problem.map_or_else(|| Ok(Self(text.to_owned())), Err)
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_word(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text == "current" || text == "last" || text.starts_with("last~")
}

/// Returns whether text looks like an id. Agents number their messages, our ids and git's are hexadecimal, and many
/// agents' ids are UUIDs. A prefix of one of our ids has at least four digits.
fn looks_like_id(text: &str) -> bool {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let is_of_digits = text
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_number || (is_of_digits && text.bytes().filter(u8::is_ascii_hexdigit).count() >= 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_sentences_are_labels() {
        for text in [
            "before lunch",
            "v1.2",
            "it works!",
            "日本語",
            "12:30, all green",
            "lasting",
            "bad",
            "x",
        ] {
            let label = Label::new(text);
            assert_eq!(label.as_ref().map(Label::as_str), Ok(text), "{text:?}");
        }
    }

    #[test]
    fn what_looks_like_an_id_is_no_label() {
        for text in [
            "7c1e",
            "DEADBEEF",
            "0",
            "12",
            "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            "0192f0a4-5b1c-7000-8000-000000000000",
        ] {
            assert_eq!(Label::new(text), Err(LabelProblem::Id), "{text:?}");
        }
        for text in ["last", "LAST", "last~3", "last~", "current"] {
            assert_eq!(Label::new(text), Err(LabelProblem::Word), "{text:?}");
        }
    }

    /// What cannot be typed or seen is no label.
    #[test]
    fn unreadable_characters_make_no_label() {
        for (text, problem) in [
            ("", LabelProblem::Empty),
            (" x", LabelProblem::Space),
            ("x\n", LabelProblem::Space),
            ("a\u{1b}[2J", LabelProblem::Control),
            ("a\nb", LabelProblem::Control),
            ("--list", LabelProblem::Option),
        ] {
            assert_eq!(Label::new(text), Err(problem), "{text:?}");
        }
        assert_eq!(
            Label::new(&"é".repeat(LONGEST + 1)),
            Err(LabelProblem::Long),
            "by characters"
        );
        assert!(Label::new(&"é".repeat(LONGEST)).is_ok(), "just as long");
    }
}
