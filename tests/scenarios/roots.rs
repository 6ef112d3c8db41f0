//! A session that works in several roots: one message, one revert, and a part in each root.

use std::fs;
use std::path::{Path, PathBuf};

use ckpt_schema::report::{OperationReport, Outcome, ShowReport};
use ckpt_schema::{Event, EventKind, ToolKind};
use ckpt_store::query::LogFilter;
use ckpt_store::{DryRun, RevertRequest};
use testing::git;
use testing::scenario::{World, to};

mod as_one;

/// A repository, and another one beside it that the session names with its first message.
fn with_two() -> (World, PathBuf) {
    let world = World::git(&[("a", "1\n")]);
    let other = repository(&world, "other");
    (world, other)
}

/// A repository beside the workspace with a file.
fn repository(world: &World, name: &str) -> PathBuf {
    let other = world.base().join(name);
    fs::create_dir_all(&other).expect("writable");
    fs::write(other.join("b"), "1\n").expect("writable");
    run_git(&other, &["init", "-q", "-b", "main"]);
    run_git(&other, &["add", "-A"]);
    run_git(&other, &["commit", "-q", "-m", "first"]);
    other
}

fn run_git(directory: &Path, arguments: &[&str]) {
    git::text(git::command(directory, directory).args(arguments));
}

/// A message that names further roots.
fn message(world: &mut World, id: &str, roots: &[&Path]) {
    let event = Event {
        message_id: Some(id.to_owned()),
        prompt: Some(format!("please do {id}")),
        roots: roots.iter().map(|root| root.to_path_buf()).collect(),
        ..world.event(EventKind::UserMessage, "s1")
    };
    world.send(&event);
}

/// An edit tool writes files, by their full paths.
fn edit(world: &mut World, files: &[(&Path, &str)]) {
    let event = |kind| Event {
        tool_use_id: Some("edit".to_owned()),
        tool_kind: Some(ToolKind::Edit),
        paths: files.iter().map(|(path, _)| path.to_path_buf()).collect(),
        ..world.event(kind, "s1")
    };
    let (start, finish) = (event(EventKind::ToolStart), event(EventKind::ToolFinish));
    world.start();
    world.send(&start);
    for (path, text) in files {
        fs::write(path, text).expect("writable");
    }
    world.send(&finish);
    world.finish();
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| format!("{error}"))
}

fn tells(report: &OperationReport, of: &str) -> bool {
    report.notes.iter().any(|note| note.contains(of))
}

/// The files that an operation moved, by root.
fn moved(report: &OperationReport) -> Vec<(String, Vec<String>)> {
    let names = |report: &OperationReport| -> Vec<String> {
        let files = report.files.iter();
        files.map(|file| file.path.path.clone()).collect()
    };
    let first = (String::new(), names(report));
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let others = report.roots.iter();
    let others = others.map(|root| (name(&root.workspace), names(&root.report)));
    std::iter::once(first).chain(others).collect()
}

/// Invariant `work/roots`: One revert goes back in all roots of the session, and one unrevert forward again.
#[test]
fn one_revert_goes_back_in_all_roots() {
    let (mut world, other) = with_two();
    message(&mut world, "m1", &[&other]);
    world.step(|world| {
        world.write("a", "2\n");
        fs::write(other.join("b"), "2\n").expect("writable");
        fs::write(other.join("new"), "2\n").expect("writable");
    });
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
    let files = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(
        moved(&report),
        [
            (String::new(), files(&["a"])),
            ("other".to_owned(), files(&["b", "new"]))
        ]
    );
    assert_eq!(world.read("a"), "1\n");
    assert_eq!(read(&other.join("b")), "1\n");
    assert!(!other.join("new").exists());
    assert!(report.notes.is_empty(), "{:?}", report.notes);
    world.unrevert();
    assert_eq!(world.read("a"), "2\n");
    assert_eq!(read(&other.join("b")), "2\n");
    assert_eq!(read(&other.join("new")), "2\n");
}

/// An undo takes an operation back in every root in which it moved something.
#[test]
fn undo_goes_through_all_roots() {
    let (mut world, other) = with_two();
    message(&mut world, "m1", &[&other]);
    world.step(|world| {
        world.write("a", "2\n");
        fs::write(other.join("b"), "2\n").expect("writable");
    });
    let reverted = world.revert("m1").operation.expect("it did something");
    assert_eq!(read(&other.join("b")), "1\n");
    let report = world.undo(&reverted);
    assert_eq!(report.roots.len(), 1, "{report:#?}");
    assert_eq!(world.read("a"), "2\n");
    assert_eq!(read(&other.join("b")), "2\n");
}

/// What is asked for in a further root is done in all of them, by the id that the message has in the first one.
#[test]
fn further_root_asks_for_all() {
    let (mut world, other) = with_two();
    message(&mut world, "m1", &[&other]);
    world.step(|world| {
        world.write("a", "2\n");
        fs::write(other.join("b"), "2\n").expect("writable");
    });
    let id = world.log().messages[0].id.clone();
    world
        .store
        .revert(&other, &to(&id))
        .expect("it is known there");
    assert_eq!(world.read("a"), "1\n");
    assert_eq!(read(&other.join("b")), "1\n");
}

/// A repository in which an edit tool names a file becomes a root before the tool writes.
#[test]
fn named_file_makes_its_repository_a_root() {
    let (mut world, other) = with_two();
    world.message("m1");
    edit(&mut world, &[(&other.join("b"), "2\n")]);
    world.message("m2");
    let own = world.path("a");
    edit(&mut world, &[(&other.join("b"), "3\n"), (&own, "3\n")]);
    let report = world.revert("m2");
    assert!(report.notes.is_empty(), "{:?}", report.notes);
    assert_eq!(
        (world.read("a"), read(&other.join("b"))),
        ("1\n".into(), "2\n".into())
    );
    let report = world.revert("m1");
    assert_eq!(read(&other.join("b")), "1\n", "{report:#?}");
    world.redo();
    assert_eq!(read(&other.join("b")), "2\n");
    world.redo();
    assert_eq!(
        (world.read("a"), read(&other.join("b"))),
        ("3\n".into(), "3\n".into())
    );
}

/// A directory in no repository, of which nothing was recorded, stays outside.
#[test]
fn plain_directory_is_no_root_for_a_file() {
    let mut world = World::git(&[("a", "1\n")]);
    let plain = world.base().join("documents");
    fs::create_dir(&plain).expect("writable");
    fs::write(plain.join("letter"), "1\n").expect("writable");
    world.message("m1");
    edit(&mut world, &[(&plain.join("letter"), "2\n")]);
    let report = world.revert("m1");
    assert!(report.roots.is_empty(), "{report:#?}");
    assert_eq!(report.notes.len(), 1, "it is told of: {:?}", report.notes);
    assert_eq!(read(&plain.join("letter")), "2\n");
}

/// A plain directory that is declared is a root, and one is a root by whatever name.
#[test]
fn declared_directory_is_one_root_by_all_names() {
    let mut world = World::git(&[("a", "1\n")]);
    let plain = world.base().join("plain");
    fs::create_dir(&plain).expect("writable");
    fs::write(plain.join("b"), "1\n").expect("writable");
    let link = world.base().join("link");
    std::os::unix::fs::symlink(&plain, &link).expect("writable");
    let root = world.root.clone();
    message(
        &mut world,
        "m1",
        &[&plain, &link, &root, Path::new("../link")],
    );
    world.step(|_| fs::write(link.join("b"), "2\n").expect("writable"));
    let report = world.revert("m1");
    assert_eq!(report.roots.len(), 1, "{report:#?}");
    assert_eq!(read(&plain.join("b")), "1\n");
}

/// Of a root below another, each file goes back once.
#[test]
fn root_below_another_goes_back_once() {
    for ignored in ["", "inner\n"] {
        let mut world = World::git(&[("a", "1\n"), (".gitignore", ignored)]);
        let inner = world.path("inner");
        fs::create_dir(&inner).expect("writable");
        fs::write(inner.join("b"), "1\n").expect("writable");
        run_git(&inner, &["init", "-q"]);
        message(&mut world, "m1", &[&inner]);
        world.step(|world| {
            world.write("a", "2\n");
            fs::write(inner.join("b"), "2\n").expect("writable");
        });
        let report = world.revert("m1");
        assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
        assert_eq!(
            report.roots.len(),
            usize::from(!ignored.is_empty()),
            "{report:#?}"
        );
        assert_eq!(world.read("a"), "1\n");
        assert_eq!(read(&inner.join("b")), "1\n");
        world.unrevert();
        assert_eq!(read(&inner.join("b")), "2\n");
    }
}

/// An agent that starts below names the directory above: both hold the files, and they go back once.
#[test]
fn root_above_the_first_goes_back_once() {
    let mut world = World::git(&[("a", "1\n")]);
    let above = world.base().join("above");
    fs::create_dir(&above).expect("writable");
    fs::rename(&world.root, above.join("code")).expect("writable");
    fs::write(above.join("b"), "1\n").expect("writable");
    world.root = above.join("code");
    world.cwd.clone_from(&world.root);
    message(&mut world, "m1", &[&above]);
    world.step(|world| {
        world.write("a", "2\n");
        world.write("new", "2\n");
        fs::write(above.join("b"), "2\n").expect("writable");
    });
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
    assert_eq!(
        (world.read("a"), read(&above.join("b"))),
        ("1\n".into(), "1\n".into())
    );
    assert!(!world.exists("new"));
    let above_alone = (String::from("above"), vec![String::from("b")]);
    assert_eq!(moved(&report)[1], above_alone, "each file is told of once");
    let cwd = world.cwd.clone();
    let Ok(ShowReport::Message { roots, .. }) = world.store.show(&cwd, "m1") else {
        panic!("it is a message");
    };
    let shown: Vec<&str> = roots[0].changes.iter().map(|it| &*it.path.path).collect();
    assert_eq!(shown, ["b"]);
    world.unrevert();
    assert_eq!(
        (world.read("a"), read(&above.join("b"))),
        ("2\n".into(), "2\n".into())
    );
    assert_eq!(world.read("new"), "2\n");
}

/// A command in a root that was renamed finds it, and so does one in another root from then on.
#[test]
fn renamed_first_root_is_followed() {
    let (mut world, other) = with_two();
    message(&mut world, "m1", &[&other]);
    world.step(|world| {
        world.write("a", "2\n");
        fs::write(other.join("b"), "2\n").expect("writable");
    });
    let renamed = world.base().join("renamed");
    fs::rename(&world.root, &renamed).expect("writable");
    world.root.clone_from(&renamed);
    world.cwd.clone_from(&renamed);
    for dry_run in [true, false] {
        let request = RevertRequest {
            dry_run,
            ..to("m1")
        };
        let report = world.try_revert(&request).expect("both are there");
        assert!(!tells(&report, "other directories"), "{:?}", report.notes);
    }
    world.unrevert();
    world.cwd.clone_from(&other);
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
    assert_eq!(read(&renamed.join("a")), "1\n");
    assert_eq!(read(&other.join("b")), "1\n");
}

/// A root that is away is named, does not stop the rest, and goes back when it is there again.
#[test]
fn root_that_is_away_is_named() {
    let (mut world, other) = with_two();
    message(&mut world, "m1", &[&other]);
    world.step(|world| {
        world.write("a", "2\n");
        fs::write(other.join("b"), "2\n").expect("writable");
    });
    let away = world.base().join("away");
    fs::rename(&other, &away).expect("writable");
    let report = world.revert("m1");
    assert_eq!(world.read("a"), "1\n");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
    assert!(tells(&report, "not there now"), "{:?}", report.notes);
    fs::rename(&away, &other).expect("writable");
    let report = world.revert("m1");
    assert_eq!(read(&other.join("b")), "1\n", "{report:#?}");
    world.unrevert();
    assert_eq!(
        (world.read("a"), read(&other.join("b"))),
        ("2\n".into(), "2\n".into())
    );
}

/// Nothing is written in any root before everything is checked in all of them.
#[test]
fn refusal_in_one_root_stops_all() {
    let (mut world, other) = with_two();
    message(&mut world, "m1", &[&other]);
    world.step(|world| {
        world.write("a", "2\n");
        fs::write(other.join("b"), "2\n").expect("writable");
    });
    // The state that it goes back to is damaged in the second root alone.
    let connection = rusqlite::Connection::open(world.base().join("store/sessions.db"));
    let connection = connection.expect("it is there");
    let key: String = connection
        .query_row(
            "SELECT key FROM workspaces WHERE path = ?1",
            [other.to_str().expect("a plain path")],
            |row| row.get(0),
        )
        .expect("it is known");
    let packs = world
        .base()
        .join("store/snapshots")
        .join(key)
        .join("repository.git/objects/pack");
    for entry in fs::read_dir(packs).expect("it is there") {
        fs::remove_file(entry.expect("an entry").path()).expect("writable");
    }
    world.remove_tree(other.join(".git"));
    let refused = world.try_revert(&to("m1"));
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(world.read("a"), "2\n", "the first root is as it was");
    assert_eq!(read(&other.join("b")), "2\n");
}

/// A limit to a workspace leaves the other roots alone.
#[test]
fn limited_revert_leaves_other_roots() {
    let (mut world, other) = with_two();
    message(&mut world, "m1", &[&other]);
    world.step(|world| {
        world.write("a", "2\n");
        fs::write(other.join("b"), "2\n").expect("writable");
    });
    world.store.limit_to_workspace();
    let report = world.revert("m1");
    assert_eq!(
        (world.read("a"), read(&other.join("b"))),
        ("1\n".into(), "2\n".into())
    );
    let named = report
        .notes
        .iter()
        .any(|note| note.contains("other directories"));
    assert!(named, "the rest is named: {:?}", report.notes);
}

/// Paths of a revert are looked for in all roots.
#[test]
fn paths_of_two_roots_go_back() {
    let (mut world, other) = with_two();
    fs::write(other.join("c"), "1\n").expect("writable");
    message(&mut world, "m1", &[&other]);
    world.step(|world| {
        world.write("a", "2\n");
        world.write("d", "2\n");
        fs::write(other.join("b"), "2\n").expect("writable");
        fs::write(other.join("c"), "2\n").expect("writable");
    });
    let mut request = to("m1");
    request.only = vec![world.path("a"), other.join("b")];
    world.try_revert(&request).expect("both are known");
    assert_eq!(
        (world.read("a"), world.read("d")),
        ("1\n".into(), "2\n".into())
    );
    assert_eq!(
        (read(&other.join("b")), read(&other.join("c"))),
        ("1\n".into(), "2\n".into())
    );
}

/// Two sessions that share a root: a revert of one leaves the work of the other.
#[test]
fn sessions_that_share_a_root_stay_apart() {
    let (mut world, other) = with_two();
    let third = repository(&world, "third");
    message(&mut world, "m1", &[&other]);
    world.step(|world| {
        world.write("a", "2\n");
        fs::write(other.join("b"), "2\n").expect("writable");
    });
    let event = Event {
        message_id: Some("n1".to_owned()),
        cwd: Some(third.clone()),
        roots: vec![other.clone()],
        ..world.event(EventKind::UserMessage, "s2")
    };
    world.send(&event);
    let cwd = std::mem::replace(&mut world.cwd, third.clone());
    world.start_in("s2");
    fs::write(third.join("b"), "2\n").expect("writable");
    fs::write(other.join("theirs"), "2\n").expect("writable");
    world.finish_in("s2");
    world.cwd = cwd;
    world.revert("m1");
    assert_eq!(
        (world.read("a"), read(&other.join("b"))),
        ("1\n".into(), "1\n".into())
    );
    assert_eq!(
        (read(&third.join("b")), read(&other.join("theirs"))),
        ("2\n".into(), "2\n".into())
    );
}

/// A message that moves no file of the first root is one of it all the same.
#[test]
fn message_may_touch_the_second_root_only() {
    let (mut world, other) = with_two();
    message(&mut world, "m1", &[&other]);
    world.step(|_| fs::write(other.join("b"), "2\n").expect("writable"));
    message(&mut world, "m2", &[]);
    world.step(|world| world.write("a", "2\n"));
    world.revert("m1");
    assert_eq!(
        (world.read("a"), read(&other.join("b"))),
        ("1\n".into(), "1\n".into())
    );
    world.redo();
    assert_eq!(
        (world.read("a"), read(&other.join("b"))),
        ("1\n".into(), "2\n".into())
    );
    // What is reverted becomes permanent in all roots.
    world.unrevert();
    world.revert("m1");
    message(&mut world, "m3", &[]);
    world.step(|_| fs::write(other.join("b"), "3\n").expect("writable"));
    let report = world.revert("m3");
    assert_eq!(read(&other.join("b")), "1\n", "{report:#?}");
}

/// A work tree that the agent makes and goes to is a root from then on.
#[test]
fn work_tree_of_the_agent_becomes_a_root() {
    let mut world = World::git(&[("a", "1\n")]);
    let tree = world.base().join("tree");
    world.message("m1");
    world.start();
    world.start_shell();
    world.run_git(&["worktree", "add", "-q", "../tree", "-b", "x"]);
    world.tool_finish_in("s1", "t");
    world.finish();
    let in_tree = |world: &World, kind| Event {
        cwd: Some(tree.clone()),
        ..world.shell(kind)
    };
    world.send(&Event {
        tool_use_id: None,
        ..in_tree(&world, EventKind::StepStart)
    });
    world.send(&in_tree(&world, EventKind::ToolStart));
    fs::write(tree.join("a"), "2\n").expect("writable");
    world.send(&in_tree(&world, EventKind::ToolFinish));
    world.send(&Event {
        tool_use_id: None,
        ..in_tree(&world, EventKind::StepFinish)
    });
    // The next message comes from there, and is one of the same session.
    let event = Event {
        message_id: Some("m2".to_owned()),
        cwd: Some(tree.clone()),
        ..world.event(EventKind::UserMessage, "s1")
    };
    world.send(&event);
    world.start();
    world.start_shell();
    world.write("a", "3\n");
    fs::write(tree.join("a"), "3\n").expect("writable");
    world.tool_finish_in("s1", "t");
    world.finish();
    world.revert("m2");
    assert_eq!(
        (world.read("a"), read(&tree.join("a"))),
        ("1\n".into(), "2\n".into())
    );
    world.revert("m1");
    assert_eq!(
        (world.read("a"), read(&tree.join("a"))),
        ("1\n".into(), "1\n".into())
    );
}

/// What is forgotten of a session, or of a message, is forgotten in all its roots.
#[test]
fn forget_reaches_all_roots() {
    let (mut world, other) = with_two();
    message(&mut world, "m1", &[&other]);
    world.step(|_| fs::write(other.join("b"), "a secret of the second root\n").expect("writable"));
    let cwd = world.cwd.clone();
    let end = world.event(EventKind::SessionEnd, "s1");
    world.send(&end);
    let what = ckpt_store::Forget::Session("s1".to_owned());
    let report = world
        .store
        .forget(&cwd, &what, DryRun::No)
        .expect("it is idle");
    assert_eq!(report.workspaces.len(), 2, "{report:#?}");
    let log = world
        .store
        .log(&other, &LogFilter::default())
        .expect("readable");
    assert!(
        log.messages.iter().all(|message| message.prompt.is_none()),
        "{log:#?}"
    );
}

/// The agent learns what went back in a further root, by its full path.
#[test]
fn agent_learns_what_went_back_elsewhere() {
    let (mut world, other) = with_two();
    message(&mut world, "m1", &[&other]);
    world.step(|_| fs::write(other.join("b"), "2\n").expect("writable"));
    world.revert("m1");
    let report = world.message("m2");
    let named: Vec<&str> = report
        .went_back
        .iter()
        .map(|file| &*file.path.path)
        .collect();
    assert_eq!(named, [other.join("b").to_str().expect("a plain path")]);
}
