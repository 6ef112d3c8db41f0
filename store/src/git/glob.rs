//! Matches paths against patterns, in a bounded number of steps.
//!
//! It gives the same answers as git's `wildmatch`, but as an automaton: it follows all possible positions in the
//! pattern at once, byte by byte. Recursion, which git uses, takes exponential time for a pattern such as
//! `**/a/**/a/**/a/`.
//!
//! ```text
//! *     any bytes but `/`            **/   nothing, or any bytes and a `/`       at the start and after a `/`
//! ?     one byte but `/`             **    any bytes                             there, and at the end
//! ```

use gix_glob::wildmatch::Mode;

/// What a position in a pattern accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
enum GlobToken {
    /// This byte.
    Byte(u8),
    /// One of these bytes: a bit for each.
    OneOf(Box<[u64; 4]>),
    /// Any bytes but `/`.
    Star,
    /// Any bytes.
    Deep,
    /// Either the three tokens after it (`**` and a `/`), or nothing.
    MayBeDeep,
    /// Matches nothing, so the whole pattern does not.
    Never,
}

/// A pattern, without its leading and trailing marks such as `!` and `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glob {
    tokens: Vec<GlobToken>,
    /// The tokens that may match nothing, so that the one after them is possible, too: a bit for each.
    passable: Vec<u64>,
}

/// The number of steps that a match may still take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Steps(pub u64);

impl Glob {
    /// Parses a pattern.
    pub fn of(pattern: &[u8]) -> Self {
        let tokens = tokens(pattern);
        let mut passable = vec![0; words(tokens.len())];
        for (place, token) in tokens.iter().enumerate() {
            if matches!(
                token,
                GlobToken::Star | GlobToken::Deep | GlobToken::MayBeDeep
            ) {
                put(&mut passable, place);
            }
        }
        Self { tokens, passable }
    }

    /// Returns whether it matches all of a text, and subtracts the cost from `steps`. `None` if these do not suffice.
    pub fn matches(&self, text: &[u8], steps: &mut Steps) -> Option<bool> {
        let words = words(self.tokens.len());
        // Sets of positions: however many ways lead to one, it is followed once.
        let (mut now, mut next) = (vec![0; words], vec![0; words]);
        put(&mut now, 0);
        self.pass(&mut now, steps)?;
        for byte in text {
            next.fill(0);
            for place in BitPositions::of(&now) {
                steps.0 = steps.0.checked_sub(1)?;
                match self.tokens.get(place) {
                    Some(GlobToken::Byte(wanted)) if wanted == byte => put(&mut next, place + 1),
                    Some(GlobToken::OneOf(set)) if has(&set[..], usize::from(*byte)) => {
                        put(&mut next, place + 1);
                    }
                    Some(GlobToken::Star) if *byte != b'/' => put(&mut next, place),
                    Some(GlobToken::Deep) => put(&mut next, place),
                    _ => {}
                }
            }
            if next.iter().all(|word| *word == 0) {
                return Some(false);
            }
            std::mem::swap(&mut now, &mut next);
            self.pass(&mut now, steps)?;
        }
        Some(has(&now, self.tokens.len()))
    }

    /// Adds the positions after tokens that may match nothing.
    fn pass(&self, places: &mut [u64], steps: &mut Steps) -> Option<()> {
        for word in 0..places.len() {
            let mut done = 0;
            loop {
                let rest = places[word] & self.passable[word] & !done;
                if rest == 0 {
                    break;
                }
                steps.0 = steps.0.checked_sub(1)?;
                let bit = rest.trailing_zeros();
                done |= 1 << bit;
                let place = word * 64 + bit as usize;
                put(places, place + 1);
                if self.tokens[place] == GlobToken::MayBeDeep {
                    put(places, place + 3);
                }
            }
        }
        Some(())
    }
}

/// Returns the number of words that hold a bit for each token, and one for the end.
fn words(tokens: usize) -> usize {
    tokens / 64 + 1
}

fn put(bits: &mut [u64], place: usize) {
    bits[place / 64] |= 1 << (place % 64);
}

fn has(bits: &[u64], place: usize) -> bool {
    bits[place / 64] & 1 << (place % 64) != 0
}

/// The positions whose bits are set, in order.
struct BitPositions<'a> {
    words: &'a [u64],
    word: usize,
    rest: u64,
}

impl<'a> BitPositions<'a> {
    fn of(words: &'a [u64]) -> Self {
        let rest = words.first().copied().unwrap_or_default();
        Self {
            words,
            word: 0,
            rest,
        }
    }
}

impl Iterator for BitPositions<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while self.rest == 0 {
            self.word += 1;
            self.rest = *self.words.get(self.word)?;
        }
        let bit = self.rest.trailing_zeros();
        self.rest &= self.rest - 1;
        Some(self.word * 64 + bit as usize)
    }
}

fn tokens(pattern: &[u8]) -> Vec<GlobToken> {
    let mut tokens = Vec::with_capacity(pattern.len());
    let mut at = 0;
    while let Some(byte) = pattern.get(at) {
        match byte {
            b'\\' => {
                // As in `wildmatch`, a backslash at the end matches nothing.
                let escaped = pattern.get(at + 1);
                tokens.push(escaped.map_or(GlobToken::Never, |byte| GlobToken::Byte(*byte)));
                at += 2;
            }
            b'?' => {
                tokens.push(GlobToken::OneOf(set_of(b"?")));
                at += 1;
            }
            b'[' => match end_of_class(pattern, at) {
                Some(end) => {
                    tokens.push(GlobToken::OneOf(set_of(&pattern[at..end])));
                    at = end;
                }
                None => {
                    tokens.push(GlobToken::Never);
                    at = pattern.len();
                }
            },
            b'*' => at = stars(pattern, at, &mut tokens),
            byte => {
                tokens.push(GlobToken::Byte(*byte));
                at += 1;
            }
        }
    }
    tokens
}

/// Parses the stars at a position, and what belongs to them. Returns the position after that.
fn stars(pattern: &[u8], at: usize, tokens: &mut Vec<GlobToken>) -> usize {
    let count = pattern[at..]
        .iter()
        .take_while(|byte| **byte == b'*')
        .count();
    let after = at + count;
    let is_first = at
        .checked_sub(1)
        .is_none_or(|before| pattern[before] == b'/');
    let rest = &pattern[after..];
    // As in `wildmatch`, two stars within a name are one.
    if count == 1 || !is_first {
        tokens.push(GlobToken::Star);
    } else if rest.first() == Some(&b'/') {
        tokens.extend([GlobToken::MayBeDeep, GlobToken::Deep, GlobToken::Byte(b'/')]);
        return after + 1;
    } else if rest.is_empty() || rest.starts_with(b"\\/") {
        tokens.push(GlobToken::Deep);
    } else {
        tokens.push(GlobToken::Star);
    }
    after
}

/// Returns the end of the class that begins at a position, or `None` if it is not closed.
fn end_of_class(pattern: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    if matches!(pattern.get(at), Some(b'!' | b'^')) {
        at += 1;
    }
    let first = at;
    let mut follows_byte = false;
    loop {
        match *pattern.get(at)? {
            b']' if at > first => return Some(at + 1),
            b'\\' => {
                pattern.get(at + 1)?;
                follows_byte = true;
                at += 2;
            }
            b'-' if follows_byte && !matches!(pattern.get(at + 1), None | Some(b']')) => {
                at += if pattern[at + 1] == b'\\' { 3 } else { 2 };
                follows_byte = false;
            }
            b'[' if pattern.get(at + 1) == Some(&b':') => {
                let length = pattern[at + 2..].iter().position(|byte| *byte == b']')?;
                let end = at + 2 + length;
                let is_name = length > 0 && pattern[end - 1] == b':';
                follows_byte = !is_name;
                at = if is_name { end + 1 } else { at + 1 };
            }
            _ => {
                follows_byte = true;
                at += 1;
            }
        }
    }
}

/// Returns the set of bytes that a pattern for one byte matches, according to gix's port of `wildmatch`.
fn set_of(pattern: &[u8]) -> Box<[u64; 4]> {
    let mut set = Box::new([0; 4]);
    for byte in 0..=u8::MAX {
        if gix_glob::wildmatch(
            pattern.into(),
            (&[byte][..]).into(),
            Mode::NO_MATCH_SLASH_LITERAL,
        ) {
            put(&mut set[..], usize::from(byte));
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decide(pattern: &[u8], text: &[u8]) -> Option<bool> {
        Glob::of(pattern).matches(text, &mut Steps(1 << 18))
    }

    /// Invariant `work/hostile-sizes`.
    #[test]
    fn what_takes_exponential_time_elsewhere_takes_none() {
        let pattern = b"**/a/".repeat(20);
        let path = b"a/".repeat(1000);
        assert_eq!(
            decide(&pattern, &[&path[..], b"b"].concat()),
            Some(false),
            "twenty times any directories"
        );
        assert_eq!(decide(&pattern, &path), Some(true), "it does match");
        let stars = b"*a".repeat(40);
        assert_eq!(decide(&stars, &b"a".repeat(250)), Some(true), "in one name");
    }

    #[test]
    fn what_takes_too_long_is_not_decided() {
        let pattern = b"**/?*".repeat(200);
        assert_eq!(
            decide(&pattern, &b"ab/".repeat(3000)),
            None,
            "it is bounded"
        );
    }

    fn piece() -> impl Strategy<Value = &'static [u8]> {
        proptest::sample::select(vec![
            &b"a"[..],
            b"b",
            b"/",
            b"*",
            b"**",
            b"**/",
            b"/**",
            b"?",
            b"[ab]",
            b"[!a]",
            b"[a-c]",
            b"[^/]",
            b"\\*",
            b"\\a",
            b"[]a]",
            b"[[:alpha:]]",
            b"-",
            b"[",
            b"]",
            b"\\",
            b"***",
            b"[a-\\]]",
            b"\\/",
        ])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn it_decides_as_gits_own_matcher_does(
            pieces in proptest::collection::vec(piece(), 0..7),
            text in "[abc/*\\]\\[-]{0,8}",
        ) {
            let pattern = pieces.concat();
            let theirs = gix_glob::wildmatch(
                pattern.as_slice().into(),
                text.as_bytes().into(),
                Mode::NO_MATCH_SLASH_LITERAL,
            );
            prop_assert_eq!(
                decide(&pattern, text.as_bytes()), Some(theirs),
                "`{}` of `{}`", pattern.escape_ascii(), text
            );
        }

        #[test]
        fn any_bytes_are_a_pattern(pattern: Vec<u8>, text: Vec<u8>) {
            let _ = decide(&pattern, &text);
        }
    }
}
