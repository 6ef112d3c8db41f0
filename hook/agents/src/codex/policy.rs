//! What decides about Codex's hooks: `requirements.toml`, `managed_config.toml` and `config.toml` in `/etc/codex`, and
//! the `config.toml` of the user and of a trusted project. What comes from the cloud or from a device manager is not read.

use std::path::{Path, PathBuf};

use ckpt_store::error::{Error, Result};
use serde_json::Value;

use super::trust::trusts_project;
use crate::settings::advice::Advice;
use crate::settings::file;
use crate::settings::place::SettingsPlace;
use crate::settings::policy::{self, Policy};

/// The policy of administrators, and whether any switch turns every hook off.
pub fn policy(place: &SettingsPlace<'_>) -> Policy {
    let machine = place.machine.join("etc/codex");
    let requirements = machine.join("requirements.toml");
    let user = place.directory("CODEX_HOME", ".codex").join("config.toml");
    let trusts = |config: String| trusts_project(&config, place.project);
    let project = file::read(&user).ok().flatten().is_some_and(trusts);
    let project = project.then(|| place.project.join(".codex/config.toml"));
    // The one that wins last.
    let mut files = vec![machine.join("config.toml"), user];
    files.extend(project);
    files.extend([machine.join("managed_config.toml"), requirements.clone()]);
    let unread = files
        .iter()
        .filter_map(|file| Some(Advice::unread(file, &read(file).err()?)));
    let unread: Vec<Advice> = unread.collect();
    let document = read(&requirements).unwrap_or_default();
    let off = switch_that_is_off(&files);
    let is_theirs = document.get("allow_managed_hooks_only") == Some(&Value::Bool(true));
    let only_theirs =
        is_theirs.then(|| policy::only_theirs("allow_managed_hooks_only", &requirements));
    let calls = document.get("hooks").is_some_and(policy::calls_us);
    let calls_us = (calls && off.is_none() && unread.is_empty()).then_some(requirements);
    let against: Vec<Advice> = off.into_iter().chain(only_theirs).chain(unread).collect();
    Policy {
        calls_us,
        against_packages: against.clone(),
        against,
    }
}

/// Returns the advice on the switch of all hooks, if the last file that has it turns them off.
fn switch_that_is_off(files: &[PathBuf]) -> Option<Advice> {
    files.iter().rev().find_map(|file| {
        let document = read(file).ok()?;
        let features = document.get("features")?;
        let names = ["hooks", "codex_hooks"].into_iter();
        let mut set = names.filter_map(|name| Some((name, features.get(name)?.as_bool()?)));
        let (name, is_on) = set.next()?;
        Some((!is_on).then(|| Advice::switch(&format!("features.{name}"), file)))
    })?
}

/// Reads a file; one that is not there has nothing. Codex does not start with one that it cannot read.
fn read(path: &Path) -> Result<Value> {
    let text = file::read(path)?.unwrap_or_default();
    toml::from_str(&text)
        .map_err(|error| Error::failed(format!("`{}` is no TOML", path.display())).because(error))
}
