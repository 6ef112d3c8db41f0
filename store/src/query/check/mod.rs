//! Checks the store as far as possible without reading every object. Reads only.

mod condition;

use std::collections::BTreeMap;
use std::path::Path;

use ckpt_schema::report::Finding;

use crate::error::{Context, Result};
use crate::store::Store;

/// Looks at the database and at each workspace's repository.
pub(crate) fn check(store: &Store) -> Vec<Finding> {
    if store.is_missing {
        return Vec::new();
    }
    let mut findings = vec![database(store).unwrap_or_else(|error| broken("database", &error))];
    match copies(store) {
        Ok(found) => findings.extend(found),
        Err(error) => findings.push(broken("database", &error)),
    }
    findings.extend(condition::look(store));
    match repositories(store) {
        Ok(found) => findings.extend(found),
        Err(error) => findings.push(broken("snapshots", &error)),
    }
    match interrupted(store) {
        Ok(found) => findings.extend(found),
        Err(error) => findings.push(broken("operations", &error)),
    }
    match crate::sessions::read::unknown_words(store.database.connection()) {
        Ok(damaged) => findings.extend(damaged.iter().map(|word| Finding {
            hint: Some(
                "anything that needs the row fails and names it; nothing is guessed".to_owned(),
            ),
            ..finding("error", "database", &word.to_string())
        })),
        Err(error) => findings.push(broken("database", &error)),
    }
    findings
}

/// Returns how many rows each table has.
pub(crate) fn row_counts(store: &Store) -> Result<BTreeMap<String, u64>> {
    let connection = store.database.connection();
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let tables: Vec<String> = crate::sessions::read::all(connection, sql, [], |row| row.get(0))?;
    tables
        .into_iter()
        .map(|table| {
            let sql = format!("SELECT count(*) AS number FROM {table}");
            let count = connection
                .query_row(&sql, [], |row| crate::sessions::read::count(row, "number"))
                .context(|| "cannot read the session store")?;
            Ok((table, count))
        })
        .collect()
}

fn database(store: &Store) -> Result<Finding> {
    let answer: String = store
        .database
        .connection()
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .context(|| "cannot check the session store")?;
    Ok(if answer == "ok" {
        finding("ok", "database", "the session store is sound")
    } else {
        Finding {
            hint: Some(
                "`ckpt-hook doctor --repair` sets it aside and keeps every row that can be read"
                    .to_owned(),
            ),
            ..finding(
                "error",
                "database",
                &format!("the session store is damaged: {answer}"),
            )
        }
    })
}

/// Former session stores that lie beside the one in use: they take room, and hold prompts.
fn copies(store: &Store) -> Result<Option<Finding>> {
    let copies = crate::sessions::copies(&store.surroundings.directory)?;
    let named: Vec<String> = copies
        .iter()
        .filter_map(|copy| Some(format!("`{}`", copy.file_name()?.to_string_lossy())))
        .collect();
    if named.is_empty() {
        return Ok(None);
    }
    Ok(Some(Finding {
        hint: Some("remove those that you no longer need".to_owned()),
        ..finding(
            "note",
            "database",
            &format!(
                "former session stores are kept beside it: {}",
                named.join(", ")
            ),
        )
    }))
}

/// A workspace has a folder from its first snapshot on.
fn repositories(store: &Store) -> Result<Vec<Finding>> {
    let folder = store.surroundings.directory.join("snapshots");
    let entries = match folder.read_dir() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.context(|| format!("cannot list `{}`", folder.display()))?,
    };
    let mut lacking = Vec::new();
    let mut sound = 0_u32;
    for entry in entries {
        let path = entry
            .context(|| format!("cannot list `{}`", folder.display()))?
            .path();
        if is_repository(&path.join("repository.git")) {
            sound += 1
        } else {
            lacking.push(path)
        }
    }
    let mut findings = vec![finding(
        "ok",
        "snapshots",
        &format!("workspaces with a repository: {sound}"),
    )];
    findings.extend(lacking.iter().map(|path| {
        finding(
            "error",
            "snapshots",
            &format!(
                "`{}` has no repository: its snapshots are gone",
                path.display()
            ),
        )
    }));
    Ok(findings)
}

/// What a crash or a full disk left is ended by the next command that acts in its workspace.
fn interrupted(store: &Store) -> Result<Vec<Finding>> {
    let sql = "SELECT operations.kind, substr(operations.id, 1, 8), workspaces.path
                 FROM operations JOIN workspaces ON workspaces.id = workspace_id WHERE state = 'open' ORDER BY operations.seq";
    let text = |row: &rusqlite::Row<'_>| -> rusqlite::Result<String> {
        let (kind, id, path): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(format!(
            "the {kind} `{id}` in `{path}` is not finished: it is under way, was interrupted, or could not write all files"
        ))
    };
    let open: Vec<String> = store
        .database
        .connection()
        .prepare(sql)
        .and_then(|mut statement| statement.query_map([], text)?.collect())
        .context(|| "cannot read the operations")?;
    let hint = Some("`ckpt-hook snapshot` in that directory finishes it".to_owned());
    Ok(open
        .iter()
        .map(|text| Finding {
            hint: hint.clone(),
            ..finding("warning", "operations", text)
        })
        .collect())
}

fn is_repository(path: &Path) -> bool {
    path.join("objects").is_dir()
}

fn finding(level: &str, subject: &str, message: &str) -> Finding {
    Finding {
        level: level.to_owned(),
        subject: subject.to_owned(),
        message: message.to_owned(),
        hint: None,
        repaired: false,
    }
}

fn broken(subject: &str, error: &crate::error::Error) -> Finding {
    finding("error", subject, &error.with_causes())
}
