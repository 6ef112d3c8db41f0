//! What happened to the paths of a revert and who did it, and so why a path stays: the material of
//! [`target`](crate::revert::goal::target). Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ckpt_schema::report::ReasonCode;

use super::author::names;
use crate::model::attribution::UNCLEAR;
use crate::model::entry::{Change, State};
use crate::model::item::{ItemReason, ReasonCase};
use crate::model::path::WorkspacePath;

pub use super::author::{Author, SessionRelation, Source};

/// One change of the past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastChange {
    /// The change.
    pub change: Change,
    /// Who changed it.
    pub author: Author,
    /// Whether the revert point asks for it to be undone.
    pub claim: Claim,
}

/// Whether a change is undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is the session's, at or after the revert point.
    Undo,
    /// Both the session, at or after the revert point, and other sessions (empty if unknown) may have made it. It is
    /// undone only if its path is named.
    Shared(Vec<Source>),
    /// It may be the session's, at or after the revert point, or another author's, for a reason. It stays.
    Unclear(String),
    /// It stays: it belongs to another session, to a later step if one step alone is reverted, or to the user. It is
    /// kept here to name who changed a path since.
    Keep,
}

/// The changes of the paths of a revert, by path, newest first.
#[derive(Clone, Debug, Default)]
pub struct History<'a> {
    by_path: BTreeMap<&'a WorkspacePath, Vec<&'a PastChange>>,
    /// What `restore` brought, by path.
    restored: Option<&'a BTreeMap<WorkspacePath, State>>,
    /// What any operation brought without all that the file had, by path.
    lacking: Option<&'a BTreeMap<WorkspacePath, State>>,
}

impl<'a> History<'a> {
    /// Sorts changes, given newest first, by path.
    pub fn new(changes: &'a [PastChange]) -> Self {
        let mut by_path: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for past in changes {
            by_path.entry(&past.change.path).or_default().push(past);
        }
        Self {
            by_path,
            restored: None,
            lacking: None,
        }
    }

    /// Returns it with the states that `restore` brought since the first of the changes, and those that any operation
    /// brought without all that the file had.
    pub fn with_restored(
        self,
        restored: &'a BTreeMap<WorkspacePath, State>,
        lacking: &'a BTreeMap<WorkspacePath, State>,
    ) -> Self {
        Self {
            restored: Some(restored),
            lacking: Some(lacking),
            ..self
        }
    }

    /// Returns whether a `restore` brought a state.
    pub fn is_restored(&self, path: &WorkspacePath, state: State) -> bool {
        let restored = self.restored.and_then(|restored| restored.get(path));
        restored == Some(&state)
    }

    /// Returns whether an operation brought a state on which no author worked since the changes to undo, and could not give
    /// the file all that it had.
    pub fn lacks_something(&self, path: &WorkspacePath, state: State) -> bool {
        let lacking = self.lacking.and_then(|lacking| lacking.get(path));
        let newest = self.of(path).first();
        lacking == Some(&state) && newest.is_some_and(|newest| newest.claim != Claim::Keep)
    }

    /// Returns the changes of one path, newest first.
    pub fn of(&self, path: &WorkspacePath) -> &[&'a PastChange] {
        self.by_path.get(path).map_or(&[], Vec::as_slice)
    }

    /// Returns every path that changed.
    pub fn paths(&self) -> impl Iterator<Item = &'a WorkspacePath> {
        self.by_path.keys().copied()
    }

    /// Returns every changed path and every directory above one: the places whose states a revert needs.
    pub fn places(&self) -> BTreeSet<WorkspacePath> {
        let mut places = BTreeSet::new();
        for path in self.paths() {
            let mut place = Some(path.clone());
            // With a place, everything above it is there already.
            while let Some(path) = place.filter(|path| !places.contains(path)) {
                place = path.parent();
                places.insert(path);
            }
        }
        places
    }

    /// Returns who changed a path after one of its changes and so brought it to `now`: the authors of the newer changes
    /// that stay, and the user if no change explains the present state.
    pub fn authors_since(
        &self,
        path: &WorkspacePath,
        change: &PastChange,
        now: State,
    ) -> Vec<Author> {
        let changes = self.of(path);
        let newer = changes
            .iter()
            // By address: an edit that was taken back and made again is there twice, and both are equal.
            .take_while(|past| !std::ptr::eq(**past, change));
        let mut authors = Vec::new();
        for past in newer.filter(|past| past.claim == Claim::Keep) {
            if !authors.contains(&past.author) {
                authors.push(past.author.clone());
            }
        }
        let is_told = !authors.is_empty()
            && changes
                .first()
                .is_some_and(|newest| newest.change.new == now);
        if !is_told && !authors.contains(&Author::User) {
            authors.insert(0, Author::User);
        }
        authors
    }

    /// Returns who left a path as it is `now`: the author of the newest change, or else the user.
    pub fn author_of(&self, path: &WorkspacePath, now: State) -> Author {
        match self.of(path).first() {
            Some(newest) if newest.claim == Claim::Keep && newest.change.new == now => {
                newest.author.clone()
            }
            _ => Author::User,
        }
    }
}

/// Why a path stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It was changed since, and the two changes cannot be told apart.
    Changed {
        /// How the two conflict.
        difference: ConflictKind,
        /// Who changed it since.
        authors: Vec<Author>,
    },
    /// Other sessions (empty if unknown) changed it at the same time.
    Shared(Vec<Source>),
    /// It is unclear whose change it is, for a reason.
    Unclear(String),
    /// A side's bytes are not stored.
    Missing(Missing),
    /// There is no place for it, because another path stays: a file where it needs a directory, or the reverse.
    Blocked(WorkspacePath),
    /// The user changed it since the state that a restore goes to, or may have.
    Yours(Author),
}

/// How two changes of one path conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictKind {
    /// They changed the same lines, or lines side by side.
    Overlap,
    /// It is binary.
    Binary,
    /// It is too large to be merged.
    TooLarge,
    /// Both changed the permissions.
    Permissions,
    /// It is of another type now.
    Type,
    /// A symbolic link, pointed elsewhere.
    Symlink,
    /// It was to be removed, but was edited.
    Created,
    /// It was deleted.
    Deleted,
    /// It was to come back, and something else was put there.
    Recreated,
    /// It was edited, and either no merge was asked for, or its kind cannot be merged.
    Edited,
}

/// Which side's bytes are not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The state before.
    Before,
    /// The state that the agent left.
    After,
    /// The present state.
    Now,
}

impl Reason {
    /// Returns whether the reason is that a snapshot could not hold something.
    pub fn is_gap(&self) -> bool {
        matches!(self, Self::Missing(_))
    }

    /// Returns the reason of a plan's item.
    pub fn of_item(&self) -> ItemReason {
        let by = match self {
            Self::Changed { authors, .. } => authors.iter().map(Author::report).collect(),
            Self::Shared(sources) => sources.iter().map(Source::report).collect(),
            Self::Yours(author) => vec![author.report()],
            Self::Unclear(_) | Self::Missing(_) | Self::Blocked(_) => Vec::new(),
        };
        let case = match self {
            Self::Missing(missing) => Some(missing.case()),
            _ => None,
        };
        ItemReason {
            by,
            case,
            ..ItemReason::new(self.code(), self.to_string())
        }
    }

    fn code(&self) -> ReasonCode {
        match self {
            Self::Changed { difference, .. } => difference.code(),
            Self::Shared(_) => ReasonCode::Shared,
            Self::Unclear(_) => ReasonCode::Unclear,
            Self::Missing(_) => ReasonCode::NotCaptured,
            Self::Blocked(_) => ReasonCode::Blocked,
            Self::Yours(_) => ReasonCode::Yours,
        }
    }
}

impl ConflictKind {
    fn code(self) -> ReasonCode {
        match self {
            Self::Overlap => ReasonCode::SameLines,
            Self::Binary => ReasonCode::Binary,
            Self::TooLarge => ReasonCode::TooLarge,
            Self::Permissions => ReasonCode::Permissions,
            Self::Type => ReasonCode::Type,
            Self::Symlink => ReasonCode::Symlink,
            Self::Created => ReasonCode::Edited,
            Self::Deleted => ReasonCode::Deleted,
            Self::Recreated => ReasonCode::Recreated,
            Self::Edited => ReasonCode::Changed,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed {
                difference,
                authors,
            } => write!(formatter, "{difference} since by {}", names(authors)),
            Self::Shared(sources) if sources.is_empty() => {
                formatter.write_str("shared with another session")
            }
            Self::Shared(sources) => {
                let agents: Vec<Author> = sources.iter().cloned().map(Author::Agent).collect();
                write!(formatter, "shared with {}", names(&agents))
            }
            Self::Unclear(known) => write!(formatter, "{UNCLEAR}{known}"),
            Self::Missing(missing) => missing.fmt(formatter),
            Self::Blocked(path) => write!(formatter, "no place for it beside `{}`", path.to_text()),
            Self::Yours(Author::User) => formatter.write_str("yours: changed since"),
            Self::Yours(_) => {
                formatter.write_str("perhaps yours: no record says whether you changed it since")
            }
        }
    }
}

impl fmt::Display for ConflictKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Overlap => "changed in the same lines",
            Self::Binary => "a binary file, changed",
            Self::TooLarge => "too large to merge, and changed",
            Self::Permissions => "its permissions changed again",
            Self::Type => "replaced by something of another type",
            Self::Symlink => "a symbolic link, pointed elsewhere",
            Self::Created => "not removed, because it was edited",
            Self::Deleted => "deleted",
            Self::Recreated => "something else was put there",
            Self::Edited => "changed",
        })
    }
}

impl Missing {
    fn case(self) -> ReasonCase {
        match self {
            Self::Before => ReasonCase::Before,
            Self::After => ReasonCase::After,
            Self::Now => ReasonCase::Now,
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let effect = match self {
            Self::Before => "not restorable",
            Self::After | Self::Now => "left alone",
        };
        write!(formatter, "{effect}: {}", self.case().in_words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::entry::{Entry, Mode, ObjectId};

    fn state(byte: u8) -> State {
        Some(Entry::stored(Mode::file(0o644), ObjectId::new([byte; 20])))
    }

    fn past(old: u8, new: u8, author: Author, claim: Claim) -> PastChange {
        let path = WorkspacePath::new("f").expect("legal");
        PastChange {
            change: Change {
                path,
                old: state(old),
                new: state(new),
            },
            author,
            claim,
        }
    }

    fn codex() -> Author {
        Author::Agent(Source {
            agent: "codex".into(),
            session: "s2".into(),
            ..Source::default()
        })
    }

    #[test]
    fn a_later_change_of_another_session_is_named() {
        let changes = [
            past(2, 3, codex(), Claim::Keep),
            past(1, 2, Author::User, Claim::Undo),
        ];
        let history = History::new(&changes);
        let path = &changes[0].change.path;
        assert_eq!(
            history.authors_since(path, &changes[1], state(3)),
            [codex()],
            "it left what is there"
        );
        let authors = history.authors_since(path, &changes[1], state(4));
        assert_eq!(
            authors,
            [Author::User, codex()],
            "somebody changed it after the last change that is known"
        );
        assert_eq!(
            history.author_of(path, state(3)),
            codex(),
            "the newest change left what is there"
        );
        assert_eq!(
            history.author_of(path, state(4)),
            Author::User,
            "no change tells of it"
        );
    }

    /// The places of a history are its paths and what is above.
    #[test]
    fn places_of_a_history_include_parents() {
        let mut change = past(1, 2, Author::User, Claim::Undo);
        change.change.path = WorkspacePath::new("a/b/c").expect("legal");
        let changes = [change, past(1, 2, Author::User, Claim::Undo)];
        let places: Vec<_> = History::new(&changes)
            .places()
            .iter()
            .map(WorkspacePath::to_text)
            .collect();
        assert_eq!(places, ["a", "a/b", "a/b/c", "f"], "each once");
    }

    #[test]
    fn who_changed_a_path_before_is_not_named() {
        let changes = [
            past(2, 3, Author::User, Claim::Undo),
            past(1, 2, codex(), Claim::Keep),
        ];
        let history = History::new(&changes);
        let authors = history.authors_since(&changes[0].change.path, &changes[0], state(4));
        assert_eq!(
            authors,
            [Author::User],
            "the other session was at it before the change that is undone"
        );
    }

    #[test]
    fn a_reason_names_everybody_who_changed_the_file() {
        let source = |agent: &str| Source {
            agent: agent.into(),
            session: "s".into(),
            step: "t".into(),
            ..Source::default()
        };
        let authors = vec![
            Author::User,
            Author::Agent(source("codex")),
            Author::Agent(source("pi")),
        ];
        assert_eq!(
            Reason::Changed {
                difference: ConflictKind::Overlap,
                authors
            }
            .to_string(),
            "changed in the same lines since by you or another program, codex and pi",
            "a sentence for people"
        );
        assert_eq!(
            Reason::Shared(vec![source("codex")]).to_string(),
            "shared with codex",
            "who else was at it"
        );
        let of_same_agent = |session: &str| Source {
            session: session.into(),
            relation: SessionRelation::OfSameAgent,
            ..source("codex")
        };
        assert_eq!(
            Reason::Shared(vec![of_same_agent("0123456789ab"), of_same_agent("ab")]).to_string(),
            "shared with codex 01234567 and codex ab",
            "the agent alone would be the one that asks"
        );
        let steps = |number: usize| -> Vec<Source> {
            (0..number)
                .map(|step| Source {
                    step: format!("t{step}"),
                    session: format!("s{}", step / 5),
                    ..source("codex")
                })
                .collect()
        };
        for (number, said) in [
            (3, "shared with codex (3 steps)"),
            (10, "shared with codex (10 steps of 2 sessions)"),
        ] {
            let reason = Reason::Shared(steps(number)).to_string();
            assert_eq!(reason, said, "a phrase, and no list of ids");
        }
    }

    #[test]
    fn only_what_no_snapshot_holds_is_a_gap() {
        assert!(
            Reason::Missing(Missing::Now).is_gap(),
            "bytes that nobody stored"
        );
        assert!(
            !Reason::Shared(Vec::new()).is_gap(),
            "a question of whose it is"
        );
    }
}
