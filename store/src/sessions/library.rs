//! The C libraries that the store is built on.

/// The versions of the C libraries in the binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryVersions {
    /// libgit2's.
    pub libgit2: String,
    /// SQLite's.
    pub sqlite: String,
}

/// Returns the versions of the C libraries as they were linked.
pub fn versions() -> LibraryVersions {
    let (major, minor, revision) = git2::Version::get().libgit2_version();
    LibraryVersions {
        libgit2: format!("{major}.{minor}.{revision}"),
        sqlite: rusqlite::version().to_owned(),
    }
}
