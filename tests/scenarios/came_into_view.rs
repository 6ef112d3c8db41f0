//! What rules hid, and what came into view once another rule held: what it was before that is known or told.

use ckpt_schema::report::{DifferenceReason, KeptKind, Outcome};
use ckpt_store::RevertRequest;
use testing::scenario::{World, file_time, set_clock_from_files, to};

/// A file that was only seen then, and changed or went after it had come into view, comes back as it came, and that is said.
#[test]
fn file_put_back_unseen_is_told() {
    for (is_folder, goes) in [(false, true), (true, true), (false, false), (true, false)] {
        let (rules, file) = match is_folder {
            true => ("vendor/\n", "vendor/deep/f"),
            false => ("/vendor/*\n", "vendor/f"),
        };
        let mut world = World::new();
        world.write(".gitignore", rules);
        world.write(file, "mine\n");
        world.message("m1");
        world.step(|world| {
            world.remove(".gitignore");
            world.write(file, "agent\n");
        });
        world.step(|world| match goes {
            true => world.remove_tree("vendor"),
            false => world.write(file, "again\n"),
        });
        let report = world.revert("m1");
        assert_eq!(world.read(".gitignore"), rules);
        assert_eq!(world.read(file), "agent\n");
        assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
        let is_told = report.notes.iter().any(|note| note.contains(file));
        assert!(is_told, "{report:#?}");
    }
}

/// What a hidden folder held is not known, however often a revert goes back to where it was hidden, and whether it came into
/// view, and is in view when it goes back.
#[test]
fn folder_in_view_meanwhile_is_told() {
    set_clock_from_files(0);
    for (comes_into_view, is_hidden_again) in [(true, false), (true, true), (false, false)] {
        let mut world = World::new();
        world.write(".gitignore", "gen/\n");
        world.write("gen/f", "mine\n");
        world.message("m1");
        world.step(|world| {
            if comes_into_view {
                world.remove(".gitignore");
            }
            world.write("gen/f", "agent\n");
        });
        if is_hidden_again {
            world.step(|world| world.write(".gitignore", "gen/\n"));
        }
        for _ in 0..2 {
            let report = world.revert("m1");
            assert_eq!(world.read(".gitignore"), "gen/\n");
            assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
            let is_told = report.notes.iter().any(|note| note.contains("gen/"));
            assert!(is_told, "{report:#?}");
        }
    }
}

/// What a hidden folder held is gone and named, also where the folder stays, and comes into view as an empty one.
#[test]
fn emptied_hidden_folder_is_told() {
    set_clock_from_files(0);
    for goes in [false, true] {
        let mut world = World::new();
        world.write("made/.gitignore", "gen/\n");
        world.write("made/gen/f", "mine\n");
        world.message("m1");
        world.step(|world| {
            world.remove("made/.gitignore");
            world.remove("made/gen/f");
        });
        if goes {
            world.step(|world| world.remove_tree("made"));
        }
        for _ in 0..2 {
            let report = world.revert("m1");
            assert_eq!(world.read("made/.gitignore"), "gen/\n");
            assert_eq!(report.outcome, Outcome::Partial, "{goes}: {report:#?}");
            let is_told = report.notes.iter().any(|note| note.contains("made/gen"));
            assert!(is_told, "{goes}: {report:#?}");
        }
    }
}

/// A file that a step made while rules hid it goes, also where a later step changed or removed it once it was in view.
#[test]
fn file_made_hidden_and_changed_in_view_goes() {
    set_clock_from_files(0);
    for (is_removed, is_first_back) in [(false, false), (true, false), (false, true), (true, true)]
    {
        let mut world = World::new();
        world.write("a", "1\n");
        let before = world.tree();
        world.message("m1");
        world.step(|world| {
            world.write(".gitignore", "made\n");
            world.write("made", "1\n");
        });
        world.step(|world| {
            world.remove(".gitignore");
            world.write("a", "2\n");
        });
        let between = world.tree();
        world.message("m2");
        world.step(|world| match is_removed {
            true => world.remove("made"),
            false => world.write("made", "2\n"),
        });
        let after = world.tree();
        if is_first_back {
            world.revert("m2");
            assert_eq!(world.tree(), between);
        }
        let what = format!("{is_removed}, {is_first_back}");
        let report = world.revert("m1");
        assert_eq!(world.tree(), before, "{what}: {report:#?}");
        assert_eq!(report.outcome, Outcome::Restored, "{what}: {report:#?}");
        world.unrevert();
        assert_eq!(world.tree(), after, "{what}");
    }
}

/// A folder that a step left empty, and that rules hide since, stays on the way forward.
#[test]
fn emptied_hidden_folder_stays_forward() {
    let mut world = World::git(&[(".gitignore", "pkg/deep/\n"), ("a", "1\n")]);
    world.write("pkg/deep/er/f", "1\n");
    world.run_git(&["add", "--force", "pkg/deep/er/f"]);
    set_clock_from_files(0);
    world.message("m1");
    world.step(|world| world.remove("pkg/deep/er/f"));
    let emptied = world.tree();
    // The folder is older than the message by more than its time may lag behind.
    let made = file_time();
    while file_time() <= made + 100 {
        std::thread::yield_now();
    }
    world.message("m2");
    world.step(|world| world.write("a", "2\n"));
    world.message("m3");
    world.step(|world| drop(world.run_git(&["add", "-A"])));
    let after = world.tree();
    world.revert("m1");
    assert_eq!(world.read("pkg/deep/er/f"), "1\n");
    let report = world.revert("m2");
    assert_eq!(world.tree(), emptied, "{report:#?}");
    world.unrevert();
    assert_eq!(world.tree(), after);
}

/// A file or link that the agent put where a folder was, and hid, is in the way of what was in the folder: no person's edit.
#[test]
fn hidden_entry_in_the_way_is_named() {
    for (folder, is_link) in [("build", false), ("build", true), ("deep/build", false)] {
        let mut world = World::new();
        world.write(format!("{folder}/sub/f"), "mine\n");
        world.message("m1");
        world.step(|world| {
            world.remove_tree(folder);
            match is_link {
                true => world.link(folder, "elsewhere"),
                false => world.write(folder, "agent\n"),
            }
            world.write(".gitignore", "build\n");
        });
        let left = world.tree();
        let planned = world
            .try_revert(&RevertRequest {
                dry_run: true,
                ..to("m1")
            })
            .expect("it can be planned");
        let report = world.revert("m1");
        assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
        for report in [planned, report] {
            let kept: Vec<_> = report.kept.iter().map(|kept| kept.kind).collect();
            assert_eq!(kept, [KeptKind::Blocked], "{report:#?}");
            let receipt = report.receipt.as_ref().expect("it was compared");
            let differences = receipt.differences.iter();
            let reasons: Vec<_> = differences.map(|difference| difference.reason).collect();
            assert_eq!(reasons, [DifferenceReason::Ignored; 2], "{report:#?}");
        }
        world.unrevert();
        assert_eq!(world.tree(), left);
    }
}

/// A file that changed unseen is named at each point of the way forward, also where nothing has to be written for it.
#[test]
fn unseen_changes_are_told_at_each_point_forward() {
    set_clock_from_files(0);
    for is_gone_between in [true, false] {
        let mut world = World::git(&[("a", "1\n")]);
        world.write("x/r", "1\n");
        world.run_git(&["add", "--force", "x/r"]);
        world.message("m1");
        world.step(|world| {
            world.write(".gitignore", "x/\n");
            world.write("x/f", "1\n");
        });
        world.message("m2");
        world.step(|world| {
            world.write("a", "2\n");
            world.write("x/f", "2\n");
        });
        world.message("m3");
        world.step(|world| {
            world.write("a", "3\n");
            world.write(".gitignore", "y/\n");
            world.write("x/f", "3\n");
        });
        if is_gone_between {
            world.revert("m1");
            assert!(!world.exists("x/f"));
        }
        for message in ["m2", "m3"] {
            let report = world.revert(message);
            let what = format!("{is_gone_between}, {message}: {report:#?}");
            assert_eq!(world.read("x/f"), "3\n", "{what}");
            assert_eq!(report.outcome, Outcome::Partial, "{what}");
            assert!(
                report.notes.iter().any(|note| note.contains("x/f")),
                "{what}"
            );
        }
    }
}

/// What came into view in a step of a message and went in its next one is named at each point of the way, as it comes back.
#[test]
fn file_in_view_between_steps_is_told() {
    set_clock_from_files(0);
    let mut world = World::new();
    world.write(".gitignore", "gen/\n");
    world.write("gen/f", "mine\n");
    world.turn("m1", |world| world.write("a", "1\n"));
    world.message("m2");
    world.step(|world| {
        world.remove(".gitignore");
        world.write("gen/f", "agent\n");
        world.write("gen/g", "agent\n");
    });
    world.step(|world| {
        world.remove_tree("gen");
        world.write("gen", "a file\n");
    });
    for message in ["m1", "m2"] {
        let report = world.revert(message);
        assert_eq!(report.outcome, Outcome::Partial, "{message}: {report:#?}");
        for file in ["gen/f", "gen/g"] {
            let mut about = report.remarks.iter().flat_map(|note| &note.about);
            assert!(about.any(|path| path == file), "{message}: {report:#?}");
        }
    }
}

/// A file that a step made again while rules hid it is not there at the message before, on the way forward either.
#[test]
fn file_made_again_while_hidden_is_undone() {
    set_clock_from_files(0);
    let mut world = World::new();
    world.write("a", "1\n");
    let begin = world.tree();
    world.message("m1");
    world.step(|world| world.write("made", "1\n"));
    world.step(|world| {
        world.remove("made");
        world.write("a", "2\n");
    });
    let between = world.tree();
    world.message("m2");
    world.step(|world| {
        world.write(".gitignore", "made\n");
        world.write("made", "1\n");
    });
    let after = world.tree();
    for (message, before) in [("m1", begin), ("m2", between)] {
        let report = world.revert(message);
        assert_eq!(world.tree(), before, "{message}: {report:#?}");
        assert_eq!(report.outcome, Outcome::Restored, "{message}: {report:#?}");
    }
    world.unrevert();
    assert_eq!(world.tree(), after);
}

/// An empty folder of the user's that a step only hid stays, and so does one that a step hid and filled.
#[test]
fn hidden_empty_folder_of_the_user_stays() {
    set_clock_from_files(0);
    for is_filled in [false, true] {
        let mut world = World::new();
        world.make_directory("d");
        let before = world.tree();
        world.turn("m1", |world| {
            world.write(".gitignore", "d/\n");
            if is_filled {
                world.write("d/made", "1\n");
                world.remove("d/made");
            }
        });
        for _ in 0..2 {
            let report = world.revert("m1");
            assert_eq!(world.tree(), before, "{is_filled}: {report:#?}");
            assert_ne!(report.outcome, Outcome::Partial, "{is_filled}: {report:#?}");
        }
    }
}
