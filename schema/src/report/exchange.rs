//! Histories that go to other machines and come from them: `push` and `fetch`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PathText;

/// What a push sends, or would send.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PushReport {
    /// The version of the document's format.
    pub version: u32,
    /// The workspace.
    pub workspace: String,
    /// The repository that it goes to.
    pub remote: String,
    /// What the workspace is called there.
    pub name: String,
    /// What the workspace was called there before. What this machine has pushed by that name is removed.
    pub former: Option<String>,
    /// What this machine is called there.
    pub machine: String,
    /// Whether it was sent. False for a dry run, and if everything is there already.
    pub pushed: bool,
    /// Whether everything was sent anew, without what was forgotten or pruned. The server may keep the old objects until it
    /// removes what nothing refers to.
    pub anew: bool,
    /// How many snapshots that were pruned here are still there. They go with the next push once they are the larger part.
    pub pruned: u64,
    /// How many messages are sent.
    pub messages: u64,
    /// How many snapshots are sent.
    pub snapshots: u64,
    /// How many changes of files are sent.
    pub changes: u64,
    /// How many bytes their objects have, before they are compressed.
    pub bytes: u64,
    /// The public keys for which it is encrypted; none in the open.
    pub keys: Vec<String>,
    /// The ignored files: those that are not sent or, if it is encrypted, those that go along.
    pub ignored: Vec<PathText>,
    /// The files that are sent and look as if they held a secret.
    pub secrets: Vec<PathText>,
    /// How many messages are sent whose text looks as if it held a secret.
    pub secret_prompts: u64,
}

/// What came from other machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FetchReport {
    /// The version of the document's format.
    pub version: u32,
    /// The workspace.
    pub workspace: String,
    /// The repository that it came from.
    pub remote: String,
    /// What the workspace is called there.
    pub name: String,
    /// The machines that pushed it, other than this one.
    pub machines: Vec<FetchedMachine>,
}

/// The history of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FetchedMachine {
    /// The machine.
    pub machine: String,
    /// The id of its history here, for `workspace adopt`.
    pub id: String,
    /// How many messages it has.
    pub messages: u64,
    /// How many pushes came now.
    pub pushes: u64,
    /// Whether a directory here goes on with this history. What came later is then left out.
    pub adopted: bool,
}
