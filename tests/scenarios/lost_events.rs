//! Tools of which events were lost: their changes are the agent's or unclear, and never nobody's in silence; and what a person
//! changed before such a tool can have run stays theirs.

use std::path::PathBuf;

use ckpt_schema::report::{DifferenceReason, OperationReport};
use ckpt_schema::{Event, EventKind, ToolKind, ToolUse};

use ckpt_store::{RevertRequest, Unclear};

use testing::scenario::{World, set_moment, to};

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60_000;

fn at(milliseconds: i64) {
    set_moment(1_700_000_000_000 + milliseconds);
}

/// A conversation of an agent that reports its tools, with a first step of which every event came.
fn working() -> World {
    at(0);
    let mut world = World::new();
    world.write("edited", "0\n");
    let message = Event {
        tells_of_tools: true,
        message_id: Some("m1".to_owned()),
        prompt: Some("work".to_owned()),
        ..world.event(EventKind::UserMessage, "s1")
    };
    world.send(&message);
    at(SECOND);
    world.tool_start_in("s1", "t1", &[]);
    world.write("first", "x\n");
    at(2 * SECOND);
    world.tool_finish_in("s1", "t1");
    batch(&mut world, &[shell("t1")]);
    world
}

fn shell(id: &str) -> ToolUse {
    ToolUse {
        tool_use_id: id.to_owned(),
        tool_name: Some("Bash".to_owned()),
        ..ToolUse::default()
    }
}

fn edit(id: &str, path: &str) -> ToolUse {
    ToolUse {
        paths: vec![PathBuf::from(path)],
        tool_kind: Some(ToolKind::Edit),
        ..shell(id)
    }
}

/// The end of a step that names its tools.
fn batch(world: &mut World, tools: &[ToolUse]) {
    let finish = Event {
        step_id: Some(format!("batch:{}", tools[0].tool_use_id)),
        tools: tools.to_vec(),
        ..world.event(EventKind::StepFinish, "s1")
    };
    world.send(&finish);
}

/// The end of a tool that ran for so long.
fn ended(world: &mut World, tool: &ToolUse, duration: Option<i64>) {
    let finish = Event {
        tool_use_id: Some(tool.tool_use_id.clone()),
        tool_name: tool.tool_name.clone(),
        tool_kind: tool.tool_kind,
        paths: tool.paths.clone(),
        duration_ms: duration.map(i64::unsigned_abs),
        ..world.event(EventKind::ToolFinish, "s1")
    };
    world.send(&finish);
}

fn unclear_of(report: &OperationReport) -> Vec<&str> {
    let differences = report
        .receipt
        .iter()
        .flat_map(|receipt| &receipt.differences);
    let unclear = differences.filter(|one| one.reason == DifferenceReason::Unclear);
    unclear.map(|one| one.path.path.as_str()).collect()
}

/// What changed while both events of a tool were lost is unclear.
///
/// Invariant `truth/events-reordered`.
#[test]
fn change_during_a_lost_tool_is_unclear() {
    let mut world = working();
    at(10 * SECOND);
    world.write("made", "by a tool that nobody heard of\n");
    at(11 * SECOND);
    batch(&mut world, &[shell("t2")]);
    let report = world.revert("m1");
    assert_eq!(unclear_of(&report), ["made"], "named: {report:#?}");
    assert!(world.exists("made"), "and kept");
    assert!(!world.exists("first"), "what is known goes");
}

/// A tool of which both events were lost is seen beside one that was told of.
#[test]
fn lost_tool_is_seen_beside_a_known_one() {
    let mut world = working();
    at(10 * SECOND);
    world.tool_start_in("s1", "t2", &["edited"]);
    world.write("edited", "1\n");
    at(11 * SECOND);
    ended(&mut world, &edit("t2", "edited"), None);
    at(12 * SECOND);
    world.write("made", "by a tool that nobody heard of\n");
    at(13 * SECOND);
    batch(&mut world, &[edit("t2", "edited"), shell("t3")]);
    let report = world.revert("m1");
    assert_eq!(unclear_of(&report), ["made"], "named: {report:#?}");
    assert_eq!(world.read("edited"), "0\n", "what is known goes");
}

/// An end that calls the tools of its step otherwise tells of no lost one.
#[test]
fn differently_named_tools_are_no_lost_ones() {
    let mut world = working();
    at(5 * SECOND);
    world.write("by hand", "mine\n");
    at(MINUTE);
    world.tool_start_in("s1", "toolu_2", &[]);
    world.write("edited", "1\n");
    at(MINUTE + SECOND);
    ended(&mut world, &shell("toolu_2"), None);
    batch(&mut world, &[shell("call_2")]);
    let report = world.revert("m1");
    assert_eq!(unclear_of(&report), [] as [&str; 0], "{report:#?}");
    assert!(world.exists("by hand"), "the user's stays");
    assert_eq!(world.read("edited"), "0\n", "the agent's goes");
}

/// What a tool of which both events were lost did before the next one began is unclear.
#[test]
fn lost_tools_work_before_the_next_is_unclear() {
    for names in [false, true] {
        let mut world = working();
        at(5 * SECOND);
        world.write("made", "by a tool that nobody heard of\n");
        world.write("edited", "1\n");
        at(6 * SECOND);
        world.tool_start_in("s1", "t3", &[]);
        world.write("known", "x\n");
        at(7 * SECOND);
        ended(&mut world, &shell("t3"), None);
        let lost = match names {
            true => edit("t2", "edited"),
            false => shell("t2"),
        };
        batch(&mut world, &[lost, shell("t3")]);
        let report = world.revert("m1");
        let expected: &[&str] = match names {
            true => &["edited"],
            false => &["edited", "made"],
        };
        assert_eq!(unclear_of(&report), expected, "named: {report:#?}");
        assert!(!world.exists("known"), "what is known goes");
        assert_eq!(world.read("edited"), "1\n", "and the rest stays");
        world.unrevert();
        let request = RevertRequest {
            unclear: Some(Unclear::Take),
            ..to("m1")
        };
        world.try_revert(&request).expect("it is known");
        assert_eq!(world.read("edited"), "0\n", "it can be taken");
        assert_eq!(world.exists("made"), names, "as far as a tool reached");
    }
}

/// An edit tool of which both events were lost reaches only its files.
#[test]
fn lost_edit_tool_reaches_only_its_files() {
    let mut world = working();
    at(10 * SECOND);
    world.write("by hand", "mine\n");
    world.write("edited", "1\n");
    at(11 * SECOND);
    batch(&mut world, &[edit("t2", "edited")]);
    let report = world.revert("m1");
    assert_eq!(unclear_of(&report), ["edited"], "named: {report:#?}");
    assert!(world.exists("by hand"), "no tool could have written it");
}

/// A tool that only read and lost both events changed nothing.
#[test]
fn lost_reading_tool_changed_nothing() {
    let mut world = working();
    at(10 * SECOND);
    world.write("by hand", "mine\n");
    at(11 * SECOND);
    let reading = ToolUse {
        tool_kind: Some(ToolKind::Read),
        ..shell("t2")
    };
    batch(&mut world, &[reading]);
    let report = world.revert("m1");
    assert_eq!(unclear_of(&report), [] as [&str; 0], "{report:#?}");
    assert!(world.exists("by hand"), "the user's stays");
}

/// An end that names its tools and comes twice invents nothing.
///
/// Invariant `truth/events-reordered`.
#[test]
fn doubled_end_with_tools_invents_nothing() {
    let mut world = working();
    at(10 * SECOND);
    world.write("by hand", "mine\n");
    at(11 * SECOND);
    batch(&mut world, &[shell("t1")]);
    ended(&mut world, &shell("t1"), Some(SECOND));
    let report = world.revert("m1");
    assert_eq!(unclear_of(&report), [] as [&str; 0], "{report:#?}");
    assert!(world.exists("by hand"), "the user's stays");
}

/// Where a start was lost and the end tells how long it ran what changed before is the user's.
///
/// Invariant `truth/events-reordered`.
#[test]
fn duration_dates_a_tool_without_start() {
    for names in [false, true] {
        let mut world = working();
        at(MINUTE);
        world.write("by hand", "mine, while it thinks\n");
        at(10 * MINUTE);
        world.write("edited", "1\n");
        at(10 * MINUTE + 100);
        let tool = match names {
            true => edit("t2", "edited"),
            false => shell("t2"),
        };
        ended(&mut world, &tool, Some(200));
        batch(&mut world, &[tool]);
        let report = world.revert("m1");
        assert_eq!(unclear_of(&report), [] as [&str; 0], "{report:#?}");
        assert!(world.exists("by hand"), "it was not running: {report:#?}");
        assert_eq!(world.read("edited"), "0\n", "names files: {names}");
    }
}

/// An edit tool whose start was lost reaches only its files.
#[test]
fn edit_tool_without_start_reaches_its_files() {
    let mut world = working();
    at(10 * SECOND);
    world.tool_start_in("s1", "t2", &["first"]);
    at(11 * SECOND);
    world.write("by hand", "mine\n");
    world.write("edited", "1\n");
    at(12 * SECOND);
    ended(&mut world, &edit("t3", "edited"), Some(1_500));
    ended(&mut world, &edit("t2", "first"), None);
    batch(&mut world, &[edit("t2", "first"), edit("t3", "edited")]);
    let report = world.revert("m1");
    assert!(world.exists("by hand"), "no tool named it: {report:#?}");
    assert_eq!(world.read("edited"), "0\n", "the agent's goes");
}

/// Where a start was lost and nothing tells how long it ran the step is as wide as it must be.
#[test]
fn tool_without_start_or_duration_widens_its_step() {
    let mut world = working();
    at(MINUTE);
    world.write("made", "x\n");
    at(2 * MINUTE);
    ended(&mut world, &shell("t2"), None);
    batch(&mut world, &[shell("t2")]);
    let report = world.revert("m1");
    let is_told = !world.exists("made") || unclear_of(&report) == ["made"];
    assert!(is_told, "taken or named: {report:#?}");
}

/// What was edited while an agent that tells only of ends answered stays and is named.
#[test]
fn edit_during_an_answer_stays() {
    for has_told_of_ends in [true, false] {
        at(0);
        let mut world = World::new();
        let next = |world: &mut World| {
            let next = Event {
                at_once: true,
                ..world.event(EventKind::StepStart, "s1")
            };
            world.send(&next);
        };
        world.message("m1");
        next(&mut world);
        world.write("made", "x\n");
        at(SECOND);
        let end = world.event(EventKind::ToolFinish, "s1");
        world.send(&end);
        next(&mut world);
        at(MINUTE);
        world.write("by hand", "mine\n");
        at(MINUTE + SECOND);
        let end = Event {
            has_told_of_ends,
            ..world.event(EventKind::TurnEnd, "s1")
        };
        world.send(&end);
        let report = world.revert("m1");
        assert!(!world.exists("made"), "the tool's goes: {report:#?}");
        assert_eq!(world.exists("by hand"), has_told_of_ends, "{report:#?}");
        let unclear: &[&str] = if has_told_of_ends { &["by hand"] } else { &[] };
        assert_eq!(unclear_of(&report), unclear, "named");
    }
}
