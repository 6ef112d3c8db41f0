//! Turns a request into a plan, and carries it out. `docs/architecture.md` draws the path, under "Reverting".
//! Each folder imports only those before it: `request`, `goal`, `plan`, `carry_out`, `receipt`, `report`. The files beside
//! them are the road.

pub mod carry_out;
pub mod goal;
pub mod plan;
pub mod request;

mod execute;
mod operate;
mod put_back;
mod receipt;
mod recover;
mod report;
mod restore;
mod undo;

use std::path::{Path, PathBuf};

use ckpt_schema::report::{
    NoteCode, OperationKind, OperationReport, Outcome, RevertedSession, VERSION,
};

use crate::error::{Error, Result};
use crate::fs::layout::Lock;
use crate::model::entry::{Entry, ObjectId};
use crate::model::note::{self, Note};
use crate::model::request::{
    Chosen, ChosenContent, DryRun, Force, RedoRequest, RestoreRequest, RevertRequest, UndoRequest,
};
use crate::sessions;
use crate::store::Store;
use crate::timeline::Place;
use crate::upkeep::check;
use execute::Executed;
use plan::Plan;
use plan::operation::Options;
use put_back::Wanted;
use recover::Recovered;
use report::token::{PlanRequest, PlanToken, absolute};
use request::movement::Movement;

pub(crate) use carry_out::journal::has_begun;
pub(crate) use goal::states::PathStates;
pub(crate) use recover::{finish_open_operations, interrupted};
pub(crate) use request::chain::{make_permanent, went_back};
pub(crate) use restore::snapshot_named;

/// Goes back to just before a message. With an expected fingerprint, only the plan that has it is carried out.
pub(crate) fn revert(
    store: &mut Store,
    cwd: &Path,
    request: &RevertRequest,
    expected: Option<ObjectId>,
) -> Result<Executed> {
    if request.git && request.is_part() {
        return Err(Error::failed(
            "`--git` works only with a whole revert: HEAD and the index do not belong to a path, a step or a single message",
        ));
    }
    let place = Place::known(store, cwd)?;
    or_mended(store, &place, |store| {
        revert_in(store, &place, cwd, request, expected)
    })
}

fn revert_in(
    store: &mut Store,
    place: &Place,
    cwd: &Path,
    request: &RevertRequest,
    expected: Option<ObjectId>,
) -> Result<Executed> {
    let (_lock, recovered) = enter(store, place, DryRun::asked(request.dry_run))?;
    let done = recovered.done.clone();
    let options = Options {
        dry_run: DryRun::asked(request.dry_run),
        force: request.force,
        git: request.git,
        expected,
        contents: request.contents,
    };
    let reading: &Store = store;
    let movement = reading
        .database
        .read(|_| Movement::of_revert(reading, place, request))
        .map_err(|error| error.after(done.clone()))?;
    let executed = operate::carry_out(store, place, &movement, options, recovered)
        .map_err(|error| error.after(done))?;
    // In full: a short id may mean two messages by the time that the token is used.
    let asked = RevertRequest {
        message: movement.asked_for.clone().unwrap_or_default(),
        step: movement.step().map(str::to_owned),
        session: Some(movement.session.id.clone()),
        only: absolute(cwd, &request.only),
        ..request.clone()
    };
    Ok(with_token(executed, place, PlanRequest::Revert(asked)))
}

/// Goes forward again. With an expected fingerprint, only the plan that has it is carried out.
pub(crate) fn redo(
    store: &mut Store,
    cwd: &Path,
    request: &RedoRequest,
    expected: Option<ObjectId>,
) -> Result<Executed> {
    let place = Place::known(store, cwd)?;
    or_mended(store, &place, |store| {
        redo_in(store, &place, request, expected)
    })
}

fn redo_in(
    store: &mut Store,
    place: &Place,
    request: &RedoRequest,
    expected: Option<ObjectId>,
) -> Result<Executed> {
    let (_lock, recovered) = enter(store, place, DryRun::asked(request.dry_run))?;
    let done = recovered.done.clone();
    let movement =
        Movement::of_redo(store, place, request).map_err(|error| error.after(done.clone()))?;
    let Some(movement) = movement else {
        if expected.is_some() {
            return Err(Error::stale("nothing is reverted any more").after(done));
        }
        let kind = if request.all {
            OperationKind::Unrevert
        } else {
            OperationKind::Redo
        };
        let connection = store.database.connection();
        let others = sessions::other_reverted_sessions(connection, place.row.id, None)?;
        return Ok(Executed {
            report: nothing_reverted(kind, DryRun::asked(request.dry_run), recovered, others),
            plan: Plan::default(),
        });
    };
    let options = Options {
        dry_run: DryRun::asked(request.dry_run),
        force: request.force,
        git: request.git,
        expected,
        contents: request.contents,
    };
    let executed = operate::carry_out(store, place, &movement, options, recovered)
        .map_err(|error| error.after(done))?;
    let asked = RedoRequest {
        session: Some(movement.session.id.clone()),
        ..request.clone()
    };
    Ok(with_token(executed, place, PlanRequest::Redo(asked)))
}

/// Carries out an operation. If an object that it needs is damaged, heals the store and tries once more. A damaged
/// index of an intact pack, or a tree that can be made again from other snapshots, is no reason to refuse.
fn or_mended(
    store: &mut Store,
    place: &Place,
    mut carry_out: impl FnMut(&mut Store) -> Result<Executed>,
) -> Result<Executed> {
    store.database.keep_pages()?;
    let error = match carry_out(store) {
        Err(error) if error.is_damage() => error,
        done => return done,
    };
    // What cannot be healed, for whatever reason, is told as it was found.
    if !check::heal_workspace(store, place).unwrap_or(false) {
        return Err(error);
    }
    let before = error.notes().to_vec();
    let mut executed = carry_out(store).map_err(|error| error.after(before.clone()))?;
    executed.report.notes.splice(0..0, before);
    Ok(executed)
}

/// Finds the files that are gone at or below paths, or with that name, each with its last state.
pub(crate) type FindGone = dyn Fn(&Store, &Place, &[PathBuf]) -> Result<PathStates>;

/// Carries out the plan of a dry run. If anything that it is based on has changed, the workspace is left alone.
pub(crate) fn apply(
    store: &mut Store,
    token: &str,
    force: Force,
    find_gone: &FindGone,
) -> Result<OperationReport> {
    let PlanToken {
        workspace,
        asked,
        fingerprint,
    } = PlanToken::decode(token)?;
    let how = PlanOptions {
        dry_run: DryRun::No,
        force,
        find_gone,
    };
    let executed = carry_out(store, &workspace, asked, Some(fingerprint), how)?;
    Ok(executed.report)
}

/// Returns the workspace of a dry run's token.
pub(crate) fn workspace_of(token: &str) -> Result<PathBuf> {
    PlanToken::decode(token).map(|token| token.workspace)
}

/// Returns the workspace of a dry run's token, and what the plan would do now.
pub(crate) fn planned(
    store: &mut Store,
    token: &str,
    find_gone: &FindGone,
) -> Result<(PathBuf, Plan)> {
    let PlanToken {
        workspace, asked, ..
    } = PlanToken::decode(token)?;
    // Whether an agent is at work is checked when it is carried out.
    let how = PlanOptions {
        dry_run: DryRun::Yes,
        force: Force::Yes,
        find_gone,
    };
    let plan = carry_out(store, &workspace, asked, None, how)?.plan;
    Ok((workspace, plan))
}

/// How to carry out what a token asks for.
#[derive(Clone, Copy)]
struct PlanOptions<'a> {
    dry_run: DryRun,
    force: Force,
    find_gone: &'a FindGone,
}

fn carry_out(
    store: &mut Store,
    workspace: &Path,
    asked: PlanRequest,
    expected: Option<ObjectId>,
    PlanOptions {
        dry_run,
        force,
        find_gone,
    }: PlanOptions<'_>,
) -> Result<Executed> {
    match asked {
        PlanRequest::Revert(request) => {
            let request = RevertRequest {
                dry_run: dry_run.is_dry(),
                force,
                ..request
            };
            revert(store, workspace, &request, expected)
        }
        PlanRequest::Redo(request) => {
            let request = RedoRequest {
                dry_run: dry_run.is_dry(),
                force,
                ..request
            };
            redo(store, workspace, &request, expected)
        }
        PlanRequest::Restore(request) => {
            let request = RestoreRequest {
                dry_run: dry_run.is_dry(),
                force,
                ..request
            };
            restore(store, workspace, &request, expected)
        }
        PlanRequest::Undo(request) => {
            let request = UndoRequest {
                dry_run: dry_run.is_dry(),
                force,
                ..request
            };
            undo(store, workspace, &request, expected)
        }
        PlanRequest::Recover(named) => {
            let states = find_gone(store, &Place::known(store, workspace)?, &named)?;
            let options = Options {
                expected,
                ..plain(dry_run, force)
            };
            recover_in(store, workspace, &named, &states, options)
        }
    }
}

/// Turns the fingerprint of a planned operation into a token.
fn with_token(executed: Executed, place: &Place, asked: PlanRequest) -> Executed {
    let Executed { report, plan: made } = executed;
    let fingerprint = report.plan.as_deref().and_then(ObjectId::from_hex);
    let plan = fingerprint.map(|fingerprint| {
        let workspace = place.root.clone();
        PlanToken {
            workspace,
            asked,
            fingerprint,
        }
        .encode()
    });
    Executed {
        report: OperationReport { plan, ..report },
        plan: made,
    }
}

/// Prepares the workspace for an operation: takes its lock, notices lost rows, and finishes what a crash left before
/// anything is planned.
fn enter(store: &mut Store, place: &Place, dry_run: DryRun) -> Result<(Lock, Recovered)> {
    let lock = place.lock(crate::timeline::LOCK_TIMEOUT)?;
    crate::timeline::notice(store, place, &lock)?;
    let recovered = recover::recover(store, place, dry_run)?;
    Ok((lock, recovered))
}

/// Puts paths back to any captured state. With an expected fingerprint, only the plan that has it is carried out.
pub(crate) fn restore(
    store: &mut Store,
    cwd: &Path,
    request: &RestoreRequest,
    expected: Option<ObjectId>,
) -> Result<Executed> {
    let place = Place::known(store, cwd)?;
    let executed = or_mended(store, &place, |store| {
        restore::restore(store, &place, request, expected)
    })?;
    let asked = RestoreRequest {
        paths: absolute(cwd, &request.paths),
        ..request.clone()
    };
    Ok(with_token(executed, &place, PlanRequest::Restore(asked)))
}

/// Takes an operation back. With an expected fingerprint, only the plan that has it is carried out.
pub(crate) fn undo(
    store: &mut Store,
    cwd: &Path,
    request: &UndoRequest,
    expected: Option<ObjectId>,
) -> Result<Executed> {
    let place = Place::known(store, cwd)?;
    let dry_run = DryRun::asked(request.dry_run);
    let options = Options {
        expected,
        contents: request.contents,
        ..plain(dry_run, request.force)
    };
    let executed = or_mended(store, &place, |store| {
        let (_lock, recovered) = enter(store, &place, dry_run)?;
        let done = recovered.done.clone();
        undo::under_lock(store, &place, request, options, recovered)
            .map_err(|error| error.after(done))
    })?;
    let asked = PlanRequest::Undo(request.clone());
    Ok(with_token(executed, &place, asked))
}

/// Puts back the files that are gone at or below paths, or with that name, each in its last state.
pub(crate) fn recover(
    store: &mut Store,
    cwd: &Path,
    named: &[PathBuf],
    states: &PathStates,
    dry_run: DryRun,
    force: Force,
) -> Result<OperationReport> {
    let executed = recover_in(store, cwd, named, states, plain(dry_run, force))?;
    Ok(executed.report)
}

fn recover_in(
    store: &mut Store,
    cwd: &Path,
    named: &[PathBuf],
    states: &PathStates,
    options: Options,
) -> Result<Executed> {
    let seen = PathStates::new();
    let wanted = Wanted {
        states,
        seen: &seen,
        undoes: None,
    };
    let executed = put_back::put_back(store, cwd, wanted, options)?;
    let asked = PlanRequest::Recover(absolute(cwd, named));
    Ok(with_token(executed, &Place::known(store, cwd)?, asked))
}

/// Returns the options of an operation that sets files to entries, each to its own.
fn plain(dry_run: DryRun, force: Force) -> Options {
    Options {
        dry_run,
        force,
        git: false,
        expected: None,
        contents: false,
    }
}

/// Does to each file what the user chose of a plan, which may be the one of an undo.
pub(crate) fn apply_parts(
    store: &mut Store,
    cwd: &Path,
    chosen: &[Chosen],
    undoes: Option<&str>,
    dry_run: DryRun,
    force: Force,
) -> Result<OperationReport> {
    let mut seen = PathStates::new();
    let mut states = PathStates::new();
    let texts: Vec<&[u8]> = chosen.iter().filter_map(Chosen::bytes).collect();
    // Objects first, then the rows that name them.
    let snapshots = Place::known(store, cwd)?.snapshots()?;
    let mut blobs = snapshots.write_blobs(&texts)?.into_iter();
    for part in chosen {
        let state = match &part.content {
            ChosenContent::State(state) => *state,
            ChosenContent::Text { mode, .. } => blobs.next().map(|blob| Entry::stored(*mode, blob)),
        };
        seen.insert(part.path.clone(), part.seen);
        states.insert(part.path.clone(), state);
    }
    let wanted = Wanted {
        states: &states,
        seen: &seen,
        undoes,
    };
    let executed = put_back::put_back(store, cwd, wanted, plain(dry_run, force))?;
    // What was chosen cannot be asked for by a token.
    Ok(OperationReport {
        plan: None,
        ..executed.report
    })
}

/// The state just before an operation, to which undoing it leads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PriorState {
    /// Whether nothing was reverted, so that unrevert leads back there.
    pub is_unreverted: bool,
    /// The revert point.
    pub point: Option<String>,
    /// Whether the operation was about a part, so that the point stayed.
    pub is_part: bool,
}

/// Returns the state just before an operation.
pub(crate) fn before(store: &Store, operation: &str) -> Result<PriorState> {
    let connection = store.database.connection();
    let row = sessions::operation(connection, operation)?;
    Ok(PriorState {
        is_unreverted: row.base_snapshot_id.is_some()
            && row.base_snapshot_id == row.before_snapshot_id,
        point: row.from_message_id,
        is_part: row.part_message_id.is_some() || row.step_id.is_some(),
    })
}

/// The report for a session (or, without one, a workspace) in which nothing is reverted.
fn nothing_reverted(
    kind: OperationKind,
    dry_run: DryRun,
    recovered: Recovered,
    also_reverted: Vec<RevertedSession>,
) -> OperationReport {
    let mut warnings = recovered.warnings;
    warnings.push(Note::new(
        NoteCode::NothingReverted,
        if also_reverted.is_empty() {
            "nothing is reverted"
        } else {
            "nothing of this session is reverted"
        },
    ));
    OperationReport {
        version: VERSION,
        operation: None,
        kind,
        session: None,
        message: None,
        alone: None,
        undoes: None,
        outcome: Outcome::Nothing,
        dry_run: dry_run.is_dry(),
        plan: None,
        busy: false,
        messages_hidden: Vec::new(),
        files: Vec::new(),
        git: Vec::new(),
        also_reverted,
        receipt: None,
        finished: recovered.finished,
        notes: note::texts(&warnings),
        remarks: note::reports(&warnings),
    }
}
