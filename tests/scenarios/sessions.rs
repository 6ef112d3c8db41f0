//! Two sessions at work in one workspace.

use ckpt_schema::EventKind;
use ckpt_schema::report::{FileResult, Outcome, RevertedSession};
use ckpt_store::model::request::OnConflict;
use ckpt_store::{ErrorKind, RedoRequest, RevertRequest};

use testing::scenario::{World, paths_with, set_moment, to, wait_ms, with_result};

fn of_session(message: &str, session: &str) -> RevertRequest {
    RevertRequest {
        session: Some(session.to_owned()),
        ..to(message)
    }
}

/// Two sessions that change different files do not disturb each other.
#[test]
fn two_sessions_files_are_independent() {
    let mut world = World::new();
    world.message_in("a", "ma");
    world.message_in("b", "mb");
    world.start_in("a");
    world.write("of a", "1\n");
    world.finish_in("a");
    world.start_in("b");
    world.write("of b", "1\n");
    world.finish_in("b");
    let stamp = world.stamp("of b");
    world.try_revert(&of_session("ma", "a")).expect("a's own");
    assert!(!world.exists("of a"), "a's file is gone");
    assert_eq!(world.stamp("of b"), stamp, "b's was not touched");
}

/// Lines of two sessions in one file are told apart.
#[test]
fn two_sessions_lines_are_told_apart() {
    let mut world = World::new();
    let ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";
    world.write("f", ten);
    world.message_in("a", "ma");
    world.start_in("a");
    world.write("f", ten.replace("2\n", "a\n"));
    world.finish_in("a");
    world.message_in("b", "mb");
    world.start_in("b");
    world.write("f", ten.replace("2\n", "a\n").replace("9\n", "b\n"));
    world.finish_in("b");
    world.try_revert(&of_session("ma", "a")).expect("a's own");
    assert_eq!(
        world.read("f"),
        ten.replace("9\n", "b\n"),
        "a's lines are out, b's are kept"
    );
}

#[test]
fn a_conflict_with_another_session_names_it() {
    let mut world = World::new();
    world.write("f", "0\n");
    world.message_in("a", "ma");
    world.start_in("a");
    world.write("f", "a\n");
    world.finish_in("a");
    world.message_in("b", "mb");
    world.start_in("b");
    world.write("f", "b\n");
    world.finish_in("b");
    let report = world
        .try_revert(&of_session("ma", "a"))
        .expect("it can be tried");
    assert_eq!(world.read("f"), "b\n", "kept");
    let conflicts = with_result(&report, FileResult::Conflict);
    let reason = conflicts[0].reason.as_deref().unwrap_or_default();
    let [by] = &conflicts[0].by[..] else {
        panic!("one session: {conflicts:?}")
    };
    let session = by.session.as_deref().expect("programs have it");
    let named = format!("since by generic {}", &session[..8]);
    assert!(reason.ends_with(&named), "both are generic: {conflicts:?}");
}

/// A change that two open steps saw is shared and asked for by name.
#[test]
fn change_of_two_steps_is_shared() {
    let mut world = World::new();
    world.write("f", "0\n");
    world.message_in("a", "ma");
    world.message_in("b", "mb");
    world.start_in("a");
    world.start_in("b");
    world.write("f", "whose?\n");
    world.finish_in("a");
    world.finish_in("b");
    let report = world
        .try_revert(&of_session("ma", "a"))
        .expect("it can be tried");
    assert_eq!(world.read("f"), "whose?\n", "nobody can tell");
    assert_eq!(
        paths_with(&report, FileResult::Conflict),
        ["f"],
        "and it is reported"
    );
    let by_name = RevertRequest {
        only: vec!["f".into()],
        ..of_session("ma", "a")
    };
    world.try_revert(&by_name).expect("asked for by name");
    assert_eq!(world.read("f"), "0\n", "then it goes back");
}

/// A tool that names a file settles whose it is.
#[test]
fn tool_naming_a_file_settles_ownership() {
    let mut world = World::new();
    world.write("f", "0\n");
    world.message_in("a", "ma");
    world.message_in("b", "mb");
    world.tool_start_in("a", "t1", &["f"]);
    world.tool_start_in("b", "t2", &[]);
    world.write("f", "a\n");
    world.tool_finish_in("a", "t1");
    world.finish_in("a");
    world.tool_finish_in("b", "t2");
    world.finish_in("b");
    world
        .try_revert(&of_session("mb", "b"))
        .expect("nothing of b's");
    assert_eq!(world.read("f"), "a\n", "it is a's");
    world.try_revert(&of_session("ma", "a")).expect("a's own");
    assert_eq!(world.read("f"), "0\n", "and goes with a");
}

/// One session's shell goes on while the other one does all of its work; seconds of the day are those of the real agents' logs.
fn one_works_while_a_shell_of_the_other_runs() -> World {
    let at = |second: i64| set_moment(1_700_000_000_000 + second * 1000);
    let mut world = World::new();
    at(0);
    world.message_in("long", "ml");
    world.tool_start_in("long", "shell", &[]);
    at(1);
    world.write("started", "by the long one\n");
    at(2);
    world.message_in("short", "ms");
    world.tool_start_in("short", "edit", &["named"]);
    world.write("named", "by the short one\n");
    at(3);
    world.tool_finish_in("short", "edit");
    world.tool_start_in("short", "shell", &[]);
    world.write("either", "by the short one, as only it knows\n");
    at(4);
    world.tool_finish_in("short", "shell");
    end_in(&mut world, "short");
    at(8);
    world
}

fn end_in(world: &mut World, session: &str) {
    world.finish_in(session);
    let end = world.event(EventKind::TurnEnd, session);
    world.send(&end);
}

/// Reverts either session, and compares what is left of the other one and of both.
#[track_caller]
fn expect_each_by_itself(world: &mut World, of_long: &[&str]) {
    for (message, session, goes, stays) in [
        ("ms", "short", &["named"][..], of_long),
        ("ml", "long", of_long, &["named"]),
    ] {
        world
            .try_revert(&of_session(message, session))
            .expect("nobody is at work");
        for path in goes {
            assert!(!world.exists(path), "{path} is {session}'s");
        }
        for path in stays {
            assert!(world.exists(path), "{path} is not {session}'s");
        }
        assert!(world.exists("either"), "nobody can tell whose it is");
        let request = RedoRequest {
            session: Some(session.to_owned()),
            all: true,
            ..RedoRequest::default()
        };
        let cwd = world.cwd.clone();
        world.store.redo(&cwd, &request).expect("it comes again");
    }
}

/// What a shell writes after another session's turn stays with its own session.
#[test]
fn late_shells_work_stays_with_its_session() {
    for is_end_told in [true, false] {
        let mut world = one_works_while_a_shell_of_the_other_runs();
        world.write("late", "by the long one\n");
        set_moment(1_700_000_009_000);
        if is_end_told {
            world.tool_finish_in("long", "shell");
        }
        end_in(&mut world, "long");
        expect_each_by_itself(&mut world, &["started", "late"]);
    }
}

/// What a shell that was given up writes later stays with either revert.
///
/// As Codex does it after ten seconds: it answers, and does not say that its shell goes on.
#[test]
fn abandoned_shells_work_stays_with_either_revert() {
    let mut world = one_works_while_a_shell_of_the_other_runs();
    end_in(&mut world, "long");
    set_moment(1_700_000_060_000);
    world.write("late", "by the shell, which nobody waits for\n");
    set_moment(1_700_000_070_000);
    expect_each_by_itself(&mut world, &["started"]);
    assert!(world.exists("late"), "nobody knows whose it is");
}

/// Revert is refused while a tool of the session runs unless forced.
#[test]
fn revert_during_a_tool_needs_force() {
    let mut world = World::new();
    world.message("m1");
    world.tool_start_in("s1", "t1", &[]);
    world.write("made", "x\n");
    let error = world
        .try_revert(&to("m1"))
        .expect_err("the agent is at work");
    assert_eq!(error.kind, ErrorKind::Busy, "exit code 5");
    assert!(world.exists("made"), "nothing was touched");
    world
        .try_revert(&RevertRequest {
            force: ckpt_store::Force::Yes,
            ..to("m1")
        })
        .expect("forced");
    assert!(
        !world.exists("made"),
        "the open step was closed and reverted"
    );
}

/// An agent without tool events counts as at work for 30 seconds.
#[test]
fn agent_without_tool_events_works_30_seconds() {
    let mut world = World::new();
    world.message("m1");
    world.start();
    world.write("made", "x\n");
    assert_eq!(
        world.try_revert(&to("m1")).expect_err("just heard of").kind,
        ErrorKind::Busy,
        "exit code 5"
    );
    wait_ms(31_000);
    let report = world.try_revert(&to("m1")).expect("not heard of for long");
    assert_eq!(
        report.outcome,
        Outcome::Restored,
        "the step was closed first, and reverted"
    );
    assert!(!world.exists("made"), "with what it did");
}

/// Steps of a sub-agent belong to the message in which they ran.
#[test]
fn sub_agents_steps_belong_to_their_message() {
    let mut world = World::new();
    world.message("m1");
    let of_child = |world: &World, kind| ckpt_schema::Event {
        parent_session_id: Some("s1".to_owned()),
        ..world.event(kind, "s1/child")
    };
    let start = of_child(&world, ckpt_schema::EventKind::StepStart);
    world.send(&start);
    world.write("by the child", "x\n");
    let finish = of_child(&world, ckpt_schema::EventKind::StepFinish);
    let report = world.send(&finish);
    assert_eq!(
        report.message,
        Some(world.log().messages[0].id.clone()),
        "the parent's message"
    );
    world.revert("m1");
    assert!(!world.exists("by the child"), "reverted with it");
}

/// Another session that is reverted still is named where nothing of this one is.
#[test]
fn another_reverted_session_is_named() {
    let mut world = World::new();
    world.message_in("s1", "m1");
    world.start_in("s1");
    world.write("a", "1\n");
    world.finish_in("s1");
    world.message_in("s2", "n1");
    world.start_in("s2");
    world.write("b", "2\n");
    world.finish_in("s2");
    let first = world.revert("m1").session.expect("it is known");
    let second = world.revert("n1").session.expect("it is known");
    let status = world.status();
    let names = |sessions: &[RevertedSession]| {
        sessions
            .iter()
            .map(|other| (other.session.clone(), other.messages_hidden))
            .collect::<Vec<_>>()
    };
    assert_eq!(status.session.as_ref(), Some(&second), "the newest revert");
    assert_eq!(
        names(&status.also_reverted),
        [(first.clone(), 1)],
        "and the other"
    );
    let report = world.unrevert();
    assert_eq!(report.session.as_ref(), Some(&second));
    assert_eq!(
        names(&report.also_reverted),
        [(first.clone(), 1)],
        "it is not so that nothing is reverted any more: {report:?}"
    );
    let of_second = RedoRequest {
        session: Some(second),
        all: true,
        ..RedoRequest::default()
    };
    let cwd = world.cwd.clone();
    let report = world.store.redo(&cwd, &of_second).expect("nothing to do");
    assert_eq!(
        (report.notes.as_slice(), names(&report.also_reverted)),
        (
            &["nothing of this session is reverted".to_owned()][..],
            vec![(first, 1)]
        ),
        "nor there"
    );
    let report = world.unrevert();
    assert!(report.also_reverted.is_empty(), "now it is: {report:?}");
    assert!(world.status().also_reverted.is_empty());
}

/// A folder that a revert made for a file goes with the file.
#[test]
fn reverts_folder_goes_with_its_file() {
    let mut world = World::new();
    world.write("d/e/z", "1\n");
    let before = world.tree();
    world.message("m1");
    world.start();
    world.write("d/e/z", "2\n");
    world.finish();
    world.message_in("s2", "n1");
    world.start_in("s2");
    world.remove_tree("d");
    world.finish_in("s2");
    let now = world.tree();
    let overwrite = RevertRequest {
        on_conflict: OnConflict::Overwrite,
        ..to("m1")
    };
    world.try_revert(&overwrite).expect("the message is known");
    assert!(world.tree() == before, "the file is back");
    let report = world.revert("m1");
    assert!(
        world.tree() == now,
        "its removal is another's, and stays: {report:#?}"
    );
    let report = world.unrevert();
    assert!(world.tree() == now, "there is no folder left: {report:#?}");
}
