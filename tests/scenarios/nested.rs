//! An agent in a directory and one in a workspace below it, at work at the same time.

use std::process::{Child, Command, Stdio};

use ckpt_schema::report::{OperationReport, Outcome};
use ckpt_schema::{Event, EventKind};
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

/// What either shell may have written stays with either revert and is named.
#[test]
fn either_shells_possible_work_stays() {
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

/// A process that does nothing until it is dropped.
struct Idle(Child);

impl Idle {
    fn new() -> Self {
        let mut cat = Command::new("cat");
        let cat = cat.stdin(Stdio::piped()).stdout(Stdio::null());
        Self(cat.spawn().expect("cat is there"))
    }

    fn name(&self) -> String {
        process(self.0.id())
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().expect("it ends with its input");
    }
}

/// The name of a process that no other one has, as the hook makes it.
fn process(id: u32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).expect("it runs");
    let fields = stat.rsplit(')').next().expect("a line");
    let started = fields.split_whitespace().nth(19).expect("22 of them");
    let namespace = std::fs::read_link("/proc/self/ns/pid").expect("Linux has them");
    format!("{id} {started} {}", namespace.display())
}

fn session_start(world: &mut World, session: &str, process: Option<String>) {
    let event = Event {
        process,
        ..world.event(EventKind::SessionStart, session)
    };
    world.send(&event);
}

/// A shell of the outer agent runs from 10 to 60. The inner agent, in processes as given, works while it does, and the shell writes to its
/// workspace, too. Returns what a revert of the inner agent's message says.
fn while_a_shell_runs_around(
    world: &mut World,
    outer: Option<String>,
    inner: Option<String>,
) -> OperationReport {
    world.run_git(&["worktree", "add", "-q", "inner", "-b", "side"]);
    at(1);
    session_start(world, "outer", outer.clone());
    session_start(world, "outer", outer);
    world.message_in("outer", "mo");
    at(10);
    world.tool_start_in("outer", "t", &[]);
    go_in(world);
    at(20);
    session_start(world, "inner", inner.clone());
    session_start(world, "inner", inner);
    world.message_in("inner", "mi");
    at(30);
    world.tool_start_in("inner", "t", &[]);
    at(31);
    world.write("inner/by inner", "the inner one's\n");
    at(32);
    end(world, "inner");
    // The second of its tools: it was looked at since the shell was last heard of.
    at(40);
    world.tool_start_in("inner", "t", &[]);
    at(41);
    world.write("inner/by either", "?\n");
    at(42);
    end(world, "inner");
    at(60);
    go_out(world);
    end(world, "outer");
    at(61);
    let report = explained(world.revert("mo"));
    assert!(world.exists("inner/by either"), "{report:#?}");
    go_in(world);
    explained(world.revert("mi"))
}

/// An agent that a shell started below has its work to itself.
#[test]
fn agent_started_by_a_shell_owns_its_work() {
    let mut world = World::git(&[("a", "1\n")]);
    let inner = Idle::new();
    let outer = process(std::process::id());
    let report = while_a_shell_runs_around(&mut world, Some(outer), Some(inner.name()));
    assert!(!world.exists("inner/by inner"), "{report:#?}");
    assert!(!world.exists("inner/by either"), "{report:#?}");
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
}

/// What a shell around may have written stays where its agent did not start the one below.
///
/// Invariant `truth/unclear`.
#[test]
fn unrelated_outer_shells_possible_work_stays() {
    let (one, other) = (Idle::new(), Idle::new());
    let ways = [
        (
            "two agents beside each other",
            Some(one.name()),
            Some(other.name()),
        ),
        ("nobody knows their processes", None, None),
        ("one process runs both", Some(one.name()), Some(one.name())),
    ];
    for (name, outer, inner) in ways {
        let mut world = World::git(&[("a", "1\n")]);
        let report = while_a_shell_runs_around(&mut world, outer, inner);
        assert!(world.exists("inner/by either"), "{name}: {report:#?}");
        assert_eq!(report.outcome, Outcome::Partial, "{name}: {report:#?}");
        let unclear: Vec<_> = report.files.iter().filter(|file| file.unclear).collect();
        assert_eq!(unclear.len(), 2, "{name}: {report:#?}");
    }
}

/// A shell of a dead agent around does not count.
#[test]
fn dead_agents_outer_shell_does_not_count() {
    let mut world = World::git(&[("a", "1\n")]);
    let inner = Idle::new();
    let outer = Idle::new();
    world.run_git(&["worktree", "add", "-q", "inner", "-b", "side"]);
    at(1);
    session_start(&mut world, "outer", Some(outer.name()));
    session_start(&mut world, "outer", Some(outer.name()));
    world.message_in("outer", "mo");
    at(10);
    world.tool_start_in("outer", "t", &[]);
    drop(outer);
    go_in(&mut world);
    at(20);
    session_start(&mut world, "inner", Some(inner.name()));
    world.message_in("inner", "mi");
    at(30);
    world.tool_start_in("inner", "t", &[]);
    world.write("inner/by inner", "the inner one's\n");
    at(32);
    end(&mut world, "inner");
    let report = explained(world.revert("mi"));
    assert!(!world.exists("inner/by inner"), "{report:#?}");
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
}

/// A step around of an agent that does not report tools counts like a shell.
#[test]
fn outer_step_without_tools_counts_like_a_shell() {
    let mut world = both();
    at(9);
    go_out(&mut world);
    world.start_in("outer");
    go_in(&mut world);
    at(10);
    world.tool_start_in("inner", "t", &[]);
    at(12);
    world.write("inner/by either", "?\n");
    at(13);
    end(&mut world, "inner");
    let report = explained(world.revert("mi"));
    assert!(world.exists("inner/by either"), "{report:#?}");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
}

/// What an edit tool below named is its own whatever runs around it.
#[test]
fn inner_edit_tools_file_is_its_own() {
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
