//! The text of an empty answer: why it is empty, and what to do next.

use std::path::PathBuf;

use ckpt_agents::install::{self, AgentState};
use ckpt_command::config;
use ckpt_command::invocation::Invocation;
use ckpt_output::text::safe;
use ckpt_process::failure::{DONE, Failure};
use ckpt_process::surroundings;
use ckpt_store::model::number::count;
use ckpt_store::model::shell::quoted;
use ckpt_store::{Error, OLDER, Store};

use crate::cli::commands::install::InstallPaths;
use crate::cli::commands::{store_place, unrecorded};

/// What a list of messages says that has none.
pub const NO_MESSAGES: &str = "No messages were recorded here.";

/// Says that there is nothing, and why that may be so.
pub fn say(invocation: &Invocation, what: &str) -> Result<u8, Failure> {
    let store = invocation.open()?;
    let next = match (was_set_aside(&store)?, out_of_sight(&store)?) {
        (Some(aside), _) => aside,
        (None, Some(lost)) => lost,
        (None, None) => next(invocation, &store)?,
    };
    invocation.output.text(&format!("{what}\n{next}\n"))?;
    Ok(DONE)
}

/// Returns the next step where nothing was recorded: a directory above may have the history.
pub fn next(invocation: &Invocation, store: &Store) -> Result<String, Failure> {
    let Some(above) = store.recorded_above(&invocation.directory()?)? else {
        return Ok(unrecorded(invocation)? + &next_step(invocation));
    };
    let above = above.to_string_lossy();
    let above = safe(&above);
    let word = quoted(&above);
    Ok(format!(
        "`{above}` was recorded: give `--workspace {word}`."
    ))
}

/// Returns a failure that says what to do next where nothing was ever recorded; another as it is.
pub fn explained(invocation: &Invocation, failure: Failure) -> Failure {
    match failure {
        Failure::Store(error) if error.is_unrecorded() => {
            let unrecorded = unrecorded(invocation).unwrap_or_default();
            let next = next_step(invocation);
            let next = format!("{unrecorded}{next}{}", elsewhere(invocation));
            error.hint(as_hint(next)).into()
        }
        // What was asked for may be what goes: that is no damage.
        Failure::Store(error) if error.is_damage() && is_tidied(invocation) => error
            .hint(
                "`forget` or `gc` was at work in the store meanwhile: give the command again when it is done",
            )
            .into(),
        other => other,
    }
}

/// Returns sentences as a hint, which begins in lower case and has no final period.
fn as_hint(mut sentences: String) -> String {
    if let Some(first) = sentences.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    sentences.trim_end_matches('.').to_owned()
}

/// Returns a failure for a command that has nothing to work on: what is not there, and what to do next.
pub fn missing(invocation: &Invocation, store: &Store, what: &str) -> Result<Failure, Failure> {
    let next = as_hint(next(invocation, store)?);
    Ok(Error::unavailable(what).hint(next).into())
}

fn is_tidied(invocation: &Invocation) -> bool {
    invocation.store_directory().is_ok_and(|directory| {
        let before = invocation.tidied.get();
        ckpt_store::is_tidied(&directory)
            || before.is_some_and(|before| *before != ckpt_store::last_tidied(&directory))
    })
}

/// Returns sentences on what was not recorded here, or in another store.
fn unrecorded(invocation: &Invocation) -> Result<String, Failure> {
    let mut store = invocation.open()?;
    Ok(unrecorded::said(invocation, &mut store) + &store_place::said(invocation))
}

/// Returns a sentence on other directories, if there are any with a history: the user may have copied one, or be in
/// the wrong one, looks for that.
fn elsewhere(invocation: &Invocation) -> &'static str {
    let listed = invocation
        .open()
        .ok()
        .and_then(|mut store| store.workspaces(None).ok());
    match listed.is_some_and(|listed| !listed.workspaces.is_empty()) {
        true => " `ckpt-hook workspace list` lists the directories that have a history.",
        false => "",
    }
}

/// Says where session stores were set aside, damaged or of an older build, if nothing was recorded since. Each has its
/// own way out.
pub fn was_set_aside(store: &Store) -> Result<Option<String>, Failure> {
    let places = store.set_aside()?;
    let sentence = |place: &PathBuf| {
        let place = place.to_string_lossy();
        let (was, way) = match place.contains(OLDER) {
            true => (
                "was of an older build of ckpt-hook, which this one does not read,",
                "",
            ),
            false => (
                "was damaged,",
                " `ckpt-hook doctor --repair` makes a new one from what can be read.",
            ),
        };
        format!(
            "The session store {was} and is set aside as `{}`: what was recorded before does not show here.{way}",
            safe(&place)
        )
    };
    let sentences: Vec<String> = places.iter().map(sentence).collect();
    Ok((!sentences.is_empty()).then(|| sentences.join("\n")))
}

/// Says that the store holds snapshots that the session store does not know, if there are any.
pub fn out_of_sight(store: &Store) -> Result<Option<String>, Failure> {
    let number = store.unknown_workspaces()? as u64;
    Ok((number > 0).then(|| {
        format!(
            "There are snapshots of {} here, but their session store is gone: `ckpt-hook doctor --repair` builds a new one from them.",
            count(number, "workspace")
        )
    }))
}

/// The steps to take so that something is recorded.
fn next_step(invocation: &Invocation) -> String {
    if let Some(why) = turned_off(invocation) {
        return format!("Recording is turned off here: {why}.");
    }
    let agents = InstallPaths::of(invocation).map(|paths| install::list(&paths.place()));
    let names = |is_it: fn(&AgentState) -> bool| -> Vec<&str> {
        let agents = agents.iter().flatten().filter(|agent| is_it(agent));
        agents.map(|agent| agent.agent).collect()
    };
    let installed = names(AgentState::works);
    let blocked = agents
        .iter()
        .flatten()
        .find_map(|agent| Some((agent.agent, agent.obstacle()?)));
    let there = names(|agent| {
        agent
            .presence
            .as_ref()
            .is_some_and(|presence| presence.found)
    });
    if !installed.is_empty() {
        let to = if installed.len() == 1 {
            "it"
        } else {
            "one of them"
        };
        format!(
            "The hook is installed for {}: send {to} a message in this directory. `ckpt-hook doctor` checks the rest.",
            listed(&installed)
        )
    } else if let Some((agent, obstacle)) = blocked {
        format!(
            "The hook is in the settings of {agent}, but no event arrives: {obstacle}. `ckpt-hook doctor` says what to do."
        )
    } else if !there.is_empty() {
        format!(
            "The hook is not installed. On this machine there is {}: `ckpt-hook install {}` puts the hook into its settings.",
            listed(&there),
            there[0]
        )
    } else {
        "The hook is not installed, and no agent was found: `ckpt-hook install --list` names those that it works with, `ckpt-hook demo` shows what it does."
            .to_owned()
    }
}

/// The setting that turns the recording off here.
pub fn turned_off(invocation: &Invocation) -> Option<&'static str> {
    if surroundings::is_disabled() {
        return Some("`CKPT_HOOK_DISABLE` is set");
    }
    let directory = invocation.directory().ok()?;
    let (_, here) = config::of_directory(&invocation.config.settings, &directory);
    (!here.enabled)
        .then_some("the settings say `enabled = false`, and `ckpt-hook config` shows where")
}

/// Returns "a", "a and b", "a, b and c".
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_as_in_a_sentence() {
        assert_eq!(listed(&["a"]), "a", "one");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c", "several");
    }
}
