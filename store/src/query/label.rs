//! `label --list`: the bookmarks of a workspace.

use std::path::Path;

use ckpt_schema::report::{LabelAction, LabelEntry, LabelledKind, LabelsReport, VERSION};
use rusqlite::Connection;

use crate::error::Result;
use crate::sessions::{self, LabelRow, Labelled};
use crate::store::Store;
use crate::timeline::Place;

/// Lists the labels of the workspace that holds a directory, newest first: those whose text, or whose message's prompt,
/// contains `pattern`, in any case.
pub(crate) fn labels(store: &Store, cwd: &Path, pattern: Option<&str>) -> Result<LabelsReport> {
    let connection = store.database.connection();
    let rows = match Place::find(store, cwd)? {
        Some(place) => sessions::labels(connection, place.row.id)?,
        None => Vec::new(),
    };
    let mut labels = Vec::new();
    for row in &rows {
        labels.extend(entry(connection, row)?);
    }
    if let Some(pattern) = pattern.map(str::to_lowercase) {
        let has = |text: &str| text.to_lowercase().contains(&pattern);
        labels.retain(|entry| has(&entry.label) || entry.prompt.as_deref().is_some_and(has));
    }
    Ok(LabelsReport {
        version: VERSION,
        action: LabelAction::Listed,
        labels,
    })
}

/// Returns the report on an action on one label.
pub(crate) fn label(store: &Store, action: LabelAction, row: &LabelRow) -> Result<LabelsReport> {
    let entry = entry(store.database.connection(), row);
    let entry = entry.map_err(|error| error.after(action.done().map(str::to_owned)))?;
    Ok(LabelsReport {
        version: VERSION,
        action,
        labels: entry.into_iter().collect(),
    })
}

/// Returns a label for a report, or `None` if what it names was just removed.
fn entry(connection: &Connection, row: &LabelRow) -> Result<Option<LabelEntry>> {
    let of = match &row.on {
        Labelled::Message(id) => {
            let Some(message) = sessions::message(connection, id)? else {
                return Ok(None);
            };
            let time = sessions::message_time(connection, id)?;
            (LabelledKind::Message, message.id, message.prompt, time)
        }
        Labelled::Snapshot(id) => {
            let snapshot = sessions::snapshot_row(connection, *id)?;
            let tree = snapshot.snapshot.tree.to_string();
            (LabelledKind::Snapshot, tree, None, snapshot.taken_at)
        }
    };
    let (kind, id, prompt, of) = of;
    Ok(Some(LabelEntry {
        label: row.text.clone(),
        kind,
        id,
        time: row.created_at,
        prompt,
        of,
    }))
}
