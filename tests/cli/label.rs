//! `label`: bookmarks that stand wherever an id does.

use testing::binary::Sandbox;

fn world() -> Sandbox {
    let world = Sandbox::new();
    world.write("a", "0\n");
    world.play("m1", "make it work", |world| world.write("a", "1\n"));
    world.play("m2", "make it fast", |world| world.write("a", "2\n"));
    world
}

#[test]
fn a_label_stands_wherever_an_id_does() {
    let world = world();
    let run = world.run(&["label", "m2", "it works"], b"").exits(0);
    assert!(run.stdout.contains("labelled “it works”"), "{run}");
    let message = world.json(&["show", "it works"]);
    assert_eq!(message["message"]["agent_id"], "m2", "show");
    let diff = world.run(&["diff", "it works", "--stat"], b"").exits(0);
    assert!(diff.stdout.contains('a'), "diff: {diff}");
    world
        .run(&["revert", "--message", "it works"], b"")
        .exits(0);
    assert_eq!(world.read("a"), b"1\n", "revert");
    world.run(&["unrevert"], b"").exits(0);
    world.run(&["restore", "it works", "a"], b"").exits(0);
    assert_eq!(world.read("a"), b"1\n", "restore");
}

#[test]
fn labels_are_listed_with_what_they_are_on() {
    let world = world();
    let none = world.run(&["label", "--list"], b"").exits(0);
    assert!(
        none.stdout.contains("`ckpt-hook label ID TEXT`"),
        "what to do: {none}"
    );
    world.run(&["label", "m2", "it works"], b"").exits(0);
    world
        .run(&["snapshot", "--label", "before lunch"], b"")
        .exits(0);
    let list = world.run(&["label", "--list"], b"").exits(0);
    let lines: Vec<&str> = list.stdout.lines().collect();
    assert!(
        lines[0].starts_with("before lunch  ") && lines[0].ends_with("a snapshot"),
        "newest first: {list}"
    );
    assert!(
        lines[1].starts_with("it works  ") && lines[1].ends_with("make it fast"),
        "with the prompt: {list}"
    );
    let found = world.run(&["label", "--list", "LUNCH"], b"").exits(0);
    assert!(found.stdout.ends_with("\n1 label\n"), "one has it: {found}");
    let none = world.run(&["label", "--list", "dinner"], b"").exits(0);
    assert!(none.stdout.contains("No label matches."), "{none}");
    world
        .run(&["label", "--delete", "before lunch"], b"")
        .exits(0);
    world.run(&["show", "before lunch"], b"").exits(4);
    world
        .run(&["label", "--delete", "before lunch"], b"")
        .exits(4);
}

#[test]
fn a_label_stands_where_its_message_is_shown() {
    let world = world();
    world.run(&["label", "m2", "it works"], b"").exits(0);
    world.run(&["label", "m2", "a second"], b"").exits(0);
    for arguments in [&["log"][..], &["log", "--graph"], &["log", "--name-only"]] {
        let run = world.run(arguments, b"").exits(0);
        let labelled = "[it works] [a second] make it fast";
        assert_eq!(
            run.stdout.matches(labelled).count(),
            1,
            "{arguments:?}: {run}"
        );
        assert_eq!(run.stdout.matches('[').count(), 2, "no other: {run}");
    }
    let show = world.run(&["show", "m2"], b"").exits(0);
    assert!(
        show.stdout.contains("labels      it works, a second\n"),
        "{show}"
    );
    let log = world.json(&["log"]);
    let labels = &log["messages"][0]["labels"];
    assert_eq!(
        *labels,
        serde_json::json!(["it works", "a second"]),
        "{log}"
    );
}

/// Operations are listed by the state of their message.
#[test]
fn operations_are_listed_by_message_state() {
    let world = world();
    world.run(&["revert", "m2"], b"").exits(0);
    let listed = |state: &str| {
        let log = world.json(&["log", "--operations", "--state", state]);
        log["operations"].as_array().map(Vec::len)
    };
    assert_eq!((listed("hidden"), listed("live")), (Some(1), Some(0)));
    world.run(&["unrevert"], b"").exits(0);
    assert_eq!((listed("hidden"), listed("live")), (Some(0), Some(1)));
}

/// What looks like an id is a label of nothing.
#[test]
fn id_like_text_is_no_label() {
    let world = world();
    for text in ["7c1e", "last~1", "current", "12", "", "a\u{1b}[2J"] {
        for arguments in [&["label", "m1", text][..], &["snapshot", "--label", text]] {
            let run = world.run(arguments, b"").exits(2);
            assert!(run.stderr.contains("cannot be a label"), "{text:?}: {run}");
            assert!(!run.stderr.contains('\u{1b}'), "harmless: {run}");
        }
    }
    world.run(&["label", "m1", "m2"], b"").exits(1);
    world.run(&["label", "nothing", "here"], b"").exits(4);
    world.run(&["label"], b"").exits(2);
    world.run(&["label", "m1"], b"").exits(2);
}

/// What has no labels is named by its kind.
#[test]
fn unlabelled_thing_is_named_by_kind() {
    let world = world();
    world.run(&["revert", "m2"], b"").exits(0);
    let document = world.json(&["log", "--operations"]);
    let operation = document["operations"][0]["id"]
        .as_str()
        .expect("there is one");
    let run = world.run(&["label", operation, "here"], b"").exits(1);
    assert!(
        run.stderr.contains("is an operation: labels are for"),
        "{run}"
    );
}
