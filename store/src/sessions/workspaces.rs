//! Rows of `workspaces`, which recognise a directory wherever it is moved.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Row, params};

use super::read::{self, Columns, row};
use crate::error::Result;
use crate::fs::identity::Identity;
use crate::model::Milliseconds;
use crate::model::path::WorkspacePath;

/// A workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkspaceRow {
    pub id: i64,
    pub key: String,
    pub path: PathBuf,
    pub device: u64,
    pub inode: u64,
    /// When the directory was created, in nanoseconds since the epoch, if that is credible.
    pub born: Option<i64>,
    pub last_snapshot_id: Option<i64>,
    pub used_at: Milliseconds,
    /// When another directory replaced it at its path.
    pub replaced_at: Option<Milliseconds>,
}

const COLUMNS: &str =
    "id, key, path, path_raw, device, inode, born, last_snapshot_id, used_at, replaced_at";

impl WorkspaceRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            id: columns.next()?,
            key: columns.next()?,
            path: {
                let text: String = columns.next()?;
                let raw: Option<Vec<u8>> = columns.next()?;
                raw.map_or_else(|| text.into(), OsString::from_vec).into()
            },
            device: columns.next::<i64>()?.cast_unsigned(),
            inode: columns.next::<i64>()?.cast_unsigned(),
            born: columns.next()?,
            last_snapshot_id: columns.next()?,
            used_at: columns.next()?,
            replaced_at: columns.next()?,
        })
    }

    /// Returns whether it is the directory with that identity, given the same path. Device numbers do not count: they
    /// may change when a machine restarts.
    pub fn is(&self, identity: &Identity) -> bool {
        identity.is(self.inode, self.born)
    }

    /// Returns whether it is the directory with that identity, at whatever path: on the same device, or created at the
    /// same moment.
    pub fn is_wherever(&self, identity: &Identity) -> bool {
        let is_known = self.born.is_some() && identity.born.is_some();
        self.is(identity) && (is_known || self.device == identity.device)
    }

    /// Returns whether its directory is still at its path.
    pub fn is_there(&self) -> bool {
        self.replaced_at.is_none()
            && self
                .path
                .symlink_metadata()
                .is_ok_and(|metadata| metadata.is_dir() && self.is(&Identity::of(&metadata)))
    }
}

/// Returns the workspace with an id.
pub(crate) fn workspace(connection: &Connection, id: i64) -> Result<WorkspaceRow> {
    let sql = format!("SELECT {COLUMNS} FROM workspaces WHERE id = ?1");
    read::one(
        connection,
        "cannot read a workspace",
        &sql,
        [id],
        WorkspaceRow::read,
    )
}

/// How a directory that is at a path relates to the rows.
///
/// ```text
///             ┌─────────── at its path ───────────┐
///  (no row) ──► seen ──── another takes its path ──► replaced ─┐
///      new      ▲  └───── nothing is at its path ──► gone ─────┤
///               └──────── it is met, anywhere ◄───────── moved ┘
/// ```
///
/// A directory is recognised by its inode and time of birth. Its row is the same in all of these states, so its history
/// goes where it goes, and no other directory ever gets it.
#[derive(Debug, PartialEq, Eq)]
enum Encounter {
    /// Its row has this path.
    Seen(WorkspaceRow),
    /// It came from elsewhere, or back to its path: the row is to follow.
    Moved(WorkspaceRow),
    /// It still has the path of its row, too (a bind mount): that one stays.
    Alias(WorkspaceRow),
    /// No row is its own.
    New,
}

impl Encounter {
    /// Decides, given the row that has the path, and the rows with the inode, the likeliest first. Pure, but for
    /// `is_there`: whether a row's directory is at the row's path.
    fn of(
        path: &Path,
        identity: &Identity,
        at_path: Option<WorkspaceRow>,
        with_inode: Vec<WorkspaceRow>,
        is_there: impl Fn(&WorkspaceRow) -> bool,
    ) -> Self {
        // The path comes first: there the device may have got another number, which it does with a restart.
        if let Some(row) = at_path.filter(|row| row.is(identity)) {
            return Self::Seen(row);
        }
        // An inode's number is given to the next directory once its own is deleted.
        match with_inode.into_iter().find(|row| row.is_wherever(identity)) {
            Some(row) if row.path != path && is_there(&row) => Self::Alias(row),
            Some(row) => Self::Moved(row),
            None => Self::New,
        }
    }

    fn met(
        connection: &Connection,
        path: &Path,
        identity: &Identity,
        is_there: impl Fn(&WorkspaceRow) -> bool,
    ) -> Result<Self> {
        let at_path = workspace_at(connection, path)?;
        let with_inode = match &at_path {
            Some(row) if row.is(identity) => Vec::new(),
            _ => rows_with_inode(connection, identity.inode)?,
        };
        Ok(Self::of(path, identity, at_path, with_inode, is_there))
    }
}

/// Returns the row of the directory at a path, if that very directory was seen before: there, somewhere else before it
/// was moved, or under another name that it still has (a bind mount). The row gets the path that was asked for.
pub(crate) fn find_workspace(
    connection: &Connection,
    path: &Path,
    identity: &Identity,
) -> Result<Option<WorkspaceRow>> {
    let row = match Encounter::met(connection, path, identity, WorkspaceRow::is_there)? {
        Encounter::Seen(row) | Encounter::Moved(row) | Encounter::Alias(row) => row,
        Encounter::New => return Ok(None),
    };
    Ok(Some(WorkspaceRow {
        path: path.to_owned(),
        replaced_at: None,
        ..row
    }))
}

/// Like [`find_workspace`], but creates a missing row. A row whose directory was replaced by another one at the same
/// path is set aside: its history is never applied to the new directory.
pub(crate) fn claim_workspace(
    connection: &Connection,
    path: &Path,
    identity: &Identity,
    now: Milliseconds,
) -> Result<WorkspaceRow> {
    claim(connection, path, identity, now, WorkspaceRow::is_there)
}

fn claim(
    connection: &Connection,
    path: &Path,
    identity: &Identity,
    now: Milliseconds,
    is_there: impl Fn(&WorkspaceRow) -> bool,
) -> Result<WorkspaceRow> {
    let born = identity.believed_birth();
    let id = match Encounter::met(connection, path, identity, is_there)? {
        Encounter::Alias(row) => {
            return Ok(WorkspaceRow {
                path: path.to_owned(),
                ..row
            });
        }
        Encounter::Seen(row) => {
            take_over(connection, row.id, path, identity, born.or(row.born), now)?;
            row.id
        }
        Encounter::Moved(row) => {
            // Whatever row has the path is another directory's, also where this one comes back to it.
            set_aside(connection, path, now)?;
            take_over(connection, row.id, path, identity, born.or(row.born), now)?;
            row.id
        }
        Encounter::New => {
            set_aside(connection, path, now)?;
            add(connection, path, identity, now)?
        }
    };
    workspace(connection, id)
}

/// Adds a row for a directory, and returns its id.
fn add(
    connection: &Connection,
    path: &Path,
    identity: &Identity,
    now: Milliseconds,
) -> Result<i64> {
    let sql =
        "INSERT INTO workspaces (key, path, path_raw, device, inode, born, created_at, used_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)";
    let values = params![
        super::new_id(),
        text(path),
        raw(path),
        identity.device.cast_signed(),
        identity.inode.cast_signed(),
        identity.believed_birth(),
        now
    ];
    super::execute(connection, "cannot add a workspace", sql, values)?;
    Ok(connection.last_insert_rowid())
}

/// Sets aside the row that has a path, if there is one: another directory is there now.
pub(crate) fn set_aside(connection: &Connection, path: &Path, now: Milliseconds) -> Result<()> {
    let sql = "UPDATE workspaces SET replaced_at = ?3 WHERE path = ?1 AND path_raw IS ?2 AND replaced_at IS NULL";
    let what = "cannot set a workspace aside";
    super::execute(connection, what, sql, params![text(path), raw(path), now])
}

/// Makes a row the one of the directory at a path, which was made at `born`, if that is known.
pub(crate) fn take_over(
    connection: &Connection,
    id: i64,
    path: &Path,
    identity: &Identity,
    born: Option<i64>,
    now: Milliseconds,
) -> Result<()> {
    let sql = "UPDATE workspaces SET path = ?2, path_raw = ?3, device = ?4, inode = ?5, born = ?6, used_at = ?7, replaced_at = NULL, gone_at = NULL
              WHERE id = ?1";
    let values = params![
        id,
        text(path),
        raw(path),
        identity.device.cast_signed(),
        identity.inode.cast_signed(),
        born,
        now
    ];
    super::execute(connection, "cannot note where a workspace is", sql, values)
}

/// Removes a directory's identity from the rows that have it but are no longer its own: the directory took over another
/// history.
pub(crate) fn forget_identity(
    connection: &Connection,
    kept: i64,
    identity: &Identity,
) -> Result<()> {
    let sql = "UPDATE workspaces SET device = 0, inode = 0, born = NULL WHERE inode = ?2 AND device = ?3 AND id <> ?1";
    let values = params![
        kept,
        identity.inode.cast_signed(),
        identity.device.cast_signed()
    ];
    super::execute(connection, "cannot note where a workspace is", sql, values)
}

/// Notes when a workspace's directory was created, which was not credible until something happened in it.
pub(crate) fn note_birth(connection: &Connection, id: i64, born: i64) -> Result<()> {
    let sql = "UPDATE workspaces SET born = ?2 WHERE id = ?1";
    let what = "cannot note when a workspace was made";
    super::execute(connection, what, sql, params![id, born])
}

row! {
    /// A workspace in a list.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct ListedWorkspace {
        pub row: WorkspaceRow = WorkspaceRow::read,
        pub sessions: i64,
        pub messages: i64,
        /// The machine that its history came from, if that is another one.
        pub machine: Option<String>,
    }
}

/// Returns all workspaces that have a history, the most recently used first.
pub(crate) fn listed_workspaces(connection: &Connection) -> Result<Vec<ListedWorkspace>> {
    let sql = format!(
            "SELECT {COLUMNS},
                    (SELECT count(*) FROM sessions WHERE workspace_id = workspaces.id) AS sessions,
                    (SELECT count(*) FROM messages JOIN sessions ON sessions.id = messages.session_id
                      WHERE sessions.workspace_id = workspaces.id) AS messages,
                    (SELECT machine FROM machines WHERE workspace_id = workspaces.id AND adopted = 0) AS machine
               FROM workspaces WHERE last_snapshot_id IS NOT NULL ORDER BY used_at DESC, id DESC"
        );
    let what = "cannot list the workspaces";
    read::all_or(connection, what, &sql, [], ListedWorkspace::read)
}

/// Returns the ids of the workspaces in whose newest snapshot git's HEAD was at a commit.
pub(crate) fn workspaces_at_commit(connection: &Connection, commit: &str) -> Result<Vec<i64>> {
    let sql = "SELECT workspaces.id AS id FROM workspaces
                 JOIN snapshots ON snapshots.id = last_snapshot_id
                 JOIN git_states ON git_states.id = git_state_id
                WHERE head = ?1";
    read::all_or(
        connection,
        "cannot list the workspaces",
        sql,
        [commit],
        |row| row.get("id"),
    )
}

/// Makes a snapshot the newest of its workspace: the next one is compared with it.
pub(crate) fn set_last_snapshot(
    connection: &Connection,
    workspace_id: i64,
    snapshot_id: i64,
    now: Milliseconds,
) -> Result<()> {
    let sql = "UPDATE workspaces SET last_snapshot_id = ?2, used_at = ?3 WHERE id = ?1";
    let values = params![workspace_id, snapshot_id, now];
    super::execute(connection, "cannot note the newest snapshot", sql, values)
}

/// Returns the row that has a path.
pub(crate) fn workspace_at(connection: &Connection, path: &Path) -> Result<Option<WorkspaceRow>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM workspaces WHERE path = ?1 AND path_raw IS ?2 AND replaced_at IS NULL"
    );
    let values = params![text(path), raw(path)];
    read::one_or_none(
        connection,
        "cannot look up a workspace",
        &sql,
        values,
        WorkspaceRow::read,
    )
}

/// Returns the other directories in which the conversation of a session changed something since: their ids and names.
pub(crate) fn workspaces_of_turn(
    connection: &Connection,
    workspace_id: i64,
    session: &str,
    since: Milliseconds,
) -> Result<Vec<(i64, String)>> {
    let sql = "SELECT DISTINCT workspaces.id AS id, workspaces.path AS path
             FROM sessions AS own
             JOIN sessions AS other ON other.agent = own.agent AND other.agent_id = own.agent_id
             JOIN workspaces ON workspaces.id <> ?1
             JOIN steps ON steps.session_id = other.id
             JOIN changes ON changes.step_id = steps.id AND changes.workspace_id = workspaces.id
            WHERE own.id = ?2 AND changes.happened_at >= ?3
            ORDER BY path";
    read::all(
        connection,
        sql,
        params![workspace_id, session, since],
        |row| Ok((row.get("id")?, row.get("path")?)),
    )
}

/// Returns whether there is a workspace with this id.
pub(crate) fn has_workspace(connection: &Connection, id: i64) -> Result<bool> {
    let sql = "SELECT 1 FROM workspaces WHERE id = ?1";
    read::any(connection, "cannot look up a workspace", sql, [id])
}

/// Returns the workspaces inside one, by their paths in it, in which an agent has sent an event since a snapshot was
/// taken: once for each agent, with the session that its conversation has in the outer workspace, if any.
pub(crate) fn workspaces_at_work_below(
    connection: &Connection,
    outer: &WorkspaceRow,
    since_snapshot: Option<i64>,
) -> Result<Vec<(WorkspacePath, Option<String>)>> {
    let mut below = outer.path.as_os_str().as_bytes().to_vec();
    below.push(b'/');
    let sql = format!(
        "SELECT {COLUMNS}, conversation FROM (
            SELECT workspaces.*, (
                     SELECT here.id FROM sessions AS here
                      WHERE here.workspace_id = ?4 AND here.agent = theirs.agent AND here.agent_id =
                            ifnull((SELECT agent_id FROM sessions WHERE id = theirs.parent_id), theirs.agent_id)
                   ) AS conversation
              FROM workspaces CROSS JOIN sessions AS theirs ON theirs.workspace_id = workspaces.id
             WHERE replaced_at IS NULL AND path > ?1 AND path < ?2 AND theirs.last_event_at >=
                   ifnull((SELECT taken_at FROM snapshots WHERE id = ?3), 0))"
    );
    // A range, which an index answers. `LIKE` would read all rows, and take `_` and `%` in a path for wildcards.
    let from = String::from_utf8_lossy(&below).into_owned();
    below.pop();
    below.push(b'0'); // the character after the slash
    let to = String::from_utf8_lossy(&below).into_owned();
    let what = "cannot look up workspaces";
    let values = params![from, to, since_snapshot, outer.id];
    let rows: Vec<(WorkspaceRow, Option<String>)> =
        read::all_or(connection, what, &sql, values, |row| {
            Ok((WorkspaceRow::read(row)?, row.get("conversation")?))
        })?;
    let inner = |(row, conversation): (WorkspaceRow, _)| {
        Some((
            WorkspacePath::in_workspace(&outer.path, &row.path)?,
            conversation,
        ))
    };
    Ok(rows.into_iter().filter_map(inner).collect())
}

/// Returns the rows with an inode, those that were not replaced first, and of these the one used last.
fn rows_with_inode(connection: &Connection, inode: u64) -> Result<Vec<WorkspaceRow>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM workspaces WHERE inode = ?1 ORDER BY replaced_at IS NOT NULL, used_at DESC, id DESC"
    );
    let inode = inode.cast_signed();
    read::all_or(
        connection,
        "cannot look up a workspace",
        &sql,
        [inode],
        WorkspaceRow::read,
    )
}

/// Returns a path for the column `path`. Bytes that are not UTF-8 are replaced.
pub(super) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Returns a path's bytes for the column `path_raw`, if they are not UTF-8.
pub(super) fn raw(path: &Path) -> Option<&[u8]> {
    let bytes = path.as_os_str().as_bytes();
    std::str::from_utf8(bytes).is_err().then_some(bytes)
}

#[cfg(test)]
mod tests;
