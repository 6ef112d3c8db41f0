//! Rows of `workspaces`: which directory is which, wherever it is moved.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::{Context, Result};
use crate::model::Milliseconds;
use crate::model::path::WorkspacePath;

/// A workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkspaceRow {
    pub id: i64,
    pub key: String,
    pub path: PathBuf,
    pub device: u64,
    pub inode: u64,
    pub last_snapshot_id: Option<i64>,
}

const COLUMNS: &str = "id, key, path, path_raw, device, inode, last_snapshot_id";

impl WorkspaceRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let raw: Option<Vec<u8>> = row.get("path_raw")?;
        let path = match raw {
            Some(raw) => OsString::from_vec(raw),
            None => row.get::<_, String>("path")?.into(),
        };
        Ok(Self {
            id: row.get("id")?,
            key: row.get("key")?,
            path: path.into(),
            device: row.get::<_, i64>("device")?.cast_unsigned(),
            inode: row.get::<_, i64>("inode")?.cast_unsigned(),
            last_snapshot_id: row.get("last_snapshot_id")?,
        })
    }

    /// Returns whether it is the directory with that identity. Device numbers may change when a machine starts again, so the
    /// inode alone decides for the same path.
    pub fn is(&self, inode: u64) -> bool {
        self.inode == inode
    }
}

/// Returns the workspace with an id.
pub(crate) fn workspace(connection: &Connection, id: i64) -> Result<WorkspaceRow> {
    connection
        .query_row(
            &format!("SELECT {COLUMNS} FROM workspaces WHERE id = ?1"),
            [id],
            WorkspaceRow::read,
        )
        .context(|| "cannot read a workspace")
}

/// Returns the row of the directory at a path, if that very directory was seen before: there, or elsewhere before it was moved.
pub(crate) fn find_workspace(
    connection: &Connection,
    path: &Path,
    device: u64,
    inode: u64,
) -> Result<Option<WorkspaceRow>> {
    let here = workspace_at(connection, path)?;
    if let Some(row) = here {
        return Ok(row.is(inode).then_some(row));
    }
    moved(connection, device, inode)
}

/// Like [`find_workspace`], and makes the row where there is none. A row whose directory was replaced by another one at the
/// same path is set aside: its history is never applied to the newcomer.
pub(crate) fn claim_workspace(
    connection: &Connection,
    path: &Path,
    device: u64,
    inode: u64,
    now: Milliseconds,
) -> Result<WorkspaceRow> {
    if let Some(row) = find_workspace(connection, path, device, inode)? {
        update(connection, &row, path, device, now)?;
        return workspace(connection, row.id);
    }
    connection
        .execute(
            "UPDATE workspaces SET replaced_at = ?3 WHERE path = ?1 AND path_raw IS ?2 AND replaced_at IS NULL",
            params![text(path), raw(path), now],
        )
        .context(|| "cannot set a workspace aside")?;
    connection
        .execute(
            "INSERT INTO workspaces (key, path, path_raw, device, inode, created_at, used_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
            params![super::new_id(), text(path), raw(path), device.cast_signed(), inode.cast_signed(), now],
        )
        .context(|| "cannot add a workspace")?;
    workspace(connection, connection.last_insert_rowid())
}

/// Makes a snapshot the newest of its workspace: the one that the next is compared with.
pub(crate) fn set_last_snapshot(
    connection: &Connection,
    workspace_id: i64,
    snapshot_id: i64,
    now: Milliseconds,
) -> Result<()> {
    connection
        .prepare_cached("UPDATE workspaces SET last_snapshot_id = ?2, used_at = ?3 WHERE id = ?1")
        .and_then(|mut statement| statement.execute(params![workspace_id, snapshot_id, now]))
        .context(|| "cannot note the newest snapshot")?;
    Ok(())
}

/// Returns the row that is known by a path.
pub(crate) fn workspace_at(connection: &Connection, path: &Path) -> Result<Option<WorkspaceRow>> {
    connection
        .query_row(
            &format!("SELECT {COLUMNS} FROM workspaces WHERE path = ?1 AND path_raw IS ?2 AND replaced_at IS NULL"),
            params![text(path), raw(path)],
            WorkspaceRow::read,
        )
        .optional()
        .context(|| "cannot look a workspace up")
}

/// Returns the workspaces below one, by their paths in it, in which an agent was heard of since a snapshot was taken.
pub(crate) fn workspaces_at_work_below(
    connection: &Connection,
    outer: &WorkspaceRow,
    since_snapshot: Option<i64>,
) -> Result<Vec<WorkspacePath>> {
    let mut below = outer.path.as_os_str().as_bytes().to_vec();
    below.push(b'/');
    let mut statement = connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM workspaces
              WHERE replaced_at IS NULL AND path > ?1 AND path < ?2 AND EXISTS (
                SELECT 1 FROM sessions WHERE sessions.workspace_id = workspaces.id AND sessions.last_event_at >=
                  ifnull((SELECT taken_at FROM snapshots WHERE id = ?3), 0))"
        ))
        .context(|| "cannot look workspaces up")?;
    let from = String::from_utf8_lossy(&below).into_owned();
    below.pop();
    below.push(b'0'); // the character after the slash
    let to = String::from_utf8_lossy(&below).into_owned();
    let rows = statement
        .query_map(params![from, to, since_snapshot], WorkspaceRow::read)
        .context(|| "cannot look workspaces up")?;
    let rows: Vec<WorkspaceRow> = rows
        .collect::<rusqlite::Result<_>>()
        .context(|| "cannot look workspaces up")?;
    let path = |row: WorkspaceRow| {
        let inner = row.path.strip_prefix(&outer.path).ok()?;
        WorkspacePath::new(inner.as_os_str().as_bytes()).ok()
    };
    Ok(rows.into_iter().filter_map(path).collect())
}

/// A directory that was moved is known by its identity; one that can still be found at its old path was not moved.
fn moved(connection: &Connection, device: u64, inode: u64) -> Result<Option<WorkspaceRow>> {
    let row = connection
        .query_row(
            &format!(
                "SELECT {COLUMNS} FROM workspaces WHERE inode = ?1 AND device = ?2 AND replaced_at IS NULL ORDER BY used_at DESC LIMIT 1"
            ),
            params![inode.cast_signed(), device.cast_signed()],
            WorkspaceRow::read,
        )
        .optional()
        .context(|| "cannot look a workspace up")?;
    Ok(row.filter(|row| row.path.symlink_metadata().is_err()))
}

fn update(
    connection: &Connection,
    row: &WorkspaceRow,
    path: &Path,
    device: u64,
    now: Milliseconds,
) -> Result<()> {
    connection
        .execute(
            "UPDATE workspaces SET path = ?2, path_raw = ?3, device = ?4, used_at = ?5 WHERE id = ?1",
            params![row.id, text(path), raw(path), device.cast_signed(), now],
        )
        .context(|| "cannot note where a workspace is")?;
    Ok(())
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn raw(path: &Path) -> Option<&[u8]> {
    let bytes = path.as_os_str().as_bytes();
    std::str::from_utf8(bytes).is_err().then_some(bytes)
}
