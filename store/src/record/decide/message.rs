//! Decides whether a user message is a new one, and when it begins.

use ckpt_schema::EventKind;
use ckpt_schema::event::Event;

use super::{Action, Decision, with_children};
use crate::model::Milliseconds;
use crate::record::view::EventContext;
use crate::timeline::evidence::SILENCE;

/// Two hook calls for one message are at most this far apart. No person types the same message again that fast.
const REPEAT_INTERVAL: Milliseconds = 500;

/// Decides what a user message asks for: to begin now, to begin at the next boundary, or nothing.
pub(super) fn begin(event: &Event, view: &EventContext) -> Decision {
    if is_of_sub_agent(event, view) || is_doubled_message(event, view) {
        return Decision::default();
    }
    if is_told_late(event, view) {
        return Decision {
            action: Action::EarlierMessage,
            ..Decision::default()
        };
    }
    if is_steered(event, view) {
        return Decision {
            action: Action::SteeredMessage,
            ..Decision::default()
        };
    }
    Decision {
        // An agent sends nothing on Esc, so the next message is often the first sign that the step before it is
        // over.
        action: Action::Message,
        closing: with_children(view),
        ..Decision::default()
    }
}

/// Returns whether a sub-agent was prompted: that is not a message of the user. Some agents name the parent only at the
/// session's start.
fn is_of_sub_agent(event: &Event, view: &EventContext) -> bool {
    let session = view.session.as_ref();
    event.parent_session_id.is_some() || session.is_some_and(|session| session.parent_id.is_some())
}

/// Returns whether a message was reported before. A message id identifies one message. A turn id may cover several:
/// only the same words again, with nothing in between, are the same message. An agent without either that reports a
/// message twice does so at once. An agent that does not report the prompt has one message per turn; the next one
/// comes after the turn's end, or from another process after the death of the one before, or long after, when the
/// agent begins anew.
fn is_doubled_message(event: &Event, view: &EventContext) -> bool {
    if event.message_id.is_some() {
        return view.named_message.is_some();
    }
    let last_event = view
        .session
        .as_ref()
        .and_then(|session| session.last_event.as_deref());
    // Without a prompt there are no words to compare. A turn id alone is no proof either: Claude Code, Codex
    // and Qwen Code give a message that is typed while they work the id of the running turn.
    if event.turn_id.is_some() && event.prompt.is_none() {
        let is_new = has_turn_ended(last_event) || view.is_own_dead || is_anew(event, view);
        return is_same_turn(event, view) && !is_new;
    }
    let is_at_once = event.prompt.is_some() && view.since_last < REPEAT_INTERVAL;
    // If the agent does not report the start of tools, the message's own step begins with it.
    let begins_step = event.turn_id.is_none() && last_event == Some(EventKind::StepStart.name());
    (event.turn_id.is_some() || is_at_once)
        && (begins_step || last_event == Some(EventKind::UserMessage.name()))
        && view.message.as_ref().is_some_and(|message| {
            message.turn_id == event.turn_id && message.prompt == event.prompt
        })
}

/// Returns whether the model was given a message before the agent tells of it: with the step that is open, or one
/// before. What went back in between is not to come again with it, so then it begins now.
fn is_told_late(event: &Event, view: &EventContext) -> bool {
    let root = view.root.as_ref();
    let is_reverted = root.is_some_and(|root| root.revert_base_id.is_some());
    event.given_at.is_some() && view.own_step().is_some() && !is_reverted
}

/// Returns whether a message was sent while a tool of the same turn runs. The model has not seen it yet, so what the
/// tool still does belongs to the old message. An agent that was killed and resumed runs that tool no more: its end
/// would never be reported, and what the user did in between would count as its work.
fn is_steered(event: &Event, view: &EventContext) -> bool {
    is_same_turn(event, view)
        && !view.is_own_dead
        && !is_anew(event, view)
        && view.own_step().is_some_and(|step| step.has_running)
}

/// Returns whether the agent began to work again, though the end of what it did before was never reported. The hook of
/// a message for which no agent waits may come after the first tool, but not as late.
fn is_anew(event: &Event, view: &EventContext) -> bool {
    event.begins_anew && view.since_last >= SILENCE
}

fn is_same_turn(event: &Event, view: &EventContext) -> bool {
    let message = view.message.as_ref();
    event.turn_id.is_some() && message.is_some_and(|message| message.turn_id == event.turn_id)
}

fn has_turn_ended(last_event: Option<&str>) -> bool {
    let ends = [EventKind::TurnEnd, EventKind::SessionEnd];
    ends.iter().any(|end| last_event == Some(end.name()))
}
