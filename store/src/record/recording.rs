//! What an event does to the rows: one function per action, over what is known while they are written.

use ckpt_schema::EventKind;
use ckpt_schema::event::Event;
use ckpt_schema::report::FileReport;
use rusqlite::Connection;

use super::decide::{self, Action, Decision};
use super::known_event::KnownEvent;
use super::new_rows::{ensure_session, kept_command, message_for_step, new_message, new_step};
use super::view::EventContext;
use crate::error::Result;
use crate::model::Milliseconds;
use crate::model::path::WorkspacePath;
use crate::sessions::{self, NewMessage, OpenStep, SessionRow, StepPath, StepRow, Whole, new_id};
use crate::timeline::evidence::Doubt;
use crate::timeline::{Look, Place};

/// What an event did, for its report.
#[derive(Default)]
pub(super) struct EventOutcome {
    pub session: Option<String>,
    pub message: Option<String>,
    pub step: Option<String>,
    pub changes: Option<u64>,
    pub went_back: Vec<FileReport>,
    pub operation: Option<String>,
}

/// The workspace as it was seen, or why it could not be.
pub(super) enum Seen<'a> {
    At {
        snapshot_id: i64,
        look: &'a Look,
    },
    /// No look was needed: the last one counts.
    AsBefore(Option<i64>),
    Failed(String),
}

impl Seen<'_> {
    fn snapshot_id(&self) -> Option<i64> {
        match self {
            Self::At { snapshot_id, .. } => Some(*snapshot_id),
            Self::AsBefore(snapshot_id) => *snapshot_id,
            Self::Failed(_) => None,
        }
    }

    /// Returns why the workspace could not be looked at, if so.
    pub fn failure(&self) -> Option<&str> {
        match self {
            Self::At { .. } | Self::AsBefore(_) => None,
            Self::Failed(why) => Some(why),
        }
    }
}

/// An event while its rows are written.
pub(super) struct Recording<'a> {
    connection: &'a Connection,
    place: &'a Place,
    event: &'a Event,
    view: &'a EventContext,
    /// The files that its tool names.
    named: &'a [StepPath],
    now: Milliseconds,
    /// When the look at the workspace began, if there was one.
    pub looked_from: Option<Milliseconds>,
    /// What its rows are parts of, in a further root.
    whole: Option<&'a Whole>,
    session: SessionRow,
    /// The session at the top of its line of parents.
    root: SessionRow,
    written: EventOutcome,
}

impl<'a> Recording<'a> {
    /// Begins with the row of the event's session, which is added if it is new.
    pub fn of(
        connection: &'a Connection,
        known: &'a KnownEvent<'_>,
        named: &'a [StepPath],
        now: Milliseconds,
    ) -> Result<Self> {
        let KnownEvent {
            place,
            event,
            view,
            whole,
            parent_elsewhere,
            ..
        } = known;
        let elsewhere = parent_elsewhere.as_deref();
        let session = ensure_session(connection, place, event, elsewhere, now)?;
        if let Some(whole) = whole
            && session.part_of.is_none()
        {
            sessions::note_part(connection, &session, &whole.session)?;
        }
        let root = sessions::root_of(connection, &session)?;
        Ok(Self {
            connection,
            place,
            event,
            view,
            named,
            now,
            looked_from: None,
            whole: *whole,
            session,
            root,
            written: EventOutcome::default(),
        })
    }

    /// Does what the event does besides ending steps.
    pub fn act(&mut self, action: Action, seen: &Seen<'_>) -> Result<()> {
        let is_over = self.event.event == EventKind::TurnEnd;
        if is_over && decide::is_after_command(Some(&self.session)) {
            let since = self.session.last_event_at;
            self.written.operation =
                sessions::newest_operation_since(self.connection, &self.root.id, since)?;
        }
        match action {
            Action::Message => self.begin_message(seen),
            Action::SteeredMessage => self.steer_message(),
            Action::EarlierMessage => self.begin_message_earlier(),
            Action::OpenStep => self.open_step(seen),
            Action::MoveStart => self.move_start(seen),
            Action::AddTool => self.add_tool(),
            Action::WaitTool => self.wait_tool(),
            Action::EndTool => self.end_tool(),
            Action::RecoverStep => self.recover_step(),
            Action::Close | Action::Note => Ok(()),
        }
    }

    /// A message begins now; what was reverted before it stays reverted.
    fn begin_message(&mut self, seen: &Seen<'_>) -> Result<()> {
        let agent_id = &self.event.session_id;
        // Asked before the revert becomes permanent: this message is the one that tells the agent about it.
        self.written.went_back =
            crate::revert::went_back(self.connection, self.place.row.id, &self.root, agent_id)?;
        if self.root.has_left {
            sessions::resolve_conversation(self.connection, &self.root, agent_id)?;
        }
        crate::revert::make_permanent(self.connection, &self.root)?;
        self.add_message(NewMessage {
            snapshot_id: seen.snapshot_id(),
            unprotected: seen.failure().map(str::to_owned),
            ..self.new_message()?
        })
    }

    /// A message was sent while a tool runs. It begins at the next boundary, and has no snapshot until then.
    fn steer_message(&mut self) -> Result<()> {
        self.add_message(NewMessage {
            pending: true,
            ..self.new_message()?
        })
    }

    /// A message that the agent tells of only now. It begins with the step that was open when the model was given it,
    /// and that step and those after it are its. One that is older than all that is known of the newest message was
    /// recorded before, or came before the hook.
    fn begin_message_earlier(&mut self) -> Result<()> {
        let newest = sessions::newest_begun_message(self.connection, &self.root.id)?;
        let (Some(newest), Some(given_at)) = (newest, self.event.given_at) else {
            return Ok(());
        };
        let open = sessions::step_at(self.connection, &self.session.id, &newest.id, given_at)?;
        let Some((step, started_at)) = open else {
            return Ok(());
        };
        let message = NewMessage {
            snapshot_id: step.start_snapshot_id,
            unprotected: step
                .unprotected
                .filter(|_| step.start_snapshot_id.is_none()),
            ..self.new_message()?
        };
        // The message's row comes first: the steps that are handed over to it refer to it.
        sessions::insert_message(self.connection, &message, started_at)?;
        sessions::hand_over_steps(self.connection, &newest.id, &step.id, &message.id)?;
        self.written.message = Some(message.id);
        Ok(())
    }

    fn add_message(&mut self, message: NewMessage) -> Result<()> {
        sessions::insert_message(self.connection, &message, self.now)?;
        if let Some(whole) = self.whole.and_then(|whole| whole.message.as_deref()) {
            sessions::note_part_of(self.connection, "messages", &message.id, whole)?;
        }
        self.written.message = Some(message.id);
        Ok(())
    }

    /// A step begins now, with the tool that is about to run if a tool begins it.
    fn open_step(&mut self, seen: &Seen<'_>) -> Result<()> {
        let start = seen.snapshot_id();
        let message_id =
            message_for_step(self.connection, &self.session, &self.root, start, self.now)?;
        // The id of a tool's event is the tool's, not the step's.
        let agent_id = self.event.step_id.clone();
        let row = StepRow {
            agent_id: agent_id.filter(|_| self.event.event == EventKind::StepStart),
            unprotected: seen.failure().map(str::to_owned),
            ..new_step(self.new_id("steps")?, &self.session, message_id, start)
        };
        // An agent that reports only the ends of its tools does not wait for the look: another tool of it may write
        // meanwhile, and what the look did not see is in no step before this one.
        let is_waited_for = !self.event.at_once || self.session.tool_events;
        let looked_from = self.looked_from.filter(|_| !is_waited_for);
        let started_at = looked_from.unwrap_or(self.now);
        sessions::insert_step(self.connection, &row, started_at, None)?;
        if let Some(whole) = self.whole.and_then(|whole| whole.step.as_deref()) {
            sessions::note_part_of(self.connection, "steps", &row.id, whole)?;
        }
        if self.event.event == EventKind::ToolStart {
            self.insert_tool(&row.id, self.event, self.now)?;
        } else {
            self.note_directory(&row.id)?;
        }
        self.written.message = Some(row.message_id);
        self.written.step = Some(row.id);
        Ok(())
    }

    /// Moves the start of a step that has no tool yet to now: the model was only thinking, so what changed meanwhile
    /// was not the agent's.
    pub fn release_thinking(&self) -> Result<()> {
        match self.own_step() {
            Some(step) => sessions::release_to_outside(self.connection, &step.row.id),
            None => Ok(()),
        }
    }

    /// The open step's first tool is about to run: the step begins only now.
    fn move_start(&mut self, seen: &Seen<'_>) -> Result<()> {
        let Some(step) = self.own_step().map(|step| step.row.id.clone()) else {
            return Ok(());
        };
        let (start, why) = (seen.snapshot_id(), seen.failure());
        sessions::move_step_start(self.connection, &step, start, why, self.now)?;
        self.insert_tool(&step, self.event, self.now)?;
        self.written.step = Some(step);
        Ok(())
    }

    /// Another tool of the open step is about to run. Of one that the agent tells twice, only the files are noted.
    fn add_tool(&mut self) -> Result<()> {
        match self.note_own_step() {
            Some(step) if self.is_tool_known() => self.insert_named(&step),
            Some(step) => self.insert_tool(&step, self.event, self.now),
            None => Ok(()),
        }
    }

    /// Returns whether the open step has the tool that the event names.
    fn is_tool_known(&self) -> bool {
        let named = self.event.tool_use_id.as_ref();
        let mut tools = self.own_step().into_iter().flat_map(|step| &step.tools);
        named.is_some() && tools.any(|tool| tool.agent_id.as_ref() == named)
    }

    /// A tool of the open step waits for permission.
    fn wait_tool(&mut self) -> Result<()> {
        match self.note_own_step() {
            Some(step) => sessions::note_wait(self.connection, &step, self.event, self.now),
            None => Ok(()),
        }
    }

    /// A tool of the open step ended. If its start was lost, it began with the step at the earliest; how long it ran
    /// tells more.
    fn end_tool(&mut self) -> Result<()> {
        if let Some(step) = &self.view.overtaken {
            return self.end_overtaken(step);
        }
        let Some(step) = self.note_own_step() else {
            return Ok(());
        };
        if let Some(own) = self.own_step()
            && self.event.tool_use_id.is_some()
            && !self.is_tool_known()
        {
            self.insert_tool(&step, self.event, own.started_at)?;
        }
        sessions::finish_tool(self.connection, &step, self.event, self.now)
    }

    /// A tool ended after its step. The changes that looks in between attributed to no step may be its work.
    fn end_overtaken(&mut self, step: &OpenStep) -> Result<()> {
        let Some(tool) = step.tools.iter().find(|tool| tool.finished_at.is_none()) else {
            return Ok(());
        };
        let reach = |path: &WorkspacePath| tool.paths.is_empty() || tool.paths.contains(path);
        let span = (None, Some(self.now));
        let why = Doubt::Background.to_string();
        sessions::doubt_outside(self.connection, &step.row.id, span, reach, &why)?;
        self.written.step = Some(step.row.id.clone());
        sessions::note_late_end(self.connection, &step.row.id, self.event, self.now)
    }

    /// A tool ended whose start was lost, with that of its step.
    fn recover_step(&mut self) -> Result<()> {
        let Some(unheard) = &self.view.unheard else {
            return Ok(());
        };
        let (start, since) = (decide::last_boundary(self.view), unheard.since);
        let message_id =
            message_for_step(self.connection, &self.session, &self.root, start, self.now)?;
        let row = StepRow {
            recovered: true,
            ..new_step(new_id(), &self.session, message_id, start)
        };
        // As old as what is known of it, and not as old as this event: changes in between are its own.
        sessions::insert_step(self.connection, &row, since, None)?;
        self.insert_tool(&row.id, self.event, since)?;
        sessions::finish_tool(self.connection, &row.id, self.event, self.now)?;
        self.written.message = Some(row.message_id);
        self.written.step = Some(row.id);
        Ok(())
    }

    /// Adds the tools to their step of which only its end told.
    fn insert_unheard(&self, step: &str) -> Result<()> {
        let unheard = self.view.unheard.as_ref();
        let Some(unheard) = unheard.filter(|unheard| !unheard.tools.is_empty()) else {
            return Ok(());
        };
        let reach = |path: &WorkspacePath| unheard.reach(self.place, path);
        let why = Doubt::Unheard.to_string();
        // Rows of earlier looks may call changes of that time outside. The tool may have made them: when it
        // ran is unknown.
        let span = (Some(unheard.since), None);
        sessions::doubt_outside(self.connection, step, span, reach, &why)?;
        unheard.tools.iter().try_for_each(|tool| {
            let tool = tool.clone();
            let event = Event {
                tool_use_id: Some(tool.tool_use_id),
                tool_name: tool.tool_name,
                tool_command: tool.tool_command,
                tool_kind: tool.tool_kind,
                paths: tool.paths,
                ..self.event.clone()
            };
            self.insert_tool(step, &event, unheard.since)
        })
    }

    fn own_step(&self) -> Option<&'a OpenStep> {
        self.view.own_step()
    }

    /// Returns the session's open step, and notes it for the report.
    fn note_own_step(&mut self) -> Option<String> {
        self.written.step = self.own_step().map(|step| step.row.id.clone());
        self.written.step.clone()
    }

    /// Returns the event's directory where it is outside the workspace: no snapshot holds what is changed there.
    fn outside(&self) -> Option<String> {
        let cwd = self.event.cwd.as_deref();
        let outside = cwd.filter(|cwd| !cwd.starts_with(&self.place.root));
        outside.map(|cwd| cwd.to_string_lossy().into_owned())
    }

    /// Notes where a step ran if that is outside the workspace: perhaps no event tells of its tools.
    fn note_directory(&self, step: &str) -> Result<()> {
        match self.outside() {
            Some(directory) => sessions::note_directory(self.connection, step, &directory),
            None => Ok(()),
        }
    }

    fn insert_tool(&self, step: &str, event: &Event, started_at: Milliseconds) -> Result<()> {
        let (mut paths, mut outside) = (Vec::new(), Vec::new());
        for named in &event.paths {
            let named = self.place.named(event.cwd.as_deref(), named);
            paths.extend(named.inside);
            outside.extend(
                named
                    .outside
                    .map(|path| path.to_string_lossy().into_owned()),
            );
        }
        outside.extend(self.outside());
        let command = event.tool_command.as_deref();
        let command =
            command.and_then(|line| kept_command(line, self.place.settings.record_prompts));
        sessions::insert_tool(
            self.connection,
            step,
            event,
            &paths,
            &outside,
            command.as_deref(),
            started_at,
        )?;
        self.insert_named(step)
    }

    /// Notes the files that the event's tool names.
    fn insert_named(&self, step: &str) -> Result<()> {
        self.named
            .iter()
            .try_for_each(|named| sessions::insert_step_path(self.connection, step, named))
    }

    /// Adds the step whose start was never reported, if it changed something. Returns its id.
    pub fn suppose(&self, decision: &Decision, look: Option<&Look>) -> Result<Option<String>> {
        let Some(supposed) = &decision.supposed else {
            return Ok(None);
        };
        // An agent that repeats a finish, or reports one for a step without tools, would otherwise add an empty
        // step each time.
        if look.is_some_and(|look| look.changes_of(&supposed.id) == 0) {
            return Ok(None);
        }
        let start = supposed.start;
        let message_id =
            message_for_step(self.connection, &self.session, &self.root, start, self.now)?;
        let row = new_step(supposed.id.clone(), &self.session, message_id, start);
        let started_at = self.session.last_event_at;
        sessions::insert_step(self.connection, &row, started_at, None)?;
        Ok(Some(row.id))
    }

    /// Ends the steps that the event ends. `supposed` is the inferred step, if one was added.
    pub fn end_steps(
        &mut self,
        decision: &Decision,
        seen: &Seen<'_>,
        supposed: Option<&str>,
    ) -> Result<()> {
        for closing in &decision.closing {
            let is_supposed = decision
                .supposed
                .as_ref()
                .is_some_and(|supposed| supposed.id == closing.step);
            if is_supposed && supposed.is_none() {
                continue;
            }
            let is_finish = self.event.event == EventKind::StepFinish;
            if is_finish {
                self.insert_unheard(&closing.step)?;
                self.note_directory(&closing.step)?;
            }
            // An event that ends a step other than its own does not name that step.
            let is_named = !closing.recovered || is_finish;
            let agent_id = self.event.step_id.as_deref().filter(|_| is_named);
            let end = sessions::StepEnd {
                agent_id,
                snapshot_id: seen.snapshot_id(),
                recovered: closing.recovered,
                unprotected: seen.failure(),
            };
            sessions::close_step(self.connection, &closing.step, end, self.now)?;
            if let Seen::At { look, .. } = seen {
                self.written.changes = Some(look.changes_of(&closing.step));
            }
            self.written.step = Some(closing.step.clone());
        }
        Ok(())
    }

    /// Begins the messages that were sent while a tool ran: this is the next boundary of their session.
    pub fn bind_messages(&self, seen: &Seen<'_>) -> Result<()> {
        // A boundary of a sub-agent is none of the conversation's: the tool that started it still runs.
        if self.session.id != self.root.id {
            return Ok(());
        }
        let (start, why) = (seen.snapshot_id(), seen.failure());
        sessions::bind_pending_messages(self.connection, &self.root.id, start, why)
    }

    /// Notes the time of the event, and what it says about its agent. Where the look failed, the changes before the
    /// event are not in the rows, and a command in the background may still have made them.
    pub fn end(mut self, seen: &Seen<'_>) -> Result<EventOutcome> {
        if self.written.message.is_none() {
            let newest = sessions::newest_message(self.connection, &self.root.id)?;
            self.written.message = newest.map(|message| message.id);
        }
        // Some agents announce a tool only once it may run. If the first one is denied, the wait for permission is all
        // that they report.
        let is_of_tool = matches!(self.event.event, EventKind::ToolStart | EventKind::ToolWait);
        let is_told = is_of_tool || self.event.tells_of_tools;
        sessions::touch_session(
            self.connection,
            &self.session,
            self.event,
            is_told,
            self.now,
        )?;
        let session = self.session.id;
        if seen.failure().is_none() && super::known_event::ends_background(self.event) {
            sessions::release_background(self.connection, &session, self.now)?;
        }
        self.written.session = Some(session);
        Ok(self.written)
    }

    fn new_message(&self) -> Result<NewMessage> {
        let id = self.new_id("messages")?;
        let settings = &self.place.settings;
        let message = new_message(self.connection, self.event, &self.root, settings)?;
        Ok(NewMessage { id, ..message })
    }

    /// Returns an id for a message or a step. That of a part begins with the id of the whole.
    fn new_id(&self, table: &str) -> Result<String> {
        let whole = self.whole.and_then(|whole| match table {
            "steps" => whole.step.as_deref(),
            _ => whole.message.as_deref(),
        });
        let place = self.place.row.id;
        match whole {
            Some(whole) => sessions::part_id(self.connection, table, whole, place),
            None => Ok(new_id()),
        }
    }
}
