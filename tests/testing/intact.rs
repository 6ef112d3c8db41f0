//! What an operation of the store must leave whole, whatever a test plays: repositories and databases in the workspace.
//!
//! A repository is compared by its bytes, and asked with git itself; a database is opened as a copy, since opening one
//! writes to it. What was broken before, on purpose, is not asked about.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::{git, tree};

/// The repositories and databases of a workspace, as they were before an operation.
pub struct Intact {
    root: PathBuf,
    repositories: BTreeMap<PathBuf, Files>,
    broken_databases: BTreeSet<PathBuf>,
}

/// What is compared of a repository that may have work trees in it.
const OWN: [&str; 9] = [
    "HEAD",
    "config",
    "hooks",
    "index",
    "logs",
    "objects",
    "packed-refs",
    "refs",
    "worktrees",
];

/// The bytes of files.
type Files = BTreeMap<PathBuf, Vec<u8>>;

impl Intact {
    /// Looks at everything below a root.
    pub fn of(root: &Path) -> Self {
        let (repositories, databases) = below(root);
        let sound = repositories.into_iter().filter(|git| fsck(git).is_ok());
        let repositories = sound.map(|git| (git.clone(), metadata(&git)));
        let broken = databases.into_iter().filter(|path| check(path).is_err());
        Self {
            root: root.to_owned(),
            repositories: repositories.collect(),
            broken_databases: broken.collect(),
        }
    }

    /// Fails if one of them is not whole any more. `moves_git` says whether the operation was to move HEAD, the index and
    /// the branches of the workspace's own repository.
    #[track_caller]
    pub fn assert_still(&self, moves_git: bool) {
        let own = self.root.join(".git");
        for (git, before) in &self.repositories {
            let after = metadata(git);
            let paths: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
            let changed = paths
                .into_iter()
                .filter(|path| before.get(*path) != after.get(*path));
            let mut touched = changed.filter(|path| {
                let name = path.strip_prefix(git).expect("it is in there");
                let is_new = !before.contains_key(*path);
                !(moves_git && *git == own && is_moved_by_git(name, is_new))
            });
            assert_eq!(touched.next(), None, "a repository is never written to");
            assert_eq!(fsck(git), Ok(()), "{} is whole", git.display());
        }
        for path in below(&self.root).1.difference(&self.broken_databases) {
            assert_eq!(check(path), Ok(()), "{} is whole", path.display());
        }
    }
}

/// Returns whether `--git` may write a file of a repository. Objects only come.
fn is_moved_by_git(name: &Path, is_new: bool) -> bool {
    let first = name.components().next().expect("a path has a name");
    match &*first.as_os_str().to_string_lossy() {
        "objects" => is_new,
        "HEAD" | "ORIG_HEAD" | "index" | "logs" | "packed-refs" | "refs" => true,
        _ => false,
    }
}

/// Returns the repositories and the SQLite databases below a directory.
fn below(root: &Path) -> (BTreeSet<PathBuf>, BTreeSet<PathBuf>) {
    let (mut repositories, mut databases) = (BTreeSet::new(), BTreeSet::new());
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let is_repository = ["HEAD", "objects", "refs"]
            .iter()
            .all(|name| folder.join(name).exists());
        if is_repository {
            repositories.insert(folder.clone());
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && entry.file_name() != "objects" => folders.push(path),
                Ok(kind) if kind.is_file() && is_database(&path) => {
                    databases.insert(path);
                }
                _ => (),
            }
        }
    }
    (repositories, databases)
}

/// Returns what is in a repository. One that is not called `.git` may have work trees in it.
fn metadata(git: &Path) -> Files {
    let is_plain = git.ends_with(".git");
    let mut files = Files::new();
    for path in tree::files_below(git) {
        let name = path.strip_prefix(git).expect("it is in there");
        let first = name.iter().next().expect("a path has a name");
        if is_plain || OWN.iter().any(|own| first == *own) {
            files.insert(path.clone(), fs::read(&path).unwrap_or_default());
        }
    }
    files
}

/// Asks git whether a repository is whole.
fn fsck(git: &Path) -> Result<(), String> {
    let mut command = git::command(git, git);
    command
        .env("GIT_OPTIONAL_LOCKS", "0")
        .arg("--git-dir")
        .arg(git);
    command.args(["fsck", "--strict", "--no-dangling", "--no-progress"]);
    let output = git::output(&mut command);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    output.status.success().then_some(()).ok_or(said)
}

/// Returns whether a file begins as SQLite's do, and has the length of a page.
fn is_database(path: &Path) -> bool {
    let mut start = [0; 18];
    let is_read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    let page = u16::from_be_bytes([start[16], start[17]]);
    is_read.is_ok()
        && start.starts_with(b"SQLite format 3\0")
        && (page == 1 || page.is_power_of_two())
}

/// Asks SQLite whether a database is whole, with its log. Opening it writes to it, so a copy is asked.
fn check(path: &Path) -> Result<(), String> {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    for ending in ["", "-wal", "-journal"] {
        let with = |path: &Path| {
            let mut path = path.as_os_str().to_owned();
            path.push(ending);
            path
        };
        // There may be no log.
        let _ = fs::copy(with(path), with(&scratch.path().join("x")));
    }
    let said = rusqlite::Connection::open(scratch.path().join("x"))
        .and_then(|database| database.query_row("PRAGMA integrity_check", [], |row| row.get(0)));
    match said {
        Ok(said) if said == "ok" => Ok(()),
        Ok(said) => Err(said),
        Err(error) => Err(error.to_string()),
    }
}
