//! Too little of something: room, descriptors, the right to write, a file system that can do all.

use std::fs;

use ckpt_schema::report::FileResult;
use ckpt_store::revert::carry_out::apply::{Problem, preflight};

use crate::parts::{self, Part};
use testing::apply::{PlannedWorkspace, Thing, assert_done, file};
use testing::mount::Mount;

/// A disk that fills up leaves whole files and the next try ends it.
#[test]
fn filling_disk_leaves_whole_files() {
    let mut world = PlannedWorkspace::new();
    let Some(mount) = Mount::new(&world.root, "size=256k,mode=755") else {
        return;
    };
    let big = |byte: u8| Thing::File(vec![byte; 8_000], 0o644);
    for number in 0..40 {
        match number % 2 {
            0 => world.put_and_plan(
                format!("d/{number:02}").as_str(),
                &file("agent\n"),
                &big(b'b'),
            ),
            _ => world.plan(format!("new/{number:02}"), &Thing::Nothing, &big(b'c')),
        }
    }
    let problems =
        preflight(&world.open(), &world.items, &[], &|_| Ok(8_000)).expect("it can be asked");
    assert!(
        matches!(&problems[..], [Problem::NoRoom(_)]),
        "known before the first write: {problems:?}"
    );

    let results = world.apply();
    let failed = results
        .iter()
        .filter(|done| done.result == FileResult::Failed)
        .count();
    assert!(failed > 0, "there is no room for all");
    assert_eq!(world.temporaries(), [""; 0], "no temporary file takes room");
    for (item, done) in world.items.iter().zip(&results) {
        let found = ckpt_store::revert::carry_out::apply::state_at(&world.open(), &item.path)
            .expect("readable");
        let wanted = if done.result == FileResult::Done {
            item.target
        } else {
            item.expected
        };
        assert!(
            found.is(wanted),
            "{:?} is whole: {:?}",
            item.path,
            done.reason
        );
    }
    mount.remount("size=4m");
    assert_done(&world.apply());
}

/// A disk that the agent filled is no reason not to remove what fills it.
///
/// Invariant `work/refused-before-writing`.
#[test]
fn full_disk_allows_removals() {
    let mut world = PlannedWorkspace::new();
    let Some(_mount) = Mount::new(&world.root, "size=256k,mode=755") else {
        return;
    };
    let big = Thing::File(vec![b'a'; 160_000], 0o644);
    world.put_and_plan("big", &big, &Thing::Nothing);
    for number in 0..10 {
        world.put_and_plan(
            format!("d/{number}").as_str(),
            &file("agent\n"),
            &Thing::File(vec![b'b'; 8_000], 0o644),
        );
    }
    let room = |size: u64| {
        preflight(&world.open(), &world.items, &[], &move |_| Ok(size)).expect("it can be asked")
    };
    assert!(
        matches!(&room(8_000)[..], [Problem::NoRoom(_)]),
        "a small file makes no room"
    );
    let id = world
        .items
        .iter()
        .find(|item| item.path.as_bytes() == b"big")
        .and_then(|item| item.expected?.blob);
    let size = |blob| Ok(if Some(blob) == id { 160_000 } else { 8_000 });
    assert_eq!(
        preflight(&world.open(), &world.items, &[], &size).expect("it can be asked"),
        [],
        "this one does"
    );
    assert_done(&world.apply());
    assert_eq!(fs::read(world.on_disk("d/9")).expect("a file").len(), 8_000);
}

/// A read only file system is known before the first write.
///
/// Invariant `work/refused-before-writing`.
#[test]
fn read_only_file_system_is_known_before_writing() {
    let mut world = PlannedWorkspace::new();
    let Some(mount) = Mount::new(&world.root, "size=256k,mode=755") else {
        return;
    };
    world.put_and_plan("edited", &file("agent\n"), &file("before\n"));
    world.put_and_plan("made", &file("agent\n"), &Thing::Nothing);
    world.put_and_plan(
        "mode",
        &file("same\n"),
        &Thing::File(b"same\n".to_vec(), 0o755),
    );
    mount.remount("ro");
    let problems =
        preflight(&world.open(), &world.items, &[], &|_| Ok(1)).expect("it can be asked");
    assert_eq!(problems, [Problem::ReadOnly], "nothing should be begun");
    let before = world.listing();
    for done in world.apply() {
        assert_eq!(
            done.result,
            FileResult::Failed,
            "and nothing can be: {:?}",
            done.reason
        );
    }
    assert_eq!(world.listing(), before, "everything is as it was");
}

/// The lower layers of a container are replaced like any file.
#[test]
fn containers_lower_layers_are_replaced() {
    let mut world = PlannedWorkspace::new();
    let at = |name: &str| world.outside.join(name);
    let lower = PlannedWorkspace::at(&at("lower"));
    for name in ["upper", "scratch"] {
        fs::create_dir_all(at(name)).expect("a directory of the overlay");
    }
    for (name, thing) in [
        ("x", file("agent\n")),
        ("d/y", file("agent\n")),
        ("gone", file("agent\n")),
    ] {
        lower.put(name, &thing);
    }
    lower.put("directory", &Thing::Directory(0o755));
    lower.put("to link", &Thing::Directory(0o755));
    lower.put("bare", &Thing::Directory(0o755));
    lower.put("mode", &file("same\n"));
    let layers = [
        ("lowerdir", lower.root.clone()),
        ("upperdir", at("upper")),
        ("workdir", at("scratch")),
    ];
    let options: Vec<String> = layers
        .iter()
        .map(|(name, path)| format!("{name}={}", path.display()))
        .collect();
    let Some(_mount) = Mount::of_type("overlay", &world.root, &options.join(",")) else {
        return;
    };
    world.plan("x", &file("agent\n"), &file("before\n"));
    world.plan("d/y", &file("agent\n"), &Thing::Nothing);
    world.plan("d", &Thing::Nothing, &file("before\n"));
    world.plan("gone", &file("agent\n"), &Thing::Directory(0o755));
    world.plan("directory", &Thing::Directory(0o755), &file("before\n"));
    world.plan(
        "to link",
        &Thing::Directory(0o755),
        &testing::apply::link("before"),
    );
    world.plan("bare", &Thing::Directory(0o755), &Thing::Nothing);
    world.plan(
        "mode",
        &file("same\n"),
        &Thing::File(b"same\n".to_vec(), 0o755),
    );
    assert_done(&world.apply());
    for item in &world.items {
        let found = ckpt_store::revert::carry_out::apply::state_at(&world.open(), &item.path)
            .expect("readable");
        let is_below_d = item.path.as_bytes() == b"d/y";
        assert!(
            found.is(item.target) || is_below_d,
            "{:?} is {found:?}",
            item.path
        );
    }
    assert_eq!(world.temporaries(), [""; 0], "nothing is left");
}

#[test]
fn few_descriptors_are_enough_for_many_directories() {
    let world = PlannedWorkspace::new();
    parts::play(
        &Part::FewDescriptors,
        world.outside.parent().expect("the world's folder"),
        None,
    );
}

/// Runs in a process of its own: the limit belongs to the process.
pub fn with_few_descriptors(world: &mut PlannedWorkspace) {
    for number in 0..200 {
        world.put_and_plan(
            format!("d/{number}/edited").as_str(),
            &file("agent\n"),
            &file("before\n"),
        );
        world.plan(
            format!("new/{number}/a/b/c"),
            &Thing::Nothing,
            &file("before\n"),
        );
    }
    let open = fs::read_dir("/proc/self/fd").map_or(8, Iterator::count) as u64;
    let limit = rustix::process::Rlimit {
        current: Some(open + 24),
        maximum: Some(open + 24),
    };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit)
        .expect("less is always allowed");
    assert_done(&world.apply());
}
