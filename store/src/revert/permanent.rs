//! A new message makes a pending revert permanent: what was undone is never undone again.
//!
//! What a revert could not put back, because of an error or a conflict, was not undone: its changes stay those of the agent,
//! though their message is discarded, and a later revert takes them up.

use std::collections::BTreeMap;

use ckpt_schema::report::FileResult;
use rusqlite::Connection;

use super::chain::chain;
use super::movement::parts_of_chain;
use crate::error::Result;
use crate::model::path::WorkspacePath;
use crate::sessions::{self, ChainOperation, SessionRow};

/// Discards the hidden messages of a session and marks what was undone. The operations stay: what they put aside can be
/// restored from them.
pub(crate) fn make_permanent(connection: &Connection, session: &SessionRow) -> Result<()> {
    let Some(base) = session.revert_base_id else {
        return Ok(());
    };
    let chain = chain(connection, &session.id, base)?;
    if let Some(newest) = chain.last() {
        sessions::mark_undone(
            connection,
            &undone(connection, session, &chain)?,
            &newest.row.id,
        )?;
    }
    sessions::discard_hidden_messages(connection, &session.id)?;
    sessions::set_revert_point(connection, &session.id, None, None)
}

/// Returns the changes that are undone: of the messages behind the point, and what a revert before had left of discarded ones;
/// and those that parts are about. What was seen only after an operation, the agent did while reverted.
fn undone(
    connection: &Connection,
    session: &SessionRow,
    chain: &[ChainOperation],
) -> Result<Vec<i64>> {
    let went_back = went_back(chain);
    let is_back = |path: &WorkspacePath, seen_in: Option<i64>| {
        went_back.get(path).is_some_and(|before| {
            before.is_some_and(|before| seen_in.is_none_or(|seen| seen <= before))
        })
    };
    let reverted = sessions::reverted_changes(connection, &session.id)?;
    let mut ids: Vec<i64> = reverted
        .into_iter()
        .filter(|change| is_back(&change.path, change.seen_in))
        .map(|change| change.id)
        .collect();
    let parts = parts_of_chain(connection, chain)?;
    if !parts.is_empty() {
        let live = sessions::live_changes(connection, &session.id, 0)?;
        let of_parts = live.iter().filter(|change| {
            is_back(&change.row.change.path, change.row.to_snapshot_id)
                && parts.iter().any(|part| part.covers(change))
        });
        ids.extend(of_parts.map(|change| change.row.id));
    }
    Ok(ids)
}

/// Returns, for each path that a chain was about, the snapshot before the operation that moved it last; none where it did not
/// go where it should.
fn went_back(chain: &[ChainOperation]) -> BTreeMap<&WorkspacePath, Option<i64>> {
    let mut went_back = BTreeMap::new();
    for operation in chain {
        for item in &operation.items {
            let is_whole = item.result == FileResult::Done && item.reason.is_none();
            went_back.insert(
                &item.path,
                operation.row.before_snapshot_id.filter(|_| is_whole),
            );
        }
    }
    went_back
}
