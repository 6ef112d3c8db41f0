//! Every kind of thing over every kind, both ways, by every way that a system may leave open.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use ckpt_schema::report::{FileResult, ReasonCode};
use ckpt_store::model::entry::Entry;
use ckpt_store::model::item::ItemReason;
use ckpt_store::revert::carry_out::apply::{Found, Problem, preflight, state_at};

use testing::apply::{PlannedWorkspace, Thing, assert_done, executable, file, link, path, ways};

fn kinds() -> Vec<Thing> {
    vec![
        Thing::Nothing,
        file("some text\n"),
        file("other text\n"),
        executable("some text\n"),
        file(""),
        Thing::File(vec![0, 1, 255], 0o600),
        Thing::File(vec![b'x'; 300_000], 0o444),
        link("elsewhere"),
        link("/nowhere/at/all"),
        Thing::Directory(0o755),
        Thing::Directory(0o700),
        Thing::Full,
    ]
}

/// Plans `before` to become `after`, as the patch of a snapshot would say it: a full directory is known by its files.
fn plan(world: &mut PlannedWorkspace, name: &str, before: &Thing, after: &Thing) {
    let inside = format!("{name}/in");
    if *before == Thing::Full {
        world.plan(&inside, &file("inside\n"), &Thing::Nothing);
        world.directories.push(path(name));
    }
    if *after == Thing::Full {
        world.plan(&inside, &Thing::Nothing, &file("inside\n"));
    }
    if before.state() != after.state() {
        world.plan(name, before, after);
    }
}

/// The permissions of a directory that is not empty are not captured, so they cannot come back with its files.
fn is_captured(before: &Thing, after: &Thing) -> bool {
    let either = |thing: &Thing| before == thing || after == thing;
    before != after && !(either(&Thing::Directory(0o700)) && either(&Thing::Full))
}

#[test]
fn every_kind_replaces_every_kind_and_comes_back() {
    for abilities in ways() {
        for before in kinds() {
            for after in kinds()
                .into_iter()
                .filter(|after| is_captured(&before, after))
            {
                let mut world = PlannedWorkspace::new();
                world.put("d/x", &before);
                world.put("d/other", &file("of the user\n"));
                let wanted = PlannedWorkspace::new();
                wanted.put("d/x", &after);
                wanted.put("d/other", &file("of the user\n"));
                let at_first = world.listing();

                plan(&mut world, "d/x", &before, &after);
                assert_done(&world.apply_with(&world.open().with_abilities(abilities)));
                assert_eq!(
                    world.listing(),
                    wanted.listing(),
                    "{before:?} became {after:?} with {abilities:?}"
                );

                world.items.clear();
                plan(&mut world, "d/x", &after, &before);
                assert_done(&world.apply_with(&world.open().with_abilities(abilities)));
                assert_eq!(
                    world.listing(),
                    at_first,
                    "{after:?} became {before:?} again with {abilities:?}"
                );
            }
        }
    }
}

#[test]
fn a_pipe_is_never_replaced_or_removed() {
    for abilities in ways() {
        for after in kinds() {
            let mut world = PlannedWorkspace::new();
            world.put("x", &Thing::Pipe);
            // A snapshot does not hold a pipe: the plan expects nothing.
            plan(&mut world, "x", &Thing::Nothing, &after);
            let before = world.listing();
            for done in world.apply_with(&world.open().with_abilities(abilities)) {
                assert_eq!(
                    done.result,
                    FileResult::Conflict,
                    "{after:?} has no place: {:?}",
                    done.reason
                );
            }
            assert_eq!(world.listing(), before, "the pipe stands, and nothing else");
        }
    }
}

/// Invariant `work/only-the-plan`.
#[test]
fn doing_it_again_changes_nothing_at_all() {
    for before in kinds() {
        for after in kinds().into_iter().filter(|after| *after != before) {
            let mut world = PlannedWorkspace::new();
            world.put("d/x", &before);
            plan(&mut world, "d/x", &before, &after);
            assert_done(&world.apply());
            let times = all_times(&world);
            assert_done(&world.apply());
            assert_eq!(
                all_times(&world),
                times,
                "{before:?} to {after:?}: what is done is not done twice"
            );
        }
    }
}

fn all_times(world: &PlannedWorkspace) -> BTreeMap<String, (u64, i64, i64, i64, i64)> {
    let of = |name: String| {
        let metadata = world.on_disk(&name).symlink_metadata().expect("listed");
        let times = (
            metadata.ino(),
            metadata.mtime(),
            metadata.mtime_nsec(),
            metadata.ctime(),
            metadata.ctime_nsec(),
        );
        (name, times)
    };
    world.listing().into_keys().map(of).collect()
}

/// Overlapping paths are put in an order that works.
#[test]
fn overlapping_paths_get_an_order_that_works() {
    let mut world = PlannedWorkspace::on_the_disk();
    world.put_and_plan("foo/bar/baz", &file("deep\n"), &Thing::Nothing);
    world.put_and_plan("foo/also", &link("x"), &Thing::Nothing);
    world.plan("foo", &Thing::Nothing, &file("a file again\n"));
    world.put_and_plan("was", &file("a file\n"), &Thing::Nothing);
    world.plan("was/x/y", &Thing::Nothing, &file("below\n"));
    world.put_and_plan("pointer", &link("was"), &Thing::Nothing);
    world.plan("pointer/z", &Thing::Nothing, &file("real\n"));
    assert_done(&world.apply());
    let names: Vec<String> = world.listing().into_keys().collect();
    assert_eq!(
        names,
        ["foo", "pointer", "pointer/z", "was", "was/x", "was/x/y"],
        "each in the other's place"
    );
    assert_eq!(
        fs::read(world.on_disk("foo")).expect("a file"),
        b"a file again\n",
        "the file that it was"
    );
}

/// Directories of the agent go when empty and only then.
#[test]
fn agents_directories_go_when_empty() {
    let mut world = PlannedWorkspace::new();
    world.put_and_plan("made/deep/a", &file("agent\n"), &Thing::Nothing);
    world.put_and_plan("shared/deep/b", &file("agent\n"), &Thing::Nothing);
    world.put("shared/user", &file("user\n"));
    world.put_and_plan("users/c", &file("agent\n"), &Thing::Nothing);
    world.directories = vec![
        path("made"),
        path("made/deep"),
        path("shared"),
        path("shared/deep"),
    ];
    assert_done(&world.apply());
    let names: Vec<String> = world.listing().into_keys().collect();
    assert_eq!(
        names,
        ["shared", "shared/user", "users"],
        "`users` was not the agent's, `shared` is not empty"
    );
}

/// A directory that holds what no snapshot holds stays.
#[test]
fn directory_with_unstored_content_stays() {
    let mut world = PlannedWorkspace::new();
    world.put_and_plan("build", &Thing::Directory(0o755), &Thing::Nothing);
    world.put("build/ignored.o", &file("object\n"));
    let results = world.apply();
    assert_eq!(
        results[0].result,
        FileResult::Conflict,
        "it cannot go: {:?}",
        results[0].reason
    );
    assert!(
        world.on_disk("build/ignored.o").exists(),
        "and nothing in it is touched"
    );
}

/// An empty directory gets its file and keeps its inode.
#[test]
fn empty_directory_gets_its_file_and_keeps_inode() {
    let mut world = PlannedWorkspace::new();
    world.put_and_plan("d", &Thing::Directory(0o700), &Thing::Nothing);
    world.plan("d/x", &Thing::Nothing, &file("x\n"));
    let inode = fs::metadata(world.on_disk("d")).expect("a directory").ino();
    assert_done(&world.apply());
    let metadata = fs::metadata(world.on_disk("d")).expect("a directory");
    assert_eq!(
        (metadata.ino(), metadata.mode() & 0o777),
        (inode, 0o700),
        "it was never removed"
    );
}

#[test]
fn names_of_any_bytes_are_put_back() {
    let mut world = PlannedWorkspace::new();
    let long = "n".repeat(255);
    let names: [&[u8]; 9] = [
        b"-rf",
        b" a ",
        b"new\nline",
        b"*?[",
        b"\xff\xfe",
        "e\u{301}".as_bytes(),
        "\u{e9}".as_bytes(),
        b"a\\b",
        long.as_bytes(),
    ];
    for name in names {
        world.plan(name, &Thing::Nothing, &file("x\n"));
    }
    assert_done(&world.apply());
    for item in &world.items {
        let found = state_at(&world.open(), &item.path).expect("it can be read");
        assert!(found.is(item.target), "{:?} is there", item.path);
    }
}

/// A path longer than the system allows is reached step by step.
#[test]
fn overlong_path_is_reached_step_by_step() {
    let mut world = PlannedWorkspace::new();
    let deep = vec!["d".repeat(200); 60].join("/");
    world.plan(&deep, &Thing::Nothing, &file("deep\n"));
    assert_done(&world.apply());
    assert!(
        state_at(&world.open(), &path(&deep))
            .expect("readable")
            .is(world.items[0].target),
        "12,000 bytes down"
    );
    let item = world.items.pop().expect("one");
    world.items.push(ckpt_store::model::item::Item {
        expected: item.target,
        target: None,
        ..item
    });
    let mut above = world.items[0].path.parent();
    while let Some(directory) = above {
        above = directory.parent();
        world.directories.push(directory);
    }
    assert_done(&world.apply());
    assert_eq!(world.listing().len(), 0, "and all of it goes again");
}

/// Invariant `work/only-the-plan`: Only planned files are touched.
#[test]
fn only_what_is_planned_is_touched() {
    let mut world = PlannedWorkspace::new();
    world.put_and_plan("gap", &file("a\n"), &Thing::Nothing);
    world.put_and_plan("conflict", &file("b\n"), &file("c\n"));
    world.items[0].result = FileResult::Gap;
    world.items[1].result = FileResult::Conflict;
    world.items[1].reason = Some(ItemReason::new(ReasonCode::Changed, "the user changed it"));
    let before = all_times(&world);
    let results = world.apply();
    assert_eq!(results[0].result, FileResult::Gap, "passed through");
    assert_eq!(
        results[1].reason.as_deref(),
        Some("the user changed it"),
        "with its reason"
    );
    assert_eq!(all_times(&world), before, "and untouched");
}

/// What is not stored is neither replaced nor invented.
///
/// Invariant `work/not-stored`.
#[test]
fn unstored_is_neither_replaced_nor_invented() {
    let mut world = PlannedWorkspace::new();
    world.put_and_plan("from", &file("a\n"), &file("b\n"));
    world.put_and_plan("to", &file("c\n"), &file("d\n"));
    world.put_and_plan("gone", &file("e\n"), &Thing::Nothing);
    let unstored = |state: Option<Entry>| {
        state.map(|entry| Entry {
            blob: None,
            ..entry
        })
    };
    world.items[0].expected = unstored(world.items[0].expected);
    world.items[1].target = unstored(world.items[1].target);
    world.items[2].expected = unstored(world.items[2].expected);
    let before = all_times(&world);
    assert!(
        world
            .apply()
            .iter()
            .all(|done| done.result != FileResult::Done),
        "each is refused"
    );
    assert_eq!(all_times(&world), before, "and untouched");
}

/// A missing blob fails one file and leaves no trace.
///
/// Invariant `truth/named-with-reason`.
#[test]
fn missing_blob_fails_one_file() {
    let mut world = PlannedWorkspace::new();
    world.put_and_plan("a", &file("a\n"), &file("b\n"));
    world.plan("new/deep/c", &Thing::Nothing, &file("c\n"));
    world.put_and_plan("d", &file("d\n"), &file("e\n"));
    let unknown = Some(Entry::stored(
        ckpt_store::model::entry::Mode::file(0o644),
        testing::apply::id(b"unknown"),
    ));
    world.items[0].target = unknown;
    world.items[1].target = unknown;
    let results = world.apply();
    let shown: Vec<FileResult> = results.iter().map(|done| done.result).collect();
    assert_eq!(
        shown,
        [FileResult::Failed, FileResult::Failed, FileResult::Done],
        "the rest goes on"
    );
    let names: Vec<String> = world.listing().into_keys().collect();
    assert_eq!(
        names,
        ["a", "d"],
        "no temporary file, and the directories that were made are gone again"
    );
    assert_eq!(
        fs::read(world.on_disk("a")).expect("a file"),
        b"a\n",
        "as it was"
    );
}

#[test]
fn what_stands_at_a_path_is_told() {
    let world = PlannedWorkspace::new();
    world.put("d/file", &file("x\n"));
    world.put("pipe", &Thing::Pipe);
    world.put("link", &link("d"));
    let at = |name: &str| state_at(&world.open(), &path(name)).expect("readable");
    assert!(at("d/file").is(file("x\n").state()), "a file");
    assert!(at("link").is(link("d").state()), "a link");
    assert_eq!(
        at("d"),
        Found::Directory {
            permissions: mode_of(&world, "d"),
            empty: false
        },
        "a directory"
    );
    assert_eq!(at("pipe"), Found::Special, "a pipe");
    assert_eq!(at("no/such"), Found::Nothing, "nothing");
    assert_eq!(
        at("link/file"),
        Found::Nothing,
        "through a link there is nothing"
    );
}

fn mode_of(world: &PlannedWorkspace, name: &str) -> u32 {
    fs::metadata(world.on_disk(name))
        .expect("it exists")
        .permissions()
        .mode()
        & 0o777
}

#[test]
fn twenty_thousand_files_are_done_in_one_operation() {
    let mut world = PlannedWorkspace::on_the_disk();
    let count = if std::env::var_os("CKPT_FULL").is_some() {
        20_000
    } else {
        2_000
    };
    for number in 0..count {
        let name = format!("d{}/{number}", number % 37);
        match number % 3 {
            0 => world.put_and_plan(&name, &file("old\n"), &file("new\n")),
            1 => world.put_and_plan(&name, &file("old\n"), &Thing::Nothing),
            _ => world.plan(&name, &Thing::Nothing, &file("new\n")),
        }
    }
    let told = std::sync::atomic::AtomicUsize::new(0);
    let progress = |done: usize| _ = told.fetch_max(done, std::sync::atomic::Ordering::Relaxed);
    let contents = |blob, to: &mut dyn std::io::Write| world.copy_blob(blob, to);
    let work = ckpt_store::revert::carry_out::apply::Work {
        progress: Some(&progress),
        ..world.work(&contents)
    };
    let cpu = || rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let (begin, begin_cpu) = (std::time::Instant::now(), cpu());
    assert_done(&ckpt_store::revert::carry_out::apply::apply(
        &world.open(),
        &work,
    ));
    let used = std::time::Duration::try_from(cpu() - begin_cpu).expect("time goes forward");
    println!(
        "{count} files: {:?} a file, {:?} of a processor",
        begin.elapsed() / count,
        used / count
    );
    assert_eq!(
        told.into_inner(),
        count as usize,
        "progress ends where the plan ends"
    );
    for item in &world.items {
        assert!(
            state_at(&world.open(), &item.path)
                .expect("readable")
                .is(item.target),
            "{:?}",
            item.path
        );
    }
}

/// Too little room is found before the first write.
///
/// Invariant `work/refused-before-writing`.
#[test]
fn little_room_is_found_before_writing() {
    let mut world = PlannedWorkspace::new();
    world.plan("new", &Thing::Nothing, &file("x\n"));
    let problems = preflight(&world.open(), &world.items, &[], &|_| Ok(u64::MAX / 2))
        .expect("it can be asked");
    assert!(
        matches!(&problems[..], [Problem::NoRoom(_)]),
        "{problems:?}"
    );
    let none = preflight(&world.open(), &world.items, &[], &|_| Ok(2)).expect("it can be asked");
    assert_eq!(none, [], "two bytes have room");
}
