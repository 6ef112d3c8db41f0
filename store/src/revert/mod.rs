//! A request becomes a plan, and a plan is carried out. `docs/architecture.md` draws the way, under "Reverting".
//!
//! ```text
//! request ─► movement ─► gather ─► target ─► plan ─► operate ─► apply ─► outcome
//!                        (rows,    └── pure ──┘     (journal)  (one path
//!                         trees)                                at a time)
//! ```

pub mod apply;
pub mod clash;
pub mod history;
pub mod merge;
pub mod plan;
pub mod rule;
pub mod target;

mod bases;
pub(crate) mod chain;
#[cfg(test)]
mod chain_tests;
mod databases;
mod gather;
pub(crate) mod git;
mod journal;
mod movement;
mod operate;
mod operation;
mod put_back;
mod receipt;
mod recover;
mod refuse;
mod report;
mod restore;
mod surroundings;
mod token;
mod unseen;
mod warnings;

use std::path::Path;

use ckpt_schema::report::{OperationKind, OperationReport, Outcome, RevertedSession, VERSION};

use crate::error::{Error, Result};
use crate::fs::layout::Lock;
use crate::model::entry::ObjectId;
use crate::model::request::{RedoRequest, RestoreRequest, RevertRequest};
use crate::sessions;
use crate::store::Store;
use crate::timeline::Place;
use movement::Movement;
use operation::Options;
use recover::Recovered;
use token::{Asked, Token, absolute};

pub(crate) use chain::{make_permanent, went_back};
pub(crate) use recover::{finish_open_operations, interrupted, is_open};
pub(crate) use report::short;
pub(crate) use restore::snapshot_named;

/// Goes back to just before a message; carries out the plan with a fingerprint, and no other, where one is expected.
pub(crate) fn revert(
    store: &mut Store,
    cwd: &Path,
    request: &RevertRequest,
    expected: Option<ObjectId>,
) -> Result<OperationReport> {
    if request.git && (request.alone || request.step.is_some() || !request.only.is_empty()) {
        return Err(Error::failed(
            "`--git` goes with a whole revert: HEAD and the index are of no path, no step and no message alone",
        ));
    }
    let place = Place::known(store, cwd)?;
    let (_lock, Recovered { warnings, done }) = enter(store, &place, request.dry_run)?;
    let options = Options {
        dry_run: request.dry_run,
        force: request.force,
        git: request.git,
        expected,
    };
    let carry_out = || {
        let reading: &Store = store;
        let movement = reading
            .database
            .read(|_| Movement::of_revert(reading, &place, request))?;
        let report = operate::carry_out(store, &place, &movement, options, warnings)?;
        let asked = RevertRequest {
            message: movement.asked_for.clone().unwrap_or_default(),
            step: movement.step().map(str::to_owned),
            session: Some(movement.session.id.clone()),
            only: absolute(cwd, &request.only),
            ..request.clone()
        };
        Ok(with_token(report, &place, Asked::Revert(asked)))
    };
    carry_out().map_err(|error: Error| error.after(done))
}

/// Goes forward again; carries out the plan with a fingerprint, and no other, where one is expected.
pub(crate) fn redo(
    store: &mut Store,
    cwd: &Path,
    request: &RedoRequest,
    expected: Option<ObjectId>,
) -> Result<OperationReport> {
    let place = Place::known(store, cwd)?;
    let (_lock, Recovered { warnings, done }) = enter(store, &place, request.dry_run)?;
    let movement =
        Movement::of_redo(store, &place, request).map_err(|error| error.after(done.clone()))?;
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
        return Ok(nothing_reverted(kind, request.dry_run, warnings, others));
    };
    let options = Options {
        dry_run: request.dry_run,
        force: request.force,
        git: request.git,
        expected,
    };
    let report = operate::carry_out(store, &place, &movement, options, warnings)
        .map_err(|error| error.after(done))?;
    let asked = RedoRequest {
        session: Some(movement.session.id.clone()),
        ..request.clone()
    };
    Ok(with_token(report, &place, Asked::Redo(asked)))
}

/// Carries out a plan that a dry run made, and no other: where anything that it rests on is another, nothing is changed.
pub(crate) fn apply(store: &mut Store, token: &str, force: bool) -> Result<OperationReport> {
    let Token {
        workspace,
        asked,
        fingerprint,
    } = Token::decode(token)?;
    let expected = Some(fingerprint);
    match asked {
        Asked::Revert(request) => {
            let request = RevertRequest { force, ..request };
            revert(store, &workspace, &request, expected)
        }
        Asked::Redo(request) => {
            let request = RedoRequest { force, ..request };
            redo(store, &workspace, &request, expected)
        }
        Asked::Restore(request) => {
            let request = RestoreRequest { force, ..request };
            restore(store, &workspace, &request, expected)
        }
    }
}

/// Makes the fingerprint of a planned operation a token.
fn with_token(report: OperationReport, place: &Place, asked: Asked) -> OperationReport {
    let fingerprint = report.plan.as_deref().and_then(ObjectId::from_hex);
    let plan = fingerprint.map(|fingerprint| {
        let workspace = place.root.clone();
        Token {
            workspace,
            asked,
            fingerprint,
        }
        .encode()
    });
    OperationReport { plan, ..report }
}

/// Takes the workspace for an operation: nobody else has it while the lock is held, rows that were lost are noticed, and what a
/// crash left is ended before anything is planned.
fn enter(store: &mut Store, place: &Place, dry_run: bool) -> Result<(Lock, Recovered)> {
    let lock = place.lock(crate::timeline::PATIENCE)?;
    crate::timeline::notice(store, place, &lock)?;
    let recovered = recover::recover(store, place, dry_run)?;
    Ok((lock, recovered))
}

/// Puts paths back to any captured state; carries out the plan with a fingerprint, and no other, where one is expected.
pub(crate) fn restore(
    store: &mut Store,
    cwd: &Path,
    request: &RestoreRequest,
    expected: Option<ObjectId>,
) -> Result<OperationReport> {
    let place = Place::known(store, cwd)?;
    let report = restore::restore(store, &place, request, expected)?;
    let asked = RestoreRequest {
        paths: absolute(cwd, &request.paths),
        ..request.clone()
    };
    Ok(with_token(report, &place, Asked::Restore(asked)))
}

/// Puts single files back, each to an entry that was captured.
pub(crate) fn put_back(
    store: &mut Store,
    cwd: &Path,
    wanted: &gather::States,
    dry_run: bool,
    force: bool,
) -> Result<OperationReport> {
    let options = Options {
        dry_run,
        force,
        git: false,
        expected: None,
    };
    put_back::put_back(store, cwd, wanted, options)
}

/// What was so just before an operation: where the way back from it leads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// Whether nothing was reverted: unrevert leads back there.
    pub is_unreverted: bool,
    /// The revert point.
    pub point: Option<String>,
    /// Whether only a part was asked for, so that the point stayed.
    pub is_part: bool,
}

/// Returns what was so just before an operation.
pub(crate) fn before(store: &Store, operation: &str) -> Result<Before> {
    let row = crate::sessions::operation(store.database.connection(), operation)?;
    Ok(Before {
        is_unreverted: row.base_snapshot_id.is_some()
            && row.base_snapshot_id == row.before_snapshot_id,
        point: row.from_message_id,
        is_part: row.part_message_id.is_some() || row.step_id.is_some(),
    })
}

/// The report where nothing is reverted of the session that was asked for; of none where no session was.
fn nothing_reverted(
    kind: OperationKind,
    dry_run: bool,
    mut warnings: Vec<String>,
    also_reverted: Vec<RevertedSession>,
) -> OperationReport {
    warnings.push(if also_reverted.is_empty() {
        "nothing is reverted".to_owned()
    } else {
        "nothing of this session is reverted".to_owned()
    });
    OperationReport {
        version: VERSION,
        operation: None,
        kind,
        session: None,
        message: None,
        alone: None,
        outcome: Outcome::Nothing,
        dry_run,
        plan: None,
        busy: false,
        messages_hidden: Vec::new(),
        files: Vec::new(),
        git: Vec::new(),
        also_reverted,
        receipt: None,
        notes: warnings,
    }
}
