//! A store with many packs: their indexes are joined into one that git reads, too, and that nothing depends on.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use ckpt_store::model::entry::ObjectId;

use testing::objects::SnapshotFolder;

/// More packs than are left alone.
const MANY: usize = 100;

/// A world with many packs, each with one text.
fn many() -> (SnapshotFolder, Vec<(ObjectId, String)>) {
    let world = SnapshotFolder::new();
    let texts = (0..MANY).map(|number| format!("text {number}"));
    let texts = texts
        .map(|text| (world.blob(text.as_bytes()), text))
        .collect();
    (world, texts)
}

fn joint(world: &SnapshotFolder) -> PathBuf {
    world.packs().join("multi-pack-index")
}

fn check_all(world: &SnapshotFolder, texts: &[(ObjectId, String)], what: &str) {
    let snapshots = world.again();
    for (id, text) in texts {
        assert_eq!(
            snapshots.read_blob(*id).expect("it is stored"),
            text.as_bytes(),
            "{what}"
        );
        assert_eq!(
            snapshots.blob_size(*id).expect("it is stored"),
            text.len() as u64,
            "its size, {what}"
        );
    }
    let ids: Vec<_> = texts.iter().map(|(id, _)| *id).collect();
    assert_eq!(
        snapshots.check_blobs(&ids).expect("the check succeeds"),
        [],
        "{what}"
    );
    assert!(
        snapshots.read_blob(ObjectId::new([7; 20])).is_err(),
        "and nothing else, {what}"
    );
}

fn overwrite(world: &SnapshotFolder, bytes: &[u8]) {
    let new = world.folder.path().join("new");
    fs::write(&new, bytes).expect("it is ours");
    fs::rename(new, joint(world)).expect("it is ours");
}

/// The indexes of many packs are joined and git agrees.
#[test]
fn joined_indexes_agree_with_git() {
    let (world, texts) = many();
    check_all(&world, &texts, "with a multi-pack-index");
    world.git(&["multi-pack-index", "verify"], b"");
    assert_eq!(world.fsck(), "", "git fsck is clean");
    for (id, text) in &texts {
        assert_eq!(
            world.git(&["cat-file", "blob", &id.to_string()], b""),
            text.as_bytes(),
            "git finds it"
        );
    }
    let mode = joint(&world)
        .metadata()
        .expect("it was written")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o400, "it is as private as the packs");
    let names = fs::read_dir(world.packs())
        .expect("packs")
        .map(|entry| entry.expect("an entry").file_name());
    let left: Vec<_> = names
        .filter(|name| name.to_string_lossy().starts_with("tmp_"))
        .collect();
    assert!(left.is_empty(), "no temporary file is left: {left:?}");
}

#[test]
fn few_packs_are_left_alone() {
    let world = SnapshotFolder::new();
    for number in 0..12 {
        world.blob(format!("text {number}").as_bytes());
    }
    assert!(
        !joint(&world).exists(),
        "a dozen indexes are asked one by one"
    );
}

/// What the multi pack index does not name is found and it grows.
#[test]
fn unnamed_packs_are_found_beside_the_index() {
    let (world, mut texts) = many();
    let before = fs::read(joint(&world)).expect("it was written");
    for number in 0..MANY {
        let text = format!("later text {number}");
        texts.push((
            world
                .again()
                .write_blobs(&[text.as_bytes()])
                .expect("stored")[0],
            text,
        ));
    }
    assert_ne!(
        fs::read(joint(&world)).expect("it was written"),
        before,
        "the later ones are in it, too"
    );
    check_all(&world, &texts, "some alone, some joined, twice");
    world.git(&["multi-pack-index", "verify"], b"");
}

#[test]
fn a_multi_pack_index_of_git_is_read() {
    let world = SnapshotFolder::new();
    let texts: Vec<_> = (0..10)
        .map(|number| format!("text {number}"))
        .map(|text| (world.blob(text.as_bytes()), text))
        .collect();
    world.git(&["multi-pack-index", "write"], b"");
    for index in world.files("idx") {
        fs::remove_file(index).expect("it is ours");
    }
    let snapshots = world.again();
    for (id, text) in &texts {
        assert_eq!(
            snapshots.read_blob(*id).expect("it is named"),
            text.as_bytes(),
            "by that file alone"
        );
    }
}

#[test]
fn packs_that_vanished_are_passed_over() {
    let (world, texts) = many();
    let again = world.again();
    let copies: Vec<_> = texts[..40]
        .iter()
        .map(|(_, text)| [text.as_bytes(), b"!"].concat())
        .collect();
    let gone = world.files("pack").into_iter().take(30);
    gone.for_each(|pack| {
        fs::remove_file(pack.with_extension("idx")).expect("it is ours");
        fs::remove_file(pack).expect("it is ours");
    });
    let snapshots = world.again();
    let is_there = |id: ObjectId| snapshots.read_blob(id).is_ok();
    let left = texts.iter().filter(|(id, _)| is_there(*id)).count();
    assert!(
        (MANY - 30..=MANY - 29).contains(&left),
        "those of the other packs are found: {left}"
    );
    assert_eq!(
        texts
            .iter()
            .filter(|(id, _)| again.read_blob(*id).is_ok())
            .count(),
        left,
        "by who looked before, too"
    );
    for (id, text) in &texts {
        let stored = world
            .again()
            .write_blobs(&[text.as_bytes()])
            .expect("stored");
        assert_eq!(stored, [*id], "what went is stored again");
    }
    check_all(&world, &texts, "after some packs went and came again");
    for copy in copies {
        world.blob(&copy);
    }
    world.git(&["multi-pack-index", "verify"], b"");
}

/// Invariant `work/hostile-objects`.
#[test]
fn damaged_multi_pack_index_gives_right_bytes() {
    let (world, texts) = many();
    let sound = fs::read(joint(&world)).expect("it was written");
    for length in (0..sound.len()).step_by(sound.len() / 12 + 1) {
        overwrite(&world, &sound[..length]);
        check_all(&world, &texts, &format!("cut at {length}"));
        overwrite(
            &world,
            &[&sound[..length], &vec![0; sound.len() - length]].concat(),
        );
        check_all(&world, &texts, &format!("zeroed from {length}"));
    }
    for at in (0..sound.len()).step_by(sound.len() / 60 + 1).chain(0..100) {
        let mut flipped = sound.clone();
        flipped[at] ^= 1 << (at % 8);
        overwrite(&world, &flipped);
        check_all(&world, &texts, &format!("flipped at {at}"));
    }
}

/// What is no file in its place is passed over.
#[test]
fn non_file_for_the_index_is_skipped() {
    let (world, texts) = many();
    fs::remove_file(joint(&world)).expect("it is ours");
    rustix::fs::mkfifoat(rustix::fs::CWD, joint(&world), rustix::fs::Mode::RUSR).expect("a pipe");
    check_all(&world, &texts, "a pipe");
    fs::remove_file(joint(&world)).expect("it is ours");
    std::os::unix::fs::symlink("/dev/zero", joint(&world)).expect("a link");
    check_all(&world, &texts, "a link");
    world.blob(b"one more");
    world.git(&["multi-pack-index", "verify"], b"");
    assert!(
        joint(&world)
            .symlink_metadata()
            .expect("written anew")
            .is_file(),
        "and a file takes its place"
    );
}

#[test]
fn the_copy_that_was_stored_again_counts() {
    let (world, texts) = many();
    let (id, text) = &texts[3];
    let of_it = |index: &PathBuf| {
        let list = world.git(&["verify-pack", "-v", &index.to_string_lossy()], b"");
        String::from_utf8_lossy(&list).contains(&id.to_string())
    };
    let pack = world
        .files("idx")
        .into_iter()
        .find(of_it)
        .expect("it is in a pack")
        .with_extension("pack");
    let mut bytes = fs::read(&pack).expect("it is ours");
    bytes[14] ^= 0xff;
    fs::remove_file(&pack).expect("it is ours");
    fs::write(&pack, bytes).expect("it is ours");
    assert!(
        world.again().read_blob(*id).is_err(),
        "the only copy is damaged"
    );
    assert_eq!(
        world
            .again()
            .write_blobs(&[text.as_bytes(), b"more"])
            .expect("stored")[0],
        *id,
        "it comes again"
    );
    for number in 0..MANY {
        world.blob(format!("later {number}").as_bytes());
    }
    check_all(&world, &texts, "the newer copy is named");
}

#[test]
fn two_at_once_do_each_other_no_harm() {
    let world = SnapshotFolder::new();
    let store = |thread: usize| {
        let snapshots = world.again();
        let texts = (0..MANY).map(|number| format!("{thread} text {number}"));
        texts
            .map(|text| {
                (
                    snapshots.write_blobs(&[text.as_bytes()]).expect("stored")[0],
                    text,
                )
            })
            .collect::<Vec<_>>()
    };
    let texts = std::thread::scope(|scope| {
        let threads = [0, 1].map(|thread| scope.spawn(move || store(thread)));
        threads
            .map(|thread| thread.join().expect("it stores"))
            .concat()
    });
    check_all(&world, &texts, "of both");
    assert_eq!(world.fsck(), "", "git is content");
}
