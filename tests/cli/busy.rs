//! A dry run says what the call would: also that an agent is at work.

use serde_json::json;

use testing::binary::Sandbox;

/// A message, and a tool that runs.
fn at_work() -> Sandbox {
    let world = Sandbox::new();
    world.write("a", "1\n");
    world.play("m1", "first", |world| world.write("a", "2\n"));
    for event in ["user_message", "tool_start"] {
        world
            .event(json!({"event": event, "session_id": "s", "tool_use_id": "t"}))
            .ends_silently();
    }
    world
}

/// A dry run says busy where the call would.
#[test]
fn dry_run_says_busy_too() {
    let world = at_work();
    for command in [&["revert", "--message", "m1"][..], &["restore", "m1", "a"]] {
        world.run(command, b"").exits(5);
        let plan = [command, &["--dry-run"]].concat();
        let run = world.run(&plan, b"").exits(5);
        assert!(
            run.stdout.contains("restore") && run.stdout.contains("busy: an agent is at work"),
            "the plan, and that it would be refused: {run}"
        );
        assert_eq!(world.json(&plan)["busy"], true, "programs read it");
        let forced = [&plan[..], &["--force"]].concat();
        world.run(&forced, b"").exits(0);
        assert_eq!(
            world.json(&forced)["busy"],
            false,
            "it would not be refused"
        );
    }
    assert_eq!(world.read("a"), b"2\n", "nothing was changed");
}

/// A dry run of the way forward says busy as well.
#[test]
fn dry_run_of_redo_says_busy_too() {
    let world = Sandbox::new();
    world.write("a", "1\n");
    world.play("m1", "first", |world| world.write("a", "2\n"));
    world.run(&["revert", "--message", "m1"], b"").exits(0);
    world
        .event(json!({"event": "tool_start", "session_id": "s", "tool_use_id": "t"}))
        .ends_silently();
    for command in ["unrevert", "redo"] {
        world.run(&[command], b"").exits(5);
        let run = world.run(&[command, "--dry-run"], b"").exits(5);
        assert!(
            run.stdout.contains("all the way forward") && run.stdout.contains("busy:"),
            "the plan, and that it would be refused: {run}"
        );
    }
}

/// A message whose step is open is marked as its numbers say too little.
#[test]
fn message_with_an_open_step_is_marked() {
    let world = at_work();
    world.write("b", "made\n");
    let log = world.run(&["log"], b"").exits(0);
    assert!(log.stdout.contains("unfinished"), "{log}");
    let show = world.run(&["show", "last"], b"").exits(0);
    assert!(show.stdout.contains("when the step ends"), "{show}");
    for event in ["tool_finish", "step_finish", "turn_end"] {
        world
            .event(json!({"event": event, "session_id": "s", "tool_use_id": "t"}))
            .ends_silently();
    }
    let log = world.run(&["log"], b"").exits(0);
    assert!(!log.stdout.contains("unfinished"), "{log}");
}
