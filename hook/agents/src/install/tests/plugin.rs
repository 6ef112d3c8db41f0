//! The plugin for opencode and Kilo, as a JavaScript engine runs it.

use std::process::{Command, Output};

use ckpt_schema::event::Event;

use super::*;
use crate::tests::context_of;

/// A conversation as opencode tells it, with a sub-agent and a prompt of opencode's own.
const CONVERSATION: &str = r#"
import { CkptHook } from "./plugin.mjs"
const hooks = await CkptHook({ directory: process.cwd() })
const bus = (type, properties) => hooks.event({ event: { type, properties } })
bus("session.created", { info: { id: "root" } })
await hooks["chat.message"]({ sessionID: "root" }, { message: { id: "m1" }, parts: [{ type: "text", text: "hello" }] })
await hooks["chat.params"]({ sessionID: "root", agent: "title" }, {})
await hooks["chat.params"]({ sessionID: "root", agent: "build", model: { secret: 1 } }, {})
await hooks["tool.execute.before"]({ tool: "write", sessionID: "root", callID: "c1" }, { args: { filePath: "/w/a", content: "long" } })
bus("session.created", { info: { id: "child", parentID: "root" } })
await hooks["chat.message"]({ sessionID: "child" }, { message: { id: "m2" }, parts: [{ type: "text", text: "job" }] })
bus("session.idle", { sessionID: "child" })
await hooks["tool.execute.after"]({ tool: "write", sessionID: "root", callID: "c1" }, { output: "done" })
bus("message.part.updated", { part: { type: "text", sessionID: "root" } })
bus("message.part.updated", { part: { type: "step-finish", id: "p1", sessionID: "root" } })
bus("session.idle", { sessionID: "root" })
await hooks.dispose()
"#;

/// Two shells beside each other, one of which runs a command of ours, a sub-agent, and an edit.
const SHELLS: &str = r#"
import { CkptHook } from "./plugin.mjs"
const hooks = await CkptHook({ directory: process.cwd() })
const call = (tool, callID) => ({ tool, sessionID: "root", callID })
const begin = (tool, callID, args) => hooks["tool.execute.before"](call(tool, callID), { args })
const end = (tool, callID) => hooks["tool.execute.after"](call(tool, callID), { output: "long" })
await begin("bash", "c1", { command: "make && make check", description: "build" })
await begin("bash", "c2", { command: "ckpt-hook inside status" })
await end("bash", "c2")
await end("bash", "c1")
await begin("task", "c3", { command: "/review", prompt: "job" })
await begin("write", "c4", { filePath: "/w/a", content: "long" })
"#;

/// How often the hook was called by the time that the agent goes on: after a tool, before a model call, before a tool.
const WAITING: &str = r#"
import { readFileSync } from "node:fs"
import { CkptHook } from "./plugin.mjs"
const hooks = await CkptHook({ directory: process.cwd() })
const show = () => console.log(readFileSync("../log", "utf8").match(/--event/g).length)
const call = { tool: "bash", sessionID: "root", callID: "c1" }
await hooks["tool.execute.after"](call, { output: "done" })
show()
await hooks["chat.params"]({ sessionID: "root", agent: "build" }, {})
show()
await hooks["tool.execute.before"](call, { args: {} })
show()
"#;

/// What an agent of another version might tell.
const NONSENSE: &str = r#"
import { CkptHook } from "./plugin.mjs"
const hooks = await CkptHook(undefined)
for (const name of Object.keys(hooks)) {
  for (const told of [[], [null, null], [{}, {}], [{ event: { type: "session.created" } }]]) {
    if ((await hooks[name](...told)) !== undefined) throw new Error(name)
  }
}
"#;

/// A message whose parts are shown as they are after the plugin has seen them.
const MESSAGE: &str = r#"
import { CkptHook } from "./plugin.mjs"
const hooks = await CkptHook({ directory: process.cwd() })
const part = { id: "prt_1", sessionID: "root", messageID: "m1", type: "text", text: "hello" }
const output = { message: { id: "m1" }, parts: [part] }
await hooks["chat.message"]({ sessionID: "root" }, output)
console.log(JSON.stringify(output.parts.slice(1)))
"#;

/// A message of an agent whose hook hangs; the time that the plugin waits for it goes by at once, and is shown.
const HANGING: &str = r#"
import { CkptHook } from "./plugin.mjs"
const later = globalThis.setTimeout
globalThis.setTimeout = (then, time) => (console.log(time), later(then, 1))
const hooks = await CkptHook({ directory: process.cwd() })
await hooks["chat.message"]({ sessionID: "root" }, { message: { id: "m1" }, parts: [{ type: "text", text: "hello" }] })
"#;

/// The user's call of one of our commands in a sub-agent's session, and one of somebody else's.
const COMMANDS: &str = r#"
import { readFileSync } from "node:fs"
import { CkptHook } from "./plugin.mjs"
const hooks = await CkptHook({ directory: process.cwd() })
const text = readFileSync("../home/.config/opencode/command/ckpt-revert.md", "utf8").split("---\n").at(-1)
const parts = [{ type: "file", text }, { type: "text", text: text.replace("$ARGUMENTS", "--only 'a b' $&") }]
hooks.event({ event: { type: "session.created", properties: { info: { id: "child", parentID: "root" } } } })
const input = { command: "ckpt-revert", sessionID: "child", arguments: "--only 'a b' $&" }
await hooks["command.execute.before"](input, { parts })
await hooks["command.execute.before"]({ ...input, command: "toString" }, { parts })
console.log(parts[1].text.trim())
if (parts[0].text !== text) throw new Error("another part")
"#;

/// Two messages, and what the agent is asked to show its user.
const MISSING: &str = r#"
import { CkptHook } from "./plugin.mjs"
const show = async ({ body }) => console.log(body.message)
const hooks = await CkptHook({ directory: process.cwd(), client: { tui: { showToast: show } } })
for (const id of ["m1", "m2"]) {
  await hooks["chat.message"]({ sessionID: "root" }, { message: { id }, parts: [{ type: "text", text: "hello" }] })
}
"#;

/// Runs a script beside the installed plugin, or returns `None` without an engine to run it.
fn run(world: &World, script: &str) -> Option<Output> {
    world.install("opencode");
    let plugin = world.read("home/.config/opencode/plugin/ckpt-hook.js");
    run_plugin(world, &plugin, script)
}

/// The same with the plugin of the npm package, where no program is on the PATH.
fn run_package(world: &World, script: &str) -> Option<Output> {
    let plugin = crate::opencode::install::plugin_of_1("opencode", "ckpt-hook");
    run_plugin(world, &plugin, script)
}

/// Runs a script beside a plugin.
pub fn run_plugin(world: &World, plugin: &str, script: &str) -> Option<Output> {
    world.write("project/plugin.mjs", plugin);
    let script = world.write("project/script.mjs", script);
    // Found before the PATH of the plugin is one that has nothing else.
    let shell = "node=$(command -v node) && PATH=/usr/bin:/bin exec \"$node\" \"$0\"";
    match Command::new("sh")
        .args(["-c", shell])
        .arg(script)
        .current_dir(world.path("project"))
        .output()
        .and_then(has_run)
    {
        Ok(output) => Some(output),
        Err(error) => {
            testing::skip::skip(&format!("`node` is not there to run the plugin: {error}"));
            None
        }
    }
}

/// A shell that finds no program ends with 1 or 127 and says nothing, as the scripts here never do.
fn has_run(output: Output) -> std::io::Result<Output> {
    let is_missing = output.stderr.is_empty() && [1, 127].map(Some).contains(&output.status.code());
    if is_missing {
        return Err(std::io::ErrorKind::NotFound.into());
    }
    Ok(output)
}

/// A binary that notes its arguments and its input, and makes noise.
pub fn recorder(world: &World) {
    let log = world.path("log");
    let script = format!(
        "#!/bin/sh\n{{ echo \"$@\"; cat; echo; }} >> '{}'\necho noise\necho noise >&2\nexit 7\n",
        log.display()
    );
    executable::write(&world.path("bin/ckpt-hook"), &script);
}

/// Returns what the binary was told by opencode, as events.
fn recorded(world: &World) -> Vec<Event> {
    calls(world, "opencode")
}

/// Returns a line for each event of a tool, with the command line that came with it.
pub fn command_lines(events: &[Event]) -> Vec<String> {
    let line = |event: &Event| {
        let tool = event.tool_use_id.as_deref()?;
        let ours = if event.is_command { ", ours" } else { "" };
        let command = event.tool_command.as_ref();
        let command = command.map_or_else(String::new, |command| format!(": {command}"));
        Some(format!("{} {tool}{ours}{command}", event.event.name()))
    };
    events.iter().filter_map(line).collect()
}

/// Returns what the binary was told by an agent, as events.
pub fn calls(world: &World, agent: &str) -> Vec<Event> {
    let log = world.read("log");
    let lines: Vec<_> = log.lines().collect();
    let context = context_of(&no_environment);
    let events = lines.chunks(2).flat_map(|call| {
        let name = call[0]
            .strip_prefix(&format!("event --agent {agent} --event "))
            .expect("our call");
        let parsed = crate::parse(agent, Some(name), call[1].as_bytes(), &context);
        assert_eq!(
            parsed.problems,
            Vec::<String>::new(),
            "{name} is understood"
        );
        parsed.events
    });
    events.collect()
}

/// What the plugin hands on is the conversation in its order.
#[test]
fn plugin_hands_on_the_conversation_in_order() {
    let world = World::new();
    recorder(&world);
    let Some(output) = run(&world, CONVERSATION) else {
        return;
    };
    assert!(
        output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(),
        "{output:?}"
    );
    let line = |event: &Event| format!("{} {}", event.event.name(), event.session_id);
    let lines: Vec<_> = recorded(&world).iter().map(line).collect();
    let expected = [
        "session_start root",
        "user_message root",
        "step_start root",
        "tool_start root",
        "session_start child",
        "turn_end child",
        "tool_finish root",
        "step_finish root",
        "turn_end root",
    ];
    assert_eq!(
        lines, expected,
        "the sub-agent's task is no message, the title's prompt no step"
    );
    assert!(
        !world.read("log").contains("long"),
        "no file's content is handed on"
    );
}

/// The plugin hands on the command lines of shells before and after them.
#[test]
fn plugin_hands_on_shell_command_lines() {
    let world = World::new();
    recorder(&world);
    let Some(output) = run(&world, SHELLS) else {
        return;
    };
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    let told = command_lines(&calls(&world, "opencode"));
    let expected = [
        "tool_start c1: make && make check",
        "tool_start c2, ours: ckpt-hook inside status",
        "tool_finish c2, ours: ckpt-hook inside status",
        "tool_finish c1: make && make check",
        "tool_start c3",
        "tool_start c4",
    ];
    assert_eq!(told, expected, "what starts a sub-agent is no shell");
}

/// The plugin disturbs nobody when the binary is gone.
#[test]
fn plugin_is_silent_without_the_binary() {
    let world = World::new();
    fs::remove_file(world.path("bin/ckpt-hook")).expect("ours");
    let Some(output) = run(&world, CONVERSATION) else {
        return;
    };
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
}

/// The package says once that nothing is recorded where no program came along.
#[test]
fn package_reports_once_that_nothing_is_recorded() {
    let world = World::new();
    let Some(output) = run_package(&world, MISSING) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said.lines().count(), 1, "once: {output:?}");
    assert!(
        said.contains("nothing is recorded") && said.contains("Install it"),
        "what that means, and what to do: {said}"
    );
}

#[test]
fn the_package_calls_the_program_that_came_along() {
    let world = World::new();
    recorder(&world);
    let arch = if cfg!(target_arch = "aarch64") {
        "arm64"
    } else {
        "x64"
    };
    let system = if cfg!(target_os = "macos") {
        "darwin"
    } else {
        "linux"
    };
    let package = format!("project/node_modules/ckpt-hook-{system}-{arch}");
    world.write(
        &format!("{package}/package.json"),
        "{\"name\": \"it\", \"version\": \"0.1.0\"}",
    );
    let bin = world.path(&format!("{package}/bin"));
    fs::create_dir_all(&bin).expect("writable");
    fs::rename(world.path("bin/ckpt-hook"), bin.join("ckpt-hook")).expect("ours");
    let Some(output) = run_package(&world, CONVERSATION) else {
        return;
    };
    assert!(
        output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(),
        "{output:?}"
    );
    assert_eq!(recorded(&world).len(), 9, "all of the conversation");
}

/// The plugin waits fifteen seconds for a hook that hangs and ends it.
#[test]
fn plugin_ends_a_hanging_hook_after_fifteen_seconds() {
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
    assert_eq!(counts, "1\n2\n3\n", "each time: {output:?}");
}

#[test]
fn the_plugin_survives_what_it_does_not_understand() {
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

/// What the hook has to say becomes a part of the message that the user does not see.
#[test]
fn hooks_words_become_a_hidden_message_part() {
    let world = World::new();
    let Some(output) = run(&world, MESSAGE) else {
        return;
    };
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        "[]",
        "a hook that says nothing adds nothing"
    );
    recorder(&world);
    let Some(output) = run(&world, MESSAGE) else {
        return;
    };
    let part = r#"[{"sessionID":"root","messageID":"m1","id":"prt_1z","type":"text","synthetic":true,"text":"noise"}]"#;
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        part,
        "{output:?}"
    );
}

/// A command of the user is run for the session that it is typed in.
#[test]
fn users_command_runs_for_its_session() {
    let world = World::new();
    recorder(&world);
    let Some(output) = run(&world, COMMANDS) else {
        return;
    };
    let text =
        "This is a command of ckpt-hook, not a task. It printed:\n\nnoise\nnoise\n\nTell the user";
    assert!(
        String::from_utf8_lossy(&output.stdout).starts_with(text),
        "what it printed is in its place: {output:?}"
    );
    let log = world.read("log");
    let called = log.lines().last().expect("it was called");
    assert_eq!(called, "", "it is given nothing on stdin: {log}");
    let asked = "inside revert --session root --only a b $&";
    assert!(
        log.lines().any(|line| line == asked),
        "the session is the user's own, words are as typed: {log}"
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
        said.contains("\n\nerror: ckpt-hook cannot be started: "),
        "the user is told: {output:?}"
    );
}

/// A stub of opencode 2, as its plugin interface is documented: what is registered, and a bus of events that goes on once an
/// event was taken.
const STUB: &str = r#"
import plugin from "./plugin.mjs"
const hooks = {}, commands = {}, queue = []
let wake = () => {}
const domain = (name) => ({ hook: async (event, call) => void (hooks[`${name}.${event}`] = call) })
const context = {
  location: { directory: process.cwd() }, options: {},
  session: {
    ...domain("session"),
    get: async ({ sessionID }) => ({ id: sessionID, parentID: sessionID === "child" ? "root" : undefined }),
    synthetic: async (note) => console.log(JSON.stringify(note)),
  },
  tool: domain("tool"),
  command: { transform: async (edit) => edit({ add: (command) => (commands[command.name] = command) }) },
  event: {
    async *subscribe({ signal }) {
      signal.addEventListener("abort", () => wake())
      while (!signal.aborted) {
        if (queue.length === 0) await new Promise((resolve) => (wake = resolve))
        for (const { event, taken } of queue.splice(0)) { yield event; taken() }
      }
    },
  },
}
const bus = (type, data) => new Promise((taken) => (queue.push({ event: { id: "e", created: 1, type, data }, taken }), wake()))
if (plugin.id !== "ckpt-hook") throw new Error("no id")
const end = await plugin.setup(context)
"#;

/// The conversation as opencode 2 tells it.
const SECOND: &str = r#"
await bus("session.created", { sessionID: "root", location: { directory: process.cwd() } })
await bus("session.created", { sessionID: "other", location: { directory: "/elsewhere" } })
await hooks["session.prompt"]({ sessionID: "root", messageID: "m1", prompt: { text: "hello" }, delivery: "queue" })
const request = { sessionID: "root", system: [], messages: [], tools: {}, options: {} }
await hooks["session.context"](request)
await hooks["tool.execute.before"]({ tool: "write", sessionID: "root", id: "c1", input: { filePath: "/w/a", content: "long" } })
await bus("session.created", { sessionID: "child", parentID: "root", location: { directory: process.cwd() } })
await hooks["session.prompt"]({ sessionID: "child", messageID: "m2", prompt: { text: "job" }, delivery: "queue" })
await bus("session.execution.succeeded", { sessionID: "child" })
await hooks["tool.execute.after"]({ tool: "write", sessionID: "root", id: "c1", status: "completed", input: {}, result: { content: "long" } })
await bus("session.text.delta", { sessionID: "root", delta: "long" })
await bus("session.step.ended", { sessionID: "root", assistantMessageID: "a1" })
await bus("session.execution.succeeded", { sessionID: "other" })
await bus("session.execution.interrupted", { sessionID: "root", reason: "user" })
console.log(JSON.stringify(request.system))
await end()
"#;

/// Returns a world with opencode 2, and what a script did in a stub of it.
fn run_second(script: &str) -> Option<(World, Output)> {
    let world = World::new();
    recorder(&world);
    world.has("opencode", "opencode-ai", "2.0.20");
    let output = run(&world, &format!("{STUB}{script}"))?;
    Some((world, output))
}

/// The same plugin hands on what opencode 2 tells, in the same words.
#[test]
fn plugin_serves_the_second_generation() {
    let Some((world, output)) = run_second(SECOND) else {
        return;
    };
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    let line = |event: &Event| format!("{} {}", event.event.name(), event.session_id);
    let lines: Vec<_> = recorded(&world).iter().map(line).collect();
    let expected = [
        "session_start root",
        "user_message root",
        "step_start root",
        "tool_start root",
        "session_start child",
        "turn_end child",
        "tool_finish root",
        "step_finish root",
        "turn_end root",
    ];
    assert_eq!(lines, expected, "nothing of another directory's session");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "[{\"type\":\"text\",\"text\":\"noise\"}]\n",
        "the model reads what the hook has to say"
    );
    assert!(!world.read("log").contains("long"), "no contents");
}

/// A command in opencode 2 asks no model, and its answer is a note in the session.
#[test]
fn command_of_the_second_generation_asks_no_model() {
    let script = r#"
await commands["ckpt-revert"].execute({ sessionID: "root", prompt: { text: "last~1 --dry-run" }, delivery: "queue" })
await end()
"#;
    let Some((world, output)) = run_second(script) else {
        return;
    };
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "{\"sessionID\":\"root\",\"text\":\"noise\\nnoise\",\"resume\":false}\n"
    );
    let asked = "inside revert --session root last~1 --dry-run";
    assert!(world.read("log").lines().any(|line| line == asked));
}

/// What opencode 2 lacks or changes disturbs nobody.
#[test]
fn plugin_survives_another_second_generation() {
    let script = r#"
for (const call of Object.values(hooks)) for (const told of [undefined, null, {}, { sessionID: 7 }]) await call(told)
await bus("session.created", undefined)
await end()
for (const context of [undefined, {}, { location: {}, session: {}, tool: {} }]) await plugin.setup(context)
"#;
    let Some((_, output)) = run_second(script) else {
        return;
    };
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
}

/// Versions that do not start with a plugin for both generations get one for theirs, and doctor names the one that is not loaded.
#[test]
fn plugin_fits_the_installed_generation() {
    let world = World::new();
    let path = "home/.config/opencode/plugin/ckpt-hook.js";
    for (version, is_both) in [("1.0.152", false), ("1.14.41", true), ("2.3.0", true)] {
        world.has("opencode", "opencode-ai", version);
        world.install("opencode");
        let is_there = world.read(path).contains("export default");
        assert_eq!(is_there, is_both, "{version}");
        world.uninstall("opencode");
    }
    world.install("opencode");
    let text = crate::opencode::install::plugin_of_1("opencode", "/bin/true");
    world.write(path, &text);
    let installed = world.installed("opencode", SettingsScope::User);
    assert_eq!(installed.state, Installation::Blocked);
    let says = |advice: &Advice| advice.stops && advice.message.contains("does not load");
    assert!(installed.advice.iter().any(says), "{:?}", installed.advice);
}
