//! The report on an operation.

use ckpt_schema::report::{
    FileAction, FileReport, FileResult, OperationReport, Outcome, Receipt, RevertedSession, VERSION,
};

use super::movement::Movement;
use super::operation::Operation;
use crate::model::attribution::is_unclear;
use crate::model::git_item::GitItem;
use crate::model::item::Item;
use crate::model::note;
use crate::model::request::DryRun;
use crate::sessions;
use crate::sessions::read::{blob_text, mode_text};
use crate::store::Store;

/// Returns whether an operation did everything, a part, or had nothing to do.
pub(super) fn outcome(items: &[Item], git: &[GitItem]) -> Outcome {
    if items.iter().any(is_left) || git.iter().any(is_git_left) {
        Outcome::Partial
    } else if items.iter().any(is_moved) || !git.is_empty() {
        Outcome::Restored
    } else {
        Outcome::Nothing
    }
}

/// Returns whether a path, or a part of its content, stays although it should change.
fn is_left(item: &Item) -> bool {
    let is_in_part =
        item.reason.is_some() && item.action != FileAction::None && !item.is_remarked();
    let is_whole = match item.result {
        FileResult::Conflict | FileResult::Gap | FileResult::Failed => true,
        FileResult::Done | FileResult::Planned => false,
    };
    is_in_part || is_whole
}

/// Returns whether a path changed or will change.
fn is_moved(item: &Item) -> bool {
    match item.result {
        FileResult::Planned => true,
        FileResult::Done => item.action != FileAction::None,
        FileResult::Conflict | FileResult::Gap | FileResult::Failed => false,
    }
}

/// Returns whether a part of git's state stays although it should change.
fn is_git_left(item: &GitItem) -> bool {
    !matches!(item.result, FileResult::Done | FileResult::Planned)
}

/// Returns the report on an operation, with what became of its files and of git's state. It has an id if it was carried
/// out.
pub(super) fn report(
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
pub(super) fn hidden(store: &Store, movement: &Movement) -> Vec<String> {
    let Some(to) = &movement.to else {
        return Vec::new();
    };
    sessions::messages_from(store.database.connection(), &movement.session.id, to.seq)
        .unwrap_or_default()
}

/// Returns an item's report.
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

#[cfg(test)]
mod tests {
    use std::slice;

    use ckpt_schema::report::{GitPart, ReasonCode};

    use super::*;
    use crate::model::item::ItemReason;
    use crate::model::path::WorkspacePath;

    fn item(action: FileAction, result: FileResult) -> Item {
        Item {
            path: WorkspacePath::new("a").expect("legal"),
            expected: None,
            target: None,
            goal: None,
            action,
            result,
            reason: None,
            lines: None,
        }
    }

    #[test]
    fn one_path_that_stays_makes_an_outcome_partial() {
        let done = item(FileAction::Write, FileResult::Done);
        for result in [FileResult::Conflict, FileResult::Gap, FileResult::Failed] {
            let items = [done.clone(), item(FileAction::Keep, result)];
            assert_eq!(outcome(&items, &[]), Outcome::Partial, "{result:?}");
        }
        let in_part = Item {
            reason: Some(ItemReason::new(ReasonCode::Moved, "merged")),
            ..done
        };
        assert_eq!(outcome(&[in_part], &[]), Outcome::Partial);
    }

    /// An outcome without a path that changes is nothing.
    #[test]
    fn outcome_without_a_changing_path_is_nothing() {
        let nothing = item(FileAction::None, FileResult::Done);
        assert_eq!(outcome(&[], &[]), Outcome::Nothing);
        assert_eq!(outcome(slice::from_ref(&nothing), &[]), Outcome::Nothing);
        for item in [
            item(FileAction::Delete, FileResult::Planned),
            item(FileAction::Delete, FileResult::Done),
        ] {
            assert_eq!(outcome(&[nothing.clone(), item], &[]), Outcome::Restored);
        }
    }

    /// A part of gits state counts as a path does.
    #[test]
    fn part_of_gits_state_counts_as_a_path() {
        let head = GitItem::planned(GitPart::Head, "HEAD", None, None);
        assert_eq!(outcome(&[], slice::from_ref(&head)), Outcome::Restored);
        let left = head.left(FileResult::Conflict, "it moved since");
        assert_eq!(outcome(&[], &[left]), Outcome::Partial);
    }
}
