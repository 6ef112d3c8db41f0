//! Mends what rows say of each other once some are lost. This module does IO.

use rusqlite::{Connection, params};

use super::filling::{references, tables};
use crate::error::{Context, Result};
use crate::sessions::read;

/// What stands in for lost rows of workspaces and sessions, as far as others tell of them. `doctor --repair` finds the
/// folder of such a workspace by its snapshots.
const STAND_INS: &str =
    "INSERT INTO workspaces (id, key, path, device, inode, created_at, used_at, replaced_at)
     SELECT workspace_id, 'lost-' || workspace_id, 'lost', 0, 0, 0, 0, 1
       FROM (SELECT workspace_id FROM snapshots UNION SELECT workspace_id FROM sessions
              UNION SELECT workspace_id FROM operations)
      WHERE workspace_id NOT IN (SELECT id FROM workspaces);
     INSERT OR IGNORE INTO sessions (id, workspace_id, agent, agent_id, started_at, last_event_at)
     SELECT session, workspace_id, 'unknown', session, min(at), max(at)
       FROM (SELECT session_id AS session, snapshot_id AS snapshot, created_at AS at FROM messages
             UNION ALL SELECT session_id, start_snapshot_id, started_at FROM steps)
       JOIN snapshots ON snapshots.id = snapshot
      WHERE session NOT IN (SELECT id FROM sessions) GROUP BY session;";

/// Adds rows that stand in for lost ones, so that those that refer to them stay.
fn stand_in(new: &Connection) -> Result<()> {
    let what = || "cannot mend references to lost rows";
    new.execute_batch(STAND_INS).context(what)?;
    let sql = "SELECT message_id, session_id, min(started_at), min(start_snapshot_id) FROM steps
                WHERE message_id NOT IN (SELECT id FROM messages) GROUP BY message_id ORDER BY 3";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    let lost: Vec<(String, String, i64, Option<i64>)> = read::all(new, sql, [], read)?;
    for (id, session, at, snapshot) in lost {
        // In its place: after the messages of before, where its own number is free.
        new.execute(
            "INSERT OR IGNORE INTO messages (seq, id, session_id, created_at, snapshot_id)
             VALUES ((SELECT ifnull(max(seq), 0) + 1 FROM messages WHERE created_at <= ?3), ?1, ?2, ?3, ?4)",
            params![id, session, at, snapshot],
        )
        .context(what)?;
    }
    Ok(())
}

/// Mends references to lost rows. A reference becomes NULL if its table allows that. Otherwise its row is deleted, too,
/// and references to that one are mended in turn.
pub(super) fn mend(new: &Connection) -> Result<()> {
    stand_in(new)?;
    let mut all = Vec::new();
    for table in tables(new)? {
        let of_table = references(new, &table.name)?;
        all.extend(of_table.into_iter().map(|to| (table.name.clone(), to)));
    }
    loop {
        let mut changed = 0;
        for (table, (from, other, to)) in &all {
            let is_lost =
                format!("{from} IS NOT NULL AND {from} NOT IN (SELECT {to} FROM {other})");
            // `OR IGNORE` passes over rows whose column must not be NULL. The next statement removes them.
            for sql in [
                format!("UPDATE OR IGNORE main.{table} SET {from} = NULL WHERE {is_lost}"),
                format!("DELETE FROM main.{table} WHERE {is_lost}"),
            ] {
                let what = || "cannot mend references to lost rows";
                changed += new.execute(&sql, []).context(what)?;
            }
        }
        if changed == 0 {
            return Ok(());
        }
    }
}
