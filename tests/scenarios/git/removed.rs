//! Refs that the agent removed: git keeps no record of them.

use ckpt_schema::report::{NoteCode, NoteReport};

use super::left::{MINUTE, branch, merge_into_side, repository};
use super::*;
use testing::scenario::{file_time, set_clock_from_files};

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
pub(super) fn age(world: &World) {
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

/// Branches that the agent deleted without being on them are told of.
///
/// Invariant `truth/git-removals`.
#[test]
fn deleted_foreign_branches_are_reported() {
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

/// Branches that were made moved or renamed are not called deleted.
///
/// Invariant `truth/git-removals`.
#[test]
fn moved_branches_are_not_called_deleted() {
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
    // Git notes the new name in its settings, too.
    let moved = |note: &&NoteReport| note.code == NoteCode::BranchMoved;
    let notes: Vec<_> = report.remarks.iter().filter(moved).collect();
    let [note] = notes[..] else {
        panic!("its new name is told of once: {report:#?}");
    };
    assert_eq!(note.about, ["idea", "other"], "{}", note.text);
    let others = report.remarks.iter().filter(|note| !moved(note));
    assert_eq!(
        others.flat_map(|note| &note.about).collect::<Vec<_>>(),
        [".git/config"]
    );
}

/// A stash that the agent applied and dropped is told of.
///
/// Invariant `truth/git-removals`.
#[test]
fn applied_and_dropped_stash_is_reported() {
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

/// What gc packs and what the user removed is not called removed by the agent.
///
/// Invariant `truth/git-removals`.
#[test]
fn gc_and_users_removals_are_not_the_agents() {
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

/// Without reflogs head goes back and other branches that moved are named.
#[test]
fn without_reflogs_head_goes_back() {
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

/// A repository that the agent made had no tags to remove.
#[test]
fn agents_repository_had_no_tags() {
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

/// Tag that head was at is no branch that is gone.
///
/// Git's log of HEAD names a tag like a branch.
#[test]
fn tag_at_head_is_no_missing_branch() {
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

/// What `--git` cannot do is not promised.
#[test]
fn lost_commit_has_no_way_back() {
    let mut world = World::git(&[("a", "1\n")]);
    world.turn("m1", |world| {
        world.remove_tree(".git");
        world.run_git(&["init", "-q", "-b", "main"]);
        commit(world, "a", "agent\n");
    });
    let report = world.revert("m1");
    let mut remarks = report.remarks.iter();
    let commits = remarks.find(|remark| remark.code == NoteCode::Commits);
    let commits = &commits.expect("it is named").text;
    assert!(
        commits.ends_with("no revert moves the branch back"),
        "{report:#?}"
    );
}

/// Of a repository in the place of another nothing is moved.
///
/// Invariant `truth/repository-changes`.
#[test]
fn nothing_of_a_remade_repository_is_moved() {
    for is_clone in [false, true] {
        set_clock_from_files(0);
        let mut world = World::git(&[("a", "1\n")]);
        let remote = world.base().join("remote");
        let remote = remote.to_str().expect("text");
        world.run_git(&["clone", "-q", "--bare", ".", remote]);
        world.turn("m1", |world| {
            world.remove_tree(".git");
            match is_clone {
                true => {
                    world.run_git(&["clone", "-q", "--bare", remote, ".git"]);
                    world.run_git(&["config", "core.bare", "false"]);
                    world.run_git(&["reset", "-q"]);
                }
                false => _ = world.run_git(&["init", "-qb", "main"]),
            }
            commit(world, "a", "2\n");
        });
        let before = git(&world).head + &world.run_git(&["log", "--format=%H"]);
        let plain = world.try_revert(&RevertRequest {
            dry_run: true,
            ..to("m1")
        });
        let plain = plain.expect("it can be planned");
        let is_named = |report: &OperationReport| {
            let mut notes = report.remarks.iter();
            notes.any(|note| note.about == [".git"])
        };
        assert!(is_named(&plain), "{plain:#?}");
        let report = revert(&mut world, "m1");
        assert!(is_named(&report), "{report:#?}");
        assert!(reason(&report).contains("made anew"), "{report:#?}");
        assert_eq!(parts(&report), [(GitPart::Head, FileResult::Conflict)]);
        assert_eq!(world.read("a"), "1\n", "the file is back");
        let after = git(&world).head + &world.run_git(&["log", "--format=%H"]);
        assert_eq!(after, before);
    }
}
