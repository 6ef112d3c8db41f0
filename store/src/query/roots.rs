//! What messages and operations did in the other roots of their sessions.

use std::collections::{BTreeSet, HashMap, HashSet};

use ckpt_schema::report::{
    FileReport, MessageReport, MessageRoot, OperationEntry, OperationRoot, RootFiles,
};
use rusqlite::Connection;

use super::history::{Messages, read_messages};
use super::renames::of_operation;
use crate::error::Result;
use crate::model::item::Item;
use crate::revert::request::chain::reverted_files;
use crate::sessions::{self, SessionRow};
use crate::store::Store;
use crate::timeline::Place;

/// Adds what messages did in the other roots of their sessions.
pub(super) fn add_to_messages(
    store: &Store,
    connection: &Connection,
    messages: &mut [MessageReport],
) -> Result<()> {
    let parts = sessions::message_parts(connection)?;
    if parts.is_empty() {
        return Ok(());
    }
    let whole_of: HashMap<&str, &str> = parts
        .iter()
        .map(|(part, whole)| (part.as_str(), whole.as_str()))
        .collect();
    let whole = |id: &str| whole_of.get(id).copied().unwrap_or(id).to_owned();
    let shown: HashSet<String> = messages.iter().map(|message| whole(&message.id)).collect();
    let of_shown = parts.iter().filter(|(_, whole)| shown.contains(whole));
    let ids: BTreeSet<&str> = of_shown
        .flat_map(|(part, whole)| [part.as_str(), whole.as_str()])
        .collect();
    let ids = serde_json::to_string(&ids).unwrap_or_default();
    let chosen = Messages {
        ids: Some(&ids),
        ..Messages::default()
    };
    let mut roots: HashMap<String, Vec<MessageRoot>> = HashMap::new();
    for part in read_messages(store, connection, chosen)?.into_iter().rev() {
        roots.entry(whole(&part.id)).or_default().push(MessageRoot {
            workspace: part.workspace,
            message: part.id,
            files: part.files,
            unclear: part.unclear,
            additions: part.additions,
            deletions: part.deletions,
        });
    }
    for message in messages {
        let all = roots.get(&whole(&message.id)).into_iter().flatten();
        let others = all.filter(|root| root.message != message.id);
        message.roots = others.cloned().collect();
    }
    Ok(())
}

/// Returns operations with what they did in other roots. Each comes with the one that it is a part of; `parts` are those of
/// which there are several.
pub(super) fn of_operations(
    operations: Vec<(OperationEntry, Option<String>)>,
    parts: Vec<(OperationEntry, Option<String>)>,
) -> Vec<OperationEntry> {
    let mut roots: HashMap<String, Vec<OperationRoot>> = HashMap::new();
    for (part, whole) in parts.into_iter().rev() {
        let whole = whole.unwrap_or_else(|| part.id.clone());
        roots.entry(whole).or_default().push(OperationRoot {
            workspace: part.workspace,
            operation: part.id,
            outcome: part.outcome,
            files: part.files,
            conflicts: part.conflicts,
        });
    }
    let with_roots = |(mut entry, whole): (OperationEntry, Option<String>)| {
        let all = roots.get(whole.as_ref().unwrap_or(&entry.id)).into_iter();
        let others = all.flatten().filter(|root| root.operation != entry.id);
        entry.roots = others.cloned().collect();
        for root in &entry.roots {
            let both = entry.outcome.zip(root.outcome);
            entry.outcome = both.map(|(own, other)| own.and(other));
        }
        entry
    };
    operations.into_iter().map(with_roots).collect()
}

/// Returns the effects of a session's reverts so far in its other roots.
pub(super) fn reverted(store: &Store, session: &SessionRow) -> Result<Vec<RootFiles>> {
    let connection = store.database.connection();
    let mut roots = Vec::new();
    for part in sessions::other_parts(connection, session)? {
        if let Some(base) = part.revert_base_id {
            let items = reverted_files(connection, &part.id, base)?;
            roots.extend(files(store, part.workspace_id, &items)?);
        }
    }
    Ok(roots)
}

/// Returns the effects of an operation in the other roots of its session.
pub(super) fn of_operation_elsewhere(store: &Store, id: &str) -> Result<Vec<RootFiles>> {
    let connection = store.database.connection();
    let mut roots = Vec::new();
    for part in sessions::operation_parts(connection, id)? {
        if part.id != id {
            let items = sessions::operation_items(connection, &part.id)?;
            roots.extend(files(store, part.workspace_id, &items)?);
        }
    }
    Ok(roots)
}

/// Returns the reports on the files of a root; none where there is no file.
fn files(store: &Store, workspace_id: i64, items: &[Item]) -> Result<Option<RootFiles>> {
    let row = sessions::workspace(store.database.connection(), workspace_id)?;
    let workspace = row.path.to_string_lossy().into_owned();
    let mut files: Vec<FileReport> = items.iter().map(Item::report).collect();
    if let Ok(snapshots) = Place::of_row(store, row).snapshots() {
        of_operation(&snapshots, &mut files);
    }
    Ok((!files.is_empty()).then_some(RootFiles { workspace, files }))
}
