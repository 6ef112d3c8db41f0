//! A rename goes back as one or stays as one: no revert takes the only copy of a text of the user's out of the workspace.

use ckpt_schema::report::{DifferenceReason, FileResult, OperationReport, Outcome};
use ckpt_store::RevertRequest;
use testing::scenario::{World, paths_with, to, with_result};
use testing::tree::Node;

/// A rename that the agent made, and what is at its old name by now.
fn renamed(edit: &str) -> World {
    let mut world = World::git(&[("notes", "one\ntwo\nthree\nfour\n"), ("other", "1\n")]);
    world.turn("m1", |world| {
        std::fs::rename(world.path("notes"), world.path("ideas")).expect("ours");
        if !edit.is_empty() {
            world.write("ideas", edit);
        }
        world.write("made", "by the agent\n");
    });
    world
}

/// Invariant `truth/rename`: A rename goes back as one or stays as one.
#[test]
fn half_of_a_rename_is_held_back() {
    for edit in ["", "one\ntwo\nthree\n4\n"] {
        let mut world = renamed(edit);
        let ideas = world.read("ideas");
        world.write("notes", "another text\n");
        let report = world.revert("m1");
        assert_eq!(report.outcome, Outcome::Partial);
        assert_eq!(
            paths_with(&report, FileResult::Conflict),
            ["ideas"],
            "one row for both"
        );
        let reason = report.files.iter().find_map(|file| file.reason.clone());
        assert!(
            reason.is_some_and(|reason| reason.contains("`notes`")),
            "{report:?}"
        );
        assert_eq!(world.read("ideas"), ideas);
        assert_eq!(world.read("notes"), "another text\n");
        assert!(!world.exists("made"), "what is no rename goes");
        let differences = report.receipt.expect("compared").differences;
        let notes = differences.iter().find(|found| found.path.path == "notes");
        assert_eq!(
            notes.map(|found| found.reason),
            Some(DifferenceReason::Yours)
        );
    }
}

/// Invariant `truth/rename`.
#[test]
fn a_whole_rename_goes_back() {
    let mut world = renamed("");
    world.revert("m1");
    assert!(!world.exists("ideas") && world.exists("notes"));
}

/// The agent renames, the user goes back and takes the new name: the old name has the text, so it stays.
///
/// Invariant `truth/rename`.
#[test]
fn half_of_a_rename_forward_is_held_back() {
    let mut world = renamed("");
    world.revert("m1");
    world.write("ideas", "mine\n");
    let report = world.unrevert();
    assert_eq!(world.read("notes"), "one\ntwo\nthree\nfour\n", "{report:?}");
    assert_eq!(world.read("ideas"), "mine\n");
    assert_eq!(report.outcome, Outcome::Partial);
}

/// Invariant `truth/rename`.
#[test]
fn a_renamed_folder_stays_beside_a_file() {
    let mut world = World::git(&[("src/a", "text a\n"), ("src/b", "text b\n")]);
    world.turn("m1", |world| {
        std::fs::rename(world.path("src"), world.path("lib")).expect("ours")
    });
    world.write("src", "a file of mine\n");
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Partial);
    assert_eq!(world.read("lib/a"), "text a\n", "{report:?}");
    assert_eq!(world.read("lib/b"), "text b\n");
}

const MINE: &str = "an evening of mine\n";
const SECOND: &str = "second text\n";

/// Moves files as `mv` does, one after the other.
fn mv(world: &World, moves: &[(&str, &str)]) {
    for (from, to) in moves {
        std::fs::rename(world.path(from), world.path(to)).expect("ours");
    }
}

/// Each step of the agent is a list of moves; one of no moves begins the next message.
fn moved(steps: &[&[(&str, &str)]]) -> World {
    let mut world = World::git(&[("notes", MINE), ("b", SECOND), ("src/a", MINE)]);
    world.remove("src/a");
    let mut messages = 1;
    world.message("m1");
    for step in steps {
        if step.is_empty() {
            messages += 1;
            world.message(&format!("m{messages}"));
        } else {
            world.step(|world| mv(world, step));
        }
    }
    world
}

#[track_caller]
fn assert_text_stays(world: &World, report: &OperationReport) {
    let found = world.tree();
    let is_mine = |node: &Node| match node {
        Node::File(bytes, _) => String::from_utf8_lossy(bytes).contains(MINE.trim_end()),
        _ => false,
    };
    assert!(found.values().any(is_mine), "{report:#?}\n{found:#?}");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
}

/// No revert takes the only copy of a text.
///
/// Chains over steps and messages, over another old name, swaps, and over a file that was there.
///
/// Invariant `truth/rename`.
#[test]
fn revert_spares_a_texts_only_copy() {
    let histories: [&[&[(&str, &str)]]; 7] = [
        &[&[("notes", "ideas")], &[], &[("ideas", "deep")]],
        &[&[("notes", "ideas")], &[("ideas", "deep")]],
        &[&[("notes", "ideas"), ("b", "deep")], &[("ideas", "b")]],
        &[&[("notes", "t"), ("b", "notes"), ("t", "b")]],
        &[&[("notes", "b")]],
        &[&[("b", "c")], &[], &[("notes", "b")], &[("b", "d")]],
        &[&[("notes", "src/notes")], &[("src", "lib")]],
    ];
    for steps in histories {
        let mut world = moved(steps);
        world.write("notes", "other\n");
        let report = world.revert("m1");
        assert_text_stays(&world, &report);
        assert_eq!(world.read("notes"), "other\n", "{steps:?}");
        let of_notes = report.files.iter().filter(|file| file.path.path == "notes");
        assert_eq!(of_notes.count(), 0, "one row for both: {report:#?}");
        world.unrevert();
        world.revert("m1");
        assert_eq!(world.read("notes"), "other\n", "{steps:?}");
    }
}

/// Of files that have most lines in common, each is a file of its own.
///
/// Over a file, over one that was moved away before, and in a chain.
///
/// Invariant `truth/rename`.
#[test]
fn alike_files_are_not_taken_for_one() {
    let text = |own: &str| format!("1\n2\n3\n4\n{own}\n");
    let histories: [&[(&str, &str)]; 4] = [
        &[("c", "b")],
        &[("b", "old"), ("c", "b")],
        &[("a", "old"), ("b", "a"), ("c", "b")],
        &[("b", "old"), ("c", "b"), ("b", "d")],
    ];
    for moves in histories {
        let files = [
            ("a", text("of a")),
            ("b", text("of b")),
            ("c", text("of c")),
        ];
        let mut world = World::git(&files.each_ref().map(|(path, text)| (*path, &text[..])));
        world.turn("m1", |world| mv(world, moves));
        let is_there = |world: &World, text: &str| {
            let nodes = world.tree().into_values();
            nodes.into_iter().any(|node| match node {
                Node::File(bytes, _) => bytes == text.as_bytes(),
                _ => false,
            })
        };
        let mut left = files.clone().to_vec();
        left.retain(|(_, text)| is_there(&world, text));
        world.write("c", "another text\n");
        let report = world.revert("m1");
        assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
        for (path, text) in &left {
            assert!(is_there(&world, text), "{path}, {moves:?}: {report:#?}");
        }
        let origin = |path: &str| {
            let text = world.read(path);
            left.iter()
                .find(|(_, own)| *own == text)
                .expect("one of ours")
                .0
        };
        for file in with_result(&report, FileResult::Conflict) {
            let reason = file.reason.as_deref().unwrap_or_default();
            let from = format!("moved here from `{}`", origin(&file.path.path));
            assert!(reason.contains(&from), "{report:#?}");
        }
    }
}

/// A file that is like a removed one, and was edited, is no rename of it.
///
/// Invariant `truth/rename`.
#[test]
fn edited_file_is_no_rename_of_one_alike() {
    let numbers = |last: u32| -> String { (1..=last).map(|line| format!("{line}\n")).collect() };
    let (big, old) = (numbers(30), numbers(29));
    let edited = big.replace("7\n", "SEVEN\n");
    let (edit, remove): (&[&str], &[&str]) = (&["edit"], &["remove"]);
    for steps in [
        &[&["edit", "remove"][..]][..],
        &[edit, remove],
        &[remove, edit],
    ] {
        for only in [true, false] {
            let mut world = World::git(&[("big", &big), ("old", &old)]);
            world.message("m1");
            for step in steps {
                world.step(|world| {
                    for what in *step {
                        match *what {
                            "edit" => world.write("big", &edited),
                            _ => world.remove("old"),
                        }
                    }
                });
            }
            let request = match only {
                true => RevertRequest {
                    only: vec![world.path("big")],
                    ..to("m1")
                },
                false => {
                    world.write("old/in the way", "mine\n");
                    to("m1")
                }
            };
            let report = world.try_revert(&request).expect("it can be asked for");
            assert_eq!(world.read("big"), big, "{steps:?}, {only}: {report:#?}");
        }
    }
}

#[test]
fn moves_and_swaps_go_back_whole() {
    for steps in [
        &[&[("notes", "t"), ("b", "notes"), ("t", "b")][..]][..],
        &[&[("notes", "b")], &[("b", "notes")], &[("notes", "c")]],
    ] {
        let mut world = moved(steps);
        let after = world.tree();
        let report = world.revert("m1");
        assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
        assert_eq!(
            (world.read("notes"), world.read("b")),
            (MINE.into(), SECOND.into())
        );
        world.unrevert();
        assert_eq!(world.tree(), after);
    }
}

/// What the agent wrote between the moves does not hide whose text it is.
#[test]
fn text_is_known_through_an_edit_between_renames() {
    let mut world = moved(&[&[("notes", "ideas")]]);
    world.step(|world| world.write("ideas", format!("{MINE}more\n")));
    world.step(|world| mv(world, &[("ideas", "deep")]));
    world.write("notes", "other\n");
    let report = world.revert("m1");
    assert_text_stays(&world, &report);
}

/// Copy and removal in two steps are a move.
///
/// `cp` in one step and `rm` in another is a move, too.
#[test]
fn copy_then_removal_is_a_move() {
    let mut world = World::git(&[("notes", MINE)]);
    world.turn("m1", |world| world.write("ideas", MINE));
    world.turn("m2", |world| world.remove("notes"));
    world.write("notes", "other\n");
    let report = world.revert("m1");
    assert_text_stays(&world, &report);
}

/// The part does not hold the other half: without it, the text would be in no file.
///
/// Invariant `truth/rename`.
#[test]
fn part_of_a_rename_is_held_back() {
    for other in [Some("other\n"), None] {
        let mut world = moved(&[&[("notes", "ideas")]]);
        if let Some(text) = other {
            world.write("notes", text);
        }
        let only = RevertRequest {
            only: vec![world.path("ideas")],
            ..to("m1")
        };
        let report = world.try_revert(&only).expect("it can be asked for");
        assert_text_stays(&world, &report);
        let overwrite = RevertRequest {
            on_conflict: ckpt_store::model::request::OnConflict::Overwrite,
            ..only
        };
        let report = world.try_revert(&overwrite).expect("it can be asked for");
        assert!(!world.exists("ideas"), "what was asked for: {report:#?}");
    }
}

/// Link of a chain of renames goes back alone.
///
/// A message alone: the text goes back to the name that the message took it from.
#[test]
fn one_of_several_renames_goes_back_alone() {
    let mut world = moved(&[&[("notes", "ideas")], &[], &[("ideas", "deep")]]);
    let alone = RevertRequest {
        alone: true,
        ..to("m2")
    };
    let report = world.try_revert(&alone).expect("it can be asked for");
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
    assert_eq!(world.read("ideas"), MINE);
    assert!(!world.exists("deep"));
}

/// What the agent made and moved is no text of the user's.
#[test]
fn moved_file_of_the_agents_own_goes() {
    let mut world = World::git(&[("a", "1\n")]);
    world.turn("m1", |world| world.write("made", "by the agent\n"));
    world.turn("m2", |world| mv(world, &[("made", "moved")]));
    world.write("made", "by hand\n");
    let report = world.revert("m1");
    assert!(!world.exists("moved"), "{report:#?}");
    assert_eq!(world.read("made"), "by hand\n");
}

/// A link's text is its target.
#[test]
fn moved_link_is_held_back() {
    let mut world = World::git(&[("a", "1\n")]);
    world.link("latest", "a");
    world.turn("m1", |world| mv(world, &[("latest", "newest")]));
    world.write("latest", "other\n");
    let report = world.revert("m1");
    assert!(world.exists("newest"), "{report:#?}");
    assert_eq!(report.outcome, Outcome::Partial);
}

/// What a revert held back is no difference that its undo, or the undo of that, has to explain.
#[test]
fn undo_is_compared_with_the_state_before() {
    let mut world = moved(&[&[("b", "f")]]);
    world.step(|world| world.write("made", "by the agent\n"));
    world.turn_in("s2", "n1", |world| mv(world, &[("notes", "b")]));
    let before = world.tree();
    let report = world.revert("m1");
    assert_eq!(world.read("f"), SECOND, "held back: {report:#?}");
    let after = world.tree();
    let undone = world.undo(&report.operation.expect("it was done"));
    assert_eq!(world.tree(), before);
    assert_eq!(undone.outcome, Outcome::Restored, "{undone:#?}");
    let again = world.undo(&undone.operation.expect("it was done"));
    assert_eq!(world.tree(), after);
    assert_eq!(again.outcome, Outcome::Restored, "{again:#?}");
}

/// A text that only a revert on the way brought holds nothing back: further back is the same as at once.
///
/// Invariant `truth/rename`.
#[test]
fn text_from_the_way_holds_nothing_back() {
    let mut world = moved(&[&[("notes", "b")]]);
    world.turn("m2", |world| world.write("b", "first\n"));
    world.turn_in("s2", "n1", |world| world.write("notes", "other\n"));
    world.turn("m3", |world| world.write("b", "then\n"));
    let report = world.revert("m1");
    let at_once = world.tree();
    world.undo(&report.operation.expect("it was done"));
    world.revert("m2");
    assert_eq!(world.read("b"), MINE, "as it was at that message");
    let report = world.revert("m1");
    assert_eq!(world.tree(), at_once, "{report:#?}");
    assert_eq!(world.read("b"), SECOND);
}
