//! What is written is what is read, and any bytes are an index or an error.

use std::collections::BTreeMap;
use std::io::Write;

use proptest::prelude::*;

use super::*;

fn open(bytes: &[u8]) -> Result<PackIndex> {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(bytes).expect("a temporary file");
    PackIndex::open(file)
}

proptest! {
    #[test]
    fn every_object_is_found_where_it_was_put(
        objects in proptest::collection::hash_map(any::<[u8; 20]>(), any::<u64>(), 0..40),
        absent in any::<[u8; 20]>(),
    ) {
        let objects: HashMap<_, _> = objects
            .into_iter()
            .map(|(id, offset)| (ObjectId::new(id), Indexed { offset, length: 1, crc: 0 }))
            .collect();
        let index = open(&encode(&objects, &[0; 20])).expect("our own");
        for (id, indexed) in &objects {
            prop_assert_eq!(index.find(id.as_bytes()).expect("sound"), Some(indexed.offset));
        }
        let mut wanted: Vec<_> = objects.keys().copied().chain([ObjectId::new(absent)]).collect();
        wanted.sort_unstable();
        let expected: Vec<_> =
            wanted.iter().filter_map(|id| Some((*id, objects.get(id)?.offset))).collect();
        prop_assert_eq!(index.offsets(&wanted).expect("sound"), expected);
        let all: BTreeMap<_, _> = objects.iter().map(|(id, indexed)| (*id, indexed.offset)).collect();
        prop_assert_eq!(index.entries().expect("sound"), Vec::from_iter(all));
        let absent = ObjectId::new(absent);
        prop_assert_eq!(index.find(absent.as_bytes()).expect("sound").is_some(), objects.contains_key(&absent));
    }

    #[test]
    fn any_bytes_are_an_index_or_an_error(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..3000),
        fanout in proptest::bool::ANY,
    ) {
        if fanout && bytes.len() > 1032 {
            bytes[..8].copy_from_slice(MAGIC);
            let count = u32::try_from(bytes.len().saturating_sub(1072) / 28).unwrap_or(0);
            bytes[8..1032].chunks_exact_mut(4).for_each(|chunk| chunk.copy_from_slice(&count.to_be_bytes()));
        }
        if let Ok(index) = open(&bytes) {
            let _ = index.find(ObjectId::EMPTY_TREE.as_bytes());
            let _ = (index.entries(), index.offsets(&[ObjectId::EMPTY_TREE]), index.pack_checksum());
        }
    }
}
