//! A new message makes a pending revert permanent: what was undone is never undone again.

use ckpt_schema::report::FileResult;
use rusqlite::Connection;

use super::movement::parts_of_chain;
use crate::error::Result;
use crate::sessions::{self, SessionRow};

/// Discards the hidden messages of a session and marks what parts of reverts undid. The operations stay: what they put aside
/// can be restored from them.
pub(crate) fn make_permanent(connection: &Connection, session: &SessionRow) -> Result<()> {
    let Some(base) = session.revert_base_id else { return Ok(()) };
    let chain = sessions::chain(connection, &session.id, base)?;
    sessions::discard_hidden_messages(connection, &session.id)?;
    let parts = parts_of_chain(connection, &chain)?;
    if let (Some(newest), false) = (chain.last(), parts.is_empty()) {
        let undone = chain.iter().flat_map(|operation| &operation.items).filter(|item| item.result == FileResult::Done);
        let undone: std::collections::BTreeSet<_> = undone.map(|item| &item.path).collect();
        let live = sessions::live_changes(connection, &session.id, 0)?;
        let ids: Vec<i64> = live
            .iter()
            .filter(|change| undone.contains(&change.row.change.path) && parts.iter().any(|part| part.covers(change)))
            .map(|change| change.row.id)
            .collect();
        sessions::mark_undone(connection, &ids, &newest.row.id)?;
    }
    sessions::set_revert_point(connection, &session.id, None, None)
}
