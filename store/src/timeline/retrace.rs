//! A snapshot of which a tree is lost: it is made again of a snapshot beside it in the timeline, and of the rows of
//! what changed in between.
//!
//! ```text
//! files of a later snapshot ──► without the changes since ─┐
//! files of an earlier one ────► with the changes up to it ─┴─► the lost tree, if it hashes to that
//! ```

use rusqlite::Connection;

use crate::error::Result;
use crate::model::entry::ObjectId;
use crate::sessions;
use crate::snapshot::Snapshots;

/// How many snapshots on either side are tried.
const TRIED_SNAPSHOTS: u32 = 4;

/// Stores the lost trees of a snapshot again if the timeline tells what they were, and returns how many were stored.
/// The caller holds the workspace's lock.
pub(crate) fn retrace(
    connection: &Connection,
    workspace_id: i64,
    snapshots: &Snapshots,
    lost: ObjectId,
) -> Result<usize> {
    for at in sessions::snapshots_of_tree(connection, workspace_id, lost)? {
        for beside in sessions::snapshots_beside(connection, workspace_id, at, TRIED_SNAPSHOTS)? {
            let Ok(mut files) = snapshots.files_of(beside.snapshot.tree) else {
                continue;
            };
            let (first, last) = (at.min(beside.id), at.max(beside.id));
            let changes = sessions::changes_between(connection, workspace_id, first, last)?;
            // The rows say what changed, not what was there. So a later snapshot is walked back by the old sides,
            // the newest change first, and an earlier one is walked forward by the new sides.
            if beside.id > at {
                for change in changes.iter().rev() {
                    files.set(change.path.as_bytes(), change.old);
                }
            } else {
                for change in &changes {
                    files.set(change.path.as_bytes(), change.new);
                }
            }
            // Nothing is believed here: a tree is stored only under the id that was lost, and that id is the hash
            // of its bytes.
            let stored = snapshots.store_trees(&files, lost)?;
            if stored > 0 {
                return Ok(stored);
            }
        }
    }
    Ok(0)
}
