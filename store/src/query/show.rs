//! `show`: everything about one message, step, session, operation or snapshot.

use std::path::Path;

use ckpt_schema::report::{
    FileReport, MessageReport, OperationEntry, SessionReport, ShowReport, StepReport, VERSION,
};
use rusqlite::{Connection, Row};

use super::{compare, history};
use crate::error::{Context, Error, Result};
use crate::fs::threads;
use crate::ids::{self, Any};
use crate::model::Milliseconds;
use crate::model::git_item::GitItem;
use crate::sessions::read::{StepState, Table, all, gaps, operation_file, word};
use crate::sessions::{self, ChangeRow, SnapshotRow};
use crate::snapshot::Snapshots;
use crate::store::Store;
use crate::timeline::Place;

/// Shows whatever an id means in the workspace that holds a directory.
pub(crate) fn show(store: &Store, cwd: &Path, id: &str) -> Result<ShowReport> {
    let place = Place::known(store, cwd)?;
    let connection = store.database.connection();
    match ids::any(connection, place.row.id, id)? {
        Any::Message(message) => show_message(connection, &place, &message.id, message.snapshot_id),
        Any::Step(step) => {
            let step = read_steps(connection, "id", &step.id)?
                .pop()
                .ok_or_else(|| gone(id))?;
            Ok(ShowReport::Step {
                version: VERSION,
                step: step.report(&place.snapshots()?),
            })
        }
        Any::Session(session) => show_session(connection, &session.id),
        Any::Operation(operation) => show_operation(connection, &operation.id),
        Any::Snapshot(snapshot) => show_snapshot(connection, &place, &snapshot),
    }
}

/// Returns what the user wrote in a message, where that was recorded.
pub(crate) fn prompt(store: &Store, cwd: &Path, id: &str) -> Result<Option<String>> {
    let place = Place::known(store, cwd)?;
    Ok(ids::message(store.database.connection(), place.row.id, None, id)?.prompt)
}

/// What was found is not there any more: `forget` or `gc` came in between.
fn gone(id: &str) -> Error {
    Error::unavailable(format!("`{id}` was removed just now"))
}

fn show_message(
    connection: &Connection,
    place: &Place,
    id: &str,
    snapshot_id: Option<i64>,
) -> Result<ShowReport> {
    let chosen = history::Messages {
        message_id: Some(id),
        ..history::Messages::default()
    };
    let message: MessageReport = history::messages(connection, chosen)?
        .pop()
        .ok_or_else(|| gone(id))?;
    let snapshot = snapshot_id
        .map(|id| sessions::snapshot(connection, id))
        .transpose()?;
    let steps = read_steps(connection, "message_id", id)?;
    let snapshots = place.snapshots()?;
    Ok(ShowReport::Message {
        version: VERSION,
        message,
        snapshot: snapshot.map(|snapshot| snapshot.tree.to_string()),
        steps: steps
            .into_iter()
            .map(|step| step.report(&snapshots))
            .collect(),
    })
}

fn show_session(connection: &Connection, id: &str) -> Result<ShowReport> {
    let session: SessionReport = history::read_sessions(connection, None, Some(id))?
        .pop()
        .ok_or_else(|| gone(id))?;
    let chosen = history::Messages {
        session_id: Some(id),
        ..history::Messages::default()
    };
    Ok(ShowReport::Session {
        version: VERSION,
        session,
        messages: history::messages(connection, chosen)?,
    })
}

fn show_operation(connection: &Connection, id: &str) -> Result<ShowReport> {
    let operation: OperationEntry = history::read_operations(connection, "id", id)?
        .pop()
        .ok_or_else(|| gone(id))?;
    let files = "SELECT * FROM operation_files WHERE operation_id = ?1 ORDER BY position";
    let files: Vec<FileReport> = all(connection, files, [id], operation_file)?;
    let notes = "SELECT note.value AS note FROM operations, json_each(operations.notes) AS note
                  WHERE operations.id = ?1 ORDER BY note.key";
    let notes: Vec<String> = all(connection, notes, [id], |row| row.get("note"))?;
    let git = sessions::git_items(connection, id)?
        .iter()
        .map(GitItem::report)
        .collect();
    Ok(ShowReport::Operation {
        version: VERSION,
        operation,
        files,
        git,
        notes,
    })
}

/// A tree that was taken several times is shown as it was taken first, with the newest label and what is known of it now.
fn show_snapshot(
    connection: &Connection,
    place: &Place,
    snapshot: &SnapshotRow,
) -> Result<ShowReport> {
    let sql = "SELECT min(taken_at) AS first,
                      (SELECT text FROM labels JOIN snapshots ON snapshots.id = labels.snapshot_id
                        WHERE snapshots.workspace_id = ?1 AND tree = ?2 ORDER BY labels.id DESC LIMIT 1) AS label
                 FROM snapshots WHERE workspace_id = ?1 AND tree = ?2";
    let tree = snapshot.tree.to_string();
    let (time, label): (Milliseconds, Option<String>) = connection
        .query_row(sql, (place.row.id, &tree), |row| {
            Ok((row.get("first")?, row.get("label")?))
        })
        .context(|| "cannot read a snapshot's row")?;
    let gaps = gaps(connection, snapshot.id)?;
    let repository = place.snapshots()?.repository().display().to_string();
    Ok(ShowReport::Snapshot {
        version: VERSION,
        snapshot: tree,
        repository,
        time,
        label,
        gaps,
    })
}

/// A step with its rows, before the snapshots are asked about the files.
struct Step {
    report: StepReport,
    changes: Vec<ChangeRow>,
}

impl Step {
    fn report(self, snapshots: &Snapshots) -> StepReport {
        let mut files = threads::map(&self.changes, |row| compare::report_row(snapshots, row));
        files.sort_by(|one, other| one.path.cmp(&other.path));
        StepReport {
            files,
            ..self.report
        }
    }
}

/// Reads the steps that have a value in a column, oldest first; those of sub-agents name the message of their root.
fn read_steps(connection: &Connection, column: &'static str, id: &str) -> Result<Vec<Step>> {
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

fn with_rows(connection: &Connection, report: StepReport) -> Result<Step> {
    let tools = "SELECT ifnull(name, 'unnamed') AS name FROM tools WHERE step_id = ?1 ORDER BY id";
    let tools = all(connection, tools, [&report.id], |row| row.get("name"))?;
    let changes = sessions::changes_of_step(connection, &report.id)?;
    Ok(Step {
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
        open: word::<StepState>(row, Table::Steps, "state")? == StepState::Open,
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
