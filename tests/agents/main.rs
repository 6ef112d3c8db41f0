//! The real agents, with the hook that `ckpt-hook install` puts in, on a scripted model: what they change can be taken back
//! and brought again, and they do not notice.
//!
//! Ignored unless asked for: `just agents` installs the CLIs and runs them.

mod claude_code;
mod conversation;
mod model;
mod world;

use std::fs;
use std::path::Path;

use claude_code::ClaudeCode;
use conversation::{Conversation, PROMPTS, hold, without_hook};
use serde_json::Value;
use world::World;

/// Returns a workspace in which Claude Code ran three messages under our hook.
fn recorded() -> (World, Conversation) {
    let world = World::new();
    ClaudeCode.settle(&world);
    world.hook(&["install", "claude-code"]).expect_code(0);
    let conversation = hold(&world, |_, _| {});
    (world, conversation)
}

/// Returns our ids of the messages, oldest first.
fn messages(world: &World) -> Vec<String> {
    let log = world.json(&["log"]);
    let newest_first = log["messages"].as_array().expect("a list of messages").iter();
    newest_first.rev().map(|message| message["id"].as_str().expect("an id").to_owned()).collect()
}

#[test]
#[ignore = "needs the real Claude Code: `just agents`"]
fn the_scripted_conversation_makes_changes_and_removes_in_every_message() {
    let after = &without_hook().after;
    let expected = [
        ["hello.txt", "ignored/note.txt", "one.txt", "link", "deep/er/raw.bin"].as_slice(),
        &["hello.txt", "three.txt", "half.txt"],
        &["hello.txt", "three.txt", "sub.txt"],
    ];
    for (tree, files) in after.iter().zip(expected) {
        for file in files {
            assert!(tree.contains_key(Path::new(file)), "`{file}` is what the other tests take back: {tree:?}");
        }
    }
    assert!(!after[1].contains_key(Path::new("deep")), "the second message removes a folder");
    assert!(!after[2].contains_key(Path::new("README.md")), "the sub-agent removes a file of the user's");
}

#[test]
#[ignore = "needs the real Claude Code: `just agents`"]
fn the_log_has_the_users_messages_and_no_others() {
    let (world, _) = recorded();
    let log = world.json(&["log"]);
    let messages = log["messages"].as_array().expect("a list of messages");
    let prompts: Vec<&Value> = messages.iter().rev().map(|message| &message["prompt"]).collect();
    assert_eq!(prompts, PROMPTS, "the note that a sub-agent has finished is a prompt made by a machine");
    for message in messages {
        assert_eq!(message["agent"], "claude-code", "it says whose it is: {message}");
        assert_ne!(message["files"], 0, "every one of these messages changed files: {message}");
        assert_eq!(message["session"], messages[0]["session"], "`--continue` goes on with the session: {message}");
    }
}

#[test]
#[ignore = "needs the real Claude Code: `just agents`"]
fn every_message_is_reverted_further_and_further_back_and_redone_one_by_one() {
    let (world, conversation) = recorded();
    let messages = messages(&world);
    for (message, before) in messages.iter().zip(&conversation.before).rev() {
        world.hook(&["revert", "--message", message]).expect_code(0);
        world.expect_tree(before, "back to just before this message, whatever was reverted already");
    }
    for after in &conversation.after {
        world.hook(&["redo"]).expect_code(0);
        world.expect_tree(after, "one message forward");
    }
    let nothing_left = world.json(&["status"]);
    assert_eq!(nothing_left["revert_point"], Value::Null, "all of it is redone: {nothing_left}");
}

#[test]
#[ignore = "needs the real Claude Code: `just agents`"]
fn every_message_is_reverted_at_once_and_brought_back_at_once() {
    let (world, conversation) = recorded();
    let newest = conversation.after.last().expect("three messages");
    for (message, before) in messages(&world).iter().zip(&conversation.before) {
        world.hook(&["revert", "--message", message]).expect_code(0);
        world.expect_tree(before, "straight back to just before this message");
        world.hook(&["unrevert"]).expect_code(0);
        world.expect_tree(newest, "and all the way forward");
    }
}

#[test]
#[ignore = "needs the real Claude Code: `just agents`"]
fn a_revert_goes_nearer_again_and_the_next_message_makes_it_permanent() {
    let (world, conversation) = recorded();
    let messages = messages(&world);
    world.hook(&["revert", "--message", &messages[0]]).expect_code(0);
    world.hook(&["revert", "--message", &messages[2]]).expect_code(0);
    world.expect_tree(&conversation.before[2], "nearer again");
    let (_, again) = conversation::go_on(&world, &conversation, "TURN-AGAIN please");
    world.expect_tree(&again, "the agent works on from there");
    let log = world.json(&["log"]);
    let states: Vec<&Value> =
        log["messages"].as_array().expect("a list").iter().map(|message| &message["state"]).collect();
    assert_eq!(states, ["live", "discarded", "live", "live"], "the new message took the place of the reverted one");
    world.hook(&["revert", "--message", "last"]).expect_code(0);
    world.expect_tree(&conversation.before[2], "the new message can be reverted like any other");
}

#[test]
#[ignore = "needs the real Claude Code: `just agents`"]
fn what_the_user_did_between_the_messages_stays() {
    let world = World::new();
    ClaudeCode.settle(&world);
    world.hook(&["install", "claude-code"]).expect_code(0);
    let conversation = hold(&world, |world, turn| {
        fs::write(world.workspace().join(format!("notes-{turn}.txt")), "mine\n").expect("a writable workspace");
    });
    world.hook(&["revert", "--message", "last~2"]).expect_code(0);
    let mut expected = conversation.before[0].clone();
    let notes = conversation.after[2].iter().filter(|(path, _)| path.to_string_lossy().starts_with("notes-"));
    expected.extend(notes.map(|(path, entry)| (path.clone(), entry.clone())));
    world.expect_tree(&expected, "the agent's work is gone, the user's is not");
    world.hook(&["unrevert"]).expect_code(0);
    world.expect_tree(&conversation.after[2], "and back");
}

#[test]
#[ignore = "needs the real Claude Code: `just agents`"]
fn the_agent_says_and_does_the_same_as_without_the_hook() {
    let (world, conversation) = recorded();
    conversation.expect_same(without_hook());
    assert!(world.home().join(".local/share/ckpt-hook/sessions.db").exists(), "the hook did run");
}

#[test]
#[ignore = "needs the real Claude Code: `just agents`"]
fn the_agent_goes_on_when_the_binary_is_removed() {
    let world = World::new();
    ClaudeCode.settle(&world);
    world.hook(&["install", "claude-code"]).expect_code(0);
    fs::remove_file(world.binary()).expect("it is there");
    let mut conversation = hold(&world, |_, _| {});
    for answer in &mut conversation.answers {
        // Claude Code tells its user when the session ends. That is true, and reaches neither the model nor the answer.
        let lines = std::mem::take(&mut answer.stderr);
        assert!(lines.lines().all(|line| line.starts_with("SessionEnd hook") && line.contains("ENOENT")), "{lines}");
    }
    conversation.expect_same(without_hook());
}

#[test]
#[ignore = "needs the real Claude Code: `just agents`"]
fn the_agent_goes_on_when_the_store_is_broken() {
    let world = World::new();
    ClaudeCode.settle(&world);
    world.hook(&["install", "claude-code"]).expect_code(0);
    let store = world.home().join(".local/share/ckpt-hook");
    fs::create_dir_all(&store).expect("a writable home");
    fs::write(store.join("sessions.db"), "this is no database").expect("a writable home");
    hold(&world, |_, _| {}).expect_same(without_hook());
}

#[test]
#[ignore = "needs the real Claude Code: `just agents`"]
fn uninstall_leaves_the_settings_as_they_were() {
    let world = World::new();
    ClaudeCode.settle(&world);
    let settings = world.home().join(".claude/settings.json");
    let before = fs::read_to_string(&settings).expect("they were written");
    world.hook(&["install", "claude-code"]).expect_code(0);
    assert_ne!(fs::read_to_string(&settings).expect("still there"), before, "the hook is in");
    world.hook(&["uninstall", "claude-code"]).expect_code(0);
    assert_eq!(
        fs::read_to_string(&settings).expect("still there"),
        before,
        "not a byte of the user's settings changed"
    );
}
