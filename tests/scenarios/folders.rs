//! A folder that became something else, and was emptied since: the state before the message comes back whole.

use ckpt_schema::report::{FileResult, Outcome};
use ckpt_store::OnConflict;

use testing::scenario::{World, to_with};
use testing::tree::Tree;

/// What the agent makes of `d`, one message each.
type Work = fn(&World);

fn empty(world: &World) {
    if world
        .path("d")
        .symlink_metadata()
        .is_ok_and(|found| found.is_dir())
    {
        world.remove_tree("d");
    } else if world.exists("d") {
        world.remove("d");
    }
}

fn a_file(world: &World) {
    empty(world);
    world.write("d", "a file\n");
}

fn a_link(world: &World) {
    empty(world);
    world.link("d", "a");
}

fn a_link_to_a_folder(world: &World) {
    empty(world);
    world.link("d", "other");
}

fn another_tree(world: &World) {
    empty(world);
    world.write("d/x/inner", "a folder where a file was\n");
    world.write("d/new", "new\n");
}

fn an_empty_folder(world: &World) {
    empty(world);
    world.make_directory("d");
}

fn an_empty_tree(world: &World) {
    empty(world);
    world.make_directory("d/x/y");
    world.make_directory("d/deep");
}

fn ignored(world: &World) {
    world.write(".gitignore", "d/\n*.tmp\n");
    if world
        .path("d")
        .symlink_metadata()
        .is_ok_and(|found| found.is_dir())
    {
        world.write("d/hidden.tmp", "ignored\n");
    }
}

fn unignored(world: &World) {
    world.write(".gitignore", "");
}

const WORKS: [Work; 9] = [
    empty,
    a_file,
    a_link,
    a_link_to_a_folder,
    another_tree,
    an_empty_folder,
    an_empty_tree,
    ignored,
    unignored,
];

fn world() -> World {
    let world = World::new();
    for (path, text) in [
        ("a", "1\n"),
        (".gitignore", "*.log\n"),
        ("other/o", "1\n"),
        ("d/x", "1\n"),
        ("d/deep/er/y", "1\n"),
        ("d/run", "#!/bin/sh\n"),
    ] {
        world.write(path, text);
    }
    world.chmod("d/run", 0o755);
    world.make_directory("d/hollow");
    world
}

/// What a revert cannot know of: content that was ignored when it came.
fn without_ignored(mut tree: Tree) -> Tree {
    tree.retain(|path, _| path.extension().is_none_or(|extension| extension != "tmp"));
    tree
}

fn check(works: &[usize], on_conflict: OnConflict, steps: &[usize]) {
    let mut world = world();
    let before = world.tree();
    for (number, work) in works.iter().enumerate() {
        world.turn(&format!("m{number}"), |world| WORKS[*work](world));
    }
    let after = world.tree();
    let what = format!("{works:?} {on_conflict:?} {steps:?}");
    let mut reports = Vec::new();
    for step in steps {
        let message = format!("m{step}");
        let report = world.try_revert(&to_with(&message, on_conflict));
        reports.push(report.unwrap_or_else(|error| panic!("{what}: {error}")));
    }
    // A file that became a folder while it was hidden: nobody knows what is in there, so it is named.
    if works[0] == 7 && matches!(works.get(1), Some(4 | 6)) {
        let report = reports.last().expect("one");
        let named = report.files.iter().find(|file| file.path.path == "d/x");
        assert!(
            named.is_some_and(|file| file.result != FileResult::Done),
            "{what}: {report:?}"
        );
    // What an ignored file keeps in being is neither captured nor removed.
    } else if !works.contains(&7) {
        assert_eq!(world.tree(), before, "{what}: {reports:?}");
        assert_ne!(
            reports.last().expect("one").outcome,
            Outcome::Partial,
            "{what}: {reports:?}"
        );
    } else {
        let (now, then) = (without_ignored(world.tree()), without_ignored(before));
        for (path, node) in then {
            assert_eq!(now.get(&path), Some(&node), "{what}: {path:?}: {reports:?}");
        }
    }
    let back = world.unrevert();
    assert_eq!(
        without_ignored(world.tree()),
        without_ignored(after),
        "{what}: {back:?}"
    );
}

#[test]
fn a_folder_that_became_anything_comes_back_whole() {
    for work in 0..WORKS.len() {
        for on_conflict in [OnConflict::Merge, OnConflict::Overwrite] {
            check(&[work], on_conflict, &[0]);
        }
    }
}

/// A folder that became one thing after another comes back whole.
#[test]
fn folder_that_became_anything_comes_back() {
    for first in 0..WORKS.len() {
        for second in (0..WORKS.len()).filter(|second| *second != first) {
            match (first + second) % 2 {
                0 => check(&[first, second], OnConflict::Merge, &[0]),
                _ => check(&[first, second], OnConflict::Overwrite, &[1, 0]),
            }
        }
    }
}

/// A folder that became something and was emptied since comes back whole.
#[test]
fn emptied_folder_that_became_anything_comes_back() {
    for (number, work) in WORKS[1..WORKS.len() - 2].iter().enumerate() {
        let mut world = world();
        let before = world.tree();
        world.turn("m0", work);
        empty(&world);
        let report = world
            .try_revert(&to_with("m0", OnConflict::Overwrite))
            .expect("it can be reverted");
        assert_eq!(world.tree(), before, "{number}: {report:?}");
    }
}

/// Empty folders that only the agent made go however many messages it took.
#[test]
fn agents_empty_folders_go_after_many_messages() {
    let works: [&[Work]; 4] = [
        &[
            |world| world.make_directory("n/e/w"),
            |world| world.make_directory("n/other"),
        ],
        &[
            |world| world.write("n/e/w/f", "1\n"),
            |world| world.remove("n/e/w/f"),
        ],
        &[
            |world| world.write("n/x.log", "ignored\n"),
            |world| world.write("n/e/f", "1\n"),
            |world| {
                world.remove("n/x.log");
                world.remove("n/e/f");
            },
        ],
        &[
            |world| world.make_directory("n/e/w"),
            |world| world.write("n/e/w/f", "1\n"),
            |world| world.remove("n/e/w/f"),
            |world| world.make_directory("n/e/w/v"),
        ],
    ];
    for (case, works) in works.iter().enumerate() {
        for one_by_one in [false, true] {
            let mut world = world();
            let before = world.tree();
            for (number, work) in works.iter().enumerate() {
                world.turn(&format!("m{number}"), work);
            }
            let after = world.tree();
            let mut reports = Vec::new();
            let first = if one_by_one { works.len() - 1 } else { 0 };
            for number in (0..=first).rev() {
                reports.push(world.revert(&format!("m{number}")));
            }
            assert_eq!(world.tree(), before, "{case} {one_by_one}: {reports:?}");
            world.unrevert();
            assert_eq!(world.tree(), after, "{case} {one_by_one}: and back");
        }
    }
}

#[test]
fn an_empty_folder_of_the_users_stays() {
    let mut world = world();
    world.make_directory("mine");
    world.turn("m0", |world| world.write("mine/f", "1\n"));
    world.turn("m1", |world| world.remove("mine/f"));
    world.make_directory("mine/too");
    world.revert("m0");
    assert!(world.exists("mine/too"), "nobody else made it");
}

/// A folder that was filled and emptied gives way to the file or link that was there before.
#[test]
fn filled_and_emptied_folder_gives_way() {
    let mut world = World::new();
    world.write("d", "file\n");
    world.turn("m1", |world| {
        world.remove("d");
        world.link("d", "elsewhere");
    });
    world.turn("m2", |world| {
        world.remove("d");
        world.write("d/o", "x\n");
    });
    world.turn("m3", |world| world.remove("d/o"));
    let after = world.tree();
    for (message, kind) in [("m1", "file"), ("m2", "link")] {
        let report = world.revert(message);
        assert_eq!(report.outcome, Outcome::Restored, "{kind}: {report:#?}");
        let found = world.path("d").symlink_metadata().expect("it is back");
        assert_eq!(found.is_symlink(), kind == "link");
        let report = world.unrevert();
        assert_eq!(world.tree(), after, "{kind}: {report:#?}");
    }
}
