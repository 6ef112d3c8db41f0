//! All or nothing: what is known to go wrong before the first write refuses the whole operation.

use ckpt_schema::report::{FileResult, Outcome};
use ckpt_store::{Error, ErrorKind, RevertRequest};

use testing::mount::Mount;
use testing::nobody::{as_nobody, as_nobody_in_a_directory_of_another_user};
use testing::scenario::{World, paths_with, to};

/// Asserts that nothing was done, for a reason.
#[track_caller]
fn assert_refused(error: &Error, reason: &str) {
    let text = error.to_string();
    assert_eq!(error.kind, ErrorKind::Failed, "{text}");
    assert!(
        text.starts_with("nothing was changed: ") && text.contains(reason),
        "{text}"
    );
}

/// A directory that may not be written to refuses the whole operation before the first write.
///
/// Invariant `work/refused-before-writing`: If it is known that something will fail, the whole
/// operation is refused before the first write.
#[test]
fn unwritable_directory_refuses_the_operation() {
    as_nobody(
        "refused::unwritable_directory_refuses_the_operation",
        in_a_closed_directory,
    );
}

fn in_a_closed_directory() {
    let mut world = World::new();
    let cwd = world.cwd.clone();
    world.write("d/a", "0\n");
    world.write("b", "0\n");
    let old = world.tree();
    world.turn("m1", |world| {
        ["d/a", "d/new/c", "b"]
            .into_iter()
            .for_each(|path| world.write(path, "1\n"))
    });
    world.chmod("d", 0o555);
    let (new, stamp) = (world.tree(), world.stamp("b"));
    let error = world.try_revert(&to("m1")).expect_err("`d` takes no name");
    assert_refused(&error, "cannot write to `d` (");
    let dry_run = RevertRequest {
        dry_run: true,
        ..to("m1")
    };
    assert_eq!(
        world
            .try_revert(&dry_run)
            .map_err(|error| error.to_string()),
        Err(error.to_string()),
        "a dry run is what then happens"
    );
    assert_eq!(
        (world.tree(), world.stamp("b")),
        (new.clone(), stamp),
        "not one file"
    );
    assert!(world.status().interrupted.is_empty(), "nothing was begun");
    assert!(
        world
            .store
            .operations(&cwd, &ckpt_store::query::LogFilter::default())
            .expect("readable")
            .operations
            .is_empty(),
        "nor written down"
    );

    let only = RevertRequest {
        only: vec!["b".into()],
        ..to("m1")
    };
    let report = world
        .try_revert(&only)
        .expect("what is elsewhere can be reverted");
    assert_eq!(paths_with(&report, FileResult::Done), ["b"]);
    world.unrevert();
    world.chmod("d", 0o755);
    assert_eq!(world.revert("m1").outcome, Outcome::Restored);
    assert_eq!(world.tree(), old, "all");

    world.chmod("d", 0o555);
    let error = world.store.redo(
        &cwd,
        &ckpt_store::RedoRequest {
            all: true,
            ..Default::default()
        },
    );
    assert_refused(&error.expect_err("`d` takes no name"), "`d`");
    assert_eq!(
        (world.read("b").as_str(), world.read("d/a").as_str()),
        ("0\n", "0\n"),
        "not one file"
    );
    world.chmod("d", 0o755);
    world.unrevert();
    world.chmod("d", 0o555);
    assert_eq!(world.tree(), new, "and back");
    world.chmod("d", 0o755);
}

/// What an agent made goes even if its directories take no name, as those of Go's module cache.
///
/// Invariant `work/agents-closed-directories`: A directory that an agent's step closed is opened for as long as an operation
/// works in it.
#[test]
fn directories_closed_by_an_agent_are_opened() {
    as_nobody(
        "refused::directories_closed_by_an_agent_are_opened",
        in_the_directories_of_a_package_manager,
    );
}

fn in_the_directories_of_a_package_manager() {
    let mut world = World::new();
    world.write("d/a", "0\n");
    world.turn("m1", |world| {
        for path in ["d/a", "mod/cache/x/f", "mod/cache/open/f", "mod/g"] {
            world.write(path, "1\n");
        }
        for path in ["mod/cache/x", "mod/cache", "mod", "d"] {
            world.chmod(path, 0o555);
        }
    });
    let new = world.tree();
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Restored, "{report:?}");
    assert_eq!(
        (world.read("d/a").as_str(), world.path("mod").exists()),
        ("0\n", false)
    );
    assert_eq!(
        (world.mode("d"), report.notes),
        (
            0o555,
            vec![
                "the permissions of existing directories stay: `d` had 755, now has 555".to_owned()
            ]
        ),
        "it is closed again"
    );
    world.unrevert();
    assert_eq!(world.tree(), new, "the same permissions, too");
    let report = world.revert("m1");
    assert!(!world.path("mod").exists(), "once more: {report:?}");
    world.undo(report.operation.as_deref().expect("it was carried out"));
    assert_eq!(world.tree(), new);
    // What a person closed as well stays closed.
    world.chmod("mod/cache/open", 0o555);
    let error = world
        .try_revert(&to("m1"))
        .expect_err("it takes nothing away");
    assert_refused(&error, "cannot write to `mod/cache/open` (");
    assert_eq!(world.mode("mod"), 0o555, "nothing was opened");
    for path in ["mod", "mod/cache", "mod/cache/x", "mod/cache/open", "d"] {
        world.chmod(path, 0o755);
    }
}

/// Permissions are put back where no file can be made.
#[test]
fn permissions_return_where_no_file_can_be_made() {
    as_nobody(
        "refused::permissions_return_where_no_file_can_be_made",
        || {
            let mut world = World::new();
            world.write("d/a", "0\n");
            world.turn("m1", |world| world.chmod("d/a", 0o755));
            world.chmod("d", 0o555);
            let report = world.revert("m1");
            let mode = world.mode("d/a");
            world.chmod("d", 0o755);
            assert_eq!(
                (report.outcome, mode),
                (Outcome::Restored, 0o644),
                "{report:?}"
            );
        },
    );
}

/// A workspace of another user is reverted only where that is asked for.
///
/// Invariant `work/refused-before-writing`.
#[test]
fn another_users_workspace_is_reverted_on_request() {
    let played = as_nobody_in_a_directory_of_another_user(
        "refused::another_users_workspace_is_reverted_on_request",
        |folder| {
            let mut world = World::new();
            world.root = folder.canonicalize().expect("it is there");
            world.cwd = world.root.clone();
            world.write("a", "0\n");
            world.turn("m1", |world| world.write("a", "1\n"));
            let error = world
                .try_revert(&to("m1"))
                .expect_err("it is somebody else's");
            assert_refused(&error, "the workspace belongs to another user");
            assert_eq!(world.read("a"), "1\n");
            let report = world
                .try_revert(&RevertRequest {
                    force: ckpt_store::Force::Yes,
                    ..to("m1")
                })
                .expect("asked for");
            assert_eq!(
                (report.outcome, world.read("a").as_str()),
                (Outcome::Restored, "0\n")
            );
            world.remove("a");
        },
    );
    if !played {
        testing::skip::skip("making a directory of another user needs root");
    }
}

/// Too little room or a read only file system refuses the whole operation before the first
/// write.
///
/// Invariant `work/refused-before-writing`.
#[test]
fn no_room_refuses_the_operation() {
    let mut world = World::new();
    let Some(mount) = Mount::new(&world.root, "size=256k,mode=755") else {
        return;
    };
    world.write("a", "0\n");
    world.write("big", vec![b'x'; 100_000]);
    let old = world.tree();
    world.turn("m1", |world| {
        world.write("a", "1\n");
        world.remove("big");
    });
    world.write("filler", vec![b'y'; 200_000]);
    let error = world
        .try_revert(&to("m1"))
        .expect_err("there is no room for `big`");
    assert_refused(&error, " are needed");
    assert_eq!(
        (world.read("a").as_str(), world.exists("big")),
        ("1\n", false),
        "not one file"
    );
    world.remove("filler");
    mount.remount("ro");
    assert_refused(
        &world
            .try_revert(&to("m1"))
            .expect_err("nothing can be written"),
        "is read-only",
    );
    mount.remount("rw");
    assert_eq!(world.revert("m1").outcome, Outcome::Restored);
    assert_eq!(world.tree(), old, "all of it");
}

/// Opens a store somewhere, and asks it to record a message in a directory; returns what it says.
fn record_in(store: &std::path::Path, cwd: &std::path::Path) -> Result<(), String> {
    let surroundings = ckpt_store::Surroundings {
        directory: store.to_owned(),
        settings: ckpt_store::Settings::default(),
        home: None,
        config_home: None,
        clock: || 0,
        file_clock: ckpt_store::file_clock,
        file_times: ckpt_store::same_time,
        agent_process: || None,
        conversations: &ckpt_store::model::conversation::NoConversations,
    };
    let mut store = ckpt_store::Store::open(surroundings).expect("a store of our own");
    let event = ckpt_schema::event::Event {
        cwd: Some(cwd.to_owned()),
        message_id: Some("m1".to_owned()),
        ..ckpt_schema::event::Event::new(ckpt_schema::EventKind::UserMessage, "generic", "s1")
    };
    let recorded = store.record(&event);
    recorded.map(drop).map_err(|error| error.to_string())
}

/// A store inside the workspace or its repository records nothing there and says so.
///
/// Invariant `work/store-outlives-changes`.
#[test]
fn store_inside_the_workspace_records_nothing() {
    let world = World::git(&[("a", "0\n")]);
    world.run_git(&["worktree", "add", "-q", "../linked"]);
    let linked = world.base().join("linked");
    for (store, cwd) in [
        (world.path("data/store"), &world.root),
        (world.path(".git/store"), &world.root),
        (world.path(".git/store"), &linked),
        (linked.join("store"), &linked),
    ] {
        std::fs::create_dir_all(store.parent().expect("it has one")).expect("ours");
        let said = record_in(&store, cwd).expect_err("it would be reached by `find`");
        assert!(said.contains("the store is inside it"), "{store:?}: {said}");
    }
    let beside = world.base().join("beside");
    record_in(&beside, &world.root).expect("one beside them records");
    record_in(&world.path("data/store"), &world.base().join("home"))
        .expect("and so does one that is in another workspace");
}
