//! The pages of agents that nobody has tried with the hook: what they promise holds for what they show.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ckpt_schema::event::EventKind::{
    self, SessionEnd, SessionStart, StepFinish, StepStart, ToolFinish, ToolStart, TurnEnd,
    UserMessage,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use testing::executable;

use super::*;

/// The agents whose settings are edited by hand, most of them known from their documentation alone.
fn untried() -> Vec<&'static str> {
    let untried = |agent: &&Agent| agent.proven_on.is_empty() || agent.name == "droid";
    all().filter(untried).map(|agent| agent.name).collect()
}

fn page_of(agent: &str) -> PathBuf {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agents");
    pages.join(format!("{agent}.md"))
}

fn page(agent: &str) -> String {
    fs::read_to_string(page_of(agent)).expect("it has a page")
}

/// Returns the names of events in the table of a page, with what the page says that each means.
fn events_in(page: &str) -> Vec<(String, String)> {
    let (_, table) = page.split_once("| --- | --- |\n").expect("it has a table");
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.trim_matches('|').split_once(" | "));
    let of_row = |(names, means): (&str, &str)| -> Vec<(String, String)> {
        let names = names.split('`').skip(1).step_by(2);
        let row = names.map(|name| (name.to_owned(), means.trim().to_owned()));
        row.collect()
    };
    cells.flat_map(of_row).collect()
}

/// Returns what the hook understands where a page says these words.
fn understood(means: &str) -> Vec<EventKind> {
    for (words, kinds) in [
        ("a session begins", [SessionStart].as_slice()),
        ("**a user message**", &[UserMessage]),
        ("the first tool of a step", &[ToolStart]),
        (
            "a step begins, and with the first one of a turn a message",
            &[UserMessage, StepStart],
        ),
        ("a sub-agent begins", &[SessionStart]),
        ("a sub-agent ends", &[TurnEnd]),
        ("a tool ended", &[ToolFinish, StepFinish]),
        ("a step ends", &[StepFinish]),
        ("the turn ends", &[TurnEnd]),
        ("the session ends", &[SessionEnd]),
    ] {
        if means.starts_with(words) {
            return kinds.to_owned();
        }
    }
    panic!("no page says this of an event: {means}")
}

/// What any of these agents may tell of any event.
fn anything() -> Value {
    json!({
        "session_id": "s", "conversation_id": "s", "trajectory_id": "s", "generation_id": "g", "execution_id": "g",
        "cwd": "/w", "prompt": "do it", "message": "do it", "tool_name": "Bash", "tool_use_id": "t", "tool_call_id": "t",
        "conversationId": "s", "toolCall": {"name": "run_command"},
        "tool_info": {"user_prompt": "do it", "cwd": "/w"},
    })
}

/// Every event that a page lists is understood as it says.
#[test]
fn every_listed_event_is_understood() {
    assert_eq!(
        untried(),
        [
            "windsurf",
            "cursor",
            "droid",
            "goose",
            "vscode",
            "qoder",
            "auggie",
            "openhands",
            "kiro",
            "antigravity"
        ],
        "each has a page"
    );
    for agent in untried() {
        let events = events_in(&page(agent));
        assert!(events.len() > 2, "{agent}: all of its table: {events:?}");
        for (event, means) in events {
            let told = anything().to_string();
            let parsed = parse_alone(agent, Some(&event), told.as_bytes());
            let mut kinds: Vec<_> = parsed.events.iter().map(|event| event.event).collect();
            // What ends a step is told with its tool by some, and alone by others.
            if means.starts_with("a step ends") {
                kinds.retain(|kind| *kind != ToolFinish);
            }
            assert_eq!(kinds, understood(&means), "{agent}: {event}: {parsed:?}");
        }
    }
}

/// The settings that a page shows call the program and never disturb.
#[test]
fn settings_on_a_page_call_the_program_quietly() {
    for agent in untried() {
        let page = page(agent);
        let (_, block) = page.split_once("```json\n").expect("it shows settings");
        let (block, _) = block.split_once("```").expect("it has an end");
        let settings: Value = serde_json::from_str(block).expect("it is JSON");
        let (event, groups) = settings["hooks"]
            .as_object()
            .and_then(|hooks| hooks.iter().next())
            .expect("it names an event");
        let is_listed = events_in(&page).iter().any(|(name, _)| name == event);
        assert!(is_listed, "{agent}: {event} is in the table");
        let handler = groups[0].pointer("/hooks/0").unwrap_or(&groups[0]);
        let line = handler["command"].as_str().expect("it has a line");
        expect_called_and_quiet(agent, event, line);
    }
}

/// Runs a line of settings with a program that fails loudly, and with none.
fn expect_called_and_quiet(agent: &str, event: &str, line: &str) {
    let directory = TempDir::new().expect("a scratch directory");
    let (program, log) = (directory.path().join("it"), directory.path().join("log"));
    let line = line.replace("/path/to/ckpt-hook", &program.display().to_string());
    let run = || {
        let output = Command::new("/bin/sh").args(["-c", &line]).output();
        let output = output.expect("a shell");
        let is_quiet = output.stdout.is_empty() && output.stderr.is_empty();
        assert!(output.status.success() && is_quiet, "{agent}: {output:?}");
    };
    run();
    let script = format!(
        "#!/bin/sh\necho \"$@\" >'{}'\necho noise >&2\nexit 2\n",
        log.display()
    );
    executable::write(&program, &script);
    run();
    let called = fs::read_to_string(log).expect("it was called");
    let expected = format!("event --agent {agent} --event {event}\n");
    assert_eq!(called, expected, "{agent}: with what it needs to know");
}

/// A page says whether the model learns what went back.
#[test]
fn page_says_whether_the_model_learns_of_reverts() {
    for agent in untried() {
        let adapter = find(agent).expect("it is known");
        let page = page(agent);
        let is_told = page.contains("your next message tells the model which files went back");
        let is_not_told = page.contains("The model does not learn which files a revert changed");
        assert!(is_told != is_not_told, "{agent}: it says one of the two");
        let tells = (adapter.tell)("some files went back").is_some();
        assert_eq!(tells, is_told, "{agent}: and it is so");
    }
}
