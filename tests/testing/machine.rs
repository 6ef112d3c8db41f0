//! A person's machine in a scratch folder: a home with our binary in it, and a git work tree. Nothing is inherited.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::binary::Run;
use crate::tree::{self, Tree};
use crate::{executable, git, rows};

/// How long a hook may go on after its agent's answer; it is generous, because machines that run tests are busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often it is looked whether it does.
const PAUSE: Duration = Duration::from_millis(50);

/// A home with the binary on its `PATH`, and a work tree beside it; both go when it is dropped.
pub struct Machine {
    root: TempDir,
    has_rights: bool,
}

impl Machine {
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

    /// Returns all that is below the home but our store and what agents write by themselves.
    pub fn settings(&self) -> Tree {
        let mut tree = tree::read(&self.home());
        // CodeBuddy Code writes a log even where it is only asked for its version.
        let others = [".local", ".codebuddy/logs", ".codebuddy/diagnostics"];
        tree.retain(|path, _| !others.iter().any(|other| path.starts_with(other)));
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

    /// From now on root may no more than any owner of the files, or may all again.
    pub fn give_up_rights(&mut self, give_up: bool) {
        self.has_rights = !give_up;
    }

    /// Runs git in the work tree.
    pub fn git(&self, arguments: &[&str]) {
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
        tree::read(&self.workspace())
    }

    /// Compares the work tree with a copy, byte for byte, and says what differs.
    #[track_caller]
    pub fn expect_tree(&self, expected: &Tree, why: &str) {
        tree::assert_same(&self.tree(), expected, why);
    }

    /// Returns what a program said without what differs from run to run: where the scratch folder is.
    pub fn without_chance(&self, mut run: Run) -> Run {
        let scratch = self.path("").display().to_string();
        for text in [&mut run.stdout, &mut run.stderr] {
            *text = text.replace(&scratch, "<scratch>/");
        }
        run
    }
}

impl Machine {
    /// Makes all that is recorded, and every file of the work tree, older: as if so much time had gone by since.
    pub fn age(&self, by: Duration) {
        let database = self.store().join("sessions.db");
        let milliseconds = by.as_millis();
        let changes = rows::texts(
            &database,
            "SELECT 'UPDATE ' || tables.name || ' SET ' || group_concat(columns.name || ' = ' || columns.name || ' - BY') || ';'
               FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
              WHERE tables.type = 'table' AND columns.type = 'INTEGER' AND columns.name LIKE '%\\_at' ESCAPE '\\'
              GROUP BY tables.name",
        );
        assert!(
            changes.len() > 3,
            "the columns have their names: {changes:?}"
        );
        rows::execute(
            &database,
            &changes.concat().replace("BY", &milliseconds.to_string()),
        );
        for path in self.tree().into_keys() {
            let path = self.workspace().join(path);
            let then = fs::symlink_metadata(&path)
                .and_then(|metadata| metadata.modified())
                .expect("it is there")
                - by;
            let then = then
                .duration_since(SystemTime::UNIX_EPOCH)
                .expect("after 1970");
            let time = rustix::fs::Timespec {
                tv_sec: then.as_secs().cast_signed(),
                tv_nsec: then.subsec_nanos().into(),
            };
            let times = rustix::fs::Timestamps {
                last_access: time,
                last_modification: time,
            };
            let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
            rustix::fs::utimensat(rustix::fs::CWD, &path, &times, flags).expect("it is ours");
        }
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

impl Machine {
    /// Ends this user's programs, as `kill -9` does, but for the shells that they run: those go on.
    pub fn kill_programs(&self) {
        let is_shell = |id: &Path| {
            let name = fs::read_to_string(id.join("comm")).unwrap_or_default();
            ["sh", "bash", "sleep"].contains(&name.trim_end())
        };
        self.end_processes(|id| !is_shell(id), Signal::KILL);
    }

    /// Asks this user's programs of a name to end, as `kill` does.
    pub fn terminate(&self, name: &str) {
        let is_meant = |id: &Path| {
            let own = fs::read_to_string(id.join("comm")).unwrap_or_default();
            own.trim_end() == name
        };
        self.end_processes(is_meant, Signal::TERM);
    }

    /// Waits until no call of the hook and no shell of this user runs: some agents answer before their hooks have ended.
    pub fn wait_for_hooks(&self) {
        let is_of_hook = |id: &Path| {
            let program = fs::read_link(id.join("exe")).unwrap_or_default();
            let name = program.file_name().unwrap_or_default().to_string_lossy();
            ["sh", "dash", "bash"].contains(&&*name) || name.starts_with("ckpt-hook")
        };
        let end = Instant::now() + PATIENCE;
        while let Some(id) = self.processes(is_of_hook).first() {
            assert!(Instant::now() < end, "process {id} of a hook goes on");
            std::thread::sleep(PAUSE);
        }
    }

    /// Ends what belongs to this user.
    fn end_processes(&self, is_meant: impl Fn(&Path) -> bool, signal: Signal) {
        for id in self.processes(is_meant) {
            let id = rustix::process::Pid::from_raw(id).expect("no process has the id 0");
            // It fails only where it has ended by itself.
            let _ = rustix::process::kill_process(id, signal);
        }
    }

    /// Returns the processes that belong to this user, which are known by its home.
    fn processes(&self, is_meant: impl Fn(&Path) -> bool) -> Vec<i32> {
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
                    && is_meant(&process.path())
            });
        left.filter_map(|process| process.file_name().to_str()?.parse().ok())
            .collect()
    }
}

impl Drop for Machine {
    /// Ends what an agent left running.
    fn drop(&mut self) {
        self.end_processes(|_| true, Signal::KILL);
    }
}
