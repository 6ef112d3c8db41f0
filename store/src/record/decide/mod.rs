//! Decides what an event asks for, from what is known. The decision is a value, made without touching the disk.

mod message;
mod step;
#[cfg(test)]
mod tests;

use ckpt_schema::EventKind;
use ckpt_schema::event::Event;

use super::look::{self, LookScope};
use super::view::EventContext;
pub(super) use step::last_boundary;

use crate::sessions::{COMMAND, OpenStep, SessionRow, ToolRow};
use crate::timeline::evidence::StepStanding;

/// What to do about an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decision {
    /// The event's own action.
    pub action: Action,
    /// The steps that end.
    pub closing: Vec<Closing>,
    /// A step that is inferred because its finish came without its start.
    pub supposed: Option<Supposed>,
    /// Where to look at the workspace for it.
    pub look: LookScope,
}

/// What an event does besides ending steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Action {
    /// Only the time of the event is noted: it is a duplicate, or says nothing new.
    #[default]
    Note,
    /// A message begins now.
    Message,
    /// A message was sent while a tool runs; it begins at the next boundary.
    SteeredMessage,
    /// A message began when the model was given it, and takes over what was done since.
    EarlierMessage,
    /// A step begins now.
    OpenStep,
    /// The open step's first tool is about to run: the step begins only now.
    MoveStart,
    /// Another tool of the open step is about to run.
    AddTool,
    /// A tool of the open step waits for permission.
    WaitTool,
    /// A tool ended.
    EndTool,
    /// A tool ended of which the start was lost, and with it that of its step: both are as old as the last boundary.
    RecoverStep,
    /// Steps end, and nothing else.
    Close,
}

/// A step that ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Closing {
    pub step: String,
    /// Whether something other than its own finish ends it.
    pub recovered: bool,
    /// What the way it ends says about its tools.
    pub standing: StepStanding,
}

/// What ends a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EndedBy {
    /// Its own finish, or the end of its turn.
    Itself,
    /// Anything else: its own end was never reported.
    Another,
}

/// A step whose start was never reported. It begins at the session's last boundary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Supposed {
    pub id: String,
    pub start: Option<i64>,
}

impl Decision {
    /// Ends the steps of other conversations whose agent is gone. Nothing else would end them.
    pub fn close_dead(&mut self, view: &EventContext, is_dead: impl Fn(&OpenStep) -> bool) {
        let own = view.root.as_ref().map(|root| root.id.as_str());
        let others = view
            .open
            .iter()
            .filter(|step| Some(step.root_session_id.as_str()) != own);
        let dead = others.filter(|step| is_dead(step));
        let ends: Vec<_> = dead
            .map(|step| closing(step, EndedBy::Another, StepStanding::Cut))
            .collect();
        // Everywhere, because the last work of the dead agent was not reported.
        if !ends.is_empty() {
            self.look = LookScope::Everywhere;
        }
        // The steps that the event itself ends come last, because the report is about the last one.
        self.closing.splice(0..0, ends);
    }

    /// Returns whether it needs a look at the workspace.
    pub fn takes_snapshot(&self) -> bool {
        self.look != LookScope::Nowhere
    }

    /// Returns whether a message or a step begins or ends with it.
    pub fn is_boundary(&self) -> bool {
        match self.action {
            Action::Message | Action::OpenStep | Action::MoveStart | Action::Close => true,
            Action::Note
            | Action::SteeredMessage
            | Action::EarlierMessage
            | Action::AddTool
            | Action::WaitTool
            | Action::EndTool
            | Action::RecoverStep => false,
        }
    }
}

/// Decides what an event asks for.
pub(crate) fn decide(event: &Event, view: &EventContext) -> Decision {
    let decision = what_happens(event, view);
    Decision {
        look: look::look(event, view, &decision),
        ..decision
    }
}

fn what_happens(event: &Event, view: &EventContext) -> Decision {
    if event.is_command || is_of_command(event, view) {
        return Decision::default();
    }
    if let Some(decision) = interrupted_by_command(event, view) {
        return decision;
    }
    match event.event {
        // A session that is resumed was killed or left in the middle of this step, and nothing reported how it
        // ended.
        EventKind::SessionStart => close(own(view, EndedBy::Another, StepStanding::Cut)),
        EventKind::UserMessage => message::begin(event, view),
        EventKind::StepStart => step::start(event, view),
        EventKind::ToolStart => step::tool_start(event, view),
        EventKind::ToolWait => Decision {
            action: Action::WaitTool,
            ..Decision::default()
        },
        EventKind::ToolFinish => step::tool_finish(view),
        EventKind::StepFinish => step::finish(event, view),
        // This ends only the agent's own step: Claude Code and Qwen Code send `Stop` while background sub-agents
        // still work.
        EventKind::TurnEnd => {
            let tells_of_starts = view.own_step().is_some_and(|step| step.tool_events);
            let standing = match event.has_told_of_ends && !tells_of_starts {
                true => StepStanding::Answered,
                false => StepStanding::TurnEnded,
            };
            close(own(view, EndedBy::Itself, standing))
        }
        EventKind::SessionEnd => close(with_children(view)),
    }
}

/// Returns whether nothing was heard of a session since its user typed one of our own commands.
pub(super) fn is_after_command(session: Option<&SessionRow>) -> bool {
    session.and_then(|session| session.last_event.as_deref()) == Some(COMMAND)
}

/// Returns whether the model is only called to run one of our own commands, or has run it. That is no step: what its user
/// changes meanwhile would be the agent's. If the command was typed in the middle of the agent's work, the next tool
/// begins a step; the work of an agent that tells of no tools must not be lost.
fn is_of_command(event: &Event, view: &EventContext) -> bool {
    let (session, root) = (view.session.as_ref(), view.root.as_ref());
    let tells = session.is_some_and(|session| session.tool_events);
    let is_step = matches!(event.event, EventKind::StepStart | EventKind::StepFinish);
    let is_first = view.message.is_none() && is_after_command(root);
    let is_later = tells && is_after_command(session);
    is_step && view.own_step().is_none() && (is_first || is_later)
}

/// Ends what is open of the turn before one of our own commands, with the first event of the command's turn. Had a tool of
/// it not been interrupted, its end would have been reported before the command ran.
fn interrupted_by_command(event: &Event, view: &EventContext) -> Option<Decision> {
    let own = view
        .own_step()
        .filter(|_| is_after_command(view.session.as_ref()))?;
    let names_it = |tool: &ToolRow| {
        let named = event.tools.iter().map(|tool| &tool.tool_use_id);
        let mut named = named.chain(&event.tool_use_id).map(Some);
        named.any(|id| id == tool.agent_id.as_ref())
    };
    let is_of_it = event.step_id.is_some() && event.step_id == own.row.agent_id
        || own.tools.iter().any(names_it);
    let ends = match event.event {
        EventKind::TurnEnd | EventKind::StepStart => true,
        EventKind::StepFinish | EventKind::ToolStart | EventKind::ToolWait => {
            own.has_running && !is_of_it
        }
        // Without an id, it may be the end of the tool that runs.
        EventKind::ToolFinish => own.has_running && !is_of_it && event.tool_use_id.is_some(),
        EventKind::SessionStart | EventKind::UserMessage | EventKind::SessionEnd => false,
    };
    let cut = close(vec![closing(own, EndedBy::Another, StepStanding::Cut)]);
    ends.then_some(match event.event {
        // The tool is the first of a step of its own.
        EventKind::ToolStart => begins(cut),
        // The agent may tell of no tools: then it may be at work, and not only run the command.
        EventKind::StepStart if !own.tool_events => begins(cut),
        _ => cut,
    })
}

/// Has a step begin with what a decision closes.
fn begins(decision: Decision) -> Decision {
    Decision {
        action: Action::OpenStep,
        ..decision
    }
}

fn close(closing: Vec<Closing>) -> Decision {
    let action = if closing.is_empty() {
        Action::Note
    } else {
        Action::Close
    };
    Decision {
        action,
        closing,
        ..Decision::default()
    }
}

fn own(view: &EventContext, by: EndedBy, standing: StepStanding) -> Vec<Closing> {
    view.own_step()
        .map(|step| closing(step, by, standing))
        .into_iter()
        .collect()
}

fn closing(step: &OpenStep, by: EndedBy, standing: StepStanding) -> Closing {
    Closing {
        step: step.row.id.clone(),
        // A start that was lost stays lost, however the step ends.
        recovered: by == EndedBy::Another || step.row.recovered,
        standing,
    }
}

/// A turn that ends well leaves its background sub-agents at work. An interrupted turn ends them, too.
fn with_children(view: &EventContext) -> Vec<Closing> {
    let mut ending = own(view, EndedBy::Another, StepStanding::Cut);
    if !ending.is_empty() {
        let children = view.steps_of_children();
        ending.extend(children.map(|step| closing(step, EndedBy::Another, StepStanding::Cut)));
    }
    ending
}
