//! `--git` killed: HEAD, branches and the index are wholly moved by the next command, and no lock is left.

use std::path::PathBuf;

use testing::skip::has_strace;

use super::{Sandbox, Tree, assert_sound};
use testing::strace::{at_each, kill_at, points, sample};

/// Runs git in the workspace, so that a look changes nothing.
fn git(world: &Sandbox, arguments: &[&str]) -> String {
    let mut command = world.git_command(&["--no-optional-locks"]);
    let said = testing::git::bytes(command.args(arguments));
    String::from_utf8(said).expect("names of the test are text")
}

/// A session whose agent committed, went to a branch of its own and committed there.
pub fn played_with_git() -> Sandbox {
    let world = Sandbox::new();
    git(&world, &["init", "-q", "-b", "main"]);
    world.write("a", "1\n");
    git(&world, &["add", "a"]);
    git(&world, &["commit", "-qm", "first"]);
    world.write("a", "staged\n");
    git(&world, &["add", "a"]);
    world.play("m1", "commit it", |world| {
        git(world, &["commit", "-qm", "second"]);
    });
    world.play("m2", "go on elsewhere", |world| {
        git(world, &["checkout", "-qb", "agents"]);
        world.write("a", "third\n");
        git(world, &["commit", "-qam", "third"]);
    });
    world
}

/// HEAD, the branches, what is staged, the files, and what is left of ours.
pub fn git_state(world: &Sandbox) -> GitState {
    let said = [
        git(world, &["status", "--porcelain=v2", "--branch"]),
        git(world, &["for-each-ref"]),
        git(world, &["ls-files", "--stage"]),
        git(world, &["fsck", "--strict", "--no-dangling"]),
    ];
    let mut left = Vec::new();
    for folder in [".git", ".git/refs/heads"] {
        for entry in std::fs::read_dir(world.workspace().join(folder)).expect("readable") {
            let name = entry.expect("readable").file_name();
            let is_ours = name.to_string_lossy().contains("ckpt-hook")
                || name.to_string_lossy().ends_with(".lock");
            left.extend(is_ours.then(|| PathBuf::from(name)));
        }
    }
    (said.concat(), world.tree(), left)
}

pub const REVERT_GIT: [&str; 4] = ["revert", "--git", "--message", "m1"];

/// What git says, the files, and what is left of ours.
pub type GitState = (String, Tree, Vec<PathBuf>);

/// The next revert ends one that was cut off, and the way back leads to the state before.
pub fn assert_git_ended(world: &Sandbox, before: &GitState, after: &Tree, what: &str) {
    world.run(&REVERT_GIT, b"").exits(0);
    let (said, tree, left) = git_state(world);
    assert_eq!(&tree, after, "{what}: the files");
    assert!(left.is_empty(), "{what}: nothing of ours is left: {left:?}");
    assert!(
        said.contains("# branch.head main\n1 M. "),
        "{what}: on main, with `a` staged: {said}"
    );
    assert_eq!(
        git(world, &["rev-list", "--count", "main"]),
        "1\n",
        "{what}: with the first commit alone"
    );
    world.run(&["unrevert"], b"").exits(0);
    assert_eq!(&git_state(world), before, "{what}: and the way back");
    assert_sound(world, what);
}

/// The files after it, in peace. The second commit has another id each second.
pub fn files_after() -> Tree {
    let world = played_with_git();
    world.run(&REVERT_GIT, b"").exits(0);
    git_state(&world).1
}

/// A killed revert of git is ended by the next revert and leaves no lock.
///
/// Invariant `work/git-of-others`.
#[test]
fn killed_revert_of_git_leaves_no_lock() {
    if !has_strace() {
        return;
    }
    let after = files_after();
    let all = points(&played_with_git(), &REVERT_GIT, b"");
    at_each(sample(all, 60), |point| {
        let world = played_with_git();
        let before = git_state(&world);
        kill_at(&world, &point, &REVERT_GIT, b"");
        assert_git_ended(&world, &before, &after, &format!("killed at {point:?}"));
    });
}

/// A killed revert of a packed first commit leaves no branch and no lock.
#[test]
fn killed_revert_of_a_first_commit_leaves_nothing() {
    if !has_strace() {
        return;
    }
    let played = || {
        let world = Sandbox::new();
        git(&world, &["init", "-q", "-b", "main"]);
        world.play("m1", "the first commit", |world| {
            world.write("a", "1\n");
            git(world, &["add", "a"]);
            git(world, &["commit", "-qm", "first"]);
            git(world, &["pack-refs", "--all"]);
        });
        world
    };
    let all = points(&played(), &REVERT_GIT, b"");
    at_each(sample(all, 40), |point| {
        let world = played();
        let before = git_state(&world);
        kill_at(&world, &point, &REVERT_GIT, b"");
        let what = format!("killed at {point:?}");
        world.run(&REVERT_GIT, b"").exits(0);
        let (said, tree, left) = git_state(&world);
        assert_eq!(
            said, "# branch.oid (initial)\n# branch.head main\n",
            "{what}: no commit, no branch, no index"
        );
        assert!(tree.is_empty() && left.is_empty(), "{what}: {left:?}");
        world.run(&["unrevert"], b"").exits(0);
        assert_eq!(git_state(&world), before, "{what}: and the way back");
        assert_sound(&world, &what);
    });
}

/// Status and doctor tell of a killed operation and of its locks of git.
#[test]
fn status_and_doctor_report_killed_operations() {
    if !has_strace() {
        return;
    }
    let world = played_with_git();
    // The hand for files exchanges; what is renamed is a lock of git, once all of them are taken.
    kill_at(
        &world,
        &("renameat".to_owned(), 1),
        &["revert", "--git", "--message", "m1"],
        b"",
    );
    let status = world.run(&["status"], b"").exits(0).stdout;
    assert!(
        status.contains("unfinished: the revert `"),
        "it is named: {status}"
    );
    assert!(
        status.contains("/.git/index.lock`") && status.contains(" are its locks"),
        "and so are its locks: {status}"
    );
    let doctor = world.run(&["doctor"], b"");
    assert!(
        doctor.stdout.contains(
            "is not finished: it is under way, was interrupted, or could not write all files"
        ),
        "{doctor}"
    );
    world.run(&["snapshot"], b"").exits(0);
    assert_eq!(
        git_state(&world).2,
        Vec::<PathBuf>::new(),
        "what was advised takes them away"
    );
    let status = world.run(&["status"], b"").exits(0).stdout;
    assert!(!status.contains("unfinished"), "and that is all: {status}");
}
