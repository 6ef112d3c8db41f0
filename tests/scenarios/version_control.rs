//! The metadata of version control is a repository's own, whichever system it is of.

use ckpt_schema::report::{FileResult, NoteCode, OperationReport, Outcome};
use ckpt_store::RevertRequest;
use testing::scenario::{World, paths_with, set_clock_from_files, to};

const DIRECTORIES: [&str; 7] = [".hg", ".jj", ".svn", ".bzr", "_darcs", ".pijul", "CVS"];
const FILES: [&str; 2] = [".fslckout", "_FOSSIL_"];

#[test]
fn the_metadata_of_version_control_is_neither_captured_nor_reverted() {
    let mut world = World::new();
    for place in ["", "sub/"] {
        for name in DIRECTORIES {
            world.write(format!("{place}{name}/state"), "0\n");
        }
        for name in FILES {
            world.write(format!("{place}{name}"), "0\n");
        }
    }
    world.write("a", "0\n");
    world.turn("m1", |world| {
        for place in ["", "sub/", "made/"] {
            for name in DIRECTORIES {
                world.write(format!("{place}{name}/state"), "1\n");
                world.write(format!("{place}{name}/made"), "1\n");
            }
            for name in FILES {
                world.write(format!("{place}{name}"), "1\n");
            }
        }
        world.write("a", "1\n");
    });
    let mut now = world.tree();
    let report = world.revert("m1");
    let changed: Vec<_> = report.files.iter().map(|file| &file.path.path).collect();
    assert_eq!(changed, ["a"], "nothing else is spoken of");
    let reverted = world.tree();
    now.retain(|path, _| path != std::path::Path::new("a"));
    for (path, node) in &now {
        assert_eq!(reverted.get(path), Some(node), "{}", path.display());
    }
}

#[test]
fn a_file_named_like_a_directory_of_version_control_is_a_file() {
    let mut world = World::new();
    world.write("CVS", "0\n");
    world.write("d/_darcs", "0\n");
    let before = world.tree();
    world.turn("m1", |world| {
        world.write("CVS", "1\n");
        world.write("d/_darcs", "1\n");
        world.write("_FOSSIL_/x", "1\n");
    });
    world.revert("m1");
    assert_eq!(world.tree(), before, "each kind has its own names");
}

#[test]
fn a_revert_says_that_version_control_other_than_git_moved() {
    let mut world = World::new();
    world.write(".hg/dirstate", "0\n");
    world.write(".svn/wc.db", "0\n");
    world.write("a", "0\n");
    age(&world, ".svn/wc.db");
    world.turn("m1", |world| {
        world.write("a", "1\n");
        world.write(".hg/dirstate", "another parent\n");
    });
    let report = world.revert("m1");
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("`.hg`") && !note.contains("`.svn`")),
        "what moved, and nothing else: {report:?}"
    );
}

#[test]
fn a_revert_says_that_fossil_moved_and_leaves_its_checkout_and_its_log() {
    for name in FILES {
        let mut world = World::new();
        let files = [
            name.to_owned(),
            format!("{name}-wal"),
            format!("{name}-journal"),
        ];
        for file in &files {
            world.write(file, "0\n");
        }
        world.write("a", "0\n");
        let is_told = |report: &OperationReport| {
            let mut notes = report.notes.iter();
            notes.any(|note| note.contains(&format!("`{name}`")))
        };
        for file in &files {
            age(&world, file);
        }
        world.turn("m1", |world| world.write("a", "1\n"));
        world.turn("m2", |world| {
            world.write("a", "2\n");
            for file in &files {
                world.write(file, "another version\n");
            }
        });
        let report = world.revert("m2");
        assert!(is_told(&report), "{name} moved: {report:#?}");
        for file in &files {
            assert_eq!(world.read(file), "another version\n", "{file} is fossil's");
            age(&world, file);
        }
        let report = world.revert("m1");
        assert_eq!(world.read("a"), "0\n");
        assert!(!is_told(&report), "{name} did not: {report:#?}");
    }
}

#[test]
fn a_repository_of_fossil_in_the_workspace_stays_and_is_named() {
    let fossil = |text: &str| {
        let mut bytes = b"SQLite format 3\0".to_vec();
        bytes.resize(68, 0);
        bytes.extend([0x0f, 0x05, 0x51, 0x12]);
        bytes.extend(text.as_bytes());
        bytes
    };
    let mut world = World::new();
    world.write("x.fossil", fossil("one check-in"));
    world.write("notes.fossil", "a text\n");
    world.write("a", "0\n");
    world.turn("m1", |world| {
        world.write("x.fossil", fossil("two check-ins"));
        world.write("notes.fossil", "an agent's\n");
        world.write("a", "1\n");
    });
    let report = world.revert("m1");
    assert_eq!(world.read("a"), "0\n");
    assert_eq!(
        world.read("notes.fossil"),
        "a text\n",
        "only the name is fossil's"
    );
    let kept = std::fs::read(world.path("x.fossil")).expect("it is there");
    assert_eq!(kept, fossil("two check-ins"), "its checkouts refer to both");
    assert_eq!(paths_with(&report, FileResult::Conflict), ["x.fossil"]);
    assert_eq!(
        report.outcome,
        Outcome::Partial,
        "and it is told: {report:#?}"
    );
}

/// Gives a file, or all in a directory, a time before the world's clock begins.
fn age(world: &World, path: &str) {
    let at = world.path(path);
    if at.is_dir() {
        for entry in std::fs::read_dir(&at).expect("readable") {
            let name = entry.expect("readable").file_name();
            age(world, &format!("{path}/{}", name.to_string_lossy()));
        }
    }
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let file = std::fs::File::open(world.path(path)).expect("it is there");
    file.set_modified(long_ago).expect("it is ours");
}

/// What the notes of one kind are about.
fn about(report: &OperationReport, code: NoteCode) -> Vec<&str> {
    let notes = report.remarks.iter().filter(|note| note.code == code);
    let about = notes.flat_map(|note| &note.about);
    about.map(String::as_str).collect()
}

#[test]
fn a_repository_that_was_made_below_is_named_although_nothing_else_is_in_it() {
    set_clock_from_files(0);
    let mut world = World::git(&[("a", "0\n")]);
    world.make_directory("users");
    world.run_git(&["init", "--quiet", "users"]);
    world.turn("m1", |world| {
        world.run_git(&["init", "--quiet", "made/here"]);
        world.write("made/mercurial/.hg/state", "1\n");
    });
    let report = world.revert("m1");
    assert_eq!(
        about(&report, NoteCode::RepositoriesBelow),
        ["made/here", "made/mercurial"]
    );
    assert!(world.exists("made/here/.git/HEAD"), "no snapshot holds it");
}

#[test]
fn a_repository_below_that_was_removed_is_named() {
    set_clock_from_files(0);
    let mut world = World::git(&[("a", "0\n")]);
    world.run_git(&["init", "--quiet", "vendor/sub"]);
    world.write("vendor/sub/f", "0\n");
    world.run_git(&["init", "--quiet", "vendor/stays"]);
    world.turn("m1", |world| world.remove_tree("vendor/sub"));
    let report = world.revert("m1");
    assert_eq!(world.read("vendor/sub/f"), "0\n");
    assert_eq!(about(&report, NoteCode::RepositoryRemoved), ["vendor/sub"]);
    assert_eq!(about(&report, NoteCode::IgnoredRemoved), [""; 0]);
}

#[test]
fn repositories_below_that_moved_are_named_and_others_are_not() {
    let mut world = World::git(&[("a", "0\n")]);
    for folder in ["still", "commits", "branches", "tidied", "unlogged"] {
        world.write(format!("{folder}/x"), "0\n");
        world.run_git(&["init", "--quiet", folder]);
        in_repository(&world, folder, &["add", "x"]);
        let long_ago = "alias.then=!GIT_COMMITTER_DATE='@1000000000 +0000' git commit -qmfirst";
        in_repository(&world, folder, &["-c", long_ago, "then"]);
        age(&world, &format!("{folder}/.git"));
    }
    in_repository(
        &world,
        "unlogged",
        &["config", "core.logAllRefUpdates", "false"],
    );
    world.remove_tree("unlogged/.git/logs");
    world.write("hg/.hg/dirstate", "0\n");
    age(&world, "hg/.hg");
    set_clock_from_files(0);
    world.turn("m1", |world| {
        world.write("a", "1\n");
        for folder in ["commits", "unlogged"] {
            world.write(format!("{folder}/x"), "1\n");
            in_repository(world, folder, &["commit", "--quiet", "-amsecond"]);
        }
        in_repository(world, "branches", &["branch", "other"]);
        in_repository(world, "tidied", &["gc", "--quiet"]);
        world.write("hg/.hg/dirstate", "another parent\n");
        world.run_git(&["init", "--quiet", "made"]);
    });
    let heads = in_repository(&world, "commits", &["rev-parse", "HEAD"]);
    let dry = world
        .try_revert(&RevertRequest {
            dry_run: true,
            ..to("m1")
        })
        .expect("it is planned");
    let report = world.revert("m1");
    assert_eq!(dry.notes, report.notes, "the plan says so, too");
    assert_eq!(world.read("commits/x"), "0\n", "the file went back");
    assert_eq!(
        in_repository(&world, "commits", &["rev-parse", "HEAD"]),
        heads,
        "and the commit stays"
    );
    assert_eq!(
        about(&report, NoteCode::VersionControl),
        ["branches", "commits", "hg", "unlogged"],
        "{report:#?}"
    );
}

/// Runs git in a repository below the workspace's.
fn in_repository(world: &World, folder: &str, arguments: &[&str]) -> String {
    let place = world.path(folder);
    let place = place.to_str().expect("text");
    world.run_git(&[&["-C", place], arguments].concat())
}
