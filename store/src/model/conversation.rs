//! An agent's conversation, and the interface by which the binary's adapters find a message in it and fork it. The
//! store decides when that is done, and what is undone again.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use ckpt_schema::report::{ConversationAbilities, ConversationReason};
use serde::{Deserialize, Serialize};

/// The folder in the store for the copies of conversations that an agent does not keep itself.
pub(crate) const COPIES: &str = "conversations";

/// A conversation by the agent's id, with its record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentConversation {
    /// The agent's id.
    pub session: String,
    /// The agent's own record, if its path is known.
    pub transcript: Option<PathBuf>,
}

impl AgentConversation {
    /// Returns the path of its record as text.
    pub fn path(&self) -> Option<&str> {
        self.transcript.as_deref()?.to_str()
    }

    /// Returns whether its record is a copy in our store.
    pub fn is_copy(&self) -> bool {
        let folder = self.transcript.as_deref().and_then(Path::parent);
        folder.is_some_and(|folder| folder.ends_with(COPIES))
    }
}

/// A message that is looked for in its agent's conversation.
#[derive(Clone, Debug)]
pub struct SoughtMessage {
    /// The agent.
    pub agent: String,
    /// The conversation in which it was sent.
    pub conversation: AgentConversation,
    /// The directory in which the agent was started.
    pub directory: PathBuf,
    /// The folder for copies of records that the agent does not keep itself.
    pub copies: PathBuf,
    /// The agent's name for the message.
    pub agent_id: Option<String>,
    /// The agent's turn.
    pub turn_id: Option<String>,
    /// What the user wrote, as far as it was kept.
    pub prompt: Option<String>,
    /// How many recorded messages of the conversation came before it.
    pub before: u64,
    /// The name of the turn of the message before it, in the same conversation.
    pub turn_before: Option<String>,
}

/// A message that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundMessage {
    /// The entry that holds it.
    pub entry: Option<String>,
    /// The entry before it.
    pub parent: Option<String>,
    /// What the user wrote, if the record holds it.
    pub prompt: Option<String>,
    /// Whether the agent has left it: it is no longer in the conversation.
    pub is_left: bool,
}

/// How a fork is made. It is written to the journal first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkPlan {
    /// The agent.
    pub agent: String,
    /// The conversation that it begins with, which stays as it is.
    pub from: AgentConversation,
    /// The new conversation, where its id is chosen here; its transcript is there once the fork is made.
    pub to: Option<AgentConversation>,
    /// Where it ends: the name that the agent's interface takes.
    pub anchor: String,
    /// The workspace's directory.
    pub directory: PathBuf,
    /// The interface by which it is made, in words.
    pub interface: String,
    /// What is lost, and what else the user should know.
    pub note: Option<String>,
    /// How far the conversation had got: if it goes on, the plan is stale.
    pub seen: String,
    /// Whether the old conversation is shortened itself; what is made keeps all of it.
    pub is_cut: bool,
}

/// Why there is no plan for a fork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoFork {
    /// The reason.
    pub reason: ConversationReason,
    /// More about it.
    pub note: Option<String>,
    /// Whether a person can do it in the agent, as `note` says.
    pub is_manual: bool,
}

impl NoFork {
    /// A reason that says enough.
    pub fn because(reason: ConversationReason) -> Self {
        Self {
            reason,
            note: None,
            is_manual: false,
        }
    }
}

/// Why a fork was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForkFailure {
    /// There is no new conversation.
    Failed(String),
    /// The agent was asked for one, and did not answer: there may be one.
    Unknown(String),
}

impl ForkFailure {
    /// Returns the reason for a report.
    pub(crate) fn reason(&self) -> ConversationReason {
        match self {
            Self::Failed(_) => ConversationReason::Failed,
            Self::Unknown(_) => ConversationReason::NoAnswer,
        }
    }

    /// Says that something was not done to a conversation, or may have been.
    pub(crate) fn in_words(&self, done: &str) -> String {
        match self {
            Self::Failed(why) => format!("the conversation could not be {done}: {why}"),
            Self::Unknown(why) => {
                format!("it is not known whether the agent has {done} the conversation: {why}")
            }
        }
    }
}

/// Finds messages in the conversations of agents, and forks conversations. Nothing here calls a model.
pub trait Conversations: Debug + Sync {
    /// Finds a message in its conversation. It reads only.
    fn find(&self, message: &SoughtMessage) -> Result<FoundMessage, ConversationReason>;

    /// Returns for each message of one conversation whether the agent has left it. `None` where its record does not tell,
    /// or does not have the message.
    fn places(&self, messages: &[SoughtMessage]) -> Vec<Option<bool>>;

    /// Returns the agent's id of the conversation from which one was forked, if its record names one.
    fn origin(&self, agent: &str, conversation: &AgentConversation) -> Option<String>;

    /// Plans a conversation that ends just before a message. It reads only.
    fn plan(&self, message: &SoughtMessage) -> Result<ForkPlan, NoFork>;

    /// Turns the plan of a fork into one that shortens the conversation itself. `None` if the agent does not offer that.
    fn cut(&self, plan: ForkPlan) -> Option<ForkPlan>;

    /// Turns the plan of a fork into one that goes on in another directory. `None` if the agent does not find it there.
    fn elsewhere(&self, _: ForkPlan, _: &Path) -> Option<ForkPlan> {
        None
    }

    /// Makes the new conversation, whole or not at all. The old one stays as it is. Of one that is to be shortened, it is
    /// the one that keeps all of it.
    fn fork(&self, plan: &ForkPlan) -> Result<AgentConversation, ForkFailure>;

    /// Shortens the conversation itself, all of which is kept.
    fn shorten(&self, _: &ForkPlan) -> Result<(), ForkFailure> {
        Err(ForkFailure::Failed(
            "its agent cannot shorten one".to_owned(),
        ))
    }

    /// Removes what a crash left of a new conversation that was not made.
    fn clean(&self, plan: &ForkPlan);

    /// Returns the command that goes on in a conversation; empty if there is none.
    fn command(&self, agent: &str, conversation: &AgentConversation) -> Vec<String>;

    /// Returns the arguments after that command that put a text into the input box at a terminal; none if it has none.
    fn prefill(&self, agent: &str, text: &str) -> Vec<String>;

    /// Returns the access to the conversations of an agent.
    fn abilities(&self, agent: &str) -> ConversationAbilities;
}

/// The conversations of no agent at all.
#[derive(Debug)]
pub struct NoConversations;

impl Conversations for NoConversations {
    fn find(&self, _: &SoughtMessage) -> Result<FoundMessage, ConversationReason> {
        Err(ConversationReason::Unsupported)
    }

    fn places(&self, messages: &[SoughtMessage]) -> Vec<Option<bool>> {
        vec![None; messages.len()]
    }

    fn origin(&self, _: &str, _: &AgentConversation) -> Option<String> {
        None
    }

    fn plan(&self, _: &SoughtMessage) -> Result<ForkPlan, NoFork> {
        Err(NoFork::because(ConversationReason::Unsupported))
    }

    fn cut(&self, _: ForkPlan) -> Option<ForkPlan> {
        None
    }

    fn fork(&self, _: &ForkPlan) -> Result<AgentConversation, ForkFailure> {
        Err(ForkFailure::Failed("no agent is known".to_owned()))
    }

    fn clean(&self, _: &ForkPlan) {}

    fn command(&self, _: &str, _: &AgentConversation) -> Vec<String> {
        Vec::new()
    }

    fn prefill(&self, _: &str, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn abilities(&self, _: &str) -> ConversationAbilities {
        ConversationAbilities {
            fork: false,
            cut: false,
            inside: false,
            reason: Some(ConversationReason::Unsupported),
            argv: Vec::new(),
            directory: None,
        }
    }
}
