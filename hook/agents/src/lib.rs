//! The agents, one folder each: `payload.rs` turns what the agent sends into events, `install.rs` says what its
//! settings must hold.
//!
//! [`payload`] and [`settings`] are what they share. To add an agent, add a folder, and a line in [`all`] and in the
//! targets of [`install`].

pub mod install;
pub mod own_command;
pub mod payload;
pub mod reminder;
pub mod settings;
pub mod transcripts;

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
mod cursor {
    pub mod payload;
}
mod droid {
    pub mod payload;
}
mod gemini_cli {
    pub mod install;
    pub mod payload;
}
mod generic {
    pub mod payload;
}
mod goose {
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
mod vscode {
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
pub fn all() -> &'static [&'static dyn Agent] {
    &[
        &generic::payload::Generic,
        &claude_code::payload::ClaudeCode,
        &codex::payload::Codex,
        &gemini_cli::payload::GeminiCli,
        &qwen_code::payload::QwenCode,
        &copilot_cli::payload::CopilotCli,
        &opencode::payload::OPENCODE,
        &opencode::payload::KILO,
        &cline::payload::Cline,
        &pi::payload::Pi,
        &cursor::payload::CURSOR,
        &windsurf::payload::Windsurf,
        &droid::payload::DROID,
        &goose::payload::GOOSE,
        &vscode::payload::VSCODE,
    ]
}

/// Returns the agent with that name.
pub fn find(name: &str) -> Option<&'static dyn Agent> {
    let shared: &dyn Agent = &plugin::payload::Plugin;
    all()
        .iter()
        .copied()
        .chain([shared])
        .find(|agent| agent.name() == name)
}

/// Reads a payload of the agent with that name.
pub fn parse(
    agent: &str,
    event: Option<&str>,
    payload: &[u8],
    context: &PayloadContext<'_>,
) -> Parsed {
    match find(agent) {
        Some(agent) => {
            let mut parsed = agent.parse(event, payload, context);
            // A script may call itself by any agent's name, so its events are not adapted: it says itself what they
            // are.
            let adapted = parsed.events.iter_mut().filter(|_| agent.name() != GENERIC);
            for event in adapted {
                event.tells_of_tools = find(&event.agent).is_some_and(|it| it.tells_of_tools());
            }
            parsed
        }
        None => Parsed {
            problems: vec!["the agent's name is unknown".to_owned()],
            ..Parsed::default()
        },
    }
}
