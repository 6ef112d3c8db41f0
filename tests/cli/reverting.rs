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

#[test]
fn a_revert_names_the_commits_that_stay_or_moves_the_branch_back() {
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
          kept            branch main (changed since by the user or another program)
          kept            git's index (changed since by the user or another program)
        1 other path differs from that state: changed since, outside any step (notes).
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

#[test]
fn a_revert_says_what_came_back_and_how_to_undo_it() {
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

        `ckpt-hook redo` brings back the first of them, `ckpt-hook unrevert` all of them.
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

#[test]
fn a_point_that_moves_over_no_file_says_that_it_moved() {
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

#[test]
fn a_part_that_is_undone_is_called_a_part() {
    let world = two_messages();
    let run = world
        .run(&["revert", "--message", "m1", "--only", "menu"], b"")
        .exits(0);
    assert!(
        run.stdout.starts_with("✓ Undid this part\n"),
        "no message is hidden: {run}"
    );
}

#[test]
fn status_tells_of_a_part_that_is_undone_until_it_is_brought_back() {
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
        banner.contains("  menu\n") && banner.contains("`ckpt-hook unrevert` brings it back"),
        "{status}"
    );
    world.run(&["unrevert"], b"").exits(0);
    let status = world.run(&["status"], b"").exits(0);
    assert!(status.stdout.contains("✓ Nothing is reverted"), "{status}");
}

#[test]
fn the_printed_way_back_gives_the_former_state_whatever_was_done() {
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

#[test]
fn a_part_of_a_reverted_session_is_called_a_part() {
    let world = two_messages();
    world.run(&["revert", "--message", "m2"], b"").exits(0);
    let run = world
        .run(&["revert", "--message", "m1", "--only", "menu"], b"")
        .exits(0);
    assert!(
        run.stdout.starts_with("✓ Undid this part\n"),
        "the point stays where it is: {run}"
    );
}

#[test]
fn a_path_that_the_agent_never_changed_is_exit_code_4_and_says_so() {
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

#[test]
fn what_the_user_changed_is_kept_and_the_exit_code_says_so() {
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

#[test]
fn an_agent_at_work_is_exit_code_5_and_force_goes_on() {
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

/// Invariant `work/undo-again`: A second `undo` takes back the first, also where the revert had
/// overwritten what the user changed, and keeps what was changed since; a plan says what it
/// will do.
#[test]
fn an_undo_is_taken_back_by_another_and_leaves_what_was_changed_since() {
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
        run.code == Some(3) && run.stdout.contains("since by the user"),
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

/// Invariant `work/undo-again`.
#[test]
fn a_second_undo_takes_back_the_first_whatever_else_was_changed_since() {
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

/// Invariant `work/undo-again`.
#[test]
fn a_second_undo_keeps_a_file_that_was_changed_since_the_first() {
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

/// Invariant `work/undo-again`.
#[test]
fn the_plan_of_an_undo_of_a_revert_that_changed_no_file_is_what_it_does() {
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

#[test]
fn an_undo_after_a_newer_message_puts_back_what_that_message_did_not_change() {
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
