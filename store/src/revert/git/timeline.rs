//! Whose each change of git's state is: the line of snapshots, laid beside the steps that were at work. Pure.

use crate::model::Milliseconds;
use crate::model::git_item::GitStateRow;
use crate::revert::history::Author;
use crate::revert::short;
use crate::sessions::{SeenGit, StepSpan};

use super::plan::{GitChange, GitClaim};

/// What is to be undone: a session's messages from one on.
#[derive(Clone, Copy)]
pub(crate) struct Since<'a> {
    pub session: &'a str,
    pub message_seq: i64,
    /// Whether a step that was not recorded was at work between two snapshots.
    pub is_unrecorded: &'a dyn Fn(Option<i64>, Option<i64>) -> bool,
}

/// Returns what changed from each state to the next and whose it is, newest first; where there was no repository on one side,
/// nothing is known.
pub(crate) fn changes(line: &[SeenGit], spans: &[StepSpan], since: Since<'_>) -> Vec<GitChange> {
    let changes = line.windows(2).filter_map(|pair| {
        let [before, after] = pair else { return None };
        let (old, new): (&GitStateRow, &GitStateRow) =
            (before.state.as_ref()?, after.state.as_ref()?);
        (old != new).then(|| {
            let (from, to) = (before.snapshot_id, after.snapshot_id);
            let at_work: Vec<_> = spans.iter().filter(|span| covers(span, from, to)).collect();
            let claim = match claim(&at_work, since) {
                None => GitClaim::Keep(nobody((since.is_unrecorded)(from, to)).to_string()),
                Some(claim) => claim,
            };
            let own = at_work.iter().find(|span| span.session_id == since.session);
            let span = own.map(|span| {
                (
                    span.started_at,
                    span.finished_at.unwrap_or(Milliseconds::MAX),
                )
            });
            GitChange {
                old: old.clone(),
                new: new.clone(),
                claim,
                span: span.unwrap_or_default(),
            }
        })
    });
    let mut changes: Vec<GitChange> = changes.collect();
    changes.reverse();
    changes
}

/// Returns whether a step was at work all the time between two snapshots that follow each other; none stands for now.
pub(crate) fn covers(span: &StepSpan, from: Option<i64>, to: Option<i64>) -> bool {
    let is_open_until = |finish| to.is_some_and(|to| finish >= to);
    from.is_some_and(|from| span.start <= from) && span.finish.is_none_or(is_open_until)
}

fn nobody(is_unrecorded: bool) -> Author {
    if is_unrecorded {
        Author::Unrecorded
    } else {
        Author::User
    }
}

/// None where no step was at work that was recorded.
fn claim(at_work: &[&StepSpan], since: Since<'_>) -> Option<GitClaim> {
    let is_own = |span: &&&StepSpan| span.session_id == since.session;
    let name = |span: &StepSpan| format!("{} (session `{}`)", span.agent, short(&span.session_id));
    let own = at_work.iter().find(is_own);
    let other = at_work.iter().find(|span| !is_own(span));
    Some(match (own, other) {
        (None, None) => return None,
        (None, Some(other)) => GitClaim::Keep(name(other)),
        // A message before the point keeps what it did; what was undone once is not undone again.
        (Some(own), _) if own.message_seq < since.message_seq || own.is_undone => {
            GitClaim::Keep(name(own))
        }
        (Some(_), Some(other)) => GitClaim::Shared(name(other)),
        (Some(_), None) => GitClaim::Undo,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(snapshot_id: i64, commit: &str) -> SeenGit {
        let state = GitStateRow {
            head: Some(commit.to_owned()),
            ..GitStateRow::default()
        };
        SeenGit {
            snapshot_id: Some(snapshot_id),
            state: Some(state),
        }
    }

    fn span(session: &str, message_seq: i64, start: i64, finish: Option<i64>) -> StepSpan {
        StepSpan {
            session_id: session.to_owned(),
            agent: "pi".to_owned(),
            message_seq,
            start,
            finish,
            started_at: 0,
            finished_at: None,
            is_undone: false,
        }
    }

    fn claims(spans: &[StepSpan]) -> Vec<GitClaim> {
        let line = [seen(1, "a"), seen(2, "b"), seen(3, "b"), seen(4, "c")];
        let since = Since {
            session: "s",
            message_seq: 5,
            is_unrecorded: &|from, _| from == Some(1) && spans.is_empty(),
        };
        changes(&line, spans, since)
            .into_iter()
            .map(|change| change.claim)
            .collect()
    }

    #[test]
    fn a_change_belongs_to_the_step_that_was_open_in_between() {
        let user = GitClaim::Keep("the user".to_owned());
        let unsure = GitClaim::Keep("the user, or in a step that was not recorded".to_owned());
        assert_eq!(
            claims(&[]),
            [user.clone(), unsure],
            "b to c and a to b, when one was at work; nothing from b to b"
        );
        assert_eq!(
            claims(&[span("s", 5, 1, Some(2))]),
            [user.clone(), GitClaim::Undo],
            "a to b is the step's"
        );
        assert_eq!(
            claims(&[span("s", 5, 3, None)]),
            [GitClaim::Undo, user],
            "an open step goes on up to now"
        );
    }

    #[test]
    fn what_two_sessions_saw_and_what_came_before_the_point_is_not_undone() {
        let other = "pi (session `t`)".to_owned();
        let both = [span("s", 5, 1, Some(4)), span("t", 6, 3, Some(4))];
        assert_eq!(
            claims(&both),
            [GitClaim::Shared(other), GitClaim::Undo],
            "only where both were open"
        );
        let own = GitClaim::Keep("pi (session `s`)".to_owned());
        assert_eq!(
            claims(&[span("s", 4, 1, Some(4))]),
            [own.clone(), own],
            "of an earlier message"
        );
    }
}
