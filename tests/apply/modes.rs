//! Permission bits, owners and times.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use ckpt_schema::report::FileResult;
use ckpt_store::revert::carry_out::apply::{Problem, preflight};

use crate::parts::{self, Part};
use testing::apply::{PlannedWorkspace, Thing, assert_done, file, path};

const MODES: [u32; 8] = [0o600, 0o644, 0o755, 0o4755, 0o444, 0o640, 0o000, 0o777];

#[test]
fn permissions_come_back_as_captured_under_any_umask() {
    for umask in [0o000, 0o022, 0o027, 0o077] {
        let world = PlannedWorkspace::new();
        parts::play(
            &Part::Umask(umask),
            world.outside.parent().expect("the world's folder"),
            None,
        );
    }
}

/// Runs in a process of its own: the umask belongs to the process.
pub fn under_umask(umask: u32, world: &mut PlannedWorkspace) {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(umask));
    for mode in MODES {
        let target = Thing::File(b"before\n".to_vec(), mode);
        world.plan(format!("new/{mode:o}"), &Thing::Nothing, &target);
        world.put_and_plan(format!("old-{mode:o}").as_str(), &file("agent\n"), &target);
        world.plan(
            format!("directory-{mode:o}"),
            &Thing::Nothing,
            &Thing::Directory(mode),
        );
    }
    assert_done(&world.apply());
    for item in &world.items {
        let mode = fs::metadata(world.on_disk(item.path.as_bytes()))
            .expect("there")
            .permissions()
            .mode();
        let wanted = item.target.expect("a target").mode.permissions();
        assert_eq!(
            mode & 0o7777,
            wanted,
            "{:?} under {umask:o}: exactly, and no set-id bit",
            item.path
        );
    }
    let made = fs::metadata(world.on_disk("new"))
        .expect("there")
        .permissions()
        .mode();
    assert_eq!(
        made & 0o7777,
        0o777 & !umask,
        "a directory on the way is made as any new one"
    );
}

#[test]
fn a_change_of_permissions_alone_keeps_the_file() {
    let mut world = PlannedWorkspace::new();
    world.put_and_plan(
        "x",
        &file("same\n"),
        &Thing::File(b"same\n".to_vec(), 0o755),
    );
    let before = fs::metadata(world.on_disk("x")).expect("there");
    assert_done(&world.apply());
    let after = fs::metadata(world.on_disk("x")).expect("there");
    assert_eq!(
        after.permissions().mode() & 0o7777,
        0o755,
        "it can be run again"
    );
    assert_eq!(
        (after.ino(), after.mtime_nsec()),
        (before.ino(), before.mtime_nsec()),
        "nothing was written"
    );
}

/// A file that comes back is newer than what it replaces.
#[test]
fn restored_file_is_newer_than_the_old() {
    let mut world = PlannedWorkspace::new();
    world.put_and_plan("x", &file("agent\n"), &file("before\n"));
    let agent = fs::metadata(world.on_disk("x"))
        .expect("there")
        .modified()
        .expect("a time");
    assert_done(&world.apply());
    let now = fs::metadata(world.on_disk("x"))
        .expect("there")
        .modified()
        .expect("a time");
    assert!(now >= agent, "so that builds notice");
}

#[test]
fn root_leaves_every_file_to_its_owner() {
    if !rustix::process::geteuid().is_root() {
        return testing::skip::skip("giving files away needs root");
    }
    let mut world = PlannedWorkspace::new();
    world.put_and_plan("x", &file("agent\n"), &file("before\n"));
    world.put_and_plan("d/y", &file("agent\n"), &testing::apply::link("before"));
    world.plan("d/new/z", &Thing::Nothing, &file("before\n"));
    world.put_and_plan("d/w", &file("agent\n"), &Thing::Directory(0o755));
    for name in ["x", "d", "d/y", "d/w"] {
        std::os::unix::fs::chown(world.on_disk(name), Some(65534), Some(65534)).expect("root may");
    }
    assert_done(&world.apply());
    for name in ["x", "d/y", "d/new", "d/new/z", "d/w"] {
        let metadata = fs::symlink_metadata(world.on_disk(name)).expect("there");
        assert_eq!(
            (metadata.uid(), metadata.gid()),
            (65534, 65534),
            "{name} belongs to the workspace's user"
        );
    }
}

/// A directory that may not be written to fails its files alone.
#[test]
fn unwritable_directory_fails_its_files_alone() {
    let world = PlannedWorkspace::on_the_disk();
    parts::play(
        &Part::ReadOnly,
        world.outside.parent().expect("the world's folder"),
        Some(65534),
    );
}

/// Runs as a user for whom permissions count.
pub fn in_a_read_only_directory(world: &mut PlannedWorkspace) {
    world.put_and_plan("closed/edited", &file("agent\n"), &file("before\n"));
    world.put_and_plan("closed/made", &file("agent\n"), &Thing::Nothing);
    world.plan("closed/gone", &Thing::Nothing, &file("before\n"));
    world.plan("closed/deep/gone", &Thing::Nothing, &file("before\n"));
    world.put_and_plan(
        "closed/mode",
        &file("same\n"),
        &Thing::File(b"same\n".to_vec(), 0o755),
    );
    world.put_and_plan("open", &file("agent\n"), &file("before\n"));
    fs::set_permissions(world.on_disk("closed"), fs::Permissions::from_mode(0o555)).expect("ours");
    let problems = preflight(&world.open(), &world.items, &[], &|_| Ok(1)).expect("asked");
    let is_closed = |problem: &Problem| matches!(problem, Problem::Closed(Some(path), _) if path.as_bytes() == b"closed");
    assert!(
        problems.len() == 1 && is_closed(&problems[0]),
        "known before the first write: {problems:?}"
    );
    let results: Vec<FileResult> = world.apply().iter().map(|done| done.result).collect();
    let (failed, done) = (FileResult::Failed, FileResult::Done);
    assert_eq!(
        results,
        [failed, failed, failed, failed, done, done],
        "permissions of a file of ours can be changed"
    );
    assert_eq!(
        fs::read(world.on_disk("closed/edited")).expect("a file"),
        b"agent\n",
        "as it was"
    );
    fs::set_permissions(world.on_disk("closed"), fs::Permissions::from_mode(0o755)).expect("ours");
    assert_done(&world.apply());
    assert_eq!(
        fs::read(world.on_disk("closed/deep/gone")).expect("a file"),
        b"before\n",
        "the next try ends it"
    );
}

/// A directory that takes no name is opened and closed again, also after a try that was killed in between.
#[test]
fn closed_directory_is_opened_and_closed() {
    for left in [0o555, 0o755] {
        let mut world = PlannedWorkspace::on_the_disk();
        world.put_and_plan("closed/edited", &file("agent\n"), &file("before\n"));
        world.put_and_plan("closed/made", &file("agent\n"), &Thing::Nothing);
        world.closed = [(path("closed"), 0o555)].into();
        let mode = |mode| fs::Permissions::from_mode(mode);
        fs::set_permissions(world.on_disk("closed"), mode(left)).expect("ours");
        assert_done(&world.apply());
        let now = fs::metadata(world.on_disk("closed")).expect("there").mode();
        assert_eq!(now & 0o7777, 0o555, "left with {left:o}");
        // A program changed it meanwhile: that stays.
        fs::set_permissions(world.on_disk("closed"), mode(0o700)).expect("ours");
        assert_done(&world.apply());
        let now = fs::metadata(world.on_disk("closed")).expect("there").mode();
        assert_eq!(now & 0o7777, 0o700);
    }
}

/// A file that may not be changed fails and stays whole.
#[test]
fn unchangeable_file_fails_and_stays_whole() {
    // Immutable, and open for appending only.
    for attribute in ["i", "a"] {
        let mut world = PlannedWorkspace::on_the_disk();
        world.put_and_plan("fixed", &file("agent\n"), &file("before\n"));
        world.put_and_plan("gone", &file("agent\n"), &Thing::Nothing);
        world.put_and_plan("other", &file("agent\n"), &file("before\n"));
        let chattr = |sign: &str| {
            let mut command = std::process::Command::new("chattr");
            let command = command
                .arg(format!("{sign}{attribute}"))
                .args([world.on_disk("fixed"), world.on_disk("gone")]);
            command.status().is_ok_and(|status| status.success())
        };
        if !chattr("+") {
            return testing::skip::skip(
                "such a file needs root, `chattr` and a file system that has it",
            );
        }
        let results: Vec<FileResult> = world.apply().iter().map(|done| done.result).collect();
        let whole = (
            fs::read(world.on_disk("fixed")),
            fs::read(world.on_disk("gone")),
            world.temporaries(),
        );
        assert!(chattr("-"), "or the folder cannot be removed");
        assert_eq!(
            results,
            [FileResult::Failed, FileResult::Failed, FileResult::Done],
            "{attribute}: the rest goes on"
        );
        assert_eq!(
            whole.0.expect("a file"),
            b"agent\n",
            "{attribute}: as it was"
        );
        assert_eq!(
            whole.1.expect("a file"),
            b"agent\n",
            "{attribute}: as it was"
        );
        assert_eq!(whole.2, [""; 0], "{attribute}: nothing is left");
        assert_done(&world.apply());
        assert_eq!(
            fs::read(world.on_disk("fixed")).expect("a file"),
            b"before\n",
            "{attribute}: the next try ends it"
        );
    }
}
