//! Agents that work in a workspace around this one: what their tools may have done here. Pure.
//!
//! What a tool named is its agent's. A shell names nothing. It counts where it began while a tool of this workspace ran already: one
//! that began before may have started the agent that works here, and would make everything of that agent doubtful.

use super::attribute::tool_of;
use super::evidence::{self, Changed, Evidence, Signs, StepStanding};
use crate::model::Milliseconds;
use crate::sessions::OuterTool;

/// The tools of agents in workspaces around this one.
pub(super) struct OuterAgents {
    /// Those that named files here: what they named is theirs.
    pub named: Vec<evidence::Step>,
    /// Those that may have changed any file.
    shells: Vec<evidence::Step>,
}

impl OuterAgents {
    pub fn of(tools: &[OuterTool]) -> Self {
        let (shells, named): (Vec<_>, Vec<_>) =
            tools.iter().partition(|outer| outer.tool.paths.is_empty());
        Self {
            named: named.into_iter().map(of_edit).collect(),
            shells: shells.into_iter().map(of_shell).collect(),
        }
    }

    /// Returns whether a shell around this workspace may as well have made a change for which a step of it has evidence.
    pub fn contests(&self, step: &evidence::Step, change: Changed<'_>, now: Milliseconds) -> bool {
        let evidence = Evidence::new(&self.shells, &[], now);
        let began = began(step, change);
        let is_rival = |(number, shell): (usize, &evidence::Step)| {
            shell.started_at > began && evidence.could_make(number, change)
        };
        self.shells.iter().enumerate().any(is_rival)
    }
}

/// Returns when the newest tool of a step began that may have made a change; the step, where it tells of none.
fn began(step: &evidence::Step, change: Changed<'_>) -> Milliseconds {
    let tools = step.tools.iter().map(|tool| tool.announced_at);
    let before = tools.filter(|began| change.at.is_none_or(|at| *began <= at + evidence::TICK));
    before.max().unwrap_or(step.started_at)
}

/// The step of an agent that takes what its tool named.
fn of_edit(outer: &OuterTool) -> evidence::Step {
    evidence::Step {
        root: outer.session_id.clone(),
        started_at: outer.tool.started_at,
        tells_of_tools: true,
        tools: vec![tool_of(&outer.tool)],
        standing: StepStanding::Finished,
        signs: Signs::default(),
        background_since: None,
        died_at: None,
        is_over: false,
    }
}

/// One that was never told to have ended runs until the last that was heard of its agent.
fn of_shell(outer: &OuterTool) -> evidence::Step {
    let standing = match outer.tool.finished_at {
        Some(_) => StepStanding::Finished,
        None => StepStanding::Open,
    };
    evidence::Step {
        standing,
        signs: Signs {
            last: outer.last_event_at,
            ..Signs::default()
        },
        ..of_edit(outer)
    }
}
