//! What a bug report needs: versions, what was found, settings and numbers. No content, no prompt, no path.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ckpt_command::config::keys::{KEYS, SettingKey};
use ckpt_command::invocation::Invocation;
use ckpt_process::failure::Failure;
use ckpt_schema::migration;
use ckpt_schema::report::DoctorReport;
use ckpt_store::error::Context;
use serde_json::{Value, json};

/// Replaces what is left out.
const LEFT_OUT: &str = "[...]";

/// Writes the file. An existing one is not overwritten.
pub fn write(invocation: &Invocation, report: &DoctorReport, file: &Path) -> Result<(), Failure> {
    let file = invocation.surroundings.absolute(file)?;
    let what = || format!("cannot write `{}`", file.display());
    let mut text = serde_json::to_string_pretty(&document(invocation, report)).unwrap_or_default();
    text.push('\n');
    let mut made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&file)
        .context(what)?;
    made.write_all(text.as_bytes()).context(what)?;
    Ok(())
}

fn document(invocation: &Invocation, report: &DoctorReport) -> Value {
    let versions = ckpt_store::versions();
    let findings: Vec<Value> = report
        .findings
        .iter()
        .map(|finding| {
            json!({
                "level": finding.level,
                "subject": without_names(&finding.subject),
                "message": without_names(&finding.message),
                "repaired": finding.repaired,
            })
        })
        .collect();
    let rows = invocation
        .open()
        .ok()
        .and_then(|store| store.row_counts().ok())
        .unwrap_or_default();
    let config = &invocation.config;
    let settings: BTreeMap<&str, Value> = KEYS
        .iter()
        .map(|key| (key.name, setting(key, &config.settings)))
        .collect();
    json!({
        "ckpt_hook": env!("CARGO_PKG_VERSION"),
        "libgit2": versions.libgit2,
        "sqlite": versions.sqlite,
        "tables": migration::VERSION,
        "system": std::env::consts::OS,
        "machine": std::env::consts::ARCH,
        "findings": findings,
        "settings": settings,
        "workspaces_with_settings": config.settings.workspaces.len(),
        "rows": rows,
    })
}

/// Patterns name files, so only their number is reported.
fn setting(key: &SettingKey, settings: &ckpt_store::Settings) -> Value {
    match (key.get)(settings) {
        toml::Value::Array(patterns) => json!(patterns.len()),
        value => value.to_string().into(),
    }
}

/// Returns a text without anything in backticks and without words that may be paths: names, prompts and ids are always
/// one of these.
fn without_names(text: &str) -> String {
    let outside = text.split('`').enumerate().map(|(at, part)| {
        if at % 2 == 0 {
            part.to_owned()
        } else {
            LEFT_OUT.to_owned()
        }
    });
    let words = outside.collect::<String>();
    words
        .split(' ')
        .map(|word| if word.contains('/') { LEFT_OUT } else { word })
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::without_names;

    /// Names and paths are left out and words stay.
    #[test]
    fn names_and_paths_are_left_out() {
        for (text, expected) in [
            ("all is well", "all is well"),
            (
                "cannot read `/home/u/my secret plan.txt`: no such file",
                "cannot read [...]: no such file",
            ),
            ("in /home/u/x and ../y", "in [...] and [...]"),
            ("an odd `one stays out to its end", "an odd [...]"),
        ] {
            assert_eq!(without_names(text), expected);
        }
    }
}
