//! Copilot CLI, without GitHub: with a model of the user's own.

use std::process::Command;

use super::{Agent, CLEAR, DOWN, ESC, PLUGIN, Rewind, Screen, is_at_least, our_package};
use testing::machine::Machine;

/// Copilot CLI.
pub const COPILOT_CLI: Agent = Agent {
    name: "copilot-cli",
    install: &[],
    settle,
    say: |command, message| {
        command.args(message.goes_on(&["--continue"]));
        start(command, message.url);
        let (picture, prompt) = message.picture();
        command.args(picture.map(|picture| format!("--attachment={picture}")));
        command.args(["-p", prompt]);
    },
    tells_prompts: true,
    goes_on: true,
    tells_edits_before: false,
    tells_background: false,
    is_told: false,
    revert: None,
    knows_session: false,
    package: Some(|world| {
        COPILOT_CLI.manage(
            world,
            &[
                "plugin",
                "marketplace",
                "add",
                &our_package(world, "plugin", PLUGIN),
            ],
        );
        COPILOT_CLI.manage(world, &["plugin", "install", "ckpt-hook@ckpt-hook"]);
    }),
    serve: None,
    counts,
    screen: Some(Screen {
        settle: |_| (),
        start,
        questions: &[],
        ready: "? help",
        taken: "",
        at_once: "",
        sends_at_once: |_| true,
        interrupt: &[ESC, ESC],
        asks: "esc again to interrupt",
        interrupted: |screen| screen.contains("Operation cancelled by user"),
        anew: "/clear",
        compact: ("/compact", "Compaction completed"),
        asks_anew: &[],
        resume: &["--continue"],
        resumed: "? help",
        rewind: Rewind {
            may_ask: "",
            settle: |_| (),
            steps: &[
                ("? help", &["/rewind"]),
                ("❯ /rewind", &["\r"]),
                ("❯  2. TURN-AGAIN", &["\r"]),
                ("❯ Conversation only", &[DOWN]),
                ("❯ Conversation + files", &["\r"]),
                ("Enter Restore", &["\r"]),
                ("Rewound conversation", &[CLEAR]),
            ],
            is_done: |workspace| !workspace.join("again.txt").exists(),
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
        ("? help", &["/rewind"]),
        ("❯ /rewind", &["\r"]),
        ("❯  2. TURN-ONE", &["\r"]),
        ("❯ Conversation only", &["\r"]),
        ("Rewound the conversation", &[CLEAR]),
    ],
    is_done: |_| true,
    mixes: &[],
    alone: None,
};

/// Beside a tool that took long stands for how long, and a first start on a busy machine says that it took long.
fn counts(line: &str) -> Option<&str> {
    let of_no_account = ["Duration ", "Resume ", "Package extraction took "];
    let (words, last) = line.rsplit_once(' ').unwrap_or((line, ""));
    let is_duration = last
        .strip_suffix('s')
        .is_some_and(|number| number.parse::<u32>().is_ok());
    let line = if is_duration { words.trim_end() } else { line };
    (!of_no_account.iter().any(|start| line.starts_with(start))).then_some(line)
}

fn start(command: &mut Command, url: &str) {
    command.args(["--no-auto-update", "--allow-all-tools", "--allow-all-paths"]);
    // Older versions end at an option that they do not know.
    let knows = is_at_least(COPILOT_CLI.name, [1, 0, 102]);
    command.args(knows.then_some("--disable-client-telemetry"));
    command
        .envs(VARIABLES)
        .env("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1"));
}

fn settle(world: &Machine, _: &str) {
    let workspace = world.workspace().display().to_string();
    let trusted =
        serde_json::json!({"trusted_folders": [workspace], "trustedFolders": [workspace]});
    world.write_home(".copilot/config.json", &trusted.to_string());
}

const VARIABLES: [(&str, &str); 6] = [
    ("COPILOT_OFFLINE", "true"),
    ("COPILOT_AUTO_UPDATE", "false"),
    ("COPILOT_PROVIDER_API_KEY", "dummy"),
    ("COPILOT_MODEL", "gpt-5.4"),
    ("COPILOT_PROVIDER_WIRE_API", "completions"),
    ("COPILOT_ALLOW_ALL", "1"),
];
