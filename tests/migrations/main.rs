//! The migrations make the tables and views that the documentation promises. What the store does with them is tested there.

use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::migration::{MIGRATIONS, VIEWS};
use rusqlite::Connection;

/// The tables that hold a session store.
const TABLES: [&str; 10] = [
    "workspaces",
    "sessions",
    "messages",
    "steps",
    "changes",
    "git_states",
    "operations",
    "operation_files",
    "operation_git",
    "diagnostics",
];

/// The views, which are the interface, and the columns that they will always have.
const PROMISED_VIEWS: [(&str, &[&str]); 5] = [
    (
        "session_overview",
        &[
            "session",
            "agent",
            "agent_session",
            "workspace",
            "started",
            "last_event",
            "messages",
            "steps",
            "files",
        ],
    ),
    (
        "message_overview",
        &[
            "message",
            "session",
            "agent",
            "time",
            "prompt",
            "state",
            "steps",
            "files",
            "additions",
            "deletions",
        ],
    ),
    (
        "step_overview",
        &[
            "step",
            "session",
            "message",
            "started",
            "finished",
            "state",
            "files",
            "additions",
            "deletions",
        ],
    ),
    (
        "file_history",
        &[
            "time",
            "agent",
            "session",
            "message",
            "step",
            "path",
            "kind",
            "additions",
            "deletions",
        ],
    ),
    (
        "operation_overview",
        &[
            "operation",
            "kind",
            "session",
            "message",
            "time",
            "state",
            "outcome",
            "files",
            "conflicts",
        ],
    ),
];

fn store() -> Connection {
    let connection = Connection::open_in_memory().expect("memory can be opened");
    connection
        .pragma_update(None, "foreign_keys", true)
        .expect("a pragma");
    for migration in MIGRATIONS.iter().chain([&VIEWS]) {
        connection
            .execute_batch(migration)
            .expect("the migration is SQL");
    }
    connection
}

/// Runs a query whose rows are two texts.
fn pairs(connection: &Connection, sql: &str) -> Vec<(String, String)> {
    let mut statement = connection.prepare(sql).expect("the query is SQL");
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .expect("the query runs");
    rows.map(|row| row.expect("two texts")).collect()
}

fn objects(connection: &Connection) -> BTreeMap<String, String> {
    pairs(connection, "SELECT name, type FROM sqlite_schema")
        .into_iter()
        .collect()
}

fn columns(connection: &Connection, object: &str) -> BTreeSet<String> {
    pairs(
        connection,
        &format!("SELECT name, type FROM pragma_table_info('{object}')"),
    )
    .into_iter()
    .map(|pair| pair.0)
    .collect()
}

/// A session with one message, one step that added a file, and one change from outside.
fn filled() -> Connection {
    let connection = store();
    connection
        .execute_batch(
            "INSERT INTO workspaces (id, key, path, device, inode, created_at, used_at) VALUES (1, 'k', '/w', 1, 2, 0, 0);
             INSERT INTO sessions (id, workspace_id, agent, agent_id, started_at, last_event_at)
               VALUES ('S', 1, 'generic', 's1', 1700000000123, 1700000000123);
             INSERT INTO messages (id, session_id, prompt, created_at) VALUES ('M', 'S', 'please', 1700000000123);
             INSERT INTO steps (id, session_id, message_id, state, started_at) VALUES ('T', 'S', 'M', 'closed', 1700000000123);
             INSERT INTO changes (workspace_id, step_id, attribution, path, kind, new_mode, additions, deletions, happened_at)
               VALUES (1, 'T', 'agent', 'a.txt', 'added', '100644', 3, 0, 1700000000123),
                      (1, NULL, 'outside', 'b.txt', 'added', '100644', 9, 0, 1700000000123);",
        )
        .expect("rows that the tables take");
    connection
}

#[test]
fn every_table_of_the_documentation_is_there() {
    let objects = objects(&store());
    for table in TABLES {
        assert_eq!(
            objects.get(table).map(String::as_str),
            Some("table"),
            "`{table}` is promised"
        );
    }
}

/// A program reads all statements of the schema whenever it opens the file, so comments stand before them.
#[test]
fn no_statement_of_the_schema_has_a_comment() {
    let statements = pairs(&store(), "SELECT name, ifnull(sql, '') FROM sqlite_schema");
    for (name, sql) in statements {
        assert!(!sql.contains("--"), "`{name}` has one");
    }
}

#[test]
fn every_table_is_strict() {
    for (table, strict) in pairs(
        &store(),
        "SELECT name, CAST(strict AS TEXT) FROM pragma_table_list WHERE type = 'table'",
    ) {
        let ours = !table.starts_with("sqlite_");
        assert!(
            !ours || strict == "1",
            "`{table}`: a wrong type must not get in unseen"
        );
    }
}

/// Every view has the columns that users build on.
///
/// Invariant `truth/contract`.
#[test]
fn every_view_has_its_promised_columns() {
    let connection = store();
    let objects = objects(&connection);
    for (view, promised) in PROMISED_VIEWS {
        assert_eq!(
            objects.get(view).map(String::as_str),
            Some("view"),
            "`{view}` is promised"
        );
        let columns = columns(&connection, view);
        for column in promised {
            assert!(
                columns.contains(*column),
                "`{view}.{column}` is promised; it has {columns:?}"
            );
        }
    }
}

/// The page on the session store names every column of every view.
#[test]
fn page_names_every_column_of_every_view() {
    let page = include_str!("../../docs/database.md");
    let connection = store();
    for (view, _) in PROMISED_VIEWS {
        let begin = format!("\n### `{view}`: ");
        let (_, section) = page
            .split_once(&begin)
            .unwrap_or_else(|| panic!("`{view}` has a section"));
        let section = section
            .split("\n##")
            .next()
            .expect("a split has a first part");
        for column in columns(&connection, view) {
            assert!(
                section.contains(&format!("`{column}`")),
                "`{view}.{column}` has no place on the page"
            );
        }
    }
}

/// Returns whether a line of a plan says that a table is read as a whole. A subquery is, once it has been answered.
fn is_scan_of_a_table(line: &str) -> bool {
    line.starts_with("SCAN") && !line.starts_with("SCAN (subquery") && line != "SCAN workspaces"
}

/// A view answers for one row without reading a table as a whole.
#[test]
fn view_of_one_row_reads_no_whole_table() {
    let connection = store();
    for (view, key) in [
        ("message_overview", "message"),
        ("session_overview", "session"),
        ("step_overview", "step"),
        ("operation_overview", "operation"),
        ("operation_file_overview", "operation"),
        ("tool_overview", "step"),
        ("tool_overview", "seq"),
        ("snapshot_overview", "seq"),
        ("file_history", "step"),
        ("file_history", "seq"),
    ] {
        let sql = format!("EXPLAIN QUERY PLAN SELECT * FROM {view} WHERE {key} = ?1");
        let mut statement = connection.prepare(&sql).expect("the view is SQL");
        let rows = statement
            .query_map(["x"], |row| row.get::<_, String>("detail"))
            .expect("it can be planned");
        let plan: Vec<String> = rows.map(|row| row.expect("text")).collect();
        assert!(
            !plan.iter().any(|line| is_scan_of_a_table(line)),
            "one {key} of `{view}` costs what the store holds: {plan:#?}"
        );
    }
}

/// A query of the documentation reads no change of another workspace.
#[test]
fn documented_query_reads_only_its_workspace() {
    let connection = store();
    for query in documented_queries() {
        let mut statement = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {query}"))
            .expect("it is SQL");
        let rows = statement
            .query_map([], |row| row.get::<_, String>("detail"))
            .expect("it can be planned");
        let plan: Vec<String> = rows.map(|row| row.expect("text")).collect();
        assert!(
            !plan.iter().any(|line| line.starts_with("SCAN changes")),
            "{query}\n{plan:#?}"
        );
    }
}

/// A title is the first line of a prompt that says something.
#[test]
fn title_is_the_first_telling_line() {
    let connection = filled();
    for (prompt, title) in [
        ("please", "please"),
        ("  \n\nfix it\nand more", "fix it"),
        ("", ""),
        (&"x".repeat(200), &"x".repeat(80)),
    ] {
        connection
            .execute("UPDATE messages SET prompt = ?1", [prompt])
            .expect("writable");
        let found = pairs(&connection, "SELECT title, workspace FROM message_overview");
        assert_eq!(
            found,
            [(title.to_owned(), "/w".to_owned())],
            "of {prompt:?}"
        );
    }
}

/// A rename is told by the path that it was.
#[test]
fn rename_is_told_by_its_former_path() {
    let connection = filled();
    connection
        .execute_batch(
            "INSERT INTO snapshots (id, workspace_id, tree, taken_at) VALUES (1, 1, '0123456789012345678901234567890123456789', 1);
             INSERT INTO changes (workspace_id, step_id, attribution, to_snapshot_id, path, kind, old_mode, old_blob, new_mode, new_blob,
                                  happened_at)
             VALUES (1, 'T', 'agent', 1, 'old', 'deleted', '100644', 'blob', NULL, NULL, 1),
                    (1, 'T', 'agent', 1, 'new', 'added', NULL, NULL, '100644', 'blob', 1);",
        )
        .expect("rows that the tables take");
    assert_eq!(
        pairs(
            &connection,
            "SELECT path, renamed_from FROM file_history WHERE renamed_from IS NOT NULL"
        ),
        [("new".to_owned(), "old".to_owned())],
        "the same bytes went and came"
    );
}

/// A view shows utc text and counts what the agent changed.
#[test]
fn view_shows_utc_and_counts_agents_changes() {
    let sql = "SELECT time, files || ' ' || additions FROM message_overview";
    let expected = vec![("2023-11-14 22:13:20".to_owned(), "1 3".to_owned())];
    assert_eq!(
        pairs(&filled(), sql),
        expected,
        "milliseconds for programs, text for people; what came from outside is not its"
    );
}

/// The history of files keeps what came from outside.
#[test]
fn history_of_files_keeps_outside_changes() {
    let sql = "SELECT path, attribution FROM file_history WHERE step IS NULL";
    let expected = vec![("b.txt".to_owned(), "outside".to_owned())];
    assert_eq!(
        pairs(&filled(), sql),
        expected,
        "a change that no step made is history, too"
    );
}

#[test]
fn a_session_that_goes_takes_its_rows_along() {
    let connection = filled();
    connection
        .execute("DELETE FROM sessions", [])
        .expect("nothing holds it back");
    let left = pairs(&connection, "SELECT path, attribution FROM changes");
    assert_eq!(
        left,
        vec![("b.txt".to_owned(), "outside".to_owned())],
        "`forget` leaves no row of the session behind"
    );
}

/// An undo names only an operation that is there.
#[test]
fn undo_names_an_existing_operation() {
    let connection = filled();
    connection
        .execute_batch(
            "INSERT INTO operations (id, workspace_id, session_id, kind, state, on_conflict, started_at)
               SELECT 'O1', 1, id, 'revert', 'done', 'merge', 1 FROM sessions LIMIT 1;
             INSERT INTO operations (id, workspace_id, kind, state, on_conflict, started_at, undoes)
               VALUES ('O2', 1, 'restore', 'done', 'merge', 2, 'O1')",
        )
        .expect("rows that the tables take");
    let undoes = |connection: &Connection| {
        pairs(
            connection,
            "SELECT operation, ifnull(undoes, '') FROM operation_overview WHERE operation = 'O2'",
        )
    };
    let of = |undone: &str| vec![("O2".to_owned(), undone.to_owned())];
    assert_eq!(undoes(&connection), of("O1"), "the view tells");
    connection
        .execute("DELETE FROM operations WHERE id = 'O1'", [])
        .expect("nothing holds it back");
    assert_eq!(undoes(&connection), of(""), "an id of nothing says nothing");
    let unknown = connection.execute("UPDATE operations SET undoes = 'O9'", []);
    assert!(unknown.is_err(), "what is not there was not undone");
}

#[test]
fn a_state_that_is_not_one_is_refused() {
    let connection = filled();
    let refused = connection.execute("UPDATE messages SET state = 'lost'", []);
    assert!(refused.is_err(), "the checks hold what the types say");
}

#[test]
fn the_store_says_which_binaries_may_use_it() {
    let found = pairs(
        &store(),
        "SELECT key, CAST(value AS TEXT) FROM meta ORDER BY key",
    );
    let names: Vec<&str> = found.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(
        names,
        ["min_reader", "min_writer"],
        "an older binary must be able to refuse politely"
    );
}

/// Returns the SQL of every example in `docs/database.md` but the one with a full-text index: the library's SQLite is built without
/// FTS5, which the program `sqlite3` has. That one runs it where the command line is tested.
fn documented_queries() -> Vec<String> {
    let text = include_str!("../../docs/database.md");
    let blocks = text.split("```sql\n").skip(1);
    let examples = blocks.map(|block| block.split("```").next().expect("a split has a first part"));
    examples
        .filter(|example| !example.contains("USING fts5"))
        .map(str::to_owned)
        .collect()
}

/// Invariant `truth/contract`.
#[test]
fn every_query_of_the_documentation_runs() {
    let connection = filled();
    let queries = documented_queries();
    assert!(!queries.is_empty(), "the examples are found");
    for query in queries {
        let ran = connection
            .prepare(&query)
            .and_then(|mut statement| statement.query([])?.next().map(|_| ()));
        assert_eq!(ran, Ok(()), "it is there to be copied: {query}");
    }
}
