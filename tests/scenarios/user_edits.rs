//! What the user changed is kept, merged or reported; never lost.

use ckpt_schema::report::{FileAction, FileResult, Outcome};
use ckpt_store::model::request::OnConflict;

use testing::scenario::{World, paths_with, to_with, with_result};

const TEN_LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

/// A file that the agent did not touch is identical after revert and unrevert.
#[test]
fn untouched_file_is_identical_after_round_trips() {
    let mut world = World::new();
    world.write("users", "1\n");
    world.turn("m1", |world| world.write("agents", "x\n"));
    world.write("users", "edited after\n");
    let stamp = world.stamp("users");
    world.revert("m1");
    assert_eq!(world.stamp("users"), stamp, "not even looked at");
    world.unrevert();
    assert_eq!(world.stamp("users"), stamp, "nor on the way back");
    assert_eq!(
        world.read("users"),
        "edited after\n",
        "and the user's edit is there"
    );
}

/// What changed between steps is outside change and stays.
///
/// Invariant `truth/between-steps`.
#[test]
fn outside_change_stays() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.message("m1");
    world.step(|world| world.write("b", "agent\n"));
    world.write("a", "user, while the model thinks\n");
    world.step(|world| world.write("c", "agent\n"));
    world.revert("m1");
    assert_eq!(
        world.read("a"),
        "user, while the model thinks\n",
        "nobody's but the user's"
    );
    assert!(
        !world.exists("b") && !world.exists("c"),
        "the agent's are gone"
    );
}

/// An edit in other lines of the same file is kept and the agent's lines go.
#[test]
fn edit_of_other_lines_is_kept() {
    let mut world = World::new();
    world.write("a", TEN_LINES);
    world.turn("m1", |world| {
        world.write("a", TEN_LINES.replace("2\n", "agent\n"))
    });
    world.write(
        "a",
        TEN_LINES.replace("2\n", "agent\n").replace("9\n", "user\n"),
    );
    let edited = world.tree();
    let report = world.revert("m1");
    assert_eq!(
        world.read("a"),
        TEN_LINES.replace("9\n", "user\n"),
        "taken apart by line"
    );
    assert_eq!(report.files[0].action, FileAction::Merge, "and said so");
    assert_eq!(report.outcome, Outcome::Restored, "nothing was left over");
    world.unrevert();
    assert_eq!(world.tree(), edited, "the way back is exact");
}

/// An edit of the same lines is a conflict that is kept and reported.
#[test]
fn edit_of_the_same_lines_is_a_conflict() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.write("b", "0\n");
    world.turn("m1", |world| {
        world.write("a", "agent\n");
        world.write("b", "agent\n");
    });
    world.write("a", "user\n");
    let stamp = world.stamp("a");
    let report = world.revert("m1");
    assert_eq!(world.read("a"), "user\n", "kept");
    assert_eq!(world.stamp("a"), stamp, "untouched");
    assert_eq!(world.read("b"), "0\n", "the other file is back");
    assert_eq!(
        report.outcome,
        Outcome::Partial,
        "and nobody says that all is well"
    );
    let conflicts = with_result(&report, FileResult::Conflict);
    assert_eq!(conflicts.len(), 1, "one file");
    assert!(
        conflicts[0]
            .reason
            .as_deref()
            .is_some_and(|reason| reason.contains("you")),
        "who: {conflicts:?}"
    );
}

/// Overwrite takes the old side and unrevert brings the user's text back.
#[test]
fn overwritten_text_returns_by_unrevert() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.turn("m1", |world| world.write("a", "agent\n"));
    world.write("a", "user\n");
    world
        .try_revert(&to_with("m1", OnConflict::Overwrite))
        .expect("asked for");
    assert_eq!(world.read("a"), "0\n", "the user's word");
    world.unrevert();
    assert_eq!(world.read("a"), "user\n", "the bytes were stored");
}

#[test]
fn keep_merges_nothing() {
    let mut world = World::new();
    world.write("a", TEN_LINES);
    world.turn("m1", |world| {
        world.write("a", TEN_LINES.replace("2\n", "agent\n"))
    });
    let edited = TEN_LINES.replace("2\n", "agent\n").replace("9\n", "user\n");
    world.write("a", &edited);
    let report = world
        .try_revert(&to_with("m1", OnConflict::Keep))
        .expect("asked for");
    assert_eq!(world.read("a"), edited, "left alone");
    assert_eq!(
        paths_with(&report, FileResult::Conflict),
        ["a"],
        "and reported"
    );
}

/// A change that the user undid by hand is nothing to do.
#[test]
fn change_undone_by_hand_is_nothing() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.turn("m1", |world| world.write("a", "agent\n"));
    world.write("a", "0\n");
    let stamp = world.stamp("a");
    let report = world.revert("m1");
    assert_eq!(world.stamp("a"), stamp, "not written again");
    assert_ne!(report.outcome, Outcome::Partial, "no conflict: {report:?}");
}

/// A file that the agent made and the user edited is kept.
#[test]
fn made_and_edited_file_is_kept() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("made", "agent\n"));
    world.write("made", "agent, and the user's work on it\n");
    let report = world.revert("m1");
    assert_eq!(
        world.read("made"),
        "agent, and the user's work on it\n",
        "never deleted"
    );
    assert_eq!(
        paths_with(&report, FileResult::Conflict),
        ["made"],
        "and reported"
    );
}

/// A file that the user deleted after the agent edited it is reported.
#[test]
fn edited_and_deleted_file_is_reported() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.turn("m1", |world| world.write("a", "agent\n"));
    world.remove("a");
    let report = world.revert("m1");
    assert!(!world.exists("a"), "the user wanted it gone");
    assert_eq!(
        paths_with(&report, FileResult::Conflict),
        ["a"],
        "and hears of it"
    );
}

/// A file replaced by a pipe is left alone.
#[test]
fn file_replaced_by_a_pipe_is_left() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.turn("m1", |world| world.write("a", "agent\n"));
    world.remove("a");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        world.path("a"),
        rustix::fs::Mode::from_raw_mode(0o644),
    )
    .expect("a pipe");
    let report = world.revert("m1");
    assert!(
        !with_result(&report, FileResult::Conflict).is_empty()
            || report.outcome != Outcome::Restored,
        "{report:?}"
    );
    let kind = world
        .path("a")
        .symlink_metadata()
        .expect("it is there")
        .file_type();
    assert!(!kind.is_file(), "the pipe is still there");
}

/// Committing or staging the agent's changes leaves head and index alone on revert.
///
/// Invariant `work/git-untouched`.
#[test]
fn revert_leaves_head_and_index_alone() {
    let mut world = World::git(&[("a", "0\n")]);
    world.turn("m1", |world| {
        world.write("a", "agent\n");
        world.write("made", "agent\n");
    });
    world.run_git(&["add", "-A"]);
    world.run_git(&["commit", "-qm", "the agent's work"]);
    world.write("a", "agent\nstaged\n");
    world.run_git(&["add", "a"]);
    world.write("a", "agent\n");
    let state = |world: &World| {
        let read = |path: &str| std::fs::read(world.path(path)).expect("it is there");
        (
            read(".git/index"),
            read(".git/HEAD"),
            world.run_git(&["rev-parse", "HEAD"]),
        )
    };
    let before = state(&world);
    let report = world.revert("m1");
    assert_eq!(world.read("a"), "0\n", "the files go back");
    assert_eq!(state(&world), before, "git's state does not");
    assert!(
        report.notes.iter().any(|note| note.contains("HEAD")),
        "and the report says so: {:?}",
        report.notes
    );
}

/// A revert in the middle of a merge works on files only.
#[test]
fn revert_during_a_merge_is_files_only() {
    let mut world = World::git(&[("a", "0\n")]);
    world.run_git(&["checkout", "-qb", "other"]);
    world.write("a", "other\n");
    world.run_git(&["commit", "-qam", "other"]);
    world.run_git(&["checkout", "-q", "main"]);
    world.write("b", "1\n");
    world.run_git(&["add", "b"]);
    world.run_git(&["commit", "-qm", "main"]);
    world.run_git(&["merge", "--no-commit", "-q", "other"]);
    world.turn("m1", |world| world.write("b", "agent\n"));
    world.revert("m1");
    assert_eq!(world.read("b"), "1\n", "the file is back");
    assert!(world.exists(".git/MERGE_HEAD"), "the merge goes on");
}

/// The mode of a file and its text are undone apart.
#[test]
fn mode_and_text_are_undone_apart() {
    let mut world = World::new();
    world.write("script", "1\n");
    world.turn("m1", |world| world.chmod("script", 0o755));
    world.write("script", "user\n");
    world.revert("m1");
    assert_eq!(
        (world.read("script").as_str(), world.mode("script")),
        ("user\n", 0o644),
        "mode back, text kept"
    );
}

#[test]
fn a_private_file_comes_back_private() {
    let mut world = World::new();
    world.write("secret", "1\n");
    world.chmod("secret", 0o600);
    world.turn("m1", |world| world.remove("secret"));
    world.revert("m1");
    assert_eq!(world.mode("secret"), 0o600, "not 644");
    assert_eq!(world.read("secret"), "1\n", "with its bytes");
}

/// A parent directory that became a link is not written through.
#[test]
fn linked_parent_is_not_written_through() {
    let mut world = World::new();
    world.write("dir/a", "0\n");
    world.turn("m1", |world| {
        world.remove("dir/a");
        world.remove_directory("dir");
        world.link("dir", "../outside");
    });
    std::fs::create_dir(world.base().join("outside")).expect("a directory beside the workspace");
    std::fs::write(world.base().join("outside/a"), "not ours\n").expect("writable");
    world.revert("m1");
    assert_eq!(
        std::fs::read_to_string(world.base().join("outside/a")).expect("it is there"),
        "not ours\n",
        "untouched"
    );
    assert_eq!(world.read("dir/a"), "0\n", "the directory is back");
    assert!(
        !world
            .path("dir")
            .symlink_metadata()
            .expect("there")
            .is_symlink(),
        "and is a directory"
    );
}

#[test]
fn ignored_files_are_neither_captured_nor_deleted() {
    let mut world = World::git(&[(".gitignore", "*.log\n/build/\n"), ("a", "1\n")]);
    world.write("old.log", "1\n");
    world.turn("m1", |world| {
        world.write("new.log", "x\n");
        world.write("build/out", "x\n");
        world.remove("old.log");
        world.write("src/made", "x\n");
    });
    world.revert("m1");
    assert!(
        world.exists("new.log") && world.exists("build/out"),
        "ignored files stay"
    );
    assert!(
        !world.exists("old.log"),
        "and one that was deleted stays deleted"
    );
    assert!(!world.exists("src"), "what is not ignored went");
}

/// Files that come into view because ignore rules changed are not the agent's.
///
/// Invariant `truth/ignore-rules-changed`: A change of ignore rules neither creates nor deletes
/// files.
#[test]
fn files_coming_into_view_are_not_the_agents() {
    let mut world = World::git(&[(".gitignore", "*.log\n"), ("a", "1\n")]);
    world.write("mine.log", "1\n");
    world.turn("m1", |world| world.write(".gitignore", ""));
    world.revert("m1");
    assert_eq!(world.read("mine.log"), "1\n", "nobody made it");
    assert_eq!(world.read(".gitignore"), "*.log\n", "the rules are back");
}

/// Files that go out of view because ignore rules changed are not deleted.
///
/// Invariant `truth/ignore-rules-changed`.
#[test]
fn files_going_out_of_view_are_not_deleted() {
    let mut world = World::git(&[(".gitignore", ""), ("a", "1\n")]);
    world.write("mine.log", "1\n");
    let report = world.turn("m1", |world| world.write(".gitignore", "*.log\n"));
    assert_eq!(report.changes, Some(1), "only the rules changed");
    let stamp = world.stamp("mine.log");
    world.revert("m1");
    assert_eq!(world.stamp("mine.log"), stamp, "untouched");
}

/// Files in view because an ignore file that ignores itself changed or went are not the
/// agent's.
///
/// Invariant `truth/ignore-rules-changed`.
#[test]
fn self_ignoring_rules_change_no_owner() {
    let changes: [fn(&World); 3] = [
        |world| world.write("data/.gitignore", ".gitignore\n"),
        |world| world.write("data/.gitignore", "other\n"),
        |world| std::fs::remove_file(world.path("data/.gitignore")).expect("it is there"),
    ];
    for change in changes {
        let mut world = World::git(&[("a", "1\n")]);
        world.write("data/mine", "1\n");
        world.write("data/.gitignore", "*\n");
        world.turn("m1", |world| world.write("a", "2\n"));
        world.turn("m2", change);
        world.revert("m1");
        assert_eq!(world.read("data/mine"), "1\n", "nobody made it");
        assert_eq!(world.read("a"), "1\n", "the agent's change is taken back");
    }
}

/// An ignored file that an edit tool names is put back.
#[test]
fn ignored_file_named_by_a_tool_returns() {
    let mut world = World::git(&[(".gitignore", ".conf\n"), ("a", "1\n")]);
    world.write(".conf", "SECRET=1\n");
    let before = world.tree();
    world.message("m1");
    world.tool_start_in("s1", "t1", &[".conf", "new.conf/.conf"]);
    world.write(".conf", "SECRET=2\n");
    world.write("new.conf/.conf", "made\n");
    world.tool_finish_in("s1", "t1");
    let report = world.finish();
    assert_eq!(report.changes, Some(2), "both are known");
    let after = world.tree();
    world.revert("m1");
    assert_eq!(world.tree(), before, "put back, and taken away");
    world.unrevert();
    assert_eq!(world.tree(), after, "and there is a way back");
}

/// A file above the cap is named and not deleted.
///
/// Invariant `work/gaps`.
#[test]
fn file_above_the_cap_is_named() {
    let mut world = World::with(ckpt_store::Settings {
        max_file_size: 1000,
        ..ckpt_store::Settings::default()
    });
    world.write("a", "1\n");
    world.turn("m1", |world| {
        world.write("a", "2\n");
        world.write("large", vec![b'x'; 5000]);
    });
    let report = world.revert("m1");
    assert_eq!(world.read("a"), "1\n", "what is stored goes back");
    assert!(world.exists("large"), "what is not stays");
    assert_eq!(
        paths_with(&report, FileResult::Gap),
        ["large"],
        "and is named: {report:?}"
    );
    assert_eq!(report.outcome, Outcome::Partial, "all is not well");
}

/// A tracked file that grows above the cap goes back to the small state.
#[test]
fn tracked_file_returns_from_above_the_cap() {
    let mut world = World::git(&[("a", "small\n")]);
    world.reopen(ckpt_store::Settings {
        max_file_size: 1000,
        ..ckpt_store::Settings::default()
    });
    world.turn("m1", |world| world.write("a", vec![b'x'; 5000]));
    let large = world.tree();
    world.revert("m1");
    assert_eq!(world.read("a"), "small\n", "the cap is for untracked files");
    world.unrevert();
    assert_eq!(world.tree(), large, "and the large one is stored, too");
}

/// An untracked file that grows above the cap goes back when that is asked for.
#[test]
fn untracked_file_returns_from_above_on_request() {
    let mut world = World::with(ckpt_store::Settings {
        max_file_size: 1000,
        ..ckpt_store::Settings::default()
    });
    world.write("a", "small\n");
    world.turn("m1", |world| world.write("a", vec![b'x'; 5000]));
    let large = world.tree();
    let report = world.revert("m1");
    assert_eq!(
        world.tree(),
        large,
        "whether the user worked on it since cannot be told"
    );
    assert_eq!(
        paths_with(&report, FileResult::Gap),
        ["a"],
        "so it is named"
    );
    world
        .try_revert(&to_with("m1", OnConflict::Overwrite))
        .expect("asked for");
    assert_eq!(world.read("a"), "small\n", "the small state is stored");
    world.unrevert();
    assert_eq!(
        world.tree(),
        large,
        "and what was replaced was stored before"
    );
}

/// Directories that are made again have the permissions that they had.
#[test]
fn remade_directories_have_their_permissions() {
    let mut world = World::new();
    world.write("private/closed/a", "0\n");
    world.chmod("private/closed", 0o711);
    world.chmod("private", 0o700);
    let before = world.tree();
    world.turn("m1", |world| {
        world.remove("private/closed/a");
        world.remove_directory("private/closed");
        world.remove_directory("private");
    });
    let after = world.tree();
    world.revert("m1");
    assert_eq!(world.tree(), before, "nobody else may look into it again");
    world.unrevert();
    assert_eq!(world.tree(), after, "and it goes again");
    let snapshot = world.log().messages[0].id.clone();
    world.restore(&snapshot, &[]);
    assert_eq!(world.tree(), before, "also where it is restored");
}
