//! What went and came back: by git, by the agent's own undo, by `restore`, or after the end of its step.

use ckpt_schema::report::{FileReport, FileResult, Outcome};
use ckpt_schema::{Event, EventKind};
use ckpt_store::RevertRequest;
use ckpt_store::model::request::Unclear;
use testing::scenario::{World, paths_with, set_clock_from_files, to};

fn end(world: &mut World) {
    let end = world.event(EventKind::TurnEnd, "s1");
    world.send(&end);
}

/// The user stashes what the agent did in a pause, and gets it back after the turn.
#[test]
fn stashed_edit_goes_back_after_it_came_back() {
    let mut world = World::git(&[("f", "1\n"), ("g", "1\n")]);
    world.message("m1");
    world.step(|world| world.write("f", "2\n"));
    world.run_git(&["stash", "-q"]);
    world.step(|world| world.write("g", "2\n"));
    end(&mut world);
    world.run_git(&["checkout", "-q", "g"]);
    world.run_git(&["stash", "pop", "-q"]);
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
    assert_eq!(
        (world.read("f").as_str(), world.read("g").as_str()),
        ("1\n", "1\n")
    );
}

/// Stash within one step leaves the edit the agent's.
///
/// The same within one step, at which others looked meanwhile.
///
/// Invariant `truth/passed-through`.
#[test]
fn stash_within_a_step_is_no_edit() {
    set_clock_from_files(0);
    let mut world = World::git(&[("f", "1\n"), ("g", "1\n")]);
    world.message("m1");
    world.start();
    world.start_shell();
    world.write("f", "2\n");
    let finish = world.shell(EventKind::ToolFinish);
    world.send(&finish);
    world.snapshot();
    world.run_git(&["stash", "-q"]);
    world.snapshot();
    world.run_git(&["stash", "pop", "-q"]);
    world.snapshot();
    world.finish();
    end(&mut world);
    let report = world.revert("m1");
    assert_eq!(world.read("f"), "1\n", "{report:#?}");
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
}

/// A stash within a step puts aside what a shell wrote there, before anything looked: what comes back is unclear, and
/// what is edited by hand meanwhile is not.
///
/// Invariant `truth/passed-through`.
#[test]
fn unseen_work_in_a_stash_is_unclear() {
    set_clock_from_files(0);
    let mut world = World::git(&[("f", "1\n"), ("g", "1\n")]);
    world.message("m1");
    world.start();
    world.start_shell();
    world.write("f", "2\n");
    let finish = world.shell(EventKind::ToolFinish);
    world.send(&finish);
    world.run_git(&["stash", "-q"]);
    world.finish();
    end(&mut world);
    world.run_git(&["stash", "pop", "-q"]);
    world.write("g", "mine\n");
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
    assert_eq!(paths_with(&report, FileResult::Conflict), ["f"]);
    let taking = RevertRequest {
        unclear: Some(Unclear::Take),
        ..to("m1")
    };
    let report = world.try_revert(&taking).expect("no agent is at work");
    assert_eq!(
        (world.read("f").as_str(), world.read("g").as_str()),
        ("1\n", "mine\n"),
        "{report:#?}"
    );
}

/// A stash within a step takes a file that a shell made there, before anything looked: what comes back is unclear.
///
/// Invariant `truth/passed-through`.
#[test]
fn unseen_new_file_in_a_stash_is_unclear() {
    for (added, name) in [(false, "n"), (false, "d/e/n"), (true, "n"), (true, "d/n")] {
        set_clock_from_files(0);
        let mut world = World::git(&[("f", "1\n"), ("d/f", "1\n")]);
        world.message("m1");
        world.start();
        world.start_shell();
        world.write(name, "2\n");
        if added {
            world.run_git(&["add", name]);
        }
        world.run_git(&["stash", "-q", "-u"]);
        let finish = world.shell(EventKind::ToolFinish);
        world.send(&finish);
        world.finish();
        end(&mut world);
        world.run_git(&["stash", "pop", "-q"]);
        world.write("mine", "mine\n");
        let report = world.revert("m1");
        let what = format!("{added}, {name}: {report:#?}");
        assert_eq!(report.outcome, Outcome::Partial, "{what}");
        assert_eq!(paths_with(&report, FileResult::Conflict), [name], "{what}");
        let taking = RevertRequest {
            unclear: Some(Unclear::Take),
            ..to("m1")
        };
        world.try_revert(&taking).expect("no agent is at work");
        assert!(!world.exists(name) && world.exists("mine"), "{what}");
    }
}

/// Each stash within a step is looked through.
///
/// Invariant `truth/passed-through`.
#[test]
fn unseen_new_files_in_stashes_are_unclear() {
    set_clock_from_files(0);
    let mut world = World::git(&[("f", "1\n")]);
    world.message("m1");
    world.start();
    world.start_shell();
    for name in ["n1", "n2"] {
        world.write(name, "2\n");
        world.run_git(&["stash", "-q", "-u"]);
    }
    let finish = world.shell(EventKind::ToolFinish);
    world.send(&finish);
    world.finish();
    end(&mut world);
    world.run_git(&["stash", "pop", "-q"]);
    world.run_git(&["stash", "pop", "-q"]);
    let report = world.revert("m1");
    let kept = paths_with(&report, FileResult::Conflict);
    assert_eq!(kept, ["n1", "n2"], "{report:#?}");
}

/// Doubtful return of a known state is no edit.
///
/// What came back in doubt is what the agent is known to have written.
#[test]
fn doubtful_return_of_a_state_is_no_edit() {
    let mut world = World::new();
    world.write("f", "0\n");
    world.message("m1");
    world.step(|world| world.write("f", "1\n"));
    world.start();
    world.start_shell();
    world.finish();
    world.write("f", "0\n");
    world.snapshot();
    world.write("f", "1\n");
    let finish = world.shell(EventKind::ToolFinish);
    world.send(&finish);
    end(&mut world);
    let report = world.try_revert(&to("m1")).expect("no agent is at work");
    assert_eq!(world.read("f"), "0\n", "{report:#?}");
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
}

/// State that the session passed through is no edit.
///
/// Edits of the agent and of the user in turn; then the agent's own undo takes its session back to some moment.
///
/// Invariant `truth/passed-through`: What came back is no edit of anybody's, and what a tool
/// wrote after its step's end is unclear.
#[test]
fn state_passed_through_is_no_edit() {
    for undone_to in ["0\n", "1\n", "by hand\n", "2\n"] {
        let mut world = World::new();
        world.write("f", "0\n");
        world.turn("m1", |world| world.write("f", "1\n"));
        world.write("f", "by hand\n");
        world.turn("m2", |world| world.write("f", "2\n"));
        world.turn("m3", |world| world.write("f", "3\n"));
        world.write("f", undone_to);
        let report = world.revert("m1");
        if undone_to == "0\n" || undone_to == "1\n" {
            assert_ne!(report.outcome, Outcome::Partial, "{undone_to}: {report:#?}");
            assert_eq!(world.read("f"), "0\n", "{undone_to}: {report:#?}");
        } else {
            // What is by hand there, the agent's first change is under.
            assert_eq!(world.read("f"), "by hand\n", "{undone_to}: {report:#?}");
        }
    }
}

#[test]
fn file_that_the_agents_undo_removed_stays_gone() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("made", "1\n"));
    world.write("made", "by hand\n");
    world.turn("m2", |world| world.write("made", "2\n"));
    world.remove("made");
    world.turn("m3", |world| world.write("other", "3\n"));
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
    assert_eq!(
        (world.exists("made"), world.exists("other")),
        (false, false)
    );
}

/// Invariant `truth/passed-through`.
#[test]
fn what_restore_brought_goes_with_the_message() {
    let mut world = World::new();
    world.write("f", "0\n");
    let first = world.snapshot();
    world.write("f", "by hand\n");
    world.turn("m1", |world| world.write("f", "1\n"));
    world.turn("m2", |world| world.write("f", "2\n"));
    world.restore(&first, &["f"]);
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
    assert_eq!(world.read("f"), "by hand\n", "as before the message");
    world.unrevert();
    assert_eq!(world.read("f"), "0\n", "and there is a way back");
}

/// A restore that was taken back and done again is that restore.
///
/// Invariant `truth/passed-through`.
#[test]
fn undone_undo_of_a_restore_is_one() {
    let mut world = World::new();
    world.write("f", "0\n");
    world.turn("m1", |world| world.write("f", "1\n"));
    world.turn("m2", |world| world.write("f", "2\n"));
    let mut last = world.restore("m1", &["f"]).operation.expect("it was done");
    for _ in 0..4 {
        last = world.undo(&last).operation.expect("it was done");
    }
    let report = world.revert("m2");
    assert_eq!(
        (world.read("f").as_str(), report.outcome),
        ("1\n", Outcome::Restored),
        "{report:#?}"
    );
}

/// What `restore` brought while reverted is no edit: each move goes on from there.
///
/// Invariant `truth/passed-through`.
#[test]
fn what_restore_brought_moves_back_and_forward() {
    let begin = || {
        let mut world = World::new();
        world.write("f", "1\n");
        world.turn("m1", |world| world.write("f", "2\n"));
        let between = world.snapshot();
        world.turn("m2", |world| world.write("f", "3\n"));
        world.revert("m1");
        world.restore(&between, &["f"]);
        world
    };
    let mut world = begin();
    let report = world.revert("m1");
    assert_eq!(
        (world.read("f").as_str(), report.outcome),
        ("1\n", Outcome::Restored)
    );
    let mut world = begin();
    let report = world.unrevert();
    assert_eq!(
        (world.read("f").as_str(), report.outcome),
        ("3\n", Outcome::Restored)
    );
    let mut world = begin();
    world.write("f", "by hand\n");
    let report = world.unrevert();
    assert_eq!(
        (world.read("f").as_str(), report.outcome),
        ("by hand\n", Outcome::Partial)
    );
    // Typed again after the next move: the last operation did not bring it.
    let mut world = begin();
    world.revert("m1");
    world.write("f", "2\n");
    let report = world.unrevert();
    assert_eq!(
        (world.read("f").as_str(), report.outcome),
        ("2\n", Outcome::Partial)
    );
}

/// What `restore` brought from a snapshot of the user's own edit is still the user's.
#[test]
fn an_edit_that_restore_brought_back_stays() {
    let mut world = World::new();
    world.write("f", "0\n");
    world.turn("m1", |world| world.write("f", "1\n"));
    world.write("f", "by hand\n");
    let mine = world.snapshot();
    world.write("f", "1\n");
    world.restore(&mine, &["f"]);
    let report = world.revert("m1");
    assert_eq!(
        (world.read("f").as_str(), report.outcome),
        ("by hand\n", Outcome::Partial)
    );
}

/// An edit after `restore` is the user's all the same.
#[test]
fn edit_of_what_restore_brought_stays() {
    let mut world = World::new();
    world.write("f", "0\n");
    let first = world.snapshot();
    world.write("f", "00\n");
    world.turn("m1", |world| world.write("f", "1\n"));
    world.restore(&first, &["f"]);
    world.write("f", "by hand\n");
    let report = world.revert("m1");
    assert_eq!(
        (world.read("f").as_str(), report.outcome),
        ("by hand\n", Outcome::Partial)
    );
}

/// What a tool wrote after its step's end is unclear.
///
/// The end of a step overtakes that of its tool, which writes once more in between.
///
/// Invariant `truth/passed-through`.
#[test]
fn tools_write_after_its_steps_end_is_unclear() {
    for looked_at in [false, true] {
        let mut world = World::new();
        world.message("m1");
        world.start();
        world.start_shell();
        world.write("early", "x\n");
        world.finish();
        world.write("late", "x\n");
        if looked_at {
            world.snapshot();
        }
        let finish = world.shell(EventKind::ToolFinish);
        world.send(&finish);
        end(&mut world);
        let report = world.try_revert(&to("m1")).expect("no agent is at work");
        assert!(!world.exists("early"), "{report:#?}");
        assert_eq!(report.outcome, Outcome::Partial, "it is named: {report:#?}");
        assert!(
            report
                .files
                .iter()
                .any(|file| file.unclear && file.path.path == "late")
        );
        assert!(world.exists("late"));
    }
}

/// Unseen edit that a stash brought back is named.
///
/// The user stashes what a tool that named the file wrote, before anything looked, and gets it back after the step.
///
/// Invariant `truth/passed-through`.
#[test]
fn unseen_edit_brought_back_is_named() {
    for existed in [true, false] {
        for looked_at in [false, true] {
            let mut world = World::git(&[("g", "1\n")]);
            set_clock_from_files(0);
            if existed {
                world.write("f", "1\n");
                world.run_git(&["add", "f"]);
                world.run_git(&["commit", "-qm", "f"]);
            }
            world.message("m1");
            world.start();
            world.tool_start_in("s1", "t1", &["f"]);
            world.write("f", "2\n");
            world.tool_finish_in("s1", "t1");
            world.run_git(&["stash", "-q", "-u"]);
            world.finish();
            end(&mut world);
            world.run_git(&["stash", "pop", "-q"]);
            if looked_at {
                world.snapshot();
                world.message("m2");
            }
            let report = world.revert("m1");
            let what = format!("{existed}, {looked_at}: {report:#?}");
            assert_eq!(report.outcome, Outcome::Partial, "{what}");
            let is_told = |file: &FileReport| file.path.path == "f" && file.unclear;
            assert!(report.files.iter().any(is_told), "{what}");
            assert_eq!(world.read("f"), "2\n", "{what}");
        }
    }
}

/// File that a tool left alone stays the user's.
///
/// A tool that named a file and did not write it claims none of what the user does to it later, nor one whose file was
/// changed since, by whom ever.
#[test]
fn file_a_tool_left_alone_stays() {
    let mut world = World::new();
    set_clock_from_files(0);
    world.write("failed", "1\n");
    world.write("again", "1\n");
    world.message("m1");
    world.start();
    world.tool_start_in("s1", "t1", &["failed"]);
    world.tool_finish_in("s1", "t1");
    world.tool_start_in("s1", "t2", &["again"]);
    world.write("again", "2\n");
    world.write("again", "1\n");
    world.tool_finish_in("s1", "t2");
    world.finish();
    world.start();
    world.tool_start_in("s1", "t3", &["again"]);
    world.write("again", "3\n");
    world.tool_finish_in("s1", "t3");
    world.finish();
    end(&mut world);
    world.write("failed", "mine\n");
    world.snapshot();
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
    assert_eq!(
        (world.read("failed").as_str(), world.read("again").as_str()),
        ("mine\n", "1\n")
    );
}

/// Whatever ends a step before its tool has ended, the tool is that step's: what it wrote goes or is named, and what a
/// person edits elsewhere beside the next tool is that person's.
///
/// Invariant `truth/passed-through`.
#[test]
fn tool_that_outlives_its_step_belongs_to_it() {
    let command = |world: &mut World| {
        let event = Event {
            is_command: true,
            ..world.event(EventKind::UserMessage, "s1")
        };
        world.send(&event);
    };
    type Moment<'a> = (&'a str, &'a dyn Fn(&mut World));
    let moments: [Moment<'_>; 7] = [
        ("a command of ours", &command),
        ("the next message", &|world| drop(world.message("m2"))),
        ("the step's end", &|world| drop(world.finish())),
        ("the turn's end", &end),
        ("the end of a command's turn", &|world| {
            command(world);
            end(world);
        }),
        ("another session's step", &|world| {
            world.finish();
            world.turn_in("s2", "other", |_| {});
        }),
        ("an end that was told before", &|world| {
            world.tool_finish_in("s1", "t1");
            world.write("named", "late\n");
            world.finish();
        }),
    ];
    for (what, moment) in moments {
        for names in [true, false] {
            let mut world = World::new();
            set_clock_from_files(0);
            for path in ["named", "by hand"] {
                world.write(path, "0\n");
            }
            world.message("m1");
            world.start();
            let named: &[&str] = if names { &["named"] } else { &[] };
            world.tool_start_in("s1", "t1", named);
            moment(&mut world);
            world.tool_start_in("s1", "t2", &["other"]);
            world.write("by hand", "mine\n");
            world.write("named", "late\n");
            world.tool_finish_in("s1", "t1");
            world.tool_finish_in("s1", "t2");
            end(&mut world);
            let report = world.revert("m1");
            let what = format!("{what}, {names}: {report:#?}");
            assert_eq!(world.read("by hand"), "mine\n", "{what}");
            let is_gone = world.read("named") == "0\n";
            assert!(is_gone || report.outcome == Outcome::Partial, "{what}");
            let is_told = |file: &&FileReport| file.path.path == "by hand";
            let is_doubted = report.files.iter().filter(is_told).any(|file| file.unclear);
            assert!(!names || !is_doubted, "it is known whose it is: {what}");
        }
    }
}

/// Late end that leaves a command is in doubt.
///
/// A command that goes on in the background, as is told only after its step's end, may do so until it is said to end.
#[test]
fn late_end_with_a_running_command_is_doubted() {
    let mut world = World::new();
    world.message("m1");
    world.start();
    world.start_shell();
    world.finish();
    let finish = Event {
        background: Some(true),
        ..world.shell(EventKind::ToolFinish)
    };
    world.send(&finish);
    world.write("made", "x\n");
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
}

/// Late end of a tool is none of the next steps.
///
/// The same, where the next step began before: the tool is none of that step's.
#[test]
fn late_end_of_a_tool_changes_nothing() {
    let mut world = World::new();
    world.message("m1");
    world.start();
    world.start_shell();
    world.finish();
    world.write("late", "x\n");
    world.start();
    let next = Event {
        tool_use_id: Some("next".to_owned()),
        ..world.shell(EventKind::ToolStart)
    };
    world.send(&next);
    let finish = world.shell(EventKind::ToolFinish);
    world.send(&finish);
    let next = Event {
        event: EventKind::ToolFinish,
        ..next
    };
    world.send(&next);
    world.finish();
    end(&mut world);
    let report = world.revert("m1");
    assert!(world.exists("late"), "{report:#?}");
    assert_eq!(report.outcome, Outcome::Partial, "it is named: {report:#?}");
}
