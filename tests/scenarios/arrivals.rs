//! Directories that are moved into the workspace, and whatever else brings files that are older than their arrival.

use std::fs;
use std::path::PathBuf;

use ckpt_schema::report::{NoteCode, NoteReport, Outcome};
use testing::scenario::{World, set_moment};

/// The morning of the day that the tests play, in milliseconds.
const MORNING: i64 = 1_700_000_000_000;
const MINUTE: i64 = 60_000;

fn at(minute: i64) {
    set_moment(MORNING + minute * MINUTE);
}

/// A directory beside the workspace, with files that are old when the day begins.
fn elsewhere(world: &World, name: &str) -> PathBuf {
    let directory = world.base().join("elsewhere").join(name);
    fs::create_dir_all(directory.join("deep/deeper")).expect("writable");
    fs::create_dir(directory.join("empty")).expect("writable");
    fs::write(directory.join("file"), "old\n").expect("writable");
    fs::write(directory.join("deep/deeper/file"), "old and deep\n").expect("writable");
    directory
}

fn mv(from: impl AsRef<std::path::Path>, to: impl AsRef<std::path::Path>) {
    fs::rename(from, to).expect("one file system, and free");
}

fn shell(world: &mut World, begin: i64, end: i64, work: impl FnOnce(&World)) {
    at(begin);
    world.tool_start_in("s1", "t", &[]);
    at(begin + 1);
    work(world);
    at(end);
    world.tool_finish_in("s1", "t");
    world.finish();
}

/// A tool that begins at 20 s, and a directory elsewhere that was made before.
fn at_work() -> (World, PathBuf) {
    at(0);
    let mut world = World::new();
    let directory = elsewhere(&world, "dir");
    at(10);
    world.message("m1");
    at(20);
    world.tool_start_in("s1", "t", &[]);
    (world, directory)
}

/// A directory that the agent moved in goes back and comes again.
#[test]
fn directory_moved_in_goes_and_comes() {
    at(0);
    let mut world = World::new();
    world.write("own", "x\n");
    let directory = elsewhere(&world, "dir");
    let before = world.tree();
    at(10);
    world.message("m1");
    shell(&mut world, 20, 22, |world| {
        mv(&directory, world.path("dir"))
    });
    let after = world.tree();
    at(30);
    let report = world.revert("m1");
    assert_eq!(world.tree(), before, "{report:#?}");
    assert_eq!(report.outcome, Outcome::Restored);
    let note = report
        .remarks
        .iter()
        .find(|note| note.code == NoteCode::MovedIn);
    assert_eq!(
        note.map(|note| note.about.clone()),
        Some(vec!["dir".to_owned()]),
        "it does not go back to where it was: {report:#?}"
    );
    world.unrevert();
    assert_eq!(world.tree(), after, "redo brings it");
}

/// What was made here or only renamed was not moved in.
#[test]
fn made_or_renamed_here_is_not_moved_in() {
    at(0);
    let mut world = World::new();
    world.write("own", "x\n");
    world.write("one/file", "y\n");
    world.write("edited", "1\n2\n3\n4\n");
    world.write("Dir/file", "z\n");
    at(10);
    world.message("m1");
    shell(&mut world, 20, 22, |world| {
        mv(world.path("one"), world.path("two"));
        mv(world.path("own"), world.path("other"));
        mv(world.path("edited"), world.path("renamed"));
        world.write("renamed", "1\n2\n3\nfour\n");
        mv(world.path("Dir"), world.path("dir"));
        world.write("dir/file", "something else\n");
        world.write("made", "z\n");
    });
    at(30);
    let report = world.revert("m1");
    let is_told = |note: &NoteReport| note.code == NoteCode::MovedIn;
    assert!(!report.remarks.iter().any(is_told), "{report:#?}");
    assert_eq!(report.outcome, Outcome::Restored);
}

/// What an agent does to a workspace with the directory `elsewhere/dir`.
type Work = fn(&World, &std::path::Path);

/// Whatever the agent brings in goes back and comes again.
#[test]
fn anything_brought_in_goes_and_comes() {
    let ways: [(&str, Work); 9] = [
        ("a file", |world, directory| {
            mv(directory.join("file"), world.path("file"));
        }),
        ("two levels deep", |world, directory| {
            world.make_directory("new/level");
            mv(directory, world.path("new/level/dir"));
        }),
        ("into a directory that is there", |world, directory| {
            mv(directory, world.path("full/dir"));
        }),
        ("over an empty directory", |world, directory| {
            mv(directory, world.path("empty"));
        }),
        ("in place of another directory", |world, directory| {
            world.remove_tree("full");
            mv(directory, world.path("full"));
        }),
        ("in place of a file", |world, directory| {
            world.remove("own");
            mv(directory, world.path("own"));
        }),
        ("and works in it", |world, directory| {
            mv(directory, world.path("dir"));
            world.write("dir/deep/deeper/new", "x\n");
            world.write("dir/file", "changed\n");
            world.write("beside", "x\n");
        }),
        ("as a link", |world, directory| {
            world.link("link", directory);
        }),
        ("a copy that keeps its times", |world, directory| {
            let copy = |from: &std::path::Path, to: PathBuf| {
                let mut cp = std::process::Command::new("cp");
                let status = cp.arg("-a").args([from, &to]).status();
                assert!(status.expect("cp is there").success());
            };
            copy(directory, world.path("dir"));
            copy(&directory.join("file"), world.path("own"));
        }),
    ];
    for (name, work) in ways {
        for tells_of_tools in [true, false] {
            at(0);
            let mut world = World::new();
            world.write("own", "x\n");
            world.write("full/file", "the user's\n");
            world.write("full/deep/other", "the user's\n");
            world.make_directory("empty");
            let directory = elsewhere(&world, "dir");
            let before = world.tree();
            at(10);
            world.message("m1");
            if tells_of_tools {
                shell(&mut world, 20, 22, |world| work(world, &directory));
            } else {
                at(20);
                world.start();
                at(21);
                work(&world, &directory);
                at(22);
                world.finish();
            }
            let after = world.tree();
            at(30);
            let report = world.revert("m1");
            assert_eq!(world.tree(), before, "{name}: {report:#?}");
            assert_eq!(report.outcome, Outcome::Restored, "{name}");
            world.unrevert();
            assert_eq!(world.tree(), after, "{name}: redo brings it");
        }
    }
}

/// A directory that the user moved in before a tool began is the user's.
#[test]
fn directory_moved_in_before_a_tool_is_users() {
    at(0);
    let mut world = World::new();
    world.write("own", "x\n");
    let directory = elsewhere(&world, "dir");
    at(10);
    world.message("m1");
    at(12);
    mv(&directory, world.path("dir"));
    shell(&mut world, 20, 22, |world| {
        world.write("own", "the agent's\n");
        world.write("dir/made", "the agent's\n");
        world.write("dir/deep/made", "the agent's\n");
    });
    at(30);
    let report = world.revert("m1");
    assert_eq!(world.read("dir/file"), "old\n", "{report:#?}");
    assert_eq!(world.read("dir/deep/deeper/file"), "old and deep\n");
    assert!(!world.exists("dir/made") && !world.exists("dir/deep/made"));
}

/// A directory that the user moved in between two edits is the user's.
#[test]
fn directory_moved_in_between_edits_is_users() {
    at(0);
    let mut world = World::new();
    world.write("own", "x\n");
    let directory = elsewhere(&world, "dir");
    at(10);
    world.message("m1");
    at(12);
    mv(&directory, world.path("dir"));
    at(20);
    world.tool_start_in("s1", "t", &["own"]);
    world.write("own", "the agent's\n");
    world.write("dir/by hand", "x\n");
    at(21);
    world.tool_finish_in("s1", "t");
    world.finish();
    at(30);
    let report = world.revert("m1");
    assert_eq!(world.read("dir/file"), "old\n", "{report:#?}");
    assert_eq!(world.read("dir/by hand"), "x\n");
    assert_eq!(world.read("own"), "x\n");
}

/// Two shells in one step, the first from 20 to 22. The second waits for permission and runs from 40 to 42. What happens in between, and in
/// the second.
fn two_shells(world: &mut World, between: impl FnOnce(&World), second: impl FnOnce(&World)) {
    at(10);
    world.message("m1");
    at(20);
    world.tool_start_in("s1", "t1", &[]);
    at(21);
    world.write("first", "the agent's\n");
    at(22);
    world.tool_finish_in("s1", "t1");
    world.tool_start_in("s1", "t2", &[]);
    let wait = ckpt_schema::Event {
        tool_use_id: Some("t2".to_owned()),
        ..world.event(ckpt_schema::EventKind::ToolWait, "s1")
    };
    world.send(&wait);
    at(30);
    between(world);
    at(40);
    second(world);
    at(41);
    let finish = ckpt_schema::Event {
        tool_use_id: Some("t2".to_owned()),
        duration_ms: Some(MINUTE.unsigned_abs()),
        ..world.event(ckpt_schema::EventKind::ToolFinish, "s1")
    };
    world.send(&finish);
    world.finish();
    at(50);
}

/// A directory that the user moved in between two shells of a step stays and is named.
///
/// Invariant `truth/unclear`.
#[test]
fn directory_moved_in_between_shells_stays() {
    type Moved = fn(&World, &std::path::Path);
    let ways: [(&str, Moved); 3] = [
        ("from outside", |world, directory| {
            mv(directory, world.path("dir"));
        }),
        ("from another place here", |world, _| {
            mv(world.path("full"), world.path("dir"));
        }),
        ("in place of another one", |world, directory| {
            mv(world.path("full"), world.base().join("elsewhere/full"));
            mv(directory, world.path("full"));
        }),
    ];
    for (name, way) in ways {
        for works_in_it in [true, false] {
            at(0);
            let mut world = World::new();
            world.write("full/file", "the user's\n");
            world.write("full/deep/deeper/file", "the user's\n");
            let directory = elsewhere(&world, "dir");
            two_shells(
                &mut world,
                |world| way(world, &directory),
                |world| {
                    world.write("second", "the agent's\n");
                    let moved = if world.exists("dir") { "dir" } else { "full" };
                    if works_in_it {
                        world.write(format!("{moved}/made"), "the agent's\n");
                    }
                },
            );
            let report = world.revert("m1");
            let moved = if name == "in place of another one" {
                "full"
            } else {
                "dir"
            };
            for file in ["file", "deep/deeper/file"] {
                let path = format!("{moved}/{file}");
                assert!(world.exists(&path), "{name} {works_in_it}: {report:#?}");
            }
            assert!(!world.exists("first") && !world.exists("second"), "{name}");
            assert!(!world.exists(format!("{moved}/made")), "{name}");
            let unclear = report.files.iter().filter(|file| file.unclear).count();
            assert!(unclear >= 2, "{name} {works_in_it}: {report:#?}");
            assert_eq!(report.outcome, Outcome::Partial, "{name}");
        }
    }
}

/// A directory that the agent moved in with either of two shells goes back.
#[test]
fn directory_moved_in_by_a_shell_goes() {
    for is_second in [true, false] {
        for is_paused in [true, false] {
            at(0);
            let mut world = World::new();
            world.write("own", "x\n");
            let directory = elsewhere(&world, "dir");
            let before = world.tree();
            at(10);
            world.message("m1");
            at(20);
            world.tool_start_in("s1", "t1", &[]);
            at(21);
            if !is_second {
                mv(&directory, world.path("dir"));
            }
            at(22);
            world.tool_finish_in("s1", "t1");
            if is_paused {
                at(40);
            }
            world.tool_start_in("s1", "t2", &[]);
            at(41);
            if is_second {
                mv(&directory, world.path("dir"));
            }
            // What is there before a pause was looked at after it: its own time is that of the move still.
            world.write("dir/made", "x\n");
            at(42);
            world.tool_finish_in("s1", "t2");
            world.finish();
            at(50);
            let report = world.revert("m1");
            let case = format!("second {is_second}, after a pause {is_paused}");
            assert_eq!(world.tree(), before, "{case}: {report:#?}");
            assert_eq!(report.outcome, Outcome::Restored, "{case}");
        }
    }
}

/// A directory that the user moved in while a prompt stood stays.
#[test]
fn directory_moved_in_during_a_prompt_stays() {
    let (mut world, directory) = at_work();
    let wait = ckpt_schema::Event {
        tool_use_id: Some("t".to_owned()),
        ..world.event(ckpt_schema::EventKind::ToolWait, "s1")
    };
    world.send(&wait);
    at(30);
    mv(&directory, world.path("dir"));
    at(40);
    let finish = ckpt_schema::Event {
        tool_use_id: Some("t".to_owned()),
        duration_ms: Some(2_000),
        ..world.event(ckpt_schema::EventKind::ToolFinish, "s1")
    };
    world.send(&finish);
    world.finish();
    at(50);
    let report = world.revert("m1");
    assert_eq!(world.read("dir/file"), "old\n", "{report:#?}");
}

/// A directory that came after the agent was cut off stays and is named.
#[test]
fn directory_after_an_interruption_stays() {
    let (mut world, directory) = at_work();
    at(60);
    mv(&directory, world.path("dir"));
    at(80);
    world.message("m2");
    let report = world.revert("m1");
    assert_eq!(world.read("dir/file"), "old\n", "{report:#?}");
    let unclear = report.files.iter().filter(|file| file.unclear).count();
    assert_eq!(unclear, 3, "two files and an empty directory: {report:#?}");
    assert_eq!(report.outcome, Outcome::Partial);
}

/// A directory that a command in the background may have moved in is offered.
#[test]
fn directory_of_a_background_command_is_offered() {
    let (mut world, directory) = at_work();
    let finish = ckpt_schema::Event {
        tool_use_id: Some("t".to_owned()),
        background: Some(true),
        ..world.event(ckpt_schema::EventKind::ToolFinish, "s1")
    };
    at(21);
    world.send(&finish);
    world.finish();
    at(30);
    mv(&directory, world.path("dir"));
    at(40);
    let report = world.revert("m1");
    assert_eq!(world.read("dir/file"), "old\n", "{report:#?}");
    let unclear = report.files.iter().filter(|file| file.unclear).count();
    assert_eq!(unclear, 3, "{report:#?}");
}

/// What only came into view was not moved in.
#[test]
fn coming_into_view_is_not_moved_in() {
    let ways: [(&str, Work); 4] = [
        ("an ignore rule went", |world, _| {
            world.write(".gitignore", "other\n");
        }),
        ("the excludes of the repository changed", |world, _| {
            world.write(".git/info/exclude", "");
        }),
        ("the inner repository is none any more", |world, _| {
            world.remove_tree("inner/.git");
        }),
        ("it could not be entered", |world, _| {
            world.chmod("closed", 0o755);
        }),
    ];
    for (name, work) in ways {
        at(0);
        let mut world = World::git(&[("own", "x\n"), (".gitignore", "dir\nother\n")]);
        world.write(".git/info/exclude", "excluded\n");
        for directory in ["dir", "excluded", "inner", "closed"] {
            world.write(format!("{directory}/file"), "the user's\n");
            world.write(format!("{directory}/deep/file"), "the user's\n");
        }
        let mut git = world.git_command(&["init", "-q"]);
        git.current_dir(world.path("inner"));
        assert!(git.status().expect("git is there").success());
        world.chmod("closed", 0);
        at(10);
        world.message("m1");
        shell(&mut world, 20, 22, |world| {
            work(world, std::path::Path::new(""));
            world.write("made", "x\n");
        });
        at(30);
        let report = world.revert("m1");
        world.chmod("closed", 0o755);
        for directory in ["dir", "excluded", "inner", "closed"] {
            for file in ["file", "deep/file"] {
                let path = format!("{directory}/{file}");
                assert!(world.exists(&path), "{name}: {path} {report:#?}");
            }
        }
        assert!(!world.exists("made"), "{name}");
    }
}
