//! Holds back half of a rename: a file that is to be removed, and holds what was at a path that stays as it is. Otherwise
//! nothing in the workspace would hold it any more. Pure, except that it reads blobs.

use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::report::{FileAction, FileResult};

use super::history::{Author, Claim, History};
use super::target::Target;
use crate::lines;
use crate::model::entry::{EntryKind, ObjectId, State};
use crate::model::item::{Item, ItemReason};
use crate::model::path::WorkspacePath;

/// How many files that stay are compared by lines, and with how many.
const COMPARED: usize = 64;

/// What is known of the paths of a plan.
pub(super) struct Renames<'a> {
    pub targets: &'a BTreeMap<WorkspacePath, Target>,
    pub history: &'a History<'a>,
    /// Returns a blob, if it is not too large to be compared.
    pub read: &'a dyn Fn(ObjectId) -> Option<Vec<u8>>,
}

impl Renames<'_> {
    /// Holds the removals back. One row says so of both paths. Returns whether there were any.
    pub fn hold_back(
        &self,
        items: &mut Vec<Item>,
        old_goal: impl Fn(&WorkspacePath) -> State,
    ) -> bool {
        let stays = |item: &&Item| matches!(item.result, FileResult::Conflict | FileResult::Gap);
        let mut open: Vec<(Item, BTreeSet<ObjectId>)> = items
            .iter()
            .filter(stays)
            .map(|item| (item.clone(), self.missing(item)))
            .filter(|(_, blobs)| !blobs.is_empty())
            .collect();
        let mut is_any = false;
        let mut joined = BTreeSet::new();
        // The same bytes first: they leave no doubt.
        for is_alike in [Self::is_same, Self::has_half] {
            let goes = |item: &&mut Item| item.is_planned() && item.target.is_none();
            for item in items.iter_mut().filter(goes) {
                let Some(blob) = file(item.expected) else {
                    continue;
                };
                let found = open.iter().position(|(stays, blobs)| {
                    self.have_a_step(&stays.path, &item.path) && is_alike(self, blobs, blob)
                });
                let Some((stays, _)) = found.map(|at| open.remove(at)) else {
                    continue;
                };
                is_any = true;
                item.target = item.expected;
                item.goal = old_goal(&item.path);
                (item.action, item.result) = (FileAction::Keep, stays.result);
                item.reason = stays.reason.map(|reason| ItemReason {
                    text: format!(
                        "moved here from `{}`: {}",
                        stays.path.to_text(),
                        reason.text
                    ),
                    ..reason
                });
                // What nobody's change explains keeps its row.
                let mut past = self.history.of(&stays.path).iter();
                if past.any(|past| past.claim == Claim::Keep) {
                    joined.insert(stays.path);
                }
            }
            open.truncate(COMPARED);
        }
        items.retain(|item| !joined.contains(&item.path));
        is_any
    }

    /// Returns whether one step changed both of two paths, as one that renames does.
    fn have_a_step(&self, one: &WorkspacePath, other: &WorkspacePath) -> bool {
        let steps = |path| {
            let past = self.history.of(path).iter();
            past.filter_map(|past| match &past.author {
                Author::Agent(source) => Some(source.step.as_str()),
                Author::User | Author::Unrecorded => None,
            })
        };
        steps(one).any(|step| steps(other).any(|also| also == step))
    }

    /// Returns the files that were at a path that stays, or were to be there, and are not.
    fn missing(&self, item: &Item) -> BTreeSet<ObjectId> {
        let mut past = self.history.of(&item.path).iter().rev();
        let first = past.find(|past| past.claim != Claim::Keep);
        let before = first.map(|past| past.change.old);
        let wanted = self.targets.get(&item.path).map(|target| target.state);
        let blobs = before.into_iter().chain(wanted).filter_map(file);
        blobs
            .filter(|blob| file(item.expected) != Some(*blob))
            .collect()
    }

    fn is_same(&self, blobs: &BTreeSet<ObjectId>, blob: ObjectId) -> bool {
        blobs.contains(&blob) && (self.read)(blob).is_none_or(|bytes| !bytes.is_empty())
    }

    /// Returns whether a file holds half of the lines of one of some, which is what git takes for a rename.
    fn has_half(&self, blobs: &BTreeSet<ObjectId>, blob: ObjectId) -> bool {
        let Some(own) = (self.read)(blob) else {
            return false;
        };
        blobs
            .iter()
            .take(COMPARED)
            .filter_map(|blob| (self.read)(*blob))
            .any(|bytes| {
                let all = bytes.split(|byte| *byte == b'\n').count();
                let gone = lines::count(&bytes, &own).map(|(_, gone)| gone);
                !bytes.is_empty() && gone.is_some_and(|gone| gone.saturating_mul(2) < all as u64)
            })
    }
}

/// Returns the bytes of a file, if it is one and they are stored.
fn file(state: State) -> Option<ObjectId> {
    let entry = state.filter(|entry| entry.mode.kind() == EntryKind::File)?;
    entry.blob
}
