//! The times of files in milliseconds since the epoch, by the clock that the kernel takes them from.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::model::Milliseconds;

/// Returns when a file's contents were last written, or the names in a directory last changed. Programs may set it.
pub(crate) fn written(found: &Metadata) -> Milliseconds {
    found.mtime() * 1000 + found.mtime_nsec() / 1_000_000
}

/// Returns when anything about a file last changed: its contents, its permissions or its names. No program can set it.
pub(crate) fn changed(found: &Metadata) -> Milliseconds {
    found.ctime() * 1000 + found.ctime_nsec() / 1_000_000
}

/// Returns when something was created, in milliseconds, if the file system knows.
pub(crate) fn created_at(path: &Path) -> Option<Milliseconds> {
    created(&path.symlink_metadata().ok()?)
}

/// Returns when a file was created, if the file system knows.
pub(crate) fn created(found: &Metadata) -> Option<Milliseconds> {
    let since = found.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Milliseconds::try_from(since.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use std::fs::{File, FileTimes};
    use std::time::Duration;

    use super::*;

    /// A time is the millisecond that it is in whoever set it.
    #[test]
    fn time_is_its_millisecond() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let file = File::create(directory.path().join("a")).expect("writable");
        let set = UNIX_EPOCH + Duration::new(1_700_000_000, 123_999_999);
        file.set_times(FileTimes::new().set_modified(set))
            .expect("our own file");
        let found = file.metadata().expect("it is open");
        assert_eq!(written(&found), 1_700_000_000_123);
        assert!(changed(&found) > written(&found), "the kernel's own time");
        if let Some(created) = created(&found) {
            assert!(created <= changed(&found));
        }
    }
}
