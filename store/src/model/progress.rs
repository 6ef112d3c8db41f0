//! Progress reports.

/// The progress of a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnapshotProgress {
    /// Files looked at.
    pub files: u64,
    /// Bytes read and stored.
    pub bytes: u64,
}

/// The progress of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationProgress {
    /// It looks at the workspace.
    Looking(SnapshotProgress),
    /// It puts files back.
    Applying {
        /// How many paths are done.
        done: usize,
        /// The total number of paths.
        of: usize,
    },
}

/// Called now and then, from any thread, with the progress of an operation.
pub type ProgressCallback = Box<dyn Fn(OperationProgress) + Send + Sync>;
