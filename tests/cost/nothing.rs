//! What a revert costs that has nothing, or little, to do: it looks at the workspace as a snapshot does, once.

use testing::skip::{has_strace, is_debug_build};

use crate::NOISE;
use crate::workspace::SizedWorkspace;

/// The calls that it may add to those of a snapshot: the way from an id to its messages, the rows of the operation log, the
/// objects that tell what was there before, with a list of the packs for each that reads some, git's reflogs, tags and worktrees, the marks of other version control systems, what
/// earlier operations brought back and took away, whether a conversation is being forked, in which roots the session works, and a
/// repository's hooks and configuration, each of which is looked at.
const MORE: u64 = 320;

/// The calls that a revert of one file may add, far fewer than the larger tree has files: the look around it, its own way in, the
/// operation's rows, what is asked about git and other version control, and some 80 for moving the log of the session store
/// into the database, which is due then.
const ONE_FILE: u64 = 600;

/// The calls of a snapshot, and of a revert.
fn calls(tree: &SizedWorkspace, message: &str) -> (u64, u64) {
    tree.counts_of(&["-q", "snapshot"]);
    let snapshot = tree.counts_of(&["-q", "snapshot"]).calls;
    let revert = tree
        .counts_of(&["-q", "revert", "--message", message])
        .calls;
    println!(
        "{} files: {snapshot} calls of a snapshot, {revert} of a revert",
        tree.files()
    );
    (snapshot, revert)
}

/// A revert of a message that changed nothing looks once.
#[test]
fn revert_of_nothing_looks_once() {
    if !has_strace() || !is_debug_build() {
        return;
    }
    for tree in SizedWorkspace::both() {
        tree.play("idle", 0);
        let (snapshot, revert) = calls(&tree, "idle");
        assert!(
            revert <= snapshot + MORE + NOISE,
            "the workspace is not looked at twice: {revert} and {snapshot}"
        );
    }
}

/// A revert of one file looks at all others once.
#[test]
fn revert_of_one_file_looks_at_others_once() {
    if !has_strace() || !is_debug_build() {
        return;
    }
    for tree in SizedWorkspace::both() {
        tree.play("one", 1);
        tree.settle();
        let (snapshot, revert) = calls(&tree, "one");
        let more = revert.saturating_sub(snapshot);
        assert!(
            more <= ONE_FILE + NOISE,
            "the second look is where it was at work: {more} more calls"
        );
    }
}

#[test]
fn a_revert_that_is_done_already_looks_once() {
    if !has_strace() || !is_debug_build() {
        return;
    }
    let trees = SizedWorkspace::both();
    for (tree, count) in trees.iter().zip([100, 1000]) {
        tree.play("work", count);
        tree.run(&["-q", "revert", "--message", "work"]);
    }
    for tree in &trees {
        tree.settle();
        let packs = tree.packs();
        let (snapshot, revert) = calls(tree, "work");
        assert!(
            revert <= snapshot + MORE + NOISE,
            "no file is asked again: {revert} and {snapshot}"
        );
        assert_eq!(tree.packs(), packs, "and nothing is stored");
    }
}
