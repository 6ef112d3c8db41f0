//! What is known about the paths that differ: what the operation did, what rows say, and what nothing but a search
//! shows. Pure.

use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::report::{
    AuthorReport, Difference, DifferenceDetail, DifferenceReason, FileResult,
};

use super::super::plan::FORGOTTEN;
use super::reason::{KnownPath, LaterChange};
use crate::fs::names::TEMPORARY;
use crate::model::entry::State;
use crate::model::gap::Covering;
use crate::model::item::Item;
use crate::model::path::WorkspacePath;
use crate::revert::request::history::Author;

/// What is known about all paths that differ.
pub(super) struct PathFacts<'a> {
    /// What the operation did.
    pub items: &'a BTreeMap<&'a WorkspacePath, &'a Item>,
    pub since: BTreeMap<WorkspacePath, PathHistory>,
    /// Gaps of the state that it is compared with, because their content was forgotten since.
    pub forgotten: Covering,
    pub unseen: UnseenChange,
}

impl PathFacts<'_> {
    /// Returns the facts about a path from the operation and the history.
    pub fn known(&self, path: &WorkspacePath) -> KnownPath<'_> {
        let past = self.since.get(path);
        KnownPath {
            item: self.items.get(path).copied(),
            since: past.map_or(&[], |past| past.changes.as_slice()),
            is_forgotten: self.is_forgotten(path),
            below: self.left_below(path),
            ..KnownPath::default()
        }
    }

    /// The first path below another that the operation left as it was.
    fn left_below(&self, path: &WorkspacePath) -> Option<&Item> {
        let after = self.items.range::<WorkspacePath, _>(path..);
        let mut alike =
            after.take_while(|(other, _)| other.as_bytes().starts_with(path.as_bytes()));
        let left =
            alike.find(|(other, item)| item.result == FileResult::Conflict && other.is_below(path));
        left.map(|(_, item)| *item)
    }

    /// Returns why a path differs, and because of whom.
    pub fn difference(&self, path: &WorkspacePath) -> Difference {
        // What stayed beside a file because it could not be removed: no person made it, whatever the rows say.
        let is_own = path.name().starts_with(TEMPORARY.as_bytes());
        let known = KnownPath {
            is_in_gap: self.unseen.gaps.covers(path),
            is_hidden: self.unseen.hidden.contains(path),
            was_moved: self.unseen.moved.contains(path),
            ..self.known(path)
        };
        let reason = match is_own {
            true => DifferenceReason::Operation,
            false => known.reason(),
        };
        let (detail, (words, by)) = match self.is_forgotten(path) {
            true => {
                let detail = Some(DifferenceDetail::Forgotten);
                (detail, (FORGOTTEN.to_owned(), Vec::new()))
            }
            false => (None, said(reason, self.since.get(path).filter(|_| !is_own))),
        };
        Difference {
            path: path.to_report(),
            moved_from: None,
            reason,
            detail,
            words,
            by,
        }
    }

    fn is_forgotten(&self, path: &WorkspacePath) -> bool {
        self.forgotten.covers(path)
    }
}

/// What happened to a path since, newest first.
#[derive(Default)]
pub(super) struct PathHistory {
    /// The state before the first change, if there is any.
    pub first: Option<State>,
    pub changes: Vec<LaterChange>,
    /// For each change, why it is unclear, and whose it is.
    pub said: Vec<(Option<String>, AuthorReport)>,
}

/// What no row of a path's history says.
#[derive(Default)]
pub(super) struct UnseenChange {
    pub gaps: Covering,
    pub hidden: BTreeSet<WorkspacePath>,
    pub moved: BTreeSet<WorkspacePath>,
}

/// Returns a reason in words, and the author of the newest change that is the reason.
fn said(reason: DifferenceReason, past: Option<&PathHistory>) -> (String, Vec<AuthorReport>) {
    let newest = past.and_then(|past| {
        let mut changes = past.changes.iter().zip(&past.said);
        changes.find(|(change, _)| change.reason() == Some(reason))
    });
    let phrase = reason.phrase().to_owned();
    match newest {
        Some((_, (Some(why), by))) => (format!("{phrase}: {why}"), vec![by.clone()]),
        Some((_, (None, by))) => (phrase, vec![by.clone()]),
        None if reason == DifferenceReason::Yours => (phrase, vec![Author::User.report()]),
        None => (phrase, Vec::new()),
    }
}
