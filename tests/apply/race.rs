//! A thread swaps a directory for a link to outside, and a writer edits, while restores run.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use ckpt_schema::report::FileResult;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use testing::apply::{PlannedWorkspace, Thing, file, listing};

fn full() -> bool {
    std::env::var_os("CKPT_FULL").is_some()
}

/// Nothing is written outside while a parent is swapped for a link.
///
/// Invariant `work/never-outside`: Nothing is written through a link, outside the workspace or
/// below `.git`.
#[test]
fn swapped_parent_leads_no_write_outside() {
    for openat2 in [true, false] {
        hammer(openat2, if full() { 30_000 } else { 1_500 });
    }
}

fn hammer(openat2: bool, restores: usize) {
    let mut world = PlannedWorkspace::new();
    world.put_and_plan("d/e/edited", &file("agent\n"), &file("before\n"));
    world.put_and_plan("d/e/made", &file("agent\n"), &Thing::Nothing);
    world.plan("d/e/gone", &Thing::Nothing, &file("before\n"));
    world.plan("d/e/deep/gone", &Thing::Nothing, &file("before\n"));
    // Outside is everything that the plan expects, so that only the link itself can stop it.
    fs::create_dir_all(world.outside.join("e")).expect("a directory outside");
    fs::write(world.outside.join("e/edited"), "agent\n").expect("a file outside");
    fs::write(world.outside.join("e/made"), "agent\n").expect("a file outside");
    let outside = listing(&world.outside);
    world.put(
        "swapped",
        &Thing::Link(world.outside.to_str().expect("text").as_bytes().to_vec()),
    );

    let back: Vec<_> = world.items.iter().map(reversed).collect();
    let forth = world.items.clone();
    let abilities = ckpt_store::revert::carry_out::apply::Abilities {
        openat2,
        rename_flags: true,
        leases: true,
    };
    let root = world.open().with_abilities(abilities);
    let stop = AtomicBool::new(false);
    let (one, other) = (world.on_disk("d"), world.on_disk("swapped"));
    let done = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).expect("a swap");
            }
        });
        let mut done = 0;
        for number in 0..restores / forth.len() {
            world.items = if number % 2 == 0 {
                forth.clone()
            } else {
                back.clone()
            };
            done += world
                .apply_with(&root)
                .iter()
                .filter(|done| done.result == FileResult::Done)
                .count();
        }
        stop.store(true, Ordering::Relaxed);
        done
    });
    assert_eq!(
        listing(&world.outside),
        outside,
        "not a byte outside in {restores} restores"
    );
    println!("{done} of {restores} restores were done under the swaps");

    // Left in peace, the last try ends whatever the race cut short.
    if fs::symlink_metadata(world.on_disk("d"))
        .expect("there")
        .is_symlink()
    {
        renameat_with(
            CWD,
            world.on_disk("d"),
            CWD,
            world.on_disk("swapped"),
            RenameFlags::EXCHANGE,
        )
        .expect("a swap");
    }
    world.apply();
    assert_eq!(world.temporaries(), [""; 0], "no temporary file is left");
}

fn reversed(item: &ckpt_store::model::item::Item) -> ckpt_store::model::item::Item {
    ckpt_store::model::item::Item {
        expected: item.target,
        target: item.expected,
        ..item.clone()
    }
}

/// No edit is lost while somebody saves all the time.
///
/// Invariant `work/checked-before-touched`.
#[test]
fn constant_saving_loses_no_edit() {
    let mut world = PlannedWorkspace::new();
    world.put_and_plan("x", &file("agent\n"), &file("before\n"));
    let path = world.on_disk("x");
    let beside = world.outside.join("saved");
    let stop = AtomicBool::new(false);
    let kept = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            // An editor that saves by rename.
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                let text = if number % 2 == 0 {
                    "agent\n".to_owned()
                } else {
                    format!("user {number}\n")
                };
                number += 1;
                fs::write(&beside, &text).expect("a save");
                fs::rename(&beside, &path).expect("a save");
                await_text(&path, &text, &kept);
            }
        });
        let mut conflicts = 0;
        for _ in 0..if full() { 20_000 } else { 2_000 } {
            let done = &world.apply()[0];
            conflicts += usize::from(done.result == FileResult::Conflict);
            for name in world.temporaries() {
                let reason = done.reason.as_deref().unwrap_or("");
                assert!(
                    reason.contains(&name),
                    "bytes that could not be put back are named: {reason}"
                );
                kept.lock()
                    .expect("one writer")
                    .push(fs::read_to_string(world.on_disk(&name)).expect("a file"));
                fs::remove_file(world.on_disk(name)).expect("it is there");
            }
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().expect("every save was kept");
        println!("{conflicts} conflicts");
    });
    assert_eq!(world.temporaries(), [""; 0], "no temporary file is left");
}

/// What was saved is there, but for the moment in which it is swapped out and looked at, or it is in a file that the result
/// names; the agent's text may be replaced.
fn await_text(path: &std::path::Path, text: &str, kept: &Mutex<Vec<String>>) {
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(20);
    loop {
        let now = fs::read_to_string(path).expect("the file is always there");
        if now == text || (text == "agent\n" && now == "before\n") {
            return;
        }
        if kept
            .lock()
            .expect("one reader")
            .iter()
            .any(|kept| kept == text)
        {
            return;
        }
        assert!(
            std::time::Instant::now() < patience,
            "{text:?} was saved, and {now:?} is there"
        );
        std::thread::yield_now();
    }
}
