//! The agents' conversations: where a message is in them, and how a new one is made that ends just before it.
//!
//! One module for each way in which agents keep them. None of them calls a model, and none writes to a record that an
//! agent has.

mod claude_code;
mod codebuddy;
mod codex;
mod copilot_cli;
mod gemini_cli;
pub(super) mod opencode;
mod pi;
mod program;
mod qwen_code;
pub(crate) mod record;
mod tree;

use std::collections::BTreeMap;
use std::path::Path;

use ckpt_schema::report::{ConversationAbilities, ConversationReason};
use ckpt_store::model::conversation::{
    AgentConversation, Conversations, ForkFailure, ForkPlan, FoundMessage, NoFork, SoughtMessage,
};

use tree::TreeFormat;

/// The conversations of the agents that are known.
#[derive(Debug)]
pub struct AgentConversations;

/// How an agent's conversations are forked.
enum Adapter {
    /// By a copy of its record.
    Tree(&'static TreeFormat),
    /// By its own program.
    Codex,
    /// By its own program.
    Pi,
    /// By its own program.
    Copilot,
    /// By its own server.
    Opencode,
    /// By a copy in our store.
    Gemini,
}

fn adapter(agent: &str) -> Option<Adapter> {
    match agent {
        "claude-code" => Some(Adapter::Tree(&claude_code::FORMAT)),
        "qwen-code" => Some(Adapter::Tree(&qwen_code::FORMAT)),
        "codebuddy" => Some(Adapter::Tree(&codebuddy::FORMAT)),
        "copilot-cli" => Some(Adapter::Copilot),
        "codex" => Some(Adapter::Codex),
        "pi" => Some(Adapter::Pi),
        "opencode" | "kilo" => Some(Adapter::Opencode),
        "gemini-cli" => Some(Adapter::Gemini),
        _ => None,
    }
}

/// What a person presses in an agent without an interface.
fn by_hand(agent: &str) -> Option<&'static str> {
    match agent {
        "cline" => Some("in Cline, type `/undo` and choose the message to take the chat back"),
        _ => None,
    }
}

/// Returns the access to the conversations of each agent.
pub fn abilities() -> BTreeMap<String, ConversationAbilities> {
    let names = super::all().map(|agent| agent.name);
    names
        .map(|name| (name.to_owned(), AgentConversations.abilities(name)))
        .collect()
}

impl Conversations for AgentConversations {
    fn find(&self, message: &SoughtMessage) -> Result<FoundMessage, ConversationReason> {
        match adapter(&message.agent).ok_or(ConversationReason::Unsupported)? {
            Adapter::Tree(format) => format.find(message),
            Adapter::Codex => codex::find(message),
            Adapter::Pi => pi::find(message),
            Adapter::Copilot => copilot_cli::find(message),
            Adapter::Opencode => opencode::find(message),
            Adapter::Gemini => gemini_cli::find(message),
        }
    }

    fn places(&self, messages: &[SoughtMessage]) -> Vec<Option<bool>> {
        let first = messages.first();
        let places = first.and_then(|first| match adapter(&first.agent)? {
            Adapter::Tree(format) => format.places(messages),
            Adapter::Gemini => gemini_cli::places(messages),
            Adapter::Pi => pi::places(messages),
            Adapter::Copilot => copilot_cli::places(messages),
            Adapter::Opencode => opencode::places(messages),
            Adapter::Codex => codex::places(messages),
        });
        places.unwrap_or_else(|| vec![None; messages.len()])
    }

    fn origin(&self, agent: &str, conversation: &AgentConversation) -> Option<String> {
        match adapter(agent)? {
            Adapter::Tree(_) => record::beginning(conversation.transcript.as_deref()?)
                .find_map(|entry| Some(entry["forkedFrom"]["sessionId"].as_str()?.to_owned())),
            Adapter::Pi => pi::origin(&conversation.session),
            Adapter::Gemini => gemini_cli::origin(conversation.transcript.as_deref()?),
            Adapter::Codex => codex::origin(conversation.transcript.as_deref()?),
            // Their records do not say.
            Adapter::Opencode | Adapter::Copilot => None,
        }
    }

    fn plan(&self, message: &SoughtMessage) -> Result<ForkPlan, NoFork> {
        match adapter(&message.agent) {
            Some(Adapter::Tree(format)) => format.plan(message),
            Some(Adapter::Codex) => codex::plan(message),
            Some(Adapter::Pi) => pi::plan(message),
            Some(Adapter::Copilot) => copilot_cli::plan(message),
            Some(Adapter::Opencode) => opencode::plan(message),
            Some(Adapter::Gemini) => gemini_cli::plan(message),
            None => Err(NoFork {
                note: by_hand(&message.agent).map(str::to_owned),
                is_manual: by_hand(&message.agent).is_some(),
                ..NoFork::because(ConversationReason::Unsupported)
            }),
        }
    }

    fn cut(&self, plan: ForkPlan) -> Option<ForkPlan> {
        match adapter(&plan.agent)? {
            Adapter::Codex => Some(codex::cut(plan)),
            // opencode's own takes files back, too, and the others' records are theirs alone to shorten.
            _ => None,
        }
    }

    fn elsewhere(&self, mut plan: ForkPlan, directory: &Path) -> Option<ForkPlan> {
        match adapter(&plan.agent)? {
            Adapter::Tree(format) if format.agent == claude_code::FORMAT.agent => {
                let transcript = plan.to.as_mut()?.transcript.as_mut()?;
                *transcript = claude_code::of_directory(transcript, directory)?;
                Some(plan)
            }
            Adapter::Codex | Adapter::Pi | Adapter::Gemini => Some(plan),
            // They look for it among those of the directory.
            Adapter::Tree(_) | Adapter::Opencode | Adapter::Copilot => None,
        }
    }

    fn fork(&self, plan: &ForkPlan) -> Result<AgentConversation, ForkFailure> {
        match adapter(&plan.agent) {
            Some(Adapter::Tree(format)) => format.fork(plan),
            Some(Adapter::Codex) => codex::fork(plan),
            Some(Adapter::Pi) => pi::fork(plan),
            Some(Adapter::Copilot) => copilot_cli::fork(plan),
            Some(Adapter::Opencode) => opencode::fork(plan),
            Some(Adapter::Gemini) => gemini_cli::fork(plan),
            None => Err(ForkFailure::Failed("the agent has no interface".to_owned())),
        }
    }

    fn shorten(&self, plan: &ForkPlan) -> Result<(), ForkFailure> {
        // No other plan is one to shorten.
        codex::shorten(plan)
    }

    fn clean(&self, plan: &ForkPlan) {
        if let Some(path) = plan.to.as_ref().and_then(|to| to.transcript.as_deref()) {
            record::clean(path);
        }
    }

    fn command(&self, agent: &str, conversation: &AgentConversation) -> Vec<String> {
        let session = conversation.session.as_str();
        let words: &[&str] = match agent {
            // Without a record it is a new one, which gets this id.
            "claude-code" if conversation.transcript.is_none() => {
                &["claude", "--session-id", session]
            }
            "claude-code" => &["claude", "--resume", session],
            "qwen-code" if conversation.transcript.is_none() => &["qwen", "--session-id", session],
            "qwen-code" => &["qwen", "--resume", session],
            "codebuddy" if conversation.transcript.is_none() => {
                &["codebuddy", "--session-id", session]
            }
            "codebuddy" => &["codebuddy", "--resume", session],
            "copilot-cli" => &["copilot", &format!("--resume={session}")],
            "codex" => &["codex", "resume", session],
            "opencode" => &["opencode", "--session", session],
            "kilo" => &["kilo", "--session", session],
            // Pi writes no record before the first message.
            "pi" if conversation
                .transcript
                .as_deref()
                .is_some_and(|it| !it.exists()) =>
            {
                &["pi", "--session-id", session]
            }
            "pi" => &["pi", "--session", conversation.path().unwrap_or(session)],
            "gemini-cli" => match conversation.path().filter(|_| conversation.is_copy()) {
                Some(copy) => &["gemini", "--session-file", copy],
                None => &["gemini", "--resume", session],
            },
            _ => &[],
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn prefill(&self, agent: &str, text: &str) -> Vec<String> {
        match agent {
            "claude-code" => vec!["--prefill".to_owned(), text.to_owned()],
            _ => Vec::new(),
        }
    }

    fn abilities(&self, agent: &str) -> ConversationAbilities {
        let adapter = adapter(agent);
        let fork = adapter.is_some();
        ConversationAbilities {
            fork,
            cut: matches!(adapter, Some(Adapter::Codex)),
            // Their extensions go on in the fork at once.
            inside: matches!(agent, "pi" | "opencode" | "kilo"),
            reason: (!fork).then_some(ConversationReason::Unsupported),
            argv: Vec::new(),
            directory: None,
        }
    }
}

/// A message that is looked for in a record, in tests of the agents' readers.
#[cfg(test)]
fn sought(agent: &str, record: &Path, prompt: &str, before: u64) -> SoughtMessage {
    SoughtMessage {
        agent: agent.to_owned(),
        conversation: AgentConversation {
            session: "s".to_owned(),
            transcript: Some(record.to_owned()),
        },
        directory: "/w".into(),
        copies: "/c".into(),
        agent_id: None,
        turn_id: None,
        prompt: Some(prompt.to_owned()),
        before,
        turn_before: None,
    }
}
