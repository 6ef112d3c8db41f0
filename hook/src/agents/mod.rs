//! What agents send, turned into events: one file an agent, all behind [`Agent`].
//!
//! A payload becomes values and nothing else: no file is opened, nothing is recorded, and what a payload says is data
//! that never becomes a path or a command here. An agent is added with a file of its own and a line in [`all`].

mod claude_code;
mod cline;
mod codex;
mod copilot_cli;
mod cursor;
mod documented;
mod droid;
mod gemini_cli;
mod generic;
mod goose;
pub mod json;
mod opencode;
pub mod own_command;
pub mod payload;
mod pi;
mod plugin;
mod qwen_code;
mod shape;
pub mod told;
mod vscode;
mod windsurf;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::Path;

use ckpt_schema::event::Event;

use payload::{Payload, Problem};

/// The agent of scripts: our own contract.
pub const GENERIC: &str = "generic";

/// What the hook process knows beside the payload.
pub struct Context<'a> {
    /// The hook's own working directory, for payloads that name none.
    pub cwd: &'a Path,
    /// The environment, by name.
    pub environment: &'a dyn Fn(&str) -> Option<OsString>,
}

/// What a payload means.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// The events, in order; none where the payload is of no interest.
    pub events: Vec<Event>,
    /// What was wrong with the payload, for `diagnostics`; it never quotes what the payload holds.
    pub problems: Vec<String>,
}

/// An agent whose payloads we understand.
pub trait Agent: Sync {
    /// Returns the name that settings and the command line use.
    fn name(&self) -> &'static str;

    /// Returns the versions of the agent on which the translation was seen at work; none where it follows
    /// documentation alone.
    fn proven_on(&self) -> &'static [&'static str];

    /// Returns what to print at a user message, so that the model reads a line with it; `None` where the agent has no
    /// documented way to be told.
    fn tell(&self, _line: &str) -> Option<String> {
        None
    }

    /// Returns what a payload of the agent means.
    fn translate(&self, payload: &Payload<'_>) -> Result<Vec<Event>, Problem>;

    /// Reads a payload and returns what it means; `event` is the agent's own name of the event, from the command line.
    fn parse(&self, event: Option<&str>, payload: &[u8], context: &Context<'_>) -> Parsed {
        payload::parse(self.name(), event, payload, context, &|payload| {
            self.translate(payload)
        })
    }
}

/// Returns every agent, the generic one first.
pub fn all() -> &'static [&'static dyn Agent] {
    &[
        &generic::Generic,
        &claude_code::ClaudeCode,
        &codex::Codex,
        &gemini_cli::GeminiCli,
        &qwen_code::QwenCode,
        &copilot_cli::CopilotCli,
        &opencode::OPENCODE,
        &opencode::KILO,
        &cline::Cline,
        &pi::Pi,
        &cursor::CURSOR,
        &windsurf::Windsurf,
        &droid::DROID,
        &goose::GOOSE,
        &vscode::VSCODE,
    ]
}

/// Returns the agent with that name.
pub fn find(name: &str) -> Option<&'static dyn Agent> {
    let shared: &dyn Agent = &plugin::Plugin;
    all()
        .iter()
        .copied()
        .chain([shared])
        .find(|agent| agent.name() == name)
}

/// Reads a payload of the agent with that name.
pub fn parse(agent: &str, event: Option<&str>, payload: &[u8], context: &Context<'_>) -> Parsed {
    match find(agent) {
        Some(agent) => agent.parse(event, payload, context),
        None => Parsed {
            problems: vec!["the agent's name is unknown".to_owned()],
            ..Parsed::default()
        },
    }
}
