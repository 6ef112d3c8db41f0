//! Claude Code.

use serde_json::json;

use super::{Agent, CLEAR, DOWN, ESC, PLUGIN, Rewind, Screen, UP, all, our_package};
use testing::machine::Machine;

/// Claude Code.
pub const CLAUDE_CODE: Agent = Agent {
    name: "claude-code",
    install: &[],
    settle: |world, _| world.write_home(".claude/settings.json", SETTINGS),
    say: |command, message| {
        command.arg("-p").args(message.goes_on(&["--continue"]));
        command.args(["--model", "claude-sonnet-4-6", "--", message.prompt]);
        command
            .envs(VARIABLES)
            .env("ANTHROPIC_BASE_URL", message.url);
    },
    tells_prompts: true,
    goes_on: true,
    tells_edits_before: true,
    tells_background: true,
    is_told: true,
    revert: Some("/ckpt-revert"),
    knows_session: true,
    package: Some(|world| {
        CLAUDE_CODE.manage(
            world,
            &[
                "plugin",
                "marketplace",
                "add",
                &our_package(world, "plugin", PLUGIN),
            ],
        );
        CLAUDE_CODE.manage(world, &["plugin", "install", "ckpt-hook@ckpt-hook"]);
    }),
    serve: Some(serve),
    counts: all,
    screen: Some(Screen {
        settle: settle_screen,
        start: |command, url| {
            command
                .args(["--model", "claude-sonnet-4-6"])
                .envs(VARIABLES)
                .env("ANTHROPIC_BASE_URL", url);
        },
        questions: &[("Make auto mode your default", "\x1b[B\r")],
        ready: "(shift+tab to cycle)",
        taken: "queued",
        at_once: "",
        sends_at_once: |_| true,
        interrupt: &[ESC],
        asks: "",
        interrupted: |screen| screen.contains("Interrupted"),
        anew: "/clear",
        compact: ("/compact", "ompacted"),
        asks_anew: &[],
        resume: &["--continue"],
        resumed: "(shift+tab to cycle)",
        rewind: Rewind {
            may_ask: "",
            settle: |_| (),
            steps: &[
                ("(shift+tab to cycle)", &["/rewind"]),
                ("❯ /rewind", &["\r"]),
                ("  ❯ (current)", &[UP]),
                ("  ❯ TURN-AGAIN", &[UP]),
                ("  ❯ TURN-ONE", &["\r"]),
                ("❯ 1. Restore code and conversation", &["\r"]),
                // It listens again when all of its files are back.
                ("(shift+tab to cycle)", &[]),
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
        ("(shift+tab to cycle)", &["/rewind"]),
        ("❯ /rewind", &["\r"]),
        ("  ❯ (current)", &[UP]),
        ("  ❯ TURN-ONE", &["\r"]),
        ("❯ 1. Restore code and conversation", &[DOWN]),
        ("❯ 2. Restore conversation", &["\r"]),
        ("(shift+tab to cycle)", &[CLEAR]),
    ],
    is_done: |_| true,
    mixes: &[],
    alone: None,
};

/// Settings as a user has them before our hook comes.
const SETTINGS: &str = r#"{
  "permissions": {
    "allow": ["Bash", "Write", "Edit", "Read", "Task", "Agent"],
    "defaultMode": "acceptEdits"
  },
  "autoUpdates": false,
  "includeCoAuthoredBy": false
}
"#;

/// Its user allows the tools of a server by the server's name.
fn serve(world: &Machine, options: &[&str]) {
    let allowed = SETTINGS.replace(r#""Agent"]"#, r#""Agent", "mcp__ckpt-hook"]"#);
    world.write_home(".claude/settings.json", &allowed);
    CLAUDE_CODE.install(world);
    let binary = world.binary();
    let binary = binary.to_str().expect("a plain path");
    let added = [
        "mcp",
        "add",
        "--scope",
        "user",
        "ckpt-hook",
        "--",
        binary,
        "mcp",
    ];
    CLAUDE_CODE.manage(world, &[&added, options].concat());
}

/// Keeps it from everything but its model, whose key is not one.
const VARIABLES: [(&str, &str); 6] = [
    ("ANTHROPIC_API_KEY", "dummy"),
    ("DISABLE_TELEMETRY", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
    ("DISABLE_BUG_COMMAND", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
];

/// Its first start asks for colours, the key and the folder.
fn settle_screen(world: &Machine) {
    let workspace = world.workspace().display().to_string();
    // Version 2.0 does not start where the list of tools is missing.
    let project = json!({
        "hasTrustDialogAccepted": true,
        "hasCompletedProjectOnboarding": true,
        "allowedTools": [],
    });
    let known = json!({
        "hasCompletedOnboarding": true,
        "theme": "dark",
        "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
        "projects": {workspace: project},
    });
    world.write_home(".claude.json", &known.to_string());
}
