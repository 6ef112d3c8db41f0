//! The stat cache's traps: whatever is remembered, the snapshot is that of the bytes on the disk.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use ckpt_store::snapshot::{Request, Snapshots};

use testing::nobody::as_nobody;
use testing::snapshot::{CapturedWorkspace, path};

/// A world with a few old files, of which the cache is full.
fn remembered() -> CapturedWorkspace {
    let world = CapturedWorkspace::git();
    for file in ["a/one", "a/two", "b/c/three", "four", "d/.gitignore"] {
        world.write(file, file);
        age(&world, file);
    }
    world.take();
    world
}

/// Sets a file's mtime back; its ctime stays young, as that of any file of a test.
fn age(world: &CapturedWorkspace, file: &str) {
    let file = fs::File::options()
        .append(true)
        .open(world.root.join(file))
        .unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000))
        .unwrap();
}

fn check(world: &CapturedWorkspace, why: &str) {
    let taken = world.take();
    assert_eq!(taken.snapshot.tree.to_string(), world.git_tree(), "{why}");
    let fresh = Snapshots::open(
        &world
            .store
            .join("snapshots/fresh")
            .join(why.replace(' ', "-")),
    )
    .unwrap();
    let fresh = fresh.take(&world.request()).unwrap();
    assert_eq!(taken, fresh, "{why}: as without a cache");
}

/// Racy times do not hide an edit of the same size.
#[test]
fn racy_times_hide_no_edit() {
    let world = remembered();
    for round in 0..20 {
        fs::write(world.root.join("four"), format!("{round:04}")).unwrap();
        age(&world, "four");
        assert_eq!(
            world.content(&world.take(), "four"),
            format!("{round:04}"),
            "edited within one tick"
        );
    }
}

/// What changed elsewhere is left to the next look.
#[test]
fn change_elsewhere_waits_for_the_next_look() {
    let world = remembered();
    let before = world.take();
    world.write("b/c/three", "elsewhere");
    world.write("a/one", "here");
    let around = [path("a/one")].into();
    let taken = world
        .snapshots
        .take(&Request {
            only_around: Some(&around),
            ..world.request()
        })
        .unwrap();
    assert_eq!(world.content(&taken, "a/one"), "here", "it was asked for");
    assert_eq!(
        world.content(&taken, "b/c/three"),
        world.content(&before, "b/c/three"),
        "it was not"
    );
    check(&world, "and is not forgotten");
}

/// A file with its old times put back is seen.
#[test]
fn file_with_old_times_is_seen() {
    let world = remembered();
    fs::write(world.root.join("a/one"), "A/ONE").unwrap();
    age(&world, "a/one");
    check(&world, "same size and mtime");
}

#[test]
fn a_swap_of_two_files_is_seen() {
    let world = remembered();
    fs::rename(world.root.join("a/one"), world.root.join("x")).unwrap();
    fs::rename(world.root.join("a/two"), world.root.join("a/one")).unwrap();
    fs::rename(world.root.join("x"), world.root.join("a/two")).unwrap();
    check(&world, "two files swapped");
}

#[test]
fn a_swap_of_two_directories_is_seen() {
    let world = remembered();
    fs::rename(world.root.join("a"), world.root.join("x")).unwrap();
    fs::rename(world.root.join("b"), world.root.join("a")).unwrap();
    fs::rename(world.root.join("x"), world.root.join("b")).unwrap();
    check(&world, "two directories swapped");
}

#[test]
fn an_edit_through_a_hard_link_is_seen() {
    let world = remembered();
    fs::hard_link(world.root.join("four"), world.home.join("link")).unwrap();
    world.take();
    fs::write(world.home.join("link"), "4444").unwrap();
    check(&world, "edited by its other name");
}

#[test]
fn kinds_that_replace_each_other_are_seen() {
    let world = remembered();
    fs::remove_file(world.root.join("four")).unwrap();
    fs::create_dir(world.root.join("four")).unwrap();
    world.write("four/inner", "x");
    check(&world, "file to directory");
    fs::remove_file(world.root.join("four/inner")).unwrap();
    fs::remove_dir(world.root.join("four")).unwrap();
    symlink("a", world.root.join("four")).unwrap();
    check(&world, "directory to link");
    fs::rename(world.root.join("a"), world.root.join("e")).unwrap();
    symlink("e", world.root.join("a")).unwrap();
    check(&world, "directory to link to it");
}

/// Ignore files that change decide anew about all below.
#[test]
fn changed_ignore_files_decide_anew() {
    let world = remembered();
    world.write(".gitignore", "three\n");
    check(&world, "an ignore file appeared");
    world.write(".gitignore", "# nothing\n");
    check(&world, "an ignore file changed");
    world.write("b/.gitignore", "*\n");
    check(&world, "an ignore file that ignores itself");
    world.write("b/.gitignore", "x\n");
    check(&world, "it changed");
    fs::remove_file(world.root.join("b/.gitignore")).unwrap();
    check(&world, "it went");
    world.write(".git/info/exclude", "one\n");
    check(&world, "the repository's excludes changed");
    fs::create_dir_all(world.home.join(".config/git")).unwrap();
    fs::write(world.home.join(".config/git/ignore"), "two\n").unwrap();
    check(&world, "the global excludes changed");
}

#[test]
fn tracking_that_changes_decides_anew_about_ignored_files() {
    let world = remembered();
    world.write(".gitignore", "*.log\nout/\n");
    world.write("a/x.log", "x");
    world.write("out/deep/y", "y");
    check(&world, "nothing ignored is tracked");
    world.run_git(&["add", "-f", "a/x.log", "out/deep/y"]);
    check(&world, "both are tracked");
    fs::remove_file(world.root.join("a/x.log")).unwrap();
    check(&world, "one is deleted");
    world.write("a/x.log", "again");
    check(&world, "it is back");
    world.run_git(&["rm", "-q", "--cached", "out/deep/y"]);
    check(&world, "one is not tracked any more");
}

#[test]
fn named_paths_come_and_go() {
    let world = remembered();
    world.write(".gitignore", "out/\n");
    world.write("out/x", "x");
    let before = world.take();
    let named = [path("out/x")];
    let with = world
        .snapshots
        .take(&Request {
            named: &named,
            ..world.request()
        })
        .unwrap();
    assert!(
        world.names(&with).contains(&"out/x".to_owned()),
        "named: captured"
    );
    assert_eq!(world.take(), before, "not named any more");
}

#[test]
fn a_damaged_or_foreign_cache_is_no_matter() {
    let world = remembered();
    let cache = world.store.join("snapshots/key/cache");
    let good = fs::read(&cache).unwrap();
    let before = world.take();
    for length in [0, 5, 20, good.len() / 2, good.len() - 1] {
        fs::write(&cache, &good[..length]).unwrap();
        assert_eq!(world.take(), before, "cut off at {length}");
    }
    fs::write(&cache, [7; 4096]).unwrap();
    assert_eq!(world.take(), before, "nonsense");
}

/// After another boot the cache is checked before it is trusted.
#[test]
fn cache_is_checked_after_a_boot() {
    let world = remembered();
    let cache = world.store.join("snapshots/key/cache");
    let mut bytes = fs::read(&cache).unwrap();
    let before = world.take();
    let boot = fs::read("/proc/sys/kernel/random/boot_id").unwrap();
    let at = bytes
        .windows(boot.len())
        .position(|window| window == boot)
        .expect("the boot is in the header");
    bytes[at] = b'-';
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&cache, bytes).unwrap();
    assert_eq!(
        world.take(),
        before,
        "its checksum does not fit: it is dropped"
    );
}

#[test]
fn objects_that_went_are_stored_again() {
    let world = remembered();
    let before = world.take();
    for entry in fs::read_dir(world.snapshots.repository().join("objects/pack")).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let again = Snapshots::open(&world.store.join("snapshots/key")).unwrap();
    assert_eq!(
        again.take(&world.request()).unwrap(),
        before,
        "the same ids"
    );
    world.our_git(&["fsck", "--full", "--strict", "--no-dangling"]);
    assert_eq!(
        world.content(&before, "four"),
        "four",
        "and the bytes are back"
    );
}

/// A pack that a power cut tore is not believed.
#[test]
fn torn_pack_is_not_believed() {
    let world = remembered();
    world.write("late", "the last thing that was written");
    let before = world.take();
    let packs = world.snapshots.repository().join("objects/pack");
    let files = fs::read_dir(&packs)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let written = |path: &PathBuf| path.metadata().unwrap().modified().unwrap();
    let last = files
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "pack")
        })
        .max_by_key(written);
    let last = last.expect("there is a pack");
    let mut bytes = fs::read(&last).unwrap();
    let kept = bytes.len() / 3;
    bytes[kept..].fill(0);
    fs::remove_file(&last).unwrap();
    fs::write(&last, bytes).unwrap();
    let again = Snapshots::open(&world.store.join("snapshots/key")).unwrap();
    assert_eq!(
        again.take(&world.request()).unwrap(),
        before,
        "the same ids"
    );
    let entries = again
        .entries(&before.snapshot)
        .expect("every tree is sound again");
    let blobs: Vec<_> = entries.iter().filter_map(|(_, entry)| entry.blob).collect();
    assert_eq!(
        again.check_blobs(&blobs).unwrap(),
        [],
        "and so is every file"
    );
}

#[test]
fn nothing_is_written_when_nothing_changed() {
    let world = remembered();
    // What is young gets a second look, which may settle it; so this world's files are only compared by what is written.
    world.take();
    let packs = || {
        fs::read_dir(world.snapshots.repository().join("objects/pack"))
            .unwrap()
            .count()
    };
    let before = packs();
    world.take();
    assert_eq!(packs(), before, "no new pack");
}

/// What is unreadable is a gap each time and never deleted.
#[test]
fn unreadable_is_always_a_gap() {
    as_nobody("scan_cache::unreadable_is_always_a_gap", unreadable);
}

fn unreadable() {
    let world = CapturedWorkspace::plain();
    world.write("dir/file", "x");
    world.write("file", "x");
    let before = world.take();
    world.chmod("file", 0o000);
    world.chmod("dir", 0o000);
    for _ in 0..2 {
        let gaps = world.gaps(&world.take());
        assert_eq!(gaps.len(), 2, "{gaps:?}");
        assert!(
            gaps[0].starts_with("dir Unreadable") && gaps[1].starts_with("file Unreadable"),
            "{gaps:?}"
        );
    }
    world.chmod("file", 0o644);
    world.chmod("dir", 0o755);
    assert_eq!(
        world.take().snapshot.tree,
        before.snapshot.tree,
        "readable again"
    );
}

/// A cache that is damaged at any byte gives the right tree or a full look.
///
/// Invariant `truth/damaged-cache`.
#[test]
fn damaged_cache_gives_the_right_tree() {
    let world = CapturedWorkspace::git();
    world.write(".gitignore", "*.log\n");
    world.write("a/one", "1");
    world.write("a/ignored.log", "x");
    world.write("b/c/two", "2");
    world.run_git(&["add", "a/one"]);
    world.take();
    world.write("b/c/two", "22");
    world.write("b/three", "3");
    let expected = world.take();
    let folder = world.store.join("snapshots/key");
    let names = ["cache", "cache.changes"];
    let sound = names.map(|name| fs::read(folder.join(name)).expect("both were written"));
    // A new file each time: to write one anew makes some file systems write it out at once.
    let put = |name: &str, bytes: &[u8]| {
        let _ = fs::remove_file(folder.join(name));
        fs::write(folder.join(name), bytes).expect("it is ours");
    };
    let restore = || {
        names
            .iter()
            .zip(&sound)
            .for_each(|(name, bytes)| put(name, bytes))
    };
    for (name, bytes) in names.iter().zip(&sound) {
        // Every byte is tried where the cache is read; here, whether a snapshot is taken all the same.
        for at in (0..bytes.len()).step_by(23) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            restore();
            put(name, &damaged);
            assert_eq!(world.take(), expected, "byte {at} of `{name}`, warm");
            restore();
            put(name, &damaged);
            let cold = Snapshots::open(&folder).expect("it is there");
            let taken = cold
                .take(&world.request())
                .expect("whatever the cache says");
            assert_eq!(taken, expected, "byte {at} of `{name}`, cold");
        }
        for length in (0..bytes.len()).step_by(97) {
            restore();
            put(name, &bytes[..length]);
            assert_eq!(world.take(), expected, "`{name}` cut off after {length}");
        }
    }
}

/// A large cache that is damaged anywhere gives the right tree where few of its entries are
/// read.
#[test]
fn damaged_large_cache_gives_the_right_tree() {
    let world = CapturedWorkspace::plain();
    // The entries of a small cache are read at once.
    for number in 0..1200 {
        world.write(&format!("many/{number}"), "m");
    }
    world.write("a/one", "1");
    world.write("z/two", "2");
    world.grow_old();
    world.take();
    let file = world.store.join("snapshots/key/cache");
    let sound = fs::read(&file).expect("it was written");
    let around = BTreeSet::from([path("z/two")]);
    world.write("z/two", "22");
    let near = || {
        let request = Request {
            only_around: Some(&around),
            ..world.request()
        };
        world.snapshots.take(&request).expect("whatever it says")
    };
    let expected = near().snapshot;
    let last = (sound.len() - 200)..sound.len();
    for at in (0..sound.len()).step_by(1999).chain(last.step_by(7)) {
        let mut damaged = sound.clone();
        damaged[at] ^= 1 << (at % 8);
        fs::remove_file(&file).expect("it is there");
        fs::write(&file, &damaged).expect("it is ours");
        let _ = fs::remove_file(file.with_extension("changes"));
        assert_eq!(near().snapshot, expected, "byte {at}");
    }
}
