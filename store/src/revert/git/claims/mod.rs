//! Decides whose each move of git's state is, from the line of snapshots, the steps that were at work, and the times
//! that git itself noted. Pure.
//!
//! A step that was open says where a move may come from, not whose it is: after Esc, or while the agent waits for
//! permission, the user commits. So moves are weighed like changes of files ([`evidence`]), by the times of the
//! reflog's lines. Without such a line, events alone decide.

#[cfg(test)]
mod tests;

use super::branches::BranchLog;
use super::plan::{GitChange, GitClaim, StepTimes};
use super::reflog::{Moment, RefMove};
use crate::model::Milliseconds;
use crate::model::git_item::GitStateRow;
use crate::model::path::WorkspacePath;
use crate::model::request::Unclear;
use crate::revert::history::Author;
use crate::revert::short;
use crate::sessions::{SeenGit, StepSpan};
use crate::timeline::evidence::{self, Changed, Evidence, Verdict};

/// A step, with the evidence for it.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    pub span: StepSpan,
    pub step: evidence::Step,
}

/// The messages to undo: those of a session from one on.
#[derive(Clone, Copy)]
pub(crate) struct UndoneMessages<'a> {
    pub session: &'a str,
    pub message_seq: i64,
    /// Whether unclear moves are undone, too.
    pub unclear: Unclear,
    pub now: Milliseconds,
    /// Returns whether an unrecorded step was at work between two snapshots.
    pub is_unrecorded: &'a dyn Fn(Option<i64>, Option<i64>) -> bool,
}

/// Returns what changed from each state to the next, newest first, with its author. If one side had no repository,
/// nothing is known. `log` is HEAD's reflog.
pub(crate) fn changes(
    line: &[SeenGit],
    workers: &[Worker],
    log: &[RefMove],
    since: UndoneMessages<'_>,
) -> Vec<GitChange> {
    let mut changes: Vec<GitChange> = line
        .windows(2)
        .flat_map(|pair| changes_between(&pair[0], &pair[1], workers, log, since))
        .collect();
    changes.reverse();
    changes
}

/// Returns what changed from one look at git's state to the next, with the author of each part: one change if all of
/// it is the same author's.
fn changes_between(
    before: &SeenGit,
    after: &SeenGit,
    workers: &[Worker],
    log: &[RefMove],
    since: UndoneMessages<'_>,
) -> Vec<GitChange> {
    let (Some(old), Some(new)) = (&before.state, &after.state) else {
        return Vec::new();
    };
    if old == new {
        return Vec::new();
    }
    let (from, to) = (before.snapshot_id, after.snapshot_id);
    let at_work: Vec<&Worker> = workers
        .iter()
        .filter(|worker| covers(&worker.span, from, to))
        .collect();
    let own = at_work
        .iter()
        .find(|worker| worker.span.session_id == since.session);
    let span = own.map(|own| (own.span.started_at, own.span.finished_at));
    let nobody = || GitClaim::of_nobody(Author::nobody((since.is_unrecorded)(from, to)));
    let moves = between(log, before, after);
    // The signs of an agent's life are weighed as of when the move was seen, however late the revert comes.
    let since = UndoneMessages {
        now: since.now.min(after.taken_at),
        ..since
    };
    let claims: Vec<GitClaim> = weigh(&at_work, &moments(&moves), since)
        .into_iter()
        .map(|claim| claim.unwrap_or_else(nobody))
        .collect();
    parts(old, new, &moves, &claims, span)
}

/// Whether one commit is an ancestor of another, and whether a move was made in another worktree.
pub(crate) type MoveQueries<'a> = (&'a dyn Fn(&str, &str) -> bool, &'a dyn Fn(&RefMove) -> bool);

/// Returns each line of a branch's reflog with its author. `changes` narrow the seconds of the lines at which steps
/// begin and end.
pub(crate) fn branch_log(
    branch: &str,
    log: Vec<RefMove>,
    workers: &[Worker],
    changes: &[GitChange],
    (is_before, is_elsewhere): MoveQueries<'_>,
    since: UndoneMessages<'_>,
) -> BranchLog {
    let claimed = |mut line: RefMove| {
        if is_elsewhere(&line) {
            let other = "somebody who works in another worktree".to_owned();
            return (line, GitClaim::Keep(other));
        }
        line.moment = narrowed(branch, &line, changes, is_before);
        let claim = claim_at(workers, line.moment, since);
        (line, claim)
    };
    log.into_iter().map(claimed).collect()
}

/// Returns whose a move at a moment is.
pub(crate) fn claim_at(workers: &[Worker], moment: Moment, since: UndoneMessages<'_>) -> GitClaim {
    let all: Vec<&Worker> = workers.iter().collect();
    let nobody = || GitClaim::of_nobody(Author::User);
    candidates(&all, moment)
        .into_iter()
        .map(|exact| claim_exactly_at(workers, exact, since).unwrap_or_else(nobody))
        .reduce(|one, other| either(one, other, since))
        .unwrap_or_else(nobody)
}

/// The same for a moment that is known exactly: `None` if no step was open then.
fn claim_exactly_at(
    workers: &[Worker],
    exact: Milliseconds,
    since: UndoneMessages<'_>,
) -> Option<GitClaim> {
    // The kernel stamps files with the time of its last tick, so a move may look a bit earlier than the step that
    // made it.
    let at_work: Vec<&Worker> = workers
        .iter()
        .filter(|worker| {
            worker.span.started_at <= exact.saturating_add(evidence::TICK)
                && worker.span.finished_at.is_none_or(|finish| finish >= exact)
        })
        .collect();
    weigh(&at_work, &[Some(Moment::exact(exact))], since)
        .pop()
        .flatten()
}

/// Returns the times within an inexact moment at which the evidence may change: its ends, and those of the steps and
/// tools.
fn candidates(workers: &[&Worker], moment: Moment) -> Vec<Milliseconds> {
    let ends = workers.iter().flat_map(|worker| {
        let tools = worker.step.tools.iter();
        let of_tools = tools.flat_map(|tool| [Some(tool.announced_at), tool.ended_at]);
        let of_span = [Some(worker.span.started_at), worker.span.finished_at];
        of_tools.chain(of_span).flatten()
    });
    let is_within = |at: &Milliseconds| *at > moment.earliest && *at < moment.latest;
    let mut candidates: Vec<Milliseconds> = ends
        .filter(is_within)
        .chain([moment.earliest, moment.latest])
        .collect();
    candidates.sort_unstable();
    candidates.dedup();
    candidates
}

/// Returns whether a step was open all the time between two consecutive snapshots; `None` means now.
pub(crate) fn covers(span: &StepSpan, from: Option<i64>, to: Option<i64>) -> bool {
    let is_open_until = |finish| to.is_some_and(|to| finish >= to);
    from.is_some_and(|from| span.start <= from) && span.finish.is_none_or(is_open_until)
}

/// Returns the lines of HEAD's reflog between two snapshots. The second in which a snapshot was taken may have more
/// lines: one before the first snapshot does not begin at its state, and one after the second does not lead to its
/// state.
fn between(log: &[RefMove], before: &SeenGit, after: &SeenGit) -> Vec<RefMove> {
    let (from, to) = (before.taken_at, after.taken_at);
    let head = |seen: &SeenGit| seen.state.as_ref().and_then(|state| state.head.clone());
    let is_in_time = |line: &&RefMove| line.moment.latest >= from && line.moment.earliest <= to;
    let mut lines: Vec<RefMove> = log.iter().filter(is_in_time).cloned().collect();
    let first = lines.iter().position(|line| line.old == head(before));
    lines.drain(..first.unwrap_or_default());
    let last = lines.iter().rposition(|line| line.new == head(after));
    lines.truncate(last.map_or(lines.len(), |last| last + 1));
    for line in &mut lines {
        line.moment = line.moment.within(from, to);
    }
    lines
}

/// Returns the times at which it may have happened: one unknown time if the reflog says nothing.
fn moments(moves: &[RefMove]) -> Vec<Option<Moment>> {
    if moves.is_empty() {
        return vec![None];
    }
    moves.iter().map(|line| Some(line.moment)).collect()
}

/// Returns one change, or one for each author in turn who moved the branch. Nobody saw the index in between, so it goes
/// with all of them.
fn parts(
    old: &GitStateRow,
    new: &GitStateRow,
    moves: &[RefMove],
    claims: &[GitClaim],
    span: Option<StepTimes>,
) -> Vec<GitChange> {
    let change = |old: GitStateRow, new: GitStateRow, claim| GitChange {
        old,
        new,
        claim,
        span,
    };
    let all = claims.iter().cloned().reduce(joined);
    let all = all.unwrap_or_else(|| GitClaim::of_nobody(Author::User));
    let is_one = claims.windows(2).all(|pair| pair[0] == pair[1]);
    // Only a log that leads from one state to the other, step by step, can be divided among authors.
    if is_one || old.branch != new.branch || !is_chain(old, new, moves) {
        return vec![change(old.clone(), new.clone(), all)];
    }
    let mut parts: Vec<GitChange> = Vec::new();
    for (line, claim) in moves.iter().zip(claims) {
        let at = |head: &Option<String>| GitStateRow {
            head: head.clone(),
            ..old.clone()
        };
        match parts.last_mut().filter(|last| last.claim == *claim) {
            Some(last) => last.new = at(&line.new),
            None => parts.push(change(at(&line.old), at(&line.new), claim.clone())),
        }
    }
    let moved = GitStateRow {
        head: new.head.clone(),
        ..old.clone()
    };
    if moved != *new {
        parts.push(change(moved, new.clone(), all));
    }
    parts
}

/// Returns whether the lines lead from one state to the other on one branch.
fn is_chain(old: &GitStateRow, new: &GitStateRow, moves: &[RefMove]) -> bool {
    let is_on_branch = |line: &RefMove| !line.what.starts_with("checkout: moving");
    let at = moves.iter().try_fold(&old.head, |at, line| {
        (is_on_branch(line) && line.old == *at).then_some(&line.new)
    });
    at == Some(&new.head)
}

/// Joins two claims on one change: what cannot be taken apart is not undone.
fn joined(one: GitClaim, other: GitClaim) -> GitClaim {
    match (one, other) {
        (one, other) if one == other => one,
        (GitClaim::Shared(with), _) | (_, GitClaim::Shared(with)) => GitClaim::Shared(with),
        (GitClaim::Unclear(why), _) | (_, GitClaim::Unclear(why)) => GitClaim::Unclear(why),
        (GitClaim::Undo, GitClaim::Keep(by)) | (GitClaim::Keep(by), _) => GitClaim::Shared(by),
        (GitClaim::Undo, GitClaim::Undo) => GitClaim::Undo,
    }
}

/// Returns the author for each of several moments, or `None` if no recorded step was open.
fn weigh(
    at_work: &[&Worker],
    moments: &[Option<Moment>],
    since: UndoneMessages<'_>,
) -> Vec<Option<GitClaim>> {
    let head = WorkspacePath::new("HEAD").expect("a plain name");
    let steps: Vec<evidence::Step> = at_work.iter().map(|worker| worker.step.clone()).collect();
    let changed = |at| Changed { path: &head, at };
    let candidates = |moment: Option<Moment>| match moment {
        Some(moment) => candidates(at_work, moment).into_iter().map(Some).collect(),
        None => vec![None],
    };
    // All at once: which of them came in one run of writes is evidence, too.
    let moments: Vec<Vec<Option<Milliseconds>>> = moments.iter().copied().map(candidates).collect();
    let times: Vec<Changed<'_>> = moments.iter().flatten().copied().map(changed).collect();
    let evidence = Evidence::new(&steps, &times, since.now);
    let claim = |at| of_verdict(evidence.judge(changed(at), None), at_work, since);
    let either = |one, other| either_known(one, other, since);
    let claims = moments
        .iter()
        .map(|times| times.iter().copied().map(claim).reduce(either).flatten());
    claims.collect()
}

/// Returns whose a move is that is one of these two. Where nothing is known of one of them, it is the user's.
fn either_known(
    one: Option<GitClaim>,
    other: Option<GitClaim>,
    since: UndoneMessages<'_>,
) -> Option<GitClaim> {
    if one.is_none() && other.is_none() {
        return None;
    }
    let nobody = || GitClaim::of_nobody(Author::User);
    let (one, other) = (one.unwrap_or_else(nobody), other.unwrap_or_else(nobody));
    Some(either(one, other, since))
}

fn of_verdict(
    verdict: Verdict,
    at_work: &[&Worker],
    since: UndoneMessages<'_>,
) -> Option<GitClaim> {
    let span = |step: usize| &at_work[step].span;
    let name = |step: usize| {
        let span = span(step);
        format!("{} (session `{}`)", span.agent, short(&span.session_id))
    };
    let is_own = |step: &usize| span(*step).session_id == since.session;
    // A message before the point keeps what it did, and nothing is undone twice.
    let is_undone = |step: &usize| {
        is_own(step) && span(*step).message_seq >= since.message_seq && !span(*step).is_undone
    };
    Some(match verdict {
        Verdict::Outside => return None,
        Verdict::Agent(step) if is_undone(&step) => GitClaim::Undo,
        Verdict::Agent(step) => GitClaim::Keep(name(step)),
        Verdict::Shared(steps) => {
            let other = steps.iter().copied().find(|step| !is_own(step));
            let other = name(other.unwrap_or(steps[0]));
            match steps.iter().any(is_undone) {
                true => GitClaim::Shared(other),
                false => GitClaim::Keep(other),
            }
        }
        Verdict::Unclear(steps, _) if !steps.iter().any(is_undone) => {
            GitClaim::Keep(name(steps[0]))
        }
        Verdict::Unclear(..) if since.unclear == Unclear::Take => GitClaim::Undo,
        Verdict::Unclear(_, doubt) => GitClaim::Unclear(doubt.to_string()),
    })
}

/// Joins two claims on a move that happened at one of two moments of a second. A second in which an undone step was at
/// work goes to that step, even if nobody was at work, or nothing is certain, in the rest of it. Evidence to the
/// contrary would have narrowed the moment.
fn either(one: GitClaim, other: GitClaim, since: UndoneMessages<'_>) -> GitClaim {
    let is_kept = |claim: &GitClaim| matches!(claim, GitClaim::Keep(_));
    let leaves_it = |claim: &GitClaim| match claim {
        GitClaim::Keep(by) => *by == Author::User.to_string(),
        GitClaim::Undo | GitClaim::Unclear(_) => true,
        GitClaim::Shared(_) => false,
    };
    if one == other {
        return one;
    }
    if is_kept(&one) && is_kept(&other) {
        return if leaves_it(&one) { other } else { one };
    }
    match (one, other) {
        (GitClaim::Undo, rest) | (rest, GitClaim::Undo) if leaves_it(&rest) => GitClaim::Undo,
        (GitClaim::Shared(with), _) | (_, GitClaim::Shared(with)) => GitClaim::Shared(with),
        _ if since.unclear == Unclear::Take => GitClaim::Undo,
        (GitClaim::Unclear(why), _) | (_, GitClaim::Unclear(why)) => GitClaim::Unclear(why),
        _ => GitClaim::Unclear("in the second in which the agent's tool began or ended".to_owned()),
    }
}

/// Returns the moment of a line, narrowed by changes. A line that continues from the state that a step found is later
/// than the step's start; a line that leads to the state that the step left is earlier than its end.
fn narrowed(
    branch: &str,
    line: &RefMove,
    changes: &[GitChange],
    is_before: &dyn Fn(&str, &str) -> bool,
) -> Moment {
    let mut moment = line.moment;
    for GitChange { old, new, span, .. } in changes {
        let Some((begin, end)) = *span else { continue };
        let is_on = old.branch.as_deref() == Some(branch);
        if is_on && old.head == line.old && (moment.earliest..=moment.latest).contains(&begin) {
            moment.earliest = begin;
        }
        let Some(end) = end.filter(|end| (moment.earliest..=moment.latest).contains(end)) else {
            continue;
        };
        let reached = line.new.as_deref().zip(new.head.as_deref());
        if reached.is_some_and(|(new, head)| is_before(new, head)) {
            moment.latest = end;
        }
    }
    moment
}
