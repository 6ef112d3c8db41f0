//! A workspace that moved is still the same, and one that took its place is not: clones, copies, backups, inodes used again.

use std::fs;
use std::path::Path;
use std::process::Command;

use ckpt_schema::report::{DifferenceReason, Outcome, WorkspaceState};
use ckpt_store::{ErrorKind, RevertRequest, Unclear};

use testing::scenario::{World, set_clock_from_files, to};

/// A message that wrote a file; what it was before is `0`.
fn history() -> World {
    let mut world = World::new();
    world.write("a", "0\n");
    world.turn("m1", |world| world.write("a", "1\n"));
    world
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(status.expect("cp is there").success());
}

/// Another directory with the same files takes the place: it was restored from a backup.
fn swap(world: &World) {
    let backup = world.base().join("backup");
    copy(&world.root, &backup);
    world.remove_tree("");
    fs::rename(backup, &world.root).expect("it is free");
}

fn adopt(world: &mut World, which: Option<&str>) {
    let cwd = world.cwd.clone();
    world
        .store
        .adopt(&cwd, which, ckpt_store::DryRun::No)
        .expect("there is one");
}

/// A directory that was copied and swapped goes on with its history where that is asked for.
///
/// Invariant `truth/directory-identity`: A directory at the path, or with the inode, of another
/// one is not that directory, and is offered its history.
#[test]
fn copied_and_swapped_directory_adopts_its_history() {
    let mut world = history();
    swap(&world);
    let status = world.status();
    assert_eq!(status.session, None, "nothing is mixed by itself");
    assert_eq!(status.adoptable.len(), 1, "and it is offered");
    assert_eq!(status.adoptable[0].state, WorkspaceState::Replaced);
    let error = world.try_revert(&testing::scenario::to("m1"));
    let error = error.expect_err("it is not this one's history");
    assert!(
        error
            .hint_text()
            .is_some_and(|hint| hint.contains("ckpt-hook workspace adopt")),
        "{error:?}"
    );
    let cwd = world.cwd.clone();
    let plan = world
        .store
        .adopt(&cwd, None, ckpt_store::DryRun::Yes)
        .expect("there is one");
    assert!(
        plan.dry_run && world.status().session.is_none(),
        "only told"
    );
    adopt(&mut world, None);
    assert_eq!(world.status().adoptable, [], "it has it");
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Restored, "{report:?}");
    assert_eq!(world.read("a"), "0\n");
    world.unrevert();
    assert_eq!(world.read("a"), "1\n");
}

/// A message of the directory that was here before says how to reach it.
///
/// Invariant `truth/directory-identity`.
#[test]
fn former_directorys_message_says_how_to_reach_it() {
    let mut world = history();
    swap(&world);
    world.message_in("s2", "n1");
    let error = world.try_revert(&testing::scenario::to("m1"));
    let error = error.expect_err("another directory is here");
    let hint = error.hint_text().expect("it is known");
    assert!(hint.contains("workspace adopt"), "{hint}");
}

/// A history that the new directory has already is set aside and never mixed.
///
/// Invariant `truth/directory-identity`.
#[test]
fn second_history_is_set_aside_unmixed() {
    let mut world = history();
    swap(&world);
    world.message_in("s2", "n1");
    world.start_in("s2");
    world.write("b", "new\n");
    world.finish_in("s2");
    assert_eq!(world.log().messages.len(), 1, "its own");
    adopt(&mut world, None);
    assert_eq!(
        world.log().messages[0].prompt.as_deref(),
        Some("please do m1")
    );
    assert_eq!(world.log().messages.len(), 1, "the other's alone");
    let status = world.status();
    assert_eq!(status.adoptable.len(), 1, "its own is there still");
    let id = status.adoptable[0].id.clone();
    adopt(&mut world, Some(&id[..8]));
    assert_eq!(
        world.log().messages[0].prompt.as_deref(),
        Some("please do n1")
    );
    world.turn("m2", |world| world.write("c", "1\n"));
    world.revert("m2");
    assert!(!world.exists("c") && world.exists("b"));
}

/// What differs from then is nobodys when a history is taken over.
#[test]
fn differences_at_adoption_are_nobodys() {
    let mut world = history();
    world.message("m2");
    world.start();
    world.write("open", "in a step that never ended\n");
    swap(&world);
    world.write("clone", "of the clone\n");
    world.remove("open");
    adopt(&mut world, None);
    world.message("m3");
    world.revert("m2");
    assert!(world.exists("clone"), "no step wrote it");
}

/// A directory that was renamed keeps its history also where another one stood before.
///
/// Invariant `truth/directory-identity`.
#[test]
fn renamed_directory_keeps_its_history() {
    let mut world = history();
    let old = world.root.clone();
    world.root = world.base().join("renamed");
    fs::rename(&old, &world.root).expect("it is free");
    world.cwd = world.root.clone();
    world.turn("m2", |world| world.write("b", "1\n"));
    assert_eq!(world.log().messages.len(), 2, "it is the same");
    // Now it takes the place of another one.
    fs::create_dir(&old).expect("it is free");
    let own = std::mem::replace(&mut world.root, old.clone());
    world.cwd = old.clone();
    world.message_in("other", "o1");
    assert_eq!(world.log().messages.len(), 1, "the newcomer's own");
    fs::remove_dir(&old).expect("it is empty");
    fs::rename(own, &old).expect("it is free");
    world.message("m3");
    assert_eq!(world.log().messages.len(), 3, "and the same again");
}

/// A directory that got the inode of a deleted one is not it.
///
/// Invariant `truth/directory-identity`.
#[test]
fn directory_with_a_reused_inode_is_new() {
    let mut world = history();
    let inode = |world: &World| world.stamp("").0;
    let before = inode(&world);
    let born = |world: &World| world.root.metadata().and_then(|found| found.created()).ok();
    let then = born(&world);
    for number in 0..64 {
        world.remove_tree("");
        fs::create_dir(&world.root).expect("it is free");
        if inode(&world) == before {
            break;
        }
        fs::create_dir(world.base().join(format!("other {number}"))).expect("it is free");
    }
    if then.is_none() || born(&world) == then {
        return testing::skip::skip("a file system that knows when a directory was made");
    }
    if inode(&world) != before {
        return testing::skip::skip("a file system that uses inodes again");
    }
    world.write("a", "1\n");
    assert_eq!(world.status().session, None, "it is another one");
    let error = world.try_revert(&testing::scenario::to("m1"));
    assert_eq!(error.expect_err("no history").kind, ErrorKind::Unavailable);
    assert_eq!(
        world.read("a"),
        "1\n",
        "no file of the other one's goes there"
    );
}

/// The history of a directory that is there is not taken away from it.
#[test]
fn present_directorys_history_is_not_taken() {
    let mut world = history();
    let clone = world.base().join("clone");
    copy(&world.root, &clone);
    let old = world.root.to_string_lossy().into_owned();
    let error = world
        .store
        .adopt(&clone, Some(&old), ckpt_store::DryRun::No);
    let error = error.expect_err("two clones are two");
    assert!(error.to_string().contains("still there"), "{error}");
    let error = world.store.adopt(&clone, None, ckpt_store::DryRun::No);
    assert_eq!(
        error.expect_err("none stood here").kind,
        ErrorKind::Unavailable
    );
}

/// A copy elsewhere takes over the history of what is gone.
#[test]
fn copy_elsewhere_takes_a_missing_history() {
    let mut world = history();
    let copied = world.base().join("copied");
    copy(&world.root, &copied);
    let old = world.root.to_string_lossy().into_owned();
    world.remove_tree("");
    world.root.clone_from(&copied);
    world.cwd = copied;
    adopt(&mut world, Some(&old));
    world.revert("m1");
    assert_eq!(world.read("a"), "0\n");
}

/// Returns which histories a directory is offered, and checks that a revert there names the command that takes the first one over.
fn offered_at(world: &mut World, place: &Path) -> Vec<String> {
    (world.root, world.cwd) = (place.to_owned(), place.to_owned());
    let status = world.status();
    let ids: Vec<String> = status.adoptable.iter().map(|one| one.id.clone()).collect();
    let error = world.try_revert(&to("m1")).expect_err("it is not its own");
    let hint = error.hint_text().unwrap_or_default().to_owned();
    let is_named = |id: &String| hint.contains(&format!("workspace adopt {id}"));
    assert_eq!(ids.first().is_some_and(is_named), !ids.is_empty(), "{hint}");
    ids
}

/// A copy elsewhere is offered the history of what is gone.
#[test]
fn copy_elsewhere_is_offered_a_missing_history() {
    let mut world = World::git(&[("a", "0\n")]);
    world.turn("m1", |world| world.write("a", "1\n"));
    let root = world.root.clone();
    let (beside, away) = (
        root.with_file_name("beside"),
        world.base().join("other/disk"),
    );
    let (copied, renamed) = (away.join("code"), away.join("renamed"));
    fs::create_dir_all(&away).expect("writable");
    copy(&root, &copied);
    copy(&root, &renamed);
    let none = Vec::<String>::new();
    assert_eq!(
        offered_at(&mut world, &copied),
        none,
        "the original is there"
    );
    fs::rename(&root, &beside).expect("it is free");
    assert_eq!(offered_at(&mut world, &copied), none, "it is there still");
    world.remove_tree(&beside);
    let of_its_name = offered_at(&mut world, &copied);
    assert_eq!(of_its_name.len(), 1, "it has the name");
    let at_its_commit = offered_at(&mut world, &renamed);
    assert_eq!(at_its_commit, of_its_name, "git is at that commit");
    fs::rename(renamed.join(".git"), renamed.join("git")).expect("it is free");
    assert_eq!(
        offered_at(&mut world, &renamed),
        none,
        "nothing speaks for it"
    );
    offered_at(&mut world, &copied);
    adopt(&mut world, Some(&of_its_name[0]));
    world.revert("m1");
    assert_eq!(world.read("a"), "0\n", "it is in reach");
}

/// A project below a home that is a repository of dotfiles is captured.
#[test]
fn project_below_a_dotfiles_home_is_captured() {
    let mut world = World::new();
    let home = world.base().join("home");
    let project = home.join("src/project");
    fs::create_dir_all(&project).expect("writable");
    world.root.clone_from(&home);
    world.run_git(&["init", "-q"]);
    world.root.clone_from(&project);
    world.cwd = project;
    world.write("a", "0\n");
    world.turn("m1", |world| world.write("a", "1\n"));
    world.revert("m1");
    assert_eq!(world.read("a"), "0\n");
    world.cwd = home;
    let message = world.event(ckpt_schema::EventKind::UserMessage, "s2");
    assert!(
        world.store.record(&message).is_err(),
        "the home itself is not"
    );
}

/// Invariant `truth/directory-identity`.
#[test]
fn one_directory_of_two_names_has_one_history() {
    testing::namespace::in_namespace(
        "moved::one_directory_of_two_names_has_one_history",
        |mount| {
            let mut world = history();
            let other = world.base().join("other");
            fs::create_dir(&other).expect("writable");
            mount(&["--bind"], &world.root, &other);
            let real = std::mem::replace(&mut world.cwd, other.clone());
            world.turn("m2", |world| world.write("b", "1\n"));
            assert_eq!(world.log().messages.len(), 2, "by the other name");
            world.cwd = real;
            assert_eq!(world.log().messages.len(), 2, "and by its own");
            world.revert("m1");
            assert!(!world.exists("b"));
        },
    );
}

/// A message of which a tool replaced the directory, of which the history was taken over since.
fn replaced_by_a_tool() -> World {
    set_clock_from_files(0);
    let mut world = history();
    world.message("m2");
    world.start();
    world.tool_start_in("s1", "t1", &[]);
    swap(&world);
    world.write("a", "2\n");
    world.write("made", "2\n");
    adopt(&mut world, None);
    world
}

/// What differs in a directory that a tool replaced is unclear and can be taken.
///
/// Invariant `truth/directory-identity`.
#[test]
fn replaced_directorys_differences_are_unclear() {
    let mut world = replaced_by_a_tool();
    world.write("later", "of the user\n");
    let report = world.revert("m2");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
    let receipt = report.receipt.as_ref().expect("it was compared");
    let reason = |path: &str| {
        let mut found = receipt.differences.iter();
        let found = found.find(|one| one.path.path == path);
        found.map(|one| one.reason)
    };
    assert_eq!(reason("a"), Some(DifferenceReason::Unclear), "{report:#?}");
    assert_eq!(reason("made"), Some(DifferenceReason::Unclear));
    assert_eq!(reason("later"), Some(DifferenceReason::Yours), "made since");
    let told = format!("{report:?}");
    assert!(told.contains("directory was replaced while"), "{told}");
    assert_eq!(world.read("a"), "2\n", "nobody knows whose it is");

    let taken = world.try_revert(&RevertRequest {
        unclear: Some(Unclear::Take),
        ..to("m2")
    });
    taken.expect("that was said");
    assert_eq!(world.read("a"), "1\n", "as it was before the message");
    assert!(!world.exists("made"));
    assert_eq!(world.read("later"), "of the user\n");
    world.unrevert();
    assert_eq!(world.read("a"), "2\n");
    assert_eq!(world.read("made"), "2\n");
}

/// What differs in a directory that a tool replaced and nobody could look at is not called the
/// user's.
///
/// Invariant `truth/directory-identity`.
#[test]
fn unseen_replaced_directory_is_unrecorded() {
    set_clock_from_files(0);
    let mut world = history();
    world.message("m2");
    world.start();
    world.tool_start_in("s1", "t1", &[]);
    swap(&world);
    world.write("a", "2\n");
    let (repository, away) = (world.repository(), world.base().join("away"));
    fs::rename(&repository, &away).expect("it is free");
    fs::write(&repository, "no repository").expect("it is free");
    adopt(&mut world, None);
    fs::remove_file(&repository).expect("it is a file");
    fs::rename(&away, &repository).expect("it is free");
    let report = world.revert("m2");
    assert_eq!(
        world.read("a"),
        "2\n",
        "what it did is unclear: {report:#?}"
    );
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
    let why = "the directory was replaced while a tool ran";
    assert!(
        report.notes.iter().any(|note| note.contains(why)),
        "{report:#?}"
    );
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
    assert_eq!(world.read("a"), "2\n", "it stays, further back as well");
}
