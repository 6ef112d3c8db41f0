//! A world of its own for the tests that run the binary: home, store and workspace are fresh, nothing is inherited.

use std::ffi::OsStr;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{LazyLock, OnceLock};

use tempfile::TempDir;

use crate::clock::await_tick;
use crate::count::SERVED_STORE;
use crate::executable;
use crate::git;
use crate::tree::{self, Tree};

/// Returns the path of the binary under test, which cargo builds before the tests of its crate.
pub fn binary() -> &'static str {
    static BINARY: LazyLock<String> = LazyLock::new(|| {
        std::env::var("CARGO_BIN_EXE_ckpt-hook")
            .expect("cargo runs the tests of the crate that has the binary, and says where it is")
    });
    &BINARY
}

/// Makes a binary of the next version of the tables: a copy of the one under test in which one byte is another. Only debug builds
/// have that byte.
pub fn next_binary(directory: &Path) -> PathBuf {
    let mark = "versions of the tables ahead of this one: ";
    let mut bytes = std::fs::read(binary()).expect("the binary was built");
    let found = Command::new("grep")
        .args(["-abo", mark, binary()])
        .env("LC_ALL", "C")
        .output()
        .expect("grep is there");
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    let places: Vec<usize> = found
        .lines()
        .filter_map(|line| line.split(':').next()?.parse().ok())
        .collect();
    let [place] = places[..] else {
        panic!("one place says it: {found}");
    };
    let digit = &mut bytes[place + mark.len()];
    assert_eq!(*digit, b'0', "the binary under test is of this version");
    *digit = b'1';
    let (data, program) = (directory.join("next.data"), directory.join("next"));
    std::fs::write(&data, bytes).expect("writable");
    executable::copy(&data, &program);
    program
}

/// Files touched later than this before a snapshot are read again by the next one: 35 s, and one more; seconds.
const SETTLED: &str = "36";

/// A home, a store and a workspace in a scratch directory.
pub struct Sandbox {
    scratch: TempDir,
    is_old: AtomicBool,
    is_served: AtomicBool,
    /// The time that the binary is told; 0 where it looks at the clock.
    clock: AtomicI64,
    /// The binary that took the place of the one under test.
    upgraded: OnceLock<PathBuf>,
}

impl Sandbox {
    /// Makes an empty one.
    pub fn new() -> Self {
        Self::new_in(&std::env::temp_dir())
    }

    /// Makes an empty one below a directory.
    pub fn new_in(directory: &Path) -> Self {
        let world = Self {
            scratch: tempfile::tempdir_in(directory).expect("a scratch directory"),
            is_old: AtomicBool::new(false),
            is_served: AtomicBool::new(false),
            clock: AtomicI64::new(0),
            upgraded: OnceLock::new(),
        };
        for directory in [world.home(), world.workspace()] {
            std::fs::create_dir_all(directory).expect("the scratch directory is writable");
        }
        world
    }

    /// Returns the canonical path of something in the scratch directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch
            .path()
            .canonicalize()
            .expect("it exists")
            .join(name)
    }

    /// Returns the user's home directory.
    pub fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// Returns the store's directory; it is not made beforehand.
    pub fn store(&self) -> PathBuf {
        self.path("store")
    }

    /// Returns the workspace: a plain directory, and the current one of every command.
    pub fn workspace(&self) -> PathBuf {
        self.path("workspace")
    }

    /// Writes the settings.
    pub fn configure(&self, text: &str) {
        let directory = self.home().join(".config/ckpt-hook");
        std::fs::create_dir_all(&directory).expect("the home is writable");
        std::fs::write(directory.join("config.toml"), text).expect("the home is writable");
    }

    /// Returns the binary with these arguments in this world, not yet started.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let upgraded = self.upgraded.get().map(PathBuf::as_path);
        self.command_by(upgraded.unwrap_or(Path::new(binary())), arguments)
    }

    /// Returns another binary with these arguments in this world, not yet started.
    pub fn command_by<S: AsRef<OsStr>>(&self, program: &Path, arguments: &[S]) -> Command {
        let mut command = match self.is_served() {
            false => Command::new(program),
            true => {
                let mut strace = Command::new("strace");
                strace.args(["-f", "-qq", "-o", "/dev/null", "--seccomp-bpf"]);
                strace.args(["-e", "trace=statfs"]).args(SERVED_STORE);
                strace.arg(program);
                strace
            }
        };
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.home())
            .env("CKPT_HOOK_HOME", self.store())
            .env("PATH", "/usr/bin:/bin")
            .env("TZ", "UTC")
            .env("CKPT_HOOK_TEST_ID_LENGTH", "8")
            .env("CKPT_HOOK_TEST_HOST", "host.example.org")
            .env("CKPT_HOOK_TEST_MACHINE", self.path("machine"))
            .current_dir(self.workspace());
        if self.is_old.load(Ordering::SeqCst) {
            command.env("CKPT_HOOK_TEST_FILE_CLOCK", SETTLED);
        }
        let clock = self.clock.load(Ordering::SeqCst);
        if clock != 0 {
            command.env("CKPT_HOOK_TEST_CLOCK", (clock * 1000).to_string());
        }
        command
    }

    /// Returns git in the workspace, not yet started.
    pub fn git_command(&self, arguments: &[&str]) -> Command {
        let mut command = git::command(&self.workspace(), &self.home());
        command.args(arguments);
        command
    }

    /// Runs git in the workspace and returns what it printed.
    #[track_caller]
    pub fn run_git(&self, arguments: &[&str]) -> String {
        git::text(&mut self.git_command(arguments))
    }

    /// From now on the binary takes all files for old enough that their times can be trusted. Release builds do not: they have
    /// no clock that can be set.
    pub fn grow_old(&self) {
        await_tick();
        self.is_old.store(true, Ordering::SeqCst);
    }

    /// From now on this is the binary.
    pub fn upgrade(&self, program: PathBuf) {
        self.upgraded.set(program).expect("it is upgraded once");
    }

    /// From now on the binary finds its store on a file server, as far as it can ask; `strace` answers for the kernel.
    pub fn serve(&self) {
        self.is_served.store(true, Ordering::SeqCst);
    }

    /// Returns whether it does.
    pub fn is_served(&self) -> bool {
        self.is_served.load(Ordering::SeqCst)
    }

    /// From now on the store is on a disk of this machine again.
    pub fn unserve(&self) {
        self.is_served.store(false, Ordering::SeqCst);
    }

    /// From now on this is the time for the binary, in seconds since 1970. Release builds look at the clock.
    pub fn set_clock(&self, seconds: i64) {
        self.clock.store(seconds, Ordering::SeqCst);
    }

    /// Runs the binary to its end.
    pub fn run<S: AsRef<OsStr>>(&self, arguments: &[S], stdin: &[u8]) -> Run {
        finish(&mut self.command(arguments), stdin)
    }

    /// Sends one event as a hook does; its `cwd` is the workspace unless it has one.
    pub fn event(&self, mut event: serde_json::Value) -> Run {
        let fields = event.as_object_mut().expect("an event is an object");
        fields
            .entry("cwd")
            .or_insert_with(|| self.workspace().to_str().expect("a plain path").into());
        self.run(&["event"], event.to_string().as_bytes())
    }

    /// Runs a command with `--json` and returns its document.
    pub fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let mut all = vec!["--json"];
        all.extend(arguments);
        let run = self.run(&all, b"");
        serde_json::from_str(&run.stdout)
            .unwrap_or_else(|error| panic!("`--json` prints one document ({error}):\n{run}"))
    }

    /// Plays one message of the session `s` by flags, with what `work` does as its only step.
    pub fn play(&self, message: &str, prompt: &str, work: impl FnOnce(&Self)) {
        let session = ["--session", "s"];
        self.run(
            &[
                &[
                    "message",
                    "--strict",
                    "--message",
                    message,
                    "--prompt",
                    prompt,
                ][..],
                &session,
            ]
            .concat(),
            b"",
        )
        .exits(0);
        self.run(&[&["step-start", "--strict"][..], &session].concat(), b"")
            .exits(0);
        work(self);
        self.run(&[&["step-finish", "--strict"][..], &session].concat(), b"")
            .exits(0);
        self.event(serde_json::json!({"event": "turn_end", "session_id": "s"}))
            .ends_silently();
    }

    /// Returns text without what is another one each time: ids, the scratch directory, and how long something short took.
    pub fn redact(&self, text: &str) -> String {
        let text = text.replace(
            self.workspace().to_str().expect("a plain path"),
            "WORKSPACE",
        );
        let is_id = |word: &str| {
            word.len() >= 8
                && word
                    .bytes()
                    .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let mut redacted = String::new();
        for piece in text.split_inclusive(|character: char| !character.is_ascii_alphanumeric()) {
            let word = piece.trim_end_matches(|character: char| !character.is_ascii_alphanumeric());
            let end = &piece[word.len()..];
            if is_id(word) {
                redacted.push_str(if word.len() == 8 {
                    "12345678"
                } else {
                    "123…"
                });
                redacted.push_str(end);
            } else {
                redacted.push_str(piece);
            }
        }
        without_durations(&redacted)
    }

    /// Writes a file of the workspace, and the directories above it.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.workspace().join(path);
        std::fs::create_dir_all(path.parent().expect("it is below the workspace"))
            .expect("writable");
        std::fs::write(path, content).expect("writable");
    }

    /// Reads a file of the workspace.
    pub fn read(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.workspace().join(path))
            .unwrap_or_else(|error| panic!("`{path}` is there: {error}"))
    }

    /// Removes a file of the workspace.
    pub fn remove(&self, path: &str) {
        std::fs::remove_file(self.workspace().join(path)).expect("it is there");
    }

    /// Returns everything in the workspace but `.git`.
    pub fn tree(&self) -> Tree {
        tree::read(&self.workspace())
    }
}

/// Replaces each `N.N s` by `0.1 s`, which is as wide.
fn without_durations(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for at in 0..bytes.len().saturating_sub(4) {
        let is_alone = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
        if let [whole, b'.', tenth, b' ', b's'] = bytes[at..at + 5]
            && whole.is_ascii_digit()
            && tenth.is_ascii_digit()
            && is_alone
        {
            (bytes[at], bytes[at + 2]) = (b'0', b'1');
        }
    }
    String::from_utf8(bytes).expect("digits were replaced by digits")
}

/// Starts a command, writes its stdin and waits for its end.
pub fn finish(command: &mut Command, stdin: &[u8]) -> Run {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    let mut pipe = child.stdin.take().expect("it is piped");
    // A command that does not read its stdin closes it early; that is its right.
    let _ = pipe.write_all(stdin);
    drop(pipe);
    Run::from(child.wait_with_output().expect("it ends"))
}

/// What a command did: displayed whole, for snapshots and for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// What it wrote on stdout.
    pub stdout: String,
    /// What it wrote on stderr.
    pub stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Run {
    /// Runs a command to its end.
    pub fn of(command: &mut Command) -> Self {
        Self::from(command.output().expect("the program starts"))
    }

    /// Checks the exit code, and shows everything where it is another one.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "the exit code of\n{self}");
        self
    }

    /// Checks that it exits with 0 and says nothing: how a hook ends.
    #[track_caller]
    pub fn ends_silently(self) -> Self {
        assert_eq!(
            (self.code, self.stdout.as_str(), self.stderr.as_str()),
            (Some(0), "", ""),
            "a hook is silent"
        );
        self
    }
}

impl fmt::Display for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => writeln!(formatter, "exit code: {code}")?,
            None => writeln!(formatter, "exit code: none (a signal)")?,
        }
        writeln!(
            formatter,
            "--- stdout\n{}--- stderr\n{}---",
            self.stdout, self.stderr
        )
    }
}
