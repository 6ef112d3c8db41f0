//! What other tools do, by git's own commands.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Way;
use crate::bench::{Bench, empty};
use crate::process::{Result, command, run};

/// A git directory of its own over the same work tree: `add`, then `write-tree`. It is what the common agent CLIs do.
pub struct Git {
    tree: PathBuf,
    directory: PathBuf,
}

impl Git {
    /// Makes it, empty.
    pub fn new(bench: &Bench) -> Self {
        Self {
            tree: bench.tree.clone(),
            directory: bench.scratch.join("shadow.git"),
        }
    }

    /// Returns its git directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns git over the work tree, with these arguments.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut git = command("git", &self.tree);
        git.arg("--git-dir")
            .arg(&self.directory)
            .arg("--work-tree")
            .arg(&self.tree)
            .args(arguments);
        git
    }

    /// Takes a snapshot and returns its tree.
    pub fn tree(&self) -> Result<String> {
        run(&mut self.command(&["add", "."]), b"")?;
        Ok(run(&mut self.command(&["write-tree"]), b"")?
            .trim()
            .to_owned())
    }
}

impl Way for Git {
    fn name(&self) -> &'static str {
        "git"
    }

    fn reset(&mut self) -> Result<()> {
        empty(&self.directory)?;
        run(
            command("git", &self.tree)
                .args(["init", "-q", "--bare"])
                .arg(&self.directory),
            b"",
        )?;
        for (key, value) in [
            ("core.bare", "false"),
            ("gc.auto", "0"),
            ("core.autocrlf", "false"),
        ] {
            run(&mut self.command(&["config", key, value]), b"")?;
        }
        Ok(())
    }

    fn snapshot(&mut self) -> Result<()> {
        self.tree().map(drop)
    }
}

/// A temporary copy of the user's index, and a private ref.
pub struct Conductor {
    tree: PathBuf,
    index: PathBuf,
}

impl Conductor {
    /// Keeps the copy of the index in the bench's scratch folder.
    pub fn new(bench: &Bench) -> Self {
        Self {
            tree: bench.tree.clone(),
            index: bench.scratch.join("index"),
        }
    }

    fn git(&self, arguments: &[&str]) -> Result<String> {
        let mut git = command("git", &self.tree);
        Ok(
            run(git.env("GIT_INDEX_FILE", &self.index).args(arguments), b"")?
                .trim()
                .to_owned(),
        )
    }
}

impl Way for Conductor {
    fn name(&self) -> &'static str {
        "Conductor"
    }

    fn snapshot(&mut self) -> Result<()> {
        fs::copy(self.tree.join(".git/index"), &self.index)?;
        self.git(&["add", "-A"])?;
        let tree = self.git(&["write-tree"])?;
        let commit = self.git(&["commit-tree", &tree, "-m", "x"])?;
        self.git(&["update-ref", "refs/bench/x", &commit]).map(drop)
    }
}
