//! What happens beside an agent's tools: directories that are renamed, formatters, the user's own git, agents around the workspace.

use ckpt_schema::report::{FileResult, Outcome};
use ckpt_schema::{Event, EventKind};

use testing::scenario::{World, explained, file_time, paths_with, set_clock_from_files};

const MINUTE: i64 = 60_000;

/// Waits until the times of files are so much later.
fn pass(milliseconds: i64) {
    let from = file_time();
    while file_time() < from + milliseconds {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

fn shell(world: &mut World, work: impl FnOnce(&World)) {
    set_clock_from_files(0);
    world.tool_start_in("s1", "t", &[]);
    pass(60);
    work(world);
    set_clock_from_files(40);
    world.tool_finish_in("s1", "t");
    world.finish();
}

fn mv(world: &World, from: &str, to: &str) {
    std::fs::rename(world.path(from), world.path(to)).expect("renamed");
}

#[test]
fn a_directory_that_the_agent_renamed_goes_back() {
    let mut world = World::new();
    world.write("one/deep/a", "1\n");
    world.write("one/b", "2\n");
    let before = world.tree();
    pass(2_500);
    set_clock_from_files(0);
    world.message("m1");
    shell(&mut world, |world| mv(world, "one", "two"));
    let report = explained(world.revert("m1"));
    assert_eq!(world.tree(), before, "{report:#?}");
}

/// A directory that the user renamed while a prompt stood stays renamed.
#[test]
fn directory_renamed_during_a_prompt_stays() {
    let mut world = World::new();
    world.write("one/a", "1\n");
    world.message("m1");
    set_clock_from_files(0);
    world.tool_start_in("s1", "t", &[]);
    let wait = Event {
        tool_use_id: Some("t".to_owned()),
        ..world.event(EventKind::ToolWait, "s1")
    };
    world.send(&wait);
    mv(&world, "one", "two");
    pass(50);
    set_clock_from_files(30 * MINUTE);
    let finish = Event {
        tool_use_id: Some("t".to_owned()),
        duration_ms: Some(2_000),
        ..world.event(EventKind::ToolFinish, "s1")
    };
    world.send(&finish);
    world.finish();
    let report = explained(world.revert("m1"));
    assert!(world.exists("two/a"), "{report:#?}");
    assert!(!world.exists("one"), "{report:#?}");
}

/// The user's stash of what the agent did and its return are no trouble.
#[test]
fn users_stash_and_return_are_no_trouble() {
    let mut world = World::git(&[("a", "1\n"), ("b", "1\n")]);
    world.message("m1");
    shell(&mut world, |world| world.write("a", "agent\n"));
    pass(2_500);
    world.run_git(&["stash", "-q"]);
    set_clock_from_files(0);
    world.message("m2");
    shell(&mut world, |world| world.write("b", "agent\n"));
    pass(2_500);
    world.run_git(&["checkout", "-q", "b"]);
    world.run_git(&["stash", "pop", "-q"]);
    set_clock_from_files(0);
    let report = explained(world.revert("m1"));
    assert_eq!(world.read("a"), "1\n", "{report:#?}");
}

/// A checkout of another branch between two messages stays.
#[test]
fn checkout_between_messages_stays() {
    let mut world = World::git(&[("a", "1\n"), ("b", "1\n")]);
    world.run_git(&["checkout", "-qb", "other"]);
    world.write("b", "other branch\n");
    world.write("c", "other branch\n");
    world.run_git(&["add", "-A"]);
    world.run_git(&["commit", "-qam", "x"]);
    world.run_git(&["checkout", "-q", "main"]);
    world.message("m1");
    shell(&mut world, |world| world.write("a", "agent\n"));
    pass(2_500);
    world.run_git(&["checkout", "-q", "other"]);
    set_clock_from_files(0);
    world.message("m2");
    shell(&mut world, |world| world.write("c", "agent\n"));
    pass(2_500);
    set_clock_from_files(0);
    let report = explained(world.revert("m1"));
    assert_eq!(
        (world.read("a"), world.read("b"), world.read("c")),
        (
            "1\n".into(),
            "other branch\n".into(),
            "other branch\n".into()
        ),
        "{report:#?}"
    );
}

/// What a formatter writes long after the tool is kept and named.
#[test]
fn late_formatters_work_is_kept() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.message("m1");
    set_clock_from_files(0);
    world.tool_start_in("s1", "t", &["a"]);
    world.write("a", "agent\n");
    set_clock_from_files(20);
    world.tool_finish_in("s1", "t");
    pass(2_600);
    world.write("a", "agent, formatted\n");
    set_clock_from_files(20);
    world.finish();
    let report = explained(world.revert("m1"));
    assert_eq!(world.read("a"), "agent, formatted\n", "or it was the user");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
}

/// What a formatter writes at turn end is named.
///
/// A formatter in a hook of `Stop` runs before our hook of it, or after.
#[test]
fn formatter_writing_at_turn_end_is_named() {
    for is_before in [true, false] {
        let mut world = World::new();
        world.write("a", "1\n");
        world.message("m1");
        set_clock_from_files(0);
        world.tool_start_in("s1", "t", &["a"]);
        world.write("a", "agent\n");
        set_clock_from_files(20);
        world.tool_finish_in("s1", "t");
        world.finish();
        pass(2_600);
        let format = |world: &World| world.write("a", "agent, formatted\n");
        let end = |world: &mut World| {
            set_clock_from_files(20);
            world.send(&world.event(EventKind::TurnEnd, "s1"));
        };
        if is_before {
            format(&world);
            end(&mut world);
        } else {
            end(&mut world);
            format(&world);
        }
        set_clock_from_files(0);
        let report = explained(world.revert("m1"));
        assert_eq!(world.read("a"), "agent, formatted\n", "{report:#?}");
        assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
        assert_eq!(
            paths_with(&report, FileResult::Conflict),
            ["a"],
            "{report:#?}"
        );
    }
}

/// What an outer agent's shell wrote into an idle inner workspace goes with the outer one.
#[test]
fn outer_shells_work_goes_with_the_outer_agent() {
    let mut world = World::git(&[("a", "1\n")]);
    world.run_git(&["worktree", "add", "-q", "inner", "-b", "side"]);
    world.cwd = world.path("inner");
    world.message_in("inner", "mi");
    set_clock_from_files(0);
    world.tool_start_in("inner", "u", &[]);
    world.write("inner/by inner", "x\n");
    set_clock_from_files(20);
    world.tool_finish_in("inner", "u");
    world.finish_in("inner");
    pass(2_500);
    world.cwd = world.root.clone();
    set_clock_from_files(0);
    world.message_in("outer", "mo");
    world.tool_start_in("outer", "t", &[]);
    pass(60);
    world.write("inner/by outer", "the outer one's\n");
    set_clock_from_files(40);
    world.tool_finish_in("outer", "t");
    world.finish_in("outer");
    pass(2_500);
    set_clock_from_files(0);
    world.cwd = world.path("inner");
    let report = explained(world.revert("mi"));
    assert!(
        world.exists("inner/by outer"),
        "not the inner one's: {report:?}"
    );
    world.cwd = world.root.clone();
    let report = explained(world.revert("mo"));
    assert!(!world.exists("inner/by outer"), "{report:?}");
}
