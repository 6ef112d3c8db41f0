//! Snapshots: what is captured, and how it is kept and compared.

mod objects_corruption;
mod objects_difference;
mod objects_packs;
mod objects_patch;
mod objects_world;
mod scan_contents;
mod scan_git;
mod scan_rules;
mod scan_world;
