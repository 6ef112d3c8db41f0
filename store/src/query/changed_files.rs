//! What each of many messages or operations changed, and the contents behind that. `show` opens the workspace for
//! every id; a list of thousands opens it once for many.

use std::path::Path;

use ckpt_schema::report::{ChangeReport, FileReport};
use rusqlite::Connection;

use super::renames::{of_operation, with_renames};
use super::{compare, net_changes, show};
use crate::error::{Error, Result};
use crate::fs::threads;
use crate::model::entry::{Change, ObjectId};
use crate::model::instruction::Instruction;
use crate::sessions::{self, ChangeRow};
use crate::snapshot::Snapshots;
use crate::store::Store;
use crate::timeline::Place;

/// What the ids of a list are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedKind {
    /// Messages.
    Messages,
    /// Operations.
    Operations,
}

/// How much is said of each changed path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeDetail {
    /// Its names, old and new: contents are read only where they tell what was renamed.
    Names,
    /// Everything, as in `show`.
    Whole,
}

/// Returns the changes of some entries of the workspace that holds a directory, by path, in the entries' order. The ids
/// are full ones of ours.
pub(crate) fn changes_of(
    store: &Store,
    cwd: &Path,
    (kind, ids): (ListedKind, &[&str]),
    detail: ChangeDetail,
) -> Result<Vec<Vec<ChangeReport>>> {
    let place = Place::known(store, cwd)?;
    let snapshots = place.snapshots()?;
    Ok(match kind {
        ListedKind::Messages => {
            let rows = read_each(store, ids, rows_of_message)?;
            threads::map_on(threads::count(), 1, &rows, |rows| {
                of_rows(&snapshots, rows, detail)
            })
        }
        ListedKind::Operations => {
            let changes = read_each(store, ids, show::changes_of_operation)?;
            threads::map_on(threads::count(), 1, &changes, |changes| {
                of_changes(&snapshots, changes)
            })
        }
    })
}

/// Reads something for each id, all in one state.
fn read_each<T>(
    store: &Store,
    ids: &[&str],
    read: impl Fn(&Connection, &str) -> Result<T>,
) -> Result<Vec<T>> {
    store
        .database
        .read(|connection| ids.iter().map(|id| read(connection, id)).collect())
}

/// Returns the changes of a message in total, as `show` does: the rows of its only step, or those of several joined.
fn rows_of_message(connection: &Connection, id: &str) -> Result<Vec<ChangeRow>> {
    let rows = sessions::changes_of_message(connection, id)?;
    let steps = sessions::count_steps(connection, id)?;
    let mut rows = net_changes::of_message(rows, steps.unsigned_abs());
    rows.sort_by(|one, other| one.change.path.cmp(&other.change.path));
    Ok(rows)
}

fn of_rows(snapshots: &Snapshots, rows: &[ChangeRow], detail: ChangeDetail) -> Vec<ChangeReport> {
    let one = |row| match detail {
        ChangeDetail::Names => compare::without_bytes(row),
        ChangeDetail::Whole => compare::report_row(snapshots, row),
    };
    with_renames(snapshots, rows.iter().map(one).collect())
}

fn of_changes(snapshots: &Snapshots, changes: &[Change]) -> Vec<ChangeReport> {
    let one = |change| compare::report(snapshots, change);
    with_renames(snapshots, changes.iter().map(one).collect())
}

/// The blobs of a workspace, which stay open for many questions.
pub struct BlobReader(Snapshots);

impl BlobReader {
    /// Opens those of the workspace that holds a directory.
    pub(crate) fn open(store: &Store, cwd: &Path) -> Result<Self> {
        Place::known(store, cwd)?.snapshots().map(Self)
    }

    /// Says of the files that an operation moves where each comes from.
    pub fn find_moves(&self, files: &mut [FileReport]) {
        of_operation(&self.0, files);
    }

    /// Returns the bytes of a blob by its full id.
    pub fn read(&self, blob: &str) -> Result<Vec<u8>> {
        let id = ObjectId::from_hex(blob).ok_or_else(|| {
            Error::failed(format!("`{}` is not the id of a blob", blob.escape_debug()))
                .hint(Instruction::BlobIds.to_string())
        })?;
        self.0.read_blob(id)
    }
}
