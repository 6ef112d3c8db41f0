//! Looks whether what `forget` promised is so. This module does IO.

use crate::error::{Error, Result};
use crate::fs::{names, presence};
use crate::model::entry::ObjectId;
use crate::sessions;
use crate::sessions::forget::{self, NamingRows};
use crate::snapshot::Forgetting;
use crate::store::Store;
use crate::timeline::Place;

/// What is promised to be nowhere in the store.
pub(super) enum Promise {
    /// The workspace with this key.
    Whole(String),
    /// A part of the workspace with this id.
    Part(i64, Forgetting),
}

impl Promise {
    /// The key of a workspace that goes whole.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Whole(key) => Some(key),
            Self::Part(..) => None,
        }
    }
}

/// Fails, and says where, if anything of what was promised to be gone is still there.
pub(super) fn check(store: &Store, promises: &[Promise]) -> Result<()> {
    let directory = &store.surroundings.directory;
    let mut left = sessions::copies(directory)?;
    left.extend(sessions::unfinished(directory)?);
    let mut left: Vec<String> = left.iter().map(|path| path.display().to_string()).collect();
    for promise in promises {
        match promise {
            Promise::Whole(key) => {
                let folder = names::workspace(directory, key);
                if presence::metadata(&folder)?.is_some() {
                    left.push(folder.display().to_string());
                }
                let keys = sessions::workspace_keys(store.database.connection())?;
                left.extend(keys.contains(key).then(|| "the session store".to_owned()));
            }
            Promise::Part(id, forgetting) => left.extend(of_part(store, *id, forgetting)?),
        }
    }
    match left.as_slice() {
        [] => Ok(()),
        left => Err(Error::failed("what was to be forgotten is still stored")
            .because(format!("it is in {}", left.join(", ")))
            .hint("`ckpt-hook gc` removes the rest of it")),
    }
}

/// Returns where anything of a part of a workspace is left. What was captured again since is named by rows, and is
/// nothing that was left.
fn of_part(store: &Store, id: i64, forgetting: &Forgetting) -> Result<Option<String>> {
    let connection = store.database.connection();
    let is_blob = |path: &[u8], blob: ObjectId| {
        forgetting
            .blobs
            .get(path)
            .is_some_and(|ids| ids.contains(&blob))
    };
    let roots = sessions::roots(connection, id)?;
    let is_captured_again = forgetting
        .in_trees()
        .any(|one| roots.trees.contains(&one.old.0));
    let is_in_rows = !is_captured_again
        && !forget::blobs(connection, id, &is_blob, NamingRows::Stay)?.is_empty()
        || forget::prompts_of(connection, &forgetting.messages)? > 0;
    if is_in_rows {
        return Ok(Some("the session store".to_owned()));
    }
    let place = Place::of_row(store, sessions::workspace(connection, id)?);
    if !place.has_objects()? {
        return Ok(None);
    }
    let snapshots = place.snapshots()?;
    let is_left = |old: ObjectId| {
        let is_named = roots.trees.contains(&old) || roots.blobs.contains(&old);
        !is_named && !snapshots.is_broken(old)
    };
    let is_in_packs = forgetting.objects().any(is_left);
    Ok(is_in_packs.then(|| snapshots.repository().display().to_string()))
}
