//! What the store knows that matters for an event, read once.

use ckpt_schema::EventKind;
use ckpt_schema::event::Event;
use rusqlite::Connection;

use super::decide::{Action, Decision};
use super::missing_events::UnheardTools;
use crate::error::Result;
use crate::model::Milliseconds;
use crate::model::path::WorkspacePath;
use crate::sessions::{self, MessageRow, OpenStep, SessionRow, StepRow, ToolRow};
use crate::timeline::life::is_dead;
use crate::timeline::{Place, parent_of};

/// What is known when an event comes.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventContext {
    /// The event's session.
    pub session: Option<SessionRow>,
    /// The session at the top of its line of parents.
    pub root: Option<SessionRow>,
    /// The root's newest message, live or not.
    pub message: Option<MessageRow>,
    /// The root's newest live message.
    pub bound_message: Option<MessageRow>,
    /// The message that the event names, if it was recorded before.
    pub named_message: Option<MessageRow>,
    /// The step that the event names, if it was recorded before.
    pub named_step: Option<StepRow>,
    /// The session's newest step, asked where it has no open one.
    pub last_step: Option<StepRow>,
    /// The time since the session's last event.
    pub since_last: Milliseconds,
    /// Every open step of the workspace, in the order in which they started.
    pub open: Vec<OpenStep>,
    /// The files that the event's tool names, or `None` if one of them is outside the workspace.
    pub named: Option<Vec<WorkspacePath>>,
    /// Whether the workspace was looked at before.
    pub was_looked_at: bool,
    /// Whether a message of the conversation waits for its snapshot.
    pub has_pending: bool,
    /// Whether a command of an ended step still runs in the background.
    pub is_in_background: bool,
    /// Whether the process that had the session's open step is gone, asked when a message of a turn comes.
    pub is_own_dead: bool,
    /// The tools that the event says to have run and that no event told of before, without those that only read.
    /// `None` if the event names no tools, or the agent does not report them.
    pub unheard: Option<UnheardTools>,
    /// The ended step of the tool of which the event tells the end. The tool has none if the event tells so first.
    pub overtaken: Option<OpenStep>,
}

impl EventContext {
    /// Reads what is known. Call this in a transaction.
    pub fn read(
        connection: &Connection,
        place: &Place,
        event: &Event,
        now: Milliseconds,
    ) -> Result<Self> {
        let session =
            sessions::find_session(connection, &event.agent, &event.session_id, place.row.id)?;
        // The first event of a sub-agent comes before its row. What is known then is what is known of its parent's
        // conversation.
        let parent = match &session {
            Some(session) => Some(session.clone()),
            None => parent_of(connection, event, place.row.id)?,
        };
        let root = parent
            .map(|session| sessions::root_of(connection, &session))
            .transpose()?;
        let named = named_files(place, event);
        let mut view = Self {
            open: sessions::open_steps(connection, place.row.id)?,
            is_in_background: sessions::has_steps_in_background(connection, place.row.id)?,
            named,
            was_looked_at: place.row.last_snapshot_id.is_some(),
            ..Self::default()
        };
        if let Some(root) = &root {
            view.message = sessions::newest_message(connection, &root.id)?;
            view.has_pending = view.message.as_ref().is_some_and(|message| message.pending);
            view.bound_message = match &view.message {
                Some(message) if message.pending => {
                    sessions::newest_begun_message(connection, &root.id)?
                }
                // A pending message owns no step yet: what the running tool still does belongs to the one before it.
                message => message.clone(),
            };
            if let Some(id) = &event.message_id {
                view.named_message = sessions::find_message_by_agent_id(connection, &root.id, id)?;
            }
        }
        if let Some(session) = &session {
            view.since_last = now - session.last_event_at;
            let has_open = view
                .open
                .iter()
                .any(|step| step.row.session_id == session.id);
            if !has_open {
                view.last_step = sessions::newest_step(connection, &session.id)?;
            }
            if let Some(id) = &event.step_id {
                view.named_step = sessions::find_step_by_agent_id(connection, &session.id, id)?;
            }
        }
        let mut view = Self {
            session,
            root,
            ..view
        };
        view.look_for_unheard(connection, place, event)?;
        view.look_for_overtaken(connection, event)?;
        Ok(view.asking_for_life(event, now))
    }

    /// Finds the tools of which the events were lost. Those of an open step become its own.
    fn look_for_unheard(
        &mut self,
        connection: &Connection,
        place: &Place,
        event: &Event,
    ) -> Result<()> {
        let Some(session) = &self.session else {
            return Ok(());
        };
        let own = self.own_step();
        let unheard = UnheardTools::of(connection, event, session, own)?;
        let id = own.map(|step| step.row.id.clone());
        if let Some(unheard) = unheard.as_ref().filter(|unheard| !unheard.tools.is_empty())
            && event.event == EventKind::StepFinish
            && let Some(own) = self
                .open
                .iter_mut()
                .find(|step| Some(&step.row.id) == id.as_ref())
        {
            own.tools.extend(unheard.rows(place));
            own.has_tools = true;
        }
        self.unheard = unheard;
        Ok(())
    }

    /// Finds the step of a tool that ended only now, though the step had ended: by itself, or because it was cut off.
    fn look_for_overtaken(&mut self, connection: &Connection, event: &Event) -> Result<()> {
        let (Some(session), Some(id)) = (&self.session, &event.tool_use_id) else {
            return Ok(());
        };
        let is_it = |tool: &ToolRow| tool.agent_id.as_ref() == Some(id);
        let is_own = self
            .own_step()
            .is_some_and(|own| own.tools.iter().any(is_it));
        if event.event != EventKind::ToolFinish || is_own {
            return Ok(());
        }
        self.overtaken = sessions::ended_step_of_tool(connection, &session.id, id)?;
        Ok(())
    }

    /// Asks whether the agent of the session's open step is gone. Only a message needs to know it, so no tool has to
    /// wait for the question.
    fn asking_for_life(self, event: &Event, now: Milliseconds) -> Self {
        Self {
            is_own_dead: event.event == EventKind::UserMessage
                && event.turn_id.is_some()
                && self.own_step().is_some_and(dead_at(now)),
            ..self
        }
    }

    /// Returns whether the process of the event's agent is not known for certain, and the event may tell it.
    pub fn lacks_process(&self, event: &Event) -> bool {
        let begins = matches!(event.event, EventKind::StepStart | EventKind::ToolStart);
        let mut session = self.session.iter();
        begins && event.process.is_none() && session.any(|session| session.process_seen < 2)
    }

    /// Returns the open step of the event's own session.
    pub fn own_step(&self) -> Option<&OpenStep> {
        let session = self.session.as_ref()?;
        self.open
            .iter()
            // The newest, if a lost event left several open.
            .rev()
            .find(|step| step.row.session_id == session.id)
    }

    /// Returns whether a message came while a tool of the session's open step counted as running, and no end of that
    /// tool was reported. If the agent calls the model now, the tool ended before the message, or its end was lost.
    pub fn is_own_abandoned(&self) -> bool {
        let ids = [&self.session, &self.root].map(|session| session.as_ref().map(|one| &one.id));
        self.has_pending && ids[0] == ids[1] && self.own_step().is_some_and(|step| step.has_running)
    }

    /// Returns the open steps of the sub-agents below the event's session.
    pub fn steps_of_children(&self) -> impl Iterator<Item = &OpenStep> {
        let id = self.session.as_ref().map(|session| session.id.as_str());
        self.open.iter().filter(move |step| {
            Some(step.root_session_id.as_str()) == id && Some(step.row.session_id.as_str()) != id
        })
    }

    /// Returns the open steps as the decision sees them: with the step that it infers for a start that was never
    /// reported, and with what it knows about the event's own step.
    pub fn open_with(&self, decision: &Decision, place: &Place) -> Vec<OpenStep> {
        let mut open = self.open.clone();
        if decision.action == Action::OpenStep
            && self.is_own_abandoned()
            && let Some(own) = self.own_step().map(|step| step.row.id.clone())
        {
            // The message was a sign of the user's life, not of the agent's.
            open.iter_mut()
                .filter(|step| step.row.id == own)
                .for_each(|step| step.last_event_at = step.last_moment());
        }
        if decision.action == Action::MoveStart
            && let Some(own) = self.own_step().map(|step| step.row.id.clone())
        {
            // Before its first tool, the model was only thinking.
            open.iter_mut()
                .filter(|step| step.row.id == own)
                .for_each(|step| step.tool_events = true);
        }
        if let (Some(supposed), Some(session), Some(root)) =
            (&decision.supposed, &self.session, &self.root)
        {
            let has_ended_tool =
                session.last_event.as_deref() == Some(EventKind::ToolFinish.name());
            let unheard = self.unheard.as_ref();
            let tools = unheard.map_or_else(Vec::new, |unheard| unheard.rows(place));
            open.push(OpenStep {
                row: StepRow {
                    id: supposed.id.clone(),
                    session_id: session.id.clone(),
                    message_id: String::new(),
                    agent_id: None,
                    recovered: true,
                    unprotected: None,
                    start_snapshot_id: supposed.start,
                    finish_snapshot_id: None,
                },
                root_session_id: root.id.clone(),
                last_event_at: session.last_event_at,
                // If the agent reports its tools, those of this step were lost with its start, or none ran: that
                // is unknown. If the end of one was reported, one ran.
                tool_events: session.tool_events && (!has_ended_tool || !tools.is_empty()),
                has_tools: !tools.is_empty(),
                started_at: session.last_event_at,
                tools,
                ..OpenStep::default()
            });
        }
        open
    }
}

/// Returns the files that the event's tool names, or `None` if one of them is outside the workspace.
fn named_files(place: &Place, event: &Event) -> Option<Vec<WorkspacePath>> {
    let mut inside = Vec::new();
    for path in &event.paths {
        let named = place.named(event.cwd.as_deref(), path);
        if named.outside.is_some() {
            return None;
        }
        inside.extend(named.inside);
    }
    Some(inside)
}

/// Returns whether the agent's process that opened a step had ended at a moment.
pub(super) fn dead_at(now: Milliseconds) -> impl Fn(&OpenStep) -> bool {
    move |step| is_dead(&step.life, step.last_event_at, now)
}
