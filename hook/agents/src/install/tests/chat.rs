//! The chat of opencode and Kilo goes on in the conversation that our command names.

use super::plugin::run_plugin;
use super::*;

/// An agent with two messages in its session, of which the fork has the first and its answer.
const CHAT: &str = r#"
import { CkptHook } from "./plugin.mjs"
const later = globalThis.setTimeout
globalThis.setTimeout = (then) => later(then, 1)
const say = (text) => ({ parts: [{ type: "text", text }, { type: "text", text: "of ours", synthetic: true }] })
const all = { ses_old: [say("one"), say("answer"), say("two")], ses_new: [say("one"), say("answer")] }
const session = { messages: async ({ path }) => ({ data: all[path.id] }) }
const show = async ({ body }) => console.log(JSON.stringify(body))
const hooks = await CkptHook({ directory: process.cwd(), client: { session, tui: { publish: show, appendPrompt: show } } })
await hooks["command.execute.before"]({ command: "ckpt-revert", sessionID: "ses_old", arguments: "" }, { parts: [] })
"#;

/// The chat goes on in the fork with the message in the input.
///
/// Where no conversation is named it stays where it is.
#[test]
fn chat_goes_on_in_the_fork() {
    const SELECTED: &str = r#"{"type":"tui.session.select","properties":{"sessionID":"ses_new"}}"#;
    let forked = "  cd '/a b' && opencode --session ses_new";
    for (printed, expected) in [
        (forked, format!("{SELECTED}\n{{\"text\":\"two\"}}\n")),
        (
            "✓ Went back to just before “cd x && y --session ses_new”",
            String::new(),
        ),
    ] {
        let world = World::new();
        let script = format!("#!/bin/sh\ncat <<'END'\n{printed}\nEND\n");
        executable::write(&world.path("bin/ckpt-hook"), &script);
        world.install("opencode");
        let plugin = world.read("home/.config/opencode/plugin/ckpt-hook.js");
        let Some(output) = run_plugin(&world, &plugin, CHAT) else {
            return;
        };
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            expected,
            "{output:?}"
        );
    }
}
