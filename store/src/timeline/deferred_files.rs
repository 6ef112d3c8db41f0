//! What a look had no time for: a file that it did not read, which a later look does; but what it was when its step ended,
//! no look saw. Or a change that it did not date. Pure.

use std::collections::HashSet;

use super::evidence::Doubt;
use crate::error::{Error, Result};
use crate::model::Milliseconds;
use crate::model::attribution::Attribution;
use crate::model::entry::{Change, Entry};
use crate::model::gap::{Gap, GapReason};
use crate::model::path::{WorkspacePath, above};
use crate::sessions::{ChangeRow, OpenStep};

/// The files that a look did not read in time, and the directories that it did not list, or the changes that it did not date.
#[derive(Clone, Debug, Default)]
pub(crate) struct LatePaths(HashSet<Vec<u8>>);

impl LatePaths {
    /// Collects those among the gaps of a look.
    pub fn of(gaps: &[Gap]) -> Self {
        let late = gaps.iter().filter(|gap| gap.reason == GapReason::Late);
        Self(late.map(|gap| gap.path.clone()).collect())
    }

    /// All paths: a look was missed.
    pub fn all() -> Self {
        Self(HashSet::from([Vec::new()]))
    }

    pub fn add(&mut self, path: &WorkspacePath) {
        self.0.insert(path.as_bytes().to_vec());
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn hold(&self, path: &WorkspacePath) -> bool {
        let path = path.as_bytes();
        self.0.contains(path) || above(path).any(|directory| self.0.contains(directory))
    }

    /// Drops the changes that are none: what is older than the workspace's first look was there at it, though only now a
    /// look had the time to read it.
    pub fn drop_unchanged(&self, rows: &mut Vec<ChangeRow>, is_older: impl Fn(&Change) -> bool) {
        let is_known = |entry: Option<Entry>| entry.is_some_and(|entry| entry.blob.is_some());
        rows.retain(|row| {
            row.step_id.is_some()
                || is_known(row.change.old)
                || !self.hold(&row.change.path)
                || !is_older(&row.change)
        });
    }

    /// Makes the changes unclear that are, by their times, of steps that had ended when they were read at last.
    pub fn doubt_ended(&self, rows: &mut [ChangeRow], ended: &[(OpenStep, Milliseconds)]) {
        let ended: HashSet<&str> = ended.iter().map(|(step, _)| &step.row.id[..]).collect();
        let is_ended =
            |row: &ChangeRow| row.step_id.as_deref().is_some_and(|id| ended.contains(id));
        self.doubt(rows, is_ended, Doubt::Late);
    }

    /// Makes the changes unclear that are a step's if the events alone decide. Of steps that had `ended`, only times tell.
    pub fn doubt_untimed(&self, rows: &mut [ChangeRow], ended: bool) -> Result<()> {
        if ended && !self.is_empty() {
            return Err(Error::late("what changed was not dated in time"));
        }
        self.doubt(rows, |_| true, Doubt::Untimed);
        Ok(())
    }

    fn doubt(&self, rows: &mut [ChangeRow], is_doubted: impl Fn(&ChangeRow) -> bool, why: Doubt) {
        for row in rows {
            let is_taken = row.attribution == Attribution::Agent;
            if is_taken && is_doubted(row) && self.hold(&row.change.path) {
                row.attribution = Attribution::Unclear;
                row.reason = Some(why.to_string());
            }
        }
    }
}
