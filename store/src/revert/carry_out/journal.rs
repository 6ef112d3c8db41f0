//! The operation's rows. They are written before the first file is touched, so that the next command can finish what a
//! crash or a full disk leaves, and closed after the last file.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use ckpt_schema::report::{FileAction, FileResult, OperationKind, Outcome, ReasonCode, Receipt};
use rusqlite::Connection;

use super::apply::{self, Root, Work};
use super::closed_directories::ClosedDirectories;
use super::conversation;
use super::databases;
use super::git;
use super::outcome::outcome;
use crate::error::{Error, Result};
use crate::model::Milliseconds;
use crate::model::entry::{Change, EntryKind, ObjectId, State};
use crate::model::git_item::GitItem;
use crate::model::item::{Item, ItemOutcome, ItemReason};
use crate::model::note::Note;
use crate::model::path::WorkspacePath;
use crate::model::path_list::OperationDirectories;
use crate::model::progress::OperationProgress;
use crate::revert::goal::present::{known, look};
use crate::revert::plan::operation::Operation;
use crate::revert::request::chain::has_ended;
use crate::revert::request::conversation::JournalledConversation;
use crate::revert::request::scope::Part;
use crate::sessions::{self, OpenStep, OperationRow, StepEnd};
use crate::snapshot::Snapshots;
use crate::store::Store;
use crate::timeline::{Look, LookOptions, Place, SnapshotOptions};

/// What is written down of an operation in one workspace.
pub(crate) struct JournalEntry<'a, 'm> {
    pub id: &'a str,
    /// The operation of which it is the part in a further root.
    pub part_of: Option<&'a str>,
    pub place: &'a Place,
    pub operation: &'a mut Operation<'m>,
    pub seen: &'a Look,
    /// The steps that end with the look at the workspace.
    pub closing: &'a [OpenStep],
    /// The directories that go if the plan leaves them empty.
    pub leaving: &'a [WorkspacePath],
    /// The directories that are opened meanwhile.
    pub closed: &'a ClosedDirectories,
}

/// Writes the journals. From here on, a crash leaves operations that the next command finishes: one in each root, or none.
///
/// The rows are synced here, not only written. If a file were changed before they are on the disk, a power cut could
/// leave a workspace half reverted without a row that says so. The objects that they name are stored already.
pub(crate) fn write_down(store: &mut Store, entries: &mut [JournalEntry<'_, '_>]) -> Result<()> {
    let now = store.now();
    let made = entries.iter().map(|entry| {
        let made = directories_to_make(entry.place, entry.operation, entry.seen)?;
        Ok(OperationDirectories {
            leaving: entry.leaving.to_vec(),
            made,
            closed: entry.closed.clone(),
        })
    });
    let made = made.collect::<Result<Vec<_>>>()?;
    // One transaction: the looks, the ends of the steps and the plans are all in the rows, or none of them is.
    let bases = store.database.write_first(|connection| {
        let entries = entries.iter().zip(&made);
        let bases = entries.map(|(entry, made)| entry.insert(connection, made, now));
        bases.collect::<Result<Vec<_>>>()
    })?;
    for (entry, base) in entries.iter_mut().zip(bases) {
        entry.operation.base = base;
    }
    Ok(())
}

impl JournalEntry<'_, '_> {
    /// Writes its rows, and returns the base of its chain.
    fn insert(
        &self,
        connection: &rusqlite::Connection,
        directories: &OperationDirectories,
        now: Milliseconds,
    ) -> Result<Option<i64>> {
        let Self {
            id,
            place,
            operation,
            ..
        } = self;
        let movement = operation.movement;
        let expectation = operation.expectation.as_ref();
        let from = movement.and_then(|movement| movement.from.as_ref());
        let to = movement.and_then(|movement| movement.to.as_ref());
        let part = movement.and_then(|movement| movement.part.as_ref());
        let (part_message, part_step, only) = match part {
            Some(part) => named_by(part),
            None => (None, None, expectation.map_or(&[][..], |it| &it.only[..])),
        };
        let before = self.seen.write(connection, place.row.id, None, now)?;
        close_steps(connection, self.closing, before, now)?;
        // Later reverts keep the base of the first one: unrevert goes back to its bytes.
        let base = movement.map(|_| operation.base.unwrap_or(before));
        let new = OperationRow {
            id: (*id).to_owned(),
            workspace_id: place.row.id,
            session_id: movement.map(|movement| movement.session.id.clone()),
            kind: operation.kind,
            from_message_id: from.map(|message| message.id.clone()),
            message_id: to.map(|message| message.id.clone()),
            part_message_id: part_message.map(str::to_owned),
            step_id: part_step.map(str::to_owned),
            is_alone: movement.is_some_and(|movement| movement.alone().is_some()),
            asked_message_id: match movement {
                Some(movement) => movement.asked_for.clone(),
                None => operation.restored.clone(),
            },
            undoes: operation.undoes.clone(),
            base_snapshot_id: base,
            goal_snapshot_id: expectation.map(|it| it.snapshot),
            before_snapshot_id: Some(before),
            after_snapshot_id: None,
            on_conflict: operation.on_conflict,
            unclear: operation.unclear,
            only_paths: only.to_vec(),
            notes: operation.found.notes(),
            directories: directories.clone(),
            outcome: operation.found.is_incomplete().then_some(Outcome::Partial),
            git: operation.git.is_some(),
        };
        sessions::insert_operation(connection, &new, &operation.plan.items, now)?;
        if let Some(whole) = self.part_of {
            sessions::note_part_of(connection, "operations", id, whole)?;
        }
        let conversation = operation.conversation.as_ref();
        if let Some(conversation) = conversation.and_then(JournalledConversation::to_json) {
            sessions::note_conversation(connection, id, &conversation)?;
        }
        sessions::put_git_items(connection, id, operation.git.as_deref().unwrap_or_default())?;
        Ok(base)
    }
}

/// Takes back the rows after they could not be synced. They may still be complete in the database's log, and valid for
/// the next process that opens it. Other rows now replace them. If those cannot be written either, it is unclear whether
/// the plan is valid. A read-only file took nothing.
pub(crate) fn take_back_what_was_written(
    store: &mut Store,
    kind: OperationKind,
    error: Error,
) -> Error {
    // Nor was anything written where another program held the file.
    if sessions::is_read_only(&error) || sessions::is_held(&error) {
        return error;
    }
    let causes = error.causes().join(": ");
    let noted = store.diagnose(&sessions::Diagnostic {
        level: sessions::DiagnosticLevel::Error,
        message: "the operation could not be recorded, so it was not started",
        detail: Some(&causes),
        ..sessions::Diagnostic::default()
    });
    match noted {
        Ok(()) => error,
        Err(_) => error.after([format!(
            "it is not known whether the plan of the {} is on the disk: if it is, the next command or message carries it out",
            kind.name()
        )]),
    }
}

/// Returns the scope of a part: the message or the step, and the paths.
fn named_by(part: &Part) -> (Option<&str>, Option<&str>, &[WorkspacePath]) {
    match part {
        Part::Paths { message, only } | Part::Message { message, only } => {
            (Some(&message.id), None, only)
        }
        Part::Step { step, only } => (None, Some(&step.id), only),
    }
}

/// Returns the missing directories that get something, with their permissions in the state that it goes back to.
fn directories_to_make(
    place: &Place,
    operation: &Operation<'_>,
    seen: &Look,
) -> Result<BTreeMap<WorkspacePath, Option<u32>>> {
    let coming = operation.plan.items.iter().filter(|item| item.is_planned());
    let new = coming.filter(|item| item.target.is_some() && item.expected.is_none());
    // Only for new files: where something is replaced, its directory is there already.
    let parents = WorkspacePath::all_above(new.map(|item| &item.path));
    let (Some(reference), false) = (operation.reference, parents.is_empty()) else {
        return Ok(BTreeMap::new());
    };
    let snapshots = place.snapshots()?;
    let parents = parents.into_iter().collect();
    let (_, unseen) = snapshots.part_directories(&seen.snapshot, parents)?;
    // Ignore rules may hide a directory that exists.
    let kinds = snapshots.kinds_now(&place.root, &unseen)?;
    let missing: Vec<WorkspacePath> = unseen
        .into_iter()
        .zip(kinds)
        .filter(|(_, kind)| *kind != Some(EntryKind::Directory))
        .map(|(path, _)| path)
        .collect();
    let permissions = snapshots.permissions_to_make(&reference, &missing)?;
    Ok(missing.into_iter().zip(permissions).collect())
}

/// Which try of an operation this is. It decides what happens to the operation if files could not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FinishAttempt {
    /// It stays open, as after a crash, and the next command or message finishes it.
    First,
    /// It is closed, and names those files.
    Retry,
}

/// The result of a journalled operation.
pub(crate) struct Finished {
    /// Its files.
    pub items: Vec<Item>,
    /// Git's own state.
    pub git: Vec<GitItem>,
    /// The comparison of the workspace with its target.
    pub compared: Result<Option<Receipt>>,
    /// Why it is still open although every file was tried. The next command or message finishes it.
    pub unfinished: Option<Error>,
}

impl Finished {
    /// Nothing was done yet.
    pub fn nothing(mut items: Vec<Item>, mut git: Vec<GitItem>, error: Error) -> Self {
        let reason = "not done yet";
        for item in items.iter_mut().filter(|item| item.is_planned()) {
            item.result = FileResult::Failed;
            item.reason = Some(ItemReason::new(ReasonCode::NotDone, reason));
        }
        for item in git.iter_mut().filter(|item| item.is_planned()) {
            (item.result, item.reason) = (FileResult::Failed, Some(reason.into()));
        }
        Self {
            items,
            git,
            compared: Ok(None),
            unfinished: Some(error),
        }
    }
}

/// Compares the result of an operation with its target. The look is `None` if there was nothing to do.
pub(crate) type Compare<'a> = dyn Fn(&Store, &[Item], Option<&Look>) -> ReceiptOutcome + 'a;

/// The comparison of an operation's result with its target.
pub(crate) struct ReceiptOutcome {
    pub receipt: Result<Option<Receipt>>,
    /// Whether something differs for no known reason.
    pub is_incomplete: bool,
    /// What the operation's row says of it.
    pub note: Option<Note>,
}

impl Default for ReceiptOutcome {
    fn default() -> Self {
        Self {
            receipt: Ok(None),
            is_incomplete: false,
            note: None,
        }
    }
}

/// A workspace that is locked and about to be changed.
#[derive(Clone, Copy)]
pub(crate) struct WritableWorkspace<'a> {
    pub place: &'a Place,
    pub snapshots: &'a Snapshots,
    pub root: &'a Root,
}

/// Carries out the rest of a journalled operation, looks at the result and closes it. Fails only if nothing was done.
pub(crate) fn finish(
    store: &mut Store,
    opened: WritableWorkspace<'_>,
    id: &str,
    which: FinishAttempt,
    compare: &Compare<'_>,
) -> Result<Finished> {
    // The rows are read back even on the first try. What a crash would leave is what is carried out, so both
    // ways are one.
    let read = |connection: &Connection| {
        Ok(OperationRows {
            row: sessions::operation(connection, id)?,
            items: sessions::operation_items(connection, id)?,
            git: sessions::git_items(connection, id)?,
        })
    };
    let rows = store.unstuck(|store| store.database.read(read))?;
    //   objects ──► rows of the plan ──► files ──► git ──► a look ──► results, outcome, point
    //          sync                sync      sync                sync
    //          └─ killed here:     └─ killed here: the next command or message finishes it,
    //             nothing happened    by the rows and by what it finds beside each file
    let performed = perform(store, opened, &rows);
    let has_failed = performed.has_failed();
    let compared = match &performed.unfinished {
        None => compare(store, &performed.items, performed.after.as_ref()),
        Some(_) => ReceiptOutcome::default(),
    };
    // A disk that was full may have room at the second try. At a third it would only keep every later command
    // waiting for the same file, so then the operation is closed and names it.
    let unfinished =
        if performed.unfinished.is_some() || has_failed && which == FinishAttempt::First {
            // What is done is never touched again, because it may be edited from now on. The rest stays planned, even items
            // that were not as expected: the failure may be the reason.
            let noted = note_what_is_done(store, id, &performed.items);
            performed.unfinished.or(noted.err())
        } else {
            close(store, opened.place, &rows.row, &performed, &compared).err()
        };
    Ok(Finished {
        items: performed.items,
        git: performed.git,
        compared: compared.receipt,
        unfinished,
    })
}

/// An operation as its rows have it.
struct OperationRows {
    row: OperationRow,
    items: Vec<Item>,
    git: Vec<GitItem>,
}

/// The results of a plan.
struct Performed {
    items: Vec<Item>,
    git: Vec<GitItem>,
    /// The workspace afterwards, or `None` if there was nothing to do, or after a failure.
    after: Option<Look>,
    /// What failed after the files, which leaves the operation open.
    unfinished: Option<Error>,
}

impl Performed {
    fn has_failed(&self) -> bool {
        self.items
            .iter()
            .any(|item| item.result == FileResult::Failed)
    }
}

/// Whether this process has begun to move files.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);

/// Returns whether this process has begun to change a workspace. If it has, it is unclear after a panic whether nothing
/// was changed.
pub(crate) fn has_begun() -> bool {
    HAS_BEGUN.load(Ordering::Relaxed)
}

/// Moves files, then git's state, then looks at both.
fn perform(store: &mut Store, opened: WritableWorkspace<'_>, rows: &OperationRows) -> Performed {
    let OperationRows { row, items, git } = rows;
    // By the rows and not by the plan in memory: a second try has less to do.
    let has_work = items.iter().any(Item::is_planned) || git.iter().any(GitItem::is_planned);
    // Before the first file: a panic from here on must not be reported as one that changed nothing.
    HAS_BEGUN.fetch_or(has_work, Ordering::Relaxed);
    let (done, rest) = put_files(store, opened, row, items, || {
        // Git's state comes after the files: git trusts its index about files that are older than it.
        let (place, snapshots) = (opened.place, opened.snapshots);
        let git = git::carry_out(store, place, snapshots, &row.id, row.kind, git.clone());
        // Without work, now or in an earlier try, the state before the operation is the state after it.
        let after = if has_work || items.iter().any(is_done) {
            // This look is taken while the files are synced, and its own objects may be on the disk before them.
            // That does no harm: the row that names it is written only in `close`, after both.
            Some(look_again(store, opened, items)?)
        } else {
            None
        };
        Ok((git, after))
    });
    let mut items = items.clone();
    for (item, done) in items.iter_mut().zip(done) {
        item.result = done.result;
        // A file that goes back only in part keeps the reason for that.
        item.reason = match (item.reason.take(), done.reason) {
            (Some(why), Some(lost)) if lost.code == Some(ReasonCode::NotKept) => Some(ItemReason {
                text: format!("{why}; {lost}"),
                ..why
            }),
            (why, done) => done.or(why),
        };
    }
    match rest {
        Ok((git, after)) => Performed {
            items,
            git,
            after,
            unfinished: None,
        },
        Err(error) => {
            let failed = Finished::nothing(Vec::new(), git.clone(), error);
            Performed {
                items,
                git: failed.git,
                after: None,
                unfinished: failed.unfinished,
            }
        }
    }
}

/// Closes an operation: writes its results, its end and the revert point, in one synced transaction. With the point in
/// a second transaction, a power cut in between could leave the files at one place and the point at another, and the
/// next redo would start from the wrong one. The snapshot's row comes first, because the operation's row names it.
fn close(
    store: &mut Store,
    place: &Place,
    row: &OperationRow,
    performed: &Performed,
    compared: &ReceiptOutcome,
) -> Result<()> {
    let Performed {
        items, git, after, ..
    } = performed;
    let outcome = match compared.is_incomplete {
        true => Outcome::Partial,
        false => match outcome(items, git) {
            Outcome::Nothing if conversation::moves_alone(store, row)? => Outcome::Restored,
            outcome => outcome,
        },
    };
    let now = store.now();
    store.database.write_synced(|connection| {
        let after_id = match after {
            Some(after) => Some(after.write(connection, place.row.id, None, now)?),
            None => row.before_snapshot_id,
        };
        sessions::put_git_items(connection, &row.id, git)?;
        sessions::note_results(connection, &row.id, items)?;
        let notes = row.notes.iter().cloned();
        let notes: Vec<_> = notes
            .chain(compared.note.as_ref().map(Note::report))
            .collect();
        sessions::close_operation(connection, &row.id, outcome, after_id, &notes, now)?;
        move_point(connection, row, performed.has_failed())?;
        conversation::move_session(connection, row, performed.has_failed())
    })
}

/// Stores the results so far of an operation that stays open.
fn note_what_is_done(store: &mut Store, id: &str, items: &[Item]) -> Result<()> {
    let planned = sessions::operation_items(store.database.connection(), id)?
        .into_iter()
        .zip(items);
    let noted: Vec<Item> = planned
        .map(
            |(plan, item)| {
                if is_done(item) { item.clone() } else { plan }
            },
        )
        .collect();
    store
        .database
        // Synced: losing this row would make the next try undo an edit of what was put back here.
        .write_synced(|connection| sessions::note_results(connection, id, &noted))
}

/// Carries out the planned items. Each gets its result. `rest` is done while the disk syncs.
fn put_files<R>(
    store: &Store,
    opened: WritableWorkspace<'_>,
    row: &OperationRow,
    items: &[Item],
    rest: impl FnOnce() -> Result<R>,
) -> (Vec<ItemOutcome>, Result<R>) {
    let directories = &row.directories;
    let contents =
        |blob: ObjectId, to: &mut dyn std::io::Write| opened.snapshots.copy_blob(blob, to);
    let of = items.iter().filter(|item| item.is_planned()).count();
    let report = store.reporter();
    let tell = |done| report(OperationProgress::Applying { done, of });
    let items = databases::look_again(&opened.place.root, opened.root, items);
    let work = Work {
        operation: &row.id,
        items: &items,
        directories: &directories.leaving,
        closed: &directories.closed,
        permissions: &|path| directories.made.get(path).copied().flatten(),
        contents: &contents,
        progress: Some(&tell),
    };
    apply::apply_and(opened.root, &work, rest)
}

/// Looks at what an operation left where it worked, and at what others did there meanwhile. What they did elsewhere is
/// for the next look. The operation's own changes are in its rows, and have no author.
fn look_again(store: &Store, opened: WritableWorkspace<'_>, items: &[Item]) -> Result<Look> {
    let (open, before) = known(store, opened.place)?;
    let touched: BTreeSet<WorkspacePath> = items
        .iter()
        // What was kept is still another author's change, and belongs into the timeline.
        .filter(|item| item.action != FileAction::Keep)
        .map(|item| item.path.clone())
        .collect();
    let parents = WorkspacePath::all_above(&touched);
    // What an earlier try did may be edited since.
    let earlier: BTreeMap<&WorkspacePath, State> = items
        .iter()
        .filter(|item| is_done(item))
        .map(|item| (&item.path, item.target))
        .collect();
    let is_own = |change: &Change| {
        let is_asked = match earlier.get(&change.path) {
            Some(target) => change.new == *target,
            None => touched.contains(&change.path),
        };
        // A directory above a file comes and goes with it. A file in the place of such a directory was put there by
        // another author.
        is_asked || is_directory(change) && parents.contains(&change.path)
    };
    let how = SnapshotOptions {
        only_around: Some(&touched),
        ..SnapshotOptions::default()
    };
    let looking = LookOptions {
        open: &open,
        known: Some(&is_own),
        how,
        ..LookOptions::default()
    };
    look(store, opened.place, opened.snapshots, before, looking)
}

fn is_done(item: &Item) -> bool {
    item.result == FileResult::Done
}

fn is_directory(change: &Change) -> bool {
    let entry = change.new.or(change.old);
    entry.is_some_and(|entry| entry.mode.kind() == EntryKind::Directory)
}

/// Moves the revert point. If a file failed on the way to the state in which nothing is reverted, the state before the
/// first revert is kept, so that the same command can go on from there.
fn move_point(
    connection: &rusqlite::Connection,
    row: &sessions::OperationRow,
    has_failed: bool,
) -> Result<()> {
    let Some(session) = &row.session_id else {
        return Ok(());
    };
    let point = match &row.message_id {
        Some(id) => sessions::message(connection, id)?,
        None => None,
    };
    let has_ended = has_ended(row.kind, row.message_id.as_deref(), has_failed);
    // The base stays for as long as anything is reverted: unrevert goes back to its bytes, not to those of a later
    // snapshot.
    let base = row.base_snapshot_id.filter(|_| !has_ended);
    sessions::set_revert_point(connection, session, row.message_id.as_deref(), base)?;
    sessions::set_hidden_from(connection, session, point.map(|message| message.seq))
}

/// Writes the look at the workspace, although there was nothing to do.
pub(crate) fn keep_what_was_seen(
    store: &mut Store,
    place: &Place,
    seen: &Look,
    closing: &[OpenStep],
) -> Result<()> {
    let now = store.now();
    store.database.write(|connection| {
        let snapshot_id = seen.write(connection, place.row.id, None, now)?;
        close_steps(connection, closing, snapshot_id, now)
    })
}

fn close_steps(
    connection: &rusqlite::Connection,
    closing: &[OpenStep],
    snapshot_id: i64,
    now: Milliseconds,
) -> Result<()> {
    closing.iter().try_for_each(|step| {
        let end = StepEnd::recovered(Some(snapshot_id));
        sessions::close_step(connection, &step.row.id, end, now)
    })
}
