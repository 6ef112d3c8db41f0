//! `-p`: hunks are picked one by one, as `git checkout -p` asks.

use expect_test::expect;
use serde_json::{Value, json};

use crate::screen::Screen;
use crate::serve::Client;
use testing::binary::{Run, Sandbox, finish};

fn lines(change: &[(usize, &str)]) -> String {
    let line = |number: usize| {
        let changed = change.iter().find(|(changed, _)| *changed == number);
        changed.map_or_else(|| format!("{number}\n"), |(_, text)| format!("{text}\n"))
    };
    (1..=30).map(line).collect()
}

/// A message that changes three lines, two of them close to each other, and makes a file.
fn world() -> Sandbox {
    let world = Sandbox::new();
    world.write("numbers", lines(&[]));
    world.play("m1", "Spell some numbers", |world| {
        world.write(
            "numbers",
            lines(&[(3, "three"), (5, "five"), (25, "twenty-five")]),
        );
        world.write("new", "new\n");
    });
    world
}

fn answer(world: &Sandbox, arguments: &[&str], answers: &str) -> Run {
    world.run(arguments, answers.replace(' ', "\n").as_bytes())
}

/// A choice of hunks and a restore name the message whose changes they take back, and their undo does.
#[test]
fn choice_and_restore_name_their_message() {
    let world = world();
    let said = |words: &[&str], answers: &str| {
        let run = answer(&world, words, answers).exits(0);
        let line = run.stdout.lines().find(|line| line.contains("✓ "));
        line.unwrap_or_else(|| panic!("{run}")).to_owned()
    };
    let part = "Undid a part of the changes since “Spell some numbers” (";
    let line = said(&["revert", "last", "-p"], "y q ");
    assert!(line.contains(part), "{line}");
    let undo = said(&["undo"], "");
    let named = "(a part, since “Spell some numbers”)";
    assert!(undo.contains(named), "{undo}");
    let line = said(&["restore", "last", "numbers"], "");
    let state = "Restored to just before “Spell some numbers” (";
    assert!(line.contains(state), "{line}");
    let undo = said(&["undo"], "");
    assert!(undo.contains(named), "{undo}");
    said(&["restore", "last"], "");
    let undo = said(&["undo"], "");
    assert!(undo.contains("(“Spell some numbers”)"), "{undo}");
}

#[test]
fn only_what_was_said_yes_to_is_undone() {
    let world = world();
    let run = answer(&world, &["revert", "last", "-p"], "n s n y q ").exits(0);
    expect![[r#"
        diff --git a/new b/new
        deleted file mode 100644
        index 123…..123…
        --- a/new
        +++ /dev/null
        @@ -1 +0,0 @@
        -new
        (1/1) Apply deletion to the workspace [y,n,q,a,d,p,?]? diff --git a/numbers b/numbers
        index 123…..123… 100644
        --- a/numbers
        +++ b/numbers
        @@ -1,8 +1,8 @@
         1
         2
        -three
        +3
         4
        -five
        +5
         6
         7
         8
        (1/2) Apply this hunk to the workspace [y,n,q,a,d,j,J,g,/,s,e,p,?]? Split into 2 hunks.
        @@ -1,6 +1,6 @@
         1
         2
        -three
        +3
         4
         five
         6
        (1/3) Apply this hunk to the workspace [y,n,q,a,d,j,J,g,/,e,p,?]? @@ -2,7 +2,7 @@
         2
         three
         4
        -five
        +5
         6
         7
         8
        (2/3) Apply this hunk to the workspace [y,n,q,a,d,K,j,J,g,/,e,p,?]? @@ -22,7 +22,7 @@
         22
         23
         24
        -twenty-five
        +25
         26
         27
         28
        (3/3) Apply this hunk to the workspace [y,n,q,a,d,K,g,/,e,p,?]? ✓ Undid a part of the changes since “Spell some numbers” (12345678)
          restored  +1  -1  numbers
        To undo this: ckpt-hook undo
    "#]]
    .assert_eq(&world.redact(&run.stdout));
    let expected = lines(&[(3, "three"), (25, "twenty-five")]);
    assert_eq!(world.read("numbers"), expected.as_bytes());
    assert_eq!(world.read("new"), b"new\n", "it was said no to");
}

#[test]
fn undo_redo_and_restore_ask_too() {
    let world = world();
    world.run(&["revert", "last"], b"").exits(0);
    answer(&world, &["redo", "-p"], "d n y ").exits(0);
    assert_eq!(
        world.read("numbers"),
        lines(&[(25, "twenty-five")]).as_bytes(),
        "one hunk forward"
    );
    let world = self::world();
    world.run(&["revert", "last"], b"").exits(0);
    answer(&world, &["undo", "-p"], "y q ").exits(0);
    assert_eq!(world.read("new"), b"new\n", "taken back in part");
    assert_eq!(
        world.read("numbers"),
        lines(&[]).as_bytes(),
        "the rest was not"
    );
    answer(&world, &["restore", "last", "-p", "new"], "a ").exits(0);
    assert!(!world.workspace().join("new").exists(), "one path alone");
}

#[test]
fn nothing_is_done_where_nothing_is_said() {
    let world = world();
    let before = world.tree();
    for answers in ["", "q ", "n n n ", "? / twenty\nz g 9 j k"] {
        let run = answer(&world, &["revert", "last", "-p"], answers).exits(0);
        assert!(run.stdout.ends_with("Nothing was changed.\n"), "{run}");
        assert_eq!(world.tree(), before, "after {answers:?}");
    }
    let run = answer(&world, &["revert", "last", "-p", "--dry-run"], "a a ").exits(0);
    assert!(run.stdout.contains("Would undo a part"), "{run}");
    assert_eq!(world.tree(), before, "a dry run");
    world.run(&["--json", "revert", "last", "-p"], b"").exits(2);
}

/// Where there is nothing to choose no message is said to be hidden.
#[test]
fn without_a_choice_no_message_is_hidden() {
    let world = Sandbox::new();
    world.play("m1", "only ask", |_| ());
    let run = answer(&world, &["revert", "last", "-p"], "").exits(0);
    assert!(run.stdout.starts_with("Nothing to do"), "{run}");
    assert!(!run.stdout.contains("hidden"), "`-p` hides none: {run}");
}

#[test]
fn a_hunk_can_be_edited() {
    let world = world();
    let script = "#!/bin/sh\nsed -i 's/^+25$/+XXV/' \"$1\"\n";
    world.write("../home/editor", script);
    let mut command = world.command(&["revert", "last", "-p", "--only", "numbers"]);
    command.env(
        "EDITOR",
        format!("/bin/sh '{}'", world.home().join("editor").display()),
    );
    let run = finish(&mut command, b"n\ne\n").exits(0);
    let expected = lines(&[(3, "three"), (5, "five"), (25, "XXV")]);
    assert_eq!(world.read("numbers"), expected.as_bytes(), "{run}");
    let world = self::world();
    let expected = world.read("numbers");
    let mut command = world.command(&["revert", "last", "-p", "--only", "numbers"]);
    command.env("EDITOR", "sed -i 's/^ 26$/ 27/'");
    let run = finish(&mut command, b"n\ne\nn\n").exits(0);
    assert!(run.stdout.contains("does not apply"), "{run}");
    assert_eq!(world.read("numbers"), expected, "left as it was");
}

/// At a terminal a message can be chosen first.
#[test]
fn message_can_be_chosen_at_a_terminal() {
    let world = world();
    let Some(mut screen) = Screen::open(&world, 60, "ckpt-hook revert -p") else {
        return;
    };
    screen.wait_for("Spell some numbers");
    screen.press("\r");
    screen.wait_for("(1/1) Apply deletion");
    screen.press("y\r");
    // To its end, or the answer is shown before the rest of the question.
    screen.wait_for("s,e,p,?]?");
    screen.press("d\r");
    screen.end();
    assert!(
        screen.contents().contains("removed"),
        "{}",
        screen.contents()
    );
    assert_eq!(screen.wrapped(), None, "{}", screen.contents());
    assert!(
        !world.workspace().join("new").exists(),
        "it was said yes to"
    );
    let expected = lines(&[(3, "three"), (5, "five"), (25, "twenty-five")]);
    assert_eq!(
        world.read("numbers"),
        expected.as_bytes(),
        "and no to the rest"
    );
}

/// A client applies the files and hunks of plans that it chose.
#[test]
fn client_applies_chosen_parts() {
    let world = Sandbox::new();
    world.write("long", lines(&[]));
    world.play("m1", "all", |world| {
        world.write("long", lines(&[(5, "five"), (25, "25!")]));
        world.write("made", "1\n");
        world.write("mine", "1\n");
    });
    world.write("mine", "2\n");
    let mut client = Client::start(&world);
    let asked = json!({"message": "m1", "contents": true});
    let plan = client.call("plan", asked);
    let files = plan["report"]["files"].as_array().expect("files");
    let long = files
        .iter()
        .find(|file| file["path"] == "long")
        .expect("it");
    let hunk = &long["contents"]["hunks"][1];
    let overwriting = json!({"message": "m1", "on_conflict": "overwrite", "only": ["mine"]});
    let other = client.call("plan", overwriting);
    let apply = |parts: &Value| json!({"plan": plan["plan"], "parts": parts});
    for wrong in [
        json!([]),
        json!([{"path": "nowhere"}]),
        json!([{"path": "mine"}]),
        json!([{"path": "made"}, {"path": "made"}]),
        json!([{"path": "long", "hunks": [{"old_start": 12, "old_lines": 3}]}]),
        json!([{"path": "long", "hunks": []}]),
    ] {
        let error = client.refused("apply", apply(&wrong));
        assert_eq!(error["code"], -32602, "{wrong}: {error:#}");
    }
    assert_eq!(world.read("made"), b"1\n", "nothing was done");
    // Each part is of the plan that was seen.
    world.write("mine", "3\n");
    let mine = json!([{"path": "mine", "plan": other["plan"]}]);
    let error = client.refused("apply", apply(&mine));
    assert_eq!(error["data"]["kind"], "stale", "{error:#}");
    assert_eq!(world.read("mine"), b"3\n");
    world.write("mine", "2\n");
    let parts = json!([
        {"path": "long", "hunks": [hunk]},
        {"path": {"path": "mine"}, "plan": other["plan"]},
    ]);
    let once = json!({"plan": plan["plan"], "parts": parts, "key": "request-1"});
    let done = client.call("apply", once.clone());
    let again = client.call("apply", once);
    assert_eq!(again["operation"], done["operation"], "it is done once");
    assert_eq!(
        world.read("long"),
        lines(&[(5, "five")]).into_bytes(),
        "a hunk"
    );
    assert!(!world.workspace().join("mine").exists(), "on its own terms");
    assert_eq!(world.read("made"), b"1\n", "what was not chosen stays");
    let status = client.call("status", json!({}));
    assert_eq!(status["messages_hidden"], json!([]), "it is a part");
    client.call("undo", json!({}));
    assert_eq!(world.read("mine"), b"2\n", "and back");
}

/// A part of the plan of an undo is an undo as well.
#[test]
fn part_of_undo_takes_operation_back() {
    let world = Sandbox::new();
    world.play("m1", "both", |world| {
        world.write("a", "1\n");
        world.write("b", "1\n");
    });
    let mut client = Client::start(&world);
    let reverted = client.call("revert", json!({"message": "m1"}));
    let plan = client.call("plan", json!({"operation": "undo"}));
    let asked = json!({"plan": plan["plan"], "parts": [{"path": "a"}]});
    let done = client.call("apply", asked);
    assert_eq!(done["undoes"], reverted["operation"], "{done:#}");
    assert_eq!(world.read("a"), b"1\n");
    assert!(!world.workspace().join("b").exists(), "it was not chosen");
}
