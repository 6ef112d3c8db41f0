//! Snapshots: what is captured, and how it is kept.

mod objects_corruption;
mod objects_difference;
mod objects_packs;
mod objects_patch;
mod objects_world;
