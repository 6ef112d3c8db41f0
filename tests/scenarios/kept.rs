//! Small ignored files that a snapshot holds all the same: what people write by hand, keep out of git, and cannot make again.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ckpt_schema::report::{FileResult, Outcome, ShowReport};
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

/// An ignored file that a command overwrote has its bytes again.
#[test]
fn overwritten_ignored_file_has_its_bytes_again() {
    let mut world = world();
    world.turn("m1", |world| world.write(".env", "SECRET=\n"));
    world.revert("m1");
    assert_eq!(world.read(".env"), "SECRET=1\n", "as it was");
}

/// What the user wrote between steps into an ignored file stays.
#[test]
fn users_ignored_edit_between_steps_stays() {
    let mut world = world();
    world.turn("m1", |world| world.write("a", "2\n"));
    world.write(".env", "SECRET=mine\n");
    world.turn("m2", |world| world.write("a", "3\n"));
    world.revert("m1");
    assert_eq!(world.read("a"), "1\n", "the agent's goes back");
    assert_eq!(world.read(".env"), "SECRET=mine\n", "the user's does not");
}

/// A folder with the name of an ignored file is not captured.
///
/// Invariant `truth/ignored-small`.
#[test]
fn folder_named_like_a_kept_file_is_uncaptured() {
    let mut world = World::git(&[(".gitignore", ".env\n"), ("a", "1\n")]);
    world.write(".env/bin/python", "large\n");
    world.write(".env/lib/cacert.pem", "no one's\n");
    let report = world.turn("m1", clean);
    assert_eq!(report.changes, Some(0), "a virtual environment is ignored");
    assert_eq!(world.status().gaps, [], "and nobody misses it");
    world.revert("m1");
    assert!(!world.exists(".env"), "nothing is half back");
}

/// What a snapshot does not hold is shown with it, whatever its name is.
#[test]
fn gaps_are_shown_with_their_snapshot() {
    let mut world = world();
    let name = OsStr::from_bytes(b"\xff.pem");
    std::fs::write(world.root.join(name), [b'x'; (64 << 10) + 1]).expect("writable");
    let snapshot = world.snapshot();
    let cwd = world.cwd.clone();
    let report = world.store.show(&cwd, &snapshot).expect("it is shown");
    let ShowReport::Snapshot { gaps, .. } = report else {
        panic!("it is a snapshot: {report:?}");
    };
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    assert_eq!(gaps[0].path.path_hex.as_deref(), Some("ff2e70656d"));
    assert_eq!(world.status().gaps, gaps, "the newest has the same");
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

/// Of many ignored files in a directory the rest is named.
#[test]
fn rest_of_many_ignored_files_is_named() {
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

/// What a new list brings into view or takes from it is nobodys.
///
/// Invariant `truth/ignored-small`.
#[test]
fn changed_list_is_no_change_of_files() {
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

/// A restore of a snapshot from before the list leaves ignored files alone.
#[test]
fn restore_from_before_the_list_spares_ignored_files() {
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

/// An ignored file over the limit that an edit tool names is put back.
#[test]
fn overlarge_ignored_file_named_by_a_tool_returns() {
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
