//! What the fuzzer of payloads tries (`fuzz/fuzz_targets/payload.rs`), with a stable toolchain: recorded payloads of
//! every agent, damaged. Whatever the bytes are, they are read.

use std::fs;
use std::path::{Path, PathBuf};

use ckpt_process::stdin;

use super::*;

/// Damaged payloads for each that was recorded.
const EACH: u64 = 2;

/// A number that depends on the last one alone, so that a failure comes again.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn recorded(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("it is there") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            recorded(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "json") {
            found.push(path);
        }
    }
}

fn damage(bytes: &mut Vec<u8>, state: &mut u64) {
    for _ in 0..=next(state) % 4 {
        let length = bytes.len().max(1) as u64;
        let at = usize::try_from(next(state) % length).expect("it is in the payload");
        let byte = next(state).to_le_bytes()[0];
        match next(state) % 5 {
            0 if at < bytes.len() => bytes[at] = byte,
            1 => bytes.insert(at.min(bytes.len()), byte),
            2 => bytes.truncate(at),
            3 if at < bytes.len() => {
                let again = bytes[at..].to_vec();
                bytes.extend(again);
            }
            // Numbers out of all bounds, and what no text holds.
            _ => drop(bytes.splice(at..at, *b"1e999, -18446744073709551616, \"\\ud800\xff\"")),
        }
    }
}

/// Invariant `work/hostile-sizes`.
#[test]
fn payloads_of_any_bytes_are_read() {
    let mut files = Vec::new();
    recorded(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/agents"),
        &mut files,
    );
    assert!(files.len() > 50, "many were recorded");
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for file in files {
        let sound = fs::read(&file).expect("it is ours");
        for _ in 0..EACH {
            let mut bytes = sound.clone();
            damage(&mut bytes, &mut state);
            let payload = stdin::read_payload(&bytes[..], || true).expect("from memory");
            for agent in [
                "claude-code",
                "codex",
                "gemini-cli",
                "qwen-code",
                "cline",
                "copilot-cli",
                "opencode",
                "pi",
                "generic",
            ] {
                for event in [None, Some("PreToolUse")] {
                    let parsed = parse_alone(agent, event, &payload.bytes);
                    assert!(parsed.events.len() < 1000, "{}", file.display());
                }
            }
        }
    }
}
