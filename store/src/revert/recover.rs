//! After a crash, or after files that could not be written: the next command, or hook, finishes what was written down.

use std::time::Duration;

use ckpt_schema::report::FileResult;

use super::apply::Root;
use super::journal::{Finished, Try, finish};
use crate::error::Result;
use crate::model::entry::ObjectId;
use crate::model::item::Item;
use crate::model::path::WorkspacePath;
use crate::sessions;
use crate::snapshot::Snapshots;
use crate::store::Store;
use crate::timeline::Place;

/// What a command finds and does before anything else.
pub(crate) struct Recovered {
    /// What to tell the user.
    pub warnings: Vec<String>,
    /// What of it changed the workspace, and stays so whatever fails afterwards.
    pub done: Vec<String>,
}

/// Comes before everything else that a command of the user does: where the revert point is, is known only after it. A dry run
/// only says that there is something to finish. The caller holds the workspace's lock.
pub(crate) fn recover(store: &mut Store, place: &Place, dry_run: bool) -> Result<Recovered> {
    // A disk that is full is no reason not to remove what fills it: the objects are checked before anything is touched.
    let mut warnings = crate::upkeep::settle::under_lock(store, place).unwrap_or_else(|error| {
        vec![format!(
            "what the store borrowed of the repository could not be copied: {error}"
        )]
    });
    if !dry_run {
        let done = finish_open_operations(store, place)?;
        warnings.extend(done.iter().cloned());
        return Ok(Recovered { warnings, done });
    }
    let open = sessions::open_operations(store.database.connection(), place.row.id)?;
    let note = |row: &sessions::OperationRow| {
        format!(
            "the {} `{}` is not done yet, and is finished first",
            row.kind.name(),
            super::short(&row.id)
        )
    };
    warnings.extend(open.iter().map(note));
    Ok(Recovered {
        warnings,
        done: Vec::new(),
    })
}

/// Returns whether an operation is under way, or was interrupted.
pub(crate) fn is_open(store: &Store, place: &Place) -> Result<bool> {
    store
        .database
        .read(|connection| sessions::has_open_operation(connection, place.row.id))
}

/// Returns a sentence on each operation that is open: what left it so, which locks of git are its own, and what to do.
pub(crate) fn interrupted(store: &Store, place: &Place) -> Result<Vec<String>> {
    let open = sessions::open_operations(store.database.connection(), place.row.id)?;
    if open.is_empty() {
        return Ok(Vec::new());
    }
    // Whoever carries one out holds the lock.
    let is_under_way = place.lock(Duration::ZERO).is_err();
    let sentence = |row: &sessions::OperationRow| {
        let name = format!("the {} `{}`", row.kind.name(), super::short(&row.id));
        if is_under_way {
            return Ok(format!("{name} is under way"));
        }
        let locks = super::git::own_locks(store, place, &row.id)?;
        let locks = match locks.len() {
            0 => String::new(),
            1 => format!(", and {} is its lock", locks[0]),
            _ => format!(", and {} are its locks", locks.join(" and ")),
        };
        Ok(format!(
            "{name} was interrupted, or could not write all files{locks}: `ckpt-hook snapshot` finishes it, as does the next command or message"
        ))
    };
    open.iter().map(sentence).collect()
}

/// Finishes the operations that are open in a workspace, whose lock the caller holds, and says which. A file that was edited in
/// the meantime is a conflict of its operation, and stays; one that cannot be written now either stays, and the operation is
/// closed.
pub(crate) fn finish_open_operations(store: &mut Store, place: &Place) -> Result<Vec<String>> {
    let open = sessions::open_operations(store.database.connection(), place.row.id)?;
    let mut warnings = Vec::new();
    for row in open {
        let snapshots = place.snapshots()?;
        let root = Root::open(&place.root, place.device()?, place.row.inode)?;
        let name = format!("the {} `{}`", row.kind.name(), super::short(&row.id));
        keep_what_goes(store, place, &snapshots, &row.id)?;
        let Finished {
            items,
            git,
            unfinished,
            ..
        } = finish(
            store,
            place,
            &snapshots,
            &root,
            &row.id,
            Try::Again,
            &|_, _, _| Ok(None),
        )
        .map_err(|error| error.after(warnings.clone()))?;
        if let Some(error) = unfinished {
            warnings.push(format!(
                "{name} was resumed, and is still open: the next command or message finishes it"
            ));
            return Err(error.after(warnings));
        }
        let also = if git.is_empty() {
            ""
        } else {
            ", and git's state"
        };
        warnings.push(format!(
            "finished {name} that was not done yet ({} files{also}{})",
            items.len(),
            failed(&items)
        ));
    }
    Ok(warnings)
}

/// Before anything more is removed or replaced: the bytes that lead back were known to be good when the operation began, and that may
/// be long ago. What is damaged since is stored anew from where it stands still; what cannot be read there either is left alone.
fn keep_what_goes(
    store: &mut Store,
    place: &Place,
    snapshots: &Snapshots,
    operation: &str,
) -> Result<()> {
    let mut items = sessions::operation_items(store.database.connection(), operation)?;
    let is_going = |item: &Item| item.result == FileResult::Planned;
    let blob = |item: &Item| item.expected.and_then(|entry| entry.blob);
    let mut blobs: Vec<ObjectId> = items
        .iter()
        .filter(|item| is_going(item))
        .filter_map(blob)
        .filter(|blob| *blob != ObjectId::EMPTY_TREE)
        .collect();
    blobs.sort_unstable();
    blobs.dedup();
    let broken = snapshots.check_blobs(&blobs)?;
    if broken.is_empty() {
        return Ok(());
    }
    let is_broken = |item: &Item| {
        is_going(item) && broken.iter().any(|(broken, _)| blob(item) == Some(*broken))
    };
    let (numbers, paths): (Vec<usize>, Vec<WorkspacePath>) = items
        .iter()
        .enumerate()
        .filter(|(_, item)| is_broken(item))
        .map(|(number, item)| (number, item.path.clone()))
        .unzip();
    let captured = snapshots.capture_all(&place.root, &paths)?;
    let unread = numbers.into_iter().zip(captured);
    let unread: Vec<_> = unread
        .filter_map(|(number, captured)| Some((number, captured.err()?)))
        .collect();
    if unread.is_empty() {
        return Ok(());
    }
    for (number, error) in unread {
        let why =
            format!("what is there is damaged in the store and cannot be stored anew: {error}");
        (items[number].result, items[number].reason) = (FileResult::Failed, Some(why));
    }
    store
        .database
        .write_synced(|connection| sessions::note_results(connection, operation, &items))
}

/// Returns how many files could not be written, with the first of them.
fn failed(items: &[Item]) -> String {
    let mut failed = items
        .iter()
        .filter(|item| item.result == FileResult::Failed);
    let Some(first) = failed.next() else {
        return String::new();
    };
    let (path, reason) = (
        first.path.to_text(),
        first.reason.as_deref().unwrap_or("unknown"),
    );
    format!(
        "; {} of them could not be written, as `{path}`: {reason}",
        failed.count() + 1
    )
}
