//! The objects that the rows of a workspace name.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use super::read;
use crate::error::{Context, Result};
use crate::model::entry::{ObjectId, Roots};

/// The trees of a workspace's snapshots that were not pruned, newest first.
pub(super) const TREES: &str = "SELECT tree FROM snapshots WHERE workspace_id = ?1 AND pruned_at IS NULL GROUP BY tree ORDER BY max(id) DESC";

/// The blobs that rows name: an entry's bytes, attributes, rules, seen entries, indexes. What belongs to pruned snapshots is not
/// needed.
// `ifnull`, because `NOT IN` is NULL where a row names no snapshot: its blob would count as not needed.
const BLOBS: &str = "
    WITH kept AS MATERIALIZED (SELECT id, attributes_blob, rules_blob, seen_blob, git_state_id FROM snapshots
                                WHERE workspace_id = ?1 AND pruned_at IS NULL),
         pruned AS MATERIALIZED (SELECT id FROM snapshots WHERE workspace_id = ?1 AND pruned_at IS NOT NULL),
         live_operations AS MATERIALIZED (SELECT id FROM operations
                WHERE workspace_id = ?1 AND ifnull(before_snapshot_id NOT IN (SELECT id FROM pruned), 1))
          SELECT attributes_blob AS blob FROM kept
    UNION SELECT rules_blob FROM kept
    UNION SELECT seen_blob FROM kept
    UNION SELECT index_blob FROM git_states WHERE id IN (SELECT git_state_id FROM kept)
    UNION SELECT old_blob FROM changes
           WHERE workspace_id = ?1 AND ifnull(from_snapshot_id NOT IN (SELECT id FROM pruned), 1)
    UNION SELECT new_blob FROM changes
           WHERE workspace_id = ?1 AND ifnull(to_snapshot_id NOT IN (SELECT id FROM pruned), 1)
    UNION SELECT step_paths.blob FROM step_paths
            JOIN steps ON steps.id = step_id JOIN sessions ON sessions.id = steps.session_id
           WHERE sessions.workspace_id = ?1 AND ifnull(start_snapshot_id NOT IN (SELECT id FROM pruned), 1)
    UNION SELECT expected_blob FROM operation_files WHERE operation_id IN (SELECT id FROM live_operations)
    UNION SELECT target_blob FROM operation_files WHERE operation_id IN (SELECT id FROM live_operations)
    UNION SELECT goal_blob FROM operation_files WHERE operation_id IN (SELECT id FROM live_operations)
    UNION SELECT expected FROM operation_git WHERE operation_id IN (SELECT id FROM live_operations) AND part = 'index'
    UNION SELECT target FROM operation_git WHERE operation_id IN (SELECT id FROM live_operations) AND part = 'index'";

/// The blobs that may be in no tree: records, and what an operation found or was to write at paths that ignore rules
/// hide.
const RECORDS: &str = "
    WITH kept AS MATERIALIZED (SELECT id, attributes_blob, rules_blob, seen_blob, git_state_id FROM snapshots
                                WHERE workspace_id = ?1 AND pruned_at IS NULL),
         live_operations AS MATERIALIZED (SELECT operations.id FROM operations
                LEFT JOIN snapshots ON snapshots.id = before_snapshot_id
                WHERE operations.workspace_id = ?1 AND snapshots.pruned_at IS NULL)
          SELECT attributes_blob AS blob FROM kept
    UNION SELECT rules_blob FROM kept
    UNION SELECT seen_blob FROM kept
    UNION SELECT index_blob FROM git_states WHERE id IN (SELECT git_state_id FROM kept)
    UNION SELECT step_paths.blob FROM step_paths
            JOIN steps ON steps.id = step_id JOIN sessions ON sessions.id = steps.session_id
            LEFT JOIN snapshots ON snapshots.id = start_snapshot_id
           WHERE sessions.workspace_id = ?1 AND snapshots.pruned_at IS NULL
    UNION SELECT expected_blob FROM operation_files WHERE operation_id IN (SELECT id FROM live_operations)
    UNION SELECT target_blob FROM operation_files WHERE operation_id IN (SELECT id FROM live_operations)
    UNION SELECT goal_blob FROM operation_files WHERE operation_id IN (SELECT id FROM live_operations)";

/// The objects that rows name.
#[derive(Debug)]
pub(crate) struct Named {
    /// The trees of snapshots, each with the number of a snapshot that has it.
    pub trees: Vec<(i64, ObjectId)>,
    /// The blobs that may be in no tree.
    pub blobs: Vec<ObjectId>,
}

/// Returns the objects that a workspace's rows name.
pub(crate) fn named(connection: &Connection, workspace_id: i64) -> Result<Named> {
    let trees = read::all_or(
        connection,
        "cannot read which objects are needed",
        "SELECT max(id), tree FROM snapshots WHERE workspace_id = ?1 AND pruned_at IS NULL GROUP BY tree",
        [workspace_id],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let mut blobs = ids(connection, RECORDS, workspace_id)?;
    // The id of an empty directory's entry is that of the empty tree, which is no blob.
    blobs.retain(|blob| *blob != ObjectId::EMPTY_TREE);
    Ok(Named { trees, blobs })
}

/// Returns a path of each blob that a change names. No index has the blobs, so this reads all changes once.
pub(crate) fn paths_of_blobs(
    connection: &Connection,
    workspace_id: i64,
    blobs: &HashSet<ObjectId>,
) -> Result<HashMap<ObjectId, Vec<u8>>> {
    let mut paths = HashMap::new();
    if blobs.is_empty() {
        return Ok(paths);
    }
    let what = || "cannot read the paths of blobs";
    let mut statement = connection
        .prepare_cached(
            "SELECT CAST(ifnull(path_raw, path) AS BLOB), old_blob, new_blob FROM changes WHERE workspace_id = ?1",
        )
        .context(what)?;
    let mut rows = statement.query([workspace_id]).context(what)?;
    while let Some(row) = rows.next().context(what)? {
        for column in [1, 2] {
            let blob: Option<ObjectId> = row.get(column).context(what)?;
            if let Some(blob) = blob.filter(|blob| blobs.contains(blob)) {
                paths.entry(blob).or_insert(row.get(0).context(what)?);
            }
        }
    }
    Ok(paths)
}

/// Returns the workspaces, the most recently used first.
pub(crate) fn workspaces(connection: &Connection) -> Result<Vec<i64>> {
    read::all_or(
        connection,
        "cannot read the workspaces",
        "SELECT id FROM workspaces ORDER BY used_at DESC, id DESC",
        [],
        |row| row.get(0),
    )
}

/// Returns the objects that the rows of a workspace name, as roots.
pub(crate) fn roots(connection: &Connection, workspace_id: i64) -> Result<Roots> {
    Ok(Roots {
        trees: ids(connection, TREES, workspace_id)?,
        blobs: ids(connection, BLOBS, workspace_id)?,
    })
}

fn ids(connection: &Connection, sql: &str, workspace_id: i64) -> Result<Vec<ObjectId>> {
    let ids: Vec<Option<ObjectId>> = read::all_or(
        connection,
        "cannot read which objects are needed",
        sql,
        [workspace_id],
        |row| row.get::<_, Option<ObjectId>>(0),
    )?;
    Ok(ids.into_iter().flatten().collect())
}
