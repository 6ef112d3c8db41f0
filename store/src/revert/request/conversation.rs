//! What an operation's row says of the agent's conversation.

use ckpt_schema::report::{ConversationKind, ConversationReason, ConversationReport};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::model::conversation::{AgentConversation, ForkPlan, NoFork};

/// What becomes of a conversation, as an operation's row says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct JournalledConversation {
    pub report: ConversationReport,
    /// The conversation before it.
    pub from: Option<AgentConversation>,
    /// The one that goes on.
    pub to: Option<AgentConversation>,
    /// How the one that goes on is made; none if it is there.
    pub fork: Option<ForkPlan>,
    /// Our session.
    pub of: Option<String>,
    /// The messages that it does not have; it ends before the first.
    pub messages: Vec<String>,
    /// The operation that it was made for; none before.
    pub made_for: Option<String>,
}

impl JournalledConversation {
    /// A conversation that stays as it is.
    pub fn none(no: NoFork) -> Self {
        let mut report = ConversationReport::none(no.reason);
        report.note = no.note;
        if no.is_manual {
            report.kind = ConversationKind::Manual;
        }
        Self {
            report,
            from: None,
            to: None,
            fork: None,
            of: None,
            messages: Vec::new(),
            made_for: None,
        }
    }

    /// Returns the operation's column for it: nothing where the conversation stays.
    pub fn to_json(&self) -> Option<String> {
        self.from.as_ref()?;
        serde_json::to_string(&self.without_prompt()).ok()
    }

    /// Returns it as it is kept: the prompt is where the settings keep it, and nowhere else.
    pub fn without_prompt(&self) -> Self {
        let mut kept = self.clone();
        kept.report.prompt = None;
        kept.report.prefill = Vec::new();
        kept
    }

    /// Reads what an operation's row says of it.
    pub fn of_row(text: Option<&str>) -> Option<Self> {
        serde_json::from_str(text?).ok()
    }

    /// Returns whether something is done with it.
    pub fn has_work(&self) -> bool {
        !matches!(
            self.report.kind,
            ConversationKind::None | ConversationKind::Manual
        )
    }

    /// Returns the refusal where nothing can be done with it and nothing else is asked for.
    pub fn refusal(&self) -> Error {
        let reason = self.report.reason.map(ConversationReason::in_words);
        let note = self.report.note.clone();
        let why = note.or(reason.map(str::to_owned)).unwrap_or_default();
        Error::unavailable(format!("the conversation stays as it is: {why}"))
    }

    /// Returns whether the one that goes on is yet to be made.
    pub fn waits(&self) -> bool {
        self.fork.is_some() && self.made_for.is_none()
    }

    /// Returns the part of it that a plan depends on. The id of a new conversation is another one each time.
    pub fn fingerprint(&self) -> String {
        let fork = self.fork.as_ref();
        let fork = fork.map(|fork| (&fork.from, &fork.anchor, &fork.seen));
        format!(
            "{:?}",
            (self.report.kind, self.report.reason, &self.from, fork)
        )
    }

    /// Returns the report on it.
    pub fn report(&self) -> ConversationReport {
        self.report.clone()
    }
}
