//! The history of git's state since a message, with the author of each change. This module does IO, but only reads.
//!
//! A change between two snapshots belongs to the step that was open between them. After Esc, or while the agent waits
//! for permission, the user commits in an open step: if HEAD's reflog has a move at a time that is not the step's, all of
//! the change stays.

use std::ops::RangeInclusive;

use crate::error::Result;
use crate::model::Milliseconds;
use crate::model::id::short;
use crate::model::path::WorkspacePath;
use crate::model::request::Unclear;
use crate::revert::request::history::Author;
use crate::revert::request::movement::Movement;
use crate::sessions::{self, GitOperation, SeenGit, StepSpan};
use crate::timeline::evidence::{self, Changed, Evidence, Verdict};
use crate::timeline::step_afterwards;

use super::plan::{GitChange, GitClaim};
use super::reflog::{self, RefMove};
use super::refs::Refs;
use super::repository::Repository;
use super::side::GitSide;

/// The history of git's state that a movement is about.
#[derive(Default)]
pub(super) struct GitHistory {
    /// The states from the point on: up to the first revert, or up to now.
    pub line: Vec<SeenGit>,
    /// The changes from each to the next, newest first.
    pub changes: Vec<GitChange>,
    /// The other refs that were written while a step to undo was open.
    pub refs: Refs,
}

/// A step, with the evidence for it.
#[derive(Clone, Debug)]
pub(super) struct Worker {
    pub span: StepSpan,
    pub step: evidence::Step,
}

/// The messages to undo: those of a session from one on.
#[derive(Clone, Copy)]
pub(super) struct UndoneMessages<'a> {
    pub session: &'a str,
    pub message_seq: i64,
    /// Whether unclear changes are undone, too.
    pub unclear: Unclear,
}

impl UndoneMessages<'_> {
    /// Whether a step is to be undone. A message before the point keeps its changes, and nothing is undone twice.
    fn has(&self, span: &StepSpan) -> bool {
        span.session_id == self.session && span.message_seq >= self.message_seq && !span.is_undone
    }
}

impl GitSide<'_> {
    /// Gathers the history since the point of a movement. It is empty for a movement that goes all the way forward.
    pub(super) fn history(
        &self,
        repository: &Repository,
        movement: &Movement,
        base: Option<i64>,
        unclear: Unclear,
    ) -> Result<GitHistory> {
        let line = self.line(movement, base)?;
        let (Some(to), Some(first)) = (&movement.to, line.first()) else {
            return Ok(GitHistory {
                line,
                ..GitHistory::default()
            });
        };
        let undone = UndoneMessages {
            session: &movement.session.id,
            message_seq: to.seq,
            unclear,
        };
        let spans = match first.snapshot_id {
            Some(first) => sessions::step_spans(self.connection, self.place.row.id, first)?,
            None => Vec::new(),
        };
        let head = &repository.location.directory;
        let log = reflog::moves(head, "HEAD", first.taken_at);
        let restores = self.restores(first.snapshot_id)?;
        let mut changes: Vec<GitChange> = Vec::new();
        for pair in line
            .windows(2)
            .filter(|pair| pair[0].state != pair[1].state)
        {
            let Some(mut change) = self.change(&pair[0], &pair[1], &spans, &log, undone)? else {
                continue;
            };
            let (from, to) = (pair[0].snapshot_id, pair[1].snapshot_id);
            let is_restore = |restore: &GitOperation| from <= restore.before && restore.after <= to;
            // What a restore brought has no author, unless it had another one before.
            let mut kept = changes
                .iter()
                .filter(|past| matches!(past.claim, GitClaim::Keep(_)));
            if to.is_some()
                && restores.iter().any(is_restore)
                && !kept.any(|past| past.new.head == change.new.head)
            {
                change.claim = GitClaim::Undo;
            }
            changes.push(change);
        }
        changes.reverse();
        let undone: Vec<&StepSpan> = spans.iter().filter(|span| undone.has(span)).collect();
        let is_undone = |time: RangeInclusive<Milliseconds>| {
            let mut undone = undone.iter();
            undone.any(|span| is_open_in(span, &time))
        };
        let begin = undone.iter().map(|span| span.started_at);
        let refs = match begin.min() {
            Some(since) => Refs::written(repository, since, log, &is_undone),
            None => Refs::default(),
        };
        Ok(GitHistory {
            line,
            changes,
            refs,
        })
    }

    /// Returns the restores since a snapshot that moved git's state.
    fn restores(&self, since: Option<i64>) -> Result<Vec<GitOperation>> {
        let Some(since) = since else {
            return Ok(Vec::new());
        };
        let mut all = sessions::git_operations_since(self.connection, self.place.row.id, since)?;
        all.retain(|operation| {
            operation.is_restore && operation.before.is_some() && operation.after.is_some()
        });
        Ok(all)
    }

    fn line(&self, movement: &Movement, base: Option<i64>) -> Result<Vec<SeenGit>> {
        let first = movement
            .to
            .as_ref()
            .and_then(|message| message.snapshot_id)
            .or(base);
        let mut line = match first {
            Some(first) => sessions::git_line(self.connection, self.place.row.id, first, base)?,
            None => Vec::new(),
        };
        if base.is_none() {
            line.push(SeenGit {
                snapshot_id: None,
                taken_at: self.at,
                state: self.now.cloned(),
            });
        }
        Ok(line)
    }

    /// The change from one snapshot of git's state to the next, with its author. If one side had no repository, nothing
    /// is known.
    fn change(
        &self,
        before: &SeenGit,
        after: &SeenGit,
        spans: &[StepSpan],
        log: &[RefMove],
        undone: UndoneMessages<'_>,
    ) -> Result<Option<GitChange>> {
        let (Some(old), Some(new)) = (&before.state, &after.state) else {
            return Ok(None);
        };
        let (from, to) = (before.snapshot_id, after.snapshot_id);
        let open = spans.iter().filter(|span| covers(span, from, to));
        let at_work = self.workers(open)?;
        let own = at_work
            .iter()
            .find(|worker| worker.span.session_id == undone.session);
        // The same state again has the row of the first look: a step that began at it saw it later.
        let begun = at_work
            .iter()
            .filter(|worker| from == Some(worker.span.start));
        let since = begun.map(|worker| worker.span.started_at).max();
        let since = since.map_or(before.taken_at, |since| since.max(before.taken_at));
        // The signs of an agent's life are weighed as of when the change was seen, however late the revert comes.
        let seen_at = self.at.min(after.taken_at);
        let moves = times_between(log, since, after.taken_at);
        // If this cannot be read, the change is not called the user's either.
        let unrecorded = sessions::was_unrecorded(self.connection, self.place.row.id, from, to);
        let outside = GitClaim::of_no_step(Author::without_step(unrecorded.unwrap_or(true)));
        let claim = claim(&at_work, &moves, seen_at, undone, outside);
        Ok(Some(GitChange {
            old: old.clone(),
            new: new.clone(),
            claim,
            begin: own.map(|own| own.span.started_at),
        }))
    }

    /// The steps with their evidence. A step without a start snapshot is not known to have moved anything.
    fn workers<'s>(&self, spans: impl Iterator<Item = &'s StepSpan>) -> Result<Vec<Worker>> {
        let mut workers = Vec::new();
        for span in spans {
            let step = sessions::step_with_tools(self.connection, &span.step_id)?;
            if let Some(step) = step.filter(|step| step.row.unprotected.is_none()) {
                let mut step = step_afterwards(&step, span.finished_at, self.at);
                step.root.clone_from(&span.session_id);
                let span = span.clone();
                workers.push(Worker { span, step });
            }
        }
        Ok(workers)
    }
}

/// Returns whether a step was open at some time of a range. The kernel stamps files with the time of its last tick, so a
/// move may look a bit earlier than the step that made it.
pub(super) fn is_open_in(span: &StepSpan, time: &RangeInclusive<Milliseconds>) -> bool {
    let is_ended = span
        .finished_at
        .is_some_and(|finish| finish < *time.start());
    span.started_at <= time.end().saturating_add(evidence::TICK) && !is_ended
}

/// Returns whether a step was open all the time between two consecutive snapshots; `None` means now.
fn covers(span: &StepSpan, from: Option<i64>, to: Option<i64>) -> bool {
    let is_open_until = |finish| to.is_some_and(|to| finish >= to);
    from.is_some_and(|from| span.start <= from) && span.finish.is_none_or(is_open_until)
}

/// Returns the times of HEAD's moves between two looks. A move may have been made up to the end of its second.
fn times_between(log: &[RefMove], from: Milliseconds, to: Milliseconds) -> Vec<Milliseconds> {
    let seconds = log.iter().map(|line| &line.second);
    let during = seconds.filter(|second| *second.end() >= from && *second.start() <= to);
    during.map(|second| *second.end().min(&to)).collect()
}

/// Decides whose a change is that came between two looks, with the times of its moves in HEAD's reflog. It is undone only
/// if all of them are the agent's. `outside` is the claim if no recorded step was at work.
fn claim(
    at_work: &[Worker],
    moves: &[Milliseconds],
    seen_at: Milliseconds,
    undone: UndoneMessages<'_>,
    outside: GitClaim,
) -> GitClaim {
    let head = WorkspacePath::new("HEAD").expect("a plain name");
    let steps: Vec<evidence::Step> = at_work.iter().map(|worker| worker.step.clone()).collect();
    let changed = |at| Changed { path: &head, at };
    let mut changes: Vec<Changed<'_>> = moves.iter().map(|at| changed(Some(*at))).collect();
    if changes.is_empty() {
        changes.push(changed(None));
    }
    let evidence = Evidence::new(&steps, &changes, seen_at);
    let judge = |change: &Changed<'_>| {
        let verdict = evidence.judge(*change, None);
        of_verdict(verdict, at_work, undone).unwrap_or_else(|| outside.clone())
    };
    let claims: Vec<GitClaim> = changes.iter().map(judge).collect();
    let mut kept = claims.iter().filter(|claim| **claim != GitClaim::Undo);
    match kept.next() {
        None => GitClaim::Undo,
        Some(GitClaim::Keep(by)) if claims.contains(&GitClaim::Undo) => {
            GitClaim::Shared(by.clone())
        }
        Some(claim) => claim.clone(),
    }
}

fn of_verdict(
    verdict: Verdict,
    at_work: &[Worker],
    undone: UndoneMessages<'_>,
) -> Option<GitClaim> {
    let span = |step: usize| &at_work[step].span;
    let name = |step: usize| {
        let span = span(step);
        format!("{} (session `{}`)", span.agent, short(&span.session_id))
    };
    let is_undone = |step: &usize| undone.has(span(*step));
    Some(match verdict {
        Verdict::Outside => return None,
        Verdict::Agent(step) if is_undone(&step) => GitClaim::Undo,
        Verdict::Agent(step) => GitClaim::Keep(name(step)),
        Verdict::Shared(steps) => {
            let is_other = |step: &usize| span(*step).session_id != undone.session;
            let other = steps.iter().copied().find(is_other);
            let other = name(other.unwrap_or(steps[0]));
            match steps.iter().any(is_undone) {
                true => GitClaim::Shared(other),
                false => GitClaim::Keep(other),
            }
        }
        Verdict::Unclear(steps, _) if !steps.iter().any(is_undone) => {
            GitClaim::Keep(name(steps[0]))
        }
        Verdict::Unclear(..) if undone.unclear == Unclear::Take => GitClaim::Undo,
        Verdict::Unclear(_, doubt) => GitClaim::Unclear(doubt.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::evidence::{Reach, Signs, Step, StepStanding, Tool};

    /// A second of the tests.
    const S: Milliseconds = 1000;

    /// A step with a tool that runs from 10.3 to 10.6.
    fn worker(session: &str, message_seq: i64) -> Worker {
        let tool = Tool {
            reach: Reach::Anything,
            announced_at: 10_300,
            ended_at: Some(10_600),
            ran_for: None,
            waited_at: None,
            is_unheard: false,
        };
        Worker {
            span: StepSpan {
                step_id: session.to_owned(),
                session_id: session.to_owned(),
                agent: "pi".to_owned(),
                message_seq,
                start: 1,
                finish: Some(2),
                started_at: 10_300,
                finished_at: Some(20 * S),
                is_undone: false,
            },
            step: Step {
                root: session.to_owned(),
                started_at: 10_300,
                tells_of_tools: true,
                tools: vec![tool],
                standing: StepStanding::Finished,
                signs: Signs::default(),
                background: Vec::new(),
                died_at: None,
                is_over: false,
            },
        }
    }

    fn outside() -> GitClaim {
        GitClaim::of_no_step(Author::User)
    }

    fn claimed(workers: &[Worker], moves: &[Milliseconds]) -> GitClaim {
        claimed_later(workers, moves, 20 * S)
    }

    fn claimed_later(
        workers: &[Worker],
        moves: &[Milliseconds],
        seen_at: Milliseconds,
    ) -> GitClaim {
        let undone = UndoneMessages {
            session: "s",
            message_seq: 5,
            unclear: Unclear::Keep,
        };
        claim(workers, moves, seen_at, undone, outside())
    }

    /// A line has whole seconds: a move counts as of the end of its second, or as of the look that saw it.
    #[test]
    fn moves_between_two_looks_are_dated() {
        let log = [9, 10, 11, 12, 14].map(|second| RefMove {
            old: None,
            new: None,
            second: second * S..=second * S + 999,
            what: String::new(),
        });
        let times = times_between(&log, 10_500, 12_300);
        assert_eq!(times, [10_999, 11_999, 12_300]);
    }

    #[test]
    fn change_belongs_to_the_step_that_was_open() {
        let own = worker("s", 5);
        assert_eq!(claimed(std::slice::from_ref(&own), &[]), GitClaim::Undo);
        assert_eq!(claimed(&[], &[]), outside(), "no step was open");
        let mut cut = own.clone();
        cut.step.standing = StepStanding::Cut;
        cut.step.tools[0].ended_at = None;
        cut.step.signs.last = 11 * S;
        let found = claimed_later(&[cut], &[], 4000 * S);
        assert!(matches!(found, GitClaim::Unclear(_)), "{found:?}");
        let kept = GitClaim::Keep("pi (session `s`)".to_owned());
        let before = [worker("s", 4)];
        assert_eq!(claimed(&before, &[]), kept, "before the point");
        let shared = GitClaim::Shared("pi (session `t`)".to_owned());
        assert_eq!(claimed(&[own, worker("t", 6)], &[]), shared, "of two");
    }

    /// Change is undone only if each move is the steps.
    #[test]
    fn change_needs_every_move_to_be_the_steps() {
        let own = [worker("s", 5)];
        let (before, in_tool, after) = (5 * S, 10 * S + 500, 15 * S);
        assert_eq!(claimed(&own, &[in_tool]), GitClaim::Undo);
        let unclear = "changed 4 seconds after the agent's tool ended";
        let unclear = GitClaim::Unclear(unclear.to_owned());
        assert_eq!(claimed(&own, &[in_tool, after]), unclear, "one of two");
        assert_eq!(claimed(&own, &[after]), unclear, "it may be the user's");
        let user = GitClaim::Shared("you or another program".to_owned());
        assert_eq!(claimed(&own, &[before, in_tool]), user);
        assert_eq!(claimed(&own, &[before]), outside(), "no tool ran yet");
    }
}
