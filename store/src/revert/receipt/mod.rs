//! The receipt: compares the workspace after an operation with the state that it went to, and gives one reason for
//! every path that differs. This folder does IO: it reads rows and trees, and looks at folders that stay. `facts` and
//! `reason` decide, and are pure.
//!
//! It costs one comparison of two trees by their ids. The history is read only if something differs.

mod facts;
pub(crate) mod forecast;
mod hidden_paths;
pub(crate) mod notes;
mod reason;

use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::report::{Difference, DifferenceDetail, DifferenceReason, Receipt};
use rusqlite::Connection;

use crate::error::Result;
use crate::model::entry::{Change, Entry, ObjectId, State};
use crate::model::gap::{Covering, Gap};
use crate::model::item::Item;
use crate::model::note::{self, Note};
use crate::model::path::{PathKind, WorkspacePath};
use crate::revert::goal::expectation::Expectation;
use crate::revert::request::authors::Authors;
use crate::revert::request::history::Author;
use crate::revert::request::scope::{Coverage, RevertScope, UndoScope};
use crate::sessions::{self, ChangeSince};
use crate::snapshot::{Snapshot, Snapshots};
use crate::timeline::{Look, Place};
use facts::{PathFacts, PathHistory, UnseenChange};
use reason::{Actor, LaterChange, implied};

/// Returns the note on a comparison that was made later, by the process that finished the operation: what differs, if
/// anything does.
pub(crate) fn later_note(compared: &Result<Option<Receipt>>) -> Option<Note> {
    match compared {
        Ok(receipt) => {
            let differences = receipt.as_ref()?.differences.clone();
            note::on(differences, |differences| Note::Differs { differences })
        }
        Err(error) => Some(Note::NotCompared {
            why: error.with_causes(),
        }),
    }
}

/// Compares what an operation left, as `after` saw it, with the state that it went to. Planned items count as done, so
/// that a dry run shows the result. `before` is the state that the operation found.
pub(crate) fn receipt(
    connection: &Connection,
    place: &Place,
    snapshots: &Snapshots,
    expectation: Option<&Expectation>,
    items: &[Item],
    (before, after): (&Snapshot, &Look),
) -> Result<Option<Receipt>> {
    let Some(expectation) = expectation else {
        return Ok(None);
    };
    let then = sessions::snapshot(connection, expectation.snapshot)?.snapshot;
    let comparison = ReceiptComparison {
        connection,
        place,
        snapshots,
        expectation,
        then,
        before: *before,
        after,
        items: items.iter().map(|item| (&item.path, item)).collect(),
    };
    Ok(Some(Receipt {
        tree: then.tree.to_string(),
        differences: comparison.differences()?,
    }))
}

/// Returns whether a comparison found what [`is_incomplete`] means.
pub(crate) fn leaves_open(compared: &Result<Option<Receipt>>) -> bool {
    matches!(compared, Ok(Some(receipt)) if is_incomplete(receipt))
}

/// Returns whether a path differs and it is unclear why, or only because it is out of view.
pub(crate) fn is_incomplete(receipt: &Receipt) -> bool {
    receipt.differences.iter().any(|difference| {
        difference.reason == DifferenceReason::Unexplained
            || difference.detail == Some(DifferenceDetail::Different)
    })
}

struct ReceiptComparison<'a> {
    connection: &'a Connection,
    place: &'a Place,
    snapshots: &'a Snapshots,
    expectation: &'a Expectation,
    then: Snapshot,
    before: Snapshot,
    after: &'a Look,
    items: BTreeMap<&'a WorkspacePath, &'a Item>,
}

impl ReceiptComparison<'_> {
    fn differences(&self) -> Result<Vec<Difference>> {
        let differing = self.differing()?;
        if differing.is_empty() {
            return Ok(Vec::new());
        }
        let paths: Vec<WorkspacePath> = differing.keys().cloned().collect();
        let mut facts = PathFacts {
            items: &self.items,
            since: self.since(&paths)?,
            forgotten: self.forgotten()?,
            unseen: UnseenChange::default(),
        };
        let is_open = |path: &&WorkspacePath| facts.known(path).known_reason().is_none();
        let open: Vec<WorkspacePath> = paths.iter().filter(is_open).cloned().collect();
        // What neither the operation nor the history explains is investigated. There rarely is any.
        if !open.is_empty() {
            facts.unseen = self.unseen(&differing, &open)?;
        }
        let all = paths.iter().map(|path| facts.difference(path)).collect();
        let mut all = self.compared_on_disk(&paths, &facts.since, all)?;
        name_moves(differing.values(), &mut all);
        Ok(all)
    }

    /// Returns the gaps of the state that it is compared with whose content was forgotten since.
    fn forgotten(&self) -> Result<Covering> {
        let gaps = self.gaps_then()?;
        let gaps = gaps.into_iter().filter(|gap| gap.reason.is_forgotten());
        Ok(Covering::of(gaps.map(|gap| gap.path)))
    }

    fn gaps_then(&self) -> Result<Vec<Gap>> {
        self.snapshots.gaps(&self.then)
    }

    /// Gathers what is known about paths that no row names.
    fn unseen(
        &self,
        differing: &BTreeMap<WorkspacePath, Change>,
        paths: &[WorkspacePath],
    ) -> Result<UnseenChange> {
        let Expectation {
            session,
            snapshot,
            point,
            ..
        } = self.expectation;
        // The moves of the same chain are no reason to differ, unless they went further back.
        let chain = session
            .as_ref()
            .filter(|_| point.is_none())
            .map(|(session, base)| (session.as_str(), *base));
        let workspace = self.place.row.id;
        let mut gaps = self.gaps_then()?;
        gaps.extend(self.after.gaps.iter().cloned());
        let mut unseen = UnseenChange {
            gaps: Covering::of(gaps.into_iter().map(|gap| gap.path)),
            moved: sessions::moved_since(self.connection, workspace, *snapshot, chain)?,
            hidden: self.hidden(paths)?,
        };
        if let Some(point) = point {
            unseen.moved.extend(self.as_at(*point, paths)?);
        }
        unseen.moved.extend(self.of_parts()?);
        // An empty folder appears and disappears with a row, except one whose files were all ignored: no author changed
        // that one.
        unseen.hidden.extend(
            paths
                .iter()
                .filter(|path| is_of_folder(&differing[*path]))
                .cloned(),
        );
        Ok(unseen)
    }

    /// Returns the paths of which a part of the history is undone beside everything after the revert point. They are
    /// not as they were at that point, also where the move of that part had nothing to write.
    fn of_parts(&self) -> Result<Vec<WorkspacePath>> {
        let scopes = self.expectation.scopes.iter();
        let parts: Vec<&RevertScope> = scopes.filter(|scope| scope.is_part()).collect();
        let session = self.expectation.session.as_ref();
        let Some((session, _)) = session.filter(|_| !parts.is_empty()) else {
            return Ok(Vec::new());
        };
        let mut live = sessions::live_changes(self.connection, session, 0)?;
        live.retain(|change| parts.iter().any(|part| part.covers(change)));
        Ok(live.into_iter().map(|live| live.row.change.path).collect())
    }

    /// Returns the paths that are as they were in a snapshot.
    fn as_at(&self, snapshot: i64, paths: &[WorkspacePath]) -> Result<Vec<WorkspacePath>> {
        let snapshot = sessions::snapshot(self.connection, snapshot)?.snapshot;
        let then = self.snapshots.states(&snapshot, paths)?;
        let now = self.snapshots.states(&self.after.snapshot, paths)?;
        let states = then.into_iter().zip(now);
        let same = paths
            .iter()
            .zip(states)
            .filter(|(_, (then, now))| then == now);
        Ok(same.map(|(path, _)| path.clone()).collect())
    }

    /// Returns the paths that differ, or will, without the empty directories that merely have contents on the other
    /// side.
    fn differing(&self) -> Result<BTreeMap<WorkspacePath, Change>> {
        let expectation = self.expectation;
        let found = self
            .snapshots
            .difference(&self.then, &self.after.snapshot)?;
        let mut differing: BTreeMap<WorkspacePath, Change> = found
            .into_iter()
            .map(|change| (change.path.clone(), change))
            .collect();
        for change in self.hidden_again()? {
            differing.entry(change.path.clone()).or_insert(change);
        }
        let planned = self.planned()?;
        let coming = planned.iter().filter(|change| change.new.is_some());
        let filled = WorkspacePath::all_above(coming.map(|change| &change.path));
        for change in differing.values_mut() {
            if change.new.is_some_and(|entry| entry.is_empty_directory())
                && filled.contains(&change.path)
            {
                change.new = None;
            }
        }
        // Last, over what was seen: in a dry run, nothing of it was written yet.
        for change in planned {
            differing.insert(change.path.clone(), change);
        }
        differing.retain(|path, change| {
            change.old != change.new && path.is_asked_for(&expectation.only)
        });
        let written = self.items.values().filter(|item| item.is_planned());
        let written = written.filter(|item| item.target.is_some());
        // Also those that will hold only what rules hide by then.
        let kept = WorkspacePath::all_above(written.map(|item| &item.path));
        for path in self.only_filled(&differing, &kept)? {
            differing.remove(&path);
        }
        Ok(differing)
    }

    /// Returns the changes of the planned items. What ignore rules will hide then, no snapshot will hold.
    fn planned(&self) -> Result<Vec<Change>> {
        let items = self.items.values().filter(|item| item.is_planned());
        let items: Vec<&Item> = items.copied().collect();
        let paths: Vec<WorkspacePath> = items.iter().map(|item| item.path.clone()).collect();
        let then = self.snapshots.states(&self.then, &paths)?;
        let kind = |item: &&Item| match item.target {
            Some(target) if target.is_empty_directory() => PathKind::Directory,
            _ => PathKind::File,
        };
        let kinds = items.iter().map(kind);
        let snapshot = &self.after.snapshot;
        let entries = paths.iter().zip(kinds);
        let are_hidden = self.snapshots.are_hidden(snapshot, entries)?;
        let changes = items.into_iter().zip(then).zip(are_hidden);
        let changes = changes.map(|((item, old), is_hidden)| Change {
            path: item.path.clone(),
            old,
            new: item.target.filter(|_| !is_hidden),
        });
        Ok(changes.collect())
    }

    /// Returns the differences that were in view until the operation put back the ignore rules that hide it.
    fn hidden_again(&self) -> Result<Vec<Change>> {
        let went = self
            .snapshots
            .difference(&self.before, &self.after.snapshot)?;
        let went: Vec<Change> = went
            .into_iter()
            // What the operation wrote or removed itself is compared like any other path.
            .filter(|change| change.new.is_none() && !self.items.contains_key(&change.path))
            .collect();
        if went.is_empty() {
            return Ok(Vec::new());
        }
        let paths: Vec<WorkspacePath> = went.iter().map(|change| change.path.clone()).collect();
        let presences = self.snapshots.presences(&self.after.snapshot, &paths)?;
        let states = self.snapshots.states(&self.then, &paths)?;
        let all = went.into_iter().zip(presences).zip(states);
        let hidden = all.filter(|((_, presence), _)| presence.is_out_of_view());
        let changes = hidden.map(|((change, _), then)| Change {
            path: change.path,
            old: then,
            new: change.old,
        });
        Ok(changes.collect())
    }

    /// Returns the empty directories that differ only because they have contents on the other side, or will:
    /// `filled` are the directories into which planned items put something.
    fn only_filled(
        &self,
        differing: &BTreeMap<WorkspacePath, Change>,
        filled: &BTreeSet<WorkspacePath>,
    ) -> Result<BTreeSet<WorkspacePath>> {
        let changes = || differing.values();
        let went = empty_directories(changes().map(|change| (change, change.old, change.new)));
        let came = empty_directories(changes().map(|change| (change, change.new, change.old)));
        let filled_now = self
            .snapshots
            .are_directories(&self.after.snapshot, &went)?;
        let filled_then = self.snapshots.are_directories(&self.then, &came)?;
        let will_be = went.iter().zip(filled_now);
        let will_be = will_be.map(|(path, is_filled)| is_filled || filled.contains(path));
        let mut only_filled = implied(went.clone(), will_be.collect());
        only_filled.extend(implied(came, filled_then));
        Ok(only_filled)
    }

    /// Returns the later changes of the paths, newest first. What only the present look saw is newer than all rows.
    fn since(&self, paths: &[WorkspacePath]) -> Result<BTreeMap<WorkspacePath, PathHistory>> {
        let of_interest: BTreeSet<&WorkspacePath> = paths.iter().collect();
        let replaced: BTreeSet<i64> = self.after.replaced.iter().copied().collect();
        let session = self
            .expectation
            .session
            .as_ref()
            .map(|(session, _)| session.as_str());
        let mut rows = sessions::owners_of(self.connection, &self.after.changes, session)?;
        // The newest first, like the rows that are read from the database below.
        rows.reverse();
        let written = sessions::changes_since(
            self.connection,
            self.place.row.id,
            self.expectation.snapshot,
            session,
        )?;
        rows.extend(written);
        let mut since: BTreeMap<WorkspacePath, PathHistory> = BTreeMap::new();
        let mut authors = Authors::new(self.connection, self.place.row.id);
        for row in rows {
            let change = &row.change.row;
            let is_replaced = change.id.is_some_and(|id| replaced.contains(&id));
            // What the look joined is in its own rows already. Counted twice, one change would have two
            // authors.
            if is_replaced || !of_interest.contains(&change.change.path) {
                continue;
            }
            let author = authors.of(&row.change)?;
            let past = since.entry(change.change.path.clone()).or_default();
            // The last one is the oldest.
            past.first = Some(change.change.old);
            past.changes.push(LaterChange {
                attribution: change.attribution,
                author: self.author(&row),
                is_unrecorded: author == Author::Unrecorded,
            });
            past.said.push((change.reason.clone(), author.report()));
        }
        Ok(since)
    }

    fn author(&self, row: &ChangeSince) -> Actor {
        let change = &row.change;
        if change.row.step_id.is_none() {
            return Actor::NoStep;
        }
        // A restore puts a path back no matter who changed it.
        if self.expectation.session.is_none() {
            return Actor::Asked;
        }
        if !row.is_of_session {
            return Actor::Other;
        }
        let asked = UndoScope {
            scopes: &self.expectation.scopes,
            taken: &self.expectation.taken,
        };
        match asked.of(change) {
            Coverage::Undo => Actor::Asked,
            Coverage::Shared | Coverage::Unclear | Coverage::No => Actor::NotAsked,
        }
    }

    /// Returns the paths that ignore rules hid then, hide now, or hid in between. If a path came into view or went out
    /// of it because rules changed, that is no author's change, and in no row.
    fn hidden(&self, paths: &[WorkspacePath]) -> Result<BTreeSet<WorkspacePath>> {
        let between = sessions::snapshots_since(
            self.connection,
            self.place.row.id,
            self.expectation.snapshot,
            MAX_SNAPSHOTS,
        )?;
        let mut looked_at = Vec::new();
        // No row has the state that a dry run found.
        let sides = [self.then, self.after.snapshot, self.before].into_iter();
        let mut open = paths.to_vec();
        let mut hidden = BTreeSet::new();
        for side in sides.chain(between.iter().map(|row| row.snapshot)) {
            if open.is_empty() || looked_at.contains(&side) {
                continue;
            }
            let files = open.iter().map(|path| (path, PathKind::File));
            let are_hidden = self.snapshots.are_hidden(&side, files)?;
            let (those, rest): (Vec<_>, Vec<_>) = open
                .into_iter()
                .zip(are_hidden)
                .partition(|(_, is_hidden)| *is_hidden);
            hidden.extend(those.into_iter().map(|(path, _)| path));
            open = rest.into_iter().map(|(path, _)| path).collect();
            looked_at.push(side);
        }
        Ok(hidden)
    }
}

/// Says of each file that came, by the same author, where it was before.
fn name_moves<'c>(changes: impl Iterator<Item = &'c Change>, differences: &mut [Difference]) {
    let changes: Vec<&Change> = changes.collect();
    // Empty files are all alike.
    let is_telling = |blob: &ObjectId| *blob != ObjectId::EMPTY_BLOB;
    let blob = |state: &State| state.and_then(|entry| entry.file_blob()).filter(is_telling);
    let mut gone: BTreeMap<ObjectId, Vec<usize>> = BTreeMap::new();
    for (at, change) in changes.iter().enumerate() {
        if let (Some(blob), None) = (blob(&change.old), change.new) {
            gone.entry(blob).or_default().push(at);
        }
    }
    for (at, change) in changes.iter().enumerate() {
        let (None, Some(blob)) = (change.old, blob(&change.new)) else {
            continue;
        };
        let Some(from) = gone.get_mut(&blob) else {
            continue;
        };
        let of = |at: usize| (differences[at].reason, &differences[at].by);
        let name = |at: &usize| changes[*at].path.name();
        let alike = from.iter().filter(|from| of(**from) == of(at));
        // Of many copies, the one that kept its name is the likelier source.
        let from_here = alike.max_by_key(|from| name(from) == name(&at)).copied();
        if let Some(from_here) = from_here {
            from.retain(|from| *from != from_here);
            differences[at].moved_from = Some(differences[from_here].path.clone());
        }
    }
}

/// How many snapshots, at most, are checked for rules that hid a path about which nothing else is known.
const MAX_SNAPSHOTS: u32 = 200;

/// Returns the paths that are an empty directory on one side and nothing on the other.
fn empty_directories<'c>(
    changes: impl Iterator<Item = (&'c Change, State, State)>,
) -> Vec<WorkspacePath> {
    let empty = changes.filter(|(_, side, other)| {
        side.is_some_and(|entry| entry.is_empty_directory()) && other.is_none()
    });
    empty.map(|(change, ..)| change.path.clone()).collect()
}

fn is_of_folder(change: &Change) -> bool {
    let is_folder = |state: &State| state.as_ref().is_none_or(Entry::is_empty_directory);
    is_folder(&change.old) && is_folder(&change.new)
}
