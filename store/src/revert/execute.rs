//! From a plan to its outcome: check, write the journal, apply, look again, close. A dry run ends after the checks.
//!
//! A session that works in several roots has a plan for each. Every one is checked before the first journal is written,
//! and all journals are written in one transaction. So a crash leaves none of them, or all to be finished.

use ckpt_schema::report::{OperationReport, Receipt};

use super::carry_out::apply::{Root, foresee};
use super::carry_out::closed_directories::ClosedDirectories;
use super::carry_out::databases;
use super::carry_out::emptied_directories::directories_that_may_go;
use super::carry_out::journal::{
    FinishAttempt, Finished, JournalEntry, ReceiptOutcome, WritableWorkspace, finish,
    keep_what_was_seen, take_back_what_was_written, write_down,
};
use super::carry_out::lost_acls;
use super::carry_out::refusal;
use super::plan::operation::{Findings, Operation};
use super::plan::{Plan, count_lines};
use super::receipt;
use super::receipt::forecast;
use super::receipt::notes::surroundings;
use super::receipt::notes::unstored;
use super::receipt::notes::version_control;
use super::report::contents;
use super::report::token;
use super::report::{joined, report};
use super::request::options::Options;
use crate::error::{Error, Result};
use crate::model::entry::ObjectId;
use crate::model::git_item::GitItem;
use crate::model::item::Item;
use crate::model::note::Note;
use crate::model::path::WorkspacePath;
use crate::model::request::DryRun;
use crate::revert::goal::present::Scene;
use crate::revert::request::conversation::JournalledConversation;
use crate::sessions::OpenStep;
use crate::snapshot::Snapshots;
use crate::store::Store;
use crate::timeline::{Look, Place};

/// The report on an operation, and its plans. A dry run only made the plans.
pub(crate) struct Executed {
    pub report: OperationReport,
    /// The plan of each root.
    pub plans: Vec<(Place, Plan)>,
    /// The conversation that is to be made before the plan is carried out. Nothing else speaks against it.
    pub waits_for: Option<JournalledConversation>,
}

impl Executed {
    /// A report without a plan.
    pub fn done(report: OperationReport) -> Self {
        Self {
            report,
            plans: Vec::new(),
            waits_for: None,
        }
    }
}

/// What is said of an agent that is at work in the session that moves.
pub(super) const WHO: &str = "the agent is at work in this session";

/// An operation that is planned in one workspace.
pub(crate) struct PlannedRoot<'m> {
    pub place: Place,
    pub snapshots: Snapshots,
    pub operation: Operation<'m>,
    pub seen: Look,
    /// The steps that end with the look at the workspace.
    pub closing: Vec<OpenStep>,
    /// Whether an agent is at work in the session that moves, or beside it.
    pub busy: bool,
}

/// Carries out the plans of one operation, or only reports what it would do. The first is that of the workspace in which
/// it was asked for; the report of it has those of the others.
pub(crate) fn execute(
    store: &mut Store,
    mut planned: Vec<PlannedRoot<'_>>,
    options: Options,
) -> Result<Executed> {
    let mut fingerprints = Vec::new();
    for one in &mut planned {
        let (execution, operation) = one.parts(options);
        let narrowed = execution.narrow(store, operation);
        fingerprints.push(narrowed.map_err(|error| refusal::also_busy(error, WHO, one.busy))?);
    }
    let fingerprint = token::joined(&fingerprints);
    if options.expected.is_some() && options.expected != fingerprint {
        return Err(Error::stale(
            "the workspace or its history has changed since the plan was made",
        ));
    }
    let mut ready = Vec::new();
    for one in &mut planned {
        let (execution, operation) = one.parts(options);
        let checked = execution.check(store, operation);
        ready.push(checked.map_err(|error| refusal::also_busy(error, WHO, one.busy))?);
    }
    let first = &planned[0].operation;
    let waits_for = first.conversation.as_ref();
    let waits_for = waits_for.filter(|it| it.waits() && !options.dry_run.is_dry());
    if let Some(waits_for) = waits_for.cloned() {
        let what = (&first.plan.items[..], &[][..]);
        return Ok(Executed {
            report: report(store, first, None, what, None, DryRun::Yes),
            plans: Vec::new(),
            waits_for: Some(waits_for),
        });
    }
    let mut ids: Vec<Option<String>> = vec![None; planned.len()];
    if options.dry_run == DryRun::No {
        ids = write_down_all(store, &mut planned, &ready, options)?;
    }
    let mut reports: Vec<Option<OperationReport>> = vec![None; planned.len()];
    for at in inner_first(&planned) {
        let one = &mut planned[at];
        let busy = one.busy;
        let (execution, operation) = one.parts(options);
        let report = match ids[at].take() {
            Some(id) => execution.apply(store, operation, &ready[at], id),
            None => execution.only_report(store, operation)?,
        };
        reports[at] = Some(OperationReport { busy, ..report });
    }
    // The caller, who knows what was asked for, makes a token of it.
    let fingerprint = fingerprint.filter(|_| options.dry_run.is_dry());
    let fingerprint = fingerprint.map(|fingerprint| fingerprint.to_string());
    let roots = planned
        .iter()
        .map(|one| one.place.root.to_string_lossy().into_owned());
    let report = joined(roots.zip(reports.into_iter().flatten()).collect());
    let report = report.ok_or_else(|| Error::failed("nothing was planned"))?;
    Ok(Executed {
        report: OperationReport {
            plan: fingerprint,
            ..report
        },
        plans: planned
            .into_iter()
            .map(|one| (one.place, one.operation.plan))
            .collect(),
        waits_for: None,
    })
}

/// Returns the order in which roots are carried out. One that is below another goes first: what it puts back, the other
/// one finds done.
fn inner_first(planned: &[PlannedRoot<'_>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..planned.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(planned[*at].place.root.components().count()));
    order
}

/// Writes the journals of all plans that have something to do, with that of the first, and returns their ids.
fn write_down_all(
    store: &mut Store,
    planned: &mut [PlannedRoot<'_>],
    ready: &[ReadyPlan],
    options: Options,
) -> Result<Vec<Option<String>>> {
    for one in planned.iter() {
        let merged: Vec<&[u8]> = one
            .operation
            .plan
            .blobs
            .values()
            .map(Vec::as_slice)
            .collect();
        if has_work(&one.operation) {
            // Synced before the rows that name them, like every object.
            one.snapshots.write_blobs(&merged)?;
        }
    }
    if !planned.iter().any(|one| has_work(&one.operation)) {
        return Ok(vec![None; planned.len()]);
    }
    let conversation = planned[0].operation.conversation.as_ref();
    let made_for = conversation.and_then(|it| it.made_for.clone());
    let whole = made_for.unwrap_or_else(|| options.operation());
    // The root where it was asked for has a row of it, even with nothing to do there: its undo is asked for there, too.
    let others = planned[1..]
        .iter()
        .map(|one| has_work(&one.operation).then(|| format!("{whole}-{}", one.place.row.id)));
    let ids: Vec<Option<String>> = std::iter::once(Some(whole.clone())).chain(others).collect();
    let kind = planned[0].operation.kind;
    let mut entries = Vec::new();
    for ((one, ready), id) in planned.iter_mut().zip(ready).zip(&ids) {
        let Some(id) = id else { continue };
        entries.push(JournalEntry {
            id,
            part_of: Some(&*whole).filter(|whole| *whole != id),
            place: &one.place,
            operation: &mut one.operation,
            seen: &one.seen,
            closing: &one.closing,
            leaving: &ready.leaving,
            closed: &ready.closed,
        });
    }
    write_down(store, &mut entries)
        .map_err(|error| take_back_what_was_written(store, kind, error))?;
    Ok(ids)
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
    seen: &'a Look,
    /// The steps that end with the look at the workspace.
    closing: &'a [OpenStep],
    options: Options,
}

/// A plan that passed all checks.
struct ReadyPlan {
    root: Root,
    /// The directories that go if the plan leaves them empty.
    leaving: Vec<WorkspacePath>,
    /// The directories that are opened meanwhile.
    closed: ClosedDirectories,
}

impl<'m> PlannedRoot<'m> {
    /// Divides it into what carrying it out needs and what that changes.
    fn parts(&mut self, options: Options) -> (Execution<'_>, &mut Operation<'m>) {
        let execution = Execution {
            place: &self.place,
            snapshots: &self.snapshots,
            seen: &self.seen,
            closing: &self.closing,
            options,
        };
        (execution, &mut self.operation)
    }
}

impl Execution<'_> {
    fn scene<'a>(&'a self, store: &'a Store) -> Scene<'a> {
        Scene {
            store,
            place: self.place,
            snapshots: self.snapshots,
            seen: self.seen,
        }
    }

    /// Leaves out of the plan what cannot be carried out, and returns the fingerprint of the rest. Databases come before
    /// the fingerprint, because keeping one whole changes the plan.
    fn narrow(&self, store: &Store, operation: &mut Operation<'_>) -> Result<Option<ObjectId>> {
        let Self {
            place,
            snapshots,
            seen,
            options,
            ..
        } = *self;
        let left = version_control::leave_metadata(&mut operation.plan, &seen.gaps);
        let then = operation.reference.and_then(|then| then.seen);
        let hidden_then = snapshots.seen(then)?;
        version_control::leave_broken(&mut operation.plan, &place.root, &hidden_then, &seen.gaps);
        let databases = databases::Databases {
            root: &place.root,
            snapshots,
            now: &seen.snapshot,
            then: operation.reference,
            hidden_then: &hidden_then,
            force: options.takes_logs,
        };
        databases.keep_whole(&mut operation.plan)?;
        let directories = match &operation.reference {
            Some(then) => {
                let states = (then, &seen.snapshot);
                lost_acls::narrow(&mut operation.plan, (snapshots, &place.root), states)?
            }
            None => None,
        };
        operation.found.narrowed = left.into_iter().chain(directories).collect();
        Ok(
            match options.expected.is_some() || options.dry_run.is_dry() {
                true => Some(token::fingerprint(self.scene(store), operation)?),
                false => None,
            },
        )
    }

    /// Finds everything that would go wrong, before anything is written, also in a dry run.
    fn check(&self, store: &Store, operation: &mut Operation<'_>) -> Result<ReadyPlan> {
        let Self {
            place,
            snapshots,
            seen,
            options,
            ..
        } = *self;
        let scene = self.scene(store);
        // After the fingerprint, of which the counts are no part. Counting reads both sides of each file, and no reader
        // shows a plan that is refused as stale.
        count_lines(snapshots, &mut operation.plan, &operation.lines);
        refusal::unread_files(scene, &operation.plan, options)?;
        refusal::damaged_objects(snapshots, &operation.plan)?;
        if options.dry_run == DryRun::No {
            refusal::no_way_back(scene, &operation.plan)?;
        }
        let root = Root::open(&place.root, place.device()?, place.row.inode)?;
        let leaving = directories_that_may_go(store, place, operation)?;
        let what = (&operation.plan, &leaving[..]);
        let closed = refusal::check_before_writing(scene, &root, what, options)?;
        if options.dry_run.is_dry() {
            let contents =
                |blob: ObjectId, to: &mut dyn std::io::Write| snapshots.copy_blob(blob, to);
            foresee(&root, &mut operation.plan.items, &contents);
        }
        let staying = surroundings::folders_that_stay(scene, &operation.plan, &leaving)?;
        let left = match operation.movement {
            Some(movement) => {
                let goal = (operation.reference.as_ref(), &operation.plan, &leaving[..]);
                let (look, history) = ((snapshots, seen), &operation.history);
                unstored::stays(store, place, look, movement, goal, history)?
            }
            None => Findings::default(),
        };
        operation.found.checked = Findings::joined([Findings::missing(staying), left]);
        Ok(ReadyPlan {
            root,
            leaving,
            closed,
        })
    }

    /// Reports a plan that is not carried out, or that has nothing to do.
    fn only_report(
        &self,
        store: &mut Store,
        operation: &mut Operation<'_>,
    ) -> Result<OperationReport> {
        let Self {
            place,
            snapshots,
            seen,
            closing,
            options,
        } = *self;
        let compared = forecast::receipt(self.scene(store), operation);
        let receipt = take_receipt(operation, compared, None);
        if options.dry_run == DryRun::No {
            keep_what_was_seen(store, place, seen, closing)?;
        }
        let git = operation.git.clone().unwrap_or_default();
        let what = (&operation.plan.items[..], &git[..]);
        let mut told = report(store, operation, None, what, receipt, options.dry_run);
        if options.dry_run.is_dry() && options.contents {
            contents::add(snapshots, &operation.plan, &mut told.files);
        }
        Ok(told)
    }

    /// Carries out the plan, which is in the journal: if it is interrupted, the next command finishes it.
    fn apply(
        &self,
        store: &mut Store,
        operation: &mut Operation<'_>,
        ready: &ReadyPlan,
        id: String,
    ) -> OperationReport {
        let opened = WritableWorkspace {
            place: self.place,
            snapshots: self.snapshots,
            root: &ready.root,
        };
        let Finished {
            items,
            git,
            compared,
            unfinished,
        } = finish_first(store, opened, &id, operation, self.seen);
        let receipt = take_receipt(operation, compared, unfinished.as_ref());
        let what = (&items[..], &git[..]);
        store.leave_stuck();
        report(store, operation, Some(id), what, receipt, DryRun::No)
    }
}

/// Like [`finish`], but returns a failure together with what was done: the operation is journalled, so the next command
/// continues it.
fn finish_first(
    store: &mut Store,
    opened: WritableWorkspace<'_>,
    id: &str,
    operation: &Operation<'_>,
    seen: &Look,
) -> Finished {
    let WritableWorkspace {
        place, snapshots, ..
    } = opened;
    let compare = |store: &Store, items: &[Item], after: Option<&Look>| {
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
    finish(store, opened, id, FinishAttempt::First, &compare).unwrap_or_else(|error| {
        let git = operation.git.clone().unwrap_or_default();
        Finished::nothing(operation.plan.items.clone(), git, error)
    })
}

/// Takes the result into the operation. A path that differs for no known reason is a bug, so the operation then counts as
/// incomplete.
fn take_receipt(
    operation: &mut Operation<'_>,
    compared: Result<Option<Receipt>>,
    unfinished: Option<&Error>,
) -> Option<Receipt> {
    let why = Error::with_causes;
    let failed = compared.as_ref().err().map(why);
    let failed = failed.map(|why| Note::NotCompared { why });
    let open = unfinished.map(why).map(|why| Note::StaysOpen { why });
    operation.found.result = Findings {
        is_incomplete: receipt::leaves_open(&compared) || open.is_some(),
        notes: failed.into_iter().chain(open).collect(),
    };
    compared.ok().flatten()
}
