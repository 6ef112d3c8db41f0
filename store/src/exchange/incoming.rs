//! Takes in what another machine has pushed.

use std::path::Path;

use rusqlite::{Connection, ErrorCode};

use super::outgoing::is_pruned;
use super::tables::{SentRow, table};
use super::writing::Writing;
use super::{Bundle, BundleHead, FORMAT};
use crate::error::{Context, Error, Result};
use crate::revert;
use crate::sessions::{self, MachineRow, NewSnapshot};
use crate::snapshot::{Snapshot, Snapshots};
use crate::store::Store;
use crate::timeline::{self, LOCK_TIMEOUT, Place};

/// See [`Store::take_in`].
pub(super) fn take_in(
    store: &mut Store,
    cwd: &Path,
    address: &str,
    machine: &str,
    bundles: &mut dyn Iterator<Item = Result<Bundle>>,
    tip: &str,
) -> Result<()> {
    let beside = Place::claim(store, cwd)?.row.id;
    let known = sessions::machines(store.database.connection(), beside)?;
    let is_it = |row: &&MachineRow| row.address == address && row.machine == machine;
    let mut row = known.iter().find(is_it).cloned();
    if row.as_ref().is_some_and(|row| row.adopted) {
        return Ok(());
    }
    for bundle in bundles {
        let bundle = bundle?;
        let (head, records) = read(&bundle.rows)?;
        let now = store.now();
        let workspace_id = match &row {
            Some(row) => row.workspace_id,
            None => store.database.write(|connection| {
                let id = sessions::add_foreign_workspace(connection, &head.path, now)?;
                let new = MachineRow {
                    workspace_id: id,
                    address: address.to_owned(),
                    machine: machine.to_owned(),
                    // Nothing is fetched yet: if this ends here, it begins anew.
                    tip: String::new(),
                    adopted: false,
                };
                sessions::put_machine(connection, beside, &new)?;
                row = Some(new);
                Ok(id)
            })?,
        };
        let of_row = sessions::workspace(store.database.connection(), workspace_id)?;
        let place = Place::of_row(store, of_row);
        let _lock = place.lock(LOCK_TIMEOUT)?;
        let snapshots = place.snapshots()?;
        if !bundle.pack.is_empty() {
            snapshots.receive(&bundle.pack)?;
        }
        check(&snapshots, &records)?;
        let salt = place.row.key.clone();
        store
            .database
            .write(|connection| write(connection, workspace_id, &salt, &head, &records))
            .map_err(contradicting)?;
    }
    let Some(row) = row else {
        return Ok(());
    };
    store.database.write(|connection| {
        let row = MachineRow {
            tip: tip.to_owned(),
            ..row
        };
        sessions::put_machine(connection, beside, &row)
    })
}

/// Returns the error about rows that the session store does not take: it is whole, and they are not.
fn contradicting(error: Error) -> Error {
    let failure = error.of_session_store();
    match failure.and_then(rusqlite::Error::sqlite_error_code) {
        Some(ErrorCode::ConstraintViolation) => {
            Error::unavailable("what another machine pushed contradicts itself")
        }
        _ => error,
    }
}

/// Reads the rows of a bundle.
fn read(rows: &[u8]) -> Result<(BundleHead, Vec<SentRow>)> {
    let what = || "what another machine pushed is damaged";
    let mut lines = rows
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let head: BundleHead =
        serde_json::from_slice(lines.next().unwrap_or_default()).context(what)?;
    if head.format != FORMAT {
        return Err(Error::unavailable(
            "what another machine pushed is of another version of ckpt-hook",
        )
        .hint("install the same version here and there"));
    }
    let records = lines.map(|line| serde_json::from_slice(line).context(what));
    Ok((head, records.collect::<Result<_>>()?))
}

/// Fails if an object that a snapshot needs first is not there.
fn check(snapshots: &Snapshots, records: &[SentRow]) -> Result<()> {
    let kept = records.iter().filter(|record| record.table == "snapshots");
    snapshots.check_received(
        kept.filter(|record| !is_pruned(record))
            .filter_map(|record| {
                Some(Snapshot {
                    tree: record.object("tree")?,
                    attributes: record.object("attributes_blob"),
                    rules: record.object("rules_blob"),
                    seen: record.object("seen_blob"),
                })
            }),
    )
}

fn write(
    connection: &Connection,
    workspace_id: i64,
    salt: &str,
    head: &BundleHead,
    records: &[SentRow],
) -> Result<()> {
    let what = || "cannot write the rows of another machine";
    connection
        .execute_batch("PRAGMA defer_foreign_keys = ON")
        .context(what)?;
    let writing = Writing {
        connection,
        workspace_id,
        salt: salt.to_owned(),
    };
    let set_last =
        "UPDATE workspaces SET last_snapshot_id = ?2, used_at = max(used_at, ?3) WHERE id = ?1";
    if head.anew {
        let none = (workspace_id, None::<i64>, 0);
        connection.execute(set_last, none).context(what)?;
        writing.clear()?;
    }
    // What refers to a row may stand before it.
    for record in records.iter().filter(|record| record.values.is_some()) {
        writing.assign(table(&record.table)?, &record.row)?;
    }
    for record in records {
        writing.write(table(&record.table)?, record)?;
    }
    if records.iter().any(|record| record.values.is_none()) {
        writing.unassign_gone()?;
    }
    if records.iter().any(is_pruned) {
        writing.unsweep()?;
    }
    let last = head
        .last
        .as_deref()
        .map(|last| writing.ours("snapshots", last));
    let last = last.transpose()?.flatten();
    let last: Option<i64> = last.and_then(|last| last.parse().ok());
    if last.is_some() {
        connection
            .execute(set_last, (workspace_id, last, head.made_at))
            .context(what)?;
    }
    Ok(())
}

/// See [`Store::bring`].
pub(super) fn bring(store: &mut Store, cwd: &Path, id: &str) -> Result<String> {
    let theirs = Place::known(store, cwd)?;
    let snapshot_id = revert::snapshot_named(store, &theirs, id)?;
    let connection = store.database.connection();
    let row = sessions::snapshot(connection, snapshot_id)?;
    let snapshot = row.snapshot;
    store.machine = None;
    let own = Place::claim(store, cwd)?;
    let here = timeline::current(store, &own)?.snapshot;
    let _lock = own.lock(LOCK_TIMEOUT)?;
    let snapshots = own.snapshots()?;
    snapshots.take_from(&theirs.snapshots()?, &snapshot)?;
    let snapshot = snapshots.beside(&snapshot, &here)?;
    let now = store.now();
    store.database.write(|connection| {
        let new = NewSnapshot {
            workspace_id: own.row.id,
            snapshot,
            gaps: row.gaps,
            git_state_id: None,
        };
        sessions::put_snapshot(connection, &new, None, now)
    })?;
    Ok(row.snapshot.tree.to_string())
}
