//! Repacks a workspace's objects, and yields to every process that wants the workspace.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{GcOptions, Priority};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::layout;
use crate::objects::repack::{self, OnDamage};
use crate::sessions;
use crate::snapshot::{self, Snapshots};
use crate::store::Store;
use crate::timeline::Place;
use crate::upkeep::{adoption, check};

/// How often it checks whether another process wants the workspace.
const WISH_CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// What becomes of objects that no row names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leftovers {
    /// Young ones stay: a hook stores objects before their rows.
    YoungStay,
    /// All go: something was forgotten, and is among them.
    AllGo,
}

impl Leftovers {
    /// Returns that of a workspace whose packs still hold what was forgotten, or do not.
    pub fn of(is_unswept: bool) -> Self {
        match is_unswept {
            true => Self::AllGo,
            false => Self::YoungStay,
        }
    }
}

/// Packs everything that the rows of a workspace name into one pack, and removes the others.
pub(crate) fn whole(
    store: &mut Store,
    place: &Place,
    how: GcOptions,
    leftovers: Leftovers,
) -> Result<()> {
    let is_unswept = leftovers == Leftovers::AllGo;
    let snapshots = place.snapshots()?;
    if snapshots.borrows_now()? {
        adoption::adopt_now(store, place)?;
        if snapshots.borrows_now()? {
            return Err(Error::failed(
                "what is borrowed from your repository is still being copied",
            ));
        }
    }
    let day = super::policy::MIN_PRUNE_AGE / 1000;
    // A hook stores objects before their rows, so what no row names yet may be a second old.
    let young_since = (!is_unswept).then(|| match how.ages.sweeps {
        true => store.surroundings.now_in_seconds() - day,
        false => i64::MIN,
    });
    let roots = sessions::roots(store.database.connection(), place.row.id)?;
    let way = Politeness::new(&place.folder, how.priority);
    let begin =
        |on_damage| snapshots.begin_repack(&roots, young_since, on_damage, &|| way.is_free());
    let repack = match begin(OnDamage::Refuse) {
        // Healing takes the workspace's lock for as long as it takes.
        Err(error) if (error.is_damage() || is_unswept) && may_heal(&error, how) => {
            check::heal_workspace(store, place)?;
            snapshots.list_packs()?;
            match begin(OnDamage::Refuse) {
                // What is to be forgotten goes, even if it is beside what is lost.
                Err(_) if is_unswept => begin(OnDamage::GiveUp)?,
                // What no row names cannot be healed, and is not missed.
                Err(error) if error.is_damage() => begin(OnDamage::DropLeftovers)?,
                begun => begun?,
            }
        }
        begun => begun?,
    };
    // This comes before the commits go, which say the same about the snapshots. It need not be under the lock: what is
    // recorded meanwhile has its commits in packs that stay. A long history takes a while to write.
    check::name_to_git(store, place)?;
    let left = {
        let _lock = place.lock(how.priority.patience())?;
        // Read again, under the lock: rows that came since the packing began may name what was left out of the pack.
        let roots = sessions::roots(store.database.connection(), place.row.id)?;
        snapshots.end_repack(repack, &roots)?
    };
    remove_in_pieces(place, &snapshots, &left, how)?;
    let _lock = place.lock(how.priority.patience())?;
    snapshots.sweep(young_since)?;
    match is_unswept {
        true => note_swept(store, place),
        false => snapshot::end_forgetting(&place.folder),
    }
}

/// How many files are removed while a process that wants the workspace waits.
const PIECE: usize = 128;
/// How long it is left alone then: longer than a process pauses between two tries to take its lock.
const YIELD_TIME: Duration = Duration::from_millis(15);

/// Removes what is left of packs that are gone. Another process may have the workspace in between, and in the background,
/// the rest then stays: a run finds it once it is a day old.
fn remove_in_pieces(
    place: &Place,
    snapshots: &Snapshots,
    files: &[PathBuf],
    how: GcOptions,
) -> Result<()> {
    let mut pieces = files.chunks(PIECE).peekable();
    while let Some(piece) = pieces.next() {
        let lock = place.lock(how.priority.patience())?;
        snapshots.remove_beside(piece)?;
        drop(lock);
        if pieces.peek().is_none() {
            break;
        }
        std::thread::sleep(YIELD_TIME);
        if how.priority == Priority::Background && layout::is_locked(&place.folder) {
            return Err(repack::stopped());
        }
    }
    Ok(())
}

/// Notes that nothing of what was forgotten of a workspace is stored any more.
pub(crate) fn note_swept(store: &mut Store, place: &Place) -> Result<()> {
    snapshot::end_forgetting(&place.folder)?;
    store
        .database
        .write(|connection| sessions::note_swept(connection, place.row.id))
}

/// Returns whether it makes sense to heal the workspace after an error: not if `gc` gave way, and not in the
/// background.
fn may_heal(error: &Error, how: GcOptions) -> bool {
    how.priority == Priority::Foreground && error.kind != ErrorKind::Busy
}

/// Joins the packs of a workspace if there are many. Entries are copied as they are, whether they are needed or not.
pub(crate) fn join(place: &Place) -> Result<()> {
    if !place.has_objects()? {
        return Ok(());
    }
    let snapshots = place.snapshots()?;
    if snapshots.borrows_now()? {
        return Ok(());
    }
    let way = Politeness::new(&place.folder, Priority::Background);
    let Some(joined) = snapshots.begin_join(&|| way.is_free())? else {
        return Ok(());
    };
    let left = {
        let _lock = place.lock(super::BACKGROUND_LOCK_TIMEOUT)?;
        snapshots.end_join(&joined)?
    };
    let how = GcOptions {
        priority: Priority::Background,
        ..GcOptions::default()
    };
    remove_in_pieces(place, &snapshots, &left, how)
}

/// Watches whether another process holds the workspace's lock.
pub(crate) struct Politeness<'a> {
    folder: &'a Path,
    priority: Priority,
    asked: Cell<Instant>,
}

impl<'a> Politeness<'a> {
    pub(crate) fn new(folder: &'a Path, priority: Priority) -> Self {
        Self {
            folder,
            priority,
            asked: Cell::new(Instant::now()),
        }
    }

    /// Returns whether to go on: no process wants the workspace, or this does not give way.
    pub(crate) fn is_free(&self) -> bool {
        if self.priority == Priority::Foreground || self.asked.get().elapsed() < WISH_CHECK_INTERVAL
        {
            return true;
        }
        self.asked.set(Instant::now());
        !layout::is_locked(self.folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Background work gives way to a process that wants the workspace and work by hand does not.
    #[test]
    fn background_work_gives_way() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let free = |priority| {
            let way = Politeness::new(folder.path(), priority);
            let earlier = Instant::now().checked_sub(WISH_CHECK_INTERVAL);
            way.asked.set(earlier.expect("the clock runs"));
            way.is_free()
        };
        assert!(free(Priority::Background), "nobody wants it");
        let wanted = layout::lock_workspace(folder.path(), Duration::ZERO).expect("it is free");
        assert!(
            !free(Priority::Background),
            "it is asked for every few milliseconds"
        );
        assert!(free(Priority::Foreground), "somebody waits for this");
        drop(wanted);
        assert!(free(Priority::Background));
    }
}
