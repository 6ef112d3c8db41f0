//! Decides which sessions go, which stay, and why. Pure.

use super::age::Ages;
use crate::model::Milliseconds;
use crate::sessions::SessionUse;

/// Objects of the last day always stay: a hook stores them before the rows that name them.
pub(crate) const MIN_PRUNE_AGE: Milliseconds = 24 * 3600 * 1000;
/// How long a session counts as open if no event reported its end and its process is not known.
const OPEN_FOR: Milliseconds = 7 * MIN_PRUNE_AGE;

/// Why a session stays, whatever the settings say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pin {
    Open,
    Reverted,
    Operation,
    Label,
    Young,
}

/// Why a session is pruned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// It was not used for longer than `keep`.
    Unused,
    /// The store is larger than `max_store_size`, and it is the longest unused.
    Size,
}

/// The verdict on a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retention {
    Goes(Why),
    Pinned(Pin),
    Stays,
}

/// The limits from the settings, and the ages that they are applied to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetentionLimits {
    pub ages: Ages,
    pub keep: Milliseconds,
    /// Bytes.
    pub max_size: u64,
}

/// A session as the policy sees it.
#[derive(Clone, Debug)]
pub(crate) struct PolicySession<'a> {
    pub session: &'a SessionUse,
    /// Whether a process of its agent is alive, or `None` if that is not known for all of them.
    pub lives: Option<bool>,
    /// The bytes that become free once it and all that were used before it go.
    pub bytes: u64,
}

/// Returns the reason to keep a session.
pub(crate) fn pin(session: &SessionUse, lives: Option<bool>, ages: Ages) -> Option<Pin> {
    let unused_for = ages.unused_for(session.used_at);
    let is_open = match (session.is_unended, lives) {
        (false, _) | (true, Some(false)) => false,
        (true, Some(true)) => true,
        // An agent that was killed never reports its end, and would pin its session for ever.
        (true, None) => unused_for < OPEN_FOR,
    };
    [
        (session.is_reverted, Pin::Reverted),
        (session.has_open_operation, Pin::Operation),
        (session.is_labelled, Pin::Label),
        (is_open, Pin::Open),
        (unused_for < MIN_PRUNE_AGE, Pin::Young),
    ]
    .into_iter()
    .find_map(|(holds, pin)| holds.then_some(pin))
}

/// Returns the verdict on each session, in the order given: the longest unused first. `size` is the store's size in
/// bytes.
pub(crate) fn judge(
    candidates: &[PolicySession<'_>],
    limits: RetentionLimits,
    size: u64,
) -> Vec<Retention> {
    let RetentionLimits {
        ages,
        keep,
        max_size,
    } = limits;
    let mut size = size;
    candidates
        .iter()
        .map(|candidate| {
            let PolicySession {
                session,
                lives,
                bytes,
            } = candidate;
            if let Some(pin) = pin(session, *lives, ages) {
                return Retention::Pinned(pin);
            }
            let why = if ages.unused_for(session.used_at) > keep {
                Why::Unused
            } else if size > max_size {
                Why::Size
            } else {
                return Retention::Stays;
            };
            // What goes makes room, and the next one may fit. So the sessions have to come with the longest unused
            // first.
            size = size.saturating_sub(*bytes);
            Retention::Goes(why)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Milliseconds = 400 * MIN_PRUNE_AGE;

    fn limits() -> RetentionLimits {
        RetentionLimits {
            ages: Ages::by_clock(NOW),
            keep: 30 * MIN_PRUNE_AGE,
            max_size: 100,
        }
    }

    fn unused_for(days: i64) -> SessionUse {
        SessionUse {
            used_at: NOW - days * MIN_PRUNE_AGE,
            ..SessionUse::default()
        }
    }

    fn verdicts(sessions: &[(SessionUse, u64)], size: u64) -> Vec<Retention> {
        let candidates: Vec<_> = sessions
            .iter()
            .map(|(session, bytes)| PolicySession {
                session,
                lives: None,
                bytes: *bytes,
            })
            .collect();
        judge(&candidates, limits(), size)
    }

    /// The longest unused go by age and then by size.
    #[test]
    fn longest_unused_go_by_age_then_size() {
        let sessions = [
            (unused_for(31), 10),
            (unused_for(20), 30),
            (unused_for(10), 30),
            (unused_for(2), 30),
        ];
        assert_eq!(
            verdicts(&sessions, 100),
            [
                Retention::Goes(Why::Unused),
                Retention::Stays,
                Retention::Stays,
                Retention::Stays
            ],
            "the store is small enough"
        );
        assert_eq!(
            verdicts(&sessions, 141),
            [
                Retention::Goes(Why::Unused),
                Retention::Goes(Why::Size),
                Retention::Goes(Why::Size),
                Retention::Stays
            ],
            "no more goes than has to"
        );
    }

    /// What is pinned stays however old it is and however large the store.
    ///
    /// Invariant `work/pruning-pins`: Snapshots that a label, an open session, a revert
    /// point or an open operation needs are never pruned, and pruned ones are marked.
    #[test]
    fn pinned_snapshots_stay_however_old() {
        let old = || unused_for(300);
        let pinned = [
            (
                SessionUse {
                    is_reverted: true,
                    ..old()
                },
                Pin::Reverted,
            ),
            (
                SessionUse {
                    has_open_operation: true,
                    ..old()
                },
                Pin::Operation,
            ),
            (
                SessionUse {
                    is_labelled: true,
                    ..old()
                },
                Pin::Label,
            ),
            (unused_for(0), Pin::Young),
            (
                SessionUse {
                    is_unended: true,
                    ..unused_for(6)
                },
                Pin::Open,
            ),
        ];
        for (session, expected) in pinned {
            assert_eq!(
                verdicts(&[(session, 50)], 1000),
                [Retention::Pinned(expected)]
            );
        }
    }

    /// A session is open while its agent lives and closed when it died without a word.
    #[test]
    fn session_is_open_while_its_agent_lives() {
        let unended = SessionUse {
            is_unended: true,
            ..unused_for(300)
        };
        assert_eq!(
            pin(&unended, Some(true), Ages::by_clock(NOW)),
            Some(Pin::Open),
            "it lives"
        );
        assert_eq!(
            pin(&unended, None, Ages::by_clock(NOW)),
            None,
            "nobody knows, and it is long ago"
        );
        let recent = SessionUse {
            is_unended: true,
            ..unused_for(3)
        };
        assert_eq!(
            pin(&recent, Some(false), Ages::by_clock(NOW)),
            None,
            "it is dead"
        );
        assert_eq!(
            pin(&recent, None, Ages::by_clock(NOW)),
            Some(Pin::Open),
            "nobody knows"
        );
    }

    #[test]
    fn a_clock_that_jumped_back_makes_nothing_old() {
        let future = SessionUse {
            used_at: NOW + 9 * MIN_PRUNE_AGE,
            ..SessionUse::default()
        };
        assert_eq!(pin(&future, None, Ages::by_clock(NOW)), Some(Pin::Young));
    }
}
