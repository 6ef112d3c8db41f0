//! The command lines that we put into settings, and how they are recognized.

use std::path::Path;

use ckpt_store::error::{Error, Result};
pub use ckpt_store::model::shell::quoted;

/// The binary's name, by which our entries are recognized.
const BINARY: &str = "ckpt-hook";

/// What stands between the binary and the agent's name in every one of our entries.
const SUBCOMMAND: &str = " event --agent ";

/// Returns the arguments of our call for an event of an agent.
pub fn arguments(agent: &str, event: &str) -> [String; 5] {
    ["event", "--agent", agent, "--event", event].map(str::to_owned)
}

/// Returns the call as a command line for a POSIX shell that never fails and never prints anything.
///
/// Some agents treat the exit code 127 of a removed binary, or any output on stderr, as a refusal and stop the user's
/// message. A hook that is gone would then break the agent.
///
/// # Errors
///
/// As for [`text`].
pub fn guarded(binary: &Path, agent: &str, event: &str) -> Result<String> {
    let binary = quoted(text(binary)?);
    let arguments = arguments(agent, event).join(" ");
    Ok(format!(
        "test -x {binary} && {binary} {arguments} 2>/dev/null || true"
    ))
}

/// Returns a path as text.
///
/// # Errors
///
/// A path that is not UTF-8: no settings file can hold it.
pub fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| {
        Error::failed(format!("the path `{}` is not UTF-8", path.display()))
            .hint("install ckpt-hook somewhere else")
    })
}

/// Checks that entries which call a program can be found again: they are recognized by its name.
///
/// # Errors
///
/// A program of another name. Its entries would be added again each time, and never removed.
pub fn check_name(binary: &Path) -> Result<()> {
    let name = binary.file_stem().unwrap_or_default();
    if name == BINARY {
        return Ok(());
    }
    Err(Error::failed(format!(
        "this program is called `{}`, and hooks are found again by the name `{BINARY}`",
        name.display()
    ))
    .hint(format!("rename it to `{BINARY}`, and try again")))
}

/// Returns whether a line calls us.
pub fn is_ours(line: &str) -> bool {
    binary(line).is_some()
}

/// Returns the binary that one of our lines calls.
pub fn binary(line: &str) -> Option<String> {
    let (before, _) = line.split_once(SUBCOMMAND)?;
    let path = match before.strip_suffix('\'') {
        Some(quoted) => unquoted(quoted),
        None => before
            .rsplit_once("&& ")
            .map_or(before, |(_, path)| path)
            .trim_matches('"')
            .to_owned(),
    };
    let name = path.rsplit(['/', '\\']).next()?;
    (name == BINARY || name.strip_suffix(".exe") == Some(BINARY)).then_some(path)
}

/// Returns the last word of a line that ends within single quotes.
fn unquoted(line: &str) -> String {
    // A quote in the word is written as '\'', so the word begins at the last quote that is not part of one.
    let mut start = line.len();
    while let Some(quote) = line[..start].rfind('\'') {
        if line[..quote].ends_with(r"'\'") {
            start = quote - 3;
        } else {
            return line[quote + 1..].replace(r"'\''", "'");
        }
    }
    line.replace(r"'\''", "'")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line that we write is known again whatever the path holds.
    #[test]
    fn our_line_is_known_again_for_any_path() {
        for path in [
            "/usr/bin/ckpt-hook",
            "/my tools/ckpt-hook",
            "/it's/a 'b'/ckpt-hook",
            "/a$b`c\"/ckpt-hook",
        ] {
            let line = guarded(Path::new(path), "gemini-cli", "BeforeModel").expect("UTF-8");
            assert_eq!(
                binary(&line).as_deref(),
                Some(path),
                "the path comes back from {line}"
            );
        }
        assert_eq!(
            binary("C:\\x\\ckpt-hook.exe event --agent codex").as_deref(),
            Some("C:\\x\\ckpt-hook.exe"),
            "Windows"
        );
        assert_eq!(
            binary("\"/a b/ckpt-hook\" event --agent codex").as_deref(),
            Some("/a b/ckpt-hook"),
            "double quotes"
        );
    }

    #[test]
    fn a_line_of_somebody_else_is_not_ours() {
        for line in [
            "ckpt-hook status",
            "/ckpt-hook/other event --agent codex",
            "my-ckpt-hook event --agent codex",
            "event --agent x",
        ] {
            assert!(!is_ours(line), "{line} is not a call of ours");
        }
    }

    #[test]
    fn a_guarded_line_is_quiet_and_ends_well() {
        let line = guarded(
            Path::new("/gone away/ckpt-hook"),
            "gemini-cli",
            "BeforeAgent",
        )
        .expect("UTF-8");
        let output = std::process::Command::new("/bin/sh")
            .args(["-c", &line])
            .output()
            .expect("a shell");
        assert!(output.status.success(), "a removed binary blocks nobody");
        assert!(
            output.stdout.is_empty() && output.stderr.is_empty(),
            "and says nothing"
        );
    }
}
