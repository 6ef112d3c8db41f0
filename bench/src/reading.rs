//! What a person waits for: commands that read, in a store with a long history. This module does IO.

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use fastrand::Rng;
use rusqlite::{Connection, OpenFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::bench::{Programs, empty};
use crate::machine::Machine;
use crate::process::{Result, command, run};
use crate::results::{Measured, Times};
use crate::ways::OURS;

/// `log` without a limit.
pub const LOG: &str = "`log`, 4,000 messages";
/// `status` in the same store.
pub const STATUS: &str = "`status`, 20,000 steps";
/// `show last` in the same store.
pub const SHOW: &str = "`show last`, 20,000 steps";
/// From the start of `ui` to its first rows.
pub const UI: &str = "`ui` to its first rows, 20,000 steps";
/// The question of the documentation that takes longest.
pub const QUESTION: &str = "slowest question of database.md, 20,000 steps";
/// `blame` of a long file.
pub const BLAME: &str = "`blame`, 20,000 lines and 500 changes";

/// 200 sessions with 4,000 messages and 20,000 steps.
const HISTORY: &str = include_str!("../../tests/sql/history.sql");
/// The page with the questions.
const QUESTIONS: &str = include_str!("../../docs/database.md");

const LINES: usize = 20_000;
const CHANGES: usize = 500;

/// A workspace with a store of its own.
struct World<'a> {
    programs: &'a Programs,
    folder: PathBuf,
}

impl<'a> World<'a> {
    fn new(programs: &'a Programs, folder: PathBuf) -> Result<Self> {
        empty(&folder)?;
        let folder = folder.canonicalize()?;
        let world = Self { programs, folder };
        fs::create_dir(world.workspace())?;
        // It is a repository of its own, because the trees usually are inside another one, which would be the workspace.
        run(
            command(Path::new("git"), &world.workspace()).args(["init", "--quiet"]),
            b"",
        )?;
        Ok(world)
    }

    fn workspace(&self) -> PathBuf {
        self.folder.join("workspace")
    }

    fn hook(&self, arguments: &[&str]) -> Command {
        let mut command = command(&self.programs.hook, &self.workspace());
        command
            .args(arguments)
            .env("CKPT_HOOK_HOME", self.folder.join("store"));
        command
    }

    fn run(&self, arguments: &[&str]) -> Result<String> {
        run(&mut self.hook(arguments), b"")
    }

    fn time(&self, arguments: &[&str], rounds: usize) -> Result<Times> {
        times(rounds, || self.run(arguments).map(drop))
    }
}

/// Measures every case this many times.
pub fn measure(folder: &Path, programs: &Programs, rounds: usize) -> Result<Measured> {
    println!("reading: 20,000 steps");
    let mut measured = Measured::default();
    let long = long_history(programs, folder.join("reading-history"))?;
    for (case, arguments) in [
        (LOG, &["log"][..]),
        (STATUS, &["status"]),
        (SHOW, &["show", "last"]),
    ] {
        let times = long.time(arguments, rounds)?;
        measured.times.insert(case.to_owned(), times);
    }
    let ui = times(rounds, || first_rows(long.hook(&["ui"])))?;
    measured.times.insert(UI.to_owned(), ui);
    measured
        .times
        .insert(QUESTION.to_owned(), slowest_question(&long, rounds)?);
    println!("reading: {CHANGES} changes of {LINES} lines");
    let file = long_file(programs, folder.join("reading-file"))?;
    measured
        .times
        .insert(BLAME.to_owned(), file.time(&["blame", "a.txt"], rounds)?);
    measured.machine = Machine::here(&long.folder)?;
    fs::remove_dir_all(&long.folder)?;
    fs::remove_dir_all(&file.folder)?;
    Ok(measured)
}

fn times(rounds: usize, mut work: impl FnMut() -> Result<()>) -> Result<Times> {
    // The first one reads the disk.
    work()?;
    let mut all = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let begin = Instant::now();
        work()?;
        all.push((begin.elapsed().as_secs_f64() * 1e5).round() / 1e2);
    }
    Ok(Times::from([(OURS.to_owned(), all)]))
}

fn long_history(programs: &Programs, folder: PathBuf) -> Result<World<'_>> {
    let world = World::new(programs, folder)?;
    fs::write(world.workspace().join("a"), "1\n")?;
    world.run(&["snapshot"])?;
    Connection::open(world.folder.join("store/sessions.db"))?.execute_batch(HISTORY)?;
    // What a hook starts in the background at the end of a session.
    world.run(&["settle"])?;
    Ok(world)
}

/// A file in which every message changes some lines that stand beside each other.
fn long_file(programs: &Programs, folder: PathBuf) -> Result<World<'_>> {
    let world = World::new(programs, folder)?;
    let mut random = Rng::with_seed(1);
    let mut lines: Vec<String> = (0..LINES)
        .map(|number| format!("line {number} of a file {:08x}\n", random.u32(..)))
        .collect();
    fs::write(world.workspace().join("a.txt"), lines.concat())?;
    world.run(&["snapshot"])?;
    for number in 0..CHANGES {
        let start = random.usize(..lines.len() - 3);
        let new = (0..random.usize(1..4)).map(|line| format!("change {number}, line {line}\n"));
        let new: Vec<String> = new.collect();
        lines.splice(start..start + random.usize(..3), new);
        fs::write(world.folder.join("next"), lines.concat())?;
        let prompt = format!("change {number}");
        world.run(&["run", "--prompt", &prompt, "--", "cp", "../next", "a.txt"])?;
    }
    Ok(world)
}

/// Starts the browser in a terminal, waits until it shows messages, and leaves it.
fn first_rows(mut command: Command) -> Result<()> {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&terminal)?;
    unlockpt(&terminal)?;
    let name = ptsname(&terminal, Vec::new())?;
    let inside = OpenOptions::new()
        .read(true)
        .write(true)
        .open(std::ffi::OsStr::from_bytes(name.to_bytes()))?;
    tcsetwinsize(
        &inside,
        Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        },
    )?;
    let end = |file: &File| Ok::<_, std::io::Error>(Stdio::from(OwnedFd::from(file.try_clone()?)));
    let mut child = command
        .env("TERM", "xterm-256color")
        .stdin(end(&inside)?)
        .stdout(end(&inside)?)
        .stderr(end(&inside)?)
        .spawn()?;
    drop((inside, command));
    let mut terminal = File::from(terminal);
    let (mut shown, mut buffer) = (Vec::new(), [0; 8 << 10]);
    // The first word of every prompt of the history; between words the cursor moves.
    let is_shown = |shown: &[u8]| shown.windows(4).any(|window| window == b"Make");
    while !is_shown(&shown) {
        match terminal.read(&mut buffer)? {
            0 => return Err("`ui` ended without a row".into()),
            read => shown.extend_from_slice(&buffer[..read]),
        }
    }
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// Asks each question of the documentation; the times are those of the one with the largest median. The full-text search needs a
/// module that the SQLite in here does not have.
fn slowest_question(world: &World<'_>, rounds: usize) -> Result<Times> {
    let workspace = world.workspace();
    let store = world.folder.join("store/sessions.db");
    let mut slowest = Measured::default();
    let questions = questions(QUESTIONS, &workspace.to_string_lossy());
    for question in questions.iter().filter(|text| !text.contains("fts5")) {
        let ask = || -> Result<()> {
            let store = Connection::open_with_flags(&store, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            for statement in question.split(";\n").filter(|text| !text.trim().is_empty()) {
                let mut statement = store.prepare(statement)?;
                let mut rows = statement.query([])?;
                while rows.next()?.is_some() {}
            }
            Ok(())
        };
        let mut one = Measured::default();
        one.times
            .insert(QUESTION.to_owned(), times(rounds.div_ceil(4), ask)?);
        if one.median(QUESTION, OURS) > slowest.median(QUESTION, OURS) {
            slowest = one;
        }
    }
    slowest
        .times
        .remove(QUESTION)
        .ok_or_else(|| "the page has no questions".into())
}

/// Returns the questions of the page, about what the history has.
fn questions(page: &str, workspace: &str) -> Vec<String> {
    page.split("```sql\n")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once("```")?.0))
        .map(|question| {
            question
                .replace("/home/you/project", &workspace.replace('\'', "''"))
                .replace("src/main.rs", "src/parser/file3.rs")
                .replace("%second%", "%parser%")
                .replace("second OR third", "parser OR login")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_twenty_questions_about_a_workspace() {
        let questions = questions(QUESTIONS, "/it's here");
        assert!(questions.len() >= 20, "{}", questions.len());
        let about = questions
            .iter()
            .filter(|question| question.contains("'/it''s here'"))
            .count();
        assert!(about >= 20, "each with a filter: {about}");
    }
}
