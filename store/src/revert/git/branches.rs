//! Decides by its own reflog where a branch goes that the agent checked out, moved and left, so that no snapshot saw
//! HEAD on it. Pure.

use super::plan::GitClaim;
use super::reflog::RefMove;

/// The lines of a branch's reflog, oldest first, each with its author.
pub(crate) type BranchLog = Vec<(RefMove, GitClaim)>;

/// Where a branch goes that undone steps moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BranchGoal {
    /// It goes back there.
    Back(Option<String>),
    /// It stays, for a reason. Otherwise it would have gone there.
    Left(Option<String>, String),
    /// These steps created it. It stays: nothing else names its commits.
    Made,
}

/// Returns the target of a branch that is, or was before the first revert, at `base`, or `None` if no undone step moved
/// it.
pub(crate) fn goal(base: Option<&str>, log: &[(RefMove, GitClaim)]) -> Option<BranchGoal> {
    let oldest = log.iter().position(|(_, claim)| claim.is_in_question())?;
    let wanted = log[oldest].0.old.clone();
    let left = |reason: String| Some(BranchGoal::Left(wanted.clone(), reason));
    // Lines after that one are of moves since, such as a revert's own, which are not in question.
    let Some(newest) = log
        .iter()
        .rposition(|(line, _)| line.new.as_deref() == base)
    else {
        return left("its reflog does not show how it got there".to_owned());
    };
    let mut at = base;
    for (line, claim) in log.get(oldest..=newest).unwrap_or_default().iter().rev() {
        if let Some(why) = claim.why_it_stays() {
            return left(why);
        }
        // If a line is missing, it expired, or there never was one. Where the branch was in between is unknown.
        if line.new.as_deref() != at {
            return left("its reflog has a gap".to_owned());
        }
        at = line.old.as_deref();
    }
    match at {
        None => Some(BranchGoal::Made),
        at if at == base => None,
        at => Some(BranchGoal::Back(at.map(str::to_owned))),
    }
}

/// Returns whether only undone steps moved a branch from a commit to where it is, or was before the first revert.
pub(crate) fn leads(from: Option<&str>, base: Option<&str>, log: &[(RefMove, GitClaim)]) -> bool {
    let newest = log
        .iter()
        .rposition(|(line, _)| line.new.as_deref() == base);
    let mut at = base;
    for (line, claim) in log
        .get(..newest.map_or(0, |newest| newest + 1))
        .unwrap_or_default()
        .iter()
        .rev()
    {
        if at == from {
            return true;
        }
        if *claim != GitClaim::Undo || line.new.as_deref() != at {
            return false;
        }
        at = line.old.as_deref();
    }
    at == from
}

#[cfg(test)]
mod tests {
    use super::super::reflog::Moment;
    use super::*;

    fn line(old: &str, new: &str, claim: GitClaim) -> (RefMove, GitClaim) {
        let id = |id: &str| Some(id.to_owned()).filter(|id| !id.is_empty());
        let moment = Moment {
            earliest: 0,
            latest: 0,
        };
        let line = RefMove {
            old: id(old),
            new: id(new),
            moment,
            what: String::new(),
        };
        (line, claim)
    }

    fn user() -> GitClaim {
        GitClaim::Keep("the user or another program".to_owned())
    }

    fn back(to: &str) -> Option<BranchGoal> {
        Some(BranchGoal::Back(Some(to.to_owned())))
    }

    #[test]
    fn what_undone_steps_moved_goes_back_to_where_they_found_it() {
        let log = [
            line("", "a", user()),
            line("a", "b", GitClaim::Undo),
            line("b", "c", GitClaim::Undo),
        ];
        assert_eq!(goal(Some("c"), &log), back("a"));
        assert_eq!(goal(Some("c"), &log[..1]), None, "only the user did");
    }

    #[test]
    fn from_where_it_was_before_the_first_revert_whatever_came_since() {
        let log = [
            line("a", "b", GitClaim::Undo),
            line("b", "c", GitClaim::Undo),
            line("b", "u", user()),
        ];
        assert_eq!(goal(Some("c"), &log), back("a"), "not the line after");
    }

    #[test]
    fn it_leads_from_one_to_the_other_where_no_other_moved_it_in_between() {
        let log = [
            line("", "a", GitClaim::Undo),
            line("a", "b", user()),
            line("b", "c", GitClaim::Undo),
            line("c", "d", GitClaim::Undo),
        ];
        assert!(leads(Some("b"), Some("d"), &log));
        assert!(
            leads(Some("b"), Some("c"), &log),
            "what came since is no matter"
        );
        assert!(!leads(Some("a"), Some("d"), &log), "the user did, too");
        assert!(!leads(Some("b"), Some("x"), &log), "it stands elsewhere");
    }

    #[test]
    fn what_somebody_else_moved_as_well_stays_with_the_reason() {
        let reason = |log: &[(RefMove, GitClaim)], base| match goal(Some(base), log) {
            Some(BranchGoal::Left(to, reason)) => (to, reason),
            other => panic!("{other:?}"),
        };
        let own = || line("a", "b", GitClaim::Undo);
        let (to, why) = reason(&[own(), line("b", "u", user())], "u");
        assert_eq!(
            (to.as_deref(), &*why),
            (Some("a"), "changed since by the user or another program")
        );
        let unclear = GitClaim::Unclear("an hour later".to_owned());
        let (_, why) = reason(&[own(), line("b", "c", unclear)], "c");
        assert_eq!(why, "unclear whose: an hour later");
        let (_, why) = reason(&[own()], "x");
        assert_eq!(why, "its reflog does not show how it got there");
        let (_, why) = reason(&[own(), line("c", "d", GitClaim::Undo)], "d");
        assert_eq!(why, "its reflog has a gap");
    }

    #[test]
    fn one_that_they_made_stays_and_one_that_went_there_and_back_is_no_matter() {
        let made = [
            line("", "a", GitClaim::Undo),
            line("a", "b", GitClaim::Undo),
        ];
        assert_eq!(goal(Some("b"), &made), Some(BranchGoal::Made));
        let back = [
            line("a", "b", GitClaim::Undo),
            line("b", "a", GitClaim::Undo),
        ];
        assert_eq!(goal(Some("a"), &back), None);
    }
}
