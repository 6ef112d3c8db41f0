//! Damaged and hostile objects are errors: no hang, no panic, no foreign bytes, no escape.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ckpt_store::model::entry::ObjectId;
use ckpt_store::snapshot::{Snapshot, Snapshots};

use testing::objects::{SnapshotFolder, path};

fn overwrite(file: &Path, bytes: &[u8]) {
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).expect("it is ours");
    fs::write(file, bytes).expect("it is ours");
}

/// Either the right bytes or an error, by every way.
fn check_honest(snapshots: &Snapshots, id: ObjectId, bytes: &[u8], what: &str) {
    if let Ok(read) = snapshots.read_blob(id) {
        assert!(read == bytes, "other bytes are given out after: {what}");
    }
    let mut copy = Vec::new();
    match snapshots.copy_blob(id, &mut copy) {
        Ok(_) => assert!(copy == bytes, "other bytes are written after: {what}"),
        Err(_) => assert!(
            copy.is_empty(),
            "bytes are written before they were checked after: {what}"
        ),
    }
    let _ = snapshots
        .check_blobs(&[id])
        .expect("the check itself succeeds");
}

/// A pack damaged anywhere gives the right bytes or an error.
///
/// Invariant `work/hostile-objects`: Nothing damaged or planted reaches the workspace: every
/// object is hashed first.
#[test]
fn damaged_pack_gives_right_bytes_or_an_error() {
    let world = SnapshotFolder::new();
    let text = b"a text of some length, a text of some length, and then something else".repeat(3);
    let id = world.blob(&text);
    for extension in ["pack", "idx"] {
        for file in world.files(extension) {
            let sound = fs::read(&file).expect("it is ours");
            for length in (0..sound.len()).step_by(sound.len() / 60 + 1) {
                overwrite(&file, &sound[..length]);
                check_honest(
                    &world.again(),
                    id,
                    &text,
                    &format!("{extension} cut at {length}"),
                );
                let zeroes = [&sound[..length], &vec![0; sound.len() - length]].concat();
                overwrite(&file, &zeroes);
                check_honest(
                    &world.again(),
                    id,
                    &text,
                    &format!("{extension} zeroed from {length}"),
                );
            }
            for at in 0..sound.len() {
                let mut flipped = sound.clone();
                flipped[at] ^= 1 << (at % 8);
                overwrite(&file, &flipped);
                check_honest(
                    &world.again(),
                    id,
                    &text,
                    &format!("{extension} flipped at {at}"),
                );
            }
            overwrite(&file, &sound);
        }
    }
    assert_eq!(
        world.again().read_blob(id).expect("sound again"),
        text,
        "the test left it as it was"
    );
}

#[test]
fn storing_damaged_bytes_again_heals_them() {
    let world = SnapshotFolder::new();
    let text = b"bytes that will be damaged and then come again";
    let id = world.blob(text);
    let index = world.files("idx").into_iter().find(|index| {
        String::from_utf8_lossy(&world.git(&["verify-pack", "-v", &index.to_string_lossy()], b""))
            .contains(&id.to_string())
    });
    let pack = index.expect("it is in a pack").with_extension("pack");
    let mut bytes = fs::read(&pack).expect("it is ours");
    bytes[20] ^= 0xff;
    overwrite(&pack, &bytes);
    assert!(world.again().read_blob(id).is_err(), "it is damaged");
    assert_eq!(
        world
            .again()
            .check_blobs(&[id])
            .expect("the check succeeds")
            .len(),
        1,
        "and reported"
    );
    assert_eq!(
        world
            .again()
            .write_blobs(&[text, b"more"])
            .expect("it can be stored")[0],
        id,
        "the same bytes"
    );
    assert_eq!(
        world.again().read_blob(id).expect("healed"),
        text,
        "the sound copy is found"
    );
    let mut copy = Vec::new();
    world.again().copy_blob(id, &mut copy).expect("healed");
    assert_eq!(copy, text, "by the other way, too");
}

#[test]
fn an_index_without_its_pack_holds_nothing() {
    let world = SnapshotFolder::new();
    let id = world.blob(b"gone");
    for pack in world.files("pack") {
        fs::remove_file(pack).expect("it is ours");
    }
    assert!(world.again().read_blob(id).is_err(), "there are no bytes");
    assert_eq!(
        world
            .again()
            .write_blobs(&[b"gone"])
            .expect("it can be stored"),
        [id],
        "it counts as not stored"
    );
    assert_eq!(
        world.again().read_blob(id).expect("stored again"),
        b"gone",
        "and is stored"
    );
}

fn tree_entry(mode: &str, name: &[u8], id: ObjectId) -> Vec<u8> {
    [mode.as_bytes(), b" ", name, b"\0", id.as_bytes()].concat()
}

fn refuses(world: &SnapshotFolder, tree: ObjectId, why: &str) {
    let hostile = Snapshot {
        tree,
        attributes: None,
        rules: None,
        seen: None,
    };
    let empty = Snapshot {
        tree: ObjectId::EMPTY_TREE,
        attributes: None,
        rules: None,
        seen: None,
    };
    let snapshots = world.again();
    assert!(snapshots.entries(&hostile).is_err(), "entries: {why}");
    assert!(
        snapshots.states(&hostile, &[path("some/file")]).is_err(),
        "states: {why}"
    );
    assert!(
        snapshots.difference(&empty, &hostile).is_err(),
        "difference to it: {why}"
    );
    assert!(
        snapshots.difference(&hostile, &empty).is_err(),
        "difference from it: {why}"
    );
}

/// Invariant `work/hostile-objects`.
#[test]
fn planted_trees_are_refused() {
    let world = SnapshotFolder::new();
    let blob = world.blob(b"hostile");
    let file = |name: &[u8]| tree_entry("100644", name, blob);
    let directory = world.raw_tree(&file(b"inside"));
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (file(b".git"), "`.git`"),
        (file(b".GIT"), "`.git` in capitals"),
        (file(b"git~1"), "its short name"),
        (
            file(".g\u{200c}it".as_bytes()),
            "its name with an ignored character",
        ),
        (file(b".."), "the parent"),
        (file(b"."), "itself"),
        (file(b""), "no name"),
        (file(b"a/b"), "a path"),
        (file(b"../../etc/x"), "a path out of it"),
        ([file(b"b"), file(b"a")].concat(), "out of order"),
        ([file(b"a"), file(b"a")].concat(), "twice"),
        (
            [file(b"a"), tree_entry("40000", b"a", directory)].concat(),
            "file and directory",
        ),
        (
            [
                file(b"a"),
                file(b"a-b"),
                tree_entry("40000", b"a", directory),
            ]
            .concat(),
            "the same, not side by side",
        ),
        (tree_entry("160000", b"sub", blob), "a submodule"),
        (tree_entry("100666", b"a", blob), "an odd mode"),
        (tree_entry("107777", b"a", blob), "all bits"),
        (
            tree_entry("040000", b"a", directory),
            "a mode with a leading zero",
        ),
        (
            tree_entry("100644", b"some", blob)[..20].to_vec(),
            "cut off",
        ),
        (b"100644".to_vec(), "without a name"),
    ];
    for (bytes, why) in cases {
        let tree = world.raw_tree(&bytes);
        refuses(&world, tree, why);
        let within = world.raw_tree(&tree_entry("40000", b"some", tree));
        refuses(&world, within, &format!("{why}, within a directory"));
    }
    refuses(&world, blob, "a blob for a tree");
    refuses(&world, ObjectId::new([3; 20]), "a tree that is not there");
}

#[test]
fn a_tree_that_unfolds_without_end_is_refused() {
    let world = SnapshotFolder::new();
    let mut tree = world.raw_tree(&tree_entry("100644", b"leaf", world.blob(b"x")));
    for _ in 0..24 {
        let names = [b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h"];
        tree = world.raw_tree(&names.map(|name| tree_entry("40000", name, tree)).concat());
    }
    let bomb = Snapshot {
        tree,
        attributes: None,
        rules: None,
        seen: None,
    };
    assert_eq!(
        world
            .again()
            .states(&bomb, &[path("a/b/c")])
            .expect("one path is found"),
        [None],
        "a directory"
    );
    assert!(
        world
            .again()
            .difference(&bomb, &bomb)
            .expect("nothing is read")
            .is_empty(),
        "equal ids are equal"
    );
}

/// An empty directory where a file is is refused.
#[test]
fn empty_directory_over_a_file_is_refused() {
    let world = SnapshotFolder::new();
    let snapshot = world.snapshot_with(&[("a", "text")], "e 755 a\0");
    assert!(
        world.again().entries(&snapshot).is_err(),
        "the attributes contradict the tree"
    );
}

#[test]
fn a_bomb_and_an_endless_chain_are_bounded() {
    let world = SnapshotFolder::new();
    // An object that says 2^60 bytes, and two deltas to each other.
    let huge = [vec![0xb0], vec![0x80; 7], vec![0x40]].concat();
    let (one, other) = (ObjectId::new([1; 20]), ObjectId::new([2; 20]));
    let delta = |base: ObjectId| {
        [
            &[0x73][..],
            base.as_bytes(),
            b"\x78\x9c\x63\x64\x64\x04\x00\x00\x09\x00\x04",
        ]
        .concat()
    };
    let entries = [
        (one, delta(other)),
        (other, delta(one)),
        (ObjectId::new([3; 20]), huge),
    ];
    plant(&world, &entries);
    for (id, _) in &entries {
        let snapshots = world.again();
        assert!(snapshots.read_blob(*id).is_err(), "{id} is refused");
        assert!(
            snapshots.copy_blob(*id, &mut Vec::new()).is_err(),
            "{id} is not written"
        );
        assert_eq!(
            snapshots
                .check_blobs(&[*id])
                .expect("the check succeeds")
                .len(),
            1,
            "{id} is reported"
        );
    }
}

/// Writes a pack and its index with these ids and entries, sound or not; the ids are in order.
fn plant(world: &SnapshotFolder, entries: &[(ObjectId, Vec<u8>)]) {
    let mut pack = b"PACK\0\0\0\x02\0\0\0\0".to_vec();
    let mut index = b"\xfftOc\0\0\0\x02".to_vec();
    for first in 0..=255 {
        let count = entries
            .iter()
            .filter(|(id, _)| id.as_bytes()[0] <= first)
            .count();
        index.extend(u32::try_from(count).expect("few").to_be_bytes());
    }
    entries
        .iter()
        .for_each(|(id, _)| index.extend(id.as_bytes()));
    index.extend(vec![0; 4 * entries.len()]);
    for (_, entry) in entries {
        index.extend(u32::try_from(pack.len()).expect("small").to_be_bytes());
        pack.extend(entry);
    }
    pack.extend([0; 20]);
    index.extend([0; 40]);
    fs::write(world.packs().join("pack-planted.pack"), pack).expect("it is ours");
    fs::write(world.packs().join("pack-planted.idx"), index).expect("it is ours");
}
