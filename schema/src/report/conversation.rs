//! What becomes of an agent's conversation when its files go back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is done to a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConversationKind {
    /// A new conversation ends just before the message. The old one stays as it is.
    Forked,
    /// The conversation itself ends just before the message now.
    Cut,
    /// The session goes on in the conversation that it had before.
    Back,
    /// A person can do it in the agent: `note` says how.
    Manual,
    /// Nothing: `reason` says why.
    None,
}

/// Why a conversation stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConversationReason {
    /// Only the files were asked for.
    NotAsked,
    /// Only a part of the session went back, so the conversation goes on.
    Part,
    /// The agent has no interface for it.
    Unsupported,
    /// No event named the conversation's record, or it is gone.
    NoTranscript,
    /// The record has entries that this version of ckpt-hook does not know.
    UnknownFormat,
    /// The message is not in the record.
    NotFound,
    /// The agent's program was not found.
    NoProgram,
    /// The agent was asked for a new one, and there is none.
    Failed,
    /// The agent was asked for a new one, and its answer was lost: there may be one.
    NoAnswer,
}

impl ConversationReason {
    /// Returns the reason in words, as the end of a sentence.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::NotAsked => "only the files were asked for",
            Self::Part => "only a part of the session goes back",
            Self::Unsupported => "the agent has no interface for it",
            Self::NoTranscript => "the agent's record of it is gone, or no event named it",
            Self::UnknownFormat => "the agent's record of it is of a form that is not known",
            Self::NotFound => "the message is not in the agent's record of it",
            Self::NoProgram => "the agent's program was not found",
            Self::Failed => "the agent was asked for a new one, and there is none",
            Self::NoAnswer => "the agent was asked for a new one, and its answer was lost",
        }
    }
}

/// What an operation does to the conversation of its session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationReport {
    /// What is done to it.
    pub kind: ConversationKind,
    /// Why nothing is done; null if something is.
    pub reason: Option<ConversationReason>,
    /// The agent's id of the conversation that goes on; null while the agent has not named it.
    pub session: Option<String>,
    /// The command that goes on in it, to be run in `directory`; empty if there is none.
    pub argv: Vec<String>,
    /// The directory in which the command runs.
    pub directory: Option<String>,
    /// The interface by which it is done, in words.
    pub interface: Option<String>,
    /// What else the user should know.
    pub note: Option<String>,
    /// What the user wrote in the message, for an input box; null if it is not known.
    pub prompt: Option<String>,
    /// The arguments after `argv` that put it into the agent's input box at a terminal; empty if the agent has none.
    pub prefill: Vec<String>,
}

impl ConversationReport {
    /// Returns the report of a conversation that stays as it is.
    pub fn none(reason: ConversationReason) -> Self {
        Self {
            kind: ConversationKind::None,
            reason: Some(reason),
            session: None,
            argv: Vec::new(),
            directory: None,
            interface: None,
            note: None,
            prompt: None,
            prefill: Vec::new(),
        }
    }
}

/// Where a message is in its agent's conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationPlace {
    /// The agent's id of the conversation.
    pub session: String,
    /// The agent's record of it, if an event named one.
    pub transcript: Option<String>,
    /// The agent's id of the prompt.
    pub prompt_id: Option<String>,
    /// The agent's id of the turn.
    pub turn: Option<String>,
    /// The entry of the record that holds the message.
    pub entry: Option<String>,
    /// The entry before it.
    pub parent: Option<String>,
    /// Whether the agent has left it: it is no longer in the conversation.
    pub left: bool,
    /// Why the entry is not known; null if it is.
    pub reason: Option<ConversationReason>,
}

/// What can be done to the conversation of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationAbilities {
    /// Whether `--conversation fork` can make a new one.
    pub fork: bool,
    /// Whether `--conversation cut` can shorten it.
    pub cut: bool,
    /// Whether a command inside the agent does both halves.
    pub inside: bool,
    /// Why a fork cannot be made; null if it can.
    pub reason: Option<ConversationReason>,
    /// The command that goes on in the conversation that a revert made, until a message says which one goes on; else empty.
    pub argv: Vec<String>,
    /// The directory in which that command runs.
    pub directory: Option<String>,
}
