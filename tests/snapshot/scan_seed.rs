//! What the first snapshot takes from the user's repository, and that it is never another byte than the file's.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use ckpt_store::model::entry::EntryKind;
use ckpt_store::model::path::WorkspacePath;
use ckpt_store::model::progress::SnapshotProgress;
use ckpt_store::snapshot::{Request, Snapshots, StoredSnapshot};

use testing::snapshot::CapturedWorkspace;

const FILES: u64 = 100;

/// A repository with committed and packed files.
fn packed() -> CapturedWorkspace {
    let world = CapturedWorkspace::git();
    for number in 0..FILES {
        world.write(
            &format!("d{}/f{number}", number % 7),
            format!("contents of {number}\n"),
        );
    }
    pack(&world);
    world
}

fn pack(world: &CapturedWorkspace) {
    world.run_git(&["add", "-A"]);
    world.run_git(&["commit", "-q", "-m", "all"]);
    world.run_git(&["repack", "-adq"]);
    grow_old(world);
}

/// Makes the index younger than the files, as if a moment had passed before it was written.
fn grow_old(world: &CapturedWorkspace) {
    let index = fs::File::options()
        .append(true)
        .open(world.root.join(".git/index"))
        .unwrap();
    index
        .set_modified(SystemTime::now() + Duration::from_secs(10))
        .unwrap();
}

fn on_disk(path: &WorkspacePath) -> &OsStr {
    OsStr::from_bytes(path.as_bytes())
}

fn packs(repository: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(repository.join("objects/pack"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "pack")
        })
        .collect()
}

/// Takes the first snapshot, and returns how many files were read for it, told in steps of 64.
fn first(world: &CapturedWorkspace) -> (StoredSnapshot, u64) {
    let read = AtomicU64::new(0);
    let progress = |progress: SnapshotProgress| {
        read.fetch_max(progress.files, Ordering::Relaxed);
    };
    let taken = world
        .snapshots
        .take(&Request {
            progress: Some(&progress),
            ..world.request()
        })
        .unwrap();
    (taken, read.into_inner())
}

/// Takes the first snapshot, and compares it with one that takes nothing from the repository, and with the files.
fn check(world: &CapturedWorkspace, why: &str) {
    let (seeded, _) = first(world);
    let plain = tempfile::tempdir().unwrap();
    let plain = Snapshots::open(plain.path())
        .unwrap()
        .take(&Request {
            seed: false,
            ..world.request()
        })
        .unwrap();
    assert_eq!(
        seeded, plain,
        "{why}: the same objects as of the files themselves"
    );
    for (path, entry) in world.snapshots.entries(&seeded.snapshot).unwrap() {
        let file = world.root.join(on_disk(&path));
        if entry.mode.kind() == EntryKind::File {
            let stored = world
                .snapshots
                .read_blob(entry.blob.expect("a file has a blob"))
                .unwrap();
            assert_eq!(
                stored,
                fs::read(file).unwrap(),
                "{why}: the bytes of {path:?}"
            );
        }
    }
}

/// The first snapshot links the packs and reads no file that git knows.
#[test]
fn first_snapshot_links_packs_and_reads_little() {
    let world = packed();
    world.write("untracked", "new");
    let (taken, read) = first(&world);
    assert_eq!(read, 0, "no 64 files were read");
    let theirs = fs::metadata(&packs(&world.root.join(".git"))[0]).unwrap();
    let ours: Vec<_> = packs(&world.snapshots.repository())
        .iter()
        .map(|pack| fs::metadata(pack).unwrap())
        .collect();
    assert!(
        ours.iter().any(|our| our.ino() == theirs.ino()),
        "their pack is ours, too"
    );
    assert_eq!(
        taken.snapshot.tree.to_string(),
        world.git_tree(),
        "the tree is git's"
    );
    world.our_git(&["fsck", "--full", "--strict", "--no-dangling"]);
    check(&world, "all of it");
}

/// A gc in the user's repository takes nothing from us.
#[test]
fn users_gc_takes_nothing_from_us() {
    let world = packed();
    let (taken, _) = first(&world);
    for pack in packs(&world.root.join(".git")) {
        fs::remove_file(pack.with_extension("idx")).unwrap();
        fs::remove_file(pack).unwrap();
    }
    let again = Snapshots::open(&world.store.join("snapshots/key")).unwrap();
    for (path, entry) in again.entries(&taken.snapshot).unwrap() {
        let stored = again.read_blob(entry.blob.expect("all are files")).unwrap();
        assert_eq!(
            stored,
            fs::read(world.root.join(on_disk(&path))).unwrap(),
            "{path:?} is still there"
        );
    }
}

#[test]
fn seed_false_takes_nothing() {
    let world = packed();
    world
        .snapshots
        .take(&Request {
            seed: false,
            ..world.request()
        })
        .unwrap();
    let theirs = fs::metadata(&packs(&world.root.join(".git"))[0]).unwrap();
    assert_eq!(theirs.nlink(), 1, "no link was made");
}

#[test]
fn what_git_converts_is_taken_from_the_file() {
    let attributes: [(&str, &str); 5] = [
        ("a filter that keeps the size", "*.txt filter=shout\n"),
        (
            "an encoding that keeps the size",
            "*.txt working-tree-encoding=UTF-16LE\n",
        ),
        ("a macro", "[attr]loud filter=shout\n*.txt loud\n"),
        ("a quoted pattern", "\"*.txt\" filter=shout\n"),
        (
            "line endings and `$Id$`",
            "*.txt text=auto eol=crlf ident\n",
        ),
    ];
    for (why, text) in attributes {
        for place in [
            ".gitattributes",
            "sub/.gitattributes",
            ".git/info/attributes",
        ] {
            let world = CapturedWorkspace::git();
            world.run_git(&["config", "filter.shout.clean", "tr a-z A-Z"]);
            world.write("sub/keep", "x");
            world.write(place, text);
            for number in 0..FILES {
                // In UTF-8 and in UTF-16 these letters take two bytes each.
                let words = if text.contains("UTF-16") {
                    "жщ".repeat(9)
                } else {
                    format!("$Id$ words {number}\r\n")
                };
                world.write(&format!("sub/f{number}.txt"), words);
            }
            pack(&world);
            check(&world, &format!("{why} in {place}"));
        }
    }
}

#[test]
fn attributes_that_stand_in_the_index_alone_count() {
    let world = CapturedWorkspace::git();
    world.run_git(&["config", "filter.shout.clean", "tr a-z A-Z"]);
    world.write(".gitattributes", "*.txt filter=shout\n");
    for number in 0..FILES {
        world.write(&format!("f{number}.txt"), format!("words {number}"));
    }
    pack(&world);
    fs::remove_file(world.root.join(".gitattributes")).unwrap();
    check(&world, "the attributes were deleted, not yet staged");
}

/// Line endings of any configuration are those of the file.
#[test]
fn line_endings_are_those_of_the_file() {
    for setting in ["true", "input"] {
        let world = CapturedWorkspace::git();
        world.run_git(&["config", "core.autocrlf", setting]);
        for number in 0..FILES {
            world.write(&format!("f{number}"), format!("one\r\ntwo {number}\r\n"));
            world.write(&format!("g{number}"), format!("one\ntwo {number}\n"));
        }
        pack(&world);
        check(&world, &format!("core.autocrlf={setting}"));
    }
}

/// An edit that the index does not know is read.
#[test]
fn edit_unknown_to_the_index_is_read() {
    let world = packed();
    let file = world.root.join("d0/f0");
    let before = fs::metadata(&file).unwrap();
    fs::write(&file, "CONTENTS OF 0\n").unwrap();
    let times = fs::FileTimes::new().set_modified(before.modified().unwrap());
    fs::File::options()
        .append(true)
        .open(&file)
        .unwrap()
        .set_times(times)
        .unwrap();
    check(&world, "same size, and the old mtime put back");
}

/// Entries that do not speak of the file are passed over.
#[test]
fn unrelated_index_entries_are_passed_over() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let world = packed();
        world.run_git(&["update-index", flag, "d0/f0"]);
        fs::write(world.root.join("d0/f0"), "another\n").unwrap();
        grow_old(&world);
        check(&world, flag);
    }
    let world = packed();
    world.write("intended", "to be added");
    world.run_git(&["add", "--intent-to-add", "intended"]);
    grow_old(&world);
    check(&world, "intent to add");
}

/// Entries as young as the index are passed over.
#[test]
fn entries_as_young_as_the_index_are_skipped() {
    let world = packed();
    let index = fs::File::options()
        .append(true)
        .open(world.root.join(".git/index"))
        .unwrap();
    index
        .set_modified(
            fs::metadata(world.root.join("d0/f0"))
                .unwrap()
                .modified()
                .unwrap(),
        )
        .unwrap();
    let (_, read) = first(&world);
    assert!(
        read > 0,
        "all may have changed in the tick in which the index was written"
    );
}

#[test]
fn indexes_of_every_form_give_the_same_snapshot() {
    for arguments in [
        &["update-index", "--index-version", "4"][..],
        &["update-index", "--split-index"],
        &["update-index", "--untracked-cache"],
        &["rm", "-q", "--cached", "d0/f0"],
    ] {
        let world = packed();
        world.run_git(arguments);
        grow_old(&world);
        check(&world, &format!("{arguments:?}"));
    }
}

/// A linked worktree takes from the packs of its repository.
#[test]
fn worktree_takes_its_repositorys_packs() {
    let world = packed();
    let linked = world.store.parent().unwrap().join("linked");
    world.run_git(&[
        "worktree",
        "add",
        "-q",
        "--detach",
        linked.to_str().unwrap(),
    ]);
    let index = fs::File::options()
        .append(true)
        .open(world.root.join(".git/worktrees/linked/index"))
        .unwrap();
    index
        .set_modified(SystemTime::now() + Duration::from_secs(10))
        .unwrap();
    let snapshots = Snapshots::open(&world.store.join("snapshots/linked")).unwrap();
    let taken = snapshots
        .take(&Request {
            root: &linked,
            ..world.request()
        })
        .unwrap();
    let plain = Snapshots::open(&world.store.join("snapshots/plain")).unwrap();
    let plain = plain
        .take(&Request {
            root: &linked,
            seed: false,
            ..world.request()
        })
        .unwrap();
    assert_eq!(taken, plain, "the same objects");
    let theirs = fs::metadata(&packs(&world.root.join(".git"))[0]).unwrap();
    assert_eq!(theirs.nlink(), 2, "their pack was linked");
}

/// Repositories with other ids or loose objects are read.
#[test]
fn other_ids_and_loose_objects_are_read() {
    let world = CapturedWorkspace::plain();
    world.run_git(&["init", "-q", "--object-format=sha256"]);
    world.write("f", "sha256");
    world.run_git(&["add", "-A"]);
    check(&world, "ids of SHA-256 are not ours");
    let world = CapturedWorkspace::git();
    world.write("f", "loose");
    world.run_git(&["add", "-A"]);
    grow_old(&world);
    check(&world, "a loose object");
}

/// Tracked files that are ignored are taken as well.
#[test]
fn tracked_ignored_files_are_taken() {
    let world = CapturedWorkspace::git();
    for number in 0..FILES {
        world.write(&format!("out/f{number}"), format!("{number}"));
    }
    world.run_git(&["add", "-A"]);
    world.write(".gitignore", "out/\n");
    pack(&world);
    let (taken, _) = first(&world);
    assert!(
        world.names(&taken).contains(&"out/f7".to_owned()),
        "tracked although ignored"
    );
    check(&world, "tracked although ignored");
}

/// Damaged packs and indexes make it slower and nothing else.
#[test]
fn damaged_packs_only_cost_time() {
    for (ending, why) in [
        ("idx", "nonsense as an index"),
        ("pack", "nonsense as a pack"),
    ] {
        let world = packed();
        let file = packs(&world.root.join(".git"))[0].with_extension(ending);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&file, [7; 4096]).unwrap();
        check(&world, why);
    }
    let world = packed();
    fs::write(world.root.join(".git/index"), b"DIRC nonsense").unwrap();
    check(&world, "nonsense as the user's index");
}

/// Where another file system is there to be used.
fn other_file_system(world: &CapturedWorkspace) -> Option<tempfile::TempDir> {
    let here = fs::metadata(&world.root).unwrap().dev();
    let is_other = |place: &&&str| fs::metadata(place).is_ok_and(|metadata| metadata.dev() != here);
    tempfile::tempdir_in(["/dev/shm", "/run", "/var/tmp"].iter().find(is_other)?).ok()
}

/// A store on another file system copies what is worth it.
#[test]
fn store_on_another_file_system_copies() {
    let world = packed();
    let Some(other) = other_file_system(&world) else {
        return testing::skip::skip("no second file system is there to put a store on");
    };
    let snapshots = Snapshots::open(other.path()).unwrap();
    let taken = snapshots.take(&world.request()).unwrap();
    for (path, entry) in snapshots.entries(&taken.snapshot).unwrap() {
        let stored = snapshots
            .read_blob(entry.blob.expect("all are files"))
            .unwrap();
        assert_eq!(
            stored,
            fs::read(world.root.join(on_disk(&path))).unwrap(),
            "{path:?}"
        );
    }
    let theirs = fs::metadata(&packs(&world.root.join(".git"))[0]).unwrap();
    assert_eq!(theirs.nlink(), 1, "no link leads across file systems");
}
