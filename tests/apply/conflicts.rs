//! What somebody changed since the plan was made is kept, byte for byte.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::atomic::{AtomicBool, Ordering};

use ckpt_schema::report::FileResult;
use ckpt_store::model::entry::ObjectId;
use ckpt_store::model::item::{Item, ItemOutcome};
use ckpt_store::revert::carry_out::apply::{Abilities, Work, apply};

use testing::apply::{PlannedWorkspace, Thing, assert_done, executable, file, link, path, ways};

/// What the plan expects, and what it wants instead.
fn plans() -> Vec<(Thing, Thing)> {
    vec![
        (file("agent\n"), file("before\n")),
        (file("agent\n"), Thing::Nothing),
        (file("agent\n"), link("before")),
        (file("agent\n"), Thing::Directory(0o755)),
        (file("agent\n"), executable("agent\n")),
        (link("agent"), file("before\n")),
        (link("agent"), Thing::Nothing),
        (Thing::Directory(0o755), Thing::Nothing),
        (Thing::Directory(0o755), file("before\n")),
        (Thing::Nothing, file("before\n")),
        (Thing::Nothing, link("before")),
        (Thing::Nothing, Thing::Directory(0o755)),
    ]
}

/// Whatever the user made of it since is kept.
///
/// Invariant `work/checked-before-touched`: A file is checked right before it is touched, and
/// left alone if it is not what the plan expects.
#[test]
fn users_later_version_is_kept() {
    let made = [
        file("the user's\n"),
        file(""),
        Thing::File(b"agent\n".to_vec(), 0o600),
        link("the user's"),
        Thing::Directory(0o711),
        Thing::Full,
        Thing::Pipe,
    ];
    for abilities in ways() {
        for (expected, target) in plans() {
            for user in &made {
                let mut world = PlannedWorkspace::new();
                world.put("d/x", user);
                world.plan("d/x", &expected, &target);
                let before = world.listing();
                let inode = fs::symlink_metadata(world.on_disk("d/x"))
                    .expect("there")
                    .ino();
                let results = world.apply_with(&world.open().with_abilities(abilities));
                let what = format!(
                    "{expected:?} to {target:?}, but there is {user:?}: {:?}",
                    results[0].reason
                );
                let is_there = *user == Thing::Full && target == Thing::Directory(0o755);
                let wanted = if is_there {
                    FileResult::Done
                } else {
                    FileResult::Conflict
                };
                assert_eq!(results[0].result, wanted, "{what}");
                assert_eq!(world.listing(), before, "{what}");
                let now = fs::symlink_metadata(world.on_disk("d/x"))
                    .expect("there")
                    .ino();
                assert_eq!(now, inode, "the same file: {what}");
            }
        }
    }
}

/// What the user deleted since is not brought back.
#[test]
fn users_deletion_is_not_undone() {
    for (expected, target) in plans()
        .into_iter()
        .filter(|(expected, _)| *expected != Thing::Nothing)
    {
        let mut world = PlannedWorkspace::new();
        world.plan("d/x", &expected, &target);
        let results = world.apply();
        let wanted = if target == Thing::Nothing {
            FileResult::Done
        } else {
            FileResult::Conflict
        };
        assert_eq!(
            results[0].result, wanted,
            "{expected:?} to {target:?}: {:?}",
            results[0].reason
        );
        assert_eq!(
            world.listing().len(),
            0,
            "nothing is made, no directory either"
        );
    }
}

/// Does something while the bytes of the target are being written: after the first check, before the exchange.
fn meddle(
    world: &PlannedWorkspace,
    abilities: Abilities,
    act: impl Fn() + Sync,
) -> Vec<ItemOutcome> {
    let once = AtomicBool::new(true);
    let contents = |blob: ObjectId, to: &mut dyn Write| {
        if once.swap(false, Ordering::Relaxed) {
            act();
        }
        world.copy_blob(blob, to)
    };
    apply(
        &world.open().with_abilities(abilities),
        &world.work(&contents),
    )
}

/// An edit between the check and the exchange is found in what came out.
///
/// Invariant `work/checked-before-touched`.
#[test]
fn edit_before_the_exchange_is_found_after() {
    for abilities in ways() {
        let mut world = PlannedWorkspace::new();
        world.put_and_plan("x", &file("agent\n"), &file("before\n"));
        let path = world.on_disk("x");
        let results = meddle(&world, abilities, || {
            fs::write(&path, "the user's\n").expect("an edit in place")
        });
        assert_eq!(
            results[0].result,
            FileResult::Conflict,
            "found: {:?}",
            results[0].reason
        );
        assert_eq!(
            fs::read(&path).expect("a file"),
            b"the user's\n",
            "and put back"
        );
        assert_eq!(world.temporaries(), [""; 0], "nothing is left");
    }
}

/// Something new between the check and the rename is not replaced.
#[test]
fn new_file_before_the_rename_is_not_replaced() {
    for abilities in ways() {
        for thing in [
            file("the user's\n"),
            link("x"),
            Thing::Directory(0o755),
            Thing::Full,
            Thing::Pipe,
        ] {
            let mut world = PlannedWorkspace::new();
            world.plan("x", &Thing::Nothing, &file("before\n"));
            let results = meddle(&world, abilities, || world.put("x", &thing));
            let wanted = PlannedWorkspace::new();
            wanted.put("x", &thing);
            assert_eq!(
                results[0].result,
                FileResult::Conflict,
                "{thing:?}: {:?}",
                results[0].reason
            );
            assert_eq!(
                world.listing(),
                wanted.listing(),
                "{thing:?} stands, and no temporary file"
            );
        }
    }
}

/// A file put into a directory meanwhile keeps the directory.
///
/// Invariant `work/no-recursion`.
#[test]
fn late_file_in_a_directory_keeps_it() {
    for abilities in ways() {
        let mut world = PlannedWorkspace::new();
        world.put_and_plan("x", &Thing::Directory(0o755), &file("before\n"));
        let results = meddle(&world, abilities, || {
            world.put("x/user", &file("the user's\n"))
        });
        assert_eq!(
            results[0].result,
            FileResult::Conflict,
            "not empty any more: {:?}",
            results[0].reason
        );
        assert!(
            world.on_disk("x/user").exists(),
            "the directory is there with its file"
        );
        assert_eq!(world.temporaries(), [""; 0], "nothing is left");
    }
}

/// A directory that is moved meanwhile is left clean.
#[test]
fn moved_directory_is_left_clean() {
    for abilities in ways() {
        let mut world = PlannedWorkspace::new();
        world.put_and_plan("d/x", &file("agent\n"), &file("before\n"));
        let move_it = || fs::rename(world.on_disk("d"), world.on_disk("e")).expect("a rename");
        let results = meddle(&world, abilities, move_it);
        assert_eq!(
            results[0].result,
            FileResult::Conflict,
            "{:?}",
            results[0].reason
        );
        assert_eq!(
            fs::read(world.on_disk("e/x")).expect("a file"),
            b"agent\n",
            "untouched"
        );
        assert_eq!(
            world.temporaries(),
            [""; 0],
            "and the temporary file was found where it went"
        );
    }
}

/// A hard link is broken and never written through.
#[test]
fn hard_link_is_broken_never_written_through() {
    let targets = [
        file("before\n"),
        executable("agent\n"),
        Thing::Nothing,
        link("before"),
    ];
    for target in targets {
        let mut world = PlannedWorkspace::new();
        world.put_and_plan("x", &file("agent\n"), &target);
        let other = world.outside.join("other name");
        fs::hard_link(world.on_disk("x"), &other).expect("a second name");
        assert_done(&world.apply());
        assert_eq!(
            fs::read(&other).expect("a file"),
            b"agent\n",
            "{target:?}: the other name has its bytes"
        );
        let mode = fs::metadata(&other)
            .expect("it exists")
            .permissions()
            .mode()
            & 0o777;
        assert_eq!(mode, 0o644, "{target:?}: and its permissions");
    }
}

/// What bears a temporary name and is not ours is kept.
#[test]
fn foreign_temporary_name_is_kept() {
    let mut world = PlannedWorkspace::new();
    world.put_and_plan("x", &file("agent\n"), &file("before\n"));
    world.put_and_plan("y", &file("agent\n"), &Thing::Nothing);
    let names = temporary_names(&world);
    for thing in [
        file("somebody's bytes\n"),
        link("/etc/passwd"),
        Thing::Full,
        Thing::Pipe,
    ] {
        let world = &world;
        for name in &names {
            world.put(name, &thing);
        }
        let before = world.listing();
        let results = world.apply();
        assert!(
            results.iter().all(|done| done.result != FileResult::Done),
            "{thing:?} stands in the way"
        );
        assert_eq!(
            world.listing(),
            before,
            "{thing:?}: everything is as it was"
        );
        for name in &names {
            if thing == Thing::Full {
                fs::remove_file(world.on_disk(format!("{name}/in"))).expect("the file in it");
                fs::remove_dir(world.on_disk(name)).expect("the directory");
            } else {
                fs::remove_file(world.on_disk(name)).expect("what was put there");
            }
        }
    }
    assert_done(&world.apply());
}

/// The names that an operation uses, seen while it is at work.
fn temporary_names(world: &PlannedWorkspace) -> Vec<String> {
    let x = std::sync::Mutex::new(Vec::new());
    let probe = PlannedWorkspace::new();
    for item in &world.items {
        probe.put(item.path.as_bytes(), &file("agent\n"));
    }
    let contents = |_: ObjectId, _: &mut dyn Write| {
        x.lock().expect("one thread").extend(probe.temporaries());
        Err(ckpt_store::Error::failed("seen enough"))
    };
    let items: Vec<_> = world
        .items
        .iter()
        .map(|item| Item {
            target: file("any").state(),
            ..item.clone()
        })
        .collect();
    apply(
        &probe.open(),
        &Work {
            items: &items,
            ..world.work(&contents)
        },
    );
    let mut names = x.into_inner().expect("one thread");
    names.sort();
    names.dedup();
    assert_eq!(names.len(), world.items.len(), "one an item");
    names
}

/// What a program has open to write is kept and named.
///
/// Invariant `work/open-files`: Writes of a program to a file that it has open are not lost if
/// the kernel reports the program; otherwise, those within a fifth of a second are not.
#[test]
fn file_open_for_writing_is_kept() {
    let targets = [
        file("before\n"),
        Thing::Nothing,
        link("before"),
        Thing::Directory(0o755),
    ];
    for abilities in ways() {
        for target in &targets {
            let mut world = PlannedWorkspace::new();
            world.put_and_plan("x", &file("agent\n"), target);
            let path = world.on_disk("x");
            let apply = |world: &mut PlannedWorkspace| {
                world.apply_with(&world.open().with_abilities(abilities))[0].clone()
            };
            // A reader is in nobody's way.
            let reader = fs::File::open(&path).expect("it is there");
            let writer = fs::OpenOptions::new()
                .append(true)
                .open(&path)
                .expect("it is there");
            if !has_leases(&path) {
                return testing::skip::skip("this file system has no leases");
            }
            let done = apply(&mut world);
            assert_eq!(done.result, FileResult::Conflict, "{target:?}: {done:?}");
            assert!(
                done.reason
                    .as_deref()
                    .is_some_and(|reason| reason.contains("has it open")),
                "it says why: {done:?}"
            );
            assert_eq!(world.temporaries(), [""; 0], "nothing is left beside it");
            (&writer).write_all(b"and more\n").expect("it is open");
            assert_eq!(
                fs::read_to_string(&path).expect("a file"),
                "agent\nand more\n",
                "not a byte of what it goes on writing is lost"
            );
            writer.set_len(6).expect("it is open");
            drop(writer);
            let done = apply(&mut world);
            assert_eq!(done.result, FileResult::Done, "when it is closed: {done:?}");
            drop(reader);
        }
    }
}

/// What is done as soon as every item is in its place, which is before anything is let go that was looked at once.
fn apply_while(
    world: &PlannedWorkspace,
    abilities: Abilities,
    act: &(dyn Fn() + Sync),
) -> ckpt_store::model::item::ItemOutcome {
    let contents = |blob, to: &mut dyn Write| world.copy_blob(blob, to);
    let progress = |done: usize| (0..done).take(1).for_each(|_| act());
    let work = Work {
        progress: Some(&progress),
        ..world.work(&contents)
    };
    apply(&world.open().with_abilities(abilities), &work)[0].clone()
}

/// What a program writes a little later is kept and named without leases.
///
/// Invariant `work/open-files`.
#[test]
fn late_write_is_kept_without_leases() {
    let targets = [
        file("before\n"),
        Thing::Nothing,
        link("before"),
        Thing::Directory(0o755),
    ];
    for mut abilities in ways() {
        abilities.leases = false;
        for target in &targets {
            let what = format!("{abilities:?}, {target:?}");
            let mut world = PlannedWorkspace::new();
            world.put_and_plan("x", &file("agent\n"), target);
            let path = world.on_disk("x");
            let writer = fs::OpenOptions::new()
                .append(true)
                .open(&path)
                .expect("it is there");
            let go_on = || (&writer).write_all(b"and more\n").expect("it is open");
            let done = apply_while(&world, abilities, &go_on);
            assert_eq!(done.result, FileResult::Conflict, "{what}: {done:?}");
            let reason = done.reason.expect("a conflict has a reason");
            assert!(reason.contains("wrote to it"), "{what}: {reason}");
            // Where two names cannot be exchanged, it stays beside, and that is said.
            let left = world.temporaries();
            let kept = match left.as_slice() {
                [] => path,
                [name] => world.on_disk(name),
                more => panic!("{what}: {more:?}"),
            };
            assert!(
                left.iter().all(|name| reason.contains(name)),
                "{what}: where it is kept is told: {reason}"
            );
            assert_eq!(
                fs::read_to_string(kept).expect("a file"),
                "agent\nand more\n",
                "{what}: not a byte of what it wrote is lost"
            );
        }
    }
}

/// What nobody wrote to is gone after the second look.
#[test]
fn unwritten_file_goes_after_the_second_look() {
    let targets = [file("before\n"), Thing::Nothing, Thing::Directory(0o755)];
    for mut abilities in ways() {
        abilities.leases = false;
        let mut world = PlannedWorkspace::new();
        for (number, target) in targets.iter().enumerate() {
            let name = format!("d{number}/x");
            world.put_and_plan(&name, &file("agent\n"), target);
        }
        world.directories = vec![path("d1")];
        assert_done(&world.apply_with(&world.open().with_abilities(abilities)));
        assert_eq!(
            world.temporaries(),
            [""; 0],
            "{abilities:?}: nothing is left"
        );
        assert!(
            !world.on_disk("d1").exists(),
            "{abilities:?}: a directory is empty once what stood aside in it is gone"
        );
    }
}

/// Whether the kernel tells of who writes to a file: a second one that it is asked of is refused while one has it open.
fn has_leases(path: &std::path::Path) -> bool {
    let file_system = rustix::fs::statfs(path).expect("it is there").f_type & 0xffff_ffff;
    // Overlays and network file systems.
    ![
        0x794c_7630,
        0x6969,
        0xff53_4d42,
        0xfe53_4d42,
        0x0102_1997,
        0x6573_5546,
    ]
    .contains(&file_system)
}
