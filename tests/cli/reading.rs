//! Reading the history as somebody does who knows git: other names, other programs, filters, a line for each entry.

use std::fs;

use serde_json::{Value, json};
use testing::binary::{Sandbox, finish};
use testing::skip::has_program;

use crate::screen::Screen;

fn two_messages() -> Sandbox {
    let world = Sandbox::new();
    world.write("cake.txt", "flour\neggs\nmilk\n");
    world.play("m1", "Add sugar", |world| {
        world.write("cake.txt", "flour\n\teggs\nmilk\nsugar\n");
    });
    world.play("m2", "Add a note", |world| {
        world.write("notes/new.txt", "soon\n")
    });
    world
}

/// Where recording is turned off, `status` says so, whatever was recorded before.
#[test]
fn status_says_that_recording_is_off() {
    let world = two_messages();
    let off = "! Recording is turned off here: ";
    let told = |variable: Option<&str>| {
        let mut command = world.command(&["status"]);
        command.envs(variable.map(|name| (name, "1")));
        testing::binary::finish(&mut command, b"").exits(0).stdout
    };
    assert!(!told(None).contains(off), "{}", told(None));
    let disabled = told(Some("CKPT_HOOK_DISABLE"));
    assert!(
        disabled.contains(&format!("{off}`CKPT_HOOK_DISABLE` is set.")),
        "{disabled}"
    );
    world.configure("enabled = false\n");
    assert!(told(None).contains(off), "{}", told(None));
}

/// What a command prints.
#[track_caller]
fn printed(world: &Sandbox, line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    world.run(&words, b"").exits(0).stdout
}

/// The names that other programs have for it are understood.
#[test]
fn names_of_other_programs_are_understood() {
    let world = two_messages();
    for name in ["history", "ls"] {
        assert_eq!(printed(&world, name), printed(&world, "log"), "{name}");
    }
    let plan = printed(&world, "revert m1 --dry-run");
    for name in ["rewind", "rollback"] {
        let other = printed(&world, &format!("{name} m1 --dry-run"));
        assert_eq!(other, plan, "{name}");
    }
}

/// Each entry is a line of JSON where lines are asked for.
#[test]
fn entry_is_a_line_of_json() {
    let world = two_messages();
    world.run(&["revert", "m2"], b"").exits(0);
    for (list, key) in [
        ("log", "messages"),
        ("log --operations", "operations"),
        ("log --snapshots", "snapshots"),
        ("log --graph", "entries"),
    ] {
        let lines = printed(&world, &format!("{list} --format jsonl"));
        let lines: Vec<Value> = lines
            .lines()
            .map(|line| serde_json::from_str(line).expect("a document"))
            .collect();
        let words: Vec<&str> = list.split(' ').collect();
        let whole = world.json(&words);
        assert!(!lines.is_empty(), "{list}");
        assert_eq!(whole[key], Value::Array(lines), "{list}");
    }
}

/// Messages are filtered by the options of git and by state.
#[test]
fn messages_are_filtered_like_gits() {
    let world = two_messages();
    world.run(&["revert", "m2"], b"").exits(0);
    for (options, expected) in [
        (&["--agent", "generic"][..], &["m2", "m1"][..]),
        (&["--agent", "codex"], &[]),
        (&["--state", "hidden"], &["m2"]),
        (&["--state", "live"], &["m1"]),
        (&["--until", "2001-01-01"], &[]),
        (&["--since", "2001-01-01", "-n", "1"], &["m2"]),
        (&["--grep", "SUGAR"], &["m1"]),
        (&["-S", "soon"], &["m2"]),
        (&["cake.txt"], &["m1"]),
    ] {
        let report = world.json(&[&["log"][..], options].concat());
        let messages = report["messages"].as_array().expect("a list");
        let ids: Vec<&str> = messages
            .iter()
            .filter_map(|message| message["agent_id"].as_str())
            .collect();
        assert_eq!(ids, expected, "{options:?}");
    }
}

/// A difference opens in the user's tool with both directories.
#[test]
fn users_tool_opens_both_directories() {
    let world = two_messages();
    let script = "for side; do echo \"$(basename \"$side\"): $(cd \"$side\" && find . -type f | sort | tr '\\n' ' ')\"; done; echo \"in $1\"";
    let own = world.path("tool");
    fs::write(&own, format!("#!/bin/sh\n{script}\n")).expect("it is ours");
    let line = format!("sh {}", own.display());
    let mut command = world.command(&["diff", "m1", "--tool"]);
    let run = finish(command.env("CKPT_HOOK_DIFFTOOL", &line), b"").exits(0);
    assert!(
        run.stdout
            .starts_with("before: ./cake.txt \nafter: ./cake.txt ./notes/new.txt \n"),
        "{run}"
    );
    let folder = run.stdout.lines().last().expect("a line");
    let folder = folder.strip_prefix("in ").expect("a directory");
    assert!(!fs::exists(folder).expect("readable"), "nothing is left");

    world.run_git(&["config", "--global", "diff.tool", "mine"]);
    let tool = "echo \"tool: $(cat \"$LOCAL\" | wc -l) $(cat \"$REMOTE\" | wc -l)\"";
    world.run_git(&["config", "--global", "difftool.mine.cmd", tool]);
    let run = world.run(&["diff", "m1", "m2", "--tool"], b"").exits(0);
    assert_eq!(run.stdout, "tool: 3 4\n", "git's own: {run}");

    let mut command = world.command(&["diff", "m1", "--tool"]);
    let run = finish(command.env("CKPT_HOOK_DIFFTOOL", "exit 7;"), b"").exits(1);
    assert!(run.stderr.contains("CKPT_HOOK_DIFFTOOL"), "{run}");
    let run = world.run(&["diff", "m2", "m2", "--tool"], b"").exits(0);
    assert_eq!(run.stdout, "Nothing differs.\n");
}

/// A patch without context is applied and white space is left out if asked.
#[test]
fn patch_without_context_applies() {
    let world = two_messages();
    let patch = printed(&world, "diff m1 m2 -U 0");
    assert!(!patch.contains("\n flour"), "no context: {patch}");
    let mut apply = world.git_command(&["apply", "--unidiff-zero", "--reverse", "-"]);
    finish(&mut apply, patch.as_bytes()).exits(0);
    assert_eq!(world.read("cake.txt"), b"flour\neggs\nmilk\n");
    let patch = printed(&world, "diff m1 m2 -w");
    assert!(patch.contains("+sugar"), "{patch}");
    assert!(!patch.contains("-eggs"), "only indented: {patch}");
}

/// A patch goes to the pager of git and a list does not.
#[test]
fn patch_goes_to_the_pager_of_git() {
    let world = two_messages();
    world.run_git(&["config", "--global", "core.pager", "sed s/^/GIT:/"]);
    let shown = |line: &str| {
        let mut screen = Screen::open(&world, 80, &format!("stty rows 3; PAGER=cat {line}"))?;
        screen.end();
        Some(screen.contents())
    };
    let Some(patch) = shown("ckpt-hook show m1 -p") else {
        return;
    };
    assert!(
        patch.contains("GIT:diff --git"),
        "as delta gets it: {patch}"
    );
    let list = shown("ckpt-hook log").expect("as before");
    assert!(!list.contains("GIT:"), "{list}");
    world.run_git(&["config", "--global", "pager.diff", "sed s/^/DIFF:/"]);
    let patch = shown("ckpt-hook show m1 -p").expect("as before");
    assert!(patch.contains("DIFF:diff --git"), "it goes first: {patch}");
}

/// Delta shows a patch as it shows those of git.
#[test]
fn delta_shows_our_patches_like_gits() {
    if !has_program("delta") {
        return;
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "a world's PATH has only the system's folders, and it may be elsewhere"
    )]
    let folders = std::env::var_os("PATH").expect("it was found there");
    let mut files = std::env::split_paths(&folders).map(|folder| folder.join("delta"));
    let delta = files.find(|file| file.is_file());
    let delta = delta.expect("it was found there");
    let world = two_messages();
    let pager = format!("{} --paging=never --width=70", delta.display());
    world.run_git(&["config", "--global", "core.pager", &pager]);
    for command in ["show m1 -p", "diff m1 m2", "log -p"] {
        let line = format!("stty rows 3; ckpt-hook {command} | cat; ckpt-hook {command}");
        let Some(mut screen) = Screen::open(&world, 80, &line) else {
            return;
        };
        screen.end();
        let shown = screen.contents();
        let (raw, by_delta) = shown.split_once("+sugar").expect("a pipe gets the patch");
        assert!(raw.contains("diff --git"), "{command}: {shown}");
        assert!(
            by_delta.contains("cake.txt") && by_delta.contains("sugar"),
            "{command}: {shown}"
        );
        assert!(
            !by_delta.contains("diff --git") && !by_delta.contains("+sugar"),
            "{command}: delta took the patch for one of git: {shown}"
        );
    }
}

/// An empty answer says that the history was damaged and how to get it back.
///
/// Invariant `truth/rows-of-others`.
#[test]
fn empty_answer_reports_a_damaged_history() {
    let world = two_messages();
    let database = world.store().join("sessions.db");
    fs::write(&database, vec![b'x'; 1 << 14]).expect("it is ours");
    for command in [&["log"][..], &["log", "--snapshots"], &["sessions"]] {
        let run = world.run(command, b"").exits(0);
        assert!(
            run.stdout.contains("sessions.db.damaged-1")
                && run.stdout.contains("`ckpt-hook doctor --repair`"),
            "{run}"
        );
    }
    let set_aside = |command: &[&str]| {
        let run = world.run(command, b"").exits(0);
        let report: serde_json::Value = serde_json::from_str(&run.stdout).expect("a document");
        report["set_aside"].as_str().map(str::to_owned)
    };
    for command in [
        &["--json", "log"][..],
        &["--json", "log", "--graph"],
        &["--json", "log", "--snapshots"],
        &["--json", "log", "--operations"],
        &["--json", "sessions"],
    ] {
        assert!(
            set_aside(command).is_some_and(|place| place.ends_with("sessions.db.damaged-1")),
            "programs are told as well: {command:?}"
        );
    }
    let lines = world.run(&["log", "--format", "jsonl"], b"").exits(0);
    assert_eq!(lines.stdout, "", "a line is a message: {lines}");
    assert!(lines.stderr.contains("sessions.db.damaged-1"), "{lines}");
    world.play("m3", "go on", |world| world.write("one more", "1\n"));
    assert_eq!(
        set_aside(&["--json", "log"]),
        None,
        "a new history has begun"
    );
    assert!(printed(&world, "log").contains("1 message"));
}

#[test]
fn a_page_is_written_beside_a_document() {
    let world = two_messages();
    for command in [&["show", "m1"][..], &["diff", "m1"]] {
        let run = world
            .run(&[command, &["--html", "page.html", "--json"]].concat(), b"")
            .exits(0);
        serde_json::from_str::<Value>(&run.stdout).expect("one document");
        let page = String::from_utf8(world.read("page.html")).expect("text");
        assert!(page.contains("cake.txt"), "{command:?}: {page}");
        world.remove("page.html");
    }
}

/// An empty answer says what is installed and what turns recording off.
#[test]
fn empty_answer_says_what_is_installed() {
    let world = Sandbox::new();
    fs::create_dir_all(world.home().join(".claude")).expect("writable");
    let told = |words: &str| {
        for (command, code) in [
            ("status", 0),
            ("log", 0),
            ("log --operations", 0),
            ("show last", 4),
            ("recover", 4),
        ] {
            let words_of: Vec<&str> = command.split(' ').collect();
            let run = world.run(&words_of, b"").exits(code);
            let said = format!("{}{}", run.stdout, run.stderr).to_lowercase();
            assert!(said.contains(words), "`{command}` says `{words}`: {run}");
        }
    };
    told("the hook is not installed");
    world.run(&["install", "claude-code"], b"").exits(0);
    told("the hook is installed for claude-code");
    world.configure("enabled = false\n");
    told("recording is turned off here: the settings say `enabled = false`");
}

#[test]
fn what_no_pager_can_show_is_printed() {
    let world = two_messages();
    for environment in [
        "PAGER=/no/such/program",
        "CKPT_HOOK_PAGER='no-such-program --option'",
        // A small system has no `less`.
        "PATH=$(dirname $(command -v ckpt-hook)):$PWD/bin",
    ] {
        fs::create_dir_all(world.workspace().join("bin")).expect("writable");
        for program in ["sh", "cat"] {
            let link = world.workspace().join("bin").join(program);
            let _ = std::os::unix::fs::symlink(format!("/bin/{program}"), link);
        }
        let line = format!("stty rows 3; {environment} ckpt-hook log; echo code $?");
        let Some(mut screen) = Screen::open(&world, 80, &line) else {
            return;
        };
        screen.end();
        let shown = screen.contents();
        for words in ["Add sugar", "Add a note", "2 messages", "code 0"] {
            assert!(shown.contains(words), "`{environment}`: {shown}");
        }
    }
}

/// A snapshot names all messages that begin with it.
#[test]
fn snapshot_names_all_its_messages() {
    let world = Sandbox::new();
    for number in 1..=5 {
        let message = json!({"event": "user_message", "session_id": format!("s{number}"), "message_id": format!("m{number}"), "prompt": "look"});
        world
            .run(&["event", "--strict"], message.to_string().as_bytes())
            .exits(0);
    }
    let log = world.json(&["log"]);
    let messages = log["messages"].as_array().expect("a list");
    let ids: Vec<&Value> = messages.iter().map(|message| &message["id"]).collect();
    let document = world.json(&["log", "--snapshots"]);
    let [entry] = document["snapshots"].as_array().expect("a list").as_slice() else {
        panic!("nothing changed in between: {document:#}");
    };
    let named: Vec<&Value> = entry["messages"]
        .as_array()
        .expect("a list")
        .iter()
        .collect();
    assert_eq!(named, ids, "newest first");
    assert_eq!(entry["message"], *ids[0]);
    let run = world.run(&["log", "--snapshots"], b"").exits(0);
    assert!(run.stdout.contains(" … 2 more"), "{run}");
}

/// Show tells of each step by itself where that is asked for.
#[test]
fn show_tells_of_each_step() {
    let world = Sandbox::new();
    world.write("text", "1\n");
    world.play("m1", "in two steps", |world| world.write("text", "2\n"));
    let step = |command: &'static str| {
        world
            .run(&[command, "--strict", "--session", "s"], b"")
            .exits(0);
    };
    step("step-start");
    world.write("text", "3\n");
    world.write("new", "1\n");
    step("step-finish");
    let sum = printed(&world, "show m1 -p");
    assert!(sum.contains("-1\n+3\n"), "from before to after: {sum}");
    let steps = printed(&world, "show m1 --steps -p");
    let (_, steps) = steps.split_once("# step ").expect("the first");
    let (first, second) = steps.split_once("# step ").expect("the second");
    assert!(
        first.contains("-1\n+2\n") && !first.contains("new"),
        "what the first did: {first}"
    );
    assert!(
        second.contains("-2\n+3\n") && second.contains("+++ b/new"),
        "what the second did: {second}"
    );
    let listed = printed(&world, "show m1 --steps");
    assert_eq!(listed.matches("\nStep ").count(), 2, "{listed}");
    assert_eq!(
        listed.matches("  modified  +1  -1  text\n").count(),
        2,
        "{listed}"
    );
}
