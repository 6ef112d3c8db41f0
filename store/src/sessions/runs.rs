//! Rows of `hook_runs`: a hook call that looks at the workspace is noted while it does, so that one that was killed shows.

use ckpt_schema::event::Event;
use rusqlite::{Connection, params};

use crate::Milliseconds;
use crate::error::{Context, Result};

/// Notes that a hook call begins, and returns its id.
pub(crate) fn begin_run(connection: &Connection, event: &Event, now: Milliseconds) -> Result<i64> {
    connection
        .execute(
            "INSERT INTO hook_runs (pid, event, session, started_at) VALUES (?1, ?2, ?3, ?4)",
            params![std::process::id(), event.event.name(), event.session_id, now],
        )
        .context(|| "cannot note a hook call")?;
    Ok(connection.last_insert_rowid())
}

/// Notes that a hook call ended, well or not.
pub(crate) fn end_run(connection: &Connection, run: i64) -> Result<()> {
    connection
        .execute("DELETE FROM hook_runs WHERE id = ?1", [run])
        .context(|| "cannot note the end of a hook call")?;
    Ok(())
}
