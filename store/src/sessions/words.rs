//! The words in columns of the session store, and what each means. There is no default: migrations keep versions that
//! do not know a word away from the file, so an unknown word is damage, and a guess could undo the wrong thing.

use std::fmt;

use ckpt_schema::report::{
    FileAction, FileResult, GitPart, MessageState, OperationKind, Outcome, ReasonCode,
};
use ckpt_schema::{ToolKind, Word};
use rusqlite::types::{Type, ValueRef};
use rusqlite::{Connection, Row};

use super::read::all;
use crate::error::Result;
use crate::model::attribution::Attribution;
use crate::model::item::ReasonCase;
use crate::model::path_list::{self, OperationDirectories};
use crate::model::request::{OnConflict, Unclear};

ckpt_schema::words! {
    /// How far an operation has got.
    pub(crate) enum OperationState {
        /// Journalled, and not carried out completely.
        Open = "open",
        Done = "done",
        RolledBack = "rolled_back",
    }
}

ckpt_schema::words! {
    /// Whether a step is open.
    pub(crate) enum StepState {
        Open = "open",
        Closed = "closed",
    }
}

ckpt_schema::words! {
    /// What a row of the feed is about.
    pub(crate) enum FeedKind {
        Message = "message",
        Step = "step",
        Operation = "operation",
        /// A step whose last snapshot could not hold everything.
        Gap = "gap",
        /// A diagnostic.
        Failed = "failed",
    }
}

ckpt_schema::words! {
    /// A table that has columns of words.
    pub(crate) enum WordTable {
        Messages = "messages",
        Steps = "steps",
        Changes = "changes",
        Operations = "operations",
        OperationFiles = "operation_files",
        OperationGit = "operation_git",
        Feed = "feed",
        Tools = "tools",
    }
}

impl WordTable {
    /// Returns the columns that identify a row. A statement that reads a word reads them, too.
    fn key(self) -> &'static [&'static str] {
        match self {
            Self::Messages | Self::Steps | Self::Changes | Self::Operations | Self::Tools => {
                &["id"]
            }
            Self::OperationFiles | Self::OperationGit => &["operation_id", "position"],
            Self::Feed => &["seq"],
        }
    }

    /// Returns a row's key as text.
    fn row_of(self, row: &Row<'_>) -> String {
        let column = |name: &&str| match row.get_ref(*name) {
            Ok(ValueRef::Text(text)) => String::from_utf8_lossy(text).into_owned(),
            Ok(ValueRef::Integer(number)) => number.to_string(),
            Ok(ValueRef::Null | ValueRef::Real(_) | ValueRef::Blob(_)) | Err(_) => "?".to_owned(),
        };
        let key: Vec<String> = self.key().iter().map(column).collect();
        key.join(", ")
    }
}

/// An unknown word in a row: the row is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnknownWord {
    table: &'static str,
    row: String,
    column: String,
    /// `None` stands for NULL.
    word: Option<String>,
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            table, row, column, ..
        } = self;
        let word = self.word.as_deref().unwrap_or("NULL");
        write!(
            formatter,
            "the row `{row}` of `{table}` is damaged: `{word}` is not a value of its column `{column}`"
        )
    }
}

impl std::error::Error for UnknownWord {}

/// Reads a column of words. An unknown word is an error that names the row.
pub(crate) fn word<T: Word>(row: &Row<'_>, table: WordTable, column: &str) -> rusqlite::Result<T> {
    optional_word(row, table, column)?.ok_or_else(|| unknown(row, table, column, None))
}

/// Like [`word`], for a column that may be NULL.
pub(crate) fn optional_word<T: Word>(
    row: &Row<'_>,
    table: WordTable,
    column: &str,
) -> rusqlite::Result<Option<T>> {
    let value = row.get_ref(column)?;
    if value == ValueRef::Null {
        return Ok(None);
    }
    let text = shown(value);
    let known = T::ALL.iter().find(|word| word.text() == text);
    known
        .copied()
        .map(Some)
        .ok_or_else(|| unknown(row, table, column, Some(text)))
}

/// Reads a column of text that `parse` understands. Any other text, and NULL, is an error that names the row.
pub(super) fn parsed<T>(
    row: &Row<'_>,
    table: WordTable,
    column: &str,
    parse: fn(&str) -> Option<T>,
) -> rusqlite::Result<T> {
    let value = row.get_ref(column)?;
    let text = shown(value);
    parse(&text).ok_or_else(|| {
        let word = (value != ValueRef::Null).then_some(text);
        unknown(row, table, column, word)
    })
}

fn unknown(row: &Row<'_>, table: WordTable, column: &str, word: Option<String>) -> rusqlite::Error {
    let problem = UnknownWord {
        table: table.name(),
        row: table.row_of(row),
        column: column.to_owned(),
        word,
    };
    let index = row.as_ref().column_index(column).unwrap_or_default();
    rusqlite::Error::FromSqlConversionFailure(index, Type::Text, Box::new(problem))
}

/// Returns the known words of a column.
type Words = fn() -> Vec<&'static str>;

/// The columns of words, with the words of each.
const COLUMNS: [(WordTable, &str, Words); 16] = [
    (WordTable::Operations, "kind", texts::<OperationKind>),
    (WordTable::Operations, "state", texts::<OperationState>),
    (WordTable::Operations, "outcome", texts::<Outcome>),
    (WordTable::Operations, "on_conflict", texts::<OnConflict>),
    (WordTable::Operations, "unclear", texts::<Unclear>),
    (WordTable::OperationFiles, "action", texts::<FileAction>),
    (WordTable::OperationFiles, "result", texts::<FileResult>),
    (
        WordTable::OperationFiles,
        "reason_code",
        texts::<ReasonCode>,
    ),
    (
        WordTable::OperationFiles,
        "reason_case",
        texts::<ReasonCase>,
    ),
    (WordTable::OperationGit, "part", texts::<GitPart>),
    (WordTable::OperationGit, "result", texts::<FileResult>),
    (WordTable::Changes, "attribution", texts::<Attribution>),
    (WordTable::Messages, "state", texts::<MessageState>),
    (WordTable::Steps, "state", texts::<StepState>),
    (WordTable::Feed, "kind", texts::<FeedKind>),
    (WordTable::Tools, "kind", texts::<ToolKind>),
];

/// Returns whether a text can be read.
type IsReadable = fn(&str) -> bool;

/// The columns of operations that hold paths.
const PATHS: [(&str, IsReadable); 2] = [
    ("only_paths", |text| path_list::from_json(text).is_some()),
    ("directories", |text| {
        OperationDirectories::from_json(text).is_some()
    }),
];

fn texts<T: Word>() -> Vec<&'static str> {
    T::ALL.iter().map(|word| word.text()).collect()
}

/// How many damaged rows of a column are named.
const NAMED: u32 = 5;

/// Checks every row for unknown words and for paths that cannot be read, and names some of the rows.
pub(crate) fn unknown_words(connection: &Connection) -> Result<Vec<UnknownWord>> {
    let mut unknown = Vec::new();
    let words = COLUMNS.map(|(table, column, words)| {
        let known = format!("{column} IN ('{}')", words().join("', '"));
        (table, column, known)
    });
    for (table, column, known) in words {
        // The test of a NULL is NULL, which is not true: a column that may be empty is not damaged by it.
        let sql = format!(
            "SELECT {}, {column} FROM {} WHERE NOT ({known}) LIMIT {NAMED}",
            table.key().join(", "),
            table.name(),
        );
        unknown.extend(all(connection, &sql, [], |row| {
            Ok(UnknownWord {
                table: table.name(),
                row: table.row_of(row),
                column: column.to_owned(),
                word: Some(shown(row.get_ref(column)?)),
            })
        })?);
    }
    for (column, is_readable) in PATHS {
        unknown.extend(unreadable_paths(connection, column, is_readable)?);
    }
    Ok(unknown)
}

/// Returns some of the operations in which a column of paths cannot be read.
fn unreadable_paths(
    connection: &Connection,
    column: &str,
    is_readable: IsReadable,
) -> Result<impl Iterator<Item = UnknownWord>> {
    let table = WordTable::Operations;
    let sql = format!("SELECT id, {column} FROM operations WHERE {column} <> '[]'");
    let rows = all(connection, &sql, [], |row| {
        let text = shown(row.get_ref(column)?);
        Ok((!is_readable(&text)).then(|| UnknownWord {
            table: table.name(),
            row: table.row_of(row),
            column: column.to_owned(),
            word: Some(text),
        }))
    })?;
    Ok(rows.into_iter().flatten().take(NAMED as usize))
}

/// Returns a value as text. Anything but text has no words.
fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Blob(_) => {
            String::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;
    use crate::sessions::Database;
    use crate::settings::Durability;

    /// Checks the words of a column against those that the schema allows, and reads each, an unknown one, and NULL.
    fn check<T: Word + Debug + PartialEq>(connection: &Connection, table: WordTable, column: &str) {
        let schema: String = connection
            .query_row(
                "SELECT sql FROM sqlite_schema WHERE name = ?1",
                [table.name()],
                |row| row.get(0),
            )
            .expect("the table is there");
        let (_, from) = schema
            .split_once(&format!("{column} IN ("))
            .expect("the schema lists the words");
        let (list, _) = from.split_once(')').expect("the list ends");
        let keys = table.key();
        let key: Vec<String> = (7..)
            .zip(keys)
            .map(|(at, name)| format!("{at} AS {name}"))
            .collect();
        let read = |sql: &str| {
            let sql = format!("SELECT {}, {sql} AS {column}", key.join(", "));
            connection.query_row(&sql, [], |row| word::<T>(row, table, column))
        };
        for listed in list.split(", ") {
            let value = read(listed).expect("every word that may stand there is known");
            assert_eq!(
                format!("'{}'", value.text()),
                listed,
                "and stays what it is"
            );
        }
        for value in T::ALL {
            assert_eq!(
                read(&format!("'{}'", value.text())).ok(),
                Some(*value),
                "what is written is read"
            );
        }
        let row = if keys.len() == 1 { "7" } else { "7, 8" };
        for (sql, shown) in [
            ("'sideways'", "sideways"),
            ("''", ""),
            ("X'00'", ""),
            ("NULL", "NULL"),
        ] {
            let error = read(sql).expect_err("there is no default");
            let expected = format!(
                "the row `{row}` of `{}` is damaged: `{shown}` is not a value of its column `{column}`",
                table.name()
            );
            assert!(
                error.to_string().contains(&expected),
                "it names the row: {error}"
            );
        }
    }

    /// A word that is not known is an error that names the row.
    #[test]
    fn unknown_word_is_an_error_naming_the_row() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let database =
            Database::open(directory.path(), Durability::Objects).expect("a fresh directory");
        let connection = database.connection();
        check::<OperationKind>(connection, WordTable::Operations, "kind");
        check::<OperationState>(connection, WordTable::Operations, "state");
        check::<Outcome>(connection, WordTable::Operations, "outcome");
        check::<OnConflict>(connection, WordTable::Operations, "on_conflict");
        check::<Unclear>(connection, WordTable::Operations, "unclear");
        check::<FileAction>(connection, WordTable::OperationFiles, "action");
        check::<FileResult>(connection, WordTable::OperationFiles, "result");
        check::<GitPart>(connection, WordTable::OperationGit, "part");
        check::<FileResult>(connection, WordTable::OperationGit, "result");
        check::<Attribution>(connection, WordTable::Changes, "attribution");
        check::<MessageState>(connection, WordTable::Messages, "state");
        check::<StepState>(connection, WordTable::Steps, "state");
        check::<FeedKind>(connection, WordTable::Feed, "kind");
        check::<ToolKind>(connection, WordTable::Tools, "kind");
        // `reason_code` and `reason_case` are without a list of the words in the schema.
        assert_eq!(
            COLUMNS.len(),
            16,
            "every other column of words is checked above"
        );
    }

    /// Paths that cannot be read are an error that names the row.
    #[test]
    fn unreadable_paths_name_the_row() {
        let connection = Connection::open_in_memory().expect("a database");
        let read = |sql: &str| {
            let sql = format!("SELECT 7 AS id, {sql} AS only_paths");
            connection.query_row(&sql, [], |row| {
                parsed(
                    row,
                    WordTable::Operations,
                    "only_paths",
                    path_list::from_json,
                )
            })
        };
        assert_eq!(read("'[]'").map(|paths| paths.len()).ok(), Some(0));
        assert_eq!(read("'[\"a\"]'").map(|paths| paths.len()).ok(), Some(1));
        for (sql, shown) in [
            ("'[\"a\"'", "[\"a\""),
            ("'[7]'", "[7]"),
            ("''", ""),
            ("NULL", "NULL"),
        ] {
            let error = read(sql)
                .expect_err("no limit would be a guess")
                .to_string();
            let expected = format!(
                "the row `7` of `operations` is damaged: `{shown}` is not a value of its column `only_paths`"
            );
            assert!(error.contains(&expected), "it names the row: {error}");
        }
    }

    /// A column that may be null has no other default.
    #[test]
    fn nullable_column_has_no_other_default() {
        let connection = Connection::open_in_memory().expect("a database");
        let read = |sql: &str| {
            connection.query_row(sql, [], |row| {
                optional_word::<Outcome>(row, WordTable::Operations, "outcome")
            })
        };
        assert_eq!(read("SELECT NULL AS outcome").ok(), Some(None));
        let error = read("SELECT 'x' AS outcome").expect_err("not a word");
        assert!(error.to_string().contains("`x`"), "{error}");
    }
}
