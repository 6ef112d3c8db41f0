//! The parsers of foreign bytes, as functions of bytes: for the fuzzers in `fuzz/`, and for the tests here, which do
//! the same with a stable toolchain. Whatever the bytes are, each function returns soon.

use std::io::Write;
use std::path::Path;

use super::cache::{Cache, Extent};
use super::rules::Rules;
use crate::git::index;
use crate::model::entry::ObjectId;
use crate::model::path::PathKind;
use crate::objects::hash::SHA256;
use crate::objects::multi_pack_index::MultiPackIndex;
use crate::objects::pack::data::Data;
use crate::objects::pack::index::{self as pack_index, Indexed, PackIndex};
use crate::objects::pack::read::PackFile;
use crate::objects::tree;

/// Reads the bytes as the entries of a pack. The first bytes give their offsets.
pub fn pack(bytes: &[u8]) {
    let Some((count, rest)) = bytes.split_first() else {
        return;
    };
    let count = usize::from(count % 8);
    let Some((offsets, body)) = rest.split_at_checked(count * 2) else {
        return;
    };
    let offsets: Vec<u64> = offsets
        .as_chunks::<2>()
        .0
        .iter()
        .map(|offset| 12 + u64::from(u16::from_le_bytes(*offset)) % (body.len() as u64 + 1))
        .collect();
    let id = |number: usize| ObjectId::new([u8::try_from(number).unwrap_or_default(); 20]);
    let indexed = offsets.iter().enumerate().map(|(number, offset)| {
        let indexed = Indexed {
            offset: *offset,
            length: 1,
            crc: 0,
        };
        (id(number), indexed)
    });
    let Ok(folder) = scratch(&[
        (
            "x.pack",
            &[b"PACK\0\0\0\x02\0\0\0\x01", body, &[0; 20]].concat(),
        ),
        ("x.idx", &pack_index::encode(&indexed.collect(), &[0; 20])),
    ]) else {
        return;
    };
    let pack = PackFile::new(folder.path(), Path::new("x.pack"));
    for (number, offset) in offsets.into_iter().enumerate() {
        let _ = pack.find(id(number));
        let _ = pack.object(offset, id(number));
        let _ = pack.small_blob(offset, id(number), 1 << 20);
        let _ = pack.blob_size(offset);
        let _ = pack.check_blob(offset, id(number));
    }
    // Once more as a pack of the user's repository, with ids of the other length.
    let Ok(file) = std::fs::File::open(folder.path().join("x.pack")) else {
        return;
    };
    let data = Data::<SHA256>::new(&file, bytes.len() as u64);
    for offset in 12..bytes.len().min(64) as u64 {
        let found = data.entry(offset);
        let _ = found.and_then(|entry| entry.resolve(1 << 20, |id| Some(u64::from(id[0]))));
    }
}

/// Reads the bytes as a pack's index, a multi-pack-index and a tree.
pub fn indexes(bytes: &[u8]) {
    let Ok(folder) = scratch(&[("x", bytes)]) else {
        return;
    };
    let open = || std::fs::File::open(folder.path().join("x"));
    if let Ok(Ok(index)) = open().map(PackIndex::open) {
        let _ = (index.entries(), index.layout(), index.pack_checksum());
        let _ = (
            index.find(ObjectId::EMPTY_TREE.as_bytes()),
            index.id(0),
            index.crc(0),
        );
    }
    if let Ok(Ok(index)) = open().map(PackIndex::<SHA256>::open) {
        let _ = (index.find(&[0; SHA256]), index.pack_checksum());
    }
    if let Ok(Ok(index)) = open().map(MultiPackIndex::open) {
        let _ = (
            index.all(),
            index.find(ObjectId::EMPTY_TREE),
            index.is_sound(),
        );
    }
    let _ = tree::decode(bytes);
}

/// Reads the bytes as git's index, and as a split index over itself.
pub fn index(bytes: &[u8]) {
    for length in [20, 32] {
        let _ = index::parse(bytes, length);
        if let Some(meaning) = index::meaning(bytes, length) {
            let _ = index::join_split(&meaning, meaning.clone(), length);
        }
    }
}

/// Reads the bytes as both files of a stat cache, with correct checksums: a bug of ours could have written them.
pub fn cache(bytes: &[u8]) {
    let Some((at, rest)) = bytes.split_first() else {
        return;
    };
    let (whole, changes) = rest.split_at(rest.len() * usize::from(*at) / 256);
    let (whole, changes) = super::cache::seal(whole, changes);
    let Ok(folder) = scratch(&[("cache", &whole), ("cache.changes", &changes)]) else {
        return;
    };
    for extent in [Extent::Whole, Extent::Front] {
        if let Some(cache) = Cache::read(folder.path(), extent) {
            look_at(&cache);
        }
    }
}

fn look_at(cache: &Cache) {
    for number in 0..cache.len() {
        let Some(directory) = cache.directory(number) else {
            continue;
        };
        let _ = (
            directory.state(),
            directory.view(),
            directory.tree(),
            directory.rules(),
        );
        let _ = (directory.permissions(), directory.is_sure());
        let _ = directory.items().filter_map(|item| item.kind()).count();
        let _ = cache.listing(directory.path);
    }
    cache.load();
    let _ = (cache.find(b"a"), cache.first_from(b"a/"), cache.is_torn());
}

/// Takes the bytes as an ignore file and, after a zero byte, a path.
pub fn rules(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let (lines, path) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or(b"a/b"),
    );
    let _ = Rules::decode(bytes);
    let is_path =
        |path: &[u8]| !path.is_empty() && !path.split(|byte| *byte == b'/').any(<[u8]>::is_empty);
    if !is_path(path) {
        return;
    }
    let rules = Rules {
        info: lines.to_vec(),
        include: lines.to_vec(),
        kept: lines.to_vec(),
        ..Rules::default()
    };
    let matcher = rules.matcher(|directory| (!directory.is_empty()).then(|| lines.to_vec()));
    let _ = (
        matcher.shows(path, PathKind::File),
        matcher.is_ignored(path),
        matcher.undecided(),
    );
}

fn scratch(files: &[(&str, &[u8])]) -> std::io::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    for (name, bytes) in files {
        std::fs::File::create(folder.path().join(name))?.write_all(bytes)?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::objects::hash::ObjectKind;
    use crate::objects::pack::entry::{encode_delta_header, encode_header};

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).expect("to memory");
        encoder.finish().expect("to memory")
    }

    /// A whole object and a delta to it, whose base claims this size.
    fn delta(size: u64) -> Vec<u8> {
        let whole = [encode_header(ObjectKind::Blob, size), zlib(b"01234")].concat();
        let header = encode_delta_header(10, whole.len() as u64);
        let delta = zlib(&[5, 7, 0x91, 2, 3, 2, b'a', b'b', 0x90, 2]);
        let mut bytes = vec![2, 0, 0];
        bytes.extend_from_slice(&u16::try_from(whole.len()).expect("small").to_le_bytes());
        [bytes, whole, header, delta].concat()
    }

    /// A base that claims all of the memory is an error.
    #[test]
    fn huge_base_is_an_error() {
        for size in [u64::MAX, u64::MAX - 9, 1 << 63, 1 << 40, 5] {
            pack(&delta(size));
        }
    }

    /// A reader of others' bytes, and bytes that it understands.
    type Seed = (fn(&[u8]), Vec<u8>);

    /// What a fuzzer would begin with.
    fn seeds() -> Vec<Seed> {
        let git_index = [
            &b"DIRC\0\0\0\x02\0\0\0\x01"[..],
            &[0; 24],
            &0o100_644_u32.to_be_bytes(),
            &[0; 12],
            &[7; 20],
            b"\0\x01a\0\0\0\0\0\0\0\0\0",
            b"link\0\0\0\x14",
            &[9; 20],
            &[0; 20],
        ]
        .concat();
        let objects = [(
            ObjectId::EMPTY_TREE,
            Indexed {
                offset: 12,
                length: 9,
                crc: 0,
            },
        )];
        let packed = pack_index::encode(&objects.into_iter().collect(), &[1; 20]);
        vec![
            (pack, delta(5)),
            (indexes, packed),
            (index, git_index),
            (cache, super::super::cache::sample()),
            (rules, b"*.o\n!/a/**/b\n[a-c]?\\*x/\n\0a/x/b".to_vec()),
        ]
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "how long a test tries is no setting of the library"
    )]
    fn cases() -> u32 {
        let more = std::env::var("CKPT_FUZZ_CASES").ok();
        more.and_then(|more| more.parse().ok()).unwrap_or(100)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases()))]

        /// Invariant `work/hostile-sizes`: No input is trusted about its size: reading
        /// ends, whatever the bytes are.
        #[test]
        fn whatever_the_bytes_are_reading_them_ends(
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..6),
            noise in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            for (target, seed) in seeds() {
                target(&noise);
                let mut bytes = seed;
                for (at, byte, how) in &changes {
                    let at = at.index(bytes.len().max(1)).min(bytes.len().saturating_sub(1));
                    match how {
                        0 if !bytes.is_empty() => bytes[at] ^= byte,
                        1 => bytes.insert(at, *byte),
                        2 => bytes.truncate(at + 1),
                        _ if !bytes.is_empty() => drop(bytes.remove(at)),
                        _ => {}
                    }
                }
                target(&bytes);
            }
        }
    }
}
