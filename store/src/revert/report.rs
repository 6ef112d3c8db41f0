//! What became of an operation, as its report.

use ckpt_schema::report::{
    FileAction, FileReport, FileResult, OperationReport, Outcome, Receipt, RevertedSession, VERSION,
};

use super::movement::Movement;
use super::operation::Operation;
use crate::model::attribution::is_unclear;
use crate::model::git_item::GitItem;
use crate::model::item::Item;
use crate::model::note;
use crate::sessions;
use crate::sessions::read::{blob_text, mode_text};
use crate::store::Store;

pub(super) fn outcome(items: &[Item], git: &[GitItem]) -> Outcome {
    let is_git_left =
        |item: &GitItem| !matches!(item.result, FileResult::Done | FileResult::Planned);
    let is_done = |item: &&Item| item.action != FileAction::None && item.result == FileResult::Done;
    let is_left = |item: &Item| {
        let is_in_part = item.reason.is_some() && item.action != FileAction::None;
        is_in_part
            || matches!(
                item.result,
                FileResult::Conflict | FileResult::Gap | FileResult::Failed
            )
    };
    if items.iter().any(is_left) || git.iter().any(is_git_left) {
        Outcome::Partial
    } else if items
        .iter()
        .any(|item| is_done(&item) || item.result == FileResult::Planned)
        || !git.is_empty()
    {
        Outcome::Restored
    } else {
        Outcome::Nothing
    }
}

pub(super) fn report(
    store: &Store,
    operation: &Operation<'_>,
    id: Option<String>,
    (items, git): (&[Item], &[GitItem]),
    receipt: Option<Receipt>,
    dry_run: bool,
) -> OperationReport {
    let movement = operation.movement;
    let outcome = if operation.is_incomplete {
        Outcome::Partial
    } else {
        outcome(items, git)
    };
    OperationReport {
        version: VERSION,
        operation: id,
        kind: operation.kind,
        session: movement.map(|movement| movement.session.id.clone()),
        message: movement
            .and_then(|movement| movement.to.as_ref())
            .map(|message| message.id.clone()),
        alone: movement.and_then(Movement::alone).map(str::to_owned),
        outcome,
        dry_run,
        plan: None,
        busy: false,
        messages_hidden: movement
            .map(|movement| hidden(store, movement))
            .unwrap_or_default(),
        files: items.iter().map(file_report).collect(),
        git: git.iter().map(GitItem::report).collect(),
        also_reverted: movement
            .map(|movement| also_reverted(store, movement))
            .unwrap_or_default(),
        receipt,
        finished: operation.finished.clone(),
        notes: note::texts(&operation.warnings),
        remarks: note::reports(&operation.warnings),
    }
}

/// Once nothing of this session is reverted, something of another may be. The files are back either way.
fn also_reverted(store: &Store, movement: &Movement) -> Vec<RevertedSession> {
    if !movement.takes_all_back() {
        return Vec::new();
    }
    let session = &movement.session;
    let connection = store.database.connection();
    sessions::other_reverted_sessions(connection, session.workspace_id, Some(&session.id))
        .unwrap_or_default()
}

/// Returns the messages that are hidden after a movement, oldest first.
pub(super) fn hidden(store: &Store, movement: &Movement) -> Vec<String> {
    let Some(to) = &movement.to else {
        return Vec::new();
    };
    sessions::messages_from(store.database.connection(), &movement.session.id, to.seq)
        .unwrap_or_default()
}

/// Returns an item as reports give it.
pub(crate) fn file_report(item: &Item) -> FileReport {
    FileReport {
        path: item.path.to_report(),
        action: item.action,
        result: item.result,
        reason: item.reason.as_ref().map(|reason| reason.text.clone()),
        reason_code: item.reason.as_ref().and_then(|reason| reason.code),
        by: item
            .reason
            .as_ref()
            .map_or_else(Vec::new, |reason| reason.by.clone()),
        old_mode: mode_text(item.expected),
        new_mode: mode_text(item.target),
        old_blob: blob_text(item.expected),
        new_blob: blob_text(item.target),
        contents: None,
        unclear: is_unclear(item.reason.as_deref()),
        additions: item.lines.map(|(additions, _)| additions),
        deletions: item.lines.map(|(_, deletions)| deletions),
    }
}

/// Returns the beginning of an id, for people.
pub(crate) fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}
