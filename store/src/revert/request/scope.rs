//! Which changes a request asks to undo. The plan and the receipt both follow this rule, so they cannot disagree. Pure.

use std::collections::BTreeSet;

use crate::model::attribution::Attribution;
use crate::model::path::WorkspacePath;
use crate::sessions::{LiveChange, MessageRow, StepRow};

/// A part of a revert that does not move the point.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// Some paths, back to just before a message.
    Paths {
        message: MessageRow,
        only: Vec<WorkspacePath>,
    },
    /// A single message; all of its paths if `only` is empty.
    Message {
        message: MessageRow,
        only: Vec<WorkspacePath>,
    },
    /// A single step; all of its paths if `only` is empty.
    Step {
        step: StepRow,
        only: Vec<WorkspacePath>,
    },
}

/// A part of a session's history to undo.
#[derive(Clone, Debug)]
pub(crate) enum RevertScope {
    /// Everything from a message on.
    From { seq: i64, paths: ScopePaths },
    /// One message, with its `seq`.
    Message {
        id: String,
        seq: i64,
        paths: ScopePaths,
    },
    /// One step.
    Step { id: String, paths: ScopePaths },
}

/// The paths that a scope is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScopePaths {
    /// These paths and everything below them; all paths if empty.
    pub only: Vec<WorkspacePath>,
    /// Except those that were put back since.
    pub except: BTreeSet<WorkspacePath>,
}

impl RevertScope {
    /// Returns whether it asks to undo a change.
    pub fn covers(&self, change: &LiveChange) -> bool {
        let (is_of_it, paths) = match self {
            Self::From { seq, paths } => (change.message_seq >= *seq, paths),
            Self::Message { id, paths, .. } => (change.message_id == *id, paths),
            Self::Step { id, paths } => (change.row.step_id.as_deref() == Some(id), paths),
        };
        let path = &change.row.change.path;
        is_of_it && !paths.except.contains(path) && path.is_asked_for(&paths.only)
    }

    /// Returns that of everything from a message on.
    pub fn from(seq: i64) -> Self {
        Self::From {
            seq,
            paths: ScopePaths::default(),
        }
    }

    /// Returns whether it is about a part of the history, and not about everything from a message on.
    pub fn is_part(&self) -> bool {
        !matches!(self, Self::From { paths, .. } if paths.only.is_empty())
    }

    /// Returns whether it asks for a path by name.
    pub fn names(&self, path: &WorkspacePath) -> bool {
        path.is_at_or_below(self.only())
    }

    /// Returns the paths that it is limited to; empty means no limit.
    pub fn only(&self) -> &[WorkspacePath] {
        let (Self::From { paths, .. } | Self::Message { paths, .. } | Self::Step { paths, .. }) =
            self;
        &paths.only
    }

    /// Returns that of a part of a revert.
    pub(crate) fn of_part(part: &Part) -> Self {
        let paths = |only: &[WorkspacePath]| ScopePaths {
            only: only.to_vec(),
            except: BTreeSet::new(),
        };
        match part {
            Part::Paths { message, only } => Self::From {
                seq: message.seq,
                paths: paths(only),
            },
            Part::Message { message, only } => Self::Message {
                id: message.id.clone(),
                seq: message.seq,
                paths: paths(only),
            },
            Part::Step { step, only } => Self::Step {
                id: step.id.clone(),
                paths: paths(only),
            },
        }
    }
}

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
pub(crate) enum Coverage {
    /// It asks for it to be undone.
    Undo,
    /// It covers it, but others may have made it, and the request does not name its path.
    Shared,
    /// It covers it, but it is unclear whose it is, and the request leaves such changes alone.
    Unclear,
    /// It is about other changes.
    No,
}

impl UndoScope<'_> {
    /// Decides on a change of the session. The plan follows it, and so does the receipt, which says why
    /// the other changes stay.
    pub fn of(&self, change: &LiveChange) -> Coverage {
        let path = &change.row.change.path;
        let mut covering = self.scopes.iter().filter(|scope| scope.covers(change));
        match change.row.attribution {
            _ if !is_covered(self.scopes, change) => Coverage::No,
            // A user who names the very file knows what goes with it; a revert of the whole message does not say so.
            Attribution::Shared if !covering.any(|scope| scope.names(path)) => Coverage::Shared,
            // Naming a directory does not choose among the changes below it: unclear ones need `--unclear take`.
            Attribution::Unclear if !is_covered(self.taken, change) => Coverage::Unclear,
            Attribution::Agent
            | Attribution::Shared
            | Attribution::Outside
            | Attribution::Unclear => Coverage::Undo,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::entry::Change;
    use crate::sessions::ChangeRow;

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
            assert_eq!(asked(attribution, &all, &[]), Coverage::Undo);
            assert_eq!(
                asked(attribution, &later, &all),
                Coverage::No,
                "it is older"
            );
        }
        assert_eq!(asked(Attribution::Shared, &all, &all), Coverage::Shared);
        assert_eq!(asked(Attribution::Shared, &named, &[]), Coverage::Undo);
        assert_eq!(
            asked(Attribution::Shared, &[only("c")], &[]),
            Coverage::No,
            "another path is named"
        );
        assert_eq!(asked(Attribution::Unclear, &named, &[]), Coverage::Unclear);
        assert_eq!(asked(Attribution::Unclear, &all, &later), Coverage::Unclear);
        assert_eq!(asked(Attribution::Unclear, &all, &named), Coverage::Undo);
        assert_eq!(
            asked(Attribution::Unclear, &later, &all),
            Coverage::No,
            "taking what is unclear asks for nothing by itself"
        );
    }
}
