//! Shortens a payload while it is read, so that neither time nor memory grows with it.
//!
//! An agent may send a whole conversation, or everything that a tool printed: fifty megabytes, in which a few fields
//! matter. Every byte is read once. Strings, fields and the payload are cut at their maximum lengths, and open brackets
//! are closed, so that everything before and after a long value is parsed as if the value were short. This does not
//! validate: other bytes than JSON come out unchanged, up to those lengths.

mod strings;

use memchr::memchr2;

use self::strings::{BLOCK, StringState};

/// The most that is kept of a string, in bytes with escapes: a prompt's mebibyte, with room for escapes.
const LONGEST_STRING: usize = 2 << 20;

/// The most that is kept of a field of the payload.
const LONGEST_FIELD: usize = 4 << 20;

/// The most that is kept of the payload, and of its last field beyond it.
const LONGEST_PAYLOAD: usize = 8 << 20;

/// The longest escape of a JSON string: `\u` and four digits.
const LONGEST_ESCAPE: usize = 6;

/// A payload that is being read: what is kept of it, and the state that the next bytes go on from.
#[derive(Debug, Default)]
pub struct Condenser {
    kept: Vec<u8>,
    /// The brackets that are open in what is kept.
    open: Vec<u8>,
    /// The length up to which the kept part is valid once the open brackets are closed.
    whole: usize,
    /// The start of the current field.
    field: usize,
    /// What is being left out.
    dropped: DroppedPart,
    place: StringState,
    /// How much of the current string is kept; `None` if its rest is left out.
    of_string: Option<usize>,
    is_cut: bool,
    /// Whether the last bracket was closed.
    is_whole: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DroppedPart {
    #[default]
    Nothing,
    /// The rest of a field, within so many brackets.
    Field(usize),
    /// Everything.
    All,
}

impl Condenser {
    /// Adds the next bytes.
    pub fn take(&mut self, mut bytes: &[u8]) {
        loop {
            bytes = &bytes[self.left_out(bytes)..];
            if bytes.is_empty() {
                return;
            }
            let taken = match self.place {
                StringState::Between => self.between(bytes),
                StringState::InString => self.in_string(bytes),
                StringState::AfterBackslash => self.after_backslash(bytes[0]),
            };
            bytes = &bytes[taken..];
        }
    }

    /// Returns whether the payload is there: what follows is no part of it.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The kept part, and whether the end of the payload is missing.
    pub fn finish(self) -> (Vec<u8>, bool) {
        (self.kept, self.is_cut)
    }

    /// Returns the length of the next part that is left out. Most of a long payload is, so this is one plain loop.
    fn left_out(&mut self, bytes: &[u8]) -> usize {
        let mut brackets = match self.dropped {
            DroppedPart::Nothing => return 0,
            DroppedPart::Field(brackets) => brackets,
            DroppedPart::All => return bytes.len(),
        };
        let (mut at, mut place) = left_out_blocks(bytes, &mut brackets, self.place);
        while at < bytes.len() {
            if place != StringState::Between {
                let begin = at;
                (at, place) = strings::skip(bytes, begin, place);
                continue;
            }
            match bytes[at] {
                b'"' => place = StringState::InString,
                b'{' | b'[' => brackets += 1,
                b'}' | b']' | b',' if brackets == 0 => break,
                b'}' | b']' => brackets -= 1,
                _ => {}
            }
            at += 1;
        }
        (self.dropped, self.place) = (DroppedPart::Field(brackets), place);
        at
    }

    fn between(&mut self, bytes: &[u8]) -> usize {
        let is_sign = |byte: &u8| matches!(byte, b'"' | b',' | b'{' | b'}' | b'[' | b']');
        let plain = bytes.iter().position(is_sign).unwrap_or(bytes.len());
        let dropped = self.dropped;
        self.keep(&bytes[..plain]);
        // If this made the field too long, the ellipsis is left out, too.
        match bytes.get(plain).filter(|_| self.dropped == dropped) {
            Some(b'"') => self.begin_string(),
            Some(b',') => self.comma(),
            Some(bracket @ (b'{' | b'[')) => self.open(*bracket),
            Some(bracket) => self.close(*bracket),
            None => return plain,
        }
        plain + 1
    }

    fn begin_string(&mut self) {
        self.keep(b"\"");
        (self.place, self.of_string) = (StringState::InString, Some(0));
    }

    fn in_string(&mut self, bytes: &[u8]) -> usize {
        let room = self
            .of_string
            .map(|length| LONGEST_STRING.saturating_sub(length + LONGEST_ESCAPE));
        if room == Some(0) {
            return self.in_long_string(bytes);
        }
        let near = &bytes[..room.unwrap_or(bytes.len()).min(bytes.len())];
        let (taken, place) = strings::skip(near, 0, self.place);
        let has_end = place == StringState::Between;
        if let Some(length) = &mut self.of_string {
            // An escape is kept once the byte after its backslash has been read.
            let text = taken - usize::from(has_end || place == StringState::AfterBackslash);
            *length += text;
            self.keep(&near[..text]);
        }
        if has_end {
            self.keep(b"\"");
        }
        self.place = place;
        taken
    }

    /// The last few bytes of what is kept of a string, piece by piece: it ends with a whole escape, and a whole
    /// character.
    fn in_long_string(&mut self, bytes: &[u8]) -> usize {
        let end = memchr2(b'"', b'\\', bytes);
        let text = &bytes[..end.unwrap_or(bytes.len())];
        self.keep_text(text);
        let Some(end) = end else { return bytes.len() };
        if bytes[end] == b'"' {
            self.keep(b"\"");
            self.place = StringState::Between;
        } else {
            self.place = StringState::AfterBackslash;
        }
        end + 1
    }

    /// An escape is kept as a whole or not at all, and so is a character.
    fn after_backslash(&mut self, escaped: u8) -> usize {
        self.place = StringState::InString;
        if let Some(length) = self.of_string {
            if length + LONGEST_ESCAPE <= LONGEST_STRING {
                self.of_string = Some(length + 2);
                self.keep(&[b'\\', escaped]);
            } else {
                self.of_string = None;
            }
        }
        1
    }

    fn keep_text(&mut self, text: &[u8]) {
        let Some(length) = self.of_string else { return };
        let kept = text.len().min(LONGEST_STRING - length);
        self.of_string = Some(length + kept);
        let (text, rest) = text.split_at(kept);
        let is_kept = self.keep(text);
        if let Some(next) = rest.first() {
            self.of_string = None;
            if is_kept && is_inside_character(*next) {
                self.drop_half_character();
            }
        }
    }

    fn drop_half_character(&mut self) {
        let near = self.kept.len().saturating_sub(3);
        let begin = self.kept[near..]
            .iter()
            .rposition(|byte| *byte >= 0b1100_0000);
        self.kept
            .truncate(begin.map_or(self.kept.len(), |begin| near + begin));
    }

    fn open(&mut self, bracket: u8) {
        self.keep(&[bracket]);
        match &mut self.dropped {
            // This bracket made the field too long.
            DroppedPart::Field(brackets) => *brackets += 1,
            DroppedPart::All => {}
            DroppedPart::Nothing => {
                self.open.push(bracket);
                self.whole = self.kept.len();
                if self.open.len() == 1 {
                    self.field = self.whole;
                }
            }
        }
    }

    fn close(&mut self, bracket: u8) {
        self.dropped = DroppedPart::Nothing;
        self.kept.push(bracket);
        self.whole = self.kept.len();
        self.open.pop();
        if self.open.is_empty() {
            // What follows is not part of the payload.
            self.dropped = DroppedPart::All;
            self.is_whole = true;
        }
    }

    fn comma(&mut self) {
        if self.open.len() <= 1 {
            self.next_field();
        } else {
            self.whole = self.kept.len();
            self.keep(b",");
        }
    }

    fn next_field(&mut self) {
        self.dropped = DroppedPart::Nothing;
        if self.kept.len() > LONGEST_PAYLOAD {
            self.end();
            return;
        }
        self.whole = self.kept.len();
        self.field = self.kept.len();
        if !self.kept.ends_with(b"{") && !self.kept.ends_with(b"[") {
            self.kept.push(b',');
        }
    }

    /// Keeps bytes, and returns whether there is room for more; otherwise the rest of the field is left out.
    fn keep(&mut self, bytes: &[u8]) -> bool {
        if self.dropped == DroppedPart::Nothing {
            self.kept.extend_from_slice(bytes);
            if self.kept.len() - self.field + self.open.len() > LONGEST_FIELD {
                self.end_field();
            }
        }
        self.dropped == DroppedPart::Nothing
    }

    /// Leaves out the rest of the field, back to where it was valid.
    fn end_field(&mut self) {
        self.kept.truncate(self.whole);
        let inner = self.open.len().saturating_sub(1);
        for bracket in self.open.drain(self.open.len() - inner..).rev() {
            self.kept.push(closing(bracket));
        }
        self.dropped = if self.open.is_empty() {
            DroppedPart::All
        } else {
            DroppedPart::Field(inner)
        };
    }

    /// Leaves out everything from here on.
    fn end(&mut self) {
        self.kept.extend(self.open.drain(..).rev().map(closing));
        (self.dropped, self.is_cut) = (DroppedPart::All, true);
    }
}

/// The length of the next part of a field that is left out, up to where its own brackets are closed, and what stands
/// before the rest: whole blocks, as long as there are any.
fn left_out_blocks(
    bytes: &[u8],
    brackets: &mut usize,
    mut place: StringState,
) -> (usize, StringState) {
    let mut at = 0;
    while let Some(block) = bytes[at..].first_chunk().filter(|_| *brackets > 0) {
        let (inside, next) = strings::inside(block, place);
        let (opening, closing) = strings::brackets(block);
        let mut signs = (opening | closing) & !inside;
        while signs != 0 {
            let sign = signs.trailing_zeros();
            signs &= signs - 1;
            if opening >> sign & 1 == 1 {
                *brackets += 1;
            } else if *brackets > 1 {
                *brackets -= 1;
            } else {
                *brackets = 0;
                return (at + sign as usize + 1, StringState::Between);
            }
        }
        (at, place) = (at + BLOCK, next);
    }
    (at, place)
}

fn is_inside_character(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

fn closing(bracket: u8) -> u8 {
    if bracket == b'{' { b'}' } else { b']' }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const HUGE: usize = 12 << 20;

    /// Returns the condensed payload, read in pieces of a length.
    fn condensed(payload: &[u8], piece: usize) -> (Vec<u8>, bool) {
        let mut condenser = Condenser::default();
        payload
            .chunks(piece)
            .for_each(|piece| condenser.take(piece));
        condenser.finish()
    }

    #[track_caller]
    fn read(payload: &[u8]) -> Value {
        let (kept, is_cut) = condensed(payload, 64 << 10);
        assert!(
            !is_cut && kept.len() <= LONGEST_PAYLOAD,
            "{} bytes of {}",
            kept.len(),
            payload.len()
        );
        serde_json::from_slice(&kept).expect("what is kept is whole")
    }

    /// What is short comes out as it came in whatever the pieces.
    #[test]
    fn short_payload_comes_out_unchanged() {
        for payload in [
            r#"{"a":"b\"c\\","d":[1,{"e":null},[]],"f":{},"g":"ä\u00e4"}"#,
            "[1, 2, {\"a\": \"x\"}]\n",
            "\u{feff}{\"a\":\"raw\ncontrol\",\"b\":NaN}",
            "{\"cut\":\"of",
            "nonsense, \"and\" more",
            "",
        ] {
            for piece in 1..=payload.len().max(1) {
                let (kept, is_cut) = condensed(payload.as_bytes(), piece);
                let kept = String::from_utf8(kept).expect("no character is taken apart");
                assert_eq!(
                    (kept.as_str(), is_cut),
                    (payload.trim_end(), false),
                    "in pieces of {piece}"
                );
            }
        }
    }

    /// What counts is read before and after what is huge.
    #[test]
    fn important_fields_survive_around_huge_ones() {
        let text = "x".repeat(HUGE);
        let lines = "ä line of \"output\"\n\u{1b}".repeat(HUGE / 22);
        let list: Vec<usize> = (0..HUGE / 8).collect();
        let texts = vec!["a message of the conversation"; HUGE / 32];
        let fields: Value = (0..HUGE / 32)
            .map(|number| (number.to_string(), json!({"role": "user"})))
            .collect();
        let deep = "[".repeat(HUGE / 2) + &"]".repeat(HUGE / 2);
        for huge in [
            json!(text),
            json!(lines),
            json!(list),
            json!(texts),
            fields,
            json!({"in": {"it": [text]}}),
        ] {
            let payload = json!({"a_session": "s", "input": {"path": "/w/a", "the_rest": huge}, "prompt": "hello"});
            let kept = read(payload.to_string().as_bytes());
            assert_eq!(
                (&kept["a_session"], &kept["prompt"]),
                (&json!("s"), &json!("hello")),
                "before and after it"
            );
            assert_eq!(kept["input"]["path"], "/w/a", "and beside it");
        }
        let (kept, _) = condensed(format!("{{\"a\":{deep},\"b\":1}}").as_bytes(), 1 << 20);
        assert!(
            kept.ends_with(b"]],\"b\":1}") && kept.len() <= LONGEST_FIELD + 100,
            "{} bytes",
            kept.len()
        );
    }

    /// Whole blocks are what their bytes are one by one.
    #[test]
    fn whole_blocks_equal_their_bytes() {
        let inner =
            r#"{"a\\\"[":[1,-2.5e3,{}],"b":"\\\\","c":[[["]"]],null],"d":"line\n\"said\" }"},"#;
        let list = inner.repeat((64 << 10) / inner.len());
        let lines = r#"a \"line\"\n\\"#.repeat(8 << 10);
        // What is plain fills them up, so that the limits are met in what is not.
        let plain = "x".repeat(LONGEST_STRING - (16 << 10));
        let list = format!("[\"{plain}\",\"{plain}\",{list}0]");
        let payload =
            format!("{{\"list\":{list},\"text\":\"{plain}{lines}\",\"prompt\":\"hello\"}}");
        let kept = read(payload.as_bytes());
        assert_eq!(kept["prompt"], "hello", "what comes after it is read");
        assert!(
            kept["list"][2].is_object() && kept["list"].as_array().map(Vec::len) < Some(900),
            "a part is kept"
        );
        assert!(
            condensed(payload.as_bytes(), BLOCK - 1) == condensed(payload.as_bytes(), 64 << 10),
            "the same is kept"
        );
    }

    #[test]
    fn a_long_string_is_cut_between_characters() {
        for (piece, written) in [
            ("ä", 2),
            ("😀", 4),
            ("\\n", 2),
            ("\\u00e4", 6),
            ("a\\\"", 3),
            ("\\\\", 2),
        ] {
            for shift in 0..written {
                let text = "x".repeat(shift) + &piece.repeat((3 << 20) / written);
                let kept = read(format!("{{\"prompt\":\"{text}\",\"z\":1}}").as_bytes());
                let whole: String =
                    serde_json::from_str(&format!("\"{text}\"")).expect("it is JSON");
                let prompt = kept["prompt"].as_str().expect("a string");
                assert!(whole.starts_with(prompt), "`{piece}` after {shift}");
                assert!(
                    prompt.len() * written >= LONGEST_STRING / 2,
                    "`{piece}`: {} bytes are kept",
                    prompt.len()
                );
                assert_eq!(kept["z"], 1, "what follows is read");
            }
        }
    }

    /// A payload of nothing but fields is kept in part and called cut.
    #[test]
    fn payload_of_many_fields_is_cut() {
        let fields: String = (0..HUGE / 16)
            .map(|number| format!("\"k{number}\":\"value\","))
            .collect();
        let (kept, is_cut) = condensed(format!("{{{fields}\"z\":1}}").as_bytes(), 64 << 10);
        let kept: Value = serde_json::from_slice(&kept).expect("it is whole");
        assert!(
            is_cut && kept["k0"] == "value" && kept.get("z").is_none(),
            "its beginning"
        );
    }

    #[test]
    fn what_is_no_json_is_bounded_as_well() {
        for huge in ["x", "\"", "\\", "{", "[", ",", "{\"a\":", "[,"] {
            let payload = huge.repeat((LONGEST_FIELD + LONGEST_FIELD / 4) / huge.len());
            let (kept, _) = condensed(payload.as_bytes(), 64 << 10);
            assert!(
                kept.len() <= LONGEST_PAYLOAD + 2 * LONGEST_FIELD,
                "`{huge}`: {} bytes",
                kept.len()
            );
        }
    }
}
