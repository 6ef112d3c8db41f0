//! What a history did, as a script for `bash` that does the same with the program: what a failing case is told as.

use std::cell::RefCell;
use std::fmt::{self, Write as _};
use std::rc::Rc;

/// What comes first: a home, a store and a workspace of its own, and what the edits need.
const BEGIN: &str = r#"#!/usr/bin/env bash
set -u
scratch=$(mktemp -d)
export HOME=$scratch/home CKPT_HOOK_HOME=$scratch/store GIT_CONFIG_NOSYSTEM=1
mkdir -p "$HOME" "$scratch/work" && cd "$scratch/work" && echo "in $scratch/work"
send() { printf '{"event":"%s","session_id":"%s","cwd":"%s"}' "$1" "$2" "$PWD" | ckpt-hook event; }
start() { ckpt-hook --json step-start --session "$1" | sed -n 's/.*"step": *"\([^"]*\)".*/\1/p' >>"$scratch/steps-$1"; }
step() { sed -n "$2p" "$scratch/steps-$1"; }
id() { sed -n 's/.*"operation": *"\([^"]*\)".*/\1/p'; }
note() { id >>"$scratch/operations"; }
operation() { sed -n "$1p" "$scratch/operations"; }
its_git() { git -c user.name=t -c user.email=t@t -c commit.gpgSign=false "$@"; }
is_file() { [ -f "$1" ] && [ ! -L "$1" ]; }
way() {
    local above
    above=$(dirname -- "$1")
    while [ "$above" != . ]; do
        [ -d "$above" ] && [ ! -L "$above" ] || rm -f -- "$above"
        above=$(dirname -- "$above")
    done
    rm -rf -- "$1"
    mkdir -p -- "$(dirname -- "$1")"
}
"#;

/// A script that grows with what happens; its clones are the same script.
#[derive(Clone, Default)]
pub struct Script(Rc<RefCell<String>>);

impl Script {
    /// Adds a line.
    pub fn line(&self, line: impl fmt::Display) {
        writeln!(self.0.borrow_mut(), "{line}").expect("a string takes everything");
    }
}

impl fmt::Display for Script {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{BEGIN}{}", self.0.borrow())
    }
}

/// Returns bytes as one word of `bash`.
pub fn word(bytes: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
    if bytes.iter().all(is_plain) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let escaped = bytes.iter().fold(String::new(), |mut text, byte| {
        match byte {
            b'\n' => text.push_str("\\n"),
            b'\'' | b'\\' => text.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => text.push(char::from(*byte)),
            _ => write!(text, "\\x{byte:02x}").expect("a string takes everything"),
        }
        text
    });
    format!("$'{escaped}'")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;
    use crate::edit;
    use testing::scenario::World;

    /// Runs a script without the program, and returns its workspace.
    fn run(script: &Script, scratch: &World) -> PathBuf {
        let text = format!("ckpt-hook() {{ :; }}\n{script}");
        let mut command = Command::new("bash");
        command
            .args(["-c", &text])
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("TMPDIR", scratch.base());
        let output = command.output().expect("bash is there for the tests");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(complaints, "", "nothing to complain of in\n{text}");
        PathBuf::from(
            said.lines()
                .next()
                .and_then(|line| line.strip_prefix("in "))
                .expect("it says where it is"),
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

        /// A script does to files what the history did.
        #[test]
        fn script_does_what_the_history_did(edits in prop::collection::vec(edit::edits(), 1..6), is_git in any::<bool>()) {
            let (mut world, script) = (World::new(), Script::default());
            edit::begin(&mut world, is_git, &script);
            edit::apply_all(&edits.concat(), &world, &script);
            let mut other = World::new();
            other.root = run(&script, &world);
            assert_eq!(other.tree(), world.tree(), "the same files, of\n{script}");
        }
    }
}
