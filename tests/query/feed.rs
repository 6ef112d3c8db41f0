//! What is told of what happens, and from where a client goes on.

use std::sync::atomic::{AtomicBool, Ordering};

use ckpt_schema::report::Notification;
use ckpt_store::Settings;
use testing::scenario::{World, to, try_open};

/// Returns what is told after a place: the name of each, and the place to go on from.
fn told(world: &mut World, since: i64) -> (Vec<String>, i64) {
    let feed = world.store.feed(None, since).unwrap();
    let seqs: Vec<i64> = feed.notifications.iter().map(Notification::seq).collect();
    assert!(seqs.is_sorted(), "oldest first: {seqs:?}");
    assert!(
        seqs.iter().all(|seq| *seq > since),
        "nothing is told twice: {seqs:?}"
    );
    let names = feed.notifications.iter().map(|told| told.name().to_owned());
    (names.collect(), feed.seq)
}

#[test]
fn what_happens_is_told_once_in_its_order() {
    let mut world = World::new();
    let (_, start) = told(&mut world, 0);
    world.message("m1");
    let (names, after_message) = told(&mut world, start);
    assert_eq!(names, ["message"], "a message was sent");
    world.step(|world| world.write("made", "1\n"));
    let (names, after_step) = told(&mut world, after_message);
    assert_eq!(names, ["step", "step"], "a step began, and ended");
    world.revert("m1");
    let (names, end) = told(&mut world, after_step);
    assert_eq!(
        names.iter().filter(|name| *name == "operation").count(),
        2,
        "an operation began, and ended: {names:?}"
    );
    assert!(
        names.contains(&"message".to_owned()),
        "the message is hidden now: {names:?}"
    );
    assert_eq!(told(&mut world, end), (Vec::new(), end), "that was all");
    let (all, last) = told(&mut world, start);
    assert_eq!(
        last, end,
        "who was away all the time goes on at the same place"
    );
    assert!(all.len() >= 6, "and is told of everything: {all:?}");
}

/// A notification has the document as it is now.
#[test]
fn notification_has_the_present_document() {
    let mut world = World::new();
    let (_, start) = told(&mut world, 0);
    world.turn("m1", |world| world.write("made", "1\n"));
    let told = world.store.feed(None, start).unwrap().notifications;
    let workspace = world.path("");
    let workspace = workspace.to_str().unwrap().trim_end_matches('/').to_owned();
    let Some(Notification::Message {
        message,
        workspace: place,
        ..
    }) = told.first()
    else {
        panic!("the message comes first: {told:?}");
    };
    assert_eq!(message.agent_id.as_deref(), Some("m1"));
    assert_eq!(place.as_deref(), Some(workspace.as_str()));
    let Some(Notification::Step { step, .. }) = told.last() else {
        panic!("the step comes last: {told:?}");
    };
    assert!(!step.open, "it has ended");
    assert_eq!((step.files, &step.message), (1, &message.id));
}

/// A gap is told with the step that first had it.
#[test]
fn gap_is_told_with_its_first_step() {
    let mut world = World::new();
    world.message("m1");
    let (_, before) = told(&mut world, 0);
    let make_pipe = |world: &World| {
        rustix::fs::mknodat(
            rustix::fs::CWD,
            world.path("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o644),
            0,
        )
        .unwrap();
    };
    world.step(|world| make_pipe(world));
    let feed = world.store.feed(None, before).unwrap();
    let gaps: Vec<&str> = feed
        .notifications
        .iter()
        .filter_map(|told| match told {
            Notification::Gap { gaps, .. } => Some(gaps[0].path.path.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(gaps, ["pipe"], "{:?}", feed.notifications);
    world.step(|world| world.write("other", "1\n"));
    let (names, _) = told(&mut world, feed.seq);
    assert!(
        !names.contains(&"gap".to_owned()),
        "it is no news: {names:?}"
    );
}

/// A place of another store is answered with a reset.
#[test]
fn place_of_another_store_is_a_reset() {
    let mut world = World::new();
    world.message("m1");
    let (_, end) = told(&mut world, 0);
    let feed = world.store.feed(None, end + 1).unwrap();
    assert_eq!(feed.notifications, [Notification::Reset { seq: end }]);
    assert_eq!(feed.seq, end, "from here on it is in step again");
}

/// What happens in another workspace is not told of this one.
#[test]
fn another_workspaces_events_are_not_told() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("made", "1\n"));
    let elsewhere = tempfile::tempdir().unwrap();
    let elsewhere = elsewhere.path().join("project");
    std::fs::create_dir(&elsewhere).unwrap();
    let (_, start) = told(&mut world, 0);
    world.try_revert(&to("m1")).unwrap();
    let feed = world.store.feed(Some(&elsewhere), 0).unwrap();
    assert!(feed.notifications.is_empty(), "nothing was recorded there");
    let base = world.path("");
    let feed = world.store.feed(Some(&base), start).unwrap();
    assert!(!feed.notifications.is_empty(), "but here");
}

/// What is added while a client asks is told once.
#[test]
fn additions_during_a_question_are_told_once() {
    let mut world = World::new();
    let (_, start) = told(&mut world, 0);
    let mut store = try_open(&world.base(), Settings::default()).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let client = scope.spawn(|| {
            let (mut from, mut seqs) = (start, Vec::new());
            loop {
                // Asked before the question, so that the last answer has everything.
                let is_last = is_over.load(Ordering::SeqCst);
                let feed = store.feed(None, from).unwrap();
                seqs.extend(feed.notifications.iter().map(Notification::seq));
                from = feed.seq;
                if is_last {
                    return seqs;
                }
            }
        });
        for number in 0..100 {
            world.message(&format!("m{number}"));
        }
        is_over.store(true, Ordering::SeqCst);
        let seqs = client.join().unwrap();
        assert!(
            seqs.is_sorted_by(|one, next| one < next),
            "each once, in order: {seqs:?}"
        );
        assert!(seqs.len() >= 100, "and every one: {seqs:?}");
    });
}
