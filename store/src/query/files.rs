//! How many files a message changed, where its rows alone do not tell: a renamed file is one file, and what a message
//! made and took away again does not count. `show` lists the same.

use std::collections::BTreeSet;
use std::path::Path;

use ckpt_schema::report::ChangeReport;
use rusqlite::Connection;

use super::{compare, net_changes, renames};
use crate::error::Result;
use crate::fs::layout;
use crate::model::attribution::Attribution;
use crate::sessions::{self, ChangeRow, Contents, Totals};
use crate::snapshot::Snapshots;

/// How many files a message changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FileCount {
    /// Those that are not unclear.
    pub files: u64,
    pub unclear: u64,
    /// The lines that renamed files have added and lost as two files each, and as one.
    pub as_two: LineCount,
    pub as_one: LineCount,
}

/// Lines added and removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LineCount {
    pub additions: u64,
    pub deletions: u64,
}

impl FileCount {
    /// Replaces in the sums of a message what rows alone say about its files.
    pub fn correct(self, totals: &mut Totals) {
        (totals.files, totals.unclear) = (self.files, self.unclear);
        let exchange = |lines: u64, two: u64, one: u64| lines.saturating_sub(two) + one;
        let (two, one) = (self.as_two, self.as_one);
        totals.contents = Contents::Counted;
        totals.additions = exchange(totals.additions, two.additions, one.additions);
        totals.deletions = exchange(totals.deletions, two.deletions, one.deletions);
    }
}

/// Counts the files of a message with so many steps, a renamed one once.
pub(super) fn count(
    connection: &Connection,
    snapshots: &Snapshots,
    message: &str,
    steps: u64,
) -> Result<FileCount> {
    let rows = sessions::changes_of_message(connection, message)?;
    Ok(counted(snapshots, &net_changes::of_message(rows, steps)))
}

/// Counts the files of one step, a renamed one once.
pub(super) fn of_step(
    connection: &Connection,
    snapshots: &Snapshots,
    step: &str,
) -> Result<FileCount> {
    let rows = sessions::changes_of_step(connection, step)?;
    Ok(counted(snapshots, &rows))
}

fn counted(snapshots: &Snapshots, rows: &[ChangeRow]) -> FileCount {
    let files = rows.iter().map(compare::without_bytes).collect();
    different(&renames::with_renames(snapshots, files))
}

fn different(files: &[ChangeReport]) -> FileCount {
    let unclear = Attribution::Unclear.name();
    let is_unclear = |file: &&ChangeReport| file.attribution.as_deref() == Some(unclear);
    let listed = || files.iter().filter(|file| file.renamed_to.is_none());
    let paths = |files: Vec<&ChangeReport>| {
        let paths: BTreeSet<_> = files.into_iter().map(|file| &file.path).collect();
        paths.len() as u64
    };
    let sure: Vec<&ChangeReport> = files.iter().filter(|file| !is_unclear(file)).collect();
    let (as_two, as_one) = lines_of_renames(&sure);
    FileCount {
        files: paths(listed().filter(|file| !is_unclear(file)).collect()),
        unclear: paths(listed().filter(is_unclear).collect()),
        as_two,
        as_one,
    }
}

/// Returns the lines of renamed files, as two files each and as one.
fn lines_of_renames(files: &[&ChangeReport]) -> (LineCount, LineCount) {
    let (mut as_two, mut as_one) = (LineCount::default(), LineCount::default());
    for new in files {
        let Some(rename) = &new.renamed_from else {
            continue;
        };
        let Some(old) = files.iter().find(|old| renames::became(old, new)) else {
            continue;
        };
        let counts = [
            old.deletions,
            new.additions,
            rename.additions,
            rename.deletions,
        ];
        // What several steps did to a path has no count of its own.
        if let [Some(gone), Some(come), Some(additions), Some(deletions)] = counts {
            as_two.deletions += gone;
            as_two.additions += come;
            as_one.additions += additions;
            as_one.deletions += deletions;
        }
    }
    (as_two, as_one)
}

/// Opens the snapshots of a workspace, if there are any. Who only counts makes nothing, and counts without what cannot
/// be read.
pub(super) fn snapshots(folder: &Path) -> Option<Snapshots> {
    let is_there = layout::holds_objects(folder).unwrap_or(false);
    is_there.then(|| Snapshots::open(folder).ok()).flatten()
}
