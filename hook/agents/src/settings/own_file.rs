//! A file that is ours alone: a plugin, a script, a file in a folder of hooks. Text in, text out.

use ckpt_store::error::{Error, Result};

use super::command;
use super::content::{OwnHandlers, SettingsContent};

/// What we want in a file of our own.
pub struct OwnFile {
    /// The whole text.
    pub text: String,
    /// A text that only our files hold.
    pub marker: String,
    /// The binary that it calls.
    pub binary: String,
    /// Whether the hook works without it. If so, another program's file of that name stays.
    pub is_optional: bool,
}

impl OwnFile {
    /// Returns a file that calls the hook for an agent. The agent's name after our subcommand is how we recognize it.
    pub fn of_hook(agent: &str, binary: &str, text: String) -> Self {
        Self {
            text,
            marker: format!("event --agent {agent}"),
            binary: binary.to_owned(),
            is_optional: false,
        }
    }

    /// Returns whether a text is ours, of any version.
    fn is_ours(&self, text: &str) -> bool {
        text.contains(&self.marker)
    }
}

impl SettingsContent for OwnFile {
    /// Returns the text that the file is to have.
    ///
    /// # Errors
    ///
    /// A file of that name that is not ours.
    fn insert(&self, before: &str) -> Result<String> {
        if before.trim().is_empty() || self.is_ours(before) {
            return Ok(self.text.clone());
        }
        if self.is_optional {
            return Ok(before.to_owned());
        }
        Err(Error::failed("another file has the name that ours needs"))
    }

    /// The rest of the file: nothing, or all of it if it is not ours.
    fn remove(&self, before: &str) -> Result<Option<String>> {
        Ok((!self.is_ours(before)).then(|| before.to_owned()))
    }

    /// Returns our handlers in the file.
    fn find(&self, text: &str) -> Result<OwnHandlers> {
        if !self.is_ours(text) {
            return Ok(OwnHandlers::default());
        }
        let called = called(text);
        let binaries = if called.is_empty() {
            vec![self.binary.clone()]
        } else {
            called
        };
        Ok(OwnHandlers {
            binaries,
            exact: text == self.text,
            ..OwnHandlers::default()
        })
    }

    fn gives_way_to(&self, text: &str) -> bool {
        self.is_optional && !text.trim().is_empty() && !self.is_ours(text)
    }
}

/// Returns the binaries that one of our files calls: in a constant of a plugin, in a line of shell, or in one within
/// JSON.
fn called(text: &str) -> Vec<String> {
    let mut binaries: Vec<String> = text.lines().filter_map(called_in).collect();
    binaries.sort();
    binaries.dedup();
    binaries
}

/// Returns the binary that one line calls or names.
fn called_in(line: &str) -> Option<String> {
    let line = line.trim().trim_end_matches(',');
    if let Some(constant) = line.strip_prefix("const binary = ") {
        return serde_json::from_str(constant).ok();
    }
    let quoted = line
        .strip_prefix("\"bash\": ")
        .and_then(|line| serde_json::from_str::<String>(line).ok());
    command::binary(quoted.as_deref().unwrap_or(line))
}
