//! The hook, called as an agent calls it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::Way;
use crate::bench::{Bench, empty};
use crate::process::{Result, command, run};

/// Whether ids and packs are taken from the repository of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seed {
    /// As the settings have it by default.
    Yes,
    /// As if there were nothing to take from.
    No,
}

/// A store of its own, in which one session goes on.
pub struct Ours {
    program: PathBuf,
    tree: PathBuf,
    home: PathBuf,
    seed: Seed,
    next: Next,
    messages: usize,
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
    pub fn new(bench: &Bench, seed: Seed) -> Result<Self> {
        let home = bench
            .scratch
            .join(if seed == Seed::Yes { "seeded" } else { "plain" });
        let (program, tree) = (bench.programs.hook.clone(), bench.tree.clone());
        let mut ours = Self {
            program,
            tree,
            home,
            seed,
            next: Next::Message,
            messages: 0,
        };
        ours.reset()?;
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
        if self.seed == Seed::Yes {
            "ours"
        } else {
            "ours, nothing to take from"
        }
    }

    fn reset(&mut self) -> Result<()> {
        empty(&self.home)?;
        let settings = self.home.join(".config/ckpt-hook");
        fs::create_dir_all(&settings)?;
        // A first snapshot is measured to its end, however long it takes.
        let text = format!(
            "hook_deadline = \"10 min\"\nseed = {}\n",
            self.seed == Seed::Yes
        );
        fs::write(settings.join("config.toml"), text)?;
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
        Ok(())
    }
}
