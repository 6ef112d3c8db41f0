//! The least that can be done.

use std::path::PathBuf;

use super::Way;
use crate::bench::Bench;
use crate::list;
use crate::process::{Result, command, run};

/// A process that looks at every file and directory of a list, and nothing else.
pub struct Floor {
    program: PathBuf,
    tree: PathBuf,
    list: PathBuf,
    threads: usize,
}

impl Floor {
    /// Makes the list of a tree. It is looked at by as many threads as the hook takes.
    pub fn new(bench: &Bench) -> Result<Self> {
        let list = bench.scratch.join("list");
        std::fs::write(&list, list::encode(&bench.files))?;
        let threads = std::thread::available_parallelism()
            .map_or(1, usize::from)
            .clamp(1, 8);
        Ok(Self {
            program: bench.programs.floor.clone(),
            tree: bench.tree.clone(),
            list,
            threads,
        })
    }
}

impl Way for Floor {
    fn name(&self) -> &'static str {
        "floor"
    }

    fn snapshot(&mut self) -> Result<()> {
        let mut floor = command(&self.program, &self.tree);
        floor
            .arg(&self.tree)
            .arg(&self.list)
            .arg(self.threads.to_string());
        run(&mut floor, b"").map(drop)
    }
}

/// A process that does nothing.
pub struct Empty {
    program: PathBuf,
    tree: PathBuf,
}

impl Empty {
    /// Takes the program and the tree from the bench.
    pub fn new(bench: &Bench) -> Self {
        Self {
            program: bench.programs.empty.clone(),
            tree: bench.tree.clone(),
        }
    }
}

impl Way for Empty {
    fn name(&self) -> &'static str {
        "empty process"
    }

    fn snapshot(&mut self) -> Result<()> {
        run(&mut command(&self.program, &self.tree), b"").map(drop)
    }
}
