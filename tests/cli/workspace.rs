//! `workspace`: the histories of directories are listed, offered and taken over.

use serde_json::json;
use testing::binary::{Run, Sandbox, finish};

/// A workspace whose directory was replaced by another one with the same files.
pub fn replaced() -> Sandbox {
    let world = Sandbox::new();
    world.write("a", "1\n");
    world.play("m1", "first", |world| world.write("a", "2\n"));
    let (root, old) = (world.workspace(), world.path("old"));
    std::fs::rename(&root, &old).expect("it is free");
    std::fs::create_dir(&root).expect("it is free");
    world.write("a", "2\n");
    std::fs::remove_file(old.join("a")).expect("it is there");
    std::fs::remove_dir(&old).expect("it is empty");
    world
}

/// A history of another directory is offered and taken over by the command that is named.
#[test]
fn another_directorys_history_is_offered_and_adopted() {
    let world = replaced();
    let status = world.run(&["status"], b"").exits(0);
    assert!(
        status.stdout.contains("`ckpt-hook workspace adopt`"),
        "{status}"
    );
    let refused = world.run(&["revert", "--message", "m1"], b"").exits(4);
    assert!(
        refused.stderr.contains("`ckpt-hook workspace adopt`"),
        "{refused}"
    );
    let plan = world.json(&["workspace", "adopt", "--dry-run"]);
    assert_eq!(
        (&plan["dry_run"], &plan["adopted"]["state"]),
        (&true.into(), &"replaced".into())
    );
    let listed = world.json(&["workspace", "list"]);
    assert_eq!(listed["workspaces"][0]["messages"], 1, "{listed}");
    let id = listed["workspaces"][0]["id"].as_str().expect("an id");
    let exactly = ["workspace", "adopt", "--dry-run", "--exact"];
    for (which, code) in [(id, 0), (&id[..8], 4)] {
        world
            .run(&[&exactly[..], &[which]].concat(), b"")
            .exits(code);
    }
    let run = world.run(&["workspace", "adopt"], b"").exits(0);
    assert!(run.stdout.contains("goes on with the history of"), "{run}");
    world.run(&["revert", "--message", "m1"], b"").exits(0);
    assert_eq!(world.read("a"), b"1\n", "it is in reach");
    world.run(&["workspace", "adopt"], b"").exits(4);
}

/// Help of adopt has examples and a list of nothing makes no store.
#[test]
fn adopt_has_examples_and_makes_no_store() {
    let world = Sandbox::new();
    let help = world.run(&["workspace", "adopt", "--help"], b"").exits(0);
    assert!(help.stdout.contains("Examples:"), "{help}");
    let run = world.run(&["workspace", "list"], b"").exits(0);
    assert_eq!(run.stdout, "Nothing has been recorded yet.\n");
    assert!(!world.store().exists(), "it only asks");
}

/// A list finds a directory that was moved before anything is recorded there.
#[test]
fn list_finds_an_unrecorded_moved_directory() {
    let world = Sandbox::new();
    world.write("a", "1\n");
    world.play("m1", "first", |world| world.write("a", "2\n"));
    let listed = |options: &[&str]| {
        let listed = world.json(&[options, &["workspace", "list"]].concat());
        let one = &listed["workspaces"][0];
        let text = |name: &str| one[name].as_str().expect("a text").to_owned();
        (text("path"), text("state"))
    };
    let root = world.workspace();
    let beside = root.with_file_name("renamed");
    std::fs::rename(&root, &beside).expect("it is free");
    std::fs::create_dir(&root).expect("it is free");
    let name = |path: &std::path::Path| path.to_string_lossy().into_owned();
    assert_eq!(
        listed(&[]),
        (name(&beside), "here".to_owned()),
        "beside its former place"
    );
    let away = world.path("elsewhere/deep");
    std::fs::create_dir_all(away.parent().expect("one")).expect("writable");
    std::fs::rename(&beside, &away).expect("it is free");
    let inside = name(&away);
    assert_eq!(
        listed(&["--workspace", &inside]),
        (inside.clone(), "here".to_owned()),
        "where it is asked in it"
    );
    assert_eq!(
        listed(&[]),
        (name(&root), "replaced".to_owned()),
        "nobody knows where it went"
    );
}

/// A copy beside its original is told where histories are.
#[test]
fn copy_beside_its_original_is_told_of_histories() {
    let world = Sandbox::new();
    let copy = world.path("copy");
    std::fs::create_dir(&copy).expect("writable");
    let copy = copy.to_string_lossy().into_owned();
    let revert = ["--workspace", &copy, "revert", "last"];
    let hint = "`ckpt-hook workspace list`";
    let run = world.run(&revert, b"").exits(4);
    assert!(!run.stderr.contains(hint), "there are none: {run}");
    world.write("a", "1\n");
    world.play("m1", "first", |world| world.write("a", "2\n"));
    let run = world.run(&revert, b"").exits(4);
    assert!(run.stderr.contains(hint), "{run}");
    let listed = world.json(&["workspace", "list"]);
    let root = world.workspace();
    assert_eq!(listed["workspaces"][0]["path"], *root.to_string_lossy());
}

/// In a folder below a recorded directory without a repository, each command names that directory, as a shell reads it.
#[test]
fn folder_below_names_the_recorded_directory() {
    let world = Sandbox::new();
    let above = world.path("my work");
    let below = above.join("docs");
    std::fs::create_dir_all(&below).expect("writable");
    let at = above.to_str().expect("a plain path");
    world
        .event(json!({"event": "user_message", "session_id": "s", "message_id": "m1", "prompt": "go", "cwd": at}))
        .ends_silently();
    let commands: [(&[&str], i32); 7] = [
        (&["log"], 0),
        (&["log", "--operations"], 0),
        (&["status"], 0),
        (&["sessions"], 0),
        (&["export"], 4),
        (&["undo"], 4),
        (&["revert", "last"], 4),
    ];
    for (words, code) in commands {
        let mut command = world.command(words);
        let run = Run::of(command.current_dir(&below)).exits(code);
        let told = format!("{}{}", run.stdout, run.stderr);
        let hint = format!("`{at}` was recorded: give `--workspace '{at}'`");
        assert!(told.contains(&hint), "{words:?}: {run}");
        assert!(!told.contains("not installed"), "{words:?}: {run}");
    }
    let log = world.json(&["--workspace", at, "log"]);
    assert_eq!(log["messages"][0]["prompt"], "go", "{log:#}");
}

/// A copy elsewhere is offered the history of what is gone by the command that is named.
#[test]
fn copy_elsewhere_is_offered_the_missing_history() {
    let world = Sandbox::new();
    world.write("a", "1\n");
    world.play("m1", "first", |world| world.write("a", "2\n"));
    let root = world.workspace();
    let copy = world
        .path("other/disk")
        .join(root.file_name().expect("it has one"));
    std::fs::create_dir_all(&copy).expect("writable");
    std::fs::copy(root.join("a"), copy.join("a")).expect("writable");
    world.remove("a");
    std::fs::remove_dir(&root).expect("it is empty");
    let run = |arguments: &[&str]| finish(world.command(arguments).current_dir(&copy), b"");
    let status = run(&["status"]).exits(0);
    let command = |text: &str| {
        let (_, rest) = text
            .split_once("`ckpt-hook workspace adopt ")
            .expect("it is named");
        rest.split('`').next().expect("it ends").to_owned()
    };
    let id = command(&status.stdout);
    let refused = run(&["revert", "--message", "m1"]).exits(4);
    assert!(command(&refused.stderr).starts_with(&id), "{refused}");
    run(&["workspace", "adopt", &id]).exits(0);
    run(&["revert", "--message", "m1"]).exits(0);
    let back = std::fs::read(copy.join("a")).expect("it is there");
    assert_eq!(back, b"1\n", "it is in reach");
}

/// Sessions and messages of a directory that was moved are listed under the path that it has now.
#[test]
fn moved_directory_is_listed_where_it_is() {
    let world = Sandbox::new();
    world.write("a", "1\n");
    world.play("m1", "first", |world| world.write("a", "2\n"));
    let away = world.path("elsewhere");
    std::fs::rename(world.workspace(), &away).expect("it is free");
    std::fs::create_dir(world.workspace()).expect("it is free");
    let away = away.to_string_lossy().into_owned();
    for (list, command) in [
        ("sessions", &["sessions"][..]),
        ("messages", &["log"]),
        ("messages", &["log", "--everywhere"]),
    ] {
        let listed = world.json(&[&["--workspace", &away], command].concat());
        assert_eq!(listed[list][0]["workspace"], away.as_str(), "{command:?}");
    }
}
