//! Rows that came from another machine, on their way into the session store.

use rusqlite::types::Value as Cell;
use rusqlite::{Connection, params_from_iter};
use serde_json::Value;

use super::tables::{Key, Reference, RowTable, SentRow, TABLES, table, unhex};
use crate::error::{Context, Result};
use crate::objects::hash::{ObjectKind, hash};
use crate::sessions::{self, read};

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

    /// Writes a row, or removes it. One that belongs to a row that is not there is left out, and so is one in the place of
    /// a row that is not of that machine.
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
        let workspace = Cell::Integer(self.workspace_id);
        match (table.key, self.ours(table.name, &record.row)?) {
            (Key::Number, Some(ours)) => cells.push(("id", Cell::Integer(number(&ours)?))),
            (Key::Text, Some(ours)) => cells.push(("id", Cell::Text(ours))),
            _ => {}
        }
        if table.has_workspace {
            cells.push(("workspace_id", workspace.clone()));
        }
        for column in table.columns() {
            let value = values.get(column).unwrap_or(&Value::Null);
            let reference = table.references().find(|to| to.column == column);
            let cell = match reference {
                None => cell(value),
                Some(to) => match self.referred(&to, value)? {
                    Cell::Null if to.is_needed => return self.unassign(table, &record.row),
                    cell => cell,
                },
            };
            cells.push((column, cell));
        }
        let names: Vec<&str> = cells.iter().map(|(name, _)| *name).collect();
        let marks: Vec<String> = (0..names.len()).map(|at| format!("?{}", at + 2)).collect();
        let updates: Vec<String> = names
            .iter()
            .map(|name| format!("{name} = excluded.{name}"))
            .collect();
        let key = match table.key {
            Key::Number | Key::Text => "id".to_owned(),
            Key::Columns(columns) => columns.replace(' ', ", "),
        };
        let sql = format!(
            "INSERT INTO {} ({}) VALUES ({}) ON CONFLICT ({key}) DO UPDATE SET {} WHERE {}",
            table.name,
            names.join(", "),
            marks.join(", "),
            updates.join(", "),
            table.which(false)
        );
        let cells = cells.into_iter().map(|(_, cell)| cell);
        let cells = [workspace].into_iter().chain(cells);
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
            let sql = format!("DELETE FROM {} WHERE id = ?1", table.name);
            self.connection.execute(&sql, [ours]).context(what)?;
        }
        self.unassign(table, theirs)
    }

    fn unassign(&self, table: &RowTable, theirs: &str) -> Result<()> {
        let sql = "DELETE FROM fetched WHERE workspace_id = ?1 AND kind = ?2 AND theirs = ?3";
        let what = "cannot note a row of another machine";
        let parameters = (self.workspace_id, table.name, theirs);
        sessions::execute(self.connection, what, sql, parameters)
    }

    /// Takes the ids here from rows of theirs that went with others: a number may be given to another row.
    pub fn unassign_gone(&self) -> Result<()> {
        let with_id = TABLES
            .iter()
            .filter(|table| !matches!(table.key, Key::Columns(_)));
        for RowTable { name, .. } in with_id {
            let sql = format!(
                "DELETE FROM fetched WHERE workspace_id = ?1 AND kind = '{name}'
                    AND NOT EXISTS (SELECT 1 FROM {name} WHERE id = ours)"
            );
            let what = "cannot note a row of another machine";
            sessions::execute(self.connection, what, &sql, [self.workspace_id])?;
        }
        Ok(())
    }

    /// Removes all that came before.
    pub fn clear(&self) -> Result<()> {
        let what = || "cannot remove the rows of another machine";
        for table in TABLES.iter().rev() {
            let which = table.which(true);
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
