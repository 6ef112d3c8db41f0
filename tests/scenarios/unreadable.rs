//! What could not be read at one of two snapshots: named, never anybody's clean change, and no reason to take what it hides.

use ckpt_schema::report::{FileResult, OperationKind, OperationReport, Outcome};
use ckpt_store::RevertRequest;

use testing::nobody::as_nobody;
use testing::scenario::{World, paths_with, to};

/// Edits below a directory that cannot be read do not disappear from a revert that went well.
///
/// Invariant `truth/unreadable-directory`.
#[test]
fn edits_below_an_unreadable_directory_are_reported() {
    as_nobody(
        "unreadable::edits_below_an_unreadable_directory_are_reported",
        edits_below,
    );
}

fn edits_below() {
    for is_open_again in [true, false] {
        let mut world = World::new();
        world.write("d/edited", "0\n");
        world.write("d/e/same", "0\n");
        world.write("beside", "0\n");
        world.message("m1");
        let finish = world.step(|world| {
            world.write("d/edited", "1\n");
            world.write("d/made", "1\n");
            world.write("beside", "1\n");
            world.chmod("d", 0o000);
        });
        let gaps = finish.gaps.expect("a snapshot was taken");
        assert_eq!(gaps, 1, "the step names the directory");
        if is_open_again {
            world.chmod("d", 0o755);
        }
        let report = world.revert("m1");
        world.chmod("d", 0o755);
        assert_eq!(world.read("beside"), "0\n", "the rest goes back");
        assert_eq!(
            report.outcome,
            Outcome::Partial,
            "open again: {is_open_again}: {report:?}"
        );
        let named = paths_with(&report, FileResult::Gap);
        assert!(named.contains(&"d/edited"), "{named:?}");
        assert_eq!(world.read("d/edited"), "1\n", "nobody knows whose it is");
        assert_eq!(world.read("d/e/same"), "0\n", "as it was");
        assert!(
            !is_open_again || !named.contains(&"d/e/same"),
            "what is as it was before is no gap: {named:?}"
        );
    }
}

/// What was made below a directory that could not be read is told of at the revert.
///
/// Invariant `truth/unreadable-directory`.
#[test]
fn new_files_below_an_unreadable_directory_are_reported() {
    as_nobody(
        "unreadable::new_files_below_an_unreadable_directory_are_reported",
        made_below,
    );
}

fn made_below() {
    // Before the step, after it, both, or all the time: whether that is told apart from what is as it always was.
    for (at_start, at_finish, is_partial) in
        [(false, true, true), (true, false, true), (true, true, true)]
    {
        let mut world = World::new();
        world.write("d/old", "0\n");
        world.write("beside", "0\n");
        let close = |world: &World, is_closed| {
            world.chmod("d", if is_closed { 0o000 } else { 0o755 });
        };
        close(&world, at_start);
        world.message("m1");
        world.start();
        close(&world, false);
        world.write("d/made", "1\n");
        world.write("beside", "1\n");
        close(&world, at_finish);
        world.finish();
        close(&world, false);
        let report = world.revert("m1");
        assert_eq!(world.read("d/made"), "1\n", "nobody saw who made it");
        assert_eq!(
            (report.outcome == Outcome::Partial, world.read("beside")),
            (is_partial, "0\n".to_owned()),
            "{at_start} {at_finish}: {report:?}"
        );
        assert!(
            report.notes.iter().any(|note| note.contains("`d` (")),
            "the directory is named: {:?}",
            report.notes
        );
        let again = world.revert("m1");
        assert_ne!(again.outcome, Outcome::Restored, "nor is it well then");
    }
    // One that can never be read is named, and makes no revert a partial one.
    let mut world = World::new();
    world.write("d/old", "0\n");
    world.chmod("d", 0o000);
    world.turn("m1", |world| world.write("beside", "1\n"));
    let report = world.revert("m1");
    world.chmod("d", 0o755);
    assert_eq!(report.outcome, Outcome::Restored, "{report:?}");
    assert!(
        report.notes.iter().any(|note| note.contains("`d` (")),
        "{report:?}"
    );
}

/// A directory that cannot be read for a while within a step hides nothing.
#[test]
fn briefly_unreadable_directory_hides_nothing() {
    as_nobody(
        "unreadable::briefly_unreadable_directory_hides_nothing",
        || {
            let mut world = World::new();
            world.write("d/edited", "0\n");
            world.write("d/same", "0\n");
            let old = world.tree();
            world.message("m1");
            world.start();
            world.write("d/edited", "1\n");
            world.chmod("d", 0o000);
            world.snapshot();
            world.chmod("d", 0o755);
            world.finish();
            let report = world.revert("m1");
            assert_eq!(
                (report.outcome, world.tree()),
                (Outcome::Restored, old),
                "the snapshots around it hold all: {report:?}"
            );
            assert_eq!(report.files.len(), 1, "{report:?}");
        },
    );
}

/// An ignore file that cannot be read hides what it hid.
///
/// Invariant `truth/unreadable-ignore-file`: An unreadable ignore file does not count as empty.
#[test]
fn unreadable_ignore_file_hides_what_it_hid() {
    as_nobody(
        "unreadable::unreadable_ignore_file_hides_what_it_hid",
        || {
            for directory in ["", "d/", "d/e/"] {
                let mut world = World::new();
                let ignore = format!("{directory}.gitignore");
                let [secret, made, seen] =
                    ["x/secret", "x/made", "y/seen"].map(|name| format!("{directory}{name}"));
                world.write(&ignore, "x/\n");
                world.write(&secret, "0\n");
                world.message("m1");
                world.step(|world| {
                    world.write(&seen, "1\n");
                    world.chmod(&ignore, 0o000);
                });
                world.message("m2");
                world.step(|world| {
                    world.write(&secret, "1\n");
                    world.write(&made, "1\n");
                    world.write(&seen, "2\n");
                });
                let report = world.revert("m2");
                assert_eq!(
                    (world.read(&secret), world.read(&made), world.read(&seen)),
                    ("1\n".to_owned(), "1\n".to_owned(), "1\n".to_owned()),
                    "what is ignored is nobody's to take, and all else goes back: {report:?}"
                );
                world.unrevert();
                world.chmod(&ignore, 0o644);
                world.message("m3");
                world.step(|world| world.write("z", "1\n"));
                world.revert("m1");
                assert!(
                    world.exists(&secret) && world.exists(&made) && !world.exists(&seen),
                    "nor when it can be read again"
                );
            }
        },
    );
}

/// An ignore file that nobody ever read may hide everything beside it.
///
/// Invariant `truth/unreadable-ignore-file`.
#[test]
fn never_read_ignore_file_may_hide_everything() {
    as_nobody(
        "unreadable::never_read_ignore_file_may_hide_everything",
        || {
            let mut world = World::new();
            world.write("d/.gitignore", "x/\n");
            world.write("d/x/secret", "0\n");
            world.chmod("d/.gitignore", 0o000);
            let capture = world.capture();
            assert_eq!(
                capture
                    .gaps
                    .iter()
                    .map(|gap| gap.path.path.as_str())
                    .collect::<Vec<_>>(),
                ["d/.gitignore"],
                "it is named"
            );
            world.message("m1");
            world.step(|world| {
                world.write("d/x/secret", "1\n");
                world.write("d/x/made", "1\n");
            });
            world.chmod("d/.gitignore", 0o644);
            world.message("m2");
            world.step(|world| world.write("z", "1\n"));
            world.revert("m1");
            assert_eq!(world.read("d/x/secret"), "1\n", "it is not ours to know");
            assert!(world.exists("d/x/made"), "nor this");
        },
    );
}

/// A file with ignore rules outside the workspace's tree: its path, what it says, and what else has to be there.
type Source = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const OUTER_RULES: [Source; 4] = [
    ("code/.git/info/exclude", "x/\n", &[]),
    ("home/.config/git/ignore", "x/\n", &[]),
    (
        "code/.git/config",
        "[core]\n\texcludesFile = ~/mine\n",
        &[("home/mine", "x/\n")],
    ),
    (
        "home/.gitconfig",
        "[core]\n\texcludesFile = ~/mine\n",
        &[("home/mine", "x/\n")],
    ),
];

/// Makes a repository that has an ignored file, by one of the sources.
fn with_outer_rules((file, text, more): Source) -> (World, std::path::PathBuf) {
    let world = World::git(&[("tracked", "0\n")]);
    for (file, text) in more.iter().chain(&[(file, text)]) {
        let path = world.base().join(file);
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("ours");
        std::fs::write(path, text).expect("ours");
    }
    world.write("x/secret", "0\n");
    let file = world.base().join(file);
    (world, file)
}

fn close(file: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).expect("ours");
}

/// Excludes outside the tree that cannot be read hide what they hid.
///
/// Invariant `truth/unreadable-ignore-file`.
#[test]
fn unreadable_excludes_hide_what_they_hid() {
    as_nobody("unreadable::unreadable_excludes_hide_what_they_hid", || {
        for source in OUTER_RULES {
            let (mut world, file) = with_outer_rules(source);
            world.message("m1");
            world.step(|world| {
                world.write("y/seen", "1\n");
                close(&file, 0o000);
            });
            world.message("m2");
            world.step(|world| {
                world.write("x/secret", "1\n");
                world.write("x/made", "1\n");
                world.write("y/seen", "2\n");
            });
            let said = format!("{:?}", world.status().latest_diagnostics);
            assert!(
                said.matches(source.0).count() == 1,
                "{source:?} is said, and once: {said}"
            );
            let report = world.revert("m2");
            let read = |name| world.read(name);
            assert_eq!(
                (read("x/secret"), read("x/made"), read("y/seen")),
                ("1\n".to_owned(), "1\n".to_owned(), "1\n".to_owned()),
                "{source:?}: what is ignored is nobody's to take: {report:?}"
            );
            world.unrevert();
            close(&file, 0o644);
            world.message("m3");
            world.step(|world| world.write("z", "1\n"));
            world.revert("m1");
            assert!(
                world.exists("x/secret") && world.exists("x/made") && !world.exists("y/seen"),
                "{source:?}: nor when it can be read again"
            );
        }
    });
}

/// Excludes outside the tree that nobody ever read may hide everything that git does not track.
///
/// Invariant `truth/unreadable-ignore-file`.
#[test]
fn never_read_excludes_may_hide_untracked_files() {
    as_nobody(
        "unreadable::never_read_excludes_may_hide_untracked_files",
        || {
            for source in &OUTER_RULES[..2] {
                let (mut world, file) = with_outer_rules(*source);
                close(&file, 0o000);
                world.message("m1");
                world.step(|world| {
                    world.write("x/secret", "1\n");
                    world.write("tracked", "1\n");
                });
                world.revert("m1");
                assert_eq!(
                    world.read("x/secret"),
                    "1\n",
                    "{source:?}: it is not ours to know"
                );
                assert_eq!(world.read("tracked"), "0\n", "what git tracks is in view");
            }
        },
    );
}

/// What a closed directory keeps has a way out, which leads there once the directory is open.
///
/// Invariant `truth/way-out`.
#[test]
fn way_out_of_a_closed_directory_works() {
    as_nobody(
        "unreadable::way_out_of_a_closed_directory_works",
        way_out_once_open,
    );
}

fn way_out_once_open() {
    let begin = || {
        let mut world = World::new();
        world.write("d/f", "0\n");
        world.write("beside", "0\n");
        let before = world.tree();
        world.turn("m1", |world| {
            world.write("d/f", "agent\n");
            world.write("beside", "agent\n");
        });
        (world, before)
    };
    let way = |report: &OperationReport| {
        assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
        let way = report.kept.first().and_then(|kept| kept.way.clone());
        let way = way.unwrap_or_else(|| panic!("there is one: {report:#?}"));
        assert_eq!(way.parameters.only.len(), 1, "{report:#?}");
        assert!(way.first.is_some(), "{report:#?}");
        way.parameters
    };
    let (mut world, before) = begin();
    world.chmod("d", 0o000);
    let report = world.revert("m1");
    let again = way(&report);
    world.chmod("d", 0o755);
    assert_eq!(again.operation, OperationKind::Revert);
    let only = RevertRequest {
        only: vec![world.path("d/f")],
        ..to("m1")
    };
    world.try_revert(&only).expect("it is open");
    assert_eq!(world.tree(), before);

    let (mut world, _) = begin();
    let after = world.tree();
    world.revert("m1");
    world.chmod("d", 0o000);
    let report = world.unrevert();
    let again = way(&report);
    world.chmod("d", 0o755);
    assert_eq!(again.operation, OperationKind::Restore);
    let id = again.id.expect("the state");
    world.restore(&id, &["d/f"]);
    assert_eq!(world.tree(), after);
}
