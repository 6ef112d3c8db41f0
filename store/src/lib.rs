//! The library of ckpt-hook.
//!
//! [`Store`] is the door. Behind it are four rooms: `snapshot` (a workspace as a git tree; knows no sessions), `sessions`
//! (the database; knows no trees), `record` (an event becomes a snapshot, a patch and rows) and `revert` (a request becomes
//! a plan, and a plan is carried out). `query` answers questions.

pub mod entry;
pub mod error;
pub mod lines;
pub mod path;
pub mod query;
pub mod record;
pub mod revert;
pub mod sessions;
pub mod settings;
pub mod snapshot;
pub mod workspace;

mod check;
mod layout;
mod threads;

use std::path::{Path, PathBuf};

use ckpt_schema::event::Event;
use ckpt_schema::report;

pub use error::{Error, ErrorKind, Result};
pub use settings::Settings;

use sessions::Database;

/// Milliseconds since the Unix epoch.
pub type Milliseconds = i64;

/// The versions of the C libraries that are inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    /// libgit2's.
    pub libgit2: String,
    /// SQLite's.
    pub sqlite: String,
}

/// Returns the versions of the C libraries as they were linked.
pub fn versions() -> Versions {
    let (major, minor, revision) = git2::Version::get().libgit2_version();
    Versions {
        libgit2: format!("{major}.{minor}.{revision}"),
        sqlite: rusqlite::version().to_owned(),
    }
}

/// Returns a new id: 32 hex digits at random, so that a short prefix tells one from another.
pub(crate) fn new_id() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// What the library needs of the outside world, given once.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The store's directory, absolute.
    pub directory: PathBuf,
    /// The settings.
    pub settings: Settings,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME`, where it is set and absolute.
    pub config_home: Option<PathBuf>,
    /// The clock.
    pub clock: fn() -> Milliseconds,
}

/// The session store and the snapshots beside it.
pub struct Store {
    surroundings: Surroundings,
    database: Database,
    watcher: Option<revert::Watcher>,
}

/// What to revert, and how.
#[derive(Clone, Debug, Default)]
pub struct RevertRequest {
    /// The message (or, for one step alone, the step) to go back to: any id that design section 3 allows.
    pub message: String,
    /// One step alone instead of a message and all after it.
    pub step: Option<String>,
    /// The session, by any id.
    pub session: Option<String>,
    /// The paths to which it is limited, relative to `cwd`.
    pub only: Vec<PathBuf>,
    /// What to do with files that are not what the agent left.
    pub on_conflict: revert::OnConflict,
    /// Whether to plan only.
    pub dry_run: bool,
    /// Whether to go on though an agent is at work.
    pub force: bool,
    /// Whether HEAD, branches and the index of the user's repository move along.
    pub git: bool,
}

/// What to redo.
#[derive(Clone, Debug, Default)]
pub struct RedoRequest {
    /// The session, by any id.
    pub session: Option<String>,
    /// All the way (`unrevert`), not one message.
    pub all: bool,
    /// What to do with files that were changed while reverted.
    pub on_conflict: revert::OnConflict,
    /// Whether to plan only.
    pub dry_run: bool,
    /// Whether to go on though an agent is at work.
    pub force: bool,
    /// Whether HEAD, branches and the index of the user's repository move along.
    pub git: bool,
}

/// What to restore.
#[derive(Clone, Debug, Default)]
pub struct RestoreRequest {
    /// A snapshot, message, step or operation.
    pub id: String,
    /// The paths to which it is limited, relative to `cwd`; all where empty.
    pub paths: Vec<PathBuf>,
    /// Whether to plan only.
    pub dry_run: bool,
    /// Whether to go on though an agent is at work.
    pub force: bool,
    /// Whether HEAD, branches and the index of the user's repository move along.
    pub git: bool,
}

impl Store {
    pub(crate) fn now(&self) -> Milliseconds {
        (self.surroundings.clock)()
    }

    /// Opens the store, and makes what is missing. Refuses a directory that others can write to or own.
    pub fn open(surroundings: Surroundings) -> Result<Self> {
        let directory = layout::prepare(&surroundings.directory)?;
        let database = Database::open(&directory, surroundings.settings.durability)?;
        let mut store = Self {
            surroundings: Surroundings {
                directory,
                ..surroundings
            },
            database,
            watcher: None,
        };
        store.tell_of_damage()?;
        Ok(store)
    }

    /// What was recorded until now is out of reach; whoever asks `status` or `doctor` is told.
    fn tell_of_damage(&mut self) -> Result<()> {
        let Some(place) = self.database.set_aside.take() else {
            return Ok(());
        };
        let message = format!(
            "the session store was damaged and is set aside as `{}`",
            place.display()
        );
        self.diagnose(&sessions::Diagnostic {
            level: "error",
            agent: None,
            event: None,
            session: None,
            workspace: None,
            message: &message,
            detail: Some(
                "what was recorded before is not to be seen here; the snapshots are still there",
            ),
        })
    }

    /// Records an event: what a hook is for.
    pub fn record(&mut self, event: &Event) -> Result<report::EventReport> {
        record::record(self, event)
    }

    /// Notes something that went wrong, for `status` and `doctor`.
    pub fn diagnose(&mut self, diagnostic: &sessions::Diagnostic<'_>) -> Result<()> {
        self.database
            .diagnose(diagnostic, (self.surroundings.clock)())
    }

    /// Captures the workspace that holds `cwd`, by hand.
    pub fn snapshot(
        &mut self,
        cwd: &Path,
        label: Option<&str>,
        progress: Option<&(dyn Fn(snapshot::Progress) + Sync)>,
    ) -> Result<report::SnapshotReport> {
        record::snapshot(self, cwd, label, progress)
    }

    /// Says who is told how far reverts and their kin are.
    pub fn watch(&mut self, watcher: Option<revert::Watcher>) {
        self.watcher = watcher;
    }

    /// Goes back to just before a message.
    pub fn revert(
        &mut self,
        cwd: &Path,
        request: &RevertRequest,
    ) -> Result<report::OperationReport> {
        revert::revert(self, cwd, request)
    }

    /// Goes forward again.
    pub fn redo(&mut self, cwd: &Path, request: &RedoRequest) -> Result<report::OperationReport> {
        revert::redo(self, cwd, request)
    }

    /// Puts paths back to any captured state.
    pub fn restore(
        &mut self,
        cwd: &Path,
        request: &RestoreRequest,
    ) -> Result<report::OperationReport> {
        revert::restore(self, cwd, request)
    }

    /// Returns what was so just before an operation, by its id.
    pub fn before(&mut self, operation: &str) -> Result<revert::Before> {
        revert::before(self, operation)
    }

    /// Returns the revert banner of the workspace that holds `cwd`.
    pub fn status(&mut self, cwd: &Path, session: Option<&str>) -> Result<report::StatusReport> {
        sessions::note_killed(&mut self.database, (self.surroundings.clock)())?;
        query::status(self, cwd, session)
    }

    /// Returns the messages of the workspace that holds `cwd`, newest first.
    pub fn log(&mut self, cwd: &Path, filter: &query::LogFilter) -> Result<report::LogReport> {
        query::log(self, cwd, filter)
    }

    /// Returns the operations of the workspace that holds `cwd`, newest first.
    pub fn operations(&mut self, cwd: &Path) -> Result<report::OperationsReport> {
        query::operations(self, cwd)
    }

    /// Returns the sessions of the workspace that holds `cwd`, newest first; of every workspace without one.
    pub fn sessions(&mut self, cwd: Option<&Path>) -> Result<report::SessionsReport> {
        query::sessions(self, cwd)
    }

    /// Returns whatever an id is of.
    pub fn show(&mut self, cwd: &Path, id: &str) -> Result<report::ShowReport> {
        query::show(self, cwd, id)
    }

    /// Returns what the user wrote in a message, where that was recorded.
    pub fn prompt(&mut self, cwd: &Path, message: &str) -> Result<Option<String>> {
        query::prompt(self, cwd, message)
    }

    /// Returns what differs between two states: ids of messages, steps, snapshots, operations, or `current`.
    pub fn diff(&mut self, cwd: &Path, request: &query::DiffRequest) -> Result<report::DiffReport> {
        query::diff(self, cwd, request)
    }

    /// Returns what is and what is not as it should be in the store itself.
    pub fn check(&mut self) -> Vec<report::Finding> {
        check::check(self)
    }

    /// Returns the bytes of a blob of the workspace that holds `cwd`.
    pub fn blob(&mut self, cwd: &Path, blob: &str) -> Result<Vec<u8>> {
        query::blob(self, cwd, blob)
    }
}
