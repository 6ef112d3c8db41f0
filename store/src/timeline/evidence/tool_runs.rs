//! When the tools of a step ran, found by the paths that they reach: a look may see as many changes as a step has tools,
//! and not each is compared with each. Pure.

use std::borrow::Cow;
use std::collections::HashMap;

use super::span::Span;
use super::step::whole;
use super::{Reach, Step, StepStanding, TICK, Tool};
use crate::model::Milliseconds;
use crate::model::path::WorkspacePath;

/// The tools of one step.
pub(super) struct Ran<'a> {
    /// The tools in the order in which they were announced, each with its time. One that stands for the whole step, if
    /// its agent does not report tools.
    tools: Vec<(Cow<'a, Tool>, Span)>,
    /// Those that named a path, by position.
    named: HashMap<&'a WorkspacePath, Vec<usize>>,
    /// Those that may have changed any path, by position.
    free: Vec<usize>,
}

impl<'a> Ran<'a> {
    /// Collects the tools of a step. `span` returns when one ran.
    pub fn of(step: &'a Step, span: impl Fn(&Tool) -> Span) -> Self {
        let mut ran = Self {
            tools: Vec::new(),
            named: HashMap::new(),
            free: Vec::new(),
        };
        if !step.tells_of_tools && step.standing != StepStanding::Answered {
            let whole = whole(step);
            let ran_at = span(&whole);
            ran.tools.push((Cow::Owned(whole), ran_at));
            ran.free.push(0);
            return ran;
        }
        for (at, tool) in step.tools.iter().enumerate() {
            ran.tools.push((Cow::Borrowed(tool), span(tool)));
            match &tool.reach {
                Reach::Anything => ran.free.push(at),
                Reach::Files(files) => {
                    for file in files {
                        ran.named.entry(file).or_default().push(at);
                    }
                }
                Reach::Nothing => {}
            }
        }
        ran
    }

    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Returns the tools that reach a path, each with its position.
    pub fn reaching(
        &self,
        path: &WorkspacePath,
    ) -> impl Iterator<Item = (usize, &(Cow<'a, Tool>, Span))> {
        let all = self.naming(path).iter().chain(&self.free);
        all.map(|at| (*at, &self.tools[*at]))
    }

    /// Returns whether one of the tools that named a path certainly ran at a moment.
    pub fn named_at(&self, path: &WorkspacePath, moment: Milliseconds) -> bool {
        let mut spans = self.naming(path).iter().map(|at| self.tools[*at].1);
        spans.any(|span| certain(span).is_some_and(|(from, to)| (from..=to).contains(&moment)))
    }

    /// Returns when those tools certainly ran that may have changed any path.
    pub fn free_spans(&self) -> impl Iterator<Item = (Milliseconds, Milliseconds)> {
        let spans = self.free.iter().map(|at| self.tools[*at].1);
        spans.filter_map(certain)
    }

    /// Returns when each tool ran. What stands for the whole step is none.
    pub fn spans(&self) -> impl Iterator<Item = Span> {
        let tools = self.tools.iter();
        let told = tools.filter(|(tool, _)| matches!(tool, Cow::Borrowed(_)));
        told.map(|(_, span)| *span)
    }

    fn naming(&self, path: &WorkspacePath) -> &[usize] {
        self.named.get(path).map_or(&[], Vec::as_slice)
    }
}

/// Returns the first and the last moment of the time in which a tool is known to have run.
fn certain(span: Span) -> Option<(Milliseconds, Milliseconds)> {
    Some((span.from? - TICK, span.to.unwrap_or(Milliseconds::MAX)))
}

/// Returns those moments, in order, that are in none of the spans.
pub(super) fn outside(
    mut moments: Vec<Milliseconds>,
    mut spans: Vec<(Milliseconds, Milliseconds)>,
) -> Vec<Milliseconds> {
    moments.sort_unstable();
    spans.sort_unstable();
    let mut spans = spans.into_iter().peekable();
    let mut covered_to = Milliseconds::MIN;
    moments.retain(|moment| {
        while let Some((_, to)) = spans.next_if(|(from, _)| from <= moment) {
            covered_to = covered_to.max(to);
        }
        *moment > covered_to
    });
    moments.dedup();
    moments
}
