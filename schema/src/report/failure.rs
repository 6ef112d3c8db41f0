//! What is told of a command that fails.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `--json` prints instead of a document when a command fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorReport {
    /// The failure.
    pub error: Failure,
}

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The exit code.
    pub code: u8,
    /// What.
    pub message: String,
    /// Why, outermost first.
    pub causes: Vec<String>,
    /// What to do.
    pub hint: Option<String>,
    /// What was done before it failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
