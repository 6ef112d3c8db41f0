//! `doctor --repair` where the session store is gone: what the repositories tell of the snapshots is known again, and no more.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;
use testing::binary::Sandbox;

/// Two messages, with what a git tree cannot say by itself, and a file that no snapshot holds.
pub fn played() -> Sandbox {
    let world = Sandbox::new();
    world.configure("max_file_size = \"10 KB\"\n");
    world.write("large", vec![b'x'; 20_000]);
    world.write("private", "0\n");
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(world.workspace().join("private"), private).expect("ours");
    fs::create_dir(world.workspace().join("empty")).expect("writable");
    world.write("dir/a", "0\n");
    world.play("m1", "first-prompt", |world| {
        world.write("dir/a", "1\n");
        world.write("made", "1\n");
    });
    world.play("m2", "second-prompt", |world| {
        world.write("private", "2\n");
        world.remove("made");
    });
    world
}

pub fn lose_the_session_store(world: &Sandbox) {
    for entry in fs::read_dir(world.store()).expect("ours") {
        let path = entry.expect("ours").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        if name.starts_with("sessions.db") {
            fs::remove_file(&path).expect("ours");
        }
    }
}

fn snapshots(world: &Sandbox) -> Vec<Value> {
    let report = world.json(&["log", "--snapshots"]);
    report["snapshots"].as_array().expect("a list").clone()
}

fn ids(world: &Sandbox) -> Vec<String> {
    let all = snapshots(world).into_iter();
    all.map(|one| one["snapshot"].as_str().expect("a text").to_owned())
        .collect()
}

fn repair(world: &Sandbox) {
    let told = world.run(&["doctor"], b"").exits(0);
    assert!(
        told.stdout.contains("`ckpt-hook doctor --repair` recovers"),
        "it says what to do: {told}"
    );
    let run = world.run(&["doctor", "--repair"], b"").exits(0);
    assert!(run.stdout.contains(": recovered "), "{run}");
    assert!(
        run.stdout
            .contains("sessions and prompts, and who made each change, are lost"),
        "what is not known is said: {run}"
    );
    let run = world.run(&["doctor"], b"").exits(0);
    assert!(
        !run.stdout.contains("doctor --repair"),
        "all is done: {run}"
    );
}

/// Every snapshot can be gone back to, and the tree is the same byte for byte.
fn check_every_snapshot(world: &Sandbox, known: &[(String, testing::tree::Tree)]) {
    for (id, tree) in known {
        // Whose the changes are is not known any more.
        let restore = ["restore", id, "--on-conflict", "overwrite"];
        world.run(&restore, b"");
        assert_eq!(world.tree(), *tree, "the snapshot `{id}`");
    }
}

/// Returns the states before the first message, between them and now, each with its snapshot's id.
fn states(world: &Sandbox) -> Vec<(String, testing::tree::Tree)> {
    let mut states = Vec::new();
    for id in ids(world) {
        world.run(&["restore", &id], b"").exits(0);
        states.push((id, world.tree()));
    }
    states
}

/// Snapshots are known again where the session store is gone.
///
/// Invariant `truth/rows-recovered`: If the session store is gone, its snapshots can be
/// recovered, and nothing that only it knew is invented.
#[test]
fn snapshots_are_known_without_their_store() {
    let world = played();
    let before = snapshots(&world);
    assert!(before.len() >= 3, "{before:?}");
    let now = world.tree();
    lose_the_session_store(&world);
    repair(&world);
    let after = snapshots(&world);
    let trees =
        |all: &[Value]| -> Vec<Value> { all.iter().map(|one| one["snapshot"].clone()).collect() };
    assert_eq!(trees(&after), trees(&before), "all of them, in their order");
    let newest = after[0]["snapshot"].as_str().expect("a text").to_owned();
    let first = after.last().expect("one")["snapshot"]
        .as_str()
        .expect("a text")
        .to_owned();
    let log = world.run(&["log"], b"").exits(0);
    assert!(!log.stdout.contains("prompt"), "nothing is invented: {log}");
    let cat = world.run(&["cat", &format!("{first}:dir/a")], b"").exits(0);
    assert_eq!(cat.stdout, "0\n");
    world.run(&["restore", &first], b"").exits(3);
    assert_ne!(world.read("dir/a"), b"0\n", "it is perhaps the user's");
    let restore = ["restore", &first, "--on-conflict", "overwrite"];
    world.run(&restore, b"").exits(0);
    assert_eq!(world.read("dir/a"), b"0\n");
    assert_eq!(world.read("private"), b"0\n");
    let mode = fs::metadata(world.workspace().join("private")).expect("there");
    assert_eq!(
        mode.permissions().mode() & 0o777,
        0o600,
        "nobody else may read it"
    );
    assert!(world.workspace().join("empty").is_dir());
    assert_eq!(
        world.read("large").len(),
        20_000,
        "what was not captured stays"
    );
    let diff = world.run(&["diff", &first, &newest], b"").exits(0);
    assert!(diff.stdout.contains("dir/a"), "{diff}");
    world.run(&["restore", &newest], b"").exits(0);
    assert_eq!(world.tree(), now, "byte for byte");
    world.remove("dir/a");
    world.run(&["recover", "dir/a"], b"").exits(0);
    assert_eq!(world.read("dir/a"), b"1\n");
    world.play("m3", "third-prompt", |world| world.write("dir/a", "3\n"));
    world.run(&["revert", "m3"], b"").exits(0);
    assert_eq!(world.read("dir/a"), b"1\n", "history goes on");
}

/// What gc packed anew is known again as well and what came since.
///
/// Invariant `truth/rows-recovered`.
#[test]
fn repacked_and_later_snapshots_are_known_again() {
    let world = played();
    world.run(&["gc"], b"").exits(0);
    world.play("m3", "third-prompt", |world| world.write("dir/b", "3\n"));
    let known = states(&world);
    world.run(&["gc"], b"").exits(0);
    world.play("m4", "fourth-prompt", |world| world.write("dir/c", "4\n"));
    lose_the_session_store(&world);
    repair(&world);
    let trees = ids(&world);
    for (id, _) in &known {
        assert!(trees.contains(id), "{id} is among {trees:?}");
    }
    check_every_snapshot(&world, &known);
    world.run(&["doctor", "--all"], b"").exits(0);
}

/// A history that goes on is not mixed with one that is known again.
///
/// Invariant `truth/rows-recovered`.
#[test]
fn recovered_history_is_not_mixed() {
    let world = played();
    let former = ids(&world);
    lose_the_session_store(&world);
    world.play("m3", "third-prompt", |world| world.write("dir/a", "3\n"));
    let run = world.run(&["doctor", "--repair"], b"").exits(0);
    assert!(run.stdout.contains("`ckpt-hook workspace adopt "), "{run}");
    let now = ids(&world);
    assert!(
        !now.iter().any(|id| *id == former[former.len() - 1]),
        "{now:?}"
    );
    world.run(&["workspace", "adopt"], b"").exits(0);
    assert_eq!(ids(&world), former, "it is there where it is asked for");
}

/// Invariant `truth/rows-recovered`.
#[test]
fn what_was_forgotten_is_not_known_again() {
    let world = played();
    world
        .run(&["forget", "--path", "made", "--yes"], b"")
        .exits(0);
    lose_the_session_store(&world);
    repair(&world);
    for id in ids(&world) {
        world.run(&["cat", &format!("{id}:made")], b"").exits(4);
    }
    world.run(&["forget", "--workspace", "--yes"], b"").exits(0);
    lose_the_session_store(&world);
    let run = world.run(&["doctor", "--repair"], b"").exits(0);
    assert!(!run.stdout.contains("were recovered"), "{run}");
}

fn folder(world: &Sandbox) -> PathBuf {
    let mut folders = fs::read_dir(world.store().join("snapshots")).expect("there");
    folders
        .next()
        .expect("a workspace")
        .expect("readable")
        .path()
}

fn grow_old(folder: &std::path::Path, days: u64) {
    let opened = fs::File::open(folder).expect("ours");
    let now = opened.metadata().expect("ours").modified().expect("known");
    let then = now - std::time::Duration::from_secs(days * 86_400);
    opened.set_modified(then).expect("ours");
}

/// Gc leaves what can be known again for as long as what is unused.
///
/// Invariant `truth/rows-recovered`.
#[test]
fn gc_spares_what_can_be_recovered() {
    let world = played();
    lose_the_session_store(&world);
    let folder = folder(&world);
    grow_old(&folder, 20);
    world.run(&["gc"], b"").exits(0);
    assert!(folder.exists(), "`keep` is 30 days");
    grow_old(&folder, 40);
    world.run(&["gc"], b"").exits(0);
    assert!(!folder.exists(), "no space is lost for good");
}

/// A workspace that was being removed is not taken up.
#[test]
fn half_removed_workspace_is_not_taken_up() {
    let world = played();
    lose_the_session_store(&world);
    let folder = folder(&world);
    fs::write(folder.join("going"), "").expect("ours");
    let run = world.run(&["doctor", "--repair"], b"").exits(0);
    assert!(!run.stdout.contains("were recovered"), "{run}");
    grow_old(&folder, 2);
    world.run(&["gc"], b"").exits(0);
    assert!(!folder.exists(), "the removal is ended");
}

/// Snapshots that are not whole are left out and counted.
///
/// Invariant `truth/rows-recovered`.
#[test]
fn incomplete_snapshots_are_left_out_and_counted() {
    let world = played();
    let all = ids(&world).len();
    let packs = folder(&world).join("repository.git/objects/pack");
    // The last pack holds what the last step wrote.
    let mut found: Vec<PathBuf> = fs::read_dir(&packs)
        .expect("there")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "pack"))
        .collect();
    found.sort_by_key(|path| {
        fs::metadata(path)
            .expect("there")
            .modified()
            .expect("known")
    });
    let text = |path: &PathBuf| fs::read(path).expect("ours").len();
    let first = found
        .iter()
        .max_by_key(|path| text(path))
        .expect("one")
        .clone();
    lose_the_session_store(&world);
    for ending in ["pack", "idx"] {
        fs::remove_file(first.with_extension(ending)).expect("ours");
    }
    let run = world.run(&["doctor", "--repair"], b"");
    assert!(run.stdout.contains("not whole any more"), "{run}");
    assert!(ids(&world).len() < all, "they are left out: {run}");
}

/// Snapshots are known again where nothing of the session store can be read.
#[test]
fn snapshots_survive_an_unreadable_store() {
    let world = played();
    let before = ids(&world);
    lose_the_session_store(&world);
    fs::write(
        world.store().join("sessions.db"),
        "no database".repeat(1000),
    )
    .expect("ours");
    let run = world.run(&["doctor", "--repair"], b"").exits(0);
    assert!(run.stdout.contains(": recovered "), "{run}");
    assert_eq!(ids(&world), before);
    let aside = fs::read(world.store().join("sessions.db.damaged-1"));
    let aside = aside.expect("nothing is deleted");
    assert_eq!(aside, "no database".repeat(1000).as_bytes());
    world.run(&["doctor", "--repair"], b"").exits(0);
    let log = world.run(&["log"], b"").exits(0);
    assert!(
        log.stdout.contains("sessions.db.damaged-1"),
        "its prompts may still be read some day: {log}"
    );
    assert_eq!(ids(&world), before, "and nothing is worse than before");
}

/// Without a session store everything is forgotten and purged all the same.
#[test]
fn everything_can_be_forgotten_without_a_store() {
    let world = played();
    lose_the_session_store(&world);
    world.run(&["forget", "--all", "--yes"], b"").exits(0);
    let folders = fs::read_dir(world.store().join("snapshots")).expect("there");
    assert_eq!(folders.count(), 0, "no snapshot is left");
    let world = played();
    lose_the_session_store(&world);
    world.run(&["uninstall", "--purge", "--yes"], b"").exits(0);
    assert!(!world.store().exists(), "not a byte is left");
}

/// A session store that is gone or empty is told of.
///
/// Invariant `truth/rows-of-others`: A session store that is gone, or another program's, is
/// reported, and the latter is left as it is.
#[test]
fn missing_or_empty_session_store_is_reported() {
    for leave in [None, Some("")] {
        let world = played();
        lose_the_session_store(&world);
        if let Some(bytes) = leave {
            fs::write(world.store().join("sessions.db"), bytes).expect("ours");
        }
        world
            .event(serde_json::json!({"event": "user_message", "session_id": "s2"}))
            .ends_silently();
        let status = world.run(&["status"], b"").exits(0);
        assert!(
            status.stdout.contains("the session store was gone"),
            "{status}"
        );
        let run = world.run(&["doctor"], b"").exits(0);
        assert!(run.stdout.contains("`ckpt-hook doctor --repair`"), "{run}");
    }
    let fresh = Sandbox::new();
    fresh.write("a", "0\n");
    fresh.play("m1", "a prompt", |world| world.write("a", "1\n"));
    let status = fresh.run(&["status"], b"").exits(0);
    assert!(
        !status.stdout.contains("gone"),
        "a new store is no loss: {status}"
    );
}

/// A history whose session store is gone is not called empty and nothing of it counts as
/// forgotten.
///
/// Invariant `truth/rows-of-others`.
#[test]
fn lost_history_is_not_called_empty() {
    let repair = "`ckpt-hook doctor --repair` builds a new one from them";
    for leave in [None, Some("")] {
        let world = played();
        lose_the_session_store(&world);
        if let Some(bytes) = leave {
            fs::write(world.store().join("sessions.db"), bytes).expect("ours");
        }
        let lists = [
            &["log"][..],
            &["log", "--graph"],
            &["log", "--snapshots"],
            &["log", "--operations"],
            &["sessions"],
            &["status"],
        ];
        for command in lists {
            let run = world.run(command, b"").exits(0);
            assert!(run.stdout.contains(repair), "{run}");
            assert!(!run.stdout.contains("install"), "{run}");
            let document = world.json(command);
            assert_eq!(
                document["unknown_workspaces"], 1,
                "programs are told as well: {command:?}"
            );
        }
        for what in ["--graph", "--snapshots"] {
            let command = ["log", what, "--format", "jsonl"];
            let lines = world.run(&command, b"").exits(0);
            assert!(lines.stderr.contains(repair), "{lines}");
        }
        let refused = [
            &["diff"][..],
            &["recover"],
            &["revert", "--message", "m1"],
            &["blame", "made"],
            &["forget", "--path", "made", "--dry-run"],
            &["forget", "--path", "made", "--yes"],
            &["forget", "--session", "s1", "--yes"],
            &["forget", "--workspace", "--yes"],
        ];
        let refuses = |command: &[&str]| {
            let run = world.run(command, b"").exits(4);
            assert!(
                run.stderr.contains("their session store is gone") && run.stderr.contains(repair),
                "{run}"
            );
            assert!(!run.stderr.contains("nothing"), "{run}");
        };
        refused.into_iter().for_each(refuses);
        world.play("m3", "third-prompt", |world| world.write("dir/a", "3\n"));
        refuses(&["forget", "--path", "made", "--yes"]);
        world.run(&["doctor", "--repair"], b"").exits(0);
        world
            .run(&["forget", "--path", "dir/a", "--yes"], b"")
            .exits(0);
    }
}

/// A database of another program is neither adopted nor changed.
///
/// Invariant `truth/rows-of-others`.
#[test]
fn another_programs_database_is_left_alone() {
    for made in ["PRAGMA application_id = 7", "CREATE TABLE theirs (x)"] {
        let world = played();
        lose_the_session_store(&world);
        let database = world.store().join("sessions.db");
        testing::rows::execute(&database, made);
        let theirs = fs::read(&database).expect("there");
        world
            .event(serde_json::json!({"event": "user_message", "session_id": "s2"}))
            .ends_silently();
        let log = world.run(&["log"], b"").exits(1);
        assert!(log.stderr.contains("is not a session store"), "{log}");
        assert!(
            log.stderr.contains("move it out of the store"),
            "what to do: {log}"
        );
        world.run(&["doctor", "--repair"], b"").exits(1);
        let now = fs::read(&database).expect("there");
        // SQLite marks in the header that there is a log beside the file.
        assert_eq!(now[100..], theirs[100..], "{made}");
        for ending in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(world.store().join(format!("sessions.db{ending}")));
        }
        repair(&world);
    }
}

/// An older session store that was put back is told of before anything else happens.
///
/// Invariant `truth/lost-rows`.
#[test]
fn older_store_put_back_is_reported_first() {
    for keeps_notes in [true, false] {
        let world = Sandbox::new();
        world.write("dir/a", "0\n");
        for number in ["1", "2"] {
            world.play(&format!("m{number}"), "please", |world| {
                world.write("dir/a", number);
            });
        }
        let database = world.store().join("sessions.db");
        testing::rows::execute(&database, "PRAGMA wal_checkpoint(TRUNCATE)");
        let older = fs::read(&database).expect("ours");
        let all_is_well = "✓";
        let status = world.run(&["status"], b"").exits(0);
        assert!(status.stdout.contains(all_is_well), "{status}");
        world.play("m3", "third-prompt", |world| world.write("dir/a", "3\n"));
        super::pages::put_back(&world, &older);
        if !keeps_notes {
            fs::write(folder(&world).join("lock"), "").expect("ours");
        }
        let status = world.run(&["status"], b"").exits(0);
        let lost = "rows of the session store were lost";
        assert!(status.stdout.contains(lost), "{status}");
        assert!(!status.stdout.contains(all_is_well), "{status}");
        let doctor = world.run(&["doctor"], b"").exits(0);
        assert!(doctor.stdout.contains(lost), "{doctor}");
        world.run(&["revert", "m2"], b"").exits(3);
        let doctor = world.run(&["doctor"], b"").exits(0);
        assert!(doctor.stdout.contains(lost), "{doctor}");
    }
}
