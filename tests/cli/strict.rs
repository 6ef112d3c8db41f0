//! `--strict` reports every event that was not recorded.

use serde_json::json;

use testing::binary::Sandbox;

/// A strict event that is not known is a failure.
#[test]
fn unknown_strict_event_is_a_failure() {
    let world = Sandbox::new();
    let here = world.workspace();
    for (agent, event) in [
        ("generic", "step_strat"),
        ("claude-code", "PreToolUze"),
        ("opencode", "chat.massage"),
        ("cursor", "afterShelExecution"),
        ("pi", "agent_and"),
    ] {
        let payload = json!({"session_id": "s", "cwd": here}).to_string();
        let words = ["event", "--agent", agent, "--event", event];
        let run = world
            .run(&[&words[..], &["--strict"]].concat(), payload.as_bytes())
            .exits(1);
        assert!(
            run.stderr
                .contains(&format!("`{event}` is no event of `{agent}`")),
            "it is named: {run}"
        );
        world.run(&words, payload.as_bytes()).ends_silently();
    }
    assert!(
        !world.store().join("sessions.db").exists(),
        "nothing was recorded"
    );
}

/// A strict event is also known by the name in its payload.
#[test]
fn strict_event_may_be_named_by_its_payload() {
    let world = Sandbox::new();
    let event = |name: &str| {
        let payload = json!({"event": name, "session_id": "s", "cwd": world.workspace()});
        world.run(&["event", "--strict"], payload.to_string().as_bytes())
    };
    event("session_start").exits(0);
    let run = event("session_stopp").exits(1);
    assert!(run.stderr.contains("`session_stopp`"), "it is named: {run}");
    assert!(
        run.stderr
            .contains("hint: `ckpt-hook event --help` names the events"),
        "and what there is: {run}"
    );
    let help = world.run(&["event", "--help"], b"").exits(0);
    assert!(help.stdout.contains("turn_end"), "it does: {help}");
}
