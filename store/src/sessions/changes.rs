//! Rows of `changes`: who changed what, in order.

use std::collections::BTreeSet;

use rusqlite::{Connection, Row, params};

use super::read::{self, row};
use super::totals;
use super::words::{WordTable, word};
use crate::error::Result;
use crate::model::Milliseconds;
use crate::model::attribution::Attribution;
use crate::model::entry::Change;
use crate::model::path::WorkspacePath;

/// A change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChangeRow {
    /// `None` until it is inserted.
    pub id: Option<i64>,
    pub step_id: Option<String>,
    pub attribution: Attribution,
    /// Why its attribution is unclear.
    pub reason: Option<String>,
    pub from_snapshot_id: Option<i64>,
    /// `None` stands for the snapshot that is being recorded.
    pub to_snapshot_id: Option<i64>,
    pub change: Change,
    /// Lines added and removed.
    pub lines: Option<(u64, u64)>,
}

row! {
    /// A live change with where it comes from.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct LiveChange {
        pub row: ChangeRow = ChangeRow::read,
        pub session_id: String,
        pub message_id: String,
        pub message_seq: i64,
        pub agent: String,
    }
}

const COLUMNS: &str = "changes.id, changes.step_id, changes.attribution, changes.reason, changes.from_snapshot_id, changes.to_snapshot_id,
                       changes.path, changes.path_raw, changes.old_mode, changes.old_blob, changes.new_mode, changes.new_blob,
                       changes.additions, changes.deletions";

impl ChangeRow {
    /// Reads [`COLUMNS`] by number, in their order: a lookup by name would search anew in each row, of which there may
    /// be tens of thousands.
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            step_id: row.get(1)?,
            attribution: word(row, WordTable::Changes, "attribution")?,
            reason: row.get(3)?,
            from_snapshot_id: row.get(4)?,
            to_snapshot_id: row.get(5)?,
            change: Change {
                path: super::path_at(row, 6, 7)?,
                old: super::state(row, 8, 9)?,
                new: super::state(row, 10, 11)?,
            },
            lines: read::lines(row, 12, 13)?,
        })
    }
}

/// Returns the paths that changed from one snapshot of a workspace up to another, or since, and belong to no step.
pub(crate) fn outside_paths(
    connection: &Connection,
    workspace_id: i64,
    from_snapshot_id: i64,
    to_snapshot_id: Option<i64>,
) -> Result<BTreeSet<WorkspacePath>> {
    let sql = "SELECT DISTINCT path, path_raw FROM changes
                WHERE +workspace_id = ?1 AND step_id IS NULL AND from_snapshot_id >= ?2
                  AND (?3 IS NULL OR to_snapshot_id <= ?3)";
    let paths = read::all(
        connection,
        sql,
        params![workspace_id, from_snapshot_id, to_snapshot_id],
        super::path,
    )?;
    Ok(paths.into_iter().collect())
}

/// Returns the known changes of a workspace between two snapshots, oldest first: those of all authors,
/// and of operations.
pub(crate) fn changes_between(
    connection: &Connection,
    workspace_id: i64,
    first_snapshot_id: i64,
    last_snapshot_id: i64,
) -> Result<Vec<Change>> {
    let sql = "
        SELECT path, path_raw, old_mode, old_blob, new_mode, new_blob, to_snapshot_id AS at, id AS number
          FROM changes WHERE +workspace_id = ?1 AND from_snapshot_id >= ?2 AND to_snapshot_id <= ?3
        UNION ALL
        SELECT path, path_raw, expected_mode, expected_blob, target_mode, target_blob, after_snapshot_id, position
          FROM operations JOIN operation_files ON operation_id = operations.id
         WHERE workspace_id = ?1 AND before_snapshot_id >= ?2 AND after_snapshot_id <= ?3 AND result = 'done'
         ORDER BY at, number";
    read::all(
        connection,
        sql,
        params![workspace_id, first_snapshot_id, last_snapshot_id],
        |row| {
            Ok(Change {
                path: super::path(row)?,
                old: super::state(row, "old_mode", "old_blob")?,
                new: super::state(row, "new_mode", "new_blob")?,
            })
        },
    )
}

/// Returns the changes of a workspace between snapshots that still have their files, the newest snapshots first;
/// between the same two, the oldest change first.
pub(crate) fn changes_between_kept(
    connection: &Connection,
    workspace_id: i64,
) -> Result<Vec<ChangeRow>> {
    let sql = format!(
        "WITH kept AS (SELECT id FROM snapshots WHERE workspace_id = ?1 AND pruned_at IS NULL)
         SELECT {COLUMNS} FROM changes
          WHERE workspace_id = ?1 AND from_snapshot_id IN (SELECT id FROM kept) AND to_snapshot_id IN (SELECT id FROM kept)
          ORDER BY to_snapshot_id DESC, from_snapshot_id DESC, id"
    );
    read::all(connection, &sql, [workspace_id], ChangeRow::read)
}

/// Adds changes at the end of the history.
pub(crate) fn insert_changes(
    connection: &Connection,
    workspace_id: i64,
    rows: &[ChangeRow],
    to_snapshot_id: Option<i64>,
    now: Milliseconds,
) -> Result<()> {
    for row in rows {
        insert_change(connection, workspace_id, row, to_snapshot_id, now)?;
    }
    let steps = rows.iter().filter_map(|row| row.step_id.as_deref());
    totals::outdate(connection, steps.collect::<BTreeSet<_>>())
}

fn insert_change(
    connection: &Connection,
    workspace_id: i64,
    row: &ChangeRow,
    to_snapshot_id: Option<i64>,
    now: Milliseconds,
) -> Result<()> {
    let Change { path, old, new } = &row.change;
    let sql = "INSERT INTO changes (workspace_id, step_id, attribution, from_snapshot_id, to_snapshot_id, path, path_raw, kind,
                                  old_mode, old_blob, new_mode, new_blob, additions, deletions, happened_at, reason)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";
    let values = params![
        workspace_id,
        row.step_id,
        row.attribution.name(),
        row.from_snapshot_id,
        row.to_snapshot_id.or(to_snapshot_id),
        path.to_text(),
        path.raw(),
        row.change.kind().name(),
        old.map(|entry| entry.mode),
        old.and_then(|entry| entry.blob),
        new.map(|entry| entry.mode),
        new.and_then(|entry| entry.blob),
        row.lines.map(|(added, _)| added.cast_signed()),
        row.lines.map(|(_, deleted)| deleted.cast_signed()),
        now,
        row.reason,
    ];
    super::execute(connection, "cannot add a change", sql, values)
}

/// Removes changes that newer rows replace.
pub(crate) fn delete_changes(connection: &Connection, ids: &[i64]) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let sql = "DELETE FROM changes WHERE id = ?1 RETURNING step_id";
    let mut steps = BTreeSet::new();
    for id in ids {
        let step = read::value_or_none(connection, "cannot replace a change", sql, [id])?;
        steps.extend(step.flatten());
    }
    outdate(connection, &steps)
}

fn outdate(connection: &Connection, steps: &BTreeSet<String>) -> Result<()> {
    totals::outdate(connection, steps.iter().map(String::as_str))
}

/// Turns the changes of a step so far into changes from outside: its first tool has not run yet.
pub(crate) fn release_to_outside(connection: &Connection, step: &str) -> Result<()> {
    let sql = "UPDATE changes SET step_id = NULL, attribution = 'outside', reason = NULL WHERE step_id = ?1";
    super::execute(connection, "cannot release changes", sql, [step])?;
    totals::outdate(connection, [step])
}

/// Gives a step the changes from outside that were seen between two moments, where a tool of it reached: the tool may have
/// run before the step is known to have begun, or after its end. These two are the moments if none are given.
pub(crate) fn doubt_outside(
    connection: &Connection,
    step: &str,
    (since, until): (Option<Milliseconds>, Option<Milliseconds>),
    reaches: impl Fn(&WorkspacePath) -> bool,
    reason: &str,
) -> Result<()> {
    let sql = "SELECT changes.id AS id, path, path_raw
                 FROM steps JOIN sessions ON sessions.id = steps.session_id JOIN changes USING (workspace_id)
                WHERE steps.id = ?1 AND step_id IS NULL AND attribution = 'outside'
                  AND happened_at > ifnull(?2, steps.finished_at) AND happened_at <= ifnull(?3, steps.started_at)
                ORDER BY changes.id";
    let what = "cannot read what changed before a step";
    let rows: Vec<(i64, WorkspacePath)> =
        read::all_or(connection, what, sql, params![step, since, until], |row| {
            Ok((row.get("id")?, super::path(row)?))
        })?;
    for (id, _) in rows.iter().filter(|(_, path)| reaches(path)) {
        let sql =
            "UPDATE changes SET step_id = ?2, attribution = 'unclear', reason = ?3 WHERE id = ?1";
        let what = "cannot note whose a change may be";
        super::execute(connection, what, sql, params![id, step, reason])?;
    }
    totals::outdate(connection, [step])
}

/// Returns the changes of a step, oldest first.
pub(crate) fn changes_of_step(connection: &Connection, step: &str) -> Result<Vec<ChangeRow>> {
    read::all_or(
        connection,
        "cannot read a step's changes",
        &format!("SELECT {COLUMNS} FROM changes WHERE step_id = ?1 ORDER BY id"),
        [step],
        ChangeRow::read,
    )
}

/// Returns the changes of all steps of a message, in the order of the steps.
pub(crate) fn changes_of_message(connection: &Connection, message: &str) -> Result<Vec<ChangeRow>> {
    read::all_or(
        connection,
        "cannot read a message's changes",
        &format!(
            // In this order: the steps of one message are few, and the changes of each are found by index.
            "SELECT {COLUMNS} FROM steps CROSS JOIN changes ON changes.step_id = steps.id
              WHERE steps.message_id = ?1 ORDER BY steps.seq, changes.id"
        ),
        [message],
        ChangeRow::read,
    )
}

/// Returns the changes of a session's messages that have not been undone for good, newest first: those of all messages
/// from a `seq` on, including hidden ones, and what is left of discarded ones.
pub(crate) fn live_changes(
    connection: &Connection,
    root_session: &str,
    from_seq: i64,
) -> Result<Vec<LiveChange>> {
    live(
        connection,
        "FROM messages
           JOIN steps ON steps.message_id = messages.id
           JOIN sessions ON sessions.id = steps.session_id
           JOIN changes ON changes.step_id = steps.id
          WHERE messages.session_id = ?1 AND messages.seq >= ?2 AND changes.undone_by IS NULL
          ORDER BY changes.id DESC",
        params![root_session, from_seq],
    )
}

row! {
    /// A change of a reverted message.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct RevertedChange {
        pub id: i64,
        pub path: WorkspacePath = super::path,
        /// The first snapshot that saw it.
        pub seen_in: Option<i64>,
    }
}

/// Returns the changes of a session's hidden and discarded messages that have not been undone for good.
pub(crate) fn reverted_changes(
    connection: &Connection,
    root_session: &str,
) -> Result<Vec<RevertedChange>> {
    let sql = "SELECT changes.id, changes.path, changes.path_raw, changes.to_snapshot_id AS seen_in
               FROM messages JOIN steps ON steps.message_id = messages.id JOIN changes ON changes.step_id = steps.id
              WHERE messages.session_id = ?1 AND messages.state <> 'live' AND changes.undone_by IS NULL";
    let what = "cannot read changes";
    read::all_or(connection, what, sql, [root_session], RevertedChange::read)
}

/// Notes that changes were undone for good by an operation.
pub(crate) fn mark_undone(connection: &Connection, ids: &[i64], operation: &str) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let sql = "UPDATE changes SET undone_by = ?2 WHERE id = ?1 RETURNING step_id";
    let what = "cannot note what was undone";
    let mut steps = BTreeSet::new();
    for id in ids {
        let step = read::value_or_none(connection, what, sql, params![id, operation])?;
        steps.extend(step.flatten());
    }
    outdate(connection, &steps)
}

/// Returns the changes of a workspace after a place in the history that do not belong to a session: those of other
/// sessions and from outside, newest first. The unary `+`, here and below, keeps SQLite from reading the whole index of
/// the workspace's paths: the rows in question are the last ones of their table.
pub(crate) fn changes_of_others(
    connection: &Connection,
    workspace_id: i64,
    root_session: &str,
    after: i64,
) -> Result<Vec<LiveChange>> {
    live(
        connection,
        "FROM changes
           LEFT JOIN steps ON steps.id = changes.step_id
           LEFT JOIN sessions ON sessions.id = steps.session_id
           LEFT JOIN messages ON messages.id = steps.message_id
          WHERE +changes.workspace_id = ?1 AND changes.id > ?2 AND (messages.session_id IS NULL OR messages.session_id <> ?3)
          ORDER BY changes.id DESC",
        params![workspace_id, after, root_session],
    )
}

/// Returns the paths that a session changed, and what it started.
pub(crate) fn paths_of_session(
    connection: &Connection,
    root_session: &str,
) -> Result<Vec<WorkspacePath>> {
    let sql = "SELECT DISTINCT changes.path, changes.path_raw FROM changes
                 JOIN steps ON steps.id = changes.step_id JOIN messages ON messages.id = steps.message_id
                WHERE messages.session_id = ?1";
    read::all(connection, sql, [root_session], super::path)
}

/// Returns the changes of other sessions that are the same as a shared one.
pub(crate) fn sharers(connection: &Connection, row: &ChangeRow) -> Result<Vec<LiveChange>> {
    live(
        connection,
        "FROM changes
           JOIN steps ON steps.id = changes.step_id
           JOIN sessions ON sessions.id = steps.session_id
           JOIN messages ON messages.id = steps.message_id
          WHERE changes.path = ?1 AND changes.path_raw IS ?2 AND changes.to_snapshot_id IS ?3 AND changes.attribution = 'shared'
            AND changes.step_id <> ?4
          ORDER BY changes.id",
        params![row.change.path.to_text(), row.change.path.raw(), row.to_snapshot_id, row.step_id],
    )
}

/// A change since a state, and whether it belongs to the session in question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChangeSince {
    pub change: LiveChange,
    /// Whether its message is one of the session's. The steps of its sub-agents belong to those messages, too.
    pub is_of_session: bool,
}

/// Returns all changes of a workspace since a snapshot, without what was undone for good; newest first.
pub(crate) fn changes_since(
    connection: &Connection,
    workspace_id: i64,
    snapshot_id: i64,
    root_session: Option<&str>,
) -> Result<Vec<ChangeSince>> {
    let changes = live(
        connection,
        "FROM changes
           LEFT JOIN steps ON steps.id = changes.step_id
           LEFT JOIN sessions ON sessions.id = steps.session_id
           LEFT JOIN messages ON messages.id = steps.message_id
          WHERE +changes.workspace_id = ?1 AND changes.undone_by IS NULL
            AND (changes.to_snapshot_id IS NULL OR changes.to_snapshot_id > ?2)
          ORDER BY changes.id DESC",
        params![workspace_id, snapshot_id],
    )?;
    with_session(connection, changes, root_session)
}

/// Returns whether a step changed a path, as far as that was not undone for good.
pub(crate) fn has_step_changed(
    connection: &Connection,
    workspace_id: i64,
    path: &WorkspacePath,
) -> Result<bool> {
    let sql = "SELECT 1 FROM changes
                WHERE workspace_id = ?1 AND path = ?2 AND step_id IS NOT NULL AND undone_by IS NULL";
    let what = "cannot read changes";
    read::any(connection, what, sql, params![workspace_id, path.to_text()])
}

/// Returns all changes of a workspace since a snapshot, with what was undone for good; oldest first.
pub(crate) fn rows_since(
    connection: &Connection,
    workspace_id: i64,
    snapshot_id: i64,
) -> Result<Vec<ChangeRow>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM changes
          WHERE +workspace_id = ?1 AND (to_snapshot_id IS NULL OR to_snapshot_id > ?2) ORDER BY id"
    );
    let parameters = params![workspace_id, snapshot_id];
    read::all_or(
        connection,
        "cannot read changes",
        &sql,
        parameters,
        ChangeRow::read,
    )
}

/// Returns the snapshot before the first change of a path since a time, if it still has its objects.
pub(crate) fn first_snapshot_of(
    connection: &Connection,
    workspace_id: i64,
    path: &WorkspacePath,
    since: Milliseconds,
) -> Result<Option<i64>> {
    let sql = "SELECT from_snapshot_id FROM changes JOIN snapshots ON snapshots.id = from_snapshot_id
                WHERE changes.workspace_id = ?1 AND path = ?2 AND path_raw IS ?3 AND happened_at >= ?4 AND pruned_at IS NULL
                ORDER BY changes.id LIMIT 1";
    let what = "cannot read the first change of a path";
    let parameters = params![workspace_id, path.to_text(), path.raw(), since];
    read::value_or_none(connection, what, sql, parameters)
}

/// Returns changes that are not written yet, in order, each with the step that it belongs to.
pub(crate) fn owners_of(
    connection: &Connection,
    rows: &[ChangeRow],
    root_session: Option<&str>,
) -> Result<Vec<ChangeSince>> {
    let mut changes = Vec::new();
    for row in rows {
        let step = match row.step_id.as_deref() {
            Some(id) => super::step(connection, id)?,
            None => None,
        };
        let message = match &step {
            Some(step) => super::message(connection, &step.message_id)?,
            None => None,
        };
        let session = match &step {
            Some(step) => super::session(connection, &step.session_id)?,
            None => None,
        };
        changes.push(LiveChange {
            row: row.clone(),
            session_id: step.map(|step| step.session_id).unwrap_or_default(),
            message_seq: message.as_ref().map_or(0, |message| message.seq),
            message_id: message.map(|message| message.id).unwrap_or_default(),
            agent: session.map(|session| session.agent).unwrap_or_default(),
        });
    }
    with_session(connection, changes, root_session)
}

fn with_session(
    connection: &Connection,
    changes: Vec<LiveChange>,
    root_session: Option<&str>,
) -> Result<Vec<ChangeSince>> {
    let messages: BTreeSet<String> = match root_session {
        Some(session) => read::all(
            connection,
            "SELECT id FROM messages WHERE session_id = ?1",
            [session],
            |row| row.get(0),
        )?
        .into_iter()
        .collect(),
        None => BTreeSet::new(),
    };
    Ok(changes
        .into_iter()
        .map(|change| ChangeSince {
            is_of_session: messages.contains(&change.message_id),
            change,
        })
        .collect())
}

fn live(
    connection: &Connection,
    rest: &str,
    parameters: impl rusqlite::Params,
) -> Result<Vec<LiveChange>> {
    let sql = format!(
            "SELECT {COLUMNS}, ifnull(steps.session_id, '') AS session_id, ifnull(steps.message_id, '') AS message_id,
                    ifnull(messages.seq, 0) AS message_seq, ifnull(sessions.agent, '') AS agent {rest}"
        );
    let what = "cannot read changes";
    read::all_or(connection, what, &sql, parameters, LiveChange::read)
}
