//! A message that the agent tells of only after the model was given it: what was done since then is that message's.

use ckpt_schema::event::{Event, EventKind};
use ckpt_schema::report::MessageState;

use testing::scenario::{World, wait_ms};

/// The first moment of a test.
const BEGIN: i64 = 1_700_000_000_000;

/// What lies between two things that are done: more than all looks at the clock.
const LATER: i64 = 1_000_000;

/// Tells of a message that the model was given so many `LATER`s, and a half, after the first moment.
fn told_later(world: &mut World, message: &str, given: i64) {
    let event = Event {
        message_id: Some(message.to_owned()),
        prompt: Some(message.to_owned()),
        given_at: Some(BEGIN + given * LATER + LATER / 2),
        ..world.event(EventKind::UserMessage, "s1")
    };
    world.send(&event);
}

/// Ends the open step, if there is one, and begins another.
fn next_step(world: &mut World, work: impl FnOnce(&World)) {
    wait_ms(LATER);
    world.start();
    work(world);
}

/// A message with a step that has ended, and one that is open. The steps begin one and two `LATER`s after the first moment.
fn at_work() -> World {
    let mut world = World::new();
    world.message("m1");
    next_step(&mut world, |world| world.write("one", "1\n"));
    next_step(&mut world, |world| world.write("two", "2\n"));
    world
}

/// Returns the words of all messages, the newest first.
fn prompts(world: &mut World) -> Vec<String> {
    let messages = world.log().messages;
    messages
        .into_iter()
        .filter_map(|message| message.prompt)
        .collect()
}

#[test]
fn the_step_that_was_open_when_the_model_was_given_a_message_is_the_messages() {
    let mut world = at_work();
    let newest = world.tree();
    told_later(&mut world, "m2", 2);
    next_step(&mut world, |_| ());
    world.finish();
    world.assert_totals();
    world.revert("m2");
    assert!(world.exists("one"), "that step was over");
    assert!(!world.exists("two"), "the model did this for it");
    world.revert("m1");
    assert!(!world.exists("one"), "the message before goes back, too");
    world.unrevert();
    assert_eq!(world.tree(), newest, "all of it comes again");
}

#[test]
fn steps_that_ended_before_the_agent_told_of_a_message_are_the_messages() {
    let mut world = at_work();
    next_step(&mut world, |world| world.write("three", "3\n"));
    told_later(&mut world, "m2", 2);
    world.finish();
    world.assert_totals();
    world.revert("m2");
    assert!(world.exists("one"), "before it");
    assert!(!world.exists("two"), "the first step after it");
    assert!(!world.exists("three"), "and the next");
}

#[test]
fn a_message_that_is_told_of_again_or_is_older_than_the_newest_is_none() {
    let mut world = at_work();
    told_later(&mut world, "m2", 2);
    told_later(&mut world, "m2", 2);
    told_later(&mut world, "m0", 1);
    told_later(&mut world, "m00", -1);
    assert_eq!(prompts(&mut world), ["m2", "please do m1"], "once");
    world.finish();
    world.revert("m2");
    assert!(world.exists("one") && !world.exists("two"), "as before");
}

#[test]
fn two_messages_that_the_model_was_given_at_once_begin_at_one_boundary() {
    let mut world = at_work();
    told_later(&mut world, "m2", 2);
    told_later(&mut world, "m3", 2);
    world.finish();
    world.revert("m3");
    assert!(world.exists("one") && !world.exists("two"), "the newest");
    world.redo();
    world.revert("m2");
    assert!(world.exists("one") && !world.exists("two"), "and the other");
}

#[test]
fn what_a_sub_agent_does_that_was_at_work_before_a_message_stays_with_the_one_before() {
    let mut world = World::new();
    world.message("m1");
    let child = Event {
        parent_session_id: Some("s1".to_owned()),
        ..world.event(EventKind::SessionStart, "child")
    };
    next_step(&mut world, |_| ());
    world.send(&child);
    world.start_in("child");
    world.write("childs", "1\n");
    world.finish_in("child");
    next_step(&mut world, |_| ());
    world.start_in("child");
    world.write("childs", "2\n");
    world.finish_in("child");
    told_later(&mut world, "m2", 2);
    world.finish();
    world.revert("m2");
    assert_eq!(world.read("childs"), "2\n", "it was started for the first");
    world.revert("m1");
    assert!(!world.exists("childs"), "and goes back with it");
}

#[test]
fn a_message_that_is_told_of_after_a_revert_does_not_bring_back_what_went() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("one", "1\n"));
    world.turn("m2", |world| world.write("two", "2\n"));
    world.revert("m2");
    next_step(&mut world, |world| world.write("three", "3\n"));
    told_later(&mut world, "m3", 1);
    world.finish();
    assert!(!world.exists("two"), "it stays reverted");
    let messages = world.log().messages;
    let states: Vec<_> = messages.iter().map(|message| message.state).collect();
    let expected = [
        MessageState::Live,
        MessageState::Discarded,
        MessageState::Live,
    ];
    assert_eq!(states, expected, "the new one, what went, and the first");
}
