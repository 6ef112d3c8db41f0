//! The user's git state: left alone without `--git`, put back with it. Git itself gives the second opinion.

use std::path::{Path, PathBuf};

use ckpt_schema::report::{FileResult, GitPart, OperationReport, Outcome};
use ckpt_store::{RedoRequest, RestoreRequest, RevertRequest};

use crate::world::{World, to};

/// What git says of everything that `--git` is about.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Git {
    head: String,
    status: String,
    staged: String,
    unstaged: String,
    entries: String,
}

fn git(world: &World) -> Git {
    let ask = |arguments: &[&str]| world.run_git(&[&["--no-optional-locks"], arguments].concat());
    Git {
        head: world.read(".git/HEAD"),
        status: ask(&["status", "--porcelain=v2", "--branch"]),
        staged: ask(&["diff", "--cached", "--binary"]),
        unstaged: ask(&["diff", "--binary"]),
        entries: ask(&["ls-files", "--stage", "--debug", "-v"])
            .lines()
            .filter(|line| !line.starts_with("  ") || line.contains("flags"))
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

fn with_git(message: &str) -> RevertRequest {
    RevertRequest { git: true, ..to(message) }
}

fn revert(world: &mut World, message: &str) -> OperationReport {
    let report = world.try_revert(&with_git(message)).expect("it can be reverted");
    assert_sound(world);
    report
}

fn unrevert(world: &mut World) -> OperationReport {
    let report = world.unrevert();
    assert_sound(world);
    report
}

/// Nothing of ours is left below `.git`, and git finds nothing wrong with it.
fn assert_sound(world: &World) {
    let mut left = Vec::new();
    strays(&world.path(".git"), &mut left);
    assert_eq!(left, Vec::<PathBuf>::new(), "no lock, no name of ours");
    let fsck = world.run_git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(fsck, "", "git finds nothing");
}

fn strays(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".lock") || name.contains("ckpt-hook") {
            found.push(path.clone());
        }
        if path.is_dir() {
            strays(&path, found);
        }
    }
}

/// Which parts an operation moved, and which it left.
fn parts(report: &OperationReport) -> Vec<(GitPart, FileResult)> {
    report.git.iter().map(|part| (part.part, part.result)).collect()
}

fn reason(report: &OperationReport) -> &str {
    report.git.iter().find_map(|part| part.reason.as_deref()).expect("something was left for a reason")
}

fn commit(world: &World, path: &str, text: &str) -> String {
    world.write(path, text);
    world.run_git(&["add", path]);
    world.run_git(&["commit", "-qm", text.trim()]);
    world.run_git(&["rev-parse", "HEAD"])
}

/// A message whose agent does something to git: reverted with `--git` git says what it said before, and unreverted what it
/// said after.
fn goes_back_and_forth(prepare: impl FnOnce(&World), agent: impl FnOnce(&World)) -> (World, OperationReport) {
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
    assert!(!is_moved || bytes(&world) == index, "the index is the same, bit by bit");
    assert_eq!((git(&world), world.tree()), before, "as it was before the message: {report:?}");
    assert_eq!(report.outcome, Outcome::Restored, "all of it: {report:?}");
    let back = unrevert(&mut world);
    assert_eq!((git(&world), world.tree()), after, "and back: {back:?}");
    assert_eq!(back.outcome, Outcome::Restored, "all of it: {back:?}");
    revert(&mut world, "m1");
    assert_eq!((git(&world), world.tree()), before, "and again");
    (world, report)
}

#[test]
fn commits_of_the_agent_leave_the_branch_and_are_in_the_reflog() {
    let (world, report) = goes_back_and_forth(
        |_| {},
        |world| {
            commit(world, "a", "agent 1\n");
            commit(world, "new", "agent 2\n");
        },
    );
    assert_eq!(parts(&report), [(GitPart::Branch, FileResult::Done), (GitPart::Index, FileResult::Done)], "two parts");
    assert_eq!(world.run_git(&["symbolic-ref", "HEAD"]), "refs/heads/main", "HEAD never left its branch");
    let log = world.run_git(&["reflog", "show", "main", "--format=%h %gs"]);
    assert!(log.contains("ckpt-hook revert"), "the branch's reflog says who moved it: {log}");
    let log = world.run_git(&["reflog", "show", "HEAD", "--format=%gs"]);
    assert!(log.starts_with("ckpt-hook revert"), "so does HEAD's: {log}");
    assert_eq!(world.run_git(&["show", "main@{1}:new"]), "agent 2", "what left is a word away");
}

#[test]
fn staged_and_unstaged_parts_of_one_file_come_back_apart() {
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
    assert_eq!(parts(&report), [(GitPart::Index, FileResult::Done)], "HEAD had nothing to do with it");
}

#[test]
fn intent_to_add_and_the_flags_of_entries_come_back() {
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

#[test]
fn conflicts_that_the_agent_resolved_come_back_while_the_merge_goes_on() {
    goes_back_and_forth(
        |world| {
            world.run_git(&["checkout", "-qb", "other"]);
            commit(world, "a", "other\n");
            world.run_git(&["checkout", "-q", "main"]);
            commit(world, "a", "main\n");
            let _ = std::process::Command::new("git").args(["merge", "other"]).current_dir(&world.root).output();
            assert!(world.exists(".git/MERGE_HEAD"), "the merge stops at a conflict");
        },
        |world| {
            world.write("a", "resolved\n");
            world.run_git(&["add", "a"]);
        },
    );
}

#[test]
fn a_branch_that_the_agent_made_is_kept_and_head_goes_back() {
    let (world, report) = goes_back_and_forth(
        |_| {},
        |world| {
            world.run_git(&["checkout", "-qb", "agents"]);
            commit(world, "a", "agent\n");
        },
    );
    assert_eq!(parts(&report), [(GitPart::Head, FileResult::Done), (GitPart::Index, FileResult::Done)], "two parts");
    assert_eq!(world.run_git(&["show", "agents:a"]), "agent", "its branch is kept");
    assert!(world.run_git(&["reflog", "-1", "--format=%gs"]).ends_with("moving from agents to main"), "and says so");
}

#[test]
fn a_commit_and_then_a_branch_leave_both_as_they_were() {
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
    assert_eq!(git(&world), before, "HEAD is on main again, and main where it was: {report:?}");
    assert_eq!(world.run_git(&["show", "agents:a"]), "on its own", "the branch is kept");
    unrevert(&mut world);
    assert_eq!((git(&world), world.run_git(&["rev-parse", "main"])), (after, main), "both as the agent left them");
}

#[test]
fn a_commit_and_a_branch_in_one_step_keep_all_of_git() {
    // Nobody looked while HEAD was on main with the new commit: it may have been somebody else's.
    let mut world = World::git(&[("a", "1\n")]);
    world.turn("m1", |world| {
        commit(world, "a", "on main\n");
        world.run_git(&["checkout", "-qb", "agents"]);
        commit(world, "a", "on its own\n");
    });
    let before = (git(&world).head, git(&world).entries, world.run_git(&["for-each-ref"]));
    let report = revert(&mut world, "m1");
    assert!(report.git.iter().all(|part| part.result == FileResult::Conflict), "all or nothing: {report:?}");
    assert_eq!((git(&world).head, git(&world).entries, world.run_git(&["for-each-ref"])), before, "nothing was moved");
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
    let mut world = World::new();
    world.run_git(&["init", "-q", "-b", "main"]);
    world.write("mine", "1\n");
    let before = git(&world);
    world.turn("m1", |world| {
        commit(world, "a", "first\n");
    });
    let after = git(&world);
    let report = revert(&mut world, "m1");
    assert_eq!(git(&world), before, "no commit yet, and no index: {report:?}");
    unrevert(&mut world);
    assert_eq!(git(&world), after, "and back");
}

#[test]
fn packed_refs_nested_names_and_packed_objects_change_nothing() {
    goes_back_and_forth(
        |world| {
            world.run_git(&["checkout", "-qb", "users/me/topic"]);
            for number in 0..20 {
                commit(world, "b", &format!("{}{number}\n", "line\n".repeat(50)));
            }
            world.run_git(&["gc", "-q"]);
            assert!(!world.exists(".git/refs/heads/users/me/topic"), "the branch is packed");
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

#[test]
fn a_linked_worktree_has_a_head_and_an_index_of_its_own() {
    let mut world = World::git(&[("a", "1\n")]);
    let linked = world.base().join("linked");
    world.run_git(&["worktree", "add", "-q", "-b", "side", linked.to_str().expect("UTF-8")]);
    let main = git(&world);
    let root = std::mem::replace(&mut world.root, linked.clone());
    world.cwd = linked;
    let ask =
        |world: &World| (world.run_git(&["--no-optional-locks", "status", "--porcelain=v2", "--branch"]), world.tree());
    let before = ask(&world);
    world.turn("m1", |world| {
        commit(world, "a", "agent\n");
    });
    let after = ask(&world);
    let report = world.try_revert(&with_git("m1")).expect("it can be reverted");
    assert_eq!(ask(&world), before, "the linked one went back: {report:?}");
    world.unrevert();
    assert_eq!(ask(&world), after, "and forth");
    world.root = root;
    assert_eq!(git(&world), main, "the main one has nothing to do with it");
    assert_sound(&world);
}

#[test]
fn a_repository_with_sha_256_goes_back_as_well() {
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
        assert_eq!(git(&world), states[number - 1], "just before message {number}");
    }
    world.redo();
    assert_eq!(git(&world), states[2], "one message forward, git with it");
    unrevert(&mut world);
    assert_eq!(git(&world), states[3], "all the way");
}

#[test]
fn a_commit_of_the_users_since_stays_and_is_the_reason() {
    let mut world = World::git(&[("a", "1\n"), ("b", "1\n")]);
    world.turn("m1", |world| {
        commit(world, "a", "agent\n");
    });
    commit(&world, "b", "user\n");
    let before = git(&world);
    let report = revert(&mut world, "m1");
    assert_eq!(
        parts(&report),
        [(GitPart::Branch, FileResult::Conflict), (GitPart::Index, FileResult::Conflict)],
        "both"
    );
    assert!(reason(&report).contains("by the user"), "{report:?}");
    assert_eq!(report.outcome, Outcome::Partial, "and it says so");
    assert_eq!(git(&world).head, before.head, "HEAD stays");
    assert_eq!(world.run_git(&["log", "--format=%s"]), "user\nagent\nfirst", "no commit was lost");
    assert_eq!(world.read("a"), "1\n", "the file is back all the same");
}

#[test]
fn a_commit_of_the_users_before_the_first_tool_is_kept() {
    let mut world = World::git(&[("a", "1\n"), ("b", "1\n")]);
    world.message("m1");
    let user = commit(&world, "b", "user\n");
    world.step(|world| {
        commit(world, "a", "agent\n");
    });
    revert(&mut world, "m1");
    assert_eq!(world.run_git(&["rev-parse", "main"]), user, "the agent's commit goes, the user's stays");
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
        [(GitPart::Branch, FileResult::Done), (GitPart::Index, FileResult::Conflict)],
        "{report:?}"
    );
    assert_eq!(world.run_git(&["rev-parse", "main"]), first, "the branch goes back");
    assert_eq!(world.run_git(&["show", ":b"]), "user", "what the user staged is still staged");
}

#[test]
fn looking_at_the_status_is_no_change_of_the_index() {
    let mut world = World::git(&[("a", "1\n")]);
    let before = git(&world);
    world.turn("m1", |world| {
        commit(world, "a", "agent\n");
    });
    world.write("a", "agent\n");
    world.run_git(&["update-index", "--refresh"]);
    let report = revert(&mut world, "m1");
    assert_eq!((git(&world), report.outcome), (before, Outcome::Restored), "only what git remembers was refreshed");
}

#[test]
fn a_commit_made_while_reverted_stays_on_the_way_back() {
    let mut world = World::git(&[("a", "1\n"), ("b", "1\n")]);
    world.turn("m1", |world| {
        commit(world, "a", "agent\n");
    });
    revert(&mut world, "m1");
    let user = commit(&world, "b", "user\n");
    let report = unrevert(&mut world);
    assert_eq!(world.run_git(&["rev-parse", "main"]), user, "the branch has something new");
    assert_eq!(report.outcome, Outcome::Partial, "{report:?}");
    assert_eq!(world.read("a"), "agent\n", "the files go all the way");
}

#[test]
fn a_merge_that_began_since_refuses_git_and_no_file() {
    let mut world = World::git(&[("a", "1\n")]);
    world.run_git(&["checkout", "-qb", "other"]);
    commit(&world, "a", "other\n");
    world.run_git(&["checkout", "-q", "main"]);
    world.turn("m1", |world| {
        commit(world, "a", "main\n");
        let _ = std::process::Command::new("git").args(["merge", "other"]).current_dir(&world.root).output();
    });
    assert!(world.exists(".git/MERGE_HEAD"), "it stopped at a conflict");
    let before = (git(&world).head, world.run_git(&["ls-files", "--stage"]));
    let report = revert(&mut world, "m1");
    assert!(reason(&report).contains("a merge has begun since"), "{report:?}");
    assert_eq!((git(&world).head, world.run_git(&["ls-files", "--stage"])), before, "HEAD and index stay");
    assert_eq!(world.read("a"), "1\n", "the file is back");
}

#[test]
fn whatever_began_since_and_is_not_finished_refuses_git() {
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
            let mut command = std::process::Command::new("git");
            command.args(["-c", "user.name=t", "-c", "user.email=t@t"]).args(arguments);
            let _ = command.current_dir(&world.root).env("HOME", world.base().join("home")).output();
        });
        let before = git(&world).head;
        let report = revert(&mut world, "m1");
        assert!(reason(&report).contains(&format!("a {what} has begun since")), "{what}: {report:?}");
        assert_eq!(git(&world).head, before, "{what}: HEAD stays");
    }
}

#[test]
fn a_branch_that_is_checked_out_elsewhere_is_not_moved() {
    let mut world = World::git(&[("a", "1\n")]);
    world.turn("m1", |world| {
        commit(world, "a", "agent\n");
        world.run_git(&["checkout", "-qb", "agents"]);
    });
    let linked = world.base().join("linked");
    world.run_git(&["worktree", "add", "-q", linked.to_str().expect("UTF-8"), "main"]);
    let before = git(&world);
    let report = revert(&mut world, "m1");
    assert_eq!(report.outcome, Outcome::Partial, "git would refuse it, too: {report:?}");
    assert_eq!(git(&world).head, before.head, "HEAD stays");
}

#[test]
fn a_split_index_and_one_of_version_4_come_back() {
    for arguments in [&["update-index", "--split-index"][..], &["update-index", "--index-version", "4"]] {
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

#[test]
fn a_submodule_is_a_commit_in_the_index_and_nothing_more() {
    goes_back_and_forth(
        |world| {
            let id = world.run_git(&["rev-parse", "HEAD"]);
            world.run_git(&["update-index", "--add", "--cacheinfo", &format!("160000,{id},module")]);
        },
        |world| {
            world.run_git(&["commit", "-qm", "agent"]);
            world.run_git(&["update-index", "--force-remove", "module"]);
        },
    );
}

#[test]
fn an_index_that_git_would_believe_too_much_is_looked_at_again() {
    // The file changes in the moment in which it was staged, and keeps its size: only the index's own time tells git.
    let mut world = World::git(&[("a", "1\n"), ("b", "1\n")]);
    world.run_git(&["config", "core.trustctime", "false"]);
    world.write("a", "one\n");
    let time = std::fs::metadata(world.path("a")).and_then(|metadata| metadata.modified()).expect("it has a time");
    world.run_git(&["add", "a"]);
    world.write("a", "two\n");
    for path in ["a", ".git/index"] {
        let file = std::fs::File::options().write(true).open(world.path(path)).expect("writable");
        file.set_modified(time).expect("it is ours");
    }
    let bytes = std::fs::read(world.path(".git/index")).expect("there");
    let before = git(&world);
    assert!(before.status.contains("1 MM"), "staged, and changed since: {before:?}");
    world.turn("m1", |world| {
        world.write("b", "agent\n");
        world.run_git(&["add", "b"]);
    });
    let report = world.try_revert(&with_git("m1")).expect("it can be reverted");
    assert!(std::fs::read(world.path(".git/index")).expect("there") == bytes, "bit by bit: {report:?}");
    assert_eq!(git(&world).status, before.status, "still changed since");
}

#[test]
fn a_merge_of_the_users_that_the_agent_ended_is_not_taken_up_again() {
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
    assert!(reason(&report).contains("a merge was under way then"), "{report:?}");
    assert_eq!(git(&world), before, "what merge it was is not known any more");
}

#[test]
fn a_lock_that_somebody_holds_refuses_git_and_stays() {
    for lock in ["index.lock", "refs/heads/main.lock"] {
        let mut world = World::git(&[("a", "1\n")]);
        world.turn("m1", |world| {
            commit(world, "a", "agent\n");
        });
        let before = git(&world).head;
        world.write(format!(".git/{lock}"), "");
        let report = world.try_revert(&with_git("m1")).expect("the files can be reverted");
        assert!(reason(&report).contains(".lock` is there"), "{report:?}");
        assert!(report.git.iter().all(|part| part.result == FileResult::Failed), "all or nothing: {report:?}");
        assert!(world.exists(format!(".git/{lock}")), "it is not ours");
        assert_eq!(git(&world).head, before, "nothing was moved");
        world.remove(format!(".git/{lock}"));
        let report = revert(&mut world, "m1");
        assert_eq!(report.outcome, Outcome::Restored, "asked again, it is done: {report:?}");
        assert_eq!(world.run_git(&["log", "--format=%s"]), "first", "the branch is back");
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
    assert!(reason(&report).contains("no longer in the repository"), "{report:?}");
    assert_eq!(git(&world).head, before.head, "a branch that names nothing would be worse");
    assert_eq!(world.read("a"), "gone\n", "the store has the file");
}

#[test]
fn what_was_staged_and_is_gone_keeps_the_index() {
    let mut world = World::git(&[("a", "1\n")]);
    world.write("a", "staged\n");
    world.run_git(&["add", "a"]);
    world.turn("m1", |world| {
        world.run_git(&["reset", "-q", "--hard"]);
        world.run_git(&["gc", "-q", "--prune=now"]);
    });
    let before = git(&world);
    let report = revert(&mut world, "m1");
    assert!(reason(&report).contains("what was staged of `a` is no longer"), "{report:?}");
    assert_eq!(git(&world).entries, before.entries, "an index that names nothing would be worse");
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
    let report = world.try_revert(&with_git("m1")).expect("it can be reverted");
    assert!(reason(&report).contains("no repository then"), "{report:?}");
    assert_eq!(world.read(".git/HEAD"), before, "it is not ours to take away");
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
    let report = world.try_revert(&with_git("m1")).expect("it can be reverted");
    assert!(reason(&report).contains("does not keep its refs in files"), "{report:?}");
    assert_eq!(world.run_git(&["diff", "--cached", "--name-only"]), "a", "it stays staged");
}

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
    assert!(note.starts_with("the agent made 2 commits since: "), "{note}");
    assert!(note.contains("second of the agent's") && note.contains("first of the agent's"), "{note}");
    assert!(note.ends_with("`--git` moves the branch back"), "{note}");
    assert!(!note.contains("user"), "not the user's: {note}");
    assert_eq!((git(&world).head, report.git.len()), (before, 0), "and nothing was moved");
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
    assert_eq!((git(&world), report.outcome), (before, Outcome::Restored), "asked for afterwards: {report:?}");
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
    let report = world.try_revert(&RevertRequest { dry_run: true, ..with_git("m1") }).expect("a plan");
    assert_eq!(git(&world), before, "nothing was done");
    assert_eq!(
        parts(&report),
        [(GitPart::Branch, FileResult::Planned), (GitPart::Index, FileResult::Planned)],
        "{report:?}"
    );
    let branch = &report.git[0];
    assert_eq!((branch.from.as_ref(), branch.to.as_ref()), (Some(&second), Some(&first)), "from and to");
}

#[test]
fn restore_puts_git_back_whoever_moved_it_and_has_its_own_way_back() {
    let mut world = World::git(&[("a", "1\n")]);
    let before = git(&world);
    let snapshot = world.snapshot();
    commit(&world, "a", "user\n");
    let after = git(&world);
    let cwd = world.cwd.clone();
    let restore = |world: &mut World, id: &str| {
        let request = RestoreRequest { id: id.to_owned(), git: true, ..RestoreRequest::default() };
        world.store.restore(&cwd, &request).expect("it can be restored")
    };
    let report = restore(&mut world, &snapshot);
    assert_eq!(git(&world), before, "exactly as it was captured: {report:?}");
    restore(&mut world, &report.operation.expect("something was done"));
    assert_eq!(git(&world), after, "and back");
    assert_sound(&world);
}

#[test]
fn git_goes_with_a_whole_revert_only() {
    let mut world = World::git(&[("a", "1\n")]);
    world.turn("m1", |world| world.write("a", "2\n"));
    let part = RevertRequest { only: vec!["a".into()], ..with_git("m1") };
    assert!(world.try_revert(&part).is_err(), "HEAD is of no path");
    assert_eq!(world.read("a"), "2\n", "nothing was done");
}

#[test]
fn where_there_is_no_repository_it_says_so() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("a", "2\n"));
    let report = world.try_revert(&with_git("m1")).expect("the files can be reverted");
    assert!(report.notes.iter().any(|note| note.contains("no git repository")), "{report:?}");
    assert_eq!(report.outcome, Outcome::Restored, "there was nothing more to do");
}

#[test]
fn unrevert_takes_git_along_only_where_the_revert_did() {
    let mut world = World::git(&[("a", "1\n")]);
    world.turn("m1", |world| {
        commit(world, "a", "agent\n");
    });
    world.revert("m1");
    let user = commit(&world, "b", "user\n");
    let cwd = world.cwd.clone();
    let report = world.store.redo(&cwd, &RedoRequest { all: true, ..RedoRequest::default() }).expect("unreverted");
    assert_eq!(report.git, [], "nobody asked");
    assert_eq!(world.run_git(&["rev-parse", "main"]), user, "and nothing moved");
}
