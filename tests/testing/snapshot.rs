//! A workspace and a store of their own, and the real git to compare with.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use ckpt_store::FileTime;
use ckpt_store::model::path::WorkspacePath;
use ckpt_store::snapshot::{Request, Snapshots, StoredSnapshot};
use tempfile::TempDir;

use crate::clock::await_tick;
use crate::git;

/// Files touched later than this before a snapshot are read again by the next one: 35 s, and one more; nanoseconds.
const SETTLED: FileTime = 36_000_000_000;

/// A world for one test.
pub struct CapturedWorkspace {
    _folder: TempDir,
    pub root: PathBuf,
    pub home: PathBuf,
    pub store: PathBuf,
    pub snapshots: Snapshots,
    /// By how much the clock of its snapshots is ahead of that of its files, nanoseconds.
    ahead: AtomicI64,
}

impl CapturedWorkspace {
    /// An empty workspace that is no git repository.
    pub fn plain() -> Self {
        let folder = TempDir::new().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let [root, home, store] = ["work", "home", "store"].map(|name| base.join(name));
        for directory in [&root, &home, &store] {
            fs::create_dir(directory).unwrap();
        }
        let snapshots = Snapshots::open(&store.join("snapshots/key")).unwrap();
        Self {
            _folder: folder,
            root,
            home,
            store,
            snapshots,
            ahead: AtomicI64::new(0),
        }
    }

    /// An empty workspace in a fresh git repository.
    pub fn git() -> Self {
        let world = Self::plain();
        world.run_git(&["init", "-q", "-b", "main"]);
        world
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn chmod(&self, path: &str, mode: u32) {
        fs::set_permissions(self.root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    pub fn request(&self) -> Request<'_> {
        Request {
            root: &self.root,
            named: &[],
            whatever_size: &[],
            include: &[],
            exclude: &[],
            keep_ignored: &[],
            max_file_size: 256 << 20,
            seed: true,
            home: Some(&self.home),
            config_home: None,
            store: &self.store,
            origin: None,
            only_around: None,
            anew: false,
            takes_hints: false,
            now: ckpt_store::file_clock() + self.ahead.load(Ordering::SeqCst),
            deadline: None,
            progress: None,
        }
    }

    /// Sets the times of all files back by an hour: git does not trust an entry that is as young as its index, and has no clock
    /// that a test could set.
    pub fn set_times_back(&self) {
        let an_hour_ago = SystemTime::now() - Duration::from_secs(3600);
        let mut open = vec![self.root.clone()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let entry = entry.unwrap();
                let kind = entry.file_type().unwrap();
                if kind.is_dir() && entry.file_name() != ".git" {
                    open.push(entry.path());
                } else if kind.is_file() {
                    let file = fs::File::open(entry.path()).unwrap();
                    file.set_modified(an_hour_ago).unwrap();
                }
            }
        }
    }

    /// From now on whatever was touched before is old enough for its times to be trusted, and so is what is touched later.
    pub fn grow_old(&self) {
        await_tick();
        self.ahead.store(SETTLED, Ordering::SeqCst);
    }

    /// Does something when all files are old; what comes after it is young again.
    pub fn when_old<T>(&self, act: impl FnOnce() -> T) -> T {
        self.grow_old();
        let done = act();
        self.ahead.store(0, Ordering::SeqCst);
        done
    }

    pub fn take(&self) -> StoredSnapshot {
        self.snapshots.take(&self.request()).unwrap()
    }

    pub fn git_command(&self, directory: &Path) -> Command {
        git::command(directory, &self.home)
    }

    /// Runs git in the workspace and returns what it printed.
    #[track_caller]
    pub fn run_git(&self, arguments: &[&str]) -> String {
        git::text(self.git_command(&self.root).args(arguments))
    }

    /// The tree that git makes of the workspace, with an index of its own.
    pub fn git_tree(&self) -> String {
        let index = self.store.join("index-of-the-test");
        let _ = fs::remove_file(&index);
        if self.root.join(".git/index").exists() {
            fs::copy(self.root.join(".git/index"), &index).unwrap();
            // Every entry is younger than such an index, so that git reads every file, whatever its times say.
            let copy = fs::File::options().append(true).open(&index).unwrap();
            copy.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1))
                .unwrap();
        }
        let git = |arguments: &[&str]| {
            git::text(
                self.git_command(&self.root)
                    .env("GIT_INDEX_FILE", &index)
                    .args(arguments),
            )
        };
        git(&["add", "-A"]);
        git(&["write-tree"])
    }

    /// Runs git on our own repository.
    pub fn our_git(&self, arguments: &[&str]) -> String {
        let repository = self.snapshots.repository();
        let mut command = self.git_command(&repository);
        let command = command.arg("--git-dir").arg(&repository).args(arguments);
        String::from_utf8_lossy(&git::bytes(command)).into_owned()
    }

    /// The names of a snapshot's files, as git lists them.
    pub fn names(&self, taken: &StoredSnapshot) -> Vec<String> {
        let listed = self.our_git(&[
            "ls-tree",
            "-r",
            "-z",
            "--name-only",
            &taken.snapshot.tree.to_string(),
        ]);
        listed.split_terminator('\0').map(str::to_owned).collect()
    }

    pub fn content(&self, taken: &StoredSnapshot, path: &str) -> String {
        self.our_git(&[
            "cat-file",
            "blob",
            &format!("{}:{path}", taken.snapshot.tree),
        ])
    }

    pub fn gaps(&self, taken: &StoredSnapshot) -> Vec<String> {
        taken
            .gaps()
            .iter()
            .map(|gap| format!("{} {:?}", String::from_utf8_lossy(&gap.path), gap.reason))
            .collect()
    }
}

pub fn path(text: &str) -> WorkspacePath {
    WorkspacePath::new(text).unwrap()
}
