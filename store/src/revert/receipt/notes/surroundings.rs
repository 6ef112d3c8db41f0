//! Names what a revert cannot undo and no file of the plan shows: repositories that appeared or disappeared, a
//! half-done operation of git or a submodule, folders with files that are not captured, and work elsewhere in the same
//! turn. This module does IO, but only reads.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rusqlite::Connection;

use super::ignored_changes;
use super::repositories::is_submodule;
use crate::error::Result;
use crate::fs::times;
use crate::git::Location;
use crate::git::objects::UserObjects;
use crate::model::Milliseconds;
use crate::model::git_item::GitStateRow;
use crate::model::note::{self, CrowdedFolder, Note};
use crate::model::path::WorkspacePath;
use crate::revert::goal::present::Scene;
use crate::revert::plan::Plan;
use crate::revert::plan::operation::GitFate;
use crate::revert::request::movement::{Movement, WholeRevert};
use crate::sessions;
use crate::timeline::Place;

/// Returns the warnings about a whole revert. Other movements have none.
pub(crate) fn notes(scene: Scene<'_>, movement: &Movement, git: GitFate) -> Result<Vec<Note>> {
    let (connection, place, seen) = (scene.connection(), scene.place, scene.seen);
    let Some(revert) = movement.whole_revert() else {
        return Ok(Vec::new());
    };
    let to = revert.to;
    let mut told = Vec::new();
    if let Some(snapshot) = to.snapshot_id {
        let state = sessions::snapshot(connection, snapshot)?.git_state_id;
        let then = state
            .map(|id| sessions::git_state(connection, id))
            .transpose()?;
        told.extend(repository(&place.root, then.as_ref(), seen.git.as_ref()));
        let under_way = under_way(then.as_ref(), seen.git.as_ref());
        told.extend(under_way.filter(|_| git == GitFate::Stays));
    }
    let since = sessions::message_time(connection, &to.id)?;
    told.extend(submodules(&place.root, since));
    told.extend(elsewhere(
        connection,
        place,
        (revert, &movement.along),
        since,
    )?);
    told.extend(discarded(movement));
    Ok(told)
}

fn repository(root: &Path, then: Option<&GitStateRow>, now: Option<&GitStateRow>) -> Option<Note> {
    match (then, now) {
        (Some(_), None) => Some(Note::RepositoryRemoved),
        (None, Some(_)) => Some(Note::RepositoryMade),
        (Some(then), Some(now)) => {
            let head = then.head.as_ref().filter(|_| then.head != now.head)?;
            let gone = Some(head).filter(|head| !has_commit(root, head));
            gone.cloned().map(|id| Note::CommitGone { id })
        }
        (None, None) => None,
    }
}

/// Returns whether the repository still has a commit. It may have been removed and made again.
fn has_commit(root: &Path, commit: &str) -> bool {
    Location::of(root).is_none_or(|location| {
        let id_length = location.id_length();
        UserObjects::open(&location, id_length).contains(commit)
    })
}

fn under_way(then: Option<&GitStateRow>, now: Option<&GitStateRow>) -> Option<Note> {
    let doing = now?.doing.as_ref()?;
    let is_new = then.and_then(|then| then.doing.as_ref()) != Some(doing);
    is_new.then(|| Note::GitUnderWay {
        doing: doing.clone(),
    })
}

/// Names the submodules of which HEAD, or its log, was written since a moment.
fn submodules(root: &Path, since: Milliseconds) -> Option<Note> {
    let own = root.join(".git/modules");
    let folder = match own.symlink_metadata() {
        Ok(_) => own,
        // In a linked worktree, or a submodule itself, `.git` is a file that points to the folder.
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            Location::of(root)?.common.join("modules")
        }
        Err(_) => return None,
    };
    let mut names = Vec::new();
    moved_below(&folder, "", since, 3, &mut names);
    names.sort();
    note::on(names, |names| Note::Submodules { names })
}

/// Collects the submodules below a folder that moved. A submodule's name may contain slashes: its folder is the one
/// with a HEAD.
fn moved_below(
    folder: &Path,
    above: &str,
    since: Milliseconds,
    depth: usize,
    names: &mut Vec<String>,
) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = format!("{above}{}", entry.file_name().to_string_lossy());
        match entry.path().join("HEAD").symlink_metadata() {
            Ok(head) => {
                // A commit on a branch writes only the log.
                let log = entry.path().join("logs/HEAD").symlink_metadata().ok();
                let mut files = log.iter().chain([&head]);
                if files.any(|file| times::written(file) >= since) {
                    names.push(name);
                }
            }
            Err(_) if depth > 0 => {
                moved_below(&entry.path(), &format!("{name}/"), since, depth - 1, names);
            }
            Err(_) => {}
        }
    }
}

/// Names the other workspaces in which the same conversation changed something since, and the places outside this one
/// that its tools named or ran in.
fn elsewhere(
    connection: &Connection,
    place: &Place,
    (revert, along): (WholeRevert<'_>, &[i64]),
    since: Milliseconds,
) -> Result<Vec<Note>> {
    let session = revert.session;
    let mut told = Vec::new();
    let mut workspaces =
        sessions::workspaces_of_turn(connection, place.row.id, &session.id, since)?;
    workspaces.retain(|(id, _)| !along.contains(id));
    let workspaces: Vec<String> = workspaces.into_iter().map(|(_, path)| path).collect();
    told.extend(note::on(workspaces, |roots| Note::WorkedElsewhere {
        roots,
    }));
    let files = sessions::files_outside(connection, &session.id, revert.since)?;
    // Under another name, it may be in the workspace after all.
    let inside = |path: &String| {
        let real = Path::new(path).canonicalize().ok()?;
        Some(real.strip_prefix(&place.root).ok()?.to_owned())
    };
    let (within, files): (Vec<String>, Vec<String>) =
        files.into_iter().partition(|path| inside(path).is_some());
    let uncaptured = within.iter().filter_map(inside).filter(|path| {
        let is_root = path.as_os_str().is_empty();
        !is_root && WorkspacePath::new(path.as_os_str().as_bytes()).is_err()
    });
    let uncaptured: BTreeSet<String> = uncaptured
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    let uncaptured = uncaptured.into_iter().collect();
    let in_repository = |files| Note::OutsideInRepository { files };
    told.extend(note::on(uncaptured, in_repository));
    told.extend(note::on(files, |files| Note::Outside { files }));
    Ok(told)
}

/// Returns the note on a revert to a discarded message. That is not a revert point, but what is left of it can be
/// reverted.
fn discarded(movement: &Movement) -> Option<Note> {
    let (to, asked) = (movement.to.as_ref()?, movement.asked_for.as_ref()?);
    let is_before = movement.since.is_some_and(|since| since < to.seq);
    is_before.then(|| Note::Discarded {
        message: asked.clone(),
        point: to.id.clone(),
    })
}

/// Names the folders that are new and stay because they hold something that is not captured.
pub(crate) fn folders_that_stay(
    scene: Scene<'_>,
    plan: &Plan,
    leaving: &[WorkspacePath],
) -> Result<Vec<Note>> {
    let Scene {
        place,
        snapshots,
        seen,
        ..
    } = scene;
    if leaving.is_empty() {
        return Ok(Vec::new());
    }
    let mut sorted = leaving.to_vec();
    sorted.sort();
    // What goes with this operation keeps no folder, though ignore rules may hide it.
    let going = plan.items.iter();
    let going = going.filter(|item| item.empties());
    let captured: BTreeSet<WorkspacePath> = snapshots
        .around(&seen.snapshot, &sorted)?
        .into_iter()
        .map(|(path, _)| path)
        .chain(going.map(|item| item.path.clone()))
        .flat_map(|path| path.at_and_above())
        .collect();
    let (mut repositories, mut others) = (Vec::new(), Vec::new());
    for folder in &sorted {
        let at = folder.on_disk(&place.root);
        let Ok(entries) = std::fs::read_dir(at) else {
            continue;
        };
        let names = entries
            .flatten()
            .map(|entry| entry.file_name().as_bytes().to_vec());
        let is_unknown = |name: &Vec<u8>| {
            folder
                .join(name)
                .map_or(true, |path| !captured.contains(&path))
        };
        let unknown: BTreeSet<Vec<u8>> = names.filter(is_unknown).collect();
        if unknown.contains(b".git".as_slice()) {
            let is_named = is_submodule(&place.root, folder);
            repositories.extend((!is_named).then(|| folder.to_text()));
        } else if let Some(first) = unknown.first() {
            let first = String::from_utf8_lossy(first).into_owned();
            let stay = unknown.iter().filter_map(|name| folder.join(name).ok());
            let files = ignored_changes::files_in(place, &stay.collect());
            others.push(CrowdedFolder {
                path: folder.to_text(),
                first,
                files,
            });
        }
    }
    let notes = [
        note::on(repositories, |folders| Note::RepositoriesBelow { folders }),
        note::on(others, |crowded| Note::FoldersStay { crowded }),
    ];
    Ok(notes.into_iter().flatten().collect())
}
