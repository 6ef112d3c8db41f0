//! What a snapshot saw and does not store: what of it went, came or changed is named for the state that had it.

use ckpt_schema::report::{NoteCode, OperationReport, Outcome};
use ckpt_store::RevertRequest;
use testing::clock::await_tick;
use testing::scenario::{World, set_clock_from_files, to};

use super::other_systems::{DIRECTORIES, FILES, SQLITE};

fn about(report: &OperationReport, code: NoteCode) -> Vec<&str> {
    let notes = report.remarks.iter().filter(|note| note.code == code);
    notes
        .flat_map(|note| &note.about)
        .map(String::as_str)
        .collect()
}

fn pipe(world: &World, path: &str) {
    let mode = rustix::fs::Mode::RWXU;
    rustix::fs::mkfifoat(rustix::fs::CWD, world.path(path), mode).expect("writable");
}

/// A pipe is named for the state that had it.
#[test]
fn pipe_is_named_for_the_state_with_it() {
    set_clock_from_files(0);
    let mut world = World::git(&[("a", "1\n")]);
    world.turn("m1", |world| pipe(world, "p"));
    world.turn("m2", |world| world.remove("p"));
    let report = world.revert("m1");
    assert_eq!(
        about(&report, NoteCode::NotCaptured),
        [""; 0],
        "{report:#?}"
    );
    let report = world.revert("m2");
    assert_eq!(about(&report, NoteCode::NotCaptured), ["p"], "{report:#?}");
    assert_eq!(report.outcome, Outcome::Partial);
}

/// What a step made and no snapshot can hold stays, because nothing could bring it back.
#[test]
fn pipe_that_a_step_made_is_partial() {
    set_clock_from_files(0);
    let mut world = World::git(&[("a", "1\n")]);
    pipe(&world, "mine");
    world.turn("m1", |world| {
        pipe(world, "p");
        let socket = world.path("s");
        std::os::unix::net::UnixListener::bind(socket).expect("writable");
    });
    world.turn("m2", |world| world.write("a", "2\n"));
    let alone = RevertRequest {
        alone: true,
        ..to("m1")
    };
    let report = world.try_revert(&alone).expect("it can be undone");
    assert_eq!(about(&report, NoteCode::NotCaptured), ["p", "s"]);
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
    let report = world.revert("m2");
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
    for what in ["at first", "again"] {
        let report = world.revert("m1");
        assert_eq!(about(&report, NoteCode::NotCaptured), ["mine", "p", "s"]);
        assert_eq!(report.outcome, Outcome::Partial, "{what}: {report:#?}");
    }
    let report = world.unrevert();
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
}

#[test]
fn what_git_clean_removed_is_named_and_partial() {
    set_clock_from_files(0);
    let mut world = World::git(&[(".gitignore", "out/\n*.log\n")]);
    world.write("out/u", "mine\n");
    world.write("x.log", "mine\n");
    world.turn("m1", |world| {
        world.run_git(&["clean", "-qfdx"]);
    });
    let report = world.revert("m1");
    assert_eq!(about(&report, NoteCode::IgnoredRemoved), ["out", "x.log"]);
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
}

/// A file or a link in the place of an ignored folder goes, and so is what was in the folder.
#[test]
fn replaced_ignored_folder_is_named() {
    set_clock_from_files(0);
    for link in [false, true] {
        let mut world = World::git(&[(".gitignore", "out/\n*.log\n"), ("a", "1\n")]);
        world.write("out/u", "mine\n");
        world.write("d/x.log", "mine\n");
        world.turn("m1", |world| {
            world.remove("out/u");
            std::fs::remove_dir(world.path("out")).expect("empty");
            std::fs::rename(world.path("d"), world.path("e")).expect("writable");
            match link {
                true => world.link("out", "a"),
                false => world.write("out", "f\n"),
            }
            world.link("d", "e");
        });
        let report = world.revert("m1");
        let gone = about(&report, NoteCode::IgnoredRemoved);
        assert_eq!(gone, ["d/x.log", "out"], "{report:#?}");
        assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
    }
}

/// Files that a rule hid and a step overwrote are partial.
///
/// Where a step takes a rule away and writes where it hid something, the state before had other bytes, or none.
#[test]
fn overwriting_files_hidden_by_a_rule_is_partial() {
    set_clock_from_files(0);
    let mut world = World::git(&[(".gitignore", "out/\n"), ("a", "1\n")]);
    world.write("out/same", "mine\n");
    world.write("out/u", "mine\n");
    await_tick();
    world.message("m1");
    world.step(|world| {
        await_tick();
        world.remove(".gitignore");
        world.write("out/u", "agent\n");
        world.write("out/new", "agent\n");
    });
    let report = world.revert("m1");
    assert_eq!(
        about(&report, NoteCode::IgnoredChanged),
        ["out/new", "out/u"],
        "{report:#?}"
    );
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
}

/// An ignored folder that became a file is the agent's.
#[test]
fn ignored_folder_that_became_a_file_is_attributed() {
    set_clock_from_files(0);
    for rule in ["out\n", "out/\n"] {
        let mut world = World::git(&[(".gitignore", rule), ("a", "1\n")]);
        world.write("out/u", "mine\n");
        world.turn("m1", |world| {
            world.remove(".gitignore");
            world.remove_tree("out");
            world.write("out", "a file\n");
        });
        world.revert("m1");
        assert!(!world.exists("out"), "{rule:?}: it was no file then");
        world.unrevert();
        assert_eq!(world.read("out"), "a file\n", "{rule:?}");
    }
}

/// The file is in no snapshot of that state: a rule hid it by then.
#[test]
fn hidden_file_that_became_a_folder_is_partial() {
    set_clock_from_files(0);
    let mut world = World::git(&[("a", "1\n")]);
    world.turn("m1", |world| world.write("b", "one\n"));
    world.turn("m2", |world| world.write(".gitignore", "b\n"));
    world.message("m3");
    world.step(|world| {
        await_tick();
        world.remove("b");
        world.write("b/x", "agent\n");
    });
    let report = world.revert("m3");
    assert_eq!(about(&report, NoteCode::IgnoredChanged), ["b/", "b/x"]);
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
}

#[test]
fn what_came_into_view_unchanged_is_nothing() {
    set_clock_from_files(0);
    let mut world = World::git(&[(".gitignore", "out/\n"), ("a", "1\n")]);
    world.write("out/u", "mine\n");
    await_tick();
    world.message("m1");
    await_tick();
    world.step(|world| world.remove(".gitignore"));
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
    assert_eq!(world.read("out/u"), "mine\n");
}

/// Metadata that a step removed at the root is named.
#[test]
fn metadata_removed_at_the_root_is_named() {
    set_clock_from_files(0);
    for path in DIRECTORIES.into_iter().chain(FILES) {
        let name = path.split('/').next().expect("a name");
        let is_file = name == path;
        let mut world = World::new();
        world.write("a", "1\n");
        world.write(path, format!("{SQLITE}1"));
        world.turn("m1", |world| {
            match is_file {
                true => world.remove(name),
                false => world.remove_tree(name),
            }
            world.write("a", "2\n");
        });
        let report = world.revert("m1");
        assert_eq!(about(&report, NoteCode::RepositoryRemoved), [name]);
        assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
        assert_eq!(world.read("a"), "1\n");
    }
}

/// A file that came where a later rule hid it goes.
#[test]
fn new_file_hidden_by_a_later_rule_goes() {
    set_clock_from_files(0);
    let mut world = World::git(&[("a", "1\n")]);
    world.turn("m1", |world| world.write(".gitignore", "*.log\n"));
    world.turn("m2", |world| world.write("x.log", "agent\n"));
    world.turn("m3", |world| world.remove(".gitignore"));
    let report = world.revert("m1");
    assert!(!world.exists("x.log"), "{report:#?}");
    world.unrevert();
    assert_eq!(world.read("x.log"), "agent\n");
}

/// A name after those that are kept did not come.
///
/// The 65th ignored name of a directory is not kept, so that it came into the list says nothing.
#[test]
fn name_over_the_limit_did_not_come() {
    set_clock_from_files(0);
    let mut world = World::git(&[(".gitignore", "*.o\n")]);
    (0..70).for_each(|number| world.write(format!("{number:02}.o"), "x\n"));
    world.turn("m1", |world| world.remove("03.o"));
    let report = world.revert("m1");
    assert_eq!(
        about(&report, NoteCode::IgnoredMade),
        [""; 0],
        "{report:#?}"
    );
    assert_eq!(about(&report, NoteCode::IgnoredRemoved), ["03.o"]);
}

/// Tracked files of a linked `.git` are captured.
///
/// Git follows such a link, so what it tracks there is tracked.
#[test]
fn linked_dot_git_has_its_tracked_files_captured() {
    set_clock_from_files(0);
    let mut world = World::git(&[(".gitignore", "*.log\n"), ("x.log", "1\n")]);
    world.run_git(&["add", "-f", "x.log"]);
    let elsewhere = world.base().join("elsewhere.git");
    std::fs::rename(world.path(".git"), &elsewhere).expect("writable");
    world.link(".git", &elsewhere);
    world.turn("m1", |world| world.write("x.log", "2\n"));
    world.revert("m1");
    assert_eq!(world.read("x.log"), "1\n");
}
