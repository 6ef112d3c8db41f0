//! When git is moved, and what is said where it is not.

use super::*;

#[test]
fn without_git_the_commits_that_stay_are_named() {
    let mut world = World::git(&[("a", "1\n")]);
    commit(&world, "a", "user\n");
    world.turn("m1", |world| {
        commit(world, "a", "first of the agent's\n");
        commit(world, "a", "second of the agent's\n");
    });
    let before = git(&world).head;
    let report = world.revert("m1");
    let note = report.notes.first().expect("something to know");
    assert!(
        note.starts_with("the agent made 2 commits since: "),
        "{note}"
    );
    assert!(
        note.contains("second of the agent's") && note.contains("first of the agent's"),
        "{note}"
    );
    assert!(note.ends_with("`--git` moves the branch back"), "{note}");
    assert!(!note.contains("user"), "not the user's: {note}");
    assert_eq!(
        (git(&world).head, report.git.len()),
        (before, 0),
        "and nothing was moved"
    );
}

#[test]
fn git_can_go_back_after_the_files_did() {
    let mut world = World::git(&[("a", "1\n")]);
    let before = git(&world);
    world.turn("m1", |world| {
        commit(world, "a", "agent\n");
    });
    let after = git(&world);
    world.revert("m1");
    let report = revert(&mut world, "m1");
    assert_eq!(
        (git(&world), report.outcome),
        (before, Outcome::Restored),
        "asked for afterwards: {report:?}"
    );
    unrevert(&mut world);
    assert_eq!(git(&world), after, "and all of it back");
}

#[test]
fn a_dry_run_says_what_git_would_become() {
    let mut world = World::git(&[("a", "1\n")]);
    let first = world.run_git(&["rev-parse", "HEAD"]);
    let mut second = String::new();
    world.turn("m1", |world| second = commit(world, "a", "agent\n"));
    let before = git(&world);
    let report = world
        .try_revert(&RevertRequest {
            dry_run: true,
            ..with_git("m1")
        })
        .expect("a plan");
    assert_eq!(git(&world), before, "nothing was done");
    assert_eq!(
        parts(&report),
        [
            (GitPart::Branch, FileResult::Planned),
            (GitPart::Index, FileResult::Planned)
        ],
        "{report:?}"
    );
    let branch = &report.git[0];
    assert_eq!(
        (branch.from.as_ref(), branch.to.as_ref()),
        (Some(&second), Some(&first)),
        "from and to"
    );
}

/// Restore puts git back whoever moved it and has its own way back.
#[test]
fn restore_puts_git_back_with_a_way_back() {
    let mut world = World::git(&[("a", "1\n")]);
    let before = git(&world);
    let snapshot = world.snapshot();
    commit(&world, "a", "user\n");
    let after = git(&world);
    let cwd = world.cwd.clone();
    let restore = |world: &mut World, id: &str| {
        let request = RestoreRequest {
            id: id.to_owned(),
            overwrite_mine: true,
            git: true,
            ..RestoreRequest::default()
        };
        world
            .store
            .restore(&cwd, &request)
            .expect("it can be restored")
    };
    let report = restore(&mut world, &snapshot);
    assert_eq!(
        git(&world),
        before,
        "exactly as it was captured: {report:?}"
    );
    restore(&mut world, &report.operation.expect("something was done"));
    assert_eq!(git(&world), after, "and back");
    assert_sound(&world);
}

/// What a restore did to git is nobody's change: a revert goes on from there, whether or not it is the first.
#[test]
fn git_goes_on_from_where_restore_left_it() {
    for is_reverted in [false, true] {
        let mut world = World::git(&[("a", "1\n")]);
        let first = git(&world);
        world.turn("m1", |world| {
            commit(world, "a", "agent\n");
        });
        let second = git(&world);
        world.turn("m2", |world| world.write("a", "later\n"));
        if is_reverted {
            world.revert("m1");
        }
        let request = RestoreRequest {
            id: "m1".to_owned(),
            git: true,
            ..RestoreRequest::default()
        };
        let cwd = world.cwd.clone();
        world.store.restore(&cwd, &request).expect("it can be");
        assert_eq!(git(&world), first);
        let report = revert(&mut world, "m2");
        assert_eq!(
            (git(&world), report.outcome),
            (second, Outcome::Restored),
            "{is_reverted}: {report:#?}"
        );
    }
}

/// A commit of the user's that a restore brought back is still the user's.
#[test]
fn commit_that_restore_brought_back_stays() {
    let mut world = World::git(&[("a", "1\n"), ("b", "1\n")]);
    world.turn("m1", |world| world.write("b", "agent\n"));
    commit(&world, "a", "user\n");
    let mine = git(&world);
    let snapshot = world.snapshot();
    world.run_git(&["reset", "-q", "--hard", "HEAD~1"]);
    world.snapshot();
    let request = RestoreRequest {
        id: snapshot,
        git: true,
        ..RestoreRequest::default()
    };
    let cwd = world.cwd.clone();
    world.store.restore(&cwd, &request).expect("it can be");
    let report = revert(&mut world, "m1");
    assert_eq!(git(&world).head, mine.head, "{report:#?}");
}

#[test]
fn git_goes_with_a_whole_revert_only() {
    let mut world = World::git(&[("a", "1\n")]);
    world.turn("m1", |world| world.write("a", "2\n"));
    let part = RevertRequest {
        only: vec!["a".into()],
        ..with_git("m1")
    };
    assert!(world.try_revert(&part).is_err(), "HEAD is of no path");
    assert_eq!(world.read("a"), "2\n", "nothing was done");
}

#[test]
fn where_there_is_no_repository_it_says_so() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("a", "2\n"));
    let report = world
        .try_revert(&with_git("m1"))
        .expect("the files can be reverted");
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("not a git repository")),
        "{report:?}"
    );
    assert_eq!(
        report.outcome,
        Outcome::Restored,
        "there was nothing more to do"
    );
}

/// Unrevert takes git along only where the revert did.
#[test]
fn unrevert_takes_git_only_after_its_revert() {
    let mut world = World::git(&[("a", "1\n")]);
    world.turn("m1", |world| {
        commit(world, "a", "agent\n");
    });
    world.revert("m1");
    let user = commit(&world, "b", "user\n");
    let cwd = world.cwd.clone();
    let report = world
        .store
        .redo(
            &cwd,
            &RedoRequest {
                all: true,
                ..RedoRequest::default()
            },
        )
        .expect("unreverted");
    assert_eq!(report.git, [], "nobody asked");
    assert_eq!(
        world.run_git(&["rev-parse", "main"]),
        user,
        "and nothing moved"
    );
}
