//! Paths of which the state that a revert goes to tells only that something was there, or not even that, and that are in
//! view since. This module does IO, but only reads.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use crate::error::Result;
use crate::model::Milliseconds;
use crate::model::entry::{Entry, EntryKind};
use crate::model::gap::{Covering, Gap, GapReason};
use crate::model::path::{WorkspacePath, above};
use crate::revert::plan::Plan;
use crate::sessions;
use crate::snapshot::{Presence, Snapshot, Snapshots};
use crate::timeline::Place;

/// How many lists of seen entries since a message are compared.
const MAX_SNAPSHOTS: u32 = 64;

/// Returns the paths that rules hid in the state that a revert goes to, and that were in view at a look since a time: folders, and
/// files, also those in the folders. Rules may hide them again by now.
pub(super) fn viewed_since(
    connection: &Connection,
    place: &Place,
    snapshots: &Snapshots,
    (then, now): (&Snapshot, &Snapshot),
    since: Milliseconds,
) -> Result<BTreeSet<WorkspacePath>> {
    let seen = snapshots.seen(then.seen)?.into_iter();
    let hidden = seen.filter(|entry| entry.reason == GapReason::Ignored);
    let hidden: Vec<WorkspacePath> = hidden
        .filter_map(|entry| WorkspacePath::new(entry.path).ok())
        .collect();
    let looks = sessions::snapshots_by_seen(connection, place.row.id, since, MAX_SNAPSHOTS)?;
    let looks = looks.iter().map(|row| row.snapshot);
    let looks = looks.filter(|look| look.seen != now.seen);
    let mut viewed = BTreeSet::new();
    for look in [*now].into_iter().chain(looks) {
        let is_shown = |presence| presence == Presence::Stored;
        let shown = snapshots.with_presence(&look, hidden.clone(), is_shown)?;
        if !shown.is_empty() || look == *now {
            viewed.extend(came_into_view(snapshots, then, &look)?);
        }
        viewed.extend(shown);
    }
    Ok(viewed)
}

/// Returns the paths that are in view at a look, and of which the state that a revert goes to only tells that something
/// was there, or not even that.
fn came_into_view(
    snapshots: &Snapshots,
    then: &Snapshot,
    look: &Snapshot,
) -> Result<Vec<WorkspacePath>> {
    let came = snapshots.difference(then, look)?.into_iter();
    let came = came.filter(|change| change.old.is_none());
    let came = came.filter(|change| !change.new.is_some_and(|entry| entry.is_empty_directory()));
    // What was forgotten is named as such.
    let seen = snapshots.seen(then.seen)?.into_iter();
    let forgotten = seen.filter(|entry| entry.reason.is_forgotten());
    let forgotten = Covering::of(forgotten.map(|entry| entry.path));
    let came = came.map(|change| change.path);
    let came = came.filter(|path| !forgotten.covers(path)).collect();
    snapshots.with_presence(then, came, is_not_known)
}

/// Returns the paths that an operation moved since the state that a revert goes to and that stay, where that state does not tell
/// what was there, and they were in view since, as `viewed` are. The operation's time is theirs, so nothing shows whether they had
/// changed before.
pub(super) fn moved_before(
    connection: &Connection,
    place: &Place,
    snapshots: &Snapshots,
    (then, id, since): (Option<&Snapshot>, Option<i64>, Milliseconds),
    (plan, viewed): (&Plan, &BTreeSet<WorkspacePath>),
) -> Result<BTreeSet<WorkspacePath>> {
    let (Some(then), Some(id)) = (then, id) else {
        return Ok(BTreeSet::new());
    };
    let mut moved = sessions::moved_since(connection, place.row.id, id, None)?;
    for item in plan.items.iter().filter(|item| item.is_planned()) {
        moved.remove(&item.path);
    }
    moved.retain(|path| path.on_disk(&place.root).symlink_metadata().is_ok());
    let unknown = snapshots.with_presence(then, moved.into_iter().collect(), is_not_known)?;
    let (mut stay, mut others) = (BTreeSet::new(), Vec::new());
    for path in unknown {
        match viewed.contains(&path) {
            true => _ = stay.insert(path),
            false => others.push(path),
        }
    }
    let [_, in_view] = by_first_change(connection, place, snapshots, others, since)?;
    stay.extend(in_view);
    Ok(stay)
}

/// Returns the ignored entries that hold what came in a step, or are in a folder that did: other rules hide it by now. Only
/// where nothing was in the state that a revert goes to.
pub(super) fn came_elsewhere<'n>(
    snapshots: &Snapshots,
    then: Option<&Snapshot>,
    since: &BTreeMap<&[u8], usize>,
    now: &'n [Gap],
) -> Result<Vec<&'n [u8]>> {
    let Some(then) = then.filter(|_| !since.is_empty()) else {
        return Ok(Vec::new());
    };
    let holds_one = |path: &[u8]| {
        let below = [path, b"/"].concat();
        let mut next = since.range(&below[..]..);
        next.next()
            .is_some_and(|(came, _)| came.starts_with(&below))
    };
    let ignored = now.iter().filter(|entry| {
        let mut folders = above(&entry.path);
        entry.reason == GapReason::Ignored
            && !since.contains_key(&entry.path[..])
            && (holds_one(&entry.path) || folders.any(|folder| since.contains_key(folder)))
    });
    let (entries, paths): (Vec<&[u8]>, Vec<WorkspacePath>) = ignored
        .filter_map(|entry| Some((&entry.path[..], WorkspacePath::new(&entry.path[..]).ok()?)))
        .unzip();
    let presences = snapshots.presences(then, &paths)?;
    let absent = entries.into_iter().zip(presences);
    let absent = absent.filter(|(_, presence)| *presence == Presence::Absent);
    Ok(absent.map(|(path, _)| path).collect())
}

/// Returns the files that changed or went after they had come into view, and that a plan puts back: what came into view may
/// have changed just before that, and the state that a revert goes to does not tell what it was.
pub(super) fn put_unseen(
    connection: &Connection,
    place: &Place,
    snapshots: &Snapshots,
    (then, since): (Option<&Snapshot>, Milliseconds),
    plan: &Plan,
) -> Result<Vec<WorkspacePath>> {
    let Some(then) = then else {
        return Ok(Vec::new());
    };
    let is_file = |entry: Entry| entry.mode.kind() != EntryKind::Directory;
    let items = plan.items.iter().filter(|item| item.is_planned());
    let put = items.filter(|item| item.target.is_some_and(is_file));
    let put = put.map(|item| item.path.clone()).collect();
    let unknown = snapshots.with_presence(then, put, is_not_known)?;
    let [mut unseen, in_view] = by_first_change(connection, place, snapshots, unknown, since)?;
    unseen.extend(in_view);
    unseen.sort_unstable();
    Ok(unseen)
}

/// Returns the paths without a change since a time, and those that were in view before their first one. A tool that names a
/// hidden file has its bytes stored before it writes: then its first change begins with them.
fn by_first_change(
    connection: &Connection,
    place: &Place,
    snapshots: &Snapshots,
    paths: Vec<WorkspacePath>,
    since: Milliseconds,
) -> Result<[Vec<WorkspacePath>; 2]> {
    let mut by_snapshot: BTreeMap<Option<i64>, Vec<WorkspacePath>> = BTreeMap::new();
    for path in paths {
        let first = sessions::first_snapshot_of(connection, place.row.id, &path, since)?;
        by_snapshot.entry(first).or_default().push(path);
    }
    let unchanged = by_snapshot.remove(&None).unwrap_or_default();
    let mut in_view = Vec::new();
    for (first, paths) in by_snapshot {
        let Some(first) = first else { continue };
        let before = sessions::snapshot(connection, first)?.snapshot;
        let is_stored = |presence| presence == Presence::Stored;
        in_view.extend(snapshots.with_presence(&before, paths, is_stored)?);
    }
    Ok([unchanged, in_view])
}

/// Returns whether a state does not tell what a file at a path was.
pub(super) fn is_not_known(presence: Presence) -> bool {
    matches!(presence, Presence::Seen | Presence::Unknown)
}
