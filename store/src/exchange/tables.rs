//! The rows that go from one machine to another, as lines of JSON: which tables and columns, and what refers to what.
//!
//! A row is `{"table": …, "row": …, "values": {…}}`; without values, it is gone. Numbers of rows are another machine's
//! own, so what refers to one is looked up in the table `fetched` when it arrives.

use rusqlite::types::{Value as Cell, ValueRef};
use rusqlite::{Connection, Row, params_from_iter};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Context, Error, Result};
use crate::model::entry::ObjectId;
use crate::model::hex::Hex;
use crate::objects::hash::{ObjectKind, hash};
use crate::sessions::{self, read};

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

/// A table of which rows are sent.
pub(super) struct RowTable {
    pub name: &'static str,
    pub key: Key,
    /// Its columns. `name>table` refers to a row of another table, and `name>>table` always does.
    columns: &'static str,
    /// Whether it has a column `workspace_id`.
    has_workspace: bool,
    /// Which rows are sent, of the workspace `?1`.
    which: &'static str,
    /// Whether what was sent before is not to stay there once such a row is gone.
    pub is_forgotten_with: bool,
}

const SESSIONS: &str = "(SELECT id FROM sessions WHERE workspace_id = ?1)";

/// The tables, each before those that refer to it.
pub(super) const TABLES: &[RowTable] = &[
    RowTable {
        name: "git_states",
        key: Key::Number,
        columns: "head branch index_blob doing seen_at",
        has_workspace: true,
        which: "workspace_id = ?1",
        is_forgotten_with: false,
    },
    RowTable {
        name: "snapshots",
        key: Key::Number,
        columns: "tree attributes_blob rules_blob seen_blob git_state_id>git_states taken_at pruned_at",
        has_workspace: true,
        which: "workspace_id = ?1",
        is_forgotten_with: true,
    },
    RowTable {
        name: "gaps",
        key: Key::Number,
        columns: "snapshot_id>>snapshots path path_raw reason size",
        has_workspace: false,
        which: "snapshot_id IN (SELECT id FROM snapshots WHERE workspace_id = ?1)",
        is_forgotten_with: false,
    },
    RowTable {
        name: "sessions",
        key: Key::Text,
        columns: "agent agent_id parent_id>sessions cwd started_at last_event_at last_event ended_at tool_events revert_message_id>messages revert_base_id>snapshots interrupted_at",
        has_workspace: true,
        which: "workspace_id = ?1",
        is_forgotten_with: true,
    },
    RowTable {
        name: "messages",
        key: Key::Text,
        columns: "session_id>>sessions agent_id turn_id prompt state snapshot_id>snapshots unprotected created_at",
        has_workspace: false,
        which: "pending = 0 AND session_id IN SESSIONS",
        is_forgotten_with: true,
    },
    RowTable {
        name: "steps",
        key: Key::Text,
        columns: "session_id>>sessions message_id>>messages agent_id state recovered unprotected start_snapshot_id>snapshots finish_snapshot_id>snapshots started_at finished_at outside",
        has_workspace: false,
        which: "state = 'closed' AND session_id IN SESSIONS",
        is_forgotten_with: true,
    },
    RowTable {
        name: "tools",
        key: Key::Number,
        columns: "step_id>>steps agent_id name kind paths outside command started_at finished_at ran_for waited_at background released_at",
        has_workspace: false,
        which: "step_id IN (SELECT id FROM steps WHERE state = 'closed' AND session_id IN SESSIONS)",
        is_forgotten_with: false,
    },
    RowTable {
        name: "step_paths",
        key: Key::Columns("step_id path"),
        columns: "step_id>>steps path path_raw captured returned mode blob",
        has_workspace: false,
        which: "step_id IN (SELECT id FROM steps WHERE state = 'closed' AND session_id IN SESSIONS)",
        is_forgotten_with: false,
    },
    RowTable {
        name: "operations",
        key: Key::Text,
        columns: "session_id>sessions kind state from_message_id>messages message_id>messages asked_message_id>messages part_message_id>messages alone step_id>steps undoes>operations base_snapshot_id>snapshots before_snapshot_id>snapshots after_snapshot_id>snapshots goal_snapshot_id>snapshots on_conflict unclear only_paths directories git permanent outcome notes remarks started_at finished_at",
        has_workspace: true,
        which: "workspace_id = ?1 AND state <> 'open'",
        is_forgotten_with: true,
    },
    RowTable {
        name: "operation_files",
        key: Key::Columns("operation_id position"),
        columns: "operation_id>>operations position path path_raw action result reason reason_code reason_by expected_mode expected_blob target_mode target_blob goal_mode goal_blob additions deletions",
        has_workspace: false,
        which: "operation_id IN (SELECT id FROM operations WHERE workspace_id = ?1 AND state <> 'open')",
        is_forgotten_with: false,
    },
    RowTable {
        name: "operation_git",
        key: Key::Columns("operation_id position"),
        columns: "operation_id>>operations position part name expected target result reason unclear",
        has_workspace: false,
        which: "operation_id IN (SELECT id FROM operations WHERE workspace_id = ?1 AND state <> 'open')",
        is_forgotten_with: false,
    },
    RowTable {
        name: "changes",
        key: Key::Number,
        columns: "step_id>steps attribution reason from_snapshot_id>snapshots to_snapshot_id>snapshots path path_raw kind old_mode old_blob new_mode new_blob additions deletions undone_by>operations happened_at",
        has_workspace: true,
        which: "workspace_id = ?1 AND (step_id IS NULL OR step_id IN (SELECT id FROM steps WHERE state = 'closed'))",
        is_forgotten_with: false,
    },
    RowTable {
        name: "labels",
        key: Key::Number,
        columns: "text message_id>messages snapshot_id>snapshots created_at",
        has_workspace: true,
        which: "workspace_id = ?1",
        is_forgotten_with: false,
    },
];

/// A column that refers to a row of another table.
struct Reference {
    column: &'static str,
    table: &'static str,
    is_needed: bool,
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

fn unhex(hex: &str) -> Option<Vec<u8>> {
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
    fn columns(&self) -> impl Iterator<Item = &'static str> {
        let name = |column: &'static str| column.split('>').next().unwrap_or(column);
        self.columns.split(' ').map(name)
    }

    fn references(&self) -> impl Iterator<Item = Reference> {
        self.columns.split(' ').filter_map(|column| {
            let (name, table) = column.split_once('>')?;
            Some(Reference {
                column: name,
                table: table.trim_start_matches('>'),
                is_needed: table.starts_with('>'),
            })
        })
    }

    /// Looks at its rows of a workspace, in their order.
    pub fn each(
        &self,
        connection: &Connection,
        workspace_id: i64,
        mut see: impl FnMut(&FoundRow<'_>) -> rusqlite::Result<()>,
    ) -> Result<()> {
        let what = || format!("cannot read the table `{}`", self.name);
        let key = match self.key {
            Key::Number | Key::Text => "CAST(id AS TEXT)".to_owned(),
            Key::Columns(columns) => columns.replace(' ', " || ' ' || "),
        };
        let columns: Vec<&str> = self.columns().collect();
        let order = match self.key {
            Key::Number => "id",
            Key::Text => "seq",
            Key::Columns(_) => "1",
        };
        let sql = format!(
            "SELECT {key}, {} FROM {} WHERE {} ORDER BY {order}",
            columns.join(", "),
            self.name,
            self.which.replace("SESSIONS", SESSIONS)
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
    /// Returns what tells it apart.
    pub fn key(&self) -> rusqlite::Result<&str> {
        Ok(self.row.get_ref(0)?.as_str()?)
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

fn cell(value: &Value) -> Cell {
    match value {
        Value::Number(number) => number.as_i64().map_or(Cell::Null, Cell::Integer),
        Value::String(text) => Cell::Text(text.clone()),
        Value::Object(raw) => {
            let hex = raw.get("hex").and_then(Value::as_str);
            hex.and_then(unhex).map_or(Cell::Null, Cell::Blob)
        }
        Value::Null | Value::Bool(_) | Value::Array(_) => Cell::Null,
    }
}

/// Writes rows that came from another machine into the workspace that stands for it.
pub(super) struct Writing<'c> {
    pub connection: &'c Connection,
    pub workspace_id: i64,
    /// What makes an id of ours of one that is taken.
    pub salt: String,
}

impl Writing<'_> {
    /// Returns the id here of a row of theirs.
    pub fn ours(&self, table: &str, theirs: &str) -> Result<Option<String>> {
        let sql = "SELECT ours FROM fetched WHERE workspace_id = ?1 AND kind = ?2 AND theirs = ?3";
        let what = "cannot look up a row of another machine";
        let parameters = (self.workspace_id, table, theirs);
        read::value_or_none(self.connection, what, sql, parameters)
    }

    /// Gives a row of theirs an id here, unless it has one.
    pub fn assign(&self, table: &RowTable, theirs: &str) -> Result<()> {
        if self.ours(table.name, theirs)?.is_some() {
            return Ok(());
        }
        let what = "cannot note a row of another machine";
        let ours = match table.key {
            Key::Columns(_) => return Ok(()),
            Key::Number => {
                let sql = format!(
                    "SELECT max(ifnull((SELECT max(id) FROM {0}), 0), ifnull((SELECT max(CAST(ours AS INTEGER)) FROM fetched WHERE workspace_id = ?1 AND kind = '{0}'), 0)) + 1",
                    table.name
                );
                let number: i64 = read::value(self.connection, what, &sql, [self.workspace_id])?;
                number.to_string()
            }
            Key::Text => {
                let sql = format!("SELECT 1 FROM {} WHERE id = ?1", table.name);
                let is_taken = read::any(self.connection, what, &sql, [theirs])?;
                let is_id = (8..=64).contains(&theirs.len())
                    && theirs.bytes().all(|byte| byte.is_ascii_hexdigit());
                match is_id && !is_taken {
                    true => theirs.to_owned(),
                    false => {
                        let salted = format!("{} {theirs}", self.salt);
                        hash(ObjectKind::Blob, salted.as_bytes()).to_string()[..32].to_owned()
                    }
                }
            }
        };
        let sql = "INSERT INTO fetched (workspace_id, kind, theirs, ours) VALUES (?1, ?2, ?3, ?4)";
        let row = (self.workspace_id, table.name, theirs, &ours);
        sessions::execute(self.connection, what, sql, row)
    }

    /// Writes a row, or removes it. One that belongs to a row that is not there is left out.
    pub fn write(&self, table: &RowTable, record: &SentRow) -> Result<()> {
        let what = || {
            format!(
                "cannot write a row of another machine into `{}`",
                table.name
            )
        };
        let Some(values) = &record.values else {
            return self.remove(table, &record.row);
        };
        let mut cells: Vec<(&str, Cell)> = Vec::new();
        match (table.key, self.ours(table.name, &record.row)?) {
            (Key::Number, Some(ours)) => cells.push(("id", Cell::Integer(number(&ours)?))),
            (Key::Text, Some(ours)) => cells.push(("id", Cell::Text(ours))),
            _ => {}
        }
        if table.has_workspace {
            cells.push(("workspace_id", Cell::Integer(self.workspace_id)));
        }
        for column in table.columns() {
            let value = values.get(column).unwrap_or(&Value::Null);
            let reference = table.references().find(|to| to.column == column);
            let cell = match reference {
                None => cell(value),
                Some(to) => match self.referred(&to, value)? {
                    Cell::Null if to.is_needed => return Ok(()),
                    cell => cell,
                },
            };
            cells.push((column, cell));
        }
        let names: Vec<&str> = cells.iter().map(|(name, _)| *name).collect();
        let marks = vec!["?"; names.len()].join(", ");
        let updates: Vec<String> = names
            .iter()
            .map(|name| format!("{name} = excluded.{name}"))
            .collect();
        let key = match table.key {
            Key::Number | Key::Text => "id".to_owned(),
            Key::Columns(columns) => columns.replace(' ', ", "),
        };
        let sql = format!(
            "INSERT INTO {} ({}) VALUES ({marks}) ON CONFLICT ({key}) DO UPDATE SET {}",
            table.name,
            names.join(", "),
            updates.join(", ")
        );
        let cells = cells.into_iter().map(|(_, cell)| cell);
        self.connection
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.execute(params_from_iter(cells)))
            .context(what)
            .map(drop)
    }

    fn referred(&self, to: &Reference, value: &Value) -> Result<Cell> {
        let theirs = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return Ok(Cell::Null),
        };
        let Some(ours) = self.ours(to.table, &theirs)? else {
            return Ok(Cell::Null);
        };
        Ok(match table(to.table)?.key {
            Key::Number => Cell::Integer(number(&ours)?),
            Key::Text | Key::Columns(_) => Cell::Text(ours),
        })
    }

    fn remove(&self, table: &RowTable, theirs: &str) -> Result<()> {
        let what = || {
            format!(
                "cannot remove a row of another machine from `{}`",
                table.name
            )
        };
        if let Some(ours) = self.ours(table.name, theirs)? {
            let sql = format!("DELETE FROM {} WHERE CAST(id AS TEXT) = ?1", table.name);
            self.connection.execute(&sql, [ours]).context(what)?;
            let sql = "DELETE FROM fetched WHERE workspace_id = ?1 AND kind = ?2 AND theirs = ?3";
            let parameters = (self.workspace_id, table.name, theirs);
            self.connection.execute(sql, parameters).context(what)?;
        }
        Ok(())
    }

    /// Removes all that came before.
    pub fn clear(&self) -> Result<()> {
        let what = || "cannot remove the rows of another machine";
        for table in TABLES.iter().rev() {
            let which = table.which.replace("SESSIONS", SESSIONS);
            let sql = format!("DELETE FROM {} WHERE {which}", table.name);
            let done = self.connection.execute(&sql, [self.workspace_id]);
            done.context(what)?;
        }
        let sql = "DELETE FROM fetched WHERE workspace_id = ?1";
        self.connection
            .execute(sql, [self.workspace_id])
            .context(what)?;
        self.unsweep()
    }

    /// Has the next `gc` remove what no row names any more.
    pub fn unsweep(&self) -> Result<()> {
        let sql = "UPDATE workspaces SET unswept = 1 WHERE id = ?1";
        let what = "cannot note that objects go";
        sessions::execute(self.connection, what, sql, [self.workspace_id])
    }
}

fn number(text: &str) -> Result<i64> {
    text.parse()
        .context(|| "a row of another machine has a wrong number")
}
