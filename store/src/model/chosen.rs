//! What somebody chose of a plan, file by file.

use super::entry::{Mode, State};
use super::path::WorkspacePath;

/// What is to become of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Where in the workspace.
    pub path: WorkspacePath,
    /// What was there when it was shown; nothing else is replaced or removed.
    pub seen: State,
    /// What is to be there.
    pub content: ChosenContent,
}

/// What a file is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChosenContent {
    /// Something that the store holds, or nothing.
    State(State),
    /// A file with these bytes.
    Text {
        /// Its mode.
        mode: Mode,
        /// Its bytes.
        bytes: Vec<u8>,
    },
}

impl Chosen {
    /// Returns the bytes that the store does not hold yet.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.content {
            ChosenContent::State(_) => None,
            ChosenContent::Text { bytes, .. } => Some(bytes),
        }
    }
}
