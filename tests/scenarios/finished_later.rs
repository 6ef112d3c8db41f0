//! The receipt of an operation that is finished after a crash.

use testing::scenario::{World, to_with};

use ckpt_store::OnConflict;

use super::unfinished::interrupt_before_the_first_file;

/// What differs after an operation that is finished later is told with its reason.
#[test]
fn differences_of_a_late_finish_are_told() {
    let mut world = World::new();
    world.write("mine", "1\n");
    world.turn("m1", |world| world.write("a", "agent\n"));
    world.write("mine", "2\n");
    world.message_in("s2", "n1");
    world.start_in("s2");
    world.write("theirs", "s2\n");
    world.finish_in("s2");
    world.revert("m1");
    interrupt_before_the_first_file(&world);
    world.write("a", "agent\n");
    let notes = world.capture().notes;
    assert!(
        notes[0].starts_with("finished the revert")
            && notes[0].ends_with("; not as it was then: changed since, outside any step (`mine`); changed by another session (`theirs`)"),
        "what it left, and why: {notes:?}"
    );
    assert!(!world.exists("a"), "and it is finished");
}

/// An operation that is finished later and leaves nothing says no more.
#[test]
fn clean_late_finish_says_no_more() {
    let mut world = World::new();
    world.write("b", "1\n");
    world.turn("m1", |world| world.write("a", "agent\n"));
    world.turn("m2", |world| world.write("b", "agent\n"));
    world.revert("m1");
    interrupt_before_the_first_file(&world);
    world.write("a", "agent\n");
    world.write("b", "agent\n");
    let notes = world.capture().notes;
    assert!(
        notes[0].starts_with("finished the revert") && notes[0].ends_with(" files)"),
        "all of it went back: {notes:?}"
    );
}

/// A restore that is finished later tells what differs from where it took its files.
#[test]
fn late_restore_tells_what_differs() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.write("b", "1\n");
    world.turn("m1", |world| {
        world.write("a", "2\n");
        world.write("b", "2\n");
    });
    world.restore("m1", &["a"]);
    interrupt_before_the_first_file(&world);
    world.write("a", "mine\n");
    let notes = world.capture().notes;
    assert!(
        notes[0].starts_with("finished the restore")
            && notes[0].ends_with("; not as it was then: changed since, outside any step (`a`)"),
        "`b` was not asked for: {notes:?}"
    );
    assert_eq!(world.read("a"), "mine\n", "an edit since is kept");
}

/// A revert of a discarded message that is finished later is compared with that message.
#[test]
fn late_revert_of_a_discarded_message_is_compared() {
    let mut world = World::git(&[("a", "0\n"), ("b", "0\n")]);
    world.turn("m1", |world| {
        ["a", "b"]
            .into_iter()
            .for_each(|path| world.write(path, "1\n"))
    });
    world.write("a", "the user's\n");
    world.revert("m1");
    world.message("m2");
    world.write("b", "mine\n");
    world
        .try_revert(&to_with("m1", OnConflict::Overwrite))
        .expect("what is left of it can be reverted");
    interrupt_before_the_first_file(&world);
    world.write("a", "the user's\n");
    let notes = world.capture().notes;
    assert_eq!(world.read("a"), "0\n", "it is finished: {notes:?}");
    assert!(
        notes[0].ends_with("; not as it was then: changed since, outside any step (`b`)"),
        "`b` is as before m2, but not as before m1: {notes:?}"
    );
}
