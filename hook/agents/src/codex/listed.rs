//! What Codex itself says of the hook: `hooks/list` of its app server. It starts Codex, so only `doctor` asks.

use std::path::Path;

use ckpt_process::{answered, programs};
use serde_json::{Value, json};

use super::install::{TARGET, switched_off, untrusted};
use crate::settings::advice::Advice;
use crate::settings::command;
use crate::settings::file;
use crate::settings::installed::{AgentState, Installation, Installed};
use crate::settings::place::SettingsPlace;

/// The id of the request.
const REQUEST: i64 = 1;

/// Puts what Codex says in the place of what its settings let expect. Where it does not answer, as versions without
/// `hooks/list` do not, that stays.
pub fn correct(agents: &mut [AgentState], place: &SettingsPlace<'_>) {
    let mut codex = agents.iter_mut().filter(|agent| {
        let is_there = agent.is_installed() || agent.package.is_some();
        agent.agent == TARGET.agent && is_there
    });
    let Some((agent, program)) = codex
        .next()
        .zip(TARGET.programs_on(place).into_iter().next())
    else {
        return;
    };
    if let Some(hooks) = ask(&program, place.start) {
        for installed in &mut agent.installed {
            let of_file = of_file(&hooks, &installed.file);
            weigh(installed, &of_file, place);
        }
    }
}

/// Asks for the hooks in a directory.
fn ask(program: &Path, directory: &Path) -> Option<Vec<Value>> {
    let mut codex = programs::named(program);
    codex.arg("app-server");
    let client =
        json!({"name": "ckpt-hook", "title": "ckpt-hook", "version": env!("CARGO_PKG_VERSION")});
    let requests = [
        json!({"id": 0, "method": "initialize", "params": {"clientInfo": client}}),
        json!({"method": "initialized"}),
        json!({"id": REQUEST, "method": "hooks/list", "params": {"cwds": [directory]}}),
    ];
    let requests = requests.map(|request| format!("{request}\n")).concat();
    let text = answered(&mut codex, &requests, |text| answer(text).is_some())?;
    let answer = answer(&text)?;
    let directories = answer.pointer("/result/data")?.as_array()?;
    let hooks = directories
        .iter()
        .filter_map(|directory| directory.get("hooks")?.as_array());
    Some(hooks.flatten().cloned().collect())
}

/// Returns the answer among lines, the last of which may be cut off.
fn answer(text: &str) -> Option<Value> {
    let mut lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.find(|line| line.get("id") == Some(&json!(REQUEST)) && line.get("method").is_none())
}

/// Returns our hooks of a settings file, which is the beginning of their keys.
fn of_file<'h>(hooks: &'h [Value], path: &Path) -> Vec<&'h Value> {
    let is_ours = |hook: &&Value| {
        let text = |name| hook.get(name).and_then(Value::as_str);
        let file = text("key").and_then(|key| {
            let mut parts = key.rsplitn(4, ':');
            parts.nth(3)
        });
        text("command").is_some_and(command::is_ours)
            && file.is_some_and(|file| file::is_same(Path::new(file), path))
    };
    hooks.iter().filter(is_ours).collect()
}

/// Puts the trust that Codex has in the hooks of a file in the place of what was found in its settings.
fn weigh(installed: &mut Installed, hooks: &[&Value], place: &SettingsPlace<'_>) {
    let is_there = installed.state.works() || installed.state == Installation::Blocked;
    if hooks.is_empty() || !is_there {
        return;
    }
    let number = |status: &str| {
        let statuses = hooks
            .iter()
            .filter_map(|hook| hook.get("trustStatus")?.as_str());
        statuses.filter(|one| *one == status).count()
    };
    let (trusted, refused) = (
        number("trusted") + number("managed"),
        number("untrusted") + number("modified"),
    );
    if trusted + refused != hooks.len() {
        // A word that this version does not know.
        return;
    }
    let is_off = |hook: &&&Value| hook.get("enabled") == Some(&Value::Bool(false));
    let said: Vec<Advice> = [
        (refused > 0).then(untrusted),
        hooks
            .iter()
            .any(|hook| is_off(&hook))
            .then(|| switched_off(place)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let known = [untrusted(), switched_off(place)];
    installed.advice.retain(|advice| !known.contains(advice));
    installed.advice.splice(0..0, said);
    let is_blocked = installed.advice.iter().any(|advice| advice.stops);
    installed.state = match installed.state {
        Installation::Blocked if !is_blocked => Installation::Installed,
        state if state.works() && is_blocked => Installation::Blocked,
        state => state,
    };
}
