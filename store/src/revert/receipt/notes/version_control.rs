//! Names version control that moved since and stays: systems other than git, and repositories in subdirectories.
//! Nothing is recorded of either, so times have to show it. This module does IO, but only reads.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ckpt_schema::report::{FileAction, FileResult, ReasonCode};

use super::repositories::is_submodule;
use crate::fs::times;
use crate::git::Location;
use crate::model::Milliseconds;
use crate::model::gap::{Gap, GapReason};
use crate::model::item::{ItemReason, ReasonCase};
use crate::model::metadata;
use crate::model::note::{self, Note};
use crate::model::path::{WorkspacePath, is_below, is_plain_dot_git};
use crate::revert::carry_out::git::has_moved;
use crate::revert::plan::Plan;
use crate::timeline::Place;
use crate::timeline::evidence::TICK;

/// How many entries of a repository's metadata are looked at.
const MAX_CHECKED: usize = 20_000;

/// Keeps what would go from a folder that was metadata in the state that a revert goes to, and lost a part of what made
/// it that: what is left there was never captured. An object of git's that lies elsewhere stays as well: later commits
/// may need it.
pub(crate) fn leave_broken(plan: &mut Plan, root: &Path, then: &[Gap], now: &[Gap]) {
    let is_one = |gap: &&Gap| gap.reason == GapReason::Repository;
    let still: BTreeSet<&[u8]> = now.iter().filter(is_one).map(|gap| &gap.path[..]).collect();
    let is_broken = |gap: &&Gap| {
        let folder = root.join(OsStr::from_bytes(&gap.path));
        let has = |name: &[u8]| folder.join(OsStr::from_bytes(name)).exists();
        let is_system = metadata::is_system(&gap.path);
        // A folder is git's without its objects, too, and what it was before is not known.
        let is_whole =
            still.contains(&gap.path[..]) && (is_system || has(metadata::OBJECTS.as_bytes()));
        !is_whole && (is_system || metadata::is_part_of_git(has))
    };
    let broken: Vec<&Gap> = then.iter().filter(is_one).filter(is_broken).collect();
    for item in plan.items.iter_mut().filter(|item| item.is_planned()) {
        let mut above = broken.iter();
        let path = item.path.as_bytes();
        let is_object = metadata::is_git_object(path);
        if item.target.is_none() && (is_object || above.any(|gap| is_below(path, &gap.path))) {
            let case = match is_object {
                true => ReasonCase::GitObject,
                false => ReasonCase::BrokenRepository,
            };
            item.target = item.expected;
            item.goal = item.expected;
            item.action = FileAction::Keep;
            item.result = FileResult::Gap;
            item.reason = Some(ItemReason::of(
                ReasonCode::NotCaptured,
                case,
                case.in_words(),
            ));
        }
    }
}

/// Takes the metadata of repositories out of a plan: an older version captured it, or the folder held other files before
/// it became a repository.
pub(crate) fn leave_metadata(plan: &mut Plan, gaps: &[Gap]) -> Option<Note> {
    let repositories = gaps
        .iter()
        .filter(|gap| gap.reason == GapReason::Repository);
    let repositories: Vec<&Gap> = repositories.collect();
    let mut about = BTreeSet::new();
    plan.items.retain(|item| {
        let found = repositories.iter().find(|gap| gap.covers(&item.path));
        about.extend(found.filter(|_| item.is_planned()).map(|gap| name_of(gap)));
        found.is_none()
    });
    note::on(about.into_iter().collect(), |folders| {
        Note::MetadataRecorded { folders }
    })
}

/// Returns the folder of a repository, for people.
fn name_of(gap: &Gap) -> String {
    match &gap.path[..] {
        b"" => ".".to_owned(),
        path => String::from_utf8_lossy(path).into_owned(),
    }
}

/// Names the repositories that moved since a moment, of those that are known, each with the path of its metadata. That of
/// the workspace itself, if it is git's, and submodules have notes of their own.
pub(crate) fn moved(
    place: &Place,
    since: Milliseconds,
    known: &BTreeSet<(WorkspacePath, Vec<u8>)>,
) -> Option<Note> {
    let moved = known.iter().filter_map(|(folder, metadata)| {
        let at = place.root.join(OsStr::from_bytes(metadata));
        has_moved_since(&at, since).then_some(folder)
    });
    let mut about: Vec<String> = moved
        .filter(|folder| !is_submodule(&place.root, folder))
        .map(|folder| folder.to_text())
        .collect();
    about.sort();
    about.dedup();
    note::on(about, |folders| Note::RepositoriesMoved { folders })
}

/// Returns whether a repository with this metadata moved since a moment. A folder that is known by the names in it may
/// be anybody's, and no look sees what changes in there, so that every change counts.
fn has_moved_since(metadata: &Path, since: Milliseconds) -> bool {
    let name = metadata.file_name().unwrap_or_default().as_bytes();
    if is_plain_dot_git(name) {
        let location = metadata.parent().and_then(Location::of);
        return location.is_some_and(|git| has_moved(&git, since))
            || was_put_there_since(metadata, since);
    }
    match metadata::is_system(name) || metadata::fossil_checkout(name).is_some() {
        true => is_written_since(metadata, since) || has_lost_a_name_since(metadata, since),
        false => is_metadata_written_since(metadata, since),
    }
}

/// The systems whose commands leave the names at the top of their folder as they are.
const FLAT_SYSTEMS: [&[u8]; 3] = [b".bzr", b".jj", b".svn"];

/// Returns whether a name in a folder of metadata came or went since a moment. In those of other systems, programs that
/// only look put a lock there.
fn has_lost_a_name_since(folder: &Path, since: Milliseconds) -> bool {
    let name = folder.file_name().unwrap_or_default().as_bytes();
    let found = folder.symlink_metadata();
    FLAT_SYSTEMS.contains(&name) && found.is_ok_and(|found| times::written(&found) >= since)
}

/// Names what changed since a moment in the `.git` of repositories, and in that of a whole workspace, besides what git writes
/// there when it runs. Where a name went at the top of a repository below, only the folder's time tells, and git's lock
/// leaves the same. It is named for that, unless it moved, and is named as such. Of the workspace's own, that would be said
/// after every look of git's.
pub(crate) fn altered(
    place: &Place,
    since: Milliseconds,
    known: &BTreeSet<(WorkspacePath, Vec<u8>)>,
    is_whole: bool,
) -> Vec<Note> {
    let below = known.iter().map(|(_, metadata)| (&metadata[..], true));
    let own = is_whole.then_some((&b".git"[..], false));
    let (mut about, mut touched) = (BTreeSet::new(), BTreeSet::new());
    for (metadata, is_below) in below.chain(own) {
        let name = Path::new(OsStr::from_bytes(metadata));
        let is_git = is_plain_dot_git(name.file_name().unwrap_or_default().as_bytes());
        let folder = place.root.join(name);
        // One that was made since is named as such, or was made by the user.
        let is_new = times::created_at(&folder).is_none_or(|at| at >= since);
        if is_git && !is_new {
            let found = altered_in(&folder, since);
            let written = folder.symlink_metadata().ok();
            let written = written.filter(|found| found.is_dir() && times::written(found) >= since);
            if is_below && found.is_empty() && written.is_some() && !has_moved_since(&folder, since)
            {
                touched.insert(name.to_string_lossy().into_owned());
            }
            let found = found.into_iter();
            about.extend(found.map(|path| name.join(path).to_string_lossy().into_owned()));
        }
    }
    let notes = [
        note::on(about.into_iter().collect(), |paths| Note::MetadataChanged {
            paths,
        }),
        note::on(touched.into_iter().collect(), |folders| {
            Note::MetadataTouched { folders }
        }),
    ];
    notes.into_iter().flatten().collect()
}

/// Returns the paths in a `.git` that were changed since a moment, without those that git writes when it runs.
fn altered_in(git: &Path, since: Milliseconds) -> Vec<PathBuf> {
    let is_changed = |path: &Path| {
        let found = path.symlink_metadata();
        found.is_ok_and(|found| times::changed(&found) >= since)
    };
    let names = |folder: &Path| {
        let entries = std::fs::read_dir(git.join(folder)).into_iter().flatten();
        let names = entries
            .flatten()
            .map(|entry| folder.join(entry.file_name()));
        names.take(MAX_CHECKED).collect::<Vec<_>>()
    };
    let mut altered = names(Path::new(""));
    altered.retain(|name| {
        let name = name.as_os_str().as_bytes();
        SETTINGS.contains(&name) || !metadata::owns(b".git", name)
    });
    altered.retain(|name| is_changed(&git.join(name)));
    for folder in ["hooks", "info"].map(Path::new) {
        let mut below = names(folder);
        below.retain(|name| is_changed(&git.join(name)));
        // Git's upkeep writes it for servers, as one file in the place of another.
        let is_upkeep = below.iter().any(|name| name.ends_with("info/refs"));
        below.retain(|name| !name.ends_with("info/refs"));
        // A name that went leaves no other trace.
        if below.is_empty() && !is_upkeep && is_changed(&git.join(folder)) {
            below.push(folder.to_owned());
        }
        altered.extend(below);
    }
    altered
}

/// What git reads at the top of its folder, and changes on request alone.
const SETTINGS: [&[u8]; 3] = [b"config", b"config.worktree", b"description"];

/// Returns whether a `.git` came from elsewhere since a moment. A folder that is renamed changes, but the names in it do
/// not. Once something was made in it, nothing tells that from a change.
fn was_put_there_since(metadata: &Path, since: Milliseconds) -> bool {
    metadata.symlink_metadata().is_ok_and(|found| {
        let changed = times::changed(&found);
        changed >= since && (!found.is_dir() || changed > times::written(&found) + TICK)
    })
}

/// Returns whether metadata that is known by the names beside it was written since a moment.
fn is_metadata_written_since(folder: &Path, since: Milliseconds) -> bool {
    let folder_path = folder.as_os_str().as_bytes();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut owned =
        entries.filter(|entry| metadata::owns(folder_path, entry.file_name().as_bytes()));
    owned.any(|entry| is_one(&entry.path(), &|found| times::changed(found) >= since))
}

/// Returns whether a file, or one in a folder, was written since a moment. A folder's own time says little: programs
/// that only look put a lock into it.
fn is_written_since(path: &Path, since: Milliseconds) -> bool {
    is_one(path, &|found| {
        !found.is_dir() && times::written(found) >= since
    })
}

/// Returns whether something at a path or below it is as asked. If there is too much, it may be.
fn is_one(path: &Path, asked: &dyn Fn(&Metadata) -> bool) -> bool {
    let mut waiting = vec![path.to_path_buf()];
    let mut room = MAX_CHECKED;
    while let Some(path) = waiting.pop() {
        let Ok(found) = path.symlink_metadata() else {
            continue;
        };
        let Some(left) = room.checked_sub(1) else {
            return true;
        };
        room = left;
        if asked(&found) {
            return true;
        }
        if found.is_dir() {
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            waiting.extend(entries.map(|entry| entry.path()));
        }
    }
    false
}
