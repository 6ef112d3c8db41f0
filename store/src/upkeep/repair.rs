//! `doctor --repair`: replaces a damaged session store by a new one with the rows that can still be read. What no row
//! knows any more is recovered from its repository.

use std::path::{Path, PathBuf};

use ckpt_schema::report::{Finding, FindingLevel};
use rusqlite::Connection;

use super::{forgetting, rebuild};
use crate::error::{Context, Error, Result};
use crate::fs::layout;
use crate::fs::names::{DAMAGED, DATABASE};
use crate::sessions::{self, Database};
use crate::store::Store;
use crate::timeline::PATIENCE;
use crate::timeline::orphans::orphans;

/// What the findings are about.
const SUBJECT: &str = "database";

/// The message of the diagnostic about rows that no repair could read.
const ROWS_LOST: &str = "the session store was damaged, and rows of it are lost";

/// Repairs the session store if it is damaged, or if a damaged one was set aside and nothing was recorded since.
/// Returns what was done.
pub(crate) fn repair(store: &mut Store) -> Vec<Finding> {
    match try_repair(store) {
        Ok(findings) => findings,
        Err(error) => vec![failed(&error)],
    }
}

fn failed(error: &Error) -> Finding {
    Finding {
        hint: error.hint_text().map(str::to_owned),
        ..Finding::new(FindingLevel::Error, SUBJECT, error.with_causes())
    }
}

fn try_repair(store: &mut Store) -> Result<Vec<Finding>> {
    if store.is_missing {
        return Ok(Vec::new());
    }
    let directory = store.surroundings.directory.clone();
    if source(store)?.is_none()
        && sessions::wrong_objects(store.database.connection())?.is_empty()
        && sessions::unfinished(&directory)?.is_empty()
        && orphans(store)?.is_empty()
    {
        return Ok(Vec::new());
    }
    // Rows that were copied before a `forget` took them would come back with the new database.
    let _lock = layout::lock_upkeep(&directory, PATIENCE)?;
    let mut findings: Vec<Finding> = sessions::remove_unfinished(&directory)?
        .iter()
        .map(|path| {
            Finding::repaired(
                SUBJECT,
                format!(
                    "removed `{}`, which a killed repair had left",
                    path.display()
                ),
            )
        })
        .collect();
    if let Some(source) = source(store)? {
        findings.extend(salvage(store, &source).unwrap_or_else(|error| vec![failed(&error)]));
    }
    match store.database.write(sessions::mend_objects) {
        Ok(mended) => findings.extend(mended.iter().map(|name| {
            Finding::repaired(SUBJECT, format!(
                "the view, index or trigger `{name}`, which holds no data, was rebuilt or removed"
            ))
        })),
        Err(error) => findings.push(failed(&error)),
    }
    // Last, when the rows that could be read are back: whatever is unknown then has no row anywhere.
    findings.extend(rebuild::rebuild(store)?);
    Ok(findings)
}

fn salvage(store: &mut Store, source: &Path) -> Result<Vec<Finding>> {
    let directory = store.surroundings.directory.clone();
    let has_snapshots = holds(store.database.connection(), "snapshots").unwrap_or(false);
    let replaces = has_snapshots && source != directory.join(DATABASE);
    // Before the new file takes its place: a repair must not bring back what a killed `forget` had begun to remove.
    let take_out = |rows: &Connection| {
        if replaces && !holds(rows, "messages")? {
            let what = format!("cannot save what `{}` holds", source.display());
            return Err(Error::failed(what).because("no message in it can be read"));
        }
        forgetting::take_out_of_former(rows, &directory)
    };
    let salvaged = sessions::salvage(&directory, source, take_out)?;
    // The open connection is that of the file that was set aside.
    store.database = Database::open(&directory, store.surroundings.settings.durability)?;
    let mut findings = vec![Finding::repaired(
        SUBJECT,
        format!(
            "the session store was damaged: {} rows of `{}` could be read and are in a new one; the former one is `{}`",
            salvaged.rows,
            source.display(),
            salvaged.set_aside.display()
        ),
    )];
    findings.extend(salvaged.damaged.iter().map(|table| {
        Finding::new(
            FindingLevel::Warning,
            SUBJECT,
            format!("rows of `{table}` are lost"),
        )
    }));
    if !salvaged.damaged.is_empty() {
        store.diagnose(&sessions::Diagnostic {
            level: sessions::DiagnosticLevel::Warning,
            message: ROWS_LOST,
            detail: Some(&format!("of {}", salvaged.damaged.join(", "))),
            ..sessions::Diagnostic::default()
        })?;
    }
    if salvaged.is_cut {
        let message =
            "what a killed `forget` or `gc` had begun to remove is not in the new session store";
        findings.push(Finding {
            hint: Some(format!(
                "`ckpt-hook gc` removes the rest of it; `{}` holds it as well, and can be removed",
                salvaged.set_aside.display()
            )),
            ..Finding::new(FindingLevel::Warning, SUBJECT, message)
        });
    }
    Ok(findings)
}

/// Returns the database file to save rows from, if there is one.
fn source(store: &Store) -> Result<Option<PathBuf>> {
    let connection = store.database.connection();
    let complaint = sessions::complaint(connection);
    if complaint.is_ok_and(|complaint| complaint.is_none()) && !sessions::lacks_table(connection)? {
        return set_aside(store);
    }
    Ok(Some(store.surroundings.directory.join(DATABASE)))
}

/// Returns whether a table has rows.
fn holds(connection: &Connection, table: &'static str) -> Result<bool> {
    let sql = format!("SELECT EXISTS (SELECT 1 FROM {table})");
    connection
        .query_row(&sql, [], |row| row.get(0))
        .context(|| "cannot read the session store")
}

/// Returns the damaged session store that was set aside last, if nothing was recorded since. What a repair left
/// without a message does not count: the damaged file is the only one with their prompts.
pub(crate) fn set_aside(store: &Store) -> Result<Option<PathBuf>> {
    if store.is_missing {
        return Ok(None);
    }
    let sql = "WITH has (sessions, snapshots, others, recovered, lost) AS (SELECT
                 EXISTS (SELECT 1 FROM sessions), EXISTS (SELECT 1 FROM snapshots),
                 EXISTS (SELECT 1 FROM messages) OR EXISTS (SELECT 1 FROM operations) OR EXISTS (SELECT 1 FROM labels),
                 EXISTS (SELECT 1 FROM diagnostics WHERE message = ?1), EXISTS (SELECT 1 FROM diagnostics WHERE message = ?2))
               SELECT NOT (sessions OR snapshots) OR NOT others AND (lost OR recovered AND NOT sessions) FROM has";
    let is_empty: bool = store
        .database
        .connection()
        .query_row(sql, [rebuild::RECOVERED, ROWS_LOST], |row| row.get(0))
        .context(|| "cannot read the session store")?;
    match is_empty {
        true => newest_damaged(store),
        false => Ok(None),
    }
}

/// Returns the damaged session store that was set aside last.
fn newest_damaged(store: &Store) -> Result<Option<PathBuf>> {
    let copies = sessions::copies(&store.surroundings.directory)?;
    let damaged = copies
        .into_iter()
        .filter_map(|path| Some((damaged_number(&path)?, path)));
    Ok(damaged.max().map(|(_, path)| path))
}

/// Returns the number of a damaged session store by its name; the highest was set aside last.
fn damaged_number(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    let number = name.strip_prefix(DATABASE)?.strip_prefix(DAMAGED)?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_session_store_is_known_by_its_name() {
        let number = |name: &str| damaged_number(&Path::new("store").join(name));
        assert_eq!(number("sessions.db.damaged-2"), Some(2));
        assert!(number("sessions.db.damaged-10") > number("sessions.db.damaged-9"));
        for name in [
            "sessions.db",
            "sessions.db.version-3",
            "sessions.db.damaged-",
            "sessions.db.damaged-2-wal",
            "other.db.damaged-2",
        ] {
            assert_eq!(number(name), None, "{name}");
        }
    }
}
