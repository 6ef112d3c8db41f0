//! Bytes as hex digits, in lower case.

use std::fmt;

/// Shows bytes as hex digits, two per byte.
#[derive(Clone, Copy, Debug)]
pub struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        // In pieces: a list of a long history shows very many ids, and formatting each byte would take as long as all
        // else.
        self.0.chunks(20).try_for_each(|bytes| {
            let mut digits = [0; 40];
            for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
                pair[0] = DIGITS[usize::from(byte >> 4)];
                pair[1] = DIGITS[usize::from(byte & 0xf)];
            }
            let digits = std::str::from_utf8(&digits[..2 * bytes.len()]);
            formatter.write_str(digits.expect("digits are text"))
        })
    }
}

/// Reads hex digits. `None` if there is anything else, or half a byte.
pub fn decode(digits: &str) -> Option<Vec<u8>> {
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else {
        return None;
    };
    pairs.iter().copied().map(byte).collect()
}

/// Returns the byte that two hex digits say.
pub fn byte([high, low]: [u8; 2]) -> Option<u8> {
    Some(half(high)? << 4 | half(low)?)
}

/// Returns the number that a hex digit says.
fn half(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_two_digits() {
        assert_eq!(Hex(&[0, 0x0a, 0xff]).to_string(), "000aff");
        assert_eq!(Hex(&[]).to_string(), "");
        let all: Vec<u8> = (0..=255).collect();
        let digits: String = all.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(Hex(&all).to_string(), digits, "of any length");
        assert_eq!(decode("000aff"), Some(vec![0, 0x0a, 0xff]));
        assert_eq!(
            (decode("0"), decode("xx"), decode("+f")),
            (None, None, None)
        );
    }
}
