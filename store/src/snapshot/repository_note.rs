//! What a repository itself says about its snapshots, in case the session store is lost. This module does IO.
//!
//! ```text
//! every snapshot that stores anything ──► a commit in its pack
//! gc, settle, the end of a session ─────► the note beside the refs, of what the rows name
//! ```
//!
//! What `gc` repacks has no commits: by then, the note says all that they did. A commit counts only if it contains the
//! workspace's key: packs that were cloned from the user's repository may hold other commits.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::pending_removal::Forgetting;
use super::scan::sink::Sink;
use super::{Request, Snapshot, Snapshots};
use crate::error::Result;
use crate::model::entry::ObjectId;
use crate::model::repository_note::{self, NotedSnapshot, NotedWorkspace, WorkspaceOrigin};
use crate::model::{Milliseconds, millisecond_of};
use crate::objects::hash::ObjectKind;
use crate::objects::pack::read::PackFile;
use crate::objects::reader::ObjectReader;
use crate::objects::refs;
use crate::objects::tree::TreeMode;

/// The author of the commits, as git writes it.
const AUTHOR: &str = "ckpt-hook <>";

/// What comes between the front of such a commit and the note.
const TITLE: &str = "\n\nA snapshot of a workspace\n\n";

/// Adds the commit of a snapshot to its pack, if its directory is known.
pub(super) fn add(
    sink: &Sink<'_>,
    request: &Request<'_>,
    snapshot: Snapshot,
    gaps: u64,
) -> Result<()> {
    let Some(origin) = request.origin else {
        return Ok(());
    };
    let taken_at: Milliseconds = millisecond_of(request.now);
    let note = NotedSnapshot {
        snapshot,
        gaps,
        has_forgotten: false,
        taken_at,
    };
    let commit = commit(origin, note);
    sink.add(ObjectKind::Commit, commit.as_bytes()).map(drop)
}

fn commit(origin: WorkspaceOrigin<'_>, note: NotedSnapshot) -> String {
    let (tree, seconds) = (note.snapshot.tree, note.taken_at / 1000);
    let text = repository_note::encode(origin, &[note]);
    format!(
        "tree {tree}\nauthor {AUTHOR} {seconds} +0000\ncommitter {AUTHOR} {seconds} +0000{TITLE}{text}"
    )
}

/// Parses such a commit. `None` for any other.
fn read_commit(bytes: &[u8]) -> Option<(NotedWorkspace, NotedSnapshot)> {
    let (front, text) = std::str::from_utf8(bytes).ok()?.split_once(TITLE)?;
    let (workspace, snapshots) = repository_note::decode(text)?;
    let [snapshot] = <[_; 1]>::try_from(snapshots).ok()?;
    let is_ours = front.starts_with(&format!(
        "tree {}\nauthor {AUTHOR} ",
        snapshot.snapshot.tree
    ));
    is_ours.then_some((workspace, snapshot))
}

impl Snapshots {
    /// Notes what rows say about snapshots, in case the session store is lost.
    pub(crate) fn write_note(
        &self,
        origin: WorkspaceOrigin<'_>,
        snapshots: &[NotedSnapshot],
    ) -> Result<()> {
        refs::write_note(
            self.objects.repository(),
            &repository_note::encode(origin, snapshots),
        )
    }

    /// Returns the notes on the snapshots, in the order in which they were taken, and the number of those that are no
    /// longer complete. `None` if nothing says which directory they belong to.
    pub(crate) fn noted(
        &self,
        key: &str,
    ) -> Result<Option<(NotedWorkspace, Vec<NotedSnapshot>, usize)>> {
        let objects = &self.objects;
        let reader = objects.reader()?;
        reader.refresh()?;
        let read_note = || refs::read_note(objects.repository());
        // Twice, as in `unreadable`: a call may fail by chance, and the note is the only trace of what `gc`
        // repacked.
        let note = read_note().or_else(read_note);
        let note = note.and_then(|text| repository_note::decode(&text));
        let (mut workspace, mut snapshots) =
            match note.filter(|(workspace, _)| workspace.key == key) {
                Some((workspace, snapshots)) => (Some(workspace), snapshots),
                None => (None, Vec::new()),
            };
        let forgetting = Forgetting::read(&self.directory)?;
        snapshots
            .iter_mut()
            .for_each(|snapshot| forgetting.apply(snapshot));
        let mut since: Vec<(NotedWorkspace, NotedSnapshot)> = commits(&reader)
            .filter(|(workspace, _)| workspace.key == key)
            .map(|(workspace, mut snapshot)| {
                forgetting.apply(&mut snapshot);
                (workspace, snapshot)
            })
            // The commit of a snapshot that the note has is in a pack until `gc` writes that anew.
            .filter(|(_, snapshot)| !snapshots.iter().any(|known| known.is_like(snapshot)))
            .collect();
        since.sort_by_key(|(_, snapshot)| snapshot.taken_at);
        for (of, snapshot) in since {
            workspace = Some(of);
            snapshots.push(snapshot);
        }
        let all = snapshots.len();
        let mut broken = unreadable(&reader, &snapshots);
        if !broken.is_empty() {
            broken = unreadable(&reader, &snapshots);
        }
        snapshots.retain(|NotedSnapshot { snapshot, .. }| {
            let records = [
                Some(snapshot.tree),
                snapshot.attributes,
                snapshot.rules,
                snapshot.seen,
            ];
            !records.iter().flatten().any(|id| broken.contains(id))
        });
        let lost = all - snapshots.len();
        Ok(workspace.map(|workspace| (workspace, snapshots, lost)))
    }

    /// Returns the notes of newer packs on snapshots that were taken later than this.
    pub(crate) fn noted_since(&self, key: &str, since: Milliseconds) -> Result<Vec<NotedSnapshot>> {
        let reader = self.objects.reader()?;
        reader.refresh()?;
        let is_newer = |pack: &&Arc<PackFile>| pack.written_at().is_none_or(|at| at >= since);
        let packs: Vec<_> = reader.packs().all_own().filter(is_newer).cloned().collect();
        let all = packs.iter().flat_map(|pack| pack.commits());
        Ok(all
            .filter_map(|bytes| read_commit(&bytes))
            .filter(|(workspace, snapshot)| workspace.key == key && snapshot.taken_at > since)
            .map(|(_, snapshot)| snapshot)
            .collect())
    }

    /// Returns the directory that the snapshots belong to, as bytes, if anything says so.
    pub(crate) fn noted_path(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let objects = &self.objects;
        let reader = objects.reader()?;
        reader.refresh()?;
        let note = refs::read_note(objects.repository());
        let note = note.and_then(|text| repository_note::decode(&text));
        let all = note.map(|(workspace, _)| workspace).into_iter();
        let mut all = all.chain(commits(&reader).map(|(workspace, _)| workspace));
        Ok(all
            .find(|workspace| workspace.key == key)
            .map(|workspace| workspace.path))
    }
}

/// Returns the notes in all packs of our own.
fn commits(reader: &ObjectReader) -> impl Iterator<Item = (NotedWorkspace, NotedSnapshot)> {
    let packs: Vec<_> = reader.packs().all_own().cloned().collect();
    let all = packs.into_iter();
    all.flat_map(|pack| pack.commits())
        .filter_map(|bytes| read_commit(&bytes))
}

/// Returns the objects of snapshots that are missing, and the trees that lead to one or cannot be read. No blob is
/// read. Only what fails twice counts, because a call may fail by chance.
fn unreadable(reader: &ObjectReader, snapshots: &[NotedSnapshot]) -> HashSet<ObjectId> {
    let mut broken = HashSet::new();
    let mut below: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
    let mut blobs: Vec<ObjectId> = Vec::new();
    for NotedSnapshot { snapshot, .. } in snapshots {
        let records = [snapshot.attributes, snapshot.rules, snapshot.seen];
        blobs.extend(records.into_iter().flatten());
        let mut rest = vec![snapshot.tree];
        while let Some(id) = rest.pop() {
            if id == ObjectId::EMPTY_TREE || below.contains_key(&id) {
                continue;
            }
            let Ok(entries) = reader.tree(id) else {
                broken.insert(id);
                below.insert(id, Vec::new());
                continue;
            };
            let (trees, files): (Vec<_>, Vec<_>) = entries
                .iter()
                .partition(|entry| entry.mode == TreeMode::Tree);
            rest.extend(trees.iter().map(|entry| entry.id));
            blobs.extend(files.iter().map(|entry| entry.id));
            below.insert(id, entries.iter().map(|entry| entry.id).collect());
        }
    }
    blobs.sort_unstable();
    blobs.dedup();
    // Only whether they are there, by the indexes: reading every blob of a long history would take minutes.
    let are_there = reader.packs().found(&blobs);
    let gone = blobs
        .iter()
        .zip(are_there)
        .filter(|(_, is_there)| !is_there);
    broken.extend(gone.map(|(id, _)| *id));
    loop {
        let leads = |ids: &[ObjectId]| ids.iter().any(|id| broken.contains(id));
        let more: Vec<ObjectId> = below
            .iter()
            .filter(|(id, ids)| !broken.contains(id) && leads(ids))
            .map(|(id, _)| *id)
            .collect();
        if more.is_empty() {
            return broken;
        }
        broken.extend(more);
    }
}
