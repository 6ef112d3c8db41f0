//! Keeps a rename in one piece: a file that is to be removed or replaced stays if it holds a text that an agent moved there
//! from a path to which the text does not come back. Otherwise no file in the workspace would hold it any more. Pure,
//! except that it reads blobs.

use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::report::{FileAction, FileResult, ReasonCode};

use crate::lines;
use crate::model::entry::{Change, Entry, EntryKind, Mode, ObjectId, State};
use crate::model::item::{Item, ItemReason};
use crate::model::path::WorkspacePath;
use crate::revert::goal::target::Target;
use crate::revert::request::history::{Author, Claim, History};

/// How many texts are looked for by their lines, and not only by their bytes.
const COMPARED: usize = 64;

/// What is known of the paths of a plan.
pub(crate) struct Renames<'a> {
    pub targets: &'a BTreeMap<WorkspacePath, Target>,
    pub history: &'a History<'a>,
    /// The agent's changes at paths that were not asked for, each with what is there now.
    pub elsewhere: &'a [(Change, State)],
    /// Where each text was before the changes to undo. Texts of different paths are different files, however alike.
    pub origins: BTreeMap<Entry, BTreeSet<&'a WorkspacePath>>,
    /// Returns a blob, if it is not too large to be compared.
    pub read: &'a dyn Fn(ObjectId) -> Option<Vec<u8>>,
}

/// A text that was at a path and does not come back there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MissingText {
    text: Entry,
    path: WorkspacePath,
    /// Whether the path is one of the plan.
    is_asked: bool,
}

/// The texts for which a file stays already.
#[derive(Debug, Default)]
pub(crate) struct KeptTexts(BTreeSet<MissingText>);

impl Renames<'_> {
    /// Holds the removals and replacements back. One row says so of both paths. Returns whether there were any: then a
    /// file that stays may be the old name of another one.
    pub fn hold_back(
        &self,
        items: &mut Vec<Item>,
        kept: &mut KeptTexts,
        old_goal: impl Fn(&WorkspacePath) -> State,
    ) -> bool {
        if !items.iter().any(Item::takes_away) {
            return false;
        }
        let mut missing = self.missing(items, &old_goal);
        missing.retain(|text| !kept.0.contains(text));
        let mut reasons: BTreeMap<WorkspacePath, (FileResult, ItemReason)> = BTreeMap::new();
        for item in items.iter().filter(|item| !item.is_planned()) {
            if let Some(reason) = &item.reason {
                reasons.insert(item.path.clone(), (item.result, reason.clone()));
            }
        }
        let mut joined = BTreeSet::new();
        let before = kept.0.len();
        let mut hold = |item: &mut Item, text: MissingText| {
            item.target = item.expected;
            item.goal = old_goal(&item.path);
            item.action = FileAction::Keep;
            (item.result, item.reason) = moved_from(&text.path, reasons.get(&text.path));
            // What no other change explains keeps its row.
            if self.has_other_change(&text.path) {
                joined.insert(text.path.clone());
            }
            kept.0.insert(text);
        };
        let planned = items.iter().filter(|item| item.is_planned());
        let brought: BTreeSet<Entry> = planned.filter_map(|item| text(item.target)).collect();
        let is_lost = |missing: &MissingText, item: &Item| {
            let is_elsewhere = || text(item.expected).is_some_and(|text| brought.contains(&text));
            !self.holds(item.target, missing.text)
                && (missing.is_asked || !is_elsewhere())
                && !self.came_on_the_way(&item.path, missing)
                && self.went_between(missing, &item.path)
        };
        // The same bytes first: they leave no doubt.
        let mut by_text: BTreeMap<Entry, Vec<MissingText>> = BTreeMap::new();
        for missing in missing.into_iter().rev() {
            by_text.entry(missing.text).or_default().push(missing);
        }
        for item in items.iter_mut().filter(|item| item.takes_away()) {
            let missing = text(item.expected).and_then(|text| by_text.get_mut(&text));
            if let Some(missing) =
                missing.and_then(|missing| missing.pop_if(|last| is_lost(last, item)))
            {
                hold(item, missing);
            }
        }
        let left = by_text.into_values().flatten();
        let mut left: Vec<MissingText> = left.take(COMPARED).collect();
        for item in items.iter_mut().filter(|item| item.takes_away()) {
            let found = left.iter().position(|missing| {
                self.holds(item.expected, missing.text) && is_lost(missing, item)
            });
            if let Some(found) = found {
                hold(item, left.remove(found));
            }
        }
        // What goes back in part has a row of its own.
        items.retain(|item| item.is_planned() || !joined.contains(&item.path));
        kept.0.len() > before
    }

    /// Returns the texts that agents moved away from paths, and that no item brings back there.
    fn missing(
        &self,
        items: &[Item],
        old_goal: &impl Fn(&WorkspacePath) -> State,
    ) -> Vec<MissingText> {
        let mut missing = Vec::new();
        for item in items {
            let after = match item.is_planned() {
                true => item.target,
                false => item.expected,
            };
            for text in self.texts_of(item) {
                // Where the move begins with the text, it was not to bring it.
                let stays = [after, old_goal(&item.path)];
                if !stays.iter().any(|state| self.holds(*state, text))
                    && !self.moves_of(&item.path, text).is_empty()
                {
                    let path = item.path.clone();
                    let is_asked = true;
                    missing.push(MissingText {
                        text,
                        path,
                        is_asked,
                    });
                }
            }
        }
        for (change, now) in self.elsewhere {
            let stays = [change.new, *now];
            if let Some(text) = text(change.old)
                && !stays.iter().any(|state| self.holds(*state, text))
            {
                let path = change.path.clone();
                missing.push(MissingText {
                    text,
                    path,
                    is_asked: false,
                });
            }
        }
        missing
    }

    /// Returns the texts on which the changes to undo at a path were made, and the one that it was to get where it stays.
    fn texts_of(&self, item: &Item) -> Vec<Entry> {
        let mut texts = texts_before(self.history, &item.path);
        if !item.is_planned() {
            let target = self.targets.get(&item.path);
            texts.extend(target.and_then(|target| text(target.state)));
        }
        texts
    }

    /// Returns whether only an earlier revert of the chain brought a text to a path. A move further back takes it away
    /// again: at once, it would not have come. On the way forward, the text was where it is missing.
    fn came_on_the_way(&self, path: &WorkspacePath, missing: &MissingText) -> bool {
        let held_text = |target: &Target| self.holds(target.base, missing.text);
        let target = self.targets.get(path);
        let was_missing = || !self.targets.get(&missing.path).is_some_and(held_text);
        target.is_some_and(|target| {
            !held_text(target) && (target.state != target.base || was_missing())
        })
    }

    /// Returns whether agents took a text away from the one path and brought it to the other. That two files are alike may
    /// be chance.
    fn went_between(&self, missing: &MissingText, path: &WorkspacePath) -> bool {
        let MissingText {
            text,
            path: other,
            is_asked,
        } = missing;
        let there = self.moves_of(path, *text);
        let here = match is_asked {
            true => self.moves_of(other, *text),
            false => vec![(None, false)],
        };
        // Many links lead to the same place: one step has to have done both.
        let is_link = text.mode.kind() == EntryKind::Symlink;
        here.iter().any(|(one, came)| {
            let mut there = there.iter();
            there.any(|(other, also)| came != also && (!is_link || one == other))
        })
    }

    /// Returns the steps in which agents brought a text to a path, or took it away from there, and which of both.
    fn moves_of(&self, path: &WorkspacePath, text: Entry) -> Vec<(Option<&str>, bool)> {
        let past = self.history.of(path).iter();
        let own = texts_before(self.history, path);
        let moves = past.filter_map(|past| {
            let Author::Agent(source) = &past.author else {
                return None;
            };
            let (before, after) = (past.change.old, past.change.new);
            // A file that is like another one stays itself when it is edited.
            let holds = |state| self.holds(state, text) && !self.is_own(state, text, &own);
            let comes = holds(after);
            (holds(before) != comes).then_some((Some(&source.step[..]), comes))
        });
        moves.collect()
    }

    fn has_other_change(&self, path: &WorkspacePath) -> bool {
        let mut past = self.history.of(path).iter();
        past.any(|past| past.claim == Claim::Keep)
    }

    /// Returns whether a state holds a text, or half of its lines, which is what git takes for a rename. What is exactly
    /// the text of another path holds that one only.
    fn holds(&self, state: State, text: Entry) -> bool {
        let Some(own) = self::text(state) else {
            return false;
        };
        if own == text {
            return true;
        }
        if let (Some(one), Some(other)) = (self.origins.get(&own), self.origins.get(&text))
            && one.is_disjoint(other)
        {
            return false;
        }
        self.keeps_half(text, own)
    }

    /// Returns whether a state that is not exactly a text was made of one of the path's own.
    fn is_own(&self, state: State, text: Entry, own: &[Entry]) -> bool {
        self::text(state).is_some_and(|state| {
            let mut others = own.iter().filter(|own| **own != text);
            state != text && others.any(|own| self.keeps_half(*own, state))
        })
    }

    fn keeps_half(&self, old: Entry, new: Entry) -> bool {
        let read = |entry: Entry| {
            let is_file = entry.mode.kind() == EntryKind::File;
            (self.read)(entry.blob.filter(|_| is_file)?)
        };
        match (read(old), read(new)) {
            (Some(old), Some(new)) => lines::keeps_half(&old, &new),
            _ => false,
        }
    }
}

/// Returns where each text was before the changes to undo, and before those at paths that were not asked for.
pub(crate) fn origins<'a>(
    history: &History<'a>,
    elsewhere: &'a [(Change, State)],
) -> BTreeMap<Entry, BTreeSet<&'a WorkspacePath>> {
    let asked = history.paths().flat_map(|path| {
        let texts = texts_before(history, path).into_iter();
        texts.map(move |text| (text, path))
    });
    let elsewhere = elsewhere.iter();
    let elsewhere = elsewhere.filter_map(|(change, _)| Some((text(change.old)?, &change.path)));
    let mut origins = BTreeMap::<_, BTreeSet<_>>::new();
    for (text, path) in asked.chain(elsewhere) {
        origins.entry(text).or_default().insert(path);
    }
    origins
}

/// Returns the texts on which the changes to undo at a path were made.
fn texts_before(history: &History<'_>, path: &WorkspacePath) -> Vec<Entry> {
    let mut texts = Vec::new();
    let mut last = None;
    for past in history.of(path).iter().rev() {
        let is_claimed = past.claim != Claim::Keep;
        if is_claimed && last != Some(past.change.old) {
            texts.extend(text(past.change.old));
        }
        last = is_claimed.then_some(past.change.new);
    }
    texts
}

/// Returns a file or a link with its bytes, if they are stored, and without its permissions. An empty file has no text:
/// any two are equal.
fn text(state: State) -> State {
    let entry =
        state.filter(|entry| entry.is_stored() && entry.blob != Some(ObjectId::EMPTY_BLOB))?;
    let mode = match entry.mode.kind() {
        EntryKind::File => Mode::file(0),
        EntryKind::Symlink => Mode::SYMLINK,
        EntryKind::Directory => return None,
    };
    Some(Entry { mode, ..entry })
}

/// Returns why a file stays that holds the text of a path, which stays for a reason of its own or was not asked for.
fn moved_from(
    path: &WorkspacePath,
    stays: Option<&(FileResult, ItemReason)>,
) -> (FileResult, Option<ItemReason>) {
    let path = path.to_text();
    let (result, reason) = match stays {
        Some((result, reason)) => {
            let text = format!("moved here from `{path}`: {}", reason.text);
            let reason = reason.clone();
            (*result, ItemReason { text, ..reason })
        }
        None => {
            let text = format!("moved here from `{path}`, which stays as it is");
            let reason = ItemReason::new(ReasonCode::Blocked, text);
            (FileResult::Conflict, reason)
        }
    };
    (result, Some(reason))
}
