//! Copies a damaged session store with the definitions of a sound one. This module does IO.
//!
//! The first page holds the header, and where the other pages of the definitions are; these say at which page each table
//! begins. They are those that change with the definitions. One that is damaged is replaced by that of a sound file, if
//! another one, which is equal in both, shows that the tables of both begin at the same pages.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::FLAGS;
use super::filling::if_readable;
use crate::error::{Context, Result};
use crate::sessions::database::with_suffix;
use crate::sessions::new_file::make_file;

/// The page size of every session store.
pub(super) const PAGE: usize = 4096;

/// A page, and its number from 0.
type Page = (u64, Vec<u8>);

/// Copies a session store and its log, with the first page of a sound one, and those of its other pages of definitions in
/// the place of which nothing can be read.
pub(super) fn graft(source: &Path, sound: &Path, target: &Path) -> Result<()> {
    let what = || format!("cannot copy `{}`", source.display());
    copy(source, target)?;
    let mut pages = definitions(sound)?.into_iter();
    let file = File::options()
        .read(true)
        .write(true)
        .open(target)
        .context(what)?;
    let put = |(number, bytes): &Page| file.write_all_at(bytes, number * PAGE as u64).context(what);
    let Some((_, mut first)) = pages.next() else {
        return Ok(());
    };
    // The file may have a log, may have grown, and its list of free pages is another.
    first[18..20].fill(2);
    first[32..40].fill(0);
    first[92] ^= 0xff;
    put(&(0, first))?;
    let mut others = Vec::new();
    let mut is_alike = false;
    for page in pages {
        let mut own = vec![0; PAGE];
        // One beyond the end of the file is none.
        let _ = file.read_exact_at(&mut own, page.0 * PAGE as u64);
        is_alike |= own == page.1;
        if own != page.1 {
            put(&page)?;
            others.push(((page.0, own), page));
        }
    }
    // Without a page that is equal, only a file that is sound with these proves that they are its own.
    if !is_alike && !others.is_empty() && !is_sound(target) {
        return others.iter().try_for_each(|(own, _)| put(own));
    }
    for (own, sound) in &others {
        put(own)?;
        if !has_definitions(target) {
            put(sound)?;
        }
    }
    Ok(())
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

/// Returns the pages of a sound file that hold the definitions, the first one first; none of a file that is damaged as
/// well. The file stays as it is.
pub(super) fn definitions(sound: &Path) -> Result<Vec<Page>> {
    let what = || format!("cannot read `{}`", sound.display());
    let Some(changed) = if_readable(with_other_definitions(sound))? else {
        return Ok(Vec::new());
    };
    let file = File::open(sound).context(what)?;
    let mut pages = Vec::new();
    for (number, changed) in (0..).zip(changed.chunks_exact(PAGE)) {
        let mut own = vec![0; PAGE];
        file.read_exact_at(&mut own, number * PAGE as u64)
            .context(what)?;
        if number == 0 || own != changed {
            pages.push((number, own));
        }
    }
    Ok(pages)
}

/// Returns the bytes of a database with other letters in each definition, at the same places.
fn with_other_definitions(sound: &Path) -> rusqlite::Result<Vec<u8>> {
    let mut connection = Connection::open_with_flags(sound, FLAGS)?;
    connection.pragma_update_and_check(None, "journal_mode", "MEMORY", |_| Ok(()))?;
    connection.execute_batch(
        "PRAGMA cache_spill = OFF; PRAGMA writable_schema = ON;
         BEGIN; UPDATE sqlite_schema SET sql = upper(sql), tbl_name = upper(tbl_name)",
    )?;
    let changed = connection.serialize(rusqlite::MAIN_DB)?.to_vec();
    connection.execute_batch("ROLLBACK")?;
    Ok(changed)
}

/// Returns whether SQLite can read every definition.
fn has_definitions(path: &Path) -> bool {
    let ask = "SELECT count(*) >= 0 FROM sqlite_schema";
    answers(path, ask)
}

/// Returns whether every table and its indexes are sound. The list of free pages is not, in any copy.
fn is_sound(path: &Path) -> bool {
    let each = "SELECT min(integrity_check = 'ok') FROM sqlite_schema AS one
                  JOIN pragma_integrity_check(one.name) WHERE one.type = 'table'";
    answers(path, each)
}

/// Returns whether a copy, of which nothing is written, gives the answer 1.
fn answers(path: &Path, sql: &str) -> bool {
    let ask = || -> rusqlite::Result<bool> {
        let connection = Connection::open_with_flags(path, FLAGS)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.query_row(sql, [], |row| row.get(0))
    };
    ask().unwrap_or_default()
}
