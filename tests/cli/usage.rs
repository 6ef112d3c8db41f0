//! What people see: help, refusals, exit codes.

use std::process::Stdio;

use expect_test::expect_file;

use testing::binary::{Run, Sandbox};

/// Runs it without anybody who writes to it.
fn by_a_script(world: &Sandbox, arguments: &[&str]) -> Run {
    let mut command = world.command(arguments);
    Run::from(command.stdin(Stdio::null()).output().expect("it starts"))
}

/// Arguments that make no sense are exit code 2 for people.
#[test]
fn senseless_arguments_exit_with_2() {
    let world = Sandbox::new();
    for arguments in [
        &["revert", "--bogus"][..],
        &["no-such-command"],
        &["log", "-n", "many"],
        &["blame"],
    ] {
        let run = by_a_script(&world, arguments).exits(2);
        assert!(run.stderr.starts_with("error: "), "it says why: {run}");
        assert_eq!(run.stdout, "", "and only there: {run}");
    }
}

/// Options of which one would be ignored are refused together.
#[test]
fn options_that_ignore_each_other_are_refused() {
    let world = Sandbox::new();
    world.run(&["run", "--", "touch", "made"], b"").exits(0);
    for arguments in [
        &["diff", "-z"][..],
        &["show", "last", "-z"],
        &["show", "last", "-z", "--stat"],
        &["show", "last", "--stat", "-w"],
        &["show", "last", "--name-only", "--word-diff"],
        &["show", "last", "--name-status", "-y"],
        &["show", "last", "--stat", "-U5"],
        &["show", "last", "--stat", "--html", "page.html"],
        &["show", "last", "--stat", "--steps"],
        &["show", "last", "--steps", "--html", "page.html"],
        &["diff", "--tool", "--json"],
        &["diff", "--tool", "--json-lines"],
        &["diff", "--tool", "-p"],
        &["diff", "--tool", "-w"],
        &["log", "--format", "jsonl", "--stat"],
        &["log", "--format", "jsonl", "-p"],
        &["revert", "last", "--dry-run", "--contents"],
        &["undo", "--dry-run", "--contents"],
        &["recover", "--force"],
    ] {
        let run = by_a_script(&world, arguments).exits(2);
        let says_why =
            run.stderr.starts_with("error: ") || run.stdout.contains("cannot be used with");
        assert!(says_why, "{arguments:?}: {run}");
    }
    let run = by_a_script(&world, &["show", "last", "-U0"]).exits(0);
    assert!(
        run.stdout.starts_with("diff --git"),
        "as with git, asking for context asks for a patch: {run}"
    );
}

/// A command without a document refuses to print one.
#[test]
fn command_without_a_document_refuses_json() {
    let world = Sandbox::new();
    world.run(&["run", "--", "touch", "made"], b"").exits(0);
    for command in [
        &["demo"][..],
        &["completions", "bash"],
        &["candidates", "ids"],
        &["man"],
        &["ui"],
        &["diff", "--tool"],
        &["watch"],
    ] {
        for words in [
            [&["--json"], command].concat(),
            [command, &["--json"]].concat(),
        ] {
            let run = by_a_script(&world, &words).exits(2);
            let document: serde_json::Value =
                serde_json::from_str(&run.stdout).expect("a document");
            assert_eq!(document["error"]["kind"], "usage", "{words:?}: {run}");
        }
    }
}

/// A time before nothing is refused in the words of times.
#[test]
fn time_before_nothing_is_refused_as_a_time() {
    let world = Sandbox::new();
    for (option, time) in [
        ("--since", "-3"),
        ("--until", "-1 day ago"),
        ("--since", "-2h"),
    ] {
        let run = by_a_script(&world, &["log", option, time]).exits(2);
        let said = format!("error: `{option} {time}` is not a time in the past");
        assert!(run.stderr.starts_with(&said), "{run}");
    }
}

#[test]
fn an_empty_name_or_text_is_refused() {
    let world = Sandbox::new();
    for arguments in [
        &["run", "--agent", "", "--", "touch", "made"][..],
        &["run", "--prompt", "", "--", "touch", "made"],
        &["log", "--agent", ""],
        &["label", "last", ""],
        &["snapshot", "--label", ""],
    ] {
        by_a_script(&world, arguments).exits(2);
    }
    assert!(!world.path("made").exists(), "no command was started");
}

#[test]
fn a_refusal_is_a_document_with_json() {
    let world = Sandbox::new();
    let run = world.run(&["--json", "blame"], b"").exits(2);
    let document: serde_json::Value = serde_json::from_str(&run.stdout).expect("a document");
    assert_eq!(
        document["error"]["code"], 2,
        "the exit code is in it: {run}"
    );
    assert_eq!(run.stderr, "", "nothing else is said: {run}");
}

#[test]
fn the_document_of_a_refusal_names_the_argument() {
    let world = Sandbox::new();
    for (arguments, message) in [
        (
            &["blame"][..],
            "the following required arguments were not provided: <PATH>",
        ),
        (
            &["run"],
            "the following required arguments were not provided: <COMMAND>...",
        ),
        (
            &["workspace"],
            "arguments are missing: `ckpt-hook workspace <COMMAND>`",
        ),
        (
            &["revert", "m1", "--on-conflict", "perhaps"],
            "invalid value 'perhaps' for '--on-conflict <HOW>' [possible values: merge, keep, overwrite]",
        ),
    ] {
        let document = world.json(arguments);
        assert_eq!(document["error"]["message"], message);
    }
}

#[test]
fn revert_without_a_message_needs_a_terminal() {
    let world = Sandbox::new();
    let run = world.run(&["revert"], b"").exits(2);
    assert!(
        run.stderr.contains("hint: use `--message ID`"),
        "it says what to do: {run}"
    );
}

#[test]
fn what_was_typed_cannot_act_on_the_terminal() {
    let world = Sandbox::new();
    for arguments in [
        ["show", "--\u{1b}[2J"],
        ["\u{1b}]0;title\u{7}", "x"],
        ["--store", "\u{9b}31m"],
    ] {
        let run = by_a_script(&world, &arguments);
        let output = format!("{}{}", run.stdout, run.stderr);
        let acts = |character: char| character.is_control() && character != '\n';
        assert!(
            !output.chars().any(acts),
            "every control character is escaped: {output:?}"
        );
    }
}

#[test]
fn help_goes_to_stdout_and_reads_like_this() {
    let world = Sandbox::new();
    let run = world.run(&["--help"], b"").exits(0);
    expect_file!["help.txt"].assert_eq(&run.stdout);
    expect_file!["help_revert.txt"]
        .assert_eq(&world.run(&["revert", "--help"], b"").exits(0).stdout);
}

/// A hook's command has help for people and makes no store for it.
#[test]
fn hooks_command_has_help_for_people() {
    let world = Sandbox::new();
    for arguments in [["event", "--help"], ["message", "-h"]] {
        let run = world.run(&arguments, b"").exits(0);
        assert!(run.stdout.contains("Usage: ckpt-hook "), "the help: {run}");
    }
    assert!(
        !world.store().exists(),
        "nothing went wrong that would have to be noted"
    );
}

#[test]
fn the_version_names_the_libraries_inside() {
    let world = Sandbox::new();
    let run = world.run(&["--version"], b"").exits(0);
    let words: Vec<&str> = run
        .stdout
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(
        words,
        ["ckpt-hook", "libgit2", "SQLite"],
        "a report of a bug needs all three: {run}"
    );
}

#[test]
fn a_reader_who_went_away_is_no_failure() {
    let world = Sandbox::new();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = world
        .command(&["completions", "bash"])
        .stdout(writer)
        .output()
        .expect("it ends");
    assert_eq!(
        output.status.code(),
        Some(0),
        "`ckpt-hook log | head` is everyday use"
    );
    assert!(
        output.stderr.is_empty(),
        "and says nothing: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A full disk is a failure with a cause.
#[test]
fn full_disk_has_a_cause() {
    let world = Sandbox::new();
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("Linux has it");
    let output = world
        .command(&["completions", "bash"])
        .stdout(full)
        .output()
        .expect("it ends");
    assert_eq!(output.status.code(), Some(1), "the script is not whole");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("caused by: "), "it says why: {stderr}");
}

#[test]
fn colours_are_for_those_who_ask() {
    let world = Sandbox::new();
    assert!(
        !world.run(&["blame"], b"").stderr.contains('\u{1b}'),
        "none on a pipe"
    );
    let painted = world.run(&["--color", "always", "revert"], b"");
    assert!(
        painted.stderr.contains('\u{1b}'),
        "some where they are asked for: {painted}"
    );
}

/// The help of every command about the history has examples of it.
#[test]
fn every_history_command_has_examples() {
    let world = Sandbox::new();
    for command in [
        "revert", "undo", "redo", "unrevert", "restore", "log", "show", "diff", "blame", "cat",
        "recover", "branch", "bisect", "push", "fetch", "label", "run", "ui", "page", "serve",
        "mcp", "watch", "schema",
    ] {
        let help = world.run(&[command, "--help"], b"").exits(0);
        let (_, examples) = help.stdout.split_once("\nExample").expect(command);
        let is_own = examples.contains(&format!("ckpt-hook {command}"))
            || examples.contains(&format!("\"args\": [\"{command}\"]"));
        assert!(is_own, "{command}: {examples}");
    }
}

/// What follows a double hyphen is no option of a refusal.
#[test]
fn words_after_a_double_hyphen_are_no_option() {
    let world = Sandbox::new();
    for arguments in [
        &["show", "--bogus", "--", "--json"][..],
        &["run", "--bogus", "--", "grep", "--json"],
        &["show", "--", "--json"],
    ] {
        let run = by_a_script(&world, arguments);
        assert!(run.stderr.starts_with("error: "), "as text: {run}");
        assert_eq!(run.stdout, "", "no document: {run}");
    }
}
