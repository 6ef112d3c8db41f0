//! A restore keeps what the user changed since, and operations leave the files of an agent at work alone.

use ckpt_schema::report::{
    FileAction, FileResult, NoteCode, OperationReport, Outcome, PlanChoice, ReasonCode,
};
use ckpt_store::{ErrorKind, OnConflict, RestoreRequest, RevertRequest};

use testing::scenario::{World, to};

fn restore(world: &mut World, id: &str, paths: &[&str], overwrite_mine: bool) -> OperationReport {
    let cwd = world.cwd.clone();
    let request = RestoreRequest {
        id: id.to_owned(),
        paths: paths.iter().map(Into::into).collect(),
        overwrite_mine,
        ..RestoreRequest::default()
    };
    world.store.restore(&cwd, &request).expect("restorable")
}

fn yours(report: &OperationReport) -> Vec<(&str, FileAction)> {
    let files = report.files.iter();
    let yours = files.filter(|file| file.reason_code == Some(ReasonCode::Yours));
    yours
        .map(|file| (file.path.path.as_str(), file.action))
        .collect()
}

/// An hour of the user's in a file of their own, in one of the agent's, and in a new one.
fn an_hour() -> World {
    let mut world = World::new();
    world.write("notes", "1\n");
    world.write("both", "1\n");
    world.turn("m1", |world| {
        world.write("agents", "1\n");
        world.write("both", "2\n");
    });
    world.write("notes", "1\nan hour\n");
    world.write("both", "2\nmine\n");
    world.write("new", "mine\n");
    world
}

/// A restore keeps what the user changed since and names it.
///
/// Invariant `work/restore-keeps-yours`: A restore keeps what the user changed since, unless they name the file or agree.
#[test]
fn restore_keeps_what_the_user_changed() {
    let mut world = an_hour();
    let report = restore(&mut world, "m1", &[], false);
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
    let kept = ["both", "new", "notes"].map(|name| (name, FileAction::Keep));
    assert_eq!(yours(&report), kept, "named, each as the user's");
    assert_eq!(world.read("notes"), "1\nan hour\n");
    assert_eq!(world.read("both"), "2\nmine\n");
    assert_eq!(world.read("new"), "mine\n");
    assert!(!world.path("agents").exists(), "the agent's goes");
    let undone = world.undo(report.operation.as_deref().expect("something was done"));
    assert_eq!(undone.outcome, Outcome::Restored);
    assert_eq!(world.read("agents"), "1\n");
}

/// What the user agreed to goes back marked as theirs.
#[test]
fn agreed_file_goes_back_marked_as_yours() {
    let mut world = an_hour();
    let report = restore(&mut world, "m1", &[], true);
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
    let gone = [
        ("both", FileAction::Write),
        ("new", FileAction::Delete),
        ("notes", FileAction::Write),
    ];
    assert_eq!(yours(&report), gone);
    assert_eq!(world.read("notes"), "1\n");
    world.undo(report.operation.as_deref().expect("something was done"));
    assert_eq!(world.read("notes"), "1\nan hour\n");

    let mut world = an_hour();
    let report = restore(&mut world, "m1", &["notes"], false);
    assert_eq!(
        yours(&report),
        [("notes", FileAction::Write)],
        "it was named"
    );
    assert_eq!(world.read("both"), "2\nmine\n", "others stay");
}

/// A folder that is named does not name the user's files in it.
#[test]
fn named_folder_names_no_file_in_it() {
    let mut world = World::new();
    world.write("src/mine", "1\n");
    world.turn("m1", |world| world.write("src/theirs", "1\n"));
    world.write("src/mine", "2\n");
    let report = restore(&mut world, "m1", &["src"], false);
    assert_eq!(yours(&report), [("src/mine", FileAction::Keep)]);
    assert!(!world.path("src/theirs").exists());
}

/// What has no place beside a file of the user's stays away.
#[test]
fn kept_file_leaves_no_place_for_a_folder() {
    let mut world = World::new();
    world.write("place/below", "1\n");
    world.turn("m1", |world| {
        world.remove("place/below");
        world.remove_directory("place");
    });
    world.write("place", "mine\n");
    let report = restore(&mut world, "m1", &[], false);
    assert_eq!(yours(&report), [("place", FileAction::Keep)]);
    let blocked = report
        .files
        .iter()
        .find(|file| file.path.path == "place/below");
    let blocked = blocked.and_then(|file| file.reason_code);
    assert_eq!(blocked, Some(ReasonCode::Blocked), "{report:#?}");
    assert_eq!(world.read("place"), "mine\n");
}

/// What a folder of the user's leaves no place for is blocked, not only deleted, and goes back once the folder is away.
#[test]
fn file_in_a_folders_place_is_blocked() {
    let mut world = World::new();
    world.write("place", "1\n");
    world.turn("m1", |world| world.write("place", "agent's\n"));
    world.remove("place");
    world.write("place/mine", "mine\n");
    let report = revert(&mut world, true).expect("a plan");
    let file = report.files.iter().find(|file| file.path.path == "place");
    let file = file.expect("it is named");
    assert_eq!(file.reason_code, Some(ReasonCode::Blocked), "{report:#?}");
    assert_eq!(file.choices, [PlanChoice::Again], "{report:#?}");
    let way = report.kept.iter().find_map(|kept| kept.way.as_ref());
    let way = way.expect("there is one");
    assert_eq!(way.parameters.on_conflict.as_deref(), Some("overwrite"));
    world.remove_tree("place");
    let again = RevertRequest {
        only: vec![world.path("place")],
        on_conflict: OnConflict::Overwrite,
        ..to("m1")
    };
    world.try_revert(&again).expect("revertible");
    assert_eq!(world.read("place"), "1\n", "as the way out says");
}

/// An edit that a restore has put back already is no reason to keep a file.
#[test]
fn edit_put_back_already_keeps_nothing() {
    let mut world = World::new();
    world.write("notes", "1\n");
    world.turn("m1", |_| ());
    world.write("notes", "mine\n");
    restore(&mut world, "m1", &["notes"], false);
    world.turn("m2", |world| world.write("notes", "agent's\n"));
    let report = restore(&mut world, "m1", &[], false);
    assert_eq!(yours(&report), [], "{report:#?}");
    assert_eq!(world.read("notes"), "1\n");
}

/// What an operation put back that was the user's is still the user's.
///
/// Invariant `work/restore-keeps-yours`.
#[test]
fn edit_that_came_back_is_still_yours() {
    let kept = ["both", "new", "notes"].map(|name| (name, FileAction::Keep));
    let again = |world: &mut World, how: &str| {
        world.turn("m2", |world| world.write("later", "1\n"));
        let report = restore(world, "m1", &[], false);
        assert_eq!(yours(&report), kept, "{how}: {report:#?}");
        assert_eq!(world.read("notes"), "1\nan hour\n", "{how}");
        assert_eq!(world.read("both"), "2\nmine\n", "{how}");
        assert_eq!(world.read("new"), "mine\n", "{how}");
    };
    let mut world = an_hour();
    let done = restore(&mut world, "m1", &[], true);
    world.undo(done.operation.as_deref().expect("something was done"));
    again(&mut world, "a restore was undone");

    let mut world = an_hour();
    let done = restore(&mut world, "m1", &["both", "new", "notes"], false);
    let undone = world.undo(done.operation.as_deref().expect("something was done"));
    let redone = world.undo(undone.operation.as_deref().expect("something was done"));
    assert_eq!(world.read("notes"), "1\n", "{redone:#?}");
    world.undo(redone.operation.as_deref().expect("something was done"));
    again(&mut world, "a restore was undone twice");

    for by_undo in [true, false] {
        let mut world = an_hour();
        let overwrite = RevertRequest {
            on_conflict: OnConflict::Overwrite,
            ..to("m1")
        };
        let done = world.try_revert(&overwrite).expect("revertible");
        assert_eq!(world.read("both"), "1\n", "{done:#?}");
        match by_undo {
            true => world.undo(done.operation.as_deref().expect("something was done")),
            false => world.unrevert(),
        };
        again(&mut world, "a revert was taken back");
    }
}

/// What the agent wrote after a restore took the user's edit is the agent's, whatever was restored in between.
#[test]
fn edit_restored_away_is_no_longer_yours() {
    let mut world = an_hour();
    let done = restore(&mut world, "m1", &[], true);
    let undone = world.undo(done.operation.as_deref().expect("something was done"));
    world.undo(undone.operation.as_deref().expect("something was done"));
    world.turn("m2", |world| world.write("notes", "agent's\n"));
    let report = restore(&mut world, "m1", &[], false);
    assert_eq!(yours(&report), [], "{report:#?}");
    assert_eq!(world.read("notes"), "1\n");
}

/// What was written while rules hid a file may be the user's, and stays.
///
/// Invariant `work/restore-keeps-yours`.
#[test]
fn edit_of_a_hidden_file_is_kept() {
    for by_agent in [true, false] {
        let mut world = World::new();
        world.write("out/p", "1\n");
        world.write("n", "1\n");
        let hide = |world: &World| {
            world.write(".gitignore", "out/\nn\n");
        };
        world.turn("m1", |world| {
            world.write("made", "1\n");
            if by_agent {
                hide(world);
            }
        });
        hide(&world);
        world.turn("m2", |world| world.write("made", "2\n"));
        world.write("out/p", "1\nmine\n");
        world.write("n", "mine\n");
        world.turn("m3", |world| world.write("made", "3\n"));
        let report = restore(&mut world, "m1", &[], false);
        assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
        let mine = yours(&report);
        for path in ["n", "out/p"] {
            assert!(mine.contains(&(path, FileAction::Keep)), "{report:#?}");
        }
        assert!(!world.exists("made"), "the agent's goes");
        let done = restore(&mut world, "m1", &["n", "out/p"], false);
        assert_eq!(world.read("n"), "1\n", "it was named");
        world.undo(done.operation.as_deref().expect("something was done"));
        let report = restore(&mut world, "m1", &[], false);
        assert_eq!(world.read("n"), "mine\n", "{report:#?}");
        assert_eq!(world.read("out/p"), "1\nmine\n", "{report:#?}");
    }
}

/// An edit of a hidden file stays the user's when the file comes into view and the agent goes on with it.
#[test]
fn edit_of_a_once_hidden_file_is_kept() {
    let mut world = World::new();
    world.write("n", "1\n");
    world.turn("m1", |world| world.write(".gitignore", "n\n"));
    world.write("n", "mine\n");
    world.turn("m2", |world| world.remove(".gitignore"));
    world.turn("m3", |world| world.write("n", "mine\nagent's\n"));
    let report = restore(&mut world, "m1", &[], false);
    assert_eq!(yours(&report), [("n", FileAction::Keep)], "{report:#?}");
}

/// Two sessions; the second one's step is open, and it changed a file of its own in it.
fn beside_another() -> World {
    let mut world = World::new();
    world.write("shared", "1\n");
    world.turn("m1", |world| {
        world.write("own", "1\n");
        world.write("shared", "1\nfirst's\n");
    });
    world.message_in("s2", "n1");
    world.start_in("s2");
    world
}

fn revert(world: &mut World, dry_run: bool) -> Result<OperationReport, ckpt_store::Error> {
    let cwd = world.cwd.clone();
    let request = RevertRequest {
        dry_run,
        ..to("m1")
    };
    world.store.revert(&cwd, &request)
}

/// A revert beside an agent at work goes ahead with a word and touches nothing of its.
///
/// Invariant `work/beside-others`: An operation that touches a file of an agent at work is refused as busy; any other says who is at work.
#[test]
fn revert_beside_an_agent_says_so() {
    let mut world = beside_another();
    world.write("theirs", "s2\n");
    let report = revert(&mut world, false).expect("nothing of theirs is touched");
    let told = report
        .remarks
        .iter()
        .find(|note| note.code == NoteCode::AtWork);
    let told = told.expect("it is said").text.clone();
    assert!(told.contains("is at work here, and may write"), "{told}");
    assert_eq!(world.read("theirs"), "s2\n");
    assert!(!world.path("own").exists());
}

/// A revert that touches a file of an agent at work is refused.
#[test]
fn revert_of_a_busy_agents_file_is_refused() {
    let mut world = beside_another();
    world.write("shared", "second's\n1\nfirst's\n");
    let plan = revert(&mut world, true).expect("a plan is no revert");
    assert!(plan.busy, "the plan says that it would be refused");
    let merged = plan.files.iter().find(|file| file.path.path == "shared");
    assert_eq!(merged.map(|file| file.result), Some(FileResult::Planned));
    let error = revert(&mut world, false).expect_err("the agent may be writing it");
    assert_eq!(error.kind, ErrorKind::Busy, "{error}");
    assert!(error.to_string().contains("`shared`"), "{error}");
    assert_eq!(world.read("own"), "1\n", "nothing was changed");
    world.finish_in("s2");
    revert(&mut world, false).expect("it has ended");
}

/// A small ignored file of the user's is kept as well.
#[test]
fn ignored_file_of_yours_is_kept() {
    let mut world = World::new();
    world.write(".gitignore", ".env\n");
    world.write(".env", "SECRET=1\n");
    world.turn("m1", |world| world.write("made", "1\n"));
    world.write(".env", "SECRET=mine\n");
    let report = restore(&mut world, "m1", &[], false);
    assert_eq!(yours(&report), [(".env", FileAction::Keep)], "{report:#?}");
    assert_eq!(world.read(".env"), "SECRET=mine\n");
    assert!(!world.exists("made"));
}
