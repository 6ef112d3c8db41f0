//! From a plan to its outcome: check, write the journal, apply, look again, close. A dry run ends after the checks.

use ckpt_schema::report::{OperationReport, Receipt};

use super::carry_out::apply::Root;
use super::carry_out::databases;
use super::carry_out::emptied_directories::directories_that_may_go;
use super::carry_out::journal::{
    FinishAttempt, Finished, ReceiptOutcome, finish, keep_what_was_seen,
    take_back_what_was_written, write_down,
};
use super::carry_out::lost_acls;
use super::carry_out::refusal;
use super::plan::operation::Operation;
use super::plan::{Plan, count_lines};
use super::receipt;
use super::receipt::forecast;
use super::receipt::notes;
use super::receipt::notes::surroundings;
use super::receipt::notes::unstored;
use super::receipt::notes::version_control;
use super::report::contents;
use super::report::report;
use super::report::token;
use super::request::options::Options;
use crate::error::{Error, Result};
use crate::model::entry::ObjectId;
use crate::model::git_item::GitItem;
use crate::model::item::Item;
use crate::model::path::WorkspacePath;
use crate::model::request::DryRun;
use crate::revert::request::conversation::JournalledConversation;
use crate::sessions::{self, OpenStep};
use crate::snapshot::Snapshots;
use crate::store::Store;
use crate::timeline::{Observation, Place};

/// The report on an operation, and its plan. A dry run only made the plan.
#[derive(Debug)]
pub(crate) struct Executed {
    pub report: OperationReport,
    pub plan: Plan,
    /// The conversation that is to be made before the plan is carried out. Nothing else speaks against it.
    pub waits_for: Option<JournalledConversation>,
}

impl Executed {
    /// Notes whether an agent was at work meanwhile.
    pub fn while_busy(self, busy: bool) -> Self {
        Self {
            report: OperationReport {
                busy,
                ..self.report
            },
            ..self
        }
    }
}

/// Carries out a plan, or only reports what it would do.
pub(crate) fn execute(
    store: &mut Store,
    place: &Place,
    snapshots: &Snapshots,
    mut operation: Operation<'_>,
    seen: &Observation,
    closing: &[&OpenStep],
    options: Options,
) -> Result<Executed> {
    let execution = Execution {
        place,
        snapshots,
        seen,
        closing,
        options,
    };
    let ready = execution.check(store, &mut operation)?;
    let conversation = operation.conversation.as_ref();
    let waits_for = conversation
        .filter(|it| it.waits() && !options.dry_run.is_dry())
        .cloned();
    let report = if waits_for.is_some() {
        let what = (&operation.plan.items[..], &[][..]);
        Ok(report(store, &operation, None, what, None, DryRun::Yes))
    } else if options.dry_run.is_dry() || !has_work(&operation) {
        execution.only_report(store, &mut operation, &ready)
    } else {
        execution.apply(store, &mut operation, &ready)
    }?;
    Ok(Executed {
        report,
        plan: operation.plan,
        waits_for,
    })
}

fn has_work(operation: &Operation<'_>) -> bool {
    let moves_git = operation.git.iter().flatten().any(GitItem::is_planned);
    let moves_point = operation
        .movement
        .is_some_and(|movement| movement.part.is_none() && !movement.is_same_point());
    let moves_conversation = operation
        .conversation
        .iter()
        .any(JournalledConversation::has_work);
    operation.plan.has_work() || moves_point || moves_git || moves_conversation
}

/// What carrying out a plan needs.
#[derive(Clone, Copy)]
struct Execution<'a> {
    place: &'a Place,
    snapshots: &'a Snapshots,
    seen: &'a Observation,
    /// The steps that end with the look at the workspace.
    closing: &'a [&'a OpenStep],
    options: Options,
}

/// A plan that passed all checks.
struct ReadyPlan {
    root: Root,
    /// The directories that go if the plan leaves them empty.
    leaving: Vec<WorkspacePath>,
    fingerprint: Option<ObjectId>,
}

impl Execution<'_> {
    /// Finds everything that would go wrong, before anything is written, also in a dry run. Databases come before the
    /// fingerprint, because keeping one whole changes the plan.
    fn check(&self, store: &Store, operation: &mut Operation<'_>) -> Result<ReadyPlan> {
        let Self {
            place,
            snapshots,
            seen,
            options,
            ..
        } = *self;
        let left = version_control::leave_metadata(&mut operation.plan, &seen.gaps);
        operation.warnings.extend(left);
        if let Some(then) = &operation.reference {
            let gaps = snapshots.seen(then.seen)?;
            version_control::leave_broken(&mut operation.plan, &place.root, &gaps, &seen.gaps);
        }
        let databases = databases::Databases {
            root: &place.root,
            snapshots,
            now: &seen.snapshot,
            then: operation.reference,
            force: options.force.goes_on(),
        };
        databases.keep_whole(&mut operation.plan)?;
        if let Some(then) = &operation.reference {
            let states = (then, &seen.snapshot);
            let directories =
                lost_acls::narrow(&mut operation.plan, (snapshots, &place.root), states)?;
            operation.warnings.extend(directories);
        }
        let fingerprint = match options.expected.is_some() || options.dry_run.is_dry() {
            true => Some(token::fingerprint(store, place, operation, seen)?),
            false => None,
        };
        if options.expected.is_some() && options.expected != fingerprint {
            return Err(Error::stale(
                "the workspace or its history has changed since the plan was made",
            ));
        }
        // After the fingerprint, of which the counts are no part. Counting reads both sides of each file, and nobody
        // shows a plan that is refused as stale.
        count_lines(snapshots, &mut operation.plan, &operation.lines);
        refusal::damaged_objects(snapshots, &operation.plan)?;
        if options.dry_run == DryRun::No {
            refusal::no_way_back(store, place, snapshots, &operation.plan, seen)?;
        }
        let root = Root::open(&place.root, place.device()?, place.row.inode)?;
        refusal::check_before_writing(&root, snapshots, &operation.plan, options)?;
        let leaving = directories_that_may_go(store, place, operation)?;
        operation.warnings.extend(surroundings::folders_that_stay(
            place,
            snapshots,
            seen,
            &operation.plan,
            &leaving,
        )?);
        if let Some(movement) = operation.movement {
            let goal = (operation.reference.as_ref(), &operation.plan, &leaving[..]);
            let (look, history) = ((snapshots, seen), &operation.history);
            let left = unstored::stays(store, place, look, movement, goal, history)?;
            operation.warnings.extend(left.notes);
            operation.is_incomplete |= left.is_incomplete;
        }
        Ok(ReadyPlan {
            root,
            leaving,
            fingerprint,
        })
    }

    /// Reports a plan that is not carried out, or that has nothing to do.
    fn only_report(
        &self,
        store: &mut Store,
        operation: &mut Operation<'_>,
        ready: &ReadyPlan,
    ) -> Result<OperationReport> {
        let Self {
            place,
            snapshots,
            seen,
            closing,
            options,
        } = *self;
        let compared = forecast::receipt(store, place, snapshots, operation, seen);
        let receipt = take_receipt(operation, compared);
        if options.dry_run == DryRun::No {
            keep_what_was_seen(store, place, seen, closing)?;
        }
        let git = operation.git.clone().unwrap_or_default();
        let what = (&operation.plan.items[..], &git[..]);
        let mut told = report(store, operation, None, what, receipt, options.dry_run);
        if options.dry_run.is_dry() && options.contents {
            contents::add(snapshots, &operation.plan, &mut told.files);
        }
        // The caller, who knows what was asked for, makes a token of it.
        let plan = ready
            .fingerprint
            .filter(|_| options.dry_run.is_dry())
            .map(|fingerprint| fingerprint.to_string());
        Ok(OperationReport { plan, ..told })
    }

    /// Carries out the plan: first the objects, then the rows that name them, and only then the first file. If it is
    /// interrupted after the rows are synced, the next command finishes it.
    fn apply(
        &self,
        store: &mut Store,
        operation: &mut Operation<'_>,
        ready: &ReadyPlan,
    ) -> Result<OperationReport> {
        let Self {
            place,
            snapshots,
            seen,
            closing,
            ..
        } = *self;
        let ReadyPlan { root, leaving, .. } = ready;
        let merged: Vec<&[u8]> = operation.plan.blobs.values().map(Vec::as_slice).collect();
        // Synced before the rows that name them, like every object.
        snapshots.write_blobs(&merged)?;
        let made_for = operation
            .conversation
            .as_ref()
            .and_then(|it| it.made_for.clone());
        let id = made_for.unwrap_or_else(sessions::new_id);
        write_down(store, place, &id, operation, seen, closing, leaving)
            .map_err(|error| take_back_what_was_written(store, operation, error))?;
        let Finished {
            items,
            git,
            compared,
            unfinished,
        } = finish_first(store, place, snapshots, root, &id, operation, seen);
        let receipt = take_receipt(operation, compared);
        if let Some(error) = unfinished {
            operation.is_incomplete = true;
            operation.warnings.push(notes::unfinished(&error));
        }
        let what = (&items[..], &git[..]);
        Ok(report(
            store,
            operation,
            Some(id),
            what,
            receipt,
            DryRun::No,
        ))
    }
}

/// Like [`finish`], but returns a failure together with what was done: the operation is journalled, so the next command
/// continues it.
fn finish_first(
    store: &mut Store,
    place: &Place,
    snapshots: &Snapshots,
    root: &Root,
    id: &str,
    operation: &Operation<'_>,
    seen: &Observation,
) -> Finished {
    let compare = |store: &Store, items: &[Item], after: Option<&Observation>| {
        let states = (&seen.snapshot, after.unwrap_or(seen));
        let compared = store.database.read(|connection| {
            let expectation = operation.expectation.as_ref();
            receipt::receipt(connection, place, snapshots, expectation, items, states)
        });
        // The report contains the receipt, so the operation's row need not.
        ReceiptOutcome {
            is_incomplete: receipt::leaves_open(&compared),
            receipt: compared,
            note: None,
        }
    };
    finish(
        store,
        place,
        snapshots,
        root,
        id,
        FinishAttempt::First,
        &compare,
    )
    .unwrap_or_else(|error| {
        let git = operation.git.clone().unwrap_or_default();
        Finished::nothing(operation.plan.items.clone(), git, error)
    })
}

/// Takes the comparison into the operation. A path that differs for no known reason is a bug, so the operation then
/// counts as incomplete. A failed comparison becomes a warning.
fn take_receipt(
    operation: &mut Operation<'_>,
    compared: Result<Option<Receipt>>,
) -> Option<Receipt> {
    match compared {
        Ok(receipt) => {
            operation.is_incomplete |= receipt.as_ref().is_some_and(receipt::is_incomplete);
            receipt
        }
        Err(error) => {
            operation.warnings.push(notes::not_compared(&error));
            None
        }
    }
}
