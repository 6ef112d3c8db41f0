//! Each rule of a decision, on a view that is made for it.

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
        process_seen: 2,
        revert_message_id: None,
        revert_base_id: None,
        part_of: None,
        has_parts: false,
        has_left: false,
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

fn view() -> EventContext {
    EventContext {
        session: Some(session()),
        root: Some(session()),
        ..EventContext::default()
    }
}

fn event(kind: EventKind) -> Event {
    Event::new(kind, "generic", "s1")
}

fn decided(event: &Event, view: &EventContext) -> Decision {
    decide(event, view)
}

fn ends(step: &str, recovered: bool, standing: StepStanding) -> Vec<Closing> {
    vec![Closing {
        step: step.into(),
        recovered,
        standing,
    }]
}

/// The finish of one tool is not the step's while another runs.
#[test]
fn tools_finish_ends_no_step_with_another_running() {
    let finish = Event {
        tool_use_id: Some("one".into()),
        ..event(EventKind::StepFinish)
    };
    let other_runs = EventContext {
        open: vec![open(2, 1)],
        ..view()
    };
    assert_eq!(
        decided(&finish, &other_runs),
        Decision::default(),
        "what the other one does is the step's, too"
    );
    let none_runs = EventContext {
        open: vec![open(2, 0)],
        ..view()
    };
    assert_eq!(
        decided(&finish, &none_runs).closing,
        ends("open", false, StepStanding::Finished),
        "the last one ends it"
    );
    let batch = event(EventKind::StepFinish);
    assert_eq!(
        decided(&batch, &other_runs).closing,
        ends("open", false, StepStanding::Finished),
        "a step's own finish ends it anyway"
    );
}

/// A message closes the step that was left open.
#[test]
fn message_closes_the_open_step() {
    let view = EventContext {
        open: vec![open(1, 1)],
        ..view()
    };
    let decision = decided(&event(EventKind::UserMessage), &view);
    assert_eq!(decision.action, Action::Message, "the message begins now");
    assert_eq!(
        decision.closing,
        ends("open", true, StepStanding::Cut),
        "its finish never came"
    );
}

/// A message of the running turn waits for the next boundary while a tool runs.
#[test]
fn message_during_a_tool_waits_for_a_boundary() {
    let steered = Event {
        turn_id: Some("t".into()),
        prompt: Some("stop".into()),
        ..event(EventKind::UserMessage)
    };
    let running = EventContext {
        message: Some(message("t")),
        open: vec![open(1, 1)],
        ..view()
    };
    assert_eq!(
        decided(&steered, &running).action,
        Action::SteeredMessage,
        "the tool's edits are the old message's"
    );
    let thinking = EventContext {
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
    let first = EventContext {
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
    let at_once = EventContext {
        session: Some(last_event("user_message")),
        message: Some(message("t")),
        ..view()
    };
    assert_eq!(
        decided(&by_turn, &at_once),
        Decision::default(),
        "nothing came in between"
    );
    let later = EventContext {
        session: Some(last_event("step_finish")),
        ..at_once
    };
    assert_eq!(
        decided(&by_turn, &later).action,
        Action::Message,
        "the same words, said again later"
    );
}

/// A message without words is the turns until the turn ends.
#[test]
fn message_without_words_is_the_turns() {
    let view = |last_event: &str| EventContext {
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

/// What a sub-agent is told is no message also where only its start says whose it is.
#[test]
fn words_to_a_sub_agent_are_no_message() {
    let child = EventContext {
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

/// The first tool of a step moves its start and the next does not.
#[test]
fn only_the_first_tool_moves_a_steps_start() {
    let none = view();
    let first = EventContext {
        open: vec![open(0, 0)],
        ..view()
    };
    let second = EventContext {
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
}

/// A start without a finish is closed by the next start.
#[test]
fn unfinished_start_is_closed_by_the_next() {
    let view = EventContext {
        open: vec![open(1, 0)],
        ..view()
    };
    assert_eq!(
        decided(&event(EventKind::StepStart), &view).closing,
        ends("open", true, StepStanding::Finished),
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

/// A finish without a start begins where the session last was.
#[test]
fn finish_without_start_begins_at_the_last_boundary() {
    let after_message = EventContext {
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
    let after_step = EventContext {
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
    let view = EventContext {
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
    let nameless = EventContext {
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

/// An interrupted turn takes its sub-agents along and a finished one does not.
#[test]
fn interrupted_turn_takes_its_sub_agents_along() {
    let mut child = open(1, 1);
    child.row.id = "child".into();
    child.row.session_id = "c".into();
    let interrupted = EventContext {
        open: vec![child.clone(), open(1, 1)],
        ..view()
    };
    let closing = decided(&event(EventKind::UserMessage), &interrupted).closing;
    assert_eq!(closing.len(), 2, "both end");
    let background = EventContext {
        open: vec![child],
        ..view()
    };
    assert_eq!(
        decided(&event(EventKind::UserMessage), &background).closing,
        [],
        "it is still at work"
    );
}
