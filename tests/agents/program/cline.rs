//! Cline's CLI.

use super::Agent;
use crate::world::{Run, World};

/// Cline. Each message is a session of its own where nobody sits at a terminal, and its start does not say what it asks.
pub const CLINE: Agent = Agent {
    name: "cline",
    install: &[],
    settle,
    say: |command, message| {
        command.args(["-P", "openai", "-m", "scripted", message.prompt]).envs(VARIABLES);
    },
    tells_prompts: false,
    goes_on: false,
    passes_over: |_| false,
};

/// Has it write its settings itself.
fn settle(world: &World, url: &str) {
    let mut command = world.command(&CLINE.program());
    command.args(["auth", "-p", "openai", "-k", "dummy", "-b", &format!("{url}/v1"), "-m", "scripted"]);
    Run::of(command.env("PATH", super::path()).envs(VARIABLES)).expect_code(0);
}

const VARIABLES: [(&str, &str); 5] = [
    ("CLINE_TELEMETRY_DISABLED", "1"),
    ("CLINE_DISABLE_TELEMETRY", "1"),
    ("POSTHOG_TELEMETRY_ENABLED", "false"),
    ("DO_NOT_TRACK", "1"),
    ("CLINE_NO_AUTO_UPDATE", "1"),
];
