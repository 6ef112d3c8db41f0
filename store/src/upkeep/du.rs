//! `du`: how much of the disk the store takes, and what for.

use std::collections::BTreeMap;

use ckpt_schema::report::{DuReport, DuRow, DuUnmeasured, VERSION};

use super::gc::age::Ages;
use super::gc::{self, sizes};
use crate::error::Result;
use crate::model::Milliseconds;
use crate::sessions::{self, Measured};
use crate::store::Store;
use crate::timeline::Place;

ckpt_schema::words! {
    /// How the bytes are grouped.
    #[derive(Default)]
    pub enum Grouping {
        /// By workspace.
        #[default]
        Workspace = "workspace",
        /// By the session whose steps they came with.
        Session = "session",
        /// By the message whose steps they came with.
        Message = "message",
        /// By the age of the snapshot.
        Age = "age",
        /// By the machine that it came from.
        Machine = "machine",
    }
}

const DAY: Milliseconds = 24 * 3600 * 1000;
/// The upper bound of each age, in milliseconds, and its name.
const AGES: [(Milliseconds, &str); 5] = [
    (DAY, "a day"),
    (7 * DAY, "a week"),
    (30 * DAY, "a month"),
    (365 * DAY, "a year"),
    (Milliseconds::MAX, "older"),
];

/// Measures the store, and notes the sizes of its snapshots. What `gc` would free goes by these ages.
pub(crate) fn du(store: &mut Store, by: Grouping, ages: Ages) -> Result<DuReport> {
    let sizes = sizes::of_store(store)?;
    let mut rows: BTreeMap<(usize, Option<String>), (u64, u64)> = BTreeMap::new();
    let mut reclaimable = 0;
    let mut unmeasured = Vec::new();
    for id in sessions::workspaces(store.database.connection())? {
        let row = sessions::workspace(store.database.connection(), id)?;
        let place = Place::of_row(store, row);
        let (snapshots, rest) = match measured(store, &place) {
            Ok(Some(measured)) => measured,
            Ok(None) => continue,
            // One damaged workspace must not hide what all others take.
            Err(error) => {
                unmeasured.push(DuUnmeasured {
                    workspace: place.root.to_string_lossy().into_owned(),
                    reason: error.with_causes(),
                });
                continue;
            }
        };
        // Sizes that cannot be noted, as in a read-only store, are measured again the next time.
        let _ = sizes::put(store, &snapshots);
        reclaimable += rest;
        let machine = sessions::machine_of(store.database.connection(), id)?;
        for (snapshot, bytes) in snapshots {
            let key = key(by, &place, machine.as_deref(), &snapshot, ages);
            let row = rows.entry(key).or_default();
            row.0 += bytes;
            row.1 += 1;
        }
    }
    reclaimable += gc::prunable_bytes(store, ages)?;
    Ok(DuReport {
        version: VERSION,
        bytes: sizes.bytes,
        files: sizes.files,
        database: sizes.database,
        objects: sizes.objects,
        caches: sizes.caches,
        other: sizes.bytes - sizes.database - sizes.objects - sizes.caches,
        shared: sizes.shared,
        reclaimable,
        by: by.name().to_owned(),
        rows: in_order(rows, by),
        unmeasured,
    })
}

/// Snapshots, each with the bytes that it was the first to need.
type SnapshotSizes = Vec<(Measured, u64)>;

/// Returns the size of a workspace's snapshots, and of what nothing needs, or `None` without objects.
fn measured(store: &Store, place: &Place) -> Result<Option<(SnapshotSizes, u64)>> {
    if !place.has_objects()? {
        return Ok(None);
    }
    sizes::of_snapshots(store, place, &|| true).map(Some)
}

/// Returns the rows of the report, with the bytes and the number of the snapshots of each.
fn in_order(rows: BTreeMap<(usize, Option<String>), (u64, u64)>, by: Grouping) -> Vec<DuRow> {
    let mut rows: Vec<_> = rows.into_iter().collect();
    if by != Grouping::Age {
        rows.sort_by_key(|(_, (bytes, _))| std::cmp::Reverse(*bytes));
    }
    let row = |((_, name), (bytes, snapshots))| DuRow {
        name,
        bytes,
        snapshots,
    };
    rows.into_iter().map(row).collect()
}

/// Returns the row that a snapshot counts in: its place in the order, and its name.
fn key(
    by: Grouping,
    place: &Place,
    machine: Option<&str>,
    snapshot: &Measured,
    ages: Ages,
) -> (usize, Option<String>) {
    match by {
        Grouping::Workspace => {
            let root = place.root.to_string_lossy();
            let of_machine = machine.map(|machine| format!("{machine}:{root}"));
            (0, Some(of_machine.unwrap_or_else(|| root.into_owned())))
        }
        Grouping::Machine => (0, Some(machine.unwrap_or("this machine").to_owned())),
        Grouping::Session => (0, snapshot.session.clone()),
        Grouping::Message => (0, snapshot.message.clone()),
        Grouping::Age if ages.doubts(snapshot.taken_at) => {
            (AGES.len(), Some("unknown: the clock was set".to_owned()))
        }
        Grouping::Age => {
            let age = ages.unused_for(snapshot.taken_at);
            let at = AGES
                .iter()
                .position(|(most, _)| age <= *most)
                .unwrap_or(AGES.len() - 1);
            (at, Some(AGES[at].1.to_owned()))
        }
    }
}
