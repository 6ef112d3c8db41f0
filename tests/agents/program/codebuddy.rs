//! CodeBuddy Code.

use serde_json::json;

use super::{Agent, all};

/// CodeBuddy Code, as the program that its Python package brings.
pub const CODEBUDDY: Agent = Agent {
    name: "codebuddy",
    install: &[],
    settle: |world, url| {
        let model = json!({
            "id": "scripted",
            "name": "scripted",
            "vendor": "OpenAI",
            "apiKey": "dummy",
            "url": format!("{url}/v1/chat/completions"),
            "maxInputTokens": 200_000,
            "maxOutputTokens": 8_000,
            "supportsToolCall": true,
        });
        let models = json!({"models": [model], "availableModels": ["scripted"]});
        world.write_home(".codebuddy/models.json", &models.to_string());
    },
    say: |command, message| {
        command.args(["-p", "-y"]);
        command.args(message.goes_on(&["-c"]));
        command.args(["--model", "scripted", message.prompt]);
        command.envs([("CODEBUDDY_API_KEY", "dummy"), ("DISABLE_AUTOUPDATER", "1")]);
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
    counts: all,
    screen: None,
};
