//! Copies of the session store, made by SQLite's backup interface. This module does IO.
//!
//! A copy is taken at most once a day, by the process that tidies up after a hook, and the last two are kept. If the
//! session store is damaged, the rows that cannot be read are taken from them.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::database::{Database, with_suffix};
use super::migrate::beside;
use super::new_file::make_file;
use super::schema_repair::complaint;
use crate::error::{Context, Error, Result};
use crate::fs::names::{BACKUP, DATABASE};
use crate::fs::{layout, presence};

/// How old the newest copy is before the next one is taken, in seconds.
const AGE: u64 = 24 * 3600;

/// How many are kept.
const KEPT_BACKUPS: usize = 2;

/// Comes after the name of a copy that is not whole yet.
const UNFINISHED: &str = ".new";

/// Takes a copy if the newest one is a day old, and removes all but the last two. The time is that of files, in seconds
/// since the epoch. The caller holds the lock of upkeep.
pub(crate) fn back_up(database: &Database, directory: &Path, now: i64) -> Result<()> {
    let old = backups(directory)?;
    let is_young = |path: &PathBuf| {
        let taken_at = path.metadata().map(|copy| copy.mtime());
        // A copy from the future, after the clock was set back, must not put the next one off for years.
        taken_at.is_ok_and(|taken_at| now.saturating_sub(taken_at).unsigned_abs() < AGE)
    };
    if old.first().is_some_and(is_young) {
        return Ok(());
    }
    let number = old.first().and_then(|path| number_of(path)).unwrap_or(0) + 1;
    let copy = with_suffix(&directory.join(DATABASE), &format!("{BACKUP}{number}"));
    let unfinished = with_suffix(&copy, UNFINISHED);
    presence::remove_file(&unfinished)?;
    let is_copied = copy_to(database.connection(), &unfinished).and_then(|()| {
        layout::sync(&unfinished)?;
        std::fs::rename(&unfinished, &copy)
            .context(|| format!("cannot rename `{}`", unfinished.display()))
    });
    if is_copied.is_err() {
        // The error says more than this one would. The next call, and `forget`, remove what stays.
        let _ = presence::remove_file(&unfinished);
    }
    is_copied?;
    layout::sync(directory)?;
    old.iter()
        .skip(KEPT_BACKUPS - 1)
        .try_for_each(|old| presence::remove_file(old))
}

/// Copies the whole database to a private file. Fails if the copy is damaged: it would push out a sound one.
fn copy_to(source: &Connection, target: &Path) -> Result<()> {
    let what = || "cannot back up the session store";
    make_file(target)?;
    let mut copy = Connection::open(target).context(what)?;
    // All pages in one step, which reads one transaction. In between, another process could write, and SQLite would
    // begin again.
    match Backup::new(source, &mut copy)
        .and_then(|backup| backup.step(-1))
        .context(what)?
    {
        StepResult::Done => {}
        _ => return Err(Error::busy(what())),
    }
    // The copy is one file, without a log.
    copy.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))
        .context(what)?;
    match complaint(&copy)? {
        None => Ok(()),
        Some(complaint) => Err(Error::failed(what()).because(complaint)),
    }
}

/// Returns the copies, the newest first.
pub(super) fn backups(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = beside(directory, &[BACKUP])?;
    found.retain(|path| number_of(path).is_some());
    found.sort_by_key(|path| std::cmp::Reverse(number_of(path)));
    Ok(found)
}

fn number_of(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    name.strip_prefix(DATABASE)?
        .strip_prefix(BACKUP)?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::settings::Durability;

    fn names(directory: &Path) -> Vec<String> {
        let name = |path: &PathBuf| {
            path.file_name()
                .map(|name| name.to_string_lossy().into_owned())
        };
        let found = beside(directory, &[BACKUP]).expect("readable");
        found.iter().filter_map(name).collect()
    }

    /// The time of what was just written, this many days later.
    fn days_after(directory: &Path, days: i64) -> i64 {
        let written = directory.join(DATABASE).metadata().expect("it is there");
        written.mtime() + days * (24 * 3600 + 60)
    }

    /// One copy a day and the last two stay.
    ///
    /// Invariant `work/rows-backup`: The session store is backed up once a day, and a
    /// damaged one pushes out no backup.
    #[test]
    fn one_copy_a_day_and_two_stay() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let directory = directory.path();
        let database = Database::open(directory, Durability::Objects).expect("a fresh directory");
        let back_up =
            |days| back_up(&database, directory, days_after(directory, days)).expect("writable");
        back_up(0);
        back_up(0);
        assert_eq!(names(directory), ["sessions.db.backup-1"]);
        for expected in [["1", "2"], ["2", "3"], ["3", "4"]] {
            back_up(1);
            assert_eq!(
                names(directory),
                expected.map(|number| format!("sessions.db.backup-{number}"))
            );
        }
        for path in backups(directory).expect("readable") {
            let mode = path.metadata().expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            let copy = Connection::open(&path).expect("a database");
            let found: String = copy
                .query_row("PRAGMA integrity_check", [], |row| row.get(0))
                .expect("readable");
            assert_eq!(found, "ok");
        }
    }

    /// Invariant `work/rows-backup`.
    #[test]
    fn a_damaged_store_pushes_out_no_copy() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let directory = directory.path();
        let open = || Database::open(directory, Durability::Objects).expect("it opens");
        let database = open();
        back_up(&database, directory, days_after(directory, 0)).expect("writable");
        let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'hook_runs'";
        let page: u32 = database
            .connection()
            .query_row(root, [], |row| row.get(0))
            .expect("a table");
        let page = page as usize;
        super::super::database::empty_log(database.connection());
        drop(database);
        let path = directory.join(DATABASE);
        let mut bytes = std::fs::read(&path).expect("ours");
        bytes[(page - 1) * 4096..page * 4096].fill(0xa5);
        std::fs::write(&path, bytes).expect("ours");
        back_up(&open(), directory, days_after(directory, 1)).expect_err("it is damaged");
        assert_eq!(names(directory), ["sessions.db.backup-1"]);
    }
}
