//! Whose a change is: the pure part of recording.
//!
//! The snapshots of a workspace stand in one line, whoever took them. What changed from one to the next belongs to the steps
//! that were open in between; to nobody ("outside") where none was. So every change is recorded once, however steps of
//! sub-agents and of other sessions overlap:
//!
//! ```text
//! snapshots   s1 ------ s2 ------ s3 ------ s4 ------ s5
//! steps       |---- A ----------- |
//!                       |------------- B ---|
//! belongs to      A      A and B       B     outside
//! ```

use crate::entry::Change;
use crate::path::WorkspacePath;
use crate::sessions::{Attribution, ChangeRow, OpenStep};

/// Returns the rows for what changed since the last snapshot. `session` is whose event ended the interval; its step is
/// preferred among those of one conversation.
pub(crate) fn attribute(
    patch: Vec<Change>,
    open: &[OpenStep],
    session: Option<&str>,
    from: Option<i64>,
) -> Vec<ChangeRow> {
    let acting: Vec<&OpenStep> = open.iter().filter(|step| is_acting(step)).collect();
    patch
        .into_iter()
        .filter(|change| !open.iter().any(|step| is_hidden(step, &change.path)))
        .flat_map(|change| {
            let owners = owners(&acting, &change.path, session);
            let attribution = match owners.len() {
                0 => Attribution::Outside,
                1 => Attribution::Agent,
                _ => Attribution::Shared,
            };
            let steps: Vec<Option<String>> = if owners.is_empty() {
                vec![None]
            } else {
                owners.iter().map(|step| Some(step.row.id.clone())).collect()
            };
            steps.into_iter().map(move |step_id| ChangeRow {
                id: 0,
                step_id,
                attribution,
                from_snapshot_id: from,
                to_snapshot_id: None,
                change: change.clone(),
                lines: None,
            })
        })
        .collect()
}

/// While the model only thinks, nothing that changes is the agent's; neither can a step whose start nobody saw own a change.
fn is_acting(step: &OpenStep) -> bool {
    step.row.unprotected.is_none() && (step.tools > 0 || !step.tool_events)
}

/// A file that an ignore rule hides is compared once, when the step that named it closes.
fn is_hidden(step: &OpenStep, path: &WorkspacePath) -> bool {
    step.paths.iter().any(|named| named.hidden_before.is_some() && named.path == *path)
}

/// Returns one step a conversation; only one where the tools that named the file settle it.
fn owners<'a>(acting: &[&'a OpenStep], path: &WorkspacePath, session: Option<&str>) -> Vec<&'a OpenStep> {
    let naming: Vec<&OpenStep> = acting.iter().copied().filter(|step| names(step, path)).collect();
    let candidates = if naming.is_empty() { acting } else { &naming };
    let mut roots: Vec<&str> = candidates.iter().map(|step| step.root_session_id.as_str()).collect();
    roots.sort_unstable();
    roots.dedup();
    roots.into_iter().filter_map(|root| step_of_root(candidates, root, session)).collect()
}

fn step_of_root<'a>(steps: &[&'a OpenStep], root: &str, session: Option<&str>) -> Option<&'a OpenStep> {
    let mut of_root = steps.iter().copied().filter(|step| step.root_session_id == root);
    let own = of_root.clone().find(|step| Some(step.row.session_id.as_str()) == session);
    own.or_else(|| of_root.next_back())
}

fn names(step: &OpenStep, path: &WorkspacePath) -> bool {
    step.paths.iter().any(|named| named.path == *path)
}

/// Joins the changes of one step, oldest first, that continue each other; returns the rows to remove and the rows to add.
///
/// A file that was changed and changed back is no change.
pub(crate) fn consolidate(rows: &[ChangeRow]) -> (Vec<i64>, Vec<ChangeRow>) {
    let mut chains: std::collections::BTreeMap<&WorkspacePath, Vec<(Vec<i64>, ChangeRow)>> =
        std::collections::BTreeMap::new();
    for row in rows {
        let chain = chains.entry(&row.change.path).or_default();
        match chain.last_mut() {
            Some((ids, last)) if last.change.new == row.change.old && last.attribution == row.attribution => {
                ids.push(row.id);
                last.change.new = row.change.new;
                last.to_snapshot_id = row.to_snapshot_id;
                last.lines = None;
            }
            _ => chain.push((vec![row.id], row.clone())),
        }
    }
    let mut removed = Vec::new();
    let mut added = Vec::new();
    for (ids, row) in chains.into_values().flatten() {
        let stays = ids.len() == 1 && row.id != 0;
        if stays {
            continue;
        }
        removed.extend(ids.into_iter().filter(|id| *id != 0));
        if row.change.old != row.change.new {
            added.push(row);
        }
    }
    (removed, added)
}
