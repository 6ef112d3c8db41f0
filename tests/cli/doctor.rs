//! `doctor`: what it finds, what it mends, and what it writes down for others.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use ckpt_schema::migration::{APPLICATION_ID, MIGRATIONS, VERSION};
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use testing::binary::{Run, Sandbox};
use testing::nobody::as_nobody;
use testing::rows::{execute, texts};

fn played() -> Sandbox {
    let world = Sandbox::new();
    world.write("top-secret-plan.txt", "classified-content\n");
    world.play("m1", "confidential-prompt about everything", |world| {
        world.write("another-secret.txt", "classified-content too\n");
    });
    // A person gives a command, which adds the views.
    world.run(&["status"], b"").exits(0);
    world
}

fn doctor(world: &Sandbox, code: i32) -> Run {
    world.run(&["doctor"], b"").exits(code)
}

/// What is well is said in a line each.
#[test]
fn health_is_a_line_each() {
    let run = doctor(&played(), 0);
    for line in [
        "the session store is sound",
        "objects of",
        "and its disk has",
    ] {
        assert_eq!(run.stdout.matches(line).count(), 1, "{line}: {run}");
    }
}

#[test]
fn what_is_not_well_is_found() {
    let cases = [
        (
            "DROP VIEW session_overview",
            1,
            "are not as ckpt-hook makes them: `session_overview`",
        ),
        (
            "CREATE TABLE theirs (x)",
            1,
            "are not as ckpt-hook makes them: `theirs`",
        ),
        (
            "PRAGMA foreign_keys = OFF; UPDATE messages SET session_id = 'nobody'",
            1,
            "refer to missing rows: messages",
        ),
        (
            "UPDATE sessions SET last_event_at = 4102444800000",
            0,
            "the newest event is of 2100-01-01T00:00:00Z, which is in the future",
        ),
        (
            "UPDATE steps SET unprotected = 'the disk was full'",
            0,
            "1 of the last seven days are unprotected; the newest because: the disk was full",
        ),
    ];
    for (change, code, expected) in cases {
        let world = played();
        execute(&world.store().join("sessions.db"), change);
        let run = doctor(&world, code);
        assert!(run.stdout.contains(expected), "{change}: {run}");
    }
    let world = played();
    world.configure("max_store_size = 1000\n");
    let run = doctor(&world, 0);
    assert!(
        run.stdout.contains("! store: it takes"),
        "over its size: {run}"
    );
}

/// A store that cannot be written to is told for the hooks say nothing.
#[test]
fn unwritable_store_is_reported_by_doctor() {
    as_nobody("doctor::unwritable_store_is_reported_by_doctor", || {
        let payload = json!({
            "session_id": "s",
            "hook_event_name": "UserPromptSubmit",
            "prompt": "p",
        });
        for makes_store in [false, true] {
            let world = if makes_store {
                played()
            } else {
                Sandbox::new()
            };
            let home = world.store().parent().expect("it is in one").to_owned();
            let place = if makes_store { world.store() } else { home };
            let set_mode = |mode| {
                let mode = std::fs::Permissions::from_mode(mode);
                std::fs::set_permissions(&place, mode).expect("ours");
            };
            set_mode(0o500);
            let event = [
                "event",
                "--agent",
                "claude-code",
                "--event",
                "UserPromptSubmit",
            ];
            let run = world.run(&event, payload.to_string().as_bytes());
            let found = doctor(&world, 1);
            set_mode(0o700);
            run.exits(0).ends_silently();
            let expected = format!(
                "✗ store: `{}` cannot be written to, so nothing is recorded: Permission denied",
                place.display()
            );
            assert!(found.stdout.contains(&expected), "{expected}: {found}");
        }
    });
}

/// A damaged session store gives way to one with every row that can be read.
///
/// Invariant `work/rows-damaged`: A damaged session store is set aside, and its readable rows
/// are kept.
#[test]
fn damaged_session_store_keeps_readable_rows() {
    let world = played();
    let database = world.store().join("sessions.db");
    execute(
        &database,
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
         INSERT INTO diagnostics (level, message, at) SELECT 'info', 'marked ' || i || hex(zeroblob(90)), i FROM n;
         PRAGMA wal_checkpoint(TRUNCATE)",
    );
    let mut bytes = std::fs::read(&database).expect("ours");
    let at = bytes
        .windows(10)
        .position(|window| window == b"marked 250")
        .expect("the row is there");
    let page = at / 4096 * 4096;
    bytes[page..page + 4096].fill(0xa5);
    std::fs::write(&database, &bytes).expect("ours");
    let found = doctor(&world, 1);
    assert!(
        found.stdout.contains("`ckpt-hook doctor --repair`"),
        "it says what to do: {found}"
    );
    assert_eq!(
        std::fs::read(&database).expect("ours"),
        bytes,
        "and does nothing of it"
    );
    let repaired = world.run(&["doctor", "--repair"], b"").exits(0);
    assert!(repaired.stdout.contains("(repaired)"), "{repaired}");
    assert!(
        repaired.stdout.contains("rows of `diagnostics` are lost"),
        "{repaired}"
    );
    let aside = world.store().join("sessions.db.damaged-1");
    assert_eq!(
        std::fs::read(aside).expect("it is set aside"),
        bytes,
        "every byte"
    );
    let left = texts(
        &database,
        "SELECT count(*) || '' FROM diagnostics WHERE message LIKE 'marked%'",
    );
    let left: u32 = left[0].parse().expect("a number");
    assert!((400..500).contains(&left), "all but one page: {left}");
    let run = world.run(&["revert", "--message", "m1"], b"").exits(0);
    assert!(
        !world.workspace().join("another-secret.txt").exists(),
        "history goes on: {run}"
    );
}

/// Sets the session store aside, as a hook does that meets damage: a new one takes its place, with nothing in it yet. Returns
/// where the former one is.
fn set_aside(world: &Sandbox) -> PathBuf {
    let aside = world.store().join("sessions.db.damaged-1");
    let database = world.store().join("sessions.db");
    execute(&database, "PRAGMA wal_checkpoint(TRUNCATE)");
    for ending in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(world.store().join(format!("sessions.db{ending}")));
    }
    std::fs::rename(&database, &aside).expect("ours");
    let version =
        format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}");
    execute(&database, &(MIGRATIONS.concat() + &version));
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&database, private).expect("ours");
    aside
}

/// A repair waits for a forget so that no row comes back.
#[test]
fn repair_waits_for_a_forget() {
    let world = played();
    set_aside(&world);
    let lock = std::fs::File::create(world.store().join("gc")).expect("ours");
    flock(&lock, FlockOperation::LockExclusive).expect("nobody else has it");
    let mut repair = world.command(&["doctor", "--repair"]);
    let mut repair = repair.stdout(Stdio::null()).spawn().expect("it starts");
    let open = format!("/proc/{}/fd", repair.id());
    let is_waiting = || {
        let files = std::fs::read_dir(&open).into_iter().flatten().flatten();
        let targets = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        targets.into_iter().any(|file| file.ends_with("gc"))
    };
    while !is_waiting() {
        let ended = repair.try_wait().expect("it is our child");
        assert!(ended.is_none(), "it did not wait: {ended:?}");
        std::thread::yield_now();
    }
    let unfinished = world.store().join("sessions.db.repaired");
    assert!(!unfinished.exists(), "no row is copied yet");
    drop(lock);
    assert!(repair.wait().expect("it is our child").success());
    let database = world.store().join("sessions.db");
    assert_eq!(
        texts(&database, "SELECT prompt FROM messages"),
        ["confidential-prompt about everything"],
        "then it repairs"
    );
}

/// What was set aside by itself is taken up where nothing was recorded since.
#[test]
fn set_aside_store_is_taken_up_if_alone() {
    let world = played();
    let aside = set_aside(&world);
    let run = world.run(&["doctor", "--repair"], b"").exits(0);
    assert!(run.stdout.contains("(repaired)"), "{run}");
    assert!(aside.exists(), "nothing is deleted");
    let log = world.run(&["log"], b"").exits(0);
    assert!(
        log.stdout.contains("confidential-prompt"),
        "it is back: {log}"
    );
}

/// What a killed repair left is named and the next one removes it.
#[test]
fn killed_repairs_leftovers_are_removed_next() {
    let world = played();
    let left = ["sessions.db.repaired", "sessions.db.repaired-journal"];
    for name in left {
        std::fs::write(world.store().join(name), "confidential-prompt").expect("ours");
    }
    let run = doctor(&world, 0);
    for name in left {
        assert!(run.stdout.contains(&format!("`{name}`")), "{run}");
    }
    assert!(
        run.stdout.contains("`ckpt-hook doctor --repair` removes"),
        "what to do: {run}"
    );
    let run = world.run(&["doctor", "--repair"], b"").exits(0);
    for name in left {
        assert!(!world.store().join(name).exists(), "it is gone: {run}");
        let line = run
            .stdout
            .lines()
            .find(|line| line.contains(&format!("{name}`")));
        assert!(
            line.is_some_and(|line| line.contains("(repaired)")),
            "and that is said: {run}"
        );
    }
    let run = doctor(&world, 0);
    assert!(!run.stdout.contains("sessions.db.repaired"), "{run}");
    let log = world.run(&["log"], b"").exits(0);
    assert!(log.stdout.contains("confidential-prompt"), "{log}");
}

/// A repair that is at work is not called a killed one.
#[test]
fn running_repair_is_not_called_killed() {
    let world = played();
    let unfinished = world.store().join("sessions.db.repaired");
    std::fs::write(&unfinished, "").expect("ours");
    let lock = std::fs::File::create(world.store().join("lock")).expect("ours");
    flock(&lock, FlockOperation::LockExclusive).expect("nobody else has it");
    let run = doctor(&world, 0);
    assert!(!run.stdout.contains("sessions.db.repaired"), "{run}");
    assert!(unfinished.exists(), "and stays");
}

/// A report for others holds no content no prompt and no path.
#[test]
fn bug_report_holds_nothing_private() {
    let world = played();
    world.configure("exclude = [\"hidden-pattern\"]\ncolour-of-secrets = 1\nkeep = 5\n");
    world.event(json!({"event": "step_start", "session_id": "private-session", "cwd": "/nowhere/secret-place"}));
    // What goes wrong names files.
    let repository = std::fs::read_dir(world.store().join("snapshots"))
        .expect("there")
        .next()
        .expect("a workspace")
        .expect("readable")
        .path();
    std::fs::create_dir(repository.with_file_name("lost-workspace")).expect("ours");
    world.run(&["doctor", "--report", "bug.json"], b"").exits(1);
    let text = String::from_utf8(world.read("bug.json")).expect("text");
    let home = world.path("").display().to_string();
    for word in [
        "secret",
        "classified",
        "confidential",
        "private-session",
        "hidden-pattern",
        "plan",
        "lost-workspace",
        home.trim_end_matches('/'),
        "/",
    ] {
        assert!(!text.contains(word), "`{word}` is in it:\n{text}");
    }
    let report: Value = serde_json::from_str(&text).expect("a document");
    assert_eq!(report["rows"]["messages"], 1, "numbers are: {text}");
    assert_eq!(
        report["settings"]["exclude"], 1,
        "how many patterns: {text}"
    );
    assert!(
        report["findings"]
            .as_array()
            .is_some_and(|findings| findings.len() > 3),
        "and what was found: {text}"
    );
    let again = world.run(&["doctor", "--report", "bug.json"], b"").exits(1);
    assert!(
        again.stderr.contains("cannot write"),
        "a file that is there stays: {again}"
    );
}

/// A repair makes missing tables views and indexes anew and removes foreign triggers.
///
/// Invariant `work/rows-damaged`.
#[test]
fn repair_makes_missing_tables_and_drops_foreign_triggers() {
    let world = played();
    world.run(&["label", "last", "kept"], b"").exits(0);
    let database = world.store().join("sessions.db");
    let index = "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL LIMIT 1";
    let index = texts(&database, index).remove(0);
    let schema = "SELECT name || sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name";
    let whole = texts(&database, schema);
    for damage in [
        "DROP VIEW session_overview".to_owned(),
        format!("DROP INDEX {index}"),
        "CREATE TRIGGER theirs AFTER INSERT ON messages BEGIN DELETE FROM steps; END".to_owned(),
        "DROP TABLE labels".to_owned(),
    ] {
        execute(&database, &damage);
        let found = world.run(&["doctor"], b"").exits(1);
        assert!(
            found.stdout.contains("are not as ckpt-hook makes them")
                && found
                    .stdout
                    .contains("`ckpt-hook doctor --repair` rebuilds"),
            "{damage}: {found}"
        );
        let repaired = world.run(&["doctor", "--repair"], b"").exits(0);
        assert!(
            repaired.stdout.contains("(repaired)"),
            "{damage}: {repaired}"
        );
        // SQLite may have left the rows of a dropped table where they were.
        let is_back = texts(&database, "SELECT text FROM labels") == ["kept"];
        assert_eq!(
            repaired.stdout.contains("rows of `labels` are lost"),
            !is_back,
            "{damage}: {repaired}"
        );
        assert_eq!(texts(&database, schema), whole, "{damage}");
        assert_eq!(
            texts(&database, "SELECT prompt FROM messages"),
            ["confidential-prompt about everything"],
            "{damage}: no other row is lost"
        );
    }
}

#[test]
fn a_trigger_that_somebody_planted_never_runs() {
    let world = played();
    let database = world.store().join("sessions.db");
    let plant = "CREATE TRIGGER theirs AFTER INSERT ON messages BEGIN DELETE FROM steps; END;
                 CREATE TRIGGER others AFTER UPDATE ON sessions BEGIN UPDATE messages SET prompt = 'planted'; END";
    execute(&database, plant);
    world.play("m2", "another prompt", |world| world.write("a", "2\n"));
    world.run(&["revert", "m2"], b"").exits(0);
    world.run(&["unrevert"], b"").exits(0);
    assert_eq!(world.read("a"), b"2\n");
    assert_eq!(
        texts(&database, "SELECT prompt FROM messages ORDER BY seq"),
        ["confidential-prompt about everything", "another prompt"]
    );
    let steps = "SELECT CAST(count(*) AS TEXT) FROM steps";
    assert_eq!(texts(&database, steps), ["2"], "of both messages");
}

/// A repair moves a directory aside that keeps everybody from work.
#[test]
fn repair_moves_an_obstructing_directory_aside() {
    let world = Sandbox::new();
    world.write("a", "1\n");
    world.play("m", "prompt", |world| world.write("a", "2\n"));
    let mut folders = std::fs::read_dir(world.store().join("snapshots")).expect("there are some");
    let folder = folders.next().expect("one workspace").expect("readable");
    let folder = folder.path().join("lock");
    for lock in [world.store().join("gc"), folder] {
        let _ = std::fs::remove_file(&lock);
        std::fs::create_dir(&lock).expect("writable");
        std::fs::write(lock.join("kept"), "mine").expect("writable");
    }
    world.run(&["revert", "m"], b"").exits(1);
    let said = world.run(&["doctor", "--repair"], b"").exits(0);
    for number in [1, 2] {
        let kept = world.store().join(format!("aside-{number}/kept"));
        assert!(said.stdout.contains(&format!("aside-{number}`")), "{said}");
        assert_eq!(std::fs::read(kept).expect("nothing is lost"), b"mine");
    }
    world.run(&["revert", "m"], b"").exits(0);
    assert_eq!(world.read("a"), b"1\n");
    let again = world.run(&["doctor", "--repair"], b"").exits(0);
    assert!(!again.stdout.contains("aside"), "all is well: {again}");
    world.run(&["uninstall", "--purge", "--yes"], b"").exits(0);
    assert!(
        !world.store().exists(),
        "what was moved goes with the store"
    );
}

/// A damaged repository of the store is named and mended.
#[test]
fn damaged_repository_of_the_store_is_mended() {
    for (name, damage) in [("HEAD", "ref: refs/heads/other\n"), ("config", "[core]\n")] {
        let world = Sandbox::new();
        world.play("m1", "first", |world| world.write("file", "1\n"));
        let folders = std::fs::read_dir(world.store().join("snapshots")).expect("the store");
        let folder = folders.flatten().next().expect("one workspace").path();
        let path = folder.join("repository.git").join(name);
        let sound = std::fs::read(&path).expect("it is there");
        for damage in [Some(damage), None] {
            match damage {
                Some(text) => std::fs::write(&path, text).expect("ours"),
                None => std::fs::remove_file(&path).expect("ours"),
            }
            let run = world.run(&["doctor"], b"").exits(0);
            assert!(
                run.stdout.contains(&format!("`{name}`")),
                "it is named: {run}"
            );
            assert_eq!(
                std::fs::read(&path).expect("it is there"),
                sound,
                "{name}: and mended"
            );
            let again = world.run(&["doctor"], b"").exits(0);
            assert!(
                !again.stdout.contains(&format!("`{name}`")),
                "once: {again}"
            );
        }
    }
}

/// A version managers shim without its program is not installed.
///
/// The script, or the link to the manager, stays on the `PATH` when the program goes.
///
/// Invariant `agent/installed`.
#[test]
fn shim_of_a_missing_program_is_not_installed() {
    for is_link in [false, true] {
        let world = Sandbox::new();
        let program = world.path("mise/installs/ckpt-hook/1.2.0/bin/ckpt-hook");
        let shim = world.path("mise/shims/ckpt-hook");
        for file in [&program, &shim] {
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("writable");
        }
        testing::executable::copy(Path::new(testing::binary::binary()), &program);
        let script = format!("#!/bin/sh\nexec '{}' \"$@\"\n", program.display());
        match is_link {
            true => {
                testing::executable::write(&world.path("mise/mise"), &script);
                std::os::unix::fs::symlink("../mise", &shim).expect("new");
            }
            false => testing::executable::write(&shim, &script),
        }
        let mut install = world.command_by(&program, &["install", "claude-code"]);
        let path = format!(
            "{}:/usr/bin:/bin",
            shim.parent().expect("a folder").display()
        );
        testing::binary::finish(install.env("PATH", path), b"").exits(0);
        let said = |command: &str| world.run(&[command], b"").stdout.replace('\n', " ");
        let shown = said("log");
        assert!(shown.contains("The hook is installed"), "{shown}");
        std::fs::remove_file(&program).expect("it is there");
        for command in ["log", "status", "doctor"] {
            let shown = said(command);
            let is_told = shown.contains("cannot be executed");
            assert!(is_told, "{command}: {shown}");
        }
    }
}

/// Where the name is on one path only is said.
#[test]
fn name_on_one_path_only_is_told() {
    if cfg!(target_os = "macos") {
        return testing::skip::skip("launchd has a path of its own");
    }
    let world = Sandbox::new();
    let bin = world.path("bin");
    std::fs::create_dir_all(&bin).expect("writable");
    testing::executable::copy(Path::new(testing::binary::binary()), &bin.join("ckpt-hook"));
    world.run(&["install", "claude-code"], b"").exits(0);
    let doctor = |desktop: &Path| {
        let script = format!("#!/bin/sh\necho PATH='{}'\n", desktop.display());
        testing::executable::write(&bin.join("systemctl"), &script);
        let mut command = world.command(&["doctor"]);
        testing::binary::finish(command.env("PATH", &bin), b"").stdout
    };
    let folder = bin.display();
    let both = format!("`ckpt-hook` is found in `{folder}`\n");
    assert!(doctor(&bin).contains(&both));
    let one = format!("found in `{folder}`, which is on the PATH here, but not");
    let shown = doctor(Path::new("/usr/bin"));
    assert!(shown.contains(&one), "{shown}");
}
