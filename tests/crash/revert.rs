//! A revert that is killed: whatever the next command is, it ends it first.

use serde_json::json;

use testing::skip::has_strace;

use super::{REVERT, Sandbox, Tree, assert_sound, assert_whole, leftovers, played};
use testing::strace::{Point, at_each, kill_at, points, sample};

/// The tree that a revert in peace gives.
fn reverted() -> Tree {
    let world = played();
    world.run(&REVERT, b"").exits(0);
    world.tree()
}

/// Kills a revert at each of its calls and lets another command end it.
fn each_killed_revert(quick: usize, end: impl Fn(&Sandbox, &Tree, &Tree, &str) + Sync) {
    let (before, after) = (played().tree(), reverted());
    let all: Vec<Point> = points(&played(), &REVERT, b"");
    at_each(sample(all, quick), |point| {
        let world = played();
        kill_at(&world, &point, &REVERT, b"");
        let what = format!("killed at {point:?}");
        assert_whole(&world, &before, &after, &what);
        let killed = world.tree();
        world.run(&["status"], b"").exits(0);
        assert_eq!(
            world.tree(),
            killed,
            "{what}: `status` looks and does not act"
        );
        end(&world, &before, &after, &what);
        assert_eq!(
            leftovers(&world),
            Vec::<std::path::PathBuf>::new(),
            "{what}: nothing is left beside"
        );
        assert_sound(&world, &what);
    });
}

/// A killed revert is ended by the next revert and has its way back.
#[test]
fn killed_revert_is_ended_with_its_way_back() {
    if !has_strace() {
        return;
    }
    each_killed_revert(40, |world, before, after, what| {
        world.run(&REVERT, b"").exits(0);
        assert_eq!(&world.tree(), after, "{what}: just before the message");
        world.run(&["unrevert"], b"").exits(0);
        assert_eq!(&world.tree(), before, "{what}: and back to the byte");
    });
}

/// A killed revert that is redone is as if it had not been.
#[test]
fn killed_and_redone_revert_leaves_no_trace() {
    if !has_strace() {
        return;
    }
    each_killed_revert(30, |world, before, _, what| {
        world.run(&["redo"], b"").exits(0);
        assert_eq!(&world.tree(), before, "{what}: back to the byte");
    });
}

/// A tool that begins after a killed revert of another session does not see what was left.
#[test]
fn tool_after_anothers_killed_revert_sees_no_leftovers() {
    if !has_strace() {
        return;
    }
    let world = Sandbox::new();
    world.write(".gitignore", "secret\n");
    world.write("secret", "before\n");
    let send = |session: &str, event: &str, tool: &str, paths: &[&str]| {
        let event = json!({"event": event, "session_id": session, "message_id": session, "tool_use_id": tool, "paths": paths});
        world.event(event).ends_silently();
    };
    let begin = |session: &str| {
        ["user_message", "step_start"]
            .iter()
            .for_each(|event| send(session, event, "", &[]))
    };
    let end = |session: &str| {
        ["step_finish", "turn_end"]
            .iter()
            .for_each(|event| send(session, event, "", &[]))
    };
    begin("a");
    send("a", "tool_start", "1", &["secret"]);
    world.write("secret", "of the first agent\n");
    send("a", "tool_finish", "1", &[]);
    end("a");
    begin("b");
    send("b", "tool_start", "2", &["other"]);
    kill_at(
        &world,
        &("renameat2".to_owned(), 1),
        &["revert", "--message", "a"],
        b"",
    );
    assert_eq!(
        world.read("secret"),
        b"of the first agent\n",
        "it was killed before it put anything back"
    );
    // No snapshot is taken for a second tool of a step: the file is looked at, since an ignore rule hides it.
    send("b", "tool_start", "3", &["secret"]);
    assert_eq!(
        world.read("secret"),
        b"before\n",
        "what was begun is ended before anybody looks"
    );
    ["3", "2"]
        .iter()
        .for_each(|tool| send("b", "tool_finish", tool, &[]));
    end("b");
    let log = world.json(&["log"]);
    assert_eq!(
        log["messages"][0]["agent_id"], "b",
        "the newest message: {log}"
    );
    assert_eq!(
        log["messages"][0]["files"], 0,
        "the second agent changed nothing: {log}"
    );
}

/// After a killed revert a hook finds the tree before or after it.
#[test]
fn hook_after_a_killed_revert_finds_whole_trees() {
    if !has_strace() {
        return;
    }
    each_killed_revert(30, |world, before, after, what| {
        world
            .event(json!({"event": "user_message", "session_id": "s", "message_id": "m2"}))
            .ends_silently();
        let found = world.tree();
        assert!(
            found == *before || found == *after,
            "{what}: nothing between: {found:?}"
        );
        world.write("edited", "of the next message\n");
        world
            .event(json!({"event": "turn_end", "session_id": "s"}))
            .ends_silently();
        let log = world.json(&["log"]);
        assert_eq!(
            log["messages"][0]["agent_id"], "m2",
            "{what}: the message is recorded: {log}"
        );
        let state = if found == *after { "discarded" } else { "live" };
        assert_eq!(
            log["messages"][1]["state"], state,
            "{what}: and makes the revert permanent: {log}"
        );
    });
}

/// An edit after a killed revert stays and keeps no other file from going back.
#[test]
fn edit_after_a_killed_revert_stays() {
    if !has_strace() {
        return;
    }
    let without = |tree: &Tree| {
        let mut tree = tree.clone();
        tree.remove(std::path::Path::new("edited"));
        tree
    };
    each_killed_revert(30, |world, before, after, what| {
        world.write("edited", "the user's\n");
        let run = world.run(&REVERT, b"");
        assert!(matches!(run.code, Some(0 | 3)), "{what}: {run}");
        assert_eq!(
            without(&world.tree()),
            without(after),
            "{what}: every other file is back\n{run}"
        );
        world.run(&["unrevert"], b"");
        assert_eq!(without(&world.tree()), without(before), "{what}: and forth");
        assert_eq!(
            world.read("edited"),
            b"the user's\n",
            "{what}: what nobody knew of is left alone"
        );
    });
}

/// Permissions and owners are set on what is open and never by name.
#[test]
fn permissions_are_set_on_open_files() {
    if !has_strace() {
        return;
    }
    for arguments in [&REVERT[..], &["restore", "m1"]] {
        let calls = points(&played(), arguments, b"");
        assert!(
            calls.iter().any(|(name, _)| name == "fchmod"),
            "some had to be set: {calls:?}"
        );
        let by_name = [
            "chmod",
            "fchmodat",
            "fchmodat2",
            "chown",
            "lchown",
            "fchownat",
            "utimensat",
        ];
        let named = calls
            .iter()
            .find(|(name, _)| by_name.contains(&name.as_str()));
        assert_eq!(
            named, None,
            "between a look and such a call a link could come"
        );
    }
}
