//! Rewrites the session store without what was deleted. This module does IO.
//!
//! ```text
//! VACUUM      writes all rows to the log               under the write lock
//! checkpoint  moves the log into the file              while others write
//! and again   moves what came since, and empties it    under the write lock, in turns with others
//! ```

use std::time::{Duration, Instant};

use super::database::{BUSY_TIMEOUT, Database};
use crate::error::{Context, Error, Result};

/// How long readers are waited for while no process can write.
const TURN: Duration = Duration::from_millis(250);
/// How long others can write then: longer than SQLite pauses between two tries to lock.
const YIELD_TIME: Duration = Duration::from_millis(120);

impl Database {
    /// Rewrites the file without the deleted rows, and empties the log. Fails as busy if another process keeps reading
    /// the file.
    pub(crate) fn scrub(&self) -> Result<()> {
        self.overwrite_deleted()?;
        let connection = self.connection();
        // It gives rows other numbers.
        super::note_rewritten(connection, None)?;
        connection
            // This writes the new file to the log. Until the log is moved, the old file with its deleted rows is
            // what is on the disk, so the rest is no tidying but the second half.
            .execute_batch("VACUUM")
            .context(|| "cannot rewrite the session store")?;
        // What fails here fails again below, and is told there.
        let _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        let what = || "cannot configure the session store";
        connection.busy_timeout(TURN).context(what)?;
        let emptied = self.empty_log_in_turns();
        connection.busy_timeout(BUSY_TIMEOUT).context(what)?;
        emptied
    }

    fn empty_log_in_turns(&self) -> Result<()> {
        let end = Instant::now() + BUSY_TIMEOUT;
        while !self.checkpoint()? {
            if Instant::now() > end {
                return Err(Error::busy(
                    "another process reads the session store: what was forgotten is still in its log",
                )
                .hint("`ckpt-hook gc` finishes it"));
            }
            std::thread::sleep(YIELD_TIME);
        }
        Ok(())
    }

    /// Moves the log into the file and empties it. Waits for readers and writers, but returns false at once while
    /// another process checkpoints: SQLite does not wait for that (see its `c3ref/wal_checkpoint_v2.html`).
    fn checkpoint(&self) -> Result<bool> {
        self.connection()
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
            .map(|is_busy: bool| !is_busy)
            .context(|| "cannot empty the log of the session store")
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;
    use crate::sessions::{Diagnostic, DiagnosticLevel};
    use crate::settings::Durability;

    fn open(directory: &Path) -> Database {
        Database::open(directory, Durability::Objects).expect("a store")
    }

    fn note(database: &mut Database, message: &str) -> Result<()> {
        let diagnostic = Diagnostic {
            level: DiagnosticLevel::Info,
            message,
            ..Diagnostic::default()
        };
        database.diagnose(&diagnostic, 1)
    }

    /// Forgets all diagnostics. Rewrites the file once it may.
    fn forget(directory: &Path, deleted: &Sender<()>, may_go_on: &Receiver<()>) -> Result<()> {
        let mut database = open(directory);
        database.overwrite_deleted()?;
        database.write(|connection| {
            let sql = "DELETE FROM diagnostics";
            connection
                .execute(sql, [])
                .context(|| "they can be deleted")
        })?;
        deleted.send(()).expect("it is waited for");
        may_go_on.recv().expect("it is told");
        database.scrub()
    }

    /// A process that reads for long while the log is emptied keeps no other from writing.
    ///
    /// Invariant `agent/upkeep-waits`.
    #[test]
    fn long_reader_keeps_no_writer_waiting() {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let directory = scratch.path();
        note(&mut open(directory), "a secret").expect("writable");
        let (reader, mut writer) = (open(directory), open(directory));
        std::thread::scope(|scope| {
            let ((deleted, is_deleted), (go_on, may_go_on)) = (channel(), channel());
            let forgetting = scope.spawn(move || forget(directory, &deleted, &may_go_on));
            is_deleted.recv().expect("it is deleted");
            let read = reader.read(|connection| {
                let count = "SELECT count(*) FROM diagnostics";
                let count: u32 = connection
                    .query_row(count, [], |row| row.get(0))
                    .context(|| "it is readable")?;
                assert_eq!(count, 0, "the reading has begun");
                let version = writer.data_version()?;
                go_on.send(()).expect("it is waited for");
                while writer.data_version()? == version {
                    std::thread::yield_now();
                }
                // It is rewritten, and the log is not emptied: there are readers. They wait for longer than this altogether.
                (0..3).try_for_each(|number| {
                    let waits = writer.connection().busy_timeout(Duration::from_secs(1));
                    waits.context(|| "it can be configured")?;
                    note(&mut writer, &format!("meanwhile {number}"))
                })
            });
            read.expect("nobody is kept waiting");
            let forgotten = forgetting.join().expect("no panic");
            forgotten.expect("nobody reads any more");
        });
        for name in ["sessions.db", "sessions.db-wal"] {
            let bytes = std::fs::read(directory.join(name)).expect("ours");
            let has_secret = bytes.windows(8).any(|part| part == b"a secret");
            assert!(!has_secret, "{name} has none of it");
        }
    }
}
