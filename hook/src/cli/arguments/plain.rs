//! The command line that `install` and most front ends write, read without clap.
//!
//! Agents call `event` at each of their tools. Building all commands with their help texts, and freeing them again,
//! takes a quarter of the CPU time of a call that finds nothing to do. Anything that is not exactly of this form is
//! left to clap.

use std::ffi::OsString;
use std::path::PathBuf;

use ckpt_agents::GENERIC;
use ckpt_command::invocation::Common;

use super::record::{EventArguments, Strict};
use super::{Arguments, Command};

/// Reads `ckpt-hook event` with `--strict`, and options that have their value in the next word, each once. `None` only
/// means that the line has another form.
pub(super) fn event(arguments: &[OsString]) -> Option<Arguments> {
    let (command, mut rest) = arguments.get(1..)?.split_first()?;
    if command != "event" {
        return None;
    }
    let (mut agent, mut event, mut store) = (None, None, None);
    let mut is_strict = false;
    while let Some((option, after)) = rest.split_first() {
        if option == "--strict" && !is_strict {
            (is_strict, rest) = (true, after);
            continue;
        }
        let (value, after) = after.split_first()?;
        let value = value.to_str().filter(|value| is_plain(value))?;
        let place = match option.to_str()? {
            "--agent" => &mut agent,
            "--event" => &mut event,
            "--store" => &mut store,
            _ => return None,
        };
        if place.replace(value.to_owned()).is_some() {
            return None;
        }
        rest = after;
    }
    Some(Arguments {
        common: Common {
            store: store.map(PathBuf::from),
            ..Common::default()
        },
        command: Command::Event(EventArguments {
            agent: agent.unwrap_or_else(|| GENERIC.to_owned()),
            event,
            strict: Strict { strict: is_strict },
        }),
    })
}

/// Returns whether a word can only be a value.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && !word.starts_with('-')
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches};

    use super::*;

    const WORDS: &[&str] = &[
        "event",
        "--agent",
        "--event",
        "--store",
        "codex",
        "PreToolUse",
        "/a b",
        "",
        "-",
        "--",
        "-q",
        "--agent=codex",
        "--strict",
        "log",
    ];

    fn by_clap(line: &[OsString]) -> String {
        let matches = Arguments::command().try_get_matches_from(line);
        let arguments = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
        format!("{:?}", arguments.expect("clap reads it, too"))
    }

    /// What is read without clap is what clap reads.
    #[test]
    fn arguments_without_clap_are_those_of_clap() {
        let mut lines = vec![vec!["ckpt-hook".into(), "event".into()]];
        let mut read = 0;
        for _ in 0..4 {
            let longer = lines.iter().flat_map(|line| {
                let with = |word: &&str| [&line[..], &[OsString::from(word)]].concat();
                WORDS.iter().map(with)
            });
            lines = longer.collect();
            for line in &lines {
                if let Some(arguments) = event(line) {
                    assert_eq!(format!("{arguments:?}"), by_clap(line), "{line:?}");
                    read += 1;
                }
            }
        }
        assert!(read > 100, "{read} lines were compared");
    }

    #[test]
    fn what_install_writes_is_read_without_clap() {
        let written = ckpt_agents::settings::command::arguments("claude-code", "PreToolUse");
        let line = ["ckpt-hook".to_owned()].into_iter().chain(written);
        let line: Vec<OsString> = line.map(OsString::from).collect();
        assert!(event(&line).is_some(), "{line:?}");
    }
}
