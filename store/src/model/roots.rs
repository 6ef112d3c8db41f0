//! What rows name of the objects.

use super::entry::ObjectId;

/// What has to stay: trees with all that they reach, and blobs of which no tree is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Roots {
    /// The trees, the newest first.
    pub trees: Vec<ObjectId>,
    /// The blobs.
    pub blobs: Vec<ObjectId>,
}
