//! What agents send: the first byte chooses the agent, the rest is its payload. The binary's modules are built in here, since
//! a binary has no library.
#![no_main]
#![allow(dead_code, reason = "only what reads a payload is called")]

#[path = "../../hook/src/agents/mod.rs"]
mod agents;
#[path = "../../hook/src/cli/mod.rs"]
mod cli;
#[path = "../../hook/src/config/mod.rs"]
mod config;
#[path = "../../hook/src/failure.rs"]
mod failure;
#[path = "../../hook/src/guard.rs"]
mod guard;
#[path = "../../hook/src/locks.rs"]
mod locks;
#[path = "../../hook/src/log_file.rs"]
mod log_file;
#[path = "../../hook/src/output/mod.rs"]
mod output;
#[expect(unused_imports, reason = "the hook's main uses what this target does not")]
#[path = "../../hook/src/process/mod.rs"]
mod process;
#[path = "../../hook/src/stdin/mod.rs"]
mod stdin;
#[path = "../../hook/src/surroundings.rs"]
mod surroundings;

use std::path::Path;

const AGENTS: [&str; 10] = [
    "claude-code", "codex", "gemini-cli", "qwen-code", "cline", "copilot-cli", "opencode", "pi", "goose", "generic",
];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((first, payload)) = bytes.split_first() else { return };
    let Ok(payload) = stdin::read_payload(payload, || true) else { return };
    let context = agents::payload::PayloadContext {
        cwd: Path::new("/work"),
        environment: &|_| None,
        first_line: &|_| None,
        last_lines: &|_| Vec::new(),
        names_in: &|_| Vec::new(),
        agent_process: &|| None,
    };
    let agent = AGENTS[usize::from(*first) % AGENTS.len()];
    for event in [None, Some("PreToolUse"), Some("message")] {
        let _ = agents::parse(agent, event, &payload.bytes, &context);
    }
});
