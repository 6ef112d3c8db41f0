//! `diff`: how two states differ.

use std::path::Path;

use ckpt_schema::report::{ChangeReport, DiffReport, VERSION};
use rusqlite::Connection;

use super::{DiffRequest, compare, renames};
use crate::error::{Error, Result};
use crate::fs::threads;
use crate::ids::{self, Any};
use crate::model::entry::Change;
use crate::model::instruction::Instruction;
use crate::sessions::{self, ChangeRow, MessageRow, StepRow, read};
use crate::snapshot::{PatchSide, Snapshot, Snapshots};
use crate::store::Store;
use crate::timeline::{self, Place};

/// The name of the workspace as it is now.
const CURRENT: &str = "current";

/// A state on one side of a diff.
enum Endpoint {
    /// The workspace as it is now. It is captured last, when all else is known.
    Current,
    /// A state that was captured.
    Captured(Snapshot),
}

/// What a request asks for.
enum DiffQuery {
    /// What one step changed, as recorded.
    Patch {
        from: Snapshot,
        to: Snapshot,
        changes: Vec<ChangeRow>,
    },
    /// The difference between two states, by any author.
    Difference { from: Endpoint, to: Endpoint },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DiffSide {
    Left,
    Right,
}

/// Compares two states of the workspace that holds a directory.
pub(crate) fn diff(store: &mut Store, cwd: &Path, request: &DiffRequest) -> Result<DiffReport> {
    let place = Place::known(store, cwd)?;
    let only = place.paths_asked_for(&request.paths)?;
    let (names, question) = question(store.database.connection(), place.row.id, request)?;
    match question {
        DiffQuery::Patch { from, to, changes } => {
            let snapshots = place.snapshots()?;
            let changes: Vec<_> = changes
                .iter()
                .filter(|row| row.change.path.is_asked_for(&only))
                .collect();
            let files = threads::map(&changes, |row| compare::report_row(&snapshots, row));
            Ok(document(&snapshots, names, [from, to], files))
        }
        DiffQuery::Difference { from, to } => {
            let (from, to) = snapshots_of(store, &place, from, to)?;
            let snapshots = place.snapshots()?;
            let mut changes = patched(&snapshots, &place.root, &from, &to)?;
            changes.retain(|change| change.path.is_asked_for(&only));
            let files = threads::map(&changes, |change| compare::report(&snapshots, change));
            Ok(document(&snapshots, names, [from, to], files))
        }
    }
}

/// What the sides of a difference are called.
struct SideNames {
    from: String,
    to: String,
}

/// Returns an id's kind and our full id; `None` stands for [`CURRENT`].
fn name(any: Option<&Any>) -> String {
    let Some(any) = any else {
        return CURRENT.to_owned();
    };
    match any {
        Any::Message(message) => format!("message {}", message.id),
        Any::Step(step) => format!("step {}", step.id),
        Any::Session(session) => format!("session {}", session.id),
        Any::Operation(operation) => format!("operation {}", operation.id),
        Any::Snapshot(snapshot) => format!("snapshot {}", snapshot.snapshot.tree),
    }
}

fn document(
    snapshots: &Snapshots,
    names: SideNames,
    [from, to]: [Snapshot; 2],
    mut files: Vec<ChangeReport>,
) -> DiffReport {
    files.sort_by(|one, other| one.path.cmp(&other.path));
    DiffReport {
        version: VERSION,
        from: from.tree.to_string(),
        to: to.tree.to_string(),
        from_name: Some(names.from),
        to_name: Some(names.to),
        files: renames::with_renames(snapshots, files),
    }
}

/// Returns the changes between two captured states. The trees alone would report what an ignore rule or a gap hides as
/// deleted.
fn patched(
    snapshots: &Snapshots,
    root: &Path,
    from: &Snapshot,
    to: &Snapshot,
) -> Result<Vec<Change>> {
    let (gaps_then, gaps) = (snapshots.gaps(from)?, snapshots.gaps(to)?);
    let old = PatchSide {
        snapshot: *from,
        gaps: &gaps_then,
    };
    let new = PatchSide {
        snapshot: *to,
        gaps: &gaps,
    };
    snapshots.patch(root, old, new)
}

/// Returns the difference between two snapshots, by path, with renames.
pub(super) fn between(
    snapshots: &Snapshots,
    root: &Path,
    from: &Snapshot,
    to: &Snapshot,
) -> Result<Vec<ChangeReport>> {
    let changes = patched(snapshots, root, from, to)?;
    let mut files = threads::map(&changes, |change| compare::report(snapshots, change));
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(renames::with_renames(snapshots, files))
}

/// Returns the first snapshot with a tree, and the one before it, if any.
pub(super) fn before(
    connection: &Connection,
    workspace_id: i64,
    tree: &str,
) -> Result<Option<(Snapshot, Snapshot)>> {
    let sql = "SELECT first.id AS first,
                      (SELECT max(id) FROM snapshots WHERE workspace_id = ?1 AND id < first.id) AS previous
                 FROM (SELECT min(id) AS id FROM snapshots WHERE workspace_id = ?1 AND tree = ?2) AS first";
    let what = "cannot read a snapshot's row";
    let values = (workspace_id, tree);
    let (first, previous): (i64, Option<i64>) =
        read::one(connection, what, sql, values, |row| row.try_into())?;
    match previous {
        Some(previous) => Ok(Some((
            seen(connection, previous)?,
            seen(connection, first)?,
        ))),
        None => Ok(None),
    }
}

/// Reads all rows that a request needs.
fn question(
    connection: &Connection,
    workspace_id: i64,
    request: &DiffRequest,
) -> Result<(SideNames, DiffQuery)> {
    let named = |id: &str| match id {
        CURRENT => Ok(None),
        _ => ids::any(connection, workspace_id, id).map(Some),
    };
    let from = named(request.from.as_deref().unwrap_or("last"))?;
    let to = request.to.as_deref().map_or(Ok(None), named)?;
    let names = SideNames {
        from: name(from.as_ref()),
        to: name(to.as_ref()),
    };
    if let (Some(Any::Step(step)), None) = (&from, &request.to) {
        let question = patch(connection, step)?;
        let names = match question {
            DiffQuery::Patch { .. } => SideNames {
                to: names.from.clone(),
                ..names
            },
            DiffQuery::Difference { .. } => names,
        };
        return Ok((names, question));
    }
    let (from, to) = (
        state(connection, from, DiffSide::Left)?,
        state(connection, to, DiffSide::Right)?,
    );
    Ok((names, DiffQuery::Difference { from, to }))
}

/// Returns the changes of a step. An open step is compared with the workspace as it is now.
fn patch(connection: &Connection, step: &StepRow) -> Result<DiffQuery> {
    let from = step_snapshot(connection, step, DiffSide::Left)?;
    if step.finish_snapshot_id.is_none() && step.unprotected.is_none() {
        return Ok(DiffQuery::Difference {
            from: Endpoint::Captured(from),
            to: Endpoint::Current,
        });
    }
    Ok(DiffQuery::Patch {
        from,
        to: step_snapshot(connection, step, DiffSide::Right)?,
        changes: sessions::changes_of_step(connection, &step.id)?,
    })
}

/// Returns the state of an id; `None` stands for [`CURRENT`].
fn state(connection: &Connection, named: Option<Any>, side: DiffSide) -> Result<Endpoint> {
    let seen = match named {
        None => return Ok(Endpoint::Current),
        Some(Any::Message(message)) => message_snapshot(connection, &message)?,
        Some(Any::Step(step)) => step_snapshot(connection, &step, side)?,
        Some(Any::Operation(operation)) => {
            let missing = || no_snapshot("operation", &operation.id, None);
            seen(
                connection,
                operation.before_snapshot_id.ok_or_else(missing)?,
            )?
        }
        Some(Any::Snapshot(row)) => seen(connection, row.id)?,
        Some(Any::Session(session)) => {
            return Err(Error::failed(format!(
                "`{}` is a session, which is not one state",
                session.id
            ))
            .hint(format!(
                "give one of its messages: {} lists them",
                Instruction::MessagesOfSession
            )));
        }
    };
    Ok(Endpoint::Captured(seen))
}

fn message_snapshot(connection: &Connection, message: &MessageRow) -> Result<Snapshot> {
    let missing = || no_snapshot("message", &message.id, message.unprotected.as_deref());
    seen(connection, message.snapshot_id.ok_or_else(missing)?)
}

fn step_snapshot(connection: &Connection, step: &StepRow, side: DiffSide) -> Result<Snapshot> {
    let snapshot_id = match side {
        DiffSide::Left => step.start_snapshot_id,
        DiffSide::Right => step.finish_snapshot_id,
    };
    seen(
        connection,
        snapshot_id.ok_or_else(|| no_snapshot("step", &step.id, step.unprotected.as_deref()))?,
    )
}

fn seen(connection: &Connection, snapshot_id: i64) -> Result<Snapshot> {
    let row = sessions::snapshot(connection, snapshot_id)?;
    Ok(row.snapshot)
}

fn no_snapshot(kind: &str, id: &str, reason: Option<&str>) -> Error {
    let reason = reason
        .map(|reason| format!(": {reason}"))
        .unwrap_or_default();
    Error::unavailable(format!("the {kind} `{id}` has no snapshot{reason}"))
        .hint(format!("{} lists the others", Instruction::Messages))
}

/// Takes a snapshot if a side asks for it: once, and without a row.
fn snapshots_of(
    store: &mut Store,
    place: &Place,
    from: Endpoint,
    to: Endpoint,
) -> Result<(Snapshot, Snapshot)> {
    Ok(match (from, to) {
        (Endpoint::Captured(from), Endpoint::Captured(to)) => (from, to),
        (Endpoint::Captured(from), Endpoint::Current) => (from, current(store, place)?),
        (Endpoint::Current, Endpoint::Captured(to)) => (current(store, place)?, to),
        (Endpoint::Current, Endpoint::Current) => {
            let current = current(store, place)?;
            (current, current)
        }
    })
}

fn current(store: &mut Store, place: &Place) -> Result<Snapshot> {
    Ok(timeline::current(store, place)?.snapshot)
}
