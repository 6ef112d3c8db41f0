//! Qwen Code.

use std::process::Command;

use super::{Agent, CLEAR, DOWN, ESC, PLUGIN, Rewind, Screen, UP, all, our_package};

/// Qwen Code.
pub const QWEN_CODE: Agent = Agent {
    name: "qwen-code",
    install: &[],
    settle: |world, _| world.write_home(".qwen/settings.json", SETTINGS),
    say: |command, message| {
        command.args(message.goes_on(&["--continue"]));
        on_scripted_model(command, message.url);
        command.args(["-p", message.prompt]);
    },
    tells_prompts: true,
    goes_on: true,
    tells_edits_before: true,
    tells_background: true,
    is_told: true,
    revert: Some("/ckpt-revert"),
    knows_session: true,
    package: Some(|world| {
        let package = format!("{}/ckpt-hook", our_package(world, "plugin", PLUGIN));
        QWEN_CODE.manage(world, &["extensions", "install", &package, "--consent"]);
    }),
    serve: None,
    counts: all,
    screen: Some(Screen {
        settle: |_| (),
        start: on_scripted_model,
        questions: &[],
        ready: "Type your message",
        taken: "1 queued",
        at_once: "",
        sends_at_once: |_| true,
        interrupt: &[ESC],
        asks: "",
        interrupted: |screen| screen.contains("cancelled"),
        anew: "/clear",
        compact: ("/compress", "compressed from"),
        asks_anew: &[],
        resume: &["--continue"],
        resumed: "Type your message",
        rewind: Rewind {
            may_ask: "",
            settle: |_| (),
            steps: &[
                // Its command `/rewind` shows nothing here.
                ("YOLO mode", &[ESC, ESC]),
                ("› #2 TURN-AGAIN", &[UP]),
                ("› #1 TURN-ONE", &["\r"]),
                ("› Restore code and conversation", &["\r"]),
                ("Conversation rewound", &[]),
            ],
            is_done: |workspace| {
                !workspace.join("hello.txt").exists()
                    && !workspace.join("ignored/note.txt").exists()
            },
            mixes: &[],
            alone: Some(&ALONE),
        },
    }),
};

/// Its rewind of the conversation alone.
const ALONE: Rewind = Rewind {
    may_ask: "",
    settle: |_| (),
    steps: &[
        ("YOLO mode", &[ESC, ESC]),
        ("› #2 TURN-ONE", &["\r"]),
        ("› Restore code and conversation", &[DOWN]),
        ("› Restore conversation", &["\r"]),
        ("Conversation rewound", &[CLEAR]),
    ],
    is_done: |_| true,
    mixes: &[],
    alone: None,
};

/// Lets a call of it ask the scripted model, and nobody for permission.
fn on_scripted_model(command: &mut Command, url: &str) {
    command
        .args(["--auth-type", "openai", "-m", "scripted"])
        .args(["--approval-mode", "yolo"])
        .env("OPENAI_API_KEY", "dummy")
        .env("OPENAI_BASE_URL", format!("{url}/v1"))
        .env("OPENAI_MODEL", "scripted")
        .env("QWEN_TELEMETRY_ENABLED", "false");
}

const SETTINGS: &str = r#"{
  "security": { "auth": { "selectedType": "openai" }, "folderTrust": { "enabled": false } },
  "general": { "disableAutoUpdate": true, "enableAutoUpdate": false, "checkpointing": { "enabled": false } },
  "privacy": { "usageStatisticsEnabled": false },
  "telemetry": { "enabled": false },
  "tools": { "sandbox": false },
  "model": { "generationConfig": { "modalities": { "image": true } } }
}
"#;
