//! The index with `--git`: what was staged comes back, bit by bit, and what it means decides.

use super::*;

/// Staged and unstaged parts of one file come back apart.
///
/// Invariant `work/git-moved`.
#[test]
fn staged_and_unstaged_parts_come_back_apart() {
    goes_back_and_forth(
        |world| {
            world.write("a", "1 staged\n2\n3\n");
            world.run_git(&["add", "a"]);
            world.write("a", "1 staged\n2\n3 not\n");
        },
        |world| {
            world.run_git(&["commit", "-qam", "all of it"]);
        },
    );
}

#[test]
fn what_the_agent_only_staged_is_unstaged() {
    let (_, report) = goes_back_and_forth(
        |_| {},
        |world| {
            world.write("a", "agent\n");
            world.run_git(&["add", "a"]);
        },
    );
    assert_eq!(
        parts(&report),
        [(GitPart::Index, FileResult::Done)],
        "HEAD had nothing to do with it"
    );
}

/// Intent to add and the flags of entries come back.
#[test]
fn intent_to_add_and_flags_come_back() {
    goes_back_and_forth(
        |world| {
            world.write("intended", "x\n");
            world.run_git(&["add", "-N", "intended"]);
            world.run_git(&["update-index", "--skip-worktree", "b"]);
            world.run_git(&["update-index", "--assume-unchanged", "a"]);
        },
        |world| {
            world.run_git(&["update-index", "--no-skip-worktree", "b"]);
            world.run_git(&["add", "intended"]);
            world.run_git(&["commit", "-qm", "agent"]);
        },
    );
}

#[test]
fn a_staged_deletion_comes_back() {
    goes_back_and_forth(
        |world| {
            world.run_git(&["rm", "-q", "--cached", "b"]);
        },
        |world| {
            world.run_git(&["add", "b"]);
        },
    );
}

/// Conflicts that the agent resolved come back while the merge goes on.
#[test]
fn resolved_conflicts_come_back_during_the_merge() {
    goes_back_and_forth(
        |world| {
            world.run_git(&["checkout", "-qb", "other"]);
            commit(world, "a", "other\n");
            world.run_git(&["checkout", "-q", "main"]);
            commit(world, "a", "main\n");
            testing::git::output(&mut world.git_command(&["merge", "other"]));
            assert!(
                world.exists(".git/MERGE_HEAD"),
                "the merge stops at a conflict"
            );
        },
        |world| {
            world.write("a", "resolved\n");
            world.run_git(&["add", "a"]);
        },
    );
}

#[test]
fn what_the_user_staged_since_keeps_the_index() {
    let mut world = World::git(&[("a", "1\n"), ("b", "1\n")]);
    let first = world.run_git(&["rev-parse", "HEAD"]);
    world.turn("m1", |world| {
        commit(world, "a", "agent\n");
    });
    world.write("b", "user\n");
    world.run_git(&["add", "b"]);
    let report = revert(&mut world, "m1");
    assert_eq!(
        parts(&report),
        [
            (GitPart::Branch, FileResult::Done),
            (GitPart::Index, FileResult::Conflict)
        ],
        "{report:?}"
    );
    assert_eq!(
        world.run_git(&["rev-parse", "main"]),
        first,
        "the branch goes back"
    );
    assert_eq!(
        world.run_git(&["show", ":b"]),
        "user",
        "what the user staged is still staged"
    );
}

/// Looking at the status is no change of the index.
#[test]
fn looking_at_status_changes_no_index() {
    let mut world = World::git(&[("a", "1\n")]);
    let before = git(&world);
    world.turn("m1", |world| {
        commit(world, "a", "agent\n");
    });
    world.write("a", "agent\n");
    world.run_git(&["update-index", "--refresh"]);
    let report = revert(&mut world, "m1");
    assert_eq!(
        (git(&world), report.outcome),
        (before, Outcome::Restored),
        "only what git remembers was refreshed"
    );
}

/// A split index and one of version 4 come back.
#[test]
fn split_and_version_4_indexes_come_back() {
    for arguments in [
        &["update-index", "--split-index"][..],
        &["update-index", "--index-version", "4"],
    ] {
        goes_back_and_forth(
            |world| {
                world.run_git(arguments);
                world.write("b", "staged\n");
                world.run_git(&["add", "b"]);
            },
            |world| {
                commit(world, "a", "agent\n");
            },
        );
    }
}

/// A split index that git wrote again stages what it did.
#[test]
fn rewritten_split_index_stages_the_same() {
    let mut world = World::git(&[
        ("a", "1\n"),
        ("b", "0\n"),
        ("c", "0\n"),
        ("d", "0\n"),
        ("e", "0\n"),
    ]);
    world.run_git(&["update-index", "--split-index"]);
    commit(&world, "b", "replaced\n");
    world.run_git(&["rm", "-q", "c"]);
    world.write("0", "added\n");
    world.run_git(&["add", "0"]);
    let before = git(&world);
    world.turn("m1", |world| {
        commit(world, "a", "agent\n");
    });
    let after = git(&world);
    revert(&mut world, "m1");
    assert_eq!(git(&world), before);
    for part in [
        &["update-index", "--refresh"][..],
        &["update-index", "--no-split-index"],
        &["update-index", "--split-index"],
    ] {
        let bytes = std::fs::read(world.path(".git/index")).expect("there");
        for path in ["a", "b", "d", "e"] {
            world.write(path, world.read(path));
        }
        world.run_git(part);
        assert_ne!(
            std::fs::read(world.path(".git/index")).expect("there"),
            bytes,
            "{part:?}: git wrote it again"
        );
        let back = unrevert(&mut world);
        assert_eq!(
            (back.outcome, git(&world)),
            (Outcome::Restored, after.clone()),
            "{part:?}: {back:?}"
        );
        revert(&mut world, "m1");
        assert_eq!(git(&world), before, "{part:?}");
    }
}

#[test]
fn what_a_sparse_checkout_leaves_out_stays_out() {
    goes_back_and_forth(
        |world| {
            commit(world, "deep/c", "1\n");
            world.run_git(&["sparse-checkout", "set", "--cone", "--sparse-index"]);
            assert!(!world.exists("deep"), "git took it away");
        },
        |world| {
            commit(world, "a", "agent\n");
        },
    );
}

/// A submodule is a commit in the index and nothing more.
#[test]
fn submodule_is_a_commit_in_the_index() {
    goes_back_and_forth(
        |world| {
            let id = world.run_git(&["rev-parse", "HEAD"]);
            world.run_git(&[
                "update-index",
                "--add",
                "--cacheinfo",
                &format!("160000,{id},module"),
            ]);
        },
        |world| {
            world.run_git(&["commit", "-qm", "agent"]);
            world.run_git(&["update-index", "--force-remove", "module"]);
        },
    );
}

/// An index that git would believe too much is looked at again.
#[test]
fn overtrusted_index_is_looked_at_again() {
    // The file changes in the moment in which it was staged, and keeps its size: only the index's own time tells git.
    let mut world = World::git(&[("a", "1\n"), ("b", "1\n")]);
    world.run_git(&["config", "core.trustctime", "false"]);
    world.write("a", "one\n");
    let time = std::fs::metadata(world.path("a"))
        .and_then(|metadata| metadata.modified())
        .expect("it has a time");
    world.run_git(&["add", "a"]);
    world.write("a", "two\n");
    for path in ["a", ".git/index"] {
        let file = std::fs::File::options()
            .write(true)
            .open(world.path(path))
            .expect("writable");
        file.set_modified(time).expect("it is ours");
    }
    let bytes = std::fs::read(world.path(".git/index")).expect("there");
    let before = git(&world);
    assert!(
        before.status.contains("1 MM"),
        "staged, and changed since: {before:?}"
    );
    world.turn("m1", |world| {
        world.write("b", "agent\n");
        world.run_git(&["add", "b"]);
    });
    let report = world
        .try_revert(&with_git("m1"))
        .expect("it can be reverted");
    assert!(
        std::fs::read(world.path(".git/index")).expect("there") == bytes,
        "bit by bit: {report:?}"
    );
    assert_eq!(git(&world).status, before.status, "still changed since");
}

/// What was staged and is gone keeps the index.
#[test]
fn missing_staged_object_keeps_the_index() {
    let mut world = World::git(&[("a", "1\n")]);
    world.write("a", "staged\n");
    world.run_git(&["add", "a"]);
    world.turn("m1", |world| {
        world.run_git(&["reset", "-q", "--hard"]);
        world.run_git(&["gc", "-q", "--prune=now"]);
    });
    let before = git(&world);
    let report = revert(&mut world, "m1");
    assert!(
        reason(&report).contains("what was staged of `a` is no longer"),
        "{report:?}"
    );
    assert_eq!(
        git(&world).entries,
        before.entries,
        "an index that names nothing would be worse"
    );
}

/// A staged rename is one change, as in `git status`.
#[test]
fn staged_rename_is_one_change() {
    let mut world = World::git(&[("tools/one", "1\n"), ("tools/two", "2\n")]);
    world.turn("m1", |world| {
        world.run_git(&["mv", "tools", "scripts"]);
    });
    let report = world.revert("m1");
    let mut remarks = report.remarks.iter();
    let found = remarks.find(|remark| remark.code == NoteCode::Staged);
    let found = found.expect("the index stays");
    let names = "stay: `tools/one` → `scripts/one`, `tools/two` → `scripts/two`; ";
    assert!(found.text.contains(names), "{found:#?}");
    assert_eq!(found.about.len(), 4, "each path for a program: {found:#?}");
}

/// Without `--git`, the next commit would take what the agent staged of a file that went back.
#[test]
fn staged_content_that_stays_is_named() {
    let staged = |report: &OperationReport| {
        let mut remarks = report.remarks.iter();
        let found = remarks.find(|remark| remark.code == NoteCode::Staged);
        found.map(|remark| (remark.about.clone(), remark.text.contains("--git`")))
    };
    let named = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
    let files = &[("a", "1\n"), ("d/b", "1\n"), ("c", "1\n"), ("gone", "1\n")];
    let mut world = World::git(files);
    world.write("c", "the user's\n");
    world.run_git(&["add", "c"]);
    world.turn("m1", |world| {
        for path in ["a", "d/b", "c", "new", "d/not staged"] {
            world.write(path, "agent\n");
        }
        world.run_git(&["add", "a", "d/b", "new"]);
        world.run_git(&["rm", "-q", "gone"]);
    });
    let report = world.revert("m1");
    assert_eq!(
        staged(&report),
        Some((named(&["a", "d/b", "gone", "new"]), true)),
        "`c` is staged as it was: {report:#?}"
    );
    world.unrevert();
    let report = revert(&mut world, "m1");
    assert_eq!(staged(&report), None, "the index went back: {report:#?}");

    let mut world = World::git(files);
    world.turn("m1", |world| {
        commit(world, "d/b", "agent\n");
    });
    let report = world.revert("m1");
    assert_eq!(staged(&report), None, "it is committed: {report:#?}");
    world.unrevert();
    world.write("c", "the user's\n");
    world.run_git(&["add", "c"]);
    let report = revert(&mut world, "m1");
    assert_eq!(
        staged(&report),
        Some((named(&["d/b"]), false)),
        "the branch went back, and the index stays: {report:#?}"
    );
}
