//! The further roots of a session, and an event as it is seen from each of them.
//!
//! A session begins in one root. It works in others that the agent or the user declares, in those in which a tool names a
//! file, and in those in which the agent runs. Each event is recorded in all of them, one after another: the first root
//! has the whole, and the others have parts of it.
//!
//! A directory that is inside a root is no further one, unless an ignore rule hides it there: what a root covers, it
//! covers once.

use std::path::{Path, PathBuf};
use std::time::Instant;

use ckpt_schema::EventKind;
use ckpt_schema::event::{Event, ToolKind};
use ckpt_schema::report::{FileReport, PathText};

use super::known_event::KnownEvent;
use super::{RecordingTry, attempt_known};
use crate::error::{Error, ErrorKind, Result};
use crate::git::Location;
use crate::sessions::{self, Diagnostic, DiagnosticLevel, Whole};
use crate::store::Store;
use crate::timeline::{Place, normal, root_of};

/// Returns the further roots of an event's session, and those that the event adds. A session with one root pays nothing
/// for it.
pub(super) fn places(store: &mut Store, known: &KnownEvent<'_>) -> Result<Vec<Place>> {
    let event = known.event;
    let mut places = Vec::new();
    let whole = known.view.root.as_ref().filter(|root| root.has_parts);
    if let Some(whole) = whole {
        for part in sessions::parts(store.database.connection(), &whole.id)? {
            let row = sessions::workspace(store.database.connection(), part.workspace_id)?;
            // One that is away is looked at again when it is back.
            if row.is_there() {
                places.push(Place::of_row(store, row));
            }
        }
    }
    let begins = matches!(
        event.event,
        EventKind::SessionStart | EventKind::UserMessage
    );
    let given = known.place.settings.roots.iter().filter(|_| begins);
    let declared = event.roots.iter().chain(given);
    let declared = declared.map(|root| absolute(event, root));
    for directory in declared {
        if let Err(error) = add(store, &known.place, &mut places, &directory, true) {
            note_refused(store, event, &directory, &error)?;
        }
    }
    for directory in touched(known) {
        // Its files are told of as outside.
        let _ = add(store, &known.place, &mut places, &directory, false);
    }
    Ok(places)
}

/// Returns the session of a new sub-agent's parent, if that works elsewhere and does not cover the directory of the
/// sub-agent: the sub-agent has a work tree of its own, which is a root of its parent's from now on.
pub(super) fn parent_elsewhere(store: &Store, known: &KnownEvent<'_>) -> Result<Option<String>> {
    let event = known.event;
    let Some(parent) = event.parent_session_id.as_ref() else {
        return Ok(None);
    };
    if known.view.root.is_some() {
        return Ok(None);
    }
    let connection = store.database.connection();
    let home = sessions::session_at_home(connection, &event.agent, parent, None)?;
    let Some(home) = home.filter(|home| home.last_event.is_some()) else {
        return Ok(None);
    };
    let row = sessions::workspace(connection, home.workspace_id)?;
    let covers = is_covered(store, &Place::of_row(store, row), &known.place.root);
    Ok((!covers).then_some(home.id))
}

/// Adds the workspace of a directory to the further roots, unless one of them covers it. What cannot be a workspace is
/// refused. An undeclared directory that is in no repository is left out, unless it was recorded before: it may hold all
/// documents of the user, and a tool names one of them.
fn add(
    store: &mut Store,
    first: &Place,
    places: &mut Vec<Place>,
    directory: &Path,
    is_declared: bool,
) -> Result<()> {
    let Ok(directory) = directory.canonicalize() else {
        return Ok(());
    };
    let is_covered = |place: &Place| is_covered(store, place, &directory);
    if std::iter::once(first).chain(places.iter()).any(is_covered) {
        return Ok(());
    }
    let root = root_of(store, &directory)?;
    let connection = store.database.connection();
    let is_recorded = || matches!(sessions::workspace_at(connection, &root), Ok(Some(_)));
    if !is_declared && Location::of(&root).is_none() && !is_recorded() {
        return Ok(());
    }
    let place = Place::claim(store, &directory)?;
    let is_known = |other: &Place| other.row.id == place.row.id;
    if place.settings.enabled && !is_known(first) && !places.iter().any(is_known) {
        places.push(place);
    }
    Ok(())
}

/// Returns whether a directory is in a root, and no ignore rule of it hides it.
fn is_covered(store: &Store, place: &Place, directory: &Path) -> bool {
    if place.root == directory {
        return true;
    }
    let hidden = |path| {
        let snapshots = place.snapshots()?;
        place.hides(store, &snapshots, &path)
    };
    // What cannot be asked, such as before the first snapshot, counts as captured by its root.
    place
        .path_of(directory)
        .is_some_and(|path| !hidden(path).unwrap_or_default())
}

/// Returns the directories outside the first root in which a tool is about to change something: those of the files that
/// it names, and the one in which it runs.
fn touched(known: &KnownEvent<'_>) -> Vec<PathBuf> {
    let (event, place) = (known.event, &known.place);
    let is_start = matches!(event.event, EventKind::ToolStart | EventKind::ToolWait);
    if !is_start || event.tool_kind == Some(ToolKind::Read) {
        return Vec::new();
    }
    let named = event.paths.iter();
    let named = named.filter_map(|path| place.named(event.cwd.as_deref(), path).outside);
    let mut directories: Vec<PathBuf> = named
        .filter_map(|path| normal(&path).parent().and_then(existing))
        .collect();
    let cwd = event.cwd.as_deref().filter(|_| event.tool_kind.is_none());
    let outside = cwd.filter(|cwd| !cwd.starts_with(&place.root));
    directories.extend(outside.and_then(existing));
    directories
}

/// Returns the nearest directory that is there already.
fn existing(directory: &Path) -> Option<PathBuf> {
    let mut above = directory.ancestors();
    above.find(|above| above.is_dir()).map(Path::to_owned)
}

fn absolute(event: &Event, path: &Path) -> PathBuf {
    match &event.cwd {
        Some(cwd) => normal(&cwd.join(path)),
        None => normal(path),
    }
}

/// Returns an event as it is seen from one of its session's roots: without the files of the others. `is_first` tells of
/// what is in none of them.
pub(super) fn seen_from(place: &Place, others: &[&Place], event: &Event, is_first: bool) -> Event {
    let mut seen = event.clone();
    let is_elsewhere = |path: &PathBuf| {
        let is_in = |place: &&Place| place.named(None, path).outside.is_none();
        let named = place.named(None, path);
        named.inside.is_empty() && (!is_first || others.iter().any(is_in))
    };
    let leave = |paths: &mut Vec<PathBuf>, kind: &mut Option<ToolKind>| {
        let before = paths.len();
        *paths = paths.iter().map(|path| absolute(event, path)).collect();
        paths.retain(|path| !is_elsewhere(path));
        // A tool that changes files of other roots only changes nothing here.
        if before > 0 && paths.is_empty() {
            *kind = Some(ToolKind::Read);
        }
    };
    leave(&mut seen.paths, &mut seen.tool_kind);
    for tool in &mut seen.tools {
        leave(&mut tool.paths, &mut tool.tool_kind);
    }
    let is_in = |place: &&Place| event.cwd.iter().any(|cwd| cwd.starts_with(&place.root));
    if !is_in(&place) && (!is_first || others.iter().any(is_in)) {
        seen.cwd = Some(place.root.clone());
    }
    seen.roots = Vec::new();
    seen
}

/// Records an event in the further roots, once it is recorded in the first one. What fails there is noted: the event is
/// recorded. Returns the files that the user put back there since the last message, by their full paths.
pub(super) fn record(
    store: &mut Store,
    event: &Event,
    first: &Place,
    places: &[Place],
    begin: Instant,
) -> Result<Vec<FileReport>> {
    let connection = store.database.connection();
    let own = sessions::find_session(connection, &event.agent, &event.session_id, first.row.id)?;
    let mut went_back = Vec::new();
    let Some(own) = own else {
        return Ok(went_back);
    };
    let root = sessions::root_of(connection, &own)?;
    let message = sessions::newest_message(connection, &root.id)?;
    let step = sessions::newest_step(connection, &own.id)?;
    let step = step.map(|step| step.id);
    for (at, place) in places.iter().enumerate() {
        let others = places.iter().enumerate();
        let others = others.filter(|(other, _)| *other != at);
        let others: Vec<&Place> = others.map(|(_, place)| place).chain([first]).collect();
        let seen = seen_from(place, &others, event, false);
        let whole = |session: &str| Whole {
            session: session.to_owned(),
            message: message.as_ref().map(|message| message.id.clone()),
            step: step.clone(),
        };
        let mut done = Ok(Vec::new());
        // The root may have come to the session in the middle of a message, or may have been away.
        if let Some(message) = &message
            && !has_part(store, &root, place, &message.id)?
        {
            let begun = Event {
                event: EventKind::UserMessage,
                session_id: root.agent_id.clone(),
                parent_session_id: None,
                agent: event.agent.clone(),
                cwd: Some(place.root.clone()),
                message_id: message.agent_id.clone(),
                turn_id: message.turn_id.clone(),
                prompt: message.prompt.clone(),
                process: event.process.clone(),
                is_long_lived: event.is_long_lived,
                ..Event::new(EventKind::UserMessage, &event.agent, &root.agent_id)
            };
            done = in_root(store, &begun, place, &whole(&root.id), begin);
        }
        if event.event != EventKind::UserMessage {
            let recorded = in_root(store, &seen, place, &whole(&own.id), begin);
            done = done.and_then(|files| recorded.map(|_| files));
        }
        let error = match done {
            Ok(files) => {
                went_back.extend(files);
                continue;
            }
            Err(error) => error,
        };
        if error.kind == ErrorKind::Late {
            store.late_root = Some(place.root.clone());
        }
        note(store, event, place, &error)?;
    }
    Ok(went_back)
}

/// Returns whether the root has its part of a message.
fn has_part(
    store: &Store,
    root: &sessions::SessionRow,
    place: &Place,
    message: &str,
) -> Result<bool> {
    let connection = store.database.connection();
    let part = sessions::find_session(connection, &root.agent, &root.agent_id, place.row.id)?;
    match part {
        Some(part) => Ok(sessions::part_in(connection, "messages", &part.id, message)?.is_some()),
        None => Ok(false),
    }
}

fn in_root(
    store: &mut Store,
    event: &Event,
    place: &Place,
    whole: &Whole,
    begin: Instant,
) -> Result<Vec<FileReport>> {
    let known = KnownEvent::in_root(store, event, place.clone(), whole)?;
    let report = attempt_known(store, known, begin, &mut RecordingTry::default())?;
    let full = |file: FileReport| FileReport {
        path: PathText {
            path: place.root.join(&file.path.path).display().to_string(),
            ..file.path
        },
        ..file
    };
    Ok(report.went_back.into_iter().map(full).collect())
}

/// Says, once, that a directory that was named as a root is none.
fn note_refused(store: &mut Store, event: &Event, directory: &Path, error: &Error) -> Result<()> {
    let named = directory.to_string_lossy();
    let message = format!("`{named}` was named as a further root of a session, and is none");
    store.diagnose_once(&Diagnostic {
        level: DiagnosticLevel::Warning,
        agent: Some(&event.agent),
        session: Some(&event.session_id),
        workspace: Some(&named),
        message: &message,
        detail: Some(&error.with_causes()),
        is_untold: true,
        ..Diagnostic::default()
    })
}

fn note(store: &mut Store, event: &Event, place: &Place, error: &Error) -> Result<()> {
    let workspace = place.root.to_string_lossy().into_owned();
    let message =
        format!("an event was not recorded in `{workspace}`, a further root of its session");
    store.diagnose(&Diagnostic {
        message: &message,
        detail: Some(&error.with_causes()),
        is_untold: true,
        ..Diagnostic::of_event(DiagnosticLevel::Error, event, &workspace)
    })
}
