//! Rows of `operations` and `operation_files`: every plan that ever touched a workspace, and its results.

use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::report::{FileResult, NoteReport, OperationKind, Outcome, ReasonCode};
use rusqlite::{Connection, named_params, params};

use super::feed;
use super::read::{self, by_json, item_reason, row};
use super::words::{WordTable, optional_word, parsed, word};
use crate::error::Result;
use crate::model::Milliseconds;
use crate::model::entry::State;
use crate::model::item::{Item, ReasonCase};
use crate::model::note;
use crate::model::path::WorkspacePath;
use crate::model::path_list::{self, OperationDirectories};
use crate::model::request::{OnConflict, Unclear};

row! {
    /// An operation, as it is about to begin or as it is stored.
    #[derive(Clone, Debug)]
    pub(crate) struct OperationRow {
        pub id: String,
        pub workspace_id: i64,
        pub session_id: Option<String>,
        pub kind: OperationKind = |row| word(row, WordTable::Operations, "kind"),
        pub from_message_id: Option<String>,
        pub message_id: Option<String>,
        /// The message that a revert asked for; `None` in rows of older versions.
        pub asked_message_id: Option<String>,
        /// The operation that it takes back.
        pub undoes: Option<String>,
        pub base_snapshot_id: Option<i64>,
        pub before_snapshot_id: Option<i64>,
        /// The state that the workspace is compared with afterwards; `None` in rows of older versions.
        pub goal_snapshot_id: Option<i64>,
        pub after_snapshot_id: Option<i64>,
        /// The paths that it is limited to; none for all. So a list that cannot be read must not become an empty one.
        pub only_paths: Vec<WorkspacePath> = |row| parsed(row, WordTable::Operations, "only_paths", path_list::from_json),
        pub part_message_id: Option<String>,
        pub step_id: Option<String>,
        /// Whether only the message of `part_message_id` is undone, and none after it.
        pub is_alone: bool,
        pub notes: Vec<NoteReport> = |row| Ok(note::from_json(&row.get::<_, String>("notes")?)),
        pub directories: OperationDirectories = |row| parsed(row, WordTable::Operations, "directories", OperationDirectories::from_json),
        pub on_conflict: OnConflict = |row| word(row, WordTable::Operations, "on_conflict"),
        pub unclear: Unclear = |row| word(row, WordTable::Operations, "unclear"),
        /// Whether git's own state moves along.
        pub git: bool,
        /// `None` while it is open. But if something that should be undone was never recorded, it is partial from the
        /// start, whatever its files say.
        pub outcome: Option<Outcome> = |row| optional_word(row, WordTable::Operations, "outcome"),
    }
}

/// A closed move of the revert point. Its files are read on demand.
#[derive(Clone, Debug)]
pub(crate) struct ChainOperation {
    pub row: OperationRow,
    pub items: Vec<Item>,
    /// The paths of a part that a restore has put back since. They no longer count as its items.
    pub taken_back: BTreeSet<WorkspacePath>,
    /// Whether it failed to write a file.
    pub has_failed: bool,
    /// Whether a message came while it was in force.
    pub is_permanent: bool,
    pub seq: i64,
}

const COLUMNS: &str = "id, workspace_id, session_id, kind, from_message_id, message_id, part_message_id, step_id, alone AS is_alone, base_snapshot_id,
                       before_snapshot_id, after_snapshot_id, only_paths, notes, directories, on_conflict, unclear,
                       goal_snapshot_id, asked_message_id, git, undoes, outcome";

/// The condition that an item's file was written or removed: [`Item::has_moved`] in SQL.
pub(crate) const HAS_MOVED: &str = "(result = 'done' AND action IN ('write', 'delete', 'merge'))";

impl OperationRow {
    /// Returns whether nothing was reverted before it. One that kept every file before it left the same snapshot.
    pub fn is_first_revert(&self) -> bool {
        self.kind == OperationKind::Revert
            && self.from_message_id.is_none()
            && self.base_snapshot_id.is_some()
            && self.base_snapshot_id == self.before_snapshot_id
    }

    /// Returns whether it is about a part only.
    pub fn is_part(&self) -> bool {
        self.part_message_id.is_some() || self.step_id.is_some()
    }

    /// Returns whether it is a choice of what a plan for a message would have done.
    pub fn is_choice(&self) -> bool {
        let is_of_message = self.session_id.is_none() && self.asked_message_id.is_some();
        is_of_message && self.goal_snapshot_id.is_none()
    }

    /// Returns whether its undo moves the revert point back. A revert that is asked for again at its own point leaves it
    /// where it is.
    pub fn moves_point(&self) -> bool {
        let has_moved = !self.is_part() && self.from_message_id != self.message_id;
        self.is_first_revert() || has_moved
    }
}

/// Writes the plan, as an open operation. From here on it gets finished, whatever happens.
pub(crate) fn insert_operation(
    connection: &Connection,
    new: &OperationRow,
    items: &[Item],
    now: Milliseconds,
) -> Result<()> {
    let sql = "INSERT INTO operations
                 (id, workspace_id, session_id, kind, state, from_message_id, message_id, part_message_id, step_id,
                  base_snapshot_id, before_snapshot_id, on_conflict, only_paths, notes, directories, outcome, git,
                  started_at, unclear, alone, goal_snapshot_id, asked_message_id, undoes)
               VALUES
                 (:id, :workspace_id, :session_id, :kind, 'open', :from_message_id, :message_id, :part_message_id, :step_id,
                  :base_snapshot_id, :before_snapshot_id, :on_conflict, :only_paths, :notes, :directories, :outcome, :git,
                  :started_at, :unclear, :alone, :goal_snapshot_id, :asked_message_id, :undoes)";
    let values = named_params! {
        ":id": new.id,
        ":workspace_id": new.workspace_id,
        ":session_id": new.session_id,
        ":kind": new.kind.name(),
        ":from_message_id": new.from_message_id,
        ":message_id": new.message_id,
        ":part_message_id": new.part_message_id,
        ":step_id": new.step_id,
        ":base_snapshot_id": new.base_snapshot_id,
        ":before_snapshot_id": new.before_snapshot_id,
        ":on_conflict": new.on_conflict.name(),
        ":only_paths": path_list::to_json(&new.only_paths),
        ":notes": note::to_json(&new.notes),
        ":directories": new.directories.to_json(),
        ":outcome": new.outcome.map(Outcome::name),
        ":git": new.git,
        ":started_at": now,
        ":unclear": new.unclear.name(),
        ":alone": new.is_alone,
        ":goal_snapshot_id": new.goal_snapshot_id,
        ":asked_message_id": new.asked_message_id,
        ":undoes": new.undoes,
    };
    super::execute(connection, "cannot write the operation's rows", sql, values)?;
    for (position, item) in (0_i64..).zip(items) {
        insert_item(connection, &new.id, position, item)?;
    }
    feed::operation(connection, &new.id)
}

fn insert_item(connection: &Connection, operation: &str, position: i64, item: &Item) -> Result<()> {
    let sql = "INSERT INTO operation_files (operation_id, position, path, path_raw, action, result, reason, expected_mode,
                                          expected_blob, target_mode, target_blob, goal_mode, goal_blob, additions, deletions,
                                          reason_code, reason_by, reason_case)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)";
    let values = params![
        operation,
        position,
        item.path.to_text(),
        item.path.raw(),
        item.action.name(),
        item.result.name(),
        item.reason.as_deref(),
        item.expected.map(|entry| entry.mode),
        item.expected.and_then(|entry| entry.blob),
        item.target.map(|entry| entry.mode),
        item.target.and_then(|entry| entry.blob),
        item.goal.map(|entry| entry.mode),
        item.goal.and_then(|entry| entry.blob),
        item.lines.map(|(added, _)| added.cast_signed()),
        item.lines.map(|(_, deleted)| deleted.cast_signed()),
        item.code().map(ReasonCode::name),
        by_json(item.reason.as_ref()),
        item.case().map(ReasonCase::name),
    ];
    super::execute(connection, "cannot write the operation's rows", sql, values)
}

/// Notes the result of each file.
pub(crate) fn note_results(connection: &Connection, operation: &str, items: &[Item]) -> Result<()> {
    let sql = "UPDATE operation_files SET result = 'done', reason = NULL, reason_code = NULL, reason_by = NULL,
                                        reason_case = NULL
              WHERE operation_id = ?1 AND result = 'planned'";
    let what = "cannot note the results of the files";
    super::execute(connection, what, sql, [operation])?;
    // Nearly all are done, so one statement says so for all, and only the exceptions take one each.
    let is_plain = |item: &Item| item.result == FileResult::Done && item.reason.is_none();
    for (position, item) in (0_i64..).zip(items).filter(|(_, item)| !is_plain(item)) {
        let sql =
            "UPDATE operation_files SET result = ?3, reason = ?4, reason_code = ?5, reason_by = ?6, reason_case = ?7
                  WHERE operation_id = ?1 AND position = ?2";
        let values = params![
            operation,
            position,
            item.result.name(),
            item.reason.as_deref(),
            item.code().map(ReasonCode::name),
            by_json(item.reason.as_ref()),
            item.case().map(ReasonCase::name),
        ];
        super::execute(connection, what, sql, values)?;
    }
    Ok(())
}

/// Closes an operation whose results are noted. One that began as partial stays partial.
pub(crate) fn close_operation(
    connection: &Connection,
    operation: &str,
    outcome: Outcome,
    after_snapshot_id: Option<i64>,
    notes: &[NoteReport],
    now: Milliseconds,
) -> Result<()> {
    let sql = "UPDATE operations SET state = 'done', outcome = ifnull(outcome, ?2), after_snapshot_id = ?3, notes = ?4, finished_at = ?5
              WHERE id = ?1";
    let notes = note::to_json(notes);
    let values = params![operation, outcome.name(), after_snapshot_id, notes, now];
    super::execute(connection, "cannot close the operation", sql, values)?;
    feed::operation(connection, operation)
}

/// Returns the `seq` of the newest operation of a workspace, if there is one.
pub(crate) fn newest_operation(connection: &Connection, workspace_id: i64) -> Result<Option<i64>> {
    let sql = "SELECT max(seq) FROM operations WHERE workspace_id = ?1";
    let what = "cannot read the operations";
    read::value(connection, what, sql, [workspace_id])
}

/// Returns the operations of a workspace that a crash left open, oldest first.
pub(crate) fn open_operations(
    connection: &Connection,
    workspace_id: i64,
) -> Result<Vec<OperationRow>> {
    read::all_or(
        connection,
        "cannot read open operations",
        &format!(
            "SELECT {COLUMNS} FROM operations WHERE state = 'open' AND workspace_id = ?1 ORDER BY seq"
        ),
        [workspace_id],
        OperationRow::read,
    )
}

/// Returns whether an operation of a workspace is under way, or was left open by a crash. It reads nothing else, so
/// that a damaged row counts, too.
pub(crate) fn has_open_operation(connection: &Connection, workspace_id: i64) -> Result<bool> {
    let sql = "SELECT 1 FROM operations WHERE state = 'open' AND workspace_id = ?1";
    read::any(
        connection,
        "cannot read open operations",
        sql,
        [workspace_id],
    )
}

/// Returns an operation.
pub(crate) fn operation(connection: &Connection, id: &str) -> Result<OperationRow> {
    let sql = format!("SELECT {COLUMNS} FROM operations WHERE id = ?1");
    let what = "cannot read an operation";
    read::one(connection, what, &sql, [id], OperationRow::read)
}

/// Returns an operation's plan, in order, with the results that are known.
pub(crate) fn operation_items(connection: &Connection, operation: &str) -> Result<Vec<Item>> {
    let sql = "SELECT operation_id, position, path, path_raw, action, result, reason, expected_mode, expected_blob, target_mode,
                    target_blob, goal_mode, goal_blob, additions, deletions, reason_code, reason_by, reason_case
               FROM operation_files WHERE operation_id = ?1 ORDER BY position";
    read::all_or(
        connection,
        "cannot read an operation",
        sql,
        [operation],
        |row| {
            Ok(Item {
                path: super::path(row)?,
                expected: super::state(row, "expected_mode", "expected_blob")?,
                target: super::state(row, "target_mode", "target_blob")?,
                goal: super::state(row, "goal_mode", "goal_blob")?,
                action: word(row, WordTable::OperationFiles, "action")?,
                result: word(row, WordTable::OperationFiles, "result")?,
                reason: item_reason(row)?,
                lines: read::lines(row, "additions", "deletions")?,
            })
        },
    )
}

/// Returns the states that `restore` brought to the paths of a workspace since a moment, where no later operation moved them. An undo
/// is no restore: it may have brought an edit of the user's back. But the undo of that is the restore again. Nor is a
/// state that was once work outside every step. With them come the states that any operation brought without all that the
/// file had.
pub(crate) fn restored_states(
    connection: &Connection,
    workspace_id: i64,
    since: Milliseconds,
) -> Result<[BTreeMap<WorkspacePath, State>; 2]> {
    let sql = format!(
        "WITH RECURSIVE restores AS (
            SELECT id FROM operations WHERE workspace_id = ?1 AND kind = 'restore' AND undoes IS NULL
             UNION
            SELECT again.id FROM restores JOIN operations AS undo ON undo.undoes = restores.id
                                          JOIN operations AS again ON again.undoes = undo.id)
         SELECT path, path_raw, target_mode, target_blob,
                operations.id IN restores AND action <> 'merge'
                AND NOT EXISTS (SELECT 1 FROM changes
                                 WHERE changes.workspace_id = operations.workspace_id AND changes.path = operation_files.path
                                   AND changes.step_id IS NULL AND changes.new_blob = operation_files.target_blob) AS is_restored,
                reason_code IS 'not_kept' AS lacks_something
           FROM operations CROSS JOIN operation_files ON operation_files.operation_id = operations.id
          WHERE workspace_id = ?1 AND state = 'done' AND started_at >= ?2 AND {HAS_MOVED}
          ORDER BY seq"
    );
    let moves = read::all_or(
        connection,
        "cannot read what was restored",
        &sql,
        params![workspace_id, since],
        |row| {
            let state = super::state(row, "target_mode", "target_blob")?;
            let brought: [bool; 2] = [row.get("is_restored")?, row.get("lacks_something")?];
            Ok((super::path(row)?, brought.map(|is| is.then_some(state))))
        },
    )?;
    let newest: BTreeMap<WorkspacePath, [Option<State>; 2]> = moves.into_iter().collect();
    Ok([0, 1].map(|which| {
        let all = newest.iter();
        all.filter_map(|(path, states)| Some((path.clone(), states[which]?)))
            .collect()
    }))
}

/// Returns a session's closed moves of the revert point that name a snapshot as the state before the first of them,
/// oldest first, without their files. `revert::chain` knows which of them are still in force.
pub(crate) fn moves_since(
    connection: &Connection,
    session: &str,
    base_snapshot_id: i64,
) -> Result<Vec<ChainOperation>> {
    let sql = format!(
            "SELECT {COLUMNS}, seq,
                    EXISTS (SELECT 1 FROM operation_files
                             WHERE operation_id = operations.id AND result = 'failed') AS has_failed,
                    permanent
               FROM operations
              WHERE session_id = ?1 AND base_snapshot_id = ?2 AND kind <> 'restore' AND state = 'done' ORDER BY seq"
        );
    read::all_or(
        connection,
        "cannot read operations",
        &sql,
        params![session, base_snapshot_id],
        |row| {
            Ok(ChainOperation {
                row: OperationRow::read(row)?,
                items: Vec::new(),
                taken_back: BTreeSet::new(),
                has_failed: row.get("has_failed")?,
                is_permanent: row.get("permanent")?,
                seq: row.get("seq")?,
            })
        },
    )
}

/// Notes that a message came while operations were in force. A part that changed nothing has no other trace of it.
pub(crate) fn note_permanent(connection: &Connection, chain: &[ChainOperation]) -> Result<()> {
    let sql = "UPDATE operations SET permanent = 1 WHERE id = ?1";
    let what = "cannot note that a revert is permanent";
    chain
        .iter()
        .try_for_each(|operation| super::execute(connection, what, sql, [&operation.row.id]))
}

impl ChainOperation {
    /// Reads the files of an operation, and takes out those that are no longer in force.
    pub fn read_items(&mut self, connection: &Connection, session: &str) -> Result<()> {
        self.items = operation_items(connection, &self.row.id)?;
        if self.row.is_part() || !self.row.moves_point() {
            self.take_back(&restored_since(connection, session, self.seq)?);
        }
        Ok(())
    }

    /// Takes out the files that a restore has put back to their state before the operation. Nothing else undoes one that
    /// leaves the point where it is. If a later restore did again what the part had done, as the undo of an undo does, they stay in force.
    fn take_back(&mut self, restored: &BTreeMap<WorkspacePath, Vec<State>>) {
        self.taken_back = self
            .items
            .extract_if(.., |item| is_put_back(item, restored))
            .map(|item| item.path)
            .collect();
    }

    /// Returns whether restores put back every file that it wrote or removed. The files that it did not touch do not
    /// count.
    pub fn is_taken_back(&self) -> bool {
        !self.taken_back.is_empty() && !self.items.iter().any(Item::has_moved)
    }
}

/// Returns whether the newest restore that gave a file either state of an item gave it the one before the item.
fn is_put_back(item: &Item, restored: &BTreeMap<WorkspacePath, Vec<State>>) -> bool {
    let states = restored.get(&item.path).into_iter().flatten();
    let newest = states
        .rev()
        .find(|state| **state == item.expected || **state == item.target);
    item.has_moved() && newest.is_some_and(|state| *state == item.expected)
}

/// Returns the writes of restores after an operation of a session, oldest first.
fn restored_since(
    connection: &Connection,
    session: &str,
    seq: i64,
) -> Result<BTreeMap<WorkspacePath, Vec<State>>> {
    let sql = "SELECT path, path_raw, target_mode, target_blob
                 FROM operations JOIN operation_files ON operation_files.operation_id = operations.id
                WHERE operations.workspace_id = (SELECT workspace_id FROM sessions WHERE id = ?1) AND operations.seq > ?2
                  AND operations.kind = 'restore' AND operations.state = 'done' AND operation_files.result = 'done'
                ORDER BY operations.seq";
    let what = "cannot read what was restored";
    let states = read::all_or(connection, what, sql, params![session, seq], |row| {
        let state = super::state(row, "target_mode", "target_blob")?;
        Ok((super::path(row)?, state))
    })?;
    let mut restored = BTreeMap::<_, Vec<State>>::new();
    for (path, state) in states {
        restored.entry(path).or_default().push(state);
    }
    Ok(restored)
}

#[cfg(test)]
mod tests {
    use ckpt_schema::Word;
    use ckpt_schema::report::FileAction;

    use super::*;

    /// The condition in SQL holds for the items that have moved and for no other.
    #[test]
    fn sql_condition_finds_the_moved_items() {
        let connection = Connection::open_in_memory().expect("a database in memory");
        let sql = format!("SELECT {HAS_MOVED} FROM (SELECT ?1 AS result, ?2 AS action)");
        for (result, action) in FileResult::ALL
            .iter()
            .flat_map(|result| FileAction::ALL.iter().map(move |action| (*result, *action)))
        {
            let item = Item {
                path: WorkspacePath::new("a").expect("legal"),
                expected: None,
                target: None,
                goal: None,
                action,
                result,
                reason: None,
                lines: None,
            };
            let in_sql: bool = connection
                .query_row(&sql, [result.name(), action.name()], |row| row.get(0))
                .expect("a condition");
            assert_eq!(in_sql, item.has_moved(), "{result:?}, {action:?}");
        }
    }
}
