//! Names made safe and counts made words.
//!
//! A file name, a branch or a prompt may hold anything: what would move a cursor, set a title, write to the clipboard or
//! turn text around is shown escaped, on a terminal and on a pipe (CVE-2024-52005 and its kin).

use std::borrow::Cow;
use std::fmt::Write;

use ckpt_schema::report::PathText;
use console::{measure_text_width, truncate_str};

/// Returns text in which nothing acts on a terminal.
pub fn safe(text: &str) -> Cow<'_, str> {
    if !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().fold(
        String::with_capacity(text.len() + 8),
        |mut safe, character| {
            if acts(character) {
                safe.extend(character.escape_default())
            } else {
                safe.push(character)
            }
            safe
        },
    ))
}

/// C0, DEL and C1; the controls of writing direction; separators of lines and paragraphs; invisible characters.
fn acts(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Returns a JSON document in which nothing acts on a terminal, and which says the same: outside of strings a document has no such
/// character but line feeds, and inside of them an escape stands for it.
pub fn safe_json(json: &str) -> Cow<'_, str> {
    let acts_in_json = |character: char| character != '\n' && acts(character);
    if !json.chars().any(acts_in_json) {
        return Cow::Borrowed(json);
    }
    let mut safe = String::with_capacity(json.len() + 32);
    for character in json.chars() {
        if acts_in_json(character) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                // Writing to a string cannot fail.
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(character);
        }
    }
    Cow::Owned(safe)
}

/// Returns text made of bytes, safe, with what is not UTF-8 as `\xff`.
pub fn safe_bytes(bytes: &[u8]) -> String {
    bytes
        .utf8_chunks()
        .fold(String::with_capacity(bytes.len()), |mut text, chunk| {
            text.push_str(&safe(chunk.valid()));
            for byte in chunk.invalid() {
                // Writing to a string cannot fail.
                let _ = write!(text, "\\x{byte:02x}");
            }
            text
        })
}

/// Returns a path for people.
pub fn path(path: &PathText) -> String {
    safe_bytes(&bytes(path))
}

/// Returns the bytes of a path.
pub fn bytes(path: &PathText) -> Vec<u8> {
    path.path_hex
        .as_deref()
        .and_then(bytes_of_hex)
        .unwrap_or_else(|| path.path.clone().into_bytes())
}

fn bytes_of_hex(hex: &str) -> Option<Vec<u8>> {
    let digits = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    hex.as_bytes().chunks(2).map(digits).collect()
}

/// Returns the first line of a prompt that says something, safe.
pub fn title(prompt: Option<&str>) -> String {
    let line =
        prompt.and_then(|prompt| prompt.lines().map(str::trim).find(|line| !line.is_empty()));
    safe(line.unwrap_or("")).into_owned()
}

/// Returns the beginning of an id, long enough to be told from others; a prefix is accepted wherever an id is.
pub fn short(id: &str) -> String {
    safe(id.get(..8).unwrap_or(id)).into_owned()
}

/// Returns text that fits into so many columns, with an ellipsis where something was cut.
pub fn fit(text: &str, columns: usize) -> Cow<'_, str> {
    if measure_text_width(text) <= columns {
        Cow::Borrowed(text)
    } else {
        truncate_str(text, columns, "…")
    }
}

/// Returns "1 file" or "2 files".
pub fn count(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_acts_on_a_terminal() {
        let cases = [
            ("plain é 日本 🦀.rs", "plain é 日本 🦀.rs"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\u{9b}31m\u{7f}", "\\u{9b}31m\\u{7f}"),
            ("txt.\u{202e}exe", "txt.\\u{202e}exe"),
        ];
        for (name, shown) in cases {
            assert_eq!(safe(name), shown, "of {name:?}");
        }
    }

    #[test]
    fn a_document_says_the_same_and_acts_on_no_terminal() {
        let all: String = (0..=char::MAX as u32).filter_map(char::from_u32).collect();
        let value =
            serde_json::json!({ "\u{202e}name": all, "list": ["\u{9b}31m", "plain é 日本 🦀"] });
        for json in [
            serde_json::to_string(&value).expect("text"),
            serde_json::to_string_pretty(&value).expect("text"),
        ] {
            let safe = safe_json(&json);
            assert!(
                !safe
                    .chars()
                    .any(|character| character != '\n' && acts(character)),
                "nothing of it acts"
            );
            let read: serde_json::Value = serde_json::from_str(&safe).expect("still a document");
            assert_eq!(read, value, "and the same one");
        }
        assert!(
            safe_json("{\"a\": \"é 日本\"}").contains("日本"),
            "the rest is as it was"
        );
    }

    #[test]
    fn every_byte_of_a_name_that_is_not_text_is_shown() {
        let name = PathText {
            path: "a\u{fffd}b".to_owned(),
            path_hex: Some("61ff62".to_owned()),
        };
        assert_eq!(
            path(&name),
            "a\\xffb",
            "the hex is the truth, the text beside it is lossy"
        );
    }

    #[test]
    fn what_does_not_fit_is_cut_by_columns_not_by_bytes() {
        assert_eq!(
            fit("日本語", 6),
            "日本語",
            "three characters of two columns"
        );
        assert_eq!(fit("日本語", 5), "日本…", "and one of them has to go");
    }
}
