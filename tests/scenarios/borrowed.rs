//! What the first snapshot takes from the user's repository: nothing that is done to the workspace, as root or after
//! `chmod -R u+w`, takes it away again.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ckpt_store::{Forget, RevertRequest, Settings};

use testing::nobody::as_nobody;
use testing::scenario::{World, to};

const FILES: usize = 80;

/// A repository whose objects are all in one pack, with deltas, and whose index is old enough to be believed.
fn packed() -> World {
    let world = World::git(&[]);
    for version in 0..3 {
        for number in 0..FILES {
            world.write(file(number), text(number, version));
        }
        world.run_git(&["add", "-A"]);
        world.run_git(&["commit", "-q", "-m", "a version"]);
    }
    world.run_git(&["repack", "-adfq", "--depth=20", "--window=20"]);
    grow_old(&world);
    world
}

fn file(number: usize) -> String {
    format!("d{}/f{number}", number % 7)
}

fn text(number: usize, version: usize) -> String {
    let shared: String = (0..60)
        .map(|line| format!("line {line} of them all\n"))
        .collect();
    format!("{shared}number {number}, version {version}\n")
}

/// Makes the index younger than the files, as if a moment had passed before it was written.
fn grow_old(world: &World) {
    let index = fs::File::options()
        .append(true)
        .open(world.path(".git/index"))
        .expect("git made it");
    let written = index.metadata().and_then(|found| found.modified());
    let later = written.expect("it has a time") + Duration::from_secs(10);
    index.set_modified(later).expect("it is ours");
}

/// Every file below a directory, as `find -type f` finds them.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("it is there") {
        let path = entry.expect("it can be read").path();
        let metadata = path.symlink_metadata().expect("it is there");
        if metadata.is_dir() {
            found.extend(files(&path));
        } else if metadata.is_file() {
            found.push(path);
        }
    }
    found
}

fn snapshots(world: &World) -> PathBuf {
    world.base().join("store/snapshots")
}

/// The inodes of a directory's files.
fn inodes(directory: &Path) -> Vec<u64> {
    let inode = |path: &PathBuf| path.metadata().expect("it is there").ino();
    files(directory).iter().map(inode).collect()
}

fn shares_inodes(world: &World) -> bool {
    let ours = inodes(&snapshots(world));
    inodes(&world.root).iter().any(|inode| ours.contains(inode))
}

/// Whether what was borrowed are files of the store's own: clones or copies.
fn has_own_files(world: &World) -> bool {
    let is_borrowed = |path: &PathBuf| {
        let name = path.file_name().expect("a file").to_string_lossy();
        name.starts_with("borrowed-pack-")
    };
    !shares_inodes(world) && files(&snapshots(world)).iter().any(is_borrowed)
}

fn make_writable(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).expect("it is ours");
}

/// What somebody may do to every file below the workspace, `.git` as well.
type Deed = fn(&Path);

fn truncate(path: &Path) {
    make_writable(path);
    let file = fs::File::options()
        .write(true)
        .open(path)
        .expect("it is ours");
    file.set_len(0).expect("it is ours");
}

fn append(path: &Path) {
    make_writable(path);
    let mut file = fs::File::options()
        .append(true)
        .open(path)
        .expect("it is ours");
    std::io::Write::write_all(&mut file, b"more").expect("it is ours");
}

fn overwrite(path: &Path) {
    make_writable(path);
    let length = path.metadata().expect("it is there").len();
    let bytes = vec![b'x'; usize::try_from(length).expect("it is small")];
    fs::write(path, bytes).expect("it is ours");
}

fn move_away(path: &Path) {
    let mut to = path.as_os_str().to_owned();
    to.push(".moved");
    fs::rename(path, to).expect("it is ours");
}

fn remove(path: &Path) {
    fs::remove_file(path).expect("it is ours");
}

fn forbid(path: &Path) {
    let is_packed = path.to_string_lossy().contains("/.git/objects/");
    let is_ours = path.starts_with("/") && !is_packed;
    if is_ours && !path.to_string_lossy().contains("/.git/") {
        truncate(path);
    }
    if is_packed {
        fs::set_permissions(path, fs::Permissions::from_mode(0o0)).expect("it is ours");
    }
}

const DEEDS: [(&str, Deed); 6] = [
    ("truncate -s 0", truncate),
    ("append", append),
    ("overwrite", overwrite),
    ("mv", move_away),
    ("rm", remove),
    ("chmod 000 of the packs", forbid),
];

fn expect_all(world: &World, why: &str) {
    for number in 0..FILES {
        assert_eq!(
            world.read(file(number)),
            text(number, 2),
            "{why}: `{}`",
            file(number)
        );
    }
}

/// What the first snapshot borrowed is its own once it is settled.
#[test]
fn settled_snapshot_borrows_nothing() {
    let mut world = packed();
    world.message("m1");
    assert!(
        shares_inodes(&world) || has_own_files(&world),
        "the first snapshot reads no file that git knows"
    );
    world.settle();
    assert!(
        !shares_inodes(&world),
        "no inode of the store is reachable through the workspace"
    );
    let repositories = files(&snapshots(&world));
    let packs = repositories
        .iter()
        .filter(|path| path.extension().is_some_and(|name| name == "pack"));
    let size: u64 = packs
        .map(|path| path.metadata().expect("there").len())
        .sum();
    let theirs: u64 = files(&world.path(".git/objects/pack"))
        .iter()
        .map(|path| path.metadata().expect("there").len())
        .sum();
    assert!(
        size > 0 && size <= theirs,
        "{size} of {theirs}: entries are copied as they are"
    );
}

/// Nothing that is done to the workspace takes away what is settled.
///
/// Invariant `work/store-outlives-changes`: No change of the workspace or of the user's
/// repository takes anything out of the store.
#[test]
fn workspace_takes_nothing_settled_away() {
    for (why, deed) in DEEDS {
        let mut world = packed();
        world.message("m1");
        world.settle();
        world.start_in("s1");
        files(&world.root).iter().for_each(|path| deed(path));
        world.finish_in("s1");
        world.revert("m1");
        expect_all(&world, why);
    }
}

/// The first tool waits until nothing is borrowed any more.
///
/// Invariant `work/store-outlives-changes`.
#[test]
fn first_tool_waits_until_nothing_is_borrowed() {
    let mut world = packed();
    world.message("m1");
    world.start_in("s1");
    assert!(!shares_inodes(&world), "the agent's tool runs only now");
    files(&world.root).iter().for_each(|path| truncate(path));
    world.finish_in("s1");
    world.revert("m1");
    expect_all(&world, "the report of the lab");
}

/// An operation settles what is borrowed before it begins.
#[test]
fn operation_settles_borrowed_objects_first() {
    let mut world = packed();
    world.message("m1");
    let only_the_files = |world: &World| {
        for number in 0..FILES {
            truncate(&world.path(file(number)));
        }
    };
    only_the_files(&world);
    world.finish_in("s1");
    world.revert("m1");
    expect_all(&world, "nobody settled it before");
    assert!(!shares_inodes(&world), "it was settled by the revert");
    for path in files(&world.path(".git/objects")) {
        truncate(&path);
    }
    world.unrevert();
    world.revert("m1");
    expect_all(&world, "the packs are of no matter any more");
}

/// What is emptied before it is settled is taken from files that are unchanged and else told.
///
/// Invariant `work/store-outlives-changes`.
#[test]
fn emptied_packs_are_healed_from_unchanged_files() {
    let mut world = packed();
    world.message("m1");
    for path in files(&world.path(".git/objects")) {
        truncate(&path);
    }
    for number in 0..FILES / 2 {
        truncate(&world.path(file(number)));
    }
    world.settle();
    assert!(!shares_inodes(&world), "what is damaged is given back, too");
    world.finish_in("s1");
    let told = format!("{:?}", world.status().latest_diagnostics);
    assert!(told.contains("is lost"), "{told}");
    let error = world.try_revert(&to("m1")).expect_err("half of it is lost");
    assert!(
        error.to_string().contains(&file(0)),
        "it names them: {error}"
    );
    for number in FILES / 2..FILES {
        truncate(&world.path(file(number)));
    }
    world.finish_in("s1");
    let only = RevertRequest {
        only: (FILES / 2..FILES)
            .map(|number| world.path(file(number)))
            .collect(),
        ..to("m1")
    };
    world.try_revert(&only).expect("these were stored anew");
    for number in FILES / 2..FILES {
        assert_eq!(world.read(file(number)), text(number, 2), "{number}");
    }
}

/// A borrowed pack that nobody could read does not outlive what is forgotten.
#[test]
fn unreadable_borrowed_pack_does_not_outlive_forgetting() {
    as_nobody(
        "borrowed::unreadable_borrowed_pack_does_not_outlive_forgetting",
        forget_beside_an_unread_pack,
    );
}

fn forget_beside_an_unread_pack() {
    let mut world = packed();
    world.message("m1");
    for path in files(&world.path(".git/objects/pack")) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o0)).expect("it is ours");
    }
    world.settle();
    assert!(shares_inodes(&world), "it may be readable again some day");
    world.finish_in("s1");
    let (cwd, what) = (world.root.clone(), Forget::Path(file(0)));
    world
        .store
        .forget(&cwd, &what, ckpt_store::DryRun::No)
        .expect("it is ours");
    assert!(!shares_inodes(&world), "it may have the bytes of the file");
}

/// A snapshot that finds a borrowed pack changed reads the files again.
#[test]
fn snapshot_rereads_files_of_a_changed_pack() {
    let mut world = packed();
    world.message("m1");
    for path in files(&world.path(".git/objects")) {
        let modified = path
            .metadata()
            .expect("there")
            .modified()
            .expect("it has one");
        overwrite(&path);
        let file = fs::File::options().write(true).open(&path).expect("ours");
        file.set_modified(modified).expect("it is ours");
    }
    world.message("m2");
    files(&world.root).iter().for_each(|path| truncate(path));
    world.finish_in("s1");
    world.revert("m2");
    expect_all(&world, "they were stored anew with the second message");
}

/// A gc of the user's is none of our business.
#[test]
fn users_gc_is_no_concern() {
    let mut world = packed();
    world.message("m1");
    world.run_git(&["gc", "-q", "--prune=now"]);
    world.message("m2");
    world.settle();
    assert!(!shares_inodes(&world), "nothing is shared");
    fs::rename(world.path(".git/objects"), world.base().join("gone")).expect("it is ours");
    for number in 0..FILES {
        truncate(&world.path(file(number)));
    }
    world.finish_in("s1");
    world.revert("m1");
    expect_all(&world, "whatever became of the user's packs");
}

/// What is settled stands in a repository that git takes for sound.
#[test]
fn settled_repository_is_sound_for_git() {
    let mut world = packed();
    world.message("m1");
    world.settle();
    let repository = fs::read_dir(snapshots(&world))
        .expect("there")
        .next()
        .expect("one workspace")
        .expect("readable")
        .path()
        .join("repository.git");
    let git_dir = format!("--git-dir={}", repository.display());
    let found = world.run_git(&[&git_dir, "fsck", "--full", "--strict", "--no-dangling"]);
    assert_eq!(found, "", "deltas have their bases");
}

/// Mounts a new btrfs, which clones files, over the folder for temporary files; returns whether that can be done here.
fn mount_one_that_clones(mount: testing::namespace::MountCall) -> bool {
    let folder = std::env::temp_dir();
    let image = folder.join("clones.img");
    let made = fs::File::create(&image).and_then(|image| image.set_len(300 << 20));
    let formatted = std::process::Command::new("mkfs.btrfs")
        .arg("-q")
        .arg(&image)
        .output();
    let works = made.is_ok() && formatted.is_ok_and(|output| output.status.success());
    if works {
        mount(&["-o", "loop"], &image, &folder);
    }
    works
}

#[test]
#[cfg_attr(
    ckpt_portable,
    ignore = "the substitutes of `just portable` clone no files"
)]
/// Where files can be cloned no file of the user's is held.
///
/// Invariant `work/store-outlives-changes`.
fn cloned_packs_hold_no_users_file() {
    let test = "borrowed::cloned_packs_hold_no_users_file";
    testing::namespace::in_namespace(test, |mount| {
        // The folder is this test's alone: nothing is left in that of all tests.
        let outer = tempfile::tempdir().expect("a scratch directory");
        mount(&["--bind"], outer.path(), &std::env::temp_dir());
        if !mount_one_that_clones(mount) {
            return testing::skip::skip("it needs loop devices and `mkfs.btrfs`");
        }
        for (why, deed) in DEEDS {
            let mut world = packed();
            world.message("m1");
            assert!(
                has_own_files(&world),
                "the packs are there, as files of the store's own"
            );
            files(&world.path(".git/objects/pack"))
                .iter()
                .for_each(|path| deed(path));
            world.start_in("s1");
            files(&world.root)
                .iter()
                .filter(|path| !path.to_string_lossy().contains("/.git/objects/pack"))
                .for_each(|path| deed(path));
            world.finish_in("s1");
            world.revert("m1");
            expect_all(&world, why);
        }
    });
}

/// Mounts an empty file system where the store is.
fn move_store_elsewhere(world: &mut World, mount: testing::namespace::MountCall) {
    let store = world.base().join("store");
    mount(&["-t", "tmpfs"], "none".as_ref(), &store);
    fs::set_permissions(&store, fs::Permissions::from_mode(0o700)).expect("it is ours");
    world.reopen(Settings::default());
}

/// A damaged pack that was copied costs no file that was whole at the message.
///
/// Invariant `work/store-outlives-changes`.
#[test]
fn damaged_copied_pack_costs_no_whole_file() {
    let test = "borrowed::damaged_copied_pack_costs_no_whole_file";
    testing::namespace::in_namespace(test, |mount| {
        let mut world = packed();
        move_store_elsewhere(&mut world, mount);
        for pack in files(&world.path(".git/objects/pack")) {
            if pack.extension().is_some_and(|name| name == "pack") {
                make_writable(&pack);
                let mut bytes = fs::read(&pack).expect("it is ours");
                let end = bytes.len();
                bytes[end / 4] ^= 0x10;
                bytes[end / 2] ^= 0x10;
                fs::write(&pack, bytes).expect("it is ours");
            }
        }
        world.message("m1");
        assert!(has_own_files(&world), "the pack was copied");
        world.start_in("s1");
        for number in 0..FILES {
            remove(&world.path(file(number)));
        }
        world.finish_in("s1");
        world.revert("m1");
        expect_all(&world, "nobody had read what was copied");
    });
}

/// Makes an index of a pack name the bytes of two files the wrong way round, with sums that are right (gitformat-pack(5)).
fn exchange_two(index: &Path, ids: [&str; 2]) {
    make_writable(index);
    let mut bytes = fs::read(index).expect("it is ours");
    let count = u32::from_be_bytes(bytes[1028..1032].try_into().expect("four bytes")) as usize;
    let (names, sums) = (1032, 1032 + 20 * count);
    let offsets = sums + 4 * count;
    let places = ids.map(|id| {
        let is_it = |at: &usize| {
            let name = &bytes[names + 20 * at..][..20];
            name.iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
                == id
        };
        (0..count).find(is_it).expect("it is in the pack")
    });
    for table in [sums, offsets] {
        for byte in 0..4 {
            bytes.swap(table + 4 * places[0] + byte, table + 4 * places[1] + byte);
        }
    }
    bytes.truncate(bytes.len() - 20);
    fs::write(index, &bytes).expect("it is ours");
    let summed = std::process::Command::new("sha1sum")
        .arg(index)
        .output()
        .expect("it is in coreutils");
    let sum = String::from_utf8_lossy(&summed.stdout);
    let sum = (0..20).map(|at| u8::from_str_radix(&sum[2 * at..][..2], 16).expect("hex"));
    bytes.extend(sum);
    fs::write(index, &bytes).expect("it is ours");
}

/// What an index says of a pack is not believed when its objects are copied.
///
/// Invariant `work/store-outlives-changes`.
#[test]
fn packs_index_is_checked_on_copying() {
    let mut world = packed();
    let id =
        |world: &World, number| world.run_git(&["rev-parse", &format!("HEAD:{}", file(number))]);
    let ids = [id(&world, 1), id(&world, 2)];
    let packs = files(&world.path(".git/objects/pack"));
    let mut indexes = packs
        .iter()
        .filter(|path| path.extension().is_some_and(|name| name == "idx"));
    exchange_two(
        indexes.next().expect("there is one"),
        [ids[0].trim(), ids[1].trim()],
    );
    world.message("m1");
    world.settle();
    assert!(!shares_inodes(&world), "nothing is borrowed any more");
    world.start_in("s1");
    for number in 0..FILES {
        remove(&world.path(file(number)));
    }
    world.finish_in("s1");
    world.revert("m1");
    expect_all(&world, "the files still had the right bytes");
}

/// Du counts what is shared with the repository apart until it is given back.
#[test]
fn du_counts_shared_objects_apart() {
    let mut world = packed();
    world.message("m1");
    let du = |world: &mut World| {
        let report = world.store.du(ckpt_store::Grouping::Workspace);
        report.expect("it is ours")
    };
    let all = |world: &World| -> u64 {
        let size = |path: &PathBuf| path.metadata().map_or(0, |found| found.len());
        files(&world.base().join("store")).iter().map(size).sum()
    };
    let report = du(&mut world);
    assert_eq!(
        report.shared > 0,
        shares_inodes(&world),
        "where files can be cloned, nothing is shared: {report:?}"
    );
    let sum = report.bytes + report.shared;
    assert!(sum.abs_diff(all(&world)) < 200_000, "{report:?}");
    world.settle();
    let report = du(&mut world);
    assert_eq!(report.shared, 0, "it was copied: {report:?}");
    assert!(report.bytes.abs_diff(all(&world)) < 200_000, "{report:?}");
}
