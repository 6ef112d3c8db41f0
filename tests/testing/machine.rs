//! A person's machine in a scratch folder: a home with our binary in it, and a git work tree. Nothing is inherited.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::{executable, git};

/// Everything below a workspace but `.git`: mode, and the bytes, the link's target, or nothing for a directory.
pub type Tree = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// See the module.
pub struct World {
    root: TempDir,
    has_rights: bool,
}

impl World {
    /// Makes one, with a first commit in the work tree.
    pub fn new() -> Self {
        let world = Self {
            root: tempfile::tempdir().expect("a scratch folder"),
            has_rights: true,
        };
        for folder in [
            world.workspace(),
            world.home().join("bin"),
            world.path("tmp"),
        ] {
            fs::create_dir_all(folder).expect("the scratch folder is writable");
        }
        executable::copy(Path::new(crate::binary::binary()), &world.binary());
        fs::write(world.workspace().join("README.md"), "hi\n").expect("a writable workspace");
        fs::write(world.workspace().join(".gitignore"), "ignored/\n")
            .expect("a writable workspace");
        world.git(&["-c", "init.defaultBranch=main", "init", "-q"]);
        world.git(&["add", "."]);
        world.git(&["commit", "-qm", "begin"]);
        world
    }

    /// Returns the path of something in the scratch folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root
            .path()
            .canonicalize()
            .expect("it exists")
            .join(name)
    }

    /// Returns the user's home.
    pub fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// Returns the git work tree.
    pub fn workspace(&self) -> PathBuf {
        self.path("workspace")
    }

    /// Writes a file below the user's home.
    pub fn write_home(&self, name: &str, text: &str) {
        let path = self.home().join(name);
        fs::create_dir_all(path.parent().expect("it is below the home")).expect("a writable home");
        fs::write(path, text).expect("a writable home");
    }

    /// Returns our store.
    pub fn store(&self) -> PathBuf {
        self.home().join(".local/share/ckpt-hook")
    }

    /// Returns all that is below the home but our store.
    pub fn settings(&self) -> Tree {
        let mut tree = Tree::new();
        collect(&self.home(), Path::new(""), &mut tree);
        tree.retain(|path, _| !path.starts_with(".local"));
        tree
    }

    /// Returns our binary, where a user would have put it.
    pub fn binary(&self) -> PathBuf {
        self.home().join("bin/ckpt-hook")
    }

    /// Returns a command of this user in the work tree, not yet started.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = match self.has_rights || !rustix::process::geteuid().is_root() {
            true => Command::new(program),
            false => without_rights(program),
        };
        let variables = [
            ("TERM", "xterm"),
            ("LANG", "C.UTF-8"),
            ("USER", "user"),
            ("SHELL", "/bin/bash"),
            ("TZ", "UTC"),
        ];
        command
            .env_clear()
            .envs(variables)
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.home())
            .env("TMPDIR", self.path("tmp"))
            .current_dir(self.workspace())
            .stdin(Stdio::null());
        command
    }

    /// From now on whoever is root here may no more than any owner of the files, or may all again.
    pub fn give_up_rights(&mut self, give_up: bool) {
        self.has_rights = !give_up;
    }

    fn git(&self, arguments: &[&str]) {
        git::bytes(git::command(&self.workspace(), &self.home()).args(arguments));
    }

    /// Runs our binary.
    pub fn hook(&self, arguments: &[&str]) -> Run {
        Run::of(self.command(&self.binary()).args(arguments))
    }

    /// Runs our binary with `--json` and returns its document.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let run = self.hook(&[&["--json"], arguments].concat());
        serde_json::from_str(&run.stdout)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {run:?}"))
    }

    /// Returns what is in the work tree now.
    pub fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        collect(&self.workspace(), Path::new(""), &mut tree);
        tree
    }

    /// Compares the work tree with a copy, byte for byte, and says what differs.
    #[track_caller]
    pub fn expect_tree(&self, expected: &Tree, why: &str) {
        let found = self.tree();
        let paths = found
            .keys()
            .chain(expected.keys())
            .filter(|path| found.get(*path) != expected.get(*path));
        let differences: Vec<String> = paths
            .map(|path| {
                format!(
                    "{}: {}, expected {}",
                    path.display(),
                    shown(found.get(path)),
                    shown(expected.get(path))
                )
            })
            .collect();
        assert!(differences.is_empty(), "{why}:\n{}", differences.join("\n"));
    }
}

/// Returns a command to which permissions apply even though the user is root.
fn without_rights(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command
        .args(["--bounding-set=-all", "--inh-caps=-all"])
        .arg(program);
    command
}

impl Drop for World {
    /// Ends what an agent left running: it is known by its home.
    fn drop(&mut self) {
        let home = format!("HOME={}", self.home().display()).into_bytes();
        let left = fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter(|process| {
                let variables = fs::read(process.path().join("environ")).unwrap_or_default();
                variables
                    .split(|byte| *byte == 0)
                    .any(|variable| variable == home)
            });
        for id in left.filter_map(|process| process.file_name().to_str()?.parse().ok()) {
            let id = rustix::process::Pid::from_raw(id).expect("no process has the id 0");
            // It fails only where it has ended by itself.
            let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
        }
    }
}

fn shown(entry: Option<&(u32, Vec<u8>)>) -> String {
    entry.map_or("absent".to_owned(), |(mode, content)| {
        format!("{mode:o} `{}`", content.escape_ascii())
    })
}

fn collect(root: &Path, below: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(root.join(below)).expect("a readable folder") {
        let entry = entry.expect("a readable folder");
        let path = below.join(entry.file_name());
        if path == Path::new(".git") {
            continue;
        }
        let metadata = entry.metadata().expect("it is still there");
        let content = if metadata.is_dir() {
            collect(root, &path, tree);
            Vec::new()
        } else if metadata.is_symlink() {
            fs::read_link(root.join(&path))
                .expect("a link")
                .as_os_str()
                .as_bytes()
                .to_vec()
        } else {
            fs::read(root.join(&path)).expect("a readable file")
        };
        tree.insert(path, (metadata.permissions().mode(), content));
    }
}

/// What a program said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its exit code; none where a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to stdout.
    pub stdout: String,
    /// What it wrote to stderr.
    pub stderr: String,
}

impl Run {
    /// Runs a command to its end.
    pub fn of(command: &mut Command) -> Self {
        let Output {
            status,
            stdout,
            stderr,
        } = command.output().expect("the program starts");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self {
            code: status.code(),
            stdout: text(stdout),
            stderr: text(stderr),
        }
    }

    /// Returns it without what differs from run to run: where the scratch folder is.
    pub fn without_chance(mut self, world: &World) -> Self {
        let scratch = world.path("").display().to_string();
        for text in [&mut self.stdout, &mut self.stderr] {
            *text = text.replace(&scratch, "<scratch>/");
        }
        self
    }

    /// Fails with all that the program said unless it ended with this code.
    #[track_caller]
    pub fn expect_code(&self, code: i32) {
        assert_eq!(
            self.code,
            Some(code),
            "stdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
    }
}
