//! Makes the first page of a damaged session store anew, in a copy. This module does IO.
//!
//! The page holds the header of the file, and where the definitions of the tables are. SQLite reads nothing of a file
//! that lost it, though all rows may be whole. The header of a session store is known. The definitions are rows of a
//! table whose leaves are other pages; each leaf can be told by its rows, and gets its place in the new page:
//!
//! ```text
//! page 1     header │ inner node of the table `sqlite_schema`
//!                      ├─ 17: rows 1 to 12 (type, name, tbl_name, rootpage, sql)
//!                      └─ 36: rows 13 to 20
//! ```
//!
//! See SQLite's `fileformat2.html`. The list of free pages is lost: they take room, but hold nothing.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::database::{BESIDE, with_suffix};
use super::journal::Journal;
use super::mend::is_of_this_version;
use super::new_file::{image, make_file};
use crate::error::{Context, Result};
use crate::fs::{layout, presence};

/// The page size of every session store.
const PAGE: usize = 4096;
/// Where a page's node begins that comes after the header.
const NODE: usize = 100;
/// The kinds of nodes that are needed here.
const INNER_OF_TABLE: u8 = 5;
const LEAF_OF_TABLE: u8 = 13;
/// The first column of a definition.
const KINDS: [&[u8]; 4] = [b"table", b"index", b"view", b"trigger"];
/// Type, name, table, root page and text.
const COLUMNS: usize = 5;

/// A page with definitions, and the numbers of its first and last row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Leaf {
    page: u32,
    first: u64,
    last: u64,
}

/// Copies a session store and its log to a new file, with a new first page and without a log, and syncs it. Returns
/// false, with no file left, if the definitions cannot be told from the rest.
pub(super) fn copy_with_new(source: &Path, target: &Path) -> Result<bool> {
    let what = || format!("cannot make the first page of `{}` anew", source.display());
    let is_made = copy(source, target)
        // Twice: SQLite opens the copy, and with it the log, only if there is a first page. Then the log may bring
        // back the damaged one, and pages with definitions that are newer than those of the file.
        .and_then(|()| Ok(put(target)? && move_log(target)? && put(target)?))
        .context(what);
    // What is refused leaves nothing behind, and neither does an error.
    if !matches!(is_made, Ok(true)) {
        for file in with_log(target) {
            presence::remove_file(&file)?;
        }
        return is_made;
    }
    layout::sync(target)?;
    Ok(true)
}

/// Returns whether all of a copy's definitions are those of this version. If not, it may be a newer version's, whose
/// number was lost with the page.
pub(super) fn is_whole(path: &Path) -> bool {
    let tables = open(path)
        .context(|| format!("cannot open `{}`", path.display()))
        .and_then(|copy| is_of_this_version(&copy));
    tables.unwrap_or_default()
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags)
}

/// Returns the names of a database's file and of those beside it.
fn with_log(path: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    let endings = BESIDE.into_iter().chain([""]);
    endings.map(|ending| with_suffix(path, ending))
}

fn copy(source: &Path, target: &Path) -> std::io::Result<()> {
    for ending in ["", "-wal"] {
        let mut from = match File::open(with_suffix(source, ending)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !ending.is_empty() => {
                continue;
            }
            opened => opened?,
        };
        let to = with_suffix(target, ending);
        make_file(&to).map_err(std::io::Error::other)?;
        let mut to = File::options().write(true).truncate(true).open(to)?;
        std::io::copy(&mut from, &mut to)?;
        // It stays open: to close it would release the locks that SQLite holds on the file in this process, and others
        // that have it open could write to it again (SQLite's `howtocorrupt.html`, 2.2). The process ends soon.
        std::mem::forget(from);
    }
    Ok(())
}

/// Moves the log into the copy, and returns whether that worked. It may bring a first page of its own, as damaged as
/// the one of the file.
fn move_log(target: &Path) -> std::io::Result<bool> {
    let moved = open(target)
        .and_then(|copy| copy.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(())));
    match moved {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull) => {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        moved => Ok(moved.is_ok()),
    }
}

/// Writes a new first page, if the definitions are found.
fn put(path: &Path) -> std::io::Result<bool> {
    let file = File::options().read(true).write(true).open(path)?;
    let pages = file.metadata()?.len() / PAGE as u64;
    let new = u32::try_from(pages).ok().zip(leaves(&file)?);
    let Some(page) = new.and_then(|(pages, leaves)| first_page(pages, &leaves)) else {
        return Ok(false);
    };
    file.write_all_at(&page, 0)?;
    Ok(true)
}

/// Returns the pages with definitions in the order of their rows. `None` if there are none, or if two say what is in a
/// row: one of them is a former one, and nothing says which.
fn leaves(file: &File) -> std::io::Result<Option<Vec<Leaf>>> {
    let mut reader = std::io::BufReader::with_capacity(64 * PAGE, file);
    let mut bytes = [0; PAGE];
    let mut leaves = Vec::new();
    for page in 1.. {
        match reader.read_exact(&mut bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => break,
            read => read?,
        }
        if let (true, Some((first, last))) = (page > 1, rows_of_definitions(&bytes)) {
            leaves.push(Leaf { page, first, last });
        }
    }
    leaves.sort_by_key(|leaf| leaf.first);
    // A page that SQLite freed keeps its bytes, so a former leaf looks like one in use.
    let is_clear = leaves.windows(2).all(|pair| pair[0].last < pair[1].first);
    Ok(Some(leaves).filter(|leaves| is_clear && !leaves.is_empty()))
}

/// Returns the numbers of the first and the last row of a leaf with definitions; `None` for any other page.
fn rows_of_definitions(page: &[u8; PAGE]) -> Option<(u64, u64)> {
    if page[0] != LEAF_OF_TABLE {
        return None;
    }
    let mut rows = Vec::new();
    for cell in 0..number_at(page, 3)? {
        let start = number_at(page, 8 + 2 * cell)?;
        rows.push(row_of_definition(page.get(start..)?)?);
    }
    let ascends = rows.windows(2).all(|pair| pair[0] < pair[1]);
    Some((*rows.first()?, *rows.last()?)).filter(|_| ascends)
}

/// Returns the number in the two bytes at a place of a page.
fn number_at(page: &[u8; PAGE], at: usize) -> Option<usize> {
    let bytes = [*page.get(at)?, *page.get(at + 1)?];
    Some(usize::from(u16::from_be_bytes(bytes)))
}

/// Returns the number of a row if it is a definition.
fn row_of_definition(cell: &[u8]) -> Option<u64> {
    let (_, rest) = varint(cell)?;
    let (row, record) = varint(rest)?;
    let (header, mut types) = varint(record)?;
    let body = record.get(usize::try_from(header).ok()?..)?;
    types = types.get(..types.len().checked_sub(body.len())?)?;
    let mut columns = Vec::new();
    while !types.is_empty() {
        let (kind, rest) = varint(types)?;
        columns.push(kind);
        types = rest;
    }
    // Texts have odd types: see SQLite's `fileformat2.html#record_format`.
    let length = columns
        .first()?
        .checked_sub(13)
        .filter(|rest| rest % 2 == 0)?
        / 2;
    let first = body.get(..usize::try_from(length).ok()?)?;
    (columns.len() == COLUMNS && KINDS.contains(&first)).then_some(row)
}

/// Returns a number as SQLite writes it, and the bytes after it.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (at, byte) in bytes.iter().enumerate().take(8) {
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((number, &bytes[at + 1..]));
        }
    }
    // The ninth byte has no mark.
    Some((number << 8 | u64::from(*bytes.get(8)?), &bytes[9..]))
}

/// Writes a number of fewer than 64 bits as SQLite does.
fn write_varint(mut number: u64, to: &mut Vec<u8>) {
    let mut groups = vec![(number & 0x7f) as u8];
    while number > 0x7f {
        number >>= 7;
        groups.push((number & 0x7f) as u8 | 0x80);
    }
    to.extend(groups.iter().rev());
}

/// Returns a first page for a file of so many pages. `None` if the leaves do not fit into one node.
fn first_page(pages: u32, leaves: &[Leaf]) -> Option<[u8; PAGE]> {
    let (last, others) = leaves.split_last()?;
    let mut page = [0; PAGE];
    page[..NODE].copy_from_slice(image(Journal::Log).ok()?.get(..NODE)?);
    page[28..32].copy_from_slice(&pages.to_be_bytes());
    // No free pages.
    page[32..40].fill(0);
    // The number of pages counts only where these two are the same.
    page.copy_within(24..28, 92);
    let mut pointers = NODE + 12;
    let mut content = PAGE;
    for leaf in others {
        let mut cell = leaf.page.to_be_bytes().to_vec();
        write_varint(leaf.last, &mut cell);
        content = content
            .checked_sub(cell.len())
            .filter(|at| *at >= pointers + 2)?;
        page[content..][..cell.len()].copy_from_slice(&cell);
        page[pointers..][..2].copy_from_slice(&u16::try_from(content).ok()?.to_be_bytes());
        pointers += 2;
    }
    page[NODE] = INNER_OF_TABLE;
    page[NODE + 3..][..2].copy_from_slice(&u16::try_from(others.len()).ok()?.to_be_bytes());
    page[NODE + 5..][..2].copy_from_slice(&u16::try_from(content).ok()?.to_be_bytes());
    page[NODE + 8..][..4].copy_from_slice(&last.page.to_be_bytes());
    Some(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::names::DATABASE;
    use crate::sessions::Database;
    use crate::settings::Durability;

    /// The bytes of a session store with a row, without a log.
    fn filled(directory: &Path) -> Vec<u8> {
        let database = Database::open(directory, Durability::Full).expect("a fresh directory");
        database
            .connection()
            .execute_batch(
                "INSERT INTO workspaces (key, path, device, inode, created_at, used_at) VALUES ('k', '/w', 1, 2, 0, 0);
                 PRAGMA wal_checkpoint(TRUNCATE)",
            )
            .expect("a row that the table takes");
        drop(database);
        std::fs::read(directory.join(DATABASE)).expect("ours")
    }

    /// The locks that this process holds on a file, as `/proc/locks` has them:
    /// `1: POSIX ADVISORY WRITE pid device:inode ...`.
    #[cfg(target_os = "linux")]
    fn locks(path: &Path) -> Vec<String> {
        use std::os::unix::fs::MetadataExt;

        let inode = std::fs::metadata(path).expect("it is there").ino();
        let file = format!(":{inode}");
        let all = std::fs::read_to_string("/proc/locks").expect("the kernel lists them");
        let of_file = all.lines().filter(|line| {
            let mut words = line.split_whitespace();
            words.any(|word| word.ends_with(&file))
        });
        of_file.map(str::to_owned).collect()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_copy_releases_none_of_the_locks_that_sqlite_holds() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let [source, target] = ["source", "target"].map(|name| directory.path().join(name));
        let connection = Connection::open(&source).expect("writable");
        connection
            .execute_batch("CREATE TABLE t (a); BEGIN IMMEDIATE")
            .expect("nobody else has it");
        let held = locks(&source);
        assert!(!held.is_empty(), "a transaction that writes holds one");
        copy(&source, &target).expect("readable");
        assert_eq!(locks(&source), held);
    }

    /// Makes the first page of such a file anew, and does something with the copy. Returns whether there is one with
    /// all tables.
    fn is_mended(bytes: &[u8], then: impl FnOnce(&Connection)) -> bool {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let [source, target] = ["source", "target"].map(|name| directory.path().join(name));
        std::fs::write(&source, bytes).expect("writable");
        let is_made = copy_with_new(&source, &target).expect("readable");
        assert_eq!(is_made, target.exists(), "no file is left in vain");
        let is_mended = is_made && is_whole(&target);
        if is_mended {
            then(&open(&target).expect("it opens"));
        }
        is_mended
    }

    #[test]
    fn a_file_whose_first_page_is_lost_is_sound_with_a_new_one() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let mut bytes = filled(directory.path());
        bytes[..PAGE].fill(0xa5);
        let is_mended = is_mended(&bytes, |copy| {
            let ask = |sql: &str| -> String {
                copy.query_row(sql, [], |row| row.get(0)).expect("readable")
            };
            assert_eq!(ask("PRAGMA integrity_check"), "ok");
            assert_eq!(ask("SELECT key FROM workspaces"), "k");
        });
        assert!(is_mended, "all else is whole");
    }

    #[test]
    fn what_is_not_sure_to_be_the_tables_is_not_taken_for_them() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let mut bytes = filled(directory.path());
        bytes[..PAGE].fill(0);
        let is_leaf =
            |page: &&[u8]| rows_of_definitions((*page).try_into().expect("a page")).is_some();
        let leaf = bytes.chunks(PAGE).find(is_leaf).expect("one").to_owned();
        let twice = [&bytes[..], &leaf].concat();
        assert!(!is_mended(&twice, |_| {}), "one of the two is a former one");
        let at = bytes.chunks(PAGE).position(|page| page == leaf);
        let at = at.expect("it is there") * PAGE;
        bytes[at..at + PAGE].fill(0);
        assert!(!is_mended(&bytes, |_| {}), "tables are missing");
        assert!(!is_mended(&[], |_| {}));
        assert!(!is_mended(&[13; 3 * PAGE], |_| {}), "no definition");
    }

    #[test]
    fn a_newer_versions_file_is_not_taken_for_one_of_this_version() {
        for newer in [
            "CREATE TABLE of_the_future (x)",
            "CREATE INDEX of_the_future ON sessions (cwd)",
            "ALTER TABLE sessions ADD COLUMN of_the_future TEXT",
        ] {
            let directory = tempfile::tempdir().expect("a scratch directory");
            filled(directory.path());
            let path = directory.path().join(DATABASE);
            let change = |sql: &str| {
                let database = open(&path).expect("it opens");
                database.execute_batch(sql).expect("writable");
            };
            change(newer);
            let mut bytes = std::fs::read(&path).expect("ours");
            bytes[..PAGE].fill(0);
            assert!(!is_mended(&bytes, |_| {}), "{newer}");
        }
    }

    #[test]
    fn numbers_are_read_and_written_as_sqlite_does() {
        for (number, bytes) in [
            (0, vec![0]),
            (127, vec![127]),
            (128, vec![0x81, 0]),
            (300, vec![0x82, 0x2c]),
            (1 << 21, vec![0x81, 0x80, 0x80, 0]),
        ] {
            let mut written = Vec::new();
            write_varint(number, &mut written);
            assert_eq!(written, bytes, "{number}");
            assert_eq!(varint(&bytes), Some((number, &[][..])));
        }
        assert_eq!(varint(&[0xff; 9]), Some((u64::MAX, &[][..])));
        assert_eq!(varint(&[0x80]), None, "cut off");
    }
}
