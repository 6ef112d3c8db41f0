//! Why a path stays as it is, as a value and as a text for people. Pure.

use std::fmt;

use crate::model::attribution::UNCLEAR;
use crate::model::path::WorkspacePath;
use crate::revert::history::{Author, Source};

/// Why a path stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It was changed since, and the two changes cannot be told apart.
    Changed {
        /// How.
        difference: Difference,
        /// By whom.
        authors: Vec<Author>,
    },
    /// Other sessions changed it at the same time (none where it is not known which).
    Shared(Vec<Source>),
    /// Nobody knows whose change it is; with what is known.
    Unclear(String),
    /// A side's bytes are not stored.
    Missing(Missing),
    /// What stays at another path leaves no place for it: a file where it needs a directory, or the other way round.
    Blocked(WorkspacePath),
}

/// How two changes of one path get in each other's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
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
    /// It was to be removed, and was edited.
    Created,
    /// It was deleted.
    Deleted,
    /// It was to come back, and something else was put there.
    Recreated,
    /// It was edited, and nobody asked for a merge; or there is nothing of one kind to merge.
    Edited,
}

/// Which side's bytes are not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// What it was before.
    Before,
    /// What the agent left.
    After,
    /// What is there now.
    Now,
}

impl Reason {
    /// Returns whether it is that a snapshot could not hold something.
    pub fn is_gap(&self) -> bool {
        matches!(self, Self::Missing(_))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed {
                difference,
                authors,
            } => write!(formatter, "{difference} since by {}", Names(authors)),
            Self::Shared(sources) if sources.is_empty() => {
                formatter.write_str("shared with another session")
            }
            Self::Shared(sources) => write!(formatter, "shared with {}", Names(sources)),
            Self::Unclear(known) => write!(formatter, "{UNCLEAR}{known}"),
            Self::Missing(missing) => missing.fmt(formatter),
            Self::Blocked(path) => write!(formatter, "no place for it beside `{}`", path.to_text()),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Overlap => "changed in the same lines",
            Self::Binary => "a binary file, changed",
            Self::TooLarge => "too large to merge, and changed",
            Self::Permissions => "its permissions changed again",
            Self::Type => "replaced by something of another type",
            Self::Symlink => "a symbolic link, pointed elsewhere",
            Self::Created => "not removed, for it was edited",
            Self::Deleted => "deleted",
            Self::Recreated => "something else was put there",
            Self::Edited => "changed",
        })
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Before => "not restorable: no snapshot holds what it was before",
            Self::After => "left alone: no snapshot holds what the agent left, so edits since cannot be told from it",
            Self::Now => "left alone: no snapshot holds what is there now",
        })
    }
}

/// Several names in a sentence.
struct Names<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for Names<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().enumerate() {
            let separator = match index {
                0 => "",
                _ if index + 1 == self.0.len() => " and ",
                _ => ", ",
            };
            write!(formatter, "{separator}{name}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                difference: Difference::Overlap,
                authors
            }
            .to_string(),
            "changed in the same lines since by the user, codex (step `t` of session `s`) and pi (step `t` of session `s`)",
            "a sentence for people"
        );
        assert_eq!(
            Reason::Shared(vec![source("codex")]).to_string(),
            "shared with codex (step `t` of session `s`)",
            "who else was at it"
        );
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
