//! How people and programs write files from day to day: through a temporary file, with times that are kept, by sub-agents that go on.

use std::path::Path;
use std::process::Command;

use ckpt_schema::report::Outcome;
use ckpt_schema::{Event, EventKind};
use testing::scenario::{World, explained, set_moment};

const MORNING: i64 = 1_700_000_000_000;
const MINUTE: i64 = 60_000;

fn at(minute: i64) {
    set_moment(MORNING + minute * MINUTE);
}

/// Writes a file beside it, which then takes its place, as editors do.
fn save(world: &World, path: &str, text: &str) {
    let temporary = format!("{path}.tmp");
    world.write(&temporary, text);
    std::fs::rename(world.path(temporary), world.path(path)).expect("one directory");
}

/// Copies with the times that the original has.
fn copy(from: &Path, to: &Path) {
    let mut cp = Command::new("cp");
    let status = cp.arg("-p").args([from, to]).status();
    assert!(status.expect("cp is there").success());
}

fn shell(world: &mut World, begin: i64, work: impl FnOnce(&World)) {
    at(begin);
    world.tool_start_in("s1", "t", &[]);
    at(begin + 1);
    work(world);
    at(begin + 2);
    world.tool_finish_in("s1", "t");
    world.finish();
}

/// What a person saves through a temporary file is theirs and what an agent saves so is its.
#[test]
fn save_through_a_temporary_file_keeps_its_owner() {
    at(0);
    let mut world = World::new();
    for file in ["yours", "its", "both"] {
        world.write(file, "1\n2\n3\n4\n5\n");
    }
    at(5);
    world.message("m1");
    at(6);
    save(&world, "yours", "before the tool\n");
    shell(&mut world, 10, |world| {
        save(world, "its", "agent\n");
        save(world, "both", "agent\n2\n3\n4\n5\n");
    });
    at(20);
    save(&world, "both", "agent\n2\n3\n4\nmine\n");
    at(30);
    world.message("m2");
    at(31);
    let report = explained(world.revert("m1"));
    assert_eq!(world.read("yours"), "before the tool\n", "{report:#?}");
    assert_eq!(world.read("its"), "1\n2\n3\n4\n5\n");
    assert_eq!(world.read("both"), "1\n2\n3\n4\nmine\n", "line by line");
    assert!(!world.exists("its.tmp"));
}

/// A copy that keeps its times is of whoever made it.
#[test]
fn copy_with_kept_times_is_its_makers() {
    at(0);
    let mut world = World::new();
    world.write("old", "old\n");
    world.write("over", "1\n");
    world.write("over by hand", "1\n");
    let original = world.path("old");
    at(5);
    world.message("m1");
    at(6);
    copy(&original, &world.path("by hand"));
    copy(&original, &world.path("over by hand"));
    shell(&mut world, 10, |world| {
        copy(&original, &world.path("made"));
        copy(&original, &world.path("over"));
    });
    at(20);
    copy(&original, &world.path("later by hand"));
    at(30);
    world.message("m2");
    let report = explained(world.revert("m1"));
    assert!(!world.exists("made"), "{report:#?}");
    assert_eq!(world.read("over"), "1\n");
    assert_eq!(world.read("by hand"), "old\n");
    assert_eq!(world.read("over by hand"), "old\n");
    assert_eq!(world.read("later by hand"), "old\n");
}

fn of_sub_agent(world: &World, kind: EventKind) -> Event {
    Event {
        parent_session_id: Some("s1".to_owned()),
        ..world.event(kind, "child")
    }
}

/// An event of a tool of the sub-agent.
fn of_its_tool(world: &World, kind: EventKind) -> Event {
    Event {
        tool_use_id: Some("c".to_owned()),
        ..of_sub_agent(world, kind)
    }
}

/// Sends the message `m1`, in which a tool of the agent starts a sub-agent, whose own tool runs on when the turn is over.
fn leave_a_sub_agent_at_work(world: &mut World) {
    at(5);
    world.message("m1");
    at(10);
    world.tool_start_in("s1", "t", &[]);
    let start = of_sub_agent(world, EventKind::SessionStart);
    world.send(&start);
    at(11);
    let tool = of_its_tool(world, EventKind::ToolStart);
    world.send(&tool);
    at(12);
    world.tool_finish_in("s1", "t");
    world.finish();
    let end = world.event(EventKind::TurnEnd, "s1");
    world.send(&end);
}

fn end_the_sub_agent(world: &mut World) {
    let finish = of_its_tool(world, EventKind::ToolFinish);
    world.send(&finish);
    let finish = of_sub_agent(world, EventKind::StepFinish);
    world.send(&finish);
}

/// What a sub-agent writes after its turn goes with the message that started it.
#[test]
fn sub_agents_late_work_goes_with_its_message() {
    at(0);
    let mut world = World::new();
    world.write("a", "1\n");
    leave_a_sub_agent_at_work(&mut world);
    at(20);
    world.write("a", "by the child\n");
    world.write("made", "by the child\n");
    at(21);
    end_the_sub_agent(&mut world);
    at(30);
    world.write("by hand", "x\n");
    at(40);
    world.message("m2");
    at(41);
    let report = explained(world.revert("m1"));
    assert_eq!(world.read("a"), "1\n", "{report:#?}");
    assert!(!world.exists("made"));
    assert_eq!(world.read("by hand"), "x\n");
}

/// What a sub-agent still does at the next message goes with the first one.
#[test]
fn sub_agents_ongoing_work_goes_with_the_first() {
    at(0);
    let mut world = World::new();
    leave_a_sub_agent_at_work(&mut world);
    at(20);
    world.message("m2");
    at(21);
    world.write("late", "by the child\n");
    at(22);
    end_the_sub_agent(&mut world);
    at(30);
    let report = explained(world.revert("m2"));
    assert!(
        world.exists("late"),
        "the first message started it: {report:#?}"
    );
    let report = explained(world.revert("m1"));
    assert!(!world.exists("late"), "{report:#?}");
}

/// A directory that was renamed goes back also where the agent tells of no tools.
#[test]
fn renamed_directory_goes_back_without_tool_events() {
    for deep in [false, true] {
        at(0);
        let mut world = World::new();
        world.write("one/deep/a", "1\n");
        world.write("one/b", "2\n");
        world.write("other/c", "3\n");
        let before = world.tree();
        at(5);
        world.message("m1");
        at(6);
        world.start();
        at(7);
        let to = if deep { "other/two" } else { "two" };
        std::fs::rename(world.path("one"), world.path(to)).expect("free");
        at(8);
        world.finish();
        let after = world.tree();
        at(20);
        let report = explained(world.revert("m1"));
        assert_eq!(world.tree(), before, "{report:#?}");
        assert_eq!(report.outcome, Outcome::Restored);
        world.unrevert();
        assert_eq!(world.tree(), after);
    }
}

/// What a person edits in a pause between two tools of a step stays.
///
/// Invariant `truth/between-steps`.
#[test]
fn persons_edit_in_a_steps_pause_stays() {
    for names_it in [false, true] {
        at(0);
        let mut world = World::new();
        world.write("both", "1\n2\n3\n4\n5\n6\n7\n");
        world.write("yours", "old\n");
        at(5);
        world.message("m1");
        at(10);
        world.tool_start_in("s1", "t1", &[]);
        at(11);
        world.write("both", "one\n2\n3\n4\n5\n6\n7\n");
        at(12);
        world.tool_finish_in("s1", "t1");
        at(30);
        save(&world, "both", "one\n2\n3\n4\n5\n6\nmine\n");
        world.write("yours", "mine\n");
        at(60);
        let paths: &[&str] = if names_it { &["both"] } else { &[] };
        world.tool_start_in("s1", "t2", paths);
        at(61);
        world.write("both", "one\n2\n3\nfour\n5\n6\nmine\n");
        at(62);
        world.tool_finish_in("s1", "t2");
        world.finish();
        at(90);
        let report = explained(world.revert("m1"));
        let kept = world.read("both");
        assert!(kept.contains("mine"), "{kept:?} {report:#?}");
        assert_eq!(world.read("yours"), "mine\n", "{report:#?}");
        assert_eq!(
            report.outcome,
            Outcome::Partial,
            "the first one may have made them"
        );
    }
}

/// What a person saves a moment after Esc is not taken for the agent's.
///
/// Invariant `truth/between-steps`.
#[test]
fn persons_save_after_esc_is_not_the_agents() {
    at(0);
    let mut world = World::new();
    world.message("m1");
    at(10);
    world.tool_start_in("s1", "t", &[]);
    at(11);
    world.write("its", "x\n");
    let cut = Event {
        tool_use_id: Some("t".to_owned()),
        interrupted: true,
        ..world.event(EventKind::ToolFinish, "s1")
    };
    world.send(&cut);
    set_moment(MORNING + 11 * MINUTE + 1_000);
    world.write("yours", "x\n");
    at(12);
    let end = Event {
        interrupted: true,
        ..world.event(EventKind::TurnEnd, "s1")
    };
    world.send(&end);
    let report = explained(world.revert("m1"));
    assert_eq!(world.read("yours"), "x\n", "{report:#?}");
    assert!(!world.exists("its"), "{report:#?}");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
}
