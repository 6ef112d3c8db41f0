//! A workspace's folder in a store, with the real git as maker of odd objects and as judge.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use ckpt_store::model::entry::{Change, Entry, Mode, ObjectId};
use ckpt_store::model::path::WorkspacePath;
use ckpt_store::snapshot::{Gap, GapReason, PatchSide, ReadFailure, Snapshot, Snapshots};
use tempfile::TempDir;

/// A folder with snapshots, and a root that stands for the workspace.
pub struct SnapshotFolder {
    pub folder: TempDir,
    pub root: TempDir,
    pub snapshots: Snapshots,
}

impl SnapshotFolder {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let snapshots = Snapshots::open(folder.path()).expect("a fresh folder");
        snapshots
            .write_blobs(&[b""])
            .expect("this makes the repository");
        Self {
            folder,
            root: tempfile::tempdir().expect("a temporary directory"),
            snapshots,
        }
    }

    /// The same folder as another process would see it.
    pub fn again(&self) -> Snapshots {
        Snapshots::open(self.folder.path()).expect("an existing folder")
    }

    pub fn packs(&self) -> PathBuf {
        self.snapshots.repository().join("objects/pack")
    }

    /// Returns the files among the packs with this extension.
    pub fn files(&self, extension: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.packs()).expect("the packs' directory");
        let mut files: Vec<_> = entries
            .map(|entry| entry.expect("an entry").path())
            .collect();
        files.retain(|path| path.extension().is_some_and(|other| other == extension));
        files.sort();
        files
    }

    /// Runs git on the repository with nothing of its surroundings; fails where git does.
    pub fn git(&self, arguments: &[&str], input: &[u8]) -> Vec<u8> {
        let output = git(&self.snapshots.repository(), arguments, input);
        assert!(
            output.0,
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&output.2)
        );
        output.1
    }

    /// Returns what `git fsck` has to say but for notices that nothing refers to anything.
    pub fn fsck(&self) -> String {
        let (good, out, err) = git(
            &self.snapshots.repository(),
            &["fsck", "--full", "--strict", "--no-dangling"],
            b"",
        );
        let text = [out, err].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        let mut lines: Vec<_> = text
            .lines()
            .filter(|line| !line.starts_with("notice: "))
            .collect();
        if !good {
            lines.push("git fsck failed");
        }
        lines.join("\n")
    }

    /// Stores a tree whose bytes are given, in a pack of its own.
    pub fn raw_tree(&self, bytes: &[u8]) -> ObjectId {
        let id = self.git(
            &["hash-object", "-t", "tree", "-w", "--literally", "--stdin"],
            bytes,
        );
        self.pack_loose();
        object_id(&id)
    }

    /// Stores a snapshot of these files; a path's text begins with `+` where it is executable, `@` where it is a link.
    pub fn snapshot(&self, files: &[(&str, &str)]) -> Snapshot {
        self.snapshot_with(files, "")
    }

    /// The same with the lines of the attributes' blob after its default line.
    pub fn snapshot_with(&self, files: &[(&str, &str)], attributes: &str) -> Snapshot {
        let index = self.folder.path().join("index");
        let _ = fs::remove_file(&index);
        let mut lines = String::new();
        for (path, text) in files {
            let (mode, text) = match text.split_at_checked(1) {
                Some(("+", text)) => ("100755", text),
                Some(("@", text)) => ("120000", text),
                _ => ("100644", *text),
            };
            let blob = self.blob(text.as_bytes());
            lines.push_str(&format!("{mode} {blob}\t{path}\0"));
        }
        let repository = self.snapshots.repository();
        let staged = git_with(
            &repository,
            &index,
            &["update-index", "-z", "--index-info"],
            lines.as_bytes(),
        );
        assert!(staged.0, "{}", String::from_utf8_lossy(&staged.2));
        let tree = git_with(&repository, &index, &["write-tree"], b"");
        assert!(tree.0, "{}", String::from_utf8_lossy(&tree.2));
        self.pack_loose();
        let attributes = (!attributes.is_empty()).then(|| {
            let text = format!("ckpt-hook attributes 1\n644 755 755\n{attributes}");
            self.blob(text.as_bytes())
        });
        Snapshot {
            tree: object_id(&tree.1),
            attributes,
            rules: None,
            seen: None,
        }
    }

    /// Adds ignored paths, sorted, to what a snapshot has seen; one that ends with a slash is a directory.
    pub fn with_ignored(&self, snapshot: Snapshot, paths: &[&str]) -> Snapshot {
        // The code of ignored paths, no byte of the path before, the path, and no size.
        let entry = |path: &&str| {
            let name = path.trim_end_matches('/');
            let length = u8::try_from(name.len()).expect("a short path");
            let code = if name == *path { 24 } else { 24 | 0x80 };
            [&[code, 0, length][..], name.as_bytes(), &[0]].concat()
        };
        let entries: Vec<u8> = paths.iter().flat_map(entry).collect();
        Snapshot {
            seen: Some(self.blob(&[b"ckpt-hook seen 1\n", &entries[..]].concat())),
            ..snapshot
        }
    }

    pub fn blob(&self, bytes: &[u8]) -> ObjectId {
        self.snapshots
            .write_blobs(&[bytes])
            .expect("it can be stored")[0]
    }

    fn pack_loose(&self) {
        let objects = self.snapshots.repository().join("objects");
        let mut ids = String::new();
        for directory in fs::read_dir(&objects)
            .expect("objects")
            .map(|entry| entry.expect("an entry").path())
        {
            let name = directory
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            if name.len() == 2 {
                for file in fs::read_dir(&directory).expect("a fan-out directory") {
                    ids.push_str(&format!(
                        "{name}{}\n",
                        file.expect("an entry").file_name().to_string_lossy()
                    ));
                }
            }
        }
        if !ids.is_empty() {
            self.git(&["pack-objects", "-q", "objects/pack/pack"], ids.as_bytes());
            self.git(&["prune-packed", "-q"], b"");
        }
    }

    pub fn difference(&self, old: &Snapshot, new: &Snapshot) -> Vec<String> {
        show(
            &self
                .snapshots
                .difference(old, new)
                .expect("sound snapshots"),
        )
    }

    pub fn patch(&self, old: (&Snapshot, &[Gap]), new: (&Snapshot, &[Gap])) -> Vec<String> {
        let (old, new) = (
            PatchSide {
                snapshot: *old.0,
                gaps: old.1,
            },
            PatchSide {
                snapshot: *new.0,
                gaps: new.1,
            },
        );
        show(
            &self
                .snapshots
                .patch(self.root.path(), old, new)
                .expect("sound snapshots"),
        )
    }
}

/// Shows changes as `path old -> new`, the states as their modes, with `?` where the bytes are not stored.
pub fn show(changes: &[Change]) -> Vec<String> {
    let state = |state: Option<Entry>| match state {
        None => "-".to_owned(),
        Some(Entry {
            mode,
            blob: Some(_),
        }) => mode.to_string(),
        Some(Entry { mode, blob: None }) => format!("{mode}?"),
    };
    changes
        .iter()
        .map(|change| {
            format!(
                "{} {} -> {}",
                change.path.to_text(),
                state(change.old),
                state(change.new)
            )
        })
        .collect()
}

pub fn path(text: &str) -> WorkspacePath {
    WorkspacePath::new(text).expect("a legal path")
}

pub fn gap(path: &str, reason: GapReason, size: Option<u64>) -> Gap {
    Gap {
        path: path.as_bytes().to_vec(),
        reason,
        size,
        is_directory: false,
    }
}

pub fn unreadable() -> GapReason {
    GapReason::Unreadable(ReadFailure::System(13))
}

/// The entries of a snapshot as path and mode.
pub fn listing(snapshots: &Snapshots, snapshot: &Snapshot) -> BTreeMap<String, Mode> {
    let entries = snapshots.entries(snapshot).expect("a sound snapshot");
    entries
        .into_iter()
        .map(|(path, entry)| (path.to_text(), entry.mode))
        .collect()
}

pub fn object_id(hex: &[u8]) -> ObjectId {
    let text = String::from_utf8_lossy(hex);
    ObjectId::from_hex(text.trim()).unwrap_or_else(|| panic!("{text:?} is no id"))
}

fn git(repository: &Path, arguments: &[&str], input: &[u8]) -> (bool, Vec<u8>, Vec<u8>) {
    git_with(repository, &repository.join("no-index"), arguments, input)
}

fn git_with(
    repository: &Path,
    index: &Path,
    arguments: &[&str],
    input: &[u8],
) -> (bool, Vec<u8>, Vec<u8>) {
    let mut child = crate::git::command(repository, Path::new("/nonexistent"))
        .env("GIT_INDEX_FILE", index)
        .arg("--git-dir")
        .arg(repository)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("git is installed");
    child
        .stdin
        .take()
        .expect("it is piped")
        .write_all(input)
        .expect("git reads it");
    let output = child.wait_with_output().expect("git ends");
    (output.status.success(), output.stdout, output.stderr)
}
