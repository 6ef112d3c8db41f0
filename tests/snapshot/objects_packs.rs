//! What is written is what git reads, and the other way round.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use ckpt_store::error::ErrorKind;
use ckpt_store::model::entry::ObjectId;

use testing::objects::{SnapshotFolder, listing, object_id};

#[test]
fn git_finds_nothing_wrong_and_reads_every_blob() {
    let world = SnapshotFolder::new();
    let noise: Vec<u8> = (0..200_000_u32)
        .flat_map(|number| (number.wrapping_mul(2_654_435_761)).to_le_bytes())
        .collect();
    let contents: Vec<Vec<u8>> = vec![
        b"".into(),
        b"a".into(),
        vec![0; 15],
        vec![1; 16],
        vec![7; 1 << 20],
        noise,
    ];
    let slices: Vec<_> = contents.iter().map(Vec::as_slice).collect();
    let ids = world
        .snapshots
        .write_blobs(&slices)
        .expect("they can be stored");
    for (id, bytes) in ids.iter().zip(&contents) {
        assert_eq!(
            &world.git(&["cat-file", "blob", &id.to_string()], b""),
            bytes,
            "git reads what was stored"
        );
        assert_eq!(
            &world.snapshots.read_blob(*id).expect("stored"),
            bytes,
            "and so does the reader"
        );
        let mut copy = Vec::new();
        assert_eq!(
            world.snapshots.copy_blob(*id, &mut copy).expect("stored"),
            bytes.len() as u64,
            "its size"
        );
        assert_eq!(&copy, bytes, "the same bytes by the other way");
    }
    for index in world.files("idx") {
        world.git(&["verify-pack", &index.to_string_lossy()], b"");
        world.git(
            &[
                "index-pack",
                "--strict",
                "--verify",
                &index.with_extension("pack").to_string_lossy(),
            ],
            b"",
        );
    }
    assert_eq!(world.fsck(), "", "git fsck is clean");
}

#[test]
fn what_is_stored_is_not_stored_again() {
    let world = SnapshotFolder::new();
    let ids = world
        .snapshots
        .write_blobs(&[b"one", b"two", b"one"])
        .expect("they can be stored");
    assert_eq!(ids[0], ids[2], "equal bytes are one object");
    let packs = world.files("pack");
    assert_eq!(
        world
            .snapshots
            .write_blobs(&[b"two", b"one"])
            .expect("stored"),
        [ids[1], ids[0]],
        "the same ids"
    );
    assert_eq!(
        world.again().write_blobs(&[b"two"]).expect("stored"),
        [ids[1]],
        "from another process, too"
    );
    assert_eq!(world.files("pack"), packs, "no pack was added");
    world
        .snapshots
        .write_blobs(&[])
        .expect("nothing can be stored");
    assert_eq!(world.files("pack"), packs, "nor of nothing");
}

/// Packs are private and read only and nothing else is left.
#[test]
fn packs_are_private_and_read_only() {
    let world = SnapshotFolder::new();
    world.blob(b"some bytes");
    for file in fs::read_dir(world.packs())
        .expect("the packs' directory")
        .map(|entry| entry.expect("an entry"))
    {
        let name = file.file_name().to_string_lossy().into_owned();
        assert!(name.starts_with("pack-"), "`{name}` is no temporary file");
        assert_eq!(
            file.metadata().expect("it is there").permissions().mode() & 0o777,
            0o400,
            "`{name}` is read-only"
        );
    }
}

#[test]
fn deltas_are_read() {
    let world = SnapshotFolder::new();
    let mut text: Vec<u8> = (0..3000)
        .flat_map(|line| format!("line {line} of a text\n").into_bytes())
        .collect();
    let mut versions = Vec::new();
    for version in 0..60 {
        text.splice(
            version * 40..version * 40,
            format!("version {version}\n").into_bytes(),
        );
        versions.push(text.clone());
    }
    let ids: Vec<_> = versions.iter().map(|version| world.blob(version)).collect();
    let list: String = ids.iter().map(|id| format!("{id}\n")).collect();
    for options in [&["--delta-base-offset"][..], &[]] {
        let arguments = [
            &[
                "pack-objects",
                "-q",
                "--no-reuse-object",
                "--window=20",
                "--depth=50",
            ],
            options,
        ];
        let base = world
            .folder
            .path()
            .join("deltas")
            .to_string_lossy()
            .into_owned();
        let arguments = [&arguments.concat()[..], &[&base]].concat();
        let name = String::from_utf8(world.git(&arguments, list.as_bytes())).expect("hex");
        for file in world.files("pack").into_iter().chain(world.files("idx")) {
            fs::remove_file(file).expect("it is ours");
        }
        for extension in ["pack", "idx"] {
            let from = world
                .folder
                .path()
                .join(format!("deltas-{}.{extension}", name.trim()));
            fs::rename(
                from,
                world
                    .packs()
                    .join(format!("pack-{}.{extension}", name.trim())),
            )
            .expect("the same disk");
        }
        let pack = world.files("pack").remove(0);
        assert!(
            pack.metadata().expect("a pack").len() < 60_000,
            "sixty texts of 60 kB are deltas in it"
        );
        let snapshots = world.again();
        for (id, version) in ids.iter().zip(&versions) {
            assert_eq!(
                &snapshots.read_blob(*id).expect("a delta"),
                version,
                "{options:?}"
            );
        }
        assert_eq!(
            snapshots.check_blobs(&ids).expect("readable"),
            [],
            "all are sound"
        );
    }
}

#[test]
fn a_blob_that_is_not_there_is_unavailable() {
    let world = SnapshotFolder::new();
    let absent = ObjectId::new([7; 20]);
    let error = world
        .snapshots
        .read_blob(absent)
        .expect_err("it was never stored");
    assert_eq!(error.kind, ErrorKind::Unavailable, "{error}");
    let problems = world
        .snapshots
        .check_blobs(&[absent])
        .expect("the check itself succeeds");
    assert_eq!(problems.len(), 1, "it is reported");
    assert_eq!(problems[0].0, absent, "by its id");
}

#[test]
fn packs_that_others_add_are_seen() {
    let world = SnapshotFolder::new();
    let early = world.again();
    early
        .read_blob(world.blob(b"before"))
        .expect("it was there when the packs were listed");
    let late = world.blob(b"after");
    assert_eq!(
        early.read_blob(late).expect("the packs are listed again"),
        b"after",
        "the same bytes"
    );
}

#[test]
fn the_repository_is_healed() {
    let world = SnapshotFolder::new();
    let snapshot = world.snapshot(&[("a", "text")]);
    let repository = world.snapshots.repository();
    fs::write(repository.join("config"), "[core\n").expect("it is ours");
    fs::remove_file(repository.join("HEAD")).expect("it is ours");
    fs::remove_dir(repository.join("refs/heads")).expect("it is empty");
    fs::remove_dir(repository.join("refs")).ok();
    fs::write(repository.join("packed-refs"), "nonsense").expect("it is ours");
    world
        .again()
        .write_blobs(&[b"new"])
        .expect("it heals what holds nothing");
    assert_eq!(world.fsck(), "", "git is content");
    assert_eq!(
        world.git(&["show", &format!("{}:a", snapshot.tree)], b""),
        b"text",
        "and reads"
    );
}

#[test]
fn alternates_are_not_followed() {
    let (world, other) = (SnapshotFolder::new(), SnapshotFolder::new());
    let id = other.blob(b"of somebody else");
    let alternates = world.snapshots.repository().join("objects/info/alternates");
    let objects = other.snapshots.repository().join("objects");
    fs::write(&alternates, format!("{}\n", objects.display())).expect("it is ours");
    assert!(
        world.again().read_blob(id).is_err(),
        "objects of elsewhere are not ours"
    );
    world
        .again()
        .write_blobs(&[b"x"])
        .expect("it can be stored");
    assert!(!alternates.exists(), "nor does git follow them any more");
}

#[test]
fn loose_objects_are_not_looked_at() {
    let world = SnapshotFolder::new();
    let id = object_id(&world.git(&["hash-object", "-w", "--stdin"], b"loose"));
    assert!(world.again().read_blob(id).is_err(), "we never write any");
    assert_eq!(
        world
            .again()
            .write_blobs(&[b"loose"])
            .expect("it can be stored"),
        [id],
        "a pack is written"
    );
    assert_eq!(
        world.again().read_blob(id).expect("packed"),
        b"loose",
        "and read"
    );
}

/// What is no file among the packs is passed over.
#[test]
fn non_file_among_packs_is_skipped() {
    let world = SnapshotFolder::new();
    let id = world.blob(b"text");
    let packs = world.packs();
    for name in ["pack-1.idx", "pack-2.pack", "pack-3.idx", "pack-3.pack"] {
        rustix::fs::mkfifoat(rustix::fs::CWD, packs.join(name), rustix::fs::Mode::RUSR)
            .expect("a pipe");
    }
    std::os::unix::fs::symlink("/dev/zero", packs.join("pack-4.idx")).expect("a link");
    std::os::unix::fs::symlink("/dev/zero", packs.join("pack-4.pack")).expect("a link");
    assert_eq!(
        world.again().read_blob(id).expect("it is there"),
        b"text",
        "and nothing waits for the pipe"
    );
    assert!(
        world.again().read_blob(ObjectId::new([9; 20])).is_err(),
        "nor when all packs are asked"
    );
}

#[test]
fn a_tree_of_git_is_listed() {
    let world = SnapshotFolder::new();
    let files = [
        ("a", "1"),
        ("a-b", "2"),
        ("a.c", "+3"),
        ("d/e", "4"),
        ("d/f/g", "@target"),
        ("z", ""),
    ];
    let snapshot = world.snapshot(&files);
    let shown: Vec<_> = listing(&world.again(), &snapshot)
        .into_iter()
        .map(|(path, mode)| format!("{mode} {path}"))
        .collect();
    let expected = [
        "100644 a",
        "100644 a-b",
        "100755 a.c",
        "100644 d/e",
        "120000 d/f/g",
        "100644 z",
    ];
    assert_eq!(shown, expected, "every file with its mode");
}
