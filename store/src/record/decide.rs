//! What an event asks for, from what is known: a value, decided without a disk.

use ckpt_schema::EventKind;
use ckpt_schema::event::Event;

use super::view::View;
use crate::sessions::OpenStep;
use crate::settings::Settings;

/// What is to be done about an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decision {
    /// What the event does.
    pub action: Action,
    /// The steps that end.
    pub closing: Vec<Closing>,
    /// A step whose finish came without its start.
    pub supposed: Option<Supposed>,
}

/// What an event does, beside ending steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Action {
    /// Only that it was heard of is noted: it is doubled, or says nothing new.
    #[default]
    Note,
    /// A message begins now.
    Message,
    /// A message was sent while a tool runs; it begins at the next boundary.
    SteeredMessage,
    /// A step begins now.
    OpenStep,
    /// The open step's first tool is about to run: the step begins only now.
    MoveStart,
    /// Another tool of the open step is about to run.
    AddTool,
    /// A tool ended.
    EndTool,
    /// Steps end, and nothing else.
    Close,
}

/// A step that ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Closing {
    pub step: String,
    /// Whether something else than its own finish ends it.
    pub recovered: bool,
}

/// A step whose start was never heard of: it begins where the session last was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Supposed {
    pub id: String,
    pub start: Option<i64>,
}

impl Decision {
    /// Returns whether the workspace has to be looked at.
    pub fn takes_snapshot(&self) -> bool {
        match self.action {
            Action::Message | Action::OpenStep | Action::MoveStart | Action::Close => true,
            Action::Note | Action::SteeredMessage | Action::AddTool | Action::EndTool => false,
        }
    }
}

/// Decides what an event asks for.
pub(crate) fn decide(event: &Event, view: &View, settings: &Settings) -> Decision {
    match event.event {
        EventKind::SessionStart => close(own(view, true)),
        EventKind::UserMessage => user_message(event, view),
        EventKind::StepStart => step_start(event, view),
        EventKind::ToolStart if settings.tool_events => tool_start(view),
        EventKind::ToolStart => Decision::default(),
        EventKind::ToolFinish => Decision { action: Action::EndTool, ..Decision::default() },
        EventKind::StepFinish => step_finish(event, view),
        EventKind::TurnEnd => close(own(view, false)),
        EventKind::SessionEnd => close(with_children(view)),
    }
}

fn close(closing: Vec<Closing>) -> Decision {
    let action = if closing.is_empty() { Action::Note } else { Action::Close };
    Decision { action, closing, supposed: None }
}

fn own(view: &View, recovered: bool) -> Vec<Closing> {
    view.own_step().map(|step| closing(step, recovered)).into_iter().collect()
}

fn closing(step: &OpenStep, recovered: bool) -> Closing {
    Closing { step: step.row.id.clone(), recovered }
}

/// A turn that ended well leaves its background sub-agents at work; one that was interrupted took them along.
fn with_children(view: &View) -> Vec<Closing> {
    let mut ending = own(view, true);
    if !ending.is_empty() {
        ending.extend(view.steps_of_children().map(|step| closing(step, true)));
    }
    ending
}

fn user_message(event: &Event, view: &View) -> Decision {
    if event.parent_session_id.is_some() || is_doubled_message(event, view) {
        return Decision::default();
    }
    if is_steered(event, view) {
        return Decision { action: Action::SteeredMessage, ..Decision::default() };
    }
    Decision { action: Action::Message, closing: with_children(view), supposed: None }
}

/// A message id is one message's. A turn id may be several messages': the same words again, with nothing in between, are the
/// same message.
fn is_doubled_message(event: &Event, view: &View) -> bool {
    if event.message_id.is_some() {
        return view.named_message.is_some();
    }
    let last_event = view.session.as_ref().and_then(|session| session.last_event.as_deref());
    event.turn_id.is_some()
        && last_event == Some(EventKind::UserMessage.name())
        && view
            .message
            .as_ref()
            .is_some_and(|message| message.turn_id == event.turn_id && message.prompt == event.prompt)
}

/// While a tool of the same turn runs, the model has not seen the message: what the tool still does is the old message's.
fn is_steered(event: &Event, view: &View) -> bool {
    let same_turn =
        event.turn_id.is_some() && view.message.as_ref().is_some_and(|message| message.turn_id == event.turn_id);
    same_turn && view.own_step().is_some_and(|step| step.running > 0)
}

fn step_start(event: &Event, view: &View) -> Decision {
    let Some(open) = view.own_step() else {
        return Decision { action: Action::OpenStep, ..Decision::default() };
    };
    if event.step_id.is_some() && event.step_id == open.row.agent_id {
        return Decision::default();
    }
    Decision { action: Action::OpenStep, closing: vec![closing(open, true)], supposed: None }
}

fn tool_start(view: &View) -> Decision {
    let action = match view.own_step() {
        None => Action::OpenStep,
        Some(step) if step.tools == 0 => Action::MoveStart,
        Some(_) => Action::AddTool,
    };
    Decision { action, ..Decision::default() }
}

fn step_finish(event: &Event, view: &View) -> Decision {
    if let Some(open) = view.own_step() {
        let another = event.step_id.is_some() && open.row.agent_id.is_some() && event.step_id != open.row.agent_id;
        let doubled = another && view.named_step.is_some();
        return if doubled { Decision::default() } else { close(vec![closing(open, false)]) };
    }
    if view.named_step.is_some() || view.session.is_none() {
        return Decision::default();
    }
    let id = crate::new_id();
    let supposed = Supposed { id: id.clone(), start: last_boundary(view) };
    Decision { action: Action::Close, closing: vec![Closing { step: id, recovered: true }], supposed: Some(supposed) }
}

/// Where the session last was: its newest message, or the step after that.
fn last_boundary(view: &View) -> Option<i64> {
    let message = view.bound_message.as_ref();
    let step = view.last_step.as_ref();
    let step_is_newer = step.is_some_and(|step| message.is_none_or(|message| step.message_id == message.id));
    if step_is_newer {
        step.and_then(|step| step.finish_snapshot_id)
    } else {
        message.and_then(|message| message.snapshot_id)
    }
}
