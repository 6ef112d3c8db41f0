//! Names ignored paths in which something changed while the agent worked. They were never captured, so no revert puts
//! them back, and hooks do not look into ignored folders. What remains are the times of the files there. This module
//! does IO, but only reads, and never through a link.

use std::collections::{BTreeSet, VecDeque};
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::fs::times;
use crate::model::Milliseconds;
use crate::model::note::{self, Note};
use crate::model::path::WorkspacePath;
use crate::revert::request::movement::WholeRevert;
use crate::sessions::{self, WorkTimes};
use crate::store::Store;
use crate::timeline::Place;
use crate::timeline::evidence::TICK;

/// How many files are looked at. A folder of packages may have many more, but what a command does to it shows at its
/// top.
const MOST: usize = 50_000;

/// How many files of a folder that came are named one by one.
const MOST_FILES_NAMED: usize = 100;

/// What changed while an agent worked.
#[derive(Debug, Default)]
pub(super) struct TouchedPaths {
    pub notes: Vec<Note>,
    pub paths: Vec<WorkspacePath>,
}

/// Names those of the ignored paths that changed, or in which something did, while a command of the message that a
/// revert goes back to, or of a later one, may have been running, and those that were `moved_before`. Folders that it
/// cannot look through whole are named apart. It is unclear who made these changes.
pub(super) fn notes(
    store: &Store,
    place: &Place,
    revert: WholeRevert<'_>,
    ignored: &BTreeSet<WorkspacePath>,
    moved_before: &BTreeSet<WorkspacePath>,
) -> Result<TouchedPaths> {
    let paths: Vec<&WorkspacePath> = ignored.iter().collect();
    if paths.is_empty() {
        return Ok(TouchedPaths::default());
    }
    let connection = store.database.connection();
    let work = sessions::free_work_since(connection, &revert.session.id, revert.since)?;
    if work.steps.is_empty() {
        return Ok(TouchedPaths::default());
    }
    let search = TouchedSearch {
        work: &work,
        file_times: store.surroundings.file_times,
        now: store.now(),
        device: place.device()?,
    };
    let mut findings = search.look(&place.root, &paths, MOST);
    for (path, finding) in paths.iter().zip(&mut findings) {
        if moved_before.contains(*path) {
            finding.touched = Touched::Yes;
        }
    }
    // A folder is not named beside what is in it.
    let is_touched = |(_, finding): &(_, &TouchedFinding)| finding.touched == Touched::Yes;
    let touched = paths.iter().zip(&findings).filter(is_touched);
    let above = WorkspacePath::all_above(touched.map(|(path, _)| *path));
    for (path, finding) in paths.iter().zip(&mut findings) {
        if above.contains(*path) {
            finding.touched = Touched::No;
        }
    }
    let texts = |wanted: Touched| -> Vec<String> {
        let found = paths.iter().zip(&findings);
        let found = found.filter(|(_, finding)| finding.touched == wanted);
        found.map(|(path, finding)| finding.name(path)).collect()
    };
    let changed = paths.iter().zip(&findings);
    let changed = changed.filter(|(_, found)| found.touched == Touched::Yes);
    let changed: Vec<WorkspacePath> = changed.map(|(path, _)| (*path).clone()).collect();
    let names = texts(Touched::Yes);
    let below = changed.iter();
    let below = below.flat_map(|path| files_below(place, path, |file| search.is_touched(file)));
    let files = below.collect();
    let notes = [
        note::on(names, |paths| Note::IgnoredChanged { paths, files }),
        note::on(texts(Touched::Unknown), |folders| Note::IgnoredUnsearched {
            folders,
        }),
    ];
    Ok(TouchedPaths {
        paths: changed,
        notes: notes.into_iter().flatten().collect(),
    })
}

/// Returns some paths, and after each folder the files in it. Of a folder with many, it returns the folder alone.
pub(super) fn files_in(place: &Place, paths: &BTreeSet<WorkspacePath>) -> Vec<String> {
    let mut all = Vec::new();
    for path in paths {
        all.push(path.to_text());
        all.extend(files_below(place, path, |_| true));
    }
    all
}

/// Returns the files below a path that are meant. Of a folder with many, it returns none.
fn files_below(
    place: &Place,
    path: &WorkspacePath,
    is_meant: impl Fn(&Metadata) -> bool,
) -> Vec<String> {
    let (mut found, mut folders) = (Vec::new(), vec![path.clone()]);
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(folder.on_disk(&place.root));
        for entry in entries.into_iter().flatten().flatten() {
            let Ok(below) = folder.join(entry.file_name().as_bytes()) else {
                continue;
            };
            match entry.metadata() {
                Ok(found) if found.is_dir() => folders.push(below),
                Ok(file) => {
                    files += 1;
                    found.extend(is_meant(&file).then_some(below));
                }
                Err(_) => {}
            }
        }
        if files + folders.len() > MOST_FILES_NAMED {
            return Vec::new();
        }
    }
    found.sort_unstable();
    found.iter().map(WorkspacePath::to_text).collect()
}

/// Whether something changed at a path or below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Touched {
    No,
    Yes,
    /// Not all of it was looked at.
    Unknown,
}

/// What was found at a path.
#[derive(Clone, Copy, Debug)]
struct TouchedFinding {
    touched: Touched,
    is_directory: bool,
}

impl TouchedFinding {
    fn name(self, path: &WorkspacePath) -> String {
        let slash = if self.is_directory { "/" } else { "" };
        format!("{}{slash}", path.to_text())
    }
}

struct TouchedSearch<'a> {
    work: &'a WorkTimes,
    /// Turns a time of a file into one of the clock of rows.
    file_times: fn(Milliseconds) -> Milliseconds,
    now: Milliseconds,
    /// What is mounted in a folder is not the workspace's.
    device: u64,
}

impl TouchedSearch<'_> {
    /// Looks at paths and, level by level, at what is below them, at no more than `most` files.
    fn look(&self, root: &Path, paths: &[&WorkspacePath], most: usize) -> Vec<TouchedFinding> {
        let mut findings = Vec::new();
        let mut folders: VecDeque<(usize, PathBuf)> = VecDeque::new();
        for (number, path) in paths.iter().enumerate() {
            let at = path.on_disk(root);
            let found = at.symlink_metadata().ok();
            let is_directory = found.as_ref().is_some_and(|found| self.may_enter(found));
            let is_touched = found.is_some_and(|found| self.is_touched(&found));
            let touched = if is_touched {
                Touched::Yes
            } else {
                Touched::No
            };
            findings.push(TouchedFinding {
                touched,
                is_directory,
            });
            if is_directory {
                folders.push_back((number, at));
            }
        }
        let mut left = most;
        // Level by level: the limit then is spent on what lies on top, which people know, and not on one deep folder.
        while let Some((number, folder)) = folders.pop_front() {
            // One touched file says that something in there was touched. The rest of it need not be read.
            if findings[number].touched != Touched::No {
                continue;
            }
            let below = self.look_in(folder, &mut left);
            findings[number].touched = below.touched;
            folders.extend(below.folders.into_iter().map(|folder| (number, folder)));
        }
        findings
    }

    /// Looks at the entries of a folder. One that is gone or cannot be read shows nothing.
    fn look_in(&self, folder: PathBuf, left: &mut usize) -> FolderLook {
        let mut look = FolderLook {
            touched: Touched::No,
            folders: Vec::new(),
        };
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if *left == 0 {
                look.touched = Touched::Unknown;
                break;
            }
            *left -= 1;
            // `DirEntry::metadata` does not follow links.
            let Ok(found) = entry.metadata() else {
                continue;
            };
            if self.is_touched(&found) {
                look.touched = Touched::Yes;
                break;
            }
            if self.may_enter(&found) {
                look.folders.push(entry.path());
            }
        }
        look
    }

    fn may_enter(&self, found: &Metadata) -> bool {
        found.is_dir() && found.dev() == self.device
    }

    /// Returns whether something last changed while a command may have been running. A time in the future shows
    /// nothing.
    fn is_touched(&self, found: &Metadata) -> bool {
        // Programs set `mtime` as they like, and those that unpack archives set it to the past; `ctime` is the
        // kernel's.
        let at = (self.file_times)(times::changed(found));
        at <= self.now + TICK && self.work.holds(at)
    }
}

/// What the entries of a folder show.
struct FolderLook {
    touched: Touched,
    folders: Vec<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Folders are looked through level by level until there are too many files.
    ///
    /// Invariant `truth/ignored-changed`.
    #[test]
    fn folders_are_searched_until_there_are_too_many() {
        let root = tempfile::tempdir().expect("writable");
        for name in ["large/a/1", "large/a/2", "large/a/3", "small/b"] {
            let file = root.path().join(name);
            std::fs::create_dir_all(file.parent().expect("it has one")).expect("writable");
            std::fs::write(file, "x").expect("writable");
        }
        std::os::unix::fs::symlink("large", root.path().join("link")).expect("writable");
        let paths = ["gone", "large", "link", "small"];
        let paths = paths.map(|path| WorkspacePath::new(path).expect("legal"));
        let paths = paths.each_ref();
        let device = root.path().metadata().expect("it is there").dev();
        let look = |steps: Vec<_>, now, most| {
            let work = WorkTimes { sent_at: 0, steps };
            let search = TouchedSearch {
                work: &work,
                file_times: |at| at,
                now,
                device,
            };
            let found = search.look(root.path(), &paths, most);
            found.iter().map(|found| found.touched).collect::<Vec<_>>()
        };
        let (no, yes, unknown) = (Touched::No, Touched::Yes, Touched::Unknown);
        let later = Milliseconds::MAX / 2;
        assert_eq!(look(vec![(0, Some(1))], later, 9), [no; 4], "long ago");
        assert_eq!(
            look(vec![(0, Some(1))], later, 4),
            [no, unknown, no, no],
            "what is below `link` is not its own"
        );
        assert_eq!(look(vec![(0, None)], later, 9), [no, yes, yes, yes]);
        assert_eq!(
            look(vec![(0, None)], 1, 9),
            [no; 4],
            "times to come show nothing"
        );
    }
}
