//! What `diff` prints on a pipe is a patch: real git takes it, forwards and in reverse.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use testing::binary::Sandbox;
use testing::tree::{Node, Tree};

/// Bytes that no text has and that do not compress.
fn noise(length: usize, mut seed: u32) -> Vec<u8> {
    let next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed.to_be_bytes()[0]
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// Returns everything but directories, of which git knows nothing.
fn files(world: &Sandbox) -> Tree {
    let mut tree = world.tree();
    tree.retain(|_, node| !matches!(node, Node::Directory(_)));
    tree
}

fn before(world: &Sandbox) {
    world.write("text", "one\ntwo\nthree\n");
    world.write("no newline", "at the end");
    world.write("returns", "a\rb\r\nc\n");
    world.write("old/picture.png", noise(5000, 1));
    world.write("changed.png", noise(3000, 2));
    world.write("gone.bin", noise(300, 3));
    world.write("run.bin", noise(100, 4));
    world.write("script", "#!/bin/sh\n");
    world.write("becomes text", noise(64, 5));
    world.write("becomes a link", noise(64, 6));
    world.write("same bytes", "target");
    world.write("empty", "");
    world.write("old/renamed", "the same lines\nin another place\n");
    world.write("Grüße 👨\u{200d}👩\u{200d}👧", "x\n");
    world.write(" spaces around ", "x\n");
    world.write("quote\" \\ and\ttab", "x\n");
    symlink("text", world.workspace().join("link")).expect("writable");
}

fn after(world: &Sandbox) {
    let place = world.workspace();
    let set_mode = |name: &str, mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(place.join(name), permissions).expect("it is ours");
    };
    world.write("text", "one\nzwei\nthree\nfour");
    world.write("no newline", "at the end\n");
    world.write("returns", "a\rB\r\nc\n");
    world.write("new/picture.png", noise(5000, 1));
    world.write("new/renamed", "the same lines\nin another place\n");
    for name in [
        "old/picture.png",
        "old/renamed",
        "gone.bin",
        "link",
        "becomes a link",
        "same bytes",
    ] {
        world.remove(name);
    }
    world.write("changed.png", noise(3100, 7));
    world.write("made.bin", [0]);
    world.write("run.bin", noise(90, 8));
    set_mode("run.bin", 0o755);
    set_mode("script", 0o755);
    world.write("becomes text", "now it is\n");
    world.write("empty", noise(10, 9));
    world.write("also empty", "");
    world.write("Grüße 👨\u{200d}👩\u{200d}👧", "y\n");
    world.write(" spaces around ", "y\n");
    world.write("quote\" \\ and\ttab", "y\n");
    symlink("elsewhere", place.join("link")).expect("writable");
    symlink("text", place.join("becomes a link")).expect("writable");
    symlink("target", place.join("same bytes")).expect("writable");
}

/// Has git apply a patch to the files of a directory, outside of every repository.
fn apply(world: &Sandbox, directory: &Path, arguments: &[&str], patch: &[u8]) {
    let mut git = Command::new("git");
    git.arg("apply").args(arguments).arg("-");
    git.current_dir(directory)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", world.home())
        .env("GIT_CEILING_DIRECTORIES", world.path(""));
    let run = testing::binary::finish(&mut git, patch);
    assert_eq!(
        run.code,
        Some(0),
        "git takes it: {run}\n{}",
        String::from_utf8_lossy(patch)
    );
}

fn patch(world: &Sandbox, arguments: &[&str]) -> Vec<u8> {
    printed(world, &[&["diff"][..], arguments].concat())
}

fn printed(world: &Sandbox, arguments: &[&str]) -> Vec<u8> {
    let output = world.command(arguments).output().expect("it runs");
    assert!(output.status.success(), "there is a difference");
    output.stdout
}

/// Git applies every printed patch forwards and in reverse.
#[test]
fn git_applies_every_patch_both_ways() {
    let world = Sandbox::new();
    before(&world);
    let old = files(&world);
    world.play("m1", "change everything", after);
    let new = files(&world);
    let forwards = patch(&world, &["m1"]);
    let backwards = patch(&world, &["current", "m1"]);
    let place = world.workspace();
    let is = |tree: &Tree, why: &str| {
        let now = files(&world);
        let names = now.keys().chain(tree.keys());
        let differing: Vec<_> = names
            .filter(|name| now.get(*name) != tree.get(*name))
            .collect();
        assert_eq!(differing, Vec::<&PathBuf>::new(), "{why}");
    };
    apply(&world, &place, &["--reverse"], &forwards);
    is(&old, "the patch in reverse gives the old state");
    apply(&world, &place, &[], &forwards);
    is(&new, "and forwards the new one");
    apply(&world, &place, &[], &backwards);
    is(
        &old,
        "the difference the other way round is a patch as well",
    );
    apply(&world, &place, &["--reverse"], &backwards);
    is(&new, "in both directions");
}

/// A mode that git does not know leaves every other file as it is.
///
/// git has no words for permissions of others. It took a file without any for the next one, and made it executable.
#[test]
fn unknown_mode_leaves_other_files() {
    use std::os::unix::fs::PermissionsExt;
    let world = Sandbox::new();
    let set_mode = |name: &str, mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(world.workspace().join(name), permissions).expect("ours");
    };
    for name in ["a secret", "b script", "c text"] {
        world.write(name, "one\n");
        set_mode(name, 0o644);
    }
    world.play("m1", "lock one and run the other", |world| {
        set_mode("a secret", 0o600);
        set_mode("b script", 0o755);
        world.write("c text", "two\n");
    });
    let text = printed(&world, &["show", "m1", "-p"]);
    let runs = |name: &str| {
        let metadata = std::fs::metadata(world.workspace().join(name)).expect("there");
        metadata.permissions().mode() & 0o111 != 0
    };
    for (arguments, is_after) in [(&["--reverse"][..], false), (&[], true)] {
        apply(&world, &world.workspace(), arguments, &text);
        assert_eq!(
            ["a secret", "b script", "c text"].map(runs),
            [false, is_after, false],
            "only the script is run: {}",
            String::from_utf8_lossy(&text)
        );
    }
    assert!(
        text.starts_with(b"# a secret: mode 100644 became 100600\ndiff --git a/b script"),
        "what git does not know is told: {}",
        String::from_utf8_lossy(&text)
    );
}

/// What a message did is a patch of its own changes.
#[test]
fn messages_patch_is_its_own_changes() {
    let world = Sandbox::new();
    before(&world);
    let old = files(&world);
    world.play("m1", "change everything", after);
    let new = files(&world);
    let of_message = printed(&world, &["show", "m1", "-p"]);
    world.play("m2", "something else", |world| {
        world.write("text", "quite another\n")
    });
    assert_eq!(
        printed(&world, &["show", "m1", "-p"]),
        of_message,
        "what came after it changes nothing of what it did"
    );
    world.run(&["revert", "--message", "m2"], b"").exits(0);
    let operations = world.json(&["log", "--operations"]);
    let operation = operations["operations"][0]["id"].as_str().expect("an id");
    let of_operation = printed(&world, &["show", operation, "-p"]);
    assert!(
        files(&world) == new,
        "the revert took the second message back"
    );
    let place = world.workspace();
    apply(&world, &place, &["--reverse"], &of_message);
    assert!(
        files(&world) == old,
        "in reverse it is the state before the message"
    );
    apply(&world, &place, &[], &of_message);
    assert!(files(&world) == new, "forwards the one after it");
    apply(&world, &place, &["--reverse"], &of_operation);
    assert_eq!(
        world.read("text"),
        b"quite another\n",
        "an operation is a patch as well"
    );
}

#[test]
fn renamed_files_are_renamed_by_the_patch() {
    let world = Sandbox::new();
    let lines: String = (0..40).map(|number| format!("line {number}\n")).collect();
    world.write("old/a name.txt", &lines);
    world.write("same", noise(500, 3));
    world.play("m1", "move them", |world| {
        world.remove("old/a name.txt");
        world.remove("same");
        world.write("new/ä name.txt", lines.replace("line 7\n", "LINE 7\n"));
        world.write("same again", noise(500, 3));
    });
    let status = world
        .run(&["show", "m1", "--name-status"], b"")
        .exits(0)
        .stdout;
    assert_eq!(
        status, "R097\told/a name.txt\tnew/ä name.txt\nR100\tsame\tsame again\n",
        "as git tells it"
    );
    let raw = world
        .run(&["diff", "m1", "--name-only", "-z"], b"")
        .exits(0)
        .stdout;
    assert_eq!(raw, "new/ä name.txt\0same again\0", "names for programs");
    let text = printed(&world, &["show", "m1", "-p"]);
    let shown = String::from_utf8_lossy(&text).into_owned();
    assert!(
        shown.contains("rename from same\nrename to same again\n")
            && shown.contains("-line 7\n+LINE 7\n"),
        "as renames: {shown}"
    );
    let new = files(&world);
    apply(&world, &world.workspace(), &["--reverse"], &text);
    assert_eq!(
        world.read("old/a name.txt"),
        lines.as_bytes(),
        "the old name is back"
    );
    apply(&world, &world.workspace(), &[], &text);
    assert!(files(&world) == new, "and the new one");
}

#[test]
fn a_page_shows_both_sides_and_runs_nothing() {
    let world = Sandbox::new();
    world.write("<script>a", "<b>one</b>\n");
    world.play("m1", "make it <img src=x onerror=alert(1)>", |world| {
        world.write("<script>a", "<b>two</b> \u{202e}\n");
    });
    world
        .run(&["show", "m1", "--html", "page.html"], b"")
        .exits(0);
    let page = String::from_utf8(world.read("page.html")).expect("text");
    assert!(
        page.contains("default-src 'none'") && page.contains("width=device-width"),
        "nothing is loaded, and it fits a phone: {page}"
    );
    for hostile in ["<script", "<img", "<b>", "\u{202e}"] {
        assert!(!page.contains(hostile), "`{hostile}` is escaped: {page}");
    }
    assert!(
        page.contains("<del>one</del>") && page.contains("<ins>two</ins>"),
        "{page}"
    );
}

/// A page has narrow columns of numbers and keeps its hunks apart.
#[test]
fn patch_page_has_narrow_number_columns() {
    let world = Sandbox::new();
    world.write("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n");
    world.play("m1", "change both ends", |world| {
        world.write("a", "one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\ntwelve\n");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(world.workspace().join("a"), mode).expect("ours");
    });
    world
        .run(&["show", "m1", "--html", "page.html"], b"")
        .exits(0);
    let page = String::from_utf8(world.read("page.html")).expect("text");
    assert!(
        page.contains("<table><colgroup><col class=\"n\"><col><col class=\"n\"><col></colgroup>"),
        "the first row is a single cell and gives no widths: {page}"
    );
    assert_eq!(page.matches("<tr class=\"gap\">").count(), 2, "{page}");
    assert!(
        page.contains("tr.gap td:empty{display:block}"),
        "on a phone, too: {page}"
    );
    assert!(page.contains("modified, 100644 → 100755"), "{page}");
}

/// A patch of one binary file names both blobs in full.
#[test]
fn binary_patch_names_both_blobs() {
    let world = Sandbox::new();
    world.write("a.bin", noise(100, 1));
    world.play("m1", "change it", |world| {
        world.write("a.bin", noise(100, 2))
    });
    let text = String::from_utf8(patch(&world, &["m1", "--", "a.bin"])).expect("a patch is text");
    let index = text
        .lines()
        .find(|line| line.starts_with("index "))
        .expect("git asks for it");
    assert_eq!(
        index.len(),
        "index ".len() + 40 + "..".len() + 40 + " 100644".len(),
        "whole ids: {index}"
    );
    assert_eq!(
        text.matches("literal 100\n").count(),
        2,
        "both sides: {text}"
    );
}

/// What is too large for lines is applied as bytes.
#[test]
fn overlarge_file_is_applied_as_bytes() {
    let world = Sandbox::new();
    let large = "a line of a large file\n".repeat(800_000);
    world.write("large", &large);
    world.play("m1", "one line more", |world| {
        world.write("large", format!("{large}one more\n"));
    });
    let new = files(&world);
    let forwards = patch(&world, &["m1"]);
    apply(&world, &world.workspace(), &["--reverse"], &forwards);
    assert_eq!(world.read("large").len(), large.len(), "it went back");
    apply(&world, &world.workspace(), &[], &forwards);
    assert!(files(&world) == new, "and forward again");
}
