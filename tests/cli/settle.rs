//! After a first snapshot beside a repository, a process in the background ends what the store shares with that.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use testing::binary::{Sandbox, finish};
use testing::mount::Mount;
use testing::rows;
use testing::skip::has_strace;
use testing::strace;

/// The inodes of all files below a directory.
fn inodes(directory: &Path, found: &mut Vec<u64>) {
    for entry in directory.read_dir().into_iter().flatten().flatten() {
        let path = entry.path();
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => inodes(&path, found),
            Ok(metadata) => found.push(metadata.ino()),
            Err(_) => {}
        }
    }
}

fn shares_inodes(world: &Sandbox) -> bool {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    inodes(&world.store(), &mut ours);
    inodes(&world.workspace(), &mut theirs);
    ours.iter().any(|inode| theirs.contains(inode))
}

fn packs(world: &Sandbox) -> Vec<PathBuf> {
    let directory = world.workspace().join(".git/objects/pack");
    let entries = directory.read_dir().expect("git made it");
    entries
        .map(|entry| entry.expect("readable").path())
        .collect()
}

/// Returns a workspace in a repository with a pack that a first snapshot borrows.
fn with_repository() -> Sandbox {
    let world = Sandbox::new();
    for number in 0..60 {
        world.write(
            &format!("d{}/f{number}", number % 5),
            format!("number {number}\n"),
        );
    }
    world.run_git(&["init", "-q", "-b", "main"]);
    world.run_git(&["add", "-A"]);
    world.run_git(&["commit", "-qm", "one"]);
    world.run_git(&["repack", "-adq"]);
    let index = std::fs::File::options()
        .append(true)
        .open(world.workspace().join(".git/index"))
        .expect("git made it");
    let written = index.metadata().and_then(|found| found.modified());
    let later = written.expect("it has a time") + Duration::from_secs(10);
    index.set_modified(later).expect("it is ours");
    world
}

/// What a hook borrows of the repository is given back in the background.
#[test]
fn borrowed_objects_are_settled_in_the_background() {
    let world = with_repository();
    world
        .run(&["message", "--session", "s", "--message", "m1"], b"")
        .ends_silently();
    let patience = Instant::now() + Duration::from_secs(60);
    while shares_inodes(&world) {
        assert!(Instant::now() < patience, "nobody gave it back");
        std::thread::sleep(Duration::from_millis(5));
    }
    world
        .run(&["step-start", "--session", "s"], b"")
        .ends_silently();
    for pack in packs(&world) {
        std::fs::remove_file(pack).expect("it is ours");
    }
    for number in 0..60 {
        world.write(&format!("d{}/f{number}", number % 5), "");
    }
    world
        .run(&["step-finish", "--session", "s"], b"")
        .ends_silently();
    world.run(&["revert", "--message", "m1"], b"").exits(0);
    for number in 0..60 {
        let file = format!("d{}/f{number}", number % 5);
        assert_eq!(
            world.read(&file),
            format!("number {number}\n").as_bytes(),
            "{file}"
        );
    }
}

/// Sets the only pack of the store aside, as one that was borrowed and could not be read. Returns its new name, and that of its index.
fn set_aside(world: &Sandbox) -> [PathBuf; 2] {
    let folder = world
        .store()
        .join("snapshots")
        .read_dir()
        .expect("there")
        .next();
    let folder = folder.expect("a workspace").expect("readable").path();
    let packs = folder.join("repository.git/objects/pack");
    let all = packs
        .read_dir()
        .expect("there")
        .map(|entry| entry.expect("readable").path());
    let of = |ending: &str, all: &[PathBuf]| -> PathBuf {
        let mut found = all
            .iter()
            .filter(|path| path.extension().is_some_and(|it| it == ending));
        let path = found.next().expect("`gc` left one").clone();
        assert_eq!(found.next(), None, "and no more");
        path
    };
    let all: Vec<PathBuf> = all.collect();
    ["idx", "pack"].map(|ending| {
        let to = packs.join(format!("borrowed-unread-0123.{ending}"));
        std::fs::rename(of(ending, &all), &to).expect("ours");
        to
    })
}

/// Runs `gc` two days later.
fn gc_later(world: &Sandbox) -> testing::binary::Run {
    let mut command = world.command(&["gc"]);
    command.env("CKPT_HOOK_TEST_FILE_CLOCK", "172800");
    testing::binary::finish(&mut command, b"")
}

fn with_one_pack() -> Sandbox {
    let world = Sandbox::new();
    world.write("a", "0\n");
    world.play("m1", "make it work", |world| world.write("a", "1\n"));
    world.run(&["gc"], b"").exits(0);
    world
}

/// Gc gives a borrowed pack that could not be read back after a day.
#[test]
fn unreadable_borrowed_pack_goes_after_a_day() {
    let world = with_one_pack();
    let unread = set_aside(&world);
    // The user's repository has a name of its own for the file.
    let theirs = world.path("theirs.pack");
    std::fs::hard_link(&unread[1], &theirs).expect("one file system");
    world.run(&["gc"], b"").exits(0);
    assert!(unread.iter().all(|path| path.exists()), "not at once");
    gc_later(&world).exits(0);
    assert!(!unread.iter().any(|path| path.exists()), "after a day");
    assert!(theirs.exists(), "their file is theirs");
    world.run(&["doctor", "--all"], b"").exits(0);
    world.run(&["revert", "m1"], b"").exits(0);
    assert_eq!(
        world.read("a"),
        b"0\n",
        "what is needed of it was copied before"
    );
}

/// Gc keeps a borrowed pack that could not be read while something is only there.
#[test]
fn unreadable_borrowed_pack_stays_while_needed() {
    let world = with_one_pack();
    let unread = set_aside(&world);
    let bytes = std::fs::read(&unread[1]).expect("ours");
    std::fs::remove_file(&unread[1]).expect("ours");
    std::fs::write(&unread[1], &bytes[..40]).expect("ours");
    let run = gc_later(&world).exits(3);
    assert!(unread.iter().all(|path| path.exists()), "{run}");
    std::fs::write(&unread[1], bytes).expect("ours");
    gc_later(&world).exits(0);
    assert!(
        !unread.iter().any(|path| path.exists()),
        "it could be read again"
    );
    world.run(&["revert", "m1"], b"").exits(0);
    assert_eq!(world.read("a"), b"0\n");
}

/// Returns how a hook and what goes on after it changed its priority, and which files they removed.
fn traced_to_the_end(world: &Sandbox, event: &serde_json::Value) -> String {
    let trace = world.path("trace");
    let options = ["-e", "trace=setpriority,unlink,unlinkat", "-o"];
    let options = [&options[..], &[trace.to_str().expect("a plain path")]].concat();
    finish(
        &mut strace::command(world, &options, &["event"]),
        event.to_string().as_bytes(),
    )
    .exits(0);
    std::fs::read_to_string(trace).expect("the trace")
}

/// What goes on after a session has a low priority.
#[test]
fn work_after_a_session_has_low_priority() {
    if !has_strace() {
        return;
    }
    let world = Sandbox::new();
    world.write("a", "0\n");
    world.play("m1", "make it work", |world| world.write("a", "1\n"));
    let event = json!({"event": "session_end", "session_id": "s", "cwd": world.workspace()});
    let calls = traced_to_the_end(&world, &event);
    assert!(
        calls.contains("setpriority(PRIO_PROCESS, 0, 10)"),
        "{calls}"
    );
}

/// What the next tool waits for has no low priority.
#[test]
fn work_before_the_next_tool_has_normal_priority() {
    if !has_strace() {
        return;
    }
    let world = with_repository();
    let event = json!({"event": "user_message", "session_id": "s", "message_id": "m1", "cwd": world.workspace()});
    let calls = traced_to_the_end(&world, &event);
    let given_back = calls.rfind("borrowed-pack").expect("it is given back");
    let gives_way = calls.find("setpriority").expect("it gives way");
    assert!(
        given_back < gives_way,
        "once nothing is borrowed any more: {calls}"
    );
}

/// Gc prunes by size where it can measure and leaves a workspace that it cannot.
#[test]
fn gc_leaves_an_unmeasurable_workspace() {
    let world = Sandbox::new();
    let other = world.path("other");
    std::fs::create_dir(&other).expect("ours");
    for (session, directory) in [("cut", world.workspace()), ("sound", other.clone())] {
        for event in [
            "user_message",
            "step_start",
            "step_finish",
            "turn_end",
            "session_end",
        ] {
            if event == "step_finish" {
                std::fs::write(directory.join("a"), session).expect("ours");
            }
            world
                .event(json!({"event": event, "session_id": session, "cwd": directory}))
                .ends_silently();
        }
        // Each workspace has a folder of its own; the second is not there yet.
        for folder in world
            .store()
            .join("snapshots")
            .read_dir()
            .expect("made")
            .flatten()
        {
            let packs = folder.path().join("repository.git/objects/pack");
            let files = packs.read_dir().expect("made").flatten();
            let index = files.map(|file| file.path()).find(|path| {
                session == "cut" && path.extension().is_some_and(|ending| ending == "idx")
            });
            if let Some(index) = index {
                std::fs::remove_file(&index).expect("ours");
                std::fs::write(index, b"cut").expect("ours");
            }
        }
    }
    let database = world.store().join("sessions.db");
    rows::age(&database, 3 * 24 * 3600 * 1000);
    world.configure("max_store_size = 1000\n");
    for arguments in [&["gc", "--dry-run", "--json"][..], &["gc", "--json"]] {
        let run = world.run(arguments, b"").exits(3);
        let report: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
        let workspaces = report["workspaces"].as_array().expect("a list");
        for workspace in workspaces {
            let is_sound = workspace["workspace"].as_str() == other.to_str();
            assert_eq!(workspace["skipped"].is_null(), is_sound, "{report}");
            assert_eq!(workspace["pruned"].as_u64() > Some(0), is_sound, "{report}");
        }
        assert_eq!(workspaces.len(), 2, "{report}");
        let sessions = report["sessions"].as_array().expect("a list");
        assert_eq!(
            sessions.len(),
            1,
            "what is not measured is not judged: {report}"
        );
        assert_eq!(sessions[0]["reason"], "size", "{report}");
    }
    let pruned = "SELECT DISTINCT workspaces.path FROM snapshots JOIN workspaces ON workspaces.id = workspace_id
                   WHERE pruned_at IS NOT NULL";
    assert_eq!(
        rows::texts(&database, pruned),
        [other.to_str().expect("text")]
    );
}

/// One message that changes a file, recorded in a store elsewhere.
fn turn_in(world: &Sandbox, store: &str, message: &str, text: &str) {
    let send = |event: &str| {
        let event = json!({"event": event, "session_id": "s", "message_id": message,
            "cwd": world.workspace().to_string_lossy()});
        let arguments = ["--store", store, "event"];
        world
            .run(&arguments, event.to_string().as_bytes())
            .ends_silently();
    };
    send("user_message");
    send("step_start");
    world.write("d0/f0", text);
    send("step_finish");
}

/// A store that moves to another place or disk goes on with all that it held.
#[test]
fn moved_store_goes_on() {
    let world = with_repository();
    let store = world.store().to_string_lossy().into_owned();
    turn_in(&world, &store, "m1", "1\n");
    let moved = world.path("moved").to_string_lossy().into_owned();
    std::fs::rename(&store, &moved).expect("ours");
    turn_in(&world, &moved, "m2", "2\n");
    let disk = world.path("disk");
    std::fs::create_dir(&disk).expect("ours");
    let Some(mount) = Mount::new(&disk, "size=100m,mode=700") else {
        return;
    };
    let copied = Command::new("cp")
        .arg("-a")
        .args([Path::new(&moved), &disk.join("store")])
        .status();
    assert!(copied.is_ok_and(|status| status.success()));
    let there = disk.join("store").to_string_lossy().into_owned();
    turn_in(&world, &there, "m3", "3\n");
    let run = |arguments: &[&str]| {
        let arguments = [&["--store", &there], arguments].concat();
        world.run(&arguments, b"").exits(0)
    };
    run(&["revert", "m1"]);
    assert_eq!(world.read("d0/f0"), b"number 0\n");
    run(&["undo"]);
    assert_eq!(world.read("d0/f0"), b"3\n");
    run(&["gc"]);
    let doctor = run(&["doctor", "--all"]);
    assert!(!doctor.stdout.contains("lost"), "{doctor}");
    assert!(
        !world.store().join("sessions.db").exists(),
        "nothing begins a new history at the former place"
    );
    drop(mount);
}
