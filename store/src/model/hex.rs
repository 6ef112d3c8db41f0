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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_two_digits() {
        assert_eq!(Hex(&[0, 0x0a, 0xff]).to_string(), "000aff");
        assert_eq!(Hex(&[]).to_string(), "");
    }
}
