//! The rows that go from one machine to another, as lines of JSON: which tables and columns, and what refers to what.
//!
//! A row is `{"table": …, "row": …, "values": {…}}`; without values, it is gone. Numbers of rows are another machine's
//! own, so what refers to one is looked up in the table `fetched` when it arrives.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Context, Error, Result};
use crate::model::entry::ObjectId;
use crate::model::hex::Hex;
use crate::objects::hash::{ObjectKind, hash};

/// What tells the rows of a table apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// A number in the column `id`.
    Number,
    /// A text in the column `id`, the same on every machine.
    Text,
    /// These columns of its own, the first of which refers to another row.
    Columns(&'static str),
}

/// Which rows of a table a push compares with what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// All: they are few, and change long after they were written.
    All,
    /// Those that were written late.
    Late,
    /// None, unless an operation was carried out.
    WithOperations,
}

/// A table of which rows are sent.
pub(super) struct RowTable {
    pub name: &'static str,
    pub key: Key,
    /// Its columns. `name>table` refers to a row of another table, and `name>>table` always does.
    columns: &'static str,
    /// Whether it has a column `workspace_id`.
    pub has_workspace: bool,
    /// Which rows are sent, of the workspace `?1`.
    which: &'static str,
    /// Whether what was sent before is not to stay there once such a row is gone.
    pub is_forgotten_with: bool,
    pub compared: Compared,
}

/// How a row is known to be of the workspace `?1`: where all rows are looked for, and where a few are looked at.
const OWNERS: [(&str, &str, &str); 3] = [
    (
        "OF_SESSION",
        "session_id IN (SELECT id FROM sessions WHERE workspace_id = ?1)",
        "(SELECT workspace_id FROM sessions WHERE sessions.id = session_id) = ?1",
    ),
    (
        "OF_STEP",
        "step_id IN (SELECT steps.id FROM steps JOIN sessions ON sessions.id = session_id WHERE workspace_id = ?1 AND state = 'closed')",
        "(SELECT workspace_id FROM steps JOIN sessions ON sessions.id = session_id WHERE steps.id = step_id AND state = 'closed') = ?1",
    ),
    (
        "OF_OPERATION",
        "operation_id IN (SELECT id FROM operations WHERE workspace_id = ?1 AND state <> 'open')",
        "(SELECT workspace_id FROM operations WHERE operations.id = operation_id AND state <> 'open') = ?1",
    ),
];

/// The tables, each before those that refer to it.
pub(super) const TABLES: &[RowTable] = &[
    RowTable {
        name: "git_states",
        key: Key::Number,
        columns: "head branch index_blob doing seen_at",
        has_workspace: true,
        which: "workspace_id = ?1",
        is_forgotten_with: false,
        compared: Compared::Late,
    },
    RowTable {
        name: "snapshots",
        key: Key::Number,
        columns: "tree attributes_blob rules_blob seen_blob gaps forgotten git_state_id>git_states taken_at pruned_at",
        has_workspace: true,
        which: "workspace_id = ?1",
        is_forgotten_with: true,
        compared: Compared::Late,
    },
    RowTable {
        name: "sessions",
        key: Key::Text,
        columns: "agent agent_id parent_id>sessions cwd started_at last_event_at last_event ended_at tool_events revert_message_id>messages revert_base_id>snapshots interrupted_at",
        has_workspace: true,
        which: "workspace_id = ?1",
        is_forgotten_with: true,
        compared: Compared::All,
    },
    RowTable {
        name: "messages",
        key: Key::Text,
        columns: "session_id>>sessions agent_id turn_id prompt state snapshot_id>snapshots unprotected created_at",
        has_workspace: false,
        which: "pending = 0 AND OF_SESSION",
        is_forgotten_with: true,
        compared: Compared::Late,
    },
    RowTable {
        name: "steps",
        key: Key::Text,
        columns: "session_id>>sessions message_id>>messages agent_id state recovered unprotected start_snapshot_id>snapshots finish_snapshot_id>snapshots started_at finished_at outside",
        has_workspace: false,
        which: "state = 'closed' AND OF_SESSION",
        is_forgotten_with: true,
        compared: Compared::Late,
    },
    RowTable {
        name: "tools",
        key: Key::Number,
        columns: "step_id>>steps agent_id name kind paths outside command started_at finished_at ran_for waited_at background released_at",
        has_workspace: false,
        which: "OF_STEP",
        is_forgotten_with: false,
        compared: Compared::Late,
    },
    RowTable {
        name: "step_paths",
        key: Key::Columns("step_id path"),
        columns: "step_id>>steps path path_raw captured returned mode blob",
        has_workspace: false,
        which: "OF_STEP",
        is_forgotten_with: false,
        compared: Compared::Late,
    },
    RowTable {
        name: "operations",
        key: Key::Text,
        columns: "session_id>sessions kind state from_message_id>messages message_id>messages asked_message_id>messages part_message_id>messages alone step_id>steps undoes>operations base_snapshot_id>snapshots before_snapshot_id>snapshots after_snapshot_id>snapshots goal_snapshot_id>snapshots on_conflict unclear only_paths directories git permanent outcome notes started_at finished_at",
        has_workspace: true,
        which: "workspace_id = ?1 AND state <> 'open'",
        is_forgotten_with: true,
        compared: Compared::Late,
    },
    RowTable {
        name: "operation_files",
        key: Key::Columns("operation_id position"),
        columns: "operation_id>>operations position path path_raw action result reason reason_code reason_case reason_by expected_mode expected_blob target_mode target_blob goal_mode goal_blob additions deletions",
        has_workspace: false,
        which: "OF_OPERATION",
        is_forgotten_with: false,
        compared: Compared::WithOperations,
    },
    RowTable {
        name: "operation_git",
        key: Key::Columns("operation_id position"),
        columns: "operation_id>>operations position part name expected target result reason unclear",
        has_workspace: false,
        which: "OF_OPERATION",
        is_forgotten_with: false,
        compared: Compared::WithOperations,
    },
    RowTable {
        name: "changes",
        key: Key::Number,
        columns: "step_id>steps attribution reason from_snapshot_id>snapshots to_snapshot_id>snapshots path path_raw kind old_mode old_blob new_mode new_blob additions deletions undone_by>operations happened_at",
        has_workspace: true,
        which: "workspace_id = ?1 AND (step_id IS NULL OR OF_STEP)",
        is_forgotten_with: false,
        compared: Compared::Late,
    },
    RowTable {
        name: "labels",
        key: Key::Number,
        columns: "text message_id>messages snapshot_id>snapshots created_at",
        has_workspace: true,
        which: "workspace_id = ?1",
        is_forgotten_with: false,
        compared: Compared::All,
    },
];

/// A column that refers to a row of another table.
pub(super) struct Reference {
    pub column: &'static str,
    pub table: &'static str,
    pub is_needed: bool,
}

/// A row on its way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SentRow {
    pub table: String,
    pub row: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Map<String, Value>>,
}

impl SentRow {
    /// Returns a value, as text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.as_ref()?.get(name)?.as_str()
    }

    /// Returns the object that a column names.
    pub fn object(&self, name: &str) -> Option<ObjectId> {
        ObjectId::from_hex(self.text(name)?)
    }

    /// Returns the bytes of its path.
    pub fn path(&self) -> Option<Vec<u8>> {
        match self.values.as_ref()?.get("path_raw") {
            Some(Value::Object(raw)) => unhex(raw.get("hex")?.as_str()?),
            _ => Some(self.text("path")?.as_bytes().to_vec()),
        }
    }

    /// Sets a value.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        if let Some(values) = &mut self.values {
            values.insert(name.to_owned(), value.into());
        }
    }
}

/// Returns a hash of bytes.
pub(super) fn short_hash(bytes: &[u8]) -> i64 {
    let id = hash(ObjectKind::Blob, bytes);
    let mut first = [0; 8];
    first.copy_from_slice(&id.as_bytes()[..8]);
    i64::from_be_bytes(first)
}

pub(super) fn unhex(hex: &str) -> Option<Vec<u8>> {
    let is_hex = hex.len().is_multiple_of(2) && hex.bytes().all(|digit| digit.is_ascii_hexdigit());
    let byte = |at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    is_hex.then(|| (0..hex.len()).step_by(2).map_while(byte).collect())
}

/// Returns the table with a name.
pub(super) fn table(name: &str) -> Result<&'static RowTable> {
    let found = TABLES.iter().find(|table| table.name == name);
    found.ok_or_else(|| {
        Error::unavailable("what another machine pushed is of a newer version of ckpt-hook")
            .hint("install that version here as well")
    })
}

impl RowTable {
    pub fn columns(&self) -> impl Iterator<Item = &'static str> {
        let name = |column: &'static str| column.split('>').next().unwrap_or(column);
        self.columns.split(' ').map(name)
    }

    pub fn references(&self) -> impl Iterator<Item = Reference> {
        self.columns.split(' ').filter_map(|column| {
            let (name, table) = column.split_once('>')?;
            Some(Reference {
                column: name,
                table: table.trim_start_matches('>'),
                is_needed: table.starts_with('>'),
            })
        })
    }

    /// Returns the condition for rows that are sent, where all are looked for, or a few are looked at.
    pub fn which(&self, are_all: bool) -> String {
        let which = self.which.to_owned();
        OWNERS.iter().fold(which, |which, (name, all, few)| {
            which.replace(name, if are_all { all } else { few })
        })
    }

    /// Looks at its rows of a workspace after a number, in the order in which they were written.
    pub fn each(
        &self,
        connection: &Connection,
        workspace_id: i64,
        after: Option<i64>,
        mut see: impl FnMut(&FoundRow<'_>) -> rusqlite::Result<()>,
    ) -> Result<()> {
        let what = || format!("cannot read the table `{}`", self.name);
        let key = match self.key {
            Key::Number | Key::Text => "CAST(id AS TEXT)".to_owned(),
            Key::Columns(columns) => columns.replace(' ', " || ' ' || "),
        };
        let columns: Vec<&str> = self.columns().collect();
        let number = match self.compared {
            Compared::WithOperations => "0".to_owned(),
            Compared::All | Compared::Late => format!("{}.rowid", self.name),
        };
        let (index, late) = match after {
            None => ("", String::new()),
            Some(after) => ("NOT INDEXED", format!("AND {number} > {after}")),
        };
        let sql = format!(
            "SELECT {key}, {}, {number} AS number FROM {} {index} WHERE {} {late} ORDER BY number, 1",
            columns.join(", "),
            self.name,
            self.which(after.is_none()),
        );
        let mut statement = connection.prepare(&sql).context(what)?;
        let mut rows = statement.query([workspace_id]).context(what)?;
        while let Some(row) = rows.next().context(what)? {
            let found = FoundRow {
                table: self.name,
                columns: &columns,
                row,
            };
            see(&found).context(what)?;
        }
        Ok(())
    }
}

/// A row that was found. Most are only compared with what was sent: they are not copied for that.
pub(super) struct FoundRow<'r> {
    table: &'static str,
    columns: &'r [&'static str],
    row: &'r Row<'r>,
}

impl FoundRow<'_> {
    /// Returns the values that tell it apart.
    pub fn key(&self) -> rusqlite::Result<&str> {
        Ok(self.row.get_ref(0)?.as_str()?)
    }

    /// Returns its number in the table.
    pub fn number(&self) -> rusqlite::Result<i64> {
        self.row.get(self.columns.len() + 1)
    }

    /// Returns whether a column has no value.
    pub fn is_null(&self, name: &str) -> rusqlite::Result<bool> {
        let at = self.columns.iter().position(|column| *column == name);
        let cell = at.map(|at| self.row.get_ref(at + 1)).transpose()?;
        Ok(cell.is_none_or(|cell| cell == ValueRef::Null))
    }

    /// Returns a hash of what it says. `bytes` is room for that, kept from row to row.
    pub fn hash(&self, bytes: &mut Vec<u8>) -> rusqlite::Result<i64> {
        bytes.clear();
        for at in 0..=self.columns.len() {
            // The kind and the length come first, so that no two rows are the same bytes.
            let (kind, text): (u8, &[u8]) = match self.row.get_ref(at)? {
                ValueRef::Integer(number) => {
                    bytes.push(1);
                    bytes.extend(number.to_be_bytes());
                    continue;
                }
                ValueRef::Text(text) => (2, text),
                ValueRef::Blob(blob) => (3, blob),
                ValueRef::Null | ValueRef::Real(_) => (0, &[]),
            };
            bytes.push(kind);
            bytes.extend(text.len().to_be_bytes());
            bytes.extend(text);
        }
        Ok(short_hash(bytes))
    }

    /// Returns it, to be sent.
    pub fn record(&self) -> rusqlite::Result<SentRow> {
        let mut values = Map::new();
        for (at, name) in self.columns.iter().enumerate() {
            values.insert((*name).to_owned(), value(self.row.get_ref(at + 1)?));
        }
        Ok(SentRow {
            table: self.table.to_owned(),
            row: self.key()?.to_owned(),
            values: Some(values),
        })
    }
}

fn value(cell: ValueRef<'_>) -> Value {
    match cell {
        ValueRef::Integer(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => serde_json::json!({ "hex": Hex(bytes).to_string() }),
        ValueRef::Null | ValueRef::Real(_) => Value::Null,
    }
}
