//! What `--json` prints: one document per command, with a version.
//!
//! Fields may be added within a version, but none is removed. Ids are ours unless a field says otherwise, times are
//! milliseconds since the Unix epoch, object ids lower-case hex.

mod blame;
mod change;
mod checkout;
mod contents;
mod conversation;
mod exchange;
mod failure;
mod feed;
mod files;
mod history;
mod kept;
mod label;
mod note;
mod operation;
mod reason;
mod recording;
mod setup;
mod status;
mod upkeep;
mod workspace;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use blame::{BlameHunk, BlameReport, BlameStep, LineAuthor};
pub use change::{ChangeKind, ChangeReport, DiffReport, Rename};
pub use checkout::{BisectFile, BisectReport, BisectStep, BranchReport};
pub use contents::{Content, EarlierVersion, Encoding, FileContents, Hunk};
pub use conversation::{
    ConversationAbilities, ConversationKind, ConversationPlace, ConversationReason,
    ConversationReport,
};
pub use exchange::{FetchReport, FetchedMachine, PushReport};
pub use failure::{CandidateReport, ErrorReport, FailureKind, FailureReport};
pub use feed::{Notification, StepSummary};
pub use files::{CatReport, GoneReport, RecoverReport, RootGone, TakenBy};
pub use history::{
    ExportReport, ExportedMessage, LogReport, MessageReport, MessageRoot, MessageState,
    RootChanges, SessionReport, SessionsReport, ShowReport, SnapshotEntry, SnapshotsReport,
    StepReport, TimelineEntry, TimelineReport,
};
pub use kept::{KeptKind, KeptReport, WayOut, WayParameters};
pub use label::{LabelAction, LabelEntry, LabelledKind, LabelsReport};
pub use note::{NoteCode, NoteReport};
pub use operation::{
    Difference, DifferenceDetail, DifferenceReason, FileAction, FileReport, FileResult,
    FinishedReport, GitPart, GitReport, OperationEntry, OperationKind, OperationReport,
    OperationRoot, OperationsReport, Outcome, PlanChoice, Receipt, RevertedSession, RootFiles,
    RootOperation,
};
pub use reason::{AuthorKind, AuthorReport, ReasonCode};
pub use recording::{EventReport, Looked, SnapshotReport};
pub use setup::{
    AgentReport, AgentSettings, AgentsReport, ConfigChange, ConfigReport, DoctorReport, Finding,
    FindingLevel, InstallReport, PageReport, SettingReport, SettingSource, SettingsChange,
    SkippedAgent,
};
pub use status::{DiagnosticReport, StatusReport, UnclearReport, UnrecordedReport};
pub use upkeep::{
    DuReport, DuRow, DuUnmeasured, ForgetRemote, ForgetReport, ForgetWorkspace, GcReport,
    GcSession, GcWorkspace,
};
pub use workspace::{AdoptReport, WorkspaceReport, WorkspaceState, WorkspacesReport};

/// The version of the documents below, in their `version` field.
pub const VERSION: u32 = 1;

/// A path for people, with its bytes in hex if they are not UTF-8.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct PathText {
    /// The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
    pub path: String,
    /// Its bytes, if they are not UTF-8.
    #[serde(default)]
    pub path_hex: Option<String>,
}

impl PathText {
    /// Returns the bytes of the path; `None` if `path_hex` is not hex.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let Some(hex) = &self.path_hex else {
            return Some(self.path.clone().into_bytes());
        };
        let is_hex = hex.len() % 2 == 0 && hex.bytes().all(|digit| digit.is_ascii_hexdigit());
        let byte = |at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
        is_hex.then(|| (0..hex.len()).step_by(2).map_while(byte).collect())
    }

    /// Returns the path with that of its root before it.
    pub fn below(&self, root: &str) -> Self {
        let above: String = root.bytes().map(|byte| format!("{byte:02x}")).collect();
        Self {
            path: format!("{root}/{}", self.path),
            path_hex: self.path_hex.as_ref().map(|hex| format!("{above}2f{hex}")),
        }
    }
}

/// A path that a snapshot could not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GapReport {
    /// The path.
    #[serde(flatten)]
    pub path: PathText,
    /// Why the snapshot does not hold it.
    pub reason: String,
}
