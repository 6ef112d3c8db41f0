//! What is not stored and has something else in its place: a repository that was made again, or lost a part, ignored
//! paths that were removed and used again, and ignored files of which the names are not remembered.

use ckpt_schema::report::{NoteCode, OperationReport, Outcome};
use ckpt_store::RevertRequest;
use testing::clock::await_tick;
use testing::scenario::{World, set_clock_from_files};

fn about(report: &OperationReport, code: NoteCode) -> Vec<&str> {
    let notes = report.remarks.iter().filter(|note| note.code == code);
    notes
        .flat_map(|note| &note.about)
        .map(String::as_str)
        .collect()
}

fn rename(world: &World, from: &str, to: &str) {
    std::fs::rename(world.path(from), world.path(to)).expect("the same file system");
}

/// A repository that was made in the place of another is not the one that was there.
#[test]
fn repository_made_again_is_another() {
    set_clock_from_files(0);
    for is_bare in [false, true] {
        let mut world = World::git(&[("a", "1\n")]);
        let make = |world: &World| {
            world.make_directory("sub");
            let kind: &[&str] = if is_bare { &["--bare"] } else { &[] };
            world.run_git(&[&["init", "-q"], kind, &["sub"]].concat());
        };
        make(&world);
        world.turn("m1", |world| {
            world.remove_tree("sub");
            await_tick();
            make(world);
        });
        let report = world.revert("m1");
        let gone = about(&report, NoteCode::RepositoryRemoved);
        assert_eq!(gone, ["sub"], "{is_bare}: {report:#?}");
        assert_eq!(about(&report, NoteCode::VersionControl), [""; 0]);
        assert_eq!(report.outcome, Outcome::Partial, "{is_bare}");
    }
}

/// A repository that stays is no other one for what is written in it.
#[test]
fn repository_that_is_used_is_the_same() {
    set_clock_from_files(0);
    let mut world = World::git(&[("a", "1\n")]);
    world.make_directory("sub");
    world.run_git(&["init", "-q", "sub"]);
    world.turn("m1", |world| {
        await_tick();
        world.run_git(&["-C", "sub", "commit", "-q", "--allow-empty", "-m", "x"]);
        world.run_git(&["-C", "sub", "gc", "-q"]);
        rename(world, "sub/.git", "moved");
        rename(world, "moved", "sub/.git");
    });
    let report = world.revert("m1");
    assert_eq!(about(&report, NoteCode::RepositoryRemoved), [""; 0]);
    assert_eq!(about(&report, NoteCode::VersionControl), ["sub"]);
    assert_eq!(report.outcome, Outcome::Nothing, "{report:#?}");
}

/// What is left of a repository that lost a part of its metadata stays: a file there may be that part.
#[test]
fn part_of_a_repository_stays_as_a_file() {
    set_clock_from_files(0);
    for (from, to) in [("HEAD", "HEAD2"), ("objects", "things"), ("refs", "others")] {
        let mut world = World::git(&[("a", "1\n")]);
        world.make_directory("x.git");
        world.run_git(&["init", "-q", "--bare", "x.git"]);
        world.run_git(&["push", "-q", "./x.git", "HEAD:refs/heads/main"]);
        world.turn("m1", |world| {
            rename(world, &format!("x.git/{from}"), &format!("x.git/{to}"));
            world.write("a", "2\n");
        });
        let left = world.tree();
        let report = world.revert("m1");
        assert_eq!(world.read("a"), "1\n");
        assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
        world.write("a", "2\n");
        assert_eq!(world.tree(), left, "{from}: {report:#?}");
        rename(&world, &format!("x.git/{to}"), &format!("x.git/{from}"));
        world.run_git(&["-C", "x.git", "fsck", "--strict"]);
    }
}

/// An ignored folder that was removed is gone, also where it was made again later.
#[test]
fn ignored_folder_made_again_is_named() {
    set_clock_from_files(0);
    let mut world = World::git(&[(".gitignore", "out/\n"), ("a", "1\n")]);
    world.write("out/u", "mine\n");
    world.turn("m1", |world| {
        world.write("a", "2\n");
        world.remove_tree("out");
    });
    await_tick();
    world.write("out/v", "again\n");
    let report = world.revert("m1");
    assert_eq!(about(&report, NoteCode::IgnoredRemoved), ["out"]);
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
}

/// An ignored folder that was moved away and back is the one that was there.
#[test]
fn ignored_folder_that_came_back_is_whole() {
    set_clock_from_files(0);
    let mut world = World::git(&[(".gitignore", "out/\n"), ("a", "1\n")]);
    world.write("out/u", "mine\n");
    let aside = world.base().join("aside");
    let out = world.path("out");
    world.turn("m1", |world| {
        world.write("a", "2\n");
        std::fs::rename(&out, &aside).expect("the same file system");
    });
    world.turn("m2", |_| std::fs::rename(&aside, &out).expect("the same"));
    let report = world.revert("m1");
    assert_eq!(
        about(&report, NoteCode::IgnoredRemoved),
        [""; 0],
        "{report:#?}"
    );
}

/// An ignored file of which the name is not remembered is named if it changed.
#[test]
fn unremembered_ignored_file_that_changed_is_named() {
    set_clock_from_files(0);
    let mut world = World::git(&[(".gitignore", "*.log\n"), ("d/a", "1\n")]);
    for number in 0..100 {
        world.write(format!("d/{number:03}.log"), "1\n");
    }
    await_tick();
    world.turn("m1", |world| {
        await_tick();
        world.write("d/099.log", "2\n");
    });
    let report = world.revert("m1");
    let told = about(&report, NoteCode::IgnoredChanged);
    assert!(told.contains(&"d/099.log"), "{report:#?}");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
}

/// A step that is undone alone names what went in it, and nothing of another step.
#[test]
fn single_step_names_what_went() {
    set_clock_from_files(0);
    let mut world = World::git(&[(".gitignore", "*.log\n"), ("a", "1\n")]);
    world.write("x.log", "mine\n");
    world.write("y.log", "mine\n");
    world.message("m1");
    let mut steps = Vec::new();
    for path in ["x.log", "y.log"] {
        let report = world.step(|world| {
            world.remove(path);
            world.write("a", path);
        });
        steps.push(report.step);
    }
    let request = RevertRequest {
        message: "m1".to_owned(),
        step: steps.pop().flatten(),
        ..RevertRequest::default()
    };
    let report = world.try_revert(&request).expect("it can be undone");
    assert_eq!(about(&report, NoteCode::IgnoredRemoved), ["y.log"]);
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
}
