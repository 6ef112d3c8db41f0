//! The handle of the store: its database, the settings, the clock and the progress callback. The rooms that record,
//! revert and answer use it from here; `lib.rs` lists what it can do for a caller.

use std::path::PathBuf;

use crate::error::Result;
use crate::fs::{layout, names, ownership, presence};
use crate::model::agent_process::AgentProcess;
use crate::model::conversation::Conversations;
use crate::model::progress::{OperationProgress, ProgressCallback};
use crate::model::{FileTime, Milliseconds};
use crate::sessions::{self, Database};
use crate::settings::Settings;

/// What the library needs from the outside world, passed in once.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The store's directory, absolute.
    pub directory: PathBuf,
    /// The settings.
    pub settings: Settings,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME`, if it is set and absolute.
    pub config_home: Option<PathBuf>,
    /// The clock of the rows.
    pub clock: fn() -> Milliseconds,
    /// The clock that file times are compared with: [`crate::file_clock`].
    pub file_clock: fn() -> FileTime,
    /// Turns the time of a file into one of the clock of rows. They are the same ([`crate::same_time`]), except in a
    /// test that plays a whole day while it writes its files within seconds.
    pub file_times: fn(Milliseconds) -> Milliseconds,
    /// Finds the agent's process that started this one, for the first tools of a session ([`crate::agent_process`]). It
    /// returns `None` where what calls the library is no hook.
    pub agent_process: fn() -> Option<AgentProcess>,
    /// The conversations of the agents.
    pub conversations: &'static dyn Conversations,
}

impl Surroundings {
    /// Returns the present time by the clock of files, in seconds since the epoch.
    pub(crate) fn now_in_seconds(&self) -> i64 {
        (self.file_clock)() / 1_000_000_000
    }
}

/// The detail of the diagnostic for a session store that was replaced by a new one.
const OUT_OF_SIGHT: &str =
    "what was recorded before does not show here; the snapshots are still there";

/// The session store and the snapshots beside it.
pub struct Store {
    pub(crate) surroundings: Surroundings,
    pub(crate) database: Database,
    /// Whether there is no store on disk. Then queries answer as if it were empty.
    pub(crate) is_missing: bool,
    pub(crate) watcher: Option<ProgressCallback>,
    pub(crate) is_unsettled: bool,
    /// The machine whose history of a workspace is asked about, if it is not this one.
    pub(crate) machine: Option<String>,
    /// Whether an operation is limited to the workspace in which it is asked for, whichever roots its session has.
    pub(crate) is_limited: bool,
    /// A further root of a session whose snapshot took longer than a hook has.
    pub(crate) late_root: Option<PathBuf>,
}

impl Store {
    /// Returns whether nothing can be written in the store's directory.
    pub fn is_read_only(&self) -> bool {
        let directory = &self.surroundings.directory;
        !self.is_missing && rustix::fs::access(directory, rustix::fs::Access::WRITE_OK).is_err()
    }

    /// Returns the present time of the clock that rows have, in milliseconds since the epoch.
    pub(crate) fn now(&self) -> Milliseconds {
        (self.surroundings.clock)()
    }

    /// Opens the store for recording, and creates what is missing. Refuses a directory that is not a store, or that
    /// others own or can write to.
    pub fn open(surroundings: Surroundings) -> Result<Self> {
        let directory = ownership::prepare(&surroundings.directory)?;
        Self::open_in(directory, surroundings)
    }

    /// Opens the store for reading. A missing store is not created, but counts as an empty one.
    pub fn open_existing(surroundings: Surroundings) -> Result<Self> {
        match ownership::find(&surroundings.directory)? {
            Some(directory) => Self::open_in(directory, surroundings),
            None => Ok(Self {
                database: Database::empty()?,
                surroundings,
                is_missing: true,
                watcher: None,
                is_unsettled: false,
                machine: None,
                is_limited: false,
                late_root: None,
            }),
        }
    }

    fn open_in(directory: PathBuf, surroundings: Surroundings) -> Result<Self> {
        let database = Database::open(&directory, surroundings.settings.durability)?;
        let mut store = Self {
            surroundings: Surroundings {
                directory,
                ..surroundings
            },
            database,
            is_missing: false,
            watcher: None,
            is_unsettled: false,
            machine: None,
            is_limited: false,
            late_root: None,
        };
        store.tell_of_what_was_found()?;
        Ok(store)
    }

    /// Closes the session store and opens it again.
    pub(crate) fn reopen(&mut self) -> Result<()> {
        let surroundings = &self.surroundings;
        self.database.close()?;
        let database = Database::open(&surroundings.directory, surroundings.settings.durability)?;
        self.go_on_with(database)
    }

    /// Goes on with a session store that was opened in the place of the one at hand.
    pub(crate) fn go_on_with(&mut self, database: Database) -> Result<()> {
        self.database = database;
        self.tell_of_what_was_found()
    }

    /// Runs `work`, and once more with another connection if the first one is stuck.
    pub(crate) fn unstuck<T>(&mut self, work: impl Fn(&mut Self) -> Result<T>) -> Result<T> {
        match work(self) {
            Err(error) if sessions::is_stuck(&error) => {
                self.reopen()?;
                work(self)
            }
            done => done,
        }
    }

    /// Goes on with another connection if this one is stuck. For before reads of which a failure is not told.
    pub(crate) fn leave_stuck(&mut self) {
        let _ = self.unstuck(|store| store.database.data_version());
    }

    /// Returns whether there is no store yet.
    pub fn is_missing(&self) -> bool {
        self.is_missing
    }

    /// Reports that opening the session store began a new one.
    fn tell_of_what_was_found(&mut self) -> Result<()> {
        self.tell_of_older()?;
        self.tell_of_loss()
    }

    /// Reports that a new session store was begun in the place of one of an older build.
    fn tell_of_older(&mut self) -> Result<()> {
        let Some(place) = &self.database.older else {
            return Ok(());
        };
        let message = format!(
            "the session store of an older build of ckpt-hook, which this one does not read, is set aside as `{}`, \
             and a new one was begun",
            place.display()
        );
        self.diagnose(&sessions::Diagnostic {
            level: sessions::DiagnosticLevel::Warning,
            message: &message,
            detail: Some(OUT_OF_SIGHT),
            is_untold: true,
            ..sessions::Diagnostic::default()
        })
    }

    /// Reports that everything recorded so far is out of reach, in `status` and `doctor`, if the session store is gone.
    fn tell_of_loss(&mut self) -> Result<()> {
        if !self.database.is_new
            || self.database.older.is_some()
            || !self.holds_unknown_snapshots()?
        {
            return Ok(());
        }
        self.diagnose(&sessions::Diagnostic {
            level: sessions::DiagnosticLevel::Error,
            message: "the session store was gone, and a new one was begun",
            detail: Some(OUT_OF_SIGHT),
            ..sessions::Diagnostic::default()
        })
    }

    /// Returns whether there are snapshots of a workspace that has no row.
    fn holds_unknown_snapshots(&self) -> Result<bool> {
        let snapshots = names::snapshots(&self.surroundings.directory);
        let mut folders = Vec::new();
        for entry in presence::entries(&snapshots)? {
            let folder = entry.path();
            if layout::holds_objects(&folder)? {
                folders.push(folder);
            }
        }
        // A row is written before its folder is made, so the folders have to be listed before the rows.
        let known = sessions::workspace_keys(self.database.connection())?;
        let is_known = |folder: &PathBuf| {
            let name = folder.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| known.contains(name))
        };
        Ok(!folders.iter().all(is_known))
    }

    /// Notes something that went wrong, for `status` and `doctor`.
    pub fn diagnose(&mut self, diagnostic: &sessions::Diagnostic<'_>) -> Result<()> {
        let now = self.now();
        self.unstuck(|store| store.database.diagnose(diagnostic, now))
    }

    /// Like [`diagnose`](Self::diagnose), unless the same was noted before.
    pub fn diagnose_once(&mut self, diagnostic: &sessions::Diagnostic<'_>) -> Result<()> {
        if sessions::is_noted(self.database.connection(), diagnostic)? {
            return Ok(());
        }
        self.diagnose(diagnostic)
    }

    /// Returns the reporter of an operation's progress. Unlike the store, whose connection
    /// is one thread's, all threads may call it.
    pub(crate) fn reporter(&self) -> impl Fn(OperationProgress) + Sync + use<'_> {
        let watcher = self.watcher.as_deref();
        move |progress| {
            if let Some(watcher) = watcher {
                watcher(progress);
            }
        }
    }

    /// Limits operations to the workspace in which they are asked for: the other roots of a session stay.
    pub fn limit_to_workspace(&mut self) {
        self.is_limited = true;
    }

    /// Returns a further root of the last event's session whose snapshot took longer than a hook has, if there is one.
    pub fn late_root(&mut self) -> Option<PathBuf> {
        self.late_root.take()
    }

    /// Sets the callback for the progress of reverts and similar operations.
    pub fn watch(&mut self, watcher: Option<ProgressCallback>) {
        self.watcher = watcher;
    }
}

#[cfg(test)]
mod tests {
    use ckpt_schema::migration::OLDER_APPLICATION_ID;

    use super::*;
    use crate::fs::names::DATABASE;

    /// What is said of a session store that is set aside is said also where it is found while the store is open.
    #[test]
    fn reopened_store_tells_what_it_set_aside() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let mut store = Store::open(Surroundings {
            directory: directory.path().join("store"),
            settings: Settings::default(),
            home: None,
            config_home: None,
            clock: || 0,
            file_clock: || 0,
            file_times: crate::same_time,
            agent_process: || None,
            conversations: &crate::model::conversation::NoConversations,
        })
        .expect("a fresh store");
        let former = store.surroundings.directory.join(DATABASE);
        let other = rusqlite::Connection::open(former).expect("it is there");
        let set = other.pragma_update(None, "application_id", OLDER_APPLICATION_ID);
        set.expect("it is writable");
        drop(other);
        store.reopen().expect("a new one is begun");
        let sql = "SELECT message FROM diagnostics";
        let connection = store.database.connection();
        let told: String = connection
            .query_row(sql, [], |row| row.get(0))
            .expect("one");
        assert!(told.contains("is set aside as"), "{told}");
    }
}
