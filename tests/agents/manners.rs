//! What an agent does with a hook that behaves badly, as the table in docs/agents/hooks.md says. Our own line keeps all of
//! this from it: here it is called without what guards it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::conversation::Conversation;
use crate::program::Agent;
use testing::executable;

/// What a bad hook does at each event, in the order of the columns: the rest of a script that has noted its call.
const CASES: [&str; 6] = [
    "exit 1",
    "echo MANNERS >&2; exit 2",
    "echo MANNERS >&2; exit 127",
    "echo MANNERS",
    "echo MANNERS >&2",
    "exec sleep 30",
];

/// The timeouts that `install` writes, in the words of the agents' settings and of our plugins, and shorter ones.
const TIMEOUTS: [(&str, &str); 5] = [
    ("30000", "3000"),
    ("timeout\": 30", "timeout\": 3"),
    ("timeoutSec\": 30", "timeoutSec\": 3"),
    ("timeout = 30", "timeout = 3"),
    ("patience = 15_000", "patience = 3_000"),
];

/// What guards our line. Our plugins guard themselves.
const GUARD: &str = " 2>/dev/null || true";

/// An agent does with a bad hook what its row says.
///
/// Invariant `agent/bad-hook`: What an agent does with a hook's exit codes, output, arguments and timeout is in a table, and each
/// row is played.
pub fn bad_hook_does_what_the_table_says(agent: &'static Agent) {
    let page = include_str!("../../docs/agents/hooks.md");
    let rows = page.lines().map(|line| line.trim_matches('|').split('|'));
    let rows = rows.map(|cells| cells.map(str::trim).collect::<Vec<_>>());
    let row = rows
        .into_iter()
        .find(|cells| cells[0] == format!("`{}`", agent.name));
    let row = row.unwrap_or_default();
    let mut seen: Vec<&str> = CASES.iter().map(|case| outcome(agent, case)).collect();
    seen.push(arguments(agent));
    let told = row.get(1..).unwrap_or_default();
    assert_eq!(seen, told, "{}, column by column", agent.name);
}

/// Plays a message with such a hook, and returns what came of it.
fn outcome(agent: &'static Agent, script: &str) -> &'static str {
    let conversation = Conversation::with_changed_hook(agent);
    for (path, text) in settings(&conversation) {
        // A few seconds are enough for a script, and a hook that hangs is not waited for any longer.
        let text = TIMEOUTS
            .iter()
            .fold(text, |text, (ours, short)| text.replace(ours, short));
        fs::write(path, text.replace(GUARD, "")).expect("writable");
    }
    let log = be_bad(&conversation, script);
    conversation.try_to_say("TURN-ONE please");
    assert!(log.exists(), "{}: `{script}` was called", agent.name);
    let is_done = conversation.world.workspace().join("one.txt").exists();
    match is_done {
        // Then the model may never have been asked.
        false => "stops",
        true if conversation.model_was_shown("MANNERS") => "goes on, the model reads it",
        true => "goes on",
    }
}

/// Returns whether it passes arguments that stand beside the command.
fn arguments(agent: &'static Agent) -> &'static str {
    let conversation = Conversation::with_changed_hook(agent);
    let binary = conversation.world.binary().display().to_string();
    let mut is_json = false;
    for (path, text) in settings(&conversation) {
        let Ok(mut settings) = serde_json::from_str::<Value>(&text) else {
            continue;
        };
        beside(&mut settings, &binary, &mut is_json);
        fs::write(path, settings.to_string()).expect("writable");
    }
    if !is_json {
        return "–";
    }
    let log = be_bad(&conversation, "exit 0");
    conversation.try_to_say("TURN-ONE please");
    match fs::read_to_string(log) {
        Ok(calls) if calls.contains("event --agent") => "passed",
        Ok(_) => "left out",
        Err(_) => "not called",
    }
}

/// Puts the arguments of our lines beside their command.
fn beside(value: &mut Value, binary: &str, is_met: &mut bool) {
    match value {
        Value::Object(fields) => {
            let line = fields.get("command").and_then(Value::as_str);
            if line.is_some_and(|line| line.contains(GUARD)) {
                fields.insert("command".to_owned(), binary.into());
                fields.insert("args".to_owned(), vec!["event", "--agent", "x"].into());
                *is_met = true;
            }
            fields
                .values_mut()
                .for_each(|it| beside(it, binary, is_met));
        }
        Value::Array(items) => items.iter_mut().for_each(|it| beside(it, binary, is_met)),
        _ => {}
    }
}

/// Puts a script in the place of our program, and returns the file in which it notes its calls.
fn be_bad(conversation: &Conversation, script: &str) -> PathBuf {
    let log = conversation.world.path("calls");
    let note = format!("#!/bin/sh\necho \"$@\" >>'{}'\n", log.display());
    executable::write(&conversation.world.binary(), &format!("{note}{script}\n"));
    log
}

/// Returns the settings that call our program.
fn settings(conversation: &Conversation) -> Vec<(PathBuf, String)> {
    let home = conversation.world.home();
    let files = conversation.world.settings().into_keys();
    let text = |path: PathBuf| Some((path.clone(), fs::read_to_string(&path).ok()?));
    let texts = files.filter_map(|path| text(home.join::<&Path>(&path)));
    let is_ours = |text: &str| text.contains(GUARD) || text.contains("patience = ");
    texts.filter(|(_, text)| is_ours(text)).collect()
}
