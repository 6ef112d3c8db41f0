//! Finds how much of an id distinguishes it from every other id in the store.

use rusqlite::Connection;

use crate::error::{Context, Result};

/// The shortest prefix that is accepted for an id.
pub const LEAST: usize = 4;

/// How many digits of ids are compared. Two random ids do not have so many in common.
const COMPARED: usize = 16;

/// The beginnings of all ids of a store: of messages, steps, sessions, operations and snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefixes(Vec<u64>);

impl Prefixes {
    /// Reads them. Each table except the snapshots has an index that holds only its ids.
    pub(crate) fn read(connection: &Connection) -> Result<Self> {
        let mut keys = keys(connection).context(|| "cannot read the ids")?;
        // Stable: it only joins what is in order already, as the rows of an index are.
        keys.sort();
        // A tree that was captured twice has one id.
        keys.dedup();
        Ok(Self(keys))
    }

    /// Returns how many characters of an id distinguish it from all others, and at least as many as a prefix needs.
    /// `None` if it is not an id of the store.
    pub fn length(&self, id: &str) -> Option<usize> {
        let own = key(id.as_bytes())?;
        let place = self.0.binary_search(&own).ok()?;
        let before = place.checked_sub(1).and_then(|place| self.0.get(place));
        let neighbours = before.into_iter().chain(self.0.get(place + 1));
        let common = neighbours
            .map(|other| (other ^ own).leading_zeros() as usize / 4)
            .max();
        Some(common.map_or(LEAST, |common| LEAST.max(common + 1)))
    }
}

/// Reads the beginnings of all ids, unordered.
fn keys(connection: &Connection) -> rusqlite::Result<Vec<u64>> {
    let mut keys = Vec::new();
    for sql in [
        "SELECT id FROM messages",
        "SELECT id FROM steps",
        "SELECT id FROM sessions",
        "SELECT id FROM operations",
        "SELECT tree FROM snapshots",
    ] {
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            keys.extend(row.get_ref(0)?.as_bytes().ok().and_then(key));
        }
    }
    Ok(keys)
}

/// Returns the first digits as a number. A store has tens of thousands of ids, so they are not turned into text first.
fn key(id: &[u8]) -> Option<u64> {
    let digits = id.get(..COMPARED)?;
    digits.iter().try_fold(0, |number, digit| {
        Some(number << 4 | u64::from(char::from(*digit).to_digit(16)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_as_long_as_it_takes_to_tell_it_from_its_neighbours() {
        let id = |text: &str| format!("{text:0<32}");
        let mut keys: Vec<u64> = ["12345a", "12345b", "1299", "f"]
            .iter()
            .filter_map(|text| key(id(text).as_bytes()))
            .collect();
        keys.sort_unstable();
        let prefixes = Prefixes(keys);
        for (text, length) in [("12345a", 6), ("12345b", 6), ("1299", 4), ("f", 4)] {
            assert_eq!(prefixes.length(&id(text)), Some(length), "of {text}");
        }
        assert_eq!(prefixes.length(&id("abcd")), None, "none of the store's");
        assert_eq!(prefixes.length("nothing"), None, "no id at all");
    }
}
