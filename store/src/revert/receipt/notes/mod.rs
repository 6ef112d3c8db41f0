//! The warnings of an operation: what was not recorded or captured, and what of git's state stays.

pub(crate) mod arrivals;
mod ignored_changes;
mod in_view;
mod repositories;
pub(crate) mod surroundings;
pub(crate) mod unstored;
pub(crate) mod version_control;

use std::collections::BTreeSet;

use ckpt_schema::report::{FileAction, OperationKind};
use rusqlite::Connection;

use crate::error::{Error, Result};
use crate::model::gap::{Gap, GapReason};
use crate::model::id::name_beside;
use crate::model::instruction::Instruction;
use crate::model::note::{self, Note, OtherMessage};
use crate::model::path::WorkspacePath;
use crate::revert::goal::material::Material;
use crate::revert::goal::present::Scene;
use crate::revert::plan::Plan;
use crate::revert::request::movement::Movement;
use crate::revert::request::scope::{Part, RevertScope};
use crate::sessions;
use crate::timeline::{Look, Place};

/// Reports named paths that the agent never changed. That is a mistake, and must not look like a path that is already
/// right.
pub(crate) fn unknown_paths(movement: &Movement, material: &Material) -> Result<Option<Note>> {
    let Some(part) = movement
        .part
        .as_ref()
        .filter(|_| !material.unknown.is_empty())
    else {
        return Ok(None);
    };
    let paths = material
        .unknown
        .iter()
        .map(WorkspacePath::to_text)
        .collect();
    let note = match part {
        Part::Paths { .. } => Note::UnknownSinceMessage { paths },
        Part::Message { .. } => Note::UnknownInMessage { paths },
        Part::Step { .. } => Note::UnknownInStep { paths },
    };
    if material.unknown.len() == RevertScope::of_part(part).only().len() {
        return Err(Error::unavailable(note.to_string()).hint(format!(
            "{} lists the files of a message or step",
            Instruction::ShowId
        )));
    }
    Ok(Some(note))
}

/// Names the steps whose changes no look saw when they were made.
pub(crate) fn unprotected_steps(material: &Material) -> impl Iterator<Item = Note> {
    let steps = material.unprotected.iter().cloned();
    steps.map(|(step, why)| Note::StepNotRecorded { step, why })
}

/// Says which newer messages a revert passes over, because they are other sessions'.
pub(crate) fn passed_over(connection: &Connection, movement: &Movement) -> Result<Option<Note>> {
    let (OperationKind::Revert, None, Some(to)) = (movement.kind, &movement.part, &movement.to)
    else {
        return Ok(None);
    };
    let session = &movement.session;
    let newer = sessions::newer_of_others(connection, session.workspace_id, &session.id, to.seq)?;
    let newer = newer.into_iter().map(|other| OtherMessage {
        name: name_beside(&session.agent, &other.agent, &other.session),
        id: other.id,
        prompt: other.prompt,
        session: other.session,
    });
    let mut messages: Vec<OtherMessage> = newer.collect();
    Ok(match messages.len() {
        0 => None,
        1 => messages.pop().map(|message| Note::OtherMessage { message }),
        _ => Some(Note::OtherMessages { messages }),
    })
}

/// Warns if no snapshot was taken at the message: the state before it is known only from the snapshots around it.
pub(crate) fn unprotected_message(movement: &Movement) -> Option<Note> {
    let message = movement.message()?;
    let why = message.unprotected.clone()?;
    let message = message.id.clone();
    Some(Note::MessageNotCaptured { message, why })
}

/// Names the directories that could not be read at a side of a step.
pub(crate) fn unread_directories(unread: Vec<Gap>) -> Option<Note> {
    note::on(unread, |directories| Note::Unread { directories })
}

/// Names what snapshots cannot hold. The agent may have changed it without anybody seeing it.
pub(crate) fn not_captured(movement: &Movement, plan: &Plan, seen: &Look) -> Option<Note> {
    if !movement.is_whole_revert() {
        return None;
    }
    left_alone(plan, seen.gaps.iter())
}

/// Names changes during a message without a recorded step. They have no author, and stay as if they were the user's.
/// The warning comes once, when the message is reverted.
pub(crate) fn without_a_step(
    scene: Scene<'_>,
    movement: &Movement,
    plan: &Plan,
) -> Result<Vec<Note>> {
    let (connection, seen) = (scene.connection(), scene.seen);
    let Some(since) = movement.since.filter(|_| movement.part.is_none()) else {
        return Ok(Vec::new());
    };
    let until = movement.from.as_ref().map(|from| from.seq);
    let messages = sessions::stepless_messages(connection, &movement.session.id, since, until)?;
    let told: BTreeSet<&WorkspacePath> = plan
        .items
        .iter()
        .filter(|item| item.action != FileAction::None)
        .map(|item| &item.path)
        .collect();
    let mut warnings = Vec::new();
    for message in messages {
        let outside = outside_of(connection, scene.place, &message, seen)?;
        if outside.is_empty() {
            continue;
        }
        let then = sessions::snapshot(connection, message.snapshot_id)?.snapshot;
        let changes = scene.snapshots.difference(&then, &seen.snapshot)?;
        let files: Vec<String> = changes
            .iter()
            .map(|change| &change.path)
            .filter(|path| outside.contains(*path) && !told.contains(*path))
            .map(WorkspacePath::to_text)
            .collect();
        if !files.is_empty() {
            let message = message.id;
            warnings.push(Note::NoStep { message, files });
        }
    }
    Ok(warnings)
}

/// Returns the changes during a message that belong to no step.
fn outside_of(
    connection: &Connection,
    place: &Place,
    message: &sessions::SteplessMessage,
    seen: &Look,
) -> Result<BTreeSet<WorkspacePath>> {
    let mut paths = sessions::outside_paths(
        connection,
        place.row.id,
        message.snapshot_id,
        message.next_snapshot_id,
    )?;
    if message.next_snapshot_id.is_none() {
        let nobodys = seen.changes.iter().filter(|row| row.step_id.is_none());
        paths.extend(nobodys.map(|row| row.change.path.clone()));
    }
    Ok(paths)
}

/// Names gaps that no line of the plan mentions. Repositories are named if they came, went or changed.
pub(crate) fn left_alone<'g>(plan: &Plan, gaps: impl Iterator<Item = &'g Gap>) -> Option<Note> {
    let told: BTreeSet<&[u8]> = plan
        .items
        .iter()
        .filter(|item| item.action != FileAction::None)
        .map(|item| item.path.as_bytes())
        .collect();
    let gaps = gaps
        .filter(|gap| gap.reason != GapReason::Repository)
        .filter(|gap| !told.contains(gap.path.as_slice()))
        .cloned()
        .collect();
    note::on(gaps, |gaps| Note::LeftAlone { gaps })
}

/// Names directories whose permissions differ. A directory with files is not an entry of a plan, so its permissions
/// stay.
pub(crate) fn permissions_of_directories(scene: Scene<'_>, movement: &Movement) -> Option<Note> {
    if !movement.is_whole_revert() {
        return None;
    }
    let wanted_id = movement.reference_snapshot(None)?;
    directories_stay(scene, wanted_id, |_| true)
}

/// Names the directories that are asked for and had other permissions in a state. If that state can no longer be read,
/// the plan says what cannot come back.
pub(crate) fn directories_stay(
    scene: Scene<'_>,
    wanted_id: i64,
    is_asked_for: impl Fn(&WorkspacePath) -> bool,
) -> Option<Note> {
    let wanted = sessions::snapshot(scene.connection(), wanted_id)
        .ok()?
        .snapshot;
    let mut differing = scene
        .snapshots
        .directories_that_differ(&wanted, &scene.seen.snapshot)
        .ok()?;
    differing.retain(|(path, _, _)| is_asked_for(path));
    let differing = differing.into_iter();
    let differing = differing.map(|(path, then, now)| (path.to_text(), [then, now]));
    note::on(differing.collect(), |directories| Note::PermissionsStay {
        directories,
    })
}
