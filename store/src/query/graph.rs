//! `log --graph` and `log --snapshots`: everything that happened in a workspace, and every state that was captured.

use std::path::Path;

use ckpt_schema::report::{SnapshotEntry, SnapshotsReport, TimelineEntry, TimelineReport, VERSION};
use rusqlite::{Connection, params};

use super::history::{self, Loss, MOVED};
use super::{LogFilter, choose};
use crate::error::Result;
use crate::model::Milliseconds;
use crate::sessions::read::{all, count};
use crate::store::Store;
use crate::timeline::Place;

/// Lists messages, operations and changes from outside, newest first.
pub(crate) fn timeline(store: &Store, cwd: &Path, filter: &LogFilter) -> Result<TimelineReport> {
    let messages = history::log(store, cwd, filter)?.messages;
    let operations = super::operations(store, cwd, filter)?.operations;
    let mut entries: Vec<TimelineEntry> =
        messages.into_iter().map(TimelineEntry::Message).collect();
    entries.extend(operations.into_iter().map(TimelineEntry::Operation));
    if is_about_everybody(filter)
        && let Some(place) = Place::find(store, cwd)?
    {
        entries.extend(outside(store.database.connection(), place.row.id, filter)?);
    }
    entries.sort_by_key(|entry| std::cmp::Reverse(time(entry)));
    if let Some(limit) = filter.limit {
        entries.truncate(limit);
    }
    let Loss {
        set_aside,
        unknown_workspaces,
    } = history::loss(store, entries.is_empty())?;
    Ok(TimelineReport {
        version: VERSION,
        entries,
        set_aside,
        unknown_workspaces,
    })
}

/// Returns whether a filter asks for nothing that a change from outside lacks: an agent, a session or a prompt.
fn is_about_everybody(filter: &LogFilter) -> bool {
    filter.session.is_none()
        && filter.agent.is_none()
        && filter.state.is_none()
        && filter.grep.is_none()
        && filter.search.is_none()
        && filter.text.is_none()
        && filter.paths.is_empty()
}

fn time(entry: &TimelineEntry) -> Milliseconds {
    match entry {
        TimelineEntry::Message(message) => message.time,
        TimelineEntry::Operation(operation) => operation.time,
        TimelineEntry::Outside { time, .. } => *time,
    }
}

fn outside(
    connection: &Connection,
    workspace_id: i64,
    filter: &LogFilter,
) -> Result<Vec<TimelineEntry>> {
    // The unary `+` keeps SQLite from using the index by workspace, which reads all changes. The few without a step
    // have an index of their own.
    let sql = format!(
        "
        WITH groups AS (
            SELECT from_snapshot_id, to_snapshot_id, {MOVED} AS moved
              FROM changes
             WHERE +workspace_id = ?1 AND step_id IS NULL
             GROUP BY from_snapshot_id, to_snapshot_id, ifnull(old_blob, new_blob)),
        moves AS (
            SELECT from_snapshot_id, to_snapshot_id, sum(moved) AS files FROM groups GROUP BY 1, 2)
        SELECT max(changes.happened_at) AS time, \"from\".tree AS from_tree, \"to\".tree AS to_tree,
               count(DISTINCT ifnull(changes.path_raw, changes.path)) - ifnull(max(moves.files), 0) AS files,
               ifnull(sum(changes.additions), 0) AS additions, ifnull(sum(changes.deletions), 0) AS deletions
          FROM changes
          LEFT JOIN moves ON moves.from_snapshot_id IS changes.from_snapshot_id
                         AND moves.to_snapshot_id IS changes.to_snapshot_id
          LEFT JOIN snapshots AS \"from\" ON \"from\".id = changes.from_snapshot_id
          LEFT JOIN snapshots AS \"to\" ON \"to\".id = changes.to_snapshot_id
         WHERE +changes.workspace_id = ?1 AND changes.step_id IS NULL
         GROUP BY changes.from_snapshot_id, changes.to_snapshot_id
        HAVING (?2 IS NULL OR max(changes.happened_at) >= ?2) AND (?3 IS NULL OR max(changes.happened_at) <= ?3)"
    );
    let parameters = params![workspace_id, filter.since, filter.until];
    all(connection, &sql, parameters, |row| {
        Ok(TimelineEntry::Outside {
            time: row.get("time")?,
            from: row.get("from_tree")?,
            to: row.get("to_tree")?,
            files: count(row, "files")?,
            additions: count(row, "additions")?,
            deletions: count(row, "deletions")?,
        })
    })
}

/// Lists the snapshots of a workspace, newest first.
pub(crate) fn snapshots(store: &Store, cwd: &Path, filter: &LogFilter) -> Result<SnapshotsReport> {
    let sql = "
        SELECT snapshots.tree, snapshots.taken_at,
               (SELECT text FROM labels WHERE labels.snapshot_id = snapshots.id LIMIT 1) AS label,
               snapshots.gaps, after.ids AS messages
          FROM snapshots
          LEFT JOIN (SELECT snapshot_id, group_concat(id, ' ' ORDER BY seq DESC) AS ids
                       FROM messages GROUP BY snapshot_id) AS after
                 ON after.snapshot_id = snapshots.id
         WHERE workspace_id = ?1 AND (?2 IS NULL OR taken_at >= ?2) AND (?3 IS NULL OR taken_at <= ?3)
         ORDER BY snapshots.id DESC LIMIT ?4";
    let limit = choose::sql_limit(filter.limit);
    let snapshots = match Place::find(store, cwd)? {
        Some(place) => {
            let parameters = params![place.row.id, filter.since, filter.until, limit];
            all(store.database.connection(), sql, parameters, read_snapshot)?
        }
        None => Vec::new(),
    };
    let Loss {
        set_aside,
        unknown_workspaces,
    } = history::loss(store, snapshots.is_empty())?;
    Ok(SnapshotsReport {
        version: VERSION,
        snapshots,
        set_aside,
        unknown_workspaces,
    })
}

fn read_snapshot(row: &rusqlite::Row<'_>) -> rusqlite::Result<SnapshotEntry> {
    let ids: Option<String> = row.get("messages")?;
    let ids = ids.as_deref().unwrap_or_default().split_whitespace();
    let messages: Vec<String> = ids.map(str::to_owned).collect();
    Ok(SnapshotEntry {
        snapshot: row.get("tree")?,
        time: row.get("taken_at")?,
        label: row.get("label")?,
        gaps: count(row, "gaps")?,
        message: messages.first().cloned(),
        messages,
    })
}
