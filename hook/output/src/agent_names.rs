//! What the agents of listed messages are called, so that two sessions of one agent can be told apart.

use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::report::MessageReport;

use super::text::{fit, safe, short};

/// The listed sessions, by agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentNames<'a>(BTreeMap<&'a str, BTreeSet<&'a str>>);

impl<'a> AgentNames<'a> {
    /// Returns those of messages.
    pub fn of(messages: impl IntoIterator<Item = &'a MessageReport>) -> Self {
        let mut sessions = BTreeMap::<_, BTreeSet<_>>::new();
        for message in messages {
            let of_agent = sessions.entry(&*message.agent).or_default();
            of_agent.insert(&*message.session);
        }
        Self(sessions)
    }

    /// Returns whether all of it is one agent's.
    pub fn is_one_agent(&self) -> bool {
        self.0.len() <= 1
    }

    /// Returns whether the column of a table that tells them apart is that of sessions, as all of it is one agent's.
    pub fn are_sessions(&self) -> bool {
        self.is_one_agent() && self.0.values().any(|sessions| sessions.len() > 1)
    }

    /// Returns the text of that column for a message.
    pub fn cell(&self, message: &MessageReport) -> String {
        match self.are_sessions() {
            true => short(&message.session),
            false => self.name(message),
        }
    }

    /// Returns the agent of a message, with the session if others of the agent are listed.
    pub fn name(&self, message: &MessageReport) -> String {
        let agent = safe(&message.agent);
        match self.has_several(message) {
            true => format!("{agent} {}", short(&message.session)),
            false => agent.into_owned(),
        }
    }

    /// Returns the same for a row that has little room.
    pub fn brief(&self, message: &MessageReport, columns: usize) -> String {
        // `claude-code` is known by `claude`.
        let agent = message.agent.split('-').next().unwrap_or_default();
        let agent = fit(&safe(agent), columns).into_owned();
        match (self.are_sessions(), self.has_several(message)) {
            (true, _) => short(&message.session),
            (false, true) => format!("{agent} {}", short(&message.session)),
            (false, false) => agent,
        }
    }

    fn has_several(&self, message: &MessageReport) -> bool {
        let sessions = self.0.get(&*message.agent);
        sessions.is_some_and(|sessions| sessions.len() > 1)
    }
}
