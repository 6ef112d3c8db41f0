//! `bisect`: the search for the state, and for the files in it, with which a command began to fail.

use std::collections::BTreeSet;
use std::path::Path;

use ckpt_schema::report::{BisectFile, BisectReport, BisectStep, VERSION};

use super::states::{Made, made_between, states};
use super::{Entries, Layout};
use crate::error::{Error, Result};
use crate::model::entry::Change;
use crate::model::number::count;
use crate::model::path::WorkspacePath;
use crate::revert;
use crate::sessions::SnapshotRow;
use crate::snapshot::{Snapshot, Snapshots};
use crate::store::Store;
use crate::timeline::Place;

/// What a command says of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tested {
    /// It succeeds.
    Succeeds,
    /// It fails.
    Fails,
    /// It cannot tell.
    Unknown,
}

/// A state on which a command is to run.
pub struct Probe<'a> {
    /// Which one, for a person.
    pub what: String,
    lay_out: &'a dyn Fn(&Path) -> Result<u64>,
}

impl Probe<'_> {
    /// Lays the state out in an empty directory.
    pub fn lay_out(&self, directory: &Path) -> Result<()> {
        (self.lay_out)(directory).map(drop)
    }
}

/// What runs the command on a state.
pub(super) type OnState<'r> = dyn FnMut(&Probe<'_>) -> Result<Tested> + 'r;

/// Where a search among states ended: the last that succeeds and the first that fails. Those in between cannot be
/// tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    succeeds: usize,
    fails: usize,
}

/// Halves the states between two until nothing in between can be tested.
fn halve(mut bounds: Bounds, mut test: impl FnMut(usize) -> Result<Tested>) -> Result<Bounds> {
    let mut unknown = BTreeSet::new();
    loop {
        let middle = usize::midpoint(bounds.succeeds, bounds.fails);
        let between = (bounds.succeeds + 1..bounds.fails).filter(|at| !unknown.contains(at));
        let Some(at) = between.min_by_key(|at| at.abs_diff(middle)) else {
            return Ok(bounds);
        };
        match test(at)? {
            Tested::Succeeds => bounds.succeeds = at,
            Tested::Fails => bounds.fails = at,
            Tested::Unknown => {
                unknown.insert(at);
            }
        }
    }
}

/// Returns which of some parts are needed for a failure, in their order. All of them fail; none of them succeeds.
///
/// The shortest beginning that fails with what is known to be needed ends with a part that is needed. What comes after
/// it is not.
fn needed(
    parts: usize,
    mut fails: impl FnMut(&BTreeSet<usize>) -> Result<bool>,
) -> Result<BTreeSet<usize>> {
    let mut needed = BTreeSet::new();
    let mut end = parts;
    while end > 0 {
        let bounds = Bounds {
            succeeds: 0,
            fails: end,
        };
        let last = halve(bounds, |length| {
            let tried: BTreeSet<usize> = needed.iter().copied().chain(0..length).collect();
            Ok(match fails(&tried)? {
                true => Tested::Fails,
                false => Tested::Succeeds,
            })
        })?
        .fails
            - 1;
        needed.insert(last);
        // With what is needed alone it may fail already.
        end = last;
        if end > 0 && fails(&needed)? {
            break;
        }
    }
    Ok(needed)
}

/// Puts changes together that can only be made together: a file in the place of a directory, and what was in that.
fn parts(changes: Vec<Change>) -> Vec<Vec<Change>> {
    let mut parts: Vec<Vec<Change>> = Vec::new();
    for change in changes {
        let above: BTreeSet<WorkspacePath> = change.path.directories_above().collect();
        let own = parts.iter_mut().find(|part| above.contains(&part[0].path));
        match own {
            Some(part) => part.push(change),
            None => parts.push(vec![change]),
        }
    }
    parts
}

/// A search, and how often it ran the command.
struct Bisection<'s, 'r> {
    snapshots: &'s Snapshots,
    states: &'s [SnapshotRow],
    run: &'s mut OnState<'r>,
    runs: u64,
}

impl Bisection<'_, '_> {
    fn test(&mut self, entries: &Entries, snapshot: &Snapshot, what: String) -> Result<Tested> {
        let layout = Layout {
            snapshots: self.snapshots,
            snapshot,
            is_scratch: true,
        };
        self.runs += 1;
        (self.run)(&Probe {
            what,
            lay_out: &|directory| layout.write(entries, directory),
        })
    }

    fn entries(&self, at: usize) -> Result<Entries> {
        let snapshot = self.states[at].snapshot;
        Ok(self.snapshots.entries(&snapshot)?.into_iter().collect())
    }

    fn test_state(&mut self, at: usize) -> Result<Tested> {
        let entries = self.entries(at)?;
        let what = format!("state {} of {}", at + 1, self.states.len());
        let snapshot = self.states[at].snapshot;
        self.test(&entries, &snapshot, what)
    }

    /// Finds the two states between which the command began to fail.
    fn bounds(&mut self) -> Result<Bounds> {
        let last = self.states.len() - 1;
        let what = match self.test_state(last)? {
            Tested::Fails => None,
            Tested::Succeeds => Some("the command does not fail in the newest recorded state"),
            Tested::Unknown => Some("the command cannot be tested in the newest recorded state"),
        };
        if let Some(what) = what {
            return Err(Error::unavailable(what)
                .hint("give a command that fails as the workspace is now; it runs where ignored files are missing"));
        }
        let mut bounds = Bounds {
            succeeds: 0,
            fails: last,
        };
        // The first states may be from before there was what the command needs.
        let mut at = 0;
        while at < bounds.fails {
            match self.test_state(at)? {
                Tested::Succeeds => {
                    bounds.succeeds = at;
                    return halve(bounds, |at| self.test_state(at));
                }
                Tested::Fails if at == 0 => break,
                Tested::Fails => bounds.fails = at,
                Tested::Unknown => bounds.succeeds = at,
            }
            // Whether it succeeds there is not known, until it is tested.
            at = usize::midpoint(bounds.succeeds, bounds.fails).max(bounds.succeeds + 1);
        }
        Err(
            Error::unavailable("the command does not succeed in the oldest of these states").hint(
                "`--from ID` begins just before an earlier message; ignored files are not there",
            ),
        )
    }

    /// Finds the changes without which it does not fail.
    fn changes(&mut self, bounds: Bounds, changes: Vec<Change>) -> Result<Vec<Change>> {
        let before = self.entries(bounds.succeeds)?;
        let snapshot = self.states[bounds.fails].snapshot;
        let parts = parts(changes);
        let needed = needed(parts.len(), |tried| {
            // All of them make the state that is known to fail.
            if tried.len() == parts.len() {
                return Ok(true);
            }
            let mut entries = before.clone();
            for change in tried.iter().flat_map(|at| &parts[*at]) {
                match change.new {
                    Some(new) => entries.insert(change.path.clone(), new),
                    None => entries.remove(&change.path),
                };
            }
            // Counted as in the report, whatever can only be made together.
            let tried: usize = tried.iter().map(|at| parts[*at].len()).sum();
            let of = count(parts.iter().map(Vec::len).sum::<usize>() as u64, "change");
            let what = format!("{tried} of {of}");
            Ok(self.test(&entries, &snapshot, what)? == Tested::Fails)
        })?;
        let needed = needed.into_iter().flat_map(|at| parts[at].clone());
        Ok(needed.collect())
    }
}

/// Finds where a command began to fail, among the states from just before a message on; from the oldest on without one.
pub(super) fn bisect(
    store: &Store,
    cwd: &Path,
    from: Option<&str>,
    run: &mut OnState<'_>,
) -> Result<BisectReport> {
    let place = Place::known(store, cwd)?;
    let connection = store.database.connection();
    let first = from.map(|id| revert::snapshot_named(store, &place, id));
    let states = states(connection, place.row.id, first.transpose()?.unwrap_or(0))?;
    if states.is_empty() {
        return Err(Error::unavailable(
            "no state is recorded here that could be tested",
        ));
    }
    let snapshots = place.snapshots()?;
    let mut search = Bisection {
        snapshots: &snapshots,
        states: &states,
        run,
        runs: 0,
    };
    let bounds = search.bounds()?;
    let (before, after) = (&states[bounds.succeeds], &states[bounds.fails]);
    let sides = [before, after].map(|row| row.snapshot);
    let all = snapshots.difference(&sides[0], &sides[1])?;
    let changed = all.len() as u64;
    let untested = (bounds.fails - bounds.succeeds - 1) as u64;
    let found = match untested {
        0 => search.changes(bounds, all)?,
        _ => all,
    };
    let made = made_between(connection, place.row.id, before.id, after.id)?;
    let runs = search.runs;
    Ok(BisectReport {
        version: VERSION,
        workspace: place.root.to_string_lossy().into_owned(),
        succeeds: before.snapshot.tree.to_string(),
        fails: after.snapshot.tree.to_string(),
        steps: steps(&made, &found),
        files: found.iter().map(|change| file(&made, change)).collect(),
        changed,
        untested,
        runs,
    })
}

/// Returns the author of a change: the last step that did something to its path.
fn author<'m>(made: &'m [Made], change: &Change) -> Option<&'m BisectStep> {
    let of_path = made.iter().rev().filter(|made| made.path == change.path);
    of_path.filter_map(|made| made.by.as_ref()).next()
}

fn steps(made: &[Made], found: &[Change]) -> Vec<BisectStep> {
    let authors: BTreeSet<&str> = found
        .iter()
        .filter_map(|change| Some(author(made, change)?.step.as_str()))
        .collect();
    let mut steps: Vec<BisectStep> = Vec::new();
    for step in made.iter().filter_map(|made| made.by.as_ref()) {
        if authors.contains(step.step.as_str()) && !steps.contains(step) {
            steps.push(step.clone());
        }
    }
    steps
}

fn file(made: &[Made], change: &Change) -> BisectFile {
    BisectFile {
        path: change.path.to_report(),
        kind: change.kind(),
        step: author(made, change).map(|step| step.step.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever cannot be tested, the bounds are two states that were tested, with none between them that could be.
    #[test]
    fn halving_finds_the_first_failure() {
        for (length, first) in [(2, 1), (3, 2), (10, 1), (10, 9), (100, 57)] {
            for unknown in [vec![], vec![first.max(2) - 1], (1..length - 1).collect()] {
                let is_unknown = |at: usize| unknown.contains(&at) && at != length - 1;
                let bounds = Bounds {
                    succeeds: 0,
                    fails: length - 1,
                };
                let found = halve(bounds, |at| {
                    Ok(match at >= first {
                        _ if is_unknown(at) => Tested::Unknown,
                        true => Tested::Fails,
                        false => Tested::Succeeds,
                    })
                });
                let found = found.expect("no test fails to run");
                assert!(found.succeeds < first && first <= found.fails, "{found:?}");
                let mut between = found.succeeds + 1..found.fails;
                assert!(between.all(is_unknown), "{found:?} of {length}, {first}");
            }
        }
    }

    #[test]
    fn only_what_is_needed_is_found() {
        for parts in 1..8_usize {
            for mask in 1..1_usize << parts {
                let wanted: BTreeSet<usize> = (0..parts).filter(|at| mask >> at & 1 == 1).collect();
                let found = needed(parts, |tried| Ok(tried.is_superset(&wanted)));
                assert_eq!(found.expect("no test fails to run"), wanted, "of {parts}");
            }
        }
    }
}
