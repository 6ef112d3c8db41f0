//! Qwen Code: `hooks` in `settings.json`.

use std::path::Path;

use ckpt_store::error::Result;

use crate::claude_code::install as claude_code;
use crate::settings::advice::{self, Advice, FolderTrust};
use crate::settings::commands::{self, Form};
use crate::settings::content::SettingsFile;
use crate::settings::hook_table::{self, HookTable};
use crate::settings::jsonc::JsonDialect;
use crate::settings::place::{SettingsPlace, SettingsScope};
use crate::settings::policy::{self, Policy, SystemSettings};
use crate::settings::target::{AgentTarget, PLAIN, PackageGap, extension};
use crate::settings::version::{AgentVersion, AgentVersions};

/// Qwen Code.
pub const TARGET: AgentTarget = AgentTarget {
    agent: "qwen-code",
    programs: &["qwen"],
    versions: &AgentVersions::since("Qwen Code", "@qwen-code/qwen-code", AgentVersion(0, 15, 10)),
    home: |place| place.home.join(".qwen"),
    package: |place| extension(place, ".qwen", "qwen-extension.json"),
    package_lacks: Some(PackageGap {
        since: AgentVersion(0, 24, 0),
        what: "ends a hook of the package after 30 milliseconds, before it has recorded anything",
        // What it makes of a marketplace has the hooks of Claude Code in another file; our manifest for it has its own.
        holds: |manifest| manifest.get("hooks").is_none(),
    }),
    files,
    dialect: Some(JsonDialect {
        comments: true,
        byte_order_mark: true,
    }),
    check: Some(check),
    policy: |place| Policy {
        calls_us: TRUST.system.calling(place),
        ..Policy::default()
    },
    reads_above: false,
    notes: &["an open session of Qwen Code calls the hook only after a restart"],
    ..PLAIN
};

/// The time after which Qwen Code continues without us. Up to 0.23 it counts in milliseconds; 0.24.4 counts in
/// seconds, but takes 1,000 and more for milliseconds. With 30, 0.23 ends each hook after 30 ms, and records nothing.
pub const TIMEOUT: u32 = 30_000;

/// It has Claude Code's events.
const EVENTS: &[&str] = claude_code::EVENTS;

fn files(scope: SettingsScope, place: &SettingsPlace<'_>) -> Result<Vec<SettingsFile>> {
    let directory = place.root(scope).join(".qwen");
    let handler = |event: &str| hook_table::handler(place, "qwen-code", event, TIMEOUT);
    let table = HookTable::of_events(EVENTS, handler)?;
    commands::files_beside(table, Form::Braces, &directory, scope, place)
}

/// How it asks whether to trust a folder.
const TRUST: FolderTrust = FolderTrust {
    agent: "Qwen Code",
    program: "qwen",
    folder: ".qwen",
    by_default: false,
    system: SystemSettings {
        folder: "qwen-code",
        folder_on_macos: "QwenCode",
        variables: [
            "QWEN_CODE_SYSTEM_DEFAULTS_PATH",
            "QWEN_CODE_SYSTEM_SETTINGS_PATH",
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
    let [defaults, user, project, system] = TRUST.settings_files(place);
    // A project's settings cannot set this one.
    let operators = [defaults.clone(), user.clone(), system.clone()];
    let confined = advice::last_set(&operators, "/tools/executionSandbox");
    advice.extend(
        confined
            .filter(|(_, value)| value.is_object())
            .map(|(file, _)| {
                Advice::stop(
                    "`tools.executionSandbox` turns hooks off",
                    format!("remove it from `{}`", file.display()),
                )
            }),
    );
    let files = [defaults, user, project, system];
    advice.extend(policy::in_container(
        "Qwen Code",
        place,
        &files,
        "QWEN_SANDBOX",
    ));
    Ok(advice)
}
