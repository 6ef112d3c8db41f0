//! What changed in ignored files and folders while an agent worked stays, and is named.

use ckpt_schema::report::{NoteCode, OperationReport, Outcome};
use ckpt_store::RevertRequest;

use testing::scenario::{World, set_moment, to, wait_ms};

const MINUTE: i64 = 60_000;

fn at(minute: i64) {
    set_moment(1_700_000_000_000 + minute * MINUTE);
}

/// A workspace with ignored files and folders.
fn with_ignored() -> World {
    at(0);
    let world = World::new();
    world.write(".gitignore", "*.log\n/dist/\n/packages/\n/cache/\n");
    world.write("a", "1\n");
    for name in [
        "app.log",
        "user.log",
        "dist/old.js",
        "packages/x/y/z",
        "cache/k/v",
    ] {
        world.write(name, "as it was\n");
    }
    world
}

fn named(report: &OperationReport) -> Vec<&str> {
    let notes = report.remarks.iter();
    let notes = notes.filter(|note| note.code == NoteCode::IgnoredChanged);
    notes
        .flat_map(|note| &note.about)
        .map(String::as_str)
        .collect()
}

/// What changed in ignored files and folders while an agent worked is named.
///
/// Invariant `truth/ignored-changed`: Ignored files and folders in which something changed
/// while a command of the agent may have run are named.
#[test]
fn changed_ignored_files_are_named() {
    let mut world = with_ignored();
    at(1);
    world.turn("m1", |world| {
        at(2);
        world.write("a", "2\n");
        world.write("app.log", "of the agent\n");
        world.write("dist/new.js", "of the agent\n");
        world.remove("packages/x/y/z");
    });
    at(10);
    world.write("user.log", "of the user\n");
    world.write("cache/k/v", "of the user\n");
    let request = RevertRequest {
        dry_run: true,
        ..to("m1")
    };
    let planned = world.try_revert(&request).expect("it can be planned");
    let report = world.revert("m1");
    for report in [&planned, &report] {
        assert_eq!(
            named(report),
            ["app.log", "dist/", "packages/", "dist/new.js"],
            "the file that went has no name any more: {report:#?}"
        );
        let text = "3 ignored paths changed while the agent worked, and stay as they are: \
                    `app.log`, `dist/`, `packages/`";
        assert!(report.notes.iter().any(|note| note == text), "{report:#?}");
    }
    assert_eq!(report.outcome, Outcome::Partial, "`app.log` is another");
    assert_eq!(world.read("app.log"), "of the agent\n", "nobody stored it");
    let report = world.revert("m1");
    assert_eq!(
        named(&report),
        ["app.log", "dist/", "packages/", "dist/new.js"],
        "asked once more"
    );
}

/// A file's time may be that of the kernel's last tick, and so older than the step that wrote it.
///
/// Invariant `truth/ignored-changed`.
#[test]
fn ignored_file_of_the_first_tick_is_named() {
    let mut world = with_ignored();
    at(1);
    world.write("user.log", "of the user\n");
    world.message("m1");
    at(2);
    world.write("app.log", "of the agent, with the time of the last tick\n");
    wait_ms(10);
    world.step(|world| world.write("a", "2\n"));
    at(3);
    let report = world.revert("m1");
    assert_eq!(named(&report), ["app.log"], "{report:#?}");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
}

/// What came while an agent worked is not called changed as well.
///
/// Invariant `truth/ignored-changed`.
#[test]
fn new_ignored_is_not_also_changed() {
    let mut world = with_ignored();
    at(1);
    world.turn("m1", |world| {
        at(2);
        world.write("new.log", "of the agent\n");
    });
    at(3);
    let report = world.revert("m1");
    assert_eq!(named(&report), [""; 0], "{report:#?}");
    let came = report.remarks.iter();
    let came = came.filter(|note| note.code == NoteCode::IgnoredMade);
    assert_eq!(came.count(), 1, "{report:#?}");
}

/// While only files were edited nothing changed in ignored folders.
///
/// Invariant `truth/ignored-changed`.
#[test]
fn edit_tools_change_no_ignored_folders() {
    let mut world = with_ignored();
    at(1);
    world.message("m1");
    world.start();
    world.tool_start_in("s1", "t", &["a", "app.log"]);
    world.write("a", "2\n");
    world.write("app.log", "of the agent\n");
    world.write("cache/k/v", "of the user, who has a command running\n");
    world.tool_finish_in("s1", "t");
    world.finish();
    at(2);
    let report = world.revert("m1");
    assert_eq!(named(&report), [""; 0], "{report:#?}");
    assert_eq!(world.read("app.log"), "as it was\n", "the tool named it");
}

/// A repository that came while rules hid it is named when they are gone.
///
/// Invariant `truth/ignored-changed`.
#[test]
fn repository_hidden_by_rules_is_named_later() {
    let mut world = with_ignored();
    at(1);
    world.turn("m1", |world| {
        at(2);
        world.write("dist/clone/.git/HEAD", "ref: refs/heads/main\n");
    });
    at(3);
    world.write(".gitignore", "*.log\n");
    world.turn("m2", |world| world.write("a", "2\n"));
    at(4);
    let born = world.path("dist/clone").metadata();
    if born.and_then(|found| found.created()).is_err() {
        return testing::skip::skip("a file system that knows when a directory was made");
    }
    let report = world.revert("m1");
    let below = report.remarks.iter();
    let mut below = below.filter(|note| note.code == NoteCode::RepositoriesBelow);
    let below = below.next().expect("it is told of");
    assert_eq!(below.about, ["dist/clone"], "{report:#?}");
}

/// What moved to a place where rules hide it is told to stay however old it is.
///
/// Invariant `truth/ignored-changed`.
#[test]
fn old_file_moved_into_hiding_is_named() {
    at(0);
    let mut world = World::git(&[("src/code", "1\n"), ("a", "1\n")]);
    world.write("src/.gitignore", "*\n");
    at(1);
    world.turn("m1", |world| {
        at(2);
        std::fs::rename(world.path("src"), world.path("moved")).expect("it is free");
        world.write("a", "2\n");
    });
    at(3);
    let report = world.revert("m1");
    assert_eq!(world.read("src/code"), "1\n", "git tracks it");
    let came = report.remarks.iter();
    let came = came.filter(|note| note.code == NoteCode::IgnoredMade);
    let mut about = came.flat_map(|note| &note.about);
    assert!(about.any(|path| path == "moved/code"), "{report:#?}");
}

/// An ignored folder that was removed and made again is named.
///
/// Invariant `truth/ignored-changed`.
#[test]
fn remade_ignored_folder_is_named() {
    for is_filled in [false, true] {
        let mut world = with_ignored();
        at(1);
        world.turn("m1", |world| {
            at(2);
            world.write("a", "2\n");
            world.remove_tree("dist");
            world.make_directory("dist");
            if is_filled {
                world.write("dist/new.js", "of the agent\n");
            }
        });
        at(10);
        let report = world.revert("m1");
        let all = ["dist/", "dist/new.js"];
        let expected = &all[..if is_filled { 2 } else { 1 }];
        assert_eq!(named(&report), expected, "{report:#?}");
        let text = "came since";
        let is_new = report.notes.iter().any(|note| note.contains(text));
        assert!(!is_new, "it was there: {report:#?}");
    }
}

/// That not all ignored names of a large folder are known is said where some came or went.
///
/// Invariant `truth/ignored-changed`.
#[test]
fn incomplete_list_of_ignored_names_is_said() {
    let mut world = with_ignored();
    for number in 100..170 {
        world.write(format!("logs/{number}.log"), "x\n");
        world.write(format!("more/{number}.log"), "x\n");
    }
    world.write("logs/code", "1\n");
    world.write("more/code", "1\n");
    at(1);
    world.turn("m1", |world| {
        at(2);
        world.write("logs/code", "2\n");
    });
    at(3);
    let quiet = world.revert("m1");
    assert_eq!(named(&quiet), [""; 0], "nothing came or went: {quiet:#?}");
    at(4);
    world.turn("m2", |world| {
        at(5);
        world.remove("logs/169.log");
    });
    at(6);
    let report = world.revert("m2");
    assert_eq!(named(&report), ["logs/"], "{report:#?}");
    let text = "of more than 64 ignored names in a folder, only the first are remembered, \
                so which others came or went since is not known: `logs/`";
    assert!(report.notes.iter().any(|note| note == text), "{report:#?}");
}
