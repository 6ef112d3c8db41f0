//! What the tools of agents in a workspace around this one may have changed here. Pure.
//!
//! A file that a tool named is its agent's. A shell names nothing, and may have written what a tool of this workspace
//! seems to have written. But a shell that started the agent that works here would cast doubt on everything that agent
//! does. So if the outer agent's process is known to be above the inner one's, a shell counts only if it began while a
//! tool of this workspace was already running.

use std::cell::RefCell;
use std::collections::HashMap;

use super::attribute::tool_of;
use super::evidence::{self, Changed, Evidence, Signs, StepStanding};
use crate::model::Milliseconds;
use crate::sessions::OuterTool;

/// The tools of agents in workspaces around this one.
pub(super) struct OuterAgents {
    /// Those that named files here. The files that they named are theirs.
    pub named: Vec<evidence::Step>,
    /// Those that may have changed any file.
    pub shells: Vec<evidence::Step>,
    /// The processes of their agents, as far as known.
    processes: Vec<Option<String>>,
    /// Which of these processes started which, as far as was asked: the system is asked once for all changes.
    started: RefCell<HashMap<(String, String), bool>>,
}

/// A tool of an agent in a workspace around this one, with the signs of that agent's life.
pub(crate) type OuterAgent = (OuterTool, Signs);

/// Returns whether the first process started the second, or `None` if that is unknown.
pub(super) type HasStarted<'a> = dyn Fn(&str, &str) -> Option<bool> + 'a;

impl OuterAgents {
    /// Divides tools by whether it is known which files they may have changed.
    pub fn of(tools: &[OuterAgent]) -> Self {
        // An edit tool whose files are unknown counts as a shell: it may have written anything.
        let (shells, named): (Vec<_>, Vec<_>) = tools
            .iter()
            .partition(|(outer, _)| outer.tool.paths.is_empty());
        let processes = shells.iter().map(|(outer, _)| outer.life.caller.clone());
        Self {
            processes: processes.collect(),
            named: named.into_iter().map(|(outer, _)| of_edit(outer)).collect(),
            shells: shells.into_iter().map(of_shell).collect(),
            started: RefCell::default(),
        }
    }

    /// Returns whether a shell around this workspace may have made a change that a step in it has evidence for. The
    /// step's agent has the given process.
    pub fn contests(
        &self,
        evidence: &Evidence<'_>,
        step: &evidence::Step,
        process: Option<&str>,
        change: Changed<'_>,
        has_started: &HasStarted<'_>,
    ) -> bool {
        if self.shells.is_empty() {
            return false;
        }
        let began = began(step, change);
        let is_above = |number: usize| self.is_above(number, process, has_started);
        // A shell that began before the inner agent's tool and is above it in the process tree most likely is what
        // runs that agent. One that began later runs beside it, whichever started the other.
        let is_rival = |(number, shell): (usize, &evidence::Step)| {
            evidence.could_make(number, change) && (shell.started_at > began || !is_above(number))
        };
        self.shells.iter().enumerate().any(is_rival)
    }

    /// Returns whether the process of an agent around this workspace is known to have started one.
    fn is_above(&self, number: usize, own: Option<&str>, has_started: &HasStarted<'_>) -> bool {
        let Some((outer, own)) = self.processes[number].as_deref().zip(own) else {
            return false;
        };
        let pair = (outer.to_owned(), own.to_owned());
        let mut started = self.started.borrow_mut();
        *started
            .entry(pair)
            .or_insert_with(|| has_started(outer, own) == Some(true))
    }
}

/// Returns when the newest tool of a step that may have made a change began, or when the step began if it reports no
/// tools.
fn began(step: &evidence::Step, change: Changed<'_>) -> Milliseconds {
    let tools = step.tools.iter().map(|tool| tool.announced_at);
    let before = tools.filter(|began| change.at.is_none_or(|at| *began <= at + evidence::TICK));
    before.max().unwrap_or(step.started_at)
}

/// Returns a step that owns the files that a tool named.
fn of_edit(outer: &OuterTool) -> evidence::Step {
    evidence::Step {
        root: outer.session_id.clone(),
        started_at: outer.tool.started_at,
        tells_of_tools: true,
        tools: vec![tool_of(&outer.tool)],
        standing: StepStanding::Finished,
        signs: Signs::default(),
        background: Vec::new(),
        died_at: None,
        is_over: false,
    }
}

/// Returns a step that stands for a shell. If its end was never reported, it may run as long as its agent is alive,
/// unless it was interrupted.
fn of_shell((outer, signs): &OuterAgent) -> evidence::Step {
    let standing = match outer.tool.finished_at {
        Some(_) => StepStanding::Finished,
        None => StepStanding::Open,
    };
    evidence::Step {
        standing,
        signs: *signs,
        ..of_edit(outer)
    }
}
