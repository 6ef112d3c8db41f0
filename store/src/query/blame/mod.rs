//! `blame`: which prompt wrote each line of a file.

mod trace;
mod versions;

use std::path::Path;

use ckpt_schema::report::{BlameHunk, BlameReport, BlameStep, LineAuthor, VERSION};

use crate::error::{Error, Result};
use crate::lines;
use crate::model::attribution::Attribution;
use crate::model::entry::ObjectId;
use crate::model::path::WorkspacePath;
use crate::objects::hash::blob_id;
use crate::sessions::{self, FileChange};
use crate::snapshot::Now;
use crate::store::Store;
use crate::timeline::Place;
use trace::{FileState, Origin, trace};
use versions::{FileHistories, VersionAuthor, WrittenVersion, content, last_content};

/// The answer to `blame`, with the file that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blame {
    /// The lines, in hunks that one author wrote.
    pub report: BlameReport,
    /// The bytes of the file now.
    pub bytes: Vec<u8>,
}

/// Traces each line of a file of the workspace that holds a directory to who wrote it.
pub(crate) fn blame(store: &Store, cwd: &Path, named: &Path) -> Result<Blame> {
    let place = Place::known(store, cwd)?;
    let path = one_path(&place, named)?;
    let snapshots = place.snapshots()?;
    let bytes = file_now(
        &snapshots.read_now(&place.root, &path, lines::MAX_SIZE as u64)?,
        &path,
    )?;
    let history = FileHistories {
        connection: store.database.connection(),
        snapshots: &snapshots,
        workspace_id: place.row.id,
    };
    let mut versions = store.database.read(|_| history.versions(&path))?;
    let now = blob_id(&bytes);
    end_with_now(store, &place, &path, now, &mut versions)?;
    let is_short = |size: u64| size <= lines::MAX_SIZE as u64;
    // Only the sizes are read here. The trace reads the contents of those versions that it needs.
    let is_readable = |blob| blob == now || snapshots.blob_size(blob).is_ok_and(is_short);
    set_aside_unreadable(&mut versions, is_readable);
    let list: Vec<FileState<ObjectId>> = versions.iter().map(|one| one.version.clone()).collect();
    let owners = trace(&list, |blob| {
        if blob == now {
            return bytes.clone();
        }
        snapshots
            .read_version_up_to(blob, lines::MAX_SIZE as u64)
            .ok()
            .flatten()
            .unwrap_or_default()
    });
    Ok(Blame {
        report: BlameReport {
            version: VERSION,
            path: path.to_report(),
            lines: owners.len() as u64,
            hunks: hunks(&owners, &versions, &path),
            contents: None,
        },
        bytes,
    })
}

/// Returns the path that a user named, which is not the workspace itself.
pub(super) fn one_path(place: &Place, named: &Path) -> Result<WorkspacePath> {
    place
        .paths_asked_for(&[named.to_owned()])?
        .into_iter()
        .next()
        .ok_or_else(|| {
            Error::usage(format!(
                "`{}` is the workspace, not a file",
                named.display()
            ))
        })
}

fn file_now(now: &Now, path: &WorkspacePath) -> Result<Vec<u8>> {
    let name = path.to_text();
    let name = name.escape_debug();
    match now {
        Now::File(bytes) if lines::is_binary(bytes) => Err(Error::failed(format!(
            "`{name}` is binary: it has no lines"
        ))),
        Now::File(bytes) => Ok(bytes.clone()),
        Now::TooLarge => Err(Error::failed(format!(
            "`{name}` is too large to be read line by line"
        ))),
        Now::NoFile(kind) => Err(Error::failed(format!(
            "`{name}` is {kind}: it has no lines"
        ))),
        Now::Nothing => Err(Error::unavailable(format!("there is no file `{name}`"))
            .hint("`ckpt-hook recover` brings back a file that is gone")),
    }
}

/// Adds the versions that no change leads to: the newest snapshot's, if the file was there before anything was
/// recorded, and the present one, if no snapshot holds it yet.
fn end_with_now(
    store: &Store,
    place: &Place,
    path: &WorkspacePath,
    now: ObjectId,
    versions: &mut Vec<WrittenVersion>,
) -> Result<()> {
    if let Some(snapshot_id) = place.row.last_snapshot_id {
        let row = sessions::snapshot(store.database.connection(), snapshot_id)?;
        let snapshot = row.snapshot;
        let states = place
            .snapshots()?
            .states(&snapshot, std::slice::from_ref(path))?;
        if let Some(captured) = states
            .into_iter()
            .next()
            .flatten()
            .and_then(|entry| content(Some(entry)))
        {
            add_if_new(versions, path, captured, VersionAuthor::Unrecorded);
        }
    }
    add_if_new(versions, path, now, VersionAuthor::Uncaptured);
    Ok(())
}

/// Adds a version, unless the last one has the same content.
fn add_if_new(
    versions: &mut Vec<WrittenVersion>,
    path: &WorkspacePath,
    content: ObjectId,
    writer: VersionAuthor,
) {
    if last_content(versions) != Some(content) {
        versions.push(WrittenVersion::new(Some(content), writer, path));
    }
}

/// Drops versions whose bytes cannot be read, because they were pruned or forgotten, or are too large. The version after
/// such a one then has no known author: which of its lines were there before is not known any more.
fn set_aside_unreadable(versions: &mut [WrittenVersion], is_readable: impl Fn(ObjectId) -> bool) {
    let mut next = None;
    for written in versions.iter_mut().rev() {
        let is_lost = written.writer == VersionAuthor::Unreadable;
        match written.version.content {
            content if is_lost || content.is_some_and(|it| !is_readable(it)) => {
                written.version = FileState {
                    content: next,
                    origin: Origin::Written,
                    is_reverted: false,
                };
                written.writer = VersionAuthor::Unreadable;
            }
            content => next = content,
        }
    }
}

/// Joins neighbouring lines of the same version into hunks.
fn hunks(owners: &[usize], versions: &[WrittenVersion], path: &WorkspacePath) -> Vec<BlameHunk> {
    let mut start = 1_u64;
    owners
        .chunk_by(|one, other| one == other)
        .map(|chunk| {
            let written = &versions[chunk[0]];
            let hunk = BlameHunk {
                start,
                lines: chunk.len() as u64,
                renamed_from: (written.path != *path).then(|| written.path.to_report()),
                ..hunk(&written.writer)
            };
            start += chunk.len() as u64;
            hunk
        })
        .collect()
}

fn hunk(writer: &VersionAuthor) -> BlameHunk {
    let unknown = BlameHunk {
        start: 0,
        lines: 0,
        by: LineAuthor::Unrecorded,
        steps: Vec::new(),
        operation: None,
        time: None,
        reason: None,
        renamed_from: None,
    };
    match writer {
        VersionAuthor::Unrecorded => unknown,
        VersionAuthor::Unreadable => BlameHunk {
            by: LineAuthor::Unknown,
            reason: Some(
                "older versions of the file were pruned or forgotten, or cannot be read".to_owned(),
            ),
            ..unknown
        },
        VersionAuthor::Uncaptured => BlameHunk {
            by: LineAuthor::Uncaptured,
            ..unknown
        },
        VersionAuthor::Operation(operation) => BlameHunk {
            by: LineAuthor::Operation,
            operation: Some(operation.id.clone()),
            time: Some(operation.time),
            ..unknown
        },
        VersionAuthor::Change(changes) => {
            let Some(first) = changes.first() else {
                return unknown;
            };
            BlameHunk {
                by: match first.attribution {
                    Attribution::Agent => LineAuthor::Agent,
                    Attribution::Shared => LineAuthor::Shared,
                    Attribution::Unclear => LineAuthor::Unclear,
                    Attribution::Outside => LineAuthor::Outside,
                },
                steps: changes.iter().filter_map(step).collect(),
                time: Some(first.time),
                reason: first.reason.clone(),
                ..unknown
            }
        }
    }
}

fn step(change: &FileChange) -> Option<BlameStep> {
    let author = change.author.as_ref()?;
    Some(BlameStep {
        agent: author.agent.clone(),
        session: author.session_id.clone(),
        message: author.message_id.clone(),
        step: author.step_id.clone(),
        prompt: author.prompt.clone(),
        state: author.state,
    })
}
