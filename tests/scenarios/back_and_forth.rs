//! The way back of a way back: what was at a path at a moment is there again, however the other moves went.

use ckpt_schema::report::{OperationReport, Outcome};
use ckpt_store::{RedoRequest, RevertRequest};
use testing::clock::await_tick;
use testing::scenario::{World, set_clock_from_files, to};

/// A repository with a branch `other` that lacks an ignore rule of this one and tracks what that hides.
fn with_other_rules() -> World {
    let world = World::git(&[("a", "1\n"), (".gitignore", "gen/\n*.o\n")]);
    world.run_git(&["checkout", "-q", "-b", "other"]);
    world.run_git(&["rm", "-q", ".gitignore"]);
    world.write("gen/deep/f", "g\n");
    world.write("x.o", "o\n");
    world.run_git(&["add", "-A"]);
    world.run_git(&["commit", "-q", "-m", "other"]);
    world.run_git(&["checkout", "-q", "main"]);
    assert!(!world.exists("gen"));
    world
}

/// Invariant `truth/ignored-meanwhile`: What came while ignore rules changed and was not there
/// before goes back.
#[test]
fn what_came_with_a_branch_goes_with_it() {
    let mut world = with_other_rules();
    let before = world.tree();
    world.turn("m1", |world| {
        _ = world.run_git(&["checkout", "-q", "other"])
    });
    let after = world.tree();
    // A dry run looks first, and leaves no rows.
    let planned = world.try_revert(&RevertRequest {
        dry_run: true,
        ..to("m1")
    });
    assert_eq!(
        planned.expect("it can be planned").outcome,
        Outcome::Restored
    );
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Restored);
    assert_eq!(world.tree(), before, "{report:?}");
    world.unrevert();
    assert_eq!(world.tree(), after, "and back");
}

/// Invariant `truth/ignored-meanwhile`.
#[test]
fn what_a_rule_hid_before_stays() {
    let mut world = with_other_rules();
    world.write("gen/mine", "an evening\n");
    world.write("y.o", "mine\n");
    let before = world.tree();
    world.turn("m1", |world| {
        _ = world.run_git(&["checkout", "-q", "other"])
    });
    world.revert("m1");
    let mut found = world.tree();
    // In a folder that rules hid, nobody knows what there was: it stays, and is named.
    found.remove(std::path::Path::new("gen/deep"));
    found.remove(std::path::Path::new("gen/deep/f"));
    assert_eq!(found, before);
}

/// Invariant `truth/ignored-meanwhile`.
#[test]
fn what_was_forced_into_view_goes() {
    // The time of a file says whose it is.
    set_clock_from_files(0);
    let mut world = with_other_rules();
    world.turn("m1", |world| {
        // A file's time is that of the last tick, which has to be one of the step.
        let coarse = || rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
        let began = coarse();
        while coarse() == began {
            std::thread::yield_now();
        }
        world.write("out/deep/x.o", "1\n");
        world.write("out/deep/x.c", "1\n");
    });
    let between = world.tree();
    world.turn("m2", |world| _ = world.run_git(&["add", "-f", "out"]));
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Restored, "{report:?}");
    assert!(!world.exists("out"), "{report:?}");
    world.revert("m2");
    assert_eq!(world.tree(), between, "forward");
}

/// `restore` knows, too, that nothing was there.
///
/// Invariant `truth/ignored-meanwhile`.
#[test]
fn a_restore_removes_what_came_while_hidden() {
    let mut world = with_other_rules();
    let before = world.tree();
    let id = world.snapshot();
    world.turn("m1", |world| {
        _ = world.run_git(&["checkout", "-q", "other"])
    });
    let report = world.restore(&id, &[]);
    assert_eq!(world.tree(), before, "{report:?}");
}

/// Invariant `truth/ignored-meanwhile`.
#[test]
fn an_ignored_file_known_to_differ_is_partial() {
    let mut world = with_other_rules();
    world.run_git(&["add", "-f", ".gitignore"]);
    world.write("x.o", "tracked\n");
    world.run_git(&["add", "-f", "x.o"]);
    world.turn("m1", |world| {
        world.run_git(&["rm", "-q", "--cached", "x.o"]);
    });
    // The user's own edit, out of view.
    world.write("x.o", "mine, and longer\n");
    world.turn("m2", |world| world.write("a", "2\n"));
    let report = world.revert("m1");
    let differences = report.receipt.expect("compared").differences;
    let of_file = differences.iter().find(|found| found.path.path == "x.o");
    assert_eq!(report.outcome, Outcome::Partial, "{differences:?}");
    assert!(of_file.is_some(), "{differences:?}");
    assert_eq!(world.read("x.o"), "mine, and longer\n");
}

/// Invariant `truth/order-of-sessions`.
#[test]
fn another_sessions_revert_is_no_conflict() {
    let nine: String = (1..=9).map(|line| format!("{line}\n")).collect();
    let mut world = World::git(&[("f", &nine), ("g", "1\n")]);
    world.turn_in("A", "A1", |world| {
        world.write("f", nine.replace('9', "agent"))
    });
    world.turn_in("B", "B1", |world| world.remove("f"));
    world.turn_in("A", "A2", |world| world.write("g", "2\n"));
    world.revert("A2");
    world.revert("B1");
    let report = world.revert("A1");
    assert_eq!(report.outcome, Outcome::Restored, "{report:?}");
    assert_eq!(world.read("f"), nine);
    assert_eq!(world.read("g"), "1\n");
}

#[test]
fn an_undo_keeps_the_parts_before_it() {
    let mut world = World::git(&[("a", "0\n")]);
    world.turn("m1", |world| world.write("a", "1\n"));
    let alone = RevertRequest {
        alone: true,
        ..to("m1")
    };
    world.try_revert(&alone).expect("it can be undone");
    let revert = world.revert("m1");
    assert_eq!(revert.outcome, Outcome::Nothing);
    let undone = world.undo(&revert.operation.expect("it moved the point"));
    assert_eq!(undone.outcome, Outcome::Nothing);
    assert_eq!(world.read("a"), "0\n");
    let log = world.log();
    assert!(
        log.messages
            .iter()
            .all(|message| message.state == ckpt_schema::report::MessageState::Live),
        "{log:?}"
    );
    world.unrevert();
    assert_eq!(world.read("a"), "1\n", "the part comes back, too");
    let cwd = world.cwd.clone();
    let nothing = world.store.redo(&cwd, &RedoRequest::default());
    assert_eq!(
        nothing.expect("it can be asked for").outcome,
        Outcome::Nothing
    );
}

#[test]
fn a_message_without_a_step_is_partial() {
    let mut world = World::git(&[("a", "0\n")]);
    world.message("m1");
    world.write("a", "1\n");
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Partial, "{report:?}");
    assert_eq!(world.read("a"), "1\n");
    world.message("m2");
    assert_eq!(
        world.revert("m2").outcome,
        Outcome::Nothing,
        "nothing changed"
    );
}

/// What notes are about.
fn about(report: &OperationReport) -> Vec<&str> {
    let notes = report.remarks.iter().flat_map(|note| &note.about);
    notes.map(String::as_str).collect()
}

/// Invariant `truth/left-is-partial`: What a step left and no revert can remove is named, file by file where there are
/// few, and the outcome is partial.
#[test]
fn ignored_files_that_stay_are_partial() {
    let mut world = World::new();
    world.write(".gitignore", "*.log\ngen/\n");
    world.turn("m1", |world| {
        world.write("run.log", "agent\n");
        world.write("gen/deep/f", "agent\n");
        world.write("made/x.log", "agent\n");
        world.write("made/code", "agent\n");
    });
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
    for path in ["gen", "gen/deep/f", "made", "made/x.log", "run.log"] {
        assert!(about(&report).contains(&path), "{path}: {report:#?}");
    }
    assert!(!world.exists("made/code"));
    let report = world.unrevert();
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
}

/// A hidden folder that was there is not taken away, though a step made it anew.
///
/// Invariant `truth/empty-directories`.
#[test]
fn hidden_empty_folder_stays_when_made_anew() {
    set_clock_from_files(0);
    let mut world = World::new();
    world.write(".gitignore", "x\n");
    world.make_directory("x");
    world.message("m1");
    world.step(|world| world.write(".gitignore", "\n"));
    await_tick();
    world.step(|world| {
        world.remove_directory("x");
        await_tick();
        world.make_directory("x");
    });
    world.turn("m2", |world| world.write("x/f", "agent\n"));
    for message in ["m2", "m1"] {
        let report = world.revert(message);
        assert!(world.path("x").is_dir(), "{message}: {report:#?}");
        assert!(!world.exists("x/f"), "{message}: {report:#?}");
    }
}

/// Invariant `truth/empty-directories`.
#[test]
fn hidden_empty_folder_comes_forward() {
    let mut world = World::new();
    world.write(".gitignore", "b/\n");
    world.turn("m1", |world| world.make_directory("out/b"));
    world.turn("m2", |world| world.write("f", "agent\n"));
    world.turn("m3", |world| world.write(".gitignore", "\n"));
    world.revert("m1");
    assert!(!world.exists("out"), "nothing else was there");
    for message in ["m2", "m3"] {
        let report = world.revert(message);
        assert!(world.path("out/b").is_dir(), "{message}: {report:#?}");
    }
}

/// It was made in the last message: to go forward before that does not bring it.
///
/// Invariant `truth/empty-directories`.
#[test]
fn hidden_empty_folder_stays_away_before_its_step() {
    let mut world = World::new();
    world.write(".gitignore", "b/\n");
    world.turn("m1", |world| world.write("f", "1\n"));
    world.turn("m2", |world| world.write("f", "2\n"));
    world.turn("m3", |world| world.make_directory("out/b"));
    for message in ["m1", "m3", "m2"] {
        let report = world.revert(message);
        assert!(!world.exists("out"), "{message}: {report:#?}");
    }
    world.unrevert();
    assert!(world.path("out/b").is_dir());
}

/// Invariant `truth/left-is-partial`.
#[test]
fn hidden_file_of_an_older_move_is_named() {
    set_clock_from_files(0);
    let mut world = World::new();
    world.write(".gitignore", "*.log\n");
    world.write("n.log", "nobody stored it\n");
    await_tick();
    world.turn("m1", |world| {
        await_tick();
        world.write(".gitignore", "\n");
        world.write("n.log", "1\n");
    });
    world.turn("m2", |world| world.write("n.log", "2\n"));
    world.revert("m2");
    assert_eq!(world.read("n.log"), "1\n");
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
    assert!(about(&report).contains(&"n.log"), "{report:#?}");
}

/// Invariant `truth/left-is-partial`.
#[test]
fn what_went_from_a_shown_folder_is_told() {
    set_clock_from_files(0);
    let mut world = World::new();
    world.write(".gitignore", "lib/\n");
    world.write("lib/a", "mine\n");
    world.write("lib/b", "mine\n");
    await_tick();
    world.turn("m1", |world| {
        await_tick();
        world.write(".gitignore", "\n");
        world.remove("lib/a");
    });
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
    assert!(about(&report).contains(&"lib/"), "{report:#?}");
    assert_eq!(world.read("lib/b"), "mine\n");
}

/// One step hides the folder as a whole, and another removes it.
///
/// Invariant `truth/left-is-partial`.
#[test]
fn unseen_removal_of_a_hidden_file_is_named() {
    let mut world = World::git(&[("a", "1\n"), (".gitignore", "lib/\n")]);
    world.write("lib/code", "tracked\n");
    world.write("lib/mine", "nobody stored it\n");
    world.run_git(&["add", "-f", "lib/code"]);
    world.run_git(&["commit", "-q", "-m", "lib"]);
    world.turn("m1", |world| _ = world.run_git(&["mv", "lib/code", "code"]));
    world.turn("m2", |world| {
        world.remove_tree("lib");
        world.remove(".gitignore");
    });
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
    assert!(about(&report).contains(&"lib/mine"), "{report:#?}");
    assert_eq!(world.read("lib/code"), "tracked\n");
}

/// A folder that a revert made for its contents, and another took away with them, comes back as the empty one that it was.
///
/// A rule hides it in between, so no item of the second revert is about it.
#[test]
fn folder_that_went_with_contents_comes_back() {
    let mut world = World::git(&[("a", "1\n"), (".gitignore", "x/\n")]);
    world.write("x/f", "1\n");
    world.run_git(&["add", "--force", "x/f"]);
    world.turn("m1", |world| {
        world.remove("x/f");
        world.remove(".gitignore");
    });
    let emptied = world.tree();
    world.turn("m2", |world| world.remove_tree("x"));
    let removed = world.tree();
    world.turn("m3", |world| {
        world.write("a", "2\n");
        world.run_git(&["add", "--all"]);
    });
    world.revert("m1");
    assert_eq!(world.read("x/f"), "1\n");
    for (to, tree) in [
        ("m3", &removed),
        ("m2", &emptied),
        ("m3", &removed),
        ("m2", &emptied),
    ] {
        let report = world.revert(to);
        assert_eq!(world.tree(), *tree, "{to}: {report:#?}");
    }
}
