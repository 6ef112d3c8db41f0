//! An agent that was killed in a tool and comes back in the same session. Some never start the session anew: the next
//! message is the first that is heard of them.

use ckpt_schema::report::Outcome;
use ckpt_schema::{Event, EventKind};
use ckpt_store::{ErrorKind, RevertRequest, agent_process};
use testing::scenario::{
    World, ended_process, process_started, set_clock_from_files, set_moment, to,
};

const MINUTE: i64 = 60_000;

/// A message of an agent whose session is one turn.
fn message(world: &World, id: Option<&str>, process: String) -> Event {
    Event {
        process: Some(process),
        turn_id: Some("session".to_owned()),
        message_id: id.map(str::to_owned),
        prompt: id.map(str::to_owned),
        ..world.event(EventKind::UserMessage, "s1")
    }
}

/// The agent, seen twice, is killed in a shell; ten minutes later the user writes a file, and goes on in the same session.
fn killed_in_a_shell(world: &mut World, next: &Event) {
    set_clock_from_files(-10 * MINUTE);
    let process = Some(ended_process());
    let begin = Event {
        process: process.clone(),
        ..world.event(EventKind::SessionStart, "s1")
    };
    world.send(&begin);
    let first = Event {
        message_id: next.message_id.as_ref().map(|_| "m1".to_owned()),
        process,
        ..next.clone()
    };
    world.send(&first);
    world.tool_start_in("s1", "t", &[]);
    world.write("mine", "an hour of work\n");
    set_clock_from_files(-100);
    world.send(next);
    world.tool_start_in("s1", "u", &[]);
    world.write("made", "by the agent\n");
    set_clock_from_files(1_000);
    world.tool_finish_in("s1", "u");
    world.finish();
}

/// What was written between the death of an agent and its next message is unclear.
#[test]
fn change_after_a_death_is_unclear() {
    let mut world = World::new();
    let next = message(&world, Some("m2"), process_started("2"));
    killed_in_a_shell(&mut world, &next);
    let report = world.revert("m1");
    assert_eq!(
        world.read("mine"),
        "an hour of work\n",
        "nobody knows whose it is: {report:?}"
    );
    assert_eq!(report.outcome, Outcome::Partial, "and it is named");
    assert!(!world.exists("made"), "what came after went back");
}

/// A task that goes on in another process is a message of its own.
#[test]
fn task_in_another_process_is_a_message() {
    let mut world = World::new();
    let next = message(&world, None, process_started("2"));
    killed_in_a_shell(&mut world, &next);
    let report = world.revert("last");
    assert!(!world.exists("made"), "the second one's: {report:?}");
    assert_eq!(world.read("mine"), "an hour of work\n", "not in it");
    assert_eq!(report.outcome, Outcome::Restored, "and all of it went");
}

#[test]
fn sub_agent_of_a_dead_process_holds_nothing() {
    let mut world = World::new();
    for kind in [EventKind::SessionStart, EventKind::UserMessage] {
        let event = Event {
            process: Some(ended_process()),
            ..world.event(kind, "s1")
        };
        world.send(&event);
    }
    for kind in [EventKind::SessionStart, EventKind::ToolStart] {
        let event = Event {
            parent_session_id: Some("s1".to_owned()),
            process: (kind == EventKind::SessionStart).then(ended_process),
            tool_use_id: (kind == EventKind::ToolStart).then(|| "t".to_owned()),
            ..world.event(kind, "sub")
        };
        world.send(&event);
    }
    assert_eq!(world.status().open_steps, 1, "its tool is not known to end");
    assert_eq!(
        world.status().agents_at_work,
        Vec::<String>::new(),
        "its parent saw the same process, so both are gone"
    );
}

/// A dry run names the agent of a step that is still open.
#[test]
fn dry_run_names_the_open_steps_agent() {
    let mut world = World::new();
    world.message_of_a_dead_agent("m1");
    set_clock_from_files(-10 * MINUTE);
    world.tool_start_in("s1", "t", &[]);
    world.write("mine", "an hour of work\n");
    set_clock_from_files(MINUTE);
    let plan = world
        .try_revert(&RevertRequest {
            dry_run: true,
            ..to("m1")
        })
        .expect("nobody is at work");
    let receipt = plan.receipt.expect("a plan has one");
    let by = &receipt.differences[0].by[0];
    assert_eq!(by.agent.as_deref(), Some("generic"), "{by:?}");
    let done = world.revert("m1");
    assert_eq!(done.receipt, Some(receipt), "and the revert says the same");
}

/// A process that was seen once, in which a tool began.
#[cfg(target_os = "linux")]
fn seen_once(process: String, is_long_lived: bool) -> World {
    set_moment(1_700_000_000_000);
    let mut world = World::new();
    let start = Event {
        process: Some(process),
        is_long_lived,
        ..world.event(EventKind::UserMessage, "s1")
    };
    world.send(&start);
    world.tool_start_in("s1", "t", &[]);
    world.write("made", "x\n");
    world
}

/// A process that was seen once and is gone is dead after an hour of silence.
#[cfg(target_os = "linux")]
#[test]
fn silent_process_is_dead_after_an_hour() {
    let mut world = seen_once(ended_process(), false);
    set_moment(1_700_000_000_000 + 61 * MINUTE);
    world.try_revert(&to("last")).expect("nobody is at work");
    assert!(!world.exists("made"), "the agent's");
    let own = agent_process().expect("somebody started the test").name;
    let mut world = seen_once(own, false);
    set_moment(1_700_000_000_000 + 61 * MINUTE);
    let error = world.try_revert(&to("last")).expect_err("at work");
    assert_eq!(error.kind, ErrorKind::Busy, "it lives, and its tool runs");
}

/// A process that is older than any call of a hook is believed at once.
#[cfg(target_os = "linux")]
#[test]
fn older_process_is_believed_at_once() {
    let mut world = seen_once(ended_process(), true);
    world.try_revert(&to("last")).expect("nobody is at work");
    assert!(!world.exists("made"), "the agent's");
}

/// A message in a session that is one turn, from an agent that lives.
fn typed(world: &World, id: Option<&str>) -> Event {
    Event {
        process: agent_process().map(|process| process.name),
        tells_of_tools: true,
        ..message(world, id, String::new())
    }
}

/// What was edited between an Esc that nobody heard of and the next message is unclear.
#[test]
fn edit_after_an_unreported_esc_is_unclear() {
    set_moment(1_700_000_000_000);
    let mut world = World::new();
    for kind in [EventKind::SessionStart, EventKind::UserMessage] {
        let event = Event {
            event: kind,
            ..typed(&world, Some("m1"))
        };
        world.send(&event);
    }
    world.start();
    world.tool_start_in("s1", "t", &[]);
    world.write("begun", "by the tool\n");
    set_moment(1_700_000_000_000 + 30 * MINUTE);
    world.write("mine", "half an hour later\n");
    set_moment(1_700_000_000_000 + 60 * MINUTE);
    // It is in the same turn as the tool, of which no end was heard: it may have been typed while that runs.
    let next = typed(&world, Some("m2"));
    world.send(&next);
    world.start();
    world.tool_start_in("s1", "u", &[]);
    world.write("made", "by the agent\n");
    set_moment(1_700_000_000_000 + 61 * MINUTE);
    world.tool_finish_in("s1", "u");
    world.finish();
    let report = world.revert("m2");
    assert!(!world.exists("made"), "the second one's: {report:?}");
    assert!(world.exists("mine"), "not in it");
    assert_eq!(report.outcome, Outcome::Restored, "and all of it went");
    let report = world.revert("m1");
    assert!(world.exists("mine"), "nobody knows whose it is: {report:?}");
    assert!(!world.exists("begun"), "the tool's goes");
    assert_eq!(report.outcome, Outcome::Partial, "and it is named");
}

/// A task that begins anew after an Esc that nobody heard of is a message of its own.
#[test]
fn task_after_an_unreported_esc_is_a_message() {
    for in_a_tool in [true, false] {
        set_moment(1_700_000_000_000);
        let mut world = World::new();
        let task = |world: &World| Event {
            begins_anew: true,
            ..typed(world, None)
        };
        let first = task(&world);
        world.send(&first);
        // The start of a task is not waited for, so it may come twice, before and after its first tool.
        let again = typed(&world, None);
        world.send(&again);
        if in_a_tool {
            world.tool_start_in("s1", "t", &[]);
        }
        world.send(&first);
        set_moment(1_700_000_000_000 + 30 * MINUTE);
        world.write("mine", "half an hour later\n");
        set_moment(1_700_000_000_000 + 60 * MINUTE);
        let second = task(&world);
        world.send(&second);
        world.send(&again);
        world.tool_start_in("s1", "u", &[]);
        world.write("made", "by the agent\n");
        set_moment(1_700_000_000_000 + 61 * MINUTE);
        world.tool_finish_in("s1", "u");
        world.finish();
        assert_eq!(world.log().messages.len(), 2, "in a tool: {in_a_tool}");
        let report = world.revert("last");
        assert!(!world.exists("made"), "the second one's: {report:?}");
        assert_eq!(report.outcome, Outcome::Restored, "in a tool: {in_a_tool}");
        let first = world.log().messages[1].id.clone();
        let report = world.revert(&first);
        assert!(world.exists("mine"), "in a tool: {in_a_tool}: {report:?}");
        // In the tool, it is in doubt; without one, no step of the message was recorded.
        assert_eq!(report.outcome, Outcome::Partial, "named: {in_a_tool}");
    }
}
