//! What of a workspace is captured: any name, kind, mode and size.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::Command;

use ckpt_store::model::entry::{Entry, Mode, ObjectId};
use ckpt_store::snapshot::{GapReason, Request, StoredSnapshot};
use proptest::prelude::*;

use testing::snapshot::{CapturedWorkspace, path};

/// Two snapshots without a change in between are equal.
///
/// Invariant `truth/raw-bytes`.
#[test]
fn two_unchanged_snapshots_are_equal() {
    let world = CapturedWorkspace::git();
    world.write("a/b/c", "one");
    world.write("d", "two");
    let first = world.take();
    assert_eq!(world.take(), first, "nothing changed");
    assert_eq!(
        first.snapshot.tree.to_string(),
        world.git_tree(),
        "raw bytes, as git stores them"
    );
}

#[test]
fn an_empty_workspace_is_the_empty_tree() {
    let world = CapturedWorkspace::plain();
    assert_eq!(
        world.take().snapshot.tree,
        ObjectId::EMPTY_TREE,
        "git's well-known id"
    );
}

#[test]
fn our_repository_is_clean_for_git() {
    let world = CapturedWorkspace::git();
    world.write("a/b", "one");
    let taken = world.take();
    assert_eq!(world.content(&taken, "a/b"), "one", "git shows it");
    world.our_git(&["fsck", "--full", "--strict", "--no-dangling"]);
}

#[test]
fn any_name_is_captured() {
    let world = CapturedWorkspace::git();
    let names: [&[u8]; 14] = [
        b" leading",
        b"trailing ",
        b"-rf",
        b"--cached",
        b"#x",
        b"%41",
        b"a\nb",
        b"tab\there",
        b"quo\"te",
        b"back\\slash",
        b"[id]",
        b"*?{a,b}",
        b"\xff\xfe",
        b"cr\r",
    ];
    for name in names {
        fs::write(world.root.join(OsStr::from_bytes(name)), name).unwrap();
    }
    for name in ["é", "e\u{301}", "日本語", "\u{202e}x", "A", "a"] {
        world.write(&format!("{name}/{name}"), name);
    }
    world.write(&"n".repeat(255), "long");
    let taken = world.take();
    assert_eq!(
        taken.snapshot.tree.to_string(),
        world.git_tree(),
        "byte for byte, as git names them"
    );
    assert!(
        taken.gaps().is_empty(),
        "nothing is left out: {:?}",
        taken.gaps()
    );
}

#[test]
fn links_are_captured_and_never_followed() {
    let world = CapturedWorkspace::git();
    world.write("file", "x");
    for (target, link) in [
        ("file", "to-file"),
        ("nowhere", "dangling"),
        ("loop", "loop"),
        ("/etc", "outside"),
        ("/proc/self/mem", "m"),
    ] {
        symlink(target, world.root.join(link)).unwrap();
    }
    let taken = world.take();
    assert_eq!(
        taken.snapshot.tree.to_string(),
        world.git_tree(),
        "links as git stores them"
    );
    assert_eq!(
        world.content(&taken, "outside"),
        "/etc",
        "the text of its target"
    );
}

/// Pipes and sockets are gaps and do not hang.
///
/// Invariant `work/gaps`: A path that a snapshot cannot hold is a gap with its reason, and is
/// never deleted.
#[test]
fn pipes_and_sockets_are_gaps() {
    let world = CapturedWorkspace::git();
    world.write("file", "x");
    assert!(
        Command::new("mkfifo")
            .arg(world.root.join("pipe"))
            .status()
            .unwrap()
            .success()
    );
    let _socket = std::os::unix::net::UnixListener::bind(world.root.join("socket")).unwrap();
    let taken = world.take();
    assert_eq!(
        world.gaps(&taken),
        ["pipe Special(Pipe)", "socket Special(Socket)"],
        "named, not captured"
    );
    assert_eq!(world.names(&taken), ["file"], "the rest is captured");
}

/// Look alikes of `.git` are gaps and `.git` is passed over.
#[test]
fn look_alikes_of_dot_git_are_gaps() {
    let world = CapturedWorkspace::plain();
    for name in [
        ".GIT",
        "git~1",
        ".git ",
        ".g\u{200c}it",
        "nested/.git",
        "nested/.Git",
    ] {
        world.write(&format!("{name}/config"), "x");
    }
    world.write("nested/file", "x");
    world.write(".git", "nonsense");
    let taken = world.take();
    let gaps = taken.gaps();
    let gaps: Vec<_> = gaps
        .iter()
        .map(|gap| (&gap.path[..], &gap.reason))
        .collect();
    let reserved = &GapReason::ReservedName;
    let expected: [(&[u8], _); 5] = [
        (b".GIT", reserved),
        (b".git ", reserved),
        (".g\u{200c}it".as_bytes(), reserved),
        (b"git~1", reserved),
        (b"nested/.Git", reserved),
    ];
    assert_eq!(gaps, expected, "each by name");
    assert_eq!(
        world.names(&taken),
        ["nested/file"],
        "and one of them does not fail the snapshot"
    );
}

/// Files of a nested repository are captured like any others.
#[test]
fn nested_repositorys_files_are_captured() {
    let world = CapturedWorkspace::git();
    world.write("inner/file", "x");
    let output = world
        .git_command(&world.root.join("inner"))
        .args(["init", "-q"])
        .output()
        .unwrap();
    assert!(output.status.success(), "a nested repository");
    let taken = world.take();
    assert_eq!(
        world.names(&taken),
        ["inner/file"],
        "its files, never its `.git`"
    );
    assert!(taken.gaps().is_empty(), "nothing is missing");
}

/// Modes and empty directories are kept beside the tree.
///
/// Invariant `truth/raw-bytes`.
#[test]
fn modes_and_empty_directories_are_kept() {
    let world = CapturedWorkspace::git();
    world.write("plain", "x");
    let usual = world.take();
    assert_eq!(
        usual.snapshot.attributes, None,
        "644 and 755 need no attributes"
    );
    world.write("secret", "x");
    world.chmod("secret", 0o600);
    let secret = world.take();
    assert!(secret.snapshot.attributes.is_some(), "600 does");
    fs::create_dir(world.root.join("empty")).unwrap();
    let empty = world.take();
    assert_ne!(
        empty.snapshot.attributes, secret.snapshot.attributes,
        "so does an empty directory"
    );
    assert_eq!(
        empty.snapshot.tree, secret.snapshot.tree,
        "which no git tree holds"
    );
}

/// A directory with ignored files only is no empty directory.
#[test]
fn directory_of_ignored_files_is_not_empty() {
    let world = CapturedWorkspace::git();
    world.write(".gitignore", "*.log\n");
    let before = world.take();
    world.write("logs/deep/x.log", "x");
    let occupied = world.take();
    assert_eq!(
        occupied.snapshot.tree, before.snapshot.tree,
        "there is nothing of it to put back"
    );
    assert_ne!(
        occupied.snapshot, before.snapshot,
        "that it is there is known"
    );
    let entries = |taken: &StoredSnapshot| world.snapshots.entries(&taken.snapshot).unwrap().len();
    assert_eq!(entries(&occupied), 1, "and it is no entry");
    assert_eq!(
        world.take(),
        occupied,
        "the same again from what was remembered"
    );
    world.write("logs/deep/y.log", "y");
    let more = world.take();
    let stored = |taken: &StoredSnapshot| (taken.snapshot.tree, taken.snapshot.attributes);
    assert_eq!(stored(&more), stored(&occupied), "nothing of it is stored");
    assert_eq!(more.seen.len(), 2, "only its name is known");
    fs::remove_file(world.root.join("logs/deep/x.log")).unwrap();
    fs::remove_file(world.root.join("logs/deep/y.log")).unwrap();
    assert_eq!(entries(&world.take()), 2, "empty it is an entry");
    world.write("logs/deep/x.log", "x");
    assert_eq!(world.take(), occupied, "equal states give equal snapshots");
}

/// A large file is a gap unless it is tracked or about to be replaced.
#[test]
fn large_untracked_file_is_a_gap() {
    let world = CapturedWorkspace::git();
    world.write("large", vec![7; 2000]);
    world.write("tracked", vec![8; 2000]);
    world.run_git(&["add", "tracked"]);
    let request = Request {
        max_file_size: 1000,
        ..world.request()
    };
    let taken = world.snapshots.take(&request).unwrap();
    assert_eq!(
        world.gaps(&taken),
        ["large TooLarge"],
        "untracked and too large"
    );
    assert_eq!(taken.gaps()[0].size, Some(2000), "its size is reported");
    assert_eq!(
        world.names(&taken),
        ["tracked"],
        "the tracked one is captured"
    );
    let all = world
        .snapshots
        .take(&Request {
            whatever_size: &[path("large")],
            ..request
        })
        .unwrap();
    assert_eq!(
        world.names(&all),
        ["large", "tracked"],
        "a revert is about to replace it"
    );
    assert_eq!(
        world.snapshots.take(&request).unwrap(),
        taken,
        "equal states give equal snapshots, whatever came between"
    );
}

#[test]
fn a_file_that_is_streamed_is_captured_exactly() {
    let world = CapturedWorkspace::git();
    let content: Vec<u8> = (0..20_u32 << 18)
        .flat_map(|number| (number * 7).to_le_bytes())
        .collect();
    world.write("streamed", &content);
    assert_eq!(
        world.take().snapshot.tree.to_string(),
        world.git_tree(),
        "21 MB, in pieces"
    );
}

#[test]
fn thousands_of_files_in_one_directory_are_captured() {
    let world = CapturedWorkspace::git();
    fs::create_dir(world.root.join("many")).unwrap();
    for number in 0..3000 {
        fs::write(
            world.root.join(format!("many/{number}")),
            number.to_string(),
        )
        .unwrap();
    }
    assert_eq!(
        world.take().snapshot.tree.to_string(),
        world.git_tree(),
        "shared between threads"
    );
}

#[test]
fn deep_directories_are_captured_or_a_gap() {
    let world = CapturedWorkspace::git();
    let mut directory = rustix::fs::open(
        &world.root,
        rustix::fs::OFlags::DIRECTORY,
        rustix::fs::Mode::empty(),
    )
    .unwrap();
    for _ in 0..2100 {
        rustix::fs::mkdirat(&directory, "deep", rustix::fs::Mode::from(0o755)).unwrap();
        directory = rustix::fs::openat(
            &directory,
            "deep",
            rustix::fs::OFlags::DIRECTORY,
            rustix::fs::Mode::empty(),
        )
        .unwrap();
    }
    world.write(&format!("{}file", "deep/".repeat(500)), "x");
    let taken = world.take();
    assert_eq!(
        world.names(&taken).len(),
        1,
        "the file is 500 directories deep"
    );
    assert_eq!(
        taken.gaps().len(),
        1,
        "and where it gets absurd there is a gap"
    );
    assert_eq!(
        taken.gaps()[0].reason,
        GapReason::TooDeep,
        "with its reason"
    );
    remove_deep(&world.root);
}

/// `remove_dir_all` of a temporary folder would need a descriptor for each level.
fn remove_deep(root: &std::path::Path) {
    let removed = Command::new("rm")
        .args(["-rf", "deep"])
        .current_dir(root)
        .status()
        .unwrap();
    assert!(removed.success(), "the test cleans up");
}

#[test]
fn the_store_inside_the_workspace_is_left_out() {
    let world = CapturedWorkspace::plain();
    world.write("file", "x");
    let store = world.root.join("data/store");
    fs::create_dir_all(store.join("snapshots")).unwrap();
    fs::write(store.join("sessions.db"), "x").unwrap();
    let taken = world
        .snapshots
        .take(&Request {
            store: &store,
            ..world.request()
        })
        .unwrap();
    assert_eq!(world.names(&taken), ["file"], "not a byte of the store");
}

/// A single path is captured as it is now.
#[test]
fn single_path_is_captured() {
    let world = CapturedWorkspace::git();
    world.write(".gitignore", "x\n");
    world.write("x", "content");
    world.chmod("x", 0o640);
    symlink("x", world.root.join("link")).unwrap();
    fs::create_dir(world.root.join("empty")).unwrap();
    let capture = |text: &str| {
        world
            .snapshots
            .store_path(&world.root, &path(text))
            .unwrap()
    };
    let entry = capture("x").unwrap();
    assert_eq!(entry.mode, Mode::file(0o640), "whatever ignore rules say");
    assert_eq!(
        world.our_git(&["cat-file", "blob", &entry.blob.unwrap().to_string()]),
        "content",
        "its bytes are stored"
    );
    assert_eq!(capture("link").unwrap().mode, Mode::SYMLINK, "not followed");
    assert!(
        matches!(
            capture("empty"),
            Some(Entry {
                blob: Some(ObjectId::EMPTY_TREE),
                ..
            })
        ),
        "an empty directory"
    );
    assert_eq!(capture("nothing"), None, "nothing is there");
    assert_eq!(capture("link/below"), None, "a link is no directory");
}

#[test]
fn a_mount_is_a_gap_and_not_crossed() {
    let world = CapturedWorkspace::git();
    world.write("file", "x");
    fs::create_dir(world.root.join("mounted")).unwrap();
    let before = world.take();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "none"])
        .arg(world.root.join("mounted"))
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        testing::skip::skip("no file system can be mounted here");
        return;
    }
    fs::write(world.root.join("mounted/inner"), "x").unwrap();
    let during = world.take();
    assert!(
        Command::new("umount")
            .arg(world.root.join("mounted"))
            .status()
            .unwrap()
            .success(),
        "clean up"
    );
    assert_eq!(world.gaps(&during), ["mounted Mount"], "named, not crossed");
    assert_eq!(world.names(&during), ["file"], "the rest is captured");
    assert_eq!(world.take(), before, "and it is gone when it is unmounted");
}

/// A file that is written during the snapshot does not fail it.
#[test]
fn file_written_meanwhile_fails_no_snapshot() {
    use std::io::Write;
    use std::sync::atomic::{AtomicBool, Ordering};
    let world = CapturedWorkspace::git();
    world.write("growing", "");
    world.write("still", "x");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = fs::File::options()
                .append(true)
                .open(world.root.join("growing"))
                .unwrap();
            for _ in 0..200_000 {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                file.write_all(b"line\n").unwrap();
            }
        });
        for _ in 0..10 {
            let taken = world.take();
            let names = world.names(&taken);
            assert!(names.contains(&"still".to_owned()), "the rest is captured");
            if names.contains(&"growing".to_owned()) {
                let content = world.content(&taken, "growing");
                assert!(
                    content
                        .as_bytes()
                        .chunks(5)
                        .all(|line| "line\n".as_bytes().starts_with(line)),
                    "a prefix"
                );
            } else {
                assert_eq!(world.gaps(&taken), ["growing Changing"], "or it is named");
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let taken = world.take();
    assert_eq!(
        taken.snapshot.tree.to_string(),
        world.git_tree(),
        "what was read while written is looked at again"
    );
}

/// A snapshot that is late is given up whole.
#[test]
fn late_snapshot_is_given_up_whole() {
    let world = CapturedWorkspace::git();
    world.write("file", "x");
    let request = Request {
        deadline: Some(std::time::Instant::now()),
        ..world.request()
    };
    assert!(world.snapshots.take(&request).is_err(), "the time is over");
    let packs = fs::read_dir(world.snapshots.repository().join("objects/pack"));
    assert_eq!(
        packs.map_or(0, Iterator::count),
        0,
        "nothing is half recorded"
    );
}

#[derive(Clone, Debug)]
enum Act {
    Write(String, Vec<u8>),
    Executable(String),
    Link(String),
    Remove(String),
}

fn act() -> impl Strategy<Value = Act> {
    let name = "[ab](/[ab.-]{1,2}){0,3}";
    prop_oneof![
        4 => (name, proptest::collection::vec(any::<u8>(), 0..40)).prop_map(|(path, content)| Act::Write(path, content)),
        1 => name.prop_map(Act::Executable),
        1 => name.prop_map(Act::Link),
        2 => name.prop_map(Act::Remove),
    ]
}

fn play(world: &CapturedWorkspace, act: &Act) {
    let at = |path: &str| world.root.join(path);
    let make_parent = |path: &str| {
        at(path)
            .parent()
            .is_some_and(|parent| fs::create_dir_all(parent).is_ok())
    };
    // Whatever the file system refuses (a file where a directory is) is no act.
    match act {
        Act::Write(path, content) if make_parent(path) => drop(fs::write(at(path), content)),
        Act::Link(path) if make_parent(path) => drop(symlink("target", at(path))),
        Act::Executable(path) if at(path).is_file() => world.chmod(path, 0o755),
        Act::Remove(path) if at(path).is_dir() && !at(path).is_symlink() => {
            drop(Command::new("rm").arg("-rf").arg(at(path)).output());
        }
        Act::Remove(path) => drop(fs::remove_file(at(path))),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// The tree is that of git in any workspace.
    #[test]
    fn any_workspaces_tree_is_gits(rounds in proptest::collection::vec(proptest::collection::vec(act(), 1..12), 1..4)) {
        let world = CapturedWorkspace::git();
        for acts in rounds {
            acts.iter().filter(|act| !format!("{act:?}").contains("..")).for_each(|act| play(&world, act));
            let taken = world.take();
            prop_assert_eq!(taken.snapshot.tree.to_string(), world.git_tree(), "after {:?}", acts);
        }
        world.our_git(&["fsck", "--full", "--strict", "--no-dangling"]);
    }
}
