//! The words that a person gives mean what they see: rows of the log, files, agents and operations.

use std::process::Stdio;

use serde_json::{Value, json};

use testing::binary::{Run, Sandbox};

use crate::screen::Screen;

/// A message of one session, and a newer one of another.
fn two_sessions() -> Sandbox {
    let world = Sandbox::new();
    world.play("m1", "a shop", |world| world.write("shop", "1\n"));
    for event in ["user_message", "step_start"] {
        world
            .event(json!({"event": event, "session_id": "s2", "message_id": "n1", "prompt": "nicer README"}))
            .ends_silently();
    }
    world.write("README.md", "nicer\n");
    for event in ["step_finish", "turn_end"] {
        world
            .event(json!({"event": event, "session_id": "s2", "message_id": "n1"}))
            .ends_silently();
    }
    world
}

/// `last~N` is a row of the log, and a revert names the newer message that stays.
#[test]
fn last_counts_the_rows_of_the_log() {
    let world = two_sessions();
    let log = world.json(&["log"]);
    let rows = log["messages"].as_array().expect("a list");
    for (row, name) in rows.iter().zip(["last", "last~1"]) {
        assert_eq!(
            world.json(&["show", name])["message"]["id"],
            row["id"],
            "{name}"
        );
    }
    let run = world.run(&["revert", "last~1"], b"").exits(0);
    assert!(run.stdout.contains("“a shop”"), "{run}");
    let other = log["messages"][0]["session"].as_str().expect("an id");
    let note = format!(
        "“nicer README” stays: it is newer, but of another session (generic {})",
        &other[..8]
    );
    assert!(run.stdout.contains(&note), "{run}");
    assert_eq!(world.read("README.md"), b"nicer\n");
    world.run(&["show", "last~2"], b"").exits(4);
}

/// A file where an id is expected is answered with the command that was meant.
#[test]
fn file_for_an_id_names_the_command() {
    let world = two_sessions();
    for (command, meant) in [
        (
            &["restore", "README.md"][..],
            "ckpt-hook restore last README.md",
        ),
        (
            &["revert", "README.md"],
            "ckpt-hook revert last --only README.md",
        ),
        (&["show", "README.md"], "ckpt-hook log README.md"),
        (&["diff", "README.md"], "ckpt-hook diff -- README.md"),
    ] {
        let run = world.run(command, b"").exits(4);
        assert!(run.stderr.contains("`README.md` is a file"), "{run}");
        assert!(run.stderr.contains(meant), "{run}");
    }
    let run = world.run(&["cat", "README.md"], b"").exits(2);
    assert!(run.stderr.contains("ckpt-hook cat last:README.md"), "{run}");
    let run = world.run(&["restore", "nothing.md"], b"").exits(4);
    assert!(!run.stderr.contains("is a file"), "{run}");
    world.remove("README.md");
    for command in ["restore", "revert", "show", "diff"] {
        let run = world.run(&[command, "README.md"], b"").exits(4);
        let hint = "hint: `README.md` is gone: `ckpt-hook recover README.md` puts it back";
        assert!(run.stderr.contains(hint), "{command}: {run}");
    }
}

/// Two sessions of one agent are told apart in lists by their ids.
#[test]
fn sessions_of_one_agent_are_told_apart() {
    let world = two_sessions();
    let log = world.json(&["log"]);
    let list = world.run(&["log"], b"").exits(0);
    let graph = world.run(&["log", "--graph"], b"").exits(0);
    assert!(list.stdout.contains("session"), "{list}");
    for message in log["messages"].as_array().expect("a list") {
        let session = &message["session"].as_str().expect("an id")[..8];
        assert!(list.stdout.contains(session), "{session}: {list}");
        let name = format!("generic {session}");
        assert!(graph.stdout.contains(&name), "{name}: {graph}");
    }
}

/// An agent where an id is expected is answered with the command for its newest message.
#[test]
fn agent_for_an_id_names_the_command() {
    let world = two_sessions();
    let newest = world.json(&["log"])["messages"][0]["id"].clone();
    let newest = newest.as_str().expect("an id");
    for word in ["generic", "gen"] {
        let run = world.run(&["revert", word], b"").exits(4);
        let (_, rest) = run
            .stderr
            .split_once("is an agent: `ckpt-hook revert ")
            .expect("a command");
        let (id, _) = rest.split_once('`').expect("an id");
        assert!(newest.starts_with(id), "{run}");
        assert!(run.stderr.contains("log --agent generic"), "{run}");
    }
    let run = world.run(&["revert", "nothing"], b"").exits(4);
    assert!(!run.stderr.contains("is an agent"), "{run}");
}

/// Without an id, `show` shows the newest message, and `export` where there is none says so.
#[test]
fn show_and_export_need_no_id() {
    let world = two_sessions();
    let shown = world.run(&["show"], b"").exits(0);
    assert_eq!(
        shown.stdout,
        world.run(&["show", "last"], b"").exits(0).stdout
    );
    let world = Sandbox::new();
    world.run(&["snapshot"], b"").exits(0);
    let run = world.run(&["export"], b"").exits(4);
    assert!(
        run.stderr
            .starts_with("error: no session was recorded here\nhint: "),
        "{run}"
    );
    world.run(&["show"], b"").exits(4);
}

/// A line behind a file and the beginning of an agent's name are understood.
#[test]
fn line_and_beginning_of_an_agent_are_understood() {
    let world = two_sessions();
    let run = world.run(&["blame", "README.md:1"], b"").exits(0);
    assert!(run.stdout.contains("nicer"), "{run}");
    world.run(&["blame", "README.md:7"], b"").exits(1);
    let whole = world.run(&["log", "--agent", "generic"], b"").exits(0);
    let begun = world.run(&["log", "--agent", "gen"], b"").exits(0);
    assert_eq!(whole.stdout, begun.stdout);
    let run = world.run(&["install", "claude", "--dry-run"], b"").exits(0);
    assert!(run.stdout.contains("claude"), "{run}");
    let run = world.run(&["install", "clod"], b"").exits(2);
    assert!(run.stderr.contains("it can be installed into "), "{run}");
    let run = world.run(&["install"], b"").exits(2);
    assert!(run.stderr.contains("install --all"), "{run}");
}

/// An undo says what it undid, and is one row with it.
#[test]
fn undo_says_what_it_undid() {
    let world = two_sessions();
    world.run(&["revert", "last"], b"").exits(0);
    let run = world.run(&["undo"], b"").exits(0);
    let first = run.stdout.lines().next().unwrap_or_default();
    assert!(first.starts_with("✓ Undid the revert "), "{run}");
    assert!(first.ends_with("(“nicer README”)"), "{run}");
    assert!(
        run.stdout.contains("To do it again: ckpt-hook undo"),
        "{run}"
    );
    let rows = |run: &Run| {
        run.stdout
            .lines()
            .filter(|row| row.contains("just now"))
            .count()
    };
    let list = world.run(&["log", "--operations"], b"").exits(0);
    assert_eq!(rows(&list), 1, "{list}");
    assert!(list.stdout.contains("revert, undone  "), "{list}");
    let run = world.run(&["undo"], b"").exits(0);
    let first = run.stdout.lines().next().unwrap_or_default();
    assert!(first.starts_with("✓ Did the revert "), "{run}");
    assert!(first.ends_with("(“nicer README”) again"), "{run}");
    let list = world.run(&["log", "--operations"], b"").exits(0);
    assert!(
        list.stdout.contains("revert, undone and done again"),
        "{list}"
    );
    let list = world.run(&["log", "--operations", "-v"], b"").exits(0);
    assert_eq!(rows(&list), 3, "{list}");
}

/// An operation on a part names the message, and so do its undo and the list.
#[test]
fn operation_on_a_part_names_the_message() {
    let world = two_sessions();
    let id = world.json(&["log"])["messages"][0]["id"].clone();
    let id = &id.as_str().expect("an id")[..8];
    let run = world.run(&["revert", "last", "--only", "README.md"], b"");
    let said = format!("✓ Undid a part of the changes since “nicer README” ({id})\n");
    assert!(run.stdout.starts_with(&said), "{run}");
    let undo = world.run(&["undo"], b"").exits(0);
    let first = undo.stdout.lines().next().unwrap_or_default();
    assert!(first.starts_with("✓ Undid the revert "), "{undo}");
    assert!(first.ends_with("(a part, since “nicer README”)"), "{undo}");
    let list = world.run(&["log", "--operations"], b"").exits(0);
    assert!(list.stdout.contains("revert of a part, undone"), "{list}");
    let row = list.stdout.lines().find(|row| row.contains("of a part"));
    assert!(row.is_some_and(|row| row.contains(id)), "{list}");
    let step = world.json(&["show", "last"])["steps"][0]["id"].clone();
    let step = step.as_str().expect("an id");
    let run = world.run(&["revert", "--step", step], b"").exits(0);
    assert!(run.stdout.starts_with(&said), "{run}");
}

/// Words of other programs are understood, and a prompt gets a few.
#[test]
fn other_programs_words_are_understood() {
    let world = two_sessions();
    let run = world.run(&["search", "README"], b"").exits(0);
    assert!(
        run.stdout.contains("nicer README") && !run.stdout.contains("a shop"),
        "{run}"
    );
    let named = world.run(&["snapshots"], b"").exits(0);
    assert_eq!(
        named.stdout,
        world.run(&["log", "--snapshots"], b"").exits(0).stdout
    );
    let run = world.run(&["status", "--short"], b"").exits(0);
    assert_eq!(run.stdout, "", "nothing is reverted");
    world.run(&["revert", "last"], b"").exits(0);
    let run = world.run(&["status", "--short"], b"").exits(0);
    assert_eq!(run.stdout, "1 hidden\n");
}

/// A restore on a terminal asks before it takes what is the user's.
#[test]
fn restore_asks_before_it_takes_yours() {
    for (key, notes, made) in [
        ("y", "1\n", false),
        ("n", "mine\n", false),
        ("q", "mine\n", true),
    ] {
        let world = Sandbox::new();
        world.write("notes", "1\n");
        world.play("m1", "make it", |world| world.write("made", "1\n"));
        world.write("notes", "mine\n");
        let line = "ckpt-hook restore m1; echo after $?";
        let Some(mut screen) = Screen::open(&world, 100, line) else {
            return;
        };
        screen.wait_for("You changed this file since.");
        assert!(
            screen.contents().contains("notes (yours: changed since)"),
            "{}",
            screen.contents()
        );
        screen.press(key);
        screen.wait_for("after ");
        screen.end();
        assert_eq!(world.read("notes"), notes.as_bytes(), "{key}");
        assert_eq!(world.workspace().join("made").exists(), made, "{key}");
    }
}

/// A command of git, or a word of everyday speech, is answered with the command that does it here.
#[test]
fn commands_of_git_name_ours() {
    let world = Sandbox::new();
    for (word, meant) in [
        ("checkout", "ckpt-hook restore ID"),
        ("reset", "ckpt-hook revert last"),
        ("stash", "ckpt-hook snapshot"),
        ("clean", "ckpt-hook gc"),
        ("reflog", "ckpt-hook log --operations"),
        ("delete", "ckpt-hook forget"),
        ("init", "ckpt-hook install --all"),
        ("staus", "'status'"),
    ] {
        let mut command = world.command(&[word]);
        let run = Run::of(command.stdin(Stdio::null())).exits(2);
        let said = format!("unrecognized subcommand '{word}'");
        assert!(run.stderr.contains(&said), "{run}");
        assert!(run.stderr.contains(meant), "{word}: {run}");
        assert_eq!(run.stderr.matches("  tip: ").count(), 1, "{run}");
        // A hook's unknown event fails no agent; this is no hook.
        let mut command = world.command(&["--json", word]);
        let run = Run::of(command.stdin(Stdio::null())).exits(2);
        let document: Value = serde_json::from_str(&run.stdout).expect("a document");
        let hint = document["error"]["hint"].as_str().expect("a hint");
        assert!(hint.contains(meant), "{word}: {document}");
    }
    // What another program calls so is this one's revert.
    for word in ["rewind", "rollback"] {
        let run = world.run(&[word, "--help"], b"").exits(0);
        assert!(run.stdout.contains("ckpt-hook revert"), "{run}");
    }
}

/// A word that a command has no place for is answered with how it is given.
#[test]
fn word_without_a_place_names_its_option() {
    let world = Sandbox::new();
    for (words, meant) in [
        (
            &["revert", "last", "a b"][..],
            "ckpt-hook revert ID --only 'a b'",
        ),
        (&["forget", ".env"], "ckpt-hook forget --path .env"),
        (&["cat", "last", "notes"], "ckpt-hook cat ID:notes"),
        (&["log", "--search", "word"], "ckpt-hook log -S TEXT"),
    ] {
        let mut command = world.command(words);
        let run = Run::of(command.stdin(Stdio::null())).exits(2);
        assert!(run.stderr.contains(meant), "{words:?}: {run}");
        assert_eq!(run.stderr.matches("  tip: ").count(), 1, "{run}");
    }
}

/// A moved directory has its present path in the list of all sessions, too.
#[test]
fn moved_directory_is_listed_where_it_is() {
    let world = two_sessions();
    world.run(&["revert", "last"], b"").exits(0);
    let moved = world.path("moved");
    std::fs::rename(world.workspace(), &moved).expect("writable");
    let path = moved.canonicalize().expect("it is there");
    let path = path.to_str().expect("text");
    for (list, rows) in [
        (&["sessions"][..], 2),
        (&["log"], 2),
        (&["log", "--operations"], 1),
    ] {
        // From within, and from a third directory.
        for here in [&moved, &world.home()] {
            let mut command = world.command(&[list, &["--everywhere"]].concat());
            let run = Run::of(command.current_dir(here)).exits(0);
            assert_eq!(run.stdout.matches(path).count(), rows, "{list:?}: {run}");
        }
    }
}

/// A file that was renamed after the newest snapshot is listed as renamed.
#[test]
fn recover_names_a_new_rename() {
    let world = Sandbox::new();
    world.write("old", "1\n2\n3\n");
    world.write("gone", "other\n");
    world.play("m1", "make one", |world| world.write("made", "agent\n"));
    std::fs::rename(world.workspace().join("old"), world.workspace().join("new")).expect("there");
    world.remove("gone");
    let run = world.run(&["recover"], b"").exits(0);
    assert!(run.stdout.contains("old → new"), "{run}");
    let report = world.json(&["recover"]);
    let files = report["files"].as_array().expect("a list");
    let to: Vec<_> = files
        .iter()
        .map(|file| &file["renamed_to"]["path"])
        .collect();
    assert_eq!(
        to.iter().filter(|to| to.is_string()).count(),
        1,
        "{report:#}"
    );
}
