//! Where less than everything is looked at, no boundary is lost: what an agent did goes, what others did stays.

use ckpt_schema::event::{Event, EventKind, ToolKind};
use ckpt_schema::report::Looked;

use testing::scenario::{World, before_a_look_at_the_clock, looks_at_the_clock, set_moment};

/// When a day that is played begins.
const MORNING: i64 = 1_700_000_000_000;

fn tool(
    world: &World,
    event: EventKind,
    id: &str,
    kind: Option<ToolKind>,
    paths: &[&str],
) -> Event {
    Event {
        tool_use_id: Some(id.to_owned()),
        tool_kind: kind,
        paths: paths.iter().map(Into::into).collect(),
        ..world.event(event, "s1")
    }
}

/// Runs a tool; returns where was looked before it.
fn run(
    world: &mut World,
    id: &str,
    kind: Option<ToolKind>,
    paths: &[&str],
    work: impl FnOnce(&World),
) -> Option<Looked> {
    let start = tool(world, EventKind::ToolStart, id, kind, paths);
    let looked = world.send(&start).looked;
    work(world);
    let finish = tool(world, EventKind::ToolFinish, id, kind, paths);
    world.send(&finish);
    looked
}

fn edit(world: &mut World, id: &str, path: &str, text: &str) {
    let looked = run(world, id, Some(ToolKind::Edit), &[path], |world| {
        world.write(path, text)
    });
    assert_eq!(looked, Some(Looked::Around), "only at `{path}`");
}

fn finish(world: &mut World) -> Option<Looked> {
    let finish = world.event(EventKind::StepFinish, "s1");
    world.send(&finish).looked
}

/// What the user writes while an edit tool works stays.
#[test]
fn users_write_during_an_edit_tool_stays() {
    let mut world = World::new();
    world.write("far/away", "old\n");
    world.message("m1");
    run(&mut world, "t1", Some(ToolKind::Edit), &["near"], |world| {
        world.write("near", "the agent's\n");
        world.write("far/away", "by hand\n");
        world.write("beside", "by hand\n");
    });
    assert_eq!(finish(&mut world), Some(Looked::Around));
    let looked = run(&mut world, "t2", None, &[], |world| {
        world.write("built", "the agent's\n")
    });
    assert_eq!(looked, Some(Looked::Everywhere), "a shell may do anything");
    finish(&mut world);
    world.revert("m1");
    assert_eq!(world.read("far/away"), "by hand\n", "no tool names it");
    assert_eq!(world.read("beside"), "by hand\n", "no tool names it");
    assert!(
        !world.exists("near") && !world.exists("built"),
        "the agent's go"
    );
    world.unrevert();
    assert_eq!(world.read("near"), "the agent's\n", "and come back");
}

/// What the user writes between two edits of one file is not the agent's.
#[test]
fn users_write_between_two_edits_stays() {
    let mut world = World::new();
    let text = |first: &str, last: &str| format!("{first}\n2\n3\n4\n5\n6\n{last}\n");
    world.write("a", text("1", "7"));
    world.message("m1");
    edit(&mut world, "t1", "a", &text("agent", "7"));
    finish(&mut world);
    world.write("a", text("agent", "by hand"));
    edit(&mut world, "t2", "a", &text("agent again", "by hand"));
    finish(&mut world);
    world.revert("m1");
    assert_eq!(
        world.read("a"),
        text("1", "by hand"),
        "each line is somebody's"
    );
}

/// A shell beside an edit tool begins with a look of its own.
#[test]
fn shell_beside_an_edit_tool_looks_first() {
    let mut world = World::new();
    world.message("m1");
    let start = tool(
        &world,
        EventKind::ToolStart,
        "t1",
        Some(ToolKind::Edit),
        &["a"],
    );
    assert_eq!(world.send(&start).looked, Some(Looked::Around));
    world.write("a", "the agent's\n");
    world.write("b", "by hand\n");
    let looked = run(&mut world, "t2", None, &[], |world| {
        world.write("b", "the agent's\n")
    });
    assert_eq!(looked, Some(Looked::Everywhere), "it may touch `b`");
    world.send(&tool(
        &world,
        EventKind::ToolFinish,
        "t1",
        Some(ToolKind::Edit),
        &["a"],
    ));
    assert_eq!(finish(&mut world), Some(Looked::Everywhere));
    world.revert("m1");
    assert_eq!(world.read("b"), "by hand\n", "as it was before the shell");
    assert!(!world.exists("a"), "the edit goes");
}

/// A step that only reads costs nothing and leaves everything to the user.
#[test]
fn reading_step_costs_nothing() {
    let mut world = World::new();
    world.message("m1");
    let looked = run(&mut world, "t1", Some(ToolKind::Read), &[], |world| {
        world.write("by hand", "x\n")
    });
    assert_eq!((looked, finish(&mut world)), (None, None), "nothing to see");
    edit(&mut world, "t2", "a", "the agent's\n");
    finish(&mut world);
    assert_eq!(world.log().messages[0].files, 1, "one file is the agent's");
    world.revert("m1");
    assert_eq!(
        world.read("by hand"),
        "x\n",
        "no tool that writes was at work"
    );
    assert!(!world.exists("a"), "the edit goes");
}

/// A folder that an edit tool makes goes and comes with its file.
#[test]
fn edit_tools_folder_goes_with_its_file() {
    let mut world = World::new();
    world.write("src/main", "x\n");
    world.message("m1");
    edit(&mut world, "t1", "src/new/deep/file", "the agent's\n");
    finish(&mut world);
    world.revert("m1");
    assert!(!world.exists("src/new"), "nothing else is in it");
    world.unrevert();
    assert_eq!(
        world.read("src/new/deep/file"),
        "the agent's\n",
        "all of it"
    );
}

/// An empty ignored folder of the user's stays where an edit tool wrote into it.
///
/// Invariant `truth/empty-directories`.
#[test]
fn users_empty_ignored_folder_stays_after_an_edit() {
    let moments = [1_700_000_000_000, 1_700_000_002_000];
    set_moment(moments[0]);
    let mut world = World::new();
    world.write(".gitignore", "build/\n");
    world.make_directory("build/kept");
    set_moment(moments[1]);
    world.message("m1");
    edit(&mut world, "t1", "build/kept/file", "the agent's\n");
    edit(&mut world, "t2", "build/made/file", "the agent's\n");
    finish(&mut world);
    for _ in 0..2 {
        world.revert("m1");
        assert!(world.exists("build/kept"), "it was there before");
        assert!(!world.exists("build/kept/file"), "the file was not");
        assert!(!world.exists("build/made"), "nor was this folder");
        world.unrevert();
        assert!(world.exists("build/kept/file") && world.exists("build/made/file"));
    }
}

/// The end of a tool of an agent that reports nothing before its tools run: the next may be running already.
fn tool_ends(world: &mut World) {
    let end = Event {
        tool_name: Some("shell".to_owned()),
        ..world.event(EventKind::ToolFinish, "s1")
    };
    world.send(&end);
    let next = Event {
        at_once: true,
        ..world.event(EventKind::StepStart, "s1")
    };
    world.send(&next);
}

/// What another tool of an agent that does not wait writes during a look is the agent's.
#[test]
fn unwaiting_agents_write_during_a_look_is_its() {
    set_moment(MORNING);
    let mut world = World::new();
    world.message("m1");
    world.start();
    tool_ends(&mut world);
    let before = looks_at_the_clock();
    tool_ends(&mut world);
    let count = looks_at_the_clock() - before;
    // The last look at the clock is that of the rows, when the workspace has been looked at.
    let file = world.path("late");
    before_a_look_at_the_clock(count, move || {
        set_moment(MORNING + 60_000);
        std::fs::write(&file, "agent\n").expect("it is writable");
        set_moment(MORNING + 61_000);
    });
    tool_ends(&mut world);
    assert!(world.exists("late"), "it came during the look");
    set_moment(MORNING + 120_000);
    let end = world.event(EventKind::TurnEnd, "s1");
    world.send(&end);
    let report = world.revert("m1");
    assert!(!world.exists("late"), "no person did that: {report:#?}");
}
