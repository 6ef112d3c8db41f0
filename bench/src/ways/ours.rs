//! The hook, called as an agent calls it.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::Way;
use crate::bench::{Bench, empty};
use crate::process::{Result, command, run};

/// How long a watcher may take until it answers for a tree.
const UNTIL_WATCHED: Duration = Duration::from_secs(60);

/// What the hook has to help it, and which hook it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Help {
    /// The repository of the tree, from which ids and packs are taken: as the settings have it by default.
    Repository,
    /// The same, and a watcher.
    Watcher,
    /// Neither: the tree has no repository while a snapshot is taken, so every file is read and stored.
    None,
    /// The repository, for the program of an older commit.
    Older,
}

impl Help {
    /// Returns the name of the way in the results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Repository => OURS,
            Self::Watcher => WATCHED,
            Self::None => PLAIN,
            Self::Older => OLDER,
        }
    }

    /// Returns the name of its home directory.
    const fn home(self) -> &'static str {
        match self {
            Self::Repository => "seeded",
            Self::Watcher => "watched",
            Self::None => "plain",
            Self::Older => "older",
        }
    }
}

/// The hook as it is by default.
pub const OURS: &str = "ours";
/// The hook beside a watcher.
pub const WATCHED: &str = "ours, watched";
/// The hook without a repository that it could take from.
pub const PLAIN: &str = "ours, nothing to take from";

/// The program of an older commit, which `--older` names.
pub const OLDER: &str = "older";

/// A store of its own, in which one session goes on.
pub struct Ours {
    program: PathBuf,
    tree: PathBuf,
    home: PathBuf,
    help: Help,
    watcher: Option<Child>,
    /// The repository, out of the way until the next snapshot is taken.
    aside: Option<Aside>,
    next: Next,
    messages: usize,
}

/// A directory that has another name until this ends.
struct Aside {
    here: PathBuf,
    there: PathBuf,
}

impl Aside {
    fn put(here: PathBuf, there: PathBuf) -> Result<Self> {
        fs::rename(&here, &there)?;
        Ok(Self { here, there })
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        fs::rename(&self.there, &self.here).expect("it was there before");
    }
}

/// Which event comes next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Message,
    Start,
    Finish,
}

impl Ours {
    /// Makes it, with a home directory and a store in the bench's folder.
    pub fn new(bench: &Bench, help: Help) -> Result<Self> {
        let home = bench.scratch.join(help.home());
        let older = bench.programs.older.as_ref();
        let program = older.filter(|_| help == Help::Older);
        let mut ours = Self {
            program: program.unwrap_or(&bench.programs.hook).clone(),
            tree: bench.tree.clone(),
            home,
            help,
            watcher: None,
            aside: None,
            next: Next::Message,
            messages: 0,
        };
        ours.reset()?;
        ours.aside = None;
        Ok(ours)
    }

    /// Returns the hook with these arguments.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut hook = command(&self.program, &self.tree);
        hook.env("HOME", &self.home)
            .env("CKPT_HOOK_HOME", self.store())
            .args(arguments);
        hook
    }

    /// Returns the store.
    pub fn store(&self) -> PathBuf {
        self.home.join("store")
    }

    /// Returns the payload of an event.
    pub fn payload(&self, event: &str) -> String {
        let message = format!("m{}", self.messages);
        let cwd = self.tree.to_string_lossy();
        serde_json::json!({"event": event, "session_id": "bench", "message_id": message, "cwd": cwd}).to_string()
    }

    /// Sends an event.
    pub fn event(&self, event: &str) -> Result<()> {
        self.send(&self.payload(event))
    }

    /// Sends a payload.
    pub fn send(&self, payload: &str) -> Result<()> {
        run(
            &mut self.command(&["event", "--strict"]),
            payload.as_bytes(),
        )
        .map(drop)
    }

    /// Begins another message, with a step that is open; nothing of it is measured.
    pub fn message(&mut self) -> Result<()> {
        self.messages += 1;
        self.event("user_message")?;
        self.event("step_start")?;
        self.next = Next::Finish;
        Ok(())
    }

    /// Reverts the newest message.
    pub fn revert(&self) -> Result<()> {
        run(
            &mut self.command(&["-q", "revert", "--message", &format!("m{}", self.messages)]),
            b"",
        )
        .map(drop)
    }

    /// Starts a watcher, where there is to be one, and takes snapshots until it answers for the tree.
    pub fn watch(&mut self) -> Result<()> {
        if self.help != Help::Watcher {
            return Ok(());
        }
        let mut watcher = self.command(&["watch"]);
        watcher.stdin(Stdio::null()).stdout(Stdio::null());
        self.watcher = Some(watcher.spawn()?);
        let begin = Instant::now();
        while !self.is_watched() {
            if begin.elapsed() > UNTIL_WATCHED {
                return Err("the watcher gives no answer".into());
            }
            self.snapshot()?;
        }
        Ok(())
    }

    /// Returns whether an answer of the watcher is noted beside the tree's cache.
    fn is_watched(&self) -> bool {
        let workspaces = fs::read_dir(self.store().join("snapshots"));
        let mut folders = workspaces.into_iter().flatten().flatten();
        folders.any(|folder| {
            fs::metadata(folder.path().join("watched")).is_ok_and(|noted| noted.len() > 0)
        })
    }

    /// Returns the most memory that the watcher had, in bytes; `None` if there is none.
    pub fn memory_of_watcher(&self) -> Option<u64> {
        let status = format!("/proc/{}/status", self.watcher.as_ref()?.id());
        let status = fs::read_to_string(status).ok()?;
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kilobytes: u64 = peak.split_whitespace().next()?.parse().ok()?;
        Some(kilobytes * 1024)
    }

    fn end_watcher(&mut self) {
        if let Some(mut watcher) = self.watcher.take() {
            let _ = watcher.kill();
            let _ = watcher.wait();
        }
    }

    fn next(&self) -> (&'static str, Next) {
        match self.next {
            Next::Message => ("user_message", Next::Start),
            Next::Start => ("step_start", Next::Finish),
            Next::Finish => ("step_finish", Next::Start),
        }
    }

    /// Returns the event that the next snapshot is taken at.
    pub fn next_event(&self) -> &'static str {
        self.next().0
    }
}

impl Way for Ours {
    fn name(&self) -> &'static str {
        self.help.name()
    }

    fn reset(&mut self) -> Result<()> {
        self.end_watcher();
        self.aside = None;
        empty(&self.home)?;
        let settings = self.home.join(".config/ckpt-hook");
        fs::create_dir_all(&settings)?;
        // A first snapshot is measured to its end, however long it takes.
        fs::write(settings.join("config.toml"), "hook_deadline = \"10 min\"\n")?;
        if self.help == Help::None && self.aside.is_none() {
            let there = self.home.join("repository");
            self.aside = Some(Aside::put(self.tree.join(".git"), there)?);
        }
        self.next = Next::Message;
        Ok(())
    }

    fn prepare(&mut self) -> Result<()> {
        while self.next != Next::Finish {
            self.snapshot()?;
        }
        Ok(())
    }

    fn snapshot(&mut self) -> Result<()> {
        let (event, next) = self.next();
        self.event(event)?;
        self.next = next;
        self.aside = None;
        Ok(())
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        self.end_watcher();
    }
}
