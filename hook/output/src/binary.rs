//! Blocks of `git apply` for contents that are not shown line by line: `GIT binary patch`, both directions.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// How many bytes are on a line.
const LINE: usize = 52;

/// The digits of git's base 85 (RFC 1924).
const DIGITS: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// Returns the block that turns the old bytes into the new ones, and the one for the way back. The lines before it must
/// name both blobs in full.
///
/// Each half is `literal SIZE` and the bytes, compressed with zlib, 52 of them a line: a letter that says how many
/// they are (`A` to `Z` for 1 to 26, `a` to `z` for 27 to 52), then five digits for each four bytes, the last of them
/// filled up with zeros.
pub fn patch(old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut patch = b"GIT binary patch\n".to_vec();
    for side in [new, old] {
        literal(side, &mut patch);
    }
    patch
}

fn literal(bytes: &[u8], patch: &mut Vec<u8>) {
    patch.extend(format!("literal {}\n", bytes.len()).as_bytes());
    let compressed = compressed(bytes).expect("memory takes every byte");
    for line in compressed.chunks(LINE) {
        patch.push(length(line.len()));
        line.chunks(4).for_each(|four| digits(four, patch));
        patch.push(b'\n');
    }
    patch.push(b'\n');
}

fn compressed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn length(bytes: usize) -> u8 {
    let letters = (b'A'..=b'Z').chain(b'a'..=b'z');
    letters
        .take(LINE)
        .nth(bytes - 1)
        .expect("a line has 1 to 52 bytes")
}

fn digits(four: &[u8], patch: &mut Vec<u8>) {
    let mut number = [0; 4];
    number[..four.len()].copy_from_slice(four);
    let number = u32::from_be_bytes(number);
    let powers = [85_u32.pow(4), 85_u32.pow(3), 85_u32.pow(2), 85, 1];
    patch.extend(powers.map(|power| DIGITS[(number / power % 85) as usize]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_eight_bytes_of_zlib() {
        let mut patch = Vec::new();
        literal(b"", &mut patch);
        let text = String::from_utf8(patch).expect("digits are text");
        assert!(
            text.starts_with("literal 0\nH") && text.ends_with("\n\n"),
            "as `git diff --binary` has it: {text}"
        );
    }

    #[test]
    fn lines_say_how_long_they_are() {
        assert_eq!([1, 26, 27, 52].map(length), *b"AZaz", "in one letter");
    }
}
