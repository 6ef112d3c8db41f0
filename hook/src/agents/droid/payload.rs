//! Factory Droid. Written from its documentation: no run of it was seen.
//!
//! What is its own: its edit tools. `SubagentStop` does not say whose end it is, so that it is none for us.

use crate::agents::payload::documented::Documented;
use crate::agents::payload::shape;

/// Factory Droid.
pub const DROID: Documented = Documented {
    name: "droid",
    kind: shape::kind,
    prompt: "prompt",
    edit_tools: &["Create", "Edit", "MultiEdit", "ApplyPatch"],
    is_told: true,
};
