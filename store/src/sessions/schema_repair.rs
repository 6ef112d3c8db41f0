//! Puts the schema of a session store back to what ckpt-hook makes: views, indexes and triggers. They hold no data, so
//! nothing is lost. A table does: one that is missing takes a new store.

use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::migration::VIEWS;
use rusqlite::Connection;

use super::Database;
use super::version::version;
use super::views::has_views;
use crate::error::{Context, Result};

/// The objects of a schema: kind and definition, by name.
type SchemaObjects = BTreeMap<String, (String, String)>;

fn objects(connection: &Connection) -> Result<SchemaObjects> {
    let sql =
        "SELECT name, type, ifnull(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'";
    let rows: Vec<(String, (String, String))> = super::read::all(connection, sql, [], |row| {
        Ok((row.get(0)?, (row.get(1)?, row.get(2)?)))
    })?;
    Ok(rows.into_iter().collect())
}

/// Returns the objects that there should be, and those that there are. `None` for another version's store, which is
/// left alone.
fn ours_and_found(connection: &Connection) -> Result<Option<(SchemaObjects, SchemaObjects)>> {
    let found: u32 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .context(|| "cannot read the session store")?;
    if found != version() {
        return Ok(None);
    }
    let ours = Database::empty()?;
    if has_views(connection)? {
        ours.connection()
            .execute_batch(VIEWS)
            .context(|| "cannot make the views")?;
    }
    Ok(Some((objects(ours.connection())?, objects(connection)?)))
}

/// Returns the names of what is missing, foreign, or defined otherwise.
pub(crate) fn wrong_objects(connection: &Connection) -> Result<Vec<String>> {
    let Some((ours, found)) = ours_and_found(connection)? else {
        return Ok(Vec::new());
    };
    let names = ours.keys().chain(found.keys());
    let wrong: BTreeSet<&String> = names
        .filter(|name| ours.get(*name) != found.get(*name))
        .collect();
    Ok(wrong.into_iter().cloned().collect())
}

/// Returns the first thing that SQLite finds wrong with the file, or `None` if it is sound.
pub(crate) fn complaint(connection: &Connection) -> Result<Option<String>> {
    let answer: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .context(|| "cannot check the session store")?;
    Ok(Some(answer).filter(|answer| answer != "ok"))
}

/// Returns whether a table, or a column of one, is missing.
pub(crate) fn lacks_column(connection: &Connection) -> Result<bool> {
    if ours_and_found(connection)?.is_none() {
        return Ok(false);
    }
    let sql = "SELECT one.name, columns.name FROM sqlite_schema AS one, pragma_table_info(one.name) AS columns
                WHERE one.type = 'table'";
    let columns = |connection: &Connection| -> Result<BTreeSet<(String, String)>> {
        let named = super::read::all(connection, sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(named.into_iter().collect())
    };
    let ours = columns(Database::empty()?.connection())?;
    Ok(!ours.is_subset(&columns(connection)?))
}

/// Makes missing views and indexes anew, and those that are defined otherwise. Removes triggers that are not ours: they
/// would change rows. Returns the names. The caller has begun a transaction.
pub(crate) fn mend_objects(connection: &Connection) -> Result<Vec<String>> {
    let Some((ours, found)) = ours_and_found(connection)? else {
        return Ok(Vec::new());
    };
    let run = |sql: &str, name: &str| -> Result<()> {
        connection
            .execute_batch(sql)
            .context(|| format!("cannot mend `{name}` of the session store"))
    };
    let mut mended = Vec::new();
    for (name, object) in &found {
        let kind = object.0.as_str();
        let is_wrong = match kind {
            "trigger" => ours.get(name) != Some(object),
            // One that the user added under another name changes no row, and stays.
            "view" | "index" => ours.get(name).is_some_and(|its| its != object),
            _ => false,
        };
        if is_wrong {
            let quoted = name.replace('"', "\"\"");
            run(&format!("DROP {kind} \"{quoted}\""), name)?;
            mended.push(name.clone());
        }
    }
    for (name, (kind, sql)) in &ours {
        let is_there = found.contains_key(name) && !mended.contains(name);
        if kind != "table" && !is_there {
            run(sql, name)?;
            mended.push(name.clone());
        }
    }
    mended.sort();
    mended.dedup();
    Ok(mended)
}
