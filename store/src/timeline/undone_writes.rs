//! Files that a tool wrote, and that were yet as before when its step ended: something took that back unseen,
//! such as `git stash`, and may bring it again.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use ckpt_schema::ToolKind;
use rusqlite::Connection;
use rustix::fs::OFlags;

use super::evidence::{Doubt, TICK};
use super::workspace::Place;
use crate::error::Result;
use crate::fs;
use crate::git::objects::UserObjects;
use crate::git::{self, Location};
use crate::model::Milliseconds;
use crate::model::attribution::Attribution;
use crate::model::path::WorkspacePath;
use crate::sessions::{self, ChangeRow, OpenStep, ToolRow};
use crate::snapshot::Times;

/// The ref of the newest entry of the stash, and the name of the log of all.
const STASH: &str = "refs/stash";
/// The largest log of the stash that is read, in bytes.
const LONGEST_LOG: u64 = 1 << 20;

/// A file that a tool of a step wrote, as before when the step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Returned {
    pub step: String,
    pub path: WorkspacePath,
}

/// Returns those of a step that ends. `changed` are the paths that changed in it or with it.
pub(super) fn of(
    step: &OpenStep,
    changed: &HashSet<WorkspacePath>,
    is_written: impl Fn(&WorkspacePath, Milliseconds) -> bool,
) -> Vec<Returned> {
    let writing = |tool: &&ToolRow| tool.kind != Some(ToolKind::Read);
    let tools = step.tools.iter().filter(writing);
    let named = tools.flat_map(|tool| tool.paths.iter().map(|path| (path, tool.started_at)));
    let unseen = named.filter(|(path, since)| !changed.contains(*path) && is_written(path, *since));
    let paths: BTreeSet<&WorkspacePath> = unseen.map(|(path, _)| path).collect();
    let returned = |path: &WorkspacePath| Returned {
        step: step.row.id.clone(),
        path: path.clone(),
    };
    paths.into_iter().map(returned).collect()
}

/// Returns the files that a shell of a step wrote before something was put aside in it with `git stash`: they were written
/// in the step, and are as before, or they are in the stash alone. A shell names no file.
pub(super) fn put_aside(
    step: &OpenStep,
    root: &Path,
    changed: &HashSet<WorkspacePath>,
    times: &Times,
    told: fn(Milliseconds) -> Milliseconds,
) -> Vec<Returned> {
    let reaches_anything =
        |tool: &&ToolRow| tool.kind != Some(ToolKind::Read) && tool.paths.is_empty();
    let shells = step.tools.iter().filter(reaches_anything);
    let Some(since) = shells.map(|tool| tool.started_at).min() else {
        return Vec::new();
    };
    let is_since = |at: Milliseconds| told(at) + TICK >= since;
    // What is made and put aside changes a directory at least.
    let Some(stash) = times
        .has_any_at(is_since)
        .then(|| stash_since(root, is_since))
    else {
        return Vec::new();
    };
    let Some((location, entries)) = stash else {
        return Vec::new();
    };
    let found = |path: &WorkspacePath| path.on_disk(root).symlink_metadata();
    let mut paths = times.read_at(is_since);
    paths.retain(|path| found(path).is_ok_and(|found| !found.is_dir()));
    // Of a file that had not been there, nothing is left in the workspace.
    let mut gone = files_of(&location, &entries);
    gone.retain(|path| found(path).is_err());
    paths.extend(gone);
    paths.retain(|path| !changed.contains(path));
    let returned = |path| Returned {
        step: step.row.id.clone(),
        path,
    };
    paths.into_iter().map(returned).collect()
}

/// Returns the user's repository and the entries of its stash that were made at a time of a kind, if any.
fn stash_since(
    root: &Path,
    is_since: impl Fn(Milliseconds) -> bool,
) -> Option<(Location, Vec<String>)> {
    let location = Location::of(root)?;
    let made = location.common.join(STASH).symlink_metadata().ok()?;
    is_since(fs::times::written(&made)).then_some(())?;
    let newest = git::state::value(&location, STASH);
    let log = location.common.join("logs").join(STASH);
    let log = git::read_small(&log, LONGEST_LOG, OFlags::NOFOLLOW).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let older = log.lines().rev().map_while(|line| {
        let (ids, rest) = line.split_once(' ')?.1.split_once(' ')?;
        let seconds = rest.rsplit_once("> ")?.1.split(' ').next()?;
        let seconds: Milliseconds = seconds.parse().ok()?;
        // It is in whole seconds.
        is_since(seconds * 1000 + 999).then(|| ids.to_owned())
    });
    let entries: BTreeSet<String> = older.chain(newest).collect();
    Some((location, entries.into_iter().collect()))
}

/// Returns the files in entries of the stash that no pack holds. The third parent of an entry, if any, has those that git
/// does not track.
fn files_of(location: &Location, entries: &[String]) -> Vec<WorkspacePath> {
    let objects = UserObjects::open(location, location.id_length());
    let trees = entries.iter().flat_map(|entry| {
        let entry = objects.commit(entry);
        let untracked = entry
            .as_ref()
            .and_then(|entry| objects.commit(entry.parents.get(2)?));
        entry.into_iter().chain(untracked)
    });
    let files = trees.flat_map(|commit| objects.loose_files(&commit.tree));
    files
        .filter_map(|path| WorkspacePath::new(path).ok())
        .collect()
}

/// Doubts what seems to come from outside to such files: it may be what the tool wrote.
pub(super) fn doubt(
    connection: &Connection,
    place: &Place,
    drafts: &mut [ChangeRow],
) -> Result<()> {
    let is_outside = |draft: &&mut ChangeRow| draft.step_id.is_none();
    let mut outside = drafts.iter_mut().filter(is_outside).peekable();
    if outside.peek().is_none() {
        return Ok(());
    }
    let known = sessions::returned_paths(connection, place.row.id)?;
    for draft in outside {
        if let Some(step) = known.get(&draft.change.path) {
            draft.step_id = Some(step.clone());
            draft.attribution = Attribution::Unclear;
            draft.reason = Some(Doubt::Returned.to_string());
        }
    }
    Ok(())
}
