//! A new message makes a pending revert permanent: what was undone is never undone again.
//!
//! What a revert could not put back, because of an error or a conflict, was not undone: its changes stay those of the agent,
//! though their message is discarded, and a later revert takes them up.

use std::collections::BTreeMap;

use ckpt_schema::report::FileResult;
use rusqlite::Connection;

use super::movement::parts_of_chain;
use crate::error::Result;
use crate::path::WorkspacePath;
use crate::sessions::{self, ChainOperation, SessionRow};

/// Discards the hidden messages of a session and marks what was undone. The operations stay: what they put aside can be
/// restored from them.
pub(crate) fn make_permanent(connection: &Connection, session: &SessionRow) -> Result<()> {
    let Some(base) = session.revert_base_id else { return Ok(()) };
    let chain = sessions::chain(connection, &session.id, base)?;
    if let Some(newest) = chain.last() {
        sessions::mark_undone(connection, &undone(connection, session, &chain)?, &newest.row.id)?;
    }
    sessions::discard_hidden_messages(connection, &session.id)?;
    sessions::set_revert_point(connection, &session.id, None, None)
}

/// Returns the changes that are undone: those of the messages behind the point, those that a revert before had left, and those
/// that parts are about.
fn undone(connection: &Connection, session: &SessionRow, chain: &[ChainOperation]) -> Result<Vec<i64>> {
    let results = results(chain);
    let result = |path: &WorkspacePath| results.get(path).copied();
    let hidden = sessions::changes_in(connection, &session.id, "hidden")?;
    let left_before = sessions::changes_in(connection, &session.id, "discarded")?;
    let mut ids: Vec<i64> =
        hidden.into_iter().filter(|(_, path)| result(path) != Some(false)).map(|(id, _)| id).collect();
    ids.extend(left_before.into_iter().filter(|(_, path)| result(path) == Some(true)).map(|(id, _)| id));
    let parts = parts_of_chain(connection, chain)?;
    if !parts.is_empty() {
        let live = sessions::live_changes(connection, &session.id, 0)?;
        let of_parts = live.iter().filter(|change| {
            result(&change.row.change.path) == Some(true) && parts.iter().any(|part| part.covers(change))
        });
        ids.extend(of_parts.map(|change| change.row.id));
    }
    Ok(ids)
}

/// Returns, for each path that a chain was about, whether it went where it should at last.
fn results(chain: &[ChainOperation]) -> BTreeMap<&WorkspacePath, bool> {
    let items = chain.iter().flat_map(|operation| &operation.items);
    items.map(|item| (&item.path, item.result == FileResult::Done && item.reason.is_none())).collect()
}
