//! The report on an operation.

pub(crate) mod contents;
mod kept;
pub(crate) mod token;

use ckpt_schema::report::{
    OperationReport, Outcome, Receipt, RevertedSession, RootOperation, VERSION,
};

use crate::model::git_item::GitItem;
use crate::model::item::Item;
use crate::model::note;
use crate::model::request::DryRun;
use crate::revert::carry_out::outcome::outcome;
use crate::revert::plan::operation::Operation;
use crate::revert::request::conversation::JournalledConversation;
use crate::revert::request::movement::Movement;
use crate::sessions;
use crate::store::Store;

/// Returns the report on an operation, with what became of its files and of git's state. It has an id if it was carried
/// out.
pub(crate) fn report(
    store: &Store,
    operation: &Operation<'_>,
    id: Option<String>,
    (items, git): (&[Item], &[GitItem]),
    receipt: Option<Receipt>,
    dry_run: DryRun,
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
        undoes: operation.undoes.clone(),
        outcome,
        dry_run: dry_run.is_dry(),
        plan: None,
        busy: false,
        messages_hidden: movement
            .map(|movement| hidden(store, movement))
            .unwrap_or_default(),
        files: items.iter().map(Item::report).collect(),
        kept: kept::kept(operation, items, receipt.as_ref()),
        git: git.iter().map(GitItem::report).collect(),
        also_reverted: movement
            .map(|movement| also_reverted(store, movement))
            .unwrap_or_default(),
        receipt,
        conversation: operation
            .conversation
            .as_ref()
            .map(JournalledConversation::report),
        finished: operation.finished.clone(),
        notes: note::texts(&operation.warnings),
        remarks: note::reports(&operation.warnings),
        roots: Vec::new(),
    }
}

/// Returns the report of the first of several workspaces, with those of the others. Its outcome is that of them all.
pub(crate) fn joined(reports: Vec<(String, OperationReport)>) -> Option<OperationReport> {
    let mut reports = reports.into_iter();
    let (_, mut first) = reports.next()?;
    for (workspace, report) in reports {
        first.outcome = match (first.outcome, report.outcome) {
            (Outcome::Partial, _) | (_, Outcome::Partial) => Outcome::Partial,
            (Outcome::Nothing, Outcome::Nothing) => Outcome::Nothing,
            _ => Outcome::Restored,
        };
        first.busy |= report.busy;
        first.roots.push(RootOperation { workspace, report });
    }
    Some(first)
}

/// Returns the other sessions that are reverted, once nothing of this session is. If they cannot be read, the list is
/// empty: the files are back either way.
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
pub(crate) fn hidden(store: &Store, movement: &Movement) -> Vec<String> {
    let Some(to) = &movement.to else {
        return Vec::new();
    };
    sessions::messages_from(store.database.connection(), &movement.session.id, to.seq)
        .unwrap_or_default()
}
