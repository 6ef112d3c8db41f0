//! Pi.

use std::process::Command;

use serde_json::json;

use super::{Agent, CLEAR, ESC, Rewind, Screen, all};
use testing::machine::Machine;

/// Pi. It has no sub-agents, so that the model does their work itself.
pub const PI: Agent = Agent {
    name: "pi",
    install: &[],
    settle,
    say: |command, message| {
        start(command);
        command.args(message.goes_on(&["-c"])).arg("-p");
        let (picture, prompt) = message.picture();
        command
            .args(picture.map(|picture| format!("@{picture}")))
            .arg(prompt);
    },
    tells_prompts: true,
    goes_on: true,
    tells_edits_before: true,
    tells_background: false,
    is_told: true,
    revert: Some("/ckpt-revert"),
    knows_session: true,
    package: None,
    serve: None,
    counts: all,
    screen: Some(Screen {
        settle: |world| world.write_home(".pi/agent/settings.json", SHORT),
        start: |command, _| start(command),
        questions: &[],
        ready: "ctrl+o ",
        taken: "Steering:",
        at_once: "",
        sends_at_once: |_| true,
        interrupt: &[ESC],
        asks: "",
        interrupted: |screen| screen.contains("Operation aborted"),
        anew: "/new",
        compact: ("/compact", "ompacted"),
        asks_anew: &[],
        resume: &["-c"],
        resumed: "ctrl+o ",
        rewind: Rewind {
            may_ask: "",
            settle: |_| (),
            steps: &[
                ("Turn again is finished.", &["/tree"]),
                ("/tree", &["\r"]),
                ("Session Tree", &["again please"]),
                ("search: again please", &["\r"]),
                ("Summarize branch?", &["\r"]),
                ("Navigated to selected point", &[CLEAR]),
            ],
            is_done: |_| true,
            mixes: &[],
            alone: None,
        },
    }),
};

fn start(command: &mut Command) {
    command.args(["--offline", "--provider", "fake", "--model", "scripted"]);
    command.env("PI_OFFLINE", "1").env("PI_TELEMETRY", "0");
}

/// Lets it compact a short conversation, when asked to.
const SHORT: &str = r#"{ "compaction": { "enabled": false, "keepRecentTokens": 1 } }"#;

fn settle(world: &Machine, url: &str) {
    let abilities = json!({"supportsDeveloperRole": false, "supportsReasoningEffort": false});
    let provider = json!({
        "baseUrl": format!("{url}/v1"),
        "api": "openai-completions",
        "apiKey": "dummy",
        "compat": abilities,
        "models": [{"id": "scripted", "input": ["text", "image"]}],
    });
    world.write_home(
        ".pi/agent/models.json",
        &json!({"providers": {"fake": provider}}).to_string(),
    );
}
