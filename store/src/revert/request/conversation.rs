//! What an operation's row says of the agent's conversation.

use ckpt_schema::report::{ConversationKind, ConversationReport};
use serde::{Deserialize, Serialize};

use crate::model::conversation::{AgentConversation, ForkPlan, NoFork};

/// What becomes of a conversation, as an operation's row says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct JournalledConversation {
    pub report: ConversationReport,
    /// The conversation before it.
    pub from: Option<AgentConversation>,
    /// The one that goes on.
    pub to: Option<AgentConversation>,
    /// How a fork is made that is not made yet.
    pub fork: Option<ForkPlan>,
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
        }
    }

    /// Returns the operation's column for it: nothing where the conversation stays. The prompt is where the
    /// settings keep it, and nowhere else.
    pub fn to_json(&self) -> Option<String> {
        let mut row = self.clone();
        row.report.prompt = None;
        self.from.as_ref()?;
        serde_json::to_string(&row).ok()
    }

    /// Reads what an operation's row says of it.
    pub fn of_row(text: Option<&str>) -> Option<Self> {
        serde_json::from_str(text?).ok()
    }

    /// Returns whether something is done with it.
    pub fn has_work(&self) -> bool {
        self.fork.is_some()
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
