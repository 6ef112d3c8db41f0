//! Qwen Code.

use super::{Agent, ESC, PLUGIN, Screen, all, our_package};

/// Qwen Code.
pub const QWEN_CODE: Agent = Agent {
    name: "qwen-code",
    install: &[],
    settle: |world, _| world.write_home(".qwen/settings.json", SETTINGS),
    say: |command, message| {
        command.args((!message.is_first).then_some("--continue"));
        command.args([
            "--auth-type",
            "openai",
            "-m",
            "scripted",
            "--approval-mode",
            "yolo",
            "-p",
            message.prompt,
        ]);
        command
            .env("OPENAI_API_KEY", "dummy")
            .env("OPENAI_BASE_URL", format!("{}/v1", message.url));
        command
            .env("OPENAI_MODEL", "scripted")
            .env("QWEN_TELEMETRY_ENABLED", "false");
    },
    tells_prompts: true,
    goes_on: true,
    tells_edits_before: true,
    tells_background: true,
    is_told: true,
    revert: Some("/ckpt-revert"),
    knows_session: true,
    package: Some(|world| {
        let package = format!("{}:ckpt-hook", our_package(world, "plugin", PLUGIN));
        QWEN_CODE.manage(world, &["extensions", "install", &package, "--consent"]);
    }),
    serve: None,
    counts: all,
    screen: Some(Screen {
        settle: |_| (),
        start: |command, url| {
            command.args([
                "--auth-type",
                "openai",
                "-m",
                "scripted",
                "--approval-mode",
                "yolo",
            ]);
            command
                .env("OPENAI_API_KEY", "dummy")
                .env("OPENAI_BASE_URL", format!("{url}/v1"))
                .env("OPENAI_MODEL", "scripted")
                .env("QWEN_TELEMETRY_ENABLED", "false");
        },
        questions: &[],
        ready: "Type your message",
        taken: "1 queued",
        interrupt: &[ESC],
        asks: "",
        interrupted: |screen| screen.contains("cancelled"),
        anew: "/clear",
        asks_anew: &[],
        resume: &["--continue"],
        resumed: "Type your message",
        rewind: &[],
    }),
};

const SETTINGS: &str = r#"{
  "security": { "auth": { "selectedType": "openai" }, "folderTrust": { "enabled": false } },
  "general": { "disableAutoUpdate": true, "enableAutoUpdate": false, "checkpointing": { "enabled": false } },
  "privacy": { "usageStatisticsEnabled": false },
  "telemetry": { "enabled": false },
  "tools": { "sandbox": false }
}
"#;
