//! Rows of `remotes`, `pushed` and `machines`: where histories go, and which came from elsewhere.

use std::collections::HashMap;
use std::path::PathBuf;

use rusqlite::{Connection, params};

use super::read::{self, row};
use crate::error::Result;

row! {
    /// A repository that the history of a workspace is pushed to.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct RemoteRow {
        pub id: i64,
        pub address: String,
        pub name: String,
        pub pushing: Option<String>,
        pub tip: Option<String>,
        pub keys: Option<String>,
    }
}

row! {
    /// A history that came from another machine.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct MachineRow {
        pub workspace_id: i64,
        pub address: String,
        pub machine: String,
        pub tip: String,
        pub adopted: bool,
    }
}

impl RemoteRow {
    /// Returns whether something of it may be there.
    pub fn has_something(&self) -> bool {
        self.tip.is_some() || self.pushing.is_some()
    }
}

/// Returns the remotes of a workspace, in the order in which they were named.
pub(crate) fn remotes(connection: &Connection, workspace_id: i64) -> Result<Vec<RemoteRow>> {
    let sql = "SELECT * FROM remotes WHERE workspace_id = ?1 ORDER BY id";
    read::all(connection, sql, [workspace_id], RemoteRow::read)
}

/// Returns the directory of another workspace that is called so at a remote.
pub(crate) fn called_so(
    connection: &Connection,
    workspace_id: i64,
    address: &str,
    name: &str,
) -> Result<Option<PathBuf>> {
    let sql =
        "SELECT workspace_id FROM remotes WHERE workspace_id <> ?1 AND address = ?2 AND name = ?3";
    let values = params![workspace_id, address, name];
    let id = read::value_or_none(connection, "cannot read the remotes", sql, values)?;
    let found = id.map(|id| super::workspace(connection, id)).transpose()?;
    Ok(found.map(|row| row.path))
}

/// Names a remote of a workspace, and the keys for which it is encrypted. With other keys than before, nothing counts as
/// being there: what they cannot read, and what is in the open, is replaced.
pub(crate) fn put_remote(
    connection: &Connection,
    workspace_id: i64,
    address: &str,
    name: &str,
    keys: Option<&str>,
) -> Result<()> {
    let forget = "DELETE FROM pushed WHERE remote_id IN
                  (SELECT id FROM remotes WHERE workspace_id = ?1 AND address = ?2 AND keys IS NOT ?4)";
    let put = "INSERT INTO remotes (workspace_id, address, name, keys) VALUES (?1, ?2, ?3, ?4)
               ON CONFLICT (workspace_id, address) DO UPDATE SET name = excluded.name, keys = excluded.keys";
    let values = params![workspace_id, address, name, keys];
    super::execute(connection, "cannot note a remote", forget, values)?;
    super::execute(connection, "cannot note a remote", put, values)
}

/// Notes what is about to be pushed to a remote, or that nothing is known of what is there.
pub(crate) fn begin_push(
    connection: &Connection,
    remote: i64,
    pushing: Option<&str>,
) -> Result<()> {
    let sql = "UPDATE remotes SET pushing = ?2 WHERE id = ?1";
    let what = "cannot note a push";
    super::execute(connection, what, sql, params![remote, pushing])
}

/// Notes what was pushed.
pub(crate) fn end_push(connection: &Connection, remote: i64, tip: Option<&str>) -> Result<()> {
    let sql = "UPDATE remotes SET pushing = NULL, tip = ?2 WHERE id = ?1";
    super::execute(connection, "cannot note a push", sql, params![remote, tip])
}

/// The hashes of the rows of a table that are in a remote, by key.
pub(crate) type PushedRows = HashMap<String, i64>;

/// Returns the rows of a table that are in a remote, after a number.
pub(crate) fn pushed(
    connection: &Connection,
    remote: i64,
    kind: &str,
    after: i64,
) -> Result<PushedRows> {
    let sql = "SELECT row, hash FROM pushed WHERE remote_id = ?1 AND kind = ?2 AND number > ?3";
    let values = params![remote, kind, after];
    let rows = read::all(connection, sql, values, |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?;
    Ok(rows.into_iter().collect())
}

/// What counts among the rows that are in a remote how often rows were changed here that had been there for long.
pub(crate) const REWRITTEN: &str = "rewritten";

/// Notes that any rows of a workspace were changed, or of all without one: the next push compares all of them.
pub(crate) fn note_rewritten(connection: &Connection, workspace_id: Option<i64>) -> Result<()> {
    let sql = format!(
        "INSERT INTO pushed (remote_id, kind, row, hash)
         SELECT id, '{REWRITTEN}', '', 1 FROM remotes WHERE workspace_id = ifnull(?1, workspace_id)
         ON CONFLICT (remote_id, kind, row) DO UPDATE SET hash = hash + 1"
    );
    super::execute(
        connection,
        "cannot note what was changed",
        &sql,
        [workspace_id],
    )
}

/// What stands among the rows that are in a remote if something of them was forgotten here.
pub(crate) const FORGOTTEN: &str = "forgotten";

/// Notes that a message was forgotten, or anything else of a workspace: nothing tells afterwards what a row that was sent had
/// in it. Where a push may have arrived of which that is not known, it counts as sent.
pub(crate) fn note_forgotten(
    connection: &Connection,
    workspace_id: Option<i64>,
    message: Option<&str>,
) -> Result<()> {
    let sql = format!(
        "INSERT OR REPLACE INTO pushed (remote_id, kind, row, hash)
         SELECT id, '{FORGOTTEN}', '', 1 FROM remotes
          WHERE workspace_id = ifnull(?1, (SELECT workspace_id FROM messages JOIN sessions ON sessions.id = session_id WHERE messages.id = ?2))
            AND (pushing IS NOT NULL OR EXISTS
                 (SELECT 1 FROM pushed WHERE remote_id = remotes.id AND (?2 IS NULL OR (kind = 'messages' AND row = ?2))))"
    );
    let values = params![workspace_id, message];
    super::execute(connection, "cannot note what was forgotten", &sql, values)
}

/// Forgets which rows are in a remote.
pub(crate) fn forget_pushed(connection: &Connection, remote: i64) -> Result<()> {
    let sql = format!("DELETE FROM pushed WHERE remote_id = ?1 AND kind <> '{REWRITTEN}'");
    super::execute(connection, "cannot note a push", &sql, [remote])
}

/// A row that is in a remote, or what else is known of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PushedRow {
    pub kind: &'static str,
    pub row: String,
    pub number: i64,
    pub hash: i64,
}

/// Notes that a row is in a remote.
pub(crate) fn put_pushed(connection: &Connection, remote: i64, row: &PushedRow) -> Result<()> {
    let sql = "INSERT OR REPLACE INTO pushed (remote_id, kind, row, number, hash) VALUES (?1, ?2, ?3, ?4, ?5)";
    let values = params![remote, row.kind, row.row, row.number, row.hash];
    super::execute(connection, "cannot note a push", sql, values)
}

/// Notes that a row is no longer in a remote.
pub(crate) fn remove_pushed(
    connection: &Connection,
    remote: i64,
    kind: &str,
    row: &str,
) -> Result<()> {
    let sql = "DELETE FROM pushed WHERE remote_id = ?1 AND kind = ?2 AND row = ?3";
    super::execute(
        connection,
        "cannot note a push",
        sql,
        params![remote, kind, row],
    )
}

/// Returns the histories that were fetched for a workspace.
pub(crate) fn machines(connection: &Connection, beside: i64) -> Result<Vec<MachineRow>> {
    let sql = "SELECT * FROM machines WHERE beside = ?1 ORDER BY machine, address";
    read::all(connection, sql, [beside], MachineRow::read)
}

/// Returns the machine that the history of a workspace came from, unless a directory here goes on with it.
pub(crate) fn machine_of(connection: &Connection, workspace_id: i64) -> Result<Option<String>> {
    let sql = "SELECT machine FROM machines WHERE workspace_id = ?1 AND NOT adopted";
    read::value_or_none(connection, "cannot look a machine up", sql, [workspace_id])
}

/// Notes what was fetched from a machine.
pub(crate) fn put_machine(connection: &Connection, beside: i64, row: &MachineRow) -> Result<()> {
    let sql = "INSERT INTO machines (workspace_id, beside, address, machine, tip) VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (workspace_id) DO UPDATE SET tip = excluded.tip";
    let values = params![row.workspace_id, beside, row.address, row.machine, row.tip];
    super::execute(connection, "cannot note a machine", sql, values)
}

/// Notes that a directory here goes on with a history, if that came from another machine. What was known of other
/// machines beside the directory's own history stands beside this one from then on, and what was pushed is replaced.
pub(crate) fn adopt_machine(connection: &Connection, workspace_id: i64) -> Result<()> {
    let of_old = "(SELECT beside FROM machines WHERE workspace_id = ?1)";
    for sql in [
        format!(
            "DELETE FROM pushed WHERE remote_id IN (SELECT id FROM remotes WHERE workspace_id = {of_old})"
        ),
        format!("UPDATE OR IGNORE remotes SET workspace_id = ?1 WHERE workspace_id = {of_old}"),
        "UPDATE machines SET adopted = 1 WHERE workspace_id = ?1".to_owned(),
        format!("UPDATE OR IGNORE machines SET beside = ?1 WHERE beside = {of_old}"),
    ] {
        super::execute(connection, "cannot note a machine", &sql, [workspace_id])?;
    }
    Ok(())
}

/// Adds a workspace for a history from another machine, and returns its id. Its directory is never here.
pub(crate) fn add_foreign_workspace(connection: &Connection, path: &str, now: i64) -> Result<i64> {
    let sql = "INSERT INTO workspaces (key, path, device, inode, created_at, used_at, replaced_at)
             VALUES (?1, ?2, 0, 0, ?3, ?3, ?3)";
    let what = "cannot add a workspace";
    super::execute(connection, what, sql, params![super::new_id(), path, now])?;
    Ok(connection.last_insert_rowid())
}

/// Returns the number of this store, which tells its machine from others; a new one the first time.
pub(crate) fn store_number(connection: &Connection, new: i64) -> Result<i64> {
    let what = "cannot read the number of the store";
    let sql = "INSERT OR IGNORE INTO meta (key, value) VALUES ('machine', ?1)";
    super::execute(connection, what, sql, [new])?;
    let sql = "SELECT value FROM meta WHERE key = 'machine'";
    read::value(connection, what, sql, [])
}
