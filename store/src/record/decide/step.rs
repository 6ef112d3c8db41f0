//! Decides what begins and ends a step.

use ckpt_schema::event::{Event, ToolKind};

use super::{Action, Closing, Decision, EndedBy, Supposed, close, closing};
use crate::record::view::EventContext;
use crate::sessions::new_id;
use crate::timeline::evidence::StepStanding;

/// Decides what a step's start asks for. It ends a step that is still open, but a second start of the same step says
/// nothing.
pub(super) fn start(event: &Event, view: &EventContext) -> Decision {
    let Some(open) = view.own_step() else {
        return Decision {
            action: Action::OpenStep,
            ..Decision::default()
        };
    };
    // Ending the step here and opening it again would give what it has changed so far to a step of its own.
    if event.step_id.is_some() && event.step_id == open.row.agent_id {
        return Decision::default();
    }
    let standing = match view.is_own_abandoned() {
        true => StepStanding::Cut,
        false => StepStanding::Finished,
    };
    Decision {
        action: Action::OpenStep,
        closing: vec![closing(open, EndedBy::Another, standing)],
        ..Decision::default()
    }
}

/// Decides what the start of a tool asks for. Before a step's first tool, the model was only thinking. A tool that only
/// reads needs no boundary.
pub(super) fn tool_start(event: &Event, view: &EventContext) -> Decision {
    let only_reads = event.tool_kind == Some(ToolKind::Read);
    let action = match view.own_step() {
        // The agent reports no steps, or the step's start was lost. The tool shows that one is under way.
        None => Action::OpenStep,
        Some(step) if !step.has_tools && !only_reads => Action::MoveStart,
        Some(_) => Action::AddTool,
    };
    Decision {
        action,
        ..Decision::default()
    }
}

/// Decides what the end of a tool asks for. If no step is open and the tool is not known, its start was lost.
pub(super) fn tool_finish(view: &EventContext) -> Decision {
    let action = match (view.own_step(), &view.unheard) {
        (None, Some(unheard)) if !unheard.tools.is_empty() => Action::RecoverStep,
        _ => Action::EndTool,
    };
    Decision {
        action,
        ..Decision::default()
    }
}

/// Decides what a finish asks for. A finish that names a tool comes from an agent that reports only tools; it does not
/// end the step while another tool runs.
pub(super) fn finish(event: &Event, view: &EventContext) -> Decision {
    let unheard = view.unheard.as_ref();
    let is_heard = unheard.map(|unheard| unheard.tools.is_empty());
    if let Some(open) = view.own_step() {
        // A finish that was delivered late, or twice, names the step before. It must not end the one that is open
        // now.
        let another = event.step_id.is_some()
            && open.row.agent_id.is_some()
            && event.step_id != open.row.agent_id;
        let doubled = another && view.named_step.is_some();
        // Of tools side by side, each end may come as the finish of a step. Only the last of them is the end.
        let early = event.tool_use_id.is_some() && open.has_running;
        return if doubled || early {
            Decision::default()
        } else {
            // A tool of it was not heard of, so more of its events may be lost.
            let by = match is_heard {
                Some(false) => EndedBy::Another,
                Some(true) | None => EndedBy::Itself,
            };
            close(vec![closing(open, by, StepStanding::Finished)])
        };
    }
    // Every tool that it names was recorded, or only read. If it names none, it may still be a duplicate.
    let is_doubled = is_heard.unwrap_or_else(|| is_doubled_finish(view));
    // In an unknown session there is no boundary from which an inferred step could begin.
    if view.named_step.is_some() || view.session.is_none() || is_doubled {
        return Decision::default();
    }
    // The start was lost. Recording the finish alone would call the agent's changes the user's, and a revert
    // would keep them.
    let id = new_id();
    let supposed = Supposed {
        id: id.clone(),
        start: last_boundary(view),
    };
    Decision {
        action: Action::Close,
        closing: vec![Closing {
            step: id,
            recovered: true,
            standing: StepStanding::Finished,
        }],
        supposed: Some(supposed),
        ..Decision::default()
    }
}

/// Returns whether a finish is a duplicate. An agent that reported the start of this message's last step reports every
/// start, so a finish without one was reported before. A step inferred for it would attribute the user's changes to the
/// agent.
fn is_doubled_finish(view: &EventContext) -> bool {
    let of_message = |message_id: &str| {
        view.bound_message
            .as_ref()
            .is_none_or(|message| message.id == message_id)
    };
    view.last_step
        .as_ref()
        .is_some_and(|step| !step.recovered && of_message(&step.message_id))
}

/// Returns the session's last boundary: its newest message, or the end of the last step after it.
pub(in crate::record) fn last_boundary(view: &EventContext) -> Option<i64> {
    let message = view.bound_message.as_ref();
    let step = view.last_step.as_ref();
    let step_is_newer =
        step.is_some_and(|step| message.is_none_or(|message| step.message_id == message.id));
    if step_is_newer {
        step.and_then(|step| step.finish_snapshot_id)
    } else {
        message.and_then(|message| message.snapshot_id)
    }
}
