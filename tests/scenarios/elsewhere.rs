//! Events that name another directory than that of their session: sub-agents in worktrees, `cd`, messages from elsewhere.

use std::path::PathBuf;

use ckpt_schema::report::{NoteCode, NoteReport, Outcome};
use ckpt_schema::{Event, EventKind, ToolKind};
use testing::scenario::{World, set_clock_from_files, to};

/// A repository with a worktree below it, and one beside it.
fn with_worktrees() -> World {
    let ignored = (".gitignore", ".claude/worktrees\n");
    let world = World::git(&[("a", "1\n"), ("b", "1\n"), ignored]);
    world.run_git(&["worktree", "add", "-q", ".claude/worktrees/x", "-b", "x"]);
    world.run_git(&["worktree", "add", "-q", "../beside", "-b", "y"]);
    world
}

fn places(world: &World) -> [PathBuf; 2] {
    [
        world.path(".claude/worktrees/x"),
        world.base().join("beside"),
    ]
}

/// An event of a sub-agent of `s1` in a directory.
fn of_sub(world: &World, kind: EventKind, cwd: &std::path::Path) -> Event {
    Event {
        parent_session_id: Some("s1".to_owned()),
        cwd: Some(cwd.to_owned()),
        ..world.event(kind, "s1/sub")
    }
}

fn sub_works(world: &mut World, cwd: &std::path::Path) {
    for kind in [
        EventKind::SessionStart,
        EventKind::StepStart,
        EventKind::ToolStart,
    ] {
        let event = Event {
            tool_use_id: (kind == EventKind::ToolStart).then(|| "sub".to_owned()),
            ..of_sub(world, kind, cwd)
        };
        world.send(&event);
    }
    std::fs::write(cwd.join("a"), "by the sub-agent\n").expect("writable");
    for kind in [
        EventKind::ToolFinish,
        EventKind::StepFinish,
        EventKind::TurnEnd,
    ] {
        let event = Event {
            tool_use_id: (kind == EventKind::ToolFinish).then(|| "sub".to_owned()),
            ..of_sub(world, kind, cwd)
        };
        world.send(&event);
    }
}

/// The agent starts a sub-agent elsewhere by a tool of its own, and goes on after that.
///
/// Invariant `truth/session-workspace`: A session works where its own messages were sent,
/// wherever its sub-agents and its shells are.
#[test]
fn sub_agent_elsewhere_does_not_move_its_parent() {
    for at in 0..2 {
        let mut world = with_worktrees();
        let cwd = places(&world)[at].clone();
        world.message("m1");
        world.start();
        world.tool_start_in("s1", "task", &[]);
        sub_works(&mut world, &cwd);
        world.tool_finish_in("s1", "task");
        world.finish();
        world.start();
        world.tool_start_in("s1", "t", &[]);
        world.write("made", "x\n");
        world.remove("b");
        world.tool_finish_in("s1", "t");
        world.finish();
        let end = world.event(EventKind::TurnEnd, "s1");
        world.send(&end);
        let report = world.try_revert(&to("m1")).expect("no agent is at work");
        assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
        assert_eq!(
            (world.read("b").as_str(), world.exists("made")),
            ("1\n", false)
        );
        let there = std::fs::read_to_string(cwd.join("a")).expect("it is there");
        assert_eq!(there, "1\n", "its worktree is a root of the session");
    }
}

/// A sub-agent's work is its own in its worktree.
///
/// What the sub-agent did in its worktree goes back there, though the tool that started it ran all the time.
#[test]
fn sub_agents_work_stays_in_its_worktree() {
    let mut world = with_worktrees();
    let cwd = places(&world)[0].clone();
    world.message("m1");
    world.start();
    world.tool_start_in("s1", "task", &[]);
    sub_works(&mut world, &cwd);
    world.tool_finish_in("s1", "task");
    world.finish();
    world.cwd.clone_from(&cwd);
    let report = world.revert("last");
    let there = std::fs::read_to_string(cwd.join("a")).expect("it is there");
    assert_eq!(
        (there.as_str(), report.outcome),
        ("1\n", Outcome::Restored),
        "{report:#?}"
    );
}

/// Parent that is known by a sub-agent alone begins anywhere.
///
/// The first event of all is that of a sub-agent: its parent has no event of its own yet.
#[test]
fn parent_known_by_its_sub_agent_begins_anywhere() {
    for kind in [
        EventKind::StepStart,
        EventKind::ToolStart,
        EventKind::UserMessage,
    ] {
        let mut world = with_worktrees();
        let cwd = places(&world)[1].clone();
        sub_works(&mut world, &cwd);
        if kind == EventKind::UserMessage {
            world.message("m1");
        } else if kind == EventKind::StepStart {
            world.start();
        }
        world.tool_start_in("s1", "t", &[]);
        world.write("made", "x\n");
        world.tool_finish_in("s1", "t");
        world.finish();
        let report = world.revert("last");
        assert!(!world.exists("made"), "{kind:?}: {report:#?}");
    }
}

/// Relative path of a tool elsewhere names no file here.
///
/// A relative path starts at the directory that the event names, also where that is in another workspace.
///
/// Invariant `truth/session-workspace`.
#[test]
fn relative_path_elsewhere_names_no_file_here() {
    let mut world = with_worktrees();
    let elsewhere = places(&world)[1].clone();
    world.message("m1");
    world.start();
    let event = |world: &World, kind| Event {
        tool_use_id: Some("t".to_owned()),
        tool_kind: Some(ToolKind::Edit),
        paths: vec!["a".into()],
        cwd: Some(elsewhere.clone()),
        ..world.event(kind, "s1")
    };
    let start = event(&world, EventKind::ToolStart);
    world.send(&start);
    std::fs::write(elsewhere.join("a"), "by the agent\n").expect("writable");
    let finish = event(&world, EventKind::ToolFinish);
    world.send(&finish);
    world.finish();
    world.write("a", "by hand\n");
    let report = world.revert("m1");
    assert_eq!(world.read("a"), "by hand\n", "{report:#?}");
}

/// Tool ends where it began though its session moved.
///
/// A message from another directory moves its session there. The tool that ran here meanwhile ends here.
///
/// Invariant `truth/session-workspace`.
#[test]
fn tool_ends_where_it_began() {
    let mut world = with_worktrees();
    let elsewhere = places(&world)[1].clone();
    world.message("m1");
    world.start();
    world.tool_start_in("s1", "t", &[]);
    let moved = Event {
        message_id: Some("m2".to_owned()),
        prompt: Some("there".to_owned()),
        cwd: Some(elsewhere.clone()),
        ..world.event(EventKind::UserMessage, "s1")
    };
    world.send(&moved);
    world.write("made", "x\n");
    world.tool_finish_in("s1", "t");
    assert_eq!(world.status().agents_at_work, Vec::<String>::new());
    world.try_revert(&to("m1")).expect("no agent is at work");
    assert!(!world.exists("made"), "it was its work");
}

/// No tool event says where the step worked: its own events do.
#[test]
fn step_that_ran_in_another_project_names_it() {
    for told_by in [EventKind::StepStart, EventKind::StepFinish] {
        let mut world = with_worktrees();
        let elsewhere = places(&world)[1].clone();
        world.message("m1");
        for kind in [EventKind::StepStart, EventKind::StepFinish] {
            let event = Event {
                cwd: Some(match kind == told_by {
                    true => elsewhere.clone(),
                    false => world.root.clone(),
                }),
                ..world.event(kind, "s1")
            };
            world.send(&event);
            std::fs::write(elsewhere.join("a"), "by the agent\n").expect("writable");
        }
        world.turn("m2", |world| world.write("b", "2\n"));
        let report = world.revert("m2");
        assert!(report.remarks.is_empty(), "not of m2: {report:#?}");
        let report = world.revert("m1");
        let of_it = |note: &NoteReport| {
            note.code == NoteCode::Outside && note.about == [elsewhere.display().to_string()]
        };
        assert!(report.remarks.iter().any(of_it), "{told_by:?}: {report:#?}");
    }
}

/// A worktree of a sub-agent that no rule hides is in view of its parent's workspace.
///
/// Invariant `truth/session-workspace`.
#[test]
fn a_worktree_in_view_is_its_agents_work() {
    let mut world = World::git(&[("a", "1\n"), ("b", "1\n")]);
    world.message("m1");
    world.start();
    world.tool_start_in("s1", "task", &[]);
    world.run_git(&["worktree", "add", "-q", ".claude/worktrees/x", "-b", "x"]);
    let cwd = places(&world)[0].clone();
    sub_works(&mut world, &cwd);
    world.tool_finish_in("s1", "task");
    world.finish();
    let end = world.event(EventKind::TurnEnd, "s1");
    world.send(&end);
    let report = world.try_revert(&to("m1")).expect("no agent is at work");
    assert_eq!(
        report.outcome,
        Outcome::Partial,
        "its `.git` stays: {report:#?}"
    );
    assert!(!cwd.join("a").exists(), "{report:#?}");
    world.unrevert();
    let there = std::fs::read_to_string(cwd.join("a")).expect("it is there again");
    assert_eq!(there, "by the sub-agent\n");
}

/// A worktree in view is not another agent's work.
///
/// Nor does a shell of another agent take the sub-agent's work for its own.
///
/// Invariant `truth/session-workspace`.
#[test]
fn visible_worktree_is_not_another_agents() {
    let mut world = World::git(&[("a", "1\n")]);
    world.run_git(&["worktree", "add", "-q", ".claude/worktrees/x", "-b", "x"]);
    let cwd = places(&world)[0].clone();
    for session in ["s1", "s2"] {
        world.message_in(session, "m");
        world.start_in(session);
        world.tool_start_in(session, &format!("task of {session}"), &[]);
    }
    sub_works(&mut world, &cwd);
    for session in ["s1", "s2"] {
        world.tool_finish_in(session, &format!("task of {session}"));
        world.finish_in(session);
    }
    let report = world.revert("last");
    assert!(cwd.join("a").exists(), "{report:#?}");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
}

/// A sub-agent elsewhere ends by what its parent tells.
///
/// The end of the tool that started the sub-agent tells it, from where its parent works.
///
/// Invariant `truth/session-workspace`.
#[test]
fn parents_words_end_a_sub_agent_elsewhere() {
    for at in 0..2 {
        let mut world = with_worktrees();
        let place = places(&world)[at].clone();
        world.message_in("s1", "m1");
        for kind in [EventKind::SessionStart, EventKind::StepStart] {
            let event = of_sub(&world, kind, &place);
            world.send(&event);
        }
        let event = Event {
            tool_use_id: Some("sub".to_owned()),
            ..of_sub(&world, EventKind::ToolStart, &place)
        };
        world.send(&event);
        std::fs::write(place.join("a"), "by the sub-agent\n").expect("writable");
        let root = world.root.clone();
        let end = of_sub(&world, EventKind::TurnEnd, &root);
        world.send(&end);
        let end = world.event(EventKind::TurnEnd, "s1");
        world.send(&end);
        for cwd in [root, place] {
            let status = world.store.status(&cwd, None).expect("it is known");
            assert!(
                status.agents_at_work.is_empty(),
                "{}: {status:#?}",
                cwd.display()
            );
        }
    }
}

/// A sub-agent elsewhere is no part of its parent's work, also where no tool told that it began.
///
/// Invariant `truth/session-workspace`.
#[test]
fn untold_sub_agent_elsewhere_moves_nothing_here() {
    for at in 0..2 {
        let mut world = with_worktrees();
        let cwd = places(&world)[at].clone();
        world.message("m1");
        world.step(|world| world.write("made", "x\n"));
        sub_works(&mut world, &cwd);
        world.step(|world| world.remove("b"));
        let end = world.event(EventKind::TurnEnd, "s1");
        world.send(&end);
        let report = world.try_revert(&to("m1")).expect("no agent is at work");
        assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
        assert_eq!(
            (world.read("b").as_str(), world.exists("made")),
            ("1\n", false)
        );
        world.cwd.clone_from(&cwd);
        let report = world.revert("last");
        let there = std::fs::read_to_string(cwd.join("a")).expect("it is there");
        assert_eq!(there, "1\n", "{report:#?}");
    }
}

/// A sub-agent whose end was lost ends with the tool that it ran in.
///
/// Invariant `truth/session-workspace`.
#[test]
fn lost_end_of_a_sub_agent_is_told() {
    for at in 0..3 {
        set_clock_from_files(-1_000);
        let mut world = with_worktrees();
        let cwd = [&places(&world)[..], &[world.root.clone()]].concat()[at].clone();
        world.message("m1");
        world.start();
        world.tool_start_in("s1", "task", &[]);
        for kind in [
            EventKind::SessionStart,
            EventKind::StepStart,
            EventKind::ToolStart,
        ] {
            let event = Event {
                tool_use_id: (kind == EventKind::ToolStart).then(|| "sub".to_owned()),
                ..of_sub(&world, kind, &cwd)
            };
            world.send(&event);
        }
        std::fs::write(cwd.join("a"), "by the sub-agent\n").expect("writable");
        world.tool_finish_in("s1", "task");
        world.finish();
        let end = world.event(EventKind::TurnEnd, "s1");
        world.send(&end);
        for cwd in [world.root.clone(), cwd.clone()] {
            let status = world.store.status(&cwd, None).expect("it is known");
            assert!(status.agents_at_work.is_empty(), "{at}: {status:#?}");
        }
        // Later, by hand.
        set_clock_from_files(0);
        std::fs::write(cwd.join("b"), "mine\n").expect("writable");
        world.cwd.clone_from(&cwd);
        let report = world.try_revert(&to("last")).expect("no agent is at work");
        let read = |name: &str| std::fs::read_to_string(cwd.join(name)).expect("it is there");
        assert_eq!(read("b"), "mine\n", "{at}: {report:#?}");
        assert!(
            read("a") == "1\n" || report.outcome == Outcome::Partial,
            "{at}: {report:#?}"
        );
    }
}
