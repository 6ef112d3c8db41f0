//! A revert that is killed: whatever the next command is, it ends it first.

use serde_json::json;

use super::strace::{Point, at_each, kill_at, points, sample};
use super::{REVERT, Tree, World, assert_sound, assert_whole, leftovers, played, skipped};

/// The tree that a revert in peace gives.
fn reverted() -> Tree {
    let world = played();
    world.run(&REVERT, b"").exits(0);
    world.tree()
}

/// Kills a revert at each of its calls and lets another command end it.
fn each_killed_revert(quick: usize, end: impl Fn(&World, &Tree, &Tree, &str) + Sync) {
    let (before, after) = (played().tree(), reverted());
    let all: Vec<Point> = points(&played(), &REVERT, b"");
    at_each(sample(all, quick), |point| {
        let world = played();
        kill_at(&world, &point, &REVERT, b"");
        let what = format!("killed at {point:?}");
        assert_whole(&world, &before, &after, &what);
        let killed = world.tree();
        world.run(&["status"], b"").exits(0);
        assert_eq!(world.tree(), killed, "{what}: `status` looks and does not act");
        end(&world, &before, &after, &what);
        assert_eq!(leftovers(&world), Vec::<std::path::PathBuf>::new(), "{what}: nothing is left beside");
        assert_sound(&world, &what);
    });
}

#[test]
fn a_killed_revert_is_ended_by_the_next_revert_and_has_its_way_back() {
    if skipped() {
        return;
    }
    each_killed_revert(40, |world, before, after, what| {
        world.run(&REVERT, b"").exits(0);
        assert_eq!(&world.tree(), after, "{what}: just before the message");
        world.run(&["unrevert"], b"").exits(0);
        assert_eq!(&world.tree(), before, "{what}: and back to the byte");
    });
}

#[test]
fn a_killed_revert_that_is_redone_is_as_if_it_had_not_been() {
    if skipped() {
        return;
    }
    each_killed_revert(30, |world, before, _, what| {
        world.run(&["redo"], b"").exits(0);
        assert_eq!(&world.tree(), before, "{what}: back to the byte");
    });
}

#[test]
fn after_a_killed_revert_a_hook_finds_the_tree_before_or_after_it() {
    if skipped() {
        return;
    }
    each_killed_revert(30, |world, before, after, what| {
        world.event(json!({"event": "user_message", "session_id": "s", "message_id": "m2"})).ends_silently();
        let found = world.tree();
        assert!(found == *before || found == *after, "{what}: nothing between: {found:?}");
        world.write("edited", "of the next message\n");
        world.event(json!({"event": "turn_end", "session_id": "s"})).ends_silently();
        let log = world.json(&["log"]);
        assert_eq!(log["messages"][0]["agent_id"], "m2", "{what}: the message is recorded: {log}");
        let state = if found == *after { "discarded" } else { "live" };
        assert_eq!(log["messages"][1]["state"], state, "{what}: and makes the revert permanent: {log}");
    });
}
