//! What agents really sent, and what could go wrong with it.

mod any_bytes;
mod bad_input;
mod documented;
mod plugin;
mod replay;

use std::ffi::OsString;
use std::path::Path;

use super::*;

/// Reads a payload in a process that knows nothing of its own.
fn parse_alone(agent: &str, event: Option<&str>, payload: &[u8]) -> Parsed {
    let environment = |_: &str| -> Option<OsString> { None };
    parse(
        agent,
        event,
        payload,
        &Context {
            cwd: Path::new("/hook"),
            environment: &environment,
            first_line: &|_| None,
        },
    )
}
