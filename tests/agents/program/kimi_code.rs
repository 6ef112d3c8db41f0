//! Kimi Code.

use std::process::Command;

use super::{Agent, ESC, Rewind, Screen};

/// Kimi Code. Its model is named by variables alone.
pub const KIMI_CODE: Agent = Agent {
    name: "kimi-code",
    install: &[],
    settle: |world, _| world.write_home(".kimi-code/config.toml", "theme = \"dark\" # mine\n"),
    say: |command, message| {
        command.args((!message.is_first).then_some("-c"));
        command.args(["-p", message.prompt]);
        name_model(command, message.url);
    },
    tells_prompts: true,
    goes_on: true,
    tells_edits_before: true,
    tells_background: false,
    is_told: true,
    revert: None,
    knows_session: false,
    package: None,
    serve: None,
    counts: |line| (!line.starts_with("To resume this session:")).then_some(line),
    screen: Some(Screen {
        settle: |_| (),
        start: |command, url| {
            command.arg("--auto");
            name_model(command, url);
        },
        questions: &[("Trust this folder?", "\r")],
        ready: "context:",
        taken: "",
        at_once: "",
        sends_at_once: |_| true,
        interrupt: &[ESC],
        asks: "",
        interrupted: |screen| screen.contains("Interrupted by user"),
        anew: "/new",
        compact: ("/compact", "ompacted"),
        asks_anew: &[],
        resume: &["-c"],
        resumed: "context:",
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

fn name_model(command: &mut Command, url: &str) {
    command.envs([
        ("KIMI_MODEL_NAME", "scripted"),
        ("KIMI_MODEL_API_KEY", "dummy"),
        ("KIMI_MODEL_PROVIDER_TYPE", "openai"),
        ("KIMI_CODE_NO_AUTO_UPDATE", "1"),
    ]);
    command.env("KIMI_MODEL_BASE_URL", format!("{url}/v1"));
}
