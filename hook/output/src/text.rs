//! Makes names safe for a terminal, fits text into columns, and writes counts.
//!
//! A file name, a branch or a prompt may hold anything: whatever would move a cursor, set a title, write to the
//! clipboard or change the text's direction is escaped, on a terminal and in a pipe (CVE-2024-52005 and similar).
//! Scripts and emoji that consist of joined characters are shown as they are.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::RwLock;

use ckpt_process::locks;
use ckpt_schema::report::PathText;
use ckpt_store::Prefixes;
use console::{AnsiCodeIterator, measure_text_width};

use super::data;
use super::paint::COMMAND;

/// Returns text without characters that act on a terminal.
pub fn safe(text: &str) -> Cow<'_, str> {
    if !text
        .chars()
        .any(|character| acts(character) || joins(character))
    {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    let mut before = None;
    for character in text.chars() {
        let is_shown = !acts(character) && (!joins(character) || before.is_some_and(is_joined));
        if is_shown {
            safe.push(character);
        } else {
            safe.extend(character.escape_default());
        }
        before = Some(character);
    }
    Cow::Owned(safe)
}

/// C0, DEL and C1; the controls of writing direction; separators of lines and paragraphs; invisible characters, and blanks
/// that count as letters; the tags, which spell an invisible text.
fn acts(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{ad}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}')
}

/// Whether a character has no width and only joins its neighbours, ends a word or says how the one before it is drawn:
/// Persian, Hindi, Khmer, Mongolian, Japanese names and emoji need it. Many in a row spell an invisible text.
fn joins(character: char) -> bool {
    matches!(character,
        '\u{200b}'..='\u{200d}' | '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0e}' | '\u{e0100}'..='\u{e01ef}')
}

/// Whether a character can be joined to the next. In ASCII, a joiner would only make two names look the same.
fn is_joined(character: char) -> bool {
    !character.is_ascii() && !acts(character) && !joins(character)
}

/// Returns an equivalent JSON document without characters that act on a terminal: outside strings it has none but line
/// feeds, and inside strings they are escaped.
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

/// Returns bytes as safe text, with bytes that are not UTF-8 as `\xff`.
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

/// Returns a path for people, or for a model that reads what is printed.
pub fn path(path: &PathText) -> String {
    match data::is_read_by_model() {
        true => data::path(path),
        false => safe_bytes(&bytes(path)),
    }
}

/// Returns the bytes of a path.
pub fn bytes(path: &PathText) -> Vec<u8> {
    let bytes = path.bytes();
    bytes.unwrap_or_else(|| path.path.clone().into_bytes())
}

/// Returns the first line of a prompt that is not blank, made safe.
pub fn title(prompt: Option<&str>) -> String {
    let line =
        prompt.and_then(|prompt| prompt.lines().map(str::trim).find(|line| !line.is_empty()));
    let title = safe(line.unwrap_or("")).into_owned();
    match data::is_read_by_model() {
        // It stands between quotes, and must not end them.
        true => title.replace(['“', '”', '"', '`'], "'"),
        false => title,
    }
}

/// How much of an id is shown if the other ids are unknown, such as a commit's.
const OF_AN_ID: usize = 8;

/// The ids of the store, and the minimum length that is shown. A process only shows ids of one store.
static IDS: RwLock<Option<(Prefixes, usize)>> = RwLock::new(None);

/// From now on, shortens ids to what distinguishes them from these.
pub fn know_ids(prefixes: Prefixes, least: usize) {
    // The first store that is opened counts.
    let mut ids = locks::write(&IDS);
    ids.get_or_insert((prefixes, least));
}

/// From now on, shortens them to what distinguishes them from what was recorded meanwhile, too.
pub fn know_new_ids(prefixes: Prefixes) {
    let mut ids = locks::write(&IDS);
    if let Some((known, _)) = &mut *ids {
        *known = prefixes;
    }
}

/// Returns the beginning of an id, long enough to be unique; a prefix is accepted wherever an id is.
pub fn short(id: &str) -> String {
    let ids = locks::read(&IDS);
    let unique = ids
        .as_ref()
        .and_then(|(prefixes, least)| Some(prefixes.length(id)?.max(*least)));
    let length = unique.unwrap_or(OF_AN_ID);
    safe(id.get(..length).unwrap_or(id)).into_owned()
}

/// Returns a sentence of the store with its ids as long as they are elsewhere on the screen: there they have eight digits.
pub fn with_ids_shortened(sentence: &str) -> String {
    let ids = locks::read(&IDS);
    let shortened = |word: &str| {
        let is_id = word.len() == OF_AN_ID && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let (prefixes, least) = ids.as_ref().filter(|_| is_id)?;
        prefixes.shortened(word, *least).map(str::to_owned)
    };
    let words = sentence.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric());
    let words = words.map(|word| {
        let digits = word.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
        match shortened(digits) {
            Some(id) => id + &word[digits.len()..],
            None => word.to_owned(),
        }
    });
    words.collect()
}

/// The largest number of columns that a text takes. A terminal without support for joined emoji shows their parts.
pub fn width(text: &str) -> usize {
    if is_plain(text) {
        return text.len();
    }
    if text.contains(COMMAND) {
        return width(&text.replace(COMMAND, ""));
    }
    if text
        .chars()
        .any(|character| joins(character) || character == AS_EMOJI)
    {
        let pieces = AnsiCodeIterator::new(text).filter(|(_, is_ansi)| !is_ansi);
        let characters = pieces.flat_map(|(piece, _)| piece.chars());
        characters.map(character_width).sum()
    } else {
        measure_text_width(text)
    }
}

/// Returns whether every byte is a character of one column, as in most cells of a table of thousands of rows.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Turns the character before it into an emoji, which takes two columns.
const AS_EMOJI: char = '\u{fe0f}';

fn character_width(character: char) -> usize {
    match character {
        AS_EMOJI => 1,
        _ => measure_text_width(character.encode_utf8(&mut [0; 4])),
    }
}

/// Returns text that fits into a number of columns, with an ellipsis if its end was cut.
pub fn fit(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let room = columns.saturating_sub(1);
    let mut cut = String::new();
    let mut used = 0;
    let mut is_over = false;
    for (piece, is_ansi) in AnsiCodeIterator::new(text) {
        if is_ansi {
            // Escape sequences are kept, so that colours still end.
            cut.push_str(piece);
            continue;
        }
        for character in piece.chars().filter(|_| !is_over) {
            used += character_width(character);
            if used <= room {
                cut.push(character);
                continue;
            }
            is_over = true;
            cut.truncate(cut.trim_end_matches(joins).len());
            if columns > 0 {
                cut.push('…');
            }
            break;
        }
    }
    Cow::Owned(cut)
}

/// Returns text without colours that fits into a number of columns, with an ellipsis if its beginning was cut, because
/// the end of a path says more.
pub fn fit_end(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut used = usize::from(columns > 0);
    let mut start = text.len();
    for (index, character) in text.char_indices().rev() {
        used += character_width(character);
        if used > columns {
            break;
        }
        start = index;
    }
    let end = text[start..].trim_start_matches(joins);
    let ellipsis = if columns > 0 { "…" } else { "" };
    Cow::Owned(format!("{ellipsis}{end}"))
}

/// Returns text with no line wider than a number of columns: longer ones are broken between words, with further lines
/// indented by `indent`. A command or an address is never broken, because the first line of it could be another one: if it
/// is longer than a line, it has one of its own, which the terminal wraps. Other text in backticks or bold is broken only
/// if it is longer than a line.
pub fn wrap(text: &str, columns: usize, indent: usize) -> String {
    let mut wrapped = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive('\n') {
        let (body, end) = match line.strip_suffix('\n') {
            Some(body) => (body, "\n"),
            None => (line, ""),
        };
        if width(body) <= columns {
            wrapped.push_str(body);
        } else {
            wrap_line(body, columns, indent, &mut wrapped);
        }
        wrapped.push_str(end);
    }
    match wrapped.contains(COMMAND) {
        true => wrapped.replace(COMMAND, ""),
        false => wrapped,
    }
}

fn wrap_line(line: &str, columns: usize, indent: usize, wrapped: &mut String) {
    let words = line.trim_start_matches(' ');
    let first = line.len() - words.len();
    let next = (first + indent).min(columns / 2);
    let mut begin = first.min(columns / 2);
    wrapped.push_str(&" ".repeat(begin));
    let mut used = begin;
    for word in pieces(words, columns - next) {
        // A word that is a colour alone takes no room: after it, the next one still begins the line.
        let gap = usize::from(used > begin);
        if used == begin || used + gap + width(word) <= columns {
            wrapped.push_str(&" ".repeat(gap));
            used += gap;
        } else {
            wrapped.push('\n');
            wrapped.push_str(&" ".repeat(next));
            (begin, used) = (next, next);
        }
        let mut rest = word;
        while used + width(rest) > columns && !is_copied(word) {
            let head = head_of(rest, columns - used);
            wrapped.push_str(&rest[..head]);
            wrapped.push('\n');
            wrapped.push_str(&" ".repeat(next));
            (begin, used) = (next, next);
            rest = &rest[head..];
        }
        wrapped.push_str(rest);
        used += width(rest);
    }
}

/// Returns whether a piece of a line is a command or an address, which people copy.
fn is_copied(piece: &str) -> bool {
    piece.contains(COMMAND) || piece.contains("://") || piece.contains("`ckpt-hook ")
}

/// The bytes of a long word that fit into a number of columns; at least one character's.
fn head_of(word: &str, columns: usize) -> usize {
    let mut used = 0;
    let mut end = 0;
    for (piece, is_ansi) in AnsiCodeIterator::new(word) {
        if is_ansi {
            end += piece.len();
            continue;
        }
        for character in piece.chars() {
            used += character_width(character);
            if used > columns && end > 0 {
                return end;
            }
            end += character.len_utf8();
        }
    }
    end
}

/// Returns the words of a line. A command counts as one word, and so does other text in backticks or in bold if it fits
/// into a line.
fn pieces(line: &str, columns: usize) -> Vec<&str> {
    const BOLD: &str = "\u{1b}[1m";
    const END: &str = "\u{1b}[0m";
    let mut pieces = Vec::new();
    let mut start = 0;
    let ends = line.match_indices(' ').map(|(end, _)| end);
    for end in ends.chain([line.len()]).collect::<Vec<_>>() {
        if end < start {
            continue;
        }
        let piece = &line[start..end];
        let is_open = |begin: &str, close: &str| {
            let begin = piece.rfind(begin);
            begin.is_some_and(|begin| !piece[begin..].contains(close))
        };
        let close = match piece.matches('`').count() % 2 {
            _ if is_open("\u{2}", "\u{3}") => Some("\u{3}"),
            1 => Some("`"),
            _ => is_open(BOLD, END).then_some(END),
        };
        let whole = close.and_then(|close| {
            let after = end + line[end..].find(close)? + close.len();
            let whole = after + line[after..].find(' ').unwrap_or(line.len() - after);
            let piece = &line[start..whole];
            (is_copied(piece) || width(piece) <= columns).then_some(whole)
        });
        pieces.push(&line[start..whole.unwrap_or(end)]);
        start = whole.unwrap_or(end) + 1;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paint::Paint;

    /// Invariant `private/terminal`: Names and contents cannot act on a terminal.
    #[test]
    fn nothing_in_a_name_acts_on_a_terminal() {
        let cases = [
            ("plain é 日本 🦀.rs", "plain é 日本 🦀.rs"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\u{9b}31m\u{7f}", "\\u{9b}31m\\u{7f}"),
            ("txt.\u{202e}exe", "txt.\\u{202e}exe"),
            ("a\u{2066}b\u{2069}", "a\\u{2066}b\\u{2069}"),
            ("a\u{e0041}", "a\\u{e0041}"),
            ("ad\u{200b}min\u{200d}", "ad\\u{200b}min\\u{200d}"),
            ("é\u{200d}\u{200d}", "é\u{200d}\\u{200d}"),
            ("a\u{e0120}", "a\\u{e0120}"),
            ("é\u{fe01}\u{e0120}", "é\u{fe01}\\u{e0120}"),
            ("soft\u{ad}hyphen\u{3164}", "soft\\u{ad}hyphen\\u{3164}"),
        ];
        for (name, shown) in cases {
            assert_eq!(safe(name), shown, "of {name:?}");
        }
    }

    /// A document says the same and acts on no terminal.
    ///
    /// Invariant `private/terminal`.
    #[test]
    fn document_acts_on_no_terminal() {
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
    fn joined_emoji_and_scripts_are_shown_whole() {
        for text in [
            "👨\u{200d}👩\u{200d}👧 family",
            "❤\u{fe0f}\u{200d}🔥",
            "می\u{200c}خواهم",
            "क\u{94d}\u{200d}ष नमस्ते",
            "ភាសា\u{200b}ខ្មែរ",
            "🇩🇪 👍🏽",
            "葛\u{e0100}城 ☎\u{fe0e}",
        ] {
            assert_eq!(safe(text), text, "nothing in it acts on a terminal");
            assert_eq!(safe_bytes(text.as_bytes()), text, "as a path, too");
        }
    }

    /// Every byte of a name that is not text is shown.
    #[test]
    fn every_byte_that_is_no_text_is_shown() {
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

    /// What does not fit is cut by columns not by bytes.
    #[test]
    fn text_is_cut_by_columns() {
        assert_eq!(
            fit("日本語", 6),
            "日本語",
            "three characters of two columns"
        );
        assert_eq!(fit("日本語", 5), "日本…", "and one of them has to go");
        assert_eq!(
            width("❤\u{fe0f}\u{200d}🔥"),
            4,
            "a heart as an emoji takes two"
        );
        assert_eq!(fit("❤\u{fe0f}❤\u{fe0f}", 3), "❤\u{fe0f}…");
    }

    /// A path keeps its end and a joined emoji is not cut open.
    #[test]
    fn path_keeps_its_end_and_whole_emoji() {
        assert_eq!(
            fit_end("src/日本/main.rs", 10),
            "…/main.rs",
            "the end says more"
        );
        assert_eq!(fit_end("short", 5), "short", "it fits");
        assert_eq!(
            fit("a👨\u{200d}👩\u{200d}👧", 5),
            "a👨…",
            "no joiner is left without its second half"
        );
    }

    #[test]
    fn colours_end_where_text_is_cut() {
        assert_eq!(
            fit("\u{1b}[31mlong text\u{1b}[0m", 5),
            "\u{1b}[31mlong…\u{1b}[0m",
            "what follows is not red"
        );
    }

    /// Long lines are broken between words and not within commands.
    #[test]
    fn lines_break_between_words_not_in_commands() {
        assert_eq!(
            wrap("  note: one two three\nshort\n", 12, 2),
            "  note: one\n    two\n    three\nshort\n",
            "indented by what was asked for"
        );
        assert_eq!(
            wrap("say `ckpt-hook redo`, please", 20, 0),
            "say\n`ckpt-hook redo`,\nplease",
            "a command stays in one piece"
        );
        assert_eq!(
            wrap("undo: \u{1b}[1mckpt-hook redo\u{1b}[0m", 16, 0),
            "undo:\n\u{1b}[1mckpt-hook redo\u{1b}[0m",
            "in bold type as well"
        );
        assert_eq!(
            wrap("`a b c d` 0123456789", 6, 0),
            "`a b c\nd`\n012345\n6789",
            "unless it is longer than a line"
        );
    }

    /// A command or an address is one line to copy, however narrow the terminal is.
    #[test]
    fn command_or_address_is_never_broken() {
        let command = Paint::PLAIN.for_commands(true, " --workspace 'a b'");
        let undo = command.own_command("ckpt-hook undo");
        for columns in 2..60 {
            let wrapped = wrap(
                &format!(
                    "say {undo} or `ckpt-hook revert a --only b` at http://localhost:1/#abcdef\n"
                ),
                columns,
                2,
            );
            for whole in [
                "ckpt-hook undo --workspace 'a b'",
                "ckpt-hook revert a --only b",
                "http://localhost:1/#abcdef",
            ] {
                let line = wrapped.lines().find(|line| line.contains(whole));
                let line = line.unwrap_or_else(|| panic!("{whole} at {columns}: {wrapped}"));
                let alone = line.trim().trim_matches('`') == whole;
                assert!(
                    width(line) <= columns || alone,
                    "{whole} at {columns}: {wrapped}"
                );
            }
            assert!(!wrapped.contains(COMMAND), "{wrapped:?}");
        }
    }

    /// No line is wider than the terminal and nothing is lost.
    #[test]
    fn no_line_is_too_wide_and_nothing_lost() {
        let text = "The revert `0123456789abcdef` of 日本語 👨\u{200d}👩\u{200d}👧 was interrupted: `ckpt-hook snapshot --workspace /a/b` ends it";
        let letters = |text: &str| {
            text.chars()
                .filter(|c| !c.is_whitespace())
                .collect::<String>()
        };
        for columns in 8..100 {
            let wrapped = wrap(text, columns, 2);
            let is_command = |line: &str| line.trim_start().starts_with("`ckpt-hook");
            let fits = |line: &str| width(line) <= columns || is_command(line);
            assert!(wrapped.lines().all(fits), "at {columns}: {wrapped}");
            assert_eq!(letters(&wrapped), letters(text), "at {columns}");
        }
    }
}
