//! Conversations that an agent has on record, and of which no event came.

use std::path::Path;

use ckpt_agents::transcripts::{self, Conversation};
use ckpt_command::invocation::Invocation;
use ckpt_output::View;
use ckpt_process::surroundings;
use ckpt_schema::report::UnrecordedReport;
use ckpt_store::Store;

use super::install::InstallPaths;

/// Returns the newest conversation of each agent in a workspace, if nothing of it was recorded, nor anything of another
/// one of that agent since it began.
pub fn look(invocation: &Invocation, store: &mut Store, workspace: &Path) -> Vec<UnrecordedReport> {
    let Ok(paths) = InstallPaths::of(invocation) else {
        return Vec::new();
    };
    let conversations = transcripts::newest_in(&paths.place(), workspace);
    if conversations.is_empty() {
        return Vec::new();
    }
    let recorded = store
        .sessions(Some(workspace))
        .map(|report| report.sessions);
    let recorded = recorded.unwrap_or_default();
    let is_recorded = |one: &Conversation| {
        let mut of_agent = recorded.iter().filter(|session| session.agent == one.agent);
        of_agent.any(|session| session.agent_id == one.id || session.last_event >= one.first)
    };
    let unrecorded = conversations.into_iter().filter(|one| !is_recorded(one));
    unrecorded
        .map(|one| UnrecordedReport {
            agent: one.agent.to_owned(),
            called: one.called.to_owned(),
            session: one.id,
            time: one.last,
        })
        .collect()
}

/// Returns a sentence for each.
pub fn sentences(unrecorded: &[UnrecordedReport], view: &View) -> Vec<String> {
    let sentence = |one: &UnrecordedReport| {
        let at = view.times.clock(one.time);
        format!(
            "{} worked here at {at}, and nothing was recorded.",
            one.called
        )
    };
    unrecorded.iter().map(sentence).collect()
}

/// Returns the sentences for a text that says that nothing is recorded. None where recording is turned off.
pub fn said(invocation: &Invocation, store: &mut Store) -> String {
    let Ok(directory) = invocation.directory() else {
        return String::new();
    };
    if surroundings::is_disabled() {
        return String::new();
    }
    let unrecorded = look(invocation, store, &directory);
    let sentences = sentences(&unrecorded, invocation.output.view());
    sentences
        .into_iter()
        .map(|sentence| sentence + " ")
        .collect()
}
