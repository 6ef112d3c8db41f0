//! How often packs are joined as they stand, and how seldom deltas are made; what is in them stays the same.

use std::collections::BTreeMap;

use testing::git;
use testing::scenario::{World, wait_ms};

const HOUR: i64 = 3_600_000;

/// A text of which each version has another line.
fn text(version: usize) -> String {
    let line = |line: usize| match line == version {
        true => format!("line {line} as version {version} has it\n"),
        false => format!("line {line}, as {} says\n", line * 7919 % 1009),
    };
    (0..400).map(line).collect()
}

/// Steps that edit the same file.
fn edits(world: &mut World, versions: std::ops::Range<usize>) {
    for version in versions {
        world.step(|world| world.write("a", text(version)));
    }
}

/// Asks git about the store.
fn asked(world: &World, arguments: &[&str]) -> Vec<u8> {
    let home = world.base().join("home");
    git::bytes(git::command(&world.repository(), &home).args(arguments))
}

/// How many entries of all packs git finds to be deltas.
fn deltas(world: &World) -> usize {
    let count = |pack: std::path::PathBuf| {
        let pack = pack.with_extension("idx");
        let listed = asked(world, &["verify-pack", "-v", pack.to_str().expect("plain")]);
        let listed = String::from_utf8_lossy(&listed).into_owned();
        // A delta is listed with its depth and its base.
        let is_delta = |line: &&str| {
            line.split_whitespace().count() == 7
                && line.split(' ').next().is_some_and(|id| id.len() == 40)
        };
        listed.lines().filter(is_delta).count()
    };
    world.packs().into_iter().map(count).sum()
}

/// Every blob and every tree, as git decodes it.
fn contents(world: &World) -> BTreeMap<String, Vec<u8>> {
    let all = asked(world, &["cat-file", "--batch-all-objects", "--batch"]);
    let mut rest = &all[..];
    let mut contents = BTreeMap::new();
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (head, body) = rest.split_at(end.expect("a line") + 1);
        let head = String::from_utf8_lossy(head).into_owned();
        let mut words = head.split_whitespace();
        let [Some(id), Some(kind), Some(size)] = [words.next(), words.next(), words.next()] else {
            panic!("an id, a kind and a size: {head}");
        };
        let size: usize = size.parse().expect("a number");
        if ["blob", "tree"].contains(&kind) {
            contents.insert(id.to_owned(), body[..size].to_vec());
        }
        rest = &body[size + 1..];
    }
    contents
}

#[track_caller]
fn assert_holds(world: &World, before: &BTreeMap<String, Vec<u8>>) {
    let now = contents(world);
    let is_same = |(id, bytes): (&String, &Vec<u8>)| now.get(id) == Some(bytes);
    assert!(before.iter().all(is_same), "every content is what it was");
}

/// Packs are joined as they stand whenever they are many and deltas are made once a day.
///
/// Invariant `agent/upkeep-waits`.
#[test]
fn packs_are_joined_and_deltas_made_daily() {
    let mut world = World::new();
    world.write("a", text(400));
    world.message("m1");
    edits(&mut world, 0..60);
    assert!(world.packs().len() > 48, "one a step");
    assert_eq!(deltas(&world), 0, "a hook makes none");
    let mut before = contents(&world);
    world.settle();
    assert_eq!(world.packs().len(), 1, "they are joined");
    assert_eq!(deltas(&world), 0, "as they stand");
    assert_holds(&world, &before);
    // Nearly a day later, with few packs and with many.
    wait_ms(23 * HOUR);
    edits(&mut world, 60..62);
    world.settle();
    assert!(world.packs().len() > 1, "a few stay as they are");
    edits(&mut world, 62..122);
    before = contents(&world);
    world.settle();
    assert_eq!(
        (world.packs().len(), deltas(&world)),
        (1, 0),
        "joined again"
    );
    assert_holds(&world, &before);
    // After the day.
    wait_ms(HOUR);
    world.settle();
    let made = deltas(&world);
    assert!(made > 100, "nearly every version is a delta: {made}");
    assert_eq!(world.packs().len(), 1, "in one pack");
    assert_holds(&world, &before);
    // The next day has not passed: what is new stays whole, and what is a delta is copied as one.
    edits(&mut world, 122..182);
    before = contents(&world);
    world.settle();
    assert_eq!((world.packs().len(), deltas(&world)), (1, made), "joined");
    assert_holds(&world, &before);
    wait_ms(24 * HOUR);
    world.settle();
    assert!(deltas(&world) > made + 50, "and now they are made");
    assert_holds(&world, &before);
    world.revert("m1");
    assert_eq!(
        world.read("a"),
        text(400),
        "deltas are read as what they are"
    );
    world.unrevert();
    assert_eq!(world.read("a"), text(181));
}
