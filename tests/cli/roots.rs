//! A session in several roots, through the binary: what names them, and what is shown of them.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use testing::binary::Sandbox;

use crate::screen::Screen;
use crate::serve::Client;

/// A second root beside the workspace, with a file.
fn second(world: &Sandbox) -> PathBuf {
    let other = world.path("lib");
    fs::create_dir_all(&other).expect("writable");
    fs::write(other.join("b"), "before\n").expect("writable");
    world.write("a", "before\n");
    other
}

/// A payload of Claude Code.
fn payload(world: &Sandbox, event: &str, more: serde_json::Value) {
    let mut payload = json!({
        "hook_event_name": event, "session_id": "s", "cwd": world.workspace(),
    });
    let fields = payload.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    let run = world.run(
        &["event", "--agent", "claude-code"],
        payload.to_string().as_bytes(),
    );
    run.ends_silently();
}

/// A turn of Claude Code in which a shell changes a file in each root.
fn play(world: &Sandbox, other: &std::path::Path) {
    let tool = json!({"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "t"});
    payload(world, "SessionStart", json!({"source": "startup"}));
    payload(world, "UserPromptSubmit", json!({"prompt": "move it"}));
    payload(world, "PreToolUse", tool.clone());
    world.write("a", "after\n");
    fs::write(other.join("b"), "after\n").expect("writable");
    payload(world, "PostToolUse", tool);
    payload(world, "Stop", json!({}));
}

/// Directories of an agent's settings are roots, and a message is shown once with what it did in each.
#[test]
fn directories_of_settings_are_shown_and_reverted() {
    let world = Sandbox::new();
    let other = second(&world);
    let list = json!({"permissions": {"additionalDirectories": [other]}});
    world.write(".claude/settings.local.json", list.to_string());
    play(&world, &other);
    let log = world.json(&["log"]);
    let messages = log["messages"].as_array().expect("a list");
    assert_eq!(messages.len(), 1, "{log}");
    assert_eq!(messages[0]["roots"][0]["files"], 1, "{log}");
    let everywhere = world.json(&["log", "--everywhere"]);
    assert_eq!(
        everywhere["messages"].as_array().map(Vec::len),
        Some(1),
        "{everywhere}"
    );
    let text = world.run(&["log"], b"").exits(0).stdout;
    assert!(text.contains("(+ 1 file in lib)"), "{text}");
    let id = messages[0]["id"].as_str().expect("an id");
    let shown = world.run(&["show", id], b"").exits(0).stdout;
    assert!(
        shown.contains(other.to_str().expect("a plain path")),
        "{shown}"
    );
    let shown = world.json(&["show", id]);
    assert_eq!(shown["roots"][0]["changes"][0]["path"], "b", "{shown}");

    let plan = world.json(&["revert", id, "--dry-run"]);
    assert_eq!(
        plan["roots"][0]["report"]["files"][0]["path"], "b",
        "{plan}"
    );
    let token = plan["plan"].as_str().expect("a token");
    let done = world.run(&["revert", "--plan", token], b"").exits(0).stdout;
    assert!(
        done.contains(other.to_str().expect("a plain path")),
        "{done}"
    );
    assert_eq!(fs::read(other.join("b")).expect("readable"), b"before\n");
    assert_eq!(world.read("a"), b"before\n");
    world.run(&["undo"], b"").exits(0);
    assert_eq!(fs::read(other.join("b")).expect("readable"), b"after\n");

    // Asked in the second root, by the same id, and limited to it.
    let directory = other.to_str().expect("a plain path");
    world
        .run(&["--workspace", directory, "revert", id], b"")
        .exits(0);
    assert_eq!(fs::read(other.join("b")).expect("readable"), b"before\n");
    assert_eq!(world.read("a"), b"after\n", "the limit holds");
}

/// The line below a command inside an agent names the files of every root.
///
/// One of the same name is told from the workspace's own.
#[test]
fn line_below_a_command_names_every_root() {
    let world = Sandbox::new();
    let other = second(&world);
    let list = json!({"permissions": {"additionalDirectories": [other]}});
    world.write(".claude/settings.local.json", list.to_string());
    play(&world, &other);
    payload(
        &world,
        "UserPromptSubmit",
        json!({"prompt": "/ckpt-revert"}),
    );
    world
        .run(&["inside", "revert", "--session", "s"], b"")
        .exits(0);
    let end = json!({"hook_event_name": "Stop", "session_id": "s", "cwd": world.workspace()});
    let words = ["event", "--agent", "claude-code"];
    let shown = world.run(&words, end.to_string().as_bytes()).exits(0);
    let there = other.join("b");
    let told = format!(
        "ckpt-hook: revert: \\\"a\\\", \\\"{}\\\". ",
        there.display()
    );
    assert!(shown.stdout.contains(&told), "{told}: {shown}");
}

/// The setting `roots` adds directories to every session.
#[test]
fn setting_adds_roots() {
    let world = Sandbox::new();
    let other = second(&world);
    world.configure(&format!(
        "roots = [{:?}]\n",
        other.to_str().expect("a plain path")
    ));
    world.play("m1", "move it", |world| {
        world.write("a", "after\n");
        fs::write(other.join("b"), "after\n").expect("writable");
    });
    world.run(&["revert", "--message", "m1"], b"").exits(0);
    assert_eq!(fs::read(other.join("b")).expect("readable"), b"before\n");
}

/// A directory that cannot be a root is said to be none, once.
#[test]
fn refused_roots_are_told() {
    let world = Sandbox::new();
    let refused = "/proc/self/fd";
    world.configure(&format!("roots = [\"{refused}\"]\n"));
    world.write("a", "before\n");
    for id in ["m1", "m2"] {
        world.play(id, "move it", |world| world.write("a", id));
    }
    let told = world.run(&["log"], b"").exits(0).stderr;
    assert!(told.contains(refused), "{told}");
    assert!(!world.run(&["log"], b"").exits(0).stderr.contains(refused));
    let doctor = world.run(&["doctor"], b"");
    let lines = doctor.stdout.lines();
    let lines: Vec<_> = lines.filter(|line| line.contains(refused)).collect();
    assert_eq!(lines.len(), 1, "{doctor}");
}

/// A plan over two roots is stale once anything changed in the second one.
#[test]
fn plan_over_two_roots_is_stale_by_either() {
    let world = Sandbox::new();
    let other = second(&world);
    world.configure(&format!(
        "roots = [{:?}]\n",
        other.to_str().expect("a plain path")
    ));
    world.play("m1", "move it", |world| {
        world.write("a", "after\n");
        fs::write(other.join("b"), "after\n").expect("writable");
    });
    let plan = world.json(&["revert", "--message", "m1", "--dry-run"]);
    fs::write(other.join("b"), "mine\n").expect("writable");
    let token = plan["plan"].as_str().expect("a token");
    let refused = world.run(&["revert", "--plan", token], b"");
    assert_ne!(refused.code, Some(0), "{refused}");
    assert_eq!(
        world.read("a"),
        b"after\n",
        "nothing was changed in the first one"
    );
}

/// Two roots in which one message worked.
fn played() -> (Sandbox, PathBuf) {
    let world = Sandbox::new();
    let other = second(&world);
    world.configure(&format!(
        "roots = [{:?}]\n",
        other.to_str().expect("a plain path")
    ));
    play(&world, &other);
    (world, other)
}

/// Hunks are chosen in all roots, and what was chosen is one operation.
#[test]
fn hunks_are_chosen_in_all_roots() {
    let (world, other) = played();
    let files = || {
        let there = fs::read(other.join("b")).expect("readable");
        [world.read("a"), there].map(|bytes| String::from_utf8(bytes).expect("text"))
    };
    let name = other.to_str().expect("a plain path");
    let run = world.run(&["revert", "last", "-p"], b"n\ny\n").exits(0);
    assert!(run.stdout.contains(name), "{run}");
    assert_eq!(files(), ["after\n", "before\n"], "what was said yes to");
    let status = world.json(&["status"]);
    assert_eq!(status["messages_hidden"], json!([]), "it is a part");
    world.run(&["undo"], b"").exits(0);
    assert_eq!(files(), ["after\n", "after\n"]);
    world.run(&["revert", "last", "-p"], b"y\ny\n").exits(0);
    assert_eq!(files(), ["before\n", "before\n"]);
    world.run(&["undo"], b"").exits(0);
    assert_eq!(files(), ["after\n", "after\n"], "one undo for both");
    world.run(&["revert", "last", "-p"], b"q\n").exits(0);
    assert_eq!(files(), ["after\n", "after\n"], "and none is asked about");

    let mut client = Client::start(&world);
    let plan = client.call("plan", json!({"message": "last", "contents": true}));
    let apply = |parts: serde_json::Value| json!({"plan": plan["plan"], "parts": parts});
    client.refused("apply", apply(json!([{"path": "b"}])));
    client.call("apply", apply(json!([{"path": "b", "workspace": name}])));
    assert_eq!(files(), ["after\n", "before\n"], "a client chooses as well");
}

/// A file that is gone from any root of a session is found, by its path or its name, and put back where it was.
#[test]
fn files_gone_from_any_root_are_recovered() {
    let (world, other) = played();
    let name = other.to_str().expect("a plain path");
    fs::remove_file(other.join("b")).expect("it is there");
    let list = world.run(&["recover", "--deleted"], b"").exits(0).stdout;
    assert!(list.contains(name) && list.contains("1 file"), "{list}");
    let report = world.json(&["recover", "--deleted"]);
    assert_eq!(report["files"], json!([]), "{report:#}");
    assert_eq!(report["roots"][0]["files"][0]["path"], "b", "{report:#}");
    let limited = world.json(&["--workspace", ".", "recover", "--deleted"]);
    assert_eq!(limited["roots"], json!([]), "the limit holds: {limited:#}");
    let full = format!("{name}/b");
    for asked in ["b", &full] {
        let report = world.json(&["recover", asked]);
        assert_eq!(
            report["operation"]["roots"][0]["report"]["files"][0]["path"], "b",
            "{report:#}"
        );
        assert_eq!(fs::read(other.join("b")).expect("it is back"), b"after\n");
        world.run(&["undo"], b"").exits(0);
        assert!(!other.join("b").exists(), "one undo takes it back");
    }
    fs::rename(&other, world.path("aside")).expect("writable");
    let list = world.run(&["recover", "--deleted"], b"").exits(0).stdout;
    assert!(list.contains(&format!("not there now: {name}")), "{list}");
    let nowhere = world.run(&["recover", "/nowhere/b"], b"");
    assert_ne!(nowhere.code, Some(0), "{nowhere}");
}

/// A file of another root is left out of the browser's plan like any other.
#[test]
fn browser_leaves_out_files_of_all_roots() {
    let (world, other) = played();
    let line = "stty rows 30; ckpt-hook ui";
    let Some(mut screen) = Screen::open(&world, 110, line) else {
        return;
    };
    screen.wait_for("move it");
    screen.press("r");
    screen.wait_for("lib/b");
    screen.press("j ");
    screen.wait_for("no message is hidden");
    screen.press("y");
    screen.wait_for("Undid a part");
    assert_eq!(world.read("a"), b"before\n");
    assert_eq!(fs::read(other.join("b")).expect("readable"), b"after\n");
    screen.press("r");
    screen.wait_for("lib/b");
    screen.press("y");
    screen.wait_until("the other one went back", |_| {
        fs::read(other.join("b")).is_ok_and(|bytes| bytes == b"before\n")
    });
    screen.press("q");
    screen.end();
}

/// No root that took part is named as one that is yet to be reverted, whichever root is asked.
#[test]
fn notes_leave_out_roots_that_took_part() {
    for asks_second in [false, true] {
        let (world, other) = played();
        let mut command = world.command(&["revert", "last", "--json"]);
        if asks_second {
            command.current_dir(&other);
        }
        let run = testing::binary::Run::of(&mut command).exits(0);
        let report: serde_json::Value = serde_json::from_str(&run.stdout).expect("a document");
        assert_eq!(report["roots"].as_array().map(Vec::len), Some(1));
        assert_eq!(report["notes"], json!([]), "{report:#}");
        assert_eq!(
            report["roots"][0]["report"]["notes"],
            json!([]),
            "{report:#}"
        );
        assert_eq!(world.read("a"), b"before\n");
        assert_eq!(fs::read(other.join("b")).expect("readable"), b"before\n");
    }
}

/// What is shown of a revert has a part for each root, also where the first one had no file to change.
///
/// Invariant `truth/roots-are-shown`: What `status`, `log` and `show` say of a revert covers all roots of its session.
#[test]
fn reverts_are_shown_with_all_roots() {
    let world = Sandbox::new();
    let other = second(&world);
    let directory = other.to_str().expect("a plain path");
    world.configure(&format!("roots = [{directory:?}]\n"));
    world.play("m1", "change the library", |_| {
        fs::write(other.join("b"), "after\n").expect("writable");
    });
    let text = |words: &[&str]| world.run(words, b"").exits(0).stdout;
    let names = |text: &str| {
        let mut words = text.split_whitespace();
        text.contains(directory) && words.any(|word| word == "b")
    };
    let stat = text(&["log", "--stat"]);
    assert!(names(&stat), "{stat}");

    world.json(&["revert", "last"]);
    let status = world.json(&["status"]);
    assert_eq!(status["files"], json!([]), "{status:#}");
    assert_eq!(status["roots"][0]["workspace"], directory, "{status:#}");
    assert_eq!(status["roots"][0]["files"][0]["path"], "b", "{status:#}");
    let told = text(&["status"]);
    assert!(names(&told), "{told}");

    let log = world.json(&["log", "--operations"]);
    let entry = &log["operations"][0];
    assert_eq!(entry["outcome"], "restored", "{log:#}");
    assert_eq!(entry["roots"][0]["files"], 1, "{log:#}");
    let row = text(&["log", "--operations"]);
    assert!(
        row.contains("restored") && !row.contains("nothing"),
        "{row}"
    );
    let stat = text(&["log", "--operations", "--stat"]);
    assert!(names(&stat), "{stat}");
    let everywhere = world.json(&["log", "--operations", "--everywhere"]);
    let number = everywhere["operations"].as_array().map(Vec::len);
    assert_eq!(number, Some(1), "{everywhere:#}");

    let id = entry["id"].as_str().expect("an id");
    let shown = world.json(&["show", id]);
    assert_eq!(shown["roots"][0]["files"][0]["path"], "b", "{shown:#}");
    let shown = text(&["show", id]);
    assert!(names(&shown), "{shown}");
}
