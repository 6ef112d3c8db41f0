//! Makes deltas, which describe an object by what to copy from another one, and what to insert (`gitformat-pack`).
//!
//! libgit2 makes deltas only in its pack builder, which opens the repository, cannot be cancelled while it writes, and
//! accepts damaged bytes. Here a common prefix and suffix are found first, which covers nearly all of an edit; the rest
//! is searched block by block.

use std::collections::HashMap;

/// The length of a block that is looked up, in bytes.
const BLOCK: usize = 16;
/// The most that one instruction copies, in bytes. Every reader of packs understands that.
const MOST_COPIED: usize = 0x1_0000;
/// The most that one instruction inserts, in bytes.
const MOST_INSERTED: usize = 0x7f;

/// Returns the delta that makes `target` from `base`, or `None` if it would have `limit` bytes or more.
pub(crate) fn delta(base: &[u8], target: &[u8], limit: usize) -> Option<Vec<u8>> {
    // A copy instruction has an offset of 32 bits.
    u32::try_from(base.len()).ok()?;
    let mut out = Delta {
        bytes: Vec::with_capacity(limit.min(1 << 10)),
        limit,
    };
    out.size(base.len());
    out.size(target.len());
    let front = common(base.iter().zip(target));
    // The end must not overlap the beginning, in neither of the two.
    let rest = base.len().min(target.len()) - front;
    let back = common(base.iter().rev().zip(target.iter().rev()).take(rest));
    out.copy(0, front);
    out.middle(base, front, &target[front..target.len() - back])?;
    out.copy(base.len() - back, back);
    out.is_short().then_some(out.bytes)
}

fn common<'a>(pairs: impl Iterator<Item = (&'a u8, &'a u8)>) -> usize {
    pairs.take_while(|(left, right)| left == right).count()
}

struct Delta {
    bytes: Vec<u8>,
    limit: usize,
}

impl Delta {
    fn is_short(&self) -> bool {
        self.bytes.len() < self.limit
    }

    /// Writes a size: seven bits per byte, lowest first.
    fn size(&mut self, mut size: usize) {
        while size >= 0x80 {
            self.bytes.push(low_byte(size) | 0x80);
            size >>= 7;
        }
        self.bytes.push(low_byte(size));
    }

    fn copy(&mut self, mut offset: usize, mut length: usize) {
        while length > 0 {
            let piece = length.min(MOST_COPIED);
            let at = self.bytes.len();
            let mut bits = 0x80;
            self.bytes.push(bits);
            for byte in 0..4 {
                bits |= self.sparse(offset >> (8 * byte), 1 << byte);
            }
            // A length of 65,536 is encoded as no byte at all.
            for byte in 0..2 {
                bits |= self.sparse((piece % MOST_COPIED) >> (8 * byte), 0x10 << byte);
            }
            self.bytes[at] = bits;
            offset += piece;
            length -= piece;
        }
    }

    /// Writes the low byte of a number unless it is zero. Returns `bit` if it did.
    fn sparse(&mut self, number: usize, bit: u8) -> u8 {
        match low_byte(number) {
            0 => 0,
            byte => {
                self.bytes.push(byte);
                bit
            }
        }
    }

    fn insert(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(MOST_INSERTED) {
            self.bytes.push(low_byte(piece.len()));
            self.bytes.extend_from_slice(piece);
        }
    }

    /// Writes the instructions for a part of the target, which most likely resembles the base after `near`.
    fn middle(&mut self, base: &[u8], near: usize, part: &[u8]) -> Option<()> {
        if part.len() < BLOCK {
            self.insert(part);
            return Some(());
        }
        // Of equal blocks, the first one after `near` counts, so later ones are noted before it.
        let mut blocks: HashMap<&[u8], usize> = HashMap::with_capacity(base.len() / BLOCK);
        let count = base.len() / BLOCK;
        for number in (0..count).rev() {
            let at = number * BLOCK;
            let block = &base[at..at + BLOCK];
            if at >= near {
                blocks.insert(block, at);
            } else {
                blocks.entry(block).or_insert(at);
            }
        }
        let (mut at, mut pending) = (0, 0);
        while at + BLOCK <= part.len() {
            let Some(found) = blocks.get(&part[at..at + BLOCK]) else {
                at += 1;
                if at - pending >= self.limit {
                    return None;
                }
                continue;
            };
            let before = common(
                base[..*found]
                    .iter()
                    .rev()
                    .zip(part[pending..at].iter().rev()),
            );
            let length = before + common(base[*found..].iter().zip(&part[at..]));
            self.insert(&part[pending..at - before]);
            self.copy(found - before, length);
            at = at - before + length;
            pending = at;
            if !self.is_short() {
                return None;
            }
        }
        self.insert(&part[pending..]);
        Some(())
    }
}

fn low_byte(number: usize) -> u8 {
    number.to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use super::super::entry::apply_delta;
    use super::*;

    #[track_caller]
    fn check(base: &[u8], target: &[u8]) -> usize {
        let delta = delta(base, target, usize::MAX).expect("it is not limited");
        let made = apply_delta(base, &delta, target.len() as u64).expect("it is ours");
        assert_eq!(made, target, "what it makes is the target");
        delta.len()
    }

    fn noise(length: usize, seed: u64) -> Vec<u8> {
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state.to_be_bytes()[0]
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn a_delta_makes_the_target_of_its_base() {
        let base = noise(200_000, 1);
        let mut edited = base.clone();
        edited.splice(70_000..70_010, b"another text".iter().copied());
        edited.splice(150_000..150_500, []);
        let moved = [&base[100_000..], &base[..100_000]].concat();
        assert!(check(&base, &edited) < 200, "two edits are short");
        assert!(check(&base, &moved) < 100, "what was moved is copied");
        check(&base, &base);
        check(&base, &base[..65_536]);
        check(&base, &[&base[..], &base[..]].concat());
        check(&base, &noise(3_000, 2));
    }

    /// A delta may begin with nothing and make nothing.
    #[test]
    fn delta_may_begin_and_make_nothing() {
        for (base, target) in [
            (&b""[..], &b""[..]),
            (b"", b"some"),
            (b"some", b""),
            (
                b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
            ),
            (b"ab", b"b"),
        ] {
            check(base, target);
        }
    }

    #[test]
    fn a_delta_that_would_be_long_is_none() {
        let base = noise(10_000, 1);
        assert!(
            delta(&base, &noise(10_000, 2), 5_000).is_none(),
            "nothing is shared"
        );
        assert!(delta(&base, &base, 100).is_some(), "all is shared");
    }
}
