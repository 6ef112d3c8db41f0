//! Copilot CLI: a file of ours in its folder of hooks.
//!
//! Not before tools and not at permissions: there a hook that fails refuses the tool, and nothing of ours may do that.

use ckpt_store::error::Result;
use serde_json::{Value, json};

use super::own_file::OwnFile;
use super::{Content, Place, Scope, SettingsFile, Target, command};

/// Copilot CLI.
pub const TARGET: Target = Target {
    agent: "copilot-cli",
    files,
    follow: None,
    check: None,
    notes: &[
        "Copilot CLI does not report a message that is sent while it works; such a message is no revert point",
        "it also runs the hooks of a project's `.claude/settings.json`: use one of the two in a project",
    ],
    project_notes: &["Copilot CLI runs a repository's hooks only in a folder that you trust"],
};

/// The seconds after which Copilot CLI goes on without us.
const TIMEOUT: u32 = 30;

/// The events; steps end with tools, so that these are never left out.
const EVENTS: [&str; 8] = [
    "sessionStart",
    "userPromptSubmitted",
    "postToolUse",
    "postToolUseFailure",
    "subagentStart",
    "subagentStop",
    "agentStop",
    "sessionEnd",
];

fn files(scope: Scope, place: &Place<'_>) -> Result<Vec<SettingsFile>> {
    let directory = match scope {
        Scope::User => place.directory("COPILOT_HOME", ".copilot").join("hooks"),
        Scope::Project => place.project.join(".github").join("hooks"),
    };
    let content = Content::Own(OwnFile {
        text: text(place)?,
        agent: "copilot-cli",
        binary: command::text(place.binary)?.to_owned(),
    });
    Ok(vec![SettingsFile { path: directory.join("ckpt-hook.json"), mode: scope.mode(), content }])
}

fn text(place: &Place<'_>) -> Result<String> {
    let handler = |event| {
        let line = command::guarded(place.binary, "copilot-cli", event)?;
        Ok((event.to_owned(), json!([{"type": "command", "bash": line, "timeoutSec": TIMEOUT}])))
    };
    let hooks = EVENTS.into_iter().map(handler).collect::<Result<serde_json::Map<_, _>>>()?;
    let text: Value = json!({"version": 1, "hooks": hooks});
    Ok(format!("{text:#}\n"))
}
