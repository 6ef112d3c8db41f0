//! `restore`: makes paths exactly what a captured state holds, no matter who changed them since. The operation's
//! snapshot holds the present state, so this can be undone like every operation.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

use ckpt_schema::report::FileResult;

use super::carry_out::git::GitSide;
use super::carry_out::refusal;
use super::execute::PlannedRoot;
use super::goal::expectation::Expectation;
use super::goal::material;
use super::goal::present::Scene;
use super::goal::seen_history::is_name;
use super::goal::states::{PathStates, current_states};
use super::goal::user_changes::{self, Yours};
use super::operate::planned;
use super::plan::Plan;
use super::plan::operation::{Findings, GitFate, Operation, OperationFindings};
use super::plan::plan_exactly;
use super::receipt::notes::unstored;
use super::recover::Recovered;
use super::request::options::Options;
use crate::error::{Error, Result};
use crate::ids::{self, Any};
use crate::model::entry::Entry;
use crate::model::instruction::Instruction;
use crate::model::note::Note;
use crate::model::path::WorkspacePath;
use crate::model::request::{Chosen, ChosenContent, PlanOrigin, RestoreRequest};
use crate::sessions;
use crate::snapshot::{Budget, Gap, PatchSide, Presence, Snapshot, Snapshots};
use crate::store::Store;
use crate::timeline::{Look, Place};

/// Plans to put paths of a root back to the state that an id stands for. `only` is what the request names. The caller holds
/// the workspace's lock.
pub(super) fn plan_restore(
    store: &mut Store,
    place: &Place,
    request: &RestoreRequest,
    only: &[WorkspacePath],
    options: Options,
    recovered: Recovered,
) -> Result<PlannedRoot<'static>> {
    // Before the look: an id that means nothing should not cost one.
    let named = state_named(store, place, &request.id)?;
    planned(store, place, None, options, recovered, |scene| {
        let wanted = WantedState {
            scene,
            id: named.snapshot_id,
            written_by: named.operation.as_deref(),
            only,
            named: &request.paths,
        };
        Ok(Operation {
            restored: named.message,
            ..wanted.plan(options, request.overwrite_mine)?
        })
    })
}

/// The entries that files of a root get, and what they must be before: from snapshots of any time, or the parts of a plan
/// that the user chose.
#[derive(Default)]
pub(crate) struct Wanted {
    states: PathStates,
    /// The states that the user saw while choosing. A path without one may be anything.
    seen: PathStates,
}

/// What the files of each root get, by the number of its workspace.
pub(crate) type WantedInRoots = BTreeMap<i64, Wanted>;

impl Wanted {
    /// Files in states that were captured.
    pub fn captured(states: PathStates) -> Self {
        Self {
            states,
            seen: PathStates::new(),
        }
    }

    /// What was chosen of plans. Writes the bytes that the store does not hold yet, before any row names them.
    pub fn chosen(place: &Place, chosen: &[&Chosen]) -> Result<Self> {
        let texts: Vec<&[u8]> = chosen.iter().filter_map(|part| part.bytes()).collect();
        let mut blobs = place.snapshots()?.write_blobs(&texts)?.into_iter();
        let mut wanted = Self::default();
        for part in chosen {
            let state = match &part.content {
                ChosenContent::State(state) => *state,
                ChosenContent::Text { mode, .. } => {
                    blobs.next().map(|blob| Entry::stored(*mode, blob))
                }
            };
            wanted.seen.insert(part.path.clone(), part.seen);
            wanted.states.insert(part.path.clone(), state);
        }
        Ok(wanted)
    }
}

/// Plans to set paths of a root to entries. If one of them is not what the user saw, the error is `Stale`. The caller holds
/// the workspace's lock.
pub(super) fn plan_wanted(
    store: &mut Store,
    place: &Place,
    wanted: &Wanted,
    origin: PlanOrigin,
    options: Options,
    recovered: Recovered,
) -> Result<PlannedRoot<'static>> {
    planned(store, place, None, options, recovered, |scene| {
        let paths = wanted.states.keys().cloned().collect();
        let current = current_states(scene, &paths)?;
        refuse_stale(wanted, &current)?;
        let forgotten = material::forgotten(scene.store, place)?;
        let states = (&wanted.states, &current);
        let plan = plan_exactly(scene.snapshots, states, &forgotten, Yours::new())?;
        // The files come from several states, so there is none to compare with.
        Ok(Operation {
            undoes: origin.undoes,
            restored: origin.message,
            ..Operation::restore(plan)
        })
    })
}

fn refuse_stale(wanted: &Wanted, current: &PathStates) -> Result<()> {
    let state_now = |path| current.get(path).copied().flatten();
    let mut changed = wanted
        .seen
        .iter()
        .filter(|(path, seen)| state_now(path) != **seen);
    match changed.next() {
        None => Ok(()),
        Some((path, _)) => Err(Error::stale(format!(
            "`{}` has changed since it was shown",
            path.to_text().escape_debug()
        ))),
    }
}

/// A captured state that paths go back to, and the present state.
struct WantedState<'a> {
    scene: Scene<'a>,
    /// The row of its snapshot.
    id: i64,
    /// The operation of which it is the state before, if so.
    written_by: Option<&'a str>,
    /// The paths to restore; all if empty.
    only: &'a [WorkspacePath],
    /// The same as the request names them.
    named: &'a [PathBuf],
}

impl WantedState<'_> {
    /// Plans the restore. Nothing is written.
    fn plan(&self, options: Options, overwrite_mine: bool) -> Result<Operation<'static>> {
        let Self {
            scene, id, only, ..
        } = *self;
        let Scene {
            store,
            place,
            snapshots,
            seen,
        } = scene;
        let (wanted, current) = self.differing()?;
        let git = if options.git {
            Some(GitSide::of(scene).plan_exactly(id)?)
        } else {
            None
        };
        let forgotten = material::forgotten(store, place)?;
        let connection = store.database.connection();
        let states = (&wanted, &current);
        let yours = user_changes::since(connection, (place.row.id, id), seen, states)?;
        // Who names the very file knows what goes with it; a whole state, or a folder, does not say so.
        let ends = self.ends_of_moved_links(&wanted);
        let is_agreed =
            |path: &WorkspacePath| !ends.contains(path) && (overwrite_mine || only.contains(path));
        let (agreed, kept) = yours.into_iter().partition(|(path, _)| is_agreed(path));
        let mut plan = plan_exactly(snapshots, states, &forgotten, kept)?;
        let reference = sessions::snapshot(connection, id)?.snapshot;
        mark(&mut plan, &agreed);
        let unseen = unseen(&snapshots.gaps(&reference)?, seen, only);
        let now = unseen.iter().filter(|gap| seen.gaps.contains(gap));
        refusal::failed_reads(now, options)?;
        let left_alone = super::receipt::notes::left_alone(&plan, unseen.iter());
        let is_asked = |entry: &Gap| {
            let path = WorkspacePath::new(&entry.path[..]);
            is_name(entry) && path.map_or(only.is_empty(), |path| path.is_asked_for(only))
        };
        let gone = unstored::gone(
            place,
            snapshots,
            &reference,
            (is_asked, |_: &Gap| false),
            &plan,
        )?;
        let asked = self.notes(&wanted, GitFate::of(git.as_deref()))?;
        let parts = [
            asked.into_iter().collect(),
            Findings::missing(left_alone),
            gone,
        ];
        Ok(Operation {
            found: OperationFindings::planned(Findings::joined(parts)),
            git,
            reference: Some(reference),
            expectation: Some(Expectation::of_restore(id, only)),
            ..Operation::restore(plan)
        })
    }

    /// Returns where named links lead by now that themselves go back: it is the link that was named.
    fn ends_of_moved_links(&self, wanted: &PathStates) -> BTreeSet<WorkspacePath> {
        let place = self.scene.place;
        let named = self.named.iter().filter_map(|path| place.path_of(path));
        let named: BTreeSet<_> = named.collect();
        let moved = named.iter().filter(|path| wanted.contains_key(*path));
        let ends = moved.flat_map(|path| place.ends_of(path));
        ends.filter(|end| !named.contains(end)).collect()
    }

    /// Returns the wanted and the present state of the paths that differ. What came into view only because ignore rules
    /// changed is not removed.
    fn differing(&self) -> Result<(PathStates, PathStates)> {
        let Self {
            scene,
            id,
            written_by,
            only,
            ..
        } = *self;
        let Scene {
            place,
            snapshots,
            seen,
            ..
        } = scene;
        let connection = scene.connection();
        let wanted = sessions::snapshot(connection, id)?.snapshot;
        let old_gaps = snapshots.gaps(&wanted)?;
        let old = PatchSide {
            snapshot: wanted,
            gaps: &old_gaps,
        };
        let new = PatchSide {
            snapshot: seen.snapshot,
            gaps: &seen.gaps,
        };
        // Ignored files are read however long ago they were touched, because the user asked for them.
        let changes = snapshots.patch_with_hidden(&place.root, old, new, Budget::ALL)?;
        let changes: Vec<_> = changes
            .into_iter()
            .filter(|change| change.path.is_asked_for(only))
            .collect();
        let mut states = BTreeMap::new();
        for change in &changes {
            states.insert(change.path.clone(), change.old);
        }
        // The operation's rows win: they know what a file was just before it was replaced, even if a snapshot could
        // not hold it.
        states.extend(
            written_down(connection, snapshots, written_by, &wanted)?
                .into_iter()
                .filter(|(path, _)| path.is_asked_for(only)),
        );
        let current = current_states(scene, &states.keys().cloned().collect())?;
        Ok((states, current))
    }

    /// Returns the notes on what is asked for.
    fn notes(&self, wanted: &PathStates, git: GitFate) -> Result<Vec<Note>> {
        let Self {
            scene, id, only, ..
        } = *self;
        let same: Vec<WorkspacePath> = only
            .iter()
            .filter(|path| !differs_below(wanted, path))
            .cloned()
            .collect();
        let mut told = Vec::new();
        told.extend(self.unknown_paths(&same)?);
        let is_asked_for = |path: &WorkspacePath| path.is_asked_for(only);
        told.extend(super::receipt::notes::directories_stay(
            scene,
            id,
            is_asked_for,
        ));
        if git == GitFate::Along {
            told.extend(super::carry_out::git::why_nothing(&scene.place.root));
        }
        Ok(told)
    }

    /// Reports paths that exist in neither state: that is a mistake. `same` are those at which nothing differs. A link and
    /// where it leads are one name for both.
    fn unknown_paths(&self, same: &[WorkspacePath]) -> Result<Option<Note>> {
        let Scene {
            place,
            snapshots,
            seen,
            ..
        } = self.scene;
        let connection = self.scene.connection();
        let wanted = sessions::snapshot(connection, self.id)?.snapshot;
        let mut unknown = Vec::new();
        for path in same {
            let named = std::slice::from_ref(path);
            let is_in = |snapshot| -> Result<bool> {
                let around = snapshots.around(snapshot, named)?;
                Ok(around.iter().any(|(found, _)| found.is_at_or_below(named)))
            };
            if !is_in(&wanted)? && !is_in(&seen.snapshot)? {
                unknown.push(path);
            }
        }
        let is_known = |path: &&WorkspacePath| !unknown.contains(path);
        let known: Vec<&WorkspacePath> = self.only.iter().filter(is_known).collect();
        unknown.retain(|path| !place.is_also_named(path, &known));
        let number = unknown.len();
        let paths = unknown.into_iter().map(WorkspacePath::to_text).collect();
        let note = Note::UnknownInState { paths };
        match number {
            0 => Ok(None),
            _ if number == self.only.len() => Err(Error::unavailable(note.to_string())),
            _ => Ok(Some(note)),
        }
    }
}

/// Marks the user's files that a plan takes away because they agreed.
fn mark(plan: &mut Plan, agreed: &Yours) {
    for item in plan.items.iter_mut().filter(|item| item.takes_away()) {
        if let Some(reason) = agreed.get(&item.path) {
            item.reason = Some(reason.of_item());
        }
    }
}

/// Returns whether the state and what is there now differ at a path or below it.
fn differs_below(wanted: &PathStates, path: &WorkspacePath) -> bool {
    wanted
        .keys()
        .any(|differing| differing.is_at_or_below(std::slice::from_ref(path)))
}

/// A state that an id stands for.
struct NamedState {
    /// The row of its snapshot.
    snapshot_id: i64,
    /// The operation of which it is the state before, if so.
    operation: Option<String>,
    /// The message of which it is the state before, or of whose step.
    message: Option<String>,
}

/// Returns the row of the state that an id stands for: a snapshot, or the state just before a message, step or
/// operation.
pub(crate) fn snapshot_named(store: &Store, place: &Place, id: &str) -> Result<i64> {
    state_named(store, place, id).map(|named| named.snapshot_id)
}

fn state_named(store: &Store, place: &Place, id: &str) -> Result<NamedState> {
    let (mut written_by, mut of) = (None, None);
    let (snapshot_id, what) = match ids::any(store.database.connection(), place.row.id, id)? {
        Any::Snapshot(snapshot) => (Some(snapshot.id), "snapshot"),
        Any::Message(message) => {
            of = Some(message.id);
            (message.snapshot_id, "message")
        }
        Any::Step(step) => {
            of = Some(step.message_id);
            (step.start_snapshot_id, "step")
        }
        Any::Operation(operation) => {
            written_by = Some(operation.id);
            (operation.before_snapshot_id, "operation")
        }
        Any::Session(_) => {
            return Err(
                Error::failed(format!("`{id}` is a session: it has no state of its own")).hint(
                    format!(
                        "give one of its messages; {} lists them",
                        Instruction::Messages
                    ),
                ),
            );
        }
    };
    let snapshot_id = snapshot_id.ok_or_else(|| {
        Error::unavailable(format!(
            "the workspace was not captured at the {what} `{id}`"
        ))
    })?;
    Ok(NamedState {
        snapshot_id,
        operation: written_by,
        message: of,
    })
}

/// Returns the gaps, among the paths that are asked for, of only one side: of the wanted state, or of the present.
/// It is unclear whether these paths are as they were.
fn unseen(then: &[Gap], seen: &Look, only: &[WorkspacePath]) -> Vec<Gap> {
    let now = &seen.gaps;
    let is_of_interest = |gap: &Gap| match WorkspacePath::new(gap.path.clone()) {
        Ok(path) => path.is_asked_for(only) || only.iter().any(|named| named.is_below(&path)),
        Err(_) => only.is_empty(),
    };
    let paths =
        |gaps: &'_ [Gap]| -> HashSet<Vec<u8>> { gaps.iter().map(|gap| gap.path.clone()).collect() };
    let (paths_then, paths_now) = (paths(then), paths(now));
    // What was a gap then and is one now is no difference that anybody could see.
    let one_sided = |gap: &Gap| paths_then.contains(&gap.path) != paths_now.contains(&gap.path);
    let all = then.iter().chain(now);
    all.filter(|gap| gap.reason.hides_content() && one_sided(gap) && is_of_interest(gap))
        .cloned()
        .collect()
}

/// Adds what the snapshot before an operation did not hold, from the operation's own rows.
fn written_down(
    connection: &rusqlite::Connection,
    snapshots: &Snapshots,
    operation: Option<&str>,
    before: &Snapshot,
) -> Result<PathStates> {
    let Some(operation) = operation else {
        return Ok(PathStates::new());
    };
    let mut items = sessions::operation_items(connection, operation)?;
    // What was not done was not replaced, so what is there now is what was there.
    items.retain(|item| item.result == FileResult::Done);
    let paths: Vec<WorkspacePath> = items.iter().map(|item| item.path.clone()).collect();
    let presences = snapshots.presences(before, &paths)?;
    let unseen = items.into_iter().zip(presences);
    let unseen = unseen.filter(|(_, presence)| *presence != Presence::Stored);
    Ok(unseen.map(|(item, _)| (item.path, item.expected)).collect())
}
