//! Revert, redo and undo on the command line: what they print, and their exit codes.

use expect_test::expect;
use serde_json::json;

use testing::binary::Sandbox;

use crate::session::two_messages;

/// A message whose agent committed.
fn committed() -> Sandbox {
    let world = Sandbox::new();
    world.run_git(&["init", "-q", "-b", "main"]);
    world.write("menu", "bread\n");
    world.run_git(&["add", "menu"]);
    world.run_git(&["commit", "-qm", "open"]);
    world.play("m1", "add cakes", |world| {
        world.write("menu", "bread\ncakes\n");
        world.run_git(&["commit", "-qam", "Sell cakes"]);
    });
    world
}

/// A revert names the commits that stay or moves the branch back.
#[test]
fn revert_names_or_moves_commits() {
    let world = committed();
    let run = world.run(&["revert", "--message", "m1"], b"").exits(0);
    expect![[r#"
        ✓ Went back to just before “add cakes” (12345678)
          restored    -1  menu
        note: the agent made 1 commit since: 12345678 Sell cakes; `--git` moves the branch back
        1 message is hidden until you redo, or send a new one.
        To undo this: ckpt-hook undo
    "#]]
    .assert_eq(&world.redact(&run.stdout));
    let run = world
        .run(&["revert", "--message", "m1", "--git", "--dry-run"], b"")
        .exits(0);
    expect![[r#"
        ✓ Would go back to just before “add cakes” (12345678)
          move      branch main: 12345678 → 12345678
          move      git's index
        1 message would be hidden until you redo, or send a new one.
        This is a plan; nothing was changed.
    "#]]
    .assert_eq(&world.redact(&run.stdout));
    let run = world
        .run(&["revert", "--message", "m1", "--git"], b"")
        .exits(0);
    expect![[r#"
        ✓ Went back to just before “add cakes” (12345678)
          moved      branch main: 12345678 → 12345678
          moved      git's index
        1 message is hidden until you redo, or send a new one.
        To undo this: ckpt-hook undo
    "#]]
    .assert_eq(&world.redact(&run.stdout));
    let operation = world.json(&["log", "--operations"])["operations"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let shown = world.run(&["show", &operation], b"").exits(0).stdout;
    assert!(
        shown.contains("branch main: "),
        "the operation log has it: {shown}"
    );
    let run = world.run(&["unrevert"], b"").exits(0);
    expect![[r#"
        ✓ Went all the way forward; nothing is reverted any more
          restored  +1    menu
          moved           branch main: 12345678 → 12345678
          moved           git's index
        To undo this: ckpt-hook undo
    "#]]
    .assert_eq(&world.redact(&run.stdout));
}

#[test]
fn what_git_keeps_is_named_with_its_reason() {
    let world = committed();
    world.write("notes", "mine\n");
    world.run_git(&["add", "notes"]);
    world.run_git(&["commit", "-qm", "Note"]);
    let run = world
        .run(&["revert", "--message", "m1", "--git"], b"")
        .exits(3);
    expect![[r#"
        ! Went back to just before “add cakes” (12345678), but not everything
          restored    -1  menu
          kept            branch main (changed since by you or another program)
          kept            git's index (changed since by you or another program)
        Yours stays: notes.
        Kept branch main: `git update-ref refs/heads/main 123… 123…` moves it back, and what was committed since leaves it.
        Kept git's index: no command puts that index back and keeps what was staged since; `git restore --staged FILE` unstages a file.
        1 message is hidden until you redo, or send a new one.
        To undo this: ckpt-hook undo
    "#]]
    .assert_eq(&world.redact(&run.stdout));
    let document = world.json(&[
        "show",
        world.json(&["log", "--operations"])["operations"][0]["id"]
            .as_str()
            .expect("an id"),
    ]);
    assert_eq!(
        document["git"][0]["result"], "conflict",
        "programs can read it: {document}"
    );
}

/// A revert says what came back and how to undo it.
#[test]
fn revert_says_what_came_back() {
    let world = two_messages();
    let after = world.tree();
    let run = world.run(&["revert", "--message", "m1"], b"").exits(0);
    expect![[r#"
        ✓ Went back to just before “add cakes” (12345678)
          restored      -1  menu
          restored  +1      notes
          removed       -1  recipes/cake
        2 messages are hidden until you redo, or send a new one.
        To undo this: ckpt-hook undo, or one message at a time: ckpt-hook redo
    "#]]
    .assert_eq(&world.redact(&run.stdout));
    let status = world.run(&["status"], b"").exits(0);
    expect![[r#"
        Workspace  WORKSPACE
        Session    12345678 (generic)

        Reverted to just before “add cakes” (12345678): 2 messages are hidden
          12345678  add cakes
          12345678  tidy up

        Files that the revert changed:
          restored      -1  menu
          restored  +1      notes
          removed       -1  recipes/cake

        `ckpt-hook redo` brings back the first of these messages, `ckpt-hook unrevert` all of them.
        Your next message to the agent makes the revert permanent; `ckpt-hook log --operations` still leads back.
    "#]]
    .assert_eq(&world.redact(&status.stdout));
    let redo = world.run(&["redo"], b"").exits(0);
    assert!(
        redo.stdout
            .starts_with("✓ Went forward, to just before “tidy up”"),
        "one message: {redo}"
    );
    let unrevert = world.run(&["unrevert"], b"").exits(0);
    assert!(
        unrevert.stdout.starts_with("✓ Went all the way forward"),
        "all of them: {unrevert}"
    );
    assert_eq!(world.tree(), after, "byte for byte");
}

/// A point that moves over no file says that it moved.
#[test]
fn point_that_moves_over_no_file_says_so() {
    let world = two_messages();
    world.play("m3", "only talk", |_| {});
    let revert = world.run(&["revert", "--message", "m3"], b"").exits(0);
    assert!(
        revert
            .stdout
            .starts_with("✓ Went back to just before “only talk”"),
        "a message is hidden: {revert}"
    );
    assert!(
        revert
            .stdout
            .lines()
            .next()
            .is_some_and(|line| line.ends_with("; no file had to change")),
        "{revert}"
    );
    let unrevert = world.run(&["unrevert"], b"").exits(0);
    assert!(
        unrevert.stdout.starts_with("✓ Went all the way forward"),
        "and it is not any more: {unrevert}"
    );
    let again = world.run(&["unrevert"], b"").exits(0);
    assert!(
        again.stdout.starts_with("Nothing to do"),
        "now nothing is reverted: {again}"
    );
}

/// A part that is undone is called a part.
#[test]
fn part_undone_is_called_a_part() {
    let world = two_messages();
    let run = world
        .run(&["revert", "--message", "m1", "--only", "menu"], b"")
        .exits(0);
    assert!(
        run.stdout
            .starts_with("✓ Undid a part of the changes since “"),
        "no message is hidden: {run}"
    );
}

/// Status tells of a part that is undone until it is brought back.
#[test]
fn status_tells_of_an_undone_part() {
    let world = two_messages();
    world
        .run(&["revert", "--message", "m1", "--only", "menu"], b"")
        .exits(0);
    let status = world.run(&["status"], b"").exits(0);
    let (_, banner) = status.stdout.split_once("\n\n").expect("a heading");
    assert!(
        banner.starts_with("Undone in part: no message is hidden\n"),
        "{status}"
    );
    assert!(
        banner.contains("  menu\n") && banner.contains("`ckpt-hook unrevert` brings that back"),
        "{status}"
    );
    world.run(&["unrevert"], b"").exits(0);
    let status = world.run(&["status"], b"").exits(0);
    assert!(status.stdout.contains("✓ Nothing is reverted"), "{status}");
}

/// The printed way back gives the former state whatever was done.
#[test]
fn printed_way_back_gives_the_former_state() {
    let revert = ["revert", "--message", "m2"];
    let part = ["revert", "--message", "m1", "--only", "menu"];
    let cases: [(&[&[&str]], &[&str]); 8] = [
        (&[], &revert),
        (&[], &part),
        (&[&revert], &part),
        (&[&part], &["revert", "--message", "m1", "--only", "notes"]),
        (&[&revert], &["revert", "--message", "m1"]),
        (&[&["revert", "--message", "m1"]], &["redo"]),
        (&[&revert], &["unrevert"]),
        (&[], &["restore", "m1"]),
    ];
    for (before, command) in cases {
        let world = two_messages();
        before
            .iter()
            .for_each(|command| _ = world.run(command, b"").exits(0));
        let former = world.tree();
        let run = world.run(command, b"").exits(0);
        assert_ne!(world.tree(), former, "{command:?} does something: {run}");
        let (_, way) = run
            .stdout
            .split_once("To undo this: ckpt-hook ")
            .expect("it is said");
        let way: Vec<&str> = way
            .split([',', '\n'])
            .next()
            .expect("a command")
            .split(' ')
            .collect();
        world.run(&way, b"").exits(0);
        assert_eq!(
            world.tree(),
            former,
            "{way:?} is the way back from {command:?} after {before:?}"
        );
    }
}

/// A part of a reverted session is called a part.
#[test]
fn part_of_a_reverted_session_is_called_one() {
    let world = two_messages();
    world.run(&["revert", "--message", "m2"], b"").exits(0);
    let run = world
        .run(&["revert", "--message", "m1", "--only", "menu"], b"")
        .exits(0);
    assert!(
        run.stdout
            .starts_with("✓ Undid a part of the changes since “"),
        "the point stays where it is: {run}"
    );
}

/// A path that the agent never changed is exit code 4 and says so.
#[test]
fn unchanged_path_exits_with_4() {
    let world = two_messages();
    let before = world.tree();
    let run = world
        .run(&["revert", "--message", "m1", "--only", "nosuch"], b"")
        .exits(4);
    assert!(
        run.stderr
            .contains("the agent changed nothing at or below `nosuch` since that message"),
        "{run}"
    );
    let run = world.run(&["restore", "m1", "nosuch"], b"").exits(4);
    assert!(
        run.stderr
            .contains("nothing was captured at `nosuch`, neither then nor now"),
        "{run}"
    );
    assert_eq!(world.tree(), before, "nothing was touched");
    let run = world
        .run(
            &[
                "revert",
                "--message",
                "m1",
                "--only",
                "menu",
                "--only",
                "nosuch",
            ],
            b"",
        )
        .exits(0);
    assert!(
        run.stdout
            .contains("note: the agent changed nothing at or below `nosuch`"),
        "beside a known one: {run}"
    );
}

#[test]
fn a_plan_changes_nothing() {
    let world = two_messages();
    let before = world.tree();
    let run = world
        .run(&["revert", "--message", "last", "--dry-run"], b"")
        .exits(0);
    assert!(
        run.stdout.contains("This is a plan; nothing was changed."),
        "it says so: {run}"
    );
    assert_eq!(world.tree(), before, "and it is so");
}

/// What the user changed is kept and the exit code says so.
#[test]
fn kept_edits_exit_with_3() {
    let world = two_messages();
    world.write("recipes/cake", "flour and my own sugar\n");
    let run = world.run(&["revert", "--message", "m1"], b"").exits(3);
    assert!(run.stdout.contains("kept"), "the file is named: {run}");
    assert_eq!(
        world.read("recipes/cake"),
        b"flour and my own sugar\n",
        "and still there"
    );
}

/// An agent at work is exit code 5 and force goes on.
#[test]
fn busy_agent_exits_with_5_unless_forced() {
    let world = two_messages();
    world
        .event(json!({"event": "user_message", "session_id": "s", "message_id": "m3"}))
        .ends_silently();
    let tool =
        json!({"event": "tool_start", "session_id": "s", "tool_name": "Bash", "tool_use_id": "t"});
    world.event(tool).ends_silently();
    let run = world.run(&["revert", "--message", "m2"], b"").exits(5);
    assert!(run.stderr.contains("--force"), "the hint says how: {run}");
    world
        .run(&["revert", "--message", "m2", "--force"], b"")
        .exits(0);
}

/// An undo is taken back by another and leaves what was changed since.
///
/// Invariant `work/undo-again`: A second `undo` takes back the first, also where the revert had
/// overwritten what the user changed, and keeps what was changed since; a plan says what it
/// will do.
#[test]
fn undo_of_an_undo_leaves_later_changes() {
    let world = two_messages();
    let former = world.tree();
    let nothing = world.run(&["undo"], b"").exits(4);
    assert!(nothing.stderr.contains("nothing to undo"), "{nothing}");
    world.run(&["rewind", "last"], b"").exits(0);
    let reverted = world.tree();
    let plan = world.run(&["undo", "--dry-run"], b"").exits(0);
    assert_eq!(world.tree(), reverted, "a plan does nothing: {plan}");
    world.run(&["undo"], b"").exits(0);
    assert_eq!(world.tree(), former, "the revert is undone");
    world.run(&["undo"], b"").exits(0);
    assert_eq!(world.tree(), reverted, "and the undo as well");
    world.run(&["undo"], b"").exits(0);
    world.run(&["restore", "m1"], b"").exits(0);
    let changed = world
        .run(&["show", "--name-only", &newest_operation(&world)], b"")
        .exits(0);
    let name = changed
        .stdout
        .lines()
        .next()
        .expect("it changed a file")
        .to_owned();
    world.write(&name, "mine\n");
    let run = world.run(&["undo"], b"");
    assert_eq!(
        world.read(&name),
        b"mine\n",
        "what was changed since stays: {run}"
    );
    assert!(
        run.code == Some(3) && run.stdout.contains("since by you"),
        "and it is said: {run}"
    );
}

#[test]
fn an_undo_says_which_operation_it_took_back() {
    let world = two_messages();
    world.run(&["restore", "m1"], b"").exits(0);
    let plan = world.run(&["undo", "--dry-run"], b"").exits(0);
    assert!(
        plan.stdout.starts_with("✓ Would undo the restore "),
        "{plan}"
    );
    let run = world.run(&["undo"], b"").exits(0);
    assert!(run.stdout.starts_with("✓ Undid the restore "), "{run}");
    world.run(&["revert", "m1"], b"").exits(0);
    world.run(&["unrevert"], b"").exits(0);
    world.run(&["revert", "m1", "--alone"], b"").exits(0);
    world.run(&["revert", "m2", "--alone"], b"").exits(0);
    let run = world.run(&["undo"], b"").exits(0);
    let first = run.stdout.lines().next().unwrap_or_default();
    assert!(
        first.starts_with("✓ Undid the revert of “") && first.ends_with(" alone"),
        "{run}"
    );
}

fn newest_operation(world: &Sandbox) -> String {
    let operations = world.json(&["history", "--operations"]);
    operations["operations"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned()
}

/// A file of the user's that a revert overwrote, and that an undo brought back.
fn overwritten_and_back() -> Sandbox {
    let world = Sandbox::new();
    world.write("file", "first\n");
    world.play("m1", "change it", |world| {
        world.write("file", "the agent's\n")
    });
    world.write("file", "mine\n");
    let revert = ["revert", "m1", "--on-conflict", "overwrite"];
    world.run(&revert, b"").exits(0);
    assert_eq!(world.read("file"), b"first\n");
    world.run(&["undo"], b"").exits(0);
    assert_eq!(world.read("file"), b"mine\n", "it goes back");
    world
}

/// A second undo takes back the first whatever else was changed since.
///
/// Invariant `work/undo-again`.
#[test]
fn second_undo_takes_back_the_first() {
    for is_changed in [false, true] {
        let world = overwritten_and_back();
        if is_changed {
            world.write("other", "mine, too\n");
        }
        world.run(&["undo"], b"").exits(0);
        assert_eq!(world.read("file"), b"first\n", "and forth");
        world.run(&["undo"], b"").exits(0);
        assert_eq!(world.read("file"), b"mine\n", "and back again");
        if is_changed {
            assert_eq!(world.read("other"), b"mine, too\n", "it stays");
        }
    }
}

/// A second undo keeps a file that was changed since the first.
///
/// Invariant `work/undo-again`.
#[test]
fn second_undo_keeps_later_changes() {
    let world = overwritten_and_back();
    world.write("file", "mine, and more\n");
    let run = world.run(&["undo"], b"").exits(3);
    assert!(run.stdout.contains("file"), "it is named: {run}");
    assert_eq!(
        world.read("file"),
        b"mine, and more\n",
        "nobody said it again"
    );
}

/// The plan of an undo of a revert that changed no file is what it does.
///
/// Invariant `work/undo-again`.
#[test]
fn plan_of_an_empty_reverts_undo_is_right() {
    let world = Sandbox::new();
    world.write("file", "first\n");
    world.play("m1", "change it", |world| {
        world.write("file", "the agent's\n")
    });
    world.write("file", "first\n");
    world.run(&["revert", "m1"], b"").exits(0);
    world.write("file", "mine\n");
    let plan = world.run(&["undo", "--dry-run"], b"");
    let done = world.run(&["undo"], b"");
    assert_eq!(plan.code, done.code, "{plan} {done}");
    assert_eq!(world.read("file"), b"mine\n", "{done}");
}

/// An undo after a newer message puts back what that message did not change.
#[test]
fn undo_after_a_message_spares_its_changes() {
    let world = two_messages();
    let before = world.tree();
    world.run(&["revert", "m2"], b"").exits(0);
    let changed = world.json(&["show", "--name-only", &newest_operation(&world)]);
    let changed = changed["changes"].as_array().expect("files").len();
    assert!(changed > 0, "there is something to put back");
    world.play("m3", "something else", |world| {
        world.write("other", "of m3\n")
    });
    let reverted = world.tree();
    let run = world.run(&["undo"], b"").exits(0);
    assert!(run.stdout.starts_with("✓ Undid the revert "), "{run}");
    let mut wanted = before;
    let other = std::path::PathBuf::from("other");
    wanted.insert(other.clone(), reverted[&other].clone());
    assert_eq!(world.tree(), wanted, "m2 is back beside m3: {run}");
    world.run(&["undo"], b"").exits(0);
    assert_eq!(world.tree(), reverted, "and away again");
}
