//! One part of git's state in a plan: its expected value before, and its target. Pure.

use ckpt_schema::report::{FileResult, GitPart, GitReport};

use super::entry::ObjectId;

/// HEAD, branch and index of the user's repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GitStateRow {
    pub head: Option<String>,
    pub branch: Option<String>,
    pub index: Option<ObjectId>,
    /// What git was in the middle of.
    pub doing: Option<String>,
}

/// A part of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GitItem {
    /// The part.
    pub part: GitPart,
    /// The full name of the branch; `HEAD`; `index`.
    pub name: String,
    /// Its present value: a commit, HEAD's text, or the blob of the index in our repository; `None` if it does not
    /// exist.
    pub expected: Option<String>,
    /// Its new value.
    pub target: Option<String>,
    /// `Planned` if there is something to do, or else why not.
    pub result: FileResult,
    /// The reason, unless it is obvious.
    pub reason: Option<GitReason>,
}

/// Why a part stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GitReason {
    /// The sentence.
    pub text: String,
    /// Whether it may be the agent's or somebody else's change.
    pub is_unclear: bool,
}

impl<T: Into<String>> From<T> for GitReason {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            is_unclear: false,
        }
    }
}

impl GitItem {
    /// Returns a part that is planned to move.
    pub fn planned(
        part: GitPart,
        name: &str,
        expected: Option<String>,
        target: Option<String>,
    ) -> Self {
        Self {
            part,
            name: name.to_owned(),
            expected,
            target,
            result: FileResult::Planned,
            reason: None,
        }
    }

    /// Returns the part, left as it is for a reason.
    pub fn left(self, result: FileResult, reason: impl Into<GitReason>) -> Self {
        Self {
            result,
            reason: Some(reason.into()),
            ..self
        }
    }

    /// Returns whether it is planned.
    pub fn is_planned(&self) -> bool {
        self.result == FileResult::Planned
    }

    /// Returns its report.
    pub fn report(&self) -> GitReport {
        GitReport {
            part: self.part,
            name: self.name.clone(),
            from: self.expected.clone(),
            to: self.target.clone(),
            result: self.result,
            reason: self.reason.as_ref().map(|reason| reason.text.clone()),
            unclear: self.reason.as_ref().is_some_and(|reason| reason.is_unclear),
        }
    }
}

/// Where HEAD is, and what git is in the middle of there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heads {
    /// The branch, or `None` while HEAD is detached.
    pub branch: Option<String>,
    /// The commit, or `None` while the branch is unborn.
    pub commit: Option<String>,
    /// A merge, a rebase and the like.
    pub doing: Option<String>,
}

impl Heads {
    /// Returns the part of a state that is not the index.
    pub fn of(state: &GitStateRow) -> Self {
        Self {
            branch: state.branch.clone(),
            commit: state.head.clone(),
            doing: state.doing.clone(),
        }
    }

    /// Returns git's text of `HEAD`, without the end of the line, or `None` if HEAD could not be read.
    pub fn text(&self) -> Option<String> {
        match &self.branch {
            Some(branch) => Some(format!("ref: {branch}")),
            None => self.commit.clone(),
        }
    }

    /// Returns whether both have the same commit on the same branch.
    pub fn is_at(&self, other: &Self) -> bool {
        (&self.branch, &self.commit) == (&other.branch, &other.commit)
    }
}

/// Where the refs of branches are.
pub(crate) const BRANCHES: &str = "refs/heads/";
/// Where the refs of tags are.
pub(crate) const TAGS: &str = "refs/tags/";

/// Returns a branch's name for people.
pub fn plain(branch: &str) -> &str {
    branch.strip_prefix(BRANCHES).unwrap_or(branch)
}
