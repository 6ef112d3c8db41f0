//! Rows of `snapshots` and `git_states`.

use rusqlite::{Connection, Row, params};

use super::read;
use crate::error::{Error, Result};
use crate::model::Milliseconds;
use crate::model::entry::{ObjectId, Snapshot};
use crate::model::git_item::GitStateRow;
use crate::model::instruction::Instruction;

/// A snapshot's ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SnapshotRow {
    pub id: i64,
    pub workspace_id: i64,
    pub snapshot: Snapshot,
    /// How many of its seen entries reports list.
    pub gaps: u64,
    pub git_state_id: Option<i64>,
    pub taken_at: Milliseconds,
    /// When its objects were removed, or `None` while they exist.
    pub pruned_at: Option<Milliseconds>,
}

/// A snapshot that is about to be added.
#[derive(Clone, Debug)]
pub(crate) struct NewSnapshot {
    pub workspace_id: i64,
    pub snapshot: Snapshot,
    pub gaps: u64,
    pub git_state_id: Option<i64>,
}

impl NewSnapshot {
    /// Returns whether a row has the same values, and was not pruned.
    fn is_held_by(&self, row: &SnapshotRow) -> bool {
        row.pruned_at.is_none()
            && row.workspace_id == self.workspace_id
            && row.snapshot == self.snapshot
            && row.git_state_id == self.git_state_id
    }
}

const COLUMNS: &str = "id, workspace_id, tree, attributes_blob, rules_blob, seen_blob, gaps, git_state_id, taken_at, pruned_at";

impl GitStateRow {
    /// Reads the columns `head`, `branch`, `index_blob` and `doing`.
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            head: row.get("head")?,
            branch: row.get("branch")?,
            index: row.get("index_blob")?,
            doing: row.get("doing")?,
        })
    }
}

impl SnapshotRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get("id")?,
            workspace_id: row.get("workspace_id")?,
            snapshot: snapshot_of(row)?,
            gaps: read::count(row, "gaps")?,
            git_state_id: row.get("git_state_id")?,
            taken_at: row.get("taken_at")?,
            pruned_at: row.get("pruned_at")?,
        })
    }
}

/// Reads the columns `tree`, `attributes_blob`, `rules_blob` and `seen_blob`.
pub(super) fn snapshot_of(row: &Row<'_>) -> rusqlite::Result<Snapshot> {
    Ok(Snapshot {
        tree: row.get("tree")?,
        attributes: row.get("attributes_blob")?,
        rules: row.get("rules_blob")?,
        seen: row.get("seen_blob")?,
    })
}

/// Returns a snapshot whose objects are needed. Fails if they were pruned.
pub(crate) fn snapshot(connection: &Connection, id: i64) -> Result<SnapshotRow> {
    let row = snapshot_row(connection, id)?;
    if row.pruned_at.is_none() {
        return Ok(row);
    }
    Err(Error::unavailable(format!(
        "the snapshot `{}` was pruned: its files are no longer in the store",
        row.snapshot.tree
    ))
    .hint(format!(
        "{} still shows which files changed; the setting `keep` says how long snapshots stay",
        Instruction::Show
    )))
}

/// Returns the snapshot with an id, pruned or not.
pub(crate) fn snapshot_row(connection: &Connection, id: i64) -> Result<SnapshotRow> {
    let sql = format!("SELECT {COLUMNS} FROM snapshots WHERE id = ?1");
    let what = "cannot read a snapshot's row";
    read::one(connection, what, &sql, [id], SnapshotRow::read)
}

/// Returns when the first snapshot of a workspace was taken.
pub(crate) fn first_look(connection: &Connection, workspace_id: i64) -> Result<Milliseconds> {
    let sql = "SELECT taken_at FROM snapshots WHERE workspace_id = ?1 ORDER BY id LIMIT 1";
    let what = "cannot read when a workspace was first looked at";
    read::one(connection, what, sql, [workspace_id], |row| row.get(0))
}

/// Returns at most this many snapshots of a workspace after one of them, newest first.
pub(crate) fn snapshots_since(
    connection: &Connection,
    workspace_id: i64,
    snapshot_id: i64,
    most: u32,
) -> Result<Vec<SnapshotRow>> {
    read::all(
        connection,
        &format!(
            "SELECT {COLUMNS} FROM snapshots WHERE workspace_id = ?1 AND id > ?2 AND pruned_at IS NULL ORDER BY id DESC LIMIT ?3"
        ),
        params![workspace_id, snapshot_id, most],
        SnapshotRow::read,
    )
}

/// Returns the newest snapshot of a workspace since a time with each list of seen entries: newest first, and at most this many.
/// Where another path is in view, another list is.
pub(crate) fn snapshots_by_seen(
    connection: &Connection,
    workspace_id: i64,
    since: Milliseconds,
    most: u32,
) -> Result<Vec<SnapshotRow>> {
    // SQLite takes the other columns from the row with the highest id.
    let sql = format!(
        "SELECT {COLUMNS}, max(id) FROM snapshots WHERE workspace_id = ?1 AND taken_at >= ?2 AND pruned_at IS NULL
          GROUP BY seen_blob ORDER BY max(id) DESC LIMIT ?3"
    );
    let what = "cannot read the snapshots with different seen entries";
    let parameters = params![workspace_id, since, most];
    read::all_or(connection, what, &sql, parameters, SnapshotRow::read)
}

/// How many snapshots with the same tree are returned.
const ALIKE: u32 = 4;

/// Returns the newest snapshots of a workspace that have a tree, newest first. The `+` keeps SQLite from walking all
/// snapshots of the workspace in their order: few have the same tree.
pub(crate) fn snapshots_of_tree(
    connection: &Connection,
    workspace_id: i64,
    tree: ObjectId,
) -> Result<Vec<i64>> {
    read::all(
        connection,
        "SELECT id FROM snapshots WHERE +workspace_id = ?1 AND tree = ?2 AND pruned_at IS NULL ORDER BY id DESC LIMIT ?3",
        params![workspace_id, tree, ALIKE],
        |row| row.get(0),
    )
}

/// Returns at most this many snapshots of a workspace just after one of them, and as many just before it, the nearest
/// first.
pub(crate) fn snapshots_beside(
    connection: &Connection,
    workspace_id: i64,
    snapshot_id: i64,
    most: u32,
) -> Result<Vec<SnapshotRow>> {
    let mut rows = Vec::new();
    for which in [
        "id > ?2 AND pruned_at IS NULL ORDER BY id",
        "id < ?2 AND pruned_at IS NULL ORDER BY id DESC",
    ] {
        let sql =
            format!("SELECT {COLUMNS} FROM snapshots WHERE workspace_id = ?1 AND {which} LIMIT ?3");
        let parameters = params![workspace_id, snapshot_id, most];
        rows.extend(read::all(connection, &sql, parameters, SnapshotRow::read)?);
    }
    Ok(rows)
}

/// Adds a snapshot, and returns its row's id. If the snapshot `last` has the same values, that row is used
/// again.
pub(crate) fn put_snapshot(
    connection: &Connection,
    row: &NewSnapshot,
    last: Option<i64>,
    now: Milliseconds,
) -> Result<i64> {
    if let Some(last) = last
        && row.is_held_by(&snapshot_row(connection, last)?)
    {
        return Ok(last);
    }
    let sql = "INSERT INTO snapshots (workspace_id, tree, attributes_blob, rules_blob, seen_blob, gaps, git_state_id, taken_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let values = params![
        row.workspace_id,
        row.snapshot.tree,
        row.snapshot.attributes,
        row.snapshot.rules,
        row.snapshot.seen,
        row.gaps.cast_signed(),
        row.git_state_id,
        now
    ];
    super::execute(connection, "cannot add a snapshot", sql, values)?;
    Ok(connection.last_insert_rowid())
}

/// A range of a session's messages, by `seq`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageSpan {
    /// The first one.
    pub first: i64,
    /// The last one, or `None` if the range goes on to the session's newest message.
    pub last: Option<i64>,
}

impl MessageSpan {
    /// A message and all after it.
    pub fn from(first: i64) -> Self {
        Self { first, last: None }
    }

    /// One message alone.
    pub fn only(seq: i64) -> Self {
        Self {
            first: seq,
            last: Some(seq),
        }
    }
}

/// Adds a state of the user's repository, or returns the row with the same values.
pub(crate) fn put_git_state(
    connection: &Connection,
    workspace_id: i64,
    state: &GitStateRow,
    now: Milliseconds,
) -> Result<i64> {
    // `IS`, because `=` never finds a NULL, and a detached HEAD has no branch.
    // Only the newest ones: searching all of them would cost more with every step.
    let sql = "SELECT id FROM (SELECT id, head, branch, index_blob, doing FROM git_states WHERE workspace_id = ?1 ORDER BY id DESC LIMIT 16)
              WHERE head IS ?2 AND branch IS ?3 AND index_blob IS ?4 AND doing IS ?5 ORDER BY id DESC LIMIT 1";
    let GitStateRow {
        head,
        branch,
        index,
        doing,
    } = state;
    let (what, values) = (
        "cannot look a git state up",
        params![workspace_id, head, branch, index, doing],
    );
    if let Some(id) = read::value_or_none(connection, what, sql, values)? {
        return Ok(id);
    }
    let sql = "INSERT INTO git_states (workspace_id, head, branch, index_blob, doing, seen_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let values = params![workspace_id, head, branch, index, doing, now];
    super::execute(connection, "cannot add a git state", sql, values)?;
    Ok(connection.last_insert_rowid())
}

/// Returns the state of the user's repository with an id.
pub(crate) fn git_state(connection: &Connection, id: i64) -> Result<GitStateRow> {
    let sql = "SELECT head, branch, index_blob, doing FROM git_states WHERE id = ?1";
    let what = "cannot read a git state";
    read::one(connection, what, sql, [id], GitStateRow::read)
}
