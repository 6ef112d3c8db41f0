//! What is known where the clock of files is another one than that of events: in a folder that another machine serves,
//! in a virtual machine, or after the clock was set.

use ckpt_schema::report::Outcome;
use ckpt_schema::{Event, EventKind};

use testing::scenario::{World, set_clock_from_files, to};

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

fn unclear_of(report: &ckpt_schema::report::OperationReport) -> Vec<&str> {
    let unclear = report.files.iter().filter(|file| file.unclear);
    unclear.map(|file| file.path.path.as_str()).collect()
}

#[test]
fn what_an_agent_wrote_goes_whatever_the_clock_of_its_files_says() {
    for (ahead, names) in [(DAY, true), (DAY, false), (-DAY, true), (-DAY, false)] {
        let mut world = World::new();
        set_clock_from_files(ahead);
        world.write("edited", "1\n");
        world.message("m1");
        let named: &[&str] = if names { &["edited", "made"] } else { &[] };
        world.tool_start_in("s1", "t", named);
        world.write("edited", "2\n");
        world.write("made", "x\n");
        world.tool_finish_in("s1", "t");
        world.finish();
        let report = world.revert("m1");
        assert_eq!(world.read("edited"), "1\n", "{ahead} {names}: {report:#?}");
        assert!(!world.exists("made"), "{ahead} {names}: {report:#?}");
        assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
        world.unrevert();
        assert_eq!(world.read("made"), "x\n", "and back");
    }
}

/// Invariant `truth/between-steps`: Changes between steps, and in a pause between two tools of
/// one, are nobody's.
#[test]
fn what_a_person_edits_between_steps_stays_whatever_the_clock_of_its_files_says() {
    for ahead in [DAY, -DAY] {
        let mut world = World::new();
        set_clock_from_files(ahead);
        world.message("m1");
        world.tool_start_in("s1", "t", &[]);
        world.write("made", "x\n");
        world.tool_finish_in("s1", "t");
        world.finish();
        world.write("by hand", "an hour\n");
        set_clock_from_files(ahead + 60 * MINUTE);
        world.tool_start_in("s1", "u", &[]);
        world.tool_finish_in("s1", "u");
        world.finish();
        let report = world.revert("m1");
        assert!(!world.exists("made"), "{report:#?}");
        assert_eq!(world.read("by hand"), "an hour\n", "{report:#?}");
        assert_eq!(unclear_of(&report), [""; 0], "nobody was at work");
    }
}

/// Invariant `truth/unclear`: A change that cannot be told apart is not attributed to the
/// agent.
#[test]
fn what_was_edited_in_a_pause_of_a_step_is_unclear_where_no_time_shows_that_it_was_one() {
    for ahead in [DAY, -DAY] {
        let mut world = World::new();
        set_clock_from_files(ahead);
        world.message("m1");
        world.tool_start_in("s1", "t", &[]);
        world.tool_finish_in("s1", "t");
        world.write("by hand", "an hour\n");
        set_clock_from_files(ahead + 60 * MINUTE);
        world.tool_start_in("s1", "u", &[]);
        world.write("made", "x\n");
        world.tool_finish_in("s1", "u");
        world.finish();
        let report = world.revert("m1");
        assert_eq!(world.read("by hand"), "an hour\n", "{report:#?}");
        assert_eq!(unclear_of(&report), ["by hand"], "and named: {report:#?}");
        assert!(!world.exists("made"), "{report:#?}");
    }
}

/// Invariant `truth/unclear`.
#[test]
fn what_was_edited_while_a_prompt_stood_is_unclear_where_no_time_shows_when() {
    for ahead in [DAY, -DAY] {
        let mut world = World::new();
        set_clock_from_files(ahead);
        world.message("m1");
        world.tool_start_in("s1", "t", &[]);
        world.write("by hand", "an hour\n");
        set_clock_from_files(ahead + 60 * MINUTE);
        let finish = Event {
            tool_use_id: Some("t".to_owned()),
            duration_ms: Some(500),
            ..world.event(EventKind::ToolFinish, "s1")
        };
        world.send(&finish);
        world.finish();
        let report = world.try_revert(&to("m1")).expect("nobody is at work");
        assert_eq!(world.read("by hand"), "an hour\n", "{report:#?}");
        assert_eq!(unclear_of(&report), ["by hand"], "and named: {report:#?}");
    }
}
