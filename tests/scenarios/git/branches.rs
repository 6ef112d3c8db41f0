//! HEAD, branches and commits with `--git`, in repositories of every shape.

use super::*;

/// Commits of the agent leave the branch and are in the reflog.
///
/// Invariant `work/git-moved`.
#[test]
fn agents_commits_leave_the_branch() {
    let (world, report) = goes_back_and_forth(
        |_| {},
        |world| {
            commit(world, "a", "agent 1\n");
            commit(world, "new", "agent 2\n");
        },
    );
    assert_eq!(
        parts(&report),
        [
            (GitPart::Branch, FileResult::Done),
            (GitPart::Index, FileResult::Done)
        ],
        "two parts"
    );
    assert_eq!(
        world.run_git(&["symbolic-ref", "HEAD"]),
        "refs/heads/main",
        "HEAD never left its branch"
    );
    let log = world.run_git(&["reflog", "show", "main", "--format=%h %gs"]);
    assert!(
        log.contains("ckpt-hook revert"),
        "the branch's reflog says who moved it: {log}"
    );
    let log = world.run_git(&["reflog", "show", "HEAD", "--format=%gs"]);
    assert!(log.starts_with("ckpt-hook revert"), "so does HEAD's: {log}");
    assert_eq!(
        world.run_git(&["show", "main@{1}:new"]),
        "agent 2",
        "what left is a word away"
    );
}

/// A branch that the agent made is kept and head goes back.
///
/// Invariant `work/git-moved`.
#[test]
fn agents_branch_stays_and_head_goes_back() {
    let (world, report) = goes_back_and_forth(
        |_| {},
        |world| {
            world.run_git(&["checkout", "-qb", "agents"]);
            commit(world, "a", "agent\n");
        },
    );
    assert_eq!(
        parts(&report),
        [
            (GitPart::Head, FileResult::Done),
            (GitPart::Index, FileResult::Done)
        ],
        "two parts"
    );
    assert_eq!(
        world.run_git(&["show", "agents:a"]),
        "agent",
        "its branch is kept"
    );
    assert!(
        world
            .run_git(&["reflog", "-1", "--format=%gs"])
            .ends_with("moving from agents to main"),
        "and says so"
    );
}

/// A commit and then a branch leave both as they were.
#[test]
fn commit_then_branch_leave_both() {
    let mut world = World::git(&[("a", "1\n")]);
    let before = git(&world);
    world.message("m1");
    world.step(|world| {
        commit(world, "a", "on main\n");
    });
    world.step(|world| {
        world.run_git(&["checkout", "-qb", "agents"]);
        commit(world, "a", "on its own\n");
    });
    let (after, main) = (git(&world), world.run_git(&["rev-parse", "main"]));
    let report = revert(&mut world, "m1");
    assert_eq!(
        git(&world),
        before,
        "HEAD is on main again, and main where it was: {report:?}"
    );
    assert_eq!(
        world.run_git(&["show", "agents:a"]),
        "on its own",
        "the branch is kept"
    );
    unrevert(&mut world);
    assert_eq!(
        (git(&world), world.run_git(&["rev-parse", "main"])),
        (after, main),
        "both as the agent left them"
    );
}

/// Commits as if it were some seconds after the first moment of the world's clock.
fn commit_at(world: &World, seconds: i64, text: &str) {
    world.write("a", text);
    let script = format!(
        "GIT_COMMITTER_DATE='@{} +0000' git commit -qam '{}'",
        1_700_000_000 + seconds,
        text.trim()
    );
    world.run_git(&["-c", &format!("alias.then=!{script}"), "then"]);
}

/// The agent's whole message is one step, that begins with a commit on main, and goes on on a branch of its own.
fn commit_and_branch(world: &mut World, then: impl FnOnce(&World)) {
    world.message("m1");
    wait_ms(5000);
    world.step(|world| {
        wait_ms(5000);
        commit_at(world, 7, "on main\n");
        world.run_git(&["checkout", "-qb", "agents"]);
        then(world);
    });
}

/// A commit of the user's on the branch that the agent left keeps all of git.
#[test]
fn users_commit_on_a_left_branch_keeps_git() {
    let mut world = World::git(&[("a", "1\n")]);
    commit_and_branch(&mut world, |_| ());
    wait_ms(5000);
    world.run_git(&["checkout", "-q", "main"]);
    commit_at(&world, 13, "of the user\n");
    world.run_git(&["checkout", "-q", "agents"]);
    let before = (git(&world).head, world.run_git(&["for-each-ref"]));
    let report = revert(&mut world, "m1");
    assert!(
        report
            .git
            .iter()
            .all(|part| part.result == FileResult::Conflict),
        "all or nothing: {report:?}"
    );
    assert_eq!(
        (git(&world).head, world.run_git(&["for-each-ref"])),
        before,
        "no branch was moved"
    );
}

/// A commit and a branch in one step of which the reflog tells another time keep all of git.
#[test]
fn doubtful_reflog_time_keeps_git() {
    // Nobody looked while HEAD was on main with the new commit: it may have been somebody else's.
    let mut world = World::git(&[("a", "1\n")]);
    world.turn("m1", |world| {
        commit(world, "a", "on main\n");
        world.run_git(&["checkout", "-qb", "agents"]);
        commit(world, "a", "on its own\n");
    });
    let before = (
        git(&world).head,
        git(&world).entries,
        world.run_git(&["for-each-ref"]),
    );
    let report = revert(&mut world, "m1");
    assert!(
        report
            .git
            .iter()
            .all(|part| part.result == FileResult::Conflict),
        "all or nothing: {report:?}"
    );
    assert_eq!(
        (
            git(&world).head,
            git(&world).entries,
            world.run_git(&["for-each-ref"])
        ),
        before,
        "nothing was moved"
    );
    assert_eq!(
        (world.read("a").as_str(), report.outcome),
        ("1\n", Outcome::Partial),
        "the file is back, and it says so"
    );
}

#[test]
fn a_branch_that_was_renamed_is_made_again() {
    goes_back_and_forth(
        |_| {},
        |world| {
            world.run_git(&["branch", "-m", "main", "trunk"]);
        },
    );
}

#[test]
fn head_is_detached_again_and_attached_again() {
    goes_back_and_forth(
        |world| {
            world.run_git(&["checkout", "-q", "--detach"]);
        },
        |world| {
            commit(world, "a", "agent\n");
        },
    );
    goes_back_and_forth(
        |_| {},
        |world| {
            world.run_git(&["checkout", "-q", "--detach"]);
            commit(world, "a", "agent\n");
        },
    );
}

#[test]
fn the_first_commit_leaves_the_branch_unborn_again() {
    for is_packed in [false, true] {
        let mut world = World::new();
        world.run_git(&["init", "-q", "-b", "main"]);
        world.write("mine", "1\n");
        let before = git(&world);
        world.turn("m1", |world| {
            commit(world, "a", "first\n");
            for name in ["main-", "xmain", "tagged"] {
                world.run_git(&["tag", "-am", name, name]);
            }
            if is_packed {
                world.run_git(&["pack-refs", "--all"]);
                assert!(
                    !world.exists(".git/refs/heads/main"),
                    "it is in packed-refs alone"
                );
            }
        });
        let after = git(&world);
        let tags = world.run_git(&["for-each-ref", "refs/tags"]);
        let report = revert(&mut world, "m1");
        assert_eq!(
            git(&world),
            before,
            "no commit yet, and no index: {report:?}"
        );
        assert_eq!(
            world.run_git(&["for-each-ref"]),
            tags,
            "the tags are there, and nothing else"
        );
        unrevert(&mut world);
        assert_eq!(git(&world), after, "and back");
        revert(&mut world, "m1");
        assert_eq!(git(&world), before, "and again");
    }
}

#[test]
fn packed_refs_that_git_holds_keep_the_branch() {
    let mut world = World::new();
    world.run_git(&["init", "-q", "-b", "main"]);
    world.turn("m1", |world| {
        commit(world, "a", "first\n");
        world.run_git(&["pack-refs", "--all"]);
    });
    let after = git(&world);
    world.write(".git/packed-refs.lock", "");
    let report = world
        .try_revert(&with_git("m1"))
        .expect("the files can be reverted");
    assert_eq!(
        reason(&report),
        "`packed-refs.lock` is there: git is at work, or was interrupted"
    );
    world.remove(".git/packed-refs.lock");
    assert_eq!(git(&world).head, after.head);
    assert!(
        world.run_git(&["for-each-ref"]).contains("refs/heads/main"),
        "the branch is there"
    );
    assert_sound(&world);
}

/// Packed refs nested names and packed objects change nothing.
#[test]
fn packed_refs_and_objects_change_nothing() {
    goes_back_and_forth(
        |world| {
            world.run_git(&["checkout", "-qb", "users/me/topic"]);
            for number in 0..20 {
                commit(world, "b", &format!("{}{number}\n", "line\n".repeat(50)));
            }
            world.run_git(&["gc", "-q"]);
            assert!(
                !world.exists(".git/refs/heads/users/me/topic"),
                "the branch is packed"
            );
            for folder in ["users/me", "users"] {
                let _ = std::fs::remove_dir(world.path(".git/refs/heads").join(folder));
            }
        },
        |world| {
            commit(world, "a", "agent\n");
            world.run_git(&["pack-refs", "--all"]);
        },
    );
}

/// A linked worktree has a head and an index of its own.
#[test]
fn worktree_has_its_own_head_and_index() {
    let mut world = World::git(&[("a", "1\n")]);
    let linked = world.base().join("linked");
    world.run_git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "side",
        linked.to_str().expect("UTF-8"),
    ]);
    let main = git(&world);
    let root = std::mem::replace(&mut world.root, linked.clone());
    world.cwd = linked;
    let ask = |world: &World| {
        (
            world.run_git(&[
                "--no-optional-locks",
                "status",
                "--porcelain=v2",
                "--branch",
            ]),
            world.tree(),
        )
    };
    let before = ask(&world);
    world.turn("m1", |world| {
        commit(world, "a", "agent\n");
    });
    let after = ask(&world);
    let report = world
        .try_revert(&with_git("m1"))
        .expect("it can be reverted");
    assert_eq!(ask(&world), before, "the linked one went back: {report:?}");
    world.unrevert();
    assert_eq!(ask(&world), after, "and forth");
    world.root = root;
    assert_eq!(git(&world), main, "the main one has nothing to do with it");
    assert_sound(&world);
}

/// A repository with SHA-256 goes back as well.
#[test]
fn sha_256_repository_goes_back() {
    let mut world = World::new();
    world.run_git(&["init", "-q", "-b", "main", "--object-format=sha256"]);
    commit(&world, "a", "first\n");
    let before = git(&world);
    world.turn("m1", |world| {
        commit(world, "a", "agent\n");
        world.run_git(&["gc", "-q"]);
    });
    let after = git(&world);
    revert(&mut world, "m1");
    assert_eq!(git(&world), before, "longer ids, nothing else");
    unrevert(&mut world);
    assert_eq!(git(&world), after, "and back");
}

#[test]
fn message_by_message_git_goes_back_and_forth() {
    let mut world = World::git(&[("a", "0\n")]);
    let mut states = vec![git(&world)];
    for number in 1..=3 {
        world.turn(&format!("m{number}"), |world| {
            commit(world, "a", &format!("{number}\n"));
        });
        states.push(git(&world));
    }
    for number in [3, 1, 2] {
        revert(&mut world, &format!("m{number}"));
        assert_eq!(
            git(&world),
            states[number - 1],
            "just before message {number}"
        );
    }
    world.redo();
    assert_eq!(git(&world), states[2], "one message forward, git with it");
    unrevert(&mut world);
    assert_eq!(git(&world), states[3], "all the way");
}
