//! Gemini CLI: `hooks` in `settings.json`. Its timeouts are milliseconds.

use std::path::Path;

use ckpt_store::error::Result;
use serde_json::{Value, json};

use crate::settings::advice::{self, Advice, FolderTrust};
use crate::settings::commands::{self, Form};
use crate::settings::content::SettingsFile;
use crate::settings::hook_table::{self, HookTable};
use crate::settings::jsonc::JsonDialect;
use crate::settings::place::{SettingsPlace, SettingsScope};
use crate::settings::policy::{self, Policy, SystemSettings};
use crate::settings::target::{AgentTarget, PLAIN, extension};
use crate::settings::version::{AgentVersion, AgentVersions};

/// Gemini CLI.
pub const TARGET: AgentTarget = AgentTarget {
    agent: "gemini-cli",
    programs: &["gemini"],
    versions: &AgentVersions {
        agent: "Gemini CLI",
        package: "@google/gemini-cli",
        lowest: AgentVersion(0, 26, 0),
        lower_were_tried: true,
        lacks: &[],
    },
    home: |place| place.home.join(".gemini"),
    package: |place| extension(place, ".gemini", "gemini-extension.json"),
    files,
    dialect: Some(JsonDialect {
        comments: true,
        byte_order_mark: false,
    }),
    check: Some(check),
    policy: |place| Policy {
        calls_us: TRUST.system.calling(place),
        ..Policy::default()
    },
    reads_above: false,
    notes: &["an open session of Gemini CLI calls the hook only after a restart"],
    ..PLAIN
};

/// What its status line shows while the hook runs; without a name it shows the whole command line.
pub const NAME: &str = "ckpt-hook";

/// The milliseconds after which Gemini CLI continues without us.
pub const TIMEOUT: u32 = 30_000;

/// The events, and what each is about.
pub const EVENTS: &[&str] = &[
    "SessionStart",
    "BeforeAgent",
    // `AfterModel` would come once for each chunk of an answer.
    "BeforeModel",
    "BeforeTool",
    "AfterTool",
    "AfterAgent",
    "SessionEnd",
];

fn files(scope: SettingsScope, place: &SettingsPlace<'_>) -> Result<Vec<SettingsFile>> {
    let directory = place.root(scope).join(".gemini");
    let handler = |event: &str| {
        let mut handler = hook_table::handler(place, "gemini-cli", event, TIMEOUT)?;
        handler.0.insert(1, ("name", json!(NAME)));
        Ok(handler)
    };
    let table = HookTable::of_events(EVENTS, handler)?;
    commands::files_beside(table, Form::Toml, &directory, scope, place)
}

/// How it asks whether to trust a folder.
const TRUST: FolderTrust = FolderTrust {
    agent: "Gemini CLI",
    program: "gemini",
    folder: ".gemini",
    by_default: true,
    system: SystemSettings {
        folder: "gemini-cli",
        folder_on_macos: "GeminiCli",
        variables: [
            "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
            "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
        ],
    },
};

fn check(
    scope: SettingsScope,
    place: &SettingsPlace<'_>,
    _: &Path,
    _: &str,
) -> Result<Vec<Advice>> {
    let mut advice = TRUST.check_with_switch(scope, place)?;
    let files = TRUST.settings_files(place);
    let lists = (files.iter())
        .filter(|file| advice::settings(file).is_ok_and(|text| switches_off_ours(&text)));
    advice.extend(lists.map(|file| {
        Advice::stop(
            "`hooksConfig.disabled` turns our hooks off",
            format!(
                "run `/hooks enable {NAME}` in Gemini CLI, or remove it from `{}`",
                file.display()
            ),
        )
    }));
    advice.extend(policy::in_container(
        "Gemini CLI",
        place,
        &files,
        "GEMINI_SANDBOX",
    ));
    Ok(advice)
}

/// Returns whether settings name our hooks among those that are off: `/hooks disable` writes that.
fn switches_off_ours(settings: &Value) -> bool {
    let names = settings.pointer("/hooksConfig/disabled");
    let mut names = names.and_then(Value::as_array).into_iter().flatten();
    names.any(|name| name == NAME)
}
