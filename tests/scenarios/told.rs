//! What an agent does not know after a revert is told with the next message, once.

use ckpt_schema::event::EventKind;
use ckpt_schema::report::{EventReport, FileAction};

use testing::scenario::{World, wait_ms};

/// Two messages, each with files of its own.
fn two_messages() -> World {
    let mut world = World::new();
    world.write("kept", "0\n");
    world.turn("m1", |world| world.write("kept", "1\n"));
    world.turn("m2", |world| {
        world.write("kept", "2\n");
        world.write("made", "x\n");
    });
    world
}

fn went_back(report: &EventReport) -> Vec<(&str, FileAction)> {
    report
        .went_back
        .iter()
        .map(|file| (file.path.path.as_str(), file.action))
        .collect()
}

/// The message after a revert tells which files went back and the next does not.
#[test]
fn message_after_a_revert_tells_files_once() {
    let mut world = two_messages();
    world.revert("m2");
    let told = world.message("m3");
    assert_eq!(
        went_back(&told),
        [("kept", FileAction::Write), ("made", FileAction::Delete)],
        "both went back"
    );
    assert_eq!(
        went_back(&world.message("m3")),
        [],
        "the same message, delivered twice, says nothing new"
    );
    assert_eq!(went_back(&world.message("m4")), [], "it was said");
}

/// Nothing is told of what is as the agent left it.
#[test]
fn unchanged_files_are_not_told() {
    let mut world = two_messages();
    assert_eq!(went_back(&world.message("m3")), [], "nothing was reverted");
    let mut world = two_messages();
    world.revert("m1");
    world.unrevert();
    assert_eq!(went_back(&world.message("m3")), [], "all of it came back");
    let mut world = two_messages();
    world.revert("m1");
    world.redo();
    let told = world.message("m3");
    assert_eq!(
        went_back(&told),
        [("kept", FileAction::Write), ("made", FileAction::Delete)],
        "m1 came back, m2 did not"
    );
}

#[test]
fn a_restore_is_told_like_a_revert() {
    let mut world = two_messages();
    world.restore("m1", &["kept"]);
    assert_eq!(
        went_back(&world.message("m3")),
        [("kept", FileAction::Write)],
        "what is there is an earlier one"
    );
    assert_eq!(went_back(&world.message("m4")), [], "once");
    let mut new = two_messages();
    new.restore("m1", &["kept"]);
    assert_eq!(
        went_back(&new.message_in("another", "n1")),
        [],
        "a new session remembers nothing"
    );
}

/// What a sub-agent is told to do is no message to tell with.
#[test]
fn words_to_a_sub_agent_tell_nothing() {
    let mut world = two_messages();
    world.revert("m2");
    let mut task = world.event(EventKind::UserMessage, "child");
    task.parent_session_id = Some("s".to_owned());
    assert_eq!(went_back(&world.send(&task)), [], "it is not the user's");
    assert_eq!(
        world.message("m3").went_back.len(),
        2,
        "and the user's message still tells"
    );
}

/// A message without an id that comes twice at once is one.
#[test]
fn doubled_message_without_id_is_one() {
    let mut world = World::new();
    let mut message = world.event(EventKind::UserMessage, "s");
    message.prompt = Some("go on".to_owned());
    world.send(&message);
    world.send(&message);
    assert_eq!(
        world.log().messages.len(),
        1,
        "two hooks told of the same one"
    );
    wait_ms(60_000);
    world.send(&message);
    assert_eq!(world.log().messages.len(), 2, "the user said it again");
}
