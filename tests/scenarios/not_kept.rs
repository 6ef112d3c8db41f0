//! What a file has besides its content and permissions: a revert keeps what it can, and names the rest for that file.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use ckpt_schema::report::{FileResult, OperationReport, Outcome, ReasonCode};
use rustix::fs::{XattrFlags, getxattr, setxattr};
use testing::scenario::World;
use testing::skip::skip;

const ACL: &str = "system.posix_acl_access";

/// An ACL as the kernel takes it: everybody's own permissions, and those of one more user.
fn acl() -> Vec<u8> {
    let entries: [(u16, u16, u32); 5] = [
        (0x01, 6, u32::MAX),
        (0x02, 4, 12_345),
        (0x04, 4, u32::MAX),
        (0x10, 4, u32::MAX),
        (0x20, 4, u32::MAX),
    ];
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(permissions.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

fn attribute(world: &World, path: &str, name: &str) -> Option<Vec<u8>> {
    let mut value = [0; 256];
    let length = getxattr(world.path(path), name, &mut value[..]).ok()?;
    Some(value[..length].to_vec())
}

/// Sets an attribute, or says that the test is skipped.
fn set(world: &World, path: &str, name: &str, value: &[u8]) -> bool {
    let set = setxattr(world.path(path), name, value, XattrFlags::empty());
    if let Err(error) = set {
        skip(&format!("no `{name}` can be set here: {error}"));
    }
    set.is_ok()
}

/// Why a file is not as it was, although it went back.
fn not_kept<'a>(report: &'a OperationReport, path: &str) -> Option<&'a str> {
    let file = report.files.iter().find(|file| file.path.path == path);
    let file = file.expect("it went back");
    assert_eq!(file.result, FileResult::Done, "{file:?}");
    assert_eq!(
        file.reason_code,
        file.reason.as_ref().map(|_| ReasonCode::NotKept)
    );
    file.reason.as_deref()
}

/// Invariant `truth/file-properties`: What a file lacks of the one that it replaced is named
/// for it.
#[test]
fn attributes_and_acls_of_an_edited_file_are_kept() {
    let mut world = World::new();
    world.write("a", "0\n");
    if !set(&world, "a", "user.note", b"mine") || !set(&world, "a", ACL, &acl()) {
        return;
    }
    world.turn("m1", |world| world.write("a", "1\n"));
    let report = world.revert("m1");
    assert_eq!(world.read("a"), "0\n");
    assert_eq!(attribute(&world, "a", "user.note").expect("kept"), b"mine");
    assert_eq!(attribute(&world, "a", ACL).expect("kept"), acl());
    assert_eq!(not_kept(&report, "a"), None);
    assert_eq!(report.outcome, Outcome::Restored);
}

#[test]
fn the_acl_of_a_folder_lets_nobody_into_an_edited_file() {
    let mut world = World::new();
    world.write("d/a", "0\n");
    world.chmod("d/a", 0o640);
    if !set(&world, "d", "system.posix_acl_default", &acl()) {
        return;
    }
    world.turn("m1", |world| world.write("d/a", "1\n"));
    world.revert("m1");
    assert_eq!(world.read("d/a"), "0\n");
    assert_eq!(attribute(&world, "d/a", ACL), None, "it had none");
}

/// Invariant `truth/file-properties`.
#[test]
fn other_names_of_an_edited_file_are_named() {
    let mut world = World::new();
    world.write("a", "0\n");
    std::fs::hard_link(world.path("a"), world.base().join("outside")).expect("a second name");
    world.turn("m1", |world| world.write("a", "1\n"));
    let report = world.revert("m1");
    assert_eq!(world.read("a"), "0\n");
    let reason = not_kept(&report, "a").expect("it says so");
    assert!(reason.contains("hard link"), "{reason}");
    assert_eq!(report.outcome, Outcome::Restored, "all files went back");
}

/// Invariant `truth/file-properties`.
#[test]
fn set_id_bits_of_an_edited_file_are_named() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.write("b", "0\n");
    world.turn("m1", |world| {
        world.write("a", "1\n");
        world.chmod("a", 0o2644);
        world.chmod("b", 0o2600);
    });
    let report = world.revert("m1");
    assert_eq!((world.mode("a"), world.mode("b")), (0o644, 0o644));
    for path in ["a", "b"] {
        let reason = not_kept(&report, path).expect("it says so");
        assert!(reason.contains("setgid"), "{path}: {reason}");
    }
}

#[test]
fn a_folder_keeps_its_setgid_bit() {
    let mut world = World::new();
    world.make_directory("shared");
    world.make_directory("shared/empty");
    let all = |path: &str, world: &World| {
        let found = std::fs::metadata(world.path(path)).expect("it is there");
        found.permissions().mode() & 0o7777
    };
    for path in ["shared", "shared/empty"] {
        std::fs::set_permissions(world.path(path), PermissionsExt::from_mode(0o2775))
            .expect("it is ours");
    }
    world.turn("m1", |world| {
        world.chmod("shared/empty", 0o2700);
        world.write("shared/x", "1\n");
    });
    world.revert("m1");
    assert_eq!(all("shared/empty", &world), 0o2775);
    world.turn("m2", |world| world.remove_directory("shared/empty"));
    world.revert("m2");
    assert_eq!(
        all("shared/empty", &world),
        0o2775,
        "made again in its parent"
    );
}

/// Invariant `truth/file-properties`.
#[test]
fn another_owner_of_a_file_that_is_made_again_is_named() {
    let mut world = World::new();
    world.write("d/a", "0\n");
    let gid = std::fs::metadata(world.path("d")).expect("there").gid();
    if chown(world.path("d/a"), None, Some(gid + 1)).is_err() {
        return skip("only root gives files away");
    }
    chown(world.path("d"), None, Some(gid + 1)).expect("as root");
    world.turn("m1", |world| world.remove("d/a"));
    let report = world.revert("m1");
    let reason = not_kept(&report, "d/a").expect("it says so");
    assert!(reason.contains("no snapshot holds whose"), "{reason}");
}
