//! Deletes the rows of what is forgotten.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, Row, params};

use super::note_forgotten;
use super::read::{all, count, one, row};
use crate::error::{Context, Result};
use crate::model::entry::ObjectId;
use crate::model::gap::{RewrittenState, StateIds};

const WHAT: &str = "cannot forget rows";

/// Returns whether a blob at a path is forgotten.
pub(crate) type IsBlobForgotten<'a> = dyn Fn(&[u8], ObjectId) -> bool + 'a;

/// What belongs to a session or a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Belongings {
    pub messages: Vec<String>,
    /// The agents' ids of the sessions that are forgotten as a whole.
    pub agent_ids: Vec<String>,
    /// The blobs that its steps wrote, and their paths.
    pub written: HashSet<(Vec<u8>, ObjectId)>,
}

/// Returns the trees and seen entries of a workspace's snapshots that were not pruned, those with the same seen entries
/// one after the other.
pub(crate) fn states(connection: &Connection, workspace_id: i64) -> Result<Vec<StateIds>> {
    let sql = "SELECT tree, seen_blob FROM snapshots WHERE workspace_id = ?1 AND pruned_at IS NULL
                GROUP BY seen_blob, tree ORDER BY seen_blob, max(id) DESC";
    all(connection, sql, [workspace_id], |row| row.try_into())
}

/// Returns the belongings of a session and its sub-agents.
pub(crate) fn belongings_of_session(connection: &Connection, id: &str) -> Result<Belongings> {
    let sql = "WITH RECURSIVE own (id) AS (VALUES (?1) UNION SELECT sessions.id FROM sessions JOIN own ON parent_id = own.id)
               SELECT id FROM own";
    let ids: Vec<String> = all(connection, sql, [id], |row| row.get(0))?;
    let mut found = Belongings::default();
    let mut steps = HashSet::new();
    for id in ids {
        let of_it = |sql: &str| all(connection, sql, [&id], |row| row.get::<_, String>(0));
        found
            .messages
            .extend(of_it("SELECT id FROM messages WHERE session_id = ?1")?);
        found
            .agent_ids
            .extend(of_it("SELECT agent_id FROM sessions WHERE id = ?1")?);
        steps.extend(of_it("SELECT id FROM steps WHERE session_id = ?1")?);
    }
    found.written = written(connection, &steps)?;
    Ok(found)
}

/// Returns the belongings of a message.
pub(crate) fn belongings_of_message(connection: &Connection, id: &str) -> Result<Belongings> {
    let sql = "SELECT id FROM steps WHERE message_id = ?1";
    let steps = all(connection, sql, [id], |row| row.get(0))?;
    Ok(Belongings {
        messages: vec![id.to_owned()],
        agent_ids: Vec::new(),
        written: written(connection, &steps.into_iter().collect())?,
    })
}

/// Returns the blobs that steps were the first to write at a path.
fn written(
    connection: &Connection,
    steps: &HashSet<String>,
) -> Result<HashSet<(Vec<u8>, ObjectId)>> {
    row! {
        struct Change {
            step_id: Option<String>,
            path: Vec<u8>,
            old_blob: Option<ObjectId>,
            new_blob: Option<ObjectId>,
        }
    }
    let sql = "SELECT step_id, CAST(ifnull(path_raw, path) AS BLOB) AS path, old_blob, new_blob FROM changes
                WHERE workspace_id IN (SELECT workspace_id FROM changes
                                        WHERE step_id IN (SELECT value FROM json_each(?1)))
                ORDER BY id";
    let ids: Vec<&String> = steps.iter().collect();
    let ids = serde_json::to_string(&ids).unwrap_or_default();
    let mut of_others = HashSet::new();
    let mut written = HashSet::new();
    for change in all(connection, sql, [ids], Change::read)? {
        let is_own = change.step_id.is_some_and(|step| steps.contains(&step));
        if let Some(old) = change.old_blob {
            let old = (change.path.clone(), old);
            // What was there before is not the step's own: forgetting its message must not take it from those who had
            // it.
            if !written.contains(&old) {
                of_others.insert(old);
            }
        }
        if let Some(new) = change.new_blob {
            let new = (change.path, new);
            if !is_own && !written.contains(&new) {
                of_others.insert(new);
            } else if is_own && !of_others.contains(&new) {
                written.insert(new);
            }
        }
    }
    Ok(written)
}

/// Replaces a tree and seen entries by those without what is forgotten, of which reports list so many. Returns the
/// number of the snapshots that had them.
pub(crate) fn replace_state(
    connection: &Connection,
    workspace_id: i64,
    RewrittenState { old, new, gaps }: &RewrittenState,
) -> Result<u64> {
    let sql = "UPDATE snapshots SET tree = ?4, seen_blob = ?5, gaps = ?6, forgotten = 1, stored_bytes = NULL
                WHERE workspace_id = ?1 AND tree = ?2 AND seen_blob IS ?3 AND pruned_at IS NULL";
    let values = params![workspace_id, old.0, old.1, new.0, new.1, gaps.cast_signed()];
    super::execute(connection, WHAT, sql, values)?;
    Ok(connection.changes())
}

/// Returns the rules of a workspace's snapshots that were not pruned.
pub(crate) fn rules(connection: &Connection, workspace_id: i64) -> Result<Vec<ObjectId>> {
    let sql = "SELECT DISTINCT rules_blob FROM snapshots
                WHERE workspace_id = ?1 AND pruned_at IS NULL AND rules_blob IS NOT NULL";
    all(connection, sql, [workspace_id], |row| row.get(0))
}

/// Replaces rules by others.
pub(crate) fn replace_rules(
    connection: &Connection,
    workspace_id: i64,
    old: ObjectId,
    new: ObjectId,
) -> Result<()> {
    let sql = "UPDATE snapshots SET rules_blob = ?3, stored_bytes = NULL WHERE workspace_id = ?1 AND rules_blob = ?2";
    super::execute(connection, WHAT, sql, params![workspace_id, old, new])
}

/// A column of blobs.
struct Column {
    table: &'static str,
    of_workspace: &'static str,
    blob: &'static str,
}

const OF_OPERATIONS: &str = "operation_id IN (SELECT id FROM operations WHERE workspace_id = ?1)";

const COLUMNS: [Column; 6] = [
    Column {
        table: "changes",
        of_workspace: "workspace_id = ?1",
        blob: "old_blob",
    },
    Column {
        table: "changes",
        of_workspace: "workspace_id = ?1",
        blob: "new_blob",
    },
    Column {
        table: "operation_files",
        of_workspace: OF_OPERATIONS,
        blob: "expected_blob",
    },
    Column {
        table: "operation_files",
        of_workspace: OF_OPERATIONS,
        blob: "target_blob",
    },
    Column {
        table: "operation_files",
        of_workspace: OF_OPERATIONS,
        blob: "goal_blob",
    },
    Column {
        table: "step_paths",
        of_workspace: "step_id IN (SELECT steps.id FROM steps JOIN sessions ON sessions.id = session_id WHERE workspace_id = ?1)",
        blob: "blob",
    },
];

/// What becomes of the rows that name something forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamingRows {
    /// They stay as they are.
    Stay,
    /// They no longer name it: something was there, but its bytes are not stored.
    Emptied,
}

/// Returns the forgotten blobs that rows of a workspace name, by path.
pub(crate) fn blobs(
    connection: &Connection,
    workspace_id: i64,
    is_forgotten: &IsBlobForgotten<'_>,
    rows: NamingRows,
) -> Result<HashMap<Vec<u8>, HashSet<ObjectId>>> {
    let mut found: HashMap<Vec<u8>, HashSet<ObjectId>> = HashMap::new();
    for Column {
        table,
        of_workspace,
        blob,
    } in COLUMNS
    {
        let sql = format!(
            "SELECT CAST(ifnull(path_raw, path) AS BLOB) AS at, {blob} AS blob FROM {table}
              WHERE {of_workspace} AND {blob} IS NOT NULL GROUP BY 1, 2"
        );
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let named: Vec<(Vec<u8>, ObjectId)> = all(connection, &sql, [workspace_id], read)?;
        for (path, id) in named {
            // That id stands for a directory, and says nothing about contents.
            if id == ObjectId::EMPTY_TREE || !is_forgotten(&path, id) {
                continue;
            }
            if rows == NamingRows::Emptied {
                let sql = format!(
                    "UPDATE {table} SET {blob} = NULL WHERE {of_workspace} AND {blob} = ?2
                        AND path = ?3 AND CAST(ifnull(path_raw, path) AS BLOB) = ?4"
                );
                // The text is asked for as well because it has an index; the bytes alone would be compared in every
                // row.
                let text = String::from_utf8_lossy(&path);
                super::execute(
                    connection,
                    WHAT,
                    &sql,
                    params![workspace_id, id, text, path],
                )?;
            }
            found.entry(path).or_default().insert(id);
        }
    }
    if rows == NamingRows::Emptied && !found.is_empty() {
        super::totals::outdate_all(connection)?;
    }
    Ok(found)
}

/// Forgets the prompts, command lines and labels of messages, and the diagnostics of their sessions. Returns the number
/// of prompts.
pub(crate) fn prompts(connection: &Connection, of: &Belongings) -> Result<u64> {
    let mut forgotten = 0;
    for id in &of.messages {
        note_forgotten(connection, None, Some(id))?;
        names_in_git(connection, id)?;
        let sql = "UPDATE messages SET prompt = NULL WHERE id = ?1 AND prompt IS NOT NULL";
        forgotten += super::changed(connection, WHAT, sql, [id])? as u64;
        let sql = "UPDATE tools SET command = NULL WHERE command IS NOT NULL AND step_id IN (SELECT id FROM steps WHERE message_id = ?1)";
        super::execute(connection, WHAT, sql, [id])?;
        let sql = "DELETE FROM labels WHERE message_id = ?1";
        super::execute(connection, WHAT, sql, [id])?;
    }
    for id in &of.agent_ids {
        let sql = "DELETE FROM diagnostics WHERE session = ?1";
        super::execute(connection, WHAT, sql, [id])?;
    }
    Ok(forgotten)
}

/// Forgets the prompts of a workspace's messages in other roots, which have parts of them.
pub(crate) fn prompts_in_other_roots(connection: &Connection, workspace_id: i64) -> Result<()> {
    let sql = "WITH own (id) AS
                 (SELECT ifnull(messages.part_of, messages.id) FROM messages JOIN sessions ON sessions.id = session_id
                   WHERE workspace_id = ?1 AND (messages.part_of IS NOT NULL OR has_parts))
               SELECT messages.id FROM messages JOIN sessions ON sessions.id = session_id
                WHERE workspace_id <> ?1
                  AND (messages.id IN (SELECT id FROM own) OR messages.part_of IN (SELECT id FROM own))";
    let messages = all(connection, sql, [workspace_id], |row| row.get(0))?;
    let parts = Belongings {
        messages,
        ..Belongings::default()
    };
    prompts(connection, &parts).map(drop)
}

/// Forgets what is told of git since a message: notes of operations quote subjects of commits, and names of branches and
/// tags. A branch that was first seen while its steps worked is no longer named by what was seen.
fn names_in_git(connection: &Connection, message: &str) -> Result<()> {
    let run = |sql: &str| super::execute(connection, WHAT, sql, [message]);
    run("UPDATE operations SET notes = '[]'
          WHERE notes <> '[]' AND EXISTS
            (SELECT 1 FROM messages JOIN sessions ON sessions.id = session_id
              WHERE messages.id = ?1 AND sessions.workspace_id = operations.workspace_id
                AND (started_at >= created_at OR before_snapshot_id >= messages.snapshot_id))")?;
    let branches = "WITH span (workspace, first, last) AS
           (SELECT workspace_id, min(start_snapshot_id), max(ifnull(finish_snapshot_id, start_snapshot_id))
              FROM steps JOIN sessions ON sessions.id = session_id WHERE message_id = ?1),
         seen (branch, snapshot) AS
           (SELECT branch, snapshots.id FROM span JOIN snapshots ON snapshots.workspace_id = workspace
              JOIN git_states ON git_states.id = git_state_id WHERE branch IS NOT NULL),
         theirs (branch) AS
           (SELECT branch FROM seen, span WHERE snapshot > first AND snapshot <= last
            EXCEPT SELECT branch FROM seen, span WHERE snapshot <= first)";
    let of_it = "workspace_id = (SELECT workspace FROM span)";
    run(&format!(
        "{branches} DELETE FROM operation_git
          WHERE operation_id IN (SELECT id FROM operations WHERE {of_it})
            AND EXISTS (SELECT 1 FROM theirs WHERE instr(name || ' ' || ifnull(expected, '') || ' ' || ifnull(target, ''), branch) > 0)"
    ))?;
    run(&format!(
        "{branches} UPDATE git_states SET branch = NULL WHERE {of_it} AND branch IN (SELECT branch FROM theirs)"
    ))?;
    Ok(())
}

/// Forgets command lines that quote one of these paths, or that ran in a step that changed one: they may contain what
/// they wrote.
pub(crate) fn commands_about(connection: &Connection, paths: &[String]) -> Result<()> {
    let sql = "UPDATE tools SET command = NULL
                WHERE command IS NOT NULL
                  AND (instr(command, ?1) > 0 OR EXISTS (SELECT 1 FROM changes WHERE step_id = tools.step_id AND path = ?1))";
    for path in paths {
        super::execute(connection, WHAT, sql, [path])?;
    }
    Ok(())
}

/// Forgets diagnostics that quote one of these paths.
pub(crate) fn diagnostics_about(connection: &Connection, paths: &[String]) -> Result<()> {
    let sql = "SELECT id, message || ' ' || ifnull(detail, '') FROM diagnostics";
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let rows: Vec<(i64, String)> = all(connection, sql, [], read)?;
    for (id, text) in rows {
        if paths.iter().any(|path| text.contains(path.as_str())) {
            let sql = "DELETE FROM diagnostics WHERE id = ?1";
            super::execute(connection, WHAT, sql, [id])?;
        }
    }
    Ok(())
}

/// Deletes what does not belong to a workspace, once no workspace is left.
pub(crate) fn rest(connection: &Connection) -> Result<()> {
    for table in ["diagnostics", "hook_runs"] {
        super::execute(connection, WHAT, &format!("DELETE FROM {table}"), [])?;
    }
    Ok(())
}

/// Returns the seen entries of a workspace's snapshots among which are forgotten paths.
pub(crate) fn seen_with_forgotten(
    connection: &Connection,
    workspace_id: i64,
) -> Result<Vec<ObjectId>> {
    let sql = "SELECT DISTINCT seen_blob FROM snapshots
                WHERE workspace_id = ?1 AND forgotten <> 0 AND pruned_at IS NULL AND seen_blob IS NOT NULL";
    all(connection, sql, [workspace_id], |row| row.get(0))
}

/// Returns the numbers of snapshots and prompts of a workspace.
pub(crate) fn numbers(connection: &Connection, workspace_id: i64) -> Result<(u64, u64)> {
    let sql = "SELECT (SELECT count(*) FROM snapshots WHERE workspace_id = ?1),
                    (SELECT count(prompt) FROM messages JOIN sessions ON sessions.id = session_id WHERE workspace_id = ?1)";
    let what = "cannot count what is to be forgotten";
    one(connection, what, sql, [workspace_id], |row| {
        Ok((count(row, 0)?, count(row, 1)?))
    })
}

/// Returns the number of snapshots of a workspace with one of these trees and seen entries.
pub(crate) fn snapshots_with(
    connection: &Connection,
    workspace_id: i64,
    states: impl Iterator<Item = StateIds>,
) -> Result<u64> {
    let states: HashSet<StateIds> = states.collect();
    let sql = "SELECT tree, seen_blob FROM snapshots WHERE workspace_id = ?1 AND pruned_at IS NULL";
    let all: Vec<StateIds> = all(connection, sql, [workspace_id], |row| row.try_into())?;
    Ok(all.iter().filter(|state| states.contains(state)).count() as u64)
}

/// Returns the number of these messages that have a prompt.
pub(crate) fn prompts_of(connection: &Connection, messages: &[String]) -> Result<u64> {
    let mut prompts = 0;
    for id in messages {
        let sql = "SELECT count(prompt) FROM messages WHERE id = ?1";
        let has = connection.query_row(sql, [id], |row| count(row, 0));
        prompts += has.context(|| "cannot count prompts")?;
    }
    Ok(prompts)
}
