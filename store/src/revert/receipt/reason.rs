//! Decides why a path differs from the state that an operation went to. Pure: the table of `docs/attribution.md`,
//! under "The receipt".

use std::collections::BTreeSet;

use ckpt_schema::report::{DifferenceReason, FileAction, FileResult, ReasonCode};

use crate::model::attribution::Attribution;
use crate::model::item::Item;
use crate::model::path::WorkspacePath;

/// A change of one path since the state that it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LaterChange {
    pub attribution: Attribution,
    pub author: Actor,
    /// Whether it was seen while an unrecorded step was at work.
    pub is_unrecorded: bool,
}

/// Who made a change, from the operation's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Actor {
    /// No step.
    NoStep,
    /// The session that is moved, in a part that is to be undone.
    Asked,
    /// The session that is moved, in a part that is not.
    NotAsked,
    /// Another session.
    Other,
}

/// Everything that is known about a path that differs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KnownPath<'a> {
    /// What the operation did with it.
    pub item: Option<&'a Item>,
    /// What happened to it since the state that it is compared with, newest first.
    pub since: &'a [LaterChange],
    /// Whether its content then was forgotten since, so that nothing could put it back.
    pub is_forgotten: bool,
    /// Whether it is in or below a gap, then or now.
    pub is_in_gap: bool,
    /// Whether ignore rules hid it then, hide it now, or hide something in it.
    pub is_hidden: bool,
    /// Whether an earlier operation wrote it.
    pub was_moved: bool,
    /// What the operation left below it, so that nothing else has a place there.
    pub below: Option<&'a Item>,
}

impl KnownPath<'_> {
    /// Returns the one reason for which it differs.
    pub fn reason(&self) -> DifferenceReason {
        let otherwise = match self.item.or(self.below).is_some_and(is_blocked) {
            true => DifferenceReason::Yours,
            false => DifferenceReason::Unexplained,
        };
        self.known_reason().unwrap_or(otherwise)
    }

    /// Returns the same, or `None` if only a search may tell.
    pub fn known_reason(&self) -> Option<DifferenceReason> {
        let is_forgotten = self.is_forgotten.then_some(DifferenceReason::NotCaptured);
        is_forgotten
            .or_else(|| self.of_item())
            .or_else(|| self.of_history())
            .or_else(|| self.is_in_gap.then_some(DifferenceReason::NotCaptured))
            .or_else(|| self.is_hidden.then_some(DifferenceReason::Ignored))
            .or_else(|| self.was_moved.then_some(DifferenceReason::Operation))
            .or_else(|| {
                Self {
                    item: self.below,
                    ..*self
                }
                .of_item()
            })
    }

    /// Returns the reason that the operation itself gives for leaving a path. If that is another author's change, the history
    /// says whose; if not, the change was seen only when the file was to be touched, and belongs to no step.
    fn of_item(&self) -> Option<DifferenceReason> {
        let item = self.item?;
        match item.result {
            FileResult::Failed => Some(DifferenceReason::Failed),
            FileResult::Gap => Some(DifferenceReason::NotCaptured),
            // Another program changed it between the plan and the moment of writing. No row knows that yet.
            FileResult::Conflict if is_moved(item) => Some(DifferenceReason::Yours),
            _ if item.code() == Some(ReasonCode::Unclear) => {
                let is_yours = self.of_history() == Some(DifferenceReason::Yours);
                Some(if is_yours {
                    DifferenceReason::Yours
                } else {
                    DifferenceReason::Unclear
                })
            }
            // What is in the way may be out of view, and then it is no edit.
            FileResult::Conflict if is_blocked(item) => self.of_history(),
            FileResult::Conflict => Some(self.of_history().unwrap_or(DifferenceReason::Yours)),
            FileResult::Done | FileResult::Planned => {
                let is_in_part = item.reason.is_some() && item.action != FileAction::None;
                let has_edits = item.action == FileAction::Merge || item.target != item.goal;
                // What no snapshot holds is no edit of anybody's.
                let otherwise = match item.is_remarked() {
                    true => DifferenceReason::NotCaptured,
                    false => DifferenceReason::Yours,
                };
                (is_in_part || has_edits).then(|| self.of_history().unwrap_or(otherwise))
            }
        }
    }

    /// Returns the reason for the newest change that is not undone. If it is unclear whose that is, but an older one is
    /// certainly not an agent's, the path still counts as the user's.
    fn of_history(&self) -> Option<DifferenceReason> {
        let newest = self.since.iter().find_map(LaterChange::reason)?;
        let is_yours = || {
            let mut reasons = self.since.iter().filter_map(LaterChange::reason);
            reasons.any(|reason| reason == DifferenceReason::Yours)
        };
        let is_yours = is_vague(newest) && is_yours();
        Some(if is_yours {
            DifferenceReason::Yours
        } else {
            newest
        })
    }
}

/// Returns whether a reason leaves open whose change it is.
fn is_vague(reason: DifferenceReason) -> bool {
    matches!(
        reason,
        DifferenceReason::Unclear | DifferenceReason::Shared | DifferenceReason::Unrecorded
    )
}

fn is_blocked(item: &Item) -> bool {
    item.code() == Some(ReasonCode::Blocked)
}

fn is_moved(item: &Item) -> bool {
    item.code() == Some(ReasonCode::Moved)
}

impl LaterChange {
    /// Returns why the change stays, or `None` if it is undone.
    pub fn reason(&self) -> Option<DifferenceReason> {
        match (self.author, self.attribution) {
            (Actor::Asked, Attribution::Agent | Attribution::Outside) => None,
            (_, Attribution::Unclear) => Some(DifferenceReason::Unclear),
            (_, Attribution::Shared) => Some(DifferenceReason::Shared),
            (Actor::NoStep, _) if self.is_unrecorded => Some(DifferenceReason::Unrecorded),
            (Actor::NoStep, _) => Some(DifferenceReason::Yours),
            (Actor::NotAsked, _) => Some(DifferenceReason::NotAsked),
            (Actor::Other, _) => Some(DifferenceReason::OtherSession),
        }
    }
}

/// Returns the empty directories, among the paths that differ, that only came or went with their contents: they are not
/// entries if something is below them on the other side.
pub(super) fn implied(
    empty: Vec<WorkspacePath>,
    are_directories_on_the_other_side: Vec<bool>,
) -> BTreeSet<WorkspacePath> {
    let filled = empty.into_iter().zip(are_directories_on_the_other_side);
    filled
        .filter(|(_, is_filled)| *is_filled)
        .map(|(path, _)| path)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::item::ItemReason;

    use proptest::prelude::*;

    fn since(author: Actor, attribution: Attribution) -> LaterChange {
        LaterChange {
            attribution,
            author,
            is_unrecorded: false,
        }
    }

    fn item(action: FileAction, result: FileResult, reason: Option<ReasonCode>) -> Item {
        Item {
            path: WorkspacePath::new("f").expect("legal"),
            expected: None,
            target: None,
            goal: None,
            action,
            result,
            reason: reason.map(|code| ItemReason::new(code, "why")),
            lines: None,
        }
    }

    const KEPT: (FileAction, FileResult) = (FileAction::Keep, FileResult::Conflict);

    /// What the operation says comes before what the history says.
    #[test]
    fn operations_word_comes_before_the_historys() {
        let history = [since(Actor::NoStep, Attribution::Outside)];
        let reason = |action, result, why| {
            let item = item(action, result, why);
            let known = KnownPath {
                item: Some(&item),
                since: &history,
                ..KnownPath::default()
            };
            known.reason()
        };
        assert_eq!(
            reason(
                FileAction::Write,
                FileResult::Failed,
                Some(ReasonCode::Failed)
            ),
            DifferenceReason::Failed,
            "it would be as it was, had there been room"
        );
        assert_eq!(
            reason(
                FileAction::Keep,
                FileResult::Gap,
                Some(ReasonCode::NotCaptured)
            ),
            DifferenceReason::NotCaptured,
            "the bytes are nowhere"
        );
        assert_eq!(
            reason(KEPT.0, KEPT.1, Some(ReasonCode::Unclear)),
            DifferenceReason::Yours,
            "an edit of the user's is in it as well"
        );
    }

    /// What is certainly the user's comes before what nobody knows.
    #[test]
    fn certain_users_change_comes_before_an_unclear_one() {
        let outside = since(Actor::NoStep, Attribution::Outside);
        let unclear = since(Actor::Asked, Attribution::Unclear);
        let shared = since(Actor::Asked, Attribution::Shared);
        let reason = |history: &[LaterChange]| {
            let kept = item(KEPT.0, KEPT.1, Some(ReasonCode::Unclear));
            let known = |item| KnownPath {
                item,
                since: history,
                ..KnownPath::default()
            };
            (known(None).reason(), known(Some(&kept)).reason())
        };
        let yours = (DifferenceReason::Yours, DifferenceReason::Yours);
        assert_eq!(reason(&[unclear, outside]), yours, "also where it is older");
        assert_eq!(reason(&[shared, outside]), yours);
        assert_eq!(
            reason(&[unclear]),
            (DifferenceReason::Unclear, DifferenceReason::Unclear),
            "`--unclear take` would take it"
        );
    }

    /// What changed between the plan and the writing is yours whoever changed it before.
    #[test]
    fn change_between_plan_and_writing_is_yours() {
        let mut moved = item(KEPT.0, KEPT.1, None);
        moved.reason = Some(ItemReason::new(ReasonCode::Moved, "changed meanwhile"));
        let history = [since(Actor::Other, Attribution::Agent)];
        let known = KnownPath {
            item: Some(&moved),
            since: &history,
            ..KnownPath::default()
        };
        assert_eq!(known.reason(), DifferenceReason::Yours, "no row has it");
    }

    #[test]
    fn the_newest_change_that_stays_is_the_reason() {
        let reason = |history: &[LaterChange]| {
            let known = KnownPath {
                since: history,
                ..KnownPath::default()
            };
            known.reason()
        };
        let (own, outside) = (
            since(Actor::Asked, Attribution::Agent),
            since(Actor::NoStep, Attribution::Outside),
        );
        let other = since(Actor::Other, Attribution::Agent);
        assert_eq!(
            reason(&[own, other, outside]),
            DifferenceReason::OtherSession,
            "what is undone explains nothing, and the user's is older"
        );
        assert_eq!(
            reason(&[LaterChange {
                is_unrecorded: true,
                ..outside
            }]),
            DifferenceReason::Unrecorded,
            "it may be that step's"
        );
        assert_eq!(
            reason(&[since(Actor::NotAsked, Attribution::Agent)]),
            DifferenceReason::NotAsked,
            "of a message before"
        );
        assert_eq!(
            reason(&[own]),
            DifferenceReason::Unexplained,
            "it was to be undone, and differs: a fault"
        );
    }

    /// What was kept for edits that only the last check saw is the user's.
    #[test]
    fn edits_seen_by_the_last_check_are_yours() {
        let item = item(KEPT.0, KEPT.1, Some(ReasonCode::Changed));
        let known = KnownPath {
            item: Some(&item),
            ..KnownPath::default()
        };
        assert_eq!(
            known.reason(),
            DifferenceReason::Yours,
            "no row knows of it"
        );
    }

    /// What has no place because of a path below it that stays has the reason of that one.
    #[test]
    fn blocked_path_has_the_reason_below() {
        let below = item(KEPT.0, KEPT.1, Some(ReasonCode::Changed));
        let known = KnownPath {
            below: Some(&below),
            ..KnownPath::default()
        };
        assert_eq!(known.reason(), DifferenceReason::Yours);
    }

    proptest! {
        #[test]
        fn a_fault_is_only_what_nothing_explains(
            is_forgotten: bool, is_in_gap: bool, is_hidden: bool, was_moved: bool, is_of_user: bool,
        ) {
            let history = [since(Actor::NoStep, Attribution::Outside)];
            let known = KnownPath {
                item: None,
                since: if is_of_user { &history } else { &[] },
                is_forgotten,
                is_in_gap,
                is_hidden,
                was_moved,
                below: None,
            };
            let is_known = is_forgotten || is_in_gap || is_hidden || was_moved || is_of_user;
            prop_assert_eq!(known.reason() != DifferenceReason::Unexplained, is_known);
        }
    }
}
