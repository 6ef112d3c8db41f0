//! Each table and list that a hook or a revert reads, twice as long: the work is twice as much, and not its square.

use testing::binary::Sandbox;
use testing::rows;

use super::work::{Work, begin, event, run};
use super::{assert_linear, dig, fill_in, many};

fn database(world: &Sandbox) -> std::path::PathBuf {
    world.store().join("sessions.db")
}

/// Compares the work of a list with that of one twice as long.
fn compare(what: &str, length: usize, measure: impl Fn(usize) -> Work) {
    assert_linear(what, &measure(length / 2), &measure(length));
}

#[test]
#[ignore = "minutes: `just scale`"]
fn a_tool_that_was_cut_off_and_wrote_many_files() {
    compare("60,000 files of a tool that was cut off", 60_000, |count| {
        let world = Sandbox::new();
        begin(&world);
        event(&world, "tool_start");
        many(&world, count, "by the agent");
        event(&world, "user_message")
    });
}

#[test]
#[ignore = "minutes: `just scale`"]
fn many_files_over_the_limit() {
    compare("20,000 gaps", 20_000, |count| {
        let world = Sandbox::new();
        world.configure("max_file_size = \"1 B\"\nhook_deadline = \"30 min\"\n");
        begin(&world);
        many(&world, count, "too large");
        event(&world, "step_finish")
    });
}

#[test]
#[ignore = "minutes: `just scale`"]
fn many_nested_folders_go_back() {
    compare("1,000 folders in one another, revert", 1000, |depth| {
        let world = Sandbox::new();
        begin(&world);
        dig(&world, depth);
        event(&world, "step_finish");
        event(&world, "turn_end");
        let work = run(&world, &["-q", "revert", "--message", "m"]);
        fill_in(&world);
        work
    });
}

#[test]
#[ignore = "minutes: `just scale`"]
fn many_empty_folders_and_steps() {
    compare(
        "2,000 empty folders and as many steps, a plan",
        2000,
        |count| {
            let world = Sandbox::new();
            begin(&world);
            for number in 0..count {
                let folder = world
                    .workspace()
                    .join(format!("e{}/{number}", number / 100));
                std::fs::create_dir_all(folder).expect("writable");
            }
            event(&world, "step_finish");
            event(&world, "turn_end");
            rows::execute(&database(&world), &format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
             INSERT INTO steps (id, session_id, message_id, state, start_snapshot_id, finish_snapshot_id, started_at, finished_at)
             SELECT printf('%032x', i), session_id, message_id, 'closed', finish_snapshot_id, finish_snapshot_id, finished_at, finished_at
               FROM n, (SELECT * FROM steps LIMIT 1)"
        ));
            run(&world, &["-q", "revert", "--message", "m", "--dry-run"])
        },
    );
}

/// Adds so many rows of a kind, and measures what an event takes.
fn rows_of(what: &str, sql: &str) {
    compare(what, 50_000, |count| {
        let world = Sandbox::new();
        world.write("a", "1");
        begin(&world);
        let numbers = format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
        );
        rows::execute(&database(&world), &sql.replace("$N", &numbers));
        world.write("a", "2");
        event(&world, "step_finish")
    });
}

#[test]
#[ignore = "minutes: `just scale`"]
fn many_tools_of_a_step() {
    rows_of(
        "50,000 tools",
        "$N INSERT INTO tools (step_id, agent_id, started_at) SELECT steps.id, 't' || i, started_at + i % 99 FROM n, steps",
    );
}

#[test]
#[ignore = "minutes: `just scale`"]
fn many_diagnostics() {
    rows_of(
        "50,000 diagnostics",
        "$N INSERT INTO diagnostics (level, message, at) SELECT 'error', 'e' || i, i FROM n",
    );
}

#[test]
#[ignore = "minutes: `just scale`"]
fn many_sessions() {
    rows_of(
        "50,000 sessions",
        "$N INSERT INTO sessions (id, workspace_id, agent, agent_id, cwd, started_at, last_event_at)
            SELECT printf('%032x', i), 1, 'generic', 'o' || i, '/', i, i FROM n",
    );
}

#[test]
#[ignore = "minutes: `just scale`"]
fn many_workspaces() {
    rows_of(
        "50,000 workspaces",
        "$N INSERT INTO workspaces (key, path, device, inode, created_at, used_at)
            SELECT 'k' || i, '/nowhere/' || i, 1, i, i, i FROM n",
    );
}

#[test]
#[ignore = "minutes: `just scale`"]
fn many_labels() {
    rows_of(
        "50,000 labels",
        "$N INSERT INTO labels (workspace_id, name, snapshot_id, created_at) SELECT 1, 'l' || i, (SELECT max(id) FROM snapshots), i FROM n",
    );
}
