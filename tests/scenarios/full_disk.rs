//! A turn that was not recorded because the disk was full leaves a trace: the store keeps room for it.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use ckpt_schema::EventKind;
use ckpt_schema::event::Event;
use ckpt_schema::report::MessageState;
use ckpt_store::Settings;

use testing::mount::Mount;
use testing::scenario::World;

/// Runs a test in a world whose store is on a small disk of its own.
fn on_a_small_disk(test: impl FnOnce(&mut World)) {
    let mut world = World::git(&[("a", "0\n"), ("b", "0\n")]);
    let store = world.base().join("store");
    let Some(mount) = Mount::new(&store, "size=2m,mode=700") else {
        return;
    };
    world.reopen(Settings::default());
    test(&mut world);
    // The disk goes when nobody uses it any more, and then the folder that it is in.
    let World {
        directory, store, ..
    } = world;
    drop(store);
    drop(mount);
    drop(directory);
}

fn filler(world: &World) -> PathBuf {
    world.base().join("store/filler")
}

fn fill(world: &World) {
    let mut file = fs::File::create(filler(world)).expect("there is room yet");
    for size in [1 << 16, 1 << 12, 1] {
        while file.write_all(&vec![1; size]).is_ok() {}
    }
}

/// Sends what an agent's hooks send in a turn, of which nothing can be recorded.
fn lose_a_turn(world: &mut World, session: &str, message: &str) {
    let first = Event {
        message_id: Some(message.to_owned()),
        ..world.event(EventKind::UserMessage, session)
    };
    let start = world.event(EventKind::StepStart, session);
    assert!(world.store.record(&first).is_err(), "the disk is full");
    assert!(world.store.record(&start).is_err(), "the disk is full");
    world.write("a", "agent\n");
    let finish = world.event(EventKind::StepFinish, session);
    assert!(world.store.record(&finish).is_err(), "the disk is full");
}

/// A turn that was lost since the disk was full is told while it is full and afterwards.
///
/// Invariant `truth/lost-turn`: A turn that could not be recorded because the disk was full
/// leaves a trace.
#[test]
fn turn_lost_to_a_full_disk_is_told() {
    on_a_small_disk(|world| {
        world.turn("m1", |world| world.write("b", "1\n"));
        fill(world);
        world.reopen(Settings::default());
        lose_a_turn(world, "s1", "m2");
        let told = |world: &mut World| world.status().unprotected.join("\n");
        assert!(told(world).contains("full"), "{}", told(world));
        let findings = world.store.check(Some(ckpt_store::CHECK_TIME));
        assert!(
            findings
                .iter()
                .any(|finding| finding.level != "ok" && finding.message.contains("full")),
            "nor is all well: {findings:?}"
        );
        fs::remove_file(filler(world)).expect("it is there");
        world.turn("m3", |world| world.write("b", "3\n"));
        let status = world.status();
        assert!(
            status.unprotected.iter().any(|line| line.contains("full")) && status.diagnostics > 0,
            "{status:?}"
        );
        let log: Vec<_> = world
            .log()
            .messages
            .into_iter()
            .map(|message| (message.agent_id, message.state))
            .collect();
        assert_eq!(
            log,
            ["m3", "m2", "m1"].map(|id| (Some(id.to_owned()), MessageState::Live)),
            "the message has its place"
        );
        let report = world.revert("m1");
        assert_eq!(world.read("b"), "0\n", "what was recorded goes back");
        assert!(
            report
                .notes
                .iter()
                .any(|note| note.contains("not recorded")),
            "and what was not is reported: {report:?}"
        );
    });
}

/// What changed in a turn that was lost is not called the user's.
///
/// Invariant `truth/lost-turn`.
#[test]
fn change_in_a_lost_turn_is_not_users() {
    on_a_small_disk(|world| {
        world.turn("m1", |world| world.write("a", "1\n"));
        fill(world);
        world.reopen(Settings::default());
        lose_a_turn(world, "s1", "m2");
        fs::remove_file(filler(world)).expect("it is there");
        world.turn("m3", |world| world.write("b", "3\n"));
        let report = world.revert("m1");
        let kept = report.files.iter().find(|file| file.path.path == "a");
        let reason = kept
            .and_then(|file| file.reason.clone())
            .unwrap_or_default();
        assert!(
            reason.contains("a step that was not recorded"),
            "nobody knows: {report:?}"
        );
    });
}

/// A session of which every event was lost is there afterwards.
#[test]
fn session_of_lost_events_is_there() {
    on_a_small_disk(|world| {
        world.turn("m1", |world| world.write("b", "1\n"));
        fill(world);
        world.reopen(Settings::default());
        lose_a_turn(world, "other", "o1");
        fs::remove_file(filler(world)).expect("it is there");
        let status = world.status();
        assert!(
            status.unprotected.iter().any(|line| line.contains("full")),
            "{status:?}"
        );
    });
}
