//! Taking ids and packs from the user's repository: whatever that says, the snapshot is that of the bytes on the disk, and
//! holds all of them for good.
//!
//! What is taken over must be old enough to be trusted, so the snapshots of these tests are told that it is later.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;

use ckpt_store::model::entry::ObjectId;
use ckpt_store::snapshot::{Request, Snapshots, StoredSnapshot};

use testing::namespace::in_namespace;
use testing::snapshot::CapturedWorkspace;

/// A repository of two commits, one packed, one loose; its files are not old yet.
fn repository() -> CapturedWorkspace {
    let world = CapturedWorkspace::git();
    populate(&world);
    world
}

fn populate(world: &CapturedWorkspace) {
    for number in 0..12 {
        world.write(
            &format!("d{}/f{number}", number % 3),
            format!("{number}\n").repeat(100 + number),
        );
    }
    world.run_git(&["add", "."]);
    world.run_git(&["commit", "-qm", "one"]);
    world.run_git(&["repack", "-adq"]);
    for name in ["loose", "d1/loose"] {
        world.write(name, format!("{name}\n"));
    }
    world.run_git(&["add", "."]);
    world.run_git(&["commit", "-qm", "two"]);
}

/// Lets files grow old, and lets git look at them once more, as `git status` of a user does.
fn settle(world: &CapturedWorkspace) {
    world.set_times_back();
    let _ = world
        .git_command(&world.root)
        .args(["status", "--porcelain"])
        .output();
    world.grow_old();
}

/// Takes the first snapshot with the user's repository and one without, and checks that they are the same, that every blob
/// is stored in full, and that the next snapshot agrees.
fn agrees(world: &CapturedWorkspace, why: &str) -> (Snapshots, StoredSnapshot) {
    let first = |name: &str, seed| {
        let folder = world
            .store
            .join("snapshots")
            .join(format!("{}-{name}", why.replace(' ', "-")));
        let snapshots = Snapshots::open(&folder).unwrap();
        let taken = snapshots
            .take(&Request {
                seed,
                ..world.request()
            })
            .unwrap();
        (snapshots, taken)
    };
    let ((seeded, taken), (_, plain)) = (first("seeded", true), first("plain", false));
    assert_eq!(taken, plain, "{why}: as if nothing had been taken over");
    assert_eq!(
        damaged(&seeded, &taken),
        [],
        "{why}: every blob is there, and is what its id says"
    );
    assert_eq!(
        seeded.take(&world.request()).unwrap(),
        taken,
        "{why}: and again"
    );
    (seeded, taken)
}

fn damaged(snapshots: &Snapshots, taken: &StoredSnapshot) -> Vec<(ObjectId, String)> {
    let entries = snapshots.entries(&taken.snapshot).unwrap();
    let blobs = entries
        .into_iter()
        .filter_map(|(_, entry)| entry.blob)
        .filter(|blob| *blob != ObjectId::EMPTY_TREE);
    snapshots.check_blobs(&blobs.collect::<Vec<_>>()).unwrap()
}

fn content(snapshots: &Snapshots, taken: &StoredSnapshot, path: &str) -> Vec<u8> {
    let states = snapshots
        .states(&taken.snapshot, &[testing::snapshot::path(path)])
        .unwrap();
    snapshots
        .read_blob(states[0].unwrap().blob.unwrap())
        .unwrap()
}

fn user_packs(world: &CapturedWorkspace) -> Vec<PathBuf> {
    let packs = fs::read_dir(world.root.join(".git/objects/pack")).unwrap();
    packs.map(|entry| entry.unwrap().path()).collect()
}

/// Packed and loose objects and a later gc of the user.
#[test]
fn packed_and_loose_objects_survive_users_gc() {
    let world = repository();
    settle(&world);
    let (seeded, taken) = agrees(&world, "first");
    world.run_git(&["update-ref", "-d", "HEAD"]);
    fs::rename(world.root.join(".git/objects"), world.home.join("objects")).unwrap();
    let again = Snapshots::open(&seeded.repository().join("..")).unwrap();
    assert_eq!(
        damaged(&again, &taken),
        [],
        "nothing of ours goes with the user's objects"
    );
    assert_eq!(
        content(&again, &taken, "loose"),
        b"loose\n",
        "not the loose ones either"
    );
}

#[test]
fn every_version_and_shape_of_an_index() {
    let world = repository();
    settle(&world);
    for version in ["2", "3", "4"] {
        world.run_git(&["update-index", "--index-version", version]);
        agrees(&world, &format!("index version {version}"));
    }
    world.write("intended", "x");
    world.run_git(&["add", "-N", "intended"]);
    agrees(&world, "a file that is to be added");
    world.run_git(&["update-index", "--untracked-cache"]);
    agrees(&world, "with an untracked cache");
    world.run_git(&["update-index", "--split-index"]);
    world.write("added", "x");
    world.run_git(&["add", "added"]);
    agrees(&world, "a split index");
    world.run_git(&["update-index", "--no-split-index"]);
    world.run_git(&["sparse-checkout", "set", "--cone", "--sparse-index", "d1"]);
    agrees(&world, "a sparse index");
}

#[test]
fn entries_that_say_nothing_about_the_file() {
    let world = repository();
    for (flag, file) in [
        ("--assume-unchanged", "d0/f0"),
        ("--skip-worktree", "d0/f3"),
    ] {
        world.run_git(&["update-index", flag, file]);
        world.write(file, "edited");
    }
    world.run_git(&["rm", "-q", "--cached", "d1/f1"]);
    fs::remove_file(world.root.join("d2/f2")).unwrap();
    world.chmod("d2/f5", 0o755);
    settle(&world);
    let (seeded, taken) = agrees(&world, "flags");
    assert_eq!(
        content(&seeded, &taken, "d0/f0"),
        b"edited",
        "the bytes on the disk"
    );
    assert_eq!(
        content(&seeded, &taken, "d0/f3"),
        b"edited",
        "the bytes on the disk"
    );
}

#[test]
fn a_conflict_has_no_stage_to_take() {
    let world = repository();
    world.run_git(&["checkout", "-qb", "other", "HEAD~1"]);
    world.write("d0/f0", "theirs\n");
    world.run_git(&["commit", "-qam", "theirs"]);
    world.run_git(&["checkout", "-q", "main"]);
    world.write("d0/f0", "ours!!\n");
    world.run_git(&["commit", "-qam", "ours"]);
    let merge = world
        .git_command(&world.root)
        .args(["merge", "-q", "other"])
        .output()
        .unwrap();
    assert!(!merge.status.success(), "it conflicts");
    settle(&world);
    let (seeded, taken) = agrees(&world, "a conflict");
    assert!(
        content(&seeded, &taken, "d0/f0").starts_with(b"<<<<<<<"),
        "the file with its markers"
    );
}

/// Conversions give blobs that are not the files bytes.
#[test]
fn conversions_blobs_are_not_the_bytes() {
    let world = CapturedWorkspace::git();
    fs::write(
        world.home.join(".gitconfig"),
        "[core]\n\tattributesFile = ~/mine\n[filter \"upper\"]\n\tclean = tr a-z A-Z\n\tsmudge = cat\n\trequired = true\n",
    )
    .unwrap();
    fs::write(world.home.join("mine"), "*.mine filter=upper\n").unwrap();
    world.write(".git/info/attributes", "*.info filter=upper\n");
    world.write(
        ".gitattributes",
        "*.txt text=auto\n*.id ident\n*.own filter=upper\n*.w working-tree-encoding=UTF-16LE\n",
    );
    world.write(
        "sub/.gitattributes",
        "*.sub filter=upper\n[attr]x filter=upper\n",
    );
    // Filters that keep the size are the ones that sizes cannot tell.
    let files: [(&str, &[u8]); 7] = [
        ("a.txt", b"one\r\ntwo\r\n"),
        ("b.id", b"$Id: 0123456789 $\n"),
        ("c.own", b"same size\n"),
        ("d.mine", b"same size\n"),
        ("e.info", b"same size\n"),
        ("sub/f.sub", b"same size\n"),
        ("g.w", b"a\0b\0\n\0"),
    ];
    files
        .iter()
        .for_each(|(file, bytes)| world.write(file, bytes));
    world.run_git(&["add", "."]);
    world.run_git(&["commit", "-qm", "one"]);
    assert_eq!(
        world.run_git(&["cat-file", "blob", ":c.own"]),
        "SAME SIZE",
        "git's blob is another one"
    );
    settle(&world);
    let (seeded, taken) = agrees(&world, "conversions");
    for (file, bytes) in files {
        assert_eq!(content(&seeded, &taken, file), bytes, "`{file}` is raw");
    }
}

#[test]
fn line_endings_by_the_settings_of_git() {
    let world = CapturedWorkspace::git();
    world.run_git(&["config", "core.autocrlf", "true"]);
    world.write("crlf", "one\r\ntwo\r\n");
    world.write("lf", "one\ntwo\n");
    world.run_git(&["add", "."]);
    world.run_git(&["commit", "-qm", "one"]);
    settle(&world);
    let (seeded, taken) = agrees(&world, "autocrlf");
    assert_eq!(content(&seeded, &taken, "crlf"), b"one\r\ntwo\r\n", "raw");
}

/// Objects that the user has not or not whole.
#[test]
fn missing_or_partial_objects_of_the_user() {
    let world = repository();
    settle(&world);
    for path in user_packs(&world) {
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    }
    let of = |extension: &str| {
        user_packs(&world)
            .into_iter()
            .find(|path| path.extension().is_some_and(|found| found == extension))
            .unwrap()
    };
    let (pack, index) = (of("pack"), of("idx"));
    let (pack_bytes, index_bytes) = (fs::read(&pack).unwrap(), fs::read(&index).unwrap());
    for length in [0, 11, 12, pack_bytes.len() / 2, pack_bytes.len() - 1] {
        fs::write(&pack, &pack_bytes[..length]).unwrap();
        agrees(&world, &format!("a pack of {length} bytes"));
    }
    fs::write(&pack, &pack_bytes).unwrap();
    for length in [0, 8, 1032, index_bytes.len() - 1] {
        fs::write(&index, &index_bytes[..length]).unwrap();
        agrees(&world, &format!("an index of {length} bytes"));
    }
    fs::write(&index, vec![0xff; index_bytes.len()]).unwrap();
    agrees(&world, "an index of nonsense");
    fs::remove_file(&pack).unwrap();
    fs::write(&index, &index_bytes).unwrap();
    agrees(&world, "an index without its pack");
    fs::remove_file(&index).unwrap();
    agrees(&world, "no objects");
}

/// A pack that lies costs a restore and never gives other bytes.
#[test]
fn lying_pack_never_gives_other_bytes() {
    let world = repository();
    settle(&world);
    let pack = user_packs(&world)
        .into_iter()
        .find(|path| path.extension().is_some_and(|found| found == "pack"))
        .unwrap();
    fs::set_permissions(&pack, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let bytes = fs::read(&pack).unwrap();
    for at in (12..bytes.len() - 20).step_by(97) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x55;
        fs::write(&pack, flipped).unwrap();
        let folder = world.store.join(format!("snapshots/flipped-{at}"));
        let taken = Snapshots::open(&folder)
            .unwrap()
            .take(&world.request())
            .unwrap();
        let fresh = Snapshots::open(&folder).unwrap();
        for (path, entry) in fresh.entries(&taken.snapshot).unwrap() {
            let Some(blob) = entry.blob.filter(|blob| *blob != ObjectId::EMPTY_TREE) else {
                continue;
            };
            let on_disk = fs::read(world.root.join(path.to_text())).unwrap();
            if let Ok(stored) = fresh.read_blob(blob) {
                assert_eq!(
                    stored,
                    on_disk,
                    "byte {at} flipped: `{}` is right or refused",
                    path.to_text()
                );
            }
        }
    }
}

#[test]
fn repositories_of_other_shapes() {
    let world = CapturedWorkspace::plain();
    world.run_git(&["init", "-q", "--object-format=sha256", "-b", "main"]);
    populate(&world);
    let linked = repository();
    linked.run_git(&["worktree", "add", "-q", "../linked"]);
    let shared = CapturedWorkspace::plain();
    let origin = repository();
    let from = origin.root.to_str().unwrap();
    shared.run_git(&["clone", "-q", "--shared", from, "."]);
    let deltas = repository();
    for round in 0..5 {
        deltas.write("d0/f0", format!("{round}\n").repeat(2000) + "end\n");
        deltas.run_git(&["commit", "-qam", "more"]);
    }
    deltas.run_git(&["repack", "-adfq", "--depth=50", "--write-midx"]);
    for world in [&world, &linked, &shared, &deltas] {
        settle(world);
    }
    agrees(&world, "sha256");
    agrees(&linked, "with a linked worktree");
    let mut inside = CapturedWorkspace::plain();
    inside.root = linked.root.parent().unwrap().join("linked");
    settle(&inside);
    agrees(&inside, "in a linked worktree");
    let (seeded, taken) = agrees(&shared, "objects of another repository");
    fs::rename(
        origin.root.join(".git/objects"),
        origin.home.join("objects"),
    )
    .unwrap();
    assert_eq!(damaged(&seeded, &taken), [], "which may go");
    agrees(&deltas, "deltas, and an index of many packs");
}

/// Packs of somebody else or behind a link are not linked.
#[test]
fn foreign_or_linked_packs_are_not_linked() {
    let world = repository();
    settle(&world);
    if !rustix::process::geteuid().is_root() {
        return testing::skip::skip("giving files away needs root");
    }
    for path in user_packs(&world) {
        std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
    }
    let (seeded, _) = agrees(&world, "of another user");
    assert_eq!(
        shared_inodes(&world, &seeded),
        0,
        "who could change them under us"
    );
    for path in user_packs(&world) {
        let elsewhere = world.home.join(path.file_name().unwrap());
        fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::chown(&elsewhere, Some(0), Some(0)).unwrap();
        symlink(&elsewhere, &path).unwrap();
    }
    let (seeded, _) = agrees(&world, "behind a link");
    assert_eq!(
        shared_inodes(&world, &seeded),
        0,
        "no link is followed, and none is taken over"
    );
}

/// How many of our packs' files are the user's.
fn shared_inodes(world: &CapturedWorkspace, seeded: &Snapshots) -> usize {
    let inode = |path: PathBuf| path.metadata().unwrap().ino();
    let theirs: Vec<_> = user_packs(world).into_iter().map(inode).collect();
    let Ok(ours) = fs::read_dir(seeded.repository().join("objects/pack")) else {
        return 0;
    };
    ours.filter(|entry| theirs.contains(&inode(entry.as_ref().unwrap().path())))
        .count()
}

#[test]
fn a_store_on_another_device() {
    in_namespace("seeding::a_store_on_another_device", |mount| {
        let world = repository();
        settle(&world);
        mount(&["-t", "tmpfs"], "none".as_ref(), &world.store);
        let (seeded, taken) = agrees(&world, "another device");
        fs::rename(world.root.join(".git/objects"), world.home.join("objects")).unwrap();
        assert_eq!(
            damaged(&seeded, &taken),
            [],
            "what cannot be linked is copied"
        );
    });
}
