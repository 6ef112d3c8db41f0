//! The path from a movement to its outcome: look, plan, check, write the journal, apply, look again, close.

use ckpt_schema::report::{OperationKind, OperationReport, Outcome, Receipt};
use rusqlite::Connection;

use super::apply::Root;
use super::chain::{chain, newest_of_chain, policy};
use super::gather::{Material, gather};
use super::git::{self, GitSide};
use super::journal::{
    Finished, finish_first, keep_what_was_seen, take_back_what_was_written, write_down,
};
use super::leaving::directories_that_may_go;
use super::movement::Movement;
use super::operation::{GitFate, Operation, Options};
use super::plan::{Plan, count_lines, plan_for};
use super::receipt::{self, Expectation};
use super::recover::Recovered;
use super::report::report;
use super::unclear::Taking;
use super::{
    cleaned, contents, databases, foreseen, ignored, moved_in, refuse, surroundings, token,
    version_control, warnings,
};
use crate::error::{Error, Result};
use crate::model::entry::ObjectId;
use crate::model::git_item::GitItem;
use crate::model::note::Note;
use crate::model::path::WorkspacePath;
use crate::model::progress::OperationProgress;
use crate::model::request::{DryRun, Force, Unclear};
use crate::sessions::{self, ChainOperation, OpenStep};
use crate::snapshot::{Snapshot, Snapshots};
use crate::store::Store;
use crate::timeline::evidence;
use crate::timeline::{Baseline, CaptureOptions, Looking, Observation, Place, snapshot_of};

/// Moves the revert point of a session, or a part of it. The caller holds the workspace's lock and has finished every
/// earlier operation: only a closed operation says where the point is.
pub(crate) fn carry_out(
    store: &mut Store,
    place: &Place,
    movement: &Movement,
    options: Options,
    Recovered {
        warnings, finished, ..
    }: Recovered,
) -> Result<Executed> {
    // Resolve: find the open steps, and refuse or warn if one is busy.
    let (open, before) = known(store, place)?;
    let own: Vec<&OpenStep> = open
        .iter()
        .filter(|step| step.root_session_id == movement.session.id)
        .collect();
    let who = "the agent is at work in this session";
    // Before the look: what will be refused should not read the whole workspace first.
    let busy = refuse::while_busy(who, own.iter().copied(), store.now(), options)?;
    let snapshots = place.snapshots()?;

    // Observe: one look at the workspace, with which the session's own steps end.
    // They end as cut off, not as finished: nobody reported their ends, so what came long after the last sign of
    // life stays unclear instead of going back with the agent's work.
    let closing: Vec<_> = own
        .iter()
        .map(|step| (*step, evidence::StepStanding::Cut))
        .collect();
    let looking = Looking {
        open: &open,
        closing: &closing,
        ..Looking::default()
    };
    let seen = observe(store, place, &snapshots, before, looking)?;

    // Plan, and execute what was planned.
    let scene = PlanContext {
        store,
        place,
        snapshots: &snapshots,
        movement,
        seen: &seen,
    };
    let also_busy = |error| refuse::also_busy(error, who, busy);
    // One read transaction: otherwise each of the many queries would take SQLite's locks anew.
    let planned = store
        .database
        .read(|_| scene.plan_once_told(options, warnings));
    let operation = Operation {
        finished,
        ..planned.map_err(also_busy)?
    };
    let executed =
        execute(store, place, &snapshots, operation, &seen, &own, options).map_err(also_busy)?;
    Ok(executed.while_busy(busy))
}

/// The report on an operation, and its plan. A dry run only made the plan.
#[derive(Debug)]
pub(crate) struct Executed {
    pub report: OperationReport,
    pub plan: Plan,
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

/// What planning a movement needs.
struct PlanContext<'a, 'm> {
    store: &'a Store,
    place: &'a Place,
    snapshots: &'a Snapshots,
    movement: &'m Movement,
    seen: &'a Observation,
}

impl<'a, 'm> PlanContext<'a, 'm> {
    /// Plans the movement, without the warnings that an earlier operation of the same chain has given.
    fn plan_once_told(&self, options: Options, warnings: Vec<Note>) -> Result<Operation<'m>> {
        let connection = self.store.database.connection();
        let mut operation = self.plan(options, warnings)?;
        let git = GitFate::of(operation.git.as_deref());
        operation.warnings.extend(surroundings::told(
            connection,
            self.place,
            self.movement,
            self.seen,
            git,
        )?);
        operation.warnings.extend(cleaned::told(
            self.store,
            self.place,
            self.snapshots,
            self.movement,
            (operation.reference.as_ref(), &self.seen.ignored_gone),
        )?);
        operation.warnings.extend(moved_in::told(
            self.store,
            self.place,
            self.snapshots,
            self.movement,
            (&operation.plan, operation.reference.as_ref()),
        )?);
        let told = surroundings::told_before(connection, self.movement)?;
        operation
            .warnings
            .retain(|note| !surroundings::is_told(&told, note));
        Ok(operation)
    }

    /// Plans the movement. Nothing is written.
    fn plan(&self, options: Options, mut warnings: Vec<Note>) -> Result<Operation<'m>> {
        let Self {
            store,
            place,
            snapshots,
            movement,
            seen,
        } = *self;
        let connection = store.database.connection();
        let base = movement.session.revert_base_id;
        warnings.extend(self.warnings_of_the_movement()?);
        // If nothing changed since the same revert, the history need not be read. (No tree shows where HEAD is.)
        if !options.git && is_there(connection, movement, seen)? {
            let git = self.git_side();
            warnings.extend(warnings::head_moved(&git, movement, base, GitFate::Stays)?);
            warnings.extend(warnings::not_captured(movement, &Plan::default(), seen));
            return Ok(Operation::nothing(movement, warnings));
        }
        let chain = match base {
            Some(base) => chain(connection, &movement.session.id, base)?,
            None => Vec::new(),
        };
        let scopes = movement.scopes(store, &chain)?;
        let taking = Taking::of(
            connection,
            movement,
            &chain,
            &scopes,
            place.settings.unclear,
        )?;
        let asked = (scopes.as_slice(), &taking);
        let material = gather(store, place, snapshots, movement, &chain, seen, asked)?;
        refuse::unavailable(movement, &material)?;
        let git = self.plan_git(options, &chain, taking.policy)?;
        let expectation = Expectation::of_movement(movement, scopes, taking.scopes);
        // The user's choice wins. Otherwise a redo merges edits made while reverted, whatever policy the reverts had
        // for older ones.
        let on_conflict = movement.on_conflict.unwrap_or_default();
        let undoing = movement.on_conflict.unwrap_or_else(|| policy(&chain));
        let is_told = options.dry_run && options.contents;
        let plan = plan_for(snapshots, &material, (undoing, on_conflict), is_told)?;
        warnings.extend(self.warnings_of(&material, GitFate::of(git.as_deref()), &plan)?);
        let reference = self.reference(base)?;
        Ok(Operation {
            kind: movement.kind,
            movement: Some(movement),
            undoes: movement.undoes.clone(),
            plan,
            is_incomplete: is_incomplete(movement, &material),
            lines: material.lines,
            git,
            on_conflict,
            unclear: taking.policy,
            base,
            reference,
            warnings,
            finished: Vec::new(),
            expectation,
        })
    }

    /// Returns the snapshot that shows which directories may stay.
    fn reference(&self, base: Option<i64>) -> Result<Option<Snapshot>> {
        let connection = self.store.database.connection();
        let id = self.movement.reference_snapshot(base);
        let row = id
            .map(|id| sessions::snapshot(connection, id))
            .transpose()?;
        Ok(row.as_ref().map(snapshot_of))
    }

    /// Returns the warnings that do not depend on the plan.
    fn warnings_of_the_movement(&self) -> Result<Vec<Note>> {
        let Self {
            store,
            place,
            snapshots,
            movement,
            seen,
        } = *self;
        let mut told = Vec::new();
        told.extend(warnings::unprotected_message(movement));
        told.extend(warnings::permissions_of_directories(
            store, snapshots, movement, seen,
        ));
        let connection = store.database.connection();
        told.extend(version_control::moved_here(connection, place, movement)?);
        Ok(told)
    }

    fn git_side(&self) -> GitSide<'a> {
        GitSide {
            connection: self.store.database.connection(),
            place: self.place,
            snapshots: self.snapshots,
            now: self.seen.git.as_ref(),
            at: self.store.now(),
        }
    }

    /// Plans git's own state if the user asked for it, or if a revert that is taken back now moved it.
    fn plan_git(
        &self,
        options: Options,
        chain: &[ChainOperation],
        unclear: Unclear,
    ) -> Result<Option<Vec<GitItem>>> {
        let Self { movement, .. } = *self;
        let is_forward = movement.kind != OperationKind::Revert;
        let moves_git =
            options.git || (is_forward && git::was_moved(self.store.database.connection(), chain)?);
        if !moves_git {
            return Ok(None);
        }
        let base = movement.session.revert_base_id;
        let items = self.git_side().plan(movement, chain, base, unclear)?;
        Ok(Some(items))
    }

    /// Returns the warnings that depend on the plan.
    fn warnings_of(&self, material: &Material, git: GitFate, plan: &Plan) -> Result<Vec<Note>> {
        let Self {
            store,
            place,
            snapshots,
            movement,
            seen,
        } = *self;
        let mut told = Vec::new();
        told.extend(warnings::unknown_paths(movement, material)?);
        if movement.kind == OperationKind::Revert {
            told.extend(warnings::unprotected_steps(material));
            told.extend(warnings::vanished(material));
        }
        told.extend(warnings::unread_directories(material));
        if git == GitFate::Along {
            told.extend(git::why_nothing(&place.root));
        }
        let base = movement.session.revert_base_id;
        told.extend(warnings::head_moved(&self.git_side(), movement, base, git)?);
        told.extend(warnings::not_captured(movement, plan, seen));
        told.extend(warnings::without_a_step(
            store, place, snapshots, movement, plan, seen,
        )?);
        Ok(told)
    }
}

/// Returns whether something cannot be undone because it was not recorded or cannot be read. A redo does not report again
/// what the revert already left.
fn is_incomplete(movement: &Movement, material: &Material) -> bool {
    let is_revert = movement.kind == OperationKind::Revert;
    is_revert && !material.unprotected.is_empty() || !material.unread.is_empty()
}

/// Returns the open steps of a workspace, and what is known before the look at it, in one transaction: otherwise each
/// query would take SQLite's locks anew.
pub(crate) fn known(store: &Store, place: &Place) -> Result<(Vec<OpenStep>, Baseline)> {
    store.database.read(|connection| {
        let open = sessions::open_steps(connection, place.row.id)?;
        Ok((open, Baseline::of(connection, place.row.id)?))
    })
}

/// Looks at the workspace, and reports the progress to the watcher.
pub(crate) fn observe(
    store: &Store,
    place: &Place,
    snapshots: &Snapshots,
    before: Baseline,
    looking: Looking<'_>,
) -> Result<Observation> {
    let report = store.reporter();
    let tell = |progress| report(OperationProgress::Looking(progress));
    let how = CaptureOptions {
        progress: Some(&tell),
        ..looking.how
    };
    Observation::make(store, place, snapshots, before, Looking { how, ..looking })
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
    let report = if options.dry_run || !has_work(&operation) {
        execution.only_report(store, &mut operation, &ready)
    } else {
        execution.apply(store, &mut operation, &ready)
    }?;
    Ok(Executed {
        report,
        plan: operation.plan,
    })
}

fn has_work(operation: &Operation<'_>) -> bool {
    let moves_git = operation.git.iter().flatten().any(GitItem::is_planned);
    let moves_point = operation
        .movement
        .is_some_and(|movement| movement.part.is_none() && !movement.is_same_point());
    operation.plan.has_work() || moves_point || moves_git
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
        let databases = databases::Databases {
            root: &place.root,
            snapshots,
            now: &seen.snapshot,
            then: operation.reference,
            force: options.force.goes_on(),
            takes_open: options.force == Force::All,
        };
        databases.keep_whole(&mut operation.plan)?;
        let fingerprint = match options.expected.is_some() || options.dry_run {
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
        refuse::damaged_objects(snapshots, &operation.plan)?;
        if !options.dry_run {
            refuse::no_way_back(store, place, snapshots, &operation.plan, seen)?;
        }
        let root = Root::open(&place.root, place.device()?, place.row.inode)?;
        refuse::check_before_writing(&root, snapshots, &operation.plan, options)?;
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
            let mut came = ignored::told(store, place, (snapshots, seen), movement, goal)?;
            let told = surroundings::told_before(store.database.connection(), movement)?;
            came.retain(|note| !surroundings::is_told(&told, note));
            operation.warnings.extend(came);
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
        let compared = foreseen::receipt(store, place, snapshots, operation, seen);
        let receipt = take_receipt(operation, compared);
        if !options.dry_run {
            keep_what_was_seen(store, place, seen, closing)?;
        }
        let git = operation.git.clone().unwrap_or_default();
        let what = (&operation.plan.items[..], &git[..]);
        let dry_run = DryRun::asked(options.dry_run);
        let mut told = report(store, operation, None, what, receipt, dry_run);
        if options.dry_run && options.contents {
            contents::add(snapshots, &operation.plan, &mut told.files);
        }
        // The caller, who knows what was asked for, makes a token of it.
        let plan = ready
            .fingerprint
            .filter(|_| options.dry_run)
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
        let id = crate::sessions::new_id();
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
            operation.warnings.push(warnings::unfinished(&error));
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

/// Takes the comparison into the operation. A path that differs for no known reason is a bug, so the operation then
/// counts as incomplete. A failed comparison becomes a warning.
fn take_receipt(
    operation: &mut Operation<'_>,
    compared: Result<Option<Receipt>>,
) -> Option<Receipt> {
    match compared {
        Ok(receipt) => {
            operation.is_incomplete |= receipt.as_ref().is_some_and(receipt::is_unexplained);
            receipt
        }
        Err(error) => {
            operation.warnings.push(warnings::not_compared(&error));
            None
        }
    }
}

/// Returns whether the last thing that happened was this very revert, and it left nothing to do. Then no file has to be
/// read.
fn is_there(connection: &Connection, movement: &Movement, seen: &Observation) -> Result<bool> {
    let (Some(base), Some(to), None) = (
        movement.session.revert_base_id,
        &movement.to,
        &movement.part,
    ) else {
        return Ok(false);
    };
    let Some(newest) = newest_of_chain(connection, &movement.session.id, base)? else {
        return Ok(false);
    };
    let last = &newest.row;
    let is_same = last.kind == movement.kind
        && last.message_id.as_ref() == Some(&to.id)
        && last.part_message_id.is_none()
        && last.step_id.is_none()
        && movement.since == Some(to.seq)
        && movement.on_conflict == Some(newest.on_conflict)
        && movement.unclear.is_none_or(|asked| asked == last.unclear);
    // After a partial one, the files that failed or were kept may go back this time.
    let is_whole = matches!(newest.outcome, Some(Outcome::Restored | Outcome::Nothing));
    Ok(is_same && is_whole && seen.is_as_after(connection, last.after_snapshot_id)?)
}
