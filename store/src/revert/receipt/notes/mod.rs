//! The warnings of an operation: what was not recorded or captured, and what of git's state stays.

pub(crate) mod arrivals;
mod ignored_changes;
mod in_view;
mod repositories;
pub(crate) mod surroundings;
pub(crate) mod unstored;
mod unstored_text;
pub(crate) mod version_control;

use std::collections::BTreeSet;

use ckpt_schema::report::{FileAction, NoteCode, OperationKind};
use rusqlite::Connection;

use crate::error::{Error, Result};
use crate::ids::{name_beside, short};
use crate::model::gap::{Gap, GapReason};
use crate::model::git_item::{GitStateRow, plain};
use crate::model::note::Note;
use crate::model::number::{count, first_of, first_quoted};
use crate::model::path::WorkspacePath;
use crate::revert::carry_out::git::{GitSide, GitWarnings};
use crate::revert::goal::material::Material;
use crate::revert::goal::present::Scene;
use crate::revert::plan::Plan;
use crate::revert::plan::operation::GitFate;
use crate::revert::request::movement::Movement;
use crate::revert::request::scope::{Part, RevertScope};
use crate::sessions::{self, OthersMessage};
use crate::timeline::{Look, Place};

/// How many paths a line names.
const NAMED: usize = 5;

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
    let since = match part {
        Part::Paths { .. } => "since that message",
        Part::Message { .. } => "in that message",
        Part::Step { .. } => "in that step",
    };
    let unknown: Vec<String> = material
        .unknown
        .iter()
        .map(WorkspacePath::to_text)
        .collect();
    let names: Vec<String> = unknown.iter().map(|path| format!("`{path}`")).collect();
    let what = format!(
        "the agent changed nothing at or below {} {since}",
        names.join(" or ")
    );
    if material.unknown.len() == RevertScope::of_part(part).only().len() {
        return Err(Error::unavailable(what)
            .hint("`ckpt-hook show ID` lists the files of a message or step"));
    }
    Ok(Some(Note::about(NoteCode::UnknownPath, what, unknown)))
}

/// Names the steps whose changes no look saw when they were made.
pub(crate) fn unprotected_steps(material: &Material) -> impl Iterator<Item = Note> {
    let steps = material.unprotected.iter();
    steps.map(|(step, why)| step_not_recorded(step, why))
}

fn step_not_recorded(step: &str, why: &str) -> Note {
    let text = format!(
        "step `{}` was not recorded, and what no later look saw of it stays: {why}",
        short(step)
    );
    Note::about(NoteCode::StepNotRecorded, text, vec![step.to_owned()])
}

/// Returns a message of another session as a sentence names it.
fn named(message: &OthersMessage) -> String {
    let lines = message.prompt.iter().flat_map(|prompt| prompt.lines());
    let mut lines = lines.map(str::trim).filter(|line| !line.is_empty());
    match lines.next() {
        Some(line) if line.chars().count() > TITLE => {
            format!("“{}…”", line.chars().take(TITLE).collect::<String>())
        }
        Some(line) => format!("“{line}”"),
        None => format!("message {}", short(&message.id)),
    }
}

/// How many characters of a prompt a note shows.
const TITLE: usize = 50;

/// Says which newer messages a revert passes over, because they are other sessions'.
pub(crate) fn passed_over(connection: &Connection, movement: &Movement) -> Result<Option<Note>> {
    let (OperationKind::Revert, None, Some(to)) = (movement.kind, &movement.part, &movement.to)
    else {
        return Ok(None);
    };
    let session = &movement.session;
    let newer = sessions::newer_of_others(connection, session.workspace_id, &session.id, to.seq)?;
    let text = match &newer[..] {
        [] => return Ok(None),
        [one] => format!(
            "{} stays: it is newer, but of another session ({})",
            named(one),
            name_beside(&session.agent, &one.agent, &one.session)
        ),
        many => {
            let name = |one: &OthersMessage| name_beside(&session.agent, &one.agent, &one.session);
            let agents: BTreeSet<String> = many.iter().map(name).collect();
            let sessions: BTreeSet<&str> = many.iter().map(|one| &*one.session).collect();
            format!(
                "{} of {} stay ({})",
                count(many.len() as u64, "newer message"),
                ["other sessions", "another session"][usize::from(sessions.len() == 1)],
                first_of(agents.into_iter(), NAMED)
            )
        }
    };
    let ids = newer.into_iter().map(|one| one.id).collect();
    Ok(Some(Note::about(NoteCode::OtherSessions, text, ids)))
}

/// Warns if no snapshot was taken at the message: the state before it is known only from the snapshots around it.
pub(crate) fn unprotected_message(movement: &Movement) -> Option<Note> {
    let message = match &movement.part {
        Some(Part::Paths { message, .. } | Part::Message { message, .. }) => message,
        Some(Part::Step { .. }) => return None,
        None => movement.to.as_ref()?,
    };
    let why = message.unprotected.as_ref()?;
    let text = format!(
        "the message `{}` could not be captured, so the revert relies on the snapshots around it: {why}",
        short(&message.id)
    );
    Some(Note::about(
        NoteCode::MessageNotCaptured,
        text,
        vec![message.id.clone()],
    ))
}

/// Warns about what failed after the files, and says that it will be finished.
pub(crate) fn unfinished(error: &Error) -> Note {
    let text = format!(
        "the operation is still open, because some work after the files could not be done ({}): the next command or message finishes it",
        error.with_causes()
    );
    Note::new(NoteCode::Open, text)
}

/// Warns that the result could not be compared with the state that it went to.
pub(crate) fn not_compared(error: &Error) -> Note {
    let text = format!(
        "the workspace could not be compared with what it was then: {}",
        error.with_causes()
    );
    Note::new(NoteCode::NotCompared, text)
}

/// Names the directories that could not be read at a side of a step.
pub(crate) fn unread_directories(unread: &[Gap]) -> Option<Note> {
    let names = unread.iter().map(named_gap);
    let names = (!unread.is_empty()).then(|| first_of(names, NAMED))?;
    let text = format!(
        "these could not be read then, so what the agent created or removed below them is unknown and stays: {names}"
    );
    let about = unread.iter().map(gap_name).collect();
    Some(Note::about(NoteCode::Unread, text, about))
}

pub(crate) fn named_gap(gap: &Gap) -> String {
    format!("`{}` ({})", gap_name(gap), gap.reason)
}

pub(crate) fn gap_name(gap: &Gap) -> String {
    crate::sessions::read::gap_report(gap).path.path
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
        let names: Vec<String> = changes
            .iter()
            .map(|change| &change.path)
            .filter(|path| outside.contains(*path) && !told.contains(*path))
            .map(WorkspacePath::to_text)
            .collect();
        if !names.is_empty() {
            let text = format!(
                "no step was recorded for message `{id}`: these files have changed since and count as yours: {}; `ckpt-hook restore {id}` with one of their names puts that one back",
                first_quoted(&names, NAMED),
                id = short(&message.id)
            );
            warnings.push(Note::about(NoteCode::NoStep, text, names));
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
    let gaps: Vec<_> = gaps
        .filter(|gap| gap.reason != GapReason::Repository)
        .filter(|gap| !told.contains(gap.path.as_slice()))
        .collect();
    if gaps.is_empty() {
        return None;
    }
    let about = gaps.iter().map(|gap| gap_name(gap)).collect();
    let names = gaps.into_iter().map(named_gap);
    let all = if names.len() > NAMED {
        " (`ckpt-hook status --json`)"
    } else {
        ""
    };
    let text = format!(
        "no snapshot holds these, so they were left alone: {}{all}",
        first_of(names, NAMED)
    );
    Some(Note::about(NoteCode::NotCaptured, text, about))
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
    const NAMED: usize = 3;
    let wanted = sessions::snapshot(scene.connection(), wanted_id)
        .ok()?
        .snapshot;
    let mut differing = scene
        .snapshots
        .directories_that_differ(&wanted, &scene.seen.snapshot)
        .ok()?;
    differing.retain(|(path, _, _)| is_asked_for(path));
    if differing.is_empty() {
        return None;
    }
    let names = differing
        .iter()
        .map(|(path, then, now)| format!("`{}` had {then:03o}, now has {now:03o}", path.to_text()));
    let text = format!(
        "the permissions of existing directories stay: {}",
        first_of(names, NAMED)
    );
    let about = differing.iter().map(|(path, _, _)| path.to_text());
    Some(Note::about(
        NoteCode::DirectoryPermissions,
        text,
        about.collect(),
    ))
}

/// Names the parts of git's state that stay: without `--git` the agent's commits and moved branches, and in any case
/// what no revert undoes.
pub(crate) fn head_moved(
    side: &GitSide<'_>,
    movement: &Movement,
    base: Option<i64>,
    git: GitFate,
) -> Result<Vec<Note>> {
    let told = if movement.kind == OperationKind::Revert {
        side.warnings(movement, base, git)?
    } else {
        GitWarnings::default()
    };
    let head = match told.commits {
        _ if git == GitFate::Along => None,
        Some((commits, about)) => Some(Note::about(NoteCode::Commits, commits, about)),
        None => head_differs(side, movement)?,
    };
    Ok(head.into_iter().chain(told.notes).collect())
}

fn head_differs(side: &GitSide<'_>, movement: &Movement) -> Result<Option<Note>> {
    let connection = side.connection;
    let Some(snapshot_id) = movement.reference_snapshot(None) else {
        return Ok(None);
    };
    let Some(git_state_id) = sessions::snapshot(connection, snapshot_id)?.git_state_id else {
        return Ok(None);
    };
    let then = sessions::git_state(connection, git_state_id)?;
    let Some(now) = side.now else { return Ok(None) };
    if then.head == now.head && then.branch == now.branch {
        return Ok(None);
    }
    let text = format!(
        "git's HEAD was at {} and is at {}: commits, branches and the index stay as they are without `--git`",
        head_text(&then),
        head_text(now)
    );
    Ok(Some(Note::new(NoteCode::Head, text)))
}

/// Returns where HEAD is: a commit, and its branch.
fn head_text(state: &GitStateRow) -> String {
    let head = state.head.as_deref().map_or("no commit", short);
    match &state.branch {
        Some(branch) => format!("{head} on `{}`", plain(branch)),
        None => format!("{head}, detached"),
    }
}
