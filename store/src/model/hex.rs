//! Bytes as hex digits, in lower case.

use std::fmt;

/// Shows bytes as hex digits, two per byte.
#[derive(Clone, Copy, Debug)]
pub struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// Reads hex digits. `None` if there is anything else, or half a byte.
pub fn decode(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| {
            let digits = std::str::from_utf8(pair)
                .ok()
                .filter(|pair| pair.len() == 2)?;
            u8::from_str_radix(digits, 16).ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_two_digits() {
        assert_eq!(Hex(&[0, 0x0a, 0xff]).to_string(), "000aff");
        assert_eq!(Hex(&[]).to_string(), "");
        assert_eq!(decode("000aff"), Some(vec![0, 0x0a, 0xff]));
        assert_eq!((decode("0"), decode("xx")), (None, None));
    }
}
