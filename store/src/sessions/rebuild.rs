//! What the repository of a workspace notes about its snapshots: made from rows, and turned into rows again if the
//! session store is gone.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rusqlite::{Connection, params};

use super::read;
use super::snapshots::snapshot_of;
use super::workspaces::{raw, text, workspace_at};
use crate::error::Result;
use crate::fs::identity::Identity;
use crate::model::Milliseconds;
use crate::model::repository_note::{NotedSnapshot, NotedWorkspace};

/// Returns the notes on a workspace's snapshots, oldest first. Pruned ones are left out.
pub(crate) fn snapshots_to_note(
    connection: &Connection,
    workspace_id: i64,
) -> Result<Vec<NotedSnapshot>> {
    let sql = "SELECT tree, attributes_blob, rules_blob, seen_blob, gaps, forgotten, taken_at FROM snapshots
                WHERE workspace_id = ?1 AND pruned_at IS NULL ORDER BY id";
    read::all(connection, sql, [workspace_id], |row| {
        Ok(NotedSnapshot {
            snapshot: snapshot_of(row)?,
            gaps: read::count(row, "gaps")?,
            has_forgotten: row.get("forgotten")?,
            taken_at: row.get("taken_at")?,
        })
    })
}

/// Returns the keys of all workspaces.
pub(crate) fn workspace_keys(connection: &Connection) -> Result<BTreeSet<String>> {
    let keys: Vec<String> =
        super::read::all(connection, "SELECT key FROM workspaces", [], |row| {
            row.get(0)
        })?;
    Ok(keys.into_iter().collect())
}

/// Returns when the newest snapshot of a workspace was taken.
pub(crate) fn newest_snapshot_time(
    connection: &Connection,
    workspace_id: i64,
) -> Result<Option<Milliseconds>> {
    let sql = "SELECT max(taken_at) FROM snapshots WHERE workspace_id = ?1";
    let what = "cannot read when a workspace was used";
    read::value(connection, what, sql, [workspace_id])
}

/// Returns the workspace that stands in for the one with these snapshots, whose row was damaged.
fn stand_in_of(connection: &Connection, snapshots: &[NotedSnapshot]) -> Result<Option<i64>> {
    let sql = "SELECT workspace_id FROM snapshots JOIN workspaces ON workspaces.id = workspace_id
                WHERE tree = ?1 AND key = 'lost-' || workspace_id LIMIT 1";
    for snapshot in snapshots {
        let what = "cannot find the rows of a workspace";
        let found = read::value_or_none(connection, what, sql, [snapshot.snapshot.tree])?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Adds a workspace with its snapshots, as noted. If the directory at its path has another history already, or is
/// another directory, the workspace is added as one that was set aside. Returns its id, and whether it was set aside.
pub(crate) fn put_noted(
    connection: &Connection,
    workspace: &NotedWorkspace,
    snapshots: &[NotedSnapshot],
    now: Milliseconds,
) -> Result<(i64, bool)> {
    let what = "cannot add a workspace from its repository";
    let path = Path::new(OsStr::from_bytes(&workspace.path));
    let is_another = |identity: Identity| !identity.is(workspace.inode, workspace.born);
    // Set aside rather than refused: the history is offered by `workspace adopt`, and nothing is mixed with what is
    // recorded now.
    let is_aside =
        workspace_at(connection, path)?.is_some() || Identity::at(path).is_some_and(is_another);
    let times = || snapshots.iter().map(|snapshot| snapshot.taken_at);
    let lost = stand_in_of(connection, snapshots)?;
    let sql = "INSERT INTO workspaces (id, key, path, path_raw, device, inode, born, created_at, used_at, replaced_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT (id) DO UPDATE SET (key, path, path_raw, device, inode, born, created_at, used_at, replaced_at)
               = (excluded.key, excluded.path, excluded.path_raw, excluded.device, excluded.inode, excluded.born,
                  excluded.created_at, excluded.used_at, excluded.replaced_at)";
    let values = params![
        lost,
        workspace.key,
        text(path),
        raw(path),
        workspace.device.cast_signed(),
        workspace.inode.cast_signed(),
        workspace.born,
        times().min().unwrap_or(now),
        times().max().unwrap_or(now),
        is_aside.then_some(now)
    ];
    super::execute(connection, what, sql, values)?;
    let id = lost.unwrap_or_else(|| connection.last_insert_rowid());
    for snapshot in snapshots {
        let known =
            "SELECT 1 FROM snapshots WHERE workspace_id = ?1 AND tree = ?2 AND taken_at = ?3";
        let values = params![id, snapshot.snapshot.tree, snapshot.taken_at];
        if read::any(connection, what, known, values)? {
            continue;
        }
        let sql = "INSERT INTO snapshots (workspace_id, tree, attributes_blob, rules_blob, seen_blob, taken_at, gaps, forgotten) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let values = params![
            id,
            snapshot.snapshot.tree,
            snapshot.snapshot.attributes,
            snapshot.snapshot.rules,
            snapshot.snapshot.seen,
            snapshot.taken_at,
            snapshot.gaps.cast_signed(),
            snapshot.has_forgotten
        ];
        super::execute(connection, what, sql, values)?;
    }
    let sql = "UPDATE workspaces SET last_snapshot_id = (SELECT max(id) FROM snapshots WHERE workspace_id = ?1) WHERE id = ?1";
    super::execute(connection, what, sql, [id])?;
    Ok((id, is_aside))
}
