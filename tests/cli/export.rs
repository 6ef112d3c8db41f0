//! `export`: a session to read elsewhere.

use testing::binary::Sandbox;

/// A session with a renamed file, a prompt of two lines, and a line that looks like Markdown.
fn world() -> Sandbox {
    let world = Sandbox::new();
    world.write("cake.txt", "flour\neggs\n");
    world.play("m1", "Add *sugar*\nand nothing else", |world| {
        world.write("cake.txt", "flour\neggs\nsugar\n");
    });
    world.play("m2", "Move the recipe", |world| {
        world.remove("cake.txt");
        world.write("recipes/cake.txt", "flour\neggs\nsugar\n```\n");
    });
    world
}

/// Each form of an exported session has every prompt and what was changed for it.
#[test]
fn every_form_has_prompts_and_changes() {
    let world = world();
    let markdown = world.run(&["export"], b"").exits(0).stdout;
    for part in [
        "# Session of generic",
        "## Add \\*sugar\\*\n",
        "```text\nAdd *sugar*\nand nothing else\n```",
        "- modified `cake.txt` +1\n",
        "```diff\ndiff --git a/cake.txt b/cake.txt",
        "- renamed `cake.txt` → `recipes/cake.txt` +1\n",
        "````diff\n",
    ] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
    let first = markdown.find("Add").expect("the first prompt");
    assert!(
        first < markdown.find("Move").expect("the second"),
        "oldest first"
    );
    let file = world.path("session.html");
    let to = file.to_str().expect("text");
    world.run(&["export", "s", "--html", to], b"").exits(0);
    let page = std::fs::read_to_string(&file).expect("it was written");
    for part in [
        "Add *sugar*",
        "Move the recipe",
        "sugar",
        "#m1f0",
        "default-src 'none'",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    for line in [
        &["export", "--html", to][..],
        &["show", "m1", "--html", to],
        &["diff", "--html", to],
    ] {
        std::fs::write(&file, "mine\n").expect("writable");
        let run = world.run(line, b"").exits(1);
        assert!(run.stderr.contains("is there already"), "{run}");
        assert_eq!(std::fs::read(&file).expect("it is there"), b"mine\n");
        world.run(&[line, &["--force"]].concat(), b"").exits(0);
        let page = std::fs::read(&file).expect("it is there");
        assert!(page.starts_with(b"<!DOCTYPE"), "it was asked for");
    }
    let run = world.run(&["export", "--html", "no/page.html"], b"");
    let told = run.exits(1).stderr;
    assert!(told.contains("no/page.html`"), "{told}");
    assert!(!told.contains(".ckpt-hook-"), "no name of ours: {told}");
    let document = world.json(&["export", "s"]);
    assert_eq!(document["messages"].as_array().map(Vec::len), Some(2));
    let patch = document["messages"][0]["patch"]["text"].as_str();
    assert!(
        patch.is_some_and(|patch| patch.contains("+sugar")),
        "{document}"
    );
}

/// What the agent's record says of a message is in its view once a person has looked.
#[test]
fn record_tells_model_and_tokens() {
    let world = Sandbox::new();
    let record = world.path("record.jsonl");
    let event = |more: serde_json::Value| {
        let mut event = serde_json::json!({"session_id": "s", "transcript_path": record});
        let fields = event.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        world
            .run(&["event", "--strict"], event.to_string().as_bytes())
            .exits(0);
    };
    event(serde_json::json!({"event": "user_message", "message_id": "m1", "prompt": "Say it"}));
    let entry = serde_json::json!({
        "type": "assistant", "timestamp": "2999-01-01T00:00:00Z",
        "message": {"id": "a", "model": "sonnet", "usage": {"input_tokens": 30, "output_tokens": 4}},
    });
    std::fs::write(&record, format!("{entry}\n{entry}\n")).expect("writable");
    let sql = "SELECT ifnull(model || ' ' || input_tokens || ' ' || output_tokens, '') FROM message_overview";
    let told = || testing::rows::texts(&world.store().join("sessions.db"), sql);
    world.run(&["log"], b"").exits(0);
    assert_eq!(told(), [""], "it goes on: nothing is read yet");
    event(serde_json::json!({"event": "turn_end"}));
    world.run(&["log"], b"").exits(0);
    assert_eq!(told(), ["sonnet 30 4"], "each answer once");
}

/// An agent with a database of its own tells what each message cost there, with what its sub-agents did.
#[test]
fn agents_database_tells_tokens_and_cost() {
    for agent in ["opencode", "kilo"] {
        let world = Sandbox::new();
        let send = |event: serde_json::Value| {
            let arguments = ["event", "--agent", agent];
            let run = world.run(&arguments, event.to_string().as_bytes());
            run.exits(0);
        };
        let cwd = world.workspace();
        send(serde_json::json!({
            "hook": "chat.message", "cwd": cwd, "input": {"sessionID": "root"},
            "output": {"message": {"id": "m1"}, "parts": [{"type": "text", "text": "Say it"}]},
        }));
        send(serde_json::json!({
            "hook": "event.session.idle", "cwd": cwd,
            "event": {"properties": {"sessionID": "root"}},
        }));
        let folder = world.path("home/.local/share").join(agent);
        std::fs::create_dir_all(&folder).expect("writable");
        let answer = serde_json::json!({
            "role": "assistant", "modelID": "large", "cost": 0.25,
            "tokens": {"input": 100, "output": 20, "reasoning": 3, "cache": {"read": 1000, "write": 10}},
        });
        let prompt = serde_json::json!({"role": "user", "tokens": {"input": 7}});
        // Later than anything here.
        let rows = format!(
            "CREATE TABLE session (id, parent_id);
             INSERT INTO session VALUES ('root', NULL), ('child', 'root'), ('other', NULL);
             CREATE TABLE message (session_id, time_created, data);
             INSERT INTO message VALUES ('root', 32503680000000, '{answer}'), ('child', 32503680000001, '{answer}'),
                    ('other', 32503680000000, '{answer}'), ('root', 32503680000000, '{prompt}'), ('root', 32503680000000, '?');"
        );
        testing::rows::execute(&folder.join(format!("{agent}.db")), &rows);
        world.run(&["log"], b"").exits(0);
        let sql = "SELECT model || ' ' || input_tokens || ' ' || output_tokens || ' ' || cost FROM message_overview";
        let told = testing::rows::texts(&world.store().join("sessions.db"), sql);
        assert_eq!(told, ["large 2220 46 0.5"], "{agent}");
    }
}

/// Only a session can be exported.
#[test]
fn message_is_no_session_to_export() {
    let world = world();
    let run = world.run(&["export", "last"], b"").exits(2);
    assert!(run.stderr.contains("`ckpt-hook sessions` lists"), "{run}");
    let run = world.run(&["export", "nobody"], b"").exits(4);
    assert!(run.stderr.contains("`ckpt-hook sessions` lists"), "{run}");
}

/// Without an id, a session without messages is passed over.
#[test]
fn newest_session_with_messages_is_exported() {
    let world = world();
    let begin = serde_json::json!({"event": "session_start", "session_id": "empty"});
    world.event(begin).ends_silently();
    let newest = world.json(&["sessions"])["sessions"][0].clone();
    assert_eq!(newest["messages"], 0, "{newest:#}");
    let report = world.json(&["export"]);
    assert_ne!(report["session"]["id"], newest["id"], "{report:#}");
    assert_ne!(report["messages"], serde_json::json!([]), "{report:#}");
}
