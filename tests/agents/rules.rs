//! What holds for every agent whose hook works.

use std::path::Path;

use serde_json::Value;

use crate::conversation::{Conversation, PROMPTS, Seen, without_hook};
use crate::program::{self, Agent};
use testing::machine::Machine;
use testing::rows;

/// Every message goes back and comes again and the user's notes stay.
///
/// See its name; and the log has the user's messages, and the agent says and does the same as without the hook.
///
/// Invariant `truth/prompts`.
///
/// Invariant `agent/same-behaviour`: The agent behaves the same with the hook, without it, and
/// with a broken one.
pub fn every_message_goes_back_and_comes_again(agent: &'static Agent) {
    expect_script_played(&without_hook(agent));
    let mut conversation = Conversation::with_hook(agent).hold(|_, _| {});
    conversation.expect_unchanged();
    expect_log(agent, &conversation.world);
    expect_one_session(agent, &conversation.world);
    expect_command_lines(agent, &conversation.world);
    let messages = messages(&conversation.world);
    one_by_one(&conversation, &messages);
    if agent.goes_on {
        at_once(&conversation, &messages);
        nearer_and_on(agent, &mut conversation, &messages);
    }
}

/// No version is disturbed and what it tells of goes back.
///
/// See its name: oldest supported to newest, and some that are too old for hooks, of which `doctor` says so.
pub fn no_version_is_disturbed(agent: &'static Agent) {
    let conversation = Conversation::with_hook(agent).hold(|_, _| {});
    conversation.expect_same_work();
    let doctor = agent.ask_hook(&conversation.world, &["doctor"]);
    if program::records(agent.name) == "nothing" {
        let log = conversation.world.json(&["log"]);
        assert_eq!(log["messages"], Value::from([Value::Null; 0]), "{log}");
        let says_so = doctor.stdout.contains("records nothing");
        assert!(says_so, "nobody has to find it out: {doctor:?}");
        return;
    }
    let is_warned = doctor.stdout.contains("records nothing");
    assert!(!is_warned, "there is no reason to: {doctor:?}");
    expect_log(agent, &conversation.world);
    one_by_one(&conversation, &messages(&conversation.world));
}

/// See its name; the package was put in by the agent's own means.
pub fn our_package_records_what_our_installation_does(agent: &'static Agent) {
    let conversation = Conversation::with_package(agent).hold(|_, _| {});
    conversation.expect_unchanged();
    expect_log(agent, &conversation.world);
    one_by_one(&conversation, &messages(&conversation.world));
}

/// See its name.
pub fn uninstall_leaves_the_settings_as_they_were(agent: &'static Agent) {
    let Conversation { world, .. } = &Conversation::without_hook(agent);
    let before = world.settings();
    agent.install(world);
    assert_ne!(world.settings(), before, "the hook is in");
    let others = agent.install.iter().filter(|it| !it.starts_with('-'));
    let all: Vec<&str> = ["uninstall", agent.name]
        .iter()
        .chain(others)
        .copied()
        .collect();
    world.hook(&all).exits(0);
    assert_eq!(
        world.settings(),
        before,
        "not a byte of the user's settings changed"
    );
}

/// Makes sure that there is something to take back.
fn expect_script_played(seen: &Seen) {
    let expected = [
        [
            "hello.txt",
            "ignored/note.txt",
            "one.txt",
            "link",
            "deep/er/raw.bin",
        ]
        .as_slice(),
        &["hello.txt", "three.txt", "half.txt"],
        &["hello.txt", "three.txt", "sub.txt"],
    ];
    for (tree, files) in seen.after.iter().zip(expected) {
        for file in files {
            assert!(
                tree.contains_key(Path::new(file)),
                "`{file}` is what is to be taken back: {tree:?}"
            );
        }
    }
    assert!(
        !seen.after[1].contains_key(Path::new("deep")),
        "the second message removes a folder"
    );
    assert!(
        !seen.after[2].contains_key(Path::new("README.md")),
        "the sub-agent removes a file of the user's"
    );
}

/// The log has the user's messages and no others: neither a sub-agent's task nor the note that it has finished.
pub fn expect_log(agent: &Agent, world: &Machine) {
    let log = world.json(&["log"]);
    let messages = log["messages"].as_array().expect("a list of messages");
    if agent.tells_prompts {
        let prompts: Vec<String> = in_log(world, "prompt")
            .iter()
            .filter_map(|prompt| Some(prompt.as_str()?.trim_end().to_owned()))
            .collect();
        assert_eq!(
            prompts, PROMPTS,
            "what the user wrote, and nothing else: {log}"
        );
    } else {
        assert_eq!(
            messages.len(),
            PROMPTS.len(),
            "one message for each that was sent: {log}"
        );
    }
    for message in messages {
        assert_eq!(
            message["agent"], agent.name,
            "it says whose it is: {message}"
        );
        assert_ne!(
            message["files"], 0,
            "every one of these messages changed files: {message}"
        );
    }
}

/// Cline begins another session with each message.
fn expect_one_session(agent: &Agent, world: &Machine) {
    let sessions = in_log(world, "session");
    let is_one = sessions.iter().all(|session| *session == sessions[0]);
    assert_eq!(
        is_one, agent.goes_on,
        "a message that goes on with the session is in the same: {sessions:?}"
    );
}

/// What its shells ran is kept, so that a revert can name the tags and ignored files that one of them removed; but not where
/// only the end of a tool is told.
fn expect_command_lines(agent: &Agent, world: &Machine) {
    let lines = rows::texts(
        &world.store().join("sessions.db"),
        "SELECT command FROM tools WHERE command IS NOT NULL",
    );
    for shell in ["echo one > one.txt", "echo half > half.txt; exit 3"] {
        let is_kept = lines.iter().any(|line| line.contains(shell));
        assert_eq!(is_kept, agent.tells_edits_before, "`{shell}`: {lines:?}");
    }
}

/// Each message goes back, newest first, and all of them come again.
pub fn one_by_one(conversation: &Conversation, messages: &[String]) {
    let Conversation { world, seen, .. } = conversation;
    for (message, before) in messages.iter().zip(&seen.before).rev() {
        conversation.revert(message, before);
        world.expect_tree(
            &conversation.reverted(before),
            "back to just before this message, whatever was reverted already",
        );
    }
    for after in &seen.after {
        world.hook(&["redo"]).exits(0);
        world.expect_tree(&conversation.reverted(after), "one message forward");
    }
    let status = world.json(&["status"]);
    assert_eq!(
        status["revert_point"],
        Value::Null,
        "all of it is redone: {status}"
    );
}

fn at_once(conversation: &Conversation, messages: &[String]) {
    let Conversation { world, seen, .. } = conversation;
    let newest = seen.after.last().expect("three messages");
    for (message, before) in messages.iter().zip(&seen.before) {
        conversation.revert(message, before);
        world.expect_tree(
            &conversation.reverted(before),
            "straight back to just before this message",
        );
        world.hook(&["unrevert"]).exits(0);
        world.expect_tree(newest, "and all the way forward");
    }
}

/// A revert goes nearer again, the next message makes it permanent and tells the agent, and that one is taken back from inside.
fn nearer_and_on(agent: &Agent, conversation: &mut Conversation, messages: &[String]) {
    let nearer = conversation.reverted(&conversation.seen.before[2]);
    for number in [0, 2] {
        conversation.revert(&messages[number], &conversation.seen.before[number]);
    }
    conversation.world.expect_tree(&nearer, "nearer again");
    conversation.say("TURN-AGAIN please");
    assert_ne!(
        conversation.world.tree(),
        nearer,
        "the agent works on from there"
    );
    let states = in_log(&conversation.world, "state");
    assert_eq!(
        states,
        ["live", "live", "discarded", "live"],
        "the new message took the place of the reverted one"
    );
    let told = conversation.model_was_shown("the user took back changes in this workspace");
    assert_eq!(
        told, agent.is_told,
        "the model is told which files went back, where there is a way"
    );
    if agent.knows_session {
        conversation
            .world
            .hook(&[
                "message",
                "--session",
                "another",
                "--prompt",
                "of somebody else",
            ])
            .exits(0);
    }
    let said = match agent.revert {
        Some(command) => Some(conversation.command(command)),
        None => {
            conversation
                .world
                .hook(&["revert", "--message", "last"])
                .exits(0);
            None
        }
    };
    conversation.world.expect_tree(
        &nearer,
        &format!("the new message can be reverted like any other: {said:?}"),
    );
}

/// Returns our ids of the messages, oldest first.
pub fn messages(world: &Machine) -> Vec<String> {
    in_log(world, "id")
        .iter()
        .map(|id| id.as_str().expect("an id").to_owned())
        .collect()
}

/// Returns a field of each message in the log, oldest first.
fn in_log(world: &Machine, field: &str) -> Vec<Value> {
    let log = world.json(&["log"]);
    let newest_first = log["messages"]
        .as_array()
        .expect("a list of messages")
        .iter();
    newest_first
        .rev()
        .map(|message| message[field].clone())
        .collect()
}
