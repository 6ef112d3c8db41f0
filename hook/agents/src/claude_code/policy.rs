//! What administrators decide about Claude Code's hooks.
//!
//! Its server's settings, which Claude Code keeps beside the user's, win over the machine's files, unless a source says
//! `managedSourcesBehavior: "merge"`. What a device manager or a helper program decides is not read.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::settings::advice::{self, Advice};
use crate::settings::place::SettingsPlace;
use crate::settings::policy::{self, Policy};
use crate::settings::target::enables_package;

/// A file of an administrator, and what it says.
type Document = (PathBuf, Value);

/// The policy of administrators.
pub fn policy(place: &SettingsPlace<'_>) -> Policy {
    let (documents, unread) = documents(place);
    let against = [
        hooks_off(&documents),
        managed_only(&documents),
        plugins_only(&documents),
    ];
    let enables = |document: &Value| enables_package(document.get("enabledPlugins"));
    let is_enabled = documents.iter().any(|(_, document)| enables(document));
    let [off, only_managed, _] = &against;
    let for_packages = only_managed.iter().filter(|_| !is_enabled);
    let against_packages = off.iter().chain(for_packages).cloned().collect();
    let calls = |document: &Value| document.get("hooks").is_some_and(policy::calls_us);
    let calling = documents
        .iter()
        .find(|(_, document)| calls(document) || enables(document));
    Policy {
        calls_us: calling
            .map(|(file, _)| file.clone())
            .filter(|_| off.is_none()),
        against: against.into_iter().flatten().chain(unread).collect(),
        against_packages,
    }
}

/// Returns whether the administrator says if hooks are off; the user's own switch then does not count.
pub fn sets_switch(place: &SettingsPlace<'_>) -> bool {
    last_set(&documents(place).0, "disableAllHooks").is_some()
}

/// The documents in force, the one that wins last, and advice on what cannot be read.
fn documents(place: &SettingsPlace<'_>) -> (Vec<Document>, Vec<Advice>) {
    let user = place.directory("CLAUDE_CONFIG_DIR", ".claude");
    let machine = policy::folder(place, "claude-code", "ClaudeCode");
    let mut unread = Vec::new();
    let mut read = |path: PathBuf| match advice::settings(&path) {
        Ok(document) => (path, document),
        Err(error) => {
            unread.push(Advice::unread(&path, &error));
            (path, Value::Null)
        }
    };
    let (path, server) = read(user.join("remote-settings.json"));
    let server = match server.get("settings") {
        Some(settings) if settings.is_object() => settings.clone(),
        _ => server,
    };
    let files = [machine.join("managed-settings.json")];
    let files = files
        .into_iter()
        .chain(drop_ins(&machine.join("managed-settings.d")));
    let mut documents: Vec<Document> = files.map(&mut read).collect();
    let is_there = server.as_object().is_some_and(|server| !server.is_empty());
    let behaviour = server.get("managedSourcesBehavior");
    let behaviour =
        behaviour.or_else(|| last_set(&documents, "managedSourcesBehavior").map(|(_, it)| it));
    if is_there && behaviour != Some(&Value::from("merge")) {
        documents.clear();
    }
    documents.push((path, server));
    (documents, unread)
}

/// Returns the files that add to the machine's settings, in the order in which they are read.
fn drop_ins(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    files.sort();
    files
}

fn last_set<'d>(documents: &'d [Document], key: &str) -> Option<(&'d Path, &'d Value)> {
    let mut documents = documents.iter().rev();
    documents.find_map(|(file, document)| Some((file.as_path(), document.get(key)?)))
}

fn hooks_off(documents: &[Document]) -> Option<Advice> {
    let (file, value) = last_set(documents, "disableAllHooks")?;
    (*value == Value::Bool(true)).then(|| {
        Advice::stop(
            format!(
                "`disableAllHooks` in `{}` turns every hook off",
                file.display()
            ),
            "ask the administrator to remove it",
        )
    })
}

fn managed_only(documents: &[Document]) -> Option<Advice> {
    let (file, value) = last_set(documents, "allowManagedHooksOnly")?;
    (*value == Value::Bool(true)).then(|| policy::only_theirs("allowManagedHooksOnly", file))
}

/// A value that is neither `false` nor a list counts as `true`.
fn plugins_only(documents: &[Document]) -> Option<Advice> {
    const RULE: &str = "strictPluginOnlyCustomization";
    let (file, value) = last_set(documents, RULE)?;
    let is_locked = match value {
        Value::Bool(is_on) => *is_on,
        Value::Array(surfaces) => surfaces.iter().any(|surface| surface == "hooks"),
        _ => true,
    };
    is_locked.then(|| {
        Advice::stop(
            format!(
                "`{RULE}` in `{}` lets only plugins' and the administrator's hooks be called",
                file.display()
            ),
            "install our plugin instead, or ask the administrator to put the hook there: docs/administrators.md has the lines",
        )
    })
}
