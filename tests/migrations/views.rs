//! The shorter views show what the longer ones did.

use super::*;

/// Makes of a history without surprises one in which every column of the views has several values.
const VARIED: &str = "
    UPDATE sessions SET revert_base_id = iif(seq % 3, 1000 + seq % 2, NULL), parent_id = iif(seq % 5, NULL, id);
    UPDATE messages SET prompt = iif(seq % 41, iif(seq % 7, prompt, char(10) || '  ' || prompt), NULL), created_at = created_at + 123;
    UPDATE operations
       SET permanent = seq % 3 = 0, alone = seq % 2, kind = iif(seq % 11, kind, 'redo'), only_paths = iif(seq % 4, '[]', '[\"a\"]'),
           part_message_id = iif(seq % 5, message_id, NULL),
           step_id = iif(seq % 5, NULL, (SELECT id FROM steps WHERE message_id = operations.message_id LIMIT 1)),
           base_snapshot_id = ifnull((SELECT revert_base_id FROM sessions WHERE id = session_id), 1000);
    UPDATE operation_files
       SET path = ifnull((SELECT changes.path FROM changes JOIN steps ON steps.id = changes.step_id JOIN operations ON operations.id = operation_id
                           WHERE steps.message_id = operations.part_message_id LIMIT 1), path)
     WHERE position = 1;
    UPDATE steps SET unprotected = 'why', finished_at = NULL, state = 'open' WHERE seq % 100 = 50;
    UPDATE changes SET undone_by = (SELECT id FROM operations WHERE seq = 1000 + changes.id % 99) WHERE id % 13 = 0;
    UPDATE tools SET background = 1, waited_at = 5, ran_for = 77, paths = '[]' WHERE id % 31 = 0;
    INSERT INTO git_states (id, workspace_id, branch, seen_at)
      VALUES (1, 1, 'refs/heads/main', 1), (2, 1, NULL, 1), (3, 1, 'refs/heads/feature/x', 1);
    UPDATE snapshots SET git_state_id = 1 + id % 3, pruned_at = iif(id % 9, NULL, 5) WHERE id % 4;
    INSERT INTO labels (workspace_id, text, snapshot_id, created_at) SELECT 1, 'at ' || id, id, 5 FROM snapshots WHERE id % 400 = 0";

/// Returns the first rows of each view, and rows from far behind (renames), with the names of the columns, as text.
fn rows_of_views(connection: &Connection) -> BTreeMap<String, Vec<String>> {
    let views = pairs(
        connection,
        "SELECT name, type FROM sqlite_schema WHERE type = 'view'",
    );
    let rows = |view: &str, offset: u32| {
        let mut statement = connection
            .prepare(&format!("SELECT * FROM {view} LIMIT 1000 OFFSET {offset}"))
            .expect("a view can be asked");
        let names = statement.column_names();
        let names: Vec<String> = names.map(str::to_owned).collect();
        let row = |row: &rusqlite::Row<'_>| {
            let values = (0..names.len()).map(|column| row.get_ref(column));
            let values: rusqlite::Result<Vec<_>> = values.collect();
            Ok(format!("{names:?} {:?}", values?))
        };
        let rows = statement.query_map([], row).expect("it has rows");
        rows.collect::<rusqlite::Result<Vec<String>>>()
            .expect("readable")
    };
    views
        .into_iter()
        .map(|(view, _)| {
            let all = [0, 39_500].map(|offset| rows(&view, offset)).concat();
            (view, all)
        })
        .collect()
}

#[test]
fn the_shorter_views_have_the_rows_and_columns_of_the_longer_ones() {
    let connection = Connection::open_in_memory().expect("a database in memory");
    for migration in &MIGRATIONS[..12] {
        connection.execute_batch(migration).expect("a migration");
    }
    connection
        .execute_batch(
            "INSERT INTO workspaces (id, key, path, device, inode, created_at, used_at) VALUES (1, 'k', '/w', 1, 2, 0, 0)",
        )
        .expect("a workspace");
    for rows in [include_str!("../sql/history.sql"), VARIED] {
        connection.execute_batch(rows).expect("a history");
    }
    let longer = rows_of_views(&connection);
    connection
        .execute_batch(MIGRATIONS[12])
        .expect("a migration");
    let shorter = rows_of_views(&connection);
    assert_eq!(longer.len(), 12, "views");
    for (view, rows) in &longer {
        assert!(rows.len() > 10, "{view}: {} rows", rows.len());
        assert!(shorter.get(view) == Some(rows), "{view} has other rows");
    }
}
