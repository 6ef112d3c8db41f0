//! The report on an operation.

pub(crate) mod contents;
mod kept;
pub(crate) mod token;

use std::path::PathBuf;

use ckpt_schema::report::{
    FileReport, FinishedReport, OperationReport, Outcome, Receipt, RevertedSession, RootOperation,
    VERSION,
};

use crate::error::Result;
use crate::model::git_item::GitItem;
use crate::model::item::Item;
use crate::model::note::{self, Note};
use crate::model::path::list_once;
use crate::model::request::DryRun;
use crate::revert::carry_out::outcome::outcome;
use crate::revert::plan::Plan;
use crate::revert::plan::operation::Operation;
use crate::revert::request::conversation::JournalledConversation;
use crate::revert::request::movement::Movement;
use crate::revert::request::options::Options;
use crate::sessions::{self, OperationRow};
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
    let chat = operation.conversation.as_ref();
    let conversation_alone = movement.is_none() && chat.is_some_and(|it| it.has_work());
    let outcome = if operation.found.is_incomplete() {
        Outcome::Partial
    } else {
        match outcome(items, git) {
            Outcome::Nothing if conversation_alone => Outcome::Restored,
            outcome => outcome,
        }
    };
    let kept = kept::kept(operation, items, receipt.as_ref());
    let mut files: Vec<FileReport> = items.iter().map(Item::report).collect();
    kept::add_choices(&mut files, &kept);
    let remarks = note::shown(&operation.found.notes());
    OperationReport {
        version: VERSION,
        operation: id,
        kind: operation.kind,
        session: movement.map(|movement| movement.session.id.clone()),
        message: movement
            .and_then(|movement| movement.to.as_ref())
            .map(|message| message.id.clone()),
        alone: movement.and_then(Movement::alone).map(str::to_owned),
        part: match movement {
            Some(movement) => movement.in_part().map(str::to_owned),
            None => operation.restored.clone(),
        },
        undoes: operation.undoes.clone(),
        outcome,
        dry_run: dry_run.is_dry(),
        plan: None,
        busy: false,
        messages_hidden: match (movement, &operation.undoes) {
            (Some(movement), _) => hidden(store, movement),
            (None, Some(undone)) => still_hidden(store, undone).unwrap_or_default(),
            (None, None) => Vec::new(),
        },
        files,
        kept,
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
        notes: note::texts(&remarks),
        remarks,
        roots: Vec::new(),
    }
}

/// Returns the report of the first of several workspaces, with those of the others. Its outcome is that of them all.
pub(crate) fn joined(mut reports: Vec<(String, OperationReport)>) -> Option<OperationReport> {
    let lists = reports.iter_mut();
    let lists = lists.map(|(root, report)| (PathBuf::from(&*root), &mut report.files));
    list_once(&mut lists.collect::<Vec<_>>(), |file| &file.path.path);
    let mut reports = reports.into_iter();
    let (_, mut first) = reports.next()?;
    for (workspace, mut report) in reports {
        let ways = report.kept.iter_mut().filter_map(|kept| kept.way.as_mut());
        for way in ways {
            way.parameters.workspace = Some(workspace.clone());
        }
        first.outcome = first.outcome.and(report.outcome);
        first.busy |= report.busy;
        first.roots.push(RootOperation { workspace, report });
    }
    Some(first)
}

/// Returns the report on the operation that was carried out for a key already. A caller that did not hear the answer
/// hears it now, as far as the rows say it.
pub(crate) fn of_key(
    store: &Store,
    options: Options,
    (warnings, finished): (&[Note], &[FinishedReport]),
) -> Result<Option<OperationReport>> {
    let connection = store.database.connection();
    let named = options.key.map(|_| options.operation());
    let Some(named) = named else {
        return Ok(None);
    };
    let mut reports = Vec::new();
    for row in sessions::operation_parts(connection, &named)? {
        let workspace = sessions::workspace(connection, row.workspace_id)?;
        let name = workspace.path.to_string_lossy().into_owned();
        reports.push((name, of_row(store, row)?));
    }
    let remarks = note::shown(&note::reports(warnings));
    let told = joined(reports).map(|report| OperationReport {
        finished: finished.to_vec(),
        notes: note::texts(&remarks)
            .into_iter()
            .chain(report.notes)
            .collect(),
        remarks,
        ..report
    });
    Ok(told)
}

/// Returns the report on an operation in one workspace that was carried out earlier.
fn of_row(store: &Store, row: OperationRow) -> Result<OperationReport> {
    let connection = store.database.connection();
    let items = sessions::operation_items(connection, &row.id)?;
    let git = sessions::git_items(connection, &row.id)?;
    let conversation = sessions::conversation_of_operation(connection, &row.id)?;
    let movement = Movement::of_row(connection, &row)?;
    let goal = match &movement {
        Some(movement) => movement.reference_snapshot(row.base_snapshot_id),
        None => row.goal_snapshot_id,
    };
    let goal = goal.map(|id| sessions::snapshot(connection, id));
    let planned = match &movement {
        Some(movement) => Operation::nothing(movement, movement.whole()),
        None => Operation::restore(Plan::default()),
    };
    let operation = Operation {
        undoes: row.undoes.clone(),
        restored: row.asked_message_id.clone(),
        reference: goal.transpose()?.as_ref().map(|row| row.snapshot),
        git: row.git.then(|| git.clone()),
        conversation: JournalledConversation::of_row(conversation.as_deref()),
        ..planned
    };
    let id = Some(row.id);
    let told = report(store, &operation, id, (&items, &git), None, DryRun::No);
    Ok(OperationReport {
        kind: row.kind,
        // Of an outcome that is not known, this claims the least.
        outcome: row.outcome.unwrap_or(Outcome::Partial),
        also_reverted: Vec::new(),
        notes: note::texts(&note::shown(&row.notes)),
        ..told
    })
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

/// Returns the messages that stay hidden after the undo of an operation that leaves the revert point where it is.
fn still_hidden(store: &Store, undone: &str) -> Result<Vec<String>> {
    let connection = store.database.connection();
    let row = sessions::operation(connection, undone)?;
    let session = match &row.session_id {
        Some(session) => sessions::session(connection, session)?,
        None => None,
    };
    let point = match session.and_then(|session| session.revert_message_id) {
        Some(point) => sessions::message(connection, &point)?,
        None => None,
    };
    match point {
        Some(point) => sessions::messages_from(connection, &point.session_id, point.seq),
        None => Ok(Vec::new()),
    }
}

/// Returns the messages that are hidden after a movement, oldest first.
pub(crate) fn hidden(store: &Store, movement: &Movement) -> Vec<String> {
    let Some(to) = &movement.to else {
        return Vec::new();
    };
    sessions::messages_from(store.database.connection(), &movement.session.id, to.seq)
        .unwrap_or_default()
}
