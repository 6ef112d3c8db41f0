//! What stands around a workspace while it goes back: repositories in the middle of something, conversions, links and mounts.

use std::path::Path;
use std::process::Command;

use ckpt_schema::report::{NoteCode, Outcome};
use ckpt_store::RedoRequest;

use testing::clock::await_tick;
use testing::scenario::{World, to};

fn succeeds(program: &str, arguments: &[&Path]) -> bool {
    Command::new(program)
        .args(arguments)
        .output()
        .is_ok_and(|output| output.status.success())
}

/// A repository whose `main` and `other` changed the same line.
fn two_branches() -> World {
    let world = World::git(&[("a", "0\n"), ("b", "1\n")]);
    world.run_git(&["checkout", "-qb", "other"]);
    world.write("a", "other\n");
    world.run_git(&["commit", "-qam", "other"]);
    world.run_git(&["checkout", "-q", "main"]);
    world.write("a", "main\n");
    world.run_git(&["commit", "-qam", "main"]);
    world
}

/// A revert in the middle of a rebase or with a detached head works on files only.
#[test]
fn revert_during_a_rebase_is_files_only() {
    let detach: fn(&World) = |world| _ = world.run_git(&["checkout", "-q", "--detach"]);
    let rebase: fn(&World) = |world| {
        let script =
            "git -c user.name=t -c user.email=t@t rebase -q other || test -d .git/rebase-merge";
        world.run_git(&["-c", &format!("alias.begin=!{script}"), "begin"]);
    };
    for begin in [detach, rebase] {
        let mut world = two_branches();
        begin(&world);
        let state = |world: &World| {
            (
                world.read(".git/HEAD"),
                std::fs::read(world.path(".git/index")).expect("there"),
            )
        };
        let (before, tree) = (state(&world), world.tree());
        world.turn("m1", |world| world.write("b", "agent\n"));
        world.revert("m1");
        assert_eq!(
            (world.tree(), state(&world)),
            (tree, before),
            "the file is back, and git is where it was"
        );
    }
}

/// What was reverted comes back after the user's git gc.
#[test]
fn reverted_work_returns_after_users_gc() {
    let mut world = World::git(&[("a", "0\n"), ("b", "0\n")]);
    world.turn("m1", |world| {
        world.write("a", "agent\n");
        world.remove("b");
        world.run_git(&["commit", "-qam", "agent"]);
    });
    let after = world.tree();
    world.revert("m1");
    let reverted = world.tree();
    world.run_git(&["reflog", "expire", "--expire=now", "--all"]);
    world.run_git(&["gc", "-q", "--prune=now"]);
    world.unrevert();
    assert_eq!(
        world.tree(),
        after,
        "nothing that is needed was git's alone"
    );
    world.revert("m1");
    assert_eq!(world.tree(), reverted, "nor on the way back");
}

/// Sessions in directories side by side of one repository do not disturb each other.
#[test]
fn neighbouring_directories_sessions_are_independent() {
    let mut world = World::git(&[("one/a", "0\n"), ("two/a", "0\n")]);
    world.cwd = world.path("one");
    world.message_in("s1", "m1");
    world.start_in("s1");
    world.write("one/a", "first\n");
    world.finish_in("s1");
    world.cwd = world.path("two");
    world.message_in("s2", "m2");
    world.start_in("s2");
    world.write("two/a", "second\n");
    world.finish_in("s2");
    let stamp = world.stamp("two/a");
    world.revert("m1");
    assert_eq!(
        (world.read("one/a").as_str(), world.read("two/a").as_str()),
        ("0\n", "second\n"),
        "one of them"
    );
    assert_eq!(world.stamp("two/a"), stamp, "and the other was not touched");
    world.revert("m2");
    assert_eq!(world.read("two/a"), "0\n", "each by itself");
}

/// Bytes come back as they were whatever git would make of them.
#[test]
fn bytes_return_whatever_git_would_make() {
    let contents: [(&str, &[u8]); 7] = [
        ("crlf", b"one\r\ntwo\r\n"),
        ("mixed", b"one\r\ntwo\nthree\r"),
        ("ident", b"$Id: 1 $\n$Id$\n"),
        ("bom", b"\xef\xbb\xbfone\n"),
        ("utf16", b"\xff\xfeo\0n\0e\0\n\0"),
        ("empty", b""),
        ("no end", b"one\ntwo"),
    ];
    let mut world = World::git(&[]);
    world.run_git(&["config", "core.autocrlf", "true"]);
    world.run_git(&["config", "filter.upper.smudge", "tr a-z A-Z"]);
    world.write(
        ".gitattributes",
        "* text=auto eol=crlf ident filter=upper\nutf16 working-tree-encoding=UTF-16\n",
    );
    for (path, bytes) in contents {
        world.write(path, bytes);
    }
    let before = world.tree();
    world.turn("m1", |world| {
        for (path, _) in contents {
            world.write(path, "the agent's\n");
        }
    });
    world.revert("m1");
    assert_eq!(world.tree(), before, "byte for byte");
}

/// A workspace that is reached through a link is the same one.
#[test]
fn workspace_through_a_link_is_the_same() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.turn("m1", |world| world.write("a", "agent\n"));
    let link = world.base().join("link");
    std::os::unix::fs::symlink(&world.root, &link).expect("writable");
    world.cwd = link;
    world.revert("m1");
    assert_eq!(world.read("a"), "0\n", "its real path is what counts");
}

/// A parent that became a link to a neighbour or to git is not passed.
#[test]
fn parent_linked_to_git_is_not_passed() {
    for target in ["neighbour", ".git"] {
        let mut world = World::git(&[("neighbour/x", "mine\n"), ("d/x", "0\n")]);
        world.turn("m1", |world| world.write("d/x", "agent\n"));
        world.remove("d/x");
        world.remove_directory("d");
        world.link("d", target);
        let before = world.tree();
        let report = world.revert("m1");
        assert_eq!(
            report.outcome,
            Outcome::Partial,
            "{target}: it cannot be put back: {report:?}"
        );
        assert_eq!(
            world.tree(),
            before,
            "{target}: nothing was written anywhere"
        );
        assert!(!world.exists(".git/x"), "{target}: least of all there");
    }
}

/// A workspace that is mounted at another place as well is reverted at either.
#[test]
fn twice_mounted_workspace_is_reverted_at_either() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.turn("m1", |world| world.write("a", "agent\n"));
    let elsewhere = world.base().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("writable");
    if !succeeds("mount", &["--bind".as_ref(), &world.root, &elsewhere]) {
        return testing::skip::skip("only root can mount something");
    }
    let home = std::mem::replace(&mut world.cwd, elsewhere.clone());
    world.turn("m2", |world| world.write("a", "there\n"));
    world.cwd = home;
    let here = world.try_revert(&to("m2"));
    let after_here = world.read("a");
    world.cwd.clone_from(&elsewhere);
    let there = world.try_revert(&to("m1"));
    let after_there = world.read("a");
    let all = RedoRequest {
        all: true,
        ..RedoRequest::default()
    };
    let back = world.store.redo(&elsewhere, &all);
    let after_back = world.read("a");
    assert!(
        succeeds("umount", &["--lazy".as_ref(), &elsewhere]),
        "what was mounted can be taken away"
    );
    // With a history at each, one would take the other's work for the user's, or not know it.
    let here = here.expect("what was recorded there is known here");
    assert_eq!(here.outcome, Outcome::Restored);
    assert_eq!(after_here, "agent\n");
    let there = there.expect("what was recorded here is known there");
    assert_eq!(there.outcome, Outcome::Restored);
    assert_eq!(after_there, "0\n");
    back.expect("the way back of both");
    assert_eq!(after_back, "there\n");
}

/// What is mounted over a directory is neither entered nor removed.
#[test]
fn mount_is_neither_entered_nor_removed() {
    let mut world = World::new();
    world.write("d/x", "0\n");
    world.turn("m1", |world| world.write("d/x", "agent\n"));
    let at = world.path("d");
    let tmpfs = ["-t", "tmpfs", "-o", "size=64k", "ckpt"].map(Path::new);
    if !succeeds("mount", &[&tmpfs[..], &[&at]].concat()) {
        return testing::skip::skip("only root can mount something");
    }
    world.write("d/x", "on another disk\n");
    let report = world.try_revert(&to("m1"));
    let found = world.read("d/x");
    assert!(
        succeeds("umount", &["--lazy".as_ref(), &at]),
        "what was mounted can be taken away"
    );
    assert_eq!(
        found, "on another disk\n",
        "it is not the workspace's: {report:?}"
    );
    assert_eq!(
        world.read("d/x"),
        "agent\n",
        "nor was what lies below it touched"
    );
}

/// A revert that has nothing to do writes nothing.
#[test]
fn revert_of_nothing_writes_nothing() {
    let mut world = World::git(&[("a", "0\n"), ("d/b", "0\n")]);
    world.turn("m1", |world| world.write("a", "agent\n"));
    world.revert("m1");
    await_tick();
    world.revert("m1");
    let written = |world: &World| {
        let mut files = std::collections::BTreeMap::new();
        let mut folders = vec![world.base().join("store"), world.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("readable") {
                let path = entry.expect("readable").path();
                let metadata = path.symlink_metadata().expect("it is there");
                if metadata.is_dir() {
                    folders.push(path.clone());
                }
                // The index that readers of the database share is memory, though it has a name.
                if !path.to_string_lossy().ends_with("-shm") {
                    files.insert(
                        path,
                        (
                            metadata.len(),
                            metadata.modified().expect("every system has it"),
                        ),
                    );
                }
            }
        }
        files
    };
    let before = written(&world);
    assert_eq!(
        world.revert("m1").outcome,
        Outcome::Nothing,
        "it is done already"
    );
    assert_eq!(written(&world), before, "no row, no object, no file");
}

/// A restore names what it could not see and is not whole.
#[test]
fn restore_names_what_it_could_not_see() {
    let mut world = World::git(&[("a", "0\n"), ("git~2", "then as now\n")]);
    world.turn("m1", |world| {
        world.write("a", "agent\n");
        world.write("d/git~1", "a name that some file systems take for `.git`\n");
    });
    let report = world.restore("m1", &[]);
    assert_eq!(
        world.read("a"),
        "0\n",
        "what could be restored is: {report:?}"
    );
    assert!(world.path("d/git~1").exists(), "what nobody stored stays");
    assert_eq!(
        report.outcome,
        Outcome::Partial,
        "nobody knows whether it is as it was: {report:?}"
    );
    assert!(
        report.notes.iter().any(|note| note.contains("d/git~1")),
        "it is named: {report:?}"
    );
    assert!(
        !report.notes.iter().any(|note| note.contains("git~2")),
        "what was there then is no difference: {report:?}"
    );
    let report = world.restore("m1", &["a"]);
    assert_eq!(
        report.outcome,
        Outcome::Nothing,
        "of another path it says nothing: {report:?}"
    );
}

/// A restore names what its state saw and does not store, of the paths that it is about.
///
/// Invariant `truth/ignored-named`.
#[test]
fn restore_names_ignored_files_that_went() {
    let mut world = World::git(&[(".gitignore", "*.o\n"), ("a", "1\n"), ("b", "1\n")]);
    world.write("d/k.o", "built\n");
    world.write("stays.o", "built\n");
    world.turn("m1", |world| {
        world.remove_tree("d");
        world.write("a", "2\n");
        world.write("b", "2\n");
    });
    let report = world.restore("m1", &["a"]);
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
    let report = world.restore("m1", &[]);
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
    let removed = report.remarks.iter();
    let mut removed = removed.filter(|remark| remark.code == NoteCode::IgnoredRemoved);
    let about = removed.next().map(|remark| remark.about.clone());
    assert_eq!(about, Some(vec!["d/k.o".to_owned()]), "{report:#?}");
}
