//! Snapshots: what is captured, and how it is kept and compared.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]
#![expect(
    clippy::disallowed_methods,
    reason = "the harness builds the world: environment and clock"
)]

#[cfg(target_os = "linux")]
mod hints;
mod hostile;
mod objects_corruption;
mod objects_difference;
mod objects_many;
mod objects_packs;
mod objects_patch;
mod random;
mod scan_cache;
mod scan_changes;
mod scan_contents;
mod scan_git;
mod scan_rules;
mod scan_seed;
mod seeding;
mod traps;
