//! An edit tool that names its file through a link: the link and the file that it leads to are both the agent's.

use std::path::Path;

use ckpt_schema::report::{OperationReport, Outcome};
use ckpt_schema::{Event, EventKind, ToolKind};
use ckpt_store::{OnConflict, RevertRequest};
use testing::scenario::{World, paths_with, set_clock_from_files, to};

/// A tool of `s1` that names a path, in a step of its own, with what it does.
fn edit(world: &mut World, named: impl AsRef<Path>, work: impl FnOnce(&World)) {
    let named = world.path(named);
    let event = |world: &World, kind| Event {
        tool_use_id: Some("t".to_owned()),
        tool_kind: Some(ToolKind::Edit),
        paths: vec![named.clone()],
        ..world.event(kind, "s1")
    };
    world.start();
    let start = event(world, EventKind::ToolStart);
    world.send(&start);
    work(world);
    let finish = event(world, EventKind::ToolFinish);
    world.send(&finish);
    world.finish();
}

/// A world with links of every kind to `rules` and `real/x`.
fn linked() -> World {
    let world = World::new();
    world.write("rules", "1\n");
    world.write("real/x", "1\n");
    world.link("link", "rules");
    world.link("chain", "link");
    world.link("folder", "real");
    world.link("deep/up", "../real");
    world.link("absolute", world.path("rules"));
    world.link("root", &world.root);
    world
}

/// Invariant `truth/links-of-a-tool`: A path that a tool names through links is its own at
/// every link, and where it leads.
#[test]
fn edit_through_a_link_goes_back() {
    for (named, file) in [
        ("link", "rules"),
        ("chain", "rules"),
        ("absolute", "rules"),
        ("folder/x", "real/x"),
        ("deep/up/x", "real/x"),
        ("deep/up/../rules", "rules"),
        ("root/folder/x", "real/x"),
    ] {
        let mut world = linked();
        let before = world.tree();
        world.message("m1");
        edit(&mut world, named, |world| world.write(file, "2\n"));
        let report = world.revert("m1");
        assert_eq!(report.outcome, Outcome::Restored, "{named}: {report:#?}");
        assert_eq!(world.tree(), before, "{named}");
        world.unrevert();
        assert_eq!(world.read(file), "2\n", "{named}, and comes back");
    }
}

#[test]
fn file_made_through_a_dangling_link_goes() {
    let mut world = World::new();
    world.make_directory("real");
    world.link("dangling", "real/new");
    world.link("folder", "real");
    let before = world.tree();
    world.message("m1");
    edit(&mut world, "dangling", |world| {
        world.write("real/new", "2\n")
    });
    edit(&mut world, "folder/deep/f", |world| {
        world.write("real/deep/f", "2\n")
    });
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
    assert_eq!(world.tree(), before);
}

/// Invariant `truth/links-of-a-tool`.
#[test]
fn link_that_the_tool_replaced_comes_back() {
    let mut world = linked();
    let before = world.tree();
    world.message("m1");
    edit(&mut world, "chain", |world| {
        world.remove("chain");
        world.write("chain", "a file now\n");
    });
    edit(&mut world, "absolute", |world| {
        world.remove("absolute");
        world.link("absolute", "real/x");
    });
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
    assert_eq!(world.tree(), before);
}

/// Links that the turn itself makes or turns are followed as they are when a tool names them.
///
/// Invariant `truth/links-of-a-tool`.
#[test]
fn edit_through_a_new_link_goes_back() {
    for named in ["new", "folder/new", "turned", "swapped/x"] {
        let mut world = linked();
        world.write("other/x", "1\n");
        world.link("turned", "real/x");
        world.link("swapped", "real");
        let before = world.tree();
        world.message("m1");
        world.step(|world| {
            world.link("new", "chain");
            world.link("real/new", "../other/x");
            for (link, target) in [("turned", "folder/x"), ("swapped", "other")] {
                world.remove(link);
                world.link(link, target);
            }
        });
        edit(&mut world, named, |world| world.write(named, "2\n"));
        // While the model thinks, and so by hand.
        world.write("by hand", "x\n");
        let report = world.revert("m1");
        assert_eq!(report.outcome, Outcome::Restored, "{named}: {report:#?}");
        assert!(world.exists("by hand"), "{named}: {report:#?}");
        world.remove("by hand");
        assert_eq!(world.tree(), before, "{named}");
    }
}

/// A tool that names a link reaches nothing else: what its user saves meanwhile stays.
#[test]
fn other_files_stay_the_users() {
    let mut world = linked();
    world.write("other", "1\n");
    world.message("m1");
    edit(&mut world, "link", |world| {
        world.write("rules", "2\n");
        world.write("other", "by hand\n");
    });
    world.revert("m1");
    assert_eq!(world.read("rules"), "1\n");
    assert_eq!(world.read("other"), "by hand\n");
}

fn outside_of(report: &OperationReport) -> String {
    format!("{report:?}")
}

/// Nothing in `.git` is captured, so what a tool named there is named, through a link as well.
#[test]
fn edit_inside_the_repository_is_named() {
    for named in [".git/description", "link"] {
        let mut world = World::git(&[("a", "1\n")]);
        world.link("link", ".git/description");
        world.message("m1");
        edit(&mut world, named, |world| {
            world.write(".git/description", "agent\n")
        });
        let report = world.revert("m1");
        let about = report.remarks.iter().flat_map(|note| &note.about);
        let about: Vec<&str> = about.map(String::as_str).collect();
        assert_eq!(about, [".git/description"], "{named}: {report:#?}");
    }
}

#[test]
fn link_out_of_the_workspace_is_named() {
    let mut world = World::new();
    let outside = world.base().join("elsewhere");
    std::fs::write(&outside, "1\n").expect("writable");
    world.link("out", &outside);
    let before = world.tree();
    world.message("m1");
    edit(&mut world, "out", |_| {
        std::fs::write(&outside, "2\n").expect("writable");
    });
    let report = world.try_revert(&to("m1")).expect("nobody is at work");
    assert!(outside_of(&report).contains("elsewhere"), "{report:#?}");
    assert_eq!(world.tree(), before, "the link is as it was");
}

/// The agent knows the workspace, or a file in it, by a name outside.
#[test]
fn link_into_the_workspace_is_followed() {
    let mut world = linked();
    let (file, folder) = (world.base().join("to-file"), world.base().join("to-folder"));
    std::os::unix::fs::symlink(world.path("rules"), &file).expect("writable");
    std::os::unix::fs::symlink(&world.root, &folder).expect("writable");
    let before = world.tree();
    world.message("m1");
    edit(&mut world, &file, |world| world.write("rules", "2\n"));
    edit(&mut world, folder.join("folder/x"), |world| {
        world.write("real/x", "2\n")
    });
    let report = world.revert("m1");
    assert_eq!(
        paths_with(&report, ckpt_schema::report::FileResult::Done),
        ["real/x", "rules"]
    );
    assert_eq!(world.tree(), before);
}

#[test]
fn ignored_file_behind_a_link_goes_back() {
    let mut world = World::git(&[(".gitignore", "*.local\n"), ("a", "1\n")]);
    world.write("settings.local", "1\n");
    world.link("settings", "settings.local");
    let before = world.read("settings.local");
    world.message("m1");
    edit(&mut world, "settings", |world| {
        world.write("settings.local", "2\n")
    });
    let report = world.revert("m1");
    assert_eq!(world.read("settings.local"), before, "{report:#?}");
    assert!(world.path("settings").is_symlink());
}

/// Edit through one hard link goes back under all.
///
/// A file with two names changes under both, whichever of them a tool named.
///
/// Invariant `truth/links-of-a-tool`.
#[test]
fn edit_through_a_hard_link_goes_back_everywhere() {
    set_clock_from_files(0);
    let mut world = World::git(&[("a", "1\n"), ("mine", "1\n")]);
    std::fs::hard_link(world.path("a"), world.path("l")).expect("one file system");
    world.message("m1");
    edit(&mut world, "l", |world| world.write("l", "agent\n"));
    world.write("mine", "by hand\n");
    let report = world.revert("m1");
    let texts = ["a", "l", "mine"].map(|path| world.read(path));
    assert_eq!(texts, ["1\n", "1\n", "by hand\n"], "{report:#?}");
}

/// A part is named through a link as well as by where that leads; a link is a name of its own, too.
///
/// Invariant `truth/links-of-a-tool`.
#[test]
fn part_is_named_through_a_link() {
    let begin = || {
        let mut world = World::new();
        world.write("d/f", "1\n");
        world.write("g", "1\n");
        for (link, target) in [
            ("folder", "d"),
            ("file", "folder/f"),
            ("d/up", "../d"),
            ("other", "g"),
        ] {
            world.link(link, target);
        }
        world.turn("m1", |world| {
            world.write("d/f", "2\n");
            world.write("g", "2\n");
            world.remove("other");
            world.link("other", "d/f");
        });
        world
    };
    for named in ["folder/f", "file", "folder", "d/up/f"] {
        let mut world = begin();
        let only = RevertRequest {
            only: vec![world.path(named)],
            ..to("m1")
        };
        let report = world.try_revert(&only).expect("it is known");
        assert_eq!(report.outcome, Outcome::Restored, "{named}: {report:#?}");
        assert!(report.notes.is_empty(), "{named}: {report:#?}");
        assert_eq!(
            (world.read("d/f"), world.read("g")),
            ("1\n".into(), "2\n".into())
        );
        let mut world = begin();
        let message = world.log().messages[0].id.clone();
        let report = world.restore(&message, &[named]);
        assert!(report.notes.is_empty(), "{named}: {report:#?}");
        assert_eq!(
            (world.read("d/f"), world.read("g")),
            ("1\n".into(), "2\n".into())
        );
    }
    let mut world = begin();
    let only = RevertRequest {
        only: vec![world.path("other")],
        ..to("m1")
    };
    world.try_revert(&only).expect("it is known");
    let target = std::fs::read_link(world.path("other")).expect("a link");
    assert_eq!(target, std::path::Path::new("g"), "the link went back");
    assert_eq!(world.read("d/f"), "1\n", "and so did where it led");
}

/// Where edits are overwritten, a named link that itself goes back is, and not the file that it leads to.
#[test]
fn overwriting_a_link_spares_where_it_leads() {
    let begin = || {
        let mut world = World::new();
        for name in ["one", "two", "notes"] {
            world.write(name, "1\n");
        }
        world.link("link", "one");
        world.turn("m1", |world| {
            world.remove("link");
            world.link("link", "two");
            world.write("notes", "agent\n");
        });
        world.remove("link");
        world.link("link", "notes");
        world.write("notes", "mine\n");
        world
    };
    let leads = |world: &World| std::fs::read_link(world.path("link")).expect("a link");
    let overwrite = |world: &World, names: &[&str]| RevertRequest {
        only: names.iter().map(|name| world.path(name)).collect(),
        on_conflict: OnConflict::Overwrite,
        ..to("m1")
    };
    let mut world = begin();
    let only = overwrite(&world, &["link"]);
    let report = world.try_revert(&only).expect("it is known");
    assert_eq!(leads(&world), Path::new("one"), "{report:#?}");
    assert_eq!(world.read("notes"), "mine\n", "{report:#?}");

    let mut world = begin();
    let both = overwrite(&world, &["link", "notes"]);
    world.try_revert(&both).expect("it is known");
    assert_eq!(leads(&world), Path::new("one"));
    assert_eq!(world.read("notes"), "1\n", "it was named itself");

    let mut world = begin();
    let message = world.log().messages[0].id.clone();
    let report = world.restore(&message, &["link"]);
    assert_eq!(leads(&world), Path::new("one"), "{report:#?}");
    assert_eq!(world.read("notes"), "mine\n", "{report:#?}");

    let mut world = World::new();
    world.write("f", "1\n");
    world.link("link", "f");
    world.turn("m1", |world| world.write("f", "2\n"));
    world.write("f", "mine\n");
    let only = overwrite(&world, &["link"]);
    world.try_revert(&only).expect("it is known");
    assert_eq!(world.read("f"), "1\n", "a link that stayed is a name");
}

/// What a tool names of git's own files is told, and costs none of the others.
#[test]
fn named_file_of_git_stays_and_is_told() {
    let mut world = World::git(&[("a", "1\n")]);
    world.message("m1");
    world.start();
    world.tool_start_in("s1", "t", &[".git/config", "a"]);
    world.write("a", "2\n");
    world.run_git(&["config", "agent.was", "here"]);
    world.tool_finish_in("s1", "t");
    world.finish();
    let report = world.revert("m1");
    assert_eq!(world.read("a"), "1\n", "{report:#?}");
    assert_eq!(world.run_git(&["config", "agent.was"]).trim(), "here");
    let notes = report.remarks.iter().flat_map(|note| &note.about);
    assert!(
        notes.into_iter().any(|path| path == ".git/config"),
        "{report:#?}"
    );
}
