//! What agents really sent, and what could go wrong with it.

mod any_bytes;
mod bad_input;
mod documented;
mod plugin;
mod replay;

use std::ffi::OsString;
use std::path::Path;

use super::*;

/// Parses a payload with an empty environment.
fn parse_alone(agent: &str, event: Option<&str>, payload: &[u8]) -> Parsed {
    let environment = |_: &str| -> Option<OsString> { None };
    parse(
        agent,
        event,
        payload,
        &PayloadContext {
            cwd: Path::new("/hook"),
            environment: &environment,
            first_line: &|_| None,
            last_lines: &|_| Vec::new(),
            names_in: &|_| Vec::new(),
            agent_process: &|| None,
        },
    )
}

#[test]
fn an_agent_that_was_seen_to_tell_of_tools_says_so_from_its_first_event_on() {
    let start = |agent: &str, more: &str| {
        let name = if agent == GENERIC {
            "session_start"
        } else {
            "SessionStart"
        };
        let payload = format!(r#"{{"session_id":"s"{more}}}"#);
        let parsed = parse_alone(agent, Some(name), payload.as_bytes());
        parsed.events.first().map(|event| event.tells_of_tools)
    };
    for agent in ["claude-code", "codex", "gemini-cli", "qwen-code"] {
        assert_eq!(start(agent, ""), Some(true), "{agent}");
    }
    assert_eq!(start("plugin", ""), Some(true), "it speaks for one of them");
    assert_eq!(start("droid", ""), Some(false), "nobody has seen it");
    let copilot = br#"{"sessionId":"s","timestamp":1}"#;
    let parsed = parse_alone("copilot-cli", Some("sessionStart"), copilot);
    let says = parsed.events.first().map(|event| event.tells_of_tools);
    assert_eq!(
        says,
        Some(false),
        "it is not asked for what comes before a tool"
    );
    let said = r#","tells_of_tools":true"#;
    assert_eq!(start("droid", said), Some(false), "no payload says it");
    assert_eq!(start(GENERIC, ""), Some(false));
    assert_eq!(
        start(GENERIC, r#","agent":"codex""#),
        Some(false),
        "a name says nothing"
    );
    assert_eq!(start(GENERIC, said), Some(true), "a script says it itself");
    for agent in all() {
        assert!(
            !agent.tells_of_tools() || !agent.proven_on().is_empty(),
            "{}: where it was seen at work",
            agent.name()
        );
    }
}
