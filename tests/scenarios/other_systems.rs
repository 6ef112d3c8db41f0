//! The metadata of systems other than git: a repository's own, known by what it is.

use ckpt_schema::report::{FileResult, NoteCode, OperationReport};
use testing::scenario::{World, paths_with, set_clock_from_files};

use super::version_control::{about, age, in_repository};

/// The folders of systems, each with what it is known by.
pub const DIRECTORIES: [&str; 7] = [
    ".hg/requires",
    ".jj/working_copy/type",
    ".svn/wc.db",
    ".bzr/branch-format",
    "_darcs/format",
    ".pijul/pristine/db",
    "CVS/Entries",
];
pub const FILES: [&str; 2] = [".fslckout", "_FOSSIL_"];
pub const SQLITE: &str = "SQLite format 3\0";

/// Metadata of version control is left alone whatever the system.
///
/// Invariant `work/repository-metadata`.
#[test]
fn metadata_of_version_control_is_left_alone() {
    let mut world = World::new();
    for place in ["", "sub/"] {
        for name in DIRECTORIES {
            world.write(format!("{place}{name}"), "0\n");
        }
        for name in FILES {
            world.write(format!("{place}{name}"), format!("{SQLITE}0"));
        }
    }
    world.write("a", "0\n");
    world.turn("m1", |world| {
        for place in ["", "sub/", "made/"] {
            for name in DIRECTORIES {
                world.write(format!("{place}{name}"), "1\n");
                let folder = name.split('/').next().expect("a folder");
                world.write(format!("{place}{folder}/made/x"), "1\n");
            }
            for name in FILES {
                world.write(format!("{place}{name}"), format!("{SQLITE}1"));
                world.write(format!("{place}{name}-wal"), "1\n");
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
    assert!(world.status().gaps.is_empty(), "nobody expects otherwise");
}

/// Only what a system keeps there is its own.
///
/// Invariant `work/repository-metadata`.
#[test]
fn file_named_like_metadata_is_a_file() {
    let mut world = World::new();
    let paths = [
        "CVS",
        "d/_darcs",
        "_FOSSIL_/x",
        ".fslckout",
        ".hg/notes.txt",
        "sub/CVS/parser.c",
        ".svn/diagram",
    ];
    for path in paths {
        world.write(path, "0\n");
    }
    let before = world.tree();
    world.turn("m1", |world| {
        for path in paths {
            world.write(path, "1\n");
        }
        world.write(".pijul/mine", "1\n");
    });
    world.revert("m1");
    assert_eq!(world.tree(), before);
}

/// A repository tracks what looks like another system's.
#[test]
fn tracked_metadata_of_another_system_is_files() {
    let mut world = World::git(&[("fixture/.hg/requires", "0\n"), ("a", "0\n")]);
    let before = world.tree();
    world.turn("m1", |world| world.write("fixture/.hg/requires", "1\n"));
    world.revert("m1");
    assert_eq!(world.tree(), before);
}

/// Metadata that was removed or broken is named, also at the top.
///
/// Invariant `truth/repository-changes`.
#[test]
fn removed_and_broken_systems_are_named() {
    set_clock_from_files(0);
    let mut world = World::new();
    for path in [
        ".hg/requires",
        ".hg/dirstate",
        ".svn/wc.db",
        "sub/.bzr/branch-format",
    ] {
        world.write(path, "0\n");
    }
    world.write(".jj/repo/x", "0\n");
    world.write("a", "0\n");
    world.turn("m1", |world| {
        world.remove_tree(".hg");
        world.remove_tree("sub/.bzr");
        world.write(".jj/other", "left\n");
        world.remove_tree(".jj/repo");
        world.write("a", "1\n");
    });
    let report = world.revert("m1");
    assert_eq!(
        about(&report, NoteCode::RepositoryRemoved),
        [".hg", ".jj", "sub"],
        "{report:#?}"
    );
    assert_eq!(world.read(".jj/other"), "left\n", "it may be the system's");
}

/// A repository in the place of another is named whatever its age.
///
/// Invariant `truth/repository-changes`.
#[test]
fn exchanged_repositories_are_named() {
    set_clock_from_files(0);
    let mut world = World::git(&[("a", "0\n")]);
    let elsewhere = tempfile::tempdir().expect("a scratch directory");
    for name in ["folder", "pointer", "still"] {
        world.run_git(&["init", "--quiet", name]);
        world.write(format!("{name}/x"), "0\n");
        age(&world, &format!("{name}/.git"));
    }
    let other = elsewhere.path().join("other");
    world.run_git(&["init", "--quiet", other.to_str().expect("text")]);
    testing::clock::await_tick();
    testing::clock::await_tick();
    world.turn("m1", |world| {
        for name in ["folder", "pointer"] {
            let kept = elsewhere.path().join(name);
            std::fs::rename(world.path(format!("{name}/.git")), kept).expect("moved");
            world.write(format!("{name}/x"), "1\n");
        }
        std::fs::rename(other.join(".git"), world.path("folder/.git")).expect("moved");
        world.write("pointer/.git", "gitdir: ../.git\n");
    });
    let report = world.revert("m1");
    assert_eq!(
        about(&report, NoteCode::VersionControl),
        ["folder", "pointer"],
        "{report:#?}"
    );
}

/// A revert says that version control other than git moved.
#[test]
fn moved_version_control_is_reported() {
    let mut world = World::new();
    world.write(".hg/dirstate", "0\n");
    world.write(".svn/wc.db", "0\n");
    world.write("a", "0\n");
    age(&world, ".svn/wc.db");
    age(&world, ".svn");
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

/// A revert says that fossil moved and leaves its checkout and its log.
#[test]
fn moved_fossil_checkout_is_left() {
    for name in FILES {
        let mut world = World::new();
        let files = [
            name.to_owned(),
            format!("{name}-wal"),
            format!("{name}-journal"),
        ];
        for file in &files {
            world.write(file, format!("{SQLITE}0"));
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
                world.write(file, format!("{SQLITE}another version"));
            }
        });
        let report = world.revert("m2");
        assert!(is_told(&report), "{name} moved: {report:#?}");
        for file in &files {
            let kept = world.read(file);
            assert_eq!(
                kept,
                format!("{SQLITE}another version"),
                "{file} is fossil's"
            );
            age(&world, file);
        }
        let report = world.revert("m1");
        assert_eq!(world.read("a"), "0\n");
        assert!(!is_told(&report), "{name} did not: {report:#?}");
    }
}

#[test]
fn other_systems_folders_are_known_by_content() {
    set_clock_from_files(0);
    const MADE: [(&str, &str); 4] = [
        (".sl", "store/00changelog.i"),
        (".repo", "manifests.git/HEAD"),
        (".dolt", "noms/manifest"),
        ("sub/.repo", "projects/a.git/HEAD"),
    ];
    let mut world = World::new();
    for (folder, file) in MADE {
        world.write(format!("{folder}/{file}"), "0\n");
        world.write(format!("{folder}/config"), "0\n");
    }
    world.write("a", "0\n");
    world.turn("m1", |world| {
        for (folder, file) in MADE {
            world.write(format!("{folder}/{file}"), "1\n");
            world.write(format!("{folder}/more/x"), "1\n");
        }
        world.write("a", "1\n");
    });
    let report = world.revert("m1");
    let changed: Vec<_> = report.files.iter().map(|file| &file.path.path).collect();
    assert_eq!(changed, ["a"], "{report:#?}");
    for (folder, file) in MADE {
        assert_eq!(world.read(format!("{folder}/{file}")), "1\n");
        assert!(world.exists(format!("{folder}/more/x")));
    }
    let named = about(&report, NoteCode::VersionControl);
    for folder in [".sl", ".repo", ".dolt", "sub"] {
        assert!(named.contains(&folder), "{folder}: {report:#?}");
    }
}

/// A file of the user's that went from metadata is named.
///
/// Invariant `truth/repository-changes`.
#[test]
fn name_gone_from_metadata_is_named() {
    set_clock_from_files(0);
    let mut world = World::new();
    for path in [".svn/wc.db", ".svn/mine", "sub/.svn/wc.db", "a"] {
        world.write(path, "0\n");
    }
    testing::clock::await_tick();
    testing::clock::await_tick();
    world.turn("m1", |world| {
        world.write("a", "1\n");
        world.remove(".svn/mine");
    });
    let report = world.revert("m1");
    assert_eq!(
        about(&report, NoteCode::VersionControl),
        [".svn"],
        "{report:#?}"
    );
}

/// A name that went from the top of a repository below is told of, and git's own lock leaves the same trace.
///
/// Invariant `truth/repository-changes`.
#[test]
fn name_gone_from_git_below_is_told() {
    set_clock_from_files(0);
    let mut world = World::git(&[("a", "0\n")]);
    for folder in ["sub", "still"] {
        world.run_git(&["init", "--quiet", folder]);
    }
    world.write("sub/.git/mine", "0\n");
    testing::clock::await_tick();
    testing::clock::await_tick();
    world.turn("m1", |world| {
        world.write("a", "1\n");
        world.remove("sub/.git/mine");
        world.write(".git/lock", "");
        world.remove(".git/lock");
    });
    let report = world.revert("m1");
    assert_eq!(
        about(&report, NoteCode::VersionControl),
        ["sub/.git"],
        "{report:#?}"
    );
}

/// Files in metadata that are not git's to write are named.
///
/// Invariant `truth/repository-changes`.
#[test]
fn changed_hooks_and_settings_are_named() {
    set_clock_from_files(0);
    let mut world = World::git(&[("a", "0\n")]);
    world.run_git(&["init", "--quiet", "sub"]);
    world.write("sub/a", "0\n");
    world.write(".git/hooks/mine", "0\n");
    world.write("sub/.git/info/mine", "0\n");
    testing::clock::await_tick();
    testing::clock::await_tick();
    world.turn("m0", |world| {
        world.write("a", "1\n");
        in_repository(world, "sub", &["status"]);
        in_repository(world, "sub", &["add", "a"]);
        in_repository(world, "sub", &["commit", "--quiet", "-mone"]);
        in_repository(world, "sub", &["gc", "--quiet"]);
        in_repository(world, "sub", &["update-server-info"]);
        world.run_git(&["commit", "--quiet", "--allow-empty", "-mtwo"]);
    });
    let report = world.revert("m0");
    assert_eq!(
        about(&report, NoteCode::VersionControl),
        ["sub"],
        "git merely ran: {report:#?}"
    );
    world.unrevert();
    testing::clock::await_tick();
    testing::clock::await_tick();
    world.turn("m1", |world| {
        world.write("a", "2\n");
        world.write("sub/.git/hooks/pre-commit", "agent\n");
        world.write("sub/.git/theirs", "agent\n");
        in_repository(world, "sub", &["config", "core.hooksPath", "x"]);
        world.remove("sub/.git/info/mine");
        world.remove(".git/hooks/mine");
        world.write(".git/info/exclude", "agent\n");
    });
    let report = world.revert("m1");
    assert_eq!(
        about(&report, NoteCode::VersionControl),
        [
            ".git/hooks",
            ".git/info/exclude",
            "sub/.git/config",
            "sub/.git/hooks/pre-commit",
            "sub/.git/info",
            "sub/.git/theirs",
        ],
        "{report:#?}"
    );
}

/// What `GIT_DIR` names in an environment is a repository as well.
///
/// Invariant `work/repository-metadata`.
#[test]
fn repository_of_an_environment_is_never_written() {
    for is_split in [false, true] {
        let mut world = World::new();
        let git = |world: &World, arguments: &[&str]| {
            let mut git = world.git_command(arguments);
            git.env("GIT_DIR", world.path("meta/git"));
            git.env("GIT_WORK_TREE", world.path("."));
            if is_split {
                git.env("GIT_OBJECT_DIRECTORY", world.path("store"));
            }
            testing::git::text(&mut git)
        };
        let commit = |world: &World, path: &str, text: &str| {
            world.write(path, text);
            git(world, &["add", path]);
            git(world, &["commit", "--quiet", "-m", text]);
        };
        world.make_directory("meta");
        git(&world, &["init", "--quiet"]);
        commit(&world, "a", "first");
        world.turn("m1", |world| commit(world, "a", "agent"));
        commit(&world, "b", "mine");
        let report = world.revert("m1");
        assert_eq!(world.read("a"), "first");
        git(&world, &["fsck", "--strict"]);
        let log = git(&world, &["log", "--format=%s"]);
        assert_eq!(log, "mine\nagent\nfirst", "{report:#?}");
        let is_metadata = |path: &&str| path.starts_with("meta/");
        let written = paths_with(&report, FileResult::Done);
        assert_eq!(written.iter().copied().find(is_metadata), None);
        let kept = paths_with(&report, FileResult::Gap);
        assert_eq!(!kept.is_empty(), is_split, "each object: {report:#?}");
    }
}
