//! Finds how much of an id is shown: as much as distinguishes every id of the store, so that all have one length.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use rusqlite::{Connection, OpenFlags};

use crate::error::{Context, Result};
use crate::fs::threads;

/// The shortest prefix that is accepted for an id.
pub const MIN_LENGTH: usize = 4;

/// How many digits of ids are compared. Two random ids do not have so many in common.
const COMPARED_DIGITS: usize = 16;

/// From so many steps on, ids are looked up one by one. Reading those of fewer takes less than to open the session
/// store a second time.
const SCAN_LIMIT: i64 = 2_000;

/// How long ids are in a store that is too large to read them all; the few that begin alike are longer.
const OF_MANY: usize = 8;

/// So many ids are looked up one by one. For a list that shows more, all ids are read at once.
const SINGLE_LOOKUPS: usize = 200;

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
    /// Sorted, each once, as soon as they are needed.
    all: OnceLock<Vec<u64>>,
    /// In a large store, what is asked for one id.
    reader: Option<Mutex<PrefixReader>>,
    /// How long an id is at least.
    usual: usize,
}

/// Looks up ids one by one.
#[derive(Debug)]
struct PrefixReader {
    /// The file of the session store.
    path: PathBuf,
    /// A connection of its own, for ids that are shown while the store is at work or after it was closed.
    connection: Option<Connection>,
    /// How many ids were looked up over it.
    asked: usize,
    /// The neighbours of ids that were looked up before they are shown; `None` for one that is not in the store.
    known: HashMap<u64, Option<Vec<u64>>>,
}

impl Prefixes {
    /// Reads them, or makes ready to look them up.
    pub(crate) fn read(connection: &Connection) -> Result<Self> {
        let what = || "cannot read the ids";
        let steps: Option<i64> = connection
            .query_row("SELECT max(seq) FROM steps", [], |row| row.get(0))
            .context(what)?;
        let is_large = steps.is_some_and(|steps| steps >= SCAN_LIMIT);
        if is_large && let Some(path) = connection.path().filter(|path| !path.is_empty()) {
            let reader = PrefixReader {
                path: path.into(),
                connection: None,
                asked: 0,
                known: HashMap::new(),
            };
            return Ok(Self {
                all: OnceLock::new(),
                reader: Some(Mutex::new(reader)),
                usual: OF_MANY,
            });
        }
        Ok(Self::of(all(connection).context(what)?))
    }

    /// Returns those of ids that were read, sorted.
    fn of(all: Vec<u64>) -> Self {
        let apart = all.windows(2).map(|two| common(two[0], two[1]) + 1);
        Self {
            usual: apart.max().unwrap_or(0),
            all: all.into(),
            reader: None,
        }
    }

    /// Looks up ids that are about to be shown, over a connection that is open. To open another one takes as long as
    /// all else that a short list does: SQLite reads the whole schema for it.
    pub(crate) fn look_up(&self, connection: &Connection, ids: &[&str]) {
        let Some(reader) = self.reader.as_ref().filter(|_| ids.len() <= SINGLE_LOOKUPS) else {
            return;
        };
        let mut reader = threads::lock(reader);
        for id in ids {
            if let (Some(own), Ok(found)) = (key(id.as_bytes()), looked_up(connection, id)) {
                reader.known.insert(own, found);
            }
        }
    }

    /// Returns how many characters of an id are shown: they distinguish it from all others, and are as many as any other
    /// id needs. `None` if it is not an id of the store.
    pub fn length(&self, id: &str) -> Option<usize> {
        let own = key(id.as_bytes())?;
        let neighbours = match (self.all.get(), &self.reader) {
            (None, Some(reader)) => threads::lock(reader).neighbours(id, own, &self.all)?,
            (all, _) => neighbours(all?, own)?,
        };
        // A part in another root of its session begins like the whole, and is in another workspace.
        let others = neighbours.iter().filter(|other| **other != own);
        let apart = others.map(|other| common(*other, own) + 1);
        Some(
            apart
                .chain([MIN_LENGTH, self.usual])
                .max()
                .unwrap_or(MIN_LENGTH),
        )
    }
}

impl Prefixes {
    /// Returns the beginning of an id of the store, as long as ids are shown. `None` for other texts, and in a large store.
    pub fn shortened<'t>(&self, beginning: &'t str, least: usize) -> Option<&'t str> {
        let all = self.all.get().filter(|_| self.reader.is_none())?;
        let own = key(format!("{beginning:0<COMPARED_DIGITS$}").as_bytes())?;
        let next = all.get(all.partition_point(|id| *id < own))?;
        let is_known = common(own, *next) >= beginning.len();
        let length = self.usual.max(least).max(MIN_LENGTH);
        beginning.get(..length).filter(|_| is_known)
    }
}

/// Returns how many digits two ids have in common.
fn common(one: u64, other: u64) -> usize {
    (one ^ other).leading_zeros() as usize / 4
}

impl PrefixReader {
    /// Returns the beginnings of the ids before and after one. After so many questions, it reads all ids, for all that
    /// come.
    fn neighbours(&mut self, id: &str, own: u64, all: &OnceLock<Vec<u64>>) -> Option<Vec<u64>> {
        if let Some(found) = self.known.get(&own) {
            return found.clone();
        }
        self.asked += 1;
        let is_one_of_few = self.asked <= SINGLE_LOOKUPS;
        let connection = self.connection()?;
        if is_one_of_few {
            return looked_up(connection, id).ok()?;
        }
        let read = self::all(connection).ok()?;
        neighbours(all.get_or_init(|| read), own)
    }

    /// Returns its connection, and opens it if need be.
    fn connection(&mut self) -> Option<&Connection> {
        if self.connection.is_none() {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
                | OpenFlags::SQLITE_OPEN_NOFOLLOW
                | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            self.connection = Connection::open_with_flags(&self.path, flags).ok();
        }
        self.connection.as_ref()
    }
}

/// Returns the beginnings of the ids just before and after one, in each table. `None` if no table has it.
fn looked_up(connection: &Connection, id: &str) -> rusqlite::Result<Option<Vec<u64>>> {
    // One statement for all tables takes SQLite's locks once.
    let sql = IDS.map(looked_up_in).join(" UNION ALL ");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([id])?;
    let mut neighbours = Vec::new();
    let mut is_known = false;
    while let Some(row) = rows.next()? {
        for side in 0..2 {
            let other = row.get_ref(side)?.as_bytes_or_null()?;
            neighbours.extend(other.and_then(key));
        }
        is_known |= row.get::<_, bool>(2)?;
    }
    Ok(is_known.then_some(neighbours))
}

/// Returns the question about one table. Each column has an index that begins with it.
fn looked_up_in((table, column): (&str, &str)) -> String {
    format!(
        "SELECT (SELECT max({column}) FROM {table} WHERE {column} < ?1),
                (SELECT min({column}) FROM {table} WHERE {column} > ?1),
                EXISTS (SELECT 1 FROM {table} WHERE {column} = ?1)"
    )
}

/// Returns the ones before and after one among all. `None` if it is not among them.
fn neighbours(all: &[u64], own: u64) -> Option<Vec<u64>> {
    let place = all.binary_search(&own).ok()?;
    let before = place.checked_sub(1).and_then(|place| all.get(place));
    Some(
        before
            .into_iter()
            .chain(all.get(place + 1))
            .copied()
            .collect(),
    )
}

/// Reads the beginnings of all ids, sorted, each once. Each table except the snapshots has an index that holds only its
/// ids.
fn all(connection: &Connection) -> rusqlite::Result<Vec<u64>> {
    let mut keys = keys(connection)?;
    // Stable: it only joins what is in order already, as the rows of an index are.
    keys.sort();
    // A tree that was captured twice has one id.
    keys.dedup();
    Ok(keys)
}

/// Reads the beginnings of all ids, unordered.
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
    use std::path::Path;

    use super::*;

    /// Every id is as long as it takes to tell all of them apart.
    #[test]
    fn ids_are_as_long_as_they_must_be() {
        let id = |text: &str| format!("{text:0<32}");
        let ids = ["12345a", "12345b", "1299", "f"].map(id);
        let mut keys: Vec<u64> = ids.iter().filter_map(|id| key(id.as_bytes())).collect();
        keys.sort_unstable();
        let prefixes = Prefixes::of(keys);
        for text in ["12345a", "12345b", "1299", "f"] {
            assert_eq!(prefixes.length(&id(text)), Some(6), "of {text}");
        }
        assert_eq!(prefixes.length(&id("abcd")), None, "none of the store's");
        assert_eq!(prefixes.length("nothing"), None, "no id at all");
    }

    /// A store with so many steps, each with a message and a snapshot; it lies in a file.
    fn store_of(steps: i64, directory: &Path) -> Connection {
        let connection = Connection::open(directory.join("ids.db")).expect("it can be made");
        for (table, column) in IDS {
            let sql = format!("CREATE TABLE {table} (seq INTEGER PRIMARY KEY, {column} TEXT)");
            connection.execute_batch(&sql).expect("valid SQL");
        }
        connection.execute_batch("BEGIN").expect("valid SQL");
        for step in 0..steps {
            for (table, column) in [("messages", "id"), ("steps", "id"), ("snapshots", "tree")] {
                // Random, with many that begin alike.
                let id = uuid::Uuid::new_v4().simple().to_string();
                let id = format!("{:03x}{id}", step % 7);
                let sql = format!("INSERT INTO {table} ({column}) VALUES (?1)");
                connection.execute(&sql, [id]).expect("valid SQL");
            }
        }
        connection.execute_batch("COMMIT").expect("valid SQL");
        connection
    }

    /// Ids of a large store are looked up and are as long as if all had been read.
    #[test]
    fn large_stores_ids_are_looked_up() {
        let directory = tempfile::tempdir().expect("it can be made");
        let connection = store_of(SCAN_LIMIT, directory.path());
        let (looked_up, all) = (
            Prefixes::read(&connection).expect("the tables are there"),
            Prefixes {
                usual: OF_MANY,
                ..Prefixes::of(all(&connection).expect("the tables are there"))
            },
        );
        let mut ids = connection
            .prepare("SELECT id FROM steps UNION ALL SELECT tree FROM snapshots")
            .expect("valid SQL");
        let ids = ids.query_map([], |row| row.get(0)).expect("valid SQL");
        let ids: Vec<String> = ids.map(|id| id.expect("text")).collect();
        assert_eq!(
            looked_up.length(&"a".repeat(32)),
            None,
            "none of the store's"
        );
        for (number, id) in ids.iter().enumerate().step_by(9) {
            assert_eq!(looked_up.length(id), all.length(id), "of {id}");
            let is_read_at_once = number / 9 + 2 > SINGLE_LOOKUPS;
            assert_eq!(
                looked_up.all.get().is_some(),
                is_read_at_once,
                "at {number}"
            );
        }
    }
}
