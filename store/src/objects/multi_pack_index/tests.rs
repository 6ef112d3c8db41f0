//! What is written is what is read, and any bytes are an index or an error.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use proptest::prelude::*;

use super::encode::encode;
use super::*;

fn open(bytes: &[u8]) -> Result<MultiPackIndex> {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(bytes).expect("a temporary file");
    MultiPackIndex::open(file)
}

/// Valid names and locations: in order, without duplicates, of existing packs.
fn contents() -> impl Strategy<Value = (Vec<Vec<u8>>, Vec<ObjectLocation>)> {
    let names = proptest::collection::btree_set("[a-z]{1,9}\\.idx", 1..9);
    let offsets = prop_oneof![any::<u32>().prop_map(u64::from), any::<u64>()];
    let places = proptest::collection::btree_map(any::<[u8; 20]>(), (any::<u32>(), offsets), 0..40);
    (names, places).prop_map(|(names, places): (BTreeSet<String>, BTreeMap<_, _>)| {
        let count = u32::try_from(names.len()).expect("few");
        let place = |(id, (pack, offset))| ObjectLocation {
            id: ObjectId::new(id),
            pack: pack % count,
            offset,
        };
        (
            names.into_iter().map(String::into_bytes).collect(),
            places.into_iter().map(place).collect(),
        )
    })
}

proptest! {
    #[test]
    fn every_object_is_found_where_it_was_put((names, places) in contents(), absent in any::<[u8; 20]>()) {
        let index = open(&encode(&names, &places)).expect("our own");
        prop_assert!(index.is_sound());
        prop_assert_eq!(index.all().expect("sound"), places.clone());
        for place in &places {
            prop_assert_eq!(index.find(place.id).expect("sound"), Some(*place));
        }
        let mut wanted: Vec<_> = places.iter().map(|place| place.id).chain([ObjectId::new(absent)]).collect();
        wanted.sort_unstable();
        prop_assert_eq!(index.find_all(&wanted).expect("sound"), places);
        for (name, number) in names.iter().zip(0..) {
            prop_assert_eq!(index.name(number), Some(&name[..]));
            prop_assert_eq!(index.number(name), Some(number));
        }
        prop_assert_eq!(index.number(b"another.idx.of.ours"), None);
    }

    /// A damaged one is an error or unsound and never a panic.
    #[test]
    fn damaged_index_is_an_error_never_a_panic(
        (names, places) in contents(),
        at in any::<proptest::sample::Index>(),
        flip in 1..=255_u8,
        cut in any::<proptest::sample::Index>(),
    ) {
        let whole = encode(&names, &places);
        let mut flipped = whole.clone();
        flipped[at.index(whole.len())] ^= flip;
        for bytes in [&flipped[..], &whole[..cut.index(whole.len())]] {
            let Ok(index) = open(bytes) else { continue };
            prop_assert!(!index.is_sound());
            let _ = (index.all(), index.find_all(&[ObjectId::EMPTY_TREE]));
            for place in &places {
                if let Ok(Some(found)) = index.find(place.id) {
                    prop_assert!(found.pack < index.packs(), "it names a pack that is there");
                }
            }
        }
    }
}

/// Offsets beyond 32 bits stand in a table of their own.
#[test]
fn offsets_beyond_32_bits_have_a_table() {
    let place = |first, offset| ObjectLocation {
        id: ObjectId::new([first; 20]),
        pack: 0,
        offset,
    };
    let name = [b"pack-1.idx".to_vec()];
    for offsets in [[1, 2, 3 << 30], [1, 3 << 30, 5 << 40]] {
        let places = [
            place(1, offsets[0]),
            place(2, offsets[1]),
            place(3, offsets[2]),
        ];
        let index = open(&encode(&name, &places)).expect("our own");
        assert_eq!(
            index.all().expect("sound"),
            places,
            "3 GiB fits 32 bits, and not the 31 that are left beside a table"
        );
    }
}
