//! Turns a request into a plan, and carries it out. `docs/architecture.md` draws the path, under "Reverting".
//! Each folder imports only those before it: `request`, `goal`, `plan`, `carry_out`, `receipt`, `report`. The files beside
//! them are the road.

pub mod carry_out;
pub mod goal;
pub mod plan;
pub mod request;

mod conversation;
mod execute;
mod lineage;
mod operate;
mod receipt;
mod recover;
mod report;
mod restore;
mod roots;
mod undo;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ckpt_schema::report::{OperationKind, OperationReport};

use crate::error::{Error, ErrorKind, Result};
use crate::model::entry::ObjectId;
use crate::model::instruction::Instruction;
use crate::model::note::Note;
use crate::model::request::{Chosen, ConversationChoice, DryRun, Force, PlanOrigin, RevertRequest};
use crate::sessions;
use crate::store::Store;
use crate::timeline::Place;
use crate::upkeep::check;
use carry_out::conversation as fork;
use execute::Executed;
use operate::operate_conversation;
use plan::Plan;
use plan::operation::{Operation, OperationFindings};
use recover::Recovered;
use report::token::{PlanToken, absolute};
use request::conversation::JournalledConversation;
use request::movement::Movement;
use restore::{Wanted, WantedInRoots};
use roots::{Beside, operate_movements};

pub(crate) use roots::roots_of_sessions;

pub(crate) use carry_out::conversation::taken_back as fork_taken_back;
pub(crate) use carry_out::journal::has_begun;
pub(crate) use conversation::{conversation_place, fork_beside, left, pending, pending_of};
pub(crate) use goal::states::PathStates;
pub(crate) use lineage::{forked_from, inherited, resolve_forks_at};
pub(crate) use recover::{finish_all_open, finish_open_operations, interrupted};
pub(crate) use request::chain::{make_permanent, went_back};
pub use request::options::RequestKey;
pub(crate) use request::options::{Options, PlanRequest};
pub(crate) use restore::snapshot_named;

/// Carries out a request. With an expected fingerprint, only the plan that has it is carried out. `gone` holds the last
/// states of the files that a recovery names.
pub(crate) fn operate(
    store: &mut Store,
    cwd: &Path,
    request: &PlanRequest,
    gone: Option<&StatesInRoots>,
    options: Options,
) -> Result<Executed> {
    refuse_git_of_a_part(request)?;
    let place = Place::known(store, cwd)?;
    let mut beside = Beside::of(store, &place, request)?;
    // Before the lock, so that a mistake in a path does not finish an interrupted operation first.
    if let PlanRequest::Restore(request) = request {
        let (own, _) = beside.divide(&place, &request.paths)?;
        place.paths_asked_for(&own)?;
    }
    let mut prepared = conversation::prepared(store, &place, request, options.conversation);
    let mut earlier = vec![Recovered::default(); 1 + beside.places.len()];
    let (mut asked, mut pending) = (request.clone(), None);
    loop {
        let mut found = None;
        let places = (&place, &beside.places[..]);
        let part = OperationContext {
            cwd,
            gone,
            options,
            prepared: prepared.as_ref(),
            beside: &beside,
        };
        let before = earlier.clone();
        let executed = under_locks(store, places, options.dry_run, |store, recovered| {
            let all = before.iter().cloned().zip(recovered);
            earlier = all.map(|(before, now)| before.and(now)).collect();
            // What was finished just now may be what the request is about, with other roots.
            let now = Beside::of(store, &place, request)?;
            if !now.is_of_the_same(&beside) {
                found = Some(now);
                return Ok(None);
            }
            let done = part.carry_out(store, &place, &mut asked, earlier.clone());
            done.map(Some)
        });
        let executed = executed.map_err(|error| match (&prepared, &pending) {
            (Some(made), Some(_)) => error.after([fork::unused(made).to_string()]),
            _ => error,
        })?;
        let Some(executed) = executed else {
            beside = found.unwrap_or_default();
            let all = earlier.into_iter().reduce(Recovered::and);
            earlier = vec![Recovered::default(); beside.places.len()];
            earlier.insert(0, all.unwrap_or_default());
            continue;
        };
        let Some(waits_for) = executed.waits_for.clone() else {
            return Ok(with_token(executed, &place, asked, store.is_limited));
        };
        // No lock is held: the hooks of other agents go on.
        let (noted, made) = fork::fork(store, &place, waits_for, options.operation())?;
        (pending, prepared) = (Some(noted), Some(made));
    }
}

/// A request, and what it is carried out with.
struct OperationContext<'a> {
    cwd: &'a Path,
    gone: Option<&'a StatesInRoots>,
    options: Options,
    prepared: Option<&'a JournalledConversation>,
    beside: &'a Beside,
}

impl OperationContext<'_> {
    /// Carries out a request, and completes it so that it means the same later. The caller holds the workspace's lock.
    fn carry_out(
        &self,
        store: &mut Store,
        place: &Place,
        request: &mut PlanRequest,
        mut recovered: Vec<Recovered>,
    ) -> Result<Executed> {
        let (cwd, beside) = (self.cwd, self.beside);
        let (options, how) = (self.options, (self.options, self.prepared));
        if let Some(report) = report::of_key(store, self.options, recovered[0].reported())? {
            return Ok(Executed::done(report));
        }
        match request {
            PlanRequest::Revert(request) => {
                let (only, paths) = beside.divide(place, &request.only)?;
                let own = RevertRequest {
                    only,
                    ..request.clone()
                };
                let reading: &Store = store;
                let read = |_: &_| Movement::of_revert(reading, place, &own);
                let movement = reading.database.read(read)?;
                // A short id may mean two messages by the time that the token is used.
                *request = RevertRequest {
                    message: movement.asked_for.clone().unwrap_or_default(),
                    step: movement.step().map(str::to_owned),
                    session: Some(movement.session.id.clone()),
                    only: absolute(cwd, &request.only),
                    ..request.clone()
                };
                if self.options.conversation == ConversationChoice::Only {
                    let recovered = recovered.swap_remove(0);
                    let (options, prepared) = how;
                    return operate_conversation(
                        store, place, &movement, options, recovered, prepared,
                    );
                }
                operate_movements(store, place, movement, (beside, &paths), how, recovered)
            }
            PlanRequest::Redo(request) => {
                let Some(movement) = Movement::of_redo(store, place, request)? else {
                    let recovered = recovered.swap_remove(0);
                    return nothing_reverted(store, place, request.all, options, recovered);
                };
                request.session = Some(movement.session.id.clone());
                operate_movements(store, place, movement, (beside, &[]), how, recovered)
            }
            PlanRequest::Restore(request) => {
                let asked = request.clone();
                request.paths = absolute(cwd, &request.paths);
                roots::restore(store, place, &asked, beside, options, recovered)
            }
            PlanRequest::Undo(request) => {
                roots::undo(store, place, &request.operation, beside, options, recovered)
            }
            PlanRequest::Recover(named) => {
                *named = absolute(cwd, named);
                let gone = self.gone.into_iter().flatten();
                let gone = gone.map(|(root, states)| (*root, Wanted::captured(states.clone())));
                let wanted = (&gone.collect::<WantedInRoots>(), &PlanOrigin::default());
                roots::put_back(store, place, beside, wanted, options, recovered)
            }
        }
    }
}

/// Refuses `--git` and `--conversation` with a part: HEAD, the index and the conversation do not belong to it.
fn refuse_git_of_a_part(request: &PlanRequest) -> Result<()> {
    match request {
        PlanRequest::Revert(request) if request.git && request.is_part() => {
            Err(Error::failed(format!(
                "{:#} works only with a whole revert: HEAD and the index do not belong to a path, a step or a single message",
                Instruction::Git
            )))
        }
        PlanRequest::Restore(request) if request.git && !request.paths.is_empty() => {
            Err(Error::failed(format!(
                "{:#} works only with a whole restore: HEAD and the index do not belong to a path",
                Instruction::Git
            )))
        }
        PlanRequest::Revert(request)
            if request.conversation != ConversationChoice::No && request.is_part() =>
        {
            Err(Error::failed(format!(
                "{:#} works only with a whole revert: after a path, a step or a single message, the conversation goes on",
                Instruction::Conversation
            )))
        }
        _ => Ok(()),
    }
}

/// Does something under the locks of a workspace and those beside it, once what a crash left is finished and before
/// anything is planned. It does nothing if other roots are to be locked. If an object that it needs is damaged, heals the store and tries once more. A damaged index of an
/// intact pack, or a tree that can be made again from other snapshots, is no reason to refuse.
fn under_locks(
    store: &mut Store,
    (place, beside): (&Place, &[Place]),
    dry_run: DryRun,
    mut carry_out: impl FnMut(&mut Store, Vec<Recovered>) -> Result<Option<Executed>>,
) -> Result<Option<Executed>> {
    let mut locking = |store: &mut Store| {
        // In one order, so that two that want the same locks do not wait for each other.
        let mut order: Vec<&Place> = std::iter::once(place).chain(beside).collect();
        order.sort_by_key(|place| place.row.id);
        let mut locks = Vec::new();
        for place in order {
            let lock = place.lock(crate::timeline::LOCK_TIMEOUT)?;
            crate::timeline::notice(store, place, &lock)?;
            locks.push(lock);
        }
        if dry_run == DryRun::No {
            place.note_move(store)?;
        }
        let mut recovered = Vec::new();
        for place in std::iter::once(place).chain(beside) {
            recovered.push(recover::recover(store, place, dry_run)?);
        }
        let done: Vec<String> = recovered.iter().flat_map(Recovered::done).collect();
        carry_out(store, recovered).map_err(|error| error.after(done))
    };
    store.database.keep_pages()?;
    let error = match locking(store) {
        Err(error) if error.is_damage() => error,
        done => return done,
    };
    // What cannot be healed, for whatever reason, is told as it was found.
    let heal = |place: &Place| check::heal_workspace(store, place).unwrap_or(false);
    let healed: Vec<bool> = std::iter::once(place).chain(beside).map(heal).collect();
    if !healed.contains(&true) {
        return Err(error);
    }
    let before = error.notes().to_vec();
    let mut executed = locking(store).map_err(|error| error.after(before.clone()))?;
    if let Some(executed) = &mut executed {
        executed.report.notes.splice(0..0, before);
    }
    Ok(executed)
}

/// Finds the files that are gone at or below paths, or with that name, each with its last state.
pub(crate) type FindGone = dyn Fn(&Store, &Place, &[PathBuf]) -> Result<StatesInRoots>;

/// The states of files in several roots, by the number of the workspace.
pub(crate) type StatesInRoots = BTreeMap<i64, PathStates>;

/// Carries out the plan of a dry run. If anything that it is based on has changed, the workspace is left alone.
pub(crate) fn apply(
    store: &mut Store,
    token: &str,
    force: Force,
    key: Option<RequestKey>,
    find_gone: &FindGone,
) -> Result<OperationReport> {
    let options = Options::new(DryRun::No, force).keyed(key);
    let (_, executed) = operate_as_planned(store, token, options, find_gone)?;
    Ok(executed.report)
}

/// Returns whether an operation was begun for a key.
pub(crate) fn is_begun(store: &Store, key: RequestKey) -> bool {
    let options = Options::new(DryRun::No, Force::No).keyed(Some(key));
    sessions::operation(store.database.connection(), &options.operation()).is_ok()
}

/// Returns whether a dry run's token is of the workspace that holds `cwd`.
pub(crate) fn is_plan_of(store: &Store, token: &str, cwd: &Path) -> Result<bool> {
    let workspace = PlanToken::decode(token)?.workspace;
    let place = Place::find(store, cwd)?;
    Ok(place.is_some_and(|place| place.root == workspace))
}

/// Returns the workspace of a dry run's token, and what would be done. If that is another plan by now, the error is
/// `Stale`.
pub(crate) fn planned(
    store: &mut Store,
    token: &str,
    find_gone: &FindGone,
) -> Result<(PathBuf, Executed)> {
    operate_as_planned(
        store,
        token,
        Options::new(DryRun::Yes, Force::No),
        find_gone,
    )
}

/// Plans the request of a token, or carries it out, if the plan is still the one of the token.
fn operate_as_planned(
    store: &mut Store,
    token: &str,
    options: Options,
    find_gone: &FindGone,
) -> Result<(PathBuf, Executed)> {
    let PlanToken {
        workspace,
        asked,
        fingerprint,
        is_limited,
    } = PlanToken::decode(token)?;
    store.is_limited = is_limited;
    let options = Options {
        expected: Some(fingerprint),
        ..options
    };
    let executed = operate_token(store, &workspace, &asked, options, find_gone)?;
    Ok((workspace, executed))
}

/// Carries out the request of a token, with other options than it was planned with.
fn operate_token(
    store: &mut Store,
    workspace: &Path,
    asked: &PlanRequest,
    options: Options,
    find_gone: &FindGone,
) -> Result<Executed> {
    let options = Options {
        git: asked.options().git,
        conversation: asked.options().conversation,
        ..options
    };
    let gone = match asked {
        PlanRequest::Recover(named) => {
            Some(find_gone(store, &Place::known(store, workspace)?, named)?)
        }
        _ => None,
    };
    let mut operate = |takes_logs| {
        let options = Options {
            takes_logs,
            ..options
        };
        operate(store, workspace, asked, gone.as_ref(), options)
    };
    // A token does not say whether it was planned with `--force`, which may take more files along.
    match operate(options.takes_logs) {
        Err(error) if error.kind == ErrorKind::Stale => operate(!options.takes_logs),
        made => made,
    }
}

/// Turns the fingerprint of a planned operation into a token.
fn with_token(executed: Executed, place: &Place, asked: PlanRequest, is_limited: bool) -> Executed {
    let fingerprint = executed.report.plan.as_deref();
    let fingerprint = fingerprint.and_then(ObjectId::from_hex);
    let plan = fingerprint.map(|fingerprint| {
        let workspace = place.root.clone();
        PlanToken {
            workspace,
            asked,
            fingerprint,
            is_limited,
        }
        .encode()
    });
    Executed {
        report: OperationReport {
            plan,
            ..executed.report
        },
        ..executed
    }
}

/// Does to each file what the user chose of a plan.
pub(crate) fn apply_parts(
    store: &mut Store,
    cwd: &Path,
    chosen: &[Chosen],
    origin: &PlanOrigin,
    (dry_run, force, key): (DryRun, Force, Option<RequestKey>),
) -> Result<OperationReport> {
    let options = Options::new(dry_run, force).keyed(key);
    let place = Place::known(store, cwd)?;
    let mut beside = Beside::default();
    for part in chosen {
        let mut places = std::iter::once(&place).chain(&beside.places);
        if !places.any(|place| place.root == part.workspace) {
            beside.places.push(Place::known(store, &part.workspace)?);
        }
    }
    let mut wanted = WantedInRoots::new();
    for place in std::iter::once(&place).chain(&beside.places) {
        let parts = chosen.iter().filter(|part| part.workspace == place.root);
        wanted.insert(
            place.row.id,
            Wanted::chosen(place, &parts.collect::<Vec<_>>())?,
        );
    }
    let wanted = (&wanted, origin);
    let places = (&place, &beside.places[..]);
    let executed = under_locks(store, places, dry_run, |store, recovered| {
        let done = report::of_key(store, options, recovered[0].reported())?;
        match done {
            Some(report) => Ok(Executed::done(report)),
            None => roots::put_back(store, &place, &beside, wanted, options, recovered),
        }
        .map(Some)
    })?;
    let report = executed.map(|executed| executed.report);
    let report = report.ok_or_else(|| Error::failed("nothing was carried out"))?;
    // What was chosen cannot be asked for by a token.
    Ok(OperationReport {
        plan: None,
        ..report
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
        is_part: row.is_part() || row.is_choice(),
        point: row.from_message_id,
    })
}

/// Reports that nothing is reverted in the session, or, if the request names none, in the workspace.
fn nothing_reverted(
    store: &Store,
    place: &Place,
    all: bool,
    options: Options,
    recovered: Recovered,
) -> Result<Executed> {
    if options.expected.is_some() {
        return Err(Error::stale("nothing is reverted any more"));
    }
    let connection = store.database.connection();
    let also_reverted = sessions::other_reverted_sessions(connection, place.row.id, None)?;
    let elsewhere = match sessions::newest_reverted_beside(connection, place.row.id)? {
        Some(session) => {
            let parts = sessions::other_parts(connection, &session)?.into_iter();
            roots::note_of_reverted(store, parts)?
        }
        None => None,
    };
    let nothing = match (&elsewhere, also_reverted.is_empty()) {
        (_, false) => Note::NothingRevertedOfSession,
        (Some(_), true) => Note::NothingRevertedHere,
        (None, true) => Note::NothingReverted,
    };
    let operation = Operation {
        kind: match all {
            true => OperationKind::Unrevert,
            false => OperationKind::Redo,
        },
        finished: recovered.finished,
        found: OperationFindings {
            recovered: recovered.notes.into_iter().collect(),
            planned: [nothing].into_iter().chain(elsewhere).collect(),
            ..OperationFindings::default()
        },
        ..Operation::restore(Plan::default())
    };
    let report = OperationReport {
        also_reverted,
        ..report::report(store, &operation, None, (&[], &[]), None, options.dry_run)
    };
    Ok(Executed::done(report))
}
