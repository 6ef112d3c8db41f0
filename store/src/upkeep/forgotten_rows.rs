//! Takes what is forgotten out of rows: those of the session store, and those that a repair reads from a damaged one,
//! in which a killed `forget` had not come so far. This module does IO.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use ckpt_schema::report::ForgetRemote;
use rusqlite::Connection;

use super::forget::What;
use crate::error::{Context, Result};
use crate::fs::names::{self, CACHE};
use crate::fs::{layout, leftover, presence};
use crate::model::address;
use crate::model::entry::ObjectId;
use crate::sessions;
use crate::sessions::forget::{self, Belongings, NamingRows};
use crate::snapshot::Forgetting;
use crate::store::Store;
use crate::timeline::{LOCK_TIMEOUT, Place, note_newest};

/// What was begun to be removed as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wholes {
    /// Workspaces, by their keys, each with its newest snapshot: a later one shows that it was used since.
    pub workspaces: BTreeMap<String, Option<i64>>,
    /// Whether these are all workspaces, and what belongs to none goes as well.
    pub is_all: bool,
}

/// Stands in the place of a key if everything goes.
const ALL: &str = "all";

/// Notes, synced, that something is about to be removed: until [`end`], every command says so. A part of a workspace is
/// noted in its folder before.
pub(super) fn begin(directory: &Path, wholes: &Wholes) -> Result<()> {
    let note = directory.join(names::FORGETTING);
    let what = || format!("cannot write `{}`", note.display());
    let mut text = String::new();
    for (key, newest) in &wholes.workspaces {
        text += &format!("{key} {}\n", newest.unwrap_or_default());
    }
    if wholes.is_all {
        text += ALL;
    }
    let unfinished = directory.join(names::FORGETTING_NEW);
    let mut file = layout::open_private(&unfinished)?;
    file.set_len(0)
        .and_then(|()| file.write_all(text.as_bytes()))
        .and_then(|()| file.sync_all())
        // In one piece: half a list would say that the rest is not to go.
        .and_then(|()| std::fs::rename(&unfinished, &note))
        .context(what)?;
    layout::sync(directory)
}

/// Returns the paths that the note names.
pub(super) fn begun(directory: &Path) -> Result<Option<Wholes>> {
    if !is_begun(directory)? {
        return Ok(None);
    }
    let note = directory.join(names::FORGETTING);
    let text =
        std::fs::read_to_string(&note).context(|| format!("cannot read `{}`", note.display()))?;
    let workspace = |line: &str| {
        let (key, newest) = line.split_once(' ')?;
        Some((key.to_owned(), newest.parse().ok().filter(|id| *id != 0)))
    };
    Ok(Some(Wholes {
        workspaces: text.lines().filter_map(workspace).collect(),
        is_all: text.lines().any(|line| line == ALL),
    }))
}

/// Returns whether something was begun to be removed, and no run has checked since whether it is gone.
pub(crate) fn is_begun(directory: &Path) -> Result<bool> {
    Ok(presence::metadata(&directory.join(names::FORGETTING))?.is_some())
}

/// Removes that note: all is gone.
pub(super) fn end(directory: &Path) -> Result<()> {
    presence::remove_file(&directory.join(names::FORGETTING))
}

/// Makes the rows of a workspace name nothing of what is forgotten, and notes that its packs still hold it. Returns
/// the numbers of snapshots and prompts that were concerned.
pub(super) fn take_out(
    connection: &Connection,
    workspace: i64,
    forgetting: &Forgetting,
) -> Result<(u64, u64)> {
    let mut snapshots = 0;
    for one in &forgetting.states {
        let replaced = forget::replace_state(connection, workspace, one)?;
        snapshots += if one.old.0 == one.new.0 { 0 } else { replaced };
    }
    for (old, new) in &forgetting.rules {
        forget::replace_rules(connection, workspace, *old, *new)?;
    }
    let is_forgotten = |path: &[u8], id: ObjectId| {
        let of_path = forgetting.blobs.get(path);
        of_path.is_some_and(|ids| ids.contains(&id))
    };
    forget::blobs(connection, workspace, &is_forgotten, NamingRows::Emptied)?;
    let belongings = Belongings {
        messages: forgetting.messages.clone(),
        agent_ids: forgetting.agent_ids.clone(),
        ..Belongings::default()
    };
    if belongings.messages.is_empty() {
        sessions::note_forgotten(connection, Some(workspace), None)?;
    }
    let prompts = forget::prompts(connection, &belongings)?;
    let paths = forgetting.paths.iter();
    let texts: Vec<String> = paths
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect();
    forget::commands_about(connection, &texts)?;
    forget::diagnostics_about(connection, &texts)?;
    // In the same transaction: once the rows are gone, nothing else says that the packs still hold it.
    sessions::note_unswept(connection, workspace)?;
    Ok((snapshots, prompts))
}

/// Takes what is noted in the workspace's folder out of the session store. The caller holds the lock.
pub(super) fn take_out_noted(
    store: &mut Store,
    place: &Place,
    lock: &layout::Lock,
    forgetting: &Forgetting,
) -> Result<(u64, u64)> {
    // The note names rows that are about to go, which would look like lost ones. The cache relies on objects that will
    // no longer be stored.
    lock.clear_note()?;
    forget_caches(&place.folder)?;
    let numbers = store
        .database
        .write(|connection| take_out(connection, place.row.id, forgetting))?;
    note_newest(store.database.connection(), place, lock)?;
    Ok(numbers)
}

/// Takes out of the session store what a `forget` had begun to remove when it was interrupted.
pub(super) fn take_out_begun(store: &mut Store) -> Result<()> {
    for id in sessions::workspaces(store.database.connection())? {
        let row = sessions::workspace(store.database.connection(), id)?;
        let place = Place::of_row(store, row);
        let begun = Forgetting::read(&place.folder)?;
        if begun != Forgetting::default() && !layout::is_going(&place.folder)? {
            let lock = place.lock(LOCK_TIMEOUT)?;
            take_out_noted(store, &place, &lock, &begun)?;
        }
    }
    let directory = store.surroundings.directory.clone();
    let take_out = |rows: &Connection| take_out_of_former(rows, &directory);
    store.database.write_unchecked(take_out).map(drop)
}

/// Removes the cache of a workspace, and what killed processes left of one. The caller holds its lock.
fn forget_caches(folder: &Path) -> Result<()> {
    let what = || format!("cannot find what is in `{}`", folder.display());
    for entry in presence::entries(folder)? {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let is_file = entry.file_type().context(what)?.is_file();
        if is_file && (name.starts_with(CACHE.as_bytes()) || name.starts_with(TEMPORARY)) {
            presence::remove_file(&entry.path())?;
        }
    }
    Ok(())
}

const TEMPORARY: &[u8] = leftover::TEMPORARY_PACK.as_bytes();

/// Takes out of the rows of a former session store what was being forgotten when it was damaged, and the workspaces
/// that were being removed. Returns whether there was anything.
pub(super) fn take_out_of_former(connection: &Connection, directory: &Path) -> Result<bool> {
    let mut is_any = false;
    for id in sessions::workspaces(connection)? {
        let row = sessions::workspace(connection, id)?;
        let folder = names::workspace(directory, &row.key);
        if is_going(connection, id, &folder)? {
            sessions::delete_workspace(connection, id)?;
            is_any = true;
            continue;
        }
        let forgetting = Forgetting::read(&folder)?;
        if forgetting != Forgetting::default() {
            take_out(connection, id, &forgetting)?;
            is_any = true;
        }
    }
    Ok(is_any)
}

/// Returns whether a workspace was being removed, and no event used it since.
fn is_going(connection: &Connection, id: i64, folder: &Path) -> Result<bool> {
    let Some(since) = layout::going_since(folder)? else {
        return Ok(false);
    };
    let used_at = sessions::newest_snapshot_time(connection, id)?;
    Ok(used_at.is_none_or(|used_at| used_at <= since))
}

/// Returns a workspace with what to forget there, and the other roots of a session with their parts of it.
pub(super) fn in_roots(store: &Store, place: Place, what: &What) -> Result<Vec<(Place, What)>> {
    let connection = store.database.connection();
    let session = match what {
        What::Session(id) => sessions::session(connection, id)?,
        What::Message(id) => match sessions::message(connection, id)? {
            Some(message) => sessions::session(connection, &message.session_id)?,
            None => None,
        },
        _ => None,
    };
    let mut all = vec![(place, what.clone())];
    let Some(session) = session else {
        return Ok(all);
    };
    for part in sessions::other_parts(connection, &session)? {
        let row = sessions::workspace(connection, part.workspace_id)?;
        let part = match what {
            What::Message(id) => {
                sessions::part_in(connection, "messages", &part.id, id)?.map(What::Message)
            }
            _ => Some(What::Session(part.id)),
        };
        all.extend(part.map(|part| (Place::of_row(store, row), part)));
    }
    Ok(all)
}

/// Returns every workspace.
pub(super) fn all_places(store: &Store) -> Result<Vec<Place>> {
    let connection = store.database.connection();
    let ids = sessions::workspaces(connection)?;
    ids.into_iter()
        .map(|id| Ok(Place::of_row(store, sessions::workspace(connection, id)?)))
        .collect()
}

/// Returns the repositories to which a workspace's history was pushed.
pub(super) fn remotes(store: &Store, place: &Place) -> Result<Vec<ForgetRemote>> {
    let rows = sessions::remotes(store.database.connection(), place.row.id)?;
    let there = rows.into_iter().filter(sessions::RemoteRow::has_something);
    Ok(there
        .map(|row| ForgetRemote {
            address: address::shown(&row.address),
            name: row.name,
        })
        .collect())
}
