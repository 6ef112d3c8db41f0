//! Grok Build.

use super::{Agent, CLAUDE_CODE, Rewind, Screen, all};

/// Grok Build. It takes no text from a hook at a message, and runs no commands of ours.
pub const GROK: Agent = Agent {
    name: "grok",
    install: &[],
    settle: |world, url| {
        let settings = format!(
            "[models]\ndefault = \"fake\"\n[model.fake]\nmodel = \"scripted\"\nbase_url = \"{url}/v1\"\napi_key = \"dummy\"\n"
        );
        world.write_home(".grok/config.toml", &settings);
    },
    say: |command, message| {
        command.args((!message.is_first).then_some("-c"));
        command.args(["-p", message.prompt, "--always-approve"]);
    },
    tells_prompts: true,
    goes_on: true,
    tells_edits_before: true,
    tells_background: false,
    is_told: false,
    revert: None,
    knows_session: false,
    package: None,
    serve: None,
    counts: all,
    screen: Some(Screen {
        settle: |_| (),
        start: |command, _| {
            command.arg("--always-approve");
        },
        questions: &[],
        ready: "always-approve",
        taken: "",
        at_once: "",
        sends_at_once: |_| true,
        // Esc does nothing there.
        interrupt: &["\x03"],
        asks: "",
        interrupted: |screen| screen.contains("Turn cancelled by user"),
        anew: "/new",
        compact: ("/compact", "ompacted"),
        asks_anew: &[],
        resume: &["-c"],
        resumed: "always-approve",
        rewind: Rewind {
            may_ask: "",
            settle: |_| (),
            steps: &[],
            is_done: |_| true,
            mixes: &[],
            alone: None,
        },
    }),
};

/// The same where its user has our hook in Claude Code's settings, too, which it reads.
pub const GROK_BESIDE_CLAUDE_CODE: Agent = Agent {
    install: &[CLAUDE_CODE.name],
    ..GROK
};
