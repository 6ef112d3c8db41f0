//! Choosing a message for a revert with options: whatever key ends it, the terminal is as it was.

use crate::screen::Screen;
use testing::binary::Sandbox;

const PROMPT: &str = "Go back to just before";

fn world() -> Sandbox {
    let world = Sandbox::new();
    for number in 1..=20 {
        let prompt =
            format!("m{number:02} 日本語の長い文章 and more words than forty columns hold");
        world.play(&format!("m{number}"), &prompt, |world| {
            world.write("a", format!("{number}\n"));
        });
    }
    world
}

fn picking(world: &Sandbox, columns: u16) -> Option<Screen> {
    let line = "echo before; ckpt-hook revert --session s; code=$?; echo after $code";
    let mut screen = Screen::open(world, columns, line)?;
    screen.wait_for(PROMPT);
    screen.wait_for("m20");
    Some(screen)
}

fn rows(screen: &Screen) -> Vec<String> {
    let contents = screen.contents();
    contents
        .lines()
        .map(str::trim_end)
        .map(str::to_owned)
        .collect()
}

/// The picker leaves no line behind at any width.
#[test]
fn picker_leaves_no_line_at_any_width() {
    let world = world();
    for columns in [40, 80, 200] {
        let Some(mut screen) = picking(&world, columns) else {
            return;
        };
        for _ in 0..17 {
            screen.press("\u{1b}[B");
        }
        screen.wait_until("one list, and the eighteenth chosen", |contents| {
            let is_chosen = |line: &str| line.starts_with("> ") && line.contains("m03");
            contents.matches(PROMPT).count() == 1
                && contents.lines().any(is_chosen)
                && contents.contains("m01")
        });
        assert_eq!(
            screen.wrapped(),
            None,
            "at {columns}:\n{}",
            screen.contents()
        );
        screen.press("q");
        screen.end();
        assert_eq!(rows(&screen), ["before", "after 0"], "at {columns} columns");
        assert!(screen.has_cursor(), "at {columns} columns");
    }
}

/// Ctrl-C in the picker leaves the cursor and no line.
#[test]
fn ctrl_c_in_the_picker_leaves_no_line() {
    let world = world();
    let Some(mut screen) = picking(&world, 40) else {
        return;
    };
    screen.press("\u{3}");
    screen.end();
    assert_eq!(
        rows(&screen),
        ["before", "after 130"],
        "a shell sees the signal"
    );
    assert!(screen.has_cursor(), "it was never hidden");
    assert_eq!(world.read("a"), b"20\n", "nothing was done");
}

/// Ctrl-C at the last question leaves the cursor and changes nothing.
#[test]
fn ctrl_c_at_the_question_changes_nothing() {
    let world = world();
    let Some(mut screen) = picking(&world, 40) else {
        return;
    };
    screen.press("\r");
    screen.wait_for("Do this? [y/n]");
    screen.press("\u{3}");
    screen.end();
    assert!(
        screen.contents().contains("after 130"),
        "{}",
        screen.contents()
    );
    assert!(screen.has_cursor(), "it was never hidden");
    assert_eq!(world.read("a"), b"20\n", "nothing was done");
}
