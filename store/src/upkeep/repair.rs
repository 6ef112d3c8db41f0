//! `doctor --repair`: replaces a damaged session store by a new one with the rows that can still be read, and takes over
//! what earlier ones hold that were set aside. What no row knows any more is recovered from its repository.

use std::path::{Path, PathBuf};

use ckpt_schema::report::{Finding, FindingLevel};

use super::{forgotten_rows, rebuild};
use crate::error::{Context, Result};
use crate::fs::layout;
use crate::fs::names::{DAMAGED, DATABASE, OLDER};
use crate::model::number::count;
use crate::sessions::{self, Salvaged};
use crate::store::Store;
use crate::timeline::LOCK_TIMEOUT;
use crate::timeline::orphans::orphans;

/// What the findings are about.
const SUBJECT: &str = "database";

/// Repairs the session store if it is damaged, or if a damaged one was set aside and nothing was recorded since.
/// Returns a sentence for each act.
pub(crate) fn repair(store: &mut Store) -> Vec<Finding> {
    match store.unstuck(try_repair) {
        Ok(findings) => findings,
        Err(error) => vec![error.finding(FindingLevel::Error, SUBJECT)],
    }
}

fn try_repair(store: &mut Store) -> Result<Vec<Finding>> {
    if store.is_missing {
        return Ok(Vec::new());
    }
    let directory = store.surroundings.directory.clone();
    if !is_damaged(store)?
        && unread(store)?.is_empty()
        && sessions::wrong_objects(store.database.connection())?.is_empty()
        && sessions::unfinished(&directory)?.is_empty()
        && orphans(store)?.is_empty()
    {
        return Ok(Vec::new());
    }
    // Rows that were copied before a `forget` took them would come back with the new database.
    let _lock = layout::lock_upkeep(&directory, LOCK_TIMEOUT)?;
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
    if is_damaged(store)? {
        findings.extend(
            store
                .unstuck(salvage)
                .unwrap_or_else(|error| vec![error.finding(FindingLevel::Error, SUBJECT)]),
        );
    }
    findings.extend(
        store
            .unstuck(take_over_all)
            .unwrap_or_else(|error| vec![error.finding(FindingLevel::Error, SUBJECT)]),
    );
    match store.unstuck(|store| store.database.write(sessions::mend_objects)) {
        Ok(mended) => findings.extend(mended.iter().map(|name| {
            Finding::repaired(SUBJECT, format!(
                "the view, index or trigger `{name}`, which holds no data, was rebuilt or removed"
            ))
        })),
        Err(error) => findings.push(error.finding(FindingLevel::Error, SUBJECT)),
    }
    // Last, when the rows that could be read are back: whatever is unknown then has no row anywhere.
    findings.extend(rebuild::rebuild(store)?);
    Ok(findings)
}

/// Returns whether the session store is damaged, or lacks a table or a column. Fails if that cannot be found out.
fn is_damaged(store: &Store) -> Result<bool> {
    let connection = store.database.connection();
    Ok(match sessions::complaint(connection) {
        Err(error) if error.is_of_damaged_store() => true,
        complaint => complaint?.is_some() || sessions::lacks_column(connection)?,
    })
}

fn salvage(store: &mut Store) -> Result<Vec<Finding>> {
    let directory = store.surroundings.directory.clone();
    // Before the new file takes its place: a repair must not bring back what a killed `forget` had begun to remove.
    let salvaged = sessions::salvage(&directory, |rows| {
        forgotten_rows::take_out_of_former(rows, &directory)
    })?;
    // The open connection is that of the file that was set aside.
    store.reopen()?;
    let message = format!(
        "the session store was damaged: {} rows of it could be read and are in a new one; the former one is `{}`",
        salvaged.rows,
        salvaged.set_aside.display()
    );
    let mut findings = vec![Finding::repaired(SUBJECT, message)];
    if salvaged.from_backup > 0 {
        let rows = count(salvaged.from_backup, "row");
        let message = format!("{rows} that could not be read are those of a backup");
        findings.push(Finding::repaired(SUBJECT, message));
    }
    findings.extend(of_loss(&salvaged));
    Ok(findings)
}

/// Says what was lost or taken out.
fn of_loss(salvaged: &Salvaged) -> Vec<Finding> {
    let warning = |message: String| Finding::warning(SUBJECT, message);
    let mut findings = Vec::new();
    if !salvaged.damaged.is_empty() {
        findings.push(warning(format!("rows of {} are lost", salvaged.lost())));
    }
    if salvaged.is_cut {
        let message =
            "what a killed `forget` or `gc` had begun to remove is not in the new session store";
        findings.push(Finding {
            hint: Some(format!(
                "`ckpt-hook gc` removes the rest of it; `{}` holds it as well, and can be removed",
                salvaged.set_aside.display()
            )),
            ..warning(message.to_owned())
        });
    }
    findings
}

/// Takes over what was set aside earlier and holds rows that are nowhere else. The caller holds the lock of upkeep.
pub(super) fn take_over_all(store: &mut Store) -> Result<Vec<Finding>> {
    let directory = store.surroundings.directory.clone();
    let mut findings = Vec::new();
    for source in unread(store)? {
        let salvaged = sessions::add_former(&directory, &source, store.now(), |rows| {
            forgotten_rows::take_out_of_former(rows, &directory)
        })?;
        // The open connection has older rows.
        store.reopen()?;
        let place = source.display();
        if salvaged.rows == 0 && !salvaged.damaged.is_empty() {
            let message = format!("nothing of `{place}` can be read that is not known");
            findings.push(Finding::warning(SUBJECT, message));
            continue;
        }
        if salvaged.rows > 0 {
            let rows = count(salvaged.rows, "row");
            findings.push(Finding::repaired(SUBJECT, format!("{rows} of `{place}` were taken over")).hint("`ckpt-hook workspace` lists the histories; where another one continues, `ckpt-hook workspace adopt` exchanges them"));
        }
        findings.extend(of_loss(&salvaged));
    }
    Ok(findings)
}

fn unread(store: &Store) -> Result<Vec<PathBuf>> {
    sessions::unread(store.database.connection(), &store.surroundings.directory)
}

/// Returns the session stores that were set aside last, damaged and of an older build, if nothing was recorded since: the
/// snapshots are all that is left.
pub(crate) fn set_aside(store: &Store) -> Result<Vec<PathBuf>> {
    if store.is_missing {
        return Ok(Vec::new());
    }
    // Sessions whose messages were lost are not recorded since, either.
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM messages) AND NOT EXISTS (SELECT 1 FROM operations)
                  AND NOT EXISTS (SELECT 1 FROM labels) AND (NOT EXISTS (SELECT 1 FROM sessions)
                    OR EXISTS (SELECT 1 FROM diagnostics WHERE level = 'error' AND message LIKE 'the session store was damaged%'))";
    let is_empty: bool = store
        .database
        .connection()
        .query_row(sql, [], |row| row.get(0))
        .context(|| "cannot read the session store")?;
    match is_empty {
        true => newest(store),
        false => Ok(Vec::new()),
    }
}

/// Returns the damaged session store that was set aside last, and that of an older build.
fn newest(store: &Store) -> Result<Vec<PathBuf>> {
    let copies = sessions::copies(&store.surroundings.directory)?;
    let newest = |ending: &str| {
        let numbered = copies
            .iter()
            .filter_map(|path| Some((number(path, ending)?, path)));
        numbered.max().map(|(_, path)| path.clone())
    };
    Ok([newest(DAMAGED), newest(OLDER)]
        .into_iter()
        .flatten()
        .collect())
}

/// Returns the number in the name of a session store that was set aside; the highest was set aside last.
fn number(path: &Path, ending: &str) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    let number = name.strip_prefix(DATABASE)?.strip_prefix(ending)?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A damaged session store is known by its name.
    #[test]
    fn damaged_session_store_is_known_by_name() {
        let number = |name: &str| super::number(&Path::new("store").join(name), DAMAGED);
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
