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
