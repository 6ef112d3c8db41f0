//! Gemini CLI.

use super::{Agent, CLEAR, DOWN, ESC, PLATFORMS, Rewind, Screen, UP, our_package};

/// Gemini CLI.
pub const GEMINI_CLI: Agent = Agent {
    name: "gemini-cli",
    install: &[],
    settle: |world, _| world.write_home(".gemini/settings.json", SETTINGS),
    say: |command, message| {
        command.args(message.goes_on(&["--resume", "latest"]));
        command.args([
            "-m",
            "gemini-2.5-flash",
            "--approval-mode",
            "yolo",
            "-p",
            message.prompt,
        ]);
        command
            .env("GEMINI_API_KEY", "dummy")
            .env("GOOGLE_GEMINI_BASE_URL", message.url);
        command.env("GEMINI_TELEMETRY_ENABLED", "false");
    },
    tells_prompts: true,
    goes_on: true,
    tells_edits_before: true,
    tells_background: true,
    is_told: true,
    revert: Some("/ckpt-revert"),
    knows_session: true,
    package: Some(|world| {
        GEMINI_CLI.manage(
            world,
            &[
                "extensions",
                "install",
                &our_package(world, "gemini-extension", PLATFORMS),
                "--consent",
            ],
        );
    }),
    serve: None,
    counts: |line| (!line.starts_with("[STARTUP] ")).then_some(line),
    screen: Some(Screen {
        settle: |_| (),
        start: |command, url| {
            command.args(["-m", "gemini-2.5-flash", "--approval-mode", "yolo"]);
            command
                .env("GEMINI_API_KEY", "dummy")
                .env("GOOGLE_GEMINI_BASE_URL", url);
            command.env("GEMINI_TELEMETRY_ENABLED", "false");
        },
        questions: &[],
        ready: "Type your message",
        taken: "Queued",
        at_once: "",
        sends_at_once: |_| true,
        interrupt: &[ESC],
        asks: "",
        interrupted: |screen| screen.contains("cancelled"),
        anew: "/clear",
        compact: ("/compress", "compressed from"),
        asks_anew: &[],
        resume: &["--resume", "latest"],
        resumed: "Type your message",
        rewind: Rewind {
            may_ask: "",
            settle: |_| (),
            steps: &[
                ("Type your message", &["/rewind"]),
                (" rewind  ", &["\r"]),
                ("● Stay at current position", &[UP]),
                ("  Stay at current position", &[UP]),
                ("● TURN-AGAIN", &[UP]),
                ("  TURN-AGAIN", &[UP]),
                ("  TURN-AGAIN", &[UP]),
                ("  TURN-AGAIN", &[UP]),
                ("● TURN-ONE", &["\r"]),
                ("● 1. Rewind conversation and revert code changes", &["\r"]),
            ],
            is_done: |workspace| {
                let text = std::fs::read(workspace.join("hello.txt")).expect("it stays");
                text == b"again\n" && !workspace.join("ignored/note.txt").exists()
            },
            // It takes its edit out of it, and leaves the line that a shell added.
            mixes: &["hello.txt"],
            alone: Some(&ALONE),
        },
    }),
};

/// Its rewind of the conversation alone.
const ALONE: Rewind = Rewind {
    may_ask: "",
    settle: |_| (),
    steps: &[
        ("Type your message", &["/rewind"]),
        (" rewind  ", &["\r"]),
        ("● Stay at current position", &[UP]),
        ("  Stay at current position", &[UP]),
        ("● TURN-ONE", &["\r"]),
        ("● 1. Rewind conversation and revert code changes", &[DOWN]),
        ("● 2. Rewind conversation", &["\r"]),
        ("TURN-ONE please", &[CLEAR]),
        ("Type your message", &[]),
    ],
    is_done: |_| true,
    mixes: &[],
    alone: None,
};

const SETTINGS: &str = r#"{
  "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } },
  "general": { "disableAutoUpdate": true, "enableAutoUpdate": false, "checkpointing": { "enabled": false },
    "sessionRetention": { "enabled": false } },
  "privacy": { "usageStatisticsEnabled": false },
  "telemetry": { "enabled": false },
  "tools": { "sandbox": false },
  "experimental": { "enableAgents": true }
}
"#;
