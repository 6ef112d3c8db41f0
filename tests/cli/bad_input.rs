//! What makes no sense, for every command that takes an id, a path or a time: what the error says, and its exit code.

use testing::binary::Sandbox;

const UNKNOWN: i32 = 4;
const USAGE: i32 = 2;

/// Every command that takes an id, with `ID` in its place.
const WITH_ID: &[&[&str]] = &[
    &["show", "ID"],
    &["show", "-p", "ID"],
    &["show", "--steps", "ID"],
    &["diff", "ID"],
    &["diff", "last", "ID"],
    &["cat", "ID:a"],
    &["revert", "ID"],
    &["revert", "--message", "ID"],
    &["revert", "--alone", "ID"],
    &["revert", "--step", "ID"],
    &["revert", "--dry-run", "ID"],
    &["restore", "ID"],
    &["branch", "ID", "../elsewhere"],
    &["bisect", "--from", "ID", "--", "true"],
    &["restore", "ID", "a"],
    &["label", "ID", "a bookmark"],
    &["log", "--session", "ID"],
    &["log", "--operations", "--session", "ID"],
    &["redo", "--session", "ID"],
    &["unrevert", "--session", "ID"],
    &["status", "--session", "ID"],
    &["forget", "--message", "ID"],
    &["forget", "--session", "ID"],
];

/// Every command that takes a path of the workspace, with `PATH` in its place.
const WITH_PATH: &[&[&str]] = &[
    &["blame", "PATH"],
    &["cat", "last:PATH"],
    &["recover", "PATH"],
    &["log", "PATH"],
    &["log", "--operations", "PATH"],
    &["diff", "last", "--", "PATH"],
    &["restore", "last", "PATH"],
    &["revert", "last", "--only", "PATH"],
];

fn world() -> Sandbox {
    let world = Sandbox::new();
    world.write("a", "1\n");
    world.play("m1", "first", |world| world.write("a", "2\n"));
    world
}

/// Runs a command with a word in place of another; it changes nothing.
fn fails(world: &Sandbox, command: &[&str], name: &str, word: &str, code: i32) -> String {
    let words: Vec<String> = command
        .iter()
        .map(|part| part.replace(name, word))
        .collect();
    let before = world.tree();
    let run = world.run(&words, b"").exits(code);
    assert_eq!(run.stdout, "", "{words:?} says nothing else: {run}");
    assert!(run.stderr.starts_with("error: "), "{words:?}: {run}");
    assert!(!run.stderr.contains('\x1b'), "{words:?}: {run}");
    assert_eq!(world.tree(), before, "{words:?} changes nothing");
    run.stderr
}

/// An unknown id is named with what lists the ids.
#[test]
fn unknown_id_names_the_list_of_ids() {
    let world = world();
    for command in WITH_ID {
        for id in ["zzzz", "ffffffff", "last~-1", "\x1b[2J"] {
            let error = fails(&world, command, "ID", id, UNKNOWN);
            assert!(error.contains("hint: `ckpt-hook "), "{command:?}: {error}");
        }
        let error = fails(&world, command, "ID", "ab", UNKNOWN);
        assert!(
            error.contains("at least 4 characters"),
            "{command:?}: {error}"
        );
    }
}

/// An id of another workspace is unknown here and the error says where it is.
#[test]
fn another_workspaces_id_is_an_error_with_place() {
    let world = world();
    let other = world.workspace().with_file_name("other");
    std::fs::create_dir(&other).expect("writable");
    std::fs::write(other.join("b"), "1\n").expect("writable");
    let there = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        command.current_dir(&other);
        testing::binary::finish(&mut command, b"").exits(0).stdout
    };
    there(&["run", "--", "sh", "-c", "echo 2 > b"]);
    there(&["revert", "last"]);
    let first = |arguments: &[&str], list: &str, field: &str| {
        let document: serde_json::Value =
            serde_json::from_str(&there(arguments)).expect("a document");
        let id = document[list][0][field].as_str().expect("an id");
        id.to_owned()
    };
    let ids = [
        first(&["log", "--json"], "messages", "id"),
        first(&["log", "--operations", "--json"], "operations", "id"),
        first(&["log", "--snapshots", "--json"], "snapshots", "snapshot"),
    ];
    let session = first(&["sessions", "--json"], "sessions", "id");
    let place = format!("it was recorded in `{}`", other.display());
    for command in [&["show", "ID"][..], &["diff", "ID"], &["restore", "ID"]] {
        for id in &ids {
            for id in [id, &id[..12]] {
                let error = fails(&world, command, "ID", id, UNKNOWN);
                assert!(error.contains(&place), "{command:?} {id}: {error}");
            }
        }
    }
    for command in [
        &["log", "--session", "ID"][..],
        &["redo", "--session", "ID"],
    ] {
        let error = fails(&world, command, "ID", &session, UNKNOWN);
        assert!(error.contains(&place), "{command:?}: {error}");
    }
}

#[test]
fn a_path_outside_is_named_with_the_workspace() {
    let world = world();
    for command in WITH_PATH {
        for path in ["/etc/passwd", "../beside", "a/../../beside"] {
            let error = fails(&world, command, "PATH", path, USAGE);
            let workspace = format!("the workspace `{}`", world.workspace().display());
            assert!(
                error.contains(&workspace) && error.contains("--workspace DIR"),
                "{command:?}: {error}"
            );
        }
        let error = fails(&world, command, "PATH", ".git/config", USAGE);
        assert!(
            error.contains("what is in `.git` is never captured"),
            "another workspace has it no more than this one: {command:?}: {error}"
        );
    }
}

/// A label that looks like an id is refused.
#[test]
fn label_like_an_id_is_refused() {
    let world = world();
    for label in ["abcd", "12", "last", "last~2", "current", "", " x", "a\nb"] {
        for command in [
            &["label", "last", "TEXT"][..],
            &["snapshot", "--label", "TEXT"],
        ] {
            fails(&world, command, "TEXT", label, USAGE);
        }
    }
}

/// A time that makes no sense is a wrong argument.
#[test]
fn senseless_time_is_a_wrong_argument() {
    let world = world();
    for time in ["tomorrow", "in 3 days", "25:99", "2026-13-45", "soon", ""] {
        for option in ["--since", "--until"] {
            fails(&world, &["log", option, "TIME"], "TIME", time, USAGE);
        }
    }
    let turned = ["log", "--since", "2026-03-02", "--until", "2026-03-01"];
    let error = fails(&world, &turned, "", "", USAGE);
    assert!(error.contains("`--since` is later"), "{error}");
}

/// Gives every message, step, session and operation an id with the same beginning, wherever it is named.
fn make_alike(world: &Sandbox) {
    let database = world.store().join("sessions.db");
    let columns = "SELECT tables.name || ' ' || columns.name
                     FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
                    WHERE tables.type = 'table' AND columns.type = 'TEXT'";
    let mut statements = "PRAGMA foreign_keys = OFF; CREATE TEMP TABLE ids (id TEXT);".to_owned();
    for table in ["messages", "steps", "sessions", "operations"] {
        statements += &format!("INSERT INTO ids SELECT id FROM {table};");
    }
    for column in testing::rows::texts(&database, columns) {
        let (table, column) = column.split_once(' ').expect("two words");
        statements += &format!(
            "UPDATE {table} SET {column} = 'beef' || substr({column}, 5)
              WHERE {column} IN (SELECT id FROM ids);"
        );
    }
    testing::rows::execute(&database, &statements);
    // The rows that it names have other ids now.
    let folders = std::fs::read_dir(world.store().join("snapshots")).expect("there is one");
    for folder in folders.flatten() {
        std::fs::write(folder.path().join("lock"), "").expect("ours");
    }
}

#[test]
fn an_ambiguous_id_is_answered_with_its_candidates() {
    let world = world();
    world.event(serde_json::json!({"event": "session_start", "session_id": "other"}));
    world.play("m2", "second", |world| world.write("a", "3\n"));
    for (session, message) in [("other", "o1"), ("third", "t1")] {
        for event in ["user_message", "step_start", "step_finish", "turn_end"] {
            let event = serde_json::json!({
                "event": event, "session_id": session, "message_id": message, "prompt": message
            });
            world.event(event).ends_silently();
        }
    }
    make_alike(&world);
    for command in WITH_ID {
        let error = fails(&world, command, "ID", "beef", UNKNOWN);
        assert!(error.contains("ambiguous"), "{command:?}: {error}");
        let candidates = error.matches("beef").count() - 1;
        assert!(candidates >= 2, "{command:?}: {error}");
    }
    let error = fails(&world, &["revert", "ID"], "ID", "beef", UNKNOWN);
    assert!(
        error.contains("  first\n") && error.contains("  second\n"),
        "messages are known by their prompts: {error}"
    );
    let run = world.run(&["show", "beef", "--json"], b"").exits(UNKNOWN);
    let document: serde_json::Value = serde_json::from_str(&run.stdout).expect("a document");
    assert_eq!(document["error"]["kind"], "ambiguous");
    let candidates = document["error"]["candidates"].as_array().expect("a list");
    let titles = candidates.iter().filter_map(|one| one["title"].as_str());
    assert_eq!(titles.count(), 4, "{document}");
    for candidate in candidates {
        let id = candidate["id"].as_str().expect("a text").to_owned();
        world.run(&["show", &id], b"").exits(0);
    }
}

/// An empty id names nothing, and no file either.
#[test]
fn empty_id_is_refused() {
    let world = world();
    for command in WITH_ID.iter().filter(|words| words.contains(&"ID")) {
        let error = fails(&world, command, "ID", "", USAGE);
        assert!(error.contains("the id is empty"), "{command:?}: {error}");
        assert!(!error.contains("is a file"), "{command:?}: {error}");
    }
    let error = fails(&world, &["log", "--machine", "ID"], "ID", "", USAGE);
    assert!(
        error.contains("the name of the machine is empty"),
        "{error}"
    );
}

/// A number below zero is told apart from an option.
#[test]
fn negative_number_is_no_option() {
    let world = world();
    for (command, message) in [
        (
            &["diff", "-U", "-1"][..],
            "invalid value '-1' for '--unified <COUNT>'",
        ),
        (
            &["show", "last", "-U", "-1"],
            "invalid value '-1' for '--unified <COUNT>'",
        ),
        (
            &["log", "-n", "-1"],
            "invalid value '-1' for '--limit <COUNT>'",
        ),
        (
            &["blame", "a", "-L", "-3,-1"],
            "`-3,-1` is not a range of lines",
        ),
    ] {
        let error = fails(&world, command, "ID", "", USAGE);
        assert!(error.contains(message), "{command:?}: {error}");
    }
}

#[test]
fn a_search_for_nothing_is_a_wrong_argument() {
    let world = world();
    for command in [&["log", "-S", ""][..], &["log", "--grep", ""]] {
        let error = fails(&world, command, "ID", "", USAGE);
        assert!(
            error.contains("a value is required"),
            "{command:?}: {error}"
        );
    }
}

/// A list that a filter left empty is not called a history without entries.
#[test]
fn filtered_list_is_not_an_empty_history() {
    let world = world();
    world.run(&["revert", "last"], b"").exits(0);
    for (command, what) in [
        (
            &["log", "--grep", "no such prompt"][..],
            "No message matches. `ckpt-hook log` lists",
        ),
        (&["log", "-n", "0"], "`--limit 0` lists no message."),
        (
            &["log", "--graph", "-n", "0"],
            "`--limit 0` lists no message.",
        ),
        (
            &["log", "last"],
            "No message changed last. If that is an id, `ckpt-hook show last` shows it;",
        ),
        (&["log", "--agent", "nobody"], "No message matches."),
        (
            &["log", "--operations", "-n", "0"],
            "`--limit 0` lists no operation.",
        ),
        (
            &["log", "--operations", "--agent", "nobody"],
            "No operation matches. `ckpt-hook log --operations` lists",
        ),
        (
            &["log", "--operations", "--stat", "--agent", "nobody"],
            "No operation matches.",
        ),
        (
            &["log", "--snapshots", "--until", "2001-01-01"],
            "No snapshot matches. `ckpt-hook log --snapshots` lists",
        ),
    ] {
        let run = world.run(command, b"").exits(0);
        assert!(run.stdout.starts_with(what), "{command:?}: {run}");
    }
}
