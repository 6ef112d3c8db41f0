//! One part of git's state in a plan: its expected value before, and its target. Pure.

use ckpt_schema::report::{FileResult, GitPart, GitReport};

use super::entry::ObjectId;
use super::shell::quoted;

/// HEAD, branch and index of the user's repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitStateRow {
    /// The commit, or `None` while the branch is unborn.
    pub head: Option<String>,
    /// The full ref name, or `None` while HEAD is detached.
    pub branch: Option<String>,
    /// The raw index as a blob in our repository, or `None` if there is no index.
    pub index: Option<ObjectId>,
    /// What git was in the middle of: a merge, a rebase and the like.
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
    /// Whether it may be the agent's or another author's change.
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
            way: self.way(),
        }
    }

    /// Returns the command that moves a part that stays, in words, unless an option does.
    fn way(&self) -> Option<String> {
        self.reason.as_ref().filter(|reason| !reason.is_unclear)?;
        match self.result {
            FileResult::Conflict => {}
            FileResult::Failed => {
                return Some("once that is no longer so, the same command moves it".to_owned());
            }
            _ => return None,
        }
        let name = quoted(&self.name);
        // Given the old value, git moves nothing that has moved again.
        let from = self.expected.as_deref().unwrap_or_default();
        let command = match (self.part, self.target.as_deref()) {
            (GitPart::Index, _) => {
                let text = "no command puts that index back and keeps what was staged since; \
                    `git restore --staged FILE` unstages a file";
                return Some(text.to_owned());
            }
            (GitPart::Branch, None) if !from.is_empty() => format!("update-ref -d {name} {from}"),
            (GitPart::Branch, Some(to)) => format!("update-ref {name} {to} {from}"),
            (GitPart::Head, Some(to)) => match to.strip_prefix("ref: ") {
                Some(branch) => format!("symbolic-ref HEAD {}", quoted(branch)),
                None => format!("update-ref --no-deref HEAD {to}"),
            },
            (GitPart::Branch | GitPart::Head, None) => {
                return Some("no command moves it back".to_owned());
            }
        };
        let lost = match self.part {
            GitPart::Branch => ", and what was committed since leaves it",
            GitPart::Head | GitPart::Index => "",
        };
        Some(format!("`git {}` moves it back{lost}", command.trim_end()))
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
