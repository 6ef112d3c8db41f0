//! What `--git` leaves alone, and the reason that it gives.

use super::*;

/// A commit of the user's since stays and is the reason.
///
/// Invariant `work/git-of-others`: A branch with a commit of the user stays, and nothing is
/// done while somebody else holds git's lock.
#[test]
fn users_later_commit_stays_as_the_reason() {
    let mut world = World::git(&[("a", "1\n"), ("b", "1\n")]);
    world.turn("m1", |world| {
        commit(world, "a", "agent\n");
    });
    commit(&world, "b", "user\n");
    let before = git(&world);
    let report = revert(&mut world, "m1");
    assert_eq!(
        parts(&report),
        [
            (GitPart::Branch, FileResult::Conflict),
            (GitPart::Index, FileResult::Conflict)
        ],
        "both"
    );
    assert!(
        reason(&report).contains("by you or another program"),
        "{report:?}"
    );
    assert_eq!(report.outcome, Outcome::Partial, "and it says so");
    assert_eq!(git(&world).head, before.head, "HEAD stays");
    assert_eq!(
        world.run_git(&["log", "--format=%s"]),
        "user\nagent\nfirst",
        "no commit was lost"
    );
    assert_eq!(world.read("a"), "1\n", "the file is back all the same");
}

/// A commit of the user's before the first tool is kept.
#[test]
fn users_commit_before_the_tool_is_kept() {
    let mut world = World::git(&[("a", "1\n"), ("b", "1\n")]);
    world.message("m1");
    let user = commit(&world, "b", "user\n");
    world.step(|world| {
        commit(world, "a", "agent\n");
    });
    revert(&mut world, "m1");
    assert_eq!(
        world.run_git(&["rev-parse", "main"]),
        user,
        "the agent's commit goes, the user's stays"
    );
}

/// A commit made while reverted stays on the way back.
#[test]
fn commit_made_while_reverted_stays() {
    let mut world = World::git(&[("a", "1\n"), ("b", "1\n")]);
    world.turn("m1", |world| {
        commit(world, "a", "agent\n");
    });
    revert(&mut world, "m1");
    let user = commit(&world, "b", "user\n");
    let report = unrevert(&mut world);
    assert_eq!(
        world.run_git(&["rev-parse", "main"]),
        user,
        "the branch has something new"
    );
    assert_eq!(report.outcome, Outcome::Partial, "{report:?}");
    assert_eq!(world.read("a"), "agent\n", "the files go all the way");
}

/// A merge that began since refuses git and no file.
#[test]
fn merge_begun_since_refuses_git_only() {
    let mut world = World::git(&[("a", "1\n")]);
    world.run_git(&["checkout", "-qb", "other"]);
    commit(&world, "a", "other\n");
    world.run_git(&["checkout", "-q", "main"]);
    world.turn("m1", |world| {
        commit(world, "a", "main\n");
        testing::git::output(&mut world.git_command(&["merge", "other"]));
    });
    assert!(world.exists(".git/MERGE_HEAD"), "it stopped at a conflict");
    let before = (git(&world).head, world.run_git(&["ls-files", "--stage"]));
    let report = revert(&mut world, "m1");
    assert!(
        reason(&report).contains("a merge has begun since"),
        "{report:?}"
    );
    assert_eq!(
        (git(&world).head, world.run_git(&["ls-files", "--stage"])),
        before,
        "HEAD and index stay"
    );
    assert_eq!(world.read("a"), "1\n", "the file is back");
}

/// Whatever began since and is not finished refuses git.
#[test]
fn unfinished_operation_since_refuses_git() {
    for (what, arguments) in [
        ("rebase", &["rebase", "other"][..]),
        ("cherry-pick", &["cherry-pick", "other"]),
        ("revert", &["revert", "--no-edit", "HEAD~1"]),
        ("bisect", &["bisect", "start", "HEAD", "HEAD~1"]),
    ] {
        let mut world = World::git(&[("a", "1\n")]);
        world.run_git(&["checkout", "-qb", "other"]);
        commit(&world, "a", "other\n");
        world.run_git(&["checkout", "-q", "main"]);
        commit(&world, "a", "one\n");
        world.turn("m1", |world| {
            commit(world, "a", "two\n");
            testing::git::output(&mut world.git_command(arguments));
        });
        let before = git(&world).head;
        let report = revert(&mut world, "m1");
        assert!(
            reason(&report).contains(&format!("a {what} has begun since")),
            "{what}: {report:?}"
        );
        assert_eq!(git(&world).head, before, "{what}: HEAD stays");
    }
}

/// A branch that is checked out elsewhere is not moved.
#[test]
fn branch_checked_out_elsewhere_is_not_moved() {
    let mut world = World::git(&[("a", "1\n")]);
    world.turn("m1", |world| {
        commit(world, "a", "agent\n");
        world.run_git(&["checkout", "-qb", "agents"]);
    });
    let linked = world.base().join("linked");
    world.run_git(&[
        "worktree",
        "add",
        "-q",
        linked.to_str().expect("UTF-8"),
        "main",
    ]);
    let before = git(&world);
    let report = revert(&mut world, "m1");
    assert_eq!(
        report.outcome,
        Outcome::Partial,
        "git would refuse it, too: {report:?}"
    );
    assert_eq!(git(&world).head, before.head, "HEAD stays");
}

/// A merge of the user's that the agent ended is not taken up again.
#[test]
fn users_merge_ended_by_agent_stays_ended() {
    let mut world = World::git(&[("a", "1\n")]);
    world.run_git(&["checkout", "-qb", "other"]);
    commit(&world, "b", "other\n");
    world.run_git(&["checkout", "-q", "main"]);
    commit(&world, "a", "main\n");
    world.run_git(&["merge", "-q", "--no-commit", "other"]);
    world.turn("m1", |world| {
        world.run_git(&["commit", "-qm", "merged"]);
    });
    let before = git(&world);
    let report = revert(&mut world, "m1");
    assert!(
        reason(&report).contains("a merge was under way then"),
        "{report:?}"
    );
    assert_eq!(
        git(&world),
        before,
        "what merge it was is not known any more"
    );
}

/// A lock that somebody holds refuses git and stays.
///
/// Invariant `work/git-of-others`.
#[test]
fn held_lock_refuses_git_and_stays() {
    for lock in ["index.lock", "refs/heads/main.lock"] {
        let mut world = World::git(&[("a", "1\n")]);
        world.turn("m1", |world| {
            commit(world, "a", "agent\n");
        });
        let before = git(&world).head;
        world.write(format!(".git/{lock}"), "");
        let report = world
            .try_revert(&with_git("m1"))
            .expect("the files can be reverted");
        assert!(reason(&report).contains(".lock` is there"), "{report:?}");
        assert!(
            report
                .git
                .iter()
                .all(|part| part.result == FileResult::Failed),
            "all or nothing: {report:?}"
        );
        assert!(world.exists(format!(".git/{lock}")), "it is not ours");
        assert_eq!(git(&world).head, before, "nothing was moved");
        world.remove(format!(".git/{lock}"));
        let report = revert(&mut world, "m1");
        assert_eq!(
            report.outcome,
            Outcome::Restored,
            "asked again, it is done: {report:?}"
        );
        assert_eq!(
            world.run_git(&["log", "--format=%s"]),
            "first",
            "the branch is back"
        );
    }
}

#[test]
fn a_commit_that_gc_removed_is_the_reason() {
    let mut world = World::git(&[("a", "1\n")]);
    commit(&world, "a", "gone\n");
    world.turn("m1", |world| {
        world.run_git(&["reset", "-q", "--hard", "HEAD~1"]);
        world.run_git(&["reflog", "expire", "--expire=now", "--all"]);
        world.run_git(&["gc", "-q", "--prune=now"]);
    });
    let before = git(&world);
    let report = revert(&mut world, "m1");
    assert!(
        reason(&report).contains("no longer in the repository"),
        "{report:?}"
    );
    assert_eq!(
        git(&world).head,
        before.head,
        "a branch that names nothing would be worse"
    );
    assert_eq!(world.read("a"), "gone\n", "the store has the file");
}

#[test]
fn a_repository_that_the_agent_made_stays() {
    let mut world = World::new();
    world.write("mine", "1\n");
    world.turn("m1", |world| {
        world.run_git(&["init", "-q", "-b", "main"]);
        commit(world, "a", "first\n");
    });
    let before = world.read(".git/HEAD");
    let report = world
        .try_revert(&with_git("m1"))
        .expect("it can be reverted");
    assert!(reason(&report).contains("no repository then"), "{report:?}");
    assert_eq!(
        world.read(".git/HEAD"),
        before,
        "it is not ours to take away"
    );
    assert!(!world.exists("a"), "the file is gone");
}

#[test]
fn another_storage_of_refs_is_refused() {
    let mut world = World::new();
    world.run_git(&["init", "-q", "-b", "main", "--ref-format=reftable"]);
    commit(&world, "a", "first\n");
    world.turn("m1", |world| {
        world.write("a", "agent\n");
        world.run_git(&["add", "a"]);
    });
    let report = world
        .try_revert(&with_git("m1"))
        .expect("it can be reverted");
    assert!(
        reason(&report).contains("does not keep its refs in files"),
        "{report:?}"
    );
    assert_eq!(
        world.run_git(&["diff", "--cached", "--name-only"]),
        "a",
        "it stays staged"
    );
}

/// A kept part of git's state ends with the command that moves it.
#[test]
fn kept_branch_names_its_way_back() {
    let mut world = World::git(&[("a", "1\n")]);
    let first = world.run_git(&["rev-parse", "HEAD"]);
    world.turn("m1", |world| {
        commit(world, "a", "agent\n");
    });
    commit(&world, "b", "user\n");
    let report = revert(&mut world, "m1");
    let ways: Vec<&str> = report
        .git
        .iter()
        .filter_map(|part| part.way.as_deref())
        .collect();
    assert_eq!(ways.len(), report.git.len(), "{report:#?}");
    let command = ways[0].split('`').nth(1).expect("a command");
    let arguments: Vec<&str> = command.split(' ').skip(1).collect();
    world.run_git(&arguments);
    assert_eq!(world.run_git(&["rev-parse", "main"]), first, "{command}");
    assert!(ways[1].contains("git restore --staged"), "{ways:?}");
}
