//! Tests of writing packs, of streams above all, with the real git as judge.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use tempfile::TempDir;

use super::compress::{Effort, pack_object};
use super::index::PackIndex;
use super::read::PackFile;
use super::write::PackWriter;
use crate::model::entry::ObjectId;
use crate::objects::hash::{ObjectKind, blob_id};
use crate::objects::prepare;
use crate::objects::reader::{ObjectReader, Packs, StoredBytes};

fn repository() -> TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    prepare(directory.path()).expect("a fresh repository");
    directory
}

fn add(writer: &mut PackWriter, bytes: &[u8]) -> ObjectId {
    let id = blob_id(bytes);
    assert!(
        writer
            .add(pack_object(ObjectKind::Blob, id, bytes, Effort::Least))
            .expect("written"),
        "it is no collision"
    );
    id
}

fn names(repository: &Path) -> Vec<String> {
    let entries = fs::read_dir(repository.join("objects/pack")).expect("the packs");
    entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}

fn verify(repository: &Path) {
    for name in names(repository)
        .into_iter()
        .filter(|name| name.ends_with(".pack"))
    {
        let mut git = testing::git::command(repository, repository);
        git.args(["index-pack", "--strict", "--verify"]);
        testing::git::bytes(git.arg(format!("objects/pack/{name}")));
    }
}

#[test]
fn a_stream_is_stored_as_its_bytes_are() {
    let repository = repository();
    let large: Vec<u8> = (0..3_000_000_u32)
        .map(|number| (number / 7).to_le_bytes()[0])
        .collect();
    let mut writer = PackWriter::begin(repository.path()).expect("begun");
    let small = add(&mut writer, b"small");
    for bytes in [&large[..], b"", b"x"] {
        let id = writer
            .add_stream(bytes.len() as u64, &mut &*bytes)
            .expect("written");
        assert_eq!(id, Some(blob_id(bytes)), "git's id");
    }
    writer.finish().expect("finished");
    verify(repository.path());
    let reader = ObjectReader::open(repository.path()).expect("opened");
    assert_eq!(
        reader.blob(blob_id(&large)).expect("stored"),
        large,
        "the same bytes"
    );
    assert_eq!(
        reader.blob(small).expect("stored"),
        b"small",
        "and what came before it"
    );
}

#[test]
fn a_stream_that_ends_early_leaves_no_trace() {
    let repository = repository();
    let mut writer = PackWriter::begin(repository.path()).expect("begun");
    let before = add(&mut writer, b"before");
    let bytes = vec![3; 1_000_000];
    assert_eq!(
        writer
            .add_stream(1_000_001, &mut &bytes[..])
            .expect("no failure"),
        None,
        "a byte is missing"
    );
    let mut failing = (&bytes[..]).chain(Failing);
    assert!(
        writer.add_stream(2_000_000, &mut failing).is_err(),
        "the reader failed"
    );
    let after = add(&mut writer, b"after");
    writer.finish().expect("finished");
    verify(repository.path());
    let reader = ObjectReader::open(repository.path()).expect("opened");
    assert_eq!(
        reader.blob(before).expect("stored"),
        b"before",
        "it was there before"
    );
    assert_eq!(
        reader.blob(after).expect("stored"),
        b"after",
        "it came after"
    );
    assert!(!reader.has_all(vec![blob_id(&bytes)]), "nothing between");
}

struct Failing;

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is gone"))
    }
}

/// A stream that is there already is not stored twice.
#[test]
fn present_stream_is_not_stored_twice() {
    let repository = repository();
    let bytes = vec![5; 300_000];
    let mut writer = PackWriter::begin(repository.path()).expect("begun");
    let id = add(&mut writer, &bytes);
    for _ in 0..2 {
        let again = writer
            .add_stream(bytes.len() as u64, &mut &bytes[..])
            .expect("written");
        assert_eq!(
            again,
            Some(id),
            "compressed in another way, the same bytes all the same"
        );
    }
    writer.finish().expect("finished");
    verify(repository.path());
}

/// A stream that is stored is left out of the next pack.
#[test]
fn stored_stream_is_left_out_of_next_pack() {
    let repository = repository();
    let bytes = vec![5; 300_000];
    let mut first = PackWriter::begin(repository.path()).expect("begun");
    let id = first.add_stream(300_000, &mut &bytes[..]).expect("written");
    first.finish().expect("finished");
    let packs = names(repository.path());
    let reader = Arc::new(ObjectReader::open(repository.path()).expect("opened"));
    let mut second = PackWriter::begin(repository.path())
        .expect("begun")
        .knowing(reader);
    assert_eq!(
        second
            .add_stream(300_000, &mut &bytes[..])
            .expect("written"),
        id,
        "the same id"
    );
    second.finish().expect("finished");
    assert_eq!(
        names(repository.path()).len(),
        packs.len(),
        "and no second copy"
    );
}

/// Another object of the same id is told apart.
#[test]
fn another_object_of_one_id_is_distinct() {
    let repository = repository();
    let mut writer = PackWriter::begin(repository.path()).expect("begun");
    let id = add(&mut writer, b"first");
    let second = pack_object(ObjectKind::Blob, id, b"other", Effort::Least);
    assert!(
        !writer.add(second).expect("read back"),
        "it cannot stand beside the first"
    );
    assert!(
        writer
            .add(pack_object(ObjectKind::Blob, id, b"first", Effort::Least))
            .expect("read back"),
        "the first is there"
    );
    writer.finish().expect("finished");
    let reader = ObjectReader::open(repository.path()).expect("opened");
    assert_eq!(
        reader.holds(ObjectKind::Blob, id, b"first"),
        StoredBytes::Yes,
        "stored"
    );
    assert_eq!(
        reader.holds(ObjectKind::Blob, id, b"other"),
        StoredBytes::Collision,
        "other bytes, the same id"
    );
    assert_eq!(
        reader.holds(ObjectKind::Blob, blob_id(b"x"), b"x"),
        StoredBytes::No,
        "never stored"
    );
    for (bytes, held) in [
        (&b"first"[..], StoredBytes::Yes),
        (b"fir", StoredBytes::Collision),
        (b"first and more", StoredBytes::Collision),
    ] {
        assert_eq!(
            reader.holds_stream(id, &mut &*bytes).expect("readable"),
            held,
            "by pieces, too"
        );
    }
    assert!(
        reader.holds_stream(id, &mut Failing).is_err(),
        "the reader's failure is not an answer"
    );
}

#[test]
fn a_pack_that_is_not_finished_leaves_nothing() {
    let repository = repository();
    drop(PackWriter::begin(repository.path()).expect("begun"));
    let mut writer = PackWriter::begin(repository.path()).expect("begun");
    add(&mut writer, b"text");
    drop(writer);
    PackWriter::begin(repository.path())
        .expect("begun")
        .finish()
        .expect("finished");
    assert_eq!(
        names(repository.path()),
        [""; 0],
        "neither a pack nor a temporary file"
    );
}

/// Bytes that nothing makes shorter.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state.to_be_bytes()[0]
    };
    (0..length).map(|_| random()).collect()
}

/// Returns how long the only pack is.
fn length_of_pack(repository: &Path) -> u64 {
    let pack = names(repository)
        .into_iter()
        .find(|name| name.ends_with(".pack"))
        .expect("a pack");
    fs::metadata(repository.join("objects/pack").join(pack))
        .expect("a pack")
        .len()
}

/// What does not compress is stored as it is.
#[test]
fn incompressible_bytes_are_stored_as_they_are() {
    let noise = noise(200_000);
    let id = blob_id(&noise);
    let repository = repository();
    let mut writer = PackWriter::begin(repository.path()).expect("begun");
    assert!(
        writer
            .add(pack_object(ObjectKind::Blob, id, &noise, Effort::Least))
            .expect("written"),
        "it is the first"
    );
    writer.finish().expect("finished");
    verify(repository.path());
    let length = length_of_pack(repository.path());
    assert!(
        length < 200_000 + 100,
        "it costs a few bytes more, not a percent: {length}"
    );
}

/// A stream is compressed only where a sample is.
#[test]
fn stream_is_compressed_if_a_sample_is() {
    let (noise, text) = (noise(3_000_000), b"all work and no play\n".repeat(150_000));
    for (bytes, most, what) in [
        (&noise, noise.len() + noise.len() / 500, "as it is"),
        (&text, text.len() / 50, "text"),
    ] {
        let repository = repository();
        let mut writer = PackWriter::begin(repository.path()).expect("begun");
        let id = writer
            .add_stream(bytes.len() as u64, &mut &bytes[..])
            .expect("written");
        assert_eq!(id, Some(blob_id(bytes)), "its id is git's");
        writer.finish().expect("finished");
        verify(repository.path());
        let length = length_of_pack(repository.path());
        assert!(
            length < most as u64,
            "{what}: {length} for {} bytes",
            bytes.len()
        );
    }
}

/// What is there is told for all ids at once.
#[test]
fn presence_of_all_ids_is_told_at_once() {
    let repository = repository();
    let store = |number: u32| {
        let mut writer = PackWriter::begin(repository.path()).expect("begun");
        let id = add(&mut writer, &number.to_be_bytes());
        writer
            .finish()
            .expect("finished")
            .expect("something was added");
        id
    };
    let reader = ObjectReader::open(repository.path()).expect("opened");
    let mut ids: Vec<ObjectId> = Vec::new();
    for number in 0..150 {
        ids.insert(0, store(number));
        reader.note_new_pack().expect("listed");
        assert!(
            reader.has_all(ids.clone()),
            "in any order, joined or alone: {number}"
        );
    }
    assert!(
        repository
            .path()
            .join("objects/pack/multi-pack-index")
            .exists(),
        "some of them are joined"
    );
    let doubled = [&ids[..], &ids[..]].concat();
    assert!(reader.has_all(doubled), "an id may come twice");
    ids.push(blob_id(b"never stored"));
    assert!(!reader.has_all(ids), "one that is missing is missed");
    assert!(reader.has_all(Vec::new()), "of nothing, nothing is missing");
}

/// What it takes to ask a store does not grow with its packs.
///
/// Invariant `agent/cost`.
#[test]
fn asking_a_store_ignores_its_number_of_packs() {
    let repository = repository();
    let mut ids = Vec::new();
    for number in 0..400_u32 {
        let mut writer = PackWriter::begin(repository.path()).expect("begun");
        ids.push(add(&mut writer, &number.to_be_bytes()));
        writer.finish().expect("finished").expect("it has one");
        // In a separate process, like every step.
        let reader = ObjectReader::open(repository.path()).expect("opened");
        reader.note_new_pack().expect("joined");
    }
    let packs = repository.path().join("objects/pack");
    let listed = Packs::list(&packs, &Packs::default());
    let listed = listed.expect("readable").expect("it was not known");
    assert!(listed.alone().len() <= 17, "{}", listed.alone().len());
    let joint = listed.joint().expect("most are joined");
    assert!(joint.packs() > 256, "{}", joint.packs());
    for id in &ids {
        assert_eq!(listed.likely(*id).count(), 1, "each is found, once");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_packed_is_read(
        contents in proptest::collection::vec((proptest::collection::vec(any::<u8>(), 0..200), 0..300_usize, any::<bool>()), 1..20),
    ) {
        let repository = repository();
        let mut writer = PackWriter::begin(repository.path()).expect("begun");
        let contents: Vec<_> = contents.into_iter().map(|(bytes, times, streamed)| (bytes.repeat(times), streamed)).collect();
        let mut ids = Vec::new();
        for (bytes, streamed) in &contents {
            ids.push(if *streamed {
                writer.add_stream(bytes.len() as u64, &mut &bytes[..]).expect("written").expect("whole")
            } else {
                add(&mut writer, bytes)
            });
        }
        writer.finish().expect("finished");
        verify(repository.path());
        let reader = ObjectReader::open(repository.path()).expect("opened");
        for (id, (bytes, _)) in ids.iter().zip(&contents) {
            prop_assert_eq!(&reader.blob(*id).expect("stored"), bytes);
        }
    }
}

/// The sizes of many blobs are those of each.
#[test]
fn sizes_of_many_blobs_are_right() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let git = |arguments: &[&str]| {
        let mut git = testing::git::command(directory.path(), directory.path());
        testing::git::bytes(git.args(arguments));
    };
    git(&["init", "--quiet", "."]);
    // Small ones close together, large ones far apart, and versions that git stores as deltas.
    for number in 0..400_usize {
        let lines = format!("line {number}\n").repeat(1 + number % 40);
        fs::write(directory.path().join(format!("small{number}")), lines).expect("writable");
    }
    for number in 0..6_u8 {
        let mut large = noise(70_000);
        large[0] = number;
        fs::write(directory.path().join(format!("large{number}")), large).expect("writable");
    }
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "x"]);
    git(&["repack", "-adq"]);
    let packs = directory.path().join(".git/objects/pack");
    let listed = fs::read_dir(&packs).expect("the packs").flatten();
    let mut names = listed.map(|entry| std::path::PathBuf::from(entry.file_name()));
    let name = names.find(|name| name.extension().is_some_and(|ending| ending == "pack"));
    let file = packs.join(name.expect("one pack"));
    let pack = PackFile::new(&packs, Path::new(file.file_name().expect("it has one")));
    let index = fs::File::open(file.with_extension("idx")).expect("its index");
    let index = PackIndex::open(index).expect("its index");
    let mut offsets: Vec<u64> = index
        .entries()
        .expect("all")
        .into_iter()
        .map(|(_, at)| at)
        .collect();
    offsets.sort_unstable();
    let end = fs::metadata(&file).expect("it is there").len();
    offsets.extend([end - 21, end - 20, end, u64::MAX]);
    let each: Vec<_> = offsets
        .iter()
        .map(|offset| pack.blob_size(*offset).ok())
        .collect();
    let sized = each.iter().filter(|size| size.is_some()).count();
    assert!(sized >= 406, "every blob has a size: {sized}");
    assert_eq!(pack.blob_sizes(&offsets).expect("readable"), each);
    let few: Vec<u64> = offsets.iter().step_by(50).copied().collect();
    let some: Vec<_> = each.iter().step_by(50).copied().collect();
    assert_eq!(pack.blob_sizes(&few).expect("readable"), some, "far apart");
}

/// A version that is not hashed is never wrong wherever its pack is damaged.
#[test]
fn unhashed_version_is_never_wrong() {
    let repository = repository();
    let contents = [&b"one version of a file"[..], b"another version of it"];
    let mut writer = PackWriter::begin(repository.path()).expect("begun");
    let ids = contents.map(|content| add(&mut writer, content));
    writer.finish().expect("finished");
    let version = |number: usize, limit| {
        let reader = ObjectReader::open(repository.path()).expect("opened");
        reader.version_up_to(ids[number], limit)
    };
    let replace = |file: &Path, bytes: &[u8]| {
        fs::remove_file(file).expect("ours");
        fs::write(file, bytes).expect("writable");
    };
    for number in [0, 1] {
        let sound = version(number, 21).expect("stored");
        assert_eq!(sound.as_deref(), Some(contents[number]), "as it was");
        let short = version(number, 20).expect("stored");
        assert_eq!(short, None, "it is longer than that");
    }
    for name in names(repository.path()) {
        let file = repository.path().join("objects/pack").join(&name);
        let sound = fs::read(&file).expect("readable");
        let mut damaged: Vec<Vec<u8>> = (0..sound.len())
            .map(|at| {
                let mut bytes = sound.clone();
                bytes[at] ^= 0x41;
                bytes
            })
            .collect();
        if name.ends_with(".idx") {
            // Each object's checksum and offset under the other one's id.
            let mut bytes = sound.clone();
            let checksums = 8 + 1024 + 2 * 20;
            bytes[checksums..checksums + 8].rotate_left(4);
            bytes[checksums + 8..checksums + 16].rotate_left(4);
            damaged.push(bytes);
        }
        for bytes in damaged {
            replace(&file, &bytes);
            for number in [0, 1] {
                let found = version(number, 1 << 20).ok().flatten();
                assert!(
                    found.is_none_or(|found| found == contents[number]),
                    "{name}: other bytes under its id"
                );
            }
        }
        replace(&file, &sound);
    }
}
