//! Reads rows: all of them at once, columns as domain types, and rows that several reports share.

use ckpt_schema::report::{GapReport, PathText};
use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension, Row, RowIndex};

pub(crate) use super::words::{
    FeedKind, OperationState, StepState, WordTable, optional_word, unknown_words, word,
};
use crate::error::{Context, Result};
use crate::model::gap::{Gap, GapReason};
use crate::model::hex::Hex;
use crate::model::item::ItemReason;
use crate::model::metadata;
use crate::model::path::WorkspacePath;

/// Reads all rows of a query, so that no statement stays open while the result is used.
pub(crate) fn all<T>(
    connection: &Connection,
    sql: &str,
    parameters: impl rusqlite::Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    let what = "cannot read the session store";
    all_or(connection, what, sql, parameters, read)
}

/// Like [`all`], with an error that says what could not be read.
pub(crate) fn all_or<T>(
    connection: &Connection,
    what: &'static str,
    sql: &str,
    parameters: impl rusqlite::Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    let rows = || {
        connection
            .prepare_cached(sql)?
            .query_map(parameters, read)?
            .collect::<rusqlite::Result<_>>()
    };
    rows().context(|| what)
}

/// Reads the one row of a query that is asked again and again.
pub(crate) fn one<T>(
    connection: &Connection,
    what: &'static str,
    sql: &str,
    parameters: impl rusqlite::Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<T> {
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.query_row(parameters, read))
        .context(|| what)
}

/// Reads the row of such a query, if it has one.
pub(crate) fn one_or_none<T>(
    connection: &Connection,
    what: &'static str,
    sql: &str,
    parameters: impl rusqlite::Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>> {
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.query_row(parameters, read).optional())
        .context(|| what)
}

/// Reads the first column of the one row of such a query.
pub(crate) fn value<T: FromSql>(
    connection: &Connection,
    what: &'static str,
    sql: &str,
    parameters: impl rusqlite::Params,
) -> Result<T> {
    one(connection, what, sql, parameters, |row| row.get(0))
}

/// Reads the first column of the row of such a query, if it has one.
pub(crate) fn value_or_none<T: FromSql>(
    connection: &Connection,
    what: &'static str,
    sql: &str,
    parameters: impl rusqlite::Params,
) -> Result<Option<T>> {
    one_or_none(connection, what, sql, parameters, |row| row.get(0))
}

/// Returns whether such a query has a row.
pub(crate) fn any(
    connection: &Connection,
    what: &'static str,
    sql: &str,
    parameters: impl rusqlite::Params,
) -> Result<bool> {
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.exists(parameters))
        .context(|| what)
}

/// The columns of a row, read one after the other. Each event reads some rows, and to look up a column by its name costs
/// more than to read it.
pub(super) struct Columns<'row> {
    row: &'row Row<'row>,
    next: usize,
}

impl<'row> Columns<'row> {
    /// Begins with the first column.
    pub fn of(row: &'row Row<'_>) -> Self {
        Self { row, next: 0 }
    }

    /// Reads the next column, in the order of the statement.
    pub fn next<T: FromSql>(&mut self) -> rusqlite::Result<T> {
        self.next += 1;
        self.row.get(self.next - 1)
    }
}

/// Declares what a row holds: each field is read from the column of its name, or by the function after `=`.
macro_rules! row {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $($(#[$of_field:meta])* $field_vis:vis $field:ident: $type:ty $(= $read:expr)?,)+
        }
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[$of_field])* $field_vis $field: $type,)+
        }

        impl $name {
            fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
                Ok(Self {
                    $($field: crate::sessions::read::row!(row.$field $($read)?)?,)+
                })
            }
        }
    };
    ($row:ident.$field:ident) => {
        $row.get(stringify!($field))
    };
    ($row:ident.$field:ident $read:expr) => {{
        let read: fn(&rusqlite::Row<'_>) -> rusqlite::Result<_> = $read;
        read($row)
    }};
}

pub(crate) use row;

/// Returns a number that counts something. SQLite knows only signed numbers. A negative one is damage, and counts as
/// nothing: no decision depends on a count.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

/// Reads a column of numbers that are never negative, or `None` for NULL.
pub(crate) fn optional_count(
    row: &Row<'_>,
    column: impl RowIndex,
) -> rusqlite::Result<Option<u64>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(unsigned))
}

/// Reads two columns, the lines that were added and removed. `None` if they were not counted.
pub(super) fn lines(
    row: &Row<'_>,
    additions: impl RowIndex,
    deletions: impl RowIndex,
) -> rusqlite::Result<Option<(u64, u64)>> {
    let additions = optional_count(row, additions)?;
    Ok(additions.zip(optional_count(row, deletions)?))
}

/// Like [`optional_count`], for a column that is never NULL.
pub(crate) fn count(row: &Row<'_>, column: impl RowIndex) -> rusqlite::Result<u64> {
    Ok(optional_count(row, column)?.unwrap_or_default())
}

/// Reads the columns `path` and `path_raw`, which may hold names that no [`WorkspacePath`] has.
pub(crate) fn path(row: &Row<'_>) -> rusqlite::Result<PathText> {
    let raw: Option<Vec<u8>> = row.get("path_raw")?;
    let path_hex = raw.map(|raw| Hex(&raw).to_string());
    Ok(PathText {
        path: row.get("path")?,
        path_hex,
    })
}

/// Returns the reports of a snapshot's gaps, by path.
pub(crate) fn gap_reports(gaps: &[Gap]) -> Vec<GapReport> {
    // As with `.git`, it is expected of these that nothing in them is captured.
    let is_named =
        |gap: &&Gap| gap.reason != GapReason::Repository || !metadata::is_system(&gap.path);
    let mut gaps: Vec<_> = gaps.iter().filter(is_named).map(gap_report).collect();
    gaps.sort_by(|one, other| one.path.cmp(&other.path));
    gaps
}

/// Returns a gap's report.
pub(crate) fn gap_report(gap: &Gap) -> GapReport {
    let path = match WorkspacePath::new(gap.path.clone()) {
        Ok(path) => path.to_report(),
        // A reserved name is not a path in a workspace, but has to be named all the same.
        Err(_) => PathText {
            path: String::from_utf8_lossy(&gap.path).into_owned(),
            path_hex: std::str::from_utf8(&gap.path)
                .is_err()
                .then(|| Hex(&gap.path).to_string()),
        },
    };
    GapReport {
        path,
        reason: gap.reason.to_string(),
    }
}

/// Reads why a file of an operation stays: the columns `reason`, `reason_code`, `reason_case` and, as
/// [`by_json`] wrote it, `reason_by`.
pub(crate) fn item_reason(row: &Row<'_>) -> rusqlite::Result<Option<ItemReason>> {
    let Some(text) = row.get("reason")? else {
        return Ok(None);
    };
    let by: Option<String> = row.get("reason_by")?;
    Ok(Some(ItemReason {
        text,
        code: optional_word(row, WordTable::OperationFiles, "reason_code")?,
        case: optional_word(row, WordTable::OperationFiles, "reason_case")?,
        // If it is not an array of authors, none is named. The sentence still says it.
        by: by
            .and_then(|json| serde_json::from_str(&json).ok())
            .unwrap_or_default(),
    }))
}

/// Returns the authors of a reason for the column `reason_by`: a JSON array of their reports. `None` if it names
/// none.
pub(crate) fn by_json(reason: Option<&ItemReason>) -> Option<String> {
    let by = &reason?.by;
    let json = || serde_json::to_string(by).ok();
    (!by.is_empty()).then(json).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines are known where both numbers are and a negative number counts as nothing.
    #[test]
    fn lines_need_both_numbers() {
        let connection = Connection::open_in_memory().expect("a database in memory");
        let lines_of = |numbers: &str| {
            let sql = format!("SELECT {numbers}");
            connection
                .query_row(&sql, [], |row| lines(row, "more", "less"))
                .expect("two numbers")
        };
        assert_eq!(lines_of("3 AS more, 2 AS less"), Some((3, 2)));
        assert_eq!(lines_of("3 AS more, NULL AS less"), None, "not counted");
        assert_eq!(lines_of("-3 AS more, 2 AS less"), Some((0, 2)), "damage");
    }
}
