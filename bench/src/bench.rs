//! One tree with all that is needed to measure in it. This module does IO.

use std::collections::HashSet;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::process::{Result, git};
use crate::tree::{self, Size};

/// How long after it was touched a file's times are trusted by the hook, with a second to spare.
const SETTLED: Duration = Duration::from_secs(37);

/// The programs that are measured.
#[derive(Clone, Debug)]
pub struct Programs {
    /// `ckpt-hook`, a release build.
    pub hook: PathBuf,
    /// The same of an older commit, if one is to be measured in the same rounds.
    pub older: Option<PathBuf>,
    /// `bench-floor`.
    pub floor: PathBuf,
    /// `bench-empty`.
    pub empty: PathBuf,
    /// `bench-peak`.
    pub peak: PathBuf,
}

/// A tree, and a folder beside it for what the ways keep.
pub struct Bench {
    /// The size of the tree.
    pub size: Size,
    /// The tree's root.
    pub tree: PathBuf,
    /// The folder for what is kept; it is on the same file system.
    pub scratch: PathBuf,
    /// Paths in view.
    pub files: Vec<String>,
    /// Paths in view that an agent might edit: tracked source files.
    pub sources: Vec<String>,
    /// Bytes of the files in view.
    pub bytes: u64,
    /// The programs that are measured and that measure.
    pub programs: Programs,
    random: Rng,
    touched: Instant,
}

impl Bench {
    /// Opens the tree of a size below a folder, and builds it where it is missing.
    pub fn open(folder: &Path, size: Size, programs: Programs) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let folder = folder.canonicalize()?;
        let (tree, scratch) = (
            folder.join(size.name()),
            folder.join(format!("{}.scratch", size.name())),
        );
        if !tree.join(".git/packed").exists() {
            empty(&tree)?;
            println!("building the tree {} in {}", size.name(), tree.display());
            tree::build(&tree, size)?;
            fs::write(tree.join(".git/packed"), "")?;
        }
        empty(&scratch)?;
        let files = listed(
            &tree,
            &[
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
            ],
        )?;
        let mut sources = listed(&tree, &["ls-files", "-z"])?;
        sources.retain(|path| !path.ends_with("link") && !path.ends_with(".gitignore"));
        let size_of = |path: &String| {
            tree.join(path)
                .symlink_metadata()
                .map_or(0, |metadata| metadata.len())
        };
        let bytes = files.iter().map(size_of).sum();
        let random = Rng::with_seed(1);
        let mut bench = Self {
            size,
            tree,
            scratch,
            files,
            sources,
            bytes,
            programs,
            random,
            touched: Instant::now(),
        };
        bench.clean()?;
        Ok(bench)
    }

    /// Puts the tracked files back to what the tree was built with, and waits until the times of all files can be trusted.
    pub fn clean(&mut self) -> Result<()> {
        if !git(
            &self.tree,
            &["status", "--porcelain", "--untracked-files=no"],
        )?
        .is_empty()
        {
            git(&self.tree, &["checkout", "-q", "-f", "HEAD", "--", "."])?;
            self.touched = Instant::now();
        }
        self.settle();
        git(&self.tree, &["update-index", "-q", "--refresh"])?;
        std::thread::sleep(Duration::from_secs(2));
        Ok(())
    }

    /// Waits until the times of all files can be trusted: a file that was just touched is read again by the hook.
    pub fn settle(&self) {
        std::thread::sleep(SETTLED.saturating_sub(self.touched.elapsed()));
    }

    /// Returns this many different files.
    pub fn choose(&mut self, count: usize) -> Vec<String> {
        let mut chosen = HashSet::new();
        while chosen.len() < count.min(self.sources.len()) {
            chosen.insert(self.random.usize(..self.sources.len()));
        }
        let mut chosen: Vec<_> = chosen.into_iter().collect();
        chosen.sort_unstable();
        chosen
            .into_iter()
            .map(|number| self.sources[number].clone())
            .collect()
    }

    /// Appends a line to each of some files.
    pub fn edit(&mut self, files: &[String]) -> Result<()> {
        for path in files {
            let mut file = fs::OpenOptions::new()
                .append(true)
                .open(self.tree.join(path))?;
            writeln!(file, "// edit {:x}", self.random.u64(..))?;
        }
        self.touched = Instant::now();
        // Past the tick of the clock that file times are taken from.
        std::thread::sleep(Duration::from_millis(20));
        Ok(())
    }
}

fn listed(tree: &Path, arguments: &[&str]) -> Result<Vec<String>> {
    Ok(git(tree, arguments)?
        .split_terminator('\0')
        .map(str::to_owned)
        .collect())
}

/// How long the upkeep that a hook left to the background may go on in a folder that is to be emptied.
const UPKEEP_TIMEOUT: Duration = Duration::from_secs(30);

/// Makes a directory that is there and empty.
pub fn empty(directory: &Path) -> Result<()> {
    let begin = Instant::now();
    loop {
        match fs::remove_dir_all(directory) {
            Err(error)
                if error.kind() == ErrorKind::DirectoryNotEmpty
                    && begin.elapsed() < UPKEEP_TIMEOUT =>
            {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => return Ok(fs::create_dir_all(directory)?),
        }
    }
}
