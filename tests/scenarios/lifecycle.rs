//! Events that are missing, doubled or out of order lose nothing and invent nothing.

use ckpt_schema::report::Outcome;
use ckpt_schema::{Event, EventKind};
use ckpt_store::ErrorKind;

use testing::scenario::{World, to};

fn count(world: &World, sql: &str) -> i64 {
    let path = world.base().join("store/sessions.db");
    let connection = rusqlite::Connection::open(path).expect("the session store");
    connection
        .query_row(sql, [], |row| row.get(0))
        .expect("a number")
}

/// A step whose finish never came is closed by the next message and can be reverted.
///
/// Invariant `truth/events-reordered`.
#[test]
fn unfinished_step_is_closed_by_the_next_message() {
    let mut world = World::new();
    world.message("m1");
    world.tool_start_in("s1", "t1", &[]);
    world.write("half", "x\n");
    world.message("m2");
    world.revert("m1");
    assert!(!world.exists("half"), "its changes are known");
    assert_eq!(
        count(&world, "SELECT count(*) FROM steps WHERE recovered = 1"),
        1,
        "and it is marked"
    );
}

#[test]
fn a_start_delivered_twice_loses_nothing() {
    let mut world = World::new();
    world.message("m1");
    world.start();
    world.write("a", "x\n");
    world.start();
    world.write("b", "y\n");
    world.finish();
    world.revert("m1");
    assert!(
        world.tree().is_empty(),
        "both are undone: {:?}",
        world.tree()
    );
}

/// Invariant `truth/events-reordered`.
#[test]
fn a_finish_without_a_start_loses_nothing() {
    let mut world = World::new();
    world.message("m1");
    world.write("a", "x\n");
    let report = world.finish();
    assert_eq!(report.changes, Some(1), "since the message");
    world.revert("m1");
    assert!(!world.exists("a"), "undone");
}

/// Invariant `truth/events-reordered`: Doubled, missing and reordered events lose and invent
/// nothing.
#[test]
fn a_finish_delivered_twice_invents_nothing() {
    let mut world = World::new();
    world.message("m1");
    world.step(|world| world.write("a", "x\n"));
    let steps = "SELECT count(*) FROM steps";
    let before = count(&world, steps);
    world.finish();
    assert_eq!(count(&world, steps), before, "no step of its own");
    world.write("mine", "1\n");
    world.finish();
    world.revert("m1");
    assert!(
        world.exists("mine"),
        "what the user did before the second delivery is not the agent's"
    );
}

#[test]
fn a_message_delivered_twice_is_one_message() {
    let mut world = World::new();
    world.message("m1");
    world.write("mine", "1\n");
    world.message("m1");
    assert_eq!(world.log().messages.len(), 1, "one point to go back to");
}

#[test]
fn the_step_begins_with_its_first_tool() {
    let mut world = World::new();
    world.message("m1");
    world.start();
    world.write("mine", "while the model thinks\n");
    world.tool_start_in("s1", "t1", &[]);
    world.write("agents", "x\n");
    world.tool_finish_in("s1", "t1");
    world.finish();
    world.revert("m1");
    assert!(world.exists("mine"), "the user's stays");
    assert!(!world.exists("agents"), "the agent's goes");
}

/// A message sent while a tool runs begins at the next boundary.
#[test]
fn message_during_a_tool_begins_at_a_boundary() {
    let mut world = World::new();
    let message = |world: &World, prompt: &str| Event {
        turn_id: Some("turn".to_owned()),
        prompt: Some(prompt.to_owned()),
        ..world.event(EventKind::UserMessage, "s1")
    };
    let first = message(&world, "first");
    world.send(&first);
    world.tool_start_in("s1", "t1", &[]);
    world.write("begun", "x\n");
    let second = message(&world, "second, typed meanwhile");
    let report = world.send(&second);
    assert_eq!(
        report.snapshot, None,
        "the tool is in the middle of something"
    );
    world.write("ended", "x\n");
    world.tool_finish_in("s1", "t1");
    world.finish();
    world.tool_start_in("s1", "t2", &[]);
    world.write("of the second", "x\n");
    world.tool_finish_in("s1", "t2");
    world.finish();
    assert_eq!(world.log().messages.len(), 2, "both are there");
    world.revert("turn/2");
    assert!(
        world.exists("begun") && world.exists("ended"),
        "the running tool's work is the first message's"
    );
    assert!(
        !world.exists("of the second"),
        "what came after is the second's"
    );
    world.revert("turn");
    assert!(
        world.tree().is_empty(),
        "and the first goes as a whole: {:?}",
        world.tree()
    );
}

#[test]
fn a_session_goes_on_after_a_restart() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("a", "1\n"));
    world.reopen(ckpt_store::Settings::default());
    let start = world.event(EventKind::SessionStart, "s1");
    world.send(&start);
    world.turn("m2", |world| world.write("b", "2\n"));
    assert_eq!(world.log().messages.len(), 2, "nothing was overwritten");
    world.revert("m1");
    assert!(world.tree().is_empty(), "both are undone");
}

#[test]
fn steps_before_any_message_can_be_reverted() {
    let mut world = World::new();
    world.step(|world| world.write("a", "x\n"));
    let messages = world.log().messages;
    assert_eq!(
        (messages.len(), messages[0].prompt.clone()),
        (1, None),
        "a point without words"
    );
    world.revert(&messages[0].id);
    assert!(!world.exists("a"), "undone");
}

#[test]
fn a_step_without_changes_has_no_change_rows() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.turn("m1", |_| {});
    assert_eq!(
        count(&world, "SELECT count(*) FROM changes"),
        0,
        "nothing changed"
    );
    assert_eq!(
        count(&world, "SELECT count(*) FROM snapshots"),
        1,
        "one snapshot serves them all"
    );
}

/// An unknown message is unavailable and nothing is touched.
#[test]
fn unknown_message_touches_nothing() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("a", "1\n"));
    let before = world.tree();
    let error = world.try_revert(&to("nosuch")).expect_err("unknown");
    assert_eq!(error.kind, ErrorKind::Unknown, "exit code 4");
    assert_eq!(world.tree(), before, "nothing was touched");
}

#[test]
fn switched_off_nothing_is_recorded() {
    let mut world = World::with(ckpt_store::Settings {
        enabled: false,
        ..ckpt_store::Settings::default()
    });
    let report = world.message("m1");
    assert_eq!(
        (report.session, report.snapshot),
        (None, None),
        "nothing was done"
    );
}

/// The settings say how much of a prompt is kept.
#[test]
fn settings_limit_the_kept_prompt() {
    use ckpt_store::settings::RecordPrompts;
    for (keep, expected) in [
        (RecordPrompts::Full, Some("please do m1")),
        (RecordPrompts::None, None),
    ] {
        let mut world = World::with(ckpt_store::Settings {
            record_prompts: keep,
            ..ckpt_store::Settings::default()
        });
        world.message("m1");
        assert_eq!(
            world.log().messages[0].prompt.as_deref(),
            expected,
            "{keep:?}"
        );
    }
}

#[test]
fn the_agents_directory_may_move_within_the_workspace() {
    let mut world = World::git(&[("a", "1\n")]);
    world.message("m1");
    world.write("sub/b", "x\n");
    world.cwd = world.path("sub");
    world.finish();
    world.cwd = world.root.clone();
    assert_eq!(world.log().messages.len(), 1, "one session, one workspace");
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Restored, "undone from the top");
    assert!(!world.exists("sub"), "with its directory");
}

#[test]
fn two_worktrees_of_one_repository_are_two_workspaces() {
    let mut world = World::git(&[("a", "1\n")]);
    let other = world.base().join("other");
    world.run_git(&[
        "worktree",
        "add",
        "-q",
        other.to_str().expect("UTF-8"),
        "-b",
        "side",
    ]);
    world.turn("m1", |world| world.write("a", "agent\n"));
    let error = world
        .store
        .revert(&other, &to("m1"))
        .expect_err("not that workspace's");
    assert_eq!(error.kind, ErrorKind::Unavailable, "exit code 4");
    assert_eq!(
        std::fs::read_to_string(other.join("a")).expect("there"),
        "1\n",
        "never shown, never touched"
    );
}

#[test]
fn a_workspace_that_was_moved_is_found_again() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.turn("m1", |world| world.write("a", "agent\n"));
    let moved = world.base().join("elsewhere");
    std::fs::rename(&world.root, &moved).expect("a move");
    world.root.clone_from(&moved);
    world.cwd = moved;
    world.revert("m1");
    assert_eq!(world.read("a"), "0\n", "the store knows the directory");
}

/// A directory made anew at the same path has no history.
#[test]
fn remade_directory_has_no_history() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("a", "agent\n"));
    std::fs::rename(&world.root, world.base().join("aside")).expect("a move");
    std::fs::create_dir(&world.root).expect("another directory");
    world.write("a", "agent\n");
    let error = world
        .try_revert(&to("m1"))
        .expect_err("that was another directory");
    assert_eq!(error.kind, ErrorKind::Unavailable, "exit code 4");
    assert_eq!(world.read("a"), "agent\n", "never applied to another one");
}

/// In a repository that the agent made the workspace around it is named.
#[test]
fn agents_repository_names_the_workspace_around() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.message("m1");
    world.step(|world| {
        world.make_directory("app");
        world.run_git(&["init", "-q", "app"]);
        world.write("app/new", "the agent's\n");
    });
    world.cwd = world.path("app");
    let error = world
        .try_revert(&to("m1"))
        .expect_err("the new repository is a workspace of its own");
    let hint = error.hint_text().expect("what to do");
    assert!(
        hint.contains(&format!("--workspace {}", world.root.display())),
        "it leads to the history: {hint}"
    );
    world.cwd = world.root.clone();
    world.revert("m1");
    assert!(!world.exists("app/new"), "undone from there");
    assert!(world.exists("app/.git"), "a repository is never removed");
}

/// The history of a directory is found after a repository was made around it.
#[test]
fn history_is_found_below_a_new_repository() {
    let mut world = World::new();
    world.write("sub/a", "0\n");
    world.cwd = world.path("sub");
    world.turn("m1", |world| world.write("sub/a", "1\n"));
    world.run_git(&["init", "-q"]);
    assert_eq!(
        world.log().messages.len(),
        1,
        "the workspace is another one, and nothing was recorded there"
    );
    world.revert("m1");
    assert_eq!(world.read("sub/a"), "0\n", "it goes back as before");
    world.unrevert();
    assert_eq!(world.read("sub/a"), "1\n", "and forward");
}

/// A message of a session that has ended is reverted beside one that goes on.
#[test]
fn ended_sessions_message_is_reverted_beside_another() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.turn("m1", |world| world.write("a", "1\n"));
    let end = world.event(EventKind::SessionEnd, "s1");
    world.send(&end);
    world.message_in("s2", "n1");
    world.start_in("s2");
    world.write("b", "other\n");
    world.finish_in("s2");
    let after = world.tree();
    let report = world.revert("m1");
    assert_eq!(
        (world.read("a").as_str(), world.read("b").as_str()),
        ("0\n", "other\n"),
        "its own alone: {report:?}"
    );
    world.message_in("s2", "n2");
    world.unrevert();
    assert_eq!(
        world.tree(),
        after,
        "and it comes back, whatever the other session does"
    );
}
