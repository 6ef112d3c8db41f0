//! The metadata of version control is a repository's own, whichever system it is of.

use ckpt_schema::report::{DifferenceDetail, FileResult, NoteCode, OperationReport, Outcome};
use ckpt_store::RevertRequest;
use testing::scenario::{World, paths_with, set_clock_from_files, to};

#[test]
fn fossil_repository_stays_and_is_named() {
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
pub fn age(world: &World, path: &str) {
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
pub fn about(report: &OperationReport, code: NoteCode) -> Vec<&str> {
    let notes = report.remarks.iter().filter(|note| note.code == code);
    let about = notes.flat_map(|note| &note.about);
    about.map(String::as_str).collect()
}

/// A repository that was made below is named although nothing else is in it.
/// The checkouts of a repository of CVS refer to the revisions in its files.
#[test]
fn file_of_cvs_stays_and_is_named() {
    let with = |revision: u8| format!("head\t1.{revision};\naccess;\n");
    let mut world = World::new();
    for path in ["root/a,v", "notes,v", "a"] {
        world.write(path, "a text\n");
    }
    world.write("root/a,v", with(1));
    world.turn("m1", |world| {
        world.write("root/a,v", with(2));
        world.write("root/new,v", with(1));
        world.write("notes,v", "an agent's\n");
        world.write("a", "1\n");
    });
    let report = world.revert("m1");
    assert_eq!(world.read("a"), "a text\n");
    assert_eq!(world.read("notes,v"), "a text\n", "only the name is RCS's");
    assert_eq!(world.read("root/a,v"), with(2), "{report:#?}");
    let kept = paths_with(&report, FileResult::Conflict);
    assert_eq!(kept, ["root/a,v", "root/new,v"]);
}

/// What `svnadmin create` makes: commits are in it, also the user's.
///
/// Invariant `truth/ignored-named`.
#[test]
fn subversion_repository_stays_and_is_named() {
    let mut world = World::new();
    for file in [
        "format",
        "conf/svnserve.conf",
        "db/current",
        "hooks/x",
        "locks/db.lock",
    ] {
        world.write(format!("central/{file}"), "0\n");
    }
    world.write("a", "0\n");
    world.turn("m1", |world| {
        world.write("central/db/current", "1\n");
        world.write("central/db/revs/0/1", "1\n");
        world.write("a", "1\n");
    });
    let report = world.revert("m1");
    assert_eq!(world.read("a"), "0\n");
    assert_eq!(world.read("central/db/current"), "1\n", "{report:#?}");
    assert_eq!(
        paths_with(&report, FileResult::Conflict),
        ["central/db/current", "central/db/revs/0/1"]
    );
    let reason = report.files.iter().find_map(|file| file.reason.as_deref());
    assert!(reason.is_some_and(|reason| reason.contains("Subversion")));
}

#[test]
fn lone_new_repository_below_is_named() {
    set_clock_from_files(0);
    let mut world = World::git(&[("a", "0\n")]);
    world.make_directory("users");
    world.run_git(&["init", "--quiet", "users"]);
    world.turn("m1", |world| {
        world.run_git(&["init", "--quiet", "made/here"]);
        world.write("made/mercurial/.hg/requires", "1\n");
    });
    let report = world.revert("m1");
    assert_eq!(
        about(&report, NoteCode::RepositoriesBelow),
        ["made/here", "made/mercurial"]
    );
    assert!(world.exists("made/here/.git/HEAD"), "no snapshot holds it");
}

/// Invariant `truth/ignored-named`.
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
fn only_moved_repositories_below_are_named() {
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
        ["branches", "commits", "hg", "unlogged", "tidied/.git"],
        "{report:#?}"
    );
}

/// Runs git in a repository below the workspace's.
pub fn in_repository(world: &World, folder: &str, arguments: &[&str]) -> String {
    let place = world.path(folder);
    let place = place.to_str().expect("text");
    world.run_git(&[&["-C", place], arguments].concat())
}

/// Checks a repository as git does, and returns how many commits a branch of it has.
fn commits(world: &World, git_dir: &str) -> usize {
    let git_dir = format!("--git-dir={git_dir}");
    world.run_git(&[&git_dir, "fsck", "--strict", "--no-dangling"]);
    let log = world.run_git(&[&git_dir, "log", "--format=%h", "HEAD"]);
    log.lines().count()
}

/// A repository with a commit in a work tree at the root whose metadata is elsewhere in it.
fn apart(git_dir: &str, pointer: impl FnOnce(&World)) -> World {
    let world = World::new();
    world.make_directory("deep/er");
    world.run_git(&["init", "--quiet", "--separate-git-dir", git_dir, "."]);
    pointer(&world);
    world.write("a", "0\n");
    world.run_git(&["add", "a"]);
    world.run_git(&["commit", "--quiet", "-mfirst"]);
    world
}

/// What git points to is never written whatever it is called.
///
/// Invariant `work/repository-metadata`: A repository's metadata is neither captured nor
/// written, whatever it is called, and nothing else is taken for it.
#[test]
fn gits_targets_are_never_written() {
    let is_file = |_: &World| {};
    let is_link = |world: &World| {
        world.remove(".git");
        world.link(".git", "meta");
    };
    for (git_dir, pointer) in [
        (".bare", &is_file as &dyn Fn(&World)),
        ("deep/er/meta", &is_file),
        ("meta", &is_link),
    ] {
        let mut world = apart(git_dir, pointer);
        world.turn("m1", |world| {
            world.write("a", "1\n");
            world.run_git(&["commit", "--quiet", "-amagent"]);
        });
        world.write("b", "mine\n");
        world.run_git(&["add", "b"]);
        world.run_git(&["commit", "--quiet", "-mmine"]);
        let report = world.revert("m1");
        assert_eq!(world.read("a"), "0\n", "{git_dir}");
        assert_eq!(commits(&world, git_dir), 3, "{git_dir}: {report:#?}");
        let below = |file: &&ckpt_schema::report::FileReport| {
            file.path.path.starts_with(&format!("{git_dir}/"))
        };
        assert_eq!(report.files.iter().filter(below).count(), 0, "{report:#?}");
        world.unrevert();
        assert_eq!(commits(&world, git_dir), 3, "{git_dir}");
    }
}

/// Invariant `work/repository-metadata`.
#[test]
fn bare_repository_is_not_written() {
    set_clock_from_files(0);
    let mut world = World::new();
    world.run_git(&["init", "--quiet", "--bare", "remote.git"]);
    let empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    let in_bare = "--git-dir=remote.git";
    world.run_git(&[in_bare, "hash-object", "-wt", "tree", "/dev/null"]);
    let first = world.run_git(&[in_bare, "commit-tree", "-mfirst", empty]);
    let head = world.run_git(&[in_bare, "symbolic-ref", "HEAD"]);
    world.run_git(&[in_bare, "update-ref", head.trim(), first.trim()]);
    world.run_git(&[
        in_bare,
        "worktree",
        "add",
        "--quiet",
        "-b",
        "topic",
        "remote.git/tree",
    ]);
    world.write("remote.git/tree/a", "0\n");
    world.write("remote.git/mine.txt", "0\n");
    world.turn("m1", |world| {
        world.write("remote.git/tree/a", "1\n");
        world.write("remote.git/mine.txt", "1\n");
        world.write("remote.git/hooks/post-commit", "agent\n");
        in_repository(world, "remote.git/tree", &["add", "a"]);
        in_repository(world, "remote.git/tree", &["commit", "--quiet", "-magent"]);
    });
    let report = world.revert("m1");
    assert_eq!(world.read("remote.git/tree/a"), "0\n", "{report:#?}");
    assert_eq!(
        world.read("remote.git/mine.txt"),
        "0\n",
        "it is no file of git's"
    );
    assert!(world.exists("remote.git/hooks/post-commit"));
    world.run_git(&[in_bare, "fsck", "--strict"]);
    let topic = world.run_git(&[in_bare, "log", "--format=%s", "topic"]);
    assert_eq!(topic, "agent\nfirst");
    assert!(
        about(&report, NoteCode::VersionControl).contains(&"remote.git"),
        "{report:#?}"
    );
}

/// A repository without a name is named when it comes changes or goes.
///
/// Invariant `truth/repository-changes`: A repository whose metadata came, went or changed with
/// a step is named.
#[test]
fn nameless_repositorys_changes_are_named() {
    set_clock_from_files(0);
    let mut world = World::git(&[("a", "0\n")]);
    for name in ["still.git", "changed", "gone.git"] {
        world.run_git(&["init", "--quiet", "--bare", name]);
    }
    world.turn("m0", |_| {});
    world.turn("m1", |world| {
        world.run_git(&["init", "--quiet", "--bare", "made.git"]);
        world.write("changed/objects/payload.sh", "agent\n");
        world.remove_tree("gone.git");
        world.write("a", "1\n");
    });
    let report = world.revert("m1");
    assert_eq!(world.read("a"), "0\n");
    assert_eq!(about(&report, NoteCode::RepositoriesBelow), ["made.git"]);
    assert_eq!(
        about(&report, NoteCode::VersionControl),
        ["changed"],
        "{report:#?}"
    );
    assert_eq!(
        about(&report, NoteCode::RepositoryRemoved),
        ["gone.git"],
        "{report:#?}"
    );
    let gaps = world.status().gaps;
    let gaps: Vec<_> = gaps.iter().map(|gap| &gap.path.path[..]).collect();
    assert_eq!(gaps, ["changed", "made.git", "still.git"]);
}

/// Invariant `work/repository-metadata`.
#[test]
fn folder_becoming_a_repository_hides_nothing() {
    let mut world = World::new();
    world.write("src/a", "0\n");
    world.write("src/below/b", "0\n");
    let before = world.tree();
    world.turn("m1", |world| {
        world.write("src/a", "1\n");
        world.write("src/new", "1\n");
        world.run_git(&["init", "--quiet", "--bare", "src"]);
    });
    world.turn("m2", |world| world.write("src/below/b", "1\n"));
    world.revert("m1");
    let mut after = world.tree();
    after.retain(|path, _| before.contains_key(path) || path.ends_with("new"));
    assert_eq!(after, before);
    assert!(world.exists("src/HEAD"), "what git made stays");
}

/// Invariant `work/repository-metadata`.
#[test]
fn repository_names_without_head_are_files() {
    let mut world = World::new();
    for (path, text) in [
        ("src/HEAD", "the head of the list\n"),
        ("src/objects/x", "0\n"),
        ("src/refs/y", "0\n"),
        ("work/HEAD", "ref: refs/heads/main\n"),
        ("work/objects/x", "0\n"),
        ("work/refs/y", "0\n"),
        (".repo/mine.txt", "0\n"),
        (".sl/mine.txt", "0\n"),
    ] {
        world.write(path, text);
    }
    // A folder with a `.git` is a work tree, whatever else is in it.
    world.run_git(&["init", "--quiet", "work"]);
    let before = world.tree();
    world.turn("m1", |world| {
        for path in [
            "src/HEAD",
            "src/objects/x",
            "src/refs/y",
            "work/objects/x",
            ".repo/mine.txt",
            ".sl/mine.txt",
        ] {
            world.write(path, "1\n");
        }
    });
    world.revert("m1");
    assert_eq!(world.tree(), before);
}

/// Invariant `truth/repository-changes`.
#[test]
fn removed_look_alikes_of_git_are_named() {
    let mut world = World::new();
    world.write(".GIT", "0\n");
    world.write("sub/git~1/config", "0\n");
    world.write("sub/a", "0\n");
    world.turn("m1", |world| {
        world.remove(".GIT");
        world.remove_tree("sub/git~1");
        world.write("sub/a", "1\n");
    });
    let report = world.revert("m1");
    assert_eq!(
        about(&report, NoteCode::NotCaptured),
        [".GIT", "sub/git~1"],
        "{report:#?}"
    );
}

/// Invariant `work/repository-metadata`.
#[test]
fn files_before_a_repository_are_left_alone() {
    set_clock_from_files(0);
    let mut world = World::new();
    world.run_git(&["init", "--quiet", "--bare", "x.git"]);
    let head = world.read("x.git/HEAD");
    world.write("x.git/HEAD", "not yet\n");
    world.turn("m1", |world| {
        world.write("x.git/config", "[core]\n\tbare = true\n");
        world.write("x.git/objects/info/alternates", "");
    });
    world.write("x.git/HEAD", &head);
    world.write("x.git/new", "so that the folder is listed again\n");
    let report = world.revert("m1");
    assert!(world.exists("x.git/objects/info/alternates"), "{report:#?}");
    world.run_git(&["--git-dir=x.git", "fsck", "--strict"]);
    assert!(
        about(&report, NoteCode::VersionControl).contains(&"x.git"),
        "{report:#?}"
    );
}

/// What a snapshot holds comes back, or is named: here neither as a file nor as a repository's.
///
/// Invariant `truth/became-metadata`: A stored file that is in a repository by now, and differs, makes a revert partial.
#[test]
fn stored_file_in_a_new_repository_is_named() {
    for is_changed in [false, true] {
        for by_user in [false, true] {
            let mut world = World::new();
            for path in [".svn/mine", "x/hooks/mine", "a"] {
                world.write(path, "0\n");
            }
            let make = |world: &World| {
                world.write(".svn/entries", "12\n");
                world.run_git(&["init", "--quiet", "--bare", "x"]);
            };
            world.turn("m1", |world| {
                world.write("a", "1\n");
                if is_changed {
                    world.write(".svn/mine", "1\n");
                    world.remove("x/hooks/mine");
                }
                if !by_user {
                    make(world);
                }
            });
            if by_user {
                make(&world);
            }
            let report = world.revert("m1");
            assert_eq!(world.read("a"), "0\n");
            // A repository that the agent made stays.
            let expected = match is_changed || !by_user {
                true => Outcome::Partial,
                false => Outcome::Restored,
            };
            assert_eq!(report.outcome, expected, "{by_user}: {report:#?}");
            let receipt = report.receipt.expect("a comparison");
            let named = receipt.differences.iter();
            let named = named.filter(|it| it.detail == Some(DifferenceDetail::Different));
            let named: Vec<&str> = named.map(|it| &it.path.path[..]).collect();
            let expected: &[&str] = match is_changed {
                true => &[".svn/mine", "x/hooks/mine"],
                false => &[],
            };
            assert_eq!(named, expected, "{by_user}: {:#?}", receipt.differences);
        }
    }
}

/// Invariant `truth/repository-changes`.
#[test]
fn repositories_beside_a_part_are_named() {
    for (only, is_step) in [
        (&[][..], false),
        (&["p"], false),
        (&["p/a"], false),
        (&[], true),
    ] {
        set_clock_from_files(0);
        let mut world = World::new();
        world.write("p/a", "0\n");
        world.run_git(&["init", "--quiet", "p"]);
        in_repository(&world, "p", &["add", "a"]);
        in_repository(&world, "p", &["commit", "--quiet", "-mfirst"]);
        let turn = world.turn("m1", |world| {
            world.write("p/a", "1\n");
            in_repository(world, "p", &["commit", "--quiet", "-amagent"]);
        });
        let request = match is_step {
            true => RevertRequest {
                step: turn.step,
                ..RevertRequest::default()
            },
            false => RevertRequest {
                alone: only.is_empty(),
                only: only.iter().map(Into::into).collect(),
                ..to("m1")
            },
        };
        let report = world.try_revert(&request).expect("a part of it");
        assert_eq!(world.read("p/a"), "0\n");
        let named = about(&report, NoteCode::VersionControl);
        let is_asked = only != &["p/a"][..];
        assert_eq!(named.contains(&"p"), is_asked, "{only:?}: {report:#?}");
    }
}

#[test]
fn linked_repositorys_move_is_named() {
    set_clock_from_files(0);
    let mut world = World::new();
    world.write(".repo/manifest.xml", "<manifest/>\n");
    world.write("app/a", "0\n");
    world.run_git(&["init", "--quiet", "app"]);
    world.make_directory(".repo/projects");
    std::fs::rename(world.path("app/.git"), world.path(".repo/projects/app.git")).expect("moved");
    world.link("app/.git", "../.repo/projects/app.git");
    in_repository(&world, "app", &["add", "a"]);
    in_repository(&world, "app", &["commit", "--quiet", "-mfirst"]);
    world.turn("m1", |world| {
        world.write("app/a", "1\n");
        in_repository(world, "app", &["commit", "--quiet", "-amagent"]);
    });
    world.write("app/b", "mine\n");
    in_repository(&world, "app", &["add", "b"]);
    in_repository(&world, "app", &["commit", "--quiet", "-mmine"]);
    let report = world.revert("m1");
    assert_eq!(world.read("app/a"), "0\n");
    in_repository(&world, "app", &["fsck", "--strict"]);
    assert_eq!(
        in_repository(&world, "app", &["log", "--format=%s"]),
        "mine\nagent\nfirst"
    );
    let named = about(&report, NoteCode::VersionControl);
    assert!(
        named.contains(&"app") && named.contains(&".repo"),
        "{report:#?}"
    );
}

#[test]
fn broken_repository_keeps_its_folders() {
    set_clock_from_files(0);
    let mut world = World::new();
    world.run_git(&["init", "--quiet", "--bare", "x.git"]);
    world.write("x.git/mine.txt", "0\n");
    world.turn("m1", |world| {
        world.remove_tree("x.git/refs");
        world.write("x.git/mine.txt", "1\n");
        world.write("x.git/objects/payload", "1\n");
    });
    let report = world.revert("m1");
    assert_eq!(world.read("x.git/mine.txt"), "0\n");
    assert!(world.exists("x.git/objects/info") && world.exists("x.git/objects/pack"));
    assert_eq!(
        about(&report, NoteCode::RepositoryRemoved),
        ["x.git"],
        "{report:#?}"
    );
    world.make_directory("x.git/refs");
    world.run_git(&["--git-dir=x.git", "fsck", "--strict"]);
}

/// The harness of these tests compares every repository after an operation.
#[test]
#[should_panic(expected = "a repository is never written to")]
fn harness_sees_a_written_repository() {
    let world = World::git(&[("a", "mine\n")]);
    let intact = testing::intact::Intact::of(&world.root);
    world.write(".git/refs/heads/other", world.read(".git/refs/heads/main"));
    intact.assert_still(false);
}
