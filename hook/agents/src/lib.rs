//! The agents, one folder each: `payload.rs` turns what the agent sends into events, `install.rs` says what its
//! settings must hold.
//!
//! [`payload`] and [`settings`] are what they share. To add an agent, add a folder, and a line in [`all`] and in the
//! targets of [`install`].

/// The Agent Client Protocol, for agents without hooks.
pub mod acp;
mod alike;
pub mod conversations;
pub mod install;
pub mod own_command;
pub mod payload;
pub mod reminder;
pub mod roots;
mod sender;
pub mod settings;
pub mod transcripts;
pub mod usage;

mod claude_code {
    pub mod install;
    pub mod payload;
    mod policy;
}
mod cline {
    pub mod install;
    pub mod payload;
}
/// Codex, which can be asked whether it trusts the hook.
pub mod codex {
    pub mod install;
    pub mod listed;
    pub mod payload;
    mod policy;
    pub mod trust;
}
mod copilot_cli {
    pub mod install;
    pub mod payload;
}
mod gemini_cli {
    pub mod install;
    pub mod payload;
}
mod generic {
    pub mod payload;
}
mod opencode {
    pub mod install;
    pub mod payload;
}
mod pi {
    pub mod install;
    pub mod payload;
}
mod plugin {
    pub mod payload;
}
mod qwen_code {
    pub mod install;
    pub mod payload;
}
mod windsurf {
    pub mod payload;
}

#[cfg(test)]
mod tests;

pub use generic::payload::GENERIC;
use payload::{Agent, Parsed, PayloadContext};

/// Returns every agent, the generic one first.
pub fn all() -> impl Iterator<Item = &'static Agent> {
    let own: [&Agent; 11] = [
        &generic::payload::GENERIC_AGENT,
        &claude_code::payload::CLAUDE_CODE,
        &codex::payload::CODEX,
        &gemini_cli::payload::GEMINI_CLI,
        &qwen_code::payload::QWEN_CODE,
        &copilot_cli::payload::COPILOT_CLI,
        &opencode::payload::OPENCODE,
        &opencode::payload::KILO,
        &cline::payload::CLINE,
        &pi::payload::PI,
        &windsurf::payload::WINDSURF,
    ];
    own.into_iter().chain(alike::AGENTS)
}

/// Returns the agent with that name.
pub fn find(name: &str) -> Option<&'static Agent> {
    let mut all = all().chain([&plugin::payload::PLUGIN]);
    all.find(|agent| agent.name == name)
}

/// Reads a payload that came by the settings of the agent with that name.
pub fn parse(
    agent: &str,
    event: Option<&str>,
    payload: &[u8],
    context: &PayloadContext<'_>,
) -> Parsed {
    let Some(agent) = find(agent) else {
        return Parsed {
            problems: vec!["the agent's name is unknown".to_owned()],
            ..Parsed::default()
        };
    };
    let mut parsed = payload::parse(
        agent.name,
        event,
        payload,
        context,
        &|payload| match sender::of(payload) {
            Some(sender) => sender.translate(&payload.of_agent(sender.name)),
            None => agent.translate(payload),
        },
    );
    // A script may call itself by any agent's name, so its events are not adapted: it says itself what they are.
    let adapted = parsed.events.iter_mut().filter(|_| agent.name != GENERIC);
    for event in adapted {
        event.tells_of_tools = find(&event.agent).is_some_and(|it| it.tells_of_tools);
    }
    parsed
}
