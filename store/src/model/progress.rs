//! Progress reports.

/// The progress of a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnapshotProgress {
    /// Files looked at.
    pub files: u64,
    /// Bytes read and stored.
    pub bytes: u64,
}

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationProgress {
    /// It looks at the workspace.
    Looking(SnapshotProgress),
    /// It puts files back.
    Applying {
        /// How many paths are done.
        done: usize,
        /// How many there are in all.
        of: usize,
    },
}

/// Is told, now and then and from any thread, how far an operation is.
pub type ProgressCallback = Box<dyn Fn(OperationProgress) + Send + Sync>;
