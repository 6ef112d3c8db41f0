//! What docs/database.md says of the database is true: every query in it runs with the real `sqlite3`, on a store with two
//! workspaces, reverts and trouble.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use testing::binary::{Run, Sandbox, finish};
use testing::skip::has_program;

const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/database.md"));

/// Returns the blocks of a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let begin = format!("```{language}\n");
    PAGE.split(begin.as_str())
        .skip(1)
        .filter_map(|rest| Some(rest.split_once("```")?.0))
        .collect()
}

/// Runs a query as the page says, in the user's home, on the store of this world, after a command, which adds the views.
fn query(world: &Sandbox, sql: &str) -> Run {
    ask(world, &["status"]);
    let workspace = world.workspace();
    let sql = sql.replace(
        "/home/you/project",
        workspace.to_str().expect("a plain path"),
    );
    let mut command = Command::new("sqlite3");
    command
        .args(["-readonly", "-bail"])
        .arg(world.store().join("sessions.db"))
        .arg(sql)
        .current_dir(world.home());
    finish(&mut command, b"").exits(0)
}

fn ask(world: &Sandbox, arguments: &[&str]) -> Run {
    world.run(arguments, b"").exits(0)
}

/// A file that was there before, and was changed in two messages, from outside, and in another workspace at the same path.
fn world() -> Sandbox {
    let world = Sandbox::new();
    world.write("src/main.rs", "0\n");
    world.play("m1", "the first", |world| world.write("src/main.rs", "1\n"));
    world.write("src/main.rs", "by hand\n");
    world.play("m2", "the second", |world| {
        world.write("src/main.rs", "2\n")
    });
    let other = world.path("other");
    std::fs::create_dir_all(other.join("src")).expect("writable");
    let other_file =
        |text: &str| std::fs::write(other.join("src/main.rs"), text).expect("writable");
    let here = ["--workspace", other.to_str().expect("a plain path")];
    let in_other = |words: &[&str]| ask(&world, &[words, &here[..]].concat());
    other_file("a\n");
    in_other(&[
        "message",
        "--strict",
        "--session",
        "o",
        "--prompt",
        "elsewhere",
    ]);
    in_other(&["step-start", "--strict", "--session", "o"]);
    other_file("b\n");
    in_other(&["step-finish", "--strict", "--session", "o"]);
    world
}

/// What could not be captured, and a hook that went wrong.
fn trouble(world: &Sandbox) {
    world.configure("max_file_size = \"1KB\"\n");
    world.play("m3", "too large", |world| {
        world.write("large", [b'x'; 5000])
    });
    world.run(&["event", "--agent", "nobody"], b"{}").exits(0);
}

/// A rename, a tool, and a label.
fn more(world: &Sandbox) {
    world.write("old name", "text\n");
    world.play("m4", "rename it", |world| {
        world.remove("old name");
        world.write("new name", "text\n");
    });
    for event in [
        json!({"event": "user_message", "session_id": "s", "message_id": "m5", "prompt": "run it"}),
        json!({"event": "tool_start", "session_id": "s", "tool_name": "Bash", "tool_use_id": "t", "tool_command": "make check"}),
        json!({"event": "tool_finish", "session_id": "s", "tool_use_id": "t"}),
        json!({"event": "turn_end", "session_id": "s"}),
    ] {
        world.event(event).ends_silently();
    }
    ask(world, &["label", "m1", "it works"]);
}

/// Every query of the documentation runs and finds something.
#[test]
fn every_documented_query_finds_something() {
    if !has_program("sqlite3") {
        return;
    }
    let world = world();
    trouble(&world);
    more(&world);
    world.run(&["revert", "--message", "m2"], b"").exits(3);
    let queries = blocks("sql");
    assert!(queries.len() > 20, "the page has many: {}", queries.len());
    for sql in queries {
        let run = query(&world, sql);
        assert!(!run.stdout.is_empty(), "nothing was found by\n{sql}\n{run}");
    }
}

#[test]
fn query_of_a_file_is_of_one_workspace() {
    if !has_program("sqlite3") {
        return;
    }
    let world = world();
    for sql in blocks("sql")
        .iter()
        .filter(|sql| sql.contains("src/main.rs"))
    {
        let run = query(&world, sql);
        assert!(
            !run.stdout.contains("elsewhere") && !run.stdout.is_empty(),
            "the same path of another workspace is another file: {run}"
        );
    }
    let history = blocks("sql")
        .into_iter()
        .find(|sql| sql.contains("FROM file_history\n WHERE workspace"))
        .expect("who changed this file");
    assert_eq!(
        query(&world, history).stdout.lines().count(),
        3,
        "two messages and a hand"
    );
}

/// The prompt that wrote a file is none that is reverted.
#[test]
fn files_prompt_is_not_a_reverted_one() {
    if !has_program("sqlite3") {
        return;
    }
    let world = world();
    let sql = blocks("sql")
        .into_iter()
        .find(|sql| sql.starts_with("WITH seen"))
        .expect("which prompt wrote this file");
    let wrote = |why: &str, author: &str| {
        let run = query(&world, sql);
        assert!(run.stdout.contains(author), "{why}: {author}, not {run}");
    };
    wrote("it is as the newest message left it", "the second");
    ask(&world, &["revert", "--message", "m2"]);
    wrote("it went back to what a hand wrote", "outside");
    let overwrite = ["revert", "--message", "m1", "--on-conflict", "overwrite"];
    ask(&world, &overwrite);
    assert_eq!(query(&world, sql).stdout, "", "nobody that was recorded");
    ask(&world, &["unrevert"]);
    wrote("it is forward again", "the second");
    ask(
        &world,
        &["revert", "--message", "m2", "--only", "src/main.rs"],
    );
    wrote("a part is a revert as well", "outside");
    ask(&world, &["unrevert"]);
    ask(&world, &["restore", "m2", "src/main.rs"]);
    wrote("so is a restore", "outside");
    world.play("m3", "the third", |world| world.write("src/main.rs", "3\n"));
    wrote("and then it was written again", "the third");
}

/// What is undone in part is not in effect until it is taken back.
#[test]
fn part_undone_is_not_in_effect() {
    if !has_program("sqlite3") {
        return;
    }
    let world = Sandbox::new();
    world.play("m1", "the first", |world| {
        world.write("a", "1\n");
        world.write("b", "1\n");
    });
    world.play("m2", "the second", |world| world.write("c", "1\n"));
    let in_effect = || {
        let sql = "SELECT group_concat(path || in_effect, ' ') FROM (SELECT path, in_effect FROM file_history ORDER BY path)";
        let messages = "SELECT group_concat(in_effect, '') FROM (SELECT in_effect FROM message_overview ORDER BY seq)";
        let steps = messages.replace("message_", "step_");
        [sql, messages, &steps].map(|sql| query(&world, sql).stdout.trim().to_owned())
    };
    assert_eq!(in_effect(), ["a1 b1 c1", "11", "11"]);
    let undone = ["a0 b0 c1", "01", "01"];
    for (arguments, expected, why) in [
        (&["revert", "m1", "--alone"][..], undone, "alone"),
        (
            &["revert", "m1", "--only", "a"],
            ["a0 b1 c1", "11", "11"],
            "a path",
        ),
    ] {
        ask(&world, arguments);
        assert_eq!(in_effect(), expected, "{why}");
        ask(&world, &["unrevert"]);
        assert_eq!(in_effect(), ["a1 b1 c1", "11", "11"], "{why}, taken back");
    }
    ask(&world, &["revert", "m1", "--alone"]);
    world.play("m3", "it is permanent", |_| {});
    let [files, messages, _] = in_effect();
    assert_eq!(
        (files.as_str(), messages.as_str()),
        ("a0 b0 c1", "011"),
        "for good"
    );
}

/// Command lines are kept as far as prompts are.
#[test]
fn command_lines_are_kept_like_prompts() {
    if !has_program("sqlite3") {
        return;
    }
    for (keep, expected) in [
        ("full", "make\ncheck\n"),
        ("title", "make\n"),
        ("none", "\n"),
    ] {
        let world = Sandbox::new();
        world.configure(&format!("record_prompts = \"{keep}\"\n"));
        world.play("m1", "the first", |_| {});
        for event in [
            json!({"event": "user_message", "session_id": "s", "message_id": "m2", "prompt": "run it"}),
            json!({"event": "tool_start", "session_id": "s", "tool_name": "Bash", "tool_use_id": "t", "tool_command": "make\ncheck"}),
        ] {
            world.event(event).ends_silently();
        }
        let run = query(&world, "SELECT command FROM tool_overview");
        assert_eq!(run.stdout, expected, "{keep}");
    }
}

/// The command for a file as it was prints it.
#[test]
fn command_for_a_former_file_prints_it() {
    if !has_program("sqlite3") {
        return;
    }
    let world = world();
    let sql = blocks("sql")
        .into_iter()
        .find(|sql| sql.contains("AS command"))
        .expect("a file as it was");
    let commands = query(&world, sql).stdout;
    let printed: Vec<String> = commands
        .lines()
        .map(|line| {
            let mut shell = Command::new("sh");
            shell.args(["-c", line]).current_dir(world.store());
            finish(&mut shell, b"").exits(0).stdout
        })
        .collect();
    assert_eq!(printed, ["by hand\n", "1\n", "0\n"], "newest first");
}

/// The first command of the page runs as it stands.
#[test]
fn pages_first_command_runs() {
    if !has_program("sqlite3") {
        return;
    }
    let world = Sandbox::new();
    let home = world.home();
    let store = home.join(".local/share/ckpt-hook");
    world.write("a", "1\n");
    let message = ["message", "--strict", "--session", "s", "--prompt", "hello"];
    let store_option = ["--store", store.to_str().expect("a plain path")];
    ask(&world, &[&message[..], &store_option].concat());
    ask(&world, &[&["log"][..], &store_option].concat());
    let line = blocks("console")[0].trim_start_matches("$ ");
    assert!(line.starts_with("sqlite3 "), "the first one: {line}");
    let run = shell(&home, line);
    assert!(run.stdout.contains("hello"), "the message: {run}");
}

fn shell(home: &Path, line: &str) -> Run {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", line])
        .env_clear()
        .env("HOME", home)
        .env("PATH", "/usr/bin:/bin")
        .current_dir(home);
    finish(&mut shell, b"").exits(0)
}
