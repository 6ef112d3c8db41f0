//! Names are bytes: whatever a file is called, it comes back, and only it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use ckpt_schema::report::Outcome;

use testing::scenario::{World, to};

/// Names that a shell, a glob, an option parser, a text encoding or a terminal could stumble over.
fn odd_names() -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> = [
        "a b",
        " lead",
        "trail ",
        "-f",
        "--cached",
        "#h",
        "%p",
        "é",
        "e\u{301}",
        "日本語",
        "😀",
        "n\nl",
        "t\tt",
        "cr\r",
        "q\"q",
        "b\\s",
        "*",
        "?",
        "{a,b}",
        "[id]",
        ":(glob)x",
        ".dot",
        "...",
        "~",
        "$x",
        "`id`",
        "Case",
        "case",
        "con",
        "C:x",
        "\u{1b}[31m",
        "a\\..\\b",
    ]
    .map(|name| name.as_bytes().to_vec())
    .to_vec();
    names.push(b"\xff\xfe".to_vec());
    names.push(vec![b'x'; 255]);
    names.push("日".repeat(85).into_bytes());
    names
}

/// A file of any name is modified and comes back.
#[test]
fn modified_file_of_any_name_comes_back() {
    let mut world = World::new();
    for name in odd_names() {
        world.write(OsStr::from_bytes(&name), "the user's\n");
    }
    let before = world.tree();
    world.turn("m1", |world| {
        for name in odd_names() {
            world.write(OsStr::from_bytes(&name), "the agent's\n");
        }
    });
    let after = world.tree();
    assert_eq!(world.revert("m1").outcome, Outcome::Restored, "all of it");
    assert_eq!(world.tree(), before, "restored, not deleted");
    world.unrevert();
    assert_eq!(world.tree(), after, "and back");
}

/// A file of any name is created or deleted and comes back below any directory.
#[test]
fn file_of_any_name_comes_back_anywhere() {
    let mut world = World::new();
    let below = |name: &[u8], file: &str| [b"in/", name, b"/", file.as_bytes()].concat();
    for name in odd_names() {
        world.write(OsStr::from_bytes(&below(&name, "gone")), "the user's\n");
        world.write(OsStr::from_bytes(&below(&name, "stays")), "the user's\n");
    }
    let before = world.tree();
    world.turn("m1", |world| {
        for name in odd_names() {
            world.remove(OsStr::from_bytes(&below(&name, "gone")));
            world.write(
                OsStr::from_bytes(&below(&name, "new/file")),
                "the agent's\n",
            );
            world.write(OsStr::from_bytes(&name), "the agent's\n");
        }
    });
    let after = world.tree();
    world.revert("m1");
    assert_eq!(
        world.tree(),
        before,
        "created ones are gone with their directories, deleted ones are back"
    );
    world.unrevert();
    assert_eq!(world.tree(), after, "and forward again");
}

#[test]
fn glob_characters_in_a_name_match_nothing_else() {
    let mut world = World::new();
    for name in ["app/i/page.tsx", "app/d/page.tsx", "app/xyz", "a", "b"] {
        world.write(name, "the user's\n");
    }
    let before = world.tree();
    world.turn("m1", |world| {
        for name in ["app/[id]/page.tsx", "app/*", "app/?", "{a,b}", "**"] {
            world.write(name, "the agent's\n");
        }
    });
    world.revert("m1");
    assert_eq!(
        world.tree(),
        before,
        "the user's files are not what the patterns match"
    );
}

#[test]
fn only_takes_a_name_and_no_pattern() {
    let mut world = World::new();
    world.turn("m1", |world| {
        world.write("app/[id]/page.tsx", "the agent's\n");
        world.write("app/i/page.tsx", "the agent's\n");
    });
    let request = ckpt_store::RevertRequest {
        only: vec!["app/[id]".into()],
        ..to("m1")
    };
    world.try_revert(&request).expect("it can be reverted");
    assert!(!world.exists("app/[id]/page.tsx"), "it was asked for");
    assert!(world.exists("app/i/page.tsx"), "it was not");
}

/// A path that is no text has its bytes in the report.
#[test]
fn path_that_is_no_text_has_bytes() {
    let mut world = World::new();
    world.turn("m1", |world| {
        world.write(OsStr::from_bytes(b"\xff"), "new\n")
    });
    let report = world.revert("m1");
    assert_eq!(
        report.files[0].path.path_hex.as_deref(),
        Some("ff"),
        "what is shown is not what it is called"
    );
}

/// The workspace itself as a path is all of it.
#[test]
fn workspace_as_a_path_is_everything() {
    let mut world = World::new();
    world.write("d/f", "1\n");
    let before = world.tree();
    world.turn("m1", |world| world.write("d/f", "2\n"));
    let after = world.tree();
    let request = ckpt_store::RevertRequest {
        only: vec![".".into()],
        ..to("m1")
    };
    world
        .try_revert(&request)
        .expect("it is a path of the workspace");
    assert_eq!(world.tree(), before, "everything below it");
    world.unrevert();
    assert_eq!(world.tree(), after, "and back");
    world.restore("m1", &["."]);
    assert_eq!(world.tree(), before, "restored in the same way");
}
