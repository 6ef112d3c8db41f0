//! What a revert decides: the rule path by path, several changes of a path, paths that need each other's place, and random
//! histories against a model in memory.

mod chains;
mod disk;
mod many;
mod model;
mod places;
mod rows;
