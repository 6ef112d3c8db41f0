//! What was not recorded, or is damaged, is said: an outcome never claims more than was done.

use std::fs;

use ckpt_schema::report::{FileResult, OperationReport, Outcome};
use ckpt_store::ErrorKind;
use ckpt_store::model::progress::OperationProgress;

use testing::scenario::{World, to};

/// Lets something happen while the workspace cannot be captured: a file stands where its repository is.
fn without_snapshots<T>(world: &mut World, work: impl FnOnce(&mut World) -> T) -> T {
    let folders =
        fs::read_dir(world.base().join("store/snapshots")).expect("a workspace was captured");
    let folder = folders
        .map(|entry| entry.expect("readable").path())
        .next()
        .expect("one workspace");
    let (repository, aside) = (folder.join("repository.git"), folder.join("aside"));
    fs::rename(&repository, &aside).expect("it is there");
    fs::write(&repository, "no repository").expect("writable");
    let result = work(world);
    fs::remove_file(&repository).expect("it was not touched");
    fs::rename(&aside, &repository).expect("it is there");
    result
}

fn last_outcome(world: &mut World) -> (Option<Outcome>, OperationReport) {
    let report = world.revert("m1");
    let cwd = world.cwd.clone();
    let operations = world
        .store
        .operations(&cwd, &ckpt_store::query::LogFilter::default())
        .expect("a readable store")
        .operations;
    (operations[0].outcome, report)
}

/// A step that was not recorded makes a revert partial also in the history.
#[test]
fn unrecorded_step_makes_a_revert_partial() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.turn("m1", |world| world.write("a", "2\n"));
    without_snapshots(&mut world, |world| {
        let start = world.event(ckpt_schema::EventKind::StepStart, "s1");
        world
            .store
            .record(&start)
            .expect_err("there is nothing to capture into");
    });
    world.write("b", "unseen\n");
    world.finish();
    let (recorded, report) = last_outcome(&mut world);
    assert_eq!(
        world.read("a"),
        "1\n",
        "the step that was recorded is undone"
    );
    assert_eq!(
        world.read("b"),
        "unseen\n",
        "nobody knows what was there before"
    );
    assert_eq!(
        report.outcome,
        Outcome::Partial,
        "not everything was undone"
    );
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("was not recorded")),
        "it says what: {:?}",
        report.notes
    );
    assert_eq!(
        recorded,
        Some(Outcome::Partial),
        "the history says the same"
    );
}

/// A message of which nothing was recorded is unavailable and nothing is touched.
#[test]
fn unrecorded_message_is_unavailable() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.message("m1");
    without_snapshots(&mut world, |world| {
        let start = world.event(ckpt_schema::EventKind::StepStart, "s1");
        world
            .store
            .record(&start)
            .expect_err("there is nothing to capture into");
    });
    world.write("a", "2\n");
    world.finish();
    let error = world
        .try_revert(&to("m1"))
        .expect_err("nothing can be undone");
    assert_eq!(error.kind, ErrorKind::Unavailable, "exit code 4: {error}");
    assert_eq!(world.read("a"), "2\n", "untouched");
}

/// A message that could not be captured is still one to go back to.
#[test]
fn uncaptured_message_can_be_gone_back_to() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.message("m1");
    without_snapshots(&mut world, |world| {
        let message = ckpt_schema::Event {
            message_id: Some("m2".to_owned()),
            ..world.event(ckpt_schema::EventKind::UserMessage, "s1")
        };
        world
            .store
            .record(&message)
            .expect_err("there is nothing to capture into");
    });
    world.step(|world| world.write("a", "2\n"));
    let report = world.revert("m2");
    assert_eq!(
        report.outcome,
        Outcome::Restored,
        "its step was recorded from start to finish"
    );
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("could not be captured")),
        "what was there just before it is known only from around it: {:?}",
        report.notes
    );
    assert_eq!(world.read("a"), "1\n", "undone");
}

/// Makes the last operation one that a crash left, written down and not begun.
fn as_if_not_begun(world: &World) {
    let path = world.base().join("store/sessions.db");
    let connection = rusqlite::Connection::open(path).expect("the session store");
    connection
        .execute_batch(
            "UPDATE operations SET state = 'open', outcome = NULL WHERE seq = (SELECT max(seq) FROM operations);
             UPDATE operation_files SET result = 'planned'
              WHERE action <> 'none' AND operation_id = (SELECT id FROM operations ORDER BY seq DESC LIMIT 1);",
        )
        .expect("writable");
}

/// A command that fails after it finished an interrupted operation says what it did.
///
/// Invariant `truth/error-after-changes`.
#[test]
fn failing_command_reports_what_it_finished() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.turn("m1", |world| world.write("a", "2\n"));
    world.revert("m1");
    as_if_not_begun(&world);
    world.write("a", "2\n");
    let error = world
        .try_revert(&to("no-such-message"))
        .expect_err("it is unknown");
    assert_eq!(world.read("a"), "1\n", "the interrupted one was finished");
    assert!(
        error
            .notes()
            .iter()
            .any(|note| note.contains("finished the revert")),
        "which is reported: {:?}",
        error.notes()
    );
    let failed = ckpt_store::Error::failed("it").after(["something was done".to_owned()]);
    assert_eq!(
        failed.kind,
        ErrorKind::Unfinished,
        "not \"failed and nothing changed\""
    );
    assert_eq!(
        ckpt_store::Error::failed("it").after([]).kind,
        ErrorKind::Failed,
        "but for nothing"
    );
}

/// An error after the files went back leaves the operation open and the report a partial one.
///
/// Invariant `truth/error-after-changes`: If an error says that nothing was changed, nothing
/// was; work that is left after the files is reported.
#[test]
fn error_after_the_files_is_a_partial_report() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.turn("m1", |world| world.write("a", "2\n"));
    // Somebody takes the database when the files are moved, and keeps it.
    let path = world.base().join("store/sessions.db");
    let connection = rusqlite::Connection::open(path).expect("the session store");
    let connection = std::sync::Mutex::new(connection);
    world.store.watch(Some(Box::new(move |progress| {
        if matches!(progress, OperationProgress::Applying { .. }) {
            let connection = connection.lock().expect("nobody panics with it");
            if connection.is_autocommit() {
                connection
                    .execute_batch("BEGIN IMMEDIATE")
                    .expect("it is free");
            }
        }
    })));
    let report = world.revert("m1");
    world.store.watch(None);
    assert_eq!(world.read("a"), "1\n", "it went back");
    assert_eq!(report.outcome, Outcome::Partial, "exit code 3: {report:?}");
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("the next command or message finishes it")),
        "what remains to be done is reported: {:?}",
        report.notes
    );
    assert_eq!(report.files[0].result, FileResult::Done, "{report:?}");
    world.snapshot();
    assert!(world.status().interrupted.is_empty(), "and is done then");
    assert_eq!(world.unrevert().outcome, Outcome::Restored, "as ever");
    assert_eq!(world.read("a"), "2\n", "and back");
}

/// What no snapshot holds is named again at revert.
#[test]
fn unstored_is_named_again_at_revert() {
    let mut world = World::with(ckpt_store::Settings {
        max_file_size: 10,
        ..ckpt_store::Settings::default()
    });
    world.write("large", "more than ten bytes\n");
    world.turn("m1", |world| {
        world.write("large", "more than ten bytes, and changed\n");
        world.write(".GIT/config", "x\n");
        world.write("a", "new\n");
    });
    let report = world.revert("m1");
    assert!(!world.exists("a"), "what was captured is undone");
    assert_eq!(
        world.read("large"),
        "more than ten bytes, and changed\n",
        "the rest is left alone"
    );
    let line = report
        .files
        .iter()
        .find(|file| file.path.path == "large")
        .expect("it changed, so it has a line");
    assert_eq!(
        line.result,
        FileResult::Gap,
        "which says that it cannot be put back: {line:?}"
    );
    assert!(
        report.notes.iter().any(|note| note.contains("`.GIT`")),
        "and a note names the rest: {:?}",
        report.notes
    );
}

/// A file that is named with its result is not named twice.
#[test]
fn named_result_is_not_named_twice() {
    let mut world = World::with(ckpt_store::Settings {
        max_file_size: 10,
        ..ckpt_store::Settings::default()
    });
    world.turn("m1", |world| world.write("large", "more than ten bytes\n"));
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Partial, "it was made, and stays");
    assert!(
        report.notes.is_empty(),
        "its own line says why: {:?}",
        report.notes
    );
}

/// A file that was too large before and after is named and left alone.
#[test]
fn always_too_large_file_is_left_alone() {
    let mut world = World::with(ckpt_store::Settings {
        max_file_size: 1000,
        ..ckpt_store::Settings::default()
    });
    world.write("large", vec![b'x'; 5000]);
    world.write("a", "1\n");
    world.turn("m1", |world| {
        world.write("large", vec![b'y'; 6000]);
        world.write("a", "2\n");
    });
    let report = world.revert("m1");
    assert_eq!(
        world.read("large"),
        "y".repeat(6000),
        "nobody stored what it was"
    );
    assert_eq!(
        report.outcome,
        Outcome::Partial,
        "and nobody says that all is back: {report:?}"
    );
    assert!(
        report.files.iter().any(|file| file.path.path == "large"),
        "it has a line of its own"
    );
}

/// Invariant `truth/named-with-reason`.
#[test]
fn permissions_of_directories_that_stay_are_named() {
    let mut world = World::new();
    world.write("d/a", "0\n");
    world.write("e/b", "0\n");
    world.turn("m1", |world| {
        world.write("d/a", "1\n");
        world.chmod("d", 0o700);
    });
    world.chmod("e", 0o700);
    let report = world.revert("m1");
    let note = "the permissions of existing directories stay: `d` had 755, now has 700, `e` had 755, now has 700";
    assert_eq!(
        (world.read("d/a").as_str(), world.mode("d")),
        ("0\n", 0o700),
        "the file goes back"
    );
    assert_eq!(report.notes, [note], "the rest is said");
    assert_eq!(world.revert("m1").notes, [note], "each time");
    world.chmod("e", 0o755);
    assert_eq!(
        world.unrevert().notes,
        [""; 0],
        "nothing is asked of it on the way forward"
    );
    let message = world.log().messages[0].id.clone();
    assert_eq!(
        world.restore(&message, &["e"]).notes,
        [""; 0],
        "`e` is as it was"
    );
    let notes = world.restore(&message, &["d"]).notes;
    assert_eq!(
        notes,
        ["the permissions of existing directories stay: `d` had 755, now has 700"]
    );
}
