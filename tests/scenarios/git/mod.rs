//! The user's git state: left alone without `--git`, put back with it. Git itself gives the second opinion.

mod asked;
mod branches;
mod index;
mod left;
mod removed;
mod stays;

use std::path::{Path, PathBuf};

use ckpt_schema::report::{FileResult, GitPart, NoteCode, OperationReport, Outcome};
use ckpt_store::{RedoRequest, RestoreRequest, RevertRequest};

use testing::scenario::{World, to, wait_ms};

/// What git says of everything that `--git` is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Git {
    head: String,
    status: String,
    staged: String,
    unstaged: String,
    entries: String,
}

pub(super) fn git(world: &World) -> Git {
    let ask = |arguments: &[&str]| world.run_git(&[&["--no-optional-locks"], arguments].concat());
    Git {
        head: world.read(".git/HEAD"),
        status: ask(&["status", "--porcelain=v2", "--branch"]),
        staged: ask(&["diff", "--cached", "--binary"]),
        unstaged: ask(&["diff", "--binary"]),
        entries: ask(&["ls-files", "--stage", "--debug", "-v"])
            .lines()
            .filter(|line| !line.starts_with("  ") || line.contains("flags"))
            .map(stored_flags)
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

/// `CE_UPDATE_IN_BASE` of git's `read-cache-ll.h`: git, while it reads a split index, notes there what it found newer.
const IN_MEMORY: u32 = 1 << 27;

/// Takes away what only git's memory says, and no index.
fn stored_flags(line: &str) -> String {
    match line.rsplit_once("flags: ") {
        Some((before, flags)) => {
            let flags = u32::from_str_radix(flags, 16).expect("git prints hexadecimal digits");
            format!("{before}flags: {:x}", flags & !IN_MEMORY)
        }
        None => line.to_owned(),
    }
}

pub(super) fn with_git(message: &str) -> RevertRequest {
    RevertRequest {
        git: true,
        ..to(message)
    }
}

pub(super) fn revert(world: &mut World, message: &str) -> OperationReport {
    let report = world
        .try_revert(&with_git(message))
        .expect("it can be reverted");
    assert_sound(world);
    report
}

pub(super) fn unrevert(world: &mut World) -> OperationReport {
    let report = world.unrevert();
    assert_sound(world);
    report
}

/// Nothing of ours is left below `.git`, and git finds nothing wrong with it.
pub(super) fn assert_sound(world: &World) {
    let mut left = Vec::new();
    strays(&world.path(".git"), &mut left);
    assert_eq!(left, Vec::<PathBuf>::new(), "no lock, no name of ours");
    let fsck = world.run_git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(fsck, "", "git finds nothing");
}

pub(super) fn strays(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name.ends_with(".lock") || name.contains("ckpt-hook") {
            found.push(path.clone());
        }
        if path.is_dir() {
            strays(&path, found);
        }
    }
}

/// Which parts an operation moved, and which it left.
pub(super) fn parts(report: &OperationReport) -> Vec<(GitPart, FileResult)> {
    report
        .git
        .iter()
        .map(|part| (part.part, part.result))
        .collect()
}

pub(super) fn reason(report: &OperationReport) -> &str {
    report
        .git
        .iter()
        .find_map(|part| part.reason.as_deref())
        .expect("something was left for a reason")
}

pub(super) fn commit(world: &World, path: &str, text: &str) -> String {
    world.write(path, text);
    world.run_git(&["add", path]);
    world.run_git(&["commit", "-qm", text.trim()]);
    world.run_git(&["rev-parse", "HEAD"])
}

/// A message whose agent does something to git: reverted with `--git` git says what it said before, and unreverted what it
/// said after.
pub(super) fn goes_back_and_forth(
    prepare: impl FnOnce(&World),
    agent: impl FnOnce(&World),
) -> (World, OperationReport) {
    let mut world = World::git(&[("a", "1\n2\n3\n"), ("b", "0\n")]);
    prepare(&world);
    let bytes = |world: &World| std::fs::read(world.path(".git/index")).expect("there");
    let before = (git(&world), world.tree());
    let index = bytes(&world);
    world.turn("m1", agent);
    let after = (git(&world), world.tree());
    assert_ne!(before.0, after.0, "the agent did something to git");
    let report = revert(&mut world, "m1");
    let is_moved = report.git.iter().any(|part| part.part == GitPart::Index);
    assert!(
        !is_moved || bytes(&world) == index,
        "the index is the same, bit by bit"
    );
    assert_eq!(
        (git(&world), world.tree()),
        before,
        "as it was before the message: {report:?}"
    );
    assert_eq!(report.outcome, Outcome::Restored, "all of it: {report:?}");
    let back = unrevert(&mut world);
    assert_eq!((git(&world), world.tree()), after, "and back: {back:?}");
    assert_eq!(back.outcome, Outcome::Restored, "all of it: {back:?}");
    revert(&mut world, "m1");
    assert_eq!((git(&world), world.tree()), before, "and again");
    (world, report)
}
