//! Names what no snapshot stores and a revert therefore leaves: what is gone, what came, and what changed. This module
//! does IO, but only reads.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ckpt_schema::report::OperationKind;

use super::ignored_changes;
use super::in_view::{came_elsewhere, is_not_known, moved_before, put_unseen, viewed_since};
use super::left_alone;
use super::repositories::is_submodule;
use super::version_control;
use crate::error::Result;
use crate::fs::{presence, times};
use crate::model::Milliseconds;
use crate::model::entry::{Entry, EntryKind, State};
use crate::model::gap::{Gap, GapReason};
use crate::model::metadata;
use crate::model::note::{self, Note};
use crate::model::path::{IGNORE_FILE, WorkspacePath, is_below, join, parent, split};
use crate::revert::goal::seen_history::SeenHistory;
use crate::revert::plan::Plan;
use crate::revert::plan::operation::Findings;
use crate::revert::request::movement::{Movement, WholeRevert};
use crate::revert::request::scope::Part;
use crate::sessions;
use crate::snapshot::{Presence, Snapshot, Snapshots};
use crate::store::Store;
use crate::timeline::evidence::TICK;
use crate::timeline::{Look, Place};

/// How many names are read in a directory of which not all ignored ones are remembered.
const MOST_UNREMEMBERED: usize = 10_000;

/// Finds what is not stored, was there in the state that an operation goes to, and is gone, or has another in its place.
/// `is_asked` says of which entries of that state this counts, and `is_another` of which of them something else is
/// there.
pub(crate) fn gone(
    place: &Place,
    snapshots: &Snapshots,
    then: &Snapshot,
    (is_asked, is_another): (impl Fn(&Gap) -> bool, impl Fn(&Gap) -> bool),
    plan: &Plan,
) -> Result<Findings> {
    let then = snapshots.seen(then.seen)?;
    // An empty folder is nothing of what a hidden one held.
    let is_whole = |entry: &Gap, put: Entry| !(entry.is_directory && put.is_empty_directory());
    let is_back = |entry: &Gap| {
        let mut items = plan.items.iter();
        items.any(|item| {
            item.path.as_bytes() == entry.path
                && item.target.is_some_and(|put| is_whole(entry, put))
        })
    };
    // What took the place of an entry, or of a folder above it, goes.
    let items = plan.items.iter().filter(|item| item.is_planned());
    let is_file = |entry: Entry| entry.mode.kind() != EntryKind::Directory;
    let files = items.filter(|item| item.expected.is_some_and(is_file));
    let replaced: BTreeSet<&[u8]> = files.map(|item| item.path.as_bytes()).collect();
    let is_replaced = |path: &[u8]| ways_to(path).any(|way| replaced.contains(way));
    let is_missing = |entry: &Gap| {
        is_replaced(&entry.path) || is_behind_a_link(place, &entry.path) || is_gone(place, entry)
    };
    let asked = then
        .iter()
        .filter(|entry| is_asked(entry) && !is_ignore_file(entry) && !is_back(entry));
    let (mut ignored, mut repositories, mut others) = (Vec::new(), BTreeSet::new(), Vec::new());
    let mut replaced = Vec::new();
    for entry in asked {
        match (&entry.reason, is_missing(entry)) {
            (GapReason::Ignored, false) if is_another(entry) => {
                replaced.extend(WorkspacePath::new(&entry.path[..]));
            }
            (_, false) => {}
            (GapReason::Ignored, _) => ignored.extend(WorkspacePath::new(&entry.path[..])),
            (GapReason::Metadata | GapReason::Repository, _) => {
                repositories.insert(repository_text(entry));
            }
            _ => others.push(entry.clone()),
        }
    }
    let repositories: Vec<String> = repositories.into_iter().collect();
    let notes = [
        note::on(texts(&ignored), |paths| Note::IgnoredGone { paths }),
        note::on(texts(&replaced), |paths| Note::IgnoredReplaced { paths }),
        note::on(repositories, |folders| Note::RepositoriesGone { folders }),
        note::on(others, |gaps| Note::Lost { gaps }),
    ];
    Ok(Findings::missing(notes.into_iter().flatten()))
}

/// Finds what is not stored and came while a step of the message, or of a later one, was open, and what changed
/// meanwhile. It leaves out what is in folders that are `leaving`: if such a folder cannot go because of that, it is
/// named itself. It is unclear who made these files.
pub(crate) fn stays(
    store: &Store,
    place: &Place,
    (snapshots, seen): (&Snapshots, &Look),
    movement: &Movement,
    (then, plan, leaving): (Option<&Snapshot>, &Plan, &[WorkspacePath]),
    history: &SeenHistory,
) -> Result<Findings> {
    let mut now = snapshots.seen(seen.snapshot.seen)?;
    let Some(revert) = movement.whole_revert() else {
        let came = came(place, snapshots, then, history, &now)?;
        return beside_a_part(store, place, movement, (plan, &came, &now));
    };
    let mut notes: Vec<Note> = Vec::new();
    let crowded = of_crowded(store, place, revert, &now)?;
    now.retain(|entry| {
        !leaving
            .iter()
            .any(|folder| is_at_or_below(&entry.path, folder))
    });
    let mut came = came(place, snapshots, then, history, &now)?;
    came.extend(came_unseen(store, place, snapshots, revert, then, &now)?);
    let made_again = repositories_made_again(store, place, snapshots, (revert, then), &now)?;
    came.extend(made_again.iter().map(|entry| &entry.path[..]));
    let StandingPaths {
        ignored,
        mut others,
        repositories,
        mut known,
        special,
    } = StandingPaths::of(place, plan, &came, &now);
    known.retain(|(folder, _)| !repositories.contains(folder));
    let connection = store.database.connection();
    let since = sessions::message_time(connection, &revert.to.id)?;
    others.retain(|path| !ignored.contains(path));
    if let Some(then) = then {
        let sides = (then, &seen.snapshot);
        others.extend(viewed_since(connection, place, snapshots, sides, since)?);
    }
    others.extend(unremembered(place, snapshots, &seen.snapshot, &now)?);
    let point = (then, revert.to.snapshot_id, since);
    let moved_before = moved_before(connection, place, snapshots, point, (plan, &others))?;
    let planned: BTreeSet<&WorkspacePath> = plan.items.iter().map(|item| &item.path).collect();
    others.retain(|path| !planned.contains(path));
    others.extend(moved_before.iter().cloned());
    let files = ignored_changes::files_in(place, &ignored);
    let ignored_came = |paths| Note::IgnoredCame { paths, files };
    notes.extend(note::on(texts(&ignored), ignored_came));
    let put = put_unseen(connection, place, snapshots, (then, since), plan)?;
    notes.extend(note::on(texts(&put), |paths| Note::IgnoredPutBack {
        paths,
    }));
    notes.extend(of_own_rules(snapshots, (then, &seen.snapshot), leaving)?);
    let lost: BTreeSet<String> = made_again.iter().copied().map(repository_text).collect();
    let lost = lost.into_iter().collect();
    notes.extend(note::on(lost, |folders| Note::RepositoriesGone { folders }));
    let below = |folders| Note::RepositoriesBelow { folders };
    notes.extend(note::on(texts(&repositories), below));
    notes.extend(version_control::moved(place, since, &known));
    notes.extend(version_control::altered(place, since, &known, true));
    let changed = ignored_changes::notes(store, place, revert, &others, &moved_before)?;
    notes.extend(changed.notes);
    notes.extend(crowded);
    let has_come = !ignored.is_empty() || !repositories.is_empty() || !special.is_empty();
    let is_left = has_come || !made_again.is_empty() || !put.is_empty();
    Ok(Findings {
        is_incomplete: is_left || is_any_another(snapshots, then, &changed.paths)?,
        notes,
    })
}

/// Names the repositories that moved since a message of which a part is undone, or which is undone alone, and the pipes
/// and sockets of that part.
fn beside_a_part(
    store: &Store,
    place: &Place,
    movement: &Movement,
    (plan, came, now): (&Plan, &BTreeSet<&[u8]>, &[Gap]),
) -> Result<Findings> {
    if movement.kind != OperationKind::Revert {
        return Ok(Findings::default());
    }
    let (message, only) = match &movement.part {
        Some(Part::Paths { message, only } | Part::Message { message, only }) => {
            (&message.id, only)
        }
        Some(Part::Step { step, only }) => (&step.message_id, only),
        None => return Ok(Findings::default()),
    };
    let mut known = StandingPaths::of(place, plan, &BTreeSet::new(), now).known;
    known.retain(|(folder, _)| folder.is_asked_for(only));
    let since = sessions::message_time(store.database.connection(), message)?;
    let altered = version_control::altered(place, since, &known, only.is_empty());
    let mut special = StandingPaths::of(place, plan, came, now).special;
    special.retain(|entry| {
        let path = WorkspacePath::new(&entry.path[..]);
        only.is_empty() || path.is_ok_and(|path| path.is_asked_for(only))
    });
    let left = left_alone(plan, special.into_iter());
    Ok(Findings {
        is_incomplete: left.is_some(),
        notes: version_control::moved(place, since, &known)
            .into_iter()
            .chain(altered)
            .chain(left)
            .collect(),
    })
}

/// Returns the repositories that were made while a step was open, in the place of others: nothing but its age tells such
/// a repository from the one that was there.
fn repositories_made_again<'n>(
    store: &Store,
    place: &Place,
    snapshots: &Snapshots,
    (revert, then): (WholeRevert<'_>, Option<&Snapshot>),
    now: &'n [Gap],
) -> Result<Vec<&'n Gap>> {
    let is_repository =
        |entry: &&Gap| matches!(entry.reason, GapReason::Metadata | GapReason::Repository);
    let repositories: Vec<&Gap> = now.iter().filter(is_repository).collect();
    if repositories.is_empty() {
        return Ok(repositories);
    }
    let there = were_there(snapshots, then, repositories.iter().copied())?;
    let connection = store.database.connection();
    let work = sessions::work_since(connection, &revert.session.id, revert.since)?;
    let is_new = |entry: &Gap| {
        let made = metadata_made_at(place, entry).map(store.surroundings.file_times);
        made.is_some_and(|made| made > work.sent_at && work.holds(made))
    };
    let all = repositories.into_iter().zip(there);
    let another = all.filter(|(entry, was_there)| *was_there && is_new(entry));
    Ok(another.map(|(entry, _)| entry).collect())
}

/// Returns the ignored paths in view that are beyond those of which the names are remembered.
fn unremembered(
    place: &Place,
    snapshots: &Snapshots,
    now: &Snapshot,
    entries: &[Gap],
) -> Result<Vec<WorkspacePath>> {
    let crowded = entries
        .iter()
        .filter(|entry| entry.reason == GapReason::MoreIgnored);
    let mut paths = Vec::new();
    for directory in crowded {
        let found = std::fs::read_dir(on_disk(place, &directory.path));
        let names = found
            .into_iter()
            .flatten()
            .flatten()
            .take(MOST_UNREMEMBERED);
        let names = names.map(|entry| join(&directory.path, entry.file_name().as_bytes()));
        paths.extend(names.filter_map(|path| WorkspacePath::new(path).ok()));
    }
    snapshots.with_presence(now, paths, |presence| presence == Presence::Unknown)
}

/// What no snapshot stores and is there now.
#[derive(Default)]
struct StandingPaths<'n> {
    /// The ignored paths that came.
    ignored: BTreeSet<WorkspacePath>,
    /// The other ignored paths.
    others: BTreeSet<WorkspacePath>,
    /// The folders of the repositories that came.
    repositories: BTreeSet<WorkspacePath>,
    /// The folders of the other repositories, each with the path of its metadata.
    known: BTreeSet<(WorkspacePath, Vec<u8>)>,
    /// What came and cannot be stored: pipes, sockets, and names that are git's own.
    special: Vec<&'n Gap>,
}

impl<'n> StandingPaths<'n> {
    fn of(place: &Place, plan: &Plan, came: &BTreeSet<&[u8]>, now: &'n [Gap]) -> Self {
        let goes = |path: &WorkspacePath| {
            let mut items = plan.items.iter();
            items.any(|item| item.empties() && item.path == *path)
        };
        let mut standing = Self::default();
        let shown = now.iter().filter(|entry| !is_ignore_file(entry));
        for entry in shown.filter(|entry| is_there(place, entry)) {
            let has_come = came.contains(&entry.path[..]);
            match entry.reason {
                GapReason::Ignored => {
                    let Ok(path) = WorkspacePath::new(&entry.path[..]) else {
                        continue;
                    };
                    match has_come && !goes(&path) {
                        true => standing.ignored.insert(path),
                        false => standing.others.insert(path),
                    };
                }
                GapReason::Metadata | GapReason::Repository => {
                    let Ok(path) = WorkspacePath::new(repository(entry)) else {
                        continue;
                    };
                    match has_come && !is_submodule(&place.root, &path) {
                        true => standing.repositories.insert(path),
                        false => standing.known.insert((path, entry.path.clone())),
                    };
                }
                GapReason::Special(_) | GapReason::ReservedName if has_come => {
                    standing.special.push(entry);
                }
                _ => {}
            }
        }
        standing
    }
}

/// Returns whether one of the paths that changed was there in a state, or may have been. No snapshot tells what it was.
fn is_any_another(
    snapshots: &Snapshots,
    then: Option<&Snapshot>,
    changed: &[WorkspacePath],
) -> Result<bool> {
    let Some(then) = then else { return Ok(false) };
    let were_there = snapshots.presences(then, changed)?;
    let is_another = |presence| is_not_known(presence) || presence == Presence::SeenDirectory;
    Ok(were_there.into_iter().any(is_another))
}

fn texts<'p>(paths: impl IntoIterator<Item = &'p WorkspacePath>) -> Vec<String> {
    paths.into_iter().map(WorkspacePath::to_text).collect()
}

/// Returns the entries that came in a step and are not in the state that a revert goes to.
fn came<'n>(
    place: &Place,
    snapshots: &Snapshots,
    then: Option<&Snapshot>,
    history: &SeenHistory,
    now: &'n [Gap],
) -> Result<BTreeSet<&'n [u8]>> {
    let since = history.came_by_path();
    let new = now
        .iter()
        .filter(|entry| since.contains_key(&entry.path[..]));
    let new: Vec<&Gap> = new.collect();
    let there = were_there(snapshots, then, new.iter().copied())?;
    let all = new.into_iter().zip(there);
    let mut came: BTreeSet<&[u8]> = all
        .filter(|(_, was_there)| !was_there)
        .map(|(entry, _)| &entry.path[..])
        .collect();
    if let Some(then) = then {
        for folder in still_empty(place, snapshots, then, &came)? {
            came.remove(folder.as_bytes());
        }
    }
    came.extend(came_elsewhere(snapshots, then, &since, now)?);
    Ok(came)
}

/// Returns the folders of which only the name came to what a look sees and does not store: they were empty in a state, and
/// are.
fn still_empty(
    place: &Place,
    snapshots: &Snapshots,
    then: &Snapshot,
    came: &BTreeSet<&[u8]>,
) -> Result<Vec<WorkspacePath>> {
    let is_empty = |path: &WorkspacePath| presence::is_empty_directory(&path.on_disk(&place.root));
    let paths = came
        .iter()
        .filter_map(|path| WorkspacePath::new(*path).ok());
    let empty: Vec<WorkspacePath> = paths.filter(is_empty).collect();
    let then = snapshots.states(then, &empty)?;
    let was_empty = |state: State| state.is_some_and(|entry| entry.is_empty_directory());
    let all = empty.into_iter().zip(then);
    Ok(all
        .filter_map(|(path, state)| was_empty(state).then_some(path))
        .collect())
}

/// Returns of each entry whether the state that a revert goes to has one at its path.
fn were_there<'n>(
    snapshots: &Snapshots,
    then: Option<&Snapshot>,
    entries: impl Iterator<Item = &'n Gap> + Clone,
) -> Result<Vec<bool>> {
    let before = match then {
        Some(then) if entries.clone().next().is_some() => snapshots.seen(then.seen)?,
        _ => Vec::new(),
    };
    let before: BTreeSet<&[u8]> = before.iter().map(|entry| &entry.path[..]).collect();
    Ok(entries
        .map(|entry| before.contains(&entry.path[..]))
        .collect())
}

/// Returns when the metadata of a repository was made, if it is a directory and the file system knows. Git makes
/// `objects` once.
fn metadata_made_at(place: &Place, entry: &Gap) -> Option<Milliseconds> {
    let folder = on_disk(place, &entry.path);
    let is_directory = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
    let objects = folder.join(metadata::OBJECTS);
    [folder, objects]
        .iter()
        .filter(|path| is_directory(path))
        .filter_map(|path| times::created_at(path))
        .max()
}

/// Returns when what is at a path was made, if the file system knows.
pub(crate) fn made_at(store: &Store, place: &Place, path: &[u8]) -> Option<Milliseconds> {
    times::created_at(&on_disk(place, path)).map(store.surroundings.file_times)
}

/// Returns the entries of a folder that the state of a revert does not list, created while a step
/// was open.
fn came_unseen<'n>(
    store: &Store,
    place: &Place,
    snapshots: &Snapshots,
    revert: WholeRevert<'_>,
    then: Option<&Snapshot>,
    now: &'n [Gap],
) -> Result<BTreeSet<&'n [u8]>> {
    let Some(then) = then.filter(|_| !now.is_empty()) else {
        return Ok(BTreeSet::new());
    };
    let connection = store.database.connection();
    let work = sessions::work_since(connection, &revert.session.id, revert.since)?;
    let told = store.surroundings.file_times;
    let is_since = |entry: &Gap| {
        let created = times::created_at(&on_disk(place, &entry.path)).map(told);
        created.is_some_and(|created| created > work.sent_at && work.holds(created))
    };
    let with_path = |entry: &'n Gap| {
        let path = match entry.reason {
            GapReason::Ignored => &entry.path[..],
            GapReason::Metadata | GapReason::Repository => repository(entry),
            _ => return None,
        };
        Some((&entry.path[..], WorkspacePath::new(path).ok()?))
    };
    let created = now.iter().filter(|entry| is_since(entry));
    let (created, paths): (Vec<&[u8]>, Vec<WorkspacePath>) = created.filter_map(with_path).unzip();
    let presences = snapshots.presences(then, &paths)?;
    let unknown = created.into_iter().zip(presences);
    let unknown = unknown.filter(|(_, presence)| *presence == Presence::Unknown);
    Ok(unknown.map(|(path, _)| path).collect())
}

/// Returns whether an entry is an ignore file. Its lines are in the rules of a snapshot.
fn is_ignore_file(entry: &Gap) -> bool {
    split(&entry.path).1 == IGNORE_FILE
}

fn on_disk(place: &Place, path: &[u8]) -> PathBuf {
    place.root.join(OsStr::from_bytes(path))
}

/// Returns a path and the directories above it, without the workspace itself.
fn ways_to(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(Some(path), |path| parent(path)).filter(|path| !path.is_empty())
}

/// Returns whether a link leads to what is at a path now. It is none of the workspace's then.
fn is_behind_a_link(place: &Place, path: &[u8]) -> bool {
    ways_to(path).skip(1).any(|way| {
        let found = on_disk(place, way).symlink_metadata();
        found.is_ok_and(|found| found.is_symlink())
    })
}

fn is_there(place: &Place, entry: &Gap) -> bool {
    on_disk(place, &entry.path).symlink_metadata().is_ok()
}

/// Returns whether nothing is left of an entry, or only an empty directory.
fn is_gone(place: &Place, entry: &Gap) -> bool {
    let path = on_disk(place, &entry.path);
    match entry.reason {
        GapReason::Repository => !is_repository(&path),
        // A file in the place of a pipe is no pipe.
        GapReason::Special(_) => !path
            .symlink_metadata()
            .is_ok_and(|found| is_special(&found)),
        _ => is_empty(&path),
    }
}

fn is_special(found: &std::fs::Metadata) -> bool {
    let kind = found.file_type();
    !kind.is_file() && !kind.is_dir() && !kind.is_symlink()
}

fn is_repository(folder: &Path) -> bool {
    let has = |name: &[u8]| {
        folder
            .join(OsStr::from_bytes(name))
            .symlink_metadata()
            .is_ok()
    };
    metadata::mark(folder.as_os_str().as_bytes(), has).is_some()
}

/// Returns whether nothing is left at a path, or only an empty directory. A file may have taken the place of the
/// directory that it was in.
fn is_empty(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(_) => presence::is_empty_directory(path),
        Err(error) => matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

fn is_at_or_below(path: &[u8], folder: &WorkspacePath) -> bool {
    path == folder.as_bytes() || is_below(path, folder.as_bytes())
}

/// Returns the folder of a repository. At the root, its metadata says more.
fn repository(entry: &Gap) -> &[u8] {
    let is_folder = entry.reason == GapReason::Repository && !metadata::is_system(&entry.path);
    match split(&entry.path).0 {
        b"" => &entry.path,
        folder if !is_folder => folder,
        _ => &entry.path,
    }
}

/// Returns the folder of a repository for people.
fn repository_text(entry: &Gap) -> String {
    match repository(entry) {
        b"" => ".".to_owned(),
        folder => String::from_utf8_lossy(folder).into_owned(),
    }
}

/// Names the directories in which names came or went since the message, and that have more ignored ones than are kept.
/// While no command ran, nothing was made that no tool named.
fn of_crowded(
    store: &Store,
    place: &Place,
    revert: WholeRevert<'_>,
    now: &[Gap],
) -> Result<Option<Note>> {
    let crowded = now.iter();
    let crowded = crowded.filter(|entry| entry.reason == GapReason::MoreIgnored);
    let crowded: Vec<&Gap> = crowded.collect();
    if crowded.is_empty() {
        return Ok(None);
    }
    let connection = store.database.connection();
    let work = sessions::free_work_since(connection, &revert.session.id, revert.since)?;
    if work.steps.is_empty() {
        return Ok(None);
    }
    let has_changed = |entry: &&&Gap| {
        let found = on_disk(place, &entry.path).symlink_metadata();
        let written = found.ok().as_ref().map(times::written);
        let written = written.map(store.surroundings.file_times);
        written.is_some_and(|written| written + TICK >= work.sent_at)
    };
    let changed = crowded.iter().filter(has_changed);
    let folders: Vec<String> = changed
        .map(|entry| match &entry.path[..] {
            b"" => "./".to_owned(),
            path => format!("{}/", String::from_utf8_lossy(path)),
        })
        .collect();
    let remembered = crate::snapshot::IGNORED_NAMES;
    Ok(note::on(folders, |folders| Note::IgnoredUnremembered {
        remembered,
        folders,
    }))
}

/// Returns the note on the ignore files that ignore themselves and differ between two snapshots, except those in folders
/// that are `leaving`.
fn of_own_rules(
    snapshots: &Snapshots,
    (then, now): (Option<&Snapshot>, &Snapshot),
    leaving: &[WorkspacePath],
) -> Result<Option<Note>> {
    let mut files = match then {
        Some(then) => snapshots.own_ignore_files_changed(then, now)?,
        None => Vec::new(),
    };
    files.retain(|path| !path.is_at_or_below(leaving));
    Ok(note::on(texts(&files), |paths| Note::IgnoreFilesDiffer {
        paths,
    }))
}
