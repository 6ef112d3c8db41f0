//! Rows of `hook_runs`. A hook call that looks at the workspace has a row while it does, so that a killed one leaves a
//! trace.

use ckpt_schema::event::Event;
use rusqlite::{Connection, params};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::{Database, feed};
use crate::error::{Context, Result};
use crate::model::Milliseconds;

/// Notes that a hook call begins, and returns its id.
pub(crate) fn begin_run(connection: &Connection, event: &Event, now: Milliseconds) -> Result<i64> {
    connection
        .execute(
            "INSERT INTO hook_runs (pid, event, session, started_at) VALUES (?1, ?2, ?3, ?4)",
            params![
                std::process::id(),
                event.event.name(),
                event.session_id,
                now
            ],
        )
        .context(|| "cannot note a hook call")?;
    Ok(connection.last_insert_rowid())
}

/// Notes that a hook call ended, successfully or not.
pub(crate) fn end_run(connection: &Connection, run: i64) -> Result<()> {
    connection
        .execute("DELETE FROM hook_runs WHERE id = ?1", [run])
        .context(|| "cannot note the end of a hook call")?;
    Ok(())
}

/// How old a call has to be to count as killed, in milliseconds. Its process cannot be checked: it may be in another
/// container, or on another machine.
const PATIENCE: Milliseconds = 60_000;

/// Turns killed calls into diagnostics, so that somebody learns of them.
pub(crate) fn note_killed(database: &mut Database, now: Milliseconds) -> Result<()> {
    let killed = killed(database.connection(), now)?;
    if killed.is_empty() {
        return Ok(());
    }
    database.write(|connection| {
        for run in killed {
            connection
                .execute(
                    "INSERT INTO diagnostics (level, event, session, message, at)
                     SELECT 'error', event, session, ?2, started_at FROM hook_runs WHERE id = ?1",
                    params![
                        run,
                        "a hook was killed, or ran into its deadline, before it was done"
                    ],
                )
                .context(|| "cannot note a diagnostic")?;
            feed::diagnostic(connection, connection.last_insert_rowid())?;
            end_run(connection, run)?;
        }
        Ok(())
    })
}

fn killed(connection: &Connection, now: Milliseconds) -> Result<Vec<i64>> {
    let cannot = || "cannot read the hook calls";
    let mut statement = connection
        .prepare("SELECT id, pid FROM hook_runs WHERE started_at < ?1")
        .context(cannot)?;
    let rows = statement
        .query_map([now.saturating_sub(PATIENCE)], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .and_then(Iterator::collect::<rusqlite::Result<Vec<(i64, i32)>>>)
        .context(cannot)?;
    Ok(rows
        .into_iter()
        .filter(|(_, pid)| !is_alive(*pid))
        .map(|(id, _)| id)
        .collect())
}

fn is_alive(pid: i32) -> bool {
    let Some(pid) = Pid::from_raw(pid.max(0)) else {
        return false;
    };
    // `EPERM` says that there is such a process, of another user: then nothing is known, and it counts as
    // alive.
    !matches!(test_kill_process(pid), Err(Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Durability;
    use ckpt_schema::EventKind;

    fn messages(database: &Database) -> u32 {
        let count = "SELECT count(*) FROM diagnostics WHERE message LIKE 'a hook was killed%'";
        database
            .connection()
            .query_row(count, [], |row| row.get(0))
            .expect("readable")
    }

    #[test]
    fn a_call_that_was_killed_is_told_of_once_and_one_at_work_is_not() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let mut database =
            Database::open(directory.path(), Durability::Objects).expect("a fresh store");
        let event = Event::new(EventKind::StepStart, "generic", "s");
        let (ours, dead) = database
            .write(|connection| {
                Ok((
                    begin_run(connection, &event, 0)?,
                    begin_run(connection, &event, 0)?,
                ))
            })
            .expect("writable");
        // No process has the highest number that the column holds.
        let update = "UPDATE hook_runs SET pid = ?1 WHERE id = ?2";
        database
            .connection()
            .execute(update, params![i32::MAX, dead])
            .expect("writable");
        note_killed(&mut database, PATIENCE).expect("writable");
        assert_eq!(messages(&database), 0, "it is too early to tell");
        for _ in 0..2 {
            note_killed(&mut database, PATIENCE + 1).expect("writable");
            assert_eq!(
                messages(&database),
                1,
                "one was killed, and that is told of once"
            );
        }
        let left: i64 = database
            .connection()
            .query_row("SELECT id FROM hook_runs", [], |row| row.get(0))
            .expect("one");
        assert_eq!(left, ours, "this process is at work");
    }
}
