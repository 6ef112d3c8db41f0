//! A hook that is killed: the workspace is untouched, and the next event records what it should have.

use serde_json::json;

use testing::skip::has_strace;

use super::{Sandbox, assert_sound, played};
use testing::strace::{at_each, kill_at, points, sample};

#[test]
fn after_a_killed_hook_the_next_snapshot_works() {
    if !has_strace() {
        return;
    }
    let event = json!({"event": "step_finish", "session_id": "s"});
    let ready = || {
        let world = played();
        world
            .event(json!({"event": "user_message", "session_id": "s", "message_id": "m2"}))
            .ends_silently();
        world
            .event(json!({"event": "step_start", "session_id": "s"}))
            .ends_silently();
        world.write("edited", "second\n");
        world.write("new", "second\n");
        world
    };
    let payload = |world: &Sandbox| {
        let mut event = event.clone();
        event["cwd"] = world.workspace().to_str().expect("a plain path").into();
        event.to_string()
    };
    let first = ready();
    let all = points(&first, &["event"], payload(&first).as_bytes());
    at_each(sample(all, 60), |point| {
        let world = ready();
        let before = world.tree();
        kill_at(&world, &point, &["event"], payload(&world).as_bytes());
        let what = format!("killed at {point:?}");
        assert_eq!(
            world.tree(),
            before,
            "{what}: a hook does not act on the workspace"
        );
        world
            .event(json!({"event": "turn_end", "session_id": "s"}))
            .ends_silently();
        assert_sound(&world, &what);
        world.run(&["revert", "--message", "m2"], b"").exits(0);
        assert_eq!(
            world.read("edited"),
            b"one\n2\n",
            "{what}: the step was recorded all the same"
        );
        assert!(!world.workspace().join("new").exists(), "{what}: all of it");
        world.run(&["unrevert"], b"").exits(0);
        assert_eq!(world.tree(), before, "{what}: and there is a way back");
    });
}
