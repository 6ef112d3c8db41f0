//! Our own commands inside an agent, at each moment of a turn: they are no turn of it.

use ckpt_schema::event::ToolKind;
use ckpt_schema::report::Outcome;
use ckpt_schema::{Event, EventKind};
use testing::scenario::{World, set_clock_from_files, to};

const MINUTE: i64 = 60_000;

/// The user types one of our commands in the agent.
fn command(world: &mut World) {
    let event = Event {
        is_command: true,
        prompt: Some("/ckpt-status".to_owned()),
        ..world.event(EventKind::UserMessage, "s1")
    };
    world.send(&event);
}

/// The agent's model is called to run the command: with a shell, if it does so with one.
fn run(world: &mut World, shell: bool) {
    world.start();
    if shell {
        for kind in [EventKind::ToolStart, EventKind::ToolFinish] {
            let event = Event {
                is_command: true,
                tool_use_id: Some("own".to_owned()),
                ..world.shell(kind)
            };
            world.send(&event);
        }
        world.finish();
    }
    end(world);
}

fn end(world: &mut World) {
    let end = world.event(EventKind::TurnEnd, "s1");
    world.send(&end);
}

/// Esc in a shell, an edit by hand, a command: its turn does not end the interrupted step well.
///
/// Nor does it in the first turn of a session, before any tool: it is not known yet whether the agent tells of tools.
///
/// Invariant `truth/own-commands`: One of our own commands inside an agent is no turn of it.
#[test]
fn command_after_esc_leaves_what_was_edited_unclear() {
    let begun: [fn(&mut World); 2] = [|world| _ = world.start_shell(), |world| _ = world.start()];
    for (begin, shell) in begun
        .into_iter()
        .flat_map(|begin| [None, Some(false), Some(true)].map(|shell| (begin, shell)))
    {
        let mut world = World::new();
        world.message("m1");
        set_clock_from_files(-MINUTE);
        begin(&mut world);
        world.write("by hand", "x\n");
        set_clock_from_files(0);
        command(&mut world);
        match shell {
            Some(shell) => run(&mut world, shell),
            None => end(&mut world),
        }
        let report = world.try_revert(&to("m1")).expect("no agent is at work");
        assert!(world.exists("by hand"), "{shell:?}: {report:#?}");
        assert_eq!(
            report.outcome,
            Outcome::Partial,
            "and that is said: {report:#?}"
        );
    }
}

/// Tool of a command leaves what was edited unclear.
///
/// So does a tool of its turn, with which it is run: a step that was cut off is that from the first event on.
///
/// Invariant `truth/own-commands`.
#[test]
fn commands_tool_leaves_edits_unclear() {
    let skill = |world: &World, kind| Event {
        tool_use_id: Some("next".to_owned()),
        tool_name: Some("Skill".to_owned()),
        ..world.event(kind, "s1")
    };
    let read = |world: &World, kind| Event {
        tool_kind: Some(ToolKind::Read),
        ..skill(world, kind)
    };
    let own = |world: &World, kind| Event {
        is_command: true,
        ..skill(world, kind)
    };
    let lost_start = |world: &World, kind| match kind {
        EventKind::ToolStart => world.event(EventKind::ToolWait, "s1"),
        _ => skill(world, kind),
    };
    type Tool<'a> = &'a dyn Fn(&World, EventKind) -> Event;
    let tools: [Tool<'_>; 4] = [&skill, &read, &own, &lost_start];
    for (number, tool) in tools.into_iter().enumerate() {
        for waits in [false, true] {
            let mut world = World::new();
            world.message("m1");
            set_clock_from_files(-3_000);
            world.start_shell();
            world.write("by hand", "x\n");
            set_clock_from_files(0);
            command(&mut world);
            let kinds = match waits {
                false => [EventKind::ToolStart, EventKind::ToolFinish],
                // It is denied, or ends without a report.
                true => [EventKind::ToolStart, EventKind::ToolWait],
            };
            for kind in kinds {
                let event = tool(&world, kind);
                world.send(&event);
            }
            end(&mut world);
            let report = world.revert("m1");
            assert!(world.exists("by hand"), "{number}, {waits}: {report:#?}");
            assert_eq!(report.outcome, Outcome::Partial, "{number}: {report:#?}");
        }
    }
}

/// The tool that a command's turn runs is the agent's all the same, and so is one that goes on beside it.
///
/// Invariant `truth/own-commands`.
#[test]
fn tool_after_a_command_is_the_agents() {
    for is_beside in [false, true] {
        let mut world = World::new();
        world.message("m1");
        world.start_shell();
        command(&mut world);
        world.tool_start_in("s1", "next", &[]);
        world.write("made", "x\n");
        world.tool_finish_in("s1", "next");
        if is_beside {
            let finish = world.shell(EventKind::ToolFinish);
            world.send(&finish);
        }
        end(&mut world);
        let report = world.revert("m1");
        assert!(!world.exists("made"), "{is_beside}: {report:#?}");
        assert_eq!(
            report.outcome,
            Outcome::Restored,
            "{is_beside}: {report:#?}"
        );
    }
}

/// Command soon after Esc leaves what was edited unclear.
///
/// The same within seconds of the shell's start.
#[test]
fn command_soon_after_esc_leaves_edits_unclear() {
    let mut world = World::new();
    world.message("m1");
    set_clock_from_files(-3_000);
    world.start_shell();
    world.write("by hand", "x\n");
    set_clock_from_files(0);
    command(&mut world);
    end(&mut world);
    let report = world.revert("m1");
    assert!(world.exists("by hand"), "{report:#?}");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
}

/// What the user edits while the model runs the command is no change of the agent's.
///
/// Invariant `truth/own-commands`.
#[test]
fn edit_during_a_command_is_the_users() {
    for ends_well in [true, false] {
        let mut world = World::new();
        world.message("m1");
        world.start_shell();
        world.write("made", "x\n");
        let finish = world.shell(EventKind::ToolFinish);
        world.send(&finish);
        world.finish();
        if ends_well {
            end(&mut world);
        }
        command(&mut world);
        world.start();
        world.write("by hand", "x\n");
        world.finish();
        end(&mut world);
        let report = world.revert("m1");
        assert_eq!(
            (world.exists("made"), world.exists("by hand")),
            (false, true)
        );
        assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
    }
}

/// A command that is typed while the agent works changes nothing about its work.
///
/// Invariant `truth/own-commands`.
#[test]
fn command_in_the_middle_of_work_hides_nothing() {
    for moment in 0..4 {
        let mut world = World::new();
        world.message("m1");
        let at = |world: &mut World, now: usize| {
            if now == moment {
                command(world);
            }
        };
        at(&mut world, 0);
        world.start();
        at(&mut world, 1);
        world.start_shell();
        at(&mut world, 2);
        world.write("made", "x\n");
        let finish = world.shell(EventKind::ToolFinish);
        world.send(&finish);
        at(&mut world, 3);
        world.finish();
        end(&mut world);
        let report = world.revert("m1");
        assert!(!world.exists("made"), "{moment}: {report:#?}");
        assert_eq!(report.outcome, Outcome::Restored, "{moment}: {report:#?}");
    }
}

/// Before the first message, a command makes none.
#[test]
fn command_before_the_first_message_is_no_message() {
    let mut world = World::new();
    let start = world.event(EventKind::SessionStart, "s1");
    world.send(&start);
    command(&mut world);
    run(&mut world, true);
    world.write("by hand", "x\n");
    world.message("m1");
    world.start_shell();
    world.write("made", "x\n");
    let finish = world.shell(EventKind::ToolFinish);
    world.send(&finish);
    world.finish();
    assert_eq!(world.log().messages.len(), 1);
    world.revert("m1");
    assert_eq!(
        (world.exists("made"), world.exists("by hand")),
        (false, true)
    );
}

/// How an agent runs one of our commands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// By itself.
    Typed,
    /// Its model is called, and answers.
    Model,
    /// Its model runs a shell.
    Shell,
    /// Its model loads a skill, and runs a shell.
    Skill,
}

/// The moments of a turn with a shell that made a file, from the message on.
const MOMENTS: usize = 7;

/// The first moments of a turn. Esc ends it there. Returns whether the shell's work is known to be whole.
fn turn_until(world: &mut World, moment: usize) -> bool {
    // What is done by hand while a step counts as open comes long after it began.
    set_clock_from_files(if matches!(moment, 1..=4) { -3_000 } else { 0 });
    for now in 0..=moment {
        match now {
            0 => _ = world.message("m1"),
            1 => _ = world.start(),
            2 => _ = world.start_shell(),
            3 => world.write("made", "x\n"),
            4 => {
                let finish = world.shell(EventKind::ToolFinish);
                world.send(&finish);
            }
            5 => _ = world.finish(),
            _ => end(world),
        }
    }
    set_clock_from_files(0);
    moment > 4
}

fn run_as(world: &mut World, form: Form) {
    command(world);
    match form {
        Form::Typed => end(world),
        Form::Model => run(world, false),
        Form::Shell => run(world, true),
        Form::Skill => {
            world.start();
            for kind in [EventKind::ToolStart, EventKind::ToolFinish] {
                let event = Event {
                    tool_use_id: Some("skill".to_owned()),
                    tool_name: Some("Skill".to_owned()),
                    tool_kind: Some(ToolKind::Read),
                    ..world.event(kind, "s1")
                };
                world.send(&event);
            }
            run(world, true);
        }
    }
}

/// Each form of a command at each moment at which Esc may end a turn: what is done by hand before and after it stays.
///
/// Invariant `truth/own-commands`.
#[test]
fn command_at_each_moment_takes_no_edit() {
    let forms = [Form::Typed, Form::Model, Form::Shell, Form::Skill];
    for moment in 0..MOMENTS {
        for (number, form) in forms.into_iter().enumerate() {
            let mut world = World::new();
            // The agent tells of its tools.
            world.message("m0");
            world.start_shell();
            end(&mut world);
            let is_whole = turn_until(&mut world, moment);
            world.write("by hand", "x\n");
            run_as(&mut world, form);
            world.write("by hand too", "x\n");
            if (moment + number) % 2 == 0 {
                world.message("m2");
                world.start_shell();
                world.write("next", "x\n");
                let finish = world.shell(EventKind::ToolFinish);
                world.send(&finish);
                end(&mut world);
            }
            let what = format!("{form:?} at {moment}");
            let report = world.try_revert(&to("m1"));
            let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
            for mine in ["by hand", "by hand too"] {
                assert!(world.exists(mine), "{what}: `{mine}` went: {report:#?}");
            }
            assert!(!world.exists("next"), "{what}: {report:#?}");
            assert!(!is_whole || !world.exists("made"), "{what}: {report:#?}");
            assert!(
                !world.exists("made") || report.outcome == Outcome::Partial,
                "{what}: {report:#?}"
            );
        }
    }
}
