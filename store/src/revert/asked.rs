//! Which changes a request asks to undo. The plan and the receipt both follow this rule, so they cannot disagree. Pure.

use super::movement::RevertScope;
use crate::model::attribution::Attribution;
use crate::sessions::LiveChange;

/// Returns whether one of some scopes asks to undo a change.
pub(crate) fn is_covered(scopes: &[RevertScope], change: &LiveChange) -> bool {
    scopes.iter().any(|scope| scope.covers(change))
}

/// Which changes of a session are to be undone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UndoScope<'a> {
    pub scopes: &'a [RevertScope],
    /// Where unclear changes are undone as well.
    pub taken: &'a [RevertScope],
}

/// What an [`UndoScope`] says about one change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// It asks for it to be undone.
    Undo,
    /// It covers it, but others may have made it, and the request does not name its path.
    Shared,
    /// It covers it, but nobody knows whose it is, and the request leaves such changes alone.
    Unclear,
    /// It is about other changes.
    No,
}

impl UndoScope<'_> {
    /// Returns what becomes of a change of the session. The plan follows it, and so does the receipt, which says why
    /// the other changes stay.
    pub fn of(&self, change: &LiveChange) -> Asked {
        let path = &change.row.change.path;
        let mut covering = self.scopes.iter().filter(|scope| scope.covers(change));
        match change.row.attribution {
            _ if !is_covered(self.scopes, change) => Asked::No,
            // Whoever names the very file knows what goes with it; a revert of the whole message does not say so.
            Attribution::Shared if !covering.any(|scope| scope.names(path)) => Asked::Shared,
            // Naming a directory does not choose among the changes below it: unclear ones need `--unclear take`.
            Attribution::Unclear if !is_covered(self.taken, change) => Asked::Unclear,
            Attribution::Agent
            | Attribution::Shared
            | Attribution::Outside
            | Attribution::Unclear => Asked::Undo,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::entry::Change;
    use crate::model::path::WorkspacePath;
    use crate::revert::movement::{Part, RevertScope};
    use crate::sessions::{ChangeRow, StepRow};

    fn change(attribution: Attribution) -> LiveChange {
        LiveChange {
            row: ChangeRow {
                id: None,
                step_id: Some("t".to_owned()),
                attribution,
                reason: None,
                from_snapshot_id: None,
                to_snapshot_id: None,
                change: Change {
                    path: WorkspacePath::new("a/b").expect("legal"),
                    old: None,
                    new: None,
                },
                lines: None,
            },
            session_id: "s".to_owned(),
            message_id: "m".to_owned(),
            message_seq: 5,
            agent: "codex".to_owned(),
        }
    }

    /// Returns the scope of the step of [`change`], limited to a path.
    fn only(path: &str) -> RevertScope {
        RevertScope::of_part(&Part::Step {
            step: StepRow {
                id: "t".to_owned(),
                ..StepRow::default()
            },
            only: vec![WorkspacePath::new(path).expect("legal")],
        })
    }

    /// A shared change is undone where its path is named and an unclear one where that was
    /// said.
    #[test]
    fn shared_or_unclear_change_is_undone_on_request() {
        let (all, later, named) = ([RevertScope::from(5)], [RevertScope::from(6)], [only("a")]);
        let asked = |attribution, scopes: &[RevertScope], taken: &[RevertScope]| {
            UndoScope { scopes, taken }.of(&change(attribution))
        };
        for attribution in [Attribution::Agent, Attribution::Outside] {
            assert_eq!(asked(attribution, &all, &[]), Asked::Undo);
            assert_eq!(asked(attribution, &later, &all), Asked::No, "it is older");
        }
        assert_eq!(asked(Attribution::Shared, &all, &all), Asked::Shared);
        assert_eq!(asked(Attribution::Shared, &named, &[]), Asked::Undo);
        assert_eq!(
            asked(Attribution::Shared, &[only("c")], &[]),
            Asked::No,
            "another path is named"
        );
        assert_eq!(asked(Attribution::Unclear, &named, &[]), Asked::Unclear);
        assert_eq!(asked(Attribution::Unclear, &all, &later), Asked::Unclear);
        assert_eq!(asked(Attribution::Unclear, &all, &named), Asked::Undo);
        assert_eq!(
            asked(Attribution::Unclear, &later, &all),
            Asked::No,
            "taking what is unclear asks for nothing by itself"
        );
    }
}
