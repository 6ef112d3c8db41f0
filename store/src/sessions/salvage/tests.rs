//! Session stores with every kind of damage.

use super::graft::PAGE;
use super::*;
use crate::sessions::database::empty_log;
use crate::sessions::read;
use crate::sessions::{Database, add_views, back_up};

/// A store with this many sessions, each with a message, and a diagnostic for each. Returns its bytes.
fn filled(directory: &Path, sessions: u32) -> Vec<u8> {
    let database = Database::open(directory, Durability::Full).expect("a fresh directory");
    database
        .connection()
        .execute_batch(&format!(
            "INSERT INTO workspaces (id, key, path, device, inode, created_at, used_at) VALUES (1, 'k', '/w', 1, 2, 0, 0);
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {sessions})
             INSERT INTO sessions (id, workspace_id, agent, agent_id, started_at, last_event_at)
               SELECT 'S' || i, 1, 'generic', 's' || i, 0, 0 FROM n;
             INSERT INTO messages (id, session_id, prompt, created_at)
               SELECT 'M' || agent_id, id, 'please ' || hex(zeroblob(100)), 0 FROM sessions;
             INSERT INTO diagnostics (level, message, at) SELECT 'info', id || hex(zeroblob(200)), 0 FROM sessions;"
        ))
        .expect("rows that the tables take");
    empty_log(database.connection());
    drop(database);
    std::fs::read(directory.join(DATABASE)).expect("ours")
}

fn numbers(connection: &Connection, table: &str) -> Vec<i64> {
    let sql = format!("SELECT rowid FROM {table} ORDER BY 1");
    read::all(connection, &sql, [], |row| row.get(0)).expect("readable")
}

fn open(directory: &Path) -> Database {
    Database::open(directory, Durability::Full).expect("it opens")
}

fn count(directory: &Path, table: &str) -> usize {
    numbers(open(directory).connection(), table).len()
}

/// The pages with definitions, from 0: the first one, and those with their texts.
fn pages_of_definitions(bytes: &[u8]) -> Vec<usize> {
    let is_such = |page: &[u8]| page.windows(7).any(|part| part == b"CREATE ");
    let pages = bytes.chunks_exact(PAGE).enumerate();
    let pages = pages.filter(|(number, page)| *number == 0 || is_such(page));
    pages.map(|(number, _)| number).collect()
}

/// The numbers of the rows of a damaged file that a query for a single row reads.
fn readable(path: &Path, table: &str, last: i64) -> Vec<i64> {
    let connection = Connection::open(path).expect("a file");
    let columns = "SELECT * FROM";
    let reads = |number: &i64| {
        let sql = format!("{columns} {table} WHERE rowid = ?1");
        let row = connection.query_row(&sql, [number], |row| {
            (0..row.as_ref().column_count()).try_for_each(|at| row.get_ref(at).map(drop))
        });
        row.is_ok()
    };
    (1..=last).filter(reads).collect()
}

/// No row that can be read is given up.
///
/// Invariant `work/rows-not-given-up`: A session store is set aside only if it is proven to be
/// damaged, and no row that can still be read is given up, also where a second fault comes at
/// the same time.
#[test]
fn no_readable_row_is_given_up() {
    let directory = tempfile::tempdir().expect("a scratch directory");
    let whole = filled(directory.path(), 90);
    let path = directory.path().join(DATABASE);
    let pages = whole.len() / PAGE;
    let definitions = pages_of_definitions(&whole);
    // Two neighbours at once, and one at the other end: an island between them must be found.
    for page in (1..pages).step_by(2) {
        let mut bytes = whole.clone();
        for page in [page, page + 2, pages - page] {
            if page > 0 && page < pages {
                bytes[page * PAGE..(page + 1) * PAGE].fill(0xa5);
            }
        }
        // Definitions that are lost cost no row.
        let mut with_definitions = bytes.clone();
        for page in &definitions {
            with_definitions[page * PAGE..(page + 1) * PAGE]
                .copy_from_slice(&whole[page * PAGE..(page + 1) * PAGE]);
        }
        std::fs::write(&path, &with_definitions).expect("ours");
        let tables = ["workspaces", "sessions", "messages", "diagnostics"];
        let [workspaces, sessions, messages, diagnostics] =
            tables.map(|table| readable(&path, table, 90));
        std::fs::write(&path, &bytes).expect("ours");
        let salvaged = salvage(directory.path(), |_| Ok(false)).expect("it is only damage");
        assert_eq!(std::fs::read(&salvaged.set_aside).expect("kept"), bytes);
        let database = open(directory.path());
        let of = |table| numbers(database.connection(), table);
        // But the one about the damage.
        assert_eq!(
            of("diagnostics WHERE level = 'info'"),
            diagnostics,
            "page {page}"
        );
        // A lost workspace has one that stands in for it.
        let expected = if sessions.is_empty() {
            workspaces
        } else {
            vec![1]
        };
        assert_eq!(of("workspaces"), expected, "page {page}");
        assert_eq!(of("sessions"), sessions, "page {page}");
        let both = messages.into_iter().filter(|one| sessions.contains(one));
        assert_eq!(of("messages"), both.collect::<Vec<_>>(), "page {page}");
        drop(database);
        for ending in BESIDE.into_iter().chain([""]) {
            let _ = std::fs::remove_file(with_suffix(&path, ending));
            let _ = std::fs::remove_file(with_suffix(&salvaged.set_aside, ending));
        }
    }
}

/// Invariant `work/rows-first-page`.
#[test]
fn a_lost_first_page_costs_no_row() {
    for garbage in [0, 0xa5] {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let mut bytes = filled(directory.path(), 300);
        bytes[..PAGE].fill(garbage);
        std::fs::write(directory.path().join(DATABASE), &bytes).expect("ours");
        let database = open(directory.path());
        let salvaged = database.salvaged.as_ref().expect("it was damaged");
        assert_eq!(salvaged.damaged, [] as [&str; 0], "{salvaged:?}");
        assert_eq!(numbers(database.connection(), "messages").len(), 300);
    }
}

/// In a store as it was made, as a repair made it, and as `forget` left each of them, with a backup or without; with the
/// views that a person's first command adds, and without.
///
/// Invariant `work/rows-first-page`.
#[test]
fn lost_definitions_cost_no_row() {
    for (is_repaired, has_views, is_scrubbed) in [
        (false, true, false),
        (true, true, false),
        (false, true, true),
        (true, false, true),
    ] {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let path = directory.path().join(DATABASE);
        filled(directory.path(), 300);
        if has_views {
            add_views(&mut open(directory.path())).expect("writable");
        }
        if is_repaired {
            let salvaged = salvage(directory.path(), |_| Ok(false)).expect("it is whole");
            remove(&salvaged.set_aside).expect("ours");
        }
        if is_scrubbed {
            open(directory.path()).scrub().expect("writable");
        }
        if is_scrubbed && is_repaired {
            back_up(&open(directory.path()), directory.path(), 0).expect("writable");
        }
        empty_log(open(directory.path()).connection());
        let whole = std::fs::read(&path).expect("ours");
        let pages = pages_of_definitions(&whole);
        assert!(pages.len() > 3, "{pages:?}");
        let mut lost: Vec<Vec<usize>> = pages.iter().map(|page| vec![*page]).collect();
        lost.extend(pages.windows(2).map(<[usize]>::to_vec));
        lost.push(pages);
        for (lost, garbage) in lost.iter().zip([0, 0xa5, 0].into_iter().cycle()) {
            let what = format!("{is_repaired} {has_views} {is_scrubbed} {lost:?} {garbage}");
            let mut bytes = whole.clone();
            for page in lost {
                bytes[page * PAGE..(page + 1) * PAGE].fill(garbage);
            }
            remove(&path).expect("ours");
            std::fs::write(&path, &bytes).expect("ours");
            let database = open(directory.path());
            let salvaged = database.salvaged.as_ref().expect("it was damaged");
            assert_eq!(salvaged.damaged, [] as [&str; 0], "{what}: {salvaged:?}");
            let connection = database.connection();
            assert_eq!(numbers(connection, "messages").len(), 300, "{what}");
            assert_eq!(numbers(connection, "sessions").len(), 300, "{what}");
            remove(&salvaged.set_aside).expect("ours");
        }
    }
}

/// Returns every row of a table as text, but for the note on a repair.
fn texts(directory: &Path, table: &str) -> Vec<String> {
    let connection = Connection::open(directory.join(DATABASE)).expect("a file");
    let columns: Vec<String> = read::all(
        &connection,
        "SELECT 'quote(\"' || name || '\")' FROM pragma_table_info(?1)",
        [table],
        |row| row.get(0),
    )
    .expect("readable");
    let sql = format!(
        "SELECT {} FROM {table} WHERE rowid <= 30 ORDER BY 1",
        columns.join(" || ")
    );
    read::all(&connection, &sql, [], |row| row.get(0)).expect("readable")
}

/// A table of which nothing but the definition is gone, or also those of its indexes, has all of its rows.
///
/// Invariant `work/rows-not-given-up`.
#[test]
fn a_lost_definition_costs_no_row() {
    for table in ["workspaces", "sessions", "messages", "diagnostics"] {
        for which in ["type = 'table' AND", ""] {
            let directory = tempfile::tempdir().expect("a scratch directory");
            filled(directory.path(), 30);
            let before = texts(directory.path(), table);
            let connection = Connection::open(directory.path().join(DATABASE)).expect("a file");
            connection
                .execute_batch(&format!(
                    "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE {which} tbl_name = '{table}'"
                ))
                .expect("writable");
            drop(connection);
            let salvaged = salvage(directory.path(), |_| Ok(false)).expect("it is ours");
            assert_eq!(salvaged.damaged, [] as [&str; 0], "{table} {which}");
            assert_eq!(texts(directory.path(), table), before, "{table} {which}");
        }
        let directory = tempfile::tempdir().expect("a scratch directory");
        filled(directory.path(), 30);
        let connection = Connection::open(directory.path().join(DATABASE)).expect("a file");
        let drop_it = format!("PRAGMA foreign_keys = OFF; DROP TABLE {table}");
        connection.execute_batch(&drop_it).expect("writable");
        drop(connection);
        let salvaged = salvage(directory.path(), |_| Ok(false)).expect("it is ours");
        assert_eq!(salvaged.damaged, [table], "what was dropped is lost");
    }
}

/// What a renamed column holds is in the place that it has.
///
/// Invariant `work/rows-not-given-up`.
#[test]
fn renamed_columns_keep_what_they_hold() {
    for (table, column) in [
        ("workspaces", "path"),
        ("sessions", "id"),
        ("sessions", "agent_id"),
        ("messages", "seq"),
        ("messages", "prompt"),
        ("diagnostics", "message"),
    ] {
        let directory = tempfile::tempdir().expect("a scratch directory");
        filled(directory.path(), 30);
        let before = texts(directory.path(), table);
        let connection = Connection::open(directory.path().join(DATABASE)).expect("a file");
        connection
            .execute_batch(&format!(
                "ALTER TABLE {table} RENAME COLUMN {column} TO other"
            ))
            .expect("writable");
        assert!(
            crate::sessions::lacks_column(&connection).expect("readable"),
            "{column}"
        );
        drop(connection);
        let salvaged = salvage(directory.path(), |_| Ok(false)).expect("it is ours");
        assert_eq!(salvaged.damaged, [] as [&str; 0], "{table} {column}");
        assert_eq!(texts(directory.path(), table), before, "{table} {column}");
    }
}

/// What a column held that is gone comes from a backup, and the rest of each row from the file itself.
///
/// Invariant `work/rows-not-given-up`.
#[test]
fn a_dropped_column_comes_from_a_backup() {
    for (table, column) in [
        ("workspaces", "created_at"),
        ("sessions", "started_at"),
        ("messages", "prompt"),
        ("diagnostics", "message"),
    ] {
        let directory = tempfile::tempdir().expect("a scratch directory");
        filled(directory.path(), 30);
        back_up(&open(directory.path()), directory.path(), 0).expect("writable");
        let before = texts(directory.path(), table);
        let connection = Connection::open(directory.path().join(DATABASE)).expect("a file");
        let drop_it = format!(
            "INSERT INTO diagnostics (level, message, at) VALUES ('info', 'since the backup', 0);
             ALTER TABLE {table} DROP COLUMN {column}"
        );
        connection.execute_batch(&drop_it).expect("writable");
        drop(connection);
        let salvaged = salvage(directory.path(), |_| Ok(false)).expect("it is ours");
        assert_eq!(salvaged.damaged, [table], "{column} is told of");
        assert_eq!(texts(directory.path(), table), before, "{table} {column}");
        let since = numbers(
            open(directory.path()).connection(),
            "diagnostics WHERE id = 31",
        );
        assert_eq!(
            since,
            [31],
            "{table} {column}: and what else is in the file"
        );
    }
}

/// A newer versions file is not taken for ours.
///
/// Invariant `work/rows-first-page`.
#[test]
fn newer_versions_file_is_not_ours() {
    for newer in [
        "CREATE TABLE of_the_future (x)",
        "CREATE INDEX of_the_future ON sessions (cwd)",
        "ALTER TABLE sessions ADD COLUMN of_the_future TEXT",
    ] {
        let directory = tempfile::tempdir().expect("a scratch directory");
        filled(directory.path(), 3);
        let path = directory.path().join(DATABASE);
        let other = Connection::open(&path).expect("a database");
        other.execute_batch(newer).expect("writable");
        drop(other);
        let mut bytes = std::fs::read(&path).expect("ours");
        bytes[..PAGE].fill(0);
        std::fs::write(&path, &bytes).expect("ours");
        assert_eq!(count(directory.path(), "sessions"), 0, "{newer}");
        let aside = directory.path().join("sessions.db.damaged-1");
        assert_eq!(std::fs::read(aside).expect("kept"), bytes, "{newer}");
    }
}

/// Rows that cannot be read come from a backup.
///
/// Invariant `work/rows-backup`.
#[test]
fn unreadable_rows_come_from_a_backup() {
    let directory = tempfile::tempdir().expect("a scratch directory");
    let mut bytes = filled(directory.path(), 300);
    back_up(&open(directory.path()), directory.path(), 0).expect("writable");
    bytes[PAGE..].fill(0xa5);
    std::fs::write(directory.path().join(DATABASE), &bytes).expect("ours");
    let database = open(directory.path());
    let salvaged = database.salvaged.as_ref().expect("it was damaged");
    assert!(
        salvaged.rows == 0 && salvaged.from_backup > 900,
        "{salvaged:?}"
    );
    assert_eq!(numbers(database.connection(), "messages").len(), 300);
}

/// A backup that is damaged itself keeps no row from being read.
///
/// Invariant `work/rows-first-page`.
#[test]
fn a_damaged_backup_is_passed_over() {
    for harm in [0..PAGE, 2..usize::MAX] {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let mut bytes = filled(directory.path(), 300);
        back_up(&open(directory.path()), directory.path(), 0).expect("writable");
        let backup = directory.path().join("sessions.db.backup-1");
        let mut copy = std::fs::read(&backup).expect("it was made");
        match harm.end == PAGE {
            true => copy[harm].fill(0),
            false => copy.truncate(harm.start),
        }
        std::fs::write(&backup, &copy).expect("ours");
        bytes[..PAGE].fill(0);
        std::fs::write(directory.path().join(DATABASE), &bytes).expect("ours");
        assert_eq!(count(directory.path(), "messages"), 300);
    }
}

#[test]
fn what_was_added_up_is_not_taken_over() {
    let directory = tempfile::tempdir().expect("a scratch directory");
    filled(directory.path(), 3);
    let sql = Connection::open(directory.path().join(DATABASE)).expect("a database");
    sql.execute_batch("UPDATE messages SET totals = '1 1 0 1 0 5 1 0'")
        .expect("writable");
    drop(sql);
    salvage(directory.path(), |_| Ok(false)).expect("it is whole");
    assert_eq!(count(directory.path(), "messages"), 3, "they are there");
    let summed = "messages WHERE totals IS NOT NULL";
    assert_eq!(
        count(directory.path(), summed),
        0,
        "a list adds up what is left"
    );
}

/// What refers to a lost row goes with it.
#[test]
fn references_to_a_lost_row_go_with_it() {
    let directory = tempfile::tempdir().expect("a scratch directory");
    filled(directory.path(), 3);
    let sql = Connection::open(directory.path().join(DATABASE)).expect("the database");
    sql.execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM sessions WHERE id = 'S2'")
        .expect("writable");
    drop(sql);
    salvage(directory.path(), |_| Ok(false)).expect("all of it is readable");
    assert_eq!(count(directory.path(), "messages"), 2);
}

/// What only other rows tell of is stood in for.
#[test]
fn rows_known_by_others_are_stood_in_for() {
    let directory = tempfile::tempdir().expect("a scratch directory");
    filled(directory.path(), 3);
    let sql = Connection::open(directory.path().join(DATABASE)).expect("the database");
    sql.execute_batch(
        "PRAGMA foreign_keys = OFF;
         INSERT INTO snapshots (id, workspace_id, tree, taken_at) VALUES (5, 1, hex(zeroblob(20)), 7);
         INSERT INTO steps (id, session_id, message_id, state, start_snapshot_id, started_at)
           VALUES ('T', 'S2', 'Ms2', 'closed', 5, 8);
         DELETE FROM workspaces; DELETE FROM sessions WHERE id = 'S2'; DELETE FROM messages WHERE id = 'Ms2'",
    )
    .expect("writable");
    drop(sql);
    salvage(directory.path(), |_| Ok(false)).expect("all of it is readable");
    let database = open(directory.path());
    let ask = |sql: &str| -> String {
        let value = database.connection().query_row(sql, [], |row| row.get(0));
        value.expect("one")
    };
    assert_eq!(
        ask("SELECT group_concat(id ORDER BY id) FROM sessions"),
        "S1,S2,S3"
    );
    assert_eq!(
        ask("SELECT snapshot_id || session_id FROM messages WHERE id = 'Ms2'"),
        "5S2"
    );
    assert_eq!(ask("SELECT key FROM workspaces"), "lost-1");
    assert_eq!(
        numbers(database.connection(), "pragma_foreign_key_check"),
        [] as [i64; 0]
    );
}

/// A former store is added before what was recorded since.
///
/// Invariant `work/rows-not-given-up`.
#[test]
fn former_store_is_added_before_newer_rows() {
    let directory = tempfile::tempdir().expect("a scratch directory");
    let directory = directory.path();
    filled(directory, 30);
    let path = directory.join(DATABASE);
    let former = with_suffix(&path, &format!("{DAMAGED}1"));
    std::fs::rename(&path, &former).expect("ours");
    for ending in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(with_suffix(&path, ending));
    }
    let database = open(directory);
    database
        .connection()
        .execute_batch(
            "INSERT INTO workspaces (id, key, path, device, inode, created_at, used_at) VALUES (1, 'n', '/w', 1, 2, 0, 0);
             INSERT INTO sessions (id, workspace_id, agent, agent_id, started_at, last_event_at)
               VALUES ('new', 1, 'generic', 's1', 0, 0);
             INSERT INTO messages (id, session_id, prompt, created_at) VALUES ('N', 'new', 'new', 0);",
        )
        .expect("rows that the tables take");
    let add = |directory: &Path| add_former(directory, &former, 7, |_| Ok(false));
    let is_unread = || unread(database.connection(), directory).expect("readable");
    assert_eq!(is_unread(), std::slice::from_ref(&former));
    let added = add(directory).expect("it is whole");
    assert!(added.rows >= 91, "{added:?}");
    assert_eq!(is_unread(), [] as [PathBuf; 0], "once is enough");
    let by_another = "UPDATE meta SET key = key || '-next' WHERE key LIKE 'read %'";
    database
        .connection()
        .execute_batch(by_another)
        .expect("writable");
    assert_eq!(
        is_unread(),
        std::slice::from_ref(&former),
        "another version may read more"
    );
    let connection = database.connection();
    assert_eq!(
        numbers(connection, "messages"),
        (-29..=1).collect::<Vec<_>>()
    );
    let ask = |sql: &str| -> String {
        connection
            .query_row(sql, [], |row| row.get(0))
            .expect("one")
    };
    assert_eq!(
        ask("SELECT group_concat(key || ifnull(replaced_at, '')) FROM workspaces"),
        "k7,n"
    );
    assert_eq!(
        ask(
            "SELECT workspaces.key FROM sessions JOIN workspaces ON workspace_id = workspaces.id WHERE sessions.id = 'S9'"
        ),
        "k"
    );
    assert_eq!(ask("PRAGMA integrity_check"), "ok");
    assert_eq!(
        add(directory).expect("it is whole").rows,
        0,
        "twice is no more"
    );
}

/// A former store of which nothing can be read adds nothing.
#[test]
fn unreadable_former_store_adds_nothing() {
    let directory = tempfile::tempdir().expect("a scratch directory");
    filled(directory.path(), 3);
    let garbage = directory.path().join("sessions.db.damaged-1");
    std::fs::write(&garbage, "no database".repeat(1000)).expect("writable");
    let added = add_former(directory.path(), &garbage, 7, |_| Ok(false)).expect("it is damage");
    assert_eq!(added.rows, 0);
    assert_eq!(count(directory.path(), "sessions"), 3);
}
