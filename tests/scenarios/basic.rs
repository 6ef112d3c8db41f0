//! What the agent did is undone, whatever it was; everything else stays.

use ckpt_schema::report::{FileResult, Outcome};

use testing::scenario::{World, paths_with, to};

/// Two snapshots without a change in between give the same hash.
#[test]
fn two_equal_snapshots_have_one_hash() {
    let mut world = World::new();
    world.write("a", "1");
    assert_eq!(world.snapshot(), world.snapshot(), "nothing changed");
}

/// A modified file is put back to its content before the step.
#[test]
fn modified_file_gets_its_former_content() {
    let mut world = World::new();
    world.write("a", "before\n");
    world.turn("m1", |world| world.write("a", "after\n"));
    let report = world.revert("m1");
    assert_eq!(world.read("a"), "before\n", "the agent's edit is out");
    assert_eq!(report.outcome, Outcome::Restored, "and the outcome says so");
    assert_eq!(paths_with(&report, FileResult::Done), ["a"], "by name");
}

#[test]
fn a_file_deleted_by_the_agent_comes_back() {
    let mut world = World::new();
    world.write("dir/a", "kept\n");
    world.turn("m1", |world| {
        world.remove("dir/a");
        world.remove_directory("dir");
    });
    world.revert("m1");
    assert_eq!(world.read("dir/a"), "kept\n", "with its directory");
}

/// A file created by the agent is deleted on revert.
#[test]
fn created_file_is_deleted_on_revert() {
    let mut world = World::new();
    world.write("mine", "1");
    let before = world.tree();
    world.turn("m1", |world| world.write("made", "x"));
    world.revert("m1");
    assert_eq!(world.tree(), before, "as it was");
}

/// A directory tree created by the agent is removed with the directories that are empty after
/// it.
#[test]
fn created_tree_goes_with_its_empty_directories() {
    let mut world = World::new();
    world.write("mine", "1");
    let before = world.tree();
    world.turn("m1", |world| {
        world.write("new/deep/er/a", "x");
        world.write("new/b", "y");
        world.make_directory("new/empty/nested");
    });
    world.revert("m1");
    assert_eq!(world.tree(), before, "no directory is left behind");
}

/// A directory that holds the user's files stays with them.
#[test]
fn directory_with_users_files_stays() {
    let mut world = World::new();
    world.write("shared/mine", "1");
    let before = world.tree();
    world.turn("m1", |world| world.write("shared/made", "x"));
    world.revert("m1");
    assert_eq!(world.tree(), before, "only the agent's file went");
}

/// A directory made by the agent stays for what the user put there.
#[test]
fn made_directory_stays_for_users_files() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("new/made", "x"));
    world.write("new/mine", "1");
    world.revert("m1");
    assert!(!world.exists("new/made"), "the agent's went");
    assert_eq!(world.read("new/mine"), "1", "the user's stays");
}

/// A mix of create modify and delete in one step is reverted as a whole.
#[test]
fn mixed_step_is_reverted_as_a_whole() {
    let mut world = World::new();
    world.write("modified", "1\n");
    world.write("deleted", "2\n");
    let before = world.tree();
    world.turn("m1", |world| {
        world.write("modified", "x\n");
        world.remove("deleted");
        world.write("made/by", "y\n");
    });
    let after = world.tree();
    world.revert("m1");
    assert_eq!(world.tree(), before, "all of it");
    world.unrevert();
    assert_eq!(world.tree(), after, "and back");
}

/// An empty directory that the agent made goes and one that it removed comes back.
#[test]
fn empty_directories_go_and_come_back() {
    let mut world = World::new();
    world.write("a", "1");
    world.make_directory("old");
    let before = world.tree();
    world.turn("m1", |world| {
        world.remove_directory("old");
        world.make_directory("new");
    });
    let after = world.tree();
    world.revert("m1");
    assert_eq!(world.tree(), before, "directories count");
    world.unrevert();
    assert_eq!(world.tree(), after, "both ways");
}

#[test]
fn an_empty_file_is_a_file() {
    let mut world = World::new();
    world.write("emptied", "text\n");
    let before = world.tree();
    world.turn("m1", |world| {
        world.write("emptied", "");
        world.write("made", "");
    });
    world.revert("m1");
    assert_eq!(
        world.tree(),
        before,
        "the made one is gone, the emptied one has its bytes"
    );
}

#[test]
fn binary_files_round_trip_exactly() {
    let mut world = World::new();
    let bytes: Vec<u8> = (0..=255u8).cycle().take(100_000).collect();
    world.write("b", &bytes);
    let before = world.tree();
    world.turn("m1", |world| world.write("b", b"\0\xff\r\n"));
    world.revert("m1");
    assert_eq!(world.tree(), before, "byte for byte");
}

/// Reverting a message that changed nothing succeeds and does nothing.
#[test]
fn reverting_nothing_succeeds() {
    let mut world = World::new();
    world.write("a", "1");
    world.turn("m1", |_| {});
    let stamp = world.stamp("a");
    let report = world.revert("m1");
    assert!(
        report.files.is_empty(),
        "there is no file to speak of: {:?}",
        report.files
    );
    assert_eq!(world.stamp("a"), stamp, "untouched");
}

/// A file that is gone already is no error.
#[test]
fn missing_file_is_no_error() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("made", "x"));
    world.remove("made");
    let report = world.revert("m1");
    assert_ne!(
        report.outcome,
        Outcome::Partial,
        "it is as it should be: {report:?}"
    );
}

/// A file created and deleted within the steps leaves nothing.
#[test]
fn file_created_and_deleted_leaves_nothing() {
    let mut world = World::new();
    world.write("mine", "1");
    let before = world.tree();
    world.message("m1");
    world.step(|world| world.write("brief", "x"));
    world.step(|world| world.remove("brief"));
    world.revert("m1");
    assert_eq!(world.tree(), before, "nothing came of it");
}

/// A file deleted and recreated differently gets its first content.
#[test]
fn file_recreated_differently_gets_its_first_content() {
    let mut world = World::new();
    world.write("a", "first\n");
    world.message("m1");
    world.step(|world| world.remove("a"));
    world.step(|world| world.write("a", "other\n"));
    world.revert("m1");
    assert_eq!(world.read("a"), "first\n", "from before step 1");
}

#[test]
fn the_oldest_version_after_the_chosen_message_wins() {
    let mut world = World::new();
    world.write("a", "0\n");
    for number in 1..=3 {
        world.turn(&format!("m{number}"), |world| {
            world.write("a", format!("{number}\n"))
        });
    }
    world.revert("m3");
    assert_eq!(world.read("a"), "2\n", "before m3");
    world.revert("m2");
    assert_eq!(world.read("a"), "1\n", "before m2");
    world.revert("m1");
    assert_eq!(world.read("a"), "0\n", "before m1");
    world.redo();
    assert_eq!(world.read("a"), "1\n", "forward over m1");
    world.redo();
    assert_eq!(world.read("a"), "2\n", "forward over m2");
    world.redo();
    assert_eq!(world.read("a"), "3\n", "all the way");
}

/// Reverting one of several messages keeps what came before it.
#[test]
fn reverting_one_message_keeps_earlier_ones() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("one", "1"));
    let after_one = world.tree();
    world.turn("m2", |world| world.write("two", "2"));
    world.turn("m3", |world| world.write("three", "3"));
    world.revert("m2");
    assert_eq!(
        world.tree(),
        after_one,
        "m1's changes stay, m2's and m3's are gone"
    );
}

/// A file changed and changed back within a step gives no change.
#[test]
fn round_trip_in_a_step_is_no_change() {
    let mut world = World::new();
    world.write("a", "1\n");
    let report = world.turn("m1", |world| {
        world.write("a", "2\n");
        world.write("a", "1\n");
    });
    assert_eq!(report.changes, Some(0), "start and finish are the same");
}

#[test]
fn only_changed_files_are_in_a_steps_list() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.write("b", "1\n");
    let report = world.turn("m1", |world| world.write("b", "2\n"));
    assert_eq!(report.changes, Some(1), "a was not touched");
}

/// What the user had before the first snapshot is not the agent's.
///
/// Invariant `truth/between-steps`.
#[test]
fn users_work_before_the_first_snapshot_stays() {
    let mut world = World::git(&[("committed", "1\n"), ("removed", "1\n"), ("renamed", "1\n")]);
    world.write("committed", "uncommitted edit\n");
    world.write("untracked", "mine\n");
    world.remove("removed");
    world.remove("renamed");
    world.write("new name", "1\n");
    let before = world.tree();
    world.turn("m1", |world| {
        world.write("committed", "agent\n");
        world.remove("untracked");
    });
    world.revert("m1");
    assert_eq!(world.tree(), before, "exactly what the user had");
}

/// An empty workspace can be captured and reverted to.
#[test]
fn empty_workspace_is_captured_and_reverted() {
    let mut world = World::new();
    assert_eq!(
        world.snapshot(),
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "the empty tree"
    );
    world.turn("m1", |world| world.write("src/main.rs", "fn main() {}\n"));
    world.revert("m1");
    assert!(world.tree().is_empty(), "empty again: {:?}", world.tree());
}

#[test]
fn hundreds_of_changed_files_are_all_reverted() {
    let mut world = World::new();
    for number in 0..1050 {
        world.write(format!("d{}/f{number}", number % 7), format!("{number}\n"));
    }
    let before = world.tree();
    let report = world.turn("m1", |world| {
        for number in 0..1050 {
            let path = format!("d{}/f{number}", number % 7);
            match number % 3 {
                0 => world.write(path, "changed\n"),
                1 => world.remove(path),
                _ => world.write(format!("new/{number}"), "made\n"),
            }
        }
    });
    assert_eq!(report.changes, Some(1050), "each is one change");
    let outcome = world.revert("m1");
    assert_eq!(world.tree(), before, "none was forgotten");
    assert_eq!(
        paths_with(&outcome, FileResult::Done).len(),
        1050,
        "and none was miscounted"
    );
}

#[test]
fn files_outside_the_plan_keep_inode_and_times() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.write("bystander", "1\n");
    world.turn("m1", |world| world.write("a", "2\n"));
    let stamp = world.stamp("bystander");
    world.revert("m1");
    assert_eq!(world.stamp("bystander"), stamp, "not touched by the revert");
    world.unrevert();
    assert_eq!(world.stamp("bystander"), stamp, "nor by the way back");
}

/// A dry run changes nothing and is what then happens.
///
/// Invariant `truth/dry-run`: A dry run shows exactly what happens.
#[test]
fn dry_run_is_what_then_happens() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.turn("m1", |world| {
        world.write("a", "2\n");
        world.write("b", "x\n");
    });
    let (tree, stamp) = (world.tree(), world.stamp("a"));
    let planned = world
        .try_revert(&ckpt_store::RevertRequest {
            dry_run: true,
            ..to("m1")
        })
        .expect("it can be planned");
    assert_eq!(
        (world.tree(), world.stamp("a")),
        (tree, stamp),
        "nothing was touched"
    );
    assert!(
        planned.dry_run && planned.operation.is_none(),
        "and nothing was written down"
    );
    assert_eq!(
        world.log().messages[0].state,
        ckpt_schema::report::MessageState::Live,
        "nor hidden"
    );
    let done = world.revert("m1");
    let what = |report: &ckpt_schema::report::OperationReport| -> Vec<_> {
        report
            .files
            .iter()
            .map(|file| {
                (
                    file.path.clone(),
                    file.action,
                    file.additions,
                    file.deletions,
                )
            })
            .collect()
    };
    assert_eq!(what(&planned), what(&done), "the plan was the truth");
}

/// A revert tells whoever watches how far it is.
#[test]
fn revert_tells_its_progress() {
    use ckpt_store::model::progress::OperationProgress;
    let mut world = World::new();
    world.turn("m1", |world| {
        (0..40).for_each(|number| world.write(format!("{number}"), "x\n"))
    });
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let tell = std::sync::Arc::clone(&told);
    world.store.watch(Some(Box::new(move |progress| {
        tell.lock().expect("no panic").push(progress)
    })));
    world.revert("m1");
    let told = told.lock().expect("no panic");
    assert!(
        told.contains(&OperationProgress::Applying { done: 40, of: 40 }),
        "all of them: {told:?}"
    );
}

/// What is told of a revert with two threads never goes back and ends with all.
#[test]
fn progress_of_two_threads_never_goes_back() {
    use ckpt_store::model::progress::OperationProgress;
    let mut world = World::new();
    world.turn("m1", |world| {
        (0..600).for_each(|number| world.write(format!("{number}/file"), "x\n"))
    });
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let tell = std::sync::Arc::clone(&told);
    world.store.watch(Some(Box::new(move |progress| {
        if let OperationProgress::Applying { done, of } = progress {
            // The other thread may go on meanwhile.
            (0..10).for_each(|_| std::thread::yield_now());
            tell.lock().expect("no panic").push((done, of));
        }
    })));
    world.revert("m1");
    let told = told.lock().expect("no panic");
    assert!(told.is_sorted(), "{told:?}");
    let (done, of) = told.last().expect("it told of progress");
    assert_eq!(done, of, "{told:?}");
}
