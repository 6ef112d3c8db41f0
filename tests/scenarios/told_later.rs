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

/// The step that was open when the model was given a message is the messages.
#[test]
fn open_step_belongs_to_its_late_message() {
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

/// Steps that ended before the agent told of a message are the messages.
#[test]
fn ended_steps_belong_to_their_late_message() {
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

/// A message that is told of again or is older than the newest is none.
#[test]
fn repeated_or_older_message_is_none() {
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

/// Two messages that the model was given at once begin at one boundary.
#[test]
fn two_messages_at_once_share_a_boundary() {
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

/// What a sub-agent does that was at work before a message stays with the one before.
#[test]
fn older_sub_agents_work_keeps_its_message() {
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

/// A message that is told of after a revert does not bring back what went.
#[test]
fn late_message_after_a_revert_restores_nothing() {
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
