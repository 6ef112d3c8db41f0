//! Checks the store as far as possible without reading every object. Reads only.

mod condition;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ckpt_schema::report::Finding;
use rusqlite::Row;

use crate::error::Result;
use crate::fs::{names, presence};
use crate::model::number::count;
use crate::query::wrong_totals;
use crate::record;
use crate::sessions::read;
use crate::snapshot::PackCheck;
use crate::store::Store;
use crate::upkeep;
pub(super) use condition::served_by_another;

/// Checks the store itself. Objects are read for this time, or all of them if there is none. Damaged ones are restored if
/// their bytes can be found.
pub(crate) fn check_all(store: &mut Store, time: Option<Duration>) -> Vec<Finding> {
    let begin = Instant::now();
    let goes_on = || time.is_none_or(|time| begin.elapsed() < time);
    let packs = match time {
        Some(_) => PackCheck::End,
        None => PackCheck::Whole,
    };
    let lost = store
        .unstuck(record::lost_events::take_up)
        .unwrap_or_default();
    let mut findings = upkeep::store_ownership::check(&store.surroundings.directory);
    findings.extend(check(store));
    findings.extend(lost.into_iter().map(|lost| {
        let finding = Finding::error("events", lost.describe());
        match lost.is_of_full_disk() {
            true => finding.hint("make room on the disk of the store"),
            false => finding,
        }
    }));
    findings.extend(upkeep::check::check(store, packs, &goes_on));
    findings.extend(look(store, "database", |store| {
        upkeep::totals::check(store, |store| wrong_totals(store, &goes_on))
    }));
    findings
}

/// Looks at the database and at each workspace's repository.
fn check(store: &mut Store) -> Vec<Finding> {
    if store.is_missing {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for of_database in [database, copies, unfinished] {
        findings.extend(look(store, "database", |store| of_database(store)));
    }
    findings.extend(look(store, "snapshots", |store| unknown_folders(store)));
    for condition in condition::ALL {
        findings.extend(look(store, "database", |store| condition(store)));
    }
    findings.extend(look(store, "snapshots", |store| repositories(store)));
    findings.extend(look(store, "operations", |store| interrupted(store)));
    findings.extend(look(store, "database", |store| unknown_words(store)));
    findings
}

/// Returns the findings, or the error as a finding.
fn look<F: IntoIterator<Item = Finding>>(
    store: &mut Store,
    subject: &str,
    look: impl Fn(&mut Store) -> Result<F>,
) -> Vec<Finding> {
    match store.unstuck(look) {
        Ok(found) => found.into_iter().collect(),
        Err(error) => vec![Finding::error(subject, error.with_causes())],
    }
}

/// Names the rows with a word that this version does not know.
fn unknown_words(store: &Store) -> Result<Vec<Finding>> {
    let damaged = read::unknown_words(store.database.connection())?;
    let found = damaged.iter().map(|word| {
        Finding::error("database", word.to_string())
            .hint("anything that needs the row fails and names it; nothing is guessed")
    });
    Ok(found.collect())
}

/// Returns how many rows each table has.
pub(crate) fn row_counts(store: &Store) -> Result<BTreeMap<String, u64>> {
    let connection = store.database.connection();
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let tables: Vec<String> = read::all(connection, sql, [], |row| row.get(0))?;
    tables
        .into_iter()
        .map(|table| {
            let sql = format!("SELECT count(*) AS number FROM {table}");
            let what = "cannot read the session store";
            let count = |row: &Row<'_>| read::count(row, "number");
            Ok((table, read::one(connection, what, &sql, [], count)?))
        })
        .collect()
}

fn database(store: &Store) -> Result<Option<Finding>> {
    let complaint = crate::sessions::complaint(store.database.connection())?;
    Ok(Some(match complaint {
        None => Finding::ok("database", "the session store is sound"),
        Some(complaint) => Finding::error(
            "database",
            format!("the session store is damaged: {complaint}"),
        )
        .hint("`ckpt-hook doctor --repair` sets it aside and keeps every row that can be read"),
    }))
}

/// Names former session stores beside the one in use. They take room, and hold prompts.
fn copies(store: &Store) -> Result<Option<Finding>> {
    let mut copies = crate::sessions::copies(&store.surroundings.directory)?;
    // These are taken and removed without help.
    copies.retain(|copy| !copy.to_string_lossy().contains(names::BACKUP));
    Ok(named(&copies).map(|named| {
        Finding::note(
            "database",
            format!("former session stores are kept beside it: {named}"),
        )
        .hint("remove those that you no longer need")
    }))
}

/// Names what a killed repair left. It holds prompts, but nothing that the session store it was made from lacks.
fn unfinished(store: &Store) -> Result<Option<Finding>> {
    let unfinished = crate::sessions::unfinished(&store.surroundings.directory)?;
    Ok(named(&unfinished).map(|named| {
        Finding::note(
            "database",
            format!("a killed repair left an unfinished session store: {named}"),
        )
        .hint("`ckpt-hook doctor --repair` removes it")
    }))
}

fn named(files: &[PathBuf]) -> Option<String> {
    let names = files
        .iter()
        .filter_map(|file| Some(format!("`{}`", file.file_name()?.to_string_lossy())));
    Some(names.collect::<Vec<_>>().join(", ")).filter(|names| !names.is_empty())
}

/// Checks that the folders of workspaces have their repositories. A killed first event leaves a folder without one. If
/// rows name snapshots of it, the check of the objects reports the loss; otherwise nothing else would.
fn repositories(store: &Store) -> Result<Vec<Finding>> {
    let folder = names::snapshots(&store.surroundings.directory);
    let mut lacking = Vec::new();
    let mut sound = 0;
    let entries = presence::entries(&folder)?;
    let known = crate::sessions::workspace_keys(store.database.connection())?;
    for entry in entries {
        let path = entry.path();
        let is_known = entry
            .file_name()
            .to_str()
            .is_some_and(|key| known.contains(key));
        if presence::is_directory(&names::objects(&path))? {
            sound += 1;
        } else if !is_known && presence::metadata(&path.join(names::CACHE))?.is_some() {
            lacking.push(path);
        }
    }
    let mut findings = vec![Finding::ok(
        "snapshots",
        format!("there are snapshots of {}", count(sound, "workspace")),
    )];
    findings.extend(lacking.iter().map(|path| {
        Finding::error(
            "snapshots",
            format!(
                "`{}` has no repository: its snapshots are gone",
                path.display()
            ),
        )
    }));
    Ok(findings)
}

/// Counts the repositories whose rows are gone.
fn unknown_folders(store: &Store) -> Result<Option<Finding>> {
    let number = crate::timeline::orphans::orphans(store)?.len();
    Ok((number > 0).then(|| {
        Finding::warning(
            "snapshots",
            format!(
                "there are snapshots of {} that the session store does not know",
                count(number as u64, "workspace")
            ),
        )
        .hint("`ckpt-hook doctor --repair` recovers what it can from their repositories")
    }))
}

/// Names the unfinished operations. The next command that acts in their workspace finishes them.
fn interrupted(store: &Store) -> Result<Vec<Finding>> {
    let sql = "SELECT operations.kind, substr(operations.id, 1, 8), workspaces.path
                 FROM operations JOIN workspaces ON workspaces.id = workspace_id WHERE state = 'open' ORDER BY operations.seq";
    let connection = store.database.connection();
    let what = "cannot read the operations";
    let open = read::all_or(connection, what, sql, [], unfinished_text)?;
    let hint = "`ckpt-hook snapshot` in that directory finishes it";
    Ok(open
        .iter()
        .map(|text| Finding::warning("operations", text).hint(hint))
        .collect())
}

/// Says that an operation is unfinished.
fn unfinished_text(row: &Row<'_>) -> rusqlite::Result<String> {
    let (kind, id, path): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
    Ok(format!(
        "the {kind} `{id}` in `{path}` is not finished: it is under way, was interrupted, or could not write all files"
    ))
}
