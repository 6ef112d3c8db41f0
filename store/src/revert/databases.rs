//! Keeps a database and its log together, and leaves them alone while a program has them open. This module does IO.
//!
//! SQLite keeps what is not yet in `x.db` in `x.db-wal` or `x.db-journal`. A file beside another state's log is a
//! damaged database, so all of them go back or none does. A program that has the database open would go on writing to
//! files without a name, so then it stays, too, unless `--force` is given.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ckpt_schema::report::{FileAction, FileResult, ReasonCode};
use rustix::process::{Flock, FlockType};

use super::plan::Plan;
use crate::error::Result;
use crate::fs::{beneath, presence};
use crate::model::entry::State;
use crate::model::item::{Item, ItemReason};
use crate::model::path::WorkspacePath;
use crate::snapshot::{Snapshot, Snapshots};

/// What SQLite writes next to a database. The last one holds nothing that the others lack.
const COMPANIONS: [&str; 3] = ["-wal", "-journal", "-shm"];
/// The extensions by which a database is known that has nothing beside it.
const ENDINGS: [&str; 8] = [
    "db", "db3", "sqlite", "sqlite3", "sqlitedb", "s3db", "sl3", "fossil",
];
/// The numbers that Fossil gives its checkouts, repositories and settings.
const FOSSILS: [[u8; 4]; 3] = [
    [0x0f, 0x05, 0x51, 0x11],
    [0x0f, 0x05, 0x51, 0x12],
    [0x0f, 0x05, 0x51, 0x13],
];
/// Why a repository of Fossil stays: its checkouts, which no snapshot holds, refer to what is in it.
const FOSSIL: &str = "a Fossil repository: version control stays as it is";

/// The workspace whose databases a plan touches.
pub(super) struct Databases<'a> {
    pub root: &'a Path,
    pub snapshots: &'a Snapshots,
    /// The present snapshot.
    pub now: &'a Snapshot,
    /// The snapshot that the operation goes back to, if known.
    pub then: Option<Snapshot>,
    /// Whether to remove a log that was written since.
    pub force: bool,
    /// Whether to replace a database that a program has open.
    pub takes_open: bool,
}

impl Databases<'_> {
    /// Turns the items of databases that are open, or cannot go back as a whole, into conflicts.
    pub fn keep_whole(&self, plan: &mut Plan) -> Result<()> {
        let mut groups: BTreeMap<WorkspacePath, Vec<usize>> = BTreeMap::new();
        for (index, item) in plan.items.iter().enumerate() {
            if let Some(database) = database_of(&item.path) {
                groups.entry(database).or_default().push(index);
            }
        }
        // Where a database stays anyway, nothing is asked of the disk and of `/proc`.
        groups.retain(|_, items| items.iter().any(|at| plan.items[*at].is_planned()));
        if groups.is_empty() {
            return Ok(());
        }
        let mut open = OpenFiles::default();
        let mut added = Vec::new();
        for (database, items) in groups {
            let group: Vec<&Item> = items.iter().map(|at| &plan.items[*at]).collect();
            let others = self.others(&database, &group)?;
            let reason = match self.who_stays(&database, &group, &others) {
                Some(reason) => Some(reason),
                None => match self.holder(&database, &mut open)? {
                    Some(holder) if self.takes_open => {
                        for at in &items {
                            tell_of_writer(&mut plan.items[*at], &holder);
                        }
                        None
                    }
                    holder => holder.map(|Holder { program, .. }| {
                        format!("a program has the database open ({program}): `--force` takes it")
                    }),
                },
            };
            match reason {
                Some(reason) => {
                    for at in items {
                        keep(&mut plan.items[at], &reason);
                    }
                }
                // A log that is left behind would be taken for one of the other state.
                None => added.extend(self.removals(others)?),
            }
        }
        plan.items.extend(added);
        plan.items.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(())
    }

    /// Returns the logs of a database that exist now, that have no item, and that did not exist or differed in the
    /// state that it goes back to.
    fn others(&self, database: &WorkspacePath, group: &[&Item]) -> Result<Vec<WorkspacePath>> {
        let logs = COMPANIONS[..2]
            .iter()
            .filter_map(|ending| companion(database, ending));
        let mut there = Vec::new();
        for log in logs.filter(|log| group.iter().all(|item| item.path != *log)) {
            let found = presence::metadata(&log.on_disk(self.root))?;
            // SQLite leaves an empty log behind in some modes; it holds nothing, so it goes with any state.
            if found.is_some_and(|found| found.is_file() && found.len() > 0) {
                there.push(log);
            }
        }
        let logs = there;
        let now = self.snapshots.states(self.now, &logs)?;
        let then = match &self.then {
            Some(then) => self.snapshots.states(then, &logs)?,
            None => vec![None; logs.len()],
        };
        let others = logs.into_iter().zip(now.into_iter().zip(then));
        Ok(others
            // A log that rules hide is in no snapshot: nobody knows which state it belongs to.
            .filter(|(_, (now, then))| now.is_none() || now != then)
            .map(|(log, _)| log)
            .collect())
    }

    /// Returns why a database stays: because it is version control's own, or because of one of its files.
    fn who_stays(
        &self,
        database: &WorkspacePath,
        group: &[&Item],
        others: &[WorkspacePath],
    ) -> Option<String> {
        // Even with `--force`: a Fossil checkout's database is version control's own, as `.git` is.
        if is_fossil(self.root, database) {
            return Some(FOSSIL.to_owned());
        }
        let together = |path: &WorkspacePath| {
            let path = path.to_text();
            format!("a database and its log are reverted together, but `{path}` was written since")
        };
        let kept = group
            .iter()
            .find(|item| !matches!(item.result, FileResult::Planned | FileResult::Done));
        if let Some(kept) = kept {
            return Some(together(&kept.path));
        }
        let other = others.first().filter(|_| !self.force)?;
        Some(format!("{}: `--force` takes both", together(other)))
    }

    /// Returns a program that has a file of a database open; one that may write to it, if there is one.
    fn holder(&self, database: &WorkspacePath, open: &mut OpenFiles) -> Result<Option<Holder>> {
        let files = COMPANIONS
            .iter()
            .filter_map(|ending| companion(database, ending));
        let mut holders = Vec::new();
        for path in std::iter::once(database.clone()).chain(files) {
            holders.extend(open.by(self.root, &path)?);
        }
        let writes = holders.iter().position(|holder| holder.writes);
        Ok(holders.into_iter().nth(writes.unwrap_or(0)))
    }

    fn removals(&self, logs: Vec<WorkspacePath>) -> Result<Vec<Item>> {
        let states = self.snapshots.capture_all(self.root, &logs)?;
        let removals = logs.into_iter().zip(states);
        removals
            .map(|(path, state)| Ok(removal(path, state?)))
            .collect()
    }
}

/// Returns the item that removes what is at a path.
fn removal(path: WorkspacePath, now: State) -> Item {
    Item {
        path,
        expected: now,
        target: None,
        goal: None,
        action: FileAction::Delete,
        result: FileResult::Planned,
        reason: None,
        lines: None,
    }
}

/// Adds to a file that goes that whatever its program writes next is lost: it goes to a file without a name.
fn tell_of_writer(item: &mut Item, holder: &Holder) {
    if holder.writes && item.is_planned() {
        let text = format!(
            "a program had the database open ({}): what it writes to it from now on is lost",
            holder.program
        );
        item.reason = Some(ItemReason::new(ReasonCode::Database, text));
    }
}

fn keep(item: &mut Item, reason: &str) {
    if !item.is_planned() {
        return;
    }
    item.target = item.expected;
    item.goal = item.expected;
    item.action = FileAction::Keep;
    item.result = FileResult::Conflict;
    item.reason = Some(ItemReason::new(ReasonCode::Database, reason));
}

/// Returns the database that a file is, or is the log of, judging by its name.
fn database_of(path: &WorkspacePath) -> Option<WorkspacePath> {
    let bytes = path.as_bytes();
    for ending in COMPANIONS {
        if let Some(database) = bytes.strip_suffix(ending.as_bytes())
            && let Ok(database) = WorkspacePath::new(database)
            // Many a file is called `something-journal` and has nothing to do with `something`.
            && (is_called_so(&database) || ending != "-journal")
        {
            return Some(database);
        }
    }
    is_called_so(path).then(|| path.clone())
}

fn is_called_so(path: &WorkspacePath) -> bool {
    let name = path.name();
    let dot = name.iter().rposition(|byte| *byte == b'.');
    dot.is_some_and(|dot| {
        ENDINGS
            .iter()
            .any(|ending| name[dot + 1..].eq_ignore_ascii_case(ending.as_bytes()))
    })
}

/// Returns whether a file on disk is a repository of Fossil, by its name and its first bytes.
fn is_fossil(root: &Path, path: &WorkspacePath) -> bool {
    if !is_called_fossil(path) {
        return false;
    }
    let mut start = [0; 72];
    open_in(root, path).is_some_and(|file| {
        let is_read = (&file).read_exact(&mut start).is_ok();
        is_read && is_start_of_fossil(&start)
    })
}

fn is_called_fossil(path: &WorkspacePath) -> bool {
    let name = path.name().to_ascii_lowercase();
    name.ends_with(b".fossil")
}

/// Returns whether a file that begins like this is one of Fossil's databases: SQLite keeps the number of the program
/// in them.
fn is_start_of_fossil(start: &[u8; 72]) -> bool {
    start.starts_with(b"SQLite format 3\0") && FOSSILS.iter().any(|number| start.ends_with(number))
}

fn companion(database: &WorkspacePath, ending: &str) -> Option<WorkspacePath> {
    WorkspacePath::new([database.as_bytes(), ending.as_bytes()].concat()).ok()
}

/// Opens a file of the workspace, not through a link.
fn open_in(root: &Path, path: &WorkspacePath) -> Option<File> {
    let root = beneath::open_root(root).ok()?;
    let file = beneath::open_file(root.as_fd(), path.as_bytes()).ok()?;
    Some(File::from(file))
}

/// A program that has a file open.
#[derive(Clone)]
struct Holder {
    program: String,
    /// Whether it may write to it.
    writes: bool,
}

/// The files that other programs have open, by device and inode, as far as this user can see. They are looked up once.
#[derive(Default)]
struct OpenFiles {
    found: Option<BTreeMap<(u64, u64), Holder>>,
}

impl OpenFiles {
    /// Returns the program that has a file open, or holds a lock on it.
    fn by(&mut self, root: &Path, path: &WorkspacePath) -> Result<Option<Holder>> {
        let on_disk = path.on_disk(root);
        let Some(found) = presence::metadata(&on_disk)?.filter(Metadata::is_file) else {
            return Ok(None);
        };
        let open = self.found.get_or_insert_with(open_files);
        let holder = open.get(&(found.dev(), found.ino())).cloned();
        Ok(match locked_by(root, path) {
            Some(program) => Some(Holder {
                program,
                writes: holder.is_some_and(|holder| holder.writes),
            }),
            None => holder,
        })
    }
}

/// Returns who holds a lock on a file that keeps others from writing to it.
fn locked_by(root: &Path, path: &WorkspacePath) -> Option<String> {
    let file = open_in(root, path)?;
    // A write lock conflicts with every lock, so the answer names readers, too.
    let lock = rustix::process::fcntl_getlk(file.as_fd(), &Flock::from(FlockType::WriteLock));
    let lock = lock.ok()??;
    Some(match lock.pid {
        Some(pid) => program(pid.as_raw_nonzero().get()),
        None => "locked".to_owned(),
    })
}

fn open_files() -> BTreeMap<(u64, u64), Holder> {
    let own = std::process::id().to_string();
    let mut open: BTreeMap<(u64, u64), Holder> = BTreeMap::new();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in processes {
        let name = process.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        if name.to_str() == Some(&own) {
            continue;
        }
        let files = std::fs::read_dir(process.path().join("fd"));
        let mut of_it: BTreeMap<(u64, u64), bool> = BTreeMap::new();
        for file in files.into_iter().flatten().flatten() {
            // The target of the link, not the link itself.
            if let Ok(found) = std::fs::metadata(file.path())
                && found.is_file()
            {
                *of_it.entry((found.dev(), found.ino())).or_default() |= is_to_write(&file.path());
            }
        }
        if !of_it.is_empty() {
            let program = program(pid);
            for (file, writes) in of_it {
                let program = program.clone();
                let holder = Holder { program, writes };
                let known = open.entry(file).or_insert_with(|| holder.clone());
                if writes && !known.writes {
                    *known = holder;
                }
            }
        }
    }
    open
}

/// Returns whether a file is open for writing: the permissions of its link in `/proc` say so.
fn is_to_write(link: &Path) -> bool {
    let found = link.symlink_metadata();
    found.is_ok_and(|found| found.mode() & 0o200 != 0)
}

fn program(pid: i32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
    match name.as_deref().map(str::trim) {
        Ok(name) if !name.is_empty() => format!("{name}, process {pid}"),
        _ => format!("process {pid}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_known_by_its_name_or_by_its_log() {
        let database = |text: &str| {
            let path = WorkspacePath::new(text).expect("legal");
            database_of(&path).map(|path| path.to_text())
        };
        for (path, expected) in [
            ("d/x.db", Some("d/x.db")),
            ("d/x.db-wal", Some("d/x.db")),
            ("X.SQLite3", Some("X.SQLite3")),
            ("x.fossil-wal", Some("x.fossil")),
            ("places-wal", Some("places")),
            ("x.db-journal", Some("x.db")),
            ("my-journal", None),
            ("x.txt", None),
            ("-wal", None),
            ("d/-shm", None),
            ("db", None),
        ] {
            assert_eq!(database(path).as_deref(), expected, "{path}");
        }
    }
}
