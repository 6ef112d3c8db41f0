//! An agent in a directory and one in a workspace below it, at work at the same time.

use ckpt_schema::report::Outcome;
use testing::scenario::{World, explained, set_moment};

const MORNING: i64 = 1_700_000_000_000;
const MINUTE: i64 = 60_000;

fn at(minute: i64) {
    set_moment(MORNING + minute * MINUTE);
}

/// An agent in a repository, and one in a worktree below it.
fn both() -> World {
    at(0);
    let mut world = World::git(&[("a", "1\n")]);
    world.run_git(&["worktree", "add", "-q", "inner", "-b", "side"]);
    at(1);
    world.message_in("outer", "mo");
    go_in(&mut world);
    world.message_in("inner", "mi");
    world
}

fn go_in(world: &mut World) {
    world.cwd = world.path("inner");
}

fn go_out(world: &mut World) {
    world.cwd.clone_from(&world.root);
}

fn end(world: &mut World, session: &str) {
    world.tool_finish_in(session, "t");
    world.finish_in(session);
}

#[test]
fn what_either_shell_may_have_written_stays_with_either_revert_and_is_named() {
    let mut world = both();
    at(10);
    world.tool_start_in("inner", "t", &[]);
    at(11);
    go_out(&mut world);
    world.tool_start_in("outer", "t", &[]);
    at(12);
    world.write("inner/by outer", "the outer one's\n");
    world.write("by outer", "the outer one's\n");
    at(13);
    end(&mut world, "outer");
    at(14);
    world.write("inner/by inner", "the inner one's\n");
    at(15);
    go_in(&mut world);
    end(&mut world, "inner");
    at(16);
    let report = explained(world.revert("mi"));
    assert!(world.exists("inner/by outer"), "{report:#?}");
    assert!(!world.exists("inner/by inner"), "it was alone by then");
    assert_eq!(report.outcome, Outcome::Partial, "and that is said");
    go_out(&mut world);
    let report = explained(world.revert("mo"));
    assert!(!world.exists("by outer"), "{report:#?}");
    assert!(world.exists("inner/by outer"), "the other one was at work");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
}

#[test]
fn an_agent_that_a_shell_started_below_has_its_work_to_itself() {
    let mut world = both();
    at(10);
    go_out(&mut world);
    world.tool_start_in("outer", "t", &[]);
    at(11);
    go_in(&mut world);
    world.tool_start_in("inner", "t", &[]);
    at(12);
    world.write("inner/by inner", "the inner one's\n");
    at(13);
    end(&mut world, "inner");
    at(14);
    go_out(&mut world);
    end(&mut world, "outer");
    at(15);
    let report = explained(world.revert("mo"));
    assert!(world.exists("inner/by inner"), "{report:#?}");
    go_in(&mut world);
    let report = explained(world.revert("mi"));
    assert!(!world.exists("inner/by inner"), "{report:#?}");
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
}

#[test]
fn what_an_edit_tool_below_named_is_its_own_whatever_runs_around_it() {
    let mut world = both();
    at(10);
    world.tool_start_in("inner", "t", &["named"]);
    at(11);
    go_out(&mut world);
    world.tool_start_in("outer", "t", &[]);
    at(12);
    world.write("inner/named", "the inner one's\n");
    world.write("inner/other", "the outer one's\n");
    at(13);
    go_in(&mut world);
    end(&mut world, "inner");
    go_out(&mut world);
    end(&mut world, "outer");
    at(14);
    go_in(&mut world);
    let report = explained(world.revert("mi"));
    assert!(!world.exists("inner/named"), "{report:#?}");
    assert!(world.exists("inner/other"), "{report:#?}");
}
