//! The protocol of `serve --stdio`: the parameters of its methods, and the results that no command prints.
//!
//! Parameters have names, and a method refuses those that it does not know. One that is null counts as missing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::Event;
use crate::report::{ChangeReport, Content, ConversationAbilities, OperationReport, PathText};

/// The parameters of `operations` and `unsubscribe`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkspaceParameters {
    /// A directory of the workspace; the server's current directory if it is not given.
    pub workspace: Option<PathBuf>,
}

/// A path: a text, or `path` and `path_hex` as documents have them, which is how a name that is not UTF-8 is given. A file of a report
/// may be passed as it is.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(untagged, inline)]
pub enum PathParameter {
    /// Its text.
    Text(String),
    /// As in a document.
    Report(PathText),
}

impl<'de> Deserialize<'de> for PathParameter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const EXPECTED: &str = "expected a path: a string, or an object with `path` and `path_hex`";
        let wrong = |_| D::Error::custom(EXPECTED);
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Self::Text(text)),
            given @ Value::Object(_) => {
                let path: PathText = serde_json::from_value(given).map_err(wrong)?;
                if path.bytes().is_none() {
                    return Err(D::Error::custom(
                        "`path_hex` is not made of pairs of hex digits",
                    ));
                }
                Ok(Self::Report(path))
            }
            _ => Err(D::Error::custom(EXPECTED)),
        }
    }
}

impl PathParameter {
    /// Returns the bytes of the path.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.clone().into_bytes(),
            Self::Report(path) => path.bytes().unwrap_or_default(),
        }
    }
}

/// The parameters of `initialize`. Others are ignored: a client may introduce itself.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct InitializeParameters {
    /// The highest version of the protocol that the client speaks.
    pub protocol: Option<u64>,
}

/// The result of `initialize`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct InitializeResult {
    /// The version of the protocol.
    pub protocol: u64,
    /// The version of the documents.
    pub documents: u64,
    /// The program.
    pub server: ServerReport,
    /// The methods.
    pub methods: Vec<String>,
    /// The notifications.
    pub notifications: Vec<String>,
    /// What can be done to the conversations of each agent, by its name.
    pub conversation: BTreeMap<String, ConversationAbilities>,
    /// The newest position in the order of everything that happened; null if there is no store that can be read.
    pub seq: Option<i64>,
}

/// A program.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ServerReport {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The parameters of `sessions`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SessionsParameters {
    /// A directory of the workspace.
    pub workspace: Option<PathBuf>,
    /// Those of every workspace.
    pub everywhere: bool,
}

/// The parameters of `messages`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MessagesParameters {
    /// A directory of the workspace.
    pub workspace: Option<PathBuf>,
    /// Those of one session, by any id.
    pub session: Option<String>,
    /// How many at most.
    pub limit: Option<usize>,
    /// Only those after this position in the order of messages, their `seq`.
    pub since: Option<i64>,
    /// Those of every workspace.
    pub everywhere: bool,
    /// Whether ids have to be full ones: no prefix, no label, no `last`.
    pub exact: bool,
}

/// The parameters of `timeline`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TimelineParameters {
    /// A directory of the workspace.
    pub workspace: Option<PathBuf>,
    /// How many entries at most.
    pub limit: Option<usize>,
    /// Only messages whose prompt, or the path of a file that they changed, contains this, ignoring case.
    pub search: Option<String>,
    /// Only messages that added or removed this text in a file.
    pub text: Option<String>,
}

/// The parameters of `show`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowParameters {
    /// A directory of the workspace.
    #[serde(default)]
    pub workspace: Option<PathBuf>,
    /// Any id.
    pub id: String,
    /// Whether the id has to be a full one: no prefix, no label, no `last`.
    #[serde(default)]
    pub exact: bool,
}

/// The parameters of `blame`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlameParameters {
    /// A directory of the workspace.
    #[serde(default)]
    pub workspace: Option<PathBuf>,
    /// The file, below that directory.
    pub path: PathParameter,
    /// Whether the report gives the bytes of the file.
    #[serde(default)]
    pub contents: bool,
}

/// The parameters of `patch`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PatchParameters {
    /// A directory of the workspace.
    pub workspace: Option<PathBuf>,
    /// What made the changes: a message, a step, an operation. Without it, two states are compared.
    pub id: Option<String>,
    /// The state before, by any id.
    pub from: Option<String>,
    /// The state after, by any id.
    pub to: Option<String>,
    /// The paths that are compared; all of them if empty.
    pub paths: Vec<PathParameter>,
    /// Whether only the files are wanted, and no patch.
    pub names: bool,
    /// Whether ids have to be full ones: no prefix, no label, no `last`.
    pub exact: bool,
}

/// The result of `patch`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PatchResult {
    /// The version of the document's format.
    pub version: u32,
    /// The files that differ.
    pub files: Vec<ChangeReport>,
    /// The patch as `git apply` takes it; with `names`, it has no text.
    pub patch: Content,
}

/// The parameters of `contents`: a `blob`, or a `path` and an `id`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ContentsParameters {
    /// A directory of the workspace.
    pub workspace: Option<PathBuf>,
    /// The blob, as documents name it.
    pub blob: Option<String>,
    /// A file, below that directory.
    pub path: Option<PathParameter>,
    /// The state that has it, by any id: of a message, a step or an operation the one just before it.
    pub id: Option<String>,
    /// Whether the id has to be a full one: no prefix, no label, no `last`.
    pub exact: bool,
    /// The first byte that is wanted.
    pub offset: u64,
}

/// The result of `contents`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ContentsResult {
    /// The version of the document's format.
    pub version: u32,
    /// The blob.
    pub blob: String,
    /// How many bytes it has.
    pub size: u64,
    /// The position of the first byte below.
    pub offset: u64,
    /// The bytes, at most 8 MiB of them.
    pub content: Content,
    /// Where to go on; null at the end.
    pub next_offset: Option<u64>,
}

/// The operations of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OperationName {
    /// Go back to just before a message.
    #[default]
    Revert,
    /// Go one message forward.
    Redo,
    /// Go all the way forward.
    Unrevert,
    /// Put paths back to any captured state.
    Restore,
    /// Take back the last operation.
    Undo,
}

/// The parameters of `plan`, `revert`, `redo`, `unrevert`, `restore` and `undo`. An operation refuses those that it has
/// no use for.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OperationParameters {
    /// For a plan: the operation.
    pub operation: OperationName,
    /// A directory of the workspace.
    pub workspace: Option<PathBuf>,
    /// For a revert: the message.
    pub message: Option<String>,
    /// For a revert: only that message, while later ones stay.
    pub alone: bool,
    /// For a revert: only one step.
    pub step: Option<String>,
    /// The session, by any id.
    pub session: Option<String>,
    /// For a restore: the state.
    pub id: Option<String>,
    /// For a revert or a restore: the paths; all of them if empty.
    pub only: Vec<PathParameter>,
    /// What to do with files that have changed since: `merge`, `keep` or `overwrite`.
    pub on_conflict: Option<String>,
    /// For a revert: what to do with changes that may be another author's: `keep` or `take`.
    pub unclear: Option<String>,
    /// For a revert: what to do with the agent's conversation: `fork`, `only`, `cut` or `no`.
    pub conversation: Option<String>,
    /// Whether HEAD, branches and the index move, too.
    pub git: bool,
    /// Whether to go ahead even if an agent is at work.
    pub force: bool,
    /// Whether `message`, `step`, `session` and `id` have to be full ids: no prefix, no label, no `last`.
    pub exact: bool,
    /// For a plan: whether the report includes the contents of the files before and after.
    pub contents: bool,
}

/// The result of `plan`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlanResult {
    /// The token; null if there is nothing to carry out.
    pub plan: Option<String>,
    /// What would be done.
    pub report: OperationReport,
}

/// The parameters of `apply`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyParameters {
    /// The token of the plan.
    pub plan: String,
    /// Whether to go ahead even if an agent is at work.
    #[serde(default)]
    pub force: bool,
    /// The files to which it is limited: then it is a part, and no message is hidden by it.
    #[serde(default)]
    pub parts: Option<Vec<PartParameter>>,
    /// A name of the client's own for this request, unique for each. After a lost answer the client may send the request
    /// again: what was done for a key is not done twice, and its report is given once more.
    #[serde(default)]
    pub key: Option<String>,
}

/// A file of a plan that `apply` carries out.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartParameter {
    /// Its path in its root.
    pub path: PathParameter,
    /// The root that it is in, as `roots` of the plan's report has it; by default the workspace of the plan.
    #[serde(default)]
    pub workspace: Option<PathBuf>,
    /// The plan that it is of; by default the one that is applied. So a file may go back on other terms than the rest.
    #[serde(default)]
    pub plan: Option<String>,
    /// The hunks to which it is limited; all of the file without them.
    #[serde(default)]
    pub hunks: Option<Vec<HunkParameter>>,
}

/// A hunk, by its place in the file as it is now. A hunk of a plan's report may be passed as it is.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub struct HunkParameter {
    /// Its first line, from 1; if it has none, the line that precedes it.
    pub old_start: u64,
    /// How many lines it has.
    pub old_lines: u64,
}

impl HunkParameter {
    /// Returns its lines, from 0.
    pub fn lines(self) -> std::ops::Range<usize> {
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let lines = number(self.old_lines);
        let start = number(self.old_start).saturating_sub(usize::from(lines > 0));
        start..start.saturating_add(lines)
    }
}

/// The parameters of `status`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StatusParameters {
    /// A directory of the workspace.
    pub workspace: Option<PathBuf>,
    /// One session, by any id.
    pub session: Option<String>,
    /// Whether ids have to be full ones: no prefix, no label, no `last`.
    pub exact: bool,
}

/// The parameters of `doctor`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DoctorParameters {
    /// Whether every object of every snapshot is read, however long that takes.
    pub all: bool,
}

/// The parameters of `install`: some `agents`, or `all`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InstallParameters {
    /// The agents, by name.
    pub agents: Vec<String>,
    /// Every agent on this machine.
    pub all: bool,
    /// Whether it goes into the project's settings, and not into the user's.
    pub project: bool,
    /// Whether the report only says what would change.
    pub dry_run: bool,
}

/// The parameters of `record`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordParameters {
    /// The event.
    pub event: Event,
}

/// The parameters of `subscribe`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SubscribeParameters {
    /// A directory of the workspace.
    pub workspace: Option<PathBuf>,
    /// Notifications of every workspace.
    pub everywhere: bool,
    /// The last position that the client has handled; without it, from now on.
    pub since: Option<i64>,
    /// The names of the notifications that are wanted; all of them without it.
    pub events: Option<Vec<String>>,
}

/// The result of `subscribe`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SubscribeResult {
    /// The position after which notifications begin.
    pub seq: i64,
}

/// The progress of an operation: the parameters of the notification `progress` without the `id` of the request, and a
/// line of `--json-lines`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Progress {
    /// It looks at the workspace.
    Looking {
        /// The version of the document's format.
        version: u32,
        /// Files looked at.
        files: u64,
        /// Bytes read and stored.
        bytes: u64,
    },
    /// It puts files back.
    Applying {
        /// The version of the document's format.
        version: u32,
        /// Files that are done.
        done: u64,
        /// Files in all.
        of: u64,
    },
}
