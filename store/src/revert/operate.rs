//! The line from a movement to its outcome: look, plan, check, write the plan down, apply, look again, close.

use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::report::{FileAction, FileReport, FileResult, OperationKind, OperationReport, Outcome, VERSION};

use super::apply::{self, Root, Work};
use super::gather::{Material, States, gather};
use super::git::{self, GitSide, item::GitItem};
use super::history::History;
use super::item::Item;
use super::merge::Contents;
use super::movement::{Movement, Part, Scope};
use super::plan::{Move, Plan, plan};
use super::target::{Target, target};
use super::{OnConflict, Progress, paths};
use crate::entry::{Change, ObjectId};
use crate::error::{Error, Result};
use crate::path::WorkspacePath;
use crate::record::{Looking, Observation, Place, count_with, snapshot_of};
use crate::sessions::{self, ChainOperation, NewOperation, OpenStep};
use crate::snapshot::Snapshots;
use crate::{Milliseconds, Store};

/// How long an agent without tool events counts as at work after its last event.
const AT_WORK: Milliseconds = 30_000;

/// How an operation is to be carried out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    pub dry_run: bool,
    pub force: bool,
    /// Whether HEAD, branches and the index move along.
    pub git: bool,
}

/// A plan with everything that its operation's row says.
pub(crate) struct Operation<'a> {
    pub kind: OperationKind,
    pub movement: Option<&'a Movement>,
    pub plan: Plan,
    /// What becomes of git's own state; none where nobody asked.
    pub git: Option<Vec<GitItem>>,
    pub on_conflict: OnConflict,
    /// The state before the first revert, where it is older than the operation itself.
    pub base: Option<i64>,
    /// The snapshot that tells which directories may stay.
    pub reference: Option<i64>,
    pub notes: Vec<String>,
    /// Whether something in question was never recorded, and so is not in the plan.
    pub is_incomplete: bool,
}

/// Moves the revert point of a session, or a part of it. The caller holds the workspace's lock, and nothing of an operation
/// before it is left to be done: where the point is now says only a closed one.
pub(crate) fn carry_out(
    store: &mut Store,
    place: &Place,
    movement: &Movement,
    manner: Manner,
    mut notes: Vec<String>,
) -> Result<OperationReport> {
    let connection = store.database.connection();
    let open = sessions::open_steps(connection, place.row.id)?;
    let own: Vec<&OpenStep> = open.iter().filter(|step| step.root_session_id == movement.session.id).collect();
    refuse_while_busy(&own, store.now(), manner)?;
    let chain = match movement.session.revert_base_id {
        Some(base) => sessions::chain(connection, &movement.session.id, base)?,
        None => Vec::new(),
    };
    let snapshots = place.snapshots()?;
    let looking = Looking { open: &open, closing: &own, ..Looking::default() };
    let seen = observe(store, place, &snapshots, looking)?;
    let base = movement.session.revert_base_id;
    let material = gather(store, place, &snapshots, movement, &chain, &seen, base)?;
    refuse_unavailable(movement, &material)?;
    notes.extend(unknown_paths(movement, &material)?);
    let side = GitSide { connection, place, snapshots: &snapshots, now: seen.git.as_ref() };
    let moves_git = manner.git || (movement.kind != OperationKind::Revert && git::was_moved(connection, &chain)?);
    let git = if moves_git { Some(side.plan(movement, &chain, base)?) } else { None };
    notes.extend(unprotected_notes(&material));
    notes.extend(match &git {
        Some(_) => git::why_nothing(&place.root),
        None => head_moved(&side, movement, base)?,
    });
    let on_conflict = movement.on_conflict.unwrap_or_else(|| policy(&chain));
    let plan = plan_for(&snapshots, &material, on_conflict)?;
    notes.extend(not_captured(movement, &plan, &seen));
    let reference = movement.reference_snapshot(base.unwrap_or_default()).filter(|id| *id != 0);
    let is_incomplete = !material.unprotected.is_empty();
    let operation = Operation {
        kind: movement.kind,
        movement: Some(movement),
        plan,
        git,
        on_conflict,
        base,
        reference,
        notes,
        is_incomplete,
    };
    execute(store, place, &snapshots, operation, &seen, &own, manner)
}

/// Looks at the workspace, and tells whoever watches.
pub(crate) fn observe(
    store: &Store,
    place: &Place,
    snapshots: &Snapshots,
    looking: Looking<'_>,
) -> Result<Observation> {
    let watcher = store.watcher.as_deref();
    let tell = |progress| watcher.iter().for_each(|watcher| watcher(Progress::Looking(progress)));
    Observation::make(store, place, snapshots, Looking { progress: Some(&tell), ..looking })
}

/// Carries a plan out, or only tells it.
pub(crate) fn execute(
    store: &mut Store,
    place: &Place,
    snapshots: &Snapshots,
    mut operation: Operation<'_>,
    seen: &Observation,
    closing: &[&OpenStep],
    manner: Manner,
) -> Result<OperationReport> {
    count_lines(snapshots, &mut operation.plan);
    check_objects(snapshots, &operation.plan)?;
    if manner.dry_run {
        let git = operation.git.clone().unwrap_or_default();
        return Ok(report(store, &operation, None, (&operation.plan.items, &git), true));
    }
    let moves_git = operation.git.iter().flatten().any(GitItem::is_planned);
    let is_move = operation.movement.is_some_and(|movement| movement.part.is_none() && !is_same_point(movement));
    if !operation.plan.has_work() && !is_move && !moves_git {
        keep_what_was_seen(store, place, seen, closing)?;
        let git = operation.git.clone().unwrap_or_default();
        return Ok(report(store, &operation, None, (&operation.plan.items, &git), false));
    }
    let merged: Vec<&[u8]> = operation.plan.blobs.values().map(Vec::as_slice).collect();
    snapshots.write_blobs(&merged)?;
    let root = Root::open(&place.root, place.device()?, place.row.inode)?;
    refuse_what_must_fail(&root, snapshots, &operation.plan.items)?;
    let id = crate::new_id();
    write_down(store, place, &id, &mut operation, seen, closing)?;
    let (items, git) = finish(store, place, snapshots, &root, &id)?;
    Ok(report(store, &operation, Some(id), (&items, &git), false))
}

/// A file system that is read-only or full refuses the whole operation; a single directory is that file's failure.
fn refuse_what_must_fail(root: &Root, snapshots: &Snapshots, items: &[Item]) -> Result<()> {
    let size = |blob: ObjectId| snapshots.blob_size(blob);
    let problems = apply::preflight(root, items, &size)?;
    let whole: Vec<String> =
        problems.into_iter().filter(|problem| problem.path.is_none()).map(|problem| problem.reason).collect();
    if whole.is_empty() { Ok(()) } else { Err(Error::failed(format!("nothing was changed: {}", whole.join("; ")))) }
}

fn refuse_while_busy(own: &[&OpenStep], now: Milliseconds, manner: Manner) -> Result<()> {
    if manner.force || manner.dry_run || !own.iter().any(|step| is_busy(step, now)) {
        return Ok(());
    }
    Err(Error::busy("the agent is at work in this session").hint("wait until it is done, or give --force"))
}

/// Returns whether an agent works at a step: one of its tools runs, or, where it does not tell of tools, it was heard of
/// just now.
pub(crate) fn is_busy(step: &OpenStep, now: Milliseconds) -> bool {
    step.running > 0 || (!step.tool_events && now - step.last_event_at < AT_WORK)
}

fn refuse_unavailable(movement: &Movement, material: &Material) -> Result<()> {
    let has_changes = material.changes.iter().any(|past| past.claim != super::history::Claim::Keep);
    if has_changes || material.unprotected.is_empty() || movement.kind != OperationKind::Revert {
        return Ok(());
    }
    let reasons: Vec<&str> = material.unprotected.iter().map(|(_, why)| why.as_str()).collect();
    Err(Error::unavailable(format!("what the agent changed was not recorded: {}", reasons.join("; ")))
        .hint("`ckpt-hook status` shows what went wrong"))
}

/// A path that the agent never changed is a mistake of whoever named it, and not a file that is as it was.
fn unknown_paths(movement: &Movement, material: &Material) -> Result<Option<String>> {
    let Some(part) = movement.part.as_ref().filter(|_| !material.unknown.is_empty()) else { return Ok(None) };
    let since = match part {
        Part::Paths { .. } => "since that message",
        Part::Step { .. } => "in that step",
    };
    let names: Vec<String> = material.unknown.iter().map(|path| format!("`{}`", path.to_text())).collect();
    let what = format!("the agent changed nothing at or below {} {since}", names.join(" or "));
    if material.unknown.len() == Scope::of_part(part).only().len() {
        return Err(Error::unavailable(what).hint("`ckpt-hook show ID` lists the files of a message or step"));
    }
    Ok(Some(what))
}

fn unprotected_notes(material: &Material) -> impl Iterator<Item = String> {
    let note = |(step, why): &(String, String)| {
        format!("step `{}` was not recorded, and its changes stay: {why}", short(step))
    };
    material.unprotected.iter().map(note)
}

/// What snapshots cannot hold may have been changed by the agent, and nobody saw it: it is named again at revert.
fn not_captured(movement: &Movement, plan: &Plan, seen: &Observation) -> Option<String> {
    const NAMED: usize = 5;
    // A file whose own line says so is not named twice.
    let told: BTreeSet<&[u8]> =
        plan.items.iter().filter(|item| item.action != FileAction::None).map(|item| item.path.as_bytes()).collect();
    let gaps: Vec<_> = seen.gaps.iter().filter(|gap| !told.contains(gap.path.as_slice())).collect();
    if gaps.is_empty() || movement.part.is_some() || movement.kind != OperationKind::Revert {
        return None;
    }
    let mut names: Vec<String> = gaps
        .iter()
        .take(NAMED)
        .map(|gap| format!("`{}` ({})", crate::record::gap_report(gap).path.path, gap.reason))
        .collect();
    if gaps.len() > NAMED {
        names.push(format!("and {} more (`ckpt-hook status --json`)", gaps.len() - NAMED));
    }
    Some(format!("no snapshot holds these, so they were left alone: {}", names.join(", ")))
}

/// Commits, branches and the index stay as they are; a revert over commits that the agent made says so.
fn head_moved(side: &GitSide<'_>, movement: &Movement, base: Option<i64>) -> Result<Option<String>> {
    const WAY: &str = "`--git` moves the branch back";
    let commits = if movement.kind == OperationKind::Revert { side.commits(movement, base)? } else { None };
    if let Some(commits) = commits {
        return Ok(Some(format!("{commits}; {WAY}")));
    }
    let connection = side.connection;
    let Some(snapshot_id) = movement.reference_snapshot(0).filter(|id| *id != 0) else { return Ok(None) };
    let Some(git_state_id) = sessions::snapshot(connection, snapshot_id)?.git_state_id else { return Ok(None) };
    let then = sessions::git_state(connection, git_state_id)?;
    let Some(now) = side.now else { return Ok(None) };
    if then.head == now.head && then.branch == now.branch {
        return Ok(None);
    }
    let name = |state: &sessions::GitStateRow| {
        let head = state.head.as_deref().map_or("no commit", short);
        match &state.branch {
            Some(branch) => format!("{head} on `{}`", branch.trim_start_matches("refs/heads/")),
            None => format!("{head}, detached"),
        }
    };
    Ok(Some(format!(
        "git's HEAD was at {} and is at {}: commits, branches and the index stay as they are without `--git`",
        name(&then),
        name(now)
    )))
}

/// What was decided about conflicts holds for the whole chain, so that going on does not bring back what was overwritten.
fn policy(chain: &[ChainOperation]) -> OnConflict {
    let reverts = chain.iter().filter(|operation| operation.row.kind == OperationKind::Revert);
    reverts.map(|operation| operation.on_conflict).next_back().unwrap_or_default()
}

fn plan_for(snapshots: &Snapshots, material: &Material, on_conflict: OnConflict) -> Result<Plan> {
    let read = |blob: ObjectId, limit: u64| snapshots.read_blob_up_to(blob, limit);
    let mut contents = Contents::new(&read);
    let history = History::new(&material.changes);
    let targets = target(&material.base, &history, &mut contents, on_conflict)?;
    plan_targets(&targets, &material.goals, &material.current, &history, &mut contents, on_conflict)
}

fn plan_targets(
    targets: &BTreeMap<WorkspacePath, Target>,
    goals: &States,
    current: &States,
    history: &History<'_>,
    contents: &mut Contents<'_>,
    on_conflict: OnConflict,
) -> Result<Plan> {
    plan(Move { goals, targets, current, history }, contents, on_conflict)
}

/// Plans to make paths exactly what they were, whoever changed them: `restore`.
pub(crate) fn plan_exactly(snapshots: &Snapshots, wanted: &States, current: &States) -> Result<Plan> {
    let read = |blob: ObjectId, limit: u64| snapshots.read_blob_up_to(blob, limit);
    let mut contents = Contents::new(&read);
    let state_now = |path: &WorkspacePath| current.get(path).copied().flatten();
    let targets: BTreeMap<_, _> =
        wanted.iter().map(|(path, state)| (path.clone(), Target::exactly(state_now(path), *state))).collect();
    plan_targets(&targets, &States::new(), current, &History::default(), &mut contents, OnConflict::Overwrite)
}

fn is_same_point(movement: &Movement) -> bool {
    let id = |message: &Option<sessions::MessageRow>| message.as_ref().map(|message| message.id.clone());
    id(&movement.from) == id(&movement.to) && !movement.ends_chain()
}

fn count_lines(snapshots: &Snapshots, plan: &mut Plan) {
    for item in &mut plan.items {
        if item.result == FileResult::Planned {
            let change = Change { path: item.path.clone(), old: item.expected, new: item.target };
            item.lines = count_with(&change, |blob| match plan.blobs.get(&blob) {
                Some(bytes) => Some(bytes.clone()),
                None => snapshots.read_blob_up_to(blob, crate::record::MAX_COUNTED).ok().flatten(),
            });
        }
    }
}

/// Everything that is to be written must be there and sound before anything is touched.
fn check_objects(snapshots: &Snapshots, plan: &Plan) -> Result<()> {
    let planned = || plan.items.iter().filter(|item| item.result == FileResult::Planned);
    let wanted: BTreeSet<ObjectId> = planned()
        .filter_map(|item| item.target?.blob)
        .filter(|blob| !plan.blobs.contains_key(blob) && *blob != ObjectId::EMPTY_TREE)
        .collect();
    let wanted: Vec<ObjectId> = wanted.into_iter().collect();
    let broken = snapshots.check_blobs(&wanted)?;
    let Some((blob, what)) = broken.first() else { return Ok(()) };
    let paths: Vec<String> = planned()
        .filter(|item| {
            item.target.and_then(|entry| entry.blob).is_some_and(|blob| broken.iter().any(|(id, _)| *id == blob))
        })
        .map(|item| format!("`{}`", item.path.to_text()))
        .collect();
    Err(Error::unavailable(format!("nothing was changed: what the store holds of {} is damaged", paths.join(", ")))
        .because(format!("object {blob}: {what}"))
        .hint("`ckpt-hook doctor` checks the store; --only reverts other files"))
}

/// Nothing is to be done, and yet the workspace was looked at: what was seen counts.
fn keep_what_was_seen(store: &mut Store, place: &Place, seen: &Observation, closing: &[&OpenStep]) -> Result<()> {
    let now = store.now();
    store.database.write(|connection| {
        let snapshot_id = seen.write(connection, place.row.id, None, now)?;
        close_steps(connection, closing, snapshot_id, now)
    })
}

fn close_steps(
    connection: &rusqlite::Connection,
    closing: &[&OpenStep],
    snapshot_id: i64,
    now: Milliseconds,
) -> Result<()> {
    closing
        .iter()
        .try_for_each(|step| sessions::close_step(connection, &step.row.id, None, Some(snapshot_id), true, None, now))
}

/// The journal: from here on a crash leaves an operation that the next command finishes.
fn write_down(
    store: &mut Store,
    place: &Place,
    id: &str,
    operation: &mut Operation<'_>,
    seen: &Observation,
    closing: &[&OpenStep],
) -> Result<()> {
    let now = store.now();
    let movement = operation.movement;
    let (part_message, part_step, only) = match movement.and_then(|movement| movement.part.as_ref()) {
        Some(Part::Paths { message, only }) => (Some(message.id.as_str()), None, only.as_slice()),
        Some(Part::Step { step, only }) => (None, Some(step.id.as_str()), only.as_slice()),
        None => (None, None, &[][..]),
    };
    let (only_paths, notes) = (paths::to_json(only), notes_json(&operation.notes));
    let directories = directories_that_may_go(store, place, operation)?;
    operation.base = store.database.write_synced(|connection| {
        let before = seen.write(connection, place.row.id, None, now)?;
        close_steps(connection, closing, before, now)?;
        let base = movement.map(|_| operation.base.unwrap_or(before));
        let new = NewOperation {
            id,
            workspace_id: place.row.id,
            session_id: movement.map(|movement| movement.session.id.as_str()),
            kind: operation.kind,
            from_message_id: movement.and_then(|movement| movement.from.as_ref()).map(|message| message.id.as_str()),
            message_id: movement.and_then(|movement| movement.to.as_ref()).map(|message| message.id.as_str()),
            part_message_id: part_message,
            step_id: part_step,
            base_snapshot_id: base,
            before_snapshot_id: before,
            on_conflict: operation.on_conflict,
            only_paths: &only_paths,
            notes: &notes,
            directories: &paths::to_json(&directories),
            is_incomplete: operation.is_incomplete,
            git: operation.git.is_some(),
        };
        sessions::insert_operation(connection, &new, &operation.plan.items, now)?;
        sessions::insert_git_items(connection, id, operation.git.as_deref().unwrap_or_default())?;
        Ok(base)
    })?;
    Ok(())
}

/// A directory goes, when it is empty afterwards, only if it was not there before what is being undone.
fn directories_that_may_go(store: &Store, place: &Place, operation: &Operation<'_>) -> Result<Vec<WorkspacePath>> {
    let leaving =
        operation.plan.items.iter().filter(|item| item.result == FileResult::Planned && item.target.is_none());
    let parents: BTreeSet<WorkspacePath> =
        leaving.flat_map(|item| std::iter::successors(item.path.parent(), WorkspacePath::parent)).collect();
    let (Some(reference), false) = (operation.reference, parents.is_empty()) else { return Ok(Vec::new()) };
    let snapshot = snapshot_of(&sessions::snapshot(store.database.connection(), reference)?);
    let parents: Vec<WorkspacePath> = parents.into_iter().collect();
    let were_there = place.snapshots()?.are_directories(&snapshot, &parents)?;
    Ok(parents.into_iter().zip(were_there).filter(|(_, was_there)| !was_there).map(|(path, _)| path).collect())
}

/// Carries out what is written down, as far as it is not done yet, looks at the result and closes the operation. Returns its
/// files, and what became of git's own state.
pub(crate) fn finish(
    store: &mut Store,
    place: &Place,
    snapshots: &Snapshots,
    root: &Root,
    id: &str,
) -> Result<(Vec<Item>, Vec<GitItem>)> {
    let connection = store.database.connection();
    let row = sessions::operation(connection, id)?;
    let mut items = sessions::operation_items(connection, id)?;
    let directories = paths::from_json(&row.directories);
    let contents = |blob: ObjectId, to: &mut dyn std::io::Write| snapshots.copy_blob(blob, to);
    let of = items.iter().filter(|item| item.result == FileResult::Planned).count();
    let watcher = store.watcher.as_deref();
    let tell = |done| watcher.iter().for_each(|watcher| watcher(Progress::Applying { done, of }));
    let work =
        Work { operation: id, items: &items, directories: &directories, contents: &contents, progress: Some(&tell) };
    let done = apply::apply(root, &work);
    for (item, done) in items.iter_mut().zip(&done) {
        item.result = done.result;
        // A file that goes back in part says so before and after.
        item.reason = done.reason.clone().or(item.reason.take());
    }
    // After the files: an index is believed of what is older than it.
    let git = git::carry_out(store, place, snapshots, id, row.kind)?;
    let now = store.now();
    let open = sessions::open_steps(store.database.connection(), place.row.id)?;
    let mut after = observe(store, place, snapshots, Looking { open: &open, ..Looking::default() })?;
    forget_own_work(&mut after, &items);
    store.database.write_synced(|connection| {
        let after_id = after.write(connection, place.row.id, None, now)?;
        sessions::close_git_items(connection, id, &git)?;
        sessions::close_operation(connection, id, &items, outcome(&items, &git), Some(after_id), &row.notes, now)?;
        move_point(connection, &row, items.iter().any(|item| item.result == FileResult::Failed))
    })?;
    Ok((items, git))
}

/// What the operation did is in its own rows, and nobody's change.
fn forget_own_work(after: &mut Observation, items: &[Item]) {
    let touched: BTreeSet<&WorkspacePath> =
        items.iter().filter(|item| item.action != FileAction::Keep).map(|item| &item.path).collect();
    let parents: BTreeSet<WorkspacePath> =
        touched.iter().flat_map(|path| std::iter::successors(path.parent(), WorkspacePath::parent)).collect();
    let made_by_it = |path: &WorkspacePath| touched.contains(path) || parents.contains(path);
    after.changes.retain(|row| match row.change.new.or(row.change.old) {
        Some(entry) if entry.mode.kind() == crate::entry::EntryKind::Directory => !made_by_it(&row.change.path),
        _ => !touched.contains(&row.change.path),
    });
}

/// Where a file failed on the way to where nothing is reverted, the state before the first revert is kept: the same command
/// again goes on from there.
fn move_point(connection: &rusqlite::Connection, row: &sessions::OperationRow, has_failed: bool) -> Result<()> {
    let Some(session) = &row.session_id else { return Ok(()) };
    let point = match &row.message_id {
        Some(id) => sessions::message(connection, id)?,
        None => None,
    };
    let ends = row.kind != OperationKind::Revert && point.is_none() && !has_failed;
    let base = if ends { None } else { row.base_snapshot_id };
    sessions::set_revert_point(connection, session, row.message_id.as_deref(), base)?;
    sessions::set_hidden_from(connection, session, point.map(|message| message.seq))
}

fn outcome(items: &[Item], git: &[GitItem]) -> Outcome {
    let is_git_left = |item: &GitItem| !matches!(item.result, FileResult::Done | FileResult::Planned);
    let is_done = |item: &&Item| item.action != FileAction::None && item.result == FileResult::Done;
    let is_left = |item: &Item| {
        let is_in_part = item.reason.is_some() && item.action != FileAction::None;
        is_in_part || matches!(item.result, FileResult::Conflict | FileResult::Gap | FileResult::Failed)
    };
    if items.iter().any(is_left) || git.iter().any(is_git_left) {
        Outcome::Partial
    } else if items.iter().any(|item| is_done(&item) || item.result == FileResult::Planned) || !git.is_empty() {
        Outcome::Restored
    } else {
        Outcome::Nothing
    }
}

fn report(
    store: &Store,
    operation: &Operation<'_>,
    id: Option<String>,
    (items, git): (&[Item], &[GitItem]),
    dry_run: bool,
) -> OperationReport {
    let movement = operation.movement;
    let outcome = if operation.is_incomplete { Outcome::Partial } else { outcome(items, git) };
    OperationReport {
        version: VERSION,
        operation: id,
        kind: operation.kind,
        session: movement.map(|movement| movement.session.id.clone()),
        message: movement.and_then(|movement| movement.to.as_ref()).map(|message| message.id.clone()),
        outcome,
        dry_run,
        messages_hidden: movement.map(|movement| hidden(store, movement)).unwrap_or_default(),
        files: items.iter().map(file_report).collect(),
        git: git.iter().map(GitItem::report).collect(),
        notes: operation.notes.clone(),
    }
}

fn hidden(store: &Store, movement: &Movement) -> Vec<String> {
    let Some(to) = &movement.to else { return Vec::new() };
    sessions::messages_from(store.database.connection(), &movement.session.id, to.seq).unwrap_or_default()
}

/// Returns an item as reports give it.
pub(crate) fn file_report(item: &Item) -> FileReport {
    FileReport {
        path: item.path.to_report(),
        action: item.action,
        result: item.result,
        reason: item.reason.clone(),
        additions: item.lines.map(|(additions, _)| additions),
        deletions: item.lines.map(|(_, deletions)| deletions),
    }
}

fn notes_json(notes: &[String]) -> String {
    serde_json::Value::from(notes).to_string()
}

/// Returns the beginning of an id, for people.
pub(crate) fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}
