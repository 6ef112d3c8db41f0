//! Whose a change is, by the times of files, tools and signs of life: Esc, prompts that stand, clocks that jump.
//!
//! The times of files cannot be set. The clock of events can: it stands so far before or after that of files.

use ckpt_schema::report::{FileResult, OperationReport, Outcome};
use ckpt_schema::{Event, EventKind, ToolKind};
use ckpt_store::{ErrorKind, RevertRequest, Settings, Unclear};

use testing::scenario::{
    World, ended_process, file_time, paths_with, set_clock_from_files, taking, to,
};

const MINUTE: i64 = 60_000;

fn unclear_of(report: &OperationReport) -> Vec<(&str, &str)> {
    report
        .files
        .iter()
        .filter(|file| file.unclear)
        .map(|file| {
            (
                file.path.path.as_str(),
                file.reason.as_deref().unwrap_or_default(),
            )
        })
        .collect()
}

/// Esc and revert at once takes what the command did.
#[test]
fn esc_and_revert_takes_the_commands_changes() {
    let mut world = World::new();
    world.message("m1");
    set_clock_from_files(-1_000);
    world.start_shell();
    world.write("made", "half\n");
    set_clock_from_files(1_000);
    let report = world
        .try_revert(&RevertRequest {
            force: ckpt_store::Force::Yes,
            ..to("m1")
        })
        .expect("nobody is at work");
    assert!(!world.exists("made"), "that is what the button is for");
    assert_eq!(report.outcome, Outcome::Restored, "all of it: {report:?}");
}

/// Esc an hour of work by hand and revert keeps the hour and says so.
#[test]
fn esc_and_revert_keeps_work_by_hand() {
    let mut world = World::new();
    world.message("m1");
    // File times are of the kernel's tick, and so a little older than the clock.
    set_clock_from_files(-40 * MINUTE - 1_000);
    world.start_shell();
    world.write("by hand", "an hour\n");
    set_clock_from_files(20 * MINUTE);
    world.message("m2");
    let report = world.revert("m1");
    assert_eq!(world.read("by hand"), "an hour\n", "it stays");
    assert_eq!(report.outcome, Outcome::Partial, "and that is said");
    assert_eq!(
        unclear_of(&report),
        [(
            "by hand",
            "unclear whose: changed 40 minutes after the agent's last sign of life"
        )],
        "with what is known"
    );
    let status = world.status();
    let log = world.log();
    assert_eq!(status.unclear.len(), 0, "the message is hidden");
    assert_eq!(
        (log.messages[1].files, log.messages[1].unclear),
        (0, 1),
        "in the history it is a word of its own"
    );
}

/// What is unclear is taken where that is asked for and comes back.
#[test]
fn unclear_change_is_taken_on_request() {
    let mut world = World::new();
    world.message("m1");
    set_clock_from_files(-40 * MINUTE);
    world.start_shell();
    world.write("whose", "x\n");
    set_clock_from_files(20 * MINUTE);
    world.message("m2");
    let status = world.status();
    assert_eq!(status.unclear[0].path.path, "whose", "named before");
    let report = world.try_revert(&taking("m1")).expect("asked for");
    assert!(!world.exists("whose"), "taken");
    assert_eq!(report.outcome, Outcome::Restored, "{report:?}");
    let again = world.revert("m1");
    assert_eq!(again.outcome, Outcome::Nothing, "it holds: {again:?}");
    world.unrevert();
    assert_eq!(world.read("whose"), "x\n", "and back");
}

/// A setting says that what is unclear is taken and the command line that it is not.
///
/// Invariant `truth/unclear-taken`.
#[test]
fn setting_takes_unclear_and_command_line_does_not() {
    let mut world = World::with(Settings {
        unclear: Unclear::Take,
        ..Settings::default()
    });
    world.message("m1");
    set_clock_from_files(-40 * MINUTE);
    world.start_shell();
    world.write("whose", "x\n");
    set_clock_from_files(20 * MINUTE);
    world.message("m2");
    let keeping = RevertRequest {
        unclear: Some(Unclear::Keep),
        ..to("m1")
    };
    let report = world.try_revert(&keeping).expect("asked for");
    assert_eq!(paths_with(&report, FileResult::Conflict), ["whose"], "kept");
    world.unrevert();
    world.revert("m1");
    assert!(!world.exists("whose"), "by the setting");
}

/// What was edited while a prompt stood is the user's.
#[test]
fn edit_during_a_dated_prompt_is_the_users() {
    let mut world = World::new();
    world.message("m1");
    set_clock_from_files(-30 * MINUTE);
    world.start_shell();
    world.write("by hand", "while it asked\n");
    set_clock_from_files(30 * MINUTE);
    let finish = Event {
        duration_ms: Some(2_000),
        ..world.shell(EventKind::ToolFinish)
    };
    world.send(&finish);
    world.finish();
    let report = world.revert("m1");
    assert!(
        world.exists("by hand"),
        "the tool ran for two seconds: {report:?}"
    );
}

#[test]
fn other_files_of_an_edit_tool_are_users() {
    let mut world = World::new();
    world.message("m1");
    set_clock_from_files(-1_000);
    world.tool_start_in("s1", "t", &["named"]);
    world.write("named", "the agent's\n");
    world.write("other", "by hand\n");
    set_clock_from_files(1_000);
    world.tool_finish_in("s1", "t");
    world.finish();
    world.revert("m1");
    assert!(!world.exists("named"), "it goes");
    assert!(world.exists("other"), "it stays");
}

/// What changed while a tool only read is the user's.
#[test]
fn change_during_a_reading_tool_is_the_users() {
    let mut world = World::new();
    world.message("m1");
    set_clock_from_files(-1_000);
    let asks = Event {
        tool_kind: Some(ToolKind::Read),
        ..world.shell(EventKind::ToolStart)
    };
    world.send(&asks);
    world.write("by hand", "while it asked a question\n");
    set_clock_from_files(1_000);
    let finish = world.shell(EventKind::ToolFinish);
    world.send(&finish);
    world.finish();
    world.revert("m1");
    assert!(world.exists("by hand"), "nobody else wrote");
}

/// A tool that was denied has done nothing for certain.
#[test]
fn denied_tool_did_nothing_for_certain() {
    let mut world = World::new();
    world.message("m1");
    set_clock_from_files(-1_000);
    world.start_shell();
    let wait = world.shell(EventKind::ToolWait);
    world.send(&wait);
    world.write("by hand", "while it asked\n");
    set_clock_from_files(1_000);
    world.message("m2");
    let report = world.revert("m1");
    assert!(world.exists("by hand"), "it was never seen to run");
    assert_eq!(unclear_of(&report).len(), 1, "and it is named: {report:?}");
}

/// The mark in the transcript says when the agent was interrupted.
#[test]
fn transcript_dates_the_interruption() {
    let mut world = World::new();
    let transcript = world.base().join("transcript.jsonl");
    world.message("m1");
    set_clock_from_files(-20 * MINUTE);
    let start = Event {
        transcript_path: Some(transcript.clone()),
        ..world.shell(EventKind::ToolStart)
    };
    world.send(&start);
    world.write("by the command", "after twenty minutes\n");
    let interrupted = file_time() + 100;
    let mark = format!(
        r#"{{"type":"user","message":{{"content":"[Request interrupted by user for tool use]"}},"timestamp":"{}"}}"#,
        at(interrupted)
    );
    std::fs::write(&transcript, mark + "\n").expect("writable");
    // Until the time of a file is late enough to be told from what a killed command still ends.
    world.write("probe", "");
    while world.stamp("probe").2 / 1_000_000 <= i128::from(interrupted + 300) {
        world.write("probe", "");
    }
    world.remove("probe");
    world.write("by hand", "a second later\n");
    set_clock_from_files(1_000);
    let report = world.revert("m1");
    assert!(!world.exists("by the command"), "however long the silence");
    assert_eq!(world.read("by hand"), "a second later\n", "however short");
    let unclear = unclear_of(&report);
    assert!(
        unclear[0].1.contains("after the agent was interrupted"),
        "and it was not busy any more: {report:?}"
    );
}

/// A time as a transcript has it.
fn at(milliseconds: i64) -> String {
    let path = "SELECT strftime('%Y-%m-%dT%H:%M:%fZ', ?1 / 1000.0, 'unixepoch')";
    let connection = rusqlite::Connection::open_in_memory().expect("memory");
    connection
        .query_row(path, [milliseconds], |row| row.get(0))
        .expect("a time")
}

#[cfg(target_os = "linux")]
#[test]
fn a_session_whose_process_is_dead_holds_nothing() {
    let mut world = World::new();
    let dead = |world: &World, kind| Event {
        process: Some(ended_process()),
        ..world.event(kind, "dead")
    };
    for kind in [EventKind::SessionStart, EventKind::UserMessage] {
        let event = dead(&world, kind);
        world.send(&event);
    }
    set_clock_from_files(-MINUTE);
    world.tool_start_in("dead", "t", &[]);
    set_clock_from_files(-100);
    assert_eq!(
        world.status().agents_at_work,
        Vec::<String>::new(),
        "not busy"
    );
    world.message("m1");
    assert_eq!(world.status().open_steps, 0, "its step is over");
    world.tool_start_in("s1", "u", &[]);
    world.write("made", "by the other\n");
    set_clock_from_files(1_000);
    world.tool_finish_in("s1", "u");
    world.finish();
    let report = world.revert("m1");
    assert!(!world.exists("made"), "shared with nobody: {report:?}");
}

/// A process that was seen once is not believed.
#[test]
fn process_seen_once_is_not_believed() {
    let mut world = World::new();
    let start = Event {
        process: Some(ended_process()),
        ..world.event(EventKind::UserMessage, "s1")
    };
    world.send(&start);
    world.tool_start_in("s1", "t", &[]);
    let error = world.try_revert(&to("last")).expect_err("at work");
    assert_eq!(error.kind, ErrorKind::Busy, "it may have been a wrapper");
}

/// A clock that jumps makes nobody busy and nothing nobodys.
#[test]
fn jumping_clock_makes_nothing_busy() {
    let mut world = World::new();
    world.message("m1");
    set_clock_from_files(60 * MINUTE);
    world.start();
    world.write("made", "x\n");
    set_clock_from_files(0);
    let report = world.revert("m1");
    assert!(
        !world.exists("made") || unclear_of(&report).len() == 1,
        "taken or named: {report:?}"
    );
}

/// What was edited before the first tool of a session is the user's where the agent tells of
/// tools.
#[test]
fn edit_before_the_first_tool_is_the_users() {
    for ends in [true, false] {
        let mut world = World::new();
        world.write("a", "0\n");
        let message = Event {
            message_id: Some("m1".to_owned()),
            prompt: Some("think".to_owned()),
            tells_of_tools: true,
            ..world.event(EventKind::UserMessage, "s1")
        };
        world.send(&message);
        // Later events need not say it again.
        world.start();
        world.write("a", "by hand\n");
        if ends {
            let end = world.event(EventKind::TurnEnd, "s1");
            world.send(&end);
        }
        let report = world.revert("m1");
        assert_eq!(world.read("a"), "by hand\n", "{report:?}");
        assert_eq!(unclear_of(&report), [], "and nothing is in doubt");
    }
}

/// A step in which no tool was told of is not nothing.
#[test]
fn step_without_reported_tools_is_something() {
    let mut world = World::new();
    world.message("m1");
    world.tool_start_in("s1", "t", &[]);
    world.tool_finish_in("s1", "t");
    world.finish();
    set_clock_from_files(-1_000);
    world.start();
    world.write("by a tool without events", "x\n");
    set_clock_from_files(1_000);
    world.start();
    let report = world.revert("m1");
    assert_eq!(unclear_of(&report).len(), 1, "named: {report:?}");
}

/// What a server without events did beside a tool that was told of stays and is named.
#[test]
fn unreported_servers_work_stays() {
    let mut world = World::new();
    world.write("edited", "0\n");
    world.message("m1");
    set_clock_from_files(-1_000);
    world.start();
    world.tool_start_in("s1", "t", &["edited"]);
    world.write("edited", "1\n");
    world.tool_finish_in("s1", "t");
    world.write("by a server", "or by hand, while the agent thought\n");
    set_clock_from_files(1_000);
    world.finish();
    let report = world.revert("m1");
    assert_eq!(
        world.read("edited"),
        "0\n",
        "the tool named it: {report:#?}"
    );
    assert!(world.exists("by a server"), "no tool accounts for it");
    let receipt = report.receipt.as_ref().expect("it is compared");
    let differences = receipt.differences.iter();
    let named: Vec<&str> = differences.map(|one| one.path.path.as_str()).collect();
    assert_eq!(named, ["by a server"], "and that is said: {report:#?}");
}

/// Ten minutes ago, the message `m1` left a command in the background.
fn with_a_command_in_the_background() -> World {
    let mut world = World::new();
    world.message("m1");
    set_clock_from_files(-10 * MINUTE);
    world.start_shell();
    let finish = Event {
        background: Some(true),
        ..world.shell(EventKind::ToolFinish)
    };
    world.send(&finish);
    world.finish();
    world
}

/// What a command in the background may have done is offered.
#[test]
fn background_commands_work_is_offered() {
    let mut world = with_a_command_in_the_background();
    world.write("later", "by the server, or by hand\n");
    set_clock_from_files(MINUTE);
    let report = world.revert("m1");
    assert!(world.exists("later"), "kept");
    assert_eq!(unclear_of(&report).len(), 1, "and named: {report:?}");
    let end = Event {
        background: Some(false),
        ..world.event(EventKind::TurnEnd, "s1")
    };
    world.send(&end);
    world.write("by hand", "nothing runs any more\n");
    set_clock_from_files(2 * MINUTE);
    let report = world.try_revert(&taking("m1")).expect("asked for");
    assert!(!world.exists("later"), "taken");
    assert!(world.exists("by hand"), "nobody's: {report:?}");
}

/// What a command in the background did before its end was told is offered.
#[test]
fn background_work_before_its_reported_end_is_offered() {
    for told in [EventKind::TurnEnd, EventKind::SessionEnd] {
        let mut world = with_a_command_in_the_background();
        world.write("late", "by the command, or by hand\n");
        set_clock_from_files(0);
        let end = Event {
            background: Some(false),
            ..world.event(told, "s1")
        };
        world.send(&end);
        set_clock_from_files(10_000);
        world.write("by hand", "nothing runs any more\n");
        let report = world.revert("m1");
        assert!(world.exists("late"), "{told:?}: kept");
        let unclear: Vec<&str> = unclear_of(&report).iter().map(|(path, _)| *path).collect();
        assert_eq!(
            (unclear, report.outcome),
            (vec!["late"], Outcome::Partial),
            "{told:?}: and named: {report:#?}"
        );
    }
}

/// A finish without a start takes nothing for certain where tools are told of.
#[test]
fn finish_without_start_takes_nothing_for_certain() {
    for tells in [true, false] {
        let mut world = World::new();
        world.write("f", "the person's\n");
        let sent = |world: &World, kind| Event {
            tells_of_tools: tells,
            ..world.event(kind, "s1")
        };
        let message = Event {
            message_id: Some("m1".to_owned()),
            ..sent(&world, EventKind::UserMessage)
        };
        world.send(&message);
        world.write("f", "by whom?\n");
        let finish = sent(&world, EventKind::StepFinish);
        world.send(&finish);
        let report = world.revert("m1");
        let unclear: Vec<&str> = unclear_of(&report).iter().map(|(path, _)| *path).collect();
        let expected: &[&str] = if tells { &["f"] } else { &[] };
        assert_eq!(unclear, expected, "tells of tools: {tells}: {report:#?}");
        let is_kept = world.read("f") == "by whom?\n";
        assert_eq!(is_kept, tells, "tells of tools: {tells}");
    }
}

/// Two agents in worktrees below one another do not take each other's work.
#[test]
fn nested_worktrees_agents_keep_their_work() {
    let mut world = World::git(&[("a", "1\n")]);
    world.run_git(&["worktree", "add", "-q", "inner", "-b", "side"]);
    world.message_in("outer", "mo");
    world.tool_start_in("outer", "t", &[]);
    set_clock_from_files(-1_000);
    world.cwd = world.path("inner");
    world.message_in("inner", "mi");
    world.tool_start_in("inner", "u", &[]);
    world.write("inner/b", "the inner one's\n");
    set_clock_from_files(1_000);
    world.tool_finish_in("inner", "u");
    world.finish_in("inner");
    world.cwd = world.root.clone();
    world.tool_finish_in("outer", "t");
    world.finish_in("outer");
    let report = world.revert("mo");
    assert!(world.exists("inner/b"), "it is the inner one's: {report:?}");
    world.cwd = world.path("inner");
    world.revert("mi");
    assert!(!world.exists("inner/b"), "who takes it back");
}

/// What an outer agent edits in an inner workspace goes with the outer one.
#[test]
fn outer_agents_edit_inside_is_the_outer_ones() {
    let mut world = World::git(&[("a", "1\n")]);
    world.run_git(&["worktree", "add", "-q", "inner", "-b", "side"]);
    world.message_in("outer", "mo");
    world.cwd = world.path("inner");
    world.message_in("inner", "mi");
    set_clock_from_files(-1_000);
    world.tool_start_in("inner", "u", &[]);
    world.cwd = world.root.clone();
    world.tool_start_in("outer", "t", &["inner/by outer"]);
    world.write("inner/by outer", "the outer one's\n");
    world.write("inner/by inner", "the inner one's\n");
    set_clock_from_files(1_000);
    world.cwd = world.path("inner");
    world.tool_finish_in("inner", "u");
    world.finish_in("inner");
    world.cwd = world.root.clone();
    world.tool_finish_in("outer", "t");
    world.finish_in("outer");
    world.cwd = world.path("inner");
    let report = world.revert("mi");
    assert!(
        world.exists("inner/by outer"),
        "not the inner one's: {report:?}"
    );
    assert!(!world.exists("inner/by inner"), "{report:?}");
    world.cwd = world.root.clone();
    let report = world.revert("mo");
    assert!(!world.exists("inner/by outer"), "{report:?}");
}

/// What a command of a dead agent may have done is named.
#[cfg(target_os = "linux")]
#[test]
fn dead_agents_possible_work_is_named() {
    let mut world = World::new();
    world.message_of_a_dead_agent("m1");
    set_clock_from_files(-10 * MINUTE);
    world.start_shell();
    let finish = Event {
        background: Some(true),
        ..world.shell(EventKind::ToolFinish)
    };
    world.send(&finish);
    world.finish();
    world.write("later", "by the server, or by hand\n");
    set_clock_from_files(MINUTE);
    let report = world.revert("m1");
    assert!(world.exists("later"), "kept");
    assert_eq!(unclear_of(&report).len(), 1, "and named: {report:?}");
}

/// The step of a sub-agent that tells of no tools stays open over the next message, or over the end of its parent's turn:
/// it may be over all the same, and an edit soon after is not taken.
#[test]
fn edit_after_a_left_sub_agent_stays() {
    for goes_on_with in [
        EventKind::UserMessage,
        EventKind::TurnEnd,
        EventKind::SessionEnd,
    ] {
        let mut world = World::new();
        set_clock_from_files(-3_000);
        world.message("m1");
        let begins = Event {
            parent_session_id: Some("s1".to_owned()),
            ..world.event(EventKind::StepStart, "sub")
        };
        world.send(&begins);
        let goes_on = Event {
            message_id: (goes_on_with == EventKind::UserMessage).then(|| "m2".to_owned()),
            ..world.event(goes_on_with, "s1")
        };
        world.send(&goes_on);
        world.write("mine", "an hour of work\n");
        set_clock_from_files(MINUTE);
        let report = world.revert("m1");
        assert!(world.exists("mine"), "{goes_on_with:?}: {report:#?}");
        assert_eq!(report.outcome, Outcome::Partial, "{goes_on_with:?}");
        let unclear: Vec<_> = unclear_of(&report).iter().map(|one| one.0).collect();
        assert_eq!(unclear, ["mine"], "{goes_on_with:?}: {report:#?}");
    }
}
