//! `forget` and `uninstall --purge`: what is asked, what is said, exit codes.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use testing::binary::Sandbox;

fn world() -> Sandbox {
    let world = Sandbox::new();
    world.write("a", "0\n");
    world.play("m1", "make it work", |world| world.write("a", "1\n"));
    world.play("m2", "use the password", |world| {
        world.write("key.pem", "a key\n")
    });
    world
}

#[test]
fn nothing_is_forgotten_that_nobody_agreed_to() {
    let world = world();
    let run = world.run(&["forget", "--path", "*.pem"], b"").exits(2);
    assert!(run.stderr.contains("--yes"), "what to do: {run}");
    let plan = world
        .run(&["forget", "--path", "*.pem", "--dry-run"], b"")
        .exits(0);
    assert!(plan.stdout.contains("  key.pem\n"), "what would go: {plan}");
    assert!(!plan.stdout.contains("  a\n"), "and no more: {plan}");
    world.run(&["revert", "m2"], b"").exits(0);
    world.run(&["unrevert"], b"").exits(0);
    assert_eq!(world.read("key.pem"), b"a key\n", "it is still stored");
    let done = world
        .run(&["forget", "--path", "*.pem", "--yes"], b"")
        .exits(0);
    assert!(done.stdout.contains("Forgotten."), "{done}");
    world
        .run(&["forget", "--path", "*.pem", "--yes"], b"")
        .exits(4);
}

#[test]
fn what_to_forget_is_said_once() {
    let world = world();
    world.run(&["forget"], b"").exits(2);
    world.run(&["forget", "--all", "--path", "a"], b"").exits(2);
    world
        .run(&["forget", "--path", "a", "--message", "m1"], b"")
        .exits(2);
    world
        .run(&["forget", "--message", "m9", "--yes"], b"")
        .exits(4);
    world
        .run(&["forget", "--path", "!a", "--yes"], b"")
        .exits(1);
}

/// A name that a pattern cannot begin with is forgotten as the hint says.
#[test]
fn odd_name_is_forgotten_as_the_hint_says() {
    for name in ["#notes", "!now"] {
        let world = world();
        world.play("m3", "more", |world| world.write(name, "text\n"));
        let refused = world
            .run(&["forget", "--path", name, "--yes"], b"")
            .exits(1);
        let escaped = format!("\\{name}");
        assert!(
            refused.stderr.contains(&format!("`{escaped}`")),
            "{refused}"
        );
        let done = world
            .run(&["forget", "--path", &escaped, "--yes"], b"")
            .exits(0);
        assert!(done.stdout.contains(&format!("  {name}\n")), "{done}");
    }
}

/// Forget is refused while an agent is at work.
#[test]
fn forget_is_refused_during_an_agents_work() {
    let world = world();
    let session = ["--session", "s"];
    world.run(
        &[&["message", "--message", "m3"][..], &session].concat(),
        b"",
    );
    world.run(&[&["step-start"][..], &session].concat(), b"");
    for what in [&["--path", "a"][..], &["--workspace"], &["--all"]] {
        let run = world.run(&[&["forget", "--yes"][..], what].concat(), b"");
        run.exits(5);
        // Before anybody is asked, too.
        let run = world.run(&[&["forget"][..], what].concat(), b"").exits(5);
        assert!(run.stderr.contains("a step is open"), "{run}");
        // A dry run shows what it would be, and that it has to wait.
        let dry = [&["forget", "--dry-run"][..], what].concat();
        assert_eq!(world.json(&dry)["workspaces"][0]["busy"], true, "{what:?}");
        let run = world.run(&dry, b"").exits(5);
        assert!(run.stdout.contains("  busy: an agent "), "{run}");
    }
    world.run(&["uninstall", "--purge", "--yes"], b"").exits(5);
    assert!(world.store().exists(), "all is there");
}

/// A message and a workspace are forgotten by what names them.
#[test]
fn message_and_workspace_are_forgotten_by_name() {
    let world = world();
    let report = world.json(&["forget", "--message", "m2", "--yes"]);
    assert_eq!(report["workspaces"][0]["prompts"], 1);
    assert_eq!(report["workspaces"][0]["files"][0]["path"], "key.pem");
    let log = world.run(&["log"], b"").exits(0);
    assert!(!log.stdout.contains("password"), "{log}");
    assert!(log.stdout.contains("make it work"), "{log}");
    let here = world.workspace().display().to_string();
    let report = world.json(&["forget", "--workspace", &here, "--yes"]);
    assert_eq!(report["workspaces"][0]["removed"], true);
    world.run(&["forget", "--workspace", "--yes"], b"").exits(4);
    assert_eq!(world.read("key.pem"), b"a key\n", "files are not touched");
}

/// Lines of a forgotten message are of no other one, and not yours.
#[test]
fn forgotten_lines_are_of_an_unknown_author() {
    let world = Sandbox::new();
    world.write("a", "old\n");
    world.play("m1", "secret", |world| {
        world.write("a", "old\nsecret\n");
        world.write("made", "secret\n");
    });
    world.play("m2", "more", |world| {
        world.write("a", "old\nsecret\nmore\n")
    });
    world.json(&["forget", "--message", "m1", "--yes"]);
    let authors = |file: &str| {
        let report = world.json(&["blame", file]);
        let hunks = report["hunks"].as_array().expect("a list").iter();
        let by = hunks.map(|hunk| hunk["by"].as_str().expect("a word").to_owned());
        by.collect::<Vec<_>>()
    };
    assert_eq!(authors("made"), ["unknown"]);
    assert_eq!(authors("a"), ["unrecorded", "unknown"]);
}

/// A state that was forgotten is in the way of nothing but itself: what was there before is named as the way out, and
/// comes back by it.
#[test]
fn way_past_a_forgotten_state_is_named() {
    let world = Sandbox::new();
    world.write("had", "old\n");
    world.play("m1", "secret", |world| {
        world.write("had", "secret\n");
        world.write("made", "secret\n");
    });
    world.play("m2", "more", |world| world.write("other", "more\n"));
    world.json(&["forget", "--message", "m1", "--yes"]);
    let report = world.json(&["revert", "m1", "--dry-run"]);
    let kept = report["kept"].as_array().expect("a list");
    let paths: Vec<_> = kept.iter().map(|kept| &kept["paths"][0]["path"]).collect();
    assert_eq!(paths, ["had", "made"], "{report}");
    for (kept, does) in kept
        .iter()
        .zip(["puts the earlier version there", "removes it"])
    {
        assert_eq!(kept["kind"], "forgotten", "{report}");
        assert_eq!(kept["way"]["does"], does, "{report}");
    }
    let said = world.run(&["revert", "m1"], b"").exits(3).stdout;
    assert!(
        said.contains("--only had --on-conflict overwrite"),
        "{said}"
    );
    for path in ["had", "made"] {
        let way = ["revert", "m1", "--only", path, "--on-conflict", "overwrite"];
        world.run(&way, b"").exits(0);
    }
    assert_eq!(world.read("had"), b"old\n");
    assert!(!world.workspace().join("made").exists());
}

/// A restore keeps a file whose author went with a message, but does not call it yours.
#[test]
fn a_forgotten_messages_file_is_perhaps_yours() {
    let world = world();
    world.json(&["forget", "--message", "m2", "--yes"]);
    let run = world.run(&["restore", "m1", "--dry-run"], b"").exits(3);
    let said = "perhaps yours: no record says";
    assert_eq!(run.stdout.matches(said).count(), 2, "{run}");
    let run = world.run(&["restore", "m1", "key.pem"], b"").exits(0);
    assert!(run.stdout.contains(said), "{run}");
    assert!(!run.stdout.contains("(yours"), "{run}");
}

/// `--workspace` names one directory, before the command or behind it, and is no word to forget one.
#[test]
fn workspace_to_forget_is_the_one_named() {
    let world = world();
    let other = world.path("other");
    fs::create_dir(&other).expect("writable");
    let other = other.to_str().expect("a plain path");
    let here = world.workspace().display().to_string();
    world.run(&["--workspace", other, "snapshot"], b"").exits(0);
    let differ: [&[&str]; 3] = [
        &["--workspace", other, "forget", "--workspace", &here],
        &[
            "--workspace",
            other,
            "forget",
            "--path",
            "*",
            "--workspace",
            &here,
        ],
        &["--workspace", other, "log", "--workspace", &here],
    ];
    for arguments in differ {
        let run = world.run(arguments, b"").exits(2);
        assert!(run.stderr.contains("two directories"), "{run}");
    }
    let run = world
        .run(&["--workspace", other, "forget", "--yes"], b"")
        .exits(2);
    assert!(run.stderr.contains("nothing was named"), "{run}");
    let same = ["--workspace", other, "forget", "--workspace", other, "-n"];
    let report = world.json(&same);
    assert_eq!(report["workspaces"][0]["workspace"], other, "{report}");
    let before = ["--workspace", other, "forget", "--workspace", "--yes"];
    let report = world.json(&before);
    assert_eq!(report["workspaces"][0]["workspace"], other, "{report}");
    world.run(&before, b"").exits(4);
    let log = world.json(&["log"]);
    assert_eq!(log["messages"].as_array().map(Vec::len), Some(2), "{log}");
}

/// What was recorded of a directory that is gone is forgotten by its path.
#[test]
fn missing_directorys_records_are_forgotten_by_path() {
    let world = world();
    let here = world.workspace().display().to_string();
    fs::rename(world.workspace(), world.home().join("kept")).expect("writable");
    let elsewhere = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        command.current_dir(world.home());
        testing::binary::finish(&mut command, b"")
    };
    let run = elsewhere(&["forget", "--message", "m2", "--workspace", &here, "--yes"]).exits(0);
    assert!(run.stdout.contains("key.pem"), "{run}");
    let run = elsewhere(&["forget", "--workspace", &here, "--yes"]).exits(0);
    assert!(run.stdout.contains("Forgotten."), "{run}");
    let run = elsewhere(&["workspace", "list"]).exits(0);
    assert!(!run.stdout.contains(&here), "{run}");
    elsewhere(&["forget", "--workspace", &here, "--yes"]).exits(1);
}

/// A purge removes the store and nothing that is not its own.
#[test]
fn purge_removes_only_the_store() {
    let world = world();
    world.run(&["install", "claude-code"], b"").exits(0);
    world.run(&["uninstall", "--purge"], b"").exits(2);
    let theirs = world.store().join("mine.txt");
    fs::write(&theirs, "mine\n").expect("writable");
    world.run(&["uninstall", "--purge", "--yes"], b"").exits(1);
    assert_eq!(fs::read(&theirs).expect("it is there"), b"mine\n");
    assert!(world.store().join("sessions.db").exists(), "all is there");
    fs::remove_file(&theirs).expect("ours");
    let run = world.run(&["uninstall", "--purge", "--yes"], b"").exits(0);
    assert!(run.stdout.contains("removed "), "{run}");
    assert!(!world.store().exists(), "it went");
    assert_eq!(world.read("a"), b"1\n", "files are not touched");
    world.run(&["uninstall", "--purge", "--yes"], b"").exits(0);
}

/// A purge takes the hook out of the settings of every project.
#[test]
fn purge_takes_the_hook_from_every_project() {
    let world = world();
    let install = |directory: &std::path::Path, agent: &str| {
        let mut command = world.command(&["install", agent, "--project"]);
        let run = testing::binary::finish(command.current_dir(directory), b"");
        run.exits(0);
    };
    // One in which something was recorded, and one in which nothing ever was.
    let silent = world.path("silent");
    fs::create_dir_all(silent.join(".git")).expect("writable");
    fs::create_dir_all(silent.join(".claude")).expect("writable");
    let theirs = silent.join(".claude/settings.json");
    fs::write(&theirs, "{\n  \"model\": \"opus\"\n}\n").expect("writable");
    install(&world.workspace(), "gemini-cli");
    install(&silent, "claude-code");
    assert!(
        fs::read_to_string(&theirs)
            .expect("ours")
            .contains("ckpt-hook")
    );
    let told = world
        .run(&["uninstall", "--purge", "--dry-run"], b"")
        .exits(0);
    assert!(
        told.stdout.contains("silent/.claude/settings.json"),
        "{told}"
    );
    let elsewhere = world.path("elsewhere");
    fs::create_dir(&elsewhere).expect("writable");
    let mut command = world.command(&["uninstall", "--purge", "--yes"]);
    let run = testing::binary::finish(command.current_dir(elsewhere), b"").exits(0);
    assert!(run.stdout.contains("silent/.claude/settings.json"), "{run}");
    assert_eq!(
        fs::read_to_string(&theirs).expect("ours"),
        "{\n  \"model\": \"opus\"\n}\n",
        "what was there is as it was"
    );
    assert!(
        !world.workspace().join(".gemini").exists(),
        "what was made for it is gone"
    );
    assert!(!world.store().exists(), "and so is the store");
}

/// What killed repairs, damage and migrations leave beside the session store.
const LEFT: [&str; 7] = [
    "sessions.db.damaged-1",
    "sessions.db.damaged-1-wal",
    "sessions.db.damaged-2",
    "sessions.db.older-1",
    "sessions.db.repaired",
    "sessions.db.repaired-journal",
    "sessions.db.version-3",
];

fn leave(world: &Sandbox) {
    for name in LEFT {
        fs::write(world.store().join(name), "prompt: use the password\n").expect("ours");
    }
}

/// Returns the files below a directory in which some bytes stand as they are.
fn files_with(directory: &std::path::Path, bytes: &[u8]) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("ours") {
        let path = entry.expect("ours").path();
        if path.is_dir() {
            found.extend(files_with(&path, bytes));
        } else if fs::read(&path).is_ok_and(|all| all.windows(bytes.len()).any(|at| at == bytes)) {
            found.push(path);
        }
    }
    found
}

/// What repairs and damage left is named before it goes and goes with all.
#[test]
fn purge_names_leftovers_before_they_go() {
    let world = world();
    leave(&world);
    let plan = world.run(&["forget", "--all", "--dry-run"], b"").exits(0);
    let report = world.json(&["forget", "--all", "--dry-run"]);
    for name in LEFT {
        let path = world.store().join(name).display().to_string();
        assert!(plan.stdout.contains(&path), "{name} is named: {plan}");
        let copies = report["copies"].as_array().expect("a list");
        assert!(copies.iter().any(|copy| *copy == *path), "{name}: {report}");
        assert!(world.store().join(name).exists(), "{name} is still there");
    }
    world.run(&["forget", "--all", "--yes"], b"").exits(0);
    assert_eq!(
        files_with(&world.store(), b"password"),
        Vec::<std::path::PathBuf>::new(),
        "no byte of a prompt is left"
    );
    for name in LEFT {
        assert!(!world.store().join(name).exists(), "{name} went");
    }
}

#[test]
fn a_purge_takes_what_repairs_and_damage_left() {
    let world = world();
    leave(&world);
    world.run(&["uninstall", "--purge", "--yes"], b"").exits(0);
    assert!(!world.store().exists(), "not a byte is left");
}

/// A `forget` that is at work is not called interrupted.
///
/// Invariant `truth/forget-interrupted`.
#[test]
fn forget_at_work_is_not_called_interrupted() {
    let world = world();
    fs::write(world.store().join("forgetting"), "").expect("ours");
    let lock = fs::File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(world.store().join("gc"))
        .expect("ours");
    lock.lock().expect("nobody has it");
    let run = world.run(&["log"], b"").exits(0);
    assert!(!run.stderr.contains("interrupted"), "{run}");
    drop(lock);
    let run = world.run(&["log"], b"").exits(0);
    assert!(run.stderr.contains("a `forget` was interrupted"), "{run}");
}

/// What goes while a command reads it is no damage.
#[test]
fn what_goes_meanwhile_is_no_damage() {
    let world = world();
    let lock = world.store().join("gc");
    fs::write(&lock, "").expect("ours");
    let packs = testing::tree::read(&world.store());
    for pack in packs
        .keys()
        .filter(|path| path.extension().is_some_and(|ending| ending == "pack"))
    {
        fs::remove_file(world.store().join(pack)).expect("ours");
    }
    let run = world.run(&["diff", "m1"], b"");
    assert!(run.stderr.contains("doctor"), "{run}");
    let is_done = AtomicBool::new(false);
    let run = std::thread::scope(|scope| {
        scope.spawn(|| {
            // As each `gc` and `forget` does at its end.
            let file = fs::File::options().write(true).open(&lock).expect("ours");
            let mut time = std::time::UNIX_EPOCH;
            while !is_done.load(Ordering::Relaxed) {
                time += std::time::Duration::from_secs(1);
                file.set_modified(time).expect("ours");
            }
        });
        // On a busy machine the other thread may rest while the command runs.
        let mut runs = (0..100).map(|_| world.run(&["diff", "m1"], b""));
        let run = runs.find(|run| run.stderr.contains("give the command again"));
        is_done.store(true, Ordering::Relaxed);
        run
    });
    assert!(run.is_some(), "it came meanwhile, and is called damage");
}
