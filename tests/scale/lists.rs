//! Each table and list that a hook or a revert reads, twice as long: the instructions are at most twice as many, and not four
//! times, and no more where the event is not about those rows. `valgrind` counts them.

use std::path::PathBuf;

use testing::binary::Sandbox;
use testing::skip::has_program;
use testing::{callgrind, rows};

use super::work::{begin, event, instructions_of_event};
use super::{dig, fill_in, many};

/// Twice the length may take this much more: twice, and what trees and tables of hashes add. The square would be 4.
const TWICE: f64 = 2.3;

/// The same where the length is no matter: a level more of an index.
const THE_SAME: f64 = 1.1;

fn database(world: &Sandbox) -> PathBuf {
    world.store().join("sessions.db")
}

/// Compares the instructions for a list with those for one half as long.
fn compare(what: &str, length: usize, limit: f64, measure: impl Fn(usize) -> u64) {
    if !has_program("valgrind") {
        return;
    }
    let (half, whole) = (measure(length / 2), measure(length));
    let ratio = whole as f64 / half as f64;
    println!("{length} {what}: {half} instructions for half of it, {whole}: {ratio:.2} times");
    assert!(
        ratio < limit,
        "{length} {what}: {half} and {whole}, {ratio:.2} times"
    );
}

#[test]
#[ignore = "minutes: `just scale`"]
fn files_of_a_tool_that_was_cut_off() {
    compare("files of a tool that was cut off", 20_000, TWICE, |count| {
        let world = Sandbox::new();
        begin(&world);
        event(&world, "tool_start");
        many(&world, count, "by the agent");
        instructions_of_event(&world, "user_message")
    });
}

#[test]
#[ignore = "minutes: `just scale`"]
fn files_that_are_seen_and_not_stored() {
    compare("files over the limit", 20_000, TWICE, |count| {
        let world = Sandbox::new();
        world.configure("max_file_size = \"1 B\"\nhook_deadline = \"30 min\"\n");
        begin(&world);
        many(&world, count, "too large");
        instructions_of_event(&world, "step_finish")
    });
}

#[test]
#[ignore = "minutes: `just scale`"]
fn nested_folders_go_back() {
    compare("folders in one another, revert", 1000, TWICE, |depth| {
        let world = Sandbox::new();
        begin(&world);
        dig(&world, depth);
        event(&world, "step_finish");
        event(&world, "turn_end");
        let instructions = callgrind::count(&world, &["-q", "revert", "--message", "m"], "");
        fill_in(&world);
        instructions
    });
}

#[test]
#[ignore = "minutes: `just scale`"]
fn empty_folders_and_steps() {
    compare(
        "empty folders and as many steps, a plan",
        2000,
        TWICE,
        |count| {
            let world = Sandbox::new();
            begin(&world);
            for number in 0..count {
                let folder = format!("e{}/{number}", number / 100);
                std::fs::create_dir_all(world.workspace().join(folder)).expect("writable");
            }
            event(&world, "step_finish");
            event(&world, "turn_end");
            add(&world, count, STEPS);
            plan(&world)
        },
    );
}

/// Returns the instructions of a plan.
fn plan(world: &Sandbox) -> u64 {
    callgrind::count(world, &["-q", "revert", "--message", "m", "--dry-run"], "")
}

/// Adds so many rows of a kind: `n.i` counts them.
fn add(world: &Sandbox, count: usize, sql: &str) {
    let numbers = format!(
        "CREATE TEMP TABLE n AS
           WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < {count}) SELECT i FROM c;"
    );
    rows::execute(&database(world), &(numbers + sql));
}

/// A workspace in which the agent works on a file, with so many rows of a kind.
fn at_work(count: usize, sql: &str) -> Sandbox {
    let world = Sandbox::new();
    world.write("a", "1");
    begin(&world);
    add(&world, count, sql);
    world.write("a", "2");
    world
}

/// A workspace in which the agent's turn has ended, with so many rows of a kind.
fn done(count: usize, sql: &str) -> Sandbox {
    let world = at_work(0, "");
    event(&world, "step_finish");
    event(&world, "turn_end");
    add(&world, count, sql);
    world
}

const STEPS: &str = "
    INSERT INTO steps (id, session_id, message_id, state, start_snapshot_id, finish_snapshot_id, started_at, finished_at)
      SELECT printf('%032x', i), session_id, message_id, 'closed', start_snapshot_id, start_snapshot_id, started_at, started_at
        FROM n, (SELECT * FROM steps LIMIT 1);";

const MESSAGES: &str = "
    INSERT INTO messages (id, session_id, agent_id, prompt, snapshot_id, created_at)
      SELECT printf('%032x', i), session_id, 'a' || i, 'x', snapshot_id, created_at FROM n, (SELECT * FROM messages LIMIT 1);";

const TOOLS: &str = "
    INSERT INTO tools (step_id, agent_id, started_at) SELECT steps.id, 't' || i, started_at + i % 99 FROM n, steps;";

const DIAGNOSTICS: &str =
    "INSERT INTO diagnostics (level, message, at) SELECT 'error', 'e' || i, i FROM n;";

const SESSIONS: &str = "
    INSERT INTO sessions (id, workspace_id, agent, agent_id, cwd, started_at, last_event_at)
      SELECT printf('%032x', i), 1, 'generic', 'o' || i, '/', i, i FROM n;";

const WORKSPACES: &str = "
    INSERT INTO workspaces (key, path, device, inode, created_at, used_at)
      SELECT 'k' || i, '/nowhere/' || i, 1, i, i, i FROM n;";

const LABELS: &str = "
    INSERT INTO labels (workspace_id, text, snapshot_id, created_at)
      SELECT 1, 'l' || i, (SELECT max(id) FROM snapshots), i FROM n;";

/// An operation that was done, with so many notes.
const NOTES: &str = "
    INSERT INTO operations (id, workspace_id, session_id, kind, state, message_id, on_conflict, outcome, notes, started_at, finished_at)
      SELECT printf('%032x', 1), 1, session_id, 'restore', 'done', id, 'merge', 'restored',
             (SELECT json_group_array(json_object('code', 'tags', 'text', 'note ' || i, 'about', json_array())) FROM n), created_at, created_at
        FROM messages LIMIT 1;";

#[test]
#[ignore = "minutes: `just scale`"]
fn tools_of_a_step() {
    compare("tools, step_finish", 50_000, TWICE, |count| {
        instructions_of_event(&at_work(count, TOOLS), "step_finish")
    });
}

#[test]
#[ignore = "minutes: `just scale`"]
fn rows_that_an_event_is_not_about() {
    for (what, sql) in [
        ("steps", STEPS),
        ("messages", MESSAGES),
        ("diagnostics", DIAGNOSTICS),
        ("sessions", SESSIONS),
        ("workspaces", WORKSPACES),
        ("labels", LABELS),
        ("notes", NOTES),
    ] {
        compare(&format!("{what}, step_finish"), 50_000, THE_SAME, |count| {
            instructions_of_event(&at_work(count, sql), "step_finish")
        });
    }
}

#[test]
#[ignore = "minutes: `just scale`"]
fn rows_that_a_plan_reads() {
    for (what, sql) in [
        ("steps", STEPS),
        ("messages", MESSAGES),
        ("tools", TOOLS),
        ("diagnostics", DIAGNOSTICS),
        ("sessions", SESSIONS),
        ("workspaces", WORKSPACES),
        ("labels", LABELS),
        ("notes", NOTES),
    ] {
        compare(&format!("{what}, a plan"), 50_000, TWICE, |count| {
            plan(&done(count, sql))
        });
    }
}
