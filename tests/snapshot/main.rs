//! Snapshots: what is captured, and how it is kept.

mod scan_contents;
mod scan_git;
mod scan_rules;
mod scan_world;
