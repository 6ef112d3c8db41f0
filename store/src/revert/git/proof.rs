//! What a branch's own reflog proves of who moved it, where no snapshot saw HEAD on it: an agent commits and makes another
//! branch in one step. Pure.
//!
//! A reflog has whole seconds. So a line counts as a step's where it follows on what the step found, or came a second after the
//! step began; and where it was over a second before the step ended, or put there what HEAD came to by then. What is left in
//! doubt is not the agent's.

use super::plan::{GitChange, GitClaim};
use super::reflog::RefMove;

/// A branch, from where it is to be to where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way<'a> {
    pub branch: &'a str,
    pub from: Option<&'a str>,
    pub to: Option<&'a str>,
}

/// Returns whether all lines of the way are those of steps that are undone.
pub(super) fn is_the_agents(
    way: Way<'_>,
    moves: &[RefMove],
    changes: &[GitChange],
    is_before: &dyn Fn(&str, &str) -> bool,
) -> bool {
    let Some(first) = moves
        .iter()
        .rposition(|line| line.old.as_deref() == way.from)
    else {
        return false;
    };
    let mut at = way.from;
    let mut step = None;
    for line in &moves[first..] {
        let ends = |change: &&GitChange| ends_in_time(line, change, is_before);
        let begins = |change: &&GitChange| begins_in_time(line, change, way.branch);
        let undone = || {
            changes
                .iter()
                .filter(|change| change.claim == GitClaim::Undo)
        };
        step = step
            .filter(ends)
            .or_else(|| undone().find(|change| begins(change) && ends(change)));
        if step.is_none() || line.old.as_deref() != at {
            return false;
        }
        at = line.new.as_deref();
    }
    at == way.to
}

fn begins_in_time(line: &RefMove, change: &GitChange, branch: &str) -> bool {
    let (begin, _) = change.span;
    let found = change.old.branch.as_deref() == Some(branch) && change.old.head == line.old;
    line.time >= begin / 1000 && (found || line.time * 1000 >= begin)
}

fn ends_in_time(
    line: &RefMove,
    change: &GitChange,
    is_before: &dyn Fn(&str, &str) -> bool,
) -> bool {
    let (_, end) = change.span;
    let is_known = || {
        line.new
            .as_deref()
            .zip(change.new.head.as_deref())
            .is_some_and(|(new, head)| is_before(new, head))
    };
    line.time <= end / 1000 && ((line.time + 1).saturating_mul(1000) <= end || is_known())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::git_item::GitStateRow;

    fn line(old: &str, new: &str, time: i64) -> RefMove {
        RefMove {
            old: Some(old.to_owned()),
            new: Some(new.to_owned()),
            time,
        }
    }

    /// A step from second 10 to second 20 and a half that found `main` at `a` and left HEAD on `x` at `c`.
    fn step(claim: GitClaim) -> GitChange {
        let state = |branch: &str, head: &str| GitStateRow {
            head: Some(head.to_owned()),
            branch: Some(format!("refs/heads/{branch}")),
            ..GitStateRow::default()
        };
        GitChange {
            old: state("main", "a"),
            new: state("x", "c"),
            claim,
            span: (10_500, 20_500),
        }
    }

    fn is_proven(moves: &[RefMove], to: &str, change: GitChange) -> bool {
        let way = Way {
            branch: "refs/heads/main",
            from: Some("a"),
            to: Some(to),
        };
        is_the_agents(way, moves, &[change], &|one, other| one <= other)
    }

    #[test]
    fn lines_between_the_start_and_the_finish_that_begin_where_it_started_are_the_steps() {
        let undone = || step(GitClaim::Undo);
        assert!(
            is_proven(&[line("a", "b", 15)], "b", undone()),
            "in the middle of it"
        );
        assert!(
            is_proven(&[line("a", "b", 10), line("b", "c", 10)], "c", undone()),
            "it found `a`, so this came after"
        );
        assert!(
            is_proven(&[line("a", "b", 20)], "b", undone()),
            "in its last second, and HEAD had it at the end"
        );
        assert!(
            is_proven(&[line("0", "a", 3), line("a", "b", 15)], "b", undone()),
            "what was before is no matter"
        );
    }

    #[test]
    fn whatever_is_in_doubt_is_not() {
        let undone = || step(GitClaim::Undo);
        assert!(!is_proven(&[], "b", undone()), "there is no log");
        assert!(!is_proven(&[line("a", "b", 9)], "b", undone()), "before it");
        assert!(!is_proven(&[line("a", "b", 21)], "b", undone()), "after it");
        assert!(
            !is_proven(&[line("a", "d", 20)], "d", undone()),
            "in its last second, and it never had that commit"
        );
        assert!(
            !is_proven(&[line("a", "b", 15), line("b", "u", 30)], "u", undone()),
            "somebody went on"
        );
        assert!(
            !is_proven(&[line("a", "b", 15)], "u", undone()),
            "it stands elsewhere"
        );
        assert!(
            !is_proven(&[line("a", "b", 15), line("c", "d", 16)], "d", undone()),
            "a line is missing"
        );
        let shared = GitClaim::Shared("pi".to_owned());
        assert!(
            !is_proven(&[line("a", "b", 15)], "b", step(shared)),
            "two were at work"
        );
    }

    #[test]
    fn what_the_user_did_in_the_second_in_which_a_later_step_began_is_not_the_steps() {
        let first = step(GitClaim::Undo);
        let mut later = step(GitClaim::Undo);
        later.span = (30_500, 40_500);
        later.old.head = Some("u".to_owned());
        let moves = [line("a", "b", 15), line("b", "u", 30), line("u", "v", 31)];
        let way = Way {
            branch: "refs/heads/main",
            from: Some("a"),
            to: Some("v"),
        };
        assert!(
            !is_the_agents(way, &moves, &[later, first], &|_, _| true),
            "`u` was there when it began"
        );
    }
}
