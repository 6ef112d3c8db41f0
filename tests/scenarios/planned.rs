//! A plan that was looked at is carried out as it was, or refused.

use ckpt_schema::report::{FileResult, OperationReport, Outcome};
use ckpt_store::model::request::OnConflict;
use ckpt_store::{ErrorKind, RedoRequest, RestoreRequest, RevertRequest};

use testing::scenario::{World, to};

fn dry(request: RevertRequest) -> RevertRequest {
    RevertRequest {
        dry_run: true,
        ..request
    }
}

/// A message that changed a file, made one and deleted one.
fn turn(world: &mut World) {
    world.write("changed", "1\n");
    world.write("deleted", "1\n");
    world.write("mine", "1\n");
    world.turn("m1", |world| {
        world.write("changed", "2\n");
        world.write("made", "2\n");
        world.remove("deleted");
    });
}

fn token(report: &OperationReport) -> String {
    report.plan.clone().expect("a dry run has a token")
}

fn planned(world: &mut World) -> String {
    token(&world.try_revert(&dry(to("m1"))).expect("a plan"))
}

/// Whether the plan is refused as stale, and nothing moves.
#[track_caller]
fn is_stale(world: &mut World, token: &str, why: &str) {
    let before = world.tree();
    let error = world
        .store
        .apply(token, ckpt_store::Force::No)
        .expect_err(why);
    assert_eq!(error.kind, ErrorKind::Stale, "{why}: {error}");
    assert_eq!(world.tree(), before, "{why}: nothing moved");
}

/// An empty folder that will have something in it is no difference, in a dry run either.
#[test]
fn folder_that_fills_is_no_difference() {
    let mut world = World::new();
    world.make_directory("out");
    world.turn("m1", |world| world.write("a", "1\n"));
    world.write("out/mine", "1\n");
    world.turn("m2", |world| world.remove_tree("out"));
    let told = |report: OperationReport| {
        let receipt = report.receipt.expect("it is compared");
        let paths = receipt.differences.into_iter().map(|one| one.path.path);
        paths.collect::<Vec<_>>()
    };
    let planned = world.try_revert(&dry(to("m1"))).expect("a plan");
    assert_eq!(told(planned), ["out/mine"]);
    let done = world.try_revert(&to("m1")).expect("it goes back");
    assert_eq!(told(done), ["out/mine"], "as it was told");
}

/// A plan is carried out as it was shown.
#[test]
fn plan_is_done_as_shown() {
    let mut world = World::new();
    turn(&mut world);
    let plan = world.try_revert(&dry(to("m1"))).expect("a plan");
    let done = world
        .store
        .apply(&token(&plan), ckpt_store::Force::No)
        .expect("it holds");
    assert_eq!(done.outcome, Outcome::Restored);
    assert_eq!(done.plan, None, "it was no dry run");
    let actions = |report: &OperationReport| {
        let files = report.files.iter();
        files
            .map(|file| (file.path.path.clone(), file.action))
            .collect::<Vec<_>>()
    };
    assert_eq!(actions(&done), actions(&plan), "just that");
    assert_eq!(world.read("changed"), "1\n");
    assert!(!world.exists("made") && world.exists("deleted"));
}

/// A plan is stale where a planned file changed.
#[test]
fn plan_is_stale_after_a_files_change() {
    let mut world = World::new();
    turn(&mut world);
    let token = planned(&mut world);
    world.write("changed", "mine\n");
    is_stale(&mut world, &token, "an edit");
    world.write("changed", "2\n");
    world.write("deleted", "mine\n");
    is_stale(&mut world, &token, "a file where there was none");
    world.remove("deleted");
    world.chmod("made", 0o755);
    is_stale(&mut world, &token, "permissions");
    world.chmod("made", 0o644);
    world
        .store
        .apply(&token, ckpt_store::Force::No)
        .expect("all is as it was again");
}

/// A plan is stale where an ignore rule changed.
#[test]
fn plan_is_stale_after_a_rules_change() {
    let mut world = World::new();
    turn(&mut world);
    let token = planned(&mut world);
    world.write(".gitignore", "nothing-like-it\n");
    is_stale(&mut world, &token, "a rule in the tree");
}

/// A plan with git is stale where head moved.
#[test]
fn plan_is_stale_after_heads_move() {
    let mut world = World::git(&[("changed", "1\n")]);
    world.turn("m1", |world| {
        world.write("changed", "2\n");
        world.run_git(&["commit", "--all", "--message", "agent"]);
    });
    let request = RevertRequest {
        git: true,
        ..to("m1")
    };
    let token = token(&world.try_revert(&dry(request)).expect("a plan"));
    world.run_git(&["commit", "--allow-empty", "--message", "mine"]);
    is_stale(&mut world, &token, "a commit");
}

/// Of two clients that apply one plan one wins and the other is told.
#[test]
fn one_of_two_clients_applies_a_plan() {
    let mut world = World::new();
    turn(&mut world);
    let token = planned(&mut world);
    world
        .store
        .apply(&token, ckpt_store::Force::No)
        .expect("the first");
    is_stale(&mut world, &token, "the second");
}

/// A plan is stale where another session was reverted.
#[test]
fn plan_is_stale_after_another_sessions_revert() {
    let mut world = World::new();
    world.message_in("b", "mb");
    world.start_in("b");
    world.write("of b", "1\n");
    world.finish_in("b");
    turn(&mut world);
    let token = planned(&mut world);
    let other = RevertRequest {
        session: Some("b".to_owned()),
        ..to("mb")
    };
    world.try_revert(&other).expect("b's");
    is_stale(&mut world, &token, "another session's revert");
}

#[test]
fn redo_unrevert_and_restore_have_plans_too() {
    let mut world = World::new();
    let snapshot = world.snapshot();
    turn(&mut world);
    world.revert("m1");
    let cwd = world.path("");
    for all in [false, true] {
        let redo = RedoRequest {
            all,
            dry_run: true,
            ..RedoRequest::default()
        };
        let token = token(&world.store.redo(&cwd, &redo).expect("a plan"));
        world
            .store
            .apply(&token, ckpt_store::Force::No)
            .expect("it holds");
        assert_eq!(world.read("changed"), "2\n", "forward");
        is_stale(&mut world, &token, "nothing is reverted any more");
        world.revert("m1");
    }
    let restore = RestoreRequest {
        id: snapshot,
        dry_run: true,
        ..RestoreRequest::default()
    };
    let token = token(&world.store.restore(&cwd, &restore).expect("a plan"));
    world.write("later", "mine\n");
    is_stale(&mut world, &token, "an edit");
    world.remove("later");
    world
        .store
        .apply(&token, ckpt_store::Force::No)
        .expect("it holds");
}

/// A plan means the same message whatever was sent since.
#[test]
fn plan_means_the_same_message_later() {
    let mut world = World::new();
    turn(&mut world);
    let token = token(&world.try_revert(&dry(to("last"))).expect("a plan"));
    world.message("m2");
    is_stale(&mut world, &token, "`last` was m1 when it was looked at");
}

/// A message says whether it can be reverted to.
#[test]
fn message_says_whether_it_can_be_reverted() {
    let mut world = World::new();
    turn(&mut world);
    let buttons = |world: &mut World| {
        let messages = world.log().messages;
        let button = |id: &str| {
            let message = messages
                .iter()
                .find(|message| message.agent_id.as_deref() == Some(id));
            message.map(|message| (message.revertable, message.not_revertable.is_some()))
        };
        (button("m1"), button("m2"))
    };
    assert_eq!(buttons(&mut world).0, Some((true, false)), "live");
    world.revert("m1");
    assert_eq!(buttons(&mut world).0, Some((true, false)), "hidden");
    world.message("m2");
    let (first, second) = buttons(&mut world);
    assert_eq!(first, Some((false, true)), "discarded, and why");
    assert_eq!(second, Some((true, false)));
    let error = world.try_revert(&to("m1")).expect_err("as it says");
    assert_eq!(error.kind, ErrorKind::Unavailable);
}

/// Messages after one that is known are listed by its place.
#[test]
fn messages_after_a_known_one_are_listed() {
    let mut world = World::new();
    turn(&mut world);
    world.message("m2");
    let all = world.log().messages;
    let filter = ckpt_store::query::LogFilter {
        after: all.last().map(|message| message.seq),
        ..Default::default()
    };
    let cwd = world.path("");
    let newer = world.store.log(&cwd, &filter).expect("a list").messages;
    assert_eq!(newer, all[..1], "only m2");
}

/// A plan with contents has the earlier version of a file in conflict that overwrite writes.
#[test]
fn plan_has_the_conflicts_earlier_version() {
    let mut world = World::new();
    for name in ["changed", "merged", "same"] {
        world.write(name, "1\n2\n3\n4\n5\n6\n7\n");
    }
    world.turn("m", |world| {
        world.write("changed", "1\nagent\n3\n4\n5\n6\n7\n");
        world.write("merged", "1\nagent\n3\n4\n5\n6\n7\n");
        world.write("new", "agent\n");
    });
    world.write("changed", "1\nmine\n3\n4\n5\n6\n7\n");
    world.write("merged", "1\nagent\n3\n4\n5\n6\nmine\n");
    world.write("new", "mine\n");
    let mut planned = |on_conflict| {
        let request = RevertRequest {
            dry_run: true,
            contents: true,
            on_conflict,
            ..to("m")
        };
        world.try_revert(&request).expect("a plan")
    };
    let told = planned(OnConflict::Merge);
    let chosen = planned(OnConflict::Overwrite);
    let contents = |report: &OperationReport, path: &str| {
        let file = report.files.iter().find(|file| file.path.path == path);
        let file = file.unwrap_or_else(|| panic!("{path}: {report:#?}"));
        (
            file.result,
            file.contents.clone().expect("it was asked for"),
        )
    };
    for path in ["changed", "new"] {
        let (result, of_plan) = contents(&told, path);
        assert_eq!(result, FileResult::Conflict, "{path}");
        let earlier = of_plan.earlier.expect("it would be written");
        assert_eq!(earlier.content, contents(&chosen, path).1.after, "{path}");
        assert_eq!(of_plan.after, of_plan.before, "{path}: this plan leaves it");
    }
    let (result, of_plan) = contents(&told, "merged");
    assert_ne!(result, FileResult::Conflict, "the lines are apart");
    assert_eq!(of_plan.earlier, None, "there is nothing to choose");
    assert_ne!(told.plan, chosen.plan, "each token is of its own plan");
}

/// What rules hide when it goes back is foreseen as it will be: a folder that gets only such files, and a folder that is
/// hidden itself.
#[test]
fn hidden_folder_is_foreseen() {
    let told = |report: OperationReport| report.receipt.expect("it is compared").differences;
    let mut world = World::new();
    world.make_directory("out");
    world.write(".gitignore", "out/*\n");
    world.turn("m1", |world| world.write("a", "1\n"));
    world.turn("m2", |world| world.remove(".gitignore"));
    world.write("out/mine", "1\n");
    world.turn("m3", |world| world.remove_tree("out"));
    let planned = world.try_revert(&dry(to("m1"))).expect("a plan");
    let done = world.try_revert(&to("m1")).expect("it goes back");
    assert_eq!(told(planned), told(done), "a folder with hidden files");

    let mut world = World::new();
    world.turn("m1", |world| world.make_directory("d"));
    world.write(".gitignore", "d/\n");
    world.revert("m1");
    let request = |dry_run| RedoRequest {
        all: true,
        dry_run,
        ..RedoRequest::default()
    };
    let cwd = world.cwd.clone();
    let planned = world.store.redo(&cwd, &request(true)).expect("a plan");
    let done = world.store.redo(&cwd, &request(false)).expect("it goes");
    assert_eq!(told(planned), told(done), "a hidden folder");
}
