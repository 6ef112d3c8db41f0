//! Nothing outside the workspace, and nothing in a `.git`, is ever written, whatever stands on the way.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ckpt_schema::report::FileResult;
use ckpt_store::revert::carry_out::apply::Root;

use testing::apply::{PlannedWorkspace, Thing, assert_done, file, link, listing, ways};

/// A file outside that would give away any write, with all that `lstat` says of it.
fn canary(world: &PlannedWorkspace) -> impl Fn() -> Vec<(String, u64, i64, i64)> + use<> {
    let outside = world.outside.clone();
    fs::create_dir_all(outside.join("d")).expect("a directory outside");
    fs::write(outside.join("d/x"), "agent\n")
        .expect("a file outside that looks like what is expected");
    fs::write(outside.join("x"), "agent\n").expect("another");
    move || {
        let state = |(name, what): (String, String)| {
            let metadata = fs::symlink_metadata(outside.join(&name)).expect("listed");
            (
                format!("{name} {what}"),
                metadata.ino(),
                metadata.ctime(),
                metadata.ctime_nsec(),
            )
        };
        listing(&outside).into_iter().map(state).collect()
    }
}

fn targets() -> Vec<Thing> {
    vec![
        file("before\n"),
        Thing::File(b"agent\n".to_vec(), 0o755),
        link("before"),
        Thing::Directory(0o755),
        Thing::Nothing,
    ]
}

/// A parent or grandparent that became a link is not passed.
#[test]
fn parent_that_became_a_link_is_not_passed() {
    for abilities in ways() {
        for target in targets() {
            for expected in [file("agent\n"), Thing::Nothing] {
                for parent in ["d", "a/d"] {
                    let mut world = PlannedWorkspace::new();
                    let look = canary(&world);
                    let before = look();
                    world.put(
                        parent,
                        &link(world.outside.join("d").to_str().expect("text")),
                    );
                    world.put("a2", &link(world.outside.to_str().expect("text")));
                    world.plan(format!("{parent}/x"), &expected, &target);
                    world.plan("a2/d/x", &expected, &target);
                    world.plan("a2/new/x", &Thing::Nothing, &target);
                    let results = world.apply_with(&world.open().with_abilities(abilities));
                    for done in results {
                        let nothing_to_do =
                            target == Thing::Nothing && done.result == FileResult::Done;
                        assert!(
                            nothing_to_do || done.result == FileResult::Conflict,
                            "{target:?}: {:?}",
                            done.reason
                        );
                    }
                    assert_eq!(
                        look(),
                        before,
                        "nothing outside was touched: {expected:?} to {target:?}"
                    );
                    assert_eq!(world.temporaries(), [""; 0], "nothing is left inside");
                }
            }
        }
    }
}

/// A leaf that became a link is left and so is what it points at.
///
/// Invariant `work/never-outside`.
#[test]
fn leaf_that_became_a_link_is_left() {
    for abilities in ways() {
        for target in targets() {
            for to in ["x", "d", "no such thing"] {
                let mut world = PlannedWorkspace::new();
                let look = canary(&world);
                let before = look();
                world.put("x", &link(world.outside.join(to).to_str().expect("text")));
                world.plan("x", &file("agent\n"), &target);
                let results = world.apply_with(&world.open().with_abilities(abilities));
                assert_eq!(
                    results[0].result,
                    FileResult::Conflict,
                    "{target:?}: {:?}",
                    results[0].reason
                );
                assert_eq!(look(), before, "nothing outside was touched");
            }
        }
    }
}

/// A link of the agent to outside is replaced and not followed.
#[test]
fn agents_link_outside_is_replaced_not_followed() {
    for abilities in ways() {
        for target in targets() {
            let mut world = PlannedWorkspace::new();
            let look = canary(&world);
            let before = look();
            let pointer = link(world.outside.join("x").to_str().expect("text"));
            world.put_and_plan("x", &pointer, &target);
            let pointer = link(world.outside.join("d").to_str().expect("text"));
            world.put_and_plan("d", &pointer, &Thing::Nothing);
            world.plan("d/x", &Thing::Nothing, &file("before\n"));
            assert_done(&world.apply_with(&world.open().with_abilities(abilities)));
            assert_eq!(look(), before, "nothing outside was touched");
            assert!(
                fs::symlink_metadata(world.on_disk("d"))
                    .expect("there")
                    .is_dir(),
                "a directory of our own again"
            );
        }
    }
}

/// A link and a path below it in one plan write nothing outside.
#[test]
fn link_and_path_below_write_nothing_outside() {
    let mut world = PlannedWorkspace::new();
    let look = canary(&world);
    let before = look();
    world.plan(
        "a",
        &Thing::Nothing,
        &link(world.outside.to_str().expect("text")),
    );
    world.plan("a/x", &Thing::Nothing, &file("before\n"));
    world.plan("a/d/x", &Thing::Nothing, &file("before\n"));
    let results = world.apply();
    assert_eq!(
        results[0].result,
        FileResult::Conflict,
        "the directory was there first: {:?}",
        results[0].reason
    );
    assert_eq!(look(), before, "nothing outside was touched");
}

/// A git directory under another name is not entered.
#[test]
fn renamed_git_directory_is_not_entered() {
    // No file system here folds case, so the alias is a bind mount.
    let mut world = PlannedWorkspace::new();
    world.put(".git/config", &file("[core]\n"));
    let alias = world.on_disk("alias");
    fs::create_dir(&alias).expect("a directory");
    let git = world.on_disk(".git");
    let mount = |from: &Path, to: &Path| {
        let status = std::process::Command::new("mount")
            .arg("--bind")
            .args([from, to])
            .status();
        status.is_ok_and(|status| status.success())
    };
    if !mount(&git, &alias) {
        return testing::skip::skip("a bind mount needs root and `mount`");
    }
    let unmount = || _ = std::process::Command::new("umount").arg(&alias).status();
    world.plan("alias/config", &file("[core]\n"), &file("[alias]\n"));
    world.plan(
        "alias/hooks/pre-commit",
        &Thing::Nothing,
        &file("#!/bin/sh\n"),
    );
    let mut results = Vec::new();
    for abilities in ways() {
        results.extend(world.apply_with(&world.open().with_abilities(abilities)));
    }
    let config = fs::read(git.join("config")).expect("a file");
    let hooks = git.join("hooks").exists();
    unmount();
    assert_eq!(config, b"[core]\n", "untouched");
    assert!(!hooks, "nothing was made in it");
    for done in results {
        assert_eq!(
            done.result,
            FileResult::Conflict,
            "refused: {:?}",
            done.reason
        );
    }
}

/// A root that is not the recorded directory is refused.
#[test]
fn root_of_another_directory_is_refused() {
    let world = PlannedWorkspace::new();
    let metadata = fs::metadata(&world.root).expect("it exists");
    assert!(
        Root::open(&world.root, metadata.dev(), metadata.ino()).is_ok(),
        "the directory itself"
    );
    assert!(
        Root::open(&world.root, metadata.dev(), metadata.ino() + 1).is_err(),
        "another inode"
    );
    let alias = world.outside.join("alias");
    std::os::unix::fs::symlink(&world.root, &alias).expect("a link");
    assert!(
        Root::open(&alias, metadata.dev(), metadata.ino()).is_err(),
        "a link is not followed"
    );
    assert!(
        Root::open(&world.root.join("gone"), 0, 0).is_err(),
        "not there"
    );
}
