//! An operation that takes back another is said to be its undo, wherever operations are listed.

use expect_test::expect;
use serde_json::Value;

use testing::binary::Sandbox;

use crate::screen::Screen;
use crate::session::two_messages;

/// Returns the operations, oldest first: the id of each, and what it takes back.
fn undoing(world: &Sandbox) -> Vec<(String, Option<String>)> {
    let list = world.json(&["log", "--operations"]);
    let operations = list["operations"].as_array().expect("a list");
    let one = |entry: &Value| {
        let undone = entry["undoes"].as_str().map(str::to_owned);
        (entry["id"].as_str().expect("an id").to_owned(), undone)
    };
    operations.iter().rev().map(one).collect()
}

/// Every kind of operation that is undone is named by its undo and that by the next.
#[test]
fn undo_names_the_operation_it_undoes() {
    let operations: [&[&str]; 6] = [
        &["revert", "m2"],
        &["revert", "m1", "--alone"],
        &["revert", "--step", "STEP"],
        &["revert", "m1", "--only", "menu"],
        &["restore", "m1"],
        &["recover", "menu"],
    ];
    for operation in operations {
        let world = two_messages();
        if operation[0] == "recover" {
            world.remove("menu");
            world.play("m3", "look", |_| ());
        }
        let shown = world.json(&["show", "m2"]);
        let step = shown["steps"][0]["id"].as_str().expect("a step");
        let named = |word: &&'static str| match *word {
            "STEP" => step.to_owned(),
            word => word.to_owned(),
        };
        let words: Vec<String> = operation.iter().map(named).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let run = world.run(&words, b"");
        let [(first, None)] = &undoing(&world)[..] else {
            panic!("{operation:?} is no undo: {run}");
        };
        for number in 1..4 {
            let plan = world.json(&["undo", "--dry-run"]);
            let token = plan["plan"].as_str().expect("a plan");
            let report = match number {
                2 => world.json(&["undo", "--plan", token]),
                _ => world.json(&["undo"]),
            };
            let all = undoing(&world);
            let (undo, undone) = &all[number];
            assert_eq!(
                undone.as_ref(),
                Some(&all[number - 1].0),
                "{operation:?}, undo {number}: {all:?}"
            );
            assert_eq!(plan["undoes"], report["undoes"], "{plan:#}");
            assert_eq!(report["undoes"].as_str(), undone.as_deref(), "{report:#}");
            let shown = world.json(&["show", undo]);
            assert_eq!(shown["operation"]["undoes"], report["undoes"], "{shown:#}");
        }
        assert_eq!(&undoing(&world)[0], &(first.clone(), None));
    }
}

/// A redo by hand and a part of an undo are told apart.
#[test]
fn redo_by_hand_is_no_undo() {
    let world = two_messages();
    world.run(&["revert", "m2"], b"").exits(0);
    world.run(&["unrevert"], b"").exits(0);
    world.run(&["restore", "m1"], b"").exits(0);
    let run = world.run(&["undo", "-p"], b"y\nq\n");
    let all = undoing(&world);
    assert_eq!(all.len(), 4, "{run}");
    assert_eq!(all[1].1, None, "nobody said undo");
    assert_eq!(
        all[3].1.as_ref(),
        Some(&all[2].0),
        "chosen hunks of an undo"
    );
}

/// Lists say of an undo what it took back.
#[test]
fn lists_say_what_an_undo_took_back() {
    let world = two_messages();
    world.run(&["restore", "m1"], b"").exits(0);
    world.run(&["undo"], b"").exits(0);
    let run = world.run(&["undo"], b"").exits(0);
    let first = run.stdout.lines().next().unwrap_or_default();
    assert!(first.starts_with("✓ Did the restore "), "{run}");
    assert!(first.ends_with(" again"), "{run}");
    assert!(run.stdout.contains("To undo this: ckpt-hook undo"), "{run}");
    let of: Vec<String> = undoing(&world)
        .iter()
        .map(|(id, _)| id[..8].to_owned())
        .collect();
    let run = world.run(&["log", "--operations", "-v"], b"").exits(0);
    for undone in &of[..2] {
        assert!(run.stdout.contains(&format!("undo of {undone}")), "{run}");
    }
    expect![[r#"
        operation  when      kind              message   outcome   files  conflicts
        12345678   just now  undo of 12345678  -         restored      3          0
        12345678   just now  undo of 12345678  -         restored      3          0
        12345678   just now  restore           12345678  restored      3          0
        3 operations
    "#]]
    .assert_eq(&world.redact(&run.stdout));
    let run = world
        .run(&["log", "--operations", "--name-only"], b"")
        .exits(0);
    expect![[r#"
        12345678  just now  undo of 12345678 restored
        menu
        notes
        recipes/cake

        12345678  just now  undo of 12345678 restored
        menu
        notes
        recipes/cake

        12345678  just now  restore restored
        menu
        notes
        recipes/cake

    "#]]
    .assert_eq(&world.redact(&run.stdout));
    let run = world.run(&["log", "--graph"], b"").exits(0);
    expect![[r#"
        @   you are here
        ◆   12345678  just now  restore to just before 12345678, 3 files, undone and done again
        ●   12345678  just now  generic  tidy up
        ●   12345678  just now  generic  add cakes
        2 messages, 1 operation, and 2 undos of it (-v lists all)
    "#]]
    .assert_eq(&world.redact(&run.stdout));
    let run = world.run(&["show", &of[2]], b"").exits(0);
    let kind = format!(
        "  kind        undo of {}
",
        of[1]
    );
    assert!(run.stdout.contains(&kind), "{run}");
}

/// An undo of `restore` is itself recorded as one, and what it brings may be the user's.
#[test]
fn an_edit_that_an_undo_brought_back_stays() {
    let world = Sandbox::new();
    world.write("text", "1\n2\n3\n");
    for (message, line) in [("m1", "agent"), ("m2", "agent again")] {
        world.play(message, message, |world| {
            world.write("text", format!("1\n{line}\n3\n"));
        });
    }
    let edited = "1\nby hand\n3\n";
    world.write("text", edited);
    world
        .run(&["restore", "m2", "--on-conflict", "overwrite"], b"")
        .exits(0);
    world.run(&["undo"], b"").exits(0);
    assert_eq!(world.read("text"), edited.as_bytes());
    world.run(&["revert", "m1"], b"").exits(3);
    assert_eq!(
        world.read("text"),
        edited.as_bytes(),
        "nobody said to take it"
    );
}

#[test]
fn undo_of_a_revert_without_files_names_it() {
    let world = two_messages();
    world.run(&["revert", "m2", "--alone"], b"").exits(0);
    world.run(&["revert", "m2"], b"").exits(0);
    let run = world.run(&["undo"], b"").exits(0);
    let first = run.stdout.lines().next().unwrap_or_default();
    assert!(
        first.starts_with("✓ Undid the revert ") && first.ends_with("; no file had to change"),
        "{run}"
    );
}

/// A plan says what would be done also where only the revert point would move.
#[test]
fn plan_without_files_is_something_to_do() {
    let world = two_messages();
    world.run(&["revert", "m2", "--alone"], b"").exits(0);
    let plan = |arguments: &[&str]| {
        let run = world.run(arguments, b"").exits(0);
        run.stdout.lines().next().unwrap_or_default().to_owned()
    };
    let end = "; no file would have to change";
    let first = plan(&["revert", "m2", "--dry-run"]);
    assert!(
        first.starts_with("✓ Would go back to just before ") && first.ends_with(end),
        "{first}"
    );
    world.run(&["revert", "m2"], b"").exits(0);
    let first = plan(&["undo", "--dry-run"]);
    assert!(
        first.starts_with("✓ Would undo the revert ") && first.ends_with(end),
        "{first}"
    );
    let first = plan(&["revert", "m2", "--dry-run"]);
    assert!(first.starts_with("Nothing to do"), "it is there: {first}");
    world.run(&["undo"], b"").exits(0);
    world.run(&["undo"], b"").exits(0);
    world.run(&["unrevert"], b"").exits(0);
    let first = plan(&["redo", "--dry-run"]);
    assert!(
        first.starts_with("Nothing to do"),
        "nothing is reverted: {first}"
    );
}

/// The browser shows what moves gits state.
///
/// Invariant `truth/way-out`.
#[test]
fn browser_shows_what_moves_gits_state() {
    let world = Sandbox::new();
    let commit = |text: &str| {
        world.write("a", text);
        world.run_git(&["add", "a"]);
        world.run_git(&["commit", "-qm", text]);
    };
    world.run_git(&["init", "-qb", "main"]);
    commit("first");
    world.play("m1", "commit it", |_| commit("agent"));
    world.run(&["revert", "last", "--git"], b"").exits(0);
    world.run(&["undo"], b"").exits(0);
    commit("mine");
    let Some(mut screen) = Screen::open(&world, 150, "stty rows 30; ckpt-hook ui") else {
        return;
    };
    screen.wait_for("commit it");
    screen.press("u");
    screen.wait_for("Kept branch main: `git update-ref refs/heads/main");
}
