//! What an operation comes to, by what became of its files and of git's state. Pure.

use ckpt_schema::report::{FileAction, FileResult, Outcome};

use crate::model::git_item::GitItem;
use crate::model::item::Item;

/// Returns whether an operation did everything, a part, or had nothing to do.
pub(crate) fn outcome(items: &[Item], git: &[GitItem]) -> Outcome {
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
