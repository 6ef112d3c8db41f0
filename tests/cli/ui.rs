//! The browser on a terminal: what is seen, what keys do to files, and what is left of it afterwards.

use std::process::Command;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use testing::binary::Sandbox;
use testing::chat::Chat;

use crate::screen::Screen;

/// How long the end of a program may take; machines that run tests are busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// Two messages, each with a file of its own.
fn two_messages() -> Sandbox {
    let world = Sandbox::new();
    world.play("m1", "first", |world| world.write("one", "eins\n"));
    world.play("m2", "second", |world| {
        world.write("two", "zwei\n");
        world.write("three", "drei\n");
    });
    world
}

/// Opens the browser on a screen of so many rows and columns. Afterwards the shell says how it ended, and how the terminal is.
fn browse(world: &Sandbox, rows: u16, columns: u16, environment: &str) -> Option<Screen> {
    let mut screen = open(world, rows, columns, environment)?;
    screen.wait_for("second");
    Some(screen)
}

fn open(world: &Sandbox, rows: u16, columns: u16, environment: &str) -> Option<Screen> {
    let line = format!(
        "echo before; stty rows {rows}; {environment} sh -c 'echo $$ > {}; exec ckpt-hook ui'; \
         echo after $?; stty -a | tr ' ;' '\\n\\n' | grep -x -e icanon -e echo",
        world.path("pid").display()
    );
    let mut screen = Screen::open(world, columns, &line)?;
    screen.wait_for("? keys");
    assert!(screen.is_alternate(), "it has the whole screen");
    Some(screen)
}

/// Looks at what is left when the browser has ended.
fn is_whole(screen: &mut Screen, code: u8) {
    screen.end();
    let contents = screen.contents();
    assert!(!screen.is_alternate(), "the screen is the shell's again");
    assert!(screen.has_cursor(), "with its cursor");
    let lines: Vec<&str> = contents.lines().map(str::trim_end).collect();
    assert_eq!(
        lines.first(),
        Some(&"before"),
        "what stood there: {contents}"
    );
    assert!(
        lines.contains(&format!("after {code}").as_str()),
        "how it ended: {contents}"
    );
    assert!(
        lines.contains(&"icanon") && lines.contains(&"echo"),
        "keys are lines again, and seen: {contents}"
    );
}

/// A revert and its way back take a few keys.
#[test]
fn revert_and_way_back_take_few_keys() {
    let world = two_messages();
    let Some(mut screen) = browse(&world, 30, 110, "") else {
        return;
    };
    screen.wait_for("+drei");
    screen.press("j");
    screen.wait_for("+eins");
    screen.press("k");
    screen.wait_for("+drei");
    screen.press("r");
    screen.wait_for("Would go back to just before “second”");
    assert_eq!(world.tree().len(), 3, "a plan changes nothing");
    screen.press("y");
    screen.wait_for("Went back to just before “second”");
    assert_eq!(world.tree().len(), 1, "then it is done");
    screen.wait_for("hidden");
    screen.press("o");
    screen.wait_for("▸ Operations");
    screen.press("o");
    screen.wait_for("▸ Timeline");
    screen.press("u");
    screen.wait_for("nothing is changed yet");
    assert_eq!(world.tree().len(), 1, "an undo is planned, too");
    screen.press("y");
    screen.wait_for("Went all the way forward");
    assert_eq!(world.tree().len(), 3, "and undone");
    screen.wait_for(", undone");
    screen.press("q");
    is_whole(&mut screen, 0);
}

/// A key chooses between the files, both and the conversation.
///
/// What is chosen is what is done.
#[test]
fn key_takes_the_conversation_back_too() {
    for (keys, is_made, transcripts) in [
        ("", false, 1),
        ("c", false, 2),
        ("cc", true, 2),
        ("ccc", false, 1),
    ] {
        let chat = Chat::of_three();
        let Some(mut screen) = open(&chat.world, 40, 140, "") else {
            return;
        };
        screen.wait_for("message 3");
        screen.press("r");
        screen.wait_for("Would go back to just before “message 3”");
        for key in keys.chars() {
            screen.press(&key.to_string());
        }
        let is_forked = transcripts == 2;
        if is_forked {
            screen.wait_for("The conversation would go on in a new one");
        }
        screen.press("y");
        screen.wait_for(if is_forked {
            "claude --resume"
        } else {
            "Went back to just before"
        });
        assert_eq!(chat.is_made(3), is_made, "{keys}: the files");
        assert_eq!(chat.transcripts(), transcripts, "{keys}: the conversation");
    }
}

/// No key is lost however many come at once.
#[test]
fn no_key_of_many_is_lost() {
    let world = two_messages();
    let Some(mut screen) = browse(&world, 30, 110, "") else {
        return;
    };
    let pid = std::fs::read_to_string(world.path("pid")).expect("the shell wrote it");
    let send = |signal: &str| {
        let kill = Command::new("kill")
            .args(["-s", signal, pid.trim()])
            .status();
        assert!(kill.is_ok_and(|kill| kill.success()), "it runs");
    };
    send("STOP");
    // More than is read at once.
    screen.press(&("j".repeat(1500) + "o"));
    send("CONT");
    screen.wait_for("▸ Operations");
    screen.press("oq");
    is_whole(&mut screen, 0);
}

#[test]
fn ids_are_as_short_as_everywhere() {
    let world = two_messages();
    let log = world.json(&["log"]);
    let id = log["messages"][0]["id"].as_str().expect("an id");
    let Some(mut screen) = browse(&world, 30, 110, "CKPT_HOOK_TEST_ID_LENGTH=4") else {
        return;
    };
    screen.press("r");
    screen.wait_for(&format!("“second” ({}", &id[..4]));
    let contents = screen.contents();
    assert!(!contents.contains(&id[..8]), "{contents}");
    screen.press("q");
    world.play("m3", "meanwhile", |world| world.write("four", "4\n"));
    screen.wait_for("meanwhile");
    let log = world.json(&["log"]);
    let id = log["messages"][0]["id"].as_str().expect("an id");
    screen.press("g");
    screen.wait_for(&format!("{} of session", &id[..4]));
    screen.press("q");
    is_whole(&mut screen, 0);
}

#[test]
fn only_the_marked_files_are_reverted() {
    let world = two_messages();
    let Some(mut screen) = browse(&world, 30, 110, "") else {
        return;
    };
    screen.wait_for("+drei");
    screen.press("\r\t");
    screen.wait_for("1 marked");
    screen.press("r");
    screen.wait_for("Would undo a part of the changes since “");
    screen.press("y");
    screen.wait_for("Undid a part of the changes since “");
    let names: Vec<String> = world
        .tree()
        .into_keys()
        .map(|name| format!("{name:?}"))
        .collect();
    assert_eq!(names.len(), 2, "one of three is gone: {names:?}");
    assert!(
        !names.iter().any(|name| name.contains("three")),
        "the one that was marked: {names:?}"
    );
    screen.press("q");
    is_whole(&mut screen, 0);
}

/// The id is copied as a terminal over ssh takes it.
#[test]
fn id_is_copied_over_ssh() {
    let world = two_messages();
    let Some(mut screen) = browse(&world, 30, 110, "") else {
        return;
    };
    let log = world.json(&["log"]);
    let id = log["messages"][0]["id"].as_str().expect("an id");
    screen.press("y");
    screen.wait_for("copied");
    let copied = format!("\u{1b}]52;c;{}\u{7}", STANDARD.encode(id));
    let raw = screen.raw();
    assert!(
        raw.windows(copied.len())
            .any(|bytes| bytes == copied.as_bytes()),
        "OSC 52 with the whole id: {}",
        String::from_utf8_lossy(raw).escape_debug()
    );
    screen.press("q");
    is_whole(&mut screen, 0);
}

#[test]
fn prompts_and_paths_are_filtered_as_one_types() {
    let world = two_messages();
    let Some(mut screen) = browse(&world, 30, 110, "") else {
        return;
    };
    screen.press("/one");
    screen.wait_until("the message that changed the file `one`", |contents| {
        contents.contains("first") && !contents.contains("second")
    });
    screen.press("\u{1b}");
    screen.wait_for("second");
    screen.press("/SECO");
    screen.wait_until("the message that says so", |contents| {
        contents.contains("second") && !contents.contains("first")
    });
    screen.press("nothing");
    screen.wait_for("Nothing contains that.");
    screen.press("\u{3}");
    is_whole(&mut screen, 130);
}

#[test]
fn what_a_hook_records_meanwhile_comes_by_itself() {
    let world = two_messages();
    let Some(mut screen) = browse(&world, 30, 110, "") else {
        return;
    };
    world.play("m3", "meanwhile", |world| world.write("four", "4\n"));
    screen.wait_for("meanwhile");
    screen.press("q");
    is_whole(&mut screen, 0);
}

/// Nothing is reverted while an agent is at work.
#[test]
fn nothing_is_reverted_beside_a_working_agent() {
    let world = two_messages();
    for command in ["message", "step-start"] {
        let words = [command, "--strict", "--session", "s"];
        world.run(&words, b"").exits(0);
    }
    let Some(mut screen) = browse(&world, 30, 110, "") else {
        return;
    };
    screen.press("jr");
    screen.wait_for("an agent is at work");
    screen.press("y");
    screen.press("q");
    screen.wait_for("▸ Timeline");
    screen.press("q");
    is_whole(&mut screen, 0);
    assert_eq!(world.tree().len(), 3, "nothing was done");
}

/// One pane at a time fits into a small terminal.
#[test]
fn one_pane_fits_a_small_terminal() {
    let world = two_messages();
    let Some(mut screen) = browse(&world, 12, 40, "NO_COLOR=1") else {
        return;
    };
    screen.press("\r");
    screen.wait_for("▸ 2 files");
    screen.press("\r");
    screen.wait_for("+drei");
    assert_eq!(screen.wrapped(), None, "every row fits");
    let rows = screen.contents().trim_end().lines().count();
    assert!(rows <= 12, "{rows} rows:\n{}", screen.contents());
    screen.press("?");
    screen.wait_for("one row up or down");
    screen.press("?");
    screen.wait_for("▸ three");
    screen.press("qqq");
    is_whole(&mut screen, 0);
}

/// A signal gives the terminal back and ends it.
#[test]
fn signal_gives_the_terminal_back() {
    let world = two_messages();
    for (signal, code) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
        let Some(mut screen) = browse(&world, 30, 110, "") else {
            return;
        };
        let pid = std::fs::read_to_string(world.path("pid")).expect("the shell wrote it");
        let killed = Command::new("kill")
            .args(["-s", signal, pid.trim()])
            .status();
        assert!(killed.is_ok_and(|status| status.success()), "it runs");
        is_whole(&mut screen, code);
    }
}

/// It ends with its terminal whether or not a signal tells of that.
#[test]
#[cfg(target_os = "linux")]
fn browser_ends_with_its_terminal() {
    let world = two_messages();
    for session in ["", "setsid --wait"] {
        let Some(screen) = browse(&world, 30, 110, session) else {
            return;
        };
        let pid = std::fs::read_to_string(world.path("pid")).expect("the shell wrote it");
        let command = format!("/proc/{}/cmdline", pid.trim());
        let runs = || std::fs::read(&command).is_ok_and(|line| !line.is_empty());
        assert!(runs(), "it is the browser's");
        screen.close();
        let begin = Instant::now();
        while runs() {
            assert!(begin.elapsed() < PATIENCE, "it runs without a terminal");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A bug gives the terminal back and is told of.
#[test]
fn bug_gives_the_terminal_back() {
    let world = two_messages();
    let line = "echo before; CKPT_HOOK_TEST_FAULT=panic ckpt-hook ui; echo after $?; \
                stty -a | tr ' ;' '\\n\\n' | grep -x -e icanon -e echo";
    let Some(mut screen) = Screen::open(&world, 100, line) else {
        return;
    };
    is_whole(&mut screen, 1);
    let contents = screen.contents();
    assert!(
        contents.contains("this is a bug in ckpt-hook"),
        "{contents}"
    );
}

/// Without a terminal it says what prints the same.
#[test]
fn without_a_terminal_it_names_other_commands() {
    let world = two_messages();
    let run = world.run(&["ui"], b"").exits(2);
    assert!(run.stderr.contains("log --graph"), "a way on: {run}");
    let line = "CLAUDECODE=1 ckpt-hook ui; echo after $?";
    let Some(mut screen) = Screen::open(&world, 80, line) else {
        return;
    };
    screen.end();
    assert!(
        screen.contents().contains("after 2"),
        "an agent's terminal has nobody who leaves it: {}",
        screen.contents()
    );
}

#[test]
fn only_the_marked_hunks_are_reverted() {
    let world = Sandbox::new();
    let lines = |five: &str, thirty: &str| -> String {
        let line = |number: usize| match number {
            5 => format!("{five}\n"),
            30 => format!("{thirty}\n"),
            _ => format!("{number}\n"),
        };
        (1..=40).map(line).collect()
    };
    world.write("long", lines("5", "30"));
    world.play("m1", "both ends", |world| {
        world.write("long", lines("five", "thirty"));
    });
    world.play("m2", "second", |world| world.write("other", "1\n"));
    let Some(mut screen) = browse(&world, 40, 110, "") else {
        return;
    };
    screen.press("j");
    screen.wait_for("+thirty");
    screen.press("\r\rG\t");
    screen.wait_for("[x] @@ -27");
    screen.press("r");
    screen.wait_for("nothing is changed yet");
    screen.press("y");
    screen.wait_until("the timeline again", |contents| {
        contents.contains("▸ Timeline") && !contents.contains("nothing is changed yet")
    });
    assert_eq!(
        String::from_utf8(world.read("long")).expect("text"),
        lines("five", "30"),
        "the other hunk stays"
    );
    screen.press("u");
    screen.wait_for("nothing is changed yet");
    screen.press("y");
    screen.wait_until("the way back", |_| {
        world.read("long") == lines("five", "thirty").into_bytes()
    });
    screen.press("q");
    is_whole(&mut screen, 0);
}

/// A file that stays is taken back by the key that its line names.
#[test]
fn kept_file_goes_back_by_its_key() {
    let world = two_messages();
    world.write("two", "mine\n");
    let Some(mut screen) = browse(&world, 30, 110, "") else {
        return;
    };
    screen.press("r");
    screen.wait_for("[ ] kept two");
    screen.wait_for("o takes it back all the same");
    screen.press("o");
    screen.wait_for("[x] remove -1 two");
    screen.press("y");
    screen.wait_for("Went back to just before “second”");
    assert_eq!(world.tree().len(), 1, "both files are gone");
    screen.press("u");
    screen.wait_for("nothing is changed yet");
    screen.press("y");
    let two = world.workspace().join("two");
    screen.wait_until("what was overwritten", |_| {
        std::fs::read(&two).is_ok_and(|text| text == b"mine\n")
    });
    screen.press("q");
    is_whole(&mut screen, 0);
}

/// A file of a plan is left out by a key, and stays.
#[test]
fn file_of_a_plan_is_left_out() {
    let world = two_messages();
    let Some(mut screen) = browse(&world, 30, 110, "") else {
        return;
    };
    screen.press("r");
    screen.wait_for("[x] remove -1 three");
    screen.press(" ");
    screen.wait_for("[ ] remove -1 three");
    screen.wait_for("no message is hidden");
    screen.press("y");
    screen.wait_for("Undid a part");
    let left = world.tree().into_keys().map(|name| format!("{name:?}"));
    let left: Vec<String> = left.collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.iter().any(|name| name.contains("three")), "{left:?}");
    screen.press("q");
    is_whole(&mut screen, 0);
}

/// A terminal that says it is huge gets no huge frame.
#[test]
#[cfg(target_os = "linux")]
fn huge_terminal_costs_no_huge_memory() {
    let world = two_messages();
    let line = format!(
        "stty rows 9999 columns 9999; sh -c 'echo $$ > {}; exec ckpt-hook ui'",
        world.path("pid").display()
    );
    let Some(mut screen) = Screen::open(&world, 100, &line) else {
        return;
    };
    screen.wait_for_written("second");
    screen.press("?");
    screen.wait_for_written("Shift-Tab");
    let pid = std::fs::read_to_string(world.path("pid")).expect("the shell wrote it");
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.trim()));
    let status = status.expect("it runs");
    let most = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    let most: u64 = most.and_then(|most| most.parse().ok()).expect("a number");
    assert!(most < 400_000, "{most} kB");
    screen.press("qq");
    screen.end();
}

#[test]
fn one_message_is_undone_while_later_ones_stay() {
    let world = two_messages();
    let Some(mut screen) = browse(&world, 30, 110, "") else {
        return;
    };
    screen.press("ja");
    screen.wait_for("nothing is changed yet");
    screen.press("y");
    let undone = world.workspace().join("one");
    screen.wait_until("it is gone", |_| !undone.exists());
    screen.press("q");
    is_whole(&mut screen, 0);
    assert_eq!(world.tree().len(), 2, "what the later one made stays");
}

#[test]
fn what_messages_changed_is_searched_as_one_types() {
    let world = two_messages();
    let Some(mut screen) = browse(&world, 30, 110, "") else {
        return;
    };
    screen.press("/EIN");
    screen.wait_until("the message that wrote `eins`", |contents| {
        contents.contains("first") && !contents.contains("second")
    });
    screen.press("\u{3}");
    is_whole(&mut screen, 130);
}

#[test]
fn revert_without_an_id_opens_it() {
    let world = two_messages();
    let line = "echo before; ckpt-hook revert; echo after $?; stty -a | tr ' ;' '\\n\\n' | grep -x -e icanon -e echo";
    let Some(mut screen) = Screen::open(&world, 100, line) else {
        return;
    };
    screen.wait_for("▸ Timeline");
    screen.press("jr");
    screen.wait_for("Would go back to just before “first”");
    screen.press("y");
    screen.wait_for("Went back to just before “first”");
    assert_eq!(world.tree().len(), 0, "nothing is left");
    screen.press("q");
    is_whole(&mut screen, 0);
    let run = world.run(&["revert"], b"").exits(2);
    assert!(
        run.stderr.contains("needs a message"),
        "nobody sits there: {run}"
    );
}
