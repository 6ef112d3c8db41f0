//! What an operation leaves as it is, by kind, and the way out of each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{OperationKind, PathText};

/// Files that an operation leaves for one kind of reason, wholly or in part, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptReport {
    /// The kind of reason.
    pub kind: KeptKind,
    /// The files, by name.
    pub paths: Vec<PathText>,
    /// Why they stay, in words that follow a colon.
    pub why: String,
    /// What takes them along; null if nothing does.
    pub way: Option<WayOut>,
}

/// Why files stay.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum KeptKind {
    /// The user changed them since the state that a restore goes to.
    Yours,
    /// The user, or another program, changed them since.
    Conflict,
    /// Another agent changed them since.
    OtherAgent,
    /// Several agents may have made the same change.
    Shared,
    /// It is unclear whose change it is.
    Unclear,
    /// They belong to a database that is open or cannot go back as a whole.
    Database,
    /// Something else is in their place.
    Blocked,
    /// They changed while the operation was at work, or a program has them open for writing.
    Moved,
    /// No snapshot holds a side of them.
    NotCaptured,
    /// Their content was removed from the store.
    Forgotten,
    /// They are not what was asked for: another message changed them.
    OtherMessage,
}

/// A way to take kept files along.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WayOut {
    /// What to do first, as a clause; null if nothing.
    pub first: Option<String>,
    /// What the operation does then, in words that continue its name.
    pub does: String,
    /// The operation, as parameters of `plan`.
    pub parameters: WayParameters,
}

/// The parameters of an operation. Those that it does not need are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WayParameters {
    /// The operation.
    pub operation: OperationKind,
    /// The workspace, if it is not the one of the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// For a revert: the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// For a revert: only that message.
    #[serde(default, skip_serializing_if = "is_false")]
    pub alone: bool,
    /// For a revert: only one step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// For a restore: the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The files, and folders with all that is below them; all paths if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<PathText>,
    /// What to do with files that have changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_conflict: Option<String>,
    /// What to do with changes that may be another author's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unclear: Option<String>,
    /// Whether git's own state moves, too.
    #[serde(default, skip_serializing_if = "is_false")]
    pub git: bool,
    /// Whether to go ahead where it would refuse.
    #[serde(default, skip_serializing_if = "is_false")]
    pub force: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl WayParameters {
    /// How many files a command names.
    pub const NAMED: usize = 20;

    /// Returns those of an operation without further parameters.
    pub fn of(operation: OperationKind) -> Self {
        Self {
            operation,
            workspace: None,
            message: None,
            alone: false,
            step: None,
            id: None,
            only: Vec::new(),
            on_conflict: None,
            unclear: None,
            git: false,
            force: false,
        }
    }

    /// Returns whether a command line names all of its paths.
    pub fn is_written_out(&self) -> bool {
        self.only.len() <= Self::NAMED
    }

    /// Returns them as a command line. `name` shortens ids and `path` writes a file's name; more than 20 files stand
    /// as `FILE`, for one after another.
    pub fn command(
        &self,
        name: impl Fn(&str) -> String,
        path: impl Fn(&PathText) -> String,
    ) -> String {
        let mut words = vec!["ckpt-hook".to_owned(), self.operation.name().to_owned()];
        words.extend(self.message.as_deref().map(&name));
        words.extend(self.id.as_deref().map(&name));
        words.extend(self.alone.then(|| "--alone".to_owned()));
        words.extend(
            self.step
                .as_deref()
                .map(|step| format!("--step {}", name(step))),
        );
        let paths = match self.is_written_out() {
            true => self.only.iter().map(&path).collect(),
            false => vec!["FILE".to_owned()],
        };
        let option = match self.operation {
            OperationKind::Restore => "",
            OperationKind::Revert | OperationKind::Redo | OperationKind::Unrevert => "--only ",
        };
        words.extend(paths.into_iter().map(|path| format!("{option}{path}")));
        words.extend(self.workspace.clone().map(|workspace| {
            let root = PathText {
                path: workspace,
                path_hex: None,
            };
            format!("--workspace {}", path(&root))
        }));
        let valued = [
            ("--on-conflict", &self.on_conflict),
            ("--unclear", &self.unclear),
        ];
        let valued = valued
            .into_iter()
            .filter_map(|(option, value)| Some((option, value.as_ref()?)));
        words.extend(valued.map(|(option, value)| format!("{option} {value}")));
        words.extend(self.git.then(|| "--git".to_owned()));
        words.extend(self.force.then(|| "--force".to_owned()));
        words.join(" ")
    }
}
