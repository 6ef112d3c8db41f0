//! Files that are gone: what any snapshot held and the workspace lacks, with whose change removed it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use ckpt_schema::report::{
    FileResult, GoneReport, OperationReport, RecoverReport, RootGone, TakenBy, VERSION,
};
use rusqlite::Connection;

use super::{compare, renames};
use crate::error::Result;
use crate::model::Milliseconds;
use crate::model::attribution::Attribution;
use crate::model::entry::{Change, Entry, EntryKind, State};
use crate::model::item::Item;
use crate::model::path::{WorkspacePath, list_once};
use crate::revert::{self, StatesInRoots};
use crate::sessions::{self, FileChange, TakenFile};
use crate::snapshot::Snapshots;
use crate::store::Store;
use crate::timeline::{self, Place};

/// A file that is gone, in its last state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GoneFile {
    pub path: WorkspacePath,
    pub state: State,
    pub report: GoneReport,
    /// The recorded change that removed it, if that is known.
    change: Option<FileChange>,
}

/// The files that are gone from a root.
pub(crate) struct GoneInRoot {
    place: Place,
    files: Vec<GoneFile>,
}

/// Returns the deleted files of a workspace and of the other roots of its sessions, newest deletion first: those at or below
/// a named path or, failing that, those with that name anywhere. The workspace itself comes first.
pub(crate) fn gone(store: &Store, place: &Place, named: &[PathBuf]) -> Result<Vec<GoneInRoot>> {
    let mut roots = Vec::new();
    let (others, _) = revert::roots_of_sessions(store, place)?;
    for place in std::iter::once(place.clone()).chain(others) {
        let files = all(store, &place)?;
        roots.push(GoneInRoot { place, files });
    }
    if named.is_empty() {
        return Ok(roots);
    }
    let named: Vec<PathBuf> = named.iter().map(|path| place.cwd.join(path)).collect();
    let holds =
        |place: &Place, path: &PathBuf| place.is_root(path) || place.path_of(path).is_some();
    let is_nowhere = |path: &&PathBuf| !roots.iter().any(|root| holds(&root.place, path));
    if let Some(nowhere) = named.iter().find(is_nowhere) {
        place.paths_asked_for(std::slice::from_ref(nowhere))?;
    }
    let mut asked = Vec::new();
    for root in &roots {
        let here = named.iter().filter(|path| holds(&root.place, path));
        let here: Vec<PathBuf> = here.cloned().collect();
        let only = root.place.paths_asked_for(&here)?;
        asked.push((!here.is_empty()).then_some(only));
    }
    let is_asked = |only: &Option<Vec<WorkspacePath>>, gone: &GoneFile| {
        let mut only = only.iter();
        only.any(|only| only.is_empty() || gone.path.is_at_or_below(only))
    };
    let both = || roots.iter().zip(&asked);
    let is_there = both().any(|(root, only)| root.files.iter().any(|gone| is_asked(only, gone)));
    // People forget where a file was sooner than what it was called.
    let names = asked.iter().flatten().flatten();
    let names: BTreeSet<Vec<u8>> = names.map(|path| path.name().to_owned()).collect();
    for (root, only) in roots.iter_mut().zip(&asked) {
        root.files.retain(|gone| match is_there {
            true => is_asked(only, gone),
            false => names.contains(gone.path.name()),
        });
    }
    Ok(roots)
}

/// Returns the report on files that are gone, and on the operation that puts them back, if there was one.
pub(crate) fn recovered(
    store: &Store,
    roots: Vec<GoneInRoot>,
    operation: Option<OperationReport>,
) -> Result<RecoverReport> {
    let away = match roots.first() {
        Some(first) => revert::roots_of_sessions(store, &first.place)?.1,
        None => Vec::new(),
    };
    let of_root = |root: GoneInRoot| {
        let files = root.files.into_iter().map(|gone| gone.report);
        (root.place.root, files.collect::<Vec<GoneReport>>())
    };
    let mut roots: Vec<_> = roots.into_iter().map(of_root).collect();
    let lists = roots.iter_mut().map(|(root, files)| (root.clone(), files));
    list_once(&mut lists.collect::<Vec<_>>(), |gone| &gone.path.path);
    let mut roots = roots.into_iter();
    let files = roots.next().map(|(_, files)| files).unwrap_or_default();
    let others = roots.filter(|(_, files)| !files.is_empty());
    let away = away.into_iter().map(|row| row.path);
    Ok(RecoverReport {
        version: VERSION,
        files,
        away: away
            .map(|path| path.to_string_lossy().into_owned())
            .collect(),
        roots: others
            .map(|(root, files)| RootGone {
                workspace: root.to_string_lossy().into_owned(),
                files,
            })
            .collect(),
        operation,
    })
}

/// Returns the last states of files that are gone, also of those whose bytes are not stored: an operation names them.
pub(crate) fn last_states(roots: &[GoneInRoot]) -> StatesInRoots {
    let roots = roots.iter().filter(|root| !root.files.is_empty());
    let roots = roots.map(|root| {
        let states = root.files.iter();
        let states = states.map(|gone| (gone.path.clone(), gone.state));
        (root.place.row.id, states.collect())
    });
    roots.collect()
}

/// Returns the last states of the files that [`gone`] finds.
pub(crate) fn gone_states(
    store: &Store,
    place: &Place,
    named: &[PathBuf],
) -> Result<StatesInRoots> {
    Ok(last_states(&gone(store, place, named)?))
}

/// The time of the deletion.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Went {
    At(Milliseconds),
    /// After the newest snapshot, so no look saw when.
    SinceLastSnapshot,
}

impl GoneFile {
    fn went(&self) -> Went {
        self.report.time.map_or(Went::SinceLastSnapshot, Went::At)
    }

    /// Returns its removal.
    fn as_change(&self) -> Change {
        let change = self.change.as_ref();
        Change {
            path: self.path.clone(),
            old: change.map_or(self.state, |change| change.old),
            new: change.and_then(|change| change.new),
        }
    }

    /// Marks the files whose bytes `gc` or `forget` removed as not stored, whatever the rows say.
    fn without_pruned(&mut self, snapshots: &Snapshots) {
        let blob = self.state.and_then(|entry| entry.blob);
        if blob.is_some_and(|blob| snapshots.blob_size(blob).is_err()) {
            self.state = self.state.map(|entry| Entry {
                blob: None,
                ..entry
            });
            self.report.blob = None;
        }
    }
}

fn all(store: &Store, place: &Place) -> Result<Vec<GoneFile>> {
    // The changes are read for what went, and for what came.
    store.database.keep_pages()?;
    let connection = store.database.connection();
    let uncaptured = last_seen(store, place)?.into_iter().map(by_none_seen);
    let changes = sessions::deletions(connection, place.row.id)?;
    let operations = sessions::taken_by_operations(connection, place.row.id)?;
    let removals = uncaptured
        .chain(changes.into_iter().map(by_change))
        .chain(operations.into_iter().map(by_operation));
    let mut found = latest(removals);
    let paths: Vec<WorkspacePath> = found.keys().cloned().collect();
    let snapshots = place.snapshots()?;
    // What was made again since, or is only hidden by a rule, is not gone.
    let are_there = snapshots.may_be_there(&place.root, &paths)?;
    for (path, is_there) in paths.iter().zip(are_there) {
        if is_there {
            found.remove(path);
        }
    }
    let mut all: Vec<GoneFile> = found.into_values().collect();
    all.retain(|gone| is_file(gone.state));
    for gone in &mut all {
        gone.without_pruned(&snapshots);
    }
    note_renames(connection, place.row.id, &snapshots, &mut all)?;
    all.sort_by_key(|gone| std::cmp::Reverse(gone.went()));
    Ok(all)
}

/// Returns the last removal of each path, with whose change removed it first. Of two at one time, the first one counts.
fn latest(removals: impl Iterator<Item = GoneFile>) -> BTreeMap<WorkspacePath, GoneFile> {
    let mut found: BTreeMap<WorkspacePath, GoneFile> = BTreeMap::new();
    let mut causes: BTreeMap<(WorkspacePath, State), GoneFile> = BTreeMap::new();
    for gone in removals {
        if gone.change.is_some() {
            let cause = (gone.path.clone(), gone.state);
            causes.entry(cause).or_insert_with(|| gone.clone());
        }
        let known = found.get(&gone.path);
        if known.is_none_or(|known| gone.went() > known.went()) {
            found.insert(gone.path.clone(), gone);
        }
    }
    for gone in found
        .values_mut()
        .filter(|gone| gone.report.by == TakenBy::Operation)
    {
        // An operation that went forward only removed it again.
        if let Some(cause) = causes.remove(&(gone.path.clone(), gone.state)) {
            let operation = gone.report.operation.take();
            let time = gone.report.time;
            *gone = cause;
            gone.report.operation = operation;
            gone.report.time = time;
        }
    }
    found
}

/// Notes what files were renamed to that went while another one like them came, for a message or by an operation.
fn note_renames(
    connection: &Connection,
    workspace_id: i64,
    snapshots: &Snapshots,
    gone: &mut [GoneFile],
) -> Result<()> {
    let mut seen: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    let mut taken: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, file) in gone.iter().enumerate() {
        match (&file.change, &file.report.operation) {
            (Some(change), _) => {
                if let Some(snapshot) = change.to_snapshot_id {
                    seen.entry(snapshot).or_default().push(place);
                }
            }
            (None, Some(operation)) => taken.entry(operation.clone()).or_default().push(place),
            (None, None) => {}
        }
    }
    let all: BTreeSet<i64> = seen.keys().copied().collect();
    let mut added = sessions::additions_in(connection, workspace_id, &all)?;
    let of_snapshot = |(snapshot, places)| (places, added.remove(&snapshot).unwrap_or_default());
    let mut together: Vec<(Vec<usize>, Vec<Change>)> = seen.into_iter().map(of_snapshot).collect();
    for (operation, places) in taken {
        let items = sessions::operation_items(connection, &operation)?;
        together.push((places, items.into_iter().filter_map(put_there).collect()));
    }
    for (places, added) in together {
        pair(snapshots, gone, &places, added);
    }
    Ok(())
}

/// Notes which of some files that went together are among those that came then.
fn pair(snapshots: &Snapshots, gone: &mut [GoneFile], places: &[usize], added: Vec<Change>) {
    let went = places.iter().map(|place| gone[*place].as_change());
    let both = went.chain(added);
    let files = both.map(|change| compare::unread(&change)).collect();
    let files = renames::with_renames(snapshots, files);
    for (place, file) in places.iter().zip(files) {
        gone[*place].report.renamed_to = file.renamed_to;
    }
}

/// Notes what files were renamed to after the newest snapshot. Only a look at the workspace tells.
pub(crate) fn note_renames_since(store: &mut Store, roots: &mut [GoneInRoot]) -> Result<()> {
    for GoneInRoot { place, files } in roots {
        let is_new = |place: &usize| files[*place].report.by == TakenBy::Uncaptured;
        let places: Vec<usize> = (0..files.len()).filter(is_new).collect();
        let newest = place.row.last_snapshot_id.filter(|_| !places.is_empty());
        let Some(newest) = newest else {
            continue;
        };
        let newest = sessions::snapshot(store.database.connection(), newest)?;
        let present = timeline::current(store, place)?.snapshot;
        let snapshots = place.snapshots()?;
        let changes = snapshots.difference(&newest.snapshot, &present)?;
        let added = changes.into_iter().filter(|change| change.old.is_none());
        pair(&snapshots, files, &places, added.collect());
    }
    Ok(())
}

/// Returns the file that an operation put where there was none, if it did.
fn put_there(item: Item) -> Option<Change> {
    let is_new = item.expected.is_none() && item.target.is_some();
    (is_new && item.result == FileResult::Done).then_some(Change {
        path: item.path,
        old: None,
        new: item.target,
    })
}

/// Returns the files of the newest snapshot. The caller drops those that still exist.
fn last_seen(store: &Store, place: &Place) -> Result<Vec<(WorkspacePath, State)>> {
    let Some(id) = place.row.last_snapshot_id else {
        return Ok(Vec::new());
    };
    let row = sessions::snapshot(store.database.connection(), id)?;
    let entries = place.snapshots()?.entries(&row.snapshot)?;
    Ok(entries
        .into_iter()
        .map(|(path, entry)| (path, Some(entry)))
        .collect())
}

fn is_file(state: State) -> bool {
    state.is_some_and(|entry| entry.mode.kind() != EntryKind::Directory)
}

/// Returns a file of the newest snapshot as one that went after it.
fn by_none_seen((path, state): (WorkspacePath, State)) -> GoneFile {
    GoneFile {
        report: report(&path, state, TakenBy::Uncaptured, None),
        path,
        state,
        change: None,
    }
}

fn by_change(change: FileChange) -> GoneFile {
    let by = match change.attribution {
        Attribution::Agent => TakenBy::Agent,
        Attribution::Shared => TakenBy::Shared,
        Attribution::Unclear => TakenBy::Unclear,
        Attribution::Outside => TakenBy::Outside,
    };
    let report = report(&change.path, change.old, by, Some(change.time));
    let author = change.author.clone();
    GoneFile {
        report: GoneReport {
            agent: author.as_ref().map(|author| author.agent.clone()),
            message: author.as_ref().map(|author| author.message_id.clone()),
            prompt: author.and_then(|author| author.prompt),
            ..report
        },
        path: change.path.clone(),
        state: change.old,
        change: Some(change),
    }
}

fn by_operation(taken: TakenFile) -> GoneFile {
    let report = report(
        &taken.path,
        taken.state,
        TakenBy::Operation,
        Some(taken.time),
    );
    GoneFile {
        report: GoneReport {
            operation: Some(taken.operation),
            ..report
        },
        path: taken.path,
        state: taken.state,
        change: None,
    }
}

fn report(path: &WorkspacePath, state: State, by: TakenBy, time: Option<i64>) -> GoneReport {
    GoneReport {
        path: path.to_report(),
        by,
        agent: None,
        message: None,
        prompt: None,
        operation: None,
        renamed_to: None,
        time,
        mode: state
            .map(|entry| entry.mode.to_string())
            .unwrap_or_default(),
        blob: state
            .and_then(|entry| entry.blob)
            .map(|blob| blob.to_string()),
    }
}
