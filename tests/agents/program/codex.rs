//! Codex.

use super::{Agent, CLEAR, ESC, PLUGIN, Rewind, Screen, our_package};
use testing::machine::Machine;

/// Codex. It is told to trust the hook, because it runs no other.
pub const CODEX: Agent = Agent {
    name: "codex",
    install: &["--trust"],
    settle,
    say: |command, message| {
        command
            .arg("exec")
            .args(message.goes_on(&["resume", "--last"]));
        // There is no other way to trust a package where nobody sits at a terminal.
        command.args(
            message
                .by_package
                .then_some("--dangerously-bypass-hook-trust"),
        );
        let (picture, prompt) = message.picture();
        command.args(picture.map(|picture| format!("--image={picture}")));
        command
            .args(["--skip-git-repo-check", prompt])
            .env("FAKE_KEY", "dummy");
    },
    tells_prompts: true,
    goes_on: true,
    tells_edits_before: true,
    tells_background: false,
    is_told: true,
    revert: Some("$ckpt-revert"),
    knows_session: true,
    package: Some(|world| {
        CODEX.manage(
            world,
            &[
                "plugin",
                "marketplace",
                "add",
                &our_package(world, "plugin", PLUGIN),
            ],
        );
        CODEX.manage(world, &["plugin", "add", "ckpt-hook@ckpt-hook"]);
    }),
    serve: None,
    counts,
    screen: Some(Screen {
        settle: |_| (),
        start: |command, _| {
            command.env("FAKE_KEY", "dummy");
        },
        questions: &[("Try new model", "2")],
        ready: "for shortcuts",
        taken: "Messages to be submitted",
        at_once: "",
        sends_at_once: |_| true,
        interrupt: &[ESC],
        asks: "",
        interrupted: |screen| screen.contains("interrupted"),
        anew: "/new",
        compact: ("/compact", "ompacted"),
        asks_anew: &[("Where should the new conversation run?", "\r")],
        resume: &["resume", "--last"],
        resumed: "for shortcuts",
        rewind: Rewind {
            may_ask: "",
            settle: |_| (),
            steps: &[
                ("for shortcuts", &[ESC, ESC]),
                ("Browsing transcript", &["\r"]),
                ("File changes are unchanged", &[CLEAR]),
            ],
            is_done: |_| true,
            mixes: &[],
            alone: None,
        },
    }),
};

/// What is on the screen of older versions once they listen.
pub const OLDER_READY: &str = "/model to change";

fn counts(line: &str) -> Option<&str> {
    let of_no_account = [
        "session id: ",
        " succeeded in ",
        "hook: ",
        "warning: `--dangerously-bypass-hook-trust",
    ];
    let is_failure = line.ends_with(" Failed");
    (is_failure || !of_no_account.iter().any(|start| line.starts_with(start))).then_some(line)
}

fn settle(world: &Machine, url: &str) {
    let text = CONFIG
        .replace("{url}", url)
        .replace("{workspace}", &world.workspace().display().to_string());
    world.write_home(".codex/config.toml", &text);
}

const CONFIG: &str = r#"# what I use
model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1

[analytics]
enabled = false

[otel]
metrics_exporter = "none"

[projects."{workspace}"]
trust_level = "trusted"
"#;
