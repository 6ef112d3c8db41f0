//! Goose. Written from its documentation: no run of it was seen.
//!
//! Its peculiarities: the prompt is the `message`, the directory is `working_dir`, and only events of tools have one.

use crate::payload::documented::Documented;
use crate::payload::shape;

/// Goose.
pub const GOOSE: Documented = Documented {
    name: "goose",
    kind: shape::kind,
    prompt: "message",
    edit_tools: &["developer__text_editor", "text_editor"],
    is_told: false,
};
