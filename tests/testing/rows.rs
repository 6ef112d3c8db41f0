//! A store with rows that the tests write by themselves, and a workspace beside it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ckpt_schema::migration::OLDER_APPLICATION_ID;
use ckpt_store::{Milliseconds, Settings, Store, Surroundings};
use rusqlite::{Connection, Params};
use tempfile::TempDir;

/// What the clock says.
pub const NOW: Milliseconds = 1_000_000;

/// A store, its database, and the workspace `1`, which is `directory("project")`.
pub struct RowStore {
    scratch: TempDir,
    pub store: Store,
    sql: Connection,
}

impl RowStore {
    /// A store that knows the workspace and nothing else.
    pub fn new() -> Self {
        let world = Self::blank();
        world.workspace(1, "project");
        world
    }

    /// A store without any rows, and the directories `project` and `other`.
    pub fn blank() -> Self {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        for name in ["project", "project/src", "other", "home"] {
            std::fs::create_dir(scratch.path().join(name)).expect("a directory");
        }
        let store = Store::open(Surroundings {
            directory: scratch.path().join("store"),
            settings: Settings::default(),
            home: Some(scratch.path().join("home")),
            config_home: None,
            clock: || NOW,
            file_clock: ckpt_store::file_clock,
            file_times: ckpt_store::same_time,
            agent_process: || None,
            conversations: &ckpt_store::model::conversation::NoConversations,
        });
        let sql = Connection::open(scratch.path().join("store/sessions.db")).expect("the database");
        RowStore {
            store: store.expect("a fresh store"),
            sql,
            scratch,
        }
    }

    pub fn directory(&self, name: &str) -> PathBuf {
        self.scratch
            .path()
            .canonicalize()
            .expect("it is there")
            .join(name)
    }

    pub fn cwd(&self) -> PathBuf {
        self.directory("project")
    }

    pub fn execute(&self, sql: &str, parameters: impl Params) {
        self.sql
            .execute(sql, parameters)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// Runs several statements.
    pub fn rows(&self, sql: &str) {
        self.sql
            .execute_batch(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    pub fn workspace(&self, id: i64, name: &str) {
        let path = self.directory(name);
        let inode = path.metadata().expect("it is there").ino().cast_signed();
        self.execute(
            "INSERT INTO workspaces (id, key, path, device, inode, created_at, used_at)
             VALUES (?1, 'key' || ?1, ?2, 1, ?3, 0, 0)",
            (id, path.to_str(), inode),
        );
    }

    /// A session of workspace 1 that was heard of at a time.
    pub fn session(&self, id: &str, parent: Option<&str>, last_event_at: Milliseconds) {
        self.execute(
            "INSERT INTO sessions (id, workspace_id, agent, agent_id, parent_id, started_at, last_event_at, tool_events)
             VALUES (?1, 1, 'generic', 'agent-' || ?1, ?2, 0, ?3, 1)",
            (id, parent, last_event_at),
        );
    }

    pub fn message(&self, id: &str, session: &str, state: &str) {
        self.execute(
            "INSERT INTO messages (id, session_id, agent_id, prompt, state, created_at)
             VALUES (?1, ?2, 'agent-' || ?1, 'do ' || ?1, ?3, 7)",
            (id, session, state),
        );
    }

    pub fn step(&self, id: &str, session: &str, message: &str, state: &str) {
        self.execute(
            "INSERT INTO steps (id, session_id, message_id, state, started_at) VALUES (?1, ?2, ?3, ?4, 8)",
            (id, session, message, state),
        );
    }

    /// A change without stored bytes.
    pub fn change(&self, step: &str, attribution: &str, path: &str, lines: Option<(i64, i64)>) {
        self.execute(
            "INSERT INTO changes (workspace_id, step_id, attribution, path, kind, new_mode, additions, deletions, happened_at)
             VALUES (1, ?1, ?2, ?3, 'added', '100644', ?4, ?5, 9)",
            (step, attribution, path, lines.map(|lines| lines.0), lines.map(|lines| lines.1)),
        );
    }

    /// A snapshot of workspace 1, of a tree with the number in its first digits.
    pub fn snapshot(&self, id: i64) {
        self.execute(
            "INSERT INTO snapshots (id, workspace_id, tree, taken_at) VALUES (?1, 1, ?2, ?1)",
            (id, tree(id)),
        );
    }
}

/// The tree of [`RowStore::snapshot`].
pub fn tree(id: i64) -> String {
    format!("{id:04}{}", "a".repeat(36))
}

/// Returns what SQLite finds wrong with a database.
pub fn damage(database: &Path) -> Vec<String> {
    let sql = Connection::open(database).expect("the database");
    let mut found = Vec::new();
    for question in ["integrity_check", "foreign_key_check"] {
        let row = |row: &rusqlite::Row<'_>| {
            found.push(row.get(0)?);
            Ok(())
        };
        sql.pragma_query(None, question, row)
            .unwrap_or_else(|error| panic!("{question}: {error}"));
    }
    found.retain(|line: &String| line != "ok");
    found
}

/// Returns every row of every table, as text.
pub fn dump(directory: &Path) -> Vec<String> {
    rows_of(&directory.join("store/sessions.db"))
}

/// Returns every row of a database, as text, but for what its version is.
pub fn values(database: &Path) -> Vec<String> {
    let mut values = rows_of(database);
    values.retain(|row| !row.starts_with("meta: "));
    values
}

fn rows_of(database: &Path) -> Vec<String> {
    let sql = Connection::open(database).expect("the database");
    let mut tables = sql
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .expect("readable");
    let tables: Vec<String> = tables
        .query_map([], |row| row.get(0))
        .expect("readable")
        .map(Result::unwrap)
        .collect();
    let rows = |table: &String| {
        let mut statement = sql
            .prepare(&format!("SELECT * FROM {table}"))
            .expect("readable");
        let columns = statement.column_count();
        let read = |row: &rusqlite::Row<'_>| {
            Ok((0..columns)
                .map(|column| format!("{:?} ", row.get_ref(column).expect("a column")))
                .collect::<String>())
        };
        statement
            .query_map([], read)
            .expect("readable")
            .map(|row| format!("{table}: {}", row.unwrap()))
            .collect::<Vec<_>>()
    };
    tables.iter().flat_map(rows).collect()
}

/// Makes a store's directory with the session store that a build before the first release left, and a copy that it took.
pub fn put_older_build(store: &Path) {
    let private = |path: &Path, mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(path, mode).expect("it is ours");
    };
    std::fs::create_dir_all(store).expect("a writable directory");
    private(store, 0o700);
    for name in ["sessions.db", "sessions.db.backup-3"] {
        let database = store.join(name);
        let sql = Connection::open(&database).expect("a fresh file");
        sql.execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA application_id = {OLDER_APPLICATION_ID}; PRAGMA user_version = 21;
             CREATE TABLE messages (prompt TEXT); INSERT INTO messages VALUES ('of the older build')"
        ))
        .expect("a fresh file");
        drop(sql);
        private(&database, 0o600);
    }
}

/// Makes all that was ever written down older by so many milliseconds.
pub fn age(database: &Path, milliseconds: Milliseconds) {
    let columns = texts(
        database,
        "SELECT sqlite_master.name || '|' || columns.name FROM sqlite_master, pragma_table_info(sqlite_master.name) AS columns
          WHERE sqlite_master.type = 'table' AND columns.name LIKE '%\\_at' ESCAPE '\\' AND columns.type = 'INTEGER'",
    );
    let update = |column: &String| {
        let (table, column) = column.split_once('|').expect("it was joined");
        format!(
            "UPDATE {table} SET {column} = {column} - {milliseconds} WHERE {column} IS NOT NULL;"
        )
    };
    let statements: Vec<String> = columns.iter().map(update).collect();
    execute(database, &statements.concat());
}

/// Does something while another program writes to the database and does not come to an end.
pub fn with_write_lock(database: &Path, work: impl FnOnce()) {
    let connection = Connection::open(database).expect("a database");
    connection
        .execute_batch("BEGIN IMMEDIATE")
        .expect("nobody else writes");
    work();
    connection.execute_batch("ROLLBACK").expect("it is open");
}

/// Does something while another program has a database open and has read it.
pub fn while_open(database: &Path, work: impl FnOnce()) {
    let connection = Connection::open(database).expect("a database");
    let count = "SELECT count(*) FROM sqlite_schema";
    let tables: i64 = connection
        .query_row(count, [], |row| row.get(0))
        .expect("it is read");
    assert!(tables > 0, "it is a session store");
    work();
}

/// Runs statements on a database behind the store's back.
pub fn execute(database: &Path, statements: &str) {
    let sql = Connection::open(database).expect("the database");
    sql.execute_batch(statements).expect("statements");
}

/// Returns the only column of a query's rows.
pub fn texts(database: &Path, query: &str) -> Vec<String> {
    texts_of(&Connection::open(database).expect("the database"), query)
}

fn texts_of(sql: &Connection, query: &str) -> Vec<String> {
    let mut statement = sql.prepare(query).expect("a query");
    let rows = statement.query_map([], |row| row.get(0)).expect("it runs");
    rows.map(Result::unwrap).collect()
}

/// Returns the version of a database's tables.
pub fn version(database: &Path) -> u32 {
    let sql = Connection::open(database).expect("the database");
    sql.pragma_query_value(None, "user_version", |row| row.get(0))
        .expect("a database has one")
}
