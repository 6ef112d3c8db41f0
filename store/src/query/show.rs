//! `show`: everything about one message, step, session, operation or snapshot.

use std::path::{Path, PathBuf};

use ckpt_schema::report::{
    ChangeReport, FileReport, MessageReport, OperationEntry, RootChanges, SessionReport,
    ShowReport, StepReport, VERSION,
};
use rusqlite::{Connection, Row};

use super::history::HistoryRange;
use super::renames::{of_operation, with_renames};
use super::{compare, diff, history, net_changes, operations, roots};
use crate::error::{Error, Result};
use crate::fs::threads;
use crate::ids::{self, Any};
use crate::model::Milliseconds;
use crate::model::attribution::Attribution;
use crate::model::entry::Change;
use crate::model::git_item::GitItem;
use crate::model::item::Item;
use crate::model::note;
use crate::model::path::list_once;
use crate::sessions::read::{self, StepState, WordTable, all, gap_reports, word};
use crate::sessions::{self, ChangeRow, SnapshotRow};
use crate::snapshot::Snapshots;
use crate::store::Store;
use crate::timeline::Place;

/// Shows what an id means in the workspace that holds a directory.
pub(crate) fn show(store: &Store, cwd: &Path, id: &str) -> Result<ShowReport> {
    let place = Place::known(store, cwd)?;
    let connection = store.database.connection();
    match ids::any(connection, place.row.id, id)? {
        Any::Message(message) => show_message(store, &place, &message.id, message.snapshot_id),
        Any::Step(step) => {
            let step = read_steps(connection, ShownSteps::Only(&step.id))?
                .pop()
                .ok_or_else(|| gone(id))?;
            let snapshots = place.snapshots()?;
            let step = step.report(&snapshots);
            let changes = step.files.clone();
            Ok(ShowReport::Step {
                version: VERSION,
                step,
                changes,
            })
        }
        Any::Session(session) => show_session(store, &session.id),
        Any::Operation(operation) => show_operation(store, &place, &operation.id),
        Any::Snapshot(snapshot) => show_snapshot(connection, &place, &snapshot),
    }
}

/// Returns the prompt of a message, if it was recorded.
pub(crate) fn prompt(store: &Store, cwd: &Path, id: &str) -> Result<Option<String>> {
    let place = Place::known(store, cwd)?;
    Ok(ids::message(store.database.connection(), place.row.id, None, id)?.prompt)
}

/// The error if what was found is gone by now: `forget` or `gc` came in between.
fn gone(id: &str) -> Error {
    Error::unavailable(format!("`{id}` was removed just now"))
}

fn show_message(
    store: &Store,
    place: &Place,
    id: &str,
    snapshot_id: Option<i64>,
) -> Result<ShowReport> {
    let connection = store.database.connection();
    let chosen = history::Messages {
        message_id: Some(id),
        ..history::Messages::default()
    };
    let mut message: MessageReport = history::messages(store, chosen)?
        .pop()
        .ok_or_else(|| gone(id))?;
    let snapshot = snapshot_id
        .map(|id| sessions::snapshot_row(connection, id))
        .transpose()?;
    let (steps, mut changes) = work_of(connection, place, id)?;
    (message.additions, message.deletions) = lines_in_all(&changes);
    let mut roots = roots_of(store, &message)?;
    let lists = roots.iter_mut();
    let lists = lists.map(|root| (PathBuf::from(&root.workspace), &mut root.changes));
    let own = (place.root.clone(), &mut changes);
    let mut lists: Vec<_> = lists.chain([own]).collect();
    list_once(&mut lists, |change| &change.path.path);
    let conversation = crate::revert::conversation_place(store, id)?;
    message.left = conversation.as_ref().is_some_and(|place| place.left);
    Ok(ShowReport::Message {
        version: VERSION,
        conversation,
        message,
        snapshot: snapshot.map(|snapshot| snapshot.snapshot.tree.to_string()),
        steps,
        changes,
        roots,
    })
}

/// Returns the steps of a message, and the total of what they did.
fn work_of(
    connection: &Connection,
    place: &Place,
    message: &str,
) -> Result<(Vec<StepReport>, Vec<ChangeReport>)> {
    let steps = read_steps(connection, ShownSteps::OfMessage(message))?;
    let snapshots = place.snapshots()?;
    let rows: Vec<ChangeRow> = steps.iter().flat_map(|step| step.changes.clone()).collect();
    let steps: Vec<StepReport> = steps
        .into_iter()
        .map(|step| step.report(&snapshots))
        .collect();
    let changes = match &steps[..] {
        [step] => step.files.clone(),
        steps => changes_in_all(
            &snapshots,
            net_changes::of_message(rows, steps.len() as u64),
        ),
    };
    Ok((steps, changes))
}

/// Returns the changes of a message in the other roots of its session.
fn roots_of(store: &Store, message: &MessageReport) -> Result<Vec<RootChanges>> {
    let connection = store.database.connection();
    let mut roots = Vec::new();
    for root in &message.roots {
        let row = sessions::workspace_of_message(connection, &root.message)?;
        let place = Place::of_row(store, row);
        roots.push(RootChanges {
            workspace: root.workspace.clone(),
            changes: work_of(connection, &place, &root.message)?.1,
        });
    }
    Ok(roots)
}

/// Returns the lines that changes add and remove, without unclear ones, as in `log`. A list of messages only has the
/// sums of their steps: it would have to read every version of every file.
fn lines_in_all(changes: &[ChangeReport]) -> (u64, u64) {
    let unclear = Attribution::Unclear.name();
    let is_counted = |change: &&ChangeReport| {
        change.renamed_to.is_none() && change.attribution.as_deref() != Some(unclear)
    };
    changes
        .iter()
        .filter(is_counted)
        .fold((0, 0), |(added, deleted), change| {
            let (additions, deletions) = match &change.renamed_from {
                Some(rename) => (rename.additions, rename.deletions),
                None => (change.additions, change.deletions),
            };
            (
                added + additions.unwrap_or(0),
                deleted + deletions.unwrap_or(0),
            )
        })
}

/// Returns the total changes of steps, by path, with renames.
fn changes_in_all(snapshots: &Snapshots, rows: Vec<ChangeRow>) -> Vec<ChangeReport> {
    let files = threads::map(&rows, |row| compare::report_row(snapshots, row));
    with_renames(snapshots, files)
}

fn show_session(store: &Store, id: &str) -> Result<ShowReport> {
    let connection = store.database.connection();
    let session: SessionReport = history::read_sessions(connection, HistoryRange::Only(id))?
        .pop()
        .ok_or_else(|| gone(id))?;
    let chosen = history::Messages {
        session_id: Some(id),
        ..history::Messages::default()
    };
    Ok(ShowReport::Session {
        version: VERSION,
        session,
        messages: history::messages(store, chosen)?,
    })
}

fn show_operation(store: &Store, place: &Place, id: &str) -> Result<ShowReport> {
    let connection = store.database.connection();
    let operation: OperationEntry =
        operations::read_operations(connection, HistoryRange::Only(id))?
            .pop()
            .ok_or_else(|| gone(id))?;
    let files = sessions::operation_items(connection, id)?;
    let mut files: Vec<FileReport> = files.iter().map(Item::report).collect();
    let remarks = note::shown(&sessions::operation(connection, id)?.notes);
    let git = sessions::git_items(connection, id)?
        .iter()
        .map(GitItem::report)
        .collect();
    let snapshots = place.snapshots()?;
    of_operation(&snapshots, &mut files);
    let done = changes_of_operation(connection, id)?;
    let changes = threads::map(&done, |change| compare::report(&snapshots, change));
    Ok(ShowReport::Operation {
        version: VERSION,
        operation,
        files,
        git,
        notes: note::texts(&remarks),
        remarks,
        changes: with_renames(&snapshots, changes),
        roots: roots::of_operation_elsewhere(store, id)?,
        conversation: crate::revert::pending_of(connection, id)?,
    })
}

/// Returns the changes that an operation planned and carried out, by path.
pub(super) fn changes_of_operation(connection: &Connection, id: &str) -> Result<Vec<Change>> {
    let items = sessions::operation_items(connection, id)?;
    let mut changes: Vec<Change> = items
        .into_iter()
        .filter(|item| item.has_moved())
        .map(|item| Change {
            path: item.path,
            old: item.expected,
            new: item.target,
        })
        .collect();
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(changes)
}

/// Shows a snapshot. If the same tree was taken several times, it shows the first, with the newest label and the gaps
/// that are known now.
fn show_snapshot(
    connection: &Connection,
    place: &Place,
    snapshot: &SnapshotRow,
) -> Result<ShowReport> {
    let sql = "SELECT min(taken_at) AS first,
                      (SELECT text FROM labels JOIN snapshots ON snapshots.id = labels.snapshot_id
                        WHERE snapshots.workspace_id = ?1 AND tree = ?2 ORDER BY labels.id DESC LIMIT 1) AS label
                 FROM snapshots WHERE workspace_id = ?1 AND tree = ?2";
    let tree = snapshot.snapshot.tree.to_string();
    let what = "cannot read a snapshot's row";
    let values = (place.row.id, &tree);
    let (time, label): (Milliseconds, Option<String>) =
        read::one(connection, what, sql, values, |row| row.try_into())?;
    let snapshots = place.snapshots()?;
    // Those of a pruned snapshot are gone with its objects.
    let gaps = snapshots.gaps(&snapshot.snapshot);
    let gaps = gap_reports(&gaps.unwrap_or_default());
    let repository = snapshots.repository().display().to_string();
    let previous = diff::before(connection, place.row.id, &tree)?;
    // If a tree is damaged, everything else is still shown.
    let difference = previous.and_then(|(previous, first)| {
        let changes = diff::between(&snapshots, &place.root, &previous, &first).ok()?;
        Some((previous.tree.to_string(), changes))
    });
    let (previous, changes) = difference.unzip();
    Ok(ShowReport::Snapshot {
        version: VERSION,
        snapshot: tree,
        repository,
        time,
        label,
        gaps,
        previous,
        changes: changes.unwrap_or_default(),
    })
}

/// A step with its rows, before the files are compared in the snapshots.
struct ShownStep {
    report: StepReport,
    changes: Vec<ChangeRow>,
}

impl ShownStep {
    fn report(self, snapshots: &Snapshots) -> StepReport {
        let mut files = threads::map(&self.changes, |row| compare::report_row(snapshots, row));
        files.sort_by(|one, other| one.path.cmp(&other.path));
        StepReport {
            files: with_renames(snapshots, files),
            ..self.report
        }
    }
}

/// Which steps are read.
#[derive(Clone, Copy)]
enum ShownSteps<'a> {
    /// The one with an id.
    Only(&'a str),
    /// Those of a message. Those of sub-agents name the message of their root.
    OfMessage(&'a str),
}

/// Reads steps, oldest first.
fn read_steps(connection: &Connection, which: ShownSteps<'_>) -> Result<Vec<ShownStep>> {
    let (column, id) = match which {
        ShownSteps::Only(id) => ("id", id),
        ShownSteps::OfMessage(id) => ("message_id", id),
    };
    let sql = format!(
        "SELECT steps.*, start.tree AS start_tree, finish.tree AS finish_tree
           FROM steps
           LEFT JOIN snapshots AS start ON start.id = steps.start_snapshot_id
           LEFT JOIN snapshots AS finish ON finish.id = steps.finish_snapshot_id
          WHERE steps.{column} = ?1 ORDER BY steps.seq"
    );
    let reports = all(connection, &sql, [id], read_step)?;
    reports
        .into_iter()
        .map(|report| with_rows(connection, report))
        .collect()
}

fn with_rows(connection: &Connection, report: StepReport) -> Result<ShownStep> {
    let tools = "SELECT ifnull(name, 'unnamed') AS name FROM tools WHERE step_id = ?1 ORDER BY id";
    let tools = all(connection, tools, [&report.id], |row| row.get("name"))?;
    let changes = sessions::changes_of_step(connection, &report.id)?;
    Ok(ShownStep {
        report: StepReport { tools, ..report },
        changes,
    })
}

fn read_step(row: &Row<'_>) -> rusqlite::Result<StepReport> {
    Ok(StepReport {
        id: row.get("id")?,
        agent_id: row.get("agent_id")?,
        session: row.get("session_id")?,
        message: row.get("message_id")?,
        open: word::<StepState>(row, WordTable::Steps, "state")? == StepState::Open,
        recovered: row.get("recovered")?,
        unprotected: row.get("unprotected")?,
        started: row.get("started_at")?,
        finished: row.get("finished_at")?,
        start: row.get("start_tree")?,
        finish: row.get("finish_tree")?,
        tools: Vec::new(),
        files: Vec::new(),
    })
}
