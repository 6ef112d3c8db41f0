//! What a front end lists and looks up, as methods of the store.

use std::collections::BTreeMap;
use std::path::Path;

use ckpt_schema::report;

use crate::error::Result;
use crate::ids::Prefixes;
use crate::store::Store;
use crate::{ids, sessions, timeline};

impl Store {
    /// Returns the messages of the workspace that holds `cwd`, newest first.
    pub fn log(&mut self, cwd: &Path, filter: &super::LogFilter) -> Result<report::LogReport> {
        let _ = crate::revert::resolve_forks_at(self, cwd);
        super::log(self, cwd, filter)
    }

    /// Returns how much of each id distinguishes it.
    pub fn prefixes(&mut self) -> Result<Prefixes> {
        self.unstuck(|store| store.database.read(Prefixes::read))
    }

    /// Searches the changes of `count` messages of the workspace, from the newest on or before a `seq`.
    pub fn search(
        &mut self,
        cwd: &Path,
        text: &str,
        before: Option<i64>,
        count: usize,
    ) -> Result<super::Searched> {
        super::search(self, cwd, text, before, count)
    }

    /// Returns the operations of the workspace that holds `cwd`, newest first.
    pub fn operations(
        &mut self,
        cwd: &Path,
        filter: &super::LogFilter,
    ) -> Result<report::OperationsReport> {
        super::operations(self, cwd, filter)
    }

    /// Returns the messages, operations and changes from outside of the workspace that holds `cwd`, newest first.
    pub fn timeline(
        &mut self,
        cwd: &Path,
        filter: &super::LogFilter,
    ) -> Result<report::TimelineReport> {
        super::timeline(self, cwd, filter)
    }

    /// Returns the snapshots of the workspace that holds `cwd`, newest first.
    pub fn snapshots(
        &mut self,
        cwd: &Path,
        filter: &super::LogFilter,
    ) -> Result<report::SnapshotsReport> {
        super::snapshots(self, cwd, filter)
    }

    /// Returns the sessions of the workspace that holds `cwd`, or of all workspaces without one, newest first.
    pub fn sessions(&mut self, cwd: Option<&Path>) -> Result<report::SessionsReport> {
        super::sessions(self, cwd, cwd.is_none())
    }

    /// Returns the sessions of all workspaces, newest first. One that was moved has its present path, if it is beside its
    /// former place or holds `here`.
    pub fn sessions_everywhere(&mut self, here: Option<&Path>) -> Result<report::SessionsReport> {
        super::sessions(self, here, true)
    }

    /// Returns the id of the session that an agent's process is in, as [`crate::agent_process`] names that process.
    pub fn session_of_process(&mut self, cwd: &Path, process: &str) -> Result<Option<String>> {
        let place = timeline::Place::known(self, cwd)?;
        let connection = self.database.connection();
        let session = sessions::session_of_process(connection, place.row.id, process)?;
        Ok(session.map(|session| session.id))
    }

    /// Returns the item that an id names.
    pub fn show(&mut self, cwd: &Path, id: &str) -> Result<report::ShowReport> {
        super::show(self, cwd, id)
    }

    /// Fails if text is not a full id, ours or an agent's. A prefix, a label or `last` is not.
    pub fn check_exact(&mut self, cwd: &Path, id: &str) -> Result<()> {
        let place = timeline::Place::known(self, cwd)?;
        ids::check_exact(self.database.connection(), place.row.id, id)
    }

    /// Fails if text is neither a history's full id nor the path where its directory was.
    pub fn check_exact_workspace(&self, cwd: &Path, which: &str) -> Result<()> {
        timeline::check_exact(self, cwd, which)
    }

    /// Returns the prompt of a message, if it was recorded.
    pub fn prompt(&mut self, cwd: &Path, message: &str) -> Result<Option<String>> {
        super::prompt(self, cwd, message)
    }

    /// Returns the difference between two states: ids of messages, steps, snapshots, operations, or `current`.
    pub fn diff(&mut self, cwd: &Path, request: &super::DiffRequest) -> Result<report::DiffReport> {
        super::diff(self, cwd, request)
    }

    /// Returns the events after a place in the feed, in the workspace that holds `cwd` or everywhere, and where to
    /// go on from. A place after the newest one belongs to another store: the answer is a reset.
    pub fn feed(&mut self, cwd: Option<&Path>, since: i64) -> Result<super::Feed> {
        super::feed(self, cwd, since)
    }

    /// Returns the newest place in the feed; 0 if it is empty.
    pub fn newest_in_feed(&mut self) -> Result<i64> {
        super::newest(self)
    }

    /// Returns the sessions with a tool at work, by agent and session, of each workspace in which there are any.
    pub fn agents_at_work(&mut self) -> Result<BTreeMap<String, Vec<String>>> {
        super::agents_at_work(self)
    }

    /// Returns a number that changes when another process has written to the session store: SQLite's `data_version`. It
    /// does not access the disk.
    pub fn data_version(&mut self) -> Result<i64> {
        self.database.data_version()
    }
}
