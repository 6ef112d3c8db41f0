//! Factory Droid. Written from its documentation: no run of it was seen.
//!
//! Its peculiarities: its edit tools. `SubagentStop` does not name the session that ended, so we ignore it.

use crate::payload::documented::Documented;
use crate::payload::shape;

/// Factory Droid.
pub const DROID: Documented = Documented {
    name: "droid",
    kind: shape::kind,
    prompt: "prompt",
    edit_tools: &["Create", "Edit", "MultiEdit", "ApplyPatch"],
    is_told: true,
};
