//! The rows of an event, in one transaction.

use ckpt_schema::EventKind;
use ckpt_schema::event::Event;
use ckpt_schema::report::{EventReport, FileReport, MessageState, VERSION};
use rusqlite::Connection;

use super::decide::{Action, Decision, decide};
use super::view::View;
use crate::error::{Error, Result};
use crate::model::Milliseconds;
use crate::sessions::{self, MessageRow, SessionRow, StepPath, StepRow};
use crate::settings::{RecordPrompts, Settings};
use crate::store::Store;
use crate::timeline::{Observation, Place, parent_of};

/// What became of an event, for its report.
#[derive(Default)]
struct Written {
    session: Option<String>,
    message: Option<String>,
    step: Option<String>,
    changes: Option<u64>,
    went_back: Vec<FileReport>,
}

/// The workspace as it was seen, or why it could not be.
enum Seen<'a> {
    At {
        snapshot_id: i64,
        observation: &'a Observation,
    },
    Failed(String),
}

impl Seen<'_> {
    fn snapshot_id(&self) -> Option<i64> {
        match self {
            Self::At { snapshot_id, .. } => Some(*snapshot_id),
            Self::Failed(_) => None,
        }
    }

    fn failure(&self) -> Option<&str> {
        match self {
            Self::At { .. } => None,
            Self::Failed(why) => Some(why),
        }
    }
}

/// Writes an event that needs no snapshot.
pub(super) fn without_snapshot(
    store: &mut Store,
    place: &Place,
    event: &Event,
    view: &View,
) -> Result<EventReport> {
    let now = store.now();
    let decision = decide(event, view, &place.settings);
    let named = match decision.action {
        Action::AddTool => named_paths(store, place, event, view)?,
        _ => Vec::new(),
    };
    let written = store.database.write(|connection| {
        let session = ensure_session(connection, place, event, now)?;
        let root = sessions::root_of(connection, &session)?;
        let mut written = Written {
            session: Some(session.id.clone()),
            ..Written::default()
        };
        match decision.action {
            Action::SteeredMessage => {
                let message = MessageRow {
                    pending: true,
                    ..new_message(connection, event, &root, &place.settings)?
                };
                sessions::insert_message(connection, &message, now)?;
                written.message = Some(message.id);
            }
            Action::AddTool => {
                written.step = view.own_step().map(|step| step.row.id.clone());
                add_tool(
                    connection,
                    place,
                    event,
                    written.step.as_deref(),
                    &named,
                    now,
                )?;
            }
            Action::WaitTool => {
                written.step = view.own_step().map(|step| step.row.id.clone());
                if let Some(step) = &written.step {
                    sessions::note_wait(connection, step, event, now)?;
                }
            }
            Action::EndTool => {
                written.step = view.own_step().map(|step| step.row.id.clone());
                if let Some(step) = &written.step {
                    sessions::finish_tool(connection, step, event, now)?;
                }
            }
            Action::Note
            | Action::Message
            | Action::OpenStep
            | Action::MoveStart
            | Action::Close => {}
        }
        if written.message.is_none() {
            written.message = current_message(connection, &root)?;
        }
        touch(connection, place, &session.id, event, now)?;
        Ok(written)
    })?;
    Ok(report(event, written, None))
}

/// Writes an event with the workspace as it was seen for it. Where that failed, what depends on it is marked unprotected,
/// and the failure is returned once the rows are written. The `run` that was noted for it is over then: a failure is not a kill.
pub(super) fn with_snapshot(
    store: &mut Store,
    place: &Place,
    event: &Event,
    view: &View,
    decision: &Decision,
    observation: Result<Observation>,
    run: Option<i64>,
) -> Result<EventReport> {
    let now = store.now();
    let named = named_paths(store, place, event, view)?;
    let failure = observation.as_ref().err().map(Error::with_causes);
    let written = store.database.write(|connection| {
        let session = ensure_session(connection, place, event, now)?;
        let root = sessions::root_of(connection, &session)?;
        // A step that is only supposed has to be there before its changes are.
        let supposed = suppose(
            connection,
            &session,
            &root,
            decision,
            observation.as_ref().ok(),
            now,
        )?;
        if decision.action == Action::MoveStart
            && let Some(step) = view.own_step()
        {
            sessions::release_to_outside(connection, &step.row.id)?;
        }
        let seen = match (&observation, failure) {
            (Ok(observation), _) => {
                let snapshot_id = observation.write(connection, place.row.id, None, now)?;
                Seen::At {
                    snapshot_id,
                    observation,
                }
            }
            (Err(_), failure) => Seen::Failed(failure.unwrap_or_default()),
        };
        let mut written = end_steps(connection, event, decision, &seen, supposed, now)?;
        bind_messages(connection, &session, &root, &seen)?;
        begin(
            connection,
            place,
            event,
            view,
            decision,
            &session,
            &root,
            &seen,
            &named,
            &mut written,
            now,
        )?;
        if written.message.is_none() {
            written.message = current_message(connection, &root)?;
        }
        written.session = Some(session.id.clone());
        touch(connection, place, &session.id, event, now)?;
        run.map(|run| sessions::end_run(connection, run))
            .transpose()?;
        Ok(written)
    })?;
    let observation = observation?;
    Ok(report(event, written, Some(&observation)))
}

/// Notes that a session was heard of, and what the event tells of its agent.
fn touch(
    connection: &Connection,
    place: &Place,
    session: &str,
    event: &Event,
    now: Milliseconds,
) -> Result<()> {
    // Some agents announce a tool only once it may run: where the first one is denied, its wait is all that is heard of it.
    let is_of_tool = matches!(event.event, EventKind::ToolStart | EventKind::ToolWait);
    let tells_of_tools = is_of_tool && place.settings.tool_events;
    sessions::touch_session(connection, session, event, tells_of_tools, now)?;
    if event.event == EventKind::TurnEnd && event.background == Some(false) {
        sessions::release_background(connection, session, now)?;
    }
    Ok(())
}

/// Adds the event's session, and that of its parent, where they are new.
fn ensure_session(
    connection: &Connection,
    place: &Place,
    event: &Event,
    now: Milliseconds,
) -> Result<SessionRow> {
    let cwd = event
        .cwd
        .as_deref()
        .unwrap_or(&place.root)
        .to_string_lossy();
    let parent = match (
        &event.parent_session_id,
        parent_of(connection, event, place.row.id)?,
    ) {
        (Some(parent_id), None) => {
            let parent_event = Event::new(EventKind::SessionStart, &event.agent, parent_id);
            Some(sessions::upsert_session(
                connection,
                place.row.id,
                &parent_event,
                None,
                &cwd,
                now,
            )?)
        }
        (_, parent) => parent,
    };
    let parent_id = parent.as_ref().map(|parent| parent.id.as_str());
    sessions::upsert_session(connection, place.row.id, event, parent_id, &cwd, now)
}

/// Adds the step whose start was never heard of, where it changed something.
fn suppose(
    connection: &Connection,
    session: &SessionRow,
    root: &SessionRow,
    decision: &Decision,
    observation: Option<&Observation>,
    now: Milliseconds,
) -> Result<Option<String>> {
    let Some(supposed) = &decision.supposed else {
        return Ok(None);
    };
    if observation.is_some_and(|observation| observation.changes_of(&supposed.id) == 0) {
        return Ok(None);
    }
    let message_id = message_for_step(connection, session, root, supposed.start, now)?;
    let row = new_step(
        &supposed.id,
        session,
        message_id,
        None,
        supposed.start,
        None,
    );
    sessions::insert_step(connection, &row, now)?;
    Ok(Some(row.id))
}

fn end_steps(
    connection: &Connection,
    event: &Event,
    decision: &Decision,
    seen: &Seen<'_>,
    supposed: Option<String>,
    now: Milliseconds,
) -> Result<Written> {
    let mut written = Written::default();
    for closing in &decision.closing {
        let is_supposed = decision
            .supposed
            .as_ref()
            .is_some_and(|supposed| supposed.id == closing.step);
        if is_supposed && supposed.is_none() {
            continue;
        }
        let agent_id = if closing.recovered && !is_supposed {
            None
        } else {
            event.step_id.as_deref()
        };
        let (finish, why) = (seen.snapshot_id(), seen.failure());
        sessions::close_step(
            connection,
            &closing.step,
            agent_id,
            finish,
            closing.recovered,
            why,
            now,
        )?;
        if let Seen::At { observation, .. } = seen {
            written.changes = Some(observation.changes_of(&closing.step));
        }
        written.step = Some(closing.step.clone());
    }
    Ok(written)
}

/// Messages that were sent while a tool ran begin at the first boundary of their own session.
fn bind_messages(
    connection: &Connection,
    session: &SessionRow,
    root: &SessionRow,
    seen: &Seen<'_>,
) -> Result<()> {
    if session.id == root.id {
        sessions::bind_pending_messages(connection, &root.id, seen.snapshot_id(), seen.failure())?;
    }
    Ok(())
}

#[expect(
    clippy::too_many_arguments,
    reason = "one event's whole context; a struct for one call would only rename it"
)]
fn begin(
    connection: &Connection,
    place: &Place,
    event: &Event,
    view: &View,
    decision: &Decision,
    session: &SessionRow,
    root: &SessionRow,
    seen: &Seen<'_>,
    named: &[StepPath],
    written: &mut Written,
    now: Milliseconds,
) -> Result<()> {
    match decision.action {
        Action::Message => {
            written.went_back = crate::revert::went_back(connection, place.row.id, root)?;
            crate::revert::make_permanent(connection, root)?;
            let message = MessageRow {
                snapshot_id: seen.snapshot_id(),
                unprotected: seen.failure().map(str::to_owned),
                ..new_message(connection, event, root, &place.settings)?
            };
            sessions::insert_message(connection, &message, now)?;
            written.message = Some(message.id);
        }
        Action::OpenStep => {
            let message_id = message_for_step(connection, session, root, seen.snapshot_id(), now)?;
            let row = new_step(
                &crate::sessions::new_id(),
                session,
                message_id,
                event
                    .step_id
                    .clone()
                    .filter(|_| event.event == EventKind::StepStart),
                seen.snapshot_id(),
                seen.failure(),
            );
            sessions::insert_step(connection, &row, now)?;
            if event.event == EventKind::ToolStart {
                add_tool(connection, place, event, Some(&row.id), named, now)?;
            }
            written.message = Some(row.message_id);
            written.step = Some(row.id);
        }
        Action::MoveStart => {
            if let Some(step) = view.own_step() {
                sessions::move_step_start(
                    connection,
                    &step.row.id,
                    seen.snapshot_id(),
                    seen.failure(),
                    now,
                )?;
                add_tool(connection, place, event, Some(&step.row.id), named, now)?;
                written.step = Some(step.row.id.clone());
            }
        }
        Action::Close
        | Action::Note
        | Action::SteeredMessage
        | Action::AddTool
        | Action::WaitTool
        | Action::EndTool => {}
    }
    Ok(())
}

fn add_tool(
    connection: &Connection,
    place: &Place,
    event: &Event,
    step: Option<&str>,
    named: &[StepPath],
    now: Milliseconds,
) -> Result<()> {
    let Some(step) = step else { return Ok(()) };
    let paths: Vec<_> = event
        .paths
        .iter()
        .filter_map(|path| place.path_of(path))
        .collect();
    sessions::insert_tool(connection, step, event, &paths, now)?;
    named
        .iter()
        .try_for_each(|named| sessions::insert_step_path(connection, step, named))
}

/// Returns the files that an edit tool is about to touch, with what they are where an ignore rule hides them.
fn named_paths(store: &Store, place: &Place, event: &Event, view: &View) -> Result<Vec<StepPath>> {
    if event.event != EventKind::ToolStart || event.paths.is_empty() {
        return Ok(Vec::new());
    }
    let snapshots = place.snapshots()?;
    let named_before = |path| {
        view.own_step()
            .is_some_and(|step| step.paths.iter().any(|named| named.path == path))
    };
    let paths = event
        .paths
        .iter()
        .filter_map(|path| place.path_of(path))
        .filter(|path| !named_before(path.clone()));
    paths
        .map(|path| {
            let is_hidden = place.hides(store, &snapshots, &path)?;
            let hidden_before = if is_hidden {
                Some(snapshots.capture(&place.root, &path)?)
            } else {
                None
            };
            Ok(StepPath {
                path,
                hidden_before,
            })
        })
        .collect()
}

/// Returns the message that a step which begins now belongs to; one without words where the session has none yet.
fn message_for_step(
    connection: &Connection,
    session: &SessionRow,
    root: &SessionRow,
    start: Option<i64>,
    now: Milliseconds,
) -> Result<String> {
    if let Some(message_id) = message_of_sub_agent(connection, session, root)? {
        return Ok(message_id);
    }
    if let Some(message) = sessions::newest_message(connection, &root.id, true)? {
        return Ok(message.id);
    }
    let message = MessageRow {
        seq: 0,
        id: crate::sessions::new_id(),
        session_id: root.id.clone(),
        agent_id: None,
        turn_id: None,
        prompt: None,
        state: MessageState::Live,
        snapshot_id: start,
        pending: false,
        unprotected: None,
    };
    sessions::insert_message(connection, &message, now)?;
    Ok(message.id)
}

/// A sub-agent's steps belong to the message in which it was started, even if they end after the next one.
fn message_of_sub_agent(
    connection: &Connection,
    session: &SessionRow,
    root: &SessionRow,
) -> Result<Option<String>> {
    if session.id == root.id {
        return Ok(None);
    }
    let rests = [
        EventKind::SessionStart,
        EventKind::TurnEnd,
        EventKind::SessionEnd,
    ]
    .map(EventKind::name);
    if session
        .last_event
        .as_deref()
        .is_none_or(|event| rests.contains(&event))
    {
        return Ok(None);
    }
    Ok(sessions::newest_step(connection, &session.id)?.map(|step| step.message_id))
}

fn current_message(connection: &Connection, root: &SessionRow) -> Result<Option<String>> {
    Ok(sessions::newest_message(connection, &root.id, false)?.map(|message| message.id))
}

fn new_step(
    id: &str,
    session: &SessionRow,
    message_id: String,
    agent_id: Option<String>,
    start: Option<i64>,
    unprotected: Option<&str>,
) -> StepRow {
    StepRow {
        seq: 0,
        id: id.to_owned(),
        session_id: session.id.clone(),
        message_id,
        agent_id,
        recovered: false,
        unprotected: unprotected.map(str::to_owned),
        start_snapshot_id: start,
        finish_snapshot_id: None,
    }
}

fn new_message(
    connection: &Connection,
    event: &Event,
    root: &SessionRow,
    settings: &Settings,
) -> Result<MessageRow> {
    Ok(MessageRow {
        seq: 0,
        id: crate::sessions::new_id(),
        session_id: root.id.clone(),
        agent_id: match (&event.message_id, &event.turn_id) {
            (Some(message_id), _) => Some(message_id.clone()),
            (None, Some(turn_id)) => Some(name_in_turn(
                turn_id,
                sessions::messages_of_turn(connection, &root.id, turn_id)?,
            )),
            (None, None) => None,
        },
        turn_id: event.turn_id.clone(),
        prompt: event
            .prompt
            .as_deref()
            .and_then(|prompt| kept_prompt(prompt, settings.record_prompts)),
        state: MessageState::Live,
        snapshot_id: None,
        pending: false,
        unprotected: None,
    })
}

/// A turn's first message goes by the turn's id; those that were sent while the agent worked have a number behind it.
fn name_in_turn(turn_id: &str, before: u64) -> String {
    if before == 0 {
        turn_id.to_owned()
    } else {
        format!("{turn_id}/{}", before + 1)
    }
}

fn kept_prompt(prompt: &str, keep: RecordPrompts) -> Option<String> {
    match keep {
        RecordPrompts::Full => Some(prompt.to_owned()),
        RecordPrompts::Title => Some(
            prompt
                .lines()
                .next()
                .unwrap_or_default()
                .chars()
                .take(80)
                .collect(),
        ),
        RecordPrompts::None => None,
    }
}

fn report(event: &Event, written: Written, observation: Option<&Observation>) -> EventReport {
    EventReport {
        version: VERSION,
        event: Some(event.event.name().to_owned()),
        session: written.session,
        message: written.message,
        step: written.step,
        snapshot: observation.map(|observation| observation.snapshot.tree.to_string()),
        changes: written.changes,
        gaps: observation.map(|observation| observation.gaps.len() as u64),
        went_back: written.went_back,
    }
}
