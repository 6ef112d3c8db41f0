//! Workspaces to measure in: a git repository with one packed commit, untracked files, nested ignore files and ignored
//! folders. The same size gives the same tree each time. This module does IO.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::Path;

use clap::ValueEnum;
use fastrand::Rng;

use crate::process::{Result, git};

/// How large a workspace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Size {
    /// 2,000 files.
    S,
    /// 15,000 files.
    M,
    /// 85,000 files of 1 GB.
    L,
    /// 500,000 small files.
    Xl,
}

struct Numbers {
    files: usize,
    directories: usize,
    mean_bytes: f64,
    ignored: usize,
    untracked: usize,
    ignore_files: usize,
}

impl Size {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::S => "S",
            Self::M => "M",
            Self::L => "L",
            Self::Xl => "XL",
        }
    }

    fn numbers(self) -> Numbers {
        let (files, directories, mean_bytes, ignored, untracked, ignore_files) = match self {
            Self::S => (2_000, 160, 10_000.0, 1_000, 20, 5),
            Self::M => (15_000, 1_200, 10_000.0, 15_000, 100, 30),
            Self::L => (85_000, 5_600, 12_000.0, 50_000, 500, 300),
            Self::Xl => (500_000, 40_000, 1_200.0, 50_000, 1_000, 500),
        };
        Numbers {
            files,
            directories,
            mean_bytes,
            ignored,
            untracked,
            ignore_files,
        }
    }
}

const WORDS: [&str; 36] = [
    "core", "drivers", "net", "fs", "kernel", "mm", "arch", "include", "lib", "tools", "crypto",
    "sound", "block", "init", "ipc", "security", "usb", "gpu", "media", "scsi", "util", "api",
    "test", "bench", "model", "view", "store", "parser", "lexer", "codec", "proto", "table",
    "query", "plan", "exec", "cache",
];
const CODE: [&str; 40] = [
    "let",
    "mut",
    "fn",
    "pub",
    "struct",
    "impl",
    "for",
    "while",
    "match",
    "return",
    "self",
    "usize",
    "i32",
    "String",
    "Vec",
    "Option",
    "Result",
    "Ok",
    "Err",
    "None",
    "if",
    "else",
    "=>",
    "->",
    "::",
    "{",
    "}",
    "(",
    ")",
    ";",
    "=",
    "==",
    "&&",
    "+",
    ".iter()",
    ".map(|x| x)",
    ".collect()",
    "&str",
    "0xff",
    "1",
];
const EXTENSIONS: [&str; 8] = [".rs", ".c", ".h", ".py", ".ts", ".md", ".toml", ".json"];
const ROOT_IGNORE: &str = "node_modules/\n/target/\nbuild/\ndist/\n*.o\n*.a\n*.so\n*.log\n*.pyc\n*~\n.env\n.env.*\n\
    !.env.example\n.DS_Store\ncoverage/\n*.tmp\n/.idea/\n.vscode/*\n!.vscode/settings.json\n__pycache__/\n*.swp\n";

/// Builds a workspace in an empty or missing directory.
pub fn build(root: &Path, size: Size) -> Result<()> {
    let numbers = size.numbers();
    let mut random = Rng::with_seed(numbers.files as u64);
    let folders = folders(&mut random, numbers.directories);
    for folder in &folders {
        fs::create_dir_all(root.join(folder))?;
    }
    let untracked = sources(root, &mut random, &folders, &numbers)?;
    for folder in &folders[1..21] {
        std::os::unix::fs::symlink("..", root.join(folder).join("link"))?;
    }
    ignore_files(root, &mut random, &folders, numbers.ignore_files)?;
    ignored(root, numbers.ignored)?;
    commit(root, &untracked)
}

fn folders(random: &mut Rng, count: usize) -> Vec<String> {
    let (mut folders, mut seen) = (vec![String::new()], HashSet::new());
    while folders.len() < count {
        let place = random.f64().powf(1.5) * folders.len() as f64;
        let parent = &folders[place as usize];
        let number = if random.f64() < 0.8 {
            random.u32(..60).to_string()
        } else {
            String::new()
        };
        let name = format!("{}{number}", WORDS[random.usize(..WORDS.len())]);
        let path = if parent.is_empty() {
            name
        } else {
            format!("{parent}/{name}")
        };
        if path.matches('/').count() <= 6 && seen.insert(path.clone()) {
            folders.push(path);
        }
    }
    folders
}

/// Writes files that look like source code, and returns those that are to stay untracked.
fn sources(
    root: &Path,
    random: &mut Rng,
    folders: &[String],
    numbers: &Numbers,
) -> Result<Vec<String>> {
    let pool = lines(random);
    let mut weights: Vec<f64> = folders.iter().map(|_| normal(random).exp()).collect();
    let mut sum = 0.0;
    for weight in &mut weights {
        sum += *weight;
        *weight = sum;
    }
    let mut untracked = Vec::new();
    for number in 0..numbers.files + numbers.untracked {
        let place = random.f64() * sum;
        let folder = &folders[weights
            .partition_point(|weight| *weight < place)
            .min(folders.len() - 1)];
        let (word, extension) = (
            WORDS[random.usize(..WORDS.len())],
            EXTENSIONS[random.usize(..EXTENSIONS.len())],
        );
        let name = format!("{word}_{number:x}{extension}");
        let path = if folder.is_empty() {
            name
        } else {
            format!("{folder}/{name}")
        };
        fs::write(
            root.join(&path),
            source(random, &pool, number, numbers.mean_bytes),
        )?;
        if number >= numbers.files {
            untracked.push(path);
        }
    }
    Ok(untracked)
}

/// A pool of lines from which files are drawn, so that compression finds about what it finds in real code.
fn lines(random: &mut Rng) -> Vec<String> {
    let line = |random: &mut Rng| {
        let words: Vec<_> = (0..random.usize(3..14))
            .map(|_| CODE[random.usize(..CODE.len())])
            .collect();
        format!("{}{}\n", "    ".repeat(random.usize(..4)), words.join(" "))
    };
    (0..20_000).map(|_| line(random)).collect()
}

fn source(random: &mut Rng, pool: &[String], number: usize, mean_bytes: f64) -> String {
    let length = (normal(random) * 1.1).exp() * mean_bytes / 1.83;
    let length = (length as usize + 40).min(400_000);
    let mut text = format!("// file {number} {:016x}\n", random.u64(..));
    let mut next = random.usize(..pool.len());
    while text.len() < length {
        text.push_str(&pool[next % pool.len()]);
        next = if random.f64() < 0.7 {
            next + 1
        } else {
            random.usize(..pool.len())
        };
    }
    text
}

/// A number of the standard normal distribution (Box and Muller).
fn normal(random: &mut Rng) -> f64 {
    let (radius, angle) = (random.f64().max(f64::MIN_POSITIVE), random.f64());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

fn ignore_files(root: &Path, random: &mut Rng, folders: &[String], count: usize) -> Result<()> {
    fs::write(root.join(".gitignore"), ROOT_IGNORE)?;
    for _ in 0..count {
        let folder = &folders[random.usize(1..folders.len())];
        let rules = format!(
            "*.gen.h\n/out{}/\n*.mod.c\nmodules.order\n",
            random.u32(..9)
        );
        fs::write(root.join(folder).join(".gitignore"), rules)?;
    }
    Ok(())
}

fn ignored(root: &Path, count: usize) -> Result<()> {
    for number in 0..count {
        let base = if number % 2 == 0 {
            "target"
        } else {
            "node_modules"
        };
        let folder =
            root.join(base)
                .join(format!("package{}/part{}", number / 120, number / 24 % 5));
        fs::create_dir_all(&folder)?;
        let line = format!("module.exports = {number};\n");
        fs::write(folder.join(format!("file{number}.js")), line.repeat(20))?;
    }
    Ok(())
}

fn commit(root: &Path, untracked: &[String]) -> Result<()> {
    git(root, &["init", "-q", "-b", "main"])?;
    let exclude = root.join(".git/info/exclude");
    let mut file = fs::File::create(&exclude)?;
    for path in untracked {
        writeln!(file, "/{path}")?;
    }
    git(root, &["-c", "core.compression=1", "add", "-A"])?;
    git(root, &["commit", "-qm", "first"])?;
    fs::write(&exclude, "")?;
    git(
        root,
        &[
            "-c",
            "pack.depth=5",
            "-c",
            "pack.window=3",
            "repack",
            "-adq",
        ],
    )?;
    git(root, &["status"])?;
    Ok(())
}
