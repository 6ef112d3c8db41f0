//! The library of ckpt-hook.
//!
//! [`Store`] is the front door; this file only lists what a caller can ask for, and no room imports it. From the top
//! down: `query` answers questions, `record` turns an event into a snapshot, a patch and rows, `revert` turns a request
//! into a plan and carries it out. They build on `ids` (what an id means), `upkeep` (keeps objects present, intact and
//! few), `timeline` (which workspace it is, and who made each change), `store` (the handle), `sessions` (the database;
//! knows no trees) and `snapshot` (a workspace as a git tree; knows no sessions), and these on `git`, `objects` and `fs`.

pub mod checkout;
pub mod error;
pub mod exchange;
#[cfg(debug_assertions)]
#[doc(hidden)]
pub mod fault;
pub mod lines;
pub mod model;
pub mod query;
pub mod record;
pub mod revert;
pub mod sessions;
pub mod settings;
pub mod snapshot;

mod fs;
mod git;
mod hints;
mod ids;
mod objects;
mod store;
mod timeline;
mod upkeep;

use std::path::{Path, PathBuf};
use std::time::Duration;

use ckpt_schema::EventKind;
use ckpt_schema::event::Event;
use ckpt_schema::report;

pub use error::{Error, ErrorKind, Result};
pub use fs::disk::now as file_clock;
pub use fs::names::{DATABASE, INSTALLED, OLDER, TEMPORARY};
pub use hints::WatchLimits;
pub use ids::{MIN_LENGTH as MIN_ID_LENGTH, Prefixes};
pub use model::request::{
    Chosen, ChosenContent, DryRun, Force, OnConflict, PlanOrigin, RedoRequest, RestoreRequest,
    RevertRequest, Unclear, UndoRequest,
};
pub use model::{FileTime, Milliseconds};
pub use sessions::{LibraryVersions, versions};
pub use settings::Settings;
pub use store::{Store, Surroundings};
pub use timeline::life::{AgentProcess, agent_process, parent_of};
pub use upkeep::check::CHECK_TIME;
pub use upkeep::du::Grouping;
pub use upkeep::forget::What as Forget;

use model::progress::SnapshotProgress;
use revert::{Options, PlanRequest};

/// Returns the time of a file by the clock of rows.
pub fn same_time(time: Milliseconds) -> Milliseconds {
    time
}

/// Returns the canonical path of the store's directory, and creates it if it does not exist, for callers that write
/// beside the session store.
///
/// Fails, with nothing changed, if the directory is neither the user's own store nor suitable for a new one.
pub fn prepare_directory(directory: &Path) -> Result<PathBuf> {
    fs::ownership::prepare(directory)
}

/// Returns whether this process has begun to change a workspace. If it has, it is unclear after a panic whether nothing
/// was changed.
pub fn has_begun_to_change() -> bool {
    revert::has_begun()
}

/// Returns whether something is being forgotten or tidied up in the store in a directory.
pub fn is_tidied(directory: &Path) -> bool {
    fs::layout::is_upkeep_locked(directory)
}

/// Returns a time that changes whenever something was forgotten or tidied up in the store in a directory.
pub fn last_tidied(directory: &Path) -> Option<std::time::SystemTime> {
    fs::layout::last_upkeep(directory)
}

/// Fails if the store in a directory is not the user's own, or holds something that no store has: [`purge`] would
/// refuse it.
pub fn check_purge(directory: &Path) -> Result<()> {
    upkeep::purge::check_purge(directory)
}

/// Removes the whole store in a directory, if it is the user's own and no process uses it. Returns whether there was one.
pub fn purge(directory: &Path) -> Result<bool> {
    upkeep::purge::purge(directory)
}

/// Notes an event that is in no row, beside the session store, and why. Returns whether it is noted. This is for a store
/// that cannot even be opened, or takes no diagnostic; [`Store::record`] does it by itself where [`is_lost`] says so.
pub fn note_lost_event(directory: &Path, event: &Event, error: &Error, now: Milliseconds) -> bool {
    record::lost_events::note(directory, event, error, now)
}

/// Returns whether an error says that an event is in no row.
pub fn is_lost(error: &Error) -> bool {
    record::lost_events::is_loss(error)
}

/// Watches the workspaces of a store that hooks ask about, as far as their snapshots hold them, until no hook asks any
/// more or `end` becomes readable.
///
/// # Errors
///
/// If another process does this already, or the store cannot be written to.
pub fn watch(
    store: &Path,
    limits: WatchLimits,
    end: Option<std::os::fd::BorrowedFd<'_>>,
) -> Result<()> {
    hints::serve(store, limits, snapshot::seen, end)
}

impl Store {
    /// Records an event: what a hook is for.
    pub fn record(&mut self, event: &Event) -> Result<report::EventReport> {
        if matches!(
            event.event,
            EventKind::SessionStart | EventKind::UserMessage
        ) {
            record::lost_events::take_up_or_prepare(self);
        }
        let report = record::record(self, event);
        if let Err(error) = &report
            && is_lost(error)
        {
            note_lost_event(&self.surroundings.directory, event, error, self.now());
        }
        report
    }

    /// Returns the failures of hooks for a reason of the store's own that no person was told of yet.
    pub fn notices(&mut self) -> sessions::Notices {
        if self.is_missing {
            return sessions::Notices::default();
        }
        // First, so that what is only noted so far becomes rows, which can be marked as told.
        let lost = self.unstuck(record::lost_events::take_up);
        let rows = self.unstuck(|store| sessions::notice_rows(store.database.connection()));
        let lost = lost.unwrap_or_default();
        let lost = lost
            .iter()
            .map(record::lost_events::Lost::describe)
            .collect();
        sessions::notices(rows.unwrap_or_default(), lost)
    }

    /// Notes that a person was told. If that fails, they are told again.
    pub fn mark_shown(&mut self, told: &sessions::Notices) {
        let mark = |connection: &_| sessions::mark_shown(connection, told);
        let _ = self.database.write(mark);
    }

    /// Takes a snapshot of the workspace that holds `cwd`, by hand.
    pub fn snapshot(
        &mut self,
        cwd: &Path,
        label: Option<&str>,
        progress: Option<&(dyn Fn(SnapshotProgress) + Sync)>,
    ) -> Result<report::SnapshotReport> {
        record::snapshot(self, cwd, label, progress)
    }

    /// Puts a label on the message or snapshot that an id means. A label is unique in its workspace.
    pub fn label(&mut self, cwd: &Path, id: &str, text: &str) -> Result<report::LabelsReport> {
        let (action, row) = record::label::label(self, cwd, id, text)?;
        query::label(self, action, &row)
    }

    /// Takes a label off.
    pub fn delete_label(&mut self, cwd: &Path, text: &str) -> Result<report::LabelsReport> {
        let row = record::label::delete(self, cwd, text)?;
        query::label(self, report::LabelAction::Deleted, &row)
    }

    /// Returns the labels of the workspace that holds `cwd`, newest first; with a pattern, those whose text or prompt
    /// contains it.
    pub fn labels(&mut self, cwd: &Path, pattern: Option<&str>) -> Result<report::LabelsReport> {
        query::labels(self, cwd, pattern)
    }

    /// Returns whether the last event's snapshot still depends on files of the user's repository, or there are too many
    /// packs. [`Store::adopt_packs`] ends that; it may take as long as copying them takes.
    pub fn is_unsettled(&self) -> bool {
        self.is_unsettled
    }

    /// Copies what the snapshots of the workspace that holds `cwd` need from the user's repository. An agent's next
    /// tool waits for this, and not for what [`Store::adopt_packs`] does besides.
    pub fn give_back(&mut self, cwd: &Path) -> Result<()> {
        upkeep::adoption::give_back(self, cwd)
    }

    /// Copies what the workspace that holds `cwd` needs from the user's repository, and tidies up the store.
    pub fn adopt_packs(&mut self, cwd: &Path) -> Result<()> {
        let settled = upkeep::adoption::adopt(self, cwd);
        // Sums are kept even if settling failed: the argument of `and` is worked out in any case.
        settled.and(upkeep::totals::keep(self, query::of_unsummed))
    }

    /// Prunes what was not used for long, and repacks the rest. A dry run only reports what it would prune.
    pub fn gc(&mut self, dry_run: DryRun) -> Result<report::GcReport> {
        self.gc_keeping(dry_run, None)
    }

    /// Like `gc`, with another age than the setting `keep`, by the clock alone.
    pub fn gc_keeping(
        &mut self,
        dry_run: DryRun,
        keep: Option<std::time::Duration>,
    ) -> Result<report::GcReport> {
        let report = upkeep::gc::by_hand(self, dry_run, keep)?;
        if dry_run == DryRun::No {
            // A failure here does not undo what is done: a list adds up what is not kept, and the next run keeps it.
            let _ = upkeep::totals::keep(self, query::of_unsummed);
        }
        Ok(report)
    }

    /// Removes every trace of a path, a session, a message, a workspace, or of everything. A dry run only reports.
    ///
    /// Fails as busy while a step or an operation is open in one of the workspaces; a dry run only says so.
    pub fn forget(
        &mut self,
        cwd: &Path,
        what: &Forget,
        dry_run: DryRun,
    ) -> Result<report::ForgetReport> {
        let ours = self.with_our_id(cwd, what)?;
        upkeep::forget::forget(self, cwd, &ours, dry_run)
    }

    /// Fails as busy, and says with what, if [`Store::forget`] would.
    pub fn check_forget(&self, cwd: &Path, what: &Forget) -> Result<()> {
        upkeep::forget::check_all_idle(self, cwd, &self.with_our_id(cwd, what)?)
    }

    fn with_our_id(&self, cwd: &Path, what: &Forget) -> Result<Forget> {
        let connection = self.database.connection();
        let workspace = || upkeep::forget::place(self, cwd).map(|place| place.row.id);
        Ok(match what {
            Forget::Message(id) => {
                Forget::Message(ids::message(connection, workspace()?, None, id)?.id)
            }
            Forget::Session(id) => Forget::Session(ids::session(connection, workspace()?, id)?.id),
            other => other.clone(),
        })
    }

    /// Measures how much of the disk the store takes, and notes the sizes of its snapshots.
    pub fn du(&mut self, by: Grouping) -> Result<report::DuReport> {
        let ages = upkeep::gc::ages(self);
        upkeep::du::du(self, by, ages)
    }

    /// Goes back to just before a message.
    pub fn revert(
        &mut self,
        cwd: &Path,
        request: &RevertRequest,
    ) -> Result<report::OperationReport> {
        self.operate(cwd, PlanRequest::Revert(request.clone()))
    }

    /// Goes forward again.
    pub fn redo(&mut self, cwd: &Path, request: &RedoRequest) -> Result<report::OperationReport> {
        self.operate(cwd, PlanRequest::Redo(request.clone()))
    }

    /// Returns the directory of the workspace that holds a directory.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn root(&self, cwd: &Path) -> Result<PathBuf> {
        Ok(timeline::Place::known(self, cwd)?.root)
    }

    /// Returns the nearest recorded directory above one in which nothing was recorded.
    ///
    /// # Errors
    ///
    /// The session store cannot be read.
    pub fn recorded_above(&self, cwd: &Path) -> Result<Option<PathBuf>> {
        match timeline::Place::find(self, cwd)? {
            Some(_) => Ok(None),
            None => timeline::neighbour(self, cwd),
        }
    }

    /// Puts paths back to any captured state.
    pub fn restore(
        &mut self,
        cwd: &Path,
        request: &RestoreRequest,
    ) -> Result<report::OperationReport> {
        self.operate(cwd, PlanRequest::Restore(request.clone()))
    }

    /// Takes an operation back: what it moved is as before it, and so is the revert point.
    pub fn undo(&mut self, cwd: &Path, request: &UndoRequest) -> Result<report::OperationReport> {
        self.operate(cwd, PlanRequest::Undo(request.clone()))
    }

    fn operate(&mut self, cwd: &Path, request: PlanRequest) -> Result<report::OperationReport> {
        // First, so that lost changes are not taken for the user's.
        self.take_up_lost();
        Ok(revert::operate(self, cwd, &request, None, request.options())?.report)
    }

    /// Writes the rows of events for which there was no room, if there is now.
    fn take_up_lost(&mut self) {
        // The disk may still be full, and a revert may be what makes room: it must not fail because of these rows.
        let _ = record::lost_events::take_up(self);
    }

    /// Carries out the plan of a dry run, by its token. If the workspace, its rules or its history are not the ones
    /// that the plan was made for, the error is `Stale`, and nothing is changed.
    pub fn apply(&mut self, token: &str, force: Force) -> Result<report::OperationReport> {
        self.apply_once(token, force, None)
    }

    /// The same, once for each key: the second time, the report is that of the first, as far as it is kept.
    pub fn apply_once(
        &mut self,
        token: &str,
        force: Force,
        key: Option<revert::RequestKey>,
    ) -> Result<report::OperationReport> {
        self.take_up_lost();
        revert::apply(self, token, force, key, &query::gone_states)
    }

    /// Returns whether an operation was begun for a key.
    pub fn is_begun(&mut self, key: revert::RequestKey) -> bool {
        revert::is_begun(self, key)
    }

    /// Makes a store of an empty private directory, with what this one holds of the workspace that holds `cwd`.
    pub fn copy(&self, cwd: &Path, into: &Path) -> Result<()> {
        upkeep::copy::copy(self, cwd, into)
    }

    /// Returns whether a plan, by its token, is one of the workspace that holds `cwd`.
    pub fn is_plan_of(&mut self, token: &str, cwd: &Path) -> Result<bool> {
        revert::is_plan_of(self, token, cwd)
    }

    /// Returns the effect on each file of a dry run's plan, by its token, so that parts of it can be chosen.
    pub fn proposal(&mut self, token: &str) -> Result<query::Proposal> {
        query::proposal(self, token)
    }

    /// Does to each file what the user chose of a proposal. If one differs from the proposal, the error is `Stale`.
    pub fn apply_parts(
        &mut self,
        cwd: &Path,
        chosen: &[Chosen],
        origin: &PlanOrigin,
        dry_run: DryRun,
        force: Force,
        key: Option<revert::RequestKey>,
    ) -> Result<report::OperationReport> {
        self.take_up_lost();
        revert::apply_parts(self, cwd, chosen, origin, (dry_run, force, key))
    }

    /// Returns the state just before an operation, by its id.
    pub fn before(&mut self, operation: &str) -> Result<revert::PriorState> {
        self.unstuck(|store| revert::before(store, operation))
    }

    /// Returns the revert banner of the workspace that holds `cwd`.
    pub fn status(&mut self, cwd: &Path, session: Option<&str>) -> Result<report::StatusReport> {
        let lost = record::lost_events::take_up(self)?;
        if lost.is_empty() {
            sessions::note_killed(&mut self.database, (self.surroundings.clock)())?;
        }
        let _ = revert::resolve_forks_at(self, cwd);
        let mut report = query::status(self, cwd, session)?;
        let lost = lost.iter().map(record::lost_events::Lost::describe);
        report.unprotected.extend(lost);
        Ok(report)
    }

    /// Lists the workspaces that have a history, newest first. That of `cwd` is found wherever it was moved.
    pub fn workspaces(&mut self, cwd: Option<&Path>) -> Result<report::WorkspacesReport> {
        timeline::list_workspaces(self, cwd)
    }

    /// Gives the workspace that holds `cwd` the history of another directory: the last one at the same path, or the one
    /// with an id or path.
    pub fn adopt(
        &mut self,
        cwd: &Path,
        which: Option<&str>,
        dry_run: DryRun,
    ) -> Result<report::AdoptReport> {
        timeline::adopt(self, cwd, which, dry_run)
    }

    /// Moves aside what stands in the place of a file, and builds a new session store from what can be read of a
    /// damaged one, which is set aside. Returns a sentence for each act; none if there was nothing to do.
    pub fn repair(&mut self) -> Vec<report::Finding> {
        // First, because a directory in the place of a lock keeps the rest from being done.
        let mut findings = upkeep::store_ownership::repair(&self.surroundings.directory);
        findings.extend(upkeep::repair::repair(self));
        findings
    }

    /// Returns whether a `forget` was interrupted after it had begun to remove something, and none is at work.
    /// [`Store::gc`] and [`Store::forget`] finish it.
    pub fn is_forgetting(&self) -> Result<bool> {
        let directory = &self.surroundings.directory;
        // The note first: one that ends in between removes it before it lets go of the lock.
        Ok(!self.is_missing
            && upkeep::forgotten_rows::is_begun(directory)?
            && !is_tidied(directory)
            && upkeep::forgotten_rows::is_begun(directory)?)
    }

    /// Returns the session stores that were set aside, if nothing was recorded since: a damaged one, which `repair` reads,
    /// and one of an older build.
    pub fn set_aside(&self) -> Result<Vec<std::path::PathBuf>> {
        upkeep::repair::set_aside(self)
    }

    /// Returns the number of workspaces with snapshots that the session store does not know. `repair` takes them up.
    pub fn unknown_workspaces(&self) -> Result<usize> {
        match self.is_missing() {
            true => Ok(0),
            false => Ok(timeline::orphans::orphans(self)?.len()),
        }
    }

    /// Adds the views of the session store, which people ask, unless they are there: no hook needs them.
    pub fn add_views(&mut self) {
        let _ = self.unstuck(|store| sessions::add_views(&mut store.database));
    }

    /// Returns the number of rows of each table, for a bug report.
    pub fn row_counts(&self) -> Result<std::collections::BTreeMap<String, u64>> {
        query::row_counts(self)
    }

    /// Checks the store itself. Objects are read for this time, or all of them if there is none, and for
    /// [`CHECK_TIME`] by default. Damaged ones are restored if their bytes can be found.
    pub fn check(&mut self, time: Option<Duration>) -> Vec<report::Finding> {
        query::check_all(self, time)
    }

    /// Returns a file as it is in the state that [`Store::restore`] takes an id for.
    pub fn cat(&mut self, cwd: &Path, id: &str, path: &Path) -> Result<query::CapturedFile> {
        query::cat(self, cwd, id, path)
    }

    /// Returns the files that are gone, latest first: those at or below the paths, or with that name anywhere; all if
    /// no path is given. Nothing is put back.
    pub fn gone(&mut self, cwd: &Path, paths: &[PathBuf]) -> Result<report::RecoverReport> {
        let place = timeline::Place::known(self, cwd)?;
        let mut files = query::gone(self, &place, paths)?;
        query::note_renames_since(self, &mut files)?;
        query::recovered(self, files, None)
    }

    /// Puts back the files that are gone: those at or below the paths, or with that name anywhere; all if no path is
    /// given.
    pub fn recover(
        &mut self,
        cwd: &Path,
        paths: &[PathBuf],
        dry_run: DryRun,
        force: Force,
    ) -> Result<report::RecoverReport> {
        self.take_up_lost();
        let place = timeline::Place::known(self, cwd)?;
        let mut files = query::gone(self, &place, paths)?;
        query::note_renames_since(self, &mut files)?;
        let states = query::last_states(&files);
        let request = PlanRequest::Recover(paths.to_vec());
        let options = Options::new(dry_run, force);
        let executed = revert::operate(self, cwd, &request, Some(&states), options)?;
        query::recovered(self, files, Some(executed.report))
    }

    /// Returns which prompt wrote each line of a file.
    pub fn blame(&mut self, cwd: &Path, path: &Path) -> Result<query::Blame> {
        query::blame(self, cwd, path)
    }

    /// Returns the changes of each of some messages or operations of the workspace that holds `cwd`, in their order, as
    /// `show` says it.
    pub fn changes_of(
        &mut self,
        cwd: &Path,
        entries: (query::ListedKind, &[&str]),
        detail: query::ChangeDetail,
    ) -> Result<Vec<Vec<report::ChangeReport>>> {
        query::changes_of(self, cwd, entries, detail)
    }

    /// Returns the files of the workspace that holds `cwd` whose contents a model does not get.
    pub fn withheld(&self, cwd: &Path) -> Result<query::Withheld> {
        query::Withheld::of(self, cwd)
    }

    /// Returns the bytes of a blob of the workspace that holds `cwd`.
    pub fn blob(&mut self, cwd: &Path, blob: &str) -> Result<Vec<u8>> {
        self.blobs(cwd)?.read(blob)
    }

    /// Opens the blobs of the workspace that holds `cwd`.
    pub fn blobs(&mut self, cwd: &Path) -> Result<query::BlobReader> {
        query::BlobReader::open(self, cwd)
    }
}
