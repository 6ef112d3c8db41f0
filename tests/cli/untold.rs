//! An event that fails for a reason of the store's own is told to a person with the next command: once, and in our words.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use testing::binary::{Run, Sandbox, finish};
use testing::mount::Mount;
use testing::nobody::as_nobody;
use testing::rows;

/// What makes the session store refuse the next message, and what takes it away.
const REFUSES: &str = "CREATE UNIQUE INDEX refuses ON messages (session_id)";
const ACCEPTS: &str = "DROP INDEX refuses";

/// A turn of which the session store refuses every message.
fn refused() -> Sandbox {
    let world = Sandbox::new();
    world.write("file", "0\n");
    world.play("m1", "first", |world| world.write("file", "1\n"));
    rows::execute(&world.store().join("sessions.db"), REFUSES);
    for event in ["user_message", "step_start"] {
        world
            .event(json!({"event": event, "session_id": "s", "message_id": "m2"}))
            .ends_silently();
    }
    world.write("file", "2\n");
    world
        .event(json!({"event": "step_finish", "session_id": "s"}))
        .ends_silently();
    rows::execute(&world.store().join("sessions.db"), ACCEPTS);
    world
}

fn assert_in_our_words(run: &Run) {
    let said = format!("{}{}", run.stdout, run.stderr);
    for word in [
        "UNIQUE",
        "constraint",
        "messages.session_id",
        "no such",
        "rusqlite",
    ] {
        assert!(!said.contains(word), "`{word}` is SQLite's:\n{run}");
    }
}

/// A lost event is told with the next command once.
///
/// Invariant `truth/lost-event`: An event that fails for a reason of the store's own is told to
/// a person with the next command, once; what the agent changed meanwhile is not called the
/// user's, and no text of SQLite's reaches anybody.
#[test]
fn lost_event_is_told_once() {
    let commands: [&[&str]; 7] = [
        &["log"],
        &["status"],
        &["diff"],
        &["sessions"],
        &["revert", "--dry-run", "--message", "m1"],
        &["doctor"],
        &["snapshot"],
    ];
    for command in commands {
        let world = refused();
        let run = world.run(command, b"");
        assert!(
            run.stderr.contains("could not be recorded: it contradicts"),
            "{command:?} tells it: {run}"
        );
        assert_in_our_words(&run);
        let again = world.run(&["log"], b"").exits(0);
        assert_eq!(again.stderr, "", "{command:?}: once");
        // What the log file and `doctor` keep is in our words, too.
        assert_in_our_words(&world.run(&["doctor"], b""));
        let log = std::fs::read_to_string(world.store().join("log")).expect("it was written");
        assert!(!log.contains("UNIQUE"), "{log}");
    }
}

/// The page tells it before it serves, because Ctrl-C ends it.
///
/// Invariant `truth/lost-event`.
#[test]
fn page_tells_lost_events_before_it_serves() {
    let world = refused();
    let mut page = world.command(&["page", "--no-open"]);
    let page = page
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut page = page.spawn().expect("it starts");
    let mut address = String::new();
    let mut stdout = BufReader::new(page.stdout.take().expect("it is piped"));
    stdout.read_line(&mut address).expect("it serves");
    page.kill().expect("it runs");
    let said = page.wait_with_output().expect("it ends").stderr;
    let said = String::from_utf8_lossy(&said);
    assert_eq!(said.matches("could not be recorded").count(), 1, "{said}");
    let again = world.run(&["log"], b"").exits(0);
    assert_eq!(again.stderr, "", "once");
}

/// What the agent did meanwhile is not called the user's.
///
/// Invariant `truth/lost-event`.
#[test]
fn agents_meanwhile_changes_are_not_the_users() {
    let world = refused();
    let run = world.run(&["revert", "--message", "m1"], b"");
    assert!(
        !run.stdout.contains("changed by the user") && !run.stdout.contains("yours"),
        "nobody saw whose it is: {run}"
    );
}

/// Losses in directories that are gone or out of reach are told once, and those beside them become one step.
///
/// Invariant `truth/lost-event`.
#[test]
fn loss_out_of_reach_is_told_once() {
    let world = Sandbox::new();
    world.play("m1", "first", |world| world.write("file", "1\n"));
    std::os::unix::fs::symlink("loop", world.path("loop")).expect("writable");
    let elsewhere = ["gone", "loop/x", &"x".repeat(300)].map(|name| world.path(name));
    let places = [world.workspace()].into_iter().chain(elsewhere);
    let note: String = places
        .map(|cwd| {
            json!(["generic", "s", cwd, null, 1, 2, 1, "the disk was full"]).to_string() + "\n"
        })
        .collect();
    let mut reserve = std::fs::read(world.store().join("reserve")).expect("it was made");
    reserve[..note.len()].copy_from_slice(note.as_bytes());
    std::fs::write(world.store().join("reserve"), reserve).expect("ours");
    let told = world.run(&["log"], b"").exits(0);
    assert_eq!(
        told.stderr.matches("could not be recorded").count(),
        1,
        "{told}"
    );
    assert!(told.stderr.contains("(4 times)"), "{told}");
    let again = world.run(&["log"], b"").exits(0);
    assert_eq!(again.stderr, "", "once");
    let query = "SELECT id FROM steps WHERE unprotected IS NOT NULL";
    let steps = rows::texts(&world.store().join("sessions.db"), query);
    assert_eq!(steps.len(), 1, "{steps:?}");
}

/// Programs and places that are not captured are told nothing.
///
/// Invariant `truth/lost-event`.
#[test]
fn uncaptured_programs_are_told_nothing() {
    let world = refused();
    for arguments in [&["--json", "log"][..], &["candidates", "messages"]] {
        let run = world.run(arguments, b"");
        assert_eq!(run.stderr, "", "{arguments:?}: it is for a person: {run}");
    }
    let told = world.run(&["log"], b"").exits(0);
    assert!(told.stderr.contains("could not be recorded"), "{told}");
    world
        .event(json!({"event": "user_message", "session_id": "t", "cwd": "/"}))
        .ends_silently();
    let run = world.run(&["log"], b"").exits(0);
    assert_eq!(
        run.stderr, "",
        "it is no fault of the store's that `/` is refused"
    );
}

/// An event that misses a table is recorded in a new session store.
#[test]
fn event_that_misses_a_table_is_recorded() {
    let world = Sandbox::new();
    world.play("m1", "first", |world| world.write("file", "1\n"));
    let database = world.store().join("sessions.db");
    rows::execute(
        &database,
        "PRAGMA legacy_alter_table = ON; ALTER TABLE tools RENAME TO elsewhere",
    );
    let run = world.run(&["log", "--json"], b"");
    assert_in_our_words(&run);
    for event in ["tool_start", "tool_finish"] {
        let event = json!({
            "event": event, "session_id": "s", "tool_use_id": "t", "tool_name": "Bash",
        });
        world.event(event).exits(0);
    }
    let run = world.run(&["log"], b"").exits(0);
    assert!(!run.stderr.contains("could not be recorded"), "{run}");
    assert_in_our_words(&run);
    let ids = rows::texts(&database, "SELECT agent_id FROM tools");
    assert!(ids.contains(&"t".to_owned()), "{ids:?}");
}

/// Invariant `truth/directory-moves`.
#[test]
fn a_directory_that_comes_back_is_recorded() {
    let world = Sandbox::new();
    let (here, away) = (world.workspace(), world.path("proj.old"));
    world.write("file", "0\n");
    world.play("m1", "first", |world| world.write("file", "1\n"));
    std::fs::rename(&here, &away).expect("it is free");
    std::fs::create_dir(&here).expect("it is free");
    world.play("n1", "another", |world| world.write("other", "1\n"));
    std::fs::remove_file(here.join("other")).expect("ours");
    std::fs::remove_dir(&here).expect("empty");
    std::fs::rename(&away, &here).expect("it is free");
    world.play("m2", "second", |world| world.write("file", "2\n"));
    world.run(&["revert", "--message", "m2"], b"").exits(0);
    assert_eq!(world.read("file"), b"1\n", "the agent's change is known");
    world.run(&["revert", "--message", "m1"], b"").exits(0);
    assert_eq!(world.read("file"), b"0\n", "and so is its history");
}

/// Settles as the hook does in the background, once what the hook started there has ended: it may hold the lock of upkeep
/// before its first note.
fn settle(world: &Sandbox) {
    let end = Instant::now() + Duration::from_secs(60);
    let is_noted = || fs::read(world.store().join("gc")).is_ok_and(|note| !note.is_empty());
    loop {
        let run = world.run(&["settle"], b"");
        if !run.stderr.contains("another process holds the lock") {
            assert_eq!(run.code, Some(0), "{run}");
            if is_noted() {
                return;
            }
        }
        assert!(Instant::now() < end, "{run}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// One hook whose clock is wrong, and then the right one again.
///
/// Invariant `work/pruning-clock`.
#[test]
fn a_wrong_clock_prunes_nothing() {
    const NOW: i64 = 1_780_000_000;
    const DAY: i64 = 24 * 3600;
    for wrong in [
        NOW + 40 * DAY,
        NOW - 40 * DAY,
        1,
        2_147_483_648,
        4_294_967_296,
    ] {
        let world = Sandbox::new();
        world.set_clock(NOW);
        for number in 0..6 {
            let message = format!("m{number}");
            world.play(&message, "work", |world| world.write("file", &message));
            world
                .event(json!({"event": "session_end", "session_id": "s"}))
                .ends_silently();
        }
        settle(&world);
        let kept = || {
            let query = "SELECT id || '' FROM snapshots WHERE pruned_at IS NULL";
            rows::texts(&world.store().join("sessions.db"), query).len()
        };
        let before = kept();
        for (number, clock) in [wrong, wrong + 60, NOW + 120, NOW + 180]
            .into_iter()
            .enumerate()
        {
            world.set_clock(clock);
            let message = format!("w{number}");
            world
                .event(json!({"event": "user_message", "session_id": "w", "message_id": message}))
                .ends_silently();
            // As the hook starts it in the background, however long ago the last one was.
            settle(&world);
        }
        assert!(kept() >= before, "{wrong}: {} of {before} are left", kept());
    }
}

/// A person's `gc` does not go by a clock that was set since an earlier run either, and says so, unless they name the age.
///
/// Invariant `work/pruning-clock`.
#[test]
fn gc_by_hand_doubts_a_set_clock() {
    const NOW: i64 = 1_780_000_000;
    let world = Sandbox::new();
    world.set_clock(NOW);
    world.play("m1", "work", |world| world.write("file", "1\n"));
    world
        .event(json!({"event": "session_end", "session_id": "s"}))
        .ends_silently();
    settle(&world);
    let kept = || {
        let query = "SELECT id || '' FROM snapshots WHERE pruned_at IS NULL";
        rows::texts(&world.store().join("sessions.db"), query).len()
    };
    let before = kept();
    let size = world.json(&["du", "--by", "age"]);
    world.set_clock(NOW + 40 * 24 * 3600);
    let doubted_size = world.json(&["du", "--by", "age"]);
    assert_eq!(
        doubted_size["reclaimable"], size["reclaimable"],
        "none is old"
    );
    assert_eq!(
        doubted_size["rows"][0]["name"],
        "unknown: the clock was set"
    );
    let doubted = "The clock and the time for which this machine has run do not agree";
    for line in [&["gc", "--dry-run"][..], &["gc"], &["gc"], &["gc"]] {
        let run = world.run(line, b"").exits(0);
        assert!(run.stdout.contains(doubted), "{run}");
        assert_eq!(kept(), before, "{run}");
    }
    let run = world.run(&["gc", "--keep", "30 days"], b"").exits(0);
    assert!(!run.stdout.contains(doubted), "{run}");
    assert!(
        run.stdout.contains("by the clock, which says 2026-07"),
        "{run}"
    );
    assert!(kept() < before, "the user named the age: {run}");
}

/// The command has a private copy of it, which goes with it. Nothing is changed: the way back would go as well.
///
/// Invariant `truth/read-only-store`: A store that cannot be written to is read, and nothing is
/// changed that it could not take back.
#[test]
fn a_store_that_cannot_be_written_to_answers() {
    let world = Sandbox::new();
    std::fs::create_dir(world.store()).expect("writable");
    let Some(mount) = Mount::new(&world.store(), "size=32m,mode=700") else {
        return;
    };
    world.write("file", "0\n");
    world.play("m1", "first", |world| world.write("file", "1\n"));
    world.write("file", "2\n");
    let questions: [&[&str]; 3] = [
        &["diff", "m1"],
        &["revert", "--dry-run", "--message", "m1"],
        &["restore", "--dry-run", "m1", "file"],
    ];
    let expected: Vec<Run> = questions
        .iter()
        .map(|question| world.run(question, b""))
        .collect();
    mount.remount("ro");
    for (question, expected) in questions.iter().zip(&expected) {
        let run = world.run(question, b"");
        assert_eq!(
            (run.code, world.redact(&run.stdout)),
            (expected.code, world.redact(&expected.stdout)),
            "{question:?}: {run}"
        );
    }
    let run = world.run(&["revert", "--message", "m1"], b"");
    assert!(
        run.code != Some(0) && world.read("file") == b"2\n",
        "no way back: {run}"
    );
    let left = std::fs::read_dir(std::env::temp_dir())
        .expect("readable")
        .flatten();
    let is_ours = |name: &str| {
        name.strip_prefix("ckpt-hook-")
            .is_some_and(|rest| rest.len() == 32)
    };
    let mut left = left.filter(|entry| is_ours(&entry.file_name().to_string_lossy()));
    assert!(left.all(|entry| !entry.path().join("store/sessions.db").exists()));
}

/// Takes the permission to write from a store and all that is in it, or gives it.
fn set_writable(world: &Sandbox, is_writable: bool) {
    let change = if is_writable { "u+w" } else { "a-w" };
    let status = Command::new("chmod")
        .args(["-R", change])
        .arg(world.store())
        .status();
    assert!(status.expect("chmod starts").success());
}

/// A store without permission to write answers and says so.
#[test]
fn unwritable_store_answers_and_says_so() {
    as_nobody("untold::unwritable_store_answers_and_says_so", || {
        let world = Sandbox::new();
        world.write("file", "0\n");
        world.play("m1", "first", |world| world.write("file", "1\n"));
        let questions: [&[&str]; 6] = [
            &["log"],
            &["status"],
            &["diff", "m1"],
            &["revert", "--dry-run", "--message", "m1"],
            &["restore", "--dry-run", "m1", "file"],
            &["show", "m1"],
        ];
        let answers = || questions.map(|question| world.run(question, b"").exits(0));
        let before = answers();
        set_writable(&world, false);
        for event in ["user_message", "step_start", "step_finish"] {
            world
                .event(json!({"event": event, "session_id": "s", "message_id": "m2"}))
                .ends_silently();
        }
        for (run, before) in answers().iter().zip(&before) {
            assert_eq!(world.redact(&run.stdout), world.redact(&before.stdout));
            assert!(
                run.stderr
                    .contains("cannot be written to, so nothing is recorded"),
                "{run}"
            );
            assert!(before.stderr.is_empty(), "{before}");
        }
        let run = world.run(&["--json", "log"], b"").exits(0);
        assert_eq!(run.stderr, "", "it is for a person");
        set_writable(&world, true);
    });
}

/// A store that cannot be made is said by each command.
#[test]
fn every_command_reports_an_impossible_store() {
    as_nobody("untold::every_command_reports_an_impossible_store", || {
        let world = Sandbox::new();
        std::fs::create_dir(world.store()).expect("ours");
        set_writable(&world, false);
        let store = world.store().join("below/store");
        let run = |words: &[&str], input: &[u8]| {
            let mut command = world.command(words);
            finish(command.env("CKPT_HOOK_HOME", &store), input)
        };
        let event = json!({"event": "user_message", "session_id": "s", "cwd": world.workspace()});
        run(&["event"], event.to_string().as_bytes()).ends_silently();
        let said = run(&["log"], b"");
        assert!(
            said.stderr
                .contains("cannot be written to, so nothing is recorded"),
            "{said}"
        );
        set_writable(&world, true);
    });
}

/// An event that the system refuses is told once.
///
/// The session store is damaged, and the system refuses what would heal it: no row can be written, but the reserve.
#[test]
fn refused_event_is_told_once() {
    let world = Sandbox::new();
    world.write("file", "0\n");
    world.play("m1", "first", |world| world.write("file", "1\n"));
    let database = world.store().join("sessions.db");
    rows::execute(&database, "PRAGMA wal_checkpoint(TRUNCATE)");
    let mut bytes = std::fs::read(&database).expect("ours");
    bytes[..4096].fill(0);
    std::fs::write(&database, bytes).expect("ours");
    let obstacle = world.store().join("sessions.db.repaired");
    std::fs::create_dir(&obstacle).expect("ours");
    for event in ["user_message", "step_start", "step_finish"] {
        world
            .event(json!({"event": event, "session_id": "s", "message_id": "m2"}))
            .ends_silently();
    }
    std::fs::remove_dir(&obstacle).expect("ours");
    let run = world.run(&["log"], b"").exits(0);
    assert!(run.stderr.contains("could not be recorded"), "{run}");
    assert!(
        run.stdout.contains("first"),
        "and nothing else is lost: {run}"
    );
    let again = world.run(&["log"], b"").exits(0);
    assert_eq!(again.stderr, "", "once");
}

/// A directory that is no store is not made one.
#[test]
fn foreign_directory_is_not_made_a_store() {
    let world = Sandbox::new();
    std::fs::create_dir(world.store()).expect("ours");
    std::fs::write(world.store().join("theirs"), "1\n").expect("ours");
    world
        .event(json!({"event": "user_message", "session_id": "s"}))
        .ends_silently();
    let names = std::fs::read_dir(world.store()).expect("ours");
    assert_eq!(names.count(), 1, "nothing came");
}

/// What was lost while a store could not be written to is told once it can.
///
/// Invariant `truth/lost-event`.
#[test]
fn losses_of_an_unwritable_store_are_told_later() {
    as_nobody(
        "untold::losses_of_an_unwritable_store_are_told_later",
        || {
            let world = Sandbox::new();
            world.write("file", "0\n");
            world.play("m1", "first", |world| world.write("file", "1\n"));
            let set_mode = |mode| {
                let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
                std::fs::set_permissions(world.store(), mode).expect("ours");
            };
            set_writable(&world, false);
            for mode in [0o500, 0] {
                set_mode(mode);
                for event in ["user_message", "step_start", "step_finish"] {
                    world
                    .event(json!({"event": event, "session_id": format!("s{mode}"), "message_id": "m2"}))
                    .ends_silently();
                }
            }
            world.write("file", "2\n");
            set_mode(0o700);
            set_writable(&world, true);
            let told = world.run(&["log"], b"").exits(0);
            for session in ["s320", "s0"] {
                assert!(told.stderr.contains(session), "{session}: {told}");
            }
            assert_in_our_words(&told);
            let again = world.run(&["log"], b"").exits(0);
            assert_eq!(again.stderr, "", "once");
            let left =
                std::fs::read_dir(world.store().parent().expect("a folder")).expect("readable");
            let left = left.flatten().map(|entry| entry.file_name());
            let mut left = left.filter(|name| name.to_string_lossy().ends_with("-lost"));
            assert_eq!(left.next(), None, "nothing is left beside the store");
            let beside = world.path(".store.ckpt-hook-lost");
            std::fs::create_dir(&beside).expect("writable");
            world.run(&["status"], b"").exits(0);
            std::fs::remove_dir(beside).expect("ours");
            // Nobody saw who wrote the file meanwhile.
            let reverted = world.json(&["revert", "--message", "m1", "--dry-run"]);
            assert!(
                reverted.to_string().contains("was not recorded"),
                "{reverted}"
            );
        },
    );
}
