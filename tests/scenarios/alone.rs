//! `revert ID --alone`: one message is undone while later ones stay, three-way like everything.

use ckpt_schema::report::{FileAction, FileResult, OperationReport, Outcome};
use ckpt_store::RevertRequest;
use ckpt_store::query::LogFilter;

use testing::scenario::{World, to};

const LINES: &str = "a\nb\nc\nd\ne\nf\ng\n";

fn alone(world: &mut World, message: &str) -> OperationReport {
    let request = RevertRequest {
        alone: true,
        ..to(message)
    };
    world.try_revert(&request).expect("it can be undone")
}

/// Says which messages the log calls undone alone, oldest first.
fn undone(world: &mut World) -> Vec<String> {
    let log = world
        .store
        .log(&world.cwd, &LogFilter::default())
        .expect("a log");
    let mut undone: Vec<String> = log
        .messages
        .into_iter()
        .filter(|message| message.undone_alone)
        .filter_map(|message| message.agent_id)
        .collect();
    undone.reverse();
    undone
}

/// `m1` changes the first line of `f` and adds `one`, `m2` the last line and adds `two`.
fn two_messages() -> World {
    let mut world = World::git(&[("f", LINES)]);
    world.turn("m1", |world| {
        world.write("f", LINES.replace('a', "A"));
        world.write("one", "1\n");
    });
    world.turn("m2", |world| {
        world.write("f", LINES.replace('a', "A").replace('g', "G"));
        world.write("two", "2\n");
    });
    world
}

/// What a later message did to other lines stays.
#[test]
fn later_messages_other_lines_stay() {
    let mut world = two_messages();
    let report = alone(&mut world, "m1");
    assert_eq!(report.outcome, Outcome::Restored, "{report:?}");
    assert_eq!(world.read("f"), LINES.replace('g', "G"), "merged");
    assert!(!world.exists("one"), "its file is gone");
    assert_eq!(world.read("two"), "2\n", "the later one's stays");
    assert_eq!(
        (report.message, report.messages_hidden.len()),
        (None, 0),
        "no message is hidden"
    );
    assert!(report.alone.is_some() && report.receipt.is_none(), "told");
    assert_eq!(undone(&mut world), ["m1"], "the log names it");
    let report = world.unrevert();
    assert_eq!(report.outcome, Outcome::Restored, "{report:?}");
    assert_eq!(
        (world.read("f"), world.read("one")),
        (LINES.replace('a', "A").replace('g', "G"), "1\n".to_owned()),
        "all is back"
    );
    assert_eq!(undone(&mut world), [""; 0], "nothing is undone any more");
}

/// The same lines of a later message are a conflict that names it.
#[test]
fn later_messages_same_lines_are_a_conflict() {
    let mut world = World::git(&[("f", LINES)]);
    world.turn("m1", |world| world.write("f", LINES.replace('a', "A")));
    world.turn("m2", |world| world.write("f", LINES.replace('a', "AA")));
    let report = alone(&mut world, "m1");
    assert_eq!(world.read("f"), LINES.replace('a', "AA"), "nothing is lost");
    assert_eq!(report.outcome, Outcome::Partial, "{report:?}");
    let [file] = &report.files[..] else {
        panic!("one file: {report:?}")
    };
    assert_eq!(file.result, FileResult::Conflict, "{file:?}");
    let reason = file.reason.as_deref().unwrap_or_default();
    assert!(
        reason.ends_with("same lines since by this session"),
        "it says who: {reason}"
    );
    let is_named = matches!(&file.by[..], [by] if by.step.is_some());
    assert!(is_named, "programs have the step: {file:?}");
}

/// A file that a later message deleted stays deleted.
#[test]
fn file_deleted_by_a_later_message_stays_deleted() {
    let mut world = World::git(&[("f", LINES)]);
    world.turn("m1", |world| world.write("f", LINES.replace('a', "A")));
    world.turn("m2", |world| world.remove("f"));
    let report = alone(&mut world, "m1");
    assert!(!world.exists("f"), "the later message stays: {report:?}");
    world.unrevert();
    assert!(!world.exists("f"), "there was nothing to bring back");
}

/// A file that it made and a later message edited is kept and named.
#[test]
fn its_file_edited_later_is_kept() {
    let mut world = World::git(&[("f", LINES)]);
    world.turn("m1", |world| world.write("new", "1\n"));
    world.turn("m2", |world| world.write("new", "1\n2\n"));
    let report = alone(&mut world, "m1");
    assert_eq!(world.read("new"), "1\n2\n", "not half of it");
    assert_eq!(report.outcome, Outcome::Partial, "{report:?}");
    assert_eq!(report.files[0].action, FileAction::Keep, "{report:?}");
}

#[test]
fn an_edit_of_the_users_since_stays() {
    let mut world = two_messages();
    world.write(
        "f",
        LINES
            .replace('a', "A")
            .replace('d', "mine")
            .replace('g', "G"),
    );
    alone(&mut world, "m1");
    assert_eq!(
        world.read("f"),
        LINES.replace('d', "mine").replace('g', "G"),
        "theirs and the later message's"
    );
}

/// One alone and then all from an earlier one go back and forth.
#[test]
fn one_then_all_go_back_and_forth() {
    let mut world = two_messages();
    world.turn("m3", |world| world.write("three", "3\n"));
    alone(&mut world, "m1");
    world.revert("m2");
    assert_eq!(world.read("f"), LINES, "both are undone");
    assert!(!world.exists("one") && !world.exists("two") && !world.exists("three"));
    assert_eq!(undone(&mut world), ["m1"], "still");
    world.redo();
    assert_eq!(world.read("f"), LINES.replace('g', "G"), "the second again");
    assert!(!world.exists("one") && world.exists("two") && !world.exists("three"));
    let report = world.unrevert();
    assert_eq!(report.outcome, Outcome::Restored, "{report:?}");
    assert_eq!(world.read("f"), LINES.replace('a', "A").replace('g', "G"));
    assert!(world.exists("one") && world.exists("two") && world.exists("three"));
}

#[test]
fn several_can_be_undone_alone() {
    let mut world = two_messages();
    world.turn("m3", |world| world.write("three", "3\n"));
    alone(&mut world, "m1");
    alone(&mut world, "m3");
    assert_eq!(undone(&mut world), ["m1", "m3"]);
    assert_eq!(world.read("f"), LINES.replace('g', "G"));
    assert!(!world.exists("one") && world.exists("two") && !world.exists("three"));
    world.unrevert();
    assert!(world.exists("one") && world.exists("two") && world.exists("three"));
}

/// The next message makes it permanent and only it.
#[test]
fn next_message_makes_only_it_permanent() {
    let mut world = two_messages();
    alone(&mut world, "m1");
    world.turn("m3", |world| world.write("three", "3\n"));
    assert_eq!(undone(&mut world), ["m1"], "it is told for good");
    world.revert("m1");
    assert_eq!(world.read("f"), LINES, "the later ones go back");
    assert!(!world.exists("two") && !world.exists("three"));
    world.unrevert();
    assert_eq!(
        world.read("f"),
        LINES.replace('g', "G"),
        "the first does not come again"
    );
    assert!(!world.exists("one") && world.exists("two") && world.exists("three"));
}

/// One that was put back by a restore is not permanent.
#[test]
fn restored_one_is_not_permanent() {
    let mut world = two_messages();
    let part = alone(&mut world, "m1");
    world.restore(part.operation.as_deref().expect("it did something"), &[]);
    assert!(world.exists("one"), "back");
    world.turn("m3", |world| world.write("three", "3\n"));
    assert_eq!(undone(&mut world), [""; 0], "it is in effect");
    world.revert("m1");
    assert_eq!(world.read("f"), LINES, "and can be undone");
}

#[test]
fn some_paths_of_it_can_be_undone_alone() {
    let mut world = two_messages();
    let request = RevertRequest {
        alone: true,
        only: vec!["one".into()],
        ..to("m1")
    };
    world.try_revert(&request).expect("it changed it");
    assert!(!world.exists("one"), "asked for");
    assert_eq!(world.read("f"), LINES.replace('a', "A").replace('g', "G"));
    assert_eq!(undone(&mut world), [""; 0], "a file is not the message");
}

/// A planned one is carried out by its token.
#[test]
fn planned_one_is_done_by_its_token() {
    let mut world = two_messages();
    let request = RevertRequest {
        alone: true,
        dry_run: true,
        ..to("m1")
    };
    let plan = world.try_revert(&request).expect("a plan");
    assert!(world.exists("one"), "nothing was changed");
    let token = plan.plan.expect("a token");
    let report = world
        .store
        .apply(&token, ckpt_store::Force::No)
        .expect("still so");
    assert_eq!(report.alone, plan.alone, "the same");
    assert!(!world.exists("one") && world.exists("two"), "just that");
}

/// An operation is found by the prompt of the message that it undid alone.
#[test]
fn operation_is_found_by_its_messages_prompt() {
    let mut world = two_messages();
    world.turn("m3", |world| world.write("three", "3\n"));
    world.revert("m3");
    let part = alone(&mut world, "m1");
    let filter = LogFilter {
        grep: Some("please do m1".to_owned()),
        ..LogFilter::default()
    };
    let found = world.store.operations(&world.cwd, &filter);
    let ids: Vec<String> = found
        .expect("a list")
        .operations
        .into_iter()
        .map(|operation| operation.id)
        .collect();
    assert_eq!(
        ids,
        [part.operation.expect("it did something")],
        "the session's revert point is another message"
    );
}

#[test]
fn git_does_not_go_with_one_alone() {
    let mut world = two_messages();
    let request = RevertRequest {
        alone: true,
        git: true,
        ..to("m1")
    };
    let error = world
        .try_revert(&request)
        .expect_err("HEAD is of no message");
    assert!(error.to_string().contains("`--git`"), "{error}");
}

/// `m1` makes a file, `m2` moves it elsewhere: undone alone after `m1`, `m2` has a path at which there is nothing to do.
fn moved_file() -> World {
    let mut world = World::git(&[("f", LINES)]);
    world.turn("m1", |world| {
        world.write("old", "1\n2\n3\n");
        world.write("one", "1\n");
    });
    world.turn("m2", |world| {
        world.write("new", world.read("old"));
        world.remove("old");
    });
    world
}

/// One of which every file was put back is not undone any more.
///
/// Invariant `truth/put-back-parts`: A part of which every file was put back is not called
/// undone any more, and is again once that is taken back.
#[test]
fn one_put_back_whole_is_not_undone() {
    let mut world = moved_file();
    alone(&mut world, "m1");
    let second = alone(&mut world, "m2");
    assert_eq!(undone(&mut world), ["m1", "m2"]);
    assert!(!world.exists("new"), "{second:?}");
    world.restore(second.operation.as_deref().expect("it did something"), &[]);
    assert!(world.exists("new"), "back");
    assert_eq!(
        undone(&mut world),
        ["m1"],
        "a path at which there was nothing to do keeps nothing in force"
    );
    let files = world.status().files;
    assert!(
        files.iter().all(|file| file.path.path != "new"),
        "status lists no file that is back: {files:?}"
    );
}

/// One that was put back and undone once more comes back with unrevert.
///
/// Invariant `truth/put-back-parts`.
#[test]
fn one_undone_once_more_comes_back() {
    let mut world = moved_file();
    let before = world.tree();
    let part = alone(&mut world, "m2");
    let back = world.restore(part.operation.as_deref().expect("it did something"), &[]);
    assert_eq!(undone(&mut world), [""; 0], "it is in effect");
    world.restore(back.operation.as_deref().expect("it did something"), &[]);
    assert_eq!(undone(&mut world), ["m2"], "undone as before");
    assert!(!world.exists("new"), "it went again");
    world.unrevert();
    assert_eq!(world.tree(), before, "nothing is reverted any more");
}
