//! Takes over a history: gives the directory that is here now the history of one that was deleted, copied, restored or
//! moved away.
//!
//! Histories are never mixed. Taking one over exchanges the directory's history: the one that it had, if any, is set
//! aside and can be taken over again.

use std::collections::BTreeMap;
use std::os::unix::fs::DirEntryExt;
use std::path::{Path, PathBuf};

use ckpt_schema::report::{
    AdoptReport, VERSION, WorkspaceReport, WorkspaceState, WorkspacesReport,
};
use rusqlite::Connection;

use super::baseline::Baseline;
use super::evidence::StepStanding;
use super::life::{AT_WORK_HERE, busy};
use super::look::{Look, LookOptions};
use super::root::{Identity, Workspace};
use super::workspace::{LOCK_TIMEOUT, Place, workspace_of};
use crate::error::{Error, Result};
use crate::git::Location;
use crate::git::state::head;
use crate::model::millisecond_of;
use crate::model::request::DryRun;
use crate::sessions::{self, ListedWorkspace, OpenStep, StepEnd, WorkspaceRow};
use crate::store::Store;

/// The shortest prefix that is accepted for a workspace's id.
const MIN_PREFIX: usize = 4;
/// Why it is unknown what a step did, if the new directory could not be looked at.
const REPLACED: &str = "the directory was replaced while a tool ran";

/// Returns all workspaces that have a history, the most recently used first. One that was moved is listed where it is
/// now, if it is beside its former place or holds `cwd`: no row says so before an event or an operation comes there.
pub(crate) fn list(store: &Store, cwd: Option<&Path>) -> Result<WorkspacesReport> {
    let listed = sessions::listed_workspaces(store.database.connection())?;
    Ok(WorkspacesReport {
        version: VERSION,
        workspaces: listed.iter().map(|one| where_it_is(one, cwd)).collect(),
    })
}

/// Returns the report on a workspace, with the place where it was found again.
fn where_it_is(one: &ListedWorkspace, cwd: Option<&Path>) -> WorkspaceReport {
    let report = report_of(one);
    match found_again(&one.row, cwd) {
        Some(path) if report.state != WorkspaceState::Here => WorkspaceReport {
            path: path.to_string_lossy().into_owned(),
            state: WorkspaceState::Here,
            ..report
        },
        _ => report,
    }
}

/// How many names beside a workspace's former place are looked at.
const BESIDE: usize = 10_000;

/// Returns where a workspace's directory is by now, if it is at or above `cwd`, or beside its former place.
pub(crate) fn found_again(row: &WorkspaceRow, cwd: Option<&Path>) -> Option<PathBuf> {
    let is_it = |path: &Path| {
        let found = path.symlink_metadata().ok();
        found.is_some_and(|found| found.is_dir() && row.is_wherever(&Identity::of(&found)))
    };
    let cwd = cwd.and_then(|cwd| cwd.canonicalize().ok());
    let around = cwd.iter().flat_map(|cwd| cwd.ancestors());
    if let Some(path) = around.into_iter().find(|path| is_it(path)) {
        return Some(path.to_owned());
    }
    let entries = std::fs::read_dir(row.path.parent()?).ok()?.take(BESIDE);
    // By the inode in the directory's own list first: that takes no system call for each name.
    let same = entries.flatten().filter(|entry| entry.ino() == row.inode);
    same.map(|entry| entry.path()).find(|path| is_it(path))
}

/// Replaces the paths under which workspaces were last recorded by those that they have now: the row of a directory that
/// was moved gets its new path only once something is recorded there.
pub(crate) fn name_present_paths<'s>(
    connection: &Connection,
    cwd: Option<&Path>,
    names: impl Iterator<Item = &'s mut String>,
) -> Result<()> {
    let mut present: BTreeMap<String, String> = BTreeMap::new();
    for name in names {
        if !present.contains_key(name) {
            let row = sessions::workspace_at(connection, Path::new(name))?;
            let moved = row.filter(|row| !row.is_there());
            let found = moved.and_then(|row| found_again(&row, cwd));
            let path = found.map(|path| path.to_string_lossy().into_owned());
            present.insert(name.clone(), path.unwrap_or_else(|| name.clone()));
        }
        name.clone_from(&present[name.as_str()]);
    }
    Ok(())
}

/// Returns the histories that a directory may take over: those of directories that were at its path, or else those
/// that it may have had elsewhere. The default of [`adopt`] is one of the first.
pub(crate) fn offered(store: &Store, root: &Path) -> Result<Vec<WorkspaceReport>> {
    let mut listed = sessions::listed_workspaces(store.database.connection())?;
    // A history without a message is nothing to go back to: a look at a directory is enough to begin one.
    listed.retain(|one| one.messages > 0);
    let stood = listed.iter().filter(|one| stood_at(one, root));
    let offered: Vec<WorkspaceReport> = stood.map(report_of).collect();
    if !offered.is_empty() {
        return Ok(offered);
    }
    let came = came_from(store, &listed, root)?;
    Ok(came.into_iter().map(report_of).collect())
}

/// Returns the histories of directories that are gone and may have been the one that is here now: it was copied,
/// restored from a backup, or moved to another file system. Git's HEAD is what it was there; or it has the same name,
/// and no history yet.
fn came_from<'l>(
    store: &Store,
    listed: &'l [ListedWorkspace],
    root: &Path,
) -> Result<Vec<&'l ListedWorkspace>> {
    let Some(identity) = Identity::at(root) else {
        return Ok(Vec::new());
    };
    let is_own = |one: &ListedWorkspace| one.row.is_wherever(&identity);
    let has_own = listed.iter().any(is_own);
    let head = Location::of(root).and_then(|location| head(&location).0);
    let of_head =
        head.map(|head| sessions::workspaces_at_commit(store.database.connection(), &head));
    let of_head = of_head.transpose()?.unwrap_or_default();
    let is_alike = |one: &ListedWorkspace| {
        of_head.contains(&one.row.id) || (!has_own && one.row.path.file_name() == root.file_name())
    };
    let is_gone = |one: &ListedWorkspace| {
        // A directory that still exists elsewhere was copied or renamed, and keeps its history.
        one.row.path.symlink_metadata().is_err() && found_again(&one.row, None).is_none()
    };
    let came = listed
        .iter()
        .filter(|one| !is_own(one) && is_alike(one) && is_gone(one));
    Ok(came.collect())
}

/// Gives the workspace that holds a directory another history. `which` is a workspace's id or former path; the default
/// is the directory that was here last.
pub(crate) fn adopt(
    store: &mut Store,
    cwd: &Path,
    which: Option<&str>,
    dry_run: DryRun,
) -> Result<AdoptReport> {
    let workspace = workspace_of(store, cwd)?;
    let listed = sessions::listed_workspaces(store.database.connection())?;
    let wanted = match which {
        Some(which) => named(&listed, which, cwd)?,
        None => stood_here(&listed, &workspace.root)?,
    };
    let here = sessions::find_workspace(
        store.database.connection(),
        &workspace.root,
        &workspace.identity,
    )?;
    check_adoptable(wanted, here.as_ref(), &workspace.root)?;
    let set_aside = here
        .as_ref()
        .and_then(|here| listed.iter().find(|one| one.row.id == here.id))
        .map(report_of);
    let report = AdoptReport {
        version: VERSION,
        workspace: workspace.root.to_string_lossy().into_owned(),
        adopted: report_of(wanted),
        set_aside,
        dry_run: dry_run.is_dry(),
    };
    // Only the directory that is here has to be checked: no agent works in one that is gone.
    if let Some(here) = &here {
        let open = sessions::open_steps(store.database.connection(), here.id)?;
        if let Some(error) = busy(AT_WORK_HERE, &open, store.now()) {
            return Err(error.hint("wait until it is done"));
        }
    }
    if dry_run == DryRun::No {
        exchange(store, &workspace, here, &wanted.row)?;
    }
    Ok(report)
}

fn check_adoptable(
    wanted: &ListedWorkspace,
    here: Option<&WorkspaceRow>,
    root: &Path,
) -> Result<()> {
    if here.is_some_and(|here| here.id == wanted.row.id) {
        return Err(Error::unavailable(format!(
            "`{}` has that history already",
            root.display()
        )));
    }
    if wanted.row.is_there() {
        return Err(Error::unavailable(format!(
            "the directory of that history is still there: `{}`",
            wanted.row.path.display()
        ))
        .hint("work there, or move it here: a directory that is moved keeps its history"));
    }
    Ok(())
}

/// Gives a directory another history, and sets its own aside.
fn exchange(
    store: &mut Store,
    workspace: &Workspace,
    here: Option<WorkspaceRow>,
    wanted: &WorkspaceRow,
) -> Result<()> {
    // The older row's lock always comes first, so that two calls cannot wait for each other.
    let mut places: Vec<Place> = here
        .into_iter()
        .chain([wanted.clone()])
        .map(|row| Place::of_row(store, row))
        .collect();
    places.sort_by_key(|place| place.row.id);
    let _locks = places
        .iter()
        .map(|place| place.lock(LOCK_TIMEOUT))
        .collect::<Result<Vec<_>>>()?;
    let (now, id) = (store.now(), wanted.id);
    let file_times = store.surroundings.file_times;
    let born = workspace
        .identity
        .born
        .map(|born| file_times(millisecond_of(born)));
    // If this directory was made while a tool ran, the tool may have made it.
    let may_have_made = |step: &OpenStep| {
        let runs = step.has_running || !step.tool_events;
        runs && born.is_none_or(|born| born >= step.started_at)
    };
    store.database.write(|connection| {
        // No other step may stay open: what differs here from the last snapshot of that history is no step's change.
        let is_over = |step: &OpenStep| !may_have_made(step);
        sessions::close_open_steps(connection, id, is_over, None, now)?;
        // First free the path and the identity, then take them: each belongs to at most one history.
        sessions::set_aside(connection, &workspace.root, now)?;
        sessions::forget_identity(connection, id, &workspace.identity)?;
        sessions::adopt_machine(connection, id)?;
        let born = workspace.identity.believed_birth();
        sessions::take_over(
            connection,
            id,
            &workspace.root,
            &workspace.identity,
            born,
            now,
        )
    })?;
    let row = sessions::workspace(store.database.connection(), id)?;
    let open = sessions::open_steps(store.database.connection(), id)?;
    if open.is_empty() || look(store, &Place::of_row(store, row), &open).is_ok() {
        return Ok(());
    }
    store.database.write(|connection| {
        // The reason makes what differs unrecorded. Without it, the next look would call it the user's.
        sessions::close_open_steps(connection, id, |_| true, Some(REPLACED), now)
    })
}

/// Looks at a directory that took a history over. What differs from the last snapshot of it may be a change by the
/// steps that may have made the directory, which end with the look.
fn look(store: &mut Store, place: &Place, open: &[OpenStep]) -> Result<()> {
    let connection = store.database.connection();
    if sessions::has_open_operation(connection, place.row.id)? {
        return Err(Error::unavailable("an operation has to be finished first"));
    }
    let before = Baseline::of(connection, place.row.id)?;
    // The tools ran in a directory that is gone, so no event about them says anything about this one.
    let closing: Vec<_> = open.iter().map(|step| (step, StepStanding::Cut)).collect();
    let looking = LookOptions {
        open,
        closing: &closing,
        is_replaced: true,
        ..LookOptions::default()
    };
    let seen = Look::make(store, place, &place.snapshots()?, before, looking)?;
    let now = store.now();
    store.database.write(|connection| {
        let snapshot = seen.write(connection, place.row.id, None, now)?;
        for step in open {
            let end = StepEnd::recovered(Some(snapshot));
            sessions::close_step(connection, &step.row.id, end, now)?;
        }
        Ok(())
    })
}

/// Returns whether a directory was at a path and no longer is, replaced or not.
fn stood_at(one: &ListedWorkspace, root: &Path) -> bool {
    one.row.path == root && !one.row.is_there()
}

fn stood_here<'l>(listed: &'l [ListedWorkspace], root: &Path) -> Result<&'l ListedWorkspace> {
    let stood = |one: &&ListedWorkspace| stood_at(one, root);
    // Events after the exchange may have begun a history here that holds nothing yet. The one that is meant has
    // messages.
    let with_messages = listed.iter().filter(stood).find(|one| one.messages > 0);
    with_messages
        .or_else(|| listed.iter().find(stood))
        .ok_or_else(|| {
            Error::unavailable(format!(
                "there is no known history of another directory at `{}`",
                root.display()
            ))
            .hint("`ckpt-hook workspace list` lists all of them; `ckpt-hook workspace adopt ID` takes one over")
        })
}

/// Fails if text is neither a history's full id nor its path.
pub(crate) fn check_exact(store: &Store, cwd: &Path, which: &str) -> Result<()> {
    let path = cwd.join(which);
    let listed = sessions::listed_workspaces(store.database.connection())?;
    let is_it = |one: &ListedWorkspace| one.row.key == which || one.row.path == path;
    match listed.iter().any(is_it) {
        true => Ok(()),
        false => Err(Error::unknown(format!(
            "`{}` is neither the full id of a history nor where its directory was",
            which.escape_debug()
        ))
        .hint("`ckpt-hook workspace list` lists all of them")),
    }
}

fn named<'l>(
    listed: &'l [ListedWorkspace],
    which: &str,
    cwd: &Path,
) -> Result<&'l ListedWorkspace> {
    let path = cwd.join(which);
    // A path wins over an id that it happens to look like, and the histories of several directories may have
    // had the same path: the one whose directory is gone is meant.
    let by_path = listed
        .iter()
        .find(|one| one.row.path == path && !one.row.is_there());
    let by_id: Vec<&ListedWorkspace> = listed
        .iter()
        .filter(|one| which.len() >= MIN_PREFIX && one.row.key.starts_with(which))
        .collect();
    match (by_path, &by_id[..]) {
        (Some(one), _) => Ok(one),
        (None, [one]) => Ok(*one),
        (None, []) => match listed.iter().find(|one| one.row.path == path) {
            Some(one) => Ok(one),
            None => Err(Error::unknown(format!("there is no workspace `{which}`"))
                .hint("`ckpt-hook workspace list` lists all of them")),
        },
        (None, _) => Err(Error::unknown(format!(
            "the ids of several workspaces begin with `{which}`"
        ))
        .hint("`ckpt-hook workspace list` lists all of them")),
    }
}

fn report_of(one: &ListedWorkspace) -> WorkspaceReport {
    let row = &one.row;
    WorkspaceReport {
        id: row.key.clone(),
        path: row.path.to_string_lossy().into_owned(),
        state: match row.path.symlink_metadata() {
            _ if row.is_there() => WorkspaceState::Here,
            Ok(_) => WorkspaceState::Replaced,
            Err(_) => WorkspaceState::Gone,
        },
        sessions: one.sessions.cast_unsigned(),
        messages: one.messages.cast_unsigned(),
        used_at: row.used_at,
        machine: one.machine.clone(),
    }
}
