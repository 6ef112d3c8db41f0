//! Branches that the agent moved and left, refs that no snapshot holds, and whose the commits of an open step are.

use ckpt_schema::{Event, EventKind};
use ckpt_store::RestoreRequest;

use super::removed::age;
use super::*;
use testing::clock::await_second;
use testing::rows;
use testing::scenario::{file_time, set_clock_from_files};

pub(super) const MINUTE: i64 = 60_000;

/// A repository with a branch `side`, a commit ahead of `main`'s, and one `topic` to be merged.
pub(super) fn repository() -> World {
    let world = World::git(&[("a", "1\n")]);
    world.run_git(&["checkout", "-qb", "topic"]);
    commit(&world, "t", "topic\n");
    world.run_git(&["checkout", "-q", "main"]);
    world.run_git(&["checkout", "-qb", "side"]);
    commit(&world, "s", "side\n");
    world.run_git(&["checkout", "-q", "main"]);
    // A reflog has whole seconds.
    await_second();
    set_clock_from_files(0);
    world
}

/// The agent merges into `side` and comes back.
pub(super) fn merge_into_side(world: &World) {
    world.run_git(&["checkout", "-q", "side"]);
    world.run_git(&["merge", "-q", "--no-ff", "-m", "merged", "topic"]);
    world.run_git(&["checkout", "-q", "main"]);
}

pub(super) fn branch(world: &World, name: &str) -> String {
    world.run_git(&["rev-parse", name])
}

/// Commits with a time of its own in the reflog, so many milliseconds from now.
fn commit_later(world: &World, text: &str, milliseconds: i64) {
    world.write("a", text);
    let seconds = (file_time() + milliseconds) / 1000;
    let script = format!("GIT_COMMITTER_DATE='@{seconds} +0000' git commit -qam user");
    world.run_git(&["-c", &format!("alias.then=!{script}"), "then"]);
}

/// No snapshot saw where the branch was.
///
/// Invariant `work/git-moved`: With `--git`, HEAD, branches and index go back and forward to
/// states that git agrees with, or are named.
#[test]
fn branch_that_one_step_moved_and_left_stays() {
    let mut world = repository();
    world.turn("m1", merge_into_side);
    let after = branch(&world, "side");
    let report = revert(&mut world, "m1");
    assert_eq!(branch(&world, "side"), after, "{report:?}");
    assert_eq!(parts(&report), [(GitPart::Branch, FileResult::Conflict)]);
    assert_eq!(
        reason(&report),
        "no snapshot shows that the agent alone moved it"
    );
    assert_eq!(report.outcome, Outcome::Partial, "{report:?}");
}

/// A step moved the branch before a snapshot saw HEAD on it, in the second of the message: it may have been there before.
///
/// Invariant `work/git-moved`.
#[test]
fn branch_moved_in_the_messages_second_stays() {
    let mut world = repository();
    let before = branch(&world, "side");
    world.message("m1");
    let database = world.base().join("store/sessions.db");
    let taken = rows::texts(
        &database,
        "SELECT CAST(max(taken_at) AS TEXT) FROM snapshots",
    );
    let second = taken[0].parse::<i64>().expect("a time") / 1000;
    for command in ["checkout -qB side topic", "reset -q --hard main"] {
        let script = format!("GIT_COMMITTER_DATE='@{second} +0000' git {command}");
        world.step(|world| {
            world.run_git(&["-c", &format!("alias.then=!{script}"), "then"]);
        });
    }
    let report = revert(&mut world, "m1");
    assert_eq!(git(&world).head, "ref: refs/heads/main\n");
    let stays = (GitPart::Branch, FileResult::Conflict);
    assert!(parts(&report).contains(&stays), "{report:?}");
    assert_eq!(report.outcome, Outcome::Partial, "{report:?}");
    let to = report.git.iter().find(|part| part.part == GitPart::Branch);
    let to = to.and_then(|part| part.to.as_deref());
    assert_eq!(
        to,
        Some(before.trim()),
        "and it is said where it may have been"
    );
}

/// Branch that steps moved one by one goes back and forth.
///
/// Snapshots saw each of its moves.
///
/// Invariant `work/git-moved`.
#[test]
fn branch_moved_by_steps_goes_back_and_forth() {
    let mut world = repository();
    let state = |world: &World| (git(world).head, branch(world, "side"));
    let before = state(&world);
    world.message("m1");
    steps(&mut world, &[&["checkout", "-q", "side"]]);
    world.step(|world| {
        commit(world, "s", "agent\n");
    });
    steps(&mut world, &[&["checkout", "-q", "main"]]);
    let after = state(&world);
    assert_ne!(before, after, "it was moved");
    for _ in 0..2 {
        let report = revert(&mut world, "m1");
        assert_eq!(state(&world), before, "{report:?}");
        assert_eq!(report.outcome, Outcome::Restored, "{report:?}");
        unrevert(&mut world);
        assert_eq!(state(&world), after, "and back");
    }
}

/// The user's commit on the branch that the agent amended names no state of a snapshot.
#[test]
fn branch_that_the_user_amended_stays() {
    let mut world = World::git(&[("a", "1\n")]);
    world.turn("m1", |world| {
        commit(world, "a", "agent\n");
    });
    world.run_git(&["commit", "-q", "--amend", "-m", "by hand"]);
    let before = git(&world).head + &branch(&world, "main");
    let report = revert(&mut world, "m1");
    assert_eq!(git(&world).head + &branch(&world, "main"), before);
    assert_eq!(report.outcome, Outcome::Partial, "{report:?}");
    assert_eq!(reason(&report), "changed since by you or another program");
}

/// Branch that was forced elsewhere stays and is named.
///
/// A branch that HEAD was never on, as `git branch -f` moves it.
#[test]
fn forced_branch_stays_and_is_named() {
    let mut world = repository();
    world.turn("m1", |world| {
        world.run_git(&["branch", "-f", "topic", "main"]);
    });
    let report = revert(&mut world, "m1");
    assert_eq!(branch(&world, "topic"), branch(&world, "main"));
    assert_eq!(report.outcome, Outcome::Partial, "{report:?}");
    assert_eq!(report.git[0].name, "refs/heads/topic", "{report:?}");
}

/// Branch that was deleted or renamed makes the outcome partial.
///
/// With `--git`, more was asked for than happened.
#[test]
fn deleted_or_renamed_branch_makes_it_partial() {
    for arguments in [
        &["branch", "-q", "-D", "topic"][..],
        &["branch", "-m", "topic", "other"],
    ] {
        let mut world = repository();
        age(&world);
        world.turn("m1", |world| {
            world.run_git(arguments);
        });
        let report = revert(&mut world, "m1");
        assert_eq!(
            report.outcome,
            Outcome::Partial,
            "{arguments:?}: {report:?}"
        );
    }
}

/// Runs each command of git in a step of its own.
fn steps(world: &mut World, commands: &[&[&str]]) {
    for arguments in commands {
        world.step(|world| {
            world.run_git(arguments);
        });
    }
}

/// Without git a branch that the agent moved and left is named.
#[test]
fn left_branch_is_named_without_git() {
    let mut world = repository();
    world.turn("m1", merge_into_side);
    let after = branch(&world, "side");
    let report = world.revert("m1");
    let notes = report.notes.join("\n");
    assert!(
        notes.contains("`side` was moved from ") && notes.contains("and it stays"),
        "{notes}"
    );
    assert_eq!(branch(&world, "side"), after, "and it stays");
}

/// A commit of the user's on top keeps the branch that the agent left.
#[test]
fn users_commit_on_top_keeps_a_left_branch() {
    let mut world = repository();
    world.message("m1");
    steps(&mut world, &[&["checkout", "-q", "side"]]);
    steps(
        &mut world,
        &[&["merge", "-q", "--no-ff", "-m", "merged", "topic"]],
    );
    steps(&mut world, &[&["checkout", "-q", "main"]]);
    set_clock_from_files(10 * MINUTE);
    world.run_git(&["checkout", "-q", "side"]);
    commit_later(&world, "by hand\n", 5 * MINUTE);
    world.run_git(&["checkout", "-q", "main"]);
    let after = branch(&world, "side");
    let report = revert(&mut world, "m1");
    assert_eq!(branch(&world, "side"), after, "{report:?}");
    assert_eq!(report.outcome, Outcome::Partial, "and that is said");
    assert_eq!(reason(&report), "changed since by you or another program");
}

/// A chain of reverts goes through where one alone does.
///
/// Invariant `work/git-moved`.
#[test]
fn chain_of_reverts_equals_one() {
    let moves = |world: &mut World, number: usize| {
        for (name, path) in [("main", "a"), ("side", "s")] {
            steps(world, &[&["checkout", "-q", name]]);
            world.step(|world| {
                commit(world, path, &format!("{name} {number}\n"));
            });
        }
        steps(world, &[&["checkout", "-q", "topic"]]);
    };
    let states = |world: &World| {
        (
            git(world).head,
            ["main", "side", "topic"].map(|name| branch(world, name)),
        )
    };
    let mut world = repository();
    let mut before = vec![states(&world)];
    for number in 1..=3 {
        // A reflog has whole seconds.
        await_second();
        set_clock_from_files(0);
        world.message(&format!("m{number}"));
        moves(&mut world, number);
        before.push(states(&world));
    }
    for number in [3, 2, 1] {
        let report = revert(&mut world, &format!("m{number}"));
        assert_eq!(
            states(&world),
            before[number - 1],
            "before m{number}: {report:?}"
        );
        assert_eq!(report.outcome, Outcome::Restored, "{report:?}");
    }
    world.redo();
    assert_eq!(states(&world), before[1], "one forward");
    unrevert(&mut world);
    assert_eq!(states(&world), before[3], "all of it");
    revert(&mut world, "m1");
    assert_eq!(states(&world), before[0], "one alone");
}

/// A commit of the user's long after Esc stays and is named and goes where it is asked for.
///
/// Invariant `work/git-of-others`.
#[test]
fn users_commit_after_esc_stays_unless_asked() {
    let mut world = World::git(&[("a", "1\n")]);
    let first = branch(&world, "main");
    world.message("m1");
    // A reflog has whole seconds.
    set_clock_from_files(-40 * MINUTE - 2_000);
    world.start_shell();
    // Forty minutes after Esc, of which nobody told.
    let user = commit(&world, "a", "by hand\n");
    set_clock_from_files(0);
    world.message("m2");
    let report = revert(&mut world, "m1");
    assert_eq!(branch(&world, "main"), user, "{report:?}");
    assert_eq!(
        reason(&report),
        "unclear whose: changed 40 minutes after the agent's last sign of life"
    );
    assert_eq!(report.outcome, Outcome::Partial);
    assert!(
        report.git.iter().any(|item| item.unclear),
        "programs need not read the reason: {report:?}"
    );
    let take = RevertRequest {
        unclear: Some(ckpt_store::Unclear::Take),
        ..with_git("m1")
    };
    let report = world.try_revert(&take).expect("asked for");
    assert_eq!(branch(&world, "main"), first, "{report:?}");
    assert_sound(&world);
}

/// A commit of the user's while a prompt stood is not the tools.
///
/// Invariant `work/git-of-others`.
#[test]
fn users_commit_during_a_prompt_is_not_tools() {
    let mut world = World::git(&[("a", "1\n")]);
    world.message("m1");
    set_clock_from_files(-30 * MINUTE);
    world.start_shell();
    let user = commit(&world, "a", "by hand\n");
    set_clock_from_files(30 * MINUTE);
    let finish = Event {
        duration_ms: Some(2_000),
        ..world.shell(EventKind::ToolFinish)
    };
    world.send(&finish);
    world.finish();
    let report = revert(&mut world, "m1");
    assert_eq!(branch(&world, "main"), user, "{report:?}");
    let notes = world.revert("m1").notes.join("\n");
    assert!(
        !notes.contains("the agent made"),
        "nor without `--git`: {notes}"
    );
}

/// A commit half a minute after Esc is nearer to the agent's last sign of life than a change without a time may be: only
/// HEAD's reflog tells that it came after a pause.
///
/// Invariant `work/git-of-others`.
#[test]
fn users_commit_soon_after_esc_stays() {
    let mut world = World::git(&[("a", "1\n")]);
    world.message("m1");
    set_clock_from_files(-32_000);
    world.start_shell();
    let user = commit(&world, "a", "by hand\n");
    set_clock_from_files(1_000);
    world.message("m2");
    let report = revert(&mut world, "m1");
    assert_eq!(branch(&world, "main"), user, "{report:?}");
    let why = reason(&report);
    assert!(why.contains("after the agent's last sign of life"), "{why}");
    assert_eq!(report.outcome, Outcome::Partial);
}

/// A commit of a command that waited for permission is the agent's by the time in HEAD's reflog. Without one, it stays
/// and is named: a person may have made it while the prompt stood.
#[test]
fn commit_after_a_prompt_goes_back() {
    for is_logged in [true, false] {
        let mut world = World::git(&[("a", "1\n")]);
        let first = branch(&world, "main");
        if !is_logged {
            world.run_git(&["config", "core.logAllRefUpdates", "false"]);
            world.remove_tree(".git/logs");
        }
        world.message("m1");
        set_clock_from_files(-30 * MINUTE);
        world.start_shell();
        let agent = commit(&world, "a", "by the command\n");
        set_clock_from_files(500);
        let finish = Event {
            duration_ms: Some(20_000),
            ..world.shell(EventKind::ToolFinish)
        };
        world.send(&finish);
        world.finish();
        let report = revert(&mut world, "m1");
        let (commit, outcome) = match is_logged {
            true => (first, Outcome::Restored),
            false => (agent, Outcome::Partial),
        };
        assert_eq!(branch(&world, "main"), commit, "{is_logged}: {report:?}");
        assert_eq!(report.outcome, outcome, "{is_logged}: {report:?}");
    }
}

/// Esc and revert at once takes the commit of the command.
#[test]
fn esc_and_revert_takes_the_commands_commit() {
    let mut world = World::git(&[("a", "1\n")]);
    let first = branch(&world, "main");
    world.message("m1");
    set_clock_from_files(-1_000);
    world.start_shell();
    commit(&world, "a", "by the command\n");
    set_clock_from_files(1_000);
    let request = RevertRequest {
        force: ckpt_store::Force::Yes,
        ..with_git("m1")
    };
    let report = world.try_revert(&request).expect("nobody is at work");
    assert_eq!(branch(&world, "main"), first, "{report:?}");
}

/// What moved in another worktree is not the agent's.
///
/// Invariant `work/git-of-others`.
#[test]
fn another_worktrees_move_is_not_the_agents() {
    let mut world = repository();
    let other = world.base().join("other");
    world.run_git(&[
        "worktree",
        "add",
        "-q",
        other.to_str().expect("UTF-8"),
        "side",
    ]);
    let elsewhere = |world: &World, arguments: &[&str]| {
        let folder = other.to_str().expect("UTF-8");
        world.run_git(&[&["-C", folder], arguments].concat())
    };
    await_second();
    set_clock_from_files(0);
    world.turn("m1", |world| {
        world.write("a", "2\n");
        elsewhere(
            world,
            &["commit", "-q", "--allow-empty", "-m", "of another agent"],
        );
    });
    let after = branch(&world, "side");
    let report = revert(&mut world, "m1");
    assert_eq!(branch(&world, "side"), after, "{report:?}");
    assert_eq!(report.git, [], "and no word of it");
}

/// Tags stashes and branches that the agent made or removed are named.
#[test]
fn agents_tags_stashes_and_branches_are_named() {
    let mut world = repository();
    world.turn("m1", |world| {
        world.run_git(&["tag", "v1"]);
        world.run_git(&["checkout", "-q", "side"]);
        world.run_git(&["checkout", "-qb", "agents"]);
        commit(world, "a", "agent\n");
        world.run_git(&["checkout", "-q", "main"]);
        world.run_git(&["branch", "-qD", "side"]);
        world.write("a", "stashed\n");
        world.run_git(&["stash", "-q"]);
    });
    for notes in [world.revert("m1").notes, revert(&mut world, "m1").notes] {
        let notes = notes.join("\n");
        assert!(notes.contains("tag `v1`"), "{notes}");
        assert!(notes.contains("branch `agents`, and it stays"), "{notes}");
        assert!(notes.contains("`side` (was "), "{notes}");
        assert!(notes.contains("git stash list"), "{notes}");
    }
}

/// A revert of git that came second is taken back and made again.
///
/// Invariant `work/git-moved`.
#[test]
fn second_revert_of_git_is_undone_and_redone() {
    let works: [&[&[&str]]; 3] = [
        &[&["checkout", "-q", "side"], &["commit", "-qam", "s"]],
        &[
            &["checkout", "-q", "side"],
            &["commit", "-qam", "s"],
            &["branch", "-qD", "main"],
        ],
        &[&["commit", "-qam", "s"]],
    ];
    for (case, work) in works.into_iter().enumerate() {
        let mut world = repository();
        world.run_git(&["branch", "-f", "side", "main"]);
        // A reflog has whole seconds.
        await_second();
        let state = |world: &World| {
            world.run_git(&["for-each-ref"]) + &world.run_git(&["status", "-b", "-s"])
        };
        let before = state(&world);
        world.message("m1");
        world.step(|world| world.write("a", "agent\n"));
        steps(&mut world, work);
        let then = state(&world);
        let notes = world.revert("m1").notes.join("\n");
        assert_eq!(notes.contains("gone since"), case == 1, "{notes}");
        let files = state(&world);
        for round in 0..2 {
            let report = revert(&mut world, "m1");
            assert_eq!(state(&world), before, "{case} {round}: {report:#?}");
            let notes = report.notes.join("\n");
            assert!(!notes.contains("gone since"), "it is there: {notes}");
            let undo = RestoreRequest {
                id: report.operation.expect("something moved"),
                git: true,
                ..RestoreRequest::default()
            };
            let cwd = world.cwd.clone();
            let report = world.store.restore(&cwd, &undo).expect("it is known");
            assert_eq!(state(&world), files, "{case} {round}: {report:#?}");
        }
        world.unrevert();
        assert_eq!(state(&world), then, "{case}");
    }
}
