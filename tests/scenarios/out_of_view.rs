//! Files that were captured until a step hid them from view: the state before the message holds them, so they come back.

use ckpt_schema::report::{FileResult, Outcome};

use ckpt_store::{RevertRequest, Unclear};
use testing::scenario::{World, paths_with, set_clock_from_files, set_moment, to, with_result};

/// When a day that is played begins.
const MORNING: i64 = 1_700_000_000_000;

/// A file that a step wrote and hid by its ignore rule comes back.
///
/// Invariant `truth/ignored-by-a-step`.
#[test]
fn written_and_hidden_file_comes_back() {
    let mut world = World::git(&[("a", "1\n")]);
    world.write("secret", "mine\n");
    let before = world.tree();
    world.turn("m1", |world| {
        world.write("secret", "agent\n");
        world.write(".gitignore", "secret\n");
    });
    let after = world.tree();
    let report = world.revert("m1");
    assert_eq!(
        world.tree(),
        before,
        "the snapshot before holds it: {report:?}"
    );
    world.unrevert();
    assert_eq!(world.tree(), after, "and back");
}

/// What was edited after it was hidden is kept and named.
///
/// Invariant `truth/ignored-by-a-step`.
#[test]
fn edit_after_hiding_is_kept() {
    let mut world = World::git(&[("a", "1\n")]);
    world.write("secret", "mine\n");
    world.turn("m1", |world| {
        world.write("secret", "agent\n");
        world.write(".gitignore", "secret\n");
    });
    world.write("secret", "mine again\n");
    let report = world.revert("m1");
    assert_eq!(world.read("secret"), "mine again\n", "nothing is lost");
    assert_eq!(
        paths_with(&report, FileResult::Conflict),
        ["secret"],
        "and it is reported: {report:?}"
    );
}

#[test]
fn what_a_step_only_hid_is_not_touched() {
    let mut world = World::git(&[("a", "1\n")]);
    world.write("x.log", "mine\n");
    let before = world.stamp("x.log");
    let report = world.turn("m1", |world| world.write(".gitignore", "*.log\n"));
    assert_eq!(report.changes, Some(1), "the rule alone");
    world.revert("m1");
    assert_eq!(world.stamp("x.log"), before, "it is as it was");
}

/// A folder that one message ignores and the next removes comes back.
///
/// Invariant `truth/ignored-by-a-step`.
#[test]
fn ignored_then_removed_folder_comes_back() {
    for back_to in ["m1", "m2"] {
        let mut world = World::git(&[("a", "1\n")]);
        world.write("out/x", "mine\n");
        world.write("out/deep/y", "mine\n");
        world.chmod("out/x", 0o600);
        let before = world.tree();
        world.turn("m1", |world| world.write(".gitignore", "out/\n"));
        world.turn("m2", |world| {
            for path in ["out/x", "out/deep/y"] {
                world.remove(path);
            }
            world.remove_directory("out/deep");
            world.remove_directory("out");
            world.write("a", "2\n");
        });
        let after = world.tree();
        if back_to == "m2" {
            world.revert("m2");
        }
        let report = world.revert("m1");
        assert_eq!(world.tree(), before, "its snapshot holds it: {report:?}");
        let report = world.revert("m1");
        assert_eq!(world.tree(), before, "nor does asking again: {report:?}");
        world.unrevert();
        assert_eq!(world.tree(), after, "and back");
    }
}

/// A folder that a message ignored and that became a file comes back.
#[test]
fn ignored_folder_that_became_a_file_comes_back() {
    let mut world = World::git(&[("a", "1\n")]);
    world.write("out/x", "mine\n");
    let before = world.tree();
    world.turn("m1", |world| world.write(".gitignore", "out/\n"));
    world.turn("m2", |world| {
        world.remove("out/x");
        world.remove_directory("out");
        world.write("a", "2\n");
    });
    world.turn("m3", |world| {
        world.remove(".gitignore");
        world.write("out", "a file\n");
    });
    let after = world.tree();
    let report = world.revert("m1");
    assert_eq!(world.tree(), before, "{report:?}");
    world.unrevert();
    assert_eq!(world.tree(), after, "and back");
}

/// What the user ignored and removed is not made up.
#[test]
fn ignored_and_removed_by_user_is_not_invented() {
    let mut world = World::git(&[("a", "1\n")]);
    world.write("out/x", "mine\n");
    world.turn("m1", |world| world.write("a", "2\n"));
    world.write(".gitignore", "out/\n");
    world.turn("m2", |world| world.write("a", "3\n"));
    world.remove("out/x");
    world.remove_directory("out");
    world.revert("m1");
    assert!(!world.exists("out"), "no step of the agent hid it");
}

/// What git tracked comes back where the repository was removed with it.
#[test]
fn tracked_files_return_without_their_repository() {
    for in_one_message in [true, false] {
        let mut world = World::git(&[("a", "1\n")]);
        world.write(".gitignore", "dist/\n");
        world.write("dist/app.js", "mine\n");
        world.write("target/kept", "mine\n");
        world.run_git(&["add", "-f", "dist/app.js"]);
        let before = world.tree();
        world.message("m1");
        world.start();
        world.remove_tree(".git");
        if in_one_message {
            world.write("dist/app.js", "agent\n");
            world.remove("target/kept");
            world.remove_directory("target");
            world.finish();
        } else {
            world.finish();
            world.turn("m2", |world| {
                world.remove("dist/app.js");
                world.remove_directory("dist");
                world.remove("target/kept");
                world.remove_directory("target");
            });
        }
        let after = world.tree();
        let report = world.revert("m1");
        assert_eq!(world.tree(), before, "{in_one_message}: {report:?}");
        world.unrevert();
        assert_eq!(world.tree(), after, "and back");
    }
}

#[test]
fn restore_puts_back_what_is_ignored_today() {
    let mut world = World::git(&[("a", "1\n")]);
    world.write("x.log", "mine\n");
    world.write("y.log", "mine\n");
    let snapshot = world.snapshot();
    world.write(".gitignore", "*.log\n");
    world.snapshot();
    world.write("x.log", "other\n");
    world.remove("y.log");
    let report = world.restore(&snapshot, &["x.log", "y.log"]);
    assert_eq!(
        (world.read("x.log").as_str(), world.read("y.log").as_str()),
        ("mine\n", "mine\n"),
        "it was asked for by name: {report:?}"
    );
    assert_eq!(report.outcome, Outcome::Restored, "{report:?}");
    let back = report.operation.expect("something was done");
    world.restore(&back, &["x.log", "y.log"]);
    assert_eq!(
        (world.read("x.log").as_str(), world.exists("y.log")),
        ("other\n", false),
        "with its way back"
    );
}

/// Restore of everything puts back what is ignored today.
#[test]
fn restore_puts_back_ignored_files() {
    let mut world = World::git(&[("a", "1\n")]);
    world.write("x.log", "mine\n");
    world.write("out/y", "mine\n");
    let then = world.tree();
    let snapshot = world.snapshot();
    world.write(".gitignore", "*.log\nout\n");
    world.snapshot();
    world.write("x.log", "other\n");
    world.remove("out/y");
    world.remove_directory("out");
    world.write("new.log", "ignored\n");
    let report = world.restore(&snapshot, &[]);
    assert!(world.exists("new.log"), "what was never captured stays");
    world.remove("new.log");
    assert_eq!(world.tree(), then, "all of it: {report:?}");
}

/// Unrevert is exact where an ignore rule went and its folder became a file.
#[test]
fn unrevert_is_exact_without_the_rule() {
    for rule in ["out\n", "out/\n", "out/*\n", "/out/x\n", "x\n"] {
        for is_tracked in [false, true] {
            let mut world = World::git(&[("a", "1\n")]);
            world.write(".gitignore", rule);
            world.write("out/x", "mine\n");
            world.write("out/z", "mine\n");
            if is_tracked {
                world.run_git(&["add", "-f", "out/x"]);
            }
            world.snapshot();
            world.turn("m1", |world| {
                world.remove(".gitignore");
                world.remove("out/x");
                world.remove("out/z");
                world.remove_directory("out");
                world.write("out", "a file\n");
            });
            let after = world.tree();
            let report = world.revert("m1");
            let back = world.unrevert();
            assert_eq!(
                world.tree(),
                after,
                "{rule:?} {is_tracked}: {report:?} {back:?}"
            );
        }
    }
}

/// A folder that a revert makes where all is hidden goes with the way forward.
///
/// Invariant `work/unrevert`.
#[test]
fn reverts_hidden_folder_goes_forward() {
    for rule in ["build/\n", "build/*\n", "deep/\n"] {
        for name in ["build/o", "build/deep/o"] {
            let mut world = World::git(&[("a", "1\n"), (".gitignore", rule)]);
            world.write(name, "made once\n");
            world.message("m1");
            world.step(|world| world.write(".gitignore", ""));
            world.step(|world| {
                world.remove_tree("build");
                world.write(".gitignore", rule);
            });
            let after = world.tree();
            let report = world.revert("m1");
            assert!(world.exists(name), "{rule:?} {name}: {report:?}");
            let there = world.tree();
            for _ in 0..2 {
                let back = world.unrevert();
                assert_eq!(world.tree(), after, "{rule:?} {name}: {back:?}");
                let is_said = back.notes.iter().any(|note| note.contains("folders stay"));
                assert!(!is_said, "{rule:?} {name}: they went: {back:?}");
                let report = world.revert("m1");
                assert_eq!(world.tree(), there, "{rule:?} {name}: {report:?}");
            }
        }
    }
}

/// A chain of reverts over a rule that went and a folder that became a file goes both ways.
#[test]
fn chain_over_a_missing_rule_goes_both_ways() {
    for rule in ["out\n", "out/\n", "out/*\n", "/out/x\n"] {
        for points in [&["m1"][..], &["m2", "m1"], &["m3", "m2", "m1"]] {
            let mut world = World::git(&[("a", "1\n")]);
            world.write(".gitignore", rule);
            world.write("out/x", "mine\n");
            world.write("out/z", "mine\n");
            world.snapshot();
            world.turn("m1", |world| world.remove(".gitignore"));
            let seen = world.tree();
            world.turn("m2", |world| {
                world.remove("out/x");
                world.remove("out/z");
                world.remove_directory("out");
                world.write("out", "a file\n");
            });
            world.turn("m3", |world| world.write(".gitignore", "out\n"));
            let after = world.tree();
            let mut reports = Vec::new();
            for point in points {
                reports.push(world.revert(point));
            }
            let mut before = seen;
            before.insert(
                ".gitignore".into(),
                testing::tree::Node::File(rule.into(), 0o644),
            );
            assert_eq!(world.tree(), before, "{rule:?} {points:?}: {reports:?}");
            reports.push(world.unrevert());
            assert_eq!(world.tree(), after, "{rule:?} {points:?}: {reports:?}");
        }
    }
}

/// What was removed an hour after it was hidden is unclear and stays away.
#[test]
fn removal_an_hour_after_hiding_is_unclear() {
    let mut world = World::new();
    world.write("secret", "mine\n");
    set_clock_from_files(-60 * 60_000);
    world.turn("m1", |world| world.write(".gitignore", "secret\n"));
    set_clock_from_files(0);
    world.remove("secret");
    let report = world.revert("m1");
    assert!(!world.exists("secret"), "no step was at work when it went");
    let unclear: Vec<_> = report.files.iter().filter(|file| file.unclear).collect();
    assert_eq!(unclear.len(), 1, "and that is said: {report:?}");
    assert_eq!(
        report.outcome,
        Outcome::Partial,
        "not everything is as then"
    );
}

/// What a later step removed while it was hidden comes back by the time of its folder.
#[test]
fn later_steps_hidden_removal_comes_back() {
    let mut world = World::new();
    world.write("secret", "mine\n");
    set_clock_from_files(0);
    world.turn("m1", |world| world.write(".gitignore", "secret\n"));
    world.turn("m2", |world| world.remove("secret"));
    let report = world.revert("m1");
    assert_eq!(
        world.read("secret"),
        "mine\n",
        "a step was at work: {report:?}"
    );
}

/// What came into a folder that was a file is the step's whatever rules hid the folder.
///
/// Invariant `truth/ignore-rules-changed`.
#[test]
fn file_in_a_former_files_folder_is_steps() {
    for before in ["a file", "an empty folder"] {
        let mut world = World::new();
        world.write(".gitignore", "/d/x/\n");
        match before {
            "a file" => world.write("d", "file\n"),
            _ => world.make_directory("d"),
        }
        let then = world.tree();
        world.turn("m1", |world| {
            world.remove(".gitignore");
            if before == "a file" {
                world.remove("d");
            }
            world.write("d/x/y", "agent\n");
        });
        let after = world.tree();
        let report = world.revert("m1");
        assert_eq!(
            world.tree(),
            then,
            "nothing was hidden in {before}: {report:#?}"
        );
        assert_eq!(report.outcome, Outcome::Restored, "{before}");
        world.unrevert();
        assert_eq!(world.tree(), after, "{before}");
    }
}

/// What comes back once comes back again after an unrevert.
///
/// Invariant `truth/ignored-by-a-step`.
#[test]
fn returned_file_returns_after_an_unrevert() {
    set_moment(MORNING);
    let mut world = World::new();
    world.write("d/a", "mine\n");
    world.write("d/b", "mine\n");
    let before = world.tree();
    world.turn("m1", |world| {
        set_moment(MORNING + 1_000);
        world.write(".gitignore", "d/\n");
    });
    world.turn("m2", |world| {
        set_moment(MORNING + 2_000);
        world.remove_tree("d");
    });
    world.turn("m3", |world| {
        set_moment(MORNING + 3_000);
        world.remove(".gitignore");
        world.write("q", "agent\n");
    });
    let after = world.tree();
    for round in 1..=3 {
        set_moment(MORNING + round * 60_000);
        let report = world.revert("m1");
        assert_eq!(world.tree(), before, "round {round}: {report:#?}");
        world.unrevert();
        assert_eq!(world.tree(), after, "round {round}");
    }
}

/// What a step hid and another removed comes back in several moves as well.
#[test]
fn hidden_and_removed_file_returns_in_moves() {
    set_moment(MORNING);
    let mut world = World::new();
    world.write("d/a", "mine\n");
    let before = world.tree();
    let mut second = 0;
    let mut turn = |world: &mut World, name: &str, act: fn(&World)| {
        second += 1;
        world.turn(name, |world| {
            set_moment(MORNING + second * 1_000);
            act(world);
        });
    };
    turn(&mut world, "m1", |world| world.write(".gitignore", "d/\n"));
    turn(&mut world, "m2", |world| world.remove_tree("d"));
    turn(&mut world, "m3", |world| world.write("q", "agent\n"));
    for (minute, message) in (1..).zip(["m3", "m2", "m1"]) {
        set_moment(MORNING + minute * 60_000);
        world.revert(message);
    }
    assert_eq!(
        world.tree(),
        before,
        "the folder's time is that of a revert"
    );
}

/// What a tool changed after it was hidden is unclear and can be taken.
///
/// Invariant `truth/ignored-by-a-step`: A file that a step hid from view comes back if its
/// snapshot holds it, and is kept and named if something else took its place.
#[test]
fn change_after_hiding_is_unclear() {
    set_clock_from_files(0);
    let mut world = World::git(&[("a", "1\n")]);
    world.write("secret", "mine\n");
    world.turn("m1", |world| world.write(".gitignore", "secret\n"));
    // The names in the directory stay, so its time says nothing about the file.
    world.turn("m2", |world| world.write("secret", "agent\n"));
    let dry = RevertRequest {
        dry_run: true,
        ..to("m1")
    };
    let plan = world.try_revert(&dry).expect("it is planned");
    let kept = with_result(&plan, FileResult::Conflict);
    let [kept] = &kept[..] else {
        panic!("only one: {plan:#?}");
    };
    let reason = kept.reason.as_deref().unwrap_or_default();
    assert!(
        reason.contains("ignore rules hid it"),
        "nobody says that the user did it: {reason}"
    );
    let taking = RevertRequest {
        unclear: Some(Unclear::Take),
        ..to("m1")
    };
    world.try_revert(&taking).expect("it goes back");
    assert_eq!(world.read("secret"), "mine\n", "as the report promised");
    world.unrevert();
    assert_eq!(world.read("secret"), "agent\n", "and exactly back");
    world.revert("m1");
    assert_eq!(world.read("secret"), "agent\n", "what is unclear stays");
}

/// What came and stays is told, though other rules hide the folder that it is in by now, or no longer do.
#[test]
fn what_came_is_told_under_other_rules() {
    for (rules, others, named) in [
        ("sub/\n", "x\n", "`made/sub`"),
        ("x\n", "sub/\n", "`made/sub/x`"),
    ] {
        let mut world = World::new();
        world.write(".gitignore", rules);
        world.message("m1");
        world.step(|world| world.write(".gitignore", others));
        world.step(|world| world.write("made/sub/x", "agent\n"));
        world.step(|world| world.write(".gitignore", rules));
        let report = world.revert("m1");
        assert_eq!(world.read("made/sub/x"), "agent\n", "no snapshot holds it");
        assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
        let is_told = report.notes.iter().any(|note| note.contains(named));
        assert!(is_told, "{named}: {report:#?}");
    }
}
