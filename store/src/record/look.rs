//! Decides where an event looks at the workspace: at as little as possible without losing a boundary. Pure.
//!
//! A full look costs one `lstat` per file. For a tool that changes only the files that it names, it is enough to look
//! at those, before and after; a tool that only reads needs no look. The next full look sees all other changes
//! since, and still attributes them to no step: [`evidence`](crate::timeline::evidence) knows when each file changed
//! and what each tool can reach. If nothing is known about a tool, everything is looked at.

use std::collections::BTreeSet;

use ckpt_schema::event::Event;
use ckpt_schema::report::Looked;
use ckpt_schema::{EventKind, ToolKind};

use super::decide::{Action, Decision};
use super::view::EventContext;
use crate::model::path::{IGNORE_FILE, WorkspacePath};
use crate::sessions::{OpenStep, ToolRow};
use crate::timeline::evidence::{AFTERWORK, StepStanding};

/// Where to look for what changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum LookScope {
    /// Nowhere: the last look counts.
    #[default]
    Nowhere,
    /// At these paths and what is beside and below them. For the rest, the last look counts.
    Around(BTreeSet<WorkspacePath>),
    /// Everywhere.
    Everywhere,
}

impl LookScope {
    /// Returns how the event's report names it.
    pub fn report(&self) -> Option<Looked> {
        match self {
            Self::Nowhere => None,
            Self::Around(_) => Some(Looked::Around),
            Self::Everywhere => Some(Looked::Everywhere),
        }
    }

    /// Returns the paths around which to look, unless it is everywhere.
    pub fn paths(&self) -> Option<&BTreeSet<WorkspacePath>> {
        match self {
            Self::Around(paths) => Some(paths),
            Self::Nowhere | Self::Everywhere => None,
        }
    }

    /// Returns whether a look there saw all that another one would see.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Everywhere, _) | (_, Self::Nowhere) => true,
            (Self::Around(paths), Self::Around(others)) => others.is_subset(paths),
            (Self::Nowhere | Self::Around(_), Self::Everywhere)
            | (Self::Nowhere, Self::Around(_)) => false,
        }
    }

    fn at(paths: impl IntoIterator<Item = WorkspacePath>) -> Self {
        let paths: BTreeSet<_> = paths.into_iter().collect();
        // An ignore file decides what is in view elsewhere, so a change to one needs a full look.
        let decides = |path: &WorkspacePath| path.name() == IGNORE_FILE;
        if paths.iter().any(decides) {
            Self::Everywhere
        } else if paths.is_empty() {
            Self::Nowhere
        } else {
            Self::Around(paths)
        }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Everywhere, _) | (_, Self::Everywhere) => Self::Everywhere,
            (Self::Nowhere, look) | (look, Self::Nowhere) => look,
            (Self::Around(mut paths), Self::Around(others)) => {
                paths.extend(others);
                Self::Around(paths)
            }
        }
    }
}

/// Returns where a decision needs a look at the workspace.
pub(super) fn look(event: &Event, view: &EventContext, decision: &Decision) -> LookScope {
    let begins = match decision.action {
        Action::Message => LookScope::Everywhere,
        Action::OpenStep | Action::MoveStart | Action::AddTool => start(event, view),
        Action::EndTool => view.overtaken.as_ref().map_or(LookScope::Nowhere, late_end),
        Action::Close
        | Action::Note
        | Action::SteeredMessage
        | Action::EarlierMessage
        | Action::WaitTool
        | Action::RecoverStep => LookScope::Nowhere,
    };
    let ends = decision.closing.iter().map(|closing| {
        let step = view.open.iter().find(|step| step.row.id == closing.step);
        // An inferred step is not among the open ones.
        step.map_or(LookScope::Everywhere, |step| end(step, closing.standing))
    });
    let look = ends.fold(begins, LookScope::and);
    // A look around a few files could not be the snapshot of a message that waits for one, and nothing can be
    // compared with a first look that saw only a part.
    let is_new = !view.was_looked_at || view.has_pending;
    if is_new && decision.is_boundary() {
        LookScope::Everywhere
    } else {
        look
    }
}

/// Returns where to look before a step begins, or a tool of it.
fn start(event: &Event, view: &EventContext) -> LookScope {
    let is_tool = event.event == EventKind::ToolStart;
    if !is_tool {
        // If the agent reports tools, the first tool moves the step's start.
        let session = view.session.as_ref();
        let is_provisional = session.is_some_and(|session| session.tool_events);
        return if is_provisional || is_with_message(event, view) {
            LookScope::Nowhere
        } else {
            LookScope::Everywhere
        };
    }
    let own = view.own_step();
    // Everything was looked at before that tool began, and is looked at again at the step's end. In a pause between two
    // tools the user may have edited what the next one changes, and then the file's time shows only the agent.
    if let Some(step) = own.filter(|step| step.tools.iter().any(reaches_anything)) {
        let is_paused = !step.has_running && view.since_last > AFTERWORK;
        return match event.tool_kind {
            Some(ToolKind::Edit) | None if is_paused => LookScope::Everywhere,
            Some(_) | None => LookScope::Nowhere,
        };
    }
    match (event.tool_kind, &view.named) {
        (Some(ToolKind::Read), _) => LookScope::Nowhere,
        // `named` is `None` as soon as one of the files is outside the workspace: what such a tool touches is not
        // known.
        (_, Some(named)) if !named.is_empty() => LookScope::at(named.iter().cloned()),
        _ => LookScope::Everywhere,
    }
}

/// Returns whether everything was just looked at for the message that came in the same call.
fn is_with_message(event: &Event, view: &EventContext) -> bool {
    let session = view.session.as_ref();
    let last = session.and_then(|session| session.last_event.as_deref());
    let message = view.message.as_ref();
    let was_captured = message.is_some_and(|message| message.snapshot_id.is_some());
    event.at_once && was_captured && last == Some(EventKind::UserMessage.name())
}

/// Returns where to look at the end of a step for what its tools can have changed.
fn end(step: &OpenStep, standing: StepStanding) -> LookScope {
    let is_told = step.tool_events && step.row.unprotected.is_none() && !step.has_running;
    let goes_on = step.tools.iter().any(|tool| tool.is_in_background);
    match standing {
        // Only here do the events account for all that the step did. A tool whose end was not reported, or a step
        // that was cut off, may have changed anything.
        StepStanding::Finished | StepStanding::TurnEnded if is_told && !goes_on => {}
        StepStanding::Finished
        | StepStanding::TurnEnded
        | StepStanding::Answered
        | StepStanding::Open
        | StepStanding::Cut => {
            return LookScope::Everywhere;
        }
    }
    // If an agent goes on without having reported a tool, an unreported one may have run.
    if step.tools.is_empty() && standing == StepStanding::Finished {
        return LookScope::Everywhere;
    }
    if step.tools.iter().any(reaches_anything) {
        return LookScope::Everywhere;
    }
    let named = step
        .tools
        .iter()
        .flat_map(|tool| tool.paths.iter().cloned());
    // Files that an ignore rule hides come into view only because a tool named them, so they are compared at
    // the step's end.
    let hidden = step.paths.iter().map(|named| named.path.clone());
    LookScope::at(named.chain(hidden))
}

/// Returns where to look when a tool ended after its step.
fn late_end(step: &OpenStep) -> LookScope {
    let mut late = step.tools.iter().filter(|tool| tool.finished_at.is_none());
    match late.next() {
        Some(tool) if !tool.paths.is_empty() => LookScope::at(tool.paths.iter().cloned()),
        Some(_) => LookScope::Everywhere,
        // Its end was told before, or it only reads.
        None => LookScope::Nowhere,
    }
}

fn reaches_anything(tool: &ToolRow) -> bool {
    tool.kind != Some(ToolKind::Read) && tool.paths.is_empty()
}

#[cfg(test)]
mod tests {
    use ckpt_schema::report::MessageState;

    use super::*;
    use crate::record::decide::decide;
    use crate::sessions::{MessageRow, SessionRow, StepRow};

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::new(text).expect("legal")
    }

    fn edit(name: &str) -> ToolRow {
        ToolRow {
            kind: Some(ToolKind::Edit),
            paths: vec![path(name)],
            finished_at: Some(1),
            ..ToolRow::default()
        }
    }

    fn reading() -> ToolRow {
        ToolRow {
            kind: Some(ToolKind::Read),
            finished_at: Some(1),
            ..ToolRow::default()
        }
    }

    fn shell() -> ToolRow {
        ToolRow {
            finished_at: Some(1),
            ..ToolRow::default()
        }
    }

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
            tool_events: true,
            process_seen: 2,
            revert_message_id: None,
            revert_base_id: None,
            part_of: None,
            has_parts: false,
            has_left: false,
        }
    }

    /// A conversation with an open step and its tools, all of which ended.
    fn view(tools: &[ToolRow]) -> EventContext {
        let step = OpenStep {
            row: StepRow {
                id: "open".into(),
                session_id: "s".into(),
                ..StepRow::default()
            },
            root_session_id: "s".into(),
            tool_events: true,
            has_tools: !tools.is_empty(),
            tools: tools.to_vec(),
            ..OpenStep::default()
        };
        EventContext {
            session: Some(session()),
            root: Some(session()),
            open: vec![step],
            was_looked_at: true,
            ..EventContext::default()
        }
    }

    fn between_steps() -> EventContext {
        EventContext {
            open: Vec::new(),
            ..view(&[])
        }
    }

    fn naming(view: EventContext, named: &[&str]) -> EventContext {
        EventContext {
            named: Some(named.iter().map(|name| path(name)).collect()),
            ..view
        }
    }

    fn looked(kind: EventKind, tool_kind: Option<ToolKind>, view: &EventContext) -> LookScope {
        let event = Event {
            tool_kind,
            ..Event::new(kind, "generic", "s1")
        };
        decide(&event, view).look
    }

    fn around(names: &[&str]) -> LookScope {
        LookScope::Around(names.iter().map(|name| path(name)).collect())
    }

    #[test]
    fn a_tool_that_only_reads_costs_no_look() {
        let begins = looked(EventKind::ToolStart, Some(ToolKind::Read), &between_steps());
        assert_eq!(begins, LookScope::Nowhere, "it changes nothing");
        let ends = looked(EventKind::StepFinish, None, &view(&[reading(), reading()]));
        assert_eq!(ends, LookScope::Nowhere, "so there is nothing to see");
    }

    #[test]
    fn edit_tool_costs_a_look_at_its_files() {
        let named = naming(between_steps(), &["a"]);
        let begins = looked(EventKind::ToolStart, Some(ToolKind::Edit), &named);
        assert_eq!(begins, around(&["a"]), "it changes no other file");
        let ends = looked(
            EventKind::StepFinish,
            None,
            &view(&[edit("a"), reading(), edit("b")]),
        );
        assert_eq!(ends, around(&["a", "b"]), "all that the step can have done");
        let elsewhere = EventContext {
            named: None,
            ..between_steps()
        };
        assert_eq!(
            looked(EventKind::ToolStart, Some(ToolKind::Edit), &elsewhere),
            LookScope::Everywhere,
            "a path outside may lead back by a link"
        );
        let rules = naming(between_steps(), &["deep/.gitignore"]);
        assert_eq!(
            looked(EventKind::ToolStart, Some(ToolKind::Edit), &rules),
            LookScope::Everywhere,
            "it decides what else is in view"
        );
    }

    /// A tool of which nothing is known costs a look at everything before and after.
    #[test]
    fn unknown_tool_costs_two_full_looks() {
        let between = naming(between_steps(), &[]);
        assert_eq!(
            looked(EventKind::ToolStart, None, &between),
            LookScope::Everywhere,
            "it may change anything"
        );
        let beside = looked(EventKind::StepFinish, None, &view(&[edit("a"), shell()]));
        assert_eq!(
            beside,
            LookScope::Everywhere,
            "also where another one is known"
        );
        let joins = looked(EventKind::ToolStart, None, &naming(view(&[edit("a")]), &[]));
        assert_eq!(
            joins,
            LookScope::Everywhere,
            "only files were looked at until now"
        );
        let second = looked(EventKind::ToolStart, None, &naming(view(&[shell()]), &[]));
        assert_eq!(
            second,
            LookScope::Nowhere,
            "tools beside each other share one"
        );
        let after_a_pause = EventContext {
            since_last: AFTERWORK + 1,
            ..naming(view(&[shell()]), &["a"])
        };
        for (kind, look) in [
            (None, LookScope::Everywhere),
            (Some(ToolKind::Edit), LookScope::Everywhere),
            (Some(ToolKind::Read), LookScope::Nowhere),
        ] {
            let third = looked(EventKind::ToolStart, kind, &after_a_pause);
            assert_eq!(third, look, "somebody may have worked meanwhile: {kind:?}");
        }
        let mut running = after_a_pause;
        running.open[0].has_running = true;
        let beside = looked(EventKind::ToolStart, None, &running);
        assert_eq!(beside, LookScope::Nowhere, "the first one still runs");
    }

    /// What no event told of costs a look at everything.
    #[test]
    fn unreported_event_costs_a_full_look() {
        let mut running = view(&[edit("a")]);
        running.open[0].has_running = true;
        let mut background = view(&[edit("a")]);
        background.open[0].tools[0].is_in_background = true;
        let mut unseen = view(&[edit("a")]);
        unseen.open[0].row.unprotected = Some("no room".to_owned());
        let mut untold = view(&[reading()]);
        untold.open[0].tool_events = false;
        let first = EventContext {
            was_looked_at: false,
            ..view(&[reading()])
        };
        let waiting = EventContext {
            has_pending: true,
            ..view(&[reading()])
        };
        for (view, why) in [
            (running, "its tool may not have ended"),
            (background, "its command goes on"),
            (unseen, "its start was not seen"),
            (untold, "its agent does not tell of tools"),
            (first, "nothing was seen before"),
            (waiting, "a message waits for its snapshot"),
        ] {
            assert_eq!(
                looked(EventKind::StepFinish, None, &view),
                LookScope::Everywhere,
                "{why}"
            );
        }
        let message = looked(EventKind::UserMessage, None, &view(&[reading()]));
        assert_eq!(message, LookScope::Everywhere, "a revert goes back to it");
    }

    /// A step in which no tool ran is looked at only where one may have run untold.
    #[test]
    fn step_without_tools_is_looked_at_if_doubtful() {
        let thinking = view(&[]);
        assert_eq!(
            looked(EventKind::StepStart, None, &thinking),
            LookScope::Everywhere,
            "its agent called the model again, as it does after tools"
        );
        assert_eq!(
            looked(EventKind::TurnEnd, None, &thinking),
            LookScope::Nowhere,
            "its agent only answered"
        );
    }

    /// A step that begins in the call of its message is seen with it.
    #[test]
    fn first_step_is_seen_with_its_message() {
        let event = Event {
            at_once: true,
            ..Event::new(EventKind::StepStart, "generic", "s1")
        };
        let mut view = between_steps();
        let look = |view: &EventContext| decide(&event, view).look;
        let session = |last: &str| SessionRow {
            last_event: Some(last.to_owned()),
            tool_events: false,
            ..session()
        };
        view.session = Some(session("tool_finish"));
        assert_eq!(look(&view), LookScope::Everywhere, "a tool ran");
        view.session = Some(session("user_message"));
        assert_eq!(
            look(&view),
            LookScope::Everywhere,
            "the message was not captured"
        );
        view.message = Some(MessageRow {
            seq: 1,
            id: "m".into(),
            session_id: "s".into(),
            agent_id: None,
            turn_id: None,
            prompt: None,
            state: MessageState::Live,
            snapshot_id: Some(5),
            pending: false,
            unprotected: None,
        });
        assert_eq!(
            look(&view),
            LookScope::Nowhere,
            "everything was looked at just now"
        );
    }
}
