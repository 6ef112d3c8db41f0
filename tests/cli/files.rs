//! `cat` and `recover`: a file as it was, and files that are gone.

use serde_json::{Value, json};
use testing::binary::Sandbox;

fn world() -> Sandbox {
    let world = Sandbox::new();
    world.write("src/a.txt", "0\n");
    world.write("notes.md", "mine\n");
    world.play("m1", "write it", |world| world.write("src/a.txt", "1\n"));
    world.play("m2", "clean up", |world| {
        world.remove("src/a.txt");
        world.remove("notes.md");
    });
    world
}

/// A file is printed as it was at any id.
#[test]
fn file_is_printed_as_at_any_id() {
    let world = world();
    world.run(&["label", "m1", "at 12:00"], b"").exits(0);
    let operation = || {
        let log = world.json(&["log", "--operations"]);
        log["operations"][0]["id"]
            .as_str()
            .expect("an id")
            .to_owned()
    };
    for (id, expected) in [
        ("m1", "0\n"),
        ("m2", "1\n"),
        ("last", "1\n"),
        ("at 12:00", "0\n"),
    ] {
        let run = world
            .run(&["cat", &format!("{id}:src/a.txt")], b"")
            .exits(0);
        assert_eq!(run.stdout, expected, "{id}");
    }
    world.run(&["revert", "--message", "m2"], b"").exits(0);
    world.run(&["restore", "m1", "src/a.txt"], b"").exits(0);
    let run = world
        .run(&["cat", &format!("{}:src/a.txt", operation())], b"")
        .exits(0);
    assert_eq!(run.stdout, "1\n", "before an operation");
}

/// Bytes go through a pipe as they are and into a document.
#[test]
fn bytes_pass_a_pipe_and_a_document() {
    let world = Sandbox::new();
    world.play("m1", "x", |world| world.write("b", b"\x1b[2J\xff\0"));
    world.play("m2", "y", |_| ());
    let mut command = world.command(&["cat", "m2:b"]);
    let output = command.output().expect("it starts");
    assert_eq!(output.stdout, b"\x1b[2J\xff\0", "to the byte");
    let document = world.json(&["cat", "m2:b"]);
    assert_eq!(
        (
            &document["content"],
            &document["content_hex"],
            &document["size"]
        ),
        (&json!(null), &json!("1b5b324aff00"), &json!(6)),
        "{document}"
    );
}

#[test]
fn what_cat_cannot_print_is_said() {
    let world = world();
    std::os::unix::fs::symlink("target", world.workspace().join("link")).expect("a link");
    world.run(&["snapshot", "--label", "linked"], b"").exits(0);
    let run = world.run(&["cat", "linked:link"], b"").exits(0);
    assert_eq!(run.stdout, "target", "where it points");
    assert!(run.stderr.contains("symbolic link"), "{run}");
    for (argument, code, words) in [
        ("m1:src", 1, "is a directory"),
        ("m1:none", 4, "there is no `none`"),
        ("nothing:src/a.txt", 4, "nothing with the id `nothing`"),
        ("m1", 2, "with a colon"),
        ("m1:", 2, "with a colon"),
        (":a", 2, "with a colon"),
        ("m1:../outside", 2, "/outside` is not captured"),
    ] {
        let run = world.run(&["cat", argument], b"").exits(code);
        assert!(run.stderr.contains(words), "{argument}: {run}");
        assert!(!run.stderr.contains("/../"), "{argument}: {run}");
    }
}

/// A file that is gone is listed with who took it and put back.
#[test]
fn missing_file_is_listed_with_its_remover() {
    let world = world();
    let list = world.run(&["recover", "--deleted"], b"").exits(0);
    assert!(list.stdout.contains("notes.md"), "{list}");
    assert!(
        list.stdout.contains("“clean up”"),
        "whose change took it: {list}"
    );
    let plan = world
        .run(&["recover", "notes.md", "--dry-run"], b"")
        .exits(0);
    assert!(
        !world.workspace().join("notes.md").exists(),
        "only planned: {plan}"
    );
    world.run(&["recover", "notes.md"], b"").exits(0);
    assert_eq!(world.read("notes.md"), b"mine\n", "as it was");
    world.run(&["recover", "a.txt"], b"").exits(0);
    assert_eq!(world.read("src/a.txt"), b"1\n", "by its name alone");
    let list = world.run(&["recover"], b"").exits(0);
    assert_eq!(list.stdout, "No captured file is gone.\n", "all is there");
    world.run(&["recover", "notes.md"], b"").exits(4);
    world.run(&["recover", "never"], b"").exits(4);
}

/// A file that was renamed is listed with what it became.
#[test]
fn renamed_file_is_listed_with_its_new_name() {
    let world = Sandbox::new();
    world.write("old", "1\n2\n3\n4\n5\n");
    world.write("gone", "another\n");
    world.play("m1", "rename it", |world| {
        world.remove("old");
        world.remove("gone");
        world.write("new", "1\n2\n3\n4\n5\n6\n");
    });
    let list = world.run(&["recover"], b"").exits(0);
    let row = |name: &str| list.stdout.lines().find(|line| line.starts_with(name));
    let is_renamed = |name| row(name).is_some_and(|row| row.starts_with("old → new "));
    assert!(is_renamed("old"), "its lines are there: {list}");
    assert!(row("gone").is_some() && !is_renamed("gone"), "{list}");
    let report = world.json(&["recover"]);
    let files = report["files"].as_array().expect("a list");
    let old = files.iter().find(|file| file["path"] == "old");
    assert_eq!(old.expect("it is listed")["renamed_to"]["path"], "new");
    world.run(&["recover", "old"], b"").exits(0);
    assert_eq!(world.read("old"), b"1\n2\n3\n4\n5\n", "all the same");
}

/// Files that moved with their folder are one row.
#[test]
fn renamed_folder_is_one_row() {
    let world = Sandbox::new();
    let names = ["one", "two", "three"];
    for name in names {
        world.write(&format!("tools/{name}"), format!("1\n2\n{name}\n"));
    }
    world.play("m1", "rename it", |world| {
        for name in names {
            world.remove(&format!("tools/{name}"));
            world.write(&format!("scripts/{name}"), format!("1\n2\n{name}\n"));
        }
    });
    let list = world.run(&["recover"], b"").exits(0);
    let first = list.stdout.lines().next().unwrap_or_default();
    assert!(first.starts_with("3 files tools/ → scripts/ "), "{list}");
    assert!(list.stdout.ends_with("\n3 files\n"), "{list}");
    world.run(&["revert", "m1"], b"").exits(0);
    let list = world.run(&["recover"], b"").exits(0);
    let first = list.stdout.lines().next().unwrap_or_default();
    assert!(
        first.starts_with("3 files scripts/ → tools/ "),
        "a revert moves, too: {list}"
    );
}

/// A directory that is gone comes back in one operation.
#[test]
fn missing_directory_comes_back_in_one_operation() {
    let world = Sandbox::new();
    for name in ["d/one", "d/deep/two"] {
        world.write(name, name);
    }
    world.play("m1", "begin", |_| ());
    world.play("m2", "remove one", |world| world.remove("d/one"));
    world.play("m3", "remove the other", |world| world.remove("d/deep/two"));
    let report = world.json(&["recover", "d"]);
    assert_eq!(
        report["files"].as_array().map(Vec::len),
        Some(2),
        "{report}"
    );
    assert_eq!(report["operation"]["outcome"], "restored", "{report}");
    assert_eq!(world.read("d/one"), b"d/one", "taken by one message");
    assert_eq!(world.read("d/deep/two"), b"d/deep/two", "and by another");
}

/// What went since the last snapshot and what a revert took comes back too.
#[test]
fn unsnapshotted_and_reverted_files_come_back() {
    let world = Sandbox::new();
    world.play("m1", "make it", |world| {
        world.write("kept", "1\n");
        world.write("made", "2\n");
    });
    world.remove("kept");
    let report = world.json(&["recover", "--deleted"]);
    assert_eq!(report["files"][0]["by"], "uncaptured", "{report}");
    world.run(&["recover", "kept"], b"").exits(0);
    assert_eq!(world.read("kept"), b"1\n", "from the newest snapshot");
    world.run(&["revert", "--message", "m1"], b"");
    let report = world.json(&["recover", "made"]);
    assert_eq!(report["files"][0]["by"], "operation", "{report}");
    assert_eq!(world.read("made"), b"2\n", "what the revert took");
}

#[test]
fn several_files_of_a_name_are_a_choice() {
    let world = Sandbox::new();
    for name in ["a/same", "b/same"] {
        world.write(name, name);
    }
    world.play("m1", "begin", |_| ());
    world.play("m2", "remove both", |world| {
        world.remove("a/same");
        world.remove("b/same");
    });
    let run = world.run(&["recover", "same"], b"").exits(4);
    assert!(
        run.stderr.contains("`a/same`") && run.stderr.contains("`b/same`"),
        "both are named: {run}"
    );
    world.run(&["recover", "b/same"], b"").exits(0);
    assert!(
        !world.workspace().join("a/same").exists(),
        "only what was named"
    );
}

/// A colon in a label is told from the one behind it by the file that is there.
#[test]
fn colon_in_a_label_is_told_apart() {
    let world = Sandbox::new();
    for (name, content) in [("x", "first\n"), ("b:only", "with a colon\n")] {
        world.write(name, content);
    }
    world.play("m1", "first", |world| {
        world.write("x", "second\n");
        world.write("b:x", "beside\n");
    });
    world.play("m2", "second", |_| ());
    world.run(&["label", "m2", "a"], b"").exits(0);
    world.run(&["label", "m1", "a:b"], b"").exits(0);
    let cat = |named: &str| world.run(&["cat", named], b"");
    assert_eq!(cat("a:x").exits(0).stdout, "second\n", "one label alone");
    assert_eq!(
        cat("a:b:b:only").exits(0).stdout,
        "with a colon\n",
        "the other"
    );
    assert_eq!(
        cat("a:b:only").exits(0).stdout,
        "with a colon\n",
        "only at `a`"
    );
    let unknown = cat("a:b:none").exits(4);
    assert!(
        unknown.stderr.contains("there is no `none`"),
        "of the longest id: {unknown}"
    );
    let both = cat("a:b:x").exits(4);
    for meant in ["`b:x` at `a`", "`x` at `a:b`"] {
        assert!(both.stderr.contains(meant), "{meant} is named: {both}");
    }
    let document: Value =
        serde_json::from_str(&world.run(&["--json", "cat", "a:b:x"], b"").exits(4).stdout)
            .expect("a document");
    assert_eq!(document["error"]["kind"], "ambiguous", "{document}");
    let candidates = document["error"]["candidates"].as_array().map(Vec::len);
    assert_eq!(candidates, Some(2), "{document}");
}

/// Every list of files and labels ends with their number.
#[test]
fn every_list_ends_with_a_number() {
    let world = world();
    let list = world.run(&["recover"], b"").exits(0);
    assert!(list.stdout.ends_with("\n2 files\n"), "{list}");
    world.run(&["label", "last", "here"], b"").exits(0);
    let list = world.run(&["label", "--list"], b"").exits(0);
    assert!(list.stdout.ends_with("\n1 label\n"), "{list}");
}
