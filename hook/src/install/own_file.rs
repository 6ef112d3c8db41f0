//! A file that is ours alone: a plugin, a script, a file in a folder of hooks. Text in, text out.

use ckpt_store::error::{Error, Result};

use super::hook_table::Found;

/// What we want in a file of our own.
pub struct OwnFile {
    /// The whole text.
    pub text: String,
    /// The agent; its name behind our subcommand is how the file is known for ours.
    pub agent: &'static str,
    /// The binary that it calls.
    pub binary: String,
}

impl OwnFile {
    /// Returns the text that the file is to have.
    ///
    /// # Errors
    ///
    /// A file of that name that is not ours.
    pub fn insert(&self, before: &str) -> Result<String> {
        if before.trim().is_empty() || self.is_ours(before) {
            return Ok(self.text.clone());
        }
        Err(Error::failed("somebody else's file has the name that ours needs"))
    }

    /// Returns what is left of the file: nothing, or all of it where it is not ours.
    pub fn remove(&self, before: &str) -> Option<String> {
        (!self.is_ours(before)).then(|| before.to_owned())
    }

    /// Returns what the file holds of ours.
    pub fn find(&self, text: &str) -> Found {
        let binaries = if self.is_ours(text) { vec![self.binary.clone()] } else { Vec::new() };
        Found { binaries, doubled: false, exact: text == self.text }
    }

    fn is_ours(&self, text: &str) -> bool {
        text.contains(&format!("event --agent {}", self.agent))
    }
}
