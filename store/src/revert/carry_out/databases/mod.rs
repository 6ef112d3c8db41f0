//! Keeps the files of a database together, and leaves them alone while a program has them open. This module does IO.
//!
//! SQLite keeps what is not yet in `x.db` in `x.db-wal` or `x.db-journal`, and LevelDB all it has in a folder of files
//! that name each other. One of them beside another state of the rest is a damaged database, so all of them go back or
//! none does. A program that has the database open would go on writing to files without a name, and share a new log with
//! programs that open the new file, so then it stays, too. What belongs together is known by what it is (`kinds`), looked
//! at only where a plan writes.

mod find;
mod kinds;
mod open;

use std::collections::BTreeMap;
use std::path::Path;

use ckpt_schema::report::{FileAction, FileResult, ReasonCode};

use self::find::{Finder, Set, SetKind};
use self::kinds::{FolderKind, StemKind, holds_nothing};
use self::open::OpenFiles;
use super::apply::{self, Root, Standing};
use crate::error::Result;
use crate::fs::presence;
use crate::model::entry::State;
use crate::model::gap::{Gap, GapReason};
use crate::model::item::{Item, ItemReason, ReasonCase};
use crate::model::path::WorkspacePath;
use crate::revert::plan::Plan;
use crate::snapshot::{Snapshot, Snapshots};

/// The reason of a database that crashed with others in one transaction, as its journal says.
const UNFINISHED: &str =
    "a transaction over several databases is not finished: a program that opens them ends it";

/// The workspace whose databases a plan touches.
pub(crate) struct Databases<'a> {
    pub root: &'a Path,
    pub snapshots: &'a Snapshots,
    /// The present snapshot.
    pub now: &'a Snapshot,
    /// The snapshot that the operation goes back to, if known.
    pub then: Option<Snapshot>,
    /// What that one saw and does not hold.
    pub hidden_then: &'a [Gap],
    /// Whether to remove a log that was written since.
    pub force: bool,
}

impl Databases<'_> {
    /// Turns the items of databases that are open, or cannot go back as a whole, into conflicts.
    pub fn keep_whole(&self, plan: &mut Plan) -> Result<()> {
        // Where nothing is written or may be overwritten, nothing is asked of the disk and of `/proc`.
        if !plan.items.iter().any(Item::is_planned) && plan.earlier.is_empty() {
            return Ok(());
        }
        let mut finder = Finder::new(self.root, &plan.items);
        let mut groups: BTreeMap<Set, Vec<usize>> = BTreeMap::new();
        for (index, item) in plan.items.iter().enumerate() {
            if let Some(set) = finder.set_of(&item.path) {
                groups.entry(set).or_default().push(index);
            }
        }
        let may_go = |item: &Item| item.is_planned() || plan.earlier.contains_key(&item.path);
        groups.retain(|_, items| items.iter().any(|at| may_go(&plan.items[*at])));
        let mut open = OpenFiles::default();
        let mut added = Vec::new();
        for (set, items) in groups {
            let group: Vec<&Item> = items.iter().map(|at| &plan.items[*at]).collect();
            let others = self.others(&set, &group, &mut finder)?;
            let version_control = match set.kind {
                SetKind::File(kind) => kind.version_control(),
                SetKind::Folder(kind) => kind.is_version_control().then_some(kind.name),
                SetKind::Stem(_) => None,
            };
            let reason = match version_control {
                // The checkouts of a repository, which no snapshot holds, refer to what is in it.
                Some(name) => {
                    let text = format!("{name}: version control stays as it is");
                    Some((of_case(ReasonCase::VersionControl, text), false))
                }
                None => match self.holder(&set, &mut finder, &mut open)? {
                    Some(program) => {
                        let text = format!("{}: {program}", ReasonCase::Open.in_words());
                        Some((of_case(ReasonCase::Open, text), false))
                    }
                    None if finder.is_in_larger_transaction(&set) => {
                        Some((ItemReason::new(ReasonCode::Database, UNFINISHED), false))
                    }
                    None => self.who_stays(&set, &group, (&others, &plan.earlier)),
                },
            };
            match reason {
                Some((reason, is_edited)) => {
                    let is_alone = items.len() == 1 && others.is_empty();
                    if !(is_edited && is_alone) {
                        keep_all(plan, &items, &reason, is_edited);
                    }
                }
                // A log that is left behind would be taken for one of the other state.
                None => added.extend(self.removals(others)?),
            }
        }
        plan.items.extend(added);
        plan.items.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(())
    }

    /// Returns the files of a set that exist now, that hold something, that have no item, and that did not exist or
    /// differed in the state that it goes back to.
    fn others(
        &self,
        set: &Set,
        group: &[&Item],
        finder: &mut Finder<'_>,
    ) -> Result<Vec<WorkspacePath>> {
        let mut there = Vec::new();
        for path in finder.files(set) {
            if group.iter().any(|item| item.path == path) || !set.is_data(&path) {
                continue;
            }
            let found = presence::metadata(&path.on_disk(self.root))?;
            // SQLite leaves an empty log behind in some modes; it holds nothing, so it goes with any state.
            if found.is_some_and(|found| found.is_file() && found.len() > 0) {
                there.push(path);
            }
        }
        let now = self.snapshots.states(self.now, &there)?;
        let then = match &self.then {
            Some(then) => self.snapshots.states(then, &there)?,
            None => vec![None; there.len()],
        };
        let others = there.into_iter().zip(now.into_iter().zip(then));
        Ok(others
            // A file that rules hide is in no snapshot: it is unclear which state it belongs to.
            .filter(|(_, (now, then))| now.is_none() || now != then)
            .map(|(path, _)| path)
            .collect())
    }

    /// Returns why a database stays because of one of its files, and whether that is an edit that can be overwritten.
    fn who_stays(
        &self,
        set: &Set,
        group: &[&Item],
        (others, earlier): (&[WorkspacePath], &BTreeMap<WorkspacePath, State>),
    ) -> Option<(ItemReason, bool)> {
        let kept = group.iter().find(|item| {
            !matches!(item.result, FileResult::Planned | FileResult::Done)
                && !set.is_only_a_sign(&item.path)
        });
        // What no snapshot holds does not go back, by no force.
        let is_coming = |path: &WorkspacePath| {
            let mut items = group.iter();
            items.any(|item| item.path == *path && item.target.is_some())
        };
        let hidden = self
            .hidden_then
            .iter()
            .filter(|gap| !matches!(gap.reason, GapReason::Special(_) | GapReason::Metadata));
        let mut hidden = hidden.filter_map(|gap| WorkspacePath::new(&gap.path[..]).ok());
        let hidden = hidden.find(|path| set.is_data(path) && !is_coming(path));
        let is_edited = |item: &&&Item| earlier.contains_key(&item.path);
        let may_go = hidden.is_none() && kept.as_ref().is_none_or(is_edited);
        let is_file = matches!(set.kind, SetKind::File(_));
        let other = others.first();
        if is_file
            && may_go
            && !self.force
            && let Some(other) = other
        {
            let written = kept.map_or(other, |item| &item.path);
            let text = format!("{}: `--force` takes both", together(set, written));
            return Some((of_case(ReasonCase::Log, text), kept.is_some()));
        }
        let (path, can_go) = match (kept, &hidden) {
            (Some(kept), _) => (&kept.path, may_go && (is_file || other.is_none())),
            (None, Some(hidden)) => (hidden, false),
            (None, None) => (other.filter(|_| !is_file)?, false),
        };
        Some((
            ItemReason::new(ReasonCode::Database, together(set, path)),
            can_go,
        ))
    }

    /// Returns a program that has a file of a database open.
    fn holder(
        &self,
        set: &Set,
        finder: &mut Finder<'_>,
        open: &mut OpenFiles,
    ) -> Result<Option<String>> {
        for path in finder.files(set) {
            if let Some(program) = open.by(self.root, &path)? {
                return Ok(Some(program));
            }
        }
        Ok(None)
    }

    fn removals(&self, logs: Vec<WorkspacePath>) -> Result<Vec<Item>> {
        let states = self.snapshots.store_paths(self.root, &logs)?;
        let removals = logs.into_iter().zip(states);
        removals
            .map(|(path, state)| Ok(removal(path, state?)))
            .collect()
    }
}

/// Looks once more just before the first file is written. Returns the items, with those of a database of which one would
/// stay as conflicts: a program may have opened it since. What an earlier try has begun is finished.
pub(crate) fn look_again(path: &Path, root: &Root, items: &[Item]) -> Vec<Item> {
    let mut items = items.to_vec();
    let mut finder = Finder::new(path, &items);
    let mut groups: BTreeMap<Set, Vec<usize>> = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        if item.is_planned()
            && let Some(set) = finder.set_of(&item.path)
        {
            groups.entry(set).or_default().push(index);
        }
    }
    // What is one file stays or goes by itself.
    groups.retain(|_, planned| planned.len() > 1);
    for (set, planned) in groups {
        let standing = |at: &usize| apply::standing(root, &items[*at]);
        let standings: Vec<Standing> = planned.iter().map(standing).collect();
        let other = standings.iter().position(|found| *found == Standing::Other);
        let Some(other) = other.filter(|_| !standings.contains(&Standing::Done)) else {
            continue;
        };
        let reason = together(&set, &items[planned[other]].path);
        for at in planned {
            items[at].result = FileResult::Conflict;
            items[at].reason = Some(ItemReason::new(ReasonCode::Moved, &reason));
        }
    }
    items
}

fn of_case(case: ReasonCase, text: String) -> ItemReason {
    ItemReason::of(ReasonCode::Database, case, text)
}

/// Returns why a set stays, by the file of it that does not go along.
fn together(set: &Set, path: &WorkspacePath) -> String {
    let rule = match set.kind {
        SetKind::File(_) => "a database and its log are reverted together".to_owned(),
        SetKind::Folder(FolderKind { name, .. }) | SetKind::Stem(StemKind { name, .. }) => {
            format!("{name} goes back as a whole or not at all")
        }
    };
    let path = path.to_text();
    format!("{rule}, but `{path}` was written since, or is in no snapshot")
}

/// Returns the item that removes what is at a path.
fn removal(path: WorkspacePath, now: State) -> Item {
    Item {
        path,
        expected: now,
        target: None,
        goal: None,
        action: FileAction::Delete,
        result: FileResult::Planned,
        reason: None,
        lines: None,
    }
}

/// Keeps the items of a set. If nothing but edits keep them, all of them can be overwritten together; otherwise no option
/// takes one of them, until a program has closed them.
fn keep_all(plan: &mut Plan, items: &[usize], reason: &ItemReason, is_edited: bool) {
    let may_go = |item: &Item| item.is_planned() || plan.earlier.contains_key(&item.path);
    let can_go = is_edited && items.iter().all(|at| may_go(&plan.items[*at]));
    for at in items {
        let item = &mut plan.items[*at];
        let is_due = match can_go {
            true => {
                plan.earlier.entry(item.path.clone()).or_insert(item.target);
                true
            }
            false => {
                reason.case != Some(ReasonCase::Open) && plan.earlier.remove(&item.path).is_some()
            }
        };
        if is_due {
            item.reason = Some(reason.clone());
        }
        keep(item, reason);
    }
}

fn keep(item: &mut Item, reason: &ItemReason) {
    if !item.is_planned() {
        return;
    }
    item.target = item.expected;
    item.goal = item.expected;
    item.action = FileAction::Keep;
    item.result = FileResult::Conflict;
    item.reason = Some(reason.clone());
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::model::entry::{Entry, Mode};
    use crate::objects::hash::blob_id;

    fn item(path: &str, expected: &str) -> Item {
        let entry = |text: &str| Entry::stored(Mode::file(0o644), blob_id(text.as_bytes()));
        Item {
            path: WorkspacePath::new(path).expect("legal"),
            expected: Some(entry(expected)),
            target: Some(entry("then")),
            goal: Some(entry("then")),
            action: FileAction::Write,
            result: FileResult::Planned,
            reason: None,
            lines: None,
        }
    }

    /// A database that changed since the plan stays whole.
    #[test]
    fn database_changed_since_the_plan_stays_whole() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("writable");
            let at = folder.path().join(name);
            let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
            std::fs::set_permissions(at, permissions).expect("ours");
        };
        let items = ["x.db", "x.db-wal", "y.db", "y.db-wal", "z"].map(|name| item(name, "now"));
        for name in ["x.db", "x.db-wal", "y.db", "y.db-wal"] {
            write(name, "now");
        }
        write("z", "somebody's");
        write("x.db-wal", "somebody's");
        let found = folder.path().metadata().expect("there");
        let root = Root::open(folder.path(), found.dev(), found.ino()).expect("it is");
        let looked = look_again(folder.path(), &root, &items);
        let results: Vec<FileResult> = looked.iter().map(|item| item.result).collect();
        let (kept, planned) = (FileResult::Conflict, FileResult::Planned);
        assert_eq!(results, [kept, kept, planned, planned, planned]);
        write("x.db", "then");
        let looked = look_again(folder.path(), &root, &items);
        assert!(
            looked.iter().all(Item::is_planned),
            "begun, so it is finished"
        );
    }
}
