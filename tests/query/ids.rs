use std::cell::RefCell;

use ckpt_store::ErrorKind;
use ckpt_store::query::{DiffRequest, LogFilter};
use proptest::prelude::*;

use testing::rows::{RowStore, dump};

fn hostile_id() -> impl Strategy<Value = String> {
    let pieces = [
        "m", "s", "o", "last", "~", "'", "\"", "%", "_", "\0", "*", ";--", "\\", "é", "\n",
        "current",
    ];
    prop_oneof![
        prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..5)
            .prop_map(|pieces| pieces.concat()),
        prop::collection::vec(any::<char>(), 0..40).prop_map(String::from_iter),
        Just("'%_\0".repeat(1024)),
    ]
}

/// Any text as an id is found unknown or ambiguous and changes nothing.
#[test]
fn any_text_as_id_changes_nothing() {
    let world = RowStore::new();
    world.session("one", None, 10);
    world.session("other", None, 20);
    for id in ["m1", "m2"] {
        world.message(id, "one", "live");
    }
    let (cwd, directory) = (world.cwd(), world.directory(""));
    let before = dump(&directory);
    let world = RefCell::new(world);
    proptest!(ProptestConfig::with_cases(200), |(id in hostile_id())| {
        let mut world = world.borrow_mut();
        let filter = LogFilter { session: Some(id.clone()), ..LogFilter::default() };
        let request = DiffRequest { from: Some(id.clone()), to: Some("m1".to_owned()), ..DiffRequest::default() };
        let results = [
            world.store.show(&cwd, &id).map(drop),
            world.store.status(&cwd, Some(&id)).map(drop),
            world.store.log(&cwd, &filter).map(drop),
            world.store.diff(&cwd, &request).map(drop),
        ];
        for error in results.into_iter().filter_map(Result::err) {
            prop_assert!(matches!(error.kind, ErrorKind::Unknown | ErrorKind::Ambiguous | ErrorKind::Unavailable), "{}", error);
        }
    });
    assert_eq!(dump(&directory), before, "questions change no row");
}
