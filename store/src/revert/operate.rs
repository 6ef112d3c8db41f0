//! The path from a movement to its outcome: look and plan, which is here, then check, write the journal, apply, look
//! again and close, which is [`execute`](super::execute).

use ckpt_schema::report::{OperationKind, Outcome};
use rusqlite::Connection;

use super::carry_out::git::{self, GitPlan, GitSide};
use super::carry_out::refusal;
use super::conversation;
use super::execute::{Executed, PlannedRoot, WHO, execute};
use super::goal::expectation::Expectation;
use super::goal::material::{Material, gather};
use super::goal::present::{Scene, known, look};
use super::plan::operation::{Findings, GitFate, Operation, OperationFindings};
use super::plan::{Plan, plan_for};
use super::receipt::notes;
use super::receipt::notes::arrivals;
use super::receipt::notes::surroundings;
use super::receipt::notes::unstored;
use super::recover::Recovered;
use super::request::chain::{chain, newest_of_chain, policy};
use super::request::conversation::JournalledConversation;
use super::request::movement::Movement;
use super::request::options::Options;
use super::request::scope::Part;
use super::request::unclear::UnclearPolicy;
use super::undo::UndoneOperation;
use crate::error::Result;
use crate::model::gap::Gap;
use crate::model::request::Unclear;
use crate::sessions::{self, ChainOperation, OpenStep, OperationRow, WorkTimes};
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::timeline::evidence;
use crate::timeline::{Look, LookOptions, Place};

/// Plans an operation in one workspace and carries it out.
pub(crate) fn operate<'m>(
    store: &mut Store,
    place: &Place,
    moved: Option<&str>,
    options: Options,
    recovered: Recovered,
    plan: impl FnOnce(Scene<'_>) -> Result<Operation<'m>>,
) -> Result<Executed> {
    let planned = planned(store, place, moved, options, recovered, plan)?;
    execute(store, vec![planned], options)
}

/// Plans an operation. The caller holds the workspace's lock and has finished every earlier operation. `plan`
/// decides by the present state and writes nothing. The open steps of the conversation that is `moved` end; without
/// one, any open step goes on.
pub(crate) fn planned<'m>(
    store: &mut Store,
    place: &Place,
    moved: Option<&str>,
    options: Options,
    recovered: Recovered,
    plan: impl FnOnce(Scene<'_>) -> Result<Operation<'m>>,
) -> Result<PlannedRoot<'m>> {
    // Resolve: find the open steps, and refuse or warn if one is busy. Before the look: what will be refused should not
    // read the whole workspace first.
    let (open, before) = known(store, place)?;
    let is_in_the_way =
        |step: &&OpenStep| moved.is_some_and(|session| step.root_session_id == session);
    let ending: Vec<OpenStep> = open.iter().filter(is_in_the_way).cloned().collect();
    let busy = refusal::while_busy(WHO, ending.iter(), store.now(), options)?;
    let snapshots = place.snapshots()?;

    // One look at the workspace, with which the session's own steps end.
    // They end as cut off, not as finished: no event reported their ends, so what came long after the last sign of
    // life stays unclear instead of going back with the agent's work.
    let closing = ending
        .iter()
        .map(|step| (step, evidence::StepStanding::Cut));
    let closing: Vec<_> = closing.collect();
    let looking = LookOptions {
        open: &open,
        closing: &closing,
        ..LookOptions::default()
    };
    let seen = look(store, place, &snapshots, before, looking)?;

    // Plan, and execute what was planned.
    let also_busy = |error| refusal::also_busy(error, WHO, busy);
    // One read transaction: otherwise each of the many queries would take SQLite's locks anew.
    let scene = Scene {
        store,
        place,
        snapshots: &snapshots,
        seen: &seen,
    };
    let planned = store.database.read(|_| plan(scene));
    let mut operation = planned.map_err(also_busy)?;
    operation.found.recovered = recovered.notes.into_iter().collect();
    operation.finished = recovered.finished;
    if let (Some(movement), None) = (operation.movement, &operation.conversation) {
        operation.conversation = conversation::planned(store, movement, options.conversation)?;
    }
    let others = open.iter().filter(|step| !is_in_the_way(step));
    let (is_in_the_way, agents) =
        refusal::beside_others(store, &seen, others, &operation, options)?;
    operation.found.agents = agents.into_iter().collect();
    Ok(PlannedRoot {
        place: place.clone(),
        snapshots,
        operation,
        seen,
        closing: ending,
        busy: busy || is_in_the_way,
    })
}

/// Plans to move the revert point of a session, or a part of it. `prepared` is the agent's half, as far as it is planned or made.
pub(crate) fn plan_movement<'m>(
    store: &mut Store,
    place: &Place,
    movement: &'m Movement,
    options: Options,
    recovered: Recovered,
    prepared: Option<&JournalledConversation>,
) -> Result<PlannedRoot<'m>> {
    let session = Some(&movement.session.id[..]);
    let agreed = conversation::agreed(store, movement, prepared)?;
    planned(store, place, session, options, recovered, |scene| {
        let context = PlanContext { scene, movement };
        Ok(Operation {
            conversation: agreed,
            ..context.plan_and_tell(options)?
        })
    })
}

/// Moves the conversation of a session alone: every file stays, and so does the revert point.
pub(crate) fn operate_conversation(
    store: &mut Store,
    place: &Place,
    movement: &Movement,
    options: Options,
    recovered: Recovered,
    prepared: Option<&JournalledConversation>,
) -> Result<Executed> {
    let agreed = conversation::agreed(store, movement, prepared)?;
    operate(
        store,
        place,
        None,
        options,
        recovered,
        |Scene { store, .. }| {
            let conversation = match agreed {
                Some(agreed) => Some(agreed),
                None => conversation::planned(store, movement, options.conversation)?,
            };
            if let Some(stays) = conversation.iter().find(|it| !it.has_work()) {
                return Err(stays.refusal());
            }
            Ok(Operation {
                conversation,
                ..Operation::restore(Plan::default())
            })
        },
    )
}

/// What planning a movement needs.
struct PlanContext<'a, 'm> {
    scene: Scene<'a>,
    movement: &'m Movement,
}

impl<'m> PlanContext<'_, 'm> {
    /// Plans the movement, and adds what is told of every movement.
    fn plan_and_tell(&self, options: Options) -> Result<Operation<'m>> {
        let connection = self.scene.connection();
        if let Some(operation) = &self.movement.undoes {
            let row = sessions::operation(connection, operation)?;
            return self.plan_undo(&row, options);
        }
        let Scene {
            store,
            place,
            snapshots,
            ..
        } = self.scene;
        let mut operation = self.plan(options)?;
        let git = GitFate::of(operation.git.as_deref());
        let around = surroundings::notes(self.scene, self.movement, git)?;
        let reference = operation.reference.as_ref();
        let (history, plan) = (&operation.history, &operation.plan);
        let went = history.gone();
        let mut gone = Findings::default();
        if let Some(then) = reference.filter(|_| !went.is_empty()) {
            let has_gone = |entry: &Gap| went.contains(&entry.path[..]);
            let work = self.asked_work()?;
            // A file that a step made again is one that changed while the agent worked.
            let is_another = |entry: &Gap| {
                let made = unstored::made_at(store, place, &entry.path);
                let work = work.as_ref().zip(made);
                work.is_some_and(|(work, made)| {
                    made > work.sent_at && (entry.is_directory || !work.holds(made))
                })
            };
            let asked = (has_gone, is_another);
            gone = unstored::gone(place, snapshots, then, asked, plan)?;
        }
        let arrived = arrivals::notes(self.scene, self.movement, (plan, reference))?;
        let parts = [
            around.into_iter().collect(),
            gone,
            arrived.into_iter().collect(),
        ];
        operation.found.surroundings = Findings::joined(parts);
        Ok(operation)
    }

    /// Plans to take an operation back. What is said of the history in question was said when that was made.
    fn plan_undo(&self, row: &OperationRow, options: Options) -> Result<Operation<'m>> {
        let Self { scene, movement } = *self;
        let undone = UndoneOperation { scene, row };
        let chain = undone.chain(movement)?;
        let operation = undone.point_back(movement, &chain)?;
        let git = self.plan_git(options, &chain, operation.unclear)?;
        let uncaptured = notes::not_captured(movement, &operation.plan, scene.seen);
        Ok(Operation {
            git: git.items,
            found: OperationFindings::planned(git.notes.into_iter().chain(uncaptured).collect()),
            ..operation
        })
    }

    /// Plans the movement. Nothing is written.
    fn plan(&self, options: Options) -> Result<Operation<'m>> {
        let Self { scene, movement } = *self;
        let Scene {
            store,
            place,
            snapshots,
            seen,
        } = scene;
        let connection = scene.connection();
        let base = movement.session.revert_base_id;
        let chain = match base {
            Some(base) => chain(connection, &movement.session.id, base)?,
            None => Vec::new(),
        };
        let scopes = movement.scopes(store, &chain)?;
        // If nothing changed since the same revert, the history need not be read. (No tree shows where HEAD is.)
        if !options.git && is_there(connection, movement, seen)? {
            let git = GitSide::of(scene).plan(movement, &chain, None)?;
            let uncaptured = notes::not_captured(movement, &Plan::default(), seen);
            let present = git.notes.into_iter().chain(uncaptured).collect();
            let parts = [self.on_the_movement()?, present];
            return Ok(Operation {
                found: OperationFindings::planned(Findings::joined(parts)),
                ..Operation::nothing(movement, scopes)
            });
        }
        let taking = UnclearPolicy::of(
            connection,
            movement,
            &chain,
            &scopes,
            place.settings.unclear,
        )?;
        let asked = (scopes.as_slice(), &taking);
        let material = gather(scene, movement, &chain, asked)?;
        refusal::unavailable(movement, &material)?;
        let git = self.plan_git(options, &chain, taking.policy)?;
        let expectation = Expectation::of_movement(movement, scopes, taking.scopes);
        // The user's choice wins. Otherwise a redo merges edits made while reverted, whatever policy the reverts had
        // for older ones.
        let on_conflict = movement.on_conflict.unwrap_or_default();
        let undoing = movement.on_conflict.unwrap_or_else(|| policy(&chain));
        let plan = plan_for(snapshots, &material, (undoing, on_conflict))?;
        let items = git.items.clone();
        let parts = [
            self.on_the_movement()?,
            self.on_the_plan(&material, git, &plan)?,
        ];
        let found = OperationFindings::planned(Findings::joined(parts));
        let reference = self.reference(base)?;
        Ok(Operation {
            kind: movement.kind,
            movement: Some(movement),
            lines: material.lines,
            history: material.seen,
            git: items,
            on_conflict,
            unclear: taking.policy,
            base,
            reference,
            found,
            expectation,
            ..Operation::restore(plan)
        })
    }

    /// Returns when the session worked from the message on to which it goes, or of which it undoes a part.
    fn asked_work(&self) -> Result<Option<WorkTimes>> {
        let connection = self.scene.connection();
        let message = match &self.movement.part {
            Some(Part::Step { step, .. }) => sessions::message(connection, &step.message_id)?,
            _ => self.movement.message().cloned(),
        };
        let session = &self.movement.session.id;
        let work = message.map(|message| sessions::work_since(connection, session, message.seq));
        work.transpose()
    }

    /// Returns the snapshot that shows which directories may stay.
    fn reference(&self, base: Option<i64>) -> Result<Option<Snapshot>> {
        let connection = self.scene.connection();
        let mut id = self.movement.reference_snapshot(base);
        if let (None, Some(message)) = (id, self.movement.message()) {
            // What it was before the agent first worked is the nearest.
            id = sessions::first_start_since(connection, message)?;
        }
        let row = id
            .map(|id| sessions::snapshot(connection, id))
            .transpose()?;
        Ok(row.as_ref().map(|row| row.snapshot))
    }

    /// Returns what is known of the history without the plan.
    fn on_the_movement(&self) -> Result<Findings> {
        let Self { scene, movement } = *self;
        let notes = [
            notes::unprotected_message(movement),
            notes::passed_over(scene.connection(), movement)?,
            notes::permissions_of_directories(scene, movement),
        ];
        Ok(notes.into_iter().flatten().collect())
    }

    /// Plans git's own state if the user asked for it, or if a revert that is taken back now moved it.
    fn plan_git(
        &self,
        options: Options,
        chain: &[ChainOperation],
        unclear: Unclear,
    ) -> Result<GitPlan> {
        let Self { scene, movement } = *self;
        let is_forward = movement.kind != OperationKind::Revert;
        let moves_git = options.git || (is_forward && git::was_moved(scene.connection(), chain)?);
        GitSide::of(scene).plan(movement, chain, moves_git.then_some(unclear))
    }

    /// Returns what of the history and of git's state is not in the plan. A redo does not report again what the revert
    /// already left.
    fn on_the_plan(&self, material: &Material, git: GitPlan, plan: &Plan) -> Result<Findings> {
        let Self { scene, movement } = *self;
        let is_revert = movement.kind == OperationKind::Revert;
        let unrecorded = notes::unprotected_steps(material).filter(|_| is_revert);
        let unread = notes::unread_directories(material.seen.unread());
        let staged = match is_revert {
            true => GitSide::of(scene).staged(movement, plan, git.items.as_deref())?,
            false => None,
        };
        let uncaptured = notes::not_captured(movement, plan, scene.seen);
        Ok(Findings::joined([
            notes::unknown_paths(movement, material)?
                .into_iter()
                .collect(),
            Findings::missing(unrecorded.chain(unread)),
            git.into_findings(),
            uncaptured.into_iter().chain(staged).collect(),
            Findings::missing(notes::without_a_step(scene, movement, plan)?),
        ]))
    }
}

/// Returns whether the last thing that happened was this very revert, and it left nothing to do. Then no file has to be
/// read.
fn is_there(connection: &Connection, movement: &Movement, seen: &Look) -> Result<bool> {
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
        // An undo of an undo says nothing of what the revert itself had left.
        && last.undoes.is_none()
        && movement.since == Some(to.seq)
        && movement.on_conflict == Some(last.on_conflict)
        && movement.unclear.is_none_or(|asked| asked == last.unclear);
    // After a partial one, the files that failed or were kept may go back this time.
    let is_whole = matches!(last.outcome, Some(Outcome::Restored | Outcome::Nothing));
    Ok(is_same && is_whole && seen.is_as_after(connection, last.after_snapshot_id)?)
}
