//! Long histories, and what is known of where they came from.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use testing::binary::{Sandbox, finish};
use testing::rows;

use super::{fetch, holds, in_server, machine, objects, only, push, server};

/// Pushes what is new, and returns how many times git was run, and the bytes that the repository grew by.
fn cost(world: &Sandbox, server: &str) -> (usize, usize) {
    let folder = world.path("programs");
    std::fs::create_dir_all(&folder).expect("writable");
    let (log, git) = (world.path("git-calls"), folder.join("git"));
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> '{}'\nPATH=${{PATH#*:}} exec git \"$@\"\n",
        log.display()
    );
    std::fs::write(&git, script).expect("writable");
    std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).expect("ours");
    let _ = std::fs::remove_file(&log);
    let before = objects(world, Path::new(server)).len();
    let mut command = world.command(&["push", server, "--yes"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
    finish(&mut command, b"").exits(0);
    let calls = std::fs::read_to_string(&log).expect("git was run");
    (
        calls.lines().count(),
        objects(world, Path::new(server)).len() - before,
    )
}

/// Ten times the history costs a push of one message the same: as many calls of git, and as many bytes.
#[test]
fn later_push_costs_what_is_new() {
    let world = Sandbox::new();
    for number in 0..40 {
        world.write(&format!("f{number}"), "text\n".repeat(number));
    }
    let server = server(&world);
    let mut played = 0;
    let mut play = |until: usize| {
        while played < until {
            played += 1;
            let (id, text) = (format!("m{played:03}"), format!("{played:03}\n"));
            world.play(&id, "go on", |world| world.write("a", text));
        }
    };
    play(3);
    cost(&world, &server);
    play(4);
    let short = cost(&world, &server);
    play(40);
    cost(&world, &server);
    play(41);
    let long = cost(&world, &server);
    assert_eq!(short.0, long.0, "calls of git");
    assert!(long.1 < short.1 + short.1 / 10, "{short:?} {long:?}");
    assert!(short.1 < 8 << 10, "{short:?}");
}

/// A push does not read the rows of a long history again: what is changed in an old one behind its back goes with the next push
/// after something that changes old rows, or once much is new.
#[test]
fn later_push_reads_what_is_new() {
    let world = machine();
    let server = server(&world);
    let database = world.store().join("sessions.db");
    push(&world, &server);
    // As many messages more, with a step and two snapshots each.
    let rows = "WITH RECURSIVE n (x) AS (SELECT 1 UNION SELECT x + 1 FROM n WHERE x < 3000)";
    let sql = format!(
        "{rows} INSERT INTO snapshots (workspace_id, tree, taken_at)
           SELECT workspace_id, tree, taken_at + x FROM n, snapshots WHERE snapshots.id = 1;
         {rows} INSERT INTO messages (id, session_id, prompt, snapshot_id, created_at)
           SELECT printf('%032x', x), sessions.id, 'go on ' || x, x, x FROM n, sessions;
         {rows} INSERT INTO steps (id, session_id, message_id, state, start_snapshot_id, finish_snapshot_id, started_at)
           SELECT printf('%032x', 10000 + x), sessions.id, printf('%032x', x), 'closed', x, x, x FROM n, sessions"
    );
    rows::execute(&database, &sql);
    assert_eq!(push(&world, &server)["messages"], 3000);
    let change = |number: usize| {
        let id = format!("{number:032x}");
        let sql = format!("UPDATE messages SET prompt = 'changed' WHERE id = '{id}'");
        rows::execute(&database, &sql);
    };
    change(5);
    assert_eq!(push(&world, &server)["messages"], 0, "it is not read");
    // A late event changes one that is not so old.
    change(2990);
    assert_eq!(push(&world, &server)["messages"], 1);
    world.play("m3", "go on", |world| world.write("a", "3\n"));
    assert_eq!(push(&world, &server)["messages"], 1);
    world.run(&["revert", "last"], b"").exits(0);
    let report = push(&world, &server);
    assert_eq!(
        report["messages"], 2,
        "and the one that is reverted: {report}"
    );
    assert_eq!(report["anew"], false, "{report}");
    assert_eq!(push(&world, &server)["pushed"], false, "all is there");
}

/// What is pruned is told of with the next push, which sends little, until it is the larger part of what is there.
#[test]
fn pruning_does_not_send_everything_anew() {
    let (one, other) = (Sandbox::new(), Sandbox::new());
    let old = |number: usize| format!("unspeakable {number}\n");
    one.write("a", old(0));
    for number in 1..=8 {
        one.play(&format!("m{number}"), "go on", |world| {
            world.write("a", old(number))
        });
    }
    let server = server(&one);
    push(&one, &server);
    let name = only(&fetch(&other, &server));
    let prune = |count: usize| {
        let sql = format!(
            "UPDATE snapshots SET pruned_at = 1 WHERE pruned_at IS NULL AND id IN
               (SELECT id FROM snapshots WHERE pruned_at IS NULL ORDER BY id LIMIT {count});
             UPDATE workspaces SET unswept = 1"
        );
        rows::execute(&one.store().join("sessions.db"), &sql);
        one.run(&["gc"], b"").exits(0);
    };
    prune(2);
    let report = push(&one, &server);
    assert_eq!(
        (&report["anew"], &report["pruned"]),
        (&false.into(), &2.into()),
        "{report}"
    );
    assert_eq!(report["messages"], 0, "{report}");
    fetch(&other, &server);
    other.run(&["gc"], b"").exits(0);
    let there = objects(&other, &other.store().join("snapshots"));
    assert!(!holds(&there, &old(0)), "it goes elsewhere, too");
    other
        .run(&["--machine", &name, "cat", "m8:a"], b"")
        .exits(0);
    assert_eq!(push(&one, &server)["pushed"], false, "once");
    prune(4);
    let report = push(&one, &server);
    assert_eq!(
        (&report["anew"], &report["pruned"]),
        (&true.into(), &0.into()),
        "{report}"
    );
    in_server(
        &one,
        &server,
        &["reflog", "expire", "--expire=now", "--all"],
    );
    in_server(&one, &server, &["gc", "-q", "--prune=now"]);
    assert!(
        !holds(&objects(&one, Path::new(&server)), &old(0)),
        "now it goes there"
    );
    fetch(&other, &server);
    let log = other.json(&["--machine", &name, "log"]);
    assert_eq!(log["messages"].as_array().map(Vec::len), Some(8), "{log}");
}

#[test]
fn origins_are_counted() {
    let (one, other) = (machine(), Sandbox::new());
    let server = server(&one);
    push(&one, &server);
    other.play("o1", "my own", |world| world.write("a", "1\n"));
    let name = only(&fetch(&other, &server));
    let du = other.json(&["du", "--by", "machine"]);
    let names: Vec<_> = du["rows"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|row| &row["name"])
        .collect();
    assert_eq!(names.len(), 2, "{du}");
    assert!(
        names.iter().any(|it| *it == &name) && names.iter().any(|it| *it == "this machine"),
        "{du}"
    );
    let doctor = other.run(&["doctor"], b"");
    let line = format!(
        "2 messages of `{}` came from `{name}`",
        one.workspace().display()
    );
    assert!(doctor.stdout.contains(&line), "{doctor}");
}
