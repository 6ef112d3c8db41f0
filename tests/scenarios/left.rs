//! What a revert leaves of the agent's that is no file of the plan is told in one line, once.

use std::fs;
use std::path::PathBuf;

use ckpt_schema::report::{NoteCode, OperationReport};
use ckpt_schema::{Event, EventKind, ToolKind};
use ckpt_store::RevertRequest;

use testing::clock::{await_second, await_tick};
use testing::scenario::{World, set_clock_from_files, to};

fn told<'a>(report: &'a OperationReport, text: &str) -> Vec<&'a String> {
    let notes = report.notes.iter();
    notes.filter(|note| note.contains(text)).collect()
}

#[test]
fn a_repository_that_was_removed_is_told_of() {
    let mut world = World::git(&[("a", "1\n")]);
    world.turn("m1", |world| {
        world.write("a", "2\n");
        world.remove_tree(".git");
    });
    let report = world.revert("m1");
    let removed = told(&report, "`.git` has been removed");
    assert_eq!(removed.len(), 1, "{report:?}");
}

/// A repository that was removed and made again is told of.
#[test]
fn remade_repository_is_reported() {
    for packs in [false, true] {
        let mut world = World::git(&[("a", "1\n")]);
        if packs {
            world.run_git(&["gc", "-q"]);
        }
        let lost = world.run_git(&["rev-parse", "HEAD"]);
        let text = format!("commit {} was git's HEAD then", &lost.trim()[..8]);
        world.turn("m1", |world| {
            world.write("a", "2\n");
            world.run_git(&["commit", "-qam", "second"]);
        });
        world.turn("m2", |world| {
            world.write("a", "3\n");
            world.remove_tree(".git");
            world.run_git(&["init", "-q", "-b", "main"]);
            world.run_git(&["add", "-A"]);
            world.run_git(&["commit", "-qm", "anew"]);
        });
        let report = world.revert("m1");
        assert_eq!(told(&report, &text).len(), 1, "{report:#?}");
        let mut world = World::git(&[("a", "1\n")]);
        world.turn("m1", |world| {
            world.write("a", "2\n");
            world.run_git(&["commit", "-qam", "second"]);
        });
        let report = world.revert("m1");
        assert_eq!(told(&report, "was git's HEAD then").len(), 0, "{report:#?}");
    }
}

#[test]
fn made_repository_is_reported_and_stays() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.turn("m1", |world| {
        world.write("a", "2\n");
        world.run_git(&["init", "-q"]);
    });
    let report = world.revert("m1");
    assert_eq!(told(&report, "its `.git` stays").len(), 1, "{report:?}");
    assert!(world.exists(".git"), "nothing below it is touched");
}

#[test]
fn cloned_repository_keeps_its_folder() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.turn("m1", |world| {
        world.write("lib/code", "cloned\n");
        world.write("lib/.git/HEAD", "ref: refs/heads/main\n");
    });
    let report = world.revert("m1");
    assert!(!world.exists("lib/code"), "what was captured goes");
    assert_eq!(told(&report, "`lib`").len(), 1, "{report:?}");
}

/// A folder that stays because of ignored content is told of in a dry run as well.
#[test]
fn dry_run_reports_a_folder_of_ignored_content() {
    let mut world = World::new();
    world.write(".gitignore", "*.log\n");
    world.turn("m1", |world| {
        world.write("out/made", "agent\n");
        world.write("out/run.log", "ignored\n");
    });
    let request = RevertRequest {
        dry_run: true,
        ..to("m1")
    };
    let planned = world.try_revert(&request).expect("it can be planned");
    let report = world.revert("m1");
    for report in [&planned, &report] {
        assert_eq!(told(report, "`out` (`run.log`)").len(), 1, "{report:?}");
    }
    assert!(world.exists("out/run.log"), "nobody stored it");
}

#[test]
fn unfinished_merge_is_reported_without_git() {
    let mut world = World::git(&[("a", "1\n")]);
    world.run_git(&["checkout", "-q", "-b", "side"]);
    world.write("a", "side\n");
    world.run_git(&["commit", "-q", "-am", "side"]);
    world.run_git(&["checkout", "-q", "main"]);
    world.write("a", "main\n");
    world.run_git(&["commit", "-q", "-am", "main"]);
    world.turn("m1", |world| {
        let merged = world.git_command(&["merge", "side"]).output();
        assert!(!merged.expect("git runs").status.success(), "a conflict");
    });
    let report = world.revert("m1");
    assert_eq!(world.read("a"), "main\n", "the file is back");
    assert_eq!(
        told(&report, "in the middle of a merge").len(),
        1,
        "{report:?}"
    );
}

#[test]
fn a_submodule_that_moved_is_told_of() {
    let mut world = World::git(&[("a", "1\n")]);
    world.turn("m1", |world| {
        world.write("a", "2\n");
        let folder = world.path(".git/modules/libs/one");
        fs::create_dir_all(&folder).expect("writable");
        fs::write(folder.join("HEAD"), "ref: refs/heads/main\n").expect("writable");
    });
    let report = world.revert("m1");
    assert_eq!(told(&report, "`libs/one`").len(), 1, "{report:?}");
}

#[test]
fn commit_in_a_submodule_is_reported() {
    let mut world = World::git(&[("a", "1\n")]);
    let module = world.path(".git/modules/lib");
    fs::create_dir_all(module.join("logs")).expect("writable");
    fs::write(module.join("HEAD"), "ref: refs/heads/main\n").expect("writable");
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let head = fs::File::open(module.join("HEAD")).expect("it is there");
    head.set_modified(long_ago).expect("ours");
    world.turn("m1", |world| {
        world.write("a", "2\n");
        fs::write(module.join("logs/HEAD"), "a line\n").expect("writable");
    });
    let report = world.revert("m1");
    assert_eq!(told(&report, "`lib`").len(), 1, "{report:?}");
}

#[test]
fn made_submodule_is_reported_once() {
    let mut world = World::git(&[("a", "1\n")]);
    world.turn("m1", |world| {
        let module = world.path(".git/modules/libs/one");
        fs::create_dir_all(&module).expect("writable");
        fs::write(module.join("HEAD"), "ref: refs/heads/main\n").expect("writable");
        world.write("libs/one/code", "cloned\n");
        world.write("libs/one/.git", "gitdir: ../../.git/modules/libs/one\n");
    });
    let report = world.revert("m1");
    assert!(!world.exists("libs/one/code"), "what was captured goes");
    assert_eq!(told(&report, "`libs/one`").len(), 1, "{report:?}");
}

#[test]
fn work_in_another_workspace_since_is_told_of() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.turn("m1", |world| world.write("a", "2\n"));
    let other = world.base().join("other");
    fs::create_dir_all(&other).expect("writable");
    let event = |kind| Event {
        cwd: Some(other.clone()),
        ..Event::new(kind, "generic", "s1")
    };
    world.send(&Event {
        message_id: Some("n1".to_owned()),
        ..event(EventKind::UserMessage)
    });
    world.send(&event(EventKind::StepStart));
    fs::write(other.join("made"), "agent\n").expect("writable");
    world.send(&event(EventKind::StepFinish));
    let report = world.revert("m1");
    let name = other.display().to_string();
    assert_eq!(told(&report, &name).len(), 1, "{report:?}");
    assert!(
        other.join("made").exists(),
        "it is reverted there, or not at all"
    );
}

#[test]
fn edited_files_outside_are_reported() {
    let mut world = World::new();
    world.write("a", "1\n");
    let outside = world.base().join("elsewhere.txt");
    world.message("m1");
    world.start();
    let tool = Event {
        tool_use_id: Some("t1".to_owned()),
        tool_name: Some("Edit".to_owned()),
        tool_kind: Some(ToolKind::Edit),
        paths: vec![PathBuf::from("a"), outside.clone()],
        ..world.event(EventKind::ToolStart, "s1")
    };
    world.send(&tool);
    world.write("a", "2\n");
    fs::write(&outside, "agent\n").expect("writable");
    world.finish();
    let report = world.revert("m1");
    assert_eq!(world.read("a"), "1\n", "what is in it goes back");
    let name = outside.display().to_string();
    assert_eq!(told(&report, &name).len(), 1, "{report:?}");
}

#[test]
fn command_outside_in_the_turn_is_reported() {
    let mut world = World::new();
    world.write("a", "1\n");
    let outside = world.base().join("elsewhere");
    fs::create_dir_all(&outside).expect("writable");
    world.message("m1");
    world.start();
    let tool = Event {
        tool_use_id: Some("t1".to_owned()),
        tool_name: Some("Bash".to_owned()),
        cwd: Some(outside.clone()),
        ..world.event(EventKind::ToolStart, "s1")
    };
    world.send(&tool);
    world.write("a", "2\n");
    world.finish();
    let report = world.revert("m1");
    let name = outside.display().to_string();
    assert_eq!(told(&report, &name).len(), 1, "{report:?}");
}

#[test]
fn every_true_move_has_its_note() {
    let mut world = World::git(&[("a", "1\n")]);
    world.turn("m1", |world| world.write("a", "2\n"));
    world.turn("m2", |world| {
        world.write("a", "3\n");
        world.run_git(&["checkout", "-q", "-b", "side"]);
    });
    let first = world.revert("m2");
    assert!(!told(&first, "HEAD").is_empty(), "{first:?}");
    let second = world.revert("m1");
    assert_eq!(told(&second, "HEAD was").len(), 1, "{second:?}");
    let back = world.unrevert();
    assert_eq!(told(&back, "HEAD was"), Vec::<&String>::new(), "{back:?}");
}

#[test]
fn failing_dry_run_beside_an_agent_says_both() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.turn("m1", |world| world.write("a", "2\n"));
    world.message("m2");
    world.start();
    let request = RevertRequest {
        dry_run: true,
        only: vec![PathBuf::from("nothing")],
        ..to("m1")
    };
    let error = world
        .try_revert(&request)
        .expect_err("nothing changed there");
    let text = error.to_string();
    assert!(text.contains("`nothing`"), "why it fails: {text}");
    assert!(
        text.contains("at work"),
        "and that it would be refused: {text}"
    );
}

/// Runs a shell as a tool of a step.
fn shell(world: &mut World, line: &str) {
    let start = Event {
        tool_use_id: Some("t".to_owned()),
        tool_command: Some(line.to_owned()),
        ..world.event(EventKind::ToolStart, "s1")
    };
    world.send(&start);
    let status = std::process::Command::new("sh")
        .args(["-c", line])
        .current_dir(world.path(""))
        .status();
    assert!(status.expect("a shell").success(), "{line}");
    world.tool_finish_in("s1", "t");
    world.finish();
}

#[test]
fn ignored_files_removed_by_a_shell_are_reported() {
    let line = "touch new && cd web && rm -rf dist ../node_modules/*";
    set_clock_from_files(0);
    let mut world = World::git(&[(".gitignore", ".env\nnode_modules\ndist/\n")]);
    for (path, text) in [
        ("node_modules/a/file", "x\n"),
        ("web/dist/page", "x\n"),
        ("web/page", "x\n"),
    ] {
        world.write(path, text);
    }
    world.message("m1");
    shell(&mut world, line);
    let report = world.revert("m1");
    assert!(!world.exists("new"), "what is captured goes back");
    let changed =
        "an ignored path changed while the agent worked, and stays as it is: `node_modules/`";
    assert_eq!(told(&report, changed).len(), 1, "{report:#?}");
    assert_eq!(told(&report, "is gone and does not come back").len(), 1);
    assert_eq!(told(&report, ": `web/dist`").len(), 1, "{report:#?}");

    for line in ["rm -f web/page", "rm -rf .env nothing"] {
        let mut world = World::git(&[(".gitignore", ".env\nweb/dist\n")]);
        world.write(".env", "SECRET=1\n");
        world.write("web/page", "x\n");
        world.message("m1");
        shell(&mut world, line);
        let report = world.revert("m1");
        assert!(report.notes.is_empty(), "{line}: {report:#?}");
        assert_eq!(world.read(".env"), "SECRET=1\n", "it is small and kept");
        assert_eq!(world.read("web/page"), "x\n", "it is captured");
    }
}

#[test]
fn command_that_removed_ignored_files_is_reported() {
    set_clock_from_files(0);
    let mut world = World::git(&[(".gitignore", ".env\nnode_modules\n")]);
    world.write(".env", "SECRET=1\n");
    world.write("node_modules/package/file", "x\n");
    world.message("m1");
    shell(&mut world, "git clean -qfdx && true");
    let report = world.revert("m1");
    assert_eq!(world.read(".env"), "SECRET=1\n", "it is small and kept");
    assert_eq!(
        told(&report, ": `node_modules`").len(),
        1,
        "the packages do not come back: {report:#?}"
    );
    assert_eq!(report.notes.len(), 1, "and that is told once: {report:#?}");
}

/// A workspace with ignored files of which none is captured.
fn with_ignored() -> World {
    set_clock_from_files(0);
    let world = World::git(&[(".gitignore", "*.cfg\n*.o\nbuild/\n")]);
    for path in ["a.o", "local.cfg", "build/out", "part/deep/own.cfg"] {
        world.write(path, "x\n");
    }
    world
}

fn ignored_removals(report: &OperationReport) -> Vec<&str> {
    let remarks = report.remarks.iter();
    let removals = remarks.filter(|remark| remark.code == NoteCode::IgnoredRemoved);
    let about = removals.flat_map(|remark| &remark.about);
    about.map(String::as_str).collect()
}

/// Invariant `truth/ignored-named`.
#[test]
fn removed_ignored_files_are_in_every_report() {
    let mut world = with_ignored();
    world.turn("m1", |world| {
        world.write("new", "x\n");
        for path in ["a.o", "local.cfg"] {
            world.remove(path);
        }
        world.remove_tree("build");
        world.remove_tree("part");
    });
    let all = ["a.o", "build", "local.cfg", "part/deep/own.cfg"];
    let request = RevertRequest {
        dry_run: true,
        ..to("m1")
    };
    let planned = world.try_revert(&request).expect("it can be planned");
    assert_eq!(ignored_removals(&planned), all, "{planned:#?}");
    let report = world.revert("m1");
    assert_eq!(ignored_removals(&report), all, "{report:#?}");
    let text = "4 ignored paths are gone and do not come back, because no snapshot holds them: `a.o`, `build`";
    assert_eq!(told(&report, text).len(), 1, "{report:#?}");
    world.unrevert();
    assert_eq!(ignored_removals(&world.revert("m1")), all, "once more");
}

/// Invariant `truth/ignored-named`.
#[test]
fn returned_or_new_ignored_files_are_not_missed() {
    set_clock_from_files(0);
    let mut world = with_ignored();
    world.turn("m1", |world| {
        world.write("new", "x\n");
        world.write("made.o", "x\n");
        world.remove("a.o");
    });
    world.turn("m2", |world| {
        world.write("newer", "x\n");
        world.remove("made.o");
        world.write("a.o", "y\n");
    });
    let report = world.revert("m1");
    assert!(ignored_removals(&report).is_empty(), "{report:#?}");
}

/// Invariant `truth/ignored-named`.
#[test]
fn ignored_file_in_a_replaced_folder_is_reported() {
    for becomes_link in [false, true] {
        let mut world = with_ignored();
        world.write("part/code", "1\n");
        world.turn("m1", |world| world.write("new", "x\n"));
        world.turn("m2", |world| {
            world.remove_tree("part");
            match becomes_link {
                true => world.link("part", "build"),
                false => world.write("part", "a file\n"),
            }
        });
        let report = world.revert("m2");
        assert_eq!(world.read("part/code"), "1\n");
        assert_eq!(
            ignored_removals(&report),
            ["part/deep/own.cfg"],
            "{report:#?}"
        );
    }
}

fn ignored_arrivals(report: &OperationReport) -> Vec<&str> {
    let remarks = report.remarks.iter();
    let arrivals = remarks.filter(|remark| remark.code == NoteCode::IgnoredMade);
    let about = arrivals.flat_map(|remark| &remark.about);
    about.map(String::as_str).collect()
}

/// Invariant `truth/ignored-named`: Ignored files that nobody captured are named where they
/// came or went while a step was open, whatever made or removed them.
#[test]
fn ignored_files_from_an_agents_time_stay() {
    let mut world = with_ignored();
    world.turn("m1", |world| {
        world.write("new", "x\n");
        world.write("made.o", "x\n");
        world.write("part/deep/made.cfg", "x\n");
        world.write("fresh/out.o", "x\n");
        world.write("mixed/out.o", "x\n");
        world.write("mixed/new", "x\n");
        world.write("a.o", "written again\n");
    });
    let report = world.revert("m1");
    let all = ["fresh/out.o", "made.o", "part/deep/made.cfg"];
    assert_eq!(ignored_arrivals(&report), all, "{report:#?}");
    let text =
        "3 ignored paths that came since stay: `fresh/out.o`, `made.o`, `part/deep/made.cfg`";
    assert_eq!(told(&report, text).len(), 1, "{report:#?}");
    assert_eq!(
        told(&report, "`mixed` (`out.o`)").len(),
        1,
        "a folder that stays is named for all that is in it: {report:#?}"
    );
    assert!(world.exists("made.o"), "nobody stored it");
}

/// Invariant `truth/ignored-named`.
#[test]
fn new_empty_ignored_folder_is_reported() {
    let mut world = with_ignored();
    world.remove_tree("build");
    world.message_in("s2", "n1");
    world.start_in("s2");
    world.turn("m1", |world| world.make_directory("build"));
    world.finish_in("s2");
    assert_eq!(
        ignored_arrivals(&world.revert("m1")),
        ["build"],
        "either of two sessions may have made it"
    );
}

/// Invariant `truth/ignored-named`.
#[test]
fn differing_self_ignoring_ignore_files_are_named() {
    let mut world = with_ignored();
    world.write("own/.gitignore", "*\n");
    world.write("gone/.gitignore", "*\n");
    world.write("same/.gitignore", "*\n");
    world.write("seen/.gitignore", "*\n");
    world.turn("m1", |world| {
        world.write("seen/.gitignore", "*.tmp\n");
        world.write("own/.gitignore", "*\n*.tmp\n");
        world.remove("gone/.gitignore");
        world.write("made/.gitignore", "*\n");
    });
    let report = world.revert("m1");
    let all = [
        "gone/.gitignore",
        "made/.gitignore",
        "own/.gitignore",
        "seen/.gitignore",
    ];
    assert_eq!(ignored_arrivals(&report), all, "{report:#?}");
    let text = "4 ignore files that ignore themselves differ from then, and stay as they are";
    assert_eq!(told(&report, text).len(), 1, "{report:#?}");
}

/// Invariant `truth/ignored-named`.
#[test]
fn ignored_files_between_steps_are_not_reported() {
    let mut world = with_ignored();
    world.turn("m1", |world| {
        world.write("new", "x\n");
        world.write("gone.o", "x\n");
    });
    world.remove("gone.o");
    await_tick();
    await_tick();
    world.write("users.o", "x\n");
    world.turn("m2", |world| world.write("newer", "x\n"));
    let report = world.revert("m1");
    assert!(report.notes.is_empty(), "{report:#?}");
}

/// Invariant `truth/ignored-named`.
#[test]
fn ignored_file_seen_late_is_not_new() {
    let mut world = with_ignored();
    world.write("old.o", "x\n");
    // What was made just before the message may have come with it.
    await_second();
    world.turn("m1", |world| {
        // As after an older version, which noted no ignored names.
        let snapshots = fs::read_dir(world.base().join("store/snapshots")).expect("ours");
        for workspace in snapshots.map(|entry| entry.expect("ours").path()) {
            fs::remove_file(workspace.join("cache")).expect("it is there");
        }
        world.write("new", "x\n");
    });
    let report = world.revert("m1");
    assert!(ignored_arrivals(&report).is_empty(), "{report:#?}");
}

/// Invariant `truth/ignored-named`.
#[test]
fn ignored_files_removed_by_user_are_not_reported() {
    let mut world = with_ignored();
    world.turn("m1", |world| world.write("new", "x\n"));
    // Rows tell milliseconds.
    await_tick();
    await_tick();
    world.remove("a.o");
    world.turn("m2", |world| world.write("newer", "x\n"));
    let report = world.revert("m1");
    assert!(report.notes.is_empty(), "{report:#?}");
}

/// Invariant `truth/ignored-named`.
#[test]
fn restored_ignored_file_is_not_missed() {
    let mut world = World::git(&[("kept", "x\n")]);
    world.turn("m1", |world| world.write(".gitignore", "kept\n"));
    world.turn("m2", |world| world.remove("kept"));
    let report = world.revert("m1");
    assert_eq!(world.read("kept"), "x\n");
    assert!(ignored_removals(&report).is_empty(), "{report:#?}");
}

/// An empty folder that was there stays where a revert made it again for a file.
#[test]
fn former_empty_folder_stays() {
    let mut world = World::new();
    world.make_directory("out");
    world.turn("m1", |world| world.write("a", "agent\n"));
    world.turn("m2", |world| world.write("out/x", "agent\n"));
    world.turn("m3", |world| world.remove_tree("out"));
    world.revert("m3");
    let report = world.revert("m1");
    assert!(world.path("out").is_dir(), "the user's: {report:#?}");
    assert!(!world.exists("out/x"));
}
