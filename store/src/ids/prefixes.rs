//! Finds how much of an id is shown: as much as distinguishes every id of the store, so that all have one length.

use rusqlite::Connection;

use crate::error::{Context, Result};

/// The shortest prefix that is accepted for an id.
pub const MIN_LENGTH: usize = 4;

/// How many digits of ids are compared. Two random ids do not have so many in common.
const COMPARED_DIGITS: usize = 16;

/// Where ids are.
const IDS: [(&str, &str); 5] = [
    ("messages", "id"),
    ("steps", "id"),
    ("sessions", "id"),
    ("operations", "id"),
    ("snapshots", "tree"),
];

/// The beginnings of all ids of a store: of messages, steps, sessions, operations and snapshots.
#[derive(Debug, Default)]
pub struct Prefixes {
    /// Sorted, each once.
    all: Vec<u64>,
    /// How many digits tell all of them apart.
    length: usize,
}

impl Prefixes {
    /// Reads them: a few milliseconds for tens of thousands.
    pub(crate) fn read(connection: &Connection) -> Result<Self> {
        let keys = keys(connection).context(|| "cannot read the ids")?;
        Ok(Self::of(keys))
    }

    /// Sorts the beginnings of ids.
    fn of(mut all: Vec<u64>) -> Self {
        // Stable: it only joins what is in order already, as the rows of an index are.
        all.sort();
        // A tree that was captured twice has one id. A part in another root of its session begins like the whole, and is in
        // another workspace.
        all.dedup();
        let apart = all.windows(2).map(|two| common(two[0], two[1]) + 1);
        let length = apart.max().unwrap_or(0).max(MIN_LENGTH);
        Self { all, length }
    }

    /// Returns how many characters of an id are shown: they distinguish it from all others, and are as many as any other
    /// id needs. `None` if it is not an id of the store.
    pub fn length(&self, id: &str) -> Option<usize> {
        let own = key(id.as_bytes())?;
        self.all.binary_search(&own).ok().map(|_| self.length)
    }

    /// Returns the beginning of an id of the store, as long as ids are shown. `None` for other texts.
    pub fn shortened<'t>(&self, beginning: &'t str, least: usize) -> Option<&'t str> {
        let own = key(format!("{beginning:0<COMPARED_DIGITS$}").as_bytes())?;
        let next = self.all.get(self.all.partition_point(|id| *id < own))?;
        let is_known = common(own, *next) >= beginning.len();
        let length = self.length.max(least);
        beginning.get(..length).filter(|_| is_known)
    }
}

/// Returns how many digits two ids have in common.
fn common(one: u64, other: u64) -> usize {
    (one ^ other).leading_zeros() as usize / 4
}

/// Reads the beginnings of all ids, unordered. Each column has an index that begins with it, and SQLite reads no more than that.
fn keys(connection: &Connection) -> rusqlite::Result<Vec<u64>> {
    let mut keys = Vec::new();
    for (table, column) in IDS {
        let sql = format!("SELECT {column} FROM {table}");
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            keys.extend(row.get_ref(0)?.as_bytes().ok().and_then(key));
        }
    }
    Ok(keys)
}

/// Returns the first digits as a number. A store has tens of thousands of ids, so they are not turned into text first.
fn key(id: &[u8]) -> Option<u64> {
    let digits = id.get(..COMPARED_DIGITS)?;
    digits.iter().try_fold(0, |number, digit| {
        Some(number << 4 | u64::from(char::from(*digit).to_digit(16)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every id is as long as it takes to tell all of them apart.
    #[test]
    fn ids_are_as_long_as_they_must_be() {
        let id = |text: &str| format!("{text:0<32}");
        let ids = ["12345a", "12345b", "1299", "f"].map(id);
        let prefixes = Prefixes::of(ids.iter().filter_map(|id| key(id.as_bytes())).collect());
        for text in ["12345a", "12345b", "1299", "f"] {
            assert_eq!(prefixes.length(&id(text)), Some(6), "of {text}");
        }
        assert_eq!(prefixes.length(&id("abcd")), None, "none of the store's");
        assert_eq!(prefixes.length("nothing"), None, "no id at all");
    }

    /// Of thousands of ids of all tables, each is known, and no two of them begin alike for as long as they are shown.
    #[test]
    fn ids_of_all_tables_are_told_apart() {
        let connection = Connection::open_in_memory().expect("a database in memory");
        let mut ids = Vec::new();
        for (table, column) in IDS {
            let sql = format!("CREATE TABLE {table} (seq INTEGER PRIMARY KEY, {column} TEXT)");
            connection.execute_batch(&sql).expect("valid SQL");
            for number in 0..1000 {
                // Random, with many that begin alike.
                let id = uuid::Uuid::new_v4().simple().to_string();
                let id = format!("{:03x}{id}", number % 7);
                let sql = format!("INSERT INTO {table} ({column}) VALUES (?1)");
                connection.execute(&sql, [&id]).expect("valid SQL");
                ids.push(id);
            }
        }
        let prefixes = Prefixes::read(&connection).expect("the tables are there");
        let shown = |id: &String| Some(id.get(..prefixes.length(id)?)?.to_owned());
        let shown: Option<std::collections::BTreeSet<String>> = ids.iter().map(shown).collect();
        assert_eq!(shown.expect("all are known").len(), ids.len());
        assert_eq!(
            prefixes.length(&"a".repeat(32)),
            None,
            "none of the store's"
        );
    }
}
