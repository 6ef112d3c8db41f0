//! Which objects the rows of a workspace name.

use rusqlite::Connection;

use crate::error::{Context, Result};
use crate::model::entry::ObjectId;
use crate::model::roots::Roots;

/// The trees of a workspace's snapshots, the newest first.
const TREES: &str =
    "SELECT tree FROM snapshots WHERE workspace_id = ?1 GROUP BY tree ORDER BY max(id) DESC";

/// The blobs that rows name: an entry's bytes, attributes, rules, indexes.
const BLOBS: &str = "
    SELECT attributes_blob AS blob FROM snapshots WHERE workspace_id = ?1
    UNION SELECT rules_blob FROM snapshots WHERE workspace_id = ?1
    UNION SELECT index_blob FROM git_states WHERE workspace_id = ?1
    UNION SELECT old_blob FROM changes WHERE workspace_id = ?1
    UNION SELECT new_blob FROM changes WHERE workspace_id = ?1
    UNION SELECT step_paths.blob FROM step_paths
            JOIN steps ON steps.id = step_id JOIN sessions ON sessions.id = steps.session_id
           WHERE sessions.workspace_id = ?1
    UNION SELECT expected_blob FROM operation_files
            JOIN operations ON operations.id = operation_id WHERE workspace_id = ?1
    UNION SELECT target_blob FROM operation_files
            JOIN operations ON operations.id = operation_id WHERE workspace_id = ?1
    UNION SELECT goal_blob FROM operation_files
            JOIN operations ON operations.id = operation_id WHERE workspace_id = ?1
    UNION SELECT expected FROM operation_git
            JOIN operations ON operations.id = operation_id WHERE workspace_id = ?1 AND part = 'index'
    UNION SELECT target FROM operation_git
            JOIN operations ON operations.id = operation_id WHERE workspace_id = ?1 AND part = 'index'";

/// The blobs that no tree leads to.
const RECORDS: &str = "
    SELECT attributes_blob AS blob FROM snapshots WHERE workspace_id = ?1
    UNION SELECT rules_blob FROM snapshots WHERE workspace_id = ?1
    UNION SELECT index_blob FROM git_states WHERE workspace_id = ?1
    UNION SELECT step_paths.blob FROM step_paths
            JOIN steps ON steps.id = step_id JOIN sessions ON sessions.id = steps.session_id
           WHERE sessions.workspace_id = ?1";

/// The objects that rows name.
#[derive(Debug)]
pub(crate) struct Named {
    /// The trees of snapshots, each with the number of a snapshot that has it.
    pub trees: Vec<(i64, ObjectId)>,
    /// The blobs that no tree leads to.
    pub blobs: Vec<ObjectId>,
}

/// Returns the objects that a workspace's rows name.
pub(crate) fn named(connection: &Connection, workspace_id: i64) -> Result<Named> {
    let what = || "cannot read which objects are needed";
    let mut statement = connection
        .prepare("SELECT max(id), tree FROM snapshots WHERE workspace_id = ?1 GROUP BY tree")
        .context(what)?;
    let rows = statement
        .query_map([workspace_id], |row| Ok((row.get(0)?, row.get(1)?)))
        .context(what)?;
    let trees = rows.collect::<rusqlite::Result<_>>().context(what)?;
    let mut blobs = ids(connection, RECORDS, workspace_id)?;
    blobs.retain(|blob| *blob != ObjectId::EMPTY_TREE);
    Ok(Named { trees, blobs })
}

/// Returns a path at which a blob stood, as far as a change tells.
pub(crate) fn path_of_blob(
    connection: &Connection,
    workspace_id: i64,
    blob: ObjectId,
) -> Result<Option<Vec<u8>>> {
    let what = || "cannot read where a blob stood";
    let mut statement = connection
        .prepare_cached(
            "SELECT CAST(ifnull(path_raw, path) AS BLOB) FROM changes
              WHERE workspace_id = ?1 AND ?2 IN (old_blob, new_blob) LIMIT 1",
        )
        .context(what)?;
    let mut rows = statement
        .query(rusqlite::params![workspace_id, blob])
        .context(what)?;
    let row = rows.next().context(what)?;
    row.map(|row| row.get(0).context(what)).transpose()
}

/// Returns the workspaces, those that were used last first.
pub(crate) fn workspaces(connection: &Connection) -> Result<Vec<i64>> {
    let what = || "cannot read the workspaces";
    let mut statement = connection
        .prepare("SELECT id FROM workspaces ORDER BY used_at DESC, id DESC")
        .context(what)?;
    let rows = statement.query_map([], |row| row.get(0)).context(what)?;
    rows.collect::<rusqlite::Result<_>>().context(what)
}

/// Returns what the rows of a workspace name.
pub(crate) fn roots(connection: &Connection, workspace_id: i64) -> Result<Roots> {
    Ok(Roots {
        trees: ids(connection, TREES, workspace_id)?,
        blobs: ids(connection, BLOBS, workspace_id)?,
    })
}

fn ids(connection: &Connection, sql: &str, workspace_id: i64) -> Result<Vec<ObjectId>> {
    let what = || "cannot read which objects are needed";
    let mut statement = connection.prepare(sql).context(what)?;
    let rows = statement
        .query_map([workspace_id], |row| row.get::<_, Option<ObjectId>>(0))
        .context(what)?;
    let ids: Vec<Option<ObjectId>> = rows.collect::<rusqlite::Result<_>>().context(what)?;
    Ok(ids.into_iter().flatten().collect())
}
