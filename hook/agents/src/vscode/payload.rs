//! Copilot in VS Code. Written from its documentation: no run of it was seen.
//!
//! Its peculiarities: its edit tools.

use crate::payload::documented::Documented;
use crate::payload::shape;

/// Copilot in VS Code.
pub const VSCODE: Documented = Documented {
    name: "vscode",
    kind: shape::kind,
    prompt: "prompt",
    edit_tools: &[
        "create_file",
        "replace_string_in_file",
        "insert_edit_into_file",
        "apply_patch",
    ],
    is_told: false,
};
