//! Files where directories are needed, and the other way round: what a plan cannot do because of what stays. Pure.
//!
//! No path can be a file while another below it exists. Neither the disk nor what a revert point asks for has such a pair;
//! it comes of a target at one path and something that stays at the other. Taking the target back resolves it and makes
//! no new pair, since what remains is what is on disk.

use std::collections::BTreeMap;
use std::ops::Bound;

use ckpt_schema::report::{FileAction, FileResult};

use crate::entry::{Entry, EntryKind, State};
use crate::path::WorkspacePath;
use crate::revert::item::Item;
use crate::revert::plan::Move;
use crate::revert::reason::Reason;

/// Turns what cannot be done into conflicts, and drops the empty directories that come and go with what is in them.
pub fn settle(items: &mut [Item], step: Move<'_>) {
    if !items.iter().any(is_planned) {
        return;
    }
    let below_files = find(items, step, |standing, item| file_above(standing, step.current, item));
    block(items, step, below_files);
    let above_entries = find(items, step, |standing, item| entry_below_file(standing, item));
    block(items, step, above_entries);
    let implied = find(items, step, |standing, item| entry_below_directory(standing, item));
    for (index, _) in implied {
        items[index].target = None;
        items[index].action = FileAction::None;
        items[index].result = FileResult::Done;
    }
}

/// What stands at paths, without those where nothing does.
pub type Standing<'a> = BTreeMap<&'a WorkspacePath, Entry>;

/// Returns what stands at every path once the plan is carried out.
fn standing<'a>(items: &'a [Item], step: Move<'a>) -> Standing<'a> {
    let mut standing: Standing<'a> =
        step.current.iter().filter_map(|(path, state)| state.map(|entry| (path, entry))).collect();
    for item in items {
        match item.target {
            Some(entry) => standing.insert(&item.path, entry),
            None => standing.remove(&item.path),
        };
    }
    standing
}

/// Returns the planned items that meet something, by index, and what they meet.
fn find<'a>(
    items: &'a [Item],
    step: Move<'a>,
    meets: impl Fn(&Standing<'a>, &Item) -> Option<WorkspacePath>,
) -> Vec<(usize, WorkspacePath)> {
    let standing = standing(items, step);
    let planned = items.iter().enumerate().filter(|(_, item)| is_planned(item));
    planned.filter_map(|(index, item)| Some((index, meets(&standing, item)?))).collect()
}

fn block(items: &mut [Item], step: Move<'_>, blocked: Vec<(usize, WorkspacePath)>) {
    for (index, by) in blocked {
        let item = &mut items[index];
        item.target = item.expected;
        item.goal = step.old_goal(&item.path);
        item.action = FileAction::Keep;
        item.result = FileResult::Conflict;
        item.reason = Some(Reason::Blocked(by).to_string());
    }
}

/// Returns the file above a path to be made that is there now and stays.
fn file_above(standing: &Standing<'_>, current: &BTreeMap<WorkspacePath, State>, item: &Item) -> Option<WorkspacePath> {
    if item.target.is_none() || item.expected.is_some() {
        return None;
    }
    let mut above = item.path.parent();
    while let Some(path) = above {
        let is_there = current.get(&path).copied().flatten().is_some_and(is_file);
        if is_there && standing.get(&path).copied().is_some_and(is_file) {
            return Some(path);
        }
        above = path.parent();
    }
    None
}

/// Returns what is below a path where a file is to be put in the place of a directory.
fn entry_below_file(standing: &Standing<'_>, item: &Item) -> Option<WorkspacePath> {
    let is_made = item.target.is_some_and(is_file) && !item.expected.is_some_and(is_file);
    is_made.then(|| first_below(standing, &item.path)).flatten()
}

/// Returns what is below an empty directory that is to come or go: it keeps the directory, and the directory is no entry.
fn entry_below_directory(standing: &Standing<'_>, item: &Item) -> Option<WorkspacePath> {
    let comes_or_goes = match (item.expected, item.target) {
        (Some(directory), None) | (None, Some(directory)) => !is_file(directory),
        _ => false,
    };
    comes_or_goes.then(|| first_below(standing, &item.path)).flatten()
}

/// Returns the first path below another at which something stands.
pub fn first_below(standing: &Standing<'_>, path: &WorkspacePath) -> Option<WorkspacePath> {
    // The first path below, were it there: nothing sorts between it and what is really below.
    let start = path.join(b"\x01").ok()?;
    let (first, _) = standing.range::<WorkspacePath, _>((Bound::Included(&start), Bound::Unbounded)).next()?;
    first.is_below(path).then(|| (*first).clone())
}

fn is_planned(item: &Item) -> bool {
    item.result == FileResult::Planned
}

fn is_file(entry: Entry) -> bool {
    match entry.mode.kind() {
        EntryKind::File | EntryKind::Symlink => true,
        EntryKind::Directory => false,
    }
}
