//! Finds strings and brackets in JSON, sixty-four bytes at once.
//!
//! Most of a long payload is left out, and reading it byte by byte would take longer than the rest of a hook call. Each
//! bit represents a byte. Strings are derived from backslashes and quotes as in Langdale and Lemire, "Parsing Gigabytes
//! of JSON per Second" (2019), section 3.1.1. This does not validate: it accepts any bytes.

use memchr::memchr2;

/// How many bytes are processed together, one per bit.
pub const BLOCK: usize = 64;

/// Every other bit, from the lowest on.
const EVEN: u64 = 0x5555_5555_5555_5555;

/// The state before a byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StringState {
    /// No open string.
    #[default]
    Between,
    /// A string's beginning.
    InString,
    /// A backslash in a string.
    AfterBackslash,
}

/// Returns a bit for each byte that is in a string, its first quote included and its last one not, and what stands
/// before the next block.
pub fn inside(block: &[u8; BLOCK], place: StringState) -> (u64, StringState) {
    let (escaped, next_is_escaped) = escaped(
        bits(block, |byte| byte == b'\\'),
        place == StringState::AfterBackslash,
    );
    let inside = between_quotes(
        bits(block, |byte| byte == b'"') & !escaped,
        place != StringState::Between,
    );
    let next = match (inside >> (BLOCK - 1), next_is_escaped) {
        (0, _) => StringState::Between,
        (_, false) => StringState::InString,
        (_, true) => StringState::AfterBackslash,
    };
    (inside, next)
}

/// Returns a bit for each bracket that opens, and one for each that closes, in strings or not.
pub fn brackets(block: &[u8; BLOCK]) -> (u64, u64) {
    // Parentheses do not occur in JSON; the two other kinds differ only in this bit.
    (
        bits(block, |byte| byte | 0x20 == b'{'),
        bits(block, |byte| byte | 0x20 == b'}'),
    )
}

/// Returns the end of the string that continues at `at`, after its quote, and the state there.
pub fn skip(bytes: &[u8], mut at: usize, mut place: StringState) -> (usize, StringState) {
    while at < bytes.len() && place != StringState::Between {
        if place == StringState::InString {
            let Some(found) = memchr2(b'"', b'\\', &bytes[at..]) else {
                return (bytes.len(), place);
            };
            at += found + 1;
            place = if bytes[at - 1] == b'"' {
                StringState::Between
            } else {
                StringState::AfterBackslash
            };
            continue;
        }
        // Escapes rarely come alone, so a block with more of them is skipped as a whole.
        (at, place) = match bytes[at..].first_chunk().map(|block| inside(block, place)) {
            Some((u64::MAX, next)) => (at + BLOCK, next),
            _ => (at + 1, StringState::InString),
        };
    }
    (at, place)
}

/// Returns a bit for each byte for which a predicate is true; the first byte's bit is the lowest.
fn bits(block: &[u8; BLOCK], holds: impl Fn(u8) -> bool) -> u64 {
    // Written so that compilers vectorize it: first each byte's bit in its word, then the words are joined.
    let mut marks = [0; BLOCK];
    for (index, mark) in marks.iter_mut().enumerate() {
        *mark = if holds(block[index]) {
            1_u8 << (index % 8)
        } else {
            0
        };
    }
    let (words, _) = marks.as_chunks::<8>();
    let joined =
        |word: &[u8; 8]| u64::from_le_bytes(*word).wrapping_mul(0x0101_0101_0101_0101) >> 56;
    words
        .iter()
        .rev()
        .fold(0, |bits, word| bits << 8 | joined(word))
}

/// Returns which bytes are escaped by a backslash, and whether the byte after the block is.
fn escaped(backslashes: u64, first_is_escaped: bool) -> (u64, bool) {
    let first = u64::from(first_is_escaped);
    let backslashes = backslashes & !first;
    let follows = backslashes << 1 | first;
    // An addition carries through a run of backslashes, so that what it leaves behind tells runs that begin at an odd
    // place.
    let odd_starts = backslashes & !EVEN & !follows;
    let (runs, carries) = odd_starts.overflowing_add(backslashes);
    ((EVEN ^ (runs << 1)) & follows, carries)
}

/// Returns the bits from each first quote up to its last one: each is the parity of the quotes up to it.
fn between_quotes(quotes: u64, begins_in_string: bool) -> u64 {
    let parity = [1, 2, 4, 8, 16, 32]
        .into_iter()
        .fold(quotes, |bits, shift| bits ^ bits << shift);
    if begins_in_string { !parity } else { parity }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every string of four signs that say something and one that does not, with others around it, and at every place.
    fn texts() -> impl Iterator<Item = Vec<u8>> {
        let signs = [b'"', b'\\', b'[', b'}', b'a'];
        (0..5_usize.pow(6)).map(move |number| {
            let word: Vec<u8> = (0..6)
                .map(|digit| signs[number / 5_usize.pow(digit) % 5])
                .collect();
            let before = number % 59;
            let filler = if number % 2 == 0 { "a\\\\\"" } else { "\\\"b" };
            let text = [
                filler.repeat(60).as_bytes()[..before].to_vec(),
                word,
                filler.repeat(60).into_bytes(),
            ]
            .concat();
            text[..BLOCK * 2].to_vec()
        })
    }

    /// The byte before the next one, a backslash outside of strings taken for one inside.
    fn step(place: StringState, escaped: &mut bool, byte: u8) -> StringState {
        let is_quote = byte == b'"' && !*escaped;
        *escaped = byte == b'\\' && !*escaped;
        match (is_quote, place == StringState::Between) {
            (true, false) | (false, true) => StringState::Between,
            _ if *escaped => StringState::AfterBackslash,
            _ => StringState::InString,
        }
    }

    /// A block is what its bytes are one by one.
    #[test]
    fn block_equals_its_bytes() {
        for text in texts() {
            for begin in [
                StringState::Between,
                StringState::InString,
                StringState::AfterBackslash,
            ] {
                let (mut place, mut escaped, mut expected) =
                    (begin, begin == StringState::AfterBackslash, 0_u64);
                for (index, byte) in text[..BLOCK].iter().enumerate() {
                    place = step(place, &mut escaped, *byte);
                    expected |= u64::from(place != StringState::Between) << index;
                }
                let block = text.first_chunk().expect("it is two blocks long");
                assert_eq!(
                    inside(block, begin),
                    (expected, place),
                    "{begin:?}: {}",
                    text.escape_ascii()
                );
                let all = |sign| bits(block, |byte| byte == sign);
                assert_eq!(
                    brackets(block),
                    (all(b'[') | all(b'{'), all(b']') | all(b'}')),
                    "{}",
                    text.escape_ascii()
                );
            }
        }
    }

    /// A string ends where its bytes say one by one.
    #[test]
    fn string_ends_where_its_bytes_say() {
        for text in texts() {
            for begin in [StringState::InString, StringState::AfterBackslash] {
                let (mut place, mut escaped, mut at) =
                    (begin, begin == StringState::AfterBackslash, 0);
                while at < text.len() && place != StringState::Between {
                    place = step(place, &mut escaped, text[at]);
                    at += 1;
                }
                assert_eq!(
                    skip(&text, 0, begin),
                    (at, place),
                    "{begin:?}: {}",
                    text.escape_ascii()
                );
            }
        }
    }
}
