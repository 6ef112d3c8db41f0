//! Files that a tool named and wrote, and that were yet as before when its step ended: something took that back unseen,
//! such as `git stash`, and may bring it again.

use std::collections::{BTreeSet, HashSet};

use ckpt_schema::ToolKind;
use rusqlite::Connection;

use super::evidence::Doubt;
use super::workspace::Place;
use crate::error::Result;
use crate::model::Milliseconds;
use crate::model::attribution::Attribution;
use crate::model::path::WorkspacePath;
use crate::sessions::{self, ChangeRow, OpenStep, ToolRow};

/// A file that a tool of a step wrote, as before when the step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Returned {
    pub step: String,
    pub path: WorkspacePath,
}

/// Returns those of a step that ends. `changed` are the paths that changed in it or with it.
pub(super) fn of(
    step: &OpenStep,
    changed: &HashSet<WorkspacePath>,
    is_written: impl Fn(&WorkspacePath, Milliseconds) -> bool,
) -> Vec<Returned> {
    let writing = |tool: &&ToolRow| tool.kind != Some(ToolKind::Read);
    let tools = step.tools.iter().filter(writing);
    let named = tools.flat_map(|tool| tool.paths.iter().map(|path| (path, tool.started_at)));
    let unseen = named.filter(|(path, since)| !changed.contains(*path) && is_written(path, *since));
    let paths: BTreeSet<&WorkspacePath> = unseen.map(|(path, _)| path).collect();
    let returned = |path: &WorkspacePath| Returned {
        step: step.row.id.clone(),
        path: path.clone(),
    };
    paths.into_iter().map(returned).collect()
}

/// Doubts what seems to come from outside to such files: it may be what the tool wrote.
pub(super) fn doubt(
    connection: &Connection,
    place: &Place,
    drafts: &mut [ChangeRow],
) -> Result<()> {
    let is_outside = |draft: &&mut ChangeRow| draft.step_id.is_none();
    let mut outside = drafts.iter_mut().filter(is_outside).peekable();
    if outside.peek().is_none() {
        return Ok(());
    }
    let known = sessions::returned_paths(connection, place.row.id)?;
    for draft in outside {
        if let Some(step) = known.get(&draft.change.path) {
            draft.step_id = Some(step.clone());
            draft.attribution = Attribution::Unclear;
            draft.reason = Some(Doubt::Returned.to_string());
        }
    }
    Ok(())
}
