//! What agents send: the first byte chooses the agent, the rest is its payload.
#![no_main]

use std::path::Path;

use ckpt_agents::payload::PayloadContext;
use ckpt_process::stdin;

const AGENTS: [&str; 10] = [
    "claude-code", "codex", "gemini-cli", "qwen-code", "cline", "copilot-cli", "opencode", "pi", "goose", "generic",
];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((first, payload)) = bytes.split_first() else { return };
    let Ok(payload) = stdin::read_payload(payload, || true) else { return };
    let context = PayloadContext {
        cwd: Path::new("/work"),
        environment: &|_| None,
        first_line: &|_| None,
        last_lines: &|_| Vec::new(),
        names_in: &|_| Vec::new(),
        agent_process: &|| None,
    };
    let agent = AGENTS[usize::from(*first) % AGENTS.len()];
    for event in [None, Some("PreToolUse"), Some("message")] {
        let _ = ckpt_agents::parse(agent, event, &payload.bytes, &context);
    }
});
