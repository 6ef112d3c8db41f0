//! One call with `--json` tells a front end all that it shows: contents, reasons and who, exact ids, progress.

use serde_json::{Value, json};
use testing::binary::Sandbox;

use crate::schema::check;

fn file<'a>(report: &'a Value, path: &str) -> &'a Value {
    let files = report["files"].as_array().expect("files");
    files
        .iter()
        .find(|file| file["path"] == path)
        .unwrap_or_else(|| panic!("{path} is in {report:#}"))
}

/// A plan with contents has both sides and the lines that differ.
#[test]
fn plan_with_contents_has_both_sides() {
    let world = Sandbox::new();
    world.write("text", "one\ntwo\nthree\n");
    world.write("bytes", b"\xff\x00");
    world.play("m1", "change them", |world| {
        world.write("text", "one\n2\nthree\n");
        world.write("bytes", b"\xfe\x00");
        world.write("made", "new\n");
        world.write("large", vec![b'x'; (1 << 20) + 1]);
    });
    let arguments = ["revert", "m1", "--dry-run", "--contents"];
    let plan = world.json(&arguments);
    check(&world, "report-operation", &plan);
    let text = file(&plan, "text");
    assert_eq!(text["contents"]["before"]["text"], "one\n2\nthree\n");
    assert_eq!(text["contents"]["after"]["text"], "one\ntwo\nthree\n");
    assert_eq!(
        text["contents"]["hunks"][0]["lines"],
        json!([" one\n", "-2\n", "+two\n", " three\n"])
    );
    assert!(
        text["old_blob"].is_string() && text["new_blob"].is_string(),
        "{text:#}"
    );
    let bytes = file(&plan, "bytes");
    assert_eq!(
        bytes["contents"]["after"],
        json!({"encoding": "base64", "text": "/wA=", "bytes": 2})
    );
    assert_eq!(
        bytes["contents"]["hunks"],
        Value::Null,
        "they have no lines"
    );
    let made = file(&plan, "made");
    assert_eq!(made["contents"]["after"], Value::Null, "it goes");
    assert_eq!(
        (&made["new_blob"], &made["new_mode"]),
        (&Value::Null, &Value::Null)
    );
    let large = &file(&plan, "large")["contents"]["before"];
    assert_eq!(large["text"], Value::Null, "it is too large");
    assert_eq!(large["bytes"], (1 << 20) + 1, "and its size is given");
    let without = world.json(&["revert", "m1", "--dry-run"]);
    assert_eq!(
        file(&without, "text")["contents"],
        Value::Null,
        "nobody asked"
    );
    assert_eq!(without["plan"], plan["plan"], "it is the same plan");
}

/// A plan with contents has what a merge makes.
#[test]
fn plan_with_contents_has_the_merge() {
    let world = Sandbox::new();
    world.write("text", "1\n2\n3\n4\n5\n6\n7\n8\n");
    world.play("m1", "change it", |world| {
        world.write("text", "one\n2\n3\n4\n5\n6\n7\n8\n")
    });
    world.write("text", "one\n2\n3\n4\n5\n6\n7\nmine\n");
    let plan = world.json(&["revert", "m1", "--dry-run", "--contents"]);
    let text = file(&plan, "text");
    assert_eq!(text["action"], "merge");
    assert_eq!(
        text["contents"]["after"]["text"],
        "1\n2\n3\n4\n5\n6\n7\nmine\n"
    );
}

/// What stays says why and because of whom for programs.
#[test]
fn kept_file_has_its_reason_for_programs() {
    let world = Sandbox::new();
    world.write("text", "before\n");
    world.play("m1", "change it", |world| world.write("text", "agent\n"));
    world.write("text", "mine\n");
    let plan = world.json(&["revert", "m1", "--dry-run"]);
    let text = file(&plan, "text");
    assert_eq!(
        (&text["result"], &text["reason_code"]),
        (&json!("conflict"), &json!("same_lines"))
    );
    assert_eq!(text["by"][0]["kind"], "user", "{text:#}");
    let done = world.run(&["revert", "m1", "--json"], b"").exits(3);
    let done: Value = serde_json::from_str(&done.stdout).expect("a document");
    check(&world, "report-operation", &done);
    let id = done["operation"].as_str().expect("an id");
    let shown = world.json(&["show", id]);
    check(&world, "report-show", &shown);
    let mut remembered = file(&shown, "text").clone();
    assert_eq!(
        remembered["choices"].take(),
        json!([]),
        "it is planned no more"
    );
    remembered["choices"] = file(&done, "text")["choices"].clone();
    assert_eq!(&remembered, file(&done, "text"), "it is remembered");
}

/// Another agent that changed a file since is named by its ids.
#[test]
fn another_agents_change_has_its_ids() {
    let world = Sandbox::new();
    world.write("text", "before\n");
    world.play("m1", "change it", |world| world.write("text", "one\n"));
    let event = |kind: &str| {
        world
            .event(
                json!({"event": kind, "session_id": "other", "message_id": "o1", "tool_use_id": "t",
                "tool_name": "shell", "prompt": "and this"}),
            )
            .exits(0);
    };
    event("user_message");
    event("tool_start");
    world.write("text", "two\n");
    event("tool_finish");
    event("turn_end");
    let plan = world.json(&["revert", "m1", "--dry-run"]);
    let by = &file(&plan, "text")["by"][0];
    assert_eq!(by["kind"], "agent", "{plan:#}");
    let log = world.json(&["log"]);
    let messages = log["messages"].as_array().expect("messages");
    let other = messages
        .iter()
        .find(|message| message["agent_id"] == "o1")
        .expect("it is recorded");
    assert_eq!(
        (&by["message"], &by["session"]),
        (&other["id"], &other["session"])
    );
    assert!(by["step"].is_string() && by["agent"].is_string(), "{by:#}");
}

/// An exact id is no prefix no label and no position.
#[test]
fn exact_id_is_nothing_else() {
    let world = Sandbox::new();
    world.play("m1", "write it", |world| world.write("made", "1\n"));
    let id = world.json(&["log"])["messages"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    world.run(&["label", "last", "mine"], b"").exits(0);
    for known in ["m1", &id] {
        world
            .run(&["revert", known, "--dry-run", "--exact"], b"")
            .exits(0);
        world.run(&["show", known, "--exact"], b"").exits(0);
    }
    for inexact in [&id[..8], "mine", "last", "last~0"] {
        world.run(&["show", inexact], b"").exits(0);
        let refused = world
            .run(&["show", inexact, "--exact", "--json"], b"")
            .exits(4);
        let error: Value = serde_json::from_str(&refused.stdout).expect("a document");
        assert_eq!(error["error"]["kind"], "unknown", "{error:#}");
        let hint = error["error"]["hint"].as_str().expect("a hint");
        assert!(hint.starts_with("`--exact` accepts no"), "{error:#}");
    }
}

/// Every command that takes an id takes it in full if asked to.
#[test]
fn every_command_takes_an_exact_id() {
    let world = Sandbox::new();
    world.write("made", "0\n");
    world.play("m1", "write it", |world| world.write("made", "1\n"));
    let id = world.json(&["log"])["messages"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let commands = |id: &str| {
        [
            vec!["cat".to_owned(), format!("{id}:made")],
            vec!["diff".to_owned(), id.to_owned()],
            vec!["show".to_owned(), id.to_owned()],
            vec!["label".to_owned(), id.to_owned(), "mine".to_owned()],
            ["revert", id, "--dry-run"].map(str::to_owned).to_vec(),
            ["restore", id, "made", "--dry-run"]
                .map(str::to_owned)
                .to_vec(),
            ["forget", "--message", id, "--dry-run"]
                .map(str::to_owned)
                .to_vec(),
        ]
    };
    for (mut exact, mut inexact) in commands(&id).into_iter().zip(commands(&id[..8])) {
        exact.push("--exact".to_owned());
        inexact.push("--exact".to_owned());
        let run = world.run(&exact, b"");
        assert!(matches!(run.code, Some(0 | 3)), "{run}");
        world.run(&inexact, b"").exits(4);
    }
}

/// JSON lines tell of progress and end with the document.
#[test]
fn json_lines_end_with_the_document() {
    let world = Sandbox::new();
    world.play("m1", "write them", |world| {
        for number in 0..300 {
            world.write(&format!("made/{number}"), "1\n");
        }
    });
    let run = world.run(&["revert", "m1", "--json-lines"], b"").exits(0);
    let lines: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is a document"))
        .collect();
    let (document, progress) = lines.split_last().expect("a line");
    check(&world, "report-operation", document);
    assert_eq!(document["outcome"], "restored");
    assert!(!progress.is_empty(), "it told of progress");
    for line in progress {
        check(&world, "progress", line);
    }
    let last = progress.last().expect("some");
    assert_eq!(
        (&last["phase"], &last["done"]),
        (&json!("applying"), &last["of"]),
        "{last:#}"
    );
    let failed = world
        .run(&["revert", "nothing", "--json-lines"], b"")
        .exits(4);
    assert_eq!(failed.stdout.lines().count(), 1, "{}", failed.stdout);
}

#[test]
fn undo_is_planned_and_applied_as_planned() {
    let world = Sandbox::new();
    world.write("text", "before\n");
    world.play("m1", "change it", |world| world.write("text", "agent\n"));
    world.run(&["revert", "m1"], b"").exits(0);
    let plan = world.json(&["undo", "--dry-run", "--contents"]);
    check(&world, "report-operation", &plan);
    assert_eq!(file(&plan, "text")["contents"]["after"]["text"], "agent\n");
    let token = plan["plan"].as_str().expect("a token").to_owned();
    world.write("text", "mine\n");
    let stale = world
        .run(&["undo", "--plan", &token, "--json"], b"")
        .exits(1);
    assert!(stale.stdout.contains("\"stale\""), "{}", stale.stdout);
    assert_eq!(world.read("text"), b"mine\n", "nothing moved");
    world.write("text", "before\n");
    world.run(&["undo", "--plan", &token], b"").exits(0);
    assert_eq!(world.read("text"), b"agent\n");
}

#[test]
fn a_recovery_is_planned_and_applied_as_planned() {
    let world = Sandbox::new();
    world.write("folder/a", "1\n");
    world.write("folder/b", "1\n");
    world.play("m1", "remove them", |world| {
        world.remove("folder/a");
        world.remove("folder/b");
    });
    let plan = |world: &Sandbox| {
        let report = world.json(&["recover", "folder/", "--dry-run"]);
        let plan = report["operation"]["plan"].as_str().expect("a plan");
        plan.to_owned()
    };
    let token = plan(&world);
    world.write("folder/a", "mine\n");
    let refused = world.json(&["restore", "--plan", &token]);
    assert_eq!(refused["error"]["kind"], "stale", "{refused:#}");
    assert!(
        !world.workspace().join("folder/b").exists(),
        "nothing moved"
    );
    let done = world.json(&["restore", "--plan", &plan(&world)]);
    check(&world, "report-operation", &done);
    assert_eq!(world.read("folder/a"), b"mine\n", "it is not gone");
    assert_eq!(world.read("folder/b"), b"1\n", "{done:#}");
}

/// A seq is one of messages and lists of anything else say so.
#[test]
fn seq_is_for_messages_only() {
    let world = Sandbox::new();
    world.play("m1", "make it", |world| world.write("made", "1\n"));
    world.run(&["revert", "m1"], b"").exits(0);
    let messages = world.json(&["log", "--since", "0"]);
    assert_eq!(messages["messages"][0]["seq"], 1, "{messages:#}");
    for list in ["--operations", "--snapshots", "--graph"] {
        let run = world.run(&["log", list, "--since", "1"], b"").exits(2);
        assert!(
            run.stderr.contains("`--since 1` is the `seq` of a message"),
            "{run}"
        );
        world
            .run(&["log", list, "--since", "yesterday"], b"")
            .exits(0);
    }
}
