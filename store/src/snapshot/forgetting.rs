//! What is being forgotten, noted beside the repository until its objects are gone. This module does IO.
//!
//! Rows name the trees without it at once; packs and what they note of snapshots have the former ones until they are written anew. If
//! whoever forgets is killed in between and the session store is lost then, this note keeps the former ones from being known again.

use std::collections::HashMap;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use super::{RewrittenRules, Snapshots};
use crate::error::{Context, Result};
use crate::fs::layout::{open_private, sync};
use crate::fs::presence;
use crate::model::entry::ObjectId;
use crate::model::noted::NotedSnapshot;
use crate::snapshot::Rewritten;

/// The name of the note.
const NAME: &str = "forgetting";

/// What takes the place of former trees and rules.
#[derive(Debug, Default)]
pub(super) struct Replaced(HashMap<ObjectId, ObjectId>);

impl Replaced {
    /// Reads the note of a workspace's folder; without one nothing is replaced. A line that was not written to its end names nothing.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(NAME);
        if presence::metadata(&path)?.is_none() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(&path)
            .context(|| format!("cannot read `{}`", path.display()))?;
        let pairs = text.lines().filter_map(|line| {
            let (old, new) = line.split_once(' ')?;
            Some((ObjectId::from_hex(old)?, ObjectId::from_hex(new)?))
        });
        Ok(Self(pairs.collect()))
    }

    /// Puts what is forgotten out of a snapshot that was noted before.
    pub(super) fn apply(&self, snapshot: &mut NotedSnapshot) {
        snapshot.tree = self.last(snapshot.tree);
        snapshot.rules = snapshot.rules.map(|rules| self.last(rules));
    }

    /// More may have been forgotten of what took its place.
    fn last(&self, mut id: ObjectId) -> ObjectId {
        for _ in 0..=self.0.len() {
            match self.0.get(&id) {
                Some(new) => id = *new,
                None => break,
            }
        }
        id
    }
}

impl Snapshots {
    /// Notes, synced, which trees and rules are about to be forgotten, and what takes their places. The caller holds the workspace's lock.
    pub(crate) fn note_forgetting(
        &self,
        trees: &[Rewritten],
        rules: &[RewrittenRules],
    ) -> Result<()> {
        let pairs = trees.iter().map(|one| (one.old, one.new));
        let pairs = pairs.chain(rules.iter().map(|one| (one.old, one.new)));
        let lines: String = pairs.map(|(old, new)| format!("{old} {new}\n")).collect();
        if lines.is_empty() {
            return Ok(());
        }
        let path = self.directory.join(NAME);
        let what = || format!("cannot write `{}`", path.display());
        let mut file = open_private(&path)?;
        file.seek(SeekFrom::End(0)).context(what)?;
        // After a line that a killed process began.
        file.write_all(b"\n").context(what)?;
        file.write_all(lines.as_bytes()).context(what)?;
        file.sync_all().context(what)?;
        sync(&self.directory)
    }

    /// Returns whether something is being forgotten, as far as is noted.
    pub(crate) fn is_forgetting(&self) -> Result<bool> {
        Ok(presence::metadata(&self.directory.join(NAME))?.is_some())
    }

    /// Removes the note: the objects are gone. The caller holds the workspace's lock.
    pub(crate) fn end_forgetting(&self) -> Result<()> {
        presence::remove_file(&self.directory.join(NAME))
    }
}
