//! Settles a first snapshot that borrowed packs from the user's repository: copies what it needs, and gives the packs
//! back.
//!
//! ```text
//! copying   without the workspace's lock: the agent goes on meanwhile
//! the rest  under the lock: what came to be needed since, then the borrowed packs go
//! ```
//!
//! A process of its own does this after the agent was answered. It has a low priority only once this is done: the first
//! tool waits for it, for a moment, and would wait for all programs that do not give way. An operation does it itself.
//! What was damaged before that, and is in no file of the workspace any more, is lost and reported.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::fs::layout;
use crate::model::note::{self, Note};
use crate::sessions::{self, Diagnostic, DiagnosticLevel};
use crate::snapshot::AdoptionResult;
use crate::store::Store;
use crate::timeline::{LOCK_TIMEOUT, Place};

/// How long a tool is kept waiting. Its user sees a longer pause, and the rest can be done in the background.
const TOOL_DELAY: Duration = Duration::from_secs(2);

/// Copies what the workspace that holds a directory borrows, and gives it back.
pub(crate) fn give_back(store: &mut Store, cwd: &Path) -> Result<()> {
    let Some(place) = Place::find(store, cwd)? else {
        return Ok(());
    };
    adopt_until(store, &place, None)
}

/// Settles the workspace that holds a directory, and tidies up the store.
pub(crate) fn adopt(store: &mut Store, cwd: &Path) -> Result<()> {
    let Some(place) = Place::find(store, cwd)? else {
        return Ok(());
    };
    adopt_until(store, &place, None)?;
    super::check::name_to_git(store, &place)?;
    super::gc::in_background(store, &place)
}

/// Settles a known workspace.
pub(crate) fn adopt_now(store: &mut Store, place: &Place) -> Result<()> {
    adopt_until(store, place, None)
}

/// Settles before an agent's tool runs. Returns false if that would take too long: then the rest is done in the
/// background, and the tool does not wait.
pub(crate) fn before_a_tool(store: &mut Store, place: &Place) -> bool {
    // The tool runs in any case. If this fails, the next tool tries again.
    adopt_until(store, place, Some(Instant::now() + TOOL_DELAY)).is_ok()
}

fn adopt_until(store: &mut Store, place: &Place, deadline: Option<Instant>) -> Result<()> {
    let left = || {
        deadline.map_or(LOCK_TIMEOUT, |deadline| {
            deadline.saturating_duration_since(Instant::now())
        })
    };
    // A caller without a deadline need not wait for another process that does the same.
    let patience = deadline.map_or(Duration::ZERO, |_| left());
    let _settling = layout::lock_settling(&place.folder, patience)?;
    let snapshots = place.snapshots()?;
    if !snapshots.borrows_now()? {
        return Ok(());
    }
    let roots = |store: &Store| sessions::roots(store.database.connection(), place.row.id);
    let before = roots(store)?;
    // The long part, without the workspace's lock: an agent is at work.
    let mut settled = snapshots.adopt_packs(&place.root, &before, deadline)?;
    let lock = place.lock(left())?;
    let now = roots(store)?;
    // An event took a snapshot meanwhile, which may borrow other objects.
    if now != before {
        settled.add(snapshots.adopt_packs(&place.root, &now, deadline)?);
    }
    snapshots.give_back()?;
    drop(lock);
    tell(store, place, &settled)
}

/// Like the above, for a caller that holds the workspace's lock. Returns a note on what is lost.
pub(crate) fn under_lock(store: &mut Store, place: &Place) -> Result<Option<Note>> {
    let snapshots = place.snapshots()?;
    if !snapshots.borrows_now()? {
        return Ok(None);
    }
    let roots = sessions::roots(store.database.connection(), place.row.id)?;
    let settled = snapshots.adopt_packs(&place.root, &roots, None)?;
    snapshots.give_back()?;
    tell(store, place, &settled)?;
    Ok(lost(&settled))
}

/// Returns the note on what is lost.
fn lost(settled: &AdoptionResult) -> Option<Note> {
    let files = settled.missing.iter().map(|(id, path)| match path {
        Some(path) => format!("`{}`", String::from_utf8_lossy(path)),
        None => format!("object `{id}`"),
    });
    note::on(files.collect(), |files| Note::BorrowedLost { files })
}

fn tell(store: &mut Store, place: &Place, settled: &AdoptionResult) -> Result<()> {
    let Some(message) = lost(settled) else {
        return Ok(());
    };
    let workspace = place.root.to_string_lossy().into_owned();
    store.diagnose(&Diagnostic {
        level: DiagnosticLevel::Error,
        workspace: Some(&workspace),
        message: &message.to_string(),
        detail: Some("a revert that needs it is refused, and names the files"),
        ..Diagnostic::default()
    })
}
