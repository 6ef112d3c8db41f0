//! Attributes changes to steps. Pure.
//!
//! The snapshots of a workspace form one line, whichever session caused them. A change from one to the next belongs to
//! the steps that were open in between, as far as there is [`evidence`] for it, or to no step ("outside") if none was
//! open. So every change is recorded once, even if the steps of sub-agents and other sessions overlap:
//!
//! ```text
//! snapshots   s1 ------ s2 ------ s3 ------ s4 ------ s5
//! steps       |---- A ----------- |
//!                       |------------- B ---|
//! belongs to      A      A and B       B     outside
//! ```

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use ckpt_schema::ToolKind;

use super::evidence::{
    self, Changed, Dated, Doubt, Evidence, Reach, Signs, StepStanding, TICK, Verdict,
};
use super::file_clock;
use super::hindsight::ended_step;
use super::outer_tools::{HasStarted, OuterAgent, OuterAgents};
use crate::lines;
use crate::model::Milliseconds;
use crate::model::attribution::Attribution;
use crate::model::entry::{Change, EntryKind, ObjectId, State};
use crate::model::path::WorkspacePath;
use crate::sessions::{ChangeRow, OpenStep, ToolRow};

/// A step, with what is known about it besides its rows.
#[derive(Clone, Debug)]
pub(crate) struct StepActivity<'a> {
    pub step: &'a OpenStep,
    /// Whether it is open, and if not, how it ended.
    pub standing: StepStanding,
    /// The signs of its agent's life.
    pub signs: Signs,
    /// Whether it ended earlier and only a command of it still runs in the background.
    pub is_over: bool,
}

/// What changed since the last snapshot.
pub(crate) struct Patch<'a> {
    pub changes: Vec<Change>,
    /// The time of the last change of the changed path, if known.
    pub time: &'a dyn Fn(&Change) -> Option<Dated>,
    /// The tools of agents in workspaces around this one that named files in it, or may have changed any.
    pub outer: &'a [OuterAgent],
    /// Returns whether one agent's process started another's.
    pub has_started: &'a HasStarted<'a>,
    /// Returns whether a path is in a nested workspace in which another agent works than that of a conversation, which
    /// is given by its root.
    pub is_elsewhere: &'a dyn Fn(&WorkspacePath, &str) -> bool,
    /// Whether the workspace's directory was replaced since the newest snapshot.
    pub is_replaced: bool,
    /// The newest snapshot before it.
    pub from: Option<i64>,
    /// The steps that had ended before and may have made some of it, if a watcher hid that or a look was missed: each with
    /// when it ended.
    pub ended: &'a [(OpenStep, Milliseconds)],
    /// When everything was last looked at.
    pub looked_at: Option<Milliseconds>,
    /// The moment at which it was seen.
    pub now: Milliseconds,
}

/// Returns the rows for what changed since the last snapshot. `session` is the one whose event ended the interval. Its
/// newest step is preferred among the steps of one conversation: a sub-agent's and its parent's are open at the same
/// time, and the one that just reported an event is the likeliest author. A revert to a message undoes both.
pub(crate) fn attribute(
    mut patch: Patch<'_>,
    acting: &[StepActivity<'_>],
    session: Option<&str>,
) -> Vec<ChangeRow> {
    let hidden: HashSet<&WorkspacePath> = acting.iter().flat_map(|one| hidden(one.step)).collect();
    let mut changes: Vec<Change> = std::mem::take(&mut patch.changes);
    changes.retain(|change| !hidden.contains(&change.path));
    // Skip steps that have no start snapshot.
    let is_seen = |one: &&StepActivity<'_>| one.step.row.unprotected.is_none();
    let acting: Vec<&StepActivity<'_>> = acting.iter().filter(is_seen).collect();
    let own: Vec<&OpenStep> = acting.iter().map(|one| one.step).collect();
    let mut steps: Vec<evidence::Step> = acting.iter().map(|one| step_of(one)).collect();
    let around = OuterAgents::of(patch.outer);
    steps.extend(around.named.iter().cloned());
    // Without a step, no time attributes a change, and each one costs a look at a file.
    let has_steps = !(steps.is_empty() && patch.ended.is_empty());
    let dated = |change| has_steps.then(|| (patch.time)(change)).flatten();
    let times: Vec<Option<Dated>> = changes.iter().map(dated).collect();
    let seen = as_named(&changes, &times, &steps);
    let ended = EndedSteps::of(&patch);
    let ended_evidence = Evidence::new(&ended.known, &seen, patch.now);
    let interval = Interval {
        patch: &patch,
        own: &own,
        steps: &steps,
        around: &around,
        rivals: Evidence::new(&around.shells, &[], patch.now),
        evidence: Evidence::new(&steps, &seen, patch.now),
        preferred: (own.iter()).rposition(|step| Some(step.row.session_id.as_str()) == session),
    };
    let dated = changes.iter().zip(&seen).zip(&times);
    dated
        .flat_map(|((change, seen), time)| {
            let hidden = || ended.rows(&ended_evidence, &patch, change, *seen);
            // A time before the last look is one of a step that had ended then, if that look was kept from seeing it.
            let is_stale = time.is_some_and(|time| time.is_stale);
            if let Some(rows) = is_stale.then(hidden).flatten() {
                return rows;
            }
            match interval.judge(change, *seen, *time) {
                Verdict::Outside => hidden(),
                verdict => Some(rows_of(change, verdict, &own, patch.from)),
            }
            .unwrap_or_else(|| rows_of(change, Verdict::Outside, &own, patch.from))
        })
        .collect()
}

/// What is known about the time between two looks.
struct Interval<'a> {
    patch: &'a Patch<'a>,
    /// The steps of this workspace.
    own: &'a [&'a OpenStep],
    /// The same, and those in workspaces around this one.
    steps: &'a [evidence::Step],
    around: &'a OuterAgents,
    /// The evidence for the shells among them.
    rivals: Evidence<'a>,
    evidence: Evidence<'a>,
    preferred: Option<usize>,
}

impl Interval<'_> {
    fn judge(&self, change: &Change, seen: Changed<'_>, time: Option<Dated>) -> Verdict {
        // Evidence gives a change to a step, and a doubt only takes it back: their order decides the reason.
        let judged = if self.patch.is_replaced {
            replaced(&self.evidence, self.own.len(), self.preferred)
        } else {
            let looked_at = self.patch.looked_at;
            file_clock::judge(&self.evidence, seen, time, looked_at, self.preferred)
        };
        let names = |step: usize| self.steps[step].names(seen.path);
        match judged {
            Verdict::Agent(step) if is_moved_between(&self.evidence, step, seen.path, time) => {
                Verdict::Unclear(vec![step], Doubt::Moved)
            }
            // If an edit tool of this step had reached there, it would have named the file. What else happens there is
            // the other agent's.
            Verdict::Agent(step)
                if (self.patch.is_elsewhere)(&change.path, &self.steps[step].root)
                    && !names(step) =>
            {
                Verdict::Unclear(vec![step], Doubt::Elsewhere)
            }
            Verdict::Agent(step) if !names(step) && self.is_contested(step, seen) => {
                Verdict::Unclear(vec![step], Doubt::Around)
            }
            verdict => verdict,
        }
    }

    /// Returns whether an agent around this workspace may have made a change as well as one of its own steps.
    fn is_contested(&self, step: usize, seen: Changed<'_>) -> bool {
        self.own.get(step).is_some_and(|own| {
            let (step, process) = (&self.steps[step], own.life.caller.as_deref());
            let has_started = self.patch.has_started;
            self.around
                .contests(&self.rivals, step, process, seen, has_started)
        })
    }
}

/// The steps that had ended before, as far as the looks at their ends may not have shown their changes.
struct EndedSteps<'a> {
    steps: Vec<&'a OpenStep>,
    /// When each of them was at work.
    spans: Vec<RangeInclusive<Milliseconds>>,
    known: Vec<evidence::Step>,
}

impl<'a> EndedSteps<'a> {
    fn of(patch: &Patch<'a>) -> Self {
        let seen = patch.ended.iter();
        // One that could not be looked at when it ended began at a snapshot all the same.
        let seen = seen.filter(|(step, _)| step.row.start_snapshot_id.is_some());
        Self {
            steps: seen.clone().map(|(step, _)| step).collect(),
            spans: (seen.clone())
                .map(|(step, end)| step.started_at - TICK..=end + TICK)
                .collect(),
            known: seen.map(|(step, end)| ended_step(step, *end)).collect(),
        }
    }

    /// Returns the rows for a change as the look at the end of one of them would have judged it. `None` if no step that
    /// had ended has anything to do with it, or its time is not known.
    fn rows(
        &self,
        evidence: &Evidence<'_>,
        patch: &Patch<'_>,
        change: &Change,
        seen: Changed<'_>,
    ) -> Option<Vec<ChangeRow>> {
        let at = seen.at?;
        let is_within = |step: usize| self.spans[step].contains(&at);
        let verdict = evidence.judge_among(is_within, seen, None);
        (verdict != Verdict::Outside).then(|| rows_of(change, verdict, &self.steps, patch.from))
    }
}

/// Returns whose a change is in a directory that took the place of another one. No time in it shows what was done to
/// that one.
fn replaced(evidence: &Evidence<'_>, own: usize, preferred: Option<usize>) -> Verdict {
    match evidence.one_a_root((0..own).collect(), preferred) {
        steps if steps.is_empty() => Verdict::Outside,
        steps => Verdict::Unclear(steps, Doubt::Replaced),
    }
}

/// Returns the changes as evidence sees them: each at its path, or at the name by which a tool reached the same file. A
/// file with several names changes under all of them at once, to the same bytes.
fn as_named<'a>(
    changes: &'a [Change],
    times: &[Option<Dated>],
    steps: &[evidence::Step],
) -> Vec<Changed<'a>> {
    let all: HashSet<&WorkspacePath> = steps.iter().flat_map(evidence::Step::named).collect();
    let is_named = |path| all.contains(path);
    let file = |change: &Change, time: &Option<Dated>| {
        let entry = change
            .new
            .filter(|entry| entry.mode.kind() == EntryKind::File)?;
        Some((entry.mode, entry.blob?, time.as_ref()?.at))
    };
    let dated = || changes.iter().zip(times);
    let named: HashMap<_, &WorkspacePath> = dated()
        .filter(|(change, _)| is_named(&change.path))
        .filter_map(|(change, time)| Some((file(change, time)?, &change.path)))
        .collect();
    let of = |(change, time): (&'a Change, &Option<Dated>)| {
        let other = file(change, time).and_then(|file| named.get(&file).copied());
        Changed {
            path: other
                .filter(|_| !is_named(&change.path))
                .unwrap_or(&change.path),
            at: time.map(|time| time.at),
        }
    };
    dated().map(of).collect()
}

/// Returns whether a path may have been moved during a pause between two tools of a step.
fn is_moved_between(
    evidence: &Evidence<'_>,
    step: usize,
    path: &WorkspacePath,
    time: Option<Dated>,
) -> bool {
    let span = time.and_then(|time| Some((time.since?, time.at)));
    span.is_some_and(|(since, at)| evidence.paused(step, path, since, at))
}

fn rows_of(
    change: &Change,
    verdict: Verdict,
    steps: &[&OpenStep],
    from: Option<i64>,
) -> Vec<ChangeRow> {
    let row = |step: Option<usize>, attribution, reason: Option<String>| ChangeRow {
        id: None,
        step_id: step.map(|step| steps[step].row.id.clone()),
        attribution,
        reason,
        from_snapshot_id: from,
        to_snapshot_id: None,
        change: change.clone(),
        lines: None,
    };
    match in_this_workspace(verdict, steps.len()) {
        Verdict::Outside => vec![row(None, Attribution::Outside, None)],
        Verdict::Agent(step) => vec![row(Some(step), Attribution::Agent, None)],
        Verdict::Shared(steps) => steps
            .into_iter()
            .map(|step| row(Some(step), Attribution::Shared, None))
            .collect(),
        Verdict::Unclear(steps, doubt) => steps
            .into_iter()
            .map(|step| row(Some(step), Attribution::Unclear, Some(doubt.to_string())))
            .collect(),
    }
}

/// Returns the verdict as far as it is about the workspace that the first `own` steps belong to. A change by a step in another
/// workspace is reported there; here it is outside.
fn in_this_workspace(verdict: Verdict, own: usize) -> Verdict {
    let only_own = |mut steps: Vec<usize>| {
        steps.retain(|step| *step < own);
        steps
    };
    match verdict {
        // The steps behind the first `own` are those of other workspaces. Each look records changes for its own
        // workspace only: otherwise one edit would be two changes, and two reverts would undo it.
        Verdict::Agent(step) if step >= own => Verdict::Outside,
        Verdict::Shared(steps) => Verdict::Shared(only_own(steps)),
        Verdict::Unclear(steps, doubt) => match only_own(steps) {
            steps if steps.is_empty() => Verdict::Outside,
            steps => Verdict::Unclear(steps, doubt),
        },
        Verdict::Agent(_) | Verdict::Outside => verdict,
    }
}

/// Returns a step as the evidence weighs it.
pub(super) fn step_of(acting: &StepActivity<'_>) -> evidence::Step {
    let step = acting.step;
    let went_on =
        |tool: &&ToolRow| tool.is_in_background || acting.is_over && tool.finished_at.is_none();
    let left = |tool: &ToolRow| match tool.is_in_background {
        // What a command starts is not bound to the files that its tool named.
        true => evidence::Tool {
            reach: Reach::Anything,
            ..tool_of(tool)
        },
        false => tool_of(tool),
    };
    evidence::Step {
        root: step.root_session_id.clone(),
        started_at: step.started_at,
        tells_of_tools: step.tool_events,
        tools: step.tools.iter().map(tool_of).collect(),
        standing: acting.standing,
        signs: acting.signs,
        background: step.tools.iter().filter(went_on).map(left).collect(),
        died_at: acting.signs.is_dead.then_some(acting.signs.last),
        is_over: acting.is_over,
    }
}

/// Returns a tool as evidence sees it. An edit tool without a known file in the workspace may have changed any.
pub(super) fn tool_of(tool: &ToolRow) -> evidence::Tool {
    let reach = match tool.kind {
        Some(ToolKind::Read) => Reach::Nothing,
        _ if !tool.paths.is_empty() => Reach::Files(tool.paths.clone()),
        Some(ToolKind::Edit) | None => Reach::Anything,
    };
    evidence::Tool {
        reach,
        announced_at: tool.started_at,
        ended_at: tool.finished_at,
        ran_for: tool.ran_for,
        waited_at: tool.waited_at,
        is_unheard: tool.is_unheard,
    }
}

/// Returns the files that a step named and that an ignore rule hides. Such a file comes into view because a tool names
/// it, and goes out of view again, so the difference between two snapshots may look like a creation or a deletion.
/// Instead, its state is noted when the tool names it, and compared once, when the step closes.
fn hidden(step: &OpenStep) -> impl Iterator<Item = &WorkspacePath> {
    let hidden = step
        .paths
        .iter()
        .filter(|named| named.hidden_before.is_some());
    hidden.map(|named| &named.path)
}

/// Joins the changes of one step, oldest first, that continue each other; returns the rows to remove and the rows to
/// add.
///
/// A file that was changed and changed back counts as unchanged.
pub(crate) fn consolidate(rows: &[ChangeRow]) -> (Vec<i64>, Vec<ChangeRow>) {
    /// The rows that were joined, and the change that they make together.
    type Joined = (Vec<Option<i64>>, ChangeRow);
    let mut chains: std::collections::BTreeMap<&WorkspacePath, Vec<Joined>> =
        std::collections::BTreeMap::new();
    for row in rows {
        let chain = chains.entry(&row.change.path).or_default();
        match chain.last_mut() {
            Some((ids, last))
                // Otherwise a change of another author lies in between, and undoing the two as one would undo that, too.
                if last.change.new == row.change.old && last.attribution == row.attribution =>
            {
                ids.push(row.id);
                last.change.new = row.change.new;
                last.to_snapshot_id = row.to_snapshot_id;
                last.lines = None;
            }
            _ => chain.push((vec![row.id], row.clone())),
        }
    }
    let mut removed = Vec::new();
    let mut added = Vec::new();
    for (ids, row) in chains.into_values().flatten() {
        // A single row that is in the database already says what it is to say.
        let stays = ids.len() == 1 && row.id.is_some();
        if stays {
            continue;
        }
        removed.extend(ids.into_iter().flatten());
        if row.change.old != row.change.new {
            added.push(row);
        }
    }
    (removed, added)
}

/// Returns how many lines a change adds and removes, or `None` for content without lines. `read` returns a blob.
pub(crate) fn count_with(
    change: &Change,
    read: impl Fn(ObjectId) -> Option<Vec<u8>>,
) -> Option<(u64, u64)> {
    if change
        .old
        .zip(change.new)
        .is_some_and(|(old, new)| old.is_stored() && old.blob == new.blob)
    {
        return Some((0, 0));
    }
    let bytes = |state: State| match state {
        None => Some(Vec::new()),
        Some(entry) if entry.mode.kind() == EntryKind::Directory => Some(Vec::new()),
        Some(entry) => read(entry.blob?),
    };
    lines::count(&bytes(change.old)?, &bytes(change.new)?)
}
