//! After a crash: the next command, or hook, finishes what was written down.

use super::apply::Root;
use crate::Store;
use crate::error::Result;
use crate::record::Place;
use crate::sessions;

/// Comes before everything else that a command of the user does: where the revert point is, is known only after it. A dry run
/// only says that there is something to finish. Returns what to tell the user. The caller holds the workspace's lock.
pub(crate) fn recover(store: &mut Store, place: &Place, dry_run: bool) -> Result<Vec<String>> {
    if !dry_run {
        return finish_open_operations(store, place);
    }
    let open = sessions::open_operations(store.database.connection(), place.row.id)?;
    let note = |row: &sessions::OperationRow| {
        format!("the {} `{}` was interrupted, and is finished first", row.kind.name(), super::short(&row.id))
    };
    Ok(open.iter().map(note).collect())
}

/// Finishes the operations that a crash left open in a workspace, whose lock the caller holds, and says which. A file that was
/// edited in the meantime is a conflict of its operation, and stays.
pub(crate) fn finish_open_operations(store: &mut Store, place: &Place) -> Result<Vec<String>> {
    let open = sessions::open_operations(store.database.connection(), place.row.id)?;
    let mut notes = Vec::new();
    for row in open {
        let snapshots = place.snapshots()?;
        let root = Root::open(&place.root, place.device()?, place.row.inode)?;
        let (items, git) = super::journal::finish(store, place, &snapshots, &root, &row.id)?;
        let also = if git.is_empty() { "" } else { ", and git's state" };
        notes.push(format!(
            "finished the {} `{}` that was interrupted ({} files{also})",
            row.kind.name(),
            super::short(&row.id),
            items.len()
        ));
    }
    Ok(notes)
}
