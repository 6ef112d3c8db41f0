//! `cat`: the bytes of one file in a captured state.

use std::path::Path;

use ckpt_schema::report::{CatReport, VERSION};

use super::blame::one_path;
use crate::error::{Error, Result};
use crate::model::entry::EntryKind;
use crate::model::gap::Gap;
use crate::model::hex::Hex;
use crate::model::path::WorkspacePath;
use crate::revert;
use crate::sessions;
use crate::store::Store;
use crate::timeline::Place;

/// A file in a captured state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedFile {
    /// The report, without the content: that is in `bytes`.
    pub report: CatReport,
    /// Its bytes, or the target of a link.
    pub bytes: Vec<u8>,
}

impl CapturedFile {
    /// Returns the report with the content in it.
    pub fn document(&self) -> CatReport {
        let text = std::str::from_utf8(&self.bytes).ok().map(str::to_owned);
        CatReport {
            content_hex: text.is_none().then(|| Hex(&self.bytes).to_string()),
            content: text,
            ..self.report.clone()
        }
    }
}

/// Reads a path in the state that `restore` takes an id for: a snapshot, or the state just before a message, step or
/// operation.
pub(crate) fn cat(store: &Store, cwd: &Path, id: &str, named: &Path) -> Result<CapturedFile> {
    let place = Place::known(store, cwd)?;
    let path = one_path(&place, named)?;
    let snapshot_id = revert::snapshot_named(store, &place, id)?;
    let row = sessions::snapshot(store.database.connection(), snapshot_id)?;
    let snapshot = row.snapshot;
    let snapshots = place.snapshots()?;
    let state = snapshots
        .states(&snapshot, std::slice::from_ref(&path))?
        .pop();
    let Some(entry) = state.flatten() else {
        let are_directories = snapshots.are_directories(&snapshot, std::slice::from_ref(&path))?;
        if are_directories.contains(&true) {
            return Err(directory(&path));
        }
        return Err(missing(&snapshots.gaps(&snapshot)?, &path));
    };
    let kind = entry.mode.kind();
    if kind == EntryKind::Directory {
        return Err(directory(&path));
    }
    let Some(blob) = entry.blob else {
        return Err(missing(&snapshots.gaps(&snapshot)?, &path));
    };
    let bytes = snapshots.read_blob(blob)?;
    Ok(CapturedFile {
        report: CatReport {
            version: VERSION,
            path: path.to_report(),
            snapshot: row.snapshot.tree.to_string(),
            mode: entry.mode.to_string(),
            link: kind == EntryKind::Symlink,
            blob: blob.to_string(),
            size: bytes.len() as u64,
            content: None,
            content_hex: None,
        },
        bytes,
    })
}

fn directory(path: &WorkspacePath) -> Error {
    Error::failed(format!(
        "`{}` is a directory in that state",
        path.to_text().escape_debug()
    ))
    .hint("give one of its files; `ckpt-hook restore ID PATH` puts a whole directory back")
}

/// Says why a path is missing. A path that the snapshot could not hold is different from one that did not exist.
fn missing(gaps: &[Gap], path: &WorkspacePath) -> Error {
    let name = path.to_text();
    let name = name.escape_debug();
    match gaps.iter().find(|gap| gap.covers(path)) {
        Some(gap) => Error::unavailable(format!(
            "that state does not hold `{name}`: {}",
            gap.reason
        )),
        None => Error::unavailable(format!("there is no `{name}` in that state")).hint(
            "`ckpt-hook diff ID` lists what changed since; an ignored file is captured only if `keep_ignored` lists it or an edit tool named it",
        ),
    }
}
