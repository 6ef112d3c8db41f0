//! Copies a damaged session store with the definitions of a sound one. This module does IO.
//!
//! The definitions say at which page each table begins. If they, or the first page that leads to them, cannot be read,
//! those of a sound file are written anew, at the end of the copy: nothing else of it changes, wherever its own are.
//!
//! Queries over ranges of rows cannot take its place: without a definition, SQLite reads no row of a table, and a backup
//! lacks what was recorded since. No page is parsed: the rows are read by SQLite, and so are the definitions.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use ckpt_schema::migration::APPLICATION_ID;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, MAIN_DB, OptionalExtension, Row};

use super::FLAGS;
use super::filling::if_readable;
use crate::error::{Context, Result};
use crate::sessions::database::with_suffix;
use crate::sessions::new_file::make_file;
use crate::sessions::version::version;

/// The page size of every session store.
pub(super) const PAGE: usize = 4096;

/// No file has definitions with higher numbers.
const MOST_DEFINITIONS: i64 = 1000;

/// A table or an index: its type, its name, its table, and how it was created, as texts; and the page at which it begins.
type Definition = ([Option<Vec<u8>>; 4], i64);

const DEFINITIONS: &str =
    "SELECT type, name, tbl_name, sql, CAST(rootpage AS INTEGER) FROM sqlite_schema
                            WHERE type IN ('table', 'index')";

/// Copies a session store and its log, with the definitions of a sound one. Returns the tables that are lost with their
/// own definitions, or `None` if those of the sound one are not its own: what can be read of its own says so, or, if there
/// is nothing, its tables and indexes do not fit each other with them.
pub(super) fn graft(source: &Path, sound: &Path, target: &Path) -> Result<Option<Vec<String>>> {
    let what = || format!("cannot copy `{}`", source.display());
    let Some(definitions) = if_readable(all(sound))? else {
        return Ok(None);
    };
    copy(source, target)?;
    let (mut own, is_whole) = readable(target)?;
    let undefined: Vec<String> = match is_whole && !own.is_empty() {
        true => undefined(&definitions, &own),
        false => Vec::new(),
    };
    if own.is_empty() {
        put_first(target, &first_of(sound).context(what)?)?;
        (own, _) = readable(target)?;
    }
    if !own.iter().all(|one| definitions.contains(one)) {
        return Ok(None);
    }
    put_first(target, &empty().context(what)?)?;
    define(target, &definitions).context(what)?;
    if own.is_empty() && !is_sound(target, None) {
        return Ok(None);
    }
    let lost = undefined.into_iter();
    Ok(Some(
        lost.filter(|table| !is_sound(target, Some(table)))
            .collect(),
    ))
}

/// Returns the tables that are not defined, though everything that is can be read: they were dropped, and begin at an
/// empty page, or at one of another table. One that has an index was not: its definition alone is gone.
fn undefined(definitions: &[Definition], own: &[Definition]) -> Vec<String> {
    let is_index_of = |name: &Option<Vec<u8>>, ([kind, _, table, _], _): &Definition| {
        kind.as_deref() == Some(b"index") && table == name
    };
    let undefined = definitions.iter().filter(|one| !own.contains(one));
    let undefined = undefined.filter_map(|([kind, name, ..], _)| {
        let has_index = || own.iter().any(|one| is_index_of(name, one));
        let is_dropped = kind.as_deref() == Some(b"table") && !has_index();
        Some(String::from_utf8_lossy(name.as_deref().filter(|_| is_dropped)?).into_owned())
    });
    undefined.collect()
}

fn copy(source: &Path, target: &Path) -> Result<()> {
    let what = || format!("cannot copy `{}`", source.display());
    for ending in ["", "-wal"] {
        let mut from = match File::open(with_suffix(source, ending)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !ending.is_empty() => {
                continue;
            }
            opened => opened.context(what)?,
        };
        let to = with_suffix(target, ending);
        make_file(&to)?;
        let mut to = File::options()
            .write(true)
            .truncate(true)
            .open(to)
            .context(what)?;
        std::io::copy(&mut from, &mut to).context(what)?;
        // It stays open: to close it would release the locks that SQLite holds on the file in this process, and others
        // that have it open could write to it again (SQLite's `howtocorrupt.html`, 2.2). The process ends soon.
        std::mem::forget(from);
    }
    Ok(())
}

fn definition(row: &Row<'_>) -> rusqlite::Result<Definition> {
    // Damage may have made anything of a text.
    let text = |at: usize| {
        let value = row.get_ref(at).ok()?;
        value.as_bytes_or_null().ok()?.map(<[u8]>::to_vec)
    };
    Ok(([0, 1, 2, 3].map(text), row.get(4)?))
}

/// Returns the definitions of a sound file, each table before its indexes.
fn all(sound: &Path) -> rusqlite::Result<Vec<Definition>> {
    let connection = Connection::open_with_flags(sound, FLAGS)?;
    let mut statement = connection.prepare(&format!("{DEFINITIONS} ORDER BY rowid"))?;
    statement.query_map([], definition)?.collect()
}

/// Returns the readable definitions of a copy, and whether that is all of them, and brings its log into it.
fn readable(target: &Path) -> Result<(Vec<Definition>, bool)> {
    let open = || {
        let connection = Connection::open_with_flags(target, FLAGS)?;
        // One that cannot be read says nothing about the others.
        connection.execute_batch("PRAGMA writable_schema = ON")?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(connection)
    };
    let Some(connection) = if_readable(open())? else {
        return Ok((Vec::new(), false));
    };
    let one = connection.prepare(&format!("{DEFINITIONS} AND rowid = ?1"));
    let Some(mut one) = if_readable(one)? else {
        return Ok((Vec::new(), false));
    };
    let (mut found, mut is_whole) = (Vec::new(), true);
    for number in 1..=MOST_DEFINITIONS {
        let row = if_readable(one.query_row([number], definition).optional())?;
        is_whole &= row.is_some();
        found.extend(row.flatten());
    }
    Ok((found, is_whole))
}

/// Writes the first page of a copy. It may have a log, may have grown, and its list of free pages is another.
fn put_first(target: &Path, page: &[u8]) -> Result<()> {
    let mut page = page.to_vec();
    page[18..20].fill(2);
    page[32..40].fill(0);
    page[92] ^= 0xff;
    let file = File::options().write(true).open(target);
    file.and_then(|file| file.write_all_at(&page, 0))
        .context(|| format!("cannot write `{}`", target.display()))
}

fn first_of(sound: &Path) -> std::io::Result<Vec<u8>> {
    let mut page = vec![0; PAGE];
    File::open(sound)?.read_exact_at(&mut page, 0)?;
    Ok(page)
}

/// Returns the first page of a session store without any definition.
fn empty() -> rusqlite::Result<Vec<u8>> {
    let mut connection = Connection::open_in_memory()?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", version())?;
    Ok(connection.serialize(MAIN_DB)?[..PAGE].to_vec())
}

/// Adds definitions to a copy that has none.
fn define(target: &Path, definitions: &[Definition]) -> rusqlite::Result<()> {
    let mut connection = Connection::open_with_flags(target, FLAGS)?;
    connection.execute_batch("PRAGMA writable_schema = ON")?;
    let transaction = connection.transaction()?;
    let sql = "INSERT INTO sqlite_schema (type, name, tbl_name, sql, rootpage) VALUES
               (CAST(?1 AS TEXT), CAST(?2 AS TEXT), CAST(?3 AS TEXT), CAST(?4 AS TEXT), ?5)";
    for ([kind, name, table, created], page) in definitions {
        transaction.execute(sql, (kind, name, table, created, page))?;
    }
    transaction.commit()
}

/// Returns whether every table and its indexes are sound, or whether one is, and has rows. The list of free pages is not
/// sound, in any copy.
fn is_sound(path: &Path, table: Option<&str>) -> bool {
    let each = "SELECT min(integrity_check = 'ok') FROM sqlite_schema AS one
                  JOIN pragma_integrity_check(one.name) WHERE one.type = 'table' AND one.name = ifnull(?1, one.name)";
    let ask = || -> rusqlite::Result<bool> {
        let connection = Connection::open_with_flags(path, FLAGS)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        let has_rows = match table {
            Some(table) => format!("SELECT EXISTS (SELECT 1 FROM {table})"),
            None => "SELECT true".to_owned(),
        };
        Ok(connection.query_row(&has_rows, [], |row| row.get(0))?
            && connection.query_row(each, [table], |row| row.get(0))?)
    };
    ask().unwrap_or_default()
}
