//! Rows of `hook_runs`. A hook call that looks at the workspace has a row while it does, so that a killed one leaves a
//! trace.

use ckpt_schema::event::Event;
use rusqlite::{Connection, params};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::diagnostics::insert_diagnostic;
use super::read::{self, row};
use super::{Database, Diagnostic};
use crate::error::Result;
use crate::model::Milliseconds;

/// Notes that a hook call begins, and returns its id.
pub(crate) fn begin_run(connection: &Connection, event: &Event, now: Milliseconds) -> Result<i64> {
    let sql = "INSERT INTO hook_runs (pid, event, session, started_at) VALUES (?1, ?2, ?3, ?4)";
    let values = params![
        std::process::id(),
        event.event.name(),
        event.session_id,
        now
    ];
    super::execute(connection, "cannot note a hook call", sql, values)?;
    Ok(connection.last_insert_rowid())
}

/// Notes that a hook call ended, successfully or not.
pub(crate) fn end_run(connection: &Connection, run: i64) -> Result<()> {
    let sql = "DELETE FROM hook_runs WHERE id = ?1";
    super::execute(connection, "cannot note the end of a hook call", sql, [run])
}

/// How old a call has to be to count as killed, in milliseconds. Its process cannot be checked: it may be in another
/// container, or on another machine.
const CALL_TIMEOUT: Milliseconds = 60_000;

/// Turns killed calls into diagnostics, so that a person learns of them.
pub(crate) fn note_killed(database: &mut Database, now: Milliseconds) -> Result<()> {
    let killed = killed(database.connection(), now)?;
    if killed.is_empty() {
        return Ok(());
    }
    database.write(|connection| {
        for run in killed {
            let Killed {
                id,
                event,
                session,
                started_at,
                ..
            } = run;
            let diagnostic = Diagnostic {
                event: Some(&event),
                session: session.as_deref(),
                message: "a hook was killed, or ran into its deadline, before it was done",
                ..Diagnostic::default()
            };
            insert_diagnostic(connection, &diagnostic, started_at)?;
            end_run(connection, id)?;
        }
        Ok(())
    })
}

row! {
    /// A call that was killed.
    struct Killed {
        id: i64,
        pid: i32,
        event: String,
        session: Option<String>,
        started_at: Milliseconds,
    }
}

fn killed(connection: &Connection, now: Milliseconds) -> Result<Vec<Killed>> {
    let sql = "SELECT id, pid, event, session, started_at FROM hook_runs WHERE started_at < ?1";
    let what = "cannot read the hook calls";
    let old = [now.saturating_sub(CALL_TIMEOUT)];
    let mut runs = read::all_or(connection, what, sql, old, Killed::read)?;
    runs.retain(|run| !is_alive(run.pid));
    Ok(runs)
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

    /// A call that was killed is told of once and one at work is not.
    #[test]
    fn killed_call_is_told_once() {
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
        note_killed(&mut database, CALL_TIMEOUT).expect("writable");
        assert_eq!(messages(&database), 0, "it is too early to tell");
        for _ in 0..2 {
            note_killed(&mut database, CALL_TIMEOUT + 1).expect("writable");
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
