//! The harness itself.

use testing::binary::Sandbox;

#[test]
fn a_world_is_empty_and_its_own() {
    let world = Sandbox::new();
    assert!(world.tree().is_empty(), "nothing is in a fresh workspace");
    world.write("a/b", "text");
    assert_eq!(world.read("a/b"), b"text", "what is written is read");
    assert_eq!(world.tree().len(), 2, "the directory and the file");
    assert!(!world.store().exists(), "the store is the binary's to make");
}
