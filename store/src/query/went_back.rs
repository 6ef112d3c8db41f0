//! What a session's agent does not know yet: the files that the user put back since its last message.
//!
//! Nothing remembers that it was told. The message that it is told with makes the reverts permanent, and is the last message
//! for the next question; so it is told once.

use std::collections::BTreeMap;

use ckpt_schema::report::{FileAction, FileReport, FileResult, PathText};
use rusqlite::{Connection, params};

use super::rows::{all, operation_file};
use super::status::reverted_files;
use crate::error::Result;
use crate::sessions::SessionRow;

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
