//! Finishes a journalled operation after a crash, or after files could not be written: the next command or hook does.

use std::time::Duration;

use ckpt_schema::report::{FileResult, FinishedReport, Outcome, ReasonCode, Receipt};

use super::carry_out::apply::Root;
use super::carry_out::conversation;
use super::carry_out::journal::{
    FinishAttempt, Finished, ReceiptOutcome, WritableWorkspace, finish,
};
use super::goal::expectation::Expectation;
use super::receipt::{self, later_note};
use crate::error::{Error, Result};
use crate::model::entry::ObjectId;
use crate::model::git_item::GitItem;
use crate::model::item::{Item, ItemReason};
use crate::model::note::{FailedFiles, NamedOperation, Note};
use crate::model::path::WorkspacePath;
use crate::model::request::DryRun;
use crate::sessions;
use crate::snapshot::Snapshots;
use crate::store::Store;
use crate::timeline::{Look, Place, SnapshotOptions};

/// What a command found and did before anything else.
#[derive(Clone, Default)]
pub(crate) struct Recovered {
    pub notes: Vec<Note>,
    /// The operations that it finished.
    pub finished: Vec<FinishedReport>,
}

impl Recovered {
    /// Returns what of it a report has.
    pub fn reported(&self) -> (&[Note], &[FinishedReport]) {
        (&self.notes, &self.finished)
    }

    /// Returns the sentences on what changed the workspace, which stays whatever fails afterwards.
    pub fn done(&self) -> Vec<String> {
        let is_finished = |note: &&Note| matches!(note, Note::Finished { .. });
        let finished = self.notes.iter().filter(is_finished);
        finished.map(Note::to_string).collect()
    }

    /// Adds what was found and done later.
    pub fn and(mut self, later: Self) -> Self {
        self.notes.extend(later.notes);
        self.finished.extend(later.finished);
        self
    }
}

/// Finishes open operations. A user's command does this before anything else: only then is it known where the revert
/// point is. A dry run only says that there is something to finish. The caller holds the workspace's lock.
pub(crate) fn recover(store: &mut Store, place: &Place, dry_run: DryRun) -> Result<Recovered> {
    // A full disk must not prevent a revert that removes what fills it. The objects are checked before anything is
    // touched.
    let borrowed = crate::upkeep::adoption::under_lock(store, place).unwrap_or_else(|error| {
        let why = error.to_string();
        Some(Note::BorrowedNotCopied { why })
    });
    let found = |notes| Recovered {
        notes: borrowed.into_iter().chain(notes).collect(),
        finished: Vec::new(),
    };
    if dry_run == DryRun::No {
        // What cannot be read resolves nothing.
        let _ = super::lineage::resolve_forks(store, place);
        let finished = finish_all_open(store, place)?;
        let fork = conversation::taken_back(store, place);
        return Ok(found(Vec::from_iter(fork)).and(finished));
    }
    let open = sessions::open_operations(store.database.connection(), place.row.id)?;
    let open = open.iter().map(name);
    let open = open.map(|operation| Note::LeftOpen { operation });
    Ok(found(open.collect()))
}

/// Finishes the open operations of a workspace, whose lock the caller holds, and their parts in other roots.
pub(crate) fn finish_all_open(store: &mut Store, place: &Place) -> Result<Recovered> {
    let finished = finish_open_operations(store, place)?;
    Ok(finished.and(finish_beside(store, place)?))
}

/// Finishes the parts that operations of a workspace have in other roots. One that is away, or where a process is at work,
/// is left to the next command there, which finishes it first.
fn finish_beside(store: &mut Store, place: &Place) -> Result<Recovered> {
    let left = sessions::workspaces_left_beside(store.database.connection(), place.row.id)?;
    let mut finished = Recovered::default();
    for id in left {
        let row = sessions::workspace(store.database.connection(), id)?;
        if !row.is_there() {
            continue;
        }
        let other = Place::of_row(store, row);
        // Without waiting: whatever waits for another lock holds none.
        let Ok(lock) = other.lock(Duration::ZERO) else {
            continue;
        };
        crate::timeline::notice(store, &other, &lock)?;
        finished = finished.and(finish_open_operations(store, &other)?);
    }
    Ok(finished)
}

/// Returns a sentence on each open operation: why it is open, which of git's locks belong to it, and what to do.
pub(crate) fn interrupted(store: &Store, place: &Place) -> Result<Vec<String>> {
    let open = sessions::open_operations(store.database.connection(), place.row.id)?;
    if open.is_empty() {
        return Ok(Vec::new());
    }
    // A process that carries one out holds the lock.
    let is_under_way = place.lock(Duration::ZERO).is_err();
    let sentence = |row: &sessions::OperationRow| {
        Ok(match is_under_way {
            true => format!("{} is under way", name(row)),
            false => interrupted_text(
                row,
                &super::carry_out::git::own_locks(store, place, &row.id)?,
            ),
        })
    };
    open.iter().map(sentence).collect()
}

/// Returns an operation's name for people.
fn name(row: &sessions::OperationRow) -> NamedOperation {
    NamedOperation {
        kind: row.kind,
        id: row.id.clone(),
    }
}

/// Says that an operation was left open, which of git's locks belong to it, and what to do.
fn interrupted_text(row: &sessions::OperationRow, locks: &[String]) -> String {
    let locks = match locks {
        [] => String::new(),
        [lock] => format!(", and {lock} is its lock"),
        locks => format!(", and {} are its locks", locks.join(" and ")),
    };
    format!(
        "{} was interrupted, or could not write all files{locks}: `ckpt-hook snapshot` finishes it, as does the next command or message",
        name(row)
    )
}

/// Finishes the open operations of a workspace, whose lock the caller holds, and returns which. A file that was edited
/// in the meantime becomes a conflict of its operation, and stays. A file that still cannot be written stays, too, and
/// the operation is closed.
pub(crate) fn finish_open_operations(store: &mut Store, place: &Place) -> Result<Recovered> {
    let open = sessions::open_operations(store.database.connection(), place.row.id)?;
    let mut finished = Recovered::default();
    for row in open {
        let snapshots = place.snapshots()?;
        // The device is today's: its number changes with a restart, and the crash may have been one.
        let root = Root::open(&place.root, place.device()?, place.row.inode)?;
        let name = name(&row);
        let conversation = conversation::report_of(store, &row)?;
        // Before `finish` reads the rows: it sees those that cannot be brought back as failed.
        keep_what_goes(store, place, &snapshots, &row)?;
        let opened = WritableWorkspace {
            place,
            snapshots: &snapshots,
            root: &root,
        };
        let compare = |store: &Store, items: &[Item], after: Option<&Look>| {
            let compared = compare(store, opened, &row, items, after);
            ReceiptOutcome {
                is_incomplete: receipt::leaves_open(&compared),
                note: later_note(&compared),
                receipt: compared,
            }
        };
        let Finished {
            items,
            git,
            compared,
            unfinished,
        } = finish(store, opened, &row.id, FinishAttempt::Retry, &compare)
            .map_err(|error| error.after(finished.done()))?;
        if let Some(error) = unfinished {
            let mut done = finished.done();
            done.push(format!(
                "{name} was resumed, and is still open: the next command or message finishes it"
            ));
            // While it is open, it is unclear where the revert point is, so no command goes on.
            return Err(error.after(done));
        }
        let note = Note::Finished {
            operation: name,
            files: items.len(),
            moves_git: !git.is_empty(),
            failed: failed(&items),
            result: later_note(&compared).map(Box::new),
        };
        // The files are where they should be and the row is closed, so nothing may fail any more. Of an outcome that
        // cannot be read, `Partial` claims the least.
        let closed = sessions::operation(store.database.connection(), &row.id);
        let report = FinishedReport {
            operation: row.id,
            kind: row.kind,
            session: row.session_id,
            message: row.message_id,
            outcome: closed
                .ok()
                .and_then(|row| row.outcome)
                .unwrap_or(Outcome::Partial),
            files: items.iter().map(Item::report).collect(),
            git: git.iter().map(GitItem::report).collect(),
            receipt: compared.ok().flatten(),
            conversation,
        };
        finished.notes.push(note);
        finished.finished.push(report);
    }
    Ok(finished)
}

/// Compares what a finished operation left with the state that it went to, unless nothing was left to do.
fn compare(
    store: &Store,
    WritableWorkspace {
        place, snapshots, ..
    }: WritableWorkspace<'_>,
    row: &sessions::OperationRow,
    items: &[Item],
    after: Option<&Look>,
) -> Result<Option<Receipt>> {
    let Some(after) = after else {
        return Ok(None);
    };
    let expectation = Expectation::of_row(store, row)?;
    store.database.read(|connection| {
        let before = match row.before_snapshot_id {
            Some(before) => sessions::snapshot(connection, before)?.snapshot,
            None => after.snapshot,
        };
        let (expectation, states) = (expectation.as_ref(), (&before, after));
        receipt::receipt(connection, place, snapshots, expectation, items, states)
    })
}

/// Checks the way back before anything else is removed or replaced. It was intact when the operation began, but that
/// may be long ago. What was damaged since is stored again from the workspace; an item whose present content cannot be
/// stored is left alone.
fn keep_what_goes(
    store: &mut Store,
    place: &Place,
    snapshots: &Snapshots,
    operation: &sessions::OperationRow,
) -> Result<()> {
    let mut items = sessions::operation_items(store.database.connection(), &operation.id)?;
    // Nothing is removed or replaced, so there is nothing that a way back would be needed for.
    if !items.iter().any(Item::takes_away) {
        return Ok(());
    }
    let unread = blobs_that_are_lost(place, snapshots, &items)?;
    let has_lost = !unread.is_empty();
    for (number, error) in unread {
        let why =
            format!("what is there is damaged in the store and cannot be stored again: {error}");
        fail(&mut items[number], why);
    }
    let lost = way_that_is_lost(store, place, operation, &items)?;
    if let Some(error) = &lost {
        let why = format!(
            "the snapshot that leads back to it is damaged: {}",
            error.with_causes()
        );
        for item in items.iter_mut().filter(|item| item.takes_away()) {
            fail(item, why.clone());
        }
    }
    if !has_lost && lost.is_none() {
        return Ok(());
    }
    store
        .database
        // Synced, so that a power cut during the rest cannot forget that these items must not be touched.
        .write_synced(|connection| sessions::note_results(connection, &operation.id, &items))
}

/// Returns the items, by number, whose present content is damaged in the store and cannot be stored again, with the
/// reason.
fn blobs_that_are_lost(
    place: &Place,
    snapshots: &Snapshots,
    items: &[Item],
) -> Result<Vec<(usize, Error)>> {
    let blob = |item: &Item| item.expected?.file_blob();
    let going = || {
        let items = items.iter().enumerate();
        items.filter(|(_, item)| item.is_planned())
    };
    let mut blobs: Vec<ObjectId> = going().filter_map(|(_, item)| blob(item)).collect();
    blobs.sort_unstable();
    blobs.dedup();
    let broken = snapshots.check_blobs(&blobs)?;
    if broken.is_empty() {
        return Ok(Vec::new());
    }
    let is_broken = |item: &Item| broken.iter().any(|(broken, _)| blob(item) == Some(*broken));
    let (numbers, paths): (Vec<usize>, Vec<WorkspacePath>) = going()
        .filter(|(_, item)| is_broken(item))
        .map(|(number, item)| (number, item.path.clone()))
        .unzip();
    let captured = snapshots.store_paths(&place.root, &paths)?;
    let unread = numbers.into_iter().zip(captured);
    Ok(unread
        .filter_map(|(number, captured)| Some((number, captured.err()?)))
        .collect())
}

/// Returns why the snapshot before an operation does not lead back to what is still to go. `None` if it does, perhaps
/// after its trees were stored again from what is still in the workspace.
fn way_that_is_lost(
    store: &Store,
    place: &Place,
    operation: &sessions::OperationRow,
    items: &[Item],
) -> Result<Option<Error>> {
    let Some(before) = operation.before_snapshot_id else {
        return Ok(None);
    };
    let row = sessions::snapshot(store.database.connection(), before)?;
    let before = row.snapshot;
    let paths: Vec<WorkspacePath> = items
        .iter()
        .filter(|item| item.takes_away())
        .map(|item| item.path.clone())
        .collect();
    // WritableWorkspace anew for each check, so that what was stored or lost since is seen.
    if place.snapshots()?.check_paths(&before, &paths).is_ok() {
        return Ok(None);
    }
    let how = SnapshotOptions {
        anew: true,
        ..SnapshotOptions::default()
    };
    // A path that cannot be stored heals nothing.
    let _ = place.take(store, &place.snapshots()?, how);
    Ok(place.snapshots()?.check_paths(&before, &paths).err())
}

fn fail(item: &mut Item, why: String) {
    item.result = FileResult::Failed;
    item.reason = Some(ItemReason::new(ReasonCode::Failed, why));
}

/// Returns how many files could not be written, and the first of them with the reason.
fn failed(items: &[Item]) -> Option<FailedFiles> {
    let mut failed = items
        .iter()
        .filter(|item| item.result == FileResult::Failed);
    let first = failed.next()?;
    Some(FailedFiles {
        number: failed.count() + 1,
        path: first.path.to_text(),
        why: first.reason.as_deref().unwrap_or("unknown").to_owned(),
    })
}
