//! `doctor --repair`: a damaged session store gives way to a new one, with the rows that can still be read.

use std::path::PathBuf;

use ckpt_schema::report::Finding;

use crate::error::{Context, Result};
use crate::fs::ownership::DATABASE;
use crate::sessions::{self, Database};
use crate::store::Store;

/// Mends the session store, where it is damaged, or was so that it was set aside and nothing was recorded since. Returns what was done.
pub(crate) fn repair(store: &mut Store) -> Vec<Finding> {
    match try_repair(store) {
        Ok(findings) => findings,
        Err(error) => vec![Finding {
            hint: error.hint_text().map(str::to_owned),
            ..finding("error", error.with_causes())
        }],
    }
}

fn try_repair(store: &mut Store) -> Result<Vec<Finding>> {
    if store.is_missing {
        return Ok(Vec::new());
    }
    let Some(source) = source(store)? else {
        return Ok(Vec::new());
    };
    let directory = store.surroundings.directory.clone();
    let salvaged = sessions::salvage(&directory, &source)?;
    store.database = Database::open(&directory, store.surroundings.settings.durability)?;
    let mut findings = vec![Finding {
        repaired: true,
        ..finding(
            "warning",
            format!(
                "the session store was damaged: {} rows of `{}` could be read and are in a new one; the former one is `{}`",
                salvaged.rows,
                source.display(),
                salvaged.set_aside.display()
            ),
        )
    }];
    findings.extend(
        salvaged
            .damaged
            .iter()
            .map(|table| finding("warning", format!("rows of `{table}` are lost"))),
    );
    Ok(findings)
}

/// Returns the database file to save rows from, if there is one.
fn source(store: &Store) -> Result<Option<PathBuf>> {
    let connection = store.database.connection();
    let answer: rusqlite::Result<String> =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
    if answer.is_ok_and(|answer| answer == "ok") {
        let is_empty: bool = connection
            .query_row("SELECT NOT EXISTS (SELECT 1 FROM sessions) AND NOT EXISTS (SELECT 1 FROM snapshots)", [], |row| {
                row.get(0)
            })
            .context(|| "cannot read the session store")?;
        return Ok(if is_empty {
            newest_damaged(store)?
        } else {
            None
        });
    }
    Ok(Some(store.surroundings.directory.join(DATABASE)))
}

/// Returns the damaged session store that was set aside last.
fn newest_damaged(store: &Store) -> Result<Option<PathBuf>> {
    let number = |path: &PathBuf| -> Option<u32> {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix(DATABASE)?
            .strip_prefix(".damaged-")?
            .parse()
            .ok()
    };
    let copies = sessions::copies(&store.surroundings.directory)?;
    Ok(copies
        .into_iter()
        .filter(|path| number(path).is_some())
        .max_by_key(number))
}

fn finding(level: &str, message: String) -> Finding {
    Finding {
        level: level.to_owned(),
        subject: "database".to_owned(),
        message,
        hint: None,
        repaired: false,
    }
}
