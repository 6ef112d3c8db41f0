//! The metadata of version control, known by what it is: by the names that are side by side in a folder, or by the first
//! bytes of a file. Only `.git` is known by its own name alone.
//!
//! A folder is git's if it has `HEAD` and `refs` beside `objects` or `config`, whatever it is called: a bare repository,
//! what `--separate-git-dir` or `GIT_DIR` made, or what a `.git` file or link points at. Its objects may be elsewhere
//! (`GIT_OBJECT_DIRECTORY`). Only the names that git gives there are its
//! metadata. Whatever else is in the folder belongs to a user: work trees are often put into a bare repository, and
//! `git init --bare` in the wrong folder must not hide what is in it.

use super::path::split;

/// The names whose presence makes a folder git's, with one of [`STORES`]. A folder with a `.git` is a work tree, as git
/// itself finds.
const GIT: [&[u8]; 2] = [b"HEAD", b"refs"];
/// The names that stand for git's metadata in a folder.
const STORES: [&str; 2] = [OBJECTS, "config"];
/// Git's folder of objects.
pub(crate) const OBJECTS: &str = "objects";

/// The folders of other systems, and names of which one at least is in them, with a space between. All that is in them
/// is metadata.
const SYSTEMS: [(&str, &str); 13] = [
    (".hg", "requires store 00changelog.i dirstate"),
    (".jj", "repo working_copy"),
    (".svn", "wc.db entries"),
    ("CVS", "Entries"),
    (".bzr", "branch-format"),
    ("_darcs", "format hashed_inventory inventory inventories"),
    (".pijul", "pristine changes"),
    (".sl", "store requires 00changelog.i"),
    (
        ".repo",
        "manifests.git manifests projects project-objects manifest.xml",
    ),
    (".dolt", "noms repo_state.json"),
    (".got", "file-index repository"),
    ("_MTN", "revision options"),
    (".plastic", "plastic.workspace"),
];

/// The first bytes of SQLite's databases.
pub(crate) const SQLITE_START: &[u8; 16] = b"SQLite format 3\0";

/// The databases of Fossil's checkouts, by name. SQLite writes others beside them.
const FOSSIL: [&[u8]; 2] = [b".fslckout", b"_FOSSIL_"];

/// What git itself, its parts and widespread additions keep in a repository, with a space between.
const GIT_NAMES: &str = "AUTO_MERGE HEAD MERGE_AUTOSTASH MERGE_MODE MERGE_RR annex branches cloneurl commondir \
    config config.worktree description filter-repo fsmonitor--daemon fsmonitor--daemon.ipc \
    gc.log gc.pid git-daemon-export-ok gitdir gitk.cache hooks index info lfs locked logs \
    lost-found modules objects packed-refs packed-refs.new rebase-apply rebase-merge refs reftable \
    remotes rr-cache sequencer shallow sourcetreeconfig subtree-cache svn \
    worktrees";

/// Returns the name that stands for the metadata in a folder, or `None` if the folder has none of that kind. `has` says
/// whether a name is in the folder. A folder of git's has to have a valid `HEAD` as well ([`is_head`]).
pub(crate) fn mark(folder: &[u8], has: impl Fn(&[u8]) -> bool) -> Option<&'static [u8]> {
    match system(folder) {
        Some((_, marks)) => marks.split(' ').map(str::as_bytes).find(|mark| has(mark)),
        None => git_mark(has),
    }
}

/// Returns whether a folder with such a mark needs a look at its `HEAD`.
pub(crate) fn needs_head(mark: &[u8]) -> bool {
    STORES.iter().any(|store| store.as_bytes() == mark)
}

/// Returns whether something is left in a folder of what makes it a repository of git's. `has` says whether a name is
/// there.
pub(crate) fn is_part_of_git(has: impl Fn(&[u8]) -> bool) -> bool {
    GIT.iter().any(|name| has(name)) || has(OBJECTS.as_bytes())
}

fn git_mark(has: impl Fn(&[u8]) -> bool) -> Option<&'static [u8]> {
    let mut stores = STORES.iter().map(|store| store.as_bytes());
    let store = stores.find(|store| has(store))?;
    (GIT.iter().all(|name| has(name)) && !has(b".git")).then_some(store)
}

/// Returns whether a path is that of an object or a pack of git's, wherever git keeps them.
pub(crate) fn is_git_object(path: &[u8]) -> bool {
    let is_hex = |text: &[u8]| text.iter().all(u8::is_ascii_hexdigit);
    let (folder, name) = split(path);
    let folder = split(folder).1;
    let pack = name.strip_prefix(b"pack-").filter(|_| folder == b"pack");
    let pack = pack.and_then(|name| name.split(|byte| *byte == b'.').next());
    pack.is_some_and(|id| matches!(id.len(), 40 | 64) && is_hex(id))
        || folder.len() == 2 && matches!(name.len(), 38 | 62) && is_hex(folder) && is_hex(name)
}

/// Returns whether a `HEAD` says this: a branch, or a commit.
pub(crate) fn is_head(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    text.strip_prefix(b"ref:").map_or_else(
        || matches!(text.len(), 40 | 64) && text.iter().all(u8::is_ascii_hexdigit),
        |branch| branch.trim_ascii_start().starts_with(b"refs/"),
    )
}

/// Returns whether a path below a folder with metadata belongs to that.
pub(crate) fn owns(folder: &[u8], below: &[u8]) -> bool {
    let first = below.split(|byte| *byte == b'/').next().unwrap_or(below);
    system(folder).is_some() || is_git_name(first)
}

/// Returns whether a folder has the name of another system's.
pub(crate) fn is_system(folder: &[u8]) -> bool {
    system(folder).is_some()
}

fn system(folder: &[u8]) -> Option<&'static (&'static str, &'static str)> {
    let name = split(folder).1;
    // Every folder that is listed is asked about.
    if !matches!(name.first(), Some(b'.' | b'_' | b'C')) {
        return None;
    }
    SYSTEMS.iter().find(|(system, _)| system.as_bytes() == name)
}

/// Returns the name of the database that a file of this name is, or is beside, if that is one of a Fossil checkout. It is
/// one if it begins as SQLite's files do.
pub(crate) fn fossil_checkout(name: &[u8]) -> Option<&'static [u8]> {
    if !matches!(name.first(), Some(b'.' | b'_')) {
        return None;
    }
    FOSSIL.into_iter().find(|database| {
        let rest = name.strip_prefix(*database);
        matches!(rest, Some(b"" | b"-journal" | b"-wal" | b"-shm"))
    })
}

fn is_git_name(name: &[u8]) -> bool {
    let endings: [&[u8]; 4] = [b"_HEAD", b"_MSG", b"_EDITMSG", b".lock"];
    let starts: [&[u8]; 5] = [
        b"BISECT_",
        b"NOTES_MERGE_",
        b"sharedindex.",
        b"index.",
        b"tmp_",
    ];
    GIT_NAMES.split(' ').any(|known| known.as_bytes() == name)
        || endings.iter().any(|ending| name.ends_with(ending))
        || starts.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark_in(folder: &str, names: &[&str]) -> Option<&'static [u8]> {
        mark(folder.as_bytes(), |name| {
            names.iter().any(|known| known.as_bytes() == name)
        })
    }

    /// Metadata is known by the names side by side.
    #[test]
    fn metadata_is_known_by_neighbouring_names() {
        for (folder, names) in [
            ("remote.git", &["HEAD", "config", "objects", "refs"][..]),
            (".bare", &["HEAD", "objects", "refs", "worktrees", "main"]),
            ("meta", &["HEAD", "config", "refs"]),
            ("", &["HEAD", "objects", "refs"]),
            ("a/.sl", &["requires", "store"]),
            (".repo", &["manifests.git", "repo"]),
            (".dolt", &["noms"]),
            (".hg", &["requires"]),
            ("a/CVS", &["Entries", "Root"]),
        ] {
            assert!(mark_in(folder, names).is_some(), "{folder}");
        }
        for (folder, names) in [
            ("src", &["HEAD", "objects"][..]),
            ("src", &["HEAD", "config"]),
            ("tree", &["HEAD", "objects", "refs", ".git"]),
            (".repo", &["mine.txt"]),
            ("repo", &["manifests.git"]),
            (".dolt", &[]),
            (".hg", &["notes.txt"]),
            ("CVS", &["parser.c"]),
            ("hg", &["requires"]),
        ] {
            assert!(mark_in(folder, names).is_none(), "{folder}");
        }
    }

    #[test]
    fn files_beside_a_fossil_database_are_its_own() {
        for name in [".fslckout", ".fslckout-wal", "_FOSSIL_-journal"] {
            assert!(fossil_checkout(name.as_bytes()).is_some(), "{name}");
        }
        for name in ["", "fslckout", ".fslckout.txt", "_FOSSIL"] {
            assert!(fossil_checkout(name.as_bytes()).is_none(), "{name}");
        }
    }

    /// Only the names that git gives are its metadata.
    #[test]
    fn only_gits_names_are_its_metadata() {
        for name in [
            "objects/ab/cd",
            "HEAD",
            "ORIG_HEAD",
            "index.lock",
            "COMMIT_EDITMSG",
            "worktrees/x/HEAD",
            "lost-found/commit/ab",
            "subtree-cache/1/ab",
        ] {
            assert!(owns(b"x.git", name.as_bytes()), "{name}");
        }
        for name in ["main/src/lib.rs", "README.md", "LICENSE", "src", "head"] {
            assert!(!owns(b"x.git", name.as_bytes()), "{name}");
        }
        assert!(owns(b"a/.repo", b"anything/at/all"));
    }

    #[test]
    fn a_head_names_a_branch_or_a_commit() {
        assert!(is_head(b"ref: refs/heads/main\n") && is_head(&[b'a'; 40]) && is_head(&[b'0'; 64]));
        assert!(!is_head(b"") && !is_head(b"ref: main\n") && !is_head(b"the head\n"));
    }
}
