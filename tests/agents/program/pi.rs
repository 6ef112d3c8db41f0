//! Pi.

use serde_json::json;

use super::{Agent, all};
use testing::machine::Machine;

/// Pi. It has no sub-agents, so that the model does their work itself.
pub const PI: Agent = Agent {
    name: "pi",
    install: &[],
    settle,
    say: |command, message| {
        command.args(["--offline", "--provider", "fake", "--model", "scripted"]);
        command
            .args((!message.is_first).then_some("-c"))
            .args(["-p", message.prompt]);
        command.env("PI_OFFLINE", "1").env("PI_TELEMETRY", "0");
    },
    tells_prompts: true,
    goes_on: true,
    tells_edits_before: true,
    is_told: true,
    revert: Some("/ckpt-revert"),
    knows_session: true,
    package: None,
    counts: all,
    screen: None,
};

fn settle(world: &Machine, url: &str) {
    let abilities = json!({"supportsDeveloperRole": false, "supportsReasoningEffort": false});
    let provider = json!({
        "baseUrl": format!("{url}/v1"),
        "api": "openai-completions",
        "apiKey": "dummy",
        "compat": abilities,
        "models": [{"id": "scripted"}],
    });
    world.write_home(
        ".pi/agent/models.json",
        &json!({"providers": {"fake": provider}}).to_string(),
    );
}
