//! How many files a message changed: `log` and `show` say the same.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ckpt_schema::report::{ChangeReport, MessageReport, Notification, ShowReport};
use ckpt_store::query::{ChangeDetail, ListedKind};

use rusqlite::Connection;
use testing::scenario::World;

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

/// Returns how many files `log` and `show` count, and the lines that `log` counts.
#[track_caller]
fn counted(world: &mut World, message: &str) -> (u64, u64, u64) {
    let log = world.log();
    let is_it = |id: &Option<String>| id.as_deref() == Some(message);
    let listed = log.messages.iter().find(|listed| is_it(&listed.agent_id));
    let listed = listed.expect("it is listed").clone();
    let report = world.store.show(&world.cwd, message).expect("it is shown");
    let ShowReport::Message {
        message: head,
        changes,
        steps,
        ..
    } = report
    else {
        panic!("a message");
    };
    let without_lines = |message: &MessageReport| MessageReport {
        additions: 0,
        deletions: 0,
        ..message.clone()
    };
    assert_eq!(
        without_lines(&head),
        without_lines(&listed),
        "both describe it alike"
    );
    let files: BTreeSet<_> = changes
        .iter()
        .filter(|change| change.renamed_to.is_none())
        .map(|change| &change.path)
        .collect();
    assert_eq!(
        listed.files + listed.unclear,
        files.len() as u64,
        "log counts what show lists: {changes:?}"
    );
    assert_eq!(
        in_a_list(world, &listed.id, ChangeDetail::Whole),
        changes,
        "a list shows of it what `show` does"
    );
    if let [step] = &steps[..] {
        assert_eq!(
            step.files, changes,
            "its only step did the same, renames included"
        );
    }
    let names = |changes: &[ChangeReport]| -> Vec<_> {
        let names = changes.iter().map(|change| {
            let renamed_from = change.renamed_from.as_ref();
            let old = renamed_from.map(|rename| rename.path.clone());
            (change.path.clone(), old, change.renamed_to.clone())
        });
        names.collect()
    };
    assert_eq!(
        names(&in_a_list(world, &listed.id, ChangeDetail::Names)),
        names(&changes),
        "and so does a list of names alone"
    );
    (listed.files, listed.additions, listed.deletions)
}

/// Returns what a list shows of a message between two others.
fn in_a_list(world: &mut World, id: &str, detail: ChangeDetail) -> Vec<ChangeReport> {
    let ids = ["no such message", id, id];
    let listed = (ListedKind::Messages, &ids[..]);
    let listed = world.store.changes_of(&world.cwd, listed, detail);
    let listed = listed.expect("a list");
    let [none, one, again] = &listed[..] else {
        panic!("one of each: {listed:?}");
    };
    assert_eq!((none.len(), one), (0, again), "each has its own");
    one.clone()
}

/// Moves a file.
fn rename(world: &World, from: &str, to: &str) {
    world.write(to, world.read(from));
    world.remove(from);
}

/// Log and show count a renamed file once edited or not.
///
/// Invariant `truth/counts`: `log` and `show` count the same files: a renamed one once, and
/// none that a message made and took away again.
#[test]
fn log_and_show_count_renames_once() {
    let mut world = World::git(&[("a", TEN), ("b", &TEN.replace('\n', "!\n"))]);
    world.turn("moved", |world| rename(world, "a", "new/a"));
    assert_eq!(counted(&mut world, "moved"), (1, 0, 0), "the same bytes");
    world.turn("edited", |world| {
        rename(world, "b", "new/b");
        world.write("new/b", world.read("new/b") + "more\n");
        world.write("c", "c\n");
    });
    assert_eq!(counted(&mut world, "edited"), (2, 2, 0), "and another file");
    let feed = world.store.feed(Some(&world.cwd), 0).expect("a feed");
    let mut steps = feed
        .notifications
        .into_iter()
        .filter_map(|told| match told {
            Notification::Step { step, .. } => Some(step.files),
            _ => None,
        });
    assert_eq!(
        steps.next_back(),
        Some(2),
        "whoever is told of the step is told the same"
    );
}

/// Log and show count no file that a message made and took away again.
///
/// Invariant `truth/counts`.
#[test]
fn log_and_show_skip_made_and_removed_files() {
    let mut world = World::git(&[("a", TEN)]);
    world.message("m");
    world.step(|world| {
        world.write("scratch", "1\n");
        world.write("a", "edited\n");
    });
    world.step(|world| {
        world.remove("scratch");
        world.write("a", TEN);
        world.write("b", "b\n");
    });
    assert_eq!(counted(&mut world, "m").0, 1, "one is left");
}

/// Log and show count a file once that went in one step and came elsewhere in the next.
///
/// Invariant `truth/counts`.
#[test]
fn log_and_show_count_moved_files_once() {
    let mut world = World::git(&[("a", TEN)]);
    world.message("m");
    world.step(|world| world.write("b", TEN.to_owned() + "11\n"));
    world.step(|world| world.remove("a"));
    assert_eq!(counted(&mut world, "m"), (1, 1, 0), "a became b");
}

/// Returns how many files the view for SQL counts, which sees no contents. The view of steps counts those of an only step
/// alike.
fn in_the_view(world: &mut World, message: &str) -> u64 {
    world.store.add_views();
    let path = world.base().join("store/sessions.db");
    let files = files_in(
        &path,
        "SELECT files FROM message_overview WHERE agent_message = ?1",
        message,
    );
    let of_step = "SELECT iif(steps = 1, (SELECT files FROM step_overview WHERE message = message_overview.message), files)
                     FROM message_overview WHERE agent_message = ?1";
    assert_eq!(
        files_in(&path, of_step, message),
        files,
        "{message}: its only step"
    );
    files
}

fn files_in(path: &Path, sql: &str, message: &str) -> u64 {
    let connection = Connection::open(path).expect("a store");
    let files = connection.query_row(sql, [message], |row| row.get::<_, i64>(0));
    files.expect("a message").unsigned_abs()
}

/// The view counts the files that log counts except where only contents tell.
///
/// Invariant `truth/counts`.
#[test]
fn view_counts_the_files_of_log() {
    let mut world = World::git(&[
        ("a", TEN),
        ("b", "b\n"),
        ("c", "b\n"),
        ("empty", ""),
        ("back", "1\n"),
        ("kept", "1\n"),
    ]);
    world.turn("moved", |world| rename(world, "a", "new/a"));
    world.turn("two of one content", |world| {
        rename(world, "b", "new/b");
        world.remove("c");
        world.write("kept", "2\n");
    });
    world.turn("empty", |world| rename(world, "empty", "new/empty"));
    world.turn("copied", |world| {
        world.write("one more", world.read("new/a"));
        rename(world, "new/a", "a");
    });
    world.message("in steps");
    world.step(|world| {
        world.write("scratch", "s\n");
        world.write("back", "2\n");
        world.write("kept", "3\n");
        world.write("b", world.read("new/b"));
    });
    world.step(|world| {
        world.remove("scratch");
        world.remove("new/b");
        world.write("back", "1\n");
        world.write("kept", "4\n");
    });
    for (message, files) in [
        ("moved", 1),
        ("two of one content", 3),
        ("empty", 2),
        ("copied", 2),
        ("in steps", 2),
    ] {
        assert_eq!(counted(&mut world, message).0, files, "{message}");
        assert_eq!(in_the_view(&mut world, message), files, "{message}");
    }
    world.turn("edited", |world| {
        rename(world, "a", "edited");
        world.write("edited", TEN.to_owned() + "11\n");
    });
    assert_eq!(counted(&mut world, "edited").0, 1, "log reads contents");
    assert_eq!(in_the_view(&mut world, "edited"), 2, "SQL does not");
    world.assert_totals();
    let kept = files_in(
        &world.base().join("store/sessions.db"),
        "SELECT files FROM message_overview WHERE agent_message = ?1",
        "edited",
    );
    assert_eq!(kept, 1, "but it knows what is kept of a message");
    assert_eq!(in_the_view(&mut world, "edited"), 1, "and of its step");
    assert_eq!(
        in_the_view(&mut world, "in steps"),
        2,
        "and of others as well"
    );
}

/// The view of steps counts a file once that one of several renamed and edited.
#[test]
fn view_of_steps_counts_renames_once() {
    let mut world = World::git(&[("a", TEN), ("b", "b\n")]);
    world.message("m");
    world.step(|world| {
        rename(world, "a", "c");
        world.write("c", TEN.to_owned() + "11\n");
    });
    world.step(|world| {
        world.remove("b");
        world.write("d", "d\n");
    });
    world.store.add_views();
    let steps = |world: &World| {
        let database = world.base().join("store/sessions.db");
        let sql = "SELECT CAST(files AS TEXT) FROM step_overview ORDER BY seq";
        testing::rows::texts(&database, sql)
    };
    assert_eq!(steps(&world), ["2", "2"], "rows do not tell");
    world.settle();
    assert_eq!(steps(&world), ["1", "2"], "contents were asked for");
    world.step(|world| world.write("d", "e\n"));
    assert_eq!(
        steps(&world)[..2],
        ["2", "2"],
        "what is kept is out of date"
    );
    world.settle();
    assert_eq!(steps(&world), ["1", "2", "1"], "and kept anew");
    let database = world.base().join("store/sessions.db");
    testing::rows::execute(&database, "UPDATE steps SET file_count = 9");
    let found = world.store.check(Some(ckpt_store::CHECK_TIME));
    assert!(
        found
            .iter()
            .any(|finding| finding.message.contains("did not match")),
        "{found:#?}"
    );
    world.settle();
    assert_eq!(steps(&world), ["1", "2", "1"], "doctor took them away");
}

/// An empty file that went is not where another came from.
///
/// Invariant `truth/counts`.
#[test]
fn empty_file_is_no_renames_origin() {
    let mut world = World::git(&[("empty", ""), ("a", TEN)]);
    world.turn("m", |world| {
        rename(world, "empty", "another");
        rename(world, "a", "b");
    });
    world.store.add_views();
    let database = world.base().join("store/sessions.db");
    let renamed = testing::rows::texts(
        &database,
        "SELECT renamed_from || ' ' || path FROM file_history WHERE renamed_from IS NOT NULL",
    );
    assert_eq!(renamed, ["a b"], "empty files have nothing in common");
}

/// Show counts the lines of the patch that it prints however often steps rewrote them.
///
/// Invariant `truth/counts`.
#[test]
fn show_counts_the_lines_of_its_patch() {
    let mut world = World::git(&[("a", TEN), ("b", TEN)]);
    world.message("m");
    world.step(|world| {
        world.write("a", TEN.replace("1\n2\n", "one\ntwo\n"));
        world.write("scratch", "1\n2\n");
    });
    world.step(|world| {
        world.write("a", TEN.replace("1\n2\n", "ONE\nTWO\n"));
        rename(world, "b", "c");
        world.write("c", world.read("c") + "11\n");
        world.remove("scratch");
    });
    let (_, additions, deletions) = counted(&mut world, "m");
    assert_eq!(
        (additions, deletions),
        (7, 6),
        "log adds up what each step did"
    );
    let ShowReport::Message { message, .. } = world.store.show(&world.cwd, "m").expect("shown")
    else {
        panic!("a message");
    };
    assert_eq!(
        (message.additions, message.deletions),
        (3, 2),
        "two lines of `a` were rewritten, and one came to what was `b`"
    );
}

/// Log counts what differs where the contents are gone.
///
/// Invariant `truth/counts`.
#[test]
fn log_counts_differences_without_contents() {
    let mut world = World::git(&[("a", TEN)]);
    world.turn("m", |world| {
        rename(world, "a", "b");
        world.write("b", world.read("b") + "more\n");
    });
    let folders = fs::read_dir(world.base().join("store/snapshots")).expect("there");
    for folder in folders {
        let objects = folder
            .expect("readable")
            .path()
            .join("repository.git/objects");
        fs::rename(&objects, objects.with_extension("away")).expect("ours");
    }
    let log = world.log();
    assert_eq!(
        log.messages[0].files, 2,
        "nobody can tell that they are one"
    );
}

/// What is kept of a message is what its changes give whatever comes later.
///
/// Invariant `truth/counts-kept`: What is kept of a message for `log` is what its changes give;
/// whoever writes one of them takes it away in the same transaction.
#[test]
fn kept_totals_are_those_of_changes() {
    let mut world = World::git(&[("a", TEN), ("b", "b\n")]);
    world.message("first");
    world.assert_totals();
    world.step(|world| world.write("a", "1\n"));
    world.assert_totals();
    world.start();
    world.assert_totals();
    world.write("c", "c\n");
    world.tool_start_in("s", "t", &[]);
    world.write("d", "d\n");
    world.assert_totals();
    // Another session looks, and says whose change it is.
    world.message_in("other", "beside");
    world.assert_totals();
    world.tool_finish_in("s", "t");
    world.finish();
    world.assert_totals();
    world.turn("second", |world| rename(world, "b", "new/b"));
    world.assert_totals();
    world.revert("second");
    world.assert_totals();
    // What was reverted is undone for good.
    world.message("third");
    world.assert_totals();
    world.step(|world| world.write("secret", "s\n"));
    world.step(|world| world.remove("secret"));
    world.assert_totals();
    let cwd = world.cwd.clone();
    for message in ["other", "s"] {
        world.finish_in(message);
    }
    let secret = ckpt_store::Forget::Path("secret".to_owned());
    world
        .store
        .forget(&cwd, &secret, ckpt_store::DryRun::No)
        .expect("it is ours");
    world.assert_totals();
}

/// What is kept and does not fit the changes is found by doctor and added up anew.
///
/// Invariant `truth/counts-kept`.
#[test]
fn wrong_totals_are_found_by_doctor() {
    let mut world = World::git(&[("a", TEN)]);
    world.turn("m", |world| world.write("a", "1\n"));
    world.settle();
    let right = world.log();
    let database = world.base().join("store/sessions.db");
    testing::rows::execute(&database, "UPDATE messages SET totals = '9 9 9 9 9 9 1 0'");
    assert_eq!(world.log().messages[0].files, 9, "it is believed");
    let found = world.store.check(Some(ckpt_store::CHECK_TIME));
    let named = found
        .iter()
        .find(|finding| finding.message.contains("did not match"));
    assert!(named.is_some_and(|finding| finding.repaired), "{found:#?}");
    assert_eq!(world.log(), right, "it is added up");
    let again = world.store.check(Some(ckpt_store::CHECK_TIME));
    assert!(
        !again
            .iter()
            .any(|finding| finding.message.contains("did not match")),
        "{again:#?}"
    );
}
