//! Folders that look like a repository's own and are not.

use ckpt_schema::report::Outcome;

use testing::scenario::World;

/// Tracked files that look like a repository come back.
///
/// A clone does not choose what is left out of a snapshot: what git tracks are files, whatever they look like.
#[test]
fn tracked_repository_look_alikes_come_back() {
    let mut world = World::git(&[]);
    for (path, text) in [
        ("app/HEAD", "ref: refs/heads/main\n"),
        ("app/objects/model", "0\n"),
        ("app/refs/keep", "0\n"),
        ("app/hooks/use", "0\n"),
        ("app/config", "0\n"),
    ] {
        world.write(path, text);
    }
    world.run_git(&["add", "--all"]);
    let before = world.tree();
    world.turn("m1", |world| {
        world.write("app/config", "1\n");
        world.remove("app/hooks/use");
        world.remove("app/objects/model");
    });
    world.turn("m2", |world| world.write("app/other", "1\n"));
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
    assert_eq!(world.tree(), before);
}
