//! The extension for Pi, as a JavaScript engine runs it.

use std::process::Output;

use super::plugin::{calls, command_lines, recorder, run_plugin};
use super::*;

/// An agent that says what it is told at the moments in `on`, and lets a user call the commands in `commands`.
const PI: &str = r#"
import extension from "./plugin.mjs"
const on = {}, commands = {}
extension({ on: (name, act) => (on[name] = act), registerCommand: (name, command) => (commands[name] = command) })
const context = { cwd: process.cwd(), sessionManager: { getSessionId: () => "root" } }
const tell = (name, event) => on[name](event, context)
"#;

/// A conversation as Pi tells it, with a message that was typed while a tool runs.
const CONVERSATION: &str = r#"
await tell("session_start", {})
const said = await tell("before_agent_start", { prompt: "hello", systemPrompt: "long" })
const message = (text) => ({ message: { role: "user", content: [{ type: "text", text }] } })
await tell("message_start", message("hello"))
await tell("context", { messages: ["long"] })
await tell("tool_call", { toolName: "write", toolCallId: "c1", input: { path: "/w/a", content: "long" } })
await tell("message_start", { message: { role: "assistant", content: "long" } })
await tell("tool_result", { toolName: "write", toolCallId: "c1", content: "long" })
await tell("message_start", message("and that"))
await tell("agent_end", { messages: ["long"] })
await tell("session_shutdown", {})
console.log(JSON.stringify(said ?? null))
"#;

/// What Pi 1.6.0 tells where an extension starts a run, and the user types a message meanwhile.
const EXTENSIONS_RUN: &str = r#"
await tell("before_agent_start", { messageType: "custom", message: { customType: "other", content: "long" } })
await tell("message_start", { message: { role: "custom", content: "long" } })
await tell("context", { messages: ["long"] })
await tell("message_start", { message: { role: "user", content: [{ type: "text", text: "and that" }] } })
await tell("agent_end", { messages: ["long"] })
"#;

/// Two shells beside each other, one of which runs a command of ours, and an edit.
const SHELLS: &str = r#"
const begin = (toolName, toolCallId, input) => tell("tool_call", { toolName, toolCallId, input })
const end = (toolName, toolCallId, input) => tell("tool_result", { toolName, toolCallId, input, content: "long" })
const build = { command: "make && make check", description: "build" }
const ours = { command: "ckpt-hook inside status" }
await begin("bash", "c1", build)
await begin("bash", "c2", ours)
await end("bash", "c2", ours)
await end("bash", "c1", build)
await begin("write", "c3", { path: "/w/a", content: "long" })
"#;

/// How often the hook was called by the time that the agent goes on.
const WAITING: &str = r#"
import { readFileSync } from "node:fs"
const show = () => console.log(readFileSync("../log", "utf8").match(/--event/g).length)
for (const name of ["tool_result", "context", "tool_call", "agent_end", "session_shutdown"]) {
  await tell(name, {})
  show()
}
"#;

/// What an agent of another version might tell.
const NONSENSE: &str = r#"
for (const act of Object.values(on)) {
  for (const told of [[], [null, null], [{}, {}], [{ message: { role: "user", content: [null] } }, { cwd: 7 }]]) {
    const said = await act(...told)
    if (said !== undefined && said.message === undefined) throw new Error(String(act))
  }
}
for (const command of Object.values(commands)) await command.handler(undefined, undefined)
"#;

/// A message of an agent whose hook hangs; the time that the extension waits for it goes by at once, and is shown.
const HANGING: &str = r#"
const later = globalThis.setTimeout
globalThis.setTimeout = (then, time) => (console.log(time), later(then, 1))
await tell("before_agent_start", { prompt: "hello" })
"#;

/// The user's call of one of our commands, at a terminal and without one.
const COMMANDS: &str = r#"
const shown = []
const ui = { notify: (text) => shown.push(text) }
await commands["ckpt-revert"].handler("--only 'a b'", { ...context, hasUI: true, ui })
await commands["ckpt-revert"].handler("", { ...context, hasUI: false, ui })
console.log(JSON.stringify(shown))
"#;

/// The user's choice of the first answer each time.
const CHOICE: &str = r#"
const ui = {
  notify: () => {},
  select: async (title, choices) => (console.log(`${title}: ${choices.join(" | ")}`), choices[0]),
  setEditorText: (text) => console.log(`input ${text}`),
}
const switchSession = async (path, { withSession }) => (console.log(`to ${path}`), await withSession({ ui }))
await commands["ckpt-revert"].handler("", { ...context, hasUI: true, ui, switchSession })
"#;

/// Runs a script with the installed extension, or returns `None` without an engine to run it.
fn run(world: &World, script: &str) -> Option<Output> {
    world.install("pi");
    let extension = world.read("home/.pi/agent/extensions/ckpt-hook.ts");
    run_plugin(world, &extension, &format!("{PI}{script}"))
}

/// What the extension hands on is the conversation in its order.
#[test]
fn extension_hands_on_the_conversation_in_order() {
    let world = World::new();
    recorder(&world);
    let Some(output) = run(&world, CONVERSATION) else {
        return;
    };
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    let told: Vec<_> = calls(&world, "pi")
        .iter()
        .map(|event| format!("{} {}", event.event.name(), event.session_id))
        .collect();
    let expected = [
        "session_start root",
        "user_message root",
        "step_start root",
        "tool_start root",
        "tool_finish root",
        "user_message root",
        "turn_end root",
        "session_end root",
    ];
    assert_eq!(
        told, expected,
        "a message that the agent repeats to its model is one"
    );
    let log = world.read("log");
    assert!(
        !log.contains("long"),
        "no file's content and no conversation is handed on: {log}"
    );
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        r#"{"message":{"customType":"ckpt-hook","content":"noise","display":false}}"#,
        "what the hook has to say reaches the model beside the message"
    );
}

/// Message during the run of an extension is handed on.
#[test]
fn message_during_an_extensions_run_is_handed_on() {
    let world = World::new();
    recorder(&world);
    let Some(output) = run(&world, EXTENSIONS_RUN) else {
        return;
    };
    assert!(output.status.success(), "{output:?}");
    let told: Vec<_> = calls(&world, "pi")
        .into_iter()
        .map(|event| (event.event.name(), event.prompt))
        .collect();
    let typed = Some("and that".to_owned());
    let expected = [
        ("user_message", None),
        ("step_start", None),
        ("user_message", typed),
        ("turn_end", None),
    ];
    assert_eq!(told, expected);
}

/// The extension hands on the command lines of shells before and after them.
#[test]
fn extension_hands_on_shell_command_lines() {
    let world = World::new();
    recorder(&world);
    let Some(output) = run(&world, SHELLS) else {
        return;
    };
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    let expected = [
        "tool_start c1: make && make check",
        "tool_start c2, ours: ckpt-hook inside status",
        "tool_finish c2, ours: ckpt-hook inside status",
        "tool_finish c1: make && make check",
        "tool_start c3",
    ];
    assert_eq!(command_lines(&calls(&world, "pi")), expected);
}

/// The extension disturbs nobody when the binary is gone.
#[test]
fn extension_is_silent_without_the_binary() {
    let world = World::new();
    fs::remove_file(world.path("bin/ckpt-hook")).expect("ours");
    let Some(output) = run(&world, CONVERSATION) else {
        return;
    };
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        "null",
        "the message is as it was"
    );
}

/// The extension waits fifteen seconds for a hook that hangs and ends it.
#[test]
fn extension_ends_a_hanging_hook_after_fifteen_seconds() {
    let world = World::new();
    executable::write(&world.path("bin/ckpt-hook"), "#!/bin/sh\nexec sleep 1000\n");
    let Some(output) = run(&world, HANGING) else {
        return;
    };
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "the message goes on: {output:?}"
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout), "15000\n");
}

/// The agent goes on once the hook has ended.
///
/// What is looked at after an agent has ended would be taken for its work.
#[test]
fn agent_goes_on_once_the_hook_ended() {
    let world = World::new();
    recorder(&world);
    let Some(output) = run(&world, WAITING) else {
        return;
    };
    let counts = String::from_utf8_lossy(&output.stdout);
    assert_eq!(counts, "1\n2\n3\n4\n5\n", "each time: {output:?}");
}

#[test]
fn the_extension_survives_what_it_does_not_understand() {
    let world = World::new();
    recorder(&world);
    let Some(output) = run(&world, NONSENSE) else {
        return;
    };
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
}

/// A command of the user is run and shown to the user alone.
#[test]
fn users_command_is_shown_to_the_user_alone() {
    let world = World::new();
    recorder(&world);
    let Some(output) = run(&world, COMMANDS) else {
        return;
    };
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "noise\nnoise\n[\"noise\\nnoise\"]\n",
        "where there is no screen it is printed: {output:?}"
    );
    let log = world.read("log");
    let asked = "inside revert --session root --only a b";
    assert!(
        log.lines().any(|line| line == asked),
        "the session is the user's own, words are as typed: {log}"
    );
}

/// What the user chooses goes back and the chat goes on from there.
///
/// The message is in the input again.
#[test]
fn chosen_message_goes_back_with_the_chat() {
    let world = World::new();
    let log = world.path("log");
    let script = format!(
        r#"#!/bin/sh
echo "$*" >> '{}'
case "$*" in
  *--dry-run*) echo '{{"files":[{{"path":"made","action":"delete"}}],"conversation":{{"kind":"forked"}}}}' ;;
  *"log "*) echo '{{"messages":[{{"id":"m2","prompt":"two","state":"live","files":1}},{{"id":"m1","prompt":"one","state":"live","files":0}}]}}' ;;
  *) echo '{{"outcome":"restored","notes":[],"conversation":{{"kind":"forked","argv":["pi","--session","/new.jsonl"],"prompt":"two"}}}}' ;;
esac
"#,
        log.display()
    );
    executable::write(&world.path("bin/ckpt-hook"), &script);
    let Some(output) = run(&world, CHOICE) else {
        return;
    };
    let shown = String::from_utf8_lossy(&output.stdout);
    let expected = "Take back this message, and all after it:: 1  two  (1 files) | 2  one  (0 files)\n\
                    Goes back: made: Files and conversation | Files | Conversation\n\
                    to /new.jsonl\ninput two\n";
    assert_eq!(shown, expected, "{output:?}");
    let asked = "--json revert m2 --session root --conversation fork --force";
    assert!(
        world.read("log").lines().any(|line| line == asked),
        "{}",
        world.read("log")
    );
}

/// A command says so when the binary is gone.
#[test]
fn command_reports_a_missing_binary() {
    let world = World::new();
    fs::remove_file(world.path("bin/ckpt-hook")).expect("ours");
    let Some(output) = run(&world, COMMANDS) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        said.contains("error: ckpt-hook cannot be started: "),
        "the user is told: {output:?}"
    );
}
