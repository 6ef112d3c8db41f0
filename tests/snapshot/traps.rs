//! The traps of a stat cache, each by its name, in workspaces whose times are trusted.
//!
//! A file that was touched in the last 35 s may be read again by each snapshot, which would hide every mistake in what is trusted
//! after that; so the first snapshots of these tests are told that it is later. Traps that need no old files:
//!
//! | trap | also held by |
//! | --- | --- |
//! | directory times that cannot be trusted (NFS, SMB, FUSE) | `cost::directories_of_a_file_server_are_always_read` |
//! | the cache is damaged, objects went | `scan_cache::a_damaged_or_foreign_cache_is_no_matter`, `objects_that_went_are_stored_again` |
//! | many processes at once | `cli::concurrency` |

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, symlink};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use ckpt_store::snapshot::{Snapshots, StoredSnapshot};

use testing::clock::await_tick;
use testing::namespace::in_namespace;
use testing::snapshot::CapturedWorkspace;

const FILES: [&str; 9] = [
    "a/one",
    "a/two",
    "b/c/three",
    "b/c/four",
    "five",
    "six",
    "ignored.log",
    "out/kept",
    "d/.gitignore",
];

/// A repository with old files, of which the cache is full and trusted.
fn old() -> CapturedWorkspace {
    let world = CapturedWorkspace::git();
    FILES.iter().for_each(|file| world.write(file, file));
    world.write(".gitignore", "*.log\nout/\n");
    world.write("d/.gitignore", "nothing\n");
    world.set_times_back();
    world.run_git(&["add", "."]);
    world.run_git(&["add", "-f", "out/kept"]);
    world.run_git(&["commit", "-qm", "one"]);
    // The first snapshot sees times that are old, the second finds that nothing changed.
    world.when_old(|| assert_eq!(world.take(), world.take(), "nothing changed"));
    world
}

/// Checks that a snapshot is what git makes of the workspace, and what it would be without a cache.
fn agrees(world: &CapturedWorkspace, why: &str) -> StoredSnapshot {
    let taken = world.take();
    assert_eq!(
        taken.snapshot.tree.to_string(),
        world.git_tree(),
        "{why}: as git has it"
    );
    let fresh =
        Snapshots::open(&world.store.join("snapshots").join(why.replace(' ', "-"))).unwrap();
    assert_eq!(
        fresh.take(&world.request()).unwrap(),
        taken,
        "{why}: as without a cache"
    );
    assert_eq!(world.take(), taken, "{why}: and again");
    taken
}

/// Puts a file's mtime back to what it was; only its ctime tells.
fn with_its_old_times(world: &CapturedWorkspace, path: &str, act: impl FnOnce()) {
    let path = world.root.join(path);
    let modified = path.metadata().unwrap().modified().unwrap();
    act();
    fs::File::options()
        .append(true)
        .open(path)
        .unwrap()
        .set_modified(modified)
        .unwrap();
}

#[test]
fn racy_times() {
    let world = old();
    for round in 0..50 {
        // Same size, in place, right before and right after a snapshot: within one tick of the clock of file times.
        fs::write(world.root.join("five"), format!("{:04}", round * 2)).unwrap();
        world.take();
        fs::write(world.root.join("five"), format!("{:04}", round * 2 + 1)).unwrap();
        assert_eq!(
            world.content(&world.take(), "five"),
            format!("{:04}", round * 2 + 1),
            "edited within one tick"
        );
    }
    agrees(&world, "many edits in a short time");
}

/// An edit in place that keeps size and mtime.
#[test]
fn edit_in_place_keeps_size_and_mtime() {
    let world = old();
    with_its_old_times(&world, "a/one", || {
        fs::write(world.root.join("a/one"), "A/ONE").unwrap()
    });
    assert_eq!(
        world.content(&agrees(&world, "only the ctime tells"), "a/one"),
        "A/ONE",
        "the new bytes"
    );
}

#[test]
fn times_that_go_back_or_into_the_future() {
    let world = old();
    for (number, seconds) in [0, 1, 1 << 31, 1 << 33].into_iter().enumerate() {
        world.write("five", format!("v{number}00"));
        let file = fs::File::options()
            .append(true)
            .open(world.root.join("five"))
            .unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
            .unwrap();
        let taken = agrees(&world, &format!("the mtime is {seconds}"));
        assert_eq!(
            world.content(&taken, "five"),
            format!("v{number}00"),
            "never `newer than`, always `another`"
        );
    }
}

/// A removed directory is as old as the one above it says at the first look too.
#[test]
fn removed_directory_is_as_old_as_its_parent() {
    let world = old();
    let before = world.take().snapshot;
    fs::remove_dir_all(world.root.join("b")).unwrap();
    let removed = fs::metadata(&world.root).unwrap();
    let removed = removed.ctime() * 1000 + removed.ctime_nsec() / 1_000_000;
    // Nobody looks until the clock of files says that it is later.
    let clock = world.store.join("clock");
    let is_later = || {
        fs::write(&clock, "").unwrap();
        let now = fs::metadata(&clock).unwrap();
        now.ctime() * 1000 + now.ctime_nsec() / 1_000_000 > removed + 50
    };
    while !is_later() {
        std::thread::yield_now();
    }
    let taken = world.take();
    let snapshots = &world.snapshots;
    let changes = snapshots.difference(&before, &taken.snapshot).unwrap();
    assert_eq!(changes.len(), 2, "{changes:?}");
    for change in &changes {
        assert_eq!(
            taken.times.of_change(&world.root, change),
            Some(removed),
            "not when somebody looked: {:?}",
            change.path
        );
    }
}

#[test]
fn a_change_of_the_mode_alone() {
    let world = old();
    world.chmod("a/one", 0o755);
    agrees(&world, "executable");
    world.chmod("a/two", 0o600);
    assert!(
        agrees(&world, "private").snapshot.attributes.is_some(),
        "permissions are kept beside the tree"
    );
}

#[test]
fn read_while_written() {
    let world = old();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for number in 0..10 {
            let (world, is_over) = (&world, &is_over);
            scope.spawn(move || restless(world, number, is_over));
        }
        for _ in 0..30 {
            let taken = world.take();
            let names = world.names(&taken);
            assert!(names.contains(&"a/one".to_owned()), "the rest is captured");
            for gap in world.gaps(&taken) {
                assert!(
                    gap.starts_with("restless/") && gap.ends_with("Changing"),
                    "only what changes is named: {gap}"
                );
            }
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    agrees(&world, "what was read while written is looked at again");
}

/// Appends, truncates, replaces and deletes a file until it is over.
fn restless(world: &CapturedWorkspace, number: usize, is_over: &std::sync::atomic::AtomicBool) {
    let name = format!("restless/{number}");
    let mut round = 0_usize;
    while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
        round += 1;
        match (round + number) % 4 {
            0 => world.write(&name, "x".repeat(round % 70_000)),
            1 => {
                let file = fs::File::options()
                    .append(true)
                    .open(world.root.join(&name));
                let _ = file.and_then(|mut file| file.write_all(&[b'y'; 9000]));
            }
            2 => {
                world.write(&format!("{name}.new"), "z".repeat(5000));
                let _ = fs::rename(
                    world.root.join(format!("{name}.new")),
                    world.root.join(&name),
                );
            }
            _ => drop(fs::remove_file(world.root.join(&name))),
        }
    }
}

#[test]
fn a_store_through_a_memory_map() {
    // The first store to a page sets the mtime, the next ones do not, until the kernel has written the page.
    const PROGRAM: &str = "import mmap, sys\nfile = open(sys.argv[1], 'r+b')\nmap = mmap.mmap(file.fileno(), 0)\n\
        for line in sys.stdin:\n    map[0:4] = line[:4].encode()\n    print(flush=True)\n";
    let world = old();
    // The first look remembers that no program has it open for writing: then a map's first store shows in its time.
    world.write("five", "5555");
    await_tick();
    world.take();
    let mut python = Command::new("python3");
    let python = python
        .args(["-c", PROGRAM])
        .arg(world.root.join("five"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let Ok(mut python) = python.spawn() else {
        return testing::skip::skip("it takes `python3` to write through a memory map");
    };
    let (mut stdin, mut stdout) = (
        python.stdin.take().unwrap(),
        BufReader::new(python.stdout.take().unwrap()),
    );
    for round in 0..20 {
        writeln!(stdin, "{round:04}").unwrap();
        stdout.read_line(&mut String::new()).unwrap();
        // Sometimes the whole directory is looked at, and asked who writes.
        if round % 2 == 0 {
            world.write("six", format!("{round}"));
        }
        assert_eq!(
            world.content(&world.take(), "five"),
            format!("{round:04}"),
            "touched in the last 35 s"
        );
    }
    drop(stdin);
    python.wait().unwrap();
    agrees(&world, "written through a map");
}

#[test]
fn ignore_files_that_change() {
    let world = old();
    let captured = |why: &str| world.names(&agrees(&world, why));
    world.write(".gitignore", "*.log\nout/\nthree\n");
    assert!(
        captured("an ignore file changed").contains(&"b/c/three".to_owned()),
        "it is tracked"
    );
    world.write("b/c/new", "x");
    world.write("b/.gitignore", "new\n");
    assert!(
        !captured("one appeared").contains(&"b/c/new".to_owned()),
        "two directories below it"
    );
    fs::remove_file(world.root.join("b/.gitignore")).unwrap();
    assert!(
        captured("it went").contains(&"b/c/new".to_owned()),
        "in view again"
    );
    world.write(".git/info/exclude", "new\n");
    assert!(
        !captured("the excludes of the repository").contains(&"b/c/new".to_owned()),
        "no directory changed"
    );
    fs::create_dir_all(world.home.join(".config/git")).unwrap();
    world.write(".git/info/exclude", "");
    fs::write(world.home.join(".config/git/ignore"), "new\n").unwrap();
    assert!(
        !captured("the excludes of the user").contains(&"b/c/new".to_owned()),
        "no directory changed"
    );
    with_its_old_times(&world, "d/.gitignore", || {
        fs::write(world.root.join("d/.gitignore"), "changed\n").unwrap()
    });
    world.write("d/changed", "x");
    assert!(
        !captured("of the same size and mtime").contains(&"d/changed".to_owned()),
        "read all the same"
    );
}

#[test]
fn files_tracked_although_ignored() {
    let world = old();
    assert!(
        world
            .names(&agrees(&world, "as it was"))
            .contains(&"out/kept".to_owned()),
        "it is tracked"
    );
    world.run_git(&["add", "-f", "ignored.log"]);
    assert!(
        world
            .names(&agrees(&world, "added"))
            .contains(&"ignored.log".to_owned()),
        "only the index changed"
    );
    world.run_git(&["rm", "-q", "--cached", "out/kept"]);
    assert!(
        !world
            .names(&agrees(&world, "removed"))
            .contains(&"out/kept".to_owned()),
        "only the index changed"
    );
}

#[test]
fn another_file_with_the_same_inode() {
    // The number of an inode is used again; its generation is not told, so the ctime has to do.
    let world = old();
    let path = world.root.join("five");
    let before = path.metadata().unwrap();
    let mut is_same = false;
    for _ in 0..50 {
        fs::remove_file(&path).unwrap();
        fs::write(&path, "cinq").unwrap();
        let file = fs::File::options().append(true).open(&path).unwrap();
        file.set_modified(before.modified().unwrap()).unwrap();
        is_same |= path.metadata().unwrap().ino() == before.ino();
        if is_same {
            break;
        }
    }
    assert_eq!(
        world.content(&agrees(&world, "deleted and made anew"), "five"),
        "cinq",
        "same inode: {is_same}"
    );
}

#[test]
fn an_edit_through_a_hard_link() {
    let world = old();
    fs::hard_link(world.root.join("five"), world.home.join("outside")).unwrap();
    fs::hard_link(world.root.join("six"), world.root.join("b/inside")).unwrap();
    agrees(&world, "linked");
    fs::write(world.home.join("outside"), "FIVE").unwrap();
    fs::write(world.root.join("b/inside"), "SIX").unwrap();
    let taken = agrees(&world, "edited by their other names");
    assert_eq!(
        world.content(&taken, "five") + &world.content(&taken, "six"),
        "FIVESIX",
        "neither directory changed"
    );
}

#[test]
fn swaps() {
    let world = old();
    let swap = |left: &str, right: &str| {
        let directory = rustix::fs::open(
            &world.root,
            rustix::fs::OFlags::DIRECTORY,
            rustix::fs::Mode::empty(),
        )
        .unwrap();
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(&directory, left, &directory, right, flags).unwrap();
    };
    swap("a/one", "a/two");
    assert_eq!(
        world.content(&agrees(&world, "two files"), "a/one"),
        "a/two",
        "swapped"
    );
    swap("a", "b/c");
    assert_eq!(
        world.content(&agrees(&world, "two directories"), "a/three"),
        "b/c/three",
        "swapped"
    );
    swap("a", "five");
    assert_eq!(
        world.content(&agrees(&world, "a file and a directory"), "a"),
        "five",
        "swapped"
    );
}

#[test]
fn kinds_that_replace_each_other() {
    let world = old();
    fs::rename(world.root.join("a"), world.root.join("moved")).unwrap();
    symlink("moved", world.root.join("a")).unwrap();
    agrees(&world, "a directory by a link to it");
    fs::remove_file(world.root.join("a")).unwrap();
    fs::rename(world.root.join("moved"), world.root.join("a")).unwrap();
    agrees(&world, "and back");
    fs::remove_file(world.root.join("five")).unwrap();
    symlink("six", world.root.join("five")).unwrap();
    agrees(&world, "a file by a link");
}

#[test]
#[cfg_attr(
    ckpt_portable,
    ignore = "the substitutes of `just portable` know a mount by its device, and a bind mount has that of the workspace"
)]
fn mounts() {
    in_namespace("traps::mounts", |mount| {
        let world = old();
        let before = world.take();
        let at = |path: &str| world.root.join(path);
        // Of the same file system, so that only the mount itself tells.
        world.write("../other/one", "other");
        mount(&["--bind"], &at("../other"), &at("b/c"));
        assert_eq!(world.gaps(&world.take()), ["b/c Mount"], "a directory");
        mount(&["--bind"], &at("../other/one"), &at("five"));
        assert_eq!(
            world.gaps(&world.take()),
            ["b/c Mount", "five Mount"],
            "a file"
        );
        mount(&["-t", "tmpfs"], "none".as_ref(), &at("a"));
        assert_eq!(
            world.gaps(&world.take()),
            ["a Mount", "b/c Mount", "five Mount"],
            "another file system"
        );
        for path in ["a", "b/c", "five"] {
            assert!(
                Command::new("umount")
                    .arg(at(path))
                    .status()
                    .unwrap()
                    .success(),
                "`{path}` is unmounted"
            );
        }
        assert_eq!(world.take(), before, "and all is as it was");
    });
}

#[test]
fn power_cut_between_cache_and_packs() {
    in_namespace("traps::power_cut_between_cache_and_packs", |mount| {
        let world = old();
        let before = world.take();
        world.write("five", "new");
        let taken = world.take();
        // What a power cut leaves of a file whose bytes did not reach the disk. The folder's own times say nothing.
        for pack in fs::read_dir(world.snapshots.repository().join("objects/pack")).unwrap() {
            let pack = pack.unwrap().path();
            let mut permissions = pack.metadata().unwrap().permissions();
            std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o600);
            fs::set_permissions(&pack, permissions).unwrap();
            fs::File::options()
                .write(true)
                .open(pack)
                .unwrap()
                .set_len(0)
                .unwrap();
        }
        fs::write(
            world.home.join("boot"),
            "00000000-0000-4000-8000-000000000000\n",
        )
        .unwrap();
        mount(
            &["--bind"],
            &world.home.join("boot"),
            "/proc/sys/kernel/random/boot_id".as_ref(),
        );
        let again = Snapshots::open(&world.store.join("snapshots/key")).unwrap();
        assert_eq!(
            again.take(&world.request()).unwrap(),
            taken,
            "in another boot the objects are looked at"
        );
        assert_eq!(
            again.read_blob(blob(&again, &taken, "five")).unwrap(),
            b"new",
            "and stored again"
        );
        assert_eq!(
            again.read_blob(blob(&again, &taken, "a/one")).unwrap(),
            b"a/one",
            "all of them"
        );
        assert_ne!(taken, before, "it is the newer one");
    });
}

fn blob(
    snapshots: &Snapshots,
    taken: &StoredSnapshot,
    path: &str,
) -> ckpt_store::model::entry::ObjectId {
    let states = snapshots
        .states(&taken.snapshot, &[testing::snapshot::path(path)])
        .unwrap();
    states[0].unwrap().blob.unwrap()
}

#[test]
fn two_hooks_at_once() {
    let world = old();
    for round in 0..20 {
        world.write("five", format!("v{round:03}"));
        let all = std::thread::scope(|scope| {
            let take = || {
                Snapshots::open(&world.store.join("snapshots/key"))
                    .unwrap()
                    .take(&world.request())
                    .unwrap()
            };
            let handles: Vec<_> = (0..6).map(|_| scope.spawn(take)).collect();
            handles
                .into_iter()
                .map(|handle| handle.join().unwrap())
                .collect::<Vec<_>>()
        });
        assert!(
            all.iter().all(|taken| *taken == all[0]),
            "both trees are right"
        );
    }
    agrees(&world, "and the last cache is, too");
    world.our_git(&["fsck", "--full", "--strict", "--no-dangling"]);
}
