//! What an event asks for, from what is known: a value, decided without a disk.

use ckpt_schema::EventKind;
use ckpt_schema::event::Event;

use super::view::View;
use crate::model::Milliseconds;
use crate::sessions::OpenStep;
use crate::settings::Settings;
use crate::timeline::evidence::Standing;

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
    /// A tool of the open step waits for permission.
    WaitTool,
    /// A tool ended.
    EndTool,
    /// Steps end, and nothing else.
    Close,
}

/// Two calls of hooks for one message are no further apart; nobody types the same message again as fast.
const AT_ONCE: Milliseconds = 500;

/// A step that ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Closing {
    pub step: String,
    /// Whether something else than its own finish ends it.
    pub recovered: bool,
    /// What the way in which it ends says of its tools.
    pub standing: Standing,
}

/// A step whose start was never heard of: it begins where the session last was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Supposed {
    pub id: String,
    pub start: Option<i64>,
}

impl Decision {
    /// Ends the steps of other conversations whose agent is gone: nobody else would, and they hold nothing any more.
    pub fn close_dead(&mut self, view: &View, is_dead: impl Fn(&OpenStep) -> bool) {
        let own = view.root.as_ref().map(|root| root.id.as_str());
        let others = view
            .open
            .iter()
            .filter(|step| Some(step.root_session_id.as_str()) != own);
        let dead = others.filter(|step| is_dead(step));
        let ends = dead.map(|step| closing(step, true, Standing::Cut));
        // Those that end by the event itself come last: the report tells of them.
        self.closing.splice(0..0, ends);
    }

    /// Returns whether the workspace has to be looked at.
    pub fn takes_snapshot(&self) -> bool {
        match self.action {
            Action::Message | Action::OpenStep | Action::MoveStart | Action::Close => true,
            Action::Note
            | Action::SteeredMessage
            | Action::AddTool
            | Action::WaitTool
            | Action::EndTool => false,
        }
    }
}

/// Decides what an event asks for.
pub(crate) fn decide(event: &Event, view: &View, settings: &Settings) -> Decision {
    match event.event {
        EventKind::SessionStart => close(own(view, true, Standing::Cut)),
        EventKind::UserMessage => user_message(event, view),
        EventKind::StepStart => step_start(event, view),
        EventKind::ToolStart if settings.tool_events => tool_start(view),
        EventKind::ToolStart => Decision::default(),
        EventKind::ToolWait => Decision {
            action: Action::WaitTool,
            ..Decision::default()
        },
        EventKind::ToolFinish => Decision {
            action: Action::EndTool,
            ..Decision::default()
        },
        EventKind::StepFinish => step_finish(event, view),
        EventKind::TurnEnd => close(own(view, false, Standing::TurnEnded)),
        EventKind::SessionEnd => close(with_children(view)),
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
        supposed: None,
    }
}

fn own(view: &View, recovered: bool, standing: Standing) -> Vec<Closing> {
    view.own_step()
        .map(|step| closing(step, recovered, standing))
        .into_iter()
        .collect()
}

fn closing(step: &OpenStep, recovered: bool, standing: Standing) -> Closing {
    Closing {
        step: step.row.id.clone(),
        recovered,
        standing,
    }
}

/// A turn that ended well leaves its background sub-agents at work; one that was interrupted took them along.
fn with_children(view: &View) -> Vec<Closing> {
    let mut ending = own(view, true, Standing::Cut);
    if !ending.is_empty() {
        let children = view.steps_of_children();
        ending.extend(children.map(|step| closing(step, true, Standing::Cut)));
    }
    ending
}

fn user_message(event: &Event, view: &View) -> Decision {
    if is_of_sub_agent(event, view) || is_doubled_message(event, view) {
        return Decision::default();
    }
    if is_steered(event, view) {
        return Decision {
            action: Action::SteeredMessage,
            ..Decision::default()
        };
    }
    Decision {
        action: Action::Message,
        closing: with_children(view),
        supposed: None,
    }
}

/// What a sub-agent is told is no message of the user's; some agents say whose it is only where it starts.
fn is_of_sub_agent(event: &Event, view: &View) -> bool {
    let session = view.session.as_ref();
    event.parent_session_id.is_some() || session.is_some_and(|session| session.parent_id.is_some())
}

/// A message id is one message's. A turn id may be several messages': the same words again, with nothing in between, are the
/// same message. An agent that has neither, and calls us twice, does so at once. One that does not say what was asked has a
/// message a turn, and the next one after the turn's end.
fn is_doubled_message(event: &Event, view: &View) -> bool {
    if event.message_id.is_some() {
        return view.named_message.is_some();
    }
    let last_event = view
        .session
        .as_ref()
        .and_then(|session| session.last_event.as_deref());
    if event.turn_id.is_some() && event.prompt.is_none() {
        return is_same_turn(event, view) && !has_turn_ended(last_event);
    }
    let is_at_once = event.prompt.is_some() && view.since_last < AT_ONCE;
    // Where no tool's start is told, the message's own step begins with it.
    let begins_step = event.turn_id.is_none() && last_event == Some(EventKind::StepStart.name());
    (event.turn_id.is_some() || is_at_once)
        && (begins_step || last_event == Some(EventKind::UserMessage.name()))
        && view.message.as_ref().is_some_and(|message| {
            message.turn_id == event.turn_id && message.prompt == event.prompt
        })
}

/// While a tool of the same turn runs, the model has not seen the message: what the tool still does is the old message's.
fn is_steered(event: &Event, view: &View) -> bool {
    is_same_turn(event, view) && view.own_step().is_some_and(|step| step.has_running)
}

fn is_same_turn(event: &Event, view: &View) -> bool {
    let message = view.message.as_ref();
    event.turn_id.is_some() && message.is_some_and(|message| message.turn_id == event.turn_id)
}

fn has_turn_ended(last_event: Option<&str>) -> bool {
    let ends = [EventKind::TurnEnd, EventKind::SessionEnd];
    ends.iter().any(|end| last_event == Some(end.name()))
}

fn step_start(event: &Event, view: &View) -> Decision {
    let Some(open) = view.own_step() else {
        return Decision {
            action: Action::OpenStep,
            ..Decision::default()
        };
    };
    if event.step_id.is_some() && event.step_id == open.row.agent_id {
        return Decision::default();
    }
    Decision {
        action: Action::OpenStep,
        closing: vec![closing(open, true, Standing::Finished)],
        supposed: None,
    }
}

fn tool_start(view: &View) -> Decision {
    let action = match view.own_step() {
        None => Action::OpenStep,
        Some(step) if !step.has_tools => Action::MoveStart,
        Some(_) => Action::AddTool,
    };
    Decision {
        action,
        ..Decision::default()
    }
}

/// A finish that names a tool is that of an agent which tells of tools alone: it is early where another one still runs.
fn step_finish(event: &Event, view: &View) -> Decision {
    if let Some(open) = view.own_step() {
        let another = event.step_id.is_some()
            && open.row.agent_id.is_some()
            && event.step_id != open.row.agent_id;
        let doubled = another && view.named_step.is_some();
        let early = event.tool_use_id.is_some() && open.has_running;
        return if doubled || early {
            Decision::default()
        } else {
            close(vec![closing(open, false, Standing::Finished)])
        };
    }
    if view.named_step.is_some() || view.session.is_none() || is_doubled_finish(view) {
        return Decision::default();
    }
    let id = crate::sessions::new_id();
    let supposed = Supposed {
        id: id.clone(),
        start: last_boundary(view),
    };
    Decision {
        action: Action::Close,
        closing: vec![Closing {
            step: id,
            recovered: true,
            standing: Standing::Finished,
        }],
        supposed: Some(supposed),
    }
}

/// An agent that told of the start of this message's last step tells of every start: another finish is the same once more. To
/// suppose a step would make what the user did since the agent's.
fn is_doubled_finish(view: &View) -> bool {
    let of_message = |message_id: &str| {
        view.bound_message
            .as_ref()
            .is_none_or(|message| message.id == message_id)
    };
    view.last_step
        .as_ref()
        .is_some_and(|step| !step.recovered && of_message(&step.message_id))
}

/// Where the session last was: its newest message, or the step after that.
fn last_boundary(view: &View) -> Option<i64> {
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

#[cfg(test)]
mod tests {
    use ckpt_schema::report::MessageState;

    use super::*;
    use crate::sessions::{MessageRow, SessionRow, StepRow};

    fn session() -> SessionRow {
        SessionRow {
            seq: 1,
            id: "s".into(),
            workspace_id: 1,
            agent: "generic".into(),
            agent_id: "s1".into(),
            parent_id: None,
            last_event_at: 0,
            last_event: None,
            tool_events: false,
            revert_message_id: None,
            revert_base_id: None,
        }
    }

    fn message(turn: &str) -> MessageRow {
        MessageRow {
            seq: 1,
            id: "m".into(),
            session_id: "s".into(),
            agent_id: Some(turn.into()),
            turn_id: Some(turn.into()),
            prompt: Some("go on".into()),
            state: MessageState::Live,
            snapshot_id: Some(5),
            pending: false,
            unprotected: None,
        }
    }

    fn step_row(id: &str, agent_id: Option<&str>, finish: Option<i64>) -> StepRow {
        StepRow {
            seq: 1,
            id: id.into(),
            session_id: "s".into(),
            message_id: "m".into(),
            agent_id: agent_id.map(str::to_owned),
            recovered: false,
            unprotected: None,
            start_snapshot_id: Some(6),
            finish_snapshot_id: finish,
        }
    }

    fn open(tools: u64, running: u64) -> OpenStep {
        OpenStep {
            row: step_row("open", Some("agent's"), None),
            root_session_id: "s".into(),
            tool_events: tools > 0,
            last_event_at: 0,
            has_tools: tools > 0,
            has_running: running > 0,
            ..OpenStep::default()
        }
    }

    fn view() -> View {
        View {
            session: Some(session()),
            root: Some(session()),
            ..View::default()
        }
    }

    fn event(kind: EventKind) -> Event {
        Event::new(kind, "generic", "s1")
    }

    fn decided(event: &Event, view: &View) -> Decision {
        decide(event, view, &Settings::default())
    }

    fn ends(step: &str, recovered: bool, standing: Standing) -> Vec<Closing> {
        vec![Closing {
            step: step.into(),
            recovered,
            standing,
        }]
    }

    #[test]
    fn the_finish_of_one_tool_is_not_the_steps_while_another_runs() {
        let finish = Event {
            tool_use_id: Some("one".into()),
            ..event(EventKind::StepFinish)
        };
        let other_runs = View {
            open: vec![open(2, 1)],
            ..view()
        };
        assert_eq!(
            decided(&finish, &other_runs),
            Decision::default(),
            "what the other one does is the step's, too"
        );
        let none_runs = View {
            open: vec![open(2, 0)],
            ..view()
        };
        assert_eq!(
            decided(&finish, &none_runs).closing,
            ends("open", false, Standing::Finished),
            "the last one ends it"
        );
        let batch = event(EventKind::StepFinish);
        assert_eq!(
            decided(&batch, &other_runs).closing,
            ends("open", false, Standing::Finished),
            "a step's own finish ends it anyway"
        );
    }

    #[test]
    fn a_message_closes_the_step_that_was_left_open() {
        let view = View {
            open: vec![open(1, 1)],
            ..view()
        };
        let decision = decided(&event(EventKind::UserMessage), &view);
        assert_eq!(decision.action, Action::Message, "the message begins now");
        assert_eq!(
            decision.closing,
            ends("open", true, Standing::Cut),
            "its finish never came"
        );
    }

    #[test]
    fn a_message_of_the_running_turn_waits_for_the_next_boundary_while_a_tool_runs() {
        let steered = Event {
            turn_id: Some("t".into()),
            prompt: Some("stop".into()),
            ..event(EventKind::UserMessage)
        };
        let running = View {
            message: Some(message("t")),
            open: vec![open(1, 1)],
            ..view()
        };
        assert_eq!(
            decided(&steered, &running).action,
            Action::SteeredMessage,
            "the tool's edits are the old message's"
        );
        let thinking = View {
            open: vec![open(1, 0)],
            ..running.clone()
        };
        assert_eq!(
            decided(&steered, &thinking).action,
            Action::Message,
            "nothing runs: this is a boundary"
        );
        let next_turn = Event {
            turn_id: Some("u".into()),
            ..steered
        };
        assert_eq!(
            decided(&next_turn, &running).action,
            Action::Message,
            "the turn was interrupted"
        );
    }

    #[test]
    fn a_message_delivered_twice_is_one_message() {
        let first = View {
            named_message: Some(message("t")),
            ..view()
        };
        let by_id = Event {
            message_id: Some("m1".into()),
            ..event(EventKind::UserMessage)
        };
        assert_eq!(
            decided(&by_id, &first),
            Decision::default(),
            "a message id is one message's"
        );

        let by_turn = Event {
            turn_id: Some("t".into()),
            prompt: Some("go on".into()),
            ..event(EventKind::UserMessage)
        };
        let last_event = |name: &str| SessionRow {
            last_event: Some(name.into()),
            ..session()
        };
        let at_once = View {
            session: Some(last_event("user_message")),
            message: Some(message("t")),
            ..view()
        };
        assert_eq!(
            decided(&by_turn, &at_once),
            Decision::default(),
            "nothing came in between"
        );
        let later = View {
            session: Some(last_event("step_finish")),
            ..at_once
        };
        assert_eq!(
            decided(&by_turn, &later).action,
            Action::Message,
            "the same words, said again later"
        );
    }

    #[test]
    fn a_message_without_words_is_the_turns_until_the_turn_ends() {
        let view = |last_event: &str| View {
            session: Some(SessionRow {
                last_event: Some(last_event.into()),
                ..session()
            }),
            message: Some(message("t")),
            ..view()
        };
        let again = Event {
            turn_id: Some("t".into()),
            ..event(EventKind::UserMessage)
        };
        for (last_event, action) in [
            ("user_message", Action::Note),
            ("tool_start", Action::Note),
            ("step_finish", Action::Note),
            ("turn_end", Action::Message),
            ("session_end", Action::Message),
        ] {
            let decision = decided(&again, &view(last_event));
            assert_eq!(decision.action, action, "after `{last_event}`");
        }
    }

    #[test]
    fn what_a_sub_agent_is_told_is_no_message_also_where_only_its_start_says_whose_it_is() {
        let child = View {
            session: Some(SessionRow {
                parent_id: Some("parent".into()),
                ..session()
            }),
            ..view()
        };
        let told = Event {
            prompt: Some("write it".into()),
            ..event(EventKind::UserMessage)
        };
        assert_eq!(decided(&told, &child).action, Action::Note);
    }

    #[test]
    fn the_first_tool_of_a_step_moves_its_start_and_the_next_does_not() {
        let none = view();
        let first = View {
            open: vec![open(0, 0)],
            ..view()
        };
        let second = View {
            open: vec![open(1, 0)],
            ..view()
        };
        let tool = event(EventKind::ToolStart);
        assert_eq!(
            decided(&tool, &none).action,
            Action::OpenStep,
            "its agent has no step starts"
        );
        assert_eq!(
            decided(&tool, &first).action,
            Action::MoveStart,
            "the model was only thinking"
        );
        assert_eq!(
            decided(&tool, &second).action,
            Action::AddTool,
            "no snapshot"
        );
        let settings = Settings {
            tool_events: false,
            ..Settings::default()
        };
        assert_eq!(
            decide(&tool, &none, &settings),
            Decision::default(),
            "the settings say so"
        );
    }

    #[test]
    fn a_start_without_a_finish_is_closed_by_the_next_start() {
        let view = View {
            open: vec![open(1, 0)],
            ..view()
        };
        assert_eq!(
            decided(&event(EventKind::StepStart), &view).closing,
            ends("open", true, Standing::Finished),
            "nothing is lost"
        );
        let again = Event {
            step_id: Some("agent's".into()),
            ..event(EventKind::StepStart)
        };
        assert_eq!(
            decided(&again, &view),
            Decision::default(),
            "the same start, delivered twice"
        );
    }

    #[test]
    fn a_finish_without_a_start_begins_where_the_session_last_was() {
        let after_message = View {
            bound_message: Some(message("t")),
            ..view()
        };
        let supposed = decided(&event(EventKind::StepFinish), &after_message)
            .supposed
            .expect("no start was heard of");
        assert_eq!(supposed.start, Some(5), "the message's snapshot");
        let supposed = StepRow {
            recovered: true,
            ..step_row("done", None, Some(9))
        };
        let after_step = View {
            last_step: Some(supposed),
            ..after_message
        };
        let supposed = decided(&event(EventKind::StepFinish), &after_step)
            .supposed
            .expect("no start was heard of");
        assert_eq!(supposed.start, Some(9), "the finish of the step after it");
    }

    #[test]
    fn a_finish_delivered_twice_is_one_finish() {
        let view = View {
            named_step: Some(step_row("done", Some("x"), Some(9))),
            ..view()
        };
        let finish = Event {
            step_id: Some("x".into()),
            ..event(EventKind::StepFinish)
        };
        assert_eq!(
            decided(&finish, &view),
            Decision::default(),
            "that step is closed"
        );
        let nameless = View {
            bound_message: Some(message("t")),
            last_step: view.named_step,
            ..self::view()
        };
        assert_eq!(
            decided(&event(EventKind::StepFinish), &nameless),
            Decision::default(),
            "its start was told of, too"
        );
    }

    #[test]
    fn an_end_with_nothing_open_is_only_noted() {
        for kind in [
            EventKind::TurnEnd,
            EventKind::SessionEnd,
            EventKind::SessionStart,
            EventKind::ToolFinish,
        ] {
            assert!(
                !decided(&event(kind), &view()).takes_snapshot(),
                "{kind:?} costs nothing"
            );
        }
    }

    #[test]
    fn an_interrupted_turn_takes_its_sub_agents_along_and_a_finished_one_does_not() {
        let mut child = open(1, 1);
        child.row.id = "child".into();
        child.row.session_id = "c".into();
        let interrupted = View {
            open: vec![child.clone(), open(1, 1)],
            ..view()
        };
        let closing = decided(&event(EventKind::UserMessage), &interrupted).closing;
        assert_eq!(closing.len(), 2, "both end");
        let background = View {
            open: vec![child],
            ..view()
        };
        assert_eq!(
            decided(&event(EventKind::UserMessage), &background).closing,
            [],
            "it is still at work"
        );
    }
}
