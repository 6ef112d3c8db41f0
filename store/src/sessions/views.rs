//! The views of the session store, which people and their programs ask. This module does IO.
//!
//! No hook asks them, and SQLite would read them at the start of each: they are two thirds of the schema. So the first
//! command of a person adds them.

use std::time::Duration;

use ckpt_schema::migration::VIEWS;
use rusqlite::{Connection, OptionalExtension};

use super::database::{BUSY_TIMEOUT, Database};
use crate::error::{Context, Result};

/// The key of the row of `meta` that says which views there are.
const KEY: &str = "views";

/// Stands for the views of this version.
const CHECKSUM: i64 = checksum(VIEWS.as_bytes());

/// The FNV-1a hash.
const fn checksum(text: &[u8]) -> i64 {
    let (mut hash, mut at) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while at < text.len() {
        hash = (hash ^ text[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash.cast_signed()
}

/// Adds the views, or those of this version in the place of others. If another process writes, or the store cannot be
/// written to, the next command tries again.
pub(crate) fn add_views(database: &mut Database) -> Result<()> {
    if has_views(database.connection())? {
        return Ok(());
    }
    // A person who only asked a question waits for no other process.
    let _ = database.connection().busy_timeout(Duration::ZERO);
    let added = database.write(|connection| {
        drop_views(connection)?;
        let sql = "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)";
        connection
            .execute_batch(VIEWS)
            .and_then(|()| connection.execute(sql, (KEY, CHECKSUM)))
            .context(|| "cannot add the views")
    });
    let _ = database.connection().busy_timeout(BUSY_TIMEOUT);
    added.map(drop)
}

/// Returns whether the views of this version were added.
pub(super) fn has_views(connection: &Connection) -> Result<bool> {
    let sql = "SELECT value FROM meta WHERE key = ?1";
    let found = connection
        .query_row(sql, [KEY], |row| row.get::<_, i64>(0))
        .optional()
        .context(|| "cannot read which views there are")?;
    Ok(found == Some(CHECKSUM))
}

/// Removes the views, and that they were added. A change of the tables would have to fit them.
pub(super) fn drop_views(connection: &Connection) -> Result<()> {
    let names = VIEWS.split("CREATE VIEW ").skip(1);
    let names = names.filter_map(|view| Some(view.split_once(' ')?.0));
    let drops: String = names
        .map(|name| format!("DROP VIEW IF EXISTS {name};"))
        .collect();
    connection
        .execute_batch(&format!("{drops} DELETE FROM meta WHERE key = '{KEY}'"))
        .context(|| "cannot remove the views")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Durability;

    fn views(database: &Database) -> Vec<String> {
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name";
        crate::sessions::read::all(database.connection(), sql, [], |row| row.get(0))
            .expect("readable")
    }

    #[test]
    fn views_are_added_once_and_follow_the_version() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let open =
            || Database::open(directory.path(), Durability::Objects).expect("a fresh directory");
        let mut database = open();
        assert_eq!(views(&database), [] as [&str; 0], "a hook needs none");
        add_views(&mut database).expect("writable");
        let added = views(&database);
        assert_eq!(added.len(), VIEWS.matches("CREATE VIEW").count());
        let sql = "DROP VIEW disk_usage; CREATE VIEW disk_usage AS SELECT 1 AS x";
        database.connection().execute_batch(sql).expect("writable");
        add_views(&mut database).expect("writable");
        let is_other = "SELECT count(*) FROM pragma_table_info('disk_usage') WHERE name = 'x'";
        let is_other = |database: &Database| -> bool {
            let row = database
                .connection()
                .query_row(is_other, [], |row| row.get(0));
            row.expect("readable")
        };
        assert!(is_other(&database), "they are not compared at each command");
        let sql = "UPDATE meta SET value = 1 WHERE key = 'views'";
        database.connection().execute_batch(sql).expect("writable");
        add_views(&mut database).expect("writable");
        assert!(!is_other(&database), "another version had added them");
        assert_eq!(views(&database), added);
    }

    #[test]
    fn views_wait_for_no_writer() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let open =
            || Database::open(directory.path(), Durability::Objects).expect("a fresh directory");
        let (mut database, other) = (open(), open());
        other
            .connection()
            .execute_batch("BEGIN IMMEDIATE")
            .expect("nobody else writes");
        add_views(&mut database).expect_err("another writes");
        assert_eq!(views(&database), [] as [&str; 0]);
        other.connection().execute_batch("ROLLBACK").expect("begun");
        add_views(&mut database).expect("writable");
        assert!(!views(&database).is_empty(), "the next command adds them");
    }
}
