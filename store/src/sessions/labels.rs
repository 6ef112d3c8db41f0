//! Rows of `labels`: names that people give to messages and snapshots.

use rusqlite::{Connection, Row, params};

use super::read;
use crate::error::Result;
use crate::model::Milliseconds;
use crate::model::label::Label;

/// The thing that a label names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Labelled {
    /// The message with this id.
    Message(String),
    /// The snapshot with this row id.
    Snapshot(i64),
}

/// A label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LabelRow {
    pub text: String,
    pub on: Labelled,
    pub created_at: Milliseconds,
}

const COLUMNS: &str = "text, message_id, snapshot_id, created_at";

impl LabelRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let message: Option<String> = row.get("message_id")?;
        let on = match message {
            Some(id) => Labelled::Message(id),
            None => Labelled::Snapshot(row.get("snapshot_id")?),
        };
        Ok(Self {
            text: row.get("text")?,
            on,
            created_at: row.get("created_at")?,
        })
    }
}

/// Returns the label of a workspace with a text.
pub(crate) fn label(
    connection: &Connection,
    workspace_id: i64,
    text: &str,
) -> Result<Option<LabelRow>> {
    let sql = format!("SELECT {COLUMNS} FROM labels WHERE workspace_id = ?1 AND text = ?2");
    let (what, values) = ("cannot look a label up", params![workspace_id, text]);
    read::one_or_none(connection, what, &sql, values, LabelRow::read)
}

/// Returns the labels of a workspace, newest first.
pub(crate) fn labels(connection: &Connection, workspace_id: i64) -> Result<Vec<LabelRow>> {
    super::read::all(
        connection,
        &format!(
            "SELECT {COLUMNS} FROM labels WHERE workspace_id = ?1 ORDER BY created_at DESC, id DESC"
        ),
        [workspace_id],
        LabelRow::read,
    )
}

/// Returns the paths of other workspaces that have a label with a text.
pub(crate) fn workspaces_with_label(connection: &Connection, text: &str) -> Result<Vec<String>> {
    super::read::all(
        connection,
        "SELECT workspaces.path FROM labels JOIN workspaces ON workspaces.id = workspace_id WHERE text = ?1 ORDER BY labels.id",
        [text],
        |row| row.get("path"),
    )
}

/// Puts a label on something, and takes it off what it was on.
pub(crate) fn put_label(
    connection: &Connection,
    workspace_id: i64,
    label: &Label,
    on: &Labelled,
    now: Milliseconds,
) -> Result<()> {
    let (message, snapshot) = match on {
        Labelled::Message(id) => (Some(id), None),
        Labelled::Snapshot(id) => (None, Some(id)),
    };
    let sql = "INSERT INTO labels (workspace_id, text, message_id, snapshot_id, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (workspace_id, text) DO UPDATE
                SET message_id = excluded.message_id, snapshot_id = excluded.snapshot_id, created_at = excluded.created_at";
    let values = params![workspace_id, label.as_str(), message, snapshot, now];
    super::execute(connection, "cannot add a label", sql, values)
}

/// Removes a label, and returns whether there was one.
pub(crate) fn delete_label(connection: &Connection, workspace_id: i64, text: &str) -> Result<bool> {
    let sql = "DELETE FROM labels WHERE workspace_id = ?1 AND text = ?2";
    let (what, values) = ("cannot remove a label", params![workspace_id, text]);
    Ok(super::changed(connection, what, sql, values)? > 0)
}
