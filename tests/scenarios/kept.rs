//! Small ignored files that a snapshot holds all the same: what people write by hand, keep out of git, and cannot make again.

use std::path::Path;

use ckpt_schema::report::{FileResult, Outcome};
use ckpt_store::Settings;

use testing::scenario::{World, paths_with};

/// A repository in which the environment, certificates and a build are ignored.
fn world() -> World {
    let rules = ".env\n*.pem\nsettings.json\n/build/\n";
    let world = World::git(&[(".gitignore", rules), ("a", "1\n")]);
    world.write(".env", "SECRET=1\n");
    world
}

fn keeping(patterns: &[&str]) -> Settings {
    Settings {
        keep_ignored: patterns.iter().map(|&pattern| pattern.to_owned()).collect(),
        ..Settings::default()
    }
}

fn clean(world: &World) {
    world.run_git(&["clean", "-fdxq"]);
}

/// Invariant `truth/ignored-small`: Small ignored files that people wrote come back, those over
/// the limits are named, and a change of `keep_ignored` is nobody's.
#[test]
fn ignored_configuration_that_a_command_removed_comes_back() {
    let mut world = world();
    world.chmod(".env", 0o600);
    world.write("certs/own.pem", "private\n");
    world.write(".vscode/settings.json", "{}\n");
    world.link("sub/.env", "../.env");
    let before = world.tree();
    world.write("build/.env", "made\n");
    let report = world.turn("m1", clean);
    assert!(!world.exists(".env"), "git took it");
    assert_eq!(report.changes, Some(4), "and it is known");
    let after = world.tree();
    let report = world.revert("m1");
    assert_eq!(
        world.tree(),
        before,
        "bytes and modes, and nothing of the folder that is ignored as a whole: {report:?}"
    );
    assert_eq!(
        paths_with(&report, FileResult::Done),
        [".env", ".vscode/settings.json", "certs/own.pem", "sub/.env"],
        "each is named"
    );
    world.unrevert();
    assert_eq!(world.tree(), after, "and there is a way back");
}

#[test]
fn an_ignored_file_that_a_command_overwrote_has_its_bytes_again() {
    let mut world = world();
    world.turn("m1", |world| world.write(".env", "SECRET=\n"));
    world.revert("m1");
    assert_eq!(world.read(".env"), "SECRET=1\n", "as it was");
}

#[test]
fn what_the_user_wrote_between_steps_into_an_ignored_file_stays() {
    let mut world = world();
    world.turn("m1", |world| world.write("a", "2\n"));
    world.write(".env", "SECRET=mine\n");
    world.turn("m2", |world| world.write("a", "3\n"));
    world.revert("m1");
    assert_eq!(world.read("a"), "1\n", "the agent's goes back");
    assert_eq!(world.read(".env"), "SECRET=mine\n", "the user's does not");
}

/// Invariant `truth/ignored-small`.
#[test]
fn a_folder_with_the_name_of_an_ignored_file_is_not_captured() {
    let mut world = World::git(&[(".gitignore", ".env\n"), ("a", "1\n")]);
    world.write(".env/bin/python", "large\n");
    world.write(".env/lib/cacert.pem", "no one's\n");
    let report = world.turn("m1", clean);
    assert_eq!(report.changes, Some(0), "a virtual environment is ignored");
    assert_eq!(world.status().gaps, [], "and nobody misses it");
    world.revert("m1");
    assert!(!world.exists(".env"), "nothing is half back");
}

/// Invariant `truth/ignored-small`.
#[test]
fn an_ignored_file_over_the_limit_is_named() {
    let mut world = world();
    world.write("big.pem", vec![b'x'; (64 << 10) + 1]);
    world.write("limit.pem", vec![b'x'; 64 << 10]);
    world.snapshot();
    let gaps = world.status().gaps;
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    assert_eq!(gaps[0].path.path, "big.pem", "one byte too many");
    assert!(gaps[0].reason.contains("keep_ignored"), "{gaps:?}");
    world.turn("m1", clean);
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Partial, "not all is back");
    assert_eq!(
        paths_with(&report, FileResult::Gap),
        ["big.pem"],
        "which is said: {report:?}"
    );
    assert!(world.exists("limit.pem"), "what was captured is back");
}

#[test]
fn of_many_ignored_files_in_a_directory_the_rest_is_named() {
    let mut world = world();
    for number in 0..70 {
        world.write(format!("many/{number:02}.pem"), "x\n");
    }
    world.turn("m1", clean);
    let report = world.revert("m1");
    let missing = paths_with(&report, FileResult::Gap);
    assert_eq!(
        missing,
        ["64", "65", "66", "67", "68", "69"].map(|number| format!("many/{number}.pem")),
        "those after 64"
    );
    assert!(world.exists("many/63.pem"), "the others are back");
}

#[test]
fn an_empty_list_keeps_nothing() {
    let mut world = world();
    world.reopen(keeping(&[]));
    let report = world.turn("m1", clean);
    assert_eq!(report.changes, Some(0), "nobody looked at it");
    world.revert("m1");
    assert!(!world.exists(".env"), "as if there were no list");
}

/// Invariant `truth/ignored-small`.
#[test]
fn what_a_new_list_brings_into_view_or_takes_from_it_is_nobodys() {
    for (old, new) in [(&[][..], &[".env"][..]), (&[".env"], &[])] {
        let mut world = world();
        world.reopen(keeping(old));
        world.message("m1");
        world.start();
        world.write("a", "2\n");
        let before = world.stamp(".env");
        world.reopen(keeping(new));
        let report = world.finish();
        assert_eq!(report.changes, Some(1), "the agent changed one file");
        let report = world.revert("m1");
        assert_eq!(world.read("a"), "1\n", "which goes back: {report:?}");
        assert_eq!(world.stamp(".env"), before, "and nothing else");
    }
}

#[test]
fn a_restore_of_a_snapshot_from_before_the_list_leaves_ignored_files_alone() {
    let mut world = world();
    world.reopen(keeping(&[]));
    let snapshot = world.snapshot();
    world.reopen(Settings::default());
    world.write("a", "2\n");
    let before = world.stamp(".env");
    world.restore(&snapshot, &[]);
    assert_eq!(world.read("a"), "1\n", "what it holds is back");
    assert_eq!(world.stamp(".env"), before, "what it did not look at stays");
}

#[test]
fn what_is_excluded_is_not_kept() {
    let mut world = world();
    world.reopen(Settings {
        exclude: vec![".env".to_owned()],
        ..Settings::default()
    });
    let report = world.turn("m1", clean);
    assert_eq!(report.changes, Some(0), "the user does not want it stored");
}

#[test]
fn an_ignored_file_over_the_limit_that_an_edit_tool_names_is_put_back() {
    let mut world = world();
    let large = "x".repeat(100 << 10);
    world.write(".env", &large);
    world.message("m1");
    world.tool_start_in("s1", "t1", &[".env"]);
    world.write(".env", "small\n");
    world.tool_finish_in("s1", "t1");
    world.finish();
    world.revert("m1");
    assert!(world.read(".env") == large, "its bytes were captured");
    assert!(world.path(Path::new(".env")).is_file(), "as a file");
    let findings = world.store.check(None);
    let errors = findings.iter().filter(|finding| finding.level == "error");
    assert_eq!(
        errors.count(),
        0,
        "no snapshot has it, and no row is wrong: {findings:?}"
    );
}
