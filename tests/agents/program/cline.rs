//! Cline's CLI.

use super::{Agent, CLEAR, DOWN, ESC, Rewind, SESSION, Screen};
use testing::binary::Run;
use testing::machine::Machine;

/// Cline. Each message is a session of its own where nobody sits at a terminal, and its start does not say what it asks.
pub const CLINE: Agent = Agent {
    name: "cline",
    install: &[],
    settle,
    say: |command, message| {
        command
            .args(["-P", "openai", "-m", "scripted", message.prompt])
            .envs(VARIABLES);
    },
    tells_prompts: false,
    goes_on: false,
    tells_edits_before: true,
    tells_background: false,
    is_told: false,
    revert: None,
    knows_session: false,
    package: None,
    serve: None,
    counts,
    screen: Some(Screen {
        settle: |_| (),
        start: |command, _| {
            command
                .args(["-P", "openai", "-m", "scripted"])
                .envs(VARIABLES);
        },
        questions: &[("any other key to close", ESC)],
        ready: "Auto-approve all",
        taken: "Queued messages",
        // With nothing typed, Enter sends what is queued.
        at_once: "\r",
        sends_at_once: |screen| {
            let turns = |line: &str| {
                line.chars()
                    .any(|sign| matches!(sign, '\u{2801}'..='\u{28ff}'))
            };
            screen
                .lines()
                .any(|line| line.contains("please") && turns(line))
        },
        interrupt: &[ESC],
        asks: "",
        // It says nothing; before the tool, a star stands still where it turned.
        interrupted: |screen| screen.contains("* run_commands(echo stuck"),
        anew: "/clear",
        compact: ("/compact", "ompacted"),
        asks_anew: &[],
        resume: &["--id", SESSION],
        resumed: "Auto-approve all",
        rewind: Rewind {
            may_ask: "",
            settle: |_| (),
            steps: &[
                ("Auto-approve all", &["/undo"]),
                ("Restore to a previous checkpoint", &["\r"]),
                ("❯ TURN-AGAIN please   ", &["\r"]),
                ("❯ Restore chat only", &[DOWN]),
                ("❯ Restore chat and workspace", &["\r"]),
                ("scripted (0)", &[CLEAR]),
            ],
            is_done: |workspace| !workspace.join("again.txt").exists(),
            mixes: &[],
            alone: None,
        },
    }),
};

/// Whether its model's library warns depends on which of its processes was up first.
fn counts(line: &str) -> Option<&str> {
    let of_no_account = [
        "      at ",
        "DeprecationWarning: AI SDK ",
        "Warning: AI SDK ",
    ];
    (!line.is_empty() && !of_no_account.iter().any(|start| line.starts_with(start))).then_some(line)
}

/// Has it write its settings itself.
fn settle(world: &Machine, url: &str) {
    // Cline's hooks are below the user's documents.
    world.write_home("Documents/letter.txt", "Dear Sir or Madam\n");
    let mut command = world.command(&CLINE.program());
    command.args([
        "auth",
        "-p",
        "openai",
        "-k",
        "dummy",
        "-b",
        &format!("{url}/v1"),
        "-m",
        "scripted",
    ]);
    Run::of(command.env("PATH", super::path(world)).envs(VARIABLES)).exits(0);
}

const VARIABLES: [(&str, &str); 5] = [
    ("CLINE_TELEMETRY_DISABLED", "1"),
    ("CLINE_DISABLE_TELEMETRY", "1"),
    ("POSTHOG_TELEMETRY_ENABLED", "false"),
    ("DO_NOT_TRACK", "1"),
    ("CLINE_NO_AUTO_UPDATE", "1"),
];
