//! Branches that the agent moved and left, and whose commits those of a time are: by the reflog, weighed like the times of files.

use ckpt_schema::report::NoteCode;
use ckpt_schema::{Event, EventKind};
use ckpt_store::RestoreRequest;

use super::*;
use testing::clock::await_second;
use testing::scenario::{file_time, set_clock_from_files};

const MINUTE: i64 = 60_000;

/// A repository with a branch `side`, a commit ahead of `main`'s, and one `topic` to be merged.
fn repository() -> World {
    let world = World::git(&[("a", "1\n")]);
    world.run_git(&["checkout", "-qb", "topic"]);
    commit(&world, "t", "topic\n");
    world.run_git(&["checkout", "-q", "main"]);
    world.run_git(&["checkout", "-qb", "side"]);
    commit(&world, "s", "side\n");
    world.run_git(&["checkout", "-q", "main"]);
    set_clock_from_files(0);
    world
}

/// The agent merges into `side` and comes back.
fn merge_into_side(world: &World) {
    world.run_git(&["checkout", "-q", "side"]);
    world.run_git(&["merge", "-q", "--no-ff", "-m", "merged", "topic"]);
    world.run_git(&["checkout", "-q", "main"]);
}

fn branch(world: &World, name: &str) -> String {
    world.run_git(&["rev-parse", name])
}

/// Commits with a time of its own in the reflog, so many milliseconds from now.
fn commit_later(world: &World, text: &str, milliseconds: i64) {
    world.write("a", text);
    let seconds = (file_time() + milliseconds) / 1000;
    let script = format!("GIT_COMMITTER_DATE='@{seconds} +0000' git commit -qam user");
    world.run_git(&["-c", &format!("alias.then=!{script}"), "then"]);
}

/// Invariant `work/git-moved`: With `--git`, HEAD, branches and index go back and forward to
/// states that git agrees with.
#[test]
fn a_branch_that_the_agent_checked_out_moved_and_left_goes_back_and_forth() {
    let mut world = repository();
    let before = (git(&world).head, branch(&world, "side"));
    world.turn("m1", merge_into_side);
    let after = (git(&world).head, branch(&world, "side"));
    assert_ne!(before, after, "it was merged");
    for _ in 0..2 {
        let report = revert(&mut world, "m1");
        assert_eq!(
            (git(&world).head, branch(&world, "side")),
            before,
            "{report:?}"
        );
        assert_eq!(report.outcome, Outcome::Restored, "{report:?}");
        unrevert(&mut world);
        assert_eq!(
            (git(&world).head, branch(&world, "side")),
            after,
            "and back"
        );
    }
}

#[test]
fn without_git_a_branch_that_the_agent_moved_and_left_is_named() {
    let mut world = repository();
    world.turn("m1", merge_into_side);
    let after = branch(&world, "side");
    let report = world.revert("m1");
    let notes = report.notes.join("\n");
    assert!(
        notes.contains("`side` was moved from ") && notes.contains("`--git` moves it back"),
        "{notes}"
    );
    assert_eq!(branch(&world, "side"), after, "and it stays");
}

#[test]
fn a_commit_of_the_users_on_top_keeps_the_branch_that_the_agent_left() {
    let mut world = repository();
    world.turn("m1", merge_into_side);
    set_clock_from_files(10 * MINUTE);
    world.run_git(&["checkout", "-q", "side"]);
    commit_later(&world, "by hand\n", 5 * MINUTE);
    world.run_git(&["checkout", "-q", "main"]);
    let after = branch(&world, "side");
    let report = revert(&mut world, "m1");
    assert_eq!(branch(&world, "side"), after, "{report:?}");
    assert_eq!(report.outcome, Outcome::Partial, "and that is said");
    assert_eq!(
        reason(&report),
        "changed since by the user or another program"
    );
}

/// Invariant `work/git-moved`.
#[test]
fn a_chain_of_reverts_goes_through_where_one_alone_does() {
    let moves = |world: &World, number: usize| {
        world.run_git(&["checkout", "-q", "main"]);
        commit(world, "a", &format!("main {number}\n"));
        world.run_git(&["checkout", "-q", "side"]);
        commit(world, "s", &format!("side {number}\n"));
        world.run_git(&["checkout", "-q", "topic"]);
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
        world.turn(&format!("m{number}"), |world| moves(world, number));
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

/// Invariant `work/git-of-others`.
#[test]
fn a_commit_of_the_users_long_after_esc_stays_and_is_named_and_goes_where_it_is_asked_for() {
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

/// Invariant `work/git-of-others`.
#[test]
fn a_commit_of_the_users_while_a_prompt_stood_is_not_the_tools() {
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

#[test]
fn esc_and_revert_at_once_takes_the_commit_of_the_command() {
    let mut world = World::git(&[("a", "1\n")]);
    let first = branch(&world, "main");
    world.message("m1");
    set_clock_from_files(-1_000);
    world.start_shell();
    commit(&world, "a", "by the command\n");
    set_clock_from_files(1_000);
    let request = RevertRequest {
        force: ckpt_store::Force::All,
        ..with_git("m1")
    };
    let report = world.try_revert(&request).expect("nobody is at work");
    assert_eq!(branch(&world, "main"), first, "{report:?}");
}

/// Invariant `work/git-of-others`.
#[test]
fn what_moved_in_another_worktree_is_not_the_agents() {
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

#[test]
fn tags_stashes_and_branches_that_the_agent_made_or_removed_are_named() {
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

/// Invariant `work/git-moved`.
#[test]
fn a_revert_of_git_that_came_second_is_taken_back_and_made_again() {
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
        world.turn("m1", |world| {
            world.write("a", "agent\n");
            for arguments in work {
                world.run_git(arguments);
            }
        });
        let then = state(&world);
        let notes = world.revert("m1").notes.join("\n");
        assert_eq!(
            notes.contains("`--git` makes it again"),
            case == 1,
            "{notes}"
        );
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

/// What an operation says was removed.
fn removed(world: &mut World) -> Vec<NoteCode> {
    let report = revert(world, "m1");
    let codes = report.remarks.iter().map(|remark| remark.code);
    codes
        .filter(|code| {
            matches!(
                code,
                NoteCode::TagsGone | NoteCode::BranchGone | NoteCode::StashDropped
            )
        })
        .collect()
}

/// Makes everything in the repository as old as if it had been written an hour ago.
fn age(world: &World) {
    set_written(&world.path(".git"), -60 * MINUTE);
    set_clock_from_files(0);
}

/// Sets when what is below a path was written, counted from now.
fn set_written(path: &Path, milliseconds: i64) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("readable") {
            set_written(&entry.expect("readable").path(), milliseconds);
        }
    }
    let time = u64::try_from(file_time() + milliseconds).expect("after 1970");
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(time);
    let file = std::fs::File::open(path).expect("readable");
    file.set_modified(time).expect("ours");
}

fn stash(world: &World, text: &str) {
    world.write("a", text);
    let seconds = (file_time() - 60 * MINUTE) / 1000;
    let script = format!("GIT_COMMITTER_DATE='@{seconds} +0000' git stash -q");
    world.run_git(&["-c", &format!("alias.then=!{script}"), "then"]);
}

/// Invariant `truth/git-removals`: Tags, branches and stashes that the agent removed are told
/// of, and what is still there is not called removed.
#[test]
fn tags_that_the_agent_removed_are_told_of() {
    for is_packed in [false, true] {
        let mut world = repository();
        world.run_git(&["tag", "v1"]);
        world.run_git(&["tag", "v2"]);
        if is_packed {
            world.run_git(&["pack-refs", "--all"]);
        }
        age(&world);
        world.turn("m1", |world| {
            world.run_git(&["tag", "-d", "v1"]);
        });
        let told = removed(&mut world);
        assert_eq!(told, [NoteCode::TagsGone], "packed: {is_packed}");
    }
}

/// Invariant `truth/git-removals`.
#[test]
fn tags_that_a_command_removed_are_named_also_where_another_was_made_since() {
    let mut world = repository();
    for name in ["v1", "v2", "users"] {
        world.run_git(&["tag", name]);
    }
    age(&world);
    world.message("m1");
    let start = Event {
        tool_command: Some("git tag -d v1; git tag -d users; git tag v3".to_owned()),
        ..world.shell(EventKind::ToolStart)
    };
    world.send(&start);
    world.run_git(&["tag", "-d", "v1", "users"]);
    world.run_git(&["tag", "v3"]);
    let finish = world.shell(EventKind::ToolFinish);
    world.send(&finish);
    world.finish();
    world.run_git(&["tag", "users"]);
    let report = revert(&mut world, "m1");
    let gone = report.remarks.iter();
    let mut gone = gone.filter(|remark| remark.code == NoteCode::TagsGone);
    let gone = gone.next().expect("they are told of");
    assert_eq!(gone.about, ["v1"], "the user made the other one again");
    assert!(gone.text.contains("tag `v1`"), "{gone:?}");
}

/// Invariant `truth/git-removals`.
#[test]
fn branches_that_the_agent_deleted_without_being_on_them_are_told_of() {
    for is_packed in [false, true] {
        let mut world = repository();
        for name in ["idea", "deep/idea"] {
            world.run_git(&["branch", name]);
        }
        if is_packed {
            world.run_git(&["pack-refs", "--all"]);
        }
        age(&world);
        world.turn("m1", |world| {
            world.run_git(&["branch", "-q", "-D", "deep/idea"]);
        });
        assert_eq!(
            removed(&mut world),
            [NoteCode::BranchGone],
            "packed: {is_packed}"
        );
    }
}

/// Invariant `truth/git-removals`.
#[test]
fn branches_that_a_command_deleted_are_named() {
    let mut world = repository();
    for name in ["idea", "users"] {
        world.run_git(&["branch", name]);
    }
    age(&world);
    world.message("m1");
    let start = Event {
        tool_command: Some("git branch -D idea users && git branch new".to_owned()),
        ..world.shell(EventKind::ToolStart)
    };
    world.send(&start);
    world.run_git(&["branch", "-q", "-D", "idea", "users"]);
    world.run_git(&["branch", "new"]);
    let finish = world.shell(EventKind::ToolFinish);
    world.send(&finish);
    world.finish();
    world.run_git(&["branch", "users"]);
    let report = revert(&mut world, "m1");
    let gone = report.remarks.iter();
    let mut gone = gone.filter(|remark| remark.code == NoteCode::BranchGone);
    let gone = gone.next().expect("it is told of");
    assert_eq!(gone.about, ["idea"], "the user made the other one again");
}

/// Invariant `truth/git-removals`.
#[test]
fn branches_that_were_made_moved_or_renamed_are_not_called_deleted() {
    let mut world = repository();
    world.run_git(&["branch", "idea"]);
    stash(&world, "an hour of work\n");
    age(&world);
    world.turn("m1", |world| {
        world.run_git(&["branch", "made"]);
        world.run_git(&["branch", "deep/made"]);
        commit(world, "a", "agent\n");
    });
    assert_eq!(removed(&mut world), [], "none went");

    let mut world = repository();
    world.run_git(&["branch", "idea"]);
    stash(&world, "an hour of work\n");
    age(&world);
    world.turn("m1", |world| {
        world.run_git(&["branch", "-m", "idea", "other"]);
    });
    let report = revert(&mut world, "m1");
    let [note] = &report.remarks[..] else {
        panic!("its new name alone is told of: {report:#?}");
    };
    assert_eq!(note.code, NoteCode::BranchMoved);
    assert_eq!(note.about, ["idea", "other"], "{}", note.text);
}

/// Invariant `truth/git-removals`.
#[test]
fn a_stash_that_the_agent_applied_and_dropped_is_told_of() {
    for entries in 1..3 {
        let mut world = repository();
        for entry in 0..entries {
            stash(&world, &format!("an hour of work {entry}\n"));
        }
        age(&world);
        world.turn("m1", |world| {
            world.run_git(&["stash", "pop", "-q"]);
        });
        let told = removed(&mut world);
        assert_eq!(told, [NoteCode::StashDropped], "of {entries}");
        assert_eq!(world.read("a"), "1\n", "the file went back");
    }
}

/// Invariant `truth/git-removals`.
#[test]
fn what_gc_packs_and_what_the_user_removed_is_not_called_removed_by_the_agent() {
    let mut world = repository();
    world.run_git(&["tag", "v1"]);
    stash(&world, "an hour of work\n");
    age(&world);
    world.turn("m1", |world| {
        world.write("b", "agent\n");
        world.run_git(&["gc", "-q"]);
    });
    assert_eq!(removed(&mut world), [], "all of it is still there");

    let mut world = repository();
    world.run_git(&["tag", "v1"]);
    age(&world);
    world.turn("m1", |world| world.write("b", "agent\n"));
    world.run_git(&["tag", "-d", "v1"]);
    set_written(&world.path(".git/refs/tags"), MINUTE);
    set_clock_from_files(2 * MINUTE);
    assert_eq!(removed(&mut world), [], "the user's own");
}

#[test]
fn without_reflogs_head_goes_back_and_other_branches_that_moved_are_named() {
    let mut world = repository();
    world.run_git(&["config", "core.logAllRefUpdates", "false"]);
    world.remove_tree(".git/logs");
    age(&world);
    let before = git(&world).head;
    let main = branch(&world, "main");
    world.turn("m1", |world| {
        merge_into_side(world);
        commit(world, "a", "agent\n");
    });
    let report = revert(&mut world, "m1");
    assert_eq!((git(&world).head, branch(&world, "main")), (before, main));
    let moved = report
        .remarks
        .iter()
        .find(|remark| remark.code == NoteCode::BranchMoved);
    let moved = moved.expect("it stays where the agent left it");
    assert_eq!(moved.about, ["side"], "{}", moved.text);
}

#[test]
fn a_repository_that_the_agent_made_had_no_tags_to_remove() {
    let mut world = World::new();
    world.write("a", "1\n");
    set_clock_from_files(0);
    world.turn("m1", |world| {
        world.run_git(&["init", "-q"]);
        world.run_git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        world.run_git(&["tag", "deep/v1"]);
        world.run_git(&["tag", "-d", "deep/v1"]);
    });
    let report = world.revert("m1");
    let told = report.remarks.iter().map(|note| note.code);
    let told: Vec<NoteCode> = told.filter(|code| *code == NoteCode::TagsGone).collect();
    assert_eq!(told, [], "{report:#?}");
}

/// Git's log of HEAD names a tag like a branch.
#[test]
fn tag_that_head_was_at_is_no_branch_that_is_gone() {
    let mut world = World::git(&[("a", "1\n")]);
    world.run_git(&["tag", "v1"]);
    world.turn("m1", |world| {
        world.write("b", "1\n");
        world.run_git(&["checkout", "-q", "v1"]);
    });
    let report = world.revert("m1");
    let is_gone = |note: &ckpt_schema::report::NoteReport| note.text.contains("gone since");
    assert!(!report.remarks.iter().any(is_gone), "{report:#?}");
}
