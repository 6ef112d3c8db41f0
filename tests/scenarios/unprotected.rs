//! A snapshot that failed is recorded as failed, and named again at revert; an old tree is never taken for a new one.

use std::time::Duration;

use ckpt_schema::report::{Difference, DifferenceReason, FileResult, Outcome};
use ckpt_schema::{Event, EventKind};
use ckpt_store::model::request::Unclear;
use ckpt_store::{ErrorKind, RevertRequest, Settings, fault};

use testing::scenario::{World, paths_with, set_clock_from_files, to};

/// Settings under which every snapshot is too late.
fn too_late() -> Settings {
    Settings {
        hook_deadline: Duration::ZERO,
        ..Settings::default()
    }
}

/// Sends an event whose snapshot fails.
fn send_in_vain(world: &mut World, kind: EventKind) {
    world.reopen(too_late());
    let event = world.event(kind, "s1");
    world
        .store
        .record(&event)
        .expect_err("the snapshot is too late");
    world.reopen(Settings::default());
}

/// A message whose only step was not captured is unavailable and nothing is touched.
#[test]
fn message_of_an_uncaptured_step_is_unavailable() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.message("m1");
    world.start();
    world.write("a", "agent\n");
    send_in_vain(&mut world, EventKind::StepFinish);
    let before = world.tree();
    let error = world
        .try_revert(&to("m1"))
        .expect_err("nobody knows what the step changed");
    assert_eq!(error.kind, ErrorKind::Unavailable, "exit code 4");
    assert_eq!(world.tree(), before, "nothing was touched");
}

/// A step that was not captured is named and the others are reverted.
#[test]
fn uncaptured_step_is_named_and_others_reverted() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.write("b", "0\n");
    world.message("m1");
    world.step(|world| world.write("a", "agent\n"));
    world.start();
    world.write("b", "agent\n");
    send_in_vain(&mut world, EventKind::StepFinish);
    let report = world.revert("m1");
    assert_eq!(world.read("a"), "0\n", "what is known goes back");
    assert_eq!(world.read("b"), "agent\n", "what is not known stays");
    assert_eq!(report.outcome, Outcome::Partial, "all is not well");
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("was not recorded")),
        "and why: {:?}",
        report.notes
    );
    let cwd = world.cwd.clone();
    let status = world.store.status(&cwd, None).expect("readable");
    assert_eq!(
        status.unprotected.len(),
        1,
        "status names it, too: {:?}",
        status.unprotected
    );
}

/// Empty directories go where the snapshot of the message failed.
///
/// What was there when the agent began tells which directories are its own.
#[test]
fn empty_directories_go_without_their_messages_snapshot() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.write("theirs/old", "0\n");
    let message = Event {
        message_id: Some("m1".to_owned()),
        ..world.event(EventKind::UserMessage, "s1")
    };
    world.reopen(too_late());
    world.store.record(&message).expect_err("it is too late");
    world.reopen(Settings::default());
    world.step(|world| {
        world.write("made/deep/file", "agent\n");
        world.write("theirs/new", "agent\n");
        std::fs::create_dir_all(world.path("empty/inner")).expect("ours");
    });
    world.revert("m1");
    assert!(
        !world.exists("made") && !world.exists("empty"),
        "what the agent made goes"
    );
    assert!(world.exists("theirs/old") && !world.exists("theirs/new"));
}

/// What changed while nobody could look is never the agent's.
#[test]
fn unseen_change_is_never_the_agents() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.message("m1");
    // There is something to read, so that the look is too late.
    world.write("new", "the user's\n");
    send_in_vain(&mut world, EventKind::StepStart);
    world.write("a", "the user's, or the agent's\n");
    world.finish();
    world.turn("m2", |world| world.write("b", "agent\n"));
    let report = world.revert("m1");
    assert_eq!(world.read("a"), "the user's, or the agent's\n", "kept");
    assert!(!world.exists("b"), "what is known goes back");
    assert_eq!(report.outcome, Outcome::Partial, "and it is said");
}

/// A first snapshot that is late is told from other failures.
#[test]
fn late_first_snapshot_is_no_other_failure() {
    let mut world = World::with(too_late());
    let event = world.event(EventKind::UserMessage, "s1");
    let error = world
        .store
        .record(&event)
        .expect_err("there is no time at all");
    assert_eq!(
        error.kind,
        ErrorKind::Late,
        "it has to go on without the hook"
    );
    world.reopen(Settings::default());
    world.snapshot();
    world.turn("m2", |world| world.write("a", "agent\n"));
    world.revert("m2");
    assert!(!world.exists("a"), "once it is there, all is as ever");
}

/// After a failure the next snapshot works and the lock is free.
#[test]
fn snapshot_after_a_failure_works() {
    let mut world = World::new();
    world.write("a", "0\n");
    send_in_vain(&mut world, EventKind::UserMessage);
    world.turn("m2", |world| world.write("a", "agent\n"));
    world.revert("m2");
    assert_eq!(world.read("a"), "0\n", "as if nothing had happened");
}

/// What a step that was not recorded may have done is not called the user's.
#[test]
fn unrecorded_steps_possible_work_is_not_users() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.write("b", "0\n");
    world.turn("m1", |world| {
        world.write("a", "agent\n");
        world.write("b", "agent\n");
    });
    world.write("b", "user\n");
    world.message("m2");
    world.start();
    world.write("a", "agent, and nobody looked\n");
    send_in_vain(&mut world, EventKind::StepFinish);
    let report = world.revert("m1");
    let reason = |path: &str| {
        let file = report
            .files
            .iter()
            .find(|file| file.path.path == path)
            .expect("it is named");
        file.reason.clone().expect("it is kept for a reason")
    };
    assert_eq!(
        reason("a"),
        "changed in the same lines since by you, or a step that was not recorded",
        "unsure"
    );
    assert_eq!(
        reason("b"),
        "changed in the same lines since by you or another program",
        "long before that step"
    );
}

/// A commit of a step that was not recorded is not called the user's.
#[test]
fn unrecorded_steps_commit_is_not_users() {
    let mut world = World::git(&[("a", "0\n")]);
    let commit = |world: &World, text: &str| {
        world.write("a", text);
        world.run_git(&["commit", "-qam", text.trim()]);
    };
    world.turn("m1", |world| commit(world, "agent\n"));
    world.message("m2");
    world.start();
    commit(&world, "nobody looked\n");
    send_in_vain(&mut world, EventKind::StepFinish);
    let request = RevertRequest {
        git: true,
        ..to("m1")
    };
    let report = world
        .try_revert(&request)
        .expect("the first step was recorded");
    let reason = report
        .git
        .iter()
        .find_map(|part| part.reason.as_deref())
        .expect("git stays for a reason");
    assert_eq!(
        reason, "changed since by you, or a step that was not recorded",
        "{report:?}"
    );
}

/// A damaged row leaves what it keeps from being looked at unprotected and says so.
#[test]
fn damaged_row_leaves_its_step_unprotected() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.turn("m1", |world| world.write("a", "agent\n"));
    world.revert("m1");
    let path = world.base().join("store/sessions.db");
    let connection = rusqlite::Connection::open(path).expect("the session store");
    connection
        .execute_batch(
            "PRAGMA ignore_check_constraints = ON;
             UPDATE operations SET kind = 'sideways', state = 'open'",
        )
        .expect("writable");
    let event = world.event(EventKind::UserMessage, "s1");
    world.store.record(&event).expect_err("it names the row");
    let log = world.log();
    let reason = log.messages[0].unprotected.as_deref().unwrap_or_default();
    assert!(
        reason.contains("`sideways` is not a value of its column `kind`"),
        "an operation that nobody can read is not taken for a revert: {log:?}"
    );
    connection
        .execute_batch("UPDATE operations SET kind = 'revert'")
        .expect("writable");
    world.turn("m3", |world| world.write("b", "agent again\n"));
    assert_eq!(
        world.log().messages[0].unprotected,
        None,
        "once the row is whole, all is as ever"
    );
}

const MANY: usize = 100;

/// A step that wrote many files, and of which the looks read so few at a time.
fn too_many(few: u64) -> World {
    set_clock_from_files(0);
    let mut world = World::new();
    world.write("a", "0\n");
    world.message("m1");
    world.start();
    for number in 0..MANY {
        world.write(format!("d/{number}"), "agent\n");
    }
    fault::read_no_more_than(Some(few));
    world
}

fn left(world: &World) -> usize {
    let is_there = |number: &usize| world.exists(format!("d/{number}"));
    (0..MANY).filter(is_there).count()
}

/// Invariant `truth/deadline`: What a deadline stops is recorded as far as it was looked at, and the rest is unclear.
#[test]
fn look_is_recorded_as_far_as_it_got() {
    let mut world = too_many(40);
    let event = world.event(EventKind::StepFinish, "s1");
    let error = world.store.record(&event).expect_err("it is late");
    assert_eq!(error.kind, ErrorKind::Late, "it goes on in the background");
    fault::read_no_more_than(None);
    // What goes on does not end before the turn does.
    let event = world.event(EventKind::TurnEnd, "s1");
    world.store.record(&event).expect("there is no look");
    world.capture();
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
    let stay = left(&world);
    assert!(
        0 < stay && stay < MANY,
        "what was read goes back: {stay} stay"
    );
    let is_told = |file: &&ckpt_schema::report::FileReport| {
        let mut reason = file.reason.iter();
        reason.any(|reason| {
            reason.contains("did not get that far") || reason.contains("stopped by its deadline")
        })
    };
    assert_eq!(
        report.files.iter().filter(is_told).count(),
        stay,
        "{report:#?}"
    );
    let taking = RevertRequest {
        unclear: Some(Unclear::Take),
        ..to("m1")
    };
    let report = world.try_revert(&taking).expect("it can be asked for");
    assert_eq!(left(&world), 0, "{report:#?}");
}

/// Invariant `truth/deadline`.
#[test]
fn next_look_goes_on_where_one_stopped() {
    let mut world = too_many(40);
    let looks = (0..MANY).find(|_| {
        let event = world.event(EventKind::StepFinish, "s1");
        let is_done = world.store.record(&event).is_ok();
        let event = world.event(EventKind::StepStart, "s1");
        is_done && world.store.record(&event).is_ok()
    });
    fault::read_no_more_than(None);
    assert!(looks.is_some_and(|looks| looks < 5), "{looks:?}");
}

/// A large file is read in pieces: the time is up within it.
///
/// Invariant `truth/deadline`.
#[test]
fn large_file_beyond_the_deadline_costs_itself() {
    set_clock_from_files(0);
    let mut world = World::new();
    world.write("a", "0\n");
    world.message("m1");
    world.start();
    world.write("a", "agent\n");
    world.write("large", vec![b'x'; 17 << 20]);
    fault::read_no_more_than(Some(2));
    let event = world.event(EventKind::StepFinish, "s1");
    let error = world.store.record(&event).expect_err("it is late");
    assert_eq!(error.kind, ErrorKind::Late, "{error}");
    fault::read_no_more_than(None);
    let event = world.event(EventKind::TurnEnd, "s1");
    world.store.record(&event).expect("there is no look");
    world.capture();
    let report = world.revert("m1");
    assert_eq!(world.read("a"), "0\n", "{report:#?}");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
    let mut large = report.files.iter();
    let large = large.find(|file| file.path.path == "large");
    assert!(large.is_some_and(|file| file.unclear), "{report:#?}");
}

/// A workspace with many files in many folders, of which each look reads so few.
fn begin_with_too_many(few: u64) -> World {
    set_clock_from_files(0);
    let mut world = World::new();
    for number in 0..MANY {
        world.write(format!("d/{number}"), "the user's\n");
        world.write(format!("e/{number}/f"), "the user's\n");
    }
    fault::read_no_more_than(Some(few));
    let message = Event {
        message_id: Some("m1".to_owned()),
        ..world.event(EventKind::UserMessage, "s1")
    };
    let error = world.store.record(&message).expect_err("it is late");
    assert_eq!(error.kind, ErrorKind::Late, "it goes on in the background");
    world
}

/// Invariant `truth/deadline`.
#[test]
fn first_look_is_recorded_as_it_got() {
    let mut world = begin_with_too_many(40);
    let event = world.event(EventKind::StepStart, "s1");
    _ = world.store.record(&event);
    for number in 0..MANY {
        world.write(format!("e/{number}/f"), "the agent's\n");
    }
    world.write("new", "the agent's\n");
    fault::read_no_more_than(None);
    world.finish();
    let report = world.revert("m1");
    assert!(!world.exists("new"), "it was not listed then: {report:#?}");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
    let is_old = |number: &usize| world.read(format!("e/{number}/f")) == "the user's\n";
    let old = (0..MANY).filter(is_old).count();
    assert!(0 < old && old < MANY, "what was read goes back: {old}");
    let mut stay = paths_with(&report, FileResult::Gap);
    stay.retain(|path| path.starts_with("e/"));
    assert_eq!(
        stay.len(),
        MANY - old,
        "each other one is named: {report:#?}"
    );
    let is_mine = |one: &&Difference| one.reason == DifferenceReason::Yours;
    let differences = report
        .receipt
        .iter()
        .flat_map(|receipt| &receipt.differences);
    assert_eq!(
        differences.filter(is_mine).count(),
        0,
        "nobody changed the others: {report:#?}"
    );
}

/// Of a directory that was not listed in time, nothing is known.
///
/// Invariant `truth/deadline`.
#[test]
fn directory_beyond_the_deadline_is_unknown() {
    let mut world = begin_with_too_many(0);
    fault::read_no_more_than(None);
    world.start();
    world.write("d/0", "the agent's\n");
    world.write("d/new", "the agent's\n");
    world.remove("d/1");
    world.write("new", "the agent's\n");
    world.finish();
    let report = world.revert("m1");
    assert!(!world.exists("new"), "it was not listed then: {report:#?}");
    for name in ["d/0", "d/1"] {
        assert_eq!(world.read(name), "the user's\n", "{report:#?}");
    }
    assert!(
        !world.exists("d/new"),
        "a later look saw it come: {report:#?}"
    );
    let differences = report
        .receipt
        .iter()
        .flat_map(|receipt| &receipt.differences);
    let is_unknown = |one: &&Difference| one.reason == DifferenceReason::NotCaptured;
    let unknown = differences.filter(is_unknown).count();
    assert_eq!(
        unknown,
        2 * MANY,
        "nobody knows what was there then: {report:#?}"
    );
}

/// Invariant `truth/deadline`.
#[test]
fn first_look_is_not_begun_anew_in_vain() {
    let mut world = begin_with_too_many(40);
    let looks = (0..MANY).find(|_| {
        let event = world.event(EventKind::StepStart, "s1");
        let is_done = world.store.record(&event).is_ok();
        let event = world.event(EventKind::StepFinish, "s1");
        is_done && world.store.record(&event).is_ok()
    });
    fault::read_no_more_than(None);
    assert!(looks.is_some_and(|looks| looks < 8), "{looks:?}");
}

/// A look may be done in time and leave none to ask when each file changed: what it saw is recorded all the same.
///
/// Invariant `truth/deadline`.
#[test]
fn changes_without_time_left_are_unclear() {
    let mut world = too_many(u64::MAX);
    fault::read_no_more_than(None);
    fault::date_no_more_than(Some(40));
    let message = Event {
        message_id: Some("m2".to_owned()),
        ..world.event(EventKind::UserMessage, "s1")
    };
    world.store.record(&message).expect("it is recorded");
    fault::date_no_more_than(None);
    let snapshots = world.log().messages.len();
    world.capture();
    assert_eq!(
        world.log().messages.len(),
        snapshots,
        "nothing is left to do"
    );
    let report = world.revert("m1");
    assert_eq!(
        left(&world),
        MANY - 40,
        "what was asked for goes: {report:#?}"
    );
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
    assert_eq!(
        report.files.iter().filter(|file| file.unclear).count(),
        MANY - 40,
        "each other one is named: {report:#?}"
    );
}

/// A look may be done in time and what it found be too much to write down: then the event is recorded without it. The next
/// look finds what the step may have changed, and that is unclear.
///
/// Invariant `truth/deadline`.
#[test]
fn changes_beyond_the_deadline_cost_no_event() {
    let mut world = too_many(u64::MAX);
    fault::read_no_more_than(None);
    fault::leave_no_time(true);
    let message = Event {
        message_id: Some("m2".to_owned()),
        ..world.event(EventKind::UserMessage, "s1")
    };
    let error = world.store.record(&message).expect_err("it is late");
    assert_eq!(error.kind, ErrorKind::Late, "it goes on in the background");
    fault::leave_no_time(false);
    world.capture();
    let log = world.log();
    assert_eq!(log.messages.len(), 2, "the message is there: {log:?}");
    world.turn("m3", |world| world.write("a", "agent\n"));
    let report = world.revert("m3");
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
    let report = world.revert("m1");
    assert_eq!(left(&world), MANY, "what was missed is left alone");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
    assert_eq!(
        report.files.iter().filter(|file| file.unclear).count(),
        MANY,
        "each file is named: {report:#?}"
    );
    let take = RevertRequest {
        unclear: Some(Unclear::Take),
        ..to("m1")
    };
    world.try_revert(&take).expect("it is asked for");
    assert_eq!(left(&world), 0, "and goes where that is asked for");
}
