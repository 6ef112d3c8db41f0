//! Copies rows of one database into another by ordinary queries, and around what cannot be read. This module does IO.

use std::collections::{BTreeSet, VecDeque};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode};

use super::connect;
use crate::error::{Context, Result};
use crate::model::Milliseconds;
use crate::sessions::read;

/// How many queries may fail in one table. They take some seconds.
const MOST_FAILURES: u32 = 200_000;

/// Attaches a database as `old`. Returns false if SQLite can read nothing of it.
pub(super) fn attach(connection: &Connection, path: &Path) -> Result<bool> {
    let what = || format!("cannot read `{}`", path.display());
    let bytes = path.as_os_str().as_bytes();
    let attached = connection.execute("ATTACH CAST(?1 AS TEXT) AS old", [bytes]);
    let read = attached.and_then(|_| {
        // Of the header alone: a definition that cannot be read says nothing about the others.
        connection.pragma_query_value(Some("old"), "schema_version", |row| row.get::<_, i64>(0))
    });
    match read {
        Ok(_) => Ok(true),
        Err(error) if is_unreadable(&error) => {
            // It is not attached, or of no use.
            let _ = connection.execute_batch("DETACH old");
            Ok(false)
        }
        Err(error) => Err(error).context(what),
    }
}

/// Returns whether an error says that the damage, or a damaged value, keeps a row from being copied. Any other, such as
/// a full disk or one read that failed, says nothing about the rows.
fn is_unreadable(error: &rusqlite::Error) -> bool {
    matches!(error, rusqlite::Error::SqlInputError { .. })
        || matches!(
            error.sqlite_error_code(),
            Some(
                // SQLite has no number of its own for an unknown format or another encoding.
                ErrorCode::Unknown
                    | ErrorCode::DatabaseCorrupt
                    | ErrorCode::NotADatabase
                    | ErrorCode::ConstraintViolation
                    | ErrorCode::TypeMismatch
                    | ErrorCode::TooBig
            )
        )
}

/// Returns the result of a query, or `None` if the damage keeps it from being read.
pub(super) fn if_readable<T>(found: rusqlite::Result<T>) -> Result<Option<T>> {
    match found {
        Err(error) if is_unreadable(&error) => Ok(None),
        found => found
            .map(Some)
            .context(|| "cannot read a damaged session store"),
    }
}

/// Copies rows of attached databases into that of a connection.
pub(super) struct Filling {
    pub new: Connection,
    pub path: PathBuf,
    tables: Vec<FilledTable>,
    pub rows: u64,
    pub damaged: BTreeSet<String>,
    /// The columns that tables of the damaged file lack, each after its table.
    lacking: BTreeSet<(String, String)>,
    /// Set where rows are added to a session store in use: when, in milliseconds since the epoch.
    added_at: Option<Milliseconds>,
}

pub(super) struct FilledTable {
    pub name: String,
    columns: Vec<String>,
    /// The column that is the number of a row.
    number: Option<String>,
    /// The columns that hold the number of a row of another table, with the latter.
    numbers_of: Vec<(String, String)>,
    has_row_numbers: bool,
}

impl Filling {
    pub fn new(new: Connection, path: &Path, added_at: Option<Milliseconds>) -> Result<Self> {
        Ok(Self {
            tables: tables(&new)?,
            new,
            path: path.to_owned(),
            rows: 0,
            damaged: BTreeSet::new(),
            lacking: BTreeSet::new(),
            added_at,
        })
    }

    /// Copies every row that can be read of a file. Returns whether its tables are all there.
    pub fn copy_from(&mut self, path: &Path) -> Result<bool> {
        self.with(path, |filling| {
            let version = |schema: &str| {
                let read = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
                let new = &filling.new;
                if_readable(new.pragma_query_value(Some(schema), "user_version", read))
            };
            // One of an older version never had some of the tables.
            let is_older = matches!(
                (version("old")?, version("main")?),
                (Some(old), Some(new)) if (1..new).contains(&old)
            );
            filling.copy_tables(|_| true)?;
            if is_older {
                for table in filling.damaged.clone() {
                    if !is_table(&filling.new, &table)? {
                        filling.damaged.remove(&table);
                    }
                }
            } else {
                filling.note_lacking()?;
            }
            Ok(is_older || filling.has_our_schema()?)
        })
    }

    /// Copies every row that can be read of a file, if the tables of the file are those of this version, but for those of which the rows are lost.
    pub fn copy_from_whole(&mut self, path: &Path, lost: &[String]) -> Result<bool> {
        let is_lost = |table: &str| lost.iter().any(|lost| lost == table);
        self.with(path, |filling| {
            let is_ours = filling.has_our_schema()?;
            if is_ours {
                // What could not be read before is read now, or not at all.
                filling.damaged.retain(|table| is_lost(table));
                filling.copy_tables(|table| !is_lost(table))?;
            }
            Ok(is_ours)
        })
    }

    pub fn copy_damaged_from(&mut self, path: &Path) -> Result<bool> {
        let damaged = self.damaged.clone();
        self.with(path, |filling| {
            filling.copy_tables(|table| damaged.contains(table))?;
            Ok(true)
        })
    }

    /// Notes the columns that are gone from tables of which rows can be read.
    fn note_lacking(&mut self) -> Result<()> {
        for table in &self.tables {
            let known = if_readable(columns_of_old(&self.new, &table.name))?.unwrap_or_default();
            if known.is_empty() || known.len() >= table.columns.len() {
                continue;
            }
            let gone = table.columns.iter().filter(|one| !known.contains(one));
            self.lacking
                .extend(gone.map(|column| (table.name.clone(), column.clone())));
            self.damaged.insert(table.name.clone());
        }
        Ok(())
    }

    /// Takes what such columns held from a backup, for the rows that are in it as well.
    pub fn complete_from(&mut self, path: &Path) -> Result<()> {
        let lacking = std::mem::take(&mut self.lacking);
        if !lacking.is_empty() {
            self.with(path, |filling| {
                for (table, column) in &lacking {
                    let sql = "SELECT name FROM pragma_table_info(?1) WHERE pk > 0";
                    let keys: Vec<String> = read::all(&filling.new, sql, [table], |row| row.get(0))?;
                    let same = keys.iter().map(|key| quoted(key));
                    let same = same.map(|key| format!("{table}.{key} = former.{key}"));
                    let same: Vec<String> = same.collect();
                    let column = quoted(column);
                    let sql = format!(
                        "UPDATE main.{table} SET {column} = former.{column} FROM old.{table} AS former WHERE {}",
                        same.join(" AND ")
                    );
                    let completed = if_readable(filling.new.execute(&sql, []))?;
                    filling.rows += completed.unwrap_or_default() as u64;
                }
                Ok(true)
            })?;
        }
        self.lacking = lacking;
        Ok(())
    }

    fn with(&mut self, path: &Path, copy: impl FnOnce(&mut Self) -> Result<bool>) -> Result<bool> {
        if !attach(&self.new, path)? {
            self.damaged
                .extend(self.tables.iter().map(|table| table.name.clone()));
            return Ok(false);
        }
        // Each statement by itself: SQLite commits no transaction in which a page of any file was damaged.
        let copied = copy(self)?;
        // To detach a file, SQLite may have to read its schema.
        self.new = connect(&self.path)?;
        Ok(copied)
    }

    fn ask(&self, sql: &str) -> rusqlite::Result<bool> {
        self.new.query_row(sql, [], |row| row.get(0))
    }

    /// Returns whether the tables and indexes of the attached database are those of this version.
    fn has_our_schema(&self) -> Result<bool> {
        let of = |schema: &str, other: &str| {
            format!(
                "SELECT NOT EXISTS (SELECT name, sql FROM {schema}.sqlite_schema
                   WHERE type IN ('table', 'index') AND name NOT LIKE 'sqlite_%' AND name <> 'steps_open'
                   EXCEPT SELECT name, sql FROM {other}.sqlite_schema)"
            )
        };
        for sql in [of("main", "old"), of("old", "main")] {
            if if_readable(self.ask(&sql))? != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub fn copy_tables(&mut self, is_meant: impl Fn(&str) -> bool) -> Result<()> {
        let shifts = self.shifts()?;
        for at in 0..self.tables.len() {
            if is_meant(&self.tables[at].name) {
                self.copy_table(at, &shifts)?;
            }
        }
        Ok(())
    }

    /// Returns by how much the numbers of the rows of each table are lowered: by nothing where there are no others.
    fn shifts(&self) -> Result<Vec<i64>> {
        if self.added_at.is_none() || !self.is_another_history()? {
            return Ok(vec![0; self.tables.len()]);
        }
        let shift = |table: &FilledTable| -> rusqlite::Result<i64> {
            let Some(number) = &table.number else {
                return Ok(0);
            };
            let name = &table.name;
            let sql = format!(
                "SELECT max(0, ifnull((SELECT max({number}) FROM old.{name}) - (SELECT min({number}) FROM main.{name}) + 1, 0))"
            );
            self.new.query_row(&sql, [], |row| row.get(0))
        };
        let shifts: rusqlite::Result<_> = self.tables.iter().map(shift).collect();
        shifts.context(|| "cannot read the session store")
    }

    /// Returns whether none of the workspaces in the attached database is in this one.
    fn is_another_history(&self) -> Result<bool> {
        self.ask(
            "SELECT NOT EXISTS (SELECT 1 FROM old.workspaces JOIN main.workspaces USING (key))",
        )
        .context(|| "cannot read the session store")
    }

    fn copy_table(&mut self, at: usize, shifts: &[i64]) -> Result<()> {
        let table = &self.tables[at];
        let name = &table.name;
        let known = if_readable(columns_of_old(&self.new, name))?.unwrap_or_default();
        // Only columns that both know: the damaged file may be of an older version, and a new column has a default.
        // Each is the one of its name, or the one in its place, where something has renamed that.
        let is_renamed = known.len() == table.columns.len();
        let in_old = |(at, column): (usize, &'_ String)| {
            let in_place = known
                .get(at)
                .filter(|old| is_renamed && !table.columns.contains(old));
            known
                .iter()
                .find(|old| *old == column)
                .or(in_place)
                .cloned()
        };
        let columns = table.columns.iter().enumerate();
        let shared: Vec<(&String, String)> = columns
            .filter_map(|(at, column)| Some((column, in_old((at, column))?)))
            .collect();
        if shared.is_empty() {
            self.damaged.insert(name.clone());
            return Ok(());
        }
        let of = |other: &str| {
            let number = self.tables.iter().position(|table| table.name == other);
            number.map_or(0, |number| shifts[number])
        };
        let value = |(column, old): &(&String, String)| {
            let referenced = table.numbers_of.iter().find(|(from, _)| from == *column);
            let shift = match referenced {
                Some((_, other)) => of(other),
                None if table.number.as_ref() == Some(*column) => shifts[at],
                None => 0,
            };
            let old = quoted(old);
            match (shift, self.added_at) {
                (0, Some(now)) if *column == "replaced_at" => replaced_at(now),
                (0, _) => old,
                (shift, _) => format!("{old} - {shift}"),
            }
        };
        let mut values: Vec<String> = shared.iter().map(value).collect();
        let mut columns: Vec<String> = shared.iter().map(|(column, _)| quoted(column)).collect();
        for (column, blank) in blanks(&self.new, name)? {
            if !shared.iter().any(|(shared, _)| **shared == column) {
                columns.push(quoted(&column));
                values.push(blank);
            }
        }
        let operation = shared.iter().find(|(column, _)| *column == "operation_id");
        let operation = operation.map(|(_, old)| quoted(old)).unwrap_or_default();
        let insert = format!(
            "INSERT OR IGNORE INTO main.{name} ({}) SELECT {} FROM old.{name}",
            columns.join(", "),
            values.join(", ")
        );
        let before = self.count(name)?;
        let is_whole = match table.has_row_numbers {
            true => self.copy_by_numbers(name, &insert)?,
            false => self.copy_by_operations(&insert, &operation)?,
        };
        self.rows += self.count(name)?.saturating_sub(before);
        if !is_whole {
            let name = name.clone();
            self.damaged.insert(name);
        }
        Ok(())
    }

    fn count(&self, table: &str) -> Result<u64> {
        let sql = format!("SELECT count(*) AS number FROM main.{table}");
        self.new
            .query_row(&sql, [], |row| read::count(row, "number"))
            .context(|| "cannot read a new session store")
    }

    /// Copies the rows of a table in ranges of their numbers. Returns whether all could be read.
    fn copy_by_numbers(&self, table: &str, insert: &str) -> Result<bool> {
        let end = |which: &str| -> Result<Option<i64>> {
            let sql = format!("SELECT {which}(rowid) FROM old.{table}");
            let found = if_readable(self.new.query_row(&sql, [], |row| row.get(0)))?;
            // An empty table has none, either, and its range holds nothing.
            Ok(found.map(|number: Option<i64>| number.unwrap_or(0)))
        };
        let first = end("min")?.unwrap_or(1);
        let last = match end("max")? {
            Some(last) => last,
            // No table has more rows than this.
            None => {
                let read = |row: &rusqlite::Row<'_>| row.get(0);
                let pages = self.new.pragma_query_value(Some("old"), "page_count", read);
                first.saturating_add(64 * if_readable(pages)?.unwrap_or(1_i64 << 20))
            }
        };
        let rows = |which: &str| format!("{insert} WHERE rowid {which}");
        self.copy_in_halves(&rows, first, last)
    }

    /// Copies what belongs to operations, whose rows have no numbers of their own. Rows of operations that were lost
    /// are of no use.
    fn copy_by_operations(&self, insert: &str, column: &str) -> Result<bool> {
        let ends = "SELECT ifnull(min(seq), 1), ifnull(max(seq), 0) FROM main.operations";
        let (first, last) = self
            .new
            .query_row(ends, [], |row| Ok((row.get(0)?, row.get(1)?)))
            .context(|| "cannot read a new session store")?;
        let rows = |which: &str| {
            format!("{insert} WHERE {column} IN (SELECT id FROM main.operations WHERE seq {which})")
        };
        if self.copy_in_halves(&rows, first, last)? {
            return Ok(true);
        }
        let sql = "SELECT id FROM main.operations";
        let operations: Vec<String> = read::all(&self.new, sql, [], |row| row.get(0))?;
        for id in operations {
            // The ids are our own, but were read from a damaged file.
            let id = id.replace('\'', "''");
            let rows =
                |which: &str| format!("{insert} WHERE {column} = '{id}' AND position {which}");
            self.copy_in_halves(&rows, 0, 1 << 14)?;
        }
        Ok(false)
    }

    /// Runs a statement on a range. If some of it cannot be read, it runs on each half, and so on, the largest ranges
    /// first. Returns whether all could be read.
    fn copy_in_halves(&self, rows: &dyn Fn(&str) -> String, first: i64, last: i64) -> Result<bool> {
        let what = || "cannot save the rows of a damaged session store";
        let prepare = |which| match self.new.prepare(&rows(which)) {
            Err(error) if is_unreadable(&error) => Ok(None),
            prepared => prepared.map(Some).context(what),
        };
        // For a single row, SQLite must not look for the one behind it.
        let (Some(mut range), Some(mut single)) = (prepare("BETWEEN ?1 AND ?2")?, prepare("= ?1")?)
        else {
            return Ok(false);
        };
        let mut ranges = VecDeque::from([(first, last)]);
        let mut failures = 0;
        while let Some((first, last)) = ranges.pop_front() {
            let copied = match first == last {
                true => single.execute([first]),
                false => range.execute([first, last]),
            };
            match copied {
                Ok(_) => {}
                Err(error) if is_unreadable(&error) => {
                    failures += 1;
                    if failures == MOST_FAILURES {
                        break;
                    }
                    if first < last {
                        let middle = first + (last - first) / 2;
                        ranges.extend([(first, middle), (middle + 1, last)]);
                    }
                }
                Err(error) => return Err(error).context(what),
            }
        }
        Ok(failures == 0)
    }
}

/// Returns a name as SQLite reads it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns whether the attached database has a table.
fn is_table(connection: &Connection, name: &str) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM old.sqlite_schema WHERE type = 'table' AND name = ?1)";
    let is_table = connection.query_row(sql, [name], |row| row.get(0));
    Ok(if_readable(is_table)?.unwrap_or_default())
}

/// Returns the names of the columns that a table of the attached database has.
fn columns_of_old(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT name FROM pragma_table_info(?1, 'old')";
    let mut statement = connection.prepare(sql)?;
    let names = statement.query_map([table], |row| row.get(0))?;
    names.collect()
}

/// Returns the columns of a table that no row may lack, each with what stands for a lost value: the rest of such a row can
/// be read.
fn blanks(connection: &Connection, table: &str) -> Result<Vec<(String, String)>> {
    let sql = "SELECT name, iif(type = 'INTEGER', '0', quote('')) FROM pragma_table_info(?1)
                WHERE \"notnull\" AND dflt_value IS NULL AND pk = 0";
    read::all(connection, sql, [table], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })
}

/// Returns when a workspace was set aside: now, if another history continues at its path.
fn replaced_at(now: Milliseconds) -> String {
    format!(
        "CASE WHEN replaced_at IS NULL AND EXISTS
           (SELECT 1 FROM main.workspaces AS here WHERE here.replaced_at IS NULL AND here.path = old.workspaces.path
               AND ifnull(here.path_raw, '') = ifnull(old.workspaces.path_raw, ''))
         THEN {now} ELSE replaced_at END"
    )
}

pub(super) fn tables(connection: &Connection) -> Result<Vec<FilledTable>> {
    let sql = "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
                  AND name NOT LIKE 'sqlite_%' AND name <> 'meta'
                ORDER BY (SELECT rowid FROM sqlite_schema WHERE sqlite_schema.name = pragma_table_list.name)";
    let named: Vec<(String, bool)> =
        read::all(connection, sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut tables = Vec::new();
    for (name, has_none) in named {
        let sql = "SELECT name, pk = 1 AND type = 'INTEGER' FROM pragma_table_info(?1)";
        let columns: Vec<(String, bool)> = read::all(connection, sql, [&name], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        let number = columns
            .iter()
            .find(|(_, is_number)| *is_number && !has_none);
        tables.push(FilledTable {
            number: number.map(|(column, _)| column.clone()),
            columns: columns.iter().map(|(column, _)| column.clone()).collect(),
            numbers_of: Vec::new(),
            has_row_numbers: !has_none,
            name,
        });
    }
    let numbers: Vec<(String, Option<String>)> = tables
        .iter()
        .map(|table| (table.name.clone(), table.number.clone()))
        .collect();
    for table in &mut tables {
        for (from, other, to) in references(connection, &table.name)? {
            if numbers.contains(&(other.clone(), Some(to))) {
                table.numbers_of.push((from, other));
            }
        }
        // The one that no key is declared for.
        if table.name == "feed" {
            table
                .numbers_of
                .push(("workspace_id".to_owned(), "workspaces".to_owned()));
        }
    }
    Ok(tables)
}

/// Returns the columns of a table that refer to others, with these and their columns.
pub(super) fn references(
    connection: &Connection,
    table: &str,
) -> Result<Vec<(String, String, String)>> {
    // A key that names no column refers to the primary key.
    let sql = "SELECT \"from\", \"table\", ifnull(\"to\", 'id') FROM pragma_foreign_key_list(?1)";
    read::all(connection, sql, [table], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })
}
