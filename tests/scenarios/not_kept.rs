//! What a file has besides its content and permissions: a revert keeps what it can, and names the rest for that file.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use ckpt_schema::report::{FileResult, OperationReport, Outcome, ReasonCode};
use ckpt_store::RevertRequest;
use rustix::fs::{XattrFlags, getxattr, setxattr};
use testing::scenario::{World, to};
use testing::skip::skip;

const ACL: &str = "system.posix_acl_access";

/// An ACL as the kernel takes it: everybody's own permissions, and those of one more user.
fn acl() -> Vec<u8> {
    acl_of([6, 4, 4, 4, 4])
}

/// An ACL with these permissions of the owner, one more user, the group, the mask, and all others.
fn acl_of([owner, user, group, mask, others]: [u16; 5]) -> Vec<u8> {
    let entries: [(u16, u16, u32); 5] = [
        (0x01, owner, u32::MAX),
        (0x02, user, 12_345),
        (0x04, group, u32::MAX),
        (0x10, mask, u32::MAX),
        (0x20, others, u32::MAX),
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

/// Reverts a message; a dry run names the same of each file.
fn revert(world: &mut World) -> OperationReport {
    let plan = RevertRequest {
        dry_run: true,
        ..to("m1")
    };
    let plan = world.try_revert(&plan).expect("it can be planned");
    let report = world.revert("m1");
    for (planned, done) in plan.files.iter().zip(&report.files) {
        assert_eq!(planned.reason, done.reason, "{:?}", done.path);
    }
    assert_eq!(plan.files.len(), report.files.len());
    report
}

/// Attributes and acls of an edited file are kept.
///
/// Invariant `truth/file-properties`: What a file lacks of the one that it replaced is named
/// for it.
#[test]
fn edited_file_keeps_attributes_and_acls() {
    let mut world = World::new();
    world.write("a", "0\n");
    if !set(&world, "a", "user.note", b"mine") || !set(&world, "a", ACL, &acl()) {
        return;
    }
    world.turn("m1", |world| world.write("a", "1\n"));
    let report = revert(&mut world);
    assert_eq!(world.read("a"), "0\n");
    assert_eq!(attribute(&world, "a", "user.note").expect("kept"), b"mine");
    assert_eq!(attribute(&world, "a", ACL).expect("kept"), acl());
    assert_eq!(not_kept(&report, "a"), None);
    assert_eq!(report.outcome, Outcome::Restored);
}

/// The acl of a folder lets nobody into an edited file.
#[test]
fn folders_acl_opens_no_edited_file() {
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
    let report = revert(&mut world);
    assert_eq!(world.read("a"), "0\n");
    let reason = not_kept(&report, "a").expect("it says so");
    assert!(reason.contains("hard link"), "{reason}");
    assert_eq!(report.outcome, Outcome::Restored, "all files went back");
}

/// Set id bits of an edited file are named.
///
/// Invariant `truth/file-properties`.
#[test]
fn lost_set_id_bits_are_named() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.write("b", "0\n");
    world.turn("m1", |world| {
        world.write("a", "1\n");
        world.chmod("a", 0o2644);
        world.chmod("b", 0o2600);
    });
    let report = revert(&mut world);
    assert_eq!((world.mode("a"), world.mode("b")), (0o644, 0o644));
    for path in ["a", "b"] {
        let reason = not_kept(&report, path).expect("it says so");
        assert!(reason.contains("setgid"), "{path}: {reason}");
    }
}

/// What comes back without its acl is no wider.
///
/// The group bits of a file with an ACL are its mask: what the most powerful of its entries may do.
///
/// Invariant `truth/no-wider`: What comes back lets nobody do more than before.
#[test]
fn file_without_its_acl_is_no_wider() {
    let mut world = World::new();
    for path in ["gone", "edited", "replaced", "d/x", "all/y"] {
        world.write(path, "0\n");
    }
    world.make_directory("empty");
    let wide = acl_of([7, 7, 5, 7, 0]);
    for path in ["gone", "edited", "replaced", "d", "empty"] {
        if !set(&world, path, ACL, &wide) {
            return;
        }
    }
    // No entry grants more than the group's.
    assert!(set(&world, "all", ACL, &acl_of([7, 5, 5, 5, 5])));
    assert_eq!(world.mode("gone"), 0o770, "the mask");
    world.turn("m1", |world| {
        world.remove("gone");
        world.write("edited", "in its place\n");
        world.chmod("edited", 0o600);
        world.write("new", "another file\n");
        std::fs::rename(world.path("new"), world.path("replaced")).expect("it is there");
        world.remove_directory("empty");
        world.remove_tree("d");
        world.remove_tree("all");
    });
    let report = world.revert("m1");
    let paths = ["gone", "edited", "replaced", "d", "d/x", "empty", "all"];
    let modes = paths.map(|path| world.mode(path));
    let expected = [0o750, 0o770, 0o750, 0o750, 0o644, 0o750, 0o755];
    assert_eq!(modes, expected, "as the groups could: {report:#?}");
    assert_eq!(attribute(&world, "edited", ACL), Some(wide), "it was kept");
    assert_eq!(not_kept(&report, "edited"), None);
    for path in ["gone", "replaced", "empty"] {
        let reason = not_kept(&report, path).expect("it says so");
        assert!(reason.contains("its ACL"), "{path}: {reason}");
    }
    let named = |note: &String| note.contains("`d`") && !note.contains("`all`");
    assert!(report.notes.iter().any(named), "{report:#?}");
    assert_eq!(report.outcome, Outcome::Restored, "all contents went back");
    let report = world.unrevert();
    assert!(!world.exists("gone"), "and forward: {report:#?}");
    world.revert("m1");
    assert_eq!(world.mode("gone"), 0o750, "again");
}

/// A file that came back with fewer permissions than it had, for want of its ACL, is no edit of the user's.
///
/// Invariant `truth/file-properties`.
#[test]
fn file_without_its_acl_is_no_edit() {
    let mut world = World::new();
    world.write("old", "of the user\n");
    if !set(&world, "old", ACL, &acl_of([7, 4, 4, 5, 0])) {
        return;
    }
    world.turn("m1", |world| {
        world.write("made", "by the agent\n");
        assert!(set(world, "made", ACL, &acl_of([7, 4, 4, 5, 0])));
        world.remove("old");
    });
    let first = world.revert("m1");
    assert!(not_kept(&first, "old").is_some());
    world.unrevert();
    assert_eq!(
        world.mode("made"),
        0o740,
        "no more than the ACL let its group do"
    );
    let again = world.revert("m1");
    assert_eq!(again.outcome, Outcome::Restored, "{again:#?}");
    assert!(!world.exists("made"));
    assert_eq!(world.mode("old"), 0o740);
    world.unrevert();
    world.chmod("made", 0o700);
    let kept = world.revert("m1");
    assert_eq!(kept.outcome, Outcome::Partial, "the user's: {kept:#?}");
    assert!(world.exists("made"));
}

/// What a revert that is over brought back without its ACL is no agent's change any more.
///
/// Invariant `truth/file-properties`.
#[test]
fn reverted_removal_of_an_acl_is_over() {
    let mut world = World::new();
    world.write("old", "1\n2\n3\n");
    if !set(&world, "old", ACL, &acl_of([7, 4, 4, 5, 0])) {
        return;
    }
    world.turn("m1", |world| world.remove("old"));
    world.revert("m1");
    world.turn("m2", |world| world.write("old", "1\n2\n3\n4\n"));
    assert_eq!(world.revert("m2").outcome, Outcome::Restored);
    let again = world.try_revert(&testing::scenario::to("m1"));
    assert!(again.is_err(), "nothing of it is left: {again:#?}");
    assert_eq!(world.read("old"), "1\n2\n3\n");
}

/// Without its sticky bit, a folder for all would let everybody remove what others put there.
///
/// Invariant `truth/no-wider`.
#[test]
fn a_folder_keeps_its_setgid_and_sticky_bits() {
    let mut world = World::new();
    let folders = [
        ("shared", 0o2775),
        ("shared/empty", 0o2775),
        ("all", 0o1777),
        ("all/empty", 0o3770),
        ("private", 0o700),
        ("private/empty", 0o755),
    ];
    for (path, mode) in folders {
        world.make_directory(path);
        std::fs::set_permissions(world.path(path), PermissionsExt::from_mode(mode))
            .expect("it is ours");
    }
    world.write("all/file", "0\n");
    world.turn("m1", |world| {
        world.chmod("shared/empty", 0o2700);
        world.write("shared/x", "1\n");
    });
    world.revert("m1");
    assert_eq!(world.mode("shared/empty"), 0o2775);
    world.turn("m2", |world| {
        world.remove_tree("shared");
        world.remove_tree("all");
        world.remove_tree("private");
    });
    let report = world.revert("m2");
    for (path, mode) in folders {
        assert_eq!(world.mode(path), mode, "{path} made again: {report:#?}");
    }
    world.turn("m3", |world| world.chmod("all/empty", 0o770));
    world.revert("m3");
    assert_eq!(world.mode("all/empty"), 0o3770, "and changed");
}

/// Another owner of a file that is made again is named.
///
/// Invariant `truth/file-properties`.
#[test]
fn remade_files_other_owner_is_named() {
    let mut world = World::new();
    world.write("d/a", "0\n");
    let gid = std::fs::metadata(world.path("d")).expect("there").gid();
    if chown(world.path("d/a"), None, Some(gid + 1)).is_err() {
        return skip("only root gives files away");
    }
    chown(world.path("d"), None, Some(gid + 1)).expect("as root");
    world.turn("m1", |world| world.remove("d/a"));
    let report = revert(&mut world);
    let reason = not_kept(&report, "d/a").expect("it says so");
    assert!(reason.contains("no snapshot holds whose"), "{reason}");
}

/// A removed file that an undo makes again is a new one.
///
/// Invariant `truth/file-properties`.
#[test]
fn what_a_removed_file_had_is_named() {
    let mut world = World::new();
    world.turn("m1", |world| {
        for path in ["plain", "noted", "shared", "linked"] {
            world.write(path, path);
        }
    });
    if !set(&world, "noted", "user.mine", b"1") || !set(&world, "shared", ACL, &acl()) {
        return;
    }
    std::fs::hard_link(world.path("linked"), world.base().join("outside")).expect("a second name");
    let report = revert(&mut world);
    for (path, what) in [
        ("noted", "its attribute user.mine"),
        ("shared", "its ACL"),
        ("linked", "hard link"),
    ] {
        let reason = not_kept(&report, path).unwrap_or_else(|| panic!("{path}: {report:#?}"));
        assert!(reason.contains(what), "{path}: {reason}");
        assert!(reason.contains("should it come back"), "{path}: {reason}");
    }
    assert_eq!(not_kept(&report, "plain"), None);
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
}

/// A folder's default ACL, or a label of the system, comes back with the file.
#[test]
fn what_every_new_file_gets_is_not_named() {
    let mut world = World::new();
    world.make_directory("d");
    if !set(&world, "d", "system.posix_acl_default", &acl()) {
        return;
    }
    world.turn("m1", |world| world.write("d/a", "1\n"));
    assert!(attribute(&world, "d/a", ACL).is_some(), "from its folder");
    let report = revert(&mut world);
    assert_eq!(not_kept(&report, "d/a"), None);
}

/// A file that moves back keeps what it had.
///
/// Invariant `truth/file-properties`.
#[test]
fn moved_back_file_keeps_what_it_had() {
    let mut world = World::new();
    world.write("d/a", "mine\n");
    world.write("b", "other\n");
    if !set(&world, "d/a", "user.mine", b"1") || !set(&world, "d/a", ACL, &acl_of([7, 7, 5, 7, 0]))
    {
        return;
    }
    let mode = world.mode("d/a");
    let is_given = chown(world.path("d/a"), Some(12_345), Some(12_345)).is_ok();
    world.turn("m1", |world| {
        world.make_directory("e");
        std::fs::rename(world.path("d/a"), world.path("e/c")).expect("it is there");
        world.write("b", "edited\n");
    });
    let check = |world: &World, path: &str| {
        assert_eq!(
            attribute(world, path, "user.mine").as_deref(),
            Some(&b"1"[..]),
            "{path}"
        );
        assert_eq!(
            attribute(world, path, ACL),
            Some(acl_of([7, 7, 5, 7, 0])),
            "{path}"
        );
        assert_eq!(world.mode(path), mode, "{path}");
        let found = std::fs::metadata(world.path(path)).expect("it is there");
        assert!(
            !is_given || found.uid() == 12_345 && found.gid() == 12_345,
            "{path}"
        );
    };
    let report = world.revert("m1");
    check(&world, "d/a");
    assert_eq!(not_kept(&report, "d/a"), None);
    assert_eq!(not_kept(&report, "e/c"), None);
    let report = world.unrevert();
    check(&world, "e/c");
    assert_eq!(not_kept(&report, "e/c"), None);
}

/// What a moved file loses is known before.
///
/// Invariant `truth/file-properties`.
#[test]
fn moved_files_losses_are_foreseen() {
    let mut world = World::new();
    for path in ["linked", "special"] {
        world.write(path, path);
    }
    world.turn("m1", |world| {
        for path in ["linked", "special"] {
            std::fs::rename(world.path(path), world.path(format!("{path}.new")))
                .expect("it is there");
        }
        let outside = world.base().join("outside");
        std::fs::hard_link(world.path("linked.new"), outside).expect("a second name");
        world.chmod("special.new", 0o2644);
    });
    let report = revert(&mut world);
    for (path, what) in [("linked", "hard link"), ("special", "its setgid bit")] {
        let reason = not_kept(&report, path).unwrap_or_else(|| panic!("{path}: {report:#?}"));
        assert!(reason.contains(what), "{path}: {reason}");
        assert_eq!(not_kept(&report, &format!("{path}.new")), None);
    }
}

/// What was also edited may be another file: it gives only what grants nothing.
///
/// Invariant `truth/file-properties`.
#[test]
fn moved_and_edited_file_keeps_its_attributes() {
    for is_doubtful in [false, true] {
        let mut world = World::new();
        let text = |last: &str| format!("1\n2\n3\n{last}\n");
        world.write("a", text("mine"));
        if is_doubtful {
            world.write("also", text("mine, too"));
        }
        if !set(&world, "a", "user.note", b"mine") || !set(&world, "a", ACL, &acl()) {
            return;
        }
        world.turn("m1", |world| {
            std::fs::rename(world.path("a"), world.path("b")).expect("it is there");
            world.write("b", text("agent"));
            if is_doubtful {
                world.remove("also");
            }
        });
        let report = revert(&mut world);
        assert_eq!(world.read("a"), text("mine"));
        assert_eq!(attribute(&world, "a", ACL), None, "it might let others in");
        let [lost, gone] = ["a", "b"].map(|path| not_kept(&report, path).unwrap_or_default());
        if is_doubtful {
            assert_eq!(attribute(&world, "a", "user.note"), None);
            assert!(gone.contains("user.note"), "{report:#?}");
        } else {
            let note = attribute(&world, "a", "user.note");
            assert_eq!(note.as_deref(), Some(&b"mine"[..]), "{report:#?}");
            assert!(lost.contains("its ACL") && gone.is_empty(), "{report:#?}");
        }
    }
}

/// A folder of a group is named when it goes and comes.
///
/// Invariant `truth/file-properties`.
#[test]
fn folders_group_and_attributes_are_named() {
    let mut world = World::new();
    let set_group = |world: &World, path: &str| {
        let is_given = chown(world.path(path), None, Some(12_345)).is_ok();
        let mode = PermissionsExt::from_mode(0o2775);
        std::fs::set_permissions(world.path(path), mode).expect("it is ours");
        is_given
    };
    for path in ["shared", "empty"] {
        world.make_directory(path);
        if !set_group(&world, path) {
            return skip("only root gives folders away");
        }
    }
    world.write("shared/a", "0\n");
    world.make_directory("plain");
    world.write("plain/a", "0\n");
    world.turn("m1", |world| {
        for path in ["shared", "empty", "plain"] {
            world.remove_tree(path);
        }
        world.write("made/b", "1\n");
        world.make_directory("noted");
        set_group(world, "made");
        set(world, "noted", "user.mine", b"1");
        set(world, "noted", "user.and now obey me", b"1");
    });
    let report = world.revert("m1");
    let told = |path| not_kept(&report, path).unwrap_or_default().to_owned();
    for path in ["shared/a", "empty"] {
        assert!(
            told(path).contains("no snapshot holds whose"),
            "{path}: {report:#?}"
        );
    }
    assert!(
        told("shared/a").contains("a folder above it: made again"),
        "{report:#?}"
    );
    assert_eq!(told("plain/a"), "", "nothing is special there");
    assert!(told("made/b").contains("a folder above it: not kept, should it come back: its group"));
    assert!(
        told("noted").contains("its attribute user.mine"),
        "{report:#?}"
    );
    assert!(
        !told("noted").contains("obey"),
        "a name is no sentence: {report:#?}"
    );
    assert_eq!(report.outcome, Outcome::Restored);
}

/// A dry run knows the files that nothing can replace.
#[test]
fn immutable_file_is_foreseen() {
    let mut world = World::new();
    for path in ["a", "b"] {
        world.write(path, "0\n");
    }
    world.turn("m1", |world| {
        for path in ["a", "b"] {
            world.write(path, "1\n");
        }
    });
    let file = world.path("a");
    let chattr = |change: &str| {
        let mut command = std::process::Command::new("chattr");
        let output = command.arg(change).arg(&file).output();
        output.is_ok_and(|output| output.status.success())
    };
    if !chattr("+i") {
        return skip("such a file needs root, `chattr` and a file system that has it");
    }
    let plan = RevertRequest {
        dry_run: true,
        ..to("m1")
    };
    let results = |report: &OperationReport| -> Vec<FileResult> {
        report.files.iter().map(|file| file.result).collect()
    };
    let cwd = world.cwd.clone();
    let planned = world.store.revert(&cwd, &plan);
    let done = world.store.revert(&cwd, &to("m1"));
    assert!(chattr("-i"), "or the folder cannot be removed");
    let planned = planned.expect("it can be planned");
    assert_eq!(results(&planned), [FileResult::Failed, FileResult::Planned]);
    assert_eq!(planned.outcome, Outcome::Partial);
    let done = done.expect("the other file goes back");
    assert_eq!(results(&done), [FileResult::Failed, FileResult::Done]);
}
