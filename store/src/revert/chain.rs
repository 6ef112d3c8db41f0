//! What a session's agent does not know yet: the files that the user put back since its last message.
//!
//! Nothing remembers that it was told. The message that it is told with makes the reverts permanent, and is the last message
//! for the next question; so it is told once.

use std::collections::BTreeMap;

use ckpt_schema::report::{FileAction, FileReport, FileResult, PathText};
use rusqlite::{Connection, Row, params};

use crate::error::Result;
use crate::sessions::SessionRow;
use crate::sessions::read::{all, operation_file};

/// Returns what a session's pending reverts, and restores since its last message, did to files, by path.
pub(crate) fn went_back(
    connection: &Connection,
    workspace_id: i64,
    session: &SessionRow,
) -> Result<Vec<FileReport>> {
    let mut files = match session.revert_base_id {
        Some(base_id) => reverted_files(connection, &session.id, base_id)?,
        None => Vec::new(),
    };
    files.extend(restored_files(connection, workspace_id, &session.id)?);
    let changed = files
        .into_iter()
        .filter(|file| file.result == FileResult::Done && changes(file.action));
    let by_path: BTreeMap<PathText, FileReport> =
        changed.map(|file| (file.path.clone(), file)).collect();
    Ok(by_path.into_values().collect())
}

fn changes(action: FileAction) -> bool {
    match action {
        FileAction::Write | FileAction::Delete | FileAction::Merge => true,
        FileAction::Keep | FileAction::None => false,
    }
}

/// A session without a message has nothing to be wrong about.
fn restored_files(
    connection: &Connection,
    workspace_id: i64,
    session_id: &str,
) -> Result<Vec<FileReport>> {
    let sql = "
        SELECT operation_files.*
          FROM operations JOIN operation_files ON operation_id = operations.id
         WHERE workspace_id = ?1 AND kind = 'restore' AND state = 'done'
           AND started_at > (SELECT max(created_at) FROM messages WHERE session_id = ?2)
         ORDER BY seq, position";
    all(
        connection,
        sql,
        params![workspace_id, session_id],
        operation_file,
    )
}

/// A mode and a blob, as they are stored.
type Stored = (Option<String>, Option<String>);

/// A path of one operation of the chain, oldest first.
struct ChainFile {
    report: FileReport,
    expected: Stored,
    goal: Stored,
}

/// What became of a path in the chain so far.
struct Reverted {
    /// What stood there before the chain first looked at it.
    base: Stored,
    /// The newest row that did, or could not do, something.
    shown: Option<FileReport>,
}

/// Returns what the chain of reverts that began at a snapshot did to each file, by path.
pub(crate) fn reverted_files(
    connection: &Connection,
    session_id: &str,
    base_id: i64,
) -> Result<Vec<FileReport>> {
    // A chain that ended in an unrevert may have begun at the same snapshot.
    let sql = "
        SELECT operation_files.*
          FROM operations JOIN operation_files ON operation_id = operations.id
         WHERE session_id = ?1 AND base_snapshot_id = ?2 AND state = 'done' AND kind <> 'restore'
           AND seq > (SELECT ifnull(max(ended.seq), 0) FROM operations AS ended
                       WHERE ended.session_id = ?1 AND ended.state = 'done' AND ended.message_id IS NULL
                         AND ended.kind IN ('redo', 'unrevert')
                         AND NOT EXISTS (SELECT 1 FROM operation_files AS file
                                          WHERE file.operation_id = ended.id AND file.result = 'failed'))
         ORDER BY seq, position";
    let rows = all(
        connection,
        sql,
        params![session_id, base_id],
        read_chain_file,
    )?;
    let mut paths: BTreeMap<PathText, Reverted> = BTreeMap::new();
    for row in rows {
        let base = row.expected.clone();
        paths
            .entry(row.report.path.clone())
            .or_insert(Reverted { base, shown: None })
            .take(row);
    }
    Ok(paths.into_values().filter_map(|path| path.shown).collect())
}

impl Reverted {
    /// The newest row wins; a path that is what it was before the chain again is no longer reverted.
    fn take(&mut self, row: ChainFile) {
        let is_settled =
            row.report.action == FileAction::None || row.report.result == FileResult::Done;
        if is_settled && row.goal == self.base {
            self.shown = None;
        } else if row.report.action != FileAction::None {
            self.shown = Some(row.report);
        }
    }
}

fn read_chain_file(row: &Row<'_>) -> rusqlite::Result<ChainFile> {
    Ok(ChainFile {
        report: operation_file(row)?,
        expected: (row.get("expected_mode")?, row.get("expected_blob")?),
        goal: (row.get("goal_mode")?, row.get("goal_blob")?),
    })
}
