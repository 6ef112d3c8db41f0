//! With a terminal: choosing a message, colours. `script` of util-linux plays the terminal.

use std::process::Command;

use testing::skip::{has_program, has_strace};

use testing::binary::{Run, Sandbox, binary, finish};
use testing::chat::Chat;

use crate::screen::Screen;

/// Runs the binary on a terminal and types.
fn on_a_terminal(world: &Sandbox, arguments: &str, keys: &str) -> Option<Run> {
    on_a_terminal_below(world, "", arguments, keys)
}

/// The same, behind the words of a wrapper.
fn on_a_terminal_below(world: &Sandbox, wrapper: &str, arguments: &str, keys: &str) -> Option<Run> {
    if !has_program("/usr/bin/script") {
        return None;
    }
    let mut command = Command::new("/usr/bin/script");
    command
        .args([
            "--quiet",
            "--return",
            "--command",
            &format!("{wrapper}{} {arguments}", binary()),
            "/dev/null",
        ])
        .env_clear()
        .env("HOME", world.home())
        .env("CKPT_HOOK_HOME", world.store())
        .env("PATH", "/usr/bin:/bin")
        .env("TERM", "xterm-256color")
        .env("SHELL", "/bin/sh")
        .current_dir(world.workspace());
    Some(finish(&mut command, keys.as_bytes()))
}

fn two_messages() -> Sandbox {
    let world = Sandbox::new();
    world.play("m1", "first", |world| world.write("one", "1\n"));
    world.play("m2", "second", |world| world.write("two", "2\n"));
    world
}

/// A message is chosen its plan is shown and yes is asked for.
#[test]
fn message_is_chosen_planned_and_confirmed() {
    let world = two_messages();
    // The second line of the list, then yes.
    let Some(run) = on_a_terminal(&world, "revert --session s", "\u{1b}[B\ry") else {
        return;
    };
    assert_eq!(run.code, Some(0), "it was done: {run}");
    assert!(
        run.stdout.contains("Would go back to just before “first”"),
        "the plan comes first: {run}"
    );
    assert!(
        run.stdout.contains("Went back to just before “first”"),
        "then the deed: {run}"
    );
    assert!(world.tree().is_empty(), "both files are gone");
}

#[test]
fn no_is_an_answer() {
    let world = two_messages();
    let Some(run) = on_a_terminal(&world, "revert --session s", "\rn") else {
        return;
    };
    assert!(
        run.stdout.contains("Nothing was changed."),
        "it says so: {run}"
    );
    assert_eq!(world.tree().len(), 2, "and it is so");
}

/// What is forgotten is shown first and asked for.
#[test]
fn forgetting_is_shown_first() {
    let world = two_messages();
    let Some(run) = on_a_terminal(&world, "forget --path one", "n") else {
        return;
    };
    assert_eq!(run.code, Some(0), "{run}");
    for said in ["  one\r\n", "Forget it for good?", "Nothing was removed."] {
        assert!(run.stdout.contains(said), "{said}: {run}");
    }
    let plan = world.run(&["forget", "--path", "one", "--dry-run"], b"");
    assert!(plan.stdout.contains("  one\n"), "and it is so: {plan}");
    let run = on_a_terminal(&world, "forget --path one", "y").expect("as before");
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stdout.contains("Forgotten."), "{run}");
    world
        .run(&["forget", "--path", "one", "--dry-run"], b"")
        .exits(4);
}

/// A push that is not wanted says what was not done.
#[test]
fn push_that_is_declined_sends_nothing() {
    let world = two_messages();
    let remote = world.path("server.git");
    let mut git = testing::git::command(&world.path("."), &world.home());
    testing::git::text(git.args(["init", "-q", "--bare"]).arg(&remote));
    for key in ["n", "q", "\u{4}", "\u{1b}"] {
        let push = format!("ckpt-hook push {}", remote.display());
        let Some(mut screen) = Screen::open(&world, 100, &push) else {
            return;
        };
        screen.wait_for("Push it? [y/n]");
        screen.press(key);
        assert_eq!(screen.end(), Some(0), "{}", screen.contents());
        let contents = screen.contents();
        assert!(contents.contains("Nothing was sent."), "{contents}");
    }
}

/// What leaves other questions leaves that for the conversation, too.
#[test]
fn leaving_the_conversation_question_changes_nothing() {
    let chat = Chat::of_three();
    for key in ["\u{1b}", "q", "\u{4}"] {
        let Some(mut screen) = Screen::open(&chat.world, 100, "ckpt-hook revert last") else {
            return;
        };
        screen.wait_for("[y/n, or o");
        screen.press(key);
        assert_eq!(screen.end(), Some(0), "{}", screen.contents());
        let contents = screen.contents();
        assert!(contents.contains("Nothing was changed."), "{contents}");
        assert!(chat.is_made(3), "{key:?}");
    }
}

/// A plan asks nothing, as nothing is done.
#[test]
fn dry_run_asks_nothing() {
    let chat = Chat::of_three();
    for line in [
        "ckpt-hook revert last --dry-run",
        "ckpt-hook restore last~1 --dry-run",
    ] {
        let Some(mut screen) = Screen::open(&chat.world, 100, line) else {
            return;
        };
        assert_eq!(screen.end(), Some(0), "{line}: {}", screen.contents());
        let contents = screen.contents();
        assert!(!contents.contains("[y/n"), "{line}: {contents}");
        assert!(chat.is_made(3), "{line}");
    }
}

/// A signal in the middle of a question ends the process and restores the terminal.
#[test]
fn terminated_question_restores_the_terminal() {
    for signal in ["TERM", "HUP"] {
        let world = two_messages();
        let line = format!(
            "stty -a >before; ckpt-hook forget --path one </dev/tty & pid=$!; \
             while kill -0 $pid && ! stty -a | grep -q -e -icanon; do :; done; kill -{signal} $pid; \
             wait $pid; echo ended $?; stty -a >after"
        );
        let Some(mut screen) = Screen::open(&world, 100, &line) else {
            return;
        };
        screen.end();
        let ended = if signal == "TERM" {
            "ended 143"
        } else {
            "ended 129"
        };
        assert!(screen.contents().contains(ended), "{}", screen.contents());
        assert_eq!(
            world.read("before"),
            world.read("after"),
            "{signal}: {}",
            screen.contents()
        );
    }
}

/// A command to copy stands on the screen in one piece, with or without colours.
#[test]
fn commands_to_copy_are_not_broken() {
    let world = two_messages();
    let place = world.path("a place with a long name");
    std::os::unix::fs::symlink(world.workspace(), &place).expect("writable");
    let command = "ckpt-hook undo --workspace '../a place with a long name'";
    for set in ["", "NO_COLOR=1 "] {
        let line = format!("{set}ckpt-hook revert last --workspace '../a place with a long name'");
        let Some(mut screen) = Screen::open(&world, 40, &line) else {
            return;
        };
        screen.end();
        let raw = String::from_utf8_lossy(screen.raw()).into_owned();
        assert!(raw.contains(command), "{raw}");
        assert!(!raw.contains(['\u{2}', '\u{3}']), "{raw:?}");
        world.run(&["undo"], b"").exits(0);
    }
}

#[test]
fn a_terminal_has_colours_unless_somebody_minds() {
    let world = two_messages();
    let Some(run) = on_a_terminal(&world, "log", "") else {
        return;
    };
    assert!(run.stdout.contains("\u{1b}[32m+1"), "in colour: {run:?}");
    let plain = on_a_terminal(&world, "log --color never", "").expect("as before");
    assert!(!plain.stdout.contains("\u{1b}["), "plain: {plain:?}");
}

/// A revert that takes longer than a second tells how far it is.
#[test]
fn long_revert_tells_its_progress() {
    if !has_strace() {
        return;
    }
    let world = two_messages();
    // The first directory that is opened takes the second, in microseconds.
    let slow =
        "strace -f -o /dev/null -e trace=openat2 -e inject=openat2:delay_enter=1100000:when=1 ";
    let Some(run) = on_a_terminal_below(&world, slow, "revert --message m1", "") else {
        return;
    };
    assert_eq!(run.code, Some(0), "it was done: {run}");
    assert!(
        run.stdout.contains(" of 2 files"),
        "a line that comes and goes: {run:?}"
    );
    assert!(
        run.stdout.contains("Went back to just before “first”"),
        "and then what was done: {run}"
    );
}

/// A person who names no command or none that there is gets help.
#[test]
fn missing_or_unknown_command_gets_help() {
    let world = Sandbox::new();
    let Some(run) = on_a_terminal(&world, "", "") else {
        return;
    };
    assert!(run.stdout.contains("ckpt-hook demo  "), "the help: {run}");
    let run = on_a_terminal(&world, "evnt", "").expect("it ran before");
    assert!(run.stdout.contains("unrecognized subcommand"), "why: {run}");
}

/// What is longer than the screen goes to the pager and nothing else does.
#[test]
fn only_long_output_goes_to_the_pager() {
    let world = two_messages();
    let pager = "CKPT_HOOK_PAGER='sed s/^/PAGED:/'";
    let shown = |line: &str| {
        let mut screen = Screen::open(&world, 80, line)?;
        screen.end();
        Some(screen.contents())
    };
    let Some(long) = shown(&format!("stty rows 3; {pager} ckpt-hook log")) else {
        return;
    };
    assert!(
        long.contains("PAGED:2 messages"),
        "to its last line: {long}"
    );
    let cases = [
        (format!("{pager} ckpt-hook log"), "it fits"),
        (format!("stty rows 3; {pager} ckpt-hook log --json"), "JSON"),
        (
            format!("stty rows 3; {pager} ckpt-hook log | cat"),
            "a pipe",
        ),
        (
            format!("stty rows 3; CLAUDECODE=1 {pager} ckpt-hook log"),
            "inside an agent",
        ),
        (
            format!("stty rows 3; TERM=dumb {pager} ckpt-hook log"),
            "a terminal without pages",
        ),
        (
            "stty rows 3; CKPT_HOOK_PAGER= ckpt-hook log".to_owned(),
            "none is wanted",
        ),
    ];
    for (line, why) in cases {
        let shown = shown(&line).expect("as before");
        assert!(!shown.contains("PAGED:"), "{why}: {shown}");
        assert!(shown.contains("essages"), "{why}: {shown}");
    }
}

/// Whatever is longer than the screen is paged, and the manual page is shown by `man`.
#[test]
fn whatever_is_long_is_paged() {
    let world = two_messages();
    let programs = world.workspace().join("programs");
    std::fs::create_dir(&programs).expect("writable");
    let man = programs.join("man");
    std::fs::write(&man, "#!/bin/sh\necho \"man $*\"; head -n 1\n").expect("writable");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&man, mode).expect("writable");
    let shown = |line: &str| {
        let line = format!("stty rows 3; CKPT_HOOK_PAGER='sed s/^/PAGED:/' {line}");
        let mut screen = Screen::open(&world, 80, &line)?;
        screen.end();
        Some(screen.contents())
    };
    for command in [
        "--help",
        "show --help",
        "config",
        "doctor",
        "status",
        "du",
        "install --list",
    ] {
        let Some(shown) = shown(&format!("ckpt-hook {command}")) else {
            return;
        };
        assert!(shown.contains("PAGED:"), "{command}: {shown}");
    }
    let manual = shown(&format!("PATH={}:$PATH ckpt-hook man", programs.display()));
    let manual = manual.expect("as before");
    assert!(manual.contains("man -l -\n"), "{manual}");
    assert!(!manual.contains("PAGED:"), "it has its own pager: {manual}");
    let piped = shown("ckpt-hook man | head -n 3").expect("as before");
    assert!(piped.contains(".TH ckpt-hook"), "for a program: {piped}");
}

/// The pager is that of the hook else the user's else less with its usual options.
#[test]
fn pager_is_ours_the_users_or_less() {
    let world = two_messages();
    let programs = world.workspace().join("programs");
    std::fs::create_dir(&programs).expect("writable");
    let less = programs.join("less");
    std::fs::write(&less, "#!/bin/sh\necho \"less -$LESS\"; cat\n").expect("writable");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&less, mode).expect("it is ours");
    for (variables, expected) in [
        ("", "less -FRX"),
        ("LESS=S", "less -S"),
        ("PAGER='sed s/^/OWN:/'", "OWN:2 messages"),
        (
            "PAGER='sed s/^/OWN:/' CKPT_HOOK_PAGER='sed s/^/HOOK:/'",
            "HOOK:2 messages",
        ),
    ] {
        let line = format!("stty rows 3; PATH=$PWD/programs:$PATH {variables} ckpt-hook log");
        let Some(mut screen) = Screen::open(&world, 80, &line) else {
            return;
        };
        screen.end();
        let shown = screen.contents();
        assert!(shown.contains(expected), "`{variables}`: {shown}");
    }
}
