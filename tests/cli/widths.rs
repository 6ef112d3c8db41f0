//! Every listing fits into the terminal: no row of it goes on in the next one, however narrow the terminal is.

use crate::screen::Screen;
use testing::binary::Sandbox;

const LONG: &str = "Rewrite the parser so that it understands what people mean, 日本語 and 👨\u{200d}👩\u{200d}👧, and add tests for all of it";

fn world() -> Sandbox {
    let world = Sandbox::new();
    let deep = "some/deep/directory/with-a-rather/long-name-of-a-file-in-it.rs";
    world.write(deep, "1\n2\n3\n");
    world.write("a file with  spaces in its name that is long, too", "1\n");
    world.play("m1", LONG, |world| {
        world.write(deep, "1\nzwei\n3\n");
        world.write("some/deep/directory/picture.png", [0, 1, 2]);
    });
    world.play("m2", LONG, |world| {
        world.write(deep, "1\nzwei\ndrei\n");
        world.write("a file with  spaces in its name that is long, too", "2\n");
    });
    world.write(deep, "1\nzwei\nby hand\n");
    world
        .run(&["message", "--session", "another", "--prompt", LONG], b"")
        .exits(0);
    world
        .run(&["event", "--agent", "nobody-knows-this-agent"], b"{}")
        .exits(0);
    world
}

/// No row of a listing is wrapped at any width.
#[test]
fn no_row_wraps_at_any_width() {
    let world = world();
    let commands = [
        "log",
        "log --everywhere",
        "log --operations --everywhere",
        "log --operations",
        "log --graph",
        "log --snapshots",
        "log --stat",
        "log --name-only",
        "show m2 --name-only",
        "show m2 --name-status",
        "label --list",
        "log --since yesterday --grep parser",
        "show m2 --stat",
        "show m2 --steps",
        "diff m1 --side-by-side",
        "sessions",
        "sessions --everywhere",
        "show m2",
        "show last",
        "show $(ckpt-hook sessions | sed -n 2p | cut -d ' ' -f 1)",
        "status",
        "diff m1 --stat",
        "doctor",
        "install --list",
        "install claude-code --dry-run",
        "revert --message m1 --dry-run",
        "revert --message m1",
        "show $(ckpt-hook log --operations | sed -n 2p | cut -d ' ' -f 1)",
        "status",
        "unrevert",
        "recover",
        "show nothing-like-it",
        "--help",
    ];
    for columns in [40, 80, 200] {
        for command in commands {
            let line = format!("ckpt-hook {command}");
            let Some(mut screen) = Screen::open(&world, columns, &line) else {
                return;
            };
            screen.end();
            // A command to copy is one line, which the terminal wraps.
            let wrapped = screen.wrapped();
            assert_eq!(
                wrapped.filter(|row| !row.trim_start().starts_with("ckpt-hook ")),
                None,
                "`{command}` at {columns} columns:\n{}",
                screen.contents()
            );
            assert!(!screen.contents().is_empty(), "`{command}` says something");
        }
    }
}

/// A list of every workspace names it at any width.
#[test]
fn list_of_all_names_workspaces() {
    let world = world();
    for columns in [40, 60, 80, 200] {
        let Some(mut screen) = Screen::open(&world, columns, "ckpt-hook log --everywhere") else {
            return;
        };
        screen.end();
        let contents = screen.contents();
        let workspace = world.workspace();
        let name = workspace.file_name().expect("a name").to_string_lossy();
        assert!(
            contents.contains(&*name),
            "at {columns} columns:\n{contents}"
        );
    }
}

/// A message above its files has one line and two on a narrow terminal.
#[test]
fn message_above_files_has_one_or_two_lines() {
    let world = world();
    for (columns, lines) in [(40, 2), (80, 1), (200, 1)] {
        let command = "ckpt-hook log --agent generic --state live --grep parser -n 2 --stat";
        let Some(mut screen) = Screen::open(&world, columns, command) else {
            return;
        };
        screen.end();
        let contents = screen.contents();
        let above: Vec<&str> = contents
            .lines()
            .take_while(|line| !line.starts_with("  modified"))
            .collect();
        // The newest message changed nothing; below it is an empty line.
        let all = above.split(|line| line.is_empty());
        let all: Vec<usize> = all.map(<[&str]>::len).collect();
        assert_eq!(all, [lines; 2], "at {columns} columns:\n{contents}");
    }
}

/// A prompt has half the width at least and a line of its own below 60 columns.
#[test]
fn prompt_has_half_the_width_or_its_line() {
    let world = Sandbox::new();
    // A letter for each column.
    let prompt = "x".repeat(300);
    world.play("m1", &prompt, |world| world.write("a", "1\n"));
    world.run(&["revert", "m1"], b"").exits(0);
    for columns in [40, 59, 60, 80, 81, 120, 200] {
        let Some(mut screen) = Screen::open(&world, columns, "ckpt-hook log -n 1") else {
            return;
        };
        screen.end();
        let shown = screen.contents();
        let room = shown.matches('x').count();
        assert!(
            room >= usize::from(columns) / 2,
            "{room} of {columns} columns:\n{shown}"
        );
        let of_message = shown
            .lines()
            .filter(|line| line.contains("xxx") || line.contains("hidden"));
        let lines = if columns < 60 { 2 } else { 1 };
        assert_eq!(of_message.count(), lines, "at {columns} columns:\n{shown}");
    }
}

/// What does not go to a terminal is whole.
#[test]
fn output_off_a_terminal_is_whole() {
    let world = world();
    let run = world.run(&["log"], b"").exits(0);
    assert!(run.stdout.contains(LONG), "nothing is cut: {run}");
}

/// Names are whole where that is asked for and on a pipe.
#[test]
fn names_are_whole_on_request_and_pipe() {
    let world = world();
    let name = "some/deep/directory/with-a-rather/long-name-of-a-file-in-it.rs";
    for command in ["show m2 --name-only -v", "show m2 --name-only | cat"] {
        let Some(mut screen) = Screen::open(&world, 40, &format!("ckpt-hook {command}")) else {
            return;
        };
        screen.end();
        let shown = screen.contents().replace('\n', "");
        assert!(shown.contains(name), "`{command}`: {shown}");
    }
}

/// A row of several workspaces says of which it is at any width.
#[test]
fn row_of_several_workspaces_names_its_own() {
    let world = world();
    let other = world.home().join("another-project");
    std::fs::create_dir(&other).expect("writable");
    world
        .command(&["message", "--session", "there", "--prompt", LONG])
        .current_dir(&other)
        .status()
        .expect("it starts");
    for columns in [40, 60, 80, 100, 200] {
        let command = "ckpt-hook log --everywhere -n 2";
        let Some(mut screen) = Screen::open(&world, columns, command) else {
            return;
        };
        screen.end();
        let shown = screen.contents();
        assert!(shown.contains("project"), "at {columns} columns:\n{shown}");
    }
}

/// The lines that came are never shown without those that went.
#[test]
fn added_lines_are_shown_with_removed_ones() {
    let world = world();
    for columns in [64, 76, 88, 92, 96, 100, 120] {
        let Some(mut screen) = Screen::open(&world, columns, "ckpt-hook log") else {
            return;
        };
        screen.end();
        let heads = screen.contents();
        let heads: Vec<&str> = heads
            .lines()
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        assert_eq!(
            heads.contains(&"+"),
            heads.contains(&"-"),
            "at {columns} columns: {heads:?}"
        );
    }
}
