//! Kimi Code.

use super::Agent;

/// Kimi Code. Its model is named by variables alone.
pub const KIMI_CODE: Agent = Agent {
    name: "kimi-code",
    install: &[],
    settle: |world, _| world.write_home(".kimi-code/config.toml", "theme = \"dark\" # mine\n"),
    say: |command, message| {
        command.args((!message.is_first).then_some("-c"));
        command.args(["-p", message.prompt]);
        command.envs([
            ("KIMI_MODEL_NAME", "scripted"),
            ("KIMI_MODEL_API_KEY", "dummy"),
            ("KIMI_MODEL_PROVIDER_TYPE", "openai"),
            ("KIMI_CODE_NO_AUTO_UPDATE", "1"),
        ]);
        command.env("KIMI_MODEL_BASE_URL", format!("{}/v1", message.url));
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
    screen: None,
};
