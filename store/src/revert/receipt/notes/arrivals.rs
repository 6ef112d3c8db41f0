//! Names what a revert removes that was moved into the workspace. It does not go back where it came from, because
//! that was not captured. This module does IO, but only reads.
//!
//! A file that was created here is younger than the message. One that was moved in is older, if the file system knows
//! when files were created.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::unix::fs::MetadataExt;

use ckpt_schema::report::OperationKind;

use crate::error::Result;
use crate::fs::times;
use crate::lines;
use crate::model::Milliseconds;
use crate::model::entry::{Entry, EntryKind, ObjectId};
use crate::model::note::{self, Note};
use crate::model::path::WorkspacePath;
use crate::revert::goal::present::Scene;
use crate::revert::plan::Plan;
use crate::revert::request::movement::Movement;
use crate::sessions;
use crate::snapshot::{Snapshot, Snapshots};
use crate::timeline::Place;
use crate::timeline::evidence::TICK;

/// How many files are checked.
const MAX_CHECKED: usize = 512;

/// How many recreated files a removed one is compared with.
const COMPARED: usize = 64;

/// Longer files are not compared, in bytes.
const MAX_COMPARED: u64 = 1 << 20;

/// Names what goes and was moved in since the message that the revert goes back to.
pub(crate) fn notes(
    scene: Scene<'_>,
    movement: &Movement,
    (plan, reference): (&Plan, Option<&Snapshot>),
) -> Result<Option<Note>> {
    // Going forward removes nothing that was not captured.
    let message = movement.message();
    let message = message.filter(|_| movement.kind == OperationKind::Revert);
    let (Some(message), Some(reference)) = (message, reference) else {
        return Ok(None);
    };
    let going = leaving(plan);
    if going.is_empty() {
        return Ok(None);
    }
    let Scene {
        store,
        place,
        snapshots,
        ..
    } = scene;
    let since = sessions::message_time(scene.connection(), &message.id)?;
    let is_older = |path: &&WorkspacePath| {
        let made = made_at(place, path).map(store.surroundings.file_times);
        made.is_some_and(|made| made + TICK < since)
    };
    let again = RecreatedFiles::of(snapshots, plan);
    let older = going.into_iter().take(MAX_CHECKED).filter(is_older);
    let older = older.filter(|path| !again.may_have_been(snapshots, path));
    let names = brought(snapshots, reference, older.collect())?;
    Ok(note::on(names, |paths| Note::MovedIn { paths }))
}

/// The files that the revert creates again. One that was renamed and edited within the workspace is among them.
struct RecreatedFiles<'a> {
    /// The names of all of them.
    names: HashSet<&'a [u8]>,
    /// The contents of the first ones.
    files: Vec<Option<Vec<u8>>>,
    /// Whether there are more than are compared.
    is_cut: bool,
    /// What the files that go hold.
    going: HashMap<&'a WorkspacePath, ObjectId>,
}

impl<'a> RecreatedFiles<'a> {
    fn of(snapshots: &Snapshots, plan: &'a Plan) -> Self {
        let planned = || plan.items.iter().filter(|item| item.is_planned());
        let made = planned().filter(|item| item.expected.is_none());
        let made = made.filter_map(|item| Some((&item.path, item.target?.blob?)));
        let read = |blob| snapshots.comparable(blob, MAX_COMPARED);
        let going = planned().filter(|item| item.target.is_none());
        let blob = |entry: Option<Entry>| entry?.blob;
        let made: Vec<_> = made.collect();
        Self {
            names: made.iter().map(|(path, _)| path.name()).collect(),
            is_cut: made.len() > COMPARED,
            files: made
                .into_iter()
                .take(COMPARED)
                .map(|(_, blob)| read(blob))
                .collect(),
            going: going
                .filter_map(|item| Some((&item.path, blob(item.expected)?)))
                .collect(),
        }
    }

    /// Returns whether a file that goes has the name of one that is made again, or half of its lines, or whether nothing
    /// tells.
    fn may_have_been(&self, snapshots: &Snapshots, path: &WorkspacePath) -> bool {
        if self.is_cut || self.names.contains(path.name()) {
            return true;
        }
        let own = self
            .going
            .get(path)
            .and_then(|blob| snapshots.comparable(*blob, MAX_COMPARED));
        let Some(own) = own.filter(|_| !self.files.is_empty()) else {
            return false;
        };
        let mut made = self.files.iter().filter_map(Option::as_deref);
        // Nothing tells whether one without lines, such as a database, was edited on its way.
        let may_be = |made: &[u8]| match lines::has_lines(made) || lines::has_lines(&own) {
            true => lines::keeps_half(made, &own),
            false => true,
        };
        made.any(may_be)
    }
}

/// Returns the files that go for good. One that was renamed within the workspace comes back under its old name.
fn leaving(plan: &Plan) -> Vec<&WorkspacePath> {
    let planned = || plan.items.iter().filter(|item| item.is_planned());
    let returning: HashSet<Entry> = planned().filter_map(|item| item.target).collect();
    let is_leaving =
        |entry: &Entry| entry.mode.kind() != EntryKind::Directory && !returning.contains(entry);
    let going = planned().filter(|item| item.target.is_none());
    going
        .filter(|item| item.expected.as_ref().is_some_and(is_leaving))
        .map(|item| &item.path)
        .collect()
}

/// Returns when a file was created, in milliseconds, if it has no other name and the file system knows.
fn made_at(place: &Place, path: &WorkspacePath) -> Option<Milliseconds> {
    let path = path.on_disk(&place.root);
    let metadata = path.symlink_metadata().ok()?;
    // A hard link that was made here is as old as the file that it links to.
    times::created(&metadata).filter(|_| metadata.nlink() == 1)
}

/// Returns the paths as a person sees them: a new directory instead of what is in it.
fn brought(
    snapshots: &Snapshots,
    reference: &Snapshot,
    files: Vec<&WorkspacePath>,
) -> Result<Vec<String>> {
    let above = WorkspacePath::all_above(files.iter().copied());
    let (_, new) = snapshots.part_directories(reference, above.into_iter().collect())?;
    let new: BTreeSet<WorkspacePath> = new.into_iter().collect();
    let topmost = |file: &WorkspacePath| {
        let above = file.directories_above();
        let above = above.filter(|path| new.contains(path)).last();
        above.unwrap_or_else(|| file.clone())
    };
    let names: BTreeSet<WorkspacePath> = files.into_iter().map(topmost).collect();
    Ok(names.iter().map(WorkspacePath::to_text).collect())
}
