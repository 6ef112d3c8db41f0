//! Half characters. JavaScript and Python write a text that was cut in the middle of an emoji as an escape that stands
//! for no character (`\ud83d`). JSON allows that, and our parser does not.

/// What stands for half a character.
const REPLACEMENT: &[u8] = br"\ufffd";

/// Returns a line in which each escape that is half a character is a replacement character; `None` if there is none.
pub fn replaced(line: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::with_capacity(line.len());
    let mut rest = line;
    let mut is_changed = false;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        whole.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let length = match (unit(rest), unit(rest.get(6..).unwrap_or_default())) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                whole.extend_from_slice(REPLACEMENT);
                is_changed = true;
                rest = &rest[6..];
                continue;
            }
            _ => rest.len().min(2),
        };
        whole.extend_from_slice(&rest[..length]);
        rest = &rest[length..];
    }
    whole.extend_from_slice(rest);
    is_changed.then_some(whole)
}

/// Returns the number of the escape (`\u` and four digits) that a text begins with.
fn unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(br"\u")?.get(..4)?;
    let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
    let digits = std::str::from_utf8(digits).ok().filter(|_| is_hex)?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: &str) -> Option<String> {
        let replaced = replaced(line.as_bytes())?;
        let value: serde_json::Value = serde_json::from_slice(&replaced).expect("it is JSON");
        Some(value.as_str().expect("a string").to_owned())
    }

    /// Half a character is replaced and every other stays.
    #[test]
    fn half_a_character_is_replaced() {
        let replaced = |line| text(line).expect("there is half a character");
        assert_eq!(replaced(r#""cut \ud83d""#), "cut \u{fffd}");
        assert_eq!(replaced(r#""\uDE00 back""#), "\u{fffd} back");
        assert_eq!(replaced(r#""\ud83d\ud83d\ude00""#), "\u{fffd}\u{1f600}");
        assert_eq!(replaced(r#""\ude00\ud83d""#), "\u{fffd}\u{fffd}");
        assert_eq!(replaced(r#""\ud83d\u0041\\""#), "\u{fffd}A\\");
        for whole in [r#""\ud83d\ude00""#, r#""\\ud83d""#, r#""\u00e9\n""#, "\"\\"] {
            assert_eq!(super::replaced(whole.as_bytes()), None, "{whole}");
        }
    }
}
