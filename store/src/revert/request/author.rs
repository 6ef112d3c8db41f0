//! Who changed a path, for reports and in words. Pure.

use std::collections::BTreeSet;
use std::fmt;

use ckpt_schema::report::{AuthorKind, AuthorReport};

use crate::model::id::name_beside;

/// Who changed a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    /// No agent whose hook reported it: the user, their editor, another program, or what an agent left running in the
    /// background.
    User,
    /// The user, or an unrecorded step that was at work: no look saw which.
    Unrecorded,
    /// A step of an agent.
    Agent(Source),
}

/// A step of an agent, by the ids that people are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The step.
    pub step: String,
    /// Its session.
    pub session: String,
    /// The user message that it belongs to.
    pub message: String,
    /// The agent's name.
    pub agent: String,
    /// What its session is to the one that asks.
    pub relation: SessionRelation,
}

/// What a session is to the one that asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionRelation {
    /// Another one, which its agent's name tells from it; or none asks.
    #[default]
    Other,
    /// Another one of the same agent.
    OfSameAgent,
    /// The same one.
    Same,
}

/// What the session that asks is called where it made the change itself, later.
pub(crate) const OWN_SESSION: &str = "this session";

impl Author {
    /// Returns the author of what belongs to no step: `is_unrecorded` says whether a step that was not recorded was at
    /// work then.
    pub(crate) fn without_step(is_unrecorded: bool) -> Self {
        match is_unrecorded {
            true => Self::Unrecorded,
            false => Self::User,
        }
    }

    /// Returns which agent's step it was, if it was one's.
    fn source(&self) -> Option<&Source> {
        match self {
            Self::Agent(source) => Some(source),
            Self::User | Self::Unrecorded => None,
        }
    }

    /// Returns its report.
    pub(crate) fn report(&self) -> AuthorReport {
        match self {
            Self::User => of_kind(AuthorKind::User),
            Self::Unrecorded => of_kind(AuthorKind::Unrecorded),
            Self::Agent(source) => source.report(),
        }
    }
}

impl fmt::Display for Author {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::User => "you or another program",
            Self::Unrecorded => "you, or a step that was not recorded",
            Self::Agent(source) => return formatter.write_str(&source.name()),
        })
    }
}

/// Returns the report on an author who is no agent.
fn of_kind(kind: AuthorKind) -> AuthorReport {
    AuthorReport {
        kind,
        session: None,
        message: None,
        step: None,
        agent: None,
    }
}

impl Source {
    /// Returns its agent's name, with the session where the agent alone does not tell which.
    fn name(&self) -> String {
        match self.relation {
            SessionRelation::Other => self.agent.clone(),
            SessionRelation::OfSameAgent => name_beside(&self.agent, &self.agent, &self.session),
            SessionRelation::Same => OWN_SESSION.to_owned(),
        }
    }

    /// Returns its report.
    pub(super) fn report(&self) -> AuthorReport {
        let known = |text: &String| (!text.is_empty()).then(|| text.clone());
        AuthorReport {
            kind: AuthorKind::Agent,
            session: known(&self.session),
            message: known(&self.message),
            step: known(&self.step),
            agent: known(&self.agent),
        }
    }
}

/// Returns a phrase on who changed something. An agent is named once, however many steps it took; programs get the ids
/// separately.
pub(super) fn names(authors: &[Author]) -> String {
    let mut names: Vec<String> = Vec::new();
    let mut agents: Vec<String> = Vec::new();
    for author in authors {
        match author {
            Author::User | Author::Unrecorded => names.push(author.to_string()),
            Author::Agent(source) if agents.contains(&source.name()) => {}
            Author::Agent(source) => {
                agents.push(source.name());
                names.push(agent(&source.name(), authors));
            }
        }
    }
    match names.split_last() {
        None => "another session".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// Returns an agent's name, with the number of steps and sessions if that was more than one step.
fn agent(name: &str, authors: &[Author]) -> String {
    let sources: Vec<&Source> = authors
        .iter()
        .filter_map(Author::source)
        .filter(|source| source.name() == name)
        .collect();
    let steps: BTreeSet<&str> = sources.iter().map(|source| source.step.as_str()).collect();
    let sessions: BTreeSet<&str> = sources
        .iter()
        .map(|source| source.session.as_str())
        .collect();
    match (steps.len(), sessions.len()) {
        (0 | 1, _) => name.to_owned(),
        (steps, 1) => format!("{name} ({steps} steps)"),
        (steps, sessions) => format!("{name} ({steps} steps of {sessions} sessions)"),
    }
}
